/* cgen.h: kernel bytecode as C. */
#ifndef RLX_CGEN_H
#define RLX_CGEN_H

#include "codegen/kgen.h"
#include "format/native_abi.h"
#include "ir/ir.h"

/* A kernel as the kernel writer wrote it. left_from: calls where buffer `left` has so many elements are left to the bytecode; 0: none. */
typedef struct rlx_c_kernel {
    rlx_slice name, bytes;
    const rlx_kernel_hint *hints; size_t num_hints;
    uint32_t left;
    int64_t left_from;
} rlx_c_kernel;

/* Chooses which calls are left to the bytecode, as they are faster there. */
void rlx_c_choose(rlx_c_kernel *kernel);

/* Appends one translation unit of C99: prelude, a function per kernel, the table of them.
 * `unchecked`: no checks of indices. include: a header to name instead of its text; NULL: none.
 * key: what its table is known by. False: out of memory (reported). */
bool rlx_c_write(rlx_context *ctx, const rlx_c_kernel *kernels, size_t count, bool unchecked,
                 const char *include, rlx_buf *out, char key[RLX_NATIVE_KEY + 1]);
/* Appends the header that says how kernels are called. */
void rlx_c_header(rlx_buf *out);

#endif
