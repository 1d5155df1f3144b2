/*- kernel_c.h: kernels that kernel_case.h has run, once more as generated C. Compiling is slow,
 * so they are collected first:
 *
 *     kc_c_begin(1);  ... kc_run(...) any number of times ...  kc_c_end();
 *
 * kc_c_end compiles them with each compiler that is there and expects the very bits and codes
 * of the bytecode. */
#ifndef TEST_KERNEL_C_H
#define TEST_KERNEL_C_H

#include "kernel_case.h"

void kc_c_begin(unsigned every); /* every so manyth of them: compiling takes longer than running */
/* For kc_run: before the bytecode has run, and after it. */
void kc_c_before(rlx_context *ctx, const rlx_prim_func *f, const kc *c);
void kc_c_after(const kc *c, int code);
void kc_c_end(void);
/* Is there such a compiler? */
bool kc_has_compiler(const char *name);

#endif
