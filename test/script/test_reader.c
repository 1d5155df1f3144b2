/* test_reader.c: reading TVMScript: what comes out, what is reported, and that no text does
 * harm. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "op/op.h"
#include "script/read.h"
#include "script/reader.h"
#include "text_file.h"

typedef struct reading { rlx_context *ctx; rlx_parsed parsed; bool ok; } reading;

static reading read_bytes(const char *text, size_t len)
{
    reading r = { .ctx = rlx_context_create(NULL, 0) };
    rlx_parse_options options = { 0 };
    assert_non_null(r.ctx);
    r.ctx->ops = rlx_op_table_get();
    uint32_t source = rlx_diags_add_source(&r.ctx->diags, RLX_SLICE("t.py"), text, len);
    assert_int_not_equal(source, 0);
    r.ok = rlx_script_parse(r.ctx, source, &options, &r.parsed);
    return r;
}

static reading read_text(const char *text) { return read_bytes(text, strlen(text)); }
static void done(reading r) { rlx_context_release(r.ctx); }

static const rlx_function *function_of(reading r, const char *name)
{
    assert_true(r.ok);
    int64_t i = rlx_module_find(r.parsed.module, rlx_slice_z(name));
    assert_true(i >= 0);
    return rlx_as_function(r.parsed.module->functions[i]);
}

static const rlx_block *block_of(const rlx_function *f, size_t i)
{
    const rlx_seq_expr *s = rlx_as_seq_expr(f->body);
    assert_non_null(s);
    assert_true(i < s->num_blocks);
    return rlx_as_block(s->blocks[i]);
}

/* ---- what is read --------------------------------------------------------------------------- */

static void a_module_is_read(void **state)
{
    reading r = read_text(PROGRAM("a net"));
    assert_int_equal(r.ctx->diags.num_diags, 0);
    const rlx_function *f = function_of(r, "main");
    assert_false(r.parsed.standalone);
    assert_int_equal(f->num_params, 2);
    const rlx_seq_expr *body = rlx_as_seq_expr(f->body);
    assert_int_equal(body->num_blocks, 2);
    assert_int_equal(block_of(f, 0)->node.kind, RLX_NODE_DATAFLOW_BLOCK);
    /* the nested call has a binding of its own */
    assert_int_equal(block_of(f, 0)->num_bindings, 3);
    const rlx_var *b = rlx_as_var(rlx_as_var_binding(block_of(f, 0)->bindings[2])->var);
    assert_int_equal(b->node.kind, RLX_NODE_VAR); /* an output */
    assert_string_equal(b->name->data, "b");
    const rlx_if_expr *choice =
        rlx_as_if_expr(rlx_as_var_binding(block_of(f, 1)->bindings[1])->value);
    assert_non_null(choice);
    /* a branch that ends with a leaf has no binding for it, the other one a renamed one */
    const rlx_seq_expr *then = rlx_as_seq_expr(choice->true_branch),
                       *otherwise = rlx_as_seq_expr(choice->false_branch);
    assert_string_equal(rlx_as_var(then->body)->name->data, "c_then");
    assert_int_equal(otherwise->num_blocks, 0);
    done(r);
}

static void blocks_are_completed(void **state)
{
    reading r = read_text(PROGRAM("a net"));
    assert_true(r.ok);
    int64_t i = rlx_module_find(r.parsed.module, RLX_SLICE("twice"));
    const rlx_prim_func *f = rlx_as_prim_func(r.parsed.module->functions[i]);
    const rlx_block_realize *root = rlx_as_block_realize(f->body);
    assert_non_null(root);
    const rlx_for_stmt *loop = rlx_as_for_stmt(rlx_as_tir_block(root->block)->body);
    const rlx_tir_block *block = rlx_as_tir_block(rlx_as_block_realize(loop->body)->block);
    assert_int_equal(block->num_reads, 1);
    assert_int_equal(block->num_writes, 1);
    assert_null(rlx_attrs_get(f->attrs, "global_symbol"));
    assert_non_null(f->buffers[0]);
    done(r);
}

static void places_are_kept(void **state)
{
    reading r = read_text(PROGRAM("a net"));
    const rlx_function *f = function_of(r, "main");
    const rlx_var *x = rlx_as_var(f->params[0]);
    const char *program = PROGRAM("a net"), *at = strstr(program, "x: R.Tensor((\"n\", 8)");
    assert_int_equal(rlx_place_begin(x->place), at - program);
    assert_int_equal(x->num_sinfo_places, 3); /* the tensor and two dimensions */
    assert_int_equal(rlx_place_begin(x->sinfo_places[1]), strstr(at, "\"n\"") - program);
    const rlx_var_binding *b = rlx_as_var_binding(block_of(f, 0)->bindings[2]);
    at = strstr(program, "b: R.Tensor =");
    assert_int_equal(rlx_place_begin(b->place), at - program);
    assert_int_equal(rlx_place_len(b->place), strlen("b: R.Tensor = R.add(a, y)"));
    assert_int_equal(rlx_place_begin(rlx_place_of(b->value)), strstr(at, "R.add") - program);
    done(r);
}

/* ---- spacing -------------------------------------------------------------------------------- */

/* One more blank behind every comma and opening bracket: not the usual form any more. to: where
 * each byte went. */
static void spread(const char *text, char *out, uint32_t *to)
{
    size_t n = 0;
    for (size_t i = 0; text[i]; i++) {
        to[i] = (uint32_t)n;
        out[n++] = text[i];
        if (strchr(",([", text[i]))
            out[n++] = ' ';
    }
    out[n] = 0;
}

typedef struct place_list { rlx_place at[2000]; size_t len; } place_list;

static void list_places(place_list *l, const rlx_place *places, size_t count)
{
    for (size_t i = 0; i < count && l->len < RLX_COUNT(l->at); i++)
        l->at[l->len++] = places[i];
}

static enum rlx_step list_node(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    const rlx_var *v = rlx_as_var(n);
    rlx_place place = rlx_place_of(n);
    if (place)
        list_places(user, &place, 1);
    if (v)
        list_places(user, v->sinfo_places, v->num_sinfo_places);
    return RLX_STEP_ON;
}

static place_list places_of(reading r)
{
    place_list l = { .len = 0 };
    rlx_walker w = { .enter = list_node, .user = &l, .annotations = true, .unique = true };
    rlx_walk(&r.ctx->memory, &r.parsed.module->node, &w, NULL);
    return l;
}

static void spacing_changes_places_only(void **state)
{
    static char text[4096];
    static uint32_t to[2048];
    assert_true(strlen(PROGRAM("usual")) < RLX_COUNT(to));
    bool out_of_memory = false;
    spread(PROGRAM("usual"), text, to);
    reading r = read_text(PROGRAM("usual")), s = read_text(text);
    assert_true(r.ok && s.ok);
    assert_int_equal(r.ctx->diags.num_diags + s.ctx->diags.num_diags, 0);
    assert_true(rlx_equal(&r.ctx->memory, &r.parsed.module->node, &s.parsed.module->node, false,
                          &out_of_memory));
    place_list a = places_of(r), b = places_of(s);
    assert_true(a.len > 60);
    assert_int_equal(a.len, b.len);
    for (size_t i = 0; i < a.len; i++) {
        uint32_t begin = rlx_place_begin(a.at[i]), len = rlx_place_len(a.at[i]);
        assert_int_equal(rlx_place_begin(b.at[i]), to[begin]);
        if (len)
            assert_int_equal(rlx_place_begin(b.at[i]) + rlx_place_len(b.at[i]),
                             to[begin + len - 1] + 1);
    }
    done(r);
    done(s);
}

/* Everything the text binds to n is one variable per function. */
static void shape_variables_are_per_function(void **state)
{
    reading r = read_text(PROGRAM("shape variables are per function"));
    const rlx_function *f = function_of(r, "f"), *g = function_of(r, "g");
    const rlx_tensor_sinfo *fy = rlx_as_tensor_sinfo(rlx_as_var(f->params[1])->sinfo),
                           *gy = rlx_as_tensor_sinfo(rlx_as_var(g->params[0])->sinfo);
    const rlx_match_cast *cast = rlx_as_match_cast(block_of(f, 0)->bindings[0]);
    const rlx_prim *n = rlx_as_shape_expr(fy->shape)->values[0];
    assert_ptr_equal(rlx_as_shape_expr(rlx_as_tensor_sinfo(cast->sinfo)->shape)->values[0], n);
    assert_ptr_not_equal(rlx_as_shape_expr(gy->shape)->values[0], n);
    assert_false(r.parsed.standalone);
    done(r);
}

static void several_units_and_spellings(void **state)
{
    static const char *const texts[] = {
        "@R.func\ndef f(x: R.Tensor[(n, 4), \"f32\"]):\n    return x\n",
        "@R.function\ndef f(x: R.Any) -> R.Any:\n    return x\n",
        "= a private function and its caller",
        "@R.function\ndef f(x: R.Tensor((2,), \"float32\")): return R.dot(x, x)\n",
        "\xef\xbb\xbf@R.function\r\ndef f(x: R.Object):\r\n    return x\r\n",
        "= match_shape",
        "@R.function\ndef f(x: R.Object):\n\treturn x",
        "= sblock",
    };
    for (size_t i = 0; i < RLX_COUNT(texts); i++) {
        reading r = read_text(PROGRAM_CELL(texts[i]));
        assert_true(r.ok);
        assert_int_equal(rlx_error_count(r.ctx), 0);
        done(r);
    }
}

static void one_annotation(void **state)
{
    rlx_context *c = rlx_context_create(NULL, 0);
    c->ops = rlx_op_table_get();
    const rlx_prim_var *n = rlx_prim_var_new(c, rlx_string_z(c, "n"), RELAX_INT64, RLX_NO_PLACE);
    static const char sinfo[] = "R.Tensor((n, 4), \"float32\")", prim[] = "R.Prim(value=n * 2 + 1)",
                      bad[] = "R.Tensor((n, 4), \"floot32\")";
    uint32_t a = rlx_diags_add_source(&c->diags, RLX_SLICE("a"), sinfo, sizeof sinfo - 1),
             b = rlx_diags_add_source(&c->diags, RLX_SLICE("b"), prim, sizeof prim - 1);
    uint32_t d = rlx_diags_add_source(&c->diags, RLX_SLICE("d"), bad, sizeof bad - 1);
    const rlx_prim *dims[] = { &n->node, rlx_int64(c, 4) };
    assert_ptr_equal(rlx_script_parse_sinfo(c, a, &n, 1),
                     rlx_tensor_info(c, rlx_shape_new(c, dims, 2), RELAX_FLOAT32, -1, NULL));
    const rlx_prim *want =
        rlx_binary_new(c, RLX_NODE_ADD, rlx_binary_new(c, RLX_NODE_MUL, &n->node, rlx_int64(c, 2)),
                       rlx_int64(c, 1));
    assert_ptr_equal(rlx_script_parse_sinfo(c, b, &n, 1), rlx_prim_info(c, RELAX_INT64, want));
    assert_int_equal(rlx_error_count(c), 0);
    assert_null(rlx_script_parse_sinfo(c, d, &n, 1));
    assert_int_equal(rlx_error_count(c), 1);
    assert_null(rlx_script_parse_sinfo(c, b, NULL, 0));
    assert_int_equal(rlx_error_count(c), 2);
    rlx_context_release(c);
}

/* ---- what is reported ----------------------------------------------------------------------- */

#define R_FUNC(body) \
    "@R.function\ndef f(x: R.Tensor((\"n\",), \"float32\"), c: R.Tensor((), \"bool\")):\n" body
#define T_FUNC(body) "@T.prim_func\ndef f(A: T.Buffer((4, 4), \"float32\"), n: T.int32):\n" body

/* text, code and line of each error (0: any further ones are not looked at) */
static const struct {
    const char *text;
    struct {
        const char *code;
        uint32_t line;
    } want[3];
} mistakes[] = {
    { "", { { "PA33", 1 } } },
    { "# nothing\n", { { "PA33", 1 } } },
    { "@R.function\ndef f(x: R.Object):\n    return x\n\xff\n", { { "PA07", 4 } } },
    { "@R.function\ndef f(x: R.Object):\n    return x ?\n", { { "PA01", 3 } } },
    { R_FUNC("    y = R.exp(x\n    return y\n"), { { "PA03", 3 } } },
    { R_FUNC("    y = R.exp(x))\n    return x\n"), { { "PA03", 3 } } },
    { R_FUNC("    y = R.exp[x)\n    return x\n"), { { "PA03", 3 } } },
    { "= the rest of an open line",
      { { "PA03", 3 }, { "PA11", 5 } } },
    { R_FUNC("    y = R.str(\"abc)\n    return x\n"), { { "PA06", 3 } } },
    { R_FUNC("    y = R.str(\"\\xZZ\")\n    return x\n"), { { "PA06", 3 } } },
    { R_FUNC("    y = 12ab\n    return x\n"), { { "PA05", 3 } } },
    { R_FUNC("    y = 99999999999999999999999\n    return x\n"), { { "PA24", 3 } } },
    { R_FUNC("    y = R.const(300, \"uint8\")\n    return x\n"), { { "PA24", 3 } } },
    { R_FUNC("    y = R.const(1, \"floot32\")\n    return x\n"), { { "PA25", 3 } } },
    { R_FUNC("    y = x\n      z = x\n    return y\n"), { { "PA02", 4 } } },
    { R_FUNC("        y = x\n    return y\n"), { { "PA02", 4 } } },
    { "@R.function\ndef f(x: R.Object):\nreturn x\n", { { "PA22", 2 } } },
    { R_FUNC("    y = = x\n    z = R.bar(x)\n    return x\n"), { { "PA04", 3 }, { "PA11", 4 } } },
    { R_FUNC("    y = z = x\n    return x\n"), { { "PA16", 3 } } },
    { R_FUNC("    import os; y = [i for i in x]\n    return x\n"),
      { { "PA15", 3 }, { "PA04", 3 } } },
    { R_FUNC("    y = unknown\n    return y\n"), { { "PA10", 3 } } },
    /* names that are known elsewhere: the criterion they break */
    { "= a dataflow variable behind its block",
      { { "WF01", 7 } } },
    { R_FUNC("    y = R.add(y, x)\n    return y\n"), { { "WF02", 3 } } },
    { R_FUNC("    a = R.exp(b)\n    b = R.sin(x)\n    return a\n"), { { "WF03", 3 } } },
    { "= a variable of a branch behind it",
      { { "WF03", 8 } } },
    { R_FUNC("    z = R.reshape(x, R.shape([m, 2]))\n    m = T.int64()\n    return z\n"),
      { { "WF05", 3 } } },
    { "@R.function\ndef f(x: R.Tensor((\"n\",))) -> R.Tensor((k,), \"float32\"):\n    return x\n",
      { { "WF04", 2 } } },
    { R_FUNC("    y = R.exq(x)\n    return y\n"), { { "PA11", 3 } } },
    { R_FUNC("    y = R.sum(x, axes=1)\n    return y\n"), { { "PA12", 3 } } },
    { R_FUNC("    y = R.exp()\n    return y\n"), { { "PA12", 3 } } },
    { R_FUNC("    y = R.exp(x, x)\n    return y\n"), { { "PA12", 3 } } },
    { R_FUNC("    y = R.add(x, 1)\n    return y\n"), { { "PA12", 3 } } },
    { R_FUNC("    y: R.Tensro = x\n    return y\n"), { { "PA17", 3 } } },
    { R_FUNC("    y: R.Tensor((2, 3), ndim=3) = x\n    return y\n"), { { "WF10", 3 } } },
    { R_FUNC("    y: R.Tensor((\"n +\",)) = x\n    return y\n"), { { "PA04", 3 } } },
    { R_FUNC("    y: R.Tensor((1.5,)) = x\n    return y\n"), { { "WX06", 3 } } },
    { R_FUNC("    n = T.int32()\n    return x\n"), { { "PA28", 3 } } },
    { R_FUNC("    n = R.exp(x)\n    return x\n"), { { "PA13", 3 } } },
    { R_FUNC("    y = R.exp(x)\n"), { { "PA14", 2 } } },
    { R_FUNC("    return x\n    return x\n"), { { "PA15", 4 } } },
    { R_FUNC("    R.exp(x)\n    return x\n"), { { "PA15", 3 } } },
    { R_FUNC("    while c:\n        y = x\n    return x\n"), { { "PA15", 3 } } },
    { R_FUNC("    x.y = x\n    return x\n"), { { "PA26", 3 } } },
    { R_FUNC("    f(x) = x\n    return x\n"), { { "PA26", 3 } } },
    { R_FUNC("    R.output(x)\n    return x\n"), { { "PA27", 3 } } },
    { "= a parameter as output",
      { { "PA27", 5 } } },
    { "= a binding behind the outputs",
      { { "PA27", 6 } } },
    { "= a branch in a dataflow block",
      { { "WF07", 4 } } },
    { R_FUNC("    if c:\n        y = x\n    return x\n"), { { "PA32", 3 } } },
    { "= another name in the other branch",
      { { "PA32", 3 } } },
    { "= a return in a branch",
      { { "PA15", 4 } } },
    { R_FUNC("    a, b = x\n    return a\n"), { { "PA12", 3 } } },
    { R_FUNC("    return R.match_cast(x, R.Object)\n"), { { "PA15", 3 } } },
    { R_FUNC("    R.func_attr({\"a\": 1})\n    R.func_attr({\"a\": 2})\n    return x\n"),
      { { "PA13", 4 } } },
    { "= a private function with a global symbol",
      { { "PA23", 3 } } },
    { "= a TIR function in a Relax one", { { "WX07", 4 } } },
    { "@R.function\ndef f(x):\n    return x\n", { { "PA17", 2 } } },
    { "@R.function\ndef f(x: R.Object, x: R.Object):\n    return x\n", { { "PA13", 2 } } },
    { "@R.function\ndef f(x: R.Tensor((\"x\",))):\n    return x\n", { { "PA13", 2 } } },
    { "@R.function\ndef f(x: R.Tensor((\"k + 1\",))):\n    return x\n", { { "WF06", 2 } } },
    { "def f(x: R.Object):\n    return x\n", { { "PA23", 1 } } },
    { "@R.funktion\ndef f(x: R.Object):\n    return x\n", { { "PA23", 1 } } },
    { "@R.function(pure=1)\ndef f(x: R.Object):\n    return x\n", { { "PA23", 1 } } },
    { "= a method of cls that is not there",
      { { "PA10", 5 } } },
    { "= a function that is not there",
      { { "WX01", 5 } } },
    { "@I.ir_module\nclass M:\n    x: int\n", { { "PA15", 3 } } },
    { "class M:\n    pass\n", { { "PA23", 1 } } },
    { "metadata = tvm.ir.load_json(\"{\")\n", { { "PA19", 1 } } },
    { "metadata = tvm.ir.load_json(\"\"\"{\"root\": 7, \"nodes\": []}\"\"\")\n",
      { { "PA19", 1 } } },
    { T_FUNC("    A[0] = 1.0\n"), { { "PA31", 3 } } },
    { T_FUNC("    A[0, 0] = n / 2\n"), { { "PA18", 3 } } },
    { T_FUNC("    A[0, 0.5] = 1.0\n"), { { "PA18", 3 } } },
    { T_FUNC("    A[0, 0] = T.foo(1)\n"), { { "PA11", 3 } } },
    { T_FUNC("    A[0, 0] = T.int8(300)\n"), { { "PA24", 3 } } },
    { T_FUNC("    for i, j in T.grid(4):\n        A[i, j] = 0.0\n"), { { "PA30", 3 } } },
    { T_FUNC("    for i in n:\n        A[i, 0] = 0.0\n    A[0] = 1.0\n"),
      { { "PA30", 3 }, { "PA31", 5 } } },
    { T_FUNC("    x = n\n    x = n + 1\n"), { { "PA13", 4 } } },
    { T_FUNC("    with T.block(\"b\"):\n        T.reads()\n        T.reads()\n"),
      { { "PA13", 5 } } },
    { T_FUNC("    with T.block(\"b\"):\n        v = T.axis.remap(\"S\", [n])\n"),
      { { "PA30", 4 } } },
    { T_FUNC("    T.where(n > 0)\n"), { { "PA15", 3 } } },
    { T_FUNC("    y = R.exp(n)\n"), { { "PA12", 3 } } },
    { T_FUNC("    if n > 0:\n        T.func_attr({\"a\": 1})\n"), { { "PA15", 4 } } },
    /* one broken function does not hide the mistakes of the next */
    { "= two broken functions",
      { { "PA04", 2 }, { "PA10", 6 } } },
};

static void mistakes_are_found(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(mistakes); i++) {
        const char *text = PROGRAM_CELL(mistakes[i].text);
        reading r = read_text(text);
        const rlx_diag *d = r.ctx->diags.first;
        if (r.ok)
            print_error("accepted:\n%s\n", text);
        assert_false(r.ok);
        for (size_t k = 0; k < 3 && mistakes[i].want[k].code; k++, d = d->next) {
            uint32_t line = 0, column = 0, chars = 0;
            while (d && d->severity != RLX_SEVERITY_ERROR)
                d = d->next;
            if (!d)
                print_error("error %zu is missing:\n%s\n", k, text);
            assert_non_null(d);
            assert_true(rlx_diags_locate(&r.ctx->diags, d->place, &line, &column, &chars));
            if (strcmp(d->code->name, mistakes[i].want[k].code) != 0 ||
                line != mistakes[i].want[k].line)
                print_error("%s:%u %s, in:\n%s\n", d->code->name, line, d->message, text);
            assert_string_equal(d->code->name, mistakes[i].want[k].code);
            assert_int_equal(line, mistakes[i].want[k].line);
        }
        done(r);
    }
}

static void nul_bytes_are_refused(void **state)
{
    static const char text[] = "@R.function\ndef f(x: R.Object):\n    return x\0\n";
    reading r = read_bytes(text, sizeof text - 1);
    assert_false(r.ok);
    assert_string_equal(r.ctx->diags.first->code->name, "PA08");
    done(r);
}

/* Where only inference failed, the program is still there, and what follows from the error is
 * not said again. */
static void inference_errors_leave_a_module(void **state)
{
    reading r = read_text(PROGRAM("inference errors leave a module"));
    assert_true(r.ok);
    assert_int_equal(r.ctx->diags.num_errors, 1);
    assert_string_equal(r.ctx->diags.first->code->name, "TY08");
    assert_int_equal(block_of(function_of(r, "f"), 0)->num_bindings, 2);
    done(r);
}

/* ---- hostile texts -------------------------------------------------------------------------- */

static char *repeated(const char *head, const char *part, size_t times, const char *tail)
{
    size_t a = strlen(head), b = strlen(part), c = strlen(tail);
    char *text = malloc(a + b * times + c + 1);
    assert_non_null(text);
    memcpy(text, head, a);
    for (size_t i = 0; i < times; i++)
        memcpy(text + a + i * b, part, b);
    memcpy(text + a + b * times, tail, c + 1);
    return text;
}

static void nesting_is_bounded(void **state)
{
    static const struct { const char *head, *part, *tail;
    } deep[] = {
        { R_FUNC("    y = "), "(", "\n    return x\n" },
        { R_FUNC("    y = "), "[", "\n    return x\n" },
        { R_FUNC("    y = "), "-", "x\n    return x\n" },
        { R_FUNC("    y = "), "not ", "x\n    return x\n" },
        { R_FUNC("    y = x"), ".a", "\n    return x\n" },
        { R_FUNC("    y = x"), "[0]", "\n    return x\n" },
        { R_FUNC("    y = 2"), " ** 2", "\n    return x\n" },
        { R_FUNC("    y = "), "x if c else ", "x\n    return x\n" },
        { R_FUNC("    y = "), "lambda: ", "x\n    return x\n" },
        { R_FUNC("    y = "), "R.exp(", "x\n    return x\n" },
        { R_FUNC("    if c:\n        y = x\n"), "    elif c:\n        y = x\n", "    return x\n" },
        { T_FUNC("    if n > 0:\n        A[0, 0] = 1.0\n"),
          "    elif n > 0:\n        A[0, 0] = 1.0\n", "" },
    };
    for (size_t i = 0; i < RLX_COUNT(deep); i++) {
        char *text = repeated(deep[i].head, deep[i].part, 30000, deep[i].tail);
        reading r = read_text(text);
        assert_false(r.ok);
        assert_true(rlx_error_count(r.ctx) > 0);
        done(r);
        free(text);
    }
}

/* Long is fine where it is not deep. */
static void length_is_not_bounded(void **state)
{
    char *text = repeated(T_FUNC("    A[0, 0] = 1.0"), " + A[0, 0]", 5000, "\n");
    reading r = read_text(text);
    assert_true(r.ok);
    done(r);
    free(text);
    text = repeated("@R.function\ndef f(x: R.Tensor((2,), \"float32\")):\n    y = (", "x, ", 5000,
                    ")\n    return y\n");
    r = read_text(text);
    assert_true(r.ok);
    done(r);
    free(text);
}

static void blocks_are_bounded(void **state)
{
    size_t len = 0, levels = 400;
    char *text = malloc(200 + levels * (levels + 40));
    assert_non_null(text);
    len = (size_t)sprintf(text,
                          "@T.prim_func\ndef f(A: T.Buffer((4, 4), \"float32\"), n: T.int32):\n");
    for (size_t i = 0; i < levels; i++)
        len += (size_t)sprintf(text + len, "%*sif n > 0:\n", (int)i + 1, "");
    len += (size_t)sprintf(text + len, "%*spass\n", (int)levels + 1, "");
    reading r = read_bytes(text, len);
    assert_false(r.ok);
    assert_string_equal(r.ctx->diags.first->code->name, "PA09");
    done(r);
    free(text);
}

/* Fails or not, but says why, in the text. */
static void survives(const char *text, size_t len)
{
    reading r = read_bytes(text, len);
    assert_true(r.ok || rlx_error_count(r.ctx) > 0);
    for (const rlx_diag *d = r.ctx->diags.first; d; d = d->next) {
        if (strncmp(d->code->name, "IN", 2) == 0)
            print_error("%s in:\n%.*s\n", d->message, (int)len, text);
        assert_int_not_equal(strncmp(d->code->name, "IN", 2), 0);
        assert_true(rlx_place_begin(d->place) <= len);
    }
    done(r);
}

static void prefixes_do_no_harm(void **state)
{
    for (size_t n = 0; n <= strlen(PROGRAM("a net")); n += 3)
        survives(PROGRAM("a net"), n);
    for (size_t n = 0; n <= strlen(PROGRAM("kernel")); n += 3)
        survives(PROGRAM("kernel"), n);
}

static void changed_bytes_do_no_harm(void **state)
{
    static const char with[] = "()[]{}:,=\"'\n \\#@.9x-*\t\xff";
    const char *const texts[] = { PROGRAM("a net"), PROGRAM("kernel") };
    char copy[2048];
    uint32_t seed = 1;
    for (size_t t = 0; t < RLX_COUNT(texts); t++) {
        size_t len = strlen(texts[t]);
        assert_true(len < sizeof copy);
        for (size_t i = 0; i < len; i++) {
            memcpy(copy, texts[t], len);
            seed = seed * 1103515245u + 12345u;
            copy[i] = with[(seed >> 16) % (sizeof with - 1)];
            survives(copy, len);
        }
    }
}

/* ---- memory --------------------------------------------------------------------------------- */

typedef struct failing { size_t count, fail_at; } failing;
static void *fail_alloc(void *user, size_t size, size_t align)
{
    failing *f = user;
    return ++f->count >= f->fail_at
               ? NULL
               : aligned_alloc(align < 16 ? 16 : align, (size + 255) & ~(size_t)255);
}
static void *fail_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = fail_alloc(user, new_size, align);
    if (p && ptr) {
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
        free(ptr);
    }
    return p;
}
static void fail_free(void *user, void *ptr, size_t size, size_t align) { free(ptr); }

static void every_allocation_may_fail(void **state)
{
    const char *const texts[] = { PROGRAM("a net"), PROGRAM("kernel") };
    for (size_t t = 0; t < RLX_COUNT(texts); t++) {
        bool finished = false;
        for (size_t n = 1; !finished; n++) {
            failing f = { 0, n };
            relax_allocator host = { sizeof host, &f, fail_alloc, fail_resize, fail_free };
            rlx_context *c = rlx_context_create(&host, 0);
            if (!c)
                continue;
            c->ops = rlx_op_table_get();
            rlx_parsed parsed;
            rlx_parse_options options = { 0 };
            uint32_t s =
                rlx_diags_add_source(&c->diags, RLX_SLICE("t.py"), texts[t], strlen(texts[t]));
            bool ok = s && rlx_script_parse(c, s, &options, &parsed);
            finished = f.count < n;
            assert_true(ok == finished || (s && ok));
            if (s && !ok)
                assert_true(c->diags.out_of_memory);
            rlx_context_release(c);
        }
    }
}

/* Places that could not be kept are none: whoever copies them goes by their number. */
static void places_without_memory(void **state)
{
    enum { MANY = 100000 };
    (void)state;
    rlx_reader r = { .ctx = rlx_context_create(NULL, 0) };
    size_t count = 0;
    for (int i = 0; i < MANY; i++)
        assert_true(rlx_vec_push(&r.ctx->memory, &r.annotation.places, rlx_place_make(1, 1, 1)));
    r.ctx->memory.cap = 1;
    assert_null(rlx_take_places(&r, 0, &count));
    assert_int_equal(count, 0);
    assert_true(r.ctx->diags.out_of_memory);
    r.ctx->memory.cap = SIZE_MAX;
    rlx_vec_free(&r.ctx->memory, &r.annotation.places);
    rlx_context_release(r.ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_module_is_read),
        cmocka_unit_test(blocks_are_completed),
        cmocka_unit_test(places_are_kept),
        cmocka_unit_test(spacing_changes_places_only),
        cmocka_unit_test(shape_variables_are_per_function),
        cmocka_unit_test(several_units_and_spellings),
        cmocka_unit_test(one_annotation),
        cmocka_unit_test(mistakes_are_found),
        cmocka_unit_test(nul_bytes_are_refused),
        cmocka_unit_test(inference_errors_leave_a_module),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(length_is_not_bounded),
        cmocka_unit_test(blocks_are_bounded),
        cmocka_unit_test(prefixes_do_no_harm),
        cmocka_unit_test(changed_bytes_do_no_harm),
        cmocka_unit_test(every_allocation_may_fail),
        cmocka_unit_test(places_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
