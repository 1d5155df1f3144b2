/* module_node.c: modules, and their tables from names to functions. */
#include "ir/ir_int.h"

/* Larger modules have a table from name to index: a power of two of slots, index + 1 or 0, at
 * most half of them used. slots[0] is the mask. */
#define LARGEST_LINEAR 12

static const rlx_string *name_of(const rlx_node *gvar)
{
    return ((const rlx_global_var *)gvar)->name;
}

const uint32_t *rlx_module_table(rlx_context *ctx, const rlx_node *const *gvars, size_t count,
                                 bool *ok)
{
    size_t slots = 32;
    *ok = true;
    if (count <= LARGEST_LINEAR || count >= UINT32_MAX / 4)
        return NULL;
    while (slots < 2 * count)
        slots *= 2;
    uint32_t *table = rlx_new_zero(ctx, (slots + 1) * sizeof *table);
    *ok = table != NULL;
    if (!table)
        return NULL;
    table[0] = (uint32_t)(slots - 1);
    for (size_t i = 0; i < count; i++) {
        size_t at = name_of(gvars[i])->hash & table[0];
        while (table[1 + at])
            at = (at + 1) & table[0];
        table[1 + at] = (uint32_t)(i + 1);
    }
    return table;
}

static bool is_gvar_list(const rlx_node *const *gvars, const rlx_node *const *functions,
                         size_t count)
{
    if (count && (!gvars || !functions))
        return false;
    for (size_t i = 0; i < count; i++)
        if (!rlx_is(gvars[i], RLX_NODE_GLOBAL_VAR) || !functions[i])
            return false;
    return true;
}

const rlx_module *rlx_module_new(rlx_context *ctx, const rlx_expr *const *gvars,
                                 const rlx_node *const *functions, size_t count,
                                 const rlx_attr *attrs, const rlx_attr *global_infos,
                                 rlx_place place)
{
    bool ok = true, ok2 = true, ok3 = true;
    rlx_module *m =
        is_gvar_list(gvars, functions, count) ? rlx_node_new(ctx, RLX_NODE_MODULE) : NULL;
    if (!m)
        return NULL;
    m->place = place;
    m->gvars = rlx_nodes_copy(ctx, gvars, count, &ok);
    m->num_gvars = count;
    m->functions = rlx_nodes_copy(ctx, functions, count, &ok2);
    m->num_functions = count;
    m->attrs = attrs;
    m->global_infos = global_infos;
    m->index = rlx_module_table(ctx, gvars, count, &ok3);
    return ok && ok2 && ok3 ? m : NULL;
}

int64_t rlx_module_find(const rlx_module *m, rlx_slice name)
{
    if (!m)
        return -1;
    if (!m->index) {
        for (size_t i = 0; i < m->num_gvars; i++)
            if (rlx_slice_equal(rlx_string_slice(name_of(m->gvars[i])), name))
                return (int64_t)i;
        return -1;
    }
    const uint32_t *slots = m->index + 1;
    for (size_t at = (uint32_t)rlx_hash_bytes(name.data, name.len) & m->index[0]; slots[at];
         at = (at + 1) & m->index[0])
        if (rlx_slice_equal(rlx_string_slice(name_of(m->gvars[slots[at] - 1])), name))
            return (int64_t)slots[at] - 1;
    return -1;
}

int64_t rlx_module_index(const rlx_module *m, const rlx_global_var *gv)
{
    int64_t at = gv ? rlx_module_find(m, rlx_string_slice(gv->name)) : -1;
    if (at < 0 || m->gvars[at] == &gv->node)
        return at;
    for (size_t i = 0; i < m->num_gvars; i++) /* a name twice: wrong, but not ours to hide */
        if (m->gvars[i] == &gv->node)
            return (int64_t)i;
    return -1;
}

const rlx_module *rlx_module_with(rlx_context *ctx, const rlx_module *m,
                                  const rlx_node *const *functions)
{
    if (!m || (m->num_functions && !functions))
        return NULL;
    if (!m->num_functions ||
        !memcmp(functions, m->functions, m->num_functions * sizeof *functions))
        return m;
    return rlx_module_made_of(rlx_module_new(ctx, m->gvars, functions, m->num_functions, m->attrs,
                                             m->global_infos, m->place),
                              m);
}

const rlx_module *rlx_module_made_of(const rlx_module *made, const rlx_module *of)
{
    if (made && of && made != of)
        ((rlx_node *)(uintptr_t)made)->flags |= of->node.flags & RLX_FLAG_AFTER_ERROR;
    return made;
}
