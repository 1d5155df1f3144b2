/* test_fold.c: folding constructors, simplification and evaluation. */
#include "scope_fixture.h"

#include <math.h>

static const rlx_prim *parse(fixture *f, const char *text)
{
    const rlx_prim *p = prim_parse(&f->names, text);
    if (!p)
        fail_msg("cannot read %s", text);
    return p;
}

static void expect_text(fixture *f, const char *what, const rlx_prim *p, const char *want)
{
    rlx_buf text;
    rlx_buf_init(&text, &f->ctx->memory);
    if (p)
        rlx_text_prim(&text, p);
    const char *got = text.data ? text.data : "NULL";
    if (strcmp(got, want) != 0)
        fail_msg("%s: wanted %s, got %s", what, want, got);
    rlx_buf_free(&text);
}

/* Built through the folding constructors; rows that must stay as they are, are marked by being
 * equal. */
static const struct { const char *in, *want;
} folds[] = {
    { "2 + 3", "5" },
    { "n + 0", "n" },
    { "0 + n", "n" },
    { "n - 0", "n" },
    { "n * 1", "n" },
    { "1 * n", "n" },
    { "n * 0", "0" },
    { "0 * n", "0" },
    { "n // 1", "n" },
    { "0 // n", "0" },
    { "n % 1", "0" },
    { "0 % n", "0" },
    { "truncdiv(n, 1)", "n" },
    { "7 // 2", "3" },
    { "-7 // 2", "-4" },
    { "-7 % 4", "1" },
    { "truncdiv(-7, 2)", "-3" },
    { "truncmod(-7, 4)", "-3" },
    { "min(2, 3)", "2" },
    { "max(2, 3)", "3" },
    { "min(n, n)", "n" },
    { "9223372036854775807 + 1", "-9223372036854775808" },
    /* no re-association, no cleverness, nothing that would fail */
    { "n + 1 + 2", "n + 1 + 2" },
    { "n + 1 - 1", "n + 1 - 1" },
    { "n - n", "n - n" },
    { "0 - n", "0 - n" },
    { "n // n", "n // n" },
    { "5 // 0", "5 // 0" },
    { "n % 0", "n % 0" },
    { "1 < 2", "1 < 2" },
    { "n == n", "n == n" },
    { "n // 0", "n // 0" },
};

static void test_folding(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < RLX_COUNT(folds); i++) {
        const rlx_prim *p = parse(f, folds[i].in);
        expect_text(f, folds[i].in, p, folds[i].want);
        assert_false(rlx_refolds(f->ctx, p));
    }
    const rlx_prim *n = parse(f, "n"), *yes = rlx_int(f->ctx, RELAX_BOOL, 1);
    assert_ptr_equal(rlx_fold_select(f->ctx, yes, n, rlx_int64(f->ctx, 4)), n);
    assert_ptr_equal(
        rlx_fold_select(f->ctx, rlx_int(f->ctx, RELAX_BOOL, 0), n, rlx_int64(f->ctx, 4)),
        rlx_int64(f->ctx, 4));
    assert_int_equal(rlx_fold_not(f->ctx, yes)->kind, RLX_NODE_NOT);
    assert_null(rlx_fold_add(f->ctx, n, NULL));
}

static void test_refolds(void **state)
{
    fixture *f = *state;
    assert_true(rlx_refolds(f->ctx, parse(f, "Add(n, 0)")));
    assert_true(rlx_refolds(f->ctx, parse(f, "Mul(2, 3)")));
    assert_true(rlx_refolds(f->ctx, parse(f, "FloorDiv(n, 1)")));
    assert_false(rlx_refolds(f->ctx, parse(f, "Add(n, 1)")));
    assert_false(rlx_refolds(f->ctx, parse(f, "n")));
    assert_false(
        rlx_refolds(f->ctx, rlx_binary_new(f->ctx, RLX_NODE_MIN, parse(f, "n"), parse(f, "m"))));
    assert_true(
        rlx_refolds(f->ctx, rlx_binary_new(f->ctx, RLX_NODE_MIN, parse(f, "n"), parse(f, "n"))));
}

static void test_dtypes(void **state)
{
    static const struct { rlx_dtype a, b, want;
    } rows[] = {
        { RELAX_INT32, RELAX_INT64, RELAX_INT64 },
        { RELAX_INT8, RELAX_INT16, RELAX_INT16 },
        { RELAX_UINT8, RELAX_INT32, RELAX_INT32 },
        { RELAX_UINT32, RELAX_INT32, RELAX_UINT32 },
        { RELAX_UINT64, RELAX_INT8, RELAX_UINT64 },
        { RELAX_FLOAT16, RELAX_FLOAT32, RELAX_FLOAT32 },
        { RELAX_INT64, RELAX_FLOAT16, RELAX_FLOAT16 },
        { RELAX_BFLOAT16, RELAX_INT32, RELAX_BFLOAT16 },
        { RELAX_FLOAT32, RELAX_BFLOAT16, RELAX_FLOAT32 },
        { RELAX_HANDLE, RELAX_INT32, RELAX_VOID },
    };
    fixture *f = *state;
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        for (int swap = 0; swap < 2; swap++) {
            rlx_dtype ta = swap ? rows[i].b : rows[i].a, tb = swap ? rows[i].a : rows[i].b;
            const rlx_prim *a = &rlx_prim_var_new(f->ctx, rlx_string_z(f->ctx, "a"), ta, 0)->node;
            const rlx_prim *b = &rlx_prim_var_new(f->ctx, rlx_string_z(f->ctx, "b"), tb, 0)->node;
            bool matched = rlx_match_types(f->ctx, &a, &b);
            assert_int_equal(matched, !rlx_dtype_is_void(rows[i].want));
            if (matched)
                assert_true(rlx_prim_dtype(a) == rows[i].want &&
                            rlx_prim_dtype(b) == rows[i].want);
        }
    const rlx_prim *x = &rlx_prim_var_new(f->ctx, rlx_string_z(f->ctx, "x"),
                                          rlx_dtype_with_lanes(RELAX_FLOAT32, 4), 0)
                             ->node;
    const rlx_prim *one = rlx_int(f->ctx, RELAX_INT32, 1);
    assert_true(rlx_match_types(f->ctx, &x, &one));
    assert_int_equal(one->kind, RLX_NODE_BROADCAST); /* a literal is re-typed, not cast */
    assert_int_equal(rlx_as_broadcast(one)->value->kind, RLX_NODE_FLOAT_IMM);
}

static void test_literals(void **state)
{
    fixture *f = *state;
    rlx_context *c = f->ctx;
    assert_ptr_equal(rlx_fold_cast(c, RELAX_INT64, rlx_int(c, RELAX_INT32, 7)), rlx_int64(c, 7));
    assert_ptr_equal(rlx_fold_cast(c, RELAX_INT8, rlx_int64(c, 300)), rlx_int(c, RELAX_INT8, 44));
    assert_ptr_equal(rlx_fold_cast(c, RELAX_UINT8, rlx_int64(c, -1)),
                     rlx_int(c, RELAX_UINT8, 255));
    assert_ptr_equal(rlx_fold_cast(c, RELAX_BOOL, rlx_int64(c, 2)), rlx_int(c, RELAX_BOOL, 1));
    assert_ptr_equal(rlx_fold_cast(c, RELAX_FLOAT32, rlx_int64(c, 2)),
                     rlx_float(c, RELAX_FLOAT32, 2));
    assert_ptr_equal(rlx_fold_cast(c, RELAX_INT32, rlx_float(c, RELAX_FLOAT32, -2.7)),
                     rlx_int(c, RELAX_INT32, -2));
    const rlx_prim *a = rlx_float(c, RELAX_FLOAT32, 0.1), *b = rlx_float(c, RELAX_FLOAT32, 0.2);
    /* rounded to float32 */
    assert_true(rlx_as_float_imm(rlx_fold_add(c, a, b))->value == (double)0.3f);
    assert_int_equal(
        rlx_fold_add(c, rlx_float(c, RELAX_FLOAT16, 1), rlx_float(c, RELAX_FLOAT16, 2))->kind,
        RLX_NODE_ADD);
    assert_int_equal(rlx_fold_binary(c, RLX_NODE_DIV, a, rlx_float(c, RELAX_FLOAT32, 0))->kind,
                     RLX_NODE_DIV);
    assert_ptr_equal(rlx_fold_add(c, rlx_int(c, RELAX_INT8, 127), rlx_int(c, RELAX_INT8, 1)),
                     rlx_int(c, RELAX_INT8, -128));
    assert_int_equal(rlx_fold_binary(c, RLX_NODE_FLOOR_MOD, rlx_int(c, RELAX_INT8, 7),
                                     rlx_int(c, RELAX_INT8, 4))
                         ->kind,
                     RLX_NODE_FLOOR_MOD);
}

/* Casts of literals are those of the run side: they saturate, and NaN is 0. */
static void test_literal_casts(void **state)
{
    static const struct { double from; rlx_dtype to; int64_t want;
    } rows[] = {
        { -3.0, RELAX_UINT8, 0 },
        { 300.7, RELAX_UINT8, 255 },
        { 300.0, RELAX_INT8, 127 },
        { -1e30, RELAX_INT16, INT16_MIN },
        { 1e30, RELAX_INT32, INT32_MAX },
        { 1e30, RELAX_INT64, INT64_MAX },
        { 1e30, RELAX_UINT64, -1 },
        { 0x1p63, RELAX_UINT64, INT64_MIN },
        { -0.5, RELAX_UINT64, 0 },
        { 0x1p32, RELAX_UINT32, UINT32_MAX },
        { (double)NAN, RELAX_INT32, 0 },
        { (double)NAN, RELAX_UINT64, 0 },
        { -(double)INFINITY, RELAX_INT8, -128 },
        { 9.0, 0x00010400 /* int4 */, 7 },
        { 1e-60, RELAX_BOOL, 1 },
    };
    fixture *f = *state;
    rlx_context *c = f->ctx;
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (rlx_fold_cast(c, rows[i].to, rlx_float(c, RELAX_FLOAT64, rows[i].from)) !=
            rlx_int(c, rows[i].to, rows[i].want))
            fail_msg("%g to %x is wrong", rows[i].from, (unsigned)rows[i].to);
    const rlx_prim *largest = rlx_int(c, RELAX_UINT64, -1),
                   *tenth = rlx_float(c, RELAX_FLOAT32, 0.1);
    assert_ptr_equal(rlx_fold_cast(c, RELAX_FLOAT64, largest),
                     rlx_float(c, RELAX_FLOAT64, 0x1p64));
    assert_ptr_equal(rlx_fold_retype(c, RELAX_FLOAT64, largest),
                     rlx_float(c, RELAX_FLOAT64, 0x1p64));
    assert_ptr_equal(rlx_fold_cast(c, RELAX_INT8, largest), rlx_int(c, RELAX_INT8, -1));
    /* a cast rounds first; where the place decides the type, the digits stay */
    assert_ptr_equal(rlx_fold_cast(c, RELAX_FLOAT64, tenth),
                     rlx_float(c, RELAX_FLOAT64, (double)0.1f));
    assert_ptr_equal(rlx_fold_retype(c, RELAX_FLOAT64, tenth), rlx_float(c, RELAX_FLOAT64, 0.1));
}

/* Of floats only what holds for NaN, infinities and both zeros. */
static void test_float_identities(void **state)
{
    static const struct { enum rlx_node_kind kind; double literal; bool left, right;
    } rows[] = {
        { RLX_NODE_ADD, 0.0, false, false }, { RLX_NODE_ADD, -0.0, true, true },
        { RLX_NODE_SUB, 0.0, false, true },  { RLX_NODE_SUB, -0.0, false, false },
        { RLX_NODE_MUL, 0.0, false, false }, { RLX_NODE_MUL, -0.0, false, false },
        { RLX_NODE_MUL, 1.0, true, true },   { RLX_NODE_MUL, -1.0, false, false },
        { RLX_NODE_DIV, 0.0, false, false }, { RLX_NODE_DIV, 1.0, false, true },
        { RLX_NODE_MIN, 0.0, false, false }, { RLX_NODE_MAX, (double)NAN, false, false },
    };
    static const rlx_dtype types[] = { RELAX_FLOAT32, RELAX_FLOAT64, RELAX_FLOAT16,
                                       RELAX_BFLOAT16, RELAX_FLOAT8_E4M3FN,
                                       RELAX_FLOAT8_E5M2 };
    fixture *f = *state;
    rlx_context *c = f->ctx;
    for (size_t i = 0; i < RLX_COUNT(rows) * RLX_COUNT(types); i++) {
        rlx_dtype t = types[i % RLX_COUNT(types)];
        size_t at = i / RLX_COUNT(types);
        const rlx_prim *x = &rlx_prim_var_new(c, rlx_string_z(c, "x"), t, 0)->node;
        const rlx_prim *v = rlx_float(c, t, rows[at].literal);
        assert_int_equal(rlx_fold_binary(c, rows[at].kind, v, x) == x, rows[at].left);
        assert_int_equal(rlx_fold_binary(c, rows[at].kind, x, v) == x, rows[at].right);
    }
    const rlx_prim *inf = rlx_float(c, RELAX_FLOAT32, (double)INFINITY);
    assert_int_equal(rlx_fold_sub(c, inf, inf)->kind, RLX_NODE_SUB);
    /* -0.0 is no 0.0, and a NaN has a sign, no more */
    assert_ptr_not_equal(rlx_float(c, RELAX_FLOAT32, 0.0), rlx_float(c, RELAX_FLOAT32, -0.0));
    assert_ptr_not_equal(rlx_float(c, RELAX_FLOAT32, (double)NAN),
                         rlx_float(c, RELAX_FLOAT32, -(double)NAN));
    assert_ptr_equal(rlx_float(c, RELAX_FLOAT32, (double)NAN),
                     rlx_float(c, RELAX_FLOAT32, nan("7")));
}

static void test_large_numbers(void **state)
{
    static const struct { enum rlx_node_kind kind; uint64_t a, b, want;
    } rows[] = {
        { RLX_NODE_FLOOR_DIV, UINT64_MAX - 1, 3, (UINT64_MAX - 1) / 3 },
        { RLX_NODE_DIV, UINT64_MAX, 10, UINT64_MAX / 10 },
        { RLX_NODE_MIN, UINT64_MAX, 0, 0 },
        { RLX_NODE_MAX, UINT64_MAX, 0, UINT64_MAX },
        { RLX_NODE_ADD, UINT64_MAX, 2, 1 },
        { RLX_NODE_SUB, 0, 2, UINT64_MAX - 1 },
    };
    fixture *f = *state;
    rlx_context *c = f->ctx;
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        assert_ptr_equal(rlx_fold_binary(c, rows[i].kind,
                                         rlx_int(c, RELAX_UINT64, (int64_t)rows[i].a),
                                         rlx_int(c, RELAX_UINT64, (int64_t)rows[i].b)),
                         rlx_int(c, RELAX_UINT64, (int64_t)rows[i].want));
    const rlx_prim *big = rlx_int(c, RELAX_UINT64, -2), *three = rlx_int(c, RELAX_UINT64, 3);
    assert_ptr_equal(rlx_fold_call(c, "shift_right", big, rlx_int(c, RELAX_UINT64, 4)),
                     rlx_int(c, RELAX_UINT64, (int64_t)((UINT64_MAX - 1) >> 4)));
    /* the prover knows literals; of expressions with such a number it knows nothing */
    const rlx_prim *u = &rlx_prim_var_new(c, rlx_string_z(c, "u"), RELAX_UINT64, 0)->node;
    int64_t low, high;
    assert_int_equal(rlx_prove_compare(c, &f->scope, RLX_NODE_GT, big, three), RLX_TRUE);
    assert_int_equal(rlx_prove_compare(c, &f->scope, RLX_NODE_LT, u, big), RLX_MAYBE);
    assert_int_equal(rlx_prove_compare(c, &f->scope, RLX_NODE_GE, u, big), RLX_MAYBE);
    assert_int_equal(rlx_prove_equal(c, &f->scope, u, big), RLX_UNKNOWN);
    rlx_bounds(c, &f->scope, big, &low, &high);
    assert_true(low == INT64_MIN && high == INT64_MAX);
    assert_false(rlx_prim_evaluate(big, NULL, &c->memory, &low));
}

static const struct { const char *in, *want;
} simplified[] = {
    { "(n * 4) // 4", "n" },
    { "min(n, n + 1)", "n" },
    { "n // 4 * 4", "n // 4 * 4" },
    { "n + 1 - 1", "n" },
    { "n + m - n", "m" },
    { "(n + 8) % 4", "n % 4" },
    { "n % 8 % 4", "n % 4" },
    { "max(n, 0)", "n" },
    { "n * 2 + n * 3", "n * 5" },
    { "max(n, m) + 1 - 1", "T.max(n, m)" },
    { "n", "n" },
    { "7", "7" },
    { "n + m", "n + m" },
    { "(n + 7) // 8 * 8 % 8", "0" },
    { "n - n", "0" },
};

static void test_simplify(void **state)
{
    fixture *f = *state;
    (void)prim_name(&f->names, "n"); /* the older variable comes first */
    for (size_t i = 0; i < RLX_COUNT(simplified); i++) {
        const rlx_prim *p = parse(f, simplified[i].in), *s = rlx_simplify(f->ctx, &f->scope, p);
        expect_text(f, simplified[i].in, s, simplified[i].want);
        if (strcmp(simplified[i].in, simplified[i].want) == 0)
            assert_ptr_equal(s, p);
    }
}

static void test_evaluate(void **state)
{
    static const struct { const char *text; bool ok; int64_t want;
    } rows[] = {
        { "n * m + 2", true, 23 },
        { "-n // 2", true, -4 },
        { "-n % 4", true, 1 },
        { "truncdiv(-n, 2)", true, -3 },
        { "truncmod(-n, 4)", true, -3 },
        { "min(n, m) + max(n, m)", true, 10 },
        { "n // (m - 3)", false, 0 },
        { "n % (m - 3)", false, 0 },
        { "k + 1", false, 0 },
        { "n * 9223372036854775807", false, 0 },
        { "select(m == 3, n, n // (m - 3))", true, 7 },
        { "select(m != 3 and n // (m - 3) > 1, 1, 2)", true, 2 },
        { "select(m == 3 or n // (m - 3) > 1, 1, 2)", true, 1 },
        { "if_then_else(n < m, 1, 2)", true, 2 },
    };
    fixture *f = *state;
    const rlx_prim_var *vars[] = { prim_name(&f->names, "n"), prim_name(&f->names, "m") };
    const int64_t values[] = { 7, 3 };
    rlx_assignment a = { vars, values, 2 };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        int64_t got = 0;
        bool ok = rlx_prim_evaluate(parse(f, rows[i].text), &a, &f->ctx->memory, &got);
        if (ok != rows[i].ok || (ok && got != rows[i].want))
            fail_msg("%s: wanted %lld, got %s %lld", rows[i].text, (long long)rows[i].want,
                     ok ? "" : "failure", (long long)got);
    }
    const rlx_prim *shared = &vars[0]->node; /* 2^60 additions as a tree */
    for (int i = 0; i < 60; i++)
        shared = rlx_binary_new(f->ctx, RLX_NODE_SUB, shared,
                                rlx_binary_new(f->ctx, RLX_NODE_SUB, shared, shared));
    int64_t got = 0;
    assert_true(rlx_prim_evaluate(shared, &a, &f->ctx->memory, &got));
    assert_int_equal(got, 7);
    int64_t wide = 0;
    assert_false(rlx_prim_evaluate(rlx_cast(f->ctx, RELAX_INT8, rlx_int64(f->ctx, 300)), &a,
                                   &f->ctx->memory, &wide));
}

/* Printing may ask while others read: nothing is made. */
static void test_refolds_makes_nothing(void **state)
{
    fixture *f = *state;
    const rlx_prim *p = parse(f, "Mul(1234567, 7654321)");
    size_t before = rlx_context_bytes(f->ctx);
    assert_true(rlx_refolds(f->ctx, p));
    assert_int_equal(rlx_context_bytes(f->ctx), before);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_folding),
        CASE(test_refolds),
        CASE(test_dtypes),
        CASE(test_literals),
        CASE(test_literal_casts),
        CASE(test_float_identities),
        CASE(test_large_numbers),
        CASE(test_simplify),
        CASE(test_evaluate),
        CASE(test_refolds_makes_nothing),
    };
    return cmocka_run_group_tests_name("arith/fold", tests, NULL, NULL);
}
