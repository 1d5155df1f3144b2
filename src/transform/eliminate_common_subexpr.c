/*- eliminate_common_subexpr: what has been computed before is not computed again.
 *     lv = add(x, y)                ->   lv = add(x, y)
 *     lv1 = add(x, y)                    lv1 = lv
 *     gv = multiply(lv, lv1)             gv = multiply(lv, lv)
 * The copy stays for canonicalize_bindings. needs: normal form. keeps: struct info, order. A binding
 * is used again where it is visible: in branches below it, but not in the other branch, nor
 * behind them, nor in a local function; a variable of a dataflow block in that block. What the
 * block gives out stands for it behind the block:
 *     with R.dataflow():
 *         a = add(x, y); b = add(x, y); c = multiply(a, b)      ->  b = a; c = multiply(a, a)
 *         R.output(b, c)
 *     d = add(x, y)                                             ->  d = b
 * Left alone: impure calls, new memory, what somebody writes to, casts that bind shape variables,
 * and a variable that promises more than the earlier one. Linear: values are found by hash. */
#include "transform/transform_int.h"

/* A value that has been computed. Those of one hash class form a list, the last one first. */
typedef struct computed {
    const rlx_binding *binding;  /* as it was emitted */
    const rlx_var *var;          /* that has the value */
    const rlx_var *output;       /* var is of a dataflow block: this one is given out; or NULL */
    uint64_t hash;
    uint32_t next;               /* number + 1, 0: none */
} computed;

/* A sequence under way. */
typedef struct scope {
    uint32_t seen;               /* what was computed before may be used; else what is below it */
    uint32_t first;              /* computed before the sequence */
    uint32_t block;              /* computed before the dataflow block */
    bool in_dataflow, holds_literal;
    /* outputs of the dataflow block that copy a variable of it -> that variable; made when needed */
    rlx_rewriter inside;
} scope;

typedef struct eliminate {
    rlx_env env;
    bool call_only;
    rlx_written written;
    RLX_VEC(computed) all;
    uint32_t *heads;
    size_t num_heads;            /* a power of 2 */
    RLX_VEC(scope) scopes;
    rlx_ptrmap contents;         /* memory of a constant -> hash of what is in it */
} eliminate;

/* So many of one hash class are looked at: more would be equal hashes of different values. */
#define MOST_LOOKED_AT 8

/* ---- hashes --------------------------------------------------------------------------------- */

typedef struct hashing { eliminate *e; uint64_t hash; } hashing;

static uint64_t mix_pointer(uint64_t hash, const void *p) { return rlx_hash_mix(hash, (uintptr_t)p); }

/* The content is read once, however many constants share it. */
static uint64_t hash_constant(eliminate *e, const rlx_constant *c)
{
    uintptr_t known;
    uint64_t content = 0;
    if (rlx_ptrmap_find(&e->contents, c->data, &known))
        content = known;
    else if (!c->data->deferred && c->data->size)
        content = rlx_hash_bytes(c->data->data, c->data->size);
    (void)rlx_ptrmap_put(&e->contents, c->data, (uintptr_t)content);
    return rlx_hash_mix(rlx_hash_mix((uintptr_t)content, c->dtype), c->num_shape);
}

/* Variables are their own; so is what is interned. */
static enum rlx_step hash_node(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    hashing *h = user;
    const rlx_tuple *t = rlx_as_tuple(n);
    (void)via, (void)parent;
    if (n->kind == RLX_NODE_CONSTANT)
        h->hash = rlx_hash_mix(h->hash, hash_constant(h->e, (const rlx_constant *)n));
    else if (t)
        h->hash = rlx_hash_mix(h->hash, t->num_fields);
    else
        h->hash = mix_pointer(h->hash, n);
    return t ? RLX_STEP_ON : RLX_STEP_SKIP;
}

static void hash_leaf(rlx_seq_pass *p, hashing *h, const rlx_expr *leaf)
{
    rlx_walker w = { .enter = hash_node, .user = h, .unique = true };
    if (leaf->kind == RLX_NODE_TUPLE)
        rlx_walk(&p->ctx->memory, leaf, &w, NULL);
    else
        hash_node(h, leaf, NULL, NULL);
}

static uint64_t hash_binding(rlx_seq_pass *p, const rlx_binding *b)
{
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    const rlx_call *call = rlx_as_call(value);
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    hashing h = { p->user, mix_pointer(value->kind, cast ? cast->sinfo : NULL) };
    if (get)
        h.hash = rlx_hash_mix(h.hash, (uint64_t)get->index);
    if (!call) {
        hash_leaf(p, &h, get ? get->tuple : value);
        return h.hash;
    }
    h.hash = mix_pointer(mix_pointer(h.hash, call->op), call->attrs);
    for (size_t i = 0; i < call->num_args; i++)
        hash_leaf(p, &h, call->args[i]);
    for (size_t i = 0; i < call->num_sinfo_args; i++)
        h.hash = mix_pointer(h.hash, call->sinfo_args[i]);
    return h.hash;
}

/* ---- what has been computed ----------------------------------------------------------------- */

static uint32_t *head_of(eliminate *e, uint64_t hash) { return &e->heads[hash & (e->num_heads - 1)]; }

static void link_computed(eliminate *e, uint32_t at)
{
    uint32_t *head = head_of(e, e->all.data[at].hash);
    e->all.data[at].next = *head;
    *head = at + 1;
}

static bool grow(rlx_memory *m, eliminate *e)
{
    size_t more = e->num_heads ? 2 * e->num_heads : 64;
    uint32_t *heads = rlx_mem_alloc_zero(m, more * sizeof *heads);
    if (!heads)
        return false;
    rlx_mem_free(m, e->heads, e->num_heads * sizeof *heads);
    e->heads = heads;
    e->num_heads = more;
    for (uint32_t i = 0; i < e->all.len; i++)
        link_computed(e, i);
    return true;
}

static bool add_computed(rlx_seq_pass *p, computed c)
{
    eliminate *e = p->user;
    rlx_memory *m = &p->ctx->memory;
    if ((e->all.len >= e->num_heads && !grow(m, e)) || e->all.len >= UINT32_MAX - 1 ||
        !rlx_vec_push(m, &e->all, c))
        return false;
    link_computed(e, (uint32_t)e->all.len - 1);
    return true;
}

/* Forgets all but the first `count`: the last ones are the first of their lists. */
static void forget_down_to(eliminate *e, uint32_t count)
{
    while (e->all.len > count) {
        computed c = rlx_vec_pop(&e->all);
        *head_of(e, c.hash) = c.next;
    }
}

static bool is_same(rlx_seq_pass *p, const rlx_binding *a, const rlx_binding *b)
{
    const rlx_match_cast *x = rlx_as_match_cast(a), *y = rlx_as_match_cast(b);
    bool lost;
    return !x == !y && (!x || x->sinfo == y->sinfo) &&
           rlx_equal(&p->ctx->memory, rlx_binding_value(a), rlx_binding_value(b), false, &lost);
}

/* The last one with the value of b that may be used here; NULL: none. */
static computed *find_computed(rlx_seq_pass *p, const rlx_binding *b, uint64_t hash)
{
    eliminate *e = p->user;
    uint32_t at = e->num_heads ? *head_of(e, hash) : 0, seen = rlx_vec_last(&e->scopes).seen;
    for (int i = 0; at > seen && i < MOST_LOOKED_AT; i++) {
        computed *c = &e->all.data[at - 1];
        if (c->hash == hash && is_same(p, c->binding, b))
            return c;
        at = c->next;
    }
    return NULL;
}

/* ---- sequences and blocks ------------------------------------------------------------------- */

/* The sequence under way has its scope. */
static scope *current(rlx_seq_pass *p)
{
    eliminate *e = p->user;
    while (e->scopes.len < rlx_seq_depth(p)) {
        const scope *around = e->scopes.len ? &rlx_vec_last(&e->scopes) : NULL;
        uint32_t now = (uint32_t)e->all.len;
        scope s = { .seen = around && !around->holds_literal ? around->seen : now, .first = now };
        if (!rlx_vec_push(&p->ctx->memory, &e->scopes, s))
            return NULL;
    }
    return &rlx_vec_last(&e->scopes);
}

/* A dataflow block ends: what it gives out stands for what it computed. */
static void end_block(rlx_seq_pass *p, scope *s)
{
    eliminate *e = p->user;
    size_t end = e->all.len;
    if (!s->in_dataflow)
        return;
    s->in_dataflow = false;
    if (s->inside.ctx)
        rlx_rewriter_free(&s->inside);
    s->inside.ctx = NULL;
    forget_down_to(e, s->block);
    for (size_t i = s->block; i < end; i++) {
        computed c = e->all.data[i];  /* not written over yet: there are at most as many */
        c.var = c.output ? c.output : c.var;
        c.output = NULL;
        if (c.var->node.kind == RLX_NODE_DATAFLOW_VAR)
            continue;
        e->all.data[e->all.len++] = c;
        link_computed(e, (uint32_t)e->all.len - 1);
    }
}

static bool enter_block(rlx_seq_pass *p, const rlx_block *block)
{
    eliminate *e = p->user;
    scope *s = current(p);
    if (!s)
        return false;
    end_block(p, s);
    s->in_dataflow = block->node.kind == RLX_NODE_DATAFLOW_BLOCK;
    s->block = (uint32_t)e->all.len;
    return true;
}

/* Nothing of a sequence is visible behind it. */
static const rlx_expr *end_sequence(rlx_seq_pass *p, const rlx_expr *sequence, const rlx_expr *body)
{
    eliminate *e = p->user;
    scope *s = current(p);
    (void)sequence;
    if (!s)
        return NULL;
    end_block(p, s);
    forget_down_to(e, s->first);
    e->scopes.len--;
    return body;
}

static bool before_binding(rlx_seq_pass *p, const rlx_binding *b)
{
    scope *s = current(p);
    if (s)
        s->holds_literal = rlx_as_function(rlx_binding_value(b)) != NULL;
    return s != NULL;
}

/* ---- bindings ------------------------------------------------------------------------------- */

static bool makes_memory(const rlx_expr *op)
{
    return rlx_is_op(op, RLX_OP_ID_BUILTIN_ALLOC_TENSOR) ||
           rlx_is_op(op, RLX_OP_ID_MEMORY_ALLOC_STORAGE) ||
           rlx_is_op(op, RLX_OP_ID_MEMORY_ALLOC_TENSOR) ||
           rlx_is_op(op, RLX_OP_ID_VM_ALLOC_STORAGE) || rlx_is_op(op, RLX_OP_ID_VM_ALLOC_TENSOR);
}

static bool is_worth_finding(rlx_seq_pass *p, const rlx_binding *b)
{
    eliminate *e = p->user;
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_call *call = rlx_as_call(value);
    if (call)
        return !makes_memory(call->op) && rlx_call_is_pure(&e->env, p->ctx, call);
    switch (value->kind) {
    case RLX_NODE_TUPLE: case RLX_NODE_TUPLE_GET_ITEM: case RLX_NODE_CONSTANT:
    case RLX_NODE_SHAPE_EXPR: case RLX_NODE_PRIM_VALUE: case RLX_NODE_STRING_IMM:
    case RLX_NODE_DTYPE_IMM:
        return !e->call_only;
    case RLX_NODE_VAR: case RLX_NODE_DATAFLOW_VAR:
        return !e->call_only && b->kind == RLX_NODE_MATCH_CAST;
    default:
        return false;
    }
}

static enum rlx_step look_for_written(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    (void)via, (void)parent;
    return rlx_as_var(n) && (rlx_is_written(user, n) || rlx_is_killed(user, n)) ? RLX_STEP_STOP
                                                                                : RLX_STEP_ON;
}

/* Does somebody write to the value, or to what it is computed from, or let go of it by name? */
static bool is_changing(rlx_seq_pass *p, const rlx_binding *old)
{
    eliminate *e = p->user;
    rlx_walker w = { .enter = look_for_written, .user = &e->written, .unique = true };
    bool lost = false;
    const rlx_node *v = (const rlx_node *)rlx_binding_var(old);
    return (e->written.any || e->written.any_killed) &&
           (rlx_is_written(&e->written, v) || rlx_is_killed(&e->written, v) ||
            rlx_walk(&p->ctx->memory, rlx_binding_value(old), &w, &lost) == RLX_STEP_STOP || lost);
}

/* now, with variables of the dataflow block for outputs that copy them. */
static const rlx_binding *see_inside(rlx_seq_pass *p, const rlx_binding *now)
{
    scope *s = current(p);
    const rlx_expr *value = rlx_binding_value(now);
    if (!s->inside.ctx || rlx_as_if_expr(value) || rlx_as_function(value))
        return now;
    value = rlx_rewrite(&s->inside, value);
    return value ? rlx_with_value(p->ctx, now, value) : NULL;
}

static bool replace_var(rlx_seq_pass *p, const rlx_binding *old, const rlx_var *v,
                        const rlx_var *with)
{
    const rlx_var *written = rlx_binding_var(old);
    return rlx_seq_replace(p, &written->node, &with->node) &&
           (v == written || rlx_seq_replace(p, &v->node, &with->node));
}

/* v is given out by the block, and in it a copy of c->var. */
static bool replace_inside(rlx_seq_pass *p, scope *s, const rlx_binding *old, const rlx_var *v,
                           computed *c)
{
    if (c->output)
        return replace_var(p, old, v, c->output);
    if (!s->inside.ctx)
        rlx_rewriter_init(&s->inside, p->ctx);
    c->output = v;
    return rlx_ptrmap_put(&s->inside.map, v, (uintptr_t)c->var);
}

static bool use_again(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now, computed *c)
{
    scope *s = current(p);
    const rlx_var *v = rlx_binding_var(now);
    bool leaves = c->var->node.kind == RLX_NODE_DATAFLOW_VAR && v->node.kind == RLX_NODE_VAR;
    rlx_place place = now->kind == RLX_NODE_MATCH_CAST ? ((const rlx_match_cast *)now)->place
                                                       : ((const rlx_var_binding *)now)->place;
    const rlx_binding *copy = rlx_var_binding_new(p->ctx, v, &c->var->node, place);
    return (leaves ? replace_inside(p, s, old, v, c) : replace_var(p, old, v, c->var)) &&
           rlx_seq_emit(p, copy);
}

/* What is told of v is certain of x. */
static bool tells_as_much(rlx_seq_pass *p, const rlx_var *x, const rlx_var *v)
{
    return x->sinfo == v->sinfo ||
           (x->sinfo && v->sinfo &&
            rlx_assignable(p->ctx, &p->scope, x->sinfo, v->sinfo, NULL) == RLX_ASSIGNABLE_YES);
}

static bool visit_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_var *v = rlx_binding_var(now);
    if (!(now = see_inside(p, now)))
        return false;
    if (!v || !is_worth_finding(p, now) || is_changing(p, old))
        return rlx_seq_emit(p, now);
    uint64_t hash = hash_binding(p, now);
    computed *c = find_computed(p, now, hash);
    if (c && tells_as_much(p, c->var, v))
        return use_again(p, old, now, c);
    return add_computed(p, (computed){ .binding = now, .var = v, .hash = hash }) &&
           rlx_seq_emit(p, now);
}

const rlx_module *rlx_pass_eliminate_common_subexpr(rlx_pass_run *run, const rlx_module *m)
{
    eliminate e = { .env = rlx_module_env(m),
                    .call_only = rlx_attr_as_bool(rlx_attrs_get(run->options, "call_only"), false) };
    rlx_memory *memory = &run->ctx->memory;
    rlx_seq_pass p;
    rlx_ptrmap_init(&e.contents, memory);
    rlx_seq_init(&p, run->ctx, m, &e);
    p.binding = visit_binding;
    p.before = before_binding;
    p.enter_block = enter_block;
    p.result_of = end_sequence;
    p.use_scope = true;
    const rlx_module *out =
        rlx_find_written(run->ctx, m, &e.written) ? rlx_seq_module(&p, m) : NULL;
    rlx_seq_free(&p);
    for (size_t i = 0; i < e.scopes.len; i++)
        if (e.scopes.data[i].inside.ctx)
            rlx_rewriter_free(&e.scopes.data[i].inside);
    rlx_written_free(&e.written);
    rlx_ptrmap_free(&e.contents);
    rlx_vec_free(memory, &e.scopes);
    rlx_vec_free(memory, &e.all);
    rlx_mem_free(memory, e.heads, e.num_heads * sizeof *e.heads);
    return out;
}
