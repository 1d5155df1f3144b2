/* test_build.c: construction, interning, layers, modules, attributes. */
#include "ir_fixture.h"

static void interned_nodes_are_one(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n");
    assert_ptr_equal(rlx_int64(c, 5), rlx_int64(c, 5));
    assert_ptr_equal(rlx_int64(c, 5000), rlx_int64(c, 5000));
    assert_ptr_not_equal(rlx_int64(c, 5), rlx_int(c, RELAX_INT32, 5));
    assert_ptr_not_equal(rlx_int64(c, 5000), rlx_int64(c, 5001));
    const rlx_prim *sum = rlx_binary_new(c, RLX_NODE_ADD, n, rlx_int64(c, 1));
    assert_ptr_equal(sum, rlx_binary_new(c, RLX_NODE_ADD, n, rlx_int64(c, 1)));
    assert_ptr_not_equal(sum, rlx_binary_new(c, RLX_NODE_ADD, rlx_int64(c, 1), n));
    assert_ptr_not_equal(sum, rlx_binary_new(c, RLX_NODE_SUB, n, rlx_int64(c, 1)));
    assert_ptr_equal(tensor1(c, sum), tensor1(c, sum));
    assert_ptr_not_equal(tensor1(c, sum), tensor1(c, n));
    assert_ptr_not_equal(dim(c, "n"), n);
    assert_int_equal(rlx_prim_dtype(rlx_binary_new(c, RLX_NODE_LT, n, sum)), RELAX_BOOL);
    assert_true(tensor1(c, n)->flags & RLX_FLAG_HAS_VARS);
    assert_false(tensor1(c, rlx_int64(c, 3))->flags & RLX_FLAG_HAS_VARS);
    assert_ptr_equal(rlx_attr_float_new(c, 0.5), rlx_attr_float_new(c, 0.5));
    assert_ptr_not_equal(rlx_attr_float_new(c, 0.0), rlx_attr_float_new(c, -0.0));
    assert_ptr_not_equal(rlx_attr_int_new(c, 1), rlx_attr_bool_new(c, true));
    rlx_context_release(c);
}

/* The generic look-up finds what the direct constructors made, and the other way round. */
static void both_ways_to_intern_agree(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n"), *dims[] = { n, rlx_int64(c, 4) };
    const rlx_expr *shape = rlx_shape_new(c, dims, 2);
    const rlx_node *made[] = { shape,
                               rlx_shape_new(c, NULL, 0),
                               rlx_tensor_info(c, shape, RELAX_FLOAT16, -1, NULL),
                               rlx_shape_info(c, dims, 2),
                               rlx_shape_info(c, NULL, 0),
                               rlx_binary_new(c, RLX_NODE_FLOOR_MOD, n, dims[1]),
                               rlx_int64(c, 7),
                               rlx_int64(c, 1 << 20),
                               rlx_int(c, RELAX_UINT8, 3),
                               c->void_tensor };
    for (size_t i = 0; i < RLX_COUNT(made); i++)
        assert_ptr_equal(rlx_node_intern(c, made[i]), made[i]);
    rlx_select key = { .node.kind = RLX_NODE_SELECT,
                       .dtype = RELAX_INT64,
                       .cond = rlx_binary_new(c, RLX_NODE_EQ, n, n),
                       .true_value = n,
                       .false_value = dims[1] };
    assert_ptr_equal(rlx_node_intern(c, &key.node), rlx_select_new(c, key.cond, n, dims[1]));
    rlx_context_release(c);
}

static void binders_count_by_name(void **state)
{
    rlx_context *c = new_context();
    const rlx_node *made[4];
    const char *names[] = { "m", "m", "k", "m" };
    for (int i = 0; i < 4; i++) {
        const rlx_prim *m = dim(c, names[i]);
        const rlx_sinfo *in = tensor1(c, m), *out = i == 3 ? c->object : in;
        made[i] = rlx_func_info(c, &m, 1, &in, 1, out, true);
    }
    assert_ptr_equal(made[0], made[1]);
    assert_ptr_not_equal(made[0], made[2]);
    assert_ptr_not_equal(made[0], made[3]);
    assert_true(same(made[0], made[2]));
    assert_false(same(made[0], made[3]));
    rlx_context_release(c);
}

static void null_operands_pass_on(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *none[] = { NULL };
    assert_null(rlx_binary_new(c, RLX_NODE_ADD, NULL, rlx_int64(c, 1)));
    assert_null(rlx_shape_new(c, none, 1));
    assert_null(rlx_call_new(c, rlx_extern_func_new(c, RLX_SLICE("f")), none, 1, NULL, 0, NULL, N));
    assert_null(rlx_var_binding_new(c, NULL, NULL, N));
    assert_null(rlx_tuple_info(c, none, 1));
    assert_int_equal(rlx_error_count(c), 0);
    rlx_context_release(c);
}

static void layers_stay_closed(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *below = rlx_int64(c, 1000), *n = dim(c, "n");
    assert_true(rlx_scratch_begin(c));
    assert_ptr_equal(rlx_int64(c, 1000), below);
    const rlx_prim *up = rlx_binary_new(c, RLX_NODE_ADD, n, rlx_int64(c, 2000));
    const rlx_prim *m = dim(c, "m");
    const rlx_prim *dims[] = { up, m, below };
    const rlx_sinfo *s = rlx_tensor_info(c, rlx_shape_new(c, dims, 3), RELAX_INT8, -1, NULL);
    const rlx_var *x = var(c, "in_scratch", s);
    assert_int_equal(up->layer, 1);
    assert_int_equal(rlx_int64(c, 9)->layer, 0); /* small literals never go up */
    uint32_t id = x->node.id;
    const rlx_var *kept = rlx_as_var(rlx_scratch_end(c, &x->node));
    assert_non_null(kept);
    assert_int_equal(kept->node.layer, 0);
    assert_int_equal(kept->node.id, id);
    assert_string_equal(kept->name->data, "in_scratch");
    assert_string_equal(rlx_show(c, kept->sinfo), "R.Tensor((n + 2000, m, 1000), dtype=\"int8\")");
    assert_ptr_equal(rlx_binary_new(c, RLX_NODE_ADD, n, rlx_int64(c, 2000)),
                     rlx_as_shape_expr(rlx_as_tensor_sinfo(kept->sinfo)->shape)->values[0]);
    assert_true(var(c, "later", NULL)->node.id > id);
    rlx_context_release(c);
}

static const rlx_node *function_with_constant(rlx_context *c)
{
    static const float data[4096] = { 1, 2, 3 };
    int64_t shape[] = { 4096 };
    const rlx_function *f = small_function(c, "n", "x", "g");
    const rlx_expr *k = rlx_constant_new(c, RELAX_FLOAT32, shape, 1, data, N),
                   *both[] = { &f->node, k };
    return rlx_tuple_new(c, both, 2, N);
}

static void scratch_compacts(void **state)
{
    rlx_context *c = new_context();
    assert_true(rlx_scratch_begin(c));
    const rlx_node *root = function_with_constant(c);
    for (int i = 0; i < 40000; i++)
        assert_non_null(rlx_int64(c, 1000 + i));
    size_t before = rlx_context_bytes(c);
    const rlx_node *now = rlx_scratch_compact(c, root);
    assert_non_null(now);
    assert_ptr_not_equal(now, root);
    assert_true(rlx_context_bytes(c) < before / 2);
    assert_ptr_equal(rlx_scratch_compact(c, now), now);
    const rlx_node *kept = rlx_scratch_end(c, now);
    rlx_context *other = new_context();
    assert_true(same(kept, function_with_constant(other)));
    rlx_context_release(other);
    rlx_context_release(c);
}

static void modules_find_by_name(void **state)
{
    rlx_context *c = new_context();
    const char *names[40];
    const rlx_node *functions[40];
    char text[40][16];
    for (int i = 0; i < 40; i++) {
        snprintf(text[i], sizeof text[i], "f%d", i);
        names[i] = text[i];
        functions[i] = rlx_extern_func_new(c, rlx_slice_z(text[i]));
    }
    for (size_t count = 3; count <= 40; count += 37) {
        const rlx_module *m = module_of(c, names, functions, count);
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(rlx_module_find(m, rlx_slice_z(names[i])), i);
            assert_int_equal(rlx_module_index(m, rlx_as_global_var(m->gvars[i])), i);
        }
        assert_int_equal(rlx_module_find(m, RLX_SLICE("nobody")), -1);
        assert_int_equal(rlx_module_index(m, rlx_global_var_new(c, rlx_string_z(c, "f1"), N)), -1);
        assert_ptr_equal(rlx_module_with(c, m, m->functions), m);
    }
    rlx_context_release(c);
}

static void attrs_are_maps(void **state)
{
    rlx_context *c = new_context();
    const rlx_attr *keys[] = { rlx_attr_string_new(c, RLX_SLICE("b")),
                               rlx_attr_string_new(c, RLX_SLICE("a")),
                               rlx_attr_string_new(c, RLX_SLICE("b")),
                               rlx_attr_string_new(c, RLX_SLICE("ab")) };
    const rlx_attr *values[] = { rlx_attr_int_new(c, 1), rlx_attr_int_new(c, 2),
                                 rlx_attr_int_new(c, 3), rlx_attr_int_new(c, 4) };
    const rlx_attr *a = rlx_attrs_new(c, keys, values, 4);
    assert_string_equal(rlx_show(c, a), "{\"a\": 2, \"ab\": 4, \"b\": 3}");
    assert_ptr_equal(rlx_attrs_get(a, "ab"), values[3]);
    assert_null(rlx_attrs_get(a, "z"));
    assert_null(rlx_attrs_get(NULL, "a"));
    assert_string_equal(rlx_show(c, rlx_attrs_with(c, a, "aa", values[0])),
                        "{\"a\": 2, \"aa\": 1, \"ab\": 4, \"b\": 3}");
    assert_string_equal(rlx_show(c, rlx_attrs_with(c, a, "ab", NULL)), "{\"a\": 2, \"b\": 3}");
    assert_ptr_equal(rlx_attrs_with(c, a, "z", NULL), a);
    const rlx_attr *row = rlx_attrs_in_order(c, keys, values, 2);
    assert_string_equal(rlx_show(c, rlx_attrs_with(c, row, "b", values[3])),
                        "{\"b\": 4, \"a\": 2}");
    assert_string_equal(rlx_show(c, rlx_attrs_with(c, NULL, "k", values[0])), "{\"k\": 1}");
    rlx_context_release(c);
}

static void notes_belong_to_their_diagnostic(void **state)
{
    rlx_context *c = new_context();
    assert_null(rlx_error(c, RLX_WF03, N, "%s is not bound", "x"));
    rlx_note(c, N, "bound %d lines below", 3);
    assert_int_equal(rlx_error_count(c), 1);
    assert_int_equal(c->diags.last->num_labels, 1);
    rlx_report(c, RLX_WF03, RLX_SEVERITY_OFF, N, "not this one");
    rlx_note(c, N, "nor its note");
    assert_int_equal(c->diags.last->num_labels, 1);
    assert_int_equal(rlx_context_origin(c, "first"), 1);
    assert_int_equal(rlx_context_origin(c, "second"), 2);
    assert_int_equal(rlx_context_origin(c, "first"), 1);
    rlx_context_release(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(interned_nodes_are_one),
        cmocka_unit_test(both_ways_to_intern_agree),
        cmocka_unit_test(binders_count_by_name),
        cmocka_unit_test(null_operands_pass_on),
        cmocka_unit_test(layers_stay_closed),
        cmocka_unit_test(scratch_compacts),
        cmocka_unit_test(modules_find_by_name),
        cmocka_unit_test(attrs_are_maps),
        cmocka_unit_test(notes_belong_to_their_diagnostic),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
