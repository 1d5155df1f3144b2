/* test_api_pattern: patterns over dataflow by the public interface: what matches, what does
 * not, what a rewriting leaves. */
#include "checked_module.h"
#include "text_file.h"

#include <time.h>
#include <relax/ops.h>

typedef const relax_pattern *pat;

/* A function `main` of x, w: (4, 4), z: (4, 4), whose dataflow block has this body and whose
 * result is gv. */
static relax_module *body(relax_context *ctx, const char *lines)
{
    char text[4096];
    snprintf(text, sizeof text, PROGRAM("body"), lines);
    return parsed(ctx, text);
}

static const relax_base_func *main_of(const relax_module *m)
{
    return relax_module_function(m, relax_module_find(m, Z("main")));
}

static pat any(relax_context *ctx) { return relax_pattern_any_new(ctx); }
static pat op1(relax_context *ctx, const char *op, pat a)
{
    return relax_pattern_op_new(ctx, Z(op), &a, 1, 0);
}
static pat op2(relax_context *ctx, const char *op, pat a, pat b, int32_t flags)
{
    pat args[] = { a, b };
    return relax_pattern_op_new(ctx, Z(op), args, 2, flags);
}

static int32_t count_match(void *user, const relax_match *match)
{
    assert_non_null(relax_match_root(match));
    ++*(int *)user;
    return 0;
}

static int count_in(relax_context *ctx, const relax_module *m, const relax_base_func *f, pat p)
{
    int count = 0;
    assert_non_null(p);
    assert_int_equal(relax_pattern_match_all(ctx, p, m, f, count_match, &count), RELAX_OK);
    assert_quiet(ctx);
    return count;
}

static int count(relax_context *ctx, const relax_module *m, pat p)
{
    return count_in(ctx, m, main_of(m), p);
}

/* ---- replacements */

typedef struct plan {
    pat root, a, b, c;
    int calls, leave;
    relax_context *ctx;
    const char *op;
} plan;

/* op(a) */
static const relax_expr *to_unary(void *user, relax_module_builder *mb, relax_builder *builder,
                                  const relax_match *match)
{
    plan *p = user;
    const relax_expr *a = relax_match_expr(match, p->a);
    assert_non_null(a);
    p->calls++;
    return p->leave ? NULL : relax_call_op_new(p->ctx, Z(p->op), &a, 1, NULL, 0);
}

/* ewise_fma(a, b, c) */
static const relax_expr *to_fma(void *user, relax_module_builder *mb, relax_builder *builder,
                                const relax_match *match)
{
    plan *p = user;
    const relax_expr *args[] = { relax_match_expr(match, p->a), relax_match_expr(match, p->b),
                                 relax_match_expr(match, p->c) };
    p->calls++;
    return relax_call_op_new(p->ctx, Z("ewise_fma"), args, 3, NULL, 0);
}

static relax_module *rewrite(plan *p, const relax_module *m, relax_rewrite_fn fn)
{
    return relax_pattern_rewrite(p->ctx, m, NULL, 0, p->root, fn, p, NULL);
}

static plan fma_plan(relax_context *ctx, int32_t flags)
{
    plan p = { .ctx = ctx, .a = any(ctx), .b = any(ctx), .c = any(ctx) };
    p.root = op2(ctx, "add", op2(ctx, "multiply", p.a, p.b, 0), p.c, flags);
    return p;
}

/* ---- matching */

static void diamond(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *same = PROGRAM("diamond");
    const char *two = PROGRAM("diamond, two tops");
    pat top = op1(ctx, "exp", any(ctx)),
        p = op2(ctx, "add", op1(ctx, "sin", top), op1(ctx, "cos", top), 0);
    pat free = op2(ctx, "add", op1(ctx, "sin", op1(ctx, "exp", any(ctx))),
                   op1(ctx, "cos", op1(ctx, "exp", any(ctx))), 0);
    assert_int_equal(count(ctx, body(ctx, same), p), 1);
    assert_int_equal(count(ctx, body(ctx, two), p), 0);
    assert_int_equal(count(ctx, body(ctx, two), free), 1);
    plan r = { .ctx = ctx, .root = p, .a = top, .op = "tanh" };
    assert_same(ctx, rewrite(&r, body(ctx, same), to_unary),
                body(ctx, "        y = R.exp(x)\n        gv = R.tanh(y)\n"));
}

static void used_outside(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *outside =
        "        a = R.multiply(x, w)\n        b = R.add(a, z)\n        gv = R.subtract(b, a)\n";
    const char *inside = "        a = R.multiply(x, w)\n        gv = R.add(a, z)\n";
    const char *escapes =
        "        a = R.multiply(x, w)\n        b = R.add(a, z)\n        gv = (a, b)\n";
    plan p = fma_plan(ctx, 0);
    pat mul = op2(ctx, "multiply", p.a, p.b, 0), add = op2(ctx, "add", mul, p.c, 0);
    pat only = relax_pattern_with_use(ctx, add, mul, add, RELAX_PATTERN_ANYWHERE, 1),
        some = relax_pattern_with_use(ctx, add, mul, add, 0, 0);
    pat wrong = relax_pattern_with_use(ctx, add, mul, add, 1, 0);
    assert_int_equal(count(ctx, body(ctx, outside), only), 0);
    assert_int_equal(count(ctx, body(ctx, escapes), only), 0);
    assert_int_equal(count(ctx, body(ctx, inside), only), 1);
    assert_int_equal(count(ctx, body(ctx, outside), some), 1);
    assert_int_equal(count(ctx, body(ctx, outside), wrong), 0);
    /* a copy inside the block is the same variable */
    assert_int_equal(
        count(ctx,
              body(ctx, "        a = R.multiply(x, w)\n        k = a\n        gv = R.add(k, z)\n"),
              only),
        1);
    /* what is used otherwise is kept */
    assert_same(ctx, rewrite(&p, body(ctx, outside), to_fma),
                body(ctx, "        a = R.multiply(x, w)\n        b = R.ewise_fma(x, w, z)\n       "
                          " gv = R.subtract(b, a)\n"));
    assert_same(ctx, rewrite(&p, body(ctx, inside), to_fma),
                body(ctx, "        gv = R.ewise_fma(x, w, z)\n"));
    p.root = only;
    relax_module *m = body(ctx, outside);
    assert_ptr_equal(rewrite(&p, m, to_fma), m);
}

static void commuted(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *text = "        a = R.multiply(x, w)\n        gv = R.add(z, a)\n";
    plan p = fma_plan(ctx, 0), q = fma_plan(ctx, RELAX_PATTERN_COMMUTATIVE);
    assert_int_equal(count(ctx, body(ctx, text), p.root), 0);
    assert_same(ctx, rewrite(&q, body(ctx, text), to_fma),
                body(ctx, "        gv = R.ewise_fma(x, w, z)\n"));
    /* as written comes first */
    assert_same(ctx,
                rewrite(&q,
                        body(ctx, "        a = R.multiply(x, w)\n        b = R.multiply(z, z)\n   "
                                  "     gv = R.add(a, b)\n"),
                        to_fma),
                body(ctx, "        b = R.multiply(z, z)\n        gv = R.ewise_fma(x, w, b)\n"));
    /* subtraction does not commute unless the pattern says so */
    assert_int_equal(count(ctx, body(ctx, "        a = R.exp(x)\n        gv = R.subtract(z, a)\n"),
                           op2(ctx, "subtract", op1(ctx, "exp", any(ctx)), any(ctx), 0)),
                     0);
}

static void overlapping(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = { .ctx = ctx, .a = any(ctx), .op = "sin" };
    p.root = op1(ctx, "exp", op1(ctx, "exp", p.a));
    relax_module *five = body(ctx, PROGRAM("overlapping, five"));
    assert_same(ctx, rewrite(&p, five, to_unary),
                body(ctx, "        b = R.sin(x)\n        d = R.sin(b)\n        gv = R.exp(d)\n"));
    assert_int_equal(p.calls, 2);
    /* left as it is, a match keeps nothing from others */
    p.calls = 0;
    p.leave = 1;
    assert_ptr_equal(rewrite(&p, five, to_unary), five);
    assert_int_equal(p.calls, 4);
    assert_int_equal(count(ctx, five, p.root), 2);
    /* rounds */
    relax_rewrite_options o;
    assert_int_equal(relax_rewrite_options_init(&o, sizeof o), RELAX_OK);
    o.max_rounds = 10;
    p.leave = 0;
    p.op = "exp";
    assert_same(ctx, relax_pattern_rewrite(ctx, five, Z("main"), p.root, to_unary, &p, &o),
                body(ctx, "        gv = R.exp(x)\n"));
}

static const relax_expr *residual_norm(void *user, relax_module_builder *mb, relax_builder *b,
                                       const relax_match *match)
{
    plan *p = user;
    const relax_expr *sum = relax_builder_emit(
        b, relax_r_add(p->ctx, relax_match_expr(match, p->a), relax_match_expr(match, p->b)),
        Z("sum"), 0);
    return relax_r_nn_relu(p->ctx, relax_r_multiply(p->ctx, sum, sum));
}

static void residual_block(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = { .ctx = ctx, .a = any(ctx) };
    p.b = op2(ctx, "matmul", op1(ctx, "nn.relu", p.a), any(ctx), 0);
    p.root = op2(ctx, "add", p.b, p.a, RELAX_PATTERN_COMMUTATIVE);
    const char *in = PROGRAM("residual block");
    const char *no =
        "        r = R.nn.relu(x)\n        m = R.matmul(r, w)\n        gv = R.add(z, m)\n";
    const char *out = PROGRAM("residual block, wanted");
    assert_int_equal(count(ctx, body(ctx, no), p.root), 0);
    assert_same(ctx, rewrite(&p, body(ctx, in), residual_norm), body(ctx, out));
}

/* ---- connectives and conditions */

static void or_and_not(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("or and not"));
    pat sin_ = op1(ctx, "sin", any(ctx)), cos_ = op1(ctx, "cos", any(ctx)),
        exp_ = op1(ctx, "exp", any(ctx));
    pat trig[] = { sin_, cos_ };
    assert_int_equal(count(ctx, m, relax_pattern_or_new(ctx, trig, 2)), 4);
    assert_int_equal(count(ctx, m, relax_pattern_and_new(ctx, trig, 2)), 0);
    pat no_exp[] = { op1(ctx, "sin", any(ctx)), relax_pattern_not_new(ctx, op1(ctx, "sin", exp_)) };
    assert_int_equal(count(ctx, m, relax_pattern_and_new(ctx, no_exp, 2)), 2);
    assert_int_equal(
        count(ctx, m,
              op1(ctx, "sin", relax_pattern_not_new(ctx, relax_pattern_or_new(ctx, trig, 2)))),
        1);
    assert_int_equal(count(ctx, m, relax_pattern_not_new(ctx, relax_pattern_not_new(ctx, exp_))),
                     1);
    pat both[] = { relax_pattern_dataflow_var_new(ctx, NULL, 0), op1(ctx, "sin", any(ctx)) };
    assert_int_equal(count(ctx, m, relax_pattern_and_new(ctx, both, 2)), 2);
    /* an alternative chosen early is given up when it leads nowhere */
    pat x = any(ctx), any_first[] = { op1(ctx, "exp", x), op1(ctx, "cos", x) };
    assert_int_equal(count(ctx, m, op1(ctx, "sin", relax_pattern_or_new(ctx, any_first, 2))), 2);
    /* the inside of a `not` and the other side of an `or` are not in the match */
    pat not_exp = relax_pattern_not_new(ctx, exp_), root = op1(ctx, "sin", not_exp);
    relax_match *match = relax_pattern_match_block(
        ctx, root, m, main_of(m),
        relax_seq_block(relax_expr_operand(relax_base_func_as_expr(main_of(m)), 3), 0));
    assert_non_null(match);
    assert_string_equal(relax_expr_name(relax_match_root(match), NULL), "d");
    assert_null(relax_match_expr(match, exp_));
    assert_string_equal(relax_expr_name(relax_match_expr(match, not_exp), NULL), "c");
    assert_int_equal(relax_expr_kind(relax_match_value(match, not_exp)), RELAX_EXPR_KIND_CALL);
    assert_null(relax_match_expr(match, cos_));
    relax_match_destroy(match);
    relax_match_destroy(NULL);
}

static const relax_attr *one_attr(relax_context *ctx, const char *key, const relax_attr *value)
{
    return relax_attr_map_with(ctx, NULL, Z(key), value);
}

static void conditions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("conditions"));
    pat sum = relax_pattern_op_new(ctx, Z("sum"), (pat[]){ any(ctx) }, 1, 0);
    int64_t zero = 0;
    assert_int_equal(count(ctx, m, sum), 2);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_with_attrs(ctx, sum,
                                       one_attr(ctx, "axis", relax_attr_ints_new(ctx, &zero, 1)))),
        1);
    assert_int_equal(count(ctx, m,
                           relax_pattern_with_attrs(
                               ctx, sum, one_attr(ctx, "keepdims", relax_attr_bool_new(ctx, 1)))),
                     1);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_with_attrs(ctx, any(ctx),
                                       one_attr(ctx, "nothing", relax_attr_bool_new(ctx, 1)))),
        0);
    assert_int_equal(count(ctx, m, relax_pattern_with_dtype(ctx, any(ctx), RELAX_INT32)), 1);
    assert_int_equal(
        count(ctx, m, op2(ctx, "multiply", any(ctx), relax_pattern_constant_new(ctx), 0)), 2);
    assert_int_equal(
        count(ctx, m, op2(ctx, "multiply", any(ctx), relax_pattern_scalar_new(ctx, 2), 0)), 1);
    assert_int_equal(
        count(ctx, m, op2(ctx, "multiply", any(ctx), relax_pattern_scalar_new(ctx, 3), 0)), 1);
    assert_int_equal(
        count(ctx, m, op2(ctx, "multiply", any(ctx), relax_pattern_scalar_new(ctx, 4), 0)), 0);
    pat fields[] = { any(ctx), op2(ctx, "multiply", any(ctx), any(ctx), 0) };
    assert_int_equal(
        count(ctx, m,
              relax_pattern_tuple_get_item_new(ctx, relax_pattern_tuple_new(ctx, fields, 2, 0), 1)),
        1);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_tuple_get_item_new(
                  ctx, relax_pattern_tuple_new(ctx, fields, 1, RELAX_PATTERN_OPEN),
                  RELAX_PATTERN_ANYWHERE)),
        1);
    assert_int_equal(count(ctx, m, relax_pattern_tuple_get_item_new(ctx, any(ctx), 0)), 0);
    assert_int_equal(count(ctx, m, relax_pattern_tuple_new(ctx, fields, 1, 0)), 0);
    assert_int_equal(count(ctx, m, relax_pattern_var_new(ctx, Z("c"))), 1);
    assert_int_equal(count(ctx, m, op1(ctx, "astype", relax_pattern_var_new(ctx, Z("b")))), 1);
    assert_int_equal(count(ctx, m, op1(ctx, "astype", relax_pattern_var_new(ctx, Z("a")))), 0);
    relax_module *digits =
        body(ctx, "        a1 = R.exp(x)\n        a2 = R.sin(a1)\n        gv = R.exp(a2)\n");
    assert_int_equal(count(ctx, digits, relax_pattern_var_new(ctx, Z("a1"))), 1);
    assert_int_equal(count(ctx, digits, op1(ctx, "exp", relax_pattern_var_new(ctx, Z("a2")))), 1);
    assert_int_equal(count(ctx, digits, op1(ctx, "exp", relax_pattern_var_new(ctx, Z("a1")))), 0);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_with_struct_info(
                  ctx, any(ctx),
                  relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 4, 1 }, 2, RELAX_FLOAT32))),
        4);
    const relax_expr *x = relax_expr_operand(relax_base_func_as_expr(main_of(m)), 0),
                     *w = relax_expr_operand(relax_base_func_as_expr(main_of(m)), 1);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_op_new(ctx, Z("sum"), (pat[]){ relax_pattern_expr_new(ctx, x) }, 1, 0)),
        2);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_op_new(ctx, Z("sum"), (pat[]){ relax_pattern_expr_new(ctx, w) }, 1, 0)),
        0);
    pat p = any(ctx);
    assert_int_equal(
        count(ctx, m,
              op2(ctx, "multiply", p,
                  relax_pattern_with_same_shape(ctx, relax_pattern_constant_new(ctx), p), 0)),
        0);
    pat q = any(ctx), product = op2(ctx, "multiply", q, any(ctx), 0);
    assert_int_equal(count(ctx, m, relax_pattern_with_same_shape(ctx, product, q)), 2);
    /* the other side is no part of the match */
    assert_int_equal(count(ctx, m, relax_pattern_with_same_shape(ctx, product, any(ctx))), 0);
    /* an expression alone: variables are just variables without a function */
    const relax_expr *call = relax_r_exp(ctx, relax_r_sin(ctx, x));
    relax_match *match =
        relax_pattern_match(ctx, op1(ctx, "exp", op1(ctx, "sin", p)), NULL, NULL, call);
    assert_non_null(match);
    assert_ptr_equal(relax_match_expr(match, p), x);
    relax_match_destroy(match);
    const relax_block *block =
        relax_seq_block(relax_expr_operand(relax_base_func_as_expr(main_of(m)), 3), 0);
    const relax_expr *c = relax_binding_var(relax_block_binding(block, 2));
    pat cast = op1(ctx, "astype", sum);
    assert_null(relax_pattern_match(ctx, cast, m, NULL, c));
    match = relax_pattern_match(ctx, cast, m, main_of(m), c);
    assert_non_null(match);
    assert_int_equal(relax_expr_kind(relax_match_value(match, sum)), RELAX_EXPR_KIND_CALL);
    relax_match_destroy(match);
    assert_quiet(ctx);
}

/* Fields in any order: each part has one of its own, and what was chosen early is given up. */
static void unordered_tuples(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("unordered tuples"));
    pat exp_ = op1(ctx, "exp", any(ctx)), sin_ = op1(ctx, "sin", any(ctx)),
        both = op1(ctx, "sin", exp_);
    const struct { pat parts[3]; size_t count; int32_t flags; int want; } cases[] = {
        { { exp_, sin_, both }, 3, RELAX_PATTERN_UNORDERED, 1 },
        { { exp_, both, sin_ }, 3, RELAX_PATTERN_UNORDERED, 1 },
        { { exp_, sin_, both }, 3, 0, 0 },
        { { sin_, both, exp_ }, 3, 0, 1 },
        /* one part in two places is one expression; two parts are two fields */
        { { sin_, sin_, exp_ }, 3, RELAX_PATTERN_UNORDERED, 0 },
        { { exp_, op1(ctx, "exp", any(ctx)), sin_ }, 3, RELAX_PATTERN_UNORDERED, 0 },
        { { op1(ctx, "sin", any(ctx)), exp_, op1(ctx, "sin", any(ctx)) }, 3,
          RELAX_PATTERN_UNORDERED, 1 },
        { { exp_, sin_ }, 2, RELAX_PATTERN_UNORDERED, 0 },
        { { exp_, sin_ }, 2, RELAX_PATTERN_UNORDERED | RELAX_PATTERN_OPEN, 1 },
        { { exp_ }, 1, RELAX_PATTERN_UNORDERED | RELAX_PATTERN_OPEN, 1 },
    };
    for (size_t i = 0; i < N(cases); i++) {
        int got = count(
            ctx, m, relax_pattern_tuple_new(ctx, cases[i].parts, cases[i].count, cases[i].flags));
        if (got != cases[i].want)
            fail_msg("row %zu: %d", i, got);
    }
    assert_null(relax_pattern_tuple_new(ctx, cases[0].parts, 3, RELAX_PATTERN_COMMUTATIVE));
    assert_said(ctx, "OP03");
    assert_null(relax_pattern_op_new(ctx, Z("exp"), &exp_, 1, RELAX_PATTERN_UNORDERED));
    assert_said(ctx, "OP03");
}

static void symbolic_shapes(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("symbolic"));
    const relax_prim_expr *p = relax_shape_var_new(ctx, Z("p")),
                          *q = relax_shape_var_new(ctx, Z("q"));
    const relax_prim_expr *pq[] = { p, q }, *qp[] = { q, p }, *pp[] = { p, p },
                          *none[] = { NULL, NULL };
    const relax_prim_expr *product = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, p, q),
                          *twice = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, product,
                                                         relax_prim_int_new(ctx, 2));
    pat left = relax_pattern_with_shape(ctx, any(ctx), pq, 2);
    assert_int_equal(
        count(ctx, m, op2(ctx, "matmul", left, relax_pattern_with_shape(ctx, any(ctx), qp, 2), 0)),
        0);
    pat matmul =
        op2(ctx, "matmul", left,
            relax_pattern_with_shape(ctx, any(ctx), (const relax_prim_expr *[]){ q, q }, 2), 0);
    assert_int_equal(count(ctx, m, matmul), 1);
    assert_int_equal(
        count(ctx, m,
              op2(ctx, "matmul", relax_pattern_with_shape(ctx, any(ctx), pp, 2), any(ctx), 0)),
        0);
    assert_int_equal(
        count(ctx, m,
              op2(ctx, "matmul", relax_pattern_with_shape(ctx, any(ctx), none, 2), any(ctx), 0)),
        1);
    assert_int_equal(
        count(ctx, m,
              op2(ctx, "matmul", relax_pattern_with_shape(ctx, any(ctx), none, 1), any(ctx), 0)),
        0);
    /* sizes computed from sizes: p and q are bound inside, 2 * p * q is proved to be what
     * concat gives */
    pat flat = relax_pattern_op_new(
        ctx, Z("reshape"), (pat[]){ matmul, relax_pattern_shape_new(ctx, &product, 1) }, 2, 0);
    pat pair = relax_pattern_tuple_new(ctx, (pat[]){ flat, flat }, 2, 0);
    pat cat = relax_pattern_op_new(ctx, Z("concat"), &pair, 1, 0);
    pat shaped = relax_pattern_with_shape(ctx, cat, &twice, 1);
    assert_int_equal(count(ctx, m, cat), 1);
    const relax_prim_expr *tests[] = { twice, product };
    for (int i = 0; i < 2; i++) {
        pat sized =
            op1(ctx, "exp",
                relax_pattern_and_new(
                    ctx, (pat[]){ cat, relax_pattern_with_shape(ctx, any(ctx), &tests[i], 1) }, 2));
        assert_int_equal(count(ctx, m, sized), i == 0);
    }
    assert_non_null(shaped);
    const relax_block *block =
        relax_seq_block(relax_expr_operand(relax_base_func_as_expr(main_of(m)), 3), 0);
    relax_match *match = relax_pattern_match_block(ctx, matmul, m, main_of(m), block);
    const relax_expr *x = relax_expr_operand(relax_base_func_as_expr(main_of(m)), 0);
    assert_non_null(match);
    assert_ptr_equal(relax_match_size(match, p),
                     relax_struct_info_dim(relax_expr_struct_info(x), 0));
    assert_ptr_equal(relax_match_size(match, q),
                     relax_struct_info_dim(relax_expr_struct_info(x), 1));
    assert_null(relax_match_size(match, relax_shape_var_new(ctx, Z("r"))));
    relax_match_destroy(match);
    /* the function's own variables are themselves */
    const relax_prim_expr *own[] = { relax_struct_info_dim(relax_expr_struct_info(x), 1),
                                     relax_struct_info_dim(relax_expr_struct_info(x), 0) };
    const relax_prim_expr *mn = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, own[0], own[1]),
                          *nm = relax_prim_binary_new(ctx, RELAX_PRIM_MUL, own[1], own[0]);
    assert_int_equal(count(ctx, m, relax_pattern_with_shape(ctx, any(ctx), own, 2)), 0);
    assert_int_equal(count(ctx, m, relax_pattern_with_shape(ctx, any(ctx), &mn, 1)), 1);
    assert_int_equal(count(ctx, m, relax_pattern_with_shape(ctx, any(ctx), &nm, 1)), 1);
}

/* ---- functions: packed, call_tir, GlobalVars */

static void packed_and_tir(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = parsed(ctx, PROGRAM("calls"));
    pat x = any(ctx), twice = relax_pattern_global_var_new(ctx, Z("twice"));
    const relax_base_func *impure =
        relax_module_function(m, relax_module_find(m, Z("impure")));
    assert_int_equal(count(ctx, m, relax_pattern_call_tir_new(ctx, NULL, &x, 1, 0)), 2);
    assert_int_equal(count(ctx, m, relax_pattern_call_tir_new(ctx, twice, &x, 1, 0)), 1);
    assert_int_equal(count(ctx, m, relax_pattern_call_tir_new(ctx, NULL, NULL, 0, 0)), 0);
    assert_int_equal(
        count(ctx, m, relax_pattern_call_tir_new(ctx, NULL, NULL, 0, RELAX_PATTERN_OPEN)), 2);
    pat chain = relax_pattern_call_tir_new(
        ctx, NULL, (pat[]){ relax_pattern_call_tir_new(ctx, twice, &x, 1, 0) }, 1, 0);
    assert_int_equal(count(ctx, m, chain), 1);
    pat elementwise = relax_pattern_with_attrs(
        ctx, any(ctx), one_attr(ctx, "op_pattern", relax_attr_int_new(ctx, 0)));
    assert_int_equal(count(ctx, m, relax_pattern_call_tir_new(ctx, elementwise, &x, 1, 0)), 1);
    /* by content: of another module, under another name */
    relax_module *other = parsed(ctx, PROGRAM("packed and tir"));
    pat like = relax_pattern_function_new(ctx, relax_module_function(other, 0));
    assert_int_equal(count(ctx, m, relax_pattern_call_tir_new(ctx, like, &x, 1, 0)), 1);
    assert_int_equal(
        count(ctx, m, relax_pattern_call_new(ctx, relax_pattern_function_new(ctx, NULL), &x, 1, 0)),
        1);
    assert_int_equal(
        count(ctx, m,
              relax_pattern_call_new(ctx, relax_pattern_global_var_new(ctx, NULL, 0), &x, 1, 0)),
        1);
    assert_int_equal(count(ctx, m, relax_pattern_call_packed_new(ctx, NULL, 0, &x, 1, 0)), 2);
    assert_int_equal(count(ctx, m, relax_pattern_call_packed_new(ctx, Z("my.pure"), &x, 1, 0)), 1);
    assert_int_equal(count(ctx, m, relax_pattern_call_packed_new(ctx, Z("my.dps"), &x, 1, 0)), 1);
    assert_int_equal(count(ctx, m, relax_pattern_call_packed_new(ctx, Z("my.dps"), &x, 1, 0)), 1);
    assert_int_equal(count(ctx, m, relax_pattern_call_packed_new(ctx, Z("my.other"), &x, 1, 0)), 0);
    pat effect = relax_pattern_call_packed_new(ctx, Z("my.effect"), &x, 1, 0),
        direct = relax_pattern_call_new(ctx, relax_pattern_extern_func_new(ctx, Z("my.effect")), &x,
                                        1, 0);
    assert_int_equal(count_in(ctx, m, impure, effect), 1);
    assert_int_equal(count_in(ctx, m, impure, direct), 1);
    /* an impure call inside a match stays, whatever becomes of its result */
    plan p = { .ctx = ctx, .root = op1(ctx, "exp", effect), .a = x, .op = "sin" };
    relax_module *out = rewrite(&p, m, to_unary);
    assert_quiet(ctx);
    assert_int_not_equal(out, m);
    char *text = printed(ctx, relax_module_as_node(out));
    assert_non_null(strstr(text, "my.effect"));
    assert_non_null(strstr(text, "R.sin(x)"));
    free(text);
    impure = relax_module_function(out, relax_module_find(out, Z("impure")));
    assert_int_equal(count_in(ctx, out, impure, effect), 1);
    assert_int_equal(count_in(ctx, out, impure, op1(ctx, "exp", x)), 0);
}

/* ---- graphs */

static void graphs(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("graphs"));
    pat x = any(ctx), w1 = any(ctx), w2 = any(ctx), first = op2(ctx, "matmul", x, w1, 0),
        second = op2(ctx, "matmul", x, w2, 0), graph;
    const relax_block *block =
        relax_seq_block(relax_expr_operand(relax_base_func_as_expr(main_of(m)), 3), 0);
    graph = relax_pattern_graph(ctx, (pat[]){ first, second }, 2);
    relax_match *match = relax_pattern_match_block(ctx, graph, m, main_of(m), block);
    assert_non_null(match);
    assert_string_equal(relax_expr_name(relax_match_expr(match, first), NULL), "a");
    assert_string_equal(relax_expr_name(relax_match_expr(match, second), NULL), "b");
    assert_string_equal(relax_expr_name(relax_match_expr(match, x), NULL), "x");
    assert_ptr_equal(relax_match_root(match), relax_match_expr(match, first));
    relax_match_destroy(match);
    /* edges lead from what is used to its users, and back */
    pat matmul = op2(ctx, "matmul", any(ctx), any(ctx), 0), exp_ = op1(ctx, "exp", any(ctx)),
        sin_ = op1(ctx, "sin", any(ctx)), add = op2(ctx, "add", any(ctx), any(ctx), 0);
    pat fork = relax_pattern_with_use(
        ctx, relax_pattern_with_use(ctx, matmul, matmul, exp_, RELAX_PATTERN_ANYWHERE, 0), matmul,
        sin_, RELAX_PATTERN_ANYWHERE, 0);
    pat join = relax_pattern_with_use(ctx, relax_pattern_with_use(ctx, fork, exp_, add, 0, 1),
                                      sin_, add, 1, 1);
    match = relax_pattern_match_block(ctx, join, m, main_of(m), block);
    assert_non_null(match);
    assert_string_equal(relax_expr_name(relax_match_expr(match, add), NULL), "g");
    assert_string_equal(relax_expr_name(relax_match_expr(match, matmul), NULL), "a");
    relax_match_destroy(match);
    pat by_exp = relax_pattern_with_use(ctx, matmul, matmul, exp_, RELAX_PATTERN_ANYWHERE, 1);
    assert_int_equal(count(ctx, m, by_exp), 0);
    pat back = relax_pattern_with_use(ctx, add, matmul, add, 1, 0);
    match = relax_pattern_match_block(ctx, back, m, main_of(m), block);
    assert_non_null(match);
    assert_string_equal(relax_expr_name(relax_match_expr(match, matmul), NULL), "c");
    relax_match_destroy(match);
    /* neither end is known: searched for */
    pat elsewhere = relax_pattern_with_use(ctx, relax_pattern_with_dtype(ctx, add, RELAX_FLOAT32),
                                           matmul, sin_, RELAX_PATTERN_ANYWHERE, 0);
    match = relax_pattern_match_block(ctx, elsewhere, m, main_of(m), block);
    assert_non_null(match);
    assert_string_equal(relax_expr_name(relax_match_expr(match, sin_), NULL), "s");
    relax_match_destroy(match);
    /* four different matmuls there are not */
    pat four[4];
    for (int i = 0; i < 4; i++)
        four[i] = op2(ctx, "matmul", any(ctx), any(ctx), 0);
    assert_int_equal(count(ctx, m, relax_pattern_graph(ctx, four, 4)), 0);
    assert_int_equal(count(ctx, m, relax_pattern_graph(ctx, four, 3)), 1);
    /* inside a `not`: no sine uses it */
    pat unused[] = { op2(ctx, "matmul", any(ctx), any(ctx), 0), NULL };
    pat some = any(ctx), sine = op1(ctx, "sin", any(ctx));
    unused[1] = relax_pattern_not_new(
        ctx, relax_pattern_with_use(ctx, some, some, sine, RELAX_PATTERN_ANYWHERE, 0));
    assert_int_equal(count(ctx, m, relax_pattern_and_new(ctx, unused, 2)), 2);
}

/* ---- rewriting */

typedef struct fusion { plan p; pat conv, bias; } fusion;

/* A private function of what came in, with the same operations, called instead. */
static const relax_expr *to_call(void *user, relax_module_builder *mb, relax_builder *builder,
                                 const relax_match *match)
{
    fusion *f = user;
    relax_context *ctx = f->p.ctx;
    const relax_expr *in[] = { relax_match_expr(match, f->p.a), relax_match_expr(match, f->p.b),
                               relax_match_expr(match, f->bias) },
                     *params[3];
    for (int i = 0; i < 3; i++)
        params[i] = relax_var_new(ctx, Z("p"), relax_expr_struct_info(in[i]),
                                  relax_expr_place(relax_match_root(match)));
    relax_builder *b = relax_builder_create(ctx, mb);
    relax_function_options o;
    relax_function_options_init(&o, sizeof o);
    o.is_private = 1;
    o.attrs = one_attr(ctx, "Composite", relax_attr_string_new(ctx, Z("conv_bias_relu")));
    relax_builder_begin_function(b, Z("fused_conv"), params, 3, &o);
    relax_builder_begin_dataflow(b);
    const relax_expr *conv = relax_call_op_new(
        ctx, Z("nn.conv2d"), params, 2, relax_expr_attrs(relax_match_value(match, f->conv)), 0);
    relax_expr *out = relax_builder_emit_output(
        b, relax_r_nn_relu(ctx, relax_r_add(ctx, conv, params[2])), NULL, 0, 0);
    relax_builder_end_dataflow(b);
    relax_expr *gv = relax_builder_end_function(b, out);
    relax_builder_destroy(b);
    return relax_call_new(ctx, gv, in, 3, NULL, 0);
}

static void private_function(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    fusion f = { .p = { .ctx = ctx, .a = any(ctx), .b = any(ctx) }, .bias = any(ctx) };
    f.conv = relax_pattern_op_new(ctx, Z("nn.conv2d"), (pat[]){ f.p.a, f.p.b }, 2, 0);
    f.p.root = op1(ctx, "nn.relu", op2(ctx, "add", f.conv, f.bias, RELAX_PATTERN_COMMUTATIVE));
    relax_module *m = parsed(ctx, PROGRAM("dense")),
                 *out = relax_pattern_rewrite(ctx, m, NULL, 0, f.p.root, to_call, &f, NULL);
    assert_quiet(ctx);
    assert_int_equal(relax_module_num_functions(out), 2);
    assert_int_equal(relax_module_well_formed(ctx, out, RELAX_CHECK_NORMAL), 1);
    const relax_expr *seq = relax_expr_operand(relax_base_func_as_expr(main_of(out)), 3);
    assert_int_equal(relax_block_num_bindings(relax_seq_block(seq, 0)), 1);
    char *text = printed(ctx, relax_module_as_node(out));
    assert_non_null(strstr(
        text, "gv: R.Tensor((1, 4, 6, 6), dtype=\"float32\") = cls.fused_conv(x, k, bias)"));
    assert_non_null(strstr(text, "\"Composite\": \"conv_bias_relu\""));
    relax_module *again = relax_module_parse(ctx, Z("again.py"), Z(text));
    assert_same(ctx, again, out);
    free(text);
}

static void inside_branches(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = fma_plan(ctx, 0);
    relax_module *m = parsed(ctx, PROGRAM("branches"));
    const char *want = PROGRAM("inside branches");
    /* the one across the border is none */
    assert_same(ctx, rewrite(&p, m, to_fma), parsed(ctx, want));
    assert_int_equal(p.calls, 2);
}

static int32_t has_place(void *user, const relax_node *node)
{
    const relax_binding *b = relax_node_as_binding(node);
    if (b && relax_binding_var(b) && !relax_expr_place(relax_binding_var(b)))
        fail_msg("%s has no place", relax_expr_name(relax_binding_var(b), NULL));
    return 0;
}

static void places(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = { .ctx = ctx, .a = any(ctx) };
    p.b = op2(ctx, "matmul", op1(ctx, "nn.relu", p.a), any(ctx), 0);
    p.root = op2(ctx, "add", p.b, p.a, RELAX_PATTERN_COMMUTATIVE);
    relax_module
        *m = body(
            ctx,
            "        r = R.nn.relu(x)\n        m = R.matmul(r, w)\n        gv = R.add(x, m)\n"),
        *out = rewrite(&p, m, residual_norm);
    assert_quiet(ctx);
    assert_ptr_not_equal(out, m);
    assert_int_equal(relax_node_walk(ctx, relax_module_as_node(out), has_place, NULL, NULL),
                     RELAX_OK);
}

static const relax_expr *to_a(void *user, relax_module_builder *mb, relax_builder *builder,
                              const relax_match *match)
{
    plan *p = user;
    p->calls++;
    return relax_match_expr(match, p->a);
}

/* The replacement is a variable: it takes the root's place, but does not leave its block. */
static void replaced_by_leaf(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = { .ctx = ctx, .a = any(ctx) };
    p.root = op1(ctx, "negative", op1(ctx, "negative", p.a));
    relax_module *m = body(ctx, PROGRAM("replaced by leaf"));
    assert_same(ctx, rewrite(&p, m, to_a),
                body(ctx, "        a = R.exp(x)\n        d = R.sin(a)\n        gv = d\n"));
    const char *plain = PROGRAM("replaced by leaf, without a block");
    assert_same(ctx, rewrite(&p, parsed(ctx, plain), to_a),
                parsed(ctx, PROGRAM("replaced by leaf, without a block, wanted")));
}

/* Three products of one matrix: one product with all weights, and a slice of it for each. */
typedef struct parallel {
    relax_context *ctx;
    pat x, weights[3], products[3];
    int order, wrong;
} parallel;

static const relax_expr *slice(relax_context *ctx, const relax_expr *of, int64_t i)
{
    const relax_expr *args[] = { of };
    const relax_attr *attrs = one_attr(ctx, "indices_or_sections", relax_attr_int_new(ctx, 3));
    attrs = relax_attr_map_with(ctx, attrs, Z("axis"), relax_attr_int_new(ctx, 1));
    return relax_tuple_get_item_new(ctx, relax_call_op_new(ctx, Z("split"), args, 1, attrs, 0), i);
}

static const relax_expr *combine(void *user, relax_module_builder *mb, relax_builder *builder,
                                 const relax_match *match)
{
    parallel *p = user;
    relax_context *ctx = p->ctx;
    const relax_expr *weights[3], *all;
    for (int i = 0; i < 3; i++)
        weights[i] = relax_match_expr(match, p->weights[i]);
    all = relax_tuple_new(ctx, weights, 3);
    all = relax_call_op_new(ctx, Z("concat"), &all, 1,
                            one_attr(ctx, "axis", relax_attr_int_new(ctx, 1)), 0);
    all = relax_r_matmul(ctx, relax_match_expr(match, p->x), all, NULL);
    all = relax_builder_emit(builder, all, Z("all"), 0);
    for (int i = 0; i < 3; i++)
        if (i != p->order)
            assert_int_equal(relax_match_replace(match, p->products[i], slice(ctx, all, i)),
                             RELAX_OK);
    if (p->wrong == 1) /* a parameter is bound nowhere */
        assert_int_equal(relax_match_replace(match, p->x, all), RELAX_OK);
    if (p->wrong == 2) /* another shape */
        assert_int_equal(relax_match_replace(match, p->products[1], all), RELAX_OK);
    return p->wrong == 3 ? NULL : slice(ctx, all, p->order);
}

static parallel parallel_products(relax_context *ctx, int order)
{
    parallel p = { .ctx = ctx, .x = any(ctx), .order = order };
    for (int i = 0; i < 3; i++) {
        p.weights[i] = any(ctx);
        p.products[i] = op2(ctx, "matmul", p.x, p.weights[i], 0);
    }
    return p;
}

static relax_module *combined(parallel *p, const relax_module *m)
{
    pat parts[] = { p->products[p->order], p->products[(p->order + 1) % 3],
                    p->products[(p->order + 2) % 3] };
    const relax_pattern *graph = relax_pattern_graph(p->ctx, parts, 3);
    return relax_pattern_rewrite(p->ctx, m, NULL, 0, graph, combine, p, NULL);
}

static void several_values(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = body(ctx, PROGRAM("several values"));
    parallel p = parallel_products(ctx, 0);
    assert_same(ctx, combined(&p, m),
                body(ctx, PROGRAM("several values, wanted")));
    /* nothing is taken from what is left as it is */
    p.wrong = 3;
    assert_ptr_equal(combined(&p, m), m);
    for (p.wrong = 1; p.wrong < 3; p.wrong++) {
        assert_null(combined(&p, m));
        assert_said(ctx, "OP17");
    }
    /* an output before the root and one behind it: they leave the block */
    m = parsed(ctx, PROGRAM("several values, outputs on both sides"));
    p = parallel_products(ctx, 1);
    for (int i = 0; i < 3; i++) {
        const relax_expr *param = relax_expr_operand(relax_base_func_as_expr(main_of(m)),
                                                     (size_t)(i + 1) % 3);
        p.weights[i] = relax_pattern_expr_new(ctx, param);
        p.products[i] = op2(ctx, "matmul", p.x, p.weights[i], 0);
    }
    relax_module *out = combined(&p, m);
    assert_quiet(ctx);
    assert_non_null(out);
    assert_int_equal(relax_module_well_formed(ctx, out, RELAX_CHECK_ALL), 1);
    char *text = printed(ctx, relax_module_as_node(out));
    /* the product before the root is still used there, by e */
    assert_int_equal(count(ctx, out, op2(ctx, "matmul", any(ctx), any(ctx), 0)), 2);
    relax_module *again = parsed(ctx, text);
    assert_same(ctx, again, out);
    free(text);
    /* only while a rewriting asks */
    const relax_block *block =
        relax_seq_block(relax_expr_operand(relax_base_func_as_expr(main_of(m)), 3), 0);
    relax_match *match = relax_pattern_match_block(ctx, p.products[0], m, main_of(m), block);
    assert_int_not_equal(relax_match_replace(match, p.products[0],
                                             relax_match_expr(match, p.x)), RELAX_OK);
    assert_said(ctx, "OP09");
    relax_match_destroy(match);
}

/* Replacements per block and per function, also in branches and local functions in them. */
static void many_replacements(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = { .ctx = ctx, .a = any(ctx), .op = "sin" };
    p.root = op1(ctx, "exp", p.a);
    assert_same(ctx, rewrite(&p, parsed(ctx, PROGRAM("many replacements")), to_unary),
                parsed(ctx, PROGRAM("many replacements, wanted")));
    assert_int_equal(p.calls, 7);
}

enum { FUNCTIONS = 1000 };

static relax_module *many(relax_context *ctx)
{
    char *text = malloc(FUNCTIONS * 200 + 200),
         *at = text + sprintf(text, HEAD "@I.ir_module\nclass Module:\n");
    for (int i = 0; i < FUNCTIONS; i++)
        at +=
            sprintf(at, PROGRAM("many"), i, i == 700 ? "exp" : "cos");
    relax_module *m = parsed(ctx, text);
    free(text);
    return m;
}

static void many_functions(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    plan p = { .ctx = ctx, .a = any(ctx), .op = "tanh" };
    p.root = op1(ctx, "sin", op1(ctx, "exp", p.a));
    relax_module *m = many(ctx), *out = rewrite(&p, m, to_unary);
    assert_quiet(ctx);
    assert_int_equal(relax_module_num_functions(out), FUNCTIONS);
    for (size_t i = 0; i < FUNCTIONS; i++)
        assert_int_equal(relax_module_function(m, i) == relax_module_function(out, i), i != 700);
    assert_ptr_equal(relax_pattern_rewrite(ctx, m, Z("f699"), p.root, to_unary, &p, NULL), m);
    assert_int_equal(relax_module_well_formed(ctx, out, RELAX_CHECK_NORMAL), 1);
}

/* ---- bounds */

static relax_module *chain(relax_context *ctx, int length, bool sums)
{
    relax_module_builder *mb = relax_module_builder_create(ctx, NULL);
    relax_builder *b = relax_builder_create(ctx, mb);
    const relax_expr *x = relax_var_new(
        ctx, Z("x"), relax_struct_info_tensor_of_ints(ctx, (int64_t[]){ 4 }, 1, RELAX_FLOAT32), 0);
    relax_builder_begin_function(b, Z("main"), &x, 1, NULL);
    relax_builder_begin_dataflow(b);
    for (int i = 0; i < length; i++)
        x = relax_builder_emit(
            b,
            sums ? relax_r_add(ctx, x, relax_builder_emit(b, relax_r_exp(ctx, x), NULL, 0, 0))
                 : relax_r_exp(ctx, x),
            NULL, 0, 0);
    relax_expr *out = relax_builder_emit_output(b, relax_r_sin(ctx, x), NULL, 0, 0);
    relax_builder_end_dataflow(b);
    relax_builder_end_function(b, out);
    relax_module *m = relax_module_builder_finish(mb);
    relax_builder_destroy(b);
    relax_module_builder_destroy(mb);
    assert_quiet(ctx);
    return m;
}

static void deep(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    enum { DEPTH = 50000 };
    relax_module *m = chain(ctx, DEPTH, false);
    plan p = { .ctx = ctx, .a = any(ctx), .op = "tanh" };
    pat inner = p.a;
    for (int i = 0; i < DEPTH; i++)
        inner = i % 2
                    ? relax_pattern_not_new(ctx, relax_pattern_not_new(ctx, op1(ctx, "exp", inner)))
                    : op1(ctx, "exp", inner);
    assert_int_equal(count(ctx, m, op1(ctx, "sin", inner)), 1);
    inner = p.a;
    for (int i = 0; i < DEPTH; i++)
        inner = op1(ctx, "exp", inner);
    p.root = op1(ctx, "sin", inner);
    relax_module *out = rewrite(&p, m, to_unary);
    assert_quiet(ctx);
    assert_int_equal(relax_block_num_bindings(relax_seq_block(
                         relax_expr_operand(relax_base_func_as_expr(main_of(out)), 1), 0)),
                     1);
}

/* A commutative pattern has 2^n ways to fail here. */
static void too_many_ways(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    relax_module *m = chain(ctx, 60, true);
    pat x = any(ctx), p = op1(ctx, "cos", any(ctx));
    for (int i = 0; i < 40; i++)
        p = op2(ctx, "add", p,
                relax_pattern_or_new(ctx, (pat[]){ any(ctx), op1(ctx, "exp", any(ctx)), x }, 3),
                RELAX_PATTERN_COMMUTATIVE);
    clock_t begin = clock();
    int found = 0;
    pat one[] = { p, op1(ctx, "exp", any(ctx)) };
    relax_status status = relax_pattern_match_all(ctx, relax_pattern_or_new(ctx, one, 2), m,
                                                  main_of(m), count_match, &found);
    if (status == RELAX_OK) /* fails soon enough: a search among bindings does not */
        assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
    relax_context_clear_diagnostics(ctx);
    pat parts[12];
    for (size_t i = 0; i < N(parts); i++)
        parts[i] = op1(ctx, "exp", any(ctx));
    parts[N(parts) - 1] = op1(ctx, "cos", any(ctx));
    begin = clock();
    assert_int_equal(relax_pattern_match_all(ctx, relax_pattern_graph(ctx, parts, N(parts)), m,
                                             main_of(m), count_match, &found),
                     RELAX_ERROR_INVALID_ARGUMENT);
    assert_true(clock() - begin < 20 * CLOCKS_PER_SEC);
    assert_non_null(strstr(relax_diagnostic_message(ctx, 0, NULL), "too many ways"));
    assert_said(ctx, "OP18");
    plan r = { .ctx = ctx, .root = relax_pattern_graph(ctx, parts, N(parts)) };
    assert_null(rewrite(&r, m, to_fma));
    assert_said(ctx, "OP18");
}

/* ---- misuse */

static const relax_expr *bad_callback(void *user, relax_module_builder *mb, relax_builder *b,
                                      const relax_match *match)
{
    plan *p = user;
    relax_context *ctx = p->ctx;
    const relax_expr *a = relax_match_expr(match, p->a);
    relax_prim_expr *two = relax_prim_int_new(ctx, 2);
    switch (p->leave) {
    case 0: return relax_r_sum(ctx, a, NULL);                                /* another shape */
    case 1: return relax_r_matmul(ctx, a, relax_r_sum(ctx, a, NULL), NULL);  /* ill-typed */
    case 2: return (const relax_expr *)(const void *)two;                    /* no expression */
    case 3: relax_builder_end_dataflow(b); return NULL;
    case 4: relax_builder_begin_function(b, Z("f"), &a, 1, NULL); return NULL;
    case 5: relax_builder_end_function(b, a); return NULL;
    case 6: relax_builder_end_if(b, a, NULL, 0, 0); return NULL;
    /* not theirs to destroy: nothing happens */
    case 7: relax_builder_destroy(b); relax_module_builder_destroy(mb); return relax_r_sin(ctx, a);
    /* goes away again */
    default: relax_builder_emit(b, relax_r_cos(ctx, a), NULL, 0, 0); return NULL;
    }
}

/* Replacements that mention what is not bound there: later variables, those of other functions,
 * the root itself. */
static const relax_expr *to_abs_of(void *user, relax_module_builder *mb, relax_builder *builder,
                                   const relax_match *match)
{
    plan *p = user;
    const relax_expr *a = p->calls == 0 ? relax_match_root(match) : relax_match_expr(match, p->b);
    return relax_r_abs(p->ctx, p->calls == 2 ? (const relax_expr *)(const void *)p->op : a);
}

static void replacements_out_of_reach(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    static const char *const codes[] = { "WF02", "WF03", "WF02" };
    relax_module *m = body(ctx, "        a = R.exp(x)\n        b = R.sin(a)\n"
                                "        gv = R.cos(b)\n"),
                 *other = body(ctx, "        gv = R.exp(x)\n");
    plan p = { .ctx = ctx, .a = any(ctx) };
    p.b = op1(ctx, "cos", any(ctx));
    pat parts[] = { op1(ctx, "exp", p.a), p.b };
    p.root = relax_pattern_graph(ctx, parts, 2);
    /* a foreign variable comes as `op` */
    p.op = (const char *)(const void *)relax_expr_operand(relax_base_func_as_expr(main_of(other)),
                                                          0);
    for (p.calls = 0; p.calls < 3; p.calls++) {
        assert_null(rewrite(&p, m, to_abs_of));
        assert_said(ctx, codes[p.calls]);
    }
}

static void misuse(void **state)
{
    relax_context *ctx = ((fixture *)*state)->ctx;
    const char *codes[] = { "OP17", "TY08", "OP02", "OP09", NULL, "OP09", "OP09" };
    relax_module *m = body(ctx, "        gv = R.exp(x)\n");
    plan p = { .ctx = ctx, .a = any(ctx) };
    p.root = op1(ctx, "exp", p.a);
    for (p.leave = 0; p.leave < 7; p.leave++) {
        assert_null(rewrite(&p, m, bad_callback));
        assert_true(relax_context_num_errors(ctx) > 0);
        if (codes[p.leave])
            assert_said(ctx, codes[p.leave]);
        relax_context_clear_diagnostics(ctx);
    }
    assert_same(ctx, rewrite(&p, m, bad_callback), body(ctx, "        gv = R.sin(x)\n"));
    p.leave = 8;
    assert_ptr_equal(rewrite(&p, m, bad_callback), m);
    assert_null(relax_pattern_op_new(ctx, Z("no.such"), NULL, 0, 0));
    assert_said(ctx, "OP06");
    assert_null(relax_pattern_or_new(ctx, NULL, 0));
    assert_said(ctx, "OP03");
    assert_null(relax_pattern_op_new(ctx, Z("exp"), &p.a, 1, RELAX_PATTERN_COMMUTATIVE));
    assert_said(ctx, "OP03");
    assert_null(relax_pattern_not_new(ctx, (pat)(const void *)m));
    assert_said(ctx, "OP02");
    assert_null(relax_call_op_new(ctx, Z("exp"),
                                  (const relax_expr *[]){ (const relax_expr *)(const void *)p.a },
                                  1, NULL, 0));
    assert_said(ctx, "OP02");
    assert_null(relax_pattern_rewrite(ctx, m, Z("none"), p.root, to_a, &p, NULL));
    assert_said(ctx, "OP15");
    relax_context *other = relax_context_create(NULL);
    assert_null(relax_pattern_not_new(other, p.a));
    assert_said(other, "OP02");
    relax_context_release(other);
    relax_rewrite_options o;
    relax_rewrite_options_init(&o, sizeof o);
    o.max_rounds = 0;
    assert_null(relax_pattern_rewrite(ctx, m, NULL, 0, p.root, to_a, &p, &o));
    assert_said(ctx, "OP03");
    assert_null(relax_match_expr(NULL, p.a));
    assert_null(relax_match_root(NULL));
}

/* ---- memory */

typedef struct failing { fixture f; size_t calls, fail_at; } failing;

static void *failing_alloc(void *user, size_t size, size_t align)
{
    failing *f = user;
    return ++f->calls == f->fail_at ? NULL : count_alloc(&f->f, size, align);
}

static void *failing_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    failing *f = user;
    return ++f->calls == f->fail_at ? NULL : count_resize(&f->f, ptr, old_size, new_size, align);
}

static void failing_free(void *user, void *ptr, size_t size, size_t align)
{
    count_free(&((failing *)user)->f, ptr, size, align);
}

static const relax_expr *careful(void *user, relax_module_builder *mb, relax_builder *b,
                                 const relax_match *match)
{
    plan *p = user;
    const relax_expr *a = relax_match_expr(match, p->a);
    relax_builder_emit(b, relax_r_exp(p->ctx, a), NULL, 0, 0);
    return relax_r_tanh(p->ctx, relax_r_multiply(p->ctx, a, a));
}

/* Everything once, request number fail_at refused. */
static size_t attempt(size_t fail_at)
{
    failing f = { 0 };
    relax_context_options options;
    relax_context_options_init(&options, sizeof options);
    relax_allocator allocator = { sizeof allocator, &f, failing_alloc, failing_resize,
                                  failing_free };
    options.allocator = &allocator;
    relax_context *ctx = relax_context_create(&options);
    relax_module *m = parsed(ctx, PROGRAM("symbolic")),
                 *branches = parsed(ctx, PROGRAM("branches"));
    size_t before = f.calls;
    f.fail_at = fail_at ? before + fail_at : 0;
    const relax_prim_expr *pq[] = { relax_shape_var_new(ctx, Z("p")),
                                    relax_shape_var_new(ctx, Z("q")) };
    plan p = { .ctx = ctx, .a = any(ctx) };
    pat add = op2(ctx, "add", p.a, any(ctx), RELAX_PATTERN_COMMUTATIVE),
        sized = relax_pattern_with_shape(ctx, add, pq, 2);
    pat either[] = { relax_pattern_not_new(ctx, any(ctx)), sized };
    p.root = op2(ctx, "matmul", relax_pattern_or_new(ctx, either, 2), any(ctx), 0);
    relax_module *out = rewrite(&p, m, careful);
    pat mul = op2(ctx, "multiply", any(ctx), any(ctx), 0);
    p.root = relax_pattern_with_use(ctx, op2(ctx, "add", mul, p.a, 0), mul, any(ctx),
                                    RELAX_PATTERN_ANYWHERE, 1);
    relax_module *out2 = rewrite(&p, branches, careful);
    const relax_block *block =
        relax_seq_block(relax_expr_operand(relax_base_func_as_expr(main_of(m)), 3), 0);
    relax_match *match = relax_pattern_match_block(ctx, sized, m, main_of(m), block);
    bool good = out && out2 && match;
    size_t calls = f.calls - before;
    bool failed = fail_at && calls >= fail_at;
    f.fail_at = 0;
    if (!good && !failed)
        assert_quiet(ctx);
    assert_true(good || failed);
    if (!good)
        assert_true(relax_context_num_errors(ctx) > 0);
    if (out && out2)
        assert_true(out != m && out2 != branches);
    relax_match_destroy(match);
    relax_context_release(ctx);
    assert_int_equal(f.f.live, 0);
    return calls;
}

static void each_allocation(void **state)
{
    size_t calls = attempt(0);
    assert_true(calls > 20);
    for (size_t i = 1; i <= calls; i++)
        attempt(i);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, open_fixture, close_fixture)
    const struct CMUnitTest tests[] = {
        CASE(diamond),
        CASE(used_outside),
        CASE(commuted),
        CASE(overlapping),
        CASE(residual_block),
        CASE(or_and_not),
        CASE(conditions),
        CASE(symbolic_shapes),
        CASE(packed_and_tir),
        CASE(graphs),
        CASE(private_function),
        CASE(inside_branches),
        CASE(places),
        CASE(replaced_by_leaf),
        CASE(unordered_tuples),
        CASE(replacements_out_of_reach),
        CASE(several_values),
        CASE(many_replacements),
        CASE(many_functions),
        CASE(deep),
        CASE(too_many_ways),
        CASE(misuse),
        cmocka_unit_test(each_allocation),
    };
    return cmocka_run_group_tests_name("api_pattern", tests, NULL, NULL);
}
