/* test_api_analysis: variables, definitions and uses, liveness, calls, purity, what is known
 * before a call, reshapes, memory. */
#include "api_fixture.h"
#include "text_file.h"

#define CLASS "@I.ir_module\nclass Module:\n"
#define SIX "R.Tensor((2, 3), \"float32\")"

static const relax_module *read_module(relax_context *ctx, const char *text)
{
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text));
    if (relax_context_num_errors(ctx))
        assert_quiet(ctx);
    assert_non_null(m);
    relax_context_clear_diagnostics(ctx); /* warnings */
    return m;
}

static const relax_base_func *function_of(const relax_module *m, const char *name)
{
    return relax_module_function(m, relax_module_find(m, Z(name)));
}

static const relax_node *node_of_function(const relax_module *m, const char *name)
{
    return relax_base_func_as_node(function_of(m, name));
}

/* "a b c": the names of expressions, variables of sizes likewise. */
static const char *names(const relax_expr *const *vars, size_t count)
{
    static char room[400];
    room[0] = 0;
    for (size_t i = 0; i < count; i++)
        sprintf(room + strlen(room), i ? " %s" : "%s", relax_expr_name(vars[i], NULL));
    return room;
}

/* The variable of the binding called so. */
static const relax_expr *var_called(const relax_use_def *u, const char *name)
{
    assert_int_equal(relax_use_def_num_named(u, Z(name)), 1);
    return relax_binding_var(relax_use_def_named(u, Z(name), 0));
}

/* ---- variables ------------------------------------------------------------------------------ */

static void variables_are_listed(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("variables are listed"));
    const relax_node *f = node_of_function(m, "main");
    const relax_expr *found[8], *fn = relax_base_func_as_expr(function_of(m, "main"));
    const relax_expr *body = relax_expr_operand(fn, relax_expr_num_operands(fn) - 1);
    assert_string_equal(names(found, relax_all_vars(ctx, f, found, 8)), "x s f a b");
    assert_int_equal(relax_all_vars(ctx, f, found, 2), 5);
    assert_string_equal(names(found, relax_bound_vars(ctx, f, found, 8)), "x s f a b");
    assert_string_equal(
        names(found, relax_free_vars(ctx, relax_expr_as_node(body), found, 8)), "x");
    /* sizes */
    static const struct {
        size_t (*list)(relax_context *, const relax_node *, const relax_prim_expr **, size_t);
        const char *want;
    } rows[] = {
        { relax_all_shape_vars, "n m p k" },
        { relax_bound_shape_vars, "n m p k" },
        { relax_definable_shape_vars, "n m" },
        { relax_free_shape_vars, "" },
    };
    for (size_t i = 0; i < N(rows); i++) {
        const relax_prim_expr *sizes[8];
        char got[100] = "";
        int64_t count = rows[i].list(ctx, f, sizes, 8);
        for (int64_t k = 0; k < count; k++)
            sprintf(got + strlen(got), k ? " %s" : "%s", relax_prim_name(sizes[k], NULL));
        assert_string_equal(got, rows[i].want);
    }
    assert_int_equal(relax_free_shape_vars(ctx, relax_expr_as_node(body), NULL, 0), 1);
    assert_int_equal(relax_all_vars(ctx, NULL, NULL, 0), -1);
    assert_said(ctx, "OP01");
}

static void sizes_are_not_negative(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *m = relax_shape_var_new(ctx, Z("m")), *four = relax_prim_int_new(ctx, 4),
                          *minus = relax_prim_int_new(ctx, -1);
    const relax_prim_expr *less = relax_prim_binary_new(ctx, RELAX_PRIM_SUB, n, four);
    const relax_prim_expr *dims[] = { less, four, n, less }, *values[] = { m, minus };
    const relax_struct_info *fields[] = {
        relax_struct_info_tensor_new(ctx, dims, 4, RELAX_FLOAT32),
        relax_struct_info_prim_new(ctx, RELAX_INT64, relax_shape_var_new(ctx, Z("q"))),
        relax_struct_info_shape_new(ctx, values, 2),
    };
    const relax_struct_info *tuple = relax_struct_info_tuple_new(ctx, fields, 3);
    const relax_prim_expr *found[8];
    assert_int_equal(
        relax_non_negative_exprs(ctx, relax_struct_info_as_node(tuple), found, 8), 4);
    assert_true(found[0] == less && found[1] == n && found[2] == m && found[3] == minus);
    assert_int_equal(relax_definable_shape_vars(ctx, relax_struct_info_as_node(tuple), found, 8),
                     3); /* n, q, m */
}

/* ---- definitions and uses ------------------------------------------------------------------- */

static void uses_are_found_in_order(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("chain"));
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    relax_use_def *u = relax_use_def_create(ctx, relax_expr_as_node(f));
    const relax_expr *a = var_called(u, "a"), *b = var_called(u, "b"), *t = var_called(u, "t");
    int32_t kind;
    assert_ptr_equal(relax_expr_operand(relax_use_def_value(u, a), 1), relax_expr_operand(f, 0));
    assert_null(relax_use_def_value(u, relax_expr_operand(f, 0)));
    assert_null(relax_use_def_binding(u, relax_expr_operand(f, 0)));
    assert_ptr_equal(relax_binding_var(relax_use_def_binding(u, b)), b);
    assert_true(relax_use_def_position(u, a) == 0 && relax_use_def_position(u, b) == 1);
    assert_int_equal(relax_use_def_position(u, relax_expr_operand(f, 0)), -1);
    /* x twice in one call is one use; a in exp, sin and the tuple */
    assert_int_equal(relax_use_def_num_uses(u, relax_expr_operand(f, 0)), 1);
    assert_int_equal(relax_use_def_num_uses(u, a), 3);
    assert_ptr_equal(relax_binding_var(relax_use_def_use(u, a, 0, &kind)), b);
    assert_int_equal(kind, RELAX_USE_VALUE);
    assert_string_equal(
        relax_expr_name(relax_binding_var(relax_use_def_use(u, a, 1, NULL)), NULL), "d");
    assert_ptr_equal(relax_binding_var(relax_use_def_use(u, a, 2, &kind)), t);
    assert_null(relax_use_def_use(u, a, 3, &kind));
    assert_int_equal(kind, 0);
    /* the shape in the annotation of b */
    assert_int_equal(relax_use_def_num_uses(u, relax_expr_operand(f, 1)), 1);
    assert_ptr_equal(
        relax_binding_var(relax_use_def_use(u, relax_expr_operand(f, 1), 0, &kind)), b);
    assert_int_equal(kind, RELAX_USE_STRUCT_INFO);
    /* the result of the function, used by nothing inside */
    assert_int_equal(relax_use_def_num_outputs(u), 1);
    const relax_expr *q = relax_use_def_output(u, 0);
    assert_string_equal(relax_expr_name(q, NULL), "q");
    assert_null(relax_use_def_output(u, 1));
    assert_null(relax_use_def_use(u, q, 0, &kind));
    assert_int_equal(kind, RELAX_USE_RESULT);
    /* results of branches are used by the if */
    const relax_expr *r = var_called(u, "r"), *d = var_called(u, "d");
    assert_ptr_equal(relax_binding_var(relax_use_def_use(u, d, 0, &kind)), r);
    assert_int_equal(kind, RELAX_USE_RESULT);
    assert_int_equal(relax_use_def_num_uses(u, b), 1);
    assert_ptr_equal(relax_binding_var(relax_use_def_use(u, b, 0, &kind)), r);
    assert_int_equal(kind, RELAX_USE_RESULT);
    assert_null(relax_use_def_named(u, Z("r"), 1));
    assert_int_equal(relax_use_def_num_named(u, Z("absent")), 0);
    relax_use_def_destroy(u);
    relax_use_def_destroy(NULL);
}

static void blocks_have_outputs(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("blocks have outputs"));
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    const relax_block *block = relax_seq_block(relax_expr_operand(f, 1), 0);
    relax_use_def *u = relax_use_def_create(ctx, relax_block_as_node(block));
    assert_int_equal(relax_use_def_num_outputs(u), 2);
    assert_string_equal(relax_expr_name(relax_use_def_output(u, 0), NULL), "b");
    assert_int_equal(relax_use_def_num_uses(u, relax_use_def_output(u, 0)), 1);
    assert_int_equal(relax_use_def_num_uses(u, relax_use_def_output(u, 1)), 0);
    /* the parameter is bound elsewhere */
    assert_int_equal(relax_use_def_num_uses(u, relax_expr_operand(f, 0)), 1);
    assert_null(relax_use_def_binding(u, relax_expr_operand(f, 0)));
    relax_use_def_destroy(u);
}

/* A handle holds its context, which cannot be collected meanwhile. */
static void handles_hold_their_context(void **state)
{
    relax_context *ctx = relax_context_create(NULL);
    relax_module *m = (relax_module *)(uintptr_t)(const void *)read_module(ctx, PROGRAM("chain"));
    relax_use_def *u = relax_use_def_create(ctx, relax_module_as_node(m));
    relax_liveness *l = relax_liveness_create(ctx, relax_module_function(m, 0));
    assert_int_equal(relax_context_collect(ctx, &m, 1), RELAX_ERROR_INVALID_ARGUMENT);
    relax_context_release(ctx);
    assert_int_equal(relax_use_def_num_named(u, Z("a")), 1);
    relax_use_def_destroy(u);
    relax_liveness_destroy(l);
}

/* ---- liveness: against the textbook's way, backwards over sets ------------------------------ */

enum { MAX_VARS = 64 };
typedef struct sets {
    relax_context *ctx;
    const relax_expr *vars[MAX_VARS];
    size_t count;
    const relax_liveness *l;
    int checked;
} sets;

static uint64_t bit_of(sets *s, const relax_expr *v)
{
    size_t i = 0;
    while (i < s->count && s->vars[i] != v)
        i++;
    if (i == s->count)
        s->vars[s->count++] = v;
    assert_true(s->count <= MAX_VARS);
    return (uint64_t)1 << i;
}

static uint64_t free_in(sets *s, const relax_node *n)
{
    const relax_expr *found[MAX_VARS];
    uint64_t set = 0;
    const relax_expr *e = relax_node_as_expr(n);
    int32_t kind = relax_expr_kind(e);
    if (kind == RELAX_EXPR_KIND_VAR || kind == RELAX_EXPR_KIND_DATAFLOW_VAR)
        return bit_of(s, e); /* its struct info is used where it is bound */
    size_t count = n ? relax_free_vars(s->ctx, n, found, MAX_VARS) : 0;
    for (size_t i = 0; i < count; i++)
        set |= bit_of(s, found[i]);
    return set;
}

static uint64_t given(sets *s, size_t count, const relax_expr *const *found)
{
    uint64_t set = 0;
    assert_true(count <= MAX_VARS);
    for (size_t i = 0; i < count; i++)
        set |= bit_of(s, found[i]);
    return set;
}

static uint64_t sequence_in(sets *s, const relax_expr *seq, uint64_t out);

static void show_difference(sets *s, const relax_binding *b, uint64_t want)
{
    const relax_expr *found[MAX_VARS], *var = relax_binding_var(b);
    print_error("before %s: got %s, wanted", var ? relax_expr_name(var, NULL) : "a cast",
                names(found, relax_liveness_before(s->l, b, found, MAX_VARS)));
    for (size_t i = 0; i < s->count; i++)
        if (want >> i & 1)
            print_error(" %s", relax_expr_name(s->vars[i], NULL));
    print_error("\n");
    fail();
}

/* What is live before a binding after which `out` is. */
static uint64_t binding_in(sets *s, const relax_binding *b, uint64_t out)
{
    const relax_expr *value = relax_binding_value(b), *var = relax_binding_var(b);
    const relax_expr *found[MAX_VARS];
    int32_t kind = relax_expr_kind(value);
    assert_true(given(s, relax_liveness_after(s->l, b, found, MAX_VARS), found) == out);
    uint64_t in = out & ~(var ? bit_of(s, var) : 0);
    if (var)
        in |= free_in(s, relax_struct_info_as_node(relax_expr_struct_info(var)));
    in |= free_in(s, relax_struct_info_as_node(relax_binding_match(b)));
    if (kind == RELAX_EXPR_KIND_IF) {
        uint64_t after = in, t = sequence_in(s, relax_expr_operand(value, 1), after);
        in = t | sequence_in(s, relax_expr_operand(value, 2), after) |
             free_in(s, relax_expr_as_node(relax_expr_operand(value, 0)));
    } else {
        if (kind == RELAX_EXPR_KIND_FUNCTION)
            sequence_in(s, relax_expr_operand(value, relax_expr_num_operands(value) - 1), 0);
        in |= free_in(s, relax_expr_as_node(value));
        if (kind == RELAX_EXPR_KIND_FUNCTION && var)
            in &= ~bit_of(s, var);
    }
    if (given(s, relax_liveness_before(s->l, b, found, MAX_VARS), found) != in)
        show_difference(s, b, in);
    s->checked++;
    return in;
}

static uint64_t sequence_in(sets *s, const relax_expr *seq, uint64_t out)
{
    uint64_t live = out | free_in(s, relax_expr_as_node(relax_expr_operand(seq, 0)));
    for (size_t i = relax_seq_num_blocks(seq); i-- > 0;) {
        const relax_block *block = relax_seq_block(seq, i);
        for (size_t k = relax_block_num_bindings(block); k-- > 0;)
            live = binding_in(s, relax_block_binding(block, k), live);
    }
    return live;
}

static const struct { const char *text; int bindings; } live_programs[] = {
    { "= chain", 6 },
    { "= branches and a local function",
      15 },
};

static void liveness_is_that_of_the_textbook(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (size_t i = 0; i < N(live_programs); i++) {
        const relax_module *m = read_module(ctx, PROGRAM_CELL(live_programs[i].text));
        const relax_base_func *func = relax_module_function(m, 0);
        const relax_expr *f = relax_base_func_as_expr(func);
        relax_liveness *l = relax_liveness_create(ctx, func);
        sets s = { .ctx = ctx, .l = l };
        sequence_in(&s, relax_expr_operand(f, relax_expr_num_operands(f) - 1), 0);
        assert_int_equal(s.checked, live_programs[i].bindings);
        assert_int_equal(relax_liveness_before(l, NULL, NULL, 0), -1);
        relax_liveness_destroy(l);
    }
    assert_quiet(ctx);
}

/* ---- a hundred thousand bindings ------------------------------------------------------------ */

enum { LONG = 100000 };

static void long_functions_take_no_long_time(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    char *text = malloc(LONG * 60 + 200), *at = text;
    at += sprintf(at, CLASS "    @R.function\n    def main(x0: " SIX ") -> R.Object:\n");
    for (int i = 0; i < LONG; i++)
        at += sprintf(at, "        x%d = R.add(x%d, x%d)\n", i + 1, i, i / 2);
    sprintf(at, "        return x%d\n", LONG);
    const relax_module *m = read_module(ctx, text);
    free(text);
    relax_use_def *u = relax_use_def_create(ctx, relax_module_as_node(m));
    relax_liveness *l = relax_liveness_create(ctx, relax_module_function(m, 0));
    char name[20];
    /* x of number k is used by k + 1, 2 k + 1 and 2 k + 2 */
    for (int i = 10; i < LONG; i += 7) {
        sprintf(name, "x%d", i);
        const relax_binding *b = relax_use_def_named(u, name, strlen(name), 0);
        const relax_expr *v = relax_binding_var(b);
        size_t uses = 1 + (2 * i + 1 <= LONG) + (2 * i + 2 <= LONG);
        if (relax_use_def_num_uses(u, v) != (i == LONG ? 1 : uses) ||
            relax_use_def_position(u, v) != (size_t)i - 1)
            fail_msg("x%d has %zu uses", i, relax_use_def_num_uses(u, v));
    }
    /* alive after x of number k: itself and those from k / 2 on */
    for (int i = 10; i < LONG / 2; i *= 3) {
        sprintf(name, "x%d", i);
        const relax_binding *b = relax_use_def_named(u, name, strlen(name), 0);
        int64_t want = i - i / 2 + 1;
        assert_int_equal(relax_liveness_after(l, b, NULL, 0), want);
    }
    relax_use_def_destroy(u);
    relax_liveness_destroy(l);
}

/* ---- calls ---------------------------------------------------------------------------------- */

#define CALLS(name, value)                                                                        \
    "    @R.function(private=True)\n    def " name "(x: R.Object) -> R.Object:\n"                 \
    "        cls = Module\n        y: R.Object = " value "\n        return y\n\n"

static void calls_between_functions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("calls between functions"));
    size_t group[6];
    int32_t recursive[6];
    assert_int_equal(relax_function_groups(ctx, m, group, recursive, 6), 5);
    assert_int_equal(relax_function_groups(ctx, m, NULL, NULL, 0), 5);
    assert_int_equal(group[1], group[2]);
    assert_true(group[1] < group[0] && group[0] < group[5] && group[4] < group[5]);
    assert_true(!recursive[0] && recursive[1] && recursive[2] && recursive[3] && !recursive[4]);
    const relax_expr *found[8];
    const relax_node *f = node_of_function(m, "main");
    assert_string_equal(names(found, relax_global_vars(ctx, f, found, 8)), "e a");
    assert_string_equal(names(found, relax_called_global_vars(ctx, f, found, 8)), "a");
    assert_string_equal(
        names(found, relax_global_vars(ctx, relax_module_as_node(m), found, 8)), "b c d e a");
    assert_string_equal(
        names(found, relax_reachable_functions(ctx, m, NULL, 0, found, 8)), "a b c e main");
    const relax_expr *d = relax_module_global_var(m, 3);
    assert_string_equal(names(found, relax_reachable_functions(ctx, m, &d, 1, found, 8)), "d");
    assert_int_equal(relax_reachable_functions(ctx, m, &d, 0, found, 8), 0);
    const relax_expr *stranger = relax_module_global_var(
        read_module(ctx, CLASS CALLS("d", "x")), 0);
    assert_int_equal(relax_reachable_functions(ctx, m, &stranger, 1, found, 8), -1);
    assert_said(ctx, "OP15");
}

static void impure_calls_are_pointed_at(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("impure calls are pointed at"));
    const relax_expr *main_function = relax_base_func_as_expr(function_of(m, "main")), *call;
    const relax_expr *quiet = relax_base_func_as_expr(function_of(m, "quiet"));
    uint32_t line = 0;
    assert_int_equal(relax_contains_impure_call(ctx, m, main_function, NULL, &call, 0), 1);
    relax_place_locate(ctx, relax_expr_place(call), &line, NULL, NULL);
    assert_int_equal(line, 6);
    assert_quiet(ctx);
    assert_int_equal(relax_contains_impure_call(ctx, m, main_function,
                                                relax_module_global_var(m, 0), &call, 1),
                     1);
    relax_place_locate(ctx, relax_expr_place(call), &line, NULL, NULL);
    assert_int_equal(line, 7);
    assert_int_equal(relax_context_num_diagnostics(ctx), 1);
    assert_int_equal(relax_diagnostic_severity(ctx, 0), RELAX_SEVERITY_NOTE);
    relax_context_clear_diagnostics(ctx);
    assert_int_equal(relax_contains_impure_call(ctx, m, quiet, NULL, &call, 1), 0);
    assert_null(call);
    assert_quiet(ctx);
}

/* ---- before the call ------------------------------------------------------------------------ */

static void what_is_known_before_the_call(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("what is known before the call"));
    const relax_expr *found[20];
    assert_string_equal(names(found, relax_computable_at_compile_time(
                                         ctx, m, function_of(m, "main"), found, 20)),
                        "w c a d g h r i k");
    const relax_module *without = read_module(ctx, PROGRAM("chain"));
    assert_int_equal(relax_computable_at_compile_time(
                         ctx, without, relax_module_function(without, 0), found, 20),
                     0);
}

/* ---- reshapes ------------------------------------------------------------------------------- */

#define COPY(a, b, loops, to, from)                                                               \
    "    @T.prim_func(private=True)\n    def f(A: T.Buffer(" a ", \"float32\"), B: T.Buffer(" b   \
    ", \"float32\")):\n        for " loops ":\n            B[" to "] = A[" from "]\n"

static const struct { const char *what, *text; int want; } kernels[] = {
    { "flatten", COPY("(4, 3)", "(12,)", "i in range(12)", "i", "i // 3, i % 3"), 1 },
    { "split", COPY("(12,)", "(4, 3)", "i, j in T.grid(4, 3)", "i, j", "i * 3 + j"), 1 },
    { "loops in another order", COPY("(12,)", "(4, 3)", "j, i in T.grid(3, 4)", "i, j",
                                     "i * 3 + j"), 1 },
    { "one loop", COPY("(4, 3)", "(2, 6)", "i in range(12)", "i // 6, i % 6", "i // 3, i % 3"),
      1 },
    { "a dimension of one", COPY("(4, 3)", "(4, 1, 3)", "i, j in T.grid(4, 3)", "i, 0, j",
                                 "i, j"), 1 },
    { "the same shape", COPY("(4, 3)", "(4, 3)", "i, j in T.grid(4, 3)", "i, j", "i, j"), 1 },
    { "transposed", COPY("(3, 4)", "(4, 3)", "i, j in T.grid(4, 3)", "i, j", "j, i"), 0 },
    { "square transposed", COPY("(4, 4)", "(4, 4)", "i, j in T.grid(4, 4)", "i, j", "j, i"), 0 },
    { "half of it", COPY("(4, 3)", "(12,)", "i in range(6)", "i", "i // 3, i % 3"), 0 },
    { "a part of more", COPY("(8, 3)", "(12,)", "i in range(12)", "i", "i // 3, i % 3"), 0 },
    { "shifted", COPY("(13,)", "(12,)", "i in range(12)", "i", "i + 1"), 0 },
    { "backwards", COPY("(12,)", "(12,)", "i in range(12)", "i", "11 - i"), 0 },
    { "repeated", COPY("(4, 3)", "(4, 3)", "i, j in T.grid(4, 3)", "i, 0", "i, 0"), 0 },
    { "one loop for two dimensions", COPY("(3, 3)", "(3, 3)", "i in range(3)", "i, i", "i, i"),
      0 },
    { "something is done to it", "= something is done to it",
      0 },
    { "in place", "= in place",
      0 },
    { "not all of the time", "= not all of the time",
      0 },
    { "a predicate", "= a predicate",
      0 },
    { "blocks", "= blocks",
      1 },
};

static void reshapes_are_known(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    char text[2000];
    for (size_t i = 0; i < N(kernels); i++) {
        snprintf(text, sizeof text, CLASS "%s", PROGRAM_CELL(kernels[i].text));
        const relax_module *m = read_module(ctx, text);
        int32_t got = relax_has_reshape_pattern(ctx, relax_module_function(m, 0));
        if (got != kernels[i].want)
            fail_msg("%s: got %d", kernels[i].what, got);
    }
    assert_int_equal(relax_has_reshape_pattern(
                         ctx, relax_module_function(read_module(ctx, PROGRAM("chain")), 0)), 0);
    assert_said(ctx, "OP02");
}

/* What operators are lowered to. */
static const struct { const char *op, *result; int want; } operators[] = {
    { "R.reshape(x, R.shape([3, 2]))", "R.Tensor((3, 2), \"float32\")", 1 },
    { "R.reshape(x, R.shape([6]))", "R.Tensor((6,), \"float32\")", 1 },
    { "R.expand_dims(x, [1])", "R.Tensor((2, 1, 3), \"float32\")", 1 },
    { "R.flatten(x)", "R.Tensor((6,), \"float32\")", 1 },
    { "R.permute_dims(x)", "R.Tensor((3, 2), \"float32\")", 0 },
    { "R.flip(x, 0)", SIX, 0 },
    { "R.exp(x)", SIX, 0 },
    { "R.broadcast_to(x, R.shape([4, 2, 3]))", "R.Tensor((4, 2, 3), \"float32\")", 0 },
    { "R.tile(x, [1, 2])", "R.Tensor((2, 6), \"float32\")", 0 },
};

static void lowered_operators_are_told_apart(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    char text[1000];
    for (size_t i = 0; i < N(operators); i++) {
        snprintf(text, sizeof text, PROGRAM("lowered operators are told apart"),
                 operators[i].result, operators[i].op);
        const relax_module *m =
            relax_pass_run(ctx, read_module(ctx, text), Z("legalize_ops"), NULL);
        assert_quiet(ctx);
        assert_int_equal(relax_module_num_functions(m), 2);
        size_t at = relax_base_func_kind(relax_module_function(m, 0)) == RELAX_FUNC_PRIM ? 0 : 1;
        int32_t got = relax_has_reshape_pattern(ctx, relax_module_function(m, at));
        if (got != operators[i].want)
            fail_msg("%s: got %d", operators[i].op, got);
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

static void memory_is_estimated(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("memory is estimated"));
    const relax_prim_expr *tensors, *storages;
    assert_int_equal(relax_memory_estimate(ctx, function_of(m, "main"), &tensors, &storages), 0);
    int64_t bytes = -1, planned = -1;
    assert_int_equal(relax_prim_int_value(tensors, &bytes), RELAX_OK);
    assert_int_equal(bytes, 0);
    m = relax_pass_run(ctx, relax_pass_run(ctx, m, Z("legalize_ops"), NULL), Z("call_tir_rewrite"),
                       NULL);
    assert_quiet(ctx);
    const relax_base_func *f = function_of(m, "main");
    const relax_prim_expr *n = relax_struct_info_dim(
        relax_expr_struct_info(relax_expr_operand(relax_base_func_as_expr(f), 0)), 0);
    /* four tensors of n * 4 floats */
    assert_int_equal(relax_memory_estimate(ctx, f, &tensors, &storages), 0);
    const relax_prim_expr *want =
        relax_prim_binary_new(ctx, RELAX_PRIM_MUL, n, relax_prim_int_new(ctx, 4 * 4 * 4));
    assert_int_equal(relax_prim_prove_equal(ctx, tensors, want), RELAX_PROOF_EQUAL);
    assert_int_equal(relax_prim_prove_equal(ctx, storages, want), RELAX_PROOF_EQUAL);
    int64_t ten = 10;
    assert_int_equal(relax_memory_estimate_at(ctx, f, &n, &ten, 1, &bytes, &planned), 0);
    assert_true(bytes == 640 && planned == 640);
    /* two storages take turns; the result stands alone */
    m = relax_pass_run(ctx, m, Z("plan_memory"), NULL);
    assert_quiet(ctx);
    assert_int_equal(
        relax_memory_estimate_at(ctx, function_of(m, "main"), &n, &ten, 1, &bytes, &planned), 0);
    assert_int_equal(bytes, 640);
    assert_int_equal(planned, 480);
    assert_int_equal(
        relax_memory_estimate_at(ctx, function_of(m, "main"), NULL, NULL, 0, &bytes, &planned),
        -1);
    assert_said(ctx, "OP11");
    int64_t huge = INT64_MAX / 2;
    assert_int_equal(relax_memory_estimate_at(ctx, f, &n, &huge, 1, &bytes, &planned), -1);
    assert_said(ctx, "OP11");
}

/* From operators to bytes without lowering by hand; the same however far it is lowered. */
static void memory_is_estimated_from_operators(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = PROGRAM("memory is estimated from operators");
    const relax_module *m = read_module(ctx, text);
    char *before = printed(ctx, relax_module_as_node(m));
    const relax_prim_expr *tensors, *storages;
    const relax_prim_expr *n = relax_struct_info_dim(
        relax_expr_struct_info(
            relax_expr_operand(relax_base_func_as_expr(function_of(m, "part")), 0)), 0);
    int64_t ten = 10, bytes, planned;
    assert_int_equal(relax_memory_usage(ctx, m, Z("part"), &tensors, &storages), 0);
    assert_int_equal(relax_prim_prove_equal(ctx, tensors,
                                            relax_prim_binary_new(ctx, RELAX_PRIM_MUL, n,
                                                                  relax_prim_int_new(ctx, 64))),
                     RELAX_PROOF_EQUAL);
    assert_int_equal(relax_prim_prove_equal(ctx, storages,
                                            relax_prim_binary_new(ctx, RELAX_PRIM_MUL,
                                                                  relax_prim_int_new(ctx, 32), n)),
                     RELAX_PROOF_EQUAL);
    assert_int_equal(relax_memory_usage_at(ctx, m, Z("part"), &n, &ten, 1, &bytes, &planned), 0);
    assert_true(bytes == 640 && planned == 320);
    static const char *const passes[] = { "legalize_ops", "call_tir_rewrite", "plan_memory" };
    const relax_module *lower = relax_module_set_public(ctx, m, Z("part"), 1);
    for (size_t i = 0; i < N(passes); i++) {
        lower = relax_pass_run(ctx, lower, Z(passes[i]), NULL);
        bytes = planned = 0;
        assert_int_equal(
            relax_memory_usage_at(ctx, lower, Z("part"), &n, &ten, 1, &bytes, &planned), 0);
        /* what is planned by hand has two storages that take turns */
        assert_true(bytes == 640 && planned == (i < 2 ? 320 : 480));
    }
    assert_int_equal(relax_memory_usage_at(ctx, m, Z("part"), NULL, NULL, 0, &bytes, &planned),
                     -1);
    assert_said(ctx, "OP11");
    /* sizes that only running tells are counted apart */
    assert_true(relax_memory_usage_at(ctx, m, Z("found"), NULL, NULL, 0, &bytes, &planned) > 0);
    assert_true(bytes >= 32);
    assert_int_equal(relax_memory_usage(ctx, m, Z("bounded"), &tensors, &storages), 0);
    assert_int_equal(relax_memory_usage(ctx, m, Z("nothing"), &tensors, &storages), -1);
    assert_said(ctx, "OP15");
    assert_int_equal(relax_memory_usage(ctx, m, NULL, 0, &tensors, &storages), -1);
    assert_said(ctx, "OP01");
    char *after = printed(ctx, relax_module_as_node(m));
    assert_string_equal(before, after);
    free(before);
    free(after);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(variables_are_listed),
        TEST(sizes_are_not_negative),
        TEST(uses_are_found_in_order),
        TEST(blocks_have_outputs),
        TEST(handles_hold_their_context),
        TEST(liveness_is_that_of_the_textbook),
        TEST(long_functions_take_no_long_time),
        TEST(calls_between_functions),
        TEST(impure_calls_are_pointed_at),
        TEST(what_is_known_before_the_call),
        TEST(reshapes_are_known),
        TEST(lowered_operators_are_told_apart),
        TEST(memory_is_estimated),
        TEST(memory_is_estimated_from_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
