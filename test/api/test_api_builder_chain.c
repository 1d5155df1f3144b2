/* test_api_builder_chain: mistakes of a host that builds without places: one mistake is one
 * message, which says function and binding, and a function whose variables are out of scope is
 * refused where it ends. */
#include <relax/ops.h>
#include "api_fixture.h"

typedef struct function {
    relax_module_builder *mb;
    relax_builder *b;
    relax_expr *x, *w;
    relax_prim_expr *n;
} function;

/* main(x: (n, 4), w: (4, 2)) */
static function begin(relax_context *ctx)
{
    function f = { .mb = relax_module_builder_create(ctx, NULL) };
    f.b = relax_builder_create(ctx, f.mb);
    f.n = relax_shape_var_new(ctx, Z("n"));
    const relax_prim_expr *dims[] = { f.n, relax_prim_int_new(ctx, 4) };
    f.x = relax_var_new(ctx, Z("x"), relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32), 0);
    f.w = relax_var_new(ctx, Z("w"), relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 4, 2 }, 2,
                                                                      RELAX_FLOAT32), 0);
    const relax_expr *params[] = { f.x, f.w };
    relax_builder_begin_function(f.b, Z("main"), params, 2, NULL);
    return f;
}

static relax_module *finish(function *f, const relax_expr *result)
{
    relax_builder_end_function(f->b, result);
    relax_module *m = relax_module_builder_finish(f->mb);
    relax_builder_destroy(f->b);
    relax_module_builder_destroy(f->mb);
    return m;
}

/* There is one diagnostic, of that code, and its first notes are these (NULL: not looked at). */
static void assert_told(relax_context *ctx, const char *code, const char *note, const char *second)
{
    assert_int_equal(relax_context_num_diagnostics(ctx), 1);
    assert_string_equal(relax_diagnostic_code(ctx, 0), code);
    if (note)
        assert_string_equal(relax_diagnostic_note(ctx, 0, 0, NULL, NULL), note);
    if (second)
        assert_string_equal(relax_diagnostic_note(ctx, 0, 1, NULL, NULL), second);
    relax_context_clear_diagnostics(ctx);
}

static relax_expr *mixed_dtypes(relax_context *ctx, const function *f)
{
    return relax_r_add(ctx, f->x, relax_r_astype(ctx, f->x, RELAX_INT32));
}

static void test_one_mistake_is_one_message(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    relax_expr *y = relax_builder_emit(f.b, mixed_dtypes(ctx, &f), NULL, 0, 0);
    assert_null(y);
    for (int i = 0; i < 30; i++)
        y = relax_builder_emit(f.b, relax_r_nn_relu(ctx, relax_r_add(ctx, y, f.x)), NULL, 0, 0);
    assert_null(finish(&f, y));
    assert_true(relax_context_num_errors(ctx) > 60);
    assert_int_equal(relax_context_status(ctx), RELAX_ERROR_TYPE);
    assert_told(ctx, "TY08", "in main, after gv", NULL); /* gv: the cast, which came before */
}

/* What follows does not use up the errors that are kept: the next mistake is told too. */
static void test_next_mistake_is_told(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    relax_expr *y = NULL;
    y = relax_builder_emit(f.b, mixed_dtypes(ctx, &f), Z("first"), 0);
    for (int i = 0; i < 200; i++)
        y = relax_builder_emit(f.b, relax_r_nn_relu(ctx, y), NULL, 0, 0);
    relax_builder_emit(f.b, relax_r_matmul(ctx, f.w, f.w, NULL), Z("second"), 0);
    assert_null(finish(&f, f.x));
    assert_int_equal(relax_context_num_diagnostics(ctx), 2);
    assert_string_equal(relax_diagnostic_note(ctx, 0, 0, NULL, NULL), "in main, binding first");
    assert_string_equal(relax_diagnostic_note(ctx, 1, 0, NULL, NULL), "in main, binding second");
}

static void test_missing_argument(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    assert_null(relax_r_add(ctx, f.x, NULL));
    /* debug builds say the name of the call in front */
    assert_non_null(strstr(relax_diagnostic_message(ctx, 0, NULL), "argument 1 (x2) of add is NULL"));
    assert_told(ctx, "OP01", "in main, its first binding", NULL);
    relax_builder_emit(f.b, relax_r_abs(ctx, f.x), Z("positive"), 0);
    assert_null(relax_builder_emit(f.b, NULL, NULL, 0, 0));
    assert_told(ctx, "OP01", "in main, after positive", NULL);
    relax_builder_end_dataflow(f.b);
    assert_told(ctx, "OP09", "in main, after positive", NULL);
    assert_non_null(finish(&f, f.x));
    assert_null(relax_r_abs(ctx, NULL)); /* nothing is built any more */
    assert_int_equal(relax_diagnostic_num_notes(ctx, 0), 0);
}

/* ---- what is refused where a function ends */

static void test_forgotten_output(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    relax_builder_begin_dataflow(f.b);
    relax_expr *y = relax_builder_emit(f.b, relax_r_matmul(ctx, f.x, f.w, NULL), Z("y"), 0);
    relax_builder_end_dataflow(f.b);
    assert_null(relax_builder_end_function(f.b, y));
    assert_told(ctx, "WF01", "in main", "emit it as an output (relax_builder_emit_output)");
    relax_builder_destroy(f.b);
    relax_module_builder_destroy(f.mb);
}

static void test_foreign_variable(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function other = begin(ctx);
    relax_expr *x = other.x;
    assert_non_null(finish(&other, x));
    function f = begin(ctx);
    assert_null(finish(&f, relax_builder_emit(f.b, relax_r_nn_relu(ctx, x), Z("y"), 0)));
    assert_told(ctx, "WF02", "in main, binding y",
                "the parameter x that is bound here is another variable");
}

static void test_fresh_shape_variable(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    const relax_prim_expr *dims[] = { relax_shape_var_new(ctx, Z("n")), relax_prim_int_new(ctx, 4) };
    relax_expr *y = relax_r_reshape(ctx, f.x, relax_shape_expr_new(ctx, dims, 2));
    assert_null(finish(&f, relax_builder_emit(f.b, y, Z("y"), 0)));
    assert_told(ctx, "WF05", "in main, binding y",
                "another shape variable of the name n is bound: use that one");
}

/* A function may call one that is not there yet, and a local one capture what is around it. */
static void test_what_is_fine(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    const relax_struct_info *info = relax_expr_struct_info(f.x);
    relax_expr *later = relax_module_builder_declare(
        f.mb, Z("later"), relax_struct_info_func_new(ctx, &info, 1, info, 1));
    const relax_expr *arg[] = { f.x };
    relax_builder_emit(f.b, relax_call_new(ctx, later, arg, 1, NULL, 0), NULL, 0, 0);
    const relax_expr *param =
        relax_var_new(ctx, Z("z"), relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32), 0);
    relax_function_options options;
    relax_function_options_init(&options, sizeof options);
    relax_builder_begin_function(f.b, Z("inner"), &param, 1, &options);
    relax_expr *inner = relax_builder_end_function(
        f.b, relax_builder_emit(f.b, relax_r_matmul(ctx, param, f.w, NULL), NULL, 0, 0));
    assert_non_null(inner);
    relax_expr *main = relax_builder_end_function(f.b, f.x);
    assert_quiet(ctx);
    assert_non_null(main);
    relax_builder_destroy(f.b);
    relax_module_builder_destroy(f.mb);
}

/* ---- nodes of another context */

static void test_other_context(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx, *other = relax_context_create(NULL);
    const int64_t four = 4;
    relax_expr *x = relax_var_new(
        other, Z("x"), relax_struct_info_tensor_of_ints(other, &four, 1, RELAX_FLOAT32), 0);
    assert_null(relax_r_abs(ctx, x));
    assert_told(ctx, "OP02", NULL, NULL);
    const relax_expr *list[] = { x };
    assert_null(relax_tuple_new(ctx, list, 1));
    assert_told(ctx, "OP02", NULL, NULL);
    function f = begin(ctx);
    assert_null(relax_builder_emit(f.b, x, NULL, 0, 0));
    assert_told(ctx, "OP02", "in main, its first binding", NULL);
    relax_context_release(other); /* now it points to memory that is free */
    assert_null(relax_builder_emit(f.b, x, NULL, 0, 0));
    assert_told(ctx, "OP02", NULL, NULL);
    assert_non_null(finish(&f, f.x));
}

static void test_parameters_and_sizes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    const relax_prim_expr *half[] = { relax_prim_float_new(ctx, RELAX_FLOAT32, 0.5) };
    assert_null(relax_struct_info_tensor_new(ctx, half, 1, RELAX_FLOAT32));
    assert_told(ctx, "WX06", NULL, NULL);
    relax_expr *x = relax_var_new(ctx, Z("x"), relax_struct_info_object_new(ctx), 0);
    relax_expr *y = relax_var_new(ctx, Z("x"), relax_struct_info_object_new(ctx), 0);
    const relax_expr *twice[] = { x, y, x }, *two[] = { x, y }; /* of one name: two variables */
    assert_int_not_equal(relax_builder_begin_function(b, Z("f"), twice, 3, NULL), RELAX_OK);
    assert_told(ctx, "WX03", NULL, NULL);
    relax_builder_end_function(b, x);
    relax_context_clear_diagnostics(ctx);
    assert_int_equal(relax_builder_begin_function(b, Z("g"), two, 2, NULL), RELAX_OK);
    assert_non_null(relax_builder_end_function(b, x));
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
}

static void test_options_of_zeros(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    function f = begin(ctx);
    relax_compile_options zeros = { 0 };
    relax_module *m = finish(&f, f.x);
    assert_non_null(m);
    assert_null(relax_module_compile(ctx, m, &zeros));
    assert_non_null(strstr(relax_diagnostic_message(ctx, 0, NULL), "relax_compile_options_init"));
    assert_told(ctx, "OP05", NULL, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_mistake_is_one_message), TEST(test_next_mistake_is_told),
        TEST(test_missing_argument),           TEST(test_forgotten_output),
        TEST(test_foreign_variable),           TEST(test_fresh_shape_variable),
        TEST(test_what_is_fine),               TEST(test_other_context),
        TEST(test_parameters_and_sizes),       TEST(test_options_of_zeros),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
