/* sum.c: reductions in plain C. */
/* built for speed */
#include "format/kernel_math.h"
#include "micro/micro_int.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b, *b = t;
}

void rlx_micro_straighten(rlx_micro_sum *r, bool product)
{
    if (r->acc_i == 1 && r->rows > 1 && (r->acc_j != 1 || r->columns == 1)) {
        swap(&r->rows, &r->columns);
        swap(&r->acc_i, &r->acc_j), swap(&r->a_i, &r->a_j), swap(&r->b_i, &r->b_j);
    }
    if (r->columns == 1)
        r->acc_j = 1, r->a_j = product ? 0 : 1, r->b_j = 1;
    if (r->rows == 1)
        r->a_i = r->b_i = 0;
    if (product && r->a_j != 0 && r->b_j == 0) {
        const void *a = r->a;
        r->a = r->b, r->b = a;
        swap(&r->a_i, &r->b_i), swap(&r->a_j, &r->b_j), swap(&r->a_k, &r->b_k);
    }
}

/* acc[i, j] = acc[i, j] op a[i, j, k]: contiguous columns as vectors, otherwise eight columns
 * side by side so that one does not wait for the other. */
#define REDUCE(name, T, expr)                                                  \
    static void reduce_##name(const rlx_micro_sum *r)                          \
    {                                                                          \
        enum { SIDE = 8 };                                                     \
        for (int64_t i = 0; i < r->rows; i++) {                                \
            T *acc = (T *)r->acc + i * r->acc_i;                               \
            const T *a = (const T *)r->a + i * r->a_i;                         \
            int64_t j = 0;                                                     \
            if (r->acc_j == 1 && r->a_j == 1 && r->columns >= SIDE) {          \
                for (int64_t k = 0; k < r->depth; k++) {                       \
                    const T *p = a + k * r->a_k;                               \
                    RLX_INDEPENDENT for (int64_t c = 0; c < r->columns; c++) { \
                        T x = acc[c], y = p[c];                                \
                        acc[c] = (expr);                                       \
                    }                                                          \
                }                                                              \
                continue;                                                      \
            }                                                                  \
            for (; j + SIDE <= r->columns; j += SIDE) {                        \
                T s[SIDE];                                                     \
                for (int c = 0; c < SIDE; c++)                                 \
                    s[c] = acc[(j + c) * r->acc_j];                            \
                for (int64_t k = 0; k < r->depth; k++)                         \
                    for (int c = 0; c < SIDE; c++) {                           \
                        T x = s[c], y = a[(j + c) * r->a_j + k * r->a_k];      \
                        s[c] = (expr);                                         \
                    }                                                          \
                for (int c = 0; c < SIDE; c++)                                 \
                    acc[(j + c) * r->acc_j] = s[c];                            \
            }                                                                  \
            for (; j < r->columns; j++) {                                      \
                T x = acc[j * r->acc_j];                                       \
                for (int64_t k = 0; k < r->depth; k++) {                       \
                    T y = a[j * r->a_j + k * r->a_k];                          \
                    x = (expr);                                                \
                }                                                              \
                acc[j * r->acc_j] = x;                                         \
            }                                                                  \
        }                                                                      \
    }
REDUCE(add_f32, float, x + y)
REDUCE(add_f64, double, x + y) REDUCE(mul_f32, float, x *y) REDUCE(mul_f64, double, x *y)
    REDUCE(min_f32, float, rlx_min_f32(x, y)) REDUCE(min_f64, double, rlx_min_f64(x, y))
        REDUCE(max_f32, float, rlx_max_f32(x, y)) REDUCE(max_f64, double, rlx_max_f64(x, y))
/* Integers: small rather than fast. */
#define REDUCE_INT(name, T, expr)                                       \
    static void reduce_##name(const rlx_micro_sum *r)                   \
    {                                                                   \
        for (int64_t i = 0; i < r->rows; i++)                           \
            for (int64_t k = 0; k < r->depth; k++) {                    \
                T *acc = (T *)r->acc + i * r->acc_i;                    \
                const T *a = (const T *)r->a + i * r->a_i + k * r->a_k; \
                for (int64_t j = 0; j < r->columns; j++) {              \
                    T x = acc[j * r->acc_j], y = a[j * r->a_j];         \
                    acc[j * r->acc_j] = (expr);                         \
                }                                                       \
            }                                                           \
    }
            REDUCE_INT(add_u32, uint32_t, x + y) REDUCE_INT(add_u64, uint64_t, x + y)
                REDUCE_INT(mul_u32, uint32_t, x *y) REDUCE_INT(mul_u64, uint64_t, x *y)
                    REDUCE_INT(min_i32, int32_t, x < y ? x : y)
                        REDUCE_INT(min_i64, int64_t, x < y ? x : y)
                            REDUCE_INT(max_i32, int32_t, x > y ? x : y)
                                REDUCE_INT(max_i64, int64_t, x > y ? x : y)

                                    rlx_micro_sum_fn *const
    rlx_micro_reductions[RLX_KERNEL_REDUCE_COUNT][RLX_ELEM_COUNT] = {
        [RLX_KERNEL_REDUCE_ADD] = { [RLX_ELEM_F32] = reduce_add_f32,
                                    [RLX_ELEM_F64] = reduce_add_f64,
                                    [RLX_ELEM_I32] = reduce_add_u32,
                                    [RLX_ELEM_U32] = reduce_add_u32,
                                    [RLX_ELEM_I64] = reduce_add_u64,
                                    [RLX_ELEM_U64] = reduce_add_u64 },
        [RLX_KERNEL_REDUCE_MUL] = { [RLX_ELEM_F32] = reduce_mul_f32,
                                    [RLX_ELEM_F64] = reduce_mul_f64,
                                    [RLX_ELEM_I32] = reduce_mul_u32,
                                    [RLX_ELEM_U32] = reduce_mul_u32,
                                    [RLX_ELEM_I64] = reduce_mul_u64,
                                    [RLX_ELEM_U64] = reduce_mul_u64 },
        [RLX_KERNEL_REDUCE_MIN] = { [RLX_ELEM_F32] = reduce_min_f32,
                                    [RLX_ELEM_F64] = reduce_min_f64,
                                    [RLX_ELEM_I32] = reduce_min_i32,
                                    [RLX_ELEM_I64] = reduce_min_i64 },
        [RLX_KERNEL_REDUCE_MAX] = { [RLX_ELEM_F32] = reduce_max_f32,
                                    [RLX_ELEM_F64] = reduce_max_f64,
                                    [RLX_ELEM_I32] = reduce_max_i32,
                                    [RLX_ELEM_I64] = reduce_max_i64 },
    };
