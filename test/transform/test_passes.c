/* test_passes.c: what holds for every case of test/golden/transform that runs passes: they accept
 * it with the result checked after each, what is to stay the same comes back as the same module,
 * and a second run changes nothing, but for passes that bind variables. What comes out is compared
 * there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <glob.h>

#include "text_file.h"
#include "text_module.h"
#include "transform/transform.h"

/* "{n=32}", behind a pass that binds shape variables. Returns what follows. */
static const char *parse_values(rlx_context *ctx, const char *text, rlx_pass_step *step)
{
    const rlx_attr *name = rlx_attr_string_new(ctx, RLX_SLICE("values")), *keys[4], *values[4];
    size_t n = 0;
    char *end = NULL;
    do {
        size_t len = strcspn(++text, "=");
        assert_true(n < RLX_COUNT(keys) && text[len] == '=');
        keys[n] = rlx_attr_string_new(ctx, (rlx_slice){ text, len });
        values[n++] = rlx_attr_int_new(ctx, strtoll(text + len + 1, &end, 10));
        text = end;
    } while (*text == ',');
    assert_int_equal(*text, '}');
    const rlx_attr *map = rlx_attrs_new(ctx, keys, values, n);
    step->options = rlx_attrs_new(ctx, &name, &map, 1);
    return text + 1;
}

/* ":data_layout=NHWC,kernel_layout=OHWI": texts, up to a word without "=". What comes behind. */
static const char *parse_options(rlx_context *ctx, const char *text, rlx_pass_step *step)
{
    const rlx_attr *keys[4], *values[4];
    size_t n = 0;
    do {
        size_t key = strcspn(++text, "="), value = strcspn(text + key + 1, ", ");
        assert_true(n < RLX_COUNT(keys));
        keys[n] = rlx_attr_string_new(ctx, (rlx_slice){ text, key });
        values[n++] = rlx_attr_string_new(ctx, (rlx_slice){ text + key + 1, value });
        text += key + 1 + value;
    } while (*text == ',' && text[1 + strcspn(text + 1, "=, ")] == '=');
    step->options = rlx_attrs_new(ctx, keys, values, n);
    return text;
}

static size_t parse_steps(rlx_context *ctx, const char *list, rlx_pass_step *steps)
{
    size_t n = 0;
    while (*list && *list != ' ') {
        size_t len = strcspn(list, "{:, ");
        steps[n].row = rlx_pass_find((rlx_slice){ list, len });
        assert_non_null(steps[n].row);
        list += len;
        if (*list == '{')
            list = parse_values(ctx, list, &steps[n]);
        else if (*list == ':')
            list = parse_options(ctx, list, &steps[n]);
        n++;
        list += *list == ',';
    }
    return n;
}

static void complain(rlx_context *ctx, const text_part *c, const rlx_module *got, const char *what)
{
    char *shown = got ? text_print(got) : text_diagnostics(ctx);
    print_error("%s (%s): %s\n%s\n", c->name, c->argument, what, shown);
    free(shown);
    fail();
}

/* `input` runs the passes of its argument; `stays`: it must come back as the same module. */
static void run_case(const text_part *input, bool stays)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_pass_step steps[8] = { 0 };
    rlx_pass_hooks hooks = { .verify = true };
    size_t n = parse_steps(ctx, input->argument, steps);
    const rlx_module *before = text_module(ctx, input->text);
    if (!before || rlx_error_count(ctx))
        complain(ctx, input, NULL, "cannot read");
    const rlx_module *got = rlx_run_passes(ctx, before, steps, n, &hooks);
    if (!got || rlx_error_count(ctx))
        complain(ctx, input, NULL, "failed");
    if (stays && got != before)
        complain(ctx, input, got, "wanted the module it was given, got a new one:");
    bool bound = false; /* the variables are gone then: OP15 */
    for (size_t i = 0; i < n; i++)
        bound |= steps[i].options != NULL;
    const rlx_module *again = bound ? got : rlx_run_passes(ctx, got, steps, n, &hooks);
    if (again != got)
        complain(ctx, input, again, "a second run changes it again, into");
    rlx_context_release(ctx);
}

/* The parts of a case are neighbours. Returns the first of the next case. */
static size_t run_golden_case(const text_part *parts, size_t at, size_t count, size_t *done)
{
    const text_part *input = NULL;
    bool stays = false, fails = false;
    size_t next = at;
    do {
        const text_part *part = &parts[next++];
        if (strcmp(part->kind, "pass") == 0)
            input = part;
        stays |= strcmp(part->kind, "same") == 0;
        fails |= strcmp(part->kind, "exit") == 0;
    } while (next < count && *parts[next].kind);
    if (input && !fails) {
        run_case(input, stays);
        ++*done;
    }
    return next;
}

static void test_golden_cases(void **state)
{
    glob_t found;
    size_t done = 0;
    assert_int_equal(glob("test/golden/transform/*.test", 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        size_t count = 0;
        const text_part *parts = text_file_parts(found.gl_pathv[i], &count);
        assert_non_null(parts);
        for (size_t at = 0; at < count;)
            at = run_golden_case(parts, at, count, &done);
    }
    globfree(&found);
    print_message("%zu cases\n", done);
    assert_true(done >= 80);
}

/* ---- memory planning ------------------------------------------------------------------------ */

static size_t count_calls(const rlx_module *m, const char *text)
{
    char *t = text_print(m);
    size_t n = 0;
    for (const char *at = t; (at = strstr(at, text)); at++)
        n++;
    free(t);
    return n;
}

static void test_chain_of_fifty(void **state)
{
    static const char *const dims[] = { "(\"n\", 4)", "(16, 4)" };
    for (int k = 0; k < 2; k++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        rlx_pass_step steps[RLX_MAX_PIPELINE];
        char text[8192];
        int at = snprintf(text, sizeof text, PROGRAM("a chain begins"), dims[k]);
        for (int i = 1; i < 49; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "            lv%d = R.%s(lv%d)\n",
                           i, i % 2 ? "tanh" : "exp", i - 1);
        snprintf(text + at, sizeof text - (size_t)at,
                 "            gv = R.exp(lv48)\n            R.output(gv)\n        return gv\n");
        const rlx_module *m = text_module(ctx, text);
        assert_non_null(m);
        m = rlx_run_passes(ctx, m, steps, rlx_build_pipeline(1, steps),
                           &(rlx_pass_hooks){ .verify = true });
        assert_non_null(m);
        /* each is written over the one before; the result stands alone */
        assert_int_equal(count_calls(m, "R.memory.alloc_storage"), 1);
        assert_int_equal(count_calls(m, "R.builtin.alloc_tensor"), 1);
        assert_int_equal(count_calls(m, "R.memory.alloc_tensor"), 1);
        rlx_context_release(ctx);
    }
}

/* The context does not grow with the number of passes run. */
static void test_scratch(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    size_t n = rlx_build_pipeline(1, steps);
    const rlx_module *m = text_module(ctx, PROGRAM("a dead binding"));
    assert_ptr_not_equal(rlx_run_passes(ctx, m, steps, n, NULL), NULL);
    size_t once = rlx_context_bytes(ctx);
    for (int i = 0; i < 20; i++)
        assert_non_null(rlx_run_passes(ctx, m, steps, n, NULL));
    assert_true(rlx_context_bytes(ctx) < once * 21);
    rlx_context_release(ctx);
}

/* ---- the table of passes, hooks, options ---------------------------------------------------- */

static const rlx_module *host_pass(rlx_pass_run *run, const rlx_module *m)
{
    return run->user ? rlx_error(run->ctx, RLX_OP17, RLX_NO_PLACE, "no") : m;
}

static void count_hook(void *user, const char *pass, const rlx_module *m, double seconds,
                       bool changed)
{
    ++*(int *)user;
}

static void test_manager(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    int hooks_called = 0;
    rlx_pass_hooks hooks = { .after = count_hook, .user = &hooks_called };
    const rlx_module *m = text_module(ctx, PROGRAM("a dead binding"));
    assert_ptr_equal(rlx_pass_find(RLX_SLICE("fold-constant")),
                     rlx_pass_find(RLX_SLICE("fold_constant")));
    assert_null(rlx_pass_find(RLX_SLICE("fold")));
    assert_string_equal(rlx_pass_suggest(RLX_SLICE("legalize_op")), "legalize_ops");
    assert_null(rlx_pass_suggest(RLX_SLICE("something else")));
    rlx_pass_step good[2] = { { .row = rlx_pass_find(RLX_SLICE("normalize")) },
                              { .host = host_pass, .host_name = "mine" } };
    assert_ptr_equal(rlx_run_passes(ctx, m, good, 2, &hooks), m);
    assert_int_equal(hooks_called, 2);
    good[1].host_user = &hooks;
    assert_null(rlx_run_passes(ctx, m, good, 2, &hooks));
    rlx_diags_clear(&ctx->diags);
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("max_bytes")),
                   *bad = rlx_attr_string_new(ctx, RLX_SLICE("many"));
    rlx_pass_step option = { .row = rlx_pass_find(RLX_SLICE("fold_constant")),
                             .options = rlx_attrs_new(ctx, &key, &bad, 1) };
    assert_null(rlx_run_passes(ctx, m, &option, 1, NULL));
    char room[256];
    assert_string_equal(text_codes(ctx, room), "OP11");
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_cases),
        cmocka_unit_test(test_chain_of_fifty),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_manager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
