/*- dot_text.h: sums of products of 8-bit integers, four steps in a word, included once by set_text.h, whose file has said
 * how many rows a tile has (DOT_ROWS). Each word of b is one column; a word of a is spread over a vector. What does not
 * lie so is left to dot.c.
 *
 * Tiles of two vectors of columns are written once for each WAY to multiply:
 *   halves     bytes become 16 bits, with their sign or without; products of pairs are added exactly
 *   signed, unsigned
 *              one instruction, for a b that is what the name says and an a that is what the instruction wants
 *   signed_off, unsigned_off
 *              the same for an a of the other kind: 128 more or less is multiplied, and 128 times the sum of b taken
 *              off at the end; tiles of fewer rows, as the set has no room for more
 * 32 bits wrap around, so that neither the order of the sums nor what is taken off again changes a number.
 */
typedef void dot_tile_fn(const rlx_micro_sum *r, int64_t row, int64_t column, u32_vec (*sums)[2]);

/* Sums of R rows; those that the last ones lack are the last row again. */
#define DOT_TILE(name, R, WAY)                                                                     \
    WAY##_SET static void name##_##WAY(const rlx_micro_sum *r, int64_t row, int64_t column,        \
                                       u32_vec (*sums)[2])                                         \
    {                                                                                              \
        const char *a[R], *b = (const char *)r->b + 4 * column;                                    \
        u32_vec of_a = u32_load(WAY##_of_a(r)), of_b = u32_load(WAY##_of_b(r)), s[R][2],           \
                off[2] = { { 0 } };                                                                \
        (void)of_a, (void)of_b;                                                                    \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            a[i] = i ? a[i - 1] + (row + i < r->rows ? r->a_i : 0)                                 \
                     : (const char *)r->a + row * r->a_i;                                          \
            s[i][0] = s[i][1] = (u32_vec){ 0 };                                                    \
        }                                                                                          \
        for (int64_t t = r->turns, at = 0; t > 0; t--, at += r->a_t, b += r->b_t) {                \
            WAY##_fours y[2];                                                                      \
            RLX_UNROLL for (int w = 0; w < 2; w++)                                                 \
            {                                                                                      \
                y[w] = WAY##_b(u32_of_bytes((const char *)b + w * SET_BYTES), of_b);               \
                off[w] = WAY##_off(of_a, y[w], off[w]);                                            \
            }                                                                                      \
            RLX_UNROLL for (int i = 0; i < R; i++)                                                 \
            {                                                                                      \
                uint32_t word;                                                                     \
                memcpy(&word, a[i] + at, sizeof word);                                             \
                WAY##_fours x = WAY##_a(u32_fill(word), of_a);                                     \
                RLX_UNROLL for (int w = 0; w < 2; w++)                                             \
                    s[i][w] = WAY##_sum(x, y[w], s[i][w]);                                         \
            }                                                                                      \
        }                                                                                          \
        RLX_UNROLL for (int i = 0; i < R; i++)                                                     \
        {                                                                                          \
            sums[i][0] = s[i][0] - off[0];                                                         \
            sums[i][1] = s[i][1] - off[1];                                                         \
        }                                                                                          \
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

/* In memory, so that nothing is known of them and they are applied to vectors, not to words before they are spread. */
#define HALF_OF_16(x) x, x, x, x, x, x, x, x
#define ALL_16(x) { HALF_OF_16(x), HALF_OF_16(x) }
#if !SET_DOTS
static const uint32_t halves_masks[2][16] = { ALL_16(0x00ff00ff), ALL_16(0xffffffff) };

/* Bytes 0 and 2 of each word, 1 and 3. */
typedef struct halves_fours {
    i16_vec even, odd;
} halves_fours;
SET_INLINE halves_fours halves_b(u32_vec v, u32_vec mask)
{
    return (halves_fours){ (i16_vec)(v << 8) >> 8 & (i16_vec)mask, (i16_vec)v >> 8 & (i16_vec)mask };
}
SET_INLINE u32_vec halves_sum(halves_fours a, halves_fours b, u32_vec c)
{
    return c + i16_dot(a.even, b.even) + i16_dot(a.odd, b.odd);
}
#define halves_SET SET
#define halves_of_a(r) halves_masks[(r)->a_signed]
#define halves_of_b(r) halves_masks[(r)->b_signed]
#define halves_a halves_b
#define halves_off(of_a, b, c) (c)
DOT_TILE(tile, DOT_ROWS, halves)
DOT_TILE(row, 1, halves)

SET static void dot(const rlx_micro_sum *r)
{
    rlx_micro_is_in_fours(r) ? dot_tiles(r, tile_halves, DOT_ROWS, row_halves) : rlx_micro_dot_any(r);
}

#else
static const uint32_t sign_bits[2][16] = { ALL_16(0), ALL_16(0x80808080) };
typedef u32_vec signed_fours, unsigned_fours, signed_off_fours, unsigned_off_fours;
SET static bool is_off(const rlx_micro_sum *r)
{
    return (r->a_signed == r->b_signed) == SET_DOTS_UNLIKE;
}

#define signed_SET SET_DOT
#define signed_of_a(r) sign_bits[0]
#define signed_of_b signed_of_a
#define signed_a(v, of_a) (v)
#define signed_b(v, of_b) (v)
#define signed_off(of_a, b, c) (c)
#define signed_sum i8_dot
DOT_TILE(tile, DOT_ROWS, signed)

#define unsigned_SET SET_DOT
#define unsigned_of_a signed_of_a
#define unsigned_of_b signed_of_a
#define unsigned_a signed_a
#define unsigned_b signed_b
#define unsigned_off signed_off
#define unsigned_sum u8_dot
DOT_TILE(tile, DOT_ROWS, unsigned)

#define signed_off_SET SET_DOT
#define signed_off_of_a(r) sign_bits[is_off(r)]
#define signed_off_of_b signed_of_a
#define signed_off_a(v, of_a) ((v) ^ (of_a))
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
