/* widen.c: runs of elements of less bits than what is computed with. */
/* built for speed */
#include <string.h>

#include "base/base.h"
#include "format/narrow.h"
#include "micro/micro_int.h"

#define WIDEN(name, D, S, expr)                                                \
    void rlx_micro_widen_##name(D *d, const S *s, int64_t n)                   \
    {                                                                          \
        RLX_INDEPENDENT for (int64_t i = 0; i < n; i++)                        \
        {                                                                      \
            S v = s[i];                                                        \
            d[i] = expr;                                                       \
        }                                                                      \
    }
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    WIDEN(elem, float, C, rlx_widen_##function(v))
#include "base/dtype.def"
WIDEN(I8, int32_t, int8_t, v)
WIDEN(U8, int32_t, uint8_t, v)
WIDEN(I16, int32_t, int16_t, v)
WIDEN(U16, int32_t, uint16_t, v)
