/* test_builder.c: the block builder, the module builder and the mutator, with the operators of the
 * table. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "few_requests.h"
#include "op/op.h"
#include "sinfo/builder.h"
#include "sinfo_text.h"

typedef struct fixture {
    rlx_context *ctx;
    prim_names names;
    rlx_builder *b;
    rlx_module_builder *mb;
    rlx_buf text;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    f->ctx = rlx_context_create(NULL, 0);
    f->names = (prim_names){ .ctx = f->ctx };
    f->mb = rlx_module_builder_create(f->ctx, NULL);
    f->b = rlx_builder_create(f->ctx, rlx_module_builder_env(f->mb), NULL);
    rlx_buf_init(&f->text, &f->ctx->memory);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    rlx_buf_free(&f->text);
    rlx_builder_free(f->b);
    rlx_module_builder_free(f->mb);
    rlx_context_release(f->ctx);
    free(f);
    return 0;
}

/* --- making programs --- */

static const rlx_sinfo *info(fixture *f, const char *text)
{
    const rlx_sinfo *s = sinfo_parse(&f->names, text);
    if (!s)
        fail_msg("cannot read %s", text);
    return s;
}

static const rlx_expr *variable(fixture *f, const char *name, const char *s)
{
    return (const rlx_expr *)rlx_var_new(f->ctx, false, rlx_string_z(f->ctx, name), -1,
                                         s ? info(f, s) : NULL, 0);
}

static const rlx_expr *op2(fixture *f, const char *name, const rlx_expr *a, const rlx_expr *b)
{
    const rlx_expr *args[] = { a, b };
    return rlx_call_new(f->ctx, rlx_op_node(f->ctx, rlx_op_find(rlx_slice_z(name))), args,
                        b ? 2 : 1, NULL, 0, NULL, 0);
}

static const rlx_expr *invoke(fixture *f, const rlx_expr *callee, const rlx_expr *a,
                              const rlx_expr *b)
{
    const rlx_expr *args[] = { a, b };
    return rlx_call_new(f->ctx, callee, args, (a != NULL) + (b != NULL), NULL, 0, NULL, 0);
}

static const rlx_expr *tuple2(fixture *f, const rlx_expr *a, const rlx_expr *b)
{
    const rlx_expr *fields[] = { a, b };
    return rlx_tuple_new(f->ctx, fields, 2, 0);
}

static const rlx_expr *seq(fixture *f, bool dataflow, const rlx_binding *x, const rlx_binding *y,
                           const rlx_expr *body)
{
    const rlx_binding *list[] = { x, y };
    const rlx_node *block = rlx_block_new(f->ctx, dataflow, list, (x != NULL) + (y != NULL), 0);
    return rlx_seq_new(f->ctx, &block, 1, body, 0);
}

static const rlx_binding *bind(fixture *f, const char *name, const rlx_expr *value,
                               const rlx_var **out)
{
    *out = rlx_var_new(f->ctx, false, rlx_string_z(f->ctx, name), -1, NULL, 0);
    return rlx_var_binding_new(f->ctx, *out, value, 0);
}

static bool begin(fixture *f, const rlx_expr *const *params, size_t count)
{
    return rlx_builder_begin_function(f->b, params, count, true, NULL, RLX_SLICE("main"), NULL);
}

static const rlx_function *end(fixture *f, const rlx_expr *result, const char *ret)
{
    return rlx_builder_end_function(f->b, result, ret ? info(f, ret) : NULL, NULL, 0);
}

static const rlx_expr *emit(fixture *f, const rlx_expr *e)
{
    return (const rlx_expr *)rlx_builder_emit(f->b, e, NULL);
}

static const rlx_expr *emit_as(fixture *f, const rlx_expr *e, const char *name,
                               const char *annotation, bool output)
{
    rlx_emit how = { .name = name ? rlx_string_z(f->ctx, name) : NULL,
                     .number = -1,
                     .annotation = annotation ? info(f, annotation) : NULL,
                     .output = output };
    return (const rlx_expr *)rlx_builder_emit(f->b, e, &how);
}

/* --- reading them back: "{gv = exp(x)} gv", dataflow blocks in [ ] --- */

static void dump_seq(fixture *f, const rlx_expr *e);

static void dump_list(fixture *f, const rlx_expr *const *items, size_t count);

static void dump(fixture *f, const rlx_expr *e)
{
    rlx_buf *b = &f->text;
    const rlx_call *c = rlx_as_call(e);
    const rlx_tuple *t = rlx_as_tuple(e);
    const rlx_tuple_get_item *g = rlx_as_tuple_get_item(e);
    const rlx_if_expr *i = rlx_as_if_expr(e);
    const rlx_function *fn = rlx_as_function(e);
    if (c) {
        if (rlx_as_op(c->op))
            rlx_buf_z(b, rlx_as_op(c->op)->row->short_name);
        else
            dump(f, c->op);
        dump_list(f, c->args, c->num_args);
    } else if (t) {
        dump_list(f, t->fields, t->num_fields);
    } else if (g) {
        dump(f, g->tuple);
        rlx_buf_format(b, "[%d]", (int)g->index);
    } else if (i) {
        rlx_buf_z(b, "if ");
        dump(f, i->cond);
        rlx_buf_z(b, " then ");
        dump_seq(f, i->true_branch);
        rlx_buf_z(b, " else ");
        dump_seq(f, i->false_branch);
    } else if (fn) {
        rlx_buf_z(b, "fun");
        dump_list(f, fn->params, fn->num_params);
        rlx_buf_char(b, ' ');
        dump_seq(f, fn->body);
    } else {
        rlx_text_expr(b, e);
    }
}

static void dump_list(fixture *f, const rlx_expr *const *items, size_t count)
{
    rlx_buf_char(&f->text, '(');
    for (size_t i = 0; i < count; i++) {
        if (i)
            rlx_buf_z(&f->text, ", ");
        dump(f, items[i]);
    }
    rlx_buf_char(&f->text, ')');
}

static void dump_binding(fixture *f, const rlx_binding *n)
{
    const rlx_var_binding *v = rlx_as_var_binding(n);
    const rlx_match_cast *m = rlx_as_match_cast(n);
    const rlx_node *var = v ? v->var : m->var;
    if (var) {
        rlx_text_var_name(&f->text, rlx_as_var(var));
        rlx_buf_z(&f->text, var->kind == RLX_NODE_DATAFLOW_VAR ? " := " : " = ");
    }
    if (m)
        rlx_buf_z(&f->text, "cast ");
    dump(f, v ? v->value : m->value);
}

static void dump_seq(fixture *f, const rlx_expr *e)
{
    const rlx_seq_expr *s = rlx_as_seq_expr(e);
    assert_non_null(s);
    for (size_t i = 0; i < s->num_blocks; i++) {
        const rlx_block *block = rlx_as_block(s->blocks[i]);
        bool dataflow = block->node.kind == RLX_NODE_DATAFLOW_BLOCK;
        rlx_buf_char(&f->text, dataflow ? '[' : '{');
        for (size_t k = 0; k < block->num_bindings; k++) {
            if (k)
                rlx_buf_z(&f->text, "; ");
            dump_binding(f, block->bindings[k]);
        }
        rlx_buf_z(&f->text, dataflow ? "] " : "} ");
    }
    dump(f, s->body);
}

static void expect_body(fixture *f, const rlx_function *fn, const char *want)
{
    if (!fn)
        fail_msg("no function; %s",
                 f->ctx->diags.first ? f->ctx->diags.first->message : "no message");
    f->text.len = 0;
    dump_seq(f, fn->body);
    assert_string_equal(f->text.data, want);
}

static void expect_info(fixture *f, const rlx_expr *e, const char *want)
{
    bool lost = false;
    const rlx_var *v = rlx_as_var(e);
    if (!v)
        fail_msg("nothing was bound, wanted %s; %s", want,
                 f->ctx->diags.last ? f->ctx->diags.last->message : "no message");
    if (rlx_equal(&f->ctx->memory, v->sinfo, info(f, want), false, &lost))
        return;
    f->text.len = 0;
    rlx_text_sinfo(&f->text, v->sinfo);
    fail_msg("wanted %s, got %s", want, f->text.data);
}

/* The newest diagnostic is of this code and severity, and says this. */
static void expect_report(fixture *f, const char *code, int severity, const char *part)
{
    const rlx_diag *d = f->ctx->diags.last;
    if (!d)
        fail_msg("nothing was reported, wanted %s", code);
    if (strcmp(d->code->name, code) != 0 || d->severity != severity || !strstr(d->message, part))
        fail_msg("wanted %s (%d) with \"%s\", got %s (%d): %s", code, severity, part,
                 d->code->name, d->severity, d->message);
    rlx_diags_clear(&f->ctx->diags);
}

#define ERROR RLX_SEVERITY_ERROR
#define WARNING RLX_SEVERITY_WARNING

static void expect_silence(fixture *f)
{
    if (f->ctx->diags.last)
        fail_msg("unexpected: %s: %s", f->ctx->diags.last->code->name,
                 f->ctx->diags.last->message);
}

/* --- normal form --- */

static void test_operands_are_bound_first(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n, 4](float32)");
    assert_true(begin(f, &x, 1));
    const rlx_expr *y = emit_as(
        f, op2(f, "add", op2(f, "exp", x, NULL), op2(f, "sin", op2(f, "tanh", x, NULL), NULL)),
        "y", NULL, false);
    expect_info(f, y, "Tensor[n, 4](float32)");
    const rlx_expr *t =
        emit_as(f, tuple2(f, x, tuple2(f, op2(f, "exp", y, NULL), x)), "t", NULL, false);
    const rlx_expr *get =
        rlx_tuple_get_item_new(f->ctx, tuple2(f, op2(f, "exp", x, NULL), x), 0, 0);
    expect_info(f, emit(f, get), "Tensor[n, 4](float32)");
    expect_body(f, end(f, op2(f, "add", y, rlx_tuple_get_item_new(f->ctx, t, 0, 0)), NULL),
                "{gv = exp(x); gv1 = tanh(x); gv2 = sin(gv1); y = add(gv, gv2); gv3 = exp(y); t = "
                "(x, (gv3, x)); gv4 = exp(x); "
                "gv5 = (gv4, x)[0]; gv6 = t[0]; gv7 = add(y, gv6)} gv7");
    expect_silence(f);
}

static void test_evaluation_order(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor"), *params[] = { x };
    const rlx_expr *pf = rlx_extern_func_new(f->ctx, RLX_SLICE("f")),
                   *pg = rlx_extern_func_new(f->ctx, RLX_SLICE("g")),
                   *ph = rlx_extern_func_new(f->ctx, RLX_SLICE("h")),
                   *pk = rlx_extern_func_new(f->ctx, RLX_SLICE("k"));
    assert_true(
        rlx_builder_begin_function(f->b, params, 1, false, NULL, RLX_SLICE("main"), NULL));
    const rlx_function *fn =
        end(f, invoke(f, pf, invoke(f, pg, x, NULL), invoke(f, ph, invoke(f, pk, x, NULL), NULL)),
            NULL);
    f->text.len = 0;
    dump_seq(f, fn->body);
    const char *g = strstr(f->text.data, "gv = "), *k = strstr(f->text.data, "gv1 = "),
               *h = strstr(f->text.data, "gv2 = ");
    assert_true(g && k && h && g < k && k < h);
    assert_non_null(strstr(g, "\"g\""));
    assert_non_null(strstr(k, "\"k\""));
}

static void test_sequences_are_flattened(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    const rlx_var *a, *b, *c;
    assert_true(begin(f, &x, 1));
    const rlx_binding *ba = bind(f, "a", op2(f, "exp", x, NULL), &a),
                      *bb = bind(f, "b", op2(f, "sin", &a->node, NULL), &b);
    const rlx_expr *y =
        emit_as(f, seq(f, false, ba, bb, op2(f, "add", &a->node, &b->node)), "y", NULL, false);
    expect_info(f, y, "Tensor[n](float32)");
    const rlx_binding *bc = bind(f, "c", op2(f, "exp", y, NULL), &c);
    const rlx_expr *z = emit_as(f, seq(f, true, bc, NULL, &c->node), "z", NULL, false);
    expect_body(f, end(f, z, NULL),
                "{a = exp(x); b = sin(a); y = add(a, b)} [c = exp(y)] {z = c} z");
    expect_silence(f);
}

static void test_no_ordinary_block_in_dataflow(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    const rlx_var *a;
    assert_true(begin(f, &x, 1));
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    const rlx_binding *ba = bind(f, "a", op2(f, "exp", x, NULL), &a);
    assert_null(emit(f, seq(f, false, ba, NULL, &a->node)));
    expect_report(f, "NF07", ERROR, "ordinary block inside a dataflow block");
    assert_non_null(emit(f, seq(f, true, ba, NULL, &a->node)));
    assert_true(rlx_builder_end_block(f->b));
    expect_silence(f);
}

static void test_blocks_are_joined(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    assert_true(begin(f, &x, 1));
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    assert_true(rlx_builder_in_dataflow(f->b));
    const rlx_expr *a = emit_as(f, op2(f, "exp", op2(f, "sin", x, NULL), NULL), NULL, NULL, true);
    assert_true(rlx_builder_end_block(f->b));
    assert_true(rlx_builder_begin_block(f->b, false, 0));
    assert_true(rlx_builder_end_block(f->b));
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    const rlx_expr *b = emit_as(f, op2(f, "sin", a, NULL), "b", NULL, true);
    assert_true(rlx_builder_end_block(f->b));
    assert_true(rlx_builder_begin_block(f->b, true, 0)); /* empty: vanishes */
    assert_true(rlx_builder_end_block(f->b));
    assert_false(rlx_builder_in_dataflow(f->b));
    const rlx_expr *c = emit(f, op2(f, "exp", b, NULL));
    expect_body(f, end(f, c, NULL),
                "[lv := sin(x); gv = exp(lv); b = sin(gv)] {gv1 = exp(b)} gv1");
}

static void test_empty_body_and_leaf(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    assert_true(begin(f, &x, 1));
    expect_body(f, end(f, x, NULL), "x");
    assert_true(begin(f, &x, 1));
    expect_body(f, end(f, op2(f, "exp", x, NULL), NULL), "{gv = exp(x)} gv");
}

static void test_call_tir_arguments(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    const rlx_global_var *k = rlx_module_builder_declare(
        f->mb, RLX_SLICE("k"),
        info(f, "impure Func(Tensor[a](float32), Tensor[a](float32) -> Tuple())"), 0);
    const rlx_sinfo *out = info(f, "Tensor[n](float32)");
    for (int keep = 0; keep < 2; keep++) {
        rlx_builder_options options = { .keep_op_form = keep };
        rlx_builder *mine = rlx_builder_create(f->ctx, rlx_module_builder_env(f->mb), &options);
        assert_true(rlx_builder_begin_function(mine, &x, 1, true, NULL, RLX_SLICE("main"), NULL));
        rlx_emit how = { .name = rlx_string_z(f->ctx, "t"), .number = -1 };
        const rlx_expr *fields[] = { x };
        const rlx_var *t = rlx_builder_emit(mine, rlx_tuple_new(f->ctx, fields, 1, 0), &how);
        const rlx_expr *args[] = { &k->node, &t->node };
        const rlx_expr *call = rlx_call_op_sinfo(f->ctx, rlx_op_find(RLX_SLICE("call_tir")), args,
                                                 2, &out, 1, NULL, 0);
        const rlx_function *fn = rlx_builder_end_function(mine, call, NULL, NULL, 0);
        if (!fn)
            fail_msg("%s", f->ctx->diags.last->message);
        f->text.len = 0;
        dump_seq(f, fn->body);
        assert_non_null(strstr(f->text.data, keep ? ", t)" : ", (x))"));
        rlx_builder_free(mine);
    }
}

/* --- annotations and casts --- */

static void test_annotations(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n, 4](float32)");
    assert_true(begin(f, &x, 1));
    const rlx_expr *e = op2(f, "exp", x, NULL);
    /* a looser one hides */
    expect_info(f, emit_as(f, e, "y", "Tensor(2, float32)", false), "Tensor(2, float32)");
    /* not of a leaf */
    expect_info(f, emit_as(f, x, "y", "Tensor", false), "Tensor[n, 4](float32)");
    expect_silence(f);
    expect_info(f, emit_as(f, e, "y", "Tensor[8, 4](float32)", false), "Tensor[8, 4](float32)");
    expect_report(f, "TY01", WARNING, "dimension 0 is n, expected 8");
    const rlx_var *open = rlx_as_var(emit_as(f, e, "y", "Tensor", false));
    expect_info(f, emit_as(f, op2(f, "exp", &open->node, NULL), "z", "Tensor(2, float32)", false),
                "Tensor(2, float32)");
    expect_report(f, "TY01", WARNING, "its annotation says R.Tensor(dtype=\"float32\", ndim=2)");
    assert_null(emit_as(f, e, "y", "Tensor[n, 4](int32)", false));
    expect_report(f, "TY01", ERROR,
                  "value of y is R.Tensor((n, 4), dtype=\"float32\") but its annotation says "
                  "R.Tensor((n, 4), dtype=\"int32\"): dtype is float32, expected int32");
    assert_null(emit_as(f, e, "y", "Tensor[0 - 1, 4](float32)", false));
    expect_report(f, "TY15", ERROR, "dimension 0 is -1");
    const rlx_expr *shape = variable(f, "s", "Tensor");
    rlx_emit how = { .number = -1,
                     .annotation = rlx_tensor_info(f->ctx, shape, RELAX_FLOAT32, 2, NULL) };
    assert_null(rlx_builder_emit(f->b, e, &how));
    expect_report(f, "TY14", ERROR, "shape variable s of a tensor annotation is R.Tensor");
}

static void test_strict_annotations(void **state)
{
    fixture *f = *state;
    rlx_builder_options strict = { .strict_annotations = true }, quiet = { .quiet_values = true };
    const rlx_expr *x = variable(f, "x", "Tensor[n, 4](float32)");
    rlx_emit how = { .number = -1, .annotation = info(f, "Tensor[8, 4](float32)") };
    rlx_builder *b = rlx_builder_create(f->ctx, NULL, &strict);
    assert_true(rlx_builder_begin_function(b, &x, 1, true, NULL, RLX_SLICE("main"), NULL));
    assert_null(rlx_builder_emit(b, op2(f, "exp", x, NULL), &how));
    expect_report(f, "TY01", ERROR, "dimension 0");
    rlx_builder_free(b);
    b = rlx_builder_create(f->ctx, NULL, &quiet);
    assert_true(rlx_builder_begin_function(b, &x, 1, true, NULL, RLX_SLICE("main"), NULL));
    assert_non_null(rlx_builder_emit(b, op2(f, "exp", x, NULL), &how));
    expect_silence(f);
    rlx_builder_free(b);
}

static void test_match_casts(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor(2, float32)");
    assert_true(begin(f, &x, 1));
    const rlx_prim_var *k = prim_name(&f->names, "k");
    assert_false(rlx_scope_has(rlx_builder_scope(f->b), k));
    const rlx_expr *y = (const rlx_expr *)rlx_builder_emit_match(
        f->b, x, info(f, "Tensor[k, 2 * k](float32)"), NULL, false);
    expect_info(f, y, "Tensor[k, 2 * k](float32)");
    assert_true(rlx_scope_has(rlx_builder_scope(f->b), k));
    assert_int_equal(rlx_prove_compare(f->ctx, rlx_builder_scope(f->b), RLX_NODE_GE, &k->node,
                                       rlx_int64(f->ctx, 0)),
                     RLX_TRUE);
    assert_null(rlx_builder_lookup(f->b, rlx_as_var(y)));
    assert_non_null(rlx_builder_emit_match(f->b, x, info(f, "Tensor(2, float32)"), NULL, true));
    expect_silence(f);
    assert_non_null(rlx_builder_emit_match(f->b, x, info(f, "Tensor(3, float32)"), NULL, false));
    expect_report(f, "TY09", WARNING, "this cast always fails: x: rank is 2, expected 3");
    rlx_emit how = { .name = rlx_string_z(f->ctx, "z"),
                     .number = -1,
                     .annotation = info(f, "Tensor[4](float32)") };
    assert_non_null(rlx_builder_emit_match(f->b, variable(f, "o", "Object"),
                                           info(f, "Tensor(1, float32)"), &how, false));
    expect_report(
        f, "TY11", WARNING,
        "annotation of z is not implied by the cast to R.Tensor(dtype=\"float32\", ndim=1)");
    assert_null(
        rlx_builder_emit_match(f->b, variable(f, "o", "Object"), info(f, "Tensor"), &how, false));
    expect_report(f, "TY11", ERROR, "annotation of z");
    expect_body(f, end(f, y, NULL), "{gv = cast x; cast x; gv1 = cast x; z = cast o} gv");
}

/* A failed emit leaves everything as it was. */
static void test_failed_emit(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n, 4](float32)"), *s = variable(f, "s", "Shape"),
                   *params[] = { x, s };
    assert_true(begin(f, params, 2));
    assert_null(emit(f, op2(f, "add", op2(f, "exp", x, NULL), op2(f, "exp", s, NULL))));
    assert_null(end(f, op2(f, "exp", x, NULL), NULL)); /* an error stands */
    expect_report(f, "TY08", ERROR, "exp");
    rlx_diags_clear(&f->ctx->diags);
    assert_true(begin(f, params, 2));
    assert_null(emit(f, op2(f, "add", op2(f, "exp", x, NULL), op2(f, "exp", s, NULL))));
    rlx_diags_clear(&f->ctx->diags);
    f->ctx->diags.num_errors = 0;
    expect_body(f, end(f, op2(f, "exp", x, NULL), NULL), "{gv = exp(x)} gv");
}

/* --- calls --- */

static void test_calls_of_functions(void **state)
{
    fixture *f = *state;
    const rlx_global_var *g = rlx_module_builder_declare(
        f->mb, RLX_SLICE("f"),
        info(f, "Func(Tensor[i, j](float32), Tensor[j](float32) -> Tensor[i](float32))"), 0);
    const rlx_expr *a = variable(f, "a", "Tensor[k, 8](float32)"),
                   *b = variable(f, "b", "Tensor[8](float32)"),
                   *c = variable(f, "c", "Tensor[9](float32)"),
                   *d = variable(f, "d", "Tensor(1, float32)"),
                   *e = variable(f, "e", "Tensor(float32)"), *o = variable(f, "o", "Object"),
                   *p = variable(f, "p", "Func(Tensor(1, float32) -> Tensor[k, q](float32))");
    const rlx_expr *params[] = { a, b, c, d, e, o, p }, *callee = &g->node;
    assert_true(begin(f, params, 7));
    expect_info(f, emit(f, invoke(f, callee, a, b)), "Tensor[k](float32)");
    expect_silence(f);
    assert_null(emit(f, invoke(f, callee, a, c)));
    expect_report(f, "TY12", ERROR, "j would be both 8 (argument 1) and 9 (argument 2)");
    expect_info(f, emit(f, invoke(f, callee, a, d)), "Tensor[k](float32)");
    expect_report(f, "TY04", WARNING,
                  "argument 2 of f is R.Tensor(dtype=\"float32\", ndim=1), expected "
                  "R.Tensor((8,), dtype=\"float32\")");
    assert_null(emit(f, invoke(f, callee, a, e)));
    expect_report(f, "TY04", ERROR, "rank is unknown, expected 1");
    assert_null(emit(f, invoke(f, callee, a, NULL)));
    expect_report(f, "TY03", ERROR, "f takes 2 arguments, found 1");
    assert_null(emit(f, invoke(f, o, a, NULL)));
    expect_report(f, "TY02", ERROR, "callee is R.Object, not a function");
    assert_null(emit(f, invoke(f, a, a, NULL)));
    expect_report(f, "TY02", ERROR,
                  "callee is R.Tensor((k, 8), dtype=\"float32\"), not a function");
    /* q has no counterpart here */
    expect_info(f, emit(f, invoke(f, p, b, NULL)), "Tensor(2, float32)");
    const rlx_global_var *lost = rlx_global_var_new(f->ctx, rlx_string_z(f->ctx, "lost"), 0);
    assert_null(emit(f, invoke(f, &lost->node, a, NULL)));
    expect_report(f, "WX01", ERROR, "function lost does not exist");
    assert_null(emit(f, op2(f, "add", rlx_op_node(f->ctx, rlx_op_find(RLX_SLICE("add"))), a)));
    expect_report(f, "WF09", ERROR, "operator add is used as a value");
}

static void test_packed_calls(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor"),
                   *g = rlx_extern_func_new(f->ctx, RLX_SLICE("g"));
    assert_true(rlx_builder_begin_function(f->b, &x, 1, false, NULL, RLX_SLICE("main"), NULL));
    const rlx_sinfo *infos[] = { info(f, "Tensor[4](float32)"), info(f, "Shape") };
    expect_info(f, emit(f, invoke(f, g, x, NULL)), "Object");
    expect_info(f, emit(f, rlx_call_new(f->ctx, g, &x, 1, infos, 1, NULL, 0)),
                "Tensor[4](float32)");
    expect_info(f, emit(f, rlx_call_new(f->ctx, g, &x, 1, infos, 2, NULL, 0)),
                "Tuple(Tensor[4](float32), Shape)");
    expect_info(f, emit(f, invoke(f, variable(f, "c", "Callable(Shape)"), x, NULL)), "Shape");
    expect_info(f, emit(f, invoke(f, variable(f, "c", "Callable"), x, NULL)), "Object");
    expect_silence(f);
}

static void test_purity(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor"),
                   *g = rlx_extern_func_new(f->ctx, RLX_SLICE("g"));
    static const struct { bool pure, force, dataflow; const char *code;
    } rows[] = {
        { true, false, false, "PU02" }, { true, true, false, NULL },
        { false, false, false, NULL },  { false, false, true, "PU01" },
        { true, true, true, "PU01" },
    };
    const rlx_attr *forced = rlx_attrs_with(f->ctx, NULL, "relax.force_pure",
                                            rlx_attr_bool_new(f->ctx, true));
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        assert_true(rlx_builder_begin_function(f->b, &x, 1, rows[i].pure,
                                               rows[i].force ? forced : NULL, RLX_SLICE("main"),
                                               NULL));
        if (rows[i].dataflow)
            assert_true(rlx_builder_begin_block(f->b, true, 0));
        assert_non_null(emit(f, invoke(f, g, x, NULL))); /* derivation goes on */
        if (rows[i].code)
            expect_report(f, rows[i].code, ERROR, "impure call to");
        else
            expect_silence(f);
        assert_non_null(emit(f, op2(f, "exp", x, NULL)));
        expect_silence(f);
        rlx_builder_reset(f->b);
        f->ctx->diags.num_errors = 0;
    }
}

static void test_tuple_items(void **state)
{
    fixture *f = *state;
    const rlx_expr *t = variable(f, "t", "Tuple(Tensor[n](float32), Shape)"),
                   *o = variable(f, "o", "Object"), *params[] = { t, o };
    assert_true(begin(f, params, 2));
    expect_info(f, emit(f, rlx_tuple_get_item_new(f->ctx, t, 1, 0)), "Shape");
    assert_null(emit(f, rlx_tuple_get_item_new(f->ctx, t, 2, 0)));
    expect_report(f, "TY05", ERROR, "index 2 is out of range for a tuple of 2 fields");
    assert_null(emit(f, rlx_tuple_get_item_new(f->ctx, o, 0, 0)));
    expect_report(f, "TY05", ERROR, "cannot index R.Object");
}

/* --- branches --- */

static const rlx_expr *branch(fixture *f, const rlx_expr *result)
{
    assert_true(rlx_builder_begin_branch(f->b));
    const rlx_expr *s = rlx_builder_end_branch(f->b, result, 0);
    if (!s)
        fail_msg("%s", f->ctx->diags.last ? f->ctx->diags.last->message : "no branch");
    return s;
}

static void test_if(void **state)
{
    fixture *f = *state;
    const rlx_expr *c = variable(f, "c", "Tensor[](bool)"),
                   *x = variable(f, "x", "Tensor[n, 4](float32)"),
                   *y = variable(f, "y", "Tensor[m, 4](float32)"), *params[] = { c, x, y };
    assert_true(begin(f, params, 3));
    const rlx_expr *r =
        emit_as(f, rlx_if_new(f->ctx, c, branch(f, op2(f, "exp", x, NULL)), branch(f, y), 0), "r",
                NULL, false);
    expect_info(f, r, "Tensor(2, float32)");
    /* nested, not normal yet: branches are wrapped and normalised */
    const rlx_expr *nested =
        rlx_if_new(f->ctx, c, op2(f, "exp", op2(f, "sin", x, NULL), NULL), x, 0);
    const rlx_expr *q = emit_as(f, op2(f, "exp", nested, NULL), "q", NULL, false);
    expect_info(f, q, "Tensor[n, 4](float32)");
    expect_body(f, end(f, q, NULL),
                "{r = if c then {gv = exp(x)} gv else y; gv3 = if c then {gv1 = sin(x); gv2 = "
                "exp(gv1)} gv2 else x; q = exp(gv3)} q");
    expect_silence(f);
}

/* What a branch binds is not known outside. */
static void test_branch_results_are_erased(void **state)
{
    fixture *f = *state;
    const rlx_expr *c = variable(f, "c", "Tensor[](bool)"),
                   *x = variable(f, "x", "Tensor(1, float32)"), *params[] = { c, x };
    const rlx_sinfo *target = info(f, "Tensor[k](float32)");
    assert_true(begin(f, params, 2));
    const rlx_expr *sides[2];
    for (int i = 0; i < 2; i++) {
        assert_true(rlx_builder_begin_branch(f->b));
        const rlx_var *v = rlx_builder_emit_match(f->b, x, target, NULL, false);
        sides[i] = rlx_builder_end_branch(f->b, &v->node, 0);
        assert_false(rlx_scope_has(rlx_builder_scope(f->b), prim_name(&f->names, "k")));
    }
    expect_info(f, emit(f, rlx_if_new(f->ctx, c, sides[0], sides[1], 0)), "Tensor(1, float32)");
    expect_silence(f);
}

static void test_conditions(void **state)
{
    fixture *f = *state;
    static const struct { const char *cond; int severity;
    } rows[] = {
        { "Tensor[](bool)", -1 },     { "Prim(bool)", -1 },     { "Tensor(bool)", WARNING },
        { "Tensor", WARNING },        { "Object", WARNING },    { "Tensor[](int32)", ERROR },
        { "Tensor[1](bool)", ERROR }, { "Prim(int64)", ERROR }, { "Shape", ERROR },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        const rlx_expr *c = variable(f, "c", rows[i].cond), *x = variable(f, "x", "Tensor"),
                       *params[] = { c, x };
        assert_true(begin(f, params, 2));
        const rlx_expr *r = emit(f, rlx_if_new(f->ctx, c, branch(f, x), branch(f, x), 0));
        assert_int_equal(r == NULL, rows[i].severity == ERROR);
        if (rows[i].severity < 0)
            expect_silence(f);
        else
            expect_report(f, "TY06", rows[i].severity, "expected a Boolean scalar");
        rlx_builder_reset(f->b);
    }
    const rlx_expr *c = variable(f, "c", "Tensor[](bool)");
    assert_true(begin(f, &c, 1));
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    assert_null(emit(f, rlx_if_new(f->ctx, c, c, c, 0)));
    expect_report(f, "WF07", ERROR, "if inside a dataflow block");
}

/* --- functions --- */

static void test_results(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n, 4](float32)");
    assert_true(begin(f, &x, 1));
    const rlx_function *fn = end(f, op2(f, "exp", x, NULL), NULL);
    assert_false(fn->ret_stated);
    assert_ptr_equal(fn->ret_sinfo, info(f, "Tensor[n, 4](float32)"));
    assert_int_equal(rlx_as_func_sinfo(fn->sinfo)->num_binders, 1);
    assert_true(begin(f, &x, 1)); /* a loose statement is tightened for callers only */
    fn = end(f, op2(f, "exp", x, NULL), "Tensor");
    assert_true(fn->ret_stated);
    assert_ptr_equal(fn->ret_sinfo, info(f, "Tensor"));
    assert_ptr_equal(rlx_as_func_sinfo(fn->sinfo)->ret, info(f, "Tensor[n, 4](float32)"));
    assert_true(begin(f, &x, 1));
    fn = end(f, op2(f, "exp", x, NULL), "Tensor[8, 4](float32)");
    expect_report(f, "TY07", WARNING,
                  "result of main is R.Tensor((n, 4), dtype=\"float32\"), its annotation says "
                  "R.Tensor((8, 4), dtype=\"float32\")");
    assert_ptr_equal(rlx_as_func_sinfo(fn->sinfo)->ret, info(f, "Tensor[8, 4](float32)"));
    assert_true(begin(f, &x, 1));
    assert_null(end(f, op2(f, "exp", x, NULL), "Tensor(int32)"));
    expect_report(f, "TY07", ERROR, "dtype is float32, expected int32");
    /* sizes bound in the body do not leave it */
    assert_true(begin(f, &x, 1));
    const rlx_var *y =
        rlx_builder_emit_match(f->b, x, info(f, "Tensor[k, 4](float32)"), NULL, false);
    fn = end(f, &y->node, NULL);
    assert_ptr_equal(fn->ret_sinfo, info(f, "Tensor(2, float32)"));
}

static void test_recursion(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    const rlx_global_var *g = rlx_module_builder_declare(
        f->mb, RLX_SLICE("loop"), info(f, "Func(Tensor[i](float32) -> Tensor[i](float32))"), 0);
    assert_true(rlx_builder_begin_function(f->b, &x, 1, true, NULL, RLX_SLICE("loop"), &g->node));
    expect_info(f, emit(f, invoke(f, &g->node, x, NULL)), "Tensor[n](float32)");
    assert_non_null(end(f, x, "Tensor[n](float32)"));
    const rlx_expr *self = variable(f, "self", NULL);
    assert_true(rlx_builder_begin_function(f->b, &x, 1, true, NULL, RLX_SLICE("self"), self));
    expect_info(f, emit(f, invoke(f, self, x, NULL)), "Object");
    expect_silence(f);
}

static void test_local_functions(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)"),
                   *y = variable(f, "y", "Tensor[n, i](float32)"),
                   *z = variable(f, "z", "Tensor[n, 3](float32)"), *params[] = { x, z };
    assert_true(begin(f, params, 2));
    assert_true(rlx_builder_begin_function(f->b, &y, 1, true, NULL, RLX_SLICE("g"), NULL));
    assert_true(rlx_scope_has(rlx_builder_scope(f->b), prim_name(&f->names, "n"))); /* captured */
    const rlx_expr *sum = emit(f, op2(f, "add", y, y));
    const rlx_function *g = end(f, sum, NULL);
    assert_non_null(g);
    const rlx_func_sinfo *s = rlx_as_func_sinfo(g->sinfo);
    assert_int_equal(s->num_binders, 1); /* i, not the n from outside */
    const rlx_expr *gv = emit_as(f, &g->node, "g", NULL, false);
    expect_info(f, emit(f, invoke(f, gv, z, NULL)), "Tensor[n, 3](float32)");
    /* as an operand a literal is bound first */
    const rlx_expr *w = variable(f, "w", "Tensor[i](float32)");
    const rlx_function *lit =
        rlx_function_new(f->ctx, &w, 1, op2(f, "exp", w, NULL), NULL, false, true, NULL, NULL, 0);
    expect_info(f, emit(f, invoke(f, &lit->node, x, NULL)), "Tensor[n](float32)");
    expect_body(f, end(f, x, NULL),
                "{g = fun(y) {gv = add(y, y)} gv; gv1 = g(z); gv3 = fun(w) {gv2 = exp(w)} gv2; "
                "gv4 = gv3(x)} x");
    expect_silence(f);
}

/* What mentions a dataflow variable loses it at the end of the block, its known sizes stay. */
static void test_dataflow_variables_leave(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    assert_true(begin(f, &x, 1));
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    const rlx_prim *dims[] = { &prim_name(&f->names, "n")->node };
    const rlx_expr *s = emit(f, rlx_shape_new(f->ctx, dims, 1));
    rlx_emit how = { .number = -1,
                     .annotation = rlx_tensor_info(f->ctx, s, RELAX_FLOAT32, 1, NULL),
                     .output = true };
    const rlx_expr *y = (const rlx_expr *)rlx_builder_emit(f->b, op2(f, "exp", x, NULL), &how);
    assert_true(rlx_builder_end_block(f->b));
    expect_info(f, y, "Tensor[n](float32)");
    expect_silence(f);
}

static void test_wrong_use(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor");
    assert_null(emit(f, x));
    expect_report(f, "OP09", ERROR, "outside of a function");
    assert_false(rlx_builder_begin_branch(f->b));
    expect_report(f, "OP09", ERROR, "outside of a function");
    assert_true(begin(f, &x, 1));
    assert_false(rlx_builder_end_block(f->b));
    expect_report(f, "OP09", ERROR, "a block ends that did not begin");
    assert_null(emit_as(f, x, NULL, NULL, true));
    expect_report(f, "OP09", ERROR, "an output is emitted outside a dataflow block");
    const rlx_var *d =
        rlx_var_new(f->ctx, true, rlx_string_z(f->ctx, "d"), -1, info(f, "Tensor"), 0);
    assert_false(rlx_builder_emit_binding(f->b, rlx_var_binding_new(f->ctx, d, x, 0)));
    expect_report(f, "WF01", ERROR, "bound outside a dataflow block");
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    assert_true(rlx_builder_emit_binding(f->b, rlx_var_binding_new(f->ctx, d, x, 0)));
    assert_ptr_equal(rlx_builder_lookup(f->b, d), x);
    assert_null(end(f, x, NULL));
    expect_report(f, "OP09", ERROR, "a dataflow block is still open");
    assert_null(rlx_builder_emit(f->b, NULL, NULL));
}

/* A chain of operands and a nest of branches deeper than any C stack. */
static void test_depth(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)"),
                   *c = variable(f, "c", "Tensor[](bool)"), *params[] = { x, c }, *e = x, *t = x;
    for (int i = 0; i < 100000; i++)
        e = op2(f, "exp", e, NULL);
    for (int i = 0; i < 2000; i++)
        t = rlx_if_new(f->ctx, c, t, x, 0);
    assert_true(begin(f, params, 2));
    expect_info(f, emit(f, e), "Tensor[n](float32)");
    expect_info(f, emit(f, t), "Tensor[n](float32)");
    assert_non_null(end(f, x, NULL));
    expect_silence(f);
}

/* --- modules --- */

static const rlx_function *doubled(fixture *f, const char *name, const char *op)
{
    const rlx_expr *x = variable(f, name, "Tensor[4](float32)");
    rlx_builder *b = rlx_builder_create(f->ctx, NULL, NULL);
    assert_true(rlx_builder_begin_function(b, &x, 1, true, NULL, RLX_SLICE("f"), NULL));
    const rlx_function *fn = rlx_builder_end_function(b, op2(f, op, x, x), NULL, NULL, 0);
    rlx_builder_free(b);
    return fn;
}

static void test_module_builder(void **state)
{
    fixture *f = *state;
    const rlx_global_var *a =
        rlx_module_builder_add(f->mb, RLX_SLICE("f"), &doubled(f, "x", "add")->node);
    const rlx_global_var *b =
        rlx_module_builder_add(f->mb, RLX_SLICE("f"), &doubled(f, "y", "add")->node);
    const rlx_global_var *c =
        rlx_module_builder_add(f->mb, RLX_SLICE("f"), &doubled(f, "x", "multiply")->node);
    assert_non_null(a);
    assert_ptr_equal(a, b);
    assert_ptr_not_equal(a, c);
    assert_string_equal(a->name->data, "f");
    assert_string_equal(c->name->data, "f1");
    assert_null(rlx_module_builder_declare(f->mb, RLX_SLICE("f1"), NULL, 0));
    expect_report(f, "WX05", ERROR, "two functions are named f1");
    assert_ptr_equal(rlx_module_builder_lookup(f->mb, RLX_SLICE("f1")), c);
    const rlx_module *m = rlx_module_builder_finish(f->mb, 0);
    assert_int_equal(m->num_functions, 2);
    rlx_module_builder *again = rlx_module_builder_create(f->ctx, m);
    assert_ptr_equal(
        rlx_module_builder_add(again, RLX_SLICE("g"), &doubled(f, "z", "multiply")->node), c);
    assert_ptr_equal(rlx_module_builder_finish(again, 0), m);
    const rlx_global_var *open = rlx_module_builder_declare(again, RLX_SLICE("open"), NULL, 0);
    assert_null(rlx_module_builder_finish(again, 0));
    expect_report(f, "WX01", ERROR, "function open is declared but not defined");
    assert_true(rlx_module_builder_define(again, open, &doubled(f, "x", "add")->node));
    const rlx_module *n = rlx_module_builder_finish(again, 0);
    assert_int_equal(n->num_functions, 3);
    rlx_env env = rlx_module_env(n);
    assert_ptr_equal(env.global(env.user, open), rlx_as_function(n->functions[2])->sinfo);
    const rlx_global_var *absent =
        rlx_global_var_new(f->ctx, rlx_string_z(f->ctx, "absent"), RLX_NO_PLACE);
    assert_null(env.global(env.user, absent));
    rlx_module_builder_free(again);
}

/* --- mutator --- */

static const rlx_expr *keep_all(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                bool *replaced)
{
    return value;
}

/* exp(a) -> sin(cos(a)); a negative becomes its operand */
static const rlx_expr *rewrite_exp(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                                   bool *replaced)
{
    fixture *f = m->user;
    const rlx_call *c = rlx_as_call(value);
    const rlx_op *op = c ? rlx_as_op(c->op) : NULL;
    if (op && strcmp(op->row->short_name, "negative") == 0) {
        *replaced = true;
        return c->args[0];
    }
    if (!op || strcmp(op->row->short_name, "exp") != 0)
        return value;
    const rlx_expr *inner =
        (const rlx_expr *)rlx_builder_emit(m->builder, op2(f, "cos", c->args[0], NULL), NULL);
    return op2(f, "sin", inner, NULL);
}

/* Every tensor made int32. */
static const rlx_expr *retype(rlx_mutator *m, const rlx_binding *old, const rlx_expr *value,
                              bool *replaced)
{
    fixture *f = m->user;
    const rlx_call *c = rlx_as_call(value);
    if (!c || !rlx_as_op(c->op) || strcmp(rlx_as_op(c->op)->row->short_name, "exp") != 0)
        return value;
    const rlx_attr *key = rlx_attr_string_new(f->ctx, RLX_SLICE("dtype")),
                   *t = rlx_attr_dtype_new(f->ctx, RELAX_INT32);
    return rlx_call_op_z(f->ctx, "astype", c->args, 1, rlx_attrs_new(f->ctx, &key, &t, 1), 0);
}

static const rlx_function *sample(fixture *f)
{
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)"),
                   *c = variable(f, "c", "Tensor[](bool)"), *params[] = { x, c };
    assert_true(begin(f, params, 2));
    assert_true(rlx_builder_begin_block(f->b, true, 0));
    const rlx_expr *a = emit(f, op2(f, "negative", x, NULL));
    const rlx_expr *b = emit_as(f, op2(f, "exp", a, NULL), "b", NULL, true);
    assert_true(rlx_builder_end_block(f->b));
    const rlx_var *k = rlx_builder_emit_match(f->b, b, info(f, "Tensor[k](float32)"), NULL, false);
    assert_true(rlx_builder_begin_branch(f->b));
    const rlx_expr *t = rlx_builder_end_branch(f->b, op2(f, "add", &k->node, &k->node), 0);
    assert_true(rlx_builder_begin_branch(f->b));
    const rlx_expr *e = rlx_builder_end_branch(f->b, op2(f, "exp", &k->node, NULL), 0);
    const rlx_expr *r = emit_as(f, rlx_if_new(f->ctx, c, t, e, 0), "r", NULL, false);
    const rlx_expr *y = variable(f, "y", "Tensor[j](float32)");
    assert_true(rlx_builder_begin_function(f->b, &y, 1, true, NULL, RLX_SLICE("g"), NULL));
    const rlx_function *g = end(f, op2(f, "add", y, y), NULL);
    const rlx_expr *gv = emit_as(f, &g->node, "g", NULL, false);
    const rlx_function *fn = end(f, invoke(f, gv, r, NULL), NULL);
    expect_body(f, fn,
                "[lv := negative(x); b = exp(lv)] {gv = cast b; r = if c then {gv1 = add(gv, gv)} "
                "gv1 else {gv2 = exp(gv)} gv2; "
                "g = fun(y) {gv3 = add(y, y)} gv3; gv4 = g(r)} gv4");
    return fn;
}

static void test_mutator_keeps(void **state)
{
    fixture *f = *state;
    const rlx_function *fn = sample(f);
    rlx_mutator m;
    rlx_mutator_init(&m, f->ctx, NULL, f);
    assert_ptr_equal(rlx_mutate_function(&m, fn, NULL), fn);
    m.binding = keep_all;
    assert_ptr_equal(rlx_mutate_function(&m, fn, NULL), fn);
    m.rederive = true;
    assert_ptr_equal(rlx_mutate_function(&m, fn, NULL), fn);
    rlx_mutator_free(&m);
    expect_silence(f);
}

static void test_mutator_rewrites(void **state)
{
    fixture *f = *state;
    const rlx_function *fn = sample(f);
    rlx_mutator m;
    rlx_mutator_init(&m, f->ctx, NULL, f);
    m.binding = rewrite_exp;
    const rlx_function *out = rlx_mutate_function(&m, fn, NULL);
    expect_body(f, out,
                "[lv1 := cos(x); b = sin(lv1)] {gv = cast b; r = if c then {gv1 = add(gv, gv)} "
                "gv1 else {gv5 = cos(gv); gv2 = sin(gv5)} gv2; "
                "g = fun(y) {gv3 = add(y, y)} gv3; gv4 = g(r)} gv4");
    const rlx_seq_expr *before = rlx_as_seq_expr(fn->body), *after = rlx_as_seq_expr(out->body);
    const rlx_var *old_b =
        rlx_as_var(rlx_as_var_binding(rlx_as_block(before->blocks[0])->bindings[1])->var);
    /* same info, same variable */
    assert_ptr_equal(rlx_as_var_binding(rlx_as_block(after->blocks[0])->bindings[1])->var, old_b);
    /* untouched */
    assert_ptr_equal(rlx_as_block(after->blocks[1])->bindings[2],
                     rlx_as_block(before->blocks[1])->bindings[2]);
    m.binding = retype;
    out = rlx_mutate_function(&m, out, NULL);
    assert_ptr_equal(rlx_mutate_function(&m, out, NULL), out);
    rlx_mutator_free(&m);
    expect_silence(f);
}

static void test_mutator_retypes(void **state)
{
    fixture *f = *state;
    const rlx_expr *x = variable(f, "x", "Tensor[n](float32)");
    assert_true(begin(f, &x, 1));
    const rlx_expr *y = emit_as(f, op2(f, "exp", x, NULL), "y", NULL, false),
                   *z = emit_as(f, op2(f, "add", y, y), "z", NULL, false);
    const rlx_function *fn = end(f, tuple2(f, y, z), "Object");
    rlx_mutator m;
    rlx_mutator_init(&m, f->ctx, NULL, f);
    m.binding = retype;
    const rlx_function *out = rlx_mutate_function(&m, fn, NULL);
    expect_body(f, out, "{y = astype(x); z = add(y, y)} (y, z)");
    const rlx_tuple *result = rlx_as_tuple(rlx_as_seq_expr(out->body)->body);
    expect_info(f, result->fields[0], "Tensor[n](int32)");
    expect_info(f, result->fields[1], "Tensor[n](int32)");
    assert_ptr_not_equal(result->fields[0], y);
    assert_ptr_equal(out->ret_sinfo, info(f, "Object")); /* the statement stays */
    assert_ptr_equal(rlx_as_func_sinfo(out->sinfo)->ret,
                     info(f, "Tuple(Tensor[n](int32), Tensor[n](int32))"));
    rlx_mutator_free(&m);
    expect_silence(f);
}

/* --- every allocation failed in turn --- */

/* A function with nested operands, a branch, a cast, a call and a second pass over it. False:
 * something failed. */
static bool scenario(rlx_context *ctx)
{
    fixture f = { .ctx = ctx, .names = { .ctx = ctx } };
    bool ok = false;
    f.mb = rlx_module_builder_create(ctx, NULL);
    f.b = f.mb ? rlx_builder_create(ctx, rlx_module_builder_env(f.mb), NULL) : NULL;
    const rlx_prim *dims[] = { (const rlx_prim *)prim_name(&f.names, "n"), rlx_int64(ctx, 4) };
    const rlx_sinfo *s = rlx_tensor_info(ctx, rlx_shape_new(ctx, dims, 2), RELAX_FLOAT32, 2, NULL),
                    *ranked = rlx_tensor_info(ctx, NULL, RELAX_FLOAT32, 2, NULL);
    const rlx_string *name = rlx_string_z(ctx, "x");
    const rlx_expr *x = (const rlx_expr *)rlx_var_new(ctx, false, name, -1, s, 0);
    const rlx_expr *c = (const rlx_expr *)rlx_var_new(
                       ctx, false, name, -1, rlx_tensor_ints(ctx, NULL, 0, RELAX_BOOL), 0),
                   *params[] = { x, c };
    if (f.b && x && c &&
        rlx_builder_begin_function(f.b, params, 2, true, NULL, RLX_SLICE("main"), NULL) &&
        rlx_builder_begin_block(f.b, true, 0)) {
        rlx_emit how = { .number = -1, .output = true, .annotation = ranked };
        const rlx_expr *y = (const rlx_expr *)rlx_builder_emit(
            f.b, op2(&f, "add", op2(&f, "exp", x, NULL), x), &how);
        const rlx_expr *i = y && rlx_builder_end_block(f.b)
                                ? rlx_if_new(ctx, c, op2(&f, "exp", y, NULL), y, 0)
                                : NULL;
        const rlx_expr *r = (const rlx_expr *)rlx_builder_emit(f.b, i, NULL);
        const rlx_expr *m = (const rlx_expr *)rlx_builder_emit_match(f.b, r, s, NULL, false);
        const rlx_function *fn =
            m ? rlx_builder_end_function(f.b, tuple2(&f, m, op2(&f, "exp", r, NULL)), NULL, NULL,
                                         0)
              : NULL;
        const rlx_global_var *gv =
            fn ? rlx_module_builder_add(f.mb, RLX_SLICE("main"), &fn->node) : NULL;
        rlx_mutator mutator;
        rlx_mutator_init(&mutator, ctx, rlx_module_builder_env(f.mb), &f);
        mutator.binding = rewrite_exp;
        const rlx_function *out = gv ? rlx_mutate_function(&mutator, fn, gv) : NULL;
        ok = out && rlx_module_builder_define(f.mb, gv, &out->node) &&
             rlx_module_builder_finish(f.mb, 0);
        rlx_mutator_free(&mutator);
    }
    rlx_builder_free(f.b);
    rlx_module_builder_free(f.mb);
    return ok;
}

static void test_failing_allocations(void **state)
{
    long n = 0;
    bool done = false;
    for (; !done && n < 100000; n++) {
        long left = n;
        relax_allocator host = few_requests(&left);
        rlx_context *ctx = rlx_context_create(&host, 0);
        if (!ctx)
            continue;
        done = scenario(ctx);
        if (!done && rlx_error_count(ctx) == 0)
            fail_msg("allocation %ld failed and nobody said so", n);
        if (!done && ctx->diags.first && ctx->diags.first->code->name[0] != 'I')
            fail_msg("allocation %ld failed, and the message was: %s", n,
                     ctx->diags.first->message);
        assert_true(!done || rlx_error_count(ctx) == 0);
        rlx_context_release(ctx);
    }
    assert_true(done && n > 20);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        CASE(test_operands_are_bound_first),
        CASE(test_evaluation_order),
        CASE(test_sequences_are_flattened),
        CASE(test_no_ordinary_block_in_dataflow),
        CASE(test_blocks_are_joined),
        CASE(test_empty_body_and_leaf),
        CASE(test_call_tir_arguments),
        CASE(test_annotations),
        CASE(test_strict_annotations),
        CASE(test_match_casts),
        CASE(test_failed_emit),
        CASE(test_calls_of_functions),
        CASE(test_packed_calls),
        CASE(test_purity),
        CASE(test_tuple_items),
        CASE(test_if),
        CASE(test_branch_results_are_erased),
        CASE(test_conditions),
        CASE(test_results),
        CASE(test_recursion),
        CASE(test_local_functions),
        CASE(test_dataflow_variables_leave),
        CASE(test_wrong_use),
        CASE(test_depth),
        CASE(test_module_builder),
        CASE(test_mutator_keeps),
        CASE(test_mutator_rewrites),
        CASE(test_mutator_retypes),
        CASE(test_failing_allocations),
    };
    return cmocka_run_group_tests_name("sinfo/builder", tests, NULL, NULL);
}
