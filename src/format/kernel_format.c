/* kernel_format.c: the tables of kernel instructions and element types. */
#include "format/kernel_format.h"
#include <relax/common.h>

const rlx_kernel_op_row rlx_kernel_ops[RLX_K_COUNT] = {
#define OP(name, text, operands) [RLX_K_##name] = { text, operands },
#define VALUE(name, text, operands) [RLX_K_##name] = { text, operands },
#include "format/kernel_opcode.def"
};

const rlx_kernel_elem_row rlx_kernel_elems[RLX_ELEM_COUNT] = {
    [RLX_ELEM_BOOL] = { RELAX_BOOL, 1, RLX_CLASS_I32 },
    [RLX_ELEM_I8] = { RELAX_INT8, 1, RLX_CLASS_I32 },
    [RLX_ELEM_U8] = { RELAX_UINT8, 1, RLX_CLASS_I32 },
    [RLX_ELEM_I16] = { RELAX_INT16, 2, RLX_CLASS_I32 },
    [RLX_ELEM_U16] = { RELAX_UINT16, 2, RLX_CLASS_I32 },
    [RLX_ELEM_I32] = { RELAX_INT32, 4, RLX_CLASS_I32 },
    [RLX_ELEM_U32] = { RELAX_UINT32, 4, RLX_CLASS_I64 },
    [RLX_ELEM_I64] = { RELAX_INT64, 8, RLX_CLASS_I64 },
    [RLX_ELEM_U64] = { RELAX_UINT64, 8, RLX_CLASS_I64 },
    [RLX_ELEM_F16] = { RELAX_FLOAT16, 2, RLX_CLASS_F32 },
    [RLX_ELEM_BF16] = { RELAX_BFLOAT16, 2, RLX_CLASS_F32 },
    [RLX_ELEM_F32] = { RELAX_FLOAT32, 4, RLX_CLASS_F32 },
    [RLX_ELEM_F64] = { RELAX_FLOAT64, 8, RLX_CLASS_F64 },
};

enum rlx_kernel_elem rlx_kernel_elem_of(int32_t dtype)
{
    for (int e = 0; e < RLX_ELEM_COUNT; e++)
        if (rlx_kernel_elems[e].dtype == dtype)
            return (enum rlx_kernel_elem)e;
    return RLX_ELEM_COUNT;
}

unsigned rlx_kernel_op_words(unsigned op)
{
    unsigned words = 1;
    for (const char *p = rlx_kernel_ops[op].operands; *p; p++)
        words += *p == 'j' ? 2 : 1;
    return words;
}
