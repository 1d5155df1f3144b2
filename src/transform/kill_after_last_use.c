/*- kill_after_last_use: registers are let go of where nothing uses them any more.
 *     x = R.add(w, w)                 x = R.add(w, w)
 *     z = R.exp(x)               ->   z = R.exp(x)
 *     return z                        R.memory.kill_tensor(x)
 *                                     return z
 * Storage is let go of by R.memory.kill_storage: the tensors in it hold it. Stays: what the function or a branch gives, what
 * somebody else has a name for (tuples, views, copies of a variable), dataflow blocks, and functions whose calls are looked at
 * for purity, as killing is no pure call. needs: normal form, struct info. keeps: the rest. */
#include "transform/transform_int.h"

enum { MAX_DEPTH = 64 }; /* of sequences in sequences; what is bound deeper is left alone */

typedef struct killer {
    rlx_context *ctx;
    const rlx_binding *current[MAX_DEPTH]; /* under way, by depth */
    size_t depth;
    size_t pure; /* functions around that are looked at for purity */
    const rlx_node *arguments; /* a tuple literal that a call takes, which keeps nothing */
    rlx_ptrmap depth_of;      /* variable -> depth of its sequence, + 1 */
    rlx_ptrmap last;          /* variable -> the binding of that sequence that uses it last; NULL: stays */
    RLX_VEC(const rlx_var *) vars; /* in the order of their bindings */
    rlx_ptrmap first;         /* binding -> number + 1 of the first variable to be killed after it */
    RLX_VEC(size_t) next;     /* parallel to vars: the next one, + 1 */
    bool lost;
} killer;

/* May what binds the variable be let go of? */
static bool is_killed(const rlx_var *v, const rlx_expr *value)
{
    const rlx_op_row *row = rlx_callee_op(value);
    if (!v || v->node.kind == RLX_NODE_DATAFLOW_VAR || !rlx_as_call(value))
        return false;
    if (row && row->id == RLX_OP_ID_MEMORY_ALLOC_STORAGE)
        return true;
    bool alias = row && row->flags & RLX_OP_ALIAS && row->id != RLX_OP_ID_MEMORY_ALLOC_TENSOR;
    return rlx_as_tensor_sinfo(v->sinfo) && !alias;
}

/* Does this use give the value another name, or let go of it already? */
static bool is_kept(const rlx_node *parent)
{
    const rlx_op_row *row = rlx_callee_op(parent);
    if (!row)
        return parent->kind != RLX_NODE_CALL && parent->kind != RLX_NODE_IF;
    return (row->flags & RLX_OP_ALIAS && row->id != RLX_OP_ID_MEMORY_ALLOC_TENSOR) ||
           row->id == RLX_OP_ID_MEMORY_KILL_TENSOR || row->id == RLX_OP_ID_MEMORY_KILL_STORAGE ||
           row->id == RLX_OP_ID_VM_KILL_OBJECT;
}

static const rlx_binding *as_binding(const rlx_node *n)
{
    return n && (n->kind == RLX_NODE_VAR_BINDING || n->kind == RLX_NODE_MATCH_CAST) ? n : NULL;
}

static bool looks_at_purity(const rlx_function *f)
{
    return f->is_pure && !rlx_attr_as_bool(rlx_attrs_get(f->attrs, "relax.force_pure"), false);
}

static void see_use(killer *k, const rlx_node *v, const rlx_node *parent)
{
    uintptr_t depth, known;
    if (!rlx_ptrmap_find(&k->depth_of, v, &depth))
        return;
    bool stays = (parent != k->arguments && is_kept(parent)) || (rlx_ptrmap_find(&k->last, v, &known) && !known);
    const rlx_binding *at = stays ? NULL : k->current[depth - 1];
    k->lost |= !rlx_ptrmap_put(&k->last, v, (uintptr_t)at);
}

static enum rlx_step see(void *user, const rlx_node *n, const rlx_field *via,
                         const rlx_node *parent)
{
    killer *k = user;
    const rlx_binding *b = as_binding(n);
    if (n->kind == RLX_NODE_SEQ_EXPR && ++k->depth > MAX_DEPTH)
        return RLX_STEP_SKIP;
    k->pure += n->kind == RLX_NODE_FUNCTION && looks_at_purity(rlx_as_function(n));
    if (n->kind == RLX_NODE_TUPLE && parent && parent->kind == RLX_NODE_CALL && !is_kept(parent))
        k->arguments = n;
    if (b) {
        const rlx_var *v = rlx_binding_var(b);
        k->current[k->depth - 1] = b;
        if (n->kind == RLX_NODE_VAR_BINDING && !k->pure && is_killed(v, rlx_binding_value(b)))
            k->lost |= !rlx_ptrmap_put(&k->depth_of, v, k->depth) ||
                       !rlx_ptrmap_put(&k->last, v, (uintptr_t)b) ||
                       !rlx_vec_push(&k->ctx->memory, &k->vars, v);
    } else if (n->kind == RLX_NODE_VAR && parent && via) {
        const rlx_binding *of = as_binding(parent);
        if (!of || n != &rlx_binding_var(of)->node)
            see_use(k, n, parent);
    }
    return RLX_STEP_ON;
}

static enum rlx_step leave(void *user, const rlx_node *n)
{
    killer *k = user;
    k->depth -= n->kind == RLX_NODE_SEQ_EXPR;
    k->pure -= n->kind == RLX_NODE_FUNCTION && looks_at_purity(rlx_as_function(n));
    return RLX_STEP_ON;
}

static bool find_last_uses(killer *k, const rlx_function *f)
{
    const rlx_walker w = { .enter = see, .leave = leave, .user = k };
    k->depth = k->pure = k->vars.len = k->next.len = 0;
    rlx_ptrmap_clear(&k->depth_of);
    rlx_ptrmap_clear(&k->last);
    rlx_ptrmap_clear(&k->first);
    rlx_walk(&k->ctx->memory, f->body, &w, &k->lost);
    for (size_t i = 0; i < k->vars.len && !k->lost; i++) {
        uintptr_t at = 0, before = 0;
        (void)rlx_ptrmap_find(&k->last, k->vars.data[i], &at);
        (void)rlx_ptrmap_find(&k->first, (void *)at, &before);
        k->lost |= !rlx_vec_push(&k->ctx->memory, &k->next, (size_t)before) ||
                   (at && !rlx_ptrmap_put(&k->first, (void *)at, i + 1));
    }
    return !k->lost;
}

static bool emit_kill(rlx_seq_pass *p, const rlx_var *v)
{
    bool storage = !rlx_as_tensor_sinfo(v->sinfo);
    const rlx_expr *arg = (const rlx_expr *)rlx_seq_rename(p, &v->node);
    const rlx_expr *call =
        rlx_plain_call(p->ctx, storage ? "relax.memory.kill_storage" : "relax.memory.kill_tensor",
                       &arg, 1, v->place);
    return call && rlx_seq_bind(p, "_", p->ctx->unit, call, v->place);
}

static bool kill_behind(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    killer *k = p->user;
    uintptr_t at = 0;
    bool good = rlx_seq_emit(p, now);
    (void)rlx_ptrmap_find(&k->first, old, &at);
    if (rlx_seq_in_dataflow(p))
        return good;
    for (; at && good; at = k->next.data[at - 1])
        good = emit_kill(p, k->vars.data[at - 1]);
    return good;
}

const rlx_module *rlx_pass_kill_after_last_use(rlx_pass_run *run, const rlx_module *m)
{
    killer k = { .ctx = run->ctx };
    rlx_memory *memory = &run->ctx->memory;
    const rlx_module *out = NULL;
    rlx_seq_pass p;
    size_t room = (m->num_functions + 1) * sizeof(rlx_node *);
    const rlx_node **functions = rlx_mem_alloc(memory, room);
    m = functions ? rlx_pass_canonicalize_bindings(run, m) : NULL; /* one name for each value */
    bool good = m != NULL;
    rlx_ptrmap_init(&k.depth_of, memory);
    rlx_ptrmap_init(&k.last, memory);
    rlx_ptrmap_init(&k.first, memory);
    rlx_seq_init(&p, run->ctx, m, &k);
    p.binding = kill_behind;
    for (size_t i = 0; good && i < m->num_functions; i++) {
        const rlx_function *f = rlx_as_function(m->functions[i]);
        functions[i] = m->functions[i];
        if (!f || looks_at_purity(f))
            continue;
        const rlx_function *now = find_last_uses(&k, f) ? rlx_seq_function(&p, f) : NULL;
        good = now != NULL;
        functions[i] = now ? &now->node : NULL;
    }
    if (good)
        out = rlx_module_with(run->ctx, m, functions);
    rlx_seq_free(&p);
    rlx_vec_free(memory, &k.vars);
    rlx_vec_free(memory, &k.next);
    rlx_ptrmap_free(&k.depth_of);
    rlx_ptrmap_free(&k.last);
    rlx_ptrmap_free(&k.first);
    rlx_mem_free(memory, functions, functions ? room : 0);
    return out;
}
