/*- fuse_ops_by_pattern: what a pattern matches becomes a function with the attribute Composite.
 *     lv = R.matmul(x, w)                        @R.function(private=True)
 *     gv = R.nn.relu(lv)             ->          def fused_relax_matmul_relax_nn_relu(x, w):
 *                                                    R.func_attr({"Composite": "dnnl.matmul_relu", "Primitive": True}) ...
 *                                                gv = cls.fused_relax_matmul_relax_nn_relu(x, w)
 * In dataflow blocks; functions that are for a back end already are left alone. A match is left as it is where the group
 * would need what needs it, and where it would move past a write.
 * needs: normal form. keeps: struct info. */
#include "transform/codegen_function.h"
#include "transform/edit.h"
#include "transform/group_block.h"
#include "transform/transform_int.h"

typedef struct by_pattern {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_pattern_fusion *how;
    rlx_module_builder *mb;
    rlx_written written;
    rlx_scene scene;
    rlx_matcher matcher;
    uint32_t *group_of;                  /* by entry */
    uint32_t num_groups, group;          /* group: the one under way */
    bool fits;
    RLX_VEC(uint32_t) of_block;          /* group by binding of a block */
    RLX_VEC(uint32_t) number;            /* in the block, by group */
    const rlx_function *composite;       /* that a wrapper is made for */
} by_pattern;

/* ---- matches -------------------------------------------------------------------------------- */

static bool in_dataflow(const by_pattern *z, const rlx_scene_entry *e)
{
    return e->block != RLX_NOWHERE && e->value && e->var &&
           z->scene.blocks.data[e->block].block->node.kind == RLX_NODE_DATAFLOW_BLOCK;
}

/* A binding of the match can be moved, and belongs to none yet. */
static void check_member(void *user, uint32_t entry, bool into)
{
    by_pattern *z = user;
    const rlx_scene_entry *e = &z->scene.entries.data[entry];
    (void)into;
    z->fits &= in_dataflow(z, e) && z->group_of[entry] == RLX_NO_GROUP && !rlx_as_function(e->value) &&
               !rlx_as_if_expr(e->value) && rlx_reads_unwritten(z->ctx, &z->written, e->value);
}

static void take_member(void *user, uint32_t entry, bool into)
{
    by_pattern *z = user;
    (void)into;
    z->group_of[entry] = z->group;
}

static bool match_all(by_pattern *z)
{
    for (size_t i = 0; i < z->scene.order.len; i++) {
        enum rlx_match_result found = rlx_match_entry(&z->matcher, z->scene.order.data[i]);
        if (found == RLX_PATTERN_MATCH_FAILED)
            return false;
        if (found == RLX_PATTERN_MATCH_NO)
            continue;
        z->fits = true;
        rlx_match_bindings(&z->matcher, check_member, z);
        if (!z->fits || (z->how->check && !z->how->check(z->how->user, &z->matcher)))
            continue;
        z->group = z->num_groups++;
        rlx_match_bindings(&z->matcher, take_member, z);
        rlx_match_take(&z->matcher);
    }
    return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

static const rlx_attr *composite_attrs(by_pattern *z)
{
    rlx_context *ctx = z->ctx;
    const rlx_attr *attrs = rlx_attrs_with(ctx, z->how->attrs, "Composite", rlx_attr_string_new(ctx, z->how->name));
    return attrs ? rlx_attrs_with(ctx, attrs, "Primitive", rlx_attr_bool_new(ctx, true)) : NULL;
}

static const rlx_function *give_composite(void *user, const rlx_global_var *gv)
{
    (void)gv;
    return ((by_pattern *)user)->composite;
}

/* A function that does nothing but call f, which is called `gv`. */
static const rlx_function *caller_of(rlx_context *ctx, const rlx_function *f, const rlx_global_var *gv)
{
    const rlx_function *fresh = rlx_as_function(rlx_copy_fresh(ctx, &f->node));
    const rlx_string *name = rlx_string_z(ctx, "gv");
    const rlx_expr *call =
        fresh ? rlx_call_new(ctx, &gv->node, fresh->params, fresh->num_params, NULL, 0, NULL, f->place) : NULL;
    const rlx_var *v = call && name ? rlx_var_new(ctx, false, name, -1, fresh->ret_sinfo, f->place) : NULL;
    const rlx_binding *b = v ? rlx_var_binding_new(ctx, v, call, f->place) : NULL;
    const rlx_node *block = b ? rlx_block_new(ctx, true, &b, 1, f->place) : NULL;
    const rlx_expr *body = block ? rlx_seq_new(ctx, &block, 1, &v->node, f->place) : NULL;
    return body ? rlx_function_with(ctx, fresh, body, NULL) : NULL;
}

static const rlx_function *finish(void *user, uint32_t group, const rlx_function *f)
{
    by_pattern *z = user;
    rlx_context *ctx = z->ctx;
    (void)group;
    f = rlx_function_with_attrs(ctx, f, composite_attrs(z));
    if (!f || !z->how->annotates_codegen)
        return f;
    const rlx_string *name = rlx_string_z(ctx, "local");
    const rlx_global_var *gv = name ? rlx_global_var_new(ctx, name, f->place) : NULL;
    const rlx_function *caller = gv ? caller_of(ctx, f, gv) : NULL;
    z->composite = f;
    return caller ? rlx_codegen_function(ctx, caller, rlx_codegen_of(z->how->name), give_composite, z) : NULL;
}

/* ---- blocks --------------------------------------------------------------------------------- */

/* The groups of a block as numbers from 0, those that cannot be left out. */
static bool number_groups(by_pattern *z, const rlx_block *b, size_t *count)
{
    rlx_memory *m = &z->ctx->memory;
    if (!rlx_vec_reserve(m, &z->of_block, b->num_bindings + 1) || !rlx_vec_reserve(m, &z->number, z->num_groups + 1))
        return false;
    *count = 0;
    z->of_block.len = b->num_bindings;
    for (size_t i = z->number.len; i < z->num_groups; i++)
        z->number.data[i] = RLX_NO_GROUP;
    z->number.len = z->num_groups;
    for (size_t i = 0; i < b->num_bindings; i++) {
        const rlx_var *v = rlx_binding_var(b->bindings[i]);
        uint32_t entry = v ? rlx_scene_entry_of(&z->scene, &v->node) : RLX_NOWHERE;
        uint32_t group = entry == RLX_NOWHERE ? RLX_NO_GROUP : z->group_of[entry];
        if (group != RLX_NO_GROUP && z->number.data[group] == RLX_NO_GROUP)
            z->number.data[group] = (uint32_t)(*count)++;
        z->of_block.data[i] = group == RLX_NO_GROUP ? RLX_NO_GROUP : z->number.data[group];
    }
    return !*count || rlx_untangle_groups(z->ctx, b, z->of_block.data, *count, z->written.any);
}

static const rlx_block *group_block(void *user, const rlx_block *b)
{
    by_pattern *z = user;
    rlx_group_how how = { .mb = z->mb, .prefix = "fused", .binds_constants = z->how->binds_constants, .user = z,
                          .finish = finish };
    size_t count, left = 0;
    if (!number_groups(z, b, &count))
        return NULL;
    for (size_t i = 0; i < b->num_bindings; i++)
        left += z->of_block.data[i] != RLX_NO_GROUP;
    return left ? rlx_group_bindings(z->ctx, b, z->of_block.data, count, &how) : b;
}

/* ---- modules -------------------------------------------------------------------------------- */

static bool fuse_function(by_pattern *z, const rlx_pattern_plan *plan, size_t i, uint64_t *steps)
{
    const rlx_module *m = z->module;
    const rlx_function *f = rlx_as_function(m->functions[i]), *out = f;
    const rlx_global_var *gv = rlx_as_global_var(m->gvars[i]);
    if (!f || !f->body || rlx_is_group(f) || (z->how->gv && z->how->gv != gv))
        return true;
    z->num_groups = 0;
    z->number.len = 0;
    z->matcher = (rlx_matcher){ 0 };
    bool good = rlx_scene_init(&z->scene, z->ctx, m, f) && rlx_matcher_init(&z->matcher, plan, &z->scene, *steps);
    z->group_of = good ? rlx_new(z->ctx, (z->scene.entries.len + 1) * sizeof *z->group_of) : NULL;
    for (size_t k = 0; z->group_of && k < z->scene.entries.len; k++)
        z->group_of[k] = RLX_NO_GROUP;
    good = z->group_of && match_all(z);
    *steps = z->matcher.steps;
    if (good && z->num_groups)
        out = rlx_rewrite_dataflow_blocks(z->ctx, f, group_block, z, false);
    rlx_matcher_free(&z->matcher);
    rlx_scene_free(&z->scene);
    return good && out && (out == f || rlx_module_builder_define(z->mb, gv, &out->node));
}

const rlx_module *rlx_fuse_by_pattern(rlx_context *ctx, const rlx_module *m, const rlx_pattern_fusion *how)
{
    by_pattern z = { .ctx = ctx, .module = m, .how = how };
    rlx_pattern_plan plan;
    const rlx_module *out = NULL;
    uint64_t steps = how->max_steps;
    uint8_t before = ctx->origin;
    bool good = rlx_pattern_plan_init(&plan, ctx, how->pattern) && rlx_find_written(ctx, m, &z.written);
    if (good && !before)
        ctx->origin = rlx_context_origin(ctx, "fuse_ops_by_pattern");
    z.mb = good ? rlx_module_builder_create(ctx, m) : NULL;
    for (size_t i = 0; z.mb && good && i < m->num_functions; i++)
        good = fuse_function(&z, &plan, i, &steps);
    if (z.mb && good && !ctx->diags.out_of_memory)
        out = rlx_module_builder_finish(z.mb, m->place);
    if (out && how->annotates_codegen)
        out = rlx_publish_codegen(ctx, out);
    ctx->origin = before;
    rlx_module_builder_free(z.mb);
    rlx_written_free(&z.written);
    rlx_pattern_plan_free(&plan);
    rlx_vec_free(&ctx->memory, &z.of_block);
    rlx_vec_free(&ctx->memory, &z.number);
    return out;
}
