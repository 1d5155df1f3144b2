/* mapping.c: mapping of a parameter description onto an argument's (language 5.8). */
/* built for size */
#include "sinfo/sinfo_int.h"

#include <string.h>

void rlx_mapping_init(rlx_mapping *m, rlx_context *ctx, const rlx_scope *scope,
                      const rlx_prim *const *binders, size_t count)
{
    memset(m, 0, sizeof *m);
    m->ctx = ctx;
    m->scope = scope;
    m->binders = binders;
    m->num_binders = count;
    rlx_ptrmap_init(&m->pairs, &ctx->memory);
    rlx_ptrmap_init(&m->known_binders, &ctx->memory);
}

void rlx_mapping_free(rlx_mapping *m)
{
    rlx_ptrmap_free(&m->pairs);
    rlx_ptrmap_free(&m->known_binders);
    rlx_vec_free(&m->ctx->memory, &m->list);
}

#define FEW 16

/* Variables alone only: one that is widened has another dtype than the size that it would map to.
 * Few binders are looked through; of many a set is made when the first is asked for. */
static bool mappable(rlx_mapping *m, const rlx_prim *p)
{
    if (p->kind != RLX_NODE_PRIM_VAR)
        return false;
    if (m->num_binders > FEW) {
        for (size_t i = m->known_binders.len ? m->num_binders : 0;
             i < m->num_binders && !m->ctx->diags.out_of_memory; i++)
            (void)rlx_ptrmap_put(&m->known_binders, m->binders[i], 1);
        return rlx_ptrmap_has(&m->known_binders, p);
    }
    for (size_t i = 0; i < m->num_binders; i++)
        if (m->binders[i] == p)
            return true;
    return false;
}

static int32_t arg_of(const rlx_mapping *m, const rlx_prim *var)
{
    for (size_t i = 0; i < m->list.len; i++)
        if (&m->list.data[i].var->node == var)
            return m->list.data[i].arg;
    return -1;
}

/* First pair wins; a later one is compared. */
static void map_value(rlx_mapping *m, const rlx_prim *param, const rlx_prim *value, int32_t arg)
{
    if (!param || !value || !mappable(m, param))
        return;
    const rlx_prim *before = rlx_ptrmap_get(&m->pairs, param);
    if (!before) {
        struct rlx_map_pair pair = { (const rlx_prim_var *)param, value, arg };
        if (rlx_ptrmap_put(&m->pairs, param, (uintptr_t)value))
            (void)rlx_vec_push(&m->ctx->memory, &m->list, pair);
        return;
    }
    enum rlx_answer answer = rlx_prove_equal(m->ctx, m->scope, before, value);
    m->unproved |= answer == RLX_UNKNOWN;
    if (answer != RLX_DIFFERENT || m->conflict)
        return;
    m->conflict = (const rlx_prim_var *)param;
    m->first = before;
    m->second = value;
    m->first_arg = arg_of(m, param);
    m->second_arg = arg;
}

static void map_values(rlx_mapping *m, const rlx_prim *const *params, size_t num_params,
                       const rlx_prim *const *values, size_t num_values, int32_t arg)
{
    for (size_t i = 0; num_params == num_values && i < num_params; i++)
        map_value(m, params[i], values[i], arg);
}

static void map_tensors(rlx_mapping *m, const rlx_tensor_sinfo *p, const rlx_tensor_sinfo *s,
                        int32_t arg)
{
    size_t np, ns;
    const rlx_shape_expr *dims = rlx_as_shape_expr(p->shape);
    const rlx_prim *const *values = rlx_shape_dims(s->shape, &ns);
    if (!p->shape || !s->shape)
        return;
    if (!dims) {
        if (!rlx_ptrmap_has(&m->pairs, p->shape))
            (void)rlx_ptrmap_put(&m->pairs, p->shape, (uintptr_t)s->shape);
        return;
    }
    np = dims->num_values;
    if (values)
        map_values(m, dims->values, np, values, ns, arg);
}

static void map_any(rlx_mapping *m, rlx_budget *budget, const rlx_sinfo *p, const rlx_sinfo *s,
                    int32_t arg);

static void map_list(rlx_mapping *m, rlx_budget *budget, const rlx_sinfo *const *p, size_t np,
                     const rlx_sinfo *const *s, size_t ns, int32_t arg)
{
    for (size_t i = 0; np == ns && i < np; i++)
        map_any(m, budget, p[i], s[i], arg);
}

/* The inner description's own placeholders are no business of ours: being other objects, they
 * are not mappable. */
static void map_functions(rlx_mapping *m, rlx_budget *budget, const rlx_func_sinfo *p,
                          const rlx_func_sinfo *s, int32_t arg)
{
    if (!p->derive && !s->derive)
        map_list(m, budget, p->params, p->num_params, s->params, s->num_params, arg);
}

static void map_any(rlx_mapping *m, rlx_budget *budget, const rlx_sinfo *p, const rlx_sinfo *s,
                    int32_t arg)
{
    const rlx_shape_sinfo *a, *b;
    const rlx_tuple_sinfo *t, *u;
    if (p->kind != s->kind || !(p->flags & RLX_FLAG_HAS_VARS) || !rlx_budget_enter(budget))
        return;
    switch (p->kind) {
    case RLX_NODE_PRIM_SINFO:
        map_value(m, rlx_as_prim_sinfo(p)->value, rlx_as_prim_sinfo(s)->value, arg);
        break;
    case RLX_NODE_SHAPE_SINFO:
        a = rlx_as_shape_sinfo(p), b = rlx_as_shape_sinfo(s);
        if (a->has_values && b->has_values)
            map_values(m, a->values, a->num_values, b->values, b->num_values, arg);
        break;
    case RLX_NODE_TENSOR_SINFO:
        map_tensors(m, rlx_as_tensor_sinfo(p), rlx_as_tensor_sinfo(s), arg);
        break;
    case RLX_NODE_TUPLE_SINFO:
        t = rlx_as_tuple_sinfo(p), u = rlx_as_tuple_sinfo(s);
        map_list(m, budget, t->fields, t->num_fields, u->fields, u->num_fields, arg);
        break;
    case RLX_NODE_EXTENSION_SINFO: break; /* operands bind nothing */
    default: map_functions(m, budget, rlx_as_func_sinfo(p), rlx_as_func_sinfo(s), arg); break;
    }
    rlx_budget_leave(budget);
}

void rlx_mapping_add(rlx_mapping *m, const rlx_sinfo *param, const rlx_sinfo *arg,
                     int32_t arg_index)
{
    rlx_budget budget = RLX_FRESH_BUDGET;
    if (param && arg && !m->ctx->diags.out_of_memory)
        map_any(m, &budget, param, arg, arg_index);
}

static const rlx_node *mapped(rlx_rewriter *r, const rlx_node *n)
{
    return rlx_ptrmap_get(r->user, n);
}

/* Simultaneous, and capture-free: rlx_substitute where only shape variables are mapped, a
 * rewriter for Var shapes. */
static const rlx_sinfo *apply_all(rlx_mapping *m, const rlx_sinfo *s)
{
    rlx_rewriter r;
    rlx_rewriter_init(&r, m->ctx);
    r.user = &m->pairs;
    r.before = mapped;
    const rlx_sinfo *out = rlx_rewrite(&r, s);
    rlx_rewriter_free(&r);
    return out;
}

/* Many pairs, of which one description mentions few: those alone are substituted. */
static const rlx_sinfo *apply_mentioned(rlx_mapping *m, const rlx_sinfo *s)
{
    rlx_memory *memory = &m->ctx->memory;
    RLX_VEC(const rlx_prim *) from = { 0 }, to = { 0 };
    rlx_prim_vars vars = { 0 };
    bool ok = rlx_collect_prim_vars(memory, s, false, &vars);
    for (size_t i = 0; ok && i < vars.len; i++) {
        const rlx_prim *value = rlx_ptrmap_get(&m->pairs, vars.data[i]);
        ok = !value || (rlx_vec_push(memory, &from, &vars.data[i]->node) &&
                        rlx_vec_push(memory, &to, value));
    }
    const rlx_sinfo *out = ok ? rlx_substitute(m->ctx, s, from.data, to.data, from.len) : NULL;
    rlx_vec_free(memory, &vars);
    rlx_vec_free(memory, &from);
    rlx_vec_free(memory, &to);
    return out;
}

const rlx_sinfo *rlx_mapping_apply(rlx_mapping *m, const rlx_sinfo *s)
{
    const rlx_prim *from[FEW], *to[FEW];
    if (!s || m->ctx->diags.out_of_memory)
        return NULL;
    if (!m->pairs.len || !(s->flags & RLX_FLAG_HAS_VARS))
        return s;
    if (m->list.len != m->pairs.len)
        return apply_all(m, s);
    if (m->list.len > FEW)
        return apply_mentioned(m, s);
    for (size_t i = 0; i < m->list.len; i++) {
        from[i] = &m->list.data[i].var->node;
        to[i] = m->list.data[i].value;
    }
    return rlx_substitute(m->ctx, s, from, to, m->list.len);
}

/* ---- results of calls ----------------------------------------------------------------------- */

typedef struct tidying {
    rlx_mapping *mapping;
    rlx_ptrmap written;   /* scalars as the callee's description has them */
} tidying;

static enum rlx_step note_scalar(void *user, const rlx_node *n, const rlx_field *via,
                                 const rlx_node *parent)
{
    tidying *t = user;
    (void)via;
    (void)parent;
    if (rlx_family_of(n) != RLX_FAMILY_PRIM)
        return RLX_STEP_ON;
    return rlx_ptrmap_put(&t->written, n, 1) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

static const rlx_node *simplify_changed(rlx_rewriter *r, const rlx_node *n)
{
    const tidying *t = r->user;
    if (rlx_family_of(n) != RLX_FAMILY_PRIM)
        return NULL;
    return rlx_ptrmap_has(&t->written, n) ? n : rlx_simplify(r->ctx, t->mapping->scope, n);
}

const rlx_sinfo *rlx_mapping_result(rlx_mapping *m, const rlx_sinfo *ret)
{
    const rlx_sinfo *out = rlx_mapping_apply(m, ret);
    if (!out || out == ret)
        return out;
    tidying t = { .mapping = m };
    rlx_ptrmap_init(&t.written, &m->ctx->memory);
    rlx_walk(&m->ctx->memory, ret, &(rlx_walker){ .enter = note_scalar, .user = &t }, NULL);
    rlx_rewriter r;
    rlx_rewriter_init(&r, m->ctx);
    r.user = &t;
    r.before = simplify_changed;
    out = m->ctx->diags.out_of_memory ? NULL : rlx_rewrite(&r, out);
    rlx_rewriter_free(&r);
    rlx_ptrmap_free(&t.written);
    return out;
}
