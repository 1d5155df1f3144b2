/* test_api_misuse: what a wrong call gives: NULL, a status, a diagnostic, and a builder that
 * still pairs its ends. */
#include "api_fixture.h"

/* ---- NULL and wrong kinds: one row, one wrong call that makes a node ------------------------ */

typedef struct parts {
    relax_struct_info *info;
    relax_prim_expr *prim;
    relax_expr *expr;
    relax_attr *attr;
    relax_module *module;
} parts;

#define AS(type, p) ((relax_##type *)(void *)(p))
#define LIST(type, p) ((const relax_##type *const[]){ AS(type, p) })

typedef struct wrong {
    const char *what, *code;
    const void *(*call)(relax_context *ctx, const parts *p);
} wrong;
#define WRONG(name, code, expression) \
    static const void *name(relax_context *ctx, const parts *p) { (void)p; return expression; }
#define ROWS                                                                                      \
    X(null_info, "OP01", relax_var_new(ctx, Z("x"), NULL, 0))                                     \
    X(null_item, "OP01", relax_tuple_new(ctx, LIST(expr, NULL), 1))                               \
    X(null_list, "OP01", relax_tuple_new(ctx, NULL, 2))                                           \
    X(null_name, "OP01", relax_shape_var_new(ctx, NULL, 3))                                       \
    X(empty_name, "OP03", relax_shape_var_new(ctx, "", 0))                                        \
    X(name_with_nul, "OP04", relax_var_new(ctx, "a\0b", 3, p->info, 0))                           \
    X(name_not_utf8, "OP04", relax_attr_string_new(ctx, "\xff\xfe", 2))                           \
    X(name_cut, "OP04", relax_string_imm_new(ctx, "\xc3", 1))                                     \
    X(attr_for_expr, "OP02", relax_tuple_new(ctx, LIST(expr, p->attr), 1))                        \
    X(expr_for_info, "OP02", relax_var_new(ctx, Z("x"), AS(struct_info, p->expr), 0))             \
    X(info_for_prim, "OP02", relax_prim_value_new(ctx, AS(prim_expr, p->info)))                   \
    X(prim_for_module, "OP02", relax_module_infer(ctx, AS(module, p->prim)))                      \
    X(expr_for_map, "OP02",                                                                       \
      relax_call_op_new(ctx, Z("add"), LIST(expr, p->expr), 1, AS(attr, p->expr), 0))             \
    X(list_for_map, "OP02",                                                                       \
      relax_attr_map_with(ctx, relax_attr_ints_new(ctx, NULL, 0), Z("key"), p->attr))             \
    X(no_dtype, "OP03", relax_prim_var_new(ctx, Z("v"), 0x7777))                                  \
    X(void_dtype, "OP03", relax_prim_var_new(ctx, Z("v"), RELAX_VOID))                            \
    X(too_large, "OP03", relax_prim_int_of_dtype(ctx, RELAX_INT8, 128))                           \
    X(negative_rank, "OP03", relax_struct_info_tensor_of_rank(ctx, -2, RELAX_FLOAT32))            \
    X(negative_size, "TY15",                                                                      \
      relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ -1 }, 1, RELAX_FLOAT32))                  \
    X(no_operator, "OP06", relax_call_op_new(ctx, Z("nn.relo"), LIST(expr, p->expr), 1, NULL, 0)) \
    X(no_prim_operator, "OP03", relax_prim_binary_new(ctx, 99, p->prim, p->prim))                 \
    X(constant_size, "OP03",                                                                      \
      relax_constant_new(ctx, RELAX_FLOAT32, (int64_t[]){ 3 }, 1, "12345678", 8))                 \
    X(constant_overflow, "OP03",                                                                  \
      relax_constant_new(ctx, RELAX_FLOAT64, (int64_t[]){ INT64_MAX, INT64_MAX }, 2, "1", 1))     \
    X(huge_index, "OP03", relax_tuple_get_item_new(ctx, p->expr, SIZE_MAX))                       \
    X(unknown_pass, "OP10", relax_pass_run(ctx, p->module, Z("fold_constants"), NULL))            \
    X(unknown_target, "CG09",                                                                     \
      relax_module_compile(ctx, p->module,                                                        \
                    &(relax_compile_options){ .struct_size = sizeof(relax_compile_options),       \
                                              .target = "quantum",                                \
                                              .opt_level = 1 }))                                  \
    X(opt_level, "OP03",                                                                          \
      relax_module_compile(ctx, p->module,                                                        \
                    &(relax_compile_options){ .struct_size = sizeof(relax_compile_options),       \
                                              .opt_level = 7 }))                                  \
    X(annotation, "PA", relax_struct_info_parse(ctx, Z("R.Tensor((m, 4)"), NULL, 0))
#define X(name, code, expression) WRONG(name, code, expression)
ROWS
#undef X
static const wrong wrongs[] = {
#define X(name, code, expression) { #name, code, name },
    ROWS
#undef X
};

static parts make_parts(relax_context *ctx)
{
    parts p = { .info = relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 2 }, 1, RELAX_FLOAT32),
                .prim = relax_prim_int_new(ctx, 3),
                .attr = relax_attr_int_new(ctx, 1) };
    p.expr = relax_var_new(ctx, Z("x"), p.info, 0);
    p.module = relax_module_parse(
        ctx, Z("m.py"),
        Z("@R.function\ndef main(x: R.Tensor((2,), \"float32\")):\n    return x\n"));
    assert_quiet(ctx);
    return p;
}

static void wrong_calls_are_told(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    parts p = make_parts(ctx);
    for (size_t i = 0; i < N(wrongs); i++) {
        if (wrongs[i].call(ctx, &p))
            fail_msg("%s gave a handle", wrongs[i].what);
        const char *code = relax_diagnostic_code(ctx, 0);
        if (!code || strncmp(code, wrongs[i].code, strlen(wrongs[i].code)) != 0)
            fail_msg("%s: wanted %s, got %s", wrongs[i].what, wrongs[i].code,
                     code ? code : "nothing");
        relax_context_clear_diagnostics(ctx);
        if (wrongs[i].call(NULL, &p))
            fail_msg("%s gave a handle without a context", wrongs[i].what);
    }
    const relax_node *n = relax_expr_as_node(p.expr);
    assert_int_equal(relax_node_equal(ctx, n, NULL, 0), 0);
    assert_said(ctx, "OP01");
    assert_int_equal(relax_node_walk(ctx, NULL, NULL, NULL, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP01");
}

/* Getters say nothing and give nothing. */
static void getters_on_wrong_kinds(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    parts p = make_parts(ctx);
    void *others[] = { NULL, p.info, p.prim, p.expr, p.attr, p.module };
    for (size_t i = 0; i < N(others); i++) {
        void *h = others[i];
        size_t len = 1;
        double real = 1;
        int64_t whole = 1;
        if (h != p.info)
            assert_true(!relax_struct_info_kind(h) && relax_struct_info_ndim(h) == -1 &&
                        relax_struct_info_num_fields(h) == RELAX_NOT_FOUND &&
                        !relax_struct_info_dim(h, 0) &&
                        !relax_struct_info_ret(h) && relax_struct_info_dtype(h) == RELAX_VOID);
        if (h != p.prim)
            assert_true(!relax_prim_kind(h) && !relax_prim_operator(h) &&
                        !relax_prim_operand(h, 0) && relax_prim_dtype(h) == RELAX_VOID &&
                        relax_prim_int_value(h, &whole) && !whole &&
                        relax_prim_float_value(h, &real) && real == 0);
        if (h != p.expr)
            assert_true(!relax_expr_kind(h) && !relax_expr_name(h, &len) && !len &&
                        !relax_expr_num_operands(h) && !relax_expr_operand(h, 0) &&
                        !relax_expr_attrs(h) && relax_expr_index(h) == RELAX_NOT_FOUND &&
                        !relax_seq_num_blocks(h) && !relax_constant_data(h, NULL));
        if (h != p.module)
            assert_true(!relax_module_num_functions(h) && !relax_module_function(h, 0) &&
                        relax_module_find(h, Z("main")) == RELAX_NOT_FOUND &&
                        !relax_module_attrs(h));
        if (h != p.attr)
            assert_true(!relax_attr_count(h) && !relax_attr_at(h, 0) &&
                        !relax_attr_string_value(h, NULL) && relax_attr_int_value(h, &whole) &&
                        !whole);
        assert_true(!relax_base_func_kind(h) && !relax_base_func_as_expr(h) &&
                    !relax_base_func_body(h) && !relax_block_num_bindings(h) &&
                    !relax_binding_var(h));
    }
    assert_null(relax_module_function(p.module, 1));
    assert_null(relax_module_global_var(p.module, SIZE_MAX));
    assert_quiet(ctx);
}

/* Handles of the run side that are of another kind: nothing is read from them. */
static void run_side_kinds(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    parts p = make_parts(ctx);
    relax_tensor *t = tensor_of((const float[]){ 1, 2 }, 1, 2);
    relax_executable *exe = relax_module_compile(ctx, p.module, NULL);
    relax_vm *vm = NULL;
    relax_registry *registry = NULL;
    relax_bytes *bytes = NULL;
    relax_error *error = NULL;
    assert_int_equal(
        relax_vm_create(exe, NULL, &vm, NULL) + relax_registry_create(NULL, &registry, NULL), 0);
    assert_int_equal(relax_executable_serialize(exe, &bytes, NULL), RELAX_OK);
    assert_int_equal(relax_vm_create(NULL, NULL, (relax_vm *[]){ NULL }, &error),
                     RELAX_ERROR_INVALID_ARGUMENT);
    relax_value v, w;
    void *all[] = { t, exe, vm, registry, bytes, error };
    for (size_t i = 0; i < N(all); i++) {
        void *h = all[i];
        if (h != t)
            assert_true(relax_tensor_ndim(h) == -1 && !relax_tensor_data(h) &&
                        !relax_tensor_bytes(h) && !relax_tensor_retain(h) &&
                        !relax_tensor_view(h));
        if (h != exe)
            assert_true(!relax_executable_num_functions(h) &&
                        relax_executable_find(h, Z("main")) == RELAX_NOT_FOUND &&
                        !relax_executable_retain(h) &&
                        relax_vm_create(h, NULL, (relax_vm *[]){ NULL }, NULL) ==
                            RELAX_ERROR_INVALID_ARGUMENT);
        if (h != vm)
            assert_true(!relax_vm_executable(h) &&
                        relax_vm_call(h, Z("main"), NULL, 0, &v, NULL) ==
                            RELAX_ERROR_INVALID_ARGUMENT &&
                        !relax_vm_retain(h));
        if (h != registry)
            assert_true(!relax_registry_find(h, Z("f")) && !relax_registry_retain(h));
        if (h != bytes)
            assert_true(!relax_bytes_data(h) && !relax_bytes_size(h) && !relax_bytes_retain(h));
        if (h != error)
            assert_true(relax_error_status(h) == RELAX_OK && !*relax_error_code(h) &&
                        !relax_error_retain(h));
        assert_true(!relax_packed_func_retain(h) && relax_packed_func_call(h, NULL, 0, &v) == -1);
        relax_value_set_packed_func(&w, h);
        assert_int_equal(relax_value_kind(&w), RELAX_VALUE_KIND_NULL);
    }
    relax_bytes_release(bytes);
    relax_error_release(error);
    relax_registry_release(registry);
    relax_vm_release(vm);
    relax_executable_release(exe);
    relax_tensor_release(t);
    assert_quiet(ctx);
}

/* ---- options structs ------------------------------------------------------------------------ */

/* As an older and as a newer header would have them, with what is unknown zero or not. */
static void options_of_other_versions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    struct { relax_context_options known; uint64_t tail[2]; } context = { { 0 }, { 0 } };
    struct { relax_print_options known; uint64_t tail; } print = { { 0 }, 0 };
    const relax_node *node = relax_struct_info_as_node(relax_struct_info_object_new(ctx));
    for (size_t size = 0; size <= sizeof context; size++) {
        bool fits = size >= sizeof(size_t) && size % sizeof(size_t) == 0;
        memset(&context, 0x55, sizeof context);
        assert_int_equal(relax_context_options_init(&context.known, size),
                         fits ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT);
        assert_true(!fits || context.known.struct_size == size);
        context.known.struct_size = size;
        relax_context *made = relax_context_create(&context.known);
        if (!made == fits)
            fail_msg("options of %zu bytes were %s", size, made ? "taken" : "refused");
        relax_context_release(made);
    }
    relax_context_options_init(&context.known, sizeof context);
    context.tail[1] = 1;
    assert_null(relax_context_create(&context.known));
    context.tail[1] = 0;
    /* not a size: nothing behind the struct may be read */
    context.known.struct_size = SIZE_MAX / 2;
    assert_null(relax_context_create(&context.known));

    relax_print_options_init(&print.known, sizeof print);
    relax_bytes *text = relax_node_print(ctx, node, &print.known);
    assert_string_equal(relax_bytes_data(text), "R.Object");
    relax_bytes_release(text);
    print.tail = 1;
    assert_null(relax_node_print(ctx, node, &print.known));
    relax_print_options_init(&print.known, sizeof print.known);
    print.known.module_name = "no name";
    assert_null(relax_node_print(ctx, node, &print.known));
    assert_quiet(ctx);
}

/* ---- builders after failures ---------------------------------------------------------------- */

typedef struct making {
    relax_module_builder *mb;
    relax_builder *b;
    const relax_expr *x, *flag;
} making;

static making begin(relax_context *ctx)
{
    making m = { .mb = relax_module_builder_create(ctx, NULL) };
    m.b = relax_builder_create(ctx, m.mb);
    m.x = relax_var_new(
        ctx, Z("x"), relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 2 }, 1, RELAX_FLOAT32), 0);
    m.flag = relax_var_new(ctx, Z("flag"),
                           relax_struct_info_tensor_of_ints(ctx, NULL, 0, RELAX_BOOL), 0);
    return m;
}

static void end(making *m)
{
    relax_builder_destroy(m->b);
    relax_module_builder_destroy(m->mb);
}

static relax_expr *relu(relax_context *ctx, const relax_expr *x)
{
    return relax_call_op_new(ctx, Z("nn.relu"), &x, 1, NULL, 0);
}

/* After whatever went wrong: forgiven, the same builder makes a whole function. One that was
 * begun is to be defined still. */
static void works_again(relax_context *ctx, making *m, const char *name)
{
    assert_true(relax_context_num_errors(ctx) > 0);
    assert_null(relax_module_builder_finish(m->mb));
    relax_context_clear_diagnostics(ctx);
    assert_int_equal(relax_builder_begin_function(m->b, Z(name), &m->x, 1, NULL), RELAX_OK);
    relax_expr *y = relax_builder_emit(m->b, relu(ctx, m->x), NULL, 0, 0);
    assert_non_null(relax_builder_end_function(m->b, y));
    assert_quiet(ctx);
    const relax_module *module = relax_module_builder_finish(m->mb);
    assert_quiet(ctx);
    assert_non_null(module);
    assert_true(relax_module_find(module, Z(name)) != RELAX_NOT_FOUND);
    end(m);
}

static void errors_latch_and_are_forgiven(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    making m = begin(ctx);
    const relax_expr *bad[] = { m.x };
    relax_builder_begin_function(m.b, Z("f"), &m.x, 1, NULL);
    assert_null(
        relax_builder_emit(m.b, relax_call_op_new(ctx, Z("matmul"), bad, 1, NULL, 0), NULL, 0, 0));
    relax_expr *y = relax_builder_emit(m.b, relu(ctx, m.x), NULL, 0, 0);
    assert_non_null(y);
    assert_null(relax_builder_end_function(m.b, y)); /* the result is fine, but an error stands */
    assert_null(relax_module_builder_finish(m.mb));

    /* Errors before the beginning do not count; forgiven ones neither, even if there were fewer
     * before. */
    assert_int_equal(relax_builder_begin_function(m.b, Z("g"), &m.x, 1, NULL), RELAX_OK);
    y = relax_builder_emit(m.b, relu(ctx, m.x), NULL, 0, 0);
    assert_null(relax_builder_emit(m.b, NULL, NULL, 0, 0));
    relax_context_clear_diagnostics(ctx);
    assert_non_null(relax_builder_end_function(m.b, y));
    assert_int_equal(relax_builder_begin_function(m.b, Z("h"), &m.x, 1, NULL), RELAX_OK);
    for (int i = 0; i < 3; i++)
        relax_builder_emit(m.b, NULL, NULL, 0, 0);
    relax_context_clear_diagnostics(ctx);
    /* one error now, three when the mark was made: it still counts */
    assert_null(relax_builder_emit(m.b, NULL, NULL, 0, 0));
    assert_null(relax_builder_end_function(m.b, m.x));
    relax_module_builder_destroy(NULL);
    relax_context_clear_diagnostics(ctx);
    relax_builder_destroy(m.b);
    relax_module_builder_destroy(m.mb);
}

static void ends_pair_after_failed_begins(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    making m = begin(ctx);
    const relax_expr *not_var = relax_tuple_new(ctx, NULL, 0);
    assert_int_equal(relax_builder_begin_function(m.b, Z("f"), &not_var, 1, NULL),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_context_num_errors(ctx), 1);
    assert_int_equal(relax_builder_begin_dataflow(m.b), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_emit(m.b, relu(ctx, m.x), NULL, 0, 0));
    assert_int_equal(relax_builder_begin_if(m.b, m.flag), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_builder_begin_else(m.b, m.x), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_end_if(m.b, m.x, NULL, 0, 0));
    assert_int_equal(relax_builder_end_dataflow(m.b), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_end_function(m.b, m.x));
    assert_int_equal(relax_context_num_errors(ctx), 1); /* one cause, one report */
    works_again(ctx, &m, "g");
}

static void ifs_after_failures(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    making m = begin(ctx);
    const relax_expr *params[] = { m.flag, m.x };
    relax_builder_begin_function(m.b, Z("f"), params, 2, NULL);
    assert_int_equal(relax_builder_begin_if(m.b, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    assert_int_equal(relax_builder_begin_else(m.b, m.x), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_end_if(m.b, m.x, NULL, 0, 0));
    assert_int_equal(relax_context_num_errors(ctx), 1);
    relax_context_clear_diagnostics(ctx);

    assert_int_equal(relax_builder_begin_if(m.b, m.flag), RELAX_OK);
    /* opens the other branch all the same */
    assert_int_equal(relax_builder_begin_else(m.b, NULL), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_end_if(m.b, m.x, NULL, 0, 0));
    assert_said(ctx, "OP01");
    assert_int_equal(relax_builder_begin_if(m.b, m.flag), RELAX_OK);
    assert_null(relax_builder_end_if(m.b, m.x, NULL, 0, 0)); /* without else */
    assert_said(ctx, "OP09");
    assert_int_equal(relax_builder_begin_else(m.b, m.x), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    assert_null(relax_builder_end_if(m.b, m.x, NULL, 0, 0));
    assert_said(ctx, "OP09");

    /* An end closes what is open inside: a dataflow block in a branch, an if in a function. */
    assert_int_equal(relax_builder_begin_if(m.b, m.flag), RELAX_OK);
    assert_int_equal(relax_builder_begin_dataflow(m.b), RELAX_OK);
    assert_int_equal(relax_builder_begin_else(m.b, m.x), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    assert_int_equal(relax_builder_begin_dataflow(m.b), RELAX_OK);
    assert_null(relax_builder_end_function(m.b, m.x));
    works_again(ctx, &m, "f");
}

static void dataflow_and_states(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    making m = begin(ctx);
    assert_null(relax_builder_emit(m.b, m.x, NULL, 0, 0));
    assert_said(ctx, "OP09");
    assert_null(relax_builder_end_function(m.b, m.x));
    assert_said(ctx, "OP09");
    assert_null(relax_builder_infer(m.b, m.x));
    assert_said(ctx, "OP09");
    assert_int_equal(relax_builder_begin_dataflow(m.b), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    relax_builder_begin_function(m.b, Z("f"), &m.x, 1, NULL);
    assert_int_equal(relax_builder_end_dataflow(m.b), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    assert_null(relax_builder_emit_output(m.b, relu(ctx, m.x), NULL, 0, 0));
    assert_said(ctx, "OP09");
    assert_int_equal(relax_builder_begin_dataflow(m.b), RELAX_OK);
    assert_int_equal(relax_builder_begin_dataflow(m.b), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP09");
    assert_int_equal(relax_builder_begin_if(m.b, m.x), RELAX_ERROR_ILL_FORMED);
    assert_said(ctx, "WF07");
    /* of the if that failed: silent */
    assert_int_equal(relax_builder_begin_else(m.b, m.x), RELAX_ERROR_INVALID_ARGUMENT);
    assert_null(relax_builder_end_if(m.b, m.x, NULL, 0, 0));
    assert_quiet(ctx);
    assert_null(relax_builder_end_function(m.b, m.x)); /* the block is open */
    works_again(ctx, &m, "f");
}

static void modules_latch(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    making m = begin(ctx);
    relax_expr *gv = relax_module_builder_declare(m.mb, Z("later"), NULL);
    assert_ptr_equal(relax_module_builder_find(m.mb, Z("later")), gv);
    assert_null(relax_module_builder_finish(m.mb)); /* declared, never defined */
    relax_context_clear_diagnostics(ctx);
    relax_builder_begin_function(m.b, Z("later"), &m.x, 1, NULL);
    assert_ptr_equal(relax_builder_end_function(m.b, m.x), gv);
    relax_builder_begin_function(m.b, Z("later"), &m.x, 1, NULL); /* twice */
    assert_null(relax_builder_end_function(m.b, m.x));
    assert_said(ctx, "WX05");
    assert_int_equal(relax_module_builder_set_attrs(m.mb, relax_attr_int_new(ctx, 1)),
                     RELAX_ERROR_INVALID_ARGUMENT);
    works_again(ctx, &m, "g");
}

/* Refused in the name of the call. */
static void assert_named(relax_context *ctx, const char *call)
{
    const char *said = relax_diagnostic_message(ctx, 0, NULL);
    assert_non_null(said);
    if (strncmp(said, call, strlen(call)) != 0)
        fail_msg("wanted %s..., got %s", call, said);
    assert_said(ctx, "OP02");
}

/* What debug builds see besides: nodes of another context, and handles for another kind of
 * those that hosts destroy. */
static void debug_builds_see_more(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx, *other = relax_context_create(NULL);
    bool debug = false;
    for (int32_t i = 0; relax_build_info_key(i); i++)
        debug |=
            !strcmp(relax_build_info_key(i), "debug") && !strcmp(relax_build_info_value(i), "yes");
    if (debug) {
        parts p = make_parts(ctx), q = make_parts(other);
        making m = begin(ctx);
        relax_pipeline *pipeline = relax_pipeline_create(ctx);
        relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
        assert_null(relax_tuple_new(ctx, LIST(expr, q.expr), 1));
        assert_named(ctx, "relax_tuple_new: ");
        assert_null(relax_var_new(ctx, Z("x"), q.info, 0));
        assert_named(ctx, "relax_var_new: ");
        assert_null(relax_call_op_new(ctx, Z("nn.relu"), LIST(expr, p.expr), 1, q.attr, 0));
        assert_named(ctx, "relax_call_op_new: ");
        assert_null(relax_attr_list_new(ctx, LIST(attr, q.attr), 1));
        assert_named(ctx, "relax_attr_list_new: ");
        assert_int_equal(relax_free_vars(ctx, relax_expr_as_node(q.expr), NULL, 0), -1);
        assert_named(ctx, "relax_free_vars: ");
        assert_null(relax_module_compile(other, p.module, NULL));
        assert_named(other, "relax_module_compile: ");
        assert_null(relax_builder_emit(m.b, q.expr, NULL, 0, 0));
        assert_null(relax_tuple_new(AS(context, pipeline), NULL, 0)); /* no context */
        relax_context_clear_diagnostics(ctx);
        void *handles[] = { m.mb, m.b, pipeline, t };
        for (size_t i = 0; i < N(handles); i++) {
            void *h = handles[i];
            if (h != m.mb)
                assert_true(!relax_module_builder_finish(h) &&
                            !relax_module_builder_find(h, Z("f")) && !relax_builder_create(ctx, h));
            if (h != m.b)
                assert_true(!relax_builder_emit(h, p.expr, NULL, 0, 0) &&
                            !relax_builder_find(h, p.expr) && relax_builder_begin_dataflow(h));
            if (h != pipeline)
                assert_true(relax_pipeline_add(h, Z("normalize"), NULL) &&
                            !relax_pipeline_run(h, p.module));
            if (h != t)
                assert_true(!relax_tir_finish(h) && relax_tir_end_block(h));
        }
        relax_context_clear_diagnostics(ctx);
        relax_tir_builder_destroy(t);
        relax_pipeline_destroy(pipeline);
        end(&m);
    }
    relax_context_release(other);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(wrong_calls_are_told),
        TEST(getters_on_wrong_kinds),
        TEST(run_side_kinds),
        TEST(options_of_other_versions),
        TEST(errors_latch_and_are_forgiven),
        TEST(ends_pair_after_failed_begins),
        TEST(ifs_after_failures),
        TEST(dataflow_and_states),
        TEST(modules_latch),
        TEST(debug_builds_see_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
