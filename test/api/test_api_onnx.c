/* test_api_onnx: models in ONNX's format by the public interface: what they contain, converters of the host, calls
 * of packed functions, options. The models are made here, byte by byte. */
#include "api_fixture.h"

#include <relax/onnx.h>
#include <relax/ops.h>

/* ---- a small writer of protocol buffers --------------------------------------------------------- */

typedef struct bytes { unsigned char data[2048]; size_t len; } bytes;

static void put_number(bytes *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        b->data[b->len++] = (unsigned char)(v | 128);
    b->data[b->len++] = (unsigned char)v;
}

static void put_int(bytes *b, int field, uint64_t v)
{
    put_number(b, (uint64_t)field << 3);
    put_number(b, v);
}

static void put_data(bytes *b, int field, const void *data, size_t len)
{
    put_number(b, (uint64_t)field << 3 | 2);
    put_number(b, len);
    memcpy(b->data + b->len, data, len);
    b->len += len;
}

static void put_text(bytes *b, int field, const char *text) { put_data(b, field, text, strlen(text)); }
static void put_message(bytes *b, int field, const bytes *m) { put_data(b, field, m->data, m->len); }

/* float32, sizes: a name each, or "" and a number */
static void put_value(bytes *graph, int field, const char *name, const char *size_name, int size)
{
    bytes value = { .len = 0 }, type = { .len = 0 }, tensor = { .len = 0 }, shape = { .len = 0 }, dim[2] = { { .len = 0 } };
    put_text(&dim[0], 2, size_name);
    put_int(&dim[1], 1, (uint64_t)size);
    put_message(&shape, 1, &dim[0]);
    put_message(&shape, 1, &dim[1]);
    put_int(&tensor, 1, 1);
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_text(&value, 1, name);
    put_message(&value, 2, &type);
    put_message(graph, field, &value);
}

static void put_node(bytes *graph, const char *domain, const char *op, const char *in, const char *out, bool attributes)
{
    bytes node = { .len = 0 }, number = { .len = 0 }, list = { .len = 0 }, word = { .len = 0 };
    put_text(&node, 1, in);
    put_text(&node, 2, out);
    put_text(&node, 3, "my node");
    put_text(&node, 4, op);
    put_text(&node, 7, domain);
    if (attributes) {
        put_text(&number, 1, "times");
        put_int(&number, 3, 3);
        put_int(&number, 20, 2);
        put_text(&list, 1, "list");
        put_int(&list, 8, 5);
        put_int(&list, 8, 6);
        put_int(&list, 20, 7);
        put_text(&word, 1, "word");
        put_text(&word, 4, "hello");
        put_int(&word, 20, 3);
        put_message(&node, 5, &number);
        put_message(&node, 5, &list);
        put_message(&node, 5, &word);
    }
    put_message(graph, 1, &node);
}

/* y = Relu(Op(x)), Op of `domain` with attributes */
static bytes model_of(const char *domain, const char *op)
{
    bytes model = { .len = 0 }, graph = { .len = 0 }, set = { .len = 0 }, own = { .len = 0 };
    put_node(&graph, domain, op, "x", "h", true);
    put_node(&graph, "", "Relu", "h", "y", false);
    put_value(&graph, 11, "x", "batch", 4);
    put_value(&graph, 12, "y", "batch", 4);
    put_value(&graph, 13, "h", "batch", 4);
    put_text(&set, 1, "");
    put_int(&set, 2, 17);
    put_text(&own, 1, domain);
    put_int(&own, 2, 2);
    put_int(&model, 1, 8);
    put_text(&model, 2, "me");
    put_message(&model, 7, &graph);
    put_message(&model, 8, &set);
    put_message(&model, 8, &own);
    return model;
}

static relax_onnx_import *imported(relax_context *ctx, const bytes *m, const relax_onnx_options *o)
{
    return relax_onnx_import_memory(ctx, m->data, m->len, o, NULL, NULL);
}

static relax_onnx_options options(void)
{
    relax_onnx_options o;
    assert_int_equal(relax_onnx_options_init(&o, sizeof o), RELAX_OK);
    return o;
}

/* The text of the module holds these words. */
static void assert_says(relax_context *ctx, const relax_onnx_import *i, const char *words)
{
    const relax_module *m = relax_onnx_import_module(i);
    assert_non_null(m);
    relax_bytes *text = relax_node_print(ctx, relax_module_as_node(m), NULL);
    assert_non_null(text);
    char *copy = calloc(relax_bytes_size(text) + 1, 1);
    memcpy(copy, relax_bytes_data(text), relax_bytes_size(text));
    if (!strstr(copy, words))
        fail_msg("no %s in %s", words, copy);
    free(copy);
    relax_bytes_release(text);
}

/* ---- queries ----------------------------------------------------------------------------------- */

static void test_query(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    bytes m = model_of("here", "Op");
    relax_onnx_query *q = relax_onnx_query_memory(ctx, m.data, m.len);
    memset(m.data, 0, sizeof m.data); /* not needed any more */
    assert_non_null(q);
    relax_onnx_counts n = { .struct_size = sizeof n };
    assert_int_equal(relax_onnx_query_counts(q, &n), RELAX_OK);
    assert_int_equal(n.ir_version, 8);
    assert_int_equal(n.num_nodes, 2);
    assert_int_equal(n.num_inputs, 1);
    assert_int_equal(n.num_outputs, 1);
    assert_int_equal(n.num_opsets, 2);
    assert_int_equal(n.num_operators, 2);
    assert_int_equal(n.num_weights, 0);
    const char *domain, *op, *name;
    int32_t known;
    assert_string_equal(relax_onnx_query_producer(q, NULL), "me");
    assert_int_equal(relax_onnx_query_opset(q, 0, &domain), 17);
    assert_string_equal(domain, "");
    assert_int_equal(relax_onnx_query_opset(q, 1, &domain), 2);
    assert_string_equal(domain, "here");
    assert_int_equal(relax_onnx_query_opset(q, 2, &domain), -1);
    assert_int_equal(relax_onnx_query_operator(q, 0, &domain, &op, &known), 1);
    assert_string_equal(op, "Op");
    assert_int_equal(known, 0);
    assert_int_equal(relax_onnx_query_operator(q, 1, NULL, &op, &known), 1);
    assert_string_equal(op, "Relu");
    assert_int_equal(known, 1);
    assert_int_equal(relax_onnx_query_operator(q, 2, &domain, &op, &known), 0);
    assert_null(op);
    assert_string_equal(relax_onnx_query_value(q, RELAX_ONNX_INPUTS, 0, NULL), "x");
    assert_string_equal(relax_onnx_query_value(q, RELAX_ONNX_OUTPUTS, 0, NULL), "y");
    assert_null(relax_onnx_query_value(q, RELAX_ONNX_OUTPUTS, 1, NULL));
    assert_null(relax_onnx_query_value(q, 7, 0, NULL));
    assert_int_equal(relax_onnx_query_dtype(q, RELAX_ONNX_INPUTS, 0, &name), RELAX_FLOAT32);
    assert_string_equal(name, "FLOAT");
    assert_int_equal(relax_onnx_query_ndim(q, RELAX_ONNX_INPUTS, 0), 2);
    assert_int_equal(relax_onnx_query_dim(q, RELAX_ONNX_INPUTS, 0, 0, &name), -1);
    assert_string_equal(name, "batch");
    assert_int_equal(relax_onnx_query_dim(q, RELAX_ONNX_INPUTS, 0, 1, &name), 4);
    assert_null(name);
    assert_int_equal(relax_onnx_query_dim(q, RELAX_ONNX_INPUTS, 0, 2, &name), -1);
    relax_onnx_query_destroy(q);
    relax_onnx_query_destroy(NULL);
    assert_null(relax_onnx_query_memory(ctx, "\x0a", 1));
    assert_int_equal(relax_context_num_errors(ctx), 1);
    assert_null(relax_onnx_query_file(ctx, "/nonexistent/m.onnx"));
}

/* ---- converters of the host --------------------------------------------------------------------- */

typedef struct seen { relax_context *ctx; int calls; bool refuse, silent; } seen;

/* Op(x) is x times `times` */
static int32_t convert(void *user, relax_builder *b, relax_onnx_node *n)
{
    seen *s = user;
    size_t len, count;
    int64_t times = 0;
    double none = 7;
    s->calls++;
    assert_memory_equal(relax_onnx_node_domain(n, &len), "here", 4);
    assert_memory_equal(relax_onnx_node_operator(n, &len), "Op", 2);
    assert_int_equal(len, 2);
    assert_memory_equal(relax_onnx_node_name(n, NULL), "my node", 7);
    assert_int_equal(relax_onnx_node_version(n), 2);
    assert_int_equal(relax_onnx_node_num_inputs(n), 1);
    assert_int_equal(relax_onnx_node_num_outputs(n), 1);
    assert_int_equal(relax_onnx_node_int(n, "times", &times), 1);
    assert_int_equal(relax_onnx_node_int(n, "word", &times), 0);
    assert_int_equal(relax_onnx_node_float(n, "times", &none), 0);
    assert_true(none == 7);
    const int64_t *list = relax_onnx_node_ints(n, "list", &count);
    assert_int_equal(count, 2);
    assert_int_equal(list[1], 6);
    assert_null(relax_onnx_node_floats(n, "list", &count));
    assert_memory_equal(relax_onnx_node_string(n, "word", &len), "hello", 5);
    assert_null(relax_onnx_node_tensor(n, "word"));
    assert_null(relax_onnx_node_input(n, 1));
    if (s->refuse && !s->silent)
        relax_onnx_node_fail(n, "not today");
    if (s->refuse)
        return 0;
    relax_context *ctx = s->ctx;
    assert_non_null(b);
    const relax_expr *x = relax_onnx_node_input(n, 0), *args[2];
    float factor = (float)times;
    args[0] = x;
    args[1] = relax_constant_new(ctx, RELAX_FLOAT32, NULL, 0, &factor, sizeof factor);
    assert_int_equal(relax_onnx_node_set_output(n, 1, x), RELAX_ERROR_INVALID_ARGUMENT);
    return relax_onnx_node_set_output(n, 0, relax_r_multiply(ctx, args[0], args[1])) == RELAX_OK;
}

static void test_converter(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    bytes m = model_of("here", "Op");
    seen s = { .ctx = ctx };
    const relax_onnx_converter only = { sizeof only, "here", "Op", convert, &s }, *own = &only;
    relax_onnx_options o = options();
    o.converters = &own;
    o.num_converters = 1;
    relax_onnx_import *i = imported(ctx, &m, &o);
    assert_int_equal(s.calls, 1);
    assert_says(ctx, i, "R.multiply(x, R.const(3.0, \"float32\"))");
    relax_onnx_import_destroy(i);
    for (int silent = 0; silent < 2; silent++) {
        s = (seen){ .ctx = ctx, .refuse = true, .silent = silent };
        i = imported(ctx, &m, &o);
        assert_null(relax_onnx_import_module(i));
        assert_int_equal(relax_onnx_import_num_issues(i), 1);
        assert_string_equal(relax_onnx_issue_code(i, 0), "ON05");
        assert_string_equal(relax_onnx_issue_reason(i, 0, NULL),
                            silent ? "the node could not be imported" : "not today");
        relax_onnx_import_destroy(i);
    }
}

static int32_t take_over(void *user, relax_builder *b, relax_onnx_node *n)
{
    (void)b;
    ++*(int *)user;
    return relax_onnx_node_set_output(n, 0, relax_onnx_node_input(n, 0)) == RELAX_OK;
}

static void test_converter_wins(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    bytes m = model_of("", "Exp");
    int calls = 0;
    const relax_onnx_converter relu = { sizeof relu, NULL, "Relu", take_over, &calls };
    const relax_onnx_converter exponential = { sizeof relu, "ai.onnx", "Exp", take_over, &calls };
    const relax_onnx_converter *own[] = { &relu, &exponential };
    relax_onnx_options o = options();
    o.converters = own;
    o.num_converters = 2;
    relax_onnx_import *i = imported(ctx, &m, &o);
    assert_int_equal(calls, 2);
    assert_says(ctx, i, "return x");
    relax_onnx_import_destroy(i);
    const relax_onnx_converter broken[] = { { sizeof relu, NULL, NULL, take_over, NULL },
                                            { sizeof relu, NULL, "Exp", NULL, NULL },
                                            { 0, NULL, "Exp", take_over, NULL } }, *one;
    for (size_t k = 0; k < N(broken); k++) {
        one = &broken[k];
        o.converters = &one;
        o.num_converters = 1;
        assert_null(imported(ctx, &m, &o));
    }
    o.converters = NULL;
    assert_null(imported(ctx, &m, &o));
}

/* ---- packed functions --------------------------------------------------------------------------- */

static void test_packed(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    bytes m = model_of("here", "Op");
    relax_onnx_options o = options();
    relax_onnx_import *i = imported(ctx, &m, &o);
    assert_null(relax_onnx_import_module(i));
    assert_string_equal(relax_onnx_issue_code(i, 0), "ON03");
    assert_string_equal(relax_onnx_issue_domain(i, 0, NULL), "here");
    relax_onnx_import_destroy(i);
    relax_context_clear_diagnostics(ctx);
    o.packed_calls = 1;
    i = imported(ctx, &m, &o);
    assert_says(ctx, i, "R.call_pure_packed(\"onnx.here.Op\", x, R.str(\"times\"), R.prim_value(3), R.str(\"list\"), "
                        "R.shape([5, 6]), R.str(\"word\"), R.str(\"hello\"), sinfo_args=(R.Tensor((batch, 4), dtype=\"float32\"),))");
    relax_onnx_import_destroy(i);
}

static void test_options(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    bytes m = model_of("", "Exp");
    relax_onnx_options o = options();
    const char *name = "batch";
    const int64_t size = 5;
    o.size_names = &name;
    o.sizes = &size;
    o.num_sizes = 1;
    o.entry = "forward";
    relax_onnx_import *i = imported(ctx, &m, &o);
    assert_says(ctx, i, "def forward(x: R.Tensor((5, 4), dtype=\"float32\"))");
    assert_int_equal(relax_onnx_import_num_nodes(i), 2);
    relax_onnx_import_destroy(i);
    i = imported(ctx, &m, NULL);
    assert_says(ctx, i, "def main(x: R.Tensor((\"batch\", 4), dtype=\"float32\"))");
    relax_onnx_import_destroy(i);
    o.max_nodes = 1;
    i = imported(ctx, &m, &o);
    assert_null(relax_onnx_import_module(i));
    assert_string_equal(relax_onnx_issue_code(i, 0), "ON02");
    relax_onnx_import_destroy(i);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_query, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_converter, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_converter_wins, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_packed, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_options, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
