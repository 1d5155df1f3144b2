/* test_api_block_edit: edits of one dataflow block: what they do, what they refuse, what stays. */
#include "checked_module.h"
#include "text_file.h"

#include <relax/ops.h>

/* The program with these lines as its block, and this after it. */
static relax_module *with_block(relax_context *ctx, const char *lines, const char *outputs,
                                const char *after)
{
    char source[4096];
    snprintf(source, sizeof source, PROGRAM("a block"), lines, outputs, after);
    return parsed(ctx, source);
}

typedef struct scene { relax_module *m; const relax_block *block; relax_block_edit *edit; } scene;

static const relax_expr *body(const relax_module *m)
{
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    return relax_expr_operand(f, relax_expr_num_operands(f) - 1);
}

static scene open_scene(relax_context *ctx)
{
    scene s = { .m = parsed(ctx, PROGRAM("a block to edit")) };
    s.block = relax_seq_block(body(s.m), 1);
    s.edit = relax_block_edit_create(ctx, s.m, Z("main"), s.block);
    assert_quiet(ctx);
    assert_non_null(s.edit);
    return s;
}

static const relax_expr *var(const relax_block *block, const char *name)
{
    for (size_t i = 0; i < relax_block_num_bindings(block); i++) {
        const relax_expr *v = relax_binding_var(relax_block_binding(block, i));
        if (strcmp(relax_expr_name(v, NULL), name) == 0)
            return v;
    }
    fail_msg("no variable %s", name);
    return NULL;
}

static void test_nothing(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    scene s = open_scene(ctx);
    assert_ptr_equal(relax_block_edit_block(s.edit), s.block);
    assert_ptr_equal(relax_block_edit_module(s.edit), s.m);
    assert_ptr_equal(relax_block_edit_function(s.edit), relax_module_function(s.m, 0));
    relax_block_edit_destroy(s.edit);
}

static void test_replacing(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    scene s = open_scene(ctx);
    const relax_expr *a = var(s.block, "a"), *b = var(s.block, "b"), *gv = var(s.block, "gv"),
                     *out = var(s.block, "out"), *d = var(s.block, "d");
    assert_int_equal(relax_block_edit_replace_uses(s.edit, b, a), RELAX_OK);
    assert_int_equal(relax_block_edit_replace_uses(s.edit, out, gv), RELAX_OK);
    assert_same(ctx, relax_block_edit_module(s.edit),
                with_block(ctx, PROGRAM("replacing"), "gv, out", "R.add(gv, gv)"));
    /* refused: bound after a use; a variable of the block after it; not in scope; another shape */
    assert_int_equal(relax_block_edit_replace_uses(s.edit, a, d), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP17");
    assert_int_equal(relax_block_edit_replace_uses(s.edit, gv, d), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP17");
    const relax_expr *z =
        relax_binding_var(relax_block_binding(relax_seq_block(body(s.m), 2), 0));
    assert_int_equal(relax_block_edit_replace_uses(s.edit, d, z), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP17");
    const relax_expr *x =
        relax_expr_operand(relax_base_func_as_expr(relax_module_function(s.m, 0)), 0);
    const relax_expr *small = relax_block_edit_add(s.edit, relax_r_sum(ctx, x, NULL), Z("s"), 0);
    assert_quiet(ctx);
    assert_non_null(small);
    assert_int_equal(relax_block_edit_replace_uses(s.edit, d, small),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP17");
    relax_block_edit_destroy(s.edit);
}

static void test_adding(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    scene s = open_scene(ctx);
    const relax_expr *a = var(s.block, "a"), *b = var(s.block, "b"), *out = var(s.block, "out");
    /* nested operands are bound before; right after b */
    const relax_expr *v = relax_block_edit_add(
        s.edit, relax_r_multiply(ctx, relax_r_abs(ctx, b), a), Z("v"), 1);
    assert_quiet(ctx);
    assert_int_equal(relax_expr_kind(v), RELAX_EXPR_KIND_VAR);
    assert_int_equal(relax_block_edit_replace_uses(s.edit, out, v), RELAX_OK);
    /* no operand in the block: first of all */
    const relax_expr *x =
        relax_expr_operand(relax_base_func_as_expr(relax_module_function(s.m, 0)), 0);
    const relax_expr *first = relax_block_edit_add(s.edit, relax_r_sin(ctx, x), Z("p"), 0);
    assert_int_equal(relax_expr_kind(first), RELAX_EXPR_KIND_DATAFLOW_VAR);
    assert_same(ctx, relax_block_edit_module(s.edit),
                with_block(ctx, PROGRAM("adding"), "gv, out, v", "R.add(gv, v)"));
    assert_true(relax_expr_place(v) != 0);
    /* what is bound later, or is ill-typed, or impure */
    const relax_expr *z =
        relax_binding_var(relax_block_binding(relax_seq_block(body(s.m), 2), 0));
    assert_null(relax_block_edit_add(s.edit, relax_r_exp(ctx, z), NULL, 0, 0));
    assert_said(ctx, "OP02");
    const relax_expr *host = relax_extern_func_new(ctx, Z("host"));
    assert_null(
        relax_block_edit_add(s.edit, relax_call_new(ctx, host, &a, 1, NULL, 0), NULL, 0, 0));
    assert_said(ctx, "PU01");
    relax_block_edit_destroy(s.edit);
}

static void test_removing(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    scene s = open_scene(ctx);
    const relax_expr *u = var(s.block, "u"), *w = var(s.block, "w"), *gv = var(s.block, "gv"),
                     *b = var(s.block, "b"), *a = var(s.block, "a");
    assert_int_equal(relax_block_edit_remove(s.edit, u, 0), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    assert_int_equal(relax_block_edit_remove(s.edit, gv, 0), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    assert_int_equal(relax_block_edit_remove(s.edit, w, 0), RELAX_OK);
    assert_int_equal(relax_block_edit_remove(s.edit, u, 0), RELAX_OK);
    assert_int_equal(relax_block_edit_remove(s.edit, u, 0), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP02");
    /* gone, though used: function and module are refused until the uses are replaced */
    assert_int_equal(relax_block_edit_remove(s.edit, b, 1), RELAX_OK);
    assert_null(relax_block_edit_module(s.edit));
    assert_said(ctx, "WF02");
    assert_int_equal(relax_block_edit_replace_uses(s.edit, b, a), RELAX_OK);
    assert_same(ctx, relax_block_edit_module(s.edit),
                with_block(ctx, PROGRAM("removing"), "gv, out", "R.add(gv, out)"));
    relax_block_edit_destroy(s.edit);
}

static void test_removing_unused(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    scene s = open_scene(ctx);
    assert_int_equal(relax_block_edit_remove_unused(s.edit), RELAX_OK);
    assert_same(ctx, relax_block_edit_module(s.edit),
                with_block(ctx, PROGRAM("removing unused"), "gv, out", "R.add(gv, out)"));
    /* an output whose uses went to another one */
    const relax_expr *gv = var(s.block, "gv"), *out = var(s.block, "out");
    assert_int_equal(relax_block_edit_replace_uses(s.edit, gv, out), RELAX_OK);
    assert_int_equal(relax_block_edit_remove_unused(s.edit), RELAX_OK);
    assert_same(ctx, relax_block_edit_module(s.edit),
                with_block(ctx, PROGRAM("removing unused, also an output"),
                           "out", "R.add(out, out)"));
    relax_block_edit_destroy(s.edit);
}

static void test_sizes_and_branches(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("sizes and branches"));
    const relax_binding *branch = relax_block_binding(relax_seq_block(body(m), 0), 0);
    const relax_block *block =
        relax_seq_block(relax_expr_operand(relax_binding_value(branch), 1), 0);
    relax_block_edit *e = relax_block_edit_create(ctx, m, Z("main"), block);
    assert_non_null(e);
    /* the cast binds a size that is used */
    assert_int_equal(relax_block_edit_remove(e, var(block, "a"), 0),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    /* after the cast, as it needs the size */
    const relax_prim_expr *n =
        relax_struct_info_dim(relax_expr_struct_info(var(block, "a")), 0);
    const relax_expr *shape = relax_shape_expr_new(ctx, &n, 1);
    const relax_expr *v =
        relax_block_edit_add(e, relax_r_ones(ctx, shape, RELAX_FLOAT32), Z("v"), 0);
    assert_quiet(ctx);
    assert_ptr_equal(relax_struct_info_dim(relax_expr_struct_info(v), 0), n);
    const relax_block *now = relax_block_edit_block(e);
    assert_int_equal(relax_block_num_bindings(now), 4);
    assert_ptr_equal(relax_binding_var(relax_block_binding(now, 1)), v);
    relax_module *out = relax_block_edit_module(e);
    assert_quiet(ctx);
    assert_non_null(out);
    relax_block_edit_destroy(e);
}

static void test_misuse(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    scene s = open_scene(ctx);
    relax_module *other = parsed(ctx, PROGRAM("a block to edit"));
    assert_null(relax_block_edit_create(ctx, other, Z("main"), s.block));
    assert_said(ctx, "OP02");
    assert_null(relax_block_edit_create(ctx, s.m, Z("main"), relax_seq_block(body(s.m), 0)));
    assert_said(ctx, "OP02");
    assert_null(relax_block_edit_create(ctx, s.m, Z("none"), s.block));
    assert_said(ctx, "OP15");
    assert_int_equal(relax_block_edit_remove(s.edit, body(s.m), 0), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP02");
    relax_block_edit_destroy(NULL);
    relax_block_edit_destroy(s.edit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_nothing, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_replacing, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_adding, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_removing, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_removing_unused, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_sizes_and_branches, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_misuse, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
