/* test_api_extend: kinds of struct info that a host adds. */
#include "sparse_kind.h"
#include "text_file.h"

static sparse world;

static int open_sparse(void **state)
{
    memset(&world, 0, sizeof world);
    if (open_fixture(state))
        return -1;
    relax_kind_options o = sparse_options(&world);
    return relax_kind_register(((fixture *)*state)->ctx, &o) == RELAX_OK ? 0 : -1;
}

static int close_sparse(void **state)
{
    int failed = close_fixture(state);
    return failed || world.destroyed != 1 ? -1 : 0;
}

static relax_context *ctx_of(void **state) { return ((fixture *)*state)->ctx; }

#define MAIN "@R.function\ndef main("

static relax_module *parsed(relax_context *ctx, const char *text)
{
    relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

/* Struct info as a result annotation says it, n and m being sizes. */
static const relax_struct_info *info_of(relax_context *ctx, const char *text)
{
    char source[1024];
    snprintf(source, sizeof source, PROGRAM("info of"), text);
    relax_module *m = relax_module_parse(ctx, Z("m.py"), source, strlen(source));
    assert_non_null(m);
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    const relax_block *b =
        relax_seq_block(relax_expr_operand(f, relax_expr_num_operands(f) - 1), 0);
    relax_context_clear_diagnostics(ctx);
    return relax_expr_struct_info(relax_binding_var(relax_block_binding(b, 0)));
}

/* The same module's sizes are others in each text: those of two rows stand in one tuple. */
static void two_of(relax_context *ctx, const char *a, const char *b, const relax_struct_info **out)
{
    char text[512];
    snprintf(text, sizeof text, "R.Tuple(%s, %s)", a, b);
    const relax_struct_info *pair = info_of(ctx, text);
    out[0] = relax_struct_info_field(pair, 0);
    out[1] = relax_struct_info_field(pair, 1);
    assert_non_null(out[1]);
}

/* ---- relations: the rules of the kind, and what the library has to add ---------------------- */

#define SPARSE(shape, rest) "R.SparseTensor(" shape ", R.dtype(\"float32\")" rest ")"
#define HALF(shape) "R.SparseTensor(" shape ", R.dtype(\"float16\"))"

static const struct { const char *a, *b; int32_t fit; const char *lub;
} relations[] = {
    /* the number of elements is ignored where it is not asked for */
    { SPARSE("(n, 4)", ", 7"), SPARSE("(n, 4)", ""), RELAX_ASSIGNABLE_YES, SPARSE("(n, 4)", "") },
    { SPARSE("(n, 4)", ""), SPARSE("(n, 4)", ", 7"), RELAX_ASSIGNABLE_VALUE, SPARSE("(n, 4)", "") },
    { SPARSE("(n, 4)", ", 7"), SPARSE("(n, 4)", ", 8"), RELAX_ASSIGNABLE_NO, SPARSE("(n, 4)", "") },
    { SPARSE("(n, 4)", ", 7"), SPARSE("(n, 4)", ", m"), RELAX_ASSIGNABLE_VALUE,
      SPARSE("(n, 4)", "") },
    /* proved by the library before the kind is asked */
    { SPARSE("(n + m, 4)", ""), SPARSE("(m + n, 4)", ""), RELAX_ASSIGNABLE_YES,
      SPARSE("(n + m, 4)", "") },
    { SPARSE("(n, 4)", ""), SPARSE("(m, 4)", ""), RELAX_ASSIGNABLE_VALUE, "R.Object" },
    { SPARSE("(n, 4)", ""), SPARSE("(n + 1, 4)", ""), RELAX_ASSIGNABLE_NO, "R.Object" },
    { SPARSE("(n, 4)", ""), SPARSE("(n,)", ""), RELAX_ASSIGNABLE_NO, "R.Object" },
    { SPARSE("(n, 4)", ""), HALF("(n, 4)"), RELAX_ASSIGNABLE_NO, "R.Object" },
    { SPARSE("t", ""), SPARSE("t", ", 3"), RELAX_ASSIGNABLE_VALUE, SPARSE("t", "") },
    /* other kinds */
    { SPARSE("(n, 4)", ""), "R.Object", RELAX_ASSIGNABLE_YES, "R.Object" },
    { "R.Object", SPARSE("(n, 4)", ""), RELAX_ASSIGNABLE_KIND, "R.Object" },
    { SPARSE("(n, 4)", ""), "R.Tensor((n, 4), dtype=\"float32\")", RELAX_ASSIGNABLE_NO,
      "R.Object" },
    /* inside of others */
    { "R.Tuple(" SPARSE("(n,)", ", 7") ", R.Object)", "R.Tuple(" SPARSE("(n,)", "") ", R.Object)",
      RELAX_ASSIGNABLE_YES, "R.Tuple(" SPARSE("(n,)", "") ", R.Object)" },
    { "R.Callable((" SPARSE("(4,)", "") ",), R.Object, True)",
      "R.Callable((" SPARSE("(4,)", ", 7") ",), R.Object, True)", RELAX_ASSIGNABLE_YES, NULL },
};

static void relations_hold(void **state)
{
    relax_context *ctx = ctx_of(state);
    for (size_t i = 0; i < N(relations); i++) {
        const relax_struct_info *s[2], *want[2];
        two_of(ctx, relations[i].a, relations[i].b, s);
        assert_int_equal(relax_struct_info_assignable(ctx, s[0], s[0]), RELAX_ASSIGNABLE_YES);
        int32_t fit = relax_struct_info_assignable(ctx, s[0], s[1]);
        if (fit != relations[i].fit)
            fail_msg("%s -> %s: %d", relations[i].a, relations[i].b, (int)fit);
        const relax_struct_info *lub = relax_struct_info_lub(ctx, s[0], s[1]);
        assert_non_null(lub);
        assert_int_equal(relax_struct_info_assignable(ctx, s[0], lub), RELAX_ASSIGNABLE_YES);
        assert_int_equal(relax_struct_info_assignable(ctx, s[1], lub), RELAX_ASSIGNABLE_YES);
        char *text = printed(ctx, relax_struct_info_as_node(lub));
        if (relations[i].lub && strstr(text, relations[i].lub) == NULL)
            fail_msg("lub of %s and %s: %s", relations[i].a, relations[i].b, text);
        free(text);
        (void)want;
    }
    assert_true(world.fits > 0 && world.equal > 0 && world.lubs > 0);
    assert_quiet(ctx);
}

static const relax_struct_info *made(relax_context *ctx, const relax_prim_expr *rows,
                                     const relax_prim_expr *nnz)
{
    const relax_prim_expr *dims[] = { rows, relax_prim_int_new(ctx, 4) };
    return sparse_of(ctx, relax_expr_as_node(relax_shape_expr_new(ctx, dims, 2)),
                     relax_expr_as_node(relax_dtype_imm_new(ctx, RELAX_FLOAT32)),
                     relax_prim_expr_as_node(nnz));
}

static void nodes_are_interned_read_and_substituted(void **state)
{
    relax_context *ctx = ctx_of(state);
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *k = relax_shape_var_new(ctx, Z("k"));
    const relax_struct_info *s = made(ctx, n, k);
    size_t len = 0;
    assert_ptr_equal(s, made(ctx, n, k));
    assert_ptr_not_equal(s, made(ctx, n, NULL));
    assert_int_equal(relax_struct_info_kind(s), RELAX_STRUCT_INFO_KIND_EXTENSION);
    assert_string_equal(relax_struct_info_extension_name(s, &len), "SparseTensor");
    assert_int_equal(len, 12);
    assert_int_equal(relax_struct_info_num_operands(s), 3);
    assert_ptr_equal(relax_node_as_prim_expr(relax_struct_info_operand(s, 2)), k);
    assert_null(relax_struct_info_operand(s, 3));
    const relax_node *node = relax_struct_info_as_node(s);
    const relax_prim_expr *free_vars[4];
    assert_int_equal(relax_free_shape_vars(ctx, node, free_vars, 4), 2);
    assert_int_equal(relax_node_equal(ctx, node, relax_struct_info_as_node(made(ctx, k, n)), 0),
                     0);
    assert_int_equal(relax_node_equal(ctx, node, relax_struct_info_as_node(made(ctx, k, n)), 1),
                     1);
    assert_int_equal(relax_struct_info_num_operands(relax_struct_info_object_new(ctx)), -1);
    assert_null(relax_struct_info_extension_name(NULL, &len));
    assert_int_equal(len, 0);
    assert_quiet(ctx);
}

static void erasure_keeps_what_is_visible(void **state)
{
    relax_context *ctx = ctx_of(state);
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *k = relax_shape_var_new(ctx, Z("k"));
    const relax_struct_info *s = made(ctx, n, k);
    const relax_prim_expr *both[] = { n, k };
    assert_ptr_equal(relax_struct_info_erase(ctx, s, both, 2), s);
    assert_int_equal(world.erasures, 0);
    assert_ptr_equal(relax_struct_info_erase(ctx, s, both, 1), made(ctx, n, NULL));
    assert_ptr_equal(relax_struct_info_erase(ctx, s, both + 1, 1),
                     relax_struct_info_object_new(ctx));
    const relax_struct_info *fields[] = { s, s };
    assert_int_equal(relax_struct_info_num_fields(relax_struct_info_erase(
                         ctx, relax_struct_info_tuple_new(ctx, fields, 2), both, 1)),
                     2);
    assert_ptr_equal(relax_struct_info_static(ctx, s), relax_struct_info_object_new(ctx));
    assert_int_equal(world.types, 1);
    assert_quiet(ctx);
}

/* ---- text ----------------------------------------------------------------------------------- */

static void text_prints_and_reads_back(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("annotations of a host kind"));
    char *text = printed(ctx, relax_module_as_node(m));
    if (!strstr(text, PRINTED("annotations of a host kind")))
        fail_msg("%s", text);
    relax_module *again = parsed(ctx, text);
    free(text);
    assert_int_equal(relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(again),
            0), 1);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ALL), 1);
    assert_non_null(relax_module_infer(ctx, m));
    assert_quiet(ctx);
}

static int32_t count_info(void *user, const relax_struct_info *info)
{
    assert_non_null(relax_struct_info_extension_name(info, NULL));
    ++*(size_t *)user;
    return RELAX_VISIT_CHILDREN;
}

static void visitors_have_an_entry_for_kinds_of_the_host(void **state)
{
    relax_context *ctx = ctx_of(state);
    size_t found = 0;
    const relax_visitor v = { .struct_size = sizeof v, .user = &found, .sinfo_host = count_info };
    relax_module *m = parsed(
        ctx, MAIN "x: R.SparseTensor((4,), R.dtype(\"int8\")), y: R.Tuple(R.SparseTensor((2,), "
                  "R.dtype(\"int8\")), R.Object)) -> R.Object:\n    return x\n");
    assert_int_equal(relax_node_visit(ctx, relax_module_as_node(m), &v), RELAX_OK);
    assert_int_equal(found, 2);
    assert_quiet(ctx);
}

static const struct { const char *text, *code; } refused[] = {
    { MAIN "x: R.SparseTensor((4,))):\n    return x\n", "PA12" },
    { MAIN "x: R.SparseTensor):\n    return x\n", "PA12" },
    { MAIN "x: R.SparseTensor((4,), R.dtype(\"int8\"), nnz=4)):\n    return x\n", "PA12" },
    { MAIN "x: R.SparseTensor((4,), R.dtype(\"int8\"), 1.5)):\n    return x\n", "PA17" },
    { MAIN "x: R.SparseTensor((4,), R.dtype(\"int8\"), q)):\n    return x\n", "WF06" },
    { MAIN "x: R.SparseTensors((4,))):\n    return x\n", "PA17" },
    { MAIN "x: R.SparseTensor((\"n\", 4), R.dtype(\"int8\"))):\n    return x\n", "WF06" },
    /* a use of a size is no binding of it */
    { "= a use of a size is no binding of it",
      "WF14" },
};

static void bad_text_is_refused(void **state)
{
    relax_context *ctx = ctx_of(state);
    for (size_t i = 0; i < N(refused); i++) {
        const char *text = PROGRAM_CELL(refused[i].text);
        relax_module *m = relax_module_parse(ctx, Z("m.py"), text, strlen(text));
        if (m) {
            relax_context_clear_diagnostics(ctx);
            assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_ALL), 0);
        }
        assert_said(ctx, refused[i].code);
    }
}

/* A variable in an operand is used: its binding stays, and stays above. */
static void operands_are_uses(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("operands are uses"));
    m = relax_pass_run(ctx, m, Z("dead_code_elimination"), NULL);
    char *text = printed(ctx, relax_module_as_node(m));
    assert_non_null(strstr(text, "    s: R.Shape([n, 4]) = R.shape_of(x)"));
    assert_null(strstr(text, "    t: R.Shape"));
    free(text);
    assert_quiet(ctx);
}

static relax_module *taking(relax_context *ctx, const char *info)
{
    char text[512];
    snprintf(text, sizeof text, MAIN "s: R.Shape([\"n\", \"m\"]), x: %s) -> R.Object:\n"
             "    y = x\n    return y\n", info);
    return parsed(ctx, text);
}

/* ---- a spelling of the host's --------------------------------------------------------------- */

/* R.Csr(shape, nnz=n, dtype=R.dtype(...), layout=R.str("csr")); 1: with mistakes */
static int32_t csr_print(void *user, const relax_struct_info *info, relax_kind_sink *sink)
{
    const sparse *s = user;
    if (s->mode == 1) {
        assert_int_equal(relax_kind_sink_operand(sink, NULL, 0), RELAX_OK);
        assert_int_equal(relax_kind_sink_operand(sink, NULL, 7), RELAX_ERROR_INVALID_ARGUMENT);
        assert_int_equal(relax_kind_sink_operand(sink, "2d", 0), RELAX_ERROR_INVALID_ARGUMENT);
        assert_int_equal(relax_kind_sink_text(sink, NULL, "\""), RELAX_ERROR_INVALID_ARGUMENT);
        assert_int_equal(relax_kind_sink_text(sink, NULL, NULL), RELAX_ERROR_INVALID_ARGUMENT);
        return 0;
    }
    relax_kind_sink_operand(sink, NULL, 0);
    if (operand(info, 2))
        relax_kind_sink_operand(sink, "nnz", 2);
    relax_kind_sink_operand(sink, "dtype", 1);
    relax_kind_sink_text(sink, "layout", "csr");
    return s->mode == 2;
}

static const relax_struct_info *csr_read(void *user, relax_context *ctx,
                                         const relax_node *const *args, const char *const *names,
                                         size_t count)
{
    const sparse *s = user;
    const relax_node *all[3] = { NULL };
    if (s->mode == 3)
        return relax_struct_info_object_new(ctx);
    if (s->mode == 4)
        relax_context_report(ctx, 0, Z("no sparse tensors today"));
    for (size_t i = 0, at = 0; i < count; i++) {
        if (names[i] && strcmp(names[i], "layout") == 0)
            continue;
        at = !names[i] ? i : strcmp(names[i], "dtype") == 0 ? 1 : 2;
        all[at] = args[i];
    }
    return all[0] && all[1] ? relax_struct_info_extension_new(ctx, Z("Csr"), all, all[2] ? 3 : 2)
                            : NULL;
}

#define CSR(more) "R.Csr((\"n\", 4), " more "dtype=R.dtype(\"float32\"), layout=R.str(\"csr\"))"

static void hosts_spell_their_kinds(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_kind_options o = sparse_options(&world);
    o.name = "Csr";
    o.name_len = 3;
    o.print = csr_print;
    o.destroy = NULL;
    assert_int_equal(relax_kind_register(ctx, &o), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP03");
    o.read = csr_read;
    assert_int_equal(relax_kind_register(ctx, &o), RELAX_OK);
    /* in order or spelled: the same, and printed as spelled */
    relax_module *m = taking(ctx, "R.Tuple(" CSR("nnz=\"n * 2\", ") ", R.Tensor((\"n\",)))"),
                 *plain = taking(ctx, "R.Tuple(R.Csr((\"n\", 4), R.dtype(\"float32\"), "
                                      "\"n * 2\"), R.Tensor((\"n\",)))");
    const relax_node *node = relax_module_as_node(m);
    assert_int_equal(relax_node_equal(ctx, node, relax_module_as_node(plain), 0), 1);
    char *text = printed(ctx, node);
    assert_non_null(strstr(text, CSR("nnz=\"n * 2\", ")));
    assert_non_null(strstr(text, "y: R.Tuple(R.Csr((n, 4), nnz=n * 2, dtype=R.dtype(\"float32\"), "
                                 "layout=R.str(\"csr\"))"));
    assert_int_equal(relax_node_equal(ctx, node, relax_module_as_node(parsed(ctx, text)), 0), 1);
    free(text);
    /* a sink that was misused, and a host that gives up: the operands in order */
    for (world.mode = 1; world.mode < 3; world.mode++) {
        text = printed(ctx, node);
        assert_non_null(strstr(text, "R.Csr((\"n\", 4), R.dtype(\"float32\"), \"n * 2\")"));
        free(text);
    }
    world.mode = 0;
    static const struct { int mode; const char *info, *code; } wrong[] = {
        { 0, "R.Csr((4,), nnz=3)", "PA12" }, { 0, "R.Csr()", "PA12" }, { 0, "R.Csr", "PA12" },
        { 3, CSR(""), "OP17" }, { 4, CSR("nnz=7, "), "OP17" }, { 0, "R.Csr((4,), 1.5)", "PA17" },
    };
    for (size_t i = 0; i < N(wrong); i++) {
        char source[512];
        snprintf(source, sizeof source, MAIN "s: R.Shape([\"n\"]), x: %s) -> R.Object:\n"
                 "    return x\n", wrong[i].info);
        world.mode = wrong[i].mode;
        relax_module_parse(ctx, Z("m.py"), Z(source));
        assert_said(ctx, wrong[i].code);
    }
    /* messages say it the same way; parts behind the kind are where they were */
    world.mode = 0;
    relax_module_parse(ctx, Z("m.py"), Z(MAIN "s: R.Shape([\"n\"]), x: " CSR("") ") -> "
                                        "R.Tensor:\n    return x\n"));
    bool said = false;
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++)
        said |= strstr(relax_diagnostic_message(ctx, i, NULL), "R.Csr((n, 4), dtype=") != NULL;
    relax_context_clear_diagnostics(ctx);
    assert_true(said);
}

/* ---- structural equality -------------------------------------------------------------------- */

static const struct { const char *a, *b; int strict, loose; } pairs[] = {
    { SPARSE("(\"n\", 4)", ", \"n * 2\""), SPARSE("(\"n\", 4)", ", \"n * 2\""), 1, 1 },
    { SPARSE("(\"n\", 4)", ", 7"), SPARSE("(\"n\", 4)", ", 8"), 0, 1 },
    { SPARSE("(\"n\", 4)", ", 7"), SPARSE("(\"n\", 4)", ""), 0, 1 },
    { SPARSE("(\"n + 1\", 4)", ""), SPARSE("(\"1 + n\", 4)", ", \"n\""), 0, 1 },
    { SPARSE("(\"n\", 4)", ""), SPARSE("(\"m\", 4)", ""), 0, 0 },
    { SPARSE("(\"n\", 4)", ""), SPARSE("(\"n + 1\", 4)", ""), 0, 0 },
    { SPARSE("(\"n\", 4)", ""), HALF("(\"n\", 4)"), 0, 0 },
    { "R.Tuple(" SPARSE("(\"n\", 4)", ", 7") ", R.Object)",
      "R.Tuple(" SPARSE("(\"n\", 4)", "") ", R.Object)", 0, 1 },
    { "R.Callable((" SPARSE("(\"k\", 4)", ", 7") ", R.Shape([\"k\"])), R.Object, True)",
      "R.Callable((" SPARSE("(\"k\", 4)", "") ", R.Shape([\"k\"])), R.Object, True)", 0, 1 },
};

/* Sizes of two programs correspond by position before the host is asked about them. */
static void hosts_say_what_is_equal(void **state)
{
    relax_context *ctx = ctx_of(state);
    for (size_t i = 0; i < N(pairs); i++) {
        const relax_node *a = relax_module_as_node(taking(ctx, pairs[i].a)),
                         *b = relax_module_as_node(taking(ctx, pairs[i].b));
        for (world.loose = 0; world.loose < 2; world.loose++) {
            int want = world.loose ? pairs[i].loose : pairs[i].strict;
            if (relax_node_equal(ctx, a, b, 0) != want || relax_node_equal(ctx, b, a, 0) != want)
                fail_msg("%s and %s, %d", pairs[i].a, pairs[i].b, world.loose);
            if (want)
                assert_int_equal(relax_node_hash(ctx, a), relax_node_hash(ctx, b));
            relax_bytes *path = NULL;
            assert_int_equal(relax_node_first_difference(ctx, a, b, 0, NULL, NULL, NULL, NULL,
                                                         &path),
                             !want);
            relax_bytes_release(path);
        }
    }
    /* what is equal is one where functions come together */
    world.loose = 1;
    relax_module *m = relax_module_merge(ctx, taking(ctx, pairs[1].a), taking(ctx, pairs[1].b));
    assert_non_null(m);
    assert_int_equal(relax_module_num_functions(m), 1);
    world.loose = 0;
    assert_null(relax_module_merge(ctx, taking(ctx, pairs[1].a), taking(ctx, pairs[1].b)));
    assert_said(ctx, "WX05");
    /* another context's kind is not asked, nor is one when any sizes may correspond */
    world.loose = 1;
    assert_int_equal(
        relax_node_equal(
            ctx, relax_struct_info_as_node(made(ctx, relax_shape_var_new(ctx, Z("n")), NULL)),
            relax_struct_info_as_node(
                made(ctx, relax_shape_var_new(ctx, Z("m")), relax_prim_int_new(ctx, 3))),
            1),
        0);
    assert_quiet(ctx);
}

/* ---- life ----------------------------------------------------------------------------------- */

static void modules_move_where_the_kind_is_known(void **state)
{
    relax_context *ctx = ctx_of(state), *other = relax_context_create(NULL);
    sparse theirs = { 0 };
    relax_module *m = parsed(ctx, PROGRAM("annotations of a host kind"));
    assert_null(relax_module_copy(other, ctx, m, 1));
    assert_said(other, "OP15");
    relax_kind_options o = sparse_options(&theirs);
    assert_int_equal(relax_kind_register(other, &o), RELAX_OK);
    relax_module *copy = relax_module_copy(other, ctx, m, 1);
    assert_quiet(other);
    char *here = printed(ctx, relax_module_as_node(m)),
         *there = printed(other, relax_module_as_node(copy));
    assert_non_null(strstr(there,
            "x: R.SparseTensor((\"n\", 4), R.dtype(\"float32\"), \"n * 2\")"));
    assert_int_equal(relax_context_collect(ctx, &m, 1), RELAX_OK);
    char *kept = printed(ctx, relax_module_as_node(m));
    assert_string_equal(here, kept);
    assert_non_null(relax_module_infer(ctx, m));
    free(here);
    free(there);
    free(kept);
    assert_quiet(ctx);
    relax_context_release(other);
    assert_int_equal(theirs.destroyed, 1);
    assert_true(theirs.fits == 0);
}

static void pipelines_leave_nothing(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_module *m = parsed(ctx, PROGRAM("annotations of a host kind"));
    size_t bytes = 0;
    for (int i = 0; i < 1000; i++) {
        assert_non_null(relax_pass_run(ctx, m, Z("canonicalize_bindings"), NULL));
        assert_non_null(relax_module_infer(ctx, m));
        assert_int_equal(relax_context_collect(ctx, &m, 1), RELAX_OK);
        if (i == 10)
            bytes = relax_context_bytes(ctx);
        if (i > 10)
            assert_true(relax_context_bytes(ctx) <= bytes);
    }
    assert_quiet(ctx);
}

static void bad_registrations_are_refused(void **state)
{
    relax_context *ctx = ctx_of(state);
    static const char *const names[] = { "", "sparse", "2D", "A b", "Tensor", "SparseTensor",
                                         "Callable", "A.B", "If" };
    static const char *const codes[] = { "OP03", "OP03", "OP03", "OP03", "OP16", "OP16",
                                         "OP16", "OP03", "OP16" };
    sparse mine = { 0 };
    for (size_t i = 0; i < N(names); i++) {
        relax_kind_options o = sparse_options(&mine);
        o.name = names[i];
        o.name_len = strlen(names[i]);
        assert_int_not_equal(relax_kind_register(ctx, &o), RELAX_OK);
        assert_said(ctx, codes[i]);
        assert_int_equal(mine.destroyed, (int)i + 1);
    }
    relax_kind_options o = sparse_options(&mine);
    o.name = "Other";
    o.name_len = 5;
    o.min_operands = 4;
    assert_int_equal(relax_kind_register(ctx, &o), RELAX_ERROR_INVALID_ARGUMENT);
    assert_said(ctx, "OP03");
    const relax_node *wrong[] = { relax_attr_as_node(relax_attr_int_new(ctx, 1)),
                                  relax_attr_as_node(relax_attr_int_new(ctx, 1)) };
    assert_null(relax_struct_info_extension_new(ctx, Z("SparseTensor"), wrong, 2));
    assert_said(ctx, "OP02");
    assert_null(relax_struct_info_extension_new(ctx, Z("SparseTensor"), wrong, 0));
    assert_said(ctx, "OP03");
    assert_null(relax_struct_info_extension_new(ctx, Z("Nothing"), wrong, 0));
    assert_said(ctx, "OP15");
}

/* ---- callbacks that err --------------------------------------------------------------------- */

static void nonsense_is_reported(void **state)
{
    relax_context *ctx = ctx_of(state);
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *k = relax_shape_var_new(ctx, Z("k"));
    const relax_struct_info *a = made(ctx, n, k), *b = made(ctx, k, n);
    static const int32_t answers[] = { -1, -1000, 4, INT32_MAX };
    for (size_t i = 0; i < N(answers); i++) {
        world.wrong_fit = answers[i];
        assert_int_equal(relax_struct_info_assignable(ctx, a, b), RELAX_ASSIGNABLE_VALUE);
        assert_said(ctx, "OP17");
    }
    world.wrong_fit = 0;
    /* no struct info, struct info that does not cover, and that mentions what is gone */
    const void *wrong[] = { relax_attr_int_new(ctx, 3), relax_struct_info_shape_of_rank(ctx, 2),
                            made(ctx, k, n) };
    for (size_t i = 0; i < N(wrong); i++) {
        world.wrong = wrong[i];
        assert_ptr_equal(relax_struct_info_lub(ctx, a, made(ctx, n, NULL)),
                         relax_struct_info_object_new(ctx));
        assert_said(ctx, "OP17");
        assert_ptr_equal(relax_struct_info_erase(ctx, a, &n, 1), relax_struct_info_object_new(ctx));
        assert_said(ctx, "OP17");
    }
    assert_ptr_equal(relax_struct_info_static(ctx, a), relax_struct_info_object_new(ctx));
    assert_said(ctx, "OP17");
}

static int32_t fit_that_asks(void *user, relax_context *ctx, const relax_struct_info *a,
                             const relax_struct_info *b)
{
    sparse *s = user;
    s->fits++;
    if (s->mode == 1)
        assert_int_equal(relax_context_collect(ctx, NULL, 0), RELAX_ERROR_INVALID_ARGUMENT);
    if (s->mode == 2)
        relax_context_report(ctx, 0, Z("sparse tensors are out of stock"));
    if (s->mode == 3)
        relax_context_clear_diagnostics(ctx);
    if (s->mode == 4)
        relax_context_release(relax_context_retain(ctx));
    return s->mode == 0   ? relax_struct_info_assignable(ctx, a, b)
           : s->mode == 2 ? -1
                          : RELAX_ASSIGNABLE_YES;
}

static void callbacks_may_call_back(void **state)
{
    relax_context *ctx = ctx_of(state);
    relax_kind_options o = sparse_options(&world);
    o.name = "Deep";
    o.name_len = 4;
    o.fit = fit_that_asks;
    o.destroy = NULL;
    assert_int_equal(relax_kind_register(ctx, &o), RELAX_OK);
    const relax_prim_expr *n = relax_shape_var_new(ctx, Z("n")),
                          *k = relax_shape_var_new(ctx, Z("k"));
    const relax_node *dims[] = { relax_prim_expr_as_node(n), relax_prim_expr_as_node(k) },
                     *turned[] = { dims[1], dims[0] };
    const relax_struct_info *a = relax_struct_info_extension_new(ctx, Z("Deep"), dims, 2),
                            *b = relax_struct_info_extension_new(ctx, Z("Deep"), turned, 2);
    static const char *const said[] = { "OP17", "OP09", "OP17" };
    for (world.mode = 0; world.mode < 5; world.mode++) {
        world.fits = 0;
        relax_struct_info_assignable(ctx, a, b);
        assert_in_range(world.fits, 1, 20);
        if (world.mode < 3)
            assert_said(ctx, said[world.mode]);
        assert_quiet(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_sparse, close_sparse)
        TEST(relations_hold), TEST(nodes_are_interned_read_and_substituted),
        TEST(erasure_keeps_what_is_visible), TEST(text_prints_and_reads_back),
        TEST(visitors_have_an_entry_for_kinds_of_the_host), TEST(bad_text_is_refused),
        TEST(operands_are_uses), TEST(hosts_say_what_is_equal),
        TEST(hosts_spell_their_kinds),
        TEST(modules_move_where_the_kind_is_known), TEST(pipelines_leave_nothing),
        TEST(bad_registrations_are_refused), TEST(nonsense_is_reported),
        TEST(callbacks_may_call_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
