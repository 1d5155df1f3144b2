/*- kernel_chain.c: value instructions on strips of float32 and int32 that follow each other run as one chain of steps (micro.h), whose
 * numbers stay in registers. They are found when a kernel is loaded and stay where they are:
 *
 *     add.f32 vf13, pf12, pf12      head: two instructions; nothing else reads vf13, so that it is not stored
 *     max.f32 pf10, vf13, vf14      vf14 is the same number everywhere, as only `broadcast` writes it
 *
 * What sets views between them goes in front of them. A strip loop that is nothing but views and chains, and stores no strip but views,
 * has long strips. Short strips (is_worth_chain) run instruction by instruction.
 */
/* built for size */
#include "runtime/kernel_int.h"
#include "format/kernel_math.h"

/* Instructions of a chain, registers that they mention. */
enum { MOST = 20, MOST_REGISTERS = RLX_CHAIN_STRIPS };
_Static_assert(4 * MOST + 1 <= RLX_CHAIN_STEPS, "each may be a load, two steps and a store");

/* forward: the first operand is in registers; backward: the second one, or, of three operands, what is done with the third. */
typedef struct step_row { uint8_t operands, forward, backward, self; } step_row;
static const step_row rows[RLX_K_COUNT] = {
#define UNARY(name) [RLX_K_##name##_F32] = { 1, RLX_STEP_##name, 0, 0 }
#define BINARY(name, back, self) [RLX_K_##name##_F32] = { 2, RLX_STEP_##name, RLX_STEP_##back, self }
    BINARY(ADD, ADD, RLX_STEP_TWICE), BINARY(MUL, MUL, RLX_STEP_SQUARE), BINARY(SUB, SUB_FROM, 0), BINARY(DIV, DIV_FROM, 0),
    [RLX_K_ADD_I32] = { 2, RLX_STEP_ADD_WORDS, RLX_STEP_ADD_WORDS, 0 }, [RLX_K_SUB_I32] = { 2, RLX_STEP_SUB_WORDS, RLX_STEP_SUB_WORDS_FROM, 0 },
    [RLX_K_I32_TO_F32] = { 1, RLX_STEP_FLOATS, 0, 0 },
    [RLX_K_QUANTIZE_I8] = { 3, RLX_STEP_DIV, RLX_STEP_QUANTIZE_I8, 0 }, [RLX_K_QUANTIZE_U8] = { 3, RLX_STEP_DIV, RLX_STEP_QUANTIZE_U8, 0 },
    BINARY(MIN, MIN, 0), BINARY(MAX, MAX, 0), UNARY(fabs), UNARY(sqrt), UNARY(exp), UNARY(sigmoid), UNARY(tanh), UNARY(erf),
    [RLX_K_MOVE_F32] = { 1, RLX_STEP_END, 0, 0 },   /* no step: loads and stores do it */
};

/* ---- finding -------------------------------------------------------------------------------- */

enum { READ_ELSEWHERE = 1, VARIES = 2, IS_FILLED = 4, IS_LAID = 8 };   /* flags of registers; LAID: in the memory of a result */
enum { NOBODY = UINT32_MAX, SEVERAL = UINT32_MAX - 1 };   /* who reads a register from here on */
typedef struct finding {
    const rlx_kernel_chains *in;
    uint32_t *flags, *block, *reader;   /* of registers; block: in which it was written last */
    uint32_t *next;                     /* of words: the next instruction of the chain, 0: none */
    uint32_t *order;                    /* instructions of a block */
    uint32_t *moved;                    /* words on their way */
    uint32_t *uses;                     /* of buffers: operands of instructions on blocks and memory */
    uint32_t *reads;                    /* of registers: operands, but for those of chains that are one number */
    size_t count;
} finding;

static uint32_t word(const finding *f, uint32_t at) { return rlx_get_u16(f->in->words + 2 * (size_t)at); }
static bool is_strip(const finding *f, uint32_t r) { return (f->in->regs[r] & RLX_KERNEL_STRIP_REG) != 0; }
static bool is_wide(const finding *f, uint32_t at) { return (f->in->code[at] & RLX_KERNEL_WIDE) != 0; }

/* Registers that an instruction reads, then those that it writes. */
#define FOR_REGISTERS(f, at, written, r)                                                                     \
    for (const char *all_ = rlx_kernel_ops[word(f, at)].operands, *o_ = all_; *o_; o_++)                     \
        for (uint32_t r = word(f, (at) + 1 + (uint32_t)(o_ - all_)), once_ = 1;                              \
             once_ && rlx_kernel_is_register(*o_, r) && rlx_kernel_is_written(*o_) == (written); once_ = 0)

static bool ends_block(const finding *f, uint32_t op, uint32_t behind)
{
    return behind >= f->in->num_words || (f->in->marks[behind] & RLX_KERNEL_MARK_TARGET) || op == RLX_K_ALLOC ||
           strchr(rlx_kernel_ops[op].operands, 'j') != NULL;
}

/* A loop that threads may share is marked as unstored where it reads strips that were written in front of it, which most do not. */
static void look_at_registers(finding *f)
{
    uint32_t block = 1, loop = 0, end = 0, first = 0; /* loop .. first: of the outermost such loop; the first block in it */
    for (uint32_t at = 0, op; at < f->in->num_words; at += rlx_kernel_op_words(op)) {
        op = word(f, at);
        for (const char *all = rlx_kernel_ops[op].operands, *o = all; *o; o++)
            if (*o == 'b' || *o == 'B')
                f->uses[word(f, at + 1 + (uint32_t)(o - all))]++;
        FOR_REGISTERS(f, at, false, r)
        {
            f->reads[r]++;
            if (f->block[r] != block)
                f->flags[r] |= READ_ELSEWHERE;
            if (at < end && is_strip(f, r) && f->block[r] < first)
                f->in->code[loop] |= RLX_KERNEL_UNSTORED;
        }
        FOR_REGISTERS(f, at, true, r)
        {
            f->block[r] = block;
            f->flags[r] |= op == RLX_K_BROADCAST ? IS_FILLED : VARIES;
        }
        if (op == RLX_K_PAR && at >= end)
            loop = at, end = at + f->in->code[at + 7], first = block + 1;
        block += ends_block(f, op, at + rlx_kernel_op_words(op));
    }
}

static bool is_uniform(const finding *f, uint32_t r)
{
    return is_strip(f, r) && (f->flags[r] & (VARIES | IS_FILLED)) == IS_FILLED;
}

/* Instructions that only get others ready, and may go in front of those on strips. */
static bool is_preparation(const finding *f, uint32_t at)
{
    uint32_t op = word(f, at);
    return (op >= RLX_K_XMOVE && op <= RLX_K_XMAX) || op == RLX_K_CHECK || op == RLX_K_VIEW || op == RLX_K_VIEW_OUT ||
           (op >= RLX_K_FIRST_VALUE && !is_wide(f, at));
}

/* Instructions on rows of memory that may be one (rlx_kernel_block_rows). */
static bool is_row_block(uint32_t op) { return op == RLX_K_MAP || op == RLX_K_PARTIAL || op == RLX_K_REDUCE; }

/* Those on strips that cannot fail. */
static bool is_strip_value(const finding *f, uint32_t at)
{
    return word(f, at) >= RLX_K_FIRST_VALUE && is_wide(f, at) && !strchr(rlx_kernel_ops[word(f, at)].operands, 'm');
}

static bool may_chain(const finding *f, uint32_t at)
{
    const step_row *row = &rows[word(f, at)];
    if (row->operands == 3 && !(is_uniform(f, word(f, at + 3)) && is_uniform(f, word(f, at + 4))))
        return false;
    return row->operands && is_wide(f, at) && (row->operands == 1 || row->self || word(f, at + 2) != word(f, at + 3));
}

/* A chain that grows. */
typedef struct chain { uint32_t head, last, count, num_registers, registers[MOST_REGISTERS]; } chain;

/* Instructions on rows that grow into one: in their order. */
typedef struct rows_of { uint32_t at[RLX_KERNEL_ROWS], count; } rows_of;

static bool has_room(const finding *f, chain *c, uint32_t at)
{
    uint32_t n = rows[word(f, at)].operands;
    for (uint32_t i = 1; i <= n + 1; i++) {
        uint32_t r = word(f, at + i), j = 0;
        while (j < c->num_registers && c->registers[j] != r)
            j++;
        if (is_uniform(f, r) || j < c->num_registers)
            continue;
        if (c->num_registers == MOST_REGISTERS)
            return false;
        c->registers[c->num_registers++] = r;
    }
    return c->count < MOST;
}

static void extend(finding *f, chain *c, uint32_t at)
{
    if (!may_chain(f, at)) {
        c->count = 0;
        return;
    }
    if (c->count && has_room(f, c, at))
        f->next[c->last] = at;
    else {
        *c = (chain){ .head = at };
        has_room(f, c, at);
    }
    c->last = at;
    c->count++;
    f->in->code[c->head] = (f->in->code[c->head] & ~(31u << RLX_KERNEL_CHAIN_SHIFT)) | c->count << RLX_KERNEL_CHAIN_SHIFT;
    for (uint32_t i = 2; i < 2u + rows[word(f, at)].operands; i++)
        if (is_uniform(f, word(f, at + i))) {
            f->in->code[at + i] |= RLX_KERNEL_SAME;
            f->reads[word(f, at + i)]--;
        }
}

/* Who reads what is computed? Nobody but the next step: it is not stored. */
static void find_unstored(finding *f)
{
    for (size_t i = 0; i < f->count; i++)
        for (int written = 0; written < 2; written++)
            FOR_REGISTERS(f, f->order[i], written, r) f->reader[r] = f->flags[r] & READ_ELSEWHERE ? SEVERAL : NOBODY;
    for (size_t i = f->count; i-- > 0;) {
        uint32_t at = f->order[i];
        FOR_REGISTERS(f, at, true, r)
        {
            if (is_strip_value(f, at) && may_chain(f, at) && is_strip(f, r) &&
                (f->reader[r] == NOBODY || (f->next[at] && f->reader[r] == f->next[at])))
                f->in->code[at] |= RLX_KERNEL_UNSTORED;
            f->reader[r] = NOBODY;
        }
        FOR_REGISTERS(f, at, false, r) f->reader[r] = f->reader[r] == NOBODY || f->reader[r] == at ? at : SEVERAL;
    }
}

static bool is_value(const finding *f, uint32_t at) { return is_strip_value(f, at) || is_row_block(word(f, at)); }

static bool is_like_words(const finding *f, uint32_t a, const uint8_t *of_a, uint32_t b, const uint8_t *of_b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!of_a[i] || !of_b[i] || word(f, a + of_a[i]) != word(f, b + of_b[i]))
            return false;
    return true;
}

/*- Instructions on rows that are done row by row, so that a row stays near from one to the next:
 *
 *     map, map ..                 each in the place of what the first one gives
 *     reduce                      top[i] = the greatest of X[i, :]           may be absent
 *     map exp_sub, partial        E[i, :] = exp(X[i, :] - top[i]), S[i] = the sum of it
 *     map reciprocal or log       C[i] = 1 / S[i]                            it and what follows may be absent
 *     map, map                    Y[i, :] = E[i, :] * C[i]
 *
 * Which words of an instruction say where a side is: buffer, offset, stride of rows; 0: there is no such side. */
enum { TO, FROM, OTHER, SIDES };
typedef struct row_words { uint8_t side[SIDES][3], rows, columns; } row_words;
static const row_words *words_of_row(uint32_t op)
{
    static const row_words map = { { { 2, 3, 4 }, { 6, 7, 8 }, { 10, 11, 12 } }, 14, 15 },
                           reduce = { { { 2, 3, 6 }, { 7, 8, 11 } }, 16, 18 }, partial = { { { 2, 3, 6 }, { 7, 8, 11 } }, 23, 25 };
    return op == RLX_K_MAP ? &map : op == RLX_K_REDUCE ? &reduce : &partial;
}

/* Are two sides the same rows? */
static bool is_side(const finding *f, uint32_t a, int side_a, uint32_t b, int side_b)
{
    const uint8_t *x = words_of_row(word(f, a))->side[side_a], *y = words_of_row(word(f, b))->side[side_b];
    return is_like_words(f, a, x, b, y, 3);
}

/* Is what one of them writes, and the other touches, the same row in both? */
static bool is_row_by_row(const finding *f, uint32_t a, uint32_t b)
{
    const row_words *x = words_of_row(word(f, a)), *y = words_of_row(word(f, b));
    for (int i = 0; i < SIDES; i++)
        for (int k = 0; k < SIDES; k++)
            if ((i == TO || k == TO) && x->side[i][0] && y->side[k][0] &&
                word(f, a + x->side[i][0]) == word(f, b + y->side[k][0]) && !is_side(f, a, i, b, k))
                return false;
    return word(f, a + x->rows) == word(f, b + y->rows);
}

static uint32_t map_of(const finding *f, uint32_t at) { return word(f, at) == RLX_K_MAP ? word(f, at + 1) : RLX_KERNEL_MAP_COUNT; }
static bool is_single(uint32_t function) { return function == RLX_KERNEL_MAP_RECIPROCAL || function == RLX_KERNEL_MAP_LOG; }
static bool is_sum_from_zero(const finding *f, uint32_t at)
{
    return word(f, at) == RLX_K_PARTIAL && word(f, at + 1) == (RLX_KERNEL_VALUE_ELEMENT | RLX_KERNEL_PARTIAL_FROM_ZERO);
}

/* May the instruction follow the last of them, by what the two do? */
static bool may_follow(const finding *f, uint32_t head, uint32_t last, uint32_t at)
{
    uint32_t function = map_of(f, at), before = map_of(f, last);
    if (word(f, last) == RLX_K_REDUCE)
        return function == RLX_KERNEL_MAP_EXP_SUB && is_side(f, last, TO, at, OTHER) && is_side(f, last, FROM, at, FROM);
    if (is_sum_from_zero(f, at))
        return before == RLX_KERNEL_MAP_EXP_SUB && is_side(f, last, TO, at, FROM);
    if (is_single(function))
        return word(f, last) == RLX_K_PARTIAL && is_side(f, last, TO, at, OTHER);
    if (word(f, at) != RLX_K_MAP)
        return false;
    if (is_single(before))
        return function != RLX_KERNEL_MAP_EXP_SUB;
    return before < RLX_KERNEL_MAP_COUNT && is_side(f, last, TO, at, TO) && is_side(f, last, TO, at, FROM) &&
           word(f, at + 10) != word(f, head + 2);
}

static bool goes_on(const finding *f, const rows_of *z, uint32_t at)
{
    uint32_t head = z->at[0], columns = words_of_row(word(f, at))->columns;
    bool fits = may_follow(f, head, z->at[z->count - 1], at) &&
                (is_single(map_of(f, at)) || word(f, at + columns) == word(f, head + words_of_row(word(f, head))->columns));
    for (uint32_t i = 0; i < z->count && fits; i++)
        fits = is_row_by_row(f, z->at[i], at);
    return fits;
}

/* Does nothing but the sum behind it read what exp gives? Then all rows may be in one place. */
static bool is_only_summed(const finding *f, uint32_t at)
{
    uint32_t b = word(f, at + 2);
    return f->in->buffers[b].kind == RLX_KERNEL_BUFFER_TEMP && f->uses[b] == 3;
}

/* z: the instructions on rows so far. */
static void extend_rows(finding *f, rows_of *z, uint32_t at)
{
    uint32_t op = word(f, at);
    bool begins = op == RLX_K_MAP ? !is_single(word(f, at + 1)) : op == RLX_K_REDUCE && word(f, at + 1) == RLX_KERNEL_REDUCE_MAX;
    if (z->count && z->count < RLX_KERNEL_ROWS && is_row_block(op) && goes_on(f, z, at))
        z->at[z->count++] = at;
    else
        *z = (rows_of){ { at }, begins };
    if (z->count > 1 && op == RLX_K_PARTIAL && is_only_summed(f, z->at[z->count - 2]))
        f->in->code[z->at[z->count - 2]] |= RLX_KERNEL_UNSTORED;
    if (z->count > 1)
        f->in->code[z->at[0]] = (f->in->code[z->at[0]] & ~RLX_KERNEL_CHAINED) | z->count << RLX_KERNEL_CHAIN_SHIFT;
}

/* The buffer that a view of this block is of. */
static const rlx_kernel_buffer *buffer_of_view(const finding *f, uint32_t view)
{
    for (size_t i = 0; i < f->count; i++) {
        uint32_t at = f->order[i], op = word(f, at);
        if ((op == RLX_K_VIEW || op == RLX_K_VIEW_OUT) && word(f, at + 1) == view)
            return &f->in->buffers[word(f, at + 2)];
    }
    return NULL;
}

/* Does an instruction of the chain from `at` on read the buffer, or one that may be the same memory? */
static bool is_read_from(const finding *f, uint32_t at, const rlx_kernel_buffer *result)
{
    bool is = false;
    for (; at && !is; at = f->next[at])
        for (uint32_t k = 2; k < 2u + rows[word(f, at)].operands; k++) {
            uint32_t r = word(f, at + k);
            const rlx_kernel_buffer *b = is_strip(f, r) ? NULL : buffer_of_view(f, r);
            is |= !is_strip(f, r) && (!b || b == result || b->same == result - f->in->buffers + 1 || result->same == b - f->in->buffers + 1);
        }
    return is;
}

/* A strip that several instructions of the only chain of a block read lies where the last of them stores its result, if nothing
 * reads that in between: so strips of it may be long. */
static void lay_in_result(finding *f, uint32_t head)
{
    uint32_t last = head, at = head, r = NOBODY;
    for (; f->next[last]; last = f->next[last])
        if (r == NOBODY && is_strip(f, word(f, last + 1)) && !(f->in->code[last] & RLX_KERNEL_UNSTORED))
            at = last, r = word(f, last + 1);
    const uint32_t view = word(f, last + 1), to = f->in->code[last + 1];
    const rlx_kernel_buffer *result = is_strip(f, view) ? NULL : buffer_of_view(f, view);
    if (r == NOBODY || !result || result->elem != RLX_ELEM_F32 || f->flags[r] & READ_ELSEWHERE || is_read_from(f, f->next[at], result))
        return;
    for (uint32_t i = head; i; i = f->next[i])
        if (i != at && i != last && (word(f, i + 1) == r || word(f, i + 1) == view))
            return;
    f->flags[r] |= IS_LAID;
    f->in->code[at + 1] = to;
    for (uint32_t i = f->next[at]; i; i = f->next[i])
        for (uint32_t k = 2; k < 2u + rows[word(f, i)].operands; k++)
            if (word(f, i + k) == r)
                f->in->code[i + k] = to;
}

/* The chain of a block that has no other values; 0: there is none. */
static uint32_t only_chain(const finding *f)
{
    uint32_t head = 0, last = 0;
    for (size_t i = 0; i < f->count; i++) {
        uint32_t at = f->order[i];
        if (!is_value(f, at))
            continue;
        if (is_row_block(word(f, at)) || !may_chain(f, at) || (head && f->next[last] != at))
            return 0;
        head = head ? head : at;
        last = at;
    }
    return head;
}

/* Instructions a ... b - 1: preparations come first. */
static void arrange(finding *f, size_t a, size_t b)
{
    uint32_t begin = f->order[a], n = 0;
    for (int values = 0; values < 2; values++)
        for (size_t i = a; i < b; i++) {
            uint32_t words = rlx_kernel_op_words(word(f, f->order[i]));
            if (is_value(f, f->order[i]) != values)
                continue;
            memcpy(f->moved + n, f->in->code + f->order[i], words * sizeof(uint32_t));
            n += words;
        }
    memcpy(f->in->code + begin, f->moved, n * sizeof(uint32_t));
}

/* The end of a stretch of preparations and values that begins at instruction `a`; *values: it has some. What would change an operand
 * of a value ends it. */
static size_t stretch(finding *f, size_t a, bool *values)
{
    size_t i = a;
    *values = false;
    for (; i < f->count; i++) {
        uint32_t at = f->order[i];
        bool value = is_value(f, at), changes = false;
        FOR_REGISTERS(f, at, true, r) changes |= !value && f->reader[r] == a + 1;
        if ((!value && !is_preparation(f, at)) || changes)
            break;
        for (int written = 0; value && written < 2; written++)
            FOR_REGISTERS(f, at, written, r) f->reader[r] = (uint32_t)a + 1;
        *values |= value;
    }
    return i;
}

/* Does a strip loop have this block as its body, and no strips but views and numbers? */
static bool is_long(const finding *f)
{
    uint32_t last = f->order[f->count - 1], first = f->order[0], before = 0;
    if (word(f, last) != RLX_K_NEXT_STRIP)
        return false;
    int32_t back = (int32_t)(word(f, last + 3) | word(f, last + 4) << 16);
    if ((int64_t)last + back != first || first < 5 || !(f->in->marks[first - 5] & RLX_KERNEL_MARK_START) || word(f, first - 5) != RLX_K_STRIP)
        return false;
    for (size_t i = 0; i + 1 < f->count; i++) {
        uint32_t at = f->order[i], row = word(f, at);
        if (is_preparation(f, at))
            continue;
        if (!is_strip_value(f, at) || !may_chain(f, at) ||
            (is_strip(f, word(f, at + 1)) && !(f->in->code[at] & RLX_KERNEL_UNSTORED) && !(f->flags[word(f, at + 1)] & IS_LAID)))
            return false;
        for (uint32_t k = 2; k < 2u + rows[row].operands; k++) {
            uint32_t r = word(f, at + k);
            if (is_strip(f, r) && !is_uniform(f, r) && !(f->flags[r] & IS_LAID) && !(before && f->next[before] == at && word(f, before + 1) == r))
                return false;
        }
        before = at;
    }
    return true;
}

/* Who reads registers, and which of them are laid, is known of one block alone. */
static void forget_readers(finding *f)
{
    for (size_t i = 0; i < f->count; i++)
        for (int written = 0; written < 2; written++)
            FOR_REGISTERS(f, f->order[i], written, r) f->reader[r] = 0, f->flags[r] &= ~(uint32_t)IS_LAID;
}

static void chain_block(finding *f)
{
    size_t end;
    bool values;
    forget_readers(f);
    for (size_t a = 0; a < f->count; a = end > a ? end : a + 1) {
        chain c = { .count = 0 };
        rows_of z = { .count = 0 };
        end = stretch(f, a, &values);
        for (size_t i = a; i < end && values; i++) {
            if (is_value(f, f->order[i]))
                extend_rows(f, &z, f->order[i]);
            if (is_value(f, f->order[i]))
                extend(f, &c, f->order[i]);
        }
    }
    find_unstored(f);
    const uint32_t head = only_chain(f);
    if (head)
        lay_in_result(f, head);
    if (is_long(f)) {
        f->in->code[f->order[0] - 5] |= RLX_KERNEL_LONG;
        f->in->code[f->order[f->count - 1]] |= RLX_KERNEL_LONG;
    }
    forget_readers(f);
    for (size_t a = 0; a < f->count; a = end > a ? end : a + 1) {
        end = stretch(f, a, &values);
        if (values)
            arrange(f, a, end);
    }
}

size_t rlx_kernel_chains_work(uint32_t num_regs, uint32_t num_words, uint32_t num_buffers)
{
    return (4 * (size_t)num_regs + 3 * (size_t)num_words + num_buffers) * sizeof(uint32_t);
}

void rlx_kernel_find_chains(const rlx_kernel_chains *in)
{
    finding f = { .in = in, .flags = in->work };
    f.block = f.flags + in->num_regs;
    f.reader = f.block + in->num_regs;
    f.next = f.reader + in->num_regs;
    f.order = f.next + in->num_words;
    f.moved = f.order + in->num_words;
    f.reads = f.moved + in->num_words;
    f.uses = f.reads + in->num_regs;
    look_at_registers(&f);
    for (uint32_t at = 0, op; at < in->num_words; at += rlx_kernel_op_words(op)) {
        op = word(&f, at);
        f.order[f.count++] = at;
        if (!ends_block(&f, op, at + rlx_kernel_op_words(op)))
            continue;
        chain_block(&f);
        f.count = 0;
    }
    for (uint32_t at = 0; at < in->num_words; at += rlx_kernel_op_words(word(&f, at)))
        if (word(&f, at) == RLX_K_BROADCAST && !f.reads[word(&f, at + 1)])
            in->code[at] |= RLX_KERNEL_UNSTORED;
    rlx_kernel_find_repeated(in);
}

/* ---- running -------------------------------------------------------------------------------- */

typedef struct making {
    const rlx_kernel_run *r;
    rlx_micro_step *out;
} making;

static void add_step(making *m, uint32_t op, uint32_t operand)
{
    const float *with = NULL;
    if (operand & 1)
        memcpy(&with, m->r->frame + (operand & ~3u), sizeof with);
    else
        with = (const float *)(const void *)(m->r->frame + (operand & ~3u));
    *m->out++ = operand & RLX_KERNEL_SAME ? RLX_STEP_NUMBER(op, with) : RLX_STEP_STRIP(op, (float *)with);
}

/* The least or greatest of x and one number: which is easier where that is not NaN, nor the zero that decides by its sign. */
static uint32_t extreme_of(uint32_t step, const float *same)
{
    uint32_t bits = rlx_float_bits(*same);
    if (*same != *same || (step == RLX_STEP_MIN && bits == 0x80000000u))
        return step;
    return step == RLX_STEP_MIN ? RLX_STEP_LEAST : bits ? RLX_STEP_GREATEST : RLX_STEP_RELU;
}

static void add_operation(making *m, uint32_t op, uint32_t operand)
{
    add_step(m, op, operand);
    if ((op == RLX_STEP_MIN || op == RLX_STEP_MAX) && operand & RLX_KERNEL_SAME)
        m->out[-1].op = extreme_of(op, m->out[-1].with);
}

static void copy_view(const rlx_kernel_run *r, const uint32_t *w, size_t n)
{
    void *to, *from;
    memcpy(&to, r->frame + (w[1] & ~3u), sizeof to);
    memcpy(&from, r->frame + (w[2] & ~3u), sizeof from);
    memmove(to, from, n * sizeof(float));
}

const uint32_t *rlx_kernel_make_chain(const rlx_kernel_run *r, const uint32_t *w, rlx_micro_step *steps)
{
    making m = { r, steps };
    uint32_t held = NOBODY, count = w[0] >> RLX_KERNEL_CHAIN_SHIFT & 31;   /* held: the register whose strip is x */
    for (; count > 0; count--, held = w[1], w += 2 + rows[w[0] & 0xffff].operands) {
        const step_row *row = &rows[w[0] & 0xffff];
        bool backward = row->operands == 2 && w[3] == held && w[2] != held, self = row->operands == 2 && w[2] == w[3];
        if (w[2] != held && !backward)
            add_step(&m, RLX_STEP_LOAD, w[2]);
        if (self)
            *m.out++ = RLX_STEP_ALONE(row->self);
        else if (row->operands >= 2)
            add_operation(&m, backward ? row->backward : row->forward, w[backward ? 2 : 3]);
        else if (row->forward != RLX_STEP_END)
            *m.out++ = RLX_STEP_ALONE(row->forward);
        if (row->operands == 3)
            add_step(&m, row->backward, w[4]);
        if (!(w[0] & RLX_KERNEL_UNSTORED))
            add_step(&m, RLX_STEP_STORE, w[1]);
    }
    *m.out = RLX_STEP_ALONE(RLX_STEP_END);
    return w;
}

const uint32_t *rlx_kernel_run_chain(const rlx_kernel_run *r, const uint32_t *w, size_t n)
{
    rlx_micro_step steps[RLX_CHAIN_STEPS];
    if ((w[0] & (RLX_KERNEL_CHAINED | 0xffff)) == (1u << RLX_KERNEL_CHAIN_SHIFT | RLX_K_MOVE_F32) && w[1] & w[2] & 1) {
        copy_view(r, w, n);
        return w + 3;
    }
    w = rlx_kernel_make_chain(r, w, steps);
    r->micro->chain(steps, (int64_t)n);
    return w;
}
