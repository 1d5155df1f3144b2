/* sum.c: contractions and reductions in plain C and short vectors. */
/* built for speed */
#include <math.h>

#include "format/kernel_math.h"
#include "micro/micro_int.h"

/* ---- fused reductions -----------------------------------------------------------------------
 * Each sum keeps its written order: k ascending, product rounded, then sum rounded. Speed comes
 * from doing several sums side by side: blocks of rows x columns live in registers while k runs.
 */

/* acc[i, j] += a[i, j, k] * b[i, j, k], any strides: four columns at a time. */
#define CONTRACT_ANY(name, T)                                                              \
    static void contract_any_##name(const rlx_micro_sum *r)                                \
    {                                                                                      \
        for (int64_t i = 0; i < r->rows; i++) {                                            \
            T *acc = (T *)r->acc + i * r->acc_i;                                           \
            const T *a = (const T *)r->a + i * r->a_i, *b = (const T *)r->b + i * r->b_i;  \
            int64_t j = 0;                                                                 \
            for (; j + 4 <= r->columns; j += 4) {                                          \
                const T *p = a + j * r->a_j, *q = b + j * r->b_j;                          \
                T *c = acc + j * r->acc_j;                                                 \
                T s0 = c[0], s1 = c[r->acc_j], s2 = c[2 * r->acc_j], s3 = c[3 * r->acc_j]; \
                for (int64_t k = 0; k < r->depth; k++, p += r->a_k, q += r->b_k) {         \
                    s0 += p[0] * q[0];                                                     \
                    s1 += p[r->a_j] * q[r->b_j];                                           \
                    s2 += p[2 * r->a_j] * q[2 * r->b_j];                                   \
                    s3 += p[3 * r->a_j] * q[3 * r->b_j];                                   \
                }                                                                          \
                c[0] = s0, c[r->acc_j] = s1, c[2 * r->acc_j] = s2, c[3 * r->acc_j] = s3;   \
            }                                                                              \
            for (; j < r->columns; j++) {                                                  \
                const T *p = a + j * r->a_j, *q = b + j * r->b_j;                          \
                T s = acc[j * r->acc_j];                                                   \
                for (int64_t k = 0; k < r->depth; k++)                                     \
                    s += p[k * r->a_k] * q[k * r->b_k];                                    \
                acc[j * r->acc_j] = s;                                                     \
            }                                                                              \
        }                                                                                  \
    }
CONTRACT_ANY(f32, float)
CONTRACT_ANY(f64, double)
CONTRACT_ANY(u32, uint32_t)
CONTRACT_ANY(u64, uint64_t)

/* One scalar of a for all columns, acc and b contiguous in j, b the same for all rows: a matrix
 * product. A block of R rows and W vectors of columns. */
#define BLOCK(name, T, V, R, W)                                                                   \
    RLX_ALWAYS_INLINE void block_##name##_##R##x##W(T *acc, int64_t acc_i, const T *a,            \
                                                    int64_t a_i, int64_t a_k, const T *b,         \
                                                    int64_t b_k, int64_t depth)                   \
    {                                                                                             \
        enum { LANES = sizeof(V) / sizeof(T) };                                                   \
        V s[R][W];                                                                                \
        for (int i = 0; i < R; i++)                                                               \
            for (int w = 0; w < W; w++)                                                           \
                s[i][w] = *(const V *)(acc + i * acc_i + w * LANES);                              \
        for (int64_t k = 0; k < depth; k++, a += a_k, b += b_k) {                                 \
            for (int w = 0; w < W; w++) {                                                         \
                V y = *(const V *)(b + w * LANES);                                                \
                for (int i = 0; i < R; i++)                                                       \
                    s[i][w] += a[i * a_i] * y;                                                    \
            }                                                                                     \
        }                                                                                         \
        for (int i = 0; i < R; i++)                                                               \
            for (int w = 0; w < W; w++)                                                           \
                *(V *)(acc + i * acc_i + w * LANES) = s[i][w];                                    \
    }
/* R rows, all columns: wide blocks, single vectors, single columns. */
#define ROWS(name, T, V, R, W)                                                                    \
    BLOCK(name, T, V, R, W)                                                                       \
    RLX_ALWAYS_INLINE void rows_##name##_##R(const rlx_micro_sum *r, int64_t row)                 \
    {                                                                                             \
        enum { LANES = sizeof(V) / sizeof(T) };                                                   \
        T *acc = (T *)r->acc + row * r->acc_i;                                                    \
        const T *a = (const T *)r->a + row * r->a_i, *b = r->b;                                   \
        int64_t j = 0;                                                                            \
        for (; j + W * LANES <= r->columns; j += W * LANES)                                       \
            block_##name##_##R##x##W(acc + j, r->acc_i, a, r->a_i, r->a_k, b + j, r->b_k,         \
                                     r->depth);                                                   \
        for (; W > 1 && j + LANES <= r->columns; j += LANES)                                      \
            block_##name##_##R##x1(acc + j, r->acc_i, a, r->a_i, r->a_k, b + j, r->b_k,           \
                                   r->depth);                                                     \
        for (; j < r->columns; j++)                                                               \
            column_##T##_##R(acc + j, r->acc_i, a, r->a_i, r->a_k, b + j, r->b_k, r->depth);      \
    }
#define COLUMN(T, R)                                                                              \
    RLX_ALWAYS_INLINE void column_##T##_##R(T *acc, int64_t acc_i, const T *a, int64_t a_i,       \
                                            int64_t a_k, const T *b, int64_t b_k,                 \
                                            int64_t depth)                                        \
    {                                                                                             \
        T s[R];                                                                                   \
        for (int i = 0; i < R; i++)                                                               \
            s[i] = acc[i * acc_i];                                                                \
        for (int64_t k = 0; k < depth; k++, a += a_k, b += b_k)                                   \
            for (int i = 0; i < R; i++)                                                           \
                s[i] += a[i * a_i] * *b;                                                          \
        for (int i = 0; i < R; i++)                                                               \
            acc[i * acc_i] = s[i];                                                                \
    }
typedef RLX_VECTOR(float, 16) f32x4;
typedef RLX_VECTOR(float, 32) f32x8;
typedef RLX_VECTOR(double, 16) f64x2;
typedef RLX_VECTOR(double, 32) f64x4;
COLUMN(float, 4)
COLUMN(float, 1) COLUMN(double, 4) COLUMN(double, 1)
/* Eight vectors of sums each: what fits 16 registers beside their operands. */
#define CONTRACT_ROWS(name, T, V, attribute)                           \
    BLOCK(name, T, V, 4, 1) BLOCK(name, T, V, 1, 1)                    \
    ROWS(name, T, V, 4, 2) ROWS(name, T, V, 1, 8)                      \
    attribute static void contract_rows_##name(const rlx_micro_sum *r) \
    {                                                                  \
        int64_t i = 0;                                                 \
        for (; i + 4 <= r->rows; i += 4)                               \
            rows_##name##_4(r, i);                                     \
        for (; i < r->rows; i++)                                       \
            rows_##name##_1(r, i);                                     \
    }
    CONTRACT_ROWS(f32, float, f32x4, ) CONTRACT_ROWS(f32_wide, float, f32x8, RLX_WIDE)
        CONTRACT_ROWS(f64, double, f64x2, ) CONTRACT_ROWS(f64_wide, double, f64x4, RLX_WIDE)
#define CONTRACT(name)                                                                    \
    static void contract_##name(const rlx_micro_sum *r)                                   \
    {                                                                                     \
        if (r->acc_j != 1 || r->a_j != 0 || r->b_j != 1 || (r->b_i != 0 && r->rows != 1)) \
            contract_any_##name(r);                                                       \
        else if (RLX_HAS_WIDE())                                                          \
            contract_rows_##name##_wide(r);                                               \
        else                                                                              \
            contract_rows_##name(r);                                                      \
    }
            CONTRACT(f32) CONTRACT(f64)

/* Products that are not rounded. */
#define CONTRACT_EXACT(name, T, fma)                                                      \
    static void contract_exact_##name(const rlx_micro_sum *r)                             \
    {                                                                                     \
        for (int64_t i = 0; i < r->rows; i++)                                             \
            for (int64_t j = 0; j < r->columns; j++) {                                    \
                T *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j, s = *acc;             \
                const T *a = (const T *)r->a + i * r->a_i + j * r->a_j,                   \
                        *b = (const T *)r->b + i * r->b_i + j * r->b_j;                   \
                for (int64_t k = 0; k < r->depth; k++)                                    \
                    s = fma(a[k * r->a_k], b[k * r->b_k], s);                             \
                *acc = s;                                                                 \
            }                                                                             \
    }
CONTRACT_EXACT(f32, float, fmaf)
CONTRACT_EXACT(f64, double, fma)

rlx_micro_sum_fn *const rlx_micro_contractions[2][RLX_ELEM_COUNT] = {
    {
        [RLX_ELEM_F32] = contract_f32,
        [RLX_ELEM_F64] = contract_f64,
        [RLX_ELEM_I32] = contract_any_u32,
        [RLX_ELEM_U32] = contract_any_u32,
        [RLX_ELEM_I64] = contract_any_u64,
        [RLX_ELEM_U64] = contract_any_u64,
    },
    { [RLX_ELEM_F32] = contract_exact_f32, [RLX_ELEM_F64] = contract_exact_f64 },
};

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
