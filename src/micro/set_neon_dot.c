/* set_neon_dot.c: sums of bytes by the instructions of ARMv8.2 for them, the `dot` of `neondot`. */
#include "micro/micro_int.h"

#if defined(RLX_NEON_DOT_SET)
#define RLX_SET_NEON
#define RLX_SET_DOTS
#include "micro/vector.h"

#define DOT_ROWS 8
#include "micro/dot_text.h"

void rlx_micro_dot_neon(const rlx_micro_sum *r) { dot(r); }
#endif
