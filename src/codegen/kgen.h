/* kgen.h: a PrimFunc as kernel bytecode (format/kernel_format.h). */
#ifndef RLX_KGEN_H
#define RLX_KGEN_H

#include "ir/ir.h"

/* Names that the kernel writer had for registers: for readers only. */
typedef struct rlx_kernel_hint { uint32_t reg; const rlx_string *name; } rlx_kernel_hint;
typedef struct rlx_kernel_hints { rlx_kernel_hint *data; size_t len, cap; } rlx_kernel_hints;

/* Lowers the blocks of `f`, chooses vector strips and fused reductions, and appends the kernel's
 * bytes to `out`. False with CG diagnostics for what kernels cannot do, or when out of memory.
 * Nothing of `f` is changed. hints (NULL: not asked for): the names of its registers, for readers
 * of what is made of the bytes; the caller frees them. */
bool rlx_kernel_write(rlx_context *ctx, const rlx_prim_func *f, rlx_slice name, rlx_buf *out,
                      rlx_kernel_hints *hints);

#endif
