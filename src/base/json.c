/* json.c: reading JSON into a region, quoting strings, base64. */
/* built for size */
#include "base/json.h"

#include "base/number.h"

typedef struct reader {
    rlx_region *region;
    const char *begin, *at, *end;
    const char *why; /* set once: the first failure */
} reader;

static bool fail(reader *r, const char *why)
{
    if (!r->why)
        r->why = why;
    return false;
}

static void skip_space(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\t' || *r->at == '\n' || *r->at == '\r'))
        r->at++;
}

static bool take(reader *r, char c)
{
    if (r->at == r->end || *r->at != c)
        return false;
    r->at++;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- strings --- */

static bool take_hex4(reader *r, uint32_t *out)
{
    uint32_t value = 0;
    if (r->end - r->at < 4)
        return false;
    for (int i = 0; i < 4; i++) {
        char c = r->at[i];
        char low = (char)(c | 0x20);
        if (!is_digit(c) && !(low >= 'a' && low <= 'f'))
            return false;
        value = value << 4 | (uint32_t)(is_digit(c) ? c - '0' : low - 'a' + 10);
    }
    r->at += 4;
    *out = value;
    return true;
}

/* \uXXXX, a pair of them for characters beyond U+FFFF. Returns bytes written, 0 on failure. */
static size_t take_unicode(reader *r, char *to)
{
    uint32_t c, low;
    if (!take_hex4(r, &c))
        return fail(r, "bad \\u escape");
    if (c >= 0xD800 && c < 0xDC00) {
        if (!take(r, '\\') || !take(r, 'u') || !take_hex4(r, &low) || low < 0xDC00 || low > 0xDFFF)
            return fail(r, "lone surrogate in \\u escape");
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
    }
    size_t len = rlx_utf8_encode(c, to);
    return len ? len : fail(r, "lone surrogate in \\u escape");
}

/* The text after a backslash; writes at most 4 bytes, never more than it reads. */
static size_t take_escape(reader *r, char *to)
{
    static const char from[] = "\"\\/bfnrt", into[] = "\"\\/\b\f\n\r\t";
    char c = r->at < r->end ? *r->at++ : 0;
    if (c == 'u')
        return take_unicode(r, to);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return fail(r, "bad escape");
    *to = into[found - from];
    return 1;
}

/* Up to the closing quote; false if there is none. */
static bool measure_string(reader *r, size_t *len)
{
    const char *p = r->at;
    for (; p < r->end && *p != '"'; p++) {
        if ((unsigned char)*p < 0x20) {
            r->at = p;
            return fail(r, "control character in a string");
        }
        if (*p == '\\' && p + 1 < r->end)
            p++;
    }
    if (p >= r->end)
        return fail(r, "unclosed string");
    *len = (size_t)(p - r->at);
    return true;
}

static bool take_string(reader *r, rlx_slice *out)
{
    size_t len, n = 0;
    if (!take(r, '"'))
        return fail(r, "expected a string");
    if (!measure_string(r, &len))
        return false;
    char *text = rlx_region_alloc(r->region, len + 1);
    if (!text)
        return fail(r, "out of memory");
    const char *close = r->at + len;
    while (r->at < close) {
        if (*r->at != '\\') {
            text[n++] = *r->at++;
            continue;
        }
        r->at++;
        size_t step = take_escape(r, text + n);
        if (!step)
            return false;
        n += step;
    }
    r->at = close + 1;
    text[n] = 0;
    *out = (rlx_slice){ text, n };
    return true;
}

/* --- scalars --- */

static bool skip_digits(reader *r)
{
    const char *from = r->at;
    while (r->at < r->end && is_digit(*r->at))
        r->at++;
    return r->at > from;
}

/* The grammar of RFC 8259; *whole: neither fraction nor exponent. */
static bool skip_number(reader *r, bool *whole)
{
    take(r, '-');
    *whole = true;
    if (!take(r, '0') && !skip_digits(r))
        return false;
    if (take(r, '.')) {
        *whole = false;
        if (!skip_digits(r))
            return false;
    }
    if (r->at < r->end && (*r->at | 0x20) == 'e') {
        *whole = false;
        r->at++;
        if (!take(r, '+'))
            take(r, '-');
        return skip_digits(r);
    }
    return true;
}

static bool take_number(reader *r, rlx_json *v)
{
    const char *from = r->at;
    bool whole, overflow = false, negative = *from == '-';
    if (!skip_number(r, &whole))
        return fail(r, "bad number");
    rlx_slice digits = { from + negative, (size_t)(r->at - from) - negative };
    if (!rlx_parse_double(digits, &v->number))
        return fail(r, "bad number");
    if (negative)
        v->number = -v->number;
    uint64_t magnitude = 0;
    v->kind = RLX_JSON_FLOAT;
    if (!whole || !rlx_parse_u64(digits, &magnitude, &overflow) || overflow ||
        magnitude > (uint64_t)INT64_MAX + negative)
        return true;
    v->kind = RLX_JSON_INT;
    v->integer = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

static bool take_word(reader *r, rlx_json *v)
{
    static const struct { const char *text; uint8_t kind; bool value;
    } words[] = { { "true", RLX_JSON_BOOL, true },
                  { "false", RLX_JSON_BOOL, false },
                  { "null", RLX_JSON_NULL, false } };
    for (size_t i = 0; i < RLX_COUNT(words); i++) {
        size_t len = strlen(words[i].text);
        if ((size_t)(r->end - r->at) < len || memcmp(r->at, words[i].text, len) != 0)
            continue;
        r->at += len;
        v->kind = words[i].kind;
        v->boolean = words[i].value;
        return true;
    }
    return fail(r, "expected a value");
}

/* --- structure: open arrays and objects are on a stack of our own --- */

typedef struct level {
    rlx_json *parent, *last;
} level;

typedef struct stack {
    level levels[RLX_JSON_MAX_DEPTH];
    size_t depth;
} stack;

static void attach(stack *s, rlx_json *v)
{
    if (s->depth == 0)
        return;
    level *l = &s->levels[s->depth - 1];
    if (l->last)
        l->last->next = v;
    else
        l->parent->first = v;
    l->last = v;
    l->parent->count++;
}

static bool open_level(reader *r, stack *s, rlx_json *v)
{
    if (s->depth == RLX_JSON_MAX_DEPTH)
        return fail(r, "nesting too deep");
    v->kind = *r->at++ == '[' ? RLX_JSON_ARRAY : RLX_JSON_OBJECT;
    s->levels[s->depth++] = (level){ v, NULL };
    return true;
}

/* One value with its key, if it is a member; containers are only opened. */
static rlx_json *take_value(reader *r, stack *s)
{
    rlx_json *v = rlx_region_zero(r->region, sizeof *v);
    if (!v) {
        fail(r, "out of memory");
        return NULL;
    }
    if (s->depth && s->levels[s->depth - 1].parent->kind == RLX_JSON_OBJECT) {
        if (!take_string(r, &v->key))
            return NULL;
        skip_space(r);
        if (!take(r, ':')) {
            fail(r, "expected ':'");
            return NULL;
        }
        skip_space(r);
    }
    attach(s, v);
    char c = r->at < r->end ? *r->at : 0;
    bool good;
    if (c == '[' || c == '{')
        good = open_level(r, s, v);
    else if (c == '"')
        good = take_string(r, &v->string), v->kind = RLX_JSON_STRING;
    else if (c == '-' || is_digit(c))
        good = take_number(r, v);
    else
        good = take_word(r, v);
    return good ? v : NULL;
}

/* After a value: closes what ends here and passes a comma. False: failure. */
static bool close_levels(reader *r, stack *s)
{
    while (s->depth) {
        const rlx_json *parent = s->levels[s->depth - 1].parent;
        skip_space(r);
        if (take(r, parent->kind == RLX_JSON_ARRAY ? ']' : '}')) {
            s->depth--;
            continue;
        }
        if (parent->count == 0)
            return true;
        if (!take(r, ','))
            return fail(r, parent->kind == RLX_JSON_ARRAY ? "expected ',' or ']'"
                                                          : "expected ',' or '}'");
        skip_space(r);
        return true;
    }
    return true;
}

static const rlx_json *take_document(reader *r)
{
    stack s;
    s.depth = 0;
    rlx_json *root = NULL;
    size_t valid = rlx_utf8_valid(r->begin, (size_t)(r->end - r->begin));
    if (valid < (size_t)(r->end - r->begin)) {
        r->at = r->begin + valid;
        fail(r, "not UTF-8");
        return NULL;
    }
    skip_space(r);
    do {
        rlx_json *v = take_value(r, &s);
        if (!v || !close_levels(r, &s))
            return NULL;
        if (!root)
            root = v;
    } while (s.depth);
    skip_space(r);
    if (r->at < r->end) {
        fail(r, "text after the end");
        return NULL;
    }
    return root;
}

const rlx_json *rlx_json_parse(rlx_region *region, rlx_slice text, size_t *error_at,
                               const char **why)
{
    const char *data = text.len ? text.data : "";
    reader r = { .region = region, .begin = data, .at = data, .end = data + text.len };
    const rlx_json *root = take_document(&r);
    if (root)
        return root;
    *error_at = (size_t)(r.at - r.begin);
    *why = r.why;
    return NULL;
}

const rlx_json *rlx_json_member(const rlx_json *object, const char *key)
{
    const rlx_json *found = NULL;
    if (!object || object->kind != RLX_JSON_OBJECT)
        return NULL;
    rlx_slice wanted = rlx_slice_z(key);
    for (const rlx_json *v = object->first; v; v = v->next)
        if (rlx_slice_equal(v->key, wanted))
            found = v;
    return found;
}

/* --- writing --- */

static void put_escaped(rlx_buf *b, unsigned char c)
{
    static const char from[] = "\"\\\b\f\n\r\t", into[] = "\"\\bfnrt";
    const char *found = c ? strchr(from, c) : NULL;
    if (found) {
        char pair[2] = { '\\', into[found - from] };
        rlx_buf_put(b, pair, 2);
    } else {
        rlx_buf_format(b, "\\u%04x", c);
    }
}

void rlx_json_quote(rlx_buf *b, rlx_slice s)
{
    rlx_buf_char(b, '"');
    size_t at = 0, plain = 0, valid = rlx_utf8_valid(s.data, s.len);
    while (at < s.len) {
        unsigned char c = (unsigned char)s.data[at];
        bool broken = at == valid;
        if (!broken && c >= 0x20 && c != '"' && c != '\\' && c != 0x7f) {
            at++;
            continue;
        }
        rlx_buf_put(b, s.data + plain, at - plain);
        if (broken)
            rlx_buf_lit(b, "\\ufffd");
        else
            put_escaped(b, c);
        plain = ++at;
        if (broken)
            valid = at + rlx_utf8_valid(s.data + at, s.len - at);
    }
    if (s.len)
        rlx_buf_put(b, s.data + plain, at - plain);
    rlx_buf_char(b, '"');
}

/* --- base64 --- */

static const char base64_digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Value of a digit; -1: none. */
static int base64_value(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (is_digit(c))
        return c - '0' + 52;
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\n' || c == '\r' || c == '\t';
}

typedef struct base64_state {
    uint32_t bits;      /* of the group of four being read */
    size_t digits, pad; /* in all; padding counts as digits too */
    size_t len;
} base64_state;

static bool base64_take(base64_state *s, char c, unsigned char *bytes)
{
    int value = base64_value(c);
    if (c == '=')
        s->pad++;
    else if (value < 0 || s->pad)
        return false;
    s->bits = s->bits << 6 | (uint32_t)(c == '=' ? 0 : value);
    if (++s->digits % 4)
        return s->pad <= 2;
    if (s->pad > 2 || (s->pad && (s->bits & (s->pad == 1 ? 0xffu : 0xffffu))))
        return false; /* bits that no byte takes must be zero, or two texts would mean the same */
    for (size_t i = 0; i < 3 - s->pad; i++)
        bytes[s->len++] = (unsigned char)(s->bits >> (16 - 8 * i));
    s->bits = 0;
    return true;
}

bool rlx_base64_decode(rlx_slice text, rlx_region *r, unsigned char **out, size_t *len)
{
    base64_state s = { 0 };
    *out = NULL;
    unsigned char *bytes = rlx_region_alloc(r, text.len / 4 * 3 + 3);
    if (!bytes)
        return false;
    for (size_t i = 0; i < text.len; i++)
        if (!is_space(text.data[i]) && !base64_take(&s, text.data[i], bytes))
            return false;
    if (s.digits % 4)
        return false;
    *out = bytes;
    *len = s.len;
    return true;
}

void rlx_base64_encode(rlx_buf *b, const void *data, size_t len)
{
    const unsigned char *p = data;
    for (; len; p += 3) {
        size_t take_now = len < 3 ? len : 3;
        uint32_t bits = (uint32_t)p[0] << 16;
        bits |= take_now > 1 ? (uint32_t)p[1] << 8 : 0;
        bits |= take_now > 2 ? p[2] : 0;
        char four[4];
        for (size_t i = 0; i < 4; i++)
            four[i] = i <= take_now ? base64_digits[bits >> (18 - 6 * i) & 63] : '=';
        rlx_buf_put(b, four, 4);
        len -= take_now;
    }
}
