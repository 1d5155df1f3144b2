/* test_relay_convert.c: the table of converters beside that of operators. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "relay/relay_convert.h"
#include "relay/relay_relation.h"

/* A row for each operator, in the same order: an operator finds its converter by its place. */
static void every_operator_has_a_row(void **state)
{
    size_t n = 0;
    (void)state;
    for (const rlx_relay_op *op; (op = rlx_relay_op_at(n)); n++) {
        const rlx_relay_convert_row *row = rlx_relay_convert_of(op);
        assert_non_null(row);
        assert_string_equal(row->name, op->name);
        assert_ptr_equal(rlx_relay_op_find(rlx_slice_z(op->name)), op); /* no name twice */
        assert_int_equal(rlx_relay_op_index(op), n);
        /* What has no type is not translated, and says why. */
        const char *name;
        assert_true(op->relation ? rlx_relay_relation_find(rlx_slice_z(op->relation), &name) != NULL
                                 : !row->convert && strlen(row->argument) > 20);
    }
    assert_true(n > 250);
    assert_null(rlx_relay_convert_at(n));
    assert_null(rlx_relay_convert_find(rlx_slice_z("nn.dens")));
    rlx_relay_op host = { .name = "nn.dense" };
    assert_null(rlx_relay_convert_of(&host));
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(every_operator_has_a_row) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
