/* test_api_mutate: mutators by the public interface: what callbacks see, what comes out, what is
 * shared, what is refused; programs deep, wide and with many functions. */
#include "checked_module.h"
#include "text_file.h"

#include <relax/ops.h>

/* A function `main` of x, y, z: (4, 4) with this body. */
static relax_module *body(relax_context *ctx, const char *lines)
{
    char text[4096];
    snprintf(text, sizeof text,
             HEAD "@R.function\ndef main(x: " T("4, 4") ", y: " T("4, 4") ", z: " T("4, 4")
                  ", c: R.Tensor((), \"bool\")) -> R.Object:\n%s",
             lines);
    return parsed(ctx, text);
}

static bool is_call_of(const relax_expr *e, const char *op)
{
    const relax_expr *callee =
        relax_expr_kind(e) == RELAX_EXPR_KIND_CALL ? relax_expr_operand(e, 0) : NULL;
    const char *name = callee ? relax_expr_name(callee, NULL) : NULL;
    return name && strcmp(name, op) == 0;
}

static relax_module *mutated(relax_context *ctx, const relax_module *m, relax_mutations t)
{
    t.struct_size = sizeof t;
    return relax_module_mutate(ctx, m, NULL, 0, &t);
}

static void assert_refused(relax_context *ctx, const relax_module *m, relax_mutations t,
                           const char *code)
{
    assert_null(mutated(ctx, m, t));
    assert_said(ctx, code);
}

/* ---- one for one */

static const relax_expr *fuse_add(void *user, relax_mutator *m, const relax_expr *add)
{
    const relax_expr *mul = relax_mutator_find(m, relax_expr_operand(add, 1));
    if (!is_call_of(add, "relax.add") || !is_call_of(mul, "relax.multiply"))
        return add;
    return relax_r_ewise_fma(user, relax_expr_operand(mul, 1), relax_expr_operand(mul, 2),
                             relax_expr_operand(add, 2));
}

static void test_fusing(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *before = PROGRAM("fusing"),
               *after = PROGRAM("fusing, wanted");
    relax_module *m = body(ctx, before), *want = body(ctx, after);
    relax_mutations t = { .user = ctx, .call = fuse_add };
    assert_same(ctx, mutated(ctx, m, t), want);
    t.flags = RELAX_MUTATE_POST_ORDER;
    assert_same(ctx, mutated(ctx, m, t), want);
    t.flags = RELAX_MUTATE_DATAFLOW;
    assert_same(ctx, mutated(ctx, m, t), want);
    /* outside of a dataflow block */
    m = body(ctx, "    a = R.multiply(x, y)\n    gv = R.add(a, z)\n    return gv\n");
    assert_ptr_equal(mutated(ctx, m, t), m);
    /* one function by its name */
    assert_null(
        relax_module_mutate(ctx, m, Z("none"), &(relax_mutations){ .struct_size = sizeof t }));
    assert_string_equal(relax_diagnostic_code(ctx, 0), "OP15");
}

/* ---- nothing changes */

static const relax_expr *same_expr(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)m;
    ++*(size_t *)user;
    return e;
}
static int32_t default_binding(void *user, relax_mutator *m, const relax_binding *b)
{
    (void)m;
    (void)b;
    ++*(size_t *)user;
    return RELAX_VISIT_CHILDREN;
}
static const relax_block *same_block(void *user, relax_mutator *m, const relax_block *b)
{
    (void)m;
    ++*(size_t *)user;
    return b;
}
static const relax_prim_expr *same_prim(void *user, relax_mutator *m, const relax_prim_expr *p)
{
    (void)m;
    ++*(size_t *)user;
    return p;
}
static const relax_struct_info *same_info(void *user, relax_mutator *m,
                                          const relax_struct_info *info)
{
    (void)m;
    ++*(size_t *)user;
    return info;
}

static void test_nothing_changed(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("everything"));
    size_t calls = 0;
    relax_mutations t = { .user = &calls,
                          .expr = same_expr,
                          .call = same_expr,
                          .var = same_expr,
                          .function = same_expr,
                          .binding = default_binding,
                          .match_cast = default_binding,
                          .var_binding_call = default_binding,
                          .block = same_block,
                          .dataflow_block = same_block,
                          .var_def = same_expr,
                          .var_def_dataflow_var = same_expr,
                          .prim_expr = same_prim,
                          .sinfo_dep = same_info,
                          .sinfo_tensor = same_info };
    for (int32_t flags = 0; flags < 4; flags++) {
        t.flags = flags;
        size_t before = calls;
        assert_ptr_equal(mutated(ctx, m, t), m);
        assert_quiet(ctx);
        assert_true(calls > before + (flags & RELAX_MUTATE_DATAFLOW ? 10 : 40));
    }
    assert_ptr_equal(mutated(ctx, m, (relax_mutations){ .user = NULL }), m);
}

/* ---- one for many, many for one */

/* exp(v) becomes three bindings; v = negative(w) none: w stands for it. */
static int32_t spread_and_drop(void *user, relax_mutator *m, const relax_binding *b)
{
    relax_context *ctx = user;
    const relax_expr *value = relax_binding_value(b), *var = relax_binding_var(b);
    relax_builder *builder = relax_mutator_builder(m);
    if (is_call_of(value, "relax.negative")) {
        assert_int_equal(relax_mutator_replace(m, var, relax_expr_operand(value, 1)), RELAX_OK);
        return RELAX_VISIT_DONE;
    }
    if (!is_call_of(value, "relax.exp"))
        return RELAX_VISIT_CHILDREN;
    const relax_expr *v = relax_expr_operand(value, 1);
    v = relax_builder_emit(builder, relax_r_abs(ctx, v), NULL, 0, 0);
    v = relax_builder_emit(builder, relax_r_sqrt(ctx, v), NULL, 0, 0);
    v = relax_expr_kind(var) == RELAX_EXPR_KIND_VAR
            ? relax_builder_emit_output(builder, relax_r_log(ctx, v), NULL, 0, 0)
            : relax_builder_emit(builder, relax_r_log(ctx, v), NULL, 0, 0);
    assert_int_equal(relax_mutator_replace(m, var, v), RELAX_OK);
    return RELAX_VISIT_DONE;
}

static void test_bindings(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("bindings")),
                 *want = body(ctx, PROGRAM("bindings, wanted"));
    relax_mutations t = { .user = ctx, .var_binding_call = spread_and_drop };
    relax_module *out = mutated(ctx, m, t);
    assert_same(ctx, out, want);
    /* what was made for a binding has its place */
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(out, 0));
    const relax_block *block = relax_seq_block(relax_expr_operand(f, 4), 0);
    for (size_t i = 0; i < 6; i++) {
        const relax_expr *v = relax_binding_var(relax_block_binding(block, i));
        uint32_t line = 0;
        relax_place_locate(ctx, relax_expr_place(v), &line, NULL, NULL);
        assert_int_equal(line, i < 3 ? 7 : 9);
    }
}

/* ---- places */

typedef struct places {
    relax_context *ctx;
    uint32_t line;           /* of the binding that came last */
    size_t spans, bindings;
    relax_place lost;        /* what bindings are moved to; 0: they stay */
} places;

static uint32_t line_of(relax_context *ctx, relax_place place)
{
    uint32_t line = 0;
    relax_place_locate(ctx, place, &line, NULL, NULL);
    return line;
}

static relax_place note_span(void *user, relax_mutator *m, relax_place place)
{
    places *p = user;
    assert_int_equal(relax_mutator_place(m), place);
    p->line = line_of(p->ctx, place);
    p->spans++;
    return p->lost;
}

/* Names nothing that it makes: a nested value, and a binding by the builder. */
static const relax_expr *abs_of_exp(void *user, relax_mutator *m, const relax_expr *call)
{
    places *p = user;
    if (!is_call_of(call, "relax.exp"))
        return call;
    assert_int_equal(line_of(p->ctx, relax_mutator_place(m)), p->line);
    const relax_expr *v = relax_builder_emit(relax_mutator_builder(m),
                                             relax_r_sqrt(p->ctx, relax_expr_operand(call, 1)),
                                             NULL, 0, 0);
    return relax_r_negative(p->ctx, relax_r_abs(p->ctx, v));
}

static int32_t has_place(void *user, const relax_binding *b)
{
    places *p = user;
    assert_int_not_equal(relax_binding_place(b), 0);
    if (p->lost)
        assert_int_equal(relax_binding_place(b), p->lost);
    p->bindings++;
    return RELAX_VISIT_CHILDREN;
}

static void test_places(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("places"));
    places stay = { .ctx = ctx }, moved = { .ctx = ctx };
    relax_visitor look = { .struct_size = sizeof look, .binding = has_place };
    moved.lost = relax_place_make(relax_context_add_source(ctx, Z("elsewhere"), NULL, 0), 5, 1);
    places *both[] = { &stay, &moved };
    for (size_t i = 0; i < 2; i++) {
        relax_mutations t = { .user = both[i], .span = note_span, .call = abs_of_exp };
        relax_module *out = mutated(ctx, m, t);
        look.user = both[i];
        assert_quiet(ctx);
        assert_int_equal(relax_node_visit(ctx, relax_module_as_node(out), &look), RELAX_OK);
        assert_true(both[i]->spans >= 5);
        assert_int_equal(both[i]->bindings, both[i]->spans + 4);
    }
    /* places alone are something to change, the same ones nothing */
    relax_mutations only = { .user = &moved, .span = note_span };
    assert_ptr_not_equal(mutated(ctx, m, only), m);
    only.user = &stay;
    assert_ptr_equal(mutated(ctx, m, only), m);
    assert_int_equal(relax_mutator_place(NULL), 0);
    assert_int_equal(relax_binding_place(NULL), 0);
}

/* ---- struct info: what depends on it follows */

static const relax_prim_expr *twice(void *user, relax_mutator *m, const relax_prim_expr *p)
{
    int64_t value;
    (void)m;
    if (relax_prim_int_value(p, &value) != RELAX_OK)
        return p;
    return relax_prim_int_new(user, value * 2);
}

static const relax_struct_info *to_half(void *user, relax_mutator *m,
                                        const relax_struct_info *info)
{
    (void)m;
    if (relax_struct_info_dtype(info) != RELAX_FLOAT32)
        return info;
    const relax_prim_expr *dims[] = { relax_struct_info_dim(info, 0),
                                      relax_struct_info_dim(info, 1) };
    return relax_struct_info_tensor_new(user, dims, 2, RELAX_FLOAT16);
}

static void test_retyping(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("retyping"));
    char *text = printed(ctx, relax_module_as_node(m)), *at;
    relax_module *wide = mutated(ctx, m, (relax_mutations){ .user = ctx, .prim_expr = twice });
    for (at = text; (at = strstr(at, "(4, 4)")) != NULL;)
        memcpy(at, "(8, 8)", 6);
    assert_same(ctx, wide, parsed(ctx, text));
    free(text);
    relax_mutations narrower = { .user = ctx, .sinfo_tensor = to_half };
    relax_module *half = mutated(ctx, m, narrower);
    text = printed(ctx, relax_module_as_node(m));
    char *spread = calloc(1, 2 * strlen(text) + 1), *end = spread;
    for (at = text; *at;) {
        bool hit = strncmp(at, "float32", 7) == 0;
        end += sprintf(end, hit ? "float16" : "%c", *at);
        at += hit ? 7 : 1;
    }
    assert_same(ctx, half, parsed(ctx, spread));
    free(text);
    free(spread);
}

/* ---- definitions */

static const relax_expr *rename_def(void *user, relax_mutator *m, const relax_expr *v)
{
    char name[64];
    (void)m;
    snprintf(name, sizeof name, "new_%s", relax_expr_name(v, NULL));
    return relax_var_new(user, Z(name), relax_expr_struct_info(v), 0);
}

static int32_t all_new(void *user, const relax_expr *v)
{
    ++*(size_t *)user;
    return strncmp(relax_expr_name(v, NULL), "new_", 4) == 0 ? 0 : 1;
}

static void test_definitions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("everything"));
    relax_module *out = mutated(ctx, m, (relax_mutations){ .user = ctx, .var_def = rename_def });
    assert_same(ctx, out, m); /* names do not count, kinds of variables do */
    size_t count = 0;
    relax_visitor v = { .struct_size = sizeof v, .user = &count, .var_def = all_new };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(out), &v), 0);
    assert_int_equal(count, 3 + 4 + 1 + 2 + 3 + 4);
}

/* ---- blocks */

static const relax_block *keep_block(void *user, relax_mutator *m, const relax_block *b)
{
    if (user)
        relax_mutator_keep(m);
    return b;
}

static void test_keeping_blocks(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("keeping blocks")),
                 *want = body(ctx, PROGRAM("keeping blocks, wanted"));
    relax_mutations t = { .user = ctx, .call = fuse_add, .dataflow_block = keep_block };
    assert_same(ctx, mutated(ctx, m, t), want);
}

/* ---- refusals */

static int32_t drop_all(void *user, relax_mutator *m, const relax_binding *b)
{
    (void)user;
    (void)m;
    (void)b;
    return RELAX_VISIT_DONE;
}
static int32_t break_off(void *user, relax_mutator *m, const relax_binding *b)
{
    (void)user;
    (void)m;
    (void)b;
    return 7;
}
static const relax_expr *no_expr(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)user;
    (void)m;
    (void)e;
    return NULL;
}
static const relax_expr *impure(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)m;
    const relax_expr *host = relax_extern_func_new(user, Z("host")),
                     *arg = relax_expr_operand(e, 1);
    return relax_call_new(user, host, &arg, 1, NULL, 0);
}
static const relax_expr *branching(void *user, relax_mutator *m, const relax_expr *e)
{
    relax_builder *b = relax_mutator_builder(m);
    const relax_expr *arg = relax_expr_operand(e, 1), *c = user;
    relax_builder_begin_if(b, c);
    relax_builder_begin_else(b, arg);
    return relax_builder_end_if(b, arg, NULL, 0, 0);
}
static const relax_expr *left_open(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)user;
    relax_builder_begin_function(relax_mutator_builder(m), Z("f"), NULL, 0, NULL);
    return e;
}

static void test_refusals(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("refusals"));
    const relax_expr *c =
        relax_expr_operand(relax_base_func_as_expr(relax_module_function(m, 0)), 3);
    relax_mutations t = { .binding = drop_all, .flags = RELAX_MUTATE_DATAFLOW };
    assert_refused(ctx, m, t, "OP17"); /* gv is not bound any more */
    t = (relax_mutations){ .binding = break_off };
    assert_refused(ctx, m, t, "OP17");
    t = (relax_mutations){ .call = no_expr };
    assert_refused(ctx, m, t, "OP17");
    t = (relax_mutations){ .call = impure, .user = ctx, .flags = RELAX_MUTATE_DATAFLOW };
    assert_refused(ctx, m, t, "PU01");
    t = (relax_mutations){ .call = branching, .user = (void *)(uintptr_t)c,
                           .flags = RELAX_MUTATE_DATAFLOW };
    assert_refused(ctx, m, t, "WF07");
    t = (relax_mutations){ .call = left_open };
    assert_refused(ctx, m, t, "OP09");
    t = (relax_mutations){ .flags = 4 };
    assert_refused(ctx, m, t, "OP03");
    t = (relax_mutations){ .reserved = 1 };
    assert_refused(ctx, m, t, "OP05");
    /* a variable that is used and gone */
    relax_module *plain = body(ctx, "    a = R.exp(x)\n    b = R.exp(a)\n    return b\n");
    t = (relax_mutations){ .binding = drop_all };
    assert_refused(ctx, plain, t, "WF02");
    /* the context is as good as before */
    assert_ptr_equal(mutated(ctx, m, (relax_mutations){ .flags = 1 }), m);
}

/* ---- sizes */

static relax_module *many_functions(relax_context *ctx, size_t count)
{
    size_t room = 160 * count + 256;
    char *text = malloc(room), *end = text;
    end += sprintf(end, HEAD "@I.ir_module\nclass M:\n");
    for (size_t i = 0; i < count; i++)
        end += sprintf(end, PROGRAM("many functions"), i, i == 500 ? "tanh" : "exp");
    relax_module *m = parsed(ctx, text);
    free(text);
    return m;
}

static const relax_expr *tanh_to_sin(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)m;
    return is_call_of(e, "relax.tanh") ? relax_r_sin(user, relax_expr_operand(e, 1)) : e;
}

static void test_sharing(void **state)
{
    enum { FUNCTIONS = 1000 };
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = many_functions(ctx, FUNCTIONS);
    relax_module *out = mutated(ctx, m, (relax_mutations){ .user = ctx, .call = tanh_to_sin });
    assert_quiet(ctx);
    assert_non_null(out);
    assert_int_equal(relax_module_num_functions(out), FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++) {
        bool same = relax_module_function(out, i) == relax_module_function(m, i);
        assert_int_equal(same, i != 500);
        assert_ptr_equal(relax_module_global_var(out, i), relax_module_global_var(m, i));
    }
}

static const relax_expr *sin_for_exp(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)m;
    return is_call_of(e, "relax.exp") ? relax_r_sin(user, relax_expr_operand(e, 1)) : e;
}

/* Many bindings, an if in an if in an if. */
static relax_module *large(relax_context *ctx, size_t bindings, size_t depth)
{
    relax_struct_info *info = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_FLOAT32),
                      *flag = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_BOOL);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *params[] = { x, relax_var_new(ctx, Z("c"), flag, 0) };
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_builder_begin_function(b, Z("main"), params, 2, NULL);
    for (size_t i = 0; i < depth; i++)
        relax_builder_begin_if(b, params[1]);
    relax_builder_begin_dataflow(b);
    for (size_t i = 0; i < bindings; i++)
        x = relax_builder_emit(b, relax_r_exp(ctx, x), NULL, 0, 0);
    x = relax_builder_emit_output(b, relax_r_exp(ctx, x), NULL, 0, 0);
    relax_builder_end_dataflow(b);
    for (size_t i = 0; i < depth; i++) {
        relax_builder_begin_else(b, x);
        x = relax_builder_end_if(b, params[0], NULL, 0, 0);
    }
    relax_builder_end_function(b, x);
    relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

typedef struct tally { const char *op; size_t count; } tally;
static int32_t tally_call(void *user, const relax_expr *e)
{
    tally *t = user;
    t->count += is_call_of(e, t->op);
    return 0;
}
static size_t num_calls_of(relax_context *ctx, const relax_module *m, const char *op)
{
    tally t = { op, 0 };
    relax_visitor v = { .struct_size = sizeof v, .user = &t, .call = tally_call };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), &v), 0);
    return t.count;
}

static void test_deep_and_wide(void **state)
{
    enum { WIDE = 100000, DEEP = 20000 };
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = large(ctx, WIDE, DEEP);
    assert_int_equal(num_calls_of(ctx, m, "relax.exp"), WIDE + 1);
    for (int32_t flags = 0; flags < 4; flags++) {
        relax_mutations t = { .user = ctx, .call = sin_for_exp, .flags = flags };
        relax_module *out = mutated(ctx, m, t);
        assert_quiet(ctx);
        assert_non_null(out);
        assert_int_equal(num_calls_of(ctx, out, "relax.exp"), 0);
        assert_int_equal(num_calls_of(ctx, out, "relax.sin"), WIDE + 1);
    }
    size_t calls = 0;
    assert_ptr_equal(mutated(ctx, m, (relax_mutations){ .user = &calls, .expr = same_expr }), m);
}

/* What comes back may be nested as deep as one likes. */
static const relax_expr *deep_value(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)m;
    if (!is_call_of(e, "relax.tanh"))
        return e;
    const relax_expr *x = relax_expr_operand(e, 1);
    for (int i = 0; i < 100000; i++)
        x = relax_r_exp(user, x);
    return x;
}

static void test_deep_replacement(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, "    a = R.tanh(x)\n    return a\n");
    relax_module *out = mutated(ctx, m, (relax_mutations){ .user = ctx, .call = deep_value });
    assert_quiet(ctx);
    assert_int_equal(num_calls_of(ctx, out, "relax.exp"), 100000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_fusing, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_nothing_changed, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_bindings, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_places, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_retyping, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_definitions, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_keeping_blocks, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_refusals, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_sharing, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_deep_and_wide, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_deep_replacement, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
