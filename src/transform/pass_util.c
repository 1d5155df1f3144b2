/* pass_util.c: small questions and constructors that passes share. */
#include "transform/transform_int.h"

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
