/* test_api_fuse.c: fusion by patterns through the public interface, the numbers of what comes out, and the pass that
 * merges it. */
#include "checked_module.h"
#include "text_file.h"

typedef const relax_pattern *pat;

static relax_module *body(relax_context *ctx, const char *lines)
{
    char text[4096];
    snprintf(text, sizeof text, PROGRAM("body"), lines);
    return parsed(ctx, text);
}

static pat any(relax_context *ctx) { return relax_pattern_any_new(ctx); }
static pat op1(relax_context *ctx, const char *op, pat a) { return relax_pattern_op_new(ctx, Z(op), &a, 1, 0); }
static pat op2(relax_context *ctx, const char *op, pat a, pat b)
{
    pat args[] = { a, b };
    return relax_pattern_op_new(ctx, Z(op), args, 2, 0);
}
static pat layer(relax_context *ctx) { return op1(ctx, "nn.relu", op2(ctx, "matmul", any(ctx), any(ctx))); }

static size_t times(const char *text, const char *what)
{
    size_t n = 0;
    for (; (text = strstr(text, what)); text++)
        n++;
    return n;
}

static void expect(relax_context *ctx, const relax_module *m, const char *what, size_t count)
{
    assert_non_null(m);
    char *text = printed(ctx, relax_module_as_node(m));
    if (times(text, what) != count)
        print_error("wanted %zu times %s\n%s\n", count, what, text);
    assert_int_equal(times(text, what), count);
    free(text);
    assert_non_null(relax_module_infer(ctx, m));
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
    assert_quiet(ctx);
}

static relax_module *fuse(relax_context *ctx, const relax_module *m, const char *name, pat p)
{
    return relax_pattern_fuse(ctx, m, NULL, 0, Z(name), p, NULL, NULL, NULL);
}

/* Two equal layers share a function; a second run has nothing to do. */
static void test_layers(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("layers")), *fused = fuse(ctx, m, "dnnl.matmul_relu", layer(ctx));
    expect(ctx, fused, "\"Composite\": \"dnnl.matmul_relu\", \"Primitive\": True", 1);
    expect(ctx, fused, "= cls.fused_relax_matmul_relax_nn_relu(", 2);
    expect(ctx, fused, "R.matmul", 1);
    assert_ptr_equal(fuse(ctx, fused, "dnnl.matmul_relu", layer(ctx)), fused);
    assert_ptr_equal(fuse(ctx, m, "dnnl.none", op1(ctx, "cos", any(ctx))), m);
}

/* The first pattern has what the second would take, too. */
static void test_order(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("layers"));
    relax_module *fused = fuse(ctx, m, "b.relu", op1(ctx, "nn.relu", any(ctx)));
    fused = fuse(ctx, fused, "a.layer", layer(ctx));
    expect(ctx, fused, "a.layer", 0);
    expect(ctx, fused, "cls.fused_relax_nn_relu(", 2);
}

typedef struct choice { pat product; int32_t seen; } choice;

static int32_t second_only(void *user, const relax_match *match)
{
    choice *c = user;
    assert_non_null(relax_match_expr(match, c->product));
    return ++c->seen == 2;
}

static void test_check(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("layers"));
    choice c = { op2(ctx, "matmul", any(ctx), any(ctx)), 0 };
    pat p = op1(ctx, "nn.relu", c.product);
    relax_module *fused = relax_pattern_fuse(ctx, m, Z("main"), Z("a.layer"), p, second_only, &c, NULL);
    assert_int_equal(c.seen, 2);
    expect(ctx, fused, "cls.fused_relax_matmul_relax_nn_relu(b, z)", 1);
    expect(ctx, fused, "R.matmul", 2);
}

/* What is used otherwise, too, comes out as well, before its use. */
static void test_several_results(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("used twice")), *fused = fuse(ctx, m, "a.layer", layer(ctx));
    expect(ctx, fused, "return (a, c)", 1);
    expect(ctx, fused, "R.exp(a", 1);
}

/* A group cannot need its own result, alone or with another one's help. */
static void test_tangles(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("through something else"));
    pat p = op2(ctx, "add", op1(ctx, "exp", any(ctx)), any(ctx));
    expect(ctx, fuse(ctx, m, "a.sum", p), "Composite", 0);
    m = body(ctx, PROGRAM("across"));
    m = fuse(ctx, m, "a.one", op2(ctx, "divide", any(ctx), op1(ctx, "exp", any(ctx))));
    expect(ctx, m, "Composite", 1);
    m = fuse(ctx, m, "b.other", op2(ctx, "multiply", any(ctx), op1(ctx, "sin", any(ctx))));
    expect(ctx, m, "b.other", 0);
}

static void test_options(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("sizes"));
    relax_fuse_options o;
    assert_int_equal(relax_fuse_options_init(&o, sizeof o), RELAX_OK);
    pat p = op1(ctx, "exp", op2(ctx, "add", any(ctx), any(ctx)));
    relax_module *fused = relax_pattern_fuse(ctx, m, NULL, 0, Z("a.sum"), p, NULL, NULL, &o);
    expect(ctx, fused, "cls.fused_relax_add_relax_exp(x)", 1);
    o.bind_constants = 0;
    fused = relax_pattern_fuse(ctx, m, NULL, 0, Z("a.sum"), p, NULL, NULL, &o);
    expect(ctx, fused, "param_0: R.Tensor((4,)", 1);
    o.bind_constants = 2;
    assert_null(relax_pattern_fuse(ctx, m, NULL, 0, Z("a.sum"), p, NULL, NULL, &o));
    assert_string_equal(relax_diagnostic_code(ctx, 0), "OP05");
    relax_context_clear_diagnostics(ctx);
    assert_null(relax_pattern_fuse(ctx, m, NULL, 0, "", 0, p, NULL, NULL, NULL));
    relax_context_clear_diagnostics(ctx);
}

/* Public functions for the back end, with the composite one inside; at once, or by the pass, which makes one of two. */
static void test_codegen(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("layers"));
    relax_fuse_options o;
    relax_fuse_options_init(&o, sizeof o);
    o.annotate_codegen = 1;
    relax_module *each = relax_pattern_fuse(ctx, m, NULL, 0, Z("dnnl.layer"), layer(ctx), NULL, NULL, &o);
    expect(ctx, each, "R.func_attr({\"Codegen\": \"dnnl\"})", 1);
    expect(ctx, each, "R.func_attr({\"Composite\": \"dnnl.layer\"})", 1);
    expect(ctx, each, "= cls.fused_relax_matmul_relax_nn_relu_dnnl(", 2);
    relax_module *fused = fuse(ctx, m, "dnnl.layer", layer(ctx));
    relax_pipeline *pipeline = relax_pipeline_create(ctx);
    assert_int_equal(relax_pipeline_add(pipeline, Z("merge_composite_functions"), NULL), RELAX_OK);
    relax_module *merged = relax_pipeline_run(pipeline, fused);
    relax_pipeline_destroy(pipeline);
    expect(ctx, merged, "R.func_attr({\"Codegen\": \"dnnl\"})", 1);
    expect(ctx, merged, "\"Primitive\"", 0);
    expect(ctx, merged, "= cls.", 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_layers, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_order, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_check, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_several_results, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_tangles, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_options, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_codegen, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
