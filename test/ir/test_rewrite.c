/* test_rewrite.c: walking, rewriting, substitution, copies. */
#include "ir_fixture.h"

/* ---- walk */

struct trace { rlx_buf b; bool leaves; enum rlx_node_kind skip, stop; };

static enum rlx_step on_enter(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    struct trace *t = user;
    bool def = via && (via->type == RLX_FIELD_DEF || via->type == RLX_FIELD_DEFS);
    rlx_buf_format(&t->b, "%s%s ", def ? "*" : "", rlx_kinds[n->kind].name);
    return n->kind == t->stop ? RLX_STEP_STOP : n->kind == t->skip ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static enum rlx_step on_leave(void *user, const rlx_node *n)
{
    struct trace *t = user;
    rlx_buf_lit(&t->b, ") ");
    return RLX_STEP_ON;
}

static void check_walk(rlx_context *c, const rlx_node *n, rlx_walker w, struct trace t,
                       const char *want)
{
    rlx_buf_init(&t.b, &c->memory);
    w.enter = on_enter;
    w.leave = t.leaves ? on_leave : NULL;
    w.user = &t;
    bool oom = true;
    enum rlx_step end = rlx_walk(&c->memory, n, &w, &oom);
    assert_false(oom);
    assert_int_equal(end, t.stop ? RLX_STEP_STOP : RLX_STEP_ON);
    assert_string_equal(t.b.data, want);
    rlx_buf_free(&t.b);
}

static void walk_goes_in_evaluation_order(void **state)
{
    rlx_context *c = new_context();
    const rlx_node *f = &small_function(c, "n", "x", "op")->node;
    check_walk(c, f, (rlx_walker){ 0 }, (struct trace){ 0 },
               "Function *Var SeqExpr BindingBlock VarBinding Call ExternFunc Var Var *Var Var "
               "TensorStructInfo ShapeExpr tir.Var ");
    check_walk(c, f, (rlx_walker){ .annotations = true, .unique = true }, (struct trace){ 0 },
               "Function *Var TensorStructInfo ShapeExpr tir.Var SeqExpr BindingBlock VarBinding "
               "Call ExternFunc *Var ");
    check_walk(c, f, (rlx_walker){ 0 },
               (struct trace){ .skip = RLX_NODE_SEQ_EXPR, .leaves = true },
               "Function *Var ) SeqExpr TensorStructInfo ShapeExpr tir.Var ) ) ) ) ");
    check_walk(c, f, (rlx_walker){ 0 }, (struct trace){ .stop = RLX_NODE_CALL },
               "Function *Var SeqExpr BindingBlock VarBinding Call ");
    rlx_context_release(c);
}

/* ---- rewriting */

static const rlx_node *rename_callee(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_extern_func *f = rlx_as_extern_func(n);
    return f && strcmp(f->symbol->data, r->user) == 0
               ? rlx_extern_func_new(r->ctx, RLX_SLICE("other"))
               : n;
}

static void rewriting_keeps_what_does_not_change(void **state)
{
    rlx_context *c = new_context();
    const rlx_node *f = &small_function(c, "n", "x", "op")->node;
    rlx_rewriter r;
    rlx_rewriter_init(&r, c);
    r.after = rename_callee;
    r.user = "nobody";
    assert_ptr_equal(rlx_rewrite(&r, f), f);
    rlx_rewriter_free(&r);
    rlx_rewriter_init(&r, c);
    r.after = rename_callee;
    r.user = "op";
    const rlx_function *g = rlx_as_function(rlx_rewrite(&r, f));
    assert_non_null(g);
    assert_ptr_equal(g->params[0], rlx_as_function(f)->params[0]);
    assert_ptr_equal(g->sinfo, rlx_as_function(f)->sinfo);
    assert_true(same(&g->node, &small_function(c, "n", "x", "other")->node));
    rlx_rewriter_free(&r);
    rlx_context_release(c);
}

static void retyped_variables_are_new_and_followed(void **state)
{
    rlx_context *c = new_context();
    const rlx_function *f = small_function(c, "n", "x", "op");
    const rlx_prim *n = rlx_as_shape_expr(rlx_as_tensor_sinfo(f->ret_sinfo)->shape)->values[0],
                   *four = rlx_int64(c, 4);
    rlx_rewriter r;
    rlx_rewriter_init(&r, c);
    assert_true(rlx_ptrmap_put(&r.map, n, (uintptr_t)four));
    const rlx_function *g = rlx_as_function(rlx_rewrite(&r, &f->node));
    assert_non_null(g);
    assert_ptr_not_equal(g->params[0], f->params[0]);
    assert_ptr_equal(rlx_ptrmap_get(&r.map, f->params[0]), g->params[0]);
    const rlx_sinfo *t = tensor1(c, four);
    assert_ptr_equal(rlx_as_var(g->params[0])->sinfo, t);
    assert_ptr_equal(g->ret_sinfo, t);
    const rlx_binding *b = rlx_as_block(rlx_as_seq_expr(g->body)->blocks[0])->bindings[0];
    assert_ptr_equal(rlx_as_call(rlx_as_var_binding(b)->value)->args[0], g->params[0]);
    assert_ptr_equal(rlx_as_seq_expr(g->body)->body, rlx_as_var_binding(b)->var);
    assert_int_equal(rlx_as_func_sinfo(g->sinfo)->num_binders, 0); /* notes are rewritten too */
    assert_ptr_equal(rlx_as_func_sinfo(g->sinfo)->ret, t);
    rlx_rewriter_free(&r);
    rlx_context_release(c);
}

static const rlx_node *fail_at_call(rlx_rewriter *r, const rlx_node *n)
{
    r->failed |= n->kind == RLX_NODE_CALL;
    return NULL;
}

static void a_failed_callback_ends_it(void **state)
{
    rlx_context *c = new_context();
    rlx_rewriter r;
    rlx_rewriter_init(&r, c);
    r.before = fail_at_call;
    assert_null(rlx_rewrite(&r, &small_function(c, "n", "x", "op")->node));
    assert_true(r.failed);
    rlx_rewriter_free(&r);
    rlx_context_release(c);
}

static void children_by_number(void **state)
{
    rlx_context *c = new_context();
    const rlx_expr *x = &var(c, "x", NULL)->node, *y = &var(c, "y", NULL)->node,
                   *args[] = { x, y };
    const rlx_sinfo *info = c->object;
    const rlx_expr *call = rlx_call_new(c, x, args, 2, &info, 1, NULL, rlx_place_make(1, 2, 3));
    const rlx_node *want[] = { x, x, y, info, NULL }, *other[] = { y, x, y, info, NULL };
    assert_int_equal(rlx_child_count(call), RLX_COUNT(want));
    for (size_t i = 0; i < RLX_COUNT(want); i++)
        assert_ptr_equal(rlx_child(call, i), want[i]);
    assert_null(rlx_child(call, RLX_COUNT(want)));
    assert_ptr_equal(rlx_with_children(c, call, want), call);
    const rlx_call *changed = rlx_as_call(rlx_with_children(c, call, other));
    assert_ptr_equal(changed->op, y);
    assert_ptr_equal(changed->args[1], y);
    assert_true(changed->place == rlx_place_make(1, 2, 3));
    rlx_context_release(c);
}

/* ---- substitution */

static void substitution_is_simultaneous(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n"), *m = dim(c, "m"), *nm[] = { n, m }, *mn[] = { m, n };
    const rlx_prim *dims[] = { rlx_binary_new(c, RLX_NODE_SUB, n, m), n, rlx_int64(c, 3) };
    const rlx_sinfo *t = rlx_tensor_info(c, rlx_shape_new(c, dims, 3), RELAX_FLOAT32, -1, NULL);
    const rlx_sinfo *swapped = rlx_substitute(c, t, nm, mn, 2);
    assert_string_equal(rlx_show(c, swapped), "R.Tensor((m - n, m, 3), dtype=\"float32\")");
    assert_ptr_equal(rlx_substitute(c, swapped, mn, nm, 2), t);
    const rlx_prim *k = dim(c, "k");
    assert_ptr_equal(rlx_substitute(c, t, &k, &n, 1), t);
    assert_null(rlx_substitute(c, t, &n, &(const rlx_prim *){ NULL }, 1));
    rlx_context_release(c);
}

static void substitution_does_not_capture(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n"), *m = dim(c, "m"), *k = dim(c, "k"), *dims[] = { m, n };
    const rlx_sinfo *in = rlx_shape_info(c, dims, 2);
    const rlx_sinfo *f = rlx_func_info(c, &m, 1, &in, 1, c->object, true);   /* lambda m: (m, n) */
    const rlx_func_sinfo *g = rlx_as_func_sinfo(rlx_substitute(c, f, &n, &m, 1));
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(g->params[0]);
    assert_ptr_equal(s->values[1], m);
    assert_ptr_not_equal(s->values[0], m);
    assert_ptr_equal(s->values[0], g->binders[0]);
    g = rlx_as_func_sinfo(rlx_substitute(c, f, &n, &k, 1));
    assert_ptr_equal(rlx_as_shape_sinfo(g->params[0])->values[1], k);
    rlx_context_release(c);
}

static void variables_are_collected(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *n = dim(c, "n"), *m = dim(c, "m"), *k = dim(c, "k");
    const rlx_prim *dims[] = { rlx_binary_new(c, RLX_NODE_ADD, n, m), k, n };
    const rlx_sinfo *in = tensor1(c, m), *fields[] = { rlx_shape_info(c, dims, 3),
                                                       rlx_func_info(c, NULL, 0, &in, 1, in, true),
                                                       rlx_prim_info(c, RELAX_INT64, k) };
    const rlx_sinfo *t = rlx_tuple_info(c, fields, 3);
    rlx_prim_vars all = { 0 }, alone = { 0 };
    assert_true(rlx_collect_prim_vars(&c->memory, t, false, &all));
    assert_true(rlx_collect_prim_vars(&c->memory, t, true, &alone));
    assert_int_equal(all.len, 3);
    assert_ptr_equal(all.data[0], n);
    assert_ptr_equal(all.data[1], m);
    assert_ptr_equal(all.data[2], k);
    assert_int_equal(alone.len, 2);
    assert_ptr_equal(alone.data[0], k);
    assert_ptr_equal(alone.data[1], n);
    rlx_vec_free(&c->memory, &all);
    rlx_vec_free(&c->memory, &alone);
    rlx_context_release(c);
}

struct told { const rlx_prim *at[64]; size_t count, sizes; };

static void note_position(void *user, const rlx_prim *p, bool is_size)
{
    struct told *t = user;
    assert_true(t->count < 64);
    t->at[t->count++] = p;
    t->sizes += is_size;
}

static void positions_are_told_once_in_order(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim_var *narrow = rlx_prim_var_new(c, rlx_string_z(c, "k"), RELAX_INT32, N);
    const rlx_prim *n = dim(c, "n"), *k = rlx_cast(c, RELAX_INT64, &narrow->node),
                   *sum = rlx_binary_new(c, RLX_NODE_ADD, n, k), *dims[] = { sum, k, n };
    const rlx_sinfo *in = tensor1(c, n);
    const rlx_sinfo *fields[] = { rlx_shape_info(c, dims, 3), rlx_prim_info(c, RELAX_INT64, n),
                                  rlx_func_info(c, NULL, 0, &in, 1, in, true) };
    const rlx_sinfo *t = rlx_tuple_info(c, fields, 3);
    struct told told = { 0 };
    for (int i = 0; i < 16; i++)
        t = rlx_tuple_info(c, (const rlx_sinfo *[]){ t, t }, 2);
    assert_true(rlx_each_position(&c->memory, t, note_position, &told));
    assert_int_equal(told.count, 4);
    assert_int_equal(told.sizes, 3);
    assert_ptr_equal(told.at[0], sum);
    assert_ptr_equal(told.at[1], k);
    assert_ptr_equal(told.at[2], n);
    assert_ptr_equal(told.at[3], n);
    assert_null(rlx_position_var(sum));
    assert_ptr_equal(rlx_position_var(k), narrow);
    assert_null(rlx_position_var(rlx_cast(c, RELAX_INT32, n)));
    assert_true(rlx_each_position(&c->memory, NULL, note_position, &told));
    assert_int_equal(told.count, 4);
    rlx_context_release(c);
}

static void many_variables_are_collected_once(void **state)
{
    rlx_context *c = new_context();
    const rlx_prim *dims[60];
    rlx_prim_vars alone = { 0 };
    for (size_t i = 0; i < 60; i++)
        dims[i] = i < 30 ? dim(c, "n") : dims[i - 30];
    assert_true(rlx_collect_prim_vars(&c->memory, rlx_shape_info(c, dims, 60), true, &alone));
    assert_int_equal(alone.len, 30);
    for (size_t i = 0; i < 30; i++)
        assert_ptr_equal(alone.data[i], dims[i]);
    rlx_vec_free(&c->memory, &alone);
    rlx_context_release(c);
}

static void rank_0_is_known(void **state)
{
    rlx_context *c = new_context();
    const rlx_var *s = var(c, "s", rlx_shape_info(c, NULL, 0)),
                  *u = var(c, "u", rlx_shape_info_rank(c, 1));
    size_t count = 7;
    assert_non_null(rlx_shape_dims(rlx_shape_new(c, NULL, 0), &count));
    assert_int_equal(count, 0);
    count = 7;
    assert_non_null(rlx_shape_dims(&s->node, &count));
    assert_int_equal(count, 0);
    assert_null(rlx_shape_dims(NULL, &count));
    assert_null(rlx_shape_dims(&u->node, &count));
    rlx_context_release(c);
}

/* ---- copies */

static void fresh_copies_share_no_variables(void **state)
{
    rlx_context *c = new_context();
    const rlx_function *f = small_function(c, "n", "x", "op"),
                       *g = rlx_as_function(rlx_copy_fresh(c, &f->node));
    assert_true(same(&f->node, &g->node));
    assert_ptr_not_equal(f->params[0], g->params[0]);
    assert_ptr_not_equal(f->ret_sinfo, g->ret_sinfo); /* another n */
    const rlx_var *free_var = var(c, "free", tensor1(c, dim(c, "q")));
    const rlx_var *y = var(c, "y", free_var->sinfo);
    const rlx_binding *b = rlx_var_binding_new(c, y, call2(c, "g", &free_var->node, NULL), N);
    const rlx_binding *copy = rlx_copy_fresh(c, b);
    assert_ptr_not_equal(rlx_as_var_binding(copy)->var, &y->node);
    assert_ptr_equal(rlx_as_call(rlx_as_var_binding(copy)->value)->args[0], &free_var->node);
    assert_ptr_equal(rlx_as_var(rlx_as_var_binding(copy)->var)->sinfo, free_var->sinfo);
    rlx_context_release(c);
}

static void copies_outlive_their_context(void **state)
{
    rlx_context *from = new_context(), *to = new_context();
    static const int32_t data[] = { 1, 2, 3 };
    int64_t three[] = { 3 };
    const char *names[] = { "f", "g" };
    const rlx_node *k =
        rlx_constant_new(from, RELAX_INT32, three, 1, data, rlx_place_make(2, 7, 1));
    const rlx_node *functions[] = { &small_function(from, "n", "x", "op")->node,
                                    rlx_tuple_new(from, &k, 1, rlx_place_make(3, 5, 1)) };
    uint32_t sources[] = { 0, 4, 9 };
    const rlx_module *m = module_of(from, names, functions, 2);
    const rlx_module *copy = rlx_as_module(rlx_copy_to(to, &m->node, sources, 3));
    assert_true(same(&m->node, &copy->node));
    rlx_context_release(from);
    const rlx_tuple *t = rlx_as_tuple(copy->functions[rlx_module_find(copy, RLX_SLICE("g"))]);
    assert_true(rlx_place_of(t->fields[0]) == rlx_place_make(9, 7, 1));
    assert_true(t->place == RLX_NO_PLACE);
    assert_memory_equal(rlx_as_constant(t->fields[0])->data->data, data, sizeof data);
    rlx_context_release(to);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(walk_goes_in_evaluation_order),
        cmocka_unit_test(rewriting_keeps_what_does_not_change),
        cmocka_unit_test(retyped_variables_are_new_and_followed),
        cmocka_unit_test(a_failed_callback_ends_it),
        cmocka_unit_test(children_by_number),
        cmocka_unit_test(substitution_is_simultaneous),
        cmocka_unit_test(substitution_does_not_capture),
        cmocka_unit_test(variables_are_collected),
        cmocka_unit_test(positions_are_told_once_in_order),
        cmocka_unit_test(many_variables_are_collected_once),
        cmocka_unit_test(rank_0_is_known),
        cmocka_unit_test(fresh_copies_share_no_variables),
        cmocka_unit_test(copies_outlive_their_context),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
