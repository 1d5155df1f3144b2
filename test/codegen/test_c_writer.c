/* test_c_writer: the text of generated C, what it is when memory is short, and native kernels
 * whose arguments overlap. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../base/failing.h"
#include "codegen/cgen.h"
#include "kernel_case.h"
#include "kernel_c.h"

/* B[i, j] = exp(A[i, 7 - j]) * n + A[3, j], with an odd name for each variable */
static const rlx_prim_func *example(rlx_context *ctx, const char *names[4])
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_dim(&t, names[0]), *eight = rlx_tir_int(&t, 8);
    const rlx_buffer *a = rlx_tir_param(&t, names[1], RELAX_FLOAT32, RLX_TIR_LIST(n, eight));
    const rlx_buffer *b = rlx_tir_param(&t, names[2], RELAX_FLOAT32, RLX_TIR_LIST(n, eight));
    rlx_tir_begin_block(&t, "b");
    const rlx_prim *i = rlx_tir_spatial(&t, names[3], n), *j = rlx_tir_spatial(&t, "j", eight);
    const rlx_prim *back = rlx_tir_sub(&t, rlx_tir_int(&t, 7), j);
    const rlx_prim *value = rlx_tir_call1(&t, "exp", rlx_tir_load(&t, a, RLX_TIR_LIST(i, back)));
    value = rlx_tir_mul(&t, value, rlx_tir_cast(&t, RELAX_FLOAT32, n));
    rlx_tir_store(
        &t, b, RLX_TIR_LIST(i, j),
        rlx_tir_add(&t, value, rlx_tir_load(&t, a, RLX_TIR_LIST(rlx_tir_int(&t, 3), j))));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

/* fail (may be NULL): which request of the writer of C fails. */
static bool write_failing(rlx_context *ctx, const rlx_prim_func *f, rlx_buf *out, failing *fail,
                          size_t n)
{
    rlx_buf bytes;
    rlx_kernel_hints hints = { 0 };
    char key[RLX_NATIVE_KEY + 1];
    rlx_buf_init(&bytes, &ctx->memory);
    bool ok = rlx_kernel_write(ctx, f, RLX_SLICE("an example"), &bytes, &hints);
    rlx_c_kernel k = {
        .name = RLX_SLICE("an example"), .bytes = { bytes.data, bytes.len }, .hints = hints.data, .num_hints = hints.len
    };
    if (fail)
        fail->fail_at = n ? fail->calls + n : 0;
    ok = ok && rlx_c_write(ctx, &k, 1, false, NULL, out, key);
    rlx_vec_free(&ctx->memory, &hints);
    rlx_buf_free(&bytes);
    return ok;
}

static bool write(rlx_context *ctx, const rlx_prim_func *f, rlx_buf *out)
{
    return write_failing(ctx, f, out, NULL, 0);
}

static void expect_text(const rlx_buf *out, const char *text, bool there)
{
    if ((strstr(out->data, text) != NULL) != there) {
        print_error("%s\n%s: %s\n", strstr(out->data, "/* an_example"),
                    there ? "missing" : "not wanted", text);
        fail();
    }
}

static void text_keeps_names(void **state)
{
    const char *names[] = { "rows", "x", "y", "i" };
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf out;
    rlx_buf_init(&out, &ctx->memory);
    assert_true(write(ctx, example(ctx, names), &out));
    expect_text(&out, "const float *restrict x = (const float *)call->buffers[0].data;", true);
    expect_text(&out, "float *restrict y = (float *)call->buffers[1].data;", true);
    expect_text(&out, "const int64_t rows = call->buffers[0].shape[0];", true);
    /* nobody knows that there are four rows */
    expect_text(&out, "RELAX_CHECK(3, 3, rows, 0, 0);", true);
    expect_text(&out, "for (int64_t j", true);
    expect_text(&out, "rlx_exp_f32(", true);
    expect_text(&out, "rlx_half_to_float", false); /* only helpers that are used */
    expect_text(&out, "rlx_floor_div_i64", false);
    rlx_buf_free(&out);
    rlx_context_release(ctx);
}

/* Words of C, of the prelude and of macros, and names that are no identifiers. */
static void names_that_would_clash(void **state)
{
    const char *names[][4] = {
        { "for", "rlx_exp_f32", "call", "int" },
        { "expf", "exp", "memcpy", "NAN" },
        { "\xc3\xa4", "7up", "a-b", "__x" },
        { "x", "x", "x", "x" },
        { "RELAX_CHECK", "int64_t", "begin", "end" },
        { "INFINITY", "linux", "t1", "t2" },
        { "restrict", "kernels", "relax_kernels", "j" },
        { "low_", "high_", "size_", "found_" },
        { "uint32_t", "relax_kernel_call", "RELAX_SPEND_", "rlx_x" },
    };
    for (size_t k = 0; k < RLX_COUNT(names); k++) {
        kc c = { .seed = k };
        rlx_context *ctx = rlx_context_create(NULL, 0);
        kc_c_begin(1);
        kc_tensor2(&c, RELAX_FLOAT32, 5, 8);
        kc_tensor2(&c, RELAX_FLOAT32, 5, 8);
        assert_int_equal(kc_run(ctx, example(ctx, names[k]), &c, NULL), RLX_CODE_NONE);
        kc_c_end();
        kc_free(&c);
        rlx_context_release(ctx);
    }
}

/* The greater (mode 0) or lesser (1) of x[i] and a number, in this order or (2, 3) the other one; or (4) what depends on x[i] < number. */
static const rlx_prim_func *bound(rlx_context *ctx, int mode, double number)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *size = rlx_tir_int(&t, 40), *c = rlx_tir_float(&t, RELAX_FLOAT32, number);
    const rlx_buffer *x = rlx_tir_param(&t, "x", RELAX_FLOAT32, RLX_TIR_LIST(size)), *y = rlx_tir_param(&t, "y", RELAX_FLOAT32, RLX_TIR_LIST(size));
    rlx_tir_begin_block(&t, "b");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", size), *v = rlx_tir_load(&t, x, RLX_TIR_LIST(i)), *a = mode < 2 ? v : c, *b = mode < 2 ? c : v;
    rlx_tir_store(&t, y, RLX_TIR_LIST(i),
                  mode == 4  ? rlx_tir_select(&t, rlx_tir_lt(&t, v, c), rlx_tir_call1(&t, "exp", v), rlx_tir_add(&t, v, v))
                  : mode % 2 ? rlx_tir_min(&t, a, b)
                             : rlx_tir_max(&t, a, b));
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

/* Bounds that are numbers have a text of their own, choices have both sides in front of them. */
static void bounds_and_choices(void **state)
{
    static const double numbers[] = { 0, -0.0, 1.5, -1.5, INFINITY, -INFINITY, NAN, 1e-40 };
    static const char *const texts[][2] = { { "rlx_at_least_0_f32(x[i])", "rlx_at_least_f32(x[i], 1.5f)" },
                                            { "rlx_at_most_f32(x[i], 0.0f)", "rlx_at_most_f32(x[i], 1.5f)" } };
    kc_c_begin(1);
    for (int mode = 0; mode < 5; mode++)
        for (size_t n = 0; n < RLX_COUNT(numbers); n++) {
            kc c = { .seed = n };
            rlx_context *ctx = rlx_context_create(NULL, 0);
            const rlx_prim_func *f = bound(ctx, mode, numbers[n]);
            float *x = kc_tensor1(&c, RELAX_FLOAT32, 40);
            kc_tensor1(&c, RELAX_FLOAT32, 40);
            for (size_t i = 0; i < RLX_COUNT(numbers); i++)
                x[i] = (float)numbers[i], x[20 + i] = -(float)numbers[i];
            assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
            rlx_buf out;
            rlx_buf_init(&out, &ctx->memory);
            assert_true(write(ctx, f, &out));
            if (mode < 4 && (n == 0 || n == 2))
                expect_text(&out, texts[mode % 2][n == 2], true);
            expect_text(&out, "rlx_at_", mode < 4 && n != 1 && n != 6);
            expect_text(&out, " = rlx_exp_f32(", mode == 4);
            rlx_buf_free(&out);
            kc_free(&c);
            rlx_context_release(ctx);
        }
    kc_c_end();
}

static void short_of_memory(void **state)
{
    const char *names[] = { "rows", "x", "y", "i" };
    for (size_t n = 0, done = 0; !done; n++) {
        failing f = { .fail_at = 0 };
        f.allocator = (relax_allocator){ sizeof(relax_allocator), &f, failing_alloc,
                                         failing_resize, failing_free };
        rlx_context *ctx = rlx_context_create(&f.allocator, 0);
        const rlx_prim_func *func = example(ctx, names);
        rlx_buf out;
        rlx_buf_init(&out, &ctx->memory);
        bool ok = write_failing(ctx, func, &out, &f, n);
        bool refused = f.fail_at && f.calls >= f.fail_at;
        assert_true(ok == !refused);
        assert_true(ok || ctx->diags.out_of_memory);
        done = n && !refused;
        rlx_buf_free(&out);
        rlx_context_release(ctx);
        assert_int_equal(f.live, 0);
    }
}

/* y[i] = function of x[i], n of them; n = 0: any number. Of a loop over scalars each is the function of the one before as well. */
static const rlx_prim_func *map_of(rlx_context *ctx, const char *function, rlx_dtype dtype, int64_t n, bool scalars)
{
    rlx_tir t;
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_prim *size = n ? rlx_tir_int(&t, n) : rlx_tir_dim(&t, "n");
    const rlx_buffer *x = rlx_tir_param(&t, "x", dtype, RLX_TIR_LIST(size)), *y = rlx_tir_param(&t, "y", dtype, RLX_TIR_LIST(size));
    rlx_tir_begin_block(&t, "b");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", size), *value = rlx_tir_load(&t, x, RLX_TIR_LIST(i));
    if (scalars)
        value = rlx_tir_add(&t, value, rlx_tir_load(&t, y, RLX_TIR_LIST(rlx_tir_max(&t, rlx_tir_sub(&t, i, rlx_tir_int(&t, 1)), rlx_tir_int(&t, 0)))));
    value = strcmp(function, "add") == 0 ? rlx_tir_add(&t, value, value) : rlx_tir_call1(&t, function, value);
    rlx_tir_store(&t, y, RLX_TIR_LIST(i), value);
    rlx_tir_end_block(&t);
    return rlx_tir_end(&t);
}

/* Bytecode has functions for strips that compilers make no such vectors of. */
static void what_is_left_to_bytecode(void **state)
{
    static const struct { const char *function; rlx_dtype dtype; int64_t n; bool scalars, asks; } cases[] = {
        { "exp", RELAX_FLOAT32, 4096, false, true },
        { "exp", RELAX_FLOAT32, 0, false, true },
        { "exp", RELAX_FLOAT32, 40, false, false },    /* a short strip */
        { "exp", RELAX_FLOAT32, 4096, true, false },   /* none at all */
        { "sin", RELAX_FLOAT32, 300, false, true },
        { "round", RELAX_FLOAT32, 0, false, true },
        { "sigmoid", RELAX_FLOAT32, 1 << 20, false, true },
        { "tan", RELAX_FLOAT32, 4096, false, false },
        { "sqrt", RELAX_FLOAT32, 4096, false, false },
        { "sqrt", RELAX_FLOAT32, 0, false, false },
        { "add", RELAX_FLOAT32, 4096, false, false },
        { "add", RELAX_FLOAT16, 4096, false, true },
        { "exp", RELAX_FLOAT64, 4096, false, false },
        { "add", RELAX_INT8, 4096, false, false },
    };
    for (size_t i = 0; i < RLX_COUNT(cases); i++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        rlx_buf bytes, out;
        char key[RLX_NATIVE_KEY + 1];
        rlx_buf_init(&out, &ctx->memory);
        kc_write(ctx, map_of(ctx, cases[i].function, cases[i].dtype, cases[i].n, cases[i].scalars), &bytes);
        rlx_c_kernel k = { .name = RLX_SLICE("an example"), .bytes = { bytes.data, bytes.len } };
        rlx_c_choose(&k);
        if ((k.left_from != 0) != cases[i].asks) {
            print_error("%s of %d: from %d\n", cases[i].function, (int)cases[i].n, (int)k.left_from);
            fail();
        }
        assert_true(rlx_c_write(ctx, &k, 1, false, NULL, &out, key));
        expect_text(&out, "if (call->buffers[1].count >= ", cases[i].asks);
        expect_text(&out, "    return RELAX_KERNEL_BYTECODE;", cases[i].asks);
        rlx_buf_free(&out);
        rlx_buf_free(&bytes);
        rlx_context_release(ctx);
    }
}

static int leaves(relax_kernel_call *call) { return RELAX_KERNEL_BYTECODE; }

/* A native kernel that copies what it reads, from the back. */
static int pretend(relax_kernel_call *call)
{
    const float *x = call->buffers[0].data;
    float *y = call->buffers[1].data;
    for (int i = 40; i-- > 0;)
        y[i] = x[i] + 1000;
    return 0;
}

static void count_up(float *memory)
{
    for (int i = 0; i < 200; i++)
        memory[i] = (float)i;
}

/* What is read is what was there before the call, whatever the order of the kernel; so in bytecode
 * as in native code. */
static void overlapping_arguments(void **state)
{
    const char *names[] = { "rows", "x", "y", "i" };
    float memory[200], apart[40], wanted[40];
    int64_t shape[2] = { 5, 8 };
    DLDataType t = { RELAX_DTYPE_FLOAT, 32, 1 };
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_buf bytes;
    rlx_kernel *k = NULL;
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    kc_write(ctx, example(ctx, names), &bytes);
    assert_true(rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why));
    rlx_kernel_env_init(&env, &ctx->memory);
    for (int native = 0; native < 3; native++) {
        if (native)
            rlx_kernel_set_native(k, native == 1 ? pretend : leaves);
        for (int distance = -1; distance <= 80; distance++) {
            DLTensor a = { memory + 40, { 1, 0 }, 2, t, shape, NULL, 0 },
                     b = { distance < 0 ? apart : memory + distance, { 1, 0 }, 2, t, shape, NULL,
                           0 };
            relax_value args[2] = { { RELAX_VALUE_TENSOR_VIEW, 0, { .p = &a } },
                                    { RELAX_VALUE_TENSOR_VIEW, 0, { .p = &b } } };
            count_up(memory);
            assert_true(rlx_kernel_call(k, &env, args, 2, &why));
            if (distance >= 0)
                assert_memory_equal(memory + distance, apart, sizeof apart);
        }
        if (native == 0)
            memcpy(wanted, apart, sizeof apart);
        else
            assert_int_equal(memcmp(wanted, apart, sizeof apart) == 0, native == 2);
    }
    rlx_kernel_env_free(&env);
    rlx_kernel_free(k);
    rlx_buf_free(&bytes);
    rlx_context_release(ctx);
}

/* A number beside tensors lies elsewhere for native code than for the bytecode that a call is left to. */
static void left_with_a_number(void **state)
{
    for (int native = 0; native < 2; native++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        rlx_tir t;
        kc c = { .seed = 1 };
        rlx_buf bytes;
        rlx_kernel *k = NULL;
        rlx_fault why = { 0 };
        rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
        const rlx_prim *size = rlx_tir_int(&t, 40), *i;
        const rlx_buffer *x = rlx_tir_param(&t, "x", RELAX_INT32, RLX_TIR_LIST(size));
        const rlx_prim *number = rlx_tir_scalar(&t, "number", RELAX_INT32);
        const rlx_buffer *y = rlx_tir_param(&t, "y", RELAX_INT32, RLX_TIR_LIST(size));
        rlx_tir_begin_block(&t, "b");
        i = rlx_tir_spatial(&t, "i", size);
        rlx_tir_store(&t, y, RLX_TIR_LIST(i), rlx_tir_add(&t, rlx_tir_load(&t, x, RLX_TIR_LIST(i)), number));
        rlx_tir_end_block(&t);
        kc_write(ctx, rlx_tir_end(&t), &bytes);
        assert_true(rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why));
        if (native)
            rlx_kernel_set_native(k, leaves);
        const int32_t *from = kc_tensor1(&c, RELAX_INT32, 40);
        kc_int(&c, RELAX_INT32, 1000);
        const int32_t *to = kc_tensor1(&c, RELAX_INT32, 40);
        assert_int_equal(kc_call(&ctx->memory, k, &c, &why), RLX_CODE_NONE);
        for (int at = 0; at < 40; at++)
            assert_int_equal(to[at], from[at] + 1000);
        kc_free(&c);
        rlx_kernel_free(k);
        rlx_buf_free(&bytes);
        rlx_context_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_keeps_names),
        cmocka_unit_test(names_that_would_clash),
        cmocka_unit_test(bounds_and_choices),
        cmocka_unit_test(short_of_memory),
        cmocka_unit_test(what_is_left_to_bytecode),
        cmocka_unit_test(overlapping_arguments),
        cmocka_unit_test(left_with_a_number),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
