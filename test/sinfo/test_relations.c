/* test_relations.c: fit, overlap, least upper bound, erasure, mapping: a row for each line of the
 * tables of the language. */
#include "scope_fixture.h"
#include "sinfo_text.h"

static const rlx_sinfo *parse(fixture *f, const char *text)
{
    const rlx_sinfo *s = sinfo_parse(&f->names, text);
    if (!s)
        fail_msg("cannot read %s", text);
    return s;
}

enum {
    N = RLX_ASSIGNABLE_NO,
    K = RLX_ASSIGNABLE_KIND,
    V = RLX_ASSIGNABLE_VALUE,
    Y = RLX_ASSIGNABLE_YES
};
static const char fit_letters[] = "NKVY";

static const struct { const char *a, *b; int want; const char *why;
} fits[] = {
    /* one kind, another kind: N both ways (language 5.4) */
    { "Prim(int64)", "Shape(1)", N, NULL },
    { "Shape(1)", "Prim(int64)", N, NULL },
    { "Prim(int64)", "Tensor[](int64)", N, NULL },
    { "Tensor[](int64)", "Prim(int64)", N, NULL },
    { "Tensor", "Shape", N, NULL },
    { "Tuple()", "Tensor", N, NULL },
    { "Tensor", "Tuple()", N, NULL },
    { "Callable", "Tensor", N, NULL },
    { "Tensor", "Callable", N, NULL },
    { "Tuple()", "Shape(0)", N, NULL },
    /* Object offered where more is expected: K, whatever that is */
    { "Object", "Prim(int64)", K, NULL },
    { "Object", "Shape", K, NULL },
    { "Object", "Tuple()", K, NULL },
    { "Object", "Callable", K, NULL },
    { "Callable", "Object", Y, NULL },
    { "Tuple()", "Object", Y, NULL },
    { "Object", "Object", Y, NULL },
    /* the other way round of rows below */
    { "Prim(int64, n)", "Prim(int32)", N, NULL },
    { "Prim(int64, n + 1)", "Prim(int64, n)", N, NULL },
    { "Shape[m, 5]", "Shape[n, 4]", N, NULL },
    { "Shape[]", "Shape(0)", Y, NULL },
    { "Shape(0)", "Shape[]", V, NULL },
    { "Tensor[n](float32)", "Tensor[n](int32)", N, NULL },
    { "Tensor[1](float32)", "Tensor[](float32)", N, NULL },
    { "Tensor", "Tensor(float32)", K, "dtype is unknown, expected float32" },
    { "Tensor(float32)", "Tensor", Y, NULL },
    { "Tensor", "Tensor[n](float32)", K, NULL },
    /* parts combine to the worst: N before K before V */
    { "Tensor[n](int32)", "Tensor[m](float32)@cuda:1", N, "dtype is int32, expected float32" },
    { "Tensor(1, void)", "Tensor[m](float32)", K, "dtype is unknown, expected float32" },
    { "Tuple(Tensor, Shape(3))", "Tuple(Tensor(float32), Shape(2))", N,
      "field 1: rank is 3, expected 2" },
    { "Tuple(Shape[n], Tensor)", "Tuple(Shape[m], Tensor(float32))", K,
      "field 1: dtype is unknown, expected float32" },
    { "Tuple()", "Tuple()", Y, NULL },
    { "Tuple(Tensor)", "Tuple()", N, "number of fields is 1, expected 0" },
    /* functions (language 5.5), the other directions */
    { "Callable", "Callable(Tensor)", K, NULL },
    { "Callable(Tensor)", "Callable", Y, NULL },
    { "Callable(Tensor)", "Callable(Object)", Y, NULL },
    { "pure Callable(Tensor)", "Callable(Tensor)", Y, NULL },
    { "Callable(Tensor)", "pure Callable(Tensor)", N, NULL },
    { "Callable", "impure Func(Tensor -> Tensor)", V, NULL },
    { "Callable", "Func(Tensor -> Tensor)", N,
      "an impure function is given where a pure one is expected" },
    { "Packed", "Callable(Tensor)", K, NULL },
    { "Func(-> Object)", "Func(Tensor -> Object)", N,
      "number of parameters is 0, expected 1" },
    { "Func(Tensor -> Tensor)", "impure Func(Tensor -> Object)", Y, NULL },
    { "impure Func(Tensor -> Tensor)", "Func(Tensor -> Tensor)", N, NULL },
    { "Func(Object -> Tensor)", "Func(Tensor -> Object)", Y, NULL },
    /* K weakened to V against the arrow, K kept with it */
    { "Func(Tensor(float32) -> Object)", "Func(Tensor -> Object)", V, NULL },
    { "Func(Object -> Tensor)", "Func(Object -> Tensor(float32))", K, NULL },
    { "Func(Shape -> Object)", "Func(Tensor -> Object)", N, NULL },
    { "Tensor[n](float32)", "Object", Y, NULL },
    { "Object", "Tensor(float32)", K, "it is R.Object, expected R.Tensor(dtype=\"float32\")" },
    { "Shape", "Tensor", N, NULL },
    { "Prim(int64)", "Prim(int32)", N, "dtype is int64, expected int32" },
    { "Prim(int64, n)", "Prim(int64)", Y, NULL },
    { "Prim(int64)", "Prim(int64, n)", V, "value is unknown, expected n" },
    { "Prim(int64, n + m)", "Prim(int64, m + n)", Y, NULL },
    { "Prim(int64, n)", "Prim(int64, m)", V, "value is n, expected m" },
    { "Prim(int64, n)", "Prim(int64, n + 1)", N, "value is n, expected n + 1" },
    { "Shape[n, 4]", "Shape", Y, NULL },
    { "Shape", "Shape(2)", K, "rank is unknown, expected 2" },
    { "Shape(3)", "Shape(2)", N, "rank is 3, expected 2" },
    { "Shape[n, 4]", "Shape(2)", Y, NULL },
    { "Shape(2)", "Shape[n, 4]", V, NULL },
    { "Shape[n, 4]", "Shape[n, 2 + 2]", Y, NULL },
    { "Shape[n, 4]", "Shape[m, 4]", V, "dimension 0 is n, expected m" },
    { "Shape[n, 4]", "Shape[m, 5]", N, "dimension 1 is 4, expected 5" },
    { "Tensor[n](float32)", "Tensor[n](void)", Y, NULL },
    { "Tensor[n](void)", "Tensor[n](float32)", K, "dtype is unknown, expected float32" },
    { "Tensor[n](int32)", "Tensor[n](float32)", N, "dtype is int32, expected float32" },
    { "Tensor(float32)", "Tensor(2, float32)", K, "rank is unknown, expected 2" },
    { "Tensor(2, float32)", "Tensor(float32)", Y, NULL },
    { "Tensor(3, float32)", "Tensor(2, float32)", N, "rank is 3, expected 2" },
    { "Tensor(2, float32)", "Tensor[n, 4](float32)", V, NULL },
    { "Tensor[n, 4](float32)", "Tensor(2, float32)", Y, NULL },
    { "Tensor[n, m](float32)", "Tensor[n, 4](float32)", V, "dimension 1 is m, expected 4" },
    { "Tensor[n, 8](float32)", "Tensor[m, 4](float32)", N, "dimension 1 is 8, expected 4" },
    { "Tensor[n * 2 + 1](float32)", "Tensor[m * 2](float32)", N, NULL },
    { "Tensor[](float32)", "Tensor[](float32)", Y, NULL },
    { "Tensor[](float32)", "Tensor[1](float32)", N, "rank is 0, expected 1" },
    { "Tensor[n](float32)", "Tensor[n](float32)@cuda:1", K, "device is unknown, expected cuda:1" },
    { "Tensor[n](float32)@cuda:1", "Tensor[n](float32)", Y, NULL },
    { "Tensor[n](float32)@cuda:1", "Tensor[n](float32)@cuda:0", N,
      "device is cuda:1, expected cuda:0" },
    { "Tensor[n](float32)@cuda:1", "Tensor[n](float32)@cuda:1", Y, NULL },
    { "Tuple(Tensor, Shape)", "Tuple(Tensor)", N, "number of fields is 2, expected 1" },
    { "Tuple(Tensor[n](float32), Shape(2))", "Tuple(Tensor, Object)", Y, NULL },
    { "Tuple(Tensor, Tuple(Shape, Tensor[n](int32)))",
      "Tuple(Tensor, Tuple(Object, Tensor[n](float32)))", N,
      "field 1: field 1: dtype is int32, expected float32" },
    { "Tuple(Shape, Shape[n])", "Tuple(Shape(2), Shape[m])", K,
      "field 0: rank is unknown, expected 2" },
    /* functions (language 5.5) */
    { "Func(Tensor[a](float32) -> Tensor[a](float32))", "Callable", Y, NULL },
    { "impure Func(Tensor -> Tensor)", "Callable", Y, NULL },
    { "Packed", "Callable", Y, NULL },
    { "Func(Tensor -> Tensor(float32))", "Callable(Tensor)", Y, NULL },
    { "Func(Tensor -> Tensor)", "Callable(Tensor(float32))", K, NULL },
    { "impure Func(Tensor -> Tensor)", "pure Callable(Tensor)", N,
      "an impure function is given where a pure one is expected" },
    { "Packed", "Packed", Y, NULL },
    { "Packed", "Func(Tensor -> Tensor)", N, NULL },
    { "Packed", "impure Func(Tensor -> Tensor)", V, NULL },
    { "Callable", "Packed", V, NULL },
    { "impure Func(Tensor -> Tensor)", "Packed", N, NULL },
    { "Func(Tensor, Tensor -> Tensor)", "Func(Tensor -> Tensor)", N,
      "number of parameters is 2, expected 1" },
    { "Func(Tensor[a](float32) -> Tensor[a](float32))",
      "Func(Tensor[b](float32) -> Tensor[b](float32))", Y, NULL },
    { "Func(Tensor[a](float32) -> Tensor[a](float32))",
      "impure Func(Tensor[b](float32) -> Tensor(1, float32))", Y, NULL },
    { "Func(Tensor(1, float32) -> Object)", "Func(Tensor[4](float32) -> Object)", Y, NULL },
    { "Func(Tensor[4](float32) -> Object)", "Func(Tensor[8](float32) -> Object)", N, NULL },
    { "Func(Tensor[4](float32) -> Object)", "Func(Tensor(float32) -> Object)", V, NULL },
    { "Func(Tensor[a, a](float32) -> Object)", "Func(Tensor[4, 8](float32) -> Object)", N, NULL },
    { "Func(Tensor[a](float32) -> Tensor[a](float32))",
      "Func(Tensor[4](float32) -> Tensor[8](float32))", N, NULL },
};

static void test_fit(void **state)
{
    fixture *f = *state;
    int wrong = 0;
    for (size_t i = 0; i < RLX_COUNT(fits); i++) {
        rlx_mismatch why;
        rlx_buf text;
        int want = fits[i].want;
        enum rlx_assignability got =
            rlx_assignable(f->ctx, &f->scope, parse(f, fits[i].a), parse(f, fits[i].b), &why);
        rlx_buf_init(&text, &f->ctx->memory);
        if (got != RLX_ASSIGNABLE_YES)
            rlx_assignable_explain(&text, &why);
        if ((int)got != want ||
            (fits[i].why && (!text.data || strcmp(text.data, fits[i].why) != 0))) {
            print_error("fit(%s -> %s): wanted %c, got %c: %s\n", fits[i].a, fits[i].b,
                        fit_letters[want], fit_letters[got], text.data ? text.data : "");
            wrong++;
        }
        assert_int_equal(
            rlx_assignable(f->ctx, &f->scope, parse(f, fits[i].a), parse(f, fits[i].a), NULL), Y);
        assert_int_equal(
            rlx_assignable(f->ctx, &f->scope, parse(f, fits[i].b), rlx_object_info(f->ctx), NULL),
            Y);
        rlx_buf_free(&text);
    }
    assert_int_equal(wrong, 0);
}

/* A variable as a shape: the same one, else what is known of its values. */
static void test_fit_of_shape_variables(void **state)
{
    fixture *f = *state;
    rlx_context *ctx = f->ctx;
    const rlx_string *name = rlx_string_z(ctx, "s");
    const rlx_expr *s =
        (const rlx_expr *)rlx_var_new(ctx, false, name, -1, parse(f, "Shape(2)"), 0);
    const rlx_expr *t =
        (const rlx_expr *)rlx_var_new(ctx, false, name, -1, parse(f, "Shape[n, 4]"), 0);
    const rlx_sinfo *by_s = rlx_tensor_info(ctx, s, RELAX_FLOAT32, 2, NULL),
                    *by_t = rlx_tensor_info(ctx, t, RELAX_FLOAT32, 2, NULL);
    assert_int_equal(rlx_assignable(ctx, &f->scope, by_s, by_s, NULL), Y);
    assert_int_equal(rlx_assignable(ctx, &f->scope, by_s, by_t, NULL), V);
    assert_int_equal(rlx_assignable(ctx, &f->scope, by_t, parse(f, "Tensor[n, 4](float32)"), NULL),
                     Y);
    assert_int_equal(rlx_assignable(ctx, &f->scope, by_t, parse(f, "Tensor[n, 5](float32)"), NULL),
                     N);
    assert_int_equal(rlx_assignable(ctx, &f->scope, parse(f, "Tensor[n, 4](float32)"), by_s, NULL),
                     V);
}

static const struct { const char *a, *b; bool want;
} overlaps[] = {
    { "Object", "Tensor", true },
    { "Shape", "Tensor", false },
    { "Tensor(int32)", "Tensor(float32)", false },
    { "Tensor(2, float32)", "Tensor(3, float32)", false },
    { "Tensor[n, 4](float32)", "Tensor[8, m](float32)", true },
    { "Tensor[n, 4](float32)", "Tensor[n, 5](float32)", false },
    { "Tensor[n](float32)", "Tensor[n + 1](float32)", false },
    { "Shape[n]", "Shape[m]", true },
    { "Shape(1)", "Shape(2)", false },
    { "Prim(int64, n)", "Prim(int64, n + 1)", false },
    { "Prim(int64)", "Prim(bool)", false },
    { "Tuple(Tensor)", "Tuple(Tensor, Tensor)", false },
    { "Tuple(Tensor(int32))", "Tuple(Tensor(float32))", false },
    { "Tuple(Object)", "Tuple(Shape)", true },
    { "Tensor(float32)@cuda:0", "Tensor(float32)@cuda:1", false },
    { "Tensor(float32)", "Tensor(float32)@cuda:1", true },
    { "impure Func(Tensor -> Tensor)", "Func(Tensor -> Tensor)", true },
    { "Func(Tensor -> Tensor)", "Func(-> Tensor)", false },
    { "Func(Tensor -> Tensor)", "Packed", false },
    { "Func(Tensor -> Tensor)", "Callable", true },
    { "Packed", "Func(Tensor -> Tensor)", true },
};

static void test_overlap(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < RLX_COUNT(overlaps); i++)
        if (rlx_overlap(f->ctx, &f->scope, parse(f, overlaps[i].a), parse(f, overlaps[i].b),
                        NULL) != overlaps[i].want)
            fail_msg("overlap(%s, %s): wanted %d", overlaps[i].a, overlaps[i].b, overlaps[i].want);
}

static const struct { const char *a, *b, *want;
} lubs[] = {
    { "Object", "Object", "Object" },
    { "Prim(int64)", "Shape(1)", "Object" },
    { "Tuple()", "Tuple()", "Tuple()" },
    { "Tuple()", "Tensor", "Object" },
    { "Callable", "Tensor", "Object" },
    { "Prim(int64)", "Prim(int64, n)", "Prim(int64)" },
    { "Shape", "Shape", "Shape" },
    { "Shape[n]", "Shape", "Shape" },
    { "Shape[n, 4]", "Shape[n + 0, 4]", "Shape[n, 4]" },
    { "Tensor", "Tensor", "Tensor" },
    { "Tensor(2, float32)", "Tensor[n, 4](float32)", "Tensor(2, float32)" },
    { "Tensor(float32)", "Tensor[n](float32)", "Tensor(float32)" },
    { "Tensor[n](float32)@cuda:1", "Tensor[n](float32)@cuda:0", "Tensor[n](float32)" },
    { "Tensor[n](int32)", "Tensor[m](float32)", "Tensor(1, void)" },
    { "Tuple(Tensor, Tuple(Shape[n]))", "Tuple(Tensor, Tuple(Shape[m]))",
      "Tuple(Tensor, Tuple(Shape(1)))" },
    { "impure Func(Tensor -> Shape)", "Func(Tensor -> Shape)", "impure Func(Tensor -> Shape)" },
    { "Callable(Tensor)", "pure Callable(Tensor)", "Callable(Tensor)" },
    { "Tensor[n](float32)", "Tensor[n](float32)", "Tensor[n](float32)" },
    { "Object", "Tensor", "Object" },
    { "Shape", "Tensor", "Object" },
    { "Prim(int64)", "Prim(int32)", "Object" },
    { "Prim(int64, n)", "Prim(int64, n)", "Prim(int64, n)" },
    { "Prim(int64, n)", "Prim(int64, m)", "Prim(int64)" },
    { "Prim(int64, n + n)", "Prim(int64, 2 * n)", "Prim(int64, n + n)" },
    { "Shape(2)", "Shape(3)", "Shape" },
    { "Shape(2)", "Shape", "Shape" },
    { "Shape[n, 4]", "Shape[n, 4]", "Shape[n, 4]" },
    { "Shape[n, 4]", "Shape[m, 4]", "Shape(2)" },
    { "Shape[n, 4]", "Shape(2)", "Shape(2)" },
    { "Tensor[n, 4](float32)", "Tensor[m, 4](float32)", "Tensor(2, float32)" },
    { "Tensor[n](float32)", "Tensor[n](int32)", "Tensor[n](void)" },
    { "Tensor[n](float32)", "Tensor[n, n](float32)", "Tensor(float32)" },
    { "Tensor[n](float32)@cuda:1", "Tensor[n](float32)", "Tensor[n](float32)" },
    { "Tensor[n](float32)@cuda:1", "Tensor[m](float32)@cuda:1", "Tensor(1, float32)@cuda:1" },
    { "Tuple(Tensor, Shape)", "Tuple(Tensor)", "Object" },
    { "Tuple(Tensor, Shape(2))", "Tuple(Object, Shape(3))", "Tuple(Object, Shape)" },
    { "Func(Tensor -> Tensor[n](float32))", "impure Func(Tensor -> Tensor[m](float32))",
      "impure Func(Tensor -> Tensor(1, float32))" },
    { "Func(Tensor[a](float32) -> Tensor[a](float32))",
      "Func(Tensor[b](float32) -> Tensor[b](float32))",
      "Func(Tensor[a](float32) -> Tensor[a](float32))" },
    { "Func(Tensor[4](float32) -> Shape)", "Func(Tensor(1, float32) -> Shape)",
      "Func(Tensor[4](float32) -> Shape)" },
    { "Func(Tensor(int32) -> Shape)", "Func(Tensor(float32) -> Shape)", "pure Callable(Shape)" },
    { "Func(Tensor[a](int32) -> Shape[a])", "Func(Tensor[a](float32) -> Shape[a])",
      "pure Callable(Shape(1))" },
    { "Func(Tensor -> Shape)", "Func(-> Shape)", "pure Callable(Shape)" },
    { "Packed", "Packed", "Packed" },
    { "Callable(Shape)", "Callable(Shape(2))", "Callable(Shape)" },
    { "Packed", "Func(Tensor -> Shape)", "Callable(Object)" },
};

static void show_difference(fixture *f, const char *what, size_t row, const rlx_sinfo *got,
                            const char *want)
{
    rlx_buf text;
    rlx_buf_init(&text, &f->ctx->memory);
    rlx_text_sinfo(&text, got);
    print_error("%s, row %zu: wanted %s, got %s\n", what, row, want, text.data ? text.data : "?");
    rlx_buf_free(&text);
}

static void test_lub(void **state)
{
    fixture *f = *state;
    int wrong = 0;
    bool lost = false;
    for (size_t i = 0; i < RLX_COUNT(lubs); i++) {
        const rlx_sinfo *a = parse(f, lubs[i].a), *b = parse(f, lubs[i].b),
                        *want = parse(f, lubs[i].want);
        const rlx_sinfo *got = rlx_lub(f->ctx, &f->scope, a, b),
                        *back = rlx_lub(f->ctx, &f->scope, b, a);
        if (!rlx_equal(&f->ctx->memory, got, want, false, &lost)) {
            show_difference(f, "lub", i, got, lubs[i].want);
            wrong++;
        }
        /* It covers both sides, whichever comes first; parameters against the arrow may cost
         * certainty. */
        int least = got->kind == RLX_NODE_FUNC_SINFO ? V : Y;
        assert_true((int)rlx_assignable(f->ctx, &f->scope, a, got, NULL) >= least &&
                    (int)rlx_assignable(f->ctx, &f->scope, b, got, NULL) >= least);
        assert_true((int)rlx_assignable(f->ctx, &f->scope, got, back, NULL) >= least &&
                    (int)rlx_assignable(f->ctx, &f->scope, back, got, NULL) >= least);
    }
    assert_int_equal(wrong, 0);
}

/* n is visible, m is not. */
static const struct { const char *in, *want;
} erasures[] = {
    { "Tensor", "Tensor" },
    { "Shape", "Shape" },
    { "Shape[m]", "Shape(1)" },
    { "Tensor[m](void)", "Tensor(1, void)" },
    { "Tensor[n](float32)@cuda:1", "Tensor[n](float32)@cuda:1" },
    { "Tuple()", "Tuple()" },
    { "Tuple(Tuple(Prim(int64, m)), Object)", "Tuple(Tuple(Prim(int64)), Object)" },
    { "Packed", "Packed" },
    /* binders stay, all parameters first: a is bound by the second */
    { "Func(Shape[a + 1], Shape[a] -> Shape[a])", "Func(Shape[a + 1], Shape[a] -> Shape[a])" },
    { "Object", "Object" },
    { "Prim(int64, n)", "Prim(int64, n)" },
    { "Prim(int64, m)", "Prim(int64)" },
    { "Prim(int64, n + m)", "Prim(int64)" },
    { "Shape[n, 4]", "Shape[n, 4]" },
    { "Shape[n, m]", "Shape(2)" },
    { "Shape(3)", "Shape(3)" },
    { "Tensor[n, 4](float32)", "Tensor[n, 4](float32)" },
    { "Tensor[n, m * 2](float32)@cuda:1", "Tensor(2, float32)@cuda:1" },
    { "Tuple(Shape[m], Shape[n])", "Tuple(Shape(1), Shape[n])" },
    { "Func(Tensor[a](float32), Shape[m] -> Tensor[a, n](float32))",
      "Func(Tensor[a](float32), Shape(1) -> Tensor[a, n](float32))" },
    { "impure Func(Tensor -> Shape[m])", "impure Func(Tensor -> Shape(1))" },
    { "pure Callable(Shape[m])", "pure Callable(Shape(1))" },
    { "Callable(Shape[n])", "Callable(Shape[n])" },
};

static bool is_n(void *user, const rlx_prim_var *v)
{
    return v == prim_name(user, "n");
}

static void test_erase(void **state)
{
    fixture *f = *state;
    bool lost = false;
    int wrong = 0;
    (void)prim_name(&f->names, "n");
    (void)prim_name(&f->names, "m");
    for (size_t i = 0; i < RLX_COUNT(erasures); i++) {
        const rlx_sinfo *s = parse(f, erasures[i].in), *want = parse(f, erasures[i].want);
        const rlx_sinfo *got = rlx_erase(f->ctx, s, &(rlx_visible){ is_n, NULL, &f->names });
        bool same = strcmp(erasures[i].in, erasures[i].want) == 0;
        if (same ? got != s : !rlx_equal(&f->ctx->memory, got, want, false, &lost)) {
            show_difference(f, "erase", i, got, erasures[i].want);
            wrong++;
        }
        assert_true((int)rlx_assignable(f->ctx, &f->scope, s, got, NULL) >= V);
    }
    assert_int_equal(wrong, 0);
    /* a shape variable that goes may leave its sizes behind */
    const rlx_var *v =
        rlx_var_new(f->ctx, false, rlx_string_z(f->ctx, "s"), -1, parse(f, "Shape[n, 4]"), 0);
    const rlx_sinfo *by_v = rlx_tensor_info(f->ctx, &v->node, RELAX_FLOAT32, 2, NULL);
    assert_ptr_equal(rlx_erase(f->ctx, by_v, &(rlx_visible){ is_n, NULL, &f->names }),
                     parse(f, "Tensor[n, 4](float32)"));
    assert_ptr_equal(rlx_erase(f->ctx, by_v, &(rlx_visible){ NULL, NULL, NULL }),
                     parse(f, "Tensor(2, float32)"));
}

static const struct { const char *in, *want;
} statics[] = {
    { "Object", "Object" },
    { "Prim(int64, n)", "Prim(int64)" },
    { "Shape[n]", "Shape(1)" },
    { "Tensor[n](float32)@cuda:1", "Tensor(1, float32)" },
    { "Tuple(Shape[n], Tensor)", "Tuple(Shape(1), Tensor)" },
    { "impure Func(Tensor[a](float32) -> Shape[a])", "Func(Tensor(1, float32) -> Shape(1))" },
    { "pure Callable(Shape[n])", "Packed" },
};

static void test_static_types(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < RLX_COUNT(statics); i++)
        if (rlx_erase_to_static(f->ctx, parse(f, statics[i].in)) != parse(f, statics[i].want))
            fail_msg("static type of %s: wanted %s", statics[i].in, statics[i].want);
}

/* Parameter, argument, what the parameter becomes. a and b are mappable. */
static const struct { const char *param, *arg, *want;
} mappings[] = {
    { "Prim(int64)", "Prim(int64, n)", "Prim(int64)" },
    { "Prim(int64, a)", "Shape[n]", "Prim(int64, a)" },
    { "Shape[a]", "Shape(1)", "Shape[a]" },
    { "Shape", "Shape[n]", "Shape" },
    { "Tensor[a](float32)", "Shape[n]", "Tensor[a](float32)" },
    { "Tensor[a, b](float32)", "Tensor[n, n](float32)", "Tensor[n, n](float32)" },
    { "Tuple(Shape[a])", "Tuple(Shape[n], Shape[m])", "Tuple(Shape[a])" },
    { "Tuple(Tensor[a](float32), Prim(int64, b))", "Tuple(Tensor[4](float32), Prim(int64, n))",
      "Tuple(Tensor[4](float32), Prim(int64, n))" },
    { "Func(Shape[c], Shape[a] -> Object)", "Func(Shape[7] -> Object)",
      "Func(Shape[c], Shape[a] -> Object)" },
    { "Callable(Shape[a])", "Callable(Shape[n])", "Callable(Shape[a])" },
    { "Prim(int64, a)", "Prim(int64, n)", "Prim(int64, n)" },
    { "Prim(int64, a)", "Prim(int64)", "Prim(int64, a)" },
    { "Shape[a, a + b]", "Shape[n, m]", "Shape[n, n + b]" },
    { "Shape[a]", "Shape[n, m]", "Shape[a]" },
    { "Tensor[a, 4](float32)", "Tensor[n + 1, 4](int32)", "Tensor[n + 1, 4](float32)" },
    { "Tensor[a](float32)", "Tensor(1, float32)", "Tensor[a](float32)" },
    /* simultaneous */
    { "Tuple(Shape[a], Shape[b, a])", "Tuple(Shape[b], Shape[a, 7])",
      "Tuple(Shape[b], Shape[a, b])" },
    { "Func(Shape[c] -> Shape[a])", "Func(Shape[7] -> Shape[8])", "Func(Shape[c] -> Shape[a])" },
    { "Func(Shape[a, c] -> Shape[a])", "Func(Shape[7, 7] -> Shape[8])",
      "Func(Shape[7, c] -> Shape[7])" },
    { "Object", "Shape[n]", "Object" },
};

static void test_mapping(void **state)
{
    fixture *f = *state;
    bool lost = false;
    const rlx_prim *binders[] = { &prim_name(&f->names, "a")->node,
                                  &prim_name(&f->names, "b")->node };
    for (size_t i = 0; i < RLX_COUNT(mappings); i++) {
        const rlx_sinfo *p = parse(f, mappings[i].param), *want = parse(f, mappings[i].want);
        rlx_mapping m;
        rlx_mapping_init(&m, f->ctx, &f->scope, binders, 2);
        rlx_mapping_add(&m, p, parse(f, mappings[i].arg), 0);
        const rlx_sinfo *got = rlx_mapping_apply(&m, p);
        if (!got || !rlx_equal(&f->ctx->memory, got, want, false, &lost)) {
            show_difference(f, "mapping", i, got ? got : rlx_object_info(f->ctx),
                            mappings[i].want);
            fail();
        }
        rlx_mapping_free(&m);
    }
}

/* Many sizes, and a shape that is a variable beside them. */
static void test_mapping_of_many(void **state)
{
    enum { MANY = 20000 };
    static const rlx_prim *from[MANY], *to[MANY];
    rlx_context *ctx = ((fixture *)*state)->ctx;
    const rlx_string *name = rlx_string_z(ctx, "n");
    for (int i = 0; i < MANY; i++) {
        from[i] = &rlx_prim_var_new(ctx, name, RELAX_INT64, 0)->node;
        to[i] = rlx_int64(ctx, i);
    }
    const rlx_var *v = rlx_var_new(ctx, false, name, -1, rlx_shape_info_rank(ctx, 1), 0);
    const rlx_sinfo *p = rlx_shape_info(ctx, from, MANY), *s = rlx_shape_info(ctx, to, MANY);
    const rlx_sinfo *by_v = rlx_tensor_info(ctx, &v->node, RELAX_FLOAT32, 1, NULL),
                    *seven =
                        rlx_tensor_info(ctx, rlx_shape_new(ctx, to + 7, 1), RELAX_FLOAT32, 1, NULL);
    rlx_mapping m;
    rlx_mapping_init(&m, ctx, NULL, from, MANY);
    rlx_mapping_add(&m, p, s, 0);
    rlx_mapping_add(&m, by_v, seven, 1);
    assert_ptr_equal(rlx_mapping_apply(&m, p), s);
    assert_ptr_equal(rlx_mapping_apply(&m, by_v), seven);
    rlx_mapping_free(&m);
}

static void test_mapping_conflicts(void **state)
{
    fixture *f = *state;
    const rlx_prim *binders[] = { &prim_name(&f->names, "a")->node };
    rlx_mapping m;
    rlx_mapping_init(&m, f->ctx, &f->scope, binders, 1);
    rlx_mapping_add(&m, parse(f, "Shape[a, a]"), parse(f, "Shape[n, n + 0]"), 0);
    assert_null(m.conflict);
    assert_false(m.unproved);
    rlx_mapping_add(&m, parse(f, "Shape[a]"), parse(f, "Shape[m]"), 1);
    assert_true(m.unproved);
    assert_null(m.conflict);
    rlx_mapping_add(&m, parse(f, "Shape[a]"), parse(f, "Shape[n + 1]"), 2);
    assert_ptr_equal(m.conflict, binders[0]);
    assert_int_equal(m.first_arg, 0);
    assert_int_equal(m.second_arg, 2);
    rlx_mapping_free(&m);
}

/* The outer description owns a variable that stands alone in its own parameters; else the inner
 * one; else the scope. */
static void test_binders(void **state)
{
    fixture *f = *state;
    (void)prim_name(&f->names, "n");
    const rlx_func_sinfo *s = rlx_as_func_sinfo(
        parse(f, "Func(Func(Shape[a, n, b] -> Shape[a]), Shape[a] -> Shape[a])"));
    const rlx_func_sinfo *inner = rlx_as_func_sinfo(s->params[0]);
    assert_int_equal(s->num_binders, 1);
    assert_ptr_equal(s->binders[0], prim_name(&f->names, "a"));
    assert_int_equal(inner->num_binders, 1);
    assert_ptr_equal(inner->binders[0], prim_name(&f->names, "b"));
}

static void test_prim_func_signature(void **state)
{
    fixture *f = *state;
    rlx_context *ctx = f->ctx;
    const rlx_string *name = rlx_string_z(ctx, "k");
    const rlx_prim *n32 = &rlx_prim_var_new(ctx, name, RELAX_INT32, 0)->node;
    const rlx_prim *shape[] = { rlx_cast(ctx, RELAX_INT64, n32), rlx_int(ctx, RELAX_INT32, 4) };
    const rlx_buffer *buffer = rlx_buffer_new(ctx, name, RELAX_FLOAT32, shape, 2, NULL, 0);
    const rlx_prim *handle = &rlx_prim_var_new(ctx, name, RELAX_HANDLE, 0)->node,
                   *plain = &rlx_prim_var_new(ctx, name, RELAX_HANDLE, 0)->node;
    const rlx_prim *scalar = &rlx_prim_var_new(ctx, name, RELAX_INT32, 0)->node;
    const rlx_prim *params[] = { handle, plain, scalar };
    const rlx_node *buffers[] = { &buffer->node, NULL, NULL };
    rlx_prim_func *p = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    rlx_evaluate *body = rlx_node_new(ctx, RLX_NODE_EVALUATE);
    body->value = rlx_int(ctx, RELAX_INT32, 0);
    p->params = params, p->num_params = 3, p->buffers = buffers, p->num_buffers = 3;
    p->ret_dtype = RELAX_VOID, p->body = &body->node;
    const rlx_func_sinfo *s = rlx_as_func_sinfo(rlx_prim_func_signature(ctx, p));
    assert_non_null(s);
    assert_int_equal(s->num_binders, 1);
    assert_int_equal(
        rlx_assignable(
            ctx, NULL, &s->node,
            parse(f, "Func(Tensor[b, 4](float32), Object, Prim(int32) -> Tuple())"), NULL),
        Y);
    assert_true(s->is_pure); /* it does nothing */
    p->ret_dtype = RELAX_INT32;
    s = rlx_as_func_sinfo(rlx_prim_func_signature(ctx, p));
    assert_true(s->is_pure);
    assert_ptr_equal(s->ret, parse(f, "Prim(int32)"));
}

/* Descriptions nested beyond reason end in the weakest sound answer. */
static void test_deep_nesting(void **state)
{
    fixture *f = *state;
    const rlx_sinfo *a = parse(f, "Shape[n]"), *b = parse(f, "Shape[m]");
    for (int i = 0; i < 20000; i++) {
        const rlx_sinfo *pa[] = { a, a }, *pb[] = { b, b };
        a = rlx_tuple_info(f->ctx, pa, i < 18 ? 2 : 1);
        b = rlx_tuple_info(f->ctx, pb, i < 18 ? 2 : 1);
    }
    assert_int_equal(rlx_assignable(f->ctx, &f->scope, a, b, NULL), V);
    assert_true(rlx_overlap(f->ctx, &f->scope, a, b, NULL));
    assert_non_null(rlx_lub(f->ctx, &f->scope, a, b));
    assert_non_null(rlx_erase(f->ctx, a, &(rlx_visible){ NULL, NULL, NULL }));
    assert_non_null(rlx_erase_to_static(f->ctx, a));
    assert_int_equal(rlx_error_count(f->ctx), 0);
}

/* As many parts as struct info can have are all looked at. */
static void test_largest_tuple(void **state)
{
    enum { SIDE = 1000, PARTS = SIDE * SIDE };
    static const rlx_sinfo *rows[2][SIDE], *cells[SIDE];
    fixture *f = *state;
    rlx_visible n_only = { is_n, NULL, &f->names };
    (void)prim_name(&f->names, "n");
    const rlx_sinfo *pair[] = { parse(f, "Shape[n]"), parse(f, "Shape[n, 4]") };
    for (int i = 0; i < PARTS; i++) {
        cells[i % SIDE] = pair[i % 2];
        if (i % SIDE == SIDE - 1)
            rows[0][i / SIDE] = rows[1][i / SIDE] = rlx_tuple_info(f->ctx, cells, SIDE);
    }
    cells[SIDE - 1] = parse(f, "Shape[m]");
    rows[1][SIDE - 1] = rlx_tuple_info(f->ctx, cells, SIDE);
    const rlx_sinfo *a = rlx_tuple_info(f->ctx, rows[0], SIDE),
                    *b = rlx_tuple_info(f->ctx, rows[1], SIDE);
    assert_ptr_equal(rlx_erase(f->ctx, a, &n_only), a);
    const rlx_tuple_sinfo *less = rlx_as_tuple_sinfo(rlx_erase(f->ctx, b, &n_only));
    assert_non_null(less);
    assert_ptr_equal(less->fields[SIDE - 2], rows[0][0]);
    less = rlx_as_tuple_sinfo(less->fields[SIDE - 1]);
    assert_non_null(less);
    assert_ptr_equal(less->fields[SIDE - 2], pair[0]);
    assert_ptr_equal(less->fields[SIDE - 1], parse(f, "Shape(1)"));
    assert_int_equal(rlx_assignable(f->ctx, &f->scope, a, b, NULL), N);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_fit),          CASE(test_fit_of_shape_variables),
        CASE(test_overlap),      CASE(test_lub),
        CASE(test_erase),        CASE(test_static_types),
        CASE(test_mapping),      CASE(test_mapping_conflicts),
        CASE(test_mapping_of_many),
        CASE(test_binders),      CASE(test_prim_func_signature),
        CASE(test_deep_nesting), CASE(test_largest_tuple),
    };
    return cmocka_run_group_tests_name("sinfo/relations", tests, NULL, NULL);
}
