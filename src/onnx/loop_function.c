/*- loop_function.c: Loop and Scan with any number of steps: a local function that calls itself.
 *
 *     def loop(i, go, v, rows):
 *         end = i >= limit or not go
 *         if end:
 *             r = v, rows
 *         else:
 *             go1, v1, row = BODY(i, go, v)
 *             r = loop(i + 1, go1, v1, concat(rows, expand_dims(row, 0)))
 *         return r
 *
 * What the body takes from outside the function captures. Parameters begin with the struct info of what is
 * given first; a size that a step changes becomes a variable of the function, and the body is imported
 * again, until nothing changes. What only passes through a step is no parameter.
 */
#include "onnx/onnx_int.h"

enum { MOST_ROUNDS = 6, MOST_DIMS = 64 };

/* One tensor that steps hand on. */
typedef struct slot {
    const rlx_expr *first;                   /* what it begins with; rows: made later */
    rlx_dtype dtype;
    int ndim;                                /* -1: not known */
    const rlx_prim *dims[MOST_DIMS];         /* NULL: differs from step to step */
    rlx_slice name;
    const rlx_var *param;
} slot;

typedef struct plan {
    const rlx_onnx_loop *l;
    slot *slots; size_t num_carried;         /* tensors; rows of steps stand behind them */
    size_t num_slots;
    bool *fixed;                             /* [carried value]: no step changes it */
    bool has_cond, rows_known, changed;
    rlx_onnx_value *cond;                    /* inside: what the body sees */
    const rlx_var *self, *step, *go;
} plan;

/* ---- what no step changes ---------------------------------------------------------------------- */

static const rlx_onnx_node *maker_of(const rlx_onnx_graph *g, rlx_slice name)
{
    for (size_t i = g->nodes.len; i-- > 0;) {
        const rlx_onnx_node *n = RLX_ONNX_ITEM(rlx_onnx_node, g->nodes, i);
        for (size_t k = 0; k < n->outputs.len; k++)
            if (rlx_slice_equal(n->outputs.data[k], name))
                return n;
    }
    return NULL;
}

static bool passes_through(const rlx_onnx_graph *g, rlx_slice out, rlx_slice in)
{
    for (int hops = 0; hops < 8; hops++) {
        if (rlx_slice_equal(out, in))
            return true;
        const rlx_onnx_node *n = maker_of(g, out);
        if (!n || !rlx_slice_is(n->op, "Identity") || n->domain.len || n->inputs.len != 1)
            return false;
        out = n->inputs.data[0];
    }
    return false;
}

static rlx_slice input_name(const rlx_onnx_graph *g, size_t i)
{
    return RLX_ONNX_ITEM(rlx_onnx_value_info, g->inputs, i)->name;
}

static rlx_slice output_name(const rlx_onnx_graph *g, size_t i)
{
    return RLX_ONNX_ITEM(rlx_onnx_value_info, g->outputs, i)->name;
}

/* ---- struct info of slots ---------------------------------------------------------------------- */

static bool read_slot(rlx_onnx_conv *c, slot *s, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, e);
    size_t n = 0;
    if (!t || t->ndim > MOST_DIMS)
        return false;
    *s = (slot){ .first = e, .dtype = t->dtype, .ndim = t->ndim };
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &n);
    for (size_t i = 0; dims && i < n; i++)
        s->dims[i] = dims[i];
    return true;
}

/* Sizes that change have names of the function, or of its caller. */
static const rlx_sinfo *slot_info(rlx_onnx_conv *c, const slot *s)
{
    const rlx_prim *dims[MOST_DIMS + 1];
    if (s->ndim < 0)
        return rlx_tensor_info(c->ctx, NULL, s->dtype, -1, NULL);
    for (int i = 0; i < s->ndim; i++)
        if (!(dims[i] = s->dims[i] ? s->dims[i] : rlx_onnx_fresh(c, "d")))
            return NULL;
    const rlx_expr *shape = rlx_shape_new(c->ctx, dims, (size_t)s->ndim);
    return shape ? rlx_tensor_info(c->ctx, shape, s->dtype, s->ndim, NULL) : NULL;
}

static bool is_open(const slot *s)
{
    for (int i = 0; i < s->ndim; i++)
        if (!s->dims[i])
            return true;
    return false;
}

/* As a result: what is not the same for all calls is left out. */
static const rlx_sinfo *result_info(rlx_onnx_conv *c, const slot *s)
{
    return is_open(s) ? rlx_tensor_info(c->ctx, NULL, s->dtype, s->ndim, NULL) : slot_info(c, s);
}

/* What a step gives, where the slot has a parameter: sizes that may differ are open from now on. */
static bool compare(rlx_onnx_conv *c, plan *p, slot *s, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, e), *now = rlx_onnx_info(c, &s->param->node);
    size_t n = 0, m = 0;
    if (!t || !now)
        return false;
    if (t->dtype != s->dtype)
        return rlx_onnx_fail(c, RLX_ON10, "a step changes the element type of what it carries") != NULL;
    if (s->ndim < 0)
        return true;
    if (t->ndim != s->ndim && s >= p->slots + p->num_carried)
        return rlx_onnx_fail(c, RLX_ON08, "the rank of what each step gives is not known") != NULL;
    if (t->ndim != s->ndim) {
        s->ndim = -1;
        p->changed = true;
        return true;
    }
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &n);
    const rlx_prim *const *had = rlx_shape_dims(now->shape, &m);
    const rlx_scope *scope = rlx_builder_scope(c->m->b);
    for (int i = 0; i < s->ndim; i++) {
        bool same = dims && had && (size_t)i < n && (size_t)i < m &&
                    rlx_prove_equal(c->ctx, scope, dims[i], had[i]) == RLX_EQUAL;
        if (s->dims[i] && !same) {
            s->dims[i] = NULL;
            p->changed = true;
        }
    }
    return true;
}

/* Only names that the caller has can stand in what it sees. */
static bool is_outer(rlx_onnx_conv *c, const rlx_prim *d)
{
    rlx_prim_vars vars = { 0 };
    bool ok = rlx_collect_prim_vars(&c->ctx->memory, d, false, &vars);
    for (size_t i = 0; ok && i < vars.len; i++)
        ok = rlx_scope_has(rlx_builder_scope(c->m->b), vars.data[i]);
    rlx_vec_free(&c->ctx->memory, &vars);
    return ok;
}

/* ---- the body ---------------------------------------------------------------------------------- */

static const rlx_var *parameter(rlx_onnx_conv *c, rlx_slice name, const char *otherwise,
                                const rlx_sinfo *info)
{
    const rlx_string *id = rlx_string_identifier(c->ctx, name, otherwise);
    return id && info ? rlx_var_new(c->ctx, false, id, -1, info, c->place) : NULL;
}

/* The part of a scanned operand that step i takes. */
static const rlx_expr *part_of(rlx_onnx_conv *c, const plan *p, size_t k)
{
    const rlx_expr *x = p->l->scanned[k], *i = &p->step->node;
    if (p->l->backward[k]) {
        const rlx_expr *last = rlx_onnx_call2(c, "subtract", p->l->limit,
                                              rlx_onnx_scalar(c, RELAX_INT64, 1));
        i = rlx_onnx_call2(c, "subtract", last, i);
    }
    return rlx_onnx_call(c, "take", "x x axis=i", x, i, p->l->axes[k]);
}

static bool bind_carried(rlx_onnx_conv *c, plan *p, rlx_onnx_scope *s, size_t from)
{
    const rlx_onnx_loop *l = p->l;
    size_t at = 0;
    const rlx_expr **params = rlx_onnx_array(c, p->num_carried, sizeof *params);
    for (size_t i = 0; params && i < p->num_carried; i++)
        params[i] = &p->slots[i].param->node;
    for (size_t i = 0; params && i < l->num_carried; i++) {
        rlx_onnx_value *v = p->fixed[i] ? l->carried[i]
                                        : rlx_onnx_unflatten(c, l->carried[i], params, &at);
        if (!v || !rlx_onnx_value_bind(c->m, s, input_name(l->g, from + i), v))
            return false;
    }
    return params != NULL;
}

static bool bind_body(rlx_onnx_conv *c, plan *p, rlx_onnx_scope *s)
{
    const rlx_onnx_loop *l = p->l;
    size_t from = l->is_loop ? 2 : 0;
    if (l->is_loop) {
        rlx_onnx_value *i = rlx_onnx_value_of(c, &p->step->node);
        rlx_onnx_value *go = p->has_cond
                                 ? rlx_onnx_value_of(c, &p->go->node)
                                 : rlx_onnx_value_of(c, rlx_onnx_scalar(c, RELAX_BOOL, 1));
        if (!i || !go || !rlx_onnx_value_bind(c->m, s, input_name(l->g, 0), i) ||
            !rlx_onnx_value_bind(c->m, s, input_name(l->g, 1), go))
            return false;
    }
    if (!bind_carried(c, p, s, from))
        return false;
    for (size_t k = 0; k < l->num_scanned; k++) {
        rlx_onnx_value *v = rlx_onnx_value_of(c, part_of(c, p, k));
        if (!v || !rlx_onnx_value_bind(c->m, s, input_name(l->g, from + l->num_carried + k), v))
            return false;
    }
    return true;
}

/* rows and one more. Rows whose sizes are not known begin with the first one. */
static const rlx_expr *add_row(rlx_onnx_conv *c, const plan *p, const slot *s, const rlx_expr *row)
{
    static const int64_t front = 0;
    const rlx_expr *one = rlx_onnx_expand_dims(c, row, &front, 1), *rows = &s->param->node;
    bool sizes_known = true;
    for (int i = 1; i < s->ndim; i++)
        sizes_known = sizes_known && s->dims[i];
    const rlx_expr *pair[2] = { rows, one };
    if (sizes_known)
        return rlx_onnx_concat(c, pair, 2, 0);
    const rlx_expr *is_first = rlx_onnx_call2(c, "equal", &p->step->node,
                                              rlx_onnx_scalar(c, RELAX_INT64, 0));
    if (!one || !is_first || !rlx_builder_begin_branch(c->m->b))
        return NULL;
    const rlx_expr *yes = rlx_builder_end_branch(c->m->b, one, c->place);
    if (!yes || !rlx_builder_begin_branch(c->m->b))
        return NULL;
    const rlx_expr *more = rlx_onnx_concat(c, pair, 2, 0);
    const rlx_expr *no = rlx_builder_end_branch(
        c->m->b, more ? more : rlx_tuple_new(c->ctx, NULL, 0, c->place), c->place);
    return more && no ? rlx_onnx_emit(c, rlx_if_new(c->ctx, is_first, yes, no, c->place)) : NULL;
}

static const rlx_expr *scalar_bool(rlx_onnx_conv *c, rlx_onnx_value *v)
{
    const rlx_expr *e = rlx_onnx_value_expr(c, v);
    return e && rlx_onnx_rank(c, e) != 0 ? rlx_onnx_reshape_ints(c, e, NULL, 0) : e;
}

/* What the rows of a step look like: in the first round they are only looked at. */
static bool see_row(rlx_onnx_conv *c, slot *s, const rlx_expr *row)
{
    slot r;
    if (rlx_onnx_rank(c, row) < 0 || !read_slot(c, &r, row))
        return false;
    if (r.ndim + 1 > MOST_DIMS)
        return rlx_onnx_fail(c, RLX_ON02, "there are too many dimensions") != NULL;
    *s = (slot){ .name = s->name, .dtype = r.dtype, .ndim = r.ndim + 1 };
    memcpy(s->dims + 1, r.dims, (size_t)r.ndim * sizeof *r.dims);
    return true;
}

/* The operands of the next call, in `next`, whose first places are step and condition. */
static bool next_step(rlx_onnx_conv *c, plan *p, rlx_onnx_value **out, rlx_onnx_leaves *next)
{
    const rlx_onnx_loop *l = p->l;
    size_t front = l->is_loop ? 1 : 0, begin = next->len;
    for (size_t i = 0; i < l->num_carried; i++)
        if (!p->fixed[i] && !rlx_onnx_flatten(c, out[front + i], next))
            return false;
    if (next->len - begin != p->num_carried)
        return rlx_onnx_fail(c, RLX_ON08, "a step changes the length of a sequence") != NULL;
    for (size_t i = 0; i < p->num_carried; i++)
        if (!compare(c, p, &p->slots[i], next->data[begin + i]))
            return false;
    for (size_t i = 0; i < l->num_rows; i++) {
        slot *s = &p->slots[p->num_carried + i];
        const rlx_expr *row = rlx_onnx_value_expr(c, out[front + l->num_carried + l->rows[i]]);
        if (!row || (!p->rows_known && !see_row(c, s, row)))
            return false;
        const rlx_expr *rows = p->rows_known ? add_row(c, p, s, row) : NULL;
        if (p->rows_known && (!rows || !compare(c, p, s, rows) ||
                              !rlx_vec_push(&c->ctx->memory, next, rows)))
            return false;
    }
    return true;
}

static bool known_true(rlx_onnx_conv *c, const rlx_expr *e)
{
    size_t n = 0;
    const int64_t *v = e ? rlx_onnx_ints_of(c, e, &n) : NULL;
    return v && n == 1 && *v;
}

static const rlx_expr *call_self(rlx_onnx_conv *c, plan *p, rlx_onnx_value **out)
{
    rlx_onnx_leaves next = { 0 };
    const rlx_expr *one = rlx_onnx_scalar(c, RELAX_INT64, 1), *call = NULL;
    const rlx_expr *i = rlx_onnx_call2(c, "add", &p->step->node, one);
    bool ok = i && rlx_vec_push(&c->ctx->memory, &next, i);
    if (ok && p->has_cond) {
        const rlx_expr *go = scalar_bool(c, out[0]);
        /* never ends by its condition: that is dropped in the next round */
        if (known_true(c, go) && (!p->l->cond || known_true(c, rlx_onnx_value_expr(c, p->l->cond)))) {
            p->has_cond = false;
            p->changed = true;
        }
        ok = go && rlx_vec_push(&c->ctx->memory, &next, go);
    }
    ok = ok && next_step(c, p, out, &next);
    if (ok && !p->changed && p->rows_known)
        call = rlx_onnx_emit(c, rlx_call_new(c->ctx, &p->self->node, next.data, next.len, NULL, 0, NULL,
                                             c->place));
    else if (ok) /* this round only finds out */
        call = rlx_tuple_new(c->ctx, NULL, 0, c->place);
    rlx_vec_free(&c->ctx->memory, &next);
    return call;
}

/* A step that a converter makes. */
static const rlx_expr *made_step(rlx_onnx_conv *c, plan *p)
{
    const rlx_onnx_loop *l = p->l;
    size_t n = l->num_carried + l->num_rows;
    const rlx_expr **carried = rlx_onnx_array(c, p->num_carried, sizeof *carried);
    const rlx_expr **made = rlx_onnx_array(c, n, sizeof *made);
    rlx_onnx_value **out = rlx_onnx_array(c, n, sizeof *out);
    for (size_t i = 0; carried && i < p->num_carried; i++)
        carried[i] = &p->slots[i].param->node;
    if (!carried || !made || !out || !l->step(c, l->user, &p->step->node, carried, made))
        return NULL;
    for (size_t i = 0; i < n; i++)
        if (!(out[i] = rlx_onnx_value_of(c, made[i])))
            return NULL;
    return call_self(c, p, out);
}

static const rlx_expr *one_step(rlx_onnx_conv *c, plan *p)
{
    if (p->l->step)
        return made_step(c, p);
    rlx_onnx_scope s;
    rlx_onnx_scope_init(c->m, &s, c->scope);
    rlx_onnx_value **out = bind_body(c, p, &s) ? rlx_onnx_body(c, &s, p->l->g) : NULL;
    const rlx_expr *call = out ? call_self(c, p, out) : NULL;
    rlx_onnx_scope_free(&s);
    return call;
}

/* ---- the function ------------------------------------------------------------------------------ */

static size_t used_slots(const plan *p) { return p->rows_known ? p->num_slots : p->num_carried; }

static bool make_params(rlx_onnx_conv *c, plan *p, const rlx_expr **params, size_t *count)
{
    const rlx_onnx_loop *l = p->l;
    const rlx_sinfo *step = rlx_tensor_ints(c->ctx, NULL, 0, RELAX_INT64);
    const rlx_sinfo *go = rlx_tensor_ints(c->ctx, NULL, 0, RELAX_BOOL);
    size_t n = 0;
    p->step = parameter(c, l->is_loop ? input_name(l->g, 0) : RLX_SLICE("i"), "i", step);
    p->go = p->has_cond ? parameter(c, input_name(l->g, 1), "go", go) : NULL;
    if (!p->step || (p->has_cond && !p->go))
        return false;
    params[n++] = &p->step->node;
    if (p->has_cond)
        params[n++] = &p->go->node;
    for (size_t i = 0; i < used_slots(p); i++) {
        p->slots[i].param = parameter(c, p->slots[i].name, "v", slot_info(c, &p->slots[i]));
        if (!p->slots[i].param)
            return false;
        params[n++] = &p->slots[i].param->node;
    }
    *count = n;
    return true;
}

static const rlx_sinfo *function_result(rlx_onnx_conv *c, const plan *p)
{
    size_t n = used_slots(p);
    const rlx_sinfo **infos = rlx_onnx_array(c, n, sizeof *infos);
    for (size_t i = 0; infos && i < n; i++)
        if (!(infos[i] = result_info(c, &p->slots[i])))
            return NULL;
    return !infos ? NULL : n == 1 ? infos[0] : rlx_tuple_info(c->ctx, infos, n);
}

static const rlx_expr *has_ended(rlx_onnx_conv *c, const plan *p)
{
    const rlx_expr *end =
        p->l->limit ? rlx_onnx_call2(c, "greater_equal", &p->step->node, p->l->limit) : NULL;
    const rlx_expr *stop = p->has_cond ? rlx_onnx_call1(c, "logical_not", &p->go->node) : NULL;
    return !p->has_cond ? end : end ? rlx_onnx_call2(c, "logical_or", end, stop) : stop;
}

static const rlx_expr *last_result(rlx_onnx_conv *c, const plan *p)
{
    size_t n = used_slots(p);
    const rlx_expr **items = rlx_onnx_array(c, n, sizeof *items);
    for (size_t i = 0; items && i < n; i++)
        items[i] = &p->slots[i].param->node;
    return !items ? NULL : n == 1 ? items[0] : rlx_tuple_new(c->ctx, items, n, c->place);
}

/* Both branches, whose levels end before they do. The step comes last in the text: it is the last to use the
 * rows, so that they may grow where they lie. */
static const rlx_expr *choose(rlx_onnx_conv *c, plan *p)
{
    const rlx_expr *end = has_ended(c, p);
    if (!end || !rlx_builder_begin_branch(c->m->b))
        return NULL;
    size_t level = rlx_onnx_enter(c->m);
    const rlx_expr *call = one_step(c, p);
    rlx_onnx_leave(c->m, level);
    const rlx_expr *step = call ? rlx_builder_end_branch(c->m->b, call, c->place) : NULL;
    if (!step || c->failed || p->changed || !p->rows_known || !rlx_builder_begin_branch(c->m->b))
        return NULL;
    const rlx_expr *last = last_result(c, p);
    const rlx_expr *done = last ? rlx_builder_end_branch(c->m->b, last, c->place) : NULL;
    return done ? rlx_onnx_emit(c, rlx_if_new(c->ctx, end, done, step, c->place)) : NULL;
}

/* The function, bound to `self`; NULL: it failed, or p->changed or p->rows_known say that types are not
 * final. */
static const rlx_expr *build(rlx_onnx_conv *c, plan *p)
{
    size_t count = 0;
    p->changed = false;
    const rlx_expr **params = rlx_onnx_array(c, p->num_slots + 2, sizeof *params);
    if (!params || !make_params(c, p, params, &count))
        return NULL;
    const rlx_sinfo *ret = function_result(c, p);
    const rlx_sinfo *sig =
        ret ? rlx_signature(c->ctx, params, count, ret, true, rlx_builder_scope(c->m->b)) : NULL;
    const rlx_string *name = rlx_string_intern(c->ctx, p->l->is_loop ? RLX_SLICE("loop") : RLX_SLICE("scan"));
    p->self = sig && name ? rlx_var_new(c->ctx, false, name, -1, sig, c->place) : NULL;
    if (!p->self || !rlx_builder_begin_function(c->m->b, params, count, true, NULL,
                                                rlx_string_slice(name), &p->self->node))
        return NULL;
    size_t level = rlx_onnx_enter(c->m);
    const rlx_expr *r = choose(c, p);
    rlx_onnx_leave(c->m, level);
    if (!r)
        return NULL;
    rlx_builder_declared(c->m->b, sig, ret);
    const rlx_function *f = rlx_builder_end_function(c->m->b, r, ret, NULL, c->place);
    rlx_emit how = { .var = p->self, .annotation = sig, .place = c->place, .var_place = c->place };
    return f && rlx_builder_emit(c->m->b, &f->node, &how) ? &p->self->node : NULL;
}

/* ---- rounds ------------------------------------------------------------------------------------ */

/* After a round that found out what rows look like: names of the body are not those of the caller. */
static void settle_rows(rlx_onnx_conv *c, plan *p)
{
    for (size_t k = p->num_carried; k < p->num_slots; k++)
        for (int i = 1; i < p->slots[k].ndim; i++)
            if (p->slots[k].dims[i] && !is_outer(c, p->slots[k].dims[i]))
                p->slots[k].dims[i] = NULL;
    p->rows_known = true;
}

static void open_all(plan *p)
{
    for (size_t k = 0; k < p->num_slots; k++)
        memset(p->slots[k].dims, 0, sizeof p->slots[k].dims);
}

/* Rounds of which nothing is heard; what fails with special sizes may be right with others. */
static const rlx_expr *try_rounds(rlx_onnx_conv *c, plan *p)
{
    bool opened = false;
    for (int round = 0; round < MOST_ROUNDS && !c->ctx->diags.out_of_memory; round++) {
        rlx_onnx_attempt a;
        bool rows_missing = !p->rows_known;
        rlx_onnx_attempt_begin(c, &a);
        const rlx_expr *f = build(c, p);
        bool seen = p->num_slots == p->num_carried || p->slots[p->num_slots - 1].ndim > 0;
        bool fine = !c->failed && !f && (p->changed || (rows_missing && seen));
        if (rlx_onnx_attempt_end(c, &a, f != NULL))
            return f;
        if (rows_missing && fine)
            settle_rows(c, p);
        if (!fine && opened)
            return NULL;
        if (!fine && p->rows_known)
            opened = true, open_all(p);
        else if (!fine)
            return NULL;
    }
    return NULL;
}

static bool make_plan(rlx_onnx_conv *c, plan *p)
{
    const rlx_onnx_loop *l = p->l;
    size_t in = l->is_loop ? 2 : 0, out = l->is_loop ? 1 : 0;
    rlx_onnx_leaves leaves = { 0 };
    p->fixed = rlx_onnx_array(c, l->num_carried, sizeof *p->fixed);
    bool ok = p->fixed != NULL;
    for (size_t i = 0; ok && i < l->num_carried; i++) {
        p->fixed[i] = l->g && passes_through(l->g, output_name(l->g, out + i), input_name(l->g, in + i));
        ok = p->fixed[i] || rlx_onnx_flatten(c, l->carried[i], &leaves);
    }
    p->num_carried = leaves.len;
    p->num_slots = leaves.len + l->num_rows;
    p->slots = ok ? rlx_onnx_array(c, p->num_slots, sizeof *p->slots) : NULL;
    for (size_t i = 0; p->slots && ok && i < leaves.len; i++)
        ok = read_slot(c, &p->slots[i], leaves.data[i]);
    for (size_t i = 0, at = 0; p->slots && l->g && ok && i < l->num_carried; i++)
        for (size_t k = p->fixed[i] ? 0 : rlx_onnx_leaf_count(l->carried[i]); k-- > 0;)
            p->slots[at++].name = input_name(l->g, in + i);
    for (size_t i = 0; p->slots && l->g && ok && i < l->num_rows; i++)
        p->slots[leaves.len + i].name = output_name(l->g, out + l->num_carried + l->rows[i]);
    p->rows_known = !l->num_rows;
    p->has_cond = l->is_loop;
    if (p->has_cond && passes_through(l->g, output_name(l->g, 0), input_name(l->g, 1)))
        p->has_cond = l->cond && !known_true(c, rlx_onnx_value_expr(c, l->cond));
    rlx_vec_free(&c->ctx->memory, &leaves);
    return ok && p->slots;
}

/* ---- the call ---------------------------------------------------------------------------------- */

static const rlx_expr *no_rows(rlx_onnx_conv *c, const slot *s)
{
    const rlx_prim **dims = rlx_onnx_array(c, (size_t)s->ndim, sizeof *dims);
    for (int i = 0; dims && i < s->ndim; i++)
        if (!(dims[i] = s->dims[i] && i ? s->dims[i] : rlx_int64(c->ctx, 0)))
            return NULL;
    return dims ? rlx_onnx_full(c, dims, (size_t)s->ndim, s->dtype, 0) : NULL;
}

static const rlx_expr *first_call(rlx_onnx_conv *c, const plan *p)
{
    rlx_onnx_leaves args = { 0 };
    rlx_memory *m = &c->ctx->memory;
    const rlx_expr *e = rlx_onnx_scalar(c, RELAX_INT64, 0);
    bool ok = e && rlx_vec_push(m, &args, e);
    if (ok && p->has_cond) {
        e = p->l->cond ? scalar_bool(c, p->l->cond) : rlx_onnx_scalar(c, RELAX_BOOL, 1);
        ok = e && rlx_vec_push(m, &args, e);
    }
    for (size_t i = 0; ok && i < p->num_slots; i++) {
        e = i < p->num_carried ? p->slots[i].first : no_rows(c, &p->slots[i]);
        ok = e && rlx_vec_push(m, &args, e);
    }
    e = ok ? rlx_onnx_emit(c, rlx_call_new(c->ctx, &p->self->node, args.data, args.len, NULL, 0, NULL,
                                           c->place))
           : NULL;
    rlx_vec_free(m, &args);
    return e;
}

/* Sizes that the function keeps are known of what it gives, and how many rows there are may be. */
static const rlx_expr *result_at(rlx_onnx_conv *c, const plan *p, const rlx_expr *call, size_t i)
{
    slot s = p->slots[i];
    const rlx_expr *e = p->num_slots == 1 ? call : rlx_onnx_item(c, call, (int64_t)i);
    if (!e || !is_open(&s))
        return e;
    if (i >= p->num_carried && !p->has_cond && p->l->count)
        s.dims[0] = p->l->count;
    return rlx_onnx_match(c, e, slot_info(c, &s));
}

static bool give_results(rlx_onnx_conv *c, const plan *p, rlx_onnx_value **results)
{
    const rlx_onnx_loop *l = p->l;
    const rlx_expr *call = p->num_slots ? first_call(c, p) : NULL;
    const rlx_expr **items = rlx_onnx_array(c, p->num_slots, sizeof *items);
    size_t at = 0;
    for (size_t i = 0; items && i < p->num_slots; i++)
        if (!(items[i] = call ? result_at(c, p, call, i) : NULL))
            return false;
    for (size_t i = 0; items && i < l->num_carried + l->num_rows; i++) {
        results[i] = i >= l->num_carried ? rlx_onnx_value_of(c, items[at++])
                     : p->fixed[i]       ? l->carried[i]
                                         : rlx_onnx_unflatten(c, l->carried[i], items, &at);
        if (!results[i])
            return false;
    }
    return items != NULL;
}

bool rlx_onnx_loop_function(rlx_onnx_conv *c, const rlx_onnx_loop *l, rlx_onnx_value **results)
{
    plan p = { .l = l };
    size_t in = (l->is_loop ? 2 : 0) + l->num_carried + l->num_scanned;
    size_t out = (l->is_loop ? 1 : 0) + l->num_carried + l->num_rows;
    if (l->g && (l->g->inputs.len != in || l->g->outputs.len < out))
        return rlx_onnx_fail(c, RLX_ON10, "the body has %zu inputs and %zu outputs, expected %zu and %zu",
                             l->g->inputs.len, l->g->outputs.len, in, out) != NULL;
    if (!make_plan(c, &p))
        return false;
    if (!p.has_cond && !l->limit)
        return rlx_onnx_fail(c, RLX_ON10, "the loop never ends") != NULL;
    if (p.num_slots && !try_rounds(c, &p)) {
        const rlx_expr *f = build(c, &p); /* says what is wrong */
        if (!f && !c->failed)
            rlx_onnx_fail(c, RLX_ON05, "the steps cannot be made a function");
        if (!f)
            return false;
    }
    return give_results(c, &p, results) ||
           (!c->failed && rlx_onnx_fail(c, RLX_ON05, "the steps cannot be made a function"));
}
