/* relation.c: under which condition one description covers another; erasure with a mapping. */
/* built for size */
#include "sinfo/sinfo_int.h"

/* ---- preconditions -------------------------------------------------------------------------- */

typedef struct asker {
    rlx_context *ctx;
    const rlx_scope *scope;
    rlx_budget budget;
    const rlx_prim *all;      /* the condition so far; NULL: out of memory */
    bool never;               /* it cannot hold, or no expression says when */
} asker;

static void require_equal(asker *q, const rlx_prim *a, const rlx_prim *b)
{
    enum rlx_answer answer = rlx_prove_equal(q->ctx, q->scope, a, b);
    q->never |= answer == RLX_DIFFERENT;
    if (answer != RLX_UNKNOWN || q->never || !q->all)
        return;
    const rlx_prim *one = rlx_fold_binary(q->ctx, RLX_NODE_EQ, a, b);
    bool first = q->all->kind == RLX_NODE_INT_IMM; /* true */
    q->all = !one ? NULL : first ? one : rlx_fold_binary(q->ctx, RLX_NODE_AND, q->all, one);
}

static void require_list(asker *q, const rlx_prim *const *a, size_t na,
                         const rlx_prim *const *b, size_t nb)
{
    q->never |= na != nb;
    for (size_t i = 0; i < na && !q->never; i++)
        require_equal(q, a[i], b[i]);
}

/* The parts that are no sizes: what is left when base's own sizes are forgotten must fit. */
static bool kinds_fit(asker *q, const rlx_tensor_sinfo *base, const rlx_tensor_sinfo *derived)
{
    const rlx_sinfo *bare =
        rlx_tensor_info(q->ctx, NULL, base->dtype, base->ndim, base->vdevice);
    return bare &&
           rlx_assignable(q->ctx, q->scope, &derived->node, bare, NULL) == RLX_ASSIGNABLE_YES;
}

static void require_tensor(asker *q, const rlx_tensor_sinfo *base, const rlx_tensor_sinfo *derived)
{
    size_t nb = 0, nd = 0;
    q->never |= !kinds_fit(q, base, derived);
    if (!base->shape || base->shape == derived->shape || q->never)
        return;
    const rlx_prim *const *b = rlx_shape_dims(base->shape, &nb);
    const rlx_prim *const *d = rlx_shape_dims(derived->shape, &nd);
    q->never |= !b || !d;
    if (!q->never)
        require_list(q, b, nb, d, nd);
}

static void require_shape(asker *q, const rlx_shape_sinfo *base, const rlx_shape_sinfo *derived)
{
    q->never |= (base->ndim >= 0 && base->ndim != derived->ndim) ||
                (base->has_values && !derived->has_values);
    if (base->has_values && !q->never)
        require_list(q, base->values, base->num_values, derived->values, derived->num_values);
}

static void require_prim(asker *q, const rlx_prim_sinfo *base, const rlx_prim_sinfo *derived)
{
    q->never |= base->dtype != derived->dtype || (base->value && !derived->value);
    if (base->value && !q->never)
        require_equal(q, base->value, derived->value);
}

static void require(asker *q, const rlx_sinfo *base, const rlx_sinfo *derived);

static void require_tuple(asker *q, const rlx_tuple_sinfo *base, const rlx_tuple_sinfo *derived)
{
    q->never |= base->num_fields != derived->num_fields;
    for (size_t i = 0; i < base->num_fields && !q->never; i++)
        require(q, base->fields[i], derived->fields[i]);
}

static void require(asker *q, const rlx_sinfo *base, const rlx_sinfo *derived)
{
    if (base == derived || base->kind == RLX_NODE_OBJECT_SINFO)
        return;
    if (base->kind != derived->kind || !rlx_budget_enter(&q->budget)) {
        q->never = true;
        return;
    }
    switch (base->kind) {
    case RLX_NODE_PRIM_SINFO:
        require_prim(q, rlx_as_prim_sinfo(base), rlx_as_prim_sinfo(derived));
        break;
    case RLX_NODE_SHAPE_SINFO:
        require_shape(q, rlx_as_shape_sinfo(base), rlx_as_shape_sinfo(derived));
        break;
    case RLX_NODE_TENSOR_SINFO:
        require_tensor(q, rlx_as_tensor_sinfo(base), rlx_as_tensor_sinfo(derived));
        break;
    case RLX_NODE_TUPLE_SINFO:
        require_tuple(q, rlx_as_tuple_sinfo(base), rlx_as_tuple_sinfo(derived));
        break;
    default:
        q->never |= rlx_assignable(q->ctx, q->scope, derived, base, NULL) != RLX_ASSIGNABLE_YES;
        break;
    }
    rlx_budget_leave(&q->budget);
}

const rlx_prim *rlx_assignable_precondition(rlx_context *ctx, const rlx_scope *s,
                                            const rlx_sinfo *base, const rlx_sinfo *derived)
{
    asker q = { .ctx = ctx,
                .scope = s,
                .budget = RLX_FRESH_BUDGET,
                .all = rlx_int(ctx, RELAX_BOOL, 1) };
    require(&q, base, derived);
    return q.never && q.all ? rlx_int(ctx, RELAX_BOOL, 0) : q.all;
}

/* ---- erasure with a mapping ----------------------------------------------------------------- */

typedef struct replacer {
    rlx_context *ctx;
    const rlx_replacement *with;
    rlx_ptrmap map;           /* what is visible -> what stands for it */
    rlx_ptrmap old;           /* integer expressions that were there before */
} replacer;

static bool has_shape_var(void *user, const rlx_prim_var *v)
{
    return rlx_ptrmap_has(&((replacer *)user)->map, v);
}

static bool has_var(void *user, const rlx_var *v)
{
    return rlx_ptrmap_has(&((replacer *)user)->map, v);
}

static bool fill(replacer *r)
{
    const rlx_replacement *w = r->with;
    bool good = true;
    for (size_t i = 0; good && i < w->num_sizes; i++)
        good = rlx_ptrmap_put(&r->map, w->sizes[i], 1);
    for (size_t i = 0; good && i < w->num_vars; i++)
        good = rlx_ptrmap_put(&r->map, w->vars[i],
                              (uintptr_t)(w->var_values ? w->var_values[i] : w->vars[i]));
    return good;
}

static enum rlx_step note_old(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    if (rlx_family_of(n) != RLX_FAMILY_PRIM)
        return RLX_STEP_ON;
    return rlx_ptrmap_put(user, n, 1) ? RLX_STEP_SKIP : RLX_STEP_STOP;
}

/* Variables as mapped; integer expressions that changed are simplified as a whole. */
static const rlx_node *tidy(rlx_rewriter *w, const rlx_node *n)
{
    replacer *r = w->user;
    const rlx_node *now = n;
    if (rlx_as_var(n))
        return rlx_ptrmap_get(&r->map, n);
    if (rlx_family_of(n) != RLX_FAMILY_PRIM)
        return NULL;
    if (!rlx_ptrmap_has(&r->old, n) && n->kind != RLX_NODE_PRIM_VAR)
        now = rlx_simplify(r->ctx, NULL, n);
    w->failed |= !now;
    return now;
}

static const rlx_sinfo *replace(replacer *r, const rlx_sinfo *s)
{
    const rlx_replacement *with = r->with;
    rlx_walker walker = { .enter = note_old, .user = &r->old, .unique = true };
    rlx_rewriter w;
    if (rlx_walk(&r->ctx->memory, s, &walker, NULL) == RLX_STEP_STOP)
        return NULL;
    if (with->size_values)
        s = rlx_substitute(r->ctx, s, with->sizes, with->size_values, with->num_sizes);
    rlx_rewriter_init(&w, r->ctx);
    w.user = r;
    w.before = tidy;
    s = s ? rlx_rewrite(&w, s) : NULL;
    rlx_rewriter_free(&w);
    return s;
}

const rlx_sinfo *rlx_erase_to(rlx_context *ctx, const rlx_sinfo *s, const rlx_replacement *with)
{
    replacer r = { .ctx = ctx, .with = with };
    const rlx_sinfo *out = NULL;
    rlx_ptrmap_init(&r.map, &ctx->memory);
    rlx_ptrmap_init(&r.old, &ctx->memory);
    if (fill(&r))
        out = rlx_erase(ctx, s, &(rlx_visible){ has_shape_var, has_var, &r });
    if (out && (with->size_values || with->var_values))
        out = replace(&r, out);
    rlx_ptrmap_free(&r.map);
    rlx_ptrmap_free(&r.old);
    return out;
}
