/*- fuse_ops: calls of TIR functions that may run together become a function with the attribute Primitive.
 *     with R.dataflow():                                   @R.function(private=True)
 *         lv = call_tir(cls.matmul, (x, w), ...)           def fused_matmul_add(x, w, b):
 *         gv = call_tir(cls.add, (lv, b), ...)      ->         R.func_attr({"Primitive": True}) ...
 *         R.output(gv)                                     gv = cls.fused_matmul_add(x, w, b)
 *
 * Which may, the attribute op_pattern of the functions and the graph of the block say (fuse_graph.h). A call counts as
 * opaque, and stays where it is, if it is not proved to fit its function (tir_call.h): sizes that nobody knows are
 * checked by the function alone. So does everything that is no call_tir and no field of a tuple, and what is annotated
 * otherwise than it is. A group runs where its
 * last call was; what is read before somebody writes over it is read before that as well.
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
    const rlx_block *block;
    rlx_fuse_graph graph;                /* a node for each of its bindings */
    rlx_ptrmap bound;                    /* variable -> its node + 1 */
    uint32_t at;                         /* node whose operands are met */
    rlx_written written;
    uint32_t section;                    /* of the block, between writes into memory that anybody may see */
    RLX_VEC(uint32_t) last_use;          /* by node: edge + 1 */
    RLX_VEC(uint32_t) use_before;        /* by edge: another of that node + 1 */
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

/* A result of several is as near to what follows as the call that computes it: batch_norm, of which clip reads one. */
static enum rlx_op_pattern pattern_of_item(const fuser *z, const rlx_var *v, const rlx_tuple_get_item *item)
{
    uintptr_t call;
    size_t n;
    if (!rlx_listed_dims(v->sinfo, &n))
        return RLX_OPAQUE;
    return rlx_ptrmap_find(&z->bound, item->tuple, &call) && z->graph.nodes.data[call - 1].pattern <= RLX_BROADCAST
               ? (enum rlx_op_pattern)z->graph.nodes.data[call - 1].pattern
               : RLX_INJECTIVE;
}

static enum rlx_op_pattern pattern_of(fuser *z, const rlx_binding *b)
{
    const rlx_expr *value = rlx_binding_value(b);
    const rlx_var *v = rlx_binding_var(b);
    if (b->kind != RLX_NODE_VAR_BINDING || !v || !rlx_binding_checks_nothing(b))
        return RLX_OPAQUE;
    return rlx_as_tuple_get_item(value) ? pattern_of_item(z, v, rlx_as_tuple_get_item(value)) : pattern_of_call(z, value);
}

static enum rlx_step find_store(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_buffer_store **found = user, *s = rlx_as_buffer_store(n);
    bool second = s && *found;
    *found = s ? s : *found;
    return second ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Of the call of a function that stores each element of its operand somewhere, as permute_dims does. */
static enum rlx_fuse_moves moves_operand(fuser *z, const rlx_binding *b)
{
    rlx_tir_call c = { 0 };
    const rlx_buffer_store *store = NULL;
    rlx_walker w = { .enter = find_store, .user = &store };
    bool is = rlx_tir_call_match(z->ctx, z->module, rlx_binding_value(b), &c) && c.num_inputs == 1 &&
              c.function->num_params == 2 &&
              rlx_walk(&z->ctx->memory, c.function->body, &w, NULL) != RLX_STEP_STOP && store;
    const rlx_buffer_load *load = is ? rlx_as_buffer_load(store->value) : NULL;
    is = load && load->num_indices == store->num_indices;
    for (size_t i = 0; is && i < load->num_indices; i++)
        is = rlx_as_prim_var(load->indices[i]) && rlx_as_prim_var(store->indices[i]);
    enum rlx_fuse_moves moves = !is                             ? RLX_FUSE_NO_MOVE
                                : rlx_as_constant(c.inputs[0]) ? RLX_FUSE_MOVES_CONSTANT
                                                               : RLX_FUSE_MOVES_OPERAND;
    rlx_tir_call_free(&c, z->ctx);
    return moves;
}

static bool add_edge(fuser *z, uint32_t from, uint32_t to)
{
    rlx_memory *m = z->graph.memory;
    uint32_t *last = &z->last_use.data[from];
    return rlx_vec_push(m, &z->graph.edges, ((rlx_fuse_edge){ from, to })) &&
           rlx_vec_push(m, &z->use_before, *last) && (*last = (uint32_t)z->graph.edges.len, true);
}

static bool note_edge(void *user, const rlx_expr *e)
{
    fuser *z = user;
    uintptr_t from;
    return !rlx_ptrmap_find(&z->bound, e, &from) || add_edge(z, (uint32_t)from - 1, z->at);
}

/* ---- writes --------------------------------------------------------------------------------- */

/* Looked at for each write. */
enum { MOST_READERS = 64 };

/* A call of a TIR function, of which all is known. */
static bool is_known_call(const fuser *z, uint32_t n)
{
    return z->graph.nodes.data[n].pattern <= RLX_OUT_FUSABLE && rlx_as_call(rlx_binding_value(z->block->bindings[n]));
}

/* Is memory that this node makes read by TIR functions only? They then go before the write at `at`. */
static bool order_readers(fuser *z, uint32_t maker, bool *known)
{
    size_t n = 0;
    *known = is_known_call(z, maker);
    for (uint32_t e = z->last_use.data[maker]; *known && e; e = z->use_before.data[e - 1]) {
        uint32_t reader = z->graph.edges.data[e - 1].item;
        *known = n++ < MOST_READERS && is_known_call(z, reader);
        if (*known && reader != z->at && !add_edge(z, reader, z->at))
            return false;
    }
    return true;
}

/* Nothing moves past the node at `at`. */
static void begin_section(fuser *z)
{
    z->graph.nodes.data[z->at].section = ++z->section;
    z->section++;
}

/* A call that writes over an operand. Who else sees that memory is known if a TIR function has made it and only such
 * read it; else nothing moves past the call. */
static bool note_write(fuser *z, const rlx_call *call)
{
    const rlx_attr_list *list = rlx_as_attr_list(rlx_call_attr(call, "inplace_indices"));
    const rlx_tuple *inputs = call->num_args > 1 ? rlx_as_tuple(call->args[1]) : NULL;
    bool known = list && inputs;
    for (size_t i = 0; known && i < list->num_items; i++) {
        int64_t at = rlx_attr_as_int(list->items[i], -1);
        uintptr_t maker;
        if (at < 0)
            continue;
        known = at < (int64_t)inputs->num_fields && rlx_ptrmap_find(&z->bound, inputs->fields[at], &maker);
        if (known && !order_readers(z, (uint32_t)maker - 1, &known))
            return false;
    }
    if (!known)
        begin_section(z);
    return true;
}

/* Functions may write into what they are given, too. */
static bool note_writes(fuser *z, const rlx_expr *value)
{
    const rlx_call *call = rlx_as_call(value);
    enum rlx_op_id id = call ? rlx_op_id_of(call->op) : RLX_OP_ID_NONE;
    if (id == RLX_OP_ID_CALL_TIR_INPLACE || id == RLX_OP_ID_CALL_INPLACE_PACKED)
        return note_write(z, call);
    if (call && z->graph.nodes.data[z->at].pattern == RLX_OPAQUE && !rlx_reads_unwritten(z->ctx, &z->written, value))
        begin_section(z);
    return true;
}

/* A sum of products reads its last operand in panels, in whatever order it is: weights, keys. In another operand only a
 * constant is worth as much. */
static void keep_moves(fuser *z, const rlx_binding *b)
{
    rlx_tir_call c = { 0 };
    bool known = rlx_tir_call_match(z->ctx, z->module, rlx_binding_value(b), &c);
    for (size_t i = 0; known && i + 1 < c.num_inputs; i++) {
        uintptr_t from;
        rlx_fuse_node *n = rlx_ptrmap_find(&z->bound, c.inputs[i], &from) ? &z->graph.nodes.data[from - 1] : NULL;
        if (n && n->moves == RLX_FUSE_MOVES_OPERAND)
            n->moves = RLX_FUSE_NO_MOVE;
    }
    rlx_tir_call_free(&c, z->ctx);
}

static bool add_node(fuser *z, const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    const rlx_match_cast *cast = rlx_as_match_cast(b);
    rlx_fuse_node n = { .pattern = (uint8_t)pattern_of(z, b),
                        .kept = !v || v->node.kind == RLX_NODE_VAR,
                        .device = v ? device_of(v->sinfo) : NULL,
                        .section = z->section };
    if (n.pattern == RLX_INJECTIVE)
        n.moves = (uint8_t)moves_operand(z, b);
    else if (n.pattern == RLX_OUT_FUSABLE)
        keep_moves(z, b);
    z->at = (uint32_t)z->graph.nodes.len;
    return rlx_vec_push(z->graph.memory, &z->graph.nodes, n) && rlx_vec_push(z->graph.memory, &z->last_use, 0) &&
           rlx_each_operand(z->ctx, rlx_binding_value(b), note_edge, z) &&
           (!v || !v->sinfo || rlx_each_operand(z->ctx, v->sinfo, note_edge, z)) &&
           (!cast || rlx_each_operand(z->ctx, cast->sinfo, note_edge, z)) &&
           (!v || rlx_ptrmap_put(&z->bound, v, z->at + 1)) && note_writes(z, rlx_binding_value(b));
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

static const rlx_function *finish(void *user, uint32_t group, const rlx_function *f)
{
    (void)group;
    return rlx_mark_primitive(((fuser *)user)->ctx, f);
}

static const rlx_block *fuse_block(void *user, const rlx_block *b)
{
    fuser *z = user;
    rlx_group_how how = { .mb = z->mb, .prefix = "fused", .user = z, .finish = finish };
    const rlx_block *out = NULL;
    size_t num_groups = 0;
    bool good = true;
    z->graph = (rlx_fuse_graph){ .memory = &z->ctx->memory };
    z->block = b;
    z->section = 0;
    z->last_use.len = z->use_before.len = 0;
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

static bool fuse_function(fuser *z, const rlx_global_var *gv, const rlx_function *f)
{
    if (!f || !f->body || rlx_is_group(f))
        return true;
    const rlx_function *now = rlx_rewrite_dataflow_blocks(z->ctx, f, fuse_block, z, true);
    return now && (now == f || rlx_module_builder_define(z->mb, gv, &now->node));
}

const rlx_module *rlx_pass_fuse_ops(rlx_pass_run *run, const rlx_module *m)
{
    int64_t max_depth = rlx_pass_int(run, "max_depth", 256);
    fuser z = { .ctx = run->ctx, .module = m, .max_depth = max_depth < 1 ? 1 : (size_t)max_depth };
    const rlx_module *out = NULL;
    if (rlx_pass_int(run, "fuse_opt_level", -1) == 0)
        return m;
    rlx_ptrmap_init(&z.bound, &run->ctx->memory);
    z.mb = rlx_module_builder_create(run->ctx, m);
    bool good = rlx_find_written(run->ctx, m, &z.written);
    for (size_t i = 0; z.mb && good && i < m->num_functions; i++)
        good = fuse_function(&z, rlx_as_global_var(m->gvars[i]), rlx_as_function(m->functions[i]));
    if (z.mb && good && !run->ctx->diags.out_of_memory)
        out = rlx_module_builder_finish(z.mb, m->place);
    rlx_module_builder_free(z.mb);
    rlx_written_free(&z.written);
    rlx_ptrmap_free(&z.bound);
    rlx_vec_free(&run->ctx->memory, &z.group_of);
    rlx_vec_free(&run->ctx->memory, &z.number);
    rlx_vec_free(&run->ctx->memory, &z.last_use);
    rlx_vec_free(&run->ctx->memory, &z.use_before);
    return out;
}
