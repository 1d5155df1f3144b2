/* schedule.c: a PrimFunc nest by nest. */
#include "schedule/accesses.h"

static const rlx_stmt *with_loop_body(rlx_context *ctx, const rlx_for_stmt *loop, const rlx_stmt *body)
{
    rlx_for_stmt *s = body && body != loop->body ? rlx_node_new(ctx, RLX_NODE_FOR) : NULL;
    if (!s)
        return body == loop->body ? &loop->node : NULL;
    rlx_node head = s->node;
    *s = *loop;
    s->node = head;
    s->body = body;
    return &s->node;
}

/* What is inside of a loop: what is produced in front of it would be produced again each time round, but for panels that are filled there. */
static const rlx_stmt *schedule_inside(rlx_rewriter *r, const rlx_for_stmt *loop)
{
    rlx_panel_params *params = r->user;
    rlx_producers *all = params->producers;
    const size_t first = all->first;
    const int around = params->num_around, more = !rlx_is_int_value(loop->extent, 1);
    rlx_in_front own, *outer = params->in_front;
    rlx_in_front_init(r->ctx, &own, outer, loop, first);
    all->first = all->count;
    params->inside += more;
    params->in_front = more ? &own : outer;
    if (around < RLX_MOST_AROUND && rlx_is_int_value(loop->min, 0) && loop->extent->kind == RLX_NODE_INT_IMM)
        params->around[params->num_around++] = (rlx_sched_loop){ loop->loop_var, loop->extent };
    const rlx_stmt *body = rlx_rewrite(r, loop->body), *now = rlx_with_all_in_front(r->ctx, &own, with_loop_body(r->ctx, loop, body));
    all->first = first;
    params->num_around = around;
    params->inside -= more;
    params->in_front = outer;
    rlx_in_front_free(r->ctx, &own);
    return now;
}

/* A nest with the one in front of it, which may give it its first values, and those behind it. *took: the one in front is part of
 * what comes back. */
static const rlx_stmt *schedule_nest(rlx_rewriter *r, const rlx_stmt *before, const rlx_stmt *s,
                                     rlx_after *after, bool *took)
{
    const rlx_for_stmt *nest = rlx_as_for_stmt(s), *init = before ? rlx_as_for_stmt(before) : NULL;
    const rlx_stmt *now = nest ? rlx_schedule_contraction(r->ctx, r->user, init, nest, after) : s;
    *took = now != s && init != NULL;
    if (now == s)
        now = nest ? schedule_inside(r, nest) : rlx_rewrite(r, s);
    return now;
}

/* The statements of a sequence and of those in it: a sum and what it begins with are one of their own. False: out of memory. */
static bool flatten(rlx_context *ctx, const rlx_seq_stmt *seq, rlx_ptrs *out)
{
    rlx_ptrs pending = { 0 };
    bool ok = rlx_vec_push(&ctx->memory, &pending, (void *)seq);
    while (ok && pending.len) {
        const rlx_stmt *s = rlx_vec_pop(&pending);
        const rlx_seq_stmt *inner = rlx_as_seq_stmt(s);
        if (!inner)
            ok = rlx_vec_push(&ctx->memory, out, (void *)s);
        for (size_t i = inner ? inner->num_stmts : 0; ok && i-- > 0;)
            ok = rlx_vec_push(&ctx->memory, &pending, (void *)inner->stmts[i]);
    }
    rlx_vec_free(&ctx->memory, &pending);
    return ok;
}

/* parts: room for as many as statements; *count: how many there are. False: out of memory. */
static bool schedule_parts(rlx_rewriter *r, const rlx_stmt *const *stmts, size_t num_stmts,
                           const rlx_stmt **parts, size_t *count)
{
    rlx_panel_params *params = r->user;
    rlx_producers *all = params->producers;
    const size_t first = all->count;
    size_t n = 0;
    for (size_t i = 0; i < num_stmts; i++) {
        const rlx_for_stmt *nest = rlx_as_for_stmt(stmts[i]);
        bool took, plain = n && parts[n - 1] == stmts[i - 1];
        rlx_after after = { stmts + i + 1, num_stmts - i - 1, 0 };
        params->before = parts;
        params->num_before = n;
        const rlx_stmt *now = schedule_nest(r, plain ? stmts[i - 1] : NULL, stmts[i], &after, &took);
        if (!now)
            return false;
        n -= took;
        parts[n++] = now;
        if (nest && now == stmts[i] && !rlx_push_producer(r->ctx, all, nest))
            return false;
        i += after.taken;
    }
    rlx_hide_producers(all, first);
    *count = n;
    return true;
}

static const rlx_stmt *schedule_sequence(rlx_rewriter *r, const rlx_seq_stmt *seq)
{
    rlx_ptrs flat = { 0 };
    size_t count = 0;
    const rlx_stmt **parts = NULL, *out = NULL;
    if (flatten(r->ctx, seq, &flat) && rlx_move_short_nests(r->ctx, (const rlx_stmt **)flat.data, flat.len) &&
        rlx_lay_channels(r->ctx, r->user, (const rlx_stmt **)flat.data, &flat.len) &&
        (parts = rlx_new(r->ctx, (flat.len + 1) * sizeof *parts)) != NULL &&
        schedule_parts(r, (const rlx_stmt *const *)flat.data, flat.len, parts, &count)) {
        bool same = count == seq->num_stmts;
        for (size_t i = 0; i < count && same; i++)
            same = parts[i] == seq->stmts[i];
        out = same ? &seq->node : rlx_seq_stmt_new(r->ctx, parts, count, seq->place);
    }
    rlx_vec_free(&r->ctx->memory, &flat);
    return out;
}

/* A nest that has a schedule is replaced; of others the loops inside are looked at. */
static const rlx_node *replace(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n);
    const rlx_for_stmt *nest = rlx_as_for_stmt(n);
    rlx_after none = { .count = 0 };
    ((rlx_panel_params *)r->user)->num_before = 0;
    if (n->kind == RLX_NODE_IF_THEN_ELSE || n->kind == RLX_NODE_WHILE) /* what is inside is done at times only */
        ((rlx_panel_params *)r->user)->in_front = NULL; /* behind it in the loop, too, which is no matter */
    const rlx_stmt *now = seq    ? schedule_sequence(r, seq)
                          : nest ? rlx_schedule_contraction(r->ctx, r->user, NULL, nest, &none)
                                 : n;
    if (now == n && nest)
        now = schedule_inside(r, nest);
    if (!now)
        r->failed = true;
    return now == n && !seq && !nest ? NULL : now;
}

/* plain with another body, and panels in place of some parameters. */
static const rlx_prim_func *scheduled(rlx_context *ctx, const rlx_prim_func *plain,
                                      const rlx_stmt *body, const rlx_panel_params *params)
{
    rlx_prim_func *out = rlx_prim_func_with_body(ctx, plain, body);
    const rlx_attr *yes = rlx_attr_bool_new(ctx, true);
    const rlx_node **buffers =
        out && yes ? rlx_new_copy(ctx, plain->buffers, plain->num_params * sizeof *buffers) : NULL;
    if (!out || !yes || (plain->num_params && !buffers))
        return NULL;
    out->attrs = rlx_attrs_with(ctx, plain->attrs, "tir.is_scheduled", yes);
    for (size_t i = 0; params->wanted && i < plain->num_params; i++)
        if (params->panels[i]) {
            buffers[i] = &params->panels[i]->node;
            out->buffers = buffers;
            out->sinfo = NULL;
        }
    return out->attrs ? out : NULL;
}

/* A temporary that nothing is left of goes, and so does the nest that filled it. */
static const rlx_node *drop_taken(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_producers *all = r->user;
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n);
    const rlx_decl_buffer *d = rlx_as_decl_buffer(n);
    const rlx_allocate *a = rlx_as_allocate(n);
    const rlx_stmt **left = seq ? rlx_new(r->ctx, (seq->num_stmts + 1) * sizeof *left) : NULL;
    size_t count = 0;
    if (d && rlx_is_taken(all, d->buffer))
        return d->body;
    if (a && rlx_is_taken(all, a->var))
        return a->body;
    for (size_t i = 0; left && i < seq->num_stmts; i++)
        if (!rlx_is_taken(all, seq->stmts[i]))
            left[count++] = seq->stmts[i];
    return left && count < seq->num_stmts ? rlx_seq_stmt_new(r->ctx, left, count, seq->place) : n;
}

static const rlx_stmt *without_taken(rlx_context *ctx, const rlx_producers *all,
                                     const rlx_stmt *body)
{
    bool any = all->dropped.len > 0;
    for (size_t i = 0; i < all->count; i++)
        any |= all->at[i].taken;
    if (!any)
        return body;
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    r.after = drop_taken;
    r.user = (void *)all;
    body = rlx_rewrite(&r, body);
    rlx_rewriter_free(&r);
    return body;
}

/* f with its blocks lowered: plain, which had the body `lowered` before nests became one. */
static const rlx_prim_func *schedule_plain(rlx_context *ctx, const rlx_prim_func *f,
                                           const rlx_prim_func *plain, const rlx_stmt *lowered,
                                           rlx_panel_params *params)
{
    rlx_rewriter r;
    rlx_producers all;
    rlx_producers_init(ctx, &all, plain);
    params->producers = &all;
    rlx_rewriter_init(&r, ctx);
    r.before = replace;
    r.user = params;
    const rlx_stmt *body = rlx_rewrite(&r, plain->body);
    rlx_rewriter_free(&r);
    body = body ? without_taken(ctx, &all, body) : NULL;
    rlx_producers_free(&all);
    if (!body || body == lowered)
        return body ? f : NULL;
    return scheduled(ctx, plain, body, params);
}

/* *plain: f with its blocks lowered to the body `lowered`, and nests that hand each other elements as one; NULL where that
 * cannot be. constant: which parameters panels may take the place of; NULL: none. False after a report. */
static bool lower(rlx_context *ctx, const rlx_prim_func *f, const bool *constant, const rlx_prim_func **plain,
                  const rlx_stmt **lowered)
{
    size_t errors = rlx_error_count(ctx);
    const rlx_prim_func *p =
        rlx_flag_attr(f->attrs, "tir.is_scheduled") ? NULL : rlx_tir_lower_blocks(ctx, f);
    *lowered = p ? rlx_flatten_sequences(ctx, p->body) : NULL;
    if (*lowered && constant)
        *lowered = rlx_read_through_moves(ctx, p, constant, *lowered);
    const rlx_stmt *plainly = *lowered ? rlx_fold_ranges(ctx, *lowered) : NULL, *sums = plainly ? rlx_sums_apart(ctx, plainly) : NULL,
                   *apart = sums ? rlx_split_same_sizes(ctx, p, sums) : NULL,
                   *body = apart ? rlx_inline_nests(ctx, apart) : NULL,
                   *rows = body ? rlx_join_rows(ctx, body) : NULL;
    body = rows && rows != body ? rlx_inline_nests(ctx, rows) : rows;
    body = body ? rlx_split_guards(ctx, body) : NULL;
    body = body ? rlx_split_digits(ctx, body) : NULL;
    *plain = body && body != p->body ? rlx_prim_func_with_body(ctx, p, body) : body ? p : NULL;
    return *plain || rlx_error_count(ctx) == errors;
}

const rlx_prim_func *rlx_schedule(rlx_context *ctx, const rlx_prim_func *f)
{
    const rlx_prim_func *plain;
    const rlx_stmt *lowered;
    rlx_panel_params none = { .function = f };
    if (!lower(ctx, f, NULL, &plain, &lowered))
        return NULL;
    none.function = plain;
    return plain ? schedule_plain(ctx, f, plain, lowered, &none) : f;
}

/* ---- parameters as panels ------------------------------------------------------------------- */

int rlx_panel_param(const rlx_panel_params *p, const rlx_buffer *b)
{
    for (size_t i = 0; p->wanted && i < p->function->num_params; i++)
        if (p->function->buffers[i] == &b->node)
            return p->wanted[i] && !p->panels[i] ? (int)i : -1;
    return -1;
}

const rlx_prim_func *rlx_filling_function(rlx_context *ctx, const rlx_node *from_param, const rlx_buffer *from,
                                          const rlx_buffer *to, const rlx_stmt *body, rlx_place place)
{
    rlx_prim_func *f = rlx_node_new(ctx, RLX_NODE_PRIM_FUNC);
    const rlx_string *name = rlx_string_z(ctx, "panels");
    rlx_prim_var *var = name ? rlx_prim_var_new(ctx, name, RELAX_HANDLE, RLX_NO_PLACE) : NULL;
    const rlx_attr *yes = rlx_attr_bool_new(ctx, true);
    const rlx_node **lists = rlx_new(ctx, 4 * sizeof *lists);
    if (!f || !var || !yes || !lists)
        return NULL;
    lists[0] = from_param;
    lists[1] = &var->node;
    lists[2] = &from->node;
    lists[3] = &to->node;
    f->place = place;
    f->params = lists;
    f->buffers = lists + 2;
    f->num_params = f->num_buffers = 2;
    f->ret_dtype = RELAX_VOID;
    f->body = body;
    f->attrs = rlx_attrs_with(ctx, NULL, "tir.is_scheduled", yes);
    return f->attrs ? rlx_as_prim_func(rlx_copy_fresh(ctx, &f->node)) : NULL;
}

bool rlx_take_panels(rlx_context *ctx, const rlx_panel_params *p, int param,
                     const rlx_buffer *panels, const rlx_stmt *body)
{
    const rlx_prim_func *f = p->function;
    p->packs[param] = rlx_filling_function(ctx, f->params[param], rlx_as_buffer(f->buffers[param]), panels,
                                           body, f->place);
    p->panels[param] = panels;
    return p->packs[param] != NULL;
}

typedef struct uses { const rlx_buffer *buffer; size_t count; } uses;

static enum rlx_step count_use(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    uses *u = user;
    u->count += n == &u->buffer->node || n == u->buffer->data;
    return RLX_STEP_ON;
}

/* Wanted are parameters that a single place reads, and whose size is known. False: out of memory. */
static bool choose_params(rlx_context *ctx, const rlx_prim_func *f, const bool *constant,
                          bool *wanted)
{
    for (size_t i = 0; i < f->num_params && !ctx->diags.out_of_memory; i++) {
        uses u = { constant[i] && f->buffers[i] ? rlx_as_buffer(f->buffers[i]) : NULL, 0 };
        rlx_walker w = { .enter = count_use, .user = &u };
        wanted[i] = u.buffer != NULL;
        for (size_t d = 0; wanted[i] && d < u.buffer->num_shape; d++)
            wanted[i] = u.buffer->shape[d]->kind == RLX_NODE_INT_IMM;
        if (wanted[i])
            rlx_walk(&ctx->memory, f->body, &w, NULL);
        wanted[i] = wanted[i] && u.count == 1;
    }
    return !ctx->diags.out_of_memory;
}

/* ---- parameters that several places read ---------------------------------------------------- */

enum { MOST_READS = 16 };

/* A function with a parameter for each load of a constant one. */
typedef struct splitting {
    rlx_context *ctx;
    const rlx_buffer *buffer;        /* of the parameter that is looked at */
    size_t mentions, loads;          /* of it; loads that the rewriter has met */
    const rlx_node **params, **buffers;
    size_t *of, count;
} splitting;

static enum rlx_step count_read(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    splitting *s = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    s->mentions += n == &s->buffer->node || n == s->buffer->data;
    s->loads += l && l->buffer == &s->buffer->node && !l->predicate;
    return RLX_STEP_ON;
}

/* Another parameter for what number `of` is. NULL: out of memory. */
static const rlx_buffer *add_param(splitting *s, size_t of)
{
    const rlx_buffer *b = s->buffer;
    rlx_prim_var *var = rlx_prim_var_new(s->ctx, b->name, RELAX_HANDLE, b->place);
    const rlx_buffer *own = var ? rlx_buffer_new(s->ctx, b->name, b->dtype, b->shape, b->num_shape, b->scope, b->place) : NULL;
    if (!own)
        return NULL;
    s->params[s->count] = &var->node;
    s->buffers[s->count] = &own->node;
    s->of[s->count++] = of;
    return own;
}

typedef struct reading { splitting *s; size_t of; } reading;

static const rlx_node *read_own(rlx_rewriter *r, const rlx_node *n)
{
    reading *x = r->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    if (!l || l->buffer != &x->s->buffer->node)
        return NULL;
    if (x->s->loads++ == 0)
        return n;
    const rlx_buffer *own = add_param(x->s, x->of);
    const rlx_prim *now = own ? rlx_load(r->ctx, own, l->indices, l->num_indices) : NULL;
    r->failed |= !now;
    return now;
}

/* *body: with parameters of their own for loads of parameter i, if there are some such loads, and nothing else. False: out of memory, or it
 * is not told apart what stands where. */
static bool split_param(splitting *s, const rlx_prim_func *f, size_t i, const rlx_stmt **body)
{
    rlx_walker w = { .enter = count_read, .user = s };
    bool lost = false;
    s->buffer = rlx_as_buffer(f->buffers[i]);
    s->mentions = s->loads = 0;
    rlx_walk(&s->ctx->memory, *body, &w, &lost);
    const size_t loads = s->loads;
    if (lost || loads < 2 || loads > MOST_READS || s->mentions != loads || s->count + loads - 1 > f->num_params + MOST_READS)
        return !lost;
    reading x = { s, i };
    rlx_rewriter r;
    rlx_rewriter_init(&r, s->ctx);
    r.before = read_own;
    r.user = &x;
    s->loads = 0;
    *body = rlx_rewrite(&r, *body);
    rlx_rewriter_free(&r);
    return *body && s->loads == loads;
}

/* The function with those parameters; itself if there are none. NULL: out of memory, or as above. */
static const rlx_prim_func *split_reads(rlx_context *ctx, const rlx_prim_func *f, const bool *constant, rlx_with_panels *out)
{
    const size_t most = f->num_params + MOST_READS;
    splitting s = { .ctx = ctx, .count = f->num_params,
                    .params = rlx_new(ctx, (most + 1) * sizeof *s.params), .buffers = rlx_new(ctx, (most + 1) * sizeof *s.buffers),
                    .of = rlx_new(ctx, (most + 1) * sizeof *s.of) };
    const rlx_stmt *body = f->body;
    bool ok = s.params && s.buffers && s.of && f->num_buffers == f->num_params;
    for (size_t i = 0; i < f->num_params && ok; i++) {
        s.params[i] = f->params[i];
        s.buffers[i] = f->buffers[i];
        s.of[i] = i;
    }
    for (size_t i = 0; i < f->num_params && ok; i++)
        ok = !constant[i] || !f->buffers[i] || split_param(&s, f, i, &body);
    if (!ok || s.count == f->num_params)
        return ok ? f : NULL;
    rlx_prim_func *now = rlx_prim_func_with_body(ctx, f, body);
    if (!now)
        return NULL;
    now->params = s.params;
    now->buffers = s.buffers;
    now->num_params = now->num_buffers = s.count;
    now->sinfo = NULL;
    out->of = s.of;
    out->num_params = s.count;
    return now;
}

static bool count_elements(const rlx_buffer *b, int64_t *out)
{
    int64_t size;
    *out = 1;
    for (size_t d = 0; d < b->num_shape; d++)
        if (!rlx_int_literal(b->shape[d], &size) || !rlx_mul_i64(*out, size, out))
            return false;
    return true;
}

/* Has each of the parameters that are one of f panels, and have these together hardly more elements than that? */
static bool are_parts(const rlx_prim_func *f, const rlx_with_panels *p)
{
    for (size_t i = 0; i < f->num_params; i++) {
        size_t params = 0, packed = 0;
        int64_t all = 0, part, whole;
        for (size_t k = 0; k < p->num_params; k++) {
            if (p->of[k] != i)
                continue;
            params++;
            packed += p->packs[k] && count_elements(rlx_as_buffer(p->packs[k]->buffers[1]), &part) && rlx_add_i64(all, part, &all);
        }
        if (params > 1 && (packed < params || !count_elements(rlx_as_buffer(f->buffers[i]), &whole) || all / 3 > whole / 2))
            return false;
    }
    return true;
}

/* plain scheduled, with panels of constant parameters: out->function. NULL: out of memory. */
static const rlx_prim_func *schedule_params(rlx_context *ctx, const rlx_prim_func *f, const rlx_prim_func *plain, const rlx_stmt *lowered,
                                            const bool *constant, rlx_with_panels *out)
{
    bool *wanted = rlx_new_zero(ctx, out->num_params + 1), *of_param = rlx_new_zero(ctx, out->num_params + 1);
    out->packs = rlx_new_zero(ctx, (out->num_params + 1) * sizeof *out->packs);
    rlx_panel_params params = { .function = plain, .wanted = wanted, .packs = out->packs,
                                .panels = rlx_new_zero(ctx, (out->num_params + 1) * sizeof *params.panels) };
    if (!wanted || !of_param || !out->packs || !params.panels)
        return NULL;
    for (size_t i = 0; i < out->num_params; i++)
        of_param[i] = constant[out->of[i]];
    return out->function = choose_params(ctx, plain, of_param, wanted) ? schedule_plain(ctx, f, plain, lowered, &params) : NULL;
}

bool rlx_schedule_packed(rlx_context *ctx, const rlx_prim_func *f, const bool *constant, rlx_with_panels *out)
{
    const rlx_prim_func *plain;
    const rlx_stmt *lowered;
    size_t *same = rlx_new(ctx, (f->num_params + 1) * sizeof *same);
    *out = (rlx_with_panels){ .function = f, .num_params = f->num_params, .of = same };
    for (size_t i = 0; i < f->num_params && same; i++)
        same[i] = i;
    if (!same || !lower(ctx, f, constant, &plain, &lowered))
        return false;
    if (!plain)
        return (out->packs = rlx_new_zero(ctx, (f->num_params + 1) * sizeof *out->packs)) != NULL;
    const rlx_prim_func *split = split_reads(ctx, plain, constant, out);
    if (split && split != plain && schedule_params(ctx, f, split, lowered, constant, out) && are_parts(f, out))
        return true;
    out->of = same;
    out->num_params = f->num_params;
    return !ctx->diags.out_of_memory && schedule_params(ctx, f, plain, lowered, constant, out);
}
