/* cgen.h: kernels as C. */
#ifndef RLX_CODEGEN_C_WRITER_H
#define RLX_CODEGEN_C_WRITER_H

#include "format/native_abi.h"
#include "ir/ir.h"

/* Names that the kernel writer had for registers: for readers only. */
typedef struct rlx_kernel_hint { uint32_t reg; const rlx_string *name; } rlx_kernel_hint;
typedef struct rlx_kernel_hints { rlx_kernel_hint *data; size_t len, cap; } rlx_kernel_hints;

/* A kernel as the kernel writer wrote it. */
typedef struct rlx_c_kernel {
    rlx_slice name, bytes;
    const rlx_kernel_hint *hints; size_t num_hints;
} rlx_c_kernel;

/* Appends one translation unit of C99: prelude, a function per kernel, the table of them.
 * `unchecked`: no checks of indices. include: a header to name instead of its text; NULL: none.
 * key: what its table is known by. False: out of memory (reported). */
bool rlx_c_write(rlx_context *ctx, const rlx_c_kernel *kernels, size_t count, bool unchecked,
                 const char *include, rlx_buf *out, char key[RLX_NATIVE_KEY + 1]);
/* Appends the header that says how kernels are called. */
void rlx_c_header(rlx_buf *out);

#endif
