/* test_api_build: programs made by the public interface alone: built, looked at, printed, read
 * back, compiled, run. */
#include "api_fixture.h"
#include "text_file.h"

#include <math.h>
#include <relax/ops.h>

enum { IN = 5, HIDDEN = 7, CLASSES = 3, ROWS = 4 };

static float weight(int seed, int i) { return (float)((seed * 31 + i * 17) % 23 - 11) / 16.0f; }

static relax_expr *weights(relax_context *ctx, int seed, int64_t rows, int64_t columns)
{
    float data[IN * HIDDEN + HIDDEN * CLASSES];
    int64_t shape[] = { rows, columns };
    size_t count = (size_t)((rows ? rows : 1) * columns);
    for (size_t i = 0; i < count; i++)
        data[i] = weight(seed, (int)i);
    return relax_constant_new(ctx, RELAX_FLOAT32, rows ? shape : shape + 1, rows ? 2 : 1, data,
                              count * sizeof *data);
}

/* softmax(relu(x @ w1 + b1) @ w2 + b2), nested as a host writes it: the builder binds the
 * parts. */
static relax_module *network(relax_context *ctx)
{
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_prim_expr *batch = relax_shape_var_new(ctx, Z("batch"));
    const relax_expr *x = relax_var_new(ctx, Z("x"), floats(ctx, batch, IN), 0);
    assert_int_equal(relax_builder_begin_function(b, Z("main"), &x, 1, NULL), RELAX_OK);
    assert_int_equal(relax_builder_begin_dataflow(b), RELAX_OK);
    relax_expr *product = relax_r_matmul(ctx, x, weights(ctx, 1, IN, HIDDEN), NULL);
    relax_expr *h = relax_r_nn_relu(ctx, relax_r_add(ctx, product, weights(ctx, 2, 0, HIDDEN)));
    relax_expr *scores = relax_builder_emit(
        b,
        relax_r_add(ctx, relax_r_matmul(ctx, h, weights(ctx, 3, HIDDEN, CLASSES), NULL),
                    weights(ctx, 4, 0, CLASSES)),
        Z("scores"), 0);
    relax_nn_softmax_attrs softmax;
    relax_nn_softmax_attrs_init(&softmax);
    assert_int_equal(softmax.axis, -1);
    softmax.axis = 1;
    relax_expr *out = relax_builder_emit_output(b, relax_r_nn_softmax(ctx, scores, &softmax),
                                                Z("probabilities"), 0);
    assert_int_equal(relax_builder_end_dataflow(b), RELAX_OK);
    assert_non_null(relax_builder_end_function(b, out));
    relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

static void compute(const float *x, float *out)
{
    for (int r = 0; r < ROWS; r++) {
        float h[HIDDEN], s[CLASSES], sum = 0;
        for (int j = 0; j < HIDDEN; j++) {
            h[j] = weight(2, j);
            for (int i = 0; i < IN; i++)
                h[j] += x[r * IN + i] * weight(1, i * HIDDEN + j);
            h[j] = h[j] > 0 ? h[j] : 0;
        }
        for (int k = 0; k < CLASSES; k++) {
            s[k] = weight(4, k);
            for (int j = 0; j < HIDDEN; j++)
                s[k] += h[j] * weight(3, j * CLASSES + k);
            sum += s[k] = expf(s[k]);
        }
        for (int k = 0; k < CLASSES; k++)
            out[r * CLASSES + k] = s[k] / sum;
    }
}

static void network_runs(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    float x[ROWS * IN], want[ROWS * CLASSES], got[ROWS * CLASSES];
    for (int i = 0; i < ROWS * IN; i++)
        x[i] = (float)(i * 7 % 13) / 4.0f - 1;
    compute(x, want);
    relax_tensor *in = tensor_of(x, ROWS, IN);
    run_main(ctx, network(ctx), in, got, N(got));
    relax_tensor_release(in);
    for (size_t i = 0; i < N(got); i++)
        if (!(fabsf(got[i] - want[i]) < 1e-6f))
            fail_msg("number %zu is %g, not %g", i, (double)got[i], (double)want[i]);
}

static void printed_reads_back(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = network(ctx);
    char *text = printed(ctx, relax_module_as_node(m));
    const relax_module *again = relax_module_parse(ctx, Z("again.py"), Z(text));
    assert_quiet(ctx);
    assert_non_null(again);
    assert_int_equal(
        relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(again), 0), 1);
    assert_int_equal(relax_node_hash(ctx, relax_module_as_node(m)),
                     relax_node_hash(ctx, relax_module_as_node(again)));
    char *twice = printed(ctx, relax_module_as_node(again));
    assert_string_equal(text, twice);
    free(text);
    free(twice);
}

static void getters_find_everything(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = network(ctx);
    size_t len = 0;
    assert_int_equal(relax_module_num_functions(m), 1);
    assert_int_equal(relax_module_find(m, Z("main")), 0);
    assert_int_equal(relax_module_find(m, Z("mai")), -1);
    const relax_base_func *func = relax_module_function(m, 0);
    const relax_expr *f = relax_base_func_as_expr(func);
    assert_int_equal(relax_base_func_kind(func), RELAX_FUNC_RELAX);
    assert_int_equal(relax_expr_kind(f), RELAX_EXPR_KIND_FUNCTION);
    assert_ptr_equal(relax_expr_as_base_func(f), func);
    assert_string_equal(relax_attr_string_value(relax_expr_attr(f, Z("global_symbol")), &len),
                        "main");
    assert_int_equal(len, 4);
    const relax_struct_info *sig = relax_base_func_struct_info(func);
    assert_int_equal(relax_struct_info_num_fields(sig), 1);
    assert_int_equal(relax_struct_info_ndim(relax_struct_info_ret(sig)), 2);
    assert_ptr_equal(relax_struct_info_dim(relax_struct_info_field(sig, 0), 0),
                     relax_struct_info_dim(relax_struct_info_ret(sig), 0));

    const relax_expr *body = relax_expr_operand(f, relax_expr_num_operands(f) - 1);
    assert_int_equal(relax_expr_kind(body), RELAX_EXPR_KIND_SEQ);
    assert_int_equal(relax_seq_num_blocks(body), 1);
    const relax_block *block = relax_seq_block(body, 0);
    assert_true(relax_block_is_dataflow(block));
    /* two layers of matmul and add, relu, softmax */
    assert_int_equal(relax_block_num_bindings(block), 6);
    const relax_binding *last = relax_block_binding(block, 5);
    assert_string_equal(relax_expr_name(relax_binding_var(last), NULL), "probabilities");
    assert_int_equal(relax_expr_kind(relax_binding_var(last)), RELAX_EXPR_KIND_VAR);
    assert_null(relax_binding_match(last));
    const relax_expr *call = relax_binding_value(last);
    assert_string_equal(relax_expr_name(relax_expr_operand(call, 0), NULL), "relax.nn.softmax");
    int64_t axis = 0;
    assert_int_equal(relax_attr_int_value(relax_expr_attr(call, Z("axis")), &axis), RELAX_OK);
    assert_int_equal(axis, 1);
    assert_quiet(ctx);
}

/* A walk meets each operator once, and hands out nodes that go back to their families. */
static int32_t count_operators(void *user, const relax_node *node)
{
    const relax_expr *e = relax_node_as_expr(node);
    int *count = user;
    *count += relax_expr_kind(e) == RELAX_EXPR_KIND_OP;
    if (e && relax_expr_as_node(e) != node)
        *count = -1000;
    return 0;
}
static int32_t stop_at_once(void *user, const relax_node *node)
{
    (void)user;
    (void)node;
    return 2;
}

static void walks_and_casts(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_node *m = relax_module_as_node(network(ctx));
    int count = 0;
    assert_int_equal(relax_node_walk(ctx, m, count_operators, NULL, &count), RELAX_OK);
    assert_int_equal(count, 6);
    assert_int_equal(relax_node_walk(ctx, m, stop_at_once, NULL, NULL), RELAX_ERROR_CANCELLED);
    assert_string_equal(relax_node_kind_name(m), "IRModule");
    assert_ptr_equal(relax_node_as_module(m), m);
    assert_null(relax_node_as_expr(m));
    assert_null(relax_node_as_struct_info(m));
    assert_null(relax_node_as_base_func(m));
    assert_null(relax_node_as_stmt(m));
}

static void branches_and_recursion(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_struct_info *flag = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_BOOL);
    relax_prim_expr *n = relax_shape_var_new(ctx, Z("n"));
    const relax_expr *x = relax_var_new(ctx, Z("x"), floats(ctx, n, 2), 0),
                     *go = relax_var_new(ctx, Z("go"), flag, 0), *params[] = { go, x };
    assert_int_equal(relax_builder_begin_function(b, Z("pick"), params, 2, NULL), RELAX_OK);
    assert_int_equal(relax_builder_begin_if(b, go), RELAX_OK);
    relax_expr *yes = relax_builder_emit(b, relax_r_exp(ctx, x), NULL, 0, 0);
    assert_int_equal(relax_builder_begin_else(b, yes), RELAX_OK);
    relax_expr *no = relax_builder_emit(b, relax_r_negative(ctx, x), NULL, 0, 0);
    relax_expr *y = relax_builder_end_if(b, no, Z("y"), 0);
    assert_non_null(y);
    assert_non_null(relax_builder_end_function(b, y));
    const relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_non_null(m);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
    assert_quiet(ctx);
}

static void a_local_function(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_struct_info *info =
        relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 2 }, 1, RELAX_FLOAT32);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *y = relax_var_new(ctx, Z("y"), info, 0);
    relax_builder_begin_function(b, Z("main"), &x, 1, NULL);
    relax_function_options options;
    relax_function_options_init(&options, sizeof options);
    options.ret = info;
    assert_int_equal(relax_builder_begin_function(b, Z("inner"), &y, 1, &options), RELAX_OK);
    relax_expr *inner =
        relax_builder_end_function(b, relax_builder_emit(b, relax_r_add(ctx, x, y), NULL, 0, 0));
    assert_int_equal(relax_expr_kind(inner), RELAX_EXPR_KIND_VAR);
    assert_int_equal(relax_struct_info_kind(relax_expr_struct_info(inner)),
                     RELAX_STRUCT_INFO_KIND_FUNC);
    relax_expr *z = relax_builder_emit(b, relax_call_new(ctx, inner, &x, 1, NULL, 0), NULL, 0, 0);
    assert_int_equal(relax_struct_info_kind(relax_expr_struct_info(z)),
                     RELAX_STRUCT_INFO_KIND_TENSOR);
    assert_non_null(relax_builder_end_function(b, z));
    const relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_non_null(m);
    assert_quiet(ctx);
    relax_executable *exe = relax_module_compile(ctx, m, NULL);
    assert_quiet(ctx);
    assert_non_null(exe);
    relax_executable_release(exe);
}

/* The same expression object as operand twice: one binding if it is pure, two calls if it is
 * not. */
static void shared_operands(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_function_options impure;
    relax_function_options_init(&impure, sizeof impure);
    impure.pure = 0;
    const relax_struct_info *info = floats(ctx, relax_prim_int_new(ctx, 2), 3);
    const relax_expr *x = relax_var_new(ctx, Z("x"), info, 0),
                     *draw = relax_extern_func_new(ctx, Z("draw"));
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_builder_begin_function(b, Z("main"), &x, 1, &impure);
    const relax_expr *y = relax_call_op_new(ctx, Z("exp"), &x, 1, NULL, 0),
                     *r = relax_call_new(ctx, draw, &x, 1, info, 0);
    for (int i = 0; i < 2; i++)
        y = relax_call_op_new(ctx, Z("add"), (const relax_expr *[]){ y, y }, 2, NULL, 0);
    y = relax_builder_emit(b, y, NULL, 0, 0);
    y = relax_builder_emit(
        b, relax_call_op_new(ctx, Z("multiply"), (const relax_expr *[]){ r, r }, 2, NULL, 0), NULL,
        0, 0);
    assert_non_null(relax_builder_end_function(b, y));
    const relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_quiet(ctx);
    char *text = printed(ctx, relax_base_func_as_node(relax_module_function(m, 0)));
    assert_string_equal(strstr(text, "    gv"), PRINTED("shared operands"));
    free(text);
}

/* What _init gives is what NULL stands for. */
static void defaults_of_operators(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_expr *x = relax_var_new(ctx, Z("x"), relax_struct_info_object_new(ctx), 0);
#define SAME(name, ...)                                                                            \
    do {                                                                                           \
        relax_##name##_attrs how;                                                                  \
        relax_##name##_attrs_init(&how);                                                           \
        assert_int_equal(                                                                          \
            relax_node_equal(ctx, relax_expr_as_node(relax_r_##name(ctx, __VA_ARGS__, NULL)),      \
                             relax_expr_as_node(relax_r_##name(ctx, __VA_ARGS__, &how)), 0),       \
            1);                                                                                    \
    } while (0)
    SAME(sum, x);
    SAME(concat, x);
    SAME(topk, x);
    SAME(arange, x);
    SAME(nn_conv2d, x, x);
    SAME(nn_softplus, x);
    SAME(image_resize2d, x, x);
#undef SAME
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(network_runs),    TEST(printed_reads_back),     TEST(getters_find_everything),
        TEST(walks_and_casts), TEST(branches_and_recursion), TEST(a_local_function),
        TEST(shared_operands), TEST(defaults_of_operators),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
