/* bench_builder: cc -O2 -D_GNU_SOURCE -Iinclude -Isrc bench/bench_builder.c lib/librelax.a -lm -lpthread -ldl
 * Nanoseconds per binding emitted through the block builder with inference, call node included. Half of the bindings
 * work on one symbolic shape, half on shapes of their own. Prints one line per size, best of runs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "op/op.h"

enum { RUNS = 9 };

typedef struct bench {
    rlx_context *ctx;
    rlx_builder *b;
    const rlx_expr *add, *multiply, *relu, *zeros;
    const rlx_attr *zeros_attrs;
    const rlx_expr *x;
    const rlx_prim *n;
} bench;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static const rlx_expr *op(rlx_context *ctx, const char *name)
{
    return rlx_op_node(ctx, rlx_op_find(rlx_slice_z(name)));
}

static const rlx_expr *emit(bench *s, const rlx_expr *f, const rlx_expr *a, const rlx_expr *b, const rlx_attr *attrs)
{
    const rlx_expr *args[] = { a, b };
    const rlx_expr *call = a ? rlx_call_new(s->ctx, f, args, b ? 2 : 1, NULL, 0, attrs, RLX_NO_PLACE) : NULL;
    return (const rlx_expr *)rlx_builder_emit(s->b, call, NULL);
}

/* Eight bindings: four on x's shape, four on (n + i, 4). */
static const rlx_expr *eight(bench *s, const rlx_expr *y, int i)
{
    const rlx_prim *dims[] = { rlx_fold_add(s->ctx, s->n, rlx_int64(s->ctx, i + 1)), rlx_int64(s->ctx, 4) };
    const rlx_expr *z = emit(s, s->zeros, rlx_shape(s->ctx, dims, 2), NULL, s->zeros_attrs);
    z = emit(s, s->add, z, z, NULL);
    z = emit(s, s->multiply, z, z, NULL);
    z = emit(s, s->relu, z, NULL, NULL);
    y = emit(s, s->add, y, s->x, NULL);
    y = emit(s, s->multiply, y, s->x, NULL);
    y = emit(s, s->relu, y, NULL, NULL);
    y = emit(s, s->add, y, y, NULL);
    return z ? y : NULL;
}

static bool prepare(bench *s)
{
    rlx_context *ctx = s->ctx = rlx_context_create(NULL, 0);
    const rlx_prim *dims[2];
    s->b = rlx_builder_create(ctx, NULL, NULL);
    s->n = (const rlx_prim *)rlx_prim_var_new(ctx, rlx_string_z(ctx, "n"), RELAX_INT64, RLX_NO_PLACE);
    dims[0] = s->n;
    dims[1] = rlx_int64(ctx, 4);
    const rlx_sinfo *info = rlx_tensor_info(ctx, rlx_shape(ctx, dims, 2), RELAX_FLOAT32, 2, NULL);
    s->x = (const rlx_expr *)rlx_var_new(ctx, false, rlx_string_z(ctx, "x"), -1, info, RLX_NO_PLACE);
    s->add = op(ctx, "add");
    s->multiply = op(ctx, "multiply");
    s->relu = op(ctx, "nn.relu");
    s->zeros = op(ctx, "zeros");
    const rlx_expr *shape = rlx_shape(ctx, dims, 2);
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("dtype")), *value = rlx_attr_dtype_new(ctx, RELAX_FLOAT32);
    const rlx_call *sample = rlx_as_call(rlx_call_op_z(ctx, "zeros", &shape, 1, rlx_attrs_new(ctx, &key, &value, 1), RLX_NO_PLACE));
    s->zeros_attrs = sample ? sample->attrs : NULL;
    return sample && s->b && rlx_builder_begin_function(s->b, &s->x, 1, true, false, RLX_SLICE("main"), NULL) &&
           rlx_builder_begin_block(s->b, true, RLX_NO_PLACE);
}

static double run(int bindings)
{
    bench s;
    memset(&s, 0, sizeof s);
    bool ok = prepare(&s);
    const rlx_expr *y = s.x;
    double start = now();
    for (int i = 0; ok && i < bindings / 8; i++)
        ok = (y = eight(&s, y, i)) != NULL;
    rlx_emit out = { .number = -1, .output = true };
    const rlx_var *result = ok ? rlx_builder_emit(s.b, y, &out) : NULL;
    ok = result && rlx_builder_end_block(s.b) && rlx_builder_end_function(s.b, &result->node, NULL, NULL, RLX_NO_PLACE);
    double each = (now() - start) / bindings;
    if (!ok) {
        fprintf(stderr, "the builder failed: %s\n", s.ctx->diags.first ? s.ctx->diags.first->message : "out of memory");
        exit(1);
    }
    rlx_builder_free(s.b);
    rlx_context_release(s.ctx);
    return each;
}

int main(void)
{
    static const int sizes[] = { 10000, 100000 };
    for (size_t k = 0; k < RLX_COUNT(sizes); k++) {
        double best = run(sizes[k]);
        for (int i = 1; i < RUNS; i++) {
            double t = run(sizes[k]);
            best = t < best ? t : best;
        }
        printf("builder, %d bindings: %.1f ns each\n", sizes[k], best);
    }
    return 0;
}
