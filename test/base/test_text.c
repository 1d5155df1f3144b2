/* test_text.c: text buffers, UTF-8, edit distance. */
#include "cmocka_all.h"

#include "base/base.h"
#include "failing.h"

static void buffer_collects(void **unused)
{
    rlx_memory m;
    rlx_memory_init(&m, NULL, SIZE_MAX);
    rlx_buf b;
    rlx_buf_init(&b, &m);
    rlx_buf_put(&b, NULL, 0);
    assert_string_equal(b.data, "");
    rlx_buf_lit(&b, "a");
    rlx_buf_char(&b, ',');
    rlx_buf_i64(&b, INT64_MIN);
    rlx_buf_char(&b, ',');
    rlx_buf_u64(&b, UINT64_MAX);
    rlx_buf_char(&b, ',');
    rlx_buf_i64(&b, 0);
    rlx_buf_format(&b, ",%s %.*s %d %lld %zu %x", "z", 2, "long", -3, 4LL, (size_t)5, 255);
    assert_string_equal(b.data, "a,-9223372036854775808,18446744073709551615,0,z lo -3 4 5 ff");
    size_t before = b.len;
    char wide[600];
    memset(wide, 'w', sizeof wide);
    wide[599] = 0;
    rlx_buf_format(&b, "[%s]", wide);
    assert_int_equal(b.len, before + 601);
    assert_int_equal(b.data[b.len - 1], ']');
    rlx_buf_free(&b);
    assert_int_equal(rlx_mem_live(&m), 0);
}

static void buffer_latches_failure(void **unused)
{
    for (size_t n = 1; n < 6; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        rlx_buf b;
        rlx_buf_init(&b, &m);
        for (int i = 0; i < 300; i++)
            rlx_buf_format(&b, "%d %s;", i, "text");
        assert_true(b.failed);
        size_t len = b.len;
        rlx_buf_lit(&b, "x");
        rlx_buf_char(&b, 'x');
        rlx_buf_z(&b, "x");
        assert_int_equal(b.len, len);
        if (len)
            assert_int_equal(strlen(b.data), len);
        rlx_buf_free(&b);
        assert_int_equal(f.live + f.blocks, 0);
        assert_false(b.failed);
    }
}

static const struct { const char *text; size_t len, valid; } utf8[] = {
    { "", 0, 0 },
    { "plain ascii of more than eight", 30, 30 },
    { "a\0b", 3, 3 },
    { "gr\xc3\xbc\xc3\x9f", 6, 6 },
    { "\xe2\x82\xac\xf0\x9f\x98\x80", 7, 7 },
    { "\xf4\x8f\xbf\xbf", 4, 4 },
    { "ab\x80", 3, 2 },
    { "abcdefgh\xff", 9, 8 },
    { "\xc0\x80", 2, 0 },         /* overlong */
    { "\xe0\x9f\xbf", 3, 0 },     /* overlong */
    { "\xf0\x8f\xbf\xbf", 4, 0 }, /* overlong */
    { "\xed\xa0\x80", 3, 0 },     /* surrogate */
    { "\xf4\x90\x80\x80", 4, 0 }, /* above U+10FFFF */
    { "x\xe2\x82", 3, 1 },        /* cut */
    { "x\xe2\x28\xa1", 4, 1 },
};

static void knows_utf8(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(utf8); i++)
        assert_int_equal(rlx_utf8_valid(utf8[i].text, utf8[i].len), utf8[i].valid);
    assert_int_equal(rlx_utf8_count("gr\xc3\xbc\xc3\x9f\xe2\x82\xac", 9), 5);
    for (uint32_t c = 0; c < 0x110010; c++) {
        char out[4];
        size_t len = rlx_utf8_encode(c, out);
        bool scalar = c <= 0x10ffff && (c < 0xd800 || c > 0xdfff);
        assert_true((len != 0) == scalar);
        if (len)
            assert_true(rlx_utf8_valid(out, len) == len && rlx_utf8_count(out, len) == 1);
    }
    char text[] = "\xff" "a\xc3\xa9\xc3" "b\xe2\x82";
    rlx_utf8_mend(text, sizeof text - 1);
    assert_string_equal(text, "?a\xc3\xa9?b??");
}

static const struct { const char *a, *b; size_t limit, want; } distances[] = {
    { "", "", 3, 0 },
    { "add", "add", 3, 0 },
    { "add", "ad", 3, 1 },
    { "softmax", "sotfmax", 3, 1 },
    { "kitten", "sitting", 5, 3 },
    { "kitten", "sitting", 2, 3 },
    { "abc", "xyz", 1, 2 },
    { "a", "abcdefgh", 3, 4 },
    { "", "abc", 5, 3 },
};

static void measures_edits(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(distances); i++) {
        rlx_slice a = rlx_slice_z(distances[i].a), b = rlx_slice_z(distances[i].b);
        assert_int_equal(rlx_edit_distance(a, b, distances[i].limit), distances[i].want);
        assert_int_equal(rlx_edit_distance(b, a, distances[i].limit), distances[i].want);
    }
    char a[1000], b[1000];
    memset(a, 'a', sizeof a);
    memset(b, 'b', sizeof b);
    assert_int_equal(rlx_edit_distance((rlx_slice){ a, 1000 }, (rlx_slice){ b, 1000 }, 5), 6);
    assert_int_equal(rlx_edit_distance((rlx_slice){ a, 120 }, (rlx_slice){ b, 120 }, 200), 120);
    assert_int_equal(rlx_edit_distance((rlx_slice){ a, 1000 }, (rlx_slice){ a, 999 }, 5), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(buffer_collects),
        cmocka_unit_test(buffer_latches_failure),
        cmocka_unit_test(knows_utf8),
        cmocka_unit_test(measures_edits),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
