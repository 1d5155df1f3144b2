/* api_use_def.c: questions about one function or module that are answered from a handle:
 * definitions and uses, liveness. */
#include <relax/analysis.h>
#include "api/api_int.h"

#include <string.h>

#include "analysis/analysis.h"

/* ---- definitions and uses */

struct relax_use_def { RLX_API_TAG relax_context *ctx; rlx_use_def found; };

relax_use_def *relax_use_def_create(relax_context *ctx, const relax_node *node)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_node(ctx, node, "node"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    relax_use_def *u = rlx_mem_alloc_zero(&ctx->memory, sizeof *u);
    if (!u)
        return give(ctx, NULL);
    RLX_API_SET_TAG(u, API_USE_DEF);
    u->ctx = rlx_api_hold(ctx);
    if (rlx_use_def_find(&u->found, ctx, node_of(node)))
        return u;
    relax_use_def_destroy(u);
    return give(ctx, NULL);
}

void relax_use_def_destroy(relax_use_def *use_def)
{
    if (!RLX_API_IS(use_def, API_USE_DEF))
        return;
    relax_context *ctx = use_def->ctx;
    rlx_use_def_free(&use_def->found);
    RLX_API_SET_TAG(use_def, API_GONE);
    rlx_mem_free(&ctx->memory, use_def, sizeof *use_def);
    rlx_api_let_go(ctx);
}

static const rlx_var_uses *uses_of(const relax_use_def *u, const relax_expr *var)
{
    return RLX_API_IS(u, API_USE_DEF) ? rlx_uses_of(&u->found, node_of(var)) : NULL;
}

const relax_binding *relax_use_def_binding(const relax_use_def *use_def, const relax_expr *var)
{
    const rlx_var_uses *v = uses_of(use_def, var);
    return v ? (const relax_binding *)(const void *)v->binding : NULL;
}

const relax_expr *relax_use_def_value(const relax_use_def *use_def, const relax_expr *var)
{
    const rlx_var_uses *v = uses_of(use_def, var);
    const rlx_var_binding *b = v ? rlx_as_var_binding(v->binding) : NULL;
    return b ? RLX_API_EXPR(b->value) : NULL;
}

size_t relax_use_def_position(const relax_use_def *use_def, const relax_expr *var)
{
    const rlx_var_uses *v = uses_of(use_def, var);
    return v && v->position >= 0 ? (size_t)v->position : RELAX_NOT_FOUND;
}

size_t relax_use_def_num_uses(const relax_use_def *use_def, const relax_expr *var)
{
    const rlx_var_uses *v = uses_of(use_def, var);
    return v ? v->count : 0;
}

const relax_binding *relax_use_def_use(const relax_use_def *use_def, const relax_expr *var,
                                       size_t index, int32_t *kind)
{
    const rlx_var_uses *v = uses_of(use_def, var);
    const rlx_use *use =
        v && index < v->count ? &use_def->found.uses[v->first + index] : NULL;
    if (kind)
        *kind = use ? use->kind : 0;
    return use ? (const relax_binding *)(const void *)use->by : NULL;
}

size_t relax_use_def_num_outputs(const relax_use_def *use_def)
{
    return RLX_API_IS(use_def, API_USE_DEF) ? use_def->found.outputs.len : 0;
}

const relax_expr *relax_use_def_output(const relax_use_def *use_def, size_t index)
{
    return index < relax_use_def_num_outputs(use_def)
               ? RLX_API_EXPR(use_def->found.outputs.data[index])
               : NULL;
}

static const rlx_name_list *list_of(const relax_use_def *u, const char *name, size_t name_len)
{
    if (!RLX_API_IS(u, API_USE_DEF) || !name)
        return NULL;
    uintptr_t at = (uintptr_t)rlx_map_get(&u->found.names, (rlx_slice){ name, name_len });
    return at ? &u->found.lists.data[at - 1] : NULL;
}

size_t relax_use_def_num_named(const relax_use_def *use_def, const char *name, size_t name_len)
{
    const rlx_name_list *l = list_of(use_def, name, name_len);
    return l ? l->count : 0;
}

const relax_binding *relax_use_def_named(const relax_use_def *use_def, const char *name,
                                         size_t name_len, size_t index)
{
    const rlx_name_list *l = list_of(use_def, name, name_len);
    return l && index < l->count
               ? (const relax_binding *)(const void *)use_def->found.named[l->first + index]
               : NULL;
}

/* ---- liveness */

struct relax_liveness { RLX_API_TAG relax_context *ctx; rlx_liveness found; };

relax_liveness *relax_liveness_create(relax_context *ctx, const relax_base_func *func)
{
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_node(ctx, func, "func"))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    const rlx_function *f = rlx_as_function(node_of(func));
    if (!f || !f->body)
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "func is no Relax function"));
    relax_liveness *l = rlx_mem_alloc_zero(&ctx->memory, sizeof *l);
    if (!l)
        return give(ctx, NULL);
    RLX_API_SET_TAG(l, API_LIVENESS);
    l->ctx = rlx_api_hold(ctx);
    if (rlx_liveness_find(&l->found, ctx, f))
        return l;
    relax_liveness_destroy(l);
    return give(ctx, NULL);
}

void relax_liveness_destroy(relax_liveness *liveness)
{
    if (!RLX_API_IS(liveness, API_LIVENESS))
        return;
    relax_context *ctx = liveness->ctx;
    rlx_liveness_free(&liveness->found);
    RLX_API_SET_TAG(liveness, API_GONE);
    rlx_mem_free(&ctx->memory, liveness, sizeof *liveness);
    rlx_api_let_go(ctx);
}

typedef struct taking { const relax_expr **out; size_t capacity, count; } taking;

static void take(void *user, const rlx_var *v)
{
    taking *t = user;
    if (t->out && t->count < t->capacity)
        t->out[t->count] = RLX_API_EXPR(v);
    t->count++;
}

static size_t live_at(const relax_liveness *l, const relax_binding *binding, bool after,
                      const relax_expr **out, size_t capacity)
{
    taking t = { out, capacity, 0 };
    if (!RLX_API_IS(l, API_LIVENESS) || !binding)
        return RELAX_NOT_FOUND;
    return rlx_liveness_at(&l->found, node_of(binding), after, take, &t) ? t.count
                                                                         : RELAX_NOT_FOUND;
}

size_t relax_liveness_before(const relax_liveness *liveness, const relax_binding *binding,
                             const relax_expr **out, size_t capacity)
{
    return live_at(liveness, binding, false, out, capacity);
}

size_t relax_liveness_after(const relax_liveness *liveness, const relax_binding *binding,
                            const relax_expr **out, size_t capacity)
{
    return live_at(liveness, binding, true, out, capacity);
}
