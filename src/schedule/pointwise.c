/* pointwise.c: nests whose iterations store elements of their own: reading them, and writing them as one. */
#include "schedule/pointwise.h"

#include "schedule/plan_int.h"

enum {
    MOST_PARTS = 256   /* of an expression, counted as a tree: what is longer gets a name */
};

/* ---- what a value loads --------------------------------------------------------------------- */

/* Is operand i of p computed only where it is wanted? */
static bool is_guarded(const rlx_prim *p, size_t i)
{
    const rlx_prim_call *c = rlx_as_prim_call(p);
    return c ? i > 0 && c->op && rlx_slice_is(rlx_string_slice(c->op), "if_then_else")
             : i == 1 && (p->kind == RLX_NODE_AND || p->kind == RLX_NODE_OR);
}

typedef struct collecting {
    rlx_memory *m;
    rlx_ptrmap seen;                 /* expression -> 1, load -> its number + 1 */
    rlx_ptrs now, later;             /* what is met later is guarded */
    rlx_point_loads *out;
} collecting;

static bool meet(collecting *c, const rlx_prim *p, bool guarded, bool sure)
{
    uintptr_t at;
    bool known = rlx_ptrmap_find(&c->seen, p, &at), is_load = p->kind == RLX_NODE_BUFFER_LOAD;
    if (is_load && known)
        c->out->data[at - 1].edges++;
    if (guarded && !known)
        return rlx_vec_push(c->m, &c->later, (void *)p);
    if (known)
        return true;
    rlx_point_load l = { (const rlx_buffer_load *)p, 1, sure };
    return (!is_load || rlx_vec_push(c->m, c->out, l)) &&
           rlx_ptrmap_put(&c->seen, p, is_load ? c->out->len : 1) &&
           (!rlx_tir_num_operands(p) || rlx_vec_push(c->m, &c->now, (void *)p));
}

static bool meet_operands(collecting *c, bool sure)
{
    bool ok = true;
    while (ok && c->now.len) {
        const rlx_prim *p = rlx_vec_pop(&c->now);
        for (size_t i = 0; i < rlx_tir_num_operands(p) && ok; i++)
            ok = meet(c, rlx_tir_operand(p, i), sure && is_guarded(p, i), sure);
    }
    return ok;
}

bool rlx_collect_loads(rlx_context *ctx, const rlx_prim *value, rlx_point_loads *out)
{
    collecting c = { .m = &ctx->memory, .out = out };
    rlx_ptrmap_init(&c.seen, &ctx->memory);
    bool ok = meet(&c, value, false, true) && meet_operands(&c, true);
    while (ok && c.later.len)
        ok = meet(&c, rlx_vec_pop(&c.later), false, false) && meet_operands(&c, false);
    rlx_vec_free(c.m, &c.now);
    rlx_vec_free(c.m, &c.later);
    rlx_ptrmap_free(&c.seen);
    return ok;
}

bool rlx_renew_loads(rlx_context *ctx, rlx_pointwise *p)
{
    bool ok = true;
    p->original = NULL;
    p->loads.len = 0;
    for (size_t i = 0; i < p->stores.len && ok; i++)
        ok = rlx_collect_loads(ctx, p->stores.data[i].value, &p->loads);
    return ok;
}

const rlx_point_store *rlx_find_store(const rlx_pointwise *p, const rlx_node *memory)
{
    for (size_t i = 0; i < p->stores.len; i++)
        if (p->stores.data[i].buffer->data == memory)
            return &p->stores.data[i];
    return NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static enum rlx_step find_impure(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    const rlx_prim_call *c = rlx_as_prim_call(n);
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    switch (n->kind) {
    case RLX_NODE_BUFFER: return RLX_STEP_SKIP;
    case RLX_NODE_BUFFER_LOAD: return l->predicate ? RLX_STEP_STOP : RLX_STEP_ON;
    case RLX_NODE_INT_IMM: case RLX_NODE_FLOAT_IMM: case RLX_NODE_PRIM_VAR: case RLX_NODE_CAST: case RLX_NODE_NOT:
    case RLX_NODE_SELECT: return RLX_STEP_ON;
    case RLX_NODE_PRIM_CALL:
        return c->op && rlx_tir_find_intrinsic(rlx_string_slice(c->op)) != RLX_TIR_NO_INTRINSIC &&
                       !rlx_slice_is(rlx_string_slice(c->op), "ret")
                   ? RLX_STEP_ON
                   : RLX_STEP_STOP;
    default: return rlx_as_binary(n) ? RLX_STEP_ON : RLX_STEP_STOP;
    }
}

static bool is_pure(rlx_context *ctx, const rlx_prim *value)
{
    rlx_walker w = { .enter = find_impure, .unique = true };
    return rlx_walk(&ctx->memory, value, &w, NULL) != RLX_STEP_STOP;
}

/* The loop along which the first store is contiguous; -1: none. */
static int contiguous_loop(const rlx_nest_plan *plan)
{
    for (int i = (int)plan->count; i-- > 0;)
        if (rlx_plan_is_unit(&plan->accesses.data[0], i))
            return i;
    return -1;
}

static bool is_transposed(const rlx_nest_plan *plan, const rlx_plan_access *a, int along)
{
    if (along < 0 || rlx_plan_is_unit(a, along) || !rlx_plan_moves(a, along))
        return false;
    for (int i = 0; i < (int)plan->count; i++)
        if (rlx_plan_is_unit(a, i) && rlx_plan_likely_size(plan->loops[i].extent) > 1)
            return true;
    return false;
}

/* Elements that lie beside each other in both sides of a function of rows, and have one number of the third: those of a picture's channel
 * are one row. */
static int64_t row_of_map(const rlx_nest_plan *plan)
{
    const rlx_plan_access *to = &plan->accesses.data[0], *a = &plan->accesses.data[plan->map.a], *b = &plan->accesses.data[plan->map.b];
    const int column = plan->map.column;
    int64_t run = rlx_plan_likely_size(plan->loops[column >= 0 ? column : plan->map.row].extent), size, step;
    for (int i = column; i-- > 0;)
        if (!rlx_plan_moves(b, i) && to->offset.coeff[i] && rlx_int_literal(to->offset.coeff[i], &step) && step == run &&
            a->offset.coeff[i] && rlx_int_literal(a->offset.coeff[i], &step) && step == run &&
            rlx_int_literal(plan->loops[i].extent, &size) && rlx_mul_i64(run, size, &step))
            run = step;
    return run;
}

/* Is it a nest of one pure store to memory that it does not load, whose loops are all told apart by it? */
static bool judge_plan(rlx_context *ctx, const rlx_nest_plan *plan, rlx_pointwise *out)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(plan->body);
    bool is = s && !s->predicate && plan->count <= RLX_TIR_MAX_DIMS &&
              (plan->form == RLX_PLAN_STRIP || plan->form == RLX_PLAN_COPY || plan->form == RLX_PLAN_MAP ||
               plan->form == RLX_PLAN_NORMALIZE);
    for (size_t i = 0; i < plan->count && is; i++)
        is = plan->loops[i].determined;
    if (!is)
        return false;
    int along = contiguous_loop(plan);
    for (size_t i = 1; i < plan->accesses.len; i++)
        if (rlx_plan_share_memory(&plan->accesses.data[0], &plan->accesses.data[i]))
            return false;
    for (size_t i = 0; i < plan->accesses.len; i++)
        out->transposes |= is_transposed(plan, &plan->accesses.data[i], along);
    out->form = plan->form;
    const rlx_prim *strip = plan->form == RLX_PLAN_STRIP       ? plan->strip_extent
                            : plan->form == RLX_PLAN_NORMALIZE ? plan->normalize.extent[1]
                                                               : plan->copy.extent[3];
    out->strip = plan->form == RLX_PLAN_MAP ? row_of_map(plan) : rlx_plan_likely_size(strip);
    return is_pure(ctx, s->value);
}

/* Its loops from 0, without those that run once; for these, 0 goes into the rewriter. False: it is another nest. */
static bool read_loops(rlx_context *ctx, const rlx_for_stmt *nest, rlx_pointwise *out, rlx_rewriter *r)
{
    for (const rlx_for_stmt *f = nest; f; f = rlx_as_for_stmt(f->body)) {
        const rlx_prim_var *v = rlx_as_prim_var(f->loop_var);
        if (!rlx_is_int_value(f->min, 0) || f->for_kind == RLX_FOR_THREAD_BINDING || f->annotations)
            return false;
        if (rlx_is_int_value(f->extent, 1))
            (void)rlx_ptrmap_put(&r->map, f->loop_var, (uintptr_t)rlx_int(ctx, v->dtype, 0));
        else
            out->loops[out->count++] = (rlx_sched_loop){ f->loop_var, f->extent };
    }
    return out->count > 0;
}

static bool is_loop_of(rlx_context *ctx, const rlx_pointwise *p, const rlx_prim *index, const rlx_prim *size)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->loops[i].var == index)
            return rlx_prove_equal(ctx, NULL, p->loops[i].extent, size) == RLX_EQUAL;
    return rlx_is_int_value(index, 0) && rlx_is_int_value(size, 1);
}

static bool is_whole(rlx_context *ctx, const rlx_pointwise *p, const rlx_point_store *s)
{
    bool whole = rlx_is_compact(s->buffer) && s->num_indices == s->buffer->num_shape;
    for (size_t d = 0; d < s->num_indices && whole; d++)
        whole = is_loop_of(ctx, p, s->indices[d], s->buffer->shape[d]);
    return whole;
}

static bool read_store(rlx_context *ctx, const rlx_buffer_store *s, rlx_rewriter *r, rlx_pointwise *out)
{
    const rlx_prim **indices = rlx_new(ctx, (s->num_indices + 1) * sizeof *indices);
    bool ok = indices != NULL;
    for (size_t d = 0; d < s->num_indices && ok; d++)
        ok = (indices[d] = rlx_rewrite(r, s->indices[d])) != NULL;
    rlx_point_store one = { .buffer = rlx_as_buffer(s->buffer),
                            .indices = indices,
                            .num_indices = s->num_indices,
                            .value = ok ? rlx_rewrite(r, s->value) : NULL,
                            .place = s->place };
    if (!one.value)
        return false;
    one.whole = is_whole(ctx, out, &one);
    return rlx_vec_push(&ctx->memory, &out->stores, one) && rlx_collect_loads(ctx, one.value, &out->loads);
}

bool rlx_read_pointwise(rlx_context *ctx, const rlx_for_stmt *nest, rlx_pointwise *out, bool *is)
{
    rlx_nest_plan plan;
    rlx_rewriter r;
    *out = (rlx_pointwise){ .original = &nest->node, .place = nest->place };
    bool ok = rlx_plan_nest(ctx, &rlx_plan_everywhere, nest, &plan);
    *is = ok && judge_plan(ctx, &plan, out);
    const rlx_stmt *body = plan.body;
    rlx_nest_plan_free(ctx, &plan);
    if (!*is)
        return ok;
    rlx_tir_folder_init(&r, ctx);
    *is = read_loops(ctx, nest, out, &r);
    ok = !*is || read_store(ctx, rlx_as_buffer_store(body), &r, out);
    rlx_rewriter_free(&r);
    return ok && !ctx->diags.out_of_memory;
}

void rlx_free_pointwise(rlx_context *ctx, rlx_pointwise *p)
{
    rlx_vec_free(&ctx->memory, &p->stores);
    rlx_vec_free(&ctx->memory, &p->loads);
}

bool rlx_rename_loops(rlx_context *ctx, rlx_pointwise *p, const rlx_sched_loop *to)
{
    rlx_rewriter r;
    bool ok = true;
    rlx_tir_folder_init(&r, ctx);
    for (size_t i = 0; i < p->count && ok; i++)
        ok = rlx_ptrmap_put(&r.map, p->loops[i].var, (uintptr_t)to[i].var);
    for (size_t k = 0; k < p->stores.len && ok; k++) {
        rlx_point_store *s = &p->stores.data[k];
        const rlx_prim **indices = rlx_new(ctx, (s->num_indices + 1) * sizeof *indices);
        for (size_t d = 0; d < s->num_indices && indices; d++)
            indices[d] = rlx_rewrite(&r, s->indices[d]);
        s->indices = indices;
        s->value = rlx_rewrite(&r, s->value);
        ok = indices && s->value;
    }
    rlx_rewriter_free(&r);
    memcpy(p->loops, to, p->count * sizeof *to);
    return ok && rlx_renew_loads(ctx, p);
}

/* ---- writing -------------------------------------------------------------------------------- */

/* What happens to the value of a store. */
enum fate { STORED, NAMED, IN_PLACE };
typedef struct local { uint32_t edges; bool sure; } local;

typedef struct writing {
    rlx_context *ctx;
    const rlx_pointwise *p;
    const rlx_ptrmap *locals;
    rlx_rewriter r;                  /* loads of locals -> what is in their place */
    local *uses;                     /* by number of store */
    const rlx_prim **values, **names; /* likewise; a store that is none has no value, one with a name is a local */
} writing;

static bool is_local(const writing *w, const rlx_node *memory) { return rlx_ptrmap_has(w->locals, memory); }

/* Is memory loaded that the nest stores to? What loads it must not be computed later. */
static bool loads_stored(const writing *w, const rlx_point_loads *loads)
{
    for (size_t i = 0; i < loads->len; i++) {
        const rlx_node *memory = rlx_plan_memory(loads->data[i].load->buffer);
        if (!is_local(w, memory) && rlx_find_store(w->p, memory))
            return true;
    }
    return false;
}

/* Counts uses of locals by values that are computed. The last store first: a local nobody uses computes nothing. */
static bool count_locals(writing *w)
{
    const rlx_pointwise *p = w->p;
    bool ok = true;
    for (size_t k = p->stores.len; k-- > 0 && ok;) {
        rlx_point_loads loads = { 0 };
        const rlx_point_store *s = &p->stores.data[k];
        if (is_local(w, s->buffer->data) && !w->uses[k].edges)
            continue;
        ok = rlx_collect_loads(w->ctx, s->value, &loads);
        for (size_t i = 0; i < loads.len && ok; i++) {
            const rlx_node *memory = rlx_plan_memory(loads.data[i].load->buffer);
            const rlx_point_store *from = is_local(w, memory) ? rlx_find_store(p, memory) : NULL;
            if (!from)
                continue;
            local *use = &w->uses[from - p->stores.data];
            use->edges += loads.data[i].edges;
            use->sure &= loads.data[i].sure;
        }
        rlx_vec_free(&w->ctx->memory, &loads);
    }
    return ok;
}

static enum fate fate_of(writing *w, size_t k, const rlx_prim *value)
{
    const rlx_point_store *s = &w->p->stores.data[k];
    rlx_point_loads loads = { 0 };
    if (!is_local(w, s->buffer->data))
        return STORED;
    bool leaf = value->kind == RLX_NODE_BUFFER_LOAD || !rlx_tir_num_operands(value),
         once = w->uses[k].edges == 1 && w->uses[k].sure && rlx_prim_parts(value) <= MOST_PARTS;
    if (!leaf && !once)
        return NAMED;
    bool early = rlx_collect_loads(w->ctx, value, &loads) && loads_stored(w, &loads);
    rlx_vec_free(&w->ctx->memory, &loads);
    return early ? NAMED : IN_PLACE;
}

static bool settle_values(writing *w)
{
    const rlx_pointwise *p = w->p;
    for (size_t k = 0; k < p->stores.len; k++) {
        const rlx_point_store *s = &p->stores.data[k];
        bool own = is_local(w, s->buffer->data);
        if (own && !w->uses[k].edges)
            continue;
        const rlx_prim *value = rlx_rewrite(&w->r, s->value), *instead = value;
        if (!value)
            return false;
        enum fate fate = fate_of(w, k, value);
        if (fate != IN_PLACE)
            w->values[k] = value;
        if (fate == NAMED) {
            rlx_prim_var *v = rlx_prim_var_new(w->ctx, s->buffer->name, s->buffer->dtype, RLX_NO_PLACE);
            instead = w->names[k] = v ? &v->node : NULL;
        }
        const rlx_prim *load = own ? rlx_load(w->ctx, s->buffer, s->indices, s->num_indices) : NULL;
        if (own && (!instead || !load || !rlx_ptrmap_put(&w->r.map, load, (uintptr_t)instead)))
            return false;
    }
    return true;
}

static const rlx_stmt *let_new(rlx_context *ctx, const rlx_prim *var, const rlx_prim *value, const rlx_stmt *body,
                               rlx_place place)
{
    rlx_let_stmt *s = body ? rlx_node_new(ctx, RLX_NODE_LET_STMT) : NULL;
    if (!s)
        return NULL;
    s->place = place;
    s->var = var;
    s->value = value;
    s->body = body;
    return &s->node;
}

/* Stores and names in their order; a name covers what is behind it. */
static const rlx_stmt *write_body(writing *w)
{
    const rlx_pointwise *p = w->p;
    const rlx_stmt **parts = rlx_new(w->ctx, (p->stores.len + 1) * sizeof *parts);
    size_t first = p->stores.len, count = 0;
    for (size_t k = p->stores.len; parts && k-- > 0;) {
        const rlx_point_store *s = &p->stores.data[k];
        if (!w->values[k])
            continue;
        const rlx_stmt *one;
        if (w->names[k]) {
            const rlx_stmt *body = count == 1 ? parts[first] : rlx_seq_stmt_new(w->ctx, parts + first, count, s->place);
            one = let_new(w->ctx, w->names[k], w->values[k], body, s->place);
            first += count;
            count = 0;
        } else
            one = rlx_store(w->ctx, s->buffer, w->values[k], s->indices, s->num_indices, s->place);
        if (!one)
            return NULL;
        parts[--first] = one;
        count++;
    }
    return !parts ? NULL : count == 1 ? parts[first] : rlx_seq_stmt_new(w->ctx, parts + first, count, p->place);
}

const rlx_stmt *rlx_write_pointwise(rlx_context *ctx, const rlx_pointwise *p, const rlx_ptrmap *locals)
{
    writing w = { .ctx = ctx, .p = p, .locals = locals,
                  .uses = rlx_new_zero(ctx, (p->stores.len + 1) * sizeof *w.uses),
                  .values = rlx_new_zero(ctx, (p->stores.len + 1) * sizeof *w.values),
                  .names = rlx_new_zero(ctx, (p->stores.len + 1) * sizeof *w.names) };
    if (!w.uses || !w.values || !w.names)
        return NULL;
    for (size_t k = 0; k < p->stores.len; k++)
        w.uses[k].sure = true;
    rlx_tir_folder_init(&w.r, ctx);
    const rlx_stmt *body = count_locals(&w) && settle_values(&w) ? write_body(&w) : NULL;
    rlx_rewriter_free(&w.r);
    for (size_t i = p->count; i-- > 0;)
        body = rlx_sched_wrap(ctx, &p->loops[i], body, p->place);
    return body;
}
