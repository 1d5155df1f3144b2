/*- rewrite_dataflow_reshape: in a dataflow block, a call of a PrimFunc that gives a tensor another
 * shape and nothing else becomes the operator that says so.
 *     lv1 = R.call_tir(cls.expand_dims, (lv,), out_sinfo=R.Tensor((n, 1, 4), "float32"))
 *     ->
 *     lv1 = R.reshape(lv, R.shape([n, 1, 4]))
 * What the PrimFunc does is read off its loops (rlx_find_copies), so nothing depends on names. Outputs
 * of the block stay as they are, and so do calls where the number of elements is not proved.
 * needs: normal form. keeps: variables, struct info, order. */
#include "transform/transform_int.h"

typedef struct rewrite {
    const rlx_module *module;
    rlx_ptrmap input;             /* PrimFunc -> the parameter that its only output is, + 1; 0: none */
} rewrite;

/* The parameter whose elements parameter `out` of f gets, all of them in order; -1: none. */
static int32_t find_input(rlx_context *ctx, const rlx_prim_func *f, size_t out)
{
    rlx_copied *c = rlx_mem_alloc(&ctx->memory, (f->num_params + 1) * sizeof *c);
    bool copies = c && out < f->num_params && rlx_find_copies(ctx, f, c);
    int32_t from = copies && c[out].all && rlx_is_int_value(c[out].offset, 0) ? c[out].of : -1;
    rlx_mem_free(&ctx->memory, c, c ? (f->num_params + 1) * sizeof *c : 0);
    return from;
}

static int32_t input_of(rlx_seq_pass *p, const rlx_prim_func *f, size_t out)
{
    rewrite *r = p->user;
    uintptr_t known;
    if (!rlx_ptrmap_find(&r->input, f, &known)) {
        known = (uintptr_t)(find_input(p->ctx, f, out) + 1);
        (void)rlx_ptrmap_put(&r->input, f, known);
    }
    return (int32_t)known - 1;
}

static const rlx_prim *elements(rlx_context *ctx, const rlx_tensor_sinfo *t)
{
    size_t n = 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : NULL;
    const rlx_prim *all = dims ? rlx_int64(ctx, 1) : NULL;
    for (size_t i = 0; all && i < n; i++)
        all = rlx_fold_mul(ctx, all, dims[i]);
    return all;
}

/* What the call gives another shape; NULL: it does more. */
static const rlx_expr *reshaped(rlx_seq_pass *p, const rlx_call *call)
{
    const rewrite *r = p->user;
    const rlx_global_var *gv = call->num_args > 1 ? rlx_as_global_var(call->args[0]) : NULL;
    const rlx_tuple *args = gv ? rlx_as_tuple(call->args[1]) : NULL;
    int64_t at = gv ? rlx_module_index(r->module, gv) : -1;
    const rlx_prim_func *f = at < 0 ? NULL : rlx_as_prim_func(r->module->functions[at]);
    const rlx_tensor_sinfo *to =
        call->num_sinfo_args == 1 ? rlx_as_tensor_sinfo(call->sinfo_args[0]) : NULL;
    int32_t from = f && args && to ? input_of(p, f, args->num_fields) : -1;
    const rlx_var *x = from < 0 || (size_t)from >= args->num_fields
                           ? NULL
                           : rlx_as_var(args->fields[from]);
    const rlx_tensor_sinfo *t = x ? rlx_as_tensor_sinfo(x->sinfo) : NULL;
    const rlx_prim *have = elements(p->ctx, t), *want = elements(p->ctx, to);
    return t && have && want && t->dtype == to->dtype && rlx_as_shape_expr(to->shape) &&
                   rlx_prove_equal_sizes(p->ctx, &p->scope, have, want) == RLX_EQUAL
               ? &x->node
               : NULL;
}

static bool rewrite_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_call *call = rlx_is_call_op(rlx_binding_value(now), RLX_OP_ID_CALL_TIR);
    const rlx_var *var = rlx_binding_var(now);
    bool inside = now->kind == RLX_NODE_VAR_BINDING && var && var->node.kind == RLX_NODE_DATAFLOW_VAR;
    const rlx_expr *x = call && inside && rlx_seq_in_dataflow(p) ? reshaped(p, call) : NULL;
    if (!x)
        return rlx_seq_emit(p, now);
    const rlx_expr *args[2] = { x, rlx_as_tensor_sinfo(call->sinfo_args[0])->shape };
    const rlx_expr *reshape = rlx_plain_call(p->ctx, "relax.reshape", args, 2, call->place);
    return reshape && rlx_seq_emit(p, rlx_with_value(p->ctx, now, reshape));
}

const rlx_module *rlx_pass_rewrite_dataflow_reshape(rlx_pass_run *run, const rlx_module *m)
{
    rlx_seq_pass p;
    rewrite r = { .module = m };
    rlx_seq_init(&p, run->ctx, m, &r);
    rlx_ptrmap_init(&r.input, &run->ctx->memory);
    p.binding = rewrite_binding;
    p.use_scope = true;
    const rlx_module *out = rlx_seq_module(&p, m);
    rlx_seq_free(&p);
    rlx_ptrmap_free(&r.input);
    return out;
}
