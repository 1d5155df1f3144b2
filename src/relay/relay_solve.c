/* relay_solve.c: unification and the queue of relations. */
#include "relay/relay_solve.h"

void rlx_relay_solver_init(rlx_relay_solver *s, rlx_relay_module *m)
{
    *s = (rlx_relay_solver){ .m = m, .ctx = m->ctx };
}
void rlx_relay_solver_free(rlx_relay_solver *s) { rlx_vec_free(&s->ctx->memory, &s->goals); }

/* ---- making types -------------------------------------------------------------------------------- */

static rlx_relay_type *make(rlx_relay_solver *s, uint8_t kind, rlx_place place)
{
    rlx_relay_type *t = rlx_region_zero(&s->m->region, sizeof *t);
    if (t) {
        t->kind = kind;
        t->place = place;
    }
    return t;
}

rlx_relay_type *rlx_relay_hole(rlx_relay_solver *s, uint8_t kind, rlx_place place)
{
    rlx_relay_type *t = make(s, RLX_RELAY_TYPE_HOLE, place);
    if (t) {
        t->hole_kind = kind;
        t->number = ++s->m->next_number;
    }
    return t;
}

rlx_relay_type *rlx_relay_tensor(rlx_relay_solver *s, const rlx_relay_dim *dims, size_t ndim,
                                 rlx_dtype dtype)
{
    rlx_relay_type *t = make(s, RLX_RELAY_TYPE_TENSOR, RLX_NO_PLACE);
    if (!t || !(t->tensor.dims = rlx_region_copy(&s->m->region, ndim ? (const void *)dims : "",
                                                 ndim * sizeof *dims)))
        return NULL;
    t->tensor.ndim = ndim;
    t->tensor.dtype = dtype;
    return t;
}

rlx_relay_type *rlx_relay_tuple(rlx_relay_solver *s, rlx_relay_type *const *fields, size_t count)
{
    rlx_relay_type *t = make(s, RLX_RELAY_TYPE_TUPLE, RLX_NO_PLACE);
    if (!t || !(t->tuple.fields = rlx_region_copy(&s->m->region, count ? (const void *)fields : "",
                                                  count * sizeof *fields)))
        return NULL;
    t->tuple.count = count;
    return t;
}

rlx_relay_type *rlx_relay_find(rlx_relay_type *t)
{
    rlx_relay_type *end = t;
    while (end && end->kind == RLX_RELAY_TYPE_HOLE && end->hole.is)
        end = end->hole.is;
    while (t != end && t->hole.is != end) { /* the next search is shorter */
        rlx_relay_type *next = t->hole.is;
        t->hole.is = end;
        t = next;
    }
    return end;
}

rlx_relay_dim rlx_relay_dim_find(rlx_relay_dim d)
{
    while (d.kind == RLX_RELAY_DIM_VAR && d.var->is_known)
        d = d.var->is;
    return d;
}

/* ---- the parts of a type --------------------------------------------------------------------------- */

/* All types that t consists of, for walks: part i, NULL behind the last one. */
static rlx_relay_type *part(const rlx_relay_type *t, size_t i)
{
    switch (t->kind) {
    case RLX_RELAY_TYPE_TENSOR:
        if (t->tensor.shape && i == 0)
            return t->tensor.shape;
        return i == (t->tensor.shape ? 1 : 0) ? t->tensor.elem : NULL;
    case RLX_RELAY_TYPE_TUPLE: return i < t->tuple.count ? t->tuple.fields[i] : NULL;
    case RLX_RELAY_TYPE_FUNC:
        return i < t->func.num_args ? t->func.args[i] : i == t->func.num_args ? t->func.result : NULL;
    case RLX_RELAY_TYPE_REF: return i == 0 ? t->ref.content : NULL;
    case RLX_RELAY_TYPE_CALL: return i < t->call.num_args ? t->call.args[i] : NULL;
    default: return NULL;
    }
}

static bool too_large(rlx_relay_solver *s, rlx_place place, uint32_t depth)
{
    if (depth <= RLX_RELAY_MAX_TYPE_DEPTH && ++s->visited <= RLX_RELAY_MAX_TYPE_NODES)
        return false;
    if (s->visited != SIZE_MAX / 2) /* once for each operation */
        rlx_error(s->ctx, RLX_RY24, place,
                  "a type here nests more than %d levels or has more than %d parts, shared ones "
                  "counted as often as they occur", RLX_RELAY_MAX_TYPE_DEPTH, RLX_RELAY_MAX_TYPE_NODES);
    s->visited = SIZE_MAX / 2 - 1;
    s->visited++;
    return true;
}

/* Does the open hole occur in t? 1 yes, 0 no, -1 over a limit. */
static int occurs(rlx_relay_solver *s, const rlx_relay_type *hole, rlx_relay_type *t, rlx_place place,
                  uint32_t depth)
{
    t = rlx_relay_find(t);
    if (t == hole)
        return 1;
    if (too_large(s, place, depth))
        return -1;
    rlx_relay_type *p;
    for (size_t i = 0; (p = part(t, i)) != NULL; i++) {
        int found = occurs(s, hole, p, place, depth + 1);
        if (found)
            return found;
    }
    return 0;
}

/* ---- holes ----------------------------------------------------------------------------------------- */

static void enqueue(rlx_relay_solver *s, rlx_relay_goal *g)
{
    if (g->queued || g->decided || g->failed)
        return;
    g->queued = true;
    g->next = NULL;
    if (s->last)
        s->last->next = g;
    else
        s->first = g;
    s->last = g;
}

/* What waits at the hole runs again. */
static void wake(rlx_relay_solver *s, rlx_relay_type *hole)
{
    rlx_relay_waiting *w = hole->hole.waiting;
    hole->hole.waiting = NULL;
    for (; w; w = w->next)
        enqueue(s, w->goal);
}

/* The goal waits at every open hole in t. */
static bool wait_at(rlx_relay_solver *s, rlx_relay_goal *g, rlx_relay_type *t, uint32_t depth)
{
    t = rlx_relay_find(t);
    if (too_large(s, g->place, depth))
        return true;
    if (t->kind == RLX_RELAY_TYPE_HOLE) {
        rlx_relay_waiting *w = rlx_region_zero(&s->m->region, sizeof *w);
        if (!w)
            return false;
        w->goal = g;
        w->next = t->hole.waiting;
        t->hole.waiting = w;
        return true;
    }
    rlx_relay_type *p;
    for (size_t i = 0; (p = part(t, i)) != NULL; i++)
        if (!wait_at(s, g, p, depth + 1))
            return false;
    return true;
}

/* ---- unification ----------------------------------------------------------------------------------- */

/* One comparison: what is compared, and why it failed, found out at the innermost place. */
typedef struct comparison {
    rlx_relay_solver *s;
    rlx_place place;
    const char *why;            /* NULL: nothing has failed; static text */
    enum rlx_code_id code;
    const rlx_relay_type *a, *b; /* the parts that differ */
    bool said;                  /* a limit, which was reported */
} comparison;

static rlx_relay_type *unify(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth);

static rlx_relay_type *differ(comparison *c, const char *why, const rlx_relay_type *a,
                              const rlx_relay_type *b)
{
    if (!c->why) {
        c->why = why;
        c->code = RLX_RY14;
        c->a = a;
        c->b = b;
    }
    return NULL;
}

static bool is_wildcard(rlx_relay_dim d) { return d.kind == RLX_RELAY_DIM_ANY; }

bool rlx_relay_unify_dim(rlx_relay_dim a, rlx_relay_dim b, rlx_relay_dim *out)
{
    a = rlx_relay_dim_find(a);
    b = rlx_relay_dim_find(b);
    *out = a;
    if (is_wildcard(a) || is_wildcard(b)) {
        *out = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_ANY };
        /* An extent that inference made up takes it; a variable of the text keeps its name. */
        rlx_relay_dim other = is_wildcard(a) ? b : a;
        if (other.kind == RLX_RELAY_DIM_VAR && other.var->is_hole) {
            other.var->is_known = true;
            other.var->is = *out;
        }
        return true;
    }
    if (a.kind == b.kind && a.kind == RLX_RELAY_DIM_INT)
        return a.value == b.value;
    if (a.kind == b.kind && a.kind == RLX_RELAY_DIM_PARAM)
        return a.param == b.param;
    if (a.kind == b.kind && a.var == b.var)
        return true;
    bool b_gives_way = b.kind == RLX_RELAY_DIM_VAR && !(a.kind == RLX_RELAY_DIM_VAR && a.var->is_hole);
    rlx_relay_dim *from = b_gives_way ? &b : &a, *to = b_gives_way ? &a : &b;
    if (from->kind != RLX_RELAY_DIM_VAR)
        return false;
    from->var->is_known = true;
    from->var->is = *to;
    *out = *to;
    return true;
}

static rlx_relay_type *unify_dtype(comparison *c, rlx_relay_type *a, rlx_relay_type *b, rlx_dtype *dtype,
                                   rlx_relay_type **elem, uint32_t depth);

/* The type DTYPE or EXTENTS that a tensor has in one of its slots. */
static rlx_relay_type *slot(rlx_relay_solver *s, rlx_relay_type *t, bool is_shape)
{
    rlx_relay_type *given = is_shape ? t->tensor.shape : t->tensor.elem;
    if (given)
        return given;
    rlx_relay_type *made = make(s, is_shape ? RLX_RELAY_TYPE_EXTENTS : RLX_RELAY_TYPE_DTYPE, t->place);
    if (made && is_shape) {
        made->tensor.dims = t->tensor.dims;
        made->tensor.ndim = t->tensor.ndim;
    } else if (made) {
        made->tensor.dtype = t->tensor.dtype;
    }
    return made;
}

static rlx_relay_type *unify_dtype(comparison *c, rlx_relay_type *a, rlx_relay_type *b, rlx_dtype *dtype,
                                   rlx_relay_type **elem, uint32_t depth)
{
    *dtype = a->tensor.dtype;
    *elem = NULL;
    if (!a->tensor.elem && !b->tensor.elem)
        return a->tensor.dtype == b->tensor.dtype ? a : differ(c, "the data types differ", a, b);
    rlx_relay_type *x = slot(c->s, a, false), *y = slot(c->s, b, false);
    rlx_relay_type *both = x && y ? unify(c, x, y, depth + 1) : NULL;
    if (both && both->kind == RLX_RELAY_TYPE_DTYPE)
        *dtype = both->tensor.dtype;
    else
        *elem = both;
    return both ? a : NULL;
}

static rlx_relay_type *unify_dims(comparison *c, rlx_relay_type *a, rlx_relay_type *b)
{
    if (a->tensor.ndim != b->tensor.ndim)
        return differ(c, "the ranks differ", a, b);
    size_t n = a->tensor.ndim;
    rlx_relay_dim *dims = rlx_region_array(&c->s->m->region, n + 1, sizeof *dims);
    bool ok = dims != NULL;
    bool same = true;
    for (size_t i = 0; dims && i < n; i++) {
        ok = rlx_relay_unify_dim(a->tensor.dims[i], b->tensor.dims[i], &dims[i]) && ok;
        same = same && dims[i].kind == a->tensor.dims[i].kind;
    }
    if (!ok)
        return dims ? differ(c, "extents differ", a, b) : NULL;
    if (same)
        return a;
    rlx_relay_type *t = make(c->s, a->kind, a->place);
    if (t) {
        t->tensor.dims = dims;
        t->tensor.ndim = n;
        t->tensor.dtype = a->tensor.dtype;
    }
    return t;
}

static rlx_relay_type *unify_tensor(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    rlx_dtype dtype;
    rlx_relay_type *elem, *shape = NULL;
    if (!unify_dtype(c, a, b, &dtype, &elem, depth))
        return NULL;
    rlx_relay_type *dims = a;
    if (a->tensor.shape || b->tensor.shape) {
        rlx_relay_type *x = slot(c->s, a, true), *y = slot(c->s, b, true);
        shape = x && y ? unify(c, x, y, depth + 1) : NULL;
        dims = shape;
    } else {
        dims = unify_dims(c, a, b);
    }
    if (!dims || (dims == a && dtype == a->tensor.dtype && !elem && !shape))
        return dims;
    rlx_relay_type *t = make(c->s, RLX_RELAY_TYPE_TENSOR, a->place);
    if (!t)
        return NULL;
    t->tensor.dtype = dtype;
    t->tensor.elem = elem;
    if (shape && shape->kind != RLX_RELAY_TYPE_EXTENTS) {
        t->tensor.shape = shape;
    } else {
        t->tensor.dims = dims->tensor.dims;
        t->tensor.ndim = dims->tensor.ndim;
    }
    return t;
}

/* All pairs of two lists; *out: the list, `a` itself where nothing is new. */
static bool unify_lists(comparison *c, rlx_relay_type *const *a, rlx_relay_type *const *b, size_t count,
                        rlx_relay_type *const **out, uint32_t depth)
{
    rlx_relay_type **all = NULL;
    *out = a;
    for (size_t i = 0; i < count; i++) {
        rlx_relay_type *t = unify(c, a[i], b[i], depth + 1);
        if (!t)
            return false;
        if (!all && t != rlx_relay_find(a[i])) {
            all = rlx_region_copy(&c->s->m->region, a, count * sizeof *all);
            if (!all)
                return false;
            *out = all;
        }
        if (all)
            all[i] = t;
    }
    return true;
}

static rlx_relay_type *unify_tuple(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    rlx_relay_type *const *fields;
    if (a->tuple.count != b->tuple.count)
        return differ(c, "the tuples have different lengths", a, b);
    if (!unify_lists(c, a->tuple.fields, b->tuple.fields, a->tuple.count, &fields, depth))
        return NULL;
    return fields == a->tuple.fields ? a : rlx_relay_tuple(c->s, fields, a->tuple.count);
}

/* Two functions. The parameters of the more general one are put for those of the other; its
 * surplus ones become holes (relay 3.3). */
static rlx_relay_type *unify_func(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    rlx_relay_solver *s = c->s;
    rlx_relay_type *f = a->func.num_params >= b->func.num_params ? a : b, *g = f == a ? b : a;
    if (f->func.num_args != g->func.num_args)
        return differ(c, "the functions take different numbers of arguments", a, b);
    if (f->func.num_constraints != g->func.num_constraints)
        return differ(c, "the functions have different constraints", a, b);
    size_t n = f->func.num_params;
    if (n) {
        rlx_relay_type **put = rlx_region_array(&s->m->region, n, sizeof *put);
        for (size_t i = 0; put && i < n; i++) {
            bool shared = i < g->func.num_params;
            put[i] = shared ? make(s, RLX_RELAY_TYPE_VAR, g->place)
                            : rlx_relay_hole(s, f->func.params[i]->kind, f->place);
            if (!put[i])
                return NULL;
            if (shared)
                put[i]->var = g->func.params[i];
        }
        rlx_relay_type *body = make(s, RLX_RELAY_TYPE_FUNC, f->place);
        if (!put || !body)
            return NULL;
        body->func = f->func;
        body->func.params = NULL;
        body->func.num_params = 0;
        f = rlx_relay_substitute(s, body, a->func.num_params >= b->func.num_params ? a->func.params
                                                                                   : b->func.params,
                                 put, n);
        if (!f)
            return NULL;
    }
    rlx_relay_type *const *args;
    rlx_relay_type *result = unify(c, f->func.result, g->func.result, depth + 1);
    if (!result || !unify_lists(c, g->func.args, f->func.args, g->func.num_args, &args, depth))
        return NULL;
    if (args == g->func.args && result == rlx_relay_find(g->func.result))
        return g;
    rlx_relay_type *t = make(s, RLX_RELAY_TYPE_FUNC, g->place);
    if (t) {
        t->func = g->func;
        t->func.args = args;
        t->func.result = result;
    }
    return t;
}

static rlx_relay_type *unify_call(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    rlx_relay_type *const *args;
    if (a->call.adt != b->call.adt)
        return differ(c, "they are different data types", a, b);
    if (a->call.num_args != b->call.num_args)
        return differ(c, "the types have different numbers of arguments", a, b);
    if (!unify_lists(c, a->call.args, b->call.args, a->call.num_args, &args, depth))
        return NULL;
    if (args == a->call.args)
        return a;
    rlx_relay_type *t = make(c->s, RLX_RELAY_TYPE_CALL, a->place);
    if (t) {
        t->call = a->call;
        t->call.args = args;
    }
    return t;
}

static rlx_relay_type *unify_ref(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    rlx_relay_type *content = unify(c, a->ref.content, b->ref.content, depth + 1);
    if (!content || content == rlx_relay_find(a->ref.content))
        return content ? a : NULL;
    rlx_relay_type *t = make(c->s, RLX_RELAY_TYPE_REF, a->place);
    if (t)
        t->ref.content = content;
    return t;
}

/* The kind of types that t is of. */
uint8_t rlx_relay_type_kind_of(const rlx_relay_type *t)
{
    static const uint8_t kinds[RLX_RELAY_TYPE_COUNT] = {
#define TYPE(kind, kind_of, text) [RLX_RELAY_TYPE_##kind] = RLX_RELAY_KIND_##kind_of,
#include "relay/relay_node.def"
    };
    if (t->kind == RLX_RELAY_TYPE_HOLE)
        return t->hole_kind;
    return t->kind == RLX_RELAY_TYPE_VAR ? t->var->kind : kinds[t->kind];
}

/* An open hole becomes t. */
static rlx_relay_type *solve_hole(comparison *c, rlx_relay_type *hole, rlx_relay_type *t)
{
    rlx_relay_solver *s = c->s;
    if (t->kind == RLX_RELAY_TYPE_ERROR) {
        hole->hole.is = t;
        wake(s, hole);
        return t;
    }
    if (rlx_relay_type_kind_of(t) != hole->hole_kind)
        return differ(c, "they are of different kinds", hole, t);
    int found = occurs(s, hole, t, c->place, 0);
    if (found) {
        c->said = found < 0;
        differ(c, "it would contain itself", hole, t);
        c->code = RLX_RY15;
        return NULL;
    }
    if (t->kind == RLX_RELAY_TYPE_HOLE) { /* what waits here waits there; it has learnt nothing yet */
        rlx_relay_waiting **end = &hole->hole.waiting;
        while (*end)
            end = &(*end)->next;
        *end = t->hole.waiting;
        t->hole.waiting = hole->hole.waiting;
        hole->hole.waiting = NULL;
        hole->hole.is = t;
        for (rlx_relay_waiting *w = t->hole.waiting; w; w = w->next)
            enqueue(s, w->goal); /* Identity learns from two holes that are one */
        return t;
    }
    hole->hole.is = t;
    wake(s, hole);
    return t;
}

/* What remembers a solution: the last hole before it. */
static rlx_relay_type *last_hole(rlx_relay_type *t)
{
    rlx_relay_type *last = NULL;
    for (; t->kind == RLX_RELAY_TYPE_HOLE && t->hole.is; t = t->hole.is)
        last = t;
    return last;
}

static rlx_relay_type *unify_known(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    if (a->kind == RLX_RELAY_TYPE_ERROR || b->kind == RLX_RELAY_TYPE_ERROR)
        return a->kind == RLX_RELAY_TYPE_ERROR ? a : b;
    if (a->kind != b->kind)
        return differ(c, "they are of different kinds", a, b);
    switch (a->kind) {
    case RLX_RELAY_TYPE_TENSOR: return unify_tensor(c, a, b, depth);
    case RLX_RELAY_TYPE_EXTENTS: return unify_dims(c, a, b);
    case RLX_RELAY_TYPE_DTYPE:
        return a->tensor.dtype == b->tensor.dtype ? a : differ(c, "the data types differ", a, b);
    case RLX_RELAY_TYPE_TUPLE: return unify_tuple(c, a, b, depth);
    case RLX_RELAY_TYPE_FUNC: return unify_func(c, a, b, depth);
    case RLX_RELAY_TYPE_CALL: return unify_call(c, a, b, depth);
    case RLX_RELAY_TYPE_REF: return unify_ref(c, a, b, depth);
    case RLX_RELAY_TYPE_VAR: return a->var == b->var ? a : differ(c, "the type parameters differ", a, b);
    default: return differ(c, "they differ", a, b);
    }
}

static rlx_relay_type *unify(comparison *c, rlx_relay_type *a, rlx_relay_type *b, uint32_t depth)
{
    rlx_relay_type *known_a = last_hole(a), *known_b = last_hole(b);
    rlx_relay_type *x = rlx_relay_find(a), *y = rlx_relay_find(b);
    if (x == y)
        return x;
    if (too_large(c->s, c->place, depth)) {
        c->said = true;
        return differ(c, "they are too large", x, y);
    }
    if (x->kind == RLX_RELAY_TYPE_HOLE)
        return solve_hole(c, x, y);
    if (y->kind == RLX_RELAY_TYPE_HOLE)
        return solve_hole(c, y, x);
    rlx_relay_type *t = unify_known(c, x, y, depth);
    /* Where an extent turned out to be unknown, the holes that had it forget it. */
    if (t && t != x && known_a && known_a->hole.is == x)
        known_a->hole.is = t;
    if (t && t != y && known_b && known_b->hole.is == y)
        known_b->hole.is = t;
    return t;
}

static void put_type(rlx_buf *b, const rlx_relay_type *t)
{
    size_t at = b->len;
    rlx_relay_print_type(t, b);
    if (!b->failed && b->len - at > 300) { /* a message is read by somebody */
        b->len = at + 297;
        rlx_buf_lit(b, "...");
    }
}

static void report_difference(comparison *c, rlx_relay_type *a, rlx_relay_type *b, const char *what)
{
    rlx_context *ctx = c->s->ctx;
    rlx_buf x, y;
    rlx_buf_init(&x, &ctx->memory);
    rlx_buf_init(&y, &ctx->memory);
    put_type(&x, rlx_relay_find(a));
    put_type(&y, rlx_relay_find(b));
    rlx_error(ctx, c->code, c->place, "%s: %s and %s do not match: %s", what, x.len ? x.data : "?",
              y.len ? y.data : "?", c->why);
    if (c->a && (c->a != rlx_relay_find(a) || c->b != rlx_relay_find(b))) {
        x.len = y.len = 0;
        put_type(&x, c->a);
        put_type(&y, c->b);
        rlx_note(ctx, RLX_NO_PLACE, "they differ in %s and %s", x.len ? x.data : "?",
                 y.len ? y.data : "?");
    }
    if (c->a && c->a->place && c->a->place != c->place)
        rlx_note(ctx, c->a->place, "one comes from here");
    if (c->b && c->b->place && c->b->place != c->place)
        rlx_note(ctx, c->b->place, "the other comes from here");
    rlx_buf_free(&x);
    rlx_buf_free(&y);
}

rlx_relay_type *rlx_relay_unify(rlx_relay_solver *s, rlx_relay_type *a, rlx_relay_type *b,
                                rlx_place place, const char *what)
{
    comparison c = { .s = s, .place = place };
    s->visited = 0;
    rlx_relay_type *t = unify(&c, a, b, 0);
    if (!t && c.why && !c.said)
        report_difference(&c, a, b, what);
    return t;
}

/* ---- copies ---------------------------------------------------------------------------------------- */

/* What a copy does with the leaves. */
typedef struct copying {
    rlx_relay_solver *s;
    rlx_relay_type_var *const *params; rlx_relay_type *const *args; size_t count;
    bool import;                 /* every `_` becomes a hole */
    rlx_relay_type **open;       /* resolving: the first open hole */
    rlx_ptrmap made;             /* of shared parts: copied once */
} copying;

static rlx_relay_type *copy(copying *c, rlx_relay_type *t, uint32_t depth);

static bool copy_list(copying *c, rlx_relay_type *const *list, size_t count, rlx_relay_type *const **out,
                      uint32_t depth)
{
    rlx_relay_type **all = NULL;
    *out = list;
    for (size_t i = 0; i < count; i++) {
        rlx_relay_type *t = copy(c, list[i], depth + 1);
        if (!t)
            return false;
        if (!all && t != list[i]) {
            if (!(all = rlx_region_copy(&c->s->m->region, list, count * sizeof *all)))
                return false;
            *out = all;
        }
        if (all)
            all[i] = t;
    }
    return true;
}

static bool copy_part(copying *c, rlx_relay_type *t, rlx_relay_type **out, uint32_t depth)
{
    *out = t;
    return !t || (*out = copy(c, t, depth + 1)) != NULL;
}

/* What is put for the variable; NULL: it stays. */
static rlx_relay_type *put_for(const copying *c, const rlx_relay_type_var *v)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->params[i] == v)
            return c->args[i];
    return NULL;
}

static bool copy_dims(copying *c, const rlx_relay_type *t, const rlx_relay_dim **out)
{
    rlx_relay_dim *all = NULL;
    *out = t->tensor.dims;
    for (size_t i = 0; i < t->tensor.ndim; i++) {
        rlx_relay_dim d = rlx_relay_dim_find(t->tensor.dims[i]);
        rlx_relay_type *put = d.kind == RLX_RELAY_DIM_PARAM ? put_for(c, d.param) : NULL;
        put = put ? rlx_relay_find(put) : NULL;
        if (put && put->kind == RLX_RELAY_TYPE_EXTENT)
            d = rlx_relay_dim_find(put->tensor.dims[0]);
        if (memcmp(&d, &t->tensor.dims[i], sizeof d) == 0)
            continue;
        if (!all && !(all = rlx_region_copy(&c->s->m->region, t->tensor.dims,
                                            t->tensor.ndim * sizeof *all)))
            return false;
        all[i] = d;
        *out = all;
    }
    return true;
}

static rlx_relay_type *copy_tensor(copying *c, rlx_relay_type *t, uint32_t depth)
{
    rlx_relay_type *shape, *elem;
    const rlx_relay_dim *dims;
    if (!copy_part(c, t->tensor.shape, &shape, depth) || !copy_part(c, t->tensor.elem, &elem, depth) ||
        !copy_dims(c, t, &dims))
        return NULL;
    if (shape == t->tensor.shape && elem == t->tensor.elem && dims == t->tensor.dims)
        return t;
    rlx_relay_type *n = make(c->s, t->kind, t->place);
    if (!n)
        return NULL;
    n->tensor = t->tensor;
    n->tensor.dims = dims;
    n->tensor.shape = shape;
    n->tensor.elem = elem;
    if (shape && shape->kind == RLX_RELAY_TYPE_EXTENTS) {
        n->tensor.dims = shape->tensor.dims;
        n->tensor.ndim = shape->tensor.ndim;
        n->tensor.shape = NULL;
    }
    if (elem && elem->kind == RLX_RELAY_TYPE_DTYPE) {
        n->tensor.dtype = elem->tensor.dtype;
        n->tensor.elem = NULL;
    }
    return n;
}

static rlx_relay_type *copy_func(copying *c, rlx_relay_type *t, uint32_t depth)
{
    rlx_relay_type *const *args;
    rlx_relay_type *result;
    rlx_relay_constraint *constraints = NULL;
    if (!copy_list(c, t->func.args, t->func.num_args, &args, depth) ||
        !copy_part(c, t->func.result, &result, depth))
        return NULL;
    for (size_t i = 0; i < t->func.num_constraints; i++) {
        rlx_relay_type *const *of;
        if (!copy_list(c, t->func.constraints[i].args, t->func.constraints[i].num_args, &of, depth))
            return NULL;
        if (of == t->func.constraints[i].args)
            continue;
        if (!constraints && !(constraints = rlx_region_copy(&c->s->m->region, t->func.constraints,
                                                            t->func.num_constraints * sizeof *constraints)))
            return NULL;
        constraints[i].args = of;
    }
    if (args == t->func.args && result == t->func.result && !constraints)
        return t;
    rlx_relay_type *n = make(c->s, RLX_RELAY_TYPE_FUNC, t->place);
    if (n) {
        n->func = t->func;
        n->func.args = args;
        n->func.result = result;
        if (constraints)
            n->func.constraints = constraints;
    }
    return n;
}

static rlx_relay_type *copy_known(copying *c, rlx_relay_type *t, uint32_t depth)
{
    rlx_relay_type *n = t, *one;
    rlx_relay_type *const *list;
    switch (t->kind) {
    case RLX_RELAY_TYPE_TENSOR: case RLX_RELAY_TYPE_EXTENTS: case RLX_RELAY_TYPE_EXTENT:
        return copy_tensor(c, t, depth);
    case RLX_RELAY_TYPE_FUNC: return copy_func(c, t, depth);
    case RLX_RELAY_TYPE_TUPLE:
        if (!copy_list(c, t->tuple.fields, t->tuple.count, &list, depth))
            return NULL;
        if (list != t->tuple.fields && (n = make(c->s, t->kind, t->place)) != NULL) {
            n->tuple = t->tuple;
            n->tuple.fields = list;
        }
        return n;
    case RLX_RELAY_TYPE_CALL:
        if (!copy_list(c, t->call.args, t->call.num_args, &list, depth))
            return NULL;
        if (list != t->call.args && (n = make(c->s, t->kind, t->place)) != NULL) {
            n->call = t->call;
            n->call.args = list;
        }
        return n;
    case RLX_RELAY_TYPE_REF:
        if (!copy_part(c, t->ref.content, &one, depth))
            return NULL;
        if (one != t->ref.content && (n = make(c->s, t->kind, t->place)) != NULL)
            n->ref.content = one;
        return n;
    case RLX_RELAY_TYPE_VAR:
        one = put_for(c, t->var);
        return one ? one : t;
    case RLX_RELAY_TYPE_HOLE:
        if (c->import && !t->number)
            return rlx_relay_hole(c->s, RLX_RELAY_KIND_TYPE, t->place);
        if (c->open && !*c->open)
            *c->open = t;
        return t;
    default: return t;
    }
}

static rlx_relay_type *copy(copying *c, rlx_relay_type *t, uint32_t depth)
{
    t = rlx_relay_find(t);
    if (t->kind == RLX_RELAY_TYPE_TENSOR && !t->tensor.ndim && !t->tensor.shape && !t->tensor.elem)
        return t;
    rlx_relay_type *done = c->import ? NULL : rlx_ptrmap_get(&c->made, t);
    if (done)
        return done;
    if (too_large(c->s, t->place, depth))
        return NULL;
    rlx_relay_type *n = copy_known(c, t, depth);
    return n && (c->import || rlx_ptrmap_put(&c->made, t, (uintptr_t)n)) ? n : NULL;
}

static rlx_relay_type *run_copy(copying *c, rlx_relay_type *t)
{
    c->s->visited = 0;
    rlx_ptrmap_init(&c->made, &c->s->ctx->memory);
    rlx_relay_type *n = copy(c, t, 0);
    rlx_ptrmap_free(&c->made);
    return n;
}

rlx_relay_type *rlx_relay_substitute(rlx_relay_solver *s, rlx_relay_type *t,
                                     rlx_relay_type_var *const *params, rlx_relay_type *const *args,
                                     size_t count)
{
    copying c = { .s = s, .params = params, .args = args, .count = count };
    return count ? run_copy(&c, t) : t;
}
rlx_relay_type *rlx_relay_import(rlx_relay_solver *s, rlx_relay_type *t)
{
    copying c = { .s = s, .import = true };
    return run_copy(&c, t);
}
rlx_relay_type *rlx_relay_resolve(rlx_relay_solver *s, rlx_relay_type *t, rlx_relay_type **open)
{
    copying c = { .s = s, .open = open };
    *open = NULL;
    return run_copy(&c, t);
}

/* ---- goals ----------------------------------------------------------------------------------------- */

bool rlx_relay_add_goal(rlx_relay_solver *s, const rlx_relay_goal *g)
{
    rlx_relay_goal *n = rlx_region_copy(&s->m->region, g, sizeof *g);
    if (!n || !rlx_vec_push(&s->ctx->memory, &s->goals, n))
        return false;
    n->solver = s;
    enqueue(s, n);
    return true;
}

static bool has_error(const rlx_relay_goal *g)
{
    for (size_t i = 0; i < g->num_types; i++)
        if (rlx_relay_find(g->types[i])->kind == RLX_RELAY_TYPE_ERROR)
            return true;
    return false;
}

/* What was derived from an error is one, and nothing more is said of it. */
static void give_up(rlx_relay_goal *g)
{
    rlx_relay_type *error = make(g->solver, RLX_RELAY_TYPE_ERROR, g->place);
    g->failed = true;
    for (size_t i = g->num_inputs; error && i < g->num_types; i++) {
        rlx_relay_type *t = rlx_relay_find(g->types[i]);
        if (t->kind == RLX_RELAY_TYPE_HOLE) {
            t->hole.is = error;
            wake(g->solver, t);
        }
    }
}

static bool run_goal(rlx_relay_solver *s, rlx_relay_goal *g)
{
    size_t errors = rlx_error_count(s->ctx);
    if (has_error(g)) {
        give_up(g);
        return true;
    }
    enum rlx_relay_outcome outcome = g->relation(g);
    if (s->ctx->diags.out_of_memory)
        return false;
    if (outcome == RLX_RELAY_FAILS || rlx_error_count(s->ctx) != errors) {
        if (rlx_error_count(s->ctx) == errors)
            rlx_error(s->ctx, RLX_RY21, g->place, "%s: the relation %s does not hold", g->of, g->name);
        give_up(g);
        return true;
    }
    g->decided = outcome == RLX_RELAY_HOLDS;
    s->visited = 0;
    for (size_t i = 0; !g->decided && i < g->num_types; i++)
        if (!wait_at(s, g, g->types[i], 0))
            return false;
    return true;
}

bool rlx_relay_solve(rlx_relay_solver *s)
{
    while (s->first) {
        rlx_relay_goal *g = s->first;
        s->first = g->next;
        if (!s->first)
            s->last = NULL;
        g->queued = false;
        if (!run_goal(s, g))
            return false;
    }
    return true;
}

size_t rlx_relay_report_undecided(rlx_relay_solver *s)
{
    size_t count = 0;
    for (size_t i = 0; i < s->goals.len; i++) {
        rlx_relay_goal *g = s->goals.data[i];
        if (g->decided || g->failed)
            continue;
        rlx_buf b;
        rlx_buf_init(&b, &s->ctx->memory);
        for (size_t k = 0; k < g->num_types; k++) {
            rlx_buf_z(&b, k == g->num_inputs ? " -> " : k ? ", " : "");
            put_type(&b, rlx_relay_find(g->types[k]));
        }
        rlx_error(s->ctx, RLX_RY22, g->place,
                  "%s: the relation %s stays undecided for %s; annotate what it depends on", g->of,
                  g->name, b.len ? b.data : "");
        rlx_buf_free(&b);
        count++;
    }
    s->goals.len = 0;
    return count;
}
