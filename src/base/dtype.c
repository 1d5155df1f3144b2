/* dtype.c: names of dtypes; what dtype.def says of those that compute; conversion of narrow
 * floats. */
/* built for size */
#include "base/dtype.h"

#include <float.h>
#include <string.h>

/* Codes beyond relax_dtype_code: the numbers of DLPack, for extension dtypes that we only
 * carry. */
enum {
    CODE_COMPLEX = 5,
    CODE_FLOAT8_E3M4 = 7,
    CODE_FLOAT8_E4M3 = 8,
    CODE_FLOAT8_E4M3B11FNUZ = 9,
    CODE_FLOAT8_E4M3FNUZ = 11,
    CODE_FLOAT8_E5M2FNUZ = 13,
    CODE_FLOAT8_E8M0FNU = 14,
    CODE_FLOAT6_E2M3FN = 15,
    CODE_FLOAT6_E3M2FN = 16,
    CODE_FLOAT4_E2M1FN = 17
};

/* `fixed`: the width is part of the name. Rows of dtype.def whose names are no kind and a width
 * stand here by themselves. */
static const struct {
    const char *name;
    uint8_t code, bits;
    bool fixed;
} kinds[] = {
#define NAMED_16(text, code)
#define NAMED_8(text, code) { text, code, 8, true },
#define NARROW(name, elem, text, code, bits, ...) NAMED_##bits(text, code)
#include "base/dtype.def"
    { "float8_e4m3b11fnuz", CODE_FLOAT8_E4M3B11FNUZ, 8, true },
    { "float8_e4m3fnuz", CODE_FLOAT8_E4M3FNUZ, 8, true },
    { "float8_e4m3", CODE_FLOAT8_E4M3, 8, true },
    { "float8_e5m2fnuz", CODE_FLOAT8_E5M2FNUZ, 8, true },
    { "float8_e3m4", CODE_FLOAT8_E3M4, 8, true },
    { "float8_e8m0fnu", CODE_FLOAT8_E8M0FNU, 8, true },
    { "float6_e2m3fn", CODE_FLOAT6_E2M3FN, 6, true },
    { "float6_e3m2fn", CODE_FLOAT6_E3M2FN, 6, true },
    { "float4_e2m1fn", CODE_FLOAT4_E2M1FN, 4, true },
    { "handle", RELAX_DTYPE_HANDLE, 64, true },
    { "bfloat", RELAX_DTYPE_BFLOAT, 16, false },
    { "complex", CODE_COMPLEX, 64, false },
    { "float", RELAX_DTYPE_FLOAT, 32, false },
    { "uint", RELAX_DTYPE_UINT, 32, false },
    { "int", RELAX_DTYPE_INT, 32, false },
};

bool rlx_dtype_is_int(rlx_dtype t)
{
    int code = rlx_dtype_code(t);
    return code == RELAX_DTYPE_INT || (code == RELAX_DTYPE_UINT && rlx_dtype_bits(t) != 1);
}

bool rlx_dtype_is_float(rlx_dtype t)
{
    int code = rlx_dtype_code(t);
    return code == RELAX_DTYPE_FLOAT || code == RELAX_DTYPE_BFLOAT ||
           (code >= CODE_FLOAT8_E3M4 && code <= CODE_FLOAT4_E2M1FN);
}

bool rlx_dtype_is_computable(rlx_dtype t)
{
    switch (t) {
#define INTEGER(name, ...) case RELAX_##name:
#define NARROW(name, ...) case RELAX_##name:
#define REAL(name, ...) case RELAX_##name:
#include "base/dtype.def"
        return true;
    default: return false;
    }
}

size_t rlx_dtype_bytes(rlx_dtype t)
{
    size_t bits = (size_t)rlx_dtype_bits(t), lanes = (size_t)rlx_dtype_lanes(t);
    if (rlx_dtype_is_bool(t))
        return lanes;
    return (bits * lanes + 7) / 8;
}

bool rlx_dtype_has_int(rlx_dtype t, int64_t v, bool is_large)
{
    int bits = rlx_dtype_bits(t), code = rlx_dtype_code(t);
    if (bits < 1 || (code != RELAX_DTYPE_INT && code != RELAX_DTYPE_UINT))
        return false;
    if (is_large && v < 0)
        return code == RELAX_DTYPE_UINT && bits >= 64;
    if (code == RELAX_DTYPE_UINT)
        return v >= 0 && (bits >= 63 || v >> bits == 0);
    return bits >= 64 || (v >= -((int64_t)1 << (bits - 1)) && v < (int64_t)1 << (bits - 1));
}

bool rlx_dtype_has_bits(rlx_dtype t, int64_t v)
{
    return rlx_dtype_has_int(t, v, rlx_dtype_bits(t) == 64 && rlx_dtype_is_large(t, v));
}

int64_t rlx_dtype_wrap(rlx_dtype t, int64_t v)
{
    int bits = rlx_dtype_bits(t);
    if (bits < 1 || bits >= 64)
        return v;
    uint64_t mask = ((uint64_t)1 << bits) - 1, sign = (uint64_t)1 << (bits - 1),
             u = (uint64_t)v & mask;
    return (int64_t)(rlx_dtype_code(t) == RELAX_DTYPE_INT && (u & sign) ? u | ~mask : u);
}

/* Takes "123" off the front of `s`: no sign, no leading zero, at most `max`. */
static bool take_number(rlx_slice *s, unsigned max, unsigned *out)
{
    unsigned value = 0;
    size_t len = 0;
    while (len < s->len && s->data[len] >= '0' && s->data[len] <= '9' && value <= max)
        value = value * 10 + (unsigned)(s->data[len++] - '0');
    if (len == 0 || s->data[0] == '0' || value > max)
        return false;
    s->data += len;
    s->len -= len;
    *out = value;
    return true;
}

static bool take_text(rlx_slice *s, const char *text)
{
    size_t len = strlen(text);
    if (s->len < len || memcmp(s->data, text, len) != 0)
        return false;
    s->data += len;
    s->len -= len;
    return true;
}

/* "x4" or "xvscalex4"; scalable vectors keep their lanes negated in 16 bits. */
static bool take_lanes(rlx_slice *s, unsigned *lanes)
{
    *lanes = 1;
    if (s->len == 0)
        return true;
    bool scalable = take_text(s, "xvscalex");
    if (!scalable && !take_text(s, "x"))
        return false;
    if (!take_number(s, 0x7fff, lanes))
        return false;
    if (scalable)
        *lanes = 0x10000u - *lanes;
    return s->len == 0;
}

/* The names that programs are full of, and those that do not follow the pattern. */
static const struct { char name[8]; uint8_t len; rlx_dtype dtype;
} common[] = {
    { "float32", 7, RELAX_FLOAT32 }, { "int64", 5, RELAX_INT64 },     { "void", 4, RELAX_VOID },
    { "bool", 4, RELAX_BOOL },       { "float16", 7, RELAX_FLOAT16 }, { "int32", 5, RELAX_INT32 },
    { "", 0, RELAX_VOID },
};

bool rlx_dtype_parse(rlx_slice text, rlx_dtype *out)
{
    for (size_t i = 0; i < RLX_COUNT(common); i++) {
        if (common[i].len == text.len &&
            (text.len == 0 || memcmp(common[i].name, text.data, text.len) == 0)) {
            *out = common[i].dtype;
            return true;
        }
    }
    for (size_t i = 0; i < RLX_COUNT(kinds); i++) {
        rlx_slice rest = text;
        unsigned bits = kinds[i].bits, lanes;
        if (!take_text(&rest, kinds[i].name))
            continue;
        if (!kinds[i].fixed && rest.len && rest.data[0] != 'x' && !take_number(&rest, 255, &bits))
            continue;
        if (!take_lanes(&rest, &lanes))
            continue;
        *out = rlx_dtype_make(kinds[i].code, (int)bits, (int)lanes);
        return true;
    }
    return false;
}

static char *put_text(char *at, const char *text)
{
    size_t len = strlen(text);
    memcpy(at, text, len);
    return at + len;
}

static char *put_number(char *at, unsigned value)
{
    char digits[12];
    size_t n = 0;
    do
        digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    while (n)
        *at++ = digits[--n];
    return at;
}

static char *put_kind(char *at, int code, unsigned bits)
{
    for (size_t i = 0; i < RLX_COUNT(kinds); i++) {
        if (kinds[i].code != code || (kinds[i].fixed && kinds[i].bits != bits))
            continue;
        at = put_text(at, kinds[i].name);
        return kinds[i].fixed ? at : put_number(at, bits);
    }
    at = put_text(at, "custom[");
    at = put_number(at, (unsigned)code);
    at = put_text(at, "]");
    return put_number(at, bits);
}

size_t rlx_dtype_name(rlx_dtype t, char out[RLX_DTYPE_TEXT])
{
    unsigned bits = (unsigned)rlx_dtype_bits(t), lanes = (unsigned)rlx_dtype_lanes(t);
    char *at = out;
    if (t == RELAX_VOID) {
        at = put_text(at, "void");
    } else if (t == RELAX_BOOL) {
        at = put_text(at, "bool");
    } else {
        at = put_kind(at, rlx_dtype_code(t), bits);
        if (lanes > 0x7fff)
            at = put_number(put_text(at, "xvscalex"), 0x10000u - lanes);
        else if (lanes != 1)
            at = put_number(put_text(at, "x"), lanes);
    }
    *at = 0;
    return (size_t)(at - out);
}

/* --- floats --- */

/* Each once: what loads and stores elements would have a copy of its own. */
#define RLX_SHARED RLX_NOINLINE
#define MATH(name, ...) __VA_ARGS__
#include "base/half.def"

const rlx_function_text rlx_half_texts[] = {
#define MATH(name, ...) { #name, #__VA_ARGS__ },
#include "base/half.def"
};
const size_t rlx_half_num_texts = RLX_COUNT(rlx_half_texts);

#define PACKED(name, code, bits)                                     \
    _Static_assert(RELAX_##name == ((code) | (bits) << 8 | 1 << 16), \
                   "dtype.def has the dtypes of the header");
#define INTEGER(name, elem, text, code, bits, ...) PACKED(name, code, bits)
#define NARROW(name, elem, text, code, bits, ...) PACKED(name, code, bits)
#define REAL(name, elem, text, code, bits, ...) PACKED(name, code, bits)
#include "base/dtype.def"

#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    static double load_##name(const void *at)                            \
    {                                                                    \
        C element;                                                       \
        memcpy(&element, at, sizeof element);                            \
        return (double)rlx_##function##_to_float(element);               \
    }                                                                    \
    static void store_##name(void *at, double v)                         \
    {                                                                    \
        C element = rlx_double_to_##function(v);                         \
        memcpy(at, &element, sizeof element);                            \
    }
#define REAL(name, elem, text, code, bits, klass, C, greatest, npy) \
    static double load_##name(const void *at)                       \
    {                                                               \
        C element;                                                  \
        memcpy(&element, at, sizeof element);                       \
        return (double)element;                                     \
    }                                                               \
    static void store_##name(void *at, double v)                    \
    {                                                               \
        C element = (C)v;                                           \
        memcpy(at, &element, sizeof element);                       \
    }
#include "base/dtype.def"

typedef struct float_row {
    double (*load)(const void *at);
    void (*store)(void *at, double v);
    double greatest;
} float_row;

static const float_row *float_row_of(rlx_dtype t)
{
    switch (t) {
#define ROW(name, greatest)                                                   \
    case RELAX_##name: {                                                      \
        static const float_row row = { load_##name, store_##name, greatest }; \
        return &row;                                                          \
    }
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) ROW(name, greatest)
#define REAL(name, elem, text, code, bits, klass, C, greatest, npy) ROW(name, greatest)
#include "base/dtype.def"
    default: return NULL;
    }
}

bool rlx_dtype_is_narrow_float(rlx_dtype t)
{
    switch (t) {
#define NARROW(name, ...) case RELAX_##name:
#include "base/dtype.def"
        return true;
    default: return false;
    }
}

double rlx_dtype_load_float(rlx_dtype t, const void *at)
{
    const float_row *row = float_row_of(t);
    return row ? row->load(at) : 0;
}

void rlx_dtype_store_float(rlx_dtype t, void *at, double v)
{
    const float_row *row = float_row_of(t);
    if (row)
        row->store(at, v);
}

double rlx_dtype_round(rlx_dtype t, double v)
{
    const float_row *row = float_row_of(t);
    unsigned char bytes[sizeof v];
    if (!row)
        return v;
    row->store(bytes, v);
    return row->load(bytes);
}

double rlx_dtype_greatest(rlx_dtype t)
{
    const float_row *row = float_row_of(t);
    return row ? row->greatest : DBL_MAX;
}
