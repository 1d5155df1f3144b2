/* wide_text.h: tiles that are as many rows and vectors as sums find registers, included by contract_text.h for the products that a
 * set with SET_WIDE_TILES is fast at. Rows may come from several panels: the one behind row 7 of a panel is row 0 of the
 * next, so that no tile is lower because a panel ends.
 */

/* Where rows lie behind a and acc, of whole panels at a time. Those that the last tile has more than there are are the last one again, whose sums then are the same. */
enum { NAME(HIGHEST) = 8, NAME(MOST_ROWS) = 240 };
typedef struct NAME(wide_row) { int64_t a, acc; } NAME(wide_row);

/* A tile from these rows on; what it asks for before others read it: memory from `soon` on, `step` bytes further with each step. */
typedef void NAME(wide_fn)(const rlx_micro_sum *r, const NAME(wide_row) *rows, uintptr_t soon, int64_t step);

/* Each vector of b stays in its register while it is multiplied with all rows. */
#define WIDE_TILE(R, W, part)                                                                      \
    SET static void NAME(wide_##R##x##W##part)(const rlx_micro_sum *r, const NAME(wide_row) *rows, uintptr_t soon, int64_t step) \
    {                                                                                              \
        static const T zeros[W * LANES];                                                           \
        const int64_t a_k = r->a_k, b_k = r->b_k, there = r->fresh ? 0 : -1,                       \
                      a_next = r->a_t - r->depth * a_k, b_next = r->b_t - r->depth * b_k;          \
        int64_t apart[R];                                                                          \
        T *acc = r->acc;                                                                           \
        const T *in = r->fresh ? zeros : acc, *a = (const T *)r->a + rows->a, *b = r->b;           \
        TAIL##part(r->columns - (W - 1) * LANES)                                                   \
        VEC s[R][W];                                                                               \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            apart[i] = rows[i].a - rows->a;                                                        \
            RLX_UNKNOWN_VALUE(apart[i]);                                                           \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                s[i][w] = LOAD##part(in + (rows[i].acc & there), w, W);                            \
        }                                                                                          \
        for (int64_t t = r->turns; t > 0; t--, b += b_next, a += a_next) {                         \
            for (int64_t k = r->depth; k > 0; k--, b += b_k, a += a_k, soon += (uintptr_t)step) {  \
                VEC x[R > W ? 1 : R], y[R > W ? W : 1];                                            \
                RLX_PREFETCH(soon);                                                                \
                if (W > 2 && R < 3)                                                                \
                    RLX_PREFETCH(soon + 2 * sizeof(VEC));                                          \
                RLX_UNROLL for (int i = 0; R <= W && i < R; i++)                                   \
                    x[i % COUNT(x)] = OF(X, fill)(a[i ? apart[i] : 0]);                            \
                RLX_UNROLL for (int w = 0; w < W; w++)                                             \
                {                                                                                  \
                    y[w % COUNT(y)] = LOAD##part(b, w, W);                                         \
                    RLX_IN_REGISTER(y[w % COUNT(y)]);                                              \
                    RLX_UNROLL for (int i = 0; R <= W && i < R; i++)                               \
                        s[i][w] = SUM(x[i % COUNT(x)], y[0], s[i][w]);                             \
                }                                                                                  \
                RLX_UNROLL for (int i = 0; R > W && i < R; i++)                                    \
                {                                                                                  \
                    x[0] = OF(X, fill)(a[i ? apart[i] : 0]);                                       \
                    RLX_UNROLL for (int w = 0; w < W; w++)                                         \
                        s[i][w] = SUM(x[0], y[w % COUNT(y)], s[i][w]);                             \
                }                                                                                  \
            }                                                                                      \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            RLX_UNROLL for (int w = 0; w < W; w++)                                                 \
                STORE##part(acc + rows[i].acc, w, W, s[i][w]);                                     \
        }                                                                                          \
    }
#define COUNT(x) (int)(sizeof(x) / sizeof(x)[0])
WIDE_TILE(3, 4, )
WIDE_TILE(3, 4, _part)
WIDE_TILE(2, 4, _part)
WIDE_TILE(1, 4, _part)
WIDE_TILE(4, 3, _part)
WIDE_TILE(6, 2, _part)
WIDE_TILE(4, 2, _part)
WIDE_TILE(8, 1, _part)
#undef WIDE_TILE
#undef COUNT

/* Rows of the next tile where at most so many are left, by vectors of columns: as few tiles as there can be, all about as high. */
enum { NAME(MOST_WIDE) = 4, NAME(MOST_LEFT) = 12, WIDE = NAME(MOST_WIDE) * LANES, WIDE_STEPS = 192 };
static const uint8_t NAME(wide_heights)[NAME(MOST_WIDE)][NAME(MOST_LEFT) + 1] = {
    { 0, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8 },
    { 0, 4, 4, 4, 4, 6, 6, 4, 4, 6, 6, 6, 6 },
    { 0, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4 },
    { 0, 1, 2, 3, 2, 3, 3, 3, 3, 3, 3, 3, 3 },
};
static NAME(wide_fn) *const NAME(wide_tiles)[NAME(MOST_WIDE)][NAME(HIGHEST) + 1] = {
    { [8] = NAME(wide_8x1_part) },
    { [6] = NAME(wide_6x2_part), [4] = NAME(wide_4x2_part) },
    { [4] = NAME(wide_4x3_part) },
    { [3] = NAME(wide_3x4_part), [2] = NAME(wide_2x4_part), [1] = NAME(wide_1x4_part) },
};

/* Few columns of whole panels of rows, which are the lanes of a vector each: a part of a vector of columns would cost as much as a whole one. */
_Static_assert((int)LANES == (int)RLX_PANEL_ROWS, "a step of a panel of rows is a vector");
enum { FEW_PANELS = 4, FEW_COLUMNS = 2 };
/* Up to so many panels and columns at once; where there are fewer, the last one is met again. */
SET static void NAME(few_columns)(const rlx_micro_sum *r, int64_t a_panel, int64_t row, int64_t column)
{
    const int64_t acc_i = r->acc_i, a_k = r->a_k, b_k = r->b_k, a_next = r->a_t - r->depth * a_k, b_next = r->b_t - r->depth * b_k,
                  rows = rlx_micro_less(r->rows - row, FEW_PANELS * LANES), columns = rlx_micro_less(r->columns - column, FEW_COLUMNS),
                  other = columns - 1;
    const T *a = (const T *)r->a + row / LANES * a_panel, *b = (const T *)r->b + column;
    int64_t apart[FEW_PANELS];
    T *acc = (T *)r->acc + row * acc_i + column, held[FEW_COLUMNS][FEW_PANELS * LANES];
    VEC s[FEW_PANELS][FEW_COLUMNS];
    RLX_ROLLED for (int i = 0; i < FEW_PANELS; i++)
        apart[i] = rlx_micro_less(i, rows / LANES - 1) * a_panel;
    RLX_ROLLED for (int64_t i = 0; i < FEW_PANELS * LANES; i++)
        RLX_UNROLL for (int j = 0; j < FEW_COLUMNS; j++) held[j][i] = r->fresh || i >= rows ? 0 : acc[i * acc_i + j * other];
    RLX_UNROLL for (int i = 0; i < FEW_PANELS; i++)
    {
        RLX_UNROLL for (int j = 0; j < FEW_COLUMNS; j++)
            s[i][j] = OF(X, load)(held[j] + i * LANES);
    }
    for (int64_t t = r->turns; t > 0; t--, a += a_next, b += b_next)
        for (int64_t k = r->depth; k > 0; k--, a += a_k, b += b_k) {
            const VEC y[FEW_COLUMNS] = { OF(X, fill)(b[0]), OF(X, fill)(b[other]) };
            RLX_UNROLL for (int i = 0; i < FEW_PANELS; i++)
            {
                VEC x = OF(X, load)(a + apart[i]);
                RLX_UNROLL for (int j = 0; j < FEW_COLUMNS; j++)
                    s[i][j] = SUM(x, y[j], s[i][j]);
            }
        }
    RLX_UNROLL for (int i = 0; i < FEW_PANELS; i++)
    {
        RLX_UNROLL for (int j = 0; j < FEW_COLUMNS; j++)
            OF(X, store)(held[j] + i * LANES, s[i][j]);
    }
    RLX_ROLLED for (int64_t i = 0; i < rows; i++)
        RLX_UNROLL for (int j = 0; j < FEW_COLUMNS; j++) acc[i * acc_i + j * other] = held[j][i];
}

/* How many of the last columns are done so. */
SET static int64_t NAME(count_few)(const rlx_micro_sum *r)
{
    const int64_t few = r->columns % LANES;
    return few <= LANES / 2 && r->depth >= LANES && r->rows % RLX_PANEL_ROWS == 0 && r->a_i == 1 && r->a_k == RLX_PANEL_ROWS ? few : 0;
}

/* Some steps of up to four vectors of columns. What comes from afar is asked for while what is near is computed with:
 * steps of panels of rows, from the same ones of the next panel; else steps of b, of which each tile asks for its share of those
 * behind these. */
SET static void NAME(wide_steps)(const rlx_micro_sum *r, const NAME(wide_row) *rows, int64_t a_panel, int64_t tiles)
{
    const int64_t w = (r->columns - 1) / LANES, bytes = r->b_k * (int64_t)sizeof(T);
    const bool panels = r->rows > 2 * RLX_PANEL_ROWS && r->a_i == 1 && r->a_k == RLX_PANEL_ROWS;
    uintptr_t soon = (uintptr_t)r->b + (uintptr_t)(bytes * (tiles > 1 ? r->depth : 2 * AHEAD));
    for (int64_t i = 0, step = bytes / tiles, height; i < r->rows; i += height) {
        height = NAME(wide_heights)[w][rlx_micro_less(r->rows - i, NAME(MOST_LEFT))];
        if (panels) {
            step = height * (int64_t)sizeof(T);
            soon = (uintptr_t)r->a + (uintptr_t)((i / RLX_PANEL_ROWS + 1) * a_panel + i % RLX_PANEL_ROWS * r->depth) * sizeof(T);
        }
        (height == 3 && r->columns == WIDE ? NAME(wide_3x4) : NAME(wide_tiles)[w][height])(r, rows + i, soon, step);
        soon += (uintptr_t)(step * r->depth);
    }
}

SET static void NAME(find_rows)(NAME(wide_row) *out, const rlx_micro_sum *r, int64_t a_panel)
{
    int64_t i = 0;
    for (int64_t panel = 0, acc = 0; i < r->rows; panel += a_panel)
        for (int64_t l = 0, a = panel; l < RLX_PANEL_ROWS && i < r->rows; l++, i++, a += r->a_i, acc += r->acc_i)
            out[i] = (NAME(wide_row)){ a, acc };
    RLX_ROLLED for (int64_t l = 1; l < NAME(HIGHEST); l++, i++) out[i] = out[r->rows - 1];
}

/* Up to four vectors of columns. Tiles take the same few steps in turn, so that those of b are near: some turns, or a piece of one. */
SET static RLX_NOINLINE void NAME(wide_columns)(const rlx_micro_sum *r, const NAME(wide_row) *rows, int64_t a_panel)
{
    const int64_t whole = r->columns - NAME(count_few)(r), w = whole ? (whole - 1) / LANES : 0,
                  most = r->b_k < WIDE ? 2 * WIDE_STEPS : WIDE_STEPS, /* steps that overlap are nearer */
                  pieces = (r->depth + most - 1) / most;
    int64_t tiles = 0, depth = r->depth, turns = r->turns;
    for (int64_t n = r->rows; n > 0; tiles++)
        n -= NAME(wide_heights)[w][rlx_micro_less(n, NAME(MOST_LEFT))];
    if (tiles > 1 && turns * depth > most) {
        depth = (depth + pieces - 1) / pieces;
        turns = pieces > 1 ? 1 : most / depth;
    }
    rlx_micro_sum part;
    rlx_micro_copy_sum(&part, r);
    RLX_ROLLED for (int64_t t = 0; t < r->turns; t += turns)
        for (int64_t k = 0; k < r->depth; k += depth) {
            part.a = (const T *)r->a + t * r->a_t + k * r->a_k;
            part.b = (const T *)r->b + t * r->b_t + k * r->b_k;
            part.turns = rlx_micro_less(r->turns - t, turns);
            part.depth = rlx_micro_less(r->depth - k, depth);
            part.fresh = r->fresh && t == 0 && k == 0;
            part.columns = whole;
            if (whole)
                NAME(wide_steps)(&part, rows, a_panel, tiles);
            part.columns = r->columns;
            for (int64_t j = whole; j < r->columns; j += FEW_COLUMNS)
                for (int64_t i = 0; i < r->rows; i += FEW_PANELS * LANES)
                    NAME(few_columns)(&part, a_panel, i, j);
        }
}

/* acc, b contiguous in j, b the same for all rows, one element of a for all columns; a_panel: from 8 rows of a to the next 8. */
SET RLX_SMALL static void NAME(contract_wide)(const rlx_micro_sum *r, int64_t a_panel)
{
    NAME(wide_row) rows[NAME(MOST_ROWS) + NAME(HIGHEST)];
    rlx_micro_sum part;
    rlx_micro_copy_sum(&part, r);
    for (int64_t i = 0; i < r->rows; i += NAME(MOST_ROWS)) {
        part.rows = rlx_micro_less(r->rows - i, NAME(MOST_ROWS));
        part.a = (const T *)r->a + i / RLX_PANEL_ROWS * a_panel;
        NAME(find_rows)(rows, &part, a_panel);
        for (int64_t j = 0; j < r->columns; j += WIDE) {
            part.columns = rlx_micro_less(r->columns - j, WIDE);
            part.acc = (T *)r->acc + i * r->acc_i + j, part.b = (const T *)r->b + j;
            NAME(wide_columns)(&part, rows, a_panel);
        }
    }
}

SET static void NAME(contract_tiles)(const rlx_micro_sum *r) { NAME(contract_wide)(r, RLX_PANEL_ROWS * r->a_i); }

/* Columns whose steps lie side by side, as keys do that one query is multiplied with: four steps of three vectors of them at a time are
 * turned in registers. */
enum { TURNED = 3, TURNED_STEPS = 4 };
SET static RLX_NOINLINE void NAME(turned_columns)(const rlx_micro_sum *r, int64_t row, int64_t column)
{
    const int64_t a_k = r->a_k, b_j = r->b_j;
    const T *a = (const T *)r->a + row * r->a_i, *b = (const T *)r->b + column * b_j;
    uintptr_t next = (uintptr_t)(b + TURNED * LANES * b_j); /* those behind them, where columns lie behind each other */
    T *acc = (T *)r->acc + row * r->acc_i + column;
    VEC s[TURNED];
    RLX_UNROLL for (int w = 0; w < TURNED; w++) s[w] = r->fresh ? OF(X, fill)(0) : OF(X, load)(acc + w * LANES);
    for (int64_t k = r->depth; k > 0; k -= TURNED_STEPS, a += TURNED_STEPS * a_k, b += TURNED_STEPS) {
        const T *of = b;
        RLX_UNROLL for (int i = 0; i < TURNED * TURNED_STEPS / 2; i++, next += 2 * sizeof(VEC))
            RLX_PREFETCH(next);
        RLX_UNROLL for (int w = 0; w < TURNED; w++, of += LANES * b_j)
        {
            u32_vec y[TURNED_STEPS];
            RLX_UNKNOWN_VALUE(of);
            turn_four((const uint32_t *)of, b_j, y);
            RLX_UNROLL for (int i = 0; i < TURNED_STEPS; i++)
                s[w] = SUM(OF(X, fill)(a[i * a_k]), (VEC)y[i], s[w]);
        }
    }
    RLX_UNROLL for (int w = 0; w < TURNED; w++) OF(X, store)(acc + w * LANES, s[w]);
}

/* The first columns, or all, some of which are done twice where that changes nothing; more rows gain from panels that are turned once. Their
 * number. */
SET static int64_t NAME(contract_turned)(const rlx_micro_sum *r)
{
    if (r->rows > 3 || r->turns > 1 || r->b_k != 1 || r->depth % TURNED_STEPS)
        return 0;
    const int64_t each = TURNED * LANES, columns = r->columns, whole = r->fresh && columns >= each ? columns : columns / each * each;
    for (int64_t i = 0; i < r->rows; i++)
        for (int64_t j = 0; j < whole; j += each)
            NAME(turned_columns)(r, i, rlx_micro_less(j, whole - each));
    return whole;
}

/* Groups that are panels of rows, one below the other. */
SET static bool NAME(contract_row_panels)(const rlx_micro_sum *sum, const rlx_micro_groups *g)
{
    rlx_micro_sum r;
    rlx_micro_copy_sum(&r, sum);
    if (r.rows != RLX_PANEL_ROWS || r.a_i != 1 || r.a_j || r.acc_j != 1 || g->acc != RLX_PANEL_ROWS * r.acc_i || r.b_i || g->b ||
        (r.b_j != 1 && r.columns > 1))
        return false;
    r.rows *= g->count;
    NAME(contract_wide)(&r, g->a);
    return true;
}
