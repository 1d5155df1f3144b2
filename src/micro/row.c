/* row.c: functions of rows that are one operation, runs of integers, for every machine and in the vectors that it has. */
/* built for speed */
#include "format/kernel_math.h"
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
#define RUN_AS(name, T, JOIN_ONE)                                                           \
    T name(T x, const T *a, int64_t n)                                                      \
    {                                                                                       \
        for (int64_t k = 0; k < n; k++)                                                     \
            x = JOIN_ONE(x, a[k]);                                                          \
        return x;                                                                           \
    }
#define RUN(X, T, op, JOIN_ONE) RUN_AS(rlx_micro_run_##X##_##op, T, JOIN_ONE)
#define SUM_ONE(x, y) ((x) + (y))
#define LEAST_32(x, y) ((int32_t)(x) < (int32_t)(y) ? (x) : (y))
#define GREATEST_32(x, y) ((int32_t)(x) > (int32_t)(y) ? (x) : (y))
RUN(u32, uint32_t, add, SUM_ONE)
/* That of places, where a row holds what is looked for. */
RLX_CLONES static RUN_AS(least_place, uint32_t, LEAST_32)
uint32_t rlx_micro_run_u32_min(uint32_t x, const uint32_t *a, int64_t n) { return least_place(x, a, n); }
RUN(u32, uint32_t, max, GREATEST_32)
RUN(u64, uint64_t, add, SUM_ONE)

/* As integers that are in the order of floats, -0 before +0; what is above infinity is NaN. */
RLX_WIDE
static float least_of(const float *a, int64_t n)
{
    const int32_t *bits = (const void *)a;
    int32_t least = INT32_MAX, most = 0;
    for (int64_t k = 0; k < n; k++) {
        int32_t place = bits[k] ^ (bits[k] >> 31 & INT32_MAX), size = bits[k] & INT32_MAX;
        least = place < least ? place : least;
        most = size > most ? size : most;
    }
    return most > 0x7f800000 ? NAN : rlx_bits_float((uint32_t)(least ^ (least >> 31 & INT32_MAX)));
}

void rlx_micro_reduce_lent_min(const rlx_micro_sum *r, const rlx_micro_set *lender)
{
    if (r->a_k != 1 || r->depth < 16) {
        lender->reduce[RLX_KERNEL_REDUCE_MIN][RLX_ELEM_F32](r);
        return;
    }
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++)
            for (int64_t t = 0; t < r->turns; t++) {
                float *acc = (float *)r->acc + i * r->acc_i + j * r->acc_j;
                *acc = rlx_min_f32(*acc, least_of((const float *)r->a + i * r->a_i + j * r->a_j + t * r->a_t, r->depth));
            }
}

/* a - (-b) is a + b, signs of zeros included. */
void rlx_micro_row_add(float *d, const float *a, float b, int64_t columns) { row_sub(d, a, -b, columns); }
