/* test_json.c: JSON and base64, in and out. */
#include "cmocka_all.h"

#include "base/base.h"
#include "failing.h"

static rlx_memory memory;
static rlx_region region;
static rlx_buf out;

static void print(const rlx_json *v)
{
    if (v->key.data) {
        rlx_json_quote(&out, v->key);
        rlx_buf_char(&out, ':');
    }
    switch (v->kind) {
    case RLX_JSON_NULL: rlx_buf_lit(&out, "null"); break;
    case RLX_JSON_BOOL: rlx_buf_z(&out, v->boolean ? "true" : "false"); break;
    case RLX_JSON_INT: rlx_buf_i64(&out, v->integer); break;
    case RLX_JSON_FLOAT: rlx_print_double_short(&out, v->number, false); break;
    case RLX_JSON_STRING: rlx_json_quote(&out, v->string); break;
    default:
        rlx_buf_char(&out, v->kind == RLX_JSON_ARRAY ? '[' : '{');
        for (const rlx_json *c = v->first; c; c = c->next) {
            print(c);
            if (c->next)
                rlx_buf_char(&out, ',');
        }
        rlx_buf_char(&out, v->kind == RLX_JSON_ARRAY ? ']' : '}');
    }
}

static const struct { const char *text, *want;
} good[] = {
    { "null", "null" },
    { " [ ] ", "[]" },
    { "{}", "{}" },
    { "[1, -2, 0, -0, 1.5, 1e2, -2.5E-3]", "[1,-2,0,0,1.5,100.0,-0.0025]" },
    { "9223372036854775807", "9223372036854775807" },
    { "-9223372036854775808", "-9223372036854775808" },
    { "9223372036854775808", "9.223372036854776e+18" },
    { "{\"a\": {\"b\": [true, false, null]}, \"c\": \"\"}",
      "{\"a\":{\"b\":[true,false,null]},\"c\":\"\"}" },
    { "\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e4\\ud83d\\ude00\"",
      "\"\\\"\\\\/\\b\\f\\n\\r\\tA\xc3\xa4\xf0\x9f\x98\x80\"" },
    { "\"\\u0000\\u001f\"", "\"\\u0000\\u001f\"" },
    { "[[[[]],[]]]", "[[[[]],[]]]" },
};

static void reads(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(good); i++) {
        size_t at;
        const char *why;
        const rlx_json *v = rlx_json_parse(&region, rlx_slice_z(good[i].text), &at, &why);
        if (!v)
            fail_msg("%s: %s at %zu", good[i].text, why, at);
        out.len = 0;
        print(v);
        assert_string_equal(out.data, good[i].want);
    }
}

static const struct { const char *text; size_t at;
} bad[] = {
    { "", 0 },
    { "  ", 2 },
    { "[1,]", 3 },
    { "[1 2]", 3 },
    { "[1", 2 },
    { "{\"a\"}", 4 },
    { "{\"a\":}", 5 },
    { "{a:1}", 1 },
    { "{\"a\":1,}", 7 },
    { "]", 0 },
    { "[}", 1 },
    { "01", 1 },
    { "1.", 2 },
    { ".5", 0 },
    { "+1", 0 },
    { "1e", 2 },
    { "-", 1 },
    { "NaN", 0 },
    { "tru", 0 },
    { "\"abc", 1 },
    { "\"a\\x\"", 4 },
    { "\"\\u12\"", 3 },
    { "\"\\ud800\"", 7 },
    { "\"\\ud800\\u0041\"", 13 },
    { "\"\\udc00\"", 7 },
    { "\"a\nb\"", 2 },
    { "\"\xff\"", 1 },
    { "1 2", 2 },
    { "\"\\", 1 },
    { "\"\\\"", 1 },
    { "{\"a\":1 \"b\":2}", 7 },
    { "/* */ 1", 0 },
};

static void refuses(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(bad); i++) {
        size_t at = 9999;
        const char *why = NULL;
        if (rlx_json_parse(&region, rlx_slice_z(bad[i].text), &at, &why))
            fail_msg("read: %s", bad[i].text);
        assert_non_null(why);
        if (at != bad[i].at)
            fail_msg("%s: %s at %zu, want %zu", bad[i].text, why, at, bad[i].at);
    }
}

static void limits_depth(void **unused)
{
    char text[2 * RLX_JSON_MAX_DEPTH + 4];
    size_t at;
    const char *why;
    for (int extra = 0; extra < 2; extra++) {
        size_t n = RLX_JSON_MAX_DEPTH + (size_t)extra;
        memset(text, '[', n);
        memset(text + n, ']', n);
        const rlx_json *v = rlx_json_parse(&region, (rlx_slice){ text, 2 * n }, &at, &why);
        assert_true((v != NULL) == (extra == 0));
    }
    assert_string_equal(why, "nesting too deep");
}

static void finds_members(void **unused)
{
    size_t at;
    const char *why;
    const rlx_json *v =
        rlx_json_parse(&region, RLX_SLICE("{\"a\":1,\"b\":[2,3],\"a\":4}"), &at, &why);
    assert_int_equal(rlx_json_member(v, "a")->integer, 4);
    assert_int_equal(rlx_json_member(v, "b")->count, 2);
    assert_null(rlx_json_member(v, "c"));
    assert_null(rlx_json_member(rlx_json_member(v, "b"), "a"));
    assert_null(rlx_json_member(NULL, "a"));
}

static void survives_every_failure(void **unused)
{
    for (size_t n = 1; n < 40; n++) {
        rlx_memory m;
        failing f;
        failing_init(&f, &m, n);
        rlx_region r;
        rlx_region_init(&r, &m);
        r.next_chunk = 64;
        size_t at;
        const char *why = NULL;
        rlx_slice text = RLX_SLICE("{\"key\":[1,2.5,\"text\",{\"inner\":null}],\"other\":\"a "
                                   "longer string than the chunk has room\"}");
        const rlx_json *v = rlx_json_parse(&r, text, &at, &why);
        assert_true((v != NULL) == (n > f.calls));
        if (!v)
            assert_string_equal(why, "out of memory");
        rlx_region_drop(&r);
        assert_int_equal(f.live + f.blocks, 0);
    }
}

static void quotes(void **unused)
{
    out.len = 0;
    rlx_json_quote(&out, (rlx_slice){ "a\"\\\n\x01\x7f\xff\xc3\xa4\xe2\x82z\0", 13 });
    assert_string_equal(out.data,
                        "\"a\\\"\\\\\\n\\u0001\\u007f\\ufffd\xc3\xa4\\ufffd\\ufffdz\\u0000\"");
    out.len = 0;
    rlx_json_quote(&out, (rlx_slice){ NULL, 0 });
    assert_string_equal(out.data, "\"\"");
}

static const struct { const char *plain, *text;
} base64[] = {
    { "", "" },
    { "f", "Zg==" },
    { "fo", "Zm8=" },
    { "foo", "Zm9v" },
    { "foob", "Zm9vYg==" },
    { "fooba", "Zm9vYmE=" },
    { "foobar", "Zm9vYmFy" },
    { "\xff\xfe\xfd", "//79" },
    { "\xfb\xf0", "+/A=" },
};

static void base64_both_ways(void **unused)
{
    for (size_t i = 0; i < RLX_COUNT(base64); i++) {
        out.len = 0;
        rlx_buf_lit(&out, "");
        rlx_base64_encode(&out, base64[i].plain, strlen(base64[i].plain));
        assert_string_equal(out.data, base64[i].text);
        unsigned char *bytes;
        size_t len;
        assert_true(rlx_base64_decode(rlx_slice_z(base64[i].text), &region, &bytes, &len));
        assert_int_equal(len, strlen(base64[i].plain));
        assert_memory_equal(bytes, base64[i].plain, len);
    }
    unsigned char *bytes;
    size_t len;
    assert_true(rlx_base64_decode(RLX_SLICE(" Zm\n9v\tYg = =\r\n"), &region, &bytes, &len));
    assert_true(len == 4 && memcmp(bytes, "foob", 4) == 0);
    static const char *const wrong[] = { "Z", "Zg",   "Zg=",  "Zg===",    "Zh==", "Zm9=",
                                         "=", "====", "Z===", "Zg==Zg==", "Z*==", "Zm9v=" };
    for (size_t i = 0; i < RLX_COUNT(wrong); i++)
        if (rlx_base64_decode(rlx_slice_z(wrong[i]), &region, &bytes, &len))
            fail_msg("decoded: %s", wrong[i]);
}

int main(void)
{
    rlx_memory_init(&memory, NULL, SIZE_MAX);
    rlx_region_init(&region, &memory);
    rlx_buf_init(&out, &memory);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads),
        cmocka_unit_test(refuses),
        cmocka_unit_test(limits_depth),
        cmocka_unit_test(finds_members),
        cmocka_unit_test(survives_every_failure),
        cmocka_unit_test(quotes),
        cmocka_unit_test(base64_both_ways),
    };
    int failures = cmocka_run_group_tests_name("json", tests, NULL, NULL);
    rlx_buf_free(&out);
    rlx_region_drop(&region);
    return failures;
}
