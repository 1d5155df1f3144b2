/*- no_text.c: operators on operands that only the run knows, in a program that is built without text. Not a
 * suite: check_host_example.sh builds and judges it.
 *
 *     no_text LATE.rlx
 *
 * Says how compiling y = relu(x) of an unknown x ends, and how calling main of LATE.rlx, which holds the same.
 */
#include <relax/relax.h>
#include <stdio.h>
#include <string.h>

static relax_module *build(relax_context *ctx)
{
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    const relax_expr *x = relax_var_new(
        ctx, "x", 1, relax_struct_info_tensor_of_rank(ctx, -1, RELAX_VOID), 0);
    relax_builder_begin_function(b, "main", 4, &x, 1, NULL);
    relax_expr *y = relax_builder_emit(
        b, relax_call_op_new(ctx, "nn.relu", 7, &x, 1, NULL, 0), "y", 1, 0);
    relax_builder_end_function(b, y);
    relax_module *module = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return module;
}

static void say_compile(void)
{
    relax_context *ctx = relax_context_create(NULL);
    relax_executable *exe = relax_module_compile(ctx, build(ctx), NULL);
    printf("compile: %s\n", exe ? "ok" : "refused");
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++)
        printf("  %s: %s\n", relax_diagnostic_code(ctx, i), relax_diagnostic_message(ctx, i, NULL));
    relax_executable_release(exe);
    relax_context_release(ctx);
}

static relax_status call(const char *path, relax_value *result, relax_error **error)
{
    static const int64_t shape[] = { 2 };
    relax_executable *exe = NULL;
    relax_vm *vm = NULL;
    relax_tensor *x = NULL;
    relax_value arg;
    relax_status status = relax_executable_load_file(path, strlen(path), NULL, &exe, error);
    if (!status)
        status = relax_vm_create(exe, NULL, &vm, error);
    if (!status)
        status = relax_tensor_create(RELAX_FLOAT32, shape, 1, NULL, &x, error);
    if (!status) {
        memcpy(relax_tensor_data(x), (float[]){ -3, 5 }, 2 * sizeof(float));
        relax_value_set_tensor(&arg, x);
        status = relax_vm_call(vm, "main", 4, &arg, 1, result, error);
        relax_value_release(&arg);
    }
    relax_tensor_release(x);
    relax_vm_release(vm);
    relax_executable_release(exe);
    return status;
}

int main(int argc, char **argv)
{
    relax_value result = { 0 };
    relax_error *error = NULL;
    if (argc != 2)
        return 2;
    say_compile();
    if (call(argv[1], &result, &error)) {
        printf("call: %s: %s\n", relax_error_code(error), relax_error_message(error, NULL));
        relax_error_release(error);
        return 0;
    }
    const float *y = relax_tensor_data(relax_value_get_tensor(&result));
    printf("call: %g %g\n", (double)y[0], (double)y[1]);
    relax_value_release(&result);
    return 0;
}
