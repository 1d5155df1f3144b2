/*- value_tags.h: cells (relax/value.h) as the run side uses them.
 *
 * Inside a VM frame, and only there, `reserved` of a cell says who keeps a boxed value alive:
 *
 *   RLX_HELD_BY_RUN     the caller of the VM or the executable: at least until the whole call ends
 *   RLX_HELD_BY_FRAME   this cell: one reference, dropped when it is overwritten or killed, or
 *                       when the frame ends
 *   RLX_HELD_BY_PARENT  a cell of the calling frame: until this frame returns
 *
 * Cells that leave the frame (arguments of packed functions, results) have 0 there.
 */
#ifndef RLX_FORMAT_VALUE_TAGS_H
#define RLX_FORMAT_VALUE_TAGS_H

#include <relax/dlpack.h>
#include <relax/value.h>
#include <string.h>
#include "base/base.h"

enum { RLX_HELD_BY_RUN = 0, RLX_HELD_BY_FRAME = 1, RLX_HELD_BY_PARENT = 2 };

#define RLX_TAG_BOXED 64 /* this and above: v.p is a counted object */

RLX_INLINE bool rlx_value_is_boxed(const relax_value *v) { return v->type_index >= RLX_TAG_BOXED; }
RLX_INLINE relax_value rlx_value_none(void) { return (relax_value){ 0, 0, { 0 } }; }
RLX_INLINE relax_value rlx_value_int(int64_t i)
{
    return (relax_value){ RELAX_VALUE_INT, 0, { .i = i } };
}
RLX_INLINE relax_value rlx_value_bool(bool b)
{
    return (relax_value){ RELAX_VALUE_BOOL, 0, { .i = b } };
}
RLX_INLINE relax_value rlx_value_float(double f)
{
    return (relax_value){ RELAX_VALUE_FLOAT, 0, { .f = f } };
}
RLX_INLINE relax_value rlx_value_object(int32_t tag, void *p)
{
    return (relax_value){ tag, 0, { .p = p } };
}

/* In memory and at every boundary a DLTensor of bools has DLPack's code 6 with 8 bits;
 * everywhere else bool is RELAX_BOOL. These two are the only places that know. UInt(1) in a
 * DLTensor is read as bool too. */
#define RLX_DL_BOOL 6
RLX_INLINE rlx_dtype rlx_dl_dtype(const DLTensor *t)
{
    rlx_dtype d = rlx_dtype_make(t->dtype.code, t->dtype.bits, t->dtype.lanes);
    if (RLX_UNLIKELY(t->dtype.code == RLX_DL_BOOL && t->dtype.bits == 8))
        return rlx_dtype_make(RELAX_DTYPE_UINT, 1, t->dtype.lanes);
    return d;
}
RLX_INLINE DLDataType rlx_dl_from_dtype(rlx_dtype d)
{
    if (rlx_dtype_is_bool(d))
        return (DLDataType){ RLX_DL_BOOL, 8, (uint16_t)rlx_dtype_lanes(d) };
    return (DLDataType){ (uint8_t)rlx_dtype_code(d), (uint8_t)rlx_dtype_bits(d),
                         (uint16_t)rlx_dtype_lanes(d) };
}

/* Rank and dtype of a DLTensor as one word: `ndim` and `dtype` lie side by side in the struct. */
RLX_INLINE uint64_t rlx_dl_key(const DLTensor *t)
{
    uint64_t key;
    memcpy(&key, &t->ndim, sizeof key);
    return key;
}
RLX_INLINE uint64_t rlx_dl_key_make(int32_t ndim, rlx_dtype d)
{
    DLDataType dl = rlx_dl_from_dtype(d);
    return (uint32_t)ndim | (uint64_t)dl.code << 32 | (uint64_t)dl.bits << 40 |
           (uint64_t)dl.lanes << 48;
}

#endif
