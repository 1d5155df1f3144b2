/* test_api_prove.c: provers through the public interface: facts, questions, solving,
 * evaluation. */
#include "api_fixture.h"

/* Variables by letter; expressions in prefix form: "+ n * m 4", "< n 5", "? c a b". */
typedef struct names { relax_context *ctx; const relax_prim_expr *vars[26]; } names;

static const relax_prim_expr *var(names *t, char letter)
{
    const relax_prim_expr **v = &t->vars[letter - 'a'];
    if (!*v)
        *v = relax_prim_var_new(t->ctx, &letter, 1, RELAX_INT64);
    return *v;
}

static const relax_prim_expr *read_at(names *t, const char **at)
{
    static const struct { char sign; int32_t op; } ops[] = {
        { '+', RELAX_PRIM_ADD },      { '-', RELAX_PRIM_SUB },      { '*', RELAX_PRIM_MUL },
        { '/', RELAX_PRIM_FLOOR_DIV }, { '%', RELAX_PRIM_FLOOR_MOD }, { 'v', RELAX_PRIM_MIN },
        { '^', RELAX_PRIM_MAX },      { '<', RELAX_PRIM_LT },       { '=', RELAX_PRIM_EQ },
        { 'G', RELAX_PRIM_GE },       { '&', RELAX_PRIM_AND },
    };
    while (**at == ' ')
        (*at)++;
    char c = *(*at)++;
    if (c >= '0' && c <= '9')
        return relax_prim_int_new(t->ctx, strtoll(*at - 1, (char **)(uintptr_t)at, 10));
    for (size_t i = 0; i < N(ops); i++)
        if (ops[i].sign == c) {
            const relax_prim_expr *a = read_at(t, at);
            return relax_prim_binary_new(t->ctx, ops[i].op, a, read_at(t, at));
        }
    if (c == '?') {
        const relax_prim_expr *cond = read_at(t, at), *a = read_at(t, at);
        return relax_prim_select_new(t->ctx, cond, a, read_at(t, at));
    }
    assert_in_range(c, 'a', 'u');
    return var(t, c);
}

static const relax_prim_expr *read_text(names *t, const char *text)
{
    return read_at(t, &text);
}

static void test_facts_decide(void **state)
{
    fixture *f = *state;
    names t = { f->ctx, { NULL } };
    relax_prover *p = relax_prover_create(f->ctx);
    const relax_prim_expr *n = var(&t, 'n'), *a = read_text(&t, "^ n 0");
    assert_non_null(p);
    assert_int_equal(relax_prover_equal(p, a, n), RELAX_PROOF_UNKNOWN);
    const relax_prim_expr *dims[] = { n, read_text(&t, "* m 4") };
    relax_struct_info *info = relax_struct_info_tensor_new(f->ctx, dims, 2, RELAX_FLOAT32);
    assert_int_equal(relax_prover_enter(p, info), RELAX_OK);
    assert_int_equal(relax_prover_equal(p, a, n), RELAX_PROOF_EQUAL);
    /* m stands alone nowhere: it may be negative for all we know */
    assert_int_equal(relax_prover_holds(p, read_text(&t, "G m 0")), RELAX_TRUTH_UNKNOWN);
    assert_int_equal(relax_prover_bound(p, n, INT64_MIN, 1024), RELAX_OK);
    int64_t low, high;
    assert_int_equal(relax_prover_bounds(p, read_text(&t, "+ / n 4 3"), &low, &high), RELAX_OK);
    assert_int_equal(low, 3);
    assert_int_equal(high, 259);
    assert_int_equal(relax_prover_holds(p, read_text(&t, "& G n 0 < n 1025")), RELAX_TRUTH_TRUE);
    assert_int_equal(relax_prover_holds(p, read_text(&t, "= n 2000")), RELAX_TRUTH_FALSE);
    assert_int_equal(relax_prover_equal(p, n, read_text(&t, "1024")), RELAX_PROOF_UNKNOWN);
    assert_ptr_equal(relax_prover_simplify(p, read_text(&t, "v n 2048")), n);
    assert_quiet(f->ctx);
    relax_prover_destroy(p);
}

/* Rows in order: what is assumed, what follows from all of it. */
static void test_equalities(void **state)
{
    fixture *f = *state;
    static const struct { const char *a, *b; int32_t use; const char *x, *y; int32_t want; }
    rows[] = {
        { "n", "* m 2", RELAX_FACT_TAKEN, "/ n 2", "m", RELAX_PROOF_EQUAL },
        { "n", "+ m m", RELAX_FACT_KNOWN, "% n 2", "0", RELAX_PROOF_EQUAL },
        { "n", "+ * m 2 1", RELAX_FACT_FALSE, "n", "7", RELAX_PROOF_DIFFERENT },
        { "* k 4", "* n 12", RELAX_FACT_TAKEN, "k", "* m 6", RELAX_PROOF_EQUAL },
        { "* m 3", "12", RELAX_FACT_TAKEN, "+ n k", "32", RELAX_PROOF_EQUAL },
        { "k", "25", RELAX_FACT_FALSE, "k", "25", RELAX_PROOF_DIFFERENT },
        { "* a a", "b", RELAX_FACT_TAKEN, "- b * a a", "0", RELAX_PROOF_EQUAL },
        { "* c 2", "* d 3", RELAX_FACT_UNUSED, "c", "d", RELAX_PROOF_UNKNOWN },
        { "* c c", "9", RELAX_FACT_UNUSED, "c", "3", RELAX_PROOF_UNKNOWN },
        { "e", "% e 4", RELAX_FACT_UNUSED, "e", "3", RELAX_PROOF_UNKNOWN },
    };
    names t = { f->ctx, { NULL } };
    relax_prover *p = relax_prover_create(f->ctx);
    for (size_t i = 0; i < N(rows); i++) {
        int32_t use =
            relax_prover_assume_equal(p, read_text(&t, rows[i].a), read_text(&t, rows[i].b));
        int32_t got = relax_prover_equal(p, read_text(&t, rows[i].x), read_text(&t, rows[i].y));
        if (use != rows[i].use || got != rows[i].want)
            fail_msg("row %zu: the fact is %d, wanted %d; the answer %d, wanted %d", i, use,
                     rows[i].use, got, rows[i].want);
    }
    int64_t value;
    assert_int_equal(relax_prim_int_value(relax_prover_simplify(p, read_text(&t, "+ n 1")),
                                          &value), RELAX_OK);
    assert_int_equal(value, 9);
    assert_quiet(f->ctx);
    relax_prover_destroy(p);
}

/* A chain of facts is cut where it gets long; nothing depends on its length. */
static void test_many_facts(void **state)
{
    fixture *f = *state;
    relax_prover *p = relax_prover_create(f->ctx);
    const relax_prim_expr *before = relax_prim_var_new(f->ctx, "x", 1, RELAX_INT64),
                          *one = relax_prim_int_new(f->ctx, 1), *first = before;
    int taken = 0;
    for (int i = 0; i < 1000; i++) {
        const relax_prim_expr *next = relax_prim_var_new(f->ctx, "x", 1, RELAX_INT64);
        taken += relax_prover_assume_equal(
                     p, next, relax_prim_binary_new(f->ctx, RELAX_PRIM_ADD, before, one)) ==
                 RELAX_FACT_TAKEN;
        before = next;
        if (i == 40)
            assert_int_equal(
                relax_prover_equal(p, next,
                                   relax_prim_binary_new(f->ctx, RELAX_PRIM_ADD, first,
                                                         relax_prim_int_new(f->ctx, 41))),
                RELAX_PROOF_EQUAL);
    }
    assert_int_equal(taken, 64);
    relax_prover_destroy(p);
}

static void test_solving(void **state)
{
    fixture *f = *state;
    static const struct { const char *a, *b; int32_t want; const char *value; } rows[] = {
        { "* n 4", "32", RELAX_SOLUTION_ONE, "8" },
        { "* n 4", "30", RELAX_SOLUTION_NONE, NULL },
        { "- * n 4 2", "30", RELAX_SOLUTION_ONE, "8" },
        { "* n 4", "* m 8", RELAX_SOLUTION_ONE, "* m 2" },
        { "* n 4", "m", RELAX_SOLUTION_UNKNOWN, NULL },
        { "* n 4", "+ * m 8 2", RELAX_SOLUTION_NONE, NULL },
        { "+ n n", "+ m m", RELAX_SOLUTION_ONE, "m" },
        { "n", "- 0 1", RELAX_SOLUTION_NONE, NULL },     /* a size */
        { "* n n", "16", RELAX_SOLUTION_UNKNOWN, NULL },
        { "/ n 4", "8", RELAX_SOLUTION_UNKNOWN, NULL },  /* four values do */
        { "* n m", "m", RELAX_SOLUTION_UNKNOWN, NULL },
        { "- m n", "v m 3", RELAX_SOLUTION_ONE, "- m v m 3" },
        { "m", "3", RELAX_SOLUTION_UNKNOWN, NULL },
        { "+ n / 6 m", "8", RELAX_SOLUTION_ONE, "- 8 / 6 m" },
        /* taken apart it would divide where m is 0 */
        { "+ n ? = m 0 5 / 6 m", "8", RELAX_SOLUTION_UNKNOWN, NULL },
        { "+ n ? = m 0 5 / 6 3", "8", RELAX_SOLUTION_ONE, "- 8 ? = m 0 5 2" },
        /* no value where n is 0 */
        { "- + n / 6 n / 6 n", "0", RELAX_SOLUTION_UNKNOWN, NULL },
    };
    names t = { f->ctx, { NULL } };
    relax_prover *p = relax_prover_create(f->ctx);
    assert_int_equal(relax_prover_bound(p, var(&t, 'n'), 0, INT64_MAX), RELAX_OK);
    for (size_t i = 0; i < N(rows); i++) {
        relax_prim_expr *value = NULL;
        int32_t got = relax_prover_solve(p, read_text(&t, rows[i].a), read_text(&t, rows[i].b),
                                         var(&t, 'n'), &value);
        bool right = rows[i].value ? value && relax_prover_equal(p, value, read_text(
                                         &t, rows[i].value)) == RELAX_PROOF_EQUAL
                                   : !value;
        if (got != rows[i].want || !right)
            fail_msg("%s and %s: %d, wanted %d", rows[i].a, rows[i].b, got, rows[i].want);
    }
    assert_quiet(f->ctx);
    relax_prover_destroy(p);
}

static void test_counterexamples(void **state)
{
    fixture *f = *state;
    static const struct { const char *a, *b; bool found; } rows[] = {
        { "n", "m", true },
        { "* / n 4 4", "n", true },
        { "/ + n 3 4", "+ / - n 1 4 1", false },
        { "n", "* m 2", false }, /* assumed */
        { "k", "/ k 1000", true },
        { "3", "4", true },
        { "/ 1 0", "2", false }, /* no value, no example */
    };
    names t = { f->ctx, { NULL } };
    relax_prover *p = relax_prover_create(f->ctx);
    relax_prover_assume_equal(p, var(&t, 'n'), read_text(&t, "* m 2"));
    relax_prover_bound(p, var(&t, 'n'), 10, 1000);
    for (size_t i = 0; i < N(rows); i++) {
        const relax_prim_expr *vars[8];
        const relax_prim_expr *a = read_text(&t, rows[i].a), *b = read_text(&t, rows[i].b);
        int64_t values[8], va = 0, vb = 0;
        size_t count = relax_prover_counterexample(p, a, b, vars, values, 8);
        if ((count != RELAX_NOT_FOUND) != rows[i].found)
            fail_msg("%s and %s: %d variables", rows[i].a, rows[i].b, (int)count);
        if (count == RELAX_NOT_FOUND)
            continue;
        assert_int_equal(relax_prim_evaluate(f->ctx, a, vars, values, count, &va),
                         RELAX_EVALUATED);
        assert_int_equal(relax_prim_evaluate(f->ctx, b, vars, values, count, &vb),
                         RELAX_EVALUATED);
        assert_true(va != vb);
        for (size_t k = 0; k < count; k++)
            if (vars[k] == var(&t, 'n'))
                assert_in_range(values[k], 10, 1000);
        assert_int_equal(relax_prover_counterexample(p, a, b, NULL, NULL, 0), count);
    }
    assert_quiet(f->ctx);
    relax_prover_destroy(p);
}

static void test_evaluation(void **state)
{
    fixture *f = *state;
    static const struct { const char *text; int32_t want; int64_t value; } rows[] = {
        { "+ * n 4 m", RELAX_EVALUATED, 31 },
        { "% - 0 n 4", RELAX_EVALUATED, 1 },
        { "/ n - m 3", RELAX_EVALUATION_ZERO_DIVISOR, 0 },
        { "% n - m 3", RELAX_EVALUATION_ZERO_DIVISOR, 0 },
        { "* k k", RELAX_EVALUATION_OVERFLOW, 0 },
        { "+ n a", RELAX_EVALUATION_NO_VALUE, 0 },
        { "? < n m / n 0 n", RELAX_EVALUATED, 7 }, /* the other arm is not evaluated */
        { "< m n", RELAX_EVALUATED, 1 },
    };
    names t = { f->ctx, { NULL } };
    const relax_prim_expr *vars[] = { var(&t, 'n'), var(&t, 'm'), var(&t, 'k') };
    const int64_t values[] = { 7, 3, INT64_MAX / 2 };
    for (size_t i = 0; i < N(rows); i++) {
        int64_t got = 0;
        assert_int_equal(relax_prim_evaluate(f->ctx, read_text(&t, rows[i].text), vars, values, 3,
                                             &got), rows[i].want);
        assert_int_equal(got, rows[i].value);
    }
    int64_t got;
    assert_int_equal(relax_prim_evaluate(f->ctx, relax_prim_float_new(f->ctx, RELAX_FLOAT32, 1),
                                         NULL, NULL, 0, &got),
                     RELAX_EVALUATION_UNSUPPORTED);
    assert_quiet(f->ctx);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        CASE(test_facts_decide), CASE(test_equalities),      CASE(test_many_facts),
        CASE(test_solving),      CASE(test_counterexamples), CASE(test_evaluation),
    };
    return cmocka_run_group_tests_name("api/prove", tests, NULL, NULL);
}
