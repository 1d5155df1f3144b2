/* intern_node.c: interning of nodes: one object per content, in any layer. */
#include "ir/ir_int.h"

const rlx_node *rlx_intern_enter(rlx_context *ctx, uint64_t hash, rlx_node *node)
{
    if (rlx_intern_add(&ctx->layers[ctx->top].nodes, hash, node))
        return node;
    return NULL;
}

static uint64_t double_bits(double v)
{
    uint64_t bits;
    memcpy(&bits, &v, sizeof bits);
    return bits;
}

static uint64_t hash_list(uint64_t h, const rlx_node *const *items, size_t count)
{
    h = rlx_hash_mix(h, count);
    for (size_t i = 0; i < count; i++)
        h = rlx_hash_ptr(h, items[i]);
    return h;
}

/* The words of one field. Places and hints do not occur in interned nodes. */
static uint64_t hash_field(uint64_t h, const rlx_node *n, const rlx_field *f)
{
    switch (f->type) {
    case RLX_FIELD_REFS:
    case RLX_FIELD_DEFS:
        return hash_list(h, RLX_AT(n, f->offset, const rlx_node *const *),
                         RLX_AT(n, f->count_offset, size_t));
    case RLX_FIELD_I64:
        return rlx_hash_mix(h, RLX_AT(n, f->offset, uint64_t));
    case RLX_FIELD_F64:
        return rlx_hash_mix(h, double_bits(RLX_AT(n, f->offset, double)));
    case RLX_FIELD_I32:
    case RLX_FIELD_DTYPE:
        return rlx_hash_i32(h, RLX_AT(n, f->offset, int32_t));
    default:
        return rlx_hash_ptr(h, RLX_AT(n, f->offset, void *));
    }
}

static bool same_list(const rlx_node *a, const rlx_node *b, const rlx_field *f)
{
    size_t count = RLX_AT(a, f->count_offset, size_t);
    if (count != RLX_AT(b, f->count_offset, size_t))
        return false;
    return !count || !memcmp(RLX_AT(a, f->offset, const void *),
                             RLX_AT(b, f->offset, const void *), count * sizeof a);
}

static bool same_field(const rlx_node *a, const rlx_node *b, const rlx_field *f)
{
    switch (f->type) {
    case RLX_FIELD_REFS:
    case RLX_FIELD_DEFS:
        return same_list(a, b, f);
    case RLX_FIELD_I32:
    case RLX_FIELD_DTYPE:
        return RLX_AT(a, f->offset, int32_t) == RLX_AT(b, f->offset, int32_t);
    default: /* pointers, int64, and double by its bits: -0.0 and NaN are what they are */
        return RLX_AT(a, f->offset, uint64_t) == RLX_AT(b, f->offset, uint64_t);
    }
}

static bool same_fields(const rlx_node *have, const void *key)
{
    const rlx_node *k = key;
    const rlx_kind_info *info = &rlx_kinds[k->kind];
    if (have->kind != k->kind)
        return false;
    for (int i = 0; i < info->num_fields; i++)
        if (!same_field(have, k, &info->fields[i]))
            return false;
    return true;
}

/* A function description that owns shape variables: they count by position and name, not as
 * objects. */
struct named_key { const rlx_node *node; rlx_memory *memory; bool out_of_memory; };

static bool same_named(const rlx_node *have, const void *key)
{
    struct named_key *k = (struct named_key *)(uintptr_t)key;
    return have->kind == k->node->kind &&
           rlx_equal_named(k->memory, have, k->node, &k->out_of_memory);
}

static uint8_t flags_of(const rlx_node *n)
{
    rlx_cursor c = rlx_cursor_at(n);
    const rlx_field *via;
    const rlx_node *child;
    uint8_t flags = RLX_FLAG_INTERNED | (n->kind == RLX_NODE_FUNC_SINFO ? RLX_FLAG_HAS_FUNC : 0);
    while (rlx_cursor_next(&c, &via, &child))
        flags |= rlx_flags_from(child);
    return flags;
}

/* Nodes of a tuple's or function's struct info, counted as a tree: shared parts as often as
 * they occur. */
static size_t parts_of(const rlx_node *n)
{
    rlx_cursor c = rlx_cursor_at(n);
    const rlx_field *via;
    const rlx_node *child;
    /* each below the limit, their number below the size of memory: no sum is too large */
    size_t parts = 1;
    while (rlx_cursor_next(&c, &via, &child))
        parts += child->id && rlx_family_of(child) == RLX_FAMILY_SINFO ? child->id : 1;
    return parts;
}

/* The same of an expression; 0 for a leaf. */
static uint32_t prim_parts(const rlx_node *n)
{
    rlx_cursor c = rlx_cursor_at(n);
    const rlx_field *via;
    const rlx_node *child;
    uint64_t parts = 0;
    while (rlx_cursor_next(&c, &via, &child))
        parts += child && rlx_family_of(child) == RLX_FAMILY_PRIM && parts < UINT32_MAX
                     ? rlx_prim_parts(child)
                     : 0; /* the number of a buffer is a name */
    return !parts ? 0 : parts < UINT32_MAX ? (uint32_t)parts + 1 : UINT32_MAX;
}

/* Text, descriptions and messages show struct info as a tree, which twenty tuples of two equal
 * fields make endless. */
static bool count_parts(rlx_context *ctx, rlx_node *n)
{
    if (rlx_family_of(n) == RLX_FAMILY_PRIM)
        return n->id = prim_parts(n), true;
    if (n->kind != RLX_NODE_TUPLE_SINFO && n->kind != RLX_NODE_FUNC_SINFO &&
        n->kind != RLX_NODE_EXTENSION_SINFO)
        return true;
    size_t parts = parts_of(n);
    if (parts > RLX_MAX_INFO_PARTS)
        return rlx_error(ctx, RLX_WX10, RLX_NO_PLACE, "this struct info has more than %d parts",
                         RLX_MAX_INFO_PARTS) != NULL;
    n->id = (uint32_t)parts;
    return true;
}

/* A copy of key and its arrays in one block of the top layer. */
static rlx_node *copy_key(rlx_context *ctx, const rlx_node *key)
{
    const rlx_kind_info *info = &rlx_kinds[key->kind];
    size_t arrays = 0;
    for (int i = 0; i < info->num_fields; i++)
        if (rlx_field_is_list(&info->fields[i]))
            arrays += RLX_AT(key, info->fields[i].count_offset, size_t);
    size_t bytes = (info->size + 7u) & ~(size_t)7;
    rlx_node *n = rlx_new(ctx, bytes + arrays * sizeof key);
    if (!n)
        return NULL;
    memcpy(n, key, info->size);
    if (n->kind == RLX_NODE_EXTENSION_SINFO)
        ((rlx_extension_sinfo *)n)->row = rlx_extension_kind_of(ctx, key);
    const rlx_node **list = (const rlx_node **)((char *)n + bytes);
    for (int i = 0; i < info->num_fields; i++) {
        const rlx_field *f = &info->fields[i];
        if (!rlx_field_is_list(f))
            continue;
        size_t count = RLX_AT(key, f->count_offset, size_t);
        if (count)
            memcpy(list, RLX_AT(key, f->offset, const void *), count * sizeof key);
        RLX_AT(n, f->offset, const rlx_node *const *) = count ? list : NULL;
        list += count;
    }
    rlx_node_head(ctx, n, key->kind, flags_of(key));
    return count_parts(ctx, n) ? n : NULL;
}

static const rlx_node *enter_copy(rlx_context *ctx, uint64_t hash, const rlx_node *key)
{
    rlx_node *n = copy_key(ctx, key);
    ctx->distributed |= key->kind == RLX_NODE_SHARDING;
    return n ? rlx_intern_enter(ctx, hash, n) : NULL;
}

static const rlx_node *intern_with_binders(rlx_context *ctx, const rlx_node *key)
{
    struct named_key k = { key, &ctx->memory, false };
    uint64_t hash = rlx_hash(&ctx->memory, key, &k.out_of_memory);
    const rlx_node *have = k.out_of_memory ? NULL : rlx_intern_find(ctx, hash, same_named, &k);
    if (k.out_of_memory) {
        return NULL;
    }
    return have ? have : enter_copy(ctx, hash, key);
}

const rlx_node *rlx_node_intern(rlx_context *ctx, const rlx_node *key)
{
    if (!key)
        return NULL;
    const rlx_kind_info *info = &rlx_kinds[key->kind];
    if (info->mode != RLX_MODE_INTERN)
        return RLX_BUG(ctx, "a node of kind %s cannot be interned", info->name);
    if (key->kind == RLX_NODE_INT_IMM)
        return rlx_int(ctx, ((const rlx_int_imm *)key)->dtype, ((const rlx_int_imm *)key)->value);
    if (key->kind == RLX_NODE_FUNC_SINFO && ((const rlx_func_sinfo *)key)->num_binders)
        return intern_with_binders(ctx, key);
    uint64_t hash = rlx_kind_hash(key->kind);
    for (int i = 0; i < info->num_fields; i++)
        hash = hash_field(hash, key, &info->fields[i]);
    const rlx_node *have = rlx_intern_find(ctx, hash, same_fields, key);
    return have ? have : enter_copy(ctx, hash, key);
}
