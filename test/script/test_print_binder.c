/* test_print_binder: names of the binders of function descriptions: never those of a size in
 * scope, and whatever was read into the context before. */
#include "../api/checked_module.h"
#include "text_file.h"

#define CALLABLE(n, k) "R.Callable((R.Tensor((" n ", " k "), dtype=\"float32\"),), "     \
                       "R.Tensor((" n ", " k "), dtype=\"float32\"), True)"
#define MATRIX(n, k) "R.Tensor((" n ", " k "), dtype=\"float32\")"

/* It reads back as an equal module, and that prints the same. */
static relax_module *assert_reads_back(relax_context *ctx, const relax_module *m)
{
    char *text = printed(ctx, relax_module_as_node(m));
    relax_module *again = parsed(ctx, text);
    assert_same(ctx, again, m);
    char *twice = printed(ctx, relax_module_as_node(again));
    assert_string_equal(twice, text);
    free(text);
    free(twice);
    return again;
}

/* n of f and g are binders beside the size n; m is a binder, then the size that a cast binds. */
static void test_beside_sizes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("many"));
    char *text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text, "a: " CALLABLE("n_1", "4") " = cls.f"));
    assert_non_null(strstr(text, "b: " CALLABLE("n_1", "8") " = cls.g"));
    assert_non_null(strstr(text, "d: " CALLABLE("m", "4") " = h"));
    assert_non_null(strstr(text, "R.match_cast(w, " MATRIX("m_1", "4") ")"));
    assert_non_null(strstr(text, "i: " CALLABLE("m", "4") " = h"));
    free(text);
    assert_reads_back(ctx, m);
}

/* A binder that is met first takes the name; the size that comes later another one. */
static void test_before_sizes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_prim_expr *n = relax_prim_var_new(ctx, Z("n"), RELAX_INT64);
    const relax_struct_info *matrix = floats(ctx, n, 4);
    const relax_struct_info *callable = relax_struct_info_func_new(ctx, &matrix, 1, matrix, 1);
    const relax_expr *params[] = {
        relax_var_new(ctx, Z("h"), callable, 0),
        relax_var_new(ctx, Z("x"), floats(ctx, relax_prim_var_new(ctx, Z("n"), RELAX_INT64), 4), 0)
    };
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_builder_begin_function(b, Z("main"), params, 2, NULL);
    relax_builder_emit(b, relax_call_new(ctx, params[0], &params[1], 1, NULL, 0), NULL, 0, 0);
    relax_builder_end_function(b, params[0]);
    relax_module *m = relax_module_builder_finish(mb);
    assert_quiet(ctx);
    char *text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text, "h: " CALLABLE("\"n\"", "4") ", x: " MATRIX("\"n_1\"", "4")));
    free(text);
    assert_reads_back(ctx, m);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
}

/* Two binders of one hint in one text are one name, were they one node or two. */
static void test_history(void **state)
{
    static const char one[] = HEAD "@R.function\ndef main(h: " CALLABLE("\"n\"", "4")
                              ") -> " CALLABLE("\"n\"", "4") ":\n    return h\n";
    relax_context *ctx = ((fixture *)*state)->ctx;
    char *want = NULL;
    for (size_t i = 0; i < 3; i++) {
        char *text = printed(ctx, relax_module_as_node(parsed(ctx, PROGRAM("many"))));
        if (want)
            assert_string_equal(text, want);
        free(want);
        want = text;
        if (i == 0) /* from now on one of them is a node of another text */
            assert_reads_back(ctx, parsed(ctx, one));
    }
    free(want);
}

/* Descriptions in descriptions: the inner one has a binder besides that of the outer one. */
static void test_nested(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_struct_info *inner = NULL, *matrix = NULL;
    for (size_t i = 0; i < 3; i++) {
        const relax_prim_expr *n = relax_prim_var_new(ctx, Z("n"), RELAX_INT64);
        const relax_struct_info *params[] = { floats(ctx, n, 4), inner };
        matrix = params[0];
        inner = relax_struct_info_func_new(ctx, params, inner ? 2 : 1, matrix, 1);
    }
    assert_non_null(inner);
    const relax_expr *h = relax_var_new(ctx, Z("h"), inner, 0);
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_builder_begin_function(b, Z("main"), &h, 1, NULL);
    relax_builder_end_function(b, h);
    relax_module *m = relax_module_builder_finish(mb);
    assert_quiet(ctx);
    assert_reads_back(ctx, m);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_beside_sizes, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_before_sizes, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_history, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_nested, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
