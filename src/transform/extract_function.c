/*- extract_function.c: a run of bindings becomes a function of its own.
 *     lv = R.exp(x)
 *     gv = R.add(lv, y)           ->     gv = cls.part(x, y)
 * needs: normal form. keeps: places, purity, struct info: an output that the signature of the
 * new function does not describe as well is cast to what it was.
 *
 * Parameters: the free variables, then one R.Shape of the sizes that those do not bind, and one
 * R.Prim for each scalar variable. Results: what is used after the run; sizes that the run binds
 * and that are used after it come as a shape that is cast where the run was. */
#include "transform/edit.h"
#include "transform/seq_pass.h"
#include "transform/transform_int.h"
#include "analysis/well_formed.h"

typedef struct extraction {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_function *outer;
    const rlx_block *block;
    size_t first, end;               /* of its bindings */
    rlx_ptrmap run;                  /* binding of the run -> 1 */
    rlx_ptrmap used;                 /* outside of it: variable or size -> 1 */
    rlx_ptrmap bound;                /* before it: size -> 1 */
    rlx_ptrmap is_output;            /* variable -> 1 */
    bool passed;                     /* the walk has come to the run */
    rlx_vars inputs, outputs;
    rlx_prim_vars sizes, scalars;    /* passed beside the inputs */
    rlx_prim_vars new_sizes;         /* given back */
    const rlx_global_var *gv;
    rlx_mutator *mutator;
} extraction;

#define MEMORY(x) (&(x)->ctx->memory)

static bool put(rlx_ptrmap *set, const void *key)
{
    return rlx_ptrmap_put(set, key, 1);
}

/* ---- where the run is */

typedef struct finding { extraction *x; const rlx_binding *first, *last; } finding;

static enum rlx_step find_block(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    finding *find = user;
    const rlx_block *b = rlx_as_block(n);
    (void)via, (void)parent;
    for (size_t i = 0; b && i < b->num_bindings; i++) {
        if (b->bindings[i] != find->first)
            continue;
        find->x->block = b;
        find->x->first = i;
        for (size_t k = i; k < b->num_bindings && !find->x->end; k++)
            find->x->end = b->bindings[k] == find->last ? k + 1 : 0;
        return RLX_STEP_STOP;
    }
    return rlx_as_var(n) ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static bool find_run(extraction *x, const rlx_binding *first, const rlx_binding *last)
{
    finding find = { x, first, last };
    rlx_walker w = { .enter = find_block, .user = &find, .code = true };
    rlx_walk(MEMORY(x), &x->outer->node, &w, NULL);
    if (x->ctx->diags.out_of_memory)
        return false;
    if (!x->block || !x->end)
        return rlx_error(x->ctx, RLX_OP02, rlx_place_of(first),
                         "expected the first and the last binding of a run, in one block of the "
                         "function, found %s",
                         x->block ? "the last one not after the first"
                                  : "no block of it with the first") != NULL;
    for (size_t i = x->first; i < x->end; i++)
        (void)put(&x->run, x->block->bindings[i]);
    return !x->ctx->diags.out_of_memory;
}

/* ---- what goes in and out */

static void note_bound(void *user, const rlx_prim *p, bool is_size)
{
    extraction *x = user;
    (void)is_size;
    if (rlx_position_var(p))
        (void)put(&x->bound, rlx_position_var(p));
}

static enum rlx_step look_outside(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    extraction *x = user;
    const rlx_function *f = rlx_as_function(n);
    const rlx_match_cast *cast = rlx_as_match_cast(n);
    (void)parent;
    if (rlx_ptrmap_has(&x->run, n)) {
        x->passed = true;
        return RLX_STEP_SKIP;
    }
    if ((rlx_as_var(n) && !rlx_field_is_def(via)) || n->kind == RLX_NODE_PRIM_VAR)
        (void)put(&x->used, n);
    for (size_t i = 0; f && !x->passed && i < f->num_params; i++)
        (void)rlx_each_position(MEMORY(x), rlx_as_var(f->params[i])->sinfo, note_bound, x);
    if (cast && !x->passed)
        (void)rlx_each_position(MEMORY(x), cast->sinfo, note_bound, x);
    return x->ctx->diags.out_of_memory ? RLX_STEP_STOP : RLX_STEP_ON;
}

static bool find_outputs(extraction *x)
{
    rlx_walker w = { .enter = look_outside, .user = x, .annotations = true };
    rlx_walk(MEMORY(x), &x->outer->node, &w, NULL);
    bool good = !x->ctx->diags.out_of_memory;
    for (size_t i = x->first; good && i < x->end; i++) {
        const rlx_var *v = rlx_binding_var(x->block->bindings[i]);
        if (v && rlx_ptrmap_has(&x->used, v))
            good = rlx_vec_push(MEMORY(x), &x->outputs, v) && put(&x->is_output, v);
    }
    return good;
}

static bool take_size(extraction *x, rlx_ptrmap *known, const rlx_prim_var *v)
{
    if (rlx_ptrmap_has(known, v))
        return true;
    bool before = rlx_ptrmap_has(&x->bound, v), after = rlx_ptrmap_has(&x->used, v);
    bool good = put(known, v);
    if (good && before)
        good = v->dtype == RELAX_INT64 ? rlx_vec_push(MEMORY(x), &x->sizes, v)
                                       : rlx_vec_push(MEMORY(x), &x->scalars, v);
    else if (good && after && v->dtype == RELAX_INT64)
        good = rlx_vec_push(MEMORY(x), &x->new_sizes, v);
    return good;
}

/* Sizes of the run and of its inputs that no input binds. */
static bool find_sizes(extraction *x, const rlx_node *run)
{
    rlx_prim_vars bound = { 0 }, all = { 0 };
    rlx_ptrmap known;
    rlx_memory *m = MEMORY(x);
    rlx_ptrmap_init(&known, m);
    bool good = rlx_collect_prim_vars(m, run, false, &all);
    for (size_t i = 0; good && i < x->inputs.len; i++)
        good = rlx_collect_prim_vars(m, x->inputs.data[i]->sinfo, true, &bound) &&
               rlx_collect_prim_vars(m, x->inputs.data[i]->sinfo, false, &all);
    for (size_t i = x->first; good && i < x->end; i++) {
        const rlx_var *v = rlx_binding_var(x->block->bindings[i]);
        good = !v || !v->sinfo || rlx_collect_prim_vars(m, v->sinfo, false, &all);
    }
    for (size_t i = 0; good && i < bound.len; i++)
        good = put(&known, bound.data[i]);
    for (size_t i = 0; good && i < all.len; i++)
        good = take_size(x, &known, all.data[i]);
    rlx_vec_free(m, &bound);
    rlx_vec_free(m, &all);
    rlx_ptrmap_free(&known);
    return good;
}

/* ---- the new function */

typedef RLX_VEC(const rlx_expr *) exprs;

static bool push(extraction *x, exprs *list, const void *e)
{
    return e && rlx_vec_push(MEMORY(x), list, (const rlx_expr *)e);
}

static const rlx_expr *param(extraction *x, const char *name, const rlx_sinfo *s)
{
    const rlx_string *text = rlx_string_z(x->ctx, name);
    const rlx_var *v = text && s ? rlx_var_new(x->ctx, false, text, -1, s, RLX_NO_PLACE) : NULL;
    return v ? &v->node : NULL;
}

/* New variables for the inputs, by which the mutator renames them; and parameters for sizes. */
static bool make_params(extraction *x, rlx_mutator *m, exprs *params)
{
    rlx_context *ctx = x->ctx;
    bool good = true;
    for (size_t i = 0; good && i < x->inputs.len; i++) {
        const rlx_var *old = x->inputs.data[i];
        const rlx_sinfo *info = rlx_signature_info(x->ctx, old->sinfo);
        const rlx_var *p =
            info ? rlx_var_new(ctx, false, old->name, old->number, info, old->place) : NULL;
        good = push(x, params, p) && rlx_ptrmap_put(&m->vars, old, (uintptr_t)p);
    }
    const rlx_prim *const *sizes = (const rlx_prim *const *)(const void *)x->sizes.data;
    if (good && x->sizes.len)
        good = push(x, params, param(x, "sizes", rlx_shape_info(ctx, sizes, x->sizes.len)));
    for (size_t i = 0; good && i < x->scalars.len; i++) {
        const rlx_prim_var *v = x->scalars.data[i];
        good = push(x, params, param(x, v->name->data, rlx_prim_info(ctx, v->dtype, &v->node)));
    }
    return good;
}

static const rlx_expr *shape_of(extraction *x, const rlx_prim_vars *sizes)
{
    return rlx_shape_new(x->ctx, (const rlx_prim *const *)(const void *)sizes->data, sizes->len);
}

static const rlx_expr *make_result(extraction *x)
{
    exprs fields = { 0 };
    bool good = true;
    for (size_t i = 0; good && i < x->outputs.len; i++)
        good = push(x, &fields, x->outputs.data[i]);
    if (good && x->new_sizes.len)
        good = push(x, &fields, shape_of(x, &x->new_sizes));
    const rlx_expr *out = !good            ? NULL
                          : fields.len == 1 ? fields.data[0]
                                            : rlx_tuple_new(x->ctx, fields.data, fields.len,
                                                            RLX_NO_PLACE);
    rlx_vec_free(MEMORY(x), &fields);
    return out;
}

/* In the new function an output of a dataflow block is an ordinary variable. */
static const rlx_expr *at_inner_binding(rlx_mutator *m, const rlx_binding *old,
                                        const rlx_expr *value, bool *replaced)
{
    extraction *x = m->user;
    const rlx_var *v = rlx_binding_var(old);
    const rlx_match_cast *cast = rlx_as_match_cast(old);
    if (!v || v->node.kind != RLX_NODE_DATAFLOW_VAR || !rlx_ptrmap_has(&x->is_output, v))
        return value;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(v->sinfo);
    rlx_emit how = { .name = v->name,
                     .number = v->number,
                     .output = true,
                     .place = rlx_place_of(old),
                     .var_place = v->place };
    if (t && !rlx_as_var(t->shape) && !cast)
        how.annotation = v->sinfo;
    const rlx_var *now = cast ? rlx_builder_emit_match(m->builder, value, cast->sinfo, &how, false)
                              : rlx_builder_emit(m->builder, value, &how);
    *replaced = true;
    return now ? &now->node : NULL;
}

static const rlx_attr *inner_attrs(extraction *x, bool forced)
{
    return forced ? rlx_attrs_with(x->ctx, NULL, "relax.force_pure",
                                   rlx_attr_bool_new(x->ctx, true))
                  : NULL;
}

static const rlx_function *make_function(extraction *x, const rlx_node *run,
                                         rlx_module_builder *mb)
{
    rlx_context *ctx = x->ctx;
    rlx_mutator m;
    exprs params = { 0 };
    const rlx_call *impure =
        rlx_find_impure_call(ctx, rlx_module_builder_env(mb), run, NULL);
    bool forced = impure && rlx_flag_attr(x->outer->attrs, "relax.force_pure");
    rlx_mutator_init(&m, ctx, rlx_module_builder_env(mb), x);
    m.binding = at_inner_binding;
    const rlx_expr *result = make_params(x, &m, &params) ? make_result(x) : NULL;
    const rlx_expr *body = result ? rlx_seq_new(ctx, &run, 1, result, RLX_NO_PLACE) : NULL;
    const rlx_function *f =
        body ? rlx_function_new(ctx, params.data, params.len, body, rlx_object_info(ctx), false,
                                !impure || forced, inner_attrs(x, forced), NULL,
                                rlx_place_of(x->block->bindings[x->first]))
             : NULL;
    f = f ? rlx_mutate_function(&m, f, NULL) : NULL;
    rlx_mutator_free(&m);
    rlx_vec_free(MEMORY(x), &params);
    return f ? rlx_as_function(rlx_copy_fresh(ctx, &f->node)) : NULL;
}

/* ---- where the run was */

static const rlx_expr *make_call(extraction *x, rlx_place place)
{
    exprs args = { 0 };
    bool good = true;
    for (size_t i = 0; good && i < x->inputs.len; i++)
        good = push(x, &args, x->inputs.data[i]);
    if (good && x->sizes.len)
        good = push(x, &args, shape_of(x, &x->sizes));
    for (size_t i = 0; good && i < x->scalars.len; i++)
        good = push(x, &args, rlx_prim_value_new(x->ctx, &x->scalars.data[i]->node));
    const rlx_expr *call =
        good ? rlx_call_new(x->ctx, &x->gv->node, args.data, args.len, NULL, 0, NULL, place)
             : NULL;
    rlx_vec_free(MEMORY(x), &args);
    return call;
}

static rlx_place place_of_output(const extraction *x, const rlx_var *v)
{
    for (size_t i = x->first; i < x->end; i++)
        if (rlx_binding_var(x->block->bindings[i]) == v)
            return rlx_place_of(x->block->bindings[i]);
    return v->place;
}

/* v is bound to value, and is what it was. */
static bool emit_output(extraction *x, rlx_builder *b, const rlx_var *v, const rlx_expr *value)
{
    rlx_emit how = { .number = -1, .place = place_of_output(x, v) };
    const rlx_expr *flat = value ? rlx_builder_normalize(b, value) : NULL;
    const rlx_sinfo *have = flat ? rlx_builder_infer(b, flat) : NULL;
    if (!have)
        return false;
    how.var = v;
    how.var_place = v->place;
    bool as_good = !v->sinfo || rlx_assignable(x->ctx, rlx_builder_scope(b), have, v->sinfo,
                                               NULL) == RLX_ASSIGNABLE_YES;
    return as_good ? rlx_builder_emit(b, flat, &how) != NULL
                   : rlx_builder_emit_match(b, flat, v->sinfo, &how, false) != NULL;
}

static bool emit_new_sizes(extraction *x, rlx_builder *b, const rlx_expr *value, rlx_place place)
{
    const rlx_prim *const *sizes = (const rlx_prim *const *)(const void *)x->new_sizes.data;
    const rlx_sinfo *s = rlx_shape_info(x->ctx, sizes, x->new_sizes.len);
    rlx_emit how = { .number = -1, .place = place, .var_place = place };
    return s && value && rlx_builder_emit_match(b, value, s, &how, false);
}

static bool emit_call(extraction *x, rlx_builder *b)
{
    rlx_place place = rlx_place_of(x->block->bindings[x->first]);
    const rlx_expr *call = make_call(x, place);
    size_t count = x->outputs.len + (x->new_sizes.len > 0);
    rlx_emit how = { .number = -1, .place = place, .var_place = place };
    if (call && count == 1 && x->outputs.len)
        return emit_output(x, b, x->outputs.data[0], call);
    const rlx_var *all = call ? rlx_builder_emit(b, call, &how) : NULL;
    if (!all || !count)
        return all != NULL;
    if (count == 1)
        return emit_new_sizes(x, b, &all->node, place);
    if (x->new_sizes.len &&
        !emit_new_sizes(x, b,
                        rlx_tuple_get_item_new(x->ctx, &all->node, (int64_t)x->outputs.len, place),
                        place))
        return false;
    for (size_t i = 0; i < x->outputs.len; i++)
        if (!emit_output(x, b, x->outputs.data[i],
                         rlx_tuple_get_item_new(x->ctx, &all->node, (int64_t)i, place)))
            return false;
    return true;
}

static enum rlx_begin at_outer_binding(rlx_mutator *m, const rlx_binding *old, rlx_place *place)
{
    (void)place;
    extraction *x = m->user;
    if (!rlx_ptrmap_has(&x->run, old))
        return RLX_BEGIN_REWRITE;
    return old != x->block->bindings[x->first] || emit_call(x, m->builder) ? RLX_BEGIN_DONE
                                                                           : RLX_BEGIN_FAILED;
}

/* ---- all of it */

static const rlx_module *extracted(extraction *x, const rlx_global_var *outer, rlx_slice name)
{
    static const rlx_mutator_hooks hooks = { .begin = at_outer_binding };
    rlx_context *ctx = x->ctx;
    rlx_module_builder *mb = rlx_module_builder_create(ctx, x->module);
    bool dataflow = x->block->node.kind == RLX_NODE_DATAFLOW_BLOCK;
    const rlx_node *run = rlx_block_new(ctx, dataflow, x->block->bindings + x->first,
                                        x->end - x->first, x->block->place);
    bool good = mb && run && find_outputs(x) && rlx_free_vars(ctx, run, &x->inputs) &&
                find_sizes(x, run);
    const rlx_function *f = good ? make_function(x, run, mb) : NULL;
    x->gv = f ? rlx_module_builder_add(mb, name, &f->node) : NULL;
    rlx_mutator m;
    rlx_mutator_init(&m, ctx, mb ? rlx_module_builder_env(mb) : NULL, x);
    m.hooks = &hooks;
    const rlx_function *now = x->gv ? rlx_mutate_function(&m, x->outer, outer) : NULL;
    rlx_mutator_free(&m);
    const rlx_module *out = now && rlx_module_builder_define(mb, outer, &now->node)
                                ? rlx_module_builder_finish(mb, x->module->place)
                                : NULL;
    rlx_module_builder_free(mb);
    return out && rlx_well_formed_since(ctx, out, x->module) ? out : NULL;
}

const rlx_module *rlx_extract_function(rlx_context *ctx, const rlx_module *m,
                                       const rlx_global_var *gv, const rlx_binding *first,
                                       const rlx_binding *last, rlx_slice name)
{
    extraction x = { .ctx = ctx, .module = m };
    uint8_t before = ctx->origin;
    int64_t at = rlx_module_index(m, gv);
    x.outer = at < 0 ? NULL : rlx_as_function(m->functions[at]);
    if (!x.outer || !x.outer->body)
        return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%s is no Relax function with a body",
                         gv->name->data);
    rlx_ptrmap *sets[] = { &x.run, &x.used, &x.bound, &x.is_output };
    for (size_t i = 0; i < RLX_COUNT(sets); i++)
        rlx_ptrmap_init(sets[i], &ctx->memory);
    if (!before)
        ctx->origin = rlx_context_origin(ctx, "extract");
    const rlx_module *out = find_run(&x, first, last) ? extracted(&x, gv, name) : NULL;
    ctx->origin = before;
    for (size_t i = 0; i < RLX_COUNT(sets); i++)
        rlx_ptrmap_free(sets[i]);
    rlx_vec_free(&ctx->memory, &x.inputs);
    rlx_vec_free(&ctx->memory, &x.outputs);
    rlx_vec_free(&ctx->memory, &x.sizes);
    rlx_vec_free(&ctx->memory, &x.scalars);
    rlx_vec_free(&ctx->memory, &x.new_sizes);
    return out;
}
