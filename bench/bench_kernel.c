/* bench_kernel: the kernels of a small network by kernel bytecode: 64-128-64-10, relu, softmax.
 * Usage: bench_kernel [repeats]. Prints the best and median time of each kernel and of a pass
 * through all. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "codegen/kgen.h"
#include "tir/tir.h"
#include "runtime/kernel.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* ---- the kernels ---------------------------------------------------------------------------- */

static const rlx_prim_func *matmul(rlx_context *ctx, int64_t k, int64_t m)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *kk = rlx_tir_int(&t, k), *mm = rlx_tir_int(&t, m);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, RLX_TIR_LIST(n, kk));
    const rlx_buffer *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, RLX_TIR_LIST(kk, mm));
    const rlx_buffer *c = rlx_tir_param(&t, "C", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    rlx_tir_begin_block(&t, "matmul");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *j = rlx_tir_spatial(&t, "j", mm),
                   *l = rlx_tir_reduce(&t, "k", kk);
    rlx_tir_init(&t, c, RLX_TIR_LIST(i, j), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    const rlx_prim *product = rlx_tir_mul(&t, rlx_tir_load(&t, a, RLX_TIR_LIST(i, l)),
                                          rlx_tir_load(&t, b, RLX_TIR_LIST(l, j)));
    rlx_tir_store(&t, c, RLX_TIR_LIST(i, j),
                  rlx_tir_add(&t, rlx_tir_load(&t, c, RLX_TIR_LIST(i, j)), product));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

static const rlx_prim_func *add_bias(rlx_context *ctx, int64_t m)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *mm = rlx_tir_int(&t, m);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    const rlx_buffer *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, RLX_TIR_LIST(mm));
    const rlx_buffer *c = rlx_tir_param(&t, "C", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    rlx_tir_begin_block(&t, "add");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *j = rlx_tir_spatial(&t, "j", mm);
    rlx_tir_store(&t, c, RLX_TIR_LIST(i, j),
                  rlx_tir_add(&t, rlx_tir_load(&t, a, RLX_TIR_LIST(i, j)),
                              rlx_tir_load(&t, b, RLX_TIR_LIST(j))));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

static const rlx_prim_func *relu(rlx_context *ctx, int64_t m)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *mm = rlx_tir_int(&t, m);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    const rlx_buffer *c = rlx_tir_param(&t, "C", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    rlx_tir_begin_block(&t, "relu");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *j = rlx_tir_spatial(&t, "j", mm);
    rlx_tir_store(&t, c, RLX_TIR_LIST(i, j),
                  rlx_tir_max(&t, rlx_tir_load(&t, a, RLX_TIR_LIST(i, j)),
                              rlx_tir_float(&t, RELAX_FLOAT32, 0)));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

static const rlx_prim_func *softmax(rlx_context *ctx, int64_t m)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *mm = rlx_tir_int(&t, m), *i, *j;
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    const rlx_buffer *c = rlx_tir_param(&t, "C", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    const rlx_buffer *high = rlx_tir_alloc(&t, "M", RELAX_FLOAT32, RLX_TIR_LIST(n));
    const rlx_buffer *e = rlx_tir_alloc(&t, "E", RELAX_FLOAT32, RLX_TIR_LIST(n, mm));
    const rlx_buffer *s = rlx_tir_alloc(&t, "S", RELAX_FLOAT32, RLX_TIR_LIST(n));
    rlx_tir_begin_block(&t, "max");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_reduce(&t, "k", mm);
    rlx_tir_init(&t, high, RLX_TIR_LIST(i), rlx_tir_infinity(&t, RELAX_FLOAT32, true));
    rlx_tir_store(&t, high, RLX_TIR_LIST(i),
                  rlx_tir_max(&t, rlx_tir_load(&t, high, RLX_TIR_LIST(i)),
                              rlx_tir_load(&t, a, RLX_TIR_LIST(i, j))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "exp");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_spatial(&t, "j", mm);
    rlx_tir_store(&t, e, RLX_TIR_LIST(i, j),
                  rlx_tir_call1(&t, "exp",
                                rlx_tir_sub(&t, rlx_tir_load(&t, a, RLX_TIR_LIST(i, j)),
                                            rlx_tir_load(&t, high, RLX_TIR_LIST(i)))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "sum");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_reduce(&t, "k", mm);
    rlx_tir_init(&t, s, RLX_TIR_LIST(i), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    rlx_tir_store(&t, s, RLX_TIR_LIST(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, s, RLX_TIR_LIST(i)),
                              rlx_tir_load(&t, e, RLX_TIR_LIST(i, j))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "div");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_spatial(&t, "j", mm);
    rlx_tir_store(&t, c, RLX_TIR_LIST(i, j),
                  rlx_tir_div(&t, rlx_tir_load(&t, e, RLX_TIR_LIST(i, j)),
                              rlx_tir_load(&t, s, RLX_TIR_LIST(i))));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

/* ---- running -------------------------------------------------------------------------------- */

typedef struct tensor { DLTensor t; int64_t shape[2]; float *data; } tensor;

static void set_tensor(tensor *x, int32_t ndim, int64_t rows, int64_t columns)
{
    size_t count = (size_t)(rows * columns);
    x->data = aligned_alloc(64, (count * sizeof(float) + 63) / 64 * 64);
    for (size_t i = 0; i < count; i++)
        x->data[i] = (float)((double)(i * 2654435761u % 1000) / 1000.0 - 0.5) * 0.2f;
    x->shape[0] = ndim == 2 ? rows : columns;
    x->shape[1] = columns;
    x->t = (DLTensor){ x->data, { 1, 0 }, ndim, { 2, 32, 1 }, x->shape, NULL, 0 };
}

typedef struct layer {
    const char *name;
    rlx_kernel *kernel;
    relax_value args[3];
    int32_t num_args;
    double best, times[1000];
} layer;

static void add_layer(rlx_context *ctx, layer *l, const char *name, const rlx_prim_func *f,
                      tensor *a, tensor *b, tensor *c)
{
    rlx_buf bytes;
    rlx_fault why = { 0 };
    rlx_buf_init(&bytes, &ctx->memory);
    if (!f || !rlx_kernel_write(ctx, f, rlx_slice_z(name), &bytes, NULL)) {
        for (const rlx_diag *d = ctx->diags.first; d; d = d->next)
            printf("%s: %s\n", name, d->message);
        exit(1);
    }
    if (!rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &l->kernel, &why)) {
        printf("%s: %s\n", name, why.text);
        exit(1);
    }
    rlx_buf_free(&bytes);
    l->name = name;
    l->num_args = 0;
    tensor *all[3] = { a, b, c };
    for (int i = 0; i < 3; i++)
        if (all[i])
            l->args[l->num_args++] =
                (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = &all[i]->t } };
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void run_batch(rlx_context *ctx, int64_t n, int repeats)
{
    static layer layers[9];
    static tensor x, w1, b1, w2, b2, w3, b3, h1, h2, h3, y, g1, g2, g3;
    static double whole[1000];
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    set_tensor(&x, 2, n, 64), set_tensor(&w1, 2, 64, 128), set_tensor(&b1, 1, 1, 128),
        set_tensor(&w2, 2, 128, 64);
    set_tensor(&b2, 1, 1, 64), set_tensor(&w3, 2, 64, 10), set_tensor(&b3, 1, 1, 10),
        set_tensor(&h1, 2, n, 128);
    set_tensor(&h2, 2, n, 64), set_tensor(&h3, 2, n, 10), set_tensor(&y, 2, n, 10);
    set_tensor(&g1, 2, n, 128), set_tensor(&g2, 2, n, 64), set_tensor(&g3, 2, n, 10);
    add_layer(ctx, &layers[0], "matmul1", matmul(ctx, 64, 128), &x, &w1, &h1);
    add_layer(ctx, &layers[1], "add1", add_bias(ctx, 128), &h1, &b1, &g1);
    add_layer(ctx, &layers[2], "relu1", relu(ctx, 128), &g1, &h1, NULL);
    add_layer(ctx, &layers[3], "matmul2", matmul(ctx, 128, 64), &h1, &w2, &h2);
    add_layer(ctx, &layers[4], "add2", add_bias(ctx, 64), &h2, &b2, &g2);
    add_layer(ctx, &layers[5], "relu2", relu(ctx, 64), &g2, &h2, NULL);
    add_layer(ctx, &layers[6], "matmul3", matmul(ctx, 64, 10), &h2, &w3, &h3);
    add_layer(ctx, &layers[7], "add3", add_bias(ctx, 10), &h3, &b3, &g3);
    add_layer(ctx, &layers[8], "softmax", softmax(ctx, 10), &g3, &y, NULL);
    rlx_kernel_env_init(&env, &ctx->memory);
    for (int r = 0; r < repeats; r++) {
        double begin = now(), last = begin;
        for (int i = 0; i < 9; i++) {
            layer *l = &layers[i];
            if (!rlx_kernel_call(l->kernel, &env, l->args, l->num_args, &why)) {
                printf("%s: %s\n", l->name, why.text);
                exit(1);
            }
            double t = now();
            l->times[r] = t - last;
            last = t;
        }
        whole[r] = last - begin;
    }
    printf("batch %lld            best us  median us\n", (long long)n);
    for (int i = 0; i < 9; i++) {
        qsort(layers[i].times, (size_t)repeats, sizeof(double), by_size);
        printf("  %-12s %14.2f %10.2f\n", layers[i].name, layers[i].times[0],
               layers[i].times[repeats / 2]);
        rlx_kernel_free(layers[i].kernel);
    }
    qsort(whole, (size_t)repeats, sizeof(double), by_size);
    float sum = 0;
    for (int64_t i = 0; i < n * 10; i++)
        sum += y.data[i];
    printf("  %-12s %14.2f %10.2f   (sum of probabilities %.4f)\n", "all", whole[0],
           whole[repeats / 2], (double)sum);
    rlx_kernel_env_free(&env);
    tensor *all[] = { &x, &w1, &b1, &w2, &b2, &w3, &b3, &h1, &h2, &h3, &y, &g1, &g2, &g3 };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        free(all[i]->data);
}

int main(int argc, char **argv)
{
    int repeats = argc > 1 ? atoi(argv[1]) : 200;
    rlx_context *ctx = rlx_context_create(NULL, 0);
    repeats = repeats < 1 ? 1 : repeats > 1000 ? 1000 : repeats;
    if (!ctx)
        return 1;
    run_batch(ctx, 360, repeats);
    run_batch(ctx, 1, repeats);
    rlx_context_release(ctx);
    return 0;
}
