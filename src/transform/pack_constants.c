/*- pack_constants: a constant that only sums of products read, all in one layout, is stored in the
 * panels that they read (schedule/contract.c), so that no call packs it.
 *     cls.matmul(x, w, y)          ->   cls.matmul_packed(x, w', y)
 *     w: (K, 96) constant               w': (3, K, 32) constant
 * needs: constants in direct calls, as call_tir_rewrite leaves them. keeps: the numbers, the rest.
 * The functions that read panels are scheduled; those that nothing calls any more are left out.
 * Panels have the dtype of the sum: those of weights of 16 bits are twice as large as they are. Bytes that are multiplied by
 * bytes and summed up in int32 stay bytes.
 * What reads parts of a constant in several places (phases of a transposed convolution) takes panels of each.
 * Left alone: constants that something else reads, too, or in another layout, and others of 8 bits. */
#include "schedule/schedule.h"
#include "transform/transform_int.h"

/* A PrimFunc with some of its parameters constant, as some calls have it. */
typedef struct variant {
    const rlx_prim_func *function;       /* as it was */
    const bool *constant;                /* by parameter */
    rlx_with_panels packed;                   /* with panels */
    const rlx_global_var *name;          /* of `packed`; NULL: not yet in the module */
    struct variant *next;                /* of the same function */
} variant;

/* Memory for content that lies anywhere, and for boxes of content: of one constant after the other. */
typedef struct desk {
    void *data;
    size_t bytes, users;
} desk;

/* How constants of one layout become panels; counted by the panels that are still to be made. */
typedef struct recipe {
    rlx_context *ctx;
    const rlx_prim_func *pack;
    struct rlx_kernel *kernel;           /* NULL: the evaluator does it */
    size_t users;
    desk *desk;                          /* of all recipes of a packer */
    struct recipe *next;                 /* of the same packer */
} recipe;

/* Panels that are made when they are written. */
typedef struct panels {
    rlx_deferred head;
    recipe *recipe;
    const rlx_constant *of;
    size_t bytes;
} panels;

enum { MOST_LAYOUTS = 17 };

/* What a use reads of a constant: its parts in a layout each, which are different panels; as a rule one. */
typedef struct layouts {
    const rlx_prim_func *pack[MOST_LAYOUTS];
    size_t count;
} layouts;

/* A constant's content. */
typedef struct weight {
    layouts layouts;                     /* of the uses met so far */
    bool plain;                          /* something reads it as it is, or in other layouts */
    const rlx_constant *constant;        /* as it was */
    const rlx_expr *packed[MOST_LAYOUTS]; /* NULL: not made */
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
    desk *desk;
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
    v->next = rlx_ptrmap_get(&p->variants, f);
    return v->constant && rlx_schedule_packed(p->ctx, f, constant, &v->packed) && rlx_ptrmap_put(&p->variants, f, (uintptr_t)v) ? v : NULL;
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

/* What a variant (NULL: none) reads of its argument number `a`; none: as it is. */
static layouts layouts_of(const variant *v, size_t a)
{
    layouts out = { .count = 0 };
    for (size_t i = a; v && i < v->packed.num_params && out.count < MOST_LAYOUTS; i++)
        if (v->packed.of[i] == a && v->packed.packs[i])
            out.pack[out.count++] = v->packed.packs[i];
    return out;
}

static bool note_use(packer *p, const rlx_constant *c, layouts used)
{
    weight *w = weight_of(p, c);
    bool lost = false, same;
    if (!w || w->plain || !used.count)
        return w && note_plain(p, c);
    if (!w->layouts.count)
        w->layouts = used;
    same = w->layouts.count == used.count;
    for (size_t i = 0; i < used.count && same && !lost; i++)
        same = rlx_equal(&p->ctx->memory, &w->layouts.pack[i]->node, &used.pack[i]->node, false, &lost);
    return !lost && (same || note_plain(p, c));
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
            ok = note_use(p, c, layouts_of(v, a));
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
            c->layouts.count = 0;
        for (size_t i = 0; i < p->module->num_functions; i++)
            if (rlx_as_function(p->module->functions[i]) &&
                (rlx_walk(&p->ctx->memory, p->module->functions[i], &w, &lost) == RLX_STEP_STOP ||
                 lost))
                return false;
    } while (p->changed);
    return true;
}

/* ---- panels --------------------------------------------------------------------------------- */

static void leave_desk(rlx_memory *m, desk *d)
{
    if (!d || --d->users)
        return;
    rlx_mem_free(m, d->data, d->bytes);
    rlx_mem_free(m, d, sizeof *d);
}

static void release_recipe(recipe *r)
{
    if (--r->users)
        return;
    rlx_memory *m = &r->ctx->memory;
    if (r->kernel)
        r->ctx->kernels->unload(r->kernel);
    leave_desk(m, r->desk);
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
    *r = (recipe){ .ctx = p->ctx, .pack = pack, .users = 1, .desk = p->desk };
    p->desk->users++;
    if (kernels && !(r->kernel = kernels->load(p->ctx, pack)))
        return release_recipe(r), NULL;
    r->next = p->recipes;
    p->recipes = r;
    return r;
}

static void *aligned_memory(const recipe *r, size_t bytes)
{
    rlx_memory *m = &r->ctx->memory;
    desk *d = r->desk;
    if (d->bytes < bytes) {
        rlx_mem_free(m, d->data, d->bytes);
        d->data = rlx_mem_alloc(m, bytes);
        d->bytes = d->data ? bytes : 0;
    }
    return d->data;
}

/* The content at an address where its elements may lie. */
static const void *aligned_by(const recipe *r, const rlx_constant *c)
{
    void *to = rlx_is_aligned(c) ? NULL : aligned_memory(r, c->data->size);
    return rlx_is_aligned(c) ? c->data->data : to ? memcpy(to, c->data->data, c->data->size) : NULL;
}

/* A box of the content, in rows of what lies together. */
static const void *box_of(const recipe *r, const rlx_constant *c, const rlx_panel_piece *piece)
{
    size_t row = rlx_dtype_bytes(c->dtype), stride[RLX_TIR_MAX_DIMS], outer = c->num_shape, bytes = row;
    int64_t at[RLX_TIR_MAX_DIMS] = { 0 };
    for (size_t d = c->num_shape, step = row; d-- > 0; step *= (size_t)c->shape[d]) {
        stride[d] = step;
        bytes *= (size_t)piece->size[d];
    }
    while (outer > 0 && piece->size[outer - 1] == c->shape[outer - 1])
        row *= (size_t)c->shape[--outer];
    if (outer > 0)
        row *= (size_t)piece->size[--outer];
    unsigned char *box = aligned_memory(r, bytes), *to = box;
    for (; box && to < box + bytes; to += row) {
        const unsigned char *from = c->data->data;
        for (size_t d = 0; d < c->num_shape; d++)
            from += (size_t)(piece->first[d] + at[d]) * stride[d];
        memcpy(to, from, row);
        for (size_t d = outer; d-- > 0 && ++at[d] == piece->size[d];)
            at[d] = 0;
    }
    return box;
}

static bool literal_shape(const rlx_buffer *b, int64_t *shape, size_t *bytes)
{
    *bytes = rlx_dtype_bytes(b->dtype);
    for (size_t d = 0; d < b->num_shape; d++)
        if (!rlx_int_literal(b->shape[d], &shape[d]) || !rlx_mul_size(*bytes, (size_t)shape[d], bytes))
            return false;
    return true;
}

/* kernel: NULL, the evaluator does it. from: NULL, out of memory. */
static bool run_pack(const recipe *r, const rlx_prim_func *pack, struct rlx_kernel *kernel, const void *from,
                     void *to, rlx_fault *why)
{
    rlx_context *ctx = r->ctx;
    int64_t shape[2][RLX_TIR_MAX_DIMS];
    size_t bytes;
    rlx_tir_limits none = { 0 };
    void *data[2] = { (void *)(uintptr_t)from, to };
    rlx_tir_arg args[2];
    for (int i = 0; i < 2; i++) {
        const rlx_buffer *b = rlx_as_buffer(pack->buffers[i]);
        if (!from || !literal_shape(b, shape[i], &bytes))
            return false;
        args[i] = (rlx_tir_arg){ .dtype = b->dtype, .data = data[i], .shape = shape[i], .ndim = (int32_t)b->num_shape };
    }
    return kernel ? ctx->kernels->call(ctx, kernel, args, 2, &none, why)
                  : rlx_tir_eval(ctx, pack, args, 2, &none, why);
}

static bool fill_panels(const recipe *r, const rlx_constant *c, void *to, rlx_fault *why)
{
    return run_pack(r, r->pack, r->kernel, aligned_by(r, c), to, why);
}

enum { MOST_AT_ONCE = 16 << 20 };

static size_t fill_piece(const recipe *r, const rlx_constant *c, size_t from, void *to, rlx_fault *why)
{
    const rlx_kernel_runner *kernels = r->ctx->kernels;
    rlx_panel_piece piece;
    if (!rlx_panel_piece_at(r->ctx, r->pack, from, MOST_AT_ONCE, &piece))
        return 0;
    struct rlx_kernel *kernel = kernels ? kernels->load(r->ctx, piece.pack) : NULL;
    bool ok = (kernel || !kernels) && run_pack(r, piece.pack, kernel, box_of(r, c, &piece), to, why);
    if (kernel)
        kernels->unload(kernel);
    return ok ? piece.bytes : 0;
}

static size_t make_late(rlx_deferred *d, size_t from, void *to)
{
    panels *late = (panels *)(void *)d;
    recipe *r = late->recipe;
    rlx_fault why = { 0 };
    size_t made = d->most < late->bytes                  ? fill_piece(r, late->of, from, to, &why)
                  : fill_panels(r, late->of, to, &why) ? late->bytes
                                                       : 0;
    if (!made && !r->ctx->diags.out_of_memory)
        RLX_BUG(r->ctx, "panels of a constant cannot be made: %s", why.text);
    return made;
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
    rlx_panel_piece first;
    if (!late)
        return NULL;
    bool whole = bytes <= MOST_AT_ONCE || !rlx_panel_piece_at(r->ctx, r->pack, 0, MOST_AT_ONCE, &first);
    *late = (panels){ .head = { .of = rlx_blob_retain(c->data),
                                .how = r,
                                .most = whole ? bytes : first.bytes,
                                .make = make_late,
                                .end = end_late },
                      .recipe = r,
                      .of = c,
                      .bytes = bytes };
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
    recipe *r = literal_shape(to, shape, &bytes) ? recipe_for(p, pack) : NULL;
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
    for (weight *w = p->weights; w; w = w->next)
        for (size_t i = 0; i < w->layouts.count && !w->plain; i++) {
            if (!w->packed[i])
                w->packed[i] = make_panels(p, w->constant, w->layouts.pack[i]);
            if (!w->packed[i] && !note_plain(p, w->constant))
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
    if (v->name || !(own = rlx_copy_fresh(p->ctx, &v->packed.function->node)))
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
    const size_t count = v->packed.num_params;
    const rlx_expr **args = name ? rlx_new(p->ctx, (count + 1) * sizeof *args) : NULL;
    if (!args)
        return NULL;
    for (size_t i = 0, part = 0; i < count; i++) {
        const size_t a = v->packed.of[i];
        part = i < call->num_args ? 0 : a == v->packed.of[i - 1] ? part + 1 : 1;
        args[i] = v->packed.packs[i] ? weight_of(p, rlx_as_constant(call->args[a]))->packed[part] : call->args[a];
    }
    return rlx_call_new(p->ctx, &name->node, args, count, call->sinfo_args,
                        call->num_sinfo_args, call->attrs, call->place);
}

static bool takes_panels(const variant *v)
{
    for (size_t i = 0; v && i < v->packed.num_params; i++)
        if (v->packed.packs[i])
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
                 .desk = rlx_mem_alloc_zero(&run->ctx->memory, sizeof *p.desk),
                 .defers = run->defers };
    rlx_ptrmap_init(&p.variants, &run->ctx->memory);
    rlx_ptrmap_init(&p.weight_of, &run->ctx->memory);
    if (p.desk)
        p.desk->users = 1;
    const rlx_module *out = p.desk ? pack(&p) : NULL;
    rlx_ptrmap_free(&p.variants);
    rlx_ptrmap_free(&p.weight_of);
    for (recipe *r = p.recipes, *next; r; r = next) {
        next = r->next;
        release_recipe(r);
    }
    leave_desk(&run->ctx->memory, p.desk);
    rlx_module_builder_free(p.mb);
    return out;
}
