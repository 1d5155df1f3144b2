/* build_prim.c: integer and scalar expressions; literals and binary operations look for their node
 * themselves (see build_info.c). */
#include "ir/ir_int.h"

#include <math.h>

static bool same_int(const rlx_node *have, const void *key)
{
    const rlx_int_imm *k = key, *i = rlx_as_int_imm(have);
    return i && i->value == k->value && i->dtype == k->dtype;
}

static rlx_int_imm *fill_int(const rlx_context *ctx, rlx_int_imm *i, rlx_dtype dtype,
                             int64_t value)
{
    rlx_node_head(ctx, &i->node, RLX_NODE_INT_IMM, RLX_FLAG_INTERNED);
    i->dtype = dtype;
    i->value = value;
    return i;
}

/* Small literals live in layer 0 whatever the top is: they point to nothing and outlive every
 * scratch layer. */
static const rlx_node *small_int(rlx_context *ctx, const rlx_node **slot, rlx_dtype dtype,
                                 int64_t value)
{
    rlx_int_imm *i = rlx_region_alloc(&ctx->layers[0].region, sizeof *i);
    if (!i) {
        return NULL;
    }
    fill_int(ctx, i, dtype, value);
    i->node.layer = 0;
    i->node.origin = 0;
    return *slot = &i->node;
}

const rlx_prim *rlx_int(rlx_context *ctx, rlx_dtype dtype, int64_t value)
{
    if (value >= -1 && value <= 256 && (dtype == RELAX_INT64 || dtype == RELAX_INT32)) {
        const rlx_node **slot = &ctx->small_ints[dtype == RELAX_INT32][value + 1];
        return *slot ? *slot : small_int(ctx, slot, dtype, value);
    }
    rlx_int_imm key = { .dtype = dtype, .value = value };
    uint64_t h =
        rlx_hash_mix(rlx_hash_i32(rlx_kind_hash(RLX_NODE_INT_IMM), dtype), (uint64_t)value);
    const rlx_node *have = rlx_intern_find(ctx, h, same_int, &key);
    if (have)
        return have;
    rlx_int_imm *i = rlx_new(ctx, sizeof *i);
    return i ? rlx_intern_enter(ctx, h, &fill_int(ctx, i, dtype, value)->node) : NULL;
}

const rlx_prim *rlx_float(rlx_context *ctx, rlx_dtype dtype, double value)
{
    if (value != value) /* text says no more of it */
        value = signbit(value) ? -(double)NAN : (double)NAN;
    rlx_float_imm key = { .node.kind = RLX_NODE_FLOAT_IMM, .dtype = dtype, .value = value };
    return rlx_node_intern(ctx, &key.node);
}

rlx_prim_var *rlx_prim_var_new(rlx_context *ctx, const rlx_string *name, rlx_dtype dtype,
                               rlx_place place)
{
    rlx_prim_var *v = name ? rlx_node_new(ctx, RLX_NODE_PRIM_VAR) : NULL;
    if (!v)
        return NULL;
    v->name = name;
    v->dtype = dtype;
    v->place = place;
    return v;
}

const rlx_prim *rlx_pointer_var(rlx_context *ctx, const rlx_string *name, rlx_dtype elem,
                                const rlx_string *scope, rlx_place place)
{
    rlx_prim_var *v = rlx_prim_var_new(ctx, name, RELAX_HANDLE, place);
    if (!v)
        return NULL;
    v->elem_dtype = elem;
    v->scope = scope;
    return &v->node;
}

rlx_dtype rlx_prim_dtype(const rlx_prim *p)
{
    if (!p || rlx_family_of(p) != RLX_FAMILY_PRIM)
        return RELAX_VOID;
    switch (p->kind) {
    case RLX_NODE_PRIM_VAR: return ((const rlx_prim_var *)p)->dtype;
    case RLX_NODE_TIR_STRING: return RELAX_HANDLE;
    case RLX_NODE_COMM_REDUCER: return RELAX_VOID;
    default: return ((const rlx_int_imm *)p)->dtype; /* all others have it in the same place */
    }
}

static bool same_binary(const rlx_node *have, const void *key)
{
    const rlx_binary *k = key, *b = (const rlx_binary *)have;
    return have->kind == k->node.kind && b->a == k->a && b->b == k->b && b->dtype == k->dtype;
}

/* What rlx_prim_parts finds; as count_parts of intern_node.c does it. */
static uint32_t parts_of(const rlx_prim *a, const rlx_prim *b)
{
    uint64_t parts = 1 + (uint64_t)rlx_prim_parts(a) + rlx_prim_parts(b);
    return parts < UINT32_MAX ? (uint32_t)parts : UINT32_MAX;
}

const rlx_prim *rlx_binary_new(rlx_context *ctx, enum rlx_node_kind kind, const rlx_prim *a,
                               const rlx_prim *b)
{
    if (!a || !b)
        return NULL;
    rlx_dtype dtype = rlx_prim_dtype(a);
    if (kind >= RLX_NODE_EQ && kind <= RLX_NODE_OR)
        dtype = rlx_dtype_with_lanes(RELAX_BOOL, rlx_dtype_lanes(dtype));
    rlx_binary key = { .node.kind = (uint8_t)kind, .dtype = dtype, .a = a, .b = b };
    uint64_t h = rlx_hash_ptr(rlx_hash_ptr(rlx_hash_i32(rlx_kind_hash(kind), dtype), a), b);
    const rlx_node *have = rlx_intern_find(ctx, h, same_binary, &key);
    if (have)
        return have;
    rlx_binary *n = rlx_new(ctx, sizeof *n);
    if (!n)
        return NULL;
    *n = key;
    rlx_node_head(ctx, &n->node, kind, RLX_FLAG_INTERNED | rlx_flags_from(a) | rlx_flags_from(b));
    n->node.id = parts_of(a, b);
    return rlx_intern_enter(ctx, h, &n->node);
}

const rlx_prim *rlx_not(rlx_context *ctx, const rlx_prim *a)
{
    rlx_unary key = { .node.kind = RLX_NODE_NOT, .a = a };
    if (!a)
        return NULL;
    key.dtype = rlx_dtype_with_lanes(RELAX_BOOL, rlx_dtype_lanes(rlx_prim_dtype(a)));
    return rlx_node_intern(ctx, &key.node);
}

const rlx_prim *rlx_cast(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a)
{
    rlx_unary key = { .node.kind = RLX_NODE_CAST, .dtype = dtype, .a = a };
    return a ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_prim *rlx_select_new(rlx_context *ctx, const rlx_prim *cond, const rlx_prim *t,
                               const rlx_prim *f)
{
    rlx_select key = { .node.kind = RLX_NODE_SELECT,
                       .dtype = rlx_prim_dtype(t),
                       .cond = cond,
                       .true_value = t,
                       .false_value = f };
    return cond && t && f ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_prim *rlx_prim_call_new(rlx_context *ctx, rlx_dtype dtype, const rlx_string *op,
                                  const rlx_prim *const *args, size_t count)
{
    rlx_prim_call key = {
        .node.kind = RLX_NODE_PRIM_CALL, .dtype = dtype, .op = op, .args = args, .num_args = count
    };
    return op && rlx_all_there(args, count) ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_prim *rlx_prim_call_z(rlx_context *ctx, rlx_dtype dtype, const char *op,
                                const rlx_prim *const *args, size_t count)
{
    return rlx_prim_call_new(ctx, dtype, rlx_string_z(ctx, op), args, count);
}

const rlx_prim *rlx_load(rlx_context *ctx, const rlx_buffer *buffer,
                         const rlx_prim *const *indices, size_t count)
{
    if (!buffer || !rlx_all_there(indices, count))
        return NULL;
    rlx_dtype dtype = buffer->dtype;
    if (count && rlx_dtype_lanes(rlx_prim_dtype(indices[count - 1])) > 1)
        dtype = rlx_dtype_with_lanes(
            dtype, rlx_dtype_lanes(dtype) * rlx_dtype_lanes(rlx_prim_dtype(indices[count - 1])));
    rlx_buffer_load key = { .node.kind = RLX_NODE_BUFFER_LOAD,
                            .dtype = dtype,
                            .buffer = &buffer->node,
                            .indices = indices,
                            .num_indices = count };
    return rlx_node_intern(ctx, &key.node);
}
