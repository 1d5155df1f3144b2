/* test_encode.c: packed struct info and expressions: what is encoded says the same as what was
 * written. */
#include "../base/cmocka_all.h"
#include "arith/arith.h"
#include "desc/desc.h"
#include "ir/ir.h"
#include "sinfo/sinfo.h"

typedef struct kit {
    rlx_context *ctx;
    rlx_file_writer w;
    rlx_ptrmap slots, to_bind;
    rlx_encoder e;
    const rlx_prim *n, *m;
} kit;

static int32_t slot_of(void *user, const rlx_prim_var *v)
{
    uintptr_t slot;
    return rlx_ptrmap_find(&((kit *)user)->slots, v, &slot) ? (int32_t)slot : -1;
}

static const rlx_prim *new_var(kit *k, const char *name, uintptr_t slot)
{
    const rlx_prim *v = (const rlx_prim *)rlx_prim_var_new(k->ctx, rlx_string_z(k->ctx, name),
                                                           RELAX_INT64, RLX_NO_PLACE);
    assert_true(rlx_ptrmap_put(&k->slots, v, slot));
    return v;
}

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    k->ctx = rlx_context_create(NULL, 0);
    rlx_file_writer_init(&k->w, &k->ctx->memory);
    rlx_ptrmap_init(&k->slots, &k->ctx->memory);
    rlx_ptrmap_init(&k->to_bind, &k->ctx->memory);
    k->e = (rlx_encoder){
        .ctx = k->ctx, .out = &k->w, .slot_of = slot_of, .user = k, .to_bind = &k->to_bind
    };
    k->n = new_var(k, "n", 0);
    k->m = new_var(k, "m", 1);
}

static void end(kit *k)
{
    rlx_ptrmap_free(&k->slots);
    rlx_ptrmap_free(&k->to_bind);
    rlx_file_writer_free(&k->w);
    rlx_context_release(k->ctx);
}

static int64_t value(kit *k, const rlx_prim *p, int64_t n, int64_t m, bool *ok)
{
    uint32_t offset = 0;
    int64_t syms[4] = { n, m, 0, 0 }, out = 0;
    rlx_names names = rlx_file_writer_names(&k->w);
    rlx_fault why = { 0 };
    *ok = rlx_prim_encode(&k->e, p, &offset);
    rlx_desc_env env = { .descs = k->w.descs.data, .syms = syms, .names = &names };
    *ok = *ok && rlx_desc_expr_eval(&env, offset, &out, &why);
    return out;
}

static const enum rlx_node_kind kinds[] = {
    RLX_NODE_ADD,       RLX_NODE_SUB,       RLX_NODE_MUL, RLX_NODE_DIV, RLX_NODE_MOD,
    RLX_NODE_FLOOR_DIV, RLX_NODE_FLOOR_MOD, RLX_NODE_MIN, RLX_NODE_MAX, RLX_NODE_EQ,
    RLX_NODE_NE,        RLX_NODE_LT,        RLX_NODE_LE,  RLX_NODE_GT,  RLX_NODE_GE,
};

/* Every operator gives what the evaluator of arith gives, for numbers of both signs. */
static void test_operators(void **state)
{
    static const int64_t numbers[] = { -7, -2, -1, 0, 1, 3, 8 };
    kit k;
    begin(&k);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const rlx_prim *p = rlx_binary_new(k.ctx, kinds[i], k.n, k.m);
        const rlx_prim *wide = rlx_select_new(k.ctx, rlx_binary_new(k.ctx, RLX_NODE_LT, k.n, k.m),
                                              rlx_prim_dtype(p) == RELAX_INT64 ? p : k.n, k.m);
        for (size_t a = 0; a < 7; a++)
            for (size_t b = 0; b < 7; b++) {
                const rlx_prim_var *vars[] = { (const rlx_prim_var *)k.n,
                                               (const rlx_prim_var *)k.m };
                int64_t values[] = { numbers[a], numbers[b] }, want = 0;
                rlx_assignment given = { vars, values, 2 };
                bool fine, expected = rlx_prim_evaluate(p, &given, &k.ctx->memory, &want);
                int64_t have = value(&k, p, numbers[a], numbers[b], &fine);
                assert_int_equal(fine, expected);
                assert_true(!fine || have == want);
                expected = rlx_prim_evaluate(wide, &given, &k.ctx->memory, &want);
                have = value(&k, wide, numbers[a], numbers[b], &fine);
                assert_int_equal(fine, expected);
                assert_true(!fine || have == want);
            }
    }
    end(&k);
}

/* Both stop early, so that what stands behind may fail. */
static void test_and_or_stop_early(void **state)
{
    kit k;
    bool fine;
    begin(&k);
    const rlx_prim *zero = rlx_int64(k.ctx, 0);
    const rlx_prim *fails = rlx_binary_new(
        k.ctx, RLX_NODE_EQ, rlx_binary_new(k.ctx, RLX_NODE_FLOOR_DIV, k.m, k.n), zero);
    const rlx_prim *positive = rlx_binary_new(k.ctx, RLX_NODE_GT, k.n, zero);
    const rlx_prim *both = rlx_binary_new(k.ctx, RLX_NODE_AND, positive, fails);
    const rlx_prim *either = rlx_binary_new(k.ctx, RLX_NODE_OR, rlx_not(k.ctx, positive), fails);
    assert_int_equal(value(&k, both, 0, 1, &fine), 0);
    assert_true(fine);
    assert_int_equal(value(&k, either, 0, 1, &fine), 1);
    assert_true(fine);
    assert_int_equal(value(&k, both, 2, 1, &fine), 1);
    value(&k, rlx_binary_new(k.ctx, RLX_NODE_OR, positive, fails), 0, 1, &fine);
    assert_false(fine);
    end(&k);
}

static void test_calls_and_casts(void **state)
{
    kit k;
    bool fine;
    begin(&k);
    const rlx_prim *args[3] = { rlx_binary_new(k.ctx, RLX_NODE_LT, k.n, k.m), k.n, k.m };
    assert_int_equal(
        value(&k, rlx_prim_call_z(k.ctx, RELAX_INT64, "if_then_else", args, 3), 2, 5, &fine), 2);
    assert_int_equal(
        value(&k, rlx_prim_call_z(k.ctx, RELAX_INT64, "shift_left", args + 1, 2), 2, 5, &fine),
        64);
    assert_int_equal(
        value(&k, rlx_prim_call_z(k.ctx, RELAX_INT64, "bitwise_xor", args + 1, 2), 6, 5, &fine),
        3);
    assert_int_equal(
        value(&k, rlx_prim_call_z(k.ctx, RELAX_INT64, "abs", args + 1, 1), -6, 5, &fine), 6);
    assert_int_equal(
        value(&k, rlx_prim_call_z(k.ctx, RELAX_INT64, "likely", args + 1, 1), -6, 5, &fine), -6);
    assert_int_equal(value(&k, rlx_cast(k.ctx, RELAX_BOOL, k.n), 5, 0, &fine), 1);
    assert_int_equal(value(&k, rlx_cast(k.ctx, RELAX_INT32, k.n), 5, 0, &fine), 5);
    assert_true(fine);
    value(&k, rlx_cast(k.ctx, RELAX_INT8, k.n), 200, 0, &fine);
    assert_false(fine);
    assert_null(k.e.unknown);
    value(&k, rlx_prim_call_z(k.ctx, RELAX_INT64, "popcount", args + 1, 1), 1, 1, &fine);
    assert_false(fine);
    assert_non_null(k.e.unknown);
    end(&k);
}

/* Without recursion: as deep as memory allows to the left; a shared graph that would be huge is
 * refused. */
static void test_deep_and_wide(void **state)
{
    kit k;
    bool fine;
    begin(&k);
    const rlx_prim *p = k.n;
    for (int i = 0; i < 20000; i++)
        p = rlx_binary_new(k.ctx, RLX_NODE_ADD, p, k.m);
    assert_int_equal(value(&k, p, 1, 2, &fine), 40001);
    assert_true(fine);
    for (int i = 0; i < 60; i++)
        p = rlx_binary_new(k.ctx, RLX_NODE_ADD, p, p);
    value(&k, p, 1, 2, &fine);
    assert_false(fine);
    assert_true(k.w.too_large);
    end(&k);
}

static void text_of(kit *k, const rlx_sinfo *s, rlx_buf *out)
{
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k->w);
    assert_true(rlx_sinfo_encode(&k->e, s, &d));
    uint32_t at = rlx_desc_end(&d);
    assert_true(rlx_file_writer_ok(&k->w));
    rlx_names names = rlx_file_writer_names(&k->w);
    rlx_desc_env env = { .descs = k->w.descs.data, .names = &names };
    rlx_desc_text(&env, rlx_item_node(k->w.descs.data, at), out);
}

/* The text of what was encoded is the text of the original. */
static void test_text(void **state)
{
    kit k;
    begin(&k);
    const rlx_prim *dims[] = { k.n, rlx_binary_new(k.ctx, RLX_NODE_MUL, k.n, rlx_int64(k.ctx, 2)),
                               rlx_int64(k.ctx, 7) };
    const rlx_sinfo *tensor =
        rlx_tensor_info(k.ctx, rlx_shape_new(k.ctx, dims, 3), RELAX_FLOAT16, 3, NULL);
    const rlx_sinfo *fields[] = { tensor,
                                  rlx_shape_info(k.ctx, dims, 2),
                                  rlx_prim_info(k.ctx, RELAX_BOOL, NULL),
                                  rlx_object_info(k.ctx),
                                  rlx_tensor_info(k.ctx, NULL, RELAX_VOID, 2, NULL),
                                  rlx_shape_info_rank(k.ctx, 3),
                                  rlx_tuple_info(k.ctx, NULL, 0) };
    const rlx_sinfo *cases[] = { tensor, rlx_tuple_info(k.ctx, fields, 7), fields[1], fields[4] };
    for (size_t i = 0; i < 4; i++) {
        rlx_buf have, want;
        rlx_buf_init(&have, &k.ctx->memory);
        rlx_buf_init(&want, &k.ctx->memory);
        text_of(&k, cases[i], &have);
        rlx_text_sinfo(&want, cases[i]);
        assert_string_equal(have.data, want.data);
        rlx_buf_free(&have);
        rlx_buf_free(&want);
    }
    end(&k);
}

static enum rlx_desc_dim_tag tag_of(kit *k, uint32_t item, uint32_t i)
{
    rlx_desc_info info;
    rlx_desc_describe(rlx_item_node(k->w.descs.data, item), &info);
    return rlx_desc_dim_tag_of(info.dims[i]);
}

/* The first position that stands alone binds, whatever comes before it. */
static void test_binding(void **state)
{
    kit k;
    rlx_desc_writer d;
    begin(&k);
    const rlx_prim *dims[] = { rlx_binary_new(k.ctx, RLX_NODE_ADD, k.n, k.m), k.n, k.n, k.m };
    const rlx_sinfo *s = rlx_shape_info(k.ctx, dims, 4);
    assert_true(rlx_ptrmap_put(&k.to_bind, k.n, RLX_BINDS_SIZE));
    rlx_desc_begin(&d, &k.w);
    assert_true(rlx_sinfo_encode(&k.e, s, &d));
    uint32_t at = rlx_desc_end(&d);
    assert_int_equal(tag_of(&k, at, 0), RLX_DIM_EXPR);
    assert_int_equal(tag_of(&k, at, 1), RLX_DIM_BIND);
    assert_int_equal(tag_of(&k, at, 2), RLX_DIM_SYMBOL);
    assert_int_equal(tag_of(&k, at, 3), RLX_DIM_SYMBOL);
    assert_false(rlx_ptrmap_has(&k.to_bind, k.n));
    assert_true(rlx_ptrmap_put(&k.to_bind, k.m, RLX_BINDS_SIGNED));
    rlx_desc_begin(&d, &k.w);
    assert_true(rlx_sinfo_encode(&k.e, rlx_prim_info(k.ctx, RELAX_INT64, k.m), &d));
    assert_int_equal(tag_of(&k, rlx_desc_end(&d), 0), RLX_DIM_BIND_SIGNED);
    end(&k);
}

static void test_unknown_variable(void **state)
{
    kit k;
    rlx_desc_writer d;
    begin(&k);
    const rlx_prim *lost = (const rlx_prim *)rlx_prim_var_new(k.ctx, rlx_string_z(k.ctx, "lost"),
                                                              RELAX_INT64, RLX_NO_PLACE);
    rlx_desc_begin(&d, &k.w);
    assert_false(rlx_sinfo_encode(&k.e, rlx_shape_info(k.ctx, &lost, 1), &d));
    assert_ptr_equal(k.e.unknown, lost);
    rlx_vec_free(k.w.memory, &d.words);
    rlx_vec_free(k.w.memory, &d.open);
    end(&k);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_operators),
        cmocka_unit_test(test_and_or_stop_early),
        cmocka_unit_test(test_calls_and_casts),
        cmocka_unit_test(test_deep_and_wide),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_binding),
        cmocka_unit_test(test_unknown_variable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
