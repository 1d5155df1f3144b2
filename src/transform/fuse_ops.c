/*- fuse_ops: calls of TIR functions that may run together become a function with the attribute Primitive.
 *     with R.dataflow():                                   @R.function(private=True)
 *         lv = call_tir(cls.matmul, (x, w), ...)           def fused_matmul_add(x, w, b):
 *         gv = call_tir(cls.add, (lv, b), ...)      ->         R.func_attr({"Primitive": True}) ...
 *         R.output(gv)                                     gv = cls.fused_matmul_add(x, w, b)
 *
 * Which may, the attribute op_pattern of the functions and the graph of the block say (fuse_graph.h). A call counts as
 * opaque, and stays where it is, if it is not proved to fit its function (tir_call.h): sizes that nobody knows are
 * checked by the function alone. So does everything that is no call_tir and no field of a tuple.
 * needs: normal form, annotate_tir_op_pattern. keeps: the rest; constants become parameters, and are the arguments. */
#include "transform/fuse_graph.h"
#include "transform/group_block.h"
#include "transform/tir_call.h"
#include "transform/transform_int.h"

typedef struct fuser {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_module_builder *mb;
    size_t max_depth;
    rlx_fuse_graph graph;
    rlx_ptrmap bound;                    /* variable -> its node + 1 */
    uint32_t at;                         /* node whose operands are met */
    RLX_VEC(uint32_t) group_of;          /* by binding */
    RLX_VEC(uint32_t) number;            /* by node that is the root of a group */
} fuser;

/* ---- the graph ------------------------------------------------------------------------------ */

static const rlx_node *device_of(const rlx_sinfo *s)
{
    const rlx_tuple_sinfo *t = rlx_as_tuple_sinfo(s);
    const rlx_tensor_sinfo *tensor = rlx_as_tensor_sinfo(t && t->num_fields ? t->fields[0] : s);
    return tensor ? tensor->vdevice : NULL;
}

static enum rlx_op_pattern pattern_of_call(fuser *z, const rlx_expr *value)
{
    rlx_tir_call c = { 0 };
    int64_t stated = RLX_OPAQUE;
    if (!rlx_tir_call_match(z->ctx, z->module, value, &c) || !rlx_stated_op_pattern(c.function, &stated) ||
        stated < RLX_ELEMWISE || stated > RLX_OUT_FUSABLE)
        stated = RLX_OPAQUE;
    rlx_tir_call_free(&c, z->ctx);
    return (enum rlx_op_pattern)stated;
}

static enum rlx_op_pattern pattern_of(fuser *z, const rlx_binding *b)
{
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_var *v = rlx_binding_var(b);
    size_t n;
    if (b->kind != RLX_NODE_VAR_BINDING || !v)
        return RLX_OPAQUE;
    if (rlx_as_tuple_get_item(value))
        return rlx_listed_dims(v->sinfo, &n) ? RLX_INJECTIVE : RLX_OPAQUE;
    return pattern_of_call(z, value);
}

static bool note_edge(void *user, const rlx_expr *e)
{
    fuser *z = user;
    uintptr_t from;
    return !rlx_ptrmap_find(&z->bound, e, &from) ||
           rlx_vec_push(z->graph.memory, &z->graph.edges, ((rlx_fuse_edge){ (uint32_t)from - 1, z->at }));
}

static bool add_node(fuser *z, const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    rlx_fuse_node n = { .pattern = (uint8_t)pattern_of(z, b),
                        .kept = !v || v->node.kind == RLX_NODE_VAR,
                        .device = v ? device_of(v->sinfo) : NULL };
    z->at = (uint32_t)z->graph.nodes.len;
    return rlx_vec_push(z->graph.memory, &z->graph.nodes, n) &&
           rlx_each_operand(z->ctx, rlx_binding_value(b), note_edge, z) &&
           (!v || !v->sinfo || rlx_each_operand(z->ctx, v->sinfo, note_edge, z)) &&
           (!cast || rlx_each_operand(z->ctx, cast->sinfo, note_edge, z)) &&
           (!v || rlx_ptrmap_put(&z->bound, v, z->at + 1));
}

/* ---- a block -------------------------------------------------------------------------------- */

/* Groups of two and more get numbers, in the order of their first bindings. */
static bool number_groups(fuser *z, size_t *num_groups)
{
    rlx_memory *m = &z->ctx->memory;
    size_t n = z->graph.nodes.len;
    if (!rlx_vec_reserve(m, &z->group_of, n + 1) || !rlx_vec_reserve(m, &z->number, n + 1))
        return false;
    z->group_of.len = z->number.len = n;
    *num_groups = 0;
    for (uint32_t i = 0; i < n; i++)
        z->number.data[i] = RLX_NO_GROUP;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t root = rlx_fuse_group(&z->graph, i);
        bool alone = z->graph.nodes.data[root].size < 2;
        if (!alone && z->number.data[root] == RLX_NO_GROUP)
            z->number.data[root] = (uint32_t)(*num_groups)++;
        z->group_of.data[i] = z->number.data[root];
    }
    return true;
}

static const rlx_function *mark_primitive(void *user, uint32_t group, const rlx_function *f)
{
    fuser *z = user;
    (void)group;
    const rlx_attr *attrs = rlx_attrs_with(z->ctx, f->attrs, "Primitive", rlx_attr_bool_new(z->ctx, true));
    const rlx_sinfo *sinfo =
        rlx_signature(z->ctx, f->params, f->num_params, f->ret_sinfo, f->is_pure, NULL);
    return attrs && sinfo ? rlx_function_new(z->ctx, f->params, f->num_params, f->body, f->ret_sinfo, f->ret_stated,
                                             f->is_pure, attrs, sinfo, f->place)
                          : NULL;
}

static const rlx_block *fuse_block(fuser *z, const rlx_block *b)
{
    rlx_group_how how = { .mb = z->mb, .prefix = "fused", .user = z, .finish = mark_primitive };
    const rlx_block *out = NULL;
    size_t num_groups = 0;
    bool good = true;
    z->graph = (rlx_fuse_graph){ .memory = &z->ctx->memory };
    rlx_ptrmap_clear(&z->bound);
    for (size_t i = 0; good && i < b->num_bindings; i++)
        good = add_node(z, b->bindings[i]);
    good = good && rlx_fuse_partition(&z->graph, z->max_depth) && number_groups(z, &num_groups);
    if (good)
        out = num_groups ? rlx_group_bindings(z->ctx, b, z->group_of.data, num_groups, &how) : b;
    rlx_fuse_graph_free(&z->graph);
    return out;
}

/* ---- the pass ------------------------------------------------------------------------------- */

/* Dataflow blocks wherever they are: in branches and local functions, too. */
static const rlx_node *fuse_in(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_block *out;
    switch (n->kind) {
    case RLX_NODE_DATAFLOW_BLOCK:
        out = fuse_block(r->user, (const rlx_block *)n);
        r->failed |= !out;
        return out ? &out->node : NULL;
    case RLX_NODE_FUNCTION: case RLX_NODE_SEQ_EXPR: case RLX_NODE_BINDING_BLOCK: case RLX_NODE_VAR_BINDING:
    case RLX_NODE_IF: return NULL;
    default: return n;
    }
}

static bool is_fused(const rlx_function *f)
{
    return rlx_flag_attr(f->attrs, "Primitive") || rlx_attrs_get(f->attrs, "Codegen") ||
           rlx_attrs_get(f->attrs, "Composite");
}

static bool fuse_function(fuser *z, const rlx_global_var *gv, const rlx_function *f)
{
    rlx_rewriter r;
    if (!f || !f->body || is_fused(f))
        return true;
    rlx_rewriter_init(&r, z->ctx);
    r.before = fuse_in;
    r.user = z;
    const rlx_expr *body = rlx_rewrite(&r, f->body);
    const rlx_function *now = body ? rlx_function_with(z->ctx, f, body, f->attrs) : NULL;
    rlx_rewriter_free(&r);
    return now && (now == f || rlx_module_builder_define(z->mb, gv, &now->node));
}

const rlx_module *rlx_pass_fuse_ops(rlx_pass_run *run, const rlx_module *m)
{
    int64_t max_depth = rlx_pass_int(run, "max_depth", 256);
    fuser z = { .ctx = run->ctx, .module = m, .max_depth = max_depth < 1 ? 1 : (size_t)max_depth };
    const rlx_module *out = NULL;
    bool good = true;
    if (rlx_pass_int(run, "fuse_opt_level", -1) == 0)
        return m;
    rlx_ptrmap_init(&z.bound, &run->ctx->memory);
    z.mb = rlx_module_builder_create(run->ctx, m);
    for (size_t i = 0; z.mb && good && i < m->num_functions; i++)
        good = fuse_function(&z, rlx_as_global_var(m->gvars[i]), rlx_as_function(m->functions[i]));
    if (z.mb && good && !run->ctx->diags.out_of_memory)
        out = rlx_module_builder_finish(z.mb, m->place);
    rlx_module_builder_free(z.mb);
    rlx_ptrmap_free(&z.bound);
    rlx_vec_free(&run->ctx->memory, &z.group_of);
    rlx_vec_free(&run->ctx->memory, &z.number);
    return out;
}
