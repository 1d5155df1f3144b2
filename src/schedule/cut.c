/* cut.c: nests, and other loops over rows, as what they do in one iteration of loops over rows. */
#include "schedule/boxes.h"

#include "schedule/plan_int.h"

/* ---- cutting a nest ------------------------------------------------------------------------- */

enum { SQUARE = 16 };                /* rows and columns that are transposed at once */

/* What becomes of a loop of the nest. */
typedef struct piece { const rlx_prim *base, *extent; bool cut; } piece;

/* Are the boxes, along this dimension, exactly n elements, each once? */
static bool fills(rlx_context *ctx, const rlx_rows *r, int loop, const rlx_prim *step, const rlx_prim *extent,
                  const rlx_prim *n)
{
    const rlx_prim *trips = r->outer[loop].extent,
                   *start = rlx_fold_mul(ctx, rlx_fold_cast(ctx, RELAX_INT64, r->outer[loop].var), step),
                   *left = start ? rlx_fold_sub(ctx, n, start) : NULL,
                   *more = rlx_fold_sub(ctx, step, rlx_int64(ctx, 1)),
                   *round = more ? rlx_fold_binary(ctx, RLX_NODE_FLOOR_DIV, rlx_fold_add(ctx, n, more), step) : NULL,
                   *least = left ? rlx_fold_binary(ctx, RLX_NODE_MIN, step, left) : NULL;
    if (!round || !least)
        return false;
    if (rlx_prove_equal(ctx, NULL, extent, step) == RLX_EQUAL)
        return rlx_prove_equal(ctx, NULL, rlx_fold_mul(ctx, trips, step), n) == RLX_EQUAL;
    return rlx_prove_equal(ctx, NULL, trips, round) == RLX_EQUAL &&
           (extent == least || rlx_prove_equal(ctx, NULL, extent, least) == RLX_EQUAL);
}

typedef struct cutting {
    rlx_context *ctx;
    const rlx_rows *r;
    const rlx_for_stmt *loops[RLX_PLAN_MAX_NEST];
    piece pieces[RLX_PLAN_MAX_NEST];
    size_t count;
    uint32_t used;                   /* outer loops that have a meaning */
} cutting;

static int loop_of(const cutting *c, const rlx_prim *index)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->loops[i]->loop_var == index)
            return (int)i;
    return -1;
}

/* One access of the nest to memory of that box: each dimension a loop of the nest that goes all along it. */
static bool cut_along(cutting *c, const rlx_box *b, const rlx_prim *const *indices, size_t count)
{
    rlx_context *ctx = c->ctx;
    if (b->mixed || count != b->buffer->num_shape)
        return false;
    for (size_t d = 0; d < count; d++) {
        int at = loop_of(c, indices[d]), loop;
        const rlx_prim *size = rlx_fold_cast(ctx, RELAX_INT64, b->buffer->shape[d]), *step;
        if (!rlx_box_base(ctx, c->r, b->base[d], &loop, &step))
            return false;
        if (at < 0 && loop < 0 && rlx_is_int_value(indices[d], 0) && rlx_is_int_value(size, 1))
            continue;
        const rlx_prim *n = at < 0 ? NULL : rlx_fold_cast(ctx, RELAX_INT64, c->loops[at]->extent);
        if (!n || rlx_prove_equal(ctx, NULL, n, size) != RLX_EQUAL || !rlx_is_int_value(c->loops[at]->min, 0))
            return false;
        if (loop < 0) {
            if (rlx_prove_equal(ctx, NULL, b->extent[d], size) != RLX_EQUAL)
                return false;
            continue;
        }
        if (!fills(ctx, c->r, loop, step, b->extent[d], n))
            return false;
        piece *p = &c->pieces[at];
        if (p->cut && (p->base != b->base[d] || p->extent != b->extent[d]))
            return false;
        if (!p->cut && (c->used >> loop & 1))
            return false;
        *p = (piece){ b->base[d], b->extent[d], true };
        c->used |= 1u << loop;
    }
    return true;
}

/* Would rows of elements become columns that are as short as a tile? A copy that transposes goes in squares either way, which have to be whole. */
static bool cuts_strips(const cutting *c, const rlx_nest_plan *plan)
{
    bool cut = false, others = false, determined = true, squares = plan->form == RLX_PLAN_COPY;
    for (int i = 0; i < (int)c->count; i++) {
        int64_t n;
        determined &= plan->loops[i].determined;
        if (!c->pieces[i].cut) {
            others |= !rlx_is_int_value(plan->loops[i].extent, 1);
            continue;
        }
        cut |= rlx_plan_is_unit(&plan->accesses.data[0], i);
        squares = squares && rlx_int_literal(c->pieces[i].extent, &n) && n % SQUARE == 0 && !rlx_plan_is_unit(&plan->accesses.data[1], i);
    }
    return determined && cut && others && !squares;
}

static bool cut_nest(cutting *c, const rlx_for_stmt *nest)
{
    rlx_nest_plan plan;
    bool ok = rlx_plan_nest(c->ctx, &rlx_plan_everywhere, nest, &plan), any = false;
    const rlx_stmt *s = &nest->node;
    for (; s->kind == RLX_NODE_FOR && c->count < RLX_PLAN_MAX_NEST; s = ((const rlx_for_stmt *)s)->body)
        c->loops[c->count++] = (const rlx_for_stmt *)s;
    ok = ok && plan.count == c->count;
    for (size_t i = 0; i < plan.accesses.len && ok; i++) {
        const rlx_plan_access *a = &plan.accesses.data[i];
        const rlx_box *b = rlx_find_box(c->r, rlx_plan_memory(a->buffer));
        if (!b || (!b->stores && !a->stores))
            continue;
        any = true;
        ok = a->buffer == &b->buffer->node && cut_along(c, b, a->indices, a->num_indices);
    }
    for (size_t i = 0; i < c->count && ok; i++)
        ok = !c->pieces[i].cut || plan.loops[i].determined;
    ok = ok && !cuts_strips(c, &plan);
    rlx_nest_plan_free(c->ctx, &plan);
    return ok && any && c->used == (1u << c->r->count) - 1;
}

/* The nest in one iteration of the outer loops. */
static const rlx_stmt *write_cut(const cutting *c)
{
    rlx_context *ctx = c->ctx;
    rlx_rewriter r;
    const rlx_prim *vars[RLX_PLAN_MAX_NEST];
    bool ok = true;
    rlx_tir_folder_init(&r, ctx);
    for (size_t i = 0; i < c->count && ok; i++) {
        const rlx_prim_var *old = rlx_as_prim_var(c->loops[i]->loop_var);
        const piece *p = &c->pieces[i];
        vars[i] = &old->node;
        if (!p->cut)
            continue;
        rlx_prim_var *v = rlx_is_int_value(p->extent, 1) ? NULL : rlx_prim_var_new(ctx, old->name, old->dtype, old->place);
        vars[i] = v ? &v->node : NULL;
        const rlx_prim *base = rlx_fold_cast(ctx, old->dtype, p->base),
                       *at = !base ? NULL : v ? rlx_fold_add(ctx, base, &v->node) : base;
        ok = at && rlx_ptrmap_put(&r.map, &old->node, (uintptr_t)at);
    }
    const rlx_stmt *body = ok ? rlx_rewrite(&r, c->loops[c->count - 1]->body) : NULL;
    rlx_rewriter_free(&r);
    for (size_t i = c->count; i-- > 0 && body;) {
        const rlx_for_stmt *old = c->loops[i];
        if (!vars[i])
            continue;
        const rlx_stmt *made = rlx_for(ctx, rlx_as_prim_var(vars[i]), old->min,
                                       c->pieces[i].cut ? rlx_fold_cast(ctx, rlx_prim_dtype(vars[i]), c->pieces[i].extent)
                                                        : old->extent,
                                       old->for_kind, body, old->place);
        if (made)
            ((rlx_for_stmt *)(uintptr_t)made)->annotations = old->annotations;
        body = made;
    }
    return body;
}

/* ---- in the loops of others ----------------------------------------------------------------- */

/* The nest, cut along the boxes of r, as statements with the same loops. *is false: it cannot be. */
bool rlx_rows_of_nest(rlx_context *ctx, const rlx_rows *r, const rlx_for_stmt *nest, rlx_rows *out, bool *is)
{
    cutting c = { .ctx = ctx, .r = r };
    *is = cut_nest(&c, nest);
    if (!*is)
        return !ctx->diags.out_of_memory;
    const rlx_stmt *cut = write_cut(&c);
    memcpy(out->outer, r->outer, sizeof r->outer);
    out->count = r->count;
    return cut && rlx_vec_push(&ctx->memory, &out->parts, (void *)cut) && rlx_find_boxes(ctx, out, 0);
}

/* Rows with loops of their own get those of r. *is false: they have others. */
bool rlx_rows_of_rows(rlx_context *ctx, const rlx_rows *r, const rlx_rows *b, rlx_rows *out, bool *is)
{
    rlx_rewriter w;
    bool ok = true;
    *is = b->count == r->count;
    for (size_t i = 0; i < r->count && *is; i++)
        *is = rlx_prim_dtype(r->outer[i].var) == rlx_prim_dtype(b->outer[i].var) &&
              rlx_prove_equal(ctx, NULL, r->outer[i].extent, b->outer[i].extent) == RLX_EQUAL;
    if (!*is)
        return !ctx->diags.out_of_memory;
    rlx_tir_folder_init(&w, ctx);
    for (size_t i = 0; i < r->count && ok; i++)
        ok = rlx_ptrmap_put(&w.map, b->outer[i].var, (uintptr_t)r->outer[i].var);
    rlx_rows whole = *b;
    whole.count = 0;
    const rlx_stmt *body = ok ? rlx_rows_write(ctx, &whole) : NULL;
    body = body ? rlx_rewrite(&w, body) : NULL;
    rlx_rewriter_free(&w);
    memcpy(out->outer, r->outer, sizeof r->outer);
    out->count = r->count;
    return body && rlx_rows_take_apart(ctx, out, body) && rlx_find_boxes(ctx, out, 0);
}

