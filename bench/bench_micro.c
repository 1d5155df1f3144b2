/* bench_micro: the micro-kernels of every set that this machine has, run by hand: bench_micro [SET [KEY]]. Lines as of all
 * benches; best and median of rates. What a core can do at most is measured beside: fused products in registers, and
 * reads of as much memory. */
#include <string.h>

#include "bench.h"
#include "micro/micro.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

enum { ROUNDS = 25 };
static const char *only;

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Rates of a function that does `amount` of work; repeated so that a round takes long enough. The best one. */
static double measure(const char *set, const char *key, double amount, const char *unit,
                      void (*run)(void *), void *user)
{
    char name[100];
    double times[ROUNDS];
    snprintf(name, sizeof name, "%s %s", set, key);
    if (only && !strstr(name, only))
        return 0;
    run(user);
    double start = seconds();
    run(user);
    long repeats = (long)(2e-3 / (seconds() - start + 1e-9)) + 1;
    for (int i = 0; i < ROUNDS; i++) {
        start = seconds();
        for (long k = 0; k < repeats; k++)
            run(user);
        times[i] = (seconds() - start) / (double)repeats;
    }
    bench_rates(name, times, ROUNDS, amount * 1e-9, unit);
    fflush(stdout);
    return amount * 1e-9 / times[0];
}

/* ---- what the machine can do ----------------------------------------------------------------- */

enum { PEAK_STEPS = 20000, CHAINS = 10 };
static volatile float sink;
/* The empty assembly keeps each chain in a register and in the loop. */
#define STEP(s, op) (s) = op(s, x, y); __asm__ volatile("" : "+v"(s));
#define PEAK(name, target_, V, set1, op)                                                 \
    __attribute__((target(target_))) static void peak_##name(void *user)                 \
    {                                                                                    \
        V x = set1(0.999f), y = set1(1e-3f);                                             \
        V a = x, b = x, c = x, d = x, e = x, f = x, g = x, h = x, i = x, j = x;          \
        for (int k = 0; k < PEAK_STEPS; k++) {                                           \
            STEP(a, op) STEP(b, op) STEP(c, op) STEP(d, op) STEP(e, op)                  \
            STEP(f, op) STEP(g, op) STEP(h, op) STEP(i, op) STEP(j, op)                  \
        }                                                                                \
        a += b + c + d + e + f + g + h + i + j;                                          \
        sink += a[0];                                                                    \
    }
#if defined(__x86_64__)
#define MUL_ADD(a, b, c) ((a) * (b) + (c))
PEAK(avx512, "avx512f", __m512, _mm512_set1_ps, _mm512_fmadd_ps)
PEAK(avx2, "avx2,fma", __m256, _mm256_set1_ps, _mm256_fmadd_ps)
PEAK(baseline, "sse2", __m128, _mm_set1_ps, MUL_ADD)
#endif

static double peak(const char *set)
{
#if defined(__x86_64__)
    double work = 2.0 * PEAK_STEPS * CHAINS;
    if (strncmp(set, "avx512", 6) == 0)
        return measure(set, "peak", work * 16, "GFLOP/s", peak_avx512, NULL);
    if (strcmp(set, "avx2") == 0)
        return measure(set, "peak", work * 8, "GFLOP/s", peak_avx2, NULL);
    if (strcmp(set, "baseline") == 0)
        return measure(set, "peak", work * 4, "GFLOP/s", peak_baseline, NULL);
#endif
    return 0;
}

/* ---- sums ------------------------------------------------------------------------------------ */

typedef struct sums {
    rlx_micro_sum_fn *f;
    rlx_micro_sum s;
    int64_t a_step, b_step, acc_step, rows_at_once, panels; /* calls: panels of b x groups of rows */
    int64_t rows;
} sums;

static void run_sums(void *user)
{
    sums *u = user;
    for (int64_t p = 0; p < u->panels; p++)
        for (int64_t i = 0; i < u->rows; i += u->rows_at_once) {
            rlx_micro_sum s = u->s;
            s.rows = u->rows_at_once < u->rows - i ? u->rows_at_once : u->rows - i;
            s.a = (const float *)s.a + i / u->rows_at_once * u->a_step;
            s.b = (const float *)s.b + p * u->b_step;
            s.acc = (float *)s.acc + i * s.acc_i + p * u->acc_step;
            u->f(&s);
        }
}

static float *floats(int64_t n)
{
    float *p = aligned_alloc(64, (size_t)n * 4 + 64);
    if (!p)
        bench_die("bench_micro", "no memory");
    for (int64_t i = 0; i < n; i++)
        p[i] = (float)((i * 2654435761u >> 7) % 1000) * 1e-3f - 0.5f;
    return p;
}

static void share(double rate, double most)
{
    if (most > 0 && rate > 0)
        printf("    %.1f %% of the peak\n", 100 * rate / most);
}

/* 128 rows x `columns` x 512, b in panels; a in place or in panels of 8. */
static void bench_panels(const rlx_micro_set *set, bool exact, double most)
{
    enum { ROWS = 128, DEPTH = 512, PANELS = 4 };
    float *a = floats(ROWS * DEPTH), *b = floats(PANELS * DEPTH * 32), *acc = floats(ROWS * 128);
    memset(acc, 0, ROWS * 128 * 4);
    static const int columns[] = { 32, 16, 24, 5 };
    for (int packed = 0; packed < 2; packed++)
        for (int c = 0; c < 4; c++) {
            sums u = { .f = set->contract[exact][RLX_ELEM_F32], .rows = ROWS };
            u.s = (rlx_micro_sum){ .acc = acc, .a = a, .b = b, .acc_i = 128, .acc_j = 1,
                                   .a_i = packed ? 1 : DEPTH, .a_k = packed ? 8 : 1, .b_j = 1,
                                   .b_k = 32, .columns = columns[c], .turns = 1, .depth = DEPTH };
            u.rows_at_once = packed ? 8 : ROWS;
            u.a_step = 8 * DEPTH, u.b_step = DEPTH * 32, u.acc_step = 32, u.panels = PANELS;
            char key[60];
            snprintf(key, sizeof key, "contract %s a %s %d columns", exact ? "exact" : "rounded",
                     packed ? "packed" : "in place", columns[c]);
            share(measure(set->name, key, 2.0 * ROWS * DEPTH * columns[c] * PANELS, "GFLOP/s",
                          run_sums, &u), most);
        }
    free(a), free(b), free(acc);
}

/* One and four rows by a matrix in place, of the second and of the third level of cache. */
static void bench_rows(const rlx_micro_set *set)
{
    for (int64_t n = 256; n <= 1024; n *= 4)
        for (int64_t rows = 1; rows <= 4; rows += 3) {
            float *a = floats(rows * n), *b = floats(n * n), *acc = floats(rows * n);
            sums u = { .f = set->contract[1][RLX_ELEM_F32], .rows = rows, .rows_at_once = rows, .panels = 1 };
            u.s = (rlx_micro_sum){ .acc = acc, .a = a, .b = b, .acc_i = n, .acc_j = 1, .a_i = n,
                                   .a_k = 1, .b_j = 1, .b_k = n, .columns = n, .turns = 1, .depth = n };
            char key[60];
            snprintf(key, sizeof key, "gemv %d rows %dx%d", (int)rows, (int)n, (int)n);
            measure(set->name, key, 4.0 * (double)(n * n), "GB/s", run_sums, &u);
            free(a), free(b), free(acc);
        }
}

/* ---- moves and reductions ------------------------------------------------------------------- */

typedef struct moves {
    rlx_micro_pack_fn *pack;
    rlx_micro_copy_fn *copy;
    rlx_micro_sum_fn *reduce;
    rlx_micro_pack p;
    rlx_micro_box b;
    rlx_micro_sum s;
} moves;

static void run_moves(void *user)
{
    moves *m = user;
    if (m->pack)
        m->pack(&m->p);
    else if (m->copy)
        m->copy(&m->b);
    else
        m->reduce(&m->s);
}

/* GB/s of what is read. */
static void bench_moves(const rlx_micro_set *set)
{
    enum { N = 512 };
    float *from = floats(4 * N * N), *to = floats(4 * N * N);
    double bytes = 4.0 * N * N;
    moves m = { .pack = set->pack[RLX_ELEM_F32][RLX_ELEM_F32] };
    m.p = (rlx_micro_pack){ .dst = to, .src = from, .lanes = N, .width = N, .lane_stride = { 0, 1 },
                            .depth = { 1, 1, N }, .depth_stride = { 0, 0, N }, .panel = 32 };
    measure(set->name, "pack 512x512 lanes contiguous", bytes, "GB/s", run_moves, &m);
    m.p.panel = 8;
    measure(set->name, "pack 512x512 by 8, lanes contiguous", bytes, "GB/s", run_moves, &m);
    m.p.lane_stride[1] = N, m.p.depth_stride[2] = 1;
    measure(set->name, "pack 512x512 by 8, depth contiguous", bytes, "GB/s", run_moves, &m);
    m.p.panel = 32;
    measure(set->name, "pack 512x512 depth contiguous", bytes, "GB/s", run_moves, &m);
    m.p.lane_stride[1] = N + 4;
    measure(set->name, "pack 512x516 depth contiguous", bytes, "GB/s", run_moves, &m);
    /* 3 x 3 windows of 32 channels of 28 x 28 in 30 x 30, by what kernels take for words */
    if (set->pack_words)
        m.pack = set->pack_words;
    m.p = (rlx_micro_pack){ .dst = to, .src = from, .lanes = 784, .width = 28,
                            .lane_stride = { 30, 1 }, .depth = { 32, 3, 3 },
                            .depth_stride = { 900, 30, 1 }, .panel = 32 };
    measure(set->name, "pack windows 28x28", 784 * 288 * 4, "GB/s", run_moves, &m);
    m.p.width = 7, m.p.lanes = 49, m.p.lane_stride[0] = 9, m.p.depth_stride[0] = 81, m.p.depth_stride[1] = 9;
    measure(set->name, "pack windows 7x7", 49 * 288 * 4, "GB/s", run_moves, &m);
    m = (moves){ .pack = set->pack[RLX_ELEM_F32][RLX_ELEM_F16] };
    m.p = (rlx_micro_pack){ .dst = to, .src = from, .lanes = N, .width = N, .lane_stride = { 0, 1 },
                            .depth = { 1, 1, N }, .depth_stride = { 0, 0, N }, .panel = 32 };
    measure(set->name, "pack 512x512 float16", bytes / 2, "GB/s", run_moves, &m);
    m.pack = set->pack[RLX_ELEM_F32][RLX_ELEM_BF16];
    measure(set->name, "pack 512x512 bfloat16", bytes / 2, "GB/s", run_moves, &m);
    m = (moves){ .copy = set->copy[RLX_ELEM_F32][RLX_ELEM_F32] };
    m.b = (rlx_micro_box){ to, from, { 1, 1, 2 * N, 2 * N }, { 0, 0, 2 * N, 1 }, { 0, 0, 1, 2 * N } };
    measure(set->name, "transpose 1024x1024", 4 * bytes, "GB/s", run_moves, &m);
    m.b = (rlx_micro_box){ to, from, { 8, 128, 1, 64 }, { 128 * 64, 64, 0, 1 }, { 64, 512, 0, 1 } };
    measure(set->name, "transpose 0213 of 128x8x64", 4.0 * 128 * 8 * 64, "GB/s", run_moves, &m);
    m = (moves){ .reduce = set->reduce[RLX_KERNEL_REDUCE_ADD][RLX_ELEM_F32] };
    m.s = (rlx_micro_sum){ .acc = to, .a = from, .acc_i = 32, .acc_j = 1, .a_i = 2 * N, .a_j = 1,
                           .a_k = 32, .rows = 64, .turns = 1, .columns = 32, .depth = 2 * N / 32 };
    memset(to, 0, 1 << 16);
    measure(set->name, "reduce add 64 rows of 1024, 32 sums", 4.0 * 64 * 2 * N, "GB/s", run_moves, &m);
    m.s.rows = 1, m.s.depth = N * N / 32;
    measure(set->name, "reduce add one row of 262144, 32 sums", bytes, "GB/s", run_moves, &m);
    m.s = (rlx_micro_sum){ .acc = to, .a = from, .acc_j = 1, .a_j = 1, .a_k = 2 * N, .rows = 1,
                           .turns = 1, .columns = 2 * N, .depth = 2 * N };
    measure(set->name, "reduce add 1024x1024 over rows", 4 * bytes, "GB/s", run_moves, &m);
    m.reduce = set->reduce[RLX_KERNEL_REDUCE_MAX][RLX_ELEM_F32];
    measure(set->name, "reduce max 1024x1024 over rows", 4 * bytes, "GB/s", run_moves, &m);
    m.s = (rlx_micro_sum){ .acc = to, .a = from, .acc_i = 1, .a_i = 2 * N, .a_k = 1, .rows = 64,
                           .turns = 1, .columns = 1, .depth = 2 * N };
    measure(set->name, "reduce max 64 rows of 1024", 4.0 * 64 * 2 * N, "GB/s", run_moves, &m);
    free(from), free(to);
}

int main(int argc, char **argv)
{
    static const char *const names[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };
    only = argc > 2 ? argv[2] : NULL;
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++) {
        const rlx_micro_set *set = rlx_micro_find(names[i]);
        if (!set || (argc > 1 && strcmp(argv[1], names[i]) != 0))
            continue;
        double most = peak(names[i]);
        bench_panels(set, true, most);
        bench_panels(set, false, most);
        bench_rows(set);
        bench_moves(set);
    }
    return 0;
}
