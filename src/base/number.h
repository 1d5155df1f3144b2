/* number.h: reading and writing numbers, the same under every locale, errno and rounding mode
 * untouched. */
#ifndef RLX_BASE_NUMBER_H
#define RLX_BASE_NUMBER_H

#include "base/text.h"

/* Correctly rounded. `text` is a decimal floating literal without sign or spaces ("1.5", ".5",
 * "1e-5", "1_000.0"); false if it is not one. */
bool rlx_parse_double(rlx_slice text, double *out);
/* Decimal, 0x, 0o, 0b, single underscores between digits; no leading zeros in decimal except of 0.
 * false: not a literal. true with *overflow: it does not fit, *out is UINT64_MAX. */
bool rlx_parse_u64(rlx_slice text, uint64_t *out, bool *overflow);
/* printf("%.*g"), `digits` significant ones. Infinities and NaN are "inf", "-inf", "nan", here
 * and below; the sign of a NaN is written where it is said. */
void rlx_print_double_g(rlx_buf *b, double v, int digits);
/* printf("%.17g"). */
void rlx_print_double_17g(rlx_buf *b, double v);
/* The fewest digits that read back as the same float32 / float64, with a point or an exponent
 * (1.0, 1e-05): for summaries. */
void rlx_print_double_short(rlx_buf *b, double v, bool is_float32);
/* Fixed notation with one decimal for integral values (1.0, -0.0, 1e20 written out), %.17g
 * otherwise; a NaN with its sign. */
void rlx_print_double_tvm(rlx_buf *b, double v);

#endif
