/* test_lower_cache.c: a call lowered through the cache is the call lowered without it: same
 * PrimFunc, own arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "op/op.h"
#include "sinfo/builder.h"

enum { MAX_DIMS = 4 };

/* Shapes of the arguments: letters are shape variables, digits literals; "'2" is a literal
 * scalar. Then: is the PrimFunc that of row `like`? -1: of no row before. */
static const struct { const char *op, *args[3]; int like; } cases[] = {
    { "add", { "n4", "n4" }, -1 },
    { "add", { "m4", "m4" }, 0 },
    { "multiply", { "n4", "n4" }, -1 },
    { "add", { "n5", "n5" }, -1 },
    { "add", { "nm", "nm" }, -1 },
    { "add", { "nn", "nn" }, -1 },       /* not row 4: two sizes are one */
    { "add", { "mk", "mk" }, 4 },
    { "add", { "n4", "14" }, -1 },
    { "add", { "n4", "4" }, -1 },
    { "add", { "k4", "4" }, 8 },
    { "multiply", { "n4", "'2" }, -1 },
    { "multiply", { "n4", "'3" }, -1 },
    { "multiply", { "m4", "'2" }, 10 },
    { "matmul", { "nk", "k4" }, -1 },
    { "matmul", { "kn", "n4" }, 13 },
    { "matmul", { "nn", "n4" }, -1 },
    { "where", { "n4", "n4", "n4" }, -1 },
    { "add", { "n", "m" }, -1 },         /* sizes of the result are not known: not kept */
    { "add", { "m", "n" }, 17 },
};

typedef struct bench {
    rlx_context *ctx;
    rlx_scope scope;
    rlx_module_builder *mb;
    rlx_lower_cache *cache;
    const rlx_prim *size[3];             /* n m k */
} bench;

static void open_bench(bench *b)
{
    static const char *const names[] = { "n", "m", "k" };
    b->ctx = rlx_context_create(NULL, 0);
    rlx_scope_init(&b->scope, b->ctx, NULL);
    b->mb = rlx_module_builder_create(b->ctx, NULL);
    b->cache = rlx_lower_cache_create(b->ctx, b->mb);
    assert_non_null(b->cache);
    for (size_t i = 0; i < 3; i++) {
        const rlx_prim_var *v =
            rlx_prim_var_new(b->ctx, rlx_string_z(b->ctx, names[i]), RELAX_INT64, RLX_NO_PLACE);
        assert_true(rlx_scope_add(&b->scope, v, true));
        b->size[i] = &v->node;
    }
}

static void close_bench(bench *b)
{
    rlx_lower_cache_free(b->cache);
    rlx_module_builder_free(b->mb);
    rlx_scope_free(&b->scope);
    rlx_context_release(b->ctx);
}

static const rlx_expr *argument(const bench *b, const char *shape, bool is_bool)
{
    const rlx_prim *dims[MAX_DIMS];
    size_t n = strlen(shape);
    rlx_context *ctx = b->ctx;
    if (shape[0] == '\'')
        return rlx_prim_value_new(ctx, rlx_float(ctx, RELAX_FLOAT32, shape[1] - '0'));
    for (size_t i = 0; i < n; i++) {
        char c = shape[i];
        dims[i] = c <= '9' ? rlx_int64(ctx, c - '0') : b->size[c == 'n' ? 0 : c == 'm' ? 1 : 2];
    }
    const rlx_sinfo *info = rlx_tensor_info(ctx, rlx_shape_new(ctx, dims, n),
                                            is_bool ? RELAX_BOOL : RELAX_FLOAT32, (int)n, NULL);
    return &rlx_var_new(ctx, false, rlx_string_z(ctx, "x"), -1, info, RLX_NO_PLACE)->node;
}

static const rlx_call *call_of(const bench *b, size_t row)
{
    const rlx_expr *args[3];
    size_t n = 0;
    for (; n < 3 && cases[row].args[n]; n++)
        args[n] = argument(b, cases[row].args[n], n == 0 && strcmp(cases[row].op, "where") == 0);
    return rlx_as_call(rlx_call_op_z(b->ctx, cases[row].op, args, n, NULL, RLX_NO_PLACE));
}

static void assert_same_call(const rlx_call *have, const rlx_call *want)
{
    const rlx_tuple *a = rlx_as_tuple(have->args[1]), *c = rlx_as_tuple(want->args[1]);
    assert_ptr_equal(have->args[0], want->args[0]);
    assert_int_equal(a->num_fields, c->num_fields);
    for (size_t i = 0; i < a->num_fields; i++)
        assert_ptr_equal(a->fields[i], c->fields[i]);
    assert_ptr_equal(have->sinfo_args[0], want->sinfo_args[0]);
}

static void test_rows(void **state)
{
    bench b;
    const rlx_expr *made[RLX_COUNT(cases)];
    open_bench(&b);
    for (size_t i = 0; i < RLX_COUNT(cases); i++) {
        const rlx_call *call = call_of(&b, i);
        const rlx_sinfo *result = rlx_op_infer(b.ctx, &b.scope, NULL, call, false);
        assert_non_null(result);
        const rlx_call *have =
            rlx_as_call(rlx_op_lower_cached(b.cache, &b.scope, call, result, NULL));
        const rlx_call *want = rlx_as_call(rlx_op_lower(b.mb, &b.scope, call, result, NULL));
        assert_non_null(have);
        assert_same_call(have, want);
        made[i] = have->args[0];
        for (size_t k = 0; k < i; k++)
            if ((int)k != cases[i].like && cases[k].like < 0 && made[k] == made[i])
                fail_msg("row %zu has the PrimFunc of row %zu", i, k);
        if (cases[i].like >= 0)
            assert_ptr_equal(made[i], made[cases[i].like]);
    }
    close_bench(&b);
}

/* add(x, x) is found for add(x, y), and keeps its own arguments. */
static void test_arguments(void **state)
{
    bench b;
    open_bench(&b);
    const rlx_expr *x = argument(&b, "n4", false), *y = argument(&b, "n4", false),
                   *pairs[][2] = { { x, x }, { x, y }, { y, x } };
    for (size_t i = 0; i < RLX_COUNT(pairs); i++) {
        const rlx_call *call =
            rlx_as_call(rlx_call_op_z(b.ctx, "add", pairs[i], 2, NULL, RLX_NO_PLACE));
        const rlx_call *tir =
            rlx_as_call(rlx_op_lower_cached(b.cache, &b.scope, call, rlx_as_var(x)->sinfo, NULL));
        const rlx_tuple *inputs = rlx_as_tuple(tir->args[1]);
        assert_ptr_equal(inputs->fields[0], pairs[i][0]);
        assert_ptr_equal(inputs->fields[1], pairs[i][1]);
    }
    close_bench(&b);
}

/* A tuple literal gives its fields, a variable of the same struct info projections. */
static void test_fields(void **state)
{
    bench b;
    open_bench(&b);
    const rlx_expr *both[2] = { argument(&b, "n4", false), argument(&b, "m4", false) };
    const rlx_sinfo *infos[2] = { rlx_as_var(both[0])->sinfo, rlx_as_var(both[1])->sinfo };
    const rlx_var *t = rlx_var_new(b.ctx, false, rlx_string_z(b.ctx, "t"), -1,
                                   rlx_tuple_info(b.ctx, infos, 2), RLX_NO_PLACE);
    const rlx_expr *tuples[] = { rlx_tuple_new(b.ctx, both, 2, RLX_NO_PLACE), &t->node };
    const rlx_expr *gv = NULL;
    for (size_t i = 0; i < 2; i++) {
        const rlx_call *call =
            rlx_as_call(rlx_call_op_z(b.ctx, "concat", &tuples[i], 1, NULL, RLX_NO_PLACE));
        const rlx_sinfo *result = rlx_op_infer(b.ctx, &b.scope, NULL, call, false);
        const rlx_call *tir =
            rlx_as_call(rlx_op_lower_cached(b.cache, &b.scope, call, result, NULL));
        const rlx_tuple *inputs = rlx_as_tuple(tir->args[1]);
        assert_true(!gv || gv == tir->args[0]);
        gv = tir->args[0];
        for (size_t k = 0; k < 2; k++)
            if (i == 0)
                assert_ptr_equal(inputs->fields[k], both[k]);
            else
                assert_int_equal(rlx_as_tuple_get_item(inputs->fields[k])->index, k);
    }
    close_bench(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
                                        cmocka_unit_test(test_arguments),
                                        cmocka_unit_test(test_fields) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
