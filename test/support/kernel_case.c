/* kernel_case.c: one PrimFunc run in several ways that must agree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "kernel_c.h"
#include "kernel_case.h"
#include "micro/micro.h"
#include "runtime/runtime.h"
#include "schedule/schedule.h"

size_t kc_count(const kc_arg *a)
{
    size_t n = 1;
    for (int32_t d = 0; d < a->ndim; d++)
        n *= (size_t)a->shape[d];
    return n;
}

size_t kc_bytes(const kc_arg *a)
{
    return a->is_scalar ? 0 : kc_count(a) * rlx_dtype_bytes(a->dtype);
}

static uint32_t next(kc *c)
{
    c->seed = c->seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(c->seed >> 33);
}

static void fill(kc *c, kc_arg *a)
{
    for (size_t i = 0; i < kc_count(a); i++) {
        double v = ((double)(next(c) % 4001) - 2000.0) / 500.0;
        uint32_t bits = next(c);
        size_t at = i * rlx_dtype_bytes(a->dtype);
        if (rlx_dtype_is_float(a->dtype)) {
            rlx_dtype_store_float(a->dtype, (unsigned char *)a->data + at, v);
            continue;
        }
        switch (a->dtype) {
        case RELAX_BOOL: ((uint8_t *)a->data)[i] = bits & 1; break;
        case RELAX_INT64:
        case RELAX_UINT64:
            ((int64_t *)a->data)[i] = (int64_t)(bits % 41) - 20;
            break;
        case RELAX_INT32:
        case RELAX_UINT32:
            ((int32_t *)a->data)[i] = (int32_t)(bits % 41) - 20;
            break;
        case RELAX_INT16:
        case RELAX_UINT16:
            ((int16_t *)a->data)[i] = (int16_t)(bits % 41 - 20);
            break;
        default: ((uint8_t *)a->data)[i] = (uint8_t)bits; break;
        }
    }
}

void *kc_tensor(kc *c, rlx_dtype dtype, int32_t ndim, const int64_t *shape)
{
    kc_arg *a = &c->args[c->count++];
    *a = (kc_arg){ .dtype = dtype, .ndim = ndim };
    for (int32_t d = 0; d < ndim; d++)
        a->shape[d] = shape[d];
    a->data = malloc(kc_bytes(a) + 1);
    fill(c, a);
    return a->data;
}

void *kc_tensor1(kc *c, rlx_dtype dtype, int64_t n)
{
    return kc_tensor(c, dtype, 1, &n);
}

void *kc_tensor2(kc *c, rlx_dtype dtype, int64_t n, int64_t m)
{
    return kc_tensor(c, dtype, 2, (int64_t[]){ n, m });
}

void kc_int(kc *c, rlx_dtype dtype, int64_t v)
{
    c->args[c->count++] = (kc_arg){ .dtype = dtype, .is_scalar = true, .i = v };
}

void kc_free(kc *c)
{
    for (int i = 0; i < c->count; i++)
        free(c->args[i].data);
    c->count = 0;
}

static void *copy_of(const kc_arg *a)
{
    void *p = malloc(kc_bytes(a) + 1);
    if (kc_bytes(a))
        memcpy(p, a->data, kc_bytes(a));
    return p;
}

static void show_diags(rlx_context *ctx)
{
    for (const rlx_diag *d = ctx->diags.first; d; d = d->next)
        print_error("%s: %s\n", d->code->name, d->message);
}

void kc_write(rlx_context *ctx, const rlx_prim_func *f, rlx_buf *out)
{
    rlx_buf_init(out, &ctx->memory);
    if (!f || !rlx_kernel_write(ctx, f, RLX_SLICE("k"), out, NULL)) {
        show_diags(ctx);
        fail_msg("the function cannot be compiled");
    }
}

static int run_eval(rlx_context *ctx, const rlx_prim_func *f, const kc *c, void **data)
{
    rlx_tir_arg args[KC_MAX_ARGS];
    rlx_fault why = { 0 };
    for (int i = 0; i < c->count; i++) {
        const kc_arg *a = &c->args[i];
        data[i] = a->is_scalar ? NULL : copy_of(a);
        args[i] = (rlx_tir_arg){ a->dtype, data[i], a->shape, a->ndim, a->i, a->f };
    }
    return rlx_tir_eval(ctx, f, args, (size_t)c->count, NULL, &why) ? RLX_CODE_NONE
                                                                             : why.code;
}

int kc_call(rlx_memory *m, rlx_kernel *k, kc *c, rlx_fault *why)
{
    rlx_kernel_env env;
    DLTensor tensors[KC_MAX_ARGS];
    relax_value args[KC_MAX_ARGS];
    for (int i = 0; i < c->count; i++) {
        kc_arg *a = &c->args[i];
        DLDataType t = { (uint8_t)rlx_dtype_code(a->dtype), (uint8_t)rlx_dtype_bits(a->dtype), 1 };
        if (a->dtype == RELAX_BOOL)
            t = (DLDataType){ 6, 8, 1 };
        tensors[i] = (DLTensor){ a->data, { 1, 0 }, a->ndim, t, a->shape, NULL, 0 };
        args[i] = (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = &tensors[i] } };
        if (a->is_scalar && rlx_dtype_is_float(a->dtype))
            args[i] = (relax_value){ RELAX_VALUE_FLOAT, 0, { .f = a->f } };
        else if (a->is_scalar)
            args[i] = (relax_value){ RELAX_VALUE_INT, 0, { .i = a->i } };
    }
    rlx_kernel_env_init(&env, m);
    if (c->micro)
        env.micro = c->micro;
    if (c->threads) {
        env.workers = rlx_workers_make(m, c->threads, NULL, NULL);
        env.least_work = env.least_waking = 1;
    }
    bool ok = rlx_kernel_call(k, &env, args, c->count, why);
    rlx_kernel_env_free(&env);
    rlx_workers_free(env.workers);
    return ok ? RLX_CODE_NONE : why->code;
}

static int run_kernel(rlx_context *ctx, const rlx_prim_func *f, kc *c, char *text)
{
    rlx_buf bytes;
    rlx_kernel *k = NULL;
    rlx_fault why = { 0 };
    kc_write(ctx, f, &bytes);
    if (!rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why))
        fail_msg("the kernel does not load: %s", why.text);
    kc_c_before(ctx, f, c);
    int code = kc_call(&ctx->memory, k, c, &why);
    kc_c_after(c, code);
    if (text)
        snprintf(text, 256, "%s", code == RLX_CODE_NONE ? "" : why.text);
    rlx_kernel_free(k);
    rlx_buf_free(&bytes);
    return code;
}

static bool both_nan(rlx_dtype t, const unsigned char *a, const unsigned char *b)
{
    if (!rlx_dtype_is_float(t))
        return false;
    double x = rlx_dtype_load_float(t, a), y = rlx_dtype_load_float(t, b);
    return x != x && y != y;
}

void kc_expect_same(const kc_arg *a, int arg, const void *want, const void *got, const char *who)
{
    size_t n = rlx_dtype_bytes(a->dtype);
    for (size_t i = 0; i < kc_count(a); i++) {
        const unsigned char *w = (const unsigned char *)want + i * n,
                            *g = (const unsigned char *)got + i * n;
        if (memcmp(w, g, n) == 0 || both_nan(a->dtype, w, g))
            continue;
        uint64_t x = 0, y = 0;
        memcpy(&x, w, n), memcpy(&y, g, n);
        fail_msg("%s differs at element %zu of argument %d: wanted %llx, got %llx", who, i, arg,
                 (unsigned long long)x, (unsigned long long)y);
    }
}

static void expect_all(const kc *c, int code, int wanted, void *const *want, void *const *data,
                       const char *who, const char *text)
{
    if (code != wanted)
        fail_msg("%s: code %d, wanted %d (%s)", who, code, wanted, text);
    for (int i = 0; i < c->count && code == RLX_CODE_NONE; i++)
        if (!c->args[i].is_scalar)
            kc_expect_same(&c->args[i], i, want[i], data[i], who);
}

/* On copies: it writes into its arguments. */
static void run_copy(rlx_context *ctx, rlx_kernel *k, kc own, int code, void *const *want, const char *who)
{
    void *data[KC_MAX_ARGS];
    rlx_fault why = { 0 };
    for (int i = 0; i < own.count; i++)
        own.args[i].data = data[i] = own.args[i].is_scalar ? NULL : copy_of(&own.args[i]);
    int got = kc_call(&ctx->memory, k, &own, &why);
    expect_all(&own, got, code, want, data, who, why.text);
    for (int i = 0; i < own.count; i++)
        free(data[i]);
}

static rlx_kernel *load_kernel(rlx_context *ctx, const rlx_prim_func *f)
{
    rlx_buf bytes;
    rlx_kernel *k = NULL;
    rlx_fault why = { 0 };
    kc_write(ctx, f, &bytes);
    if (!rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why))
        fail_msg("the kernel does not load: %s", why.text);
    rlx_buf_free(&bytes);
    return k;
}

/* The kernel with each set of instructions that this machine has, and with threads. */
static void run_sets(rlx_context *ctx, const rlx_prim_func *f, const kc *c, int code,
                     void *const *want, const char *what)
{
    static const char *const sets[] = { "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" };
    static const size_t threads[] = { 1, 2, 3, 7 };
    char who[64];
    rlx_kernel *k = load_kernel(ctx, f);
    for (size_t s = 0; s < RLX_COUNT(sets); s++) {
        kc own = *c;
        own.micro = rlx_micro_find(sets[s]);
        snprintf(who, sizeof who, "%s with %s", what, sets[s]);
        if (own.micro)
            run_copy(ctx, k, own, code, want, who);
    }
    rlx_kernel_free(k);
    ctx->share_all = true;
    k = load_kernel(ctx, f);
    ctx->share_all = false;
    for (size_t t = 0; t < RLX_COUNT(threads); t++) {
        kc own = *c;
        own.threads = threads[t];
        snprintf(who, sizeof who, "%s with %zu threads", what, threads[t]);
        run_copy(ctx, k, own, code, want, who);
    }
    rlx_kernel_free(k);
}

/* The same with its loops scheduled, if they are: the evaluator and the kernel. */
static void run_scheduled(rlx_context *ctx, const rlx_prim_func *f, const kc *c, int code,
                          void *const *want)
{
    void *data[KC_MAX_ARGS];
    size_t errors = rlx_error_count(ctx);
    const rlx_prim_func *s = rlx_schedule(ctx, f);
    if (!s || rlx_error_count(ctx) != errors)
        show_diags(ctx);
    assert_true(s && rlx_error_count(ctx) == errors);
    if (s == f)
        return;
    if (!rlx_tir_verify(ctx, s, false)) {
        show_diags(ctx);
        fail_msg("the scheduled function is malformed");
    }
    assert_ptr_equal(rlx_schedule(ctx, s), s);
    expect_all(c, run_eval(ctx, s, c, data), code, want, data, "the scheduled function", "");
    run_sets(ctx, s, c, code, want, "the scheduled kernel");
    kc own = *c;
    for (int i = 0; i < c->count; i++) { /* for the C of it */
        free(data[i]);
        own.args[i].data = data[i] = c->args[i].is_scalar ? NULL : copy_of(&c->args[i]);
    }
    expect_all(c, run_kernel(ctx, s, &own, NULL), code, want, data, "the scheduled kernel", "");
    for (int i = 0; i < c->count; i++)
        free(data[i]);
}

int kc_run(rlx_context *ctx, const rlx_prim_func *f, kc *c, char text[256])
{
    void *plain[KC_MAX_ARGS] = { NULL }, *lowered[KC_MAX_ARGS] = { NULL };
    char message[256] = "";
    if (!f)
        show_diags(ctx);
    assert_non_null(f);
    const rlx_prim_func *flat = rlx_tir_lower_blocks(ctx, f);
    if (!flat)
        show_diags(ctx);
    assert_non_null(flat);
    int code = run_eval(ctx, f, c, plain), flat_code = run_eval(ctx, flat, c, lowered);
    run_scheduled(ctx, f, c, code, plain);
    run_sets(ctx, f, c, code, plain, "the kernel");
    int kernel_code = run_kernel(ctx, f, c, message);
    if (code != flat_code || code != kernel_code)
        fail_msg("codes differ: evaluator %d, lowered %d, kernel %d (%s)", code, flat_code,
                 kernel_code, message);
    for (int i = 0; i < c->count && code == RLX_CODE_NONE; i++)
        if (!c->args[i].is_scalar) {
            kc_expect_same(&c->args[i], i, plain[i], lowered[i], "the lowered function");
            kc_expect_same(&c->args[i], i, plain[i], c->args[i].data, "the kernel");
        }
    for (int i = 0; i < c->count; i++) {
        free(plain[i]);
        free(lowered[i]);
    }
    if (text)
        memcpy(text, message, 256);
    return code;
}
