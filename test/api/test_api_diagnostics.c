/* test_api_diagnostics: what a host learns of mistakes: texts, JSON, places, a live callback,
 * muted warnings, codes. */
#include "api_fixture.h"
#include "text_file.h"

static char *taken(relax_bytes *bytes)
{
    assert_non_null(bytes);
    char *copy = strdup(relax_bytes_data(bytes));
    relax_bytes_release(bytes);
    return copy;
}

static void assert_has(const char *text, const char *part)
{
    if (!strstr(text, part))
        fail_msg("wanted `%s` in:\n%s", part, text);
}

static void mistakes_are_shown(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("ill typed")));
    assert_true(relax_context_num_errors(ctx) > 0);
    assert_int_equal(relax_context_status(ctx), RELAX_ERROR_TYPE);
    assert_int_equal(relax_diagnostic_severity(ctx, 0), RELAX_SEVERITY_ERROR);
    uint32_t line = 0, column = 0, chars = 0, begin = 0, length = 0, source = 0;
    relax_place place = relax_diagnostic_place(ctx, 0);
    assert_int_equal(relax_place_locate(ctx, place, &line, &column, &chars), RELAX_OK);
    relax_place_get(place, &source, &begin, &length);
    assert_int_equal(line, 3);
    assert_true(column == chars && source == 1 && begin + length <= strlen(PROGRAM("ill typed")) &&
                length > 0);

    char *text = taken(relax_diagnostic_render(ctx, 0));
    char head[64];
    snprintf(head, sizeof head, "m.py:3:%u: error[%s]: ", (unsigned)column,
             relax_diagnostic_code(ctx, 0));
    assert_true(strncmp(text, head, strlen(head)) == 0);
    assert_has(text, relax_diagnostic_message(ctx, 0, NULL));
    assert_has(text, "    z = R.matmul(x, y)\n");
    assert_has(text, "^");
    free(text);
    text = taken(relax_diagnostic_json(ctx, 0));
    assert_has(text, "\"severity\"");
    assert_has(text, "\"file\":\"m.py\"");
    assert_has(text, "\"line\":3");
    free(text);

    size_t beyond = relax_context_num_diagnostics(ctx);
    assert_true(relax_diagnostic_severity(ctx, beyond) == -1 &&
                !relax_diagnostic_code(ctx, beyond) &&
                !relax_diagnostic_message(ctx, beyond, NULL) &&
                !relax_diagnostic_place(ctx, beyond) && !relax_diagnostic_num_notes(ctx, beyond) &&
                !relax_diagnostic_render(ctx, beyond) && !relax_diagnostic_json(ctx, beyond));
    relax_context_clear_diagnostics(ctx);
    assert_quiet(ctx);
    assert_int_equal(relax_context_status(ctx), RELAX_OK);
}

/* Another compiler maps mistakes to its own source, of which the library knows a name only. */
static void places_of_a_host(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    uint32_t source = relax_context_add_source(ctx, Z("model.onnx"), NULL, 0), begin = 0,
             length = 0, line = 7, number = 0;
    assert_int_equal(source, 1);
    relax_place place = relax_place_make(source, 12345, 6);
    relax_place_get(place, &number, &begin, &length);
    assert_true(number == source && begin == 12345 && length == 6);
    assert_int_equal(relax_place_locate(ctx, place, &line, NULL, NULL), RELAX_ERROR_NOT_FOUND);
    assert_int_equal(line, 0);
    assert_int_equal(relax_place_make(0, 1, 1), 0);
    assert_int_equal(relax_place_make(source, UINT32_MAX, 1), 0);

    relax_struct_info *info =
        relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 2 }, 1, RELAX_FLOAT32);
    relax_struct_info *other =
        relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 3 }, 1, RELAX_FLOAT32);
    const relax_expr *args[] = { relax_var_new(ctx, Z("x"), info, 0),
                                 relax_var_new(ctx, Z("y"), other, 0) };
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_builder_begin_function(b, Z("main"), args, 2, NULL);
    assert_null(
        relax_builder_emit(b, relax_call_op_new(ctx, Z("add"), args, 2, NULL, place), NULL, 0, 0));
    assert_true(relax_diagnostic_place(ctx, 0) == place);
    char *text = taken(relax_diagnostic_render(ctx, 0));
    assert_true(strncmp(text, "model.onnx", 10) == 0);
    free(text);
    text = taken(relax_diagnostic_json(ctx, 0));
    assert_has(text, "\"begin\":12345");
    free(text);
    relax_context_clear_diagnostics(ctx);
    /* a call without a place takes that of its binding */
    assert_null(
        relax_builder_emit(b, relax_call_op_new(ctx, Z("add"), args, 2, NULL, 0), NULL, 0, place));
    assert_true(relax_diagnostic_place(ctx, 0) == place);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
}

/* ---- live ----------------------------------------------------------------------------------- */

typedef struct listener { int heard, notes, destroyed; size_t last; char code[8]; } listener;

static void hear(void *user, relax_context *ctx, size_t index)
{
    listener *l = user;
    l->heard++;
    l->last = index;
    l->notes += (int)relax_diagnostic_num_notes(ctx, index);
    snprintf(l->code, sizeof l->code, "%s", relax_diagnostic_code(ctx, index));
    relax_bytes_release(relax_diagnostic_render(ctx, index));
}
static void gone(void *user) { ((listener *)user)->destroyed++; }

static void a_listener_hears_each_once(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    listener first = { 0 }, second = { 0 };
    assert_int_equal(relax_context_on_diagnostic(NULL, hear, &first, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(first.destroyed, 1);
    first.destroyed = 0;
    assert_int_equal(relax_context_on_diagnostic(ctx, hear, &first, gone), RELAX_OK);
    /* heard as soon as the call is back */
    assert_null(relax_call_op_new(ctx, Z("nn.relo"), NULL, 0, NULL, 0));
    assert_int_equal(first.heard, 1);
    assert_string_equal(first.code, "OP06");
    assert_null(relax_shape_var_new(ctx, NULL, 0));
    assert_int_equal(relax_builder_begin_if(NULL, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(first.heard, 2);
    assert_int_equal(first.last, 1);
    relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("ill typed")));
    assert_int_equal(first.heard, relax_context_num_diagnostics(ctx));

    relax_pipeline *p = relax_pipeline_create(ctx);
    int before = first.heard;
    assert_int_not_equal(relax_pipeline_add(p, Z("no_such_pass"), NULL), RELAX_OK);
    assert_int_not_equal(relax_pipeline_add_host(p, "", 0, NULL, NULL, NULL, NULL), RELAX_OK);
    assert_int_not_equal(relax_pipeline_add_build(p, 9), RELAX_OK);
    assert_int_equal(first.heard, before + 3);
    relax_pipeline_destroy(p);

    assert_int_equal(relax_context_on_diagnostic(ctx, hear, &second, gone), RELAX_OK);
    assert_int_equal(first.destroyed, 1);
    assert_null(relax_shape_var_new(ctx, NULL, 0));
    assert_int_equal(second.heard, 1);
    assert_int_equal(relax_context_on_diagnostic(ctx, NULL, NULL, NULL), RELAX_OK);
    assert_int_equal(second.destroyed, 1);
    assert_null(relax_shape_var_new(ctx, NULL, 0));
    assert_true(second.heard == 1 && first.destroyed == 1);

    relax_context *short_lived = relax_context_create(NULL);
    listener third = { 0 };
    relax_context_on_diagnostic(short_lived, hear, &third, gone);
    assert_null(relax_shape_var_new(short_lived, NULL, 0));
    relax_context_release(short_lived);
    assert_true(third.heard == 1 && third.destroyed == 1);
}

/* ---- warnings, counts, codes ---------------------------------------------------------------- */

/* add of (n,) and (m,) is believed with a warning or without; whichever code is first is
 * switched off. */
static const char loose[] =
    "@R.function\n"
    "def main(x: R.Tensor((\"n\",), \"float32\")) -> R.Tensor((4,), \"float32\"):\n"
    "    return x\n";

static void warnings_can_be_muted(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    assert_non_null(relax_module_parse(ctx, Z("m.py"), Z(loose)));
    assert_int_equal(relax_context_num_errors(ctx), 0);
    assert_int_equal(relax_context_num_diagnostics(ctx), 1);
    assert_int_equal(relax_diagnostic_severity(ctx, 0), RELAX_SEVERITY_WARNING);
    char code[8];
    snprintf(code, sizeof code, "%s", relax_diagnostic_code(ctx, 0));
    relax_context_clear_diagnostics(ctx);
    assert_int_equal(relax_context_mute(ctx, Z(code)), RELAX_OK);
    assert_non_null(relax_module_parse(ctx, Z("m.py"), Z(loose)));
    assert_quiet(ctx);
    assert_int_equal(relax_context_mute(ctx, Z("XX99")), RELAX_ERROR_NOT_FOUND);
    assert_int_equal(relax_context_mute(ctx, NULL, 0), RELAX_ERROR_INVALID_ARGUMENT);

    relax_context_options options;
    relax_context_options_init(&options, sizeof options);
    options.strict = 1;
    relax_context *strict = relax_context_create(&options);
    relax_module_parse(strict, Z("m.py"), Z(loose));
    assert_int_equal(relax_context_num_errors(strict), 1);
    relax_context_release(strict);
}

static void a_flood_is_counted(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (int i = 0; i < 250; i++)
        assert_null(relax_shape_var_new(ctx, NULL, 0));
    assert_int_equal(relax_context_num_errors(ctx), 250);
    assert_int_equal(relax_context_num_diagnostics(ctx), 100);
    relax_context_clear_diagnostics(ctx);
    assert_quiet(ctx);
}

static void every_code_is_explained(void **state)
{
    (void)state;
    const char *title, *rule, *bad, *cure, *code;
    int32_t count = 0;
    for (; (code = relax_code_at(count)); count++) {
        assert_int_equal(relax_code_explain(Z(code), &title, &rule, &bad, &cure), RELAX_OK);
        if (!title || strlen(code) != 4)
            fail_msg("%s has no title", code);
    }
    assert_true(count > 50);
    assert_null(relax_code_at(-1));
    assert_int_equal(relax_code_explain(Z("ZZ00"), &title, NULL, NULL, NULL),
                     RELAX_ERROR_NOT_FOUND);
    assert_null(title);
    assert_int_equal(relax_code_explain(NULL, 4, NULL, NULL, NULL, NULL), RELAX_ERROR_NOT_FOUND);
}

static void facts_of_the_library(void **state)
{
    (void)state;
    uint32_t major = 9, minor = 9;
    char name[4];
    relax_dtype dtype = 0;
    relax_version(&major, &minor, NULL);
    assert_true(major == 0 && minor == 2);
    assert_int_equal(relax_abi_version(), RELAX_HEADER_ABI);
    assert_int_equal(relax_check_abi(RELAX_HEADER_ABI, sizeof(void *), sizeof(relax_value)),
                     RELAX_OK);
    assert_int_not_equal(
        relax_check_abi(RELAX_HEADER_ABI + 1, sizeof(void *), sizeof(relax_value)), RELAX_OK);
    assert_int_not_equal(relax_check_abi(RELAX_HEADER_ABI, 4, sizeof(relax_value)), RELAX_OK);
    assert_string_equal(relax_build_info_key(0), "version");
    assert_true(!relax_build_info_key(-1) && !relax_build_info_value(1000) &&
                !relax_target_name(-1) && !relax_target_name(1000));
    assert_string_equal(relax_target_name(0), "interp");
    assert_int_equal(relax_dtype_name(RELAX_FLOAT32, name, sizeof name), 7);
    assert_string_equal(name, "flo");
    assert_int_equal(relax_dtype_parse(Z("bfloat16"), &dtype), RELAX_OK);
    assert_int_equal(dtype, RELAX_BFLOAT16);
    assert_int_equal(relax_dtype_parse(Z("flot32"), &dtype), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(dtype, RELAX_VOID);
    assert_true(relax_dtype_size(RELAX_FLOAT64) == 8 && relax_dtype_size(RELAX_BOOL) == 1 &&
                relax_dtype_size(RELAX_VOID) == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(mistakes_are_shown),
        TEST(places_of_a_host),
        TEST(a_listener_hears_each_once),
        TEST(warnings_can_be_muted),
        TEST(a_flood_is_counted),
        cmocka_unit_test(every_code_is_explained),
        cmocka_unit_test(facts_of_the_library),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
