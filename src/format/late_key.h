/*- late_key.h: signatures of operators that are bound late, as words: what a VM makes of the operands
 * that it meets (vm/late.c), and what was compiled ahead for them (section LATE).
 *
 *     program         number of the constant that is its text | DETAILED
 *     each operand    a tensor: rlx_dl_key; if it is one of several operands, of which the first is a
 *                     tensor: two bits for each size, from the last one on (rlx_late_size_is)
 *                     anything else: kind << 40 | number
 *                     of a tuple: the words of its fields behind it
 *
 * DETAILED: sizes of tensors and shapes follow the word of each, and there are no bits.
 * The section: for each signature | words | word ... | bytes | a compiled file, zeros up to 8 |. */
#ifndef RLX_FORMAT_LATE_KEY_H
#define RLX_FORMAT_LATE_KEY_H

#include <relax/dlpack.h>
#include "base/compiler.h"

#define RLX_LATE_DETAILED ((uint64_t)1 << 32)

/* Words that are no tensors: these have no lanes, which are the upper 16 bits of a tensor's. */
enum rlx_late_kind { RLX_LATE_SHAPE = 1, RLX_LATE_TUPLE, RLX_LATE_SCALAR, RLX_LATE_OTHER };
RLX_INLINE uint64_t rlx_late_word(enum rlx_late_kind kind, uint64_t n)
{
    return (uint64_t)kind << 40 | (uint32_t)n;
}

/* What is told of a size of a tensor, when the sizes themselves are not: is it 1, or that of the first
 * operand at the same place, counted from the end? */
enum rlx_late_size_is { RLX_LATE_SIZE_ANY, RLX_LATE_SIZE_ONE, RLX_LATE_SIZE_FIRST };
RLX_INLINE enum rlx_late_size_is rlx_late_size(const DLTensor *first, const DLTensor *t, bool is_first,
                                             int32_t i)
{
    int32_t at = i + first->ndim - t->ndim;
    if (i + 32 < t->ndim)
        return RLX_LATE_SIZE_ANY; /* the word is full */
    return t->shape[i] == 1                                           ? RLX_LATE_SIZE_ONE
           : !is_first && at >= 0 && first->shape[at] == t->shape[i] ? RLX_LATE_SIZE_FIRST
                                                                      : RLX_LATE_SIZE_ANY;
}

#endif
