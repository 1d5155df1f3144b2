/* test_pass_memory.c: every allocation of a pipeline and of the checker fails in turn: a clean
 * failure each time, nothing leaks. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../base/failing.h"
#include "text_module.h"
#include "transform/transform.h"

static const char program[] =
    "@I.ir_module\nclass Module:\n    @R.function(private=True)\n"
    "    def half(x: R.Tensor((\"n\", 4), dtype=\"float32\")) -> R.Tensor((\"n\", 4), "
    "dtype=\"float32\"):\n"
    "        y = R.multiply(x, R.const(0.5, \"float32\"))\n        return y\n\n"
    "    @R.function\n"
    "    def unsized(x: R.Tensor(dtype=\"float32\", ndim=2), t: "
    "R.Tuple(R.Tensor(dtype=\"float32\", ndim=2))) -> R.Tensor(dtype=\"float32\", ndim=2):\n"
    "        a = R.exp(x)\n        b = R.concat(t, axis=0)\n        c = R.concat((a, b), "
    "axis=0)\n        return c\n\n"
    "    @R.function\n"
    "    def main(x: R.Tensor((\"n\", 4), dtype=\"float32\"), c: R.Tensor((), dtype=\"bool\"), s: "
    "R.Shape([\"n\", 4])) -> R.Tensor((\"n\", 4), dtype=\"float32\"):\n"
    "        n = T.int64()\n        m = T.int64()\n        cls = Module\n"
    "        k = R.add(R.const(1.0, \"float32\"), R.const(2.0, \"float32\"))\n"
    "        with R.dataflow():\n            lv = R.exp(x)\n            lv1 = R.match_cast(lv, "
    "R.Tensor((m, 4), dtype=\"float32\"))\n            lv2 = R.add(lv1, k)\n            gv = "
    "lv2\n            R.output(gv)\n"
    "        t = (gv, x)\n        u = t[0]\n"
    "        if c:\n            a = R.sin(u)\n            b = R.tanh(a)\n            r = "
    "cls.half(b)\n        else:\n            r = x\n"
    "        return r\n";

/* One attempt, the allocation number `fail_at` after reading refused; returns how many there
 * were. */
static size_t attempt(size_t fail_at, bool *passed)
{
    failing f;
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    rlx_memory unused;
    failing_init(&f, &unused, 0);
    rlx_context *ctx = rlx_context_create(&f.allocator, 0);
    const rlx_module *m = text_module(ctx, program);
    assert_non_null(m);
    size_t before = f.calls;
    f.fail_at = fail_at ? before + fail_at : 0;
    bool formed = rlx_well_formed(ctx, m, RLX_STAGE_EXPLICIT);
    const rlx_module *out = formed ? rlx_run_passes(ctx, m, steps, rlx_build_pipeline(1, steps),
                                                    &(rlx_pass_hooks){ .verify = true })
                                   : NULL;
    size_t calls = f.calls - before;
    bool failed = fail_at && f.calls >= f.fail_at;
    f.fail_at = 0;
    *passed = out != NULL;
    if (!out)
        assert_true(failed && rlx_error_count(ctx) > 0);
    rlx_context_release(ctx);
    assert_int_equal(f.live, 0);
    assert_int_equal(f.blocks, 0);
    return calls;
}

static void test_each_allocation(void **state)
{
    bool passed;
    size_t calls = attempt(0, &passed), step = calls > 600 ? calls / 600 : 1;
    assert_true(passed && calls > 100);
    for (size_t i = 1; i <= calls; i += step)
        attempt(i, &passed);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_allocation) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
