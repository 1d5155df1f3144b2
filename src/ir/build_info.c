/* build_info.c: shapes and struct info. The constructors on the way of every binding look for
 * their node themselves: hash over the words, one probe, nothing copied when the node is there.
 * The words and their order are those of node.def (rlx_node_intern finds the same nodes). */
#include "ir/ir_int.h"

/* A list that is the content of a node: of a SHAPE_EXPR, TUPLE_SINFO, or the values of a
 * SHAPE_SINFO. */
struct list_key { uint8_t kind; size_t count; const rlx_node *const *items; };

static bool same_items(const rlx_node *const *have, size_t num_have, const struct list_key *k)
{
    if (num_have != k->count)
        return false;
    for (size_t i = 0; i < num_have; i++)
        if (have[i] != k->items[i])
            return false;
    return true;
}

/* Mixes in count and items; *flags gathers theirs. False: one of them is NULL. */
RLX_INLINE bool hash_items(uint64_t *h, uint8_t *flags, const rlx_node *const *items, size_t count)
{
    *h = rlx_hash_mix(*h, count);
    for (size_t i = 0; i < count; i++) {
        if (!items[i])
            return false;
        *h = rlx_hash_ptr(*h, items[i]);
        *flags |= rlx_flags_from(items[i]);
    }
    return true;
}

static void *new_listed(rlx_context *ctx, size_t size, const struct list_key *k,
                        const rlx_node *const **items)
{
    size_t bytes;
    if (!rlx_mul_size(k->count, sizeof *k->items, &bytes) || !rlx_add_size(bytes, size, &bytes))
        return rlx_mem_overflow(&ctx->memory), NULL;
    void *n = rlx_new(ctx, bytes);
    if (!n)
        return NULL;
    *items = k->count ? (const rlx_node *const *)((char *)n + size) : NULL;
    if (k->count)
        memcpy((char *)n + size, k->items, k->count * sizeof *k->items);
    return n;
}

static bool same_shape(const rlx_node *have, const void *key)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(have);
    return s && same_items(s->values, s->num_values, key);
}

const rlx_expr *rlx_shape_new(rlx_context *ctx, const rlx_prim *const *values, size_t count)
{
    struct list_key k = { RLX_NODE_SHAPE_EXPR, count, values };
    uint64_t h = rlx_kind_hash(RLX_NODE_SHAPE_EXPR);
    uint8_t flags = RLX_FLAG_INTERNED;
    if ((count && !values) || !hash_items(&h, &flags, values, count))
        return NULL;
    const rlx_node *have = rlx_intern_find(ctx, h, same_shape, &k);
    if (have)
        return have;
    const rlx_node *const *items;
    rlx_shape_expr *s = new_listed(ctx, sizeof *s, &k, &items);
    if (!s)
        return NULL;
    rlx_node_head(ctx, &s->node, RLX_NODE_SHAPE_EXPR, flags);
    s->values = items;
    s->num_values = count;
    return rlx_intern_enter(ctx, h, &s->node);
}

#define SMALL_RANK 16

const rlx_expr *rlx_shape_of_ints(rlx_context *ctx, const int64_t *values, size_t count)
{
    const rlx_node *few[SMALL_RANK] = { NULL }, **items = few;
    if (count > SIZE_MAX / sizeof *items)
        return rlx_mem_overflow(&ctx->memory), NULL;
    if (count > SMALL_RANK)
        items = rlx_mem_alloc(&ctx->memory, count * sizeof *items);
    if (!items)
        return NULL;
    for (size_t i = 0; i < count; i++)
        items[i] = rlx_int64(ctx, values[i]);
    const rlx_expr *s = rlx_shape_new(ctx, items, count);
    if (items != few)
        rlx_mem_free(&ctx->memory, items, count * sizeof *items);
    return s;
}

const rlx_sinfo *rlx_object_info(rlx_context *ctx)
{
    rlx_object_sinfo key = { .node.kind = RLX_NODE_OBJECT_SINFO };
    return ctx->object ? ctx->object : rlx_node_intern(ctx, &key.node);
}

const rlx_sinfo *rlx_prim_info(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *value)
{
    rlx_prim_sinfo key = { .node.kind = RLX_NODE_PRIM_SINFO, .dtype = dtype, .value = value };
    return rlx_node_intern(ctx, &key.node);
}

static bool same_shape_info(const rlx_node *have, const void *key)
{
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(have);
    return s && s->has_values && same_items(s->values, s->num_values, key);
}

const rlx_sinfo *rlx_shape_info(rlx_context *ctx, const rlx_prim *const *values, size_t count)
{
    if ((count && !values) || count > INT32_MAX)
        return NULL;
    struct list_key k = { RLX_NODE_SHAPE_SINFO, count, values };
    uint64_t h =
        rlx_hash_i32(rlx_hash_i32(rlx_kind_hash(RLX_NODE_SHAPE_SINFO), (int32_t)count), 1);
    uint8_t flags = RLX_FLAG_INTERNED;
    if (!hash_items(&h, &flags, values, count))
        return NULL;
    const rlx_node *have = rlx_intern_find(ctx, h, same_shape_info, &k);
    if (have)
        return have;
    const rlx_node *const *items;
    rlx_shape_sinfo *s = new_listed(ctx, sizeof *s, &k, &items);
    if (!s)
        return NULL;
    rlx_node_head(ctx, &s->node, RLX_NODE_SHAPE_SINFO, flags);
    s->ndim = (int32_t)count;
    s->has_values = 1;
    s->values = items;
    s->num_values = count;
    return rlx_intern_enter(ctx, h, &s->node);
}

const rlx_sinfo *rlx_shape_info_rank(rlx_context *ctx, int ndim)
{
    rlx_shape_sinfo key = { .node.kind = RLX_NODE_SHAPE_SINFO, .ndim = ndim };
    return rlx_node_intern(ctx, &key.node);
}

static bool same_tensor(const rlx_node *have, const void *key)
{
    const rlx_tensor_sinfo *k = key, *t = rlx_as_tensor_sinfo(have);
    return t && t->dtype == k->dtype && t->ndim == k->ndim && t->shape == k->shape &&
           t->vdevice == k->vdevice;
}

/* Rank of the tensors that have this shape; otherwise, if it does not say. */
static int rank_of_shape(const rlx_expr *shape, int otherwise)
{
    const rlx_shape_expr *list = rlx_as_shape_expr(shape);
    const rlx_var *v = rlx_as_var(shape);
    const rlx_shape_sinfo *s = v ? rlx_as_shape_sinfo(v->sinfo) : NULL;
    if (list)
        return (int)list->num_values;
    return s && s->ndim >= 0 ? s->ndim : otherwise;
}

const rlx_sinfo *rlx_tensor_info(rlx_context *ctx, const rlx_expr *shape, rlx_dtype dtype,
                                 int ndim, const rlx_node *vdevice)
{
    ndim = rank_of_shape(shape, ndim);
    rlx_tensor_sinfo key = { .dtype = dtype, .ndim = ndim, .shape = shape, .vdevice = vdevice };
    uint64_t h = rlx_hash_i32(rlx_hash_i32(rlx_kind_hash(RLX_NODE_TENSOR_SINFO), dtype), ndim);
    h = rlx_hash_ptr(rlx_hash_ptr(h, shape), vdevice);
    const rlx_node *have = rlx_intern_find(ctx, h, same_tensor, &key);
    if (have)
        return have;
    rlx_tensor_sinfo *t = rlx_new(ctx, sizeof *t);
    if (!t)
        return NULL;
    *t = key;
    rlx_node_head(ctx, &t->node, RLX_NODE_TENSOR_SINFO,
                  RLX_FLAG_INTERNED | rlx_flags_from(shape) | rlx_flags_from(vdevice));
    return rlx_intern_enter(ctx, h, &t->node);
}

const rlx_sinfo *rlx_tensor_ints(rlx_context *ctx, const int64_t *shape, size_t ndim,
                                 rlx_dtype dtype)
{
    const rlx_expr *s = rlx_shape_of_ints(ctx, shape, ndim);
    return s ? rlx_tensor_info(ctx, s, dtype, -1, NULL) : NULL;
}

const rlx_sinfo *rlx_tuple_info(rlx_context *ctx, const rlx_sinfo *const *fields, size_t count)
{
    rlx_tuple_sinfo key = { .node.kind = RLX_NODE_TUPLE_SINFO,
                            .fields = fields,
                            .num_fields = count };
    return rlx_all_there(fields, count) ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_sinfo *rlx_func_info(rlx_context *ctx, const rlx_prim *const *binders,
                               size_t num_binders, const rlx_sinfo *const *params,
                               size_t num_params, const rlx_sinfo *ret, bool is_pure)
{
    rlx_func_sinfo key = { .node.kind = RLX_NODE_FUNC_SINFO,
                           .binders = binders,
                           .num_binders = num_binders,
                           .params = params,
                           .num_params = num_params,
                           .ret = ret,
                           .is_pure = is_pure };
    bool there = ret && rlx_all_there(binders, num_binders) && rlx_all_there(params, num_params);
    return there ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_sinfo *rlx_opaque_func_info(rlx_context *ctx, enum rlx_derive derive,
                                      const rlx_string *name, const rlx_sinfo *ret, bool is_pure)
{
    rlx_func_sinfo key = { .node.kind = RLX_NODE_FUNC_SINFO,
                           .ret = ret,
                           .is_pure = is_pure,
                           .derive = (int32_t)derive,
                           .derive_name = name };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_sinfo *rlx_extension_info(rlx_context *ctx, const rlx_string *name,
                                    const rlx_node *const *operands, size_t count)
{
    rlx_extension_sinfo key = { .node.kind = RLX_NODE_EXTENSION_SINFO,
                                .name = name,
                                .operands = operands,
                                .num_operands = count };
    return name && rlx_all_there(operands, count) ? rlx_node_intern(ctx, &key.node) : NULL;
}
