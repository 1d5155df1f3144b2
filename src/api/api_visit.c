/* api_visit.c: visitors of the host: which entry of the table a node goes to. */
#include <relax/rewrite.h>
#include "api/api_entries.h"

typedef struct visit {
    relax_visitor v;
    relax_status answer;
} visit;

static const uint16_t expr_entries[RLX_NODE_COUNT] = RLX_API_EXPR_ENTRIES(relax_visitor, );
static const uint16_t value_entries[RLX_NODE_COUNT] =
    RLX_API_EXPR_ENTRIES(relax_visitor, var_binding_);
static const uint16_t info_entries[RLX_NODE_COUNT] = RLX_API_INFO_ENTRIES(relax_visitor);

/* ---- one node */

static relax_visit_expr_fn expr_entry(const relax_visitor *v, uint8_t kind)
{
    relax_visit_expr_fn f = RLX_API_ENTRY(relax_visit_expr_fn, v, expr_entries[kind]);
    return f || kind != RLX_NODE_DATAFLOW_VAR ? f : v->var;
}

static int32_t visit_expr(const relax_visitor *v, const rlx_node *n)
{
    const relax_expr *e = (const relax_expr *)(const void *)n;
    int32_t answer = v->expr ? v->expr(v->user, e) : RELAX_VISIT_CHILDREN;
    relax_visit_expr_fn f = expr_entry(v, n->kind);
    return answer == RELAX_VISIT_CHILDREN && f ? f(v->user, e) : answer;
}

static int32_t visit_definition(const relax_visitor *v, const rlx_node *n)
{
    const relax_expr *e = (const relax_expr *)(const void *)n;
    int32_t answer = v->var_def ? v->var_def(v->user, e) : RELAX_VISIT_CHILDREN;
    relax_visit_expr_fn f = n->kind == RLX_NODE_DATAFLOW_VAR && v->var_def_dataflow_var
                                ? v->var_def_dataflow_var
                                : v->var_def_var;
    return answer == RELAX_VISIT_CHILDREN && f ? f(v->user, e) : answer;
}

static int32_t visit_binding(const relax_visitor *v, const rlx_node *n)
{
    const rlx_var_binding *b = rlx_as_var_binding(n);
    const relax_binding *handle = (const relax_binding *)(const void *)n;
    int32_t answer = v->binding ? v->binding(v->user, handle) : RELAX_VISIT_CHILDREN;
    relax_visit_binding_fn f = v->match_cast;
    if (b) {
        f = RLX_API_ENTRY(relax_visit_binding_fn, v, b->value ? value_entries[b->value->kind] : 0);
        f = f ? f : v->var_binding;
    }
    return answer == RELAX_VISIT_CHILDREN && f ? f(v->user, handle) : answer;
}

static int32_t visit_block(const relax_visitor *v, const rlx_node *n)
{
    const relax_block *handle = (const relax_block *)(const void *)n;
    int32_t answer = v->block ? v->block(v->user, handle) : RELAX_VISIT_CHILDREN;
    relax_visit_block_fn f =
        n->kind == RLX_NODE_DATAFLOW_BLOCK && v->dataflow_block ? v->dataflow_block
                                                                : v->binding_block;
    return answer == RELAX_VISIT_CHILDREN && f ? f(v->user, handle) : answer;
}

static int32_t visit_info(const relax_visitor *v, const rlx_node *n, bool hangs)
{
    const relax_struct_info *info = (const relax_struct_info *)(const void *)n;
    int32_t answer = hangs && v->sinfo_dep ? v->sinfo_dep(v->user, info) : RELAX_VISIT_CHILDREN;
    relax_visit_info_fn f = RLX_API_ENTRY(relax_visit_info_fn, v, info_entries[n->kind]);
    return answer == RELAX_VISIT_CHILDREN && f ? f(v->user, info) : answer;
}

/* ---- the walk */

static enum rlx_step stop(visit *w, int32_t answer)
{
    w->answer = answer;
    return RLX_STEP_STOP;
}

static bool is_in(enum rlx_family family, const rlx_node *n)
{
    return n && rlx_family_of(n) == family;
}

/* The shape of a tensor is no expression of the program, its dimensions are looked at; what a
 * function description or a module defines is neither use nor definition. */
static bool is_passed_through(const rlx_node *n, const rlx_node *parent)
{
    return n->kind == RLX_NODE_MODULE ||
           (n->kind == RLX_NODE_SHAPE_EXPR && is_in(RLX_FAMILY_SINFO, parent));
}

static bool is_passed_over(const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    bool defines = rlx_field_is_def(via) &&
                   (rlx_is(parent, RLX_NODE_MODULE) || rlx_is(parent, RLX_NODE_FUNC_SINFO));
    switch (rlx_family_of(n)) {
    case RLX_FAMILY_EXPR:
    case RLX_FAMILY_SINFO:
    case RLX_FAMILY_PRIM: return defines;
    case RLX_FAMILY_BINDING:
    case RLX_FAMILY_BLOCK:
    case RLX_FAMILY_MODULE: return false;
    default: return true;
    }
}

static int32_t dispatch(const relax_visitor *v, const rlx_node *n, const rlx_field *via,
                        const rlx_node *parent)
{
    switch (rlx_family_of(n)) {
    case RLX_FAMILY_BINDING: return visit_binding(v, n);
    case RLX_FAMILY_BLOCK: return visit_block(v, n);
    case RLX_FAMILY_SINFO: return visit_info(v, n, parent && !is_in(RLX_FAMILY_SINFO, parent));
    case RLX_FAMILY_PRIM:
        return v->prim_expr
                   ? v->prim_expr(v->user, (const relax_prim_expr *)(const void *)n)
                   : RELAX_VISIT_DONE;
    default:
        return rlx_field_is_def(via) && rlx_as_var(n) ? visit_definition(v, n) : visit_expr(v, n);
    }
}

static enum rlx_step enter_visited(void *user, const rlx_node *n, const rlx_field *via,
                                   const rlx_node *parent)
{
    visit *w = user;
    const relax_visitor *v = &w->v;
    if (is_passed_over(n, via, parent))
        return RLX_STEP_SKIP;
    if (is_passed_through(n, parent))
        return RLX_STEP_ON;
    int32_t answer = dispatch(v, n, via, parent);
    bool is_prim = rlx_family_of(n) == RLX_FAMILY_PRIM;
    if (answer == RELAX_VISIT_DONE || (is_prim && answer == RELAX_VISIT_CHILDREN))
        return RLX_STEP_SKIP;
    if (answer != RELAX_VISIT_CHILDREN)
        return stop(w, answer);
    rlx_place place = rlx_place_of(n);
    answer = v->span && place ? v->span(v->user, place) : RELAX_VISIT_DONE;
    return answer == RELAX_VISIT_DONE || answer == RELAX_VISIT_CHILDREN ? RLX_STEP_ON
                                                                        : stop(w, answer);
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    visit *w = user;
    if (!w->v.leave)
        return RLX_STEP_ON;
    int32_t answer = w->v.leave(w->v.user, (const relax_node *)(const void *)n);
    return answer == RELAX_VISIT_DONE || answer == RELAX_VISIT_CHILDREN ? RLX_STEP_ON
                                                                        : stop(w, answer);
}

static relax_status run(relax_context *ctx, const rlx_node *n, const rlx_walker *walker,
                        const relax_status *answer)
{
    bool lost = false;
    rlx_api_hold(ctx);
    enum rlx_step end = rlx_walk(&ctx->memory, n, walker, &lost);
    relax_status status = lost                    ? RELAX_ERROR_OUT_OF_MEMORY
                          : end == RLX_STEP_STOP ? *answer
                                                 : RELAX_OK;
    give_status(ctx, status);
    rlx_api_let_go(ctx);
    return status;
}

relax_status relax_node_visit(relax_context *ctx, const relax_node *node,
                              const relax_visitor *visitor)
{
    visit w = { .v = { .struct_size = sizeof w.v } };
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    if (!rlx_api_node(ctx, node, "node") || !rlx_api_required(ctx, visitor, "visitor"))
        return rlx_api_failed(ctx, errors);
    if (!rlx_options_read(&w.v, sizeof w.v, visitor)) {
        rlx_error(ctx, RLX_OP05, RLX_NO_PLACE, "malformed relax_visitor");
        return rlx_api_failed(ctx, errors);
    }
    rlx_walker walker = { .enter = enter_visited, .leave = leave, .user = &w, .annotations = true };
    return run(ctx, node_of(node), &walker, &w.answer);
}

/* ---- each expression once */

typedef struct post_order {
    rlx_context *ctx;
    relax_visit_expr_fn each;
    void *user;
    rlx_ptrmap done;
    relax_status answer;
} post_order;

static enum rlx_step enter_once(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    (void)user;
    return rlx_family_of(n) == RLX_FAMILY_SINFO || is_passed_over(n, via, parent) ? RLX_STEP_SKIP
                                                                                 : RLX_STEP_ON;
}

/* A variable may be left twice: where it is used first, and where it is defined. */
static enum rlx_step leave_once(void *user, const rlx_node *n)
{
    post_order *p = user;
    if (rlx_family_of(n) != RLX_FAMILY_EXPR || rlx_ptrmap_has(&p->done, n))
        return RLX_STEP_ON;
    if (rlx_as_var(n) && !rlx_ptrmap_put(&p->done, n, 1)) {
        p->answer = RELAX_ERROR_OUT_OF_MEMORY;
        return RLX_STEP_STOP;
    }
    p->answer = p->each(p->user, (const relax_expr *)(const void *)n);
    return p->answer ? RLX_STEP_STOP : RLX_STEP_ON;
}

relax_status relax_node_visit_post_order(relax_context *ctx, const relax_node *node,
                                         relax_visit_expr_fn each, void *user)
{
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    if (!rlx_api_node(ctx, node, "node"))
        return rlx_api_failed(ctx, errors);
    if (!each) {
        rlx_error(ctx, RLX_OP01, RLX_NO_PLACE, "each is NULL");
        return rlx_api_failed(ctx, errors);
    }
    post_order p = { .ctx = ctx, .each = each, .user = user };
    rlx_ptrmap_init(&p.done, &ctx->memory);
    rlx_walker walker = { .enter = enter_once, .leave = leave_once, .user = &p, .unique = true };
    relax_status status = run(ctx, node_of(node), &walker, &p.answer);
    rlx_ptrmap_free(&p.done);
    return status;
}

relax_status relax_visitor_init(relax_visitor *visitor, size_t struct_size)
{
    static const relax_visitor defaults = { .struct_size = sizeof defaults };
    return rlx_options_init(visitor, struct_size, &defaults, sizeof defaults);
}
