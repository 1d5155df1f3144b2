/* ir_int.h: what the files of this room share. Nobody else includes it. */
#ifndef RLX_IR_INT_H
#define RLX_IR_INT_H

#include "ir/ir.h"

/* A field of a node, by the offset from its rlx_field. */
#define RLX_AT(n, at, type) (*(type *)((char *)(uintptr_t)(n) + (at)))

/* As large as any node, to build a key on the stack. */
typedef union rlx_any_node {
    rlx_node node;
    rlx_buffer buffer;
    rlx_tir_block block;
    rlx_function function;
    char bytes[192];
} rlx_any_node;

/* Debug builds ask once per context: does the table made from node.def hold together? */
bool rlx_node_table_is_sound(void);

RLX_INLINE bool rlx_field_is_child(const rlx_field *f) { return f->type <= RLX_FIELD_NOTE; }
RLX_INLINE bool rlx_field_is_list(const rlx_field *f)
{
    return f->type == RLX_FIELD_REFS || f->type == RLX_FIELD_DEFS;
}
RLX_INLINE bool rlx_is_relax_var(const rlx_node *n)
{
    return n->kind == RLX_NODE_VAR || n->kind == RLX_NODE_DATAFLOW_VAR;
}
RLX_INLINE bool rlx_is_intern_kind(const rlx_node *n)
{
    return rlx_kinds[n->kind].mode == RLX_MODE_INTERN;
}

/* Lists from a caller: a NULL among them is the failure of an earlier step. */
RLX_INLINE bool rlx_all_there(const rlx_node *const *items, size_t count)
{
    if (count && !items)
        return false;
    for (size_t i = 0; i < count; i++)
        if (!items[i])
            return false;
    return true;
}

/* Steps through the children of a node in field order, absent ones (NULL) and notes included. */
typedef struct rlx_cursor {
    const rlx_node *node;
    const rlx_field *field, *end;
    size_t index;
} rlx_cursor;
RLX_INLINE rlx_cursor rlx_cursor_at(const rlx_node *n)
{
    const rlx_kind_info *k = &rlx_kinds[n->kind];
    return (rlx_cursor){ n, k->fields, k->fields + k->num_fields, 0 };
}
RLX_INLINE bool rlx_cursor_next(rlx_cursor *c, const rlx_field **via, const rlx_node **child)
{
    for (; c->field < c->end; c->field++, c->index = 0) {
        const rlx_field *f = c->field;
        if (!rlx_field_is_child(f))
            continue;
        *via = f;
        if (!rlx_field_is_list(f)) {
            *child = RLX_AT(c->node, f->offset, const rlx_node *);
            c->field++;
            return true;
        }
        if (c->index < RLX_AT(c->node, f->count_offset, size_t)) {
            *child = RLX_AT(c->node, f->offset, const rlx_node *const *)[c->index++];
            return true;
        }
    }
    return false;
}
/* After a child of a list: goes on with the field that follows the list. */
RLX_INLINE void rlx_cursor_skip_list(rlx_cursor *c) { c->field++, c->index = 0; }

/* ---- interning (intern_node.c) */
typedef bool rlx_same_fn(const rlx_node *have, const void *key);
/* The interned node with this hash that `same` accepts: from layer 0 up, NULL if there is none. */
RLX_INLINE const rlx_node *rlx_intern_find(const rlx_context *ctx, uint64_t hash,
                                           rlx_same_fn *same, const void *key)
{
    for (unsigned i = 0; i <= ctx->top; i++) {
        const rlx_intern *t = &ctx->layers[i].nodes;
        size_t at;
        if (!t->len)
            continue;
        for (const rlx_node *n = rlx_intern_first(t, hash, &at); n;
             n = rlx_intern_next(t, hash, &at))
            if (same(n, key))
                return n;
    }
    return NULL;
}
/* Enters a finished node into the top layer's table; NULL (latched) when out of memory. */
const rlx_node *rlx_intern_enter(rlx_context *ctx, uint64_t hash, rlx_node *node);
/* Start of the table hash of a kind; the words of the fields are mixed in, in field order. */
RLX_INLINE uint64_t rlx_kind_hash(enum rlx_node_kind kind)
{
    return rlx_hash_mix(0x2545F4914F6CDD1Dull, (uint64_t)kind);
}
RLX_INLINE uint64_t rlx_hash_ptr(uint64_t h, const void *p)
{
    return rlx_hash_mix(h, (uint64_t)(uintptr_t)p >> 3);
}
RLX_INLINE uint64_t rlx_hash_i32(uint64_t h, int32_t v) { return rlx_hash_mix(h, (uint32_t)v); }
/* Flags that a node inherits from a child. */
RLX_INLINE uint8_t rlx_flags_from(const rlx_node *child)
{
    if (!child)
        return 0;
    if (child->flags & RLX_FLAG_INTERNED)
        return child->flags & (RLX_FLAG_HAS_VARS | RLX_FLAG_HAS_FUNC | RLX_FLAG_AFTER_ERROR);
    return child->kind == RLX_NODE_GLOBAL_VAR || child->kind == RLX_NODE_CONSTANT
               ? 0
               : RLX_FLAG_HAS_VARS;
}
/* Header of a new node in the top layer. */
RLX_INLINE void rlx_node_head(const rlx_context *ctx, rlx_node *n, enum rlx_node_kind kind,
                              uint8_t flags)
{
    *n = (rlx_node){
        .kind = (uint8_t)kind, .layer = ctx->top, .flags = flags, .origin = ctx->origin
    };
}

/* ---- equality with the names of binders (equal.c): what interning of function descriptions
 * asks. */
bool rlx_equal_named(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool *out_of_memory);

/* ---- where two nodes are not equal (equal.c): the pairs from the root to the first that differ,
 * each with the field, and the position in it, that leads to the next. via NULL: function
 * `index` of a module (of a; its place is by name), or the last pair. */
typedef struct rlx_trail_step {
    const rlx_node *a, *b;
    const rlx_field *via;
    size_t index;
} rlx_trail_step;
typedef RLX_VEC(rlx_trail_step) rlx_trail;
/* True: equal. False: see *trail, which is empty when memory ran out. */
bool rlx_equal_trail(rlx_memory *m, const rlx_node *a, const rlx_node *b, bool map_free,
                     rlx_trail *trail, bool *out_of_memory);
/* Is the field, which is no child, the same? Lists: as long. */
bool rlx_same_field(const rlx_node *a, const rlx_node *b, const rlx_field *f);

/* ---- rebuilding (rebuild.c): the one engine under rewriting, substitution and copying.
 * Children first. `enter` may answer at once (*out set), else the node's children are rebuilt
 * and `leave` makes the new node from them. Each node is asked once: `map` remembers. False
 * from enter, NULL from leave: failure. */
typedef struct rlx_rebuild {
    rlx_context *ctx;   /* where working memory comes from and failures are noted */
    rlx_ptrmap *map;
    void *user;
    /* NULL: never answers */
    bool (*enter)(struct rlx_rebuild *r, const rlx_node *n, const rlx_field *via,
                  const rlx_node **out);
    const rlx_node *(*leave)(struct rlx_rebuild *r, const rlx_node *n,
                             const rlx_node *const *children);
    uint8_t below;      /* not 0: nodes of lower layers stay, without being asked or remembered */
} rlx_rebuild;
const rlx_node *rlx_rebuild_run(rlx_rebuild *r, const rlx_node *root);

/* How a node is made again from one with other children. */
enum rlx_clone_how {
    /* a new node of the running pass; variables and buffers get a new number */
    RLX_CLONE_NEW,
    /* the same node in another layer: number and origin stay; arrays, strings and blobs come
     * along */
    RLX_CLONE_MOVE,
    RLX_CLONE_FOREIGN   /* from another context: like MOVE, with new numbers */
};
/* Places in source s become places in sources[s], none for s >= count; sources NULL: they stay.
 * used (may be NULL): the sources met are marked. */
typedef struct rlx_place_map { const uint32_t *sources; size_t count; bool *used; } rlx_place_map;
/* `children` as for rlx_with_children. places may be NULL. NULL when out of memory. */
const rlx_node *rlx_clone(rlx_context *ctx, const rlx_node *n, const rlx_node *const *children,
                          enum rlx_clone_how how, const rlx_place_map *places);
/* Moves what of root lives in layers >= limit into the (lower or fresh) top layer. */
const rlx_node *rlx_copy_down(rlx_context *ctx, const rlx_node *root, uint8_t limit);
/* Moves all that the roots need into the top layer, which must be fresh, and replaces them;
 * used as in rlx_place_map. False: out of memory. */
bool rlx_move_roots(rlx_context *ctx, const rlx_node **roots, size_t count, bool *used);
/* A module's name table for gvars; *ok false when out of memory. NULL for small modules. */
const uint32_t *rlx_module_table(rlx_context *ctx, const rlx_node *const *gvars, size_t count,
                                 bool *ok);

#endif
