/* kgen_nest.c: the code of a loop nest as its plan says (schedule/plan.h): the loops that stay
 * loops, in their order, and innermost a strip loop or one instruction. */
#include <math.h>

#include "codegen/kgen_int.h"
#include "format/kernel_math.h"

/* ---- loops ---------------------------------------------------------------------------------- */

/* The nest's own level: skipped when a loop is empty. */
static bool open_nest(rlx_kgen *w, rlx_kgen_nest *n)
{
    for (size_t i = 0; i < n->plan->count; i++) {
        rlx_kgen_int64(w, n->plan->loops[i].min);
        rlx_kgen_int64(w, n->plan->loops[i].extent);
    }
    n->level = rlx_kgen_open(w, false, NULL);
    w->nest = n;
    rlx_ptrmap_clear(&w->broadcasts);
    return !rlx_kgen_failed(w);
}

static void close_nest(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    int64_t value;
    uint32_t extents[RLX_COUNT(plan->loops)];
    size_t length = rlx_kgen_length(w, n->level), jumps = 0;
    w->nest = NULL;
    rlx_kgen_forget_loads(w);
    w->top--; /* the jumps stand in front of the nest's level */
    /* what computes an extent once more, as it was forgotten, stands in front of all jumps */
    for (size_t i = 0; i < plan->count; i++)
        if (!rlx_int_literal(plan->loops[i].extent, &value) && !rlx_kgen_is_at_least(w, plan->loops[i].extent, 1))
            extents[jumps++] = rlx_kgen_int64(w, plan->loops[i].extent).reg;
    for (size_t i = 0; i < jumps && !rlx_kgen_failed(w); i++)
        RLX_KGEN_EMIT(w, w->top, RLX_K_JUMP_IF_EMPTY, extents[i],
                (uint32_t)(length + (jumps - i) * rlx_kernel_op_words(RLX_K_JUMP_IF_EMPTY)));
    w->top++;
    rlx_kgen_close(w);
    rlx_kgen_reset_strips(w);
    rlx_ptrmap_clear(&w->broadcasts);
}

typedef struct open_loop { uint32_t var, limit; } open_loop;

/* Threads may share one of the loops: everything behind the checks is written for a part of it. */
static rlx_kgen_parallel begin_part(rlx_kgen *w, rlx_kgen_nest *n)
{
    const rlx_plan_parallel *all = &n->plan->parallel;
    rlx_kgen_parallel p = { 0 };
    n->shared = all->extent && !w->shared_depth;
    if (n->shared) {
        p = rlx_kgen_begin_parallel(w, rlx_int64(w->ctx, 0), all->extent, all->work, all->grain, n);
        n->part_level = w->top;
        n->part_begin = p.begin;
        n->part_count = p.count;
    }
    return p;
}

static void end_part(rlx_kgen *w, rlx_kgen_nest *n, rlx_kgen_parallel p)
{
    if (n->shared)
        rlx_kgen_end_parallel(w, p);
    n->shared = false;
}

/* A loop level; its body is collected in the level on top. */
static open_loop begin_loop(rlx_kgen *w, const rlx_nest_loop *l, const rlx_kgen_nest *n)
{
    open_loop o;
    o.var = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
    o.limit = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
    int32_t level = rlx_kgen_open(w, true, n);
    rlx_kgen_bind_var(
        w, l->var,
        (rlx_kgen_value){
            .reg = o.var, .level = level, .klass = RLX_CLASS_I64, .dtype = RELAX_INT64 });
    return o;
}

/* Is it the loop, one of the nest, of which a part is done? */
static bool is_part(const rlx_kgen_nest *n, const rlx_nest_loop *l)
{
    return n->shared && n->plan->parallel.loop == l - n->plan->loops;
}

static void end_loop(rlx_kgen *w, const rlx_nest_loop *l, open_loop o, const rlx_kgen_nest *n)
{
    size_t length = rlx_kgen_length(w, w->top), loop_words = rlx_kernel_op_words(RLX_K_LOOP),
           next_words = rlx_kernel_op_words(RLX_K_NEXT);
    uint32_t min, extent;
    RLX_KGEN_EMIT(w, w->top, RLX_K_NEXT, o.var, o.limit, (uint32_t)-(int32_t)length);
    w->top--;
    min = rlx_kgen_int64(w, l->min).reg;
    extent = is_part(n, l) ? n->part_count : rlx_kgen_int64(w, l->extent).reg;
    if (is_part(n, l) && !rlx_is_int_value(l->min, 0)) {
        uint32_t first = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
        RLX_KGEN_EMIT(w, w->top, RLX_K_XADD, first, min, n->part_begin);
        min = first;
    } else if (is_part(n, l))
        min = n->part_begin;
    RLX_KGEN_EMIT(w, w->top, RLX_K_LOOP, o.var, min, extent, o.limit,
            (uint32_t)(loop_words + length + next_words));
    w->top++;
    rlx_kgen_close(w);
}

/* ---- the strip loop ------------------------------------------------------------------------- */

static void write_strip(rlx_kgen *w, rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    bool part = n->shared && plan->parallel.loop == plan->strip;
    uint32_t at = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0), count;
    n->extent_reg = rlx_kgen_int64(w, plan->strip_extent).reg;
    count = part ? n->part_count : n->extent_reg;
    n->strip_reg = part ? rlx_kgen_new_reg(w, RLX_CLASS_I64, 0) : at;
    rlx_kgen_hint(w, n->strip_reg, plan->loops[plan->strip].var);
    if (plan->row >= 0) /* where its index is added up with others it stands for its begin */
        rlx_kgen_bind_var(w, plan->loops[plan->row].var, rlx_kgen_int64(w, plan->loops[plan->row].min));
    n->strip_level = rlx_kgen_open(w, true, n);
    if (part)
        RLX_KGEN_EMIT(w, w->top, RLX_K_XADD, n->strip_reg, at, n->part_begin);
    rlx_kgen_stmt(w, plan->body, RLX_KGEN_ALWAYS);
    size_t length = rlx_kgen_length(w, w->top), head = rlx_kernel_op_words(RLX_K_STRIP),
           tail = rlx_kernel_op_words(RLX_K_NEXT_STRIP);
    RLX_KGEN_EMIT(w, w->top, RLX_K_NEXT_STRIP, at, count, (uint32_t)-(int32_t)length);
    RLX_KGEN_EMIT(w, w->top - 1, RLX_K_STRIP, at, count, (uint32_t)(head + length + tail));
    rlx_kgen_close(w);
    n->strip_level = -1;
}

/* ---- one instruction -------------------------------------------------------------------------
 *
 * Where a part of one of its dimensions is done, that is the extent, and every side begins so many of its strides further on. */
typedef struct sides {
    int extent;                    /* operand */
    struct { int offset, stride; } at[RLX_NORMALIZE_SIDES]; /* operands */
    int count;
} sides;

static void add_side(sides *s, int offset, int stride)
{
    s->at[s->count].offset = offset;
    s->at[s->count++].stride = stride;
}

static void write_instruction(rlx_kgen *w, const rlx_kgen_nest *n, unsigned op, uint32_t *x, const sides *s)
{
    if (n->shared && n->plan->parallel.dimension >= 0) {
        x[s->extent] = n->part_count;
        for (int i = 0; i < s->count; i++) {
            uint32_t moved = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
            RLX_KGEN_EMIT(w, w->top, RLX_K_XMADD, moved, n->part_begin, x[s->at[i].stride],
                          x[s->at[i].offset]);
            x[s->at[i].offset] = moved;
        }
    }
    rlx_kgen_emit(w, w->top, op, x);
}

/* ---- the fused instruction ------------------------------------------------------------------ */

/* Where the access is in the first iteration of the instruction. */
static uint32_t start_reg(rlx_kgen *w, const rlx_nest_plan *plan, const rlx_plan_access *a)
{
    const rlx_prim *at = a->offset.base;
    for (size_t i = 0; i < plan->count; i++) {
        const rlx_nest_loop *l = &plan->loops[i];
        if (a->offset.coeff[i])
            at = rlx_plan_add_product(w->ctx, at, l->role == RLX_PLAN_LOOP ? l->var : l->min,
                                      a->offset.coeff[i]);
    }
    return rlx_kgen_int64(w, at).reg;
}

static uint32_t stride_reg(rlx_kgen *w, const rlx_plan_access *a, int loop)
{
    return loop < 0 || !a->offset.coeff[loop] ? rlx_kgen_const_i64(w, 0)
                                              : rlx_kgen_int64(w, a->offset.coeff[loop]).reg;
}

static uint32_t extent_reg(rlx_kgen *w, const rlx_nest_plan *plan, int loop)
{
    return loop < 0 ? rlx_kgen_const_i64(w, 1) : rlx_kgen_int64(w, plan->loops[loop].extent).reg;
}

/* Do the steps of each turn of a reduction go on where those of the turn before end? Then all of them are one run, in the same order. */
static const rlx_prim *steps_of_all_turns(rlx_kgen *w, const rlx_nest_plan *plan)
{
    const rlx_plan_fused *f = &plan->fused;
    const int turn = f->loop[RLX_FUSED_TURN], step = f->loop[RLX_FUSED_STEP];
    if (plan->form != RLX_PLAN_FUSED || f->contract || turn < 0 || step < 0)
        return NULL;
    const rlx_prim *steps = plan->loops[step].extent, *turns = f->turns ? f->turns : plan->loops[turn].extent;
    return rlx_plan_goes_on(w->ctx, plan, turn, step, steps) ? rlx_fold_mul(w->ctx, turns, steps) : NULL;
}

/* Columns of all rows, where rows of a reduction go on as columns do, and threads share neither. NULL: they do not. */
static const rlx_prim *columns_of_all_rows(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    const int row = plan->fused.loop[RLX_FUSED_ROW], column = plan->fused.loop[RLX_FUSED_COLUMN], shared = plan->parallel.dimension;
    if (plan->fused.contract || row < 0 || column < 0 || (n->shared && (shared == RLX_FUSED_ROW || shared == RLX_FUSED_COLUMN)))
        return NULL;
    const rlx_prim *columns = plan->loops[column].extent;
    return rlx_plan_goes_on(w->ctx, plan, row, column, columns) ? rlx_fold_mul(w->ctx, plan->loops[row].extent, columns) : NULL;
}

/* Registers in a fixed order, which is that of the code that computes them. */
static void write_fused(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    const rlx_plan_fused *f = &plan->fused;
    const rlx_plan_access *all = plan->accesses.data,
                          *touched[3] = { &all[f->acc], &all[f->a], &all[f->b] };
    uint32_t at[3], extents[RLX_FUSED_LOOPS], x[1 + 3 * (2 + RLX_FUSED_LOOPS) + RLX_FUSED_LOOPS];
    size_t count = 0;
    bool partial = plan->form == RLX_PLAN_PARTIAL;
    int touches = f->contract || partial ? 3 : 2;
    at[0] = start_reg(w, plan, touched[0]);
    at[1] = start_reg(w, plan, touched[1]);
    const rlx_prim *all_steps = steps_of_all_turns(w, plan), *all_columns = columns_of_all_rows(w, n);
    for (int i = 0; i < RLX_FUSED_LOOPS; i++)
        extents[i] = extent_reg(w, plan, (i == RLX_FUSED_TURN && all_steps) || (i == RLX_FUSED_ROW && all_columns) ? -1 : f->loop[i]);
    if (all_columns)
        extents[RLX_FUSED_COLUMN] = rlx_kgen_int64(w, all_columns).reg;
    if (f->turns && !all_steps)
        extents[RLX_FUSED_TURN] = rlx_kgen_int64(w, f->turns).reg;
    if (all_steps)
        extents[RLX_FUSED_STEP] = rlx_kgen_int64(w, all_steps).reg;
    if (touches == 3)
        at[2] = start_reg(w, plan, touched[2]);
    x[count++] = partial       ? f->value | (n->from_zero ? RLX_KERNEL_PARTIAL_FROM_ZERO : 0)
                 : !f->contract ? f->op
                                : (f->exact ? RLX_KERNEL_EXACT : 0) |
                                      (n->from_zero ? RLX_KERNEL_FROM_ZERO : 0);
    for (int i = 0; i < touches; i++) {
        x[count++] = rlx_kgen_buffer_of(w, touched[i]->buffer)->index;
        x[count++] = at[i];
        /* the result stands still along turns and steps */
        for (int l = 0; l < (i ? RLX_FUSED_LOOPS : RLX_FUSED_TURN); l++)
            x[count++] = stride_reg(w, touched[i], f->loop[l]);
    }
    memcpy(x + count, extents, sizeof extents);
    const int dimension = plan->parallel.dimension;
    sides s = { .extent = (int)count + dimension };
    add_side(&s, 2, 3 + dimension);
    for (int i = 1; i < touches; i++)
        add_side(&s, 7 * i, 7 * i + 1 + dimension);
    write_instruction(w, n, partial       ? RLX_K_PARTIAL
                            : f->contract ? RLX_K_CONTRACT
                                          : RLX_K_REDUCE, x, &s);
}

/* ---- panels --------------------------------------------------------------------------------- */

static uint32_t int64_reg(rlx_kgen *w, const rlx_prim *e) { return rlx_kgen_int64(w, e).reg; }

/* The range of what is read, unless nothing is. */
static void check_packed(rlx_kgen *w, const rlx_plan_pack *k, const rlx_kgen_buffer *source,
                         size_t ndim)
{
    uint32_t range[RLX_TIR_MAX_DIMS][3], checks = 0, lanes = int64_reg(w, k->lanes);
    int64_t known;
    for (size_t d = 0; d < ndim; d++)
        if (k->least[d]) {
            range[d][0] = int64_reg(w, k->least[d]);
            range[d][1] = int64_reg(w, k->greatest[d]);
            range[d][2] = int64_reg(w, source->shape[d]);
            checks++;
        }
    if (checks && !(rlx_int_literal(k->lanes, &known) && known > 0))
        RLX_KGEN_EMIT(w, w->top, RLX_K_JUMP_IF_EMPTY, lanes,
                      rlx_kernel_op_words(RLX_K_JUMP_IF_EMPTY) +
                          checks * rlx_kernel_op_words(RLX_K_CHECK));
    for (size_t d = 0; d < ndim && !rlx_kgen_failed(w); d++)
        if (k->least[d])
            RLX_KGEN_EMIT(w, w->top, RLX_K_CHECK, range[d][0], range[d][1], range[d][2],
                          source->index, (uint32_t)d);
}

/* Inside of the loops that stay: the range of what is read, and the instruction. */
static void write_panels(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    const rlx_plan_pack *k = &plan->pack;
    const rlx_plan_access *to = &plan->accesses.data[0], *from = &plan->accesses.data[1];
    const rlx_kgen_buffer *source = rlx_kgen_buffer_of(w, from->buffer),
                          *panel = rlx_kgen_buffer_of(w, to->buffer);
    uint32_t x[16];
    if (!source || !panel)
        return;
    check_packed(w, k, source, from->num_indices);
    x[0] = (uint32_t)k->panel | (k->four >= 0 ? RLX_KERNEL_FOURS : 0);
    x[1] = panel->index;
    x[2] = start_reg(w, plan, to);
    x[3] = source->index;
    x[4] = int64_reg(w, k->from);
    x[5] = int64_reg(w, k->lanes);
    x[6] = int64_reg(w, k->start);
    x[7] = int64_reg(w, k->width);
    x[8] = int64_reg(w, k->high);
    x[9] = int64_reg(w, k->low);
    for (int i = 0; i < 3; i++) {
        x[10 + i] = i == 0 && k->four >= 0 ? int64_reg(w, k->steps) : extent_reg(w, plan, k->depth[i]);
        x[13 + i] = int64_reg(w, k->depth_stride[i]);
    }
    rlx_kgen_emit(w, w->top, RLX_K_PACK, x);
}

/* ---- fields of bits ------------------------------------------------------------------------- */

static void write_unpack(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    const rlx_plan_unpack *u = &plan->unpack;
    const rlx_plan_access *all = plan->accesses.data,
                          *touched[3] = { &all[0], &all[u->words], &all[u->scales] };
    const int loops[4] = { u->group, u->word, u->digit, u->lane };
    uint32_t x[18] = { (uint32_t)u->bits };
    for (int i = 0; i < 3; i++) {
        const rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, touched[i]->buffer);
        if (!b)
            return;
        x[1 + 2 * i] = b->index;
        x[2 + 2 * i] = start_reg(w, plan, touched[i]);
    }
    x[7] = rlx_kgen_const_i64(w, u->zero);
    for (int i = 0; i < 4; i++)
        x[8 + i] = extent_reg(w, plan, loops[i]);
    for (int i = 0; i < 3; i++)
        x[12 + i] = stride_reg(w, touched[0], loops[i]);
    for (int i = 0; i < 2; i++)
        x[15 + i] = stride_reg(w, touched[1], loops[i]);
    x[17] = stride_reg(w, touched[2], loops[0]);
    const int dimension = plan->parallel.dimension;
    sides s = { .extent = 8 + dimension };
    add_side(&s, 2, 12 + dimension);
    add_side(&s, 4, 15 + dimension);
    if (!dimension)
        add_side(&s, 6, 17); /* scales do not move along words */
    write_instruction(w, n, RLX_K_UNPACK, x, &s);
}

/* ---- boxes ---------------------------------------------------------------------------------- */

static void write_copy(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_plan_copy *c = &n->plan->copy;
    uint32_t x[16];
    for (int i = 0; i < 2; i++) {
        const rlx_plan_access *a = &n->plan->accesses.data[i];
        const rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, a->buffer);
        if (!b)
            return;
        x[2 * i] = b->index;
        x[2 * i + 1] = start_reg(w, n->plan, a);
    }
    for (int i = 0; i < 4; i++) {
        x[4 + i] = int64_reg(w, c->extent[i]);
        x[8 + i] = int64_reg(w, c->to[i]);
        x[12 + i] = int64_reg(w, c->from[i]);
    }
    const int dimension = n->plan->parallel.dimension;
    sides s = { .extent = 4 + dimension };
    add_side(&s, 1, 8 + dimension);
    add_side(&s, 3, 12 + dimension);
    write_instruction(w, n, RLX_K_COPY, x, &s);
}

/* ---- rows that are normalized --------------------------------------------------------------- */

static void write_normalize(rlx_kgen *w, const rlx_kgen_nest *n)
{
    enum { FIRST_SIDE = 3 };
    const rlx_plan_normalize *z = &n->plan->normalize;
    uint32_t x[FIRST_SIDE + 4 * RLX_NORMALIZE_SIDES + 2] = { 0 };
    x[0] = z->bounded ? RLX_NORMALIZE_BOUNDED : 0;
    x[1] = int64_reg(w, rlx_int64(w->ctx, z->bounded ? rlx_float_bits(z->low) : 0));
    x[2] = int64_reg(w, rlx_int64(w->ctx, z->bounded ? rlx_float_bits(z->high) : 0));
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++) {
        bool there = z->access[k] != SIZE_MAX;
        int from = there ? k : 1;
        const rlx_plan_access *a = &n->plan->accesses.data[z->access[from]];
        if (there && k > 1)
            x[0] |= 1u << (k - 2);
        x[FIRST_SIDE + 4 * k] = rlx_kgen_buffer_of(w, a->buffer)->index;
        x[FIRST_SIDE + 1 + 4 * k] = start_reg(w, n->plan, a);
        for (int i = 0; i < 2; i++)
            x[FIRST_SIDE + 2 + 4 * k + i] = int64_reg(w, z->stride[from][i]);
    }
    for (int i = 0; i < 2; i++)
        x[FIRST_SIDE + 4 * RLX_NORMALIZE_SIDES + i] = int64_reg(w, z->extent[i]);
    const int dimension = n->plan->parallel.dimension;
    sides s = { .extent = FIRST_SIDE + 4 * RLX_NORMALIZE_SIDES + dimension };
    for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
        add_side(&s, FIRST_SIDE + 1 + 4 * k, FIRST_SIDE + 2 + 4 * k + dimension);
    write_instruction(w, n, RLX_K_NORMALIZE, x, &s);
}

/* ---- functions of rows ---------------------------------------------------------------------- */

static void write_map(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_plan_map *m = &n->plan->map;
    const size_t touched[3] = { 0, m->a, m->b };
    uint32_t x[15];
    size_t count = 0;
    x[count++] = m->function;
    for (int i = 0; i < 3; i++) {
        const rlx_plan_access *a = &n->plan->accesses.data[touched[i]];
        const rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, a->buffer);
        if (!b)
            return;
        x[count++] = b->index;
        x[count++] = start_reg(w, n->plan, a);
        x[count++] = stride_reg(w, a, m->row);
        x[count++] = stride_reg(w, a, m->column);
    }
    x[count++] = m->row < 0 ? extent_reg(w, n->plan, -1) : int64_reg(w, m->rows);
    x[count] = m->column < 0 ? extent_reg(w, n->plan, -1) : int64_reg(w, m->columns);
    const int dimension = n->plan->parallel.dimension;
    sides s = { .extent = 13 + dimension };
    for (int i = 0; i < 3; i++)
        add_side(&s, 2 + 4 * i, 3 + 4 * i + dimension);
    write_instruction(w, n, RLX_K_MAP, x, &s);
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* The range of an access over the whole nest. what: its instruction, for a refusal. */
static bool check_access(rlx_kgen *w, const rlx_kgen_nest *n, size_t access, const char *what)
{
    const rlx_plan_access *a = &n->plan->accesses.data[access];
    const rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, a->buffer);
    if (b && rlx_kgen_check_box(w, n, b, a->indices, a->num_indices))
        return true;
    return !rlx_kgen_failed(w) && rlx_kgen_fail(w, "%s cannot be compiled", what);
}

/* Of all that the instruction touches; what a panel is filled from is checked beside it. */
static bool check_nest(rlx_kgen *w, const rlx_kgen_nest *n)
{
    const rlx_plan_fused *f = &n->plan->fused;
    switch (n->plan->form) {
    case RLX_PLAN_FUSED: case RLX_PLAN_PARTIAL:
        return check_access(w, n, f->acc, "a reduction") && check_access(w, n, f->a, "a reduction") &&
               check_access(w, n, f->b, "a reduction");
    case RLX_PLAN_PACK: return check_access(w, n, 0, "a copy into panels");
    case RLX_PLAN_COPY: return check_access(w, n, 0, "a copy") && check_access(w, n, 1, "a copy");
    case RLX_PLAN_UNPACK:
        return check_access(w, n, 0, "fields of bits") && check_access(w, n, 1, "fields of bits") &&
               check_access(w, n, 2, "fields of bits");
    case RLX_PLAN_NORMALIZE:
        for (int k = 0; k < RLX_NORMALIZE_SIDES; k++)
            if (n->plan->normalize.access[k] != SIZE_MAX &&
                !check_access(w, n, n->plan->normalize.access[k], "a nest that normalizes"))
                return false;
        return true;
    case RLX_PLAN_MAP:
        return check_access(w, n, 0, "a function of rows") && check_access(w, n, 1, "a function of rows") &&
               check_access(w, n, n->plan->accesses.len - 1, "a function of rows");
    default: return true;
    }
}

static bool write_nest(rlx_kgen *w, rlx_kgen_nest *n)
{
    const rlx_nest_plan *plan = n->plan;
    open_loop open[RLX_PLAN_MAX_NEST];
    if (!open_nest(w, n) || !check_nest(w, n))
        return false;
    rlx_kgen_parallel part = begin_part(w, n);
    for (size_t i = 0; i < plan->num_order; i++)
        open[i] = begin_loop(w, &plan->loops[plan->order[i]], n);
    if (plan->form == RLX_PLAN_FUSED || plan->form == RLX_PLAN_PARTIAL)
        write_fused(w, n);
    else if (plan->form == RLX_PLAN_PACK)
        write_panels(w, n);
    else if (plan->form == RLX_PLAN_COPY)
        write_copy(w, n);
    else if (plan->form == RLX_PLAN_UNPACK)
        write_unpack(w, n);
    else if (plan->form == RLX_PLAN_NORMALIZE)
        write_normalize(w, n);
    else if (plan->form == RLX_PLAN_MAP)
        write_map(w, n);
    else if (!rlx_kgen_failed(w))
        write_strip(w, n);
    for (size_t i = plan->num_order; i-- > 0;)
        end_loop(w, &plan->loops[plan->order[i]], open[i], n);
    end_part(w, n, part);
    close_nest(w, n);
    return !rlx_kgen_failed(w);
}

/* Does the statement store +0 where the instruction sums up? */
static bool is_fill(rlx_kgen *w, const rlx_stmt *fill, const rlx_nest_plan *plan)
{
    int64_t steps;
    for (size_t i = 0; i < plan->count; i++) {
        const rlx_nest_loop *l = &plan->loops[i];
        bool summed = l->role == RLX_PLAN_STEP || l->role == RLX_PLAN_TURN;
        /* without steps nothing would be written */
        if (summed ? !rlx_int_literal(l->extent, &steps) || steps < 1
                   : l->role == RLX_PLAN_LOOP && !rlx_is_int_value(l->extent, 1))
            return false;
    }
    const rlx_prim *first = rlx_plan_first_stored(w->ctx, plan, fill);
    const rlx_float_imm *x = first ? rlx_as_float_imm(first) : NULL;
    return first && (x ? x->value == 0 && !signbit(x->value) : rlx_is_int_value(first, 0));
}

/* A store, or loops around one: what may be a fill, without planning anything. */
static bool may_be_fill(const rlx_stmt *fill)
{
    const rlx_stmt *body = fill;
    while (body->kind == RLX_NODE_FOR)
        body = ((const rlx_for_stmt *)body)->body;
    const rlx_buffer_store *s = rlx_as_buffer_store(body);
    return s && (s->value->kind == RLX_NODE_FLOAT_IMM || s->value->kind == RLX_NODE_INT_IMM);
}

bool rlx_kgen_try_sum(rlx_kgen *w, const rlx_stmt *fill, const rlx_for_stmt *sum, bool *done)
{
    rlx_nest_plan plan;
    rlx_kgen_nest n = {
        .writer = w, .plan = &plan, .level = w->top, .strip_level = -1, .from_zero = true
    };
    rlx_plan_scope front = rlx_kgen_scope_of(&n);
    *done = false;
    if (!may_be_fill(fill))
        return true;
    bool ok = rlx_plan_nest(w->ctx, &front, sum, &plan);
    *done = ok &&
            (plan.form == RLX_PLAN_PARTIAL ||
             (plan.form == RLX_PLAN_FUSED && plan.fused.contract)) &&
            is_fill(w, fill, &plan);
    if (*done)
        ok = write_nest(w, &n);
    rlx_nest_plan_free(w->ctx, &plan);
    return ok;
}

bool rlx_kgen_try_nest(rlx_kgen *w, const rlx_for_stmt *stmt, bool *done)
{
    rlx_nest_plan plan;
    rlx_kgen_nest n = { .writer = w, .plan = &plan, .level = w->top, .strip_level = -1 };
    rlx_plan_scope front = rlx_kgen_scope_of(&n);
    bool ok = rlx_plan_nest(w->ctx, &front, stmt, &plan);
    *done = ok && plan.form != RLX_PLAN_PLAIN;
    if (*done && plan.form != RLX_PLAN_EMPTY)
        ok = write_nest(w, &n);
    rlx_nest_plan_free(w->ctx, &plan);
    return ok;
}
