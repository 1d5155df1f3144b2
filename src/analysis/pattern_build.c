/* pattern_build.c: pattern nodes, and plans, which number the nodes of one pattern. */
/* built for size */
#include "analysis/pattern.h"

#include <string.h>

static bool copy_parts(rlx_context *ctx, rlx_pattern *p, const rlx_pattern *first)
{
    size_t count = p->num_parts + (first ? 1 : 0), size;
    if (!count)
        return true;
    if (count < p->num_parts || !rlx_mul_size(count, sizeof(void *), &size))
        return rlx_mem_overflow(&ctx->memory);
    const rlx_pattern **parts = rlx_new(ctx, size);
    if (!parts)
        return false;
    parts[0] = first;
    if (p->num_parts)
        memcpy(parts + (first ? 1 : 0), p->parts, p->num_parts * sizeof *parts);
    p->parts = parts;
    p->num_parts = count;
    return true;
}

const rlx_pattern *rlx_pattern_new(rlx_context *ctx, const rlx_pattern *how,
                                   const rlx_pattern *first)
{
    size_t size;
    rlx_pattern *p = rlx_new_copy(ctx, how, sizeof *how);
    if (!p || !copy_parts(ctx, p, first))
        return NULL;
    if (p->num_dims) {
        if (!rlx_mul_size(p->num_dims, sizeof *p->dims, &size))
            return rlx_mem_overflow(&ctx->memory), NULL;
        p->dims = rlx_new_copy(ctx, how->dims, size);
        if (!p->dims)
            return NULL;
    }
    p->node = (rlx_node){ .kind = RLX_NODE_NONE, .layer = ctx->top, .id = RLX_PATTERN_ID };
    p->ctx = ctx;
    return p;
}

/* ---- plans */

static bool add_node(rlx_pattern_plan *plan, const rlx_pattern *p)
{
    if (rlx_ptrmap_has(&plan->index, p))
        return true;
    return rlx_ptrmap_put(&plan->index, p, plan->nodes.len) &&
           rlx_vec_push(&plan->ctx->memory, &plan->nodes, p);
}

static bool add_sizes(rlx_pattern_plan *plan, const rlx_pattern *p)
{
    size_t known = plan->sizes.len;
    for (size_t i = 0; i < p->num_dims; i++)
        if (p->dims[i] &&
            !rlx_collect_prim_vars(&plan->ctx->memory, p->dims[i], false, &plan->sizes))
            return false;
    size_t kept = known; /* each once */
    for (size_t i = known; i < plan->sizes.len; i++) {
        const rlx_prim_var *v = plan->sizes.data[i];
        if (rlx_ptrmap_has(&plan->index, v))
            continue;
        if (!rlx_ptrmap_put(&plan->index, v, kept))
            return false;
        plan->sizes.data[kept++] = v;
    }
    plan->sizes.len = kept;
    return true;
}

bool rlx_pattern_plan_init(rlx_pattern_plan *plan, rlx_context *ctx, const rlx_pattern *root)
{
    *plan = (rlx_pattern_plan){ .ctx = ctx, .root = root };
    rlx_ptrmap_init(&plan->index, &ctx->memory);
    bool good = add_node(plan, root);
    for (size_t i = 0; good && i < plan->nodes.len; i++) {
        const rlx_pattern *p = plan->nodes.data[i];
        good = add_sizes(plan, p);
        for (size_t k = 0; good && k < p->num_parts; k++)
            good = add_node(plan, p->parts[k]);
    }
    return good;
}

void rlx_pattern_plan_free(rlx_pattern_plan *plan)
{
    if (!plan->ctx)
        return;
    rlx_vec_free(&plan->ctx->memory, &plan->nodes);
    rlx_vec_free(&plan->ctx->memory, &plan->sizes);
    rlx_ptrmap_free(&plan->index);
}
