/* row.c: functions of rows that are one operation, runs of integers, for every machine and in the vectors that it has. */
/* built for speed */
#include "micro/micro_int.h"

#define ROW(name, op)                                                                       \
    RLX_CLONES_512                                                                          \
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

/* Integers that lie beside each other, joined with x. */
#define RUN(X, T, op, JOIN_ONE)                                                             \
    T rlx_micro_run_##X##_##op(T x, const T *a, int64_t n)                                  \
    {                                                                                       \
        for (int64_t k = 0; k < n; k++)                                                     \
            x = JOIN_ONE(x, a[k]);                                                          \
        return x;                                                                           \
    }
#define SUM_ONE(x, y) ((x) + (y))
#define LEAST_32(x, y) ((int32_t)(x) < (int32_t)(y) ? (x) : (y))
#define GREATEST_32(x, y) ((int32_t)(x) > (int32_t)(y) ? (x) : (y))
RUN(u32, uint32_t, add, SUM_ONE)
RUN(u32, uint32_t, min, LEAST_32)
RUN(u32, uint32_t, max, GREATEST_32)
RUN(u64, uint64_t, add, SUM_ONE)

/* a - (-b) is a + b, signs of zeros included. */
void rlx_micro_row_add(float *d, const float *a, float b, int64_t columns) { row_sub(d, a, -b, columns); }
