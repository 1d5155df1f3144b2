/* test_passes.c: each pass on small programs: what comes out, what must not change, and that a
 * second run changes nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "text_module.h"
#include "transform/transform.h"

#define MODULE(body) "@I.ir_module\nclass Module:\n" body
#define MAIN_X                                                                      \
    "    @R.function\n    def main(x: R.Tensor((\"n\", 4), dtype=\"float32\")) -> " \
    "R.Tensor((\"n\", 4), dtype=\"float32\"):\n        n = T.int64()\n"
#define TWICE                                                   \
    "    @T.prim_func(private=True)\n"                          \
    "    def twice(var_a: T.handle, var_b: T.handle):\n"        \
    "        n = T.int64()\n"                                   \
    "        a = T.match_buffer(var_a, (n, T.int64(4)))\n"      \
    "        b = T.match_buffer(var_b, (n, T.int64(4)))\n"      \
    "        for i, j in T.grid(n, T.int64(4)):\n"              \
    "            with T.block(\"b\"):\n"                        \
    "                v_i, v_j = T.axis.remap(\"SS\", [i, j])\n" \
    "                b[v_i, v_j] = a[v_i, v_j] * T.float32(2.0)\n\n"

/* after NULL: must come back as the same module */
typedef struct pass_case { const char *name, *passes, *before, *after; } pass_case;

static const pass_case cases[] = {
    { "dead binding in a dataflow block", "dead_code_elimination",
      MODULE(MAIN_X "        with R.dataflow():\n            lv = R.exp(x)\n            gv = "
                    "R.sin(x)\n            R.output(gv)\n        return gv\n"),
      MODULE(MAIN_X "        with R.dataflow():\n            gv = R.sin(x)\n            "
                    "R.output(gv)\n        return gv\n") },
    { "dead operator outside, chain of dead ones", "dead_code_elimination",
      MODULE(MAIN_X "        a = R.exp(x)\n        b = R.sin(a)\n        c = (a, b)\n        d = "
                    "R.cos(x)\n        return d\n"),
      MODULE(MAIN_X "        d = R.cos(x)\n        return d\n") },
    { "a cast outside dataflow stays", "dead_code_elimination",
      MODULE(MAIN_X "        m = T.int64()\n        a = R.match_cast(x, R.Tensor((m, 4), "
                    "dtype=\"float32\"))\n        return x\n"),
      NULL },
    { "a cast in dataflow goes", "dead_code_elimination",
      MODULE(MAIN_X "        m = T.int64()\n        with R.dataflow():\n            a = "
                    "R.match_cast(x, R.Tensor((m, 4), dtype=\"float32\"))\n"
                    "            gv = R.exp(x)\n            R.output(gv)\n        return gv\n"),
      MODULE(MAIN_X "        with R.dataflow():\n            gv = R.exp(x)\n            "
                    "R.output(gv)\n        return gv\n") },
    { "a cast whose shape variable is used stays", "dead_code_elimination",
      MODULE("    @R.function\n    def main(x: R.Tensor(dtype=\"float32\", ndim=1)) -> "
             "R.Tensor(dtype=\"float32\", ndim=1):\n        m = T.int64()\n"
             "        with R.dataflow():\n            a = R.match_cast(x, R.Tensor((m,), "
             "dtype=\"float32\"))\n"
             "            gv = R.zeros(R.shape([m]), dtype=\"float32\")\n            "
             "R.output(gv)\n        return gv\n"),
      NULL },
    { "impure calls stay", "dead_code_elimination",
      MODULE("    @R.function(pure=False)\n    def main(x: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n"
             "        a = R.call_packed(\"f\", x, sinfo_args=(R.Tensor((4,), "
             "dtype=\"float32\"),))\n        return x\n"),
      NULL },
    { "call of a Relax function outside dataflow stays, inside goes with the function",
      "dead_code_elimination",
      MODULE("    @R.function(private=True)\n    def f(y: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n        z = R.exp(y)\n        return z\n\n"
             "    @R.function(private=True)\n    def g(y: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n        z = R.sin(y)\n        return z\n\n"
             "    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n        cls = Module\n        a = cls.f(x)\n"
             "        with R.dataflow():\n            b = cls.g(x)\n            gv = R.exp(x)\n   "
             "         R.output(gv)\n        return gv\n"),
      MODULE("    @R.function(private=True)\n    def f(y: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n        z = R.exp(y)\n        return z\n\n"
             "    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n        cls = Module\n        a = cls.f(x)\n"
             "        with R.dataflow():\n            gv = R.exp(x)\n            R.output(gv)\n   "
             "     return gv\n") },
    { "dead branch without effects", "dead_code_elimination",
      MODULE("    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\"), c: R.Tensor((), "
             "dtype=\"bool\")) -> R.Tensor((4,), dtype=\"float32\"):\n"
             "        if c:\n            a = R.exp(x)\n            b = a\n        else:\n         "
             "   d = R.sin(x)\n            b = d\n        return x\n"),
      MODULE("    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\"), c: R.Tensor((), "
             "dtype=\"bool\")) -> R.Tensor((4,), dtype=\"float32\"):\n        return x\n") },
    { "dead code inside a living branch", "dead_code_elimination",
      MODULE("    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\"), c: R.Tensor((), "
             "dtype=\"bool\")) -> R.Tensor((4,), dtype=\"float32\"):\n"
             "        if c:\n            a = R.exp(x)\n            u = R.cos(a)\n            b = "
             "a\n        else:\n            d = R.sin(x)\n            b = d\n        return b\n"),
      MODULE("    @R.function\n    def main(x: R.Tensor((4,), dtype=\"float32\"), c: R.Tensor((), "
             "dtype=\"bool\")) -> R.Tensor((4,), dtype=\"float32\"):\n"
             "        if c:\n            a = R.exp(x)\n            b = a\n        else:\n         "
             "   d = R.sin(x)\n            b = d\n        return b\n") },
    { "a module without public functions keeps them", "dead_code_elimination",
      MODULE("    @R.function(private=True)\n    def f(y: R.Tensor((4,), dtype=\"float32\")) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n        z = R.exp(y)\n        return z\n"),
      NULL },

    { "copies", "canonicalize_bindings",
      MODULE(MAIN_X "        a = x\n        b = R.exp(a)\n        c = b\n        return c\n"),
      MODULE(MAIN_X "        b = R.exp(x)\n        return b\n") },
    { "an annotation that promises more stays", "canonicalize_bindings",
      MODULE("    @R.function\n    def main(x: R.Tensor(dtype=\"float32\", ndim=1)) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n"
             "        a: R.Tensor((4,), dtype=\"float32\") = x\n        return a\n"),
      NULL },
    { "field of a known tuple", "canonicalize_bindings",
      MODULE(MAIN_X "        a = R.exp(x)\n        t = (a, x)\n        b = t[0]\n        c = "
                    "R.sin(b)\n        return c\n"),
      MODULE(
          MAIN_X
          "        a = R.exp(x)\n        t = (a, x)\n        c = R.sin(a)\n        return c\n") },
    { "a tuple spelled out", "canonicalize_bindings",
      MODULE("    @R.function\n    def main(t: R.Tuple(R.Tensor((4,), dtype=\"float32\"), "
             "R.Tensor((2,), dtype=\"float32\"))) -> R.Tuple(R.Tensor((4,), dtype=\"float32\"), "
             "R.Tensor((2,), dtype=\"float32\")):\n"
             "        a = t[0]\n        b = t[1]\n        u = (a, b)\n        return u\n"),
      MODULE("    @R.function\n    def main(t: R.Tuple(R.Tensor((4,), dtype=\"float32\"), "
             "R.Tensor((2,), dtype=\"float32\"))) -> R.Tuple(R.Tensor((4,), dtype=\"float32\"), "
             "R.Tensor((2,), dtype=\"float32\")):\n"
             "        a = t[0]\n        b = t[1]\n        return t\n") },
    { "a redundant cast and a known shape variable", "canonicalize_bindings",
      MODULE(MAIN_X
             "        m = T.int64()\n        a = R.match_cast(x, R.Tensor((m, 4), "
             "dtype=\"float32\"))\n        b = R.zeros(R.shape([m, 4]), dtype=\"float32\")\n"
             "        c = R.add(a, b)\n        return c\n"),
      MODULE(MAIN_X "        b = R.zeros(R.shape([n, 4]), dtype=\"float32\")\n        c = "
                    "R.add(x, b)\n        return c\n") },
    { "a cast that checks stays", "canonicalize_bindings",
      MODULE("    @R.function\n    def main(x: R.Tensor(dtype=\"float32\", ndim=1)) -> "
             "R.Tensor((4,), dtype=\"float32\"):\n"
             "        a = R.match_cast(x, R.Tensor((4,), dtype=\"float32\"))\n        return a\n"),
      NULL },
    { "an output that copies is turned around", "canonicalize_bindings",
      MODULE(MAIN_X "        with R.dataflow():\n            lv = R.exp(x)\n            lv1 = "
                    "lv\n            lv2 = R.sin(lv1)\n            gv = lv1\n            gv1 = "
                    "lv2\n            R.output(gv, gv1)\n"
                    "        a = R.add(gv, gv1)\n        return a\n"),
      MODULE(
          MAIN_X
          "        with R.dataflow():\n            gv = R.exp(x)\n            gv1 = R.sin(gv)\n   "
          "         R.output(gv, gv1)\n        a = R.add(gv, gv1)\n        return a\n") },

    { "an output whose size gets another name", "canonicalize_bindings",
      MODULE(MAIN_X "        m = T.int64()\n        with R.dataflow():\n            lv = "
                    "R.match_cast(x, R.Tensor((m, 4), dtype=\"float32\"))\n            lv1 = "
                    "R.exp(lv)\n            gv = lv1\n"
                    "            R.output(gv)\n        a = R.sin(gv)\n        return a\n"),
      MODULE(MAIN_X "        with R.dataflow():\n            gv = R.exp(x)\n            "
                    "R.output(gv)\n        a = R.sin(gv)\n        return a\n") },

    { "constants", "fold_constant",
      MODULE(
          "    @R.function\n    def main(x: R.Tensor((), dtype=\"float32\")) -> R.Tensor((), "
          "dtype=\"float32\"):\n"
          "        a = R.add(R.const(2.0, \"float32\"), R.const(3.0, \"float32\"))\n        b = "
          "R.multiply(a, R.const(2.0, \"float32\"))\n        c = R.add(x, b)\n        return c\n"),
      MODULE("    @R.function\n    def main(x: R.Tensor((), dtype=\"float32\")) -> R.Tensor((), "
             "dtype=\"float32\"):\n"
             "        a = R.const(5.0, \"float32\")\n        b = R.const(10.0, \"float32\")\n     "
             "   c = R.add(x, b)\n        return c\n") },
    { "division by zero is left to the run", "fold_constant",
      MODULE("    @R.function\n    def main(x: R.Tensor((), dtype=\"int32\")) -> R.Tensor((), "
             "dtype=\"int32\"):\n"
             "        a = R.floor_divide(R.const(2, \"int32\"), R.const(0, \"int32\"))\n        "
             "return a\n"),
      NULL },
    { "known shapes", "fold_constant",
      MODULE(MAIN_X "        s = R.shape_of(x)\n        a = R.zeros(s, dtype=\"float32\")\n       "
                    " return a\n"),
      MODULE(MAIN_X "        s = R.shape([n, 4])\n        a = R.zeros(s, dtype=\"float32\")\n     "
                    "   return a\n") },
    { "data out of nothing stays code", "fold_constant",
      MODULE("    @R.function\n    def main() -> R.Tensor((1000, 1000), dtype=\"float32\"):\n     "
             "   a = R.zeros(R.shape([1000, 1000]), dtype=\"float32\")\n"
             "        b = R.full(R.shape([1000, 1000]), R.const(1.0, \"float32\"), "
             "dtype=\"float32\")\n        c = R.add(a, b)\n        return c\n"),
      NULL },

    { "dataflow blocks join their neighbours", "to_non_dataflow",
      MODULE(MAIN_X
             "        a = R.exp(x)\n        with R.dataflow():\n            lv = R.sin(a)\n       "
             "     gv = R.cos(lv)\n            R.output(gv)\n        return gv\n"),
      MODULE(MAIN_X "        a = R.exp(x)\n        lv = R.sin(a)\n        gv = R.cos(lv)\n        "
                    "return gv\n") },
    { "nothing to do", "to_non_dataflow",
      MODULE(MAIN_X "        a = R.exp(x)\n        return a\n"), NULL },

    { "call_tir", "call_tir_rewrite",
      MODULE(TWICE MAIN_X
             "        cls = Module\n        with R.dataflow():\n            lv = "
             "R.call_tir(cls.twice, (x,), out_sinfo=R.Tensor((n, 4), dtype=\"float32\"))\n"
             "            R.output(lv)\n        return lv\n"),
      MODULE(
          TWICE MAIN_X
          "        R.func_attr({\"relax.force_pure\": True})\n        cls = Module\n"
          "        lv: R.Tensor((n, 4), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([n, "
          "4]), R.dtype(\"float32\"), R.prim_value(0), R.str(\"global\"))\n"
          "        _: R.Tuple = cls.twice(x, lv)\n        return lv\n") },
    { "pure packed call", "call_tir_rewrite",
      MODULE(MAIN_X "        a = R.call_pure_packed(\"f\", x, sinfo_args=(R.Tensor((n, 4), "
                    "dtype=\"float32\"),))\n        return a\n"),
      MODULE(MAIN_X
             "        R.func_attr({\"relax.force_pure\": True})\n        a = R.call_packed(\"f\", "
             "x, sinfo_args=(R.Tensor((n, 4), dtype=\"float32\"),))\n        return a\n") },
    { "destination-passing packed call with two outputs", "call_tir_rewrite",
      MODULE(MAIN_X "        a = R.call_dps_packed(\"f\", (x,), out_sinfo=[R.Tensor((n, 4), "
                    "dtype=\"float32\"), R.Tensor((n,), dtype=\"int32\")])\n        b = a[0]\n    "
                    "    return b\n"),
      MODULE(
          MAIN_X
          "        R.func_attr({\"relax.force_pure\": True})\n"
          "        alloc: R.Tensor((n, 4), dtype=\"float32\") = "
          "R.builtin.alloc_tensor(R.shape([n, 4]), R.dtype(\"float32\"), R.prim_value(0), "
          "R.str(\"global\"))\n"
          "        alloc1: R.Tensor((n,), dtype=\"int32\") = R.builtin.alloc_tensor(R.shape([n]), "
          "R.dtype(\"int32\"), R.prim_value(0), R.str(\"global\"))\n"
          "        _: R.Object = R.call_packed(\"f\", x, alloc, alloc1)\n        a: "
          "R.Tuple(R.Tensor((n, 4), dtype=\"float32\"), R.Tensor((n,), dtype=\"int32\")) = "
          "(alloc, alloc1)\n        return alloc\n") },
    { "no call_tir, no change", "call_tir_rewrite",
      MODULE(MAIN_X "        a = R.exp(x)\n        return a\n"), NULL },
    { "results are not planned", "plan_memory",
      MODULE(
          TWICE MAIN_X
          "        R.func_attr({\"relax.force_pure\": True})\n        cls = Module\n"
          "        lv: R.Tensor((n, 4), dtype=\"float32\") = R.builtin.alloc_tensor(R.shape([n, "
          "4]), R.dtype(\"float32\"), R.prim_value(0), R.str(\"global\"))\n"
          "        _: R.Tuple = cls.twice(x, lv)\n        return lv\n"),
      NULL },
    { "normal already", "normalize", MODULE(MAIN_X "        a = R.exp(x)\n        return a\n"),
      NULL },
};

static size_t parse_steps(const char *list, rlx_pass_step *steps)
{
    size_t n = 0;
    while (*list) {
        size_t len = strcspn(list, ",");
        steps[n].row = rlx_pass_find((rlx_slice){ list, len });
        assert_non_null(steps[n++].row);
        list += len + (list[len] == ',');
    }
    return n;
}

static bool equal(const rlx_module *a, const rlx_module *b)
{
    rlx_memory m;
    bool lost = false;
    rlx_memory_init(&m, NULL, SIZE_MAX);
    return rlx_equal(&m, &a->node, &b->node, false, &lost) && !lost;
}

static void complain(rlx_context *ctx, const pass_case *c, const rlx_module *got,
                     const rlx_module *want, const char *what)
{
    char *a = got ? text_print(got) : text_diagnostics(ctx),
         *b = want ? text_print(want) : strdup("");
    print_error("%s (%s): %s\ngot:\n%s\nwanted:\n%s\n", c->name, c->passes, what, a, b);
    free(a);
    free(b);
    fail();
}

static const rlx_module *read_module(rlx_context *ctx, const pass_case *c, const char *text)
{
    const rlx_module *m = text_module(ctx, text);
    if (!m || rlx_error_count(ctx)) {
        char *d = text_diagnostics(ctx);
        print_error("%s: cannot read: %s\n", c->name, d);
        free(d);
        fail();
    }
    return m;
}

static void run_case(const pass_case *c)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_pass_step steps[8] = { 0 };
    rlx_pass_hooks hooks = { .verify = true };
    size_t n = parse_steps(c->passes, steps);
    const rlx_module *before = read_module(ctx, c, c->before),
                     *want = c->after ? read_module(ctx, c, c->after) : before;
    const rlx_module *got = rlx_run_passes(ctx, before, steps, n, &hooks);
    if (!got || rlx_error_count(ctx))
        complain(ctx, c, NULL, want, "failed");
    if (!c->after && got != before)
        complain(ctx, c, got, want, "changed what was to stay");
    if (!equal(got, want))
        complain(ctx, c, got, want, "differs");
    if (rlx_run_passes(ctx, got, steps, n, &hooks) != got)
        complain(ctx, c, got, want, "a second run changes it again");
    rlx_context_release(ctx);
}

static void test_cases(void **state)
{
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        run_case(&cases[i]);
}

/* ---- memory planning ------------------------------------------------------------------------ */

static size_t count_calls(const rlx_module *m, const char *text)
{
    char *t = text_print(m);
    size_t n = 0;
    for (const char *at = t; (at = strstr(at, text)); at++)
        n++;
    free(t);
    return n;
}

static void test_chain_of_fifty(void **state)
{
    static const char *const dims[] = { "(\"n\", 4)", "(16, 4)" };
    for (int k = 0; k < 2; k++) {
        rlx_context *ctx = rlx_context_create(NULL, 0);
        rlx_pass_step steps[RLX_MAX_PIPELINE];
        char text[8192];
        int at = snprintf(
            text, sizeof text,
            "@I.ir_module\nclass Module:\n    @R.function\n    def main(x: R.Tensor(%s, "
            "dtype=\"float32\")):\n        with R.dataflow():\n            lv0 = R.exp(x)\n",
            dims[k]);
        for (int i = 1; i < 49; i++)
            at += snprintf(text + at, sizeof text - (size_t)at, "            lv%d = R.%s(lv%d)\n",
                           i, i % 2 ? "tanh" : "exp", i - 1);
        snprintf(text + at, sizeof text - (size_t)at,
                 "            gv = R.exp(lv48)\n            R.output(gv)\n        return gv\n");
        const rlx_module *m = text_module(ctx, text);
        assert_non_null(m);
        m = rlx_run_passes(ctx, m, steps, rlx_build_pipeline(1, steps),
                           &(rlx_pass_hooks){ .verify = true });
        assert_non_null(m);
        assert_int_equal(count_calls(m, "R.memory.alloc_storage"), 2);
        assert_int_equal(count_calls(m, "R.builtin.alloc_tensor"), 1);
        assert_int_equal(count_calls(m, "R.memory.alloc_tensor"), 49);
        rlx_context_release(ctx);
    }
}

/* The context does not grow with the number of passes run. */
static void test_scratch(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_pass_step steps[RLX_MAX_PIPELINE];
    size_t n = rlx_build_pipeline(1, steps);
    const rlx_module *m = text_module(ctx, cases[0].before);
    assert_ptr_not_equal(rlx_run_passes(ctx, m, steps, n, NULL), NULL);
    size_t once = rlx_context_bytes(ctx);
    for (int i = 0; i < 20; i++)
        assert_non_null(rlx_run_passes(ctx, m, steps, n, NULL));
    assert_true(rlx_context_bytes(ctx) < once * 21);
    rlx_context_release(ctx);
}

/* ---- the table of passes, hooks, options ---------------------------------------------------- */

static const rlx_module *host_pass(rlx_pass_run *run, const rlx_module *m)
{
    return run->user ? rlx_error(run->ctx, RLX_OP17, RLX_NO_PLACE, "no") : m;
}

static void count_hook(void *user, const char *pass, const rlx_module *m, double seconds,
                       bool changed)
{
    ++*(int *)user;
}

static void test_manager(void **state)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    int hooks_called = 0;
    rlx_pass_hooks hooks = { .after = count_hook, .user = &hooks_called };
    const rlx_module *m = text_module(ctx, cases[0].before);
    assert_ptr_equal(rlx_pass_find(RLX_SLICE("fold-constant")),
                     rlx_pass_find(RLX_SLICE("fold_constant")));
    assert_null(rlx_pass_find(RLX_SLICE("fold")));
    assert_string_equal(rlx_pass_suggest(RLX_SLICE("legalize_op")), "legalize_ops");
    assert_null(rlx_pass_suggest(RLX_SLICE("something else")));
    rlx_pass_step good[2] = { { .row = rlx_pass_find(RLX_SLICE("normalize")) },
                              { .host = host_pass, .host_name = "mine" } };
    assert_ptr_equal(rlx_run_passes(ctx, m, good, 2, &hooks), m);
    assert_int_equal(hooks_called, 2);
    good[1].host_user = &hooks;
    assert_null(rlx_run_passes(ctx, m, good, 2, &hooks));
    rlx_diags_clear(&ctx->diags);
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("max_bytes")),
                   *bad = rlx_attr_string_new(ctx, RLX_SLICE("many"));
    rlx_pass_step option = { .row = rlx_pass_find(RLX_SLICE("fold_constant")),
                             .options = rlx_attrs_new(ctx, &key, &bad, 1) };
    assert_null(rlx_run_passes(ctx, m, &option, 1, NULL));
    char room[256];
    assert_string_equal(text_codes(ctx, room), "OP11");
    rlx_context_release(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_cases),
        cmocka_unit_test(test_chain_of_fifty),
        cmocka_unit_test(test_scratch),
        cmocka_unit_test(test_manager),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
