/* api_mutate.c: mutators of the host: which entry of the table a node goes to, and what comes
 * back. */
#include <relax/rewrite.h>
#include "api/api_entries.h"

#include "op/op.h"
#include "sinfo/builder.h"
#include "transform/edit.h"
#include "transform/transform.h"

struct relax_mutator {
    RLX_API_TAG
    relax_context *ctx;
    relax_mutations t;
    rlx_mutation how;
    rlx_mutator *m;        /* of the function under way */
    rlx_api_borrow *borrow;
    /* while a callback runs */
    relax_builder *builder;
    relax_module_builder *module_builder;
    bool keeps;            /* it has said so */
    rlx_place place;       /* of what is made for the binding, block or function under way */
    const rlx_node *asked; /* the node that the callback is asked about */
    rlx_float_env host;    /* callbacks run in the host's environment */
    size_t errors;         /* when the callback began */
    rlx_rewriter parts;    /* struct info and integers by their entries */
    rlx_ptrmap placeholders;
};

static const uint16_t expr_entries[RLX_NODE_COUNT] = RLX_API_EXPR_ENTRIES(relax_mutations, );
static const uint16_t value_entries[RLX_NODE_COUNT] =
    RLX_API_EXPR_ENTRIES(relax_mutations, var_binding_);
static const uint16_t info_entries[RLX_NODE_COUNT] = RLX_API_INFO_ENTRIES(relax_mutations);

/* ---- around each callback */

static void enter_host(relax_mutator *h, const rlx_node *about)
{
    h->asked = about;
    h->keeps = false;
    h->errors = rlx_error_count(h->ctx);
    h->builder =
        rlx_api_borrow_begin(h->borrow, h->how.mb, h->m->builder, h->place, &h->module_builder);
    rlx_float_leave(h->host);
}

/* False: what was opened is open still, or errors were raised. */
static bool leave_host(relax_mutator *h)
{
    h->host = rlx_float_enter();
    h->asked = NULL;
    h->builder = NULL;
    h->module_builder = NULL;
    bool closed = rlx_api_borrow_end(h->borrow);
    h->ctx->diags.otherwise = h->place;
    return closed && rlx_error_count(h->ctx) == h->errors;
}

static const void *failed(relax_mutator *h, const char *why)
{
    if (rlx_error_count(h->ctx) == h->errors)
        rlx_error(h->ctx, RLX_OP17, h->place, "a callback of the mutator %s", why);
    return NULL;
}

/* The node that a callback returned instead of `old`; NULL after a report. */
static const rlx_node *answered(relax_mutator *h, const rlx_node *old, const void *now,
                                enum rlx_family family)
{
    bool good = leave_host(h);
    if (!good || !now)
        return failed(h, "failed without saying why");
    return now == old || rlx_api_family(h->ctx, now, family, "what the callback returns") ? now
                                                                                          : NULL;
}

/* ---- expressions */

#define HANDLE(type, n) ((const type *)(const void *)(n))

static const rlx_expr *ask_expr(relax_mutator *h, relax_mutate_expr_fn f, const rlx_expr *e)
{
    if (!f)
        return e;
    enter_host(h, e);
    return answered(h, e, f(h->t.user, h, HANDLE(relax_expr, e)), RLX_FAMILY_EXPR);
}

/* `expr`, then the entry of the kind. */
static const rlx_expr *ask_both(relax_mutator *h, const rlx_expr *e, bool *keep)
{
    relax_mutate_expr_fn f = RLX_API_ENTRY(relax_mutate_expr_fn, &h->t, expr_entries[e->kind]);
    if (!f && e->kind == RLX_NODE_DATAFLOW_VAR)
        f = h->t.var;
    h->keeps = false;
    const rlx_expr *now = ask_expr(h, h->t.expr, e);
    if (now == e && !h->keeps)
        now = ask_expr(h, f, e);
    *keep = h->keeps;
    return now;
}

static bool is_post_order(const relax_mutator *h)
{
    return h->t.flags & RELAX_MUTATE_POST_ORDER;
}

static const rlx_expr *enter_expr(rlx_mutator *m, const rlx_expr *e, bool *keep)
{
    relax_mutator *h = m->user;
    return is_post_order(h) && e->kind != RLX_NODE_SEQ_EXPR ? e : ask_both(h, e, keep);
}

/* The bindings of branches and local functions were the last ones under way. */
static const rlx_expr *leave_expr(rlx_mutator *m, const rlx_expr *e)
{
    bool keep;
    relax_mutator *h = m->user;
    rlx_place own = e->kind == RLX_NODE_IF || e->kind == RLX_NODE_FUNCTION ? rlx_place_of(e)
                                                                           : RLX_NO_PLACE;
    h->place = h->ctx->diags.otherwise = own ? own : h->place;
    return ask_both(h, e, &keep);
}

/* A function that is not local stays one. */
static const rlx_function *ask_function(relax_mutator *h, const rlx_function *f, bool *keep)
{
    const rlx_expr *now = ask_both(h, &f->node, keep);
    if (now && !rlx_as_function(now))
        rlx_error(h->ctx, RLX_OP02, f->place,
                  "a function of a module becomes a function, found %s",
                  rlx_kinds[now->kind].name);
    return rlx_as_function(now);
}

static const rlx_function *enter_function(rlx_mutator *m, const rlx_function *f, bool *keep)
{
    relax_mutator *h = m->user;
    h->m = m;
    h->place = h->ctx->diags.otherwise = f->place;
    return is_post_order(h) || h->how.dataflow_only ? f : ask_function(h, f, keep);
}

static const rlx_function *leave_function(rlx_mutator *m, const rlx_function *f)
{
    relax_mutator *h = m->user;
    bool keep;
    h->place = h->ctx->diags.otherwise = f->place;
    return is_post_order(h) && !h->how.dataflow_only ? ask_function(h, f, &keep) : f;
}

/* ---- bindings, blocks, definitions */

static int32_t ask_binding(relax_mutator *h, relax_mutate_binding_fn f, const rlx_binding *b)
{
    if (!f)
        return RELAX_VISIT_CHILDREN;
    enter_host(h, b);
    int32_t answer = f(h->t.user, h, HANDLE(relax_binding, b));
    bool good = leave_host(h);
    if (good && (answer == RELAX_VISIT_CHILDREN || answer == RELAX_VISIT_DONE))
        return answer;
    failed(h, "of a binding ended the rewriting");
    return 1;
}

static relax_mutate_binding_fn binding_entry(const relax_mutations *t, const rlx_binding *b)
{
    const rlx_var_binding *vb = rlx_as_var_binding(b);
    if (!vb)
        return t->match_cast;
    relax_mutate_binding_fn f =
        RLX_API_ENTRY(relax_mutate_binding_fn, t, vb->value ? value_entries[vb->value->kind] : 0);
    return f ? f : t->var_binding;
}

/* The place of what a binding becomes; one that is none leaves it where it was. */
static bool ask_place(relax_mutator *h, const rlx_binding *b, rlx_place *place)
{
    if (!h->t.span || !*place)
        return true;
    enter_host(h, b);
    relax_place now = h->t.span(h->t.user, h, *place);
    if (!leave_host(h))
        return false;
    *place = now ? now : *place;
    return true;
}

static enum rlx_begin begin_binding(rlx_mutator *m, const rlx_binding *b, rlx_place *place)
{
    relax_mutator *h = m->user;
    h->place = h->ctx->diags.otherwise = *place;
    if (!ask_place(h, b, place))
        return RLX_BEGIN_FAILED;
    h->place = h->ctx->diags.otherwise = *place;
    int32_t answer = ask_binding(h, h->t.binding, b);
    if (answer == RELAX_VISIT_CHILDREN)
        answer = ask_binding(h, binding_entry(&h->t, b), b);
    return answer == RELAX_VISIT_CHILDREN ? RLX_BEGIN_REWRITE
           : answer == RELAX_VISIT_DONE   ? RLX_BEGIN_DONE
                                          : RLX_BEGIN_FAILED;
}

static const rlx_node *ask_block(relax_mutator *h, relax_mutate_block_fn f, const rlx_node *b)
{
    if (!f)
        return b;
    enter_host(h, b);
    return answered(h, b, f(h->t.user, h, HANDLE(relax_block, b)), RLX_FAMILY_BLOCK);
}

static const rlx_block *begin_block(rlx_mutator *m, const rlx_block *b, bool *keep)
{
    relax_mutator *h = m->user;
    relax_mutate_block_fn f = b->node.kind == RLX_NODE_DATAFLOW_BLOCK && h->t.dataflow_block
                                  ? h->t.dataflow_block
                                  : h->t.binding_block;
    h->keeps = false;
    h->place = h->ctx->diags.otherwise = b->place;
    const rlx_node *now = ask_block(h, h->t.block, &b->node);
    if (now == &b->node && !h->keeps)
        now = ask_block(h, f, now);
    *keep = h->keeps;
    return rlx_as_block(now);
}

static bool end_block(rlx_mutator *m, const rlx_block *b)
{
    const rlx_var *lost = rlx_mutator_lost_output(m, b);
    if (!lost)
        return true;
    rlx_error(m->ctx, RLX_OP17, lost->place,
              "the rewriting leaves output %s of a dataflow block without a value",
              rlx_show(m->ctx, &lost->node));
    rlx_note(m->ctx, RLX_NO_PLACE, "bind it by relax_builder_emit_output, or replace it by "
                                   "what is seen after the block");
    return false;
}

/* A variable of the host takes the kind of the one it stands for. */
static const rlx_var *define(rlx_mutator *m, const rlx_var *v)
{
    relax_mutator *h = m->user;
    bool dataflow = v->node.kind == RLX_NODE_DATAFLOW_VAR;
    relax_mutate_expr_fn f =
        dataflow && h->t.var_def_dataflow_var ? h->t.var_def_dataflow_var : h->t.var_def_var;
    const rlx_expr *now = ask_expr(h, h->t.var_def, &v->node);
    if (now == &v->node)
        now = ask_expr(h, f, now);
    const rlx_var *to = rlx_as_var(now);
    if (now && !to)
        rlx_error(h->ctx, RLX_OP02, v->place, "what is defined is a variable, found %s",
                  rlx_kinds[now->kind].name);
    if (!to || to == v)
        return to;
    return rlx_var_new(h->ctx, dataflow, to->name, to->number, to->sinfo,
                       to->place ? to->place : v->place);
}

/* ---- struct info and integers */

static const rlx_node *ask_info(relax_mutator *h, relax_mutate_info_fn f, const rlx_node *s)
{
    if (!f)
        return s;
    enter_host(h, s);
    return answered(h, s, f(h->t.user, h, HANDLE(relax_struct_info, s)), RLX_FAMILY_SINFO);
}

static relax_mutate_info_fn info_entry(const relax_mutator *h, const rlx_node *s)
{
    return RLX_API_ENTRY(relax_mutate_info_fn, &h->t, info_entries[s->kind]);
}

static const rlx_node *ask_prim(relax_mutator *h, const rlx_node *p)
{
    if (!h->t.prim_expr || rlx_ptrmap_has(&h->placeholders, p))
        return p;
    enter_host(h, p);
    const rlx_node *now = answered(
        h, p, h->t.prim_expr(h->t.user, h, HANDLE(relax_prim_expr, p)), RLX_FAMILY_PRIM);
    if (!now || rlx_prim_dtype(now) == rlx_prim_dtype(p))
        return now;
    return rlx_error(h->ctx, RLX_OP02, h->place,
                     "an integer expression became one of another dtype: %s instead of %s",
                     rlx_show(h->ctx, now), rlx_show(h->ctx, p));
}

/* Placeholders of a function description are no variables of the program. */
static bool note_placeholders(relax_mutator *h, const rlx_func_sinfo *f)
{
    for (size_t i = 0; f && i < f->num_binders; i++)
        if (!rlx_ptrmap_put(&h->placeholders, f->binders[i], 1))
            return false;
    return true;
}

static const rlx_node *before_part(rlx_rewriter *r, const rlx_node *n)
{
    relax_mutator *h = r->user;
    const rlx_node *now = n;
    if (!note_placeholders(h, rlx_as_func_sinfo(n)))
        now = NULL;
    else if (rlx_family_of(n) == RLX_FAMILY_PRIM)
        now = ask_prim(h, n);
    else if (rlx_family_of(n) == RLX_FAMILY_SINFO) {
        h->keeps = false;
        now = is_post_order(h) ? n : ask_info(h, info_entry(h, n), n);
        if (now == n && !h->keeps)
            return NULL;
    } else if (n->kind == RLX_NODE_SHAPE_EXPR || n->kind == RLX_NODE_PRIM_VALUE)
        return NULL;
    r->failed |= !now;
    return now;
}

static const rlx_node *after_part(rlx_rewriter *r, const rlx_node *n)
{
    relax_mutator *h = r->user;
    bool asks = is_post_order(h) && rlx_family_of(n) == RLX_FAMILY_SINFO;
    const rlx_node *now = asks ? ask_info(h, info_entry(h, n), n) : n;
    r->failed |= !now;
    return now;
}

static const rlx_node *part(rlx_mutator *m, const rlx_node *n)
{
    relax_mutator *h = m->user;
    h->keeps = false;
    if (rlx_family_of(n) == RLX_FAMILY_SINFO) {
        const rlx_node *now = ask_info(h, h->t.sinfo_dep, n);
        if (now != n || h->keeps)
            return now;
    }
    h->parts.failed = false;
    return rlx_rewrite(&h->parts, n);
}

/* Is one of the entries from `first` to `last` set? */
static bool any_set(const relax_mutations *t, size_t first, size_t last)
{
    for (size_t at = first; at <= last; at += sizeof t->call)
        if (RLX_API_ENTRY(relax_mutate_expr_fn, t, at))
            return true;
    return false;
}

/* ---- running */

static const rlx_mutator_hooks *make_hooks(relax_mutator *h, rlx_mutator_hooks *hooks)
{
    const relax_mutations *t = &h->t;
    bool exprs = any_set(t, offsetof(relax_mutations, expr), offsetof(relax_mutations, op));
    *hooks = (rlx_mutator_hooks){ .begin = begin_binding, .block_end = end_block };
    if (exprs)
        hooks->enter = enter_expr;
    if (exprs && is_post_order(h))
        hooks->leave = leave_expr;
    if (t->block || t->binding_block || t->dataflow_block)
        hooks->block = begin_block;
    if (t->var_def || t->var_def_var || t->var_def_dataflow_var)
        hooks->define = define;
    if (any_set(t, offsetof(relax_mutations, prim_expr), offsetof(relax_mutations, sinfo_func)))
        hooks->part = part;
    return hooks;
}

static const rlx_module *run(relax_mutator *h, const rlx_module *module)
{
    rlx_mutator_hooks hooks;
    relax_context *ctx = h->ctx;
    rlx_place before = ctx->diags.otherwise;
    h->how.hooks = make_hooks(h, &hooks);
    h->how.dataflow_only = h->t.flags & RELAX_MUTATE_DATAFLOW;
    h->how.user = h;
    h->how.enter = enter_function;
    h->how.leave = leave_function;
    rlx_rewriter_init(&h->parts, ctx);
    h->parts.user = h;
    h->parts.before = before_part;
    h->parts.after = after_part;
    rlx_ptrmap_init(&h->placeholders, &ctx->memory);
    h->host = rlx_float_enter();
    const rlx_module *out = rlx_mutate_module(ctx, module, &h->how);
    rlx_float_leave(h->host);
    ctx->diags.otherwise = before;
    rlx_ptrmap_free(&h->placeholders);
    rlx_rewriter_free(&h->parts);
    return out;
}

static bool read_table(relax_context *ctx, const relax_mutations *mutations, relax_mutations *t)
{
    *t = (relax_mutations){ .struct_size = sizeof *t };
    if (!rlx_api_required(ctx, mutations, "mutations"))
        return false;
    if (!rlx_options_read(t, sizeof *t, mutations) || t->reserved)
        rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed relax_mutations");
    else if (t->flags & ~(RELAX_MUTATE_POST_ORDER | RELAX_MUTATE_DATAFLOW))
        rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "there is no flag %d here", (int)t->flags);
    else
        return true;
    return false;
}

relax_module *relax_module_mutate(relax_context *ctx, const relax_module *module,
                                  const char *function, size_t function_len,
                                  const relax_mutations *mutations)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    relax_mutator h = { .ctx = ctx };
    RLX_API_SET_TAG(&h, API_MUTATOR);
    if (!rlx_api_family(ctx, module, RLX_FAMILY_MODULE, "module") ||
        !read_table(ctx, mutations, &h.t) ||
        !rlx_api_function(ctx, rlx_as_module(node_of(module)), function, function_len, &h.how.gv))
        return give(ctx, NULL);
    h.borrow = rlx_api_borrow_create(ctx);
    const rlx_module *out = h.borrow ? run(&h, rlx_as_module(node_of(module))) : NULL;
    rlx_api_borrow_free(h.borrow);
    RLX_API_SET_TAG(&h, API_GONE);
    return give(ctx, out);
}

/* ---- from callbacks */

relax_place relax_mutator_place(relax_mutator *mutator)
{
    if (!RLX_API_IS(mutator, API_MUTATOR))
        return RLX_NO_PLACE;
    const rlx_node *n = mutator->asked;
    enum rlx_family family = n ? rlx_family_of(n) : RLX_FAMILY_BINDING;
    rlx_place own = n && family != RLX_FAMILY_BINDING ? rlx_place_of(n) : RLX_NO_PLACE;
    return own ? own : mutator->place;
}

relax_builder *relax_mutator_builder(relax_mutator *mutator)
{
    return RLX_API_IS(mutator, API_MUTATOR) ? mutator->builder : NULL;
}

relax_module_builder *relax_mutator_module_builder(relax_mutator *mutator)
{
    return RLX_API_IS(mutator, API_MUTATOR) ? mutator->module_builder : NULL;
}

const relax_expr *relax_mutator_now(relax_mutator *mutator, const relax_expr *var)
{
    bool known = RLX_API_IS(mutator, API_MUTATOR) && rlx_as_var(node_of(var));
    return RLX_API_EXPR(known ? rlx_mutator_now(mutator->m, node_of(var)) : NULL);
}

const relax_expr *relax_mutator_find(relax_mutator *mutator, const relax_expr *var)
{
    const rlx_expr *now = node_of(relax_mutator_now(mutator, var));
    const rlx_var *v = rlx_as_var(now);
    return RLX_API_EXPR(v ? rlx_builder_lookup(mutator->m->builder, v) : now);
}

relax_status relax_mutator_replace(relax_mutator *mutator, const relax_expr *var,
                                   const relax_expr *with)
{
    if (!RLX_API_IS(mutator, API_MUTATOR))
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_context *ctx = mutator->ctx;
    size_t errors = rlx_error_count(ctx);
    if (!rlx_api_family(ctx, var, RLX_FAMILY_EXPR, "var") ||
        !rlx_api_family(ctx, with, RLX_FAMILY_EXPR, "with"))
        return rlx_api_failed(ctx, errors);
    const rlx_var *v = rlx_as_var(node_of(var));
    const rlx_expr *leaf = rlx_mutator_now(mutator->m, node_of(with));
    if (!v || !rlx_is_leaf(leaf))
        rlx_error(ctx, RLX_OP02, mutator->place, "a variable is replaced by a variable or another "
                  "leaf, found %s by %s", rlx_show(ctx, node_of(var)), rlx_kinds[leaf->kind].name);
    else if (leaf != &v->node)
        (void)rlx_ptrmap_put(&mutator->m->vars, v, (uintptr_t)leaf);
    return rlx_api_failed(ctx, errors);
}

relax_status relax_mutator_keep(relax_mutator *mutator)
{
    if (!RLX_API_IS(mutator, API_MUTATOR))
        return RELAX_ERROR_INVALID_ARGUMENT;
    mutator->keeps = true;
    return give_status(mutator->ctx, RELAX_OK);
}

relax_status relax_mutations_init(relax_mutations *mutations, size_t struct_size)
{
    static const relax_mutations defaults = { .struct_size = sizeof defaults };
    return rlx_options_init(mutations, struct_size, &defaults, sizeof defaults);
}
