/* test_prove.c: the prover: every row of the tables of required answers, and random expressions
 * against enumeration. */
/* built for speed */
#include "few_requests.h"
#include "scope_fixture.h"

static const struct {
    const char *id, *left, *right;
    enum rlx_answer want;
    bool optional;
} equalities[] = {
    { "PR01", "n + m", "m + n", RLX_EQUAL, false },
    { "PR02", "(n + m) + k", "n + (m + k)", RLX_EQUAL, false },
    { "PR03", "n * m", "m * n", RLX_EQUAL, false },
    { "PR04", "n + n", "2 * n", RLX_EQUAL, false },
    { "PR05", "n * (m + k)", "n * m + n * k", RLX_EQUAL, false },
    { "PR06", "(n + 1) * (m + 1)", "n * m + n + m + 1", RLX_EQUAL, false },
    { "PR07", "(n + m) * (n + m)", "n * n + 2 * n * m + m * m", RLX_EQUAL, false },
    { "PR08", "n - n", "0", RLX_EQUAL, false },
    { "PR09", "(n + 4) - 4", "n", RLX_EQUAL, false },
    { "PR10", "(n * 2) * (m * 3)", "n * m * 6", RLX_EQUAL, false },
    { "PR11", "n * 0", "0", RLX_EQUAL, false },
    { "PR12", "(n * 4) // 4", "n", RLX_EQUAL, false },
    { "PR13", "(n * 4 + 3) // 4", "n", RLX_EQUAL, false },
    { "PR14", "(n * 8) // 4", "n * 2", RLX_EQUAL, false },
    { "PR15", "(n * 6) // 4", "(n * 3) // 2", RLX_EQUAL, false },
    { "PR16", "(n * 4 + m * 8) // 4", "n + m * 2", RLX_EQUAL, false },
    { "PR17", "(n * 4) % 4", "0", RLX_EQUAL, false },
    { "PR18", "(n * 4 + 3) % 4", "3", RLX_EQUAL, false },
    { "PR19", "(n * 6) % 4", "(n * 3) % 2 * 2", RLX_EQUAL, false },
    { "PR20", "n // 4 * 4 + n % 4", "n", RLX_EQUAL, false },
    { "PR21", "n // 4 * 4 // 4", "n // 4", RLX_EQUAL, false },
    { "PR22", "(n // 4) // 8", "n // 32", RLX_EQUAL, false },
    { "PR23", "(n + 8) // 4", "n // 4 + 2", RLX_EQUAL, false },
    { "PR24", "(n + 8) % 4", "n % 4", RLX_EQUAL, false },
    { "PR25", "(n % 8) % 4", "n % 4", RLX_EQUAL, false },
    { "PR26", "(n % 4) // 4", "0", RLX_EQUAL, false },
    { "PR27", "(n + 3) // 4", "(n - 1) // 4 + 1", RLX_EQUAL, false },
    { "PR28", "-((-n) // 4)", "(n + 3) // 4", RLX_EQUAL, false },
    { "PR29", "((n + 7) // 8 * 8) % 8", "0", RLX_EQUAL, false },
    { "PR30", "n // 2 + (n - n // 2)", "n", RLX_EQUAL, false },
    { "PR31", "(n + 2 * 1 - 1 * (3 - 1) - 1) // 1 + 1", "n", RLX_EQUAL, false },
    { "PR32", "(n + 2 - 2 - 1) // 2 + 1", "(n + 1) // 2", RLX_EQUAL, false },
    { "PR33", "truncdiv(n, 4)", "n // 4", RLX_EQUAL, false },
    { "PR34", "n // 1", "n", RLX_EQUAL, false },
    { "PR35", "min(n, n + 1)", "n", RLX_EQUAL, false },
    { "PR36", "max(n, n + 1)", "n + 1", RLX_EQUAL, false },
    { "PR37", "max(n, 0)", "n", RLX_EQUAL, false },
    { "PR38", "min(n, 0)", "0", RLX_EQUAL, false },
    { "PR39", "min(n, m)", "min(m, n)", RLX_EQUAL, false },
    { "PR40", "min(n, m) + max(n, m)", "n + m", RLX_EQUAL, false },
    { "PR41", "max(n, m) + k", "max(n + k, m + k)", RLX_EQUAL, false },
    { "PR42", "min(n * 2, m * 2)", "min(n, m) * 2", RLX_EQUAL, false },
    { "PR43", "max(max(n, m), k)", "max(n, max(m, k))", RLX_EQUAL, false },
    { "PR44", "min(max(n, m), n)", "n", RLX_EQUAL, false },
    { "PR45", "max(min(n, 8), 10)", "10", RLX_EQUAL, false },
    { "PR46", "min(n % 4, 4)", "n % 4", RLX_EQUAL, false },
    { "PR47", "select(n < m, n, m)", "min(n, m)", RLX_EQUAL, true },
    { "PR48", "n // 4 + (n % 4 + 3) // 4", "(n + 3) // 4", RLX_EQUAL, true },
    { "PR49", "n * (n + 1) % 2", "0", RLX_EQUAL, true },
    { "PR50", "n", "n + 1", RLX_DIFFERENT, false },
    { "PR51", "n + m", "n + m + 1", RLX_DIFFERENT, false },
    { "PR52", "n * 2", "m * 2 + 1", RLX_DIFFERENT, false },
    { "PR53", "n * 4", "m * 4 + 2", RLX_DIFFERENT, false },
    { "PR54", "n * 4", "6", RLX_DIFFERENT, false },
    { "PR55", "n + 1", "0", RLX_DIFFERENT, false },
    { "PR56", "n + m + 2", "1", RLX_DIFFERENT, false },
    { "PR57", "n * m + 1", "0", RLX_DIFFERENT, false },
    { "PR58", "n % 4", "5", RLX_DIFFERENT, false },
    { "PR59", "n % 4 + 4", "n % 4", RLX_DIFFERENT, false },
    { "PR60", "max(n, 3)", "2", RLX_DIFFERENT, false },
    { "PR61", "min(n, 3)", "4", RLX_DIFFERENT, false },
    { "PR62", "n // 4 * 4 + 4", "n", RLX_DIFFERENT, false },
    { "PR63", "n", "m", RLX_UNKNOWN, false },
    { "PR64", "n", "4", RLX_UNKNOWN, false },
    { "PR65", "n", "2 * n", RLX_UNKNOWN, false },
    { "PR66", "n + m", "n", RLX_UNKNOWN, false },
    { "PR67", "n * n", "n", RLX_UNKNOWN, false },
    { "PR68", "n * m", "n", RLX_UNKNOWN, false },
    { "PR69", "n * m", "m * k", RLX_UNKNOWN, false },
    { "PR70", "n // 4 * 4", "n", RLX_UNKNOWN, false },
    { "PR71", "(n + 3) // 4 * 4", "n", RLX_UNKNOWN, false },
    { "PR72", "(n + 1) // 2", "n // 2", RLX_UNKNOWN, false },
    { "PR73", "n // 2 * 2 + 1", "n", RLX_UNKNOWN, false },
    { "PR74", "n * m // 2", "n * (m // 2)", RLX_UNKNOWN, false },
    { "PR75", "min(n, m)", "n", RLX_UNKNOWN, false },
    { "PR76", "n % 4", "n", RLX_UNKNOWN, false },
};

static const struct { const char *id, *claim; enum rlx_truth want; bool optional; } claims[] = {
    { "BD01", "n >= 0", RLX_TRUE, false },
    { "BD02", "n + 1 > n", RLX_TRUE, false },
    { "BD03", "n + m >= n", RLX_TRUE, false },
    { "BD04", "n * m >= 0", RLX_TRUE, false },
    { "BD05", "n * 2 >= n", RLX_TRUE, false },
    { "BD06", "(n + 1) * 4 >= 4", RLX_TRUE, false },
    { "BD07", "n // 2 <= n", RLX_TRUE, false },
    { "BD08", "n // 4 * 4 <= n", RLX_TRUE, false },
    { "BD09", "(n + 3) // 4 * 4 >= n", RLX_TRUE, false },
    { "BD10", "(n + 3) // 4 * 4 < n + 4", RLX_TRUE, false },
    { "BD11", "(n + 3) // 4 >= n // 4", RLX_TRUE, false },
    { "BD12", "n % 4 < 4", RLX_TRUE, false },
    { "BD13", "n % 4 >= 0", RLX_TRUE, false },
    { "BD14", "min(n, m) <= n", RLX_TRUE, false },
    { "BD15", "max(n, m) >= m", RLX_TRUE, false },
    { "BD16", "min(n, 8) <= 8", RLX_TRUE, false },
    { "BD17", "n * n >= n", RLX_TRUE, true },
    { "BD18", "n < n", RLX_FALSE, false },
    { "BD19", "n + 1 <= 0", RLX_FALSE, false },
    { "BD20", "n % 4 >= 4", RLX_FALSE, false },
    { "BD21", "n - 1 >= 0", RLX_MAYBE, false },
    { "BD22", "n >= m", RLX_MAYBE, false },
    { "BD23", "n * m >= n", RLX_MAYBE, false },
    { "BD24", "n // 4 >= 1", RLX_MAYBE, false },
};

static const char *const answer_names[] = { "unknown", "equal", "different" };
static const char *const truth_names[] = { "unknown", "true", "false" };

static const rlx_prim *parse(fixture *f, const char *text)
{
    const rlx_prim *p = prim_parse(&f->names, text);
    if (!p)
        fail_msg("cannot read %s", text);
    return p;
}

static void test_required_equalities(void **state)
{
    fixture *f = *state;
    int wrong = 0;
    for (size_t i = 0; i < RLX_COUNT(equalities); i++) {
        enum rlx_answer want = equalities[i].want;
        const rlx_prim *a = parse(f, equalities[i].left), *b = parse(f, equalities[i].right);
        enum rlx_answer got = rlx_prove_equal(f->ctx, &f->scope, a, b),
                        back = rlx_prove_equal(f->ctx, &f->scope, b, a);
        if (got != back || (got != want && !(equalities[i].optional && got == RLX_UNKNOWN))) {
            print_error("%s: %s and %s: wanted %s, got %s, the other way round %s\n",
                        equalities[i].id, equalities[i].left, equalities[i].right,
                        answer_names[want], answer_names[got], answer_names[back]);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

static void test_required_claims(void **state)
{
    fixture *f = *state;
    int wrong = 0;
    for (size_t i = 0; i < RLX_COUNT(claims); i++) {
        enum rlx_truth want = claims[i].want,
                       got = rlx_prove(f->ctx, &f->scope, parse(f, claims[i].claim));
        enum rlx_truth denied =
            rlx_prove(f->ctx, &f->scope, rlx_not(f->ctx, parse(f, claims[i].claim)));
        bool mirrored = got == RLX_MAYBE ? denied == RLX_MAYBE
                                         : denied == (got == RLX_TRUE ? RLX_FALSE : RLX_TRUE);
        if (!mirrored || (got != want && !(claims[i].optional && got == RLX_MAYBE))) {
            print_error("%s: %s: wanted %s, got %s, its negation %s\n", claims[i].id,
                        claims[i].claim, truth_names[want], truth_names[got], truth_names[denied]);
            wrong++;
        }
    }
    assert_int_equal(wrong, 0);
}

/* Without facts a variable may be negative. */
static void test_nothing_known(void **state)
{
    fixture *f = *state;
    static const struct { const char *left, *right; enum rlx_answer want;
    } rows[] = {
        { "max(n, 0)", "n", RLX_UNKNOWN },
        { "truncdiv(n, 4)", "n // 4", RLX_UNKNOWN },
        { "n + 1", "0", RLX_UNKNOWN },
        { "n * m + 1", "0", RLX_UNKNOWN },
        { "n % 4", "5", RLX_DIFFERENT },
        { "n * n", "-1", RLX_DIFFERENT },
        { "n // 4 * 4 + n % 4", "n", RLX_EQUAL },
        { "min(n, m) + max(n, m)", "n + m", RLX_EQUAL },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        assert_int_equal(
            rlx_prove_equal(f->ctx, NULL, parse(f, rows[i].left), parse(f, rows[i].right)),
            rows[i].want);
    assert_int_equal(rlx_prove(f->ctx, NULL, parse(f, "n >= 0")), RLX_MAYBE);
    assert_int_equal(rlx_prove(f->ctx, &f->scope, parse(f, "n >= 0")), RLX_TRUE);
}

/* A chain of facts v1 = v0 + 1, v2 = v1 + 1 ... Those beyond the limit are not used, and prove
 * nothing; forgetting some makes room. */
static void test_more_facts_than_are_kept(void **state)
{
    fixture *f = *state;
    enum { KEPT = 64, ALL = 300 };
    const rlx_prim_var *v[ALL + 1];
    const rlx_prim *next[ALL + 1];
    rlx_scope inner;
    rlx_scope_init(&inner, f->ctx, &f->scope);
    for (size_t i = 0; i <= ALL; i++) {
        v[i] = rlx_prim_var_new(f->ctx, rlx_string_z(f->ctx, "v"), RELAX_INT64, RLX_NO_PLACE);
        next[i] = rlx_fold_add(f->ctx, &v[i]->node, rlx_int64(f->ctx, 1));
        rlx_scope_add(&f->scope, v[i], true);
    }
    for (size_t i = 0; i < ALL; i++) /* two scopes share the limit */
        assert_int_equal(rlx_scope_equal(i < KEPT / 2 ? &f->scope : &inner, &v[i + 1]->node,
                                         next[i]),
                         i < KEPT ? RLX_FACT_TAKEN : RLX_FACT_UNUSED);
    for (size_t i = 0; i < ALL; i++) {
        enum rlx_answer known = i < KEPT ? RLX_EQUAL : RLX_UNKNOWN,
                        other = i < KEPT ? RLX_DIFFERENT : RLX_UNKNOWN;
        assert_int_equal(rlx_prove_equal(f->ctx, &inner, &v[i + 1]->node, next[i]), known);
        assert_int_equal(rlx_prove_equal(f->ctx, &inner, &v[i + 1]->node, &v[i]->node), other);
        const rlx_prim *sum = rlx_fold_add(f->ctx, &v[0]->node, rlx_int64(f->ctx, (int64_t)i + 1));
        assert_int_equal(rlx_prove_equal(f->ctx, &inner, &v[i + 1]->node, sum), known);
    }
    assert_int_equal(rlx_scope_equal(&inner, &v[4]->node, &v[2]->node), RLX_FACT_FALSE);
    assert_int_equal(rlx_scope_equal(&inner, &v[4]->node, next[3]), RLX_FACT_KNOWN);
    rlx_scope_forget_equals(&inner, KEPT / 2 - 1);
    assert_int_equal(rlx_scope_equal(&inner, &v[ALL]->node, next[0]), RLX_FACT_TAKEN);
    assert_int_equal(rlx_scope_equal(&inner, &v[ALL - 1]->node, next[0]), RLX_FACT_UNUSED);
    rlx_scope_free(&inner);
}

static void test_upper_bound(void **state)
{
    fixture *f = *state;
    rlx_scope_bound(&f->scope, prim_name(&f->names, "n"), 0, 1024);
    static const struct { const char *claim; enum rlx_truth want;
    } rows[] = {
        { "n <= 1024", RLX_TRUE },           { "n // 4 <= 256", RLX_TRUE },
        { "n * 4 <= 4096", RLX_TRUE },       { "n == 1024", RLX_MAYBE },
        { "n == 2000", RLX_FALSE },          { "min(n, 2048) == n", RLX_TRUE },
        { "n <= 1023", RLX_MAYBE },          { "n < 0 or n > 1024", RLX_FALSE },
        { "n >= 0 and n < 1025", RLX_TRUE },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        enum rlx_truth got = rlx_prove(f->ctx, &f->scope, parse(f, rows[i].claim));
        if (got != rows[i].want)
            fail_msg("%s: wanted %s, got %s", rows[i].claim, truth_names[rows[i].want],
                     truth_names[got]);
    }
    int64_t low, high;
    rlx_bounds(f->ctx, &f->scope, parse(f, "n // 4 + 3"), &low, &high);
    assert_int_equal(low, 3);
    assert_int_equal(high, 259);
}

/* A divisor that may be zero makes one side fail alone. */
static void test_variable_divisors(void **state)
{
    fixture *f = *state;
    assert_int_equal(rlx_prove_equal(f->ctx, &f->scope, parse(f, "n * m // m"), parse(f, "n")),
                     RLX_UNKNOWN);
    assert_int_equal(
        rlx_prove_equal(f->ctx, &f->scope, parse(f, "n // m - n // m"), parse(f, "0")),
        RLX_UNKNOWN);
    assert_int_equal(
        rlx_prove_equal(f->ctx, &f->scope, parse(f, "n // m + 1"), parse(f, "1 + n // m")),
        RLX_EQUAL);
    rlx_scope inner;
    rlx_scope_init(&inner, f->ctx, &f->scope);
    assert_true(rlx_scope_bound(&inner, prim_name(&f->names, "m"), 1, INT64_MAX));
    assert_int_equal(rlx_prove_equal(f->ctx, &inner, parse(f, "n * m // m"), parse(f, "n")),
                     RLX_EQUAL);
    assert_int_equal(rlx_prove_equal(f->ctx, &f->scope, parse(f, "n * m // m"), parse(f, "n")),
                     RLX_UNKNOWN);
    rlx_scope_free(&inner);
}

static void test_scopes(void **state)
{
    fixture *f = *state;
    const rlx_prim_var *n = prim_name(&f->names, "n");
    const rlx_prim_var *p =
        rlx_prim_var_new(f->ctx, rlx_string_z(f->ctx, "p"), RELAX_INT64, RLX_NO_PLACE);
    rlx_scope inner;
    rlx_scope_init(&inner, f->ctx, &f->scope);
    assert_true(rlx_scope_has(&inner, n));
    assert_false(rlx_scope_has(&inner, p));
    assert_true(rlx_scope_add(&inner, p, false));
    assert_true(rlx_scope_has(&inner, p));
    assert_false(rlx_scope_has(&f->scope, p));
    assert_int_equal(
        rlx_prove_compare(f->ctx, &inner, RLX_NODE_GE, &p->node, rlx_int64(f->ctx, 0)), RLX_MAYBE);
    assert_true(rlx_scope_add(&inner, p, true));
    assert_int_equal(
        rlx_prove_compare(f->ctx, &inner, RLX_NODE_GE, &p->node, rlx_int64(f->ctx, 0)), RLX_TRUE);
    assert_true(rlx_scope_bound(&inner, n, 5, 9));
    assert_int_equal(
        rlx_prove_compare(f->ctx, &inner, RLX_NODE_GE, &n->node, rlx_int64(f->ctx, 5)), RLX_TRUE);
    assert_int_equal(
        rlx_prove_compare(f->ctx, &f->scope, RLX_NODE_GE, &n->node, rlx_int64(f->ctx, 5)),
        RLX_MAYBE);
    rlx_scope_free(&inner);
}

static void test_divisible(void **state)
{
    fixture *f = *state;
    static const struct { const char *text; int64_t by; bool want;
    } rows[] = {
        { "n * 4 + m * 8", 4, true },
        { "n * 4 + 2", 4, false },
        { "(n + 7) // 8 * 8", 8, true },
        { "n", 1, true },
        { "n - n % 16", 16, true },
        { "n", 2, false },
        { "12", 4, true },
        { "n * 6", 4, false },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        const rlx_prim *by = rlx_int64(f->ctx, rows[i].by), *zero = rlx_int64(f->ctx, 0);
        const rlx_prim *rest =
            rlx_fold_binary(f->ctx, RLX_NODE_FLOOR_MOD, parse(f, rows[i].text), by);
        bool divides = rlx_prove_equal(f->ctx, &f->scope, rest, zero) == RLX_EQUAL;
        if (divides != rows[i].want)
            fail_msg("%s by %lld: wanted %d", rows[i].text, (long long)rows[i].by, rows[i].want);
    }
}

/* Hostile or merely large expressions end soon. */
static void test_limits(void **state)
{
    fixture *f = *state;
    rlx_context *ctx = f->ctx;
    const rlx_prim *product = rlx_int64(ctx, 1), *sum = rlx_int64(ctx, 0),
                   *deep = &prim_name(&f->names, "n")->node;
    const rlx_prim *back = rlx_int64(ctx, 0), *doubled = deep, *terms[3000];
    for (int i = 0; i < 20; i++) {
        const rlx_prim *a = &rlx_prim_var_new(ctx, rlx_string_z(ctx, "a"), RELAX_INT64, 0)->node;
        const rlx_prim *b = &rlx_prim_var_new(ctx, rlx_string_z(ctx, "b"), RELAX_INT64, 0)->node;
        product = rlx_fold_mul(ctx, product, rlx_fold_add(ctx, a, b));
    }
    assert_int_equal(rlx_prove_equal(ctx, NULL, product, rlx_int64(ctx, 7)), RLX_UNKNOWN);
    assert_int_equal(
        rlx_prove_equal(ctx, NULL, rlx_fold_add(ctx, product, rlx_int64(ctx, 1)), product),
        RLX_DIFFERENT);
    for (int i = 0; i < 3000; i++)
        terms[i] = &rlx_prim_var_new(ctx, rlx_string_z(ctx, "t"), RELAX_INT64, 0)->node;
    for (int i = 0; i < 3000; i++) {
        sum = rlx_fold_add(ctx, sum, terms[i]);
        back = rlx_fold_add(ctx, terms[2999 - i], back);
    }
    assert_int_equal(rlx_prove_equal(ctx, NULL, sum, back), RLX_EQUAL);
    for (int i = 0; i < 50000; i++)
        deep = rlx_binary_new(ctx, i % 2 ? RLX_NODE_FLOOR_DIV : RLX_NODE_ADD, deep,
                              rlx_int64(ctx, 2 + i % 7));
    (void)rlx_prove_equal(ctx, &f->scope, deep, rlx_int64(ctx, 3));
    for (int i = 0; i < 40; i++)
        doubled = rlx_fold_add(ctx, doubled, doubled);
    const rlx_prim *n = &prim_name(&f->names, "n")->node;
    assert_int_equal(rlx_prove_equal(ctx, NULL, doubled,
                                     rlx_fold_mul(ctx, n, rlx_int64(ctx, (int64_t)1 << 40))),
                     RLX_EQUAL);
    for (int i = 0; i < 40; i++)
        doubled = rlx_fold_add(ctx, doubled, doubled);
    assert_int_equal(rlx_prove_equal(ctx, NULL, doubled, n), RLX_UNKNOWN);
    const rlx_prim *power = n;
    for (int i = 0; i < 40; i++)
        power = rlx_fold_mul(ctx, power, power);
    (void)rlx_prove_equal(ctx, &f->scope, power, n);
    const rlx_prim *nested = n;
    for (int i = 0; i < 30; i++)
        nested = rlx_fold_binary(ctx, RLX_NODE_MIN, rlx_fold_add(ctx, nested, terms[i]),
                                 rlx_fold_binary(ctx, RLX_NODE_MAX, nested, terms[i + 30]));
    (void)rlx_prove_equal(ctx, &f->scope, nested, n);
    assert_int_equal(rlx_error_count(ctx), 0);
}

/* --- hard proofs --- */

typedef struct counted { size_t bytes; } counted;

static void *counted_alloc(void *user, size_t size, size_t align)
{
    void *p = NULL;
    ((counted *)user)->bytes += size;
    return posix_memalign(&p, align < sizeof(void *) ? sizeof(void *) : align, size) ? NULL : p;
}

static void *counted_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = counted_alloc(user, new_size, align);
    if (p && ptr) {
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
        free(ptr);
    }
    return p;
}

static void counted_free(void *user, void *ptr, size_t size, size_t align)
{
    free(ptr);
}

#define NUM_SUMS 20
/* The sums multiplied one by one, `turned`: from the last. */
static const rlx_prim *product_of(rlx_context *ctx, const rlx_prim *const *sums, bool turned)
{
    const rlx_prim *p = rlx_int64(ctx, 1);
    for (int i = 0; i < NUM_SUMS; i++)
        p = rlx_fold_mul(ctx, p, sums[turned ? NUM_SUMS - 1 - i : i]);
    return p;
}

/* Products of twenty sums are multiplied out to thousands of terms and given up. What that
 * showed is remembered: the bytes that a second round over the same questions asks for are few,
 * though one round needs many times the cache. */
static void test_hard_proofs_cost_once(void **state)
{
    (void)state;
    counted count = { 0 };
    relax_allocator host = { sizeof host, &count, counted_alloc, counted_resize, counted_free };
    rlx_context *ctx = rlx_context_create(&host, 0);
    enum { QUESTIONS = 12 };
    const rlx_prim *left[QUESTIONS], *right[QUESTIONS], *sums[NUM_SUMS];
    size_t bytes[2];
    for (int i = 0; i < QUESTIONS; i++) {
        for (int k = 0; k < NUM_SUMS; k++)
            sums[k] = rlx_fold_add(
                ctx, &rlx_prim_var_new(ctx, rlx_string_z(ctx, "a"), RELAX_INT64, 0)->node,
                &rlx_prim_var_new(ctx, rlx_string_z(ctx, "b"), RELAX_INT64, 0)->node);
        left[i] = product_of(ctx, sums, false);
        right[i] = product_of(ctx, sums, true);
    }
    for (int round = 0; round < 2; round++) {
        size_t before = count.bytes;
        for (int i = 0; i < QUESTIONS; i++)
            assert_int_equal(rlx_prove_equal(ctx, NULL, left[i], right[i]), RLX_UNKNOWN);
        bytes[round] = count.bytes - before;
    }
    assert_true(bytes[1] < bytes[0] / 20);
    rlx_context_release(ctx);
}

/* --- random expressions against enumeration --- */

#define NUM_VARS 3
static const int64_t lowest[NUM_VARS] = { 0, 0, -6 };
#define HIGHEST 14

typedef struct tree { int op; int64_t value; struct tree *a, *b; } tree;
typedef struct random_trees { uint64_t seed; tree pool[400]; size_t used; } random_trees;
enum {
    T_INT, T_VAR, T_ADD, T_SUB, T_MUL, T_DIV, T_MOD, T_TDIV, T_TMOD, T_MIN, T_MAX, T_SEL, T_COUNT
};

static uint64_t next_random(random_trees *r, uint64_t below)
{
    r->seed ^= r->seed << 13;
    r->seed ^= r->seed >> 7;
    r->seed ^= r->seed << 17;
    return r->seed % below;
}

static tree *node(random_trees *r, int op, int64_t value, tree *a, tree *b)
{
    tree *t = &r->pool[r->used++];
    *t = (tree){ op, value, a, b };
    return t;
}

static tree *grow(random_trees *r, int depth)
{
    static const int64_t constants[] = { 0, 1, 2, 3, 4, 6, 8, -1, -2, 5 };
    if (depth == 0 || next_random(r, 6) == 0)
        return next_random(r, 3) ? node(r, T_VAR, (int64_t)next_random(r, NUM_VARS), NULL, NULL)
                                 : node(r, T_INT, constants[next_random(r, 10)], NULL, NULL);
    int op = T_ADD + (int)next_random(r, T_COUNT - T_ADD);
    tree *a = grow(r, depth - 1);
    bool by_constant = op >= T_DIV && op <= T_TMOD && next_random(r, 8);
    tree *b = by_constant ? node(r, T_INT, 1 + (int64_t)next_random(r, 8), NULL, NULL)
                          : grow(r, depth - 1);
    return node(r, op, 0, a, b);
}

/* Another way to write t, or (sometimes) not quite. */
static tree *rewrite(random_trees *r, tree *t, int depth)
{
    if (!t->a || depth == 0)
        return next_random(r, 4)
                   ? t
                   : node(r, T_SUB, 0, node(r, T_ADD, 0, t, node(r, T_INT, 3, NULL, NULL)),
                          node(r, T_INT, 3, NULL, NULL));
    tree *a = rewrite(r, t->a, depth - 1), *b = rewrite(r, t->b, depth - 1);
    bool commutes = t->op == T_ADD || t->op == T_MUL || t->op == T_MIN || t->op == T_MAX;
    if (next_random(r, 40) == 0)
        return node(r, t->op, 0, a, node(r, T_ADD, 0, b, node(r, T_INT, 1, NULL, NULL)));
    if (t->op == T_MOD && next_random(r, 2))
        return node(r, T_SUB, 0, a, node(r, T_MUL, 0, node(r, T_DIV, 0, a, b), b));
    if (t->op == T_MAX && next_random(r, 2))
        return node(r, T_SUB, 0, node(r, T_ADD, 0, a, b), node(r, T_MIN, 0, a, b));
    if (t->op == T_MUL && a->op == T_ADD && next_random(r, 2))
        return node(r, T_ADD, 0, node(r, T_MUL, 0, a->a, b), node(r, T_MUL, 0, a->b, b));
    return commutes && next_random(r, 2) ? node(r, t->op, 0, b, a) : node(r, t->op, 0, a, b);
}

static int64_t floor_quotient(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return a % b && (a < 0) != (b < 0) ? q - 1 : q;
}

/* False: division by zero. */
static bool value_of(const tree *t, const int64_t *vars, int64_t *out)
{
    int64_t a = 0, b = 0;
    if (t->op == T_INT || t->op == T_VAR)
        return *out = t->op == T_INT ? t->value : vars[t->value], true;
    if (!value_of(t->a, vars, &a) || !value_of(t->b, vars, &b) ||
        (t->op >= T_DIV && t->op <= T_TMOD && b == 0))
        return false;
    switch (t->op) {
    case T_ADD: *out = a + b; break;
    case T_SUB: *out = a - b; break;
    case T_MUL: *out = a * b; break;
    case T_DIV: *out = floor_quotient(a, b); break;
    case T_MOD: *out = a - floor_quotient(a, b) * b; break;
    case T_TDIV: *out = a / b; break;
    case T_TMOD: *out = a % b; break;
    case T_MIN: *out = a < b ? a : b; break;
    case T_MAX: *out = a > b ? a : b; break;
    default: *out = a < b ? a : b * 2; break;
    }
    return true;
}

static const rlx_prim *prim_of(rlx_context *ctx, const tree *t, const rlx_prim_var *const *vars)
{
    static const uint8_t kinds[] = {
        [T_ADD] = RLX_NODE_ADD,       [T_SUB] = RLX_NODE_SUB,       [T_MUL] = RLX_NODE_MUL,
        [T_DIV] = RLX_NODE_FLOOR_DIV, [T_MOD] = RLX_NODE_FLOOR_MOD, [T_TDIV] = RLX_NODE_DIV,
        [T_TMOD] = RLX_NODE_MOD,      [T_MIN] = RLX_NODE_MIN,       [T_MAX] = RLX_NODE_MAX
    };
    if (t->op == T_INT)
        return rlx_int64(ctx, t->value);
    if (t->op == T_VAR)
        return &vars[t->value]->node;
    const rlx_prim *a = prim_of(ctx, t->a, vars), *b = prim_of(ctx, t->b, vars);
    if (t->op == T_SEL)
        return rlx_select_new(ctx, rlx_binary_new(ctx, RLX_NODE_LT, a, b), a,
                              rlx_binary_new(ctx, RLX_NODE_MUL, b, rlx_int64(ctx, 2)));
    return rlx_binary_new(ctx, kinds[t->op], a, b);
}

typedef struct verdict {
    bool ever_equal, ever_different, ever_less, ever_not_less, one_fails;
    int64_t low, high;
} verdict;

static verdict enumerate(const tree *a, const tree *b)
{
    verdict v = { .low = INT64_MAX, .high = INT64_MIN };
    int64_t x[NUM_VARS], va, vb;
    for (x[0] = lowest[0]; x[0] <= HIGHEST; x[0]++)
        for (x[1] = lowest[1]; x[1] <= HIGHEST; x[1]++)
            for (x[2] = lowest[2]; x[2] <= HIGHEST; x[2]++) {
                bool da = value_of(a, x, &va), db = value_of(b, x, &vb);
                v.one_fails |= da != db;
                if (da) {
                    v.low = va < v.low ? va : v.low;
                    v.high = va > v.high ? va : v.high;
                }
                if (!da || !db)
                    continue;
                *(va == vb ? &v.ever_equal : &v.ever_different) = true;
                *(va < vb ? &v.ever_less : &v.ever_not_less) = true;
            }
    return v;
}

static void refute(rlx_context *ctx, const char *what, const rlx_prim *a, const rlx_prim *b)
{
    rlx_buf text;
    rlx_buf_init(&text, &ctx->memory);
    rlx_text_prim(&text, a);
    rlx_buf_z(&text, "   and   ");
    rlx_text_prim(&text, b);
    print_error("%s: %s\n", what, text.data ? text.data : "?");
    rlx_buf_free(&text);
    fail();
}

static void test_random_expressions(void **state)
{
    (void)state;
    int cases = getenv("RELAX_LONG") ? 200000 : 20000, counts[8] = { 0 };
    random_trees *r = calloc(1, sizeof *r);
    r->seed = 0x5eed5eed5eedull;
    rlx_context *ctx = NULL;
    rlx_scope scope;
    const rlx_prim_var *vars[NUM_VARS];
    for (int i = 0; i < cases; i++) {
        if (i % 500 == 0) { /* nodes live as long as their context */
            if (ctx) {
                rlx_scope_free(&scope);
                rlx_context_release(ctx);
            }
            ctx = rlx_context_create(NULL, 0);
            rlx_scope_init(&scope, ctx, NULL);
            for (int k = 0; k < NUM_VARS; k++) {
                vars[k] = rlx_prim_var_new(ctx,
                                           rlx_string_z(ctx, k == 0   ? "n"
                                                             : k == 1 ? "m"
                                                                      : "p"),
                                           RELAX_INT64, 0);
                rlx_scope_add(&scope, vars[k], lowest[k] == 0);
            }
        }
        r->used = 0;
        tree *ta = grow(r, 3), *tb = i % 2 ? rewrite(r, ta, 3) : grow(r, 3);
        const rlx_prim *a = prim_of(ctx, ta, vars), *b = prim_of(ctx, tb, vars);
        enum rlx_answer equal = rlx_prove_equal(ctx, &scope, a, b);
        enum rlx_truth less = rlx_prove_compare(ctx, &scope, RLX_NODE_LT, a, b);
        int64_t low, high;
        rlx_bounds(ctx, &scope, a, &low, &high);
        counts[equal]++;
        counts[3 + less]++;
        if (equal == RLX_UNKNOWN && less == RLX_MAYBE && low == INT64_MIN && high == INT64_MAX &&
            i % 8)
            continue;
        verdict v = enumerate(ta, tb);
        if (equal == RLX_EQUAL && a != b && (v.ever_different || v.one_fails))
            refute(ctx, "said equal", a, b);
        if (equal == RLX_DIFFERENT && v.ever_equal)
            refute(ctx, "said different", a, b);
        if ((less == RLX_TRUE && v.ever_not_less) || (less == RLX_FALSE && v.ever_less))
            refute(ctx, "said (not) less", a, b);
        if (v.low <= v.high && (low > v.low || high < v.high))
            refute(ctx, "wrong bounds of the first of", a, b);
        const rlx_prim *shorter = rlx_simplify(ctx, &scope, a);
        for (int k = 0; k < 20 && shorter != a; k++) {
            int64_t x[NUM_VARS] = { (int64_t)next_random(r, 15), (int64_t)next_random(r, 15),
                                    (int64_t)next_random(r, 21) - 6 },
                    want, got;
            rlx_assignment values = { vars, x, NUM_VARS };
            if (!value_of(ta, x, &want) != !rlx_prim_evaluate(a, &values, &ctx->memory, &got) ||
                (value_of(ta, x, &want) && want != got))
                refute(ctx, "wrong value of the first of", a, b);
            if (value_of(ta, x, &want) &&
                (!rlx_prim_evaluate(shorter, &values, &ctx->memory, &got) || want != got))
                refute(ctx, "simplified wrongly", a, shorter);
        }
        assert_int_equal(rlx_error_count(ctx), 0);
    }
    rlx_scope_free(&scope);
    rlx_context_release(ctx);
    free(r);
    /* The test means something only while the prover answers. */
    print_message("          equal %d, different %d, true %d, false %d of %d\n", counts[1],
                  counts[2], counts[4], counts[5], cases);
    assert_true(counts[RLX_EQUAL] > cases / 5 && counts[RLX_DIFFERENT] > cases / 100);
}

/* --- every allocation failed in turn: an answer that memory cost is unknown, and the context
 * knows why --- */

static bool answers(rlx_context *ctx)
{
    rlx_scope scope;
    rlx_scope_init(&scope, ctx, NULL);
    prim_names names = { .ctx = ctx, .scope = &scope };
    const rlx_prim *a = prim_parse(&names, "(n + 3) // 4 * 4 + max(n, m) * (k + 1)"),
                   *b = prim_parse(&names, "max(m, n) * k + max(n, m) + (n + 3) // 4 * 4");
    const rlx_prim *claim =
        a ? rlx_binary_new(ctx, RLX_NODE_GE, a, prim_parse(&names, "n")) : NULL;
    bool equal = a && b && rlx_prove_equal(ctx, &scope, a, b) == RLX_EQUAL;
    bool true_claim = claim && rlx_prove(ctx, &scope, claim) == RLX_TRUE;
    const rlx_prim *shorter = b ? rlx_simplify(ctx, &scope, b) : NULL;
    rlx_scope_free(&scope);
    return equal && true_claim && shorter;
}

/* A sum of the two before it, over and over, and one that gets longer by a variable each time. */
static void test_growing_sums(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    const rlx_prim *v[2], *a, *b, *sum;
    (void)state;
    for (int i = 0; i < 2; i++)
        v[i] = (const rlx_prim *)rlx_prim_var_new(ctx, rlx_string_z(ctx, "n"), RELAX_INT64, 0);
    a = v[0];
    b = v[1];
    for (int i = 0; i < 80; i++) {
        sum = rlx_fold_add(ctx, b, a);
        assert_int_equal(rlx_prim_parts(sum),
                         1 + (uint64_t)rlx_prim_parts(a) + rlx_prim_parts(b));
        a = b;
        b = rlx_keep_small(ctx, NULL, sum);
        assert_true(rlx_prim_parts(b) <= 16 && (b == sum || rlx_prim_parts(sum) > 16));
        assert_int_equal(rlx_prove_equal(ctx, NULL, b, sum), RLX_EQUAL);
    }
    sum = v[0];
    for (uint32_t i = 1; i < 20000; i++) {
        sum = rlx_fold_add(ctx, sum, (const rlx_prim *)rlx_prim_var_new(
                                         ctx, rlx_string_z(ctx, "n"), RELAX_INT64, 0));
        assert_ptr_equal(rlx_keep_small(ctx, NULL, sum), sum);
        assert_int_equal(rlx_prim_parts(sum), 2 * i + 1);
    }
    for (int i = 0; i < 40; i++)
        sum = rlx_fold_select(ctx, rlx_binary_new(ctx, RLX_NODE_EQ, sum, v[0]), sum, v[1]);
    assert_int_equal(rlx_prim_parts(sum), UINT32_MAX);
    rlx_context_release(ctx);
}

static void test_failing_allocations(void **state)
{
    bool done = false;
    long n = 0;
    (void)state;
    for (; !done && n < 10000; n++) {
        long left = n;
        relax_allocator host = few_requests(&left);
        rlx_context *ctx = rlx_context_create(&host, 0);
        if (!ctx)
            continue;
        done = answers(ctx);
        assert_int_equal(rlx_error_count(ctx) > 0, !done || left < 0);
        rlx_context_release(ctx);
    }
    assert_true(done && n > 10);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_required_equalities), CASE(test_required_claims),
        CASE(test_nothing_known),       CASE(test_upper_bound),
        CASE(test_more_facts_than_are_kept),
        CASE(test_variable_divisors),   CASE(test_scopes),
        CASE(test_divisible),           CASE(test_limits),
        CASE(test_hard_proofs_cost_once), CASE(test_random_expressions),
        CASE(test_growing_sums),        CASE(test_failing_allocations),
    };
    return cmocka_run_group_tests_name("arith/prove", tests, NULL, NULL);
}
