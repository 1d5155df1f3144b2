/* test_bind_params.c: weights become constants; sizes they fix become numbers; what does not
 * fit is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text_module.h"
#include "analysis/well_formed.h"
#include "transform/transform.h"
#include "text_file.h"

static const struct {
    const char *name;
    rlx_dtype dtype;
    int64_t shape[2];
    size_t ndim, bytes;
    const char *function, *codes;
} rows[] = {
    { "w", RELAX_FLOAT32, { 3, 2 }, 2, 24, "main", "" },
    { "w", RELAX_FLOAT32, { 3, 2 }, 2, 24, "", "" },
    { "w", RELAX_FLOAT64, { 3, 2 }, 2, 48, "", "CG12" },
    { "w", RELAX_FLOAT32, { 3, 4 }, 2, 48, "", "CG12" },
    { "w", RELAX_FLOAT32, { 6 }, 1, 24, "", "CG12" },
    { "w", RELAX_FLOAT32, { 3, 2 }, 2, 20, "", "CG12" },
    { "v", RELAX_FLOAT32, { 3, 2 }, 2, 24, "", "OP15" },
    { "w", RELAX_FLOAT32, { 3, 2 }, 2, 24, "other", "OP15" },
};

static void test_rows(void **state)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        char room[256];
        rlx_shared_memory *memory = rlx_shared_memory_create(NULL, SIZE_MAX);
        rlx_blob *data = rlx_blob_create(&memory->memory, NULL, rows[i].bytes);
        memset(data->data, 0, rows[i].bytes);
        rlx_weight w = { rlx_slice_z(rows[i].name), rows[i].dtype, rows[i].shape, rows[i].ndim,
                         data, NULL };
        const rlx_module *m = text_module(ctx, PROGRAM("sizes and weights"));
        const rlx_module *out = rlx_bind_params(ctx, m, rlx_slice_z(rows[i].function), &w, 1);
        assert_string_equal(text_codes(ctx, room), rows[i].codes);
        assert_int_equal(out != NULL, !rows[i].codes[0]);
        if (out) {
            char *text = text_print(out);
            if (!strstr(text, "def main(x: R.Tensor((\"n\", 3), dtype=\"float32\")) -> "
                              "R.Tensor((\"n\", 2), dtype=\"float32\"):") ||
                !strstr(text, "metadata")) {
                print_error("%s\n", text);
                fail();
            }
            free(text);
            assert_true(rlx_well_formed(ctx, out, RLX_STAGE_NORMAL));
        }
        rlx_context_release(ctx);
        rlx_blob_release(data);
        rlx_shared_memory_release(memory);
    }
}

static void test_called_inside(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    float data[4] = { 0 };
    char room[256];
    const rlx_module *m = text_module(ctx, PROGRAM("called inside"));
    rlx_blob *blob = rlx_blob_create(&ctx->memory, data, sizeof data);
    int64_t four = 4;
    rlx_weight w = { RLX_SLICE("w"), RELAX_FLOAT32, &four, 1, blob, NULL };
    assert_non_null(m);
    assert_null(rlx_bind_params(ctx, m, RLX_SLICE("f"), &w, 1));
    assert_string_equal(text_codes(ctx, room), "CG12");
    rlx_blob_release(blob);
    rlx_context_release(ctx);
}

/* The size of the weight is a 32-bit variable. */
static void test_widened(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    float data[6] = { 0 };
    int64_t shape[] = { 3, 2 }, large[] = { (int64_t)1 << 31, 0 };
    char room[256];
    const rlx_module *m = text_module(ctx, PROGRAM("sizes and weights"));
    const rlx_function *f = rlx_as_function(m->functions[0]);
    const rlx_shape_expr *dims =
        rlx_as_shape_expr(rlx_as_tensor_sinfo(rlx_as_var(f->params[1])->sinfo)->shape);
    const rlx_prim *k = dims->values[0], *narrow = &rlx_prim_var_new(ctx, rlx_as_prim_var(k)->name,
                                                                     RELAX_INT32, 0)->node,
                   *wide = rlx_cast(ctx, RELAX_INT64, narrow);
    m = (const rlx_module *)rlx_substitute(ctx, &m->node, &k, &wide, 1);
    rlx_blob *blob = rlx_blob_create(&ctx->memory, data, sizeof data);
    rlx_weight w = { RLX_SLICE("w"), RELAX_FLOAT32, shape, 2, blob, NULL };
    const rlx_module *out = rlx_bind_params(ctx, m, RLX_SLICE("main"), &w, 1);
    assert_string_equal(text_codes(ctx, room), "");
    char *text = text_print(out);
    assert_non_null(strstr(text, "def main(x: R.Tensor((\"n\", 3), dtype=\"float32\")) -> "));
    assert_null(strstr(text, "int32"));
    free(text);
    assert_true(rlx_well_formed(ctx, out, RLX_STAGE_NORMAL));
    w.shape = large;
    assert_null(rlx_bind_params(ctx, m, RLX_SLICE("main"), &w, 1));
    assert_string_equal(text_codes(ctx, room), "CG12");
    rlx_blob_release(blob);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows),
                                        cmocka_unit_test(test_widened),
                                        cmocka_unit_test(test_called_inside) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
