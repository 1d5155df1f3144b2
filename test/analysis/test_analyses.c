/* test_analyses.c: variables, uses, purity, groups of functions, normal form, inference again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text_module.h"
#include "analysis/analysis.h"
#include "analysis/well_formed.h"
#include "sinfo/builder.h"
#include "transform/transform.h"
#include "text_file.h"


static const rlx_function *function_at(const rlx_module *m, const char *name)
{
    int64_t i = rlx_module_find(m, rlx_slice_z(name));
    assert_true(i >= 0);
    return rlx_as_function(m->functions[i]);
}

/* "a b c" */
static const char *names(rlx_context *ctx, const rlx_vars *v, char room[256])
{
    room[0] = 0;
    for (size_t i = 0; i < v->len; i++) {
        strcat(room, i ? " " : "");
        strcat(room, rlx_show(ctx, &v->data[i]->node));
    }
    return room;
}

static void test_vars(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    char room[256];
    const rlx_module *m = text_module(ctx, PROGRAM("vars"));
    const rlx_function *f = function_at(m, "main");
    rlx_vars bound = { 0 }, all = { 0 }, free_ones = { 0 }, in_body = { 0 };
    assert_true(rlx_bound_vars(ctx, &f->node, &bound) && rlx_all_vars(ctx, &f->node, &all) &&
                rlx_free_vars(ctx, &f->node, &free_ones));
    assert_true(rlx_free_vars(ctx, f->body, &in_body));
    assert_string_equal(names(ctx, &bound, room), "x y a b");
    assert_string_equal(names(ctx, &all, room), "x y a b");
    assert_string_equal(names(ctx, &free_ones, room), "");
    assert_string_equal(names(ctx, &in_body, room), "x");
    rlx_prim_vars sizes = { 0 }, free_sizes = { 0 };
    assert_true(rlx_defined_shape_vars(ctx, &f->node, &sizes) &&
                rlx_free_shape_vars(ctx, f->body, &free_sizes));
    assert_int_equal(sizes.len, 2);
    assert_int_equal(free_sizes.len, 1);
    rlx_ptrmap counts;
    uintptr_t n = 0;
    rlx_ptrmap_init(&counts, &ctx->memory);
    assert_true(rlx_count_uses(ctx, f, &counts));
    assert_true(rlx_ptrmap_find(&counts, f->params[0], &n) && n == 2);
    assert_false(rlx_ptrmap_find(&counts, f->params[1], &n));
    rlx_ptrmap_free(&counts);
    rlx_vec_free(&ctx->memory, &bound);
    rlx_vec_free(&ctx->memory, &all);
    rlx_vec_free(&ctx->memory, &in_body);
    rlx_vec_free(&ctx->memory, &sizes);
    rlx_vec_free(&ctx->memory, &free_sizes);
    rlx_context_release(ctx);
}

static void test_purity(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    const rlx_module *m = text_module(ctx, PROGRAM("purity"));
    rlx_env env = rlx_module_env(m);
    const rlx_call *found = rlx_find_impure_call(ctx, &env, &function_at(m, "main")->node, NULL);
    assert_non_null(found);
    assert_true(rlx_is(found->op, RLX_NODE_EXTERN_FUNC));
    assert_null(rlx_find_impure_call(ctx, &env, &function_at(m, "other")->node, NULL));
    assert_null(rlx_find_impure_call(ctx, &env, &function_at(m, "main")->node, found->op));
    rlx_context_release(ctx);
}

static void test_groups(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    const rlx_module *m = text_module(
        ctx, PROGRAM("groups"));
    uint32_t group[5], at[5];
    bool recursive[5];
    static const char *const order[] = { "a", "b", "c", "d", "e" };
    assert_non_null(m);
    assert_true(rlx_call_groups(ctx, m, group, recursive));
    for (int i = 0; i < 5; i++)
        at[i] = (uint32_t)rlx_module_find(m, rlx_slice_z(order[i]));
    assert_int_equal(group[at[1]], group[at[2]]);
    assert_true(group[at[1]] < group[at[0]]); /* callees first */
    assert_true(group[at[3]] != group[at[4]]);
    assert_false(recursive[at[0]]);
    assert_true(recursive[at[1]] && recursive[at[2]] && recursive[at[3]]);
    assert_false(recursive[at[4]]);
    rlx_context_release(ctx);
}

/* x -> a value that is not normal, and the codes that say so. */
typedef struct maker { rlx_context *ctx; const rlx_expr *x; } maker;
static const rlx_expr *op1(maker *k, const char *op, const rlx_expr *a)
{
    return rlx_call_op_z(k->ctx, op, &a, 1, NULL, RLX_NO_PLACE);
}
static const rlx_expr *nested_call(maker *k) { return op1(k, "exp", op1(k, "sin", k->x)); }
static const rlx_expr *call_in_tuple(maker *k)
{
    const rlx_expr *inner = op1(k, "sin", k->x), *fields[] = { k->x, inner };
    const rlx_expr *t = rlx_tuple_new(k->ctx, fields, 2, RLX_NO_PLACE), *outer[] = { t, k->x };
    return rlx_tuple_new(k->ctx, outer, 2, RLX_NO_PLACE);
}
static const rlx_expr *sequence(maker *k)
{
    return rlx_seq_new(k->ctx, NULL, 0, op1(k, "exp", k->x), RLX_NO_PLACE);
}
static const rlx_expr *item_of_call(maker *k)
{
    const rlx_expr *two[] = { op1(k, "exp", k->x) };
    return rlx_tuple_get_item_new(k->ctx, rlx_tuple_new(k->ctx, two, 1, RLX_NO_PLACE), 0,
                                  RLX_NO_PLACE);
}
static const rlx_expr *flat_call(maker *k) { return op1(k, "exp", k->x); }

static const struct {
    const char *codes;
    const rlx_expr *(*value)(maker *k);
    bool bare_body, two_blocks;
} forms[] = {
    { "", flat_call, false, false },         { "NF01", nested_call, false, false },
    { "NF01", call_in_tuple, false, false }, { "NF02", sequence, false, false },
    { "NF03", flat_call, true, false },      { "NF04", flat_call, false, true },
    { "NF10", item_of_call, false, false },
};

static const rlx_module *build(maker *k, size_t i)
{
    const rlx_sinfo *s = rlx_tensor_ints(k->ctx, (const int64_t[]){ 4 }, 1, RELAX_FLOAT32);
    const rlx_var *x = rlx_var_new(k->ctx, false, rlx_string_z(k->ctx, "x"), -1, s, RLX_NO_PLACE);
    const rlx_var *y = rlx_var_new(k->ctx, false, rlx_string_z(k->ctx, "y"), -1, s, RLX_NO_PLACE),
                  *z = rlx_var_new(k->ctx, false, rlx_string_z(k->ctx, "z"), -1, s, RLX_NO_PLACE);
    k->x = &x->node;
    const rlx_binding *first = rlx_var_binding_new(k->ctx, y, forms[i].value(k), RLX_NO_PLACE),
                      *second = rlx_var_binding_new(k->ctx, z, op1(k, "exp", k->x), RLX_NO_PLACE);
    const rlx_node *blocks[] = { rlx_block_new(k->ctx, false, &first, 1, RLX_NO_PLACE),
                                 rlx_block_new(k->ctx, false, &second, 1, RLX_NO_PLACE) };
    const rlx_expr *body =
        forms[i].bare_body
            ? forms[i].value(k)
            : rlx_seq_new(k->ctx, blocks, forms[i].two_blocks ? 2 : 1, k->x, RLX_NO_PLACE);
    const rlx_expr *gv =
        &rlx_global_var_new(k->ctx, rlx_string_z(k->ctx, "main"), RLX_NO_PLACE)->node;
    const rlx_node *f = (const rlx_node *)rlx_function_new(k->ctx, &k->x, 1, body, s, true, true,
                                                           NULL, NULL, RLX_NO_PLACE);
    return rlx_module_new(k->ctx, &gv, &f, 1, NULL, NULL, RLX_NO_PLACE);
}

static void test_normal_form(void **state)
{
    for (size_t i = 0; i < sizeof forms / sizeof forms[0]; i++) {
        maker k = { .ctx = rlx_context_create(NULL, 0) };
        char room[256];
        const rlx_module *m = build(&k, i);
        bool normal = !forms[i].codes[0];
        assert_int_equal(rlx_well_formed(k.ctx, m, RLX_STAGE_NORMAL), normal);
        assert_string_equal(text_codes(k.ctx, room), forms[i].codes);
        rlx_diags_clear(&k.ctx->diags);
        /* before normalisation it is no error */
        assert_true(rlx_well_formed(k.ctx, m, RLX_STAGE_ANY));
        rlx_pass_step step = { .row = rlx_pass_find(RLX_SLICE("normalize")) };
        const rlx_module *out = rlx_run_passes(k.ctx, m, &step, 1, NULL);
        if (!out) {
            char *d = text_diagnostics(k.ctx);
            print_error("form %zu: %s\n", i, d);
            free(d);
            fail();
        }
        assert_int_equal(out == m, normal);
        assert_true(rlx_is_normal(k.ctx, function_at(out, "main"), true));
        assert_ptr_equal(rlx_run_passes(k.ctx, out, &step, 1, NULL), out);
        rlx_context_release(k.ctx);
    }
}

static void test_infer(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    const rlx_module *m = text_module(
        ctx, PROGRAM("infer"));
    assert_ptr_equal(rlx_infer_module(ctx, m), m);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vars),   cmocka_unit_test(test_purity),
        cmocka_unit_test(test_groups), cmocka_unit_test(test_normal_form),
        cmocka_unit_test(test_infer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
