/* plan.c: the order of a nest's loops, its strip loop or its fused instruction. */
#include "schedule/plan_int.h"

#include "arith/arith.h"

/* ---- indices -------------------------------------------------------------------------------- */

typedef struct search { const rlx_plan_scope *scope; bool unknown; } search;

static enum rlx_step find_unknown(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    search *s = user;
    s->unknown = n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_LET ||
                 (n->kind == RLX_NODE_PRIM_VAR && !s->scope->knows(s->scope->user, n));
    return s->unknown ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Can it be computed in front of the nest, without touching memory or failing? */
static bool is_available(rlx_context *ctx, const rlx_plan_scope *scope, const rlx_prim *p)
{
    if (p->kind == RLX_NODE_INT_IMM)
        return true;
    search s = { scope, false };
    rlx_walker walker = { .enter = find_unknown, .user = &s, .unique = true };
    return rlx_walk(&ctx->memory, p, &walker, NULL) != RLX_STEP_STOP && !s.unknown;
}

/* What the view is made of can be computed in front of the nest. */
static bool is_view_available(rlx_context *ctx, const rlx_plan_scope *scope,
                              const rlx_nest_plan *plan, const rlx_tir_affine *index)
{
    bool is = is_available(ctx, scope, index->base);
    for (size_t i = 0; i < plan->count && is; i++)
        is = !index->coeff[i] || is_available(ctx, scope, index->coeff[i]);
    return is;
}

static void view_index(rlx_context *ctx, const rlx_plan_scope *scope,
                       const rlx_nest_plan *plan, const rlx_prim *index, rlx_plan_view *out)
{
    const rlx_prim *vars[RLX_PLAN_MAX_NEST];
    for (size_t i = 0; i < plan->count; i++)
        vars[i] = plan->loops[i].var;
    out->affine = rlx_tir_affine_of(ctx, index, vars, plan->count, &out->index);
    out->available = out->affine && is_view_available(ctx, scope, plan, &out->index);
}

const rlx_tir_affine *rlx_plan_affine(rlx_context *ctx, const rlx_plan_scope *scope,
                                      const rlx_nest_plan *plan, const rlx_prim *index,
                                      rlx_plan_view *room)
{
    uintptr_t at;
    const rlx_plan_view *v = room;
    if (!rlx_ptrmap_find(&plan->view_of, index, &at))
        view_index(ctx, scope, plan, index, room);
    else if (v = &plan->views.data[at], v->affine && !v->available)
        return is_view_available(ctx, scope, plan, &v->index) ? &v->index : NULL;
    return v->available ? &v->index : NULL;
}

const rlx_prim *rlx_plan_add_product(rlx_context *ctx, const rlx_prim *sum, const rlx_prim *a,
                                     const rlx_prim *b)
{
    const rlx_prim *product = rlx_fold_mul(ctx, rlx_fold_cast(ctx, RELAX_INT64, a), b);
    return sum ? rlx_fold_add(ctx, sum, product) : product;
}

bool rlx_plan_flatten(rlx_context *ctx, const rlx_plan_scope *scope,
                      const rlx_nest_plan *plan, const rlx_prim *const *strides,
                      const rlx_prim *const *indices, size_t count, rlx_tir_affine *out)
{
    *out = (rlx_tir_affine){ .base = rlx_int64(ctx, 0) };
    for (size_t d = 0; d < count; d++) {
        rlx_plan_view room;
        const rlx_tir_affine *a = rlx_plan_affine(ctx, scope, plan, indices[d], &room);
        if (!a)
            return false;
        out->base = rlx_plan_add_product(ctx, out->base, a->base, strides[d]);
        for (size_t i = 0; i < plan->count; i++)
            if (a->coeff[i])
                out->coeff[i] = rlx_plan_add_product(ctx, out->coeff[i], a->coeff[i], strides[d]);
    }
    return out->base != NULL;
}

bool rlx_plan_strides(rlx_context *ctx, const rlx_prim *const *shape, size_t ndim,
                      const rlx_prim **strides)
{
    const rlx_prim *stride = rlx_int64(ctx, 1);
    for (size_t d = ndim; d-- > 0;) {
        strides[d] = stride;
        stride = rlx_fold_mul(ctx, shape[d], stride);
    }
    return stride != NULL;
}

/* ---- what the body does --------------------------------------------------------------------- */

typedef struct planner {
    rlx_context *ctx;
    const rlx_plan_scope *scope;
    rlx_nest_plan *plan;
    size_t num_stores;              /* accesses before the loads */
    bool straight;                  /* stores, lets and ifs only */
    bool guarded;                   /* ifs or values that are only wanted sometimes */
    rlx_ptrmap raw;                 /* variables used other than as an index */
} planner;

/* Out of memory is latched: an index without a view is taken apart where it is asked for. */
static void view_indices(planner *p, const rlx_plan_access *a)
{
    rlx_nest_plan *n = p->plan;
    for (size_t d = 0; d < a->num_indices; d++) {
        if (rlx_ptrmap_has(&n->view_of, a->indices[d]))
            continue;
        rlx_plan_view v;
        view_index(p->ctx, p->scope, n, a->indices[d], &v);
        if (rlx_vec_push(&p->ctx->memory, &n->views, v))
            (void)rlx_ptrmap_put(&n->view_of, a->indices[d], n->views.len - 1);
    }
}

static void push_access(planner *p, rlx_plan_access a)
{
    (void)rlx_vec_push(&p->ctx->memory, &p->plan->accesses, a);
}

static void push_stmt(planner *p, rlx_ptrs *pending, const rlx_stmt *stmt)
{
    if (stmt)
        (void)rlx_vec_push(&p->ctx->memory, pending, (void *)stmt);
}

const rlx_node *rlx_plan_memory(const rlx_node *buffer) { return rlx_as_buffer(buffer)->data; }

static void scan_stmt(planner *p, rlx_ptrs *pending, const rlx_stmt *stmt)
{
    switch (stmt->kind) {
    case RLX_NODE_BUFFER_STORE: {
        const rlx_buffer_store *s = (const rlx_buffer_store *)stmt;
        push_access(p, (rlx_plan_access){ .node = stmt,
                                          .buffer = s->buffer,
                                          .indices = s->indices,
                                          .num_indices = s->num_indices,
                                          .stores = true });
        (void)rlx_ptrmap_put(&p->plan->stored, rlx_plan_memory(s->buffer), 1);
        return;
    }
    case RLX_NODE_LET_STMT: push_stmt(p, pending, ((const rlx_let_stmt *)stmt)->body); return;
    case RLX_NODE_IF_THEN_ELSE:
        p->guarded = true;
        push_stmt(p, pending, ((const rlx_if_stmt *)stmt)->then_case);
        push_stmt(p, pending, ((const rlx_if_stmt *)stmt)->else_case);
        return;
    case RLX_NODE_SEQ_STMT:
        for (size_t i = 0; i < ((const rlx_seq_stmt *)stmt)->num_stmts; i++)
            push_stmt(p, pending, ((const rlx_seq_stmt *)stmt)->stmts[i]);
        return;
    default: p->straight = false; return;
    }
}

/* Does the parent hold its child as an index? */
static bool is_index(const rlx_field *via, const rlx_node *parent)
{
    return parent && ((parent->kind == RLX_NODE_BUFFER_LOAD &&
                       via->offset == offsetof(rlx_buffer_load, indices)) ||
                      (parent->kind == RLX_NODE_BUFFER_STORE &&
                       via->offset == offsetof(rlx_buffer_store, indices)));
}

static bool loads(const planner *p, const rlx_prim *value)
{
    rlx_ptrmap none;
    rlx_ptrmap_init(&none, &p->ctx->memory);
    bool yes = rlx_plan_hangs_on(p->ctx, value, &none);
    rlx_ptrmap_free(&none);
    return yes;
}

/* Do the loops move it by numbers, and does it load nothing? Its range is checked, and its place found, without its value. */
static bool is_plain_index(const planner *p, const rlx_prim *index)
{
    rlx_plan_view room;
    int64_t c;
    const rlx_tir_affine *a = rlx_plan_affine(p->ctx, p->scope, p->plan, index, &room);
    bool is = a != NULL;
    for (size_t i = 0; i < p->plan->count && is; i++)
        is = !a->coeff[i] || rlx_int_literal(a->coeff[i], &c);
    return is && !loads(p, index);
}

/* Is the load in range wherever the nest is? By its loops alone. */
static bool is_inside(const planner *p, const rlx_buffer_load *l)
{
    const rlx_buffer *b = rlx_as_buffer(l->buffer);
    rlx_context *ctx = p->ctx;
    bool is = !l->predicate && b && l->num_indices == b->num_shape;
    for (size_t d = 0; d < l->num_indices && is; d++) {
        rlx_plan_view room;
        int64_t c, first, left;
        const rlx_tir_affine *a = rlx_plan_affine(ctx, p->scope, p->plan, l->indices[d], &room);
        const rlx_prim *low = a ? rlx_fold_cast(ctx, RELAX_INT64, a->base) : NULL, *high = low;
        for (size_t i = 0; i < p->plan->count && a && is; i++) {
            const rlx_nest_loop *o = &p->plan->loops[i];
            if (!a->coeff[i])
                continue;
            is = rlx_int_literal(a->coeff[i], &c) && c >= 0;
            low = rlx_plan_add_product(ctx, low, a->coeff[i], o->min);
            high = rlx_plan_add_product(ctx, high, a->coeff[i], rlx_fold_sub(ctx, rlx_fold_add(ctx, o->min, o->extent), rlx_int64(ctx, 1)));
        }
        is = is && low && high && rlx_int_literal(low, &first) && first >= 0 &&
             rlx_int_literal(rlx_fold_sub(ctx, rlx_fold_cast(ctx, RELAX_INT64, b->shape[d]), high), &left) && left >= 1;
    }
    return is;
}

static enum rlx_step find_unsure(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (l)
        return is_inside(user, l) ? RLX_STEP_SKIP : RLX_STEP_STOP;
    return n->kind == RLX_NODE_PRIM_CALL ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* The right side of `and` and `or` is wanted sometimes, which is nothing to what reads memory that is there. */
static bool is_wanted_sometimes(planner *p, const rlx_node *n)
{
    rlx_walker w = { .enter = find_unsure, .user = p, .unique = true };
    return rlx_walk(&p->ctx->memory, rlx_as_binary(n)->b, &w, NULL) == RLX_STEP_STOP;
}

static enum rlx_step scan_value(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    planner *p = user;
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (n->kind == RLX_NODE_BUFFER_LOAD) {
        const rlx_buffer_load *l = (const rlx_buffer_load *)n;
        push_access(p, (rlx_plan_access){ .node = n,
                                          .buffer = l->buffer,
                                          .indices = l->indices,
                                          .num_indices = l->num_indices });
    }
    if (n->kind == RLX_NODE_PRIM_CALL) {
        const rlx_prim_call *c = (const rlx_prim_call *)n;
        p->guarded |= !c->op || rlx_slice_is(rlx_string_slice(c->op), "if_then_else");
    }
    if (n->kind == RLX_NODE_AND || n->kind == RLX_NODE_OR)
        p->guarded = p->guarded || (loads(p, rlx_as_binary(n)->b) && is_wanted_sometimes(p, n));
    /* Merged loops compute no such index; they may compute others, and the variables inside of them. */
    if (is_index(via, parent) && n->kind != RLX_NODE_PRIM_VAR && is_plain_index(p, (const rlx_prim *)n))
        return RLX_STEP_SKIP;
    if (n->kind == RLX_NODE_PRIM_VAR && via && !rlx_field_is_def(via) && !is_index(via, parent))
        (void)rlx_ptrmap_put(&p->raw, n, 1);
    return RLX_STEP_ON;
}

/* Loops of the nest that an index mentions. */
typedef struct index_loops {
    const rlx_nest_plan *plan;
    const rlx_plan_scope *scope;
    uint64_t loops;
} index_loops;

/* How an access moves along a loop. */
static enum rlx_plan_walk walk_along(const rlx_plan_access *a, size_t loop)
{
    const rlx_prim *c = a->affine ? a->offset.coeff[loop] : a->step[loop];
    return !a->affine && a->hangs_on >> loop & 1 ? RLX_PLAN_SCATTERED
           : !c                      ? RLX_PLAN_FIXED
           : rlx_is_int_value(c, 1) ? RLX_PLAN_CONTIGUOUS
                                     : RLX_PLAN_STRIDED;
}

static enum rlx_step find_loops(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    index_loops *f = user;
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (n->kind != RLX_NODE_PRIM_VAR)
        return RLX_STEP_ON;
    for (size_t i = 0; i < f->plan->count; i++)
        if (f->plan->loops[i].var == n) {
            f->loops |= (uint64_t)1 << i;
            return RLX_STEP_ON;
        }
    if (!f->scope->knows(f->scope->user, n))
        f->loops = UINT64_MAX; /* a name of the body, for anything */
    return RLX_STEP_ON;
}

/* What moves an access that is not literal: some of its indices may be all the same, and the loops they hang on are known. */
static void measure_indices(planner *p, rlx_plan_access *a, const rlx_prim *const *strides)
{
    index_loops all = { p->plan, p->scope, 0 };
    rlx_walker walker = { .enter = find_loops, .user = &all, .unique = true };
    for (size_t d = 0; d < a->num_indices; d++) {
        rlx_plan_view room;
        const rlx_tir_affine *one =
            is_plain_index(p, a->indices[d]) ? rlx_plan_affine(p->ctx, p->scope, p->plan, a->indices[d], &room) : NULL;
        if (!one)
            rlx_walk(&p->ctx->memory, a->indices[d], &walker, NULL);
        for (size_t i = 0; i < p->plan->count && one; i++)
            if (one->coeff[i])
                a->step[i] = rlx_plan_add_product(p->ctx, a->step[i], one->coeff[i], strides[d]);
    }
    a->hangs_on = all.loops;
}

static void measure_access(planner *p, rlx_plan_access *a)
{
    a->hangs_on = UINT64_MAX;
    const rlx_buffer *b = rlx_as_buffer(a->buffer);
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *strides[RLX_TIR_MAX_DIMS];
    rlx_plan_view room;
    int64_t c;
    if (!b || b->num_shape > RLX_TIR_MAX_DIMS || a->num_indices != b->num_shape)
        return;
    for (size_t d = 0; d < b->num_shape; d++)
        shape[d] = rlx_fold_cast(p->ctx, RELAX_INT64, b->shape[d]);
    a->affine = rlx_plan_strides(p->ctx, shape, b->num_shape, strides) &&
                rlx_plan_flatten(p->ctx, p->scope, p->plan, strides, a->indices, a->num_indices,
                                 &a->offset);
    a->literal = a->affine;
    for (size_t d = 0; d < a->num_indices && a->literal; d++) {
        const rlx_tir_affine *one =
            rlx_plan_affine(p->ctx, p->scope, p->plan, a->indices[d], &room);
        a->literal = one != NULL;
        for (size_t i = 0; i < p->plan->count && a->literal; i++)
            a->literal = !one->coeff[i] || rlx_int_literal(one->coeff[i], &c);
    }
    if (!a->literal && rlx_plan_strides(p->ctx, shape, b->num_shape, strides))
        measure_indices(p, a, strides);
}

static void scan_body(planner *p)
{
    rlx_ptrs pending = { 0 };
    rlx_walker walker = { .enter = scan_value, .user = p, .terse = true };
    push_stmt(p, &pending, p->plan->body);
    p->straight = true;
    while (p->straight && pending.len)
        scan_stmt(p, &pending, rlx_vec_pop(&pending));
    rlx_vec_free(&p->ctx->memory, &pending);
    p->num_stores = p->plan->accesses.len;
    if (p->straight)
        rlx_walk(&p->ctx->memory, p->plan->body, &walker, NULL);
}

static enum rlx_step find_load_or_var(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    return n->kind == RLX_NODE_BUFFER_LOAD ||
                   (n->kind == RLX_NODE_PRIM_VAR && rlx_ptrmap_has(user, n))
               ? RLX_STEP_STOP
               : RLX_STEP_ON;
}

bool rlx_plan_hangs_on(rlx_context *ctx, const rlx_prim *p, const rlx_ptrmap *vars)
{
    rlx_walker walker = { .enter = find_load_or_var, .user = (void *)vars, .terse = true };
    return rlx_walk(&ctx->memory, p, &walker, NULL) == RLX_STEP_STOP;
}

static enum rlx_step find_var(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    return n == user ? RLX_STEP_STOP : RLX_STEP_ON;
}

bool rlx_plan_mentions(rlx_context *ctx, const rlx_prim *p, const rlx_prim *var)
{
    rlx_walker walker = { .enter = find_var, .user = (void *)var, .unique = true };
    return rlx_walk(&ctx->memory, p, &walker, NULL) == RLX_STEP_STOP;
}

/* All loops that stand directly in each other and whose bounds are known in front of them. False:
 * a bound is not one integer. */
static bool collect_loops(rlx_context *ctx, const rlx_for_stmt *s, rlx_nest_plan *n)
{
    rlx_ptrmap vars;
    bool ok = true;
    rlx_ptrmap_init(&vars, &ctx->memory);
    n->body = &s->node;
    while (ok && n->body->kind == RLX_NODE_FOR && n->count < RLX_PLAN_MAX_NEST) {
        const rlx_for_stmt *f = (const rlx_for_stmt *)n->body;
        if (rlx_plan_hangs_on(ctx, f->min, &vars) || rlx_plan_hangs_on(ctx, f->extent, &vars) ||
            f->for_kind == RLX_FOR_THREAD_BINDING)
            break;
        rlx_nest_loop *l = &n->loops[n->count++];
        *l = (rlx_nest_loop){ .var = f->loop_var,
                              .min = rlx_fold_cast(ctx, RELAX_INT64, f->min),
                              .extent = rlx_fold_cast(ctx, RELAX_INT64, f->extent),
                              .partial = rlx_tir_is_partial_loop(f) };
        ok = l->min && l->extent && rlx_ptrmap_put(&vars, f->loop_var, 1);
        n->body = f->body;
    }
    rlx_ptrmap_free(&vars);
    return ok;
}

/* A loop that never runs: no place of a store tells the iterations of the others apart then. */
static bool is_empty(const rlx_nest_plan *n)
{
    int64_t extent;
    for (size_t i = 0; i < n->count; i++)
        if (rlx_int_literal(n->loops[i].extent, &extent) && extent <= 0)
            return true;
    return false;
}

/* Rows that are as long as a panel is wide, but lie apart, are rather a box; so are whole ones of elements that lie side by side neither along
 * them nor from one to the next, but along another loop. */
static bool is_rather_box(const rlx_nest_plan *n)
{
    const rlx_plan_pack *k = &n->pack;
    bool along = false;
    for (size_t i = 0; i < n->count; i++)
        along |= (int)i != k->lane && rlx_plan_is_unit(&n->accesses.data[1], (int)i);
    const int depth = k->depth[2] >= 0 ? 2 : k->depth[1] >= 0 ? 1 : 0;
    if (k->four >= 0 || k->depth[depth] < 0)
        return k->four < 0;
    return along && rlx_is_int_value(k->lanes, k->panel) && !rlx_is_int_value(k->low, 1) && !rlx_is_int_value(k->low, 2) &&
           !rlx_is_int_value(k->depth_stride[depth], 1);
}

/* ---- may the loops be reordered? ------------------------------------------------------------ */

bool rlx_plan_same_place(const rlx_plan_access *a, const rlx_plan_access *b)
{
    bool same = a->num_indices == b->num_indices;
    for (size_t i = 0; i < a->num_indices && same; i++)
        same = a->indices[i] == b->indices[i];
    return same;
}

/* Memory that is stored to is touched at one place per iteration: that of its first store, by the
 * same buffer. */
static bool has_one_place_each(planner *p)
{
    rlx_ptrmap first; /* stored memory -> its first store */
    bool one = true;
    rlx_ptrmap_init(&first, &p->ctx->memory);
    for (size_t i = 0; i < p->plan->accesses.len && one; i++) {
        const rlx_plan_access *a = &p->plan->accesses.data[i],
                              *f = rlx_ptrmap_get(&first, rlx_plan_memory(a->buffer));
        if (f)
            one = f->buffer == a->buffer && rlx_plan_same_place(f, a);
        else if (a->stores)
            one = rlx_ptrmap_put(&first, rlx_plan_memory(a->buffer), (uintptr_t)a);
    }
    rlx_ptrmap_free(&first);
    return one;
}

/* Which loops one index determines: alone in it, or digits of a mixed-radix number. */
static void mark_digits(const rlx_nest_plan *n, const rlx_prim *index, bool *yes)
{
    uintptr_t at_view;
    bool used[RLX_PLAN_MAX_NEST] = { false };
    int64_t below = 1, c, extent;
    size_t total = 0, found = 0;
    if (!rlx_ptrmap_find(&n->view_of, index, &at_view) || !n->views.data[at_view].affine)
        return;
    const rlx_tir_affine *a = &n->views.data[at_view].index;
    for (size_t i = 0; i < n->count; i++)
        total += a->coeff[i] != NULL && !rlx_is_int_value(a->coeff[i], 0);
    for (; found < total; found++) {
        size_t at = n->count;
        int64_t best = INT64_MAX;
        for (size_t i = 0; i < n->count; i++)
            if (a->coeff[i] && !used[i] && rlx_int_literal(a->coeff[i], &c) && c != 0 &&
                c != INT64_MIN && (c < 0 ? -c : c) < best)
                best = c < 0 ? -c : c, at = i;
        if (at == n->count || best < below)
            return;
        used[at] = true;
        if (!rlx_int_literal(n->loops[at].extent, &extent) || !rlx_mul_i64(best, extent, &below))
            below = INT64_MAX;
    }
    for (size_t i = 0; i < n->count; i++)
        yes[i] |= used[i];
}

static void find_determined(planner *p)
{
    rlx_nest_plan *n = p->plan;
    for (size_t i = 0; i < n->count; i++)
        n->loops[i].determined = true;
    for (size_t k = 0; k < p->num_stores; k++) {
        const rlx_plan_access *a = &n->accesses.data[k];
        bool yes[RLX_PLAN_MAX_NEST] = { false };
        for (size_t d = 0; d < a->num_indices; d++)
            mark_digits(n, a->indices[d], yes);
        for (size_t i = 0; i < n->count; i++)
            n->loops[i].determined &= yes[i];
    }
}

/* ---- which strip? --------------------------------------------------------------------------- */

int64_t rlx_plan_likely_size(const rlx_prim *extent)
{
    int64_t e;
    return rlx_int_literal(extent, &e) ? e : 64;
}

/* Contiguous memory counts most, then loads that stay put; strips of a few elements are poor. */
static int64_t score_strip(const planner *p, size_t loop)
{
    static const int8_t points_of[2][4] = {
        [false] = { [RLX_PLAN_SCATTERED] = -2, [RLX_PLAN_FIXED] = 3, [RLX_PLAN_CONTIGUOUS] = 4 },
        [true] = { [RLX_PLAN_SCATTERED] = -4, [RLX_PLAN_CONTIGUOUS] = 8 },
    };
    int64_t points = 0, extent = rlx_plan_likely_size(p->plan->loops[loop].extent);
    for (size_t i = 0; i < p->plan->accesses.len; i++) {
        const rlx_plan_access *a = &p->plan->accesses.data[i];
        points += points_of[a->stores][walk_along(a, loop)];
    }
    return points * 16 + (extent < 4 ? -400 : extent < 16 ? -100 : 0);
}

/* place = place + a value, of float32. */
static const rlx_node *own_of_sum(const rlx_nest_plan *n)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_binary *sum = s && s->value->kind == RLX_NODE_ADD ? rlx_as_binary(s->value) : NULL;
    const rlx_buffer_load *own = sum ? rlx_as_buffer_load(sum->a) : NULL;
    return own && own->buffer == s->buffer && !own->predicate && !s->predicate && rlx_as_buffer(s->buffer)->dtype == RELAX_FLOAT32
               ? &own->node
               : NULL;
}

/* One store at places that data says, to memory that is not read, or added to: elements of the innermost loop may come in strips, if
 * each is stored behind the one before. */
static bool is_in_order(const planner *p, bool *adds)
{
    const rlx_nest_plan *n = p->plan;
    const rlx_node *own = own_of_sum(n);
    bool is = p->num_stores == 1 && !p->guarded && walk_along(&n->accesses.data[0], n->count - 1) == RLX_PLAN_SCATTERED;
    *adds = false;
    for (size_t i = 1; i < n->accesses.len && is; i++)
        if (rlx_plan_share_memory(&n->accesses.data[0], &n->accesses.data[i])) {
            is = own == n->accesses.data[i].node && !*adds;
            *adds = true;
        }
    return is;
}

static void choose_strip(planner *p)
{
    rlx_nest_plan *n = p->plan;
    int64_t best = INT64_MIN;
    bool adds = false, in_order = is_in_order(p, &adds);
    for (size_t i = 0; i < n->count; i++) {
        bool may = n->loops[i].determined || (i + 1 == n->count && in_order);
        int64_t points = may ? score_strip(p, i) : INT64_MIN;
        if (may && points >= best) {
            best = points;
            n->strip = (int)i;
        }
    }
    n->adds = adds && n->strip >= 0 && !n->loops[n->strip].determined;
}

/* Does an access go on in loop `outer` where the strip's range ends? */
static bool continues_at(const planner *p, const rlx_plan_access *a, size_t outer)
{
    const rlx_nest_plan *n = p->plan;
    const rlx_prim *zero = rlx_int64(p->ctx, 0), *inner = a->literal ? a->offset.coeff[n->strip] : a->step[n->strip],
                   *next = a->literal ? a->offset.coeff[outer] : a->step[outer];
    if (!a->literal && (a->hangs_on >> n->strip & 1 || a->hangs_on >> outer & 1))
        return false;
    const rlx_prim *end = rlx_fold_mul(p->ctx, n->strip_extent, inner ? inner : zero);
    return end && end == (next ? next : zero);
}

static bool can_merge(const planner *p, size_t loop)
{
    const rlx_nest_plan *n = p->plan;
    bool can = n->loops[loop].role == RLX_PLAN_LOOP && n->loops[loop].determined &&
               !rlx_ptrmap_has(&p->raw, n->loops[loop].var);
    for (size_t k = 0; can && k < n->accesses.len; k++)
        can = continues_at(p, &n->accesses.data[k], loop);
    return can;
}

/* Loops around the strip that only continue it: rows that follow each other in memory. */
static void merge_loops(planner *p)
{
    rlx_nest_plan *n = p->plan;
    bool changed = !p->guarded && !rlx_ptrmap_has(&p->raw, n->loops[n->strip].var);
    while (changed) {
        changed = false;
        for (size_t i = 0; i < n->count && !changed; i++)
            if (can_merge(p, i)) {
                /* the new extent goes on the left, as the strides of outer dimensions do */
                n->strip_extent = rlx_fold_mul(p->ctx, n->loops[i].extent, n->strip_extent);
                n->loops[i].role = RLX_PLAN_MERGED;
                changed = n->strip_extent != NULL;
            }
    }
}

/* ---- one instruction? ----------------------------------------------------------------------- */

size_t rlx_plan_find_access(const rlx_nest_plan *n, const rlx_prim *load)
{
    size_t at = 0;
    while (at < n->accesses.len && n->accesses.data[at].node != load)
        at++;
    return at;
}

static bool reduce_op(enum rlx_node_kind kind, uint8_t *op)
{
    switch (kind) {
    case RLX_NODE_ADD: *op = RLX_KERNEL_REDUCE_ADD; return true;
    case RLX_NODE_MUL: *op = RLX_KERNEL_REDUCE_MUL; return true;
    case RLX_NODE_MIN: *op = RLX_KERNEL_REDUCE_MIN; return true;
    case RLX_NODE_MAX: *op = RLX_KERNEL_REDUCE_MAX; return true;
    default: return false;
    }
}

/* own + a * b, or T.fma(a, b, own); else own op a, and *b is *a. */
static bool match_value(rlx_plan_fused *f, const rlx_prim *value, const rlx_prim **own,
                        const rlx_prim **a, const rlx_prim **b)
{
    const rlx_binary *update = rlx_as_binary(value);
    const rlx_prim_call *call = rlx_as_prim_call(value);
    f->exact = call && call->op && call->num_args == 3 &&
               rlx_slice_is(rlx_string_slice(call->op), "fma");
    if (f->exact) {
        f->op = RLX_KERNEL_REDUCE_ADD;
        *a = call->args[0], *b = call->args[1], *own = call->args[2];
        return f->contract = true;
    }
    if (!update || !reduce_op((enum rlx_node_kind)update->node.kind, &f->op))
        return false;
    f->contract = f->op == RLX_KERNEL_REDUCE_ADD && update->b->kind == RLX_NODE_MUL;
    const rlx_binary *product = f->contract ? rlx_as_binary(update->b) : NULL;
    *own = update->a;
    *a = product ? product->a : update->b;
    *b = product ? product->b : update->b;
    return true;
}

/* Loops with the attribute; they have to be the innermost ones. */
static size_t partial_loops(const rlx_nest_plan *n)
{
    size_t count = 0;
    for (size_t i = 0; i < n->count; i++)
        count += n->loops[i].partial;
    return count;
}

/* own + a, own + (a - b) * (a - b), or own + a * a. */
static bool match_partial(rlx_plan_fused *f, const rlx_prim *value, const rlx_prim **own,
                          const rlx_prim **a, const rlx_prim **b)
{
    const rlx_binary *sum = rlx_as_binary(value);
    if (!sum || sum->node.kind != RLX_NODE_ADD)
        return false;
    const rlx_binary *product = rlx_as_binary(sum->b),
                     *distance = product ? rlx_as_binary(product->a) : NULL;
    bool squares = distance && product->node.kind == RLX_NODE_MUL && product->a == product->b &&
                   distance->node.kind == RLX_NODE_SUB;
    bool own_square = product && product->node.kind == RLX_NODE_MUL && product->a == product->b &&
                      rlx_as_buffer_load(product->a);
    f->value = squares      ? RLX_KERNEL_VALUE_SQUARE
               : own_square ? RLX_KERNEL_VALUE_OWN_SQUARE
                            : RLX_KERNEL_VALUE_ELEMENT;
    *own = sum->a;
    *a = squares ? distance->a : own_square ? product->a : sum->b;
    *b = squares ? distance->b : *a;
    return true;
}

bool rlx_plan_share_memory(const rlx_plan_access *a, const rlx_plan_access *b)
{
    return rlx_plan_memory(a->buffer) == rlx_plan_memory(b->buffer);
}

bool rlx_plan_knows_all(const void *user, const rlx_prim *var) { return true; }

const rlx_plan_scope rlx_plan_everywhere = { .knows = rlx_plan_knows_all };

static bool is_byte(const rlx_prim *value)
{
    const rlx_buffer_load *l = value->kind == RLX_NODE_CAST ? rlx_as_buffer_load(((const rlx_unary *)value)->a) : NULL;
    return l && rlx_kernel_is_byte(rlx_kernel_elem_of(rlx_as_buffer(l->buffer)->dtype));
}

/* A sum in int32 of products of bytes, which an instruction widens. */
static bool may_be_dot(const rlx_buffer_store *s, const rlx_prim *const *values)
{
    return rlx_as_buffer(s->buffer)->dtype == RELAX_INT32 && is_byte(values[1]) && is_byte(values[2]);
}

/* The store is an update of one place by one or two loads. */
static bool match_update(rlx_nest_plan *n, bool widens)
{
    bool partial = partial_loops(n) > 0;
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_prim *values[3];
    rlx_plan_fused *f = &n->fused;
    if (!s || !(partial ? match_partial : match_value)(f, s->value, &values[0], &values[1], &values[2]))
        return false;
    widens = !partial && (widens || may_be_dot(s, values));
    for (int i = 1; i < 3 && widens; i++)
        if (values[i]->kind == RLX_NODE_CAST)
            values[i] = ((const rlx_unary *)values[i])->a;
    const rlx_buffer_load *own = rlx_as_buffer_load(values[0]), *a = rlx_as_buffer_load(values[1]),
                          *b = rlx_as_buffer_load(values[2]);
    if (!own || !a || !b || own->buffer != s->buffer ||
        rlx_plan_memory(a->buffer) == rlx_plan_memory(s->buffer) ||
        rlx_plan_memory(b->buffer) == rlx_plan_memory(s->buffer) || s->predicate || own->predicate || a->predicate || b->predicate)
        return false;
    size_t own_at = rlx_plan_find_access(n, &own->node);
    f->acc = 0;
    f->a = rlx_plan_find_access(n, &a->node);
    f->b = rlx_plan_find_access(n, &b->node);
    return own_at < n->accesses.len && f->a < n->accesses.len && f->b < n->accesses.len &&
           rlx_plan_same_place(&n->accesses.data[own_at], &n->accesses.data[f->acc]);
}

static enum rlx_kernel_elem access_elem(const rlx_nest_plan *n, size_t access)
{
    return rlx_kernel_elem_of(rlx_as_buffer(n->accesses.data[access].buffer)->dtype);
}

/* Only what there are micro-kernels for; the element types are all alike, or can be made so. */
static bool can_update(const rlx_nest_plan *n, bool widens)
{
    const rlx_plan_fused *f = &n->fused;
    rlx_dtype dtype = rlx_as_buffer(n->accesses.data[f->acc].buffer)->dtype;
    enum rlx_kernel_elem e = rlx_kernel_elem_of(dtype);
    bool order = f->op == RLX_KERNEL_REDUCE_MIN || f->op == RLX_KERNEL_REDUCE_MAX;
    const size_t operands[2] = { f->a, f->b };
    for (int i = 0; i < 2; i++) {
        rlx_dtype t = rlx_as_buffer(n->accesses.data[operands[i]].buffer)->dtype;
        if (t != dtype && !(widens && rlx_kernel_copies(e, rlx_kernel_elem_of(t))))
            return false;
    }
    return e == RLX_ELEM_F32 || e == RLX_ELEM_F64 || e == RLX_ELEM_I32 || e == RLX_ELEM_I64 ||
           (!order && (e == RLX_ELEM_U32 || e == RLX_ELEM_U64));
}

/* Bytes summed up in int32. */
static bool is_dot(const rlx_nest_plan *n)
{
    const rlx_plan_fused *f = &n->fused;
    return f->contract && !f->exact && access_elem(n, f->acc) == RLX_ELEM_I32 &&
           rlx_kernel_is_byte(access_elem(n, f->a)) && rlx_kernel_is_byte(access_elem(n, f->b));
}

bool rlx_plan_moves(const rlx_plan_access *a, int loop)
{
    return a->offset.coeff[loop] && !rlx_is_int_value(a->offset.coeff[loop], 0);
}

bool rlx_plan_is_unit(const rlx_plan_access *a, int loop)
{
    return rlx_is_int_value(a->offset.coeff[loop], 1);
}

bool rlx_plan_goes_on(rlx_context *ctx, const rlx_nest_plan *n, int outer, int inner, const rlx_prim *extent)
{
    bool goes_on = true;
    for (size_t k = 0; k < n->accesses.len && goes_on; k++) {
        const rlx_plan_access *a = &n->accesses.data[k];
        const bool moves = rlx_plan_moves(a, inner);
        goes_on = moves == rlx_plan_moves(a, outer) &&
                  (!moves || a->offset.coeff[outer] == rlx_fold_mul(ctx, extent, a->offset.coeff[inner]));
    }
    return goes_on;
}

/* Columns: contiguous in the result and in one operand, the other standing still. */
static int score_column(const rlx_nest_plan *n, int i)
{
    const rlx_plan_fused *f = &n->fused;
    const rlx_plan_access *acc = &n->accesses.data[f->acc], *a = &n->accesses.data[f->a],
                          *b = &n->accesses.data[f->b];
    bool plain = f->contract && ((rlx_plan_is_unit(b, i) && !rlx_plan_moves(a, i)) ||
                                 (rlx_plan_is_unit(a, i) && !rlx_plan_moves(b, i)));
    return 4 * rlx_plan_is_unit(acc, i) + 8 * plain + (!f->contract && rlx_plan_is_unit(a, i) ? 4 : 0) +
           (rlx_plan_likely_size(n->loops[i].extent) >= 8);
}

/* Rows: what moves the first operand and not the second; of windows, the second alone, unless they are bytes. What moves
 * both is better a group. One row is as good as none. */
static int score_row(const rlx_nest_plan *n, int i)
{
    const rlx_plan_fused *f = &n->fused;
    bool a = rlx_plan_moves(&n->accesses.data[f->a], i), b = rlx_plan_moves(&n->accesses.data[f->b], i);
    if (rlx_is_int_value(n->loops[i].extent, 1) || (f->contract && a && b) || (b && is_dot(n)))
        return -1;
    return 2 * (f->contract && a) + (rlx_plan_likely_size(n->loops[i].extent) >= 8);
}

static bool has_role(const rlx_plan_fused *f, int loop)
{
    bool taken = false;
    for (int i = 0; i < RLX_FUSED_LOOPS; i++)
        taken |= f->loop[i] == loop;
    return taken;
}

/* The best of the determined loops that have no role yet; of equals the innermost. */
static int choose_loop(const rlx_nest_plan *n, int (*score)(const rlx_nest_plan *n, int i))
{
    int best = -1, chosen = -1;
    for (int i = 0; i < (int)n->count; i++) {
        int points = n->loops[i].determined && !has_role(&n->fused, i) ? score(n, i) : -1;
        if (points >= 0 && points >= best) {
            best = points;
            chosen = i;
        }
    }
    return chosen;
}

/* The innermost loop that is summed over and has no role yet. */
static int innermost_of_sum(const rlx_nest_plan *n)
{
    for (int i = (int)n->count; i-- > 0;)
        if (!n->loops[i].determined && !has_role(&n->fused, i))
            return i;
    return -1;
}

/* Any loop that runs more than once; where sums stay unfinished, none: they would be fetched again and again. */
static int score_group(const rlx_nest_plan *n, int i)
{
    return rlx_is_int_value(n->loops[i].extent, 1) || innermost_of_sum(n) >= 0 ? -1 : 1;
}

static void choose_roles(rlx_nest_plan *n)
{
    rlx_plan_fused *f = &n->fused;
    for (int i = 0; i < RLX_FUSED_LOOPS; i++)
        f->loop[i] = -1;
    f->loop[RLX_FUSED_STEP] = innermost_of_sum(n);
    f->loop[RLX_FUSED_TURN] = innermost_of_sum(n);
    int column = f->loop[RLX_FUSED_COLUMN] = choose_loop(n, score_column);
    if (f->contract && column >= 0 && rlx_plan_moves(&n->accesses.data[f->a], column) &&
        !rlx_plan_moves(&n->accesses.data[f->b], column)) {
        /* the operand that stands still along the columns comes first */
        size_t a = f->a;
        f->a = f->b;
        f->b = a;
    }
    f->loop[RLX_FUSED_ROW] = choose_loop(n, score_row);
    f->loop[RLX_FUSED_GROUP] = choose_loop(n, score_group);
}

/* Bytes in fours on both sides, beside each other in b: what is fast in bytes. */
static bool is_in_fours(const rlx_nest_plan *n)
{
    const rlx_plan_fused *f = &n->fused;
    const rlx_plan_access *acc = &n->accesses.data[f->acc], *a = &n->accesses.data[f->a], *b = &n->accesses.data[f->b];
    int step = f->loop[RLX_FUSED_STEP], row = f->loop[RLX_FUSED_ROW], column = f->loop[RLX_FUSED_COLUMN];
    return step >= 0 && rlx_is_int_value(n->loops[step].extent, 4) && rlx_plan_is_unit(a, step) &&
           rlx_plan_is_unit(b, step) && column >= 0 && rlx_plan_is_unit(acc, column) &&
           !rlx_plan_moves(a, column) && rlx_plan_moves(b, column) &&
           rlx_is_int_value(b->offset.coeff[column], 4) && (row < 0 || !rlx_plan_moves(b, row));
}

static enum rlx_plan_reason plan_fused(rlx_nest_plan *n, bool widens)
{
    const rlx_plan_fused *f = &n->fused;
    if (!match_update(n, widens))
        return RLX_PLAN_NO_UPDATE;
    bool bytes = is_dot(n);
    if (!bytes && !can_update(n, widens))
        return RLX_PLAN_UPDATE_DTYPE;
    if (!n->accesses.data[f->acc].literal || !n->accesses.data[f->a].literal ||
        !n->accesses.data[f->b].literal)
        return RLX_PLAN_UPDATE_INDEX;
    choose_roles(n);
    if (f->loop[RLX_FUSED_STEP] < 0)
        return RLX_PLAN_NO_STEP;
    if (bytes && !widens && !is_in_fours(n))
        return RLX_PLAN_UPDATE_DTYPE;
    for (size_t i = 0; i < n->count; i++)
        if (!n->loops[i].determined && rlx_plan_moves(&n->accesses.data[f->acc], (int)i))
            return RLX_PLAN_PLACE_MOVES;
    return RLX_PLAN_NO_REASON;
}

/* The sum of a nest whose innermost loops have the attribute. */
static bool plan_partial(rlx_nest_plan *n)
{
    rlx_plan_fused *f = &n->fused;
    size_t steps = partial_loops(n);
    int last = (int)n->count - 1;
    if (steps > 2 || !n->loops[last].partial || (steps == 2 && !n->loops[last - 1].partial) ||
        !match_update(n, false) || !can_update(n, false) || !n->accesses.data[f->acc].literal ||
        !n->accesses.data[f->a].literal || !n->accesses.data[f->b].literal)
        return false;
    enum rlx_kernel_elem e = rlx_kernel_elem_of(rlx_as_buffer(n->accesses.data[f->acc].buffer)->dtype);
    f->contract = false;
    choose_roles(n);
    for (int i = 0; i < (int)steps; i++)
        if (!rlx_is_int_value(n->loops[last - i].min, 0) ||
            rlx_plan_moves(&n->accesses.data[f->acc], last - i) || n->loops[last - i].determined)
            return false;
    if (steps == 1)
        f->loop[RLX_FUSED_TURN] = -1;
    return (e == RLX_ELEM_F32 || e == RLX_ELEM_F64);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The roles are given: the other loops stay, in their order. Accesses are seen along the loop
 * `innermost`. */
static void finish_plan(rlx_nest_plan *n, enum rlx_plan_form form, int innermost)
{
    n->form = (uint8_t)form;
    for (size_t i = 0; i < n->count; i++)
        if (n->loops[i].role == RLX_PLAN_LOOP)
            n->order[n->num_order++] = (uint8_t)i;
    for (size_t i = 0; i < n->accesses.len; i++)
        n->accesses.data[i].walk = (uint8_t)walk_along(&n->accesses.data[i], (size_t)innermost);
}

static void give_roles(rlx_nest_plan *n)
{
    for (int i = 0; i < RLX_FUSED_LOOPS; i++)
        if (n->fused.loop[i] >= 0)
            n->loops[n->fused.loop[i]].role = (uint8_t)(RLX_PLAN_GROUP + i);
}

static enum rlx_plan_reason plan_strip(planner *p)
{
    rlx_nest_plan *n = p->plan;
    choose_strip(p);
    if (n->strip < 0)
        return RLX_PLAN_NOTHING_DETERMINED;
    if (rlx_plan_gathering(p->ctx, p->scope, n))
        n->loops[n->row].role = RLX_PLAN_BOX;
    n->strip_extent = n->loops[n->strip].extent;
    n->loops[n->strip].role = RLX_PLAN_STRIP_LOOP;
    if (n->row < 0 && n->loops[n->strip].determined)
        merge_loops(p);
    finish_plan(n, n->loops[n->strip].determined ? RLX_PLAN_STRIP : RLX_PLAN_ORDERED, n->strip);
    return RLX_PLAN_NO_REASON;
}

/* Loops that are summed over around that of the turns, which goes on in them: they are turns, too, in the same order. */
static void join_turns(planner *p)
{
    rlx_nest_plan *n = p->plan;
    rlx_plan_fused *f = &n->fused;
    const int turn = f->loop[RLX_FUSED_TURN];
    const rlx_prim *turns = turn < 0 ? NULL : n->loops[turn].extent;
    for (int i = turn; i-- > 0 && !f->contract;) {
        rlx_nest_loop *l = &n->loops[i];
        if (l->determined || l->role != RLX_PLAN_LOOP || !rlx_is_int_value(l->min, 0) || !rlx_plan_goes_on(p->ctx, n, i, turn, turns))
            continue;
        f->turns = turns = rlx_fold_mul(p->ctx, turns, l->extent);
        l->role = RLX_PLAN_BOX;
    }
}

static enum rlx_plan_reason plan_body(planner *p)
{
    rlx_nest_plan *n = p->plan;
    scan_body(p);
    if (!p->straight)
        return RLX_PLAN_OTHER_STATEMENT;
    if (!p->num_stores)
        return RLX_PLAN_NO_STORE;
    if (!has_one_place_each(p))
        return RLX_PLAN_TWO_PLACES;
    for (size_t i = 0; i < n->accesses.len; i++)
        view_indices(p, &n->accesses.data[i]);
    find_determined(p);
    for (size_t i = 0; i < n->accesses.len; i++)
        measure_access(p, &n->accesses.data[i]);
    const rlx_plan_fused *f = &n->fused;
    if (partial_loops(n)) {
        if (!plan_partial(n))
            return RLX_PLAN_PARTIAL_SUMS;
        give_roles(n);
        finish_plan(n, RLX_PLAN_PARTIAL, n->fused.loop[RLX_FUSED_STEP]);
        return RLX_PLAN_NO_REASON;
    }
    enum rlx_plan_reason why = plan_fused(n, p->scope->widens), worse;
    if (why == RLX_PLAN_NO_UPDATE && rlx_plan_copying(p->ctx, n, RLX_LONGEST_LANES)) {
        finish_plan(n, RLX_PLAN_COPY, (int)n->count - 1);
        return RLX_PLAN_NO_REASON;
    }
    if (why == RLX_PLAN_NO_UPDATE && rlx_plan_packing(p->ctx, p->scope, n) &&
        !(is_rather_box(n) && rlx_plan_copying(p->ctx, n, 0))) {
        n->loops[n->pack.lane].role = RLX_PLAN_LANE;
        for (int i = 0; i < 3; i++)
            if (n->pack.depth[i] >= 0)
                n->loops[n->pack.depth[i]].role = RLX_PLAN_DEPTH;
        if (n->pack.four >= 0)
            n->loops[n->pack.four].role = RLX_PLAN_DEPTH;
        finish_plan(n, RLX_PLAN_PACK, n->pack.lane);
        return RLX_PLAN_NO_REASON;
    }
    if (why == RLX_PLAN_NO_UPDATE && rlx_plan_copying(p->ctx, n, 0)) {
        finish_plan(n, RLX_PLAN_COPY, (int)n->count - 1);
        return RLX_PLAN_NO_REASON;
    }
    if (why && rlx_plan_unpacking(p->ctx, n)) {
        finish_plan(n, RLX_PLAN_UNPACK, n->unpack.lane);
        return RLX_PLAN_NO_REASON;
    }
    if (why == RLX_PLAN_NO_UPDATE && rlx_plan_normalizing(p->ctx, n)) {
        finish_plan(n, RLX_PLAN_NORMALIZE, (int)n->count - 1);
        return RLX_PLAN_NO_REASON;
    }
    if ((why == RLX_PLAN_NO_UPDATE || why == RLX_PLAN_NO_STEP) && rlx_plan_mapping(p->ctx, n)) {
        finish_plan(n, RLX_PLAN_MAP, n->map.column >= 0 ? n->map.column : n->map.row);
        return RLX_PLAN_NO_REASON;
    }
    if (why) {
        worse = plan_strip(p);
        return worse ? worse : why;
    }
    give_roles(n);
    join_turns(p);
    int column = f->loop[RLX_FUSED_COLUMN];
    finish_plan(n, RLX_PLAN_FUSED, column >= 0 ? column : f->loop[RLX_FUSED_STEP]);
    return RLX_PLAN_NO_REASON;
}

bool rlx_plan_nest(rlx_context *ctx, const rlx_plan_scope *scope, const rlx_for_stmt *nest,
                   rlx_nest_plan *plan)
{
    planner p = { .ctx = ctx, .scope = scope, .plan = plan };
    *plan = (rlx_nest_plan){ .strip = -1, .row = -1 };
    rlx_ptrmap_init(&plan->stored, &ctx->memory);
    rlx_ptrmap_init(&plan->view_of, &ctx->memory);
    rlx_ptrmap_init(&p.raw, &ctx->memory);
    if (!collect_loops(ctx, nest, plan))
        plan->reason = RLX_PLAN_BOUND_TYPE;
    else if (!plan->count)
        plan->reason = RLX_PLAN_NO_LOOP;
    else if (is_empty(plan))
        plan->form = RLX_PLAN_EMPTY;
    else {
        plan->reason = (uint8_t)plan_body(&p);
        rlx_plan_sharing(ctx, nest, plan);
    }
    rlx_ptrmap_free(&p.raw);
    return !ctx->diags.out_of_memory;
}

void rlx_nest_plan_free(rlx_context *ctx, rlx_nest_plan *plan)
{
    rlx_vec_free(&ctx->memory, &plan->accesses);
    rlx_vec_free(&ctx->memory, &plan->views);
    rlx_ptrmap_free(&plan->view_of);
    rlx_ptrmap_free(&plan->stored);
}
