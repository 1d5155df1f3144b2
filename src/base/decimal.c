/* decimal.c: exact conversion between decimal digits and binary floating point. */
/* built for size */
#include "base/decimal.h"

#include <string.h>

/* --- unsigned integers of up to 3072 bits, least significant limb first, no leading zero limb
 * --- */

/* Largest values met: 801 digits (2661 bits) and 5^1131 (2627 bits), each shifted by at most the
 * difference of their lengths and doubled once; a double's expansion needs 53 + 2494 bits. */
#define LIMBS 96

typedef struct big {
    int len;
    uint32_t limb[LIMBS];
} big;

static void big_set(big *b, uint64_t v)
{
    b->limb[0] = (uint32_t)v;
    b->limb[1] = (uint32_t)(v >> 32);
    b->len = b->limb[1] ? 2 : b->limb[0] ? 1 : 0;
}

/* b = b * factor + add */
static void big_mul_add(big *b, uint32_t factor, uint32_t add)
{
    uint64_t carry = add;
    for (int i = 0; i < b->len; i++) {
        carry += (uint64_t)b->limb[i] * factor;
        b->limb[i] = (uint32_t)carry;
        carry >>= 32;
    }
    if (carry && b->len < LIMBS)
        b->limb[b->len++] = (uint32_t)carry;
}

static void big_mul_pow5(big *b, int power)
{
    static const uint32_t small[14] = { 1,       5,        25,        125,       625,
                                        3125,    15625,    78125,     390625,    1953125,
                                        9765625, 48828125, 244140625, 1220703125 };
    for (; power > 13; power -= 13)
        big_mul_add(b, small[13], 0);
    big_mul_add(b, small[power], 0);
}

static void big_shift_left(big *b, int bits)
{
    int limbs = bits / 32, rest = bits % 32;
    if (b->len == 0 || bits == 0 || b->len + limbs + 1 > LIMBS)
        return;
    b->limb[b->len] = 0;
    for (int i = b->len; i >= 0; i--) {
        uint32_t low = i > 0 && rest ? b->limb[i - 1] >> (32 - rest) : 0;
        b->limb[i + limbs] = b->limb[i] << rest | low;
    }
    memset(b->limb, 0, (size_t)limbs * sizeof b->limb[0]);
    b->len += limbs + 1;
    if (b->limb[b->len - 1] == 0)
        b->len--;
}

static int big_bits(const big *b)
{
    int bits = 32 * b->len;
    for (uint32_t top = b->len ? b->limb[b->len - 1] : 1; !(top & 0x80000000u); top <<= 1)
        bits--;
    return bits;
}

static bool big_less(const big *a, const big *b)
{
    if (a->len != b->len)
        return a->len < b->len;
    for (int i = a->len - 1; i >= 0; i--)
        if (a->limb[i] != b->limb[i])
            return a->limb[i] < b->limb[i];
    return false;
}

/* a -= b, where a >= b */
static void big_subtract(big *a, const big *b)
{
    uint64_t borrow = 0;
    for (int i = 0; i < a->len; i++) {
        uint64_t take = (i < b->len ? b->limb[i] : 0) + borrow;
        borrow = a->limb[i] < take;
        a->limb[i] = (uint32_t)(a->limb[i] - take);
    }
    while (a->len && a->limb[a->len - 1] == 0)
        a->len--;
}

/* b /= 10^9; returns the remainder. */
static uint32_t big_divide_billion(big *b)
{
    uint64_t rest = 0;
    for (int i = b->len - 1; i >= 0; i--) {
        rest = rest << 32 | b->limb[i];
        b->limb[i] = (uint32_t)(rest / 1000000000u);
        rest %= 1000000000u;
    }
    while (b->len && b->limb[b->len - 1] == 0)
        b->len--;
    return (uint32_t)rest;
}

/* --- binary --- */

/* (q + something in [0, 1) that is 0 iff !sticky) * 2^exponent as bits of a double or float. q
 * > 0. */
static uint64_t round_to_bits(uint64_t q, bool sticky, int exponent, bool is_float32)
{
    int precision = is_float32 ? 24 : 53, lowest = is_float32 ? -126 : -1022,
        highest = is_float32 ? 127 : 1023;
    while (!(q >> 63)) {
        q <<= 1;
        exponent--;
    }
    int top = exponent + 63; /* 2^top <= value < 2^(top + 1) */
    uint64_t infinity = (uint64_t)(highest - lowest + 2) << (precision - 1);
    if (top > highest)
        return infinity;
    int drop = 64 - precision + (top < lowest ? lowest - top : 0);
    if (drop > 64)
        return 0;
    uint64_t kept = drop == 64 ? 0 : q >> drop, half = 1ull << (drop - 1);
    uint64_t rest = drop == 64 ? q : q & ((1ull << drop) - 1);
    kept += rest > half || (rest == half && (sticky || (kept & 1)));
    /* The hidden bit of `kept` counts one step of the exponent, and so does a carry into the
     * next. */
    return top < lowest ? kept : ((uint64_t)(top - lowest) << (precision - 1)) + kept;
}

/* Up to 19 digits and 5^27 fit 64 bits each: one wide product or quotient is exact. */
static uint64_t short_to_bits(uint64_t w, int exponent, bool is_float32)
{
    uint64_t five = 1;
    for (int i = exponent < 0 ? -exponent : exponent; i > 0; i--)
        five *= 5;
    rlx_u128 wide;
    bool sticky = false;
    int two = exponent;
    if (exponent >= 0) {
        wide = (rlx_u128)w * five;
    } else {
        while (!(w >> 63)) {
            w <<= 1;
            two--;
        }
        rlx_u128 numerator = (rlx_u128)w << 64;
        wide = numerator / five;
        sticky = wide * five != numerator;
        two -= 64;
    }
    uint64_t high = (uint64_t)(wide >> 64), low = (uint64_t)wide;
    if (!high)
        return round_to_bits(low, sticky, two, is_float32);
    int shift = 0;
    while (!(high >> 63)) {
        high = high << 1 | low >> 63;
        low <<= 1;
        shift++;
    }
    return round_to_bits(high, sticky || low, two + 64 - shift, is_float32);
}

static void big_from_digits(big *b, const rlx_decimal *d)
{
    static const uint32_t ten[10] = { 1,      10,      100,      1000,      10000,
                                      100000, 1000000, 10000000, 100000000, 1000000000 };
    big_set(b, 0);
    for (int i = 0; i < d->len;) {
        uint32_t part = 0;
        int n = 0;
        for (; n < 9 && i < d->len; n++, i++)
            part = part * 10 + (uint32_t)(d->digits[i] - '0');
        big_mul_add(b, ten[n], part);
    }
}

/* n / d * 2^exponent: both are shifted to the same length, then 64 bits of quotient come one by
 * one. */
static uint64_t quotient_to_bits(big *n, big *d, int exponent, bool is_float32)
{
    int difference = big_bits(d) - big_bits(n);
    big_shift_left(difference > 0 ? n : d, difference > 0 ? difference : -difference);
    uint64_t q = 0;
    for (int i = 0; i < 64; i++) {
        q <<= 1;
        if (!big_less(n, d)) {
            big_subtract(n, d);
            q |= 1;
        }
        big_shift_left(n, 1);
    }
    return round_to_bits(q, n->len > 0, exponent - difference - 63, is_float32);
}

/* The top 64 bits of b * 2^exponent, and whether anything lies below them. */
static uint64_t integer_to_bits(const big *b, int exponent, bool is_float32)
{
    uint64_t q = 0;
    bool sticky = false;
    int at = b->len - 1, taken = 0;
    for (; at >= 0 && taken < 2; at--, taken++)
        q = q << 32 | b->limb[at];
    exponent += 32 * (at + 1);
    uint32_t below = at >= 0 ? b->limb[at] : 0;
    while (!(q >> 63)) { /* q holds 33 bits at least, or nothing lies below it */
        q = q << 1 | below >> 31;
        below <<= 1;
        exponent--;
    }
    sticky = below != 0;
    while (!sticky && --at >= 0)
        sticky = b->limb[at] != 0;
    return round_to_bits(q, sticky, exponent, is_float32);
}

uint64_t rlx_decimal_to_bits(const rlx_decimal *d, bool is_float32)
{
    if (d->len == 0 || d->len + d->exponent < -330)
        return 0;
    if (d->len + d->exponent > 320)
        return is_float32 ? 0x7f800000u : 0x7ff0000000000000ull;
    if (d->len <= 19 && d->exponent >= -27 && d->exponent <= 27) {
        uint64_t w = 0;
        for (int i = 0; i < d->len; i++)
            w = w * 10 + (uint64_t)(d->digits[i] - '0');
        return w ? short_to_bits(w, d->exponent, is_float32) : 0;
    }
    big n, five;
    big_from_digits(&n, d);
    if (n.len == 0)
        return 0;
    if (d->exponent >= 0) {
        big_mul_pow5(&n, d->exponent);
        return integer_to_bits(&n, d->exponent, is_float32);
    }
    big_set(&five, 1);
    big_mul_pow5(&five, -d->exponent);
    return quotient_to_bits(&n, &five, d->exponent, is_float32);
}

/* --- decimal --- */

/* Writes the digits of b (destroyed) to out, most significant first; returns how many. */
static int big_digits(big *b, char *out)
{
    uint32_t parts[LIMBS + 16];
    int count = 0, len = 0;
    while (b->len)
        parts[count++] = big_divide_billion(b);
    for (int i = count - 1; i >= 0; i--) {
        char nine[9];
        for (int k = 8; k >= 0; k--, parts[i] /= 10)
            nine[k] = (char)('0' + parts[i] % 10);
        int skip = 0;
        while (i == count - 1 && skip < 8 && nine[skip] == '0')
            skip++;
        memcpy(out + len, nine + skip, (size_t)(9 - skip));
        len += 9 - skip;
    }
    return len;
}

void rlx_decimal_expand(double v, rlx_decimal *out)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    int exponent = (int)(u >> 52 & 0x7ff);
    uint64_t m = u & 0xfffffffffffffull;
    if (exponent)
        m |= 1ull << 52;
    else
        exponent = 1;
    exponent -= 1075; /* |v| = m * 2^exponent */
    out->len = out->exponent = 0;
    if (m == 0)
        return;
    while (!(m & 1) && exponent < 0) {
        m >>= 1;
        exponent++;
    }
    big b;
    big_set(&b, m);
    if (exponent >= 0) {
        big_shift_left(&b, exponent);
    } else { /* m / 2^k = m * 5^k / 10^k */
        big_mul_pow5(&b, -exponent);
        out->exponent = exponent;
    }
    out->len = big_digits(&b, out->digits);
}

static void strip_zeros(rlx_decimal *d)
{
    while (d->len && d->digits[d->len - 1] == '0') {
        d->len--;
        d->exponent++;
    }
}

void rlx_decimal_round(rlx_decimal *d, int keep)
{
    if (d->len <= keep) {
        strip_zeros(d);
        return;
    }
    bool beyond = false;
    for (int i = keep + 1; i < d->len && !beyond; i++)
        beyond = d->digits[i] != '0';
    char next = d->digits[keep];
    bool odd = (d->digits[keep - 1] - '0') & 1;
    bool up = next > '5' || (next == '5' && (beyond || odd));
    d->exponent += d->len - keep;
    d->len = keep;
    if (up) {
        int i = keep - 1;
        while (i >= 0 && d->digits[i] == '9')
            d->digits[i--] = '0';
        if (i >= 0) {
            d->digits[i]++;
        } else { /* 999 -> 1000 */
            d->digits[0] = '1';
            d->exponent += keep;
            d->len = 1;
        }
    }
    strip_zeros(d);
}
