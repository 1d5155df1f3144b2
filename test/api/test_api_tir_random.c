/* test_api_tir_random.c: random PrimFuncs built through the public interface: what is printed
 * reads back as the same function. A seed names one: TIR_SEED=n runs it alone and shows its
 * text. */
#include "api_fixture.h"

#define SEEDS 300
#define MOST 24 /* of each: variables and buffers in scope */
typedef const relax_prim_expr *prim;

typedef struct gen {
    relax_context *ctx;
    relax_tir_builder *t;
    uint64_t seed;
    prim vars[MOST];
    relax_buffer *buffers[MOST];
    relax_dtype dtypes[MOST]; /* of the buffers */
    size_t ndims[MOST];
    size_t num_vars, num_buffers, names;
    int depth;
} gen;

static uint32_t roll(gen *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static const relax_dtype integers[] = { RELAX_INT32, RELAX_INT64, RELAX_INT32, RELAX_INT64,
                                        RELAX_UINT8, RELAX_INT16, RELAX_UINT32 };
static const relax_dtype floats_[] = { RELAX_FLOAT32, RELAX_FLOAT64, RELAX_FLOAT16 };

static relax_dtype any_dtype(gen *g)
{
    switch (roll(g, 5)) {
    case 0: return RELAX_BOOL;
    case 1: case 2: return floats_[roll(g, N(floats_))];
    default: return integers[roll(g, N(integers))];
    }
}

static bool is_float(relax_dtype t)
{
    return t == RELAX_FLOAT32 || t == RELAX_FLOAT64 || t == RELAX_FLOAT16;
}

static const char *fresh(gen *g, const char *stem)
{
    static char name[32];
    /* names recur: what is printed must tell them apart */
    snprintf(name, sizeof name, "%s%zu", stem, g->names++ % 5);
    return name;
}

/* ---- expressions */

static prim value(gen *g, relax_dtype t, int depth);

static prim literal(gen *g, relax_dtype t)
{
    static const int64_t ints[] = { 0, 1, 2, 3, 7, 100 };
    static const double reals[] = { 0, 1, -1, 0.5, 1e10, -0.1, 3 };
    if (is_float(t))
        return relax_prim_float_new(g->ctx, t, reals[roll(g, N(reals))]);
    int64_t v = t == RELAX_BOOL ? roll(g, 2) : ints[roll(g, N(ints))];
    return relax_prim_int_of_dtype(g->ctx, t, t == RELAX_INT32 && roll(g, 4) == 0 ? -v : v);
}

static prim load(gen *g, size_t at, int depth)
{
    prim index[2] = { value(g, integers[roll(g, 2)], depth - 1),
                      value(g, integers[roll(g, 2)], depth - 1) };
    return relax_tir_load(g->t, g->buffers[at], index, g->ndims[at]);
}

/* A variable, a literal or an element. */
static prim leaf(gen *g, relax_dtype t, int depth)
{
    for (int tries = 0; tries < 4; tries++) {
        size_t at = roll(g, (uint32_t)(g->num_vars + g->num_buffers));
        if (at < g->num_vars && relax_prim_dtype(g->vars[at]) == t)
            return g->vars[at];
        if (at >= g->num_vars && g->dtypes[at - g->num_vars] == t && depth > 0)
            return load(g, at - g->num_vars, depth);
    }
    return literal(g, t);
}

static prim truth(gen *g, int depth)
{
    relax_dtype t = any_dtype(g);
    static const int32_t compares[] = { RELAX_PRIM_EQ, RELAX_PRIM_NE, RELAX_PRIM_LT,
                                        RELAX_PRIM_LE, RELAX_PRIM_GT, RELAX_PRIM_GE };
    switch (roll(g, 4)) {
    case 0: return relax_prim_not_new(g->ctx, value(g, t, depth - 1));
    case 1: case 2:
        return relax_prim_binary_new(g->ctx, compares[roll(g, N(compares))], value(g, t, depth - 1),
                                     value(g, t, depth - 1));
    default:
        return relax_prim_binary_new(g->ctx, roll(g, 2) ? RELAX_PRIM_AND : RELAX_PRIM_OR,
                                     value(g, t, depth - 1), value(g, t, depth - 1));
    }
}

static prim call(gen *g, relax_dtype t, int depth)
{
    static const char *const of_floats[] = { "exp", "sqrt", "fabs", "pow", "fmod" };
    static const char *const of_ints[] = { "bitwise_not", "popcount", "bitwise_and", "shift_left",
                                           "bitwise_xor" };
    uint32_t k = roll(g, 6);
    prim args[3] = { value(g, t, depth - 1), value(g, t, depth - 1), NULL };
    if (k == 5) {
        prim chosen[3] = { truth(g, depth - 1), args[0], args[1] };
        return relax_tir_call(g->t, Z("if_then_else"), chosen, 3);
    }
    const char *name = is_float(t) ? of_floats[k] : of_ints[k];
    return relax_tir_call(g->t, Z(name), args, k < (is_float(t) ? 3 : 2) ? 1 : 2);
}

static prim value(gen *g, relax_dtype t, int depth)
{
    static const int32_t of_ints[] = {
        RELAX_PRIM_ADD, RELAX_PRIM_SUB,       RELAX_PRIM_MUL,       RELAX_PRIM_MIN, RELAX_PRIM_MAX,
        RELAX_PRIM_DIV, RELAX_PRIM_FLOOR_DIV, RELAX_PRIM_FLOOR_MOD, RELAX_PRIM_MOD
    };
    if (depth <= 0 || roll(g, 4) == 0)
        return leaf(g, t, depth);
    if (t == RELAX_BOOL)
        return truth(g, depth);
    switch (roll(g, 8)) {
    case 0: return relax_prim_cast_new(g->ctx, t, value(g, any_dtype(g), depth - 1));
    case 1:
        return relax_prim_select_new(g->ctx, truth(g, depth - 1), value(g, t, depth - 1),
                                     value(g, t, depth - 1));
    case 2: return call(g, t, depth);
    default:
        return relax_prim_binary_new(g->ctx, of_ints[roll(g, is_float(t) ? 6 : N(of_ints))],
                                     value(g, t, depth - 1), value(g, t, depth - 1));
    }
}

/* An integer, not always of the type of its neighbours. */
static prim integer(gen *g, int depth)
{
    return value(g, integers[roll(g, 4)], depth);
}

/* ---- statements */

static void statements(gen *g);

static void add_var(gen *g, prim v)
{
    if (v && g->num_vars < MOST)
        g->vars[g->num_vars++] = v;
}

static void add_buffer(gen *g, relax_buffer *b, relax_dtype t, size_t ndim)
{
    if (!b || g->num_buffers == MOST)
        return;
    g->dtypes[g->num_buffers] = t;
    g->ndims[g->num_buffers] = ndim;
    g->buffers[g->num_buffers++] = b;
}

static void store(gen *g)
{
    size_t at = roll(g, (uint32_t)g->num_buffers);
    prim index[2] = { integer(g, 2), integer(g, 2) };
    relax_tir_store(g->t, g->buffers[at], index, g->ndims[at], value(g, g->dtypes[at], 3));
}

static void loop(gen *g)
{
    prim extent = integer(g, 2), min = roll(g, 2) ? integer(g, 2) : NULL;
    const char *name = fresh(g, "i");
    if (roll(g, 6) == 0)
        add_var(g, relax_tir_for_thread(g->t, Z("threadIdx.x"), Z(name), extent));
    else
        add_var(g, relax_tir_for(g->t, (int32_t)roll(g, 4) + 1, Z(name), min, extent));
    if (roll(g, 4) == 0)
        relax_tir_attr(g->t, Z("pragma"), relax_attr_int_new(g->ctx, 3));
    statements(g);
    relax_tir_end_for(g->t);
}

static void regions(gen *g)
{
    for (int k = (int)roll(g, 3); k > 0; k--) {
        size_t at = roll(g, (uint32_t)g->num_buffers);
        prim mins[2] = { integer(g, 2), integer(g, 2) },
             extents[2] = { integer(g, 1), literal(g, RELAX_INT32) };
        (roll(g, 2) ? relax_tir_reads : relax_tir_writes)(g->t, g->buffers[at], mins, extents,
                                                          g->ndims[at]);
    }
}

static void match(gen *g)
{
    size_t at = roll(g, (uint32_t)g->num_buffers), keep = roll(g, (uint32_t)g->ndims[at] + 1);
    prim one = relax_prim_int_new(g->ctx, 1), mins[2] = { integer(g, 1), integer(g, 2) },
         extents[2] = { g->ndims[at] > keep ? one : integer(g, 1), keep ? integer(g, 1) : one };
    add_buffer(g, relax_tir_match(g->t, Z(fresh(g, "m")), g->buffers[at], mins, extents,
                                  g->ndims[at], keep),
               g->dtypes[at], keep);
}

static void block(gen *g)
{
    size_t outside = g->num_vars, axes = roll(g, 3);
    relax_tir_begin_block(g->t, Z(fresh(g, "block")));
    for (size_t k = 0; k < axes; k++) {
        int32_t kind = (int32_t)roll(g, 4) + 1;
        size_t inside = g->num_vars;
        prim v;
        g->num_vars = outside; /* what an axis is made of lies outside of the block */
        if (roll(g, 2))
            v = relax_tir_axis(g->t, kind, Z(fresh(g, "v")), integer(g, 1));
        else
            v = relax_tir_axis_at(g->t, kind, Z(fresh(g, "v")), roll(g, 2) ? integer(g, 1) : NULL,
                                  integer(g, 1), integer(g, 2));
        g->num_vars = inside;
        add_var(g, v);
    }
    if (roll(g, 4) == 0) {
        size_t inside = g->num_vars;
        g->num_vars = outside;
        relax_tir_where(g->t, truth(g, 2));
        g->num_vars = inside;
    }
    regions(g);
    if (roll(g, 3) == 0)
        match(g);
    if (roll(g, 3) == 0) {
        size_t at = roll(g, (uint32_t)g->num_buffers);
        prim index[2] = { integer(g, 1), integer(g, 1) };
        relax_tir_init(g->t, g->buffers[at], index, g->ndims[at], value(g, g->dtypes[at], 2));
    }
    statements(g);
    relax_tir_end_block(g->t);
}

static void branch(gen *g)
{
    size_t vars = g->num_vars, buffers = g->num_buffers;
    relax_tir_if(g->t, truth(g, 3));
    statements(g);
    g->num_vars = vars;
    g->num_buffers = buffers;
    if (roll(g, 2)) {
        relax_tir_else(g->t);
        statements(g);
    }
    relax_tir_end_if(g->t);
}

static void name(gen *g)
{
    relax_dtype t = any_dtype(g);
    add_var(g, relax_tir_let(g->t, Z(fresh(g, "x")), value(g, t, 3)));
}

static void buffer(gen *g)
{
    relax_dtype t = any_dtype(g);
    size_t ndim = roll(g, 3), source = roll(g, (uint32_t)g->num_buffers);
    if (roll(g, 2)) { /* of literals and n, which temporaries of the function may be made of */
        prim two = literal(g, RELAX_INT64),
             shape[2] = { g->vars[0],
                          relax_prim_binary_new(g->ctx, RELAX_PRIM_MUL, g->vars[0], two) };
        add_buffer(g, relax_tir_alloc(g->t, Z(fresh(g, "T")), t, shape, ndim), t, ndim);
        return;
    }
    t = g->dtypes[source];
    prim shape[2] = { integer(g, 1), integer(g, 1) }, steps[2] = { integer(g, 1), integer(g, 1) };
    add_buffer(g, relax_tir_view(g->t, Z(fresh(g, "V")), t, g->buffers[source], shape,
                                 roll(g, 2) ? steps : NULL, ndim,
                                 roll(g, 2) ? integer(g, 1) : NULL),
               t, ndim);
}

static void statement(gen *g)
{
    size_t vars = g->num_vars, buffers = g->num_buffers;
    uint32_t k = g->depth < 4 ? roll(g, 12) : 6 + roll(g, 6);
    switch (k) {
    case 0: case 1: loop(g); break;
    case 2: branch(g); break;
    case 3:
        relax_tir_while(g->t, truth(g, 3));
        statements(g);
        relax_tir_end_while(g->t);
        break;
    case 4: case 5: block(g); break;
    case 6: name(g); break;
    case 7: relax_tir_assert(g->t, truth(g, 2), Z("as it should")); break;
    case 8: relax_tir_evaluate(g->t, value(g, any_dtype(g), 2)); break;
    case 9: buffer(g); break;
    default: store(g); break;
    }
    if (k < 6) { /* names of loops and blocks end with them */
        g->num_vars = vars;
        g->num_buffers = buffers;
    }
}

/* What a construct holds; its names end with it. */
static void statements(gen *g)
{
    size_t vars = g->num_vars, buffers = g->num_buffers;
    g->depth++;
    for (uint32_t k = roll(g, 3) + 1; k > 0; k--)
        statement(g);
    store(g);
    g->depth--;
    g->num_vars = vars;
    g->num_buffers = buffers;
}

static void parameters(gen *g)
{
    prim n = relax_tir_dim(g->t, Z("n")), four = relax_prim_int_new(g->ctx, 4),
         shape[2] = { four, n }, steps[2] = { n, four };
    for (int i = 0; i < 5; i++) {
        relax_dtype t = i == 0 ? RELAX_FLOAT32 : any_dtype(g);
        size_t ndim = i == 0 ? 2 : roll(g, 3);
        char text[2] = { (char)('A' + i), 0 };
        relax_buffer *b = i < 4 ? relax_tir_param(g->t, Z(text), t, shape, ndim)
                                : relax_tir_param_strided(g->t, Z(text), t, shape, steps, ndim,
                                                          roll(g, 2) ? four : NULL);
        add_buffer(g, b, t, ndim);
    }
    add_var(g, n);
    for (int i = 0; i < 4; i++) {
        char text[2] = { (char)('p' + i), 0 };
        add_var(g, relax_tir_scalar(g->t, Z(text), any_dtype(g)));
    }
}

static relax_module *random_module(relax_context *ctx, uint64_t seed)
{
    gen g = { .ctx = ctx, .t = relax_tir_builder_create(ctx, 0), .seed = seed * 77 + 5 };
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    parameters(&g);
    statements(&g);
    relax_base_func *f = relax_tir_finish(g.t);
    relax_module *m = NULL;
    if (f && relax_module_builder_add(mb, Z("f"), f))
        m = relax_module_builder_finish(mb);
    relax_tir_builder_destroy(g.t);
    relax_module_builder_destroy(mb);
    return m;
}

static bool has_errors(relax_context *ctx)
{
    return relax_context_num_errors(ctx) > 0;
}

/* False if the program was refused, which is no fault of the printer. */
static bool check(uint64_t seed, bool show)
{
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = random_module(ctx, seed);
    bool made = m && !has_errors(ctx);
    if (!made && show)
        assert_quiet(ctx);
    if (made) {
        char *text = printed(ctx, relax_module_as_node(m));
        if (show)
            printf("%s\n", text);
        relax_module *again = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
        if (!again || has_errors(ctx)) {
            printf("%s\n", text);
            assert_quiet(ctx);
            fail_msg("TIR_SEED=%llu: cannot be read", (unsigned long long)seed);
        }
        if (!relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(again), 0)) {
            char *other = printed(ctx, relax_module_as_node(again));
            printf("%s\n%s\n", text, other);
            fail_msg("TIR_SEED=%llu: reads as something else", (unsigned long long)seed);
        }
        free(text);
    }
    relax_context_release(ctx);
    return made;
}

static void what_is_printed_reads_back(void **state)
{
    const char *one = getenv("TIR_SEED");
    size_t made = 0, seeds = getenv("RELAX_LONG") ? SEEDS * 100 : SEEDS;
    if (one)
        check(strtoull(one, NULL, 10), true);
    for (uint64_t seed = 1; !one && seed <= seeds; seed++)
        made += check(seed, false);
    if (!one && made < seeds / 2)
        fail_msg("only %zu of %zu programs were made", made, seeds);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(what_is_printed_reads_back) };
    return cmocka_run_group_tests_name("api_tir_random", tests, NULL, NULL);
}
