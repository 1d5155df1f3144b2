/* contract_text.h: sums of products of one element type, written once and included by set_text.h for each type and
 * kind. Defined before: X, the elements (f32 ..), T, their type in C, KIND, which stands in the names, TILES and CASES of
 * set_text.h, NEXT(W, n), rows of the next tile where n are left, COMMON: whether the ways for windows and for few rows
 * are worth their code, and SUM(a, b, c): a * b + c of vectors.
 *
 * A tile is R rows and W vectors of columns, whose sums stay in registers while t and k run: each step loads W vectors of
 * b and spreads R elements of a over a vector.
 */
#define VEC OF(X, vec)
#define LANES OF(X, LANES)
/* Parts of vectors that are branches have no place in the loops of whole ones. */
#define WHOLE_TILES ((COMMON && !SET_SHORT_PARTS) || SET_LONG_PARTS)
#if COMMON && defined(SET_WIDE_TILES)
#define COLUMNS_DONE NAME(contract_turned)
#else
#define COLUMNS_DONE(r) 0
#endif
#if COMMON || SET_LONG_PARTS
#define DRIVER SET
#else
#define DRIVER SET RLX_SMALL /* what calls the tiles of a kind that is rare */
#endif
#if COMMON
#define ASKS uintptr_t soon = ask->at, step = (uintptr_t)ask->step;
#define ASK_FOR RLX_PREFETCH
#else
#define ASKS uintptr_t soon = 0, step = 0;
#define ASK_FOR(address) (void)0
#endif

/* Rows of a in groups of three, so that the address of each is a pointer and a stride at most; those of acc one after the
 * other. Fresh sums are loaded from zeros. */
#define TILE(R, W, part)                                                                           \
    SET static void NAME(tile_##R##x##W##part)(const rlx_micro_sum *r, int64_t row, int64_t column, const rlx_micro_ask *ask)\
    {                                                                                              \
        static const T zeros[W * LANES];                                                           \
        int64_t acc_i = r->acc_i, a_i = r->a_i, a_k = r->a_k, b_k = r->b_k,                        \
                a_next = r->a_t - r->depth * a_k, b_next = r->b_t - r->depth * b_k,                \
                in_i = r->fresh ? 0 : acc_i;                                                       \
        T *acc = (T *)r->acc + row * acc_i + column;                                               \
        const T *b = (const T *)r->b + column, *a[(R + 2) / 3], *in = r->fresh ? zeros : acc;      \
        TAIL##part(r->columns - column - (W - 1) * LANES)                                          \
        VEC s[R][W];                                                                               \
        ASKS                                                                                       \
        RLX_UNKNOWN_VALUE(a_i);                                                                    \
        RLX_UNKNOWN_VALUE(a_k);                                                                    \
        RLX_UNKNOWN_VALUE(b_k);                                                                    \
        RLX_UNROLL for (int i = 0; i < (R + 2) / 3; i++)                                           \
            a[i] = (const T *)r->a + (row + 3 * i) * a_i;                                          \
        RLX_UNROLL for (int i = 0; i < R; i++, in += in_i)                                         \
        {                                                                                          \
            RLX_UNKNOWN_VALUE(in);                                                                 \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                s[i][w] = LOAD##part(in, w, W);                                                    \
        }                                                                                          \
        for (int64_t t = r->turns; t > 0; t--, b += b_next) {                                      \
            for (int64_t k = r->depth; k > 0; k--, b += b_k, soon += step) {                       \
                VEC y[W];                                                                          \
                RLX_UNROLL for (int w = 0; w < W; w++)                                             \
                {                                                                                  \
                    y[w] = LOAD##part(b, w, W);                                                    \
                    ASK_FOR(soon + w * sizeof(VEC));                                               \
                }                                                                                  \
                RLX_UNROLL for (int i = 0; i < R; i++)                                             \
                {                                                                                  \
                    VEC x = OF(X, fill)(a[i / 3][i % 3 * a_i]);                                    \
                    RLX_UNROLL for (int w = 0; w < W; w++)                                         \
                        s[i][w] = SUM(x, y[w], s[i][w]);                                           \
                }                                                                                  \
                RLX_UNROLL for (int i = 0; i < (R + 2) / 3; i++) a[i] += a_k;                      \
            }                                                                                      \
            RLX_UNROLL for (int i = 0; i < (R + 2) / 3; i++) a[i] += a_next;                       \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++, acc += acc_i)                                       \
        {                                                                                          \
            RLX_UNKNOWN_VALUE(acc);                                                                \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                STORE##part(acc, w, W, s[i][w]);                                                   \
        }                                                                                          \
    }
#define TAIL(n)
#define LOAD(p, w, W) OF(X, load)((p) + (w) * LANES)
#define STORE(p, w, W, v) OF(X, store)((p) + (w) * LANES, v)
#define LOAD_part(p, w, W) \
    ((w) < (W)-1 ? OF(X, load)((p) + (w) * LANES) : OF(X, load_part)((p) + (w) * LANES, tail))
#define STORE_part(p, w, W, v)                          \
    ((w) < (W)-1 || IS_WHOLE ? OF(X, store)((p) + (w) * LANES, v) \
                             : OF(X, store_part)((p) + (w) * LANES, v, tail))
/* Some machines load parts of vectors as they load whole ones, but take long to store them. */
#if SET_SHORT_PARTS && !SET_MASKS
#define TAIL_part(n)                                                \
    const bool is_whole = (n) >= LANES;                             \
    OF(X, tail) tail = OF(X, first)(is_whole ? LANES : (n));        \
    (void)is_whole;
#define IS_WHOLE is_whole
#else
#define TAIL_part(n) OF(X, tail) tail = OF(X, first)((n) < LANES ? (n) : LANES);
#define IS_WHOLE 0
#endif

/* Steps ahead that panels of a are asked for: weights come from afar, and a prefetcher of the machine ends with each page. */
#ifndef RLX_MICRO_PREFETCHED
#define RLX_MICRO_PREFETCHED
enum { PREFETCHED = 256 };
#endif

/* The same, up to three steps at a time, as windows have them, for elements of a at addresses that take little to find: a panel of R rows, or up
 * to 14 rows any distance apart. What only counts and moves pointers takes room from products. */
#if COMMON && defined(LONG_TILES)
#define IN_PANEL_BEGIN(R, u)
#define IN_PANEL(R, i, u) a[0][(u) * (R) + (i)]
#define IN_PANEL_STEP(R, W, u, steps) \
    RLX_UNKNOWN_VALUE(a[0]);     \
    if ((u) == (steps)-1)        \
        RLX_PREFETCH((uintptr_t)a[0] + (PREFETCHED + (u)) * (R) * sizeof(T));
#define IN_PANEL_MOVE(R, n) a[0] += (n) * (R);
/* Half of the rows from one pointer on, half from another; addresses are a pointer and once, twice or four times a register: 1, 3 and 5 times the
 * distance of rows reach seven. That each is unknown again behind a step keeps the compiler from joining loads of several steps, for which
 * registers are lacking. */
#define IN_ROWS_BEGIN(R, u)
#define IN_ROWS(R, i, u)                                                                           \
    *(const T *)((const char *)a[(i) / ((R) / 2)] +                                                \
                 apart[rlx_row_from[(i) % ((R) / 2)].apart] * rlx_row_from[(i) % ((R) / 2)].times)
#define IN_ROWS_STEP(R, W, u, steps) \
    if ((W) > 1) /* else loads are what it waits for */ \
        RLX_PREFETCH(soon);      \
    if ((R) < 12)                \
        RLX_PREFETCH(soon + sizeof(VEC)); \
    soon += step;                \
    a[0] += a_k, a[1] += a_k;    \
    RLX_UNKNOWN_VALUE(a[0]);     \
    RLX_UNKNOWN_VALUE(a[1]);     \
    RLX_UNKNOWN_VALUE(apart[0]); \
    RLX_UNKNOWN_VALUE(apart[1]); \
    RLX_UNKNOWN_VALUE(apart[2]);
#define IN_ROWS_MOVE(R, n)
/* A panel of R rows as vectors, where an instruction multiplies by one lane: a quarter of the loads. */
#define IN_LANES_BEGIN(R, u)                                 \
    VEC lanes[(R) / LANES];                                  \
    RLX_UNROLL for (int l = 0; l < (R) / LANES; l++)         \
    {                                                        \
        lanes[l] = OF(X, load)(a[0] + (u) * (R) + l * LANES); \
        RLX_IN_REGISTER(lanes[l]); /* else it is loaded lane by lane */ \
    }
#define IN_LANES(R, i, u) lanes[(i) / LANES][(i) % LANES]
#define IN_LANES_STEP(R, W, u, steps) \
    RLX_PREFETCH(soon);               \
    soon += step;                     \
    if ((u) == (steps)-1)             \
        RLX_PREFETCH((uintptr_t)a[0] + PREFETCHED * (R) * sizeof(T));
#define IN_LANES_MOVE(R, n) a[0] += (n) * (R);
#if !defined(RLX_MICRO_ROW_FROM)
#define RLX_MICRO_ROW_FROM
static const struct { uint8_t apart, times; } rlx_row_from[] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 1 }, { 0, 4 }, { 2, 1 }, { 1, 2 } };
#endif
#define STEP_OF(R, W, part, way, u, steps)                                                            \
    {                                                                                              \
        VEC y[W];                                                                                  \
        RLX_UNROLL for (int w = 0; w < W; w++)                                                     \
            y[w] = LOAD##part(b, w, W);                                                            \
        way##_BEGIN(R, u)                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            VEC x = OF(X, fill)(way(R, i, u));                                                      \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                s[i][w] = SUM(x, y[w], s[i][w]);                                                   \
        }                                                                                          \
        b += b_k;                                                                                  \
        way##_STEP(R, W, u, steps)                                                                            \
    }
/* n rows: where they are fewer than R, those that both halves have come out the same twice. */
#define LONG_TILE(R, W, part, way, steps)                                                           \
    SET RLX_ON_LINE static void NAME(way##_##R##x##W##part)(const rlx_micro_sum *r, int64_t row, int64_t column, int64_t n, \
                                             const rlx_micro_ask *ask)                             \
    {                                                                                              \
        const int64_t acc_i = r->acc_i, a_i = r->a_i, a_k = r->a_k, b_k = r->b_k, depth = r->depth, \
                      a_next = r->a_t - depth * a_k, b_next = r->b_t - depth * b_k;    \
        ASKS                                                                                       \
        const int64_t second = rlx_micro_less(n, R) - R / 2;                                       \
        T *acc[2] = { (T *)r->acc + row * acc_i + column, (T *)r->acc + (row + second) * acc_i + column }; \
        const T *b = (const T *)r->b + column;                                                     \
        const T *a[2] = { (const T *)r->a + row * a_i, (const T *)r->a + (row + second) * a_i };   \
        int64_t apart[3] = { a_i * sizeof(T), 3 * a_i * sizeof(T), 5 * a_i * sizeof(T) };          \
        TAIL##part(r->columns - column - (W - 1) * LANES)                                          \
        VEC s[R][W];                                                                               \
        (void)apart, (void)soon, (void)step;                                                                  \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                s[i][w] = r->fresh ? (VEC){ 0 } : LOAD##part(acc[i / (R / 2)] + i % (R / 2) * acc_i, w, W); \
        }                                                                                          \
        for (int64_t t = r->turns; t > 0; t--, a[0] += a_next, a[1] += a_next, b += b_next) {      \
            int64_t k = depth;                                                                     \
            for (; steps > 1 && k >= steps; k -= steps) {                                          \
                STEP_OF(R, W, part, way, 0, steps)                                                      \
                STEP_OF(R, W, part, way, 1, steps)                                                      \
                if (steps > 2)                                                                     \
                    STEP_OF(R, W, part, way, 2, steps)                                                  \
                way##_MOVE(R, steps)                                                                \
            }                                                                                      \
            for (; k > 0; k--) {                                                                   \
                STEP_OF(R, W, part, way, 0, steps)                                                      \
                way##_MOVE(R, 1)                                                                    \
            }                                                                                      \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                STORE##part(acc[i / (R / 2)] + i % (R / 2) * acc_i, w, W, s[i][w]);                \
        }                                                                                          \
    }
#define LONG_CASE(R, W, part, way, holds)               \
    if (holds) {                                       \
        NAME(way##_##R##x##W##part)(r, row, column, n, ask); \
        return R;                                      \
    }
LONG_TILES
/* How many rows from that one on such tiles have done. */
SET static int64_t NAME(long_rows)(const rlx_micro_sum *r, int64_t row, int64_t column, const rlx_micro_ask *ask)
{
    int64_t n = r->rows - row, columns = r->columns - column;
    LONG_CASES
    return 0;
}
/* Of the next tile, n rows being left. */
#define HEIGHT(r, n) ((r)->a_k == RLX_PANEL_ROWS || !LONG_ROWS(n) ? NEXT(2, n) : LONG_ROWS(n))
#define LONG_DONE(column) \
    if ((n = NAME(long_rows)(r, i, column, &ask)) > 0) { \
        i += n; \
        continue; \
    }
#else
#define HEIGHT(r, n) NEXT(2, n)
#define LONG_DONE(column)
#endif

/* All rows of one or two vectors of columns; the next tile is the highest that NEXT(W, n) allows, n rows being left. */
#define ROWS(W, part)                                                                             \
    SET static void NAME(rows_##W##part)(const rlx_micro_sum *r, int64_t column, const rlx_micro_ask *first)\
    {                                                                                             \
        rlx_micro_ask ask = *first;                                                               \
        for (int64_t i = 0, n; (n = r->rows - i) > 0; ask.at += ask.tile) {                       \
            LONG_DONE(column)                                                                     \
            n = NEXT(W, r->rows - i);                                                             \
            CASES(W, part)                                                                        \
            NAME(tile_1x##W##part)(r, i++, column, &ask);                                         \
        }                                                                                         \
    }
#define CASE(R, W, part)                                 \
    if (n >= R) {                                        \
        NAME(tile_##R##x##W##part)(r, i, column, &ask);  \
        i += R;                                          \
        continue;                                        \
    }
#if COMMON && defined(SET_WIDE_TILES)
#include "micro/wide_text.h"
#else
#if WHOLE_TILES
TILES(2, )
ROWS(2, )
#endif
#if !SET_LONG_PARTS
TILES(2, _part)
ROWS(2, _part)
#endif
TILES(1, _part)
ROWS(1, _part)

/* acc, b contiguous in j, b the same for all rows, one element of a for all columns. shares (0: none): tiles that ask for as
 * many steps of b behind these. */
DRIVER static void NAME(contract_steps)(const rlx_micro_sum *r, int64_t shares)
{
    int64_t j = 0, n = r->columns, bytes = r->b_k * (int64_t)sizeof(T);
    uintptr_t b = (uintptr_t)r->b;
    rlx_micro_ask ask = { b + (uintptr_t)(bytes * AHEAD), bytes, 0 };
    if (shares)
        ask = (rlx_micro_ask){ b + (uintptr_t)(bytes * r->depth), bytes / shares, bytes * r->depth / shares };
    else if (r->soon)
        ask = (rlx_micro_ask){ r->soon, r->soon_step, 0 };
#if WHOLE_TILES
    for (; j + 2 * LANES <= n; j += 2 * LANES, ask.at += 2 * sizeof(VEC))
        NAME(rows_2)(r, j, &ask);
#endif
#if SET_LONG_PARTS
    for (; n > j; j += LANES, ask.at += sizeof(VEC))
        NAME(rows_1_part)(r, j, &ask);
#else
    for (; n - j > LANES; j += 2 * LANES, ask.at += 2 * sizeof(VEC))
        NAME(rows_2_part)(r, j, &ask);
    if (n > j)
        NAME(rows_1_part)(r, j, &ask);
#endif
}

/* Where some tiles read the same panel, which comes from afar, they do so in turns, and each asks for a share of the steps
 * of the next turn, or panel: none waits for memory alone. */
SET RLX_NOINLINE static void NAME(contract_tiles)(const rlx_micro_sum *r)
{
    int64_t tiles = 0;
    for (int64_t n = r->rows; COMMON && n > 0 && tiles <= MOST_SHARES; tiles++)
        n -= HEIGHT(r, n);
    if (tiles < 2 || tiles > MOST_SHARES || r->b_k != RLX_PANEL_COLUMNS || r->depth <= LEAST_SHARED) {
        NAME(contract_steps)(r, 0);
        return;
    }
    rlx_micro_sum part;
    rlx_micro_copy_sum(&part, r);
    const int64_t parts = (r->depth + SHARED_STEPS / 2) / SHARED_STEPS, steps = (r->depth + parts - 1) / parts;
    part.turns = 1;
    for (int64_t t = 0; t < r->turns; t++)
        for (int64_t k = 0; k < r->depth; k += part.depth) {
            part.a = (const T *)r->a + t * r->a_t + k * r->a_k;
            part.b = (const T *)r->b + t * r->b_t + k * r->b_k;
            part.depth = rlx_micro_less(r->depth - k, steps);
            part.fresh = r->fresh && t == 0 && k == 0;
            NAME(contract_steps)(&part, tiles);
        }
}
#endif

#if COMMON
/* Few rows, so many columns that b comes from afar: it is read in long runs, STEPS of k in turn, each run once; the sums
 * wait in memory meanwhile. */
enum { NAME(STEPS) = 8 };
SET static void NAME(contract_run)(const rlx_micro_sum *r, int64_t t)
{
    const T *a_t = (const T *)r->a + t * r->a_t, *b_t = (const T *)r->b + t * r->b_t;
    int64_t b_k = r->b_k, whole = r->columns / LANES * LANES;
    OF(X, tail) tail = OF(X, first)(whole < r->columns ? r->columns - whole : LANES);
    for (int64_t k = 0, n; k < r->depth; k += n) {
        n = r->depth - k < NAME(STEPS) ? 1 : NAME(STEPS);
        for (int64_t i = 0; i < r->rows; i++) {
            const T *a = a_t + i * r->a_i + k * r->a_k, *b = b_t + k * b_k;
            T *acc = (T *)r->acc + i * r->acc_i;
            bool fresh = r->fresh && t == 0 && k == 0;
            VEC x[NAME(STEPS)];
            for (int64_t m = 0; m < NAME(STEPS); m++)
                x[m] = OF(X, fill)(a[(m < n ? m : 0) * r->a_k]);
            int64_t j = 0;
            for (; j < whole && n == NAME(STEPS); j += LANES) {
                VEC s = fresh ? (VEC){ 0 } : OF(X, load)(acc + j);
                RLX_UNROLL for (int m = 0; m < NAME(STEPS); m++)
                    s = SUM(x[m], OF(X, load)(b + m * b_k + j), s);
                OF(X, store)(acc + j, s);
            }
            for (; j < whole; j += LANES)
                OF(X, store)(acc + j, SUM(x[0], OF(X, load)(b + j),
                                          fresh ? (VEC){ 0 } : OF(X, load)(acc + j)));
            if (j < r->columns) {
                VEC s = fresh ? (VEC){ 0 } : OF(X, load_part)(acc + j, tail);
                for (int64_t m = 0; m < n; m++)
                    s = SUM(x[m], OF(X, load_part)(b + m * b_k + j, tail), s);
                OF(X, store_part)(acc + j, s, tail);
            }
        }
    }
}

SET static void NAME(contract_runs)(const rlx_micro_sum *r)
{
    for (int64_t t = 0; t < r->turns; t++)
        NAME(contract_run)(r, t);
}

/* Two rows, or some where what they all read stays near; sums that are no more than a product, whose work is writing them. */
SET static bool NAME(is_for_runs)(const rlx_micro_sum *r)
{
    return r->columns >= 256 && (r->rows <= 2 || (r->rows <= 4 && r->columns <= 2048) ||
                                 (r->turns == 1 && r->depth <= 2));
}

#endif

/* Each row its own b, every one or every second element of it, and one element of a for all rows: the windows of one
 * channel. As many rows are side by side as hide how long a product takes, at acc_at and b_at. */
#define WINDOW(R, by, part, part_)                                                                 \
    SET static void NAME(window_##R##_##by##part)(const rlx_micro_sum *r, const T *a,              \
                                                  const int64_t *acc_at, const int64_t *b_at,      \
                                                  int64_t column)                                  \
    {                                                                                              \
        int64_t a_k = r->a_k, b_k = r->b_k, a_next = r->a_t - r->depth * a_k,                      \
                b_next = r->b_t - r->depth * b_k, n = rlx_micro_less(r->columns - column, LANES);  \
        OF(X, TAIL_##by) pair = OF(X, FIRST_##by)(n);                                              \
        TAIL_part(n)                                                                               \
        T *acc = (T *)r->acc + column;                                                             \
        const T *b = (const T *)r->b + column * STEP_##by;                                         \
        VEC s[R];                                                                                  \
        RLX_UNKNOWN_VALUE(a_k);                                                                    \
        RLX_UNKNOWN_VALUE(b_k);                                                                    \
        (void)pair, (void)tail;                                                                    \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
            s[i] = r->fresh ? (VEC){ 0 } : TURN_##by(X, LOAD##part(acc + acc_at[i], 0, 1));           \
        for (int64_t t = r->turns; t > 0; t--, a += a_next, b += b_next)                           \
            for (int64_t k = r->depth; k > 0; k--, a += a_k, b += b_k) {                           \
                VEC x = OF(X, fill)(*a);                                                           \
                RLX_UNROLL for (int i = 0; i < R; i++)                                             \
                    s[i] = SUM(x, GET##part_(by, b + b_at[i]), s[i]);                              \
            }                                                                                      \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
            STORE##part(acc + acc_at[i], 0, 1, TURN_##by(X, s[i]));                                   \
    }
#define GET(by, p) OF(X, GET_##by)(p)
#define GET_PART(by, p) OF(X, GET_PART_##by)(p, pair)
/* Where a part of a vector is many instructions, columns that are one are done a row at a time. */
#if COMMON && SET_MASKS
#define WINDOW_ROWS(by) WINDOW(4, by, _part, _PART)
#define WHOLE_WINDOW(by) window_4_##by##_part
#define PART_WINDOW(by) window_4_##by##_part
enum { NAME(WINDOW_ROWS) = 4 };
#elif COMMON && SET_FUSES
#define WINDOW_ROWS(by) WINDOW(4, by, , ) WINDOW(4, by, _part, _PART)
#define WHOLE_WINDOW(by) window_4_##by
#define PART_WINDOW(by) window_4_##by##_part
enum { NAME(WINDOW_ROWS) = 4 };
#else
#define WINDOW_ROWS(by) WINDOW(1, by, _part, _PART)
#define WHOLE_WINDOW(by) window_1_##by##_part
#define PART_WINDOW(by) window_1_##by##_part
enum { NAME(WINDOW_ROWS) = 1 };
#endif
/* Rows that the last ones lack are the last row again, whose sums then are the same. A whole vector needs elements up
 * to the last one that it loads. */
#define WINDOWS(by)                                                                                \
    WINDOW_ROWS(by)                                                                                \
    SET static void NAME(windows_##by)(const rlx_micro_sum *r)                                     \
    {                                                                                              \
        int64_t acc_at[NAME(WINDOW_ROWS)], b_at[NAME(WINDOW_ROWS)],                                \
            step = r->a_i ? 1 : NAME(WINDOW_ROWS);                                                 \
        for (int64_t i = 0; i < r->rows; i += step) {                                              \
            const T *a = (const T *)r->a + i * r->a_i;                                             \
            int64_t j = 0, last = r->a_i ? i : r->rows - 1;                                        \
            for (int n = 0; n < NAME(WINDOW_ROWS); n++) {                                          \
                acc_at[n] = rlx_micro_less(i + n, last) * r->acc_i;                                \
                b_at[n] = rlx_micro_less(i + n, last) * r->b_i;                                    \
            }                                                                                      \
            for (; r->columns - j >= LANES + STEP_##by - 1; j += LANES)                            \
                NAME(WHOLE_WINDOW(by))(r, a, acc_at, b_at, j);                                     \
            for (; j < r->columns; j += LANES)                                                     \
                NAME(PART_WINDOW(by))(r, a, acc_at, b_at, j);                                      \
        }                                                                                          \
    }
#if COMMON && !defined(SET_NARROW)
WINDOWS(two)
#endif
WINDOWS(one)

/* Windows one above the other whose turns are the rows below each other: a row of b is loaded once for all of the
 * R sums that it is part of, which wait in registers. Each of them still meets its turns in order. */
#if COMMON && SET_SHORT_PARTS
enum { NAME(WEIGHTS) = 8 };
/* Of so many steps. s[t]: the sum whose turn t a row of b is. */
#define DOWN(R, W, name, steps, LOOP, KEEP, WEIGHT)                                                \
    SET static void NAME(name)(const rlx_micro_sum *r, const T *a, int64_t column)                 \
    {                                                                                              \
        const int64_t depth = steps, acc_i = r->acc_i;                                             \
        TAIL_part(r->columns - column - (W - 1) * LANES)                                           \
        const T *b = (const T *)r->b + column;                                                     \
        T *acc = (T *)r->acc + column;                                                             \
        VEC s[R][W] = { { { 0 } } };                                                               \
        KEEP(R)                                                                                    \
        for (int64_t i = 1 - R; i < r->rows; i++, b += r->b_i) {                                   \
            LOOP for (int64_t k = 0; k < depth; k++)                                               \
            {                                                                                      \
                VEC y[W];                                                                          \
                RLX_UNROLL for (int w = 0; w < W; w++)                                             \
                    y[w] = LOAD_part(b + k, w, W);                                                 \
                RLX_UNROLL for (int t = 0; t < R; t++)                                             \
                {                                                                                  \
                    VEC x = WEIGHT(t, k);                                                          \
                    RLX_UNROLL for (int w = 0; w < W; w++)                                         \
                        s[t][w] = SUM(x, y[w], s[t][w]);                                           \
                }                                                                                  \
            }                                                                                      \
            RLX_UNROLL for (int w = 0; w < W && i >= 0; w++)                                       \
                STORE_part(acc, w, W, s[R - 1][w]);                                                \
            acc += i >= 0 ? acc_i : 0;                                                             \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
            {                                                                                      \
                RLX_UNROLL for (int t = R - 1; t > 0; t--)                                         \
                    s[t][w] = s[t - 1][w];                                                         \
                s[0][w] = (VEC){ 0 };                                                              \
            }                                                                                      \
        }                                                                                          \
    }
#define FROM_A(t, k) OF(X, fill)(a[(t) * NAME(WEIGHTS) + (k)])
#define KEEP_NONE(R)
DOWN(3, 1, down_3, r->depth, RLX_ROLLED, KEEP_NONE, FROM_A)
DOWN(5, 1, down_5, r->depth, RLX_ROLLED, KEEP_NONE, FROM_A)
DOWN(7, 1, down_7, r->depth, RLX_ROLLED, KEEP_NONE, FROM_A)
#if !SET_MASKS
DOWN(3, 2, down_3x2, r->depth, RLX_ROLLED, KEEP_NONE, FROM_A)
#endif
/* Most windows are as wide as they are high: weights are kept as vectors. */
#define KEPT(t, k) kept[t][k]
#define KEEP(R)                                                           \
    VEC kept[R][R];                                                       \
    RLX_UNROLL for (int t = 0; t < R; t++)                                \
        RLX_UNROLL for (int k = 0; k < R; k++) kept[t][k] = FROM_A(t, k);
DOWN(5, 1, square_5, 5, RLX_UNROLL, KEEP, KEPT)
#if !SET_MASKS /* those have 3x3 in a way of their own */
DOWN(3, 1, square_3, 3, RLX_UNROLL, KEEP, KEPT)
#endif

#if SET_MASKS
/* Three by three: all weights in registers, and four vectors of columns [column, column + n) at a time; of fewer columns two or four parts of
 * the rows, which may have rows in common. */
SET static void NAME(down_3x3)(const rlx_micro_sum *r, const T *a, int64_t column, int64_t n)
{
    enum { VECTORS = 4, SIDE = 3 };
    const int64_t wide = n <= LANES ? 1 : n <= 2 * LANES ? 2 : VECTORS, rows = (r->rows * wide + VECTORS - 1) / VECTORS,
                  b_i = r->b_i, acc_i = r->acc_i;
    const T *b[VECTORS];
    T *acc[VECTORS];
    OF(X, tail) tail[VECTORS];
    VEC x[SIDE][SIDE], s[SIDE - 1][VECTORS];
    RLX_UNROLL for (int w = 0; w < VECTORS; w++)
    {
        const int64_t first = rlx_micro_less(w / wide * rows, r->rows - rows), at = w % wide * LANES;
        b[w] = (const T *)r->b + first * b_i + column + at;
        acc[w] = (T *)r->acc + first * acc_i + column + at;
        tail[w] = OF(X, first)(n <= at ? 0 : rlx_micro_less(n - at, LANES));
        s[0][w] = s[1][w] = (VEC){ 0 };
    }
    RLX_UNROLL for (int t = 0; t < SIDE; t++)
        RLX_UNROLL for (int k = 0; k < SIDE; k++) x[t][k] = OF(X, fill)(a[t * NAME(WEIGHTS) + k]);
    for (int64_t i = 1 - SIDE; i < rows; i++)
        RLX_UNROLL for (int w = 0; w < VECTORS; w++)
        {
            VEC y[SIDE], begun = { 0 };
            RLX_UNROLL for (int k = 0; k < SIDE; k++) y[k] = OF(X, load_part)(b[w] + k, tail[w]);
            RLX_UNROLL for (int k = 0; k < SIDE; k++)
            {
                s[1][w] = SUM(x[2][k], y[k], s[1][w]);
                s[0][w] = SUM(x[1][k], y[k], s[0][w]);
                begun = SUM(x[0][k], y[k], begun);
            }
            if (i >= 0) {
                OF(X, store_part)(acc[w], s[1][w], tail[w]);
                acc[w] += acc_i;
            }
            s[1][w] = s[0][w];
            s[0][w] = begun;
            b[w] += b_i;
        }
}
#endif

SET static bool NAME(is_down)(const rlx_micro_sum *r)
{
    return r->fresh && r->acc_j == 1 && r->a_j == 0 && r->b_j == 1 && r->rows > 1 && r->columns > 1 &&
           r->a_i == 0 && r->b_i == r->b_t && r->depth <= NAME(WEIGHTS) && (r->b_k == 1 || r->depth == 1) &&
           (r->turns == 3 || r->turns == 5 || r->turns == 7);
}

SET static void NAME(windows_down)(const rlx_micro_sum *r)
{
    enum { FEW_ROWS_DOWN = 11 }; /* four parts of those of one vector have too many in common */
    T a[7 * NAME(WEIGHTS)];
#if defined(SET_NARROW)
    if (r->columns <= 8) {
        SET_NARROW(r);
        return;
    }
#endif
    for (int64_t t = 0; t < r->turns; t++)
        for (int64_t k = 0; k < r->depth; k++)
            a[t * NAME(WEIGHTS) + k] = ((const T *)r->a)[t * r->a_t + k * r->a_k];
    const bool square = r->depth == r->turns && r->rows > r->turns + 2; /* of fewer rows, weights cost more than they save */
    for (int64_t j = 0; j < r->columns; j += LANES)
        if (r->turns == 5)
            (square ? NAME(square_5) : NAME(down_5))(r, a, j);
        else if (r->turns == 7)
            NAME(down_7)(r, a, j);
#if SET_MASKS
        else if (r->depth == 3 && (r->columns - j > LANES || r->rows > FEW_ROWS_DOWN))
            NAME(down_3x3)(r, a, j, rlx_micro_less(r->columns - j, 4 * LANES)), j += 3 * LANES;
#else
        else if (r->columns - j > LANES)
            NAME(down_3x2)(r, a, j), j += LANES;
#endif
#if !SET_MASKS
        else if (square)
            NAME(square_3)(r, a, j);
#endif
        else
            NAME(down_3)(r, a, j);
}
#endif

#if COMMON
/* Panels side by side: the sums of one alone would wait for themselves. */
#if SET_PARTS
enum { NAME(BESIDE) = 2 };
SET static void NAME(panels_beside)(const rlx_micro_sum *r, int64_t i)
{
    enum { P = NAME(BESIDE), W = RLX_PANEL_COLUMNS / LANES };
    const T *a = r->a, *b[P];
    T *acc[P];
    VEC s[P][W];
    RLX_UNROLL for (int p = 0; p < P; p++)
    {
        acc[p] = (T *)r->acc + (i + p) * r->acc_i;
        b[p] = (const T *)r->b + (i + p) * r->b_i;
        RLX_UNROLL for (int w = 0; w < W; w++) s[p][w] = r->fresh ? (VEC){ 0 } : OF(X, load)(acc[p] + w * LANES);
    }
    for (int64_t t = 0; t < r->turns; t++) {
        const T *x = a + t * r->a_t;
        int64_t at = t * r->b_t;
        for (int64_t k = r->depth; k > 0; k--, x += r->a_k, at += RLX_PANEL_COLUMNS) {
            const VEC one = OF(X, fill)(*x);
            RLX_UNROLL for (int p = 0; p < P; p++)
            {
                RLX_PREFETCH((uintptr_t)(b[p] + at) + AHEAD * sizeof(VEC) * W);
                RLX_UNROLL for (int w = 0; w < W; w++) s[p][w] = SUM(one, OF(X, load)(b[p] + at + w * LANES), s[p][w]);
            }
        }
    }
    RLX_UNROLL for (int p = 0; p < P; p++)
        RLX_UNROLL for (int w = 0; w < W; w++) OF(X, store)(acc[p] + w * LANES, s[p][w]);
}
#endif

SET static void NAME(contract_panels)(const rlx_micro_sum *r)
{
    rlx_micro_sum panel;
    rlx_micro_copy_sum(&panel, r);
    panel.rows = 1, panel.b_i = 0;
    int64_t i = 0;
#if SET_PARTS
    for (; i + NAME(BESIDE) <= r->rows; i += NAME(BESIDE))
        NAME(panels_beside)(r, i);
#endif
    for (; i < r->rows; i++) {
        panel.acc = (T *)r->acc + i * r->acc_i;
        panel.b = (const T *)r->b + i * r->b_i;
        NAME(contract_tiles)(&panel);
    }
}
#endif

DRIVER static void NAME(contract)(const rlx_micro_sum *sum)
{
#if COMMON && SET_SHORT_PARTS
    if (NAME(is_down)(sum)) { /* one of many channels: straight as it is */
        NAME(windows_down)(sum);
        return;
    }
#endif
#if COMMON
    /* Panels of both sides are straight. A copy in vectors of what has just been written in words would wait for all stores before it. */
    if (sum->turns == 1 && sum->a_i == 1 && sum->a_k == RLX_PANEL_ROWS && sum->b_k == RLX_PANEL_COLUMNS && sum->acc_j == 1 &&
        sum->a_j == 0 && sum->b_i == 0 && sum->b_j == 1) {
        NAME(contract_tiles)(sum);
        return;
    }
#endif
    rlx_micro_sum straight, *r = &straight;
    rlx_micro_copy_sum(r, sum);
    rlx_micro_straighten(r, true);
    bool plain = r->acc_j == 1 && r->a_j == 0;
#if COMMON
    /* one row by panels that lie behind each other, which memory is best read in */
    if (plain && r->a_i == 0 && r->b_j == 1 && r->b_k == RLX_PANEL_COLUMNS && r->columns == RLX_PANEL_COLUMNS) {
        NAME(contract_panels)(r);
        return;
    }
#endif
#if COMMON && defined(SET_NARROW)
    if (plain && (r->b_j == 2 || (r->b_j == 1 && r->b_i && r->columns <= 8) || (r->b_j != 1 && r->b_k == 1 && r->rows <= 3))) {
        SET_NARROW(r);
        return;
    }
#endif
#if COMMON
    if (plain && r->b_i == 0 && r->b_j == 1 && NAME(is_for_runs)(r))
        NAME(contract_runs)(r);
#if !defined(SET_NARROW)
    else if (plain && r->b_j == 2)
        NAME(windows_two)(r);
#endif
    else
#endif
    if (plain && r->b_j == 1)
        r->b_i == 0 ? NAME(contract_tiles)(r) : NAME(windows_one)(r);
    else if (plain && r->b_i == 0)
        rlx_micro_gather_columns(r, sizeof(T), NAME(contract_tiles), COLUMNS_DONE(r));
    else
        OF(rlx_micro_contract_any, OF(X, KIND))(r);
}

#undef VEC
#undef LANES
#undef COLUMNS_DONE
#undef ASK_FOR
#undef ASKS
#undef NEXT
#undef TILE
#undef TAIL
#undef LOAD
#undef STORE
#undef TAIL_part
#undef LOAD_part
#undef STORE_part
#undef IS_WHOLE
#undef ROWS
#undef CASE
#undef DRIVER
#undef LONG_TILE
#undef LONG_CASE
#undef LONG_DONE
#undef HEIGHT
#undef STEP_OF
#undef WHOLE_TILES
#undef IN_PANEL
#undef IN_PANEL_BEGIN
#undef IN_PANEL_STEP
#undef IN_PANEL_MOVE
#undef IN_ROWS
#undef IN_ROWS_BEGIN
#undef IN_ROWS_STEP
#undef IN_ROWS_MOVE
#undef IN_LANES
#undef IN_LANES_BEGIN
#undef IN_LANES_STEP
#undef IN_LANES_MOVE
#undef DOWN
#undef FROM_A
#undef KEEP_NONE
#undef KEPT
#undef KEEP
#undef WINDOW
#undef WINDOWS
#undef WINDOW_ROWS
#undef WHOLE_WINDOW
#undef PART_WINDOW
#undef GET
#undef GET_PART
#undef COMMON
#undef TILES
#undef CASES
#undef X
#undef T
#undef KIND
#undef SUM
