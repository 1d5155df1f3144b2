/* test_api_bounds: bounds that attributes of functions promise of their shape variables: where
 * functions are built, copied, specialised, inlined and merged, and when they are called. */
#include "checked_module.h"
#include "text_file.h"

#include <relax/ops.h>

#define VECTOR(n) "R.Tensor((" n ",), dtype=\"float32\")"

static const relax_prim_expr *size(relax_context *ctx, const char *name)
{
    return relax_prim_var_new(ctx, Z(name), RELAX_INT64);
}

static const relax_attr *limit(relax_context *ctx, const char *name, int64_t most)
{
    const relax_attr *limits =
        relax_attr_map_with(ctx, NULL, Z(name), relax_attr_int_new(ctx, most));
    return relax_attr_map_with(ctx, NULL, Z("tir_var_upper_bound"), limits);
}

/* ---- building ------------------------------------------------------------------------------- */

/* exp(x) of (n,) under the annotation (100,) or (min(n, 100),), in a function that promises
 * n <= most. */
static relax_module *built(relax_context *ctx, int64_t most, bool least)
{
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_function_options options;
    relax_function_options_init(&options, sizeof options);
    options.attrs = limit(ctx, "n", most);
    const relax_prim_expr *n = size(ctx, "n"), *hundred = relax_prim_int_new(ctx, 100);
    if (least)
        hundred = relax_prim_binary_new(ctx, RELAX_PRIM_MIN, n, hundred);
    const relax_struct_info *plain = relax_struct_info_tensor_new(ctx, &n, 1, RELAX_FLOAT32),
                            *fixed = relax_struct_info_tensor_new(ctx, &hundred, 1, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), plain, 0);
    assert_int_equal(relax_builder_begin_function(b, Z("main"), &x, 1, &options), RELAX_OK);
    const relax_expr *y = relax_builder_emit_annotated(b, relax_r_exp(ctx, x), fixed, NULL, 0,
                                                       0);
    relax_builder_end_function(b, y);
    relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return m;
}

static void test_the_builder_believes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    assert_int_equal(relax_module_well_formed(ctx, built(ctx, 100, true), RELAX_CHECK_ALL), 1);
    assert_quiet(ctx);
    assert_null(built(ctx, 99, false));
    assert_said(ctx, "TY01");
}

/* ---- specialising --------------------------------------------------------------------------- */

static void test_what_is_bound_loses_its_bound(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("two bounds"));
    const char *n = "n", *both[] = { "n", "m" };
    const relax_prim_expr *four = relax_prim_int_new(ctx, 4), *fours[] = { four, four };
    assert_same(ctx, relax_module_bind_shape_names(ctx, m, NULL, 0, &n, &four, 1),
                parsed(ctx, PROGRAM("what is bound loses its bound")));
    assert_same(ctx, relax_module_bind_shape_names(ctx, m, NULL, 0, both, fours, 2),
                parsed(ctx, HEAD "@R.function\ndef main(x: " VECTOR("4") ", y: " VECTOR("4")
                                 ") -> R.Object:\n    return x\n"));
    const relax_prim_expr *most = relax_prim_int_new(ctx, 64), *more = relax_prim_int_new(ctx, 65);
    assert_non_null(relax_module_bind_shape_names(ctx, m, NULL, 0, &n, &most, 1));
    assert_quiet(ctx);
    assert_null(relax_module_bind_shape_names(ctx, m, NULL, 0, &n, &more, 1));
    assert_said(ctx, "OP11");
}

static void test_a_weight_within_the_bounds(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("two bounds"));
    static const float zeros[9];
    for (int64_t rows = 8; rows <= 9; rows++) {
        const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
        const relax_expr *y = relax_expr_operand(f, 1);
        const relax_expr *w =
            relax_constant_new(ctx, RELAX_FLOAT32, &rows, 1, zeros, (size_t)rows * sizeof *zeros);
        relax_module *out = relax_module_bind_constants(ctx, m, &y, &w, 1);
        if (rows == 8)
            assert_same(ctx, out, parsed(ctx, PROGRAM("a weight within the bounds")));
        else
            assert_null(out);
    }
    assert_said(ctx, "CG12");
}

/* ---- inlining and merging ------------------------------------------------------------------- */

static void test_inlining_keeps_the_check(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("inlining keeps the check"));
    relax_module *want = parsed(ctx, PROGRAM("inlining keeps the check, wanted"));
    assert_same(ctx, relax_module_inline_function(ctx, m, Z("f")), want);
}

static void test_functions_that_promise_more_are_others(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = PROGRAM("functions that promise more are others");
    relax_module *a = parsed(ctx, text), *b = parsed(ctx, text);
    relax_module *both = relax_module_merge(ctx, a, b);
    assert_same(ctx, both, a);
    relax_module *bare = parsed(ctx, PROGRAM("functions that promise more are others, bare"));
    both = relax_module_merge(ctx, a, bare);
    assert_quiet(ctx);
    assert_int_equal(relax_module_num_functions(both), 2);
    assert_int_equal(relax_module_well_formed(ctx, both, RELAX_CHECK_NORMAL), 1);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void test_the_border_checks(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("the border checks"));
    relax_executable *exe = relax_module_compile(ctx, m, NULL);
    assert_quiet(ctx);
    relax_vm *vm = NULL;
    assert_int_equal(relax_vm_create(exe, NULL, &vm, NULL), RELAX_OK);
    for (int64_t n = 63; n <= 65; n++) {
        relax_value s = { 0 }, out = { 0 };
        relax_error *error = NULL;
        assert_int_equal(relax_value_set_shape(&s, &n, 1, NULL), RELAX_OK);
        relax_status status = relax_vm_call(vm, Z("main"), &s, 1, &out, &error);
        assert_int_equal(status == RELAX_OK, n <= 64);
        if (error) {
            assert_string_equal(relax_error_code(error), "RT05");
            assert_non_null(strstr(relax_error_message(error, NULL), "n is 65"));
            assert_non_null(strstr(relax_error_message(error, NULL), "at most 64"));
        }
        relax_error_release(error);
        relax_value_release(&s);
        relax_value_release(&out);
    }
    relax_vm_release(vm);
    relax_executable_release(exe);
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        CASE(test_the_builder_believes),       CASE(test_what_is_bound_loses_its_bound),
        CASE(test_a_weight_within_the_bounds), CASE(test_inlining_keeps_the_check),
        CASE(test_functions_that_promise_more_are_others),
        CASE(test_the_border_checks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
