/* wide_text.h: tiles that are as many rows and vectors as sums find registers, included by contract_text.h for the products that a
 * set with SET_WIDE_TILES is fast at. Rows may come from several panels: the one behind row 7 of a panel is row 0 of the
 * next, so that no tile is lower because a panel ends.
 */

/* What a tile asks for before others read it: memory from `at` on, `step` bytes further with each step. */
typedef void NAME(wide_fn)(const rlx_micro_sum *r, int64_t a_panel, int64_t row, uintptr_t soon, int64_t step);

/* Each vector of b stays in its register while it is multiplied with all rows. Rows of a have a pointer each, or (POINTERS < R, in
 * one panel) a pointer and a stride for three of them. */
#define WIDE_TILE(R, W, part)                                                                  \
    SET static void NAME(wide_##R##x##W##part)(const rlx_micro_sum *r, int64_t a_panel, int64_t row, uintptr_t soon, int64_t step)\
    {                                                                                              \
        const int64_t acc_i = r->acc_i, a_i = r->a_i, a_k = r->a_k, b_k = r->b_k,                  \
                      a_next = r->a_t - r->depth * a_k, b_next = r->b_t - r->depth * b_k;          \
        int64_t apart[R];                                                                   \
        T *acc = (T *)r->acc + row * acc_i;                                                        \
        const T *b = (const T *)r->b, *a = (const T *)r->a + (row >> 3) * a_panel + (row & 7) * a_i;   \
        TAIL##part(r->columns - (W - 1) * LANES)                                                    \
        VEC s[R][W];                                                                               \
        RLX_UNROLL for (int i = 1; i < R; i++)                                              \
        {                                                                                          \
            const int64_t of = (row & 7) + i;                                               \
            apart[i] = (of >> 3) * a_panel + ((of & 7) - (row & 7)) * a_i;                         \
            RLX_UNKNOWN_VALUE(apart[i]);                                                           \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                s[i][w] = r->fresh ? (VEC){ 0 } : LOAD##part(acc + i * acc_i, w, W);                \
        }                                                                                          \
        for (int64_t t = r->turns; t > 0; t--, b += b_next, a += a_next) {                                      \
            for (int64_t k = r->depth; k > 0; k--, b += b_k, a += a_k, soon += (uintptr_t)step) { \
                VEC x[R > W ? 1 : R], y[R > W ? W : 1];                                            \
                RLX_PREFETCH(soon); \
                if (W > 2 && R < 3)                                                                         \
                    RLX_PREFETCH(soon + 2 * sizeof(VEC)); \
                RLX_UNROLL for (int i = 0; R <= W && i < R; i++)                                   \
                    x[i % COUNT(x)] = OF(X, fill)(a[i ? apart[i] : 0]);                    \
                RLX_UNROLL for (int w = 0; w < W; w++)                                             \
                {                                                                                  \
                    y[w % COUNT(y)] = LOAD##part(b, w, W);                                          \
                    RLX_IN_REGISTER(y[w % COUNT(y)]);                                              \
                    RLX_UNROLL for (int i = 0; R <= W && i < R; i++)                               \
                        s[i][w] = SUM(x[i % COUNT(x)], y[0], s[i][w]);                             \
                }                                                                                  \
                RLX_UNROLL for (int i = 0; R > W && i < R; i++)                                    \
                {                                                                                  \
                    x[0] = OF(X, fill)(a[i ? apart[i] : 0]);                               \
                    RLX_UNROLL for (int w = 0; w < W; w++)                                         \
                        s[i][w] = SUM(x[0], y[w % COUNT(y)], s[i][w]);                             \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++, acc += acc_i)                                       \
        {                                                                                          \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                STORE##part(acc, w, W, s[i][w]);                                                    \
        }                                                                                          \
    }
#define COUNT(x) (int)(sizeof(x) / sizeof(x)[0])
WIDE_TILE(3, 4, )
WIDE_TILE(3, 4, _part)
WIDE_TILE(2, 4, _part)
WIDE_TILE(1, 4, _part)
WIDE_TILE(4, 3, _part)
WIDE_TILE(1, 3, _part)
WIDE_TILE(6, 2, _part)
WIDE_TILE(4, 2, _part)
WIDE_TILE(2, 2, _part)
WIDE_TILE(1, 2, _part)
WIDE_TILE(8, 1, _part)
WIDE_TILE(4, 1, _part)
WIDE_TILE(1, 1, _part)
#undef WIDE_TILE
#undef COUNT

/* Rows of the next tile where at most so many are left, by vectors of columns: as few tiles as there can be, all about as high. */
enum { NAME(MOST_WIDE) = 4, NAME(HIGHEST) = 8, NAME(MOST_LEFT) = 12, WIDE = NAME(MOST_WIDE) * LANES, WIDE_STEPS = 192 };
static const uint8_t NAME(wide_heights)[NAME(MOST_WIDE)][NAME(MOST_LEFT) + 1] = {
    { 0, 1, 1, 1, 4, 4, 4, 4, 8, 8, 8, 8, 8 },
    { 0, 1, 2, 2, 4, 4, 6, 6, 4, 4, 6, 6, 6 },
    { 0, 1, 1, 1, 4, 4, 4, 4, 4, 4, 4, 4, 4 },
    { 0, 1, 2, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3 },
};
static NAME(wide_fn) *const NAME(wide_tiles)[NAME(MOST_WIDE)][NAME(HIGHEST) + 1] = {
    { [8] = NAME(wide_8x1_part), [4] = NAME(wide_4x1_part), [1] = NAME(wide_1x1_part) },
    { [6] = NAME(wide_6x2_part), [4] = NAME(wide_4x2_part), [2] = NAME(wide_2x2_part), [1] = NAME(wide_1x2_part) },
    { [4] = NAME(wide_4x3_part), [1] = NAME(wide_1x3_part) },
    { [3] = NAME(wide_3x4_part), [2] = NAME(wide_2x4_part), [1] = NAME(wide_1x4_part) },
};

/* Some steps of up to four vectors of columns. What comes from afar is asked for while what is near is computed with: steps of panels of
 * rows, from the same ones of the next panel; else steps of b, of which each tile asks for its share of those behind these. */
SET static void NAME(wide_steps)(const rlx_micro_sum *r, int64_t a_panel, int64_t tiles)
{
    const int64_t w = (r->columns - 1) / LANES, bytes = r->b_k * (int64_t)sizeof(T);
    const bool panels = r->rows > 2 * RLX_PANEL_ROWS && r->a_i == 1;
    uintptr_t soon = (uintptr_t)r->b + (uintptr_t)(bytes * (tiles > 1 ? r->depth : AHEAD));
    for (int64_t i = 0, height; i < r->rows; i += height) {
        height = NAME(wide_heights)[w][rlx_micro_less(r->rows - i, NAME(MOST_LEFT))];
        int64_t step = panels ? height * (int64_t)sizeof(T) : bytes / tiles;
        if (panels)
            soon = (uintptr_t)r->a + (uintptr_t)(((i / RLX_PANEL_ROWS + 1) * a_panel + i % RLX_PANEL_ROWS * r->depth) * (int64_t)sizeof(T));
        (height == 3 && r->columns == WIDE ? NAME(wide_3x4) : NAME(wide_tiles)[w][height])(r, a_panel, i, soon, step);
        soon += (uintptr_t)(step * r->depth);
    }
}

/* acc, b contiguous in j, b the same for all rows, one element of a for all columns; a_panel: from 8 rows of a to the next 8.
 * Tiles take the same few steps in turn, so that those of b are near. */
SET static void NAME(contract_wide)(const rlx_micro_sum *r, int64_t a_panel)
{
    for (int64_t j = 0; j < r->columns; j += WIDE) {
        rlx_micro_sum part = *r;
        part.columns = rlx_micro_less(r->columns - j, WIDE);
        int64_t tiles = 0, w = (part.columns - 1) / LANES;
        for (int64_t n = r->rows; n > 0; tiles++)
            n -= NAME(wide_heights)[w][rlx_micro_less(n, NAME(MOST_LEFT))];
        const int64_t most = r->b_k < WIDE ? 2 * WIDE_STEPS : WIDE_STEPS; /* steps that overlap are nearer */
        const bool all = tiles == 1 || r->turns * r->depth <= most;
        const int64_t pieces = (r->depth + most - 1) / most, depth = all ? r->depth : (r->depth + pieces - 1) / pieces,
                      turns = all ? r->turns : most / depth;
        for (int64_t t = 0; t < r->turns; t += turns)
            for (int64_t k = 0; k < r->depth; k += depth) {
                part.acc = (T *)r->acc + j;
                part.a = (const T *)r->a + t * r->a_t + k * r->a_k;
                part.b = (const T *)r->b + j + t * r->b_t + k * r->b_k;
                part.turns = rlx_micro_less(r->turns - t, turns);
                part.depth = rlx_micro_less(r->depth - k, depth);
                part.fresh = r->fresh && t == 0 && k == 0;
                NAME(wide_steps)(&part, a_panel, tiles);
            }
    }
}

SET static void NAME(contract_tiles)(const rlx_micro_sum *r) { NAME(contract_wide)(r, RLX_PANEL_ROWS * r->a_i); }

/* Groups that are panels of rows, one below the other. */
SET static bool NAME(contract_row_panels)(const rlx_micro_sum *sum, const rlx_micro_groups *g)
{
    rlx_micro_sum r = *sum;
    if (r.rows != RLX_PANEL_ROWS || r.a_i != 1 || r.a_j || r.acc_j != 1 || g->acc != RLX_PANEL_ROWS * r.acc_i || r.b_i || g->b ||
        (r.b_j != 1 && r.columns > 1))
        return false;
    r.rows *= g->count;
    NAME(contract_wide)(&r, g->a);
    return true;
}
