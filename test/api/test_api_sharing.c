/* test_api_sharing: in a module of 1,000 functions one changes; the other 999 come back by
 * pointer, whatever changed it, and nothing but the module itself comes back where nothing
 * changes. */
#include "checked_module.h"
#include "text_file.h"

#include <relax/ops.h>

enum { FUNCTIONS = 1000, CHANGED = 700 };

/* f0 ... f999: (n, 4) -> (n, 4); CHANGED calls a private helper in a dataflow block. */
static relax_module *thousand(relax_context *ctx)
{
    char *text = malloc(FUNCTIONS * 400 + 1000),
         *at = text + sprintf(text, "%s", PROGRAM("a thousand functions begin"));
    for (int i = 0; i < FUNCTIONS; i++)
        at += sprintf(at, PROGRAM("one of a thousand"),
                      i, i == CHANGED ? "cls.helper(x)" : "R.cos(x)");
    relax_module *m = parsed(ctx, text);
    free(text);
    return m;
}

static const relax_base_func *function(const relax_module *m, const char *name)
{
    size_t at = relax_module_find(m, Z(name));
    return at == RELAX_NOT_FOUND ? NULL : relax_module_function(m, at);
}

/* What is bound in CHANGED. */
static const relax_block *block_of(const relax_module *m)
{
    const relax_expr *f = relax_base_func_as_expr(function(m, "f700"));
    return relax_seq_block(relax_expr_operand(f, 2), 0);
}
static const relax_binding *binding_of(const relax_module *m, size_t i)
{
    return relax_block_binding(block_of(m), i);
}

/* ---- one change each */

static bool is_call_of(const relax_expr *e, const char *op)
{
    const char *name = e && relax_expr_kind(e) == RELAX_EXPR_KIND_CALL
                           ? relax_expr_name(relax_expr_operand(e, 0), NULL)
                           : NULL;
    return name && strcmp(name, op) == 0;
}

static const relax_expr *matmul_twice(void *user, relax_mutator *m, const relax_expr *e)
{
    (void)m;
    return is_call_of(e, "relax.matmul") ? relax_r_negative(user, e) : e;
}

static relax_module *by_mutator(relax_context *ctx, const relax_module *m)
{
    relax_mutations t = { .struct_size = sizeof t, .user = ctx, .call = matmul_twice };
    return relax_module_mutate(ctx, m, Z("f700"), &t);
}

static relax_module *by_edit(relax_context *ctx, const relax_module *m)
{
    relax_block_edit *edit = relax_block_edit_create(ctx, m, Z("f700"), block_of(m));
    const relax_expr *a = relax_binding_var(binding_of(m, 0)),
                     *more = relax_block_edit_add(edit, relax_r_exp(ctx, a), NULL, 0, 0);
    assert_non_null(more);
    relax_module *out = relax_block_edit_module(edit);
    relax_block_edit_destroy(edit);
    return out;
}

static relax_module *by_extraction(relax_context *ctx, const relax_module *m)
{
    return relax_module_extract_function(ctx, m, Z("f700"), binding_of(m, 1), binding_of(m, 1),
                                         Z("part"));
}

static relax_module *by_inlining_a_call(relax_context *ctx, const relax_module *m)
{
    return relax_module_inline_call(ctx, m, Z("f700"), binding_of(m, 0));
}

static relax_module *by_inlining(relax_context *ctx, const relax_module *m)
{
    return relax_module_inline_function(ctx, m, Z("helper"));
}

/* Another function with variables of its own. */
static const relax_base_func *another(relax_context *ctx, const relax_module *m)
{
    return relax_node_as_base_func(
        relax_node_copy_renewed(ctx, relax_base_func_as_node(function(m, "f1"))));
}

static relax_module *by_replacing(relax_context *ctx, const relax_module *m)
{
    return relax_module_replace(ctx, m, Z("f700"), another(ctx, m));
}

static relax_module *by_adding(relax_context *ctx, const relax_module *m)
{
    return relax_module_add(ctx, m, Z("more"), another(ctx, m));
}

static relax_module *by_removing(relax_context *ctx, const relax_module *m)
{
    return relax_module_remove(ctx, m, Z("f700"), 0);
}

static relax_module *by_renaming(relax_context *ctx, const relax_module *m)
{
    return relax_module_rename(ctx, m, Z("f700"), Z("g"));
}

static relax_module *by_hiding(relax_context *ctx, const relax_module *m)
{
    return relax_module_set_public(ctx, m, Z("f700"), 0);
}

static relax_module *by_merging(relax_context *ctx, const relax_module *m)
{
    const char *other = PROGRAM("by merging, other");
    return relax_module_merge(ctx, m, parsed(ctx, other));
}

static relax_module *by_weights(relax_context *ctx, const relax_module *m)
{
    static const float data[16] = { 1 };
    const int64_t shape[] = { 4, 4 };
    const relax_expr *w = relax_expr_operand(relax_base_func_as_expr(function(m, "f700")), 1),
                     *c = relax_constant_new(ctx, RELAX_FLOAT32, shape, 2, data, sizeof data);
    assert_non_null(c);
    return relax_module_bind_constants(ctx, m, &w, &c, 1);
}

static relax_module *by_sizes(relax_context *ctx, const relax_module *m)
{
    const relax_expr *x = relax_expr_operand(relax_base_func_as_expr(function(m, "f700")), 0);
    const relax_prim_expr *n = relax_struct_info_dim(relax_expr_struct_info(x), 0),
                          *seven = relax_prim_int_new(ctx, 7);
    return relax_module_bind_shape_vars(ctx, m, &n, &seven, 1);
}

static relax_module *by_sizes_by_name(relax_context *ctx, const relax_module *m)
{
    const char *n = "n";
    const relax_prim_expr *seven = relax_prim_int_new(ctx, 7);
    return relax_module_bind_shape_names(ctx, m, Z("f700"), &n, &seven, 1);
}

static relax_module *by_attributes(relax_context *ctx, const relax_module *m)
{
    return relax_module_set_attrs(
        ctx, m, relax_attr_map_with(ctx, NULL, Z("a"), relax_attr_int_new(ctx, 1)));
}

static const struct {
    const char *name;
    relax_module *(*change)(relax_context *ctx, const relax_module *m);
} changes[] = {
    { "relax_module_mutate", by_mutator },
    { "relax_block_edit_module", by_edit },
    { "relax_module_extract_function", by_extraction },
    { "relax_module_inline_call", by_inlining_a_call },
    { "relax_module_inline_function", by_inlining },
    { "relax_module_replace", by_replacing },
    { "relax_module_add", by_adding },
    { "relax_module_remove", by_removing },
    { "relax_module_rename", by_renaming },
    { "relax_module_set_public", by_hiding },
    { "relax_module_merge", by_merging },
    { "relax_module_bind_constants", by_weights },
    { "relax_module_bind_shape_vars", by_sizes },
    { "relax_module_bind_shape_names", by_sizes_by_name },
    { "relax_module_set_attrs", by_attributes },
};

/* Functions of `m` that `out` has, by pointer, under their names. */
static size_t num_shared(const relax_module *m, const relax_module *out)
{
    size_t shared = 0;
    char name[16];
    for (int i = 0; i < FUNCTIONS; i++) {
        snprintf(name, sizeof name, "f%d", i);
        const relax_base_func *now = function(out, name);
        shared += now && now == function(m, name);
    }
    return shared;
}

static void test_changes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = thousand(ctx);
    for (size_t i = 0; i < N(changes); i++) {
        relax_module *out = changes[i].change(ctx, m);
        assert_quiet(ctx);
        assert_non_null(out);
        assert_ptr_not_equal(out, m);
        if (num_shared(m, out) < FUNCTIONS - 1)
            fail_msg("%s: %zu are shared", changes[i].name, num_shared(m, out));
        assert_int_not_equal(relax_module_well_formed(ctx, out, RELAX_CHECK_NORMAL), 0);
        relax_context_clear_diagnostics(ctx);
    }
}

/* ---- passes */

static bool has_required_options(int32_t pass)
{
    const char *deflt = NULL;
    for (int32_t i = 0; relax_pass_option(pass, i, &deflt, NULL); i++)
        if (!deflt)
            return true;
    return false;
}

/* The module, or one whose tensors can be placed. */
static relax_module *ready_for(relax_context *ctx, const char *pass, relax_module *m)
{
    if (strcmp(pass, "plan_memory") != 0 && strcmp(pass, "place_views") != 0 && strcmp(pass, "place_parts") != 0 &&
        strcmp(pass, "reuse_operands") != 0 && strcmp(pass, "lift_temporaries") != 0)
        return m;
    return relax_pass_run(ctx, relax_pass_run(ctx, m, Z("legalize_ops"), NULL),
                          Z("call_tir_rewrite"), NULL);
}

/* What a pass has been through once is left alone by it, when another function changes. */
static void test_passes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = thousand(ctx);
    assert_ptr_equal(relax_module_normalize(ctx, m), m);
    for (int32_t i = 0; relax_pass_name(i); i++) {
        const char *name = relax_pass_name(i);
        if (has_required_options(i))
            continue;
        relax_module *given = ready_for(ctx, name, m);
        relax_module *once = relax_pass_run(ctx, given, Z(name), NULL);
        assert_non_null(once);
        relax_module *edited = relax_module_replace(ctx, once, Z("f700"), function(given, "f700"));
        relax_module *twice = relax_pass_run(ctx, edited, Z(name), NULL);
        assert_quiet(ctx);
        assert_non_null(twice);
        if (num_shared(once, twice) < FUNCTIONS - 1)
            fail_msg("%s: %zu are shared", name, num_shared(once, twice));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_changes, open_fixture, close_fixture),
        cmocka_unit_test_setup_teardown(test_passes, open_fixture, close_fixture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
