/* copy.c: copies of nodes: into a lower layer, another context, or with fresh variables. */
#include "ir/ir_int.h"

/* ---- into another layer or context: everything is made again */

struct move { enum rlx_clone_how how; const rlx_place_map *places; };

static const rlx_node *leave_move(rlx_rebuild *b, const rlx_node *n,
                                  const rlx_node *const *children)
{
    const struct move *m = b->user;
    return rlx_clone(b->ctx, n, children, m->how, m->places);
}

static const rlx_node *move(rlx_context *ctx, const rlx_node *root, uint8_t below, struct move how)
{
    rlx_ptrmap map;
    rlx_ptrmap_init(&map, &ctx->memory);
    rlx_rebuild b = { .ctx = ctx, .map = &map, .user = &how, .leave = leave_move, .below = below };
    const rlx_node *copy = rlx_rebuild_run(&b, root);
    rlx_ptrmap_free(&map);
    return copy;
}

const rlx_node *rlx_copy_down(rlx_context *ctx, const rlx_node *root, uint8_t limit)
{
    return move(ctx, root, limit, (struct move){ RLX_CLONE_MOVE, NULL });
}

bool rlx_move_roots(rlx_context *ctx, const rlx_node **roots, size_t count, bool *used)
{
    rlx_ptrmap map;
    rlx_place_map places = { .used = used };
    struct move how = { RLX_CLONE_MOVE, &places };
    rlx_ptrmap_init(&map, &ctx->memory);
    rlx_rebuild b = { .ctx = ctx, .map = &map, .user = &how, .leave = leave_move };
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        const rlx_node *copy = rlx_rebuild_run(&b, roots[i]);
        good = copy != NULL;
        roots[i] = copy;
    }
    rlx_ptrmap_free(&map);
    return good;
}

const rlx_node *rlx_copy_to(rlx_context *to, const rlx_node *n, const uint32_t *source_map,
                            size_t num_sources)
{
    rlx_place_map places = { source_map, num_sources, NULL };
    return n ? move(to, n, 0, (struct move){ RLX_CLONE_FOREIGN, &places }) : NULL;
}

/* ---- with fresh variables */

enum { FREE = 1, DEFINED = 2 };
struct fresh { rlx_context *ctx; rlx_ptrmap vars; bool failed; };

static void mark(struct fresh *f, const rlx_node *var, uintptr_t as)
{
    if (var && !rlx_ptrmap_has(&f->vars, var) && !rlx_ptrmap_put(&f->vars, var, as))
        f->failed = true;
}

static void mark_alone(struct fresh *f, const rlx_node *n)
{
    rlx_prim_vars vars = { 0 };
    if (!rlx_collect_prim_vars(&f->ctx->memory, n, true, &vars))
        f->failed = true;
    for (size_t i = 0; i < vars.len; i++)
        mark(f, &vars.data[i]->node, DEFINED);
    rlx_vec_free(&f->ctx->memory, &vars);
}

/* Marks what a buffer matched against an argument binds: its pointer and the variables of its
 * shape. */
static void mark_matched(struct fresh *f, const rlx_node *n)
{
    const rlx_buffer *b = rlx_as_buffer(n);
    if (!b)
        return;
    mark(f, b->data, DEFINED);
    for (size_t i = 0; i < b->num_shape; i++)
        mark(f, (const rlx_node *)rlx_position_var(b->shape[i]), DEFINED);
    for (size_t i = 0; i < b->num_strides; i++)
        mark(f, (const rlx_node *)rlx_position_var(b->strides[i]), DEFINED);
    mark(f, rlx_is(b->elem_offset, RLX_NODE_PRIM_VAR) ? b->elem_offset : NULL, DEFINED);
}

static void mark_prim_func(struct fresh *f, const rlx_prim_func *p)
{
    for (size_t i = 0; i < p->num_params; i++)
        mark(f, p->params[i], DEFINED);
    for (size_t i = 0; i < p->num_buffers; i++)
        mark_matched(f, p->buffers[i]);
}

/* Definitions that do not lie in a field of their own. */
static void mark_implied(struct fresh *f, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_FUNCTION: mark_alone(f, n); break;
    case RLX_NODE_PRIM_FUNC: mark_prim_func(f, (const rlx_prim_func *)n); break;
    case RLX_NODE_MATCH_BUFFER_REGION:
        mark_matched(f, ((const rlx_match_buffer_region *)n)->buffer);
        break;
    case RLX_NODE_TIR_BLOCK: {
        const rlx_tir_block *b = (const rlx_tir_block *)n;
        for (size_t i = 0; i < b->num_alloc_buffers; i++) {
            const rlx_buffer *own = rlx_as_buffer(b->alloc_buffers[i]);
            mark(f, own ? &own->node : NULL, DEFINED);
            mark(f, own ? own->data : NULL, DEFINED);
        }
        break;
    }
    case RLX_NODE_VAR_BINDING: mark(f, ((const rlx_var_binding *)n)->var, DEFINED); break;
    default: break;
    }
}

static enum rlx_step find_definitions(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    struct fresh *f = user;
    bool ident = rlx_kinds[n->kind].mode == RLX_MODE_IDENT && n->kind != RLX_NODE_GLOBAL_VAR;
    bool def = rlx_field_is_def(via) && parent->kind != RLX_NODE_FUNC_SINFO &&
               parent->kind != RLX_NODE_BUFFER;
    if (ident)
        mark(f, n, def ? DEFINED : FREE);
    else if (def && rlx_family_of(n) == RLX_FAMILY_SINFO)
        mark_alone(f, n); /* of a match_cast */
    else
        mark_implied(f, n);
    if (f->failed)
        return RLX_STEP_STOP;
    return rlx_node_is_closed(n) ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static bool is_defined(const struct fresh *f, const rlx_node *n)
{
    uintptr_t state;
    return rlx_kinds[n->kind].mode == RLX_MODE_IDENT && rlx_ptrmap_find(&f->vars, n, &state) &&
           state == DEFINED;
}

static bool enter_fresh(rlx_rebuild *b, const rlx_node *n, const rlx_field *via,
                        const rlx_node **out)
{
    bool closed = rlx_node_is_closed(n);
    bool free_var = rlx_kinds[n->kind].mode == RLX_MODE_IDENT && n->kind != RLX_NODE_BUFFER &&
                    !is_defined(b->user, n);
    if (closed || free_var)
        *out = n;
    return true;
}

static const rlx_node *leave_fresh(rlx_rebuild *b, const rlx_node *n,
                                   const rlx_node *const *children)
{
    if (is_defined(b->user, n))
        return rlx_clone(b->ctx, n, children, RLX_CLONE_NEW, NULL);
    return rlx_with_children(b->ctx, n, children);
}

static const rlx_node *copy_fresh(struct fresh *f, const rlx_node *n)
{
    bool out_of_memory = false;
    rlx_walker w = { .enter = find_definitions, .user = f, .annotations = true, .unique = true };
    rlx_walk(&f->ctx->memory, n, &w, &out_of_memory);
    if (f->failed || out_of_memory) {
        return NULL;
    }
    rlx_ptrmap map;
    rlx_ptrmap_init(&map, &f->ctx->memory);
    rlx_rebuild b = {
        .ctx = f->ctx, .map = &map, .user = f, .enter = enter_fresh, .leave = leave_fresh
    };
    const rlx_node *copy = rlx_rebuild_run(&b, n);
    rlx_ptrmap_free(&map);
    return copy;
}

const rlx_node *rlx_copy_fresh(rlx_context *ctx, const rlx_node *n)
{
    struct fresh f = { .ctx = ctx };
    rlx_ptrmap_init(&f.vars, &ctx->memory);
    const rlx_node *copy = n ? copy_fresh(&f, n) : NULL;
    rlx_ptrmap_free(&f.vars);
    return copy;
}
