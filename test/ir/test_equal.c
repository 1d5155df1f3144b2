/* test_equal.c: structural equality: pairs that must be equal, pairs that must not, and the law of
 * the hash (see `same`). */
#include "ir_fixture.h"

static void functions_up_to_names(void **state)
{
    rlx_context *c = new_context(), *d = new_context();
    const rlx_node *f = &small_function(c, "n", "x", "op")->node;
    assert_true(same(f, f));
    assert_true(same(f, &small_function(c, "k", "input", "op")->node));
    assert_true(same(f, &small_function(d, "m", "z", "op")->node));
    assert_false(same(f, &small_function(c, "n", "x", "other")->node));
    rlx_context_release(c);
    rlx_context_release(d);
}

/* def f(x: T((n,)), y: T((m,))) -> T((dims[i],)): return x or y */
static const rlx_node *two_params(rlx_context *c, bool swap_result, bool same_dim,
                                  const char *first)
{
    const rlx_prim *n = dim(c, first), *m = same_dim ? n : dim(c, "m");
    const rlx_var *x = var(c, "x", tensor1(c, n)), *y = var(c, "y", tensor1(c, m));
    const rlx_expr *params[] = { &x->node, &y->node };
    const rlx_expr *body = rlx_seq_new(c, NULL, 0, swap_result ? &y->node : &x->node, N);
    return &rlx_function_new(c, params, 2, body, tensor1(c, swap_result ? m : n), true, true, NULL,
                             NULL, N)
                ->node;
}

static void variables_map_one_to_one(void **state)
{
    rlx_context *c = new_context();
    const rlx_node *f = two_params(c, false, false, "n");
    assert_true(same(f, two_params(c, false, false, "q")));
    assert_false(same(f, two_params(c, true, false, "n")));
    assert_false(same(f, two_params(c, false, true, "n")));
    assert_false(same(two_params(c, false, true, "n"), f));
    rlx_context_release(c);
}

static void free_variables(void **state)
{
    rlx_context *c = new_context();
    rlx_memory *m = &c->memory;
    const rlx_prim *n = dim(c, "n"), *k = dim(c, "k");
    const rlx_prim *nk = rlx_binary_new(c, RLX_NODE_ADD, n, k),
                   *kn = rlx_binary_new(c, RLX_NODE_ADD, k, n),
                   *nn = rlx_binary_new(c, RLX_NODE_ADD, n, n);
    bool oom;
    assert_true(same(nk, nk));
    assert_false(same(nk, kn));
    assert_true(rlx_equal(m, nk, kn, true, &oom));
    assert_false(rlx_equal(m, nk, nn, true, &oom));
    assert_false(rlx_equal(m, nn, nk, true, &oom));
    assert_false(rlx_equal(m, n, rlx_int64(c, 1), true, &oom));
    const rlx_prim *i32 =
        (const rlx_prim *)rlx_prim_var_new(c, rlx_string_z(c, "n"), RELAX_INT32, N);
    assert_false(rlx_equal(m, n, i32, true, &oom));
    rlx_context_release(c);
}

/* lambda p, q: (T(e0), T(e1)) where e0, e1 are picked: the same node on both sides means
 * different things when variables are mapped crosswise. */
static void identical_pointers_under_a_mapping(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n"), *m = dim(c, "m"), *nm[] = { n, m }, *mn[] = { m, n };
    const rlx_prim *sum = rlx_binary_new(c, RLX_NODE_SUB, n, m);
    const rlx_sinfo *pa[] = { rlx_shape_info(c, nm, 2), tensor1(c, sum) },
                    *pb[] = { rlx_shape_info(c, mn, 2), tensor1(c, sum) };
    const rlx_sinfo *pc[] = { rlx_shape_info(c, mn, 2),
                              tensor1(c, rlx_binary_new(c, RLX_NODE_SUB, m, n)) };
    const rlx_sinfo *a = rlx_func_info(c, nm, 2, pa, 2, c->object, true),
                    *b = rlx_func_info(c, mn, 2, pb, 2, c->object, true);
    const rlx_sinfo *e = rlx_func_info(c, mn, 2, pc, 2, c->object, true);
    assert_false(same(a, b));
    assert_true(same(a, e));
    rlx_context_release(c);
}

/* Two descriptions that share a binder object against two that do not; and one inside the scope
 * of the variable. */
static void binders_are_scoped(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *m = dim(c, "m"), *k = dim(c, "k"), *l = dim(c, "l");
    const rlx_sinfo *tm = tensor1(c, m), *tk = tensor1(c, k), *tl = tensor1(c, l);
    const rlx_sinfo *fm = rlx_func_info(c, &m, 1, &tm, 1, tm, true),
                    *fk = rlx_func_info(c, &k, 1, &tk, 1, tk, true),
                    *fl = rlx_func_info(c, &l, 1, &tl, 1, tl, true);
    const rlx_sinfo *shared[] = { fm, fm, fm }, *apart[] = { fk, fl, fk };
    assert_true(same(rlx_tuple_info(c, shared, 3), rlx_tuple_info(c, apart, 3)));
    const rlx_sinfo *outer_a[] = { fm, tm }, *outer_b[] = { fk, tm }, *outer_c[] = { fk, tk };
    const rlx_sinfo *a = rlx_tuple_info(c, outer_a, 2);
    assert_true(same(a, rlx_tuple_info(c, outer_b, 2)));
    assert_false(same(a, rlx_tuple_info(c, outer_c, 2)));
    rlx_context_release(c);
}

/* lambda x: if c: match_cast d1 ... else match_cast d2 ... : both branches may bind the same
 * variable or two. */
static const rlx_node *two_branches(rlx_context *c, const rlx_prim *first, const rlx_prim *second,
                                    const rlx_prim *result)
{
    const rlx_var *x = var(c, "x", c->object), *cond = var(c, "c", c->object);
    const rlx_expr *branch[2], *params[] = { &x->node, &cond->node };
    const rlx_prim *dims[] = { first, second };
    for (int i = 0; i < 2; i++) {
        const rlx_var *y = var(c, "y", tensor1(c, i && result ? result : dims[i]));
        const rlx_binding *b = rlx_match_cast_new(c, y, tensor1(c, dims[i]), &x->node, N);
        const rlx_node *block = rlx_block_new(c, false, &b, 1, N);
        branch[i] = rlx_seq_new(c, &block, 1, &y->node, N);
    }
    const rlx_expr *body = rlx_if_new(c, &cond->node, branch[0], branch[1], N);
    return &rlx_function_new(c, params, 2, body, NULL, false, true, NULL, NULL, N)->node;
}

static void scopes_of_match_cast(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n"), *m = dim(c, "m"), *q = dim(c, "q");
    const rlx_node *shared = two_branches(c, n, n, NULL), *apart = two_branches(c, m, q, NULL);
    assert_true(same(shared, apart));
    assert_false(same(shared, two_branches(c, m, q, rlx_binary_new(c, RLX_NODE_ADD, q, q))));
    assert_false(same(shared, two_branches(c, m, rlx_int64(c, 4), NULL)));
    rlx_context_release(c);
}

/* @R.function: def loop(i): r = loop(i); return r   bound to a variable of its own name or another
 */
static const rlx_node *local_loop(rlx_context *c, const char *name, bool calls_itself)
{
    const rlx_var *loop = var(c, name, c->object), *i = var(c, "i", c->object),
                  *r = var(c, "r", c->object), *other = var(c, "other", c->object);
    const rlx_expr *arg = &i->node;
    const rlx_binding *b = rlx_var_binding_new(
        c, r, rlx_call_new(c, calls_itself ? &loop->node : &other->node, &arg, 1, NULL, 0, NULL, N),
        N);
    const rlx_node *block = rlx_block_new(c, false, &b, 1, N);
    const rlx_function *f = rlx_function_new(c, &arg, 1, rlx_seq_new(c, &block, 1, &r->node, N),
                                             NULL, false, true, NULL, NULL, N);
    const rlx_binding *bound[] = { rlx_var_binding_new(c, other,
                                                       rlx_extern_func_new(c, RLX_SLICE("g")), N),
                                   rlx_var_binding_new(c, loop, &f->node, N) };
    block = rlx_block_new(c, false, bound, 2, N);
    return rlx_seq_new(c, &block, 1, &loop->node, N);
}

static void local_functions_may_call_themselves(void **state)
{
    rlx_context *c = new_context();
    assert_true(same(local_loop(c, "f", true), local_loop(c, "g", true)));
    assert_false(same(local_loop(c, "f", true), local_loop(c, "f", false)));
    const rlx_node *loop = local_loop(c, "f", true), *fresh = rlx_copy_fresh(c, loop);
    assert_ptr_not_equal(fresh, loop);
    assert_true(same(loop, fresh));
    rlx_context_release(c);
}

static void plain_fields_count(void **state)
{
    rlx_context *c = new_context();
    int64_t two[] = { 2 }, other[] = { 1, 2 };
    float a[] = { 1, 2 }, b[] = { 1, 3 };
    const rlx_node *k = rlx_constant_new(c, RELAX_FLOAT32, two, 1, a, N);
    struct { const rlx_node *other; bool equal; } rows[] = {
        { rlx_constant_new(c, RELAX_FLOAT32, two, 1, a, rlx_place_make(1, 2, 3)), true },
        { rlx_constant_new(c, RELAX_FLOAT32, two, 1, b, N), false },
        { rlx_constant_new(c, RELAX_INT32, two, 1, a, N), false },
        { rlx_constant_new(c, RELAX_FLOAT32, other, 2, a, N), false },
        { rlx_tuple_new(c, NULL, 0, N), false },
        { NULL, false },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        assert_int_equal(same(k, rows[i].other), rows[i].equal);
    const rlx_expr *x = &var(c, "x", NULL)->node;
    assert_false(same(rlx_tuple_get_item_new(c, x, 0, N), rlx_tuple_get_item_new(c, x, 1, N)));
    assert_true(same(rlx_call_new(c, x, NULL, 0, NULL, 0, NULL, N),
                     rlx_call_new(c, x, NULL, 0, NULL, 0, rlx_attrs_new(c, NULL, NULL, 0), N)));
    assert_false(same(&rlx_var_new(c, false, rlx_string_z(c, "v"), 1, NULL, N)->node,
                      &rlx_var_new(c, true, rlx_string_z(c, "v"), 1, NULL, N)->node));
    rlx_context_release(c);
}

static void order_of_functions_is_free(void **state)
{
    rlx_context *c = new_context();
    const rlx_node *f = &small_function(c, "n", "x", "op")->node,
                   *g = &small_function(c, "n", "x", "other")->node;
    const char *fg[] = { "f", "g" }, *gf[] = { "g", "f" }, *fh[] = { "f", "h" };
    const rlx_node *a[] = { f, g }, *b[] = { g, f };
    const rlx_node *m = &module_of(c, fg, a, 2)->node;
    assert_true(same(m, &module_of(c, gf, b, 2)->node));
    assert_false(same(m, &module_of(c, gf, a, 2)->node));
    assert_false(same(m, &module_of(c, fh, a, 2)->node));
    assert_false(same(m, &module_of(c, fg, a, 1)->node));
    rlx_context_release(c);
}

/* for i in range(n): B[i] = A[j] with A, B parameters over (n,) */
static const rlx_node *kernel(rlx_context *c, const char *loop, bool constant_index, bool swap)
{
    const rlx_prim *n = dim(c, "n");
    const rlx_buffer *a = rlx_buffer_new(c, rlx_string_z(c, "A"), RELAX_FLOAT32, &n, 1, NULL, N),
                     *b = rlx_buffer_new(c, rlx_string_z(c, "B"), RELAX_FLOAT32, &n, 1, NULL, N);
    const rlx_prim_var *i = rlx_prim_var_new(c, rlx_string_z(c, loop), RELAX_INT64, N);
    const rlx_prim *at = &i->node, *from = constant_index ? rlx_int64(c, 0) : at;
    const rlx_stmt *store = rlx_store(c, b, rlx_load(c, a, &from, 1), &at, 1, N);
    rlx_prim_func *f = rlx_node_new(c, RLX_NODE_PRIM_FUNC);
    const rlx_node *params[] = { rlx_pointer_var(c, rlx_string_z(c, "a"), RELAX_VOID, NULL, N),
                                 rlx_pointer_var(c, rlx_string_z(c, "b"), RELAX_VOID, NULL, N) };
    const rlx_node *buffers[] = { swap ? &b->node : &a->node, swap ? &a->node : &b->node };
    bool ok;
    f->params = rlx_nodes_copy(c, params, 2, &ok);
    f->buffers = rlx_nodes_copy(c, buffers, 2, &ok);
    f->num_params = f->num_buffers = 2;
    f->ret_dtype = RELAX_VOID;
    f->body = rlx_for(c, i, rlx_int64(c, 0), n, RLX_FOR_SERIAL, store, N);
    return &f->node;
}

static void prim_functions(void **state)
{
    rlx_context *c = new_context(), *d = new_context();
    const rlx_node *k = kernel(c, "i", false, false);
    assert_true(same(k, kernel(c, "j", false, false)));
    assert_true(same(k, kernel(d, "j", false, false)));
    assert_false(same(k, kernel(c, "i", true, false)));
    assert_false(same(k, kernel(c, "i", false, true)));
    assert_true(same(k, rlx_copy_fresh(c, k)));
    assert_ptr_not_equal(rlx_copy_fresh(c, k), k);
    assert_true(same(k, rlx_copy_to(d, k, NULL, 0)));
    rlx_context_release(c);
    rlx_context_release(d);
}

/* ---- deep, wide and shared */

static const rlx_expr *deep_tuple(rlx_context *c, int depth, const rlx_expr *leaf)
{
    for (int i = 0; i < depth; i++)
        leaf = rlx_tuple_new(c, &leaf, 1, N);
    return leaf;
}

static const rlx_prim *long_sum(rlx_context *c, const rlx_prim *leaf, int length)
{
    for (int i = 0; i < length; i++)
        leaf = rlx_binary_new(c, RLX_NODE_ADD, leaf, rlx_int64(c, i));
    return leaf;
}

static const rlx_expr *shared_tuple(rlx_context *c, int depth, const rlx_expr *leaf)
{
    for (int i = 0; i < depth; i++) {
        const rlx_expr *both[] = { leaf, leaf };
        leaf = rlx_tuple_new(c, both, 2, N);
    }
    return leaf;
}

static const rlx_expr *nested_ifs(rlx_context *c, const rlx_var *x, int depth, bool share)
{
    const rlx_expr *e = rlx_seq_new(c, NULL, 0, &x->node, N);
    for (int i = 0; i < depth; i++) {
        const rlx_var *v = var(c, "v", c->object);
        const rlx_expr *other = share ? e : rlx_seq_new(c, NULL, 0, &x->node, N);
        const rlx_binding *b = rlx_var_binding_new(c, v, rlx_if_new(c, &x->node, e, other, N), N);
        const rlx_node *block = rlx_block_new(c, false, &b, 1, N);
        e = rlx_seq_new(c, &block, 1, &v->node, N);
    }
    return e;
}

static void large_shapes(void **state)
{
    rlx_context *c = new_context(), *d = new_context();
    const rlx_var *x = var(c, "x", c->object);
    const rlx_prim *n = dim(c, "n"), *m = dim(c, "m");
    assert_true(same(deep_tuple(c, 10000, &x->node), deep_tuple(c, 10000, &x->node)));
    assert_false(same(deep_tuple(c, 10000, &x->node), deep_tuple(c, 9999, &x->node)));
    const rlx_prim *sum = long_sum(c, n, 100000);
    assert_ptr_equal(sum, long_sum(c, n, 100000));
    const rlx_prim *moved = rlx_substitute(c, sum, &n, &m, 1);
    assert_ptr_equal(moved, long_sum(c, m, 100000));
    assert_false(same(sum, moved));
    assert_true(same(shared_tuple(c, 200, &x->node), shared_tuple(c, 200, &x->node)));
    const rlx_node *ifs = nested_ifs(c, x, 10000, false), *dag = nested_ifs(c, x, 300, true);
    assert_true(same(ifs, rlx_copy_fresh(c, ifs)));
    assert_true(same(dag, nested_ifs(c, x, 300, true)));
    assert_true(same(dag, rlx_copy_fresh(c, dag)));
    const rlx_expr *param = &x->node;
    const rlx_node *f =
        &rlx_function_new(c, &param, 1, dag, NULL, false, true, NULL, NULL, N)->node;
    assert_true(same(f, rlx_copy_to(d, f, NULL, 0)));
    const rlx_sinfo *info = tensor1(c, n);
    for (int i = 0; i < 10000; i++) {
        const rlx_sinfo *both[] = { info, info };
        info = rlx_tuple_info(c, both, i < 18 ? 2 : 1);
    }
    assert_non_null(rlx_copy_to(d, info, NULL, 0));
    assert_int_equal(strlen(rlx_show(c, sum)), 2000);
    assert_int_equal(strlen(rlx_show(c, info)), 2000);
    const rlx_sinfo *most[] = { info, info, info, info };
    assert_int_equal(rlx_error_count(c), 0);
    assert_null(rlx_tuple_info(c, most, 4)); /* WX10 */
    assert_int_equal(rlx_error_count(c), 1);
    assert_false(c->diags.out_of_memory);
    rlx_context_release(c);
    rlx_context_release(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_up_to_names),
        cmocka_unit_test(variables_map_one_to_one),
        cmocka_unit_test(free_variables),
        cmocka_unit_test(identical_pointers_under_a_mapping),
        cmocka_unit_test(binders_are_scoped),
        cmocka_unit_test(scopes_of_match_cast),
        cmocka_unit_test(local_functions_may_call_themselves),
        cmocka_unit_test(plain_fields_count),
        cmocka_unit_test(order_of_functions_is_free),
        cmocka_unit_test(prim_functions),
        cmocka_unit_test(large_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
