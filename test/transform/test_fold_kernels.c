/* test_fold_kernels.c: what fold_constant has computed by kernels has the bits that the evaluator
 * gives, what fails there is left alone in both cases, and work beyond the limit is not done. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <relax/context.h>
#include "text_file.h"
#include "text_module.h"
#include "transform/transform.h"

typedef struct job { rlx_context *ctx; const rlx_module *bound; } job;

/* Parameters of any content, the second one of integers all zero. */
static rlx_weight weight(rlx_context *ctx, const rlx_var *v, const char *name, uint32_t seed)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(v->sinfo);
    int64_t *shape = rlx_new(ctx, 4 * sizeof *shape);
    size_t ndim, count = 1;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &ndim);
    for (size_t i = 0; i < ndim; i++) {
        assert_true(rlx_int_literal(dims[i], &shape[i]));
        count *= (size_t)shape[i];
    }
    rlx_blob *b = rlx_blob_create(&ctx->memory, NULL, count * rlx_dtype_bytes(t->dtype));
    for (size_t i = 0; i < count; i++) {
        seed = seed * 1664525u + 1013904223u;
        float f = (float)(seed >> 8) / (1 << 24) - 0.5f;
        uint16_t half = (uint16_t)(seed >> 31 << 15 | 0x3000 | (seed >> 12 & 0xbff));
        if (t->dtype == RELAX_FLOAT32)
            memcpy((float *)(void *)b->data + i, &f, 4);
        else if (t->dtype == RELAX_FLOAT16)
            memcpy((uint16_t *)(void *)b->data + i, &half, 2);
        else
            memset(b->data + i * rlx_dtype_bytes(t->dtype), 0, rlx_dtype_bytes(t->dtype));
    }
    return (rlx_weight){ rlx_slice_z(name), t->dtype, shape, ndim, b, v };
}

static job begin(const char *program, bool kernels)
{
    static const char *const names[] = { "a", "b", "c" };
    job j = { .ctx = relax_context_create(NULL) };
    rlx_weight w[3];
    assert_non_null(j.ctx->kernels);
    if (!kernels)
        j.ctx->kernels = NULL;
    const rlx_module *m = text_module(j.ctx, program);
    if (!m)
        fail_msg("%s", text_diagnostics(j.ctx));
    const rlx_function *f = rlx_as_function(m->functions[m->num_functions - 1]);
    for (uint32_t i = 0; i < 3; i++)
        w[i] = weight(j.ctx, rlx_as_var(f->params[i]), names[i], i);
    j.bound = rlx_bind_params(j.ctx, m, (rlx_slice){ NULL, 0 }, w, 3);
    assert_non_null(j.bound);
    for (int i = 0; i < 3; i++)
        rlx_blob_release(w[i].data);
    return j;
}

static char *fold(const job *j, int64_t max_steps)
{
    rlx_pass_step step = { .row = rlx_pass_find(RLX_SLICE("fold_constant")) };
    step.options = rlx_attrs_with(j->ctx, NULL, "max_steps", rlx_attr_int_new(j->ctx, max_steps));
    const rlx_module *m = rlx_run_passes(j->ctx, j->bound, &step, 1, NULL);
    assert_non_null(m);
    assert_int_equal(rlx_error_count(j->ctx), 0);
    return text_print(m);
}

static size_t count_of(const char *text, const char *what)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, what)) != NULL; at++)
        n++;
    return n;
}

/* Both ways print the same; `left` calls of operators remain. */
static void compare(const char *program, size_t left)
{
    job fast = begin(program, true), slow = begin(program, false);
    char *a = fold(&fast, 100000000), *b = fold(&slow, 100000000);
    assert_string_equal(a, b);
    assert_int_equal(count_of(a, " = R."), left);
    free(a);
    free(b);
    relax_context_release(fast.ctx);
    relax_context_release(slow.ctx);
}

static void test_products(void **state) { compare(PROGRAM("products"), 0); }
static void test_windows(void **state) { compare(PROGRAM("windows"), 0); }
static void test_steps(void **state) { compare(PROGRAM("steps"), 0); }
static void test_a_fault(void **state) { compare(PROGRAM("a fault"), 1); }
static void test_no_kernel(void **state)
{
    compare(PROGRAM("a function that no kernel can run"), 1);
}

static void test_limit(void **state)
{
    job j = begin(PROGRAM("products"), true);
    char *text = fold(&j, 3000);
    assert_int_equal(count_of(text, "R.matmul("), 1);
    free(text);
    relax_context_release(j.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_products), cmocka_unit_test(test_windows),
        cmocka_unit_test(test_steps),    cmocka_unit_test(test_a_fault),
        cmocka_unit_test(test_no_kernel), cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
