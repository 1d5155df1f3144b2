/* test_ir_text.c: text of struct info, integer expressions and leaves: one table each. */
#include "ir_fixture.h"

static rlx_context *c;
static const rlx_prim *n, *m, *i;   /* int64 n and m, int32 i */
static const rlx_prim *k3;

static const rlx_prim *bin(enum rlx_node_kind k, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_binary_new(c, k, a, b);
}
static const rlx_prim *add(const rlx_prim *a, const rlx_prim *b)
{
    return bin(RLX_NODE_ADD, a, b);
}
static const rlx_prim *mul(const rlx_prim *a, const rlx_prim *b)
{
    return bin(RLX_NODE_MUL, a, b);
}
static const rlx_prim *sub(const rlx_prim *a, const rlx_prim *b)
{
    return bin(RLX_NODE_SUB, a, b);
}

static int setup(void **state)
{
    c = rlx_context_create(NULL, 0);
    if (!c)
        return 1;
    n = dim(c, "n");
    m = dim(c, "m");
    i = (const rlx_prim *)rlx_prim_var_new(c, rlx_string_z(c, "i"), RELAX_INT32, N);
    k3 = rlx_int64(c, 3);
    return 0;
}

static int teardown(void **state)
{
    rlx_context_release(c);
    return 0;
}

static void check(const rlx_node *node, const char *want)
{
    rlx_buf b;
    assert_non_null(node);
    rlx_buf_init(&b, &c->memory);
    rlx_text_expr(&b, node);
    assert_false(b.failed);
    assert_string_equal(b.data, want);
    rlx_buf_free(&b);
}

static void dimensions(void **state)
{
    const struct { const rlx_prim *p; const char *want;
    } rows[] = {
        { add(add(n, m), k3), "n + m + 3" },
        { add(n, add(m, k3)), "n + (m + 3)" },
        { mul(add(n, m), k3), "(n + m) * 3" },
        { add(mul(n, m), k3), "n * m + 3" },
        { sub(n, sub(m, k3)), "n - (m - 3)" },
        { bin(RLX_NODE_FLOOR_DIV, mul(n, k3), k3), "n * 3 // 3" },
        { mul(n, bin(RLX_NODE_FLOOR_DIV, m, k3)), "n * (m // 3)" },
        { bin(RLX_NODE_FLOOR_MOD, n, k3), "n % 3" },
        { bin(RLX_NODE_MIN, n, add(m, k3)), "T.min(n, m + 3)" },
        { bin(RLX_NODE_MAX, n, m), "T.max(n, m)" },
        { bin(RLX_NODE_DIV, n, m), "T.Div(n, m)" },
        { bin(RLX_NODE_MOD, n, m), "T.truncmod(n, m)" },
        { bin(RLX_NODE_AND, bin(RLX_NODE_LT, n, m),
              bin(RLX_NODE_OR, bin(RLX_NODE_EQ, n, k3), bin(RLX_NODE_NE, m, k3))),
          "n < m and (n == 3 or m != 3)" },
        { bin(RLX_NODE_EQ, bin(RLX_NODE_LT, n, m), bin(RLX_NODE_LT, m, n)), "(n < m) == (m < n)" },
        { rlx_not(c, bin(RLX_NODE_LE, n, m)), "not n <= m" },
        { rlx_not(c, bin(RLX_NODE_AND, bin(RLX_NODE_LE, n, m), bin(RLX_NODE_GT, n, m))),
          "not (n <= m and n > m)" },
        { rlx_cast(c, RELAX_INT64, i), "T.Cast(\"int64\", i)" },
        { rlx_select_new(c, bin(RLX_NODE_GE, n, m), n, m), "T.Select(n >= m, n, m)" },
        { rlx_int64(c, -5), "-5" },
        { rlx_int(c, RELAX_BOOL, 1), "True" },
        { rlx_float(c, RELAX_FLOAT32, 1.5), "T.float32(1.5)" },
        { rlx_float(c, RELAX_FLOAT32, 0.1), "T.float32(0.10000000000000001)" },
        { rlx_float(c, RELAX_FLOAT64, -1.0 / 0.0), "T.float64(\"-inf\")" },
        { rlx_float(c, RELAX_FLOAT32, 2), "T.float32(2.0)" },
    };
    for (size_t r = 0; r < RLX_COUNT(rows); r++)
        check(rows[r].p, rows[r].want);
}

static void tir_expressions(void **state)
{
    const rlx_prim *zero = rlx_int(c, RELAX_INT32, 0), *one = rlx_int(c, RELAX_INT32, 1),
                   *four = rlx_int(c, RELAX_INT32, 4), *ni[] = { i, four };
    const rlx_buffer *a = rlx_buffer_new(c, rlx_string_z(c, "A"), RELAX_FLOAT32, ni, 2, NULL, N);
    rlx_ramp ramp = { .node.kind = RLX_NODE_RAMP,
                      .dtype = rlx_dtype_with_lanes(RELAX_INT32, 4),
                      .base = zero,
                      .stride = one,
                      .lanes = four };
    const rlx_prim *r0 = rlx_node_intern(c, &ramp.node);
    ramp.base = i;
    ramp.stride = rlx_int(c, RELAX_INT32, 2);
    const rlx_prim *r2 = rlx_node_intern(c, &ramp.node);
    const rlx_prim *text = rlx_prim_call_z(c, RELAX_INT32, "call_extern", ni, 1);
    rlx_prim_let let = { .node.kind = RLX_NODE_PRIM_LET,
                         .dtype = RELAX_INT32,
                         .value = four,
                         .var = i,
                         .body = add(i, one) };
    const struct { const rlx_node *p; const char *want;
    } rows[] = {
        { add(n, k3), "n + 3" },
        { add(i, four), "i + 4" },
        { bin(RLX_NODE_MAX, n, k3), "T.max(n, 3)" },
        { bin(RLX_NODE_DIV, rlx_float(c, RELAX_FLOAT32, 1), rlx_float(c, RELAX_FLOAT32, 2)),
          "T.float32(1.0) / T.float32(2.0)" },
        { rlx_int(c, RELAX_BOOL, 0), "False" },
        { rlx_load(c, a, ni, 2), "A[i, 4]" },
        { rlx_load(c, a, NULL, 0), "A[()]" },
        { rlx_load(c, a, &r0, 1), "A[0:4]" },
        { rlx_load(c, a, &r2, 1), "A[i:i + 8:2]" },
        { r0, "T.Ramp(0, 1, 4)" },
        { text, "T.call_extern(\"int32\", i)" },
        { rlx_prim_call_z(c, RELAX_FLOAT32, "exp", ni, 1), "T.exp(i)" },
        { rlx_node_intern(c, &let.node), "T.Let(i + 1, where={i: 4})" },
        { rlx_range_new(c, zero, four), "T.Range(0, 4)" },
        { rlx_range_new(c, one, four), "T.Range(1, 5)" },
    };
    for (size_t r = 0; r < RLX_COUNT(rows); r++)
        check(rows[r].p, rows[r].want);
}

static void struct_info(void **state)
{
    const rlx_prim *n4[] = { n, rlx_int64(c, 4) };
    const rlx_expr *shape = rlx_shape_new(c, n4, 2),
                   *s = &var(c, "s", rlx_shape_info_rank(c, 2))->node;
    const rlx_attr *cuda = rlx_attr_string_new(c, RLX_SLICE("cuda"));
    rlx_vdevice dev = {
        .node.kind = RLX_NODE_VDEVICE, .target = cuda, .id = 1, .scope = rlx_string_z(c, "global")
    };
    const rlx_sinfo *t = rlx_tensor_info(c, shape, RELAX_FLOAT32, -1, NULL),
                    *params[] = { t, rlx_object_info(c) };
    const struct { const rlx_sinfo *s; const char *want;
    } rows[] = {
        { t, "R.Tensor((n, 4), dtype=\"float32\")" },
        { rlx_tensor_info(c, rlx_shape_new(c, n4, 1), RELAX_VOID, -1, NULL), "R.Tensor((n,))" },
        { rlx_tensor_info(c, rlx_shape_new(c, NULL, 0), RELAX_BOOL, -1, NULL),
          "R.Tensor((), dtype=\"bool\")" },
        { rlx_tensor_info(c, NULL, RELAX_INT8, 3, NULL), "R.Tensor(dtype=\"int8\", ndim=3)" },
        { rlx_tensor_info(c, NULL, RELAX_VOID, -1, NULL), "R.Tensor" },
        { rlx_tensor_info(c, s, RELAX_INT8, 2, NULL), "R.Tensor(s, dtype=\"int8\")" },
        { rlx_tensor_info(c, shape, RELAX_INT8, -1, rlx_node_intern(c, &dev.node)),
          "R.Tensor((n, 4), dtype=\"int8\", vdevice=\"cuda:1\")" },
        { rlx_shape_info(c, n4, 2), "R.Shape([n, 4])" },
        { rlx_shape_info(c, NULL, 0), "R.Shape([])" },
        { rlx_shape_info_rank(c, -1), "R.Shape(ndim=-1)" },
        { rlx_prim_info(c, RELAX_INT64, NULL), "R.Prim(\"int64\")" },
        { rlx_prim_info(c, RELAX_INT64, n), "R.Prim(value=n)" },
        { rlx_tuple_info(c, NULL, 0), "R.Tuple" },
        { rlx_tuple_info(c, params, 2), "R.Tuple(R.Tensor((n, 4), dtype=\"float32\"), R.Object)" },
        { rlx_func_info(c, &n, 1, params, 1, params[1], true),
          "R.Callable((R.Tensor((n, 4), dtype=\"float32\"),), R.Object, True)" },
        { rlx_func_info(c, NULL, 0, NULL, 0, params[1], false), "R.Callable((), R.Object, False)" },
        { rlx_opaque_func_info(c, RLX_DERIVE_EMPTY, NULL, c->object, false), "R.Callable" },
        { rlx_opaque_func_info(c, RLX_DERIVE_CONST, NULL, c->void_tensor, true),
          "R.Callable(ret=R.Tensor, purity=True)" },
    };
    for (size_t r = 0; r < RLX_COUNT(rows); r++)
        check(rows[r].s, rows[r].want);
}

static void expressions(void **state)
{
    float f = 0.1f;
    uint8_t t = 1;
    int16_t h = -2;
    uint16_t inf = 0x7c00;
    int64_t two[] = { 2 };
    const rlx_expr *x = &rlx_var_new(c, true, rlx_string_z(c, "lv"), 3, NULL, N)->node,
                   *y = &rlx_var_new(c, true, rlx_string_z(c, "lv"), 0, NULL, N)->node;
    const rlx_expr *xy[] = { x, y };
    const struct { const rlx_expr *e; const char *want;
    } rows[] = {
        { x, "lv3" },
        { y, "lv" },
        { rlx_tuple_new(c, xy, 2, N), "(lv3, lv)" },
        { rlx_tuple_new(c, xy, 1, N), "(lv3,)" },
        { rlx_tuple_new(c, NULL, 0, N), "R.tuple()" },
        { rlx_tuple_get_item_new(c, x, 1, N), "lv3[1]" },
        { rlx_constant_new(c, RELAX_FLOAT32, NULL, 0, &f, N),
          "R.const(0.10000000149011612, \"float32\")" },
        { rlx_constant_new(c, RELAX_BOOL, NULL, 0, &t, N), "R.const(True, \"bool\")" },
        { rlx_constant_new(c, RELAX_INT16, NULL, 0, &h, N), "R.const(-2, \"int16\")" },
        { rlx_constant_new(c, RELAX_FLOAT16, NULL, 0, &inf, N),
          "R.const(float(\"inf\"), \"float16\")" },
        { rlx_constant_new(c, RELAX_UINT8, two, 1, "ab", N),
          "R.const(<tensor of shape (2,)>, \"uint8\")" },
        { rlx_shape_new(c, &n, 1), "R.shape([n])" },
        { rlx_prim_value_new(c, add(n, k3)), "R.prim_value(n + 3)" },
        { rlx_string_imm_new(c, RLX_SLICE("a\"\\\n\x01\xc3\xa9\xff")),
          "R.str(\"a\\\"\\\\\\n\\x01\xc3\xa9\\xFF\")" },
        { rlx_dtype_imm_new(c, RELAX_FLOAT32), "R.dtype(\"float32\")" },
        { rlx_extern_func_new(c, RLX_SLICE("f")), "R.ExternFunc(\"f\")" },
        { &rlx_global_var_new(c, rlx_string_z(c, "f"), N)->node, "cls.f" },
        { call2(c, "f", x, y), "R.ExternFunc(\"f\")(lv3, lv)" },
    };
    for (size_t r = 0; r < RLX_COUNT(rows); r++)
        check(rows[r].e, rows[r].want);
}

static void long_text_is_cut(void **state)
{
    const rlx_expr *e = &var(c, "x", NULL)->node;
    for (int d = 0; d < 100; d++) {
        const rlx_expr *both[] = { e, e };
        e = rlx_tuple_new(c, both, 2, N); /* 2^100 letters */
    }
    const char *text = rlx_show(c, e);
    assert_int_equal(strlen(text), 2000);
    assert_string_equal(text + 1997, "...");
    assert_string_equal(rlx_show(c, NULL), "None");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dimensions),
        cmocka_unit_test(tir_expressions),
        cmocka_unit_test(struct_info),
        cmocka_unit_test(expressions),
        cmocka_unit_test(long_text_is_cut),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
