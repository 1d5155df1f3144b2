/*- host.c: a program that builds the digits network through the public API alone, with a
 * function of its own in it.
 *
 *     cc host.c $(pkg-config --cflags --libs relax) -o host && ./host
 *
 * It makes a module without text, registers one C function that the Relax function calls,
 * compiles, and runs on an array that belongs to the program: it goes in and comes out by
 * DLPack, nothing is copied. With -DNO_TEXT the one call that prints the module is left out;
 * the program then links without the text form of the library.
 */
#include <math.h>
#include <relax/relax.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIXELS = 64, HIDDEN1 = 128, HIDDEN2 = 64, CLASSES = 10, BATCH = 3 };

/* ---- the function of the host: scores -> scores / temperature, in destination-passing style
 * ---- */

typedef struct thermostat { float temperature; int calls; } thermostat;

static int cool_down(void *self, const relax_value *args, int32_t num_args, relax_value *result)
{
    static const char kind[] = "ValueError",
                      text[] = "cool_down takes an input and an output of the same size";
    thermostat *t = self;
    relax_value_set_null(result);
    const DLTensor *in =
        num_args == 2 && args[0].type_index == RELAX_VALUE_TENSOR_VIEW ? args[0].v.p : NULL;
    const DLTensor *out =
        num_args == 2 && args[1].type_index == RELAX_VALUE_TENSOR_VIEW ? args[1].v.p : NULL;
    if (!in || !out || in->ndim != 2 || out->ndim != 2 || in->shape[0] != out->shape[0] ||
        in->shape[1] != out->shape[1])
        return relax_value_set_error(result, kind, sizeof kind - 1, text, sizeof text - 1);
    const float *from = (const float *)((const char *)in->data + in->byte_offset);
    float *to = (float *)((char *)out->data + out->byte_offset);
    for (int64_t i = 0; i < in->shape[0] * in->shape[1]; i++)
        to[i] = from[i] / t->temperature;
    t->calls++;
    return 0;
}

/* ---- building: small helpers that keep the calls short; errors stay in the context ---- */

static relax_expr *op1(relax_context *ctx, const char *op, const relax_expr *a)
{
    return relax_call_op_new(ctx, op, strlen(op), &a, 1, NULL, 0);
}

static relax_expr *op2(relax_context *ctx, const char *op, const relax_expr *a,
                       const relax_expr *b)
{
    const relax_expr *args[] = { a, b };
    return relax_call_op_new(ctx, op, strlen(op), args, 2, NULL, 0);
}

/* Weights: anything reproducible will do here. */
static relax_expr *weights(relax_context *ctx, unsigned seed, int64_t rows, int64_t columns)
{
    int64_t shape[] = { rows, columns };
    size_t ndim = rows ? 2 : 1, count = (size_t)((rows ? rows : 1) * columns);
    float *data = malloc(count * sizeof *data);
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        data[i] = (float)((int)(seed >> 16 & 0xff) - 128) / 1024.0f;
    }
    relax_expr *constant = relax_constant_new(ctx, RELAX_FLOAT32, rows ? shape : shape + 1, ndim,
                                              data, count * sizeof *data);
    free(data);
    return constant;
}

static relax_expr *dense(relax_context *ctx, relax_builder *b, const relax_expr *x, unsigned seed,
                         int64_t in, int64_t out)
{
    relax_expr *product =
        relax_builder_emit(b, op2(ctx, "matmul", x, weights(ctx, seed, in, out)), NULL, 0, 0);
    return relax_builder_emit(b, op2(ctx, "add", product, weights(ctx, seed + 1, 0, out)), NULL, 0,
                              0);
}

/* scores -> call_dps_packed("host.cool_down", (scores,), R.Tensor((batch, 10), "float32")) */
static relax_expr *cooled(relax_context *ctx, const relax_expr *scores,
                          const relax_prim_expr *batch)
{
    const relax_prim_expr *dims[] = { batch, relax_prim_int_new(ctx, CLASSES) };
    const relax_expr *args[] = { relax_extern_func_new(ctx, "host.cool_down", 14),
                                 relax_tuple_new(ctx, &scores, 1) };
    return relax_call_op_new_with_result(ctx, "call_dps_packed", 15, args, 2, NULL,
                                         relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32),
                                         0);
}

static relax_module *build(relax_context *ctx)
{
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_prim_expr *batch = relax_shape_var_new(ctx, "batch", 5);
    const relax_prim_expr *dims[] = { batch, relax_prim_int_new(ctx, PIXELS) };
    const relax_expr *images = relax_var_new(
        ctx, "images", 6, relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32), 0);

    relax_builder_begin_function(b, "main", 4, &images, 1, NULL);
    relax_builder_begin_dataflow(b);
    relax_expr *h = relax_builder_emit(
        b, op1(ctx, "nn.relu", dense(ctx, b, images, 1, PIXELS, HIDDEN1)), NULL, 0, 0);
    h = relax_builder_emit(b, op1(ctx, "nn.relu", dense(ctx, b, h, 3, HIDDEN1, HIDDEN2)), NULL, 0,
                           0);
    relax_expr *scores = relax_builder_emit(
        b, cooled(ctx, dense(ctx, b, h, 5, HIDDEN2, CLASSES), batch), "scores", 6, 0);
    relax_expr *out =
        relax_builder_emit_output(b, op1(ctx, "nn.softmax", scores), "probabilities", 13, 0);
    relax_builder_end_dataflow(b);
    relax_builder_end_function(b, out);

    relax_module *module = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return module;
}

/* ---- running ---- */

static int say(relax_error *error)
{
    fprintf(stderr, "host: error[%s]: %s\n", relax_error_code(error),
            relax_error_message(error, NULL));
    relax_error_release(error);
    return 1;
}

/* The program's own memory, handed over by DLPack; `deleted` counts how often the library gave
 * it back. */
static int deleted;
static void give_back(struct DLManagedTensorVersioned *self)
{
    (void)self;
    deleted++;
}

static int run(relax_executable *exe, thermostat *t)
{
    static float images[BATCH * PIXELS];
    static int64_t shape[] = { BATCH, PIXELS };
    for (int i = 0; i < BATCH * PIXELS; i++)
        images[i] = (float)(i * 7 % 17) / 16.0f;
    static struct DLManagedTensorVersioned mine;
    mine.version.major = 1;
    mine.deleter = give_back;
    mine.dl_tensor.data = images;
    mine.dl_tensor.device.device_type = 1 /* CPU */;
    mine.dl_tensor.ndim = 2;
    mine.dl_tensor.dtype.code = RELAX_DTYPE_FLOAT;
    mine.dl_tensor.dtype.bits = 32;
    mine.dl_tensor.dtype.lanes = 1;
    mine.dl_tensor.shape = shape;

    relax_error *error = NULL;
    relax_registry *registry = NULL;
    relax_vm *vm = NULL;
    relax_tensor *in = NULL;
    relax_value arg, result = { 0 };
    relax_vm_options options;
    relax_vm_options_init(&options, sizeof options);
    if (relax_registry_create(NULL, &registry, &error) ||
        relax_registry_register(registry, "host.cool_down", 14, cool_down, t, NULL, &error))
        return say(error);
    options.registry = registry;
    if (relax_vm_create(exe, &options, &vm, &error) ||
        relax_tensor_from_dlpack(&mine, &in, &error))
        return say(error);
    printf("input is the program's own array: %s\n",
           relax_tensor_data(in) == (void *)images ? "yes" : "no");
    relax_value_set_tensor(&arg, in);
    if (relax_vm_call(vm, "main", 4, &arg, 1, &result, &error))
        return say(error);

    const relax_tensor *probabilities = relax_value_get_tensor(&result);
    const float *p = relax_tensor_data(probabilities);
    for (int i = 0; i < BATCH; i++) {
        float sum = 0;
        for (int k = 0; k < CLASSES; k++)
            sum += p[i * CLASSES + k];
        printf("image %d: %.6f %.6f %.6f ... sum %.4f\n", i, (double)p[i * CLASSES],
               (double)p[i * CLASSES + 1], (double)p[i * CLASSES + 2], (double)sum);
    }
    printf("host function called %d time(s)\n", t->calls);
    relax_value_release(&result);
    relax_value_release(&arg);
    relax_tensor_release(in);
    relax_vm_release(vm);
    relax_registry_release(registry);
    printf("array given back %d time(s)\n", deleted);
    return 0;
}

int main(void)
{
    relax_context *ctx = relax_context_create(NULL);
    relax_module *module = build(ctx);
#ifndef NO_TEXT
    relax_print_options options;
    relax_print_options_init(&options, sizeof options);
    options.metadata = 0; /* the weights would fill pages */
    relax_bytes *text =
        module ? relax_node_print(ctx, relax_module_as_node(module), &options) : NULL;
    if (text)
        printf("%s\n\n", relax_bytes_data(text));
    relax_bytes_release(text);
#endif
    relax_executable *exe = relax_module_compile(ctx, module, NULL);
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++) {
        relax_bytes *line = relax_diagnostic_render(ctx, i);
        fprintf(stderr, "%s", relax_bytes_data(line));
        relax_bytes_release(line);
    }
    relax_context_release(ctx); /* the executable does not need it */
    if (!exe)
        return 1;
    thermostat t = { 2.0f, 0 };
    int status = run(exe, &t);
    relax_executable_release(exe);
    return status;
}
