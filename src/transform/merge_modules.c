/*- merge_modules.c: the functions of two modules in one.
 *
 *     a: main -> helper          b: other -> helper        helpers equal: helper is shared
 *                                                          else b's private one is helper_1
 *
 * Two functions of one name are shared if they are equal and so are, by name, all that they
 * mention: that is found from the unequal ones upwards, along the mentions. */
#include "transform/module_edit.h"
#include "transform/transform_int.h"

#define NOWHERE SIZE_MAX

typedef struct mention { uint32_t caller, next; } mention; /* next + 1 in the list of a callee */

typedef struct merge {
    rlx_context *ctx;
    const rlx_module *a, *b;
    size_t *twin;               /* by function of b: that of a with the same name, or NOWHERE */
    bool *shared;               /* by function of b: it is its twin */
    uint32_t *callers;          /* by function of b: first of `mentions` + 1 */
    RLX_VEC(mention) mentions;
    RLX_VEC(uint32_t) work;
    uint32_t caller;            /* being looked through */
    rlx_map names;              /* all that are taken */
    rlx_map symbols;            /* link name -> function of a + 1 */
    rlx_ptrmap params;          /* of the functions of a */
    rlx_ptrmap in_a, in_b;      /* GlobalVar -> the one that stands for it */
    rlx_module_draft draft;
} merge;

/* ---- which functions are shared ------------------------------------------------------------- */

static enum rlx_step note_mention(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    merge *m = user;
    int64_t at = rlx_module_named_by(m->b, n);
    if (n->kind == RLX_NODE_CONSTANT)
        return RLX_STEP_SKIP;
    if (at < 0)
        return RLX_STEP_ON;
    mention e = { m->caller, m->callers[at] };
    if (!rlx_vec_push(&m->ctx->memory, &m->mentions, e))
        return RLX_STEP_STOP;
    m->callers[at] = (uint32_t)m->mentions.len;
    return RLX_STEP_ON;
}

static bool find_mentions(merge *m)
{
    rlx_walker w = { .enter = note_mention, .user = m, .unique = true };
    for (size_t i = 0; i < m->b->num_functions && !m->ctx->diags.out_of_memory; i++) {
        m->caller = (uint32_t)i;
        rlx_walk(&m->ctx->memory, m->b->functions[i], &w, NULL);
    }
    return !m->ctx->diags.out_of_memory;
}

static bool compare(merge *m)
{
    bool lost = false;
    for (size_t i = 0; i < m->b->num_functions && !lost; i++) {
        int64_t at = rlx_module_find(
            m->a, rlx_string_slice(((const rlx_global_var *)m->b->gvars[i])->name));
        m->twin[i] = at < 0 ? NOWHERE : (size_t)at;
        m->shared[i] = at >= 0 && rlx_equal(&m->ctx->memory, m->a->functions[at],
                                            m->b->functions[i], false, &lost);
        if (!m->shared[i] && !rlx_vec_push(&m->ctx->memory, &m->work, (uint32_t)i))
            lost = true;
    }
    return !lost;
}

/* Who mentions what is not shared is not shared either. */
static bool spread(merge *m)
{
    while (m->work.len) {
        uint32_t callee = rlx_vec_pop(&m->work);
        for (uint32_t e = m->callers[callee]; e; e = m->mentions.data[e - 1].next) {
            uint32_t caller = m->mentions.data[e - 1].caller;
            if (!m->shared[caller])
                continue;
            m->shared[caller] = false;
            if (!rlx_vec_push(&m->ctx->memory, &m->work, caller))
                return false;
        }
    }
    return true;
}

/* ---- names ---------------------------------------------------------------------------------- */

static rlx_slice name_at(const rlx_module *m, size_t i)
{
    return rlx_string_slice(((const rlx_global_var *)m->gvars[i])->name);
}

static bool take_names(merge *m)
{
    bool good = true;
    for (size_t i = 0; good && i < m->a->num_functions; i++) {
        const rlx_string *symbol = rlx_link_name(m->a->functions[i]);
        good = rlx_map_put(&m->names, name_at(m->a, i), m) &&
               (!symbol || rlx_map_put(&m->symbols, rlx_string_slice(symbol),
                                       (void *)(uintptr_t)(i + 1)));
    }
    for (size_t i = 0; good && i < m->b->num_functions; i++)
        good = rlx_map_put(&m->names, name_at(m->b, i), m);
    return good;
}

static rlx_place place_at(const rlx_module *m, size_t i)
{
    rlx_place p = rlx_place_of(m->functions[i]);
    return p ? p : rlx_place_of(m->gvars[i]);
}

static void report_clash(merge *m, size_t i, size_t in_a, const rlx_string *name)
{
    rlx_error(m->ctx, RLX_WX05, place_at(m->b, i), "two public functions are named %s",
              name->data);
    rlx_note(m->ctx, place_at(m->a, in_a), "the first one is here");
}

/* A GlobalVar with a fresh name that stands for `old`. */
static const rlx_node *renamed(merge *m, const rlx_node *old, rlx_ptrmap *map)
{
    const rlx_string *name =
        rlx_fresh_name(m->ctx, &m->names, rlx_string_slice(((const rlx_global_var *)old)->name));
    const rlx_node *gv =
        name ? (const rlx_node *)rlx_global_var_new(m->ctx, name, rlx_place_of(old)) : NULL;
    if (gv && !rlx_ptrmap_put(map, old, (uintptr_t)gv))
        return NULL;
    return gv;
}

/* ---- variables ------------------------------------------------------------------------------ */

static const rlx_node *const *params_of(const rlx_node *function, size_t *count)
{
    const rlx_function *f = rlx_as_function(function);
    const rlx_prim_func *p = rlx_as_prim_func(function);
    *count = f ? f->num_params : p ? p->num_params : 0;
    return f ? f->params : p ? p->params : NULL;
}

static bool note_params(merge *m)
{
    size_t count;
    bool good = true;
    for (size_t i = 0; good && i < m->a->num_functions; i++) {
        const rlx_node *const *params = params_of(m->a->functions[i], &count);
        for (size_t k = 0; good && k < count; k++)
            good = rlx_ptrmap_put(&m->params, params[k], 1);
    }
    return good;
}

/* A function made from one of a shares its variables: it is copied with its own. NULL: out of
 * memory. */
static const rlx_node *on_its_own(merge *m, const rlx_node *function)
{
    size_t count;
    const rlx_node *const *params = params_of(function, &count);
    for (size_t k = 0; k < count; k++)
        if (rlx_ptrmap_has(&m->params, params[k]))
            return rlx_copy_fresh(m->ctx, function);
    return function;
}

/* ---- putting together ----------------------------------------------------------------------- */

/* Function i of b has the name of another function of a: one of them gives way. */
static bool add_beside_twin(merge *m, size_t i, size_t twin)
{
    const rlx_string *link = rlx_link_name(m->b->functions[i]);
    const rlx_node *gv = m->b->gvars[i], *function = on_its_own(m, m->b->functions[i]), *away;
    if (link && rlx_link_name(m->a->functions[twin])) {
        report_clash(m, i, twin, link);
        return true;
    }
    if (!function)
        return false;
    away = link ? renamed(m, m->a->gvars[twin], &m->in_a) : renamed(m, gv, &m->in_b);
    if (link)
        m->draft.gvars[twin] = away;
    rlx_module_draft_add(&m->draft, link ? gv : away, function);
    return away != NULL;
}

static bool add_from_b(merge *m, size_t i)
{
    const rlx_string *link = rlx_link_name(m->b->functions[i]);
    uintptr_t same_link = link ? (uintptr_t)rlx_map_get(&m->symbols, rlx_string_slice(link)) : 0;
    if (m->shared[i])
        return m->b->gvars[i] == m->a->gvars[m->twin[i]] ||
               rlx_ptrmap_put(&m->in_b, m->b->gvars[i], (uintptr_t)m->a->gvars[m->twin[i]]);
    if (m->twin[i] != NOWHERE)
        return add_beside_twin(m, i, m->twin[i]);
    if (same_link) {
        report_clash(m, i, same_link - 1, link);
        return true;
    }
    const rlx_node *function = on_its_own(m, m->b->functions[i]);
    if (function)
        rlx_module_draft_add(&m->draft, m->b->gvars[i], function);
    return function != NULL;
}

/* ---- attributes ----------------------------------------------------------------------------- */

/* Attributes of both; a key with two values is a mistake. */
static const rlx_attr *merge_attrs(merge *m, const rlx_attr *a, const rlx_attr *b)
{
    const rlx_attrs *more = rlx_as_attrs(b);
    const rlx_attr *out = a;
    for (size_t i = 0; more && i < more->num_keys; i++) {
        const char *key = ((const rlx_attr_string *)more->keys[i])->value->data;
        const rlx_attr *have = rlx_attrs_get(a, key);
        if (!have)
            out = rlx_attrs_with(m->ctx, out, key, more->values[i]);
        else if (!rlx_equal(&m->ctx->memory, have, more->values[i], false, NULL) &&
                 !m->ctx->diags.out_of_memory)
            rlx_error(m->ctx, RLX_OP16, m->b->place,
                      "both modules have an attribute %s, with different values", key);
    }
    return out;
}

static bool in_list(const rlx_attr_list *list, const rlx_node *item)
{
    for (size_t i = 0; list && i < list->num_items; i++)
        if (list->items[i] == item)
            return true;
    return false;
}

/* The items of a, then those of b that a has not: devices and the like are interned. */
static const rlx_attr *joined(merge *m, const rlx_attr *a, const rlx_attr *b)
{
    const rlx_attr_list *x = rlx_as_attr_list(a), *y = rlx_as_attr_list(b);
    RLX_VEC(const rlx_attr *) all = { 0 };
    bool good = true;
    for (size_t i = 0; good && x && i < x->num_items; i++)
        good = rlx_vec_push(&m->ctx->memory, &all, x->items[i]);
    for (size_t i = 0; good && y && i < y->num_items; i++)
        good = in_list(x, y->items[i]) || rlx_vec_push(&m->ctx->memory, &all, y->items[i]);
    const rlx_attr *out = good ? rlx_attr_list_new(m->ctx, all.data, all.len) : NULL;
    rlx_vec_free(&m->ctx->memory, &all);
    return out;
}

static const rlx_attr *merge_infos(merge *m, const rlx_attr *a, const rlx_attr *b)
{
    const rlx_attrs *more = rlx_as_attrs(b);
    const rlx_attr *out = a;
    for (size_t i = 0; more && i < more->num_keys && !m->ctx->diags.out_of_memory; i++) {
        const char *key = ((const rlx_attr_string *)more->keys[i])->value->data;
        const rlx_attr *list = joined(m, rlx_attrs_get(a, key), more->values[i]);
        out = list ? rlx_attrs_with(m->ctx, out, key, list) : NULL;
    }
    return out;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static bool put_together(merge *m)
{
    size_t of_a = m->a->num_functions, errors = rlx_error_count(m->ctx);
    rlx_module_draft *d = &m->draft;
    for (size_t i = 0; i < m->b->num_functions; i++)
        if (!add_from_b(m, i))
            return false;
    d->attrs = merge_attrs(m, m->a->attrs, m->b->attrs);
    d->infos = merge_infos(m, m->a->global_infos, m->b->global_infos);
    return !m->ctx->diags.out_of_memory && rlx_error_count(m->ctx) == errors &&
           rlx_rename_mentions(m->ctx, &m->in_a, d->functions, of_a) &&
           rlx_rename_mentions(m->ctx, &m->in_b, d->functions + of_a, d->count - of_a);
}

const rlx_module *rlx_merge_modules(rlx_context *ctx, const rlx_module *a, const rlx_module *b)
{
    size_t n = b->num_functions;
    rlx_memory *memory = &ctx->memory;
    merge m = { .ctx = ctx,
                .a = a,
                .b = b,
                .twin = rlx_mem_alloc(memory, (n + 1) * sizeof *m.twin),
                .shared = rlx_mem_alloc_zero(memory, n + 1),
                .callers = rlx_mem_alloc_zero(memory, (n + 1) * sizeof *m.callers) };
    rlx_map_init(&m.names, memory);
    rlx_map_init(&m.symbols, memory);
    rlx_ptrmap_init(&m.params, memory);
    rlx_ptrmap_init(&m.in_a, memory);
    rlx_ptrmap_init(&m.in_b, memory);
    bool good = rlx_module_draft_begin(&m.draft, ctx, a, n) &&
                ((m.twin && m.shared && m.callers)) && find_mentions(&m) && compare(&m) &&
                spread(&m) && take_names(&m) && note_params(&m) && put_together(&m);
    const rlx_module *out = rlx_module_draft_end(&m.draft, good);
    rlx_map_free(&m.names);
    rlx_map_free(&m.symbols);
    rlx_ptrmap_free(&m.params);
    rlx_ptrmap_free(&m.in_a);
    rlx_ptrmap_free(&m.in_b);
    rlx_vec_free(memory, &m.mentions);
    rlx_vec_free(memory, &m.work);
    rlx_mem_free(memory, m.twin, m.twin ? (n + 1) * sizeof *m.twin : 0);
    rlx_mem_free(memory, m.shared, m.shared ? n + 1 : 0);
    rlx_mem_free(memory, m.callers, m.callers ? (n + 1) * sizeof *m.callers : 0);
    return out;
}
