/*- pack_constants: a constant that only sums of products read, all in one layout, is stored in the
 * panels that they read (schedule/contract.c), so that no call packs it.
 *     cls.matmul(x, w, y)          ->   cls.matmul_packed(x, w', y)
 *     w: (K, 96) constant               w': (3, K, 32) constant
 * needs: constants in direct calls, as call_tir_rewrite leaves them. keeps: the numbers, the rest.
 * The functions that read panels are scheduled; those that nothing calls any more are left out.
 * Panels have the dtype of the sum: those of weights of 16 bits are twice as large as they are. Bytes that are multiplied by
 * bytes and summed up in int32 stay bytes.
 * Left alone: constants that something else reads, too, or in another layout, and others of 8 bits. */
#include "schedule/schedule.h"
#include "transform/transform_int.h"

/* A PrimFunc with some of its parameters constant, as some calls have it. */
typedef struct variant {
    const rlx_prim_func *function;       /* as it was */
    const bool *constant;                /* by parameter */
    const rlx_prim_func *packed;         /* with panels */
    const rlx_prim_func **packs;         /* by parameter: NULL, or what fills its panels */
    const rlx_global_var *name;          /* of `packed`; NULL: not yet in the module */
    struct variant *next;                /* of the same function */
} variant;

/* How constants of one layout become panels; counted by the panels that are still to be made. */
typedef struct recipe {
    rlx_context *ctx;
    const rlx_prim_func *pack;
    struct rlx_kernel *kernel;           /* NULL: the evaluator does it */
    size_t users;
    void *aligned;                       /* for content that lies anywhere; grows */
    size_t aligned_bytes;
    struct recipe *next;                 /* of the same packer */
} recipe;

/* Panels that are made when they are written. */
typedef struct panels {
    rlx_deferred head;
    recipe *recipe;
    const rlx_constant *of;
} panels;

/* A constant's content. */
typedef struct weight {
    const rlx_prim_func *pack;           /* the layout of the uses met so far */
    bool plain;                          /* something reads it as it is, or in two layouts */
    const rlx_constant *constant;        /* as it was */
    const rlx_expr *packed;              /* NULL: not made */
    struct weight *next;
} weight;

typedef struct packer {
    rlx_context *ctx;
    const rlx_module *module;
    rlx_module_builder *mb;
    rlx_ptrmap variants;                 /* function -> its first variant */
    rlx_ptrmap weight_of;                /* blob -> its weight */
    weight *weights;
    recipe *recipes;
    bool defers;                         /* panels are made when they are written */
    size_t *mentions, *replaced;         /* by function of the module: of its name, by a variant */
    bool changed;                        /* a weight became plain */
} packer;

/* ---- what calls read ------------------------------------------------------------------------ */

/* The number of the PrimFunc that a call calls directly with all its arguments; -1: none. */
static int64_t callee(const packer *p, const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    int64_t i = call ? rlx_module_named_by(p->module, call->op) : -1;
    const rlx_prim_func *f = i >= 0 ? rlx_as_prim_func(p->module->functions[i]) : NULL;
    return f && f->num_params == call->num_args ? i : -1;
}

/* NULL: out of memory. */
static weight *weight_of(packer *p, const rlx_constant *c)
{
    weight *w = rlx_ptrmap_get(&p->weight_of, c->data);
    if (w || !(w = rlx_new_zero(p->ctx, sizeof *w)))
        return w;
    w->constant = c;
    w->next = p->weights;
    p->weights = w;
    return rlx_ptrmap_put(&p->weight_of, c->data, (uintptr_t)w) ? w : NULL;
}

static variant *new_variant(packer *p, const rlx_prim_func *f, const bool *constant)
{
    variant *v = rlx_new_zero(p->ctx, sizeof *v);
    if (!v)
        return NULL;
    v->function = f;
    v->constant = rlx_new_copy(p->ctx, constant, f->num_params * sizeof *constant);
    v->packs = rlx_new_zero(p->ctx, f->num_params * sizeof *v->packs);
    v->packed = v->constant && v->packs ? rlx_schedule_packed(p->ctx, f, constant, v->packs) : NULL;
    v->next = rlx_ptrmap_get(&p->variants, f);
    return v->packed && rlx_ptrmap_put(&p->variants, f, (uintptr_t)v) ? v : NULL;
}

/* *v: of function number `i` with the constants that this call has; NULL: it has none that may be
 * packed. False: failure. */
static bool find_variant(packer *p, int64_t i, const rlx_call *call, variant **v)
{
    const rlx_prim_func *f = rlx_as_prim_func(p->module->functions[i]);
    bool *constant = rlx_new_zero(p->ctx, call->num_args + 1), any = false;
    *v = NULL;
    for (size_t a = 0; constant && a < call->num_args; a++) {
        const rlx_constant *c = rlx_as_constant(call->args[a]);
        weight *w = c ? weight_of(p, c) : NULL;
        if (c && !w)
            return false;
        constant[a] = w && !w->plain;
        any |= constant[a];
    }
    if (!constant || !any)
        return constant != NULL;
    for (*v = rlx_ptrmap_get(&p->variants, f); *v; *v = (*v)->next)
        if (!memcmp((*v)->constant, constant, call->num_args * sizeof *constant))
            return true;
    return (*v = new_variant(p, f, constant)) != NULL;
}

/* ---- which constants may be packed ---------------------------------------------------------- */

static bool note_plain(packer *p, const rlx_constant *c)
{
    weight *w = weight_of(p, c);
    p->changed |= w && !w->plain;
    if (w)
        w->plain = true;
    return w != NULL;
}

/* pack NULL: read as it is. */
static bool note_use(packer *p, const rlx_constant *c, const rlx_prim_func *pack)
{
    weight *w = weight_of(p, c);
    bool lost = false;
    if (!w || w->plain || !pack)
        return w && note_plain(p, c);
    if (!w->pack)
        w->pack = pack;
    else if (!rlx_equal(&p->ctx->memory, &w->pack->node, &pack->node, false, &lost))
        return !lost && note_plain(p, c);
    return true;
}

static enum rlx_step look_at(void *user, const rlx_node *n, const rlx_field *via,
                             const rlx_node *parent)
{
    packer *p = user;
    const rlx_constant *c = rlx_as_constant(n);
    int64_t i = rlx_module_named_by(p->module, n);
    variant *v;
    if (i >= 0)
        p->mentions[i]++;
    if (c && (!parent || callee(p, parent) < 0))
        return note_plain(p, c) ? RLX_STEP_SKIP : RLX_STEP_STOP;
    if ((i = callee(p, n)) < 0)
        return RLX_STEP_ON;
    const rlx_call *call = rlx_as_call(n);
    bool ok = find_variant(p, i, call, &v);
    for (size_t a = 0; a < call->num_args && ok; a++)
        if ((c = rlx_as_constant(call->args[a])))
            ok = note_use(p, c, v ? v->packs[a] : NULL);
    return ok ? RLX_STEP_ON : RLX_STEP_STOP;
}

/* Looks at all functions until nothing more is found that keeps a constant from being packed. */
static bool settle(packer *p)
{
    rlx_walker w = { .enter = look_at, .user = p, .code = true };
    bool lost = false;
    do {
        p->changed = false;
        memset(p->mentions, 0, p->module->num_functions * sizeof *p->mentions);
        for (weight *c = p->weights; c; c = c->next)
            c->pack = NULL;
        for (size_t i = 0; i < p->module->num_functions; i++)
            if (rlx_as_function(p->module->functions[i]) &&
                (rlx_walk(&p->ctx->memory, p->module->functions[i], &w, &lost) == RLX_STEP_STOP ||
                 lost))
                return false;
    } while (p->changed);
    return true;
}

/* ---- panels --------------------------------------------------------------------------------- */

static void release_recipe(recipe *r)
{
    if (--r->users)
        return;
    rlx_memory *m = &r->ctx->memory;
    if (r->kernel)
        r->ctx->kernels->unload(r->kernel);
    rlx_mem_free(m, r->aligned, r->aligned_bytes);
    rlx_mem_free(m, r, sizeof *r);
}

/* NULL: out of memory, or there is no kernel for it. */
static recipe *recipe_for(packer *p, const rlx_prim_func *pack)
{
    const rlx_kernel_runner *kernels = p->ctx->kernels;
    bool lost = false;
    for (recipe *r = p->recipes; r && !lost; r = r->next)
        if (rlx_equal(&p->ctx->memory, &r->pack->node, &pack->node, false, &lost))
            return r;
    recipe *r = lost ? NULL : rlx_mem_alloc_zero(&p->ctx->memory, sizeof *r);
    if (!r)
        return NULL;
    *r = (recipe){ .ctx = p->ctx, .pack = pack, .users = 1 };
    if (kernels && !(r->kernel = kernels->load(p->ctx, pack)))
        return release_recipe(r), NULL;
    r->next = p->recipes;
    p->recipes = r;
    return r;
}

/* The content at an address where its elements may lie: often that of one constant after the
 * other, for which memory is taken once. */
static const void *aligned_by(recipe *r, const rlx_constant *c)
{
    rlx_memory *m = &r->ctx->memory;
    if (rlx_is_aligned(c))
        return c->data->data;
    if (r->aligned_bytes < c->data->size) {
        rlx_mem_free(m, r->aligned, r->aligned_bytes);
        r->aligned = rlx_mem_alloc(m, c->data->size);
        r->aligned_bytes = r->aligned ? c->data->size : 0;
    }
    return r->aligned ? memcpy(r->aligned, c->data->data, c->data->size) : NULL;
}

static bool panel_shape(const rlx_buffer *to, int64_t *shape, size_t *bytes)
{
    *bytes = rlx_dtype_bytes(to->dtype);
    for (size_t d = 0; d < to->num_shape; d++)
        if (!rlx_int_literal(to->shape[d], &shape[d]) ||
            !rlx_mul_size(*bytes, (size_t)shape[d], bytes))
            return false;
    return true;
}

static bool fill_panels(recipe *r, const rlx_constant *c, void *to, rlx_fault *why)
{
    const rlx_buffer *buffer = rlx_as_buffer(r->pack->buffers[1]);
    int64_t shape[RLX_TIR_MAX_DIMS];
    size_t bytes;
    rlx_tir_limits none = { 0 };
    const void *from = aligned_by(r, c);
    if (!from || !panel_shape(buffer, shape, &bytes))
        return false;
    rlx_tir_arg args[2] = { { .dtype = c->dtype,
                              .data = (void *)(uintptr_t)from,
                              .shape = c->shape,
                              .ndim = (int32_t)c->num_shape },
                            { .dtype = buffer->dtype,
                              .data = to,
                              .shape = shape,
                              .ndim = (int32_t)buffer->num_shape } };
    return r->kernel ? r->ctx->kernels->call(r->ctx, r->kernel, args, 2, &none, why)
                     : rlx_tir_eval(r->ctx, r->pack, args, 2, &none, why);
}

static bool make_late(rlx_deferred *d, void *to)
{
    panels *late = (panels *)(void *)d;
    rlx_fault why = { 0 };
    bool ok = fill_panels(late->recipe, late->of, to, &why);
    if (!ok && !late->recipe->ctx->diags.out_of_memory)
        RLX_BUG(late->recipe->ctx, "panels of a constant cannot be made: %s", why.text);
    return ok;
}

static void end_late(rlx_deferred *d)
{
    panels *late = (panels *)(void *)d;
    rlx_memory *m = &late->recipe->ctx->memory;
    rlx_blob_release(d->of);
    release_recipe(late->recipe);
    rlx_mem_free(m, late, sizeof *late);
}

static rlx_blob *defer_panels(recipe *r, const rlx_constant *c, size_t bytes)
{
    rlx_memory *m = &r->ctx->memory;
    panels *late = rlx_mem_alloc(m, sizeof *late);
    if (!late)
        return NULL;
    *late = (panels){ .head = { .of = rlx_blob_retain(c->data),
                                .how = r,
                                .make = make_late,
                                .end = end_late },
                      .recipe = r,
                      .of = c };
    r->users++;
    return rlx_blob_defer(m, bytes, &late->head);
}

static rlx_blob *panels_now(recipe *r, const rlx_constant *c, size_t bytes)
{
    rlx_fault why = { 0 };
    rlx_blob *data = rlx_blob_create(&r->ctx->memory, NULL, bytes);
    if (data && fill_panels(r, c, data->data, &why))
        return data;
    rlx_blob_release(data);
    return NULL;
}

#define DEFER_FROM 4096

/* The panels of a constant; NULL: they cannot be had, or out of memory. */
static const rlx_expr *make_panels(packer *p, const rlx_constant *c, const rlx_prim_func *pack)
{
    const rlx_buffer *to = rlx_as_buffer(pack->buffers[1]);
    int64_t shape[RLX_TIR_MAX_DIMS];
    size_t bytes;
    recipe *r = panel_shape(to, shape, &bytes) ? recipe_for(p, pack) : NULL;
    if (!r)
        return NULL;
    rlx_blob *data = p->defers && bytes >= DEFER_FROM ? defer_panels(r, c, bytes)
                                                           : panels_now(r, c, bytes);
    const rlx_expr *e =
        data ? rlx_constant_blob(p->ctx, to->dtype, shape, to->num_shape, data, c->place) : NULL;
    rlx_blob_release(data);
    return e;
}

/* What cannot be packed is plain. */
static bool pack_all(packer *p)
{
    for (weight *w = p->weights; w; w = w->next) {
        if (w->plain || !w->pack || w->packed)
            continue;
        w->packed = make_panels(p, w->constant, w->pack);
        if (!w->packed && !note_plain(p, w->constant))
            return false;
    }
    return !p->ctx->diags.out_of_memory;
}

/* ---- the module ----------------------------------------------------------------------------- */

static const rlx_global_var *name_of(packer *p, variant *v, const rlx_expr *callee)
{
    const rlx_string *plain = rlx_as_global_var(callee)->name;
    const rlx_node *own;   /* the function it was made of may stay, and no two share variables */
    rlx_buf hint;
    if (v->name || !(own = rlx_copy_fresh(p->ctx, &v->packed->node)))
        return v->name;
    rlx_buf_init(&hint, &p->ctx->memory);
    rlx_buf_put(&hint, rlx_string_slice(plain).data, rlx_string_slice(plain).len);
    rlx_buf_put(&hint, "_packed", 7);
    if (!hint.failed)
        v->name = rlx_module_builder_add(p->mb, (rlx_slice){ hint.data, hint.len }, own);
    rlx_buf_free(&hint);
    return v->name;
}

/* The call with panels in place of constants; NULL: out of memory. */
static const rlx_expr *packed_call(packer *p, const rlx_call *call, variant *v)
{
    const rlx_global_var *name = name_of(p, v, call->op);
    const rlx_expr **args =
        name ? rlx_new_copy(p->ctx, call->args, call->num_args * sizeof *args) : NULL;
    if (!args)
        return NULL;
    for (size_t a = 0; a < call->num_args; a++)
        if (v->packs[a])
            args[a] = weight_of(p, rlx_as_constant(call->args[a]))->packed;
    return rlx_call_new(p->ctx, &name->node, args, call->num_args, call->sinfo_args,
                        call->num_sinfo_args, call->attrs, call->place);
}

static bool takes_panels(const variant *v)
{
    for (size_t a = 0; v && a < v->function->num_params; a++)
        if (v->packs[a])
            return true;
    return false;
}

static bool pack_binding(rlx_seq_pass *s, const rlx_binding *old, const rlx_binding *now)
{
    packer *p = s->user;
    const rlx_expr *value = rlx_binding_value(now);
    int64_t i = callee(p, value);
    variant *v = NULL;
    if (i >= 0 && !find_variant(p, i, rlx_as_call(value), &v))
        return false;
    if (!takes_panels(v))
        return rlx_seq_emit(s, now);
    const rlx_expr *call = packed_call(p, rlx_as_call(value), v);
    p->replaced[i]++;
    return call && rlx_seq_emit(s, rlx_with_value(p->ctx, now, call));
}

/* The functions of `now`, without those that nothing calls any more, and the new ones. */
static const rlx_module *join(packer *p, const rlx_module *now)
{
    const rlx_module *m = p->module, *all = rlx_module_builder_finish(p->mb, m->place);
    size_t most = all ? all->num_functions : 0, n = 0;
    const rlx_expr **names = rlx_new(p->ctx, (most + 1) * sizeof *names);
    const rlx_node **functions = rlx_new(p->ctx, (most + 1) * sizeof *functions);
    if (!all || !names || !functions)
        return NULL;
    for (size_t i = 0; i < most; i++) {
        bool is_old = i < m->num_functions;
        if (is_old && p->replaced[i] && p->replaced[i] == p->mentions[i] &&
            !rlx_link_name(m->functions[i]))
            continue;
        names[n] = all->gvars[i];
        functions[n++] = is_old ? now->functions[i] : all->functions[i];
    }
    return rlx_module_new(p->ctx, names, functions, n, m->attrs, m->global_infos, m->place);
}

static const rlx_module *pack(packer *p)
{
    rlx_seq_pass s;
    p->mentions = rlx_new_zero(p->ctx, (p->module->num_functions + 1) * sizeof *p->mentions);
    p->replaced = rlx_new_zero(p->ctx, (p->module->num_functions + 1) * sizeof *p->replaced);
    if (!p->mb || !p->mentions || !p->replaced)
        return NULL;
    do {
        if (!settle(p) || !pack_all(p))
            return NULL;
    } while (p->changed);
    rlx_seq_init(&s, p->ctx, p->module, p);
    s.binding = pack_binding;
    const rlx_module *now = rlx_seq_module(&s, p->module);
    rlx_seq_free(&s);
    return now && now != p->module ? join(p, now) : now;
}

const rlx_module *rlx_pass_pack_constants(rlx_pass_run *run, const rlx_module *m)
{
    packer p = { .ctx = run->ctx,
                 .module = m,
                 .mb = rlx_module_builder_create(run->ctx, m),
                 .defers = run->defers };
    rlx_ptrmap_init(&p.variants, &run->ctx->memory);
    rlx_ptrmap_init(&p.weight_of, &run->ctx->memory);
    const rlx_module *out = pack(&p);
    rlx_ptrmap_free(&p.variants);
    rlx_ptrmap_free(&p.weight_of);
    for (recipe *r = p.recipes, *next; r; r = next) {
        next = r->next;
        release_recipe(r);
    }
    rlx_module_builder_free(p.mb);
    return out;
}
