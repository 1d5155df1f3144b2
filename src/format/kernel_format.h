/*- kernel_format.h: layout of a kernel's bytes, shared by writer, loader and disassembler.
 *
 *   header | parameters | buffers | registers | constants | code | names | data
 *
 *   header     10 x u32: magic, version, total bytes, then the counts of the parts in their order
 *   parameter  u8 kind, u8 0, u16 buffer or register, u32 dtype
 *   buffer     u32 dtype, u8 kind, u8 rank, u16 same, u32 name, u32 data offset,
 *              u64 elements (of constants)
 *              same: of a parameter that is only read, 1 + the parameter's buffer that may be the
 *              same memory or begin as it, as its elements are written when those of this one have been read; else 0
 *   register   u8: class | RLX_KERNEL_STRIP_REG | RLX_KERNEL_VIEW_REG | RLX_KERNEL_BYTE_REG
 *   constant   u64: bits of scalar register 0, 1, ... in this order
 *   code       u16 words (kernel_opcode.def)
 *   names      NUL-terminated texts; the kernel's own name is at 0
 *   data       elements of constant buffers
 *
 * All little-endian, each part padded to 8 bytes.
 */
#ifndef RLX_FORMAT_KERNEL_FORMAT_H
#define RLX_FORMAT_KERNEL_FORMAT_H

#include "base/compiler.h"

#define RLX_KERNEL_MAGIC 0x314b5852u /* "RXK1" */
#define RLX_KERNEL_VERSION 8u
#define RLX_KERNEL_STRIP 512         /* most elements of a strip; loaders may give kernels of few strips longer ones */
#define RLX_KERNEL_NONE 0xffffu      /* no mask */
/* Picoseconds of work from which on a loop is shared out: among threads that are awake, and so that one is woken up. */
#define RLX_KERNEL_LEAST_SHARED ((int64_t)10000000)
#define RLX_KERNEL_LEAST_WAKING ((int64_t)30000000)
#define RLX_KERNEL_MAX_PARAMS 4096u
#define RLX_KERNEL_MAX_BUFFERS 60000u
#define RLX_KERNEL_MAX_REGS 60000u
#define RLX_KERNEL_MAX_FRAME ((size_t)16 << 20)
#define RLX_KERNEL_MAX_WORDS (1u << 24)

enum rlx_kernel_class {
    RLX_CLASS_I32, RLX_CLASS_I64, RLX_CLASS_F32, RLX_CLASS_F64, RLX_CLASS_COUNT
};
/* BYTE beside VIEW, of class I32: a view of bools, which the instructions for them have as operands. */
enum { RLX_KERNEL_CLASS_MASK = 3, RLX_KERNEL_STRIP_REG = 4, RLX_KERNEL_VIEW_REG = 8, RLX_KERNEL_BYTE_REG = 16 };
enum rlx_kernel_param_kind { RLX_KERNEL_PARAM_BUFFER, RLX_KERNEL_PARAM_SCALAR };
enum rlx_kernel_buffer_kind {
    RLX_KERNEL_BUFFER_PARAM, RLX_KERNEL_BUFFER_TEMP, RLX_KERNEL_BUFFER_CONST
};
enum rlx_kernel_reduce {
    RLX_KERNEL_REDUCE_ADD,
    RLX_KERNEL_REDUCE_MUL,
    RLX_KERNEL_REDUCE_MIN,
    RLX_KERNEL_REDUCE_MAX,
    RLX_KERNEL_REDUCE_COUNT
};
/* What MAP makes of a and b. */
enum rlx_kernel_map {
    RLX_KERNEL_MAP_ADD,
    RLX_KERNEL_MAP_SUB,
    RLX_KERNEL_MAP_MUL,
    RLX_KERNEL_MAP_DIV,
    RLX_KERNEL_MAP_EXP_SUB,   /* exp(a - b) */
    RLX_KERNEL_MAP_RECIPROCAL, /* 1 / b */
    RLX_KERNEL_MAP_LOG,       /* log(b) */
    RLX_KERNEL_MAP_COUNT
};
/* Bits of the number of CONTRACT. */
enum {
    RLX_KERNEL_EXACT = 1,        /* products are not rounded */
    RLX_KERNEL_FROM_ZERO = 2     /* sums begin with +0, whatever is there */
};
/* A bit beside the dimension of PLACE_EACH. */
enum { RLX_KERNEL_FROM_END = 256 };
/* A bit beside the lanes of a panel: PACK in fours. */
enum { RLX_KERNEL_FOURS = 64 };
/* What PARTIAL sums up, of elements a and b. */
enum rlx_kernel_value {
    RLX_KERNEL_VALUE_ELEMENT,    /* a */
    RLX_KERNEL_VALUE_SQUARE,     /* (a - b) * (a - b) */
    RLX_KERNEL_VALUE_OWN_SQUARE, /* a * a */
    RLX_KERNEL_VALUE_COUNT,
    RLX_KERNEL_PARTIAL_FROM_ZERO = 4 /* a bit beside it: the result begins with +0, whatever is there */
};
/* Sides of NORMALIZE: Y, X, M, R, G, B, A. Bits of its number: which of the last five there are, and whether there are bounds. */
enum { RLX_NORMALIZE_SIDES = 7, RLX_NORMALIZE_BOUNDED = 32, RLX_NORMALIZE_BITS = 63 };
/* Why a value instruction stopped. */
enum rlx_kernel_trouble {
    RLX_TROUBLE_NONE, RLX_TROUBLE_DIVISION, RLX_TROUBLE_SHIFT, RLX_TROUBLE_EXPONENT
};

/* Positions of the counts in the header. */
enum {
    RLX_KERNEL_PARAMS,
    RLX_KERNEL_BUFFERS,
    RLX_KERNEL_REGS,
    RLX_KERNEL_CONSTS,
    RLX_KERNEL_CODE,
    RLX_KERNEL_NAMES,
    RLX_KERNEL_DATA, RLX_KERNEL_PARTS
};
#define RLX_KERNEL_HEADER_BYTES ((size_t)40)
#define RLX_KERNEL_PART_ITEM { 8, 24, 1, 8, 2, 1, 1 } /* bytes of one item of each part */

enum rlx_kernel_op {
#define OP(name, text, operands) RLX_K_##name,
#define VALUE(name, text, operands) RLX_K_##name,
#include "format/kernel_opcode.def"
    RLX_K_COUNT,
    RLX_K_FIRST_VALUE = RLX_K_MOVE_I32
};
typedef struct rlx_kernel_op_row { const char *text, *operands; } rlx_kernel_op_row;
/* Element type of a buffer in memory (dtype.def), and the class it computes in. */
enum rlx_kernel_elem {
#define INTEGER(name, elem, ...) RLX_ELEM_##elem,
#define NARROW(name, elem, ...) RLX_ELEM_##elem,
#define REAL(name, elem, ...) RLX_ELEM_##elem,
#include "base/dtype.def"
    RLX_ELEM_COUNT
};
typedef struct rlx_kernel_elem_row { int32_t dtype; uint8_t bytes, klass; } rlx_kernel_elem_row;
extern const rlx_kernel_elem_row rlx_kernel_elems[RLX_ELEM_COUNT];
extern const rlx_kernel_op_row rlx_kernel_ops[RLX_K_COUNT];
/* RLX_ELEM_COUNT: kernels do not compute with it. */
enum rlx_kernel_elem rlx_kernel_elem_of(int32_t dtype);
/* Can COPY and PACK make elements `dst` of elements `src`? They are alike, or of less bits and the same
 * kind: narrow floats in float32, integers of 8 and 16 bits in int32. Bools become nothing else, and are in no panels. */
bool rlx_kernel_copies(enum rlx_kernel_elem dst, enum rlx_kernel_elem src);
/* Does CONTRACT sum up products of such elements in int32? */
RLX_INLINE bool rlx_kernel_is_byte(enum rlx_kernel_elem e) { return e == RLX_ELEM_I8 || e == RLX_ELEM_U8; }
/* Words of an instruction, opcode included. */
unsigned rlx_kernel_op_words(unsigned op);

RLX_INLINE uint16_t rlx_get_u16(const uint8_t *p) { return (uint16_t)(p[0] | p[1] << 8); }
RLX_INLINE uint32_t rlx_get_u32(const uint8_t *p)
{
    return (uint32_t)rlx_get_u16(p) | (uint32_t)rlx_get_u16(p + 2) << 16;
}
RLX_INLINE uint64_t rlx_get_u64(const uint8_t *p)
{
    return (uint64_t)rlx_get_u32(p) | (uint64_t)rlx_get_u32(p + 4) << 32;
}

#endif
