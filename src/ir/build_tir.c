/* build_tir.c: constructors of buffers and of TIR statements. */
#include "ir/ir_int.h"

/* Defaults of buffers. */
#define DEFAULT_ALIGN 64
#define DEFAULT_OFFSET_FACTOR 1

const rlx_buffer *rlx_buffer_new(rlx_context *ctx, const rlx_string *name, rlx_dtype dtype,
                                 const rlx_prim *const *shape, size_t ndim,
                                 const rlx_string *scope, rlx_place place)
{
    if (!name || !rlx_all_there(shape, ndim))
        return NULL;
    bool ok;
    rlx_buffer *b = rlx_node_new(ctx, RLX_NODE_BUFFER);
    if (!b)
        return NULL;
    b->place = place;
    b->name = name;
    b->scope = scope ? scope : rlx_string_z(ctx, "global");
    /* bool is stored a byte per element, and pointers speak of storage. */
    b->data =
        rlx_pointer_var(ctx, name, rlx_dtype_is_bool(dtype) ? RELAX_INT8 : dtype, b->scope, place);
    b->dtype = dtype;
    b->shape = rlx_nodes_copy(ctx, shape, ndim, &ok);
    b->num_shape = ndim;
    b->elem_offset = rlx_int(ctx, ndim ? rlx_prim_dtype(shape[0]) : RELAX_INT32, 0);
    b->align = DEFAULT_ALIGN;
    b->offset_factor = DEFAULT_OFFSET_FACTOR;
    return ok && b->scope && b->data && b->elem_offset ? b : NULL;
}

const rlx_node *rlx_range_new(rlx_context *ctx, const rlx_prim *min, const rlx_prim *extent)
{
    rlx_range key = { .node.kind = RLX_NODE_RANGE, .min = min, .extent = extent };
    return min && extent ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_stmt *rlx_store(rlx_context *ctx, const rlx_buffer *buffer, const rlx_prim *value,
                          const rlx_prim *const *indices, size_t count, rlx_place place)
{
    if (!buffer || !value || !rlx_all_there(indices, count))
        return NULL;
    bool ok;
    rlx_buffer_store *s = rlx_node_new(ctx, RLX_NODE_BUFFER_STORE);
    if (!s)
        return NULL;
    s->place = place;
    s->buffer = &buffer->node;
    s->value = value;
    s->indices = rlx_nodes_copy(ctx, indices, count, &ok);
    s->num_indices = count;
    return ok ? &s->node : NULL;
}

const rlx_stmt *rlx_seq_stmt_new(rlx_context *ctx, const rlx_stmt *const *stmts, size_t count,
                                 rlx_place place)
{
    if (!rlx_all_there(stmts, count))
        return NULL;
    if (count == 1)
        return stmts[0];
    bool ok;
    rlx_seq_stmt *s = rlx_node_new(ctx, RLX_NODE_SEQ_STMT);
    if (!s)
        return NULL;
    s->place = place;
    s->stmts = rlx_nodes_copy(ctx, stmts, count, &ok);
    s->num_stmts = count;
    return ok ? &s->node : NULL;
}

const rlx_stmt *rlx_for(rlx_context *ctx, const rlx_prim_var *var, const rlx_prim *min,
                        const rlx_prim *extent, int for_kind, const rlx_stmt *body,
                        rlx_place place)
{
    rlx_for_stmt *f = var && min && extent && body ? rlx_node_new(ctx, RLX_NODE_FOR) : NULL;
    if (!f)
        return NULL;
    f->place = place;
    f->min = min;
    f->extent = extent;
    f->loop_var = &var->node;
    f->for_kind = for_kind;
    f->body = body;
    return &f->node;
}
