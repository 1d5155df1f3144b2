/*- panel_piece.c: some of the panels that a function fills, from the box of the weights that they are made of.
 *
 *     for p in 64, k in K, l in 32:  panels[p, k, l] = W[k, p * 32 + l]
 *     for q in  8, k in K, l in 32:  piece[q, k, l] = box[k, q * 32 + l]     panels 16 to 23; box = W[0:K, 512:768]
 *
 * So large weights become panels piece by piece, each in memory of its own size.
 */
#include "schedule/schedule_int.h"

typedef struct cutter {
    rlx_context *ctx;
    const rlx_prim_func *pack;
    const rlx_buffer *weights, *panels;
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    size_t num_loops;
    const rlx_buffer_store *store;
    int64_t shape[RLX_TIR_MAX_DIMS]; /* of the panels */
    size_t bytes;                    /* of them all */
    size_t cut;                      /* the dimension that is cut; those before it are one element long */
    int64_t at[RLX_TIR_MAX_DIMS];    /* where the piece begins, up to that dimension */
    int64_t count;                   /* and how long it is there */
    const rlx_for_stmt *inner[RLX_PLAN_MAX_NEST]; /* loops that stay as they are */
    size_t num_inner;
    rlx_sched_loop loop;             /* in place of that of the dimension */
    rlx_scope scope;                 /* where the loops of the piece run */
} cutter;

static bool is_plain_loop(const rlx_for_stmt *f, int64_t *extent)
{
    return rlx_is_int_value(f->min, 0) && rlx_int_literal(f->extent, extent);
}

/* One nest around one store into the panels. */
static bool read_nest(cutter *c)
{
    const rlx_stmt *s = c->pack->body;
    int64_t unused;
    for (; s->kind == RLX_NODE_FOR; s = c->loops[c->num_loops - 1]->body) {
        const rlx_for_stmt *f = (const rlx_for_stmt *)s;
        if (c->num_loops == RLX_PLAN_MAX_NEST || !is_plain_loop(f, &unused))
            return false;
        c->loops[c->num_loops++] = f;
    }
    c->store = rlx_as_buffer_store(s);
    c->weights = rlx_as_buffer(c->pack->buffers[0]);
    c->panels = rlx_as_buffer(c->pack->buffers[1]);
    if (!c->store || c->store->buffer != &c->panels->node || c->store->predicate ||
        c->store->num_indices != c->panels->num_shape)
        return false;
    c->bytes = rlx_dtype_bytes(c->panels->dtype);
    for (size_t d = 0; d < c->panels->num_shape; d++)
        if (!rlx_int_literal(c->panels->shape[d], &c->shape[d]) || c->shape[d] < 1 ||
            !rlx_mul_size(c->bytes, (size_t)c->shape[d], &c->bytes))
            return false;
    return true;
}

/* The loop that is the index of dimension d, all along it; NULL: none. */
static const rlx_for_stmt *loop_of(const cutter *c, size_t d)
{
    int64_t extent;
    for (size_t i = 0; i < c->num_loops; i++)
        if (c->loops[i]->loop_var == c->store->indices[d] && is_plain_loop(c->loops[i], &extent))
            return extent == c->shape[d] ? c->loops[i] : NULL;
    return NULL;
}

/* Cuts the first dimension of which one element is small enough. */
static bool choose_cut(cutter *c, size_t from, size_t most)
{
    size_t unit = c->bytes / (size_t)c->shape[0];
    while (unit > most && c->cut + 1 < c->panels->num_shape && loop_of(c, c->cut + 1))
        unit /= (size_t)c->shape[++c->cut];
    for (size_t d = 0; d <= c->cut; d++)
        if (c->shape[d] > 1 && !loop_of(c, d))
            return false;
    size_t number = from / unit, together = most > unit ? most / unit : 1;
    for (size_t d = c->cut + 1; d-- > 0; number /= (size_t)c->shape[d])
        c->at[d] = (int64_t)(number % (size_t)c->shape[d]);
    size_t left = (size_t)(c->shape[c->cut] - c->at[c->cut]);
    c->count = (int64_t)(together < left ? together : left);
    c->bytes = unit * (size_t)c->count;
    return from % unit == 0 && number == 0;
}

/* What is stored, by the loops of the piece. NULL: out of memory. */
static const rlx_prim *value_in_piece(cutter *c)
{
    rlx_context *ctx = c->ctx;
    rlx_rewriter r;
    bool ok = true;
    rlx_tir_folder_init(&r, ctx);
    for (size_t i = 0; i < c->num_loops && ok; i++) {
        const rlx_for_stmt *f = c->loops[i];
        const rlx_prim *to = NULL;
        for (size_t d = 0; d <= c->cut; d++)
            if (c->store->indices[d] == f->loop_var)
                to = rlx_fold_add(ctx, rlx_int64(ctx, c->at[d]), d == c->cut ? c->loop.var : rlx_int64(ctx, 0));
        if (!to) {
            c->inner[c->num_inner++] = f;
            continue;
        }
        ok = rlx_ptrmap_put(&r.map, f->loop_var, (uintptr_t)to);
    }
    const rlx_prim *value = ok ? rlx_rewrite(&r, c->store->value) : NULL;
    rlx_rewriter_free(&r);
    return value;
}

static bool enter_loops(cutter *c)
{
    const rlx_prim_var *v = rlx_as_prim_var(c->loop.var);
    bool ok = !v || rlx_scope_bound(&c->scope, v, 0, c->count - 1);
    for (size_t i = 0; i < c->num_inner && ok; i++) {
        int64_t extent = 0;
        ok = is_plain_loop(c->inner[i], &extent) &&
             rlx_scope_bound(&c->scope, rlx_as_prim_var(c->inner[i]->loop_var), 0, extent - 1);
    }
    return ok;
}

typedef struct search { const rlx_buffer *of; const rlx_buffer_load *found; } search;

static enum rlx_step find_load(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    search *s = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (!l || l->buffer != &s->of->node)
        return RLX_STEP_ON;
    s->found = l;
    return RLX_STEP_STOP;
}

/* The box that a load touches where its guards hold, and the load from that. NULL: out of memory. */
static const rlx_prim *load_from_box(cutter *c, const rlx_buffer_load *load, rlx_panel_piece *out,
                                     const rlx_buffer **box)
{
    rlx_context *ctx = c->ctx;
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *at[RLX_TIR_MAX_DIMS];
    for (size_t d = 0; d < load->num_indices; d++) {
        const rlx_prim *index = rlx_fold_cast(ctx, RELAX_INT64, load->indices[d]);
        int64_t low, high, size = 0;
        rlx_int_literal(c->weights->shape[d], &size);
        rlx_bounds(ctx, &c->scope, index, &low, &high);
        low = low < 0 ? 0 : low < size ? low : size - 1;
        high = high < low ? low : high < size ? high : size - 1;
        out->first[d] = low;
        out->size[d] = high - low + 1;
        shape[d] = rlx_int64(ctx, out->size[d]);
        at[d] = rlx_simplify(ctx, &c->scope, rlx_fold_sub(ctx, index, rlx_int64(ctx, low)));
        if (!shape[d] || !at[d])
            return NULL;
    }
    const rlx_string *name = rlx_string_z(ctx, "box");
    *box = name ? rlx_buffer_new(ctx, name, c->weights->dtype, shape, load->num_indices, NULL, c->pack->place) : NULL;
    return *box ? rlx_load(ctx, *box, at, load->num_indices) : NULL;
}

static const rlx_prim *with_load(rlx_context *ctx, const rlx_prim *value, const rlx_buffer_load *old,
                                 const rlx_prim *now)
{
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    value = rlx_ptrmap_put(&r.map, old, (uintptr_t)now) ? rlx_rewrite(&r, value) : NULL;
    rlx_rewriter_free(&r);
    return value;
}

/* The nest that fills `piece`. NULL: out of memory. */
static const rlx_stmt *write_nest(const cutter *c, const rlx_buffer *piece, const rlx_prim *value)
{
    const rlx_prim *to[RLX_TIR_MAX_DIMS];
    for (size_t d = 0; d < piece->num_shape; d++)
        to[d] = d < c->cut    ? rlx_int64(c->ctx, 0)
                : d == c->cut ? c->loop.var
                              : c->store->indices[d];
    const rlx_stmt *s = rlx_store(c->ctx, piece, value, to, piece->num_shape, c->store->place);
    for (size_t i = c->num_inner; i-- > 0 && s;)
        s = rlx_for(c->ctx, rlx_as_prim_var(c->inner[i]->loop_var), c->inner[i]->min, c->inner[i]->extent,
                    RLX_FOR_SERIAL, s, c->store->place);
    return rlx_sched_wrap(c->ctx, &c->loop, s, c->store->place);
}

static const rlx_buffer *new_piece(const cutter *c)
{
    const rlx_prim *shape[RLX_TIR_MAX_DIMS];
    for (size_t d = 0; d < c->panels->num_shape; d++)
        shape[d] = rlx_int64(c->ctx, d < c->cut ? 1 : d == c->cut ? c->count : c->shape[d]);
    return rlx_buffer_new(c->ctx, c->panels->name, c->panels->dtype, shape, c->panels->num_shape, NULL, c->pack->place);
}

static const rlx_prim_func *write_piece(cutter *c, rlx_panel_piece *out)
{
    rlx_context *ctx = c->ctx;
    c->loop = rlx_sched_loop_new(ctx, "q", rlx_int64(ctx, c->count));
    const rlx_prim *value = c->loop.var ? value_in_piece(c) : NULL;
    search s = { .of = c->weights };
    rlx_walker w = { .enter = find_load, .user = &s };
    const rlx_buffer *box = NULL, *piece;
    if (!value || !enter_loops(c) || rlx_walk(&ctx->memory, value, &w, NULL) != RLX_STEP_STOP)
        return NULL;
    const rlx_prim *load = load_from_box(c, s.found, out, &box);
    value = load ? with_load(ctx, value, s.found, load) : NULL;
    piece = value ? new_piece(c) : NULL;
    const rlx_stmt *body = piece ? write_nest(c, piece, value) : NULL;
    const rlx_string *name = rlx_string_z(ctx, "weights");
    const rlx_prim_var *param = name ? rlx_prim_var_new(ctx, name, RELAX_HANDLE, RLX_NO_PLACE) : NULL;
    return body && param ? rlx_filling_function(ctx, &param->node, box, piece, body, c->pack->place) : NULL;
}

bool rlx_panel_piece_at(rlx_context *ctx, const rlx_prim_func *pack, size_t from, size_t most,
                        rlx_panel_piece *out)
{
    cutter c = { .ctx = ctx, .pack = pack };
    rlx_scope_init(&c.scope, ctx, NULL);
    bool ok = read_nest(&c) && choose_cut(&c, from, most);
    out->bytes = c.bytes;
    out->pack = ok ? write_piece(&c, out) : NULL;
    rlx_scope_free(&c.scope);
    return out->pack != NULL;
}
