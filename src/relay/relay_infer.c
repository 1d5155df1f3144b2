/* relay_infer.c: the types of expressions (relay 3).
 *
 * Functions are inferred in groups that call each other, callees first. Each expression of the
 * graph is visited once, by a stack of its own, because chains of lets and calls are as long as the
 * program. Types are collected and relations queued; then everything is resolved.
 */
#include "relay/relay_host.h"
#include "relay/relay_infer.h"
#include "relay/relay_convert.h"

typedef struct frame { rlx_relay_expr *e; uint32_t step; } frame;
typedef struct inference {
    rlx_relay_solver s;
    rlx_relay_module *m;
    rlx_context *ctx;
    RLX_VEC(frame) frames;
    RLX_VEC(rlx_relay_expr *) typed;  /* what was visited, in order: still to be resolved */
    rlx_relay_type *error;            /* the type of what is wrong and was reported */
} inference;

rlx_relay_expr *rlx_relay_child(const rlx_relay_expr *e, size_t i)
{
    switch (e->kind) {
    case RLX_RELAY_TUPLE: return i < e->tuple.count ? e->tuple.items[i] : NULL;
    case RLX_RELAY_FIELD: return i == 0 ? e->field.tuple : NULL;
    case RLX_RELAY_LET: return i == 0 ? e->let.value : i == 1 ? e->let.body : NULL;
    case RLX_RELAY_FUNC: return i == 0 ? e->func->body : NULL;
    case RLX_RELAY_IF:
        return i == 0 ? e->branch.condition : i == 1 ? e->branch.then : i == 2 ? e->branch.otherwise : NULL;
    case RLX_RELAY_MATCH:
        return i == 0 ? e->match.data : i <= e->match.num_arms ? e->match.arms[i - 1].body : NULL;
    case RLX_RELAY_REF: return i == 0 ? e->ref.value : NULL;
    case RLX_RELAY_REF_READ: return i == 0 ? e->ref.ref : NULL;
    case RLX_RELAY_REF_WRITE: return i == 0 ? e->ref.ref : i == 1 ? e->ref.value : NULL;
    case RLX_RELAY_CALL:
        return i < e->call.num_args ? e->call.args[i] : i == e->call.num_args ? e->call.callee : NULL;
    default: return NULL;
    }
}

/* ---- types of the leaves --------------------------------------------------------------------------- */

static rlx_relay_type *given_or_hole(inference *in, rlx_relay_type *given, rlx_place place)
{
    return given ? rlx_relay_import(&in->s, given) : rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, place);
}

static bool type_var(inference *in, rlx_relay_expr *v)
{
    if (!v->type) {
        v->type = given_or_hole(in, v->var.given, v->place);
        if (!rlx_vec_push(&in->ctx->memory, &in->typed, v))
            return false;
    }
    return v->type != NULL;
}

static rlx_relay_type *constant_type(inference *in, const rlx_relay_expr *e)
{
    rlx_relay_dim *dims = rlx_region_array(&in->m->region, e->constant.ndim + 1, sizeof *dims);
    for (size_t i = 0; dims && i < e->constant.ndim; i++)
        dims[i] = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_INT, .bits = 64, .value = e->constant.dims[i] };
    return dims ? rlx_relay_tensor(&in->s, dims, e->constant.ndim, e->constant.dtype) : NULL;
}

/* A function's type as far as it is written; holes for the rest. */
static rlx_relay_type *signature(inference *in, const rlx_relay_func *f, rlx_place place)
{
    rlx_relay_type *t = rlx_region_zero(&in->m->region, sizeof *t);
    rlx_relay_type **args = rlx_region_array(&in->m->region, f->num_params + 1, sizeof *args);
    if (!t || !args)
        return NULL;
    for (size_t i = 0; i < f->num_params; i++) {
        if (!type_var(in, f->params[i]))
            return NULL;
        args[i] = f->params[i]->type;
    }
    t->kind = RLX_RELAY_TYPE_FUNC;
    t->place = place;
    t->func.params = f->type_params;
    t->func.num_params = f->num_type_params;
    t->func.args = args;
    t->func.num_args = f->num_params;
    t->func.constraints = f->constraints;
    t->func.num_constraints = f->num_constraints;
    t->func.result = given_or_hole(in, f->result, f->body ? f->body->place : place);
    return t->func.result ? t : NULL;
}

static rlx_relay_type *error_type(inference *in)
{
    if (!in->error && (in->error = rlx_region_zero(&in->m->region, sizeof *in->error)) != NULL)
        in->error->kind = RLX_RELAY_TYPE_ERROR;
    return in->error;
}

static bool fail(inference *in, rlx_relay_expr *e) { return (e->type = error_type(in)) != NULL; }

/* t, or an error where the comparison failed, so that the rest is looked at too. */
static bool give(inference *in, rlx_relay_expr *e, rlx_relay_type *t)
{
    e->type = t;
    return t ? true : fail(in, e);
}

/* ---- calls ----------------------------------------------------------------------------------------- */

bool rlx_relay_fresh_args(rlx_relay_solver *s, rlx_relay_type_var *const *params, size_t count,
                          rlx_place place, rlx_relay_type *const **out)
{
    rlx_relay_type **args = rlx_region_array(&s->m->region, count + 1, sizeof *args);
    *out = args;
    for (size_t i = 0; args && i < count; i++) {
        if (!(args[i] = rlx_relay_hole(s, params[i]->kind, place)))
            return false;
        if (params[i]->kind != RLX_RELAY_KIND_EXTENT)
            continue;
        rlx_relay_dim *d = rlx_region_zero(&s->m->region, sizeof *d);
        rlx_relay_dim_var *v = rlx_region_zero(&s->m->region, sizeof *v);
        if (!d || !v)
            return false;
        v->is_hole = true;
        v->name = params[i]->name;
        *d = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_VAR, .var = v };
        args[i]->kind = RLX_RELAY_TYPE_EXTENT;
        args[i]->tensor.dims = d;
        args[i]->tensor.ndim = 1;
    }
    return args != NULL;
}

/* An operator's call: one relation over the types of the arguments and of the result. */
static bool infer_operator_call(inference *in, rlx_relay_expr *e)
{
    const rlx_relay_op *op = e->call.callee->op;
    size_t n = e->call.num_args;
    rlx_relay_type **types = rlx_region_array(&in->m->region, n + 1, sizeof *types);
    const char *name;
    rlx_relay_relation relation =
        op->relation ? rlx_relay_relation_find_in(in->ctx, rlx_slice_z(op->relation), &name) : NULL;
    if (!types)
        return false;
    if (!relation) {
        const rlx_relay_convert_row *row = rlx_relay_convert_of(op);
        rlx_error(in->ctx, RLX_RY21, e->place, "%s has no type here: %s", op->name,
                  row ? row->argument : "nobody says its relation");
        return fail(in, e);
    }
    if (op->num_inputs >= 0 && n != (size_t)op->num_inputs) {
        rlx_error(in->ctx, RLX_RY17, e->place, "%s takes %d argument%s, found %zu", op->name,
                  op->num_inputs, op->num_inputs == 1 ? "" : "s", n);
        return fail(in, e);
    }
    for (size_t i = 0; i < n; i++)
        types[i] = e->call.args[i]->type;
    types[n] = rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, e->place);
    e->type = types[n];
    e->call.type_args = types;
    e->call.num_type_args = n;
    rlx_relay_goal g = { .relation = relation, .name = name, .of = op->name, .op = op, .types = types,
                         .num_types = n + 1, .num_inputs = n, .attrs = e->call.attrs, .place = e->place };
    return types[n] && rlx_relay_add_goal(&in->s, &g);
}

/* The constraints of a function become goals with the types of this call. */
static bool add_constraints(inference *in, const rlx_relay_expr *e, const rlx_relay_type *f)
{
    for (size_t i = 0; i < f->func.num_constraints; i++) {
        const rlx_relay_constraint *c = &f->func.constraints[i];
        const char *name;
        rlx_relay_relation relation = rlx_relay_relation_find_in(in->ctx, c->name, &name);
        size_t n = c->num_args ? c->num_args : f->func.num_args + 1;
        rlx_relay_type **types = rlx_region_array(&in->m->region, n, sizeof *types);
        if (!types)
            return false;
        if (!relation) {
            rlx_error(in->ctx, RLX_RY21, c->place, "there is no relation %.*s", (int)c->name.len,
                      c->name.data);
            continue;
        }
        for (size_t k = 0; k < n; k++)
            types[k] = c->num_args ? c->args[k] : k + 1 < n ? f->func.args[k] : f->func.result;
        rlx_relay_goal g = { .relation = relation, .name = name, .of = name, .types = types,
                             .num_types = n, .num_inputs = n - 1, .attrs = e->call.attrs,
                             .place = e->place };
        if (!rlx_relay_add_goal(&in->s, &g))
            return false;
    }
    return true;
}

/* A function's type with the type arguments of this call; NULL: out of memory, or reported. */
static rlx_relay_type *instantiate(inference *in, rlx_relay_expr *e, rlx_relay_type *f)
{
    size_t written = e->call.num_type_args, n = f->func.num_params;
    rlx_relay_type *const *args;
    if (written > n) {
        rlx_error(in->ctx, RLX_RY17, e->place, "the function has %zu type parameters, found %zu type "
                  "arguments", n, written);
        return NULL;
    }
    if (!n)
        return f;
    if (!rlx_relay_fresh_args(&in->s, f->func.params, n, e->place, &args))
        return NULL;
    for (size_t i = 0; i < written; i++) {
        rlx_relay_type *t = rlx_relay_import(&in->s, e->call.type_args[i]);
        if (!t || !rlx_relay_unify(&in->s, args[i], t, e->place, "a type argument"))
            return NULL;
    }
    rlx_relay_type *body = rlx_region_copy(&in->m->region, f, sizeof *f);
    if (!body)
        return NULL;
    body->func.params = NULL;
    body->func.num_params = 0;
    e->call.type_args = args;
    e->call.num_type_args = n;
    return rlx_relay_substitute(&in->s, body, f->func.params, args, n);
}

static bool infer_arguments(inference *in, rlx_relay_expr *e, const rlx_relay_type *f)
{
    for (size_t i = 0; i < e->call.num_args; i++)
        if (!rlx_relay_unify(&in->s, f->func.args[i], e->call.args[i]->type, e->call.args[i]->place,
                             "an argument") && in->ctx->diags.out_of_memory)
            return false;
    return true;
}

static bool infer_call(inference *in, rlx_relay_expr *e)
{
    if (e->call.callee->kind == RLX_RELAY_OP)
        return infer_operator_call(in, e);
    if (!rlx_relay_solve(&in->s))
        return false;
    rlx_relay_type *f = rlx_relay_find(e->call.callee->type);
    size_t n = e->call.num_args;
    if (f->kind == RLX_RELAY_TYPE_ERROR)
        return fail(in, e);
    if (f->kind == RLX_RELAY_TYPE_HOLE) {
        rlx_relay_type *made = rlx_region_zero(&in->m->region, sizeof *made);
        rlx_relay_type **args = rlx_region_array(&in->m->region, n + 1, sizeof *args);
        if (!made || !args)
            return false;
        for (size_t i = 0; i < n; i++)
            args[i] = e->call.args[i]->type;
        made->kind = RLX_RELAY_TYPE_FUNC;
        made->place = e->place;
        made->func.args = args;
        made->func.num_args = n;
        made->func.result = rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, e->place);
        return made->func.result &&
               give(in, e, rlx_relay_unify(&in->s, f, made, e->place, "what is called")
                               ? made->func.result : NULL);
    }
    if (f->kind != RLX_RELAY_TYPE_FUNC) {
        rlx_buf b;
        rlx_buf_init(&b, &in->ctx->memory);
        rlx_relay_print_type(f, &b);
        rlx_error(in->ctx, RLX_RY16, e->call.callee->place, "only functions can be called, this is %s",
                  b.len ? b.data : "none");
        rlx_buf_free(&b);
        return fail(in, e);
    }
    if (f->func.num_args != n && !f->func.any_args) {
        rlx_error(in->ctx, RLX_RY17, e->place, "too %s arguments: the function takes %zu, found %zu",
                  n < f->func.num_args ? "few" : "many", f->func.num_args, n);
        return fail(in, e);
    }
    f = instantiate(in, e, f);
    if (!f)
        return in->ctx->diags.out_of_memory ? false : fail(in, e);
    return infer_arguments(in, e, f) && add_constraints(in, e, f) && give(in, e, f->func.result);
}

/* ---- the other forms ------------------------------------------------------------------------------- */

/* The field of a tuple: a relation, as the tuple may not be known yet. Its attribute is the index. */
static enum rlx_relay_outcome relation_field(rlx_relay_goal *g)
{
    rlx_relay_type *t = rlx_relay_find(g->types[0]);
    int64_t index = g->attrs.items[0].value.i;
    if (t->kind == RLX_RELAY_TYPE_HOLE)
        return RLX_RELAY_UNDECIDED;
    rlx_buf b;
    rlx_buf_init(&b, &g->solver->ctx->memory);
    bool fits = t->kind == RLX_RELAY_TYPE_TUPLE && (uint64_t)index < t->tuple.count;
    if (!fits) {
        rlx_relay_print_type(t, &b);
        if (t->kind != RLX_RELAY_TYPE_TUPLE)
            rlx_error(g->solver->ctx, RLX_RY18, g->place, "only a tuple has fields, this is %s",
                      b.len ? b.data : "none");
        else
            rlx_error(g->solver->ctx, RLX_RY18, g->place, "field %lld of a tuple of %zu: %s",
                      (long long)index, t->tuple.count, b.len ? b.data : "");
    }
    rlx_buf_free(&b);
    if (!fits)
        return RLX_RELAY_FAILS;
    return rlx_relay_unify(g->solver, g->types[1], t->tuple.fields[index], g->place, "a projection")
               ? RLX_RELAY_HOLDS : RLX_RELAY_FAILS;
}

static bool infer_field(inference *in, rlx_relay_expr *e)
{
    rlx_relay_type **types = rlx_region_array(&in->m->region, 2, sizeof *types);
    rlx_relay_attr *index = rlx_region_zero(&in->m->region, sizeof *index);
    if (!types || !index)
        return false;
    index->name = RLX_SLICE("index");
    index->value.kind = RLX_RELAY_VALUE_INT;
    index->value.i = e->field.index;
    types[0] = e->field.tuple->type;
    types[1] = e->type = rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, e->place);
    rlx_relay_goal g = { .relation = relation_field, .name = "TupleGetItem", .of = "a projection",
                         .types = types, .num_types = 2, .num_inputs = 1, .attrs = { index, 1 },
                         .place = e->place };
    return types[1] && rlx_relay_add_goal(&in->s, &g);
}

static bool infer_tuple(inference *in, rlx_relay_expr *e)
{
    rlx_relay_type **fields = rlx_region_array(&in->m->region, e->tuple.count + 1, sizeof *fields);
    for (size_t i = 0; fields && i < e->tuple.count; i++)
        fields[i] = e->tuple.items[i]->type;
    e->type = fields ? rlx_relay_tuple(&in->s, fields, e->tuple.count) : NULL;
    return e->type != NULL;
}

static bool end_function(inference *in, rlx_relay_expr *e)
{
    rlx_relay_type *body = rlx_relay_find(e->func->body->type), *t = e->type;
    if (body->kind == RLX_RELAY_TYPE_FUNC && body->func.num_params) {
        rlx_relay_expr call = { .place = e->place };
        if (!(body = instantiate(in, &call, body)))
            return false;
    }
    rlx_relay_type *result =
        rlx_relay_unify(&in->s, t->func.result, body, e->func->body->place, "the result of a function");
    return result || !in->ctx->diags.out_of_memory;
}

static rlx_relay_type *reference(inference *in, rlx_relay_type *content, rlx_place place)
{
    rlx_relay_type *t = rlx_region_zero(&in->m->region, sizeof *t);
    if (t) {
        t->kind = RLX_RELAY_TYPE_REF;
        t->place = place;
        t->ref.content = content;
    }
    return t;
}

static bool infer_ref(inference *in, rlx_relay_expr *e)
{
    if (e->kind == RLX_RELAY_REF)
        return (e->type = reference(in, e->ref.value->type, e->place)) != NULL;
    rlx_relay_type *hole = rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, e->place);
    rlx_relay_type *ref = hole ? reference(in, hole, e->place) : NULL;
    if (!ref)
        return false;
    bool ok = rlx_relay_unify(&in->s, e->ref.ref->type, ref, e->ref.ref->place, "a reference") != NULL;
    if (e->kind == RLX_RELAY_REF_READ)
        return give(in, e, ok ? hole : NULL);
    ok = ok && rlx_relay_unify(&in->s, hole, e->ref.value->type, e->ref.value->place,
                               "what is written to a reference") != NULL;
    return give(in, e, ok ? rlx_relay_tuple(&in->s, NULL, 0) : NULL);
}

static bool infer_condition(inference *in, rlx_relay_expr *e)
{
    rlx_relay_type *boolean = rlx_relay_tensor(&in->s, NULL, 0, RELAX_BOOL);
    return boolean && (rlx_relay_unify(&in->s, e->branch.condition->type, boolean,
                                       e->branch.condition->place, "the condition of an if") ||
                       !in->ctx->diags.out_of_memory);
}

/* ---- the walk -------------------------------------------------------------------------------------- */

/* What stands between children: step i comes before child i, and behind the last one. A step that
 * gives the expression its type is its last one. */
static bool step_let(inference *in, rlx_relay_expr *e, uint32_t step)
{
    rlx_relay_expr *var = e->let.var;
    if (step == 0)
        return e->let.value->kind != RLX_RELAY_FUNC || type_var(in, var);
    if (step == 1) {
        if (!type_var(in, var))
            return false;
        return rlx_relay_unify(&in->s, var->type, e->let.value->type, e->let.value->place,
                               "the value of a let and its type") ||
               !in->ctx->diags.out_of_memory;
    }
    return give(in, e, e->let.body->type);
}

static bool step_match(inference *in, rlx_relay_expr *e, uint32_t step)
{
    if (step == 0)
        return true;
    if (step == 1) { /* all patterns before all bodies */
        if (!rlx_relay_solve(&in->s))
            return false;
        for (size_t i = 0; i < e->match.num_arms; i++)
            if (!rlx_relay_infer_pattern(&in->s, e->match.arms[i].pattern, e->match.data->type) &&
                in->ctx->diags.out_of_memory)
                return false;
        e->type = rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, e->place);
        return e->type != NULL;
    }
    const rlx_relay_expr *body = e->match.arms[step - 2].body;
    return rlx_relay_unify(&in->s, e->type, body->type, body->place, "the arms of a match") ||
           !in->ctx->diags.out_of_memory;
}

static bool step_function(inference *in, rlx_relay_expr *e, uint32_t step)
{
    if (step == 0) {
        if (!rlx_relay_solve(&in->s))
            return false;
        if (!e->type) /* a global one has its signature already */
            e->type = signature(in, e->func, e->place);
        return e->type != NULL;
    }
    return end_function(in, e);
}

static bool step_if(inference *in, rlx_relay_expr *e, uint32_t step)
{
    if (step == 1)
        return infer_condition(in, e);
    if (step == 3)
        return give(in, e, rlx_relay_unify(&in->s, e->branch.then->type, e->branch.otherwise->type,
                                           e->place, "the branches of an if"));
    return true;
}

static bool type_leaf(inference *in, rlx_relay_expr *e)
{
    switch (e->kind) {
    case RLX_RELAY_CONST: e->type = constant_type(in, e); return e->type != NULL;
    case RLX_RELAY_GLOBAL: e->type = e->global->func ? e->global->func->type : error_type(in);
        return e->type != NULL;
    case RLX_RELAY_CTOR: e->type = e->ctor->type; return e->type != NULL;
    case RLX_RELAY_OP: e->type = rlx_relay_hole(&in->s, RLX_RELAY_KIND_TYPE, e->place);
        return e->type != NULL;
    case RLX_RELAY_VAR:
        if (!e->var.is_free)
            rlx_error(in->ctx, RLX_RY23, e->place, "%%%.*s is used where it is not bound",
                      (int)e->var.name.len, e->var.name.data);
        return type_var(in, e);
    default: return fail(in, e);
    }
}

static bool step(inference *in, rlx_relay_expr *e, uint32_t step, bool last)
{
    switch (e->kind) {
    case RLX_RELAY_LET: return step_let(in, e, step);
    case RLX_RELAY_MATCH: return step_match(in, e, step);
    case RLX_RELAY_FUNC: return step_function(in, e, step);
    case RLX_RELAY_IF: return step_if(in, e, step);
    default: break;
    }
    if (!last)
        return true;
    switch (e->kind) {
    case RLX_RELAY_TUPLE: return infer_tuple(in, e);
    case RLX_RELAY_FIELD: return infer_field(in, e);
    case RLX_RELAY_REF: case RLX_RELAY_REF_READ: case RLX_RELAY_REF_WRITE: return infer_ref(in, e);
    case RLX_RELAY_CALL: return infer_call(in, e);
    default: return type_leaf(in, e);
    }
}

enum { NOT_SEEN = 0, UNDER_WAY = 1, DONE = 2 };

static bool push_frame(inference *in, rlx_relay_expr *e)
{
    if (e->mark != NOT_SEEN)
        return true;
    if (e->kind == RLX_RELAY_VAR && e->type) /* its binder has seen to it */
        return true;
    /* A plain operator that is called has no type of its own. */
    e->mark = UNDER_WAY;
    return rlx_vec_push(&in->ctx->memory, &in->frames, ((frame){ e, 0 }));
}

static bool visit(inference *in, rlx_relay_expr *root)
{
    if (!push_frame(in, root))
        return false;
    while (in->frames.len) {
        size_t top = in->frames.len - 1;
        rlx_relay_expr *e = in->frames.data[top].e;
        uint32_t i = in->frames.data[top].step++;
        rlx_relay_expr *child = rlx_relay_child(e, i);
        bool is_called_op = child && e->kind == RLX_RELAY_CALL && i == e->call.num_args &&
                            child->kind == RLX_RELAY_OP;
        if (is_called_op)
            child = NULL;
        if (!step(in, e, i, !child))
            return false;
        if (child) {
            if (!push_frame(in, child))
                return false;
            continue;
        }
        e->mark = DONE;
        in->frames.len--;
        if (!rlx_vec_push(&in->ctx->memory, &in->typed, e))
            return false;
    }
    return true;
}

/* ---- resolution ------------------------------------------------------------------------------------ */

static void report_open(inference *in, const rlx_relay_expr *e, const rlx_relay_type *hole)
{
    rlx_buf b;
    rlx_buf_init(&b, &in->ctx->memory);
    rlx_relay_print_type(e->type, &b);
    rlx_error(in->ctx, RLX_RY22, e->place,
              "the type of this expression cannot be inferred, only %s; annotate it",
              b.len ? b.data : "nothing");
    if (hole->place && hole->place != e->place)
        rlx_note(in->ctx, hole->place, "what is unknown comes from here");
    rlx_buf_free(&b);
}

static bool resolve_type_args(inference *in, rlx_relay_expr *e)
{
    size_t n = e->call.num_type_args;
    rlx_relay_type **args = rlx_region_array(&in->m->region, n + 1, sizeof *args);
    rlx_relay_type *open;
    for (size_t i = 0; args && i < n; i++)
        if (!(args[i] = rlx_relay_resolve(&in->s, e->call.type_args[i], &open)))
            return false;
    e->call.type_args = args;
    return args != NULL;
}

/* Everything that was visited gets its final type; the first hole that is left is reported, once. */
static bool resolve_all(inference *in, size_t errors_before)
{
    bool said = rlx_error_count(in->ctx) != errors_before;
    for (size_t i = 0; i < in->typed.len; i++) {
        rlx_relay_expr *e = in->typed.data[i];
        rlx_relay_type *open;
        if (!e->type || !(e->type = rlx_relay_resolve(&in->s, e->type, &open)))
            return false;
        if (open && !said && e->kind != RLX_RELAY_OP) {
            report_open(in, e, open);
            said = true;
        }
        if (open && !(open->hole.is = error_type(in))) /* nothing follows from it elsewhere */
            return false;
        if (e->kind == RLX_RELAY_CALL && !resolve_type_args(in, e))
            return false;
        if (e->kind == RLX_RELAY_FUNC && e->type->kind == RLX_RELAY_TYPE_FUNC)
            e->func->result = e->type->func.result;
        if (e->kind == RLX_RELAY_MATCH && !said && !e->match.partial &&
            !rlx_relay_check_match(&in->s, e) && in->ctx->diags.out_of_memory)
            return false;
    }
    in->typed.len = 0;
    return true;
}

/* A group of functions that call each other, or one that is alone. */
static bool infer_group(inference *in, const uint32_t *numbers, size_t count)
{
    size_t errors = rlx_error_count(in->ctx);
    for (size_t i = 0; i < count; i++) {
        rlx_relay_expr *f = in->m->globals.data[numbers[i]]->func;
        if (!(f->type = signature(in, f->func, f->place)))
            return false;
    }
    for (size_t i = 0; i < count; i++)
        if (!visit(in, in->m->globals.data[numbers[i]]->func))
            return false;
    if (!rlx_relay_solve(&in->s))
        return false;
    if (rlx_error_count(in->ctx) == errors)
        rlx_relay_report_undecided(&in->s);
    in->s.goals.len = 0;
    return resolve_all(in, errors);
}

static bool infer_all(inference *in)
{
    rlx_relay_groups groups = { 0 };
    bool ok = rlx_relay_call_groups(in->m, &groups);
    for (size_t i = 0, first = 0; ok && i < groups.ends.len; first = groups.ends.data[i++])
        ok = infer_group(in, &groups.order.data[first], groups.ends.data[i] - first);
    rlx_vec_free(&in->ctx->memory, &groups.order);
    rlx_vec_free(&in->ctx->memory, &groups.ends);
    if (ok && in->m->expr) {
        size_t errors = rlx_error_count(in->ctx);
        ok = visit(in, in->m->expr) && rlx_relay_solve(&in->s);
        if (ok && rlx_error_count(in->ctx) == errors)
            rlx_relay_report_undecided(&in->s);
        ok = ok && resolve_all(in, errors);
    }
    return ok;
}

bool rlx_relay_infer(rlx_relay_module *m)
{
    size_t errors = rlx_error_count(m->ctx);
    if (m->inferred)
        return true;
    inference in = { .m = m, .ctx = m->ctx };
    rlx_relay_solver_init(&in.s, m);
    bool ok = rlx_relay_check_definitions(m) && infer_all(&in);
    rlx_vec_free(&m->ctx->memory, &in.frames);
    rlx_vec_free(&m->ctx->memory, &in.typed);
    rlx_relay_solver_free(&in.s);
    m->inferred = ok && rlx_error_count(m->ctx) == errors && rlx_relay_check_scopes(m);
    return m->inferred;
}
