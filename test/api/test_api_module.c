/* test_api_module: modules as wholes: copies, passes by name and of the host, PrimFuncs by
 * hand, analyses, weights, the operator table. */
#include "api_fixture.h"
#include "text_file.h"

static const relax_module *read_program(relax_context *ctx)
{
    const relax_module *m = relax_module_parse(ctx, Z("program.py"), Z(PROGRAM("two functions")));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

static size_t bindings_of_main(const relax_module *m)
{
    const relax_expr *f =
        relax_base_func_as_expr(relax_module_function(m, relax_module_find(m, Z("main"))));
    const relax_expr *body = relax_expr_operand(f, relax_expr_num_operands(f) - 1);
    size_t count = 0;
    for (size_t i = 0; i < relax_seq_num_blocks(body); i++)
        count += relax_block_num_bindings(relax_seq_block(body, i));
    return count;
}

/* ---- copies --------------------------------------------------------------------------------- */

static void copies_live_on_their_own(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx, *from = relax_context_create(NULL);
    relax_context_add_source(ctx, Z("first.py"), Z("x\n"));
    const relax_module *m = read_program(from);
    char *want = printed(from, relax_module_as_node(m));
    assert_ptr_equal(relax_module_copy(from, from, m, 1), m);
    const relax_module *placed = relax_module_copy(ctx, from, m, 1),
                       *bare = relax_module_copy(ctx, from, m, 0);
    assert_null(relax_module_copy(ctx, NULL, m, 0));
    assert_said(ctx, "OP01");
    assert_null(relax_module_copy(NULL, from, m, 0));
    relax_context_release(from);

    assert_non_null(placed);
    assert_int_equal(
        relax_node_equal(ctx, relax_module_as_node(placed), relax_module_as_node(bare), 0), 1);
    char *got = printed(ctx, relax_module_as_node(placed));
    assert_string_equal(got, want);
    free(got);
    free(want);
    uint32_t line = 0;
    relax_place place =
        relax_expr_place(relax_base_func_as_expr(relax_module_function(placed, 0)));
    assert_int_equal(relax_place_locate(ctx, place, &line, NULL, NULL), RELAX_OK);
    assert_int_equal(line, 4);
    assert_int_equal(relax_expr_place(relax_base_func_as_expr(relax_module_function(bare, 0))), 0);
    relax_executable *exe = relax_module_compile(ctx, placed, NULL);
    assert_quiet(ctx);
    assert_non_null(exe);
    relax_executable_release(exe);
}

/* ---- passes --------------------------------------------------------------------------------- */

static void passes_by_name(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_program(ctx);
    const relax_module *cleaned = relax_pass_run(ctx, m, Z("dead_code_elimination"), NULL);
    assert_int_equal(bindings_of_main(m), 3);
    assert_int_equal(bindings_of_main(cleaned), 2);
    /* nothing to do: the same module */
    assert_ptr_equal(relax_pass_run(ctx, cleaned, Z("dead-code-elimination"), NULL), cleaned);
    assert_ptr_equal(relax_module_normalize(ctx, cleaned), cleaned);
    assert_quiet(ctx);
    assert_null(relax_pass_run(ctx, m, Z("dead_code"), NULL));
    assert_said(ctx, "OP10");
    int32_t count = 0;
    for (const char *name; (name = relax_pass_name(count)); count++) {
        assert_non_null(relax_pass_help(count));
        const char *deflt, *help;
        for (int32_t i = 0; relax_pass_option(count, i, &deflt, &help); i++)
            assert_non_null(help);
    }
    assert_true(count >= 7 && !relax_pass_name(-1) && !relax_pass_help(count) &&
                !relax_pass_needs(count) && !relax_pass_option(count, 0, NULL, NULL));
}

typedef struct host {
    int runs, destroyed, hooks, changed;
    const relax_attr *options;
    const relax_module *answer;
    char names[256];
} host;

static const relax_module *host_pass(void *user, relax_context *ctx, const relax_module *module,
                                     const relax_attr *options)
{
    host *h = user;
    h->runs++;
    h->options = options;
    return h->answer ? h->answer : relax_pass_run(ctx, module, Z("dead_code_elimination"), NULL);
}
static const relax_module *failing_pass(void *user, relax_context *ctx, const relax_module *module,
                                        const relax_attr *options)
{
    (void)options;
    (void)user;
    (void)ctx;
    (void)module;
    return NULL;
}
static void host_gone(void *user) { ((host *)user)->destroyed++; }
static void after_pass(void *user, const char *pass, const relax_module *module, double seconds,
                       int32_t changed)
{
    host *h = user;
    h->hooks++;
    h->changed += changed;
    assert_true(relax_module_num_functions(module) >= 1 && seconds >= 0);
    strncat(h->names, pass, sizeof h->names - strlen(h->names) - 2);
    strcat(h->names, " ");
}

static void pipelines_with_passes_of_the_host(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_program(ctx);
    host h = { 0 }, other = { 0 };
    relax_pipeline *p = relax_pipeline_create(ctx);
    assert_int_equal(relax_pipeline_add(p, Z("normalize"), NULL), RELAX_OK);
    const relax_attr *three = relax_attr_int_new(ctx, 3);
    const relax_attr *options = relax_attr_map_with(ctx, NULL, Z("level"), three);
    assert_int_equal(relax_pipeline_add_host(p, Z("mine"), options, host_pass, &h, host_gone),
                     RELAX_OK);
    assert_int_equal(relax_pipeline_on_pass(p, after_pass, &h), RELAX_OK);
    assert_int_equal(relax_pipeline_set_verify(p, 1), RELAX_OK);
    const relax_module *out = relax_pipeline_run(p, m);
    assert_quiet(ctx);
    assert_int_equal(bindings_of_main(out), 2);
    assert_string_equal(h.names, "normalize mine ");
    assert_true(h.runs == 1 && h.changed == 1 && h.options == options);
    assert_int_equal(relax_pipeline_add_host(p, Z("bad"), NULL, failing_pass, &other, host_gone),
                     RELAX_OK);
    assert_null(relax_pipeline_run(p, m));
    assert_said(ctx, "OP17");
    assert_int_equal(relax_pipeline_add_host(p, Z("none"), NULL, NULL, &other, host_gone),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(other.destroyed, 1); /* also where it was refused */
    assert_said(ctx, "OP01");
    assert_int_equal(relax_pipeline_add_host(p, Z("odd"), three, host_pass, &other, host_gone),
                     RELAX_ERROR_INVALID_ARGUMENT); /* options are a map */
    assert_int_equal(other.destroyed, 2);
    relax_context_clear_diagnostics(ctx);
    assert_null(relax_pipeline_run(p, NULL));
    assert_said(ctx, "OP01");
    relax_pipeline_destroy(p);
    assert_true(h.destroyed == 1 && other.destroyed == 3);

    p = relax_pipeline_create(ctx);
    for (int32_t level = 0; level <= 2; level++)
        assert_int_equal(relax_pipeline_add_build(p, level), RELAX_OK);
    relax_pipeline_destroy(p);
}

/* ---- PrimFuncs ------------------------------------------------------------------------------ */

/* B[i] = A[i] * A[i] + i */
static const relax_base_func *square_plus(relax_context *ctx)
{
    relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
    const relax_prim_expr *n = relax_tir_dim(t, Z("n")), *four = relax_prim_int_new(ctx, 4),
                          *shape[] = { n, four };
    relax_buffer *a = relax_tir_param(t, Z("A"), RELAX_FLOAT32, shape, 2),
                 *b = relax_tir_param(t, Z("B"), RELAX_FLOAT32, shape, 2);
    assert_int_equal(relax_tir_begin_block(t, Z("square")), RELAX_OK);
    const relax_prim_expr *i = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("i"), n),
                          *j = relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("j"), four),
                          *at[] = { i, j };
    const relax_prim_expr *x = relax_tir_load(t, a, at, 2),
                          *position = relax_prim_cast_new(ctx, RELAX_FLOAT32, j);
    const relax_prim_expr *value = relax_prim_binary_new(
        ctx, RELAX_PRIM_ADD, relax_prim_binary_new(ctx, RELAX_PRIM_MUL, x, x), position);
    assert_int_equal(relax_tir_store(t, b, at, 2, value), RELAX_OK);
    assert_int_equal(relax_tir_end_block(t), RELAX_OK);
    const relax_base_func *f = relax_tir_finish(t);
    assert_ptr_equal(relax_tir_finish(t), f); /* asked again: the same function */
    assert_int_not_equal(relax_tir_begin_block(t, Z("late")), RELAX_OK);
    assert_said(ctx, "OP09");
    relax_tir_builder_destroy(t);
    return f;
}

static void prim_funcs_run(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    const relax_base_func *f = square_plus(ctx);
    assert_non_null(f);
    assert_int_equal(relax_base_func_kind(f), RELAX_FUNC_PRIM);
    assert_non_null(relax_node_kind_name(relax_stmt_as_node(relax_base_func_body(f))));
    assert_null(relax_base_func_as_expr(f));
    relax_expr *gv = relax_module_builder_add(mb, Z("square"), f);
    relax_prim_expr *n = relax_shape_var_new(ctx, Z("n"));
    relax_struct_info *info = floats(ctx, n, 4);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *args[] = { gv, relax_tuple_new(ctx, &x, 1) };
    relax_builder_begin_function(b, Z("main"), &x, 1, NULL);
    relax_expr *y = relax_builder_emit(
        b, relax_call_op_new_with_result(ctx, Z("call_tir"), args, 2, NULL, info, 0), NULL, 0, 0);
    assert_non_null(relax_builder_end_function(b, y));
    const relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_quiet(ctx);

    float in[] = { 1, 2, 3, 4, -1, -2, 0, 0.5f }, out[8];
    relax_tensor *t = tensor_of(in, 2, 4);
    run_main(ctx, m, t, out, 8);
    relax_tensor_release(t);
    for (size_t i = 0; i < 8; i++)
        assert_true(out[i] == in[i] * in[i] + (float)(i % 4));
}

static void prim_func_builder_latches(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
    const relax_prim_expr *n = relax_prim_int_new(ctx, 4);
    relax_buffer *a = relax_tir_param(t, Z("A"), RELAX_FLOAT32, &n, 1);
    assert_non_null(a);
    assert_int_equal(relax_tir_begin_block(t, Z("b")), RELAX_OK);
    assert_null(relax_tir_axis(t, 7, Z("i"), n));
    size_t errors = relax_context_num_errors(ctx);
    assert_int_equal(errors, 1);
    /* after a failure calls do nothing, silently */
    assert_null(relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("i"), n));
    assert_null(relax_tir_load(t, a, NULL, 1));
    assert_int_not_equal(relax_tir_end_block(t), RELAX_OK);
    assert_int_equal(relax_context_num_errors(ctx), errors);
    assert_null(relax_tir_finish(t));
    relax_tir_builder_destroy(t);
    relax_context_clear_diagnostics(ctx);
    t = relax_tir_builder_create(ctx, 0);
    assert_int_equal(relax_tir_begin_block(t, Z("open")), RELAX_OK);
    assert_null(relax_tir_finish(t)); /* the block is open */
    assert_true(relax_context_num_errors(ctx) > 0);
    relax_tir_builder_destroy(t);
    relax_tir_builder_destroy(relax_tir_builder_create(ctx, 0));
    relax_tir_builder_destroy(NULL);
}

/* ---- analyses ------------------------------------------------------------------------------- */

static void analyses_answer(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_program(ctx);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
    assert_int_equal(relax_module_well_formed(ctx, m, 9), 0);
    assert_said(ctx, "OP03");
    assert_ptr_not_equal(relax_module_infer(ctx, m), NULL);
    assert_null(relax_find_impure_call(ctx, m, relax_module_function(m, 0)));
    assert_null(relax_find_impure_call(ctx, m, (const relax_base_func *)(const void *)m));
    assert_said(ctx, "OP02");

    const relax_node *f = relax_base_func_as_node(relax_module_function(m, 0));
    const relax_expr *vars[2] = { NULL, NULL };
    assert_int_equal(relax_free_vars(ctx, f, vars, 2), 0);
    /* two parameters, three bindings; two fit */
    assert_int_equal(relax_bound_vars(ctx, f, vars, 2), 5);
    assert_non_null(vars[1]);

    relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")), *two = relax_prim_int_new(ctx, 2);
    relax_prim_expr *a = relax_prim_binary_new(ctx, RELAX_PRIM_ADD, n, n),
                    *b = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, n, two);
    assert_int_equal(relax_prim_prove_equal(ctx, a, b), RELAX_PROOF_EQUAL);
    assert_int_equal(relax_prim_prove_equal(ctx, a, n), RELAX_PROOF_UNKNOWN);
    assert_int_equal(
        relax_prim_prove_equal(ctx, relax_prim_binary_new(ctx, RELAX_PRIM_ADD, n, two), n),
        RELAX_PROOF_DIFFERENT);
    relax_struct_info *exact = floats(ctx, n, 4),
                      *vague = relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32);
    assert_int_equal(relax_struct_info_assignable(ctx, exact, vague), RELAX_ASSIGNABLE_YES);
    assert_int_equal(relax_struct_info_assignable(ctx, vague, exact), RELAX_ASSIGNABLE_VALUE);
    assert_int_equal(
        relax_struct_info_assignable(ctx, exact, relax_struct_info_shape_of_rank(ctx, 2)),
        RELAX_ASSIGNABLE_NO);
    assert_int_equal(
        relax_struct_info_ndim(relax_struct_info_lub(ctx, exact, floats(ctx, two, 4))), 2);
    assert_null(relax_struct_info_dim(relax_struct_info_erase(ctx, exact, NULL, 0), 0));
    const relax_prim_expr *visible = n, *free_vars[1];
    assert_ptr_equal(relax_struct_info_erase(ctx, exact, &visible, 1), exact);
    assert_int_equal(relax_free_shape_vars(ctx, relax_struct_info_as_node(exact), free_vars, 1),
                     1);
    assert_ptr_equal(free_vars[0], n);
    relax_struct_info *read =
        relax_struct_info_parse(ctx, Z("R.Tensor((n, 4), \"float32\")"), &visible, 1);
    assert_ptr_equal(read, exact); /* interned as written */
    assert_quiet(ctx);
}

/* ---- weights -------------------------------------------------------------------------------- */

static void weights_are_bound(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_program(ctx);
    relax_tensor *w = tensor_of((const float[]){ 1, 0, 0, 1, 2, 0, 0, 2 }, 4, 2),
                 *wrong = tensor_of((const float[]){ 1, 2, 3 }, 1, 3);
    const char *name = "w", *other = "v";
    const relax_module *bound =
        relax_module_bind_params(ctx, m, NULL, 0, &name, (const relax_tensor *const *)&w, 1);
    assert_quiet(ctx);
    assert_non_null(bound);
    float x[] = { 1, 2, 3, 4 }, y[2];
    relax_tensor *in = tensor_of(x, 1, 4);
    run_main(ctx, bound, in, y, 2);
    assert_true(y[0] == 8 && y[1] == 11);
    assert_null(
        relax_module_bind_params(ctx, m, NULL, 0, &other, (const relax_tensor *const *)&w, 1));
    assert_said(ctx, "OP15");
    assert_null(
        relax_module_bind_params(ctx, m, NULL, 0, &name, (const relax_tensor *const *)&wrong, 1));
    assert_said(ctx, "CG12");
    const void *no_tensor = bound;
    assert_null(relax_module_bind_params(ctx, m, NULL, 0, &name,
                                         (const relax_tensor *const *)&no_tensor, 1));
    assert_said(ctx, "OP02");
    relax_tensor_release(in);
    relax_tensor_release(w);
    relax_tensor_release(wrong);
}

/* ---- the operator table --------------------------------------------------------------------- */

static void operators_describe_themselves(void **state)
{
    (void)state;
    size_t softmax = relax_op_find(Z("nn.softmax"));
    int32_t kind = 0, optional = 0, type = 0;
    const char *deflt = NULL, *help = NULL;
    assert_true(softmax != RELAX_NOT_FOUND && relax_op_find(Z("R.nn.softmax")) == softmax &&
                relax_op_find(Z("relax.nn.softmax")) == softmax);
    assert_string_equal(relax_op_name(softmax), "relax.nn.softmax");
    assert_int_equal(relax_op_flags(softmax), RELAX_OP_FLAG_PURE | RELAX_OP_FLAG_LOWERS);
    assert_string_equal(relax_op_arg(softmax, 0, &kind, &optional), "data");
    assert_true(kind == RELAX_OP_ARG_TENSOR && !optional);
    assert_string_equal(relax_op_attr(softmax, 0, &type, &deflt, &help), "axis");
    assert_int_equal(type, RELAX_OP_ATTR_INT);
    assert_string_equal(deflt, "-1");
    assert_null(relax_op_arg(softmax, 1, &kind, &optional));
    assert_null(relax_op_attr(softmax, 1, NULL, NULL, NULL));
    assert_int_equal(relax_op_find(Z("nn.softmaxx")), RELAX_NOT_FOUND);
    assert_non_null(strstr(relax_op_suggest(Z("nn.sofmax")), "softmax"));
    size_t count = relax_op_count();
    assert_true(count >= 190 && !relax_op_name(count) && !relax_op_name(-1) &&
                !relax_op_flags(count) && !relax_op_help(SIZE_MAX / 2));
    for (size_t i = 0; i < count; i++) {
        if (relax_op_find(Z(relax_op_name(i))) != i || !relax_op_help(i) || !*relax_op_help(i))
            fail_msg("operator %zu, %s, is not found or has no help", i, relax_op_name(i));
        for (size_t a = 0; relax_op_arg(i, a, &kind, &optional); a++)
            if (kind < RELAX_OP_ARG_TENSOR || kind > RELAX_OP_ARG_ANY)
                fail_msg("argument %zu of %s has kind %d", a, relax_op_name(i), kind);
    }
}

/* ---- modules that were read with mistakes --------------------------------------------------- */

static void refuse(relax_context *ctx, const relax_module *m, const char *code, const char *how)
{
    relax_context_clear_diagnostics(ctx);
    relax_executable *exe = relax_module_compile(ctx, m, NULL);
    if (exe || !relax_context_num_errors(ctx))
        fail_msg("the example of %s, %s, compiles", code, how);
    relax_context_clear_diagnostics(ctx);
}

/* The host may have cleared what was said. */
static void mistakes_are_not_compiled(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx, *other = relax_context_create(NULL);
    const char *code, *bad;
    size_t refused = 0;
    for (size_t i = 0; (code = relax_code_at(i)); i++) {
        if (relax_code_explain(code, strlen(code), NULL, NULL, &bad, NULL) != RELAX_OK || !bad)
            continue;
        size_t errors = relax_context_num_errors(ctx);
        const relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(bad)), *passed;
        bool mistaken = m && relax_context_num_errors(ctx) > errors;
        relax_context_clear_diagnostics(ctx);
        if (!mistaken)
            continue;
        refused++;
        refuse(ctx, m, code, "as it was read");
        refuse(other, relax_module_copy(other, ctx, m, 0), code, "in another context");
        passed = relax_pass_run(ctx, m, Z("attach_global_symbol"), NULL);
        if (passed)
            refuse(ctx, passed, code, "after a pass");
    }
    assert_true(refused > 10);
    relax_context_release(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(copies_live_on_their_own),
        TEST(passes_by_name),
        TEST(pipelines_with_passes_of_the_host),
        TEST(prim_funcs_run),
        TEST(prim_func_builder_latches),
        TEST(analyses_answer),
        TEST(weights_are_bound),
        TEST(mistakes_are_not_compiled),
        cmocka_unit_test(operators_describe_themselves),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
