/* test_kernel.c: loading and calling kernels: damaged bytes, stopping, memory that runs out,
 * text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <stdatomic.h>

#include "format/kernel_format.h"
#include "kernel_case.h"
#include "runtime/runtime.h"

#define L RLX_TIR_LIST

/* Two stages with a temporary, a reduction, a gather behind a condition, a branch: most kinds
 * of instructions. */
static const rlx_prim_func *example(rlx_context *ctx)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_int(&t, 6), *i, *j, *k,
                   *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, L(m, m));
    const rlx_buffer *idx = rlx_tir_param(&t, "I", RELAX_INT32, L(n)),
                     *o = rlx_tir_param(&t, "O", RELAX_FLOAT32, L(n, m));
    const rlx_buffer *p = rlx_tir_alloc(&t, "P", RELAX_FLOAT32, L(n, m)),
                     *s = rlx_tir_alloc(&t, "S", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "mm");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_spatial(&t, "j", m),
    k = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, p, L(i, j), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    rlx_tir_store(
        &t, p, L(i, j),
        rlx_tir_add(&t, rlx_tir_load(&t, p, L(i, j)),
                    rlx_tir_mul(&t, rlx_tir_load(&t, a, L(i, k)), rlx_tir_load(&t, b, L(k, j)))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "sum");
    i = rlx_tir_spatial(&t, "i", n), k = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, s, L(i), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    rlx_tir_store(&t, s, L(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, s, L(i)), rlx_tir_load(&t, p, L(i, k))));
    rlx_tir_end_block(&t);
    rlx_tir_begin_block(&t, "pick");
    i = rlx_tir_spatial(&t, "i", n), j = rlx_tir_spatial(&t, "j", m);
    const rlx_prim *at = rlx_tir_cast(&t, RELAX_INT64, rlx_tir_load(&t, idx, L(i)));
    const rlx_prim *x = rlx_tir_div(&t, rlx_tir_load(&t, p, L(i, j)), rlx_tir_load(&t, s, L(i)));
    rlx_tir_store(&t, o, L(i, j),
                  rlx_tir_if_then_else(&t, rlx_tir_ge(&t, at, zero),
                                       rlx_tir_add(&t, x, rlx_tir_load(&t, p, L(at, j))), x));
    rlx_tir_end_block(&t);
    const rlx_prim *q = rlx_tir_for(&t, "q", NULL, n, RLX_FOR_SERIAL);
    rlx_tir_if(&t,
               rlx_tir_gt(&t, rlx_tir_load(&t, idx, L(q)), rlx_tir_number(&t, RELAX_INT32, 1)));
    rlx_tir_store(&t, idx, L(zero),
                  rlx_tir_add(&t, rlx_tir_load(&t, idx, L(zero)), rlx_tir_load(&t, idx, L(q))));
    rlx_tir_end_if(&t);
    rlx_tir_end_for(&t);
    return rlx_tir_end(&t);
}

typedef struct call {
    float a[5 * 6], b[36], o[5 * 6];
    int32_t idx[5];
    int64_t shapes[4][2];
    DLTensor t[4];
    relax_value args[4];
} call;

static void prepare(call *c)
{
    static const int32_t idx[5] = { 0, -1, 4, 2, -1 };
    DLDataType f32 = { 2, 32, 1 }, i32 = { 0, 32, 1 };
    memset(c, 0, sizeof *c);
    for (int i = 0; i < 30; i++)
        c->a[i] = (float)(i % 7) + 0.25f;
    for (int i = 0; i < 36; i++)
        c->b[i] = (float)(i % 5) - 1.5f;
    memcpy(c->idx, idx, sizeof idx);
    memcpy(c->shapes, (int64_t[4][2]){ { 5, 6 }, { 6, 6 }, { 5, 0 }, { 5, 6 } }, sizeof c->shapes);
    void *data[4] = { c->a, c->b, c->idx, c->o };
    for (int i = 0; i < 4; i++) {
        c->t[i] = (DLTensor){ data[i], { 1, 0 }, i == 2 ? 1 : 2, i == 2 ? i32 : f32, c->shapes[i],
                              NULL,    0 };
        c->args[i] = (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = &c->t[i] } };
    }
}

static int stop_at_once(void *user)
{
    atomic_fetch_add((_Atomic int *)user, 1);
    return 1;
}

/* With every loop shared out that may be. */
static void write_shared(rlx_context *ctx, rlx_buf *bytes)
{
    ctx->share_all = true;
    kc_write(ctx, example(ctx), bytes);
    ctx->share_all = false;
}

/* Loads the bytes and, if that is possible, calls the kernel: nothing may go wrong but a fault. */
static bool survives(const uint8_t *bytes, size_t len)
{
    rlx_memory m;
    rlx_kernel *k = NULL;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    call c;
    _Atomic int asked = 0;
    rlx_memory_init(&m, NULL, (size_t)64 << 20);
    bool loaded = rlx_kernel_load(&m, bytes, len, &k, &why);
    if (loaded) {
        rlx_kernel_env_init(&env, &m);
        env.poll = stop_at_once;
        env.poll_user = &asked;
        prepare(&c);
        (void)!rlx_kernel_call(k, &env, c.args, 4, &why);
        prepare(&c);
        env.workers = rlx_workers_make(&m, 2, NULL, NULL);
        env.least_work = env.least_waking = 1;
        (void)!rlx_kernel_call(k, &env, c.args, 4, &why);
        rlx_kernel_env_free(&env);
        rlx_workers_free(env.workers);
        rlx_kernel_free(k);
    } else
        assert_int_not_equal(why.code, RLX_CODE_NONE);
    assert_int_equal(rlx_mem_live(&m), 0);
    return loaded;
}

static void damaged_bytes(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf bytes, text;
    write_shared(ctx, &bytes);
    uint8_t *copy = malloc(bytes.len + 64);
    memcpy(copy, bytes.data, bytes.len);
    assert_true(survives(copy, bytes.len));
    rlx_buf_init(&text, &ctx->memory);
    for (size_t i = 0; i < bytes.len; i++)
        for (int bit = 0; bit < 8; bit++) {
            copy[i] ^= (uint8_t)(1 << bit);
            survives(copy, bytes.len);
            if (bit == 3) {
                rlx_kernel_disassemble(copy, bytes.len, &text);
                rlx_buf_free(&text);
            }
            copy[i] ^= (uint8_t)(1 << bit);
        }
    for (size_t len = 0; len < bytes.len; len++) {
        uint8_t *cut = malloc(len + 1); /* exactly as long as it says, for the sanitizer */
        memcpy(cut, copy, len);
        assert_false(survives(cut, len));
        rlx_kernel_disassemble(cut, len, &text);
        rlx_buf_free(&text);
        free(cut);
    }
    free(copy);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

static void damaged_in_many_places(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf bytes;
    uint32_t seed = 12345;
    write_shared(ctx, &bytes);
    uint8_t *copy = malloc(bytes.len);
    for (int round = 0; round < 4000; round++) {
        memcpy(copy, bytes.data, bytes.len);
        for (int k = 0; k < 1 + round % 6; k++) {
            seed = seed * 1664525u + 1013904223u;
            /* the words of code are the interesting ones; small numbers are more often valid */
            copy[40 + (seed >> 8) % (bytes.len - 40)] =
                (uint8_t)(round & 1 ? seed >> 24 & 15 : seed >> 24);
        }
        survives(copy, bytes.len);
    }
    free(copy);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

/* ---- parallel loops that are none ----------------------------------------------------------- */

/* The code of a kernel, and the first instruction `op` from word `from` on. */
static uint8_t *code_of_bytes(uint8_t *bytes)
{
    static const uint32_t item[RLX_KERNEL_PARTS] = RLX_KERNEL_PART_ITEM;
    size_t at = RLX_KERNEL_HEADER_BYTES;
    for (int p = 0; p < RLX_KERNEL_CODE; p++)
        at += ((size_t)rlx_get_u32(bytes + 12 + 4 * p) * item[p] + 7) & ~(size_t)7;
    return bytes + at;
}

static uint32_t find_op(const uint8_t *code, uint32_t from, uint32_t op)
{
    while (rlx_get_u16(code + 2 * from) != op)
        from += rlx_kernel_op_words(rlx_get_u16(code + 2 * from));
    return from;
}

static void put_word(uint8_t *code, uint32_t at, uint32_t w)
{
    code[2 * at] = (uint8_t)w;
    code[2 * at + 1] = (uint8_t)(w >> 8);
}

static void bad_parallel_loops_are_refused(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf bytes;
    write_shared(ctx, &bytes);
    uint8_t *copy = malloc(bytes.len), *code = NULL;
    for (int way = 0; way < 7; way++) {
        static const char *const wanted[] = { "", "end inside a parallel loop", "operand of par",
                                              "end of no parallel loop", "jump across a parallel loop",
                                              "operand of par", "end of no parallel loop" };
        rlx_kernel *k = NULL;
        rlx_fault why = { 0 };
        memcpy(copy, bytes.data, bytes.len);
        code = code_of_bytes(copy);
        uint32_t par = find_op(code, 0, RLX_K_PAR), end = find_op(code, par, RLX_K_ENDPAR),
                 last = find_op(code, end, RLX_K_END),
                 strip = find_op(code, find_op(code, 0, RLX_K_PAR), RLX_K_NEXT_STRIP);
        switch (way) {
        case 1: put_word(code, end, RLX_K_END); break;
        case 2: put_word(code, par + 6, 0); break;       /* parts of nothing */
        case 3: put_word(code, par + 7, last - par); break; /* ends elsewhere */
        case 4: put_word(code, strip + 3, (uint32_t)-(int32_t)strip), put_word(code, strip + 4, 0xffff); break;
        case 5: /* what is written inside is read behind it */
            put_word(code, find_op(code, end, RLX_K_PAR) + 3, rlx_get_u16(code + 2 * (par + 1)));
            break;
        case 6:
            for (uint32_t i = 0; i < rlx_kernel_op_words(RLX_K_PAR); i++)
                put_word(code, par + i, RLX_K_ENDPAR);
            break;
        default: break;
        }
        bool loaded = rlx_kernel_load(&ctx->memory, copy, bytes.len, &k, &why);
        if (loaded != (way == 0) || !strstr(why.text, wanted[way]))
            fail_msg("way %d: %s", way, why.text);
        rlx_kernel_free(k);
    }
    free(copy);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

static void text_of_a_kernel(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf bytes, text;
    kc_write(ctx, example(ctx), &bytes);
    rlx_buf_init(&text, &ctx->memory);
    rlx_kernel_disassemble((const uint8_t *)bytes.data, bytes.len, &text);
    static const char *const parts[] = { "kernel k",
                                         "param %0:A float32 rank 2",
                                         "temp %4:P float32",
                                         "contract ",
                                         "reduce ",
                                         "load_each ",
                                         "end" };
    for (size_t i = 0; i < RLX_COUNT(parts); i++)
        if (!strstr(text.data, parts[i]))
            fail_msg("\"%s\" is missing in:\n%s", parts[i], text.data);
    rlx_buf_free(&text);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

/* ---- arguments ------------------------------------------------------------------------------ */

static int code_of(const rlx_kernel *k, rlx_kernel_env *env, call *c, int32_t num_args)
{
    rlx_fault why = { 0 };
    return rlx_kernel_call(k, env, c->args, num_args, &why) ? RLX_CODE_NONE : why.code;
}

static void arguments(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf bytes;
    rlx_kernel *k;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    call c;
    int64_t strides[2] = { 6, 1 }, columns[2] = { 1, 5 };
    kc_write(ctx, example(ctx), &bytes);
    assert_true(rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why));
    assert_int_equal(rlx_kernel_num_params(k), 4);
    rlx_kernel_env_init(&env, &ctx->memory);
    prepare(&c);
    assert_int_equal(code_of(k, &env, &c, 4), RLX_CODE_NONE);
    assert_int_equal(code_of(k, &env, &c, 3), RLX_RT01);
    c.args[0] = (relax_value){ RELAX_VALUE_INT, 0, { .i = 3 } };
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT02);
    prepare(&c), c.t[0].dtype.bits = 64;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT03);
    prepare(&c), c.t[0].dtype.lanes = 2;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT03);
    prepare(&c), c.t[0].ndim = 1;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT04);
    prepare(&c), c.shapes[0][0] = -1;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT05);
    prepare(&c), c.shapes[0][0] = INT64_MAX / 4;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT10);
    prepare(&c), c.shapes[0][1] = 5;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT05);
    prepare(&c), c.shapes[3][0] = 4;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT05);
    prepare(&c), c.t[0].strides = strides;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_CODE_NONE);
    prepare(&c), c.t[0].strides = columns;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT05);
    prepare(&c), c.t[0].byte_offset = 1;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT05);
    prepare(&c), c.t[0].data = NULL;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT05);
    prepare(&c), c.t[0].device.device_type = 2;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT13);
    prepare(&c), c.idx[1] = 5;
    assert_int_equal(code_of(k, &env, &c, 4), RLX_RT09);
    rlx_kernel_env_free(&env);
    rlx_kernel_free(k);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

/* ---- stopping ------------------------------------------------------------------------------- */

static void endless_loops_can_be_stopped(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_tir t;
    rlx_buf bytes;
    rlx_kernel *k;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    int asked = 0;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    rlx_tir_while(&t, rlx_int(ctx, RELAX_BOOL, 1));
    rlx_tir_end_while(&t);
    kc_write(ctx, rlx_tir_end(&t), &bytes);
    assert_true(rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why));
    rlx_kernel_env_init(&env, &ctx->memory);
    env.poll = stop_at_once;
    env.poll_user = &asked;
    assert_false(rlx_kernel_call(k, &env, NULL, 0, &why));
    assert_int_equal(why.code, RLX_RT12);
    assert_int_equal(asked, 1);
    rlx_kernel_env_free(&env);
    rlx_kernel_free(k);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

/* ---- memory that runs out ------------------------------------------------------------------- */

typedef struct failing { int left; } failing;

static void *fail_alloc(void *user, size_t size, size_t align)
{
    failing *f = user;
    if (f->left-- <= 0)
        return NULL;
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static void plain_free(void *user, void *p, size_t size, size_t align)
{
    free(p);
}

static void *fail_resize(void *user, void *p, size_t old_size, size_t new_size, size_t align)
{
    void *q = fail_alloc(user, new_size, align);
    if (q && p) {
        memcpy(q, p, old_size < new_size ? old_size : new_size);
        free(p);
    }
    return q;
}

/* Building, writing, loading and calling with each allocation failing in turn. */
static bool whole_way(failing *f)
{
    relax_allocator host = { sizeof host, f, fail_alloc, fail_resize, plain_free };
    rlx_context *ctx = rlx_context_create(&host, 0);
    rlx_buf bytes;
    rlx_kernel *k = NULL;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    call c;
    if (!ctx)
        return false;
    rlx_buf_init(&bytes, &ctx->memory);
    const rlx_prim_func *p = example(ctx);
    bool ok = p && rlx_kernel_write(ctx, p, RLX_SLICE("k"), &bytes, NULL);
    if (!ok)
        assert_true(rlx_error_count(ctx) > 0);
    ok = ok && rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why);
    if (ok) {
        rlx_kernel_env_init(&env, &ctx->memory);
        prepare(&c);
        ok = rlx_kernel_call(k, &env, c.args, 4, &why);
        rlx_kernel_env_free(&env);
    }
    if (!ok && why.code)
        assert_int_equal(why.code, RLX_RT10);
    rlx_kernel_free(k);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
    return ok;
}

static void every_allocation_fails_in_turn(void **state)
{
    int n = 0;
    for (failing f = { 0 }; n < 2000; n++) {
        f.left = n;
        if (whole_way(&f))
            break;
    }
    assert_in_range(n, 10, 1999);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damaged_bytes),
        cmocka_unit_test(damaged_in_many_places),
        cmocka_unit_test(bad_parallel_loops_are_refused),
        cmocka_unit_test(text_of_a_kernel),
        cmocka_unit_test(arguments),
        cmocka_unit_test(endless_loops_can_be_stopped),
        cmocka_unit_test(every_allocation_fails_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
