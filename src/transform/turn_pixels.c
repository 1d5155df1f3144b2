/*- turn_pixels: pixels become planes of channels before they become wider.
 *
 *     u = R.astype(x, dtype="float32")             t = R.permute_dims(x, axes=[0, 3, 1, 2])
 *     v = R.divide(u, R.const(255))          ->    w = R.astype(t, dtype="float32")
 *     y = R.permute_dims(v, axes=[0, 3, 1, 2])     y = R.divide(w, R.const(255))
 *
 * x: [.., up to four channels], of less bytes than y. In between: arithmetic with constants of few elements, which are put in the same order.
 * A quarter of the memory is moved so, and what is computed of the planes follows in one piece.
 *
 * needs: normal form, struct info. keeps: all numbers. Left alone: what is read from memory that somebody writes to. What nothing reads any
 * more goes. */
#include "transform/edit.h"
#include "transform/transform_int.h"

enum { MOST_CALLS = 8, MOST_CHANNELS = 4, MOST_ELEMENTS = 4096 };

typedef struct turning {
    const rlx_module *module;
    rlx_env env;
    const rlx_op_row *permute, *astype, *between[4];
    rlx_ptrmap values;           /* variable of the function under way -> its value, a call */
    rlx_written written;
    bool is_off;                 /* what the binding under way reads is written somewhere */
} turning;

/* The call of permute_dims under way, and what its operand was computed by, the last one first. */
typedef struct chain {
    rlx_mutator *m;
    const turning *s;
    const rlx_call *last, *call[MOST_CALLS];
    size_t at[MOST_CALLS];       /* the operand that the elements come from */
    size_t count, ndim;
} chain;

static const rlx_tensor_sinfo *info_of(const chain *c, const rlx_expr *e)
{
    return rlx_as_tensor_sinfo(rlx_leaf_sinfo(c->m->ctx, &c->s->env, e));
}

static const rlx_expr *value_of(const chain *c, const rlx_expr *e)
{
    return rlx_as_var(e) ? rlx_builder_lookup(c->m->builder, rlx_as_var(e)) : e;
}

static bool is_small_constant(const chain *c, const rlx_expr *e)
{
    const rlx_expr *v = value_of(c, e);
    const rlx_constant *k = v ? rlx_as_constant(v) : NULL;
    return k && !k->sharding && k->num_shape <= c->ndim && k->data->size <= MOST_ELEMENTS * sizeof(int64_t);
}

static bool have_same_shape(const rlx_tensor_sinfo *a, const rlx_tensor_sinfo *b)
{
    size_t n, m;
    const rlx_prim *const *da = a ? rlx_shape_dims(a->shape, &n) : NULL, *const *db = b ? rlx_shape_dims(b->shape, &m) : NULL;
    bool same = da && db && n == m;
    for (size_t i = 0; same && i < n; i++)
        same = da[i] == db[i];
    return same;
}

/* Adds the call that e is. False: it is none of those that may be in between, or makes another shape. */
static bool add_call(chain *c, const rlx_expr *e)
{
    const rlx_expr *v = value_of(c, e);
    const rlx_op_row *row = v ? rlx_callee_op(v) : NULL;
    const rlx_call *call = row ? (const rlx_call *)v : NULL;
    bool is = row && row == c->s->astype;
    size_t at = 0;
    for (size_t i = 0; row && i < RLX_COUNT(c->s->between) && !is; i++)
        is = row == c->s->between[i];
    if (is && row != c->s->astype) {
        at = is_small_constant(c, call->args[0]);
        is = is_small_constant(c, call->args[1 - at]);
    }
    if (!is || c->count == MOST_CALLS || !have_same_shape(info_of(c, e), info_of(c, call->args[at])) ||
        (call->args[at]->kind == RLX_NODE_DATAFLOW_VAR && e->kind != RLX_NODE_DATAFLOW_VAR))
        return false;
    c->call[c->count] = call;
    c->at[c->count++] = at;
    return true;
}

/* Finds calls back to the cast from the fewest bytes. False: there is none. */
static bool find_chain(chain *c)
{
    const rlx_expr *e = c->last->args[0];
    const rlx_tensor_sinfo *t = info_of(c, e);
    size_t n, narrow = 0, ndim;
    int64_t channels;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &ndim) : NULL;
    const rlx_attr *axes = rlx_call_attr(c->last, "axes");
    if (!dims || ndim < 3 || ndim > RLX_PASS_MAX_RANK || !rlx_int_literal(dims[ndim - 1], &channels) || channels > MOST_CHANNELS ||
        rlx_attr_count(axes) != ndim)
        return false;
    c->ndim = ndim;
    size_t least = rlx_dtype_bytes(t->dtype);
    for (n = 0; n < MOST_CALLS && add_call(c, e); n++) {
        e = c->call[n]->args[c->at[n]];
        t = info_of(c, e);
        if (rlx_dtype_bytes(t->dtype) < least) {
            least = rlx_dtype_bytes(t->dtype);
            narrow = c->count;
        }
    }
    c->count = narrow;
    return narrow > 0;
}

static const rlx_expr *bind(const chain *c, const rlx_expr *e)
{
    rlx_emit how = { .number = -1, .place = c->last->place };
    return e ? (const rlx_expr *)rlx_builder_emit(c->m->builder, e, &how) : NULL;
}

static const rlx_expr *permute(const chain *c, const rlx_expr *e)
{
    return e ? rlx_call_op_z(c->m->ctx, "permute_dims", &e, 1, c->last->attrs, c->last->place) : NULL;
}

/* A constant beside elements in the new order. */
static const rlx_expr *turn_constant(const chain *c, const rlx_expr *e)
{
    const rlx_constant *k = rlx_as_constant(value_of(c, e));
    int64_t added[RLX_PASS_MAX_RANK];
    size_t count = c->ndim - k->num_shape;
    if (!k->num_shape)
        return e;
    for (size_t i = 0; i < count; i++)
        added[i] = (int64_t)i;
    if (count)
        e = bind(c, rlx_op_call(c->m->ctx, "expand_dims", e, NULL, "axis", rlx_ints_attr(c->m->ctx, added, count), c->last->place));
    return bind(c, permute(c, e));
}

/* The calls again, of elements in the new order. */
static const rlx_expr *repeat_calls(const chain *c)
{
    const rlx_expr *e = permute(c, c->call[c->count - 1]->args[c->at[c->count - 1]]);
    for (size_t i = c->count; i-- > 0;) {
        const rlx_call *call = c->call[i];
        const rlx_expr *args[2];
        args[c->at[i]] = bind(c, e);
        if (call->num_args == 2)
            args[1 - c->at[i]] = turn_constant(c, call->args[1 - c->at[i]]);
        if (!args[0] || (call->num_args == 2 && !args[1]))
            return NULL;
        e = rlx_call_op_z(c->m->ctx, rlx_callee_op(&call->node)->name, args, call->num_args, call->attrs, c->last->place);
    }
    return e;
}

/* ---- functions ------------------------------------------------------------------------------------------ */

static const rlx_function *look_at_function(rlx_mutator *m, const rlx_function *f, bool *keep)
{
    turning *s = m->user;
    enum rlx_event_kind event;
    rlx_body_walk w = { 0 };
    *keep = true;
    rlx_ptrmap_clear(&s->values);
    bool good = rlx_body_begin(&w, m->ctx, f->body);
    while (good && (event = rlx_body_next(&w)) != RLX_EVENT_DONE) {
        const rlx_binding *b = rlx_body_top(&w)->at.binding;
        if (event == RLX_EVENT_VALUE)
            good = rlx_body_into(&w);
        else if (event == RLX_EVENT_BIND) {
            const rlx_expr *e = rlx_binding_value(b);
            const rlx_op_row *row = rlx_callee_op(e);
            *keep &= !row || row != s->permute;
            good = !row || !rlx_binding_var(b) || rlx_ptrmap_put(&s->values, rlx_binding_var(b), (uintptr_t)e);
        }
    }
    rlx_body_free(&w);
    good = good && (*keep || rlx_find_written(m->ctx, s->module, &s->written));
    return good ? f : NULL;
}

static bool is_permute(const turning *s, const rlx_expr *e)
{
    const rlx_op_row *row = rlx_callee_op(e);
    return row && row == s->permute;
}

static enum rlx_begin begin_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    turning *s = m->user;
    const rlx_expr *e = rlx_binding_value(old);
    (void)place;
    s->is_off = is_permute(s, e) && rlx_reads_written(&s->written, &s->values, ((const rlx_call *)e)->args[0], MOST_CALLS);
    return RLX_BEGIN_REWRITE;
}

static const rlx_expr *turn_before(rlx_mutator *m, const rlx_expr *now)
{
    const turning *s = m->user;
    chain c = { .m = m, .s = s, .last = (const rlx_call *)now };
    return s->is_off || !is_permute(s, now) || !find_chain(&c) ? now : repeat_calls(&c);
}

const rlx_module *rlx_pass_turn_pixels(rlx_pass_run *run, const rlx_module *m)
{
    static const char *const between[] = { "add", "subtract", "multiply", "divide" };
    rlx_mutator_hooks hooks = { .begin = begin_binding, .leave = turn_before };
    turning s = { .module = m,
                  .env = rlx_module_env(m),
                  .permute = rlx_op_find(RLX_SLICE("permute_dims")),
                  .astype = rlx_op_find(RLX_SLICE("astype")) };
    for (size_t i = 0; i < RLX_COUNT(between); i++)
        s.between[i] = rlx_op_find(rlx_slice_z(between[i]));
    rlx_mutation how = { .hooks = &hooks, .user = &s, .enter = look_at_function };
    rlx_ptrmap_init(&s.values, &run->ctx->memory);
    const rlx_module *out = rlx_mutate_module(run->ctx, m, &how);
    rlx_written_free(&s.written);
    rlx_ptrmap_free(&s.values);
    return out && out != m ? rlx_pass_dead_code_elimination(run, out) : out;
}
