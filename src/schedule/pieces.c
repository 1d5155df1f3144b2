/* pieces.c: what schedules are made of. */
#include "schedule/schedule_int.h"

const rlx_prim *rlx_ceil_div(rlx_context *ctx, const rlx_prim *a, int64_t b)
{
    return rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV, rlx_fold_add(ctx, a, rlx_int64(ctx, b - 1)),
                           rlx_int64(ctx, b));
}

const rlx_prim *rlx_least(rlx_context *ctx, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_prove_compare(ctx, NULL, RLX_NODE_LE, a, b) == RLX_TRUE   ? a
           : rlx_prove_compare(ctx, NULL, RLX_NODE_LE, b, a) == RLX_TRUE ? b
                                                                         : rlx_fold_binary(ctx, RLX_NODE_MIN, a, b);
}

const rlx_prim *rlx_greatest(rlx_context *ctx, const rlx_prim *a, const rlx_prim *b)
{
    const rlx_prim *least = rlx_least(ctx, a, b);
    return least == a ? b : least == b ? a : rlx_fold_binary(ctx, RLX_NODE_MAX, a, b);
}

bool rlx_is_at_most(const rlx_prim *extent, int64_t limit)
{
    int64_t v;
    return rlx_int_literal(extent, &v) && v <= limit;
}

int64_t rlx_last_of_two(int64_t all, int64_t part)
{
    const int64_t parts = (all + part - 1) / part;
    return parts / 2 * part + (parts % 2 ? all - (parts - 1) * part : 0);
}

rlx_sched_loop rlx_sched_loop_new(rlx_context *ctx, const char *name, const rlx_prim *extent)
{
    rlx_sched_loop l = { .extent = extent };
    if (rlx_is_int_value(extent, 1)) {
        l.var = rlx_int64(ctx, 0);
        return l;
    }
    const rlx_string *text = rlx_string_z(ctx, name);
    rlx_prim_var *v = text ? rlx_prim_var_new(ctx, text, RELAX_INT64, RLX_NO_PLACE) : NULL;
    l.var = v ? &v->node : NULL;
    return l;
}

const rlx_stmt *rlx_sched_wrap(rlx_context *ctx, const rlx_sched_loop *l, const rlx_stmt *body,
                               rlx_place place)
{
    const rlx_prim_var *v = l->var ? rlx_as_prim_var(l->var) : NULL;
    if (!body || !l->var || !v)
        return l->var ? body : NULL;
    return rlx_for(ctx, v, rlx_int(ctx, v->dtype, 0), rlx_fold_cast(ctx, v->dtype, l->extent),
                   RLX_FOR_SERIAL, body, place);
}

const rlx_stmt *rlx_sched_both(rlx_context *ctx, const rlx_stmt *first, const rlx_stmt *second,
                               rlx_place place)
{
    const rlx_stmt *parts[2] = { first, second };
    return first && second ? rlx_seq_stmt_new(ctx, parts, 2, place) : NULL;
}

const rlx_stmt *rlx_sched_if(rlx_context *ctx, const rlx_prim *cond, const rlx_stmt *then, const rlx_stmt *other, rlx_place place)
{
    rlx_if_stmt *s = cond && then ? rlx_node_new(ctx, RLX_NODE_IF_THEN_ELSE) : NULL;
    if (!s)
        return NULL;
    s->place = place;
    s->cond = cond;
    s->then_case = then;
    s->else_case = other;
    return &s->node;
}

bool rlx_is_compact(const rlx_buffer *b)
{
    return b->num_strides == 0 &&
           (!b->elem_offset || b->elem_offset->kind == RLX_NODE_PRIM_VAR ||
            rlx_is_int_value(b->elem_offset, 0));
}

const rlx_buffer *rlx_view_new(rlx_context *ctx, const rlx_buffer *b, const rlx_prim *const *shape,
                               size_t ndim)
{
    rlx_buffer *view = rlx_node_new(ctx, RLX_NODE_BUFFER);
    const rlx_prim **copy = view ? rlx_new_copy(ctx, shape, ndim * sizeof *copy) : NULL;
    if (!copy)
        return NULL;
    rlx_node head = view->node;
    *view = *b;
    view->node = head;
    view->shape = copy;
    view->num_shape = ndim;
    view->strides = NULL;
    view->num_strides = 0;
    view->elem_offset = rlx_int64(ctx, 0);
    return view->elem_offset ? view : NULL;
}

const rlx_stmt *rlx_declare_view(rlx_context *ctx, const rlx_buffer *view, const rlx_stmt *body,
                                 rlx_place place)
{
    rlx_decl_buffer *d = view && body ? rlx_node_new(ctx, RLX_NODE_DECL_BUFFER) : NULL;
    if (!d)
        return NULL;
    d->place = place;
    d->buffer = &view->node;
    d->body = body;
    return &d->node;
}

/* ---- nests */

typedef struct rewriting { const rlx_stmt *(*split)(rlx_context *ctx, const rlx_for_stmt *nest); } rewriting;

static const rlx_node *rewrite_nest(rlx_rewriter *r, const rlx_node *n)
{
    const rewriting *w = r->user;
    const rlx_for_stmt *nest = rlx_as_for_stmt(n);
    return nest ? w->split(r->ctx, nest) : rlx_family_of(n) == RLX_FAMILY_PRIM ? n : NULL;
}

const rlx_stmt *rlx_rewrite_nests(rlx_context *ctx, const rlx_stmt *body, const rlx_stmt *(*split)(rlx_context *ctx, const rlx_for_stmt *nest))
{
    rewriting w = { split };
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    r.before = rewrite_nest;
    r.user = &w;
    const rlx_stmt *out = rlx_rewrite(&r, body);
    rlx_rewriter_free(&r);
    return out;
}
