/* relay_host.c: relations and operators of a host. A callback sees types through a view, and can change them by
 * unification only: what it answers is judged before it counts. */
/* built for size */
#include "relay/relay_host.h"

const rlx_relay_host_row *rlx_relay_host_find(const rlx_context *ctx, uint8_t kind, rlx_slice name)
{
    const rlx_extensions *h = ctx->extensions;
    for (size_t i = 0; h && i < h->fronts.len; i++) { /* a host adds a handful */
        const rlx_relay_host_row *r = (const rlx_relay_host_row *)h->fronts.data[i];
        if (r->kind == kind && rlx_slice_equal(r->row.name, name))
            return r;
    }
    return NULL;
}

const rlx_relay_host_row *rlx_relay_host_op(const rlx_context *ctx, const rlx_relay_op *op)
{
    if (!ctx->extensions || !ctx->extensions->fronts.len)
        return NULL;
    const rlx_relay_host_row *r = rlx_relay_host_find(ctx, RLX_RELAY_HOST_OP, rlx_slice_z(op->name));
    return r && &r->op == op ? r : rlx_relay_host_find(ctx, RLX_RELAY_HOST_CONVERTER, rlx_slice_z(op->name));
}

const rlx_relay_op *rlx_relay_op_find_in(const rlx_context *ctx, rlx_slice name)
{
    const rlx_relay_op *op = rlx_relay_op_find(name);
    const rlx_relay_host_row *r = op ? NULL : rlx_relay_host_find(ctx, RLX_RELAY_HOST_OP, name);
    return r ? &r->op : op;
}

static rlx_relay_view view_of(rlx_relay_goal *g)
{
    return (rlx_relay_view){ .id = RLX_RELAY_VIEW_ID, .ctx = g->solver->ctx, .goal = g };
}

static enum rlx_relay_outcome judge(rlx_relay_view *v, const rlx_relay_host_row *r, int32_t answer)
{
    if (v->failed)
        return RLX_RELAY_FAILS;
    if (answer >= RLX_RELAY_HOLDS && answer <= RLX_RELAY_FAILS)
        return (enum rlx_relay_outcome)answer;
    rlx_error(v->ctx, RLX_OP17, v->goal->place, "relation %.*s answered %d, expected 0 to 2",
              (int)r->row.name.len, r->row.name.data, (int)answer);
    return RLX_RELAY_FAILS;
}

/* The simple form: asked once all inputs are known, it gives the type of the output. */
static enum rlx_relay_outcome ask_output(const rlx_relay_host_row *r, rlx_relay_view *v)
{
    rlx_relay_goal *g = v->goal;
    for (size_t i = 0; i < g->num_inputs; i++)
        if (rlx_relay_find(g->types[i])->kind == RLX_RELAY_TYPE_HOLE)
            return RLX_RELAY_UNDECIDED;
    const rlx_relay_type *t = r->output(r, v);
    if (v->failed || !t)
        return v->failed ? RLX_RELAY_FAILS : RLX_RELAY_UNDECIDED;
    return rlx_relay_view_assign(v, g->num_inputs, (rlx_relay_type *)(uintptr_t)t) ? RLX_RELAY_HOLDS
                                                                                   : RLX_RELAY_FAILS;
}

static enum rlx_relay_outcome relation_of_host(rlx_relay_goal *g)
{
    rlx_context *ctx = g->solver->ctx;
    const rlx_relay_host_row *r =
        rlx_relay_host_find(ctx, RLX_RELAY_HOST_RELATION, rlx_slice_z(g->name));
    rlx_relay_view v = view_of(g);
    rlx_extension_call call;
    if (!r || !rlx_extension_enter(ctx, ctx->extensions->scope, &call))
        return RLX_RELAY_FAILS;
    enum rlx_relay_outcome outcome = r->output ? ask_output(r, &v) : judge(&v, r, r->decide(r, &v));
    rlx_extension_leave(ctx, &call);
    return outcome;
}

rlx_relay_relation rlx_relay_relation_find_in(const rlx_context *ctx, rlx_slice name,
                                              const char **canonical)
{
    rlx_relay_relation known = rlx_relay_relation_find(name, canonical);
    const rlx_relay_host_row *r =
        known ? NULL : rlx_relay_host_find(ctx, RLX_RELAY_HOST_RELATION, name);
    if (r)
        *canonical = r->row.name.data;
    return r ? relation_of_host : known;
}

/* ---- conversion ------------------------------------------------------------------------------------- */

static const rlx_attr *attr_of(rlx_context *ctx, const rlx_relay_value *v)
{
    const rlx_attr **items;
    switch (v->kind) {
    case RLX_RELAY_VALUE_INT: return rlx_attr_int_new(ctx, v->i);
    case RLX_RELAY_VALUE_BOOL: return rlx_attr_bool_new(ctx, v->i != 0);
    case RLX_RELAY_VALUE_FLOAT: return rlx_attr_float_new(ctx, v->f);
    case RLX_RELAY_VALUE_STRING: return rlx_attr_string_new(ctx, v->s);
    case RLX_RELAY_VALUE_NONE: return rlx_attr_none(ctx);
    case RLX_RELAY_VALUE_LIST:
        items = rlx_new(ctx, (v->list.count + 1) * sizeof *items);
        for (size_t i = 0; items && i < v->list.count; i++)
            if (v->list.items[i].kind == RLX_RELAY_VALUE_LIST ||
                !(items[i] = attr_of(ctx, &v->list.items[i])))
                return NULL;
        return items ? rlx_attr_list_new(ctx, items, v->list.count) : NULL;
    default: return NULL;
    }
}

/* The same call of an operator of Relax: all attributes by their names. */
static const rlx_expr *same_call(rlx_relay_conv *c, rlx_relay_goal *g, const rlx_relay_host_row *row)
{
    const rlx_attr *attrs = NULL;
    for (size_t i = 0; i < row->op.num_fields; i++) {
        rlx_relay_value v = rlx_relay_rel_attr(g, row->op.fields[i].name);
        const rlx_attr *a = attr_of(c->ctx, &v);
        if (!a)
            return c->ctx->diags.out_of_memory
                       ? NULL
                       : rlx_error(c->ctx, RLX_RY27, c->place, "%s: attribute %s has no equivalent in Relax",
                                   row->op.name, row->op.fields[i].name);
        attrs = rlx_attrs_with(c->ctx, attrs, row->op.fields[i].name, a);
    }
    return rlx_call_op(c->ctx, row->relax_op, c->args, c->num_args, attrs, c->place);
}

const rlx_expr *rlx_relay_host_convert(rlx_relay_conv *c, rlx_relay_goal *g,
                                       const rlx_relay_host_row *row)
{
    rlx_relay_view v = view_of(g);
    rlx_extension_call call;
    v.args = c->args;
    if (row->relax_op)
        return same_call(c, g, row);
    if (!row->convert)
        return rlx_error(c->ctx, RLX_RY27, c->place, "%s: the host has registered no converter",
                         c->op->name);
    if (!rlx_extension_enter(c->ctx, rlx_builder_scope(c->b), &call))
        return NULL;
    const rlx_expr *e = row->convert(row, &v);
    rlx_extension_leave(c->ctx, &call);
    if (!e && !v.failed)
        rlx_extension_failed(c->ctx, &call, "the converter", row->row.name);
    return v.failed ? NULL : e;
}

/* ---- views ------------------------------------------------------------------------------------------ */

rlx_relay_type *rlx_relay_view_type(rlx_relay_view *v, size_t i)
{
    return i < v->goal->num_types ? rlx_relay_find(v->goal->types[i]) : NULL;
}

bool rlx_relay_view_owns(const rlx_relay_view *v, const rlx_relay_type *t)
{
    return t && rlx_region_owns(&v->goal->solver->m->region, t);
}

bool rlx_relay_view_fail(rlx_relay_view *v, rlx_slice text)
{
    v->failed = true;
    return rlx_error(v->ctx, RLX_RY21, v->goal->place, "%s: %.*s", v->goal->of,
                     (int)(text.len < 1000 ? text.len : 1000), text.data) != NULL;
}

static bool unify(rlx_relay_view *v, rlx_relay_type *a, rlx_relay_type *b)
{
    if (!rlx_relay_unify(v->goal->solver, a, b, v->goal->place, v->goal->of))
        v->failed = true;
    return !v->failed;
}

bool rlx_relay_view_assign(rlx_relay_view *v, size_t i, rlx_relay_type *t)
{
    if (i >= v->goal->num_types || !rlx_relay_view_owns(v, t)) {
        v->failed = true;
        return rlx_error(v->ctx, RLX_OP17, v->goal->place, "relation %s: %s", v->goal->name,
                         i >= v->goal->num_types ? "there is no type of that number"
                                                 : "what it assigns is no type of this call") != NULL;
    }
    return unify(v, v->goal->types[i], t);
}

bool rlx_relay_view_equal(rlx_relay_view *v, rlx_relay_type *a, rlx_relay_type *b)
{
    if (rlx_relay_view_owns(v, a) && rlx_relay_view_owns(v, b))
        return unify(v, a, b);
    v->failed = true;
    return rlx_error(v->ctx, RLX_OP17, v->goal->place, "relation %s: what it compares is no type of this call",
                     v->goal->name) != NULL;
}
