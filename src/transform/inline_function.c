/*- inline_function.c: calls of a function of the module become its body.
 *     gv = cls.f(x)               ->     lv = R.exp(x)
 *                                        gv = R.negative(lv)
 * needs: normal form. keeps: places (those of the body's bindings), purity, checks: where an
 * argument is not proved to be what the parameter says, or the result what is stated, a
 * match_cast stands for the check at the boundary of the function; likewise where a size is not
 * proved to lie within the bounds that the function assumes. Calls inside of what was inlined
 * stay, so recursion comes to an end.
 *
 * The body is copied with variables of its own; sizes that the arguments give take the place of
 * those that the parameters bind. In a dataflow block ordinary blocks of the body become part of
 * it; if there is in the body what must not be there (impure calls, ifs), the block is split
 * around it. */
#include "transform/edit.h"
#include "transform/seq_pass.h"
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

typedef struct inlining {
    rlx_context *ctx;
    const rlx_function *callee;
    const rlx_global_var *gv;
    const rlx_binding *only;   /* NULL: every call */
    const rlx_var *only_var;   /* that it binds; NULL: none */
    bool apart;                /* the body cannot stand in a dataflow block */
    size_t count;
} inlining;

typedef struct copy {
    rlx_context *ctx;
    rlx_builder *b;
    const rlx_function *f;     /* with fresh variables */
    rlx_place place;           /* of the call */
    rlx_prim_vars sizes;       /* that its parameters bind */
    rlx_prims from, to;        /* what arguments give for them */
    rlx_facts assumed;        /* of them */
    const rlx_expr **args;     /* in place of the parameters */
} copy;

static const rlx_sinfo *with_sizes(const copy *c, const rlx_sinfo *s)
{
    return rlx_substitute(c->ctx, s, c->from.data, c->to.data, c->from.len);
}

/* Sizes that the arguments give. A second sight that differs is left to a cast. */
static bool map_sizes(copy *c, const rlx_call *call)
{
    rlx_memory *m = &c->ctx->memory;
    rlx_mapping map;
    bool good = true;
    for (size_t i = 0; good && i < call->num_args; i++)
        good = rlx_collect_prim_vars(m, rlx_as_var(c->f->params[i])->sinfo, true, &c->sizes);
    rlx_mapping_init(&map, c->ctx, rlx_builder_scope(c->b),
                     (const rlx_prim *const *)(const void *)c->sizes.data, c->sizes.len);
    for (size_t i = 0; good && i < call->num_args; i++) {
        const rlx_sinfo *have = rlx_builder_infer(c->b, call->args[i]);
        good = have != NULL;
        if (good)
            rlx_mapping_add(&map, rlx_as_var(c->f->params[i])->sinfo, have, (int32_t)i);
    }
    for (size_t i = 0; good && i < c->sizes.len; i++) {
        const rlx_prim *to = rlx_ptrmap_get(&map.pairs, c->sizes.data[i]);
        if (to)
            good =
                rlx_vec_push(m, &c->from, &c->sizes.data[i]->node) && rlx_vec_push(m, &c->to, to);
    }
    good = good && !c->ctx->diags.out_of_memory;
    rlx_mapping_free(&map);
    return good;
}

/* e itself if it is known to be `want`, else cast to that. */
static const rlx_expr *checked(copy *c, const rlx_expr *e, const rlx_sinfo *want,
                               const rlx_string *name)
{
    const rlx_sinfo *have = want ? rlx_builder_infer(c->b, e) : NULL;
    rlx_emit how = { .name = name, .number = -1, .place = c->place, .var_place = c->place };
    if (!have)
        return NULL;
    if (rlx_assignable(c->ctx, rlx_builder_scope(c->b), have, want, NULL) == RLX_ASSIGNABLE_YES)
        return e;
    const rlx_var *v = rlx_builder_emit_match(c->b, e, want, &how, false);
    return v ? &v->node : NULL;
}

static bool take_args(copy *c, const rlx_call *call, rlx_rewriter *names)
{
    for (size_t i = 0; i < call->num_args; i++) {
        const rlx_var *p = rlx_as_var(c->f->params[i]);
        const rlx_sinfo *want = with_sizes(c, rlx_rewrite(names, p->sinfo));
        const rlx_expr *arg = checked(c, call->args[i], want, p->name);
        if (!arg)
            return false;
        if (!rlx_ptrmap_put(&names->map, p, (uintptr_t)arg))
            return false;
    }
    return true;
}

/* n <= 64 as something that a cast can check: min(n, 64) is n. */
static bool check_bound(copy *c, const rlx_prim_var *var, enum rlx_node_kind kind, int64_t limit)
{
    rlx_context *ctx = c->ctx;
    bool upper = kind == RLX_NODE_LE;
    const rlx_prim *bound = rlx_int64(ctx, limit),
                   *value = rlx_substitute(ctx, &var->node, c->from.data, c->to.data,
                                           c->from.len);
    if (!bound || !value)
        return false;
    if (rlx_prove_compare(ctx, rlx_builder_scope(c->b), kind, value, bound) == RLX_TRUE)
        return true;
    const rlx_prim *inside =
        rlx_fold_binary(ctx, upper ? RLX_NODE_MIN : RLX_NODE_MAX, value, bound);
    const rlx_expr *have = inside ? rlx_prim_value_new(ctx, inside) : NULL;
    const rlx_sinfo *want = rlx_prim_info(ctx, RELAX_INT64, value);
    rlx_emit how = { .name = var->name, .number = -1, .place = c->place, .var_place = c->place };
    return have && want && rlx_builder_emit_match(c->b, have, want, &how, false);
}

static bool check_promises(copy *c)
{
    for (size_t i = 0; i < c->assumed.len; i++) {
        const rlx_fact *p = &c->assumed.data[i];
        if ((p->low != INT64_MIN && !check_bound(c, p->var, RLX_NODE_GE, p->low)) ||
            (p->high != INT64_MAX && !check_bound(c, p->var, RLX_NODE_LE, p->high)))
            return false;
    }
    return true;
}

/* ---- into a dataflow block */

static enum rlx_step stop_at_function(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    (void)user, (void)via, (void)parent;
    return n->kind == RLX_NODE_FUNCTION ? RLX_STEP_STOP : RLX_STEP_ON;
}

static enum rlx_step stop_at_if(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    (void)user, (void)via, (void)parent;
    return n->kind == RLX_NODE_IF         ? RLX_STEP_STOP
           : n->kind == RLX_NODE_FUNCTION ? RLX_STEP_SKIP
                                          : RLX_STEP_ON;
}

/* Variables of the body become those of the block, unless a local function may capture them. */
static bool hide_variables(copy *c, const rlx_seq_expr *body, rlx_rewriter *names)
{
    rlx_walker w = { .enter = stop_at_function, .code = true };
    bool lost = false;
    if (rlx_walk(&c->ctx->memory, &body->node, &w, &lost) == RLX_STEP_STOP)
        return !lost;
    for (size_t i = 0; i < body->num_blocks; i++) {
        const rlx_block *block = rlx_as_block(body->blocks[i]);
        for (size_t k = 0; k < block->num_bindings; k++) {
            const rlx_var *v = rlx_binding_var(block->bindings[k]);
            if (!v || v->node.kind == RLX_NODE_DATAFLOW_VAR)
                continue;
            const rlx_sinfo *s = v->sinfo ? rlx_rewrite(names, v->sinfo) : NULL;
            const rlx_var *now = v->sinfo && !s ? NULL : rlx_var_like(c->ctx, v, true, s);
            if (!now || !rlx_ptrmap_put(&names->map, v, (uintptr_t)now))
                return now ? false : false;
        }
    }
    return true;
}

static const rlx_node *dataflow_blocks(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_block *b = n->kind == RLX_NODE_BINDING_BLOCK ? rlx_as_block(n) : NULL;
    const rlx_node *now =
        b ? rlx_block_new(r->ctx, true, b->bindings, b->num_bindings, b->place) : n;
    r->failed |= !now;
    return now;
}

/* Branches keep blocks of their kind: they are refused anyway. */
static const rlx_expr *body_for_dataflow(copy *c, const rlx_seq_expr *body, rlx_rewriter *names)
{
    if (!hide_variables(c, body, names))
        return NULL;
    names->after = dataflow_blocks;
    const rlx_expr *out = rlx_rewrite(names, &body->node);
    names->after = NULL;
    return out;
}

/* ---- one call */

static const rlx_expr *emit_body(copy *c, const rlx_call *call, rlx_rewriter *names)
{
    const rlx_seq_expr *body = rlx_as_seq_expr(c->f->body);
    if (!map_sizes(c, call) || !take_args(c, call, names) ||
        !rlx_assumed_of_params(c->ctx, c->f->attrs, c->f->params, c->f->num_params, &c->assumed) ||
        !check_promises(c))
        return NULL;
    const rlx_expr *e = body && rlx_builder_in_dataflow(c->b) ? body_for_dataflow(c, body, names)
                                                             : rlx_rewrite(names, c->f->body);
    e = e ? with_sizes(c, e) : NULL;
    const rlx_expr *leaf = e ? rlx_builder_operand(c->b, e) : NULL;
    if (!leaf || !c->f->ret_stated)
        return leaf;
    const rlx_sinfo *ret = rlx_rewrite(names, c->f->ret_sinfo);
    return ret ? checked(c, leaf, with_sizes(c, ret), NULL) : NULL;
}

static const rlx_expr *inlined(inlining *in, rlx_builder *b, const rlx_call *call, rlx_place place)
{
    rlx_context *ctx = in->ctx;
    copy c = { .ctx = ctx, .b = b, .place = place };
    rlx_rewriter names;
    if (call->num_args != in->callee->num_params)
        return rlx_error(ctx, RLX_TY03, place, "%s takes %zu arguments, found %zu",
                         in->gv->name->data, in->callee->num_params, call->num_args);
    rlx_place before = ctx->diags.otherwise;
    ctx->diags.otherwise = place;
    c.f = rlx_as_function(rlx_copy_fresh(ctx, &in->callee->node));
    rlx_rewriter_init(&names, ctx);
    const rlx_expr *out = c.f ? emit_body(&c, call, &names) : NULL;
    rlx_rewriter_free(&names);
    rlx_vec_free(&ctx->memory, &c.sizes);
    rlx_vec_free(&ctx->memory, &c.from);
    rlx_vec_free(&ctx->memory, &c.to);
    rlx_vec_free(&ctx->memory, &c.assumed);
    ctx->diags.otherwise = before;
    return out;
}

static bool is_meant(const inlining *in, const rlx_binding *b, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    if (!call || call->op != &in->gv->node)
        return false;
    return !in->only || (in->only_var ? rlx_binding_var(b) == in->only_var : in->only == b);
}

/* The result stands for the variable, unless it would leave its dataflow block by that. */
static const rlx_expr *at_binding(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                  bool *replaced)
{
    inlining *in = m->user;
    const rlx_var *v = rlx_binding_var(old);
    if (!is_meant(in, old, value))
        return value;
    in->count++;
    const rlx_expr *leaf = inlined(in, m->builder, rlx_as_call(value), rlx_place_of(old));
    bool leaves = v && v->node.kind == RLX_NODE_VAR && rlx_builder_in_dataflow(m->builder);
    *replaced = rlx_as_var(leaf) && old->kind == RLX_NODE_VAR_BINDING && !leaves;
    return leaf;
}

static bool stands_apart(void *user, const rlx_binding *b)
{
    return is_meant(user, b, rlx_binding_value(b));
}

/* May the body not stand in a dataflow block? */
static bool needs_ordinary_block(const inlining *in, const rlx_env *env)
{
    rlx_walker w = { .enter = stop_at_if, .code = true };
    const rlx_node *body = in->callee->body;
    bool lost = false;
    if (rlx_walk(&in->ctx->memory, body, &w, &lost) == RLX_STEP_STOP)
        return !lost;
    return rlx_find_impure_call(in->ctx, env, body, NULL) != NULL;
}

static bool inline_into(inlining *in, rlx_module_builder *mb, const rlx_function *f,
                        const rlx_global_var *gv)
{
    rlx_mutator m;
    if (in->apart)
        f = rlx_split_dataflow(in->ctx, f, stands_apart, in, &in->only_var);
    if (!f)
        return false;
    rlx_mutator_init(&m, in->ctx, rlx_module_builder_env(mb), in);
    m.binding = at_binding;
    size_t count = in->count;
    const rlx_function *now = rlx_mutate_function(&m, f, gv);
    rlx_mutator_free(&m);
    return now && (in->count == count || rlx_module_builder_define(mb, gv, &now->node));
}

static const rlx_module *run(inlining *in, const rlx_module *m, const rlx_global_var *caller)
{
    rlx_module_builder *mb = rlx_module_builder_create(in->ctx, m);
    bool good = mb != NULL;
    in->apart = good && needs_ordinary_block(in, rlx_module_builder_env(mb));
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        const rlx_global_var *gv = rlx_as_global_var(m->gvars[i]);
        if (f && f->body && (caller ? gv == caller : gv != in->gv))
            good = inline_into(in, mb, f, gv);
    }
    const rlx_module *out = good ? rlx_module_builder_finish(mb, m->place) : NULL;
    rlx_module_builder_free(mb);
    return out && (out == m || rlx_well_formed_since(in->ctx, out, m)) ? out : NULL;
}

const rlx_module *rlx_inline_function(rlx_context *ctx, const rlx_module *m,
                                      const rlx_global_var *callee, const rlx_global_var *caller,
                                      const rlx_binding *only)
{
    int64_t at = rlx_module_index(m, callee);
    const rlx_var *only_var = only ? rlx_binding_var(only) : NULL;
    inlining in = { .ctx = ctx, .gv = callee, .only = only, .only_var = only_var };
    in.callee = at < 0 ? NULL : rlx_as_function(m->functions[at]);
    uint8_t before = ctx->origin;
    if (!in.callee || !in.callee->body)
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%s is no Relax function with a body",
                         callee->name->data);
    if (!before)
        ctx->origin = rlx_context_origin(ctx, "inline");
    const rlx_module *out = run(&in, m, caller);
    ctx->origin = before;
    if (out && only && !in.count)
        return rlx_error(ctx, RLX_OP02, rlx_place_of(only), "the binding is none of %s",
                         caller ? caller->name->data : "the module");
    return out;
}
