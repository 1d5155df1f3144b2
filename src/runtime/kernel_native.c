/* kernel_native.c: what native code asks of its caller (format/native_abi.def). */
/* built for size */
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

static native_call begin_call(rlx_kernel_run *r);

/* What native code has given for a loop. */
typedef struct native_loop { relax_kernel_part_fn *part; const relax_kernel_scalar *captured; } native_loop;

static bool run_part(rlx_kernel_run *r, const rlx_kernel_loop *loop, int64_t begin, int64_t count)
{
    const native_loop *own = loop->user;
    native_call n = begin_call(r);
    int failed = own->part(&n.call, own->captured, begin, count);
    r->env->fuel = n.call.fuel;
    return !failed;
}

static int parallel(relax_kernel_call *call, uint32_t at, int64_t min, int64_t extent, int64_t work, uint32_t grain,
                    relax_kernel_part_fn *part, const relax_kernel_scalar *captured, void *const *memory)
{
    rlx_kernel_run *r = native_of(call)->run;
    const native_loop own = { part, captured };
    rlx_kernel_loop loop = { .min = min, .extent = extent, .work = work, .grain = grain ? grain : 1,
                             .region = at + 1, .part = run_part, .user = &own };
    bool done = extent <= 0;
    if (at < r->k->num_words && (r->k->code[at] & 0xffff) == RLX_K_PAR) {
        loop.end = at + r->k->code[at + 7];
        if (!done && rlx_kernel_is_shared(r, &loop) && !rlx_kernel_share(r, &loop, &done))
            return 1;
    }
    return done ? 0 : part(call, captured, min, extent);
}

static native_call begin_call(rlx_kernel_run *r)
{
    return (native_call){ .call = { .struct_size = sizeof(relax_kernel_call),
                                    .buffers = (relax_kernel_buffer *)r->views,
                                    .scalars = (const relax_kernel_scalar *)(const void *)r->frame,
                                    .fuel = r->env->fuel,
                                    .poll = poll,
                                    .allocate = allocate,
                                    .fail = fail,
                                    .block = block,
                                    .parallel = parallel },
                          .run = r };
}

int rlx_kernel_run_native(rlx_kernel_run *r)
{
    native_call n = begin_call(r);
    const int how = r->k->native(&n.call);
    r->env->fuel = n.call.fuel;
    return how;
}
