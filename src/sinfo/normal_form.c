/* normal_form.c: normal form (language section 3), and rewriting at the level of bindings
 * (language 11.3), which is the same walk with a hook.
 *
 * No recursion: what is to be done waits as jobs on a stack, values come back on another. A job
 * that needs the values of children pushes itself again, below them, in its next stage. How far a
 * sequence has come its cursor says (ir/flow.h), on a stack of their own.
 */
#include "sinfo/builder_int.h"

enum job_kind {
    JOB_VALUE,        /* node: expression; gives its value (outermost node kept) */
    JOB_LEAF,         /* binds the value on top unless it is a leaf */
    JOB_BUILD,        /* node: Tuple, Call or TupleGetItem, whose operands are there */
    JOB_IF,
    JOB_SEQ,
    JOB_BINDING,      /* node: binding, whose value is there */
    JOB_FINISH,       /* the same, past the mutator's hook */
    JOB_FUNCTION_END
};

typedef struct job {
    uint8_t kind, stage;
    rlx_place place;        /* BINDING, FINISH: of what is bound */
    const rlx_node *node;
    const rlx_node *extra;  /* VALUE of a function: the variable it is bound to */
    size_t at;              /* BUILD: first of its values */
} job;

/* An operand that was bound: while its frame and block are open, the same node is the same
 * variable. */
typedef struct bound { const rlx_expr *var; uint32_t serial, block_serial; } bound;

typedef struct rlx_work {
    RLX_VEC(job) jobs;
    RLX_VEC(rlx_seq_cursor) sequences; /* one for each job SEQ */
    RLX_VEC(const rlx_expr *) values;
    RLX_VEC(bound) bound;
    /* operand -> index in bound. Hosts share nodes: what is nested n deep may be 2^n calls */
    rlx_ptrmap bound_at;
    rlx_mutator *mutator;
} rlx_work;

void rlx_work_free(rlx_builder *b)
{
    rlx_work *w = b->work;
    if (!w)
        return;
    rlx_vec_free(&b->ctx->memory, &w->jobs);
    rlx_vec_free(&b->ctx->memory, &w->sequences);
    rlx_vec_free(&b->ctx->memory, &w->values);
    rlx_vec_free(&b->ctx->memory, &w->bound);
    rlx_ptrmap_free(&w->bound_at);
    rlx_mem_free(&b->ctx->memory, w, sizeof *w);
    b->work = NULL;
}

static bool push_job(rlx_builder *b, enum job_kind kind, const rlx_node *node)
{
    return rlx_vec_push(&b->ctx->memory, &b->work->jobs,
                        ((job){ .kind = (uint8_t)kind, .node = node }));
}

static bool push_again(rlx_builder *b, job j, uint8_t stage)
{
    j.stage = stage;
    return rlx_vec_push(&b->ctx->memory, &b->work->jobs, j);
}

static bool push_value(rlx_builder *b, const rlx_expr *e)
{
    return e && rlx_vec_push(&b->ctx->memory, &b->work->values, e);
}

static bool push_operand(rlx_builder *b, const rlx_expr *e)
{
    return push_again(b, (job){ .kind = JOB_LEAF, .node = e, .at = b->num_impure }, 0) &&
           push_job(b, JOB_VALUE, e);
}

/* --- operands that occur again (language 3.2.2) --- */

static uint32_t open_block(const rlx_builder_frame *f)
{
    return f->in_dataflow ? f->block_serial : 0;
}

static const rlx_expr *bound_before(const rlx_builder *b, const rlx_expr *e)
{
    const rlx_work *w = b->work;
    const rlx_builder_frame *f = rlx_top_frame(b);
    uintptr_t at;
    if (!w->bound.len || !rlx_ptrmap_find(&w->bound_at, e, &at))
        return NULL;
    const bound *known = &w->bound.data[at];
    return known->serial == f->serial && known->block_serial == open_block(f) ? known->var : NULL;
}

/* Only what is pure may be computed once instead of twice. */
static bool remember_bound(rlx_builder *b, job j, const rlx_expr *var)
{
    rlx_work *w = b->work;
    const rlx_builder_frame *f = rlx_top_frame(b);
    if (j.at != b->num_impure)
        return true;
    return rlx_vec_push(&b->ctx->memory, &w->bound, ((bound){ var, f->serial, open_block(f) })) &&
           rlx_ptrmap_put(&w->bound_at, j.node, w->bound.len - 1);
}

static void forget_bound(rlx_work *w)
{
    if (!w->bound.len)
        return;
    w->bound.len = 0;
    rlx_ptrmap_free(&w->bound_at);
}

/* --- renaming --- */

static const rlx_expr *renamed(const rlx_builder *b, const rlx_expr *e)
{
    const rlx_expr *to = b->renames->len ? rlx_ptrmap_get(b->renames, e) : NULL;
    return to ? to : e;
}

/* In struct info a shape may take the place of a variable, nothing else. */
static const rlx_node *before_renaming(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_node *to = renamed(r->user, n);
    return to != n && (rlx_as_var(to) || rlx_as_shape_expr(to)) ? to : NULL;
}

/* Struct info with variables in it that were renamed. */
static const rlx_sinfo *renamed_sinfo(rlx_builder *b, const rlx_sinfo *s)
{
    rlx_rewriter r;
    if (!s || !b->renames->len || !(s->flags & RLX_FLAG_HAS_VARS))
        return s;
    rlx_rewriter_init(&r, b->ctx);
    r.before = before_renaming;
    r.user = b;
    const rlx_sinfo *out = rlx_rewrite(&r, s);
    rlx_rewriter_free(&r);
    return out;
}

/* Only those that mention a Relax variable are looked at. */
static bool mentions_var(const rlx_sinfo *s)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (!s || !(s->flags & RLX_FLAG_HAS_VARS))
        return false;
    return t ? rlx_as_var(t->shape) != NULL
             : s->kind == RLX_NODE_TUPLE_SINFO || s->kind == RLX_NODE_FUNC_SINFO ||
                   s->kind == RLX_NODE_EXTENSION_SINFO;
}

/* The hooks that see what is under way; NULL: none. */
static const rlx_mutator_hooks *hooks_of(const rlx_builder *b)
{
    const rlx_mutator *m = b->work->mutator;
    bool sees = m && !m->is_off && (!m->dataflow_only || rlx_builder_in_dataflow(b));
    return sees ? m->hooks : NULL;
}

/* Those of a block as a whole. */
static const rlx_mutator_hooks *block_hooks(const rlx_builder *b, const rlx_block *block)
{
    const rlx_mutator *m = b->work->mutator;
    bool sees = m && !m->is_off &&
                (!m->dataflow_only || block->node.kind == RLX_NODE_DATAFLOW_BLOCK);
    return sees ? m->hooks : NULL;
}

/* The hook's answer for struct info, an integer or a shape; remembered, as it is asked again. */
static const rlx_node *part_of(rlx_builder *b, const rlx_node *n)
{
    const rlx_mutator_hooks *h = hooks_of(b);
    if (!h || !h->part || !n)
        return n;
    rlx_mutator *m = b->work->mutator;
    const rlx_node *known = rlx_ptrmap_get(&m->parts, n);
    if (known)
        return known;
    const rlx_node *now = h->part(m, n);
    return now && (rlx_ptrmap_put(&m->parts, n, (uintptr_t)now)) ? now : NULL;
}

static const rlx_sinfo *follow(rlx_builder *b, const rlx_sinfo *s)
{
    s = part_of(b, s);
    return mentions_var(s) ? renamed_sinfo(b, s) : s;
}

/* --- is there anything to do? --- */

static bool is_settled(const rlx_builder *b, const rlx_expr *e)
{
    return rlx_is_leaf(e) &&
           (!b->renames->len || (renamed(b, e) == e && e->kind != RLX_NODE_TUPLE));
}

static bool all_settled(const rlx_builder *b, const rlx_expr *const *items, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!is_settled(b, items[i]))
            return false;
    return true;
}

static bool has_own_form(const rlx_builder *b, const rlx_call *c)
{
    const rlx_op *op = rlx_as_op(c->op);
    return op && op->row && op->row->normalize &&
           (!b->options.keep_op_form || op->row->flags & RLX_OP_NORMALIZE_ALWAYS);
}

bool rlx_builder_is_flat(const rlx_builder *b, const rlx_expr *e)
{
    const rlx_call *c = rlx_as_call(e);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(e);
    const rlx_if_expr *f = rlx_as_if_expr(e);
    if (c)
        return is_settled(b, c->op) && all_settled(b, c->args, c->num_args) &&
               !has_own_form(b, c) && !(c->num_sinfo_args && b->renames->len);
    if (g)
        return is_settled(b, g->tuple);
    if (f)
        return !b->renames->len && is_settled(b, f->cond) &&
               rlx_builder_is_made(b, f->true_branch) && rlx_builder_is_made(b, f->false_branch);
    if (e->kind == RLX_NODE_FUNCTION)
        return !b->renames->len && rlx_builder_is_made(b, e);
    return is_settled(b, e);
}

/* --- values --- */

/* Operands in reverse, so that the first is done first; itself below them. */
static bool begin_build(rlx_builder *b, job j)
{
    const rlx_call *c = rlx_as_call(j.node);
    const rlx_tuple *t = rlx_as_tuple(j.node);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(j.node);
    const rlx_expr *const *items = c ? c->args : t ? t->fields : &g->tuple;
    size_t count = c ? c->num_args : t ? t->num_fields : 1;
    j.kind = JOB_BUILD;
    j.at = b->work->values.len;
    if (!push_again(b, j, j.stage))
        return false;
    for (size_t i = count; i--;)
        if (!push_operand(b, items[i]))
            return false;
    return !c || push_operand(b, c->op);
}

/* The variable that a definition of v makes; NULL: failure. */
static const rlx_var *defined(rlx_builder *b, const rlx_var *v)
{
    const rlx_mutator_hooks *h = hooks_of(b);
    return h && h->define ? h->define(b->work->mutator, v) : v;
}

/* A parameter whose struct info mentions a renamed variable becomes a new one. */
static bool follow_params(rlx_builder *b, const rlx_function *f, const rlx_expr **out)
{
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_var *old = rlx_as_var(f->params[i]), *v = old ? defined(b, old) : NULL;
        const rlx_sinfo *s = v ? follow(b, v->sinfo) : NULL;
        out[i] = f->params[i];
        if (old && (!v || (v->sinfo && !s)))
            return false;
        if (!old || (v == old && s == v->sinfo))
            continue;
        const rlx_var *n = s == v->sinfo
                               ? v
                               : rlx_var_new(b->ctx, false, v->name, v->number, s, v->place);
        if (!n || !rlx_builder_rename(b, old, &n->node))
            return false;
        out[i] = &n->node;
    }
    return true;
}

static bool begin_function(rlx_builder *b, job j, rlx_slice name, const rlx_expr *self)
{
    const rlx_function *f = rlx_as_function(j.node);
    rlx_memory *m = &b->ctx->memory;
    const rlx_expr **params = rlx_mem_alloc(m, (f->num_params + 1) * sizeof *params);
    bool ok = params && follow_params(b, f, params);
    ok = ok && rlx_builder_begin_function(b, params, f->num_params, f->is_pure, f->attrs, name,
                                          self);
    if (params)
        rlx_mem_free(m, params, (f->num_params + 1) * sizeof *params);
    if (!ok)
        return false;
    rlx_top_frame(b)->old = rlx_as_seq_expr(f->body);
    j.kind = JOB_FUNCTION_END;
    return push_again(b, j, 0) && push_operand(b, f->body);
}

static bool start_function(rlx_builder *b, job j)
{
    const rlx_var *v = rlx_as_var(j.extra);
    if (!b->renames->len && !b->work->mutator && rlx_builder_is_made(b, j.node))
        return push_value(b, j.node);
    return begin_function(b, j, v && v->name ? rlx_string_slice(v->name) : RLX_SLICE(""), j.extra);
}

/* ---- hooks on expressions */

static const rlx_expr *run(rlx_builder *b, size_t base, size_t values);

/* The value of e, renamed, with hooks off. One level of C stack: hooks that are off are not
 * asked again. */
static const rlx_expr *value_unseen(rlx_builder *b, const rlx_expr *e)
{
    rlx_work *w = b->work;
    size_t base = w->jobs.len, values = w->values.len;
    w->mutator->is_off = true;
    bool ok = push_job(b, JOB_VALUE, e);
    const rlx_expr *out = ok ? run(b, base, values) : NULL;
    w->mutator->is_off = false;
    w->jobs.len = base;
    return out;
}

/* Before the parts of e: *out is its value, or NULL where it is to be rewritten. False:
 * failure. */
static bool ask_before(rlx_builder *b, const rlx_expr *e, const rlx_expr **out)
{
    bool keep = false;
    const rlx_mutator_hooks *h = hooks_of(b);
    *out = NULL;
    if (!h || !h->enter)
        return true;
    const rlx_expr *now = h->enter(b->work->mutator, e, &keep);
    if (now == e && !keep)
        return true;
    *out = !now ? NULL : now == e ? value_unseen(b, e) : rlx_builder_normalize(b, now);
    return *out != NULL;
}

/* Leaves the value e, whose parts are final. */
static bool give_value(rlx_builder *b, const rlx_expr *e)
{
    const rlx_mutator_hooks *h = hooks_of(b);
    if (!e || !h || !h->leave)
        return push_value(b, e);
    const rlx_expr *now = h->leave(b->work->mutator, e);
    return push_value(b, now && now != e ? rlx_builder_normalize(b, now) : now);
}

static bool leaf_value(rlx_builder *b, const rlx_expr *e)
{
    const rlx_expr *now = renamed(b, e);
    if (now->kind == RLX_NODE_SHAPE_EXPR || now->kind == RLX_NODE_PRIM_VALUE)
        now = part_of(b, now);
    return give_value(b, now);
}

static bool value_step(rlx_builder *b, job j)
{
    const rlx_expr *known = j.node ? bound_before(b, j.node) : NULL;
    if (!j.node || known)
        return push_value(b, known);
    const rlx_mutator_hooks *h = hooks_of(b);
    const rlx_expr *instead = NULL;
    if (h && (!ask_before(b, j.node, &instead) || instead))
        return push_value(b, instead);
    switch (j.node->kind) {
    case RLX_NODE_CALL:
    case RLX_NODE_TUPLE_GET_ITEM: return begin_build(b, j);
    case RLX_NODE_TUPLE:
        return is_settled(b, j.node) && !h ? push_value(b, j.node) : begin_build(b, j);
    case RLX_NODE_IF:
        j.kind = JOB_IF;
        j.at = b->work->values.len;
        return push_again(b, j, 0) && push_operand(b, rlx_as_if_expr(j.node)->cond);
    case RLX_NODE_SEQ_EXPR:
        return rlx_vec_push(&b->ctx->memory, &b->work->sequences, rlx_seq_cursor_begin(j.node)) &&
               push_job(b, JOB_SEQ, j.node);
    case RLX_NODE_FUNCTION: return start_function(b, j);
    default:
        if (rlx_is_leaf(j.node))
            return leaf_value(b, j.node);
        return rlx_error(b->ctx, RLX_NF01, rlx_place_of(j.node), "%s is no expression",
                         rlx_kinds[j.node->kind].name) != NULL;
    }
}

/* A call without a value is a statement of its own, as it prints; its value is the empty tuple. */
static bool leaf_step(rlx_builder *b, job j)
{
    const rlx_expr **top = &rlx_vec_last(&b->work->values);
    if (rlx_is_leaf(*top))
        return true;
    const rlx_expr *e = rlx_builder_fresh(b, *top);
    if (e && rlx_sinfo_is_void(rlx_as_var(e)->sinfo))
        e = rlx_tuple_new(b->ctx, NULL, 0, rlx_place_of(*top));
    rlx_vec_last(&b->work->values) = e;
    return e && remember_bound(b, j, e);
}

static bool same_items(const rlx_expr *const *a, const rlx_expr *const *b, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (a[i] != b[i])
            return false;
    return true;
}

#define FEW 8

static const rlx_expr *build_call(rlx_builder *b, const rlx_call *c, const rlx_expr *const *values)
{
    const rlx_sinfo *few[FEW], **infos = few;
    size_t n = c->num_sinfo_args;
    bool same = values[0] == c->op && same_items(values + 1, c->args, c->num_args), ok = true;
    if (n > FEW && !(infos = rlx_mem_alloc(&b->ctx->memory, n * sizeof *infos)))
        return NULL;
    for (size_t i = 0; i < n; i++) {
        infos[i] = follow(b, c->sinfo_args[i]);
        same = same && infos[i] == c->sinfo_args[i];
        ok = ok && infos[i];
    }
    const rlx_expr *out = !ok    ? NULL
                          : same ? &c->node
                                 : rlx_call_new(b->ctx, values[0], values + 1, c->num_args, infos,
                                                n, c->attrs, c->place);
    if (infos != few)
        rlx_mem_free(&b->ctx->memory, infos, n * sizeof *infos);
    return out;
}

static const rlx_expr *build(rlx_builder *b, const rlx_node *n, const rlx_expr *const *values)
{
    const rlx_call *c = rlx_as_call(n);
    const rlx_tuple *t = rlx_as_tuple(n);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(n);
    if (c)
        return build_call(b, c, values);
    if (t)
        return same_items(values, t->fields, t->num_fields)
                   ? n
                   : rlx_tuple_new(b->ctx, values, t->num_fields, t->place);
    return values[0] == g->tuple ? n
                                 : rlx_tuple_get_item_new(b->ctx, values[0], g->index, g->place);
}

static const rlx_sinfo *sinfo_for_form(void *user, const rlx_expr *leaf)
{
    return rlx_builder_derive(user, leaf);
}

static const rlx_expr *value_for_form(void *user, const rlx_expr *var)
{
    return rlx_builder_lookup(user, rlx_as_var(var));
}

/* NF05 */
static const rlx_expr *own_form(rlx_builder *b, const rlx_call *c)
{
    const rlx_op_row *row = rlx_as_op(c->op)->row;
    rlx_infer in = { .ctx = b->ctx,
                     .call = c,
                     .row = row,
                     .scope = &rlx_top_frame(b)->scope,
                     .sinfo_of = sinfo_for_form,
                     .value_of = value_for_form,
                     .user = b };
    return row->normalize(&in);
}

#define MAX_FORM_ROUNDS 16 /* an operator's normal form that never settles is taken as it is */

static bool build_step(rlx_builder *b, job j)
{
    rlx_work *w = b->work;
    const rlx_expr *e = build(b, j.node, w->values.data + j.at);
    const rlx_call *c = rlx_as_call(e);
    w->values.len = j.at;
    if (!e)
        return false;
    if (!c || !has_own_form(b, c) || j.stage >= MAX_FORM_ROUNDS)
        return give_value(b, e);
    const rlx_expr *formed = own_form(b, c);
    if (!formed || formed == e)
        return formed ? give_value(b, formed) : false;
    return push_again(b, (job){ .kind = JOB_VALUE, .node = formed }, (uint8_t)(j.stage + 1));
}

/* --- branches --- */

/* A branch that is normal already gives itself; else its frame is opened and its end waits. */
static bool begin_branch(rlx_builder *b, job j, const rlx_expr *branch)
{
    if (!branch)
        return false;
    if (!b->renames->len && !b->work->mutator && rlx_builder_is_made(b, branch))
        return push_again(b, j, (uint8_t)(j.stage + 2)) && push_value(b, branch);
    if (!rlx_builder_begin_branch(b))
        return false;
    rlx_top_frame(b)->old = rlx_as_seq_expr(branch);
    return push_again(b, j, (uint8_t)(j.stage + 1)) && push_operand(b, branch);
}

static bool end_branch(rlx_builder *b, job j, const rlx_expr *branch)
{
    const rlx_expr *leaf = rlx_vec_pop(&b->work->values);
    const rlx_expr *seq = rlx_builder_end_branch(b, leaf, rlx_place_of(branch));
    return push_value(b, seq) && push_again(b, j, (uint8_t)(j.stage + 1));
}

/* Stages: 0 condition is there, 1 true branch is open, 2 it is there, 3 false branch is open, 4
 * all is there. */
static bool if_step(rlx_builder *b, job j)
{
    const rlx_if_expr *e = rlx_as_if_expr(j.node);
    if (j.stage == 0 || j.stage == 2)
        return begin_branch(b, j, j.stage ? e->false_branch : e->true_branch);
    if (j.stage == 1 || j.stage == 3)
        return end_branch(b, j, j.stage == 1 ? e->true_branch : e->false_branch);
    const rlx_expr *const *v = b->work->values.data + j.at;
    bool same = v[0] == e->cond && v[1] == e->true_branch && v[2] == e->false_branch;
    const rlx_expr *out = same ? j.node : rlx_if_new(b->ctx, v[0], v[1], v[2], e->place);
    b->work->values.len = j.at;
    return give_value(b, out);
}

/* --- sequences --- */

/* A block that hooks do not see, or that the host gives instead: its bindings are emitted
 * here. */
static bool emit_block(rlx_builder *b, const rlx_block *block, bool is_ours)
{
    const rlx_node *node = &block->node;
    const rlx_expr *none = rlx_tuple_new(b->ctx, NULL, 0, RLX_NO_PLACE);
    const rlx_expr *seq = none ? rlx_seq_new(b->ctx, &node, 1, none, block->place) : NULL;
    return seq && (is_ours ? value_unseen(b, seq) : rlx_builder_normalize(b, seq)) != NULL;
}

/* *done: nothing is left of the block to be rewritten. */
static bool ask_block(rlx_builder *b, const rlx_block *block, bool *done)
{
    bool keep = false;
    const rlx_mutator_hooks *h = block_hooks(b, block);
    *done = false;
    if (!h || !h->block)
        return true;
    const rlx_block *now = h->block(b->work->mutator, block, &keep);
    *done = now && (keep || now != block);
    if (!now || !*done)
        return now != NULL;
    return emit_block(b, now, now == block) &&
           (!h->block_end || block->node.kind != RLX_NODE_DATAFLOW_BLOCK ||
            h->block_end(b->work->mutator, block));
}

static bool end_block(rlx_builder *b, const rlx_block *block)
{
    const rlx_mutator_hooks *h = block_hooks(b, block);
    return rlx_builder_end_block(b) &&
           (!h || !h->block_end || h->block_end(b->work->mutator, block));
}

/* *opened: a block of the builder was begun for it. */
static bool start_block(rlx_builder *b, const rlx_block *block, bool *opened)
{
    bool dataflow = block->node.kind == RLX_NODE_DATAFLOW_BLOCK,
         inside = rlx_top_frame(b)->in_dataflow;
    if (!dataflow && inside && block->num_bindings)
        return rlx_error(b->ctx, RLX_NF07, block->place,
                         "ordinary block inside a dataflow block") != NULL;
    *opened = dataflow && !inside;
    return !*opened || rlx_builder_begin_block(b, true, block->place);
}

/* A block of the sequence on top is met. Stage 1: it is to be ended. */
static bool meet_block(rlx_builder *b, const rlx_block *block, job *j)
{
    bool done = false, opened = false;
    if (!ask_block(b, block, &done) || (!done && !start_block(b, block, &opened)))
        return false;
    if (done)
        rlx_seq_cursor_skip_block(&rlx_vec_last(&b->work->sequences));
    j->stage = opened;
    return true;
}

static bool binding_step(rlx_builder *b, job j);

/* A local function may call itself: its variable is settled before its body. */
static bool define_local(rlx_builder *b, const rlx_binding *binding)
{
    const rlx_var_binding *vb = rlx_as_var_binding(binding);
    const rlx_var *v = vb ? rlx_as_var(vb->var) : NULL, *now = v ? defined(b, v) : NULL;
    return !v || (now && rlx_builder_rename(b, v, &now->node));
}

/* The variable of a binding as it is bound now. */
static const rlx_var *bound_var(rlx_builder *b, const rlx_var *v, const rlx_expr *old_value)
{
    if (hooks_of(b) && rlx_is(old_value, RLX_NODE_FUNCTION) && rlx_as_var(renamed(b, &v->node)))
        return rlx_as_var(renamed(b, &v->node));
    return defined(b, v);
}

/* The binding waits for its value. A mutator may drop it unseen. */
static bool start_binding(rlx_builder *b, const rlx_binding *binding)
{
    rlx_mutator *m = b->work->mutator;
    const rlx_mutator_hooks *h = hooks_of(b);
    if (m && m->drop && m->drop(m, binding))
        return true;
    job bind = { .kind = JOB_BINDING, .node = binding, .place = rlx_place_of(binding) };
    enum rlx_begin begin = h && h->begin ? h->begin(m, binding, &bind.place) : RLX_BEGIN_REWRITE;
    if (begin != RLX_BEGIN_REWRITE)
        return begin == RLX_BEGIN_DONE;
    const rlx_expr *e = rlx_binding_value(binding);
    if (e && !h && (e->kind == RLX_NODE_CALL || rlx_is_leaf(e)) && rlx_builder_is_flat(b, e))
        return push_value(b, e) && binding_step(b, bind); /* most are: no jobs for them */
    if (h && rlx_is(e, RLX_NODE_FUNCTION) && !define_local(b, binding))
        return false;
    job value = { .kind = JOB_VALUE, .node = e };
    if (rlx_as_var_binding(binding))
        value.extra = rlx_as_var_binding(binding)->var;
    return value.node && push_again(b, bind, 0) && push_again(b, value, 0);
}

/* Flattens into the current block (NF02); its result takes its place. */
static bool seq_step(rlx_builder *b, job j)
{
    for (;;) {
        rlx_seq_cursor *at = &rlx_vec_last(&b->work->sequences);
        switch (rlx_seq_cursor_next(at)) {
        case RLX_EVENT_BLOCK:
            if (!meet_block(b, at->block, &j))
                return false;
            break;
        case RLX_EVENT_VALUE: return push_again(b, j, j.stage) && start_binding(b, at->binding);
        case RLX_EVENT_BLOCK_END:
            if (j.stage && !end_block(b, at->block))
                return false;
            break;
        case RLX_EVENT_LEAVE:
            b->work->sequences.len--;
            return push_job(b, JOB_VALUE, rlx_as_seq_expr(j.node)->body);
        default: break; /* the job of a binding binds it */
        }
    }
}

/* --- bindings --- */

static bool keep_binding(rlx_builder *b, const rlx_binding *binding)
{
    const rlx_match_cast *m = rlx_as_match_cast(binding);
    const rlx_var *v = rlx_as_var(m ? m->var : rlx_as_var_binding(binding)->var);
    return (!v || rlx_builder_remember(b, v, m ? NULL : rlx_as_var_binding(binding)->value)) &&
           rlx_builder_append(b, binding) &&
           (!m || rlx_scope_enter(&rlx_top_frame(b)->scope, m->sinfo));
}

/* A rewritten value keeps what its variable was said to be where that cannot be seen any more
 * (the annotation was believed, and the value is the same value); where it can, or where it was
 * made to be something else, the new struct info holds. */
static const rlx_sinfo *annotation_of(rlx_builder *b, const rlx_var *v, const rlx_expr *value)
{
    const rlx_sinfo *had = follow(b, v->sinfo);
    if (!had || !b->work->mutator || b->work->mutator->rederive)
        return had;
    const rlx_sinfo *have = rlx_builder_derive(b, value);
    enum rlx_assignability fit =
        have ? rlx_assignable(b->ctx, &rlx_top_frame(b)->scope, have, had, NULL)
             : RLX_ASSIGNABLE_NO;
    return fit == RLX_ASSIGNABLE_VALUE || fit == RLX_ASSIGNABLE_KIND ? had : NULL;
}

static bool finish_var_binding(rlx_builder *b, const rlx_var_binding *vb, const rlx_expr *value,
                               rlx_place place)
{
    const rlx_var *old = rlx_as_var(vb->var), *v = bound_var(b, old, vb->value);
    bool again = !b->work->mutator || b->work->mutator->rederive;
    if (!v)
        return false;
    if (!again && value == vb->value && v == old && place == vb->place && v->sinfo &&
        follow(b, v->sinfo) == v->sinfo)
        return keep_binding(b, &vb->node);
    size_t errors = rlx_error_count(b->ctx);
    rlx_emit how = { .number = -1,
                     .var = v,
                     .place = place,
                     .var_place = v->place,
                     .annotation_places = v->sinfo_places,
                     .num_annotation_places = v->num_sinfo_places };
    how.annotation = annotation_of(b, v, value);
    if (!how.annotation && rlx_error_count(b->ctx) > errors)
        return false;
    const rlx_var *now = rlx_builder_bind(b, value, &how, &vb->node);
    return now && (v == old || rlx_builder_rename(b, old, &now->node));
}

static bool finish_match_cast(rlx_builder *b, const rlx_match_cast *m, const rlx_expr *value,
                              rlx_place place)
{
    const rlx_var *old = rlx_as_var(m->var), *v = old ? bound_var(b, old, NULL) : NULL;
    const rlx_sinfo *target = follow(b, m->sinfo);
    bool again = !b->work->mutator || b->work->mutator->rederive;
    if (!target || (old && !v))
        return false;
    if (!again && value == m->value && target == m->sinfo && v == old && place == m->place &&
        (!v || (v->sinfo && follow(b, v->sinfo) == v->sinfo)))
        return keep_binding(b, &m->node);
    rlx_emit how = {
        .number = -1, .var = v, .place = place, .annotation = v ? follow(b, v->sinfo) : NULL
    };
    const rlx_var *now = rlx_builder_bind_match(b, value, target, &how, !v, &m->node);
    return now && (v == old || rlx_builder_rename(b, old, &now->node));
}

/* Reports without a place stand at the binding under way. */
static void stand_at(rlx_builder *b, rlx_place place)
{
    if (place)
        b->ctx->diags.otherwise = place;
}

static bool finish_step(rlx_builder *b, job j)
{
    stand_at(b, j.place);
    const rlx_expr *value = rlx_vec_pop(&b->work->values);
    const rlx_var_binding *vb = rlx_as_var_binding(j.node);
    return vb ? finish_var_binding(b, vb, value, j.place)
              : finish_match_cast(b, rlx_as_match_cast(j.node), value, j.place);
}

/* Asks the mutator. */
static bool binding_step(rlx_builder *b, job j)
{
    rlx_mutator *m = b->work->mutator;
    const rlx_binding *binding = j.node;
    const rlx_var_binding *vb = rlx_as_var_binding(binding);
    const rlx_match_cast *mc = rlx_as_match_cast(binding);
    if (!m || !m->binding)
        return finish_step(b, j);
    const rlx_expr *value = rlx_vec_pop(&b->work->values);
    bool replaced = false;
    const rlx_expr *out = m->binding(m, binding, value, &replaced);
    if (!out)
        return false;
    const rlx_var *v = rlx_as_var(vb ? vb->var : mc->var);
    if (replaced)
        return !v || rlx_builder_rename(b, v, out);
    if (out == value || rlx_builder_is_flat(b, out)) /* nested functions are not gone through again */
        return push_value(b, out) && finish_step(b, j);
    j.kind = JOB_FINISH;
    return push_again(b, j, 0) && push_job(b, JOB_VALUE, out);
}

/* --- functions --- */

/* The stated result: kept by a rewrite if the body still fits it (language 11.3.5). */
static const rlx_sinfo *stated_result(rlx_builder *b, const rlx_function *f, const rlx_expr *leaf)
{
    const rlx_sinfo *stated = f->ret_stated ? follow(b, f->ret_sinfo) : NULL;
    if (!stated || !b->work->mutator || b->work->mutator->rederive)
        return stated;
    const rlx_sinfo *have = rlx_builder_derive(b, leaf);
    return have && rlx_assignable(b->ctx, &rlx_top_frame(b)->scope, have, stated, NULL) >=
                       RLX_ASSIGNABLE_VALUE
               ? stated
               : NULL;
}

/* A loose annotation fits a rewritten body with K as it did the old one. */
static const rlx_sinfo *kept_result(rlx_builder *b, const rlx_function *f, const rlx_expr *leaf)
{
    const rlx_seq_expr *old = rlx_as_seq_expr(f->body);
    return old && old->body == leaf && f->ret_stated ? follow(b, f->ret_sinfo)
                                                     : stated_result(b, f, leaf);
}

static bool same_function(const rlx_function *a, const rlx_function *b)
{
    return a->body == b->body && a->num_params == b->num_params &&
           same_items(a->params, b->params, a->num_params) && a->ret_sinfo == b->ret_sinfo &&
           a->ret_stated == b->ret_stated && a->sinfo == b->sinfo;
}

static bool function_end(rlx_builder *b, const rlx_function *f)
{
    const rlx_expr *leaf = rlx_vec_pop(&b->work->values);
    rlx_builder_result_at(b, rlx_place_of(f->body), f->num_ret_places ? f->ret_places[0] : 0);
    const rlx_function *n =
        rlx_builder_end_function(b, leaf, kept_result(b, f, leaf), f->attrs, f->place);
    if (!n)
        return false;
    rlx_function_take_places(n, f, n->ret_stated && n->ret_sinfo == f->ret_sinfo);
    const rlx_node *out = same_function(n, f) ? &f->node : &n->node;
    if (b->depth && !rlx_ptrmap_put(&b->made, out, 1))
        return false;
    return b->depth ? give_value(b, out) : push_value(b, out);
}

/* --- the loop --- */

static bool do_job(rlx_builder *b, job j)
{
    switch (j.kind) {
    case JOB_VALUE: return value_step(b, j);
    case JOB_LEAF: return leaf_step(b, j);
    case JOB_BUILD: return build_step(b, j);
    case JOB_IF: return if_step(b, j);
    case JOB_SEQ: return seq_step(b, j);
    case JOB_BINDING: return binding_step(b, j);
    case JOB_FINISH: return finish_step(b, j);
    default: return function_end(b, rlx_as_function(j.node));
    }
}

static bool have_work(rlx_builder *b)
{
    if (b->work)
        return true;
    b->work = rlx_mem_alloc_zero(&b->ctx->memory, sizeof *b->work);
    if (!b->work)
        return false;
    rlx_ptrmap_init(&b->work->bound_at, &b->ctx->memory);
    return true;
}

/* Runs what is above `base`; the value it leaves, or NULL. Hooks may get here again. */
static const rlx_expr *run(rlx_builder *b, size_t base, size_t values)
{
    rlx_work *w = b->work;
    size_t sequences = w->sequences.len;
    bool ok = true;
    while (ok && w->jobs.len > base) {
        job j = rlx_vec_pop(&w->jobs);
        ok = do_job(b, j);
    }
    const rlx_expr *out = ok && w->values.len > values ? rlx_vec_last(&w->values) : NULL;
    w->jobs.len = base;
    w->sequences.len = sequences;
    w->values.len = values;
    if (!base || !out) /* after a failure variables are taken back */
        forget_bound(w);
    return out;
}

/* A nested call (an emit from a hook) is not itself under the hook. */
static const rlx_expr *run_alone(rlx_builder *b, enum job_kind first, const rlx_expr *e)
{
    if (!e || !b->depth || !have_work(b))
        return NULL;
    rlx_mutator *m = b->work->mutator;
    rlx_mark mark = rlx_builder_mark(b);
    size_t base = b->work->jobs.len, values = b->work->values.len;
    b->work->mutator = NULL;
    bool ok = first == JOB_LEAF ? push_operand(b, e) : push_job(b, first, e);
    const rlx_expr *out = ok ? run(b, base, values) : NULL;
    b->work->jobs.len = base;
    b->work->mutator = m;
    if (!out)
        rlx_builder_rollback(b, &mark);
    return out;
}

const rlx_expr *rlx_builder_normalize(rlx_builder *b, const rlx_expr *expr)
{
    return run_alone(b, JOB_VALUE, expr);
}

const rlx_expr *rlx_builder_operand(rlx_builder *b, const rlx_expr *expr)
{
    if (expr && is_settled(b, expr))
        return expr;
    return run_alone(b, JOB_LEAF, expr);
}

const rlx_function *rlx_builder_rewrite_function(rlx_builder *b, const rlx_function *f,
                                                 rlx_slice name, const rlx_expr *self,
                                                 rlx_mutator *m)
{
    if (!have_work(b))
        return NULL;
    rlx_mutator *before = b->work->mutator;
    size_t base = b->work->jobs.len, values = b->work->values.len, depth = b->depth;
    rlx_place otherwise = b->ctx->diags.otherwise;
    b->work->mutator = m;
    bool ok = begin_function(b, (job){ .node = &f->node }, name, self);
    b->names_of = depth ? b->names_of : &f->node;
    const rlx_expr *out = ok ? run(b, base, values) : NULL;
    b->ctx->diags.otherwise = otherwise;
    b->work->mutator = before;
    b->work->jobs.len = base;
    if (!out && depth == 0)
        rlx_builder_reset(b);
    return rlx_as_function(out);
}
