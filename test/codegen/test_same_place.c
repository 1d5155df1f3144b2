/* test_same_place: which inputs of a kernel may be the memory of its output, and that a call where they
 * are gives the same numbers, without copying what it reads. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analysis/analysis.h"
#include "kernel_case.h"
#include "text_file.h"
#include "text_module.h"

enum { ROWS = 6, COLUMNS = 8, COUNT = ROWS * COLUMNS };

static const struct { const char *program; int32_t into[2]; } cases[] = {
    { "elementwise: 1, a row broadcast: 0", { 2, -1 } },
    { "the next element: none", { -1, -1 } },
    { "several loops: what the last ones do not read any more", { 2, 2 } },
    { "read again when it is overwritten: none", { -1, -1 } },
    { "a name that is used after the store: none", { -1, -1 } },
    { "each element once for each row of a sum: none", { -1, -1 } },
    { "part by part: what each part reads before it overwrites it; the other input is read beyond its part", { 2, -1 } },
    { "parts of parts, in memory that all of them use: both", { 2, 2 } },
    { "parts that reach into the next one: none", { -1, -1 } },
    { "parts that are read again behind their stores, or in another order: none", { -1, -1 } },
};

static const rlx_prim_func *read_function(rlx_context *ctx, size_t i)
{
    const rlx_module *m = text_module(ctx, PROGRAM(cases[i].program));
    assert_non_null(m);
    const rlx_prim_func *f = rlx_as_prim_func(m->functions[0]);
    assert_non_null(f);
    return f;
}

static void inputs_are_told_apart(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(cases); i++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        const rlx_prim_func *f = read_function(ctx, i);
        int32_t into[3];
        bool any = rlx_find_same_place(ctx, f, into);
        if (into[0] != cases[i].into[0] || into[1] != cases[i].into[1] || into[2] != -1)
            fail_msg("%s: %d, %d, %d", cases[i].program, into[0], into[1], into[2]);
        assert_int_equal(any, into[0] >= 0 || into[1] >= 0);
        rlx_context_release(ctx);
    }
}

static void fill(float *memory)
{
    for (int i = 0; i < 3 * COUNT; i++)
        memory[i] = (float)(i % 37) / 4 - 3;
}

/* Argument `shared` (-1: none) is the output. Returns the bytes that were copied. */
static size_t call(const rlx_kernel *k, rlx_memory *m, int shared, float *out)
{
    static float memory[3 * COUNT];
    int64_t shape[2] = { ROWS, COLUMNS };
    DLDataType t = { RELAX_DTYPE_FLOAT, 32, 1 };
    DLTensor views[3];
    relax_value args[3];
    rlx_kernel_env env;
    rlx_fault why = { 0 };
    fill(memory);
    for (int i = 0; i < 3; i++) {
        int at = i == 2 && shared >= 0 ? shared : i;
        views[i] = (DLTensor){ memory + at * COUNT, { 1, 0 }, 2, t, shape, NULL, 0 };
        args[i] = (relax_value){ RELAX_VALUE_TENSOR_VIEW, 0, { .p = &views[i] } };
    }
    rlx_kernel_env_init(&env, m);
    assert_true(rlx_kernel_call(k, &env, args, 3, &why));
    memcpy(out, views[2].data, COUNT * sizeof *out);
    size_t copied = env.copies.size;
    rlx_kernel_env_free(&env);
    return copied;
}

static void nothing_is_copied(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(cases); i++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        const rlx_prim_func *f = read_function(ctx, i);
        float apart[COUNT], together[COUNT];
        rlx_buf bytes;
        rlx_kernel *k = NULL;
        rlx_fault why = { 0 };
        kc_write(ctx, f, &bytes);
        assert_true(rlx_kernel_load(&ctx->memory, (const uint8_t *)bytes.data, bytes.len, &k, &why));
        assert_int_equal(call(k, &ctx->memory, -1, apart), 0);
        for (int shared = 0; shared < 2 && !rlx_kernel_param_is_written(k, shared); shared++) {
            size_t copied = call(k, &ctx->memory, shared, together);
            assert_int_equal(copied == 0, cases[i].into[shared] >= 0);
            assert_memory_equal(apart, together, sizeof apart);
        }
        rlx_kernel_free(k);
        rlx_buf_free(&bytes);
        rlx_context_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inputs_are_told_apart),
        cmocka_unit_test(nothing_is_copied),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
