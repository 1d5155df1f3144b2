/* test_relay_text.c: texts of Relay that are nearly right, and memory that runs out: every program of
 * test/golden/relay cut and changed, and with each request for memory refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <glob.h>
#include <relax/relax.h>

#include "few_requests.h"
#include "text_file.h"

/* Calls f for each program of the golden files. */
static size_t each_program(void (*f)(const char *text, size_t len))
{
    glob_t files;
    size_t seen = 0;
    assert_int_equal(glob("test/golden/relay/*.test", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        size_t count;
        const text_part *parts = text_file_parts(files.gl_pathv[i], &count);
        assert_non_null(parts);
        for (size_t k = 0; k < count; k++) {
            if (strcmp(parts[k].kind, "file") != 0)
                continue;
            f(parts[k].text, strlen(parts[k].text));
            seen++;
        }
    }
    globfree(&files);
    return seen;
}

/* ---- texts that are nearly right */

static relax_relay_module *read_text(relax_context *ctx, const char *text, size_t len)
{
    relax_relay_module *m = relax_relay_module_parse(ctx, "m.rly", 5, text, len);
    if (m && relax_relay_module_infer(m) == RELAX_OK)
        return m;
    assert_true(relax_context_num_errors(ctx) > 0);
    relax_relay_module_destroy(m);
    return NULL;
}

/* What is typed is translated, or refused in the words of the translation: a mistake of Relax would be ours. */
static void translate_text(relax_context *ctx, relax_relay_module *m, const char *text)
{
    relax_module *module = relax_relay_module_translate(m);
    size_t n = relax_context_num_errors(ctx);
    const char *code = n ? relax_diagnostic_code(ctx, relax_context_num_diagnostics(ctx) - 1) : "";
    bool good = module ? !n : n && !strncmp(code, "RY", 2);
    if (!good)
        print_error("%s\n-- is not translated: %s\n", text, code);
    assert_true(good);
}

/* What is refused says why; what is accepted prints to what reads and prints the same. */
static void try_text(const char *text, size_t len)
{
    relax_context *ctx = relax_context_create(NULL);
    assert_non_null(ctx);
    relax_relay_module *m = read_text(ctx, text, len);
    if (m) {
        relax_bytes *once = relax_relay_module_print(m);
        assert_non_null(once);
        relax_relay_module *again = read_text(ctx, relax_bytes_data(once), relax_bytes_size(once));
        if (!again)
            print_error("%s\n-- is printed as\n%s\n", text, relax_bytes_data(once));
        assert_non_null(again);
        relax_bytes *twice = relax_relay_module_print(again);
        assert_non_null(twice);
        assert_string_equal(relax_bytes_data(once), relax_bytes_data(twice));
        relax_bytes_release(once);
        relax_bytes_release(twice);
        relax_relay_module_destroy(again);
        translate_text(ctx, m, text);
        relax_relay_module_destroy(m);
    }
    relax_context_release(ctx);
}

static void change_text(const char *text, size_t len)
{
    static const char instead[] = "%@(){}[]<>,;:=.0aN_?\"-#/ \n";
    char *copy = malloc(len + 1);
    size_t step = getenv("RELAX_LONG") ? 1 : 7;
    assert_non_null(copy);
    try_text(text, len);
    for (size_t i = 0; i < len; i += step) {
        memcpy(copy, text, len + 1);
        copy[i] = 0;
        try_text(copy, i); /* cut */
        memcpy(copy, text, len + 1);
        copy[i] = instead[(i * 31 + len) % (sizeof instead - 1)];
        try_text(copy, len);
        memmove(copy + i, text + i + 1, len - i); /* without this byte */
        try_text(copy, len - 1);
    }
    free(copy);
}

static void changed_texts_are_read_or_refused(void **unused)
{
    assert_true(each_program(change_text) > 10);
}

/* ---- memory */

/* One job with so many requests: true if they were enough. */
static bool job_succeeds(const char *text, size_t len, long requests)
{
    long left = requests;
    relax_allocator few = few_requests(&left);
    relax_context_options options;
    relax_context_options_init(&options, sizeof options);
    options.allocator = &few;
    relax_context *ctx = relax_context_create(&options);
    if (!ctx)
        return false;
    bool bad_text = false;
    relax_relay_module *m = relax_relay_module_parse(ctx, "m.rly", 5, text, len);
    if (m && relax_relay_module_infer(m) == RELAX_OK)
        relax_bytes_release(relax_relay_module_print(m));
    if (m && !relax_context_num_errors(ctx))
        relax_relay_module_translate(m);
    relax_relay_module_destroy(m);
    bad_text = relax_context_num_errors(ctx) > 0;
    relax_context_release(ctx);
    /* Every job ends the same way once it has enough; a text that is wrong never runs dry of errors. */
    return left >= 0 && (!bad_text || left > 0);
}

static void refuse_requests(const char *text, size_t len)
{
    long n = 0;
    while (n < 100000 && !job_succeeds(text, len, n))
        n++;
    assert_true(n < 100000);
}

static void memory_may_run_out_anywhere(void **unused)
{
    assert_true(each_program(refuse_requests) > 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_texts_are_read_or_refused),
        cmocka_unit_test(memory_may_run_out_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
