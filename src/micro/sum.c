/* sum.c: what the sums of all sets share; of any strides, which is not the fast way of anything. */
/* built for size */
#include <string.h>

#include "base/base.h"
#include "format/kernel_math.h"
#include "micro/micro_int.h"

static void swap(int64_t *a, int64_t *b)
{
    int64_t t = *a;
    *a = *b, *b = t;
}

void rlx_micro_copy_sum(rlx_micro_sum *to, const rlx_micro_sum *from)
{
    enum { WORDS = offsetof(rlx_micro_sum, fresh) / sizeof(int64_t) };
    RLX_ROLLED for (size_t i = 0; i < WORDS; i++)
    {
        int64_t word;
        memcpy(&word, (const char *)from + i * sizeof word, sizeof word);
        RLX_UNKNOWN_VALUE(word); /* keeps the loop from becoming a copy by vectors */
        memcpy((char *)to + i * sizeof word, &word, sizeof word);
    }
    to->fresh = from->fresh, to->a_signed = from->a_signed, to->b_signed = from->b_signed, to->b_fours = from->b_fours;
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
        swap(&r->a_t, &r->b_t);
    }
}

/* ---- sums of products of any strides --------------------------------------------------------- */

#define CONTRACT(X, T, kind, CLONES, SUM)                                                              \
    CLONES static void contract_any_##X##_##kind(const rlx_micro_sum *r)                               \
    {                                                                                                  \
        for (int64_t i = 0; i < r->rows; i++)                                                          \
            for (int64_t j = 0; j < r->columns; j++) {                                                 \
                T *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j, s = r->fresh ? 0 : *acc;           \
                const T *a = (const T *)r->a + i * r->a_i + j * r->a_j,                                \
                        *b = (const T *)r->b + i * r->b_i + j * r->b_j;                                \
                for (int64_t t = 0; t < r->turns; t++, a += r->a_t, b += r->b_t)                       \
                    for (int64_t k = 0; k < r->depth; k++)                                             \
                        s = SUM(a[k * r->a_k], b[k * r->b_k], s);                                      \
                *acc = s;                                                                              \
            }                                                                                          \
    }                                                                                                  \
    void rlx_micro_contract_any_##X##_##kind(const rlx_micro_sum *r) { contract_any_##X##_##kind(r); }
#define ROUNDED(a, b, c) ((a) * (b) + (c))
CONTRACT(f32, float, exact, RLX_CLONES_FMA, RLX_FMA_F32)
CONTRACT(f64, double, exact, RLX_CLONES_FMA, RLX_FMA_F64)
CONTRACT(f32, float, rounded, , ROUNDED)
CONTRACT(f64, double, rounded, , ROUNDED)
CONTRACT(u32, uint32_t, wraps, , ROUNDED)
CONTRACT(u64, uint64_t, wraps, , ROUNDED)

/* ---- columns that are not contiguous ---------------------------------------------------------- */

enum { GATHERED = 64 }; /* steps */

static void sum_gathered(const rlx_micro_sum *r, size_t bytes, rlx_micro_sum_fn *tiles, const int64_t *at)
{
    uint64_t panel[GATHERED * RLX_PANEL_COLUMNS]; /* of the widest elements */
    const int64_t j = at[0], t = at[1], k = at[2], size = (int64_t)bytes;
    rlx_micro_sum part = *r;
    part.columns = rlx_micro_less(r->columns - j, RLX_PANEL_COLUMNS);
    part.depth = rlx_micro_less(r->depth - k, GATHERED);
    part.turns = 1;
    part.fresh = r->fresh && t == 0 && k == 0;
    part.acc = (char *)r->acc + j * size;
    part.a = (const char *)r->a + (t * r->a_t + k * r->a_k) * size;
    enum rlx_kernel_elem e = bytes == 4 ? RLX_ELEM_U32 : RLX_ELEM_U64;
    rlx_micro_packs[e][e](&(rlx_micro_pack){ .dst = panel,
                                             .src = (const char *)r->b + (j * r->b_j + t * r->b_t + k * r->b_k) * size,
                                             .lanes = part.columns,
                                             .width = part.columns,
                                             .lane_stride = { 0, r->b_j },
                                             .depth = { 1, 1, part.depth },
                                             .depth_stride = { 0, 0, r->b_k },
                                             .panel = RLX_PANEL_COLUMNS });
    part.b = panel, part.b_j = 1, part.b_k = RLX_PANEL_COLUMNS;
    tiles(&part);
}

void rlx_micro_gather_columns(const rlx_micro_sum *r, size_t bytes, rlx_micro_sum_fn *tiles, int64_t from)
{
    for (int64_t j = from; j < r->columns; j += RLX_PANEL_COLUMNS)
        for (int64_t t = 0; t < r->turns; t++)
            for (int64_t k = 0; k < r->depth; k += GATHERED)
                sum_gathered(r, bytes, tiles, (int64_t[3]){ j, t, k });
}

/* ---- reductions of any strides --------------------------------------------------------------- */

int64_t rlx_micro_shared_columns(const rlx_micro_sum *r, int64_t lanes, bool any_order)
{
    const int64_t rest = any_order ? 0 : r->columns % (2 * lanes);
    if (r->acc_j != 1 || r->a_j != 1 || r->turns != 3 || r->depth != 3 || r->a_i != r->a_t || r->columns < lanes)
        return 0;
    return rest < lanes ? r->columns - rest : r->columns;
}

/* Some columns side by side, so that one does not wait for the other. */
#define ANY(X, T, op, JOIN_ONE)                                                              \
    void rlx_micro_reduce_any_##X##_##op(const rlx_micro_sum *sum)                           \
    {                                                                                        \
        enum { SIDE = 4 };                                                                   \
        rlx_micro_sum turned = *sum, *r = &turned;                                           \
        if (r->columns == 1) {                                                               \
            swap(&r->rows, &r->columns);                                                     \
            r->acc_j = r->acc_i, r->a_j = r->a_i;                                            \
        }                                                                                    \
        for (int64_t i = 0; i < r->rows; i++)                                                \
            for (int64_t j = 0, n; j < r->columns; j += n) {                                 \
                T *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j, s[SIDE];                 \
                const T *a = (const T *)r->a + i * r->a_i + j * r->a_j;                      \
                n = r->columns - j < SIDE || HAS_RUN_##X##_##op(r) ? 1 : SIDE;               \
                for (int64_t c = 0; c < n; c++)                                              \
                    s[c] = acc[c * r->acc_j];                                                \
                for (int64_t t = 0; HAS_RUN_##X##_##op(r) && t < r->turns; t++)              \
                    s[0] = RUN_##X##_##op(s[0], a + t * r->a_t, r->depth);                   \
                for (int64_t t = HAS_RUN_##X##_##op(r) ? r->turns : 0; t < r->turns; t++, a += r->a_t - r->depth * r->a_k) \
                    for (int64_t k = 0; k < r->depth; k++, a += r->a_k)                      \
                        if (n == SIDE)                                                       \
                            RLX_UNROLL for (int c = 0; c < SIDE; c++) s[c] =                 \
                                JOIN_ONE(s[c], a[c * r->a_j]);                               \
                        else                                                                 \
                            s[0] = JOIN_ONE(s[0], *a);                                       \
                for (int64_t c = 0; c < n; c++)                                              \
                    acc[c * r->acc_j] = s[c];                                                \
            }                                                                                \
    }
/* Integers in runs, whose order is free: row.c. */
#define IS_RUN(r) ((r)->a_k == 1 && (r)->depth >= 16)
#define NO_RUN(x, a, n) (x)
#define HAS_RUN_u32_add(r) IS_RUN(r)
#define HAS_RUN_u32_min(r) IS_RUN(r)
#define HAS_RUN_u32_max(r) IS_RUN(r)
#define HAS_RUN_u64_add(r) IS_RUN(r)
#define RUN_u32_add rlx_micro_run_u32_add
#define RUN_u32_min rlx_micro_run_u32_min
#define RUN_u32_max rlx_micro_run_u32_max
#define RUN_u64_add rlx_micro_run_u64_add
#define HAS_RUN_u32_mul(r) false
#define RUN_u32_mul NO_RUN
#define HAS_RUN_u64_mul(r) false
#define RUN_u64_mul NO_RUN
#define HAS_RUN_u64_min(r) false
#define RUN_u64_min NO_RUN
#define HAS_RUN_u64_max(r) false
#define RUN_u64_max NO_RUN
#define HAS_RUN_f32_add(r) false
#define RUN_f32_add NO_RUN
#define HAS_RUN_f32_mul(r) false
#define RUN_f32_mul NO_RUN
#define HAS_RUN_f32_min(r) false
#define RUN_f32_min NO_RUN
#define HAS_RUN_f32_max(r) false
#define RUN_f32_max NO_RUN
#define HAS_RUN_f64_add(r) false
#define RUN_f64_add NO_RUN
#define HAS_RUN_f64_mul(r) false
#define RUN_f64_mul NO_RUN
#define HAS_RUN_f64_min(r) false
#define RUN_f64_min NO_RUN
#define HAS_RUN_f64_max(r) false
#define RUN_f64_max NO_RUN
#define SUM_ONE(x, y) ((x) + (y))
#define PRODUCT_ONE(x, y) ((x) * (y))
#define LEAST_32(x, y) ((int32_t)(x) < (int32_t)(y) ? (x) : (y))
#define GREATEST_32(x, y) ((int32_t)(x) > (int32_t)(y) ? (x) : (y))
#define LEAST_64(x, y) ((int64_t)(x) < (int64_t)(y) ? (x) : (y))
#define GREATEST_64(x, y) ((int64_t)(x) > (int64_t)(y) ? (x) : (y))
#define ALL_ANY(X, T, LEAST, GREATEST)  \
    ANY(X, T, add, SUM_ONE)             \
    ANY(X, T, mul, PRODUCT_ONE)         \
    ANY(X, T, min, LEAST)               \
    ANY(X, T, max, GREATEST)
ALL_ANY(f32, float, rlx_min_f32, rlx_max_f32)
ALL_ANY(f64, double, rlx_min_f64, rlx_max_f64)
ALL_ANY(u32, uint32_t, LEAST_32, GREATEST_32)
ALL_ANY(u64, uint64_t, LEAST_64, GREATEST_64)

/* ---- partial sums of any strides ------------------------------------------------------------- */

#define PARTIAL(X, T, value, VALUE)                                                          \
    void rlx_micro_partial_any_##X##_##value(const rlx_micro_partial *r)                     \
    {                                                                                        \
        for (int64_t i = 0; i < r->rows; i++)                                                \
            for (int64_t j = 0; j < r->columns; j++) {                                       \
                T p[RLX_PARTIAL_SUMS], *kept = r->partial ? (T *)r->partial + j : NULL,      \
                  *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j;                          \
                for (int l = 0; l < RLX_PARTIAL_SUMS; l++)                                   \
                    p[l] = kept ? kept[l * r->columns] : 0;                                  \
                for (int64_t t = 0; t < r->turns; t++)                                       \
                    for (int64_t k = 0; k < r->depth; k++)                                   \
                        p[k % RLX_PARTIAL_SUMS] += VALUE(T);                                 \
                for (int l = 0; l < RLX_PARTIAL_SUMS && !r->ends; l++)                       \
                    kept[l * r->columns] = p[l];                                             \
                for (int w = RLX_PARTIAL_SUMS / 2; w > 1 && r->ends; w /= 2)                 \
                    for (int l = 0; l < w; l++)                                              \
                        p[l] += p[l + w];                                                    \
                if (r->ends)                                                                 \
                    *acc = *acc + p[0] + p[1];                                               \
            }                                                                                \
    }
#define ELEMENT(T, x) ((const T *)r->x)[i * r->x##_i + j * r->x##_j + t * r->x##_t + k * r->x##_k]
#define ELEMENT_A(T) ELEMENT(T, a)
#define SQUARE(T) (ELEMENT(T, a) - ELEMENT(T, b)) * (ELEMENT(T, a) - ELEMENT(T, b))
PARTIAL(f32, float, elements, ELEMENT_A)
PARTIAL(f64, double, elements, ELEMENT_A)
PARTIAL(f32, float, squares, SQUARE)
PARTIAL(f64, double, squares, SQUARE)

/* Columns side by side: so many at a time, so that each row of a block is read once, in a piece of some lines, while its partial sums stay
 * near. Those are whole vectors of any set; partial sums that no element goes to are not there. */
enum { BESIDE = 128, WHOLE = 16 };
static void sum_columns(const rlx_micro_partial *r, rlx_micro_turn_fn *add_turn, float *acc, const float *a, float *kept, int64_t n)
{
    _Alignas(64) float p[RLX_PARTIAL_SUMS * BESIDE], sum[BESIDE];
    const int64_t used = rlx_micro_less(kept ? RLX_PARTIAL_SUMS : r->depth, RLX_PARTIAL_SUMS), p_k = (n + WHOLE - 1) & -WHOLE;
    const size_t row = (size_t)n * sizeof *p;
    memset(p, 0, kept ? (size_t)(RLX_PARTIAL_SUMS * p_k) * sizeof *p : 0);
    for (int64_t l = 0; l < RLX_PARTIAL_SUMS && kept; l++)
        memcpy(p + l * p_k, kept + l * r->columns, row);
    for (int64_t t = 0; t < r->turns; t++)
        add_turn(p, p_k, a + t * r->a_t, r->a_k, r->depth, kept || t ? used : 0, n);
    for (int64_t l = 0; l < RLX_PARTIAL_SUMS && !r->ends; l++)
        memcpy(kept + l * r->columns, p + l * p_k, row);
    if (!r->ends)
        return;
    for (int64_t w = RLX_PARTIAL_SUMS / 2; w > 1; w /= 2)
        if (w < used)
            add_turn(p, p_k, p + w * p_k, p_k, rlx_micro_less(used - w, w), w, n);
    memset(sum + p_k - WHOLE, 0, WHOLE * sizeof *sum);
    memcpy(sum, acc, row);
    for (int64_t l = 0; l < 2 && l < used; l++)
        add_turn(sum, 0, p + l * p_k, 0, 1, 1, n);
    memcpy(acc, sum, row);
}

void rlx_micro_partial_columns(const rlx_micro_partial *r, rlx_micro_turn_fn *add_turn)
{
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j += BESIDE)
            sum_columns(r, add_turn, (float *)r->acc + i * r->acc_i + j, (const float *)r->a + i * r->a_i + j,
                        r->partial ? (float *)r->partial + j : NULL, rlx_micro_less(r->columns - j, BESIDE));
}

/* ---- rows that are normalized, of any strides ------------------------------------------------ */

bool rlx_micro_is_alike(const rlx_micro_normalize *z)
{
    enum { SHORT = 256 };
    const float *r = z->side[3], *a = z->side[6];
    const bool adds = z->more && z->stride[6][1] == 1, nothing = !z->stride[6][0] && !z->stride[6][1] && *a == 0 && signbit(*a);
    bool alike = z->rows > 1 && (z->columns <= SHORT || z->stride[2][1]) && z->stride[0][1] == 1 && z->stride[1][1] == 1 && *r == 1 &&
                 (adds || nothing || !z->more);
    for (int k = 2; k < 6; k++)
        alike &= !z->stride[k][0] && (z->stride[k][1] == 0 || (z->stride[k][1] == 1 && k != 3));
    return alike;
}

void rlx_micro_normalize_end(const rlx_micro_normalize *z, int64_t from)
{
    for (int64_t i = 0; i < z->rows; i++)
        for (int64_t j = from; j < z->columns; j++) {
            float *at[RLX_NORMALIZE_SIDES];
            for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
                at[k] = (float *)z->side[k] + i * z->stride[k][0] + j * z->stride[k][1];
            float v = (*at[1] - *at[2]) * *at[3] * *at[4] + *at[5];
            *at[0] = z->more ? rlx_min_f32(rlx_max_f32(v + *at[6], z->low), z->high) : v;
        }
}
