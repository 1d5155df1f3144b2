/* kernel_rows.c: instructions on the same rows as one, row by row, so that a row stays near from one to the next: exp of a row,
 * its sum, and what the row is multiplied by. kernel_chain.c finds them. */
/* built for size */
#include "runtime/kernel_int.h"

/* Extents of sums, in their order. */
enum { GROUP, ROW, COLUMN, TURN, STEP, LOOPS };

/* Rows of float32, each side by its step from row to row. */
typedef struct row_step {
    uint32_t op;           /* REDUCE: its greatest element, MAP, PARTIAL: its sum, from zero */
    uint8_t function;      /* enum rlx_kernel_map */
    bool narrow;           /* MAP of one column */
    const float *from, *other;
    float *to;
    int64_t from_row, other_row, to_row;
} row_step;
typedef struct row_program {
    row_step at[RLX_KERNEL_ROWS];
    size_t count;
    uint8_t pass[RLX_KERNEL_ROWS + 1]; /* where each pass over a row begins, and where the last one ends */
    int64_t columns;
} row_program;

/* ---- checking ------------------------------------------------------------------------------- */

/* An instruction on rows, where its boxes are in range; *fits: rows as they are known here, contiguous, and one number for each on
 * the other side. *rows, *columns: how many. */
static bool map_step(rlx_kernel_run *r, int64_t *x, row_step *s, int64_t *rows, int64_t *columns, bool *fits)
{
    int64_t *extents = x + 13;
    s->function = (uint8_t)x[0];
    s->narrow = x[0] == RLX_KERNEL_MAP_RECIPROCAL || x[0] == RLX_KERNEL_MAP_LOG;
    *rows = extents[0], *columns = extents[1];
    *fits = !rlx_kernel_any_empty(extents, 2) && (!s->narrow || extents[1] == 1);
    for (int side = 0; side < 3 && *fits; side++) {
        int64_t *at = x + 1 + 4 * side;
        rlx_kernel_drop_unused(extents, at + 2, 2);
        if (!rlx_kernel_box_in_range(r, at[0], at[1], at + 2, extents, 2))
            return false;
        *fits = extents[1] == 1 || at[3] == (side < 2);
    }
    s->to_row = x[3], s->from_row = x[7], s->other_row = x[11];
    if (*fits)
        s->to = rlx_kernel_element(r, x[1], x[2]), s->from = rlx_kernel_element(r, x[5], x[6]), s->other = rlx_kernel_element(r, x[9], x[10]);
    return true;
}

static bool sum_step(rlx_kernel_run *r, int64_t *x, int64_t *extents, row_step *s, int64_t *rows, int64_t *columns,
                     bool *fits)
{
    *rows = extents[COLUMN], *columns = extents[STEP];
    *fits = !rlx_kernel_any_empty(extents, LOOPS) && extents[GROUP] == 1 && extents[ROW] == 1 && extents[TURN] == 1;
    if (!*fits)
        return true;
    rlx_kernel_drop_unused(extents, x + 3, TURN);
    rlx_kernel_drop_unused(extents, x + 8, LOOPS);
    if (!rlx_kernel_box_in_range(r, x[1], x[2], x + 3, extents, TURN) || !rlx_kernel_box_in_range(r, x[6], x[7], x + 8, extents, LOOPS))
        return false;
    *fits = extents[STEP] == 1 || x[12] == 1;
    s->to = rlx_kernel_element(r, x[1], x[2]), s->to_row = x[5];
    s->from = rlx_kernel_element(r, x[6], x[7]), s->from_row = x[10];
    return true;
}

/* Where rows are done one after the other what is written must not be another row of anything: rows apart, and memory that is
 * shared by two buffers the same rows. */
static bool are_apart(const row_program *z, int64_t rows)
{
    for (size_t k = 0; k < z->count && rows > 1; k++) {
        const row_step *s = &z->at[k], *t = z->at;
        int64_t width = s->narrow || s->op != RLX_K_MAP ? 1 : z->columns;
        uintptr_t begin = (uintptr_t)s->to, end = (uintptr_t)(s->to + (rows - 1) * s->to_row + width);
        if (s->to_row < width)
            return false;
        for (size_t i = 0; i < z->count && width > 1; i++, t++) {
            if (t->narrow)
                continue;
            if (t->from_row < z->columns || (t->from == s->to && t->from_row != s->to_row))
                return false;
            uintptr_t from_end = (uintptr_t)(t->from + (rows - 1) * t->from_row + z->columns);
            if (t->from != s->to && (uintptr_t)t->from < end && begin < from_end)
                return false;
        }
    }
    return true;
}

/* Is no element above what is taken away? */
static bool is_below(const rlx_kernel_run *r, const row_step *s, int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; i++) {
        float b = s->other[i * s->other_row];
        if (!(r->micro->greatest(b, s->from + i * s->from_row, columns) <= b))
            return false;
    }
    return true;
}

/* May exp_sum take the rows of exp? After a REDUCE their greatest element is taken away; rows that come first are looked at. */
static bool have_bound(const rlx_kernel_run *r, const row_program *z, int64_t rows)
{
    for (size_t k = 0; k + 1 < z->count; k++)
        if (z->at[k].op == RLX_K_MAP && z->at[k + 1].op == RLX_K_PARTIAL &&
            !(k ? z->at[k - 1].op == RLX_K_REDUCE : is_below(r, z->at, rows, z->columns)))
            return false;
    return true;
}

/* ---- running -------------------------------------------------------------------------------- */

static const uint8_t chain_steps[RLX_KERNEL_MAP_COUNT] = {
    [RLX_KERNEL_MAP_ADD] = RLX_STEP_ADD, [RLX_KERNEL_MAP_SUB] = RLX_STEP_SUB, [RLX_KERNEL_MAP_MUL] = RLX_STEP_MUL,
    [RLX_KERNEL_MAP_DIV] = RLX_STEP_DIV, [RLX_KERNEL_MAP_EXP_SUB] = RLX_STEP_SUB,
};

/* Elements that stay in the nearest cache: one function after the other begins sooner than a chain. */
enum { SHORT_ROW = 2048 };

/* Row i of `count` MAPs in the place of what the first one gives, columns [j, j + n). */
static void run_maps(const rlx_kernel_run *r, const row_step *s, size_t count, int64_t i, int64_t j, int64_t n)
{
    rlx_micro_step steps[2 * RLX_KERNEL_ROWS + 3], *out = steps;
    float *to = s->to + i * s->to_row + j;
    const float *from = s->from + i * s->from_row + j;
    if (n <= SHORT_ROW) {
        for (size_t k = 0; k < count; k++, from = to)
            r->micro->map[s[k].function](to, from, s[k].other[i * s[k].other_row], n);
        return;
    }
    *out++ = RLX_STEP_STRIP(RLX_STEP_LOAD, (float *)from);
    for (size_t k = 0; k < count; k++) {
        *out++ = RLX_STEP_NUMBER(chain_steps[s[k].function], s[k].other + i * s[k].other_row);
        if (s[k].function == RLX_KERNEL_MAP_EXP_SUB)
            *out++ = RLX_STEP_ALONE(RLX_STEP_exp);
    }
    *out++ = RLX_STEP_STRIP(RLX_STEP_STORE, to);
    *out = RLX_STEP_ALONE(RLX_STEP_END);
    r->micro->chain(steps, n);
}

/* MAP of one column, for rows [i, i + count). */
static void run_singles(const row_step *s, int64_t i, int64_t count)
{
    const float *b = s->other + i * s->other_row;
    float *to = s->to + i * s->to_row;
    const bool beside = s->other_row == 1 && s->to_row == 1;
    for (int64_t n = beside ? count : 1; count > 0; count -= n, b += s->other_row, to += s->to_row)
        rlx_kernel_map_single(s->function, to, b, n);
}

/* How many of the instructions from s on are one pass over the row: exp and its sum, MAPs in one place. */
static size_t pass_of(const row_step *s, size_t left)
{
    size_t n = 1;
    if (s->narrow)
        return 1;
    if (left > 1 && s[1].op == RLX_K_PARTIAL)
        return 2;
    while (s->op == RLX_K_MAP && n < left && s[n].op == RLX_K_MAP && !s[n].narrow && s[n].from == s->to && s[n].to == s->to)
        n++;
    return n;
}

static bool has_sums(const row_step *s, size_t count) { return count > 1 && s[1].op == RLX_K_PARTIAL; }

/* A pass over columns [j, j + n) of rows [i, end). sums: those of exp so far. */
static void run_pass(const rlx_kernel_run *r, const row_step *s, size_t count, int64_t i, int64_t end, int64_t j, int64_t n, float *sums)
{
    const int64_t ahead = end - i > 1 ? (end - i) * s->from_row : n; /* the rows behind these, or what this one goes on with */
    for (; i < end; i++) {
        float *to = s->to + i * s->to_row + j;
        const float *from = s->from + i * s->from_row + j, *other = s->other + i * s->other_row;
        if (s->op == RLX_K_REDUCE)
            s->to[i * s->to_row] = r->micro->greatest(s->to[i * s->to_row], from, n);
        else if (has_sums(s, count))
            s[1].to[i * s[1].to_row] = r->micro->exp_sum(to, from, *other, sums, j == 0, n, ahead);
        else if (count == 1)
            r->micro->map[s->function](to, from, *other, n);
        else
            run_maps(r, s, count, i, j, n);
    }
}

enum { PIECE = 1 << 16 };   /* elements; a whole number of rounds of partial sums */

/* All passes over row i, in pieces. */
static bool run_long_row(rlx_kernel_run *r, const row_program *x, int64_t i, float *sums)
{
    for (const uint8_t *p = x->pass; *p < x->count; p++) {
        const row_step *s = x->at + *p;
        if (s->narrow)
            run_singles(s, i, 1);
        for (int64_t j = 0, n; j < x->columns && !s->narrow; j += n) {
            n = x->columns - j < PIECE ? x->columns - j : PIECE;
            run_pass(r, s, p[1] - *p, i, i + 1, j, n, sums);
            if (!rlx_kernel_spend(r, (n >> 6) + 1))
                return false;
        }
    }
    return true;
}

/* Rows [i, i + count) of up to PIECE elements, pass by pass: the greatest elements of several rows at once. */
static void run_short_rows(const rlx_kernel_run *r, const row_program *x, int64_t i, int64_t count, float *sums)
{
    for (const uint8_t *p = x->pass; *p < x->count; p++) {
        const row_step *s = x->at + *p;
        if (s->narrow)
            run_singles(s, i, count);
        else if (s->op == RLX_K_REDUCE && count > 1) {
            rlx_micro_sum all = { .acc = s->to + i * s->to_row, .acc_j = s->to_row, .a = s->from + i * s->from_row,
                                  .a_j = s->from_row, .a_k = 1, .rows = 1, .columns = count, .turns = 1, .depth = x->columns };
            r->micro->reduce[RLX_KERNEL_REDUCE_MAX][RLX_ELEM_F32](&all);
        } else
            run_pass(r, s, p[1] - *p, i, i + count, 0, x->columns, sums);
    }
}

static bool run_rows(rlx_kernel_run *r, row_program *x, int64_t count)
{
    _Alignas(64) float sums[RLX_PARTIAL_SUMS];
    /* elements; rows below SHORT are not worth a turn of their own, and fewer than FEW rows that are near gain nothing by each other */
    enum { NEAR = 1 << 11, SHORT = 1 << 8, MOST = 1 << 16, FEW = 4 };
    size_t passes = 0;
    for (size_t k = 0; k < x->count; k += pass_of(x->at + k, x->count - k))
        x->pass[passes++] = (uint8_t)k;
    x->pass[passes] = (uint8_t)x->count;
    bool logs = false;
    for (size_t k = 0; k < x->count; k++)
        logs |= x->at[k].narrow && x->at[k].function == RLX_KERNEL_MAP_LOG;
    const int64_t most = (x->columns < SHORT ? MOST : logs ? 2 * NEAR : NEAR) / x->columns;
    for (int64_t i = 0, at_once; i < count; i += at_once) {
        at_once = count - i < most ? count - i : most >= FEW ? most : 1;
        if (x->columns > PIECE) {
            if (!run_long_row(r, x, i, sums))
                return false;
        } else {
            run_short_rows(r, x, i, at_once, sums);
            if (!rlx_kernel_spend(r, (x->columns * at_once >> 6) * (int64_t)x->count + 1))
                return false;
        }
    }
    return true;
}

bool rlx_kernel_block_rows(rlx_kernel_run *r, const uint32_t *ops, int64_t (*operands)[RLX_KERNEL_BLOCK_OPERANDS], size_t count,
                           bool *done)
{
    row_program z;
    z.count = count, z.columns = 0;
    int64_t all = 0, rows, columns;
    bool fits = true;
    for (size_t k = 0; k < count && fits; k++) {
        row_step *s = &z.at[k];
        *s = (row_step){ .op = ops[k] & 0xffff };
        if (!(s->op == RLX_K_MAP ? map_step(r, operands[k], s, &rows, &columns, &fits)
                                 : sum_step(r, operands[k], operands[k] + (s->op == RLX_K_REDUCE ? 13 : 20), s, &rows, &columns, &fits)))
            return false;
        all = k ? all : rows;
        z.columns = k ? z.columns : columns;
        fits &= rows == all && (s->narrow || columns == z.columns);
    }
    *done = fits && are_apart(&z, all) && have_bound(r, &z, all);
    for (size_t k = 0; k + 1 < count && *done; k++)
        if (ops[k] & RLX_KERNEL_UNSTORED)
            z.at[k].to_row = z.at[k + 1].from_row = 0;
    return !*done || run_rows(r, &z, all);
}
