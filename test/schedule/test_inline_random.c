/*- test_inline_random.c: random chains of nests that hand each other temporaries: the evaluator and the kernels of the function as
 * it is and of its schedule give the same bits (kernel_case.h), and the schedule prints and reads back as it is.
 *
 *     T0[i, j] = A[i, j] + B[j]             elements of any dtype, broadcast, transposed, turned round, cut out, padded,
 *     T1[i]    = sum or max of T0[i, ..]    sums of rows, plain and in partial sums, several results,
 *     Y[j, i]  = exp(T0[i, j]) - T1[i]      what is used twice, results that are read and stored again
 *
 * RELAX_LONG=1 runs many more; INLINE_SEED=n runs one and shows its schedule. */
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

enum { MOST_DIMS = 3, MOST_MADE = 24, MOST_ARGS = 7 };

/* A buffer whose dimensions are some of those of the program, in any order. */
typedef struct made {
    const rlx_buffer *buffer;
    rlx_dtype dtype;
    size_t dims[MOST_DIMS], ndim;
    bool is_param;
} made;
typedef struct gen {
    rlx_tir t;
    rlx_context *ctx;
    uint64_t seed;
    int64_t sizes[MOST_DIMS];
    const rlx_prim *extents[MOST_DIMS];
    size_t num_dims, num_made, num_results;
    made made[MOST_MADE];
    bool wild;                       /* dtypes change all the time */
    rlx_dtype dtype;
    kc c;
} gen;

static uint32_t roll(gen *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static rlx_dtype any_dtype(gen *g)
{
    static const rlx_dtype all[] = { RELAX_FLOAT32, RELAX_FLOAT16, RELAX_BFLOAT16, RELAX_FLOAT64, RELAX_INT32,
                                     RELAX_INT8,    RELAX_UINT8,   RELAX_INT64,    RELAX_BOOL,    RELAX_FLOAT8_E4M3FN };
    return g->wild ? all[roll(g, RLX_COUNT(all))] : g->dtype;
}

/* ---- sizes and buffers ----------------------------------------------------------------------- */

static void any_sizes(gen *g)
{
    static const int64_t few[] = { 1, 2, 3, 7, 8, 33, 64, 65 };
    bool large = roll(g, 24) == 0, none = roll(g, 30) == 0;
    g->num_dims = 1 + roll(g, MOST_DIMS);
    for (size_t d = 0; d < g->num_dims; d++) {
        g->sizes[d] = roll(g, 2) ? 1 + (int64_t)roll(g, 20) : few[roll(g, RLX_COUNT(few))];
        if (g->num_dims == 3 && g->sizes[d] > 20)
            g->sizes[d] = 20;
    }
    if (large) /* more than a tile */
        g->num_dims = 2, g->sizes[0] = 35 + roll(g, 12), g->sizes[1] = 470 + roll(g, 40);
    if (none)
        g->sizes[roll(g, (uint32_t)g->num_dims)] = 0;
    for (size_t d = 0; d < g->num_dims; d++) {
        char name[4] = { 'n', (char)('0' + d), 0 };
        g->extents[d] = rlx_tir_int(&g->t, g->sizes[d]);
        if (roll(g, 4) || g->c.count >= 2)
            continue;
        const rlx_prim *v = rlx_tir_dim(&g->t, name);
        rlx_tir_scalar_var(&g->t, v);
        kc_int(&g->c, RELAX_INT64, g->sizes[d]);
        g->extents[d] = v;
    }
}

static void any_dims(gen *g, made *m, bool all)
{
    m->ndim = 0;
    for (size_t d = 0; d < g->num_dims; d++)
        if (all || roll(g, 4))
            m->dims[m->ndim++] = d;
    if (roll(g, 4) == 0 && m->ndim > 1) {
        size_t k = m->dims[0];
        m->dims[0] = m->dims[m->ndim - 1];
        m->dims[m->ndim - 1] = k;
    }
}

/* A parameter or a temporary. */
static made *new_buffer(gen *g, made like, bool param)
{
    const rlx_prim *shape[MOST_DIMS];
    int64_t sizes[MOST_DIMS];
    char name[8];
    snprintf(name, sizeof name, "%c%d", param ? 'A' : 'T', (int)g->num_made);
    for (size_t i = 0; i < like.ndim; i++) {
        shape[i] = g->extents[like.dims[i]];
        sizes[i] = g->sizes[like.dims[i]];
    }
    rlx_prim_list list = RLX_TIR_ITEMS(shape, like.ndim);
    if (param)
        kc_tensor(&g->c, like.dtype, (int32_t)like.ndim, sizes);
    like.buffer = param ? rlx_tir_param(&g->t, name, like.dtype, list) : rlx_tir_alloc(&g->t, name, like.dtype, list);
    like.is_param = param;
    g->made[g->num_made] = like;
    return &g->made[g->num_made++];
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Of what there is, mostly of what was made last, with dimensions that are all among those of the loops. */
static const made *any_made(gen *g, uint32_t inside)
{
    for (int tries = 0; tries < 12; tries++) {
        size_t at = roll(g, 3) ? g->num_made - 1 - roll(g, g->num_made < 3 ? (uint32_t)g->num_made : 3)
                               : roll(g, (uint32_t)g->num_made);
        uint32_t need = 0;
        for (size_t i = 0; i < g->made[at].ndim; i++)
            need |= 1u << g->made[at].dims[i];
        if (!(need & ~inside))
            return &g->made[at];
    }
    return NULL;
}

/* Turned round, or one further with what is beyond left out. */
static const rlx_prim *any_load(gen *g, const made *m, const rlx_prim *const *vars)
{
    rlx_tir *t = &g->t;
    const rlx_prim *at[MOST_DIMS], *inside = NULL;
    for (size_t i = 0; i < m->ndim; i++) {
        const rlx_prim *v = vars[m->dims[i]], *n = g->extents[m->dims[i]], *one = rlx_tir_int(t, 1);
        at[i] = v;
        uint32_t how = roll(g, 24);
        if (how == 0)
            at[i] = rlx_tir_sub(t, rlx_tir_sub(t, n, one), v);
        else if (how == 1 && !inside) {
            at[i] = rlx_tir_add(t, v, one);
            inside = rlx_tir_lt(t, at[i], n);
        } else if (how == 2 && g->sizes[m->dims[i]] > 0)
            at[i] = rlx_tir_int(t, 0);
        else if (how == 3 && g->sizes[m->dims[i]] > 0)
            at[i] = rlx_tir_floor_div(t, v, rlx_tir_int(t, 2));
    }
    const rlx_prim *x = rlx_tir_load(t, m->buffer, RLX_TIR_ITEMS(at, m->ndim));
    return inside ? rlx_tir_if_then_else(t, inside, x, rlx_tir_number(t, m->dtype, 0)) : x;
}

static const rlx_prim *any_leaf(gen *g, rlx_dtype dtype, uint32_t inside, const rlx_prim *const *vars)
{
    const made *m = roll(g, 8) ? any_made(g, inside) : NULL;
    return m ? rlx_tir_cast(&g->t, dtype, any_load(g, m, vars))
             : rlx_tir_number(&g->t, dtype, rlx_dtype_is_float(dtype) ? (double)roll(g, 16) / 4 - 1 : roll(g, 2));
}

static const rlx_prim *any_value(gen *g, rlx_dtype dtype, uint32_t inside, const rlx_prim *const *vars, int deep)
{
    rlx_tir *t = &g->t;
    const rlx_prim *a = any_leaf(g, dtype, inside, vars), *b;
    if (!deep || roll(g, 5) == 0)
        return a;
    b = roll(g, 4) ? any_value(g, dtype, inside, vars, deep - 1) : a;
    if (rlx_dtype_is_bool(dtype))
        return roll(g, 2) ? rlx_tir_and(t, a, b) : rlx_tir_or(t, a, b);
    switch (roll(g, rlx_dtype_is_float(dtype) ? 11 : 8)) {
    case 0: case 1: return rlx_tir_add(t, a, b);
    case 2: return rlx_tir_sub(t, b, a);
    case 3: case 4: return rlx_tir_mul(t, a, b);
    case 5: return rlx_tir_min(t, a, b);
    case 6: return rlx_tir_max(t, b, a);
    case 7: return roll(g, 2) ? rlx_tir_select(t, rlx_tir_lt(t, a, b), b, a)
                              : rlx_tir_if_then_else(t, rlx_tir_lt(t, a, b), b, any_leaf(g, dtype, inside, vars));
    case 8: return rlx_tir_div(t, a, b);
    case 9: return rlx_tir_call1(t, roll(g, 2) ? "tanh" : "exp", a);
    default: return rlx_tir_call1(t, "sigmoid", b);
    }
}

/* ---- nests ----------------------------------------------------------------------------------- */

static void open_block(gen *g, const made *to, int reduced, const rlx_prim **vars)
{
    rlx_tir_begin_block(&g->t, "b");
    for (size_t d = 0; d < g->num_dims; d++) {
        char name[4] = { 'i', (char)('0' + d), 0 };
        bool there = (int)d == reduced;
        for (size_t i = 0; i < to->ndim; i++)
            there |= to->dims[i] == d;
        vars[d] = !there ? NULL
                  : (int)d == reduced ? rlx_tir_reduce(&g->t, name, g->extents[d])
                                      : rlx_tir_spatial(&g->t, name, g->extents[d]);
    }
}

static uint32_t dims_of(const made *m)
{
    uint32_t all = 0;
    for (size_t i = 0; i < m->ndim; i++)
        all |= 1u << m->dims[i];
    return all;
}

static rlx_prim_list place_of(const made *m, const rlx_prim *const *vars, const rlx_prim **at)
{
    for (size_t i = 0; i < m->ndim; i++)
        at[i] = vars[m->dims[i]];
    return RLX_TIR_ITEMS(at, m->ndim);
}

static void elements(gen *g, const made *to, bool again)
{
    rlx_tir *t = &g->t;
    const rlx_prim *vars[MOST_DIMS], *at[MOST_DIMS];
    made own = *to;
    open_block(g, &own, -1, vars);
    rlx_prim_list place = place_of(&own, vars, at);
    size_t hidden = g->num_made;
    if (!again && own.buffer == g->made[hidden - 1].buffer)
        g->num_made--; /* its own elements are no operands of a first store */
    const rlx_prim *v = any_value(g, own.dtype, dims_of(&own), vars, 1 + (int)roll(g, 3));
    g->num_made = hidden;
    if (again)
        v = rlx_tir_max(t, rlx_tir_load(t, own.buffer, place), rlx_tir_cast(t, own.dtype, rlx_tir_number(t, own.dtype, 0)));
    rlx_tir_store(t, own.buffer, place, v);
    rlx_tir_end_block(t);
}

/* Of the elements of something that has one dimension more. */
static bool reduction(gen *g)
{
    rlx_tir *t = &g->t;
    const rlx_prim *vars[MOST_DIMS], *at[MOST_DIMS], *from[MOST_DIMS];
    const made *of = any_made(g, ~0u);
    if (!of || of->ndim < 2 || (of->dtype != RELAX_FLOAT32 && of->dtype != RELAX_INT32))
        return false;
    made source = *of, to = source;
    int reduced = (int)source.dims[source.ndim - 1];
    to.ndim--;
    to = *new_buffer(g, to, false);
    bool sums = roll(g, 2);
    open_block(g, &to, reduced, vars);
    if (sums && source.dtype == RELAX_FLOAT32)
        rlx_tir_annotate(t, "relax.partial_sums", rlx_int(g->ctx, RELAX_INT32, 32));
    rlx_prim_list place = place_of(&to, vars, at);
    const rlx_prim *x = rlx_tir_load(t, source.buffer, place_of(&source, vars, from)),
                   *so_far = rlx_tir_load(t, to.buffer, place);
    rlx_tir_init(t, to.buffer, place, sums ? rlx_tir_number(t, to.dtype, 0) : rlx_tir_lowest(t, to.dtype));
    x = roll(g, 4) == 0 ? rlx_tir_mul(t, x, x) : x;
    rlx_tir_store(t, to.buffer, place, sums ? rlx_tir_add(t, so_far, x) : rlx_tir_max(t, so_far, x));
    rlx_tir_end_block(t);
    return true;
}

static void one_nest(gen *g, bool last)
{
    made m = { .dtype = any_dtype(g) };
    if (!last && roll(g, 5) == 0 && reduction(g))
        return;
    any_dims(g, &m, last || roll(g, 4));
    bool result = last || (roll(g, 6) == 0 && g->c.count < MOST_ARGS - 1);
    elements(g, new_buffer(g, m, result), false);
    if (roll(g, 20) == 0)
        elements(g, &g->made[g->num_made - 1], true);
    const made *old = &g->made[roll(g, (uint32_t)g->num_made)];
    if (roll(g, 6) == 0 && old->is_param)
        elements(g, old, false);
}

static const rlx_prim_func *program(gen *g)
{
    g->wild = roll(g, 2);
    g->dtype = roll(g, 3) ? RELAX_FLOAT32 : RELAX_FLOAT16;
    any_sizes(g);
    size_t inputs = 1 + roll(g, 3), nests = 2 + roll(g, 9);
    for (size_t i = 0; i < inputs; i++) {
        made m = { .dtype = any_dtype(g) };
        any_dims(g, &m, i == 0);
        new_buffer(g, m, true);
    }
    for (size_t i = 0; i < nests && g->num_made + 2 < MOST_MADE; i++)
        one_nest(g, i + 1 == nests);
    return rlx_tir_end(&g->t);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static size_t num_seen, num_changed;

static void one_program(uint64_t seed, bool show)
{
    gen *g = calloc(1, sizeof *g);
    g->seed = seed * 2654435761u + 1;
    g->ctx = rlx_context_create(NULL, 0);
    g->c.seed = seed;
    rlx_tir_begin(&g->t, g->ctx, RLX_NO_PLACE);
    const rlx_prim_func *f = program(g);
    if (!f)
        fail_msg("seed %llu: %s", (unsigned long long)seed, text_diagnostics(g->ctx));
    if (show)
        text_check_prim_func(g->ctx, f, true);
    const rlx_prim_func *s = rlx_schedule(g->ctx, f);
    assert_non_null(s);
    if (s != f)
        text_check_prim_func(g->ctx, s, show);
    num_seen++;
    num_changed += s != f;
    kc_run(g->ctx, f, &g->c, NULL);
    kc_free(&g->c);
    rlx_context_release(g->ctx);
    free(g);
}

static void random_chains(void **state)
{
    bool more = getenv("RELAX_LONG") != NULL;
    kc_each_seed("INLINE_SEED", more ? 5000 : 400, more ? 100 : 25, one_program);
    print_message("%zu of %zu functions are others\n", num_changed, num_seen);
    if (!getenv("INLINE_SEED"))
        assert_true(num_changed * 2 > num_seen);
}

/* ---- what grows ------------------------------------------------------------------------------ */

static size_t count_of(const char *text, const char *part)
{
    size_t n = 0;
    for (; (text = strstr(text, part)); text++)
        n++;
    return n;
}

/* 40 nests, each of which reads what the one before stored twice: 40 sums in one strip loop, and no memory. */
static void doublings(void **state)
{
    enum { DEEP = 40, SIZE = 300 };
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_tir t;
    kc c = { .seed = 3 };
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(&t, SIZE);
    const rlx_buffer *from = rlx_tir_param(&t, "X", RELAX_FLOAT32, RLX_TIR_LIST(n)),
                     *last = rlx_tir_param(&t, "Y", RELAX_FLOAT32, RLX_TIR_LIST(n));
    kc_tensor1(&c, RELAX_FLOAT32, SIZE);
    kc_tensor1(&c, RELAX_FLOAT32, SIZE);
    for (int k = 0; k < DEEP; k++) {
        const rlx_buffer *to = k + 1 == DEEP ? last : rlx_tir_alloc(&t, "T", RELAX_FLOAT32, RLX_TIR_LIST(n));
        rlx_tir_begin_block(&t, "twice");
        const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *x = rlx_tir_load(&t, from, RLX_TIR_LIST(i));
        rlx_tir_store(&t, to, RLX_TIR_LIST(i), rlx_tir_add(&t, x, x));
        rlx_tir_end_block(&t);
        from = to;
    }
    const rlx_prim_func *f = rlx_tir_end(&t), *s = rlx_schedule(ctx, f);
    rlx_buf bytes, text;
    kc_write(ctx, s, &bytes);
    rlx_buf_init(&text, &ctx->memory);
    rlx_kernel_disassemble((const uint8_t *)bytes.data, bytes.len, &text);
    assert_int_equal(count_of(text.data, "add.f32"), DEEP);
    assert_int_equal(count_of(text.data, "  strip "), 1);
    assert_int_equal(count_of(text.data, "alloc"), 0);
    rlx_buf_free(&bytes);
    rlx_buf_free(&text);
    text_check_prim_func(ctx, s, false);
    assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static int begin(void **state)
{
    kc_c_begin(1);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_chains),
                                        cmocka_unit_test_setup_teardown(doublings, begin, kc_c_teardown) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
