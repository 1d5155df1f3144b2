/* memory_use.c: how much memory a function asks for, before and after planning. */
/* built for size */
#include "analysis/analysis.h"

#include <string.h>

typedef struct summing {
    rlx_context *ctx;
    rlx_memory_estimate *out;
    bool all_known;
    rlx_ptrmap known;      /* variables that sizes may mention */
} summing;

/* bytes of a tensor of these dimensions; NULL: out of memory. */
static const rlx_prim *tensor_bytes(rlx_context *ctx, const rlx_shape_expr *shape, rlx_dtype dtype)
{
    const rlx_prim *bytes = rlx_int64(ctx, (int64_t)rlx_dtype_bytes(dtype));
    for (size_t i = 0; bytes && i < shape->num_values; i++)
        bytes = rlx_fold_mul(ctx, bytes, shape->values[i]);
    return bytes;
}

static void add_bytes(summing *s, const rlx_prim **sum, const rlx_prim *bytes)
{
    *sum = bytes && *sum ? rlx_fold_add(s->ctx, *sum, bytes) : NULL;
}

static const rlx_expr *arg(const rlx_call *c, size_t i)
{
    return i < c->num_args ? c->args[i] : NULL;
}

/* Where the operators that ask for memory have its shape and dtype, and what they add to. */
static const struct {
    enum rlx_op_id id;
    uint8_t shape, dtype;
    bool tensor, storage;
} allocators[] = {
    { RLX_OP_ID_BUILTIN_ALLOC_TENSOR, 0, 1, true, true }, /* not planned: both */
    { RLX_OP_ID_MEMORY_ALLOC_TENSOR, 2, 3, true, false },
    { RLX_OP_ID_MEMORY_ALLOC_STORAGE, 0, 3, false, true },
    { RLX_OP_ID_VM_ALLOC_TENSOR, 2, 3, true, false },
    { RLX_OP_ID_VM_ALLOC_STORAGE, 0, 2, false, true },
};

static enum rlx_step stop_at_unknown(void *user, const rlx_node *n, const rlx_field *via,
                                     const rlx_node *parent)
{
    summing *s = user;
    (void)via, (void)parent;
    return n->kind == RLX_NODE_PRIM_VAR && !rlx_ptrmap_has(&s->known, n) ? RLX_STEP_STOP
                                                                        : RLX_STEP_ON;
}

static bool is_known(summing *s, const rlx_shape_expr *shape)
{
    rlx_walker w = { .enter = stop_at_unknown, .user = s, .unique = true };
    if (s->all_known || !(shape->node.flags & RLX_FLAG_HAS_VARS))
        return true;
    return rlx_walk(&s->ctx->memory, &shape->node, &w, NULL) != RLX_STEP_STOP;
}

static void add_call(summing *s, const rlx_call *c, size_t row)
{
    const rlx_shape_expr *shape = rlx_as_shape_expr(arg(c, allocators[row].shape));
    const rlx_dtype_imm *dtype = rlx_as_dtype_imm(arg(c, allocators[row].dtype));
    if (!shape || !dtype || !is_known(s, shape)) {
        s->out->unknown++;
        return;
    }
    const rlx_prim *bytes = tensor_bytes(s->ctx, shape, dtype->value);
    if (allocators[row].tensor)
        add_bytes(s, &s->out->tensors, bytes);
    if (allocators[row].storage)
        add_bytes(s, &s->out->storages, bytes);
}

static enum rlx_step sum_call(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    summing *s = user;
    const rlx_call *c = rlx_as_call(n);
    for (size_t i = 0; c && i < RLX_COUNT(allocators); i++)
        if (rlx_is_op(c->op, allocators[i].id))
            add_call(s, c, i);
    return s->ctx->diags.out_of_memory         ? RLX_STEP_STOP
           : c || n->kind == RLX_NODE_CONSTANT ? RLX_STEP_SKIP
                                               : RLX_STEP_ON;
}

bool rlx_estimate_memory(rlx_context *ctx, const rlx_function *f, const rlx_prim_vars *known,
                         rlx_memory_estimate *out)
{
    const rlx_prim *none = rlx_int64(ctx, 0);
    *out = (rlx_memory_estimate){ .tensors = none, .storages = none };
    summing s = { .ctx = ctx, .out = out, .all_known = !known };
    rlx_walker w = { .enter = sum_call, .user = &s, .unique = true, .code = true };
    bool good = none != NULL;
    rlx_ptrmap_init(&s.known, &ctx->memory);
    for (size_t i = 0; good && known && i < known->len; i++)
        good = rlx_ptrmap_put(&s.known, known->data[i], 1);
    if (good)
        rlx_walk(&ctx->memory, &f->node, &w, NULL);
    rlx_ptrmap_free(&s.known);
    if (ctx->diags.out_of_memory || !out->tensors || !out->storages)
        return false;
    out->tensors = rlx_simplify(ctx, NULL, out->tensors);
    out->storages = out->tensors ? rlx_simplify(ctx, NULL, out->storages) : NULL;
    return out->storages != NULL;
}
