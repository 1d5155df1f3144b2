/* set_amx.c: sums of products of 8-bit integers by the tiles of AMX, which has an instruction for each pair of signs. The set is
 * rlx_micro_avx512amx in set_avx512.c. What tiles are not for is left to VNNI: sums of few rows or few turns. Panels
 * and chains for what is done with such sums stand here, too, as the other sets have no room for them. */
#include "format/kernel_math.h"
#include "micro/micro_int.h"

#if defined(RLX_AMX_SET)
#include <errno.h>
#include <immintrin.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RLX_SET_AVX512
#include "micro/vector.h"

#define AMX RLX_TARGET("amx-tile,amx-int8,avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c,bmi2")
#define SET_LENDER rlx_micro_avx512vnni

/*- A tile has up to 16 rows of 64 bytes. A tile of a is 16 turns of up to 16 rows, one of b 16 columns of 16 turns: both sides lie in
 * memory as tiles want them. Four tiles are sums:
 *
 *                       b 6     b 7         32 columns
 *             a 4      acc 0   acc 1
 *             a 5      acc 2   acc 3
 *           16 turns
 * The second ones are left out where there are no more than 16 rows or columns. */
enum { TILES = 8, TILE_ROWS = 16, TILE_COLUMNS = 16, TILE_TURNS = 16, TILE_BYTES = 64, BLOCK_ROWS = 32, BLOCK_COLUMNS = 32 };
/* Configuring and releasing tiles takes as long as VNNI needs for 48 turns of the 8 rows that it has at a time. */
enum { LEAST_ROWS = 2, VNNI_ROWS = 8, LEAST_TURNS = 48 };

/* Steps of 16 turns. Rows of a stay in the nearest cache for all panels of columns; b is read once for them, so its loads say that it
 * need not stay. */
typedef struct run {
    const char *a, *b;
    int64_t b_t, steps;
} run;

/* Whole steps, and the last one, which is the last 16 turns: nothing behind a is read. Its b is a copy with zeros for turns that the
 * whole steps had. */
typedef struct tile_rows {
    run runs[2];
    int64_t a_i, second;       /* of a: from row to row, from the first tile to the second */
    bool tall, wide;
} tile_rows;
typedef void add_products_fn(const tile_rows *t);

#define ADD_PRODUCTS(name, product)                                              \
    AMX static void name(const tile_rows *t)                                     \
    {                                                                            \
        for (const run *s = t->runs; s < t->runs + 2; s++) {                     \
            const char *a = s->a, *b = s->b;                                     \
            for (int64_t n = s->steps; n > 0; n--) {                             \
                _tile_stream_loadd(6, b, s->b_t);                                \
                if (t->wide)                                                     \
                    _tile_stream_loadd(7, b + TILE_BYTES, s->b_t);               \
                _tile_loadd(4, a, t->a_i);                                       \
                product(0, 4, 6);                                                \
                if (t->wide)                                                     \
                    product(1, 4, 7);                                            \
                if (t->tall) {                                                   \
                    _tile_loadd(5, a + t->second, t->a_i);                       \
                    product(2, 5, 6);                                            \
                    if (t->wide)                                                 \
                        product(3, 5, 7);                                        \
                }                                                                \
                a += TILE_BYTES, b += TILE_TURNS * s->b_t;                       \
            }                                                                    \
        }                                                                        \
    }
ADD_PRODUCTS(add_signed, _tile_dpbssd)
ADD_PRODUCTS(add_signed_unsigned, _tile_dpbsud)
ADD_PRODUCTS(add_unsigned_signed, _tile_dpbusd)
ADD_PRODUCTS(add_unsigned, _tile_dpbuud)
static add_products_fn *const add_products[2][2] = { { add_unsigned, add_unsigned_signed }, { add_signed_unsigned, add_signed } };

/* As the instruction reads it. */
typedef struct tile_config {
    uint8_t palette, start, none[14];
    uint16_t bytes[16];
    uint8_t rows[16];
} tile_config;

/* Rows of the first and of the second tile of a, which is there even if it has none. */
AMX static void configure(int64_t first, int64_t second)
{
    const uint8_t a = (uint8_t)first, c = (uint8_t)(second ? second : 1);
    tile_config config = { .palette = 1, .rows = { a, a, c, c, a, c, TILE_TURNS, TILE_TURNS } };
    for (int i = 0; i < TILES; i++)
        config.bytes[i] = TILE_BYTES;
    RLX_MEMORY_IS_WRITTEN();
    _tile_loadconfig(&config);
}

AMX static void clear_sums(void)
{
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
}

AMX static void load_sums(const uint32_t *acc, int64_t step, int64_t second, bool tall, bool wide)
{
    _tile_loadd(0, acc, step);
    if (wide)
        _tile_loadd(1, acc + TILE_COLUMNS, step);
    if (tall)
        _tile_loadd(2, acc + second, step);
    if (tall && wide)
        _tile_loadd(3, acc + second + TILE_COLUMNS, step);
}

AMX static void store_sums(uint32_t *acc, int64_t step, int64_t second, bool tall, bool wide)
{
    _tile_stored(0, acc, step);
    if (wide)
        _tile_stored(1, acc + TILE_COLUMNS, step);
    if (tall)
        _tile_stored(2, acc + second, step);
    if (tall && wide)
        _tile_stored(3, acc + second + TILE_COLUMNS, step);
}

/* Rows [row, row + rows), the first tile of which has `first`. */
AMX static void sum_rows(const rlx_micro_sum *r, int64_t row, int64_t rows, int64_t first, char (*last)[4 * BLOCK_COLUMNS])
{
    const int64_t steps = r->turns / TILE_TURNS, left = r->turns % TILE_TURNS;
    tile_rows t = { .a_i = r->a_i, .second = first * r->a_i, .tall = rows > first };
    t.runs[0].a = (const char *)r->a + row * r->a_i;
    t.runs[0].b_t = r->b_t, t.runs[0].steps = steps;
    t.runs[1] = (run){ .a = t.runs[0].a + 4 * (r->turns - TILE_TURNS), .b = last[0], .b_t = sizeof *last, .steps = left > 0 };
    for (int64_t j = 0; j < r->columns; j += BLOCK_COLUMNS) {
        const int64_t n = rlx_micro_less(r->columns - j, BLOCK_COLUMNS);
        const bool whole = n % TILE_COLUMNS == 0;
        uint32_t *acc = (uint32_t *)r->acc + row * r->acc_i + j;
        t.runs[0].b = (const char *)r->b + 4 * j;
        t.wide = n > TILE_COLUMNS;
        for (int64_t i = 0; i < rows; i++)
            for (int64_t k = 0; k < n; k += TILE_COLUMNS)
                RLX_PREFETCH(acc + i * r->acc_i + k);
        for (int64_t k = 0; k < left; k++)
            memcpy(last[TILE_TURNS - left + k], t.runs[0].b + (r->turns - left + k) * r->b_t, sizeof *last);
        RLX_MEMORY_IS_WRITTEN();
        if (whole && !r->fresh)
            load_sums(acc, 4 * r->acc_i, first * r->acc_i, t.tall, t.wide);
        else
            clear_sums();
        add_products[r->a_signed][r->b_signed](&t);
        if (whole) {
            store_sums(acc, 4 * r->acc_i, first * r->acc_i, t.tall, t.wide);
        } else {
            _Alignas(TILE_BYTES) uint32_t sums[BLOCK_ROWS][BLOCK_COLUMNS];
            store_sums(sums[0], sizeof sums[0], first * BLOCK_COLUMNS, t.tall, t.wide);
            rlx_micro_add_dots(r, row, rows, j, sums[0], BLOCK_COLUMNS);
        }
    }
}

/* Linux permits tiles to a process that asks, for all of its threads, and wants larger alternate signal stacks from then on (AT_MINSIGSTKSZ);
 * where one is too small it refuses. Programs without products of bytes never ask. */
enum { NOT_ASKED, GRANTED, REFUSED };
static atomic_int tile_permission; /* of the process, as it is Linux's; threads that ask at the same time get the same answer */
static bool may_use_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 };
    int known = atomic_load_explicit(&tile_permission, memory_order_relaxed);
    if (known == NOT_ASKED) {
        const int found = errno;
        known = syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0 ? GRANTED : REFUSED;
        errno = found;
        atomic_store_explicit(&tile_permission, known, memory_order_relaxed);
    }
    return known == GRANTED;
}

AMX static void sum_groups(const rlx_micro_sum *r, const rlx_micro_groups *g)
{
    _Alignas(TILE_BYTES) char last[TILE_TURNS][4 * BLOCK_COLUMNS];
    if (r->turns % TILE_TURNS) /* stores wait for those of sums, and loads of tiles for them */
        memset(last, 0, sizeof last);
    int64_t first = 0, second = -1;
    for (int64_t row = 0; row < r->rows; row += BLOCK_ROWS) {
        const int64_t rows = rlx_micro_less(r->rows - row, BLOCK_ROWS), upper = rows > TILE_ROWS ? (rows + 1) / 2 : rows;
        if (upper != first || (rows > upper && rows - upper != second)) {
            first = upper, second = rows - upper;
            configure(first, second);
        }
        rlx_micro_sum part = *r;
        for (int64_t n = 0; n < g->count; n++) {
            sum_rows(&part, row, rows, first, last);
            part.acc = (uint32_t *)part.acc + g->acc;
            part.a = (const char *)part.a + g->a;
            part.b = (const char *)part.b + g->b;
        }
    }
    _tile_release();
}

static bool is_for_tiles(const rlx_micro_sum *r)
{
    return r->rows >= LEAST_ROWS && r->turns >= TILE_TURNS && (r->rows + VNNI_ROWS - 1) / VNNI_ROWS >= LEAST_TURNS / r->turns &&
           r->a_t == 4 && rlx_micro_is_in_fours(r) && may_use_tiles();
}

void rlx_micro_dot_amx(const rlx_micro_sum *r)
{
    static const rlx_micro_groups one = { .count = 1 };
    if (is_for_tiles(r))
        sum_groups(r, &one);
    else
        SET_LENDER.dot(r);
}

bool rlx_micro_dot_groups_amx(const rlx_micro_sum *r, const rlx_micro_groups *groups)
{
    if (!is_for_tiles(r))
        return false;
    sum_groups(r, groups);
    return true;
}

/* ---- panels ----------------------------------------------------------------------------------- */

#define VBMI RLX_TARGET("avx512vbmi,avx512f,avx512vl,avx512bw,avx512dq,avx2,fma,f16c,bmi2")
enum { ZIPPED = 16 };        /* lanes at a time: a word of each is a vector */

/* Byte r of word l is byte 4 * r + l of four rows of so many bytes behind each other, of which every `apart`th counts. */
VBMI static __m512i order_of(int64_t row, int64_t apart)
{
    const __m512i at = _mm512_set_epi32(15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0),
                  lanes = _mm512_mullo_epi32(at, _mm512_set1_epi32((int)(0x01010101 * apart)));
    return _mm512_add_epi8(lanes, _mm512_set1_epi32((int)(row * 0x03020100)));
}

/* Sixteen lanes side by side. */
VBMI RLX_ALWAYS_INLINE __m512i zip_beside(const uint8_t *s, int64_t step, __m512i order)
{
    __m512i rows = _mm512_castsi128_si512(_mm_loadu_si128((const void *)s));
    rows = _mm512_mask_broadcast_i32x4(rows, 0x00f0, _mm_loadu_si128((const void *)(s + step)));
    rows = _mm512_mask_broadcast_i32x4(rows, 0x0f00, _mm_loadu_si128((const void *)(s + 2 * step)));
    rows = _mm512_mask_broadcast_i32x4(rows, 0xf000, _mm_loadu_si128((const void *)(s + 3 * step)));
    return _mm512_permutexvar_epi8(order, rows);
}

/* Up to sixteen lanes of up to four rows, side by side or one byte apart from each other: `there` says which bytes are read. */
VBMI RLX_ALWAYS_INLINE __m512i zip_apart(const uint8_t *s, int64_t step, int64_t rows, __mmask32 there, __m512i order)
{
    __m256i row[4];
    RLX_UNROLL for (int r = 0; r < 4; r++) row[r] = _mm256_maskz_loadu_epi8(r < rows ? there : 0, s + (r < rows ? r * step : 0));
    return _mm512_permutex2var_epi8(_mm512_inserti64x4(_mm512_castsi256_si512(row[0]), row[1], 1), order,
                                    _mm512_inserti64x4(_mm512_castsi256_si512(row[2]), row[3], 1));
}

VBMI static void zip_run(const rlx_fours_run *r)
{
    const int64_t each = rlx_micro_less(r->lanes, ZIPPED), last = r->lanes - each; /* the last ones end where the run does */
    const __mmask32 there = (__mmask32)((UINT64_C(1) << (r->stride * (each - 1) + 1)) - 1);
    const __mmask16 lanes = (__mmask16)((1u << each) - 1);
    const __m512i beside = order_of(16, 1), apart = order_of(32, r->stride);
    for (int64_t q = 0; 4 * q < r->count; q++) {
        const uint8_t *s = r->s + 4 * q * r->step;
        const int64_t rows = r->count - 4 * q;
        for (int64_t l = 0; l < r->lanes; l += ZIPPED) {
            const int64_t at = rlx_micro_less(l, last);
            const __m512i words = each == ZIPPED && rows >= 4 && r->stride == 1 ? zip_beside(s + at, r->step, beside)
                                                                                 : zip_apart(s + at * r->stride, r->step, rows, there, apart);
            _mm512_mask_storeu_epi32(r->d + q * r->d_step + at, lanes, words);
        }
    }
}

/* Lanes side by side, or every second one, of steps that are not. The instruction that all this is for came before tiles did. */
void rlx_micro_pack_fours_amx(const rlx_micro_pack *p)
{
    const int64_t stride = p->lane_stride[1];
    if (p->depth_stride[0] == 1 || (stride != 1 && stride != 2) || !RLX_CPU_HAS("avx512vbmi"))
        rlx_micro_pack_fours(p);
    else
        rlx_micro_pack_fours_by(p, zip_run);
}

/* ---- chains --------------------------------------------------------------------------------- */

/* Those of AVX-512 once more, with steps of integers, which that set borrows from one with shorter vectors for want of room. */
#define SET_LENDS_WORDS 0
#define SET_FUSES 1
#define CHAIN_VECTORS 8
#define CHAIN_BESIDE 4
#define CHAIN_ALONE
#include "micro/chain_text.h"

void rlx_micro_chain_amx(const rlx_micro_step *steps, int64_t n) { chain(steps, n); }
#endif
