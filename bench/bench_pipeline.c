/* bench_pipeline: cc -O2 -D_GNU_SOURCE -Iinclude -Isrc bench/bench_pipeline.c lib/librelax.a
 * -lm -lpthread -ldl Nanoseconds per binding of the check, of inference and of each pass of the
 * pipeline, over one function of many bindings on symbolic shapes. Prints one line per step and
 * size, best of runs; a step that is not linear shows. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analysis/analysis.h"
#include "analysis/well_formed.h"
#include "op/op.h"
#include "sinfo/builder.h"
#include "transform/transform.h"

enum { RUNS = 3, MAX_STEPS = RLX_MAX_PIPELINE + 3 };

typedef struct bench {
    rlx_context *ctx;
    rlx_builder *b;
    const rlx_expr *add, *multiply, *relu, *zeros;
    const rlx_attr *zeros_attrs;
    const rlx_expr *x;
    const rlx_prim *n;
} bench;

/* What was measured: names and the best time of each step. */
typedef struct table {
    const char *name[MAX_STEPS];
    double best[MAX_STEPS];
    size_t count, at;
} table;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void put(table *t, const char *name, double seconds)
{
    size_t i = t->at++;
    if (i >= t->count) {
        t->name[t->count] = name;
        t->best[t->count++] = seconds;
    }
    t->best[i] = seconds < t->best[i] ? seconds : t->best[i];
}

static void fail(const bench *s, const char *what)
{
    fprintf(stderr, "%s failed: %s\n", what,
            s->ctx->diags.first ? s->ctx->diags.first->message : "no message");
    exit(1);
}

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

/* Eight bindings: four on x's shape, four on (n + i, 4), which nobody uses. */
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

static bool prepare(bench *s)
{
    rlx_context *ctx = s->ctx = rlx_context_create(NULL, 0);
    const rlx_prim *dims[2];
    s->b = rlx_builder_create(ctx, NULL, NULL);
    s->n =
        (const rlx_prim *)rlx_prim_var_new(ctx, rlx_string_z(ctx, "n"), RELAX_INT64, RLX_NO_PLACE);
    dims[0] = s->n;
    dims[1] = rlx_int64(ctx, 4);
    const rlx_expr *shape = rlx_shape_new(ctx, dims, 2);
    const rlx_sinfo *info = rlx_tensor_info(ctx, shape, RELAX_FLOAT32, 2, NULL);
    s->x =
        (const rlx_expr *)rlx_var_new(ctx, false, rlx_string_z(ctx, "x"), -1, info, RLX_NO_PLACE);
    s->add = op(ctx, "add");
    s->multiply = op(ctx, "multiply");
    s->relu = op(ctx, "nn.relu");
    s->zeros = op(ctx, "zeros");
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("dtype")),
                   *value = rlx_attr_dtype_new(ctx, RELAX_FLOAT32);
    const rlx_attr *attrs = rlx_attrs_new(ctx, &key, &value, 1);
    const rlx_call *sample =
        rlx_as_call(rlx_call_op_z(ctx, "zeros", &shape, 1, attrs, RLX_NO_PLACE));
    s->zeros_attrs = sample ? sample->attrs : NULL;
    return sample && s->b &&
           rlx_builder_begin_function(s->b, &s->x, 1, true, NULL, RLX_SLICE("main"), NULL) &&
           rlx_builder_begin_block(s->b, true, RLX_NO_PLACE);
}

static const rlx_module *module_of(bench *s, int bindings)
{
    memset(s, 0, sizeof *s);
    bool ok = prepare(s);
    const rlx_expr *y = s->x;
    for (int i = 0; ok && i < bindings / 8; i++)
        ok = (y = eight(s, y, i)) != NULL;
    rlx_emit out = { .number = -1, .output = true };
    const rlx_var *result = ok ? rlx_builder_emit(s->b, y, &out) : NULL;
    const rlx_attr *key = rlx_attr_string_new(s->ctx, RLX_SLICE("global_symbol"));
    const rlx_attr *value = rlx_attr_string_new(s->ctx, RLX_SLICE("main"));
    const rlx_attr *attrs = rlx_attrs_new(s->ctx, &key, &value, 1);
    const rlx_function *f =
        result && rlx_builder_end_block(s->b)
            ? rlx_builder_end_function(s->b, &result->node, NULL, attrs, RLX_NO_PLACE)
            : NULL;
    rlx_builder_free(s->b);
    const rlx_global_var *gv =
        rlx_global_var_new(s->ctx, rlx_string_z(s->ctx, "main"), RLX_NO_PLACE);
    const rlx_node *gvar = gv ? &gv->node : NULL, *function = f ? &f->node : NULL;
    const rlx_module *m =
        f && gv ? rlx_module_new(s->ctx, &gvar, &function, 1, NULL, NULL, RLX_NO_PLACE) : NULL;
    if (!m)
        fail(s, "the builder");
    return m;
}

static void after(void *user, const char *pass, const rlx_module *m, double seconds, bool changed)
{
    put(user, pass, seconds);
}

static void check(bench *s, table *t, const char *name, const rlx_module *m, enum rlx_stage stage)
{
    double start = now();
    if (!rlx_well_formed(s->ctx, m, stage))
        fail(s, "the check");
    put(t, name, now() - start);
}

static void run(table *t, int bindings, bool lowered)
{
    bench s;
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    rlx_pass_hooks hooks = { .after = after, .user = t };
    const rlx_module *m = module_of(&s, bindings);
    t->at = 0;
    check(&s, t, "well_formed", m, RLX_STAGE_EXPLICIT);
    double start = now();
    if (!rlx_infer_module(s.ctx, m))
        fail(&s, "inference");
    put(t, "infer_module", now() - start);
    m = rlx_run_passes(s.ctx, m, steps, rlx_build_pipeline(lowered ? 0 : 1, steps), &hooks);
    if (!m)
        fail(&s, "the pipeline");
    check(&s, t, "well_formed, lowered", m, RLX_STAGE_ANY);
    rlx_context_release(s.ctx);
}

int main(void)
{
    static const int sizes[] = { 10000, 100000 };
    for (size_t k = 0; k < RLX_COUNT(sizes); k++)
        for (int only_lower = 0; only_lower < 2; only_lower++) {
            table t = { .count = 0 };
            for (int i = 0; i < RUNS; i++)
                run(&t, sizes[k], only_lower);
            printf("%d bindings, opt %d\n", sizes[k], only_lower ? 0 : 1);
            for (size_t i = 0; i < t.count; i++)
                printf("  %-28s %9.1f ns\n", t.name[i], t.best[i] * 1e9 / sizes[k]);
        }
    return 0;
}
