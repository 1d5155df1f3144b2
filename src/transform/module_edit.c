/* module_edit.c: see the header. */
#include "transform/module_edit.h"
#include "transform/transform_int.h"

#include <string.h>

/* ---- drafts --------------------------------------------------------------------------------- */

bool rlx_module_draft_begin(rlx_module_draft *d, rlx_context *ctx, const rlx_module *base,
                            size_t more)
{
    size_t n = base->num_functions;
    *d = (rlx_module_draft){ .ctx = ctx,
                             .base = base,
                             .capacity = n + more + 1,
                             .count = n,
                             .attrs = base->attrs,
                             .infos = base->global_infos };
    d->gvars = rlx_mem_alloc(&ctx->memory, d->capacity * sizeof *d->gvars);
    d->functions = rlx_mem_alloc(&ctx->memory, d->capacity * sizeof *d->functions);
    if (!d->gvars || !d->functions)
        return false;
    if (n) {
        memcpy(d->gvars, base->gvars, n * sizeof *d->gvars);
        memcpy(d->functions, base->functions, n * sizeof *d->functions);
    }
    return true;
}

void rlx_module_draft_add(rlx_module_draft *d, const rlx_node *gvar, const rlx_node *function)
{
    d->gvars[d->count] = gvar;
    d->functions[d->count++] = function;
}

static bool is_as_base(const rlx_module_draft *d)
{
    const rlx_module *m = d->base;
    size_t bytes = d->count * sizeof *d->gvars;
    return d->count == m->num_functions && d->attrs == m->attrs && d->infos == m->global_infos &&
           (!bytes || (!memcmp(d->gvars, m->gvars, bytes) &&
                       !memcmp(d->functions, m->functions, bytes)));
}

const rlx_module *rlx_module_draft_end(rlx_module_draft *d, bool good)
{
    const rlx_module *out = NULL;
    size_t bytes = d->capacity * sizeof *d->gvars;
    if (good)
        out = is_as_base(d) ? d->base
                            : rlx_module_made_of(rlx_module_new(d->ctx, d->gvars, d->functions,
                                                                d->count, d->attrs, d->infos,
                                                                d->base->place),
                                                 d->base);
    rlx_mem_free(&d->ctx->memory, d->gvars, d->gvars ? bytes : 0);
    rlx_mem_free(&d->ctx->memory, d->functions, d->functions ? bytes : 0);
    return out;
}

/* ---- link names ----------------------------------------------------------------------------- */

const rlx_node *rlx_with_function_attrs(rlx_context *ctx, const rlx_node *function,
                                        const rlx_attr *attrs)
{
    const rlx_function *f = rlx_as_function(function);
    if (f)
        return (const rlx_node *)rlx_function_with(ctx, f, f->body, attrs);
    rlx_prim_func *p = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    if (!p)
        return NULL;
    rlx_node head = p->node;
    *p = *(const rlx_prim_func *)function;
    p->node = head;
    p->attrs = attrs;
    return &p->node;
}

const rlx_node *rlx_with_link_name(rlx_context *ctx, const rlx_node *function,
                                   const rlx_string *name)
{
    bool has_one = rlx_is(function, RLX_NODE_FUNCTION) || rlx_is(function, RLX_NODE_PRIM_FUNC);
    if (!has_one || rlx_link_name(function) == name)
        return function;
    const rlx_attr *symbol = name ? rlx_attr_string_new(ctx, rlx_string_slice(name)) : NULL;
    if (name && !symbol)
        return NULL;
    const rlx_attr *attrs =
        rlx_attrs_with(ctx, rlx_function_attrs(function), "global_symbol", symbol);
    const rlx_attrs *left = rlx_as_attrs(attrs);
    return attrs ? rlx_with_function_attrs(ctx, function, left && left->num_keys ? attrs : NULL)
                 : NULL;
}

/* ---- mentions ------------------------------------------------------------------------------- */

typedef struct search { const rlx_ptrmap *of; const rlx_node *gv, *at; } search;

static enum rlx_step find_mention(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    search *s = user;
    if (n->kind == RLX_NODE_CONSTANT)
        return RLX_STEP_SKIP;
    if (n->kind != RLX_NODE_GLOBAL_VAR || !(s->of ? rlx_ptrmap_has(s->of, n) : n == s->gv))
        return RLX_STEP_ON;
    s->at = parent ? parent : n;
    return RLX_STEP_STOP;
}

/* The node of `function` that mentions what is looked for; NULL: none, or out of memory. */
static const rlx_node *mention_in(rlx_context *ctx, const rlx_node *function, search s)
{
    rlx_walker w = { .enter = find_mention, .user = &s, .unique = true };
    bool lost = false;
    rlx_walk(&ctx->memory, function, &w, &lost);
    return s.at;
}

static const rlx_node *renamed_var(rlx_rewriter *r, const rlx_node *n)
{
    return n->kind == RLX_NODE_GLOBAL_VAR ? rlx_ptrmap_get(r->user, n) : NULL;
}

static const rlx_node *rewrite_mentions(rlx_context *ctx, const rlx_ptrmap *renamed,
                                        const rlx_node *function)
{
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    r.user = (void *)(uintptr_t)renamed;
    r.before = renamed_var;
    const rlx_node *out = rlx_rewrite(&r, function);
    rlx_rewriter_free(&r);
    return out;
}

bool rlx_rename_mentions(rlx_context *ctx, const rlx_ptrmap *renamed, const rlx_node **functions,
                         size_t count)
{
    bool good = true;
    for (size_t i = 0; good && renamed->len && i < count; i++) {
        if (mention_in(ctx, functions[i], (search){ .of = renamed }))
            functions[i] = rewrite_mentions(ctx, renamed, functions[i]);
        good = functions[i] && !ctx->diags.out_of_memory;
    }
    return good;
}

/* ---- edits ---------------------------------------------------------------------------------- */

static int shown(rlx_slice name) { return (int)(name.len < 200 ? name.len : 200); }

static int64_t find(rlx_context *ctx, const rlx_module *m, rlx_slice name)
{
    int64_t at = rlx_module_find(m, name);
    if (at < 0)
        rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "the module has no function named %.*s",
                  shown(name), name.data);
    return at;
}

/* The place of a function of a module: of the node that carries it. */
static rlx_place place_at(const rlx_module *m, size_t i)
{
    rlx_place p = rlx_place_of(m->functions[i]);
    return p ? p : rlx_place_of(m->gvars[i]);
}

static bool is_free(rlx_context *ctx, const rlx_module *m, rlx_slice name, rlx_place place)
{
    int64_t at = rlx_module_find(m, name);
    if (at < 0)
        return true;
    rlx_error(ctx, RLX_WX05, place, "two functions are named %.*s", shown(name), name.data);
    rlx_note(ctx, place_at(m, (size_t)at), "the first one is here");
    return false;
}

/* As a member called `name`: its link name, and what callers see of a PrimFunc. */
static const rlx_node *as_member(rlx_context *ctx, const rlx_node *function,
                                 const rlx_string *name)
{
    function = rlx_link_name(function) ? rlx_with_link_name(ctx, function, name) : function;
    const rlx_prim_func *p = rlx_as_prim_func(function);
    if (!p || p->sinfo)
        return function;
    const rlx_sinfo *s = rlx_prim_func_signature(ctx, p);
    const rlx_node *copy = s ? rlx_with_function_attrs(ctx, function, p->attrs) : NULL;
    if (copy)
        ((rlx_prim_func *)(uintptr_t)copy)->sinfo = s;
    return copy;
}

const rlx_module *rlx_module_add(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                 const rlx_node *function)
{
    rlx_module_draft d;
    if (!is_free(ctx, m, name, rlx_place_of(function)))
        return NULL;
    bool good = rlx_module_draft_begin(&d, ctx, m, 1);
    const rlx_string *text = good ? rlx_string_intern(ctx, name) : NULL;
    const rlx_node *gv =
        text ? (const rlx_node *)rlx_global_var_new(ctx, text, rlx_place_of(function)) : NULL;
    function = gv ? as_member(ctx, function, text) : NULL;
    if (function)
        rlx_module_draft_add(&d, gv, function);
    return rlx_module_draft_end(&d, function != NULL);
}

const rlx_module *rlx_module_replace(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                     const rlx_node *function)
{
    rlx_module_draft d;
    int64_t at = find(ctx, m, name);
    if (at < 0)
        return NULL;
    bool good = rlx_module_draft_begin(&d, ctx, m, 0);
    if (good && function != m->functions[at]) {
        d.functions[at] =
            as_member(ctx, function, ((const rlx_global_var *)m->gvars[at])->name);
        good = d.functions[at] != NULL;
    }
    return rlx_module_draft_end(&d, good);
}

/* Does no other function mention gvars[at]? */
static bool nobody_mentions(rlx_context *ctx, const rlx_module *m, size_t at)
{
    const rlx_node *gv = m->gvars[at], *here = NULL;
    for (size_t i = 0; i < m->num_functions && !here && !ctx->diags.out_of_memory; i++)
        if (i != at)
            here = mention_in(ctx, m->functions[i], (search){ .gv = gv });
    if (here) {
        rlx_error(ctx, RLX_WX01, rlx_place_of(here),
                  "function %s cannot be removed: it is mentioned here",
                  ((const rlx_global_var *)gv)->name->data);
        rlx_note(ctx, place_at(m, at), "the function is here");
    }
    return !here && !ctx->diags.out_of_memory;
}

const rlx_module *rlx_module_remove(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                    bool mentioned)
{
    rlx_module_draft d;
    int64_t at = find(ctx, m, name);
    if (at < 0 || (!mentioned && !nobody_mentions(ctx, m, (size_t)at)))
        return NULL;
    bool good = rlx_module_draft_begin(&d, ctx, m, 0);
    d.count = good ? (size_t)at : 0;
    for (size_t i = (size_t)at + 1; good && i < m->num_functions; i++)
        rlx_module_draft_add(&d, m->gvars[i], m->functions[i]);
    return rlx_module_draft_end(&d, good);
}

/* Gives gvars[at] of the draft another name; its mentions are noted in `renamed`. */
static bool rename_at(rlx_module_draft *d, size_t at, rlx_slice to, rlx_ptrmap *renamed)
{
    rlx_context *ctx = d->ctx;
    const rlx_node *old = d->gvars[at];
    const rlx_string *name = rlx_string_intern(ctx, to);
    const rlx_node *gv =
        name ? (const rlx_node *)rlx_global_var_new(ctx, name, rlx_place_of(old)) : NULL;
    if (!gv || (rlx_link_name(d->functions[at]) &&
                !(d->functions[at] = rlx_with_link_name(ctx, d->functions[at], name))))
        return false;
    d->gvars[at] = gv;
    return rlx_ptrmap_put(renamed, old, (uintptr_t)gv);
}

const rlx_module *rlx_module_rename(rlx_context *ctx, const rlx_module *m, rlx_slice from,
                                    rlx_slice to)
{
    rlx_module_draft d;
    rlx_ptrmap renamed;
    int64_t at = find(ctx, m, from);
    if (at >= 0 && rlx_slice_equal(from, to))
        return m;
    if (at < 0 || !is_free(ctx, m, to, place_at(m, (size_t)at)))
        return NULL;
    rlx_ptrmap_init(&renamed, &ctx->memory);
    bool good = rlx_module_draft_begin(&d, ctx, m, 0) && rename_at(&d, (size_t)at, to, &renamed) &&
                rlx_rename_mentions(ctx, &renamed, d.functions, d.count);
    rlx_ptrmap_free(&renamed);
    return rlx_module_draft_end(&d, good);
}

const rlx_module *rlx_module_publish(rlx_context *ctx, const rlx_module *m, rlx_slice name,
                                     bool is_public)
{
    rlx_module_draft d;
    int64_t at = find(ctx, m, name);
    if (at < 0)
        return NULL;
    if (rlx_is(m->functions[at], RLX_NODE_EXTERN_FUNC))
        return rlx_error(ctx, RLX_OP02, place_at(m, (size_t)at),
                         "%.*s is a packed function: it is linked by its own name", shown(name),
                         name.data);
    bool good = rlx_module_draft_begin(&d, ctx, m, 0);
    const rlx_string *symbol = is_public ? ((const rlx_global_var *)m->gvars[at])->name : NULL;
    if (good)
        good = (d.functions[at] = rlx_with_link_name(ctx, m->functions[at], symbol)) != NULL;
    return rlx_module_draft_end(&d, good);
}

/* ---- attach_global_symbol ------------------------------------------------------------------- */

static const rlx_string *prefixed(rlx_context *ctx, const rlx_string *prefix,
                                  const rlx_string *name)
{
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    rlx_buf_put(&b, prefix->data, prefix->len);
    rlx_buf_put(&b, name->data, name->len);
    const rlx_string *out = b.failed ? NULL : rlx_string_intern(ctx, (rlx_slice){ b.data, b.len });
    rlx_buf_free(&b);
    return out;
}

static bool has_prefix(const rlx_string *name, const rlx_string *prefix)
{
    return name->len >= prefix->len && !memcmp(name->data, prefix->data, prefix->len);
}

/* A PrimFunc under the prefix: its GlobalVar too, unless it begins so already. */
static bool prefix_at(rlx_module_draft *d, size_t at, const rlx_string *prefix,
                      rlx_ptrmap *renamed)
{
    const rlx_string *name = ((const rlx_global_var *)d->gvars[at])->name;
    if (has_prefix(name, prefix))
        return true;
    const rlx_string *to = prefixed(d->ctx, prefix, name);
    return to &&
           is_free(d->ctx, d->base, rlx_string_slice(to), rlx_place_of(d->gvars[at])) &&
           rename_at(d, at, rlx_string_slice(to), renamed);
}

const rlx_module *rlx_attach_global_symbols(rlx_context *ctx, const rlx_module *m)
{
    rlx_module_draft d;
    rlx_ptrmap renamed;
    const rlx_attr_string *prefix =
        rlx_as_attr_string(rlx_attrs_get(m->attrs, "system_lib_prefix"));
    rlx_ptrmap_init(&renamed, &ctx->memory);
    bool good = rlx_module_draft_begin(&d, ctx, m, 0);
    for (size_t i = 0; good && i < d.count; i++) {
        if (prefix && rlx_is(d.functions[i], RLX_NODE_PRIM_FUNC))
            good = prefix_at(&d, i, prefix->value, &renamed);
        if (good)
            good = (d.functions[i] = rlx_with_link_name(
                        ctx, d.functions[i], ((const rlx_global_var *)d.gvars[i])->name)) != NULL;
    }
    good = good && rlx_rename_mentions(ctx, &renamed, d.functions, d.count);
    rlx_ptrmap_free(&renamed);
    return rlx_module_draft_end(&d, good);
}

/* ---- normalize_global_var ------------------------------------------------------------------- */

const rlx_string *rlx_fresh_name(rlx_context *ctx, rlx_map *names, rlx_slice name)
{
    rlx_buf text;
    rlx_buf_init(&text, &ctx->memory);
    size_t i = 0;
    do {
        text.len = 0;
        rlx_buf_put(&text, name.data, name.len);
        rlx_buf_format(&text, "_%zu", ++i);
    } while (!text.failed && rlx_map_has(names, (rlx_slice){ text.data, text.len }));
    rlx_slice found = { text.data, text.len };
    const rlx_string *out = text.failed ? NULL : rlx_string_intern(ctx, found);
    if (!out || !rlx_map_put(names, rlx_string_slice(out), (void *)(uintptr_t)out))
        out = NULL;
    rlx_buf_free(&text);
    return out;
}

static rlx_slice name_at(const rlx_module *m, size_t i)
{
    return rlx_string_slice(((const rlx_global_var *)m->gvars[i])->name);
}

/* The names that cannot change: link name -> number of the function + 1. */
static bool note_link_names(rlx_context *ctx, const rlx_module *m, rlx_map *names)
{
    bool good = true;
    for (size_t i = 0; i < m->num_functions; i++) {
        const rlx_string *link = rlx_link_name(m->functions[i]);
        size_t first = link ? (size_t)(uintptr_t)rlx_map_get(names, rlx_string_slice(link)) : 0;
        if (first) {
            rlx_error(ctx, RLX_WX05, place_at(m, i), "two public functions are linked as %s",
                      link->data);
            rlx_note(ctx, place_at(m, first - 1), "the first one is here");
            good = false;
        } else if (link && !rlx_map_put(names, rlx_string_slice(link), (void *)(i + 1))) {
            return false;
        }
    }
    return good;
}

/* Names that private functions keep: nothing else has them. *gives_way: of function i. */
static bool note_own_names(rlx_context *ctx, const rlx_module *m, rlx_map *names, bool *gives_way)
{
    for (size_t i = 0; i < m->num_functions; i++) {
        bool is_private = !rlx_link_name(m->functions[i]);
        gives_way[i] = is_private && rlx_map_has(names, name_at(m, i));
        if (is_private && !gives_way[i] && !rlx_map_put(names, name_at(m, i), (void *)(i + 1)))
            return false;
    }
    return true;
}

static bool settle_names(rlx_module_draft *d, rlx_map *names, const bool *gives_way,
                         rlx_ptrmap *renamed)
{
    for (size_t i = 0; i < d->count; i++) {
        rlx_slice own = name_at(d->base, i);
        const rlx_string *link = rlx_link_name(d->functions[i]),
                         *to = gives_way[i] ? rlx_fresh_name(d->ctx, names, own) : link;
        if (gives_way[i] && !to)
            return false;
        if (to && !rlx_slice_equal(rlx_string_slice(to), own) &&
            !rename_at(d, i, rlx_string_slice(to), renamed))
            return false;
    }
    return true;
}

const rlx_module *rlx_normalize_global_vars(rlx_context *ctx, const rlx_module *m)
{
    rlx_module_draft d;
    rlx_map names;
    rlx_ptrmap renamed;
    bool *gives_way = rlx_mem_alloc_zero(&ctx->memory, m->num_functions + 1);
    rlx_map_init(&names, &ctx->memory);
    rlx_ptrmap_init(&renamed, &ctx->memory);
    bool good =
        (gives_way) && note_link_names(ctx, m, &names) && note_own_names(ctx, m, &names, gives_way);
    bool begun = rlx_module_draft_begin(&d, ctx, m, 0);
    good = good && begun && settle_names(&d, &names, gives_way, &renamed) &&
           rlx_rename_mentions(ctx, &renamed, d.functions, d.count);
    rlx_mem_free(&ctx->memory, gives_way, gives_way ? m->num_functions + 1 : 0);
    rlx_ptrmap_free(&renamed);
    rlx_map_free(&names);
    return rlx_module_draft_end(&d, good);
}
