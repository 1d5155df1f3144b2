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
int kc_c_teardown(void **state); /* kc_c_end, behind a group of tests */
/* Between kc_c_begin and kc_c_end: `one` for every seed, which it gets with whether to show what it
 * makes. The seed that `variable` of the environment names, if it does; else the first `count`. */
void kc_each_seed(const char *variable, uint64_t count, unsigned every,
                  void (*one)(uint64_t seed, bool shows));
/* Is there such a compiler? */
bool kc_has_compiler(const char *name);

#endif
