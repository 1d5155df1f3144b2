/* row.c: functions of rows that are one operation, for every machine and in the vectors that it has. */
/* built for speed */
#include "micro/micro_int.h"

#define ROW(name, op)                                                                       \
    RLX_CLONES                                                                              \
    static void row_##name(float *d, const float *a, float b, int64_t columns)              \
    {                                                                                       \
        RLX_INDEPENDENT for (int64_t j = 0; j < columns; j++) d[j] = a[j] op b;             \
    }                                                                                       \
    void rlx_micro_row_##name(float *d, const float *a, float b, int64_t columns)           \
    {                                                                                       \
        row_##name(d, a, b, columns);                                                       \
    }
ROW(sub, -)
ROW(mul, *)
ROW(div, /)

/* a - (-b) is a + b, signs of zeros included. */
void rlx_micro_row_add(float *d, const float *a, float b, int64_t columns) { row_sub(d, a, -b, columns); }
