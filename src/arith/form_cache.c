/* form_cache.c: what arith remembers per context, and the questions that use it.
 *
 * Forms, monomials and atoms lie in one region, which is given up as a whole: when it has grown
 * past CACHE_BYTES, and when a layer of nodes goes. What was asked for and took much work to
 * find (a product of twenty sums is small once it is known how much of it to multiply out)
 * moves to the new region first, newest first, so that a hard question costs once. Numbers
 * stay, so no order changes.
 */
#include "arith/arith_int.h"

#include <string.h>

#define WORTH_KEEPING 2000 /* steps; far less is what ordinary sizes take */
#define LARGEST_KEPT 512   /* terms */
#define KEPT_BYTES (CACHE_BYTES / 2)
#define LAST_NUMBER (UINT32_MAX / 2)

/* --- state of a context --- */

static void tables_init(rlx_arith *a)
{
    rlx_memory *m = &a->ctx->memory;
    rlx_region_init(&a->keep, m);
    rlx_intern_init(&a->monos, m);
    rlx_intern_init(&a->atoms, m);
    rlx_ptrmap_init(&a->memo, m);
    a->costly = (rlx_costly_list){ 0 };
    a->one = NULL;
}

static void tables_free(rlx_arith *a)
{
    rlx_intern_free(&a->monos);
    rlx_intern_free(&a->atoms);
    rlx_ptrmap_free(&a->memo);
    rlx_vec_free(&a->ctx->memory, &a->costly);
    rlx_region_drop(&a->keep);
}

static void state_clear(rlx_arith *a)
{
    tables_free(a);
    tables_init(a);
    rlx_ptrmap_free(&a->hashes);
    rlx_region_drop(&a->temp);
    a->num_monos = a->num_atoms = 0;
}

static void state_destroy(rlx_context *ctx, void *state)
{
    state_clear(state);
    rlx_mem_free(&ctx->memory, state, sizeof(rlx_arith));
}

/* --- moving the costly forms --- */

typedef struct mover { rlx_arith *to; rlx_ptrmap moved; /* old mono or atom -> new */ } mover;

static const rlx_poly *move_poly(mover *v, const rlx_poly *p);

static void *move_made(mover *v, rlx_intern *table, uint64_t hash, const void *old, void *made)
{
    return made && rlx_intern_add(table, hash, made) &&
                   rlx_ptrmap_put(&v->moved, old, (uintptr_t)made)
               ? made
               : NULL;
}

/* Depth of recursion: that of atoms. */
static const rlx_atom *move_atom(mover *v, const rlx_atom *old)
{
    rlx_atom *made = rlx_ptrmap_get(&v->moved, old);
    if (made)
        return made;
    made = rlx_region_copy(&v->to->keep, old, sizeof *old + old->num_ops * sizeof *old->ops);
    for (size_t i = 0; made && i < old->num_ops; i++)
        if (!(made->ops[i] = move_poly(v, old->ops[i])))
            return NULL;
    return move_made(v, &v->to->atoms, old->hash, old, made);
}

static const rlx_mono *move_mono(mover *v, const rlx_mono *old)
{
    rlx_mono *made = rlx_ptrmap_get(&v->moved, old);
    if (made)
        return made;
    made = rlx_region_copy(&v->to->keep, old, sizeof *old + old->len * sizeof *old->factors);
    for (size_t i = 0; made && i < old->len; i++)
        if (!(made->factors[i].atom = move_atom(v, old->factors[i].atom)))
            return NULL;
    return move_made(v, &v->to->monos, old->hash, old, made);
}

static const rlx_poly *move_poly(mover *v, const rlx_poly *old)
{
    rlx_poly *made =
        rlx_region_copy(&v->to->keep, old, sizeof *old + old->len * sizeof *old->terms);
    for (size_t i = 0; made && i < old->len; i++)
        if (!(made->terms[i].mono = move_mono(v, old->terms[i].mono)))
            return NULL;
    return made;
}

static rlx_canon *move_form(mover *v, const rlx_canon *old)
{
    rlx_canon *made = rlx_region_copy(&v->to->keep, old, sizeof *old);
    const rlx_poly **divisors =
        rlx_region_alloc(&v->to->keep, old->num_divisors * sizeof *divisors);
    if (!made || !divisors || !(made->poly = move_poly(v, old->poly)))
        return NULL;
    made->divisors = divisors;
    made->bounds = NULL; /* they lie in what is left behind */
    for (size_t i = 0; i < old->num_divisors; i++)
        if (!(divisors[i] = move_poly(v, old->divisors[i])))
            return NULL;
    return made;
}

static bool move_costly(mover *v, rlx_costly c)
{
    rlx_canon *made = move_form(v, c.form);
    c.form = made;
    return made && rlx_ptrmap_put(&v->to->memo, c.node, (uintptr_t)made) &&
           rlx_vec_push(&v->to->ctx->memory, &v->to->costly, c);
}

static void reverse(rlx_costly_list *l)
{
    for (size_t i = 0, j = l->len; i + 1 < j; i++) {
        rlx_costly c = l->data[i];
        l->data[i] = l->data[--j];
        l->data[j] = c;
    }
}

/* Fills `to` from the costly forms of nodes in layers below `layer`. */
static bool move_all(rlx_arith *to, const rlx_arith *from, uint8_t layer)
{
    mover v = { .to = to };
    rlx_ptrmap_init(&v.moved, &to->ctx->memory);
    bool good = (to->one = move_mono(&v, from->one)) != NULL;
    for (size_t i = from->costly.len; good && i-- && to->keep.bytes < KEPT_BYTES;)
        if (from->costly.data[i].node->layer < layer)
            good = move_costly(&v, from->costly.data[i]);
    reverse(&to->costly);
    rlx_ptrmap_free(&v.moved);
    return good;
}

/* Forgets all but costly forms of nodes in layers below `layer`. */
static void state_shrink(rlx_arith *a, uint8_t layer)
{
    rlx_arith next = *a;
    if (!a->costly.len || !layer || a->num_monos > LAST_NUMBER || a->num_atoms > LAST_NUMBER) {
        state_clear(a);
        return;
    }
    tables_init(&next);
    if (!move_all(&next, a, layer)) {
        tables_free(&next);
        state_clear(a);
        return;
    }
    rlx_region_inherit(&next.keep, &a->keep, CACHE_BYTES);
    tables_free(a);
    *a = next;
    rlx_ptrmap_free(&a->hashes);
}

static void state_forget(rlx_context *ctx, void *state, uint8_t layer)
{
    (void)ctx;
    state_shrink(state, layer);
}

static rlx_arith *state_of(rlx_context *ctx)
{
    rlx_room_state *room = &ctx->rooms[RLX_ROOM_ARITH];
    if (room->state)
        return room->state;
    rlx_arith *a = rlx_mem_alloc_zero(&ctx->memory, sizeof *a);
    if (!a)
        return NULL;
    a->ctx = ctx;
    tables_init(a);
    rlx_region_init(&a->temp, &ctx->memory);
    rlx_ptrmap_init(&a->hashes, &ctx->memory);
    *room = (rlx_room_state){ a, state_forget, state_destroy };
    return a;
}

static const rlx_mono *the_empty_product(rlx_arith *a)
{
    rlx_mono *m = rlx_region_zero(&a->keep, sizeof *m);
    if (!m)
        return NULL;
    m->hash = 1;
    a->num_monos = 1; /* it is number 0 */
    return a->one = m;
}

void rlx_form_asked(rlx_query *q, const rlx_prim *node, rlx_canon *form)
{
    if (form->effort < WORTH_KEEPING || form->asked || form->poly->len > LARGEST_KEPT)
        return;
    form->asked = true;
    if (!rlx_vec_push(&q->a->ctx->memory, &q->a->costly, ((rlx_costly){ node, form })))
        rlx_query_fail(q);
}

/* --- questions --- */

bool rlx_query_begin(rlx_query *q, rlx_context *ctx, const rlx_scope *s)
{
    rlx_arith *a = state_of(ctx);
    *q = (rlx_query){ .a = a, .scope = s };
    if (a && a->keep.bytes > CACHE_BYTES)
        state_shrink(a, UINT8_MAX);
    if (!a || (!a->one && !the_empty_product(a)))
        return false;
    q->mark = rlx_region_save(&a->temp);
    return true;
}

void rlx_query_end(rlx_query *q)
{
    rlx_region_rewind(&q->a->temp, q->mark);
}

void *rlx_query_fail(rlx_query *q)
{
    q->failed = true;
    return NULL;
}

void *rlx_query_too_big(rlx_query *q)
{
    q->too_big = true;
    return NULL;
}

void rlx_query_budget(rlx_query *q, uint32_t steps)
{
    q->steps = steps;
    q->spent = q->too_big = false;
}

bool rlx_query_step(rlx_query *q, size_t count)
{
    if (q->failed || q->spent)
        return false;
    if (count > q->steps)
        q->spent = true;
    else
        q->steps -= (uint32_t)count;
    return !q->spent;
}

void *rlx_query_new(rlx_query *q, size_t size)
{
    if (q->failed)
        return NULL;
    void *p = rlx_region_alloc(&q->a->temp, size);
    return p ? p : rlx_query_fail(q);
}
