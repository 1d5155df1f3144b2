/*- flatten.c: the statements of a function as one sequence, so that those that hand each other elements stand beside each other.
 *
 *     for n in range(1):                          X = alloc_buffer(..)
 *         X = alloc_buffer(..)                    for i:     F[i] = rsqrt(V[i])
 *         for i, j:  X[i, j] = A[n, i, j]    ->   for i, j:  X[i, j] = A[0, i, j]
 *         for ..:    C[n, ..] += X[..] * ..       for ..:    C[0, ..] += X[..] * ..
 *     for i:     F[i] = rsqrt(V[i])               for i, j:  Y[i, j] = C[0, i, j] * F[i]
 *     for i, j:  Y[i, j] = C[0, i, j] * F[i]
 */
#include "schedule/accesses.h"

/* ---- sequences ------------------------------------------------------------------------------ */

static const rlx_stmt *body_of(const rlx_stmt *s)
{
    const rlx_allocate *a = rlx_as_allocate(s);
    const rlx_decl_buffer *d = rlx_as_decl_buffer(s);
    return a ? a->body : d ? d->body : NULL;
}

/* What stands in temporaries of its own; they are added to *around. */
static const rlx_stmt *strip_temporaries(rlx_context *ctx, const rlx_stmt *s, rlx_ptrs *around)
{
    for (const rlx_stmt *body; (body = body_of(s)) != NULL; s = body)
        if (around)
            (void)rlx_vec_push(&ctx->memory, around, (void *)s);
    return s;
}

/* The allocation or declaration with another body. NULL: out of memory. */
static const rlx_stmt *put_around(rlx_context *ctx, const rlx_stmt *s, const rlx_stmt *body)
{
    const rlx_decl_buffer *d = rlx_as_decl_buffer(s);
    if (d || !body)
        return body ? rlx_declare_view(ctx, rlx_as_buffer(d->buffer), body, d->place) : NULL;
    rlx_allocate *a = rlx_node_new(ctx, RLX_NODE_ALLOCATE);
    if (!a)
        return NULL;
    rlx_node head = a->node;
    *a = *rlx_as_allocate(s);
    a->node = head;
    a->body = body;
    return &a->node;
}

/* A sequence in a sequence is part of it. */
static const rlx_stmt *flatten_sequence(rlx_context *ctx, const rlx_seq_stmt *seq)
{
    size_t count = 0, all = 0;
    const rlx_seq_stmt *part;
    for (size_t i = 0; i < seq->num_stmts; i++)
        all += (part = rlx_as_seq_stmt(strip_temporaries(ctx, seq->stmts[i], NULL))) ? part->num_stmts : 1;
    if (all == seq->num_stmts)
        return &seq->node;
    rlx_ptrs around = { 0 };
    const rlx_stmt **stmts = rlx_new(ctx, (all + 1) * sizeof *stmts), *flat = NULL;
    for (size_t i = 0; stmts && i < seq->num_stmts; i++)
        if ((part = rlx_as_seq_stmt(strip_temporaries(ctx, seq->stmts[i], &around))))
            for (size_t k = 0; k < part->num_stmts; k++)
                stmts[count++] = part->stmts[k];
        else
            stmts[count++] = strip_temporaries(ctx, seq->stmts[i], NULL);
    flat = stmts && !ctx->diags.out_of_memory ? rlx_seq_stmt_new(ctx, stmts, count, seq->place) : NULL;
    while (around.len)
        flat = put_around(ctx, rlx_vec_pop(&around), flat);
    rlx_vec_free(&ctx->memory, &around);
    return flat;
}

/* The body of a loop that surely runs once, around more than a nest. */
static const rlx_stmt *drop_single_loop(rlx_context *ctx, const rlx_for_stmt *f)
{
    const rlx_stmt *inside = f->body;
    while (inside->kind == RLX_NODE_FOR || body_of(inside))
        inside = inside->kind == RLX_NODE_FOR ? ((const rlx_for_stmt *)inside)->body : body_of(inside);
    if (!rlx_is_int_value(f->extent, 1) || f->for_kind != RLX_FOR_SERIAL || inside->kind != RLX_NODE_SEQ_STMT)
        return &f->node;
    rlx_rewriter r;
    rlx_tir_folder_init(&r, ctx);
    const rlx_stmt *body = rlx_ptrmap_put(&r.map, f->loop_var, (uintptr_t)f->min) ? rlx_rewrite(&r, f->body) : NULL;
    rlx_rewriter_free(&r);
    return body;
}

static const rlx_node *flatten_node(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_seq_stmt *seq = rlx_as_seq_stmt(n);
    const rlx_for_stmt *f = rlx_as_for_stmt(n);
    const rlx_stmt *now = seq ? flatten_sequence(r->ctx, seq) : f ? drop_single_loop(r->ctx, f) : n;
    r->failed |= !now;
    return now;
}

const rlx_stmt *rlx_flatten_sequences(rlx_context *ctx, const rlx_stmt *body)
{
    rlx_rewriter r;
    rlx_rewriter_init(&r, ctx);
    r.after = flatten_node;
    body = rlx_rewrite(&r, body);
    rlx_rewriter_free(&r);
    return body;
}

/* ---- order ---------------------------------------------------------------------------------- */

/* A number, or a single loop, that is computed: what sums begin with stays with them. */
static bool is_short(const rlx_stmt *s)
{
    size_t loops = 0;
    for (const rlx_for_stmt *f; (f = rlx_as_for_stmt(s)) != NULL; s = f->body)
        loops += !rlx_is_int_value(f->extent, 1);
    const rlx_buffer_store *store = loops <= 1 ? rlx_as_buffer_store(s) : NULL;
    return store && store->value->kind != RLX_NODE_FLOAT_IMM && store->value->kind != RLX_NODE_INT_IMM;
}

bool rlx_move_short_nests(rlx_context *ctx, const rlx_stmt **stmts, size_t count)
{
    rlx_order passed;
    const rlx_stmt **rest = rlx_new(ctx, (count + 1) * sizeof *rest);
    size_t first = 0, left = 0, i = 0;
    bool ok = rest != NULL;
    rlx_ptrmap_init(&passed.last_store, &ctx->memory);
    rlx_ptrmap_init(&passed.last_load, &ctx->memory);
    /* other statements may check what nests behind them rely on */
    for (; i < count && ok && (stmts[i]->kind == RLX_NODE_FOR || stmts[i]->kind == RLX_NODE_BUFFER_STORE); i++) {
        if (is_short(stmts[i]) && rlx_may_go_first(ctx, &passed, stmts[i])) {
            stmts[first++] = stmts[i];
            continue;
        }
        rest[left++] = stmts[i];
        ok = rlx_note_statement(ctx, &passed, stmts[i], 1);
    }
    rlx_ptrmap_free(&passed.last_store);
    rlx_ptrmap_free(&passed.last_load);
    if (ok)
        memcpy(stmts + first, rest, left * sizeof *rest);
    return ok;
}
