/* test_api_difference: where two nodes differ first, and hashes up to free variables. */
#include "api_fixture.h"
#include "text_file.h"

#define CLASS "@I.ir_module\nclass Module:\n"

static const relax_module *read_module(relax_context *ctx, const char *text)
{
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

static const struct {
    const char *a, *b, *path;
    uint32_t line_a, line_b;   /* 0: no place */
} rows[] = {
    { "= base", "= base", NULL, 0, 0 },
    /* names do not count */
    { "= base", "= other names",
      NULL, 0, 0 },
    { "= base", "= another index",
      "functions[\"main\"].body.blocks[0].bindings[2].value.index: 0 and 1", 7, 7 },
    { "= base", "= another operand",
      "functions[\"main\"].body.blocks[0].bindings[0].value.args[0]: another Var", 4, 4 },
    { "= base", "= a longer tuple",
      "functions[\"main\"].body.blocks[0].bindings[1].value.fields: 2 and 3 items", 6, 6 },
    { "= base", "= fewer bindings",
      "functions[\"main\"].body.blocks[0].bindings: 3 and 2 items", 0, 0 },
    { "= base",
      CLASS "    @R.function\n    def other() -> R.Object:\n        return R.tuple()\n",
      "functions[\"main\"]: only in the first module", 4, 0 },
    { CLASS "    pass\n", "= base", "functions[\"main\"]: only in the second module", 0, 4 },
    { CLASS "    I.module_attrs({\"k\": 1})\n", CLASS "    I.module_attrs({\"k\": 2})\n",
      "attrs.values[0].value: 1 and 2", 0, 0 },
};

static uint32_t line_of(relax_context *ctx, relax_place p)
{
    uint32_t line = 0;
    if (p)
        relax_place_locate(ctx, p, &line, NULL, NULL);
    return line;
}

static void the_first_difference_is_named(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (size_t i = 0; i < N(rows); i++) {
        const relax_node *a = relax_module_as_node(read_module(ctx, PROGRAM_CELL(rows[i].a))),
                         *b = relax_module_as_node(read_module(ctx, PROGRAM_CELL(rows[i].b)));
        const relax_node *at_a, *at_b;
        relax_place place_a, place_b;
        relax_bytes *path;
        int32_t found = relax_node_first_difference(ctx, a, b, 0, &at_a, &at_b, &place_a,
                                                    &place_b, &path);
        assert_int_equal(found, rows[i].path != NULL);
        assert_int_equal(relax_node_equal(ctx, a, b, 0), !found);
        if (!found) {
            assert_null(path);
            assert_true(relax_node_hash(ctx, a) == relax_node_hash(ctx, b));
            continue;
        }
        if (strcmp(relax_bytes_data(path), rows[i].path) != 0)
            fail_msg("row %zu: %s", i, relax_bytes_data(path));
        if (rows[i].line_a && line_of(ctx, place_a) != rows[i].line_a)
            fail_msg("row %zu: line %u", i, line_of(ctx, place_a));
        if (rows[i].line_b && line_of(ctx, place_b) != rows[i].line_b)
            fail_msg("row %zu: line %u on the other side", i, line_of(ctx, place_b));
        relax_bytes_release(path);
        /* asked from the other side it is in the same place */
        relax_node_first_difference(ctx, b, a, 0, NULL, NULL, NULL, NULL, &path);
        assert_non_null(path);
        relax_bytes_release(path);
    }
}

static void free_variables_may_be_mapped(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_struct_info *info = relax_struct_info_tensor_of_rank(ctx, 1, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *y = relax_var_new(ctx, Z("y"), info, 0);
    const relax_expr *xy[] = { x, y }, *yx[] = { y, x }, *xx[] = { x, x };
    const relax_node *a = relax_expr_as_node(relax_call_op_new(ctx, Z("add"), xy, 2, NULL, 0)),
                     *b = relax_expr_as_node(relax_call_op_new(ctx, Z("add"), yx, 2, NULL, 0)),
                     *c = relax_expr_as_node(relax_call_op_new(ctx, Z("add"), xx, 2, NULL, 0));
    const relax_node *at_a = NULL, *at_b = NULL;
    relax_bytes *path = NULL;
    assert_true(relax_node_hash_mapped(ctx, a) == relax_node_hash_mapped(ctx, b));
    assert_true(relax_node_hash_mapped(ctx, a) != 0);
    assert_int_equal(
        relax_node_first_difference(ctx, a, b, 1, NULL, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(
        relax_node_first_difference(ctx, a, b, 0, &at_a, &at_b, NULL, NULL, &path), 1);
    assert_true(at_a == relax_expr_as_node(x) && at_b == relax_expr_as_node(y));
    assert_string_equal(relax_bytes_data(path), "args[0]: another Var");
    relax_bytes_release(path);
    /* two variables are not one */
    assert_int_equal(
        relax_node_first_difference(ctx, a, c, 1, &at_a, &at_b, NULL, NULL, &path), 1);
    assert_string_equal(relax_bytes_data(path), "args[1]: another Var");
    relax_bytes_release(path);
    assert_int_equal(relax_node_first_difference(ctx, a, relax_expr_as_node(x), 0, NULL, NULL,
                                                 NULL, NULL, &path),
                     1);
    assert_string_equal(relax_bytes_data(path), "Call and Var");
    relax_bytes_release(path);
    assert_int_equal(relax_node_first_difference(ctx, a, NULL, 0, NULL, NULL, NULL, NULL, NULL),
                     0);
    assert_said(ctx, "OP01");
    assert_true(relax_node_hash_mapped(ctx, NULL) == 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(the_first_difference_is_named),
        TEST(free_variables_may_be_mapped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
