/* test_api_extend_op: operators and derive functions that a host adds: from the builder, in text,
 * lowered by PrimFuncs, run by packed functions. */
#include "host_op.h"
#include "sparse_kind.h"
#include "text_file.h"

static sparse world;
static int destroyed;
static int mode; /* what callbacks are to do wrong */

static void count_destroy(void *user)
{
    (void)user;
    destroyed++;
}

/* ---- host.scale_rows: out[i, j] = x[i, j] * s[i] + bias, by a PrimFunc ---------------------- */

static const relax_struct_info *infer_scale(void *user, relax_context *ctx,
                                            const relax_call_view *view)
{
    const relax_struct_info *x = relax_call_view_arg_info(view, 0),
                            *s = relax_call_view_arg_info(view, 1);
    (void)user;
    (void)ctx;
    assert_null(relax_call_view_result(view));
    if (!x || !s || mode == 1)
        return NULL;
    if (mode == 2)
        return (const relax_struct_info *)(const void *)relax_prim_int_new(ctx, 1);
    if (mode == 3)
        relax_context_report(ctx, 0, Z("no scaling today"));
    if (relax_struct_info_kind(x) != RELAX_STRUCT_INFO_KIND_TENSOR ||
        relax_struct_info_ndim(x) != 2 || relax_struct_info_ndim(s) != 1) {
        relax_call_view_fail(view, Z("takes a matrix and a vector"));
        return NULL;
    }
    if (relax_prim_prove_equal(ctx, relax_struct_info_dim(x, 0), relax_struct_info_dim(s, 0)) ==
        RELAX_PROOF_DIFFERENT) {
        relax_call_view_fail(view, Z("the vector is as long as the matrix is high"));
        return NULL;
    }
    return x;
}

static const relax_base_func *scale_body(relax_context *ctx, double bias, relax_dtype dtype)
{
    relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
    const relax_prim_expr *n = relax_tir_dim(t, Z("n")), *m = relax_tir_dim(t, Z("m")),
                          *sizes[] = { n, m };
    const relax_buffer *x = relax_tir_param(t, Z("x"), dtype, sizes, 2),
                       *s = relax_tir_param(t, Z("s"), dtype, sizes, 1),
                       *out = relax_tir_param(t, Z("out"), dtype, sizes, 2);
    relax_tir_begin_block(t, Z("scale"));
    const relax_prim_expr *at[] = { relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("i"), n),
                                    relax_tir_axis(t, RELAX_AXIS_SPATIAL, Z("j"), m) };
    const relax_prim_expr *v = relax_prim_binary_new(
        ctx, RELAX_PRIM_MUL, relax_tir_load(t, x, at, 2), relax_tir_load(t, s, at, 1));
    relax_tir_store(
        t, out, at, 2,
        relax_prim_binary_new(ctx, RELAX_PRIM_ADD, v, relax_prim_float_new(ctx, dtype, bias)));
    relax_tir_end_block(t);
    const relax_base_func *f = relax_tir_finish(t);
    relax_tir_builder_destroy(t);
    return f;
}

static const relax_base_func *lower_scale(void *user, relax_context *ctx,
                                          const relax_call_view *view)
{
    const relax_expr *call = relax_call_view_call(view);
    double bias = -1;
    (void)user;
    assert_non_null(relax_call_view_result(view));
    assert_null(relax_call_view_arg_info(view, 2));
    assert_int_equal(relax_attr_float_value(relax_expr_attr(call, Z("bias")), &bias), RELAX_OK);
    if (mode == 4)
        return NULL;
    if (mode == 5)
        return (const relax_base_func *)(const void *)relax_prim_int_new(ctx, 1);
    if (mode == 6)
        relax_call_view_fail(view, Z("rows are not scaled on Mondays"));
    return mode == 6 ? NULL : scale_body(ctx, bias, mode == 7 ? RELAX_FLOAT64 : RELAX_FLOAT32);
}

static relax_status add_scale(relax_context *ctx)
{
    static const char *const args[] = { "x", "s" }, *const attrs[] = { "bias" },
                      *const defaults[] = { "0.5" };
    static const int32_t kinds[] = { RELAX_OP_ARG_TENSOR, RELAX_OP_ARG_TENSOR },
                         types[] = { RELAX_OP_ATTR_FLOAT };
    relax_op_options o;
    relax_op_options_init(&o, sizeof o);
    o.name = "host.scale_rows";
    o.name_len = strlen(o.name);
    o.arg_names = args;
    o.arg_kinds = kinds;
    o.num_args = o.min_args = 2;
    o.attr_names = attrs;
    o.attr_types = types;
    o.attr_defaults = defaults;
    o.num_attrs = 1;
    o.infer = infer_scale;
    o.lower = lower_scale;
    o.help = "scales the rows of a matrix";
    o.help_len = strlen(o.help);
    o.destroy = count_destroy;
    return relax_op_register(ctx, &o);
}

/* ---- host.sparse.from_dense, host.sparse.nnz: packed functions and the sparse kind ---------- */

static const relax_struct_info *infer_sparse(void *user, relax_context *ctx,
                                             const relax_call_view *view)
{
    const relax_struct_info *x = relax_call_view_arg_info(view, 0);
    const relax_prim_expr *dims[2];
    (void)user;
    if (relax_struct_info_ndim(x) != 2)
        return relax_struct_info_object_new(ctx);
    for (size_t i = 0; i < 2; i++)
        dims[i] = relax_struct_info_dim(x, i);
    return sparse_of(ctx, relax_expr_as_node(relax_shape_expr_new(ctx, dims, 2)),
                     relax_expr_as_node(relax_dtype_imm_new(ctx, relax_struct_info_dtype(x))),
                     NULL);
}

static const relax_struct_info *infer_count(void *user, relax_context *ctx,
                                            const relax_call_view *view)
{
    const relax_struct_info *s = relax_call_view_arg_info(view, 0);
    (void)user;
    if (relax_struct_info_kind(s) == RELAX_STRUCT_INFO_KIND_EXTENSION)
        return relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_INT64);
    relax_call_view_fail(view, Z("takes a sparse tensor"));
    return NULL;
}

static relax_status add_packed(relax_context *ctx, const char *name, relax_op_infer_fn infer,
                               const char *packed, bool pure, bool attrs)
{
    static const char *const names[] = { "mode", "axes", "deep", "limit" };
    static const char *const defaults[] = { "csr", "[1, -2]", "True", "None" };
    static const int32_t types[] = { RELAX_OP_ATTR_STRING, RELAX_OP_ATTR_INTS, RELAX_OP_ATTR_BOOL,
                                     RELAX_OP_ATTR_INT_OR_NONE };
    relax_op_options o = host_op_of_one(name, RELAX_OP_ARG_ANY, infer, packed);
    o.attr_names = names;
    o.attr_types = types;
    o.attr_defaults = defaults;
    o.num_attrs = attrs ? 4 : 0;
    o.pure = pure;
    o.destroy = count_destroy;
    return relax_op_register(ctx, &o);
}

/* ---- host.sized: a derive function: the result has the shape that argument 0 has as a value - */

static const relax_struct_info *derive_sized(void *user, relax_context *ctx,
                                             const relax_call_view *view)
{
    const relax_struct_info *s = relax_call_view_arg_info(view, 0);
    const relax_prim_expr *dims[8];
    size_t n = 0;
    (void)user;
    if (mode == 1)
        return NULL;
    if (mode == 2)
        return (const relax_struct_info *)(const void *)relax_prim_int_new(ctx, 1);
    if (relax_struct_info_kind(s) != RELAX_STRUCT_INFO_KIND_SHAPE) {
        relax_call_view_fail(view, Z("takes a shape"));
        return NULL;
    }
    while (n < 8 && (dims[n] = relax_struct_info_dim(s, n)) != NULL)
        n++;
    return relax_struct_info_tensor_new(ctx, dims, n, RELAX_FLOAT32);
}

enum { REGISTERED = 5 };

static int open_host(void **state)
{
    memset(&world, 0, sizeof world);
    destroyed = mode = 0;
    if (open_fixture(state))
        return -1;
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_kind_options o = sparse_options(&world);
    bool good =
        relax_kind_register(ctx, &o) == RELAX_OK && add_scale(ctx) == RELAX_OK &&
        add_packed(ctx, "host.sparse.from_dense", infer_sparse, "host.from_dense", true, true) ==
            RELAX_OK &&
        add_packed(ctx, "host.sparse.nnz", infer_count, "host.nnz", true, false) == RELAX_OK &&
        add_packed(ctx, "host.log", NULL, "host.log", false, false) == RELAX_OK &&
        relax_derive_register(ctx, Z("host.sized"), derive_sized, NULL, count_destroy) == RELAX_OK;
    return good ? 0 : -1;
}

static int close_host(void **state)
{
    int failed = close_fixture(state);
    return failed || world.destroyed != 1 || destroyed != REGISTERED ? -1 : 0;
}

static relax_context *ctx_of(void **state) { return ((fixture *)*state)->ctx; }

static relax_module *parsed(relax_context *ctx, const char *text)
{
    relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

/* ---- running -------------------------------------------------------------------------------- */

/* What was seen at the last call of host.from_dense. */
static int seen_args, logged, checked;
static char seen_mode[16];
static int64_t seen_axes[2];
static size_t seen_limit;

static int from_dense(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user;
    seen_args = num_args;
    size_t len = 0;
    const char *text = NULL;
    relax_value_get_string(&args[1], &text, &len);
    snprintf(seen_mode, sizeof seen_mode, "%.*s", (int)len, text ? text : "");
    for (size_t i = 0; i < 2; i++) {
        relax_value axis = { 0 };
        relax_value_tuple_get(&args[2], i, &axis);
        relax_value_get_int(&axis, &seen_axes[i]);
    }
    seen_limit = relax_value_tuple_size(&args[4]);
    /* a "sparse tensor" is a tuple that holds the dense one */
    return (int)relax_value_set_tuple(result, args, 1, NULL);
}

static int nnz(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    relax_value dense = { 0 };
    relax_tensor *out = NULL;
    int64_t count = 0;
    float data[6];
    (void)user;
    if (num_args != 1 || relax_value_tuple_get(&args[0], 0, &dense) != RELAX_OK)
        return relax_value_set_error(result, Z("TypeError"), Z("no sparse tensor"));
    relax_tensor_copy_out(relax_value_get_tensor(&dense), data, sizeof data);
    for (size_t i = 0; i < 6; i++)
        count += data[i] != 0;
    relax_tensor_create(RELAX_INT64, NULL, 0, NULL, &out, NULL);
    relax_tensor_copy_in(out, &count, sizeof count);
    relax_value_set_tensor(result, out);
    relax_tensor_release(out);
    return 0;
}

static int log_it(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user;
    (void)args;
    logged += num_args;
    return (int)relax_value_set_tuple(result, NULL, 0, NULL);
}

/* A value is sparse if it is a tuple. */
static int check_sparse(void *user, const relax_value *args, int32_t num_args, relax_value *result)
{
    (void)user;
    checked = num_args;
    relax_value_set_null(result);
    return relax_value_tuple_size(&args[0]) != RELAX_NOT_FOUND
               ? 0
               : relax_value_set_error(result, Z("TypeError"), Z("this is not sparse"));
}

static relax_vm *machine(relax_context *ctx, const relax_module *m)
{
    relax_executable *exe = relax_module_compile(ctx, m, NULL);
    relax_registry *registry = NULL;
    relax_vm_options options;
    relax_vm *vm = NULL;
    assert_quiet(ctx);
    assert_non_null(exe);
    assert_int_equal(relax_registry_create(NULL, &registry, NULL), RELAX_OK);
    relax_registry_register(registry, Z("host.from_dense"), from_dense, NULL, NULL, NULL);
    relax_registry_register(registry, Z("host.nnz"), nnz, NULL, NULL, NULL);
    relax_registry_register(registry, Z("host.log"), log_it, NULL, NULL, NULL);
    relax_registry_register(registry, Z("host.check"), check_sparse, NULL, NULL, NULL);
    relax_vm_options_init(&options, sizeof options);
    options.registry = registry;
    assert_int_equal(relax_vm_create(exe, &options, &vm, NULL), RELAX_OK);
    relax_registry_release(registry);
    relax_executable_release(exe);
    return vm;
}

static const float matrix[] = { 1, 0, -3, 0, 5, 0.25f };

static void lowered_by_a_prim_func(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("scaled twice"));
    char *text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text, "R.host.scale_rows(x, s, bias=2.0)"));
    relax_module *again = parsed(ctx, text);
    assert_int_equal(
        relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(again), 0), 1);
    free(text);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ALL), 1);
    relax_vm *vm = machine(ctx, m);
    const float s[] = { 3, -0.5f };
    relax_tensor *x = tensor_of(matrix, 2, 3), *v = NULL;
    int64_t length = 2;
    assert_int_equal(relax_tensor_create(RELAX_FLOAT32, &length, 1, NULL, &v, NULL), RELAX_OK);
    relax_tensor_copy_in(v, s, sizeof s);
    relax_value args[2], result;
    float out[6];
    relax_value_set_tensor(&args[0], x);
    relax_value_set_tensor(&args[1], v);
    assert_int_equal(relax_vm_call(vm, Z("main"), args, 2, &result, NULL), RELAX_OK);
    relax_tensor_copy_out(relax_value_get_tensor(&result), out, sizeof out);
    for (size_t i = 0; i < 6; i++) {
        float y = matrix[i] * s[i / 3] + 2.0f, z = y * s[i / 3] + 0.5f;
        assert_true(out[i] == z);
    }
    for (size_t i = 0; i < 2; i++)
        relax_value_release(&args[i]);
    relax_value_release(&result);
    relax_tensor_release(x);
    relax_tensor_release(v);
    relax_vm_release(vm);
    assert_quiet(ctx);
}

static void run_by_packed_functions(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("counted"));
    char *text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text,
            "R.host.sparse.from_dense(x, mode=\"coo\", axes=[1, -2], deep=True, limit=None)"));
    free(text);
    relax_vm *vm = machine(ctx, m);
    relax_tensor *x = tensor_of(matrix, 2, 3);
    relax_value arg, result;
    relax_error *error = NULL;
    int64_t count = 0;
    logged = 0;
    relax_value_set_tensor(&arg, x);
    if (relax_vm_call(vm, Z("main"), &arg, 1, &result, &error) != RELAX_OK)
        fail_msg("%s %s", relax_error_code(error), relax_error_message(error, NULL));
    relax_tensor_copy_out(relax_value_get_tensor(&result), &count, sizeof count);
    assert_int_equal(count, 4);
    assert_int_equal(logged, 1);
    assert_int_equal(seen_args, 5);
    assert_string_equal(seen_mode, "coo");
    assert_int_equal(seen_axes[0], 1);
    assert_int_equal(seen_axes[1], -2);
    assert_int_equal(seen_limit, 0);
    relax_value_release(&arg);
    relax_value_release(&result);
    relax_tensor_release(x);
    relax_vm_release(vm);
    assert_quiet(ctx);
}

/* ---- the builder ---------------------------------------------------------------------------- */

static const relax_expr *emitted(relax_context *ctx, const char *op, const relax_struct_info *x,
                                 const relax_struct_info *s, bool dataflow, bool pure)
{
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_function_options o;
    relax_function_options_init(&o, sizeof o);
    o.pure = pure;
    const relax_expr *params[] = { relax_var_new(ctx, Z("x"), x, 0),
                                   relax_var_new(ctx, Z("s"), s, 0) };
    relax_builder_begin_function(b, Z("main"), params, 2, &o);
    if (dataflow)
        relax_builder_begin_dataflow(b);
    const relax_expr *y = relax_builder_emit(
        b, relax_call_op_new(ctx, Z(op), params, strcmp(op, "host.log") ? 2 : 1, NULL, 0), NULL, 0,
        0);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    return y;
}

static void derived_and_refused(void **state)
{
    relax_context *ctx = ctx_of(state);
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")), *two[] = { n, n };
    const relax_struct_info *square = relax_struct_info_tensor_new(ctx, two, 2, RELAX_FLOAT32),
                            *row = relax_struct_info_tensor_new(ctx, two, 1, RELAX_FLOAT32);
    const relax_prim_expr *longer =
        relax_prim_binary_new(ctx, RELAX_PRIM_ADD, n, relax_prim_int_new(ctx, 1));
    const relax_struct_info *more = relax_struct_info_tensor_new(ctx, &longer, 1, RELAX_FLOAT32);
    const relax_expr *y = emitted(ctx, "R.host.scale_rows", square, row, false, true);
    assert_ptr_equal(relax_expr_struct_info(y), square);
    assert_quiet(ctx);
    assert_null(emitted(ctx, "host.scale_rows", square, square, false, true));
    assert_said(ctx, "TY08");
    assert_null(emitted(ctx, "host.scale_rows", square, more, false, true));
    assert_said(ctx, "TY08");
    for (mode = 1; mode <= 3; mode++) {
        assert_null(emitted(ctx, "host.scale_rows", square, row, false, true));
        assert_said(ctx, mode == 3 ? "OP17" : "TY08");
    }
    mode = 0;
    /* purity: FPurity of the registration */
    assert_non_null(emitted(ctx, "host.log", square, row, false, false));
    assert_quiet(ctx);
    emitted(ctx, "host.log", square, row, false, true);
    assert_said(ctx, "PU02");
    emitted(ctx, "host.log", square, row, true, false);
    assert_said(ctx, "PU01");
    const relax_expr *args[] = { relax_tuple_new(ctx, NULL, 0) };
    assert_null(relax_call_op_new(ctx, Z("host.scale_rows"), args, 1, NULL, 0));
    assert_said(ctx, "OP08");
    assert_null(relax_call_op_new(ctx, Z("host.scale_row"), args, 1, NULL, 0));
    assert_non_null(strstr(relax_diagnostic_message(ctx, 0, NULL), "host.scale_rows"));
    assert_said(ctx, "OP06");
}

static const relax_struct_info *infer_with(void *user, relax_context *ctx,
                                           const relax_call_view *view)
{
    relax_builder *outer = user;
    (void)view;
    assert_null(relax_builder_emit(outer, relax_tuple_new(ctx, NULL, 0), NULL, 0, 0));
    assert_said(ctx, "OP09");
    relax_builder_destroy(outer);
    assert_said(ctx, "OP09");
    assert_ptr_equal(
        relax_expr_struct_info(emitted(ctx, "host.log", relax_struct_info_object_new(ctx),
                                       relax_struct_info_object_new(ctx), false, false)),
        relax_struct_info_object_new(ctx));
    return relax_struct_info_shape_of_rank(ctx, 3);
}

/* A callback may build with a builder of its own, not with the one that asks. */
static void builders_under_way_are_refused(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_op_options o;
    relax_op_options_init(&o, sizeof o);
    o.name = "host.curious";
    o.name_len = strlen(o.name);
    o.infer = infer_with;
    o.user = b;
    assert_int_equal(relax_op_register(ctx, &o), RELAX_OK);
    relax_builder_begin_function(b, Z("main"), NULL, 0, NULL);
    const relax_expr *y = relax_builder_emit(
        b, relax_call_op_new(ctx, Z("host.curious"), NULL, 0, NULL, 0), NULL, 0, 0);
    assert_int_equal(relax_struct_info_ndim(relax_expr_struct_info(y)), 3);
    assert_non_null(relax_builder_end_function(b, y));
    relax_builder_destroy(b);
    assert_non_null(relax_module_builder_finish(mb));
    relax_module_builder_destroy(mb);
    assert_quiet(ctx);
}

/* ---- lowerings that err --------------------------------------------------------------------- */

static void bad_lowerings_are_reported(void **state)
{
    relax_context *ctx = ctx_of(state);
    static const char *const codes[] = { "CG03", "OP17", "CG03", "OP17" };
    relax_module *m = parsed(ctx, PROGRAM("scaled twice"));
    for (mode = 4; mode <= 7; mode++) {
        assert_null(relax_module_compile(ctx, m, NULL));
        if (mode == 6)
            assert_non_null(strstr(relax_diagnostic_message(ctx, 0, NULL), "on Mondays"));
        assert_said(ctx, codes[mode - 4]);
    }
    mode = 0;
    relax_op_options o;
    relax_op_options_init(&o, sizeof o);
    o.name = "host.nothing";
    o.name_len = strlen(o.name);
    assert_int_equal(relax_op_register(ctx, &o), RELAX_OK);
    m = parsed(ctx, PROGRAM("bad lowerings are reported"));
    assert_null(relax_module_compile(ctx, m, NULL));
    assert_said(ctx, "CG03");
}

/* ---- the table ------------------------------------------------------------------------------ */

static void listed_by_context(void **state)
{
    relax_context *ctx = ctx_of(state);
    const char *deflt = NULL;
    int32_t type = 0, kind = 0, optional = 1;
    size_t own = relax_op_count(), at = relax_context_op_find(ctx, Z("R.host.scale_rows"));
    assert_int_equal(relax_context_op_count(ctx), own + 4);
    assert_int_equal(at, own);
    assert_int_equal(relax_op_find(Z("host.scale_rows")), RELAX_NOT_FOUND);
    assert_int_equal(relax_context_op_find(ctx, Z("relax.add")), relax_op_find(Z("add")));
    assert_string_equal(relax_context_op_name(ctx, at), "relax.host.scale_rows");
    assert_string_equal(relax_context_op_help(ctx, at), "scales the rows of a matrix");
    assert_int_equal(relax_context_op_flags(ctx, at), RELAX_OP_FLAG_PURE | RELAX_OP_FLAG_LOWERS);
    assert_int_equal(relax_context_op_flags(ctx, own + 3), RELAX_OP_FLAG_LOWERS);
    assert_string_equal(relax_context_op_arg(ctx, at, 1, &kind, &optional), "s");
    assert_int_equal(kind, RELAX_OP_ARG_TENSOR);
    assert_int_equal(optional, 0);
    assert_null(relax_context_op_arg(ctx, at, 2, NULL, NULL));
    assert_string_equal(relax_context_op_attr(ctx, at, 0, &type, &deflt, NULL), "bias");
    assert_int_equal(type, RELAX_OP_ATTR_FLOAT);
    assert_string_equal(deflt, "0.5");
    assert_null(relax_context_op_name(ctx, own + 4));
    assert_null(relax_context_op_name(ctx, -1));
    assert_quiet(ctx);
}

static void bad_registrations_are_refused(void **state)
{
    relax_context *ctx = ctx_of(state);
    static const char *const a[] = { "x", "x" }, *const odd[] = { "a b" };
    static const int32_t kinds[] = { RELAX_OP_ARG_TENSOR, RELAX_OP_ARG_TENSOR }, none[] = { 77 };
    static const struct {
        const char *name, *const *args;
        const int32_t *kinds;
        size_t num_args, min_args;
        int32_t variadic, type;
        const char *deflt, *code;
    } rows[] = {
        { "scale", NULL, NULL, 0, 0, 0, 0, NULL, "OP03" },
        { "host.", NULL, NULL, 0, 0, 0, 0, NULL, "OP03" },
        { ".x", NULL, NULL, 0, 0, 0, 0, NULL, "OP03" },
        { "host.1x", NULL, NULL, 0, 0, 0, 0, NULL, "OP03" },
        { "nn.relu", NULL, NULL, 0, 0, 0, 0, NULL, "OP16" },
        { "relax.nn.relu", NULL, NULL, 0, 0, 0, 0, NULL, "OP16" },
        { "host.log", NULL, NULL, 0, 0, 0, 0, NULL, "OP16" },
        { "host.a", a, kinds, 2, 2, 0, 0, NULL, "OP16" },
        { "host.a", odd, kinds, 1, 1, 0, 0, NULL, "OP03" },
        { "host.a", NULL, kinds, 1, 1, 0, 0, NULL, "OP01" },
        { "host.a", a, NULL, 1, 1, 0, 0, NULL, "OP01" },
        { "host.a", a, none, 1, 1, 0, 0, NULL, "OP03" },
        { "host.a", a, kinds, 1, 2, 0, 0, NULL, "OP03" },
        { "host.a", a, kinds, 9, 2, 0, 0, NULL, "OP03" },
        { "host.a", NULL, NULL, 0, 0, 1, 0, NULL, "OP03" },
        { "host.a", NULL, NULL, 0, 0, 0, 99, "1", "OP03" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INT, "one", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INT, "99999999999999999999", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_BOOL, "1", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INTS, "[1, 2", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INTS, "[1, x]", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INTS, "[", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INTS, "", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INTS, "[1,2,3,4,5,6,7,8,9]", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_DTYPE, "floaty", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_INT, "None", "OP12" },
        { "host.a", NULL, NULL, 0, 0, 0, RELAX_OP_ATTR_OTHER, "1", "OP12" },
    };
    static const char *const attr[] = { "attr" };
    for (size_t i = 0; i < N(rows); i++) {
        relax_op_options o;
        relax_op_options_init(&o, sizeof o);
        o.name = rows[i].name;
        o.name_len = strlen(o.name);
        o.arg_names = rows[i].args;
        o.arg_kinds = rows[i].kinds;
        o.num_args = rows[i].num_args;
        o.min_args = rows[i].min_args;
        o.variadic = rows[i].variadic;
        o.attr_names = attr;
        o.attr_types = &rows[i].type;
        o.attr_defaults = &rows[i].deflt;
        o.num_attrs = rows[i].deflt ? 1 : 0;
        o.destroy = count_destroy;
        destroyed = 0;
        if (relax_op_register(ctx, &o) == RELAX_OK)
            fail_msg("row %zu was taken", i);
        assert_int_equal(destroyed, 1);
        assert_said(ctx, rows[i].code);
    }
    destroyed = 0;
    assert_int_equal(relax_derive_register(ctx, Z("host.sized"), derive_sized, NULL, count_destroy),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP16");
    assert_int_equal(relax_derive_register(ctx, Z("x"), NULL, NULL, count_destroy),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP01");
    assert_int_equal(destroyed, 2);
    destroyed = 0;
}

/* ---- what an operator leaves open: "PU04", "TY13" ------------------------------------------- */

static void register_opaque(relax_context *ctx, const char *name, int32_t pure)
{
    relax_op_options o = host_op_of_one(name, RELAX_OP_ARG_TENSOR, NULL, NULL);
    o.pure = pure;
    assert_int_equal(relax_op_register(ctx, &o), RELAX_OK);
}

/* What an explicit check says of calls of both, as "CODE:LINE". */
static void assert_told(relax_context *ctx, const char *decorator, const char *want)
{
    char text[512], got[256] = "";
    snprintf(text, sizeof text, PROGRAM("assert told"), decorator);
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text));
    if (m && !relax_context_num_errors(ctx))
        relax_module_well_formed(ctx, m, RELAX_CHECK_ALL);
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++) {
        uint32_t line = 0;
        relax_place_locate(ctx, relax_diagnostic_place(ctx, i), &line, NULL, NULL);
        snprintf(got + strlen(got), sizeof got - strlen(got), "%s:%u ",
                 relax_diagnostic_code(ctx, i), (unsigned)line);
    }
    assert_string_equal(got, want);
    relax_context_clear_diagnostics(ctx);
}

static void what_is_left_open_is_told(void **state)
{
    (void)state;
    for (int notes = 0; notes < 2; notes++) {
        relax_context_options o;
        relax_context_options_init(&o, sizeof o);
        o.notes = notes;
        relax_context *ctx = relax_context_create(&o);
        register_opaque(ctx, "host.plain", 1);
        register_opaque(ctx, "host.mute", -1);
        assert_told(ctx, "(pure=False)",
                    notes ? "PU04:4 PU04:5 TY13:3 TY13:4 TY13:5 " : "PU04:4 PU04:5 ");
        assert_told(ctx, "", "PU02:4 PU02:5 "); /* it counts as impure */
        relax_context_release(ctx);
    }
}

/* ---- derive functions ----------------------------------------------------------------------- */

#define DERIVED(name)                                                                             \
    "@R.function\ndef main(f: R.Callable(ret=R.Object, purity=True, derive_func=\"" name          \
    "\"), "                                                                                       \
    "s: R.Shape([\"n\", 4]), o: R.Object) -> R.Object:\n    n = T.int64()\n"

static void calls_derive(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, DERIVED("host.sized") "    y = f(s)\n    return y\n");
    char *text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text, "y: R.Tensor((n, 4), dtype=\"float32\") = f(s)"));
    assert_non_null(strstr(text,
            "R.Callable(ret=R.Object, purity=True, derive_func=\"host.sized\")"));
    relax_module *again = parsed(ctx, text);
    free(text);
    assert_int_equal(
        relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(again), 0), 1);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ALL), 1);
    assert_quiet(ctx);
    m = parsed(ctx, DERIVED("host.sized") "    y = R.call_pure_packed(f, s)\n    return y\n");
    text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text,
            "y: R.Tensor((n, 4), dtype=\"float32\") = R.call_pure_packed(f, s"));
    free(text);
    static const char wrong[] = DERIVED("host.sized") "    y = f(o)\n    return y\n";
    relax_module_parse(ctx, Z("m.py"), wrong, strlen(wrong));
    assert_said(ctx, "TY16");
    static const char right[] = DERIVED("host.sized") "    y = f(s)\n    return y\n";
    for (mode = 1; mode <= 2; mode++) {
        relax_module_parse(ctx, Z("m.py"), right, strlen(right));
        assert_said(ctx, "TY16");
    }
    mode = 0;
    static const char unknown[] = DERIVED("host.unknown") "    return o\n";
    m = relax_module_parse(ctx, Z("m.py"), unknown, strlen(unknown));
    relax_context_clear_diagnostics(ctx);
    if (m)
        assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ANY), 0);
    assert_said(ctx, "WF17");
    const relax_struct_info *f = relax_struct_info_derived_func_new(ctx, Z("host.sized"), NULL, 1);
    assert_int_equal(relax_struct_info_kind(f), RELAX_STRUCT_INFO_KIND_FUNC);
    assert_int_equal(relax_struct_info_is_pure(f), 1);
    assert_quiet(ctx);
}

/* ---- copies, many runs, casts --------------------------------------------------------------- */

static void modules_move_where_the_operator_is_known(void **state)
{
    relax_context *ctx = ctx_of(state), *other = relax_context_create(NULL);
    relax_module *m = parsed(ctx, PROGRAM("scaled twice"));
    assert_null(relax_module_copy(other, ctx, m, 1));
    assert_said(other, "OP15");
    int before = destroyed;
    assert_int_equal(add_packed(other, "host.scale_rows", NULL, NULL, true, true), RELAX_OK);
    assert_null(relax_module_copy(other, ctx, m, 1));
    assert_said(other, "OP15");
    relax_context_release(other);
    other = relax_context_create(NULL);
    assert_int_equal(add_scale(other), RELAX_OK);
    relax_module *copy = relax_module_copy(other, ctx, m, 1);
    assert_quiet(other);
    assert_non_null(relax_module_infer(other, copy));
    relax_vm *vm = machine(other, copy);
    relax_vm_release(vm);
    relax_context_release(other);
    assert_int_equal(destroyed, before + 2);
    destroyed = before;
}

static void pipelines_leave_nothing(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("scaled twice")), *c = parsed(ctx, PROGRAM("counted"));
    relax_module *both[] = { m, c };
    size_t bytes = 0;
    for (int i = 0; i < 1000; i++) {
        assert_non_null(relax_pass_run(ctx, both[0], Z("legalize_ops"), NULL));
        assert_non_null(relax_pass_run(ctx, both[1], Z("legalize_ops"), NULL));
        assert_int_equal(relax_context_collect(ctx, both, 2), RELAX_OK);
        if (i == 10)
            bytes = relax_context_bytes(ctx);
        if (i > 10)
            assert_true(relax_context_bytes(ctx) <= bytes);
    }
    assert_quiet(ctx);
}

/* ---- refused memory ------------------------------------------------------------------------- */

typedef struct refusing { size_t left; size_t live; } refusing;

static void *refuse_alloc(void *user, size_t size, size_t align)
{
    refusing *r = user;
    if (!r->left)
        return NULL;
    r->left--;
    r->live += size;
    return aligned_alloc(align < sizeof(void *) ? sizeof(void *) : align,
                         (size + align - 1) / align * align);
}

static void refuse_free(void *user, void *ptr, size_t size, size_t align)
{
    (void)align;
    if (ptr)
        ((refusing *)user)->live -= size;
    free(ptr);
}

static void *refuse_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = refuse_alloc(user, new_size, align);
    if (p && ptr)
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
    if (p)
        refuse_free(user, ptr, old_size, align);
    return p;
}

/* Everything a host does here. True: it was done. */
static bool everything(relax_context *ctx)
{
    relax_kind_options o = sparse_options(&world);
    const char *const texts[] = { PROGRAM("scaled twice"), PROGRAM("counted"), DERIVED("host.sized")
            "    y = f(s)\n    return y\n" };
    bool good = relax_kind_register(ctx, &o) == RELAX_OK && add_scale(ctx) == RELAX_OK;
    good = good && add_packed(ctx, "host.sparse.from_dense", infer_sparse, "host.from_dense", true,
                              true) == RELAX_OK;
    good = good && add_packed(ctx, "host.sparse.nnz", infer_count, "host.nnz", true, false) ==
            RELAX_OK;
    good = good && add_packed(ctx, "host.log", NULL, "host.log", false, false) == RELAX_OK;
    good =
        good && relax_derive_register(ctx, Z("host.sized"), derive_sized, NULL, NULL) == RELAX_OK;
    for (size_t i = 0; good && i < N(texts); i++) {
        relax_module *m = relax_module_parse(ctx, Z("m.py"), texts[i], strlen(texts[i]));
        relax_executable *exe = m && i < 2 ? relax_module_compile(ctx, m, NULL) : NULL;
        good = m && (exe || i == 2) && relax_context_collect(ctx, &m, 1) == RELAX_OK;
        relax_executable_release(exe);
    }
    return good && relax_context_status(ctx) == RELAX_OK;
}

static void memory_may_be_refused(void **state)
{
    bool done = false;
    int registered = destroyed, kinds = world.destroyed;
    (void)state;
    for (size_t n = 0; !done; n += 1 + n / 40) {
        refusing r = { .left = n };
        relax_context_options options;
        relax_allocator allocator = { sizeof allocator, &r, refuse_alloc, refuse_resize,
                refuse_free };
        relax_context_options_init(&options, sizeof options);
        options.allocator = &allocator;
        relax_context *ctx = relax_context_create(&options);
        done = ctx && everything(ctx);
        if (ctx && !done)
            assert_int_equal(relax_context_status(ctx), RELAX_ERROR_OUT_OF_MEMORY);
        relax_context_release(ctx);
        assert_int_equal(r.live, 0);
    }
    destroyed = registered;
    world.destroyed = kinds;
}

static void casts_are_checked_or_refused(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("a cast to a sparse tensor"));
    assert_null(relax_module_compile(ctx, m, NULL));
    assert_said(ctx, "CG02");
    relax_kind_options o = sparse_options(&world);
    o.name = "Checked";
    o.name_len = strlen(o.name);
    o.check = "host.check";
    o.check_len = strlen(o.check);
    o.destroy = NULL;
    assert_int_equal(relax_kind_register(ctx, &o), RELAX_OK);
    relax_vm *vm = machine(ctx, parsed(ctx, PROGRAM("a cast to a checked kind")));
    relax_value args[2], result;
    relax_error *error = NULL;
    const int64_t dims[] = { 2, 3 };
    relax_value_set_tuple(&args[0], NULL, 0, NULL);
    relax_value_set_shape(&args[1], dims, 2, NULL);
    assert_int_equal(relax_vm_call(vm, Z("main"), args, 2, &result, NULL), RELAX_OK);
    assert_int_equal(checked, 4);
    relax_value_release(&result);
    relax_value_release(&args[0]);
    relax_value_set_int(&args[0], 7);
    assert_int_not_equal(relax_vm_call(vm, Z("main"), args, 2, &result, &error), RELAX_OK);
    assert_non_null(strstr(relax_error_message(error, NULL), "this is not sparse"));
    relax_error_release(error);
    relax_value_release(&args[1]);
    relax_vm_release(vm);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_host, close_host)
        TEST(lowered_by_a_prim_func), TEST(run_by_packed_functions), TEST(derived_and_refused),
        TEST(builders_under_way_are_refused), TEST(bad_lowerings_are_reported),
        TEST(listed_by_context), TEST(calls_derive), TEST(what_is_left_open_is_told),
        TEST(modules_move_where_the_operator_is_known), TEST(pipelines_leave_nothing),
        TEST(casts_are_checked_or_refused), TEST(memory_may_be_refused),
        cmocka_unit_test_setup_teardown(bad_registrations_are_refused, open_host, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
