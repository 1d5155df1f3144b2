/* test_api_struct_info: relations of descriptions that belong to no program. Rows from the
 * tables of the language, both directions. */
#include "api_fixture.h"

/* Shape variables n, m and k of all rows. */
typedef struct world { relax_context *ctx; const relax_prim_expr *n, *m, *k; } world;

static world open_world(void **state)
{
    world w = { .ctx = ((fixture *)*state)->ctx };
    w.n = relax_shape_var_new(w.ctx, Z("n"));
    w.m = relax_shape_var_new(w.ctx, Z("m"));
    w.k = relax_shape_var_new(w.ctx, Z("k"));
    return w;
}

static const relax_prim_expr *num(const world *w, int64_t v)
{
    return relax_prim_int_new(w->ctx, v);
}

static const relax_prim_expr *plus(const world *w, const relax_prim_expr *a, int64_t b)
{
    return relax_prim_binary_new(w->ctx, RELAX_PRIM_ADD, a, num(w, b));
}

static const relax_struct_info *tensor(const world *w, const relax_prim_expr *a,
                                       const relax_prim_expr *b)
{
    const relax_prim_expr *dims[] = { a, b };
    return relax_struct_info_tensor_new(w->ctx, dims, b ? 2 : 1, RELAX_FLOAT32);
}

static const relax_struct_info *shape(const world *w, const relax_prim_expr *a,
                                      const relax_prim_expr *b)
{
    const relax_prim_expr *dims[] = { a, b };
    return relax_struct_info_shape_new(w->ctx, dims, b ? 2 : 1);
}

static const relax_struct_info *pair(const world *w, const relax_struct_info *a,
                                     const relax_struct_info *b)
{
    const relax_struct_info *fields[] = { a, b };
    return relax_struct_info_tuple_new(w->ctx, fields, 2);
}

static const relax_struct_info *func(const world *w, const relax_struct_info *param,
                                     const relax_struct_info *ret, int32_t pure)
{
    return relax_struct_info_func_new(w->ctx, &param, 1, ret, pure);
}

/* ---- fit, with its reason ------------------------------------------------------------------- */

enum {
    NO = RELAX_ASSIGNABLE_NO,
    KIND = RELAX_ASSIGNABLE_KIND,
    VALUE = RELAX_ASSIGNABLE_VALUE,
    YES = RELAX_ASSIGNABLE_YES
};

static void fit_names_the_part(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_struct_info *object = relax_struct_info_object_new(ctx),
                            *any = relax_struct_info_tensor_of_rank(ctx, -1, RELAX_VOID),
                            *floats1 = relax_struct_info_tensor_of_rank(ctx, 1, RELAX_FLOAT32),
                            *ints1 = relax_struct_info_tensor_of_rank(ctx, 1, RELAX_INT32),
                            *tn = tensor(&w, w.n, NULL), *tm = tensor(&w, w.m, NULL),
                            *tn1 = tensor(&w, plus(&w, w.n, 1), NULL),
                            *t48 = tensor(&w, num(&w, 4), num(&w, 8)),
                            *t4n = tensor(&w, num(&w, 4), w.n),
                            *t49 = tensor(&w, num(&w, 4), num(&w, 9)),
                            *p64 = relax_struct_info_prim_new(ctx, RELAX_INT64, NULL),
                            *pn = relax_struct_info_prim_new(ctx, RELAX_INT64, w.n);
    const relax_struct_info *s2 = relax_struct_info_shape_of_rank(ctx, 2),
                            *unit = relax_struct_info_tuple_new(ctx, NULL, 0),
                            *f = func(&w, floats1, floats1, 1),
                            *impure = func(&w, floats1, floats1, 0);
    /* a, b, fit(a -> b), part and index, fit(b -> a) */
    const struct {
        const relax_struct_info *a, *b;
        int32_t want, part, index, back;
    } rows[] = {
        { tn, object, YES, 0, -1, KIND },
        { object, tn, KIND, RELAX_MISMATCH_KIND, -1, YES },
        { tn, s2, NO, RELAX_MISMATCH_KIND, -1, NO },
        { p64, pn, VALUE, RELAX_MISMATCH_VALUE, -1, YES },
        { p64, relax_struct_info_prim_new(ctx, RELAX_INT32, NULL), NO, RELAX_MISMATCH_DTYPE, -1,
          NO },
        { tn, any, YES, 0, -1, KIND },
        { floats1, ints1, NO, RELAX_MISMATCH_DTYPE, -1, NO },
        { floats1, tn, VALUE, RELAX_MISMATCH_SHAPE, -1, YES },
        { tn, tm, VALUE, RELAX_MISMATCH_DIMENSION, 0, VALUE },
        { tn, tn1, NO, RELAX_MISMATCH_DIMENSION, 0, NO },
        { t4n, t48, VALUE, RELAX_MISMATCH_DIMENSION, 1, VALUE },
        { t49, t48, NO, RELAX_MISMATCH_DIMENSION, 1, NO },
        { tn, t48, NO, RELAX_MISMATCH_RANK, -1, NO },
        { shape(&w, w.n, w.m), s2, YES, 0, -1, VALUE },
        { unit, pair(&w, tn, tn), NO, RELAX_MISMATCH_LENGTH, -1, NO },
        { pair(&w, tn, ints1), pair(&w, tn, floats1), NO, RELAX_MISMATCH_DTYPE, -1, NO },
        { impure, f, NO, RELAX_MISMATCH_PURITY, -1, YES },
        { f, relax_struct_info_opaque_func_new(ctx, NULL, 0), YES, 0, -1,
          NO }, /* it may be impure */
    };
    for (size_t i = 0; i < N(rows); i++) {
        int32_t part = -1;
        size_t index = 99;
        relax_bytes *text;
        int32_t got =
            relax_struct_info_assignable_reason(ctx, rows[i].a, rows[i].b, &part, &index, &text);
        if (got != rows[i].want || part != rows[i].part || index != (size_t)rows[i].index)
            fail_msg("row %zu: fit %d, part %d, index %zu", i, got, part, index);
        assert_int_equal(text == NULL, got == YES);
        relax_bytes_release(text);
        int32_t back =
            relax_struct_info_assignable_reason(ctx, rows[i].b, rows[i].a, NULL, NULL, NULL);
        if (back != rows[i].back)
            fail_msg("row %zu, back: fit %d", i, back);
        /* the base check is the same question, asked from the other side */
        assert_int_equal(relax_struct_info_base_check(ctx, rows[i].b, rows[i].a), got);
        assert_int_equal(relax_struct_info_is_base_of(ctx, rows[i].b, rows[i].a), got == YES);
        assert_int_equal(relax_struct_info_is_base_of(ctx, rows[i].a, rows[i].a), 1);
        /* what fits overlaps; what clashes by kind, dtype, rank, size or length does not */
        bool clash = got == NO && part != RELAX_MISMATCH_PURITY;
        assert_int_equal(relax_struct_info_overlap(ctx, rows[i].a, rows[i].b), !clash);
        assert_int_equal(relax_struct_info_overlap(ctx, rows[i].b, rows[i].a), !clash);
    }
    relax_bytes *text = NULL;
    relax_struct_info_assignable_reason(ctx, pair(&w, tn, ints1), pair(&w, tn, floats1), NULL, NULL,
                                        &text);
    assert_string_equal(relax_bytes_data(text), "field 1: dtype is int32, expected float32");
    relax_bytes_release(text);
    assert_quiet(ctx);
}

/* ---- sites ---------------------------------------------------------------------------------- */

static void sites_have_their_policy(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_struct_info *want = tensor(&w, num(&w, 4), NULL);
    const relax_struct_info *given[] = { tensor(&w, num(&w, 5), NULL),
                                         relax_struct_info_object_new(ctx), tensor(&w, w.n, NULL),
                                         want };
    /* language 5.6, by N, K, V, Y: E error, W warning */
    static const struct { int32_t site; const char *code, *answers; } rows[] = {
        { RELAX_SITE_ANNOTATION, "TY01", "EWW." },
        { RELAX_SITE_ARGUMENT, "TY04", "EEW." },
        { RELAX_SITE_RESULT, "TY07", "EWW." },
        { RELAX_SITE_OUTPUT, "TY10", "EEW." },
        { RELAX_SITE_CAST, "TY11", "EEW." },
    };
    for (size_t i = 0; i < N(rows); i++)
        for (size_t k = 0; k < N(given); k++) {
            char c = rows[i].answers[k];
            int32_t got = relax_struct_info_check(ctx, given[k], want, rows[i].site, 0);
            assert_int_equal(got, c != 'E');
            assert_int_equal(relax_context_num_diagnostics(ctx), c != '.');
            if (c != '.') {
                assert_string_equal(relax_diagnostic_code(ctx, 0), rows[i].code);
                assert_int_equal(relax_diagnostic_severity(ctx, 0),
                                 c == 'E' ? RELAX_SEVERITY_ERROR : RELAX_SEVERITY_WARNING);
            }
            relax_context_clear_diagnostics(ctx);
        }
    assert_int_equal(relax_struct_info_check(ctx, want, want, 5, 0), 0);
    assert_said(ctx, "OP03");
}

/* ---- preconditions -------------------------------------------------------------------------- */

static void preconditions_say_when(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_struct_info *floats1 = relax_struct_info_tensor_of_rank(ctx, 1, RELAX_FLOAT32);
    const relax_prim_expr *n4 = relax_prim_binary_new(ctx, RELAX_PRIM_EQ, w.n, num(&w, 4)),
                          *mk = relax_prim_binary_new(ctx, RELAX_PRIM_EQ, w.m, w.k),
                          *both = relax_prim_binary_new(ctx, RELAX_PRIM_AND, n4, mk),
                          *yes = relax_prim_int_of_dtype(ctx, RELAX_BOOL, 1),
                          *no = relax_prim_int_of_dtype(ctx, RELAX_BOOL, 0);
    const struct {
        const relax_struct_info *base, *derived;
        const relax_prim_expr *want;
    } rows[] = {
        { tensor(&w, w.n, w.m), tensor(&w, num(&w, 4), w.k), both },
        { tensor(&w, w.n, NULL), tensor(&w, num(&w, 4), NULL), n4 },
        { tensor(&w, w.n, NULL), tensor(&w, w.n, NULL), yes },
        { floats1, tensor(&w, w.n, NULL), yes },
        { tensor(&w, w.n, NULL), floats1, no }, /* nothing says its size */
        { tensor(&w, w.n, NULL), tensor(&w, plus(&w, w.n, 1), NULL), no },
        { tensor(&w, w.n, NULL), tensor(&w, w.n, w.n), no },
        { relax_struct_info_object_new(ctx), floats1, yes },
        { floats1, relax_struct_info_object_new(ctx), no },
        { shape(&w, w.n, w.m), shape(&w, num(&w, 4), w.k), both },
        { pair(&w, tensor(&w, w.n, NULL), shape(&w, w.m, NULL)),
          pair(&w, tensor(&w, num(&w, 4), NULL), shape(&w, w.k, NULL)), both },
        { relax_struct_info_prim_new(ctx, RELAX_INT64, w.n),
          relax_struct_info_prim_new(ctx, RELAX_INT64, num(&w, 4)), n4 },
    };
    for (size_t i = 0; i < N(rows); i++) {
        const relax_prim_expr *got =
            relax_struct_info_precondition(ctx, rows[i].base, rows[i].derived);
        if (got != rows[i].want) {
            char *text = printed(ctx, relax_prim_expr_as_node(got));
            fail_msg("row %zu: %s", i, text);
        }
    }
    assert_quiet(ctx);
}

static void shapes_are_proved_equal(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_prim_expr *nm[] = { w.n, w.m }, *mn[] = { w.m, w.n }, *n1[] = { plus(&w, w.n, 1) };
    const relax_expr *a = relax_shape_expr_new(ctx, nm, 2), *b = relax_shape_expr_new(ctx, mn, 2),
                     *one = relax_shape_expr_new(ctx, n1, 1), *n = relax_shape_expr_new(ctx, nm, 1);
    const relax_expr *v = relax_var_new(ctx, Z("v"), relax_struct_info_shape_new(ctx, nm, 2), 0),
                     *u = relax_var_new(ctx, Z("u"), relax_struct_info_shape_of_rank(ctx, 2), 0);
    const struct { const relax_expr *a, *b; int32_t want; } rows[] = {
        { a, a, RELAX_PROOF_EQUAL },     { a, b, RELAX_PROOF_UNKNOWN },
        { a, one, RELAX_PROOF_DIFFERENT }, { n, one, RELAX_PROOF_DIFFERENT },
        { v, a, RELAX_PROOF_EQUAL },     { u, u, RELAX_PROOF_EQUAL },
        { u, a, RELAX_PROOF_UNKNOWN },
    };
    for (size_t i = 0; i < N(rows); i++) {
        if (relax_prove_shapes_equal(ctx, rows[i].a, rows[i].b) != rows[i].want ||
            relax_prove_shapes_equal(ctx, rows[i].b, rows[i].a) != rows[i].want)
            fail_msg("row %zu", i);
    }
    const relax_expr *x = relax_var_new(ctx, Z("x"), relax_struct_info_object_new(ctx), 0);
    assert_int_equal(relax_prove_shapes_equal(ctx, a, x), -1);
    assert_said(ctx, "OP02");
}

/* ---- erasure -------------------------------------------------------------------------------- */

static void erasure_replaces_what_stays(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_prim_expr *sizes[] = { w.n, w.m }, *values[] = { w.m, num(&w, 3) };
    const relax_struct_info *t = tensor(&w, plus(&w, w.n, 1), plus(&w, w.m, 1));
    /* n -> m and m -> 3 at once, sums simplified */
    assert_ptr_equal(relax_struct_info_erase_to(ctx, t, sizes, values, 2, NULL, NULL, 0),
                     tensor(&w, plus(&w, w.m, 1), num(&w, 4)));
    assert_ptr_equal(relax_struct_info_erase_to(ctx, t, sizes, NULL, 2, NULL, NULL, 0), t);
    /* m is not visible: the whole shape goes, rank and dtype stay */
    assert_ptr_equal(relax_struct_info_erase_to(ctx, t, sizes, values, 1, NULL, NULL, 0),
                     relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32));
    assert_ptr_equal(relax_struct_info_erase_to(ctx, t, NULL, NULL, 0, NULL, NULL, 0),
                     relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32));
    const relax_struct_info *p = relax_struct_info_prim_new(ctx, RELAX_INT64, w.n);
    assert_ptr_equal(relax_struct_info_erase_to(ctx, p, NULL, NULL, 0, NULL, NULL, 0),
                     relax_struct_info_prim_new(ctx, RELAX_INT64, NULL));
    assert_ptr_equal(relax_struct_info_erase_to(ctx, p, sizes, values, 2, NULL, NULL, 0),
                     relax_struct_info_prim_new(ctx, RELAX_INT64, w.m));
    /* a shape that is a variable */
    const relax_expr *s = relax_var_new(ctx, Z("s"), relax_struct_info_shape_of_rank(ctx, 2), 0),
                     *with = relax_shape_expr_new(ctx, sizes, 2);
    const relax_struct_info *by_s = relax_struct_info_tensor_of_shape(ctx, s, RELAX_FLOAT32);
    assert_ptr_equal(relax_struct_info_erase_to(ctx, by_s, NULL, NULL, 0, NULL, NULL, 0),
                     relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32));
    assert_ptr_equal(relax_struct_info_erase_to(ctx, by_s, NULL, NULL, 0, &s, NULL, 1), by_s);
    assert_ptr_equal(relax_struct_info_erase_to(ctx, by_s, NULL, NULL, 0, &s, &with, 1),
                     tensor(&w, w.n, w.m));
    /* a placeholder of a function description is not the n outside */
    const relax_struct_info *f = func(&w, tensor(&w, w.k, w.n), tensor(&w, w.k, NULL), 1);
    assert_quiet(ctx);
    const relax_struct_info *kept =
        relax_struct_info_erase_to(ctx, f, sizes, values, 0, NULL, NULL, 0);
    assert_ptr_equal(kept, f);
    /* misuse */
    const relax_expr *other = relax_shape_expr_new(ctx, sizes, 1);
    assert_null(relax_struct_info_erase_to(ctx, by_s, NULL, NULL, 0, &s, &other, 1));
    assert_said(ctx, "OP03");
    const relax_prim_expr *half = relax_prim_float_new(ctx, RELAX_FLOAT32, 0.5);
    assert_null(relax_struct_info_erase_to(ctx, t, sizes, &half, 1, NULL, NULL, 0));
    assert_said(ctx, "OP02");
    assert_null(relax_struct_info_erase_to(ctx, t, values, NULL, 2, NULL, NULL, 0));
    assert_said(ctx, "OP02");
}

/* ---- mapping, calls ------------------------------------------------------------------------- */

static void parameters_are_mapped(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_struct_info *params[] = { tensor(&w, w.n, w.m), shape(&w, w.m, plus(&w, w.n, 1)) };
    const relax_struct_info *args[] = { tensor(&w, w.k, num(&w, 8)),
                                        shape(&w, num(&w, 8), w.k) };
    const relax_prim_expr *vars[4], *values[4];
    assert_int_equal(relax_struct_info_map(ctx, params, args, 2, vars, values, 4), 2);
    assert_true(vars[0] == w.n && values[0] == w.k);
    assert_true(vars[1] == w.m && values[1] == num(&w, 8));
    assert_int_equal(relax_struct_info_map(ctx, params, args, 2, NULL, NULL, 0), 2);
    args[1] = shape(&w, num(&w, 9), w.k);
    assert_quiet(ctx);
    assert_int_equal(relax_struct_info_map(ctx, params, args, 2, vars, values, 4), -1);
    assert_said(ctx, "TY12");
}

static void results_of_calls_are_derived(void **state)
{
    world w = open_world(state);
    relax_context *ctx = w.ctx;
    const relax_prim_expr *a = relax_shape_var_new(ctx, Z("a")),
                          *b = relax_shape_var_new(ctx, Z("b"));
    const relax_struct_info *params[] = { tensor(&w, a, b), tensor(&w, b, NULL) };
    const relax_struct_info *f = relax_struct_info_func_new(ctx, params, 2, tensor(&w, a, NULL), 1);
    const relax_struct_info *k8 = tensor(&w, w.k, num(&w, 8)),
                            *c8 = tensor(&w, num(&w, 8), NULL),
                            *c9 = tensor(&w, num(&w, 9), NULL),
                            *d = relax_struct_info_tensor_of_rank(ctx, 1, RELAX_FLOAT32),
                            *e = relax_struct_info_tensor_of_rank(ctx, -1, RELAX_FLOAT32),
                            *object = relax_struct_info_object_new(ctx);
    const relax_struct_info *tk = tensor(&w, w.k, NULL);
    /* the example of the language under D14 */
    const struct {
        const relax_struct_info *args[3]; size_t count; const relax_struct_info *want;
        const char *code; /* of an error, or of a warning if there is a result */
    } rows[] = {
        { { k8, c8 }, 2, tk, NULL },
        { { k8, c9 }, 2, NULL, "TY12" },
        { { k8, d }, 2, tk, "TY04" },
        { { k8, e }, 2, NULL, "TY04" },
        { { k8 }, 1, NULL, "TY03" },
        { { k8, c8, c8 }, 3, NULL, "TY03" },
        { { tensor(&w, plus(&w, w.k, 1), num(&w, 8)), c8 }, 2,
          tensor(&w, plus(&w, w.k, 1), NULL), NULL },
    };
    for (size_t i = 0; i < N(rows); i++) {
        const relax_struct_info *got =
            relax_struct_info_derive_call(ctx, f, rows[i].args, rows[i].count, NULL, 0);
        if (got != rows[i].want)
            fail_msg("row %zu: %s", i, got ? printed(ctx, relax_struct_info_as_node(got)) : "");
        assert_int_equal(relax_context_num_diagnostics(ctx), rows[i].code != NULL);
        if (rows[i].code)
            assert_string_equal(relax_diagnostic_code(ctx, 0), rows[i].code);
        relax_context_clear_diagnostics(ctx);
    }
    /* a placeholder that finds no counterpart takes the sizes that mention it along */
    const relax_struct_info *unknown[] = { relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32),
                                           c8 };
    assert_ptr_equal(relax_struct_info_derive_call(ctx, f, unknown, 2, NULL, 0), d);
    relax_context_clear_diagnostics(ctx);
    /* functions of which nothing is known; no function */
    const relax_struct_info *open = relax_struct_info_opaque_func_new(ctx, c8, 0);
    assert_ptr_equal(relax_struct_info_derive_call(ctx, open, &k8, 1, NULL, 0), c8);
    assert_quiet(ctx);
    assert_null(relax_struct_info_derive_call(ctx, object, &k8, 1, NULL, 0));
    assert_said(ctx, "TY02");
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(fit_names_the_part),
        TEST(sites_have_their_policy),
        TEST(preconditions_say_when),
        TEST(shapes_are_proved_equal),
        TEST(erasure_replaces_what_stays),
        TEST(parameters_are_mapped),
        TEST(results_of_calls_are_derived),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
