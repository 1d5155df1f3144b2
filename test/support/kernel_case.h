/* kernel_case.h: one PrimFunc run by the evaluator, by the evaluator after lowering, and as a
 * kernel with each set of instructions and with threads, then again with its loops scheduled; all must agree bit for
 * bit (any NaN equals any NaN) or fail with the same code; with threads also with the same message. */
#ifndef TEST_KERNEL_CASE_H
#define TEST_KERNEL_CASE_H

#include "codegen/kgen.h"
#include "runtime/kernel.h"
#include "tir/tir.h"

#define KC_MAX_ARGS 8
typedef struct kc_arg {
    rlx_dtype dtype;
    bool is_scalar;
    int32_t ndim;
    int64_t shape[5];
    int64_t i;
    double f;
    void *data;
} kc_arg;
typedef struct kc {
    kc_arg args[KC_MAX_ARGS];
    int count;
    uint64_t seed;
    const struct rlx_micro_set *micro; /* instructions to use; NULL: the best */
    size_t threads;                    /* that share every loop that they may; 0: none */
} kc;

size_t kc_count(const kc_arg *a);
size_t kc_bytes(const kc_arg *a);
/* Adds a tensor filled with small values of its dtype, reproducibly. Returns its data. */
void *kc_tensor(kc *c, rlx_dtype dtype, int32_t ndim, const int64_t *shape);
void *kc_tensor1(kc *c, rlx_dtype dtype, int64_t n);
void *kc_tensor2(kc *c, rlx_dtype dtype, int64_t n, int64_t m);
void kc_int(kc *c, rlx_dtype dtype, int64_t v);
void kc_free(kc *c);
/* Runs them all; the arguments then hold what the kernel wrote. Returns the code of the
 * failure, RLX_CODE_NONE if there was none. `text` (may be NULL) gets the kernel's message.
 * Fails the test where they differ. */
int kc_run(rlx_context *ctx, const rlx_prim_func *f, kc *c, char text[256]);
/* Calls a loaded kernel; the arguments then hold what it wrote. */
int kc_call(rlx_memory *m, rlx_kernel *k, kc *c, rlx_fault *why);
/* Fails the test unless the two contents of an argument are alike. */
void kc_expect_same(const kc_arg *a, int arg, const void *want, const void *got, const char *who);
/* The kernel's bytes; fails the test if it cannot be compiled. */
void kc_write(rlx_context *ctx, const rlx_prim_func *f, rlx_buf *out);

#endif
