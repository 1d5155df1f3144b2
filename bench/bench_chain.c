/* bench_chain: elementwise nests that hand each other temporaries, in one PrimFunc, by kernel bytecode: one nest, eight in their
 * schedule, eight as they stand; and gelu in five nests beside gelu in one.
 * Usage: bench_chain */
#include "bench.h"

#include "codegen/kgen.h"
#include "runtime/kernel.h"
#include "schedule/schedule.h"
#include "tir/tir.h"

enum { TURNS = 9, MOST_CALLS = 4096 };

/* ---- the functions -------------------------------------------------------------------------- */

static const rlx_prim *step(rlx_tir *t, int k, const rlx_prim *x)
{
    const rlx_prim *c = rlx_tir_float(t, RELAX_FLOAT32, 0.25 + 0.5 * k);
    switch (k % 4) {
    case 0: return rlx_tir_add(t, x, c);
    case 1: return rlx_tir_mul(t, x, x);
    case 2: return rlx_tir_sub(t, x, c);
    default: return rlx_tir_max(t, rlx_tir_mul(t, x, c), rlx_tir_float(t, RELAX_FLOAT32, 0));
    }
}

/* Opens a nest over `size` elements. */
static const rlx_prim *open(rlx_tir *t, int64_t size)
{
    rlx_tir_begin_block(t, "elements");
    return rlx_tir_spatial(t, "i", rlx_tir_int(t, size));
}

static const rlx_prim_func *chain(rlx_context *ctx, int64_t size, int nests)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(&t, size);
    const rlx_buffer *x = rlx_tir_param(&t, "X", RELAX_FLOAT32, RLX_TIR_LIST(n)),
                     *y = rlx_tir_param(&t, "Y", RELAX_FLOAT32, RLX_TIR_LIST(n));
    for (int k = 0; k < nests; k++) {
        const rlx_buffer *to = k + 1 == nests ? y : rlx_tir_alloc(&t, "T", RELAX_FLOAT32, RLX_TIR_LIST(n));
        const rlx_prim *i = open(&t, size);
        rlx_tir_store(&t, to, RLX_TIR_LIST(i), step(&t, k, rlx_tir_load(&t, x, RLX_TIR_LIST(i))));
        rlx_tir_end_block(&t);
        x = to;
    }
    return rlx_tir_end(&t);
}

/* x / 2 * (1 + erf(x / sqrt(2))), each operation a nest if `apart`. */
static const rlx_prim_func *gelu(rlx_context *ctx, int64_t size, bool apart)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(&t, size), *v[5], *i = NULL;
    const rlx_buffer *x = rlx_tir_param(&t, "X", RELAX_FLOAT32, RLX_TIR_LIST(n)),
                     *y = rlx_tir_param(&t, "Y", RELAX_FLOAT32, RLX_TIR_LIST(n)), *to[5];
    for (int k = 0; k < 5; k++) {
        to[k] = k == 4 ? y : apart ? rlx_tir_alloc(&t, "T", RELAX_FLOAT32, RLX_TIR_LIST(n)) : NULL;
        if (apart || !k)
            i = open(&t, size);
        const rlx_prim *own = rlx_tir_load(&t, x, RLX_TIR_LIST(i));
        for (int m = 0; m < k && apart; m++)
            v[m] = rlx_tir_load(&t, to[m], RLX_TIR_LIST(i));
        v[k] = k == 0   ? rlx_tir_mul(&t, own, rlx_tir_float(&t, RELAX_FLOAT32, 0.5))
               : k == 1 ? rlx_tir_mul(&t, own, rlx_tir_float(&t, RELAX_FLOAT32, 0.70710678118654757))
               : k == 2 ? rlx_tir_call1(&t, "erf", v[1])
               : k == 3 ? rlx_tir_add(&t, v[2], rlx_tir_float(&t, RELAX_FLOAT32, 1))
                        : rlx_tir_mul(&t, v[0], v[3]);
        if (to[k])
            rlx_tir_store(&t, to[k], RLX_TIR_LIST(i), v[k]);
        if (apart || k == 4)
            rlx_tir_end_block(&t);
    }
    return rlx_tir_end(&t);
}

/* ---- running -------------------------------------------------------------------------------- */

static void run(rlx_context *ctx, const char *what, const rlx_prim_func *f, int64_t size, float *data)
{
    static double times[TURNS];
    rlx_buf bytes;
    rlx_kernel *kernel;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    char key[64];
    DLTensor side[2];
    relax_value args[2];
    rlx_buf_init(&bytes, &ctx->memory);
    if (!f || !rlx_kernel_write(ctx, f, RLX_SLICE("chain"), &bytes, NULL) ||
        !rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &kernel, &why))
        bench_die(what, "cannot be compiled");
    rlx_buf_free(&bytes);
    for (int k = 0; k < 2; k++) {
        side[k] = (DLTensor){ data + k * size, { 1, 0 }, 1, { 2, 32, 1 }, &size, NULL, 0 };
        args[k] = (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = &side[k] } };
    }
    rlx_kernel_env_init(&env, &ctx->memory);
    int calls = (int)((1 << 22) / size);
    calls = calls < 1 ? 1 : calls > MOST_CALLS ? MOST_CALLS : calls;
    for (int turn = 0; turn < TURNS; turn++) {
        double begin = bench_now();
        for (int k = 0; k < calls; k++)
            if (!rlx_kernel_call(kernel, &env, args, 2, &why))
                bench_die(what, why.text);
        times[turn] = (bench_now() - begin) / calls;
    }
    snprintf(key, sizeof key, "%s %lld", what, (long long)size);
    bench_times(key, times, TURNS, 1e6, "us");
    rlx_kernel_env_free(&env);
    rlx_kernel_free(kernel);
}

int main(void)
{
    static const int64_t sizes[] = { 4096, 65536, 1 << 20 };
    rlx_context *ctx = rlx_context_create(NULL, 0);
    float *data = aligned_alloc(64, 2 * sizeof(float) << 20);
    if (!ctx || !data)
        bench_die("bench_chain", "out of memory");
    for (int i = 0; i < 2 << 20; i++)
        data[i] = (float)(i % 1000) / 1000 - 0.5f;
    for (int i = 0; i < 3; i++) {
        run(ctx, "one", chain(ctx, sizes[i], 1), sizes[i], data);
        run(ctx, "chain", rlx_schedule(ctx, chain(ctx, sizes[i], 8)), sizes[i], data);
        run(ctx, "apart", chain(ctx, sizes[i], 8), sizes[i], data);
        run(ctx, "gelu", rlx_schedule(ctx, gelu(ctx, sizes[i], false)), sizes[i], data);
        run(ctx, "gelu nests", rlx_schedule(ctx, gelu(ctx, sizes[i], true)), sizes[i], data);
    }
    free(data);
    rlx_context_release(ctx);
    return 0;
}
