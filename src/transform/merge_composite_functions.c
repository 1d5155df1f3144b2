/*- merge_composite_functions: calls of composite functions for one back end that follow each other become one function.
 *     lv = cls.fused_matmul(x, w)       Composite "dnnl.matmul"        gv = cls.fused_fused_matmul_fused_relu_dnnl(x, w)
 *     gv = cls.fused_relu(lv)           Composite "dnnl.relu"     ->       Codegen "dnnl", both as local functions
 *
 * A call joins the groups that its arguments come from, as long as no two groups then need each other. Told by stages:
 * the stage of a value for a back end is the highest stage of a group of that back end that it needs (-1: none). A call
 * has the highest stage of its arguments, one more for those that another back end, or none, has worked on. Of one stage
 * it may join; where that would give a group, which something uses already, needs that it did not have, it does not.
 * needs: normal form, fuse_ops_by_pattern. keeps: struct info. A call that nothing joins becomes such a function, too. */
#include "transform/codegen_function.h"
#include "transform/group_block.h"
#include "transform/transform_int.h"

enum { MAX_CODEGENS = 8 };             /* calls for further ones are not merged with each other */

typedef struct stages { int32_t of[MAX_CODEGENS]; } stages;
typedef struct cluster { stages needs; uint32_t parent; uint8_t codegen; bool used; } cluster;

typedef struct merger {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_module_builder *mb;
    rlx_slice codegens[MAX_CODEGENS];
    size_t num_codegens;
    rlx_ptrmap bound;                    /* variable -> its binding + 1 */
    RLX_VEC(stages) needs;               /* by binding that is in no cluster */
    RLX_VEC(uint32_t) cluster_of;        /* by binding; RLX_NO_GROUP */
    RLX_VEC(cluster) clusters;
    RLX_VEC(uint32_t) number;            /* by cluster: among those that are left */
    rlx_written written;
    stages now;                          /* of the binding under way */
    uint8_t codegen;                     /* of it; MAX_CODEGENS: none */
    uint32_t at;
} merger;

#define MEMORY(z) (&(z)->ctx->memory)

static const rlx_function *composite(void *user, const rlx_global_var *gv)
{
    const merger *z = user;
    int64_t i = rlx_module_index(z->module, gv);
    const rlx_function *f = i < 0 ? NULL : rlx_as_function(z->module->functions[i]);
    return f && rlx_text_attr(f->attrs, "Composite").len ? f : NULL;
}

static const rlx_function *composite_of(merger *z, const rlx_binding *b)
{
    const rlx_call *call = rlx_as_call(rlx_binding_value(b));
    const rlx_global_var *gv = call && b->kind == RLX_NODE_VAR_BINDING ? rlx_as_global_var(call->op) : NULL;
    return gv ? composite(z, gv) : NULL;
}

static uint8_t codegen_number(merger *z, rlx_slice name)
{
    size_t i = 0;
    while (i < z->num_codegens && !rlx_slice_equal(z->codegens[i], name))
        i++;
    if (i == z->num_codegens && i < MAX_CODEGENS)
        z->codegens[z->num_codegens++] = name;
    return (uint8_t)i;
}

/* ---- clusters ------------------------------------------------------------------------------- */

static uint32_t root_of(merger *z, uint32_t c)
{
    while (z->clusters.data[c].parent != c)
        c = z->clusters.data[c].parent = z->clusters.data[z->clusters.data[c].parent].parent;
    return c;
}

static uint32_t cluster_at(merger *z, uint32_t binding)
{
    uint32_t c = z->cluster_of.data[binding];
    return c == RLX_NO_GROUP ? c : root_of(z, c);
}

static bool binding_of(const merger *z, const rlx_expr *e, uint32_t *binding)
{
    uintptr_t at;
    return rlx_ptrmap_find(&z->bound, e, &at) && (*binding = (uint32_t)at - 1, true);
}

static bool add_needs(void *user, const rlx_expr *e)
{
    merger *z = user;
    uint32_t from;
    if (!binding_of(z, e, &from))
        return true;
    uint32_t c = cluster_at(z, from);
    const stages *s = c == RLX_NO_GROUP ? &z->needs.data[from] : &z->clusters.data[c].needs;
    bool alike = c != RLX_NO_GROUP && z->clusters.data[c].codegen == z->codegen;
    for (size_t k = 0; k < MAX_CODEGENS; k++) {
        int32_t stage = s->of[k] + (k == z->codegen && !alike && s->of[k] >= 0);
        z->now.of[k] = stage > z->now.of[k] ? stage : z->now.of[k];
    }
    return true;
}

/* The clusters of arguments that a call may join become one, which it is in. */
static bool join(void *user, const rlx_expr *e)
{
    merger *z = user;
    uint32_t from, own = cluster_at(z, z->at);
    uint32_t c = binding_of(z, e, &from) ? cluster_at(z, from) : RLX_NO_GROUP;
    if (c == RLX_NO_GROUP || c == own)
        return true;
    cluster *a = &z->clusters.data[own], *b = &z->clusters.data[c];
    if (b->codegen != a->codegen || b->needs.of[a->codegen] != a->needs.of[a->codegen])
        return true;
    for (size_t k = 0; k < MAX_CODEGENS; k++)
        if ((b->used && a->needs.of[k] > b->needs.of[k]) || (a->used && b->needs.of[k] > a->needs.of[k]))
            return true;
    for (size_t k = 0; k < MAX_CODEGENS; k++)
        a->needs.of[k] = a->needs.of[k] > b->needs.of[k] ? a->needs.of[k] : b->needs.of[k];
    a->used |= b->used;
    b->parent = own;
    return true;
}

static bool note_used(void *user, const rlx_expr *e)
{
    merger *z = user;
    uint32_t from, c = binding_of(z, e, &from) ? cluster_at(z, from) : RLX_NO_GROUP;
    if (c != RLX_NO_GROUP && c != cluster_at(z, z->at))
        z->clusters.data[c].used = true;
    return true;
}

static bool add_cluster(merger *z, const rlx_expr *value)
{
    cluster c = { .needs = z->now, .parent = (uint32_t)z->clusters.len, .codegen = z->codegen };
    if (z->codegen < MAX_CODEGENS && c.needs.of[z->codegen] < 0)
        c.needs.of[z->codegen] = 0;
    z->cluster_of.data[z->at] = c.parent;
    return rlx_vec_push(MEMORY(z), &z->clusters, c) &&
           (z->codegen == MAX_CODEGENS || rlx_each_operand(z->ctx, value, join, z));
}

static bool take_binding(merger *z, const rlx_binding *b)
{
    const rlx_function *f = composite_of(z, b);
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_var *v = rlx_binding_var(b);
    z->codegen = f ? codegen_number(z, rlx_codegen_of(rlx_text_attr(f->attrs, "Composite"))) : MAX_CODEGENS;
    z->at = (uint32_t)z->cluster_of.len;
    for (size_t k = 0; k < MAX_CODEGENS; k++)
        z->now.of[k] = -1;
    if (!rlx_vec_push(MEMORY(z), &z->cluster_of, RLX_NO_GROUP) || !rlx_each_operand(z->ctx, value, add_needs, z) ||
        (v && v->sinfo && !rlx_each_operand(z->ctx, v->sinfo, add_needs, z)) ||
        !rlx_vec_push(MEMORY(z), &z->needs, z->now))
        return false;
    return (!f || add_cluster(z, value)) && rlx_each_operand(z->ctx, value, note_used, z) &&
           (!v || rlx_ptrmap_put(&z->bound, v, z->at + 1));
}

/* ---- blocks --------------------------------------------------------------------------------- */

static bool number_clusters(merger *z, const rlx_block *b, size_t *count)
{
    size_t n = z->clusters.len;
    *count = 0;
    if (!rlx_vec_reserve(MEMORY(z), &z->number, n + 1))
        return false;
    for (size_t c = 0; c < n; c++)
        z->number.data[c] = RLX_NO_GROUP;
    for (size_t i = 0; i < b->num_bindings; i++) {
        uint32_t c = cluster_at(z, (uint32_t)i);
        if (c != RLX_NO_GROUP && z->number.data[c] == RLX_NO_GROUP)
            z->number.data[c] = (uint32_t)(*count)++;
    }
    for (size_t i = 0; i < b->num_bindings; i++) {
        uint32_t c = cluster_at(z, (uint32_t)i);
        z->needs.data[i].of[0] = (int32_t)(c == RLX_NO_GROUP ? RLX_NO_GROUP : z->number.data[c]);
    }
    for (size_t i = 0; i < b->num_bindings; i++)
        z->cluster_of.data[i] = (uint32_t)z->needs.data[i].of[0];
    return !*count || rlx_untangle_groups(z->ctx, b, z->cluster_of.data, *count, z->written.any);
}

static const rlx_function *finish(void *user, uint32_t group, const rlx_function *f)
{
    merger *z = user;
    const rlx_block *b = rlx_as_block(((const rlx_seq_expr *)f->body)->blocks[0]);
    const rlx_function *part = NULL;
    (void)group;
    for (size_t i = 0; !part && i < b->num_bindings; i++)
        part = composite_of(z, b->bindings[i]);
    return part ? rlx_codegen_function(z->ctx, f, rlx_codegen_of(rlx_text_attr(part->attrs, "Composite")), composite, z)
                : NULL;
}

static const rlx_block *merge_block(void *user, const rlx_block *b)
{
    merger *z = user;
    rlx_group_how how = { .mb = z->mb, .prefix = "fused", .user = z, .finish = finish };
    size_t count = 0;
    z->needs.len = z->cluster_of.len = z->clusters.len = 0;
    z->num_codegens = 0;
    rlx_ptrmap_clear(&z->bound);
    for (size_t i = 0; i < b->num_bindings; i++)
        if (!take_binding(z, b->bindings[i]))
            return NULL;
    if (!number_clusters(z, b, &count))
        return NULL;
    return count ? rlx_group_bindings(z->ctx, b, z->cluster_of.data, count, &how) : b;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static bool merge_function(merger *z, const rlx_global_var *gv, const rlx_function *f)
{
    if (!f || !f->body || rlx_text_attr(f->attrs, "Composite").len || rlx_text_attr(f->attrs, "Codegen").len)
        return true;
    const rlx_function *now = rlx_rewrite_dataflow_blocks(z->ctx, f, merge_block, z, false);
    return now && (now == f || rlx_module_builder_define(z->mb, gv, &now->node));
}

const rlx_module *rlx_pass_merge_composite_functions(rlx_pass_run *run, const rlx_module *m)
{
    merger z = { .ctx = run->ctx, .module = m };
    const rlx_module *out = NULL;
    rlx_memory *memory = &run->ctx->memory;
    rlx_ptrmap_init(&z.bound, memory);
    bool good = rlx_find_written(run->ctx, m, &z.written);
    z.mb = rlx_module_builder_create(run->ctx, m);
    for (size_t i = 0; z.mb && good && i < m->num_functions; i++)
        good = merge_function(&z, rlx_as_global_var(m->gvars[i]), rlx_as_function(m->functions[i]));
    if (z.mb && good && !run->ctx->diags.out_of_memory)
        out = rlx_module_builder_finish(z.mb, m->place);
    if (out && out != m && (out = rlx_publish_codegen(run->ctx, out)) != NULL)
        out = rlx_pass_dead_code_elimination(run, out);
    rlx_module_builder_free(z.mb);
    rlx_written_free(&z.written);
    rlx_ptrmap_free(&z.bound);
    rlx_vec_free(memory, &z.needs);
    rlx_vec_free(memory, &z.cluster_of);
    rlx_vec_free(memory, &z.clusters);
    rlx_vec_free(memory, &z.number);
    return out;
}
