/* kernel.h: tensor programs as flat bytecode (format/kernel_format.h): load and verify, call,
 * disassemble.
 *
 * rlx_kernel_load checks every byte; whatever it accepts can be called without risk: each
 * access to a buffer checks its own range, so that even a hostile kernel ends in a fault and
 * never outside its buffers.
 */
#ifndef RLX_RUNTIME_KERNEL_H
#define RLX_RUNTIME_KERNEL_H

#include <relax/dlpack.h>
#include <relax/value.h>
#include "base/base.h"
#include "format/fault.h"
#include "format/native_abi.h"

typedef struct rlx_kernel rlx_kernel;

/* Verifies and prepares. `bytes` is copied where needed: it need not outlive the call. On
 * failure *why says what is wrong (LD code, or RT10 out of memory). */
RLX_NODISCARD bool rlx_kernel_load(rlx_memory *m, const uint8_t *bytes, size_t len,
                                   rlx_kernel **out, rlx_fault *why);
void rlx_kernel_free(rlx_kernel *k); /* NULL is fine */
int rlx_kernel_num_params(const rlx_kernel *k);
/* May a run of k store into buffer parameter `param`? The VM then refuses constants and
 * read-only tensors there. */
bool rlx_kernel_param_is_written(const rlx_kernel *k, int32_t param);
/* All such parameters, a bit for each; the last bit: number 63 or a later one. */
uint64_t rlx_kernel_written(const rlx_kernel *k);

/* Native code that does the same: calls run it from now on, unless two arguments that it writes
 * overlap. It must outlive the kernel. */
void rlx_kernel_set_native(rlx_kernel *k, relax_kernel_fn *native);

/* Working memory of calls, reused from call to call; one per thread of calls. Temporaries of
 * kernels keep their largest size until rlx_kernel_env_free. */
typedef struct rlx_kernel_slot { void *data; size_t size; } rlx_kernel_slot;
typedef struct rlx_kernel_env {
    rlx_memory *memory;
    unsigned char *frame; size_t frame_size;       /* registers */
    rlx_kernel_slot *slots; size_t num_slots;      /* temporaries of alloc_buffer */
    rlx_kernel_slot copies;                        /* of arguments that share memory */
    struct rlx_kernel_view *views; size_t num_views;
    /* Asked some times in each millisecond of work, by each thread; nonzero stops the kernel with RT12. NULL:
     * never asked. */
    int (*poll)(void *user); void *poll_user;
    int64_t fuel;                                  /* work left until the next question */
    bool native;                                   /* the last call ran native code, which did not leave it to the bytecode */
    const struct rlx_micro_set *micro;             /* what blocks of memory are computed with */
    int64_t least_work, least_waking;              /* picoseconds that a thread has, that it is woken up for */
    struct rlx_workers *workers;                   /* whom loops are shared out to; NULL: nobody */
    struct rlx_kernel_helper *helpers;             /* one for each of those */
} rlx_kernel_env;
void rlx_kernel_env_init(rlx_kernel_env *env, rlx_memory *m);
void rlx_kernel_env_free(rlx_kernel_env *env);

/* Runs k. args: for a buffer parameter a raw DLTensor * (tag 7) or a boxed tensor (tag 70),
 * compact, on the CPU; for a scalar an int, bool or float. Checks number (RT01), kind (RT02),
 * dtype (RT03), rank (RT04), sizes (RT05) and device (RT13), binds the kernel's size variables.
 * RT09 index out of range, RT14 arithmetic, RT15 assertion, RT12 stopped, RT10 no memory.
 * Arguments that are only read may share memory with one that is written: they are read as they
 * were before the call, from copies where the kernel needs them. Nothing is kept of the arguments. After a fault the contents of outputs are unspecified. */
RLX_NODISCARD bool rlx_kernel_call(const rlx_kernel *k, rlx_kernel_env *env,
                                   const relax_value *args, int32_t num_args, rlx_fault *why);

/* Does parameter `param` want a tensor of this dtype and these sizes, of which there are some elements? */
bool rlx_kernel_takes(const rlx_kernel *k, uint32_t param, rlx_dtype dtype, int32_t ndim,
                      const int64_t *dims);
/* The same call, where it is known that rlx_kernel_takes the tensors of some parameters, bit i:
 * number i. These are boxed tensors of ours, as views. */
RLX_NODISCARD bool rlx_kernel_call_known(const rlx_kernel *k, rlx_kernel_env *env,
                                         const relax_value *args, int32_t num_args,
                                         uint32_t known, rlx_fault *why);

/* Text of a kernel, also of one that would not load (then up to the first thing that makes no
 * sense). */
void rlx_kernel_disassemble(const uint8_t *bytes, size_t len, rlx_buf *out);

#endif
