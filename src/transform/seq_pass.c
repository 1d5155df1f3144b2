/* seq_pass.c: the walk of seq_pass.h.
 *
 * The order is that of ir/flow.h. Frames are the sequences under way, as the walk has them: what
 * is emitted for each. Two stacks hold what has
 * been emitted, shared by all frames: finished blocks, and the bindings of the block that is
 * open. A nested sequence works on top of what its parent has there and leaves both stacks as
 * it found them.
 */
#include "transform/seq_pass.h"

#include "analysis/analysis.h"

struct rlx_seq_frame {
    /* a SeqExpr, or a bare result where the program is not normal */
    const rlx_expr *source;
    size_t first_block, first_binding; /* where our output begins */
    const rlx_block *opened;           /* source of the open output block, NULL: none is open */
    /* source block under way of which nothing has been emitted yet */
    const rlx_block *coming;
    const rlx_block *block;            /* source block under way */
    bool dataflow;                     /* a dataflow block is under way, or is to be */
    bool opened_dataflow;              /* kind of the open output block */
    const rlx_var *pending_var;        /* a local function's own variable, known before its body */
    /* of the binding under way: the new condition, branches or body */
    const rlx_expr *cond, *then_branch, *last;
};

#define MEMORY(p) (&(p)->ctx->memory)

/* Variables and what cannot hold any are leaves of renaming. */
static const rlx_node *stop_at_leaf(rlx_rewriter *r, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_VAR:
    case RLX_NODE_DATAFLOW_VAR:
    case RLX_NODE_GLOBAL_VAR:
    case RLX_NODE_CONSTANT:
    case RLX_NODE_PRIM_VAR:
    case RLX_NODE_OP: case RLX_NODE_EXTERN_FUNC:
        return n;
    default:
        return rlx_node_is_closed(n) ? n : NULL;
    }
}

const rlx_node *rlx_fold_numbers(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_binary *b = rlx_as_binary(n);
    return b && rlx_is(b->a, RLX_NODE_INT_IMM) && rlx_is(b->b, RLX_NODE_INT_IMM)
               ? rlx_fold_binary(r->ctx, (enum rlx_node_kind)n->kind, b->a, b->b)
               : n;
}

const rlx_function *rlx_seq_force_pure(rlx_seq_pass *p, const rlx_function *old,
                                       const rlx_function *now)
{
    if (now == old || !now->is_pure || rlx_flag_attr(now->attrs, "relax.force_pure"))
        return now;
    const rlx_attr *attrs =
        rlx_attrs_with(p->ctx, now->attrs, "relax.force_pure", rlx_attr_bool_new(p->ctx, true));
    return attrs ? rlx_function_with(p->ctx, now, now->body, attrs) : NULL;
}

void rlx_seq_init(rlx_seq_pass *p, rlx_context *ctx, const rlx_module *m, void *user)
{
    *p = (rlx_seq_pass){ .ctx = ctx, .module = m, .user = user, .walk.ctx = ctx };
    rlx_scope_init(&p->scope, ctx, NULL);
    rlx_rewriter_init(&p->names, ctx);
    p->names.after = rlx_fold_numbers;
    p->names.before = stop_at_leaf;
}

void rlx_seq_free(rlx_seq_pass *p)
{
    rlx_scope_free(&p->scope);
    rlx_rewriter_free(&p->names);
    rlx_body_free(&p->walk);
    rlx_vec_free(MEMORY(p), &p->frames);
    rlx_vec_free(MEMORY(p), &p->bindings);
    rlx_vec_free(MEMORY(p), &p->blocks);
}

bool rlx_seq_replace(rlx_seq_pass *p, const rlx_node *old, const rlx_node *with)
{
    p->num_names++;
    return with && rlx_ptrmap_put(&p->names.map, old, (uintptr_t)with);
}

/* ---- renaming ------------------------------------------------------------------------------- */

/* Calls and tuples of few leaves are renamed here; the rewriter would remember each of them,
 * though none comes again. */
#define FEW 8

/* The node that stands for n if finding it takes no descent; NULL: it does. */
static const rlx_node *rename_leaf(const rlx_seq_pass *p, const rlx_node *n)
{
    uintptr_t now;
    switch (n->kind) {
    case RLX_NODE_GLOBAL_VAR: case RLX_NODE_OP: case RLX_NODE_EXTERN_FUNC: case RLX_NODE_CONSTANT:
        return n;
    default:
        if (rlx_node_is_closed(n))
            return n;
        return rlx_ptrmap_find(&p->names.map, n, &now) ? (const rlx_node *)now
               : rlx_as_var(n)                         ? n
                                                       : NULL;
    }
}

static const rlx_node *rename_tuple(rlx_seq_pass *p, const rlx_tuple *t)
{
    const rlx_expr *fields[FEW];
    bool same = true;
    for (size_t i = 0; i < t->num_fields; i++) {
        const rlx_node *now = i < FEW ? rename_leaf(p, t->fields[i]) : NULL;
        if (!now)
            return rlx_rewrite(&p->names, &t->node);
        fields[i] = now;
        same &= fields[i] == t->fields[i];
    }
    return same ? &t->node : rlx_tuple_new(p->ctx, fields, t->num_fields, t->place);
}

/* A leaf or a tuple of such, as normal form has it; anything else is the rewriter's. */
static const rlx_node *rename_operand(rlx_seq_pass *p, const rlx_node *n)
{
    const rlx_node *now = rename_leaf(p, n);
    return now                         ? now
           : n->kind == RLX_NODE_TUPLE ? rename_tuple(p, (const rlx_tuple *)n)
                                       : rlx_rewrite(&p->names, n);
}

static const rlx_node *rename_call(rlx_seq_pass *p, const rlx_call *call)
{
    const rlx_expr *args[FEW], *callee = rename_leaf(p, call->op);
    const rlx_sinfo *infos[FEW];
    if (!callee || call->num_args > FEW || call->num_sinfo_args > FEW ||
        (call->attrs && call->attrs->flags & RLX_FLAG_HAS_VARS))
        return rlx_rewrite(&p->names, &call->node);
    bool same = callee == call->op;
    for (size_t i = 0; i < call->num_args; i++) {
        if (!(args[i] = rename_operand(p, call->args[i])))
            return NULL;
        same &= args[i] == call->args[i];
    }
    for (size_t i = 0; i < call->num_sinfo_args; i++) {
        if (!(infos[i] = rename_operand(p, call->sinfo_args[i])))
            return NULL;
        same &= infos[i] == call->sinfo_args[i];
    }
    return same ? &call->node
                : rlx_call_new(p->ctx, callee, args, call->num_args, infos, call->num_sinfo_args,
                               call->attrs, call->place);
}

const rlx_node *rlx_seq_rename(rlx_seq_pass *p, const rlx_node *n)
{
    if (!p->num_names || !n)
        return n;
    return n->kind == RLX_NODE_CALL ? rename_call(p, (const rlx_call *)n) : rename_operand(p, n);
}

bool rlx_seq_in_dataflow(const rlx_seq_pass *p)
{
    return !p->plain_blocks && rlx_vec_last(&p->frames).dataflow;
}
size_t rlx_seq_depth(const rlx_seq_pass *p) { return p->frames.len; }

/* ---- output --------------------------------------------------------------------------------- */

const rlx_var *rlx_seq_bind(rlx_seq_pass *p, const char *name, const rlx_sinfo *sinfo,
                            const rlx_expr *value, rlx_place place)
{
    const rlx_string *text = rlx_string_z(p->ctx, name);
    const rlx_var *v = text && sinfo && value
                           ? rlx_var_new(p->ctx, rlx_seq_in_dataflow(p), text, -1, sinfo, place)
                           : NULL;
    return v && rlx_seq_emit(p, rlx_var_binding_new(p->ctx, v, value, place)) ? v : NULL;
}

/* Ends the open output block: the source block itself if it came through as it was. */
static bool close_block(rlx_seq_pass *p, rlx_seq_frame *f)
{
    const rlx_block *source = f->opened;
    size_t count = p->bindings.len - f->first_binding;
    const rlx_binding *const *items = p->bindings.data + f->first_binding;
    bool dataflow = f->opened_dataflow;
    bool same = count == source->num_bindings &&
                dataflow == rlx_is(&source->node, RLX_NODE_DATAFLOW_BLOCK) &&
                (count == 0 || memcmp(items, source->bindings, count * sizeof *items) == 0);
    const rlx_node *block = same    ? &source->node
                            : count ? rlx_block_new(p->ctx, dataflow, items, count, source->place)
                                    : NULL;
    p->bindings.len = f->first_binding;
    f->opened = NULL;
    if (!block)
        return !count;
    return rlx_vec_push(MEMORY(p), &p->blocks, block);
}

/* The first binding of a source block, or of another kind of block in it: it goes on in the open
 * output block if that is of its kind. Only now, so that blocks with nothing but dropped bindings
 * between them come together. */
static bool begin_output(rlx_seq_pass *p, rlx_seq_frame *f)
{
    bool dataflow = rlx_seq_in_dataflow(p), joins = f->opened && f->opened_dataflow == dataflow;
    f->coming = NULL;
    if (f->opened && !joins && !close_block(p, f))
        return false;
    if (!joins || p->bindings.len == f->first_binding)
        f->opened = f->block;
    f->opened_dataflow = dataflow;
    return true;
}

bool rlx_seq_emit(rlx_seq_pass *p, const rlx_binding *b)
{
    rlx_seq_frame *f = &rlx_vec_last(&p->frames);
    bool begins = f->coming || !f->opened || f->opened_dataflow != rlx_seq_in_dataflow(p);
    if (!b || (begins && !begin_output(p, f)))
        return false;
    return rlx_vec_push(MEMORY(p), &p->bindings, b);
}

static bool open_block(rlx_seq_pass *p, rlx_seq_frame *f, const rlx_block *b)
{
    f->coming = f->block = b;
    f->dataflow = rlx_is(&b->node, RLX_NODE_DATAFLOW_BLOCK);
    /* A block that is empty in the source is kept. */
    if (!b->num_bindings && !begin_output(p, f))
        return false;
    return !p->enter_block || p->enter_block(p, b);
}

/* ---- sequences in and out ------------------------------------------------------------------- */

static bool enter_sequence(rlx_seq_pass *p, const rlx_expr *source)
{
    rlx_seq_frame f = { .source = source,
                        .first_block = p->blocks.len,
                        .first_binding = p->bindings.len };
    return source && rlx_vec_push(MEMORY(p), &p->frames, f);
}

/* The result as the pass wants it, with what it emits for that in an ordinary block. */
static const rlx_expr *end_result(rlx_seq_pass *p, rlx_seq_frame *f, const rlx_expr *body)
{
    const rlx_node *last =
        body ? rlx_block_new(p->ctx, false, NULL, 0, rlx_place_of(f->source)) : NULL;
    if (!last)
        return NULL;
    f->coming = f->block = (const rlx_block *)last;
    f->dataflow = false;
    body = p->result_of(p, f->source, body);
    f->coming = NULL;
    return body;
}

/* The finished sequence of the top frame, taken off the stacks. */
static const rlx_expr *pop_sequence(rlx_seq_pass *p)
{
    rlx_seq_frame *f = &rlx_vec_last(&p->frames);
    const rlx_seq_expr *seq = rlx_as_seq_expr(f->source);
    const rlx_expr *body = rlx_seq_rename(p, seq ? seq->body : f->source);
    if (p->result_of)
        body = end_result(p, f, body);
    if (f->opened && !close_block(p, f))
        return NULL;
    const rlx_node *const *blocks = p->blocks.data + f->first_block;
    size_t count = p->blocks.len - f->first_block;
    p->blocks.len = f->first_block;
    p->frames.len--;
    if (!body)
        return NULL;
    if (seq ? body == seq->body && count == seq->num_blocks &&
                  (count == 0 || memcmp(blocks, seq->blocks, count * sizeof *blocks) == 0)
            : body == f->source)
        return f->source;
    return rlx_seq_new(p->ctx, blocks, count, body, rlx_place_of(f->source));
}

/* ---- bindings ------------------------------------------------------------------------------- */

const rlx_var *rlx_var_like(rlx_context *ctx, const rlx_var *v, bool dataflow,
                            const rlx_sinfo *sinfo)
{
    rlx_var *n = rlx_node_new(ctx, dataflow ? RLX_NODE_DATAFLOW_VAR : RLX_NODE_VAR);
    if (!n)
        return NULL;
    rlx_node head = n->node;
    *n = *v;
    n->node = head;
    n->sinfo = sinfo;
    return n;
}

const rlx_function *rlx_function_with(rlx_context *ctx, const rlx_function *f,
                                      const rlx_expr *body, const rlx_attr *attrs)
{
    if (!body || (body == f->body && attrs == f->attrs))
        return body ? f : NULL;
    rlx_function *n = rlx_node_new(ctx, RLX_NODE_FUNCTION);
    if (!n)
        return NULL;
    rlx_node head = n->node;
    *n = *f;
    n->node = head;
    n->body = body;
    n->attrs = attrs;
    if (attrs != f->attrs)
        n->num_attr_places = 0;
    return n;
}

static const rlx_binding *rebind(rlx_context *ctx, const rlx_binding *old, const rlx_var *var,
                                 const rlx_sinfo *sinfo, const rlx_expr *value)
{
    if (!value)
        return NULL;
    if (old->kind == RLX_NODE_VAR_BINDING) {
        const rlx_var_binding *b = (const rlx_var_binding *)old;
        return &var->node == b->var && value == b->value
                   ? old
                   : rlx_var_binding_new(ctx, var, value, b->place);
    }
    const rlx_match_cast *c = (const rlx_match_cast *)old;
    if ((const rlx_node *)var == c->var && value == c->value && sinfo == c->sinfo)
        return old;
    rlx_match_cast *n = rlx_node_new(ctx, RLX_NODE_MATCH_CAST);
    if (!n)
        return NULL;
    rlx_node head = n->node;
    *n = *c;
    n->node = head;
    n->var = (const rlx_node *)var;
    n->sinfo = sinfo;
    n->value = value;
    return &n->node;
}

const rlx_binding *rlx_with_value(rlx_context *ctx, const rlx_binding *old, const rlx_expr *value)
{
    const rlx_sinfo *target =
        old->kind == RLX_NODE_MATCH_CAST ? ((const rlx_match_cast *)old)->sinfo : NULL;
    return rebind(ctx, old, rlx_binding_var(old), target, value);
}

/* The variable under another name or struct info, if what is renamed asks for it. */
static const rlx_var *retyped(rlx_seq_pass *p, const rlx_var *v)
{
    const rlx_sinfo *sinfo = v->sinfo ? rlx_seq_rename(p, v->sinfo) : NULL;
    bool dataflow = v->node.kind == RLX_NODE_DATAFLOW_VAR;
    if (v->sinfo && !sinfo)
        return NULL;
    return sinfo == v->sinfo && !(dataflow && p->plain_blocks)
               ? v
               : rlx_var_like(p->ctx, v, dataflow && !p->plain_blocks, sinfo);
}

/* The variable as it is bound from here on: another object if its kind or struct info changes,
 * or if a pass chose the name of an output for it. */
static bool define(rlx_seq_pass *p, const rlx_var *old, const rlx_var **now)
{
    uintptr_t replaced;
    const rlx_var *chosen = old;
    *now = old;
    if (!old)
        return true;
    if (p->num_names && rlx_ptrmap_find(&p->names.map, old, &replaced) &&
        rlx_as_var((const rlx_node *)replaced))
        chosen = (const rlx_var *)replaced;
    *now = retyped(p, chosen);
    if (!*now)
        return false;
    if (*now != chosen && !rlx_seq_replace(p, &chosen->node, &(*now)->node))
        return false;
    return *now == old || rlx_seq_replace(p, &old->node, &(*now)->node);
}

static bool finish_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_var *var,
                           const rlx_expr *value)
{
    const rlx_sinfo *target = NULL;
    if (p->moves_to_dataflow) {
        rlx_seq_frame *f = &rlx_vec_last(&p->frames);
        f->dataflow = rlx_is(&f->block->node, RLX_NODE_DATAFLOW_BLOCK) ||
                      p->moves_to_dataflow(p, old);
    }
    if (!value || (!var && !define(p, rlx_binding_var(old), &var)))
        return false;
    if (old->kind == RLX_NODE_MATCH_CAST &&
        !(target = rlx_seq_rename(p, ((const rlx_match_cast *)old)->sinfo)))
        return false;
    const rlx_binding *now = rebind(p->ctx, old, var, target, value);
    if (!now || !(p->binding ? p->binding(p, old, now) : rlx_seq_emit(p, now)))
        return false;
    return !target || !p->use_scope || rlx_scope_enter(&p->scope, target);
}

/* Parameters of a local function, and what it says of its result, may mention sizes from around
 * it, which have been replaced. */
static bool define_params(rlx_seq_pass *p, const rlx_function *f)
{
    const rlx_var *now;
    for (size_t i = 0; p->num_names && i < f->num_params; i++)
        if (!define(p, (const rlx_var *)f->params[i], &now))
            return false;
    return true;
}

static const rlx_function *rename_head(rlx_seq_pass *p, const rlx_function *f)
{
    const rlx_sinfo *ret = rlx_seq_rename(p, f->ret_sinfo), *sinfo = rlx_seq_rename(p, f->sinfo);
    bool good = (ret || !f->ret_sinfo) && (sinfo || !f->sinfo);
    bool same = ret == f->ret_sinfo && sinfo == f->sinfo;
    RLX_VEC(const rlx_expr *) params = { 0 };
    for (size_t i = 0; good && i < f->num_params; i++) {
        const rlx_expr *now = rlx_seq_rename(p, f->params[i]);
        same &= now == f->params[i];
        good = rlx_vec_push(MEMORY(p), &params, now);
    }
    const rlx_function *now =
        !good  ? NULL
        : same ? f
               : rlx_function_new(p->ctx, params.data, params.len, f->body, ret, f->ret_stated,
                                  f->is_pure, f->attrs, sinfo, f->place);
    rlx_vec_free(MEMORY(p), &params);
    return now;
}

static const rlx_expr *finish_literal(rlx_seq_pass *p, const rlx_function *old,
                                      const rlx_expr *body)
{
    const rlx_function *now = body ? rlx_function_with(p->ctx, old, body, old->attrs) : NULL;
    if (now && p->num_names)
        now = rename_head(p, now);
    if (now && p->function)
        now = p->function(p, old, now);
    return now ? &now->node : NULL;
}

/* A binding whose value holds sequences waits for them. */
static bool begin_binding(rlx_seq_pass *p, const rlx_binding *b)
{
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_if_expr *branch = rlx_as_if_expr(value);
    const rlx_function *literal = rlx_as_function(value);
    rlx_seq_frame *f = &rlx_vec_last(&p->frames);
    if (p->before && !p->before(p, b))
        return false;
    f->pending_var = NULL;
    if (branch && !(f->cond = rlx_seq_rename(p, branch->cond)))
        return false;
    if (literal &&
        (!define(p, rlx_binding_var(b), &f->pending_var) || !define_params(p, literal) ||
         (p->use_scope && !rlx_scope_enter_function(&p->scope, literal))))
        return false;
    return rlx_body_into(&p->walk);
}

static const rlx_expr *finish_if(rlx_seq_pass *p, const rlx_seq_frame *f, const rlx_if_expr *old)
{
    bool same = f->cond == old->cond && f->then_branch == old->true_branch &&
                f->last == old->false_branch;
    return same ? &old->node : rlx_if_new(p->ctx, f->cond, f->then_branch, f->last, old->place);
}

static bool end_binding(rlx_seq_pass *p, const rlx_binding *b)
{
    const rlx_seq_frame *f = &rlx_vec_last(&p->frames);
    const rlx_expr *value = rlx_binding_value(b);
    if (rlx_as_if_expr(value))
        return finish_binding(p, b, NULL, finish_if(p, f, (const rlx_if_expr *)value));
    if (rlx_as_function(value)) {
        const rlx_var *var = f->pending_var;
        return finish_binding(p, b, var, finish_literal(p, (const rlx_function *)value, f->last));
    }
    if (p->before && !p->before(p, b))
        return false;
    bool stays = p->renames_itself && p->renames_itself(p, value);
    return finish_binding(p, b, NULL, stays ? value : rlx_seq_rename(p, value));
}

/* The sequence on top has ended: what it has become is for the binding that holds it. */
static bool leave_sequence(rlx_seq_pass *p, enum rlx_flow_part part)
{
    const rlx_expr *result = pop_sequence(p);
    rlx_seq_frame *f = p->frames.len ? &rlx_vec_last(&p->frames) : NULL;
    if (!f)
        p->result = result;
    else if (part == RLX_FLOW_THEN)
        f->then_branch = result;
    else
        f->last = result;
    return result != NULL;
}

static bool follow_event(rlx_seq_pass *p, enum rlx_event_kind event)
{
    const rlx_body_frame *at = rlx_body_top(&p->walk);
    switch (event) {
    case RLX_EVENT_ENTER: return enter_sequence(p, at->at.source);
    case RLX_EVENT_BLOCK: return open_block(p, &rlx_vec_last(&p->frames), at->at.block);
    case RLX_EVENT_VALUE: return begin_binding(p, at->at.binding);
    case RLX_EVENT_BIND: return end_binding(p, at->at.binding);
    case RLX_EVENT_LEAVE: return leave_sequence(p, at->part);
    default: return true;
    }
}

/* ---- functions and modules ------------------------------------------------------------------ */

static void reset(rlx_seq_pass *p)
{
    if (!p->keep_names) {
        rlx_ptrmap_clear(&p->names.map);
        p->num_names = 0;
    }
    p->names.failed = false;
    p->frames.len = p->bindings.len = p->blocks.len = 0;
    p->result = NULL;
}

const rlx_function *rlx_seq_function(rlx_seq_pass *p, const rlx_function *f)
{
    enum rlx_event_kind event;
    reset(p);
    if (p->use_scope && !rlx_scope_enter_function(&p->scope, f))
        return NULL;
    if (!f->body)
        return f;
    if (!rlx_body_begin(&p->walk, p->ctx, f->body))
        return NULL;
    while ((event = rlx_body_next(&p->walk)) != RLX_EVENT_DONE)
        if (!follow_event(p, event))
            return NULL;
    const rlx_expr *done = p->result ? finish_literal(p, f, p->result) : NULL;
    return rlx_as_function(done);
}

const rlx_module *rlx_seq_module_by(rlx_seq_pass *p, const rlx_module *m, rlx_seq_function_fn *each)
{
    const rlx_node **functions =
        rlx_mem_alloc(MEMORY(p), (m->num_functions + 1) * sizeof *functions);
    const rlx_module *out = NULL;
    if (!functions)
        return NULL;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        functions[i] = f && f->body ? (const rlx_node *)each(p, f) : m->functions[i];
        if (!functions[i])
            goto done;
    }
    out = rlx_module_with(p->ctx, m, functions);
done:
    rlx_mem_free(MEMORY(p), functions, (m->num_functions + 1) * sizeof *functions);
    return out;
}

const rlx_module *rlx_seq_module(rlx_seq_pass *p, const rlx_module *m) { return rlx_seq_module_by(p, m, rlx_seq_function); }
