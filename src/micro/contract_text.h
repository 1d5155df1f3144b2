/* contract_text.h: sums of products of one element type, written once and included by contract_set.h for each type and
 * kind. Defined before: X, the elements (f32 ..), T, their type in C, KIND, which stands in the names, and
 * SUM(a, b, c), SUM_ONE(a, b, c): a * b + c of vectors and of elements.
 *
 * A tile is R rows and W vectors of columns, whose sums stay in registers while k runs: each step loads W vectors of b
 * and spreads R elements of a over a vector.
 */
#define VEC OF(X, vec)
#define LANES OF(X, LANES)

/* Rows of a in groups of three, so that the address of each is a pointer and a stride at most. */
#define TILE(R, W, part)                                                                           \
    SET static void NAME(tile_##R##x##W##part)(const rlx_micro_sum *r, int64_t row, int64_t column)  \
    {                                                                                              \
        int64_t acc_i = r->acc_i, a_i = r->a_i, a_k = r->a_k, b_k = r->b_k;                         \
        T *acc = (T *)r->acc + row * acc_i + column;                                               \
        const T *b = (const T *)r->b + column, *a[(R + 2) / 3];                                    \
        TAIL##part(r->columns - column - (W - 1) * LANES)                                          \
        VEC s[R][W];                                                                               \
        for (int i = 0; i < (R + 2) / 3; i++)                                                      \
            a[i] = (const T *)r->a + (row + 3 * i) * a_i;                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            for (int w = 0; w < W; w++)                                                            \
                s[i][w] = LOAD##part(acc + i * acc_i, w, W);                                       \
        }                                                                                          \
        for (int64_t k = r->depth; k > 0; k--, b += b_k) {                                         \
            VEC y[W];                                                                              \
            for (int w = 0; w < W; w++)                                                            \
                y[w] = LOAD##part(b, w, W);                                                        \
            RLX_UNROLL for (int i = 0; i < R; i++)                                                 \
            {                                                                                      \
                VEC x = OF(X, fill)(a[i / 3][i % 3 * a_i]);                                        \
                for (int w = 0; w < W; w++)                                                        \
                    s[i][w] = SUM(x, y[w], s[i][w]);                                               \
            }                                                                                      \
            RLX_UNROLL for (int i = 0; i < (R + 2) / 3; i++) a[i] += a_k;                          \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            for (int w = 0; w < W; w++)                                                            \
                STORE##part(acc + i * acc_i, w, W, s[i][w]);                                       \
        }                                                                                          \
    }
#define TAIL(n)
#define LOAD(p, w, W) OF(X, load)((p) + (w) * LANES)
#define STORE(p, w, W, v) OF(X, store)((p) + (w) * LANES, v)
#define TAIL_part(n) OF(X, tail) tail = OF(X, first)(n);
#define LOAD_part(p, w, W) \
    ((w) < (W)-1 ? OF(X, load)((p) + (w) * LANES) : OF(X, load_part)((p) + (w) * LANES, tail))
#define STORE_part(p, w, W, v)                          \
    ((w) < (W)-1 ? OF(X, store)((p) + (w) * LANES, v) \
                 : OF(X, store_part)((p) + (w) * LANES, v, tail))

/* All rows of one or two vectors of columns: the highest tiles that fit. */
#define ROWS(W, part)                                                                         \
    SET static void NAME(rows_##W##part)(const rlx_micro_sum *r, int64_t column)              \
    {                                                                                         \
        for (int64_t i = 0, n; (n = r->rows - i) > 0;) {                                      \
            CASES(W, part)                                                                    \
            NAME(tile_1x##W##part)(r, i++, column);                                           \
        }                                                                                     \
    }
#define CASE(R, W, part)                            \
    if (n >= R FITS(R)) {                           \
        NAME(tile_##R##x##W##part)(r, i, column);   \
        i += R;                                     \
        continue;                                   \
    }
TILES(2, )
TILES(2, _part)
TILES(1, _part)
ROWS(2, )
ROWS(2, _part)
ROWS(1, _part)

/* acc, b contiguous in j, b the same for all rows, one element of a for all columns. */
SET static void NAME(contract_tiles)(const rlx_micro_sum *r)
{
    int64_t j = 0, n = r->columns;
    for (; j + 2 * LANES <= n; j += 2 * LANES)
        NAME(rows_2)(r, j);
    if (n - j > LANES)
        NAME(rows_2_part)(r, j);
    else if (n > j)
        NAME(rows_1_part)(r, j);
}

SET static void NAME(contract_any)(const rlx_micro_sum *r)
{
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < r->columns; j++) {
            T *acc = (T *)r->acc + i * r->acc_i + j * r->acc_j, s = *acc;
            const T *a = (const T *)r->a + i * r->a_i + j * r->a_j,
                    *b = (const T *)r->b + i * r->b_i + j * r->b_j;
            for (int64_t k = 0; k < r->depth; k++)
                s = SUM_ONE(a[k * r->a_k], b[k * r->b_k], s);
            *acc = s;
        }
}

SET static void NAME(contract)(const rlx_micro_sum *r)
{
    if (r->acc_j == 1 && r->a_j == 0 && r->b_j == 1 && (r->b_i == 0 || r->rows == 1))
        NAME(contract_tiles)(r);
    else
        NAME(contract_any)(r);
}

#undef VEC
#undef LANES
#undef TILE
#undef TAIL
#undef LOAD
#undef STORE
#undef TAIL_part
#undef LOAD_part
#undef STORE_part
#undef ROWS
#undef CASE
#undef X
#undef T
#undef KIND
#undef SUM
#undef SUM_ONE
