/*- read_through.c: what reads a constant in another order reads the constant itself.
 *
 *     for k, j:     T[k, j] = W[j, k]                      (the nest that stores T is dead)
 *     for i, j, k:  C[i, j] += X[i, k] * T[k, j]     ->    for i, j, k:  C[i, j] += X[i, k] * W[j, k]
 *
 * This is of use only where W is then read in panels, which are packed once, whatever its order: elsewhere memory is
 * read faster by two nests.
 */
#include "schedule/schedule_int.h"

/* A nest that stores a parameter's elements in another order. */
typedef struct mover {
    const rlx_buffer *from, *to;
    const rlx_buffer_store *store;
    const rlx_buffer_load *load;
} mover;

typedef struct reading {
    rlx_context *ctx;
    const rlx_prim_func *f;
    const bool *constant;
    mover m;
    size_t stores, loads, mentions;      /* of what is stored: by its buffer; of its memory in any way */
} reading;

static const rlx_buffer *constant_buffer(const reading *r, const rlx_node *b)
{
    for (size_t i = 0; i < r->f->num_params; i++)
        if (r->constant[i] && r->f->buffers[i] == b)
            return rlx_as_buffer(b);
    return NULL;
}

static bool is_param(const reading *r, const rlx_buffer *b)
{
    for (size_t i = 0; i < r->f->num_params; i++) {
        const rlx_buffer *p = r->f->buffers[i] ? rlx_as_buffer(r->f->buffers[i]) : NULL;
        if (p && p->data == b->data)
            return true;
    }
    return false;
}

/* The dimension whose index is this loop, all along it. -1: none. */
static int dimension_of(const rlx_buffer *b, const rlx_prim *const *indices, size_t count, const rlx_for_stmt *f)
{
    int at = -1;
    int64_t size, extent;
    for (size_t d = 0; d < count; d++) {
        if (indices[d] != f->loop_var)
            continue;
        bool whole = rlx_int_literal(b->shape[d], &size) && rlx_int_literal(f->extent, &extent) && size == extent;
        if (at >= 0 || !whole)
            return -1;
        at = (int)d;
    }
    return at;
}

/* Does the nest move all of a constant, element by element? */
static bool read_nest(const reading *r, const rlx_for_stmt *nest, mover *m)
{
    const rlx_stmt *s = &nest->node;
    size_t loops = 0;
    while (s->kind == RLX_NODE_FOR)
        s = ((const rlx_for_stmt *)s)->body, loops++;
    m->store = rlx_as_buffer_store(s);
    m->load = m->store ? rlx_as_buffer_load(m->store->value) : NULL;
    m->from = m->load ? constant_buffer(r, m->load->buffer) : NULL;
    m->to = m->from ? rlx_as_buffer(m->store->buffer) : NULL;
    if (!m->to || m->store->predicate || m->load->predicate || is_param(r, m->to) || m->to->dtype != m->from->dtype ||
        m->store->num_indices != loops || m->load->num_indices != loops)
        return false;
    for (s = &nest->node; s->kind == RLX_NODE_FOR; s = ((const rlx_for_stmt *)s)->body) {
        const rlx_for_stmt *f = (const rlx_for_stmt *)s;
        if (!rlx_is_int_value(f->min, 0) || dimension_of(m->to, m->store->indices, loops, f) < 0 ||
            dimension_of(m->from, m->load->indices, loops, f) < 0)
            return false;
    }
    return true;
}

static enum rlx_step find_nest(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    reading *r = user;
    if (n->kind != RLX_NODE_FOR)
        return RLX_STEP_ON;
    return read_nest(r, (const rlx_for_stmt *)n, &r->m) ? RLX_STEP_STOP : RLX_STEP_SKIP;
}

static enum rlx_step count_uses(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    reading *r = user;
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_buffer *b = s ? rlx_as_buffer(s->buffer) : l ? rlx_as_buffer(l->buffer) : NULL;
    r->stores += s && (b == r->m.to || b->data == r->m.from->data);
    r->loads += l && b == r->m.to && !l->predicate;
    r->mentions += b && b->data == r->m.to->data;
    return RLX_STEP_ON;
}

static const rlx_node *replace_load(rlx_rewriter *w, const rlx_node *n)
{
    const mover *m = w->user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_prim *at[RLX_TIR_MAX_DIMS];
    if (!l || l->buffer != &m->to->node)
        return NULL;
    for (size_t d = 0; d < m->load->num_indices; d++)
        for (size_t i = 0; i < m->store->num_indices; i++)
            if (m->store->indices[i] == m->load->indices[d])
                at[d] = rlx_rewrite(w, l->indices[i]);
    const rlx_prim *out = rlx_load(w->ctx, m->from, at, m->load->num_indices);
    w->failed |= !out;
    return out;
}

const rlx_stmt *rlx_read_through_moves(rlx_context *ctx, const rlx_prim_func *f, const bool *constant,
                                       const rlx_stmt *body)
{
    reading r = { .ctx = ctx, .f = f, .constant = constant };
    rlx_walker find = { .enter = find_nest, .user = &r }, count = { .enter = count_uses, .user = &r };
    bool lost = false;
    if (rlx_walk(&ctx->memory, body, &find, &lost) != RLX_STEP_STOP || lost)
        return lost ? NULL : body;
    rlx_walk(&ctx->memory, body, &count, &lost);
    if (lost || r.stores != 1 || r.mentions != r.loads + 1)
        return lost ? NULL : body;
    rlx_rewriter w;
    rlx_rewriter_init(&w, ctx);
    w.before = replace_load;
    w.user = &r.m;
    const rlx_stmt *out = rlx_rewrite(&w, body);
    rlx_rewriter_free(&w);
    return out;
}
