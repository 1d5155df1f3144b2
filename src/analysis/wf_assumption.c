/* wf_assumption.c: bounds that functions promise of their shape variables (language 10.3.2): are
 * they well-formed, and does a call surely break one? */
#include "analysis/wf_int.h"

#define MEMORY(w) (&(w)->ctx->memory)

/* ---- the attributes ------------------------------------------------------------------------- */

typedef struct stating {
    rlx_wf *w;
    const rlx_function *f;
    const rlx_node *name;      /* of f */
    const char *key;
    rlx_ptrmap bound;          /* names that parameters bind */
} stating;

static void found(const stating *s, enum rlx_wf_detail detail, const rlx_node *what, int64_t limit)
{
    rlx_finding *f = rlx_wf_found(s->w, RLX_WX13, detail, rlx_attr_place(&s->f->node, s->key),
                                  s->name);
    if (!f)
        return;
    f->b = what;
    f->n = limit;
    f->k = strcmp(s->key, RLX_UPPER_BOUND) == 0;
}

/* The sizes that came into scope with the function under way. */
static void note_names(stating *s)
{
    rlx_wf *w = s->w;
    for (size_t i = rlx_vec_last(&w->marks).sizes; i < w->open_sizes.len; i++) {
        const rlx_prim_var *v = w->sizes.data[w->open_sizes.data[i]].var;
        const rlx_string *name = v->name ? rlx_string_interned(w->ctx, v->name) : NULL;
        if (name)
            (void)rlx_ptrmap_put(&s->bound, name, 1);
    }
}

static void check_name(const stating *s, const rlx_node *name)
{
    const rlx_attr_string *text = rlx_as_attr_string(name);
    if (!text)
        found(s, RLX_WF_FORM, name, 0);
    else if (!rlx_ptrmap_has(&s->bound, text->value))
        found(s, RLX_WF_UNBOUND, name, 0);
}

static void check_limits(stating *s, const rlx_node *value)
{
    const rlx_attrs *map = rlx_as_attrs(value);
    s->key = RLX_UPPER_BOUND;
    if (value && !map)
        found(s, RLX_WF_FORM, value, 0);
    for (size_t i = 0; map && i < map->num_keys; i++) {
        if (rlx_assumed_limit(map->values[i]) < 0)
            found(s, RLX_WF_LIMIT, map->keys[i], 0);
        else
            check_name(s, map->keys[i]);
    }
}

static void check_list(stating *s, const rlx_node *value)
{
    const rlx_attr_list *list = rlx_as_attr_list(value);
    s->key = RLX_NON_NEGATIVE;
    if (value && !list)
        found(s, RLX_WF_FORM, value, 0);
    for (size_t i = 0; list && i < list->num_items; i++)
        check_name(s, list->items[i]);
}

void rlx_wf_assumptions(rlx_wf *w, const rlx_function *f, const rlx_node *name)
{
    const rlx_node *upper = rlx_attrs_get(f->attrs, RLX_UPPER_BOUND),
                   *signs = rlx_attrs_get(f->attrs, RLX_NON_NEGATIVE);
    stating s = { .w = w, .f = f, .name = name };
    if (!upper && !signs)
        return;
    rlx_ptrmap_init(&s.bound, MEMORY(w));
    note_names(&s);
    check_limits(&s, upper);
    check_list(&s, signs);
    rlx_ptrmap_free(&s.bound);
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* Facts about the sizes of the function under way: those of its parameters. */
static const rlx_scope *facts(rlx_wf *w)
{
    const rlx_function *f = w->functions.data[0].function;
    if (w->facts_of == f)
        return &w->facts;
    rlx_scope_forget(&w->facts, 0);
    w->facts_of = f;
    (void)rlx_scope_enter_function(&w->facts, f);
    return &w->facts;
}

/* Is the value that a call gives for a variable surely out of bounds? *limit: which one. */
static bool is_broken(rlx_wf *w, const rlx_fact *promise, const rlx_prim *value, int64_t *limit)
{
    const rlx_prim *low = rlx_int64(w->ctx, promise->low),
                   *high = rlx_int64(w->ctx, promise->high);
    *limit = promise->high;
    if (!low || !high)
        return false;
    if (rlx_prove_compare(w->ctx, &w->facts, RLX_NODE_GT, value, high) == RLX_TRUE)
        return true;
    *limit = promise->low;
    return rlx_prove_compare(w->ctx, &w->facts, RLX_NODE_LT, value, low) == RLX_TRUE;
}

static void check_pair(rlx_wf *w, const rlx_call *call, const rlx_function *callee,
                       const rlx_fact *promise, const struct rlx_map_pair *pair)
{
    int64_t limit;
    if (!is_broken(w, promise, pair->value, &limit))
        return;
    bool upper = limit == promise->high;
    rlx_finding *f = rlx_wf_found(w, RLX_TY04, upper ? RLX_WF_LIMIT : RLX_WF_PLAIN, call->place,
                                  &promise->var->node);
    if (!f)
        return;
    f->b = pair->value;
    f->note = rlx_attr_place(&callee->node, upper ? RLX_UPPER_BOUND : RLX_NON_NEGATIVE);
    f->n = limit;
    f->k = pair->arg;
    f->callee = call->op;
}

/* In the order of the promises. */
static void check_promised(rlx_wf *w, const rlx_call *call, const rlx_function *callee,
                           const rlx_facts *promised, const rlx_mapping *m)
{
    rlx_ptrmap pairs; /* variable -> index + 1 */
    bool ok = true;
    rlx_ptrmap_init(&pairs, MEMORY(w));
    for (size_t i = 0; ok && i < m->list.len; i++)
        ok = rlx_ptrmap_put(&pairs, m->list.data[i].var, i + 1);
    for (size_t i = 0; ok && i < promised->len; i++) {
        uintptr_t at;
        if (rlx_ptrmap_find(&pairs, promised->data[i].var, &at))
            check_pair(w, call, callee, &promised->data[i], &m->list.data[at - 1]);
    }
    rlx_ptrmap_free(&pairs);
}

void rlx_wf_call_assumptions(rlx_wf *w, const rlx_call *call, const rlx_function *callee)
{
    const rlx_func_sinfo *s = rlx_as_func_sinfo(callee->sinfo);
    rlx_facts promised = { 0 };
    rlx_mapping m;
    if (!s || s->derive || s->num_params != call->num_args)
        return;
    (void)rlx_assumed(w->ctx, callee->attrs, s->binders, s->num_binders, &promised);
    rlx_mapping_init(&m, w->ctx, promised.len ? facts(w) : NULL, s->binders, s->num_binders);
    for (size_t i = 0; promised.len && i < call->num_args; i++) {
        const rlx_sinfo *have =
            rlx_is_leaf(call->args[i]) ? rlx_leaf_sinfo(w->ctx, &w->env, call->args[i]) : NULL;
        if (have)
            rlx_mapping_add(&m, s->params[i], have, (int32_t)i);
    }
    if (promised.len && !m.conflict)
        check_promised(w, call, callee, &promised, &m);
    rlx_mapping_free(&m);
    rlx_vec_free(MEMORY(w), &promised);
}
