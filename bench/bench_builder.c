/* bench_builder: what a binding costs through the block builder, call node and inference
 * included. Half of the bindings work on one symbolic shape, half on shapes of their own.
 * "fresh": each run in a context of its own; "warm": all in one, which already holds the
 * shapes. Built with librelax.a. */
#include <string.h>

#include "bench.h"
#include "op/op.h"
#include "sinfo/builder.h"

enum { RUNS = 9 };

typedef struct bench {
    rlx_context *ctx;
    rlx_builder *b;
    const rlx_expr *add, *multiply, *relu, *zeros;
    const rlx_attr *zeros_attrs;
    const rlx_expr *x;
    const rlx_prim *n;
} bench;

static const rlx_expr *op(rlx_context *ctx, const char *name)
{
    return rlx_op_node(ctx, rlx_op_find(rlx_slice_z(name)));
}

static const rlx_expr *emit(bench *s, const rlx_expr *f, const rlx_expr *a, const rlx_expr *b,
                            const rlx_attr *attrs)
{
    const rlx_expr *args[] = { a, b };
    const rlx_expr *call =
        a ? rlx_call_new(s->ctx, f, args, b ? 2 : 1, NULL, 0, attrs, RLX_NO_PLACE) : NULL;
    return (const rlx_expr *)rlx_builder_emit(s->b, call, NULL);
}

/* Eight bindings: four on x's shape, four on (n + i, 4). */
static const rlx_expr *eight(bench *s, const rlx_expr *y, int i)
{
    const rlx_prim *dims[] = { rlx_fold_add(s->ctx, s->n, rlx_int64(s->ctx, i + 1)),
                               rlx_int64(s->ctx, 4) };
    const rlx_expr *z = emit(s, s->zeros, rlx_shape_new(s->ctx, dims, 2), NULL, s->zeros_attrs);
    z = emit(s, s->add, z, z, NULL);
    z = emit(s, s->multiply, z, z, NULL);
    z = emit(s, s->relu, z, NULL, NULL);
    y = emit(s, s->add, y, s->x, NULL);
    y = emit(s, s->multiply, y, s->x, NULL);
    y = emit(s, s->relu, y, NULL, NULL);
    y = emit(s, s->add, y, y, NULL);
    return z ? y : NULL;
}

/* Opens a function of x: (n, 4). */
static bool prepare(bench *s)
{
    rlx_context *ctx = s->ctx;
    const rlx_prim *dims[2];
    s->b = rlx_builder_create(ctx, NULL, NULL);
    if (!s->n)
        s->n = (const rlx_prim *)rlx_prim_var_new(ctx, rlx_string_z(ctx, "n"), RELAX_INT64,
                                                  RLX_NO_PLACE);
    dims[0] = s->n;
    dims[1] = rlx_int64(ctx, 4);
    const rlx_sinfo *info =
        rlx_tensor_info(ctx, rlx_shape_new(ctx, dims, 2), RELAX_FLOAT32, 2, NULL);
    s->x =
        (const rlx_expr *)rlx_var_new(ctx, false, rlx_string_z(ctx, "x"), -1, info, RLX_NO_PLACE);
    s->add = op(ctx, "add");
    s->multiply = op(ctx, "multiply");
    s->relu = op(ctx, "nn.relu");
    s->zeros = op(ctx, "zeros");
    const rlx_expr *shape = rlx_shape_new(ctx, dims, 2);
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("dtype")),
                   *value = rlx_attr_dtype_new(ctx, RELAX_FLOAT32);
    const rlx_call *sample = rlx_as_call(
        rlx_call_op_z(ctx, "zeros", &shape, 1, rlx_attrs_new(ctx, &key, &value, 1), RLX_NO_PLACE));
    s->zeros_attrs = sample ? sample->attrs : NULL;
    return sample && s->b &&
           rlx_builder_begin_function(s->b, &s->x, 1, true, NULL, RLX_SLICE("main"), NULL) &&
           rlx_builder_begin_block(s->b, true, RLX_NO_PLACE);
}

/* Seconds per binding. */
static double run(bench *s, int bindings)
{
    bool ok = prepare(s);
    const rlx_expr *y = s->x;
    double start = bench_now();
    for (int i = 0; ok && i < bindings / 8; i++)
        ok = (y = eight(s, y, i)) != NULL;
    rlx_emit out = { .number = -1, .output = true };
    const rlx_var *result = ok ? rlx_builder_emit(s->b, y, &out) : NULL;
    ok = result && rlx_builder_end_block(s->b) &&
         rlx_builder_end_function(s->b, &result->node, NULL, NULL, RLX_NO_PLACE);
    double each = (bench_now() - start) / bindings;
    if (!ok)
        bench_die("the builder failed",
                  s->ctx->diags.first ? s->ctx->diags.first->message : "out of memory");
    rlx_builder_free(s->b);
    return each;
}

static void start(bench *s)
{
    memset(s, 0, sizeof *s);
    s->ctx = rlx_context_create(NULL, 0);
    if (!s->ctx)
        bench_die("bench_builder", "out of memory");
}

static void measure_fresh(int bindings)
{
    double times[RUNS];
    char key[40];
    bench s;
    for (int i = 0; i < RUNS; i++) {
        start(&s);
        times[i] = run(&s, bindings);
        rlx_context_release(s.ctx);
    }
    snprintf(key, sizeof key, "fresh %d", bindings);
    bench_times(key, times, RUNS, 1e9, "ns");
}

static void measure_warm(int bindings)
{
    double times[RUNS];
    char key[40];
    bench s;
    start(&s);
    run(&s, bindings);
    for (int i = 0; i < RUNS; i++)
        times[i] = run(&s, bindings);
    rlx_context_release(s.ctx);
    snprintf(key, sizeof key, "warm %d", bindings);
    bench_times(key, times, RUNS, 1e9, "ns");
}

int main(void)
{
    static const int sizes[] = { 1000, 10000, 100000 };
    for (size_t k = 0; k < RLX_COUNT(sizes); k++) {
        measure_fresh(sizes[k]);
        measure_warm(sizes[k]);
    }
    return 0;
}
