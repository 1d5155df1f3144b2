/* test_fold_numbers.c: constants are what the same expression of variables is. Random expressions
 * over all dtypes are built three times: of literals, which fold while they are built, of elements
 * of arrays that hold the same numbers, and of both. Evaluator, lowered function, kernel and
 * generated C compute all three; every bit must agree. FOLD_SEED=n runs one program and shows it,
 * RELAX_LONG=1 more of them. */
/* built for speed */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cmocka.h>

#include "arith/arith.h"
#include "kernel_c.h"

enum { DTYPES = 5, LEAVES = 120, RESULTS = 12, FORMS = 3 };
enum { LITERAL, LOADED, MIXED };

typedef struct forms { const rlx_prim *p[FORMS]; } forms;
typedef struct leaves { rlx_dtype dtype; const rlx_buffer *buffer; unsigned char *data; int len;
} leaves;
typedef struct gen {
    rlx_tir t;
    rlx_context *ctx;
    uint64_t seed;
    leaves of[DTYPES];
    kc c;
} gen;

static const rlx_dtype dtypes[] = { RELAX_BOOL,    RELAX_INT8,     RELAX_INT16,   RELAX_INT32,
                                    RELAX_INT64,   RELAX_UINT8,    RELAX_UINT16,  RELAX_UINT32,
                                    RELAX_UINT64,  RELAX_UINT64,   RELAX_FLOAT16, RELAX_BFLOAT16,
                                    RELAX_FLOAT32, RELAX_FLOAT64,  RELAX_FLOAT8_E4M3FN,
                                    RELAX_FLOAT8_E5M2 };

/* The first two and the first four have identities of their own, and come more often. */
static const int64_t ints[] = {
    0,         1,         2,         3,          7,         63,        64,         100,
    127,       128,       255,       256,        32767,     32768,     65535,      -1,
    -2,        -3,        -128,      -129,       16777217,  INT32_MAX, INT32_MIN,  UINT32_MAX,
    INT64_MAX, INT64_MIN, INT64_MAX - 1, INT64_MIN + 1, (int64_t)1 << 53, ((int64_t)1 << 53) + 1,
};
static const double floats[] = {
    0.0,     -0.0,     1.0,    -1.0,    0.5,    -0.5,    0.1,     2.5,     -3.0,     3.999,
    127.5,   128.0,    -128.9, 255.5,   256.0,  300.0,   65504.0, 65520.0, 16777217, 1e-8,
    1e-40,   1e-60,    -1e-9,  0x1p31,  0x1p32, -0x1p31, 0x1p63,  -0x1p63, 0x1p64,   1.1e19,
    9.25e18, -9.25e18, 1e30,   -1e30,   3.4e38, 1e300,   -1e300,  4095.9375, (double)INFINITY,
    -(double)INFINITY, (double)NAN,
};

static uint32_t roll(gen *g, uint32_t n)
{
    g->seed = g->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(g->seed >> 33) % n;
}

static void put(rlx_dtype t, unsigned char *at, int64_t i, double d)
{
    if (rlx_dtype_is_float(t))
        rlx_dtype_store_float(t, at, d);
    else
        memcpy(at, &i, rlx_dtype_bytes(t));
}

static forms leaf_of(gen *g, leaves *l, int64_t i, double d)
{
    rlx_tir *t = &g->t;
    forms f;
    assert_true(l->len < LEAVES);
    put(l->dtype, l->data + (size_t)l->len * rlx_dtype_bytes(l->dtype), i, d);
    f.p[LITERAL] = rlx_dtype_is_float(l->dtype) ? rlx_float(g->ctx, l->dtype, d)
                                                : rlx_int(g->ctx, l->dtype, i);
    f.p[LOADED] = rlx_tir_load(t, l->buffer, RLX_TIR_LIST(rlx_tir_int(t, l->len++)));
    f.p[MIXED] = f.p[roll(g, 2)];
    return f;
}

static int64_t any_int(gen *g, rlx_dtype t)
{
    int64_t v = ints[roll(g, roll(g, 3) ? RLX_COUNT(ints) : 2)];
    return rlx_dtype_wrap(t, roll(g, 4) ? v : (int64_t)g->seed);
}

static forms leaf(gen *g, leaves *l)
{
    return leaf_of(g, l, any_int(g, l->dtype), floats[roll(g, roll(g, 3) ? RLX_COUNT(floats) : 4)]);
}

static forms both(gen *g, enum rlx_node_kind kind, forms a, forms b)
{
    for (int i = 0; i < FORMS; i++)
        a.p[i] = rlx_fold_binary(g->ctx, kind, a.p[i], b.p[i]);
    return a;
}

static forms by_bits(gen *g, const char *op, forms a, forms b)
{
    for (int i = 0; i < FORMS; i++)
        a.p[i] = rlx_fold_call(g->ctx, op, a.p[i], b.p[i]);
    return a;
}

static forms cast(gen *g, rlx_dtype to, forms a)
{
    for (int i = 0; i < FORMS; i++)
        a.p[i] = rlx_fold_cast(g->ctx, to, a.p[i]);
    return a;
}

/* Of two types, which are matched. False: the result is not of type t. A float that is made a wider
 * one by its place keeps its digits, which is no cast: the other type is an integer. */
static bool matched(gen *g, rlx_dtype t, forms a, forms b, forms *out)
{
    if (rlx_dtype_is_float(rlx_prim_dtype(b.p[LOADED])))
        return false;
    const rlx_prim *x = a.p[LOADED], *y = b.p[LOADED];
    *out = a;
    if (!rlx_match_types(g->ctx, &x, &y) || rlx_prim_dtype(x) != t)
        return false;
    *out = both(g, roll(g, 2) ? RLX_NODE_ADD : RLX_NODE_MAX, a, b);
    return true;
}

static forms choose(gen *g, forms c, forms a, forms b)
{
    for (int i = 0; i < FORMS; i++)
        a.p[i] = rlx_tir_select(&g->t, c.p[i], a.p[i], b.p[i]);
    return a;
}

static forms any_expr(gen *g, leaves *l, int depth);

static forms comparison(gen *g, int depth)
{
    leaves *l = &g->of[roll(g, DTYPES)];
    enum rlx_node_kind kind = (enum rlx_node_kind)(RLX_NODE_EQ + (int)roll(g, 6));
    forms a = any_expr(g, l, depth - 1), b = roll(g, 4) ? any_expr(g, l, depth - 1) : a;
    return both(g, kind, a, b);
}

/* The divisor is no expression: it must not vanish. */
static forms quotient(gen *g, leaves *l, forms a)
{
    static const enum rlx_node_kind kinds[] = { RLX_NODE_DIV, RLX_NODE_FLOOR_DIV, RLX_NODE_MOD,
                                                RLX_NODE_FLOOR_MOD };
    int64_t v = any_int(g, l->dtype);
    return both(g, kinds[roll(g, 4)], a, leaf_of(g, l, v ? v : 1, 0));
}

static forms bits(gen *g, leaves *l, forms a, int depth)
{
    static const char *const ops[] = { "bitwise_and", "bitwise_or", "bitwise_xor" };
    if (roll(g, 2))
        return by_bits(g, roll(g, 2) ? "shift_left" : "shift_right", a,
                       leaf_of(g, l, roll(g, 70), 0));
    return by_bits(g, ops[roll(g, 3)], a, any_expr(g, l, depth - 1));
}

static forms any_expr(gen *g, leaves *l, int depth)
{
    static const enum rlx_node_kind kinds[] = { RLX_NODE_ADD, RLX_NODE_SUB, RLX_NODE_MUL,
                                                RLX_NODE_MIN, RLX_NODE_MAX };
    leaves *other = &g->of[roll(g, DTYPES)];
    if (depth <= 0)
        return leaf(g, l);
    if (roll(g, 4) == 0)
        return cast(g, l->dtype, any_expr(g, other, depth - 1));
    if (rlx_dtype_is_bool(l->dtype))
        return comparison(g, depth);
    forms a = any_expr(g, l, depth - 1), sum;
    switch (roll(g, 7)) {
    case 6:
        if (matched(g, l->dtype, a, any_expr(g, other, depth - 1), &sum))
            return sum;
        return a;
    case 0:
        return rlx_dtype_is_float(l->dtype) ? both(g, RLX_NODE_DIV, a, any_expr(g, l, depth - 1))
                                            : quotient(g, l, a);
    case 1:
        if (!rlx_dtype_is_float(l->dtype))
            return bits(g, l, a, depth);
        return choose(g, comparison(g, 1), a, any_expr(g, l, depth - 1));
    default: return both(g, kinds[roll(g, 5)], a, roll(g, 5) ? any_expr(g, l, depth - 1) : a);
    }
}

static void show(gen *g, forms f)
{
    for (int i = 0; i < FORMS; i++) {
        rlx_buf text;
        rlx_buf_init(&text, &g->ctx->memory);
        rlx_text_prim(&text, f.p[i]);
        printf("%s\n", text.data);
        rlx_buf_free(&text);
    }
}

static void one_program(uint64_t seed, bool shows)
{
    gen *g = calloc(1, sizeof *g);
    g->seed = seed * 2654435761u + 1;
    g->ctx = rlx_context_create(NULL, 0);
    rlx_tir_begin(&g->t, g->ctx, RLX_NO_PLACE);
    for (int i = 0; i < DTYPES; i++) {
        leaves *l = &g->of[i];
        char name[2] = { (char)('A' + i), 0 };
        l->dtype = dtypes[roll(g, RLX_COUNT(dtypes))];
        l->data = kc_tensor1(&g->c, l->dtype, LEAVES);
        l->buffer = rlx_tir_param(&g->t, name, l->dtype, RLX_TIR_LIST(rlx_tir_int(&g->t, LEAVES)));
    }
    leaves *root = &g->of[0];
    unsigned char *got = kc_tensor1(&g->c, root->dtype, FORMS * RESULTS);
    const rlx_buffer *out = rlx_tir_param(&g->t, "Z", root->dtype,
                                          RLX_TIR_LIST(rlx_tir_int(&g->t, FORMS * RESULTS)));
    rlx_tir_begin_block(&g->t, "b");
    for (int j = 0; j < RESULTS; j++) {
        forms f = any_expr(g, root, 1 + j % 3);
        if (shows)
            show(g, f);
        for (int i = 0; i < FORMS; i++)
            rlx_tir_store(&g->t, out, RLX_TIR_LIST(rlx_tir_int(&g->t, i * RESULTS + j)), f.p[i]);
    }
    rlx_tir_end_block(&g->t);
    const rlx_prim_func *f = rlx_tir_end(&g->t);
    assert_int_equal(kc_run(g->ctx, f, &g->c, NULL), RLX_CODE_NONE);
    size_t bytes = RESULTS * rlx_dtype_bytes(root->dtype);
    kc_arg part = { .dtype = root->dtype, .ndim = 1, .shape = { RESULTS } };
    kc_expect_same(&part, 0, got + LOADED * bytes, got + LITERAL * bytes, "what is folded");
    kc_expect_same(&part, 0, got + LOADED * bytes, got + MIXED * bytes, "what is folded in part");
    kc_free(&g->c);
    rlx_context_release(g->ctx);
    free(g);
}

static void constants_are_what_variables_are(void **state)
{
    bool more = getenv("RELAX_LONG") != NULL;
    kc_each_seed("FOLD_SEED", more ? 40000 : 1500, more ? 80 : 50, one_program);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(constants_are_what_variables_are) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
