/* test_diag.c: diagnostics: the exact text, places, limits, muting, and memory running out at any
 * point. */
#include "cmocka_all.h"

#include <errno.h>

#include "base/base.h"
#include "failing.h"

static const rlx_code wf03 = { "WF03", RLX_SEVERITY_ERROR, RELAX_ERROR_ILL_FORMED };
static const rlx_code wx07 = { "WX07", RLX_SEVERITY_WARNING, RELAX_ERROR_ILL_FORMED };

static rlx_memory memory;
static rlx_diags diags;
static rlx_buf out;

static int set_up(void **unused)
{
    rlx_memory_init(&memory, NULL, SIZE_MAX);
    rlx_diags_init(&diags, &memory);
    rlx_buf_init(&out, &memory);
    return 0;
}

static int tear_down(void **unused)
{
    rlx_buf_free(&out);
    rlx_diags_free(&diags);
    return rlx_mem_live(&memory) != 0;
}

static const char *rendered(const rlx_diag *d, bool lines)
{
    out.len = 0;
    rlx_diag_render(&diags, d, &out, lines);
    return out.data;
}

static const struct {
    const char *name, *text;
    uint32_t begin, len;
    const char *want; /* after "FILE:LINE:COL: error[WF03]: oh\n" */
    uint32_t line, column;
} places[] = {
    { "first", "ab cd\n", 0, 2, "ab cd\n^~\n", 1, 1 },
    { "second line", "ab\n  cde = f\nx", 5, 3, "  cde = f\n  ^~~\n", 2, 3 },
    { "no length", "ab\n", 1, 0, "ab\n ^\n", 1, 2 },
    { "tabs stay", "\t\tx = y\n", 6, 1, "\t\tx = y\n\t\t    ^\n", 1, 7 },
    { "bytes and characters", "\xc3\xa4\xc3\xb6 z", 5, 1, "\xc3\xa4\xc3\xb6 z\n   ^\n", 1, 6 },
    { "wide place", "\xc3\xa4\xc3\xb6 z", 0, 4, "\xc3\xa4\xc3\xb6 z\n^~\n", 1, 1 },
    { "over the line's end", "abc\ndef", 1, 6, "abc\n ^~\n", 1, 2 },
    { "at the newline", "abc\ndef", 3, 1, "abc\n   ^\n", 1, 4 },
    { "at the end", "abc\n", 4, 0, "", 2, 1 },
    { "past the end", "abc", 400, 7, "abc\n   ^\n", 1, 4 },
    { "carriage return", "abc\r\ndef\r\n", 5, 3, "def\n^~~\n", 2, 1 },
    { "empty text", "", 0, 0, "", 1, 1 },
    { "control characters", "a\x1b[31mb\x01 c", 8, 1, "a?[31mb? c\n        ^\n", 1, 9 },
    { "broken text", "a\xff\xfe c", 4, 1, "a?? c\n    ^\n", 1, 5 },
};

static void renders_places(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(places); i++) {
        uint32_t s = rlx_diags_add_source(&diags, RLX_SLICE("m.py"), places[i].text,
                                          strlen(places[i].text));
        rlx_place p = rlx_place_make(s, places[i].begin, places[i].len);
        char want[200];
        snprintf(want, sizeof want, "m.py:%u:%u: error[WF03]: oh\n%s", places[i].line,
                 places[i].column, places[i].want);
        rlx_diag *d = rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, p, "oh");
        if (strcmp(rendered(d, true), want) != 0)
            fail_msg("%s:\n%swant:\n%s", places[i].name, out.data, want);
    }
}

/* The lexer reads past the end of names eight bytes at a time. */
static void pads_texts_with_zeros(void **unused)
{
    static const char zeros[RLX_TEXT_PADDING];
    for (size_t len = 0; len < 20; len++) {
        const rlx_source *s = rlx_diags_source(
            &diags, rlx_diags_add_source(&diags, RLX_SLICE("m.py"), "abcdefghijklmnopqrst", len));
        assert_int_equal(s->len, len);
        assert_memory_equal(s->text + len, zeros, sizeof zeros);
    }
}

static void renders_notes_and_missing_places(void **unused)
{
    uint32_t s = rlx_diags_add_source(&diags, RLX_SLICE("m.py"), "x = y\nz\n", 8);
    uint32_t host = rlx_diags_add_source(&diags, RLX_SLICE("host"), NULL, 0);
    rlx_diag *d = rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, rlx_place_make(s, 4, 1),
                                   "variable %s is used before it is bound", "y");
    rlx_diag_note(&diags, d, rlx_place_make(s, 6, 1), "bound here");
    rlx_diag_note(&diags, d, RLX_NO_PLACE, "swap the %d lines", 2);
    rlx_diag_note(&diags, d, rlx_place_make(host, 123, 4), "made by the host");
    assert_string_equal(
        rendered(d, true),
        "m.py:1:5: error[WF03]: variable y is used before it is bound\nx = y\n    ^\n"
        "m.py:2:1: note: bound here\nz\n^\nnote: swap the 2 lines\nhost: note: made by the "
        "host\n");
    assert_string_equal(rendered(d, false),
                        "m.py:1:5: error[WF03]: variable y is used before it is bound\nm.py:2:1: "
                        "note: bound here\n"
                        "note: swap the 2 lines\nhost: note: made by the host\n");
    out.len = 0;
    rlx_diag_render_json(&diags, d, &out);
    assert_string_equal(
        out.data,
        "{\"severity\":\"error\",\"code\":\"WF03\",\"message\":\"variable y is used before it is "
        "bound\","
        "\"file\":\"m.py\",\"line\":1,\"column\":5,\"end_line\":1,\"end_column\":6,\"notes\":["
        "{\"message\":\"bound "
        "here\",\"file\":\"m.py\",\"line\":2,\"column\":1,\"end_line\":2,\"end_column\":2},"
        "{\"message\":\"swap the 2 lines\"},"
        "{\"message\":\"made by the host\",\"file\":\"host\",\"begin\":123,\"length\":4}]}");
    d = rlx_diags_report(&diags, &wx07, RLX_SEVERITY_WARNING, rlx_place_make(host, 5, 1), "odd");
    assert_string_equal(rendered(d, true), "host: warning[WX07]: odd\n");
    d = rlx_diags_report(&diags, NULL, RLX_SEVERITY_NOTE, rlx_place_make(99, 5, 1), "nowhere");
    assert_string_equal(rendered(d, true), "note: nowhere\n");
    assert_int_equal(diags.num_errors, 1);
    assert_int_equal(diags.num_warnings, 1);
    assert_int_equal(diags.num_diags, 3);
}

static void cuts_long_lines(void **unused)
{
    char text[3000];
    for (size_t i = 0; i < sizeof text; i += 2)
        memcpy(text + i, "\xc3\xa4", 2);
    uint32_t s = rlx_diags_add_source(&diags, RLX_SLICE("m.py"), text, sizeof text);
    static const uint32_t begins[] = { 0, 40, 99, 100, 101, 150, 1500, 2998, 3000 };
    for (size_t i = 0; i < RLX_COUNT(begins); i++) {
        uint32_t begin = begins[i] & ~1u;
        rlx_diag *d =
            rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, rlx_place_make(s, begin, 4), "oh");
        rendered(d, true);
        char *line = strchr(out.data, '\n') + 1, *marks = strchr(line, '\n') + 1;
        assert_true(rlx_utf8_valid(out.data, out.len) == out.len);
        assert_true(marks - line <= 160 + 7);
        assert_true((strncmp(line, "...", 3) == 0) == (begin > 100));
        size_t column = strcspn(marks, "^"), before = begin / 2;
        assert_int_equal(column, begin > 100 ? 3 + 50 : before);
    }
}

/* Up to 4,000 bytes a message is whole; what is longer ends between two characters. */
static void cuts_long_messages(void **unused)
{
    static const size_t sizes[] = { 3998, 3999, 4000, 4001, 4002, 4003, 5000, 70001 };
    static char text[70002];
    for (size_t i = 0; i < 2 * RLX_COUNT(sizes); i++) {
        size_t size = sizes[i / 2], odd = i % 2;
        memset(text, 'x', sizeof text);
        for (size_t k = odd; k + 2 <= size; k += 2)
            memcpy(text + k, "\xc3\xa4", 2);
        text[size] = 0;
        const rlx_diag *d =
            rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, RLX_NO_PLACE, "%s", text);
        size_t len = strlen(d->message), kept = size > 4000 ? 4000 - odd : size;
        assert_int_equal(rlx_utf8_valid(d->message, len), len);
        assert_memory_equal(d->message, text, kept);
        assert_string_equal(d->message + kept, size > 4000 ? "..." : "");
    }
}

static void locates_lines_in_every_way(void **unused)
{
    static const char text[] = "a\nbb\n\nccc\n";
    uint32_t line, column, chars;
    for (size_t n = 0; n < 8; n++) { /* also without memory for the table of lines */
        rlx_memory m;
        failing f;
        failing_init(&f, &m, 0);
        rlx_diags d;
        rlx_diags_init(&d, &m);
        uint32_t s = rlx_diags_add_source(&d, RLX_SLICE("m"), text, sizeof text - 1);
        f.fail_at = n % 2 ? f.calls + 1 : 0;
        uint32_t want_line = 1, want_column = 1;
        for (uint32_t i = 0; i < sizeof text; i++) {
            if (n % 2)
                f.fail_at = f.calls + 1;
            assert_true(rlx_diags_locate(&d, rlx_place_make(s, i, 0), &line, &column, &chars));
            assert_true(line == want_line && column == want_column && chars == column);
            want_column++;
            if (text[i] == '\n')
                want_line++, want_column = 1;
        }
        rlx_diags_free(&d);
        assert_int_equal(f.live + f.blocks, 0);
    }
    assert_false(rlx_diags_locate(&diags, RLX_NO_PLACE, &line, NULL, NULL));
}

static void mutes_and_hardens(void **unused)
{
    assert_true(rlx_diags_mute(&diags, &wx07) && rlx_diags_mute(&diags, &wf03));
    assert_null(rlx_diags_report(&diags, &wx07, RLX_SEVERITY_WARNING, 0, "muted"));
    assert_non_null(
        rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, 0, "errors are never muted"));
    assert_null(rlx_diags_report(&diags, &wf03, RLX_SEVERITY_OFF, 0, "off"));
    assert_int_equal(diags.num_diags, 1);
    diags.muted.len = 0;
    diags.strict = true;
    rlx_diag *d = rlx_diags_report(&diags, &wx07, RLX_SEVERITY_WARNING, 0, "hard");
    assert_string_equal(rendered(d, true), "error[WX07]: hard\n");
    assert_int_equal(diags.num_errors, 2);
    assert_int_equal(diags.num_warnings, 0);
}

static int told, notes_told;

static void listen(void *user, const rlx_diag *d)
{
    told++;
    notes_told += (int)d->num_labels;
}

static void stops_at_the_limit_and_tells(void **unused)
{
    told = notes_told = 0;
    diags.live = listen;
    size_t stored = 0;
    for (int i = 0; i < 250; i++) {
        rlx_diag *d = rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, 0, "%d", i);
        rlx_diag_note(&diags, d, 0, "note");
        stored += d != NULL;
    }
    assert_int_equal(stored, 100);
    assert_int_equal(diags.num_errors, 250);
    assert_false(diags.out_of_memory);
    rlx_diags_flush(&diags);
    rlx_diags_flush(&diags);
    assert_int_equal(told, 100);
    assert_int_equal(notes_told, 100);
    size_t n = 0;
    for (const rlx_diag *d = diags.first; d; d = d->next)
        n++;
    assert_int_equal(n, 100);
    rlx_diags_clear(&diags);
    assert_true(diags.num_errors == 0 && !diags.first && !diags.last);
    assert_non_null(rlx_diags_report(&diags, &wf03, RLX_SEVERITY_ERROR, 0, "again"));
    rlx_diags_clear(&diags); /* tells what was not told */
    assert_int_equal(told, 101);
}

static size_t whole_life(size_t fail_at)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, fail_at);
    rlx_diags d;
    rlx_diags_init(&d, &m);
    d.diag_region.next_chunk = 64; /* many small chunks: many ways to fail */
    rlx_buf b;
    rlx_buf_init(&b, &m);
    errno = 5;
    uint32_t s = rlx_diags_add_source(&d, RLX_SLICE("m.py"), "x = y\nz\n", 8);
    assert_true(s || d.out_of_memory);
    size_t errors = d.num_errors;
    bool muted = rlx_diags_mute(&d, &wx07);
    for (int i = 0; i < 9; i++) {
        rlx_diag *diag = rlx_diags_report(&d, &wf03, RLX_SEVERITY_ERROR, rlx_place_make(s, 4, 1),
                                          "error %d", i);
        for (int k = 0; k < i; k++)
            rlx_diag_note(&d, diag, rlx_place_make(s, 6, 1), "note %d", k);
        assert_true(diag || d.out_of_memory);
        if (diag)
            rlx_diag_render(&d, diag, &b, true);
        if (diag)
            rlx_diag_render_json(&d, diag, &b);
    }
    assert_true(d.num_errors >= errors + 9);
    bool lost = d.out_of_memory || b.failed || !muted;
    if (fail_at == 0)
        assert_false(lost);
    rlx_diags_clear(&d);
    assert_false(d.out_of_memory);
    rlx_buf_free(&b);
    rlx_diags_free(&d);
    assert_int_equal(f.live + f.blocks, 0);
    assert_int_equal(errno, 5);
    errno = 0;
    return f.calls;
}

static void survives_every_failure(void **unused)
{
    size_t calls = whole_life(0);
    assert_true(calls > 10);
    for (size_t n = 1; n <= calls; n++)
        whole_life(n);
}

static void warning_lost_counts_as_error(void **unused)
{
    rlx_memory m;
    failing f;
    failing_init(&f, &m, 1);
    rlx_diags d;
    rlx_diags_init(&d, &m);
    assert_null(rlx_diags_report(&d, &wx07, RLX_SEVERITY_WARNING, 0, "lost"));
    assert_true(d.out_of_memory && d.num_errors == 1);
    rlx_diags_free(&d);
}

static void refuses_what_does_not_fit(void **unused)
{
    assert_int_equal(
        rlx_diags_add_source(&diags, RLX_SLICE("big"), "", (size_t)RLX_MAX_SOURCE_BYTES + 1), 0);
    rlx_place p = rlx_place_make(65535, (1u << 30) - 1, UINT32_MAX);
    assert_int_equal(rlx_place_source(p), 65535);
    assert_int_equal(rlx_place_begin(p), (1u << 30) - 1);
    assert_int_equal(rlx_place_len(p), 0x3ffff);
    for (uint32_t i = 0; i < RLX_MAX_SOURCES; i++)
        assert_int_equal(rlx_diags_add_source(&diags, RLX_SLICE(""), NULL, 0), i + 1);
    assert_int_equal(rlx_diags_add_source(&diags, RLX_SLICE(""), NULL, 0), 0);
    assert_null(rlx_diags_source(&diags, 0));
    assert_null(rlx_diags_source(&diags, 65536));
    assert_non_null(rlx_diags_source(&diags, 65535));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(renders_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(pads_texts_with_zeros, set_up, tear_down),
        cmocka_unit_test_setup_teardown(renders_notes_and_missing_places, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_long_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(cuts_long_messages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(locates_lines_in_every_way, set_up, tear_down),
        cmocka_unit_test_setup_teardown(mutes_and_hardens, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stops_at_the_limit_and_tells, set_up, tear_down),
        cmocka_unit_test(survives_every_failure),
        cmocka_unit_test(warning_lost_counts_as_error),
        cmocka_unit_test_setup_teardown(refuses_what_does_not_fit, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("diag", tests, NULL, NULL);
}
