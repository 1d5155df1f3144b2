/* kernel_format.c: the tables of kernel instructions and element types. */
#include "format/kernel_format.h"
#include <relax/common.h>

const rlx_kernel_op_row rlx_kernel_ops[RLX_K_COUNT] = {
#define OP(name, text, operands) [RLX_K_##name] = { text, operands },
#define VALUE(name, text, operands) [RLX_K_##name] = { text, operands },
#include "format/kernel_opcode.def"
};

const rlx_kernel_elem_row rlx_kernel_elems[RLX_ELEM_COUNT] = {
#define INTEGER(name, elem, text, code, bits, klass, C, npy) \
    [RLX_ELEM_##elem] = { RELAX_##name, sizeof(C), RLX_CLASS_##klass },
#define NARROW(name, elem, text, code, bits, C, ...) \
    [RLX_ELEM_##elem] = { RELAX_##name, sizeof(C), RLX_CLASS_F32 },
#define REAL(name, elem, text, code, bits, klass, C, ...) \
    [RLX_ELEM_##elem] = { RELAX_##name, sizeof(C), RLX_CLASS_##klass },
#include "base/dtype.def"
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

bool rlx_kernel_copies(enum rlx_kernel_elem dst, enum rlx_kernel_elem src)
{
    if (dst == RLX_ELEM_COUNT || src == RLX_ELEM_COUNT || (src == RLX_ELEM_BOOL && dst != src))
        return false;
    const rlx_kernel_elem_row *d = &rlx_kernel_elems[dst], *s = &rlx_kernel_elems[src];
    bool wide = dst == RLX_ELEM_F32 || dst == RLX_ELEM_I32;
    return dst == src || (wide && s->klass == d->klass && s->bytes < d->bytes);
}
