/* test_api_extract: functions out of functions and back; substitution; copies. */
#include "checked_module.h"
#include "text_file.h"

#include <relax/ops.h>


static const relax_base_func *function(const relax_module *m, const char *name)
{
    return relax_module_function(m, relax_module_find(m, Z(name)));
}

/* The binding of a variable by its name. */
typedef struct search { const char *name; const relax_binding *found; } search;
static int32_t look(void *user, const relax_binding *b)
{
    search *s = user;
    const relax_expr *v = relax_binding_var(b);
    const char *name = v ? relax_expr_name(v, NULL) : NULL;
    if (name && strcmp(name, s->name) == 0)
        s->found = b;
    return RELAX_VISIT_CHILDREN;
}
static const relax_binding *binding(relax_context *ctx, const relax_module *m, const char *of,
                                    const char *name)
{
    search s = { name, NULL };
    relax_visitor v = { .struct_size = sizeof v, .user = &s, .binding = look };
    const relax_node *f = relax_base_func_as_node(function(m, of));
    assert_int_equal(relax_node_visit(ctx, f, &v), RELAX_OK);
    assert_non_null(s.found);
    return s.found;
}

static relax_module *extracted(relax_context *ctx, const relax_module *m, const char *first,
                               const char *last)
{
    return relax_module_extract_function(ctx, m, Z("main"), binding(ctx, m, "main", first),
                                         binding(ctx, m, "main", last), Z("part"));
}

/* Every binding has a place: its variable has, as visitors see it. */
static int32_t has_place(void *user, const relax_expr *v)
{
    (void)user;
    return relax_expr_place(v) ? 0 : 1;
}

/* The same numbers before and after. */
static void assert_same_numbers(relax_context *ctx, const relax_module *a, const relax_module *b)
{
    static const float data[] = { 1, 2, 3, -4, 0.5f, -0.25f, 7, 8 };
    float x[8], y[8];
    relax_tensor *in = tensor_of(data, 2, 4);
    run_main(ctx, a, in, x, 8);
    run_main(ctx, b, in, y, 8);
    assert_memory_equal(x, y, sizeof x);
    relax_tensor_release(in);
}

/* ---- extracting */

static void test_a_run_of_a_dataflow_block(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("a run of a dataflow block")),
                 *want = parsed(ctx, PROGRAM("a run of a dataflow block, wanted"));
    relax_module *out = extracted(ctx, m, "b", "d");
    assert_same(ctx, out, want);
    relax_visitor places = { .struct_size = sizeof places, .var_def = has_place };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(out), &places), 0);
    assert_same_numbers(ctx, m, out);
    /* and back: but for t, which nothing uses, and names */
    relax_module *back = relax_module_inline_function(ctx, out, Z("part"));
    assert_same_numbers(ctx, m, back);
    back = relax_pass_run(ctx, back, Z("canonicalize_bindings"), NULL);
    back = relax_pass_run(ctx, back, Z("dead_code_elimination"), NULL);
    assert_same(ctx, back, m);
}

/* Sizes that no tensor among the parameters binds alone are passed; those that the run binds
 * come back. */
static void test_sizes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("sizes")),
                 *want = parsed(ctx, PROGRAM("sizes, wanted"));
    assert_same(ctx, extracted(ctx, m, "a", "d"), want);
}

static void test_impure_and_unused(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("impure and unused")),
                 *want = parsed(ctx, PROGRAM("impure and unused, wanted"));
    assert_same(ctx, extracted(ctx, m, "a", "a"), want);
}

/* A shape that is the value of a variable is no part of a signature: what is said of the result
 * is cast. */
static void test_shape_of_a_variable(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("shape of a variable"));
    const char *text = PROGRAM("shape of a variable, wanted");
    /* inside it is an annotation, which is checked again: reading it warns */
    relax_module *want = relax_module_parse(ctx, Z("m.py"), Z(text));
    relax_context_clear_diagnostics(ctx);
    assert_same(ctx, extracted(ctx, m, "a", "a"), want);
}

static void test_branches(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = PROGRAM("branches");
    relax_module *m = parsed(ctx, text);
    relax_module *out = extracted(ctx, m, "a", "b");
    out = extracted(ctx, out, "d", "e");
    assert_quiet(ctx);
    /* equal runs share a function */
    assert_int_equal(relax_module_num_functions(out), 2);
    assert_int_equal(relax_module_well_formed(ctx, out, RELAX_CHECK_NORMAL), 1);
}

static void test_refused_runs(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("refused runs"));
    assert_null(extracted(ctx, m, "a", "b"));
    assert_said(ctx, "OP02");
    assert_null(extracted(ctx, m, "d", "a"));
    assert_said(ctx, "OP02");
    relax_module *other = parsed(ctx, PROGRAM("refused runs, other"));
    assert_null(relax_module_extract_function(ctx, m, Z("main"), binding(ctx, other, "main", "a"),
                                              binding(ctx, other, "main", "a"), Z("part")));
    assert_said(ctx, "OP02");
    assert_null(relax_module_inline_call(ctx, m, Z("main"), binding(ctx, m, "main", "a")));
    assert_said(ctx, "OP02");
    assert_null(relax_module_inline_function(ctx, m, Z("none")));
    assert_said(ctx, "OP15");
}

/* ---- inlining */

static void test_symbolic_call(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("symbolic call")),
                 *want = parsed(ctx, PROGRAM("symbolic call, wanted"));
    relax_module *out = relax_module_inline_call(ctx, m, Z("main"), binding(ctx, m, "main", "a"));
    assert_same(ctx, out, want);
    assert_same(ctx, relax_module_inline_function(ctx, m, Z("f")), want);
    assert_ptr_equal(function(out, "f"), function(m, "f"));
    assert_same_numbers(ctx, m, out);
    assert_ptr_equal(relax_module_inline_function(ctx, out, Z("f")),
                     out); /* nothing calls it now */
}

/* What the border of the function checks stays checked. */
static void test_checks(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = PROGRAM("checks");
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text)); /* warns: b may differ */
    relax_context_clear_diagnostics(ctx);
    relax_module *out = relax_module_inline_function(ctx, m, Z("f"));
    assert_non_null(out);
    /* q is cast to as many rows as p has */
    const relax_binding *cast = binding(ctx, out, "main", "q");
    const relax_struct_info *target = relax_binding_match(cast);
    assert_non_null(target);
    const relax_expr *f = relax_base_func_as_expr(function(out, "main"));
    const relax_struct_info *x = relax_expr_struct_info(relax_expr_operand(f, 0));
    assert_ptr_equal(relax_struct_info_dim(target, 0), relax_struct_info_dim(x, 0));
}

static void test_into_a_dataflow_block(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("into a dataflow block")),
                 *want = parsed(ctx, PROGRAM("into a dataflow block, wanted"));
    assert_same(ctx, relax_module_inline_function(ctx, m, Z("f")), want);
    assert_same_numbers(ctx, m, want);
}

#define MAIN "    @R.function\n    def main(x: " T("2, 4") ") -> " T("2, 4") ":\n"
/* A body with an if: the dataflow block is split around it; a crosses, b and d do not, an output
 * stays one. */
static void test_splitting_a_dataflow_block(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("splitting a dataflow block")),
                 *want = parsed(ctx, PROGRAM("splitting a dataflow block, wanted"));
    relax_module *out = relax_module_inline_function(ctx, m, Z("f"));
    assert_same(ctx, out, want);
    assert_same(ctx, relax_module_inline_call(ctx, m, Z("main"), binding(ctx, m, "main", "d")),
                want);
    assert_same_numbers(ctx, m, out);
    relax_visitor v = { .struct_size = sizeof v, .var_def = has_place };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(out), &v), 0);
}

/* One of two calls; an output that is the call itself; a block that ends or begins with it. */
static void test_splitting_at_one_call(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("splitting at one call")),
                 *first = parsed(ctx, PROGRAM("splitting at one call, first")),
                 *last = parsed(ctx, PROGRAM("splitting at one call, last")),
                 *both = parsed(ctx, PROGRAM("splitting at one call, both"));
    relax_module *out = relax_module_inline_call(ctx, m, Z("main"), binding(ctx, m, "main", "a"));
    assert_same(ctx, out, first);
    assert_same_numbers(ctx, m, out);
    assert_same(ctx, relax_module_inline_function(ctx, out, Z("f")), both);
    assert_same(ctx, relax_module_inline_call(ctx, m, Z("main"), binding(ctx, m, "main", "gv")),
                last);
    assert_same(ctx, relax_module_inline_function(ctx, m, Z("f")), both);
    assert_same_numbers(ctx, m, both);
}

/* Impure calls may stand in what is impure, or is told to count as pure; nowhere else. */
static void test_impure_bodies(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *impure = PROGRAM("impure bodies, impure");
    static const struct { const char *main, *said; } cases[] = {
        { "    @R.function(pure=False)\n    def main(x: " T("2, 4") ") -> " T("2, 4") ":\n",
          NULL },
        { MAIN "        R.func_attr({\"relax.force_pure\": True})\n", NULL },
        { MAIN, "PU02" },
    };
    for (size_t i = 0; i < N(cases); i++) {
        char before[2048], after[2048];
        snprintf(before, sizeof before, PROGRAM("impure bodies"), cases[i].main, impure);
        snprintf(after, sizeof after, PROGRAM("impure bodies, wanted"), cases[i].main, impure);
        relax_module *out = relax_module_inline_function(ctx, parsed(ctx, before), Z("f"));
        if (!cases[i].said) {
            assert_same(ctx, out, parsed(ctx, after));
            continue;
        }
        assert_null(out);
        assert_said(ctx, cases[i].said);
    }
}

/* Functions in what is inlined: every copy binds variables of its own. */
static void test_local_functions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *local = PROGRAM("local functions, local");
    char text[2048];
    snprintf(text, sizeof text, PROGRAM("local functions"), local);
    relax_module *m = parsed(ctx, text), *out = relax_module_inline_function(ctx, m, Z("f"));
    assert_quiet(ctx);
    assert_non_null(out);
    assert_int_equal(relax_module_well_formed(ctx, out, RELAX_CHECK_NORMAL), 1);
    const relax_node *main = relax_base_func_as_node(function(out, "main"));
    assert_int_equal(relax_bound_vars(ctx, main, NULL, 0), 1 + 3 * 4 + 1);
    char *again = printed(ctx, relax_module_as_node(out));
    assert_same(ctx, parsed(ctx, again), out);
    free(again);
}

/* A call inside of what was inlined stays. */
static void test_recursion(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("recursion")),
                 *want = parsed(ctx, PROGRAM("recursion, wanted"));
    assert_same(ctx, relax_module_inline_function(ctx, m, Z("f")), want);
}

/* ---- substitution */

static void test_substitution(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *m = relax_shape_var_new(ctx, Z("m"));
    const relax_struct_info *rows = floats(ctx, n, 4);
    const relax_expr *x = relax_var_new(ctx, Z("x"), rows, 0),
                     *y = relax_var_new(ctx, Z("y"), rows, 0);
    const relax_expr *sum = relax_r_add(ctx, x, y), *root = relax_r_exp(ctx, sum);
    const relax_node *from[] = { relax_expr_as_node(x), relax_expr_as_node(y) },
                     *swapped[] = { relax_expr_as_node(y), relax_expr_as_node(x) };
    /* all at once */
    const relax_expr *out = relax_node_as_expr(
        relax_node_substitute(ctx, relax_expr_as_node(root), from, swapped, 2, 0));
    assert_quiet(ctx);
    assert_ptr_equal(relax_expr_operand(relax_expr_operand(out, 1), 1), y);
    assert_ptr_equal(relax_expr_operand(relax_expr_operand(out, 1), 2), x);
    /* n and m exchanged in struct info */
    const relax_node *sizes[] = { relax_prim_expr_as_node(n), relax_prim_expr_as_node(m) },
                     *turned[] = { relax_prim_expr_as_node(m), relax_prim_expr_as_node(n) };
    const relax_prim_expr *dims[] = { n, relax_prim_binary_new(ctx, RELAX_PRIM_ADD, m, n) };
    const relax_struct_info *info = relax_struct_info_tensor_new(ctx, dims, 2, RELAX_FLOAT32);
    const relax_struct_info *now = relax_node_as_struct_info(
        relax_node_substitute(ctx, relax_struct_info_as_node(info), sizes, turned, 2, 0));
    assert_ptr_equal(relax_struct_info_dim(now, 0), m);
    assert_ptr_equal(relax_prim_operand(relax_struct_info_dim(now, 1), 0), n);
    /* nothing to replace: the node itself */
    const relax_node *node = relax_struct_info_as_node(floats(ctx, relax_prim_int_new(ctx, 2), 4));
    assert_ptr_equal(relax_node_substitute(ctx, node, sizes, turned, 2, 0), node);
    /* refusals */
    const relax_node *three = relax_prim_expr_as_node(relax_prim_int_new(ctx, 3));
    assert_null(relax_node_substitute(ctx, relax_expr_as_node(root), from, &three, 1, 0));
    assert_said(ctx, "OP02");
    const relax_node *flag = relax_prim_expr_as_node(relax_prim_int_of_dtype(ctx, RELAX_INT32, 3));
    assert_null(relax_node_substitute(ctx, relax_expr_as_node(root), sizes, &flag, 1, 0));
    assert_said(ctx, "OP02");
    const relax_expr *small =
        relax_var_new(ctx, Z("z"), relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_INT32), 0);
    const relax_node *wrong = relax_expr_as_node(small);
    assert_null(relax_node_substitute(ctx, relax_expr_as_node(root), from, &wrong, 1, 0));
    assert_said(ctx, "OP17");
}

typedef struct names { const relax_expr *vars[32]; size_t count; } names;
static int32_t collect(void *user, const relax_expr *v)
{
    names *n = user;
    n->vars[n->count++] = v;
    return 0;
}

static void test_renewal(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("renewal"));
    const relax_node *f = relax_base_func_as_node(function(m, "main")),
                     *copy = relax_node_copy_renewed(ctx, f);
    assert_quiet(ctx);
    assert_int_equal(relax_node_equal(ctx, f, copy, 0), 1);
    names a = { .count = 0 }, b = { .count = 0 };
    relax_visitor v = { .struct_size = sizeof v, .user = &a, .var_def = collect };
    assert_int_equal(relax_node_visit(ctx, f, &v), 0);
    v.user = &b;
    assert_int_equal(relax_node_visit(ctx, copy, &v), 0);
    assert_int_equal(a.count, 5);
    assert_int_equal(b.count, 5);
    for (size_t i = 0; i < a.count; i++)
        for (size_t k = 0; k < b.count; k++)
            assert_ptr_not_equal(a.vars[i], b.vars[k]);
    /* a size that is bound: the parameter says 8 now, in a function of its own */
    const relax_prim_expr *n =
        relax_struct_info_dim(relax_expr_struct_info(a.vars[0]), 0);
    const relax_node *from = relax_prim_expr_as_node(n),
                     *to = relax_prim_expr_as_node(relax_prim_int_new(ctx, 8));
    const relax_expr *eight = relax_node_as_expr(relax_node_substitute(ctx, f, &from, &to, 1, 1));
    int64_t rows = 0;
    assert_int_equal(relax_prim_int_value(relax_struct_info_dim(relax_expr_struct_info(
                                              relax_expr_operand(eight, 0)), 0), &rows), RELAX_OK);
    assert_int_equal(rows, 8);
    /* a bound variable cannot be replaced */
    from = relax_expr_as_node(a.vars[0]);
    assert_null(relax_node_substitute(ctx, f, &from, &from, 1, 0));
    assert_said(ctx, "OP02");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_of_a_dataflow_block, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_sizes, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_impure_and_unused, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_shape_of_a_variable, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_branches, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_refused_runs, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_symbolic_call, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_checks, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_into_a_dataflow_block, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_splitting_a_dataflow_block, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(test_splitting_at_one_call, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_impure_bodies, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_local_functions, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_recursion, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_substitution, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_renewal, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
