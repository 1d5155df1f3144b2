/* module_builder.c: a module under construction. Private functions that are equal are one
 * function: they are found by structural hash. */
#include "sinfo/builder.h"
#include "sinfo/sinfo_int.h"

#include <string.h>

typedef struct entry {
    const rlx_global_var *gv;
    const rlx_node *function;   /* NULL: declared only */
    const rlx_sinfo *signature; /* NULL: Object */
} entry;

/* A private function, stale if the entry has another function now. next: number + 1 of the next
 * one with the same hash, in order of their coming. */
typedef struct hashed { size_t index; const rlx_node *function; size_t next; } hashed;
/* Functions with one hash: numbers + 1, or 0 when none is left. */
typedef struct alike { size_t first, last; } alike;

struct rlx_module_builder {
    rlx_context *ctx;
    const rlx_module *base;
    RLX_VEC(entry) entries;
    rlx_map names;           /* name -> index + 1 */
    rlx_ptrmap by_var;       /* GlobalVar -> index + 1 */
    rlx_map next_number;     /* hint -> number to try next */
    rlx_intern private_functions; /* hash -> number + 1 in alike, once each */
    RLX_VEC(alike) alike;
    RLX_VEC(hashed) hashes;
    size_t num_hashed;       /* entries that were looked at for private_functions */
    const rlx_attr *attrs, *global_infos;
    rlx_env env;
};

static entry *entry_of(const rlx_module_builder *mb, const rlx_global_var *gv)
{
    uintptr_t at;
    return gv && rlx_ptrmap_find(&mb->by_var, gv, &at) ? &mb->entries.data[at - 1] : NULL;
}

static const rlx_sinfo *signature_of(rlx_context *ctx, const rlx_node *function)
{
    const rlx_function *f = rlx_as_function(function);
    const rlx_prim_func *p = rlx_as_prim_func(function);
    if (f)
        return f->sinfo
                   ? f->sinfo
                   : rlx_signature(ctx, f->params, f->num_params, f->ret_sinfo, f->is_pure, NULL);
    if (p)
        return p->sinfo ? p->sinfo : rlx_prim_func_signature(ctx, p);
    return rlx_leaf_sinfo(ctx, NULL, function);
}

static const rlx_sinfo *global_signature(void *user, const rlx_global_var *gv)
{
    rlx_module_builder *mb = user;
    entry *e = entry_of(mb, gv);
    if (!e)
        return NULL;
    if (!e->signature)
        e->signature = e->function ? signature_of(mb->ctx, e->function) : rlx_object_info(mb->ctx);
    return e->signature;
}

static bool global_is_prim_func(void *user, const rlx_global_var *gv)
{
    const entry *e = entry_of(user, gv);
    return e && rlx_is(e->function, RLX_NODE_PRIM_FUNC);
}

static bool add_entry(rlx_module_builder *mb, const rlx_global_var *gv, const rlx_node *function,
                      const rlx_sinfo *signature)
{
    entry e = { gv, function, signature };
    size_t index = mb->entries.len + 1;
    if (!rlx_vec_push(&mb->ctx->memory, &mb->entries, e))
        return false;
    if (rlx_ptrmap_put(&mb->by_var, gv, index) &&
        rlx_map_put(&mb->names, rlx_string_slice(gv->name), (void *)(uintptr_t)index))
        return true;
    rlx_ptrmap_remove(&mb->by_var, gv);
    (void)rlx_vec_pop(&mb->entries);
    return false;
}

static bool take_base(rlx_module_builder *mb, const rlx_module *m)
{
    mb->base = m;
    if (!m)
        return true;
    mb->attrs = m->attrs;
    mb->global_infos = m->global_infos;
    for (size_t i = 0; i < m->num_functions; i++)
        if (!add_entry(mb, rlx_as_global_var(m->gvars[i]), m->functions[i], NULL))
            return false;
    return true;
}

rlx_module_builder *rlx_module_builder_create(rlx_context *ctx, const rlx_module *base)
{
    rlx_module_builder *mb = rlx_mem_alloc_zero(&ctx->memory, sizeof *mb);
    if (!mb)
        return NULL;
    mb->ctx = ctx;
    mb->env = (rlx_env){ global_signature, mb, global_is_prim_func };
    rlx_map_init(&mb->names, &ctx->memory);
    rlx_map_init(&mb->next_number, &ctx->memory);
    rlx_ptrmap_init(&mb->by_var, &ctx->memory);
    rlx_intern_init(&mb->private_functions, &ctx->memory);
    if (take_base(mb, base))
        return mb;
    rlx_module_builder_free(mb);
    return NULL;
}

void rlx_module_builder_free(rlx_module_builder *mb)
{
    if (!mb)
        return;
    rlx_memory *m = &mb->ctx->memory;
    rlx_vec_free(m, &mb->entries);
    rlx_vec_free(m, &mb->alike);
    rlx_vec_free(m, &mb->hashes);
    rlx_map_free(&mb->names);
    rlx_map_free(&mb->next_number);
    rlx_ptrmap_free(&mb->by_var);
    rlx_intern_free(&mb->private_functions);
    rlx_mem_free(m, mb, sizeof *mb);
}

const rlx_env *rlx_module_builder_env(const rlx_module_builder *mb)
{
    return &mb->env;
}

const rlx_attr *rlx_module_builder_attrs(const rlx_module_builder *mb)
{
    return mb->attrs;
}

void rlx_module_builder_set_attrs(rlx_module_builder *mb, const rlx_attr *attrs,
                                  const rlx_attr *global_infos)
{
    mb->attrs = attrs;
    if (global_infos)
        mb->global_infos = global_infos;
}

const rlx_global_var *rlx_module_builder_lookup(const rlx_module_builder *mb, rlx_slice name)
{
    uintptr_t at = (uintptr_t)rlx_map_get(&mb->names, name);
    return at ? mb->entries.data[at - 1].gv : NULL;
}

const rlx_node *rlx_module_builder_function(const rlx_module_builder *mb, const rlx_global_var *gv)
{
    const entry *e = entry_of(mb, gv);
    return e ? e->function : NULL;
}

const rlx_global_var *rlx_module_builder_declare(rlx_module_builder *mb, rlx_slice name,
                                                 const rlx_sinfo *signature, rlx_place place)
{
    const rlx_global_var *have = rlx_module_builder_lookup(mb, name);
    if (have) {
        rlx_error(mb->ctx, RLX_WX05, place, "two functions are named %.*s", (int)name.len,
                  name.data);
        if (have->place)
            rlx_note(mb->ctx, have->place, "the first one is here");
        return NULL;
    }
    const rlx_global_var *gv =
        rlx_global_var_new(mb->ctx, rlx_string_intern(mb->ctx, name), place);
    return gv && add_entry(mb, gv, NULL, signature) ? gv : NULL;
}

/* Callers of a PrimFunc ask for its struct info often: it is kept in the node. */
static const rlx_node *with_sinfo(rlx_context *ctx, const rlx_node *function)
{
    const rlx_prim_func *p = rlx_as_prim_func(function);
    if (!p || p->sinfo)
        return function;
    const rlx_sinfo *s = rlx_prim_func_signature(ctx, p);
    rlx_prim_func *copy = s ? rlx_new_copy(ctx, p, sizeof *p) : NULL;
    if (!copy)
        return NULL;
    copy->node.layer = ctx->top;
    copy->sinfo = s;
    return &copy->node;
}

bool rlx_module_builder_define(rlx_module_builder *mb, const rlx_global_var *gv,
                               const rlx_node *function)
{
    entry *e = entry_of(mb, gv);
    function = e && function ? with_sinfo(mb->ctx, function) : NULL;
    if (!function)
        return false;
    if (e->function != function)
        e->signature = NULL;
    e->function = function;
    return true;
}

bool rlx_module_builder_rename(rlx_module_builder *mb, const rlx_global_var *gv,
                               const rlx_string *name)
{
    const entry *e = entry_of(mb, gv);
    size_t index = e ? (size_t)(e - mb->entries.data) + 1 : 0;
    if (!e || !rlx_map_put(&mb->names, rlx_string_slice(name), (void *)(uintptr_t)index))
        return false;
    ((rlx_global_var *)(uintptr_t)gv)->name = name;
    return true;
}

/* --- functions under fresh names --- */

static bool is_private(const rlx_node *function)
{
    return (rlx_as_function(function) || rlx_as_prim_func(function)) &&
           !rlx_attrs_get(rlx_function_attrs(function), "global_symbol");
}

static alike *alike_of(const rlx_module_builder *mb, uint64_t hash)
{
    size_t at;
    uintptr_t number = (uintptr_t)rlx_intern_first(&mb->private_functions, hash, &at);
    return number ? &mb->alike.data[number - 1] : NULL;
}

static bool remember_hash(rlx_module_builder *mb, size_t index, uint64_t hash)
{
    rlx_memory *m = &mb->ctx->memory;
    hashed h = { index, mb->entries.data[index].function, 0 };
    if (!rlx_vec_push(m, &mb->hashes, h))
        return false;
    size_t number = mb->hashes.len;
    alike *a = alike_of(mb, hash);
    if (!a)
        return rlx_vec_push(m, &mb->alike, ((alike){ number, number })) &&
               rlx_intern_add(&mb->private_functions, hash, (void *)(uintptr_t)mb->alike.len);
    *(a->first ? &mb->hashes.data[a->last - 1].next : &a->first) = number;
    a->last = number;
    return true;
}

/* Private functions that were there before the first look are hashed at that time. */
static bool hash_all(rlx_module_builder *mb)
{
    bool lost = false;
    for (; mb->num_hashed < mb->entries.len; mb->num_hashed++) {
        const entry *e = &mb->entries.data[mb->num_hashed];
        if (!e->function || !is_private(e->function))
            continue;
        uint64_t hash = rlx_hash(&mb->ctx->memory, e->function, &lost);
        if (lost || !remember_hash(mb, mb->num_hashed, hash))
            return false;
    }
    return true;
}

/* Stale entries at the beginning of a list leave it, so that each is met once. */
static size_t first_alike(rlx_module_builder *mb, alike *a)
{
    for (; a && a->first; a->first = mb->hashes.data[a->first - 1].next) {
        const hashed *h = &mb->hashes.data[a->first - 1];
        const entry *e = &mb->entries.data[h->index];
        if (e->function == h->function)
            return a->first;
    }
    return 0;
}

static const rlx_global_var *find_equal(rlx_module_builder *mb, const rlx_node *function,
                                        uint64_t hash)
{
    bool lost = false;
    for (size_t at = first_alike(mb, alike_of(mb, hash)); at && !lost;) {
        const hashed *h = &mb->hashes.data[at - 1];
        const entry *e = &mb->entries.data[h->index];
        if (e->function == h->function &&
            rlx_equal(&mb->ctx->memory, h->function, function, false, &lost))
            return e->gv;
        at = h->next;
    }
    return NULL;
}

/* hint, hint1, hint2 ... The number to begin with is remembered per hint. */
static const rlx_string *fresh_name(rlx_module_builder *mb, rlx_slice hint)
{
    rlx_buf text;
    uintptr_t n = (uintptr_t)rlx_map_get(&mb->next_number, hint);
    rlx_buf_init(&text, &mb->ctx->memory);
    do {
        text.len = 0;
        rlx_buf_put(&text, hint.data, hint.len);
        if (n)
            rlx_buf_u64(&text, n);
        n++;
    } while (!text.failed && rlx_map_has(&mb->names, (rlx_slice){ text.data, text.len }));
    bool ok = !text.failed && rlx_map_put(&mb->next_number, hint, (void *)n);
    const rlx_string *name =
        ok ? rlx_string_intern(mb->ctx, (rlx_slice){ text.data, text.len }) : NULL;
    rlx_buf_free(&text);
    return name;
}

const rlx_global_var *rlx_module_builder_add(rlx_module_builder *mb, rlx_slice hint,
                                             const rlx_node *function)
{
    bool lost = false, share = is_private(function);
    uint64_t hash = share && hash_all(mb) ? rlx_hash(&mb->ctx->memory, function, &lost) : 0;
    if (!function || lost || mb->ctx->diags.out_of_memory)
        return function && lost ? NULL : NULL;
    const rlx_global_var *same = share ? find_equal(mb, function, hash) : NULL;
    if (same)
        return same;
    function = with_sinfo(mb->ctx, function);
    const rlx_string *name = function ? fresh_name(mb, hint.len ? hint : RLX_SLICE("func")) : NULL;
    const rlx_global_var *gv =
        name ? rlx_global_var_new(mb->ctx, name, rlx_place_of(function)) : NULL;
    if (!gv || !add_entry(mb, gv, function, NULL))
        return NULL;
    if (share) {
        mb->num_hashed = mb->entries.len;
        if (!remember_hash(mb, mb->entries.len - 1, hash))
            return NULL;
    }
    return gv;
}

/* --- the end --- */

static bool is_unchanged(const rlx_module_builder *mb)
{
    const rlx_module *m = mb->base;
    if (!m || mb->entries.len != m->num_functions || mb->attrs != m->attrs ||
        mb->global_infos != m->global_infos)
        return false;
    for (size_t i = 0; i < m->num_functions; i++)
        if (mb->entries.data[i].function != m->functions[i])
            return false;
    return true;
}

const rlx_module *rlx_module_builder_finish(rlx_module_builder *mb, rlx_place place)
{
    rlx_memory *m = &mb->ctx->memory;
    size_t capacity = mb->entries.len + 1, n = 0;
    const rlx_module *out = NULL;
    if (is_unchanged(mb))
        return mb->base;
    const rlx_node **gvars = rlx_mem_alloc(m, capacity * sizeof *gvars),
                   **functions = rlx_mem_alloc(m, capacity * sizeof *functions);
    bool ok = gvars && functions;
    for (size_t i = 0; ok && i < mb->entries.len; i++) {
        const entry *e = &mb->entries.data[i];
        if (!e->function)
            ok = rlx_error(mb->ctx, RLX_WX01, e->gv->place,
                           "function %s is declared but not defined", e->gv->name->data) != NULL;
        gvars[n] = &e->gv->node;
        functions[n++] = e->function;
    }
    if (ok)
        out = rlx_module_new(mb->ctx, gvars, functions, n, mb->attrs, mb->global_infos,
                             place      ? place
                             : mb->base ? mb->base->place
                                        : RLX_NO_PLACE);
    rlx_mem_free(m, gvars, gvars ? capacity * sizeof *gvars : 0);
    rlx_mem_free(m, functions, functions ? capacity * sizeof *functions : 0);
    return rlx_module_made_of(out, mb->base);
}

/* --- finished modules --- */

static const rlx_sinfo *module_signature(void *user, const rlx_global_var *gv)
{
    const rlx_module *m = user;
    int64_t i = rlx_module_index(m, gv);
    const rlx_function *f = i < 0 ? NULL : rlx_as_function(m->functions[i]);
    const rlx_prim_func *p = i < 0 ? NULL : rlx_as_prim_func(m->functions[i]);
    return f ? f->sinfo : p ? p->sinfo : NULL;
}

static bool module_has_prim_func(void *user, const rlx_global_var *gv)
{
    const rlx_module *m = user;
    int64_t i = rlx_module_index(m, gv);
    return i >= 0 && rlx_is(m->functions[i], RLX_NODE_PRIM_FUNC);
}

rlx_env rlx_module_env(const rlx_module *m)
{
    return (rlx_env){ module_signature, (void *)(uintptr_t)m, module_has_prim_func };
}
