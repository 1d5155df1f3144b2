/* test_api_signature: what a host learns as data: names of codes, descriptions of parameters and
 * results, what a program needs, parts of functions, who owns a node. */
#include <relax/ops.h>
#include "api_fixture.h"
#include "text_file.h"

#define KINDS PROGRAM("all kinds of parameters")

static relax_executable *compiled(relax_context *ctx)
{
    relax_module *m = relax_module_parse(ctx, RELAX_STR("m.py"), Z(KINDS));
    relax_executable *exe = relax_module_compile(ctx, m, NULL);
    assert_quiet(ctx);
    assert_non_null(exe);
    return exe;
}

static void expect_bytes(relax_bytes *text, const char *want)
{
    assert_non_null(text);
    assert_string_equal(relax_bytes_data(text), want);
    relax_bytes_release(text);
}

static void test_names(void **state)
{
    (void)state;
    assert_string_equal(relax_status_name(RELAX_OK), "RELAX_OK");
    assert_string_equal(relax_status_name(RELAX_ERROR_TYPE), "RELAX_ERROR_TYPE");
    assert_string_equal(relax_status_name(RELAX_ERROR_USER), "RELAX_ERROR_USER");
    assert_null(relax_status_name(RELAX_ERROR_USER + 1));
    assert_null(relax_status_name(-1));
    assert_string_equal(relax_value_kind_name(RELAX_VALUE_KIND_TENSOR), "tensor");
    assert_string_equal(relax_value_kind_name(RELAX_VALUE_KIND_OTHER), "object");
    assert_null(relax_value_kind_name(RELAX_VALUE_KIND_OTHER + 1));
}

static void test_parameters(void **state)
{
    relax_executable *exe = compiled(((fixture *)*state)->ctx);
    const relax_description *x = relax_executable_param(exe, 0, 0),
                            *t = relax_executable_param(exe, 0, 1);
    size_t len = 0;
    static const int32_t kinds[] = { RELAX_VALUE_KIND_TENSOR, RELAX_VALUE_KIND_TUPLE,
                                     RELAX_VALUE_KIND_BOOL, RELAX_VALUE_KIND_FUNCTION,
                                     RELAX_VALUE_KIND_OTHER };
    for (size_t i = 0; i < N(kinds); i++)
        assert_int_equal(relax_description_kind(exe, relax_executable_param(exe, 0, i)), kinds[i]);
    assert_null(relax_executable_param(exe, 0, N(kinds)));
    assert_null(relax_executable_param(exe, 1, 0));
    assert_int_equal(relax_description_dtype(exe, x), RELAX_FLOAT32);
    assert_int_equal(relax_description_ndim(exe, x), 2);
    assert_int_equal(relax_description_dim(exe, x, 0), -1);
    assert_int_equal(relax_description_dim(exe, x, 1), 4);
    assert_int_equal(relax_description_dim(exe, x, 2), -1);
    assert_string_equal(relax_description_dim_name(exe, x, 0, &len), "n");
    assert_int_equal(len, 1);
    assert_null(relax_description_dim_name(exe, x, 1, NULL));
    expect_bytes(relax_description_dim_text(exe, x, 0), "n");
    expect_bytes(relax_description_dim_text(exe, x, 1), "4");
    assert_null(relax_description_dim_text(exe, x, 2));
    assert_int_equal(relax_description_num_fields(exe, x), RELAX_NOT_FOUND);
    assert_null(relax_description_field(exe, x, 0));
    assert_int_equal(relax_description_num_fields(exe, t), 2);
    expect_bytes(relax_description_text(exe, relax_description_field(exe, t, 1)),
                 "R.Shape([k, 2])");
    assert_string_equal(
        relax_description_dim_name(exe, relax_description_field(exe, t, 1), 0, NULL), "k");
    assert_null(relax_description_field(exe, t, 2));
    relax_executable_release(exe);
}

static void test_result(void **state)
{
    relax_executable *exe = compiled(((fixture *)*state)->ctx), *other;
    const relax_description *r = relax_executable_result(exe, 0);
    assert_int_equal(relax_description_num_fields(exe, r), 2);
    assert_int_equal(relax_description_dim(exe, relax_description_field(exe, r, 0), 1), 2);
    assert_string_equal(
        relax_description_dim_name(exe, relax_description_field(exe, r, 1), 0, NULL), "n");
    assert_null(relax_executable_result(exe, 1));
    /* what belongs to another program, or to none, describes nothing */
    other = compiled(((fixture *)*state)->ctx);
    assert_int_equal(relax_description_kind(other, r), RELAX_VALUE_KIND_OTHER);
    assert_null(relax_description_text(other, r));
    int64_t foreign = 0;
    assert_int_equal(relax_description_ndim(exe, (const relax_description *)(const void *)&foreign),
                     -1);
    assert_null(relax_description_text(NULL, r));
    assert_null(relax_description_text(exe, NULL));
    relax_executable_release(other);
    relax_executable_release(exe);
}

static void test_needs(void **state)
{
    relax_executable *exe = compiled(((fixture *)*state)->ctx);
    relax_bytes *image = NULL;
    size_t len;
    const char *cpu = "?";
    assert_int_equal(relax_executable_num_packed(exe), 1);
    assert_string_equal(relax_executable_packed_name(exe, 0, &len), "my.f");
    assert_int_equal(len, 4);
    assert_null(relax_executable_packed_name(exe, 1, NULL));
    assert_int_equal(relax_executable_num_packed(NULL), 0);
    assert_int_equal(relax_executable_serialize(exe, &image, NULL), RELAX_OK);
    assert_int_equal(relax_executable_size(exe), relax_bytes_size(image));
    assert_true(relax_executable_constant_size(exe) < relax_bytes_size(image));
    assert_int_equal(relax_executable_num_kernels(exe), 1);
    assert_null(relax_executable_native_target(exe, &cpu));
    assert_null(cpu);
    relax_bytes_release(image);
    relax_executable_release(exe);
}

static void test_parts_of_functions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = relax_module_parse(ctx, RELAX_STR("m.py"), Z(KINDS));
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    assert_int_equal(relax_function_num_params(f), 5);
    assert_string_equal(relax_expr_name(relax_function_param(f, 1), NULL), "t");
    assert_null(relax_function_param(f, 5));
    assert_ptr_equal(relax_function_body(f), relax_expr_operand(f, 5));
    assert_int_equal(relax_struct_info_kind(relax_function_result(f)),
                     RELAX_STRUCT_INFO_KIND_TUPLE);
    const relax_expr *x = relax_function_param(f, 0);
    assert_int_equal(relax_function_num_params(x), RELAX_NOT_FOUND);
    assert_null(relax_function_body(x));
    assert_null(relax_function_result(NULL));
    relax_expr *sum = relax_r_add(ctx, x, x);
    assert_true(relax_expr_is_call_of(sum, RELAX_STR("relax.add")));
    assert_true(relax_expr_is_call_of(sum, RELAX_STR("add")));
    assert_false(relax_expr_is_call_of(sum, RELAX_STR("dd")));
    assert_false(relax_expr_is_call_of(sum, RELAX_STR("subtract")));
    assert_false(relax_expr_is_call_of(x, RELAX_STR("add")));
    assert_false(relax_expr_is_call_of(NULL, RELAX_STR("add")));
}

static void test_ownership(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx, *other = relax_context_create(NULL);
    relax_module *m = relax_module_parse(ctx, RELAX_STR("m.py"), Z(KINDS));
    assert_true(relax_context_owns(ctx, m));
    assert_false(relax_context_owns(other, m));
    assert_false(relax_context_owns(ctx, NULL));
    assert_false(relax_context_owns(NULL, m));
    assert_false(relax_context_owns(ctx, &other));
    assert_int_equal(relax_context_generation(ctx), 0);
    assert_int_equal(relax_context_collect(ctx, &m, 1), RELAX_OK);
    assert_int_equal(relax_context_generation(ctx), 1);
    assert_true(relax_context_owns(ctx, m));
    assert_int_equal(relax_context_generation(NULL), 0);
    relax_context_release(other);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_names), TEST(test_parameters),         TEST(test_result),
        TEST(test_needs), TEST(test_parts_of_functions), TEST(test_ownership),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
