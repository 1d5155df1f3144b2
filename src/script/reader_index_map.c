/* reader_index_map.c: lambdas: T.index_map and T.comm_reducer. Their parameters are fresh
 * variables. */
/* built for size */
#include "script/reader.h"

static bool bind_params(rlx_reader *r, const rlx_ast *lambda, const rlx_dtype *dtypes,
                        rlx_dtype dtype)
{
    size_t i = 0;
    for (const rlx_ast *p = lambda->first; p; p = p->next, i++) {
        const rlx_prim_var *v = rlx_prim_var_new(r->ctx, p->name->text, dtypes ? dtypes[i] : dtype,
                                                 rlx_read_place(r, p));
        rlx_val value = rlx_val_node(RLX_VAL_PRIM, v ? &v->node : NULL, p);
        if (!v || !rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)v))
            return false;
        if (rlx_word_in_frame(r, p->name))
            return rlx_read_error(r, RLX_PA13, p, "%s stands twice among the parameters",
                                  p->name->text->data);
        if (!rlx_word_bind(r, p->name, &value))
            return false;
    }
    return true;
}

/* The body's values: one, or a tuple or list of them. */
static bool push_results(rlx_reader *r, const rlx_ast *body)
{
    rlx_val v;
    if (!rlx_read_value(r, body, &v))
        return false;
    bool list = v.kind == RLX_VAL_TUPLE || v.kind == RLX_VAL_LIST;
    for (size_t i = 0; i < (list ? v.list.count : 1); i++) {
        const rlx_prim *p = rlx_to_prim(r, body, list ? &v.list.items[i] : &v);
        if (!p || !rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)p))
            return p ? false : false;
    }
    return true;
}

static bool read_lambda(rlx_reader *r, const rlx_ast *lambda, const rlx_dtype *dtypes,
                        rlx_dtype dtype)
{
    enum rlx_dialect dialect = r->unit.dialect;
    r->unit.dialect = RLX_DIALECT_TIR; /* arithmetic of scalars */
    uint32_t frame = rlx_reader_frame_enter(r);
    bool ok = bind_params(r, lambda, dtypes, dtype) && push_results(r, lambda->base);
    rlx_reader_frame_leave(r, frame);
    r->unit.dialect = dialect;
    return ok;
}

const rlx_attr *rlx_read_index_map(rlx_reader *r, const rlx_ast *lambda, rlx_dtype dtype,
                                   const rlx_attr *inverse)
{
    size_t mark = r->stack.len, n = lambda->count;
    const rlx_attr *result = NULL;
    if (lambda->kind != RLX_AST_LAMBDA)
        return rlx_read_error(r, RLX_PA12, lambda, "an index map is a lambda"), NULL;
    if (read_lambda(r, lambda, NULL, dtype)) {
        const rlx_node *const *nodes = (const rlx_node *const *)(r->stack.data + mark);
        size_t count = r->stack.len - mark - n;
        bool ok = true;
        rlx_index_map *m = rlx_node_new(r->ctx, RLX_NODE_INDEX_MAP);
        const rlx_node *const *initial = rlx_nodes_copy(r->ctx, nodes, n, &ok),
                              *const * final =
                                  ok ? rlx_nodes_copy(r->ctx, nodes + n, count, &ok) : NULL;
        if (m && ok) {
            m->initial = initial, m->num_initial = n;
            m->final = final, m->num_final = count;
            m->inverse = inverse;
            result = &m->node;
        }
    }
    r->stack.len = mark;
    return result;
}

const rlx_prim *rlx_read_reducer(rlx_reader *r, const rlx_ast *call)
{
    const rlx_ast *slot[2];
    rlx_val v;
    rlx_dtype dtypes[32];
    if (!rlx_bind_args(r, call, "T.comm_reducer", RLX_PARAMS("combiner", "identity"), 2, slot) ||
        !rlx_read_value(r, slot[1], &v))
        return NULL;
    const rlx_ast *lambda = slot[0];
    size_t mark = r->stack.len,
           n = v.kind == RLX_VAL_LIST || v.kind == RLX_VAL_TUPLE ? v.list.count : 0;
    if (lambda->kind != RLX_AST_LAMBDA || !n || lambda->count != 2 * n || n > 16)
        return rlx_read_error(r, RLX_PA12, call,
                              "T.comm_reducer takes a lambda of two parameters per identity, and "
                              "the list of identities"),
               NULL;
    bool ok = true;
    for (size_t i = 0; i < n && ok; i++) {
        const rlx_prim *p = rlx_to_prim(r, slot[1], &v.list.items[i]);
        ok = p && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)p);
        dtypes[i] = dtypes[n + i] = p ? rlx_prim_dtype(p) : RELAX_VOID;
    }
    const rlx_prim *result = NULL;
    if (ok && read_lambda(r, lambda, dtypes, RELAX_VOID)) {
        const rlx_node *const *nodes = (const rlx_node *const *)(r->stack.data + mark);
        rlx_comm_reducer key = { .node = { .kind = RLX_NODE_COMM_REDUCER },
                                 .identity = nodes,
                                 .num_identity = n,
                                 .lhs = nodes + n,
                                 .num_lhs = n,
                                 .rhs = nodes + 2 * n,
                                 .num_rhs = n,
                                 .result = nodes + 3 * n,
                                 .num_result = r->stack.len - mark - 3 * n };
        if (key.num_result == n)
            result = rlx_node_intern(r->ctx, &key.node);
        else
            rlx_read_error(r, RLX_PA12, lambda, "the lambda gives %zu values for %zu identities",
                           key.num_result, n);
    }
    r->stack.len = mark;
    return result;
}
