/* test_rules_by_builder.c: the rules of programs tried through the public builder, with no text:
 * each in a function, in a branch, in a local function, and twice. What is wrong is said while it
 * is built, or by the check of the module; the cured program is silent. */
#include "api_fixture.h"

typedef struct world {
    relax_context *ctx;
    relax_builder *b;
    bool good;
    uint32_t source, places;
    relax_prim_expr *n;
    relax_expr *x, *cond;           /* R.Tensor((n,), "float32"), a Boolean scalar */
    relax_expr *f, *impure;         /* pure: (R.Tensor((4,), "float32"), R.Object) -> R.Object */
} world;

static relax_place here(world *w) { return relax_place_make(w->source, 10 * ++w->places, 5); }
static relax_expr *emit(world *w, relax_expr *e)
{
    return e ? relax_builder_emit(w->b, e, NULL, 0, here(w)) : NULL;
}
static relax_expr *unary(world *w, const char *op, const relax_expr *a)
{
    return relax_call_op_new(w->ctx, Z(op), &a, 1, NULL, here(w));
}
static relax_struct_info *vec(world *w, const relax_prim_expr *n, relax_dtype dtype)
{
    return relax_struct_info_tensor_new(w->ctx, &n, 1, dtype);
}
static relax_struct_info *four(world *w, relax_dtype dtype)
{
    return vec(w, relax_prim_int_new(w->ctx, 4), dtype);
}
static relax_expr *packed(world *w, const relax_expr *a, const relax_struct_info *result)
{
    const relax_expr *args[] = { relax_extern_func_new(w->ctx, Z("p")), a };
    return relax_call_op_new_with_result(w->ctx, Z("call_pure_packed"), args, 2, NULL, result,
                                         here(w));
}
static relax_expr *unknown(world *w)
{
    return emit(w, packed(w, w->x, relax_struct_info_object_new(w->ctx)));
}
static void annotated(world *w, relax_expr *value, relax_struct_info *s)
{
    relax_builder_emit_annotated(w->b, value, s, NULL, 0, here(w));
}

/* ---- structural information ----------------------------------------------------------------- */

static void other_dtype(world *w)
{
    annotated(w, unary(w, "exp", w->x), vec(w, w->n, w->good ? RELAX_FLOAT32 : RELAX_FLOAT16));
}
static void maybe_size(world *w)
{
    annotated(w, unary(w, "exp", w->x),
              vec(w, w->good ? w->n : relax_prim_int_new(w->ctx, 4), RELAX_FLOAT32));
}
static void no_function(world *w)
{
    relax_expr *g = unknown(w);
    const relax_expr *args[] = { w->x };
    if (w->good)
        g = relax_builder_emit_match_cast(
            w->b, g, relax_struct_info_opaque_func_new(w->ctx, NULL, 1), NULL, 0, here(w));
    emit(w, relax_call_new(w->ctx, g, args, 1, NULL, here(w)));
}
static relax_expr *right(world *w)
{
    return emit(w, packed(w, w->x, four(w, RELAX_FLOAT32)));
}
static void argument_count(world *w)
{
    const relax_expr *args[] = { right(w), w->x };
    emit(w, relax_call_new(w->ctx, w->f, args, w->good ? 2 : 1, NULL, here(w)));
}
static void argument_dtype(world *w)
{
    const relax_expr *args[] = {
        w->good ? right(w) : emit(w, packed(w, w->x, four(w, RELAX_FLOAT16))), w->x
    };
    emit(w, relax_call_new(w->ctx, w->f, args, 2, NULL, here(w)));
}
static void argument_unknown(world *w)
{
    const relax_expr *args[] = { w->good ? right(w) : unknown(w), w->x };
    emit(w, relax_call_new(w->ctx, w->f, args, 2, NULL, here(w)));
}
static void item_out_of_range(world *w)
{
    const relax_expr *fields[] = { w->x, w->cond };
    relax_expr *t = emit(w, relax_tuple_new(w->ctx, fields, 2));
    emit(w, relax_tuple_get_item_new(w->ctx, t, w->good ? 1 : 2));
}
static void bad_condition(world *w)
{
    relax_builder_begin_if(w->b, w->good ? w->cond : w->x);
    relax_builder_begin_else(w->b, w->x);
    relax_builder_end_if(w->b, w->x, NULL, 0, here(w));
}
static void bad_result(world *w)
{
    relax_function_options o;
    relax_function_options_init(&o, sizeof o);
    o.ret = vec(w, w->n, w->good ? RELAX_FLOAT32 : RELAX_FLOAT16);
    o.place = here(w);
    relax_builder_begin_function(w->b, Z("g"), NULL, 0, &o);
    relax_builder_end_function(w->b, w->x);
}
static void bad_operands(world *w)
{
    const relax_expr *args[] = {
        w->x, w->good ? w->x : emit(w, packed(w, w->x, four(w, RELAX_INT32)))
    };
    emit(w, relax_call_op_new(w->ctx, Z("add"), args, 2, NULL, here(w)));
}
static void hopeless_cast(world *w)
{
    relax_builder_emit_match_cast(
        w->b, w->x, relax_struct_info_tensor_of_rank(w->ctx, w->good ? 1 : 2, RELAX_FLOAT32), NULL,
        0, here(w));
}
static void impure_in_block(world *w)
{
    const relax_expr *args[] = { w->x };
    relax_builder_begin_dataflow(w->b);
    emit(w, w->good ? unary(w, "exp", w->x)
                    : relax_call_new(w->ctx, w->impure, args, 1, NULL, here(w)));
    relax_builder_end_dataflow(w->b);
}
static void impure_in_pure(world *w)
{
    const relax_expr *args[] = { w->x };
    emit(w, w->good ? unary(w, "exp", w->x)
                    : relax_call_new(w->ctx, w->impure, args, 1, NULL, here(w)));
}
static void impure_for_pure(world *w)
{
    relax_struct_info *object = relax_struct_info_object_new(w->ctx);
    const relax_struct_info *params[] = { object };
    annotated(w, w->impure, relax_struct_info_func_new(w->ctx, params, 1, object, !w->good));
}

/* ---- well-formedness ------------------------------------------------------------------------ */

static void outside_block(world *w)
{
    relax_builder_begin_dataflow(w->b);
    relax_expr *e = unary(w, "exp", w->x);
    relax_expr *a = w->good ? relax_builder_emit_output(w->b, e, NULL, 0, here(w)) : emit(w, e);
    relax_builder_end_dataflow(w->b);
    emit(w, unary(w, "sin", a));
}
static void never_bound(world *w)
{
    relax_expr *v = relax_var_new(w->ctx, Z("v"), vec(w, w->n, RELAX_FLOAT32), here(w));
    emit(w, unary(w, "sin", w->good ? w->x : v));
}
static void out_of_branch(world *w)
{
    relax_builder_begin_if(w->b, w->cond);
    relax_expr *a = emit(w, unary(w, "exp", w->x));
    relax_builder_begin_else(w->b, a);
    relax_expr *r = relax_builder_end_if(w->b, w->x, NULL, 0, here(w));
    emit(w, unary(w, "sin", w->good ? r : a));
}
static void if_in_block(world *w)
{
    if (!w->good)
        relax_builder_begin_dataflow(w->b);
    relax_builder_begin_if(w->b, w->cond);
    relax_builder_begin_else(w->b, w->x);
    relax_builder_end_if(w->b, w->x, NULL, 0, here(w));
    if (!w->good)
        relax_builder_end_dataflow(w->b);
}
static void new_size_in_expression(world *w)
{
    const relax_prim_expr *k = w->good ? w->n : relax_shape_var_new(w->ctx, Z("k"));
    emit(w, relax_shape_expr_new(w->ctx, &k, 1));
}
static void new_size_in_annotation(world *w)
{
    const relax_prim_expr *k = w->good ? w->n : relax_shape_var_new(w->ctx, Z("k"));
    annotated(w, unary(w, "exp", w->x), vec(w, k, RELAX_FLOAT32));
}
static void captured(world *w)
{
    relax_builder_begin_dataflow(w->b);
    relax_expr *a = emit(w, unary(w, "exp", w->x));
    relax_builder_begin_function(w->b, Z("g"), NULL, 0, NULL);
    relax_builder_end_function(w->b, w->good ? w->x : a);
    relax_builder_end_dataflow(w->b);
}

static const struct {
    const char *code, *message;
    int32_t severity;
    void (*plant)(world *w);
} rows[] = {
    { "TY01", "but its annotation says", 0, other_dtype },
    { "TY01", "dimension 0 is n, expected 4", 1, maybe_size },
    { "TY02", "callee is R.Object, not a function", 0, no_function },
    { "TY03", "f takes 2 arguments, found 1", 0, argument_count },
    { "TY04", "dtype is float16, expected float32", 0, argument_dtype },
    { "TY04", "argument 1 of f is R.Object", 0, argument_unknown },
    { "TY05", "index 2 is out of range for a tuple of 2 fields", 0, item_out_of_range },
    { "TY06", "expected a Boolean scalar", 0, bad_condition },
    { "TY07", "its annotation says R.Tensor((n,), dtype=\"float16\")", 0, bad_result },
    { "TY08", "add: ", 0, bad_operands },
    { "TY09", "this cast always fails", 1, hopeless_cast },
    { "PU01", "impure call to impure inside a dataflow block", 0, impure_in_block },
    { "PU02", "impure call to impure in ", 0, impure_in_pure },
    { "TY01", "an impure function is given where a pure one is expected", 0, impure_for_pure },
    { "WF01", "is used outside its dataflow block", 0, outside_block },
    { "WF02", "variable v is not bound anywhere", 0, never_bound },
    { "WF03", "is out of scope here", 0, out_of_branch },
    { "WF05", "shape variable k is used before it is bound", 0, new_size_in_expression },
    { "WF07", "if inside a dataflow block", 0, if_in_block },
    { "WF11", "captures dataflow variable", 0, captured },
    { "WF14", "shape variable k is not in scope", 0, new_size_in_annotation },
};

/* ---- surroundings --------------------------------------------------------------------------- */

enum { PLAIN, BRANCH, LOCAL, TWICE, NUM_SURROUNDINGS };

static void plant(world *w, size_t row, int where)
{
    if (where == BRANCH)
        relax_builder_begin_if(w->b, w->cond);
    if (where == LOCAL)
        relax_builder_begin_function(w->b, Z("local"), NULL, 0, NULL);
    for (int i = 0; i < (where == TWICE ? 2 : 1); i++)
        rows[row].plant(w);
    if (where == LOCAL)
        relax_builder_end_function(w->b, w->x);
    if (where == BRANCH) {
        relax_builder_begin_else(w->b, w->x);
        relax_builder_end_if(w->b, w->x, NULL, 0, 0);
    }
}

static relax_module *program(world *w, size_t row, int where)
{
    relax_module_builder *mb = relax_module_builder_create(w->ctx, NULL);
    w->b = relax_builder_create(w->ctx, mb);
    relax_struct_info *object = relax_struct_info_object_new(w->ctx);
    relax_function_options o;
    relax_expr *p[] = { relax_var_new(w->ctx, Z("p"), four(w, RELAX_FLOAT32), 0),
                        relax_var_new(w->ctx, Z("q"), object, 0) },
               *r = relax_var_new(w->ctx, Z("r"), object, 0);
    relax_builder_begin_function(w->b, Z("f"), (const relax_expr *const *)p, 2, NULL);
    w->f = relax_builder_end_function(w->b, p[1]);
    relax_function_options_init(&o, sizeof o);
    o.pure = 0;
    relax_builder_begin_function(w->b, Z("impure"), (const relax_expr *const *)&r, 1, &o);
    w->impure = relax_builder_end_function(w->b, r);
    w->n = relax_shape_var_new(w->ctx, Z("n"));
    w->x = relax_var_new(w->ctx, Z("x"), vec(w, w->n, RELAX_FLOAT32), here(w));
    w->cond = relax_var_new(w->ctx, Z("c"), relax_struct_info_prim_new(w->ctx, RELAX_BOOL, NULL),
                            here(w));
    const relax_expr *params[] = { w->x, w->cond };
    relax_builder_begin_function(w->b, Z("main"), params, 2, NULL);
    plant(w, row, where);
    relax_builder_end_function(w->b, w->x);
    relax_module *m =
        relax_context_num_errors(w->ctx) ? NULL : relax_module_builder_finish(mb);
    relax_builder_destroy(w->b);
    relax_module_builder_destroy(mb);
    return m;
}

/* ---- the judge ------------------------------------------------------------------------------ */

static size_t count_said(relax_context *ctx, size_t row)
{
    size_t found = 0;
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++)
        found += strcmp(relax_diagnostic_code(ctx, i), rows[row].code) == 0 &&
                 relax_diagnostic_severity(ctx, i) == rows[row].severity &&
                 strstr(relax_diagnostic_message(ctx, i, NULL), rows[row].message) &&
                 relax_diagnostic_place(ctx, i) != 0;
    return found;
}

static void try_row(relax_context *ctx, size_t row, int where, bool good)
{
    world w = { .ctx = ctx, .good = good };
    w.source = relax_context_add_source(ctx, Z("host"), NULL, 0);
    relax_module *m = program(&w, row, where);
    if (m)
        relax_module_well_formed(ctx, m, RELAX_CHECK_ALL);
    size_t want = good ? 0 : where == TWICE ? 2 : 1;
    if (count_said(ctx, row) != want || relax_context_num_diagnostics(ctx) != want) {
        for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++)
            print_error("%s: %s\n", relax_diagnostic_code(ctx, i),
                        relax_diagnostic_message(ctx, i, NULL));
        fail_msg("%s (%s), surroundings %d, %s: wanted %zu", rows[row].code, rows[row].message,
                 where, good ? "cured" : "bad", want);
    }
    relax_context_clear_diagnostics(ctx);
}

static void rules_hold(void **state)
{
    fixture *f = *state;
    for (size_t i = 0; i < N(rows); i++)
        for (int where = 0; where < NUM_SURROUNDINGS; where++)
            for (int good = 0; good < 2; good++)
                try_row(f->ctx, i, where, good);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(rules_hold, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
