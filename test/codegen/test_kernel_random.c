/* test_kernel_random.c: random PrimFuncs from a seeded generator: stages of blocks over random
 * loops with random accesses and expressions. Kernel, evaluator and lowered function must agree.
 * RELAX_LONG=1 runs many more; KERNEL_SEED=n runs one and shows its kernel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel_c.h"

typedef struct axis { const rlx_prim *var, *extent; int64_t size; bool reduces; } axis;
typedef struct array {
    const rlx_buffer *buffer;
    rlx_dtype dtype;
    size_t ndim;
    int64_t shape[3];
} array;
typedef struct gen {
    rlx_tir t;
    rlx_context *ctx;
    uint64_t seed;
    const rlx_prim *dims[2];       /* n, m */
    int64_t sizes[2];
    array arrays[12];
    size_t num_arrays;
    axis axes[5];
    size_t num_axes;
    kc c;
    bool faulty;                   /* indices may be out of range */
} gen;

static uint32_t roll(gen *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static const rlx_dtype dtypes[] = { RELAX_FLOAT32, RELAX_FLOAT32, RELAX_FLOAT32, RELAX_INT32,
                                    RELAX_INT64,   RELAX_FLOAT64, RELAX_INT8,    RELAX_UINT8,
                                    RELAX_FLOAT16, RELAX_BOOL,    RELAX_UINT32,  RELAX_UINT64,
                                    RELAX_BFLOAT16, RELAX_INT16,  RELAX_UINT16,
                                    RELAX_FLOAT8_E4M3FN, RELAX_FLOAT8_E5M2 };

static rlx_dtype any_dtype(gen *g)
{
    return dtypes[roll(g, RLX_COUNT(dtypes))];
}

/* A size as an expression: n, m or a literal. */
static const rlx_prim *any_size(gen *g, int64_t *value)
{
    static const int64_t literals[] = { 1, 2, 3, 7, 16, 300 };
    uint32_t k = roll(g, 4);
    if (k < 2) {
        *value = g->sizes[k];
        return g->dims[k];
    }
    *value = literals[roll(g, 6)];
    return rlx_tir_int(&g->t, *value);
}

static int64_t elements(const array *a)
{
    int64_t n = 1;
    for (size_t d = 0; d < a->ndim; d++)
        n *= a->shape[d];
    return n;
}

static array *new_array(gen *g, bool param, rlx_dtype dtype, const axis *like, size_t ndim)
{
    array *a = &g->arrays[g->num_arrays];
    const rlx_prim *shape[3];
    char name[8];
    do {
        a->dtype = dtype;
        a->ndim = like ? ndim : roll(g, 3) + (roll(g, 4) > 0);
        for (size_t d = 0; d < a->ndim; d++) {
            shape[d] = like ? like[d].extent : any_size(g, &a->shape[d]);
            if (like)
                a->shape[d] = like[d].size;
        }
    } while (!like && elements(a) > 20000);
    snprintf(name, sizeof name, "%c", (char)('A' + g->num_arrays));
    a->buffer = param ? rlx_tir_param(&g->t, name, dtype, RLX_TIR_ITEMS(shape, a->ndim))
                      : rlx_tir_alloc(&g->t, name, dtype, RLX_TIR_ITEMS(shape, a->ndim));
    if (param)
        kc_tensor(&g->c, dtype, (int32_t)a->ndim, a->shape);
    g->num_arrays++;
    return a;
}

/* An index for a dimension of this size: usually in range, by loop variables in several forms. */
static const rlx_prim *any_index(gen *g, int64_t size)
{
    rlx_tir *t = &g->t;
    for (int tries = 0; tries < 6 && g->num_axes; tries++) {
        const axis *x = &g->axes[roll(g, (uint32_t)g->num_axes)];
        uint32_t form = roll(g, 8);
        if (x->size == 0)
            return x->var;
        if (form < 4 && x->size <= size) {
            int64_t room = size - x->size;
            return room && roll(g, 2) ? rlx_tir_add(t, x->var, rlx_tir_int(t, room)) : x->var;
        }
        if (form == 4 && x->size <= size) /* backward */
            return rlx_tir_sub(t, rlx_tir_sub(t, x->extent, rlx_tir_int(t, 1)), x->var);
        if (form == 5 && x->size * 2 - 1 <= size)
            return rlx_tir_mul(t, x->var, rlx_tir_int(t, 2));
        if (form == 6 && size > 0)
            return rlx_tir_floor_mod(
                t, rlx_tir_add(t, rlx_tir_mul(t, x->var, rlx_tir_int(t, 3)), rlx_tir_int(t, 1)),
                rlx_tir_int(t, size));
        if (form == 7 && g->faulty && roll(g, 10) == 0)
            return rlx_tir_add(t, x->var, rlx_tir_int(t, 1));
    }
    return rlx_tir_int(t, size ? (int64_t)roll(g, (uint32_t)size) : 0);
}

static const rlx_prim *any_load(gen *g, rlx_dtype dtype)
{
    const array *a = &g->arrays[roll(g, (uint32_t)g->num_arrays)];
    const rlx_prim *index[3];
    for (size_t d = 0; d < a->ndim; d++)
        index[d] = any_index(g, a->shape[d]);
    return rlx_tir_cast(&g->t, dtype,
                        rlx_tir_load(&g->t, a->buffer, RLX_TIR_ITEMS(index, a->ndim)));
}

static bool has_empty(const gen *g)
{
    for (size_t i = 0; i < g->num_arrays; i++)
        if (elements(&g->arrays[i]) == 0)
            return true;
    return false;
}

static const rlx_prim *any_expr(gen *g, rlx_dtype dtype, int depth);

static const rlx_prim *any_cond(gen *g, int depth)
{
    static const enum rlx_node_kind kinds[] = { RLX_NODE_EQ, RLX_NODE_NE, RLX_NODE_LT,
                                                RLX_NODE_LE, RLX_NODE_GT, RLX_NODE_GE };
    rlx_dtype of = roll(g, 2) ? RELAX_INT64 : RELAX_FLOAT32;
    const rlx_prim *c = rlx_tir_binary(&g->t, kinds[roll(g, 6)], any_expr(g, of, depth - 1),
                                       any_expr(g, of, depth - 1));
    switch (depth > 1 ? roll(g, 4) : 3) {
    case 0: return rlx_tir_and(&g->t, c, any_cond(g, depth - 1));
    case 1: return rlx_tir_or(&g->t, c, any_cond(g, depth - 1));
    case 2: return rlx_tir_not(&g->t, c);
    default: return c;
    }
}

static const rlx_prim *leaf(gen *g, rlx_dtype dtype)
{
    static const double numbers[] = { -0.0, -3.0, 0.5, 300.0, 1e10, -1e30, 1e30, 0x1p63 };
    uint32_t k = roll(g, 6);
    if (k == 0)
        return rlx_tir_number(&g->t, dtype,
                              roll(g, 3) ? roll(g, 5) : numbers[roll(g, RLX_COUNT(numbers))]);
    if (k == 1 && g->num_axes)
        return rlx_tir_cast(&g->t, dtype, g->axes[roll(g, (uint32_t)g->num_axes)].var);
    return any_load(g, dtype);
}

static const rlx_prim *any_expr(gen *g, rlx_dtype dtype, int depth)
{
    rlx_tir *t = &g->t;
    static const enum rlx_node_kind kinds[] = { RLX_NODE_ADD, RLX_NODE_SUB, RLX_NODE_MUL,
                                                RLX_NODE_MIN, RLX_NODE_MAX };
    if (depth <= 0)
        return leaf(g, dtype);
    if (dtype == RELAX_BOOL)
        return any_cond(g, depth);
    bool is_float = rlx_dtype_is_float(dtype);
    const rlx_prim *a = any_expr(g, dtype, depth - 1);
    switch (roll(g, 9)) {
    case 0: return rlx_tir_select(t, any_cond(g, depth - 1), a, any_expr(g, dtype, depth - 1));
    case 1:
        return rlx_tir_if_then_else(t, any_cond(g, depth - 1), a, any_expr(g, dtype, depth - 1));
    case 2:
        return is_float ? rlx_tir_call1(t, roll(g, 2) ? "exp" : "fabs", a)
                        : rlx_tir_call1(t, "bitwise_not", a);
    case 3: {
        const rlx_prim *b = any_expr(g, dtype, depth - 1);
        return is_float
                   ? rlx_tir_div(t, a, b)
                   : rlx_tir_floor_div(
                         t, a, rlx_tir_call2(t, "bitwise_or", b, rlx_tir_number(t, dtype, 1)));
    }
    case 4: return rlx_tir_cast(t, dtype, rlx_tir_cast(t, any_dtype(g), a));
    default:
        return rlx_tir_binary(t, kinds[roll(g, 5)], a,
                              roll(g, 5) ? any_expr(g, dtype, depth - 1) : a);
    }
}

/* A block over spatial axes that writes one new array, with or without a reduction. */
static void stage(gen *g, bool last)
{
    rlx_tir *t = &g->t;
    rlx_dtype dtype = any_dtype(g);
    size_t spatial = roll(g, 3) + (roll(g, 3) > 0), reduce = roll(g, 3) ? 0 : 1 + roll(g, 2);
    axis out[3] = { { 0 } };
    int64_t work = 1;
    const rlx_prim *place[3];
    for (size_t i = 0; i < spatial; i++) {
        out[i].extent = any_size(g, &out[i].size);
        work *= out[i].size;
    }
    if (work > 5000) /* the evaluator is slow */
        spatial = 1;
    const array *target = new_array(g, last, dtype, out, spatial);
    g->num_arrays--; /* not read by itself, but as an accumulator */
    g->num_axes = 0;
    rlx_tir_begin_block(t, "b");
    bool reduce_first = reduce && roll(g, 3) == 0;
    for (size_t pass = 0; pass < 2; pass++) {
        if ((pass == 0) == reduce_first)
            for (size_t i = 0; i < reduce; i++) {
                int64_t size = roll(g, 8) ? 1 + roll(g, 4) : 0;
                const rlx_prim *extent = rlx_tir_int(t, size);
                g->axes[g->num_axes++] =
                    (axis){ rlx_tir_reduce(t, i ? "q" : "k", extent), extent, size, true };
            }
        else
            for (size_t i = 0; i < spatial; i++) {
                char name[4] = { 'i', (char)('0' + i), 0 };
                place[i] = rlx_tir_spatial(t, name, out[i].extent);
                g->axes[g->num_axes++] = (axis){ place[i], out[i].extent, out[i].size, false };
            }
    }
    rlx_prim_list at = RLX_TIR_ITEMS(place, spatial);
    if (reduce) {
        static const enum rlx_node_kind kinds[] = { RLX_NODE_ADD, RLX_NODE_MAX, RLX_NODE_MIN,
                                                    RLX_NODE_MUL };
        rlx_dtype of = dtype == RELAX_BOOL ? RELAX_BOOL : dtype;
        const rlx_prim *v = roll(g, 3)
                                ? any_expr(g, of, 1 + (int)roll(g, 2))
                                : rlx_tir_mul(t, any_load(g, of == RELAX_BOOL ? RELAX_INT32 : of),
                                              any_load(g, of == RELAX_BOOL ? RELAX_INT32 : of));
        enum rlx_node_kind kind = dtype == RELAX_BOOL ? RLX_NODE_OR : kinds[roll(g, 4)];
        v = rlx_tir_cast(t, of, v);
        rlx_tir_init(t, target->buffer, at, rlx_tir_number(t, dtype, kind == RLX_NODE_MUL));
        rlx_tir_store(t, target->buffer, at,
                      rlx_tir_binary(t, kind, rlx_tir_load(t, target->buffer, at), v));
    } else if (roll(g, 5) == 0) {
        rlx_tir_if(t, any_cond(g, 2));
        rlx_tir_store(t, target->buffer, at, any_expr(g, dtype, 2));
        rlx_tir_else(t);
        rlx_tir_store(t, target->buffer, at, any_expr(g, dtype, 1));
        rlx_tir_end_if(t);
    } else if (roll(g, 4) == 0) {
        const rlx_prim *x = rlx_tir_let(t, "x", any_expr(g, dtype, 2));
        rlx_tir_store(t, target->buffer, at, rlx_tir_max(t, x, any_expr(g, dtype, 2)));
    } else
        rlx_tir_store(t, target->buffer, at, any_expr(g, dtype, 1 + (int)roll(g, 3)));
    rlx_tir_end_block(t);
    g->num_arrays++;
}

static void show_kernel(rlx_context *ctx, const rlx_prim_func *f)
{
    rlx_buf bytes, text;
    kc_write(ctx, f, &bytes);
    rlx_buf_init(&text, &ctx->memory);
    rlx_kernel_disassemble((const uint8_t *)bytes.data, bytes.len, &text);
    printf("%s", text.data);
    rlx_buf_free(&text);
    rlx_buf_free(&bytes);
}

static void one_program(uint64_t seed, bool show)
{
    static const int64_t sizes[] = { 0, 1, 2, 5, 16, 33, 260 };
    gen *g = calloc(1, sizeof *g);
    g->seed = seed * 2654435761u + 1;
    g->ctx = rlx_context_create(NULL, 0);
    g->c.seed = seed;
    g->faulty = seed % 8 == 0;
    rlx_tir_begin(&g->t, g->ctx, RLX_NO_PLACE);
    g->dims[0] = rlx_tir_dim(&g->t, "n"), g->dims[1] = rlx_tir_dim(&g->t, "m");
    for (int i = 0; i < 2; i++)
        g->sizes[i] = sizes[roll(g, 10) ? 1 + roll(g, 6) : 0];
    /* the first argument binds both sizes */
    axis both[2] = { { .extent = g->dims[0], .size = g->sizes[0] },
                     { .extent = g->dims[1], .size = g->sizes[1] } };
    new_array(g, true, RELAX_FLOAT32, both, 2);
    for (uint32_t i = 1 + roll(g, 3); i > 0; i--)
        new_array(g, true, any_dtype(g), NULL, 0);
    bool empty = has_empty(g);
    for (uint32_t i = roll(g, 3); i > 0 && !empty; i--)
        stage(g, false);
    stage(g, true);
    const rlx_prim_func *f = rlx_tir_end(&g->t);
    if (show)
        show_kernel(g->ctx, f);
    int code = kc_run(g->ctx, f, &g->c, NULL);
    /* an empty array has no good index: then running off it is right */
    if (code != RLX_CODE_NONE && !g->faulty && !empty && !has_empty(g))
        fail_msg("unexpected failure %d", code);
    kc_free(&g->c);
    rlx_context_release(g->ctx);
    free(g);
}

static void random_programs(void **state)
{
    bool more = getenv("RELAX_LONG") != NULL;
    kc_each_seed("KERNEL_SEED", more ? 20000 : 400, more ? 20 : 16, one_program);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(random_programs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
