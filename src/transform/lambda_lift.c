/*- lambda_lift: local functions become private functions of the module.
 *     @R.function                         ->   f = R.make_closure(cls.main_f, (x,))
 *     def f(y): return R.add(x, y)             z = R.invoke_pure_closure(f, (y,), sinfo_args=...)
 *     z = f(y)
 * needs: normal form, struct info. keeps: places, purity, order. What a function captures becomes
 * parameters behind its own: variables, then one R.Shape of the sizes that those do not bind, then
 * one R.Prim for each scalar variable. A variable that is a constant, and that nobody writes to, is no
 * parameter: inside, too, it is the constant. One that captures nothing is the function of the module
 * itself, by all names. A function that calls itself calls the function of the module; where it
 * uses itself as a value it makes its closure anew, so that no closure holds itself. Where a local function
 * called one around it, calls of it lead back: they may not stand in dataflow blocks (WF07), so those of
 * the functions concerned become ordinary blocks. */
#include "transform/edit.h"
#include "transform/seq_pass.h"
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

typedef RLX_VEC(const rlx_expr *) exprs;

enum use { USED = 1, USED_INSIDE = 2 }; /* INSIDE: of the function that the variable names */

typedef struct lifting {
    rlx_context *ctx;
    rlx_ptrmap values;         /* variables of the function at hand that are used other than called,
                                * or in a local function other than their own -> enum use */
    rlx_module_builder *mb;
    const rlx_op_row *make, *invoke, *invoke_pure;
    const rlx_module *module;  /* as it was */
    rlx_written written;       /* which knows its variables only */
    RLX_VEC(const rlx_global_var *) work; /* functions still to be gone through */
    const rlx_global_var *outer;          /* the one at hand */
} lifting;

/* One local function on its way out. */
typedef struct lifted {
    lifting *l;
    const rlx_var *var;        /* its name inside of the function around it */
    const rlx_function *old;
    const rlx_global_var *gv;
    rlx_vars captured;         /* variables, as the old function knows them */
    exprs values;              /* what stands for them around it */
    rlx_prim_vars sizes, scalars;
    exprs params;              /* beyond its own */
} lifted;

#define MEMORY(x) (&(x)->l->ctx->memory)

static bool push(rlx_context *ctx, exprs *list, const void *e)
{
    return e && rlx_vec_push(&ctx->memory, list, (const rlx_expr *)e);
}

/* ---- how variables are used ------------------------------------------------------------------ */

typedef struct looking {
    lifting *l;
    RLX_VEC(const rlx_node *) inside; /* of which local functions, and the names of these */
    rlx_ptrmap open;                  /* such a name -> 1; 0: the walk has left the function */
    bool local_functions;
} looking;

static bool is_called_only(const rlx_call *call, const rlx_node *v)
{
    if (!call || call->op != v)
        return false;
    for (size_t i = 0; i < call->num_args; i++)
        if (call->args[i] == v)
            return false;
    return true;
}

static enum rlx_step look(void *user, const rlx_node *n, const rlx_field *via,
                          const rlx_node *parent)
{
    looking *x = user;
    rlx_memory *m = &x->l->ctx->memory;
    const rlx_var_binding *b = n->kind == RLX_NODE_FUNCTION ? rlx_as_var_binding(parent) : NULL;
    if (n->kind == RLX_NODE_FUNCTION) {
        x->local_functions = true;
        return rlx_vec_push(m, &x->inside, n) && rlx_vec_push(m, &x->inside, b ? b->var : NULL) &&
                       (!b || rlx_ptrmap_put(&x->open, b->var, 1))
                   ? RLX_STEP_ON
                   : RLX_STEP_STOP;
    }
    if (!rlx_as_var(n) || rlx_field_is_def(via))
        return RLX_STEP_ON;
    bool free_call = is_called_only(rlx_as_call(parent), n) &&
                     (!x->inside.len || rlx_vec_last(&x->inside) == n);
    uintptr_t used = 0, open = 0;
    rlx_ptrmap_find(&x->l->values, n, &used);
    rlx_ptrmap_find(&x->open, n, &open);
    used |= open ? USED_INSIDE : USED;
    return free_call || rlx_ptrmap_put(&x->l->values, n, used) ? RLX_STEP_ON : RLX_STEP_STOP;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    looking *x = user;
    if (n->kind != RLX_NODE_FUNCTION)
        return RLX_STEP_ON;
    const rlx_node *name = rlx_vec_last(&x->inside);
    x->inside.len -= 2;
    if (name)
        (void)rlx_ptrmap_put(&x->open, name, 0);
    return RLX_STEP_ON;
}

/* Has the function local ones? Notes which variables are used as values. */
static bool has_local_functions(lifting *l, const rlx_function *f)
{
    looking x = { .l = l };
    rlx_walker w = { .enter = look, .leave = leave, .user = &x, .terse = true };
    rlx_ptrmap_clear(&l->values);
    rlx_ptrmap_init(&x.open, &l->ctx->memory);
    if (f && f->body)
        rlx_walk(&l->ctx->memory, f->body, &w, NULL);
    rlx_vec_free(&l->ctx->memory, &x.inside);
    rlx_ptrmap_free(&x.open);
    return x.local_functions;
}

/* ---- what is captured ----------------------------------------------------------------------- */

/* The constant that a variable of a function of the module is bound to, as the mutator knows it; NULL: it may be something else,
 * or memory that somebody writes to. */
static const rlx_expr *constant_of(lifted *x, const rlx_mutator *around, const rlx_var *old, const rlx_expr *now)
{
    lifting *l = x->l;
    const rlx_expr *value = rlx_builder_lookup(around->builder, rlx_as_var(now));
    bool known = rlx_is(value, RLX_NODE_CONSTANT) && rlx_module_index(l->module, l->outer) >= 0 &&
                 rlx_find_written(l->ctx, l->module, &l->written);
    return known && !rlx_is_written(&l->written, &old->node) ? value : NULL;
}

/* Functions that are of the module by now are no captured variables, nor are constants: `inner` knows them by what they are. */
static bool find_captured(lifted *x, const rlx_mutator *around, rlx_mutator *inner)
{
    rlx_vars free = { 0 };
    bool good = rlx_free_vars(x->l->ctx, &x->old->node, &free);
    for (size_t i = 0; good && i < free.len; i++) {
        const rlx_expr *now = rlx_mutator_now(around, &free.data[i]->node);
        const rlx_expr *constant = constant_of(x, around, free.data[i], now);
        if (free.data[i] == x->var)
            continue;
        now = constant ? constant : now;
        good = rlx_as_var(now) ? rlx_vec_push(MEMORY(x), &x->captured, free.data[i]) &&
                                     push(x->l->ctx, &x->values, now)
                               : rlx_ptrmap_put(&inner->vars, free.data[i], (uintptr_t)now);
    }
    rlx_vec_free(MEMORY(x), &free);
    return good;
}

/* Shape variables of the scope around that the function mentions and no captured variable
 * brings. */
static bool find_sizes(lifted *x, rlx_mutator *around)
{
    rlx_memory *m = MEMORY(x);
    rlx_prim_vars bound = { 0 }, all = { 0 };
    rlx_ptrmap known;
    rlx_ptrmap_init(&known, m);
    const rlx_scope *scope = rlx_builder_scope(around->builder);
    bool good = rlx_collect_prim_vars(m, &x->old->node, false, &all);
    for (size_t i = 0; good && i < x->captured.len; i++) {
        const rlx_sinfo *s = rlx_as_var(x->values.data[i])->sinfo;
        good = !s || (rlx_collect_prim_vars(m, s, true, &bound) &&
                      rlx_collect_prim_vars(m, s, false, &all));
    }
    for (size_t i = 0; good && i < bound.len; i++)
        good = rlx_ptrmap_put(&known, bound.data[i], 1);
    for (size_t i = 0; good && i < all.len; i++) {
        const rlx_prim_var *v = all.data[i];
        if (rlx_ptrmap_has(&known, v) || !rlx_scope_has(scope, v))
            continue;
        good = rlx_ptrmap_put(&known, v, 1) &&
               (v->dtype == RELAX_INT64 ? rlx_vec_push(m, &x->sizes, v)
                                        : rlx_vec_push(m, &x->scalars, v));
    }
    rlx_vec_free(m, &bound);
    rlx_vec_free(m, &all);
    rlx_ptrmap_free(&known);
    return good;
}

/* ---- the new function ----------------------------------------------------------------------- */

static const rlx_var *param(lifted *x, const rlx_string *name, int32_t number, const rlx_sinfo *s,
                            rlx_place place)
{
    const rlx_var *v = name && s ? rlx_var_new(x->l->ctx, false, name, number, s, place) : NULL;
    return push(x->l->ctx, &x->params, v) ? v : NULL;
}

static const rlx_prim *const *prims_of(const rlx_prim_vars *list)
{
    return (const rlx_prim *const *)(const void *)list->data;
}

/* Parameters for what is captured, by which the mutator renames it. */
static bool make_params(lifted *x, rlx_mutator *m)
{
    rlx_context *ctx = x->l->ctx;
    bool good = true;
    for (size_t i = 0; good && i < x->captured.len; i++) {
        const rlx_var *old = x->captured.data[i];
        const rlx_sinfo *s = rlx_signature_info(ctx, rlx_as_var(x->values.data[i])->sinfo);
        const rlx_var *p = param(x, old->name, old->number, s, old->place);
        good = p && rlx_ptrmap_put(&m->vars, old, (uintptr_t)p);
    }
    if (good && x->sizes.len)
        good = param(x, rlx_string_z(ctx, "sizes"), -1,
                     rlx_shape_info(ctx, prims_of(&x->sizes), x->sizes.len), RLX_NO_PLACE);
    for (size_t i = 0; good && i < x->scalars.len; i++) {
        const rlx_prim_var *v = x->scalars.data[i];
        good = param(x, v->name, -1, rlx_prim_info(ctx, v->dtype, &v->node), RLX_NO_PLACE);
    }
    return good;
}

/* Variables of `list`, then the sizes and scalars, as values. */
static bool captured_values(lifted *x, const exprs *list, exprs *out)
{
    rlx_context *ctx = x->l->ctx;
    bool good = true;
    for (size_t i = 0; good && i < list->len; i++)
        good = push(ctx, out, list->data[i]);
    if (good && x->sizes.len)
        good = push(ctx, out, rlx_shape_new(ctx, prims_of(&x->sizes), x->sizes.len));
    for (size_t i = 0; good && i < x->scalars.len; i++)
        good = push(ctx, out, rlx_prim_value_new(ctx, &x->scalars.data[i]->node));
    return good;
}

static const rlx_expr *make_closure(lifted *x, const exprs *list, rlx_place place)
{
    rlx_context *ctx = x->l->ctx;
    exprs fields = { 0 };
    const rlx_expr *args[2] = { &x->gv->node, NULL };
    if (captured_values(x, list, &fields))
        args[1] = rlx_tuple_new(ctx, fields.data, fields.len, place);
    rlx_vec_free(MEMORY(x), &fields);
    return args[1] ? rlx_call_op(ctx, x->l->make, args, 2, NULL, place) : NULL;
}

static bool captures(const lifted *x)
{
    return x->captured.len || x->sizes.len || x->scalars.len;
}

/* The body; with a binding of the function to its own closure in front where it needs one. */
static const rlx_expr *body_of(lifted *x)
{
    rlx_context *ctx = x->l->ctx;
    const rlx_seq_expr *seq = rlx_as_seq_expr(x->old->body);
    uintptr_t used = 0;
    rlx_ptrmap_find(&x->l->values, x->var, &used);
    if (!captures(x) || !seq || !(used & USED_INSIDE))
        return x->old->body;
    exprs blocks = { 0 };
    const rlx_expr *closure = make_closure(x, &x->values, x->old->place);
    const rlx_binding *b =
        closure ? rlx_match_cast_new(ctx, x->var, x->var->sinfo, closure, x->old->place) : NULL;
    bool good =
        b && push(ctx, &blocks, rlx_block_new(ctx, false, &b, 1, x->old->place));
    for (size_t i = 0; good && i < seq->num_blocks; i++)
        good = push(ctx, &blocks, seq->blocks[i]);
    const rlx_expr *out =
        good ? rlx_seq_new(ctx, blocks.data, blocks.len, seq->body, seq->place) : NULL;
    rlx_vec_free(MEMORY(x), &blocks);
    return out;
}

/* A call of itself is one of the function of the module. */
static const rlx_expr *call_itself(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                   bool *replaced)
{
    lifted *x = m->user;
    const rlx_call *call = rlx_as_call(value), *was = rlx_as_call(rlx_binding_value(old));
    (void)replaced;
    if (!call || !was || was->op != &x->var->node || !captures(x))
        return value;
    exprs args = { 0 };
    bool good = true;
    for (size_t i = 0; good && i < call->num_args; i++)
        good = push(x->l->ctx, &args, call->args[i]);
    good = good && captured_values(x, &x->values, &args);
    const rlx_expr *out = good ? rlx_call_new(x->l->ctx, &x->gv->node, args.data, args.len, NULL,
                                              0, call->attrs, call->place)
                               : NULL;
    rlx_vec_free(MEMORY(x), &args);
    return out;
}

static const rlx_string *name_of(lifting *l, const rlx_var *v)
{
    rlx_buf text;
    rlx_buf_init(&text, &l->ctx->memory);
    rlx_buf_format(&text, "%s_", l->outer->name->data);
    rlx_text_var_name(&text, v);
    size_t base = text.len;
    for (int n = 1; !text.failed &&
                    rlx_module_builder_lookup(l->mb, (rlx_slice){ text.data, text.len });
         n++) {
        text.len = base;
        rlx_buf_format(&text, "_%d", n);
    }
    const rlx_string *name =
        text.failed ? NULL : rlx_string_new(l->ctx, (rlx_slice){ text.data, text.len });
    rlx_buf_free(&text);
    return name;
}

static bool declare(lifted *x, const rlx_function *f)
{
    lifting *l = x->l;
    const rlx_string *name = name_of(l, x->var);
    const rlx_sinfo *s = rlx_signature(l->ctx, f->params, f->num_params, f->ret_sinfo, f->is_pure,
                                       NULL);
    x->gv = name && s ? rlx_module_builder_declare(l->mb, rlx_string_slice(name), s, f->place)
                      : NULL;
    return x->gv;
}

static const rlx_function *with_params(lifted *x, const rlx_expr *body)
{
    const rlx_function *f = x->old;
    exprs params = { 0 };
    bool good = body;
    for (size_t i = 0; good && i < f->num_params; i++)
        good = push(x->l->ctx, &params, f->params[i]);
    for (size_t i = 0; good && i < x->params.len; i++)
        good = push(x->l->ctx, &params, x->params.data[i]);
    const rlx_function *out =
        good ? rlx_function_new(x->l->ctx, params.data, params.len, body, f->ret_sinfo,
                                f->ret_stated, f->is_pure, f->attrs, NULL, f->place)
             : NULL;
    rlx_vec_free(MEMORY(x), &params);
    return out;
}

/* In the new function the parameters stand for what is captured. */
static const rlx_function *rewritten(lifted *x, rlx_mutator *m)
{
    exprs outside = x->values;
    x->values = x->params;
    x->values.len = x->captured.len;
    const rlx_function *f = with_params(x, body_of(x));
    f = f ? rlx_mutate_function(m, f, x->gv) : NULL;
    x->values = outside;
    return f ? rlx_as_function(rlx_copy_fresh(x->l->ctx, &f->node)) : NULL;
}

static bool lift(lifted *x, rlx_mutator *around)
{
    lifting *l = x->l;
    rlx_mutator m;
    rlx_mutator_init(&m, l->ctx, rlx_module_builder_env(l->mb), x);
    m.binding = call_itself;
    bool good = find_captured(x, around, &m) && find_sizes(x, around) && make_params(x, &m);
    const rlx_function *shape = good ? with_params(x, x->old->body) : NULL;
    good = shape && declare(x, shape);
    if (good && !captures(x))
        good = rlx_ptrmap_put(&m.vars, x->var, (uintptr_t)x->gv);
    const rlx_function *f = good ? rewritten(x, &m) : NULL;
    rlx_mutator_free(&m);
    return f && rlx_module_builder_define(l->mb, x->gv, &f->node) &&
           rlx_vec_push(&l->ctx->memory, &l->work, x->gv);
}

/* ---- the function around it ----------------------------------------------------------------- */

/* The variable of the local function is its closure. */
static bool bind_closure(lifted *x, rlx_mutator *around, const rlx_binding *old)
{
    rlx_context *ctx = x->l->ctx;
    const rlx_var *v = x->var;
    rlx_place place = rlx_place_of(old);
    if (!captures(x))
        return rlx_ptrmap_put(&around->vars, v, (uintptr_t)x->gv);
    const rlx_expr *closure = make_closure(x, &x->values, place ? place : v->place);
    rlx_emit how = { .number = -1, .place = place, .var_place = v->place };
    how.var = rlx_var_like(ctx, v, v->node.kind == RLX_NODE_DATAFLOW_VAR, NULL);
    const rlx_var *now =
        closure && how.var ? rlx_builder_emit(around->builder, closure, &how) : NULL;
    if (now && rlx_ptrmap_has(&x->l->values, v)) { /* others are told what it is */
        how.var = rlx_var_like(ctx, v, v->node.kind == RLX_NODE_DATAFLOW_VAR, NULL);
        now = how.var ? rlx_builder_emit_match(around->builder, &now->node, v->sinfo, &how, false)
                      : NULL;
    }
    return now && rlx_ptrmap_put(&around->vars, v, (uintptr_t)now);
}

static enum rlx_begin at_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    const rlx_function *f = rlx_as_function(rlx_binding_value(old));
    lifted x = { .l = m->user, .var = rlx_binding_var(old), .old = f };
    (void)place;
    if (!f || !x.var || old->kind != RLX_NODE_VAR_BINDING)
        return RLX_BEGIN_REWRITE;
    bool good = lift(&x, m) && bind_closure(&x, m, old);
    rlx_memory *memory = MEMORY(&x);
    rlx_vec_free(memory, &x.captured);
    rlx_vec_free(memory, &x.values);
    rlx_vec_free(memory, &x.sizes);
    rlx_vec_free(memory, &x.scalars);
    rlx_vec_free(memory, &x.params);
    return good ? RLX_BEGIN_DONE : RLX_BEGIN_FAILED;
}

/* A call of a variable that is a closure by now says what it gives. */
static const rlx_expr *invoke(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                              bool *replaced)
{
    lifting *l = m->user;
    const rlx_call *call = rlx_as_call(value), *was = rlx_as_call(rlx_binding_value(old));
    const rlx_var *callee = call ? rlx_as_var(call->op) : NULL,
                  *before = was ? rlx_as_var(was->op) : NULL, *v = rlx_binding_var(old);
    const rlx_func_sinfo *f = before ? rlx_as_func_sinfo(before->sinfo) : NULL;
    (void)replaced;
    if (!callee || !f || rlx_as_func_sinfo(callee->sinfo))
        return value;
    const rlx_expr *args[2] = { call->op, rlx_tuple_new(l->ctx, call->args, call->num_args,
                                                        call->place) };
    const rlx_sinfo *s = old->kind == RLX_NODE_VAR_BINDING && v ? rlx_signature_info(l->ctx, v->sinfo)
                                                                : rlx_object_info(l->ctx);
    return args[1] && s ? rlx_call_op_sinfo(l->ctx, f->is_pure ? l->invoke_pure : l->invoke, args,
                                            2, &s, 1, NULL, call->place)
                        : NULL;
}

static bool lift_from(lifting *l, const rlx_global_var *gv)
{
    static const rlx_mutator_hooks hooks = { .begin = at_binding };
    const rlx_function *f = rlx_as_function(rlx_module_builder_function(l->mb, gv));
    if (!has_local_functions(l, f))
        return !l->ctx->diags.out_of_memory;
    rlx_mutator m;
    rlx_mutator_init(&m, l->ctx, rlx_module_builder_env(l->mb), l);
    m.hooks = &hooks;
    m.binding = invoke;
    l->outer = gv;
    const rlx_function *now = rlx_mutate_function(&m, f, gv);
    rlx_mutator_free(&m);
    return now && rlx_module_builder_define(l->mb, gv, &now->node);
}

/* Functions that call each other, more than one, have no dataflow blocks. */
static const rlx_module *without_blocks(rlx_context *ctx, const rlx_module *m, const uint32_t *group,
                                        const bool *recursive, size_t *members)
{
    const rlx_node **functions = rlx_mem_alloc(&ctx->memory, (m->num_functions + 1) * sizeof *functions);
    rlx_seq_pass p;
    rlx_seq_init(&p, ctx, m, NULL);
    p.plain_blocks = true;
    bool good = functions != NULL;
    for (size_t i = 0; i < m->num_functions; i++)
        members[group[i]]++;
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        bool cycle = f && recursive[i] && members[group[i]] > 1;
        functions[i] = cycle ? (const rlx_node *)rlx_seq_function(&p, f) : m->functions[i];
        good = functions[i] != NULL;
    }
    const rlx_module *out = good ? rlx_module_with(ctx, m, functions) : NULL;
    rlx_seq_free(&p);
    rlx_mem_free(&ctx->memory, functions, functions ? (m->num_functions + 1) * sizeof *functions : 0);
    return out;
}

static const rlx_module *recursion_outside_of_blocks(rlx_context *ctx, const rlx_module *m)
{
    size_t n = m->num_functions + 1;
    uint32_t *group = rlx_mem_alloc(&ctx->memory, n * sizeof *group);
    bool *recursive = rlx_mem_alloc_zero(&ctx->memory, n);
    size_t *members = rlx_mem_alloc_zero(&ctx->memory, n * sizeof *members);
    const rlx_module *out = group && recursive && members && rlx_call_groups(ctx, m, group, recursive)
                                ? without_blocks(ctx, m, group, recursive, members) : NULL;
    rlx_mem_free(&ctx->memory, group, group ? n * sizeof *group : 0);
    rlx_mem_free(&ctx->memory, recursive, recursive ? n : 0);
    rlx_mem_free(&ctx->memory, members, members ? n * sizeof *members : 0);
    return out;
}

const rlx_module *rlx_pass_lambda_lift(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    lifting l = { .ctx = ctx,
                  .module = m,
                  .mb = rlx_module_builder_create(ctx, m),
                  .make = rlx_op_find(RLX_SLICE("make_closure")),
                  .invoke = rlx_op_find(RLX_SLICE("invoke_closure")),
                  .invoke_pure = rlx_op_find(RLX_SLICE("invoke_pure_closure")) };
    bool good = l.mb;
    rlx_ptrmap_init(&l.values, &ctx->memory);
    for (size_t i = 0; good && i < m->num_functions; i++)
        good = lift_from(&l, rlx_as_global_var(m->gvars[i]));
    for (size_t i = 0; good && i < l.work.len; i++)
        good = lift_from(&l, l.work.data[i]);
    const rlx_module *out = good ? rlx_module_builder_finish(l.mb, m->place) : NULL;
    if (out && l.work.len)
        out = recursion_outside_of_blocks(ctx, out);
    rlx_module_builder_free(l.mb);
    rlx_written_free(&l.written);
    rlx_vec_free(&ctx->memory, &l.work);
    rlx_ptrmap_free(&l.values);
    return out && (out == m || rlx_well_formed_since(ctx, out, m)) ? out : NULL;
}
