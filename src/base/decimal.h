/* decimal.h: exact conversion between decimal digits and binary floating point. For number.c
 * only.
 *
 * Integer arithmetic throughout: neither the locale nor the rounding mode of the host plays a
 * part.
 */
#ifndef RLX_BASE_DECIMAL_H
#define RLX_BASE_DECIMAL_H

#include "base/compiler.h"

/* A halfway point between two doubles has at most 767 significant digits, so that after this many
 * the rest matters only by being zero or not. */
#define RLX_DECIMAL_MAX 800

/* Value: digits as an integer (most significant first, '0'..'9', no leading zero) * 10^exponent.
 * len 0: zero. */
typedef struct rlx_decimal {
    char digits[RLX_DECIMAL_MAX + 1];
    int len;
    int exponent;
} rlx_decimal;

/* The bits of the double (or, is_float32, the float) nearest to `d`; ties to even, overflow to
 * infinity. */
uint64_t rlx_decimal_to_bits(const rlx_decimal *d, bool is_float32);
/* The exact expansion of a finite double, its sign dropped. Trailing zeros of integers are
 * digits; exponent <= 0. */
void rlx_decimal_expand(double v, rlx_decimal *out);
/* Rounds to at most `keep` >= 1 digits, ties to even, and drops trailing zeros. */
void rlx_decimal_round(rlx_decimal *d, int keep);

#endif
