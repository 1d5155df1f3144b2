/*- kgen_nest.c: loops around straight-line statements.
 *
 *     for i in range(n):
 *         for k in range(m):
 *             for j in range(p):
 *                 C[i, j] += ...
 *
 * A loop is a good strip if each of its values has stores of its own ("j is determined by the
 * stored place"): then its iterations may be done side by side, and it may move innermost past
 * the others, because two iterations that meet at one place have the same j.
 *
 * A nest that is one reduction of one or two loads becomes one instruction over three loops,
 * the innermost reduction loop included. The loops that do not determine the place keep their
 * order: so does each sum. */
#include "codegen/kgen_int.h"

/* ---- finding -------------------------------------------------------------------------------- */

typedef struct scan {
    rlx_kgen *w;
    rlx_kgen_nest *n;
    RLX_VEC(const rlx_buffer_store *) stores;
    RLX_VEC(const rlx_buffer_load *) loads;
    bool straight;                  /* stores, lets and ifs only */
    bool guarded;                   /* ifs or values that are only wanted sometimes */
    rlx_ptrmap raw;                 /* variables used other than in an index */
} scan;

static bool push_stmt(scan *s, rlx_ptrs *pending, const rlx_stmt *stmt)
{
    if (stmt && !rlx_vec_push(&s->w->ctx->memory, pending, (void *)stmt))
        return rlx_kgen_no_memory(s->w);
    return true;
}

static bool take_stmt(scan *s, rlx_ptrs *pending, const rlx_stmt *stmt)
{
    switch (stmt->kind) {
    case RLX_NODE_BUFFER_STORE:
        return rlx_vec_push(&s->w->ctx->memory, &s->stores, (const rlx_buffer_store *)stmt) ||
               rlx_kgen_no_memory(s->w);
    case RLX_NODE_LET_STMT: return push_stmt(s, pending, ((const rlx_let_stmt *)stmt)->body);
    case RLX_NODE_IF_THEN_ELSE:
        s->guarded = true;
        return push_stmt(s, pending, ((const rlx_if_stmt *)stmt)->then_case) &&
               push_stmt(s, pending, ((const rlx_if_stmt *)stmt)->else_case);
    case RLX_NODE_SEQ_STMT:
        for (size_t i = 0; i < ((const rlx_seq_stmt *)stmt)->num_stmts; i++)
            if (!push_stmt(s, pending, ((const rlx_seq_stmt *)stmt)->stmts[i]))
                return false;
        return true;
    default:
        s->straight = false;
        return true;
    }
}

static enum rlx_step see(void *user, const rlx_node *n, const rlx_field *via,
                         const rlx_node *parent)
{
    scan *s = user;
    bool in_index =
        parent &&
        (parent->kind == RLX_NODE_BUFFER_LOAD || parent->kind == RLX_NODE_BUFFER_STORE) && via &&
        !strcmp(via->name, "indices");
    if (n->kind == RLX_NODE_BUFFER)
        return RLX_STEP_SKIP;
    if (n->kind == RLX_NODE_BUFFER_LOAD &&
        !rlx_vec_push(&s->w->ctx->memory, &s->loads, (const rlx_buffer_load *)n))
        rlx_kgen_no_memory(s->w);
    if (n->kind == RLX_NODE_PRIM_CALL || n->kind == RLX_NODE_AND || n->kind == RLX_NODE_OR) {
        const rlx_prim_call *c = rlx_as_prim_call(n);
        s->guarded |= !c || !c->op || rlx_slice_is(rlx_string_slice(c->op), "if_then_else");
    }
    /* an affine index needs no variable as a value; anything else in it does, which the merge
     * test sees as not affine */
    if (in_index)
        return RLX_STEP_ON;
    if (n->kind == RLX_NODE_PRIM_VAR && via && via->type != RLX_FIELD_DEF &&
        !rlx_ptrmap_put(&s->raw, n, 1))
        rlx_kgen_no_memory(s->w);
    return s->w->failed ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Variables under an index are seen too; so `raw` counts them. Values proper are walked apart
 * from indices. */
static bool see_values(scan *s, const rlx_node *root)
{
    rlx_walker walker = { .enter = see, .user = s, .terse = true };
    bool no_memory = false;
    rlx_walk(&s->w->ctx->memory, root, &walker, &no_memory);
    if (no_memory)
        rlx_kgen_no_memory(s->w);
    return !s->w->failed;
}

static bool scan_body(scan *s)
{
    rlx_ptrs pending = { 0 };
    bool ok = push_stmt(s, &pending, s->n->body);
    s->straight = true;
    while (ok && s->straight && pending.len)
        ok = take_stmt(s, &pending, rlx_vec_pop(&pending));
    rlx_vec_free(&s->w->ctx->memory, &pending);
    ok = ok && (!s->straight || see_values(s, s->n->body));
    for (size_t i = 0; ok && i < s->stores.len; i++)
        if (!rlx_ptrmap_put(&s->n->stored, s->stores.data[i]->buffer, 1))
            ok = rlx_kgen_no_memory(s->w);
    return ok;
}

static enum rlx_step find_load_or_var(void *user, const rlx_node *n, const rlx_field *via,
                                      const rlx_node *parent)
{
    return n->kind == RLX_NODE_BUFFER_LOAD ||
                   (n->kind == RLX_NODE_PRIM_VAR && rlx_ptrmap_has(user, n))
               ? RLX_STEP_STOP
               : RLX_STEP_ON;
}

/* All loops that stand directly in each other and whose bounds are known in front of them. */
static bool collect_loops(rlx_kgen *w, const rlx_for_stmt *s, rlx_kgen_nest *n)
{
    rlx_ptrmap vars;
    bool ok = true, open = true;
    const rlx_stmt *body = &s->node;
    rlx_ptrmap_init(&vars, &w->ctx->memory);
    while (ok && open && body->kind == RLX_NODE_FOR && n->count < RLX_KGEN_MAX_NEST) {
        const rlx_for_stmt *f = (const rlx_for_stmt *)body;
        rlx_walker walker = { .enter = find_load_or_var, .user = &vars, .terse = true };
        open = rlx_walk(&w->ctx->memory, f->min, &walker, NULL) != RLX_STEP_STOP &&
               rlx_walk(&w->ctx->memory, f->extent, &walker, NULL) != RLX_STEP_STOP &&
               f->for_kind != RLX_FOR_THREAD_BINDING;
        if (!open)
            break;
        n->loops[n->count++] = (rlx_kgen_loop){ f, f->loop_var, rlx_kgen_wide_index(w, f->min),
                                                rlx_kgen_wide_index(w, f->extent), false };
        ok = rlx_ptrmap_put(&vars, f->loop_var, 1) || rlx_kgen_no_memory(w);
        body = f->body;
    }
    n->body = body;
    rlx_ptrmap_free(&vars);
    return ok && !w->failed;
}

/* ---- may the loops be reordered? ------------------------------------------------------------ */

static bool same_place(const rlx_prim *const *a, size_t na, const rlx_prim *const *b, size_t nb)
{
    bool same = na == nb;
    for (size_t i = 0; i < na && same; i++)
        same = a[i] == b[i];
    return same;
}

/* Each stored buffer is touched at one place per iteration: the one of its first store. */
static bool one_place_each(rlx_kgen *w, const scan *s)
{
    rlx_ptrmap first; /* stored buffer -> the store */
    rlx_ptrmap_init(&first, &w->ctx->memory);
    bool one = true;
    for (size_t i = 0; i < s->stores.len && one; i++) {
        const rlx_buffer_store *a = s->stores.data[i], *f = rlx_ptrmap_get(&first, a->buffer);
        if (f)
            one = same_place(f->indices, f->num_indices, a->indices, a->num_indices);
        else if (!rlx_ptrmap_put(&first, a->buffer, (uintptr_t)a))
            one = rlx_kgen_no_memory(w);
    }
    for (size_t i = 0; i < s->loads.len && one; i++) {
        const rlx_buffer_load *l = s->loads.data[i];
        const rlx_buffer_store *f = rlx_ptrmap_get(&first, l->buffer);
        one = !f || same_place(f->indices, f->num_indices, l->indices, l->num_indices);
    }
    rlx_ptrmap_free(&first);
    return one;
}

/* Which loops are determined by one index: alone in it, or digits of a mixed-radix number. */
static void determined_by(rlx_kgen *w, const rlx_kgen_nest *n, const rlx_prim *index, bool *yes)
{
    rlx_tir_affine a;
    const rlx_prim *vars[RLX_KGEN_MAX_NEST];
    bool used[RLX_KGEN_MAX_NEST] = { false };
    int64_t below = 1, c, extent;
    size_t total = 0, found = 0;
    for (size_t i = 0; i < n->count; i++)
        vars[i] = n->loops[i].var;
    if (!rlx_tir_affine_of(w->ctx, index, vars, n->count, &a))
        return;
    for (size_t i = 0; i < n->count; i++)
        total += a.coeff[i] != NULL && !rlx_is_int_value(a.coeff[i], 0);
    for (; found < total; found++) {
        size_t at = n->count;
        int64_t best = INT64_MAX;
        for (size_t i = 0; i < n->count; i++)
            if (a.coeff[i] && !used[i] && rlx_int_literal(a.coeff[i], &c) && c != 0 &&
                c != INT64_MIN && (c < 0 ? -c : c) < best)
                best = c < 0 ? -c : c, at = i;
        if (at == n->count || best < below)
            return;
        used[at] = true;
        if (!rlx_int_literal(n->loops[at].extent, &extent) || !rlx_mul_i64(best, extent, &below))
            below = INT64_MAX;
    }
    for (size_t i = 0; i < n->count; i++)
        yes[i] |= used[i];
}

/* determined[i]: every stored place determines loop i. */
static void find_determined(const scan *s, bool *determined)
{
    const rlx_kgen_nest *n = s->n;
    for (size_t i = 0; i < n->count; i++)
        determined[i] = s->stores.len > 0;
    for (size_t k = 0; k < s->stores.len; k++) {
        bool yes[RLX_KGEN_MAX_NEST] = { false };
        for (size_t d = 0; d < s->stores.data[k]->num_indices; d++)
            determined_by(s->w, n, s->stores.data[k]->indices[d], yes);
        for (size_t i = 0; i < n->count; i++)
            determined[i] = determined[i] && yes[i];
    }
}

/* ---- which strip? --------------------------------------------------------------------------- */

static const rlx_prim *stride_of(const scan *s, const rlx_node *buffer,
                                 const rlx_prim *const *indices, size_t count, size_t loop,
                                 bool *known)
{
    rlx_kgen_flat f;
    rlx_kgen_buffer *b = rlx_kgen_buffer_of(s->w, buffer);
    *known = b && count == b->buffer->num_shape &&
             rlx_kgen_flatten(s->w, s->n, b, indices, count, &f);
    return *known && f.coeff[loop] ? f.coeff[loop] : NULL;
}

static int64_t likely_extent(const rlx_kgen_loop *l)
{
    int64_t e;
    return rlx_int_literal(l->extent, &e) ? e : 64;
}

/* Contiguous memory counts most, then loads that stay put; strips of a few elements are poor. */
static int64_t score(const scan *s, size_t loop)
{
    int64_t points = 0, extent = likely_extent(&s->n->loops[loop]);
    bool known;
    for (size_t i = 0; i < s->stores.len; i++) {
        const rlx_prim *c = stride_of(s, s->stores.data[i]->buffer, s->stores.data[i]->indices,
                                      s->stores.data[i]->num_indices, loop, &known);
        points += !known ? -4 : rlx_is_int_value(c, 1) ? 8 : 0;
    }
    for (size_t i = 0; i < s->loads.len; i++) {
        const rlx_prim *c = stride_of(s, s->loads.data[i]->buffer, s->loads.data[i]->indices,
                                      s->loads.data[i]->num_indices, loop, &known);
        points += !known ? -2 : !c ? 3 : rlx_is_int_value(c, 1) ? 4 : 0;
    }
    return points * 16 + (extent < 4 ? -400 : extent < 16 ? -100 : 0);
}

static void choose_strip(const scan *s, const bool *determined)
{
    int64_t best = INT64_MIN;
    for (size_t i = 0; i < s->n->count; i++) {
        int64_t points = determined[i] ? score(s, i) : INT64_MIN;
        if (determined[i] && points >= best) {
            best = points;
            s->n->strip = (int)i;
        }
    }
}

static bool merges_at(const scan *s, const rlx_node *buffer, const rlx_prim *const *indices,
                      size_t count, size_t outer)
{
    const rlx_kgen_nest *n = s->n;
    rlx_kgen_buffer *b = rlx_kgen_buffer_of(s->w, buffer);
    rlx_kgen_flat f;
    const rlx_prim *low;
    if (!b || count != b->buffer->num_shape || !rlx_kgen_flatten(s->w, n, b, indices, count, &f))
        return false;
    for (size_t d = 0; d < count; d++) { /* the check in front of the nest must be possible */
        rlx_kgen_flat one;
        rlx_kgen_buffer flat = { .strides = { rlx_int64(s->w->ctx, 1) } };
        int64_t c;
        if (!rlx_kgen_flatten(s->w, n, &flat, &indices[d], 1, &one))
            return false;
        for (size_t i = 0; i < n->count; i++)
            if (one.coeff[i] && !rlx_int_literal(one.coeff[i], &c))
                return false;
    }
    const rlx_prim *zero = rlx_int64(s->w->ctx, 0),
                   *inner = f.coeff[n->strip] ? f.coeff[n->strip] : zero;
    low = rlx_fold_mul(s->w->ctx, n->strip_extent, inner);
    return low && low == (f.coeff[outer] ? f.coeff[outer] : zero);
}

/* Loops around the strip that only continue it: rows that follow each other in memory. */
static void merge_loops(scan *s, const bool *determined)
{
    rlx_kgen_nest *n = s->n;
    bool changed = !s->guarded && !rlx_ptrmap_has(&s->raw, n->loops[n->strip].var);
    while (changed && !s->w->failed) {
        changed = false;
        for (size_t i = 0; i < n->count && !changed; i++) {
            rlx_kgen_loop *l = &n->loops[i];
            bool ok = (int)i != n->strip && !l->merged && determined[i] &&
                      !rlx_ptrmap_has(&s->raw, l->var);
            for (size_t k = 0; ok && k < s->stores.len; k++)
                ok = merges_at(s, s->stores.data[k]->buffer, s->stores.data[k]->indices,
                               s->stores.data[k]->num_indices, i);
            for (size_t k = 0; ok && k < s->loads.len; k++)
                ok = merges_at(s, s->loads.data[k]->buffer, s->loads.data[k]->indices,
                               s->loads.data[k]->num_indices, i);
            if (!ok)
                continue;
            /* the new extent goes on the left, as the strides of outer dimensions are written */
            n->strip_extent = rlx_fold_mul(s->w->ctx, l->extent, n->strip_extent);
            l->merged = changed = true;
        }
    }
}

/* ---- code ----------------------------------------------------------------------------------- */

/* The nest's own level: skipped when a loop is empty. */
static bool open_nest(rlx_kgen *w, rlx_kgen_nest *n)
{
    for (size_t i = 0; i < n->count; i++) {
        rlx_kgen_int64(w, n->loops[i].min);
        rlx_kgen_int64(w, n->loops[i].extent);
    }
    n->level = rlx_kgen_open(w, false, NULL);
    w->nest = n;
    rlx_ptrmap_clear(&w->broadcasts);
    return !w->failed;
}

static void close_nest(rlx_kgen *w, rlx_kgen_nest *n, const rlx_kgen_nest *outer)
{
    int64_t value;
    size_t length = rlx_kgen_length(w, n->level), jumps = 0;
    w->nest = outer;
    rlx_kgen_forget_loads(w);
    for (size_t i = 0; i < n->count; i++)
        jumps += !rlx_int_literal(n->loops[i].extent, &value) || value <= 0;
    w->top--; /* the jumps stand in front of the level's code */
    for (size_t i = 0; i < n->count && !w->failed; i++)
        if (!rlx_int_literal(n->loops[i].extent, &value) || value <= 0) {
            uint32_t extent = rlx_kgen_int64(w, n->loops[i].extent).reg;
            RLX_KGEN_EMIT(w, w->top, RLX_K_JUMP_IF_EMPTY, extent,
                    (uint32_t)(length + jumps * rlx_kernel_op_words(RLX_K_JUMP_IF_EMPTY)));
            jumps--;
        }
    w->top++;
    rlx_kgen_close(w);
    rlx_kgen_reset_strips(w);
    rlx_ptrmap_clear(&w->broadcasts);
}

typedef struct open_loop { uint32_t var, limit; } open_loop;

/* A loop level; its body is collected in the level on top. */
static open_loop begin_loop(rlx_kgen *w, const rlx_kgen_loop *l, const rlx_kgen_nest *n)
{
    open_loop o = { rlx_kgen_new_reg(w, RLX_CLASS_I64, 0), rlx_kgen_new_reg(w, RLX_CLASS_I64, 0) };
    int32_t level = rlx_kgen_open(w, n != NULL, n);
    rlx_kgen_bind_var(
        w, l->var,
        (rlx_kgen_value){
            .reg = o.var, .level = level, .klass = RLX_CLASS_I64, .dtype = RELAX_INT64 });
    return o;
}

static void end_loop(rlx_kgen *w, const rlx_kgen_loop *l, open_loop o)
{
    size_t length = rlx_kgen_length(w, w->top), loop_words = rlx_kernel_op_words(RLX_K_LOOP),
           next_words = rlx_kernel_op_words(RLX_K_NEXT);
    uint32_t min, extent;
    RLX_KGEN_EMIT(w, w->top, RLX_K_NEXT, o.var, o.limit, (uint32_t)-(int32_t)length);
    w->top--;
    min = rlx_kgen_int64(w, l->min).reg;
    extent = rlx_kgen_int64(w, l->extent).reg;
    RLX_KGEN_EMIT(w, w->top, RLX_K_LOOP, o.var, min, extent, o.limit,
            (uint32_t)(loop_words + length + next_words));
    w->top++;
    rlx_kgen_close(w);
}

static bool strip_code(rlx_kgen *w, rlx_kgen_nest *n)
{
    rlx_kgen_value extent = rlx_kgen_int64(w, n->strip_extent);
    n->extent_reg = extent.reg;
    n->strip_reg = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
    rlx_kgen_hint(w, n->strip_reg, n->loops[n->strip].var);
    n->strip_level = rlx_kgen_open(w, true, n);
    rlx_kgen_stmt(w, n->body, RLX_KGEN_ALWAYS);
    size_t length = rlx_kgen_length(w, w->top), head = rlx_kernel_op_words(RLX_K_STRIP),
           tail = rlx_kernel_op_words(RLX_K_NEXT_STRIP);
    RLX_KGEN_EMIT(w, w->top, RLX_K_NEXT_STRIP, n->strip_reg, n->extent_reg, (uint32_t)-(int32_t)length);
    RLX_KGEN_EMIT(w, w->top - 1, RLX_K_STRIP, n->strip_reg, n->extent_reg,
            (uint32_t)(head + length + tail));
    rlx_kgen_close(w);
    n->strip_level = -1;
    return !w->failed;
}

/* All loops but the strip and what is merged into it, in their order, then the strip. */
static bool nest_code(rlx_kgen *w, rlx_kgen_nest *n)
{
    open_loop open[RLX_KGEN_MAX_NEST];
    for (size_t i = 0; i < n->count; i++)
        if ((int)i != n->strip && !n->loops[i].merged)
            open[i] = begin_loop(w, &n->loops[i], n);
    if (!w->failed)
        strip_code(w, n);
    for (size_t i = n->count; i-- > 0;)
        if ((int)i != n->strip && !n->loops[i].merged)
            end_loop(w, &n->loops[i], open[i]);
    return !w->failed;
}

/* ---- fused reductions ----------------------------------------------------------------------- */

typedef struct fused {
    bool contract;
    enum rlx_kernel_reduce op;
    const rlx_buffer_store *store;
    const rlx_buffer_load *a, *b;   /* b: contract only */
    int row, column, step;          /* loops; row -1: none, column -1: none */
} fused;

static bool is_own_load(const rlx_prim *p, const rlx_buffer_store *s)
{
    const rlx_buffer_load *l = rlx_as_buffer_load(p);
    return l && l->buffer == s->buffer && !l->predicate &&
           same_place(l->indices, l->num_indices, s->indices, s->num_indices);
}

static bool reduce_op(enum rlx_node_kind kind, enum rlx_kernel_reduce *op)
{
    switch (kind) {
    case RLX_NODE_ADD: *op = RLX_KERNEL_REDUCE_ADD; return true;
    case RLX_NODE_MUL: *op = RLX_KERNEL_REDUCE_MUL; return true;
    case RLX_NODE_MIN: *op = RLX_KERNEL_REDUCE_MIN; return true;
    case RLX_NODE_MAX: *op = RLX_KERNEL_REDUCE_MAX; return true;
    default: return false;
    }
}

/* B[..] = B[..] op value: value is a load, or for op + a product of two. */
static bool match_fused(const rlx_kgen_nest *n, fused *f)
{
    const rlx_buffer_store *s = rlx_as_buffer_store(n->body);
    const rlx_binary *b = s ? rlx_as_binary(s->value) : NULL;
    if (!b || !reduce_op((enum rlx_node_kind)b->node.kind, &f->op) || !is_own_load(b->a, s))
        return false;
    const rlx_binary *product =
        f->op == RLX_KERNEL_REDUCE_ADD && b->b->kind == RLX_NODE_MUL ? rlx_as_binary(b->b) : NULL;
    f->store = s;
    f->contract = product != NULL;
    f->a = rlx_as_buffer_load(product ? product->a : b->b);
    f->b = product ? rlx_as_buffer_load(product->b) : f->a;
    return f->a && f->b && !s->predicate && !f->a->predicate && !f->b->predicate &&
           f->a->buffer != s->buffer && f->b->buffer != s->buffer;
}

/* Only what kernel_strips has a function for; the element types are then all alike. */
static bool fused_type(rlx_kgen *w, const fused *f)
{
    enum rlx_kernel_elem e = rlx_kernel_elem_of(rlx_as_buffer(f->store->buffer)->dtype);
    bool order = f->op == RLX_KERNEL_REDUCE_MIN || f->op == RLX_KERNEL_REDUCE_MAX;
    if (rlx_as_buffer(f->a->buffer)->dtype != rlx_as_buffer(f->store->buffer)->dtype ||
        rlx_as_buffer(f->b->buffer)->dtype != rlx_as_buffer(f->store->buffer)->dtype)
        return false;
    return e == RLX_ELEM_F32 || e == RLX_ELEM_F64 || e == RLX_ELEM_I32 || e == RLX_ELEM_I64 ||
           (!order && (e == RLX_ELEM_U32 || e == RLX_ELEM_U64));
}

typedef struct fused_flats { rlx_kgen_flat acc, a, b; } fused_flats;

static bool flatten_fused(rlx_kgen *w, const rlx_kgen_nest *n, const fused *f, fused_flats *flats)
{
    const struct {
        const rlx_node *buffer;
        const rlx_prim *const *indices;
        size_t count;
        rlx_kgen_flat *out;
    } part[3] = {
        { f->store->buffer, f->store->indices, f->store->num_indices, &flats->acc },
        { f->a->buffer, f->a->indices, f->a->num_indices, &flats->a },
        { f->b->buffer, f->b->indices, f->b->num_indices, &flats->b },
    };
    for (int i = 0; i < 3; i++) {
        rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, part[i].buffer);
        if (!b || part[i].count != b->buffer->num_shape ||
            !rlx_kgen_flatten(w, n, b, part[i].indices, part[i].count, part[i].out))
            return false;
        /* the range check needs literal coefficients */
        for (size_t d = 0; d < part[i].count; d++) {
            rlx_kgen_flat one;
            rlx_kgen_buffer flat = { .strides = { rlx_int64(w->ctx, 1) } };
            int64_t c;
            if (!rlx_kgen_flatten(w, n, &flat, &part[i].indices[d], 1, &one))
                return false;
            for (size_t k = 0; k < n->count; k++)
                if (one.coeff[k] && !rlx_int_literal(one.coeff[k], &c))
                    return false;
        }
    }
    return true;
}

static bool has_stride(const rlx_kgen_flat *f, int loop)
{
    return f->coeff[loop] && !rlx_is_int_value(f->coeff[loop], 0);
}

static bool is_unit(const rlx_kgen_flat *f, int loop)
{
    return rlx_is_int_value(f->coeff[loop], 1);
}

/* Columns: contiguous in the result and in one operand, the other standing still. */
static int choose_column(const rlx_kgen_nest *n, const fused *f, const fused_flats *x,
                         const bool *determined)
{
    int best = -1, column = -1;
    for (int i = 0; i < (int)n->count; i++) {
        if (!determined[i])
            continue;
        bool plain = f->contract && ((is_unit(&x->b, i) && !has_stride(&x->a, i)) ||
                                     (is_unit(&x->a, i) && !has_stride(&x->b, i)));
        int points = 4 * is_unit(&x->acc, i) + 8 * plain +
                     (!f->contract && is_unit(&x->a, i) ? 4 : 0) +
                     (likely_extent(&n->loops[i]) >= 8);
        if (points >= best) {
            best = points;
            column = i;
        }
    }
    return column;
}

/* Rows: what moves the first operand and not the second. */
static int choose_row(const rlx_kgen_nest *n, const fused *f, const fused_flats *x,
                      const bool *determined)
{
    int best = -1, row = -1;
    for (int i = 0; i < (int)n->count; i++) {
        if (!determined[i] || i == f->column)
            continue;
        int points = 2 * (f->contract && has_stride(&x->a, i) && !has_stride(&x->b, i)) +
                     (likely_extent(&n->loops[i]) >= 8);
        if (points >= best) {
            best = points;
            row = i;
        }
    }
    return row;
}

static void choose_roles(const rlx_kgen_nest *n, fused *f, fused_flats *x, const bool *determined)
{
    f->step = -1;
    for (int i = 0; i < (int)n->count; i++)
        if (!determined[i])
            f->step = i; /* the innermost one stays */
    f->column = choose_column(n, f, x, determined);
    if (f->contract && f->column >= 0 && has_stride(&x->a, f->column) &&
        !has_stride(&x->b, f->column)) {
        /* the operand that stands still along the columns comes first */
        const rlx_buffer_load *load = f->a;
        rlx_kgen_flat flat = x->a;
        f->a = f->b, f->b = load;
        x->a = x->b, x->b = flat;
    }
    f->row = choose_row(n, f, x, determined);
}

static const rlx_prim *fused_offset(rlx_kgen *w, const rlx_kgen_nest *n, const fused *f,
                                    const rlx_kgen_flat *x)
{
    const rlx_prim *p = x->base;
    for (int i = 0; i < (int)n->count; i++) {
        bool inside = i == f->row || i == f->column || i == f->step;
        if (x->coeff[i])
            p = rlx_fold_add(
                w->ctx, p,
                rlx_fold_mul(w->ctx,
                             rlx_kgen_wide_index(w, inside ? n->loops[i].min : n->loops[i].var),
                             x->coeff[i]));
    }
    return p;
}

static uint32_t stride_reg(rlx_kgen *w, const rlx_kgen_flat *x, int loop)
{
    return loop < 0 || !x->coeff[loop] ? rlx_kgen_const_i64(w, 0)
                                       : rlx_kgen_int64(w, x->coeff[loop]).reg;
}

static uint32_t extent_reg(rlx_kgen *w, const rlx_kgen_nest *n, int loop)
{
    return loop < 0 ? rlx_kgen_const_i64(w, 1) : rlx_kgen_int64(w, n->loops[loop].extent).reg;
}

static void fused_code(rlx_kgen *w, const rlx_kgen_nest *n, const fused *f, const fused_flats *x)
{
    uint32_t acc = rlx_kgen_buffer_of(w, f->store->buffer)->index,
             a = rlx_kgen_buffer_of(w, f->a->buffer)->index,
             b = rlx_kgen_buffer_of(w, f->b->buffer)->index;
    uint32_t at_acc = rlx_kgen_int64(w, fused_offset(w, n, f, &x->acc)).reg,
             at_a = rlx_kgen_int64(w, fused_offset(w, n, f, &x->a)).reg;
    uint32_t rows = extent_reg(w, n, f->row), columns = extent_reg(w, n, f->column),
             depth = extent_reg(w, n, f->step);
    if (!f->contract) {
        RLX_KGEN_EMIT(w, w->top, RLX_K_REDUCE, f->op, acc, at_acc, stride_reg(w, &x->acc, f->row),
                stride_reg(w, &x->acc, f->column), a, at_a, stride_reg(w, &x->a, f->row),
                stride_reg(w, &x->a, f->column), stride_reg(w, &x->a, f->step), rows, columns,
                depth);
        return;
    }
    uint32_t at_b = rlx_kgen_int64(w, fused_offset(w, n, f, &x->b)).reg;
    RLX_KGEN_EMIT(w, w->top, RLX_K_CONTRACT, acc, at_acc, stride_reg(w, &x->acc, f->row),
            stride_reg(w, &x->acc, f->column), a, at_a, stride_reg(w, &x->a, f->row),
            stride_reg(w, &x->a, f->column), stride_reg(w, &x->a, f->step), b, at_b,
            stride_reg(w, &x->b, f->row), stride_reg(w, &x->b, f->column),
            stride_reg(w, &x->b, f->step), rows, columns, depth);
}

static bool try_fused(rlx_kgen *w, rlx_kgen_nest *n, const bool *determined, bool *done)
{
    fused f;
    fused_flats x;
    if (!match_fused(n, &f) || !fused_type(w, &f))
        return true;
    n->level = w->top; /* for now: what must be known in front of the nest */
    if (!flatten_fused(w, n, &f, &x))
        return !w->failed;
    choose_roles(n, &f, &x, determined);
    if (f.step < 0)
        return true; /* no reduction at all: an elementwise update */
    for (size_t i = 0; i < n->count;
         i++) /* two iterations at one place differ in undetermined loops only */
        if (!determined[i] && has_stride(&x.acc, (int)i))
            return true;
    const rlx_kgen_nest *outer = w->nest;
    open_loop open[RLX_KGEN_MAX_NEST];
    if (!open_nest(w, n))
        return false;
    bool ok = rlx_kgen_check_box(w, n, rlx_kgen_buffer_of(w, f.store->buffer), f.store->indices,
                                 f.store->num_indices) &&
              rlx_kgen_check_box(w, n, rlx_kgen_buffer_of(w, f.a->buffer), f.a->indices,
                                 f.a->num_indices) &&
              rlx_kgen_check_box(w, n, rlx_kgen_buffer_of(w, f.b->buffer), f.b->indices,
                                 f.b->num_indices);
    if (!ok)
        return w->failed ? false : rlx_kgen_fail(w, "a reduction cannot be compiled");
    for (int i = 0; i < (int)n->count; i++)
        if (i != f.row && i != f.column && i != f.step)
            open[i] = begin_loop(w, &n->loops[i], n);
    fused_code(w, n, &f, &x);
    for (int i = (int)n->count; i-- > 0;)
        if (i != f.row && i != f.column && i != f.step)
            end_loop(w, &n->loops[i], open[i]);
    close_nest(w, n, outer);
    *done = true;
    return !w->failed;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static bool try_strip(rlx_kgen *w, scan *s, const bool *determined, bool *done)
{
    rlx_kgen_nest *n = s->n;
    const rlx_kgen_nest *outer = w->nest;
    n->level = w->top;
    choose_strip(s, determined);
    if (n->strip < 0)
        return true;
    n->strip_extent = n->loops[n->strip].extent;
    merge_loops(s, determined);
    if (w->failed || !open_nest(w, n))
        return false;
    nest_code(w, n);
    close_nest(w, n, outer);
    *done = true;
    return !w->failed;
}

/* A loop that never runs: no place of a store tells the iterations of the others apart then. */
static bool is_empty(const rlx_kgen_nest *n)
{
    int64_t extent;
    for (size_t i = 0; i < n->count; i++)
        if (rlx_int_literal(n->loops[i].extent, &extent) && extent <= 0)
            return true;
    return false;
}

bool rlx_kgen_try_nest(rlx_kgen *w, const rlx_for_stmt *stmt, bool *done)
{
    rlx_kgen_nest n = { .strip = -1, .strip_level = -1, .extent_reg = 0 };
    scan s = { .w = w, .n = &n };
    bool determined[RLX_KGEN_MAX_NEST];
    *done = false;
    rlx_ptrmap_init(&n.stored, &w->ctx->memory);
    rlx_ptrmap_init(&s.raw, &w->ctx->memory);
    bool ok = collect_loops(w, stmt, &n);
    *done = ok && is_empty(&n);
    ok = ok && (*done || n.count == 0 || scan_body(&s));
    if (ok && !*done && n.count && s.straight && s.stores.len && one_place_each(w, &s)) {
        find_determined(&s, determined);
        ok = try_fused(w, &n, determined, done) && (*done || try_strip(w, &s, determined, done));
    }
    rlx_vec_free(&w->ctx->memory, &s.stores);
    rlx_vec_free(&w->ctx->memory, &s.loads);
    rlx_ptrmap_free(&n.stored);
    rlx_ptrmap_free(&s.raw);
    return ok;
}
