/*- test_epilogue.c: random sums of products with what is computed of their elements behind them, as one function: the
 * evaluator and the kernels of the function as it is and scheduled give the same bits (kernel_case.h).
 *
 *     C[b.., i, j] += A[b.., i, k] * B[b.., k, j]         A and B in any order of their dimensions
 *     C[n, f, y, x] += A[n, c, y * s + u, x * s + v] * B[f, c, u, v]
 *     D[..] = C[..] + bias[j]                             any number of nests: chains, results beside each other, other types,
 *     Y[..] = max(D[..] * R[..], 0)                       dimensions exchanged, elements of elsewhere, sums over rows
 *
 * RELAX_LONG=1 runs many more; EPILOGUE_SEED=n runs one and shows its schedule. */
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

enum { MOST_TENSORS = 8 };

/* What has the shape of C, its dimensions in any order. */
typedef struct tensor { const rlx_buffer *buffer; size_t order[4]; } tensor;

typedef struct gen {
    rlx_tir t;
    rlx_context *ctx;
    uint64_t seed;
    kc c;
    rlx_dtype dtype, narrow;         /* of the sum, and of its operands */
    bool symbolic, last;
    bool begins;                     /* C has a first value */
    int64_t size[4];                 /* of C */
    const rlx_prim *extent[4];
    size_t ndim, num_sizes;
    tensor made[MOST_TENSORS];       /* C, and what is made of it */
    size_t num_made;
} gen;

static size_t num_seen, num_joined;

static uint32_t roll(gen *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static int64_t any_size(gen *g, int64_t budget)
{
    /* the edges of panels and tiles, and whatever lies between */
    static const int64_t edges[] = { 1, 7, 8, 17, 31, 33, 64, 127, 129, 160, 257, 300 };
    int64_t v = roll(g, 2) ? 1 + (int64_t)roll(g, 60) : edges[roll(g, RLX_COUNT(edges))];
    return v <= budget ? v : 1 + (int64_t)roll(g, (uint32_t)budget);
}

/* A number, or a size that the call knows. */
static const rlx_prim *size_of(gen *g, int64_t size)
{
    char name[4] = { 'n', (char)('0' + g->num_sizes), 0 };
    if (!g->symbolic || roll(g, 2) || g->num_sizes == 2)
        return rlx_tir_int(&g->t, size);
    const rlx_prim *v = rlx_tir_dim(&g->t, name);
    rlx_tir_scalar_var(&g->t, v);
    kc_int(&g->c, RELAX_INT64, size);
    g->num_sizes++;
    return v;
}

static bool is_full(const gen *g) { return g->c.count == KC_MAX_ARGS; }

static const rlx_buffer *param(gen *g, const char *name, rlx_dtype dtype, size_t ndim,
                               const rlx_prim *const *extents, const int64_t *sizes)
{
    kc_tensor(&g->c, dtype, (int32_t)ndim, sizes);
    return rlx_tir_param(&g->t, name, dtype, RLX_TIR_ITEMS(extents, ndim));
}

/* Where C is: a temporary, or a result. */
static const rlx_buffer *accumulator(gen *g)
{
    g->begins = roll(g, 8);
    return g->begins ? rlx_tir_alloc(&g->t, "C", g->dtype, RLX_TIR_ITEMS(g->extent, g->ndim))
                      : param(g, "C", g->dtype, g->ndim, g->extent, g->size);
}

static void accumulate(gen *g, const rlx_buffer *c, const rlx_prim *const *at, const rlx_prim *a,
                       const rlx_prim *b)
{
    rlx_tir *t = &g->t;
    rlx_prim_list place = RLX_TIR_ITEMS(at, g->ndim);
    if (g->begins || roll(g, 2))
        rlx_tir_init(t, c, place, rlx_tir_number(t, g->dtype, roll(g, 5) ? 0 : 3));
    a = rlx_tir_cast(t, g->dtype, a);
    b = rlx_tir_cast(t, g->dtype, b);
    rlx_tir_store(t, c, place, rlx_tir_add(t, rlx_tir_load(t, c, place), rlx_tir_mul(t, a, b)));
}

/* ---- sums ------------------------------------------------------------------------------------ */

/* Two dimensions behind `batch` others, exchanged or not. */
static const rlx_buffer *matrix(gen *g, const char *name, size_t batch, const rlx_prim *row,
                                int64_t rows, const rlx_prim *column, int64_t columns, bool turned)
{
    const rlx_prim *extents[4];
    int64_t sizes[4];
    for (size_t i = 0; i < batch; i++)
        extents[i] = g->extent[i], sizes[i] = g->size[i];
    extents[batch + turned] = row, sizes[batch + turned] = rows;
    extents[batch + !turned] = column, sizes[batch + !turned] = columns;
    return param(g, name, g->narrow, batch + 2, extents, sizes);
}

static const rlx_prim *element(gen *g, const rlx_buffer *b, size_t batch, const rlx_prim *const *v,
                               const rlx_prim *row, const rlx_prim *column, bool turned)
{
    const rlx_prim *at[4];
    for (size_t i = 0; i < batch; i++)
        at[i] = v[i];
    at[batch + turned] = row;
    at[batch + !turned] = column;
    return rlx_tir_load(&g->t, b, RLX_TIR_ITEMS(at, batch + 2));
}

static const rlx_buffer *product(gen *g)
{
    rlx_tir *t = &g->t;
    const rlx_prim *v[5];
    static const char *const names[] = { "b", "h", "i", "j" };
    int64_t budget = roll(g, 12) ? 15000 : 150000,
            depth = roll(g, 6) ? 1 + (int64_t)roll(g, 40) : roll(g, 6) ? 800 + (int64_t)roll(g, 500) : 0;
    size_t batch = roll(g, 4) ? 0 : 1 + roll(g, 2);
    bool turned[2] = { roll(g, 3) == 0, roll(g, 3) == 0 };
    g->ndim = batch + 2;
    budget /= depth ? depth : 1;
    depth = depth || g->symbolic ? depth : 1;
    for (size_t i = g->ndim; i-- > 0;) {
        g->size[i] = i < batch ? 1 + (int64_t)roll(g, 3) : any_size(g, budget > 1 ? budget : 1);
        budget = budget / g->size[i] + 1;
    }
    for (size_t i = 0; i < g->ndim; i++)
        g->extent[i] = size_of(g, g->size[i]);
    const rlx_prim *steps = size_of(g, depth);
    if (steps->kind == RLX_NODE_INT_IMM && !depth)
        return NULL;
    const rlx_buffer *a = matrix(g, "A", batch, g->extent[batch], g->size[batch], steps, depth, turned[0]),
                     *b = matrix(g, "B", batch, steps, depth, g->extent[batch + 1],
                                 g->size[batch + 1], turned[1]),
                     *c = accumulator(g);
    rlx_tir_begin_block(t, "product");
    for (size_t i = 0; i < g->ndim; i++)
        v[i] = rlx_tir_spatial(t, names[i + 2 - batch], g->extent[i]);
    v[g->ndim] = rlx_tir_reduce(t, "k", steps);
    accumulate(g, c, v, element(g, a, batch, v, v[batch], v[g->ndim], turned[0]),
               element(g, b, batch, v, v[g->ndim], v[batch + 1], turned[1]));
    rlx_tir_end_block(t);
    return c;
}

/* channels first or last; of one channel each: a window */
static const rlx_buffer *convolution(gen *g)
{
    enum { N, F, Y, X, CHANNEL, U, V, NUM };
    rlx_tir *t = &g->t;
    int64_t size[NUM] = { 1 + roll(g, 2), 1 + roll(g, 40), 1 + roll(g, 12), 1 + roll(g, 12),
                          1 + roll(g, 5), 1 + roll(g, 3), 1 + roll(g, 3) },
            stride = 1 + roll(g, 2);
    bool window = roll(g, 4) == 0;
    const rlx_prim *v[NUM], *in[4], *at[4], *shape[4];
    const size_t order[2][4] = { { N, F, Y, X }, { N, Y, X, F } };
    int64_t in_size[4], w_size[4] = { size[F], window ? 1 : size[CHANNEL], size[U], size[V] };
    g->last = roll(g, 3) == 0;
    g->ndim = 4;
    for (size_t i = 0; i < 4; i++) {
        size_t d = order[g->last][i];
        g->size[i] = size[d];
        g->extent[i] = rlx_tir_int(t, size[d]);
        in_size[i] = d == N ? size[N] : d == F ? (window ? size[F] : size[CHANNEL])
                                               : (size[d] - 1) * stride + size[d == Y ? U : V];
    }
    for (size_t i = 0; i < 4; i++)
        shape[i] = rlx_tir_int(t, in_size[i]);
    const rlx_buffer *a = param(g, "A", g->narrow, 4, shape, in_size);
    for (size_t i = 0; i < 4; i++)
        shape[i] = rlx_tir_int(t, w_size[i]);
    const rlx_buffer *b = param(g, "B", g->narrow, 4, shape, w_size), *c = accumulator(g);
    static const char *const names[NUM] = { "n", "f", "y", "x", "c", "u", "v" };
    rlx_tir_begin_block(t, "conv");
    for (int i = 0; i < NUM; i++)
        v[i] = i == CHANNEL && window ? rlx_tir_int(t, 0)
               : i < CHANNEL ? rlx_tir_spatial(t, names[i], rlx_tir_int(t, size[i]))
                             : rlx_tir_reduce(t, names[i], rlx_tir_int(t, size[i]));
    for (size_t i = 0; i < 4; i++) {
        size_t d = order[g->last][i];
        at[i] = v[d];
        in[i] = d == N ? v[N] : d == F ? (window ? v[F] : v[CHANNEL])
                : rlx_tir_add(t, rlx_tir_mul(t, v[d], rlx_tir_int(t, stride)), v[d == Y ? U : V]);
    }
    const rlx_prim *w[4] = { v[F], v[CHANNEL], v[U], v[V] };
    accumulate(g, c, at, rlx_tir_load(t, a, RLX_TIR_ITEMS(in, 4)), rlx_tir_load(t, b, RLX_TIR_ITEMS(w, 4)));
    rlx_tir_end_block(t);
    return c;
}

/* ---- what is computed of them ---------------------------------------------------------------- */

static const rlx_prim *load_made(gen *g, const tensor *x, const rlx_prim *const *v, bool elsewhere)
{
    const rlx_prim *at[4];
    for (size_t d = 0; d < g->ndim; d++)
        at[d] = v[x->order[d]];
    if (elsewhere)
        at[roll(g, (uint32_t)g->ndim)] = rlx_tir_int(&g->t, 0);
    return rlx_tir_load(&g->t, x->buffer, RLX_TIR_ITEMS(at, g->ndim));
}

/* An operand of some of the dimensions. */
static const rlx_prim *other(gen *g, const rlx_prim *const *v, rlx_dtype dtype)
{
    const rlx_prim *extents[4], *at[4];
    int64_t sizes[4];
    size_t n = 0;
    uint32_t kind = roll(g, 3), one = roll(g, (uint32_t)g->ndim);
    char name[4] = { 'P', (char)('0' + g->c.count), 0 };
    if (is_full(g))
        return rlx_tir_number(&g->t, dtype, 3);
    for (size_t d = 0; d < g->ndim; d++)
        if (kind == 0 || (kind == 1 && d == one) || (kind == 2 && d != one))
            extents[n] = g->extent[d], at[n] = v[d], sizes[n++] = g->size[d];
    const rlx_buffer *b = param(g, name, dtype, n, extents, sizes);
    return rlx_tir_load(&g->t, b, RLX_TIR_ITEMS(at, n));
}

static const rlx_prim *any_value(gen *g, const rlx_prim *x, const rlx_prim *const *v)
{
    rlx_tir *t = &g->t;
    for (uint32_t i = 1 + roll(g, 3); i-- > 0;) {
        rlx_dtype dtype = rlx_prim_dtype(x);
        switch (roll(g, 9)) {
        case 0: x = rlx_tir_add(t, x, other(g, v, dtype)); break;
        case 1: x = rlx_tir_mul(t, x, other(g, v, dtype)); break;
        case 2: x = rlx_tir_max(t, x, rlx_tir_number(t, dtype, 0)); break;
        case 3: x = rlx_tir_min(t, rlx_tir_number(t, dtype, 6), x); break;
        case 4: x = rlx_tir_sub(t, x, load_made(g, &g->made[roll(g, (uint32_t)g->num_made)], v, roll(g, 12) == 0)); break;
        case 5: x = rlx_tir_cast(t, RELAX_FLOAT32, x); break;
        case 6: x = rlx_tir_select(t, rlx_tir_lt(t, x, rlx_tir_number(t, dtype, 1)), x, rlx_tir_number(t, dtype, 1)); break;
        case 7:
            x = rlx_dtype_is_float(dtype) ? rlx_tir_call1(t, "tanh", x) : rlx_tir_cast(t, RELAX_INT8, x);
            break;
        default: /* the index itself */
            x = rlx_tir_add(t, x, rlx_tir_cast(t, dtype, v[roll(g, (uint32_t)g->ndim)]));
        }
        if (rlx_prim_dtype(x) == RELAX_INT8)
            x = rlx_tir_cast(t, RELAX_INT32, x);
    }
    return x;
}

/* Loops over the shape of C, in any order, as a block or plain. */
static void open_loops(gen *g, bool block, const rlx_prim **v)
{
    static const char *const names[] = { "w", "x", "y", "z" };
    size_t first = roll(g, 4) ? 0 : roll(g, (uint32_t)g->ndim);
    if (block)
        rlx_tir_begin_block(&g->t, "element");
    for (size_t i = 0; i < g->ndim; i++) {
        size_t d = (first + i) % g->ndim;
        v[d] = block ? rlx_tir_spatial(&g->t, names[d], g->extent[d])
                     : rlx_tir_for(&g->t, names[d], NULL, g->extent[d], (int)RLX_FOR_SERIAL);
    }
}

static void close_loops(gen *g, bool block)
{
    for (size_t i = 0; i < (block ? 1 : g->ndim); i++)
        if (block)
            rlx_tir_end_block(&g->t);
        else
            rlx_tir_end_for(&g->t);
}

static const rlx_buffer *new_tensor(gen *g, rlx_dtype dtype, bool result, tensor *out)
{
    const rlx_prim *extents[4];
    int64_t sizes[4];
    char name[4] = { 'Y', (char)('0' + g->num_made), 0 };
    size_t turn = roll(g, 8) ? 0 : roll(g, (uint32_t)g->ndim);
    for (size_t d = 0; d < g->ndim; d++) {
        out->order[d] = (d + turn) % g->ndim;
        extents[d] = g->extent[out->order[d]];
        sizes[d] = g->size[out->order[d]];
    }
    return out->buffer = result ? param(g, name, dtype, g->ndim, extents, sizes)
                                : rlx_tir_alloc(&g->t, name, dtype, RLX_TIR_ITEMS(extents, g->ndim));
}

static rlx_dtype any_dtype(gen *g)
{
    static const rlx_dtype others[] = { RELAX_FLOAT32, RELAX_FLOAT16, RELAX_INT8 };
    return roll(g, 3) ? g->dtype : others[roll(g, RLX_COUNT(others))];
}

/* What is stored again is what there was, changed in place. */
static void element_nest(gen *g, bool result)
{
    rlx_tir *t = &g->t;
    const rlx_prim *v[4], *at[4];
    bool block = roll(g, 2), again = roll(g, 8) == 0 && !result;
    tensor *x = &g->made[roll(g, 3) ? g->num_made - 1 : roll(g, (uint32_t)g->num_made)], to = *x;
    if (!again && !new_tensor(g, any_dtype(g), result, &to))
        return;
    open_loops(g, block, v);
    const rlx_prim *value = any_value(g, load_made(g, x, v, !again && roll(g, 15) == 0), v);
    for (size_t d = 0; d < g->ndim; d++)
        at[d] = v[to.order[d]];
    rlx_tir_store(t, to.buffer, RLX_TIR_ITEMS(at, g->ndim), value);
    close_loops(g, block);
    if (!again)
        g->made[g->num_made++] = to;
}

/* S[i] += C[i, ..] */
static void sum_nest(gen *g)
{
    rlx_tir *t = &g->t;
    const rlx_prim *v[4];
    const tensor *x = &g->made[roll(g, (uint32_t)g->num_made)];
    size_t kept = roll(g, (uint32_t)g->ndim);
    const rlx_dtype dtype = rlx_as_buffer(&x->buffer->node)->dtype;
    const rlx_buffer *s = param(g, "S", dtype, 1, &g->extent[kept], &g->size[kept]);
    open_loops(g, false, v);
    rlx_tir_store(t, s, RLX_TIR_ITEMS(&v[kept], 1),
                  rlx_tir_add(t, rlx_tir_load(t, s, RLX_TIR_ITEMS(&v[kept], 1)), load_made(g, x, v, false)));
    close_loops(g, false);
}

/* ---- all of it ------------------------------------------------------------------------------- */

typedef struct sought { bool sums; const rlx_node *memory; bool found; } sought;

static enum rlx_step find_parts(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    sought *s = user;
    const rlx_buffer_store *store = rlx_as_buffer_store(n);
    s->found |= store && rlx_as_buffer(store->buffer)->data == s->memory;
    return RLX_STEP_ON;
}

/* Does the first statement that sums up also store the last tensor, one that is a result? */
static bool is_joined(rlx_context *ctx, const rlx_prim_func *f, const tensor *last)
{
    const rlx_stmt *s = f->body;
    for (;;)
        if (s->kind == RLX_NODE_ALLOCATE)
            s = ((const rlx_allocate *)s)->body;
        else if (s->kind == RLX_NODE_DECL_BUFFER)
            s = ((const rlx_decl_buffer *)s)->body;
        else
            break;
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(s);
    size_t holds = 0, all = seq ? seq->num_stmts : 1;
    for (size_t i = 0; i < all; i++) {
        sought x = { .memory = last->buffer->data };
        rlx_walker w = { .enter = find_parts, .user = &x, .terse = true };
        rlx_walk(&ctx->memory, seq ? seq->stmts[i] : s, &w, NULL);
        holds += x.found;
    }
    return holds == 1 && all <= 2;
}

static void one_program(uint64_t seed, bool show)
{
    gen *g = calloc(1, sizeof *g);
    static const rlx_dtype wide[] = { RELAX_FLOAT32, RELAX_FLOAT32, RELAX_FLOAT32, RELAX_FLOAT64, RELAX_INT32 };
    g->seed = seed * 2654435761u + 1;
    g->ctx = rlx_context_create(NULL, 0);
    g->c.seed = seed;
    rlx_tir_begin(&g->t, g->ctx, RLX_NO_PLACE);
    g->dtype = g->narrow = wide[roll(g, RLX_COUNT(wide))];
    if (g->dtype == RELAX_FLOAT32 && roll(g, 5) == 0)
        g->narrow = RELAX_FLOAT16;
    g->symbolic = roll(g, 3) == 0;
    const rlx_buffer *c = roll(g, 3) ? product(g) : convolution(g);
    if (c) {
        g->made[g->num_made++] = (tensor){ c, { 0, 1, 2, 3 } };
        for (uint32_t nests = 1 + roll(g, 3); nests-- > 0 && g->num_made < MOST_TENSORS - 1;)
            if (roll(g, 12) == 0 && !is_full(g) && g->c.count < KC_MAX_ARGS - 1 && nests)
                sum_nest(g);
            else
                element_nest(g, (!nests || roll(g, 3) == 0) && !is_full(g));
    }
    const rlx_prim_func *f = rlx_tir_end(&g->t), *s = c && f ? rlx_schedule(g->ctx, f) : NULL;
    for (int i = 0; show && s && i < 2; i++) {
        char *text = text_print(text_module_of(g->ctx, i ? s : f));
        printf("%s\n", text);
        free(text);
    }
    if (c) {
        num_seen++;
        num_joined += s != f && is_joined(g->ctx, s, &g->made[g->num_made - 1]);
        assert_int_equal(kc_run(g->ctx, f, &g->c, NULL), RLX_CODE_NONE);
    }
    kc_free(&g->c);
    rlx_context_release(g->ctx);
    free(g);
}

static void random_epilogues(void **state)
{
    bool more = getenv("RELAX_LONG") != NULL;
    kc_each_seed("EPILOGUE_SEED", more ? 6000 : 200, more ? 20 : 10, one_program);
    print_message("%zu of %zu functions have all in one\n", num_joined, num_seen);
    if (!getenv("EPILOGUE_SEED"))
        assert_true(num_joined * 4 > num_seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_epilogues) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
