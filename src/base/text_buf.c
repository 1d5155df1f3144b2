/* text_buf.c: growing text, UTF-8, edit distance, identifiers. */
#include "base/text.h"

#include <errno.h>
#include <stdio.h>

void rlx_buf_init(rlx_buf *b, rlx_memory *m)
{
    *b = (rlx_buf){ .memory = m };
}

void rlx_buf_free(rlx_buf *b)
{
    rlx_mem_free(b->memory, b->data, b->cap);
    rlx_buf_init(b, b->memory);
}

bool rlx_buf_grow(rlx_buf *b, size_t more)
{
    if (b->failed)
        return false;
    if (more < b->cap - b->len)
        return true;
    size_t want;
    if (!rlx_add_size(b->len, more, &want) || !rlx_add_size(want, 1, &want)) {
        b->failed = true;
        return rlx_mem_overflow(b->memory);
    }
    if (b->most && want - 1 > b->most) {
        b->failed = b->too_large = true;
        return false;
    }
    size_t cap = b->cap < 64 ? 64 : b->cap <= SIZE_MAX / 2 ? b->cap * 2 : want;
    if (b->most && cap > b->most + 1)
        cap = b->most + 1;
    if (cap < want)
        cap = want;
    char *p = rlx_mem_resize(b->memory, b->data, b->cap, cap);
    if (!p) {
        b->failed = true;
        return false;
    }
    b->data = p;
    b->cap = cap;
    b->data[b->len] = 0;
    return true;
}

void rlx_buf_z(rlx_buf *b, const char *z)
{
    rlx_buf_put(b, z, strlen(z));
}

void rlx_buf_char(rlx_buf *b, char c)
{
    rlx_buf_put(b, &c, 1);
}

/* Writes digits backwards from `end`; returns where they begin. */
static char *digits_before(char *end, uint64_t value)
{
    do {
        *--end = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    return end;
}

void rlx_buf_u64(rlx_buf *b, uint64_t value)
{
    char text[24], *end = text + sizeof text;
    char *begin = digits_before(end, value);
    rlx_buf_put(b, begin, (size_t)(end - begin));
}

void rlx_buf_i64(rlx_buf *b, int64_t value)
{
    char text[24], *end = text + sizeof text;
    char *begin = digits_before(end, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
    if (value < 0)
        *--begin = '-';
    rlx_buf_put(b, begin, (size_t)(end - begin));
}

void rlx_buf_format(rlx_buf *b, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    rlx_buf_vformat(b, format, args);
    va_end(args);
}

void rlx_buf_vformat(rlx_buf *b, const char *format, va_list args)
{
    if (!rlx_buf_grow(b, 0))
        return;
    int saved = errno;
    va_list again;
    va_copy(again, args);
    size_t space = b->cap - b->len;
    int len = vsnprintf(b->data + b->len, space, format, args);
    if (len >= 0 && (size_t)len >= space) {
        if (rlx_buf_grow(b, (size_t)len))
            vsnprintf(b->data + b->len, b->cap - b->len, format, again);
        else
            len = -1;
    }
    va_end(again);
    errno = saved;
    if (len < 0) {
        if (!b->failed) /* more than an int counts, or no memory inside of vsnprintf */
            rlx_mem_overflow(b->memory);
        b->failed = true;
        b->data[b->len] = 0;
        return;
    }
    b->len += (size_t)len;
}

/* Length of the well-formed UTF-8 sequence at p (1..4), 0 if there is none within `left` bytes.
 * The second byte's range depends on the first: that excludes overlong forms, surrogates and
 * everything above U+10FFFF. */
static size_t utf8_sequence(const unsigned char *p, size_t left)
{
    unsigned char c = p[0], low = 0x80, high = 0xBF;
    size_t len;
    if (c < 0x80)
        return 1;
    if (c < 0xC2 || c > 0xF4)
        return 0;
    len = c < 0xE0 ? 2 : c < 0xF0 ? 3 : 4;
    if (c == 0xE0)
        low = 0xA0;
    else if (c == 0xED)
        high = 0x9F;
    else if (c == 0xF0)
        low = 0x90;
    else if (c == 0xF4)
        high = 0x8F;
    if (left < len || p[1] < low || p[1] > high)
        return 0;
    for (size_t i = 2; i < len; i++)
        if ((p[i] & 0xC0) != 0x80)
            return 0;
    return len;
}

/* How far ASCII goes from `at` on, in steps of 32 bytes. */
static size_t pass_ascii(const unsigned char *p, size_t at, size_t len)
{
    for (uint64_t v[4]; len - at >= sizeof v; at += sizeof v) {
        memcpy(v, p + at, sizeof v);
        if ((v[0] | v[1] | v[2] | v[3]) & RLX_EACH_BYTE(0x80))
            break;
    }
    return at;
}

size_t rlx_utf8_valid(const char *data, size_t len)
{
    const unsigned char *p = (const unsigned char *)data;
    size_t at = pass_ascii(p, 0, len);
    while (at < len) {
        uint64_t eight;
        if (len - at >= 8 && (memcpy(&eight, p + at, 8), (eight & RLX_EACH_BYTE(0x80)) == 0)) {
            at = pass_ascii(p, at + 8, len);
            continue;
        }
        size_t step = utf8_sequence(p + at, len - at);
        if (!step)
            break;
        at += step;
    }
    return at;
}

void rlx_utf8_mend(char *data, size_t len)
{
    for (size_t at = rlx_utf8_valid(data, len); at < len;) {
        data[at++] = '?';
        at += rlx_utf8_valid(data + at, len - at);
    }
}

size_t rlx_utf8_count(const char *data, size_t len)
{
    size_t count = 0;
    for (size_t i = 0; i < len; i++)
        count += ((unsigned char)data[i] & 0xC0) != 0x80;
    return count;
}

size_t rlx_utf8_encode(uint32_t c, char out[4])
{
    if (c < 0x80) {
        out[0] = (char)c;
        return 1;
    }
    if (c > 0x10FFFF || (c >= 0xD800 && c <= 0xDFFF))
        return 0;
    size_t len = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
    static const unsigned char lead[5] = { 0, 0, 0xC0, 0xE0, 0xF0 };
    for (size_t i = len - 1; i > 0; i--) {
        out[i] = (char)(0x80 | (c & 0x3F));
        c >>= 6;
    }
    out[0] = (char)(lead[len] | c);
    return len;
}

#define EDIT_MAX 120

static uint8_t smallest(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

/* Cuts off equal ends first: they cost no edit. */
static void strip_common(rlx_slice *a, rlx_slice *b)
{
    while (a->len && b->len && a->data[0] == b->data[0])
        a->data++, b->data++, a->len--, b->len--;
    while (a->len && b->len && a->data[a->len - 1] == b->data[b->len - 1])
        a->len--, b->len--;
}

size_t rlx_edit_distance(rlx_slice a, rlx_slice b, size_t limit)
{
    strip_common(&a, &b);
    size_t difference = a.len > b.len ? a.len - b.len : b.len - a.len;
    if (difference > limit || a.len > EDIT_MAX || b.len > EDIT_MAX)
        return limit + 1;
    /* Rows i - 2, i - 1 and i of the table of distances between prefixes. */
    uint8_t rows[3][EDIT_MAX + 1];
    for (size_t j = 0; j <= b.len; j++)
        rows[0][j] = (uint8_t)j;
    for (size_t i = 1; i <= a.len; i++) {
        uint8_t *row = rows[i % 3];
        const uint8_t *above = rows[(i + 2) % 3], *above2 = rows[(i + 1) % 3];
        row[0] = (uint8_t)i;
        for (size_t j = 1; j <= b.len; j++) {
            bool same = a.data[i - 1] == b.data[j - 1];
            uint8_t best = smallest((uint8_t)(above[j] + 1), (uint8_t)(row[j - 1] + 1));
            best = smallest(best, (uint8_t)(above[j - 1] + !same));
            if (i > 1 && j > 1 && a.data[i - 1] == b.data[j - 2] && a.data[i - 2] == b.data[j - 1])
                best = smallest(best, (uint8_t)(above2[j - 2] + 1));
            row[j] = best;
        }
    }
    size_t distance = rows[a.len % 3][b.len];
    return distance > limit ? limit + 1 : distance;
}

/* ---- names as Python has them */

bool rlx_is_keyword(const char *text, size_t len)
{
    static const char *const words[] = {
        "False", "None",     "True",  "and",    "as",   "assert", "async",  "await",    "break",
        "class", "continue", "def",   "del",    "elif", "else",   "except", "finally",  "for",
        "from",  "global",   "if",    "import", "in",   "is",     "lambda", "nonlocal", "not",
        "or",    "pass",     "raise", "return", "try",  "while",  "with",   "yield"
    };
    if (len < 2 || len > 8)
        return false;
    for (size_t i = 0; i < RLX_COUNT(words); i++)
        if (words[i][0] == text[0] && strlen(words[i]) == len && memcmp(words[i], text, len) == 0)
            return true;
    return false;
}

bool rlx_is_identifier(rlx_slice s)
{
    for (size_t i = 0; i < s.len; i++) {
        char c = s.data[i];
        bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || c < '0' || c > '9'))
            return false;
    }
    return s.len > 0 && !rlx_is_keyword(s.data, s.len);
}
