/* plan_storage.c: the linear scan.
 *
 * Free storages of a static size lie in shelves by the magnitude of the size (shelf k: 2^k
 * bytes up to below 2^(k+1)); a tensor takes the first that is large enough from its own shelf
 * or one of the next, else the largest smaller one, which then grows. Symbolic sizes lie on a
 * shelf of their own, where only storage that is provably large enough is taken. Each search
 * looks at a bounded number of storages, so that the scan is linear. Where the function assumes
 * upper bounds of its sizes (tir_var_upper_bound), what they bound is planned at its largest, and
 * so is static.
 *
 * Storage made inside a branch is gone at its end; storage of outer sequences may be used
 * inside, as whatever is placed in it there is dead at the end of the branch.
 */
#include "transform/plan_storage.h"
#include "transform/transform_int.h"

enum { SHELVES = 64, SYMBOLIC = 63, LOOK_AT = 8, NEAR = 4, PROVE_AT_MOST = 4 };

typedef RLX_VEC(uint32_t) numbers;
typedef struct scan {
    rlx_context *ctx;
    rlx_plan *plan;
    const rlx_flow *w;
    const rlx_lifetimes *l;
    rlx_scope scope;             /* what is known of sizes */
    bool bounded;                /* the function assumes upper bounds: storage is made for them */
    numbers shelf[SHELVES];      /* free storages, by number */
    numbers open;                /* storages of the sequences under way, inner ones last */
    uint32_t *dying, *next;      /* by event: tensors (by event + 1) that die after it, chained */
} scan;

/* The storage that a tensor asks for. */
typedef struct demand {
    const rlx_prim *size;        /* NULL: static */
    int64_t bytes;
    const rlx_expr *device, *scope;
} demand;

/* ---- sizes ---------------------------------------------------------------------------------- */

static int shelf_of(int64_t bytes)
{
    int k = 0;
    for (uint64_t n = (uint64_t)bytes; n > 1 && k < SYMBOLIC - 1; n >>= 1)
        k++;
    return k;
}

/* The number that a dimension counts as: itself, or its upper bound. */
static bool is_number(scan *s, const rlx_prim *dim, int64_t *out)
{
    int64_t low;
    if (rlx_int_literal(dim, out))
        return true;
    if (!s->bounded)
        return false;
    rlx_bounds(s->ctx, &s->scope, dim, &low, out);
    return *out != INT64_MAX && *out >= 0;
}

/* Bytes of a tensor of these sizes; false: too large, or out of memory. */
static bool size_of(scan *s, const rlx_shape_expr *shape, rlx_dtype dtype, demand *d)
{
    const rlx_prim *product = NULL;
    d->bytes = (int64_t)rlx_dtype_bytes(dtype);
    for (size_t i = 0; i < shape->num_values; i++) {
        int64_t dim;
        if (is_number(s, shape->values[i], &dim)) {
            if (dim < 0 || !rlx_mul_i64(d->bytes, dim, &d->bytes))
                return false;
        } else {
            product = product ? rlx_fold_mul(s->ctx, product, shape->values[i]) : shape->values[i];
            if (!product)
                return false;
        }
    }
    if (!product)
        return true;
    d->size = rlx_fold_mul(s->ctx, product, rlx_int64(s->ctx, d->bytes));
    if (d->size && !rlx_is_long_size(d->size))
        d->size = rlx_simplify(s->ctx, &s->scope, d->size);
    return d->size != NULL;
}

/* The allocation in an event; NULL: it is something else. */
static const rlx_call *allocation(const rlx_event *e)
{
    const rlx_call *call =
        e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_VAR_BINDING
            ? rlx_is_call_op(rlx_binding_value(e->binding), RLX_OP_ID_BUILTIN_ALLOC_TENSOR)
            : NULL;
    return call && call->num_args == 4 && rlx_as_shape_expr(call->args[0]) &&
                   rlx_as_dtype_imm(call->args[1])
               ? call
               : NULL;
}

static bool demand_of(scan *s, const rlx_call *alloc, demand *d)
{
    *d = (demand){ .device = alloc->args[2], .scope = alloc->args[3] };
    return size_of(s, rlx_as_shape_expr(alloc->args[0]), rlx_as_dtype_imm(alloc->args[1])->value,
                   d);
}

/* ---- taking and giving back ----------------------------------------------------------------- */

static bool same_place(const rlx_plan_slot *a, const demand *d)
{
    return a->device == d->device && a->scope == d->scope;
}

static uint32_t take_at(numbers *shelf, size_t i)
{
    uint32_t n = shelf->data[i];
    shelf->data[i] = rlx_vec_last(shelf);
    shelf->len--;
    return n;
}

/* A storage on this shelf that is large enough, or (grow) any. */
static uint32_t search(scan *s, int k, const demand *d, bool grow)
{
    numbers *shelf = &s->shelf[k];
    size_t least = shelf->len > LOOK_AT ? shelf->len - LOOK_AT : 0;
    for (size_t i = shelf->len; i-- > least;) {
        const rlx_plan_slot *a = &s->plan->storages.data[shelf->data[i]];
        if (same_place(a, d) && (grow || a->bytes >= d->bytes))
            return take_at(shelf, i);
    }
    return RLX_NO_STORAGE;
}

static uint32_t take_static(scan *s, const demand *d)
{
    int own = shelf_of(d->bytes);
    uint32_t n = RLX_NO_STORAGE;
    for (int k = own; n == RLX_NO_STORAGE && k <= own + NEAR && k < SYMBOLIC; k++)
        n = search(s, k, d, false);
    for (int k = own; n == RLX_NO_STORAGE && k >= own - NEAR && k >= 0; k--)
        n = search(s, k, d, true);
    if (n != RLX_NO_STORAGE && s->plan->storages.data[n].bytes < d->bytes)
        s->plan->storages.data[n].bytes = d->bytes;
    return n;
}

static bool surely_fits(scan *s, const rlx_plan_slot *a, const demand *d)
{
    if (rlx_is_long_size(d->size) || rlx_is_long_size(a->size))
        return false;
    return rlx_prove_equal(s->ctx, &s->scope, d->size, a->size) == RLX_EQUAL ||
           rlx_prove_compare(s->ctx, &s->scope, RLX_NODE_LE, d->size, a->size) == RLX_TRUE;
}

static uint32_t take_symbolic(scan *s, const demand *d)
{
    numbers *shelf = &s->shelf[SYMBOLIC];
    size_t least = shelf->len > LOOK_AT ? shelf->len - LOOK_AT : 0, proofs = 0;
    for (size_t i = shelf->len; i-- > least;) {
        const rlx_plan_slot *a = &s->plan->storages.data[shelf->data[i]];
        if (same_place(a, d) && a->size == d->size)
            return take_at(shelf, i);
    }
    for (size_t i = shelf->len; i-- > least && proofs < PROVE_AT_MOST; proofs++) {
        const rlx_plan_slot *a = &s->plan->storages.data[shelf->data[i]];
        if (same_place(a, d) && surely_fits(s, a, d))
            return take_at(shelf, i);
    }
    return RLX_NO_STORAGE;
}

static uint32_t new_storage(scan *s, const demand *d, uint32_t seq)
{
    rlx_memory *m = &s->ctx->memory;
    rlx_plan_slot a = {
        .size = d->size, .bytes = d->bytes, .device = d->device, .scope = d->scope, .seq = seq
    };
    uint32_t n = (uint32_t)s->plan->storages.len;
    if (!rlx_vec_push(m, &s->plan->storages, a) || !rlx_vec_push(m, &s->open, n))
        return RLX_NO_STORAGE;
    return n;
}

static bool give_back(scan *s, uint32_t n, uint32_t at)
{
    rlx_plan_slot *a = &s->plan->storages.data[n];
    a->last = at;
    a->idle = true;
    return rlx_vec_push(&s->ctx->memory, &s->shelf[a->size ? SYMBOLIC : shelf_of(a->bytes)], n);
}

/* ---- events --------------------------------------------------------------------------------- */

static bool place_tensor(scan *s, uint32_t at, const rlx_call *alloc)
{
    demand d;
    bool lost = s->ctx->diags.out_of_memory;
    if (!demand_of(s, alloc, &d))
        /* too large to plan: the run fails where it is allocated */
        return lost || !s->ctx->diags.out_of_memory;
    uint32_t n = d.size ? take_symbolic(s, &d) : take_static(s, &d);
    if (n == RLX_NO_STORAGE)
        n = new_storage(s, &d, s->w->events.data[at].seq);
    if (n == RLX_NO_STORAGE)
        return false;
    s->plan->storages.data[n].idle = false;
    s->plan->storage_of[at] = n;
    s->next[at] = s->dying[s->l->end[at]];
    s->dying[s->l->end[at]] = at + 1;
    return true;
}

/* Takes `count` storages of a sequence from a shelf. They came to it last: what lies below all
 * of them is not looked at. */
static void clear_shelf(scan *s, numbers *shelf, uint32_t seq, size_t count)
{
    size_t at = shelf->len, kept;
    while (count && at)
        count -= s->plan->storages.data[shelf->data[--at]].seq == seq;
    for (kept = at; at < shelf->len; at++)
        if (s->plan->storages.data[shelf->data[at]].seq != seq)
            shelf->data[kept++] = shelf->data[at];
    shelf->len = kept;
}

/* Storages of a sequence that has ended are no longer there for others. */
static void drop_storages_of(scan *s, uint32_t seq)
{
    size_t count[SHELVES] = { 0 };
    while (s->open.len && s->plan->storages.data[rlx_vec_last(&s->open)].seq == seq) {
        const rlx_plan_slot *a = &s->plan->storages.data[rlx_vec_pop(&s->open)];
        count[a->size ? SYMBOLIC : shelf_of(a->bytes)] += a->idle;
    }
    for (int k = 0; k < SHELVES; k++)
        if (count[k])
            clear_shelf(s, &s->shelf[k], seq, count[k]);
}

static bool place_event(scan *s, uint32_t at)
{
    const rlx_event *e = &s->w->events.data[at];
    const rlx_call *alloc = allocation(e);
    if (e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_MATCH_CAST &&
        !rlx_scope_enter(&s->scope, ((const rlx_match_cast *)e->binding)->sinfo))
        return false;
    if (alloc && !s->l->escapes[at] && !place_tensor(s, at, alloc))
        return false;
    for (uint32_t t = s->dying[at]; t; t = s->next[t - 1])
        if (!give_back(s, s->plan->storage_of[t - 1], at))
            return false;
    if (e->kind == RLX_EVENT_LEAVE)
        drop_storages_of(s, e->seq);
    return true;
}

bool rlx_plan_function(rlx_plan *plan, rlx_context *ctx, const rlx_function *f, const rlx_flow *w,
                       const rlx_lifetimes *l)
{
    size_t n = w->events.len;
    rlx_memory *m = &ctx->memory;
    scan s = { .ctx = ctx,
               .plan = plan,
               .w = w,
               .l = l,
               .bounded = rlx_attrs_get(f->attrs, RLX_UPPER_BOUND) != NULL };
    *plan =
        (rlx_plan){ .storage_of = rlx_mem_alloc(m, (n + 1) * sizeof(uint32_t)), .num_events = n };
    s.dying = rlx_mem_alloc_zero(m, (n + 1) * sizeof(uint32_t));
    s.next = rlx_mem_alloc_zero(m, (n + 1) * sizeof(uint32_t));
    rlx_scope_init(&s.scope, ctx, NULL);
    bool good = plan->storage_of && s.dying && s.next;
    for (size_t i = 0; good && i < n; i++)
        plan->storage_of[i] = RLX_NO_STORAGE;
    good = good && rlx_scope_enter_function(&s.scope, f);
    for (size_t i = 0; good && i < n; i++)
        good = place_event(&s, (uint32_t)i);
    rlx_scope_free(&s.scope);
    for (size_t k = 0; k < SHELVES; k++)
        rlx_vec_free(m, &s.shelf[k]);
    rlx_vec_free(m, &s.open);
    rlx_mem_free(m, s.dying, s.dying ? (n + 1) * sizeof(uint32_t) : 0);
    rlx_mem_free(m, s.next, s.next ? (n + 1) * sizeof(uint32_t) : 0);
    return good;
}

void rlx_plan_free(rlx_plan *plan, rlx_context *ctx)
{
    rlx_vec_free(&ctx->memory, &plan->storages);
    rlx_mem_free(&ctx->memory, plan->storage_of,
                 plan->storage_of ? (plan->num_events + 1) * sizeof(uint32_t) : 0);
}
