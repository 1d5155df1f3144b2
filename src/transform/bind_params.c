/*- bind_params.c: parameters with weights become constants, and the shape variables that weights
 * fix become numbers.
 *     def f(x: R.Tensor((n, k)), w: R.Tensor((k, 10)))    with w of (784, 10)
 *     ->
 *     def f(x: R.Tensor((n, 784)))                         with w a constant, k 784 everywhere
 * A parameter that somebody may write to stays a variable, bound to the constant first of all: all
 * that names it is one tensor. */
#include "transform/transform_int.h"

typedef struct binder {
    rlx_context *ctx;
    const rlx_module *module;
    const rlx_weight *weights;
    size_t num_weights;
    bool *used;                          /* by weight */
    rlx_map by_name;                     /* weight + 1 */
    rlx_written written;
    RLX_VEC(const rlx_binding *) first;  /* bindings at the head of the function under way */
    rlx_ptrmap by_var;                   /* parameter -> weight + 1 */
    RLX_VEC(const rlx_expr *) params;    /* what is left of the function under way */
    rlx_seq_pass seq;
} binder;

/* ---- one weight for one parameter ----------------------------------------------------------- */

static uintptr_t weight_by_name(binder *b, const rlx_var *param)
{
    rlx_buf text;
    rlx_buf_init(&text, &b->ctx->memory);
    rlx_text_var_name(&text, param);
    uintptr_t at =
        text.failed ? 0 : (uintptr_t)rlx_map_get(&b->by_name, (rlx_slice){ text.data, text.len });
    rlx_buf_free(&text);
    return at;
}

static const rlx_weight *weight_of(binder *b, const rlx_var *param)
{
    uintptr_t at;
    if (!rlx_ptrmap_find(&b->by_var, param, &at))
        at = weight_by_name(b, param);
    if (!at)
        return NULL;
    b->used[at - 1] = true;
    return &b->weights[at - 1];
}

static bool index_weights(binder *b)
{
    for (size_t i = 0; i < b->num_weights; i++) {
        const rlx_weight *w = &b->weights[i];
        bool good = w->param ? rlx_ptrmap_put(&b->by_var, w->param, i + 1)
                             : rlx_map_put(&b->by_name, w->name, (void *)(uintptr_t)(i + 1));
        if (!good)
            return false;
    }
    return true;
}

static bool misfit(binder *b, const rlx_var *param, const char *what, int64_t have,
                   const char *want)
{
    rlx_error(b->ctx, RLX_CG12, param->place, "array for parameter %s has %s %lld, expected %s",
              rlx_show(b->ctx, &param->node), what, (long long)have, want);
    return false;
}

/* A dimension that is one variable, widened or not, fixes it; later sights, numbers and
 * expressions are compared. */
static bool bind_dimension(binder *b, const rlx_var *param, const rlx_prim *dim, int64_t have,
                           size_t index)
{
    const rlx_prim_var *v = rlx_position_var(dim);
    const rlx_node *now = rlx_seq_rename(&b->seq, v ? &v->node : dim);
    int64_t want;
    if (rlx_as_prim_var(now)) {
        const rlx_prim *value = rlx_int(b->ctx, rlx_prim_dtype(now), have);
        if (rlx_dtype_wrap(rlx_prim_dtype(now), have) != have)
            return misfit(b, param, "a dimension of size", have, "one that fits int32");
        return value && rlx_seq_replace(&b->seq, now, value) &&
               (dim == now || rlx_seq_replace(&b->seq, dim, rlx_int64(b->ctx, have)));
    }
    rlx_assignment none = { 0 };
    if (!now || !rlx_prim_evaluate(now, &none, &b->ctx->memory, &want))
        /* mentions a variable that another argument binds: checked when called */
        return now != NULL;
    return want == have ||
           (rlx_error(b->ctx, RLX_CG12, param->place,
                      "array for parameter %s has dimension %zu of size %lld, expected %s = %lld",
                      rlx_show(b->ctx, &param->node), index, (long long)have,
                      rlx_show(b->ctx, dim), (long long)want),
            false);
}

static bool fits(binder *b, const rlx_var *param, const rlx_weight *w, bool alone)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(param->sinfo);
    char want[RLX_DTYPE_TEXT], have[RLX_DTYPE_TEXT];
    size_t ndim = 0;
    if (!t)
        return rlx_error(b->ctx, RLX_CG12, param->place, "parameter %s is %s, not a tensor",
                         rlx_show(b->ctx, &param->node),
                         param->sinfo ? rlx_show(b->ctx, param->sinfo) : "R.Object"),
               false;
    if (t->dtype != RELAX_VOID && t->dtype != w->dtype) {
        rlx_dtype_name(t->dtype, want);
        rlx_dtype_name(w->dtype, have);
        return rlx_error(b->ctx, RLX_CG12, param->place,
                         "array for parameter %s has dtype %s, expected %s",
                         rlx_show(b->ctx, &param->node), have, want),
               false;
    }
    if (t->ndim >= 0 && (size_t)t->ndim != w->ndim)
        return misfit(b, param, "rank", (int64_t)w->ndim, rlx_show(b->ctx, &t->node));
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &ndim);
    for (size_t i = 0; dims && i < ndim && i < w->ndim; i++)
        if ((rlx_position_var(dims[i]) != NULL) == alone &&
            !bind_dimension(b, param, dims[i], w->shape[i], i))
            return false;
    return true;
}

/* ---- one function --------------------------------------------------------------------------- */

static const rlx_expr *constant_of(binder *b, const rlx_var *param, const rlx_weight *w)
{
    size_t bytes = rlx_dtype_bytes(w->dtype);
    for (size_t i = 0; i < w->ndim; i++)
        if (w->shape[i] < 0 || !rlx_mul_size(bytes, (size_t)w->shape[i], &bytes))
            bytes = SIZE_MAX;
    if (!w->data || bytes > w->data->size)
        return rlx_error(b->ctx, RLX_CG12, param->place,
                         "array for parameter %s holds fewer bytes than its shape says",
                         rlx_show(b->ctx, &param->node));
    return rlx_constant_blob(b->ctx, w->dtype, w->shape, w->ndim, w->data, param->place);
}

/* From here on the parameter is the constant, or a variable bound to it. */
static bool replace_param(binder *b, const rlx_var *param, const rlx_weight *w)
{
    const rlx_expr *constant = constant_of(b, param, w);
    if (!constant || !rlx_is_written(&b->written, &param->node))
        return constant && rlx_seq_replace(&b->seq, &param->node, constant);
    rlx_env env = rlx_module_env(b->module);
    const rlx_sinfo *info = rlx_leaf_sinfo(b->ctx, &env, constant);
    const rlx_var *now = info ? rlx_var_like(b->ctx, param, false, info) : NULL;
    const rlx_binding *first =
        now ? rlx_var_binding_new(b->ctx, now, constant, param->place) : NULL;
    return first && rlx_seq_replace(&b->seq, &param->node, &now->node) &&
           rlx_vec_push(&b->ctx->memory, &b->first, first);
}

/* The body with the first bindings in front, in its first block if that is an ordinary one. */
static const rlx_expr *with_first(binder *b, const rlx_expr *body)
{
    const rlx_seq_expr *seq = rlx_as_seq_expr(body);
    const rlx_block *head = seq && seq->num_blocks ? (const rlx_block *)seq->blocks[0] : NULL;
    size_t skip = head && !rlx_is(&head->node, RLX_NODE_DATAFLOW_BLOCK);
    bool ok = true;
    RLX_VEC(const rlx_node *) blocks = { 0 };
    if (!b->first.len)
        return body;
    for (size_t i = 0; ok && skip && i < head->num_bindings; i++)
        ok = rlx_vec_push(&b->ctx->memory, &b->first, head->bindings[i]);
    const rlx_node *block = ok ? rlx_block_new(b->ctx, false, b->first.data, b->first.len,
                                               rlx_place_of(body))
                               : NULL;
    ok = block && rlx_vec_push(&b->ctx->memory, &blocks, block);
    for (size_t i = skip; ok && seq && i < seq->num_blocks; i++)
        ok = rlx_vec_push(&b->ctx->memory, &blocks, seq->blocks[i]);
    const rlx_expr *out = ok ? rlx_seq_new(b->ctx, blocks.data, blocks.len, seq ? seq->body : body,
                                           rlx_place_of(body))
                             : NULL;
    rlx_vec_free(&b->ctx->memory, &blocks);
    return out;
}

/* Names for what is bound: first single variables of all weights, then the rest is compared. */
static bool bind_weights(binder *b, const rlx_function *f, bool *any)
{
    for (int alone = 1; alone >= 0; alone--)
        for (size_t i = 0; i < f->num_params; i++) {
            const rlx_var *p = (const rlx_var *)f->params[i];
            const rlx_weight *w = weight_of(b, p);
            if (w && !fits(b, p, w, alone))
                return false;
        }
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_var *p = (const rlx_var *)f->params[i];
        const rlx_weight *w = weight_of(b, p);
        if (w && !replace_param(b, p, w))
            return false;
        *any |= w != NULL;
    }
    return true;
}

/* The parameters that are left, with sizes that are now numbers. */
static bool keep_params(binder *b, const rlx_function *f, int64_t *inputs_bound, int64_t num_input)
{
    b->params.len = 0;
    for (size_t i = 0; i < f->num_params; i++) {
        const rlx_var *p = (const rlx_var *)f->params[i], *now = p;
        if (weight_of(b, p)) {
            *inputs_bound += (int64_t)i < num_input;
            continue;
        }
        const rlx_sinfo *sinfo = p->sinfo ? rlx_seq_rename(&b->seq, p->sinfo) : NULL;
        if (p->sinfo && sinfo != p->sinfo) {
            now = sinfo ? rlx_var_like(b->ctx, p, false, sinfo) : NULL;
            if (!now || !rlx_seq_replace(&b->seq, &p->node, &now->node))
                return false;
        }
        if (!rlx_vec_push(&b->ctx->memory, &b->params, &now->node))
            return false;
    }
    return true;
}

static const rlx_node *rebuild(binder *b, const rlx_function *f)
{
    rlx_context *ctx = b->ctx;
    int64_t inputs_bound = 0,
            num_input = rlx_attr_as_int(rlx_attrs_get(f->attrs, "num_input"), -1);
    bool ok = true;
    if (!keep_params(b, f, &inputs_bound, num_input))
        return NULL;
    const rlx_function *body = rlx_seq_function(&b->seq, f);
    const rlx_sinfo *ret = body && f->ret_sinfo ? rlx_seq_rename(&b->seq, f->ret_sinfo) : NULL;
    const rlx_attr *attrs = inputs_bound
                                ? rlx_attrs_with(ctx, f->attrs, "num_input",
                                                 rlx_attr_int_new(ctx, num_input - inputs_bound))
                                : f->attrs;
    rlx_function *out =
        body && (ret || !f->ret_sinfo) ? rlx_node_new(ctx, RLX_NODE_FUNCTION) : NULL;
    if (!out)
        return NULL;
    rlx_node head = out->node;
    *out = *f;
    out->node = head;
    out->num_attr_places = 0;
    out->params = rlx_nodes_copy(ctx, b->params.data, b->params.len, &ok);
    out->num_params = b->params.len;
    out->body = with_first(b, body->body);
    out->ret_sinfo = ret;
    out->attrs = rlx_assumptions_of_params(ctx, attrs, out->params, out->num_params);
    out->sinfo = rlx_signature(ctx, out->params, out->num_params, ret, f->is_pure, NULL);
    return ok && out->body && out->sinfo && (out->attrs || !attrs) ? &out->node : NULL;
}

static const rlx_node *bind_function(binder *b, const rlx_function *f)
{
    bool any = false;
    b->first.len = 0;
    rlx_ptrmap_clear(&b->seq.names.map);
    b->seq.num_names = 0;
    if (!bind_weights(b, f, &any) || !rlx_meets_assumptions(b->ctx, f, &b->seq.names.map, RLX_CG12))
        return NULL;
    return any ? rebuild(b, f) : &f->node;
}

/* ---- the module ----------------------------------------------------------------------------- */

typedef struct mention { const rlx_node *gv; const rlx_node *at; } mention;

static enum rlx_step find_mention(void *user, const rlx_node *n, const rlx_field *via,
                                  const rlx_node *parent)
{
    mention *m = user;
    if (n == m->gv)
        m->at = parent ? parent : n;
    return m->at ? RLX_STEP_STOP : n->kind == RLX_NODE_CONSTANT ? RLX_STEP_SKIP : RLX_STEP_ON;
}

/* A caller inside the module would pass too many arguments. */
static bool nobody_calls(binder *b, const rlx_node *gv)
{
    mention m = { gv, NULL };
    rlx_walker w = { .enter = find_mention, .user = &m, .unique = true };
    bool lost = false;
    for (size_t i = 0; i < b->module->num_functions && !m.at && !lost; i++)
        rlx_walk(&b->ctx->memory, b->module->functions[i], &w, &lost);
    if (lost)
        return false;
    if (m.at)
        rlx_error(b->ctx, RLX_CG12, rlx_place_of(m.at),
                  "parameters of %s cannot be bound: it is called here, with all its arguments",
                  ((const rlx_global_var *)gv)->name->data);
    return !m.at;
}

static bool all_used(binder *b, rlx_slice function)
{
    bool all = true;
    for (size_t i = 0; i < b->num_weights; i++) {
        const rlx_var *param = b->weights[i].param;
        rlx_slice n = param && param->name ? rlx_string_slice(param->name) : b->weights[i].name;
        int shown = (int)(n.len < 200 ? n.len : 200);
        if (b->used[i])
            continue;
        all = false;
        if (function.len)
            rlx_error(b->ctx, RLX_OP15, RLX_NO_PLACE, "function %.*s has no parameter named %.*s",
                      (int)(function.len < 200 ? function.len : 200), function.data, shown,
                      n.data);
        else
            rlx_error(b->ctx, RLX_OP15, RLX_NO_PLACE, "no function has a parameter named %.*s",
                      shown, n.data);
    }
    return all;
}

static bool bind_all(binder *b, rlx_slice function, const rlx_node **functions)
{
    for (size_t i = 0; i < b->module->num_functions; i++) {
        const rlx_function *f = rlx_as_function(b->module->functions[i]);
        const rlx_global_var *gv = rlx_as_global_var(b->module->gvars[i]);
        functions[i] = b->module->functions[i];
        if (!f || (function.len && !rlx_slice_equal(rlx_string_slice(gv->name), function)))
            continue;
        functions[i] = bind_function(b, f);
        if (!functions[i] || (functions[i] != &f->node && !nobody_calls(b, &gv->node)))
            return false;
    }
    return true;
}

const rlx_module *rlx_bind_params(rlx_context *ctx, const rlx_module *m, rlx_slice function,
                                  const rlx_weight *weights, size_t count)
{
    binder b = { .ctx = ctx,
                 .module = m,
                 .weights = weights,
                 .num_weights = count,
                 .used = rlx_mem_alloc_zero(&ctx->memory, count + 1) };
    const rlx_node **functions =
        rlx_mem_alloc_zero(&ctx->memory, (m->num_functions + 1) * sizeof *functions);
    const rlx_module *out = NULL;
    size_t errors = rlx_error_count(ctx);
    rlx_seq_init(&b.seq, ctx, m, NULL);
    rlx_map_init(&b.by_name, &ctx->memory);
    rlx_ptrmap_init(&b.by_var, &ctx->memory);
    b.seq.keep_names = true;
    bool good = b.used && functions;
    if (good && function.len && rlx_module_find(m, function) < 0)
        rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "the module has no function named %.*s",
                  (int)(function.len < 200 ? function.len : 200), function.data);
    else if (good && index_weights(&b) && rlx_find_written(ctx, m, &b.written) &&
             bind_all(&b, function, functions) && all_used(&b, function) &&
             rlx_error_count(ctx) == errors)
        out = rlx_module_with(ctx, m, functions);
    rlx_seq_free(&b.seq);
    rlx_map_free(&b.by_name);
    rlx_ptrmap_free(&b.by_var);
    rlx_vec_free(&ctx->memory, &b.params);
    rlx_vec_free(&ctx->memory, &b.first);
    rlx_written_free(&b.written);
    rlx_mem_free(&ctx->memory, b.used, b.used ? count + 1 : 0);
    rlx_mem_free(&ctx->memory, functions,
                 functions ? (m->num_functions + 1) * sizeof *functions : 0);
    return out;
}

/* ---- the pass ------------------------------------------------------------------------------- */

static bool read_constants(rlx_context *ctx, const rlx_attrs *map, rlx_weight *out)
{
    for (size_t i = 0; i < map->num_keys; i++) {
        const rlx_string *name = ((const rlx_attr_string *)map->keys[i])->value;
        const rlx_constant *c = rlx_as_constant(map->values[i]);
        if (!c)
            return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE, "value of parameter %s is no constant",
                             name->data) != NULL;
        out[i] = (rlx_weight){ .name = rlx_string_slice(name),
                               .dtype = c->dtype,
                               .shape = c->shape,
                               .ndim = c->num_shape,
                               .data = c->data };
    }
    return true;
}

const rlx_module *rlx_pass_bind_params(rlx_pass_run *run, const rlx_module *m)
{
    rlx_context *ctx = run->ctx;
    const rlx_attr *params = rlx_attrs_get(run->options, "params");
    const rlx_attrs *map = rlx_as_attrs(params);
    size_t count = map ? map->num_keys : 0, bytes = (count + 1) * sizeof(rlx_weight);
    if (params && !map)
        return rlx_error(ctx, RLX_OP11, RLX_NO_PLACE,
                         "option params of pass bind_params is no map");
    if (!count)
        return m;
    rlx_weight *weights = rlx_mem_alloc(&ctx->memory, bytes);
    const rlx_module *out = NULL;
    if (weights && read_constants(ctx, map, weights))
        out = rlx_bind_params(ctx, m, rlx_pass_text(run, "function"), weights, count);
    rlx_mem_free(&ctx->memory, weights, weights ? bytes : 0);
    return out;
}
