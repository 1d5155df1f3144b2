/* opcode.h: VM instructions. The table is opcode.def. */
#ifndef RLX_FORMAT_OPCODE_H
#define RLX_FORMAT_OPCODE_H

#include "base/compiler.h"

enum rlx_opcode {
#define OP(name, text, layout, help) RLX_OP_##name,
#include "format/opcode.def"
#undef OP
    RLX_OPCODE_COUNT
};

typedef struct rlx_opcode_row { const char *text, *layout, *help; } rlx_opcode_row;
/* NULL if there is no such opcode. */
const rlx_opcode_row *rlx_opcode_info(uint32_t opcode);

#define RLX_NO_INDEX 0xffffffffu
#define RLX_MAX_OPERANDS 0xffffu   /* in the list at the end of an instruction */
#define RLX_MAX_REGISTERS (1u << 24)
#define RLX_MAX_SYMBOLS (1u << 24)
#define RLX_MAX_RANK 64

/* Word of an instruction that says how far it jumps; 0: it does not. No list stands before it. */
uint32_t rlx_opcode_jump(uint32_t opcode);

RLX_INLINE uint32_t rlx_ins_header(enum rlx_opcode op, uint32_t count)
{
    return (uint32_t)op | count << 16;
}
RLX_INLINE uint32_t rlx_ins_opcode(uint32_t header) { return header & 0xff; }
RLX_INLINE uint32_t rlx_ins_count(uint32_t header) { return header >> 16; }

/* Tagged operands: kind in the top 3 bits, index or small number in the other 29.
 * Integer operands (x) are SYMBOL, IMM or EXPR; arguments (a) any. */
enum rlx_operand_kind {
    RLX_OPERAND_REGISTER = 0, /* the value */
    RLX_OPERAND_CONST = 1,    /* constant of the file */
    RLX_OPERAND_SYMBOL = 2,   /* symbol slot, as an int */
    RLX_OPERAND_IMM = 3,      /* -2^28 .. 2^28 - 1, as an int */
    RLX_OPERAND_EXPR = 4      /* expression: word offset in DESCS, as an int */
};
#define RLX_OPERAND_MAX ((1u << 29) - 1)
RLX_INLINE uint32_t rlx_operand(enum rlx_operand_kind kind, uint32_t index)
{
    return (uint32_t)kind << 29 | index;
}
RLX_INLINE uint32_t rlx_operand_imm(int32_t value)
{
    return (uint32_t)RLX_OPERAND_IMM << 29 | ((uint32_t)value & RLX_OPERAND_MAX);
}
RLX_INLINE uint32_t rlx_operand_kind_of(uint32_t x) { return x >> 29; }
RLX_INLINE uint32_t rlx_operand_index(uint32_t x) { return x & RLX_OPERAND_MAX; }
RLX_INLINE int32_t rlx_operand_value(uint32_t x) { return (int32_t)(x << 3) >> 3; }

/* z of CALL and TAIL_CALL. */
enum {
    RLX_CALL_PROVED =
        1 /* the compiler proved that the arguments fit: sizes are bound, nothing is compared */
};
/* z of MATCH: which failure it is. */
enum rlx_match_flavour {
    RLX_MATCH_CAST = 0,   /* RT06 "match_cast of n: ..." */
    RLX_MATCH_ASSUME = 1, /* RT06 "n: ...": a stated result that could not be proved */
    RLX_MATCH_SIZES = 2,  /* RT05: sizes that an operator demands */
    RLX_MATCH_FLAVOURS
};

#endif
