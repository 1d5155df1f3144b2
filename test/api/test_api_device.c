/* test_api_device: virtual devices without text (language 8): each VD code met by a program that
 * is built, at the top of a function, in a branch, in a local function and in two functions; its
 * corrected twin says nothing. */
#include "api_fixture.h"

typedef struct world {
    relax_context *ctx;
    relax_module_builder *mb;
    relax_builder *b;
    const relax_attr *devices[2];
    const relax_struct_info *open, *on[2], *truth;
    bool good;
} world;

static const relax_attr *pair_of_ints(relax_context *ctx, const char *a, int64_t x, const char *b,
                                      int64_t y)
{
    const relax_attr *map = relax_attr_map_with(ctx, NULL, Z(a), relax_attr_int_new(ctx, x));
    return relax_attr_map_with(ctx, map, Z(b), relax_attr_int_new(ctx, y));
}

static relax_expr *emit(world *w, const char *op, const relax_expr *x, const relax_expr *y,
                        const relax_attr *attrs)
{
    const relax_expr *args[] = { x, y };
    return relax_builder_emit(w->b, relax_call_op_new(w->ctx, Z(op), args, y ? 2 : 1, attrs, 0),
                              NULL, 0, 0);
}

static relax_expr *hinted(world *w, const relax_expr *x, int64_t type, int64_t id)
{
    return emit(w, "hint_on_device", x, NULL,
                pair_of_ints(w->ctx, "dev_type", type, "dev_id", id));
}

static relax_expr *copied(world *w, const relax_expr *x, int device)
{
    return emit(w, "to_vdevice", x, NULL,
                relax_attr_map_with(w->ctx, NULL, Z("dst_vdevice"), w->devices[device]));
}

/* p[0] is on no device that is known, p[1] and p[2] on the first and the second. */
static relax_expr *two_devices(world *w, relax_expr *const *p)
{
    relax_expr *a = hinted(w, p[0], 2, 0);
    return emit(w, "add", w->good ? copied(w, a, 1) : a, p[2], NULL);
}

static relax_expr *no_device(world *w, relax_expr *const *p)
{
    return emit(w, "exp", w->good ? p[1] : p[0], NULL, NULL);
}

static relax_expr *unlisted(world *w, relax_expr *const *p)
{
    return hinted(w, p[1], 2, w->good ? 1 : 7);
}

typedef relax_expr *body(world *w, relax_expr *const *p);

static relax_expr *at_the_top(world *w, relax_expr *const *p, body *inner)
{
    return inner(w, p);
}

static relax_expr *in_a_branch(world *w, relax_expr *const *p, body *inner)
{
    relax_builder_begin_if(w->b, p[3]);
    const relax_expr *value = inner(w, p);
    relax_builder_begin_else(w->b, relax_call_op_new(w->ctx, Z("shape_of"), &value, 1, NULL, 0));
    return relax_builder_end_if(
        w->b, relax_call_op_new(w->ctx, Z("shape_of"), (const relax_expr *const *)p, 1, NULL, 0),
        NULL, 0, 0);
}

static relax_expr *in_a_local_function(world *w, relax_expr *const *p, body *inner)
{
    relax_expr *own[4] = { relax_var_new(w->ctx, Z("a"), w->open, 0), p[1], p[2], p[3] };
    relax_builder_begin_function(w->b, Z("g"), (const relax_expr *const *)own, 1, NULL);
    return relax_builder_end_function(w->b, inner(w, own));
}

static void function(world *w, const char *name,
                     relax_expr *(*around)(world *, relax_expr *const *, body *), body *inner)
{
    relax_expr *p[] = { relax_var_new(w->ctx, Z("w"), w->open, 0),
                        relax_var_new(w->ctx, Z("x"), w->on[0], 0),
                        relax_var_new(w->ctx, Z("y"), w->on[1], 0),
                        relax_var_new(w->ctx, Z("c"), w->truth, 0) };
    relax_builder_begin_function(w->b, Z(name), (const relax_expr *const *)p, 4, NULL);
    assert_non_null(relax_builder_end_function(w->b, around(w, p, inner)));
}

/* An empty module with two devices. */
static const relax_module *module_with_devices(world *w)
{
    relax_module_builder *mb = relax_module_builder_create(w->ctx, NULL);
    const relax_attr *list = relax_attr_list_new(w->ctx, w->devices, 2);
    const relax_module *m = relax_module_set_global_infos(
        w->ctx, relax_module_builder_finish(mb),
        relax_attr_map_with(w->ctx, NULL, Z("vdevice"), list));
    relax_module_builder_destroy(mb);
    return m;
}

static void open_world(world *w, relax_context *ctx, bool good)
{
    const int64_t four = 4;
    const relax_attr *cuda = relax_attr_string_new(ctx, Z("cuda"));
    *w = (world){ .ctx = ctx, .good = good };
    w->open = relax_struct_info_tensor_of_ints(ctx, &four, 1, RELAX_FLOAT32);
    w->truth = relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_BOOL);
    for (int i = 0; i < 2; i++) {
        w->devices[i] = relax_attr_vdevice_new(ctx, cuda, i, NULL, 0);
        w->on[i] = relax_struct_info_with_device(ctx, w->open, w->devices[i]);
    }
    w->mb = relax_module_builder_create(ctx, module_with_devices(w));
    w->b = relax_builder_create(ctx, w->mb);
}

static size_t count_said(relax_context *ctx, const char *code)
{
    size_t n = 0;
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++) {
        assert_string_equal(relax_diagnostic_code(ctx, i), code);
        n++;
    }
    return n;
}

static const struct { const char *code; body *inner; bool error; } codes[] = {
    { "VD01", two_devices, true },
    { "VD02", no_device, false },
    { "VD03", unlisted, true },
};
static const struct {
    relax_expr *(*around)(world *, relax_expr *const *, body *);
    int functions;
} places[] = { { at_the_top, 1 }, { in_a_branch, 1 }, { in_a_local_function, 1 },
               { at_the_top, 2 } };

static const relax_module *realized(relax_context *ctx, const relax_module *m)
{
    relax_pipeline *pipeline = relax_pipeline_create(ctx);
    relax_pipeline_add(pipeline, Z("realize_vdevice"), NULL);
    m = relax_pipeline_run(pipeline, m);
    relax_pipeline_destroy(pipeline);
    return m;
}

static void codes_are_found(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (size_t i = 0; i < N(codes) * N(places) * 2; i++) {
        size_t code = i / (2 * N(places)), place = i / 2 % N(places);
        bool good = i % 2;
        world w;
        open_world(&w, ctx, good);
        function(&w, "f", places[place].around, codes[code].inner);
        if (places[place].functions == 2)
            function(&w, "h", places[place].around, codes[code].inner);
        const relax_module *m = relax_module_builder_finish(w.mb);
        assert_quiet(ctx);
        assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ALL), 1);
        bool passes = realized(ctx, m) != NULL;
        assert_int_equal(passes, good || !codes[code].error);
        assert_int_equal(count_said(ctx, codes[code].code), good ? 0 : places[place].functions);
        relax_context_clear_diagnostics(ctx);
        relax_builder_destroy(w.b);
        relax_module_builder_destroy(w.mb);
    }
}

/* Inference says so where two operands are known to be on different devices. */
static void operands_are_compared_at_once(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    world w;
    open_world(&w, ctx, false);
    relax_expr *p[] = { relax_var_new(ctx, Z("x"), w.on[0], 0),
                        relax_var_new(ctx, Z("y"), w.on[1], 0) };
    relax_builder_begin_function(w.b, Z("f"), (const relax_expr *const *)p, 2, NULL);
    assert_null(emit(&w, "add", p[0], p[1], NULL));
    assert_string_equal(relax_diagnostic_message(ctx, 0, NULL),
                        "add: x is on cuda:0 but y is on cuda:1; insert R.to_vdevice");
    assert_said(ctx, "VD01");
    assert_non_null(emit(&w, "add", copied(&w, p[0], 1), p[1], NULL));
    assert_quiet(ctx);
    relax_builder_destroy(w.b);
    relax_module_builder_destroy(w.mb);
}

static void devices_are_values(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_attr *cuda = relax_attr_string_new(ctx, Z("cuda"));
    const relax_attr *a = relax_attr_vdevice_new(ctx, cuda, 1, NULL, 0);
    const relax_struct_info *x = relax_struct_info_tensor_of_rank(ctx, 2, RELAX_FLOAT32),
                            *y = relax_struct_info_with_device(ctx, x, a);
    assert_ptr_equal(a, relax_attr_vdevice_new(ctx, cuda, 1, Z("global")));
    assert_ptr_not_equal(a, relax_attr_vdevice_new(ctx, cuda, 1, Z("shared")));
    assert_ptr_equal(relax_struct_info_device(y), a);
    assert_null(relax_struct_info_device(x));
    assert_ptr_equal(relax_struct_info_with_device(ctx, y, NULL), x);
    assert_quiet(ctx);
    assert_null(relax_attr_vdevice_new(ctx, cuda, -1, NULL, 0));
    assert_said(ctx, "OP03");
    assert_null(relax_attr_vdevice_new(ctx, a, 0, NULL, 0));
    assert_said(ctx, "OP02");
    assert_null(relax_struct_info_with_device(ctx, relax_struct_info_object_new(ctx), a));
    assert_said(ctx, "OP02");
    assert_null(relax_struct_info_with_device(ctx, x, cuda));
    assert_said(ctx, "OP02");
}

/* A distributed tensor is of Tensor kind, on no device, and fits no tensor in one place. */
static void meshes_are_no_devices(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_struct_info
        *whole = relax_struct_info_parse(ctx, Z("R.Tensor((4,), \"float32\")"), NULL, 0),
        *part = relax_struct_info_parse(
            ctx,
            Z("R.DTensor((4,), \"float32\", R.device_mesh((2,), I.Range(0, 2)), \"S[0]\")"), NULL, 0);
    assert_quiet(ctx);
    assert_int_equal(relax_struct_info_kind(part), relax_struct_info_kind(whole));
    assert_int_equal(relax_struct_info_is_distributed(part), 1);
    assert_int_equal(relax_struct_info_is_distributed(whole), 0);
    assert_int_equal(relax_struct_info_is_distributed(relax_struct_info_object_new(ctx)), 0);
    assert_null(relax_struct_info_device(part));
    assert_int_equal(relax_struct_info_assignable(ctx, part, whole), RELAX_ASSIGNABLE_NO);
    assert_int_equal(relax_struct_info_assignable(ctx, part, part), RELAX_ASSIGNABLE_YES);
    int32_t reason = RELAX_MISMATCH_NONE;
    relax_struct_info_assignable_reason(ctx, whole, part, &reason, NULL, NULL);
    assert_int_equal(reason, RELAX_MISMATCH_SHARDING);
}

/* What is built on a module with devices keeps them when attributes are set. */
static void attributes_keep_devices(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    world w;
    open_world(&w, ctx, true);
    relax_module_builder_set_attrs(w.mb, NULL);
    assert_int_equal(
        relax_attr_count(relax_module_global_infos(relax_module_builder_finish(w.mb))), 1);
    relax_builder_destroy(w.b);
    relax_module_builder_destroy(w.mb);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(codes_are_found, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(operands_are_compared_at_once, open_fixture,
                                        close_fixture),
        cmocka_unit_test_setup_teardown(devices_are_values, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(meshes_are_no_devices, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(attributes_keep_devices, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
