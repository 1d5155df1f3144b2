/* test_api_visit: visitors by the public interface: which entry each node goes to, in which
 * order, what stops the walk; programs deep and wide. */
#include "api_fixture.h"
#include "text_file.h"


static relax_module *parsed(relax_context *ctx, const char *text)
{
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

/* ---- which entry */

typedef struct seen { char text[4096]; size_t len; int32_t answer; } seen;

static void note(seen *s, const char *what, const char *name)
{
    int n = snprintf(s->text + s->len, sizeof s->text - s->len, "%s%s%s ", what, name ? ":" : "",
                     name ? name : "");
    s->len += (size_t)n;
    assert_true(s->len < sizeof s->text);
}

static const char *name_of(const relax_expr *e)
{
    return e ? relax_expr_name(e, NULL) : NULL;
}

#define NOTE_EXPR(entry)                                         \
    static int32_t note_##entry(void *user, const relax_expr *e) \
    {                                                            \
        note(user, #entry, name_of(e));                          \
        return RELAX_VISIT_CHILDREN;                             \
    }
NOTE_EXPR(constant)
NOTE_EXPR(tuple)
NOTE_EXPR(var)
NOTE_EXPR(dataflow_var)
NOTE_EXPR(seq)
NOTE_EXPR(prim_value)
NOTE_EXPR(function)
NOTE_EXPR(if_expr)
NOTE_EXPR(extern_func)
NOTE_EXPR(call)
NOTE_EXPR(shape)
NOTE_EXPR(tuple_get_item)
NOTE_EXPR(op)
NOTE_EXPR(var_def_var)
NOTE_EXPR(var_def_dataflow_var)

static void assert_text(const seen *s, const char *want)
{
    if (strcmp(s->text, want) != 0)
        print_error("wanted %s\ngot    %s\n", want, s->text);
    assert_string_equal(s->text, want);
}

/* Evaluation order: values before definitions, callee before arguments, condition before
 * branches. */
static void test_order_of_entries(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("every kind"));
    seen s = { .len = 0 };
    relax_visitor v = { .struct_size = sizeof v,
                        .user = &s,
                        .constant = note_constant,
                        .tuple = note_tuple,
                        .var = note_var,
                        .dataflow_var = note_dataflow_var,
                        .seq = note_seq,
                        .prim_value = note_prim_value,
                        .function = note_function,
                        .if_expr = note_if_expr,
                        .extern_func = note_extern_func,
                        .call = note_call,
                        .shape = note_shape,
                        .tuple_get_item = note_tuple_get_item,
                        .op = note_op,
                        .var_def_var = note_var_def_var,
                        .var_def_dataflow_var = note_var_def_dataflow_var };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), &v), RELAX_OK);
    assert_text(&s, "function var_def_var:x var_def_var:c var_def_var:s seq "
                    "call op:relax.add var:x constant var_def_dataflow_var:a "
                    "dataflow_var:a var_def_dataflow_var:b "
                    "tuple dataflow_var:a dataflow_var:b var_def_dataflow_var:t "
                    "tuple_get_item dataflow_var:t var_def_var:d "
                    "if_expr var:c "
                    "seq call op:relax.exp var:d var_def_var:e var:e "
                    "seq call op:relax.negative var:d var_def_var:f var:f var_def_var:r "
                    "call op:relax.call_pure_packed extern_func:host var:r var:s "
                    "var_def_var:w var:s "
                    "shape var_def_var:z "
                    "call op:relax.reshape var:r shape var_def_var:v "
                    "prim_value var_def_var:k "
                    "var:v ");
}

static int32_t count(void *user, const relax_expr *e)
{
    assert_non_null(e);
    ++*(size_t *)user;
    return RELAX_VISIT_DONE;
}

static size_t visited(relax_context *ctx, const relax_module *m, relax_visitor v)
{
    size_t n = 0;
    v.struct_size = sizeof v;
    v.user = &n;
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), &v), RELAX_OK);
    return n;
}

/* x, c, s; a, b, t; d; e, f, r; w, z, v, k */
static void test_counting_definitions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("every kind"));
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_def = count }), 14);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_def_var = count }), 14);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_def_dataflow_var = count }), 3);
    /* each goes to one of the two */
    relax_visitor both = { .var_def_var = count, .var_def_dataflow_var = count };
    assert_int_equal(visited(ctx, m, both), 14);
    /* uses fall back in the same way: of a, a, b, t; x, c, d, d, e, f, r, s, s, r, v */
    size_t uses = visited(ctx, m, (relax_visitor){ .var = count });
    size_t dataflow = visited(ctx, m, (relax_visitor){ .dataflow_var = count });
    assert_int_equal(dataflow, 4);
    assert_int_equal(uses, 4 + 11);
}

static int32_t count_binding(void *user, const relax_binding *b)
{
    assert_non_null(b);
    ++*(size_t *)user;
    return RELAX_VISIT_CHILDREN;
}
static int32_t count_block(void *user, const relax_block *b)
{
    assert_non_null(b);
    ++*(size_t *)user;
    return RELAX_VISIT_CHILDREN;
}

static void test_bindings_and_blocks(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("every kind"));
    assert_int_equal(visited(ctx, m, (relax_visitor){ .binding = count_binding }), 11);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .match_cast = count_binding }), 1);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_binding = count_binding }), 10);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_binding_call = count_binding }), 5);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_binding_if_expr = count_binding }), 1);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_binding_tuple = count_binding }), 1);
    /* one dataflow block, what follows it, two branches */
    assert_int_equal(visited(ctx, m, (relax_visitor){ .block = count_block }), 4);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .binding_block = count_block }), 4);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .dataflow_block = count_block }), 1);
}

/* ---- struct info, integers, places */

static int32_t count_info(void *user, const relax_struct_info *info)
{
    assert_non_null(info);
    ++*(size_t *)user;
    return RELAX_VISIT_CHILDREN;
}
static int32_t count_prim(void *user, const relax_prim_expr *p)
{
    assert_non_null(p);
    ++*(size_t *)user;
    return RELAX_VISIT_CHILDREN;
}
static int32_t count_place(void *user, relax_place place)
{
    assert_true(place != 0);
    ++*(size_t *)user;
    return RELAX_VISIT_DONE;
}

static void test_struct_info(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = PROGRAM("struct info");
    relax_module *m = parsed(ctx, text);
    /* x, y, the result */
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_dep = count_info }), 3);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_tuple = count_info }), 1);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_tensor = count_info }), 3);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_shape = count_info }), 1);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_prim = count_info }), 1);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_object = count_info }), 1);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .sinfo_func = count_info }), 0);
    /* three tensors of two dimensions, one shape of one */
    assert_int_equal(visited(ctx, m, (relax_visitor){ .prim_expr = count_prim }), 7);
    assert_true(visited(ctx, m, (relax_visitor){ .span = count_place }) >= 4);
}

/* ---- answers */

static int32_t stop_at_if(void *user, const relax_expr *e)
{
    (void)e;
    return *(int32_t *)user;
}

static void test_stopping(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("every kind"));
    int32_t answers[] = { 1, -1, 42, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < N(answers); i++) {
        relax_visitor v = { .struct_size = sizeof v, .user = &answers[i], .if_expr = stop_at_if };
        assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), &v), answers[i]);
    }
    assert_quiet(ctx);
    /* `expr` comes before the entry of the kind, and instead of it */
    size_t n = 0;
    relax_visitor general = { sizeof general, &n, .expr = count, .call = stop_at_if };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), &general), RELAX_OK);
    assert_int_equal(n, 1); /* the function: what is below was not asked for */
}

static int32_t note_enter(void *user, const relax_expr *e)
{
    note(user, "(", name_of(e));
    return RELAX_VISIT_CHILDREN;
}
static int32_t note_leave(void *user, const relax_node *n)
{
    const relax_expr *e = relax_node_as_expr(n);
    if (e)
        note(user, ")", name_of(e));
    return RELAX_VISIT_DONE;
}

static void test_leaving(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_struct_info *info = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *inner = relax_call_op_new(ctx, Z("exp"), &x, 1, NULL, 0),
                     *outer = relax_call_op_new(ctx, Z("negative"), &inner, 1, NULL, 0);
    seen s = { .len = 0 };
    relax_visitor v = {
        .struct_size = sizeof v, .user = &s, .expr = note_enter, .leave = note_leave
    };
    assert_int_equal(relax_node_visit(ctx, relax_expr_as_node(outer), &v), RELAX_OK);
    assert_text(&s, "( (:relax.negative ):relax.negative ( (:relax.exp ):relax.exp (:x ):x ) ) ");
}

/* ---- each node once */

static int32_t note_name(void *user, const relax_expr *e)
{
    note(user, name_of(e) ? name_of(e) : "_", NULL);
    return 0;
}

static void test_post_order(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_struct_info *info = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *e = relax_call_op_new(ctx, Z("exp"), &x, 1, NULL, 0);
    seen s = { .len = 0 };
    /* 2^60 ways to x */
    for (int i = 0; i < 60; i++) {
        const relax_expr *twice[] = { e, e };
        e = relax_call_op_new(ctx, Z("add"), twice, 2, NULL, 0);
    }
    assert_int_equal(relax_node_visit_post_order(ctx, relax_expr_as_node(e), note_name, &s),
                     RELAX_OK);
    assert_true(strncmp(s.text, "relax.add relax.exp x _ _ ", 26) == 0);
    assert_int_equal(s.len, strlen("relax.add relax.exp x _ ") + 2 * 60);
    int32_t answer = 9;
    assert_int_equal(relax_node_visit_post_order(ctx, relax_expr_as_node(e), stop_at_if, &answer),
                     9);
    /* an operator is called before what follows it */
    relax_module *m = parsed(ctx, PROGRAM("post order"));
    s.len = 0;
    const relax_node *root = relax_module_as_node(m);
    assert_int_equal(relax_node_visit_post_order(ctx, root, note_name, &s), RELAX_OK);
    assert_text(&s, "x relax.add _ y _ _ ");
}

/* ---- sizes */

static const relax_expr *nested(relax_context *ctx, const relax_expr *x, size_t depth)
{
    for (size_t i = 0; i < depth; i++)
        x = relax_call_op_new(ctx, Z("exp"), &x, 1, NULL, 0);
    return x;
}

static void test_deep_and_wide(void **state)
{
    enum { MANY = 100000 };
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_struct_info *info = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0), *deep = nested(ctx, x, MANY);
    size_t calls = 0, all = 0;
    relax_visitor v = { sizeof v, &calls, .call = count };
    assert_int_equal(relax_node_visit(ctx, relax_expr_as_node(deep), &v), RELAX_OK);
    assert_int_equal(calls, 1);
    relax_visitor down = { .struct_size = sizeof down, .user = &all, .var = count };
    assert_int_equal(relax_node_visit(ctx, relax_expr_as_node(deep), &down), RELAX_OK);
    assert_int_equal(all, 1);

    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_builder_begin_function(b, Z("main"), &x, 1, NULL);
    relax_builder_begin_dataflow(b);
    const relax_expr *y = x;
    for (size_t i = 0; i < MANY; i++)
        y = relax_builder_emit(b, relax_call_op_new(ctx, Z("exp"), &y, 1, NULL, 0), NULL, 0, 0);
    y = relax_builder_emit_output(b, y, NULL, 0, 0);
    relax_builder_end_dataflow(b);
    relax_builder_end_function(b, y);
    relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_non_null(m);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .var_def_dataflow_var = count }), MANY);
    assert_int_equal(visited(ctx, m, (relax_visitor){ .op = count }), MANY);
}

/* ---- misuse */

static void test_misuse(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("every kind"));
    relax_visitor v = { .struct_size = 3 };
    const relax_node *root = relax_module_as_node(m);
    assert_int_equal(relax_node_visit(ctx, root, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_node_visit(ctx, NULL, &v), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_node_visit(ctx, root, &v), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_node_visit_post_order(ctx, root, NULL, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_context_num_diagnostics(ctx), 3); /* the missing node follows from the first */
    assert_int_equal(relax_context_num_errors(ctx), 4);
    /* a table of an older host: nothing but its size */
    size_t old[2] = { sizeof old, 0 };
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), (relax_visitor *)(void *)old),
                     RELAX_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_order_of_entries, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_counting_definitions, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_bindings_and_blocks, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_struct_info, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_stopping, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_leaving, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_post_order, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_deep_and_wide, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_misuse, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
