/* bench_ir: cc -O2 -D_GNU_SOURCE -Iinclude -Isrc bench/bench_ir.c lib/librelax.a -lm -lpthread
 * -ldl Nanoseconds per binding constructed without inference: call, argument array, variable,
 * binding and the interned shape and tensor struct info of the result. Linked with librelax.a.
 * Prints one line per case, best of runs. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "ir/ir.h"

enum { RUNS = 9 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* One new binding y_i = f(x, y): shapes repeat, or each has its own size when `distinct`. */
static const rlx_binding *one(rlx_context *ctx, const rlx_expr *f, const rlx_prim *n,
                              const rlx_string *name, const rlx_var **last, int i, bool distinct)
{
    const rlx_prim *dims[] = { n, rlx_int64(ctx, distinct ? 1000 + i : i & 63) };
    const rlx_sinfo *s = rlx_tensor_info(ctx, rlx_shape_new(ctx, dims, 2), RELAX_FLOAT32, -1, NULL);
    const rlx_expr *args[] = { &(*last)->node, &(*last)->node };
    const rlx_expr *call = rlx_call_new(ctx, f, args, 2, NULL, 0, NULL, RLX_NO_PLACE);
    *last = rlx_var_new(ctx, true, name, i, s, RLX_NO_PLACE);
    return rlx_var_binding_new(ctx, *last, call, RLX_NO_PLACE);
}

static double run(int bindings, bool distinct)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    const rlx_string *name = rlx_string_z(ctx, "lv");
    const rlx_prim *n =
        (const rlx_prim *)rlx_prim_var_new(ctx, rlx_string_z(ctx, "n"), RELAX_INT64, RLX_NO_PLACE);
    const rlx_expr *f = rlx_extern_func_new(ctx, RLX_SLICE("f"));
    const rlx_var *last = rlx_var_new(ctx, true, name, -1, ctx->object, RLX_NO_PLACE);
    bool ok = name && n && f && last;
    double start = now();
    for (int i = 0; ok && i < bindings; i++)
        ok = one(ctx, f, n, name, &last, i, distinct) != NULL;
    double each = (now() - start) / bindings;
    rlx_context_release(ctx);
    if (!ok) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return each;
}

int main(void)
{
    static const struct {
        int bindings;
        bool distinct;
    } cases[] = { { 10000, false }, { 10000, true }, { 100000, false }, { 100000, true } };
    for (size_t k = 0; k < RLX_COUNT(cases); k++) {
        double best = run(cases[k].bindings, cases[k].distinct);
        for (int i = 1; i < RUNS; i++) {
            double t = run(cases[k].bindings, cases[k].distinct);
            best = t < best ? t : best;
        }
        printf("ir, %d bindings, %s shapes: %.1f ns each\n", cases[k].bindings,
               cases[k].distinct ? "distinct" : "repeated", best);
    }
    return 0;
}
