/* number.c: reading and writing numbers, whatever the locale. */
/* built for size */
#include "base/number.h"

#include "base/decimal.h"

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* --- reading --- */

typedef struct reader {
    const char *at, *end;
} reader;

/* Position of a digit at the front, past one underscore if digits came before; NULL if there is
 * none. */
static const char *next_digit(const reader *r, bool after_digit)
{
    const char *p = r->at;
    if (after_digit && p < r->end && *p == '_')
        p++;
    return p < r->end && is_digit(*p) ? p : NULL;
}

/* Appends a digit; beyond the limit only "something not zero follows" is kept, as a last digit
 * 1. */
static void add_digit(rlx_decimal *d, char c, bool fraction)
{
    if (d->len == 0 && c == '0') {
        d->exponent -= fraction;
        return;
    }
    if (d->len < RLX_DECIMAL_MAX) {
        d->digits[d->len++] = c;
        d->exponent -= fraction;
        return;
    }
    if (d->len == RLX_DECIMAL_MAX && c != '0') {
        d->digits[d->len++] = '1';
        d->exponent--;
    }
    d->exponent += !fraction;
}

static bool take_digits(reader *r, rlx_decimal *d, bool fraction)
{
    bool any = false;
    for (const char *p; (p = next_digit(r, any)); any = true) {
        add_digit(d, *p, fraction);
        r->at = p + 1;
    }
    return any;
}

#define EXPONENT_LIMIT 100000000

/* "e-5" after a mantissa. False: malformed. */
static bool take_exponent(reader *r, int *exponent)
{
    *exponent = 0;
    if (r->at == r->end || (*r->at | 0x20) != 'e')
        return true;
    r->at++;
    bool negative = r->at < r->end && *r->at == '-', any = false;
    if (r->at < r->end && (*r->at == '-' || *r->at == '+'))
        r->at++;
    for (const char *p; (p = next_digit(r, any)); any = true) {
        if (*exponent < EXPONENT_LIMIT)
            *exponent = *exponent * 10 + (*p - '0');
        r->at = p + 1;
    }
    if (negative)
        *exponent = -*exponent;
    return any;
}

/* 800 digits and a limit on the exponent keep sums of both within int, however long the text
 * is. */
#define LENGTH_LIMIT 500000000

bool rlx_parse_double(rlx_slice text, double *out)
{
    rlx_decimal d;
    int exponent;
    if (text.len == 0 || text.len > LENGTH_LIMIT)
        return false;
    reader r = { text.data, text.data + text.len };
    d.len = d.exponent = 0;
    bool any = take_digits(&r, &d, false);
    if (r.at < r.end && *r.at == '.') {
        r.at++;
        any |= take_digits(&r, &d, true);
    }
    if (!any || !take_exponent(&r, &exponent) || r.at != r.end)
        return false;
    d.exponent += exponent;
    rlx_decimal_round(&d, RLX_DECIMAL_MAX + 1); /* drops trailing zeros */
    uint64_t bits = rlx_decimal_to_bits(&d, false);
    memcpy(out, &bits, sizeof bits);
    return true;
}

static int digit_value(char c)
{
    if (is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : 99;
}

/* Takes "0x" and the like off the front. */
static unsigned take_base(rlx_slice *text)
{
    static const struct {
        char letter;
        unsigned base;
    } bases[] = { { 'x', 16 }, { 'o', 8 }, { 'b', 2 } };
    if (text->len < 2 || text->data[0] != '0')
        return 10;
    for (size_t i = 0; i < RLX_COUNT(bases); i++) {
        if ((text->data[1] | 0x20) != bases[i].letter)
            continue;
        text->data += 2;
        text->len -= 2;
        return bases[i].base;
    }
    return 10;
}

bool rlx_parse_u64(rlx_slice text, uint64_t *out, bool *overflow)
{
    unsigned base = take_base(&text);
    bool too_large = false, after_digit = base != 10;
    uint64_t value = 0;
    if (text.len == 0)
        return false;
    for (size_t i = 0; i < text.len; i++) {
        char c = text.data[i];
        if (c == '_' && after_digit) {
            after_digit = false;
            continue;
        }
        unsigned digit = (unsigned)digit_value(c);
        if (digit >= base)
            return false;
        after_digit = true;
        too_large |= RLX_MUL_OVERFLOWS(value, (uint64_t)base, &value);
        too_large |= RLX_ADD_OVERFLOWS(value, (uint64_t)digit, &value);
    }
    bool leading_zero = base == 10 && text.len > 1 && text.data[0] == '0' && (value || too_large);
    if (!after_digit || leading_zero)
        return false;
    *overflow = too_large;
    *out = too_large ? UINT64_MAX : value;
    return true;
}

/* --- writing --- */

static uint64_t double_bits(double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    return u;
}

/* Writes the sign, and the whole text of infinities and NaN. True: nothing is left to write. */
static bool put_sign_or_special(rlx_buf *b, double v)
{
    uint64_t u = double_bits(v), magnitude = u & 0x7fffffffffffffffull;
    if (magnitude > 0x7ff0000000000000ull) {
        rlx_buf_lit(b, "nan");
        return true;
    }
    if (u >> 63)
        rlx_buf_char(b, '-');
    if (magnitude == 0x7ff0000000000000ull) {
        rlx_buf_lit(b, "inf");
        return true;
    }
    return false;
}

static void put_zeros(rlx_buf *b, int count)
{
    for (; count > 0; count--)
        rlx_buf_char(b, '0');
}

/* 123.45; the point only where digits follow it. */
static void put_fixed(rlx_buf *b, const rlx_decimal *d)
{
    int whole = d->len + d->exponent; /* digits before the point */
    if (d->len == 0 || whole <= 0)
        rlx_buf_char(b, '0');
    if (d->len == 0)
        return;
    int before = whole < 0 ? 0 : whole < d->len ? whole : d->len;
    rlx_buf_put(b, d->digits, (size_t)before);
    put_zeros(b, whole - d->len);
    if (before == d->len)
        return;
    rlx_buf_char(b, '.');
    put_zeros(b, -whole);
    rlx_buf_put(b, d->digits + before, (size_t)(d->len - before));
}

/* 1.2345e+06, two digits of exponent at least. */
static void put_scientific(rlx_buf *b, const rlx_decimal *d)
{
    int power = d->len + d->exponent - 1, magnitude = power < 0 ? -power : power;
    rlx_buf_put(b, d->digits, 1);
    if (d->len > 1) {
        rlx_buf_char(b, '.');
        rlx_buf_put(b, d->digits + 1, (size_t)d->len - 1);
    }
    rlx_buf_put(b, power < 0 ? "e-" : "e+", 2);
    if (magnitude < 10)
        rlx_buf_char(b, '0');
    rlx_buf_u64(b, (uint64_t)magnitude);
}

/* Scientific below 1e-4 and from 10^limit on, as %g has it. */
static void put_general(rlx_buf *b, const rlx_decimal *d, int limit)
{
    int power = d->len + d->exponent - 1;
    if (d->len && (power < -4 || power >= limit))
        put_scientific(b, d);
    else
        put_fixed(b, d);
}

void rlx_print_double_g(rlx_buf *b, double v, int digits)
{
    if (put_sign_or_special(b, v))
        return;
    rlx_decimal d;
    digits = digits < 1 ? 1 : digits > RLX_DECIMAL_MAX ? RLX_DECIMAL_MAX : digits;
    rlx_decimal_expand(v, &d);
    rlx_decimal_round(&d, digits);
    put_general(b, &d, digits);
}

void rlx_print_double_17g(rlx_buf *b, double v)
{
    rlx_print_double_g(b, v, 17);
}

void rlx_print_double_short(rlx_buf *b, double v, bool is_float32)
{
    if (put_sign_or_special(b, v))
        return;
    rlx_decimal exact, d;
    rlx_decimal_expand(v, &exact);
    uint64_t want = rlx_decimal_to_bits(&exact, is_float32);
    for (int keep = 1; keep <= 17; keep++) {
        d.len = exact.len;
        d.exponent = exact.exponent;
        memcpy(d.digits, exact.digits, (size_t)exact.len);
        rlx_decimal_round(&d, keep);
        if (rlx_decimal_to_bits(&d, is_float32) == want)
            break;
    }
    put_general(b, &d, 16);
    if (d.exponent >= 0 && d.len + d.exponent - 1 < 16)
        rlx_buf_lit(b, ".0");
}

static bool is_integral(double v)
{
    uint64_t u = double_bits(v), magnitude = u & 0x7fffffffffffffffull;
    int exponent = (int)(magnitude >> 52) - 1023;
    if (magnitude == 0 || exponent >= 52)
        return true;
    if (exponent < 0)
        return false;
    return (magnitude & (0xfffffffffffffull >> exponent)) == 0;
}

void rlx_print_double_tvm(rlx_buf *b, double v)
{
    uint64_t magnitude = double_bits(v) & 0x7fffffffffffffffull;
    if (magnitude > 0x7ff0000000000000ull && double_bits(v) >> 63)
        rlx_buf_char(b, '-');
    if (magnitude >= 0x7ff0000000000000ull || !is_integral(v)) {
        rlx_print_double_17g(b, v);
        return;
    }
    rlx_decimal d;
    put_sign_or_special(b, v);
    rlx_decimal_expand(v, &d);
    put_fixed(b, &d);
    rlx_buf_lit(b, ".0");
}
