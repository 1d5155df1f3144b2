/*- split_dataflow.c: bindings that may not stand in a dataflow block get an ordinary block there.
 *     with R.dataflow():          ->   with R.dataflow():
 *         a = R.exp(x)                     a = R.exp(x)
 *         b = cls.f(a)                     R.output(a)
 *         gv = R.add(a, b)             b = cls.f(a)
 *         R.output(gv)                 with R.dataflow():
 *                                          gv = R.add(a, b)
 *                                          R.output(gv)
 * needs: normal form. keeps: order, names, places, struct info. Variables that are used in another
 * block now become ordinary ones. Linear: each block is looked at once; a local function does not
 * see variables of a dataflow block around it. */
#include "transform/seq_pass.h"
#include "transform/transform_int.h"

typedef struct split {
    rlx_context *ctx;
    rlx_apart_fn *is_apart;
    void *user;
    RLX_VEC(const rlx_block *) blocks; /* with a binding that goes out */
    rlx_ptrmap pieces;     /* variable of such a block -> the piece that binds it */
    rlx_ptrmap crossing;   /* those that another piece uses */
    rlx_ptrmap apart;      /* new variables that bindings which go out bind */
    uintptr_t piece;       /* under way */
    rlx_rewriter names;
} split;

static bool picks(const split *s, const rlx_binding *b)
{
    return rlx_binding_var(b) && s->is_apart(s->user, b);
}

static enum rlx_step find_block(void *user, const rlx_node *n, const rlx_field *via,
                                const rlx_node *parent)
{
    split *s = user;
    const rlx_block *b = n->kind == RLX_NODE_DATAFLOW_BLOCK ? rlx_as_block(n) : NULL;
    (void)via, (void)parent;
    for (size_t i = 0; b && i < b->num_bindings; i++) {
        if (!picks(s, b->bindings[i]))
            continue;
        if (!rlx_vec_push(&s->ctx->memory, &s->blocks, b))
            return RLX_STEP_STOP;
        break;
    }
    return RLX_STEP_ON;
}

static bool find_blocks(split *s, const rlx_function *f)
{
    rlx_walker w = { .enter = find_block, .user = s, .code = true };
    bool lost = false;
    bool stopped = rlx_walk(&s->ctx->memory, &f->node, &w, &lost) == RLX_STEP_STOP;
    return lost ? false : !stopped;
}

/* ---- what crosses */

/* Calls `each` for the bindings of a block, with the piece of each under way. */
static bool each_binding(split *s, const rlx_block *block,
                         bool (*each)(split *s, const rlx_binding *b, bool goes_out))
{
    bool good = true;
    for (size_t i = 0; good && i < block->num_bindings; i++) {
        bool goes_out = picks(s, block->bindings[i]);
        s->piece += goes_out;
        good = each(s, block->bindings[i], goes_out);
        s->piece += goes_out;
    }
    return good;
}

static bool put_in_map(split *s, rlx_ptrmap *map, const void *key, uintptr_t value)
{
    return rlx_ptrmap_put(map, key, value);
}

static bool note_piece(split *s, const rlx_binding *b, bool goes_out)
{
    const rlx_var *v = rlx_binding_var(b);
    if (!v || v->node.kind != RLX_NODE_DATAFLOW_VAR)
        return true;
    return put_in_map(s, &s->pieces, v, s->piece) &&
           (!goes_out || put_in_map(s, &s->crossing, v, 1));
}

static enum rlx_step note_use(void *user, const rlx_node *n, const rlx_field *via,
                              const rlx_node *parent)
{
    split *s = user;
    uintptr_t piece;
    (void)parent;
    if (n->kind == RLX_NODE_FUNCTION)
        return RLX_STEP_SKIP;
    bool crosses = n->kind == RLX_NODE_DATAFLOW_VAR && !rlx_field_is_def(via) &&
                   rlx_ptrmap_find(&s->pieces, n, &piece) && piece != s->piece;
    return !crosses || put_in_map(s, &s->crossing, n, 1) ? RLX_STEP_ON : RLX_STEP_STOP;
}

static bool note_uses(split *s, const rlx_binding *b, bool goes_out)
{
    rlx_walker w = { .enter = note_use, .user = s, .annotations = true };
    bool lost = false;
    (void)goes_out;
    bool stopped = rlx_walk(&s->ctx->memory, b, &w, &lost) == RLX_STEP_STOP;
    return lost ? false : !stopped;
}

static bool renew(split *s, const rlx_binding *b, bool goes_out)
{
    const rlx_var *v = rlx_binding_var(b), *now = v;
    if (v && rlx_ptrmap_has(&s->crossing, v)) {
        const rlx_sinfo *info = v->sinfo ? rlx_rewrite(&s->names, v->sinfo) : NULL;
        now = v->sinfo && !info ? NULL : rlx_var_like(s->ctx, v, false, info);
        if (!now || !put_in_map(s, &s->names.map, v, (uintptr_t)now))
            return false;
    }
    return !goes_out || put_in_map(s, &s->apart, now, 1);
}

static bool find_crossing(split *s)
{
    for (size_t i = 0; i < s->blocks.len; i++) {
        const rlx_block *block = s->blocks.data[i];
        uintptr_t first = ++s->piece;
        if (!each_binding(s, block, note_piece))
            return false;
        s->piece = first;
        if (!each_binding(s, block, note_uses) || !each_binding(s, block, renew))
            return false;
    }
    return true;
}

/* ---- the blocks */

typedef RLX_VEC(const rlx_node *) blocks;

static bool goes_out(const split *s, const rlx_binding *b)
{
    const rlx_var *v = rlx_binding_var(b);
    return v && rlx_ptrmap_has(&s->apart, v);
}

/* Runs of bindings that stay and that go out, one after the other. */
static bool cut(split *s, const rlx_block *block, blocks *out)
{
    size_t end;
    for (size_t at = 0; at < block->num_bindings; at = end) {
        bool apart = goes_out(s, block->bindings[at]);
        for (end = at + 1; end < block->num_bindings; end++)
            if (goes_out(s, block->bindings[end]) != apart)
                break;
        const rlx_node *run =
            rlx_block_new(s->ctx, !apart, block->bindings + at, end - at, block->place);
        if (!run)
            return false;
        if (!rlx_vec_push(&s->ctx->memory, out, run))
            return false;
    }
    return true;
}

static bool is_cut(const split *s, const rlx_block *b)
{
    for (size_t i = 0; b->node.kind == RLX_NODE_DATAFLOW_BLOCK && i < b->num_bindings; i++)
        if (goes_out(s, b->bindings[i]))
            return true;
    return false;
}

static const rlx_node *cut_sequence(rlx_rewriter *r, const rlx_node *n)
{
    split *s = r->user;
    const rlx_seq_expr *seq = rlx_as_seq_expr(n);
    blocks out = { 0 };
    bool good = true, any = false;
    for (size_t i = 0; seq && good && i < seq->num_blocks; i++) {
        const rlx_block *b = rlx_as_block(seq->blocks[i]);
        bool here = is_cut(s, b);
        any |= here;
        good = here ? cut(s, b, &out) : rlx_vec_push(&s->ctx->memory, &out, &b->node);
    }
    const rlx_node *now =
        good && any ? rlx_seq_new(s->ctx, out.data, out.len, seq->body, seq->place) : n;
    rlx_vec_free(&s->ctx->memory, &out);
    r->failed |= !good || !now;
    return now;
}

const rlx_function *rlx_split_dataflow(rlx_context *ctx, const rlx_function *f,
                                       rlx_apart_fn *is_apart, void *user, const rlx_var **follow)
{
    split s = { .ctx = ctx, .is_apart = is_apart, .user = user };
    rlx_ptrmap_init(&s.pieces, &ctx->memory);
    rlx_ptrmap_init(&s.crossing, &ctx->memory);
    rlx_ptrmap_init(&s.apart, &ctx->memory);
    rlx_rewriter_init(&s.names, ctx);
    s.names.user = &s;
    bool good = find_blocks(&s, f) && find_crossing(&s);
    const rlx_var *followed = *follow ? rlx_ptrmap_get(&s.names.map, *follow) : NULL;
    *follow = followed ? followed : *follow;
    s.names.after = cut_sequence;
    const rlx_function *out = !good          ? NULL
                              : s.blocks.len ? rlx_as_function(rlx_rewrite(&s.names, &f->node))
                                             : f;
    rlx_rewriter_free(&s.names);
    rlx_ptrmap_free(&s.apart);
    rlx_ptrmap_free(&s.crossing);
    rlx_ptrmap_free(&s.pieces);
    rlx_vec_free(&ctx->memory, &s.blocks);
    return out;
}
