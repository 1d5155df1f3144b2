/* kernel_native.c: what native code asks of its caller (format/native_abi.def). */
#include "runtime/kernel_int.h"

typedef struct native_call {
    relax_kernel_call call;     /* first: the kernel gives it back */
    rlx_kernel_run *run;
} native_call;

_Static_assert(sizeof(rlx_kernel_view) == sizeof(relax_kernel_buffer) &&
                   offsetof(rlx_kernel_view, count) == offsetof(relax_kernel_buffer, count) &&
                   offsetof(rlx_kernel_view, shape) == offsetof(relax_kernel_buffer, shape),
               "a view is what a native kernel calls a buffer");

static native_call *native_of(relax_kernel_call *call)
{
    return (native_call *)(void *)call;
}

static int poll(relax_kernel_call *call)
{
    native_call *n = native_of(call);
    bool stops = rlx_kernel_stopped(n->run);
    call->fuel = n->run->env->fuel;
    return stops;
}

static int allocate(relax_kernel_call *call, uint32_t buffer, int64_t count)
{
    rlx_kernel_run *r = native_of(call)->run;
    if (buffer >= r->k->num_buffers || r->k->buffers[buffer].kind != RLX_KERNEL_BUFFER_TEMP)
        return !rlx_kernel_out_of_dim(r, 0, 0, 0, 0);
    return !rlx_kernel_alloc(r, buffer, count);
}

static int fail(relax_kernel_call *call, int32_t why, int64_t a, int64_t b, int64_t c, int64_t d)
{
    rlx_kernel_run *r = native_of(call)->run;
    bool buffer = a >= 0 && a < r->k->num_buffers;
    if (why == RELAX_KERNEL_INDEX && buffer)
        rlx_kernel_out_of_dim(r, (uint32_t)a, (uint32_t)b, c, d);
    else if (why == RELAX_KERNEL_SIZE && buffer)
        rlx_kernel_wrong_size(r, (uint32_t)a, (uint32_t)b, c, d);
    else if (why == RELAX_KERNEL_ASSERTION && a >= 0 && a < r->k->names_size)
        rlx_kernel_failed_assertion(r, (uint32_t)b, r->k->names + a);
    else
        rlx_kernel_troubled(r, why == RELAX_KERNEL_TROUBLE && a > 0 && a <= RLX_TROUBLE_EXPONENT
                                   ? (int)a
                                   : RLX_TROUBLE_NONE);
    return 1;
}

static int block(relax_kernel_call *call, uint32_t what, const int64_t *operands,
                 void *const *memory)
{
    static const unsigned ops[] = { [RELAX_KERNEL_COPY] = RLX_K_COPY,
                                    [RELAX_KERNEL_PACK] = RLX_K_PACK,
                                    [RELAX_KERNEL_CONTRACT] = RLX_K_CONTRACT,
                                    [RELAX_KERNEL_REDUCE] = RLX_K_REDUCE,
                                    [RELAX_KERNEL_UNPACK] = RLX_K_UNPACK,
                                    [RELAX_KERNEL_PARTIAL] = RLX_K_PARTIAL,
                                    [RELAX_KERNEL_NORMALIZE] = RLX_K_NORMALIZE,
                                    [RELAX_KERNEL_MAP] = RLX_K_MAP };
    native_call *n = native_of(call);
    rlx_kernel_env *env = n->run->env;
    int64_t x[RLX_KERNEL_BLOCK_OPERANDS];
    bool ok = what >= 1 && what < RLX_COUNT(ops);
    env->fuel = call->fuel;
    if (ok) {
        memcpy(x, operands, strlen(rlx_kernel_ops[ops[what]].operands) * sizeof *x);
        ok = rlx_kernel_block(n->run, ops[what], x);
    }
    call->fuel = env->fuel;
    return !ok;
}

bool rlx_kernel_run_native(rlx_kernel_run *r)
{
    native_call n = { .call = { .struct_size = sizeof(relax_kernel_call),
                                .buffers = (relax_kernel_buffer *)r->views,
                                .scalars = (const relax_kernel_scalar *)(const void *)r->frame,
                                .fuel = r->env->fuel,
                                .poll = poll,
                                .allocate = allocate,
                                .fail = fail,
                                .block = block },
                      .run = r };
    int failed = r->k->native(&n.call);
    r->env->fuel = n.call.fuel;
    return !failed;
}
