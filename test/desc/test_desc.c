/* test_desc.c: descriptions and expressions: what evaluating, matching, printing and verifying
 * say. */
#include "../base/cmocka_all.h"
#include "../base/failing.h"
#include "desc/desc.h"
#include "runtime/runtime.h"

typedef struct kit {
    rlx_memory memory;
    rlx_file_writer w;
    rlx_pool pool;
    rlx_names names;
    int64_t syms[4];
    rlx_desc_env env;
} kit;

static void begin(kit *k)
{
    memset(k, 0, sizeof *k);
    assert_true(rlx_memory_init(&k->memory, NULL, SIZE_MAX));
    rlx_file_writer_init(&k->w, &k->memory);
    k->pool.memory = rlx_shared_memory_create(NULL, SIZE_MAX);
}

/* After writing: the section may not grow any more. */
static void seal(kit *k)
{
    assert_true(rlx_file_writer_ok(&k->w));
    k->names = rlx_file_writer_names(&k->w);
    k->env = (rlx_desc_env){ k->w.descs.data, k->syms, NULL, &k->names };
    uint64_t starts[64] = { 0 };
    rlx_fault why = { 0 };
    assert_true(k->w.descs.len < 64 * 64);
    if (!rlx_desc_verify(k->w.descs.data, k->w.descs.len, k->names.count, starts, &why))
        fail_msg("%s", why.text);
}

static void end(kit *k)
{
    rlx_pool_free(&k->pool);
    rlx_file_writer_free(&k->w);
    assert_int_equal(rlx_mem_live(&k->memory), 0);
}

/* ---- expressions ---------------------------------------------------------------------------- */

enum { END_ = -1, INT_ = -2, SYM_ = -3 }; /* rows: INT_, value | SYM_, slot | an op ... END_ */
static const char *const letters[] = { "n", "m", "k" };

static uint32_t write_expr(kit *k, const int64_t *row)
{
    rlx_desc_expr_writer e;
    rlx_desc_expr_begin(&e, &k->w);
    for (; *row != END_; row++) {
        if (*row == INT_)
            rlx_desc_expr_int(&e, *++row);
        else if (*row == SYM_) {
            row++;
            rlx_desc_expr_symbol(&e, (uint32_t)*row, rlx_slice_z(letters[*row]));
        } else
            rlx_desc_expr_put_op(&e, (enum rlx_desc_expr_op) * row);
    }
    return rlx_desc_expr_end(&e);
}

#define N SYM_, 0
#define M SYM_, 1
#define I(v) INT_, v
#define OP(name) RLX_EXPR_##name
/* n = 7, m = -3 */
static const struct {
    int64_t row[24];
    const char *text;
    int64_t value;
    const char *fault;
} exprs[] = {
    { { I(5), END_ }, "5", 5, NULL },
    { { N, M, OP(ADD), I(2), OP(MUL), END_ }, "(n + m) * 2", 8, NULL },
    { { I(2), N, M, OP(SUB), OP(MUL), END_ }, "2 * (n - m)", 20, NULL },
    { { N, M, OP(SUB), I(1), OP(SUB), END_ }, "n - m - 1", 9, NULL },
    { { N, M, I(1), OP(SUB), OP(SUB), END_ }, "n - (m - 1)", 11, NULL },
    { { N, M, OP(FLOOR_DIV), END_ }, "n // m", -3, NULL },
    { { N, M, OP(FLOOR_MOD), END_ }, "n % m", -2, NULL },
    { { N, M, OP(TRUNC_DIV), END_ }, "T.truncdiv(n, m)", -2, NULL },
    { { N, M, OP(TRUNC_MOD), END_ }, "T.truncmod(n, m)", 1, NULL },
    { { M, I(2), OP(FLOOR_DIV), END_ }, "m // 2", -2, NULL },
    { { N, M, OP(MIN), N, OP(MAX), END_ }, "T.max(T.min(n, m), n)", 7, NULL },
    { { M, OP(ABS), I(1), OP(SHL), END_ }, "T.abs(m) << 1", 6, NULL },
    { { N, I(4), OP(LT), OP(THEN), I(4), OP(OTHERWISE), N, OP(SELECT), END_ },
      "T.Select(n < 4, 4, n)",
      7,
      NULL },
    { { I(1), OP(THEN), N, OP(OTHERWISE), N, I(0), OP(FLOOR_DIV), OP(SELECT), END_ },
      "T.Select(1, n, n // 0)",
      7,
      NULL },
    { { I(0), OP(AND_THEN), N, I(0), OP(FLOOR_DIV), OP(AND), END_ }, "0 and n // 0", 0, NULL },
    { { N, OP(OR_ELSE), N, I(0), OP(FLOOR_DIV), OP(OR), END_ }, "n or n // 0", 1, NULL },
    { { N, OP(NOT), M, OP(OR_ELSE), I(0), OP(OR), OP(EQ), END_ }, "(not n) == (m or 0)", 0, NULL },
    { { I(INT64_MIN), END_ }, "-9223372036854775808", INT64_MIN, NULL },
    { { N, I(0), OP(FLOOR_DIV), END_ }, "n // 0", 0, "division by zero in n // 0" },
    { { I(INT64_MAX), N, OP(MUL), END_ },
      "9223372036854775807 * n",
      0,
      "overflow of 64-bit integers in 9223372036854775807 * n" },
    { { I(INT64_MIN), I(-1), OP(FLOOR_DIV), END_ },
      "-9223372036854775808 // -1",
      0,
      "overflow of 64-bit integers in -9223372036854775808 // -1" },
    { { I(INT64_MIN), I(-1), OP(FLOOR_MOD), END_ }, "-9223372036854775808 % -1", 0, NULL },
    { { N, I(64), OP(SHR), END_ },
      "n >> 64",
      0,
      "shift by less than 0 or more than 63 in n >> 64" },
    { { N, I(62), OP(SHL), END_ }, "n << 62", 0, "overflow of 64-bit integers in n << 62" },
};
#undef OP

static void evaluates_expressions(void **state)
{
    kit k;
    uint32_t at[RLX_COUNT(exprs)];
    begin(&k);
    for (size_t i = 0; i < RLX_COUNT(exprs); i++)
        at[i] = write_expr(&k, exprs[i].row);
    assert_int_equal(write_expr(&k, exprs[3].row), at[3]); /* equal ones are stored once */
    seal(&k);
    k.syms[0] = 7;
    k.syms[1] = -3;
    for (size_t i = 0; i < RLX_COUNT(exprs); i++) {
        rlx_buf text;
        rlx_fault why = { 0 };
        int64_t value = 0;
        rlx_buf_init(&text, &k.memory);
        rlx_desc_expr_text(&k.env, at[i], &text);
        assert_string_equal(text.data, exprs[i].text);
        rlx_buf_free(&text);
        bool ok = rlx_desc_expr_eval(&k.env, at[i], &value, &why);
        if (exprs[i].fault) {
            assert_false(ok);
            assert_int_equal(why.code, RLX_RT14);
            assert_string_equal(why.text, exprs[i].fault);
        } else if (!ok || value != exprs[i].value) {
            fail_msg("%s is %lld, expected %lld (%s)", exprs[i].text, (long long)value,
                     (long long)exprs[i].value, why.text);
        }
    }
    end(&k);
}

static void refuses_expressions_that_are_too_deep(void **state)
{
    kit k;
    rlx_desc_expr_writer e;
    begin(&k);
    rlx_desc_expr_begin(&e, &k.w);
    for (int i = 0; i < 65; i++)
        rlx_desc_expr_int(&e, i);
    for (int i = 0; i < 64; i++)
        rlx_desc_expr_put_op(&e, RLX_EXPR_ADD);
    rlx_desc_expr_end(&e);
    assert_true(k.w.too_large);
    end(&k);
}

/* ---- matching: language 7.1, row by row ----------------------------------------------------- */

static relax_value tensor(kit *k, rlx_dtype dtype, int32_t ndim, int64_t a, int64_t b)
{
    int64_t dims[] = { a, b };
    return rlx_value_object(RELAX_VALUE_TENSOR, rlx_tensor_make(&k->pool, dtype, ndim, dims));
}

static relax_value shape(kit *k, size_t ndim, int64_t a, int64_t b)
{
    int64_t dims[] = { a, b };
    return rlx_value_object(RELAX_VALUE_SHAPE, rlx_shape_make(&k->pool, dims, ndim));
}

static relax_value pair(kit *k, relax_value a, relax_value b)
{
    rlx_tuple_object *t = rlx_tuple_make(&k->pool, 2);
    t->fields[0] = a;
    t->fields[1] = b;
    return rlx_value_object(RELAX_VALUE_OBJECT, t);
}

/* Takes over v. want NULL: it matches. */
static void expect(kit *k, uint32_t desc, relax_value v, enum rlx_code_id code, const char *want)
{
    rlx_fault why = { 0 };
    bool ok = rlx_desc_match(&k->env, desc, &v, &why);
    if (ok != !want || (want && (strcmp(why.text, want) != 0 || why.code != (uint16_t)code)))
        fail_msg("wanted %s, got %s", want ? want : "a match", ok ? "a match" : why.text);
    rlx_value_drop(&v);
}

static void matches_kind_by_kind(void **state)
{
    kit k;
    begin(&k);
    rlx_desc_writer d;
    int64_t four = rlx_desc_dim_literal(&k.w, 4), bind = rlx_desc_dim_bind(&k.w, 0, RLX_SLICE("n")),
            use = rlx_desc_dim_symbol(&k.w, 0, RLX_SLICE("n"));
    int64_t two[] = { bind, four }, again[] = { bind, use },
            any = rlx_desc_dim_bind_signed(&k.w, 1, RLX_SLICE("m"));
#define DESC(name, ...) rlx_desc_begin(&d, &k.w); __VA_ARGS__; uint32_t name = rlx_desc_end(&d)
    DESC(object, rlx_desc_object(&d));
    DESC(any_prim, rlx_desc_prim(&d, RELAX_VOID, NULL));
    DESC(prim8, rlx_desc_prim(&d, RELAX_INT8, NULL));
    DESC(prim_bool, rlx_desc_prim(&d, RELAX_BOOL, NULL));
    DESC(prim_value, rlx_desc_prim(&d, RELAX_INT64, &four));
    DESC(prim_bind, rlx_desc_prim(&d, RELAX_INT64, &any));
    DESC(any_shape, rlx_desc_shape(&d, -1, NULL));
    DESC(rank2, rlx_desc_shape(&d, 2, NULL));
    DESC(shape_n4, rlx_desc_shape(&d, 2, two));
    DESC(shape_nn, rlx_desc_shape(&d, 2, again));
    DESC(any_tensor, rlx_desc_tensor(&d, RELAX_VOID, -1, NULL));
    DESC(f32, rlx_desc_tensor(&d, RELAX_FLOAT32, -1, NULL));
    DESC(ndim2, rlx_desc_tensor(&d, RELAX_VOID, 2, NULL));
    DESC(f32_n4, rlx_desc_tensor(&d, RELAX_FLOAT32, 2, two));
    DESC(bools, rlx_desc_tensor(&d, RELAX_BOOL, 2, again));
    DESC(on_gpu, rlx_desc_device(&d, 2, 1); rlx_desc_tensor(&d, RELAX_VOID, -1, NULL));
    DESC(tuple, rlx_desc_tuple(&d); rlx_desc_tensor(&d, RELAX_FLOAT32, 2, two);
         rlx_desc_shape(&d, 2, again); rlx_desc_close(&d));
    DESC(callable, rlx_desc_func(&d, RLX_DESC_OPEN); rlx_desc_object(&d); rlx_desc_close(&d));
    seal(&k);
    expect(&k, object, rlx_value_none(), 0, NULL);
    expect(&k, any_prim, rlx_value_float(1), 0, NULL);
    expect(&k, any_prim, tensor(&k, RELAX_INT64, 0, 0, 0), RLX_RT02,
           "found a tensor, expected a scalar");
    expect(&k, prim8, rlx_value_int(-128), 0, NULL);
    expect(&k, prim8, rlx_value_int(128), RLX_RT03,
           "found an integer that does not fit, expected a scalar of dtype int8");
    expect(&k, prim8, rlx_value_float(1), RLX_RT03,
           "found a float, expected a scalar of dtype int8");
    expect(&k, prim_bool, rlx_value_int(1), RLX_RT03,
           "found an integer, expected a scalar of dtype bool");
    expect(&k, prim_value, rlx_value_int(4), 0, NULL);
    expect(&k, prim_value, rlx_value_int(5), RLX_RT05, "value is 5, expected 4");
    expect(&k, prim_bind, rlx_value_int(-9), 0, NULL);
    assert_true(k.syms[1] == -9);
    expect(&k, any_shape, shape(&k, 1, 3, 0), 0, NULL);
    expect(&k, any_shape, rlx_value_none(), RLX_RT02, "found null, expected a shape");
    expect(&k, rank2, shape(&k, 1, 3, 0), RLX_RT04, "rank is 1, expected 2");
    expect(&k, shape_n4, shape(&k, 2, 3, 4), 0, NULL);
    expect(&k, shape_n4, shape(&k, 2, 3, 5), RLX_RT05, "dimension 1 is 5, expected 4");
    expect(&k, shape_n4, shape(&k, 2, -3, 4), RLX_RT05,
           "dimension 0 is -3, a size (n) is not negative");
    expect(&k, shape_nn, shape(&k, 2, 3, 3), 0, NULL);
    expect(&k, shape_nn, shape(&k, 2, 3, 4), RLX_RT05, "dimension 1 is 4, expected n = 3");
    expect(&k, any_tensor, tensor(&k, RELAX_BFLOAT16, 1, 2, 0), 0, NULL);
    expect(&k, any_tensor, shape(&k, 2, 3, 3), RLX_RT02, "found a shape, expected a tensor");
    expect(&k, f32, tensor(&k, RELAX_FLOAT32, 0, 0, 0), 0, NULL);
    expect(&k, f32, tensor(&k, RELAX_FLOAT64, 0, 0, 0), RLX_RT03,
           "dtype is float64, expected float32");
    expect(&k, ndim2, tensor(&k, RELAX_FLOAT64, 1, 7, 0), RLX_RT04, "rank is 1, expected 2");
    expect(&k, f32_n4, tensor(&k, RELAX_FLOAT32, 2, 9, 4), 0, NULL);
    assert_true(k.syms[0] == 9);
    expect(&k, f32_n4, tensor(&k, RELAX_BOOL, 1, 9, 4), RLX_RT03,
           "dtype is bool, expected float32");
    expect(&k, f32_n4, tensor(&k, RELAX_FLOAT32, 2, 9, 3), RLX_RT05,
           "dimension 1 is 3, expected 4");
    expect(&k, bools, tensor(&k, RELAX_BOOL, 2, 2, 2), 0, NULL);
    expect(&k, bools, tensor(&k, RELAX_UINT8, 2, 2, 2), RLX_RT03, "dtype is uint8, expected bool");
    expect(&k, on_gpu, tensor(&k, RELAX_BOOL, 2, 2, 2), RLX_RT13, "device is 1:0, expected 2:1");
    expect(&k, tuple, pair(&k, tensor(&k, RELAX_FLOAT32, 2, 3, 4), shape(&k, 2, 3, 3)), 0, NULL);
    expect(&k, tuple, pair(&k, tensor(&k, RELAX_FLOAT32, 2, 3, 4), shape(&k, 1, 3, 3)), RLX_RT04,
           "field 1, rank is 1, expected 2");
    /* kinds and ranks of everything come before any size */
    expect(&k, tuple, pair(&k, tensor(&k, RELAX_FLOAT32, 2, 3, 5), shape(&k, 1, 3, 3)), RLX_RT04,
           "field 1, rank is 1, expected 2");
    expect(&k, tuple, rlx_value_object(RELAX_VALUE_OBJECT, rlx_tuple_make(&k.pool, 3)), RLX_RT04,
           "length is 3, expected 2");
    expect(&k, tuple, rlx_value_int(1), RLX_RT02, "found an integer, expected a tuple");
    expect(&k, callable, rlx_value_int(1), RLX_RT02, "found an integer, expected a function");
    end(&k);
}

static void binds_before_it_compares(void **state)
{
    kit k;
    begin(&k);
    uint32_t product = write_expr(&k, (int64_t[]){ N, M, RLX_EXPR_MUL, END_ });
    int64_t first = rlx_desc_dim_expr(product),
            second[] = { rlx_desc_dim_bind(&k.w, 0, RLX_SLICE("n")),
                         rlx_desc_dim_bind(&k.w, 1, RLX_SLICE("m")) };
    rlx_desc_writer d;
    rlx_desc_begin(&d, &k.w);
    rlx_desc_params(&d);
    rlx_desc_param(&d, RLX_SLICE("x"));
    rlx_desc_tensor(&d, RELAX_FLOAT32, 1, &first);
    rlx_desc_param(&d, RLX_SLICE("y"));
    rlx_desc_tensor(&d, RELAX_FLOAT32, 2, second);
    rlx_desc_close(&d);
    uint32_t params = rlx_desc_end(&d);
    seal(&k);
    relax_value args[] = { tensor(&k, RELAX_FLOAT32, 1, 15, 0),
                           tensor(&k, RELAX_FLOAT32, 2, 3, 5) };
    rlx_fault why = { 0 };
    assert_true(rlx_desc_match_params(&k.env, params, args, 2, RLX_SLICE("f"), &why));
    rlx_value_drop(&args[0]);
    args[0] = tensor(&k, RELAX_FLOAT32, 1, 12, 0);
    assert_false(rlx_desc_match_params(&k.env, params, args, 2, RLX_SLICE("f"), &why));
    assert_string_equal(why.text, "argument 1 of f: dimension 0 is 12, expected n * m = 15");
    assert_int_equal(why.code, RLX_RT05);
    rlx_value_drop(&args[1]);
    /* a wrong dtype later counts more than a wrong size before */
    args[1] = tensor(&k, RELAX_INT8, 2, 3, 5);
    assert_false(rlx_desc_match_params(&k.env, params, args, 2, RLX_SLICE("f"), &why));
    assert_string_equal(why.text, "argument 2 of f: dtype is int8, expected float32");
    assert_false(rlx_desc_match_params(&k.env, params, args, 1, RLX_SLICE("f"), &why));
    assert_string_equal(why.text, "f takes 2 arguments, got 1");
    rlx_value_drop(&args[0]);
    rlx_value_drop(&args[1]);
    end(&k);
}

static void prints_descriptions(void **state)
{
    kit k;
    begin(&k);
    rlx_desc_writer d;
    int64_t dims[] = { rlx_desc_dim_bind(&k.w, 0, RLX_SLICE("n")), rlx_desc_dim_literal(&k.w, 4) };
    rlx_desc_begin(&d, &k.w);
    rlx_desc_func(&d, RLX_DESC_PURE);
    rlx_desc_tensor(&d, RELAX_FLOAT16, 2, dims);
    rlx_desc_tuple(&d);
    rlx_desc_tensor(&d, RELAX_VOID, -1, NULL);
    rlx_desc_tensor(&d, RELAX_BOOL, 0, dims);
    rlx_desc_tuple(&d);
    rlx_desc_close(&d);
    rlx_desc_shape(&d, -1, NULL);
    rlx_desc_shape(&d, 2, dims);
    rlx_desc_prim(&d, RELAX_INT32, NULL);
    rlx_desc_close(&d);
    rlx_desc_tensor(&d, RELAX_INT8, 3, NULL);
    rlx_desc_close(&d);
    uint32_t at = rlx_desc_end(&d);
    seal(&k);
    rlx_buf text;
    rlx_buf_init(&text, &k.memory);
    rlx_desc_text(&k.env, rlx_item_node(k.w.descs.data, at), &text);
    assert_string_equal(
        text.data,
        "R.Callable((R.Tensor((n, 4), dtype=\"float16\"), R.Tuple(R.Tensor, R.Tensor((), "
        "dtype=\"bool\"), R.Tuple, "
        "R.Shape, R.Shape([n, 4]), R.Prim(\"int32\"))), R.Tensor(dtype=\"int8\", ndim=3), True)");
    rlx_buf_free(&text);
    end(&k);
}

/* Any one bit turned: refused, or still harmless to read, match and evaluate. */
static void survives_flipped_bits(void **state)
{
    kit k;
    begin(&k);
    rlx_desc_writer d;
    uint32_t expr = write_expr(&k, exprs[12].row);
    int64_t dims[] = { rlx_desc_dim_bind(&k.w, 0, RLX_SLICE("n")), rlx_desc_dim_expr(expr) };
    rlx_desc_begin(&d, &k.w);
    rlx_desc_tuple(&d);
    rlx_desc_tensor(&d, RELAX_FLOAT32, 2, dims);
    rlx_desc_prim(&d, RELAX_INT32, &dims[0]);
    rlx_desc_tuple(&d);
    rlx_desc_shape(&d, 2, dims);
    rlx_desc_close(&d);
    rlx_desc_close(&d);
    uint32_t at = rlx_desc_end(&d);
    seal(&k);
    size_t words = k.w.descs.len, kept = 0;
    int64_t *copy = malloc(words * sizeof *copy);
    relax_value v = pair(&k, tensor(&k, RELAX_FLOAT32, 2, 3, 4), rlx_value_int(3));
    for (size_t bit = 0; bit < words * 64; bit++) {
        uint64_t starts[64] = { 0 };
        rlx_fault why;
        memcpy(copy, k.w.descs.data, words * sizeof *copy);
        copy[bit / 64] ^= (int64_t)((uint64_t)1 << (bit % 64));
        if (!rlx_desc_verify(copy, words, k.names.count, starts, &why)) {
            assert_int_equal(why.code, RLX_LD10);
            continue;
        }
        kept++;
        rlx_desc_env env = { copy, k.syms, NULL, &k.names };
        int64_t value;
        rlx_buf text;
        rlx_buf_init(&text, &k.memory);
        if (rlx_desc_usable(copy, words, starts, expr, RLX_ITEM_EXPR, 4, 0))
            rlx_desc_expr_eval(&env, expr, &value, &why);
        if (rlx_desc_usable(copy, words, starts, at, RLX_ITEM_DESC, 4, 0)) {
            rlx_desc_match(&env, at, &v, &why);
            rlx_desc_text(&env, rlx_item_node(copy, at), &text);
        }
        rlx_buf_free(&text);
    }
    assert_true(kept > 0);
    rlx_value_drop(&v);
    free(copy);
    end(&k);
}

static void survives_failed_allocations(void **state)
{
    for (size_t n = 1;; n++) {
        failing f;
        rlx_memory m;
        rlx_file_writer w;
        rlx_desc_writer d;
        rlx_desc_expr_writer e;
        failing_init(&f, &m, n);
        rlx_file_writer_init(&w, &m);
        rlx_desc_expr_begin(&e, &w);
        rlx_desc_expr_symbol(&e, 0, RLX_SLICE("n"));
        rlx_desc_expr_int(&e, 3);
        rlx_desc_expr_put_op(&e, RLX_EXPR_MUL);
        int64_t dims[] = { rlx_desc_dim_expr(rlx_desc_expr_end(&e)),
                           rlx_desc_dim_bind(&w, 0, RLX_SLICE("n")) };
        rlx_desc_begin(&d, &w);
        rlx_desc_tuple(&d);
        rlx_desc_tensor(&d, RELAX_FLOAT32, 2, dims);
        rlx_desc_close(&d);
        rlx_desc_end(&d);
        rlx_file_writer_packed(&w, RLX_SLICE("p"));
        rlx_file_writer_const_scalar(&w, RLX_CONSTANT_INT, RELAX_INT64, 4);
        rlx_blob *out = rlx_file_writer_finish(&w, &m);
        bool ok = out != NULL;
        assert_int_equal(ok, f.calls < n);
        assert_false(w.too_large);
        rlx_blob_release(out);
        rlx_file_writer_free(&w);
        assert_int_equal(f.blocks, 0);
        if (ok)
            break;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(evaluates_expressions),
        cmocka_unit_test(refuses_expressions_that_are_too_deep),
        cmocka_unit_test(matches_kind_by_kind),
        cmocka_unit_test(binds_before_it_compares),
        cmocka_unit_test(prints_descriptions),
        cmocka_unit_test(survives_flipped_bits),
        cmocka_unit_test(survives_failed_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
