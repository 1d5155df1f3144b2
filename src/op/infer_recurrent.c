/* infer_recurrent.c: lstm, gru and rnn: sizes of what is given, and of the rows and states that come out. */
/* built for size */
#include "op/op_int.h"

enum { STEPS, BATCH, STATE, GATES, BOTH, SIZES, ABSENT = SIZES };   /* BOTH: two gates */
enum { MOST_OPERANDS = 6, MOST_RANK = 3 };
/* Which size each dimension of an operand has, by cell; lengths come last and may be left out. */
#define X { STEPS, BATCH, GATES }
#define WEIGHT(columns) { STATE, columns, ABSENT }
#define ROW { BATCH, STATE, ABSENT }
#define BIAS { GATES, ABSENT, ABSENT }
#define LENGTHS { BATCH, ABSENT, ABSENT }
static const struct { uint8_t gates, results, operands, size[MOST_OPERANDS][MOST_RANK]; } cells[] = {
    [RLX_CELL_LSTM] = { 4, 3, 5, { X, WEIGHT(GATES), ROW, ROW, LENGTHS } },
    [RLX_CELL_GRU] = { 3, 2, 5, { X, WEIGHT(GATES), ROW, BIAS, LENGTHS } },
    [RLX_CELL_GRU_RESET_BEFORE] = { 3, 2, 6, { X, WEIGHT(BOTH), ROW, BIAS, WEIGHT(STATE), LENGTHS } },
    [RLX_CELL_RNN] = { 1, 2, 4, { X, WEIGHT(GATES), ROW, LENGTHS } },
};

static bool fits(rlx_infer *in, size_t i, const rlx_tensor_sinfo *x, const rlx_tensor_sinfo *t, const uint8_t *size)
{
    const bool lengths = size[0] == BATCH && size[1] == ABSENT;
    int rank = 0;
    while (rank < MOST_RANK && size[rank] != ABSENT)
        rank++;
    if (t->ndim >= 0 && t->ndim != rank)
        return rlx_infer_fail(in, "%s has rank %d, expected %d", in->row->args[i].name, t->ndim, rank), false;
    if (t->dtype == RELAX_VOID || (!lengths && x->dtype == RELAX_VOID))
        return true;
    if (lengths ? t->dtype != RELAX_INT32 && t->dtype != RELAX_INT64 : t->dtype != x->dtype)
        return rlx_infer_fail(in, "%s is %s, expected %s", in->row->args[i].name, rlx_show(in->ctx, &t->node),
                              lengths ? "int32 or int64" : "the dtype of x"),
               false;
    return true;
}

/* (steps, batch, gates * n), (n, gates * n), (batch, n) .. to (steps, batch, n), (batch, n) and, of lstm, (batch, n) */
const rlx_sinfo *rlx_infer_recurrent(rlx_infer *in)
{
    const size_t cell = (size_t)in->row->member.number, operands = cells[cell].operands;
    const rlx_tensor_sinfo *t[MOST_OPERANDS] = { NULL };
    const rlx_prim *const *dims[MOST_OPERANDS] = { NULL }, *size[SIZES + 1] = { NULL };
    const rlx_sinfo *results[3];
    size_t n;
    for (size_t i = 0; i < operands && rlx_infer_expr(in, i); i++) {
        if (!(t[i] = rlx_infer_tensor(in, i)) || !fits(in, i, t[0], t[i], cells[cell].size[i]))
            return NULL;
        dims[i] = rlx_literal_dims(t[i], &n);
        for (size_t k = 0; dims[i] && k < n; k++)
            if (cells[cell].size[i][k] < GATES && !size[cells[cell].size[i][k]])
                size[cells[cell].size[i][k]] = dims[i][k];
    }
    if (!rlx_infer_float(in, t[0]->dtype))
        return NULL;
    for (size_t i = GATES; size[STATE] && i <= BOTH; i++) {
        const rlx_prim *parts = rlx_int64(in->ctx, i == BOTH ? 2 : cells[cell].gates);
        if (!parts || !(size[i] = rlx_fold_mul(in->ctx, size[STATE], parts)))
            return in->failed = true, NULL;
    }
    for (size_t i = 0; i < operands; i++)
        for (size_t k = 0; dims[i] && k < MOST_RANK && cells[cell].size[i][k] != ABSENT; k++) {
            const rlx_prim *want = size[cells[cell].size[i][k]];
            if (want && rlx_infer_equal(in, want, dims[i][k]) == RLX_DIFFERENT)
                return rlx_infer_fail(in, "dimension %zu of %s is %s, expected %s", k, in->row->args[i].name,
                                      rlx_show(in->ctx, dims[i][k]), rlx_show(in->ctx, want));
        }
    const bool known = size[BATCH] && size[STATE];
    rlx_dims out;
    if (!rlx_dims_init(in, &out, 3))
        return NULL;
    out.at[0] = size[STEPS];
    for (size_t i = 0; i < cells[cell].results; i++) {
        out.count = i ? 2 : 3;
        out.at[out.count - 2] = size[BATCH];
        out.at[out.count - 1] = size[STATE];
        results[i] = known && (i || size[STEPS]) ? rlx_infer_dims_result(in, &out, t[0]->dtype, t[0]->vdevice)
                                                 : rlx_infer_rank_result(in, i ? 2 : 3, t[0]->dtype, t[0]->vdevice);
        if (!results[i])
            return NULL;
    }
    return rlx_infer_done(in, rlx_tuple_info(in->ctx, results, cells[cell].results));
}
