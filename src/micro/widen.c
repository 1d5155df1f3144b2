/* widen.c: runs of elements of less bits than what is computed with. */
/* built for speed */
#include <string.h>

#include "base/base.h"
#include "format/narrow.h"
#include "micro/micro_int.h"

#define WIDEN(name, D, S, expr)                                                \
    void rlx_micro_widen_##name(D *d, const S *s, int64_t n)                   \
    {                                                                          \
        RLX_ROLLED RLX_INDEPENDENT for (int64_t i = 0; i < n; i++)                        \
        {                                                                      \
            S v = s[i];                                                        \
            d[i] = expr;                                                       \
        }                                                                      \
    }
/* Those halves that no instruction is for. */
static void widen_some_halves(float *d, const uint16_t *s, int64_t n);
#define rlx_micro_widen_F16 widen_some_halves
#define NARROW(name, elem, text, code, bits, C, function, greatest, npy) \
    WIDEN(elem, float, C, rlx_widen_##function(v))
#include "base/dtype.def"
#undef rlx_micro_widen_F16
void rlx_micro_widen_F16(float *d, const uint16_t *s, int64_t n)
{
    for (int64_t done = 0, some; done < n; done += some) {
        done += (int64_t)rlx_micro_widen_halves(d + done, s + done, (size_t)(n - done));
        some = rlx_micro_less(n - done, RLX_HALVES);
        widen_some_halves(d + done, s + done, some);
    }
}
WIDEN(I8, int32_t, int8_t, v)
WIDEN(U8, int32_t, uint8_t, v)
WIDEN(I16, int32_t, int16_t, v)
WIDEN(U16, int32_t, uint16_t, v)
