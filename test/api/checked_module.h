/* checked_module.h: modules from text and modules compared, for tests of what rewrites them. */
#ifndef TEST_API_CHECKED_MODULE_H
#define TEST_API_CHECKED_MODULE_H

#include "api_fixture.h"

#define T(rows) "R.Tensor((" rows "), dtype=\"float32\")"
#define HEAD "from tvm.script import ir as I, relax as R, tir as T\n\n"

/* Well-formed, and nothing is said about it. */
static inline relax_module *parsed(relax_context *ctx, const char *text)
{
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text));
    assert_quiet(ctx);
    assert_non_null(m);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
    return m;
}

/* `got` is well-formed and equal to `want`; both are shown if not. */
static inline void assert_same(relax_context *ctx, const relax_module *got,
                               const relax_module *want)
{
    assert_quiet(ctx);
    assert_non_null(got);
    assert_int_equal(relax_module_well_formed(ctx, got, RELAX_CHECK_NORMAL), 1);
    assert_quiet(ctx);
    if (relax_node_equal(ctx, relax_module_as_node(got), relax_module_as_node(want), 0) == 1)
        return;
    char *a = printed(ctx, relax_module_as_node(want)),
         *b = printed(ctx, relax_module_as_node(got));
    fail_msg("wanted\n%s\ngot\n%s", a, b);
}

#endif
