/*- kernel_repeat.c: loops over rows, each of which is one strip and one chain, whose addresses go on by the same step from row to row.
 *
 *     loop  xl21, 0, 72, xl22           marked when the kernel is loaded
 *       xmul, xadd ..                   what moves with the loop, moves evenly
 *       load xf32, %2:bias, xl24        numbers of float32 that a row has for itself
 *       broadcast vf33, xf32, xl20
 *       strip xl23, xl20
 *         view_out, view, a chain
 *
 * Such a loop looks at its first, second and last row, and then goes through all of them without decoding an instruction: for short rows that
 * is most of the time. Where the three do not lie in one line, or rows are longer than a strip, it runs as it stands.
 */
/* built for size */
#include "runtime/kernel_int.h"

/* ---- finding -------------------------------------------------------------------------------- */

enum { MOST_WRITTEN = 48, MOST_NUMBERS = 4, LEAST_ROWS = 4, LEAST_ELEMENTS = 16 };
/* What a body writes, and which of that moves with the loop. */
typedef struct body {
    uint32_t written[MOST_WRITTEN], read[MOST_WRITTEN], num_written, num_read, numbers;
    bool moves[MOST_WRITTEN], fits;
} body;

static uint32_t frame_at(uint32_t operand) { return operand & ~3u; }

static int find_written(const body *b, uint32_t operand)
{
    for (uint32_t i = 0; i < b->num_written; i++)
        if (b->written[i] == frame_at(operand))
            return (int)i;
    return -1;
}

/* Does the operand move with the loop? One that is read before it is written is of the iteration before. */
static bool reads(body *b, uint32_t operand)
{
    int i = find_written(b, operand);
    if (i >= 0)
        return b->moves[i];
    b->fits &= b->num_read < MOST_WRITTEN;
    if (b->fits)
        b->read[b->num_read++] = frame_at(operand);
    return false;
}

static void writes(body *b, uint32_t operand, bool moves)
{
    int i = find_written(b, operand);
    for (uint32_t k = 0; k < b->num_read && i < 0; k++)
        b->fits &= b->read[k] != frame_at(operand);
    if (i < 0 && b->num_written == MOST_WRITTEN)
        b->fits = false;
    else {
        i = i < 0 ? (int)b->num_written++ : i;
        b->written[i] = frame_at(operand);
        b->moves[i] = moves;
    }
}

/* An instruction that does nothing but say where memory is, or brings a number. */
static void look_at(body *b, const uint32_t *w)
{
    bool x, y;
    switch (w[0] & 0xffff) {
    case RLX_K_XMOVE: writes(b, w[1], reads(b, w[2])); return;
    case RLX_K_XADD: case RLX_K_XSUB:
        x = reads(b, w[2]), y = reads(b, w[3]);
        writes(b, w[1], x || y);
        return;
    case RLX_K_XMUL: case RLX_K_XMADD:
        x = reads(b, w[2]), y = reads(b, w[3]);
        b->fits &= !(x && y);
        writes(b, w[1], ((w[0] & 0xffff) == RLX_K_XMADD && reads(b, w[4])) || x || y);
        return;
    case RLX_K_LOAD:
        b->fits &= !(w[0] & RLX_KERNEL_WIDE) && ++b->numbers <= MOST_NUMBERS;
        (void)reads(b, w[3]);
        writes(b, w[1], true);
        return;
    case RLX_K_BROADCAST: (void)reads(b, w[2]), (void)reads(b, w[3]); return;
    case RLX_K_VIEW: case RLX_K_VIEW_OUT: (void)reads(b, w[3]); return;
    default: b->fits = false;
    }
}

/* Is the loop at w such rows? */
static bool is_repeated(const uint32_t *w, const rlx_kernel_buffer *buffers)
{
    const uint32_t *at = w + 7, *strip = NULL;
    body b = { .written = { frame_at(w[1]) }, .num_written = 1, .moves = { true }, .fits = true };
    for (; b.fits && !(at[0] & RLX_KERNEL_CHAINED); at += rlx_kernel_op_words(at[0] & 0xffff)) {
        const uint32_t op = at[0] & 0xffff;
        if (op == RLX_K_STRIP && !strip) {
            strip = at;
            b.fits = !reads(&b, at[2]);
            writes(&b, at[1], false);
        } else if (op >= RLX_K_FIRST_VALUE || (op == RLX_K_LOAD && (strip || buffers[at[2]].elem != RLX_ELEM_F32)) ||
                   (op == RLX_K_BROADCAST && strip))
            return false;
        else
            look_at(&b, at);
    }
    for (uint32_t left = at[0] >> RLX_KERNEL_CHAIN_SHIFT & 31; left && b.fits && strip; left--)
        at += rlx_kernel_op_words(at[0] & 0xffff);
    b.fits = b.fits && strip && (at[0] & 0xffff) == RLX_K_NEXT_STRIP && at[1] == strip[1] && at[2] == strip[2] &&
             at + (int32_t)at[3] == strip + 5;
    for (uint32_t i = 2; i < 5; i++)
        b.fits &= find_written(&b, w[i]) < 0;
    at += 5;
    return b.fits && (at[0] & 0xffff) == RLX_K_NEXT && at[1] == w[1] && at[2] == w[4] && at + (int32_t)at[3] == w + 7;
}

void rlx_kernel_find_repeated(const rlx_kernel_chains *in)
{
    for (uint32_t at = 0; at < in->num_words; at += rlx_kernel_op_words(in->code[at] & 0xffff))
        if ((in->code[at] & 0xffff) == RLX_K_LOOP && is_repeated(in->code + at, in->buffers))
            in->code[at] |= RLX_KERNEL_LONG;
}

/* ---- running -------------------------------------------------------------------------------- */

/* A row: the steps of its chain, and where its numbers come from and go to. */
typedef struct row {
    rlx_micro_step steps[RLX_CHAIN_STEPS];
    const float *from[MOST_NUMBERS];
    float *to[MOST_NUMBERS];
    size_t numbers, n, most; /* elements, and how many are one strip */
    const uint32_t *behind;
} row;

static int64_t *scalar(const rlx_kernel_run *r, uint32_t at) { return (int64_t *)(void *)(r->frame + at); }

/* The number of a row: only where it lies is wanted. */
static bool place_number(rlx_kernel_run *r, const uint32_t *w, row *out)
{
    const int64_t off = *scalar(r, w[3]);
    if ((uint64_t)off >= (uint64_t)r->views[w[2]].count)
        return rlx_kernel_out_of_buffer(r, w[2], off);
    out->from[out->numbers] = rlx_kernel_element(r, w[2], off);
    out->to[out->numbers] = (float *)(void *)(r->frame + w[1]);
    memcpy(out->to[out->numbers++], rlx_kernel_element(r, w[2], off), sizeof(float));
    return true;
}

/* As any broadcast, so that the last row leaves behind what it should; chains take the first element, which is all that changes from
 * row to row. */
static void place_broadcast(rlx_kernel_run *r, const uint32_t *w, row *out)
{
    void *strip = r->frame + frame_at(w[1]), *number = r->frame + w[2];
    const int64_t most = *scalar(r, w[3]);
    rlx_fill_strip(strip, number, (int)(w[0] >> RLX_KERNEL_CLASS_SHIFT), most < 0 ? 0 : (size_t)(most < r->k->strip ? most : r->k->strip));
    for (size_t i = 0; i < out->numbers; i++)
        if ((void *)out->to[i] == number)
            out->to[i] = strip;
}

/* What a chain took for one number is another one in the next row, for which there may be no short cut. */
static void keep_extremes(row *out)
{
    for (rlx_micro_step *s = out->steps; s->op != RLX_STEP_END; s++)
        for (size_t i = 0; i < out->numbers; i++)
            if (s->same && s->with == out->to[i])
                s->op = s->op == RLX_STEP_LEAST                                       ? (uint32_t)RLX_STEP_MIN
                        : s->op == RLX_STEP_GREATEST || s->op == RLX_STEP_RELU ? (uint32_t)RLX_STEP_MAX
                                                                               : s->op;
}

static void count_index(rlx_kernel_run *r, const uint32_t *w)
{
    const uint64_t a = (uint64_t)*scalar(r, w[2]), op = w[0] & 0xffff, b = op == RLX_K_XMOVE ? 0 : (uint64_t)*scalar(r, w[3]);
    *scalar(r, w[1]) = (int64_t)(op == RLX_K_XSUB               ? a - b
                                 : op == RLX_K_XMUL             ? a * b
                                 : op == RLX_K_XMADD ? a * b + (uint64_t)*scalar(r, w[4])
                                                                : a + b);
}

/* Goes through the row of the loop at w that its variable says. False: it fails. */
static bool place(rlx_kernel_run *r, const uint32_t *w, int64_t variable, row *out)
{
    *scalar(r, w[1]) = variable;
    out->numbers = 0;
    out->n = 0;
    for (w += 7; !(w[0] & RLX_KERNEL_CHAINED); w += rlx_kernel_op_words(w[0] & 0xffff))
        switch (w[0] & 0xffff) {
        case RLX_K_LOAD:
            if (!place_number(r, w, out))
                return false;
            break;
        case RLX_K_BROADCAST: place_broadcast(r, w, out); break;
        case RLX_K_STRIP:
            *scalar(r, w[1]) = 0;
            out->n = *scalar(r, w[2]) > 0 ? (size_t)*scalar(r, w[2]) : 0;
            out->most = (size_t)rlx_kernel_most_of(r->k, w[0]);
            if (!out->n || out->n > out->most)
                return true;
            break;
        case RLX_K_VIEW: case RLX_K_VIEW_OUT:
            if (!rlx_kernel_view_strip(r, w, out->n))
                return false;
            break;
        default: count_index(r, w); break;
        }
    out->behind = rlx_kernel_make_chain(r, w, out->steps);
    keep_extremes(out);
    return true;
}

/* The step from a to b, if it leads on to c, which is `count` of them from a. */
static bool is_line(const void *a, const void *b, const void *c, int64_t count, int64_t *step)
{
    int64_t all;
    *step = (int64_t)((intptr_t)b - (intptr_t)a);
    return !RLX_MUL_OVERFLOWS(*step, count, &all) && all == (int64_t)((intptr_t)c - (intptr_t)a);
}

enum rlx_repeated rlx_kernel_run_repeated(rlx_kernel_run *r, const uint32_t *w, const uint32_t **behind)
{
    const int64_t min = *scalar(r, w[2]), rows = *scalar(r, w[3]);
    int64_t moves[RLX_CHAIN_STEPS], numbers[MOST_NUMBERS];
    row first, second, last;
    if (rows < LEAST_ROWS || !place(r, w, min, &first))
        return rows < LEAST_ROWS ? RLX_REPEATED_NOT : RLX_REPEATED_FAILED;
    if (first.n < LEAST_ELEMENTS || first.n > first.most)
        return RLX_REPEATED_NOT;
    if (!place(r, w, (int64_t)((uint64_t)min + 1), &second) || !place(r, w, (int64_t)((uint64_t)min + (uint64_t)rows - 1), &last))
        return RLX_REPEATED_FAILED;
    size_t steps = 0;
    for (; first.steps[steps].op != RLX_STEP_END; steps++)
        if (!is_line(first.steps[steps].with, second.steps[steps].with, last.steps[steps].with, rows - 1, &moves[steps]))
            return RLX_REPEATED_NOT;
    for (size_t i = 0; i < first.numbers; i++)
        if (!is_line(first.from[i], second.from[i], last.from[i], rows - 1, &numbers[i]))
            return RLX_REPEATED_NOT;
    for (int64_t i = 0; i < rows; i++) {
        for (size_t k = 0; k < first.numbers; k++) {
            *first.to[k] = *first.from[k];
            first.from[k] = (const float *)(const void *)((const char *)first.from[k] + numbers[k]);
        }
        r->micro->chain(first.steps, (int64_t)first.n);
        for (size_t k = 0; k < steps; k++)
            first.steps[k].with = (float *)(void *)((char *)first.steps[k].with + moves[k]);
        if (!rlx_kernel_spend(r, 1 + RLX_KERNEL_FUEL_PER_STRIP))
            return RLX_REPEATED_FAILED;
    }
    *behind = last.behind + 10;
    *scalar(r, w[1]) = *scalar(r, w[4]) = (int64_t)((uint64_t)min + (uint64_t)rows);
    return RLX_REPEATED_DONE;
}
