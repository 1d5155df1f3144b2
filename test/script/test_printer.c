/* test_printer.c: printing of IR made by constructors: what no text gives, lone nodes, deep and
 * wide programs, failing memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arith/arith.h"
#include "op/op.h"
#include "script/print.h"
#include "script/read.h"
#include "text_file.h"

static rlx_context *ctx;

static int make_context(void **state)
{
    ctx = rlx_context_create(NULL, 0);
    if (ctx)
        ctx->ops = rlx_op_table_get();
    return ctx ? 0 : -1;
}

static int drop_context(void **state)
{
    rlx_context_release(ctx);
    return 0;
}

static void check(const rlx_node *n, const rlx_print_options *options, const char *want)
{
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    assert_non_null(n);
    rlx_script_print(&ctx->memory, n, options, &b);
    assert_false(b.failed);
    assert_string_equal(b.data ? b.data : "", want);
    rlx_buf_free(&b);
}

static const rlx_prim *size_var(const char *name)
{
    return &rlx_prim_var_new(ctx, rlx_string_z(ctx, name), RELAX_INT64, 0)->node;
}
static const rlx_prim *typed_var(const char *name, rlx_dtype t)
{
    return &rlx_prim_var_new(ctx, rlx_string_z(ctx, name), t, 0)->node;
}
static const rlx_var *named(const char *name, int32_t number, const rlx_sinfo *s)
{
    return rlx_var_new(ctx, false, rlx_string_z(ctx, name), number, s, 0);
}
static const rlx_prim *bin(enum rlx_node_kind k, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_binary_new(ctx, k, a, b);
}

/* ---- lone nodes */
static void lone_nodes(void **state)
{
    const rlx_prim *n = size_var("n"),
                   *dims[] = { n, rlx_int64(ctx, 4), bin(RLX_NODE_MUL, n, rlx_int64(ctx, 2)) };
    const rlx_sinfo *t = rlx_tensor_info(ctx, rlx_shape_new(ctx, dims, 3), RELAX_FLOAT32, 3, NULL);
    const rlx_sinfo *both[] = { t, rlx_object_info(ctx) };
    check(t, NULL, "R.Tensor((n, 4, n * 2), dtype=\"float32\")");
    check(rlx_tuple_info(ctx, both, 2), NULL,
          "R.Tuple(R.Tensor((n, 4, n * 2), dtype=\"float32\"), R.Object)");
    check(rlx_opaque_func_info(ctx, RLX_DERIVE_NAMED, rlx_string_z(ctx, "infer.x"),
                               rlx_object_info(ctx), false),
          NULL, "R.Callable(ret=R.Object, purity=False, derive_func=\"infer.x\")");
    check(bin(RLX_NODE_ADD, n, rlx_int64(ctx, 1)), NULL, "n + 1");
    check(rlx_prim_value_new(ctx, rlx_int(ctx, RELAX_UINT8, 7)), NULL, "R.prim_value(T.uint8(7))");
    check(rlx_tuple_get_item_new(ctx, &named("t", -1, rlx_object_info(ctx))->node, 3, 0), NULL,
          "t[3]");
    check(rlx_string_imm_new(ctx, RLX_SLICE("a\x01\xff\"")), NULL, "R.str(\"a\\x01\\xFF\\\"\")");
    check(
        rlx_attr_list_new(
            ctx, (const rlx_attr *const[]){ rlx_attr_none(ctx), rlx_attr_bool_new(ctx, true) }, 2),
        NULL, "[None, True]");
}

/* Dtypes that the text must say, and those that it need not. */
static void literals(void **state)
{
    const rlx_prim *n = size_var("n"),
                   *s = bin(RLX_NODE_ADD, rlx_int64(ctx, 1), rlx_int64(ctx, 2));
    check(rlx_int(ctx, RELAX_UINT64, -1), NULL, "T.uint64(18446744073709551615)");
    check(rlx_prim_value_new(ctx, s), NULL, "R.prim_value(T.Add(T.int64(1), T.int64(2)))");
    check(rlx_prim_value_new(ctx, bin(RLX_NODE_MAX, n, rlx_int64(ctx, 2))), NULL,
          "R.prim_value(T.max(n, 2))");
    check(rlx_prim_value_new(ctx, bin(RLX_NODE_ADD, n, rlx_int64(ctx, 0))), NULL,
          "R.prim_value(T.Add(n, T.int64(0)))");
    check(rlx_prim_value_new(ctx, rlx_select_new(ctx, bin(RLX_NODE_GT, n, rlx_int64(ctx, 3)),
                                                 rlx_int64(ctx, 1), rlx_int64(ctx, 2))),
          NULL, "R.prim_value(T.Select(n > 3, T.int64(1), T.int64(2)))");
    check(rlx_prim_value_new(ctx, rlx_float(ctx, RELAX_FLOAT64, 1e100)), NULL,
          "R.prim_value(T.float64("
          "100000000000000001590289110975991804683608085639452813897813275577478387721703810608134"
          "69985856815104.0))");
    check(rlx_prim_value_new(ctx, rlx_float(ctx, RELAX_FLOAT32, -0.75)), NULL,
          "R.prim_value(T.float32(-0.75))");
}

/* ---- names */
static const rlx_function *function_of(const rlx_var *const *params, size_t count,
                                       const rlx_binding *const *bindings, size_t num,
                                       const rlx_expr *result, const rlx_sinfo *ret)
{
    const rlx_node *block = rlx_block_new(ctx, false, bindings, num, 0);
    const rlx_expr *body = rlx_seq_new(ctx, num ? &block : NULL, num ? 1 : 0, result, 0);
    const rlx_attr *key = rlx_attr_string_new(ctx, RLX_SLICE("global_symbol")),
                   *name = rlx_attr_string_new(ctx, RLX_SLICE("f"));
    return rlx_function_new(ctx, (const rlx_expr *const *)params, count, body, ret, true, true,
                            rlx_attrs_new(ctx, &key, &name, 1), NULL, 0);
}

static void names_are_amended(void **state)
{
    static const struct { const char *hint; int32_t number; const char *want;
    } rows[] = {
        { "x", -1, "x" },         { "lv", 12, "lv12" },      { "", -1, "v" },
        { "a.b c", -1, "a_b_c" }, { "class", -1, "class_" }, { "3x", -1, "_3x" },
        { "cls", -1, "cls_1" },   { "T", -1, "T_1" },        { "Module", -1, "Module" },
        { "for", 1, "for1" },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        const rlx_var *v = named(rows[i].hint, rows[i].number, rlx_object_info(ctx));
        char want[200];
        snprintf(want, sizeof want, PRINTED("names are amended"),
                 rows[i].want, rows[i].want);
        check(&function_of(&v, 1, NULL, 0, &v->node, rlx_object_info(ctx))->node, NULL, want);
    }
}

/* The least free suffix, also after names have come and gone. */
static void suffixes(void **state)
{
    const rlx_sinfo *o = rlx_object_info(ctx);
    const rlx_var *v[5];
    static const char *const hints[] = { "x_2", "x", "x", "x", "x_1" };
    for (size_t i = 0; i < 5; i++)
        v[i] = named(hints[i], -1, o);
    check(&function_of(v, 5, NULL, 0, &v[3]->node, o)->node, NULL,
          PRINTED("suffixes"));
}

/* One function object under two names: its variables are defined twice. */
static void a_function_printed_twice(void **state)
{
    const rlx_var *v = named("x", -1, rlx_object_info(ctx));
    const rlx_function *f = rlx_function_new(
        ctx, (const rlx_expr *const[]){ &v->node }, 1, rlx_seq_new(ctx, NULL, 0, &v->node, 0),
        rlx_object_info(ctx), true, false, rlx_attrs_in_order(ctx, NULL, NULL, 0), NULL, 0);
    const rlx_expr *names[] = { &rlx_global_var_new(ctx, rlx_string_z(ctx, "b"), 0)->node,
                                &rlx_global_var_new(ctx, rlx_string_z(ctx, "a"), 0)->node };
    const rlx_node *both[] = { &f->node, &f->node };
    check(&rlx_module_new(ctx, names, both, 2, NULL, NULL, 0)->node, NULL,
          PRINTED("a function printed twice"));
}

/* ---- options */
static void options(void **state)
{
    const rlx_var *x = named("x", -1,
                             rlx_tensor_ints(ctx, (const int64_t[]){ 2 }, 1, RELAX_FLOAT32)),
                  *y = named("y", -1, x->sinfo);
    float two[] = { 1, 2 };
    const rlx_expr *k = rlx_constant_new(ctx, RELAX_FLOAT32, (const int64_t[]){ 2 }, 1, two, 0);
    const rlx_expr *call = rlx_call_new(ctx, rlx_op_node(ctx, rlx_op_find(RLX_SLICE("add"))),
                                        (const rlx_expr *const[]){ &x->node, k }, 2, NULL, 0,
                                        rlx_attrs_in_order(ctx, NULL, NULL, 0), 0);
    const rlx_binding *b = rlx_var_binding_new(ctx, y, call, 0);
    const rlx_function *f = function_of(&x, 1, &b, 1, &y->node, x->sinfo);
    check(&f->node, &(rlx_print_options){ .no_metadata = true, .no_struct_info = true },
          PRINTED("options, no struct info"));
    const rlx_expr *name = &rlx_global_var_new(ctx, rlx_string_z(ctx, "f"), 0)->node;
    const rlx_function *id = function_of(&x, 1, NULL, 0, &x->node, x->sinfo);
    const rlx_node *fs[] = { &id->node };
    const rlx_module *m = rlx_module_new(ctx, &name, fs, 1, NULL, NULL, 0);
    check(&m->node, &(rlx_print_options){ .standalone = true },
          PRINTED("options, standalone"));
    check(&m->node, &(rlx_print_options){ .module_name = "Net" },
          PRINTED("options, name of the module"));
}

/* Text is appended to what the buffer holds; inserts go where they belong all the same. */
static void appends(void **state)
{
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    rlx_buf_lit(&b, "before|\n");
    const rlx_var *x = named("x", -1, rlx_object_info(ctx));
    rlx_script_print(&ctx->memory,
                     &function_of(&x, 1, NULL, 0, &x->node, rlx_object_info(ctx))->node, NULL, &b);
    assert_string_equal(b.data, PRINTED("appends"));
    rlx_buf_free(&b);
}

/* ---- statements */
static void lone_statements(void **state)
{
    const rlx_prim *i = typed_var("i", RELAX_INT32), *eight = rlx_int(ctx, RELAX_INT32, 8),
                   *zero = rlx_int(ctx, RELAX_INT32, 0);
    const rlx_buffer *a =
        rlx_buffer_new(ctx, rlx_string_z(ctx, "A"), RELAX_FLOAT32, &eight, 1, NULL, 0);
    const rlx_stmt *s = rlx_store(ctx, a, rlx_float(ctx, RELAX_FLOAT32, 1), &i, 1, 0);
    check(s, NULL, "A = T.Buffer((8,))\ni = T.int32()\nA[i] = T.float32(1.0)");
    check(rlx_for(ctx, rlx_as_prim_var(i), zero, eight, RLX_FOR_SERIAL, s, 0), NULL,
          "for i in range(8):\n    A = T.Buffer((8,))\n    A[i] = T.float32(1.0)");
    check(rlx_seq_stmt_new(ctx, NULL, 0, 0), NULL, "pass");
    const rlx_var *y = named("y", -1, rlx_object_info(ctx));
    check(rlx_var_binding_new(ctx, y, rlx_string_imm_new(ctx, RLX_SLICE("s")), 0), NULL,
          "y: R.Object = R.str(\"s\")");
    check(rlx_match_cast_new(ctx, NULL, rlx_object_info(ctx), &y->node, 0), NULL,
          "_ = R.match_cast(y, R.Object)");
}

/* ---- depth and width */
static size_t printed_length(const rlx_node *n)
{
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    assert_non_null(n);
    rlx_script_print(&ctx->memory, n, NULL, &b);
    assert_false(b.failed);
    size_t len = b.len;
    rlx_buf_free(&b);
    return len;
}

enum { DEEP = 10000 };

static void deep_expressions(void **state)
{
    const rlx_expr *t = rlx_string_imm_new(ctx, RLX_SLICE("x"));
    const rlx_sinfo *s = rlx_object_info(ctx);
    const rlx_prim *n = size_var("n"), *left = n, *right = n, *no = bin(RLX_NODE_LT, n, n);
    const rlx_attr *a = rlx_attr_none(ctx);
    for (int i = 0; i < DEEP; i++) {
        t = rlx_tuple_new(ctx, &t, 1, 0);
        s = rlx_tuple_info(ctx, &s, 1);
        left = bin(RLX_NODE_ADD, left, n);
        right = bin(RLX_NODE_MUL, n, right);
        no = rlx_not(ctx, no);
        a = rlx_attr_list_new(ctx, &a, 1);
    }
    /* ( ... ,) around R.str("x") */
    assert_int_equal(printed_length(t), DEEP * 3 + 10);
    /* R.Tuple(...) around R.Object */
    assert_int_equal(printed_length(s), DEEP * 9 + 8);
    /* n + n + n ... */
    assert_int_equal(printed_length(left), DEEP * 4 + 1);
    /* n * (n * (n ... */
    assert_int_equal(printed_length(right), DEEP * 4 + 1 + 2 * (DEEP - 1));
    /* not not ... n < n */
    assert_int_equal(printed_length(no), DEEP * 4 + 5);
    assert_int_equal(printed_length(a), DEEP * 2 + 4);
}

static void deep_statements(void **state)
{
    const rlx_prim *one = rlx_int(ctx, RELAX_INT32, 1);
    rlx_evaluate *e = rlx_node_new(ctx, RLX_NODE_EVALUATE);
    e->value = one;
    const rlx_stmt *s = &e->node;
    for (int i = 0; i < DEEP; i++) { /* each the last of its suite: no deeper indentation */
        rlx_let_stmt *l = rlx_node_new(ctx, RLX_NODE_LET_STMT);
        l->var = typed_var("v", RELAX_INT32);
        l->value = one;
        l->body = s;
        s = &l->node;
    }
    assert_in_range(printed_length(s), DEEP * 18, DEEP * 24);
    const rlx_expr *body = rlx_seq_new(ctx, NULL, 0, rlx_string_imm_new(ctx, RLX_SLICE("x")), 0);
    for (int i = 0; i < 300; i++) {
        const rlx_function *f =
            rlx_function_new(ctx, NULL, 0, body, rlx_object_info(ctx), true, true,
                             rlx_attrs_in_order(ctx, NULL, NULL, 0), NULL, 0);
        const rlx_var *g = named("g", i, rlx_object_info(ctx));
        const rlx_binding *b = rlx_var_binding_new(ctx, g, &f->node, 0);
        const rlx_node *block = rlx_block_new(ctx, false, &b, 1, 0);
        body = rlx_seq_new(ctx, &block, 1, &g->node, 0);
    }
    assert_in_range(printed_length(body), 300, 2000000);
}

/* A hundred thousand variables of one name cost as much each as the first. */
static void many_names(void **state)
{
    enum { MANY = 100000 };
    const rlx_binding **b = malloc(MANY * sizeof *b);
    const rlx_var *x = named("x", -1, rlx_object_info(ctx)), *v = x;
    assert_non_null(b);
    for (int i = 0; i < MANY; i++) {
        const rlx_var *next = named("x", -1, rlx_object_info(ctx));
        b[i] = rlx_var_binding_new(ctx, next, &v->node, 0);
        v = next;
    }
    assert_in_range(
        printed_length(&function_of(&x, 1, b, MANY, &v->node, rlx_object_info(ctx))->node),
        MANY * 28, MANY * 40);
    free(b);
}

/* ---- memory */
typedef struct refusing { relax_allocator allocator; size_t calls, fail_at, blocks; } refusing;

static void *refusing_alloc(void *user, size_t size, size_t align)
{
    refusing *r = user;
    void *p = NULL;
    if (++r->calls == r->fail_at || posix_memalign(&p, align < 16 ? 16 : align, size) != 0)
        return NULL;
    r->blocks++;
    return p;
}

static void refusing_free(void *user, void *ptr, size_t size, size_t align)
{
    ((refusing *)user)->blocks--;
    free(ptr);
}

static void *refusing_resize(void *user, void *ptr, size_t old_size, size_t new_size, size_t align)
{
    void *p = refusing_alloc(user, new_size, align);
    if (p) {
        memcpy(p, ptr, old_size < new_size ? old_size : new_size);
        refusing_free(user, ptr, old_size, align);
    }
    return p;
}

/* Every allocation in turn: the buffer says that it failed, nothing stays behind, nothing is
 * damaged. */
static void failing_memory(void **state)
{
    rlx_parsed parsed = { 0 };
    uint32_t source =
        rlx_diags_add_source(&ctx->diags, RLX_SLICE("program"), PROGRAM("every construct"),
                             strlen(PROGRAM("every construct")));
    bool ok = rlx_script_parse(ctx, source, NULL, &parsed);
    if (!parsed.module) {
        rlx_buf why;
        rlx_buf_init(&why, &ctx->memory);
        for (rlx_diag *d = ctx->diags.first; d; d = d->next)
            rlx_diag_render(&ctx->diags, d, &why, true);
        fail_msg("%s", why.data);
    }
    (void)ok;
    size_t at = 0, done = 0;
    do {
        refusing r = { .fail_at = ++at };
        rlx_memory m;
        rlx_buf b;
        r.allocator = (relax_allocator){ sizeof(relax_allocator), &r, refusing_alloc,
                                         refusing_resize, refusing_free };
        assert_true(rlx_memory_init(&m, &r.allocator, SIZE_MAX));
        rlx_buf_init(&b, &m);
        rlx_script_print(&m, &parsed.module->node, NULL, &b);
        done = r.calls < at;
        assert_int_equal(b.failed, !done);
        rlx_buf_free(&b);
        assert_int_equal(r.blocks, 0);
    } while (!done && at < 5000);
    assert_true(done && at > 20);
}

/* ---- parts that share themselves sixty times: the text has a limit */
static void assert_too_large(const rlx_node *n, size_t most, rlx_place where)
{
    rlx_print_options options = { .max_bytes = most };
    rlx_buf b;
    rlx_buf_init(&b, &ctx->memory);
    rlx_buf_lit(&b, "before");
    assert_non_null(n);
    rlx_place stopped = rlx_script_print(&ctx->memory, n, &options, &b);
    assert_true(b.failed && b.too_large);
    assert_true(stopped == where);
    assert_true(b.len <= most + 6 && b.cap <= most + 7);
    rlx_buf_free(&b);
}

static void shared_parts(void **state)
{
    enum { TIMES = 60, MOST = 100000 };
    const rlx_prim *n = size_var("n"), *i = typed_var("i", RELAX_INT32),
                   *two = rlx_int(ctx, RELAX_INT32, 2);
    const rlx_buffer *a =
        rlx_buffer_new(ctx, rlx_string_z(ctx, "A"), RELAX_INT32, &two, 1, NULL, 0);
    const rlx_place store = rlx_place_make(1, 7, 3), seq = rlx_place_make(1, 5, 9);
    const rlx_stmt *s = rlx_store(ctx, a, i, &i, 1, store);
    const rlx_expr *t = rlx_string_imm_new(ctx, RLX_SLICE("x"));
    const rlx_attr *attr = rlx_attr_none(ctx);
    for (int k = 0; k < TIMES; k++) {
        n = bin(RLX_NODE_MUL, n, n);
        i = bin(RLX_NODE_ADD, i, i);
        s = rlx_seq_stmt_new(ctx, (const rlx_stmt *[]){ s, s }, 2, seq);
        t = rlx_tuple_new(ctx, (const rlx_expr *[]){ t, t }, 2, 0);
        attr = rlx_attr_list_new(ctx, (const rlx_attr *[]){ attr, attr }, 2);
    }
    assert_too_large(n, MOST, RLX_NO_PLACE);
    assert_too_large(t, MOST, RLX_NO_PLACE);
    assert_too_large(attr, MOST, RLX_NO_PLACE);
    assert_too_large(rlx_store(ctx, a, i, &two, 1, store), MOST, store);
    assert_too_large(s, MOST, store);
    const rlx_var *x = named("x", -1, rlx_object_info(ctx));
    const rlx_binding *b = rlx_var_binding_new(ctx, x, rlx_tuple_new(ctx, &t, 1, 0), seq);
    assert_too_large(rlx_block_new(ctx, false, &b, 1, 0), MOST, seq);
}

/* A text of just so many bytes is there, of one fewer not. */
static void exact_limit(void **state)
{
    const rlx_var *x = named("x", -1, rlx_object_info(ctx));
    const rlx_node *f = &function_of(&x, 1, NULL, 0, &x->node, rlx_object_info(ctx))->node;
    size_t len = printed_length(f), last = 0;
    for (size_t most = 1; most <= len + 2; most++) {
        rlx_print_options options = { .max_bytes = most };
        rlx_buf b;
        rlx_buf_init(&b, &ctx->memory);
        rlx_script_print(&ctx->memory, f, &options, &b);
        assert_int_equal(b.failed, b.too_large);
        if (b.failed)
            last = most;
        else
            assert_int_equal(b.len, len);
        rlx_buf_free(&b);
    }
    assert_true(last + 1 <= len && last > len / 2); /* the header, put on top, is not counted */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, make_context, drop_context)
        TEST(lone_nodes),
        TEST(literals),
        TEST(names_are_amended),
        TEST(suffixes),
        TEST(a_function_printed_twice),
        TEST(options),
        TEST(appends),
        TEST(lone_statements),
        TEST(deep_expressions),
        TEST(deep_statements),
        TEST(many_names),
        TEST(shared_parts),
        TEST(exact_limit),
        TEST(failing_memory),
    };
    return cmocka_run_group_tests_name("printer", tests, NULL, NULL);
}
