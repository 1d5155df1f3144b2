/*- test_schedule_random.c: random sums of products from a seeded generator, with their loops
 * scheduled: the evaluator and the kernels of both programs give the same bits (kernel_case.h), and
 * what is scheduled prints and reads back as it is.
 *
 *     C[b.., i.., j..] += A[b.., i.., k..] * B[b.., k.., j..]      dimensions in any order
 *     C[n, f, y, x] += A[n, g + c, y * s + u * d, x * s + v * d] * B[f, c, u, v]
 *
 * RELAX_LONG=1 runs many more; SCHEDULE_SEED=n runs one and shows its schedule. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel_c.h"
#include "schedule/schedule.h"
#include "text_module.h"

/* What a loop moves. */
enum { OF_C = 1, OF_A = 2, OF_B = 4 };
typedef struct axis { const rlx_prim *extent, *var; int64_t size; unsigned moves; } axis;
typedef struct gen {
    rlx_tir t;
    rlx_context *ctx;
    uint64_t seed;
    axis axes[8];
    size_t num_axes, num_sizes;
    
    bool symbolic, exact;
    rlx_dtype dtype, a_dtype, b_dtype;
    kc c;
} gen;

static uint32_t roll(gen *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static void shuffle(gen *g, void *items, size_t size, size_t n)
{
    unsigned char room[sizeof(axis)], *p = items;
    for (; n > 1; n--) {
        size_t k = roll(g, (uint32_t)n);
        memcpy(room, p + k * size, size);
        memcpy(p + k * size, p + (n - 1) * size, size);
        memcpy(p + (n - 1) * size, room, size);
    }
}

static int64_t any_size(gen *g, int64_t budget)
{
    /* the edges of panels and tiles, and whatever lies between */
    static const int64_t edges[] = { 1, 7, 8, 9, 31, 32, 33, 64, 127, 128, 129, 160, 513 };
    int64_t v = roll(g, 3) ? 1 + (int64_t)roll(g, 70) : edges[roll(g, RLX_COUNT(edges))];
    return v <= budget ? v : 1 + (int64_t)roll(g, (uint32_t)budget);
}

static void any_dtypes(gen *g)
{
    static const rlx_dtype wide[] = { RELAX_FLOAT32, RELAX_FLOAT32, RELAX_FLOAT32, RELAX_FLOAT64,
                                      RELAX_INT32,   RELAX_INT32,   RELAX_INT64 };
    static const rlx_dtype narrow[] = { RELAX_FLOAT16, RELAX_BFLOAT16, RELAX_FLOAT8_E5M2 };
    g->dtype = g->a_dtype = g->b_dtype = wide[roll(g, RLX_COUNT(wide))];
    if (g->dtype == RELAX_FLOAT32 && roll(g, 4) == 0) {
        g->a_dtype = narrow[roll(g, 3)];
        if (roll(g, 2))
            g->b_dtype = narrow[roll(g, 3)];
    }
    if (g->dtype == RELAX_INT32 && roll(g, 4)) {
        g->a_dtype = roll(g, 2) ? RELAX_INT8 : RELAX_UINT8;
        g->b_dtype = roll(g, 8) == 0 ? RELAX_INT16 : roll(g, 2) ? RELAX_INT8 : RELAX_UINT8;
    }
    g->exact = rlx_dtype_is_float(g->dtype) && roll(g, 3) == 0;
    g->symbolic = roll(g, 3) == 0;
}

static const rlx_prim *size_of(gen *g, int64_t size)
{
    char name[4] = { 'n', (char)('0' + g->num_sizes), 0 };
    if (!g->symbolic || roll(g, 2) || g->num_sizes == 4)
        return rlx_tir_int(&g->t, size);
    const rlx_prim *v = rlx_tir_dim(&g->t, name);
    rlx_tir_scalar_var(&g->t, v);
    kc_int(&g->c, RELAX_INT64, size);
    g->num_sizes++;
    return v;
}

/* C = C + a * b at the point of the loops that are open. */
static void accumulate(gen *g, const rlx_buffer *c, rlx_prim_list at, const rlx_prim *a,
                       const rlx_prim *b)
{
    rlx_tir *t = &g->t;
    const rlx_prim *own = rlx_tir_load(t, c, at);
    a = rlx_tir_cast(t, g->dtype, a);
    b = rlx_tir_cast(t, g->dtype, b);
    const rlx_prim *terms[3] = { a, b, own };
    if (roll(g, 2))
        terms[0] = b, terms[1] = a;
    rlx_tir_store(t, c, at,
                  g->exact ? rlx_prim_call_z(g->ctx, g->dtype, "fma", terms, 3)
                           : rlx_tir_add(t, own, rlx_tir_mul(t, terms[0], terms[1])));
}

/* ---- products of matrices, transposed and batched in any way --------------------------------- */

static const rlx_buffer *operand(gen *g, const char *name, rlx_dtype dtype, unsigned of,
                                 size_t *dims, size_t *ndim)
{
    const rlx_prim *shape[8];
    int64_t sizes[8];
    *ndim = 0;
    for (size_t i = 0; i < g->num_axes; i++)
        if (g->axes[i].moves & of)
            dims[(*ndim)++] = i;
    shuffle(g, dims, sizeof *dims, roll(g, 3) ? *ndim : 0);
    for (size_t i = 0; i < *ndim; i++) {
        /* sometimes there is more of it than is read */
        bool more = of != OF_C && roll(g, 8) == 0;
        const axis *x = &g->axes[dims[i]];
        shape[i] = more ? rlx_tir_add(&g->t, x->extent, rlx_tir_int(&g->t, 3)) : x->extent;
        sizes[i] = x->size + (more ? 3 : 0);
    }
    if (*ndim <= 4)
        kc_tensor(&g->c, dtype, (int32_t)*ndim, sizes);
    return rlx_tir_param(&g->t, name, dtype, RLX_TIR_ITEMS(shape, *ndim));
}

static void add_axes(gen *g, size_t count, unsigned moves, int64_t *budget)
{
    for (size_t i = 0; i < count && g->num_axes < 6; i++) {
        axis *x = &g->axes[g->num_axes++];
        x->size = any_size(g, *budget);
        x->moves = moves;
        *budget = *budget / x->size > 0 ? *budget / x->size : 1;
    }
}

/* False: with more dimensions than an argument of a test has. */
static bool product(gen *g)
{
    rlx_tir *t = &g->t;
    int64_t budget = roll(g, 12) ? 12000 : 150000;
    size_t dims[3][8], ndim[3];
    const rlx_buffer *b[3];
    const rlx_prim *at[3][8];
    uint32_t order = roll(g, 6);
    for (uint32_t i = 0; i < 3; i++) { /* who gets most of the budget */
        uint32_t what = (order + i * (order < 3 ? 1 : 2)) % 3;
        if (what == 0)
            add_axes(g, roll(g, 4) ? 1 : roll(g, 3), OF_C | OF_A, &budget);
        else if (what == 1)
            add_axes(g, roll(g, 4) ? 1 : roll(g, 3), OF_C | OF_B, &budget);
        else
            add_axes(g, roll(g, 4) ? 1 : roll(g, 4), OF_A | OF_B, &budget);
    }
    if (roll(g, 3) == 0)
        add_axes(g, 1, roll(g, 3) ? OF_C | OF_A | OF_B : OF_C | OF_B, &budget);
    shuffle(g, g->axes, sizeof *g->axes, g->num_axes);
    for (size_t i = 0; i < g->num_axes; i++)
        g->axes[i].extent = size_of(g, g->axes[i].size);
    b[1] = operand(g, "A", g->a_dtype, OF_A, dims[1], &ndim[1]);
    b[2] = operand(g, "B", g->b_dtype, OF_B, dims[2], &ndim[2]);
    b[0] = operand(g, "C", g->dtype, OF_C, dims[0], &ndim[0]);
    if (ndim[0] > 4 || ndim[1] > 4 || ndim[2] > 4)
        return false;
    bool block = roll(g, 2);
    if (block)
        rlx_tir_begin_block(t, "product");
    for (size_t i = 0; i < g->num_axes; i++) {
        axis *x = &g->axes[i];
        char name[4] = { 'i', (char)('0' + i), 0 };
        x->var = !block ? rlx_tir_for(t, name, NULL, x->extent, (int)RLX_FOR_SERIAL)
                 : x->moves & OF_C ? rlx_tir_spatial(t, name, x->extent)
                                   : rlx_tir_reduce(t, name, x->extent);
    }
    for (int i = 0; i < 3; i++)
        for (size_t d = 0; d < ndim[i]; d++)
            at[i][d] = g->axes[dims[i][d]].var;
    if (block && roll(g, 4))
        rlx_tir_init(t, b[0], RLX_TIR_ITEMS(at[0], ndim[0]), rlx_tir_number(t, g->dtype, 0));
    accumulate(g, b[0], RLX_TIR_ITEMS(at[0], ndim[0]),
               rlx_tir_load(t, b[1], RLX_TIR_ITEMS(at[1], ndim[1])),
               rlx_tir_load(t, b[2], RLX_TIR_ITEMS(at[2], ndim[2])));
    for (size_t i = 0; !block && i < g->num_axes; i++)
        rlx_tir_end_for(t);
    if (block)
        rlx_tir_end_block(t);
    return true;
}

/* ---- convolutions ---------------------------------------------------------------------------- */

enum { BATCH, FEATURE, ROW, COLUMN, CHANNEL, KERNEL_ROW, KERNEL_COLUMN, NUM_CONV };

typedef struct conv { int64_t size[NUM_CONV], stride, dilation, groups, pad; bool last; } conv;

static rlx_prim_list in_layout(const conv *c, const rlx_prim **out, const rlx_prim *n,
                               const rlx_prim *f, const rlx_prim *y, const rlx_prim *x)
{
    const rlx_prim *first[4] = { n, f, y, x }, *last[4] = { n, y, x, f };
    memcpy(out, c->last ? last : first, sizeof first);
    return RLX_TIR_ITEMS(out, 4);
}

static int64_t input_size(const conv *c, int out, int kernel)
{
    return (c->size[out] - 1) * c->stride + (c->size[kernel] - 1) * c->dilation + 1;
}

/* The input with a margin of zeros. */
static const rlx_buffer *padded(gen *g, const conv *c, const rlx_buffer *a, int64_t n, int64_t f,
                                int64_t h, int64_t w)
{
    rlx_tir *t = &g->t;
    const rlx_prim *shape[4], *at[4], *from[4], *v[4];
    int64_t sizes[4] = { n, f, h, w };
    in_layout(c, shape, rlx_tir_int(t, n), rlx_tir_int(t, f), rlx_tir_int(t, h), rlx_tir_int(t, w));
    const rlx_buffer *p = rlx_tir_alloc(t, "P", g->a_dtype, RLX_TIR_ITEMS(shape, 4));
    rlx_tir_begin_block(t, "pad");
    for (int i = 0; i < 4; i++) {
        char name[4] = { 'p', (char)('0' + i), 0 };
        v[i] = rlx_tir_spatial(t, name, rlx_tir_int(t, sizes[i]));
    }
    const rlx_prim *pad = rlx_tir_int(t, c->pad), *y = rlx_tir_sub(t, v[2], pad),
                   *x = rlx_tir_sub(t, v[3], pad), *inside = NULL;
    for (int i = 2; i < 4; i++) {
        const rlx_prim *here = rlx_tir_and(
            t, rlx_tir_ge(t, v[i], pad),
            rlx_tir_lt(t, v[i], rlx_tir_int(t, sizes[i] - c->pad)));
        inside = inside ? rlx_tir_and(t, inside, here) : here;
    }
    in_layout(c, at, v[0], v[1], v[2], v[3]);
    in_layout(c, from, v[0], v[1], y, x);
    rlx_tir_store(t, p, RLX_TIR_ITEMS(at, 4),
                  rlx_tir_if_then_else(t, inside, rlx_tir_load(t, a, RLX_TIR_ITEMS(from, 4)),
                                       rlx_tir_number(t, g->a_dtype, 0)));
    rlx_tir_end_block(t);
    return p;
}

static bool convolution(gen *g)
{
    rlx_tir *t = &g->t;
    conv c = { .size = { 1 + roll(g, 2), 1 + roll(g, 40), 1 + roll(g, 9), roll(g, 3) ? 1 + roll(g, 9) : 16 + roll(g, 33),
                         1 + roll(g, 5), 1 + roll(g, 4), 1 + roll(g, 4) },
               .stride = 1 + roll(g, 3),
               .dilation = 1 + roll(g, 2),
               .groups = roll(g, 3) ? 1 : 1 + roll(g, 3),
               .last = roll(g, 2) };
    if (!roll(g, 4)) { /* a window for each channel */
        c.groups = 1 + roll(g, 60);
        c.size[FEATURE] = c.size[CHANNEL] = 1;
    }
    const rlx_prim *v[NUM_CONV], *shape[4], *at[4], *in[4], *w[4];
    static const char *const names[NUM_CONV] = { "n", "f", "y", "x", "c", "u", "v" };
    int64_t h = input_size(&c, ROW, KERNEL_ROW), wide = input_size(&c, COLUMN, KERNEL_COLUMN),
            channels = c.size[CHANNEL] * c.groups, features = c.size[FEATURE] * c.groups;
    c.pad = roll(g, 2) && h > 2 && wide > 2 ? 1 : 0;
    int64_t in_size[4] = { c.size[BATCH], channels, h - 2 * c.pad, wide - 2 * c.pad };
    int64_t out_size[4] = { c.size[BATCH], features, c.size[ROW], c.size[COLUMN] };
    int64_t args[3][4] = { { 0 }, { features, c.size[CHANNEL], c.size[KERNEL_ROW],
                                    c.size[KERNEL_COLUMN] } };
    for (int i = 0; i < 4; i++) {
        int to = !c.last ? i : i == 0 ? 0 : i == 1 ? 3 : i - 1;
        args[0][to] = in_size[i];
        args[2][to] = out_size[i];
    }
    const rlx_buffer *b[3];
    static const char *const buffers[3] = { "A", "B", "C" };
    const rlx_dtype dtypes[3] = { g->a_dtype, g->b_dtype, g->dtype };
    for (int k = 0; k < 3; k++) {
        for (int i = 0; i < 4; i++)
            shape[i] = rlx_tir_int(t, args[k][i]);
        kc_tensor(&g->c, dtypes[k], 4, args[k]);
        b[k] = rlx_tir_param(t, buffers[k], dtypes[k], RLX_TIR_ITEMS(shape, 4));
    }
    const rlx_buffer *a = c.pad ? padded(g, &c, b[0], c.size[BATCH], channels, h, wide) : b[0];
    rlx_tir_begin_block(t, "conv");
    for (int i = 0; i < NUM_CONV; i++) {
        const rlx_prim *extent = rlx_tir_int(t, i == FEATURE ? features : c.size[i]);
        v[i] = i < CHANNEL ? rlx_tir_spatial(t, names[i], extent)
                           : rlx_tir_reduce(t, names[i], extent);
    }
    const rlx_prim *stride = rlx_tir_int(t, c.stride), *dilation = rlx_tir_int(t, c.dilation),
                   *y = rlx_tir_add(t, rlx_tir_mul(t, v[ROW], stride),
                                    rlx_tir_mul(t, v[KERNEL_ROW], dilation)),
                   *x = rlx_tir_add(t, rlx_tir_mul(t, v[COLUMN], stride),
                                    rlx_tir_mul(t, v[KERNEL_COLUMN], dilation)),
                   *channel = v[CHANNEL];
    if (c.groups > 1)
        channel = rlx_tir_add(
            t, rlx_tir_mul(t, rlx_tir_floor_div(t, v[FEATURE], rlx_tir_int(t, c.size[FEATURE])),
                           rlx_tir_int(t, c.size[CHANNEL])),
            channel);
    rlx_prim_list place = in_layout(&c, at, v[BATCH], v[FEATURE], v[ROW], v[COLUMN]);
    in_layout(&c, in, v[BATCH], channel, y, x);
    w[0] = v[FEATURE], w[1] = v[CHANNEL], w[2] = v[KERNEL_ROW], w[3] = v[KERNEL_COLUMN];
    rlx_tir_init(t, b[2], place, rlx_tir_number(t, g->dtype, 0));
    accumulate(g, b[2], place, rlx_tir_load(t, a, RLX_TIR_ITEMS(in, 4)),
               rlx_tir_load(t, b[1], RLX_TIR_ITEMS(w, 4)));
    rlx_tir_end_block(t);
    return true;
}

/* ---- all of it ------------------------------------------------------------------------------- */

static size_t num_seen, num_scheduled, num_packed, num_in_range;

static void one_program(uint64_t seed, bool show)
{
    gen *g = calloc(1, sizeof *g);
    g->seed = seed * 2654435761u + 1;
    g->ctx = rlx_context_create(NULL, 0);
    g->c.seed = seed;
    rlx_tir_begin(&g->t, g->ctx, RLX_NO_PLACE);
    any_dtypes(g);
    if (roll(g, 3) ? product(g) : convolution(g)) {
        const rlx_prim_func *f = rlx_tir_end(&g->t), *s = f ? rlx_schedule(g->ctx, f) : NULL;
        if (s && (s != f || show))
            text_check_prim_func(g->ctx, s, show);
        num_seen++;
        num_scheduled += s != f;
        assert_int_equal(kc_run(g->ctx, f, &g->c, NULL), RLX_CODE_NONE);
    } else
        (void)rlx_tir_end(&g->t); /* it holds memory of its own */
    kc_free(&g->c);
    rlx_context_release(g->ctx);
    free(g);
}

static void random_contractions(void **state)
{
    bool more = getenv("RELAX_LONG") != NULL;
    kc_each_seed("SCHEDULE_SEED", more ? 6000 : 250, more ? 20 : 16, one_program);
    print_message("%zu of %zu functions are scheduled\n", num_scheduled, num_seen);
    if (!getenv("SCHEDULE_SEED"))
        assert_true(num_scheduled * 5 > num_seen * 2);
}

/* ---- panels that are written by hand ------------------------------------------------------------ */

/* a + b * c with a literal c; NULL for a is 0. */
static const rlx_prim *plus(gen *g, const rlx_prim *a, const rlx_prim *b, int64_t c)
{
    b = rlx_tir_mul(&g->t, b, rlx_tir_int(&g->t, c));
    return a ? rlx_tir_add(&g->t, a, b) : b;
}

/* What is less than what, so that lanes are left out; NULL: none are. */
static const rlx_prim *any_guard(gen *g, const rlx_prim *lane, int64_t lanes)
{
    rlx_tir *t = &g->t;
    int64_t limit = roll(g, 5) ? (int64_t)roll(g, (uint32_t)lanes + 4) : -(int64_t)roll(g, 5);
    const rlx_prim *end = roll(g, 2) ? rlx_tir_int(t, limit) : size_of(g, limit > 0 ? limit : 1);
    switch (roll(g, 10)) {
    case 0: return rlx_tir_le(t, lane, end);
    case 1: return rlx_tir_gt(t, end, lane);
    case 2:
    case 3: return NULL;
    case 4: return rlx_tir_lt(t, lane, rlx_tir_sub(t, end, g->axes[roll(g, 2)].var));
    default: return rlx_tir_lt(t, lane, end);
    }
}

/*-
 *     for p, d.., l:    P[p, d.., l] = X[..] or if_then_else(.. < .., X[..], 0)
 *
 * The indices of X are sums of the loops, of the lane p * W + l + c, or of its two digits. Its sizes
 * fit, or fit nearly. */
static bool panels(gen *g)
{
    rlx_tir *t = &g->t;
    int64_t width = roll(g, 2) ? 32 : 8, shape[4] = { 1 + roll(g, 3), 1, 1, width }, sizes[3];
    const rlx_prim *dims[4], *at[4], *of[3], *index[3];
    size_t depth = roll(g, 3), ndim = 1 + roll(g, 3), n = 0;
    g->symbolic = roll(g, 2);
    g->axes[n++].size = shape[0];
    for (size_t i = 0; i < depth; i++)
        g->axes[n++].size = shape[1 + i] = 1 + roll(g, 5);
    g->axes[n].size = shape[1 + depth] = width;
    g->num_axes = n + 1;
    for (size_t i = 0; i < g->num_axes; i++)
        dims[i] = g->axes[i].extent =
            i == n ? rlx_tir_int(t, width) : size_of(g, g->axes[i].size);
    int64_t first = roll(g, 3) ? 0 : (int64_t)roll(g, 9) - 4, lanes = shape[0] * width,
            base = 1 + roll(g, 40);
    const rlx_prim *number = roll(g, 2) ? rlx_tir_int(t, base) : size_of(g, base);
    bool faulty = roll(g, 4) == 0;
    /* sizes are needed before the loops: the greatest index of each dimension */
    int64_t step[3][4], digit[3], offset[3];
    for (size_t d = 0; d < ndim; d++) {
        int64_t most = 0, least = 0;
        for (size_t i = 0; i < g->num_axes; i++) {
            step[d][i] = i == n || roll(g, 2) ? 0 : (int64_t)roll(g, 4) - 1;
            int64_t way = step[d][i] * (g->axes[i].size - 1);
            *(way < 0 ? &least : &most) += way;
        }
        digit[d] = roll(g, 4); /* 1: the lane, 2, 3: its digits */
        most += digit[d] == 1 ? lanes - 1 + first : digit[d] == 2 ? (lanes + first) / base
              : digit[d] == 3 ? base - 1 : 0;
        least += digit[d] == 1 ? first : digit[d] == 2 && first < 0 ? -1 : 0;
        offset[d] = least < 0 ? -least : roll(g, 3) ? 0 : (int64_t)roll(g, 4);
        sizes[d] = most + offset[d] + 1 - (faulty && roll(g, 2) ? 1 + roll(g, 4) : 0);
        sizes[d] = sizes[d] < 1 ? 1 : sizes[d];
        of[d] = roll(g, 3) ? rlx_tir_int(t, sizes[d]) : size_of(g, sizes[d]);
    }
    rlx_dtype from = roll(g, 3) ? g->dtype : g->a_dtype;
    kc_tensor(&g->c, from, (int32_t)ndim, sizes);
    const rlx_buffer *x = rlx_tir_param(t, "X", from, RLX_TIR_ITEMS(of, ndim));
    kc_tensor(&g->c, g->dtype, (int32_t)g->num_axes, shape);
    const rlx_buffer *p = rlx_tir_param(t, "P", g->dtype, RLX_TIR_ITEMS(dims, g->num_axes));
    for (size_t i = 0; i < g->num_axes; i++) {
        char name[4] = { i == n ? 'l' : i ? 'd' : 'p', i && i < n ? (char)('0' + i) : 0, 0 };
        at[i] = g->axes[i].var =
            rlx_tir_for(t, name, NULL, g->axes[i].extent, (int)RLX_FOR_SERIAL);
    }
    if (roll(g, 10) == 0)
        number = rlx_tir_add(t, number, at[roll(g, (uint32_t)n)]);
    const rlx_prim *lane = rlx_tir_add(t, plus(g, NULL, at[0], width), at[n]),
                   *shifted = rlx_tir_add(t, lane, rlx_tir_int(t, first));
    for (size_t d = 0; d < ndim; d++) {
        const rlx_prim *e = digit[d] == 1   ? shifted
                            : digit[d] == 2 ? rlx_tir_floor_div(t, shifted, number)
                            : digit[d] == 3 ? rlx_tir_floor_mod(t, shifted, number)
                                            : NULL;
        for (size_t i = 0; i < n; i++)
            e = step[d][i] ? plus(g, e, at[i], step[d][i]) : e;
        const rlx_prim *more = rlx_tir_int(t, offset[d]);
        index[d] = e ? rlx_tir_add(t, e, more) : more;
    }
    const rlx_prim *value = rlx_tir_cast(t, g->dtype, rlx_tir_load(t, x, RLX_TIR_ITEMS(index, ndim))),
                   *guard = any_guard(g, roll(g, 3) ? lane : shifted, lanes);
    static const double others[] = { 0, 0, 0, 0, -0.0, 1 };
    if (guard)
        value = rlx_tir_if_then_else(t, guard, value,
                                     rlx_tir_number(t, g->dtype, others[roll(g, 6)]));
    rlx_tir_store(t, p, RLX_TIR_ITEMS(at, g->num_axes), value);
    for (size_t i = 0; i < g->num_axes; i++)
        rlx_tir_end_for(t);
    return true;
}

static void one_panel(uint64_t seed, bool show)
{
    gen *g = calloc(1, sizeof *g);
    g->seed = seed * 2654435761u + 1;
    g->ctx = rlx_context_create(NULL, 0);
    g->c.seed = seed;
    rlx_tir_begin(&g->t, g->ctx, RLX_NO_PLACE);
    any_dtypes(g);
    panels(g);
    const rlx_prim_func *f = rlx_tir_end(&g->t);
    if (show)
        text_check_prim_func(g->ctx, f, true);
    rlx_buf bytes, text;
    kc_write(g->ctx, f, &bytes);
    rlx_buf_init(&text, &g->ctx->memory);
    rlx_kernel_disassemble((const uint8_t *)bytes.data, bytes.len, &text);
    if (show)
        printf("%s", text.data);
    num_packed += strstr(text.data, "pack") != NULL;
    rlx_buf_free(&bytes);
    rlx_buf_free(&text);
    num_in_range += kc_run(g->ctx, f, &g->c, NULL) == RLX_CODE_NONE;
    kc_free(&g->c);
    rlx_context_release(g->ctx);
    free(g);
}

static void random_panels(void **state)
{
    bool more = getenv("RELAX_LONG") != NULL;
    uint64_t count = more ? 20000 : 800;
    kc_each_seed("PANEL_SEED", count, more ? 60 : 40, one_panel);
    print_message("%zu of %zu nests fill panels, %zu are in range\n", num_packed, (size_t)count,
                  num_in_range);
    if (!getenv("PANEL_SEED"))
        assert_true(num_packed * 3 > count && num_in_range * 3 > count);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_contractions),
                                        cmocka_unit_test(random_panels) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
