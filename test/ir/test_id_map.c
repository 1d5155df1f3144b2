/* test_id_map.c: numbers by node, in any order, and for two nodes of one serial number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "ir/ir.h"

enum { NODES = 5000 };

static void test_many(void **state)
{
    static rlx_node nodes[NODES];
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_id_map map;
    uintptr_t value;
    rlx_id_map_init(&map, &ctx->memory);
    for (size_t i = 0; i < NODES; i++)
        nodes[i] = (rlx_node){ .kind = RLX_NODE_VAR, .id = (uint32_t)(i * 7919 % NODES * 3 + 1) };
    for (size_t i = 0; i < NODES; i++) {
        assert_false(rlx_id_map_find(&map, &nodes[i], &value));
        assert_true(rlx_id_map_put(&map, &nodes[i], i));
    }
    for (size_t i = 0; i < NODES; i++) {
        assert_true(rlx_id_map_find(&map, &nodes[i], &value));
        assert_int_equal(value, i);
    }
    rlx_id_map_free(&map);
    rlx_context_release(ctx);
}

static void test_same_number(void **state)
{
    rlx_node a = { .kind = RLX_NODE_VAR, .id = 300 }, b = a;
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_id_map map;
    uintptr_t value;
    rlx_id_map_init(&map, &ctx->memory);
    assert_true(rlx_id_map_put(&map, &a, 1));
    assert_false(rlx_id_map_find(&map, &b, &value));
    assert_true(rlx_id_map_put(&map, &b, 2));
    assert_true(rlx_id_map_put(&map, &a, 3));
    assert_true(rlx_id_map_find(&map, &a, &value) && value == 3);
    assert_true(rlx_id_map_find(&map, &b, &value) && value == 2);
    rlx_id_map_free(&map);
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_many),
                                        cmocka_unit_test(test_same_number) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
