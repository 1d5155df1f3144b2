/* number.h: reading and writing numbers, the same under every locale, errno and rounding mode untouched. */
#ifndef RLX_BASE_NUMBER_H
#define RLX_BASE_NUMBER_H

#include "base/text.h"

/* Correctly rounded. `text` is a decimal floating literal without sign or spaces ("1.5", ".5", "1e-5", "1_000.0"); false if it is not one. */
bool rlx_parse_double(rlx_slice text, double *out);
/* Decimal, 0x, 0o, 0b, underscores. false: not a literal; *overflow: it does not fit uint64. */
bool rlx_parse_u64(rlx_slice text, uint64_t *out, bool *overflow);
/* printf("%.17g") / ("%.*g"), locale independent. */
void rlx_print_double_17g(rlx_buf *b, double v);
/* The fewest digits that read back as the same float32 / float64: for summaries. */
void rlx_print_double_short(rlx_buf *b, double v, bool is_float32);
/* Fixed notation with one decimal for integral values (1.0, -0.0, 1e20 written out), %.17g otherwise; inf and nan as "inf" "-inf" "nan" without quotes. */
void rlx_print_double_tvm(rlx_buf *b, double v);

#endif
