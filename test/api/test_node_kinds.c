/* test_node_kinds.c: every kind of expression and of struct info has a number for hosts, one of its
 * own, and an entry of visitors and mutators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <relax/rewrite.h>
#include "api/api_entries.h"

static const uint16_t of_visitor[RLX_NODE_COUNT] = RLX_API_EXPR_ENTRIES(relax_visitor, );
static const uint16_t of_info[RLX_NODE_COUNT] = RLX_API_INFO_ENTRIES(relax_visitor);

static void expressions_have_numbers_and_entries(void **unused)
{
    bool taken[256] = { false };
    for (unsigned kind = 0; kind < RLX_NODE_COUNT; kind++) {
        rlx_node n = { .kind = kind };
        if (rlx_kinds[kind].family != RLX_FAMILY_EXPR)
            continue;
        int32_t number = relax_expr_kind((const relax_expr *)&n);
        if (number <= 0 || taken[number])
            fail_msg("%s: api_inspect.c gives it the number %d", rlx_kinds[kind].name, (int)number);
        if (!of_visitor[kind])
            fail_msg("%s: api_entries.h has no entry for it", rlx_kinds[kind].name);
        taken[number] = true;
    }
}

static void struct_info_has_entries(void **unused)
{
    for (unsigned kind = 0; kind < RLX_NODE_COUNT; kind++)
        if (rlx_kinds[kind].family == RLX_FAMILY_SINFO && !of_info[kind])
            fail_msg("%s: api_entries.h has no entry for it", rlx_kinds[kind].name);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(expressions_have_numbers_and_entries),
        cmocka_unit_test(struct_info_has_entries),
    };
    return cmocka_run_group_tests_name("node_kinds", tests, NULL, NULL);
}
