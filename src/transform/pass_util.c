/* pass_util.c: small questions and constructors that passes share. */
#include "transform/transform_int.h"

static bool any_size(void *user, const rlx_prim_var *v)
{
    (void)user, (void)v;
    return true;
}

const rlx_sinfo *rlx_signature_info(rlx_context *ctx, const rlx_sinfo *s)
{
    const rlx_visible sizes = { .shape_var = any_size };
    return s ? rlx_erase(ctx, s, &sizes) : rlx_object_info(ctx);
}

typedef struct blocks {
    const rlx_block *(*rewrite)(void *user, const rlx_block *b);
    void *user;
    bool deep;
} blocks;

static const rlx_node *rewrite_block(rlx_rewriter *r, const rlx_node *n)
{
    const blocks *all = r->user;
    const rlx_block *out;
    switch (n->kind) {
    case RLX_NODE_DATAFLOW_BLOCK:
        out = all->rewrite(all->user, (const rlx_block *)n);
        r->failed |= !out;
        return out ? &out->node : NULL;
    case RLX_NODE_FUNCTION: return all->deep ? NULL : n;
    case RLX_NODE_SEQ_EXPR: case RLX_NODE_BINDING_BLOCK: case RLX_NODE_VAR_BINDING: case RLX_NODE_IF: return NULL;
    default: return n;
    }
}

const rlx_function *rlx_rewrite_dataflow_blocks(rlx_context *ctx, const rlx_function *f,
                                                const rlx_block *(*rewrite)(void *user, const rlx_block *b),
                                                void *user, bool deep)
{
    blocks all = { rewrite, user, deep };
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    r.before = rewrite_block;
    r.user = &all;
    const rlx_expr *body = rlx_rewrite(&r, f->body);
    rlx_rewriter_free(&r);
    return body ? rlx_function_with(ctx, f, body, f->attrs) : NULL;
}

const rlx_op_row *rlx_callee_op(const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    const rlx_op *op = call ? rlx_as_op(call->op) : NULL;
    return op ? op->row : NULL;
}

const rlx_expr *rlx_plain_call(rlx_context *ctx, const char *op, const rlx_expr *const *args,
                               size_t num_args, rlx_place place)
{
    const rlx_op_row *row = rlx_op_find(rlx_slice_z(op));
    for (size_t i = 0; i < num_args; i++)
        if (!args[i])
            return NULL;
    return row ? rlx_call_op(ctx, row, args, num_args, NULL, place)
               : RLX_BUG(ctx, "operator %s has no row", op);
}

const rlx_expr *rlx_op_call(rlx_context *ctx, const char *op, const rlx_expr *a, const rlx_expr *b,
                            const char *key, const rlx_attr *value, rlx_place place)
{
    const rlx_expr *args[2] = { a, b };
    const rlx_op_row *row = rlx_op_find(rlx_slice_z(op));
    const rlx_attr *name = key ? rlx_attr_string_new(ctx, rlx_slice_z(key)) : NULL;
    const rlx_attr *given = name && value ? rlx_attrs_new(ctx, &name, &value, 1) : NULL;
    if (!row)
        return RLX_BUG(ctx, "operator %s has no row", op);
    return a && (!key || given) ? rlx_call_op(ctx, row, args, b ? 2 : 1, given, place) : NULL;
}

const rlx_expr *rlx_float_constant(rlx_context *ctx, rlx_dtype dtype, double v, rlx_place place)
{
    unsigned char data[8] = { 0 };
    rlx_dtype_store_float(dtype, data, v);
    return rlx_constant_new(ctx, dtype, NULL, 0, data, place);
}

const rlx_attr *rlx_ints_attr(rlx_context *ctx, const int64_t *items, size_t count)
{
    const rlx_attr *list[RLX_PASS_MAX_RANK];
    if (count > RLX_PASS_MAX_RANK)
        return RLX_BUG(ctx, "a list of %zu axes", count);
    for (size_t i = 0; i < count; i++)
        list[i] = rlx_attr_int_new(ctx, items[i]);
    return rlx_attr_list_new(ctx, list, count);
}

const rlx_expr *rlx_spread_along(rlx_context *ctx, const rlx_expr *x, size_t ndim,
                                 const int64_t *kept, size_t num_kept, rlx_place place)
{
    int64_t added[RLX_PASS_MAX_RANK];
    size_t count = 0, at = 0;
    for (size_t i = 0; i < ndim && i < RLX_PASS_MAX_RANK; i++) {
        if (at < num_kept && kept[at] == (int64_t)i)
            at++;
        else
            added[count++] = (int64_t)i;
    }
    if (!count || (num_kept && kept[0] == (int64_t)(ndim - num_kept)))
        return x;
    return rlx_op_call(ctx, "expand_dims", x, NULL, "axis", rlx_ints_attr(ctx, added, count),
                       place);
}

bool rlx_pass_function(const rlx_pass_run *run, const rlx_module *m, const rlx_global_var **gv)
{
    rlx_slice name = rlx_pass_text(run, "function");
    int64_t at = name.len ? rlx_module_find(m, name) : -1;
    *gv = at >= 0 ? rlx_as_global_var(m->gvars[at]) : NULL;
    if (name.len && at < 0)
        rlx_error(run->ctx, RLX_OP15, RLX_NO_PLACE, "the module has no function named %.*s",
                  (int)(name.len < 200 ? name.len : 200), name.data);
    return !name.len || at >= 0;
}

bool rlx_meets_assumptions(rlx_context *ctx, const rlx_function *f, const rlx_ptrmap *values,
                           enum rlx_code_id code)
{
    rlx_facts assumed = { 0 };
    bool ok = rlx_assumed_of_params(ctx, f->attrs, f->params, f->num_params, &assumed);
    for (size_t i = 0; ok && i < assumed.len; i++) {
        const rlx_fact *p = &assumed.data[i];
        const rlx_prim *value = rlx_ptrmap_get(values, p->var);
        int64_t n;
        if (!value || !rlx_int_literal(value, &n) || (n >= p->low && n <= p->high))
            continue;
        const char *key = n < p->low ? RLX_NON_NEGATIVE : RLX_UPPER_BOUND;
        ok = rlx_error(ctx, code, rlx_attr_place(&f->node, key),
                       "shape variable %s becomes %lld, but %s says at %s %lld",
                       p->var->name->data, (long long)n, key, n < p->low ? "least" : "most",
                       (long long)(n < p->low ? p->low : p->high)) != NULL;
    }
    rlx_vec_free(&ctx->memory, &assumed);
    return ok;
}

bool rlx_is_aligned(const rlx_constant *c)
{
    size_t element = rlx_dtype_bytes(c->dtype);
    return element < 2 || (uintptr_t)c->data->data % element == 0;
}

const void *rlx_aligned_content(rlx_context *ctx, const rlx_constant *c)
{
    return rlx_is_aligned(c) ? c->data->data : rlx_new_copy(ctx, c->data->data, c->data->size);
}

const rlx_tensor_sinfo *rlx_tensor_of_var(const rlx_expr *e)
{
    const rlx_var *v = rlx_as_var(e);
    return v ? rlx_as_tensor_sinfo(v->sinfo) : NULL;
}

bool rlx_reads_written(const rlx_written *w, const rlx_ptrmap *values, const rlx_expr *e, int calls)
{
    const rlx_call *call = rlx_as_var(e) && calls ? rlx_ptrmap_get(values, e) : NULL;
    bool is = rlx_as_var(e) && rlx_is_written(w, e);
    for (size_t i = 0; call && i < call->num_args && !is; i++)
        is = rlx_reads_written(w, values, call->args[i], calls - 1);
    return is;
}

const rlx_module *rlx_tidied(rlx_context *ctx, const rlx_module *m)
{
    static const char *const passes[] = { "dead_code_elimination", "convert_to_dataflow" };
    rlx_pass_step steps[RLX_COUNT(passes)];
    memset(steps, 0, sizeof steps);
    for (size_t i = 0; i < RLX_COUNT(passes); i++)
        steps[i].row = rlx_pass_find(rlx_slice_z(passes[i]));
    return m ? rlx_run_passes(ctx, m, steps, RLX_COUNT(passes), NULL) : NULL;
}
