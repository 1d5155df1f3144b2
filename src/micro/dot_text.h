/*- dot_text.h: sums of products of 8-bit integers, four steps in a word, included once by set_text.h. Each word of b is one
 * column; a word of a is spread over a vector. What does not lie so is left to dot.c.
 *
 * Where no instruction multiplies bytes, a block of both sides becomes 16 bits in memory first, once for all rows and
 * columns of the block; products of pairs are then added exactly. Else tiles of two vectors of columns and as many rows as
 * the set says (DOT_ROWS) are written once for each WAY to multiply:
 *   signed, unsigned
 *              one instruction, for a b that is what the name says and an a that is what the instruction wants
 *   signed_off, unsigned_off
 *              the same for an a of the other kind: 128 more or less is multiplied, and 128 times the sum of b taken
 *              off at the end; tiles of fewer rows, as the set has no room for more
 * 32 bits wrap around, so that neither the order of the sums nor what is taken off again changes a number.
 */
/* In memory, so that nothing is known of them and they are applied to vectors, not to words before they are spread. */
#define HALF_OF_16(x) x, x, x, x, x, x, x, x
#define ALL_16(x) { HALF_OF_16(x), HALF_OF_16(x) }

#if !SET_DOTS
/* Rows of a tile; rows and steps of a block, whose columns are WIDE_VECTORS vectors: the first-level cache holds the half of it
 * that is at work. Tiles of 6 rows would read less, but many a product has 4, 8, 16 or 32. WIDE_NONE rows, or fewer, are not worth
 * a block. */
enum { WIDE_TILE = 4, WIDE_ROWS = 32, WIDE_TURNS = 72, WIDE_VECTORS = 4, WIDE_NONE = 3 };

/*- Of each word bytes 0 and 2, and bytes 1 and 3. Words of a lie row by row, its steps beside each other; or, where
 * `across`, step by step, as many rows beside each other as are a vector:
 *     a[][i * WIDE_TURNS + t]        a[][(i / LANES * WIDE_TURNS + t) * LANES + i % LANES] */
typedef struct wide_block {
    i16_vec b[2][WIDE_TURNS][WIDE_VECTORS];
    uint32_t a[2][WIDE_ROWS * WIDE_TURNS];
    const uint32_t *row[WIDE_ROWS];     /* those that the last tile lacks are the last row again */
    uint32_t *acc[WIDE_ROWS];
    u32_vec of_a, of_b;        /* what is left of a byte's sign in 16 bits: all or nothing */
    bool across, fresh;
} wide_block;
static const uint32_t halves_masks[2][16] = { ALL_16(0x00ff00ff), ALL_16(0xffffffff) };

SET_INLINE i16_vec even_bytes(u32_vec v, u32_vec mask) { return (i16_vec)(v << 8) >> 8 & (i16_vec)mask; }
SET_INLINE i16_vec odd_bytes(u32_vec v, u32_vec mask) { return (i16_vec)v >> 8 & (i16_vec)mask; }

/* Sums to n columns of a row. */
SET RLX_NOINLINE RLX_SMALL static void add_sums(uint32_t *acc, const u32_vec *sums, int64_t n, bool fresh)
{
    for (; n >= u32_LANES; n -= u32_LANES, acc += u32_LANES, sums++) {
        u32_vec v = *sums;
        if (!fresh)
            v += u32_load(acc);
        u32_store(acc, v);
    }
    for (int64_t j = 0; j < n; j++)
        acc[j] = (*sums)[j] + (fresh ? 0 : acc[j]);
}

/* One row of the result without a block, all vectors of columns that a block has. */
SET RLX_NOINLINE static void narrow_row(const wide_block *w, const rlx_micro_sum *r, int64_t row, int64_t column)
{
    const char *a = (const char *)r->a + row * r->a_i, *b = (const char *)r->b + 4 * column;
    u32_vec s[WIDE_VECTORS] = { { 0 } };
    for (int64_t t = r->turns; t > 0; t--, a += r->a_t, b += r->b_t) {
        uint32_t word;
        memcpy(&word, a, sizeof word);
        i16_vec even = even_bytes(u32_fill(word), w->of_a), odd = odd_bytes(u32_fill(word), w->of_a);
        RLX_UNROLL for (int v = 0; v < WIDE_VECTORS; v++)
        {
            u32_vec y = u32_of_bytes(b + v * SET_BYTES);
            s[v] += i16_dot(even, even_bytes(y, w->of_b)) + i16_dot(odd, odd_bytes(y, w->of_b));
        }
    }
    add_sums((uint32_t *)r->acc + row * r->acc_i + column, s,
             rlx_micro_less(r->columns - column, WIDE_VECTORS * u32_LANES), r->fresh);
}

/* Rows of the block from `row` on, two vectors of columns, n columns. */
SET RLX_NOINLINE static void wide_tile(const wide_block *w, int64_t row, int64_t rows, int64_t turns, int64_t vector,
                                       int64_t column, int64_t n)
{
    const uint32_t *a[WIDE_TILE];
    const int64_t step = w->across ? u32_LANES : 1;
    u32_vec s[WIDE_TILE][2];
    RLX_UNROLL for (int i = 0; i < WIDE_TILE; i++)
    {
        a[i] = w->row[row + i];
        s[i][0] = s[i][1] = (u32_vec){ 0 };
    }
    for (int64_t half = 0; half < 2; half++) {
        const i16_vec *b = &w->b[half][0][vector];
        int64_t at = half * WIDE_ROWS * WIDE_TURNS;
        RLX_ROLLED for (int64_t t = turns; t > 0; t--, b += WIDE_VECTORS, at += step)
        {
            i16_vec y[2] = { b[0], b[1] };
            RLX_UNROLL for (int i = 0; i < WIDE_TILE; i++)
            {
                i16_vec x = (i16_vec)u32_fill(a[i][at]);
                RLX_UNROLL for (int v = 0; v < 2; v++)
                {
                    s[i][v] += i16_dot(x, y[v]);
                    RLX_IN_REGISTER(s[i][v]);
                }
            }
        }
    }
    u32_vec sums[WIDE_TILE][2];
    memcpy(sums, s, sizeof sums);
    for (int64_t i = 0; i < rows && i < WIDE_TILE; i++) {
        uint32_t *acc = w->acc[row + i] + column;
        if (n < 2 * u32_LANES) {
            add_sums(acc, sums[i], n, w->fresh);
            continue;
        }
        for (int v = 0; v < 2; v++, acc += u32_LANES) {
            if (!w->fresh)
                sums[i][v] += u32_load(acc);
            u32_store(acc, sums[i][v]);
        }
    }
}

SET RLX_NOINLINE static void widen_columns(wide_block *w, const char *b, int64_t step, int64_t turns)
{
    for (int64_t t = 0; t < turns; t++, b += step)
        RLX_ROLLED for (int v = 0; v < WIDE_VECTORS; v++)
        {
            u32_vec words = u32_of_bytes(b + v * SET_BYTES);
            w->b[0][t][v] = even_bytes(words, w->of_b);
            w->b[1][t][v] = odd_bytes(words, w->of_b);
        }
}

SET_INLINE void widen_words(wide_block *w, int64_t at, u32_vec words)
{
    u32_store(w->a[0] + at, (u32_vec)even_bytes(words, w->of_a));
    u32_store(w->a[1] + at, (u32_vec)odd_bytes(words, w->of_a));
}

/* Row i of the block, or as many rows from it on as are a vector. */
SET_INLINE void widen_row(wide_block *w, int64_t i, const char *a, int64_t step, int64_t turns)
{
    int64_t at = i * WIDE_TURNS, by = w->across ? 1 : u32_LANES;
    for (step *= by; turns >= by; turns -= by, a += step, at += u32_LANES)
        widen_words(w, at, u32_of_bytes(a));
    if (turns) {
        uint32_t some[u32_LANES] = { 0 };
        memcpy(some, a, (size_t)turns * sizeof *some);
        widen_words(w, at, u32_load(some));
    }
}

/* Rows [first, first + rows) of all groups, from turn t on. */
SET RLX_NOINLINE static void widen_rows(wide_block *w, const rlx_micro_sum *r, const rlx_micro_groups *g, int64_t first,
                                        int64_t rows, int64_t t, int64_t turns)
{
    int64_t group = first / r->rows, in_group = first % r->rows;
    for (int64_t i = 0; i < rows; i++) {
        w->acc[i] = (uint32_t *)r->acc + group * g->acc + in_group * r->acc_i;
        w->row[i] = w->a[0] + (w->across ? i / u32_LANES * u32_LANES * WIDE_TURNS + i % u32_LANES : i * WIDE_TURNS);
        if (!w->across || i % u32_LANES == 0)
            widen_row(w, i, (const char *)r->a + group * g->a + in_group * r->a_i + t * r->a_t, r->a_t, turns);
        if (++in_group == r->rows)
            in_group = 0, group++;
    }
    for (int64_t i = rows; i % WIDE_TILE; i++)
        w->row[i] = w->row[rows - 1];
}

/* All of a block: n columns from `column` on. */
SET RLX_NOINLINE static void block_tiles(const wide_block *w, int64_t rows, int64_t turns, int64_t column, int64_t n)
{
    for (int64_t i = 0; i < rows; i += WIDE_TILE)
        for (int64_t v = 0; v * u32_LANES < n; v += 2)
            wide_tile(w, i, rows - i, turns, v, column + v * u32_LANES, rlx_micro_less(n - v * u32_LANES, 2 * u32_LANES));
}

/* The rows of all groups. */
SET static void dot_blocks(const rlx_micro_sum *r, const rlx_micro_groups *g, wide_block *w)
{
    const int64_t rows = r->rows * g->count, width = WIDE_VECTORS * u32_LANES;
    for (int64_t j = 0; j < r->columns; j += width)
        for (int64_t t = 0; t < r->turns; t += WIDE_TURNS) {
            int64_t turns = rlx_micro_less(r->turns - t, WIDE_TURNS);
            w->fresh = r->fresh && t == 0;
            widen_columns(w, (const char *)r->b + 4 * j + t * r->b_t, r->b_t, turns);
            for (int64_t first = 0; first < rows; first += WIDE_ROWS) {
                int64_t many = rlx_micro_less(rows - first, WIDE_ROWS);
                widen_rows(w, r, g, first, many, t, turns);
                block_tiles(w, many, turns, j, rlx_micro_less(r->columns - j, width));
            }
        }
}

/* Panels of columns, the groups, for the rows of one block. */
SET static void dot_panels(const rlx_micro_sum *r, const rlx_micro_groups *g, wide_block *w)
{
    const int64_t width = WIDE_VECTORS * u32_LANES;
    for (int64_t t = 0; t < r->turns; t += WIDE_TURNS) {
        int64_t turns = rlx_micro_less(r->turns - t, WIDE_TURNS);
        w->fresh = r->fresh && t == 0;
        widen_rows(w, r, g, 0, r->rows, t, turns);
        for (int64_t p = 0; p < g->count; p++)
            for (int64_t j = 0; j < r->columns; j += width) {
                widen_columns(w, (const char *)r->b + p * g->b + 4 * j + t * r->b_t, r->b_t, turns);
                block_tiles(w, r->rows, turns, p * g->acc + j, rlx_micro_less(r->columns - j, width));
            }
    }
}

/* Of groups that share b, or the rows of one block. Rows that are neither beside each other nor words in a row of their own are computed one by one. */
SET static bool dot_groups(const rlx_micro_sum *r, const rlx_micro_groups *g)
{
    wide_block w;
    const bool few = g->count == 1 && r->rows <= WIDE_NONE;
    w.across = r->a_i == 4 && r->rows % u32_LANES == 0;
    if ((g->b && (g->a || r->rows <= WIDE_NONE || r->rows > WIDE_ROWS)) || !rlx_micro_is_in_fours(r))
        return false;
    w.of_a = u32_load(halves_masks[r->a_signed]), w.of_b = u32_load(halves_masks[r->b_signed]);
    if (!few && (w.across || r->a_t == 4)) {
        (g->b ? dot_panels : dot_blocks)(r, g, &w);
        return true;
    }
    for (int64_t j = 0; j < r->columns && g->count == 1; j += WIDE_VECTORS * u32_LANES)
        for (int64_t i = 0; i < r->rows; i++)
            narrow_row(&w, r, i, j);
    return g->count == 1;
}

SET static void dot(const rlx_micro_sum *r)
{
    static const rlx_micro_groups one = { .count = 1 };
    if (!dot_groups(r, &one))
        rlx_micro_dot_any(r);
}

#else
enum { DOT_AHEAD = 1024 }; /* bytes that a row alone asks for before it needs them */
typedef void dot_tile_fn(const rlx_micro_sum *r, int64_t row, int64_t column, u32_vec (*sums)[2]);

/* What a step adds to sums of R rows, and where the next one is. */
#define DOT_STEP(R, WAY, s, off)                                                                  \
    {                                                                                             \
        WAY##_fours y[2];                                                                         \
        RLX_UNROLL for (int w = 0; w < 2; w++)                                                    \
        {                                                                                         \
            y[w] = WAY##_b(u32_of_bytes((const char *)b + w * SET_BYTES), of_b);                  \
            if (R == 1) {                                                                         \
                RLX_IN_REGISTER(y[w]);                                                            \
                RLX_PREFETCH(b + w * SET_BYTES + DOT_AHEAD);                                      \
            }                                                                                     \
            off[w] = WAY##_off(of_a, y[w], off[w]);                                               \
        }                                                                                         \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                    \
        {                                                                                         \
            WAY##_word word;                                                                      \
            memcpy(&word, a[i] + at, sizeof word);                                                \
            WAY##_spread x = WAY##_a(word, of_a);                                                 \
            RLX_UNROLL for (int w = 0; w < 2; w++)                                                \
                s[i][w] = WAY##_sum(x, y[w], s[i][w]);                                            \
        }                                                                                         \
        at += r->a_t, b += r->b_t;                                                                \
    }

/* Sums of R rows; those that the last ones lack are the last row again. A row alone has two sums of each column, as one would wait for
 * itself, and comes from afar. */
#define DOT_TILE(name, R, WAY)                                                                    \
    WAY##_SET static void name##_##WAY(const rlx_micro_sum *r, int64_t row, int64_t column,       \
                                       u32_vec (*sums)[2])                                        \
    {                                                                                             \
        const char *a[R], *b = (const char *)r->b + 4 * column;                                   \
        u32_vec of_a = u32_load(WAY##_of_a(r, R)), of_b = u32_load(WAY##_of_b(r, R)), s[R][2], more[R][2], \
                off[2] = { { 0 } }, more_off[2] = { { 0 } };                                      \
        (void)of_a, (void)of_b;                                                                   \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                    \
        {                                                                                         \
            a[i] = i ? a[i - 1] + (row + i < r->rows ? r->a_i : 0)                                \
                     : (const char *)r->a + row * r->a_i;                                         \
            s[i][0] = s[i][1] = more[i][0] = more[i][1] = (u32_vec){ 0 };                         \
        }                                                                                         \
        for (int64_t t = r->turns, at = 0; t > 0; t--) {                                          \
            if (R == 1 && t > 1) {                                                                \
                DOT_STEP(R, WAY, more, more_off)                                                  \
                t--;                                                                              \
            }                                                                                     \
            DOT_STEP(R, WAY, s, off)                                                              \
        }                                                                                         \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                    \
            RLX_UNROLL for (int w = 0; w < 2; w++)                                                \
                sums[i][w] = R == 1 ? s[i][w] + more[i][w] - (off[w] + more_off[w]) : s[i][w] - off[w]; \
    }

SET static void dot_tiles(const rlx_micro_sum *r, dot_tile_fn *tile, int64_t height, dot_tile_fn *row)
{
    u32_vec sums[DOT_ROWS][2];
    for (int64_t j = 0; j < r->columns; j += 2 * u32_LANES)
        for (int64_t i = 0; i < r->rows; i += height) {
            int64_t n = rlx_micro_less(r->rows - i, height);
            (n == 1 ? row : tile)(r, i, j, sums);
            rlx_micro_add_dots(r, i, n, j, (const uint32_t *)sums, 2 * u32_LANES);
        }
}

static const uint32_t sign_bits[2][16] = { ALL_16(0), ALL_16(0x80808080) };
typedef u32_vec signed_fours, unsigned_fours, signed_off_fours, unsigned_off_fours;
typedef u32_vec signed_off_spread, unsigned_off_spread;
typedef uint32_t signed_off_word, unsigned_off_word;
#if defined(SET_DOT_WORDS)
typedef float signed_word, unsigned_word, signed_spread, unsigned_spread;
#define signed_a(word, of_a) (word)
#define signed_sum i8_dot_word
#define unsigned_sum u8_dot_word
#else
typedef uint32_t signed_word, unsigned_word;
typedef u32_vec signed_spread, unsigned_spread;
#define signed_a(word, of_a) u32_fill(word)
#define signed_sum i8_dot
#define unsigned_sum u8_dot
#endif
SET static bool is_off(const rlx_micro_sum *r)
{
    return (r->a_signed == r->b_signed) == SET_DOTS_UNLIKE;
}

#define signed_SET SET_DOT
#define signed_of_a(r, R) sign_bits[0]
#define signed_of_b signed_of_a
#define signed_b(v, of_b) (v)
#define signed_off(of_a, b, c) (c)
DOT_TILE(tile, DOT_ROWS, signed)

#define unsigned_SET SET_DOT
#define unsigned_of_a signed_of_a
#define unsigned_of_b signed_of_a
#define unsigned_a signed_a
#define unsigned_b signed_b
#define unsigned_off(of_a, b, c) (c)
DOT_TILE(tile, DOT_ROWS, unsigned)

#define signed_off_SET SET_DOT
#define signed_off_of_a(r, R) sign_bits[(R) > 1 || is_off(r)] /* rows alone have no other way */
#define signed_off_of_b signed_of_a
#define signed_off_a(word, of_a) (u32_fill(word) ^ (of_a))
#define signed_off_b signed_b
#define signed_off_off signed_off_sum
#define signed_off_sum i8_dot
DOT_TILE(tile, DOT_ROWS / 4, signed_off)
DOT_TILE(row, 1, signed_off)

#define unsigned_off_SET SET_DOT
#define unsigned_off_of_a signed_off_of_a
#define unsigned_off_of_b signed_of_a
#define unsigned_off_a signed_off_a
#define unsigned_off_b signed_b
#define unsigned_off_off unsigned_off_sum
#define unsigned_off_sum u8_dot
DOT_TILE(tile, DOT_ROWS / 4, unsigned_off)
DOT_TILE(row, 1, unsigned_off)

SET static void dot(const rlx_micro_sum *r)
{
    static dot_tile_fn *const tiles[2][2] = { { tile_unsigned, tile_unsigned_off }, { tile_signed, tile_signed_off } },
                              *const rows[2] = { row_unsigned_off, row_signed_off };
    bool off = is_off(r);
    if (rlx_micro_is_in_fours(r))
        dot_tiles(r, tiles[r->b_signed][off], DOT_ROWS >> 2 * off, rows[r->b_signed]);
    else
        rlx_micro_dot_any(r);
}
#endif
#undef HALF_OF_16
#undef ALL_16
#undef DOT_TILE
#undef DOT_STEP
