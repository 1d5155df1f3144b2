/*- lanes: statements on vectors as loops over their lanes.
 *
 *     A[T.Ramp(i * 4, 1, 4)] = B[i * 4:i * 4 + 4] * T.Broadcast(c, 4)
 *  -> for lane in range(4):
 *         A[i * 4 + lane] = B[i * 4 + lane] * c
 *
 * A vector is computed before any of it is stored: where the value reads what the store may
 * write, it waits in a temporary. A named vector (x = B[0:4]) is such a temporary, too. A
 * predicate is an if around each lane; a lane that is not loaded is 0. */
#include "tir/tir_int.h"

typedef struct lane_rewrite {
    const rlx_lanes *lanes;
    const rlx_prim *lane;
    const rlx_node *bad;
} lane_rewrite;

static rlx_dtype scalar_of(rlx_dtype t)
{
    return rlx_dtype_with_lanes(t, 1);
}

bool rlx_is_vector(const rlx_prim *p)
{
    return p && rlx_dtype_lanes(rlx_prim_dtype(p)) > 1;
}

const rlx_prim *rlx_tir_guarded(rlx_context *ctx, const rlx_prim *cond, const rlx_prim *x)
{
    rlx_dtype t = rlx_prim_dtype(x);
    const rlx_prim *none = !x                      ? NULL
                           : rlx_dtype_is_float(t) ? rlx_float(ctx, t, 0)
                                                   : rlx_int(ctx, t, 0);
    return none ? rlx_fold_select(ctx, cond, x, none) : NULL;
}

/* ---- one lane of an expression -------------------------------------------------------------- */

static const rlx_prim *lane_as(const rlx_rewriter *r, rlx_dtype t)
{
    return rlx_fold_cast(r->ctx, t, ((const lane_rewrite *)r->user)->lane);
}

/* A named vector is a temporary; a name inside of an expression names its lane. */
static const rlx_node *lane_of_name(rlx_rewriter *r, const rlx_prim_var *v)
{
    const lane_rewrite *w = r->user;
    const rlx_buffer *b = rlx_as_buffer(rlx_ptrmap_get(&w->lanes->names, v));
    const rlx_prim_var *one =
        b ? NULL : rlx_prim_var_new(r->ctx, v->name, scalar_of(v->dtype), v->place);
    return b ? rlx_load(r->ctx, b, &w->lane, 1) : one ? &one->node : NULL;
}

static const rlx_node *before(rlx_rewriter *r, const rlx_node *n)
{
    lane_rewrite *w = r->user;
    if (n->kind == RLX_NODE_BUFFER)
        return n;
    if (n->kind == RLX_NODE_SHUFFLE || (rlx_as_ramp(n) && rlx_is_vector(rlx_as_ramp(n)->base))) {
        w->bad = n;
        r->failed = true;
        return NULL;
    }
    return n->kind == RLX_NODE_PRIM_VAR && rlx_is_vector(n)
               ? lane_of_name(r, (const rlx_prim_var *)n)
               : NULL;
}

static const rlx_node *loaded_lane(rlx_rewriter *r, const rlx_buffer_load *l)
{
    const rlx_prim *x = rlx_load(r->ctx, rlx_as_buffer(l->buffer), l->indices, l->num_indices);
    return l->predicate && x ? rlx_tir_guarded(r->ctx, l->predicate, x) : x;
}

static const rlx_node *after(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_ramp *ramp = rlx_as_ramp(n);
    const rlx_select *s = rlx_as_select(n);
    const rlx_prim_call *c = rlx_as_prim_call(n);
    const rlx_prim_let *let = rlx_as_prim_let(n);
    const rlx_binary *b = rlx_as_binary(n);
    const rlx_unary *u =
        n->kind == RLX_NODE_CAST || n->kind == RLX_NODE_NOT ? (const rlx_unary *)n : NULL;
    if (n->kind == RLX_NODE_BUFFER_LOAD)
        return loaded_lane(r, (const rlx_buffer_load *)n);
    if (ramp)
        return rlx_fold_add(
            r->ctx, ramp->base,
            rlx_fold_mul(r->ctx, lane_as(r, rlx_prim_dtype(ramp->base)),
                         rlx_fold_cast(r->ctx, rlx_prim_dtype(ramp->base), ramp->stride)));
    if (n->kind == RLX_NODE_BROADCAST)
        return ((const rlx_broadcast *)n)->value;
    if (rlx_family_of(n) != RLX_FAMILY_PRIM || !rlx_is_vector(n))
        return rlx_tir_refold(r, n);
    if (b)
        return b->node.kind <= RLX_NODE_MAX
                   ? rlx_tir_refold(r, n)
                   : rlx_binary_new(r->ctx, (enum rlx_node_kind)b->node.kind, b->a, b->b);
    if (u)
        return n->kind == RLX_NODE_NOT ? rlx_not(r->ctx, u->a)
                                       : rlx_fold_cast(r->ctx, scalar_of(u->dtype), u->a);
    if (s)
        return rlx_select_new(r->ctx, s->cond, s->true_value, s->false_value);
    if (c && !c->callee)
        return rlx_prim_call_new(r->ctx, scalar_of(c->dtype), c->op, c->args, c->num_args);
    if (let) {
        rlx_prim_let key = *let;
        key.dtype = scalar_of(let->dtype);
        return rlx_node_intern(r->ctx, &key.node);
    }
    return n;
}

static const rlx_prim *lane_of(const rlx_lanes *lanes, const rlx_prim *p, const rlx_prim *lane,
                               rlx_place place)
{
    lane_rewrite w = { .lanes = lanes, .lane = lane };
    rlx_rewriter r;
    rlx_rewriter_init(&r, lanes->ctx);
    r.user = &w;
    r.before = before;
    r.after = after;
    const rlx_prim *x = p ? rlx_rewrite(&r, p) : NULL;
    rlx_rewriter_free(&r);
    if (w.bad)
        rlx_error(lanes->ctx, RLX_CG07, place, "%s is not supported in kernels",
                  rlx_kinds[w.bad->kind].name);
    else if (rlx_is_vector(x))
        return rlx_error(lanes->ctx, RLX_CG07, place,
                         "this vector is not supported in kernels: %s", rlx_show(lanes->ctx, p));
    return x;
}

/* ---- statements ----------------------------------------------------------------------------- */

/* The loop over lanes around a statement; one lane needs none. */
static const rlx_stmt *lane_loop(rlx_context *ctx, const rlx_prim *lane, int count,
                                 const rlx_stmt *body, rlx_place place)
{
    const rlx_prim_var *v = rlx_as_prim_var(lane);
    if (!v || !body)
        return body;
    return rlx_for(ctx, v, rlx_int(ctx, v->dtype, 0), rlx_int(ctx, v->dtype, count),
                   RLX_FOR_VECTORIZED, body, place);
}

static const rlx_prim *new_lane(rlx_context *ctx, int count, rlx_dtype t, rlx_place place)
{
    if (count == 1)
        return rlx_int(ctx, t, 0);
    const rlx_string *name = rlx_string_z(ctx, "lane");
    const rlx_prim_var *v = name ? rlx_prim_var_new(ctx, name, t, place) : NULL;
    return v ? &v->node : NULL;
}

static const rlx_stmt *only_if(rlx_context *ctx, const rlx_prim *cond, const rlx_stmt *body,
                               rlx_place place)
{
    rlx_if_stmt *s = cond && body ? rlx_node_new(ctx, RLX_NODE_IF_THEN_ELSE) : NULL;
    if (!s)
        return NULL;
    *s = (rlx_if_stmt){ .node = s->node, .place = place, .cond = cond, .then_case = body };
    return &s->node;
}

static const rlx_buffer *lane_buffer(rlx_context *ctx, const rlx_string *name, rlx_dtype t,
                                     rlx_place place)
{
    const rlx_prim *count = rlx_int(ctx, RELAX_INT32, rlx_dtype_lanes(t));
    name = name ? name : rlx_string_z(ctx, "vector");
    return count && name ? rlx_buffer_new(ctx, name, scalar_of(t), &count, 1, NULL, place) : NULL;
}

/* for lane: buffer[lane] = value of the lane */
static const rlx_stmt *fill(const rlx_lanes *lanes, const rlx_buffer *b, const rlx_prim *value,
                            rlx_place place)
{
    rlx_context *ctx = lanes->ctx;
    int count = rlx_dtype_lanes(rlx_prim_dtype(value));
    const rlx_prim *lane = new_lane(ctx, count, RELAX_INT32, place),
                   *x = lane ? lane_of(lanes, value, lane, place) : NULL;
    return x ? lane_loop(ctx, lane, count, rlx_store(ctx, b, x, &lane, 1, place), place) : NULL;
}

typedef struct overlap {
    const rlx_buffer_store *store;
    bool (*may_alias)(void *, const rlx_node *, const rlx_node *);
    void *user;
} overlap;

static enum rlx_step find_overlap(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    const overlap *o = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (!l || !o->may_alias(o->user, l->buffer, o->store->buffer))
        return RLX_STEP_ON;
    bool same = l->buffer == o->store->buffer && l->num_indices == o->store->num_indices;
    for (size_t i = 0; same && i < l->num_indices; i++)
        same = l->indices[i] == o->store->indices[i];
    return same ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* May storing a lane change what another lane reads? */
static bool overlaps(const rlx_lanes *lanes, const rlx_buffer_store *s)
{
    overlap o = { s, lanes->may_alias, lanes->user };
    rlx_walker w = { .enter = find_overlap, .user = &o, .unique = true };
    bool no_memory = false;
    for (size_t i = 0; i < s->num_indices; i++)
        if (rlx_walk(&lanes->ctx->memory, s->indices[i], &w, &no_memory) == RLX_STEP_STOP)
            return true;
    bool found = rlx_walk(&lanes->ctx->memory, s->value, &w, &no_memory) == RLX_STEP_STOP;
    if (!found && s->predicate)
        found = rlx_walk(&lanes->ctx->memory, s->predicate, &w, &no_memory) == RLX_STEP_STOP;
    return found || (no_memory && true);
}

static int count_lanes(const rlx_buffer_store *s)
{
    int count = rlx_dtype_lanes(rlx_prim_dtype(s->value));
    for (size_t i = 0; i < s->num_indices; i++) {
        int n = rlx_dtype_lanes(rlx_prim_dtype(s->indices[i]));
        count = n > count ? n : count;
    }
    return count;
}

bool rlx_lanes_in_store(const rlx_buffer_store *s)
{
    bool found = s->predicate || rlx_is_vector(s->value);
    for (size_t i = 0; i < s->num_indices && !found; i++)
        found = rlx_is_vector(s->indices[i]);
    return found;
}

static const rlx_stmt *store_lane(const rlx_lanes *lanes, const rlx_buffer_store *s,
                                  const rlx_prim *value, const rlx_prim *lane)
{
    const rlx_prim *at[RLX_TIR_MAX_DIMS], *x = lane_of(lanes, value, lane, s->place);
    if (!x || s->num_indices > RLX_TIR_MAX_DIMS)
        return x ? rlx_error(lanes->ctx, RLX_CG07, s->place,
                             "a buffer of that many dimensions is not supported in kernels")
                 : NULL;
    for (size_t i = 0; i < s->num_indices; i++)
        if (!(at[i] = lane_of(lanes, s->indices[i], lane, s->place)))
            return NULL;
    const rlx_stmt *one =
        rlx_store(lanes->ctx, rlx_as_buffer(s->buffer), x, at, s->num_indices, s->place);
    return s->predicate
               ? only_if(lanes->ctx, lane_of(lanes, s->predicate, lane, s->place), one, s->place)
               : one;
}

const rlx_stmt *rlx_lanes_store(rlx_lanes *lanes, const rlx_buffer_store *s)
{
    rlx_context *ctx = lanes->ctx;
    int count = count_lanes(s);
    const rlx_prim *lane = new_lane(
        ctx, count,
        s->num_indices ? scalar_of(rlx_prim_dtype(s->indices[s->num_indices - 1])) : RELAX_INT32,
        s->place);
    if (rlx_dtype_lanes(rlx_as_buffer(s->buffer)->dtype) > 1)
        return rlx_error(ctx, RLX_CG07, s->place,
                         "a buffer of vectors is not supported in kernels");
    if (!lane || count == 1 || !overlaps(lanes, s)) {
        const rlx_stmt *one = lane ? store_lane(lanes, s, s->value, lane) : NULL;
        return lane_loop(ctx, lane, count, one, s->place);
    }
    /* All lanes first, then the stores. */
    rlx_buffer_store first = *s;
    const rlx_buffer *b = lane_buffer(ctx, NULL, rlx_prim_dtype(s->value), s->place);
    const rlx_prim *waiting = b ? rlx_load(ctx, b, &lane, 1) : NULL;
    const rlx_stmt *parts[2] = { waiting ? fill(lanes, b, s->value, s->place) : NULL, NULL };
    parts[1] =
        parts[0] ? lane_loop(ctx, lane, count, store_lane(lanes, &first, waiting, lane), s->place)
                 : NULL;
    return parts[1] ? rlx_tir_with_temporary(ctx, b, rlx_seq_stmt_new(ctx, parts, 2, s->place),
                                             s->place)
                    : NULL;
}

const rlx_stmt *rlx_lanes_evaluate(rlx_lanes *lanes, const rlx_evaluate *s)
{
    int count = rlx_dtype_lanes(rlx_prim_dtype(s->value));
    const rlx_prim *lane = new_lane(lanes->ctx, count, RELAX_INT32, s->place),
                   *x = lane ? lane_of(lanes, s->value, lane, s->place) : NULL;
    rlx_evaluate *e = x ? rlx_node_new(lanes->ctx, RLX_NODE_EVALUATE) : NULL;
    if (!e)
        return NULL;
    e->place = s->place;
    e->value = x;
    return lane_loop(lanes->ctx, lane, count, &e->node, s->place);
}

const rlx_buffer *rlx_lanes_name(rlx_lanes *lanes, const rlx_let_stmt *s)
{
    const rlx_prim_var *v = rlx_as_prim_var(s->var);
    const rlx_buffer *b = v ? lane_buffer(lanes->ctx, v->name, v->dtype, s->place) : NULL;
    if (b && !rlx_ptrmap_put(&lanes->names, v, (uintptr_t)b))
        return NULL;
    return b;
}

const rlx_stmt *rlx_lanes_fill(rlx_lanes *lanes, const rlx_let_stmt *s, const rlx_buffer *b)
{
    return fill(lanes, b, s->value, s->place);
}
