/* test_api_print_limit: few nodes may have a text without end; printing stops at a limit and says
 * where. */
#include "checked_module.h"

/* 2^14 tensors in the annotation of every binding. */
static relax_module *doubled(relax_context *ctx)
{
    char text[8192];
    size_t len = (size_t)sprintf(text, HEAD "@R.function\n"
                                            "def main(x: R.Tensor((2,), \"float32\")):\n"
                                            "    t0 = (x, x)\n");
    for (int i = 1; i < 14; i++)
        len += (size_t)sprintf(text + len, "    t%d = (t%d, t%d)\n", i, i - 1, i - 1);
    for (int i = 0; i < 100; i++)
        len += (size_t)sprintf(text + len, "    c%d = t13\n", i);
    len += (size_t)sprintf(text + len, "    return x\n");
    relax_module *m = relax_module_parse(ctx, Z("m.py"), text, len);
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

static relax_print_options with_error(relax_error **error)
{
    relax_print_options o;
    assert_int_equal(relax_print_options_init(&o, sizeof o), RELAX_OK);
    o.error = error;
    return o;
}

static void says_where(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_error *error = NULL;
    relax_print_options o = with_error(&error);
    const relax_node *n = relax_module_as_node(doubled(ctx));
    assert_null(relax_node_print(ctx, n, NULL));
    assert_null(relax_node_print(ctx, n, &o));
    assert_int_equal(relax_error_status(error), RELAX_ERROR_INVALID_ARGUMENT);
    assert_string_equal(relax_error_code(error), "OP18");
    assert_non_null(strstr(relax_error_message(error, NULL), "shared"));
    int line = 0, column = 0;
    assert_int_equal(sscanf(relax_error_trace(error, NULL), "m.py:%d:%d", &line, &column), 2);
    assert_true(line > 20 && line < 125);
    assert_int_equal(column, 5);
    relax_error_release(error);
    assert_quiet(ctx);
}

/* A host that wants more, or less, says so. */
static void is_chosen(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_error *error = NULL;
    relax_print_options o = with_error(&error);
    const relax_node *n = relax_module_as_node(doubled(ctx));
    o.max_bytes = (size_t)1 << 30;
    relax_bytes *all = relax_node_print(ctx, n, &o);
    assert_non_null(all);
    assert_null(error);
    o.max_bytes = relax_bytes_size(all);
    relax_bytes_release(all);
    all = relax_node_print(ctx, n, &o);
    assert_int_equal(relax_bytes_size(all), o.max_bytes);
    relax_bytes_release(all);
    o.max_bytes = 1000;
    assert_null(relax_node_print(ctx, n, &o));
    assert_string_equal(relax_error_trace(error, NULL), "m.py:8:5");
    relax_error_release(error);
}

static int32_t take(void *user, const char *data, size_t size)
{
    (void)data;
    *(size_t *)user += size;
    return 0;
}

static void nothing_is_written(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    size_t written = 0;
    const relax_node *n = relax_module_as_node(doubled(ctx));
    assert_int_equal(relax_node_print_to(ctx, n, NULL, take, &written),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(written, 0);
}

/* Constants stand in the metadata, each once: they are beyond the limit. */
static void constants_are_free(void **state)
{
    enum { COUNT = 100000 };
    relax_context *ctx = ((fixture *)*state)->ctx;
    float *data = calloc(COUNT, sizeof *data);
    relax_print_options o = with_error(NULL);
    relax_expr *c =
        relax_constant_new(ctx, RELAX_FLOAT32, (int64_t[]){ COUNT }, 1, data, COUNT * sizeof *data);
    o.max_bytes = 200;
    relax_bytes *text = relax_node_print(ctx, relax_expr_as_node(c), &o);
    assert_true(relax_bytes_size(text) > COUNT * sizeof *data);
    relax_bytes_release(text);
    free(data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
        TEST(says_where),
        TEST(is_chosen),
        TEST(nothing_is_written),
        TEST(constants_are_free),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
