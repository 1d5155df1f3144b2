/* test_api_module_edit: functions added, replaced, removed, renamed, published; modules merged;
 * attributes; parameters and sizes bound. What need not change comes back by pointer. */
#include "api_fixture.h"
#include "text_file.h"

#define CLASS "@I.ir_module\nclass Module:\n"
#define VECTOR "R.Tensor((\"n\",), \"float32\")"
#define FUNCTION(name, private, value)                                                            \
    "    @R.function" private "\n    def " name "(x: " VECTOR ") -> " VECTOR ":\n"                \
    "        cls = Module\n        y = " value "\n        return y\n\n"
#define PRIVATE "(private=True)"

static const relax_module *read_module(relax_context *ctx, const char *text)
{
    const relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(text));
    assert_quiet(ctx);
    assert_non_null(m);
    return m;
}

static const relax_base_func *function_of(const relax_module *m, const char *name)
{
    size_t at = relax_module_find(m, Z(name));
    return at == RELAX_NOT_FOUND ? NULL : relax_module_function(m, at);
}

/* Equal to a module read from text, and well-formed. */
static void assert_reads_as(relax_context *ctx, const relax_module *m, const char *text)
{
    assert_quiet(ctx);
    assert_non_null(m);
    const relax_module *want = read_module(ctx, text);
    if (relax_node_equal(ctx, relax_module_as_node(m), relax_module_as_node(want), 0) != 1) {
        char *got = printed(ctx, relax_module_as_node(m));
        print_error("got:\n%s\nwanted:\n%s\n", got, text);
        free(got);
        fail();
    }
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
}

static const char pair[] = CLASS FUNCTION("main", "", "cls.helper(x)")
    FUNCTION("helper", PRIVATE, "R.exp(x)");

/* ---- one function --------------------------------------------------------------------------- */

static void functions_are_added_and_replaced(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, pair);
    const relax_module *other = read_module(ctx, CLASS FUNCTION("f", "", "R.sin(x)"));
    const relax_base_func *f = function_of(other, "f");
    const relax_module *more = relax_module_add(ctx, m, Z("third"), f);
    assert_reads_as(ctx, more,
                    CLASS FUNCTION("main", "", "cls.helper(x)")
                        FUNCTION("helper", PRIVATE, "R.exp(x)") FUNCTION("third", "", "R.sin(x)"));
    assert_ptr_equal(relax_module_function(more, 0), relax_module_function(m, 0));
    assert_ptr_equal(relax_module_function(more, 1), relax_module_function(m, 1));
    assert_null(relax_module_add(ctx, m, Z("main"), f));
    assert_said(ctx, "WX05");
    const relax_module *same = relax_module_replace(ctx, m, Z("main"), function_of(m, "main"));
    assert_ptr_equal(same, m);
    const relax_module *now = relax_module_replace(ctx, m, Z("main"), f);
    assert_reads_as(ctx, now,
                    CLASS FUNCTION("main", "", "R.sin(x)")
                        FUNCTION("helper", PRIVATE, "R.exp(x)"));
    assert_ptr_equal(relax_module_global_var(now, 0), relax_module_global_var(m, 0));
    assert_null(relax_module_replace(ctx, m, Z("absent"), f));
    assert_said(ctx, "OP15");
}

static void functions_are_removed_when_nobody_mentions_them(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(
        ctx, CLASS FUNCTION("main", "", "cls.helper(x)") FUNCTION("helper", PRIVATE, "R.exp(x)")
                 FUNCTION("loop", PRIVATE, "cls.loop(x)"));
    assert_null(relax_module_remove(ctx, m, Z("helper"), 0));
    uint32_t line = 0;
    assert_int_equal(relax_place_locate(ctx, relax_diagnostic_place(ctx, 0), &line, NULL, NULL),
                     RELAX_OK);
    assert_int_equal(line, 6);
    assert_said(ctx, "WX01");
    /* its own mention does not count */
    assert_reads_as(ctx, relax_module_remove(ctx, m, Z("loop"), 0), pair);
    const relax_module *broken = relax_module_remove(ctx, m, Z("helper"), 1);
    assert_quiet(ctx);
    assert_int_equal(relax_module_num_functions(broken), 2);
    assert_int_equal(relax_module_well_formed(ctx, broken, RELAX_CHECK_ANY), 0);
    assert_said(ctx, "WX01");
    assert_null(relax_module_remove(ctx, m, Z("absent"), 1));
    assert_said(ctx, "OP15");
}

static void renaming_takes_mentions_and_link_names_along(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, pair);
    const relax_module *now = relax_module_rename(ctx, m, Z("helper"), Z("aid"));
    assert_reads_as(ctx, now,
                    CLASS FUNCTION("main", "", "cls.aid(x)") FUNCTION("aid", PRIVATE, "R.exp(x)"));
    assert_ptr_equal(relax_module_function(now, 1), relax_module_function(m, 1));
    now = relax_module_rename(ctx, m, Z("main"), Z("start"));
    assert_reads_as(ctx, now,
                    CLASS FUNCTION("start", "", "cls.helper(x)")
                        FUNCTION("helper", PRIVATE, "R.exp(x)"));
    size_t len = 0;
    assert_string_equal(relax_base_func_link_name(relax_module_function(now, 0), &len), "start");
    assert_int_equal(len, 5);
    assert_null(relax_base_func_link_name(relax_module_function(now, 1), &len));
    assert_int_equal(len, 0);
    assert_ptr_equal(relax_module_rename(ctx, m, Z("main"), Z("main")), m);
    assert_null(relax_module_rename(ctx, m, Z("main"), Z("helper")));
    assert_said(ctx, "WX05");
    assert_null(relax_module_rename(ctx, m, Z("absent"), Z("helper")));
    assert_said(ctx, "OP15");
}

/* A call from TIR follows as well; a function that calls itself too. */
static void renaming_reaches_everywhere(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = PROGRAM("renaming reaches everywhere");
    char before[2000], after[2000];
    snprintf(before, sizeof before, text, "k", "k", "main");
    snprintf(after, sizeof after, text, "kernel", "kernel", "main");
    const relax_module *m = read_module(ctx, before);
    assert_reads_as(ctx, relax_module_rename(ctx, m, Z("k"), Z("kernel")), after);
    const relax_module *now = relax_module_rename(ctx, m, Z("main"), Z("other"));
    assert_int_equal(relax_module_well_formed(ctx, now, RELAX_CHECK_NORMAL), 1);
    assert_ptr_equal(function_of(now, "k"), function_of(m, "k"));
}

static void link_names_come_and_go(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, pair);
    const relax_module *open = relax_module_set_public(ctx, m, Z("helper"), 1);
    assert_reads_as(ctx, open,
                    CLASS FUNCTION("main", "", "cls.helper(x)")
                        FUNCTION("helper", "", "R.exp(x)"));
    assert_ptr_equal(relax_module_set_public(ctx, open, Z("helper"), 1), open);
    assert_reads_as(ctx, relax_module_set_public(ctx, open, Z("helper"), 0), pair);
    const relax_module *all = relax_pass_run(ctx, m, Z("attach_global_symbol"), NULL);
    assert_int_equal(
        relax_node_equal(ctx, relax_module_as_node(all), relax_module_as_node(open), 0), 1);
    assert_ptr_equal(relax_module_function(all, 0), relax_module_function(m, 0));
    assert_ptr_equal(relax_pass_run(ctx, all, Z("attach_global_symbol"), NULL), all);
    assert_null(relax_module_set_public(ctx, m, Z("absent"), 1));
    assert_said(ctx, "OP15");
}

/* ---- a thousand functions ------------------------------------------------------------------- */

enum { MANY = 1000 };

static const relax_module *many_functions(relax_context *ctx)
{
    char *text = malloc(MANY * 250 + 100), *at = text;
    at += sprintf(at, CLASS);
    for (int i = 0; i < MANY; i++)
        at += sprintf(at, PROGRAM("many functions"), i, i == 500 ? "cls.f7" : "R.exp");
    const relax_module *m = read_module(ctx, text);
    free(text);
    return m;
}

static size_t differing(const relax_module *a, const relax_module *b)
{
    size_t n = 0;
    for (size_t i = 0; i < MANY; i++)
        n += relax_module_function(a, i) != relax_module_function(b, i);
    return n;
}

static void what_need_not_change_comes_back_by_pointer(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = many_functions(ctx);
    const relax_module *now = relax_module_rename(ctx, m, Z("f7"), Z("seven"));
    assert_int_equal(differing(m, now), 1);
    assert_ptr_not_equal(relax_module_function(now, 500), relax_module_function(m, 500));
    assert_int_equal(
        differing(m, relax_module_replace(ctx, m, Z("f3"), function_of(m, "f9"))), 1);
    assert_int_equal(differing(m, relax_module_set_public(ctx, m, Z("f3"), 1)), 1);
    assert_int_equal(
        differing(m,
                  relax_module_set_attrs(
                      ctx, m, relax_attr_map_with(ctx, NULL, Z("a"), relax_attr_int_new(ctx, 1)))),
        0);
    const relax_prim_expr *four = relax_prim_int_new(ctx, 4);
    const char *n = "n";
    assert_int_equal(
        differing(m, relax_module_bind_shape_names(ctx, m, Z("f3"), &n, &four, 1)), 1);
    const relax_module *merged = relax_module_merge(ctx, m, now);
    assert_quiet(ctx);
    assert_int_equal(differing(m, merged), 0);
    /* seven is new, f500 calls it and stands beside the one that calls f7 */
    assert_int_equal(relax_module_num_functions(merged), MANY + 2);
    assert_non_null(function_of(merged, "f500_1"));
    assert_int_equal(relax_module_well_formed(ctx, merged, RELAX_CHECK_NORMAL), 1);
}

/* ---- two modules ---------------------------------------------------------------------------- */

static const struct merge_case {
    const char *name, *a, *b, *want; /* want: a code, or the module */
} merges[] = {
    { "disjoint", CLASS FUNCTION("f", "", "R.exp(x)"), CLASS FUNCTION("g", "", "R.sin(x)"),
      CLASS FUNCTION("f", "", "R.exp(x)") FUNCTION("g", "", "R.sin(x)") },
    { "equal ones are shared", pair,
      CLASS FUNCTION("helper", PRIVATE, "R.exp(x)") FUNCTION("other", "", "cls.helper(x)"),
      CLASS FUNCTION("main", "", "cls.helper(x)") FUNCTION("helper", PRIVATE, "R.exp(x)")
          FUNCTION("other", "", "cls.helper(x)") },
    { "the private one of b gives way", pair,
      CLASS FUNCTION("helper", PRIVATE, "R.sin(x)") FUNCTION("other", "", "cls.helper(x)"),
      CLASS FUNCTION("main", "", "cls.helper(x)") FUNCTION("helper", PRIVATE, "R.exp(x)")
          FUNCTION("helper_1", PRIVATE, "R.sin(x)") FUNCTION("other", "", "cls.helper_1(x)") },
    { "the private one of a gives way", pair, CLASS FUNCTION("helper", "", "R.sin(x)"),
      CLASS FUNCTION("main", "", "cls.helper_1(x)") FUNCTION("helper_1", PRIVATE, "R.exp(x)")
          FUNCTION("helper", "", "R.sin(x)") },
    { "public ones that differ", pair, CLASS FUNCTION("main", "", "R.sin(x)"), "WX05" },
    { "equal texts that call different helpers are two", pair,
      CLASS FUNCTION("main", "", "cls.helper(x)") FUNCTION("helper", PRIVATE, "R.sin(x)"),
      "WX05" },
    { "and private ones of that kind both stay",
      CLASS FUNCTION("p", PRIVATE, "cls.h(x)") FUNCTION("h", PRIVATE, "R.exp(x)"),
      CLASS FUNCTION("p", PRIVATE, "cls.h(x)") FUNCTION("h", PRIVATE, "R.sin(x)"),
      CLASS FUNCTION("p", PRIVATE, "cls.h(x)") FUNCTION("h", PRIVATE, "R.exp(x)")
          FUNCTION("p_1", PRIVATE, "cls.h_1(x)") FUNCTION("h_1", PRIVATE, "R.sin(x)") },
    { "a name made up is not one that is there",
      CLASS FUNCTION("h", PRIVATE, "R.exp(x)") FUNCTION("h_1", PRIVATE, "R.cos(x)"),
      CLASS FUNCTION("h", PRIVATE, "R.sin(x)"),
      CLASS FUNCTION("h", PRIVATE, "R.exp(x)") FUNCTION("h_1", PRIVATE, "R.cos(x)")
          FUNCTION("h_2", PRIVATE, "R.sin(x)") },
    { "mutual recursion is shared as a whole",
      CLASS FUNCTION("p", PRIVATE, "cls.q(x)") FUNCTION("q", PRIVATE, "cls.p(x)"),
      CLASS FUNCTION("q", PRIVATE, "cls.p(x)") FUNCTION("p", PRIVATE, "cls.q(x)"),
      CLASS FUNCTION("p", PRIVATE, "cls.q(x)") FUNCTION("q", PRIVATE, "cls.p(x)") },
    { "attributes of both",
      CLASS "    I.module_attrs({\"a\": 1, \"c\": 3})\n" FUNCTION("f", "", "R.exp(x)"),
      CLASS "    I.module_attrs({\"b\": 2, \"c\": 3})\n" FUNCTION("g", "", "R.exp(x)"),
      CLASS "    I.module_attrs({\"a\": 1, \"b\": 2, \"c\": 3})\n" FUNCTION("f", "", "R.exp(x)")
          FUNCTION("g", "", "R.exp(x)") },
    { "an attribute with two values", CLASS "    I.module_attrs({\"a\": 1})\n",
      CLASS "    I.module_attrs({\"a\": 2})\n", "OP16" },
    { "global infos of both",
      CLASS "    I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\")]})\n",
      CLASS "    I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\"), I.vdevice(\"cuda\", "
            "1)]})\n",
      CLASS "    I.module_global_infos({\"vdevice\": [I.vdevice(\"llvm\"), I.vdevice(\"cuda\", "
            "1)]})\n" },
};

static void modules_are_merged(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    for (size_t i = 0; i < N(merges); i++) {
        const relax_module *a = read_module(ctx, merges[i].a), *b = read_module(ctx, merges[i].b);
        const relax_module *m = relax_module_merge(ctx, a, b);
        if (strlen(merges[i].want) == 4) {
            if (m)
                fail_msg("%s: accepted", merges[i].name);
            assert_said(ctx, merges[i].want);
            continue;
        }
        if (!m)
            print_error("%s:\n", merges[i].name);
        assert_reads_as(ctx, m, merges[i].want);
        /* what stays is shared, and merging again adds nothing */
        assert_ptr_equal(relax_module_merge(ctx, a, a), a);
        const relax_module *again = relax_module_merge(ctx, m, read_module(ctx, merges[i].a));
        if (strcmp(merges[i].name, "the private one of a gives way") != 0 && again != m)
            fail_msg("%s: merging again changes it", merges[i].name);
        relax_context_clear_diagnostics(ctx);
    }
}

static void a_clash_is_shown_at_both_places(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *a = read_module(ctx, pair),
                       *b = relax_module_parse(ctx, Z("other.py"),
                                               Z(CLASS FUNCTION("main", "", "R.sin(x)")));
    assert_null(relax_module_merge(ctx, a, b));
    relax_bytes *text = relax_diagnostic_render(ctx, 0);
    if (!strstr(relax_bytes_data(text), "other.py:4") || !strstr(relax_bytes_data(text), "m.py:4"))
        fail_msg("%s", relax_bytes_data(text));
    relax_bytes_release(text);
    relax_context_clear_diagnostics(ctx);
}

/* Both come from one text by edits: they share variables, and what is merged must not. */
static void relatives_are_merged(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *a = read_module(ctx, pair);
    const relax_module *b = relax_module_rename(ctx, a, Z("main"), Z("entry"));
    b = relax_module_replace(ctx, b, Z("helper"),
                             function_of(read_module(ctx, CLASS FUNCTION("f", PRIVATE,
                                                                         "R.sin(x)")),
                                         "f"));
    const relax_module *m = relax_module_merge(ctx, a, b);
    assert_quiet(ctx);
    assert_int_equal(relax_module_num_functions(m), 4);
    assert_int_equal(relax_module_well_formed(ctx, m, RELAX_CHECK_NORMAL), 1);
    assert_quiet(ctx);
}

/* ---- attributes ----------------------------------------------------------------------------- */

static void attributes_are_set(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, pair);
    const relax_attr *one = relax_attr_int_new(ctx, 1),
                     *map = relax_attr_map_with(ctx, NULL, Z("a"), one),
                     *list = relax_attr_list_new(ctx, &one, 1),
                     *infos = relax_attr_map_with(ctx, NULL, Z("vdevice"), list);
    const relax_module *now = relax_module_set_attrs(ctx, m, map);
    assert_ptr_equal(relax_module_attrs(now), map);
    assert_ptr_equal(relax_module_set_attrs(ctx, now, map), now);
    assert_null(relax_module_attrs(relax_module_set_attrs(ctx, now, NULL)));
    now = relax_module_set_global_infos(ctx, now, infos);
    assert_ptr_equal(relax_module_global_infos(now), infos);
    assert_ptr_equal(relax_module_attrs(now), map);
    assert_null(relax_module_global_infos(m));
    assert_null(relax_module_global_infos(NULL));
    const relax_base_func *f = relax_base_func_with_attrs(ctx, function_of(m, "main"), map);
    assert_ptr_equal(relax_base_func_attrs(f), map);
    assert_quiet(ctx);
    assert_null(relax_module_set_global_infos(ctx, m, map));
    assert_said(ctx, "OP02");
    assert_null(relax_module_set_attrs(ctx, m, one));
    assert_said(ctx, "OP02");
}

/* ---- parameters and sizes ------------------------------------------------------------------- */


static const relax_prim_expr *size_of(const relax_module *m, size_t index)
{
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    return relax_struct_info_dim(relax_expr_struct_info(relax_expr_operand(f, 0)), index);
}

static void shape_variables_are_bound(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("sized"));
    const relax_prim_expr *n = size_of(m, 0), *k = size_of(m, 1);
    const relax_prim_expr *sixteen = relax_prim_int_new(ctx, 16);
    const char *by_number = PROGRAM("shape variables are bound, by number");
    const char *name = "n";
    assert_reads_as(ctx, relax_module_bind_shape_vars(ctx, m, &n, &sixteen, 1), by_number);
    assert_reads_as(ctx, relax_module_bind_shape_names(ctx, m, NULL, 0, &name, &sixteen, 1),
                    by_number);
    const relax_attr *values = relax_attr_map_with(ctx, NULL, Z("n"), relax_attr_int_new(ctx, 16)),
                     *options = relax_attr_map_with(ctx, NULL, Z("values"), values);
    assert_reads_as(ctx, relax_pass_run(ctx, m, Z("bind_symbolic_vars"), options), by_number);
    /* an expression of another variable of the function */
    const relax_prim_expr *twice =
        relax_prim_binary_new(ctx, RELAX_PRIM_MUL, k, relax_prim_int_new(ctx, 2));
    const relax_module *doubled = relax_module_bind_shape_vars(ctx, m, &n, &twice, 1);
    assert_quiet(ctx);
    assert_int_equal(relax_module_well_formed(ctx, doubled, RELAX_CHECK_NORMAL), 1);
    char *text = printed(ctx, relax_module_as_node(doubled));
    assert_non_null(strstr(text, "R.Tensor((\"k * 2\", \"k\"), dtype=\"float32\")"));
    free(text);
    assert_ptr_equal(relax_module_bind_shape_vars(ctx, m, NULL, NULL, 0), m);
}

static void what_cannot_be_bound_is_refused(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("sized"));
    const relax_prim_expr *n = size_of(m, 0), *stranger = relax_shape_var_new(ctx, Z("s"));
    const relax_prim_expr *four = relax_prim_int_new(ctx, 4);
    const relax_prim_expr *more =
        relax_prim_binary_new(ctx, RELAX_PRIM_ADD, stranger, relax_prim_int_new(ctx, 1));
    const relax_prim_expr *half = relax_prim_float_new(ctx, RELAX_FLOAT32, 0.5);
    const struct {
        const relax_prim_expr *vars[2], *values[2];
        size_t count;
        const char *code;
    } rows[] = {
        { { n, n }, { four, four }, 2, "OP16" },
        { { stranger, NULL }, { four, NULL }, 1, "OP15" },
        { { n, NULL }, { more, NULL }, 1, "WF05" },
        { { n, NULL }, { half, NULL }, 1, "OP02" },
        { { four, NULL }, { four, NULL }, 1, "OP02" },
    };
    for (size_t i = 0; i < N(rows); i++) {
        assert_null(
            relax_module_bind_shape_vars(ctx, m, rows[i].vars, rows[i].values, rows[i].count));
        assert_said(ctx, rows[i].code);
    }
    const char *names[] = { "n", "n" }, *unknown = "q";
    const relax_prim_expr *values[] = { four, four };
    assert_null(relax_module_bind_shape_names(ctx, m, NULL, 0, names, values, 2));
    assert_said(ctx, "OP16");
    assert_null(relax_module_bind_shape_names(ctx, m, NULL, 0, &unknown, &four, 1));
    assert_said(ctx, "OP15");
    assert_null(relax_module_bind_shape_names(ctx, m, Z("absent"), names, values, 1));
    assert_said(ctx, "OP15");
}

static void parameters_become_constants(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const relax_module *m = read_module(ctx, PROGRAM("parameters become constants"));
    const relax_expr *f = relax_base_func_as_expr(relax_module_function(m, 0));
    const relax_expr *w = relax_expr_operand(f, 1);
    float data[] = { 1, 2 };
    int64_t two = 2;
    const relax_expr *constant = relax_constant_new(ctx, RELAX_FLOAT32, &two, 1, data, sizeof data);
    const relax_module *now = relax_module_bind_constants(ctx, m, &w, &constant, 1);
    assert_quiet(ctx);
    const relax_expr *bound = relax_base_func_as_expr(relax_module_function(now, 0));
    assert_int_equal(relax_expr_num_operands(bound), 3);
    assert_int_equal(relax_module_well_formed(ctx, now, RELAX_CHECK_NORMAL), 1);
    const relax_attr *params = relax_attr_map_with(ctx, NULL, Z("w"),
                                                   (const relax_attr *)(const void *)constant),
                     *options = relax_attr_map_with(ctx, NULL, Z("params"), params);
    const relax_module *by_pass = relax_pass_run(ctx, m, Z("bind_params"), options);
    assert_quiet(ctx);
    assert_int_equal(
        relax_node_equal(ctx, relax_module_as_node(by_pass), relax_module_as_node(now), 0), 1);
    const relax_expr *twice[] = { w, w }, *constants[] = { constant, constant };
    assert_null(relax_module_bind_constants(ctx, m, twice, constants, 2));
    assert_said(ctx, "OP16");
    assert_null(relax_module_bind_constants(ctx, m, &w, &w, 1));
    assert_said(ctx, "OP02");
    assert_null(relax_module_bind_constants(ctx, now, &w, &constant, 1));
    assert_said(ctx, "OP15");
}

/* What no text could name is no name of a function, an operator, an argument or a kind. */
static void names_are_identifiers(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    static const char *const names[] = { "",     "a b", "1a",       "class",
                                         "None", "a.b", "\xc3\xa4", "a-" };
    relax_module *m = relax_module_parse(
        ctx, Z("m.py"), Z("@R.function\ndef main(x: R.Tensor):\n    return x\n"));
    const relax_base_func *f = relax_module_function(m, 0);
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    assert_quiet(ctx);
    for (size_t i = 0; i < N(names); i++) {
        relax_op_options o;
        char op[32];
        assert_null(relax_module_rename(ctx, m, Z("main"), Z(names[i])));
        assert_said(ctx, "OP03");
        assert_null(relax_module_add(ctx, m, Z(names[i]), f));
        assert_said(ctx, "OP03");
        assert_null(relax_module_builder_add(mb, Z(names[i]), f));
        assert_said(ctx, "OP03");
        assert_null(relax_module_builder_declare(mb, Z(names[i]), NULL));
        assert_said(ctx, "OP03");
        assert_int_not_equal(relax_builder_begin_function(b, Z(names[i]), NULL, 0, NULL),
                             RELAX_OK);
        assert_said(ctx, "OP03");
        relax_builder_end_function(b, NULL);
        relax_context_clear_diagnostics(ctx);
        relax_op_options_init(&o, sizeof o);
        snprintf(op, sizeof op, "host.%s", names[i]);
        o.name = op;
        o.name_len = strlen(op);
        if (strchr(names[i], '.') == NULL) {
            assert_int_not_equal(relax_op_register(ctx, &o), RELAX_OK);
            assert_said(ctx, "OP03");
        }
    }
    assert_non_null(relax_module_rename(ctx, m, Z("main"), Z("_Class1")));
    assert_quiet(ctx);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
}

/* What an edit leaves wrong elsewhere is found where everything is derived anew. */
static void calls_of_what_was_replaced_are_checked(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    static const struct { const char *f, *code; } others[] = {
        { "x: R.Tensor((4,), dtype=\"float32\"), y: R.Tensor((4,), dtype=\"float32\")", "TY03" },
        { "x: R.Tensor((5,), dtype=\"float32\")", "TY04" },
        { "x: R.Tensor((4,), dtype=\"float32\")", NULL },
    };
    relax_module *m = relax_module_parse(ctx, Z("m.py"), Z(PROGRAM("a caller and its callee")));
    assert_quiet(ctx);
    assert_ptr_equal(relax_module_infer(ctx, m), m);
    for (size_t i = 0; i < N(others); i++) {
        char text[512];
        snprintf(text, sizeof text, "@R.function\ndef f(%s):\n    return x\n", others[i].f);
        relax_module *other = relax_module_parse(ctx, Z("f.py"), Z(text));
        relax_module *now = relax_module_replace(ctx, m, Z("f"), relax_module_function(other, 0));
        assert_quiet(ctx);
        relax_module *again = relax_module_infer(ctx, now);
        if (others[i].code) {
            assert_null(again);
            assert_said(ctx, others[i].code);
        } else {
            assert_quiet(ctx);
            assert_ptr_equal(again, now);
        }
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        TEST(functions_are_added_and_replaced),
        TEST(functions_are_removed_when_nobody_mentions_them),
        TEST(renaming_takes_mentions_and_link_names_along),
        TEST(renaming_reaches_everywhere),
        TEST(link_names_come_and_go),
        TEST(what_need_not_change_comes_back_by_pointer),
        TEST(modules_are_merged),
        TEST(a_clash_is_shown_at_both_places),
        TEST(relatives_are_merged),
        TEST(attributes_are_set),
        TEST(shape_variables_are_bound),
        TEST(what_cannot_be_bound_is_refused),
        TEST(parameters_become_constants), TEST(calls_of_what_was_replaced_are_checked),
        TEST(names_are_identifiers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
