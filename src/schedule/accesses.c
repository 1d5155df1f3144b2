/* accesses.c: what the statements of a function do with memory. */
#include "schedule/accesses.h"

uintptr_t rlx_number_in(const rlx_ptrmap *map, const rlx_node *key)
{
    uintptr_t n = 0;
    rlx_ptrmap_find(map, key, &n);
    return n;
}

bool rlx_add_in(rlx_ptrmap *map, const rlx_node *key, uintptr_t n)
{
    return rlx_ptrmap_put(map, key, rlx_number_in(map, key) + n);
}

/* ---- of a function -------------------------------------------------------------------------- */

/* Allocations with only declarations, names and checks between them and a sequence belong to it. */
static void find_owner(rlx_accesses *u, const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_ALLOCATE:
        (void)rlx_vec_push(&u->ctx->memory, &u->pending, (void *)((const rlx_allocate *)n)->var);
        return;
    case RLX_NODE_DECL_BUFFER: case RLX_NODE_LET_STMT: case RLX_NODE_ASSERT_STMT: case RLX_NODE_ATTR_STMT: return;
    case RLX_NODE_SEQ_STMT:
        for (size_t i = 0; i < u->pending.len; i++)
            (void)rlx_ptrmap_put(&u->owner, u->pending.data[i], (uintptr_t)n);
        u->pending.len = 0;
        return;
    default:
        if (rlx_family_of(n) == RLX_FAMILY_STMT)
            u->pending.len = 0;
    }
}

static enum rlx_step meet_node(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    rlx_accesses *u = user;
    if (n->kind == RLX_NODE_BUFFER_STORE)
        (void)rlx_add_in(&u->stored, rlx_plan_memory(((const rlx_buffer_store *)n)->buffer), 1);
    else if (n->kind == RLX_NODE_DECL_BUFFER)
        (void)rlx_add_in(&u->declared, rlx_plan_memory(((const rlx_decl_buffer *)n)->buffer), 1);
    else if (n->kind == RLX_NODE_PRIM_VAR && parent && parent->kind != RLX_NODE_BUFFER && !rlx_field_is_def(via))
        (void)rlx_ptrmap_put(&u->spoiled, n, 1);
    find_owner(u, n);
    return RLX_STEP_ON;
}

bool rlx_is_temporary_of(const rlx_accesses *u, const rlx_stmt *seq, const rlx_node *memory)
{
    return rlx_number_in(&u->owner, memory) == (uintptr_t)seq && rlx_number_in(&u->declared, memory) == 1 &&
           !rlx_ptrmap_has(&u->spoiled, memory);
}

static const rlx_node *drop_temporary(rlx_rewriter *r, const rlx_node *n)
{
    const rlx_accesses *u = r->user;
    const rlx_decl_buffer *d = rlx_as_decl_buffer(n);
    const rlx_allocate *a = rlx_as_allocate(n);
    if (d && rlx_ptrmap_has(&u->dropped, rlx_plan_memory(d->buffer)))
        return d->body;
    return a && rlx_ptrmap_has(&u->dropped, a->var) ? a->body : n;
}

const rlx_stmt *rlx_rewrite_sequences(rlx_context *ctx, const rlx_stmt *body,
                                      const rlx_node *(*replace)(rlx_rewriter *r, const rlx_node *n))
{
    rlx_accesses u = { .ctx = ctx };
    rlx_ptrmap *maps[] = { &u.stored, &u.declared, &u.spoiled, &u.owner, &u.dropped };
    rlx_walker w = { .enter = meet_node, .user = &u, .terse = true };
    rlx_rewriter r;
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_init(maps[i], &ctx->memory);
    rlx_walk(&ctx->memory, body, &w, NULL);
    rlx_rewriter_init(&r, ctx);
    r.before = replace;
    r.after = drop_temporary;
    r.user = &u;
    body = ctx->diags.out_of_memory ? NULL : rlx_rewrite(&r, body);
    rlx_rewriter_free(&r);
    rlx_vec_free(&ctx->memory, &u.pending);
    for (size_t i = 0; i < RLX_COUNT(maps); i++)
        rlx_ptrmap_free(maps[i]);
    return ctx->diags.out_of_memory ? NULL : body;
}

/* ---- order ---------------------------------------------------------------------------------- */

static bool raise_to(rlx_ptrmap *map, const rlx_node *memory, uintptr_t at)
{
    return rlx_number_in(map, memory) >= at || rlx_ptrmap_put(map, memory, at);
}

bool rlx_note_access(rlx_order *o, const rlx_node *memory, bool loads, bool stores, uintptr_t at)
{
    return (!loads || raise_to(&o->last_load, memory, at)) && (!stores || raise_to(&o->last_store, memory, at));
}

/* The statements so far, and one more; at 0: may it go first? */
typedef struct noting { rlx_order *order; uintptr_t at; bool stays; } noting;

static enum rlx_step note_node(void *user, const rlx_node *n, const rlx_field *via, const rlx_node *parent)
{
    noting *t = user;
    const rlx_buffer_load *l = rlx_as_buffer_load(n);
    const rlx_buffer_store *s = rlx_as_buffer_store(n);
    bool raw = n->kind == RLX_NODE_PRIM_VAR && ((const rlx_prim_var *)n)->dtype == RELAX_HANDLE;
    const rlx_node *memory = l ? rlx_plan_memory(l->buffer) : s ? rlx_plan_memory(s->buffer) : raw ? n : NULL;
    if (memory && t->at)
        (void)rlx_note_access(t->order, memory, !s, !l, t->at);
    else if (memory)
        t->stays |= !rlx_may_pass(t->order, memory, !l, 0);
    return n->kind == RLX_NODE_BUFFER ? RLX_STEP_SKIP : RLX_STEP_ON;
}

static bool note_all(rlx_context *ctx, noting *t, const rlx_stmt *s)
{
    rlx_walker w = { .enter = note_node, .user = t, .terse = true };
    rlx_walk(&ctx->memory, s, &w, NULL);
    return !ctx->diags.out_of_memory;
}

bool rlx_note_statement(rlx_context *ctx, rlx_order *o, const rlx_stmt *s, uintptr_t at)
{
    return note_all(ctx, &(noting){ .order = o, .at = at }, s);
}

bool rlx_may_go_first(rlx_context *ctx, const rlx_order *o, const rlx_stmt *s)
{
    noting t = { .order = (rlx_order *)o };
    return note_all(ctx, &t, s) && !t.stays;
}

bool rlx_may_pass(const rlx_order *o, const rlx_node *memory, bool stores, uintptr_t from)
{
    return rlx_number_in(&o->last_store, memory) <= from &&
           (!stores || rlx_number_in(&o->last_load, memory) <= from);
}
