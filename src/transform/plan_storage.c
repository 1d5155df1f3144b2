/*- plan_storage.c: a scan over the events of a function.
 *
 * Tensors of static sizes lie in an arena: one storage for each sequence, in which each has a place
 * (plan_arena.h). So do those of symbolic sizes, in arenas that are measured in a size of their own:
 *     n * 65536, n * 98304, n * 131072    are 65536, 98304, 131072 of n, at offsets o * n of one storage
 *     (n - 2) * 512                       is no larger than 512 of n, and nearly as large
 * An arena ends where a Relax function or an unknown one is called, which may need as
 * much again, and so on; what is needed across such a call has a storage of its own, like
 * what is few bytes for each of n: these are used again when their tensor is dead.
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
#include "transform/plan_arena.h"
#include "transform/transform_int.h"

enum { SHELVES = 64, SYMBOLIC = 63, LOOK_AT = 8, NEAR = 4, PROVE_AT_MOST = 4 };
/* Offsets in an arena are multiples of RLX_ARENA_ALIGN of its unit. A tensor that is so many bytes for one of it wastes little; a
 * smaller one has company as large. */
enum { LEAST_TIMES = 512 };
/* Variables of a scope at most that sizes are compared for, and what each of them is then. */
enum { SAMPLE_VARS = 32, SAMPLE = 1 << 20 };

typedef RLX_VEC(uint32_t) numbers;
/* An arena of a sequence between two calls; its tensors once they are sorted. */
typedef struct arena {
    uint32_t storage, calls;
    uint32_t next;               /* the one that the sequence had before, + 1 */
    const rlx_prim *unit;        /* its bytes are counted in it; NULL: in 1 */
    size_t first, count;
} arena;
typedef struct arena_item { uint32_t arena, event; } arena_item;
typedef struct scan {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_plan *plan;
    const rlx_flow *w;
    const rlx_lifetimes *l;
    rlx_scope scope;             /* what is known of sizes */
    bool bounded;                /* the function assumes upper bounds: storage is made for them */
    bool outputs;                /* bounded tensors that leave it have storage, too */
    numbers shelf[SHELVES];      /* free storages, by number */
    numbers open;                /* storages of the sequences under way, inner ones last */
    uint32_t *dying, *next;      /* by event: tensors (by event + 1) that die after it, chained */
    uint32_t *calls;             /* by event: calls up to it at which arenas end */
    RLX_VEC(arena) arenas;
    uint32_t *arena_of;          /* by sequence: its latest arena + 1 */
    RLX_VEC(arena_item) items;
    int64_t *bytes;              /* by event: of the tensor in an arena, counted in the unit of that */
} scan;

/* The storage that a tensor asks for. */
typedef struct demand {
    const rlx_prim *size;        /* NULL: static */
    int64_t bytes;
    const rlx_prim *unit;        /* size is `times` of it; NULL: static */
    int64_t times;
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
static bool is_number(scan *s, const rlx_prim *dim, bool largest, int64_t *out)
{
    int64_t low;
    if (rlx_int_literal(dim, out))
        return true;
    if (!s->bounded || !largest)
        return false;
    rlx_bounds(s->ctx, &s->scope, dim, &low, out);
    return *out != INT64_MAX && *out >= 0;
}

/* Writes a size as a multiple of a unit without a factor. */
static bool split_unit(scan *s, const rlx_prim *product, demand *d)
{
    const rlx_prim *unit = rlx_is_long_size(product) ? product : rlx_simplify(s->ctx, &s->scope, product);
    const rlx_binary *mul = unit && unit->kind == RLX_NODE_MUL ? rlx_as_binary(unit) : NULL;
    int64_t factor;
    d->unit = unit;
    d->times = d->bytes;
    if (mul && rlx_int_literal(mul->b, &factor) && factor > 0 && rlx_mul_i64(d->times, factor, &d->times))
        d->unit = mul->a;
    else
        d->times = d->bytes;
    return unit != NULL;
}

/* Bytes of a tensor of these sizes (largest: at their upper bounds); false: too large, or out of
 * memory. */
static bool size_of(scan *s, const rlx_shape_expr *shape, rlx_dtype dtype, bool largest, demand *d)
{
    const rlx_prim *product = NULL;
    d->size = d->unit = NULL;
    d->bytes = (int64_t)rlx_dtype_bytes(dtype);
    for (size_t i = 0; i < shape->num_values; i++) {
        int64_t dim;
        if (is_number(s, shape->values[i], largest, &dim)) {
            if (dim < 0 || !rlx_mul_i64(d->bytes, dim, &d->bytes))
                return false;
        } else {
            product = product ? rlx_fold_mul(s->ctx, product, shape->values[i]) : shape->values[i];
            if (!product)
                return false;
        }
    }
    d->times = d->bytes;
    if (!product)
        return true;
    if (!split_unit(s, product, d))
        return false;
    d->size = rlx_fold_mul(s->ctx, product, rlx_int64(s->ctx, d->bytes));
    if (d->size && !rlx_is_long_size(d->size))
        d->size = rlx_simplify(s->ctx, &s->scope, d->size);
    return d->size != NULL;
}

static const rlx_prim *size_in(scan *s, const demand *d)
{
    return d->size ? d->size : rlx_int64(s->ctx, d->bytes);
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
                   true, d);
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

/* ---- arenas --------------------------------------------------------------------------------- */

/* May what is called here ask for memory of its own for long? */
static bool ends_arenas(const scan *s, const rlx_event *e)
{
    const rlx_call *call =
        e->kind == RLX_EVENT_BIND ? rlx_as_call(rlx_binding_value(e->binding)) : NULL;
    const rlx_global_var *gv = call ? rlx_as_global_var(call->op) : NULL;
    const rlx_extern_func *named = call ? rlx_as_extern_func(call->op) : NULL;
    int64_t at = gv      ? rlx_module_index(s->module, gv)
                 : named ? rlx_module_find(s->module, rlx_string_slice(named->symbol))
                         : -1;
    return call && (rlx_as_var(call->op) || (at >= 0 && rlx_as_function(s->module->functions[at])));
}

static void count_calls(scan *s)
{
    uint32_t calls = 0;
    for (size_t i = 0; i < s->w->events.len; i++)
        s->calls[i] = calls += ends_arenas(s, &s->w->events.data[i]);
}

/* A size at one large value of all variables; 0: not known. */
static double sampled(scan *s, const rlx_prim *size)
{
    const rlx_prim_var *vars[SAMPLE_VARS];
    int64_t values[SAMPLE_VARS], out;
    size_t count = s->scope.facts.len;
    if (count > SAMPLE_VARS)
        return 0;
    for (size_t i = 0; i < count; i++) {
        vars[i] = s->scope.facts.data[i].var;
        values[i] = SAMPLE;
    }
    rlx_assignment a = { vars, values, count };
    return rlx_prim_evaluate(size, &a, &s->ctx->memory, &out) ? (double)out : 0;
}

/* How many of this unit surely hold what is asked for, and hardly more; 0: none that is known. */
static int64_t times_of(scan *s, const rlx_prim *unit, const demand *d)
{
    double have = sampled(s, unit), want = sampled(s, d->unit);
    if (have < 1 || want < 1 || want > have * 1.001 || want * (double)d->times / have > (double)RLX_ARENA_MOST / 2)
        return 0;
    int64_t times = (int64_t)(want * (double)d->times / have * .999999) + RLX_ARENA_ALIGN;
    times -= times % RLX_ARENA_ALIGN;
    const rlx_prim *all = rlx_fold_mul(s->ctx, unit, rlx_int64(s->ctx, times));
    return all && !rlx_is_long_size(all) &&
                   rlx_prove_compare(s->ctx, &s->scope, RLX_NODE_LE, d->size, all) == RLX_TRUE
               ? times
               : 0;
}

static bool wastes_little(const demand *d)
{
    return !d->unit || d->times % RLX_ARENA_ALIGN == 0 || d->times >= LEAST_TIMES;
}

/* The sequence's arena at *link becomes the first that is looked at. */
static uint32_t move_to_front(scan *s, uint32_t seq, uint32_t *link)
{
    uint32_t at = *link;
    *link = s->arenas.data[at - 1].next;
    s->arenas.data[at - 1].next = s->arena_of[seq];
    s->arena_of[seq] = at;
    return at - 1;
}

/* An arena of the sequence that this fits in, which then counts in its unit; RLX_NO_STORAGE: there is none. */
static uint32_t find_arena(scan *s, uint32_t seq, uint32_t calls, demand *d)
{
    uint32_t *link = &s->arena_of[seq];
    for (int i = 0; *link && i < LOOK_AT; i++) {
        arena *a = &s->arenas.data[*link - 1];
        const rlx_plan_slot *slot = &s->plan->storages.data[a->storage];
        if (a->calls == calls && a->unit == d->unit && same_place(slot, d) &&
            (wastes_little(d) || slot->bytes >= LEAST_TIMES))
            return move_to_front(s, seq, link);
        link = &a->next;
    }
    link = &s->arena_of[seq];
    bool may_cover = d->unit && wastes_little(d) && !rlx_is_long_size(d->size);
    for (int i = 0; may_cover && *link && i < PROVE_AT_MOST; i++) {
        arena *a = &s->arenas.data[*link - 1];
        bool asked = a->calls == calls && a->unit && same_place(&s->plan->storages.data[a->storage], d);
        int64_t times = asked ? times_of(s, a->unit, d) : 0;
        if (times) {
            d->times = times;
            return move_to_front(s, seq, link);
        }
        link = &a->next;
    }
    return RLX_NO_STORAGE;
}

/* The arena for a tensor that is allocated here; RLX_NO_STORAGE: it lives beyond it, or out of
 * memory (latched). */
static uint32_t arena_for(scan *s, uint32_t at, demand *d)
{
    uint32_t seq = s->w->events.data[at].seq;
    if (d->times > RLX_ARENA_MOST || s->calls[at] != s->calls[s->l->end[at]] ||
        s->items.len >= RLX_ARENA_TENSORS)
        return RLX_NO_STORAGE;
    uint32_t known = find_arena(s, seq, s->calls[at], d);
    if (known != RLX_NO_STORAGE || !wastes_little(d))
        return known;
    arena a = { .storage = new_storage(s, d, seq), .calls = s->calls[at], .next = s->arena_of[seq], .unit = d->unit };
    if (a.storage == RLX_NO_STORAGE || !rlx_vec_push(&s->ctx->memory, &s->arenas, a))
        return RLX_NO_STORAGE;
    s->plan->storages.data[a.storage].unit = d->unit;
    s->plan->storages.data[a.storage].bytes = d->times;
    return (s->arena_of[seq] = (uint32_t)s->arenas.len) - 1;
}

static bool join_arena(scan *s, uint32_t at, uint32_t number, const demand *d)
{
    uint32_t storage = s->arenas.data[number].storage, end = s->l->end[at];
    rlx_plan_slot *a = &s->plan->storages.data[storage];
    s->plan->storage_of[at] = storage;
    s->plan->root_of[at] = at;
    s->bytes[at] = d->times;
    a->bytes = a->bytes < d->times ? d->times : a->bytes; /* until it is placed */
    a->last = a->last < end ? end : a->last;
    return rlx_vec_push(&s->ctx->memory, &s->items, ((arena_item){ number, at }));
}

static bool place_arena(scan *s, const arena *a, const uint32_t *events)
{
    rlx_memory *m = &s->ctx->memory;
    rlx_arena_tensor *t = rlx_mem_alloc(m, (a->count + 1) * sizeof *t);
    for (size_t i = 0; t && i < a->count; i++) {
        uint32_t at = events[a->first + i];
        t[i] = (rlx_arena_tensor){ at, s->l->end[at], s->bytes[at], 0 };
    }
    int64_t bytes = t ? rlx_arena_place(s->ctx, t, a->count) : -1;
    for (size_t i = 0; t && i < a->count; i++)
        s->plan->offset_of[t[i].first] = t[i].offset;
    rlx_plan_slot *slot = &s->plan->storages.data[a->storage];
    slot->bytes = bytes;
    if (bytes >= 0 && a->unit)
        slot->size = rlx_fold_mul(s->ctx, a->unit, rlx_int64(s->ctx, bytes));
    rlx_mem_free(m, t, t ? (a->count + 1) * sizeof *t : 0);
    return bytes >= 0 && (!a->unit || slot->size);
}

static bool place_arenas(scan *s)
{
    rlx_memory *m = &s->ctx->memory;
    size_t size = (s->items.len + 1) * sizeof(uint32_t);
    uint32_t *events = rlx_mem_alloc(m, size);
    bool good = events != NULL;
    if (good)
        rlx_vec_group(&s->items, arena, event, &s->arenas, events);
    for (size_t i = 0; good && i < s->arenas.len; i++)
        good = place_arena(s, &s->arenas.data[i], events);
    rlx_mem_free(m, events, events ? size : 0);
    return good;
}

/* ---- events --------------------------------------------------------------------------------- */

static bool place_tensor(scan *s, uint32_t at, const rlx_call *alloc)
{
    demand d;
    bool lost = s->ctx->diags.out_of_memory;
    if (!demand_of(s, alloc, &d))
        /* too large to plan: the run fails where it is allocated */
        return lost || !s->ctx->diags.out_of_memory;
    uint32_t n = arena_for(s, at, &d);
    if (n != RLX_NO_STORAGE)
        return join_arena(s, at, n, &d);
    n = d.size ? take_symbolic(s, &d) : take_static(s, &d);
    if (n == RLX_NO_STORAGE)
        n = new_storage(s, &d, s->w->events.data[at].seq);
    if (n == RLX_NO_STORAGE)
        return false;
    s->plan->storages.data[n].idle = false;
    s->plan->storage_of[at] = n;
    s->plan->root_of[at] = at;
    s->next[at] = s->dying[s->l->end[at]];
    s->dying[s->l->end[at]] = at + 1;
    return true;
}

/* A tensor of symbolic sizes that leaves the function: storage of its own for the largest that it may
 * be. */
static bool place_output(scan *s, uint32_t at, const rlx_call *alloc)
{
    demand d;
    bool lost = s->ctx->diags.out_of_memory;
    if (!(alloc->args[0]->flags & RLX_FLAG_HAS_VARS) || !demand_of(s, alloc, &d))
        return lost || !s->ctx->diags.out_of_memory;
    rlx_plan_slot a = { .size = d.size, .bytes = d.bytes, .device = d.device, .scope = d.scope, .kept = true,
                        .seq = s->w->events.data[at].seq };
    s->plan->storage_of[at] = (uint32_t)s->plan->storages.len;
    s->plan->root_of[at] = at;
    return rlx_vec_push(&s->ctx->memory, &s->plan->storages, a);
}

/* memory.view of a planned tensor, with all that it takes written out; NULL: something else. */
static const rlx_call *view_of(const scan *s, const rlx_event *e, uint32_t *of)
{
    const rlx_call *call =
        e->kind == RLX_EVENT_BIND && e->binding->kind == RLX_NODE_VAR_BINDING
            ? rlx_is_call_op(rlx_binding_value(e->binding), RLX_OP_ID_MEMORY_VIEW)
            : NULL;
    size_t event = call && call->num_args == 4 ? rlx_flow_event_of(s->w, call->args[0]) : SIZE_MAX;
    *of = (uint32_t)event;
    return event != SIZE_MAX && s->plan->storage_of[event] != RLX_NO_STORAGE &&
                   rlx_as_shape_expr(call->args[1]) && rlx_as_dtype_imm(call->args[2]) &&
                   rlx_as_prim_value(call->args[3])
               ? call
               : NULL;
}

/* Does a view surely lie in its tensor? One that does not is checked when it is made. */
static bool lies_inside(scan *s, const rlx_call *view, const rlx_prim *offset)
{
    demand d = { 0 };
    const rlx_tensor_sinfo *whole =
        rlx_as_tensor_sinfo(((const rlx_var *)view->args[0])->sinfo);
    const rlx_shape_expr *shape = whole ? rlx_as_shape_expr(whole->shape) : NULL;
    rlx_dtype dtype = rlx_as_dtype_imm(view->args[2])->value;
    if (!shape || rlx_is_long_size(offset) || !rlx_dtype_bytes(dtype) ||
        rlx_dtype_bytes(dtype) > rlx_dtype_bytes(whole->dtype) ||
        !size_of(s, rlx_as_shape_expr(view->args[1]), dtype, false, &d))
        return false;
    const rlx_prim *zero = rlx_int64(s->ctx, 0), *end = rlx_fold_add(s->ctx, offset, size_in(s, &d));
    if (!size_of(s, shape, whole->dtype, false, &d))
        return false;
    const rlx_prim *have = size_in(s, &d);
    return zero && end && have && !rlx_is_long_size(end) && !rlx_is_long_size(have) &&
           (rlx_is_int_value(offset, 0) ||
            (rlx_prove_compare(s->ctx, &s->scope, RLX_NODE_GE, offset, zero) == RLX_TRUE &&
             whole->dtype == dtype)) &&
           (rlx_prove_equal(s->ctx, &s->scope, end, have) == RLX_EQUAL ||
            rlx_prove_compare(s->ctx, &s->scope, RLX_NODE_LE, end, have) == RLX_TRUE);
}

static bool place_view(scan *s, uint32_t at, uint32_t of, const rlx_call *view)
{
    rlx_plan *plan = s->plan;
    const rlx_prim *offset = rlx_as_prim_value(view->args[3])->value;
    if (!lies_inside(s, view, offset))
        return !s->ctx->diags.out_of_memory;
    plan->storage_of[at] = plan->storage_of[of];
    plan->root_of[at] = plan->root_of[of];
    plan->shift_of[at] = plan->shift_of[of] ? rlx_fold_add(s->ctx, plan->shift_of[of], offset)
                                            : offset;
    return plan->shift_of[at] != NULL;
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
    uint32_t of;
    const rlx_call *view = view_of(s, e, &of);
    if (alloc && !s->l->escapes[at] && !place_tensor(s, at, alloc))
        return false;
    if (alloc && s->l->escapes[at] && s->outputs && !place_output(s, at, alloc))
        return false;
    if (view && !place_view(s, at, of, view))
        return false;
    for (uint32_t t = s->dying[at]; t; t = s->next[t - 1])
        if (!give_back(s, s->plan->storage_of[t - 1], at))
            return false;
    if (e->kind == RLX_EVENT_LEAVE)
        drop_storages_of(s, e->seq);
    return true;
}

static void *by_number(rlx_context *ctx, size_t count, size_t size)
{
    return rlx_mem_alloc_zero(&ctx->memory, (count + 1) * size);
}

static void free_by_number(rlx_context *ctx, void *p, size_t count, size_t size)
{
    rlx_mem_free(&ctx->memory, p, p ? (count + 1) * size : 0);
}

static bool plan_events(scan *s, const rlx_function *f)
{
    size_t n = s->w->events.len;
    for (size_t i = 0; i < n; i++)
        s->plan->storage_of[i] = RLX_NO_STORAGE;
    count_calls(s);
    bool good = rlx_scope_enter_function(&s->scope, f);
    for (size_t i = 0; good && i < n; i++)
        good = place_event(s, (uint32_t)i);
    return good && place_arenas(s);
}

bool rlx_plan_function(rlx_plan *plan, rlx_context *ctx, const rlx_module *m,
                       const rlx_function *f, const rlx_flow *w, const rlx_lifetimes *l)
{
    size_t n = w->events.len;
    scan s = { .ctx = ctx,
               .module = m,
               .plan = plan,
               .w = w,
               .l = l,
               .bounded = rlx_attrs_get(f->attrs, RLX_UPPER_BOUND) != NULL,
               .outputs = rlx_flag_attr(f->attrs, RLX_PLAN_OUTPUTS) };
    *plan = (rlx_plan){ .storage_of = by_number(ctx, n, sizeof(uint32_t)),
                        .offset_of = by_number(ctx, n, sizeof(int64_t)),
                        .root_of = by_number(ctx, n, sizeof(uint32_t)),
                        .shift_of = by_number(ctx, n, sizeof(const rlx_prim *)),
                        .num_events = n };
    s.dying = by_number(ctx, n, sizeof *s.dying);
    s.next = by_number(ctx, n, sizeof *s.next);
    s.calls = by_number(ctx, n, sizeof *s.calls);
    s.bytes = by_number(ctx, n, sizeof *s.bytes);
    s.arena_of = by_number(ctx, w->seqs.len, sizeof *s.arena_of);
    rlx_scope_init(&s.scope, ctx, NULL);
    bool good = plan->storage_of && plan->offset_of && plan->root_of && plan->shift_of && s.dying && s.next && s.calls && s.bytes &&
                s.arena_of && plan_events(&s, f);
    rlx_scope_free(&s.scope);
    for (size_t k = 0; k < SHELVES; k++)
        rlx_vec_free(&ctx->memory, &s.shelf[k]);
    rlx_vec_free(&ctx->memory, &s.open);
    rlx_vec_free(&ctx->memory, &s.arenas);
    rlx_vec_free(&ctx->memory, &s.items);
    free_by_number(ctx, s.dying, n, sizeof *s.dying);
    free_by_number(ctx, s.next, n, sizeof *s.next);
    free_by_number(ctx, s.calls, n, sizeof *s.calls);
    free_by_number(ctx, s.bytes, n, sizeof *s.bytes);
    free_by_number(ctx, s.arena_of, w->seqs.len, sizeof *s.arena_of);
    return good;
}

void rlx_plan_free(rlx_plan *plan, rlx_context *ctx)
{
    rlx_vec_free(&ctx->memory, &plan->storages);
    free_by_number(ctx, plan->storage_of, plan->num_events, sizeof *plan->storage_of);
    free_by_number(ctx, plan->offset_of, plan->num_events, sizeof *plan->offset_of);
    free_by_number(ctx, plan->root_of, plan->num_events, sizeof *plan->root_of);
    free_by_number(ctx, plan->shift_of, plan->num_events, sizeof *plan->shift_of);
}
