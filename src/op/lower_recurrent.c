/*- lower_recurrent.c: lstm, gru and rnn, all steps in one PrimFunc.
 *
 *     h = state                                           what comes out last, from the first step on
 *     for t in range(steps):
 *         sum[i, j] = sum over k of h[i, k] * weight[k, j]
 *         h[i, j] = what the cell makes of x[t, i, ..], sum[i, ..] and h[i, j]
 *         rows[t, i, j] = h[i, j]
 *
 * Each number is rounded where the operators would round it of which a step is made: matmul, add, sigmoid, tanh, multiply. */
/* built for size */
#include "op/lower_int.h"

typedef struct recurrent {
    rlx_lowering b;
    rlx_lowering_tensor x, weight, state, other, candidate, lengths, out[3];   /* other: the cell, or the bias */
    rlx_dtype dtype, wide;
    const rlx_prim *step, *steps, *batch, *n;                       /* step: the one at work, as the loop has it */
    const rlx_prim *t, *i, *j;                                      /* of the open block: step of x, row, column */
    const rlx_buffer *sum, *fresh, *reset;
    bool lengthy;
} recurrent;

static const rlx_prim *whole(recurrent *r, int64_t v) { return rlx_tir_int(&r->b.t, v); }

static void open_block(recurrent *r, const char *name, bool in_step)
{
    rlx_tir *t = &r->b.t;
    rlx_lowering_list index, sizes = { .at = { r->batch, r->n }, .n = 2 };
    rlx_lowering_open(&r->b, name, &sizes, &index);
    r->i = index.at[0];
    r->j = index.at[1];
    if (in_step)
        r->t = rlx_tir_axis(t, RLX_ITER_OPAQUE, "t", whole(r, 0), r->steps, r->step);
}

static const rlx_prim *at_place(recurrent *r, const rlx_buffer *b) { return rlx_tir_load(&r->b.t, b, RLX_TIR_LIST(r->i, r->j)); }
static void set_place(recurrent *r, const rlx_buffer *b, const rlx_prim *v) { rlx_tir_store(&r->b.t, b, RLX_TIR_LIST(r->i, r->j), v); }

/* Column j of a gate. */
static const rlx_prim *column(recurrent *r, int64_t gate) { return rlx_tir_add(&r->b.t, rlx_tir_mul(&r->b.t, whole(r, gate), r->n), r->j); }

static const rlx_prim *given(recurrent *r, int64_t gate)
{
    return rlx_tir_load(&r->b.t, r->x.buffer, RLX_TIR_LIST(r->t, r->i, column(r, gate)));
}

static const rlx_prim *summed(recurrent *r, int64_t gate)
{
    return rlx_tir_cast(&r->b.t, r->dtype, rlx_tir_load(&r->b.t, r->sum, RLX_TIR_LIST(r->i, column(r, gate))));
}

static const rlx_prim *biased(recurrent *r, int64_t gate, const rlx_prim *v)
{
    return rlx_tir_add(&r->b.t, v, rlx_tir_load(&r->b.t, r->other.buffer, RLX_TIR_LIST(column(r, gate))));
}

static const rlx_prim *call(recurrent *r, const char *function, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_call1(&r->b.t, function, rlx_tir_add(&r->b.t, a, b));
}

static const rlx_prim *mul(recurrent *r, const rlx_prim *a, const rlx_prim *b) { return rlx_tir_mul(&r->b.t, a, b); }

/* to[i, j] = sum over k of from[i, k] * weight[k, j] */
static void multiply(recurrent *r, const char *name, const rlx_buffer *to, const rlx_buffer *from, const rlx_lowering_tensor *weight)
{
    rlx_tir *t = &r->b.t;
    rlx_tir_begin_block(t, name);
    const rlx_prim *i = rlx_tir_spatial(t, "i", r->batch), *k = rlx_tir_reduce(t, "k", r->n), *j = rlx_tir_spatial(t, "j", weight->shape.sizes.at[1]);
    rlx_tir_init(t, to, RLX_TIR_LIST(i, j), rlx_tir_number(t, r->wide, 0));
    const rlx_prim *a = rlx_tir_cast(t, r->wide, rlx_tir_load(t, from, RLX_TIR_LIST(i, k))),
                   *b = rlx_tir_cast(t, r->wide, rlx_tir_load(t, weight->buffer, RLX_TIR_LIST(k, j))),
                   *so_far = rlx_tir_load(t, to, RLX_TIR_LIST(i, j));
    rlx_tir_store(t, to, RLX_TIR_LIST(i, j), rlx_tir_multiply_add(t, so_far, a, b));
    rlx_tir_end_block(t);
}

/* Is the step within the sequence of its row? */
static const rlx_prim *is_within(recurrent *r)
{
    return rlx_tir_gt(&r->b.t, rlx_tir_cast(&r->b.t, RELAX_INT64, rlx_tir_load(&r->b.t, r->lengths.buffer, RLX_TIR_LIST(r->i))), r->t);
}

/* The state of the next step; behind the end of a sequence it stays. */
static void set_state(recurrent *r, const rlx_buffer *b, const rlx_prim *v)
{
    set_place(r, b, r->lengthy ? rlx_tir_select(&r->b.t, is_within(r), v, at_place(r, b)) : v);
}

static void give_row(recurrent *r)
{
    rlx_tir *t = &r->b.t;
    open_block(r, "row", true);
    const rlx_prim *v = at_place(r, r->out[1].buffer);
    if (r->lengthy)
        v = rlx_tir_select(t, is_within(r), v, rlx_tir_number(t, r->dtype, 0));
    rlx_tir_store(t, r->out[0].buffer, RLX_TIR_LIST(r->t, r->i, r->j), v);
    rlx_tir_end_block(t);
}

/* gates i, o, f, c */
static void step_lstm(recurrent *r)
{
    const rlx_buffer *h = r->out[1].buffer, *c = r->out[2].buffer;
    multiply(r, "sum", r->sum, h, &r->weight);
    open_block(r, "cell", true);
    const rlx_prim *kept = mul(r, call(r, "sigmoid", given(r, 2), summed(r, 2)), at_place(r, c)),
                   *added = mul(r, call(r, "sigmoid", given(r, 0), summed(r, 0)), call(r, "tanh", given(r, 3), summed(r, 3)));
    set_state(r, c, rlx_tir_add(&r->b.t, kept, added));
    rlx_tir_end_block(&r->b.t);
    open_block(r, "state", true);
    set_state(r, h, mul(r, call(r, "sigmoid", given(r, 1), summed(r, 1)), rlx_tir_call1(&r->b.t, "tanh", at_place(r, c))));
    rlx_tir_end_block(&r->b.t);
}

/* h = (1 - z) * tanh(inner) + z * h */
static void mix(recurrent *r, const rlx_prim *inner)
{
    rlx_tir *t = &r->b.t;
    const rlx_buffer *h = r->out[1].buffer;
    const rlx_prim *z = rlx_tir_let(t, "z", call(r, "sigmoid", given(r, 0), biased(r, 0, summed(r, 0))));
    const rlx_prim *fresh = mul(r, rlx_tir_sub(t, rlx_tir_number(t, r->dtype, 1), z), call(r, "tanh", given(r, 2), inner));
    set_state(r, h, rlx_tir_add(t, fresh, mul(r, z, at_place(r, h))));
}

/* gates z, r, h */
static const rlx_prim *reset_gate(recurrent *r) { return call(r, "sigmoid", given(r, 1), biased(r, 1, summed(r, 1))); }

static void step_gru(recurrent *r)
{
    multiply(r, "sum", r->sum, r->out[1].buffer, &r->weight);
    open_block(r, "state", true);
    mix(r, mul(r, reset_gate(r), biased(r, 2, summed(r, 2))));
    rlx_tir_end_block(&r->b.t);
}

static void step_gru_reset_before(recurrent *r)
{
    multiply(r, "sum", r->sum, r->out[1].buffer, &r->weight);
    open_block(r, "reset", true);
    set_place(r, r->reset, mul(r, reset_gate(r), at_place(r, r->out[1].buffer)));
    rlx_tir_end_block(&r->b.t);
    multiply(r, "fresh", r->fresh, r->reset, &r->candidate);
    open_block(r, "state", true);
    mix(r, biased(r, 2, rlx_tir_cast(&r->b.t, r->dtype, at_place(r, r->fresh))));
    rlx_tir_end_block(&r->b.t);
}

static void step_rnn(recurrent *r)
{
    multiply(r, "sum", r->sum, r->out[1].buffer, &r->weight);
    open_block(r, "state", true);
    set_state(r, r->out[1].buffer, call(r, "tanh", given(r, 0), summed(r, 0)));
    rlx_tir_end_block(&r->b.t);
}

static const struct { int64_t gates; size_t operands, results; void (*step)(recurrent *r); } cells[] = {
    [RLX_CELL_LSTM] = { 4, 4, 3, step_lstm }, [RLX_CELL_GRU] = { 3, 4, 2, step_gru },
    [RLX_CELL_GRU_RESET_BEFORE] = { 3, 5, 2, step_gru_reset_before }, [RLX_CELL_RNN] = { 1, 3, 2, step_rnn }
};

/* Which size of the state a dimension of an operand has, where that is not all columns of gates. */
typedef struct tie { uint8_t operand, dimension, of_state; } tie;
static const tie ties[][4] = {
    [RLX_CELL_LSTM] = { { 0, 1, 0 }, { 1, 0, 1 }, { 3, 0, 0 }, { 3, 1, 1 } },
    [RLX_CELL_GRU] = { { 0, 1, 0 }, { 1, 0, 1 }, { 2, 0, 0 }, { 2, 1, 1 } },
    [RLX_CELL_GRU_RESET_BEFORE] = { { 0, 1, 0 }, { 1, 0, 1 }, { 4, 0, 1 }, { 4, 1, 1 } },
    [RLX_CELL_RNN] = { { 0, 1, 0 }, { 1, 0, 1 }, { 2, 0, 0 }, { 2, 1, 1 } },
};

static void require_size(recurrent *r, const rlx_prim *size, const rlx_prim *want, const char *message)
{
    if (size != want)
        rlx_lowering_require(&r->b, rlx_tir_eq(&r->b.t, size, want), RLX_ASSERTION_SIZES, message);
}

static bool read_operands(recurrent *r, size_t cell)
{
    rlx_lowering_tensor *of[] = { &r->x, &r->weight, &r->state, &r->other, &r->candidate };
    const size_t operands = cells[cell].operands;
    const tie *t = ties[cell];
    r->lengthy = operands < r->b.l->call->num_args;
    for (size_t i = 0; i < 4; i++)
        rlx_lowering_trust(&r->b, t[i].operand, t[i].dimension, 2, t[i].of_state);
    if (r->lengthy)
        rlx_lowering_trust(&r->b, operands, 0, 2, 0);
    for (size_t i = 0; i < operands; i++)
        if (!rlx_lowering_input(&r->b, i, of[i]))
            return false;
    if (r->lengthy && !rlx_lowering_input(&r->b, operands, &r->lengths))
        return false;
    for (size_t i = 0; i < 4; i++)
        require_size(r, of[t[i].operand]->shape.sizes.at[t[i].dimension], r->state.shape.sizes.at[t[i].of_state], "an operand has other sizes than the state");
    if (r->lengthy)
        require_size(r, r->lengths.shape.sizes.at[0], r->state.shape.sizes.at[0], "there is not a length for each row");
    return true;
}

static void require_columns(recurrent *r, const rlx_prim *columns, int64_t gates)
{
    require_size(r, columns, mul(r, whole(r, gates), r->n), "an operand has not a column for each gate of the state");
}

static bool read_sizes(recurrent *r, size_t cell)
{
    rlx_lowering_shape rows = r->state.shape;
    rows.sizes = (rlx_lowering_list){ .at = { r->x.shape.sizes.at[0], r->state.shape.sizes.at[0], r->state.shape.sizes.at[1] }, .n = 3 };
    rows.program[2] = r->state.shape.program[1];
    rows.program[1] = r->state.shape.program[0];
    rows.program[0] = r->x.shape.program[0];
    const rlx_lowering_shape *shapes[3] = { &rows, &r->state.shape, &r->state.shape };
    if (!rlx_lowering_outputs(&r->b, shapes, r->out, cells[cell].results))
        return false;
    r->steps = rows.sizes.at[0];
    r->batch = rows.sizes.at[1];
    r->n = rows.sizes.at[2];
    r->dtype = r->x.dtype;
    r->wide = rlx_lowering_accumulator(r->dtype);
    require_columns(r, r->x.shape.sizes.at[2], cells[cell].gates);
    require_columns(r, r->weight.shape.sizes.at[1], cell == RLX_CELL_GRU_RESET_BEFORE ? 2 : cells[cell].gates);
    if (r->other.buffer && r->other.shape.sizes.n == 1)
        require_columns(r, r->other.shape.sizes.at[0], cells[cell].gates);
    return rlx_lowering_is_float(r->dtype) || rlx_lowering_refuse_dtype(&r->b);
}

static void alloc_temporaries(recurrent *r, size_t cell)
{
    rlx_tir *t = &r->b.t;
    r->sum = rlx_tir_alloc(t, "sum", r->wide, RLX_TIR_LIST(r->batch, r->weight.shape.sizes.at[1]));
    if (cell != RLX_CELL_GRU_RESET_BEFORE)
        return;
    r->reset = rlx_tir_alloc(t, "reset", r->dtype, RLX_TIR_LIST(r->batch, r->n));
    r->fresh = rlx_tir_alloc(t, "fresh", r->wide, RLX_TIR_LIST(r->batch, r->n));
}

/* x, weight, state, cell of lstm or bias of gru, candidate, lengths; attribute backward */
const rlx_prim_func *rlx_lower_recurrent(rlx_lower_request *l)
{
    recurrent r = { .step = NULL };
    const size_t cell = (size_t)l->row->member.number;
    rlx_lowering_begin(&r.b, l);
    if (!read_operands(&r, cell) || !read_sizes(&r, cell))
        return rlx_lowering_end(&r.b);
    rlx_tir *t = &r.b.t;
    alloc_temporaries(&r, cell);
    for (size_t i = 1; i < cells[cell].results; i++) {
        open_block(&r, "first", false);
        set_place(&r, r.out[i].buffer, at_place(&r, i == 1 ? r.state.buffer : r.other.buffer));
        rlx_tir_end_block(t);
    }
    r.step = rlx_tir_for(t, "t", NULL, r.steps, RLX_FOR_SERIAL);
    if (rlx_attr_as_bool(rlx_lowering_attr(l, 0), false))
        r.step = rlx_tir_sub(t, rlx_tir_sub(t, r.steps, whole(&r, 1)), r.step);
    cells[cell].step(&r);
    give_row(&r);
    rlx_tir_end_for(t);
    return rlx_lowering_end(&r.b);
}
