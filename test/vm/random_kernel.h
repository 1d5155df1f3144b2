/* random_kernel.h: kernels of random instructions that the verifier accepts, put together from
 * the operand letters of kernel_opcode.def; and a plain reading of those that compute with
 * scalar integers only. */
#ifndef TEST_VM_RANDOM_KERNEL_H
#define TEST_VM_RANDOM_KERNEL_H

#include <stdlib.h>
#include <string.h>

#include "runtime/kernel_int.h"

typedef struct rk_random { uint64_t state; } rk_random;
static inline uint32_t rk_below(rk_random *r, uint32_t n)
{
    r->state = r->state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((r->state >> 33) % n);
}

/* Registers: the constants, then per class scalars, strips, a view and an output view; and the same again, which are
 * written in parallel loops alone. */
enum {
    RK_INTS = 8,
    RK_CONSTS = RK_INTS + 6,
    RK_SCALARS = 4,
    RK_STRIPS = 3,
    RK_PER_CLASS = RK_SCALARS + RK_STRIPS + 2,
    RK_OWN = RLX_CLASS_COUNT * RK_PER_CLASS
};
/* Behind them views of bools: to be read and to be written, and those of parallel loops. */
enum { RK_BYTES = RK_CONSTS + 2 * RK_OWN, RK_REGS = RK_BYTES + 4 };
static const int64_t rk_ints[RK_INTS] = { 0, 1, 2, 3, 600, -1, 300, 7 };
enum { RK_SIZE_REG = 4, RK_HALF_REG = 6, RK_WORK_REG = RK_INTS + 5 };
/* Buffers: parameters of one element type per class, temporaries of every type, constants of
 * two. */
enum {
    RK_PARAMS = RLX_CLASS_COUNT,
    RK_TEMPS = RLX_ELEM_COUNT,
    RK_TABLES = 2,
    RK_BUFFERS = RK_PARAMS + RK_TEMPS + RK_TABLES
};
enum { RK_SIZE = 600, RK_MAX_WORDS = 4000, RK_TABLE_BYTES = 4800 };
static const int32_t rk_param_dtypes[RK_PARAMS] = { RELAX_INT32, RELAX_INT64, RELAX_FLOAT32,
                                                    RELAX_FLOAT64 };

typedef struct rk_kernel {
    rk_random *random;
    uint16_t code[RK_MAX_WORDS];
    size_t len;
    bool scalars_only;             /* integers in scalar registers: rk_model can follow */
    /* set since control last could come from elsewhere */
    bool views[RLX_CLASS_COUNT], out_views[RLX_CLASS_COUNT];
    int in_strip, in_parallel;
    uint8_t used[RLX_K_COUNT];
} rk_kernel;

static inline uint16_t rk_scalar(rk_kernel *k, int klass)
{
    return (uint16_t)(RK_CONSTS + klass * RK_PER_CLASS + (int)rk_below(k->random, RK_SCALARS));
}
static inline uint16_t rk_strip(rk_kernel *k, int klass)
{
    return (uint16_t)(RK_CONSTS + klass * RK_PER_CLASS + RK_SCALARS +
                      (int)rk_below(k->random, RK_STRIPS));
}
static inline uint16_t rk_view(const rk_kernel *k, int klass, bool out)
{
    return (uint16_t)(RK_CONSTS + klass * RK_PER_CLASS + RK_SCALARS + RK_STRIPS + out +
                      (k->in_parallel ? RK_OWN : 0));
}
/* In a parallel loop its own register of that kind: to be written, or instead of one in front of it. */
static inline uint16_t rk_own(rk_kernel *k, uint16_t r, bool written)
{
    return k->in_parallel && (written || rk_below(k->random, 2)) ? (uint16_t)(r + RK_OWN) : r;
}
/* A scalar integer that is read: often a constant that makes sense as an offset or a stride. */
static inline uint16_t rk_int(rk_kernel *k)
{
    return rk_below(k->random, 4) ? (uint16_t)rk_below(k->random, RK_INTS)
                                  : rk_scalar(k, RLX_CLASS_I64);
}
static inline uint16_t rk_small(rk_kernel *k)
{
    return rk_below(k->random, 16) ? (uint16_t)rk_below(k->random, 3) : rk_int(k);
}

static inline void rk_word(rk_kernel *k, uint32_t w) { k->code[k->len++] = (uint16_t)w; }
static inline void rk_forget_views(rk_kernel *k)
{
    memset(k->views, 0, sizeof k->views);
    memset(k->out_views, 0, sizeof k->out_views);
}

/* Classes and types of buffers follow their numbers. */
static inline int rk_elem(uint32_t b)
{
    if (b < RK_PARAMS)
        return rlx_kernel_elem_of(rk_param_dtypes[b]);
    return b < RK_PARAMS + RK_TEMPS    ? (int)b - RK_PARAMS
           : b == RK_PARAMS + RK_TEMPS ? RLX_ELEM_I64
                                       : RLX_ELEM_F32;
}

static inline uint16_t rk_buffer(rk_kernel *k, uint32_t op, char letter)
{
    switch (op) {
    case RLX_K_DIM:
    case RLX_K_WANT_DIM:
    case RLX_K_VIEW:
    case RLX_K_VIEW_OUT:
        return (uint16_t)rk_below(k->random, RK_PARAMS);
    default: break;
    }
    if (letter == 't')
        return (uint16_t)(RK_PARAMS + rk_below(k->random, RK_TEMPS));
    return (uint16_t)rk_below(k->random, letter == 'B' ? RK_PARAMS + RK_TEMPS : RK_BUFFERS);
}

/* What one instruction has decided so far. */
typedef struct rk_choice { uint32_t op; bool wide; int klass, buffer_class, buffer; } rk_choice;

static inline uint16_t rk_value(rk_kernel *k, const rk_choice *c, int klass, bool written)
{
    bool *set = written ? k->out_views : k->views;
    if (!c->wide)
        return rk_own(k, rk_scalar(k, klass), written);
    const bool stores = c->op == RLX_K_STORE || c->op == RLX_K_STORE_STRIDED;
    if ((c->op >= RLX_K_FIRST_VALUE || stores) && set[klass] && rk_below(k->random, 2))
        return rk_view(k, klass, written ? true : !k->views[klass]);
    return rk_own(k, rk_strip(k, klass), written);
}

static inline uint16_t rk_operand(rk_kernel *k, rk_choice *c, char letter)
{
    static const char classes[] = "ilfdILFD";
    const char *at = strchr(classes, letter);
    if (at)
        return rk_value(k, c, (int)(at - classes) % RLX_CLASS_COUNT,
                        at - classes >= RLX_CLASS_COUNT);
    switch (letter) {
    case 'v': return rk_value(k, c, c->buffer_class, false);
    case 'V':
        return c->op == RLX_K_VIEW || c->op == RLX_K_VIEW_OUT
                   ? rk_view(k, c->buffer_class, c->op == RLX_K_VIEW_OUT)
                   : rk_value(k, c, c->buffer_class, true);
    case 'x': return rk_value(k, c, c->klass, false);
    case 'X': return rk_value(k, c, c->klass, true);
    case 's': return rk_scalar(k, c->klass);
    case 'm':
        return rk_below(k->random, 2) ? RLX_KERNEL_NONE : rk_value(k, c, RLX_CLASS_I32, false);
    case 'r': return c->op >= RLX_K_XMOVE && c->op <= RLX_K_XMAX ? rk_int(k) : rk_small(k);
    case 'w': return rk_own(k, rk_scalar(k, RLX_CLASS_I64), true);
    /* half of them true */
    case 'c': return rk_below(k->random, 2) ? RK_INTS : rk_scalar(k, RLX_CLASS_I32);
    default: return 0; /* n, z */
    }
}

static inline bool rk_fused(uint32_t op)
{
    return op == RLX_K_CONTRACT || op == RLX_K_REDUCE || op == RLX_K_PARTIAL ||
           op == RLX_K_NORMALIZE;
}

/* What a copy may write: elements of the type it reads, or float32 from narrow floats. */
static inline uint16_t rk_copy_target(rk_kernel *k, int elem)
{
    bool narrow = rlx_micro_find(NULL)->copy[RLX_ELEM_F32][elem] && elem != RLX_ELEM_F32;
    if (narrow && rk_below(k->random, 2))
        elem = RLX_ELEM_F32;
    for (uint16_t b = 0; b < RK_PARAMS; b++)
        if (rk_elem(b) == elem && rk_below(k->random, 2))
            return b;
    return (uint16_t)(RK_PARAMS + elem);
}

static inline uint32_t rk_number(rk_kernel *k, uint32_t op)
{
    switch (op) {
    case RLX_K_REDUCE: return rk_below(k->random, RLX_KERNEL_REDUCE_COUNT);
    case RLX_K_CONTRACT: return rk_below(k->random, 2);
    case RLX_K_NORMALIZE: return rk_below(k->random, RLX_NORMALIZE_BITS + 1);
    case RLX_K_PARTIAL:
        return rk_below(k->random, RLX_KERNEL_VALUE_COUNT) |
               (rk_below(k->random, 2) ? RLX_KERNEL_PARTIAL_FROM_ZERO : 0);
    case RLX_K_MAP: return rk_below(k->random, RLX_KERNEL_MAP_COUNT);
    case RLX_K_PLACE_EACH: return rk_below(k->random, 2) ? RLX_KERNEL_FROM_END : 0;
    case RLX_K_PACK: return rk_below(k->random, 2) ? RLX_PANEL_COLUMNS : RLX_PANEL_ROWS;
    case RLX_K_UNPACK: return 1 + rk_below(k->random, 8);
    default: return 0;
    }
}

/* Buffers of UNPACK by position: floats, words, floats. */
static inline uint16_t rk_unpack_buffer(rk_kernel *k, uint32_t position)
{
    static const int words[] = { RLX_ELEM_U32, RLX_ELEM_I32, RLX_ELEM_U8, RLX_ELEM_I8 };
    return (uint16_t)(RK_PARAMS + (position == 3 ? words[rk_below(k->random, 4)] : RLX_ELEM_F32));
}

/* Buffers of CONTRACT of bytes by position: sums, bytes, bytes. */
static inline uint16_t rk_bytes_buffer(rk_kernel *k, uint32_t position)
{
    return (uint16_t)(RK_PARAMS + (position == 1                ? RLX_ELEM_I32
                                   : rk_below(k->random, 2) ? RLX_ELEM_I8
                                                                : RLX_ELEM_U8));
}

/* Sizes to check against are those of the buffers, so that the kernel goes on. */
static inline bool rk_is_size(uint32_t op, uint32_t position)
{
    return (op == RLX_K_CHECK && position == 2) || (op == RLX_K_CHECK_EACH && position == 1) ||
           (op == RLX_K_PLACE_EACH && position == 5) || (op == RLX_K_WANT_DIM && position == 2) || (op == RLX_K_ALLOC && position == 1);
}

static inline bool rk_is_logic(uint32_t op) { return op >= RLX_K_AND_BOOL && op <= RLX_K_NOT_BOOL; }

/* Views of bools, and an operation of them. */
static inline void rk_logic(rk_kernel *k, uint32_t op)
{
    const uint16_t in = (uint16_t)(RK_BYTES + (k->in_parallel ? 2 : 0)), out = (uint16_t)(in + 1);
    for (int i = 0; i < 2; i++) {
        rk_word(k, i ? RLX_K_VIEW_OUT : RLX_K_VIEW);
        rk_word(k, i ? out : in);
        rk_word(k, RK_PARAMS + RLX_ELEM_BOOL);
        rk_word(k, rk_small(k));
    }
    k->used[op] = 1;
    rk_word(k, op);
    rk_word(k, out);
    rk_word(k, rk_below(k->random, 2) ? in : out);
    if (op != RLX_K_NOT_BOOL)
        rk_word(k, in);
}

static inline void rk_instruction(rk_kernel *k, uint32_t op)
{
    if (rk_is_logic(op) && k->in_strip && !k->scalars_only) {
        rk_logic(k, op);
        return;
    }
    op = rk_is_logic(op) ? RLX_K_AND_I32 : op;
    const char *letters = rlx_kernel_ops[op].operands;
    rk_choice c = { op,
                    op == RLX_K_BROADCAST || op == RLX_K_VIEW || op == RLX_K_VIEW_OUT ||
                        (!k->scalars_only && k->in_strip && rk_below(k->random, 4)),
                    (int)rk_below(k->random, RLX_CLASS_COUNT), 0, -1 };
    bool copies = op == RLX_K_COPY || op == RLX_K_PACK,
         bytes = op == RLX_K_CONTRACT && rk_below(k->random, 3) == 0,
         fours = op == RLX_K_PACK && rk_below(k->random, 3) == 0;
    if (rk_fused(op)) /* one element type that has a loop */
        c.buffer = op == RLX_K_NORMALIZE ? 2 : 2 + (int)rk_below(k->random, 2);
    if (op == RLX_K_MAP || op == RLX_K_ADD_EACH)
        c.buffer = RLX_CLASS_F32;
    while (copies && (c.buffer < 0 || rk_elem((uint32_t)c.buffer) == RLX_ELEM_BOOL))
        c.buffer = rk_buffer(k, op, 'b');
    if (fours)
        c.buffer = RK_PARAMS + (rk_below(k->random, 2) ? RLX_ELEM_I8 : RLX_ELEM_U8);
    for (const char *p = letters; *p; p++)
        if (strchr("bBt", *p) && c.buffer < 0)
            c.buffer = rk_buffer(k, op, *p);
    c.buffer_class = c.buffer >= 0 ? rlx_kernel_elems[rk_elem((uint32_t)c.buffer)].klass : 0;
    k->used[op] = 1;
    rk_word(k, op);
    for (uint32_t i = 0; letters[i]; i++) {
        if (fours && strchr("nB", letters[i]))
            rk_word(k, letters[i] == 'n' ? rk_number(k, op) | RLX_KERNEL_FOURS : (uint32_t)c.buffer);
        else if (bytes && strchr("nbB", letters[i]))
            rk_word(k, letters[i] == 'n' ? 2 * rk_number(k, op) : rk_bytes_buffer(k, i));
        else if (letters[i] == 'B' && copies)
            rk_word(k, rk_copy_target(k, rk_elem((uint32_t)c.buffer)));
        else if (op == RLX_K_UNPACK && strchr("bB", letters[i]))
            rk_word(k, rk_unpack_buffer(k, i));
        else if (strchr("bBt", letters[i]))
            rk_word(k, (uint32_t)c.buffer);
        else if (letters[i] == 'n')
            rk_word(k, rk_number(k, op));
        else if (rk_is_size(op, i))
            rk_word(k, RK_SIZE_REG);
        else
            rk_word(k, rk_operand(k, &c, letters[i]));
    }
    if (op == RLX_K_VIEW)
        k->views[c.buffer_class] = true;
    if (op == RLX_K_VIEW_OUT)
        k->out_views[c.buffer_class] = true;
    if (op == RLX_K_ALLOC)
        rk_forget_views(k);
}

static inline bool rk_is_control(uint32_t op)
{
    return op == RLX_K_END || op == RLX_K_ENDPAR || strchr(rlx_kernel_ops[op].operands, 'j');
}

/* The operations of a kernel that rk_model reads. */
static inline bool rk_is_modelled(uint32_t op)
{
    switch (op) {
    case RLX_K_XMOVE:
    case RLX_K_XADD:
    case RLX_K_XSUB:
    case RLX_K_XMUL:
    case RLX_K_XMADD:
    case RLX_K_XMIN:
    case RLX_K_XMAX:
    case RLX_K_MOVE_I64:
    case RLX_K_ADD_I64:
    case RLX_K_SUB_I64:
    case RLX_K_MUL_I64:
    case RLX_K_MIN_I64:
    case RLX_K_MAX_I64:
    case RLX_K_MIN_U64:
    case RLX_K_MAX_U64:
    case RLX_K_AND_I64:
    case RLX_K_OR_I64:
    case RLX_K_XOR_I64:
        return true;
    default: return false;
    }
}

static inline void rk_patch(rk_kernel *k, size_t at, size_t begin, size_t target)
{
    uint32_t distance = (uint32_t)(int32_t)((int64_t)target - (int64_t)begin);
    k->code[at] = (uint16_t)distance;
    k->code[at + 1] = (uint16_t)(distance >> 16);
}

static inline void rk_block(rk_kernel *k, int depth, uint32_t count);

/* LOOP, its body and NEXT; the same for strips. */
static inline void rk_loop(rk_kernel *k, int depth, bool strip)
{
    uint16_t var = rk_scalar(k, RLX_CLASS_I64),
             limit = (uint16_t)(strip ? RK_HALF_REG : rk_scalar(k, RLX_CLASS_I64));
    size_t begin = k->len;
    if (!strip && limit == var)
        limit = (uint16_t)(RK_CONSTS + RLX_CLASS_I64 * RK_PER_CLASS +
                           (limit - RK_CONSTS - RLX_CLASS_I64 * RK_PER_CLASS + 1) % RK_SCALARS);
    var = rk_own(k, var, true);
    limit = strip ? limit : rk_own(k, limit, true);
    uint32_t op = strip ? RLX_K_STRIP : RLX_K_LOOP;
    k->used[op] = 1;
    rk_word(k, op);
    rk_word(k, var);
    if (strip) {
        rk_word(k, limit);
    } else {
        rk_word(k, rk_below(k->random, 4));
        rk_word(k, rk_below(k->random, 4));
        rk_word(k, limit);
    }
    size_t out = k->len;
    rk_word(k, 0);
    rk_word(k, 0);
    rk_forget_views(k);
    size_t body = k->len;
    k->in_strip += strip;
    rk_block(k, depth + 1, 1 + rk_below(k->random, 5));
    k->in_strip -= strip;
    size_t next = k->len;
    k->used[strip ? RLX_K_NEXT_STRIP : RLX_K_NEXT] = 1;
    rk_word(k, strip ? RLX_K_NEXT_STRIP : RLX_K_NEXT);
    rk_word(k, var);
    rk_word(k, limit);
    size_t back = k->len;
    rk_word(k, 0);
    rk_word(k, 0);
    rk_patch(k, back, next, body);
    rk_patch(k, out, begin, k->len);
    rk_forget_views(k);
}

/* What is written inside has its first value there. */
static inline void rk_begin_own(rk_kernel *k)
{
    for (int klass = 0; klass < RLX_CLASS_COUNT; klass++) {
        uint16_t first = (uint16_t)(RK_CONSTS + RK_OWN + klass * RK_PER_CLASS);
        for (uint16_t i = 0; i < RK_SCALARS; i++) {
            rk_word(k, (uint32_t)(RLX_K_MOVE_I32 + klass));
            rk_word(k, (uint32_t)first + i);
            rk_word(k, (uint32_t)(RK_INTS + klass));
        }
        for (uint16_t i = 0; i < RK_STRIPS && !k->scalars_only; i++) {
            rk_word(k, RLX_K_BROADCAST);
            rk_word(k, (uint32_t)first + RK_SCALARS + i);
            rk_word(k, first);
            rk_word(k, RK_HALF_REG);
        }
    }
}

/* PAR, its body and ENDPAR; not inside of another: temporaries are asked for in front of all of them. */
static inline void rk_parallel(rk_kernel *k, int depth)
{
    uint16_t first = (uint16_t)(RK_CONSTS + RK_OWN + RLX_CLASS_I64 * RK_PER_CLASS);
    size_t begin = k->len, strips = (size_t)k->in_strip;
    k->used[RLX_K_PAR] = k->used[RLX_K_ENDPAR] = 1;
    rk_word(k, RLX_K_PAR);
    rk_word(k, first);
    rk_word(k, (uint32_t)first + 1);
    rk_word(k, rk_below(k->random, 4));
    rk_word(k, rk_int(k));
    rk_word(k, rk_below(k->random, 4) ? RK_WORK_REG : (uint32_t)rk_int(k));
    rk_word(k, 1 + rk_below(k->random, 2) * 2);
    size_t out = k->len;
    rk_word(k, 0);
    rk_word(k, 0);
    rk_forget_views(k);
    k->in_parallel++;
    k->in_strip = 0;
    rk_begin_own(k);
    rk_block(k, depth + 1, 1 + rk_below(k->random, 5));
    k->in_strip = (int)strips;
    k->in_parallel--;
    rk_word(k, RLX_K_ENDPAR);
    rk_patch(k, out, begin, k->len);
    rk_forget_views(k);
}

static inline void rk_skip(rk_kernel *k, int depth)
{
    static const uint16_t ops[] = { RLX_K_JUMP, RLX_K_JUMP_IF_NOT, RLX_K_JUMP_IF_EMPTY };
    uint32_t op = ops[rk_below(k->random, k->scalars_only ? 1 : 3)];
    size_t begin = k->len;
    if (k->scalars_only)
        op = rk_below(k->random, 2) ? RLX_K_JUMP : RLX_K_JUMP_IF_EMPTY;
    k->used[op] = 1;
    rk_word(k, op);
    if (op != RLX_K_JUMP)
        rk_word(k, op == RLX_K_JUMP_IF_NOT ? rk_scalar(k, RLX_CLASS_I32) : rk_int(k));
    size_t at = k->len;
    rk_word(k, 0);
    rk_word(k, 0);
    rk_forget_views(k);
    rk_block(k, depth + 1, 1 + rk_below(k->random, 3));
    rk_patch(k, at, begin, k->len);
    rk_forget_views(k);
}

static inline void rk_block(rk_kernel *k, int depth, uint32_t count)
{
    for (; count && k->len < RK_MAX_WORDS - 600; count--) {
        uint32_t way = rk_below(k->random, 12), op;
        if (depth < 3 && way < 2) {
            rk_loop(k, depth, !k->scalars_only && !k->in_strip && way);
        } else if (depth < 3 && way == 3 && !k->scalars_only && !k->in_parallel) {
            rk_parallel(k, depth);
        } else if (depth < 3 && way == 2) {
            rk_skip(k, depth);
        } else {
            do
                op = rk_below(k->random, RLX_K_COUNT);
            while (rk_is_control(op) || (op == RLX_K_ALLOC && k->in_parallel) || (k->scalars_only && !rk_is_modelled(op)) ||
                   (op == RLX_K_ASSERT && rk_below(k->random, 20)));
            rk_instruction(k, op);
        }
    }
}

/* Stores the scalars of class int64 into the second parameter: what the model can be compared
 * with. */
static inline void rk_show(rk_kernel *k)
{
    for (uint32_t i = 0; i < RK_SCALARS; i++) {
        rk_word(k, RLX_K_STORE);
        rk_word(k, 1);
        rk_word(k, i);
        rk_word(k, (uint32_t)(RK_CONSTS + RLX_CLASS_I64 * RK_PER_CLASS) + i);
    }
    k->used[RLX_K_STORE] = 1;
}

static inline void rk_generate(rk_kernel *k, rk_random *random, bool scalars_only)
{
    memset(k, 0, sizeof *k);
    k->random = random;
    k->scalars_only = scalars_only;
    /* the frame is shared between kernels: nothing is zero by itself */
    for (uint32_t i = 0; i < RK_SCALARS; i++) {
        rk_word(k, RLX_K_XMOVE);
        rk_word(k, (uint32_t)(RK_CONSTS + RLX_CLASS_I64 * RK_PER_CLASS) + i);
        rk_word(k, i);
    }
    for (uint32_t t = 0; t < RK_TEMPS && !scalars_only; t++) {
        rk_word(k, RLX_K_ALLOC);
        rk_word(k, RK_PARAMS + t);
        rk_word(k, RK_SIZE_REG);
    }
    rk_block(k, 0, 4 + rk_below(random, 12));
    if (scalars_only)
        rk_show(k);
    rk_word(k, RLX_K_END);
    k->used[RLX_K_END] = 1;
}

/* ---- loops over rows of a chain: kernel_repeat.c -------------------------------------------------- */

enum { RK_L = RK_CONSTS + RLX_CLASS_I64 * RK_PER_CLASS, RK_F = RK_CONSTS + RLX_CLASS_F32 * RK_PER_CLASS };
/* Scalars of int64: the loop's, the strip's, and others, which any numbers may have come to. */
enum { RK_ROW = RK_L, RK_LIMIT, RK_STRIP_VAR, RK_LAST, RK_ROW_FIRST = RK_L + RK_OWN, RK_ROW_SCALARS = 5 };
static inline uint16_t rk_row_scalar(rk_kernel *k)
{
    uint32_t i = rk_below(k->random, RK_ROW_SCALARS);
    return (uint16_t)(i ? RK_ROW_FIRST + i - 1 : RK_LAST);
}
static inline uint16_t rk_row_int(rk_kernel *k)
{
    return rk_below(k->random, 3) ? rk_row_scalar(k) : (uint16_t)rk_below(k->random, RK_INTS);
}

static inline void rk_words(rk_kernel *k, const uint16_t *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        rk_word(k, words[i]);
}
#define RK_WORDS(k, ...) rk_words(k, (const uint16_t[]){ __VA_ARGS__ }, sizeof((const uint16_t[]){ __VA_ARGS__ }) / sizeof(uint16_t))

static inline void rk_row_index(rk_kernel *k, bool in_loop)
{
    static const uint16_t ops[] = { RLX_K_XMOVE, RLX_K_XADD, RLX_K_XSUB, RLX_K_XMUL, RLX_K_XMADD, RLX_K_XMADD, RLX_K_XMADD };
    uint16_t op = ops[rk_below(k->random, RLX_COUNT(ops))], n = (uint16_t)(op == RLX_K_XMOVE ? 1 : op == RLX_K_XMADD ? 3 : 2);
    RK_WORDS(k, op, rk_row_scalar(k));
    for (uint16_t i = 0; i < n; i++)
        rk_word(k, in_loop && rk_below(k->random, 3) == 0 ? RK_ROW : rk_row_int(k));
}

/* A chain of a view of floats, the number of a row, and another number for all rows. */
static inline void rk_row_chain(rk_kernel *k, uint16_t in, uint16_t out)
{
    static const uint16_t ops[] = { RLX_K_ADD_F32, RLX_K_SUB_F32, RLX_K_MUL_F32, RLX_K_MIN_F32, RLX_K_MAX_F32, RLX_K_fabs_F32, RLX_K_sigmoid_F32 };
    const uint16_t numbers = RK_F + RK_SCALARS, held = (uint16_t)(numbers + 2), twice = (uint16_t)(held + RK_OWN);
    uint16_t x = in;
    bool kept = false;
    for (uint32_t left = 1 + rk_below(k->random, 6); left; left--) {
        const uint16_t op = ops[rk_below(k->random, RLX_COUNT(ops))], to = left == 1 ? out : !kept && rk_below(k->random, 3) == 0 ? twice : held;
        RK_WORDS(k, op, to, x);
        if (op != RLX_K_fabs_F32 && op != RLX_K_sigmoid_F32)
            rk_word(k, kept && rk_below(k->random, 3) == 0 ? twice : rk_below(k->random, 4) == 0 ? in : (uint16_t)(numbers + rk_below(k->random, 2)));
        kept |= to == twice;
        x = to;
    }
}

/* Rows may be anywhere and lie on each other; each is done in place, or what it gives goes elsewhere. */
static inline void rk_generate_rows(rk_kernel *k, rk_random *random)
{
    memset(k, 0, sizeof *k);
    k->random = random;
    const uint16_t in = RK_F + RK_SCALARS + RK_STRIPS, out = (uint16_t)(in + 1), number = RK_F, numbers = RK_F + RK_SCALARS;
    for (uint16_t i = 0; i < RK_ROW_SCALARS; i++)
        RK_WORDS(k, RLX_K_XMOVE, (uint16_t)(i ? RK_ROW_FIRST + i - 1 : RK_LAST), (uint16_t)(rk_below(random, 3) ? 3 : rk_below(random, RK_INTS)));
    for (uint32_t i = rk_below(random, 5); i; i--)
        rk_row_index(k, false);
    const uint16_t extent = (uint16_t)(rk_below(random, 4) ? 7 : rk_below(random, RK_INTS)), length = (uint16_t)(rk_below(random, 6) ? rk_row_scalar(k) : 7),
                   wide = (uint16_t)(rk_below(random, 2) ? RK_HALF_REG : length);
    const bool in_place = rk_below(random, 2);
    const uint16_t result = in_place ? 2 : RK_PARAMS + RLX_ELEM_F32;
    RK_WORDS(k, RLX_K_ALLOC, RK_PARAMS + RLX_ELEM_F32, RK_SIZE_REG, RLX_K_COPY, RK_PARAMS + RLX_ELEM_F32, 0, 2, 0, 1, 1, 1, RK_SIZE_REG, 0, 0, 0, 1, 0, 0, 0, 1);
    RK_WORDS(k, RLX_K_BROADCAST, (uint16_t)(numbers + 1), (uint16_t)(RK_INTS + 2), RK_SIZE_REG);
    size_t begin = k->len;
    RK_WORDS(k, RLX_K_LOOP, RK_ROW, (uint16_t)rk_below(random, 3), extent, RK_LIMIT, 0, 0);
    size_t body = k->len;
    for (uint32_t i = rk_below(random, 4); i; i--)
        rk_row_index(k, true);
    RK_WORDS(k, RLX_K_LOAD, number, 2, rk_row_scalar(k), RLX_K_BROADCAST, numbers, number, wide);
    size_t strip = k->len;
    RK_WORDS(k, RLX_K_STRIP, RK_STRIP_VAR, wide, 0, 0);
    size_t inner = k->len;
    RK_WORDS(k, RLX_K_XADD, RK_LAST, RK_STRIP_VAR, rk_row_scalar(k), RLX_K_VIEW, in, 2, RK_LAST);
    if (!in_place)
        RK_WORDS(k, RLX_K_XADD, RK_LAST, RK_STRIP_VAR, rk_row_scalar(k));
    RK_WORDS(k, RLX_K_VIEW_OUT, out, result, RK_LAST);
    rk_row_chain(k, in, out);
    size_t next = k->len;
    RK_WORDS(k, RLX_K_NEXT_STRIP, RK_STRIP_VAR, wide, 0, 0);
    rk_patch(k, next + 3, next, inner);
    rk_patch(k, strip + 3, strip, k->len);
    next = k->len;
    RK_WORDS(k, RLX_K_NEXT, RK_ROW, RK_LIMIT, 0, 0);
    rk_patch(k, next + 3, next, body);
    rk_patch(k, begin + 5, begin, k->len);
    if (!in_place)
        RK_WORDS(k, RLX_K_COPY, 2, 0, RK_PARAMS + RLX_ELEM_F32, 0, 1, 1, 1, RK_SIZE_REG, 0, 0, 0, 1, 0, 0, 0, 1);
    rk_show(k);
    rk_word(k, RLX_K_END);
}

/* ---- as bytes ------------------------------------------------------------------------------- */

static inline void rk_u32(rlx_buf *out, uint32_t v) { rlx_buf_put(out, (const char *)&v, 4); }
static inline void rk_u64(rlx_buf *out, uint64_t v) { rlx_buf_put(out, (const char *)&v, 8); }
static inline void rk_pad(rlx_buf *out)
{
    while (out->len % 8)
        rlx_buf_put(out, "", 1);
}

static inline void rk_buffer_record(rlx_buf *out, uint32_t b)
{
    uint32_t kind = b < RK_PARAMS              ? RLX_KERNEL_BUFFER_PARAM
                    : b < RK_PARAMS + RK_TEMPS ? RLX_KERNEL_BUFFER_TEMP
                                               : RLX_KERNEL_BUFFER_CONST;
    rk_u32(out, (uint32_t)rlx_kernel_elems[rk_elem(b)].dtype);
    rk_u32(out, kind | 1u << 8);
    rk_u32(out, 0);
    rk_u32(out, kind == RLX_KERNEL_BUFFER_CONST && b + 1 == RK_BUFFERS ? RK_TABLE_BYTES : 0);
    rk_u64(out, kind == RLX_KERNEL_BUFFER_CONST ? RK_SIZE : 0);
}

static inline void rk_write(const rk_kernel *k, rlx_buf *out)
{
    uint32_t counts[RLX_KERNEL_PARTS] = { RK_PARAMS,         RK_BUFFERS,       RK_REGS,
                                          RK_CONSTS,         (uint32_t)k->len, 8,
                                          2 * RK_TABLE_BYTES };
    size_t begin = out->len;
    rk_u32(out, RLX_KERNEL_MAGIC);
    rk_u32(out, RLX_KERNEL_VERSION);
    rk_u32(out, 0);
    for (int p = 0; p < RLX_KERNEL_PARTS; p++)
        rk_u32(out, counts[p]);
    for (uint32_t p = 0; p < RK_PARAMS; p++) {
        rk_u32(out, RLX_KERNEL_PARAM_BUFFER | p << 16);
        rk_u32(out, (uint32_t)rk_param_dtypes[p]);
    }
    for (uint32_t b = 0; b < RK_BUFFERS; b++)
        rk_buffer_record(out, b);
    for (uint32_t r = 0; r < RK_REGS; r++) {
        uint32_t i = r < RK_CONSTS ? 0 : (r - RK_CONSTS) % RK_PER_CLASS, at = r < RK_CONSTS + RK_OWN ? r : r - RK_OWN;
        char b = (char)(r < RK_INTS     ? RLX_CLASS_I64
                        : r < RK_CONSTS ? (r - RK_INTS) % 4
                                        : (at - RK_CONSTS) / RK_PER_CLASS);
        b = (char)(b | (i < RK_SCALARS               ? 0
                        : i < RK_SCALARS + RK_STRIPS ? RLX_KERNEL_STRIP_REG
                                                     : RLX_KERNEL_VIEW_REG));
        if (r >= RK_BYTES)
            b = RLX_CLASS_I32 | RLX_KERNEL_VIEW_REG | RLX_KERNEL_BYTE_REG;
        rlx_buf_put(out, &b, 1);
    }
    rk_pad(out);
    for (uint32_t c = 0; c < RK_CONSTS; c++)
        rk_u64(out, c < RK_INTS ? (uint64_t)rk_ints[c] : c == RK_WORK_REG ? (uint64_t)1 << 40 : 1);
    rlx_buf_put(out, (const char *)k->code, k->len * 2);
    rk_pad(out);
    rlx_buf_put(out, "random\0", 8);
    for (uint32_t i = 0; i < 2 * RK_TABLE_BYTES / 8; i++)
        rk_u64(out, i % RK_SIZE);
    uint32_t size = (uint32_t)(out->len - begin);
    memcpy(out->data + begin + 8, &size, 4);
}

/* ---- the model ------------------------------------------------------------------------------ */

static inline int64_t rk_compute(uint32_t op, int64_t a, int64_t b, int64_t c)
{
    uint64_t x = (uint64_t)a, y = (uint64_t)b;
    switch (op) {
    case RLX_K_XADD: case RLX_K_ADD_I64: return (int64_t)(x + y);
    case RLX_K_XSUB: case RLX_K_SUB_I64: return (int64_t)(x - y);
    case RLX_K_XMUL: case RLX_K_MUL_I64: return (int64_t)(x * y);
    case RLX_K_XMADD: return (int64_t)(x * y + (uint64_t)c);
    case RLX_K_XMIN: case RLX_K_MIN_I64: return a < b ? a : b;
    case RLX_K_XMAX: case RLX_K_MAX_I64: return a > b ? a : b;
    case RLX_K_MIN_U64: return (int64_t)(x < y ? x : y);
    case RLX_K_MAX_U64: return (int64_t)(x > y ? x : y);
    case RLX_K_AND_I64: return (int64_t)(x & y);
    case RLX_K_OR_I64: return (int64_t)(x | y);
    case RLX_K_XOR_I64: return (int64_t)(x ^ y);
    default: return a; /* moves */
    }
}

/* Follows a kernel of scalars; the first RK_SCALARS elements of the second parameter. False:
 * too long. */
static inline bool rk_model(const rk_kernel *k, int64_t *out)
{
    int64_t x[RK_REGS] = { 0 };
    const uint16_t *w = k->code;
    memcpy(x, rk_ints, sizeof rk_ints);
    for (int steps = 0; steps < 100000; steps++) {
        uint32_t op = w[0], at = 1 + (uint32_t)(strcspn(rlx_kernel_ops[op].operands, "j"));
        int32_t jump = rk_is_control(op) && op != RLX_K_END
                           ? (int32_t)((uint32_t)w[at] | (uint32_t)w[at + 1] << 16)
                           : 0;
        bool taken = false;
        switch (op) {
        case RLX_K_END: return true;
        case RLX_K_JUMP: taken = true; break;
        case RLX_K_JUMP_IF_EMPTY: taken = x[w[1]] <= 0; break;
        case RLX_K_LOOP: {
            int64_t first = x[w[2]], extent = x[w[3]];
            x[w[1]] = first;
            x[w[4]] = first + extent;
            taken = extent <= 0;
            break;
        }
        case RLX_K_NEXT:
            x[w[1]] = (int64_t)((uint64_t)x[w[1]] + 1);
            taken = x[w[1]] < x[w[2]];
            break;
        case RLX_K_STORE: out[x[w[2]]] = x[w[3]]; break;
        default: {
            bool alone = op == RLX_K_XMOVE || op == RLX_K_MOVE_I64;
            x[w[1]] =
                rk_compute(op, x[w[2]], alone ? 0 : x[w[3]], op == RLX_K_XMADD ? x[w[4]] : 0);
            break;
        }
        }
        w += taken ? jump : (int32_t)rlx_kernel_op_words(op);
    }
    return false;
}

#endif
