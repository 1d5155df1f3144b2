/* reduce_text.h: a reduction by one operation, written once and included by set_text.h for each operation and element
 * type. Defined before: X, the elements, T, their type in C, KIND, the operation's name, JOIN(x, y) and JOIN_ONE(x, y), of
 * vectors and of elements, and ANY_ORDER: 1 if the order of k does not matter and x joined with x is x. SEES: 1 if NaN is
 * seen beside, and MORE(x, y) joins what is none; SEE(seen, y) sees it. SHARED, where there is one: what does windows of three
 * lines by three in place of this.
 */
#define VEC OF(X, vec)
#define LANES OF(X, LANES)

/* Where NaN is seen beside the sum: what is joined may be without it. Else these do nothing. */
#if SEES
#define SEEN OF(X, seen)
#define LOOK(s) OF(X, look)(s)
#define SETTLE(s, seen) OF(X, settle)(s, seen)
#else
#define MORE JOIN
#define SEEN char
#define LOOK(s) 0
#define SEE(seen, y) (seen)
#define SEE_BOTH(seen, y, z) (seen)
#define SETTLE(s, seen) (s)
#endif
#if defined(SELDOM)
#define LENDS 1
#else
#define LENDS 0
#endif
#define WINDOWS (SET_WINDOWS && COMMON)
#define TAKE(s, seen, y) (seen = SEE(seen, y), s = MORE(s, y))
#define TAKE_BOTH(s, seen, y, z) (seen = SEE_BOTH(seen, y, z), s = MORE(MORE(s, y), z))

/* Up to W vectors of columns stay in registers while t and k run; the last of them may be a part of one. Where columns may be
 * met twice, it is a whole one that begins earlier: the next row may begin where a part would end, and would wait for it. */
#define WHOLE(W) (ANY_ORDER && SET_SLOW_PARTS && W > 1)
#define ROW(W, by)                                                                           \
    SET static void NAME(row_##W##_##by)(const rlx_micro_sum *r, int64_t column)             \
    {                                                                                        \
        int64_t a_k = r->a_k, n = rlx_micro_less(r->columns - column - (W - 1) * LANES, LANES); \
        int64_t last = (W - 1) * LANES;                                                      \
        if (ANY_ORDER && column + last > 0)                                                  \
            last -= LANES - n, n = LANES;                                                    \
        OF(X, TAIL_##by) tail = OF(X, FIRST_##by)(n);                                        \
        OF(X, tail) end = OF(X, first)(n);                                                   \
        OF(X, pair) both = OF(X, first_both)(n);                                             \
        (void)both;                                                                          \
        RLX_UNKNOWN_VALUE(a_k);                                                              \
        for (int64_t i = 0; i < r->rows; i++) {                                              \
            T *acc = (T *)r->acc + i * r->acc_i + column;                                    \
            const T *row = (const T *)r->a + i * r->a_i + column * STEP_##by;                \
            VEC s[W];                                                                        \
            SEEN seen[W];                                                                    \
            RLX_UNROLL for (int w = 0; w < W - 1; w++) s[w] = OF(X, load)(acc + w * LANES);  \
            s[W - 1] = WHOLE(W) ? OF(X, load)(acc + last) : OF(X, load_part)(acc + last, end); \
            RLX_UNROLL for (int w = 0; w < W; w++) s[w] = TURN_##by(X, s[w]);                   \
            RLX_UNROLL for (int w = 0; w < W; w++) seen[w] = LOOK(s[w]);                     \
            for (int64_t t = 0; t < r->turns; t++, row += r->a_t) {                          \
                const T *a = row;                                                            \
                int64_t k = r->depth;                                                        \
                for (; PAIRS_##by && a_k == 1 && k > 1; k -= 2, a += 2)                      \
                    RLX_UNROLL for (int w = 0; w < W; w++)                                   \
                    {                                                                        \
                        VEC even, odd;                                                       \
                        if (WHOLE(W) || w < W - 1)                                           \
                            OF(X, both)(a + (w < W - 1 ? w * LANES : last) * STEP_##by, &even, &odd); \
                        else                                                                 \
                            OF(X, both_part)(a + last * STEP_##by, both, &even, &odd);       \
                        TAKE_BOTH(s[w], seen[w], even, odd);                                 \
                    }                                                                        \
                for (; k > 0; k--, a += a_k) {                                               \
                    RLX_UNROLL for (int w = 0; w < W - 1; w++)                               \
                    {                                                                        \
                        VEC y = OF(X, GET_##by)(a + w * LANES * STEP_##by);                  \
                        TAKE(s[w], seen[w], y);                                              \
                    }                                                                        \
                    VEC y = WHOLE(W) ? OF(X, GET_##by)(a + last * STEP_##by)                 \
                                     : OF(X, GET_PART_##by)(a + last * STEP_##by, tail);     \
                    TAKE(s[W - 1], seen[W - 1], y);                                          \
                }                                                                            \
            }                                                                                \
            RLX_UNROLL for (int w = 0; w < W; w++) s[w] = TURN_##by(X, SETTLE(s[w], seen[w]));  \
            RLX_UNROLL for (int w = 0; w < W - 1; w++) OF(X, store)(acc + w * LANES, s[w]);  \
            if (WHOLE(W))                                                                    \
                OF(X, store)(acc + last, s[W - 1]);                                          \
            else                                                                             \
                OF(X, store_end)(acc + last, s[W - 1], end, n);                              \
        }                                                                                    \
    }
/* Every second element is taken together with those between them, in whatever order; of steps that are an odd number one is taken twice. */
#define IN_PAIRS_one 0
#define IN_PAIRS_two PAIRS_two
/* A vector of columns of four rows, so that none waits for itself alone. The last row is done again where there are fewer: all are read before
 * one is written. */
#define ROW_BESIDE(by)                                                                             \
    SET static RLX_NOINLINE void NAME(row_1_##by)(const rlx_micro_sum *r, int64_t column)          \
    {                                                                                              \
        enum { W = 4 };                                                                            \
        const int64_t a_k = r->a_k, a_next = r->a_t - r->depth * a_k;                              \
        int64_t n = rlx_micro_less(r->columns - column, LANES);                                    \
        if (ANY_ORDER && column > 0) /* columns that are met twice */                              \
            column -= LANES - n, n = LANES;                                                        \
        const OF(X, TAIL_##by) tail = OF(X, FIRST_##by)(n);                                        \
        const OF(X, tail) end = OF(X, first)(n);                                                   \
        const OF(X, pair) both = OF(X, first_both)(n);                                             \
        (void)both, (void)tail, (void)a_next;                                                      \
        for (int64_t i = 0; i < r->rows; i += W) {                                                 \
            T *acc[W];                                                                             \
            const T *a[W];                                                                         \
            VEC s[W];                                                                              \
            SEEN seen[W];                                                                          \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
            {                                                                                      \
                const int64_t row = rlx_micro_less(i + w, r->rows - 1);                            \
                acc[w] = (T *)r->acc + row * r->acc_i + column;                                    \
                a[w] = (const T *)r->a + row * r->a_i + column * STEP_##by;                        \
                s[w] = TURN_##by(X, OF(X, load_part)(acc[w], end));                                \
                seen[w] = LOOK(s[w]);                                                              \
            }                                                                                      \
            for (int64_t t = r->turns, at = 0; t > 0; t--, at += IN_PAIRS_##by ? r->a_t : a_next)  \
                for (int64_t k = 0; k < r->depth; k += 1 + IN_PAIRS_##by, at += IN_PAIRS_##by ? 0 : a_k) \
                    RLX_UNROLL for (int w = 0; w < W; w++)                                         \
                    {                                                                              \
                        if (IN_PAIRS_##by) {                                                       \
                            VEC even, odd;                                                         \
                            OF(X, both_part)(a[w] + at + rlx_micro_less(k, r->depth - 2), both, &even, &odd); \
                            TAKE_BOTH(s[w], seen[w], even, odd);                                   \
                        } else {                                                                   \
                            VEC y = OF(X, GET_PART_##by)(a[w] + at, tail);                         \
                            TAKE(s[w], seen[w], y);                                                \
                        }                                                                          \
                    }                                                                              \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                OF(X, store_end)(acc[w], TURN_##by(X, SETTLE(s[w], seen[w])), end, n);             \
        }                                                                                          \
    }
#if COMMON && defined(SET_ROWS_BESIDE)
ROW_BESIDE(one)
ROW_BESIDE(two)
#else
ROW(1, one)
#if COMMON
ROW(1, two)
#endif
#endif
/* Columns are met twice rather than fewer side by side. */
#define AGAIN (ANY_ORDER && SET_SLOW_PARTS)
#define ROWS(W, by)                                               \
    ROW(W, by)                                                    \
    SET static void NAME(rows_##by)(const rlx_micro_sum *r)       \
    {                                                             \
        for (int64_t j = 0, n; (n = r->columns - j) > 0;) {       \
            if (AGAIN && n > LANES && n < W * LANES && j >= W * LANES) \
                j = r->columns - W * LANES, n = W * LANES;        \
            if (n > (W - 1) * LANES)                              \
                NAME(row_##W##_##by)(r, j), j += W * LANES;       \
            else                                                  \
                NAME(row_1_##by)(r, j), j += LANES;               \
        }                                                         \
    }
#if COMMON
ROWS(4, one)
#if defined(SET_ROWS_BESIDE) /* windows have rows: some of them, which stay near, at a time */
SET static void NAME(rows_two)(const rlx_micro_sum *sum)
{
    enum { NEAR = 8 };
    rlx_micro_sum part, *r = &part;
    rlx_micro_copy_sum(r, sum);
    RLX_ROLLED for (int64_t left = sum->rows; left > 0; left -= NEAR) {
        r->rows = rlx_micro_less(left, NEAR);
        for (int64_t j = 0; j < r->columns; j += LANES)
            NAME(row_1_two)(r, j);
        r->acc = (T *)r->acc + NEAR * r->acc_i;
        r->a = (const T *)r->a + NEAR * r->a_i;
    }
}
#else
ROWS(4, two)
#endif

/* So many columns that a comes from afar: read in long runs, some of k in turn; the sums wait in memory. */
SET static void NAME(reduce_runs)(const rlx_micro_sum *r)
{
    enum { STEPS = 4 };
    int64_t a_k = r->a_k;
#if ANY_ORDER /* some steps, and some columns, are met twice */
    if (r->depth < STEPS) {
        NAME(rows_one)(r);
        return;
    }
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t k = 0; k < r->depth; k += STEPS) {
            const T *a = (const T *)r->a + i * r->a_i + rlx_micro_less(k, r->depth - STEPS) * a_k;
            T *acc = (T *)r->acc + i * r->acc_i;
            for (int64_t j = 0; j < r->columns; j += LANES) {
                const int64_t at = rlx_micro_less(j, r->columns - LANES);
                VEC s = OF(X, load)(acc + at);
                SEEN seen = LOOK(s);
                RLX_UNROLL for (int m = 0; m < STEPS; m += 2)
                {
                    VEC y = OF(X, load)(a + m * a_k + at), z = OF(X, load)(a + (m + 1) * a_k + at);
                    TAKE_BOTH(s, seen, y, z);
                }
                OF(X, store)(acc + at, SETTLE(s, seen));
            }
        }
#else
    int64_t whole = r->columns / LANES * LANES;
    rlx_micro_sum end = *r;
    end.acc = (T *)r->acc + whole, end.a = (const T *)r->a + whole, end.columns -= whole;
    for (int64_t i = 0; i < r->rows; i++) {
        const T *a = (const T *)r->a + i * r->a_i;
        T *acc = (T *)r->acc + i * r->acc_i;
        int64_t k = 0;
        for (; k + STEPS <= r->depth; k += STEPS, a += STEPS * a_k)
            for (int64_t j = 0; j < whole; j += LANES) {
                VEC s = OF(X, load)(acc + j);
                RLX_UNROLL for (int m = 0; m < STEPS; m++) s =
                    JOIN(s, OF(X, load)(a + m * a_k + j));
                OF(X, store)(acc + j, s);
            }
        for (; k < r->depth; k++, a += a_k)
            for (int64_t j = 0; j < whole; j += LANES)
                OF(X, store)(acc + j, JOIN(OF(X, load)(acc + j), OF(X, load)(a + j)));
    }
    if (end.columns)
        NAME(rows_one)(&end);
#endif
}
#else
ROWS(2, one)
#endif

#if WINDOWS && ANY_ORDER
/* Windows of three lines by three steps, which share lines: the steps of a line are joined once, and stay in registers until the last window
 * has met them. Columns are done twice rather than be a part of a vector. */
SET static void NAME(windows)(const rlx_micro_sum *r, int64_t columns)
{
    const int64_t a_k = r->a_k;
    for (int64_t j = 0; j < columns; j += LANES) {
        const int64_t column = rlx_micro_less(j, columns - LANES);
        const T *a = (const T *)r->a + column;
        T *acc = (T *)r->acc + column;
        VEC line[3] = { { 0 } };
        for (int64_t i = r->rows, more = 3; i > 0; i--, more = 1, acc += r->acc_i) {
            for (; more > 0; more--, a += r->a_t) {
                VEC s = OF(X, load)(a), y = OF(X, load)(a + a_k), z = OF(X, load)(a + 2 * a_k);
                SEEN seen = LOOK(s);
                TAKE_BOTH(s, seen, y, z);
                line[0] = line[1], line[1] = line[2], line[2] = SETTLE(s, seen);
            }
            VEC s = OF(X, load)(acc);
            SEEN seen = LOOK(s);
            TAKE_BOTH(s, seen, line[0], line[1]);
            TAKE(s, seen, line[2]);
            OF(X, store)(acc, SETTLE(s, seen));
        }
    }
}
#elif WINDOWS
/* Likewise sums, each in its order: a line is met by the three sums that it is part of. In front of the first one, and behind the last, there
 * are two that are not kept. Two vectors side by side, which are done alike where they are the same. */
SET static void NAME(windows)(const rlx_micro_sum *r, int64_t columns)
{
    enum { W = 2 };
    const int64_t a_k = r->a_k;
    for (int64_t j = 0; j < columns; j += W * LANES) {
        const int64_t second = rlx_micro_less(LANES, columns - j - LANES);
        const T *a = (const T *)r->a + j;
        T *acc = (T *)r->acc + j;
        VEC s[W][3] = { { { 0 } } };
        for (int64_t i = 0; i < r->rows + 2; i++, a += r->a_t) {
            const T *begin = acc + rlx_micro_less(i, r->rows - 1) * r->acc_i;
            T *end = acc + (i - 2) * r->acc_i;
            RLX_UNROLL for (int w = 0; w < W; w++)
            {
                const int64_t at = w * second;
                VEC x = OF(X, load)(a + at), y = OF(X, load)(a + at + a_k), z = OF(X, load)(a + at + 2 * a_k);
                s[w][2] = OF(X, load)(begin + at);
                RLX_UNROLL for (int m = 0; m < 3; m++) s[w][m] = JOIN(JOIN(JOIN(s[w][m], x), y), z);
                if (i >= 2)
                    OF(X, store)(end + at, s[w][0]);
                s[w][0] = s[w][1], s[w][1] = s[w][2];
            }
        }
    }
}
#endif

/* What becomes one element is contiguous: several results side by side, joined at the end. What is seen beside them waits for less
 * than they do, and is one where it takes two registers. */
#if ANY_ORDER
#define RUN_SIDE 4
#define ONE_SEEN (SEES && !SET_MASKS)
#define UNSETTLED (SEES && SET_MASKS)
SET_INLINE void NAME(take_side)(VEC *s, SEEN *seen, const T *a)
{
    RLX_UNROLL for (int m = 0; m < RUN_SIDE; m += 2)
    {
        VEC y = OF(X, load)(a + m * LANES), z = OF(X, load)(a + (m + 1) * LANES);
        s[m] = MORE(s[m], y), s[m + 1] = MORE(s[m + 1], z);
        if (ONE_SEEN)
            seen[0] = SEE_BOTH(seen[0], y, z);
        else
            seen[m] = SEE(seen[m], y), seen[m + 1] = SEE(seen[m + 1], z);
    }
}

/* At least a vector of them; fewer where there are masks. */
SET static T NAME(reduce_run)(T x, const T *a, int64_t n)
{
    enum { SIDE = RUN_SIDE };
    VEC s[SIDE];
    SEEN seen[SIDE];
    int64_t k = SIDE * LANES;
    if (n < SIDE * LANES) {
#if SET_MASKS
        const OF(X, tail) there = OF(X, first)(rlx_micro_less(n, LANES));
        s[0] = OF(X, merge)(OF(X, fill)(x), OF(X, load_part)(a, there), there);
#else
        s[0] = OF(X, load)(a);
#endif
        seen[0] = LOOK(s[0]);
        for (k = LANES; k < n; k += LANES) { /* some are met twice */
            VEC y = OF(X, load)(a + rlx_micro_less(k, n - LANES));
            TAKE(s[0], seen[0], y);
        }
        if (!UNSETTLED)
            s[0] = SETTLE(s[0], seen[0]);
    } else {
        RLX_UNROLL for (int m = 0; m < SIDE; m++) s[m] = OF(X, load)(a + m * LANES);
        RLX_UNROLL for (int m = 0; m < SIDE; m++) seen[m] = LOOK(s[m]);
        RLX_UNROLL for (int m = 1; m < SIDE && ONE_SEEN; m++) seen[0] = SEE(seen[0], s[m]);
        for (; k + SIDE * LANES <= n; k += SIDE * LANES)
            NAME(take_side)(s, seen, a + k);
        if (k < n)
            NAME(take_side)(s, seen, a + n - SIDE * LANES);
#if UNSETTLED
        s[0] = MORE(MORE(s[0], s[1]), MORE(s[2], s[3]));
        seen[0] &= seen[1] & seen[2] & seen[3];
#else
        if (ONE_SEEN)
            s[0] = SETTLE(MORE(MORE(s[0], s[1]), MORE(s[2], s[3])), seen[0]);
        else {
            RLX_UNROLL for (int m = 0; m < SIDE; m++) s[m] = SETTLE(s[m], seen[m]);
            s[0] = JOIN(s[0], s[1]);
            s[2] = JOIN(s[2], s[3]);
            s[0] = JOIN(s[0], s[2]);
        }
#endif
    }
    (void)seen;
#if UNSETTLED /* NaN anywhere is NaN */
    const VEC own = OF(X, fill)(x);
    seen[0] = SEE(seen[0], own);
    s[0] = MORE(s[0], own);
    OF(X, fold)(s[0], MORE);
    s[0] = MORE(s[0], OF(X, fill)(s[0][1]));
    return seen[0] == (SEEN)-1 ? s[0][0] : (T)NAN;
#else
    OF(X, fold)(s[0], JOIN);
    x = JOIN_ONE(x, s[0][0]);
    return JOIN_ONE(x, s[0][1]);
#endif
}

SET static void NAME(reduce_along)(const rlx_micro_sum *r)
{
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++) {
            T *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j;
            *acc = NAME(reduce_run)(*acc, (const T *)r->a + i * r->a_i + j * r->a_j, r->depth);
        }
}
#endif

#if COMMON && !ANY_ORDER && SET_SHORT_PARTS
/* What becomes one element is contiguous, and its order matters: as many results side by side as a vector has lanes, some steps of each turned
 * at a time. Those that are left over are done singly. */
SET static void NAME(reduce_beside)(const rlx_micro_sum *r)
{
    enum { STEPS = 32 };
    T turned[STEPS * LANES], sums[LANES];
    int64_t j = 0, n;
    for (; j + LANES <= r->columns; j += LANES) {
        T *acc = (T *)r->acc + j * r->acc_j;
        const T *a = (const T *)r->a + j * r->a_j;
        RLX_ROLLED for (int64_t l = 0; l < LANES; l++) sums[l] = acc[l * r->acc_j];
        for (int64_t k = 0; k < r->depth; k += n) {
            n = rlx_micro_less(r->depth - k, STEPS);
            if (n < 4)
                RLX_ROLLED for (int64_t l = 0; l < n * LANES; l++) turned[l] = a[l % LANES * r->a_j + k + l / LANES];
            else
                transpose_words((uint32_t *)(void *)turned, LANES, (const uint32_t *)(const void *)(a + k), r->a_j, LANES, n);
            VEC s = OF(X, load)(sums);
            RLX_ROLLED for (int64_t m = 0; m < n; m++) s = JOIN(s, OF(X, load)(turned + m * LANES));
            OF(X, store)(sums, s);
        }
        RLX_ROLLED for (int64_t l = 0; l < LANES; l++) acc[l * r->acc_j] = sums[l];
    }
    rlx_micro_sum rest = *r;
    rest.columns -= j;
    rest.acc = (T *)r->acc + j * r->acc_j, rest.a = (const T *)r->a + j * r->a_j;
    if (rest.columns)
        NAME(rlx_micro_reduce_any)(&rest);
}
#endif

/* One turn. */
SET static void NAME(reduce_turn)(const rlx_micro_sum *r)
{
#if ANY_ORDER
    if (r->a_k == 1 && (r->a_j != 1 || r->columns == 1) && r->depth >= (SET_MASKS ? LANES / 4 : LANES)) {
        NAME(reduce_along)(r);
        return;
    }
#endif
#if COMMON
    if (r->acc_j == 1 && r->a_j == 1 && r->columns >= 256) {
        NAME(reduce_runs)(r);
        return;
    }
#endif
#if COMMON && !ANY_ORDER && SET_SHORT_PARTS
    if (r->a_k == 1 && r->depth >= 8 && (r->columns >= LANES || (r->columns == 1 && r->rows >= LANES))) {
        rlx_micro_sum beside = *r;
        if (r->columns == 1) {
            beside.rows = 1, beside.columns = r->rows;
            beside.acc_j = r->acc_i, beside.a_j = r->a_i;
        }
        const int64_t rows = beside.rows;
        beside.rows = 1;
        for (int64_t i = 0; i < rows; i++, beside.acc = (T *)beside.acc + r->acc_i, beside.a = (const T *)beside.a + r->a_i)
            NAME(reduce_beside)(&beside);
        return;
    }
#endif
    NAME(rlx_micro_reduce_any)(r);
}

SET static void NAME(reduce)(const rlx_micro_sum *sum)
{
    rlx_micro_sum straight, *r = &straight;
    rlx_micro_copy_sum(r, sum);
    rlx_micro_straighten(r, false);
#if defined(SHARED)
    if (rlx_micro_shared_columns(r, LANES / 2, ANY_ORDER)) {
        SHARED(sum);
        return;
    }
#endif
    bool beside = r->acc_j == 1 && r->columns > 1, far = (COMMON || LENDS) && r->columns >= 256;
#if WINDOWS
    const int64_t shared = rlx_micro_shared_columns(r, LANES, ANY_ORDER);
    if (shared) {
        NAME(windows)(r, shared);
        r->columns -= shared;
        if (ANY_ORDER || !r->columns)
            return;
        r->acc = (T *)r->acc + shared, r->a = (const T *)r->a + shared;
    }
#endif
    if (beside && r->a_j == 1 && !far) {
        NAME(rows_one)(r);
        return;
    }
#if COMMON
#if defined(SET_ROWS_BESIDE)
    if (beside && r->a_j == 2 && PAIRS_two && (r->depth < 2 || r->a_k != 1)) {
        SET_LENDER.reduce[RLX_KERNEL_REDUCE_MAX][RLX_ELEM_F32](sum);
        return;
    }
#endif
    if (beside && r->a_j == 2) {
        NAME(rows_two)(r);
        return;
    }
#elif defined(SELDOM)
    if (beside && (r->a_j == 2 || (r->a_j == 1 && far))) {
        SELDOM(r);
        return;
    }
#endif
    int64_t turns = r->turns;
    for (r->turns = 1; turns > 0; turns--, r->a = (const T *)r->a + r->a_t)
        NAME(reduce_turn)(r);
}

#undef VEC
#undef LANES
#undef ROW
#undef ROW_BESIDE
#undef ROWS
#undef WHOLE
#undef AGAIN
#undef JOIN
#undef JOIN_ONE
#undef KIND
#undef ANY_ORDER
#undef SEES
#undef SEEN
#undef LOOK
#undef SEE
#undef SETTLE
#undef MORE
#undef TAKE
#undef RUN_SIDE
#undef ONE_SEEN
#undef UNSETTLED
#undef TAKE_BOTH
#undef SEE_BOTH
#undef LENDS
#undef WINDOWS
#undef SHARED
