/*- canonicalize_bindings: copies and what amounts to copies go away.
 *     y = x                                   ->   uses of y are uses of x
 *     t = (a, b); u = t[0]                         uses of u are uses of a
 *     v = (t[0], t[1])                             v is t, if t has two fields
 *     z = match_cast(x, R.Tensor((m, 4)))          with x: R.Tensor((n, 4)): m is n, z is x
 *     lv = f(x); gv = lv; R.output(gv)             gv = f(x); R.output(gv)
 *     R.output(y, z)                               R.output(z), if nothing behind the block uses y
 * needs: normal form, struct info. keeps: meaning, order. Stays: a copy whose annotation
 * promises more than the value proves (it is a check), an output that copies a dataflow
 * variable in another way than above, a constant in a tuple that somebody writes to, and a copy
 * of what is let go of by name. */
#include "transform/transform_int.h"

typedef struct canonicalize {
    rlx_env env;
    rlx_ptrmap values;     /* variable -> its TUPLE or TUPLE_GET_ITEM */
    rlx_ptrmap turned;     /* bindings whose variable has been given to the value's definition */
    rlx_ptrmap origin;     /* dataflow variable of this block -> the one it copies, or itself */
    rlx_ptrmap given;      /* variable -> the output whose name it got */
    rlx_ptrmap here;       /* dataflow variables of this block, as they are bound now */
    rlx_written written;
} canonicalize;

static bool put_in_map(rlx_seq_pass *p, rlx_ptrmap *map, const void *key, const void *value)
{
    return rlx_ptrmap_put(map, key, (uintptr_t)value);
}

/* ---- outputs of dataflow blocks ------------------------------------------------------------- */

/* `gv = lv`: lv's definition may bind gv instead, once, if both say the same. */
static bool turn_around(rlx_seq_pass *p, const rlx_binding *b, const rlx_var *output,
                        const rlx_var *copied)
{
    canonicalize *c = p->user;
    const rlx_var *root = rlx_ptrmap_get(&c->origin, copied);
    if (!root || root->sinfo != output->sinfo || rlx_ptrmap_has(&c->given, root))
        return true;
    return rlx_seq_replace(p, &root->node, &output->node) && put_in_map(p, &c->turned, b, b) &&
           put_in_map(p, &c->given, root, output);
}

static bool enter_block(rlx_seq_pass *p, const rlx_block *block)
{
    canonicalize *c = p->user;
    rlx_ptrmap_clear(&c->origin);
    rlx_ptrmap_clear(&c->here);
    if (block->node.kind != RLX_NODE_DATAFLOW_BLOCK)
        return true;
    for (size_t i = 0; i < block->num_bindings; i++) {
        const rlx_binding *b = block->bindings[i];
        const rlx_var *v = rlx_binding_var(b), *copied = rlx_as_var(rlx_binding_value(b));
        bool plain = v && b->kind == RLX_NODE_VAR_BINDING && copied &&
                     copied->node.kind == RLX_NODE_DATAFLOW_VAR;
        const rlx_var *root =
            plain && copied->sinfo == v->sinfo ? rlx_ptrmap_get(&c->origin, copied) : NULL;
        bool good = true;
        if (v && v->node.kind == RLX_NODE_DATAFLOW_VAR)
            good = put_in_map(p, &c->origin, v, root ? root : v);
        else if (plain)
            good = turn_around(p, b, v, copied);
        if (!good)
            return false;
    }
    return true;
}

/* ---- shape variables whose value is known --------------------------------------------------- */

typedef struct unbound { rlx_seq_pass *p; rlx_prims vars; bool good; } unbound;

static void find_unbound(void *user, const rlx_prim *p, bool is_size)
{
    unbound *u = user;
    const rlx_prim_var *v = rlx_position_var(p);
    if (v && u->good && !rlx_scope_has(&u->p->scope, v) &&
        rlx_seq_rename(u->p, &v->node) == &v->node)
        u->good = rlx_vec_push(&u->p->ctx->memory, &u->vars, &v->node);
}

static bool replace_known(rlx_seq_pass *p, const rlx_mapping *m)
{
    const rlx_prim *zero = rlx_int64(p->ctx, 0);
    if (!zero)
        return false;
    for (size_t i = 0; i < m->list.len; i++) {
        const rlx_prim *value = m->list.data[i].value;
        if (rlx_prim_dtype(value) == m->list.data[i].var->dtype &&
            rlx_prove_compare(p->ctx, &p->scope, RLX_NODE_GE, value, zero) == RLX_TRUE &&
            !rlx_seq_replace(p, &m->list.data[i].var->node, value))
            return false;
    }
    return true;
}

/* A cast of a value whose sizes are known names what has a name already. */
static bool before_cast(rlx_seq_pass *p, const rlx_binding *old)
{
    const canonicalize *c = p->user;
    const rlx_match_cast *cast = rlx_as_match_cast(old);
    const rlx_expr *value = cast ? rlx_seq_rename(p, cast->value) : NULL;
    if (!cast)
        return true;
    if (!value)
        return false;
    const rlx_sinfo *info = rlx_as_call(value) || rlx_as_if_expr(value)
                                ? NULL
                                : rlx_leaf_sinfo(p->ctx, &c->env, value);
    unbound u = { p, { 0 }, true };
    rlx_mapping m;
    bool good = rlx_each_position(&p->ctx->memory, cast->sinfo, find_unbound, &u) &&
                u.good;
    if (good && info && u.vars.len) {
        rlx_mapping_init(&m, p->ctx, &p->scope, u.vars.data, u.vars.len);
        rlx_mapping_add(&m, cast->sinfo, info, 0);
        good = !p->ctx->diags.out_of_memory && (m.conflict || replace_known(p, &m));
        rlx_mapping_free(&m);
    }
    rlx_vec_free(&p->ctx->memory, &u.vars);
    return good;
}

/* ---- bindings ------------------------------------------------------------------------------- */

/* Is x visible wherever v is, which this block binds? A field of a tuple that an earlier block
 * gave out may be a dataflow variable of that block. */
static bool is_visible_with(const canonicalize *c, const rlx_var *x, const rlx_var *v)
{
    return x->node.kind != RLX_NODE_DATAFLOW_VAR ||
           (v->node.kind == RLX_NODE_DATAFLOW_VAR && rlx_ptrmap_has(&c->here, x));
}

/* May `leaf` stand wherever v does? Whatever is told of v is certain, and the leaf is visible
 * wherever v is. */
static bool stands_for(rlx_seq_pass *p, const rlx_var *v, const rlx_expr *leaf)
{
    const rlx_var *x = rlx_as_var(leaf);
    if (!x || !is_visible_with(p->user, x, v))
        return false;
    return x->sinfo == v->sinfo ||
           (x->sinfo && v->sinfo &&
            rlx_assignable(p->ctx, &p->scope, x->sinfo, v->sinfo, NULL) == RLX_ASSIGNABLE_YES);
}

/* The tuple that (t[0], t[1], ...) spells out; NULL: it does not. */
static const rlx_expr *spelled_out(const canonicalize *c, const rlx_tuple *t)
{
    const rlx_expr *whole = NULL;
    for (size_t i = 0; i < t->num_fields; i++) {
        const rlx_tuple_get_item *get =
            rlx_as_tuple_get_item(rlx_ptrmap_get(&c->values, t->fields[i]));
        if (!get || get->index != (int64_t)i || (whole && get->tuple != whole))
            return NULL;
        whole = get->tuple;
    }
    const rlx_var *v = rlx_as_var(whole);
    const rlx_tuple_sinfo *info = v ? rlx_as_tuple_sinfo(v->sinfo) : NULL;
    return info && info->num_fields == t->num_fields ? whole : NULL;
}

/* A simpler form of a binding's value: a variable, or a leaf out of a tuple; NULL: none. */
static const rlx_expr *simpler(const canonicalize *c, const rlx_expr *value)
{
    const rlx_tuple_get_item *get = rlx_as_tuple_get_item(value);
    const rlx_tuple *tuple = rlx_as_tuple(value);
    if (rlx_as_var(value))
        return value;
    if (tuple)
        return spelled_out(c, tuple);
    const rlx_expr *indexed = get ? get->tuple : NULL;
    const rlx_tuple *known =
        indexed
            ? rlx_as_tuple(rlx_as_tuple(indexed) ? indexed : rlx_ptrmap_get(&c->values, indexed))
            : NULL;
    return known && (uint64_t)get->index < known->num_fields ? known->fields[get->index] : NULL;
}

/* A cast that always holds and binds nothing. */
static bool is_redundant(rlx_seq_pass *p, const rlx_match_cast *cast)
{
    const canonicalize *c = p->user;
    unbound u = { p, { 0 }, true };
    const rlx_sinfo *info = rlx_as_call(cast->value) || rlx_as_if_expr(cast->value)
                                ? NULL
                                : rlx_leaf_sinfo(p->ctx, &c->env, cast->value);
    if (!info || rlx_assignable(p->ctx, &p->scope, info, cast->sinfo, NULL) != RLX_ASSIGNABLE_YES)
        return false;
    bool good = rlx_each_position(&p->ctx->memory, cast->sinfo, find_unbound, &u) && u.good;
    bool binds = u.vars.len > 0;
    rlx_vec_free(&p->ctx->memory, &u.vars);
    return good && !binds;
}

static bool remember(rlx_seq_pass *p, const rlx_var *v, const rlx_expr *value)
{
    canonicalize *c = p->user;
    return (value->kind != RLX_NODE_TUPLE && value->kind != RLX_NODE_TUPLE_GET_ITEM) ||
           put_in_map(p, &c->values, v, value);
}

/* Is the variable, or one that shares its memory, let go of by name? */
static bool is_killed(rlx_seq_pass *p, const rlx_binding *old)
{
    const canonicalize *c = p->user;
    return rlx_is_killed(&c->written, (const rlx_node *)rlx_binding_var(old));
}

/* From here on the leaf stands for the variable of a binding, for the output whose name that
 * variable got, and for v, which is the one or the other with its struct info renamed. */
static bool stand_in(rlx_seq_pass *p, const rlx_binding *old, const rlx_var *v,
                     const rlx_expr *leaf)
{
    const canonicalize *c = p->user;
    const rlx_var *written = rlx_binding_var(old), *output = rlx_ptrmap_get(&c->given, written);
    return rlx_seq_replace(p, &written->node, leaf) &&
           (!output || rlx_seq_replace(p, &output->node, leaf)) &&
           (v == written || v == output || rlx_seq_replace(p, &v->node, leaf));
}

static bool canonicalize_cast(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    const rlx_match_cast *cast = (const rlx_match_cast *)now;
    const rlx_var *v = rlx_as_var(cast->var);
    if (!is_redundant(p, cast) || is_killed(p, old))
        return rlx_seq_emit(p, now);
    if (!v)
        return true;
    if (stands_for(p, v, cast->value))
        return stand_in(p, old, v, cast->value);
    bool hidden = rlx_as_var(cast->value) && cast->value->kind == RLX_NODE_DATAFLOW_VAR;
    return rlx_seq_emit(p,
                        hidden ? now : rlx_var_binding_new(p->ctx, v, cast->value, cast->place)) &&
           remember(p, v, cast->value);
}

/* What the operator's rule says of its new operands, if that is more than what the variable says;
 * NULL: nothing new. */
static const rlx_sinfo *finer_result(rlx_seq_pass *p, const rlx_binding *now)
{
    const canonicalize *c = p->user;
    const rlx_call *call = rlx_as_call(rlx_binding_value(now));
    const rlx_op *op = rlx_as_op(call ? call->op : NULL);
    const rlx_var *v = rlx_binding_var(now);
    const rlx_sinfo *s = op && op->row && op->row->infer && v && v->sinfo
                             ? rlx_op_infer(p->ctx, &p->scope, &c->env, call, true)
                             : NULL;
    bool finer = s && s != v->sinfo &&
                 rlx_assignable(p->ctx, &p->scope, s, v->sinfo, NULL) == RLX_ASSIGNABLE_YES &&
                 rlx_assignable(p->ctx, &p->scope, v->sinfo, s, NULL) != RLX_ASSIGNABLE_YES;
    return finer ? s : NULL;
}

/* The binding with a variable of the finer struct info, which all uses get. */
static const rlx_binding *refined(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now,
                                  const rlx_sinfo *finer)
{
    canonicalize *c = p->user;
    const rlx_var *v = rlx_binding_var(now);
    bool dataflow = v->node.kind == RLX_NODE_DATAFLOW_VAR;
    const rlx_var *with = rlx_var_like(p->ctx, v, dataflow, finer);
    if (!with || !stand_in(p, old, v, &with->node) ||
        (dataflow && !put_in_map(p, &c->here, with, with)))
        return NULL;
    return rlx_var_binding_new(p->ctx, with, rlx_binding_value(now), rlx_place_of(now));
}

static bool canonicalize_binding(rlx_seq_pass *p, const rlx_binding *old, const rlx_binding *now)
{
    canonicalize *c = p->user;
    const rlx_var *v = rlx_binding_var(now);
    if (rlx_ptrmap_has(&c->turned, old))
        return true;
    if (v && v->node.kind == RLX_NODE_DATAFLOW_VAR && !put_in_map(p, &c->here, v, v))
        return false;
    if (now->kind == RLX_NODE_MATCH_CAST)
        return canonicalize_cast(p, old, now);
    const rlx_expr *value = rlx_binding_value(now), *leaf = simpler(c, value);
    if (leaf && is_killed(p, old))
        return rlx_seq_emit(p, now);
    if (leaf && stands_for(p, v, leaf))
        return stand_in(p, old, v, leaf);
    /* A field that is no variable, a constant for instance, is bound as it is; one that is written
     * stays the memory that the tuple has. */
    if (leaf && !rlx_as_var(leaf) && leaf->kind != RLX_NODE_TUPLE &&
        !rlx_is_written(&c->written, (const rlx_node *)rlx_binding_var(old)))
        return rlx_seq_emit(p, rlx_with_value(p->ctx, now, leaf));
    const rlx_sinfo *finer =
        now != old && now->kind == RLX_NODE_VAR_BINDING ? finer_result(p, now) : NULL;
    if (finer && !(now = refined(p, old, now, finer)))
        return false;
    return rlx_seq_emit(p, now) && remember(p, rlx_binding_var(now), value);
}

static const rlx_module *canonicalize_module(rlx_pass_run *run, const rlx_module *m)
{
    canonicalize c = { .env = rlx_module_env(m) };
    rlx_ptrmap *maps[] = { &c.values, &c.turned, &c.origin, &c.given, &c.here };
    rlx_seq_pass p;
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &run->ctx->memory);
    rlx_seq_init(&p, run->ctx, m, &c);
    p.binding = canonicalize_binding;
    p.before = before_cast;
    p.enter_block = enter_block;
    p.use_scope = true;
    const rlx_module *out =
        rlx_find_written(run->ctx, m, &c.written) ? rlx_seq_module(&p, m) : NULL;
    rlx_seq_free(&p);
    rlx_written_free(&c.written);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    return out;
}

/* Variables that only their block uses make copies of them simple, and those make others such. */
#define MOST_ROUNDS 4

const rlx_module *rlx_pass_canonicalize_bindings(rlx_pass_run *run, const rlx_module *m)
{
    const rlx_module *now = rlx_narrow_outputs(run->ctx, m), *before = NULL;
    for (int i = 0; now && i < MOST_ROUNDS && now != before; i++) {
        const rlx_module *done = canonicalize_module(run, now);
        before = done;
        now = done ? rlx_narrow_outputs(run->ctx, done) : NULL;
    }
    return now;
}
