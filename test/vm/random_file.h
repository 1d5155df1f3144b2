/* random_file.h: sound files at random, made of every instruction of the VM and of kernels.
 * What a register probably holds is kept while code is written, so that most of it goes well. */
#ifndef TEST_VM_RANDOM_FILE_H
#define TEST_VM_RANDOM_FILE_H

#include "assemble.h"

#include <stdlib.h>
#include "random_kernel.h"

enum { PARAMS = 2, REGS = 8, SYMS = 4, FUNCTIONS = 3, EXPRS = 6 };
/* what a register probably holds */
enum kind { UNSET, ANY, INT, BOOL, SHAPE, TUPLE, TENSOR, STORAGE, FUNCTION, KINDS };

typedef struct sample {
    kit kit;
    rk_random random;
    bool simple;               /* only what the model reads */
    uint32_t consts[16], num_consts;
    enum kind const_kinds[16];
    uint32_t exprs[EXPRS], descs[4], names[2];
    uint32_t packed[2], first_builtin;
    uint32_t late; /* constant of a late call */
    uint32_t turn;             /* the builtin whose turn it is: each file begins with another one */
    uint32_t params;           /* two objects */
    uint32_t functions[FUNCTIONS];
    uint32_t kernels[2];
    rk_kernel kernel_code[2];
    enum kind regs[REGS];      /* while code is written */
    uint32_t function, depth;
} sample;

/* How often each was put into a file. */
static uint32_t written[RLX_OPCODE_COUNT], builtins[64];

/* The rows of builtin.def, in its order. */
static const struct { const char *name; int32_t min_args, max_args;
} builtin_rows[] = {
#define BUILTIN(fn, name, least, most, help) { RLX_BUILTIN_PREFIX name, least, most },
#include "format/builtin.def"
#undef BUILTIN
};

static uint32_t below(sample *s, uint32_t n) { return rk_below(&s->random, n); }

/* ---- tables of the file --------------------------------------------------------------------- */

static void add_const(sample *s, uint32_t number, enum kind kind)
{
    s->const_kinds[s->num_consts] = kind;
    s->consts[s->num_consts++] = number;
}

static void make_constants(sample *s)
{
    rlx_file_writer *w = &s->kit.w;
    static const float data[] = { 1, 2, 3 };
    static const uint8_t yes[] = { 1 };
    int64_t three = 3, shape[] = { 2, 3 };
    double half = 0.5;
    uint64_t bits;
    memcpy(&bits, &half, sizeof bits);
    add_const(s, rlx_file_writer_const_tensor(w, RELAX_FLOAT32, &three, 1, data, sizeof data),
              TENSOR);
    add_const(s, rlx_file_writer_const_tensor(w, RELAX_BOOL, NULL, 0, yes, sizeof yes), BOOL);
    add_const(s, rlx_file_writer_const_shape(w, shape, 2), SHAPE);
    add_const(s, rlx_file_writer_const_shape(w, NULL, 0), SHAPE);
    add_const(s, rlx_file_writer_const_string(w, RLX_SLICE("text")), ANY);
    s->late = rlx_file_writer_const_string(
        w, below(s, 8) ? RLX_SLICE("@R.function\ndef main(a: $) -> R.Tensor:\n"
                                   "    r = R.negative(a)\n    return r\n")
                       : RLX_SLICE("no program"));
    add_const(s, s->late, ANY);
    add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_INT, RELAX_INT64, below(s, 5)), INT);
    add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_INT, RELAX_BOOL, below(s, 2)), BOOL);
    add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_FLOAT, RELAX_FLOAT64, bits), ANY);
    add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_DTYPE, RELAX_INT32, 0), ANY);
    add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_NULL, 0, 0), ANY);
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_FUNCTION, 0, s->functions[f]),
                  FUNCTION);
    add_const(s, rlx_file_writer_const_scalar(w, RLX_CONSTANT_EXTERN, 0, s->packed[0]), FUNCTION);
}

static void make_term(sample *s, rlx_desc_expr_writer *e, int depth)
{
    static const enum rlx_desc_expr_op two[] = {
        RLX_EXPR_ADD,       RLX_EXPR_SUB,       RLX_EXPR_MUL,       RLX_EXPR_FLOOR_DIV,
        RLX_EXPR_FLOOR_MOD, RLX_EXPR_TRUNC_DIV, RLX_EXPR_TRUNC_MOD, RLX_EXPR_MIN,
        RLX_EXPR_MAX,       RLX_EXPR_EQ,        RLX_EXPR_NE,        RLX_EXPR_LT,
        RLX_EXPR_LE,        RLX_EXPR_GT,        RLX_EXPR_GE,        RLX_EXPR_SHL,
        RLX_EXPR_SHR,       RLX_EXPR_BIT_AND,   RLX_EXPR_BIT_OR,    RLX_EXPR_BIT_XOR
    };
    static const enum rlx_desc_expr_op one[] = { RLX_EXPR_NOT, RLX_EXPR_BIT_NOT, RLX_EXPR_ABS };
    uint32_t way = below(s, 8);
    if (depth >= 3 || way < 2) {
        if (below(s, 2))
            rlx_desc_expr_symbol(e, below(s, SYMS), RLX_SLICE("n"));
        else
            rlx_desc_expr_int(e, below(s, 30) ? (int64_t)below(s, 9) - 3
                                              : INT64_MAX - (int64_t)below(s, 2));
        return;
    }
    make_term(s, e, depth + 1);
    if (way == 2) {
        rlx_desc_expr_put_op(e, one[below(s, RLX_COUNT(one))]);
    } else if (way == 3) {
        rlx_desc_expr_cast(e, below(s, 2) ? RELAX_INT8 : RELAX_INT64);
    } else if (way == 4) {
        bool both = below(s, 2);
        rlx_desc_expr_put_op(e, both ? RLX_EXPR_AND_THEN : RLX_EXPR_OR_ELSE);
        make_term(s, e, depth + 1);
        rlx_desc_expr_put_op(e, both ? RLX_EXPR_AND : RLX_EXPR_OR);
    } else if (way == 5) {
        rlx_desc_expr_put_op(e, RLX_EXPR_THEN);
        make_term(s, e, depth + 1);
        rlx_desc_expr_put_op(e, RLX_EXPR_OTHERWISE);
        make_term(s, e, depth + 1);
        rlx_desc_expr_put_op(e, RLX_EXPR_SELECT);
    } else {
        if (below(s, 4)) /* dividing and shifting go well */
            rlx_desc_expr_int(e, 1 + (int64_t)below(s, 4));
        else
            make_term(s, e, depth + 1);
        rlx_desc_expr_put_op(e, two[below(s, RLX_COUNT(two))]);
    }
}

static void make_descs(sample *s)
{
    kit *k = &s->kit;
    rlx_desc_writer d;
    for (uint32_t i = 0; i < EXPRS; i++) {
        rlx_desc_expr_writer e;
        rlx_desc_expr_begin(&e, &k->w);
        make_term(s, &e, 0);
        s->exprs[i] = rlx_desc_expr_end(&e);
    }
    int64_t dims[] = { kit_bind(k, 1, "m"), kit_bind(k, 2, "k") },
            like[] = { rlx_desc_dim_expr(s->exprs[0]), kit_sym(k, 1, "m") };
    rlx_desc_begin(&d, &k->w);
    rlx_desc_object(&d);
    s->descs[0] = rlx_desc_end(&d);
    rlx_desc_begin(&d, &k->w);
    rlx_desc_shape(&d, 2, dims);
    s->descs[1] = rlx_desc_end(&d);
    rlx_desc_begin(&d, &k->w);
    rlx_desc_tensor(&d, RELAX_FLOAT32, 2, like);
    s->descs[2] = rlx_desc_end(&d);
    rlx_desc_begin(&d, &k->w);
    rlx_desc_tuple(&d);
    rlx_desc_object(&d);
    rlx_desc_tensor_like(&d, RELAX_VOID, -1, 1);
    rlx_desc_close(&d);
    s->descs[3] = rlx_desc_end(&d);
    s->params = kit_objects(k, PARAMS);
}

static void make_kernels(sample *s)
{
    for (int i = 0; i < 2; i++) {
        rlx_buf bytes;
        rlx_buf_init(&bytes, &s->kit.memory);
        rk_generate(&s->kernel_code[i], &s->random, i == 0);
        rk_write(&s->kernel_code[i], &bytes);
        s->kernels[i] =
            rlx_file_writer_kernel(&s->kit.w, RLX_SLICE("random"), bytes.data, bytes.len);
        rlx_buf_free(&bytes);
    }
}

/* ---- code ----------------------------------------------------------------------------------- */

/* A register that holds something, preferably of that kind. */
static uint32_t pick(sample *s, enum kind kind)
{
    for (int tries = 0; tries < 40; tries++) {
        uint32_t r = below(s, REGS);
        if (s->regs[r] != UNSET && (s->regs[r] == kind || kind == ANY || tries > 30))
            return r;
    }
    return 0; /* register 0 is never emptied */
}

static uint32_t need(sample *s, enum kind kind);

static uint32_t pick_int(sample *s)
{
    switch (below(s, 4)) {
    case 0: return rlx_operand(RLX_OPERAND_SYMBOL, below(s, SYMS));
    case 1: return rlx_operand(RLX_OPERAND_EXPR, s->exprs[below(s, EXPRS)]);
    default: return rlx_operand_imm((int32_t)below(s, 12) - 1);
    }
}

static uint32_t pick_size(sample *s)
{
    return below(s, 6) ? rlx_operand_imm((int32_t)below(s, 5)) : pick_int(s);
}

static uint32_t pick_const(sample *s, enum kind kind, enum kind *found)
{
    uint32_t i = below(s, s->num_consts);
    for (int tries = 0; tries < 40 && kind != ANY && s->const_kinds[i] != kind; tries++)
        i = below(s, s->num_consts);
    *found = s->const_kinds[i];
    return s->consts[i];
}

static uint32_t pick_arg(sample *s, enum kind kind)
{
    enum kind found;
    if (below(s, 3))
        return pick(s, kind);
    return below(s, 2) ? rlx_operand(RLX_OPERAND_CONST, pick_const(s, kind, &found)) : pick_int(s);
}

/* A register that is written: not the one that is always there. */
static uint32_t target(sample *s) { return 1 + below(s, REGS - 1); }

static const relax_dtype some_dtypes[] = { RELAX_BOOL,   RELAX_INT8,    RELAX_INT64,
                                           RELAX_UINT16, RELAX_FLOAT16, RELAX_FLOAT32,
                                           RELAX_FLOAT64 };

static void emit(sample *s, enum rlx_opcode op, const uint32_t *fixed, const uint32_t *list,
                 size_t count)
{
    written[op]++;
    rlx_file_writer_emit(&s->kit.w, op, fixed, list, count);
}
#define PUT(op, ...) emit(s, op, (const uint32_t[]){ __VA_ARGS__ }, NULL, 0)
#define PUT_LIST(op, list, count, ...) emit(s, op, (const uint32_t[]){ __VA_ARGS__ }, list, count)

static void put_call(sample *s, enum rlx_opcode op, uint32_t d)
{
    uint32_t later = FUNCTIONS - 1 - s->function,
             to = later && below(s, 8) ? s->function + 1 + below(s, later) : below(s, FUNCTIONS);
    uint32_t list[8], count = PARAMS, callee = s->functions[to],
                      dropped = below(s, 8) ? d : RLX_NO_INDEX;
    for (uint32_t i = 0; i < RLX_COUNT(list); i++)
        list[i] = pick_arg(s, ANY);
    if (op == RLX_OP_TAIL_CALL) {
        PUT_LIST(op, list, count, callee, below(s, 2));
        return;
    }
    if (op == RLX_OP_CALL)
        PUT_LIST(op, list, count, dropped, callee, below(s, 2));
    else if (op == RLX_OP_CALL_VALUE)
        PUT_LIST(op, list, below(s, 8) ? PARAMS : below(s, 4), dropped, need(s, FUNCTION));
    else if (op == RLX_OP_CALL_VALUE_KNOWN)
        PUT_LIST(op, list, below(s, 8) ? PARAMS : below(s, 4), dropped, need(s, FUNCTION),
                 s->descs[below(s, RLX_COUNT(s->descs))]);
    else if (op == RLX_OP_TAIL_CALL_VALUE)
        PUT_LIST(op, list, below(s, 8) ? PARAMS : below(s, 4), dropped, need(s, FUNCTION),
                 s->descs[below(s, 3)]);
    else if (op == RLX_OP_CALL_PACKED)
        PUT_LIST(op, list, below(s, 5), dropped, s->packed[below(s, 2)]);
    if (dropped != RLX_NO_INDEX)
        s->regs[d] = ANY;
}

static void put_builtin(sample *s, uint32_t d)
{
    static const struct { enum kind args[2], result;
    } kinds[] = {
        { { TENSOR, ANY }, TENSOR },   { { TENSOR, TENSOR }, ANY },   { { TENSOR, ANY }, SHAPE },
        { { TENSOR, SHAPE }, TENSOR }, { { TENSOR, ANY }, SHAPE },    { { SHAPE, ANY }, TENSOR },
        { { SHAPE, ANY }, TENSOR },    { { ANY, ANY }, ANY },         { { BOOL, ANY }, ANY },
        { { INT, ANY }, TENSOR },      { { TENSOR, ANY }, ANY },      { { TUPLE, ANY }, INT },
        { { ANY, ANY }, TUPLE },       { { TENSOR, ANY }, TENSOR },   { { TENSOR, INT }, TENSOR },
        { { TENSOR, INT }, TENSOR },   { { TENSOR, INT }, ANY },      { { TENSOR, INT }, ANY },
        { { TENSOR, ANY }, TENSOR },   { { TENSOR, TENSOR }, TENSOR }, { { TENSOR, SHAPE }, TENSOR },
        { { TENSOR, ANY }, TENSOR },   { { TENSOR, ANY }, INT },      { { TENSOR, ANY }, INT },
        { { TENSOR, ANY }, INT },      { { TENSOR, ANY }, INT },      { { TENSOR, INT }, INT },
        { { TENSOR, INT }, INT },      { { TENSOR, ANY }, INT },      { { TENSOR, ANY }, INT },
        { { FUNCTION, ANY }, FUNCTION }, { { ANY, ANY }, ANY },       { { ANY, ANY }, ANY },
        { { ANY, ANY }, TUPLE },      { { TENSOR, TUPLE }, ANY },   { { TENSOR, INT }, ANY },
        { { TENSOR, TENSOR }, ANY },  { { TENSOR, TENSOR }, ANY },  { { TENSOR, TENSOR }, ANY }
    };
    _Static_assert(RLX_COUNT(kinds) == RLX_COUNT(builtin_rows), "a row for each builtin");
    static const uint32_t modelled[] = { 7, 11, 12 };
    uint32_t i = s->simple ? modelled[below(s, 3)] : s->turn++ % (uint32_t)RLX_COUNT(kinds);
    uint32_t least = (uint32_t)builtin_rows[i].min_args, most = (uint32_t)builtin_rows[i].max_args;
    if (most >= 3)
        most = least < 3 ? 3 : least;
    uint32_t count = least + below(s, most - least + 1);
    uint32_t list[16] = { pick_arg(s, kinds[i].args[0]), pick_arg(s, kinds[i].args[1]) };
    for (size_t k = 2; k < 16; k++)
        list[k] = pick_arg(s, i > 13 ? INT : ANY);
    if (i == 6 || i == 9) /* a dtype */
        list[1] = rlx_operand(RLX_OPERAND_CONST, s->consts[8]);
    if (i == 15 || i == 16 || i == 20)
        list[i == 15 ? 3 : i == 16 ? 5 : 2] = rlx_operand(RLX_OPERAND_CONST, s->consts[8]);
    builtins[i]++;
    PUT_LIST(RLX_OP_CALL_BUILTIN, list, count, d, s->first_builtin + i);
    s->regs[d] = kinds[i].result;
}

static void put_alloc(sample *s, enum rlx_opcode op, uint32_t d)
{
    uint32_t dims[3], count = below(s, 3),
                      dtype = (uint32_t)some_dtypes[below(s, RLX_COUNT(some_dtypes))];
    for (int i = 0; i < 3; i++)
        dims[i] = pick_size(s);
    if (op == RLX_OP_ALLOC_STORAGE)
        PUT(op, d, rlx_operand_imm(64));
    else if (op == RLX_OP_ALLOC_VIEW)
        PUT_LIST(op, dims, count, d, need(s, STORAGE), rlx_operand_imm((int32_t)below(s, 3) * 8),
                 dtype);
    else if (op == RLX_OP_ALLOC_TENSOR)
        PUT_LIST(op, dims, count, d, dtype);
    else if (op == RLX_OP_ALLOC_OVER)
        PUT_LIST(op, dims, count, d, need(s, TENSOR), below(s, 2), dtype);
    else
        PUT_LIST(op, dims, count, d, below(s, 2), dtype);
    s->regs[d] = op == RLX_OP_ALLOC_STORAGE ? STORAGE : TENSOR;
}

/* A register of that kind, made if there is none. */
static uint32_t need(sample *s, enum kind kind)
{
    uint32_t r = pick(s, kind), d = target(s), size = rlx_operand_imm(3),
             two[] = { rlx_operand_imm(2), size };
    if (kind == ANY || s->regs[r] == kind || below(s, 16) == 0)
        return r;
    switch (kind) {
    case BOOL: PUT(RLX_OP_PRIM, d, RELAX_BOOL, pick_int(s)); break;
    case SHAPE: PUT_LIST(RLX_OP_SHAPE, two, 2, d); break;
    case TUPLE: PUT_LIST(RLX_OP_TUPLE, two, 2, d); break;
    case TENSOR: PUT_LIST(RLX_OP_ALLOC_TENSOR, &size, 1, d, RELAX_FLOAT32); break;
    case STORAGE: PUT(RLX_OP_ALLOC_STORAGE, d, rlx_operand_imm(64)); break;
    case FUNCTION: PUT(RLX_OP_CONST, d, s->consts[10 + below(s, FUNCTIONS)]); break;
    default: return r;
    }
    s->regs[d] = kind;
    return d;
}

/* Four tensors as the kernels want them, then the kernel; scalars_only of kernel 0 is compared
 * in another test. */
static void put_kernel(sample *s, uint32_t d)
{
    uint32_t args[RK_PARAMS], size = rlx_operand_imm(RK_SIZE);
    for (uint32_t i = 0; i < RK_PARAMS; i++) {
        args[i] = 1 + (d + i) % (REGS - 1);
        PUT_LIST(RLX_OP_ALLOC_TENSOR, &size, 1, args[i], (uint32_t)rk_param_dtypes[i]);
        s->regs[args[i]] = TENSOR;
    }
    PUT_LIST(RLX_OP_CALL_KERNEL, args, RK_PARAMS, s->kernels[below(s, 2)]);
}

static void put_plain(sample *s)
{
    static const enum rlx_opcode modelled[] = { RLX_OP_MOVE,  RLX_OP_TAKE,  RLX_OP_KILL,
                                                RLX_OP_CONST, RLX_OP_PRIM,  RLX_OP_SHAPE,
                                                RLX_OP_SYMBOL, RLX_OP_TUPLE, RLX_OP_GET,
                                                RLX_OP_MATCH, RLX_OP_CALL,  RLX_OP_CALL_BUILTIN },
                                 others[] = { RLX_OP_TAKE_FIELD, RLX_OP_ALLOC_STORAGE, RLX_OP_ALLOC_VIEW,
                                              RLX_OP_ALLOC_TENSOR,  RLX_OP_ALLOC_RESULT, RLX_OP_ALLOC_OVER,
                                              RLX_OP_CALL_KERNEL,   RLX_OP_CALL_PACKED,
                                              RLX_OP_CALL_VALUE,    RLX_OP_TAIL_CALL_VALUE,
                                              RLX_OP_CALL_VALUE_KNOWN, RLX_OP_CALL_LATE };
    enum { MODELLED = RLX_COUNT(modelled), ALL = MODELLED + RLX_COUNT(others) };
    uint32_t way = below(s, s->simple ? MODELLED : ALL);
    enum rlx_opcode op = way < MODELLED ? modelled[way] : others[way - MODELLED];
    uint32_t d = target(s), r = pick(s, ANY), list[4];
    enum kind kind = ANY;
    switch (op) {
    case RLX_OP_MOVE:
        PUT(op, d, r);
        s->regs[d] = s->regs[r];
        break;
    case RLX_OP_TAKE:
        if (r == 0)
            break;
        PUT(op, d, r);
        kind = s->regs[r];
        s->regs[r] = UNSET;
        s->regs[d] = kind;
        break;
    case RLX_OP_KILL:
        if (r == 0)
            break;
        PUT_LIST(op, &r, 1, 0);
        s->regs[r] = UNSET;
        break;
    case RLX_OP_CONST:
        r = pick_const(s, (enum kind)(1 + below(s, KINDS - 1)), &kind);
        PUT(op, d, r);
        s->regs[d] = kind;
        break;
    case RLX_OP_PRIM: {
        bool truth = below(s, 2);
        PUT(op, d, truth ? RELAX_BOOL : RELAX_INT64, pick_int(s));
        s->regs[d] = truth ? BOOL : INT;
        break;
    }
    case RLX_OP_SHAPE:
        for (int i = 0; i < 4; i++)
            list[i] = pick_int(s);
        PUT_LIST(op, list, below(s, 8) ? 2 : below(s, 5), d);
        s->regs[d] = SHAPE;
        break;
    case RLX_OP_SYMBOL: PUT(op, below(s, SYMS), pick_int(s)); break;
    case RLX_OP_TUPLE:
        for (int i = 0; i < 4; i++)
            list[i] = pick_arg(s, ANY);
        PUT_LIST(op, list, below(s, 8) ? 2 + below(s, 3) : below(s, 2), d);
        s->regs[d] = TUPLE;
        break;
    case RLX_OP_GET:
    case RLX_OP_TAKE_FIELD:
        PUT(op, d, need(s, TUPLE), below(s, below(s, 8) ? 2 : 5));
        s->regs[d] = ANY;
        break;
    case RLX_OP_MATCH: {
        static const enum kind kinds[] = { ANY, SHAPE, TENSOR, TUPLE };
        uint32_t i = below(s, s->simple ? 2 : 4);
        PUT(op, need(s, kinds[i]), s->descs[i], below(s, RLX_MATCH_FLAVOURS),
            below(s, 2) ? RLX_NO_INDEX : s->names[0]);
        break;
    }
    case RLX_OP_CALL:
    case RLX_OP_CALL_PACKED:
    case RLX_OP_CALL_VALUE:
    case RLX_OP_CALL_VALUE_KNOWN:
    case RLX_OP_TAIL_CALL_VALUE: put_call(s, op, d); break;
    case RLX_OP_CALL_BUILTIN: put_builtin(s, d); break;
    case RLX_OP_CALL_LATE:
        list[0] = pick_arg(s, below(s, 4) ? TENSOR : ANY);
        PUT_LIST(op, list, 1, d, s->late, below(s, 2) ? RLX_NO_INDEX : s->names[0], below(s, 8) != 0);
        s->regs[d] = ANY;
        break;
    case RLX_OP_CALL_KERNEL: put_kernel(s, d); break;
    default: put_alloc(s, op, d); break;
    }
}

static void put_block(sample *s, uint32_t count);

/* What holds on both ways. */
static void merge(sample *s, const enum kind *other)
{
    for (int r = 0; r < REGS; r++)
        s->regs[r] = other[r] == UNSET        ? UNSET
                     : s->regs[r] == other[r] ? other[r]
                     : s->regs[r] == UNSET    ? UNSET
                                              : ANY;
}

static void put_if(sample *s)
{
    enum kind before[REGS], yes[REGS];
    rlx_file_writer *w = &s->kit.w;
    uint32_t cond = need(s, BOOL), branch = rlx_file_writer_here(w);
    PUT(RLX_OP_BRANCH, cond, 0);
    memcpy(before, s->regs, sizeof before);
    put_block(s, 1 + below(s, 3));
    memcpy(yes, s->regs, sizeof yes);
    uint32_t jump = rlx_file_writer_here(w);
    PUT(RLX_OP_JUMP, 0);
    rlx_file_writer_patch(w, branch, rlx_file_writer_here(w));
    memcpy(s->regs, before, sizeof before);
    put_block(s, below(s, 3));
    rlx_file_writer_patch(w, jump, rlx_file_writer_here(w));
    merge(s, yes);
}

/* Symbol 3 counts; whatever the loop uses must be there when it begins again, so the body only
 * adds. */
static void put_loop(sample *s)
{
    rlx_file_writer *w = &s->kit.w;
    rlx_desc_expr_writer e;
    uint32_t step, cond;
    rlx_desc_expr_begin(&e, w);
    rlx_desc_expr_symbol(&e, 3, RLX_SLICE("i"));
    rlx_desc_expr_int(&e, 1);
    rlx_desc_expr_put_op(&e, RLX_EXPR_SUB);
    step = rlx_operand(RLX_OPERAND_EXPR, rlx_desc_expr_end(&e));
    rlx_desc_expr_begin(&e, w);
    rlx_desc_expr_symbol(&e, 3, RLX_SLICE("i"));
    rlx_desc_expr_int(&e, 0);
    rlx_desc_expr_put_op(&e, RLX_EXPR_LE);
    cond = rlx_operand(RLX_OPERAND_EXPR, rlx_desc_expr_end(&e));
    PUT(RLX_OP_SYMBOL, 3, rlx_operand_imm((int32_t)below(s, 4)));
    PUT(RLX_OP_CONST, 1, s->consts[2]);
    PUT(RLX_OP_CONST, 2, s->consts[5]);
    uint32_t begin = rlx_file_writer_here(w), list[] = { 1, 2 };
    PUT_LIST(RLX_OP_TUPLE, list, 2, 2);
    PUT_LIST(RLX_OP_SHAPE, (const uint32_t[]){ step }, 1, 1);
    PUT(RLX_OP_SYMBOL, 3, step);
    PUT(RLX_OP_PRIM, 3, RELAX_BOOL, cond);
    uint32_t branch = rlx_file_writer_here(w);
    PUT(RLX_OP_BRANCH, 3, 0);
    rlx_file_writer_patch(w, branch, begin);
    s->regs[1] = SHAPE;
    s->regs[2] = TUPLE;
    s->regs[3] = BOOL;
}

static void put_block(sample *s, uint32_t count)
{
    s->depth++;
    for (; count; count--) {
        uint32_t way = below(s, 10);
        if (way == 0 && s->depth < 4)
            put_if(s);
        else if (way == 1)
            put_loop(s);
        else
            put_plain(s);
    }
    s->depth--;
}

static void make_function(sample *s, uint32_t number)
{
    kit *k = &s->kit;
    char name[8];
    uint32_t code = rlx_file_writer_here(&k->w);
    snprintf(name, sizeof name, "f%u", number);
    s->function = number;
    memset(s->regs, 0, sizeof s->regs);
    s->regs[0] = s->regs[1] = number ? ANY : INT;
    if (below(s, 2))
        rlx_file_writer_place(&k->w, s->names[0], s->names[1], 1 + number, 1);
    put_block(s, 2 + below(s, 7));
    if (below(s, 6) == 0)
        put_call(s, RLX_OP_TAIL_CALL, 0);
    else
        PUT(RLX_OP_RETURN, pick(s, ANY));
    kit_function(k, s->functions[number], name, code, s->params, PARAMS, REGS, SYMS);
}

static void generate(sample *s, uint64_t seed, bool simple)
{
    memset(s, 0, sizeof *s);
    s->random.state = seed * 0x9e3779b97f4a7c15u + 1;
    s->simple = simple;
    s->turn = (uint32_t)(seed / 2);
    kit_begin(&s->kit);
    rlx_file_writer *w = &s->kit.w;
    s->names[0] = rlx_file_writer_name(w, RLX_SLICE("lv"));
    s->names[1] = rlx_file_writer_name(w, RLX_SLICE("m.py"));
    s->packed[0] = rlx_file_writer_packed(w, RLX_SLICE("test.echo"));
    s->packed[1] = rlx_file_writer_packed(w, RLX_SLICE("test.refuse"));
    for (size_t i = 0; i < RLX_COUNT(builtin_rows); i++) {
        uint32_t n = rlx_file_writer_packed(w, rlx_slice_z(builtin_rows[i].name));
        s->first_builtin = i ? s->first_builtin : n;
    }
    for (int f = 0; f < FUNCTIONS; f++)
        s->functions[f] = rlx_file_writer_function(w);
    make_constants(s);
    make_descs(s);
    make_kernels(s);
    for (uint32_t f = 0; f < FUNCTIONS; f++)
        make_function(s, f);
}

#endif
