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
#include "analysis/well_formed.h"
#include "transform/transform.h"
#include "text_file.h"

/* One attempt, the allocation number `fail_at` after reading refused; returns how many there
 * were. */
static size_t attempt(const char *text, int level, size_t fail_at, bool *passed)
{
    failing f;
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    rlx_memory unused;
    failing_init(&f, &unused, 0);
    rlx_context *ctx = rlx_context_create(&f.allocator, 0);
    const rlx_module *m = text_module(ctx, text);
    assert_non_null(m);
    size_t before = f.calls;
    f.fail_at = fail_at ? before + fail_at : 0;
    bool formed = rlx_well_formed(ctx, m, RLX_STAGE_EXPLICIT);
    const rlx_module *out = formed ? rlx_run_passes(ctx, m, steps, rlx_build_pipeline(level, steps),
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

static void each_allocation(const char *text, int level)
{
    bool passed;
    size_t calls = attempt(text, level, 0, &passed), step = calls > 600 ? calls / 600 : 1;
    assert_true(passed && calls > 100);
    for (size_t i = 1; i <= calls; i += step)
        attempt(text, level, i, &passed);
}

static void test_each_allocation(void **state)
{
    (void)state;
    each_allocation(PROGRAM("something for every pass"), 1);
}

static void test_layers_that_turn(void **state)
{
    (void)state;
    each_allocation(PROGRAM("layers that turn"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_each_allocation), cmocka_unit_test(test_layers_that_turn) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
