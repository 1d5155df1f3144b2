/* test_api_host_pass: passes of the host that a context knows by name. */
#include "api_fixture.h"
#include "text_file.h"

typedef struct record {
    int runs, destroyed;
    int64_t level;
    const char *inner;    /* a pass to be run from inside */
    bool fails;
} record;

static const relax_module *note(void *user, relax_context *ctx, const relax_module *m,
                                const relax_attr *options)
{
    record *r = user;
    const relax_attr *level = options ? relax_attr_find(options, Z("level")) : NULL;
    r->runs++;
    if (level)
        assert_int_equal(relax_attr_int_value(level, &r->level), RELAX_OK);
    return r->fails ? NULL : r->inner ? relax_pass_run(ctx, m, Z(r->inner), NULL) : m;
}

static void gone(void *user) { ((record *)user)->destroyed++; }

static relax_module *parsed(relax_context *ctx)
{
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("one call")));
    assert_quiet(ctx);
    return m;
}

static void test_by_name(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx);
    static record r, outer;
    r = (record){ .runs = 0 };
    outer = (record){ .inner = "count_me" };
    assert_int_equal(relax_pass_register(ctx, Z("count-me"), note, &r, gone), RELAX_OK);
    assert_int_equal(relax_pass_register(ctx, Z("outer"), note, &outer, NULL), RELAX_OK);
    const relax_attr *options =
        relax_attr_map_with(ctx, NULL, Z("level"), relax_attr_int_new(ctx, 3));
    assert_ptr_equal(relax_pass_run(ctx, m, Z("count_me"), options), m);
    assert_int_equal(r.level, 3);
    assert_ptr_equal(relax_pass_run(ctx, m, Z("outer"), NULL), m);
    assert_int_equal(r.runs, 2);

    relax_pipeline *p = relax_pipeline_create(ctx);
    assert_int_equal(relax_pipeline_add(p, Z("dead_code_elimination"), NULL), RELAX_OK);
    assert_int_equal(relax_pipeline_add(p, Z("count_me"), options), RELAX_OK);
    assert_int_equal(relax_pipeline_add(p, Z("count-me"), NULL), RELAX_OK);
    relax_module *out = relax_pipeline_run(p, m);
    assert_quiet(ctx);
    assert_non_null(out);
    assert_ptr_not_equal(out, m);
    relax_pipeline_destroy(p);
    assert_int_equal(r.runs, 4);
    assert_int_equal(r.destroyed, 0); /* it is the context's */
    /* collecting leaves it there */
    assert_int_equal(relax_context_collect(ctx, &out, 1), RELAX_OK);
    assert_ptr_equal(relax_pass_run(ctx, out, Z("count_me"), NULL), out);
    /* the list of passes is that of the library */
    for (int32_t i = 0; relax_pass_name(i); i++)
        assert_string_not_equal(relax_pass_name(i), "count_me");
}

static void test_refusals(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx);
    static record r;
    r = (record){ .fails = true };
    assert_int_equal(relax_pass_register(ctx, Z("normalize"), note, &r, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP16");
    assert_int_equal(relax_pass_register(ctx, Z("legalize-ops"), note, &r, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP16");
    assert_int_equal(relax_pass_register(ctx, Z("x"), NULL, &r, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP01");
    assert_int_equal(relax_pass_register(ctx, Z(""), note, &r, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    relax_context_clear_diagnostics(ctx);
    assert_int_equal(relax_pass_register(NULL, Z("x"), note, &r, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(r.destroyed, 5);
    assert_int_equal(relax_pass_register(ctx, Z("fails"), note, &r, gone), RELAX_OK);
    assert_int_equal(relax_pass_register(ctx, Z("fails"), note, &r, gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP16");
    assert_int_equal(r.destroyed, 6);
    assert_null(relax_pass_run(ctx, m, Z("fails"), NULL));
    assert_said(ctx, "OP17");
    assert_null(relax_pass_run(ctx, m, Z("failz"), NULL));
    assert_non_null(strstr(relax_diagnostic_message(ctx, 0, NULL), "did you mean fails"));
    assert_said(ctx, "OP10");
}

static void test_destroyed_with_the_context(void **state)
{
    (void)state;
    static record r[3];
    relax_context *ctx = relax_context_create(NULL);
    for (int i = 0; i < 3; i++) {
        char name[] = { 'p', (char)('a' + i), 0 };
        r[i] = (record){ .runs = 0 };
        assert_int_equal(relax_pass_register(ctx, Z(name), note, &r[i], gone), RELAX_OK);
    }
    relax_context_release(ctx);
    for (int i = 0; i < 3; i++)
        assert_int_equal(r[i].destroyed, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_by_name, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_refusals, open_fixture, close_fixture),
        cmocka_unit_test(test_destroyed_with_the_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
