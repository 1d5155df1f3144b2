/* api_kernel.c: PrimFuncs of the compile side run as kernels, for passes that fold (ir/iface.h). */
#include "api/api_int.h"

#include <relax/dlpack.h>
#include "codegen/kgen.h"
#include "format/value_tags.h"
#include "runtime/runtime.h"
#include "schedule/schedule.h"
#include "tir/tir.h"

/* ---- memory: that of the context, up to what one run may have ------------------------------- */

static void *take(void *user, size_t size, size_t align)
{
    return rlx_mem_alloc_aligned(user, size, align);
}

static void give_back(void *user, void *ptr, size_t size, size_t align)
{
    rlx_mem_free_aligned(user, ptr, size, align);
}

static void *take_more(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *now = rlx_mem_alloc_aligned(user, new_size, align);
    if (now && ptr)
        memcpy(now, ptr, old_size < new_size ? old_size : new_size);
    if (now)
        rlx_mem_free_aligned(user, ptr, old_size, align);
    return now;
}

/* ---- arguments ------------------------------------------------------------------------------ */

typedef struct cells {
    DLTensor *tensors;
    relax_value *values;
    size_t count, bytes;
} cells;

static bool make_cells(rlx_memory *m, const rlx_tir_arg *args, size_t count, cells *c)
{
    c->count = count;
    c->bytes = (count + 1) * (sizeof *c->tensors + sizeof *c->values);
    c->tensors = rlx_mem_alloc(m, c->bytes);
    c->values = c->tensors ? (relax_value *)(void *)(c->tensors + count + 1) : NULL;
    for (size_t i = 0; c->tensors && i < count; i++) {
        const rlx_tir_arg *a = &args[i];
        if (!a->data && rlx_dtype_is_float(a->dtype))
            c->values[i] = (relax_value){ RELAX_VALUE_FLOAT, 0, { .f = a->f } };
        else if (!a->data)
            c->values[i] = (relax_value){ RELAX_VALUE_INT, 0, { .i = a->i } };
        else {
            c->tensors[i] = (DLTensor){ .data = a->data,
                                        .device = { 1, 0 },
                                        .ndim = a->ndim,
                                        .dtype = rlx_dl_from_dtype(a->dtype),
                                        .shape = (int64_t *)a->shape };
            c->values[i] =
                (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = &c->tensors[i] } };
        }
    }
    return c->tensors != NULL;
}

/* ---- running -------------------------------------------------------------------------------- */

/* The kernel of f, unless there is none. Nothing is reported: an attempt. */
static bool write_kernel(rlx_context *ctx, const rlx_prim_func *f, rlx_buf *out)
{
    rlx_diags_counts before = rlx_diags_begin_unheard(&ctx->diags);
    const rlx_prim_func *fast = rlx_schedule(ctx, f);
    bool ok = fast && rlx_kernel_write(ctx, fast, RLX_SLICE("folded"), out, NULL);
    rlx_diags_end_unheard(&ctx->diags, before);
    return ok && !ctx->diags.out_of_memory;
}

enum { STEPS_PER_POLL = 10000 };

static int is_over(void *user)
{
    uint64_t *polls = user;
    return *polls == 0 || --*polls == 0;
}

static bool call_kernel(rlx_context *ctx, const rlx_kernel *k, const cells *c,
                        const rlx_tir_limits *limits, rlx_fault *why)
{
    relax_allocator own = { .struct_size = sizeof own,
                            .user = &ctx->memory,
                            .alloc = take,
                            .resize = take_more,
                            .free = give_back };
    uint64_t polls = limits->max_steps / STEPS_PER_POLL + 1;
    rlx_memory memory;
    rlx_kernel_env env;
    if (!rlx_memory_init(&memory, &own, limits->max_bytes ? limits->max_bytes : SIZE_MAX))
        return false;
    rlx_kernel_env_init(&env, &memory);
    env.poll = limits->max_steps ? is_over : NULL;
    env.poll_user = &polls;
    bool ok = rlx_kernel_call(k, &env, c->values, (int32_t)c->count, why);
    rlx_kernel_env_free(&env);
    return ok;
}

static rlx_kernel *load(rlx_context *ctx, const rlx_prim_func *f)
{
    rlx_kernel *k = NULL;
    rlx_fault why;
    rlx_buf bytes;
    rlx_buf_init(&bytes, &ctx->memory);
    if (!write_kernel(ctx, f, &bytes) ||
        !rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why))
        k = NULL;
    rlx_buf_free(&bytes);
    return k;
}

static bool call(rlx_context *ctx, const rlx_kernel *k, const rlx_tir_arg *args, size_t num_args,
                 const rlx_tir_limits *limits, rlx_fault *why)
{
    cells c = { 0 };
    bool ok = make_cells(&ctx->memory, args, num_args, &c) && call_kernel(ctx, k, &c, limits, why);
    rlx_mem_free(&ctx->memory, c.tensors, c.tensors ? c.bytes : 0);
    return ok;
}

static bool run(rlx_context *ctx, const rlx_prim_func *f, const rlx_tir_arg *args,
                size_t num_args, const rlx_tir_limits *limits, rlx_fault *why)
{
    rlx_kernel *k = load(ctx, f);
    bool ok = k && call(ctx, k, args, num_args, limits, why);
    rlx_kernel_free(k);
    return ok;
}

const rlx_kernel_runner rlx_api_kernels = {
    .run = run, .load = load, .call = call, .unload = rlx_kernel_free
};
