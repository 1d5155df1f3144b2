/* test_tir.c: building, regions, root blocks, lowering, purity, verification; the evaluator
 * against tables made by hand. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tir/tir.h"

#define L RLX_TIR_LIST

static rlx_context *begin(rlx_tir *t)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    rlx_tir_begin(t, ctx, RLX_NO_PLACE);
    return ctx;
}

static const rlx_tir_block *block_in(const rlx_stmt *s)
{
    while (s->kind == RLX_NODE_FOR)
        s = ((const rlx_for_stmt *)s)->body;
    return rlx_as_tir_block(rlx_as_block_realize(s)->block);
}

/* "A[v_i, 0:4] B[v_i]" */
static void show_regions(rlx_context *ctx, const rlx_node *const *regions, size_t count, char *out,
                         size_t size)
{
    size_t n = 0;
    out[0] = 0;
    for (size_t i = 0; i < count; i++) {
        const rlx_buffer_region *r = rlx_as_buffer_region(regions[i]);
        n += (size_t)snprintf(out + n, size - n, "%s%s[", i ? " " : "",
                              rlx_as_buffer(r->buffer)->name->data);
        for (size_t d = 0; d < r->num_region; d++) {
            const rlx_range *x = rlx_as_range(r->region[d]);
            n += (size_t)snprintf(out + n, size - n, "%s%s", d ? ", " : "", rlx_show(ctx, x->min));
            if (!rlx_is_int_value(x->extent, 1))
                n += (size_t)snprintf(out + n, size - n, "+%s", rlx_show(ctx, x->extent));
        }
        n += (size_t)snprintf(out + n, size - n, "]");
    }
}

static void expect_regions(rlx_context *ctx, const rlx_tir_block *b, const char *reads,
                           const char *writes)
{
    char text[512];
    show_regions(ctx, b->reads, b->num_reads, text, sizeof text);
    assert_string_equal(text, reads);
    show_regions(ctx, b->writes, b->num_writes, text, sizeof text);
    assert_string_equal(text, writes);
}

/* ---- building ------------------------------------------------------------------------------- */

static void a_reduction_block(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_int(&t, 4);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "sum");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *k = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, b, L(i), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    rlx_tir_store(&t, b, L(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, b, L(i)), rlx_tir_load(&t, a, L(i, k))));
    rlx_tir_end_block(&t);
    rlx_tir_attr(&t, "tir.noalias", rlx_attr_bool_new(ctx, true));
    const rlx_prim_func *f = rlx_tir_end(&t);
    assert_non_null(f);
    assert_int_equal(f->num_params, 2);
    assert_ptr_equal(f->buffers[1], b);
    assert_non_null(rlx_attrs_get(f->attrs, "tir.noalias"));
    /* a root block around two loops around the block */
    const rlx_tir_block *root = rlx_as_tir_block(rlx_as_block_realize(f->body)->block);
    assert_string_equal(root->name->data, "root");
    assert_int_equal(root->num_reads + root->num_writes, 0);
    const rlx_for_stmt *outer = rlx_as_for_stmt(root->body), *inner = rlx_as_for_stmt(outer->body);
    assert_ptr_equal(outer->extent, n);
    const rlx_tir_block *block = block_in(root->body);
    assert_ptr_equal(rlx_as_block_realize(inner->body)->iter_values[1], inner->loop_var);
    assert_int_equal(((const rlx_iter_var *)block->iter_vars[1])->iter_type, RLX_ITER_REDUCE);
    assert_string_equal(rlx_as_prim_var(i)->name->data, "v_i");
    expect_regions(ctx, block, "A[v_i, v_k]", "B[v_i]"); /* B is no input: it has an init */
    assert_true(rlx_tir_verify(ctx, f, false));
    rlx_context_release(ctx);
}

static void regions_of_inner_loops(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n8 = rlx_tir_int(&t, 8), *n4 = rlx_tir_int(&t, 4), *two = rlx_tir_int(&t, 2);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n8, n8)),
                     *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, L(n8, n8));
    const rlx_buffer *c = rlx_tir_param(&t, "C", RELAX_FLOAT32, L(n8));
    rlx_tir_begin_block(&t, "auto");
    const rlx_prim *v = rlx_tir_spatial(&t, "i", n8),
                   *j = rlx_tir_for(&t, "j", NULL, n4, RLX_FOR_SERIAL);
    const rlx_prim *sum = rlx_tir_add(&t, rlx_tir_load(&t, a, L(v, j)),
                                      rlx_tir_load(&t, c, L(rlx_tir_mul(&t, j, two))));
    rlx_tir_store(&t, b, L(v, rlx_tir_add(&t, j, two)), sum);
    rlx_tir_end_for(&t);
    /* united with what is there */
    rlx_tir_store(&t, b, L(v, rlx_tir_int(&t, 7)), rlx_tir_load(&t, c, L(rlx_tir_int(&t, 7))));
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    assert_non_null(f);
    expect_regions(ctx, block_in(rlx_as_tir_block(rlx_as_block_realize(f->body)->block)->body),
                   "A[v_i, 0+4] C[0+8]", "B[v_i, 2+6]");
    rlx_context_release(ctx);
}

static void regions_of_inner_blocks(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n8 = rlx_tir_int(&t, 8);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n8, n8)),
                     *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, L(n8, n8));
    rlx_tir_begin_block(&t, "outer");
    const rlx_prim *vi = rlx_tir_spatial(&t, "i", n8);
    const rlx_buffer *own = rlx_tir_alloc(&t, "T", RELAX_FLOAT32, L(n8));
    rlx_tir_begin_block(&t, "inner");
    const rlx_prim *vj = rlx_tir_spatial(&t, "j", n8);
    rlx_tir_store(&t, own, L(vj), rlx_tir_load(&t, a, L(vi, vj)));
    rlx_tir_store(&t, b, L(vi, vj), rlx_tir_load(&t, own, L(vj)));
    rlx_tir_end_block(&t);
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    assert_non_null(f);
    const rlx_tir_block *outer =
        block_in(rlx_as_tir_block(rlx_as_block_realize(f->body)->block)->body);
    expect_regions(ctx, outer, "A[v_i, 0+8]", "B[v_i, 0+8]");
    expect_regions(ctx, block_in(outer->body), "A[v_i, v_j] T[v_j]", "T[v_j] B[v_i, v_j]");
    rlx_context_release(ctx);
}

static void root_block_where_it_belongs(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n8 = rlx_tir_int(&t, 8), *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n8));
    rlx_tir_store(&t, a, L(zero), rlx_tir_float(&t, RELAX_FLOAT32, 1));
    const rlx_prim_func *f = rlx_tir_end(&t);
    assert_int_equal(f->body->kind, RLX_NODE_BUFFER_STORE); /* no blocks, no temporaries: none */
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n8));
    rlx_tir_alloc(&t, "T", RELAX_FLOAT32, L(n8));
    rlx_tir_store(&t, a, L(zero), rlx_tir_float(&t, RELAX_FLOAT32, 1));
    f = rlx_tir_end(&t);
    assert_int_equal(rlx_as_tir_block(rlx_as_block_realize(f->body)->block)->num_alloc_buffers, 1);
    rlx_context_release(ctx);
}

static void misuse_is_reported(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    rlx_tir_end_block(&t);
    assert_null(rlx_tir_end(&t));
    assert_true(rlx_error_count(ctx) > 0);
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(rlx_tir_int(&t, 4)));
    assert_null(rlx_tir_load(&t, a, RLX_TIR_NONE));
    assert_null(rlx_tir_end(&t));
    rlx_context_release(ctx);
}

/* ---- lowering ------------------------------------------------------------------------------- */

static enum rlx_step no_blocks(void *user, const rlx_node *n, const rlx_field *via,
                               const rlx_node *parent)
{
    return n->kind == RLX_NODE_TIR_BLOCK || n->kind == RLX_NODE_BLOCK_REALIZE ? RLX_STEP_STOP
                                                                              : RLX_STEP_ON;
}

static void init_gets_its_own_nest(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_dim(&t, "n"), *m = rlx_tir_dim(&t, "m");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(n, m)),
                     *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, L(n));
    rlx_tir_begin_block(&t, "sum");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n), *k = rlx_tir_reduce(&t, "k", m);
    rlx_tir_init(&t, b, L(i), rlx_tir_float(&t, RELAX_FLOAT32, 0));
    rlx_tir_store(&t, b, L(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, b, L(i)), rlx_tir_load(&t, a, L(i, k))));
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_lower_blocks(ctx, rlx_tir_end(&t));
    assert_non_null(f);
    rlx_walker w = { .enter = no_blocks };
    assert_int_equal(rlx_walk(&ctx->memory, f->body, &w, NULL), RLX_STEP_ON);
    const rlx_seq_stmt *s = rlx_as_seq_stmt(f->body);
    assert_int_equal(s->num_stmts, 2);
    assert_int_equal(rlx_as_for_stmt(s->stmts[0])->body->kind, RLX_NODE_BUFFER_STORE);
    assert_int_equal(rlx_as_for_stmt(rlx_as_for_stmt(s->stmts[1])->body)->body->kind,
                     RLX_NODE_BUFFER_STORE);
    assert_true(rlx_tir_verify(ctx, f, false));
    rlx_context_release(ctx);
}

/* B[i] = B[i] + B[i + 1] reads what another point initialises: init must stay with its point. */
static void init_stays_where_it_must(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n4 = rlx_tir_int(&t, 4), *n5 = rlx_tir_int(&t, 5), *one = rlx_tir_int(&t, 1),
                   *two = rlx_tir_int(&t, 2);
    const rlx_buffer *b = rlx_tir_param(&t, "B", RELAX_INT32, L(n5));
    rlx_tir_begin_block(&t, "odd");
    const rlx_prim *i = rlx_tir_spatial(&t, "i", n4);
    rlx_tir_reduce(&t, "k", two);
    rlx_tir_init(&t, b, L(i), rlx_tir_number(&t, RELAX_INT32, 0));
    rlx_tir_store(&t, b, L(i),
                  rlx_tir_add(&t, rlx_tir_load(&t, b, L(i)),
                              rlx_tir_load(&t, b, L(rlx_tir_add(&t, i, one)))));
    rlx_tir_end_block(&t);
    const rlx_prim_func *f = rlx_tir_end(&t), *g = rlx_tir_lower_blocks(ctx, f);
    static const int32_t want[5] = { 4, 6, 8, 10, 5 };
    int64_t shape = 5;
    for (int k = 0; k < 2; k++) {
        int32_t data[5] = { 1, 2, 3, 4, 5 };
        rlx_tir_arg arg = { RELAX_INT32, data, &shape, 1, 0, 0 };
        assert_true(rlx_tir_eval(ctx, k ? g : f, &arg, 1, NULL, NULL));
        assert_memory_equal(data, want, sizeof want);
    }
    rlx_context_release(ctx);
}

/* ---- the evaluator: expected values by hand ------------------------------------------------- */

enum { BIN, CALL };
static const struct {
    int how, op;
    const char *name;
    rlx_dtype dtype;
    int64_t a, b, want;
} ints[] = {
    { BIN, RLX_NODE_ADD, NULL, RELAX_INT8, 127, 1, -128 },
    { BIN, RLX_NODE_SUB, NULL, RELAX_UINT8, 0, 1, 255 },
    { BIN, RLX_NODE_MUL, NULL, RELAX_INT32, 65536, 65536, 0 },
    { BIN, RLX_NODE_DIV, NULL, RELAX_INT32, -7, 2, -3 },
    { BIN, RLX_NODE_MOD, NULL, RELAX_INT32, -7, 2, -1 },
    { BIN, RLX_NODE_FLOOR_DIV, NULL, RELAX_INT32, -7, 2, -4 },
    { BIN, RLX_NODE_FLOOR_MOD, NULL, RELAX_INT32, -7, 2, 1 },
    { BIN, RLX_NODE_FLOOR_MOD, NULL, RELAX_INT32, 7, -2, -1 },
    { BIN, RLX_NODE_DIV, NULL, RELAX_INT8, -128, -1, -128 },
    { BIN, RLX_NODE_DIV, NULL, RELAX_INT64, INT64_MIN, -1, INT64_MIN },
    { BIN, RLX_NODE_MOD, NULL, RELAX_INT64, INT64_MIN, -1, 0 },
    { BIN, RLX_NODE_DIV, NULL, RELAX_UINT64, -1, 2, INT64_MAX },
    { BIN, RLX_NODE_MAX, NULL, RELAX_UINT64, -1, 1, -1 },
    { BIN, RLX_NODE_MIN, NULL, RELAX_INT64, -1, 1, -1 },
    { CALL, 0, "shift_left", RELAX_INT8, 1, 7, -128 },
    { CALL, 0, "shift_left", RELAX_INT8, 1, 8, 0 },
    { CALL, 0, "shift_right", RELAX_INT8, -1, 9, -1 },
    { CALL, 0, "shift_right", RELAX_UINT8, 255, 4, 15 },
    { CALL, 0, "shift_right", RELAX_UINT64, -1, 64, 0 },
    { CALL, 0, "bitwise_xor", RELAX_INT16, 5, 3, 6 },
    { CALL, 0, "pow", RELAX_INT32, 3, 5, 243 },
    { CALL, 0, "pow", RELAX_INT32, -1, -3, -1 },
};

static void store_int(rlx_dtype t, void *p, int64_t v)
{
    /* little-endian machines only, as the table's reader below */
    memcpy(p, &v, rlx_dtype_bytes(t));
}

static void integers(void **state)
{
    for (size_t r = 0; r < RLX_COUNT(ints); r++) {
        rlx_tir t;
        rlx_context *ctx = begin(&t);
        rlx_dtype d = ints[r].dtype;
        const rlx_prim *n = rlx_tir_int(&t, 3),
                       *at[3] = { rlx_tir_int(&t, 0), rlx_tir_int(&t, 1), rlx_tir_int(&t, 2) };
        const rlx_buffer *a = rlx_tir_param(&t, "A", d, L(n));
        const rlx_prim *x = rlx_tir_load(&t, a, L(at[0])), *y = rlx_tir_load(&t, a, L(at[1]));
        rlx_tir_store(&t, a, L(at[2]),
                      ints[r].how == BIN ? rlx_tir_binary(&t, (enum rlx_node_kind)ints[r].op, x, y)
                                         : rlx_tir_call2(&t, ints[r].name, x, y));
        char data[24] = { 0 }, want[8] = { 0 };
        size_t bytes = rlx_dtype_bytes(d);
        int64_t shape = 3;
        rlx_fault why = { 0 };
        store_int(d, data, ints[r].a);
        store_int(d, data + bytes, ints[r].b);
        store_int(d, want, ints[r].want);
        rlx_tir_arg arg = { d, data, &shape, 1, 0, 0 };
        const rlx_prim_func *f = rlx_tir_end(&t);
        assert_non_null(f);
        if (!rlx_tir_eval(ctx, f, &arg, 1, NULL, &why) ||
            memcmp(data + 2 * bytes, want, bytes))
            fail_msg("row %zu: %s", r, why.text);
        rlx_context_release(ctx);
    }
}

static void halves_round_after_each_step(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_int(&t, 2), *zero = rlx_tir_int(&t, 0), *one = rlx_tir_int(&t, 1);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT16, L(n));
    const rlx_prim *x = rlx_tir_load(&t, a, L(zero)), *h = rlx_tir_float(&t, RELAX_FLOAT16, 1);
    /* 2048 + 1 is 2048 in float16, twice; in one rounding it would be 2050 */
    rlx_tir_store(&t, a, L(one), rlx_tir_add(&t, rlx_tir_add(&t, x, h), h));
    uint16_t data[2] = { rlx_float_to_half(2048), 0 };
    int64_t shape = 2;
    rlx_tir_arg arg = { RELAX_FLOAT16, data, &shape, 1, 0, 0 };
    assert_true(rlx_tir_eval(ctx, rlx_tir_end(&t), &arg, 1, NULL, NULL));
    assert_true(rlx_half_to_float(data[1]) == 2048.0f);
    rlx_context_release(ctx);
}

static void limits_hold(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    rlx_fault why = { 0 };
    const rlx_prim *n = rlx_tir_int(&t, 1000), *zero = rlx_tir_int(&t, 0);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, L(rlx_tir_int(&t, 1)));
    rlx_tir_alloc(&t, "T", RELAX_FLOAT64, L(n));
    rlx_tir_for(&t, "i", NULL, n, RLX_FOR_SERIAL);
    rlx_tir_store(&t, a, L(zero), rlx_tir_float(&t, RELAX_FLOAT32, 1));
    rlx_tir_end_for(&t);
    const rlx_prim_func *f = rlx_tir_end(&t);
    float data = 0;
    int64_t shape = 1;
    rlx_tir_arg arg = { RELAX_FLOAT32, &data, &shape, 1, 0, 0 };
    assert_false(rlx_tir_eval(ctx, f, &arg, 1, &(rlx_tir_limits){ 500, 0 }, &why));
    assert_int_equal(why.code, RLX_RT12);
    assert_false(rlx_tir_eval(ctx, f, &arg, 1, &(rlx_tir_limits){ 0, 7999 }, &why));
    assert_int_equal(why.code, RLX_RT10);
    assert_true(rlx_tir_eval(ctx, f, &arg, 1, &(rlx_tir_limits){ 100000, 8000 }, &why));
    rlx_context_release(ctx);
}

static void deep_expressions_need_no_stack(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *zero = rlx_tir_int(&t, 0), *n = rlx_tir_int(&t, 1);
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT64, L(n));
    const rlx_prim *x = rlx_tir_load(&t, a, L(zero)), *sum = x;
    for (int i = 0; i < 200000; i++)
        sum = rlx_tir_add(&t, sum, rlx_tir_int(&t, 1));
    rlx_tir_store(&t, a, L(zero), sum);
    const rlx_prim_func *f = rlx_tir_end(&t);
    int64_t data = 1, shape = 1;
    rlx_tir_arg arg = { RELAX_INT64, &data, &shape, 1, 0, 0 };
    assert_true(rlx_tir_eval(ctx, f, &arg, 1, NULL, NULL));
    assert_int_equal(data, 200001);
    rlx_context_release(ctx);
}

/* ---- verification --------------------------------------------------------------------------- */

static void undefined_names(void **state)
{
    rlx_tir t;
    rlx_context *ctx = begin(&t);
    const rlx_prim *n = rlx_tir_int(&t, 4), *stray = rlx_tir_dim(&t, "stray");
    const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT64, L(n));
    rlx_tir_store(&t, a, L(stray), stray);
    const rlx_prim_func *f = rlx_tir_end(&t);
    assert_false(rlx_tir_verify(ctx, f, true));
    assert_int_equal(rlx_error_count(ctx), 0);
    assert_false(rlx_tir_verify(ctx, f, false));
    assert_true(rlx_error_count(ctx) > 0);
    /* a loop's variable ends with the loop */
    rlx_tir_begin(&t, ctx, RLX_NO_PLACE);
    a = rlx_tir_param(&t, "A", RELAX_INT64, L(n));
    const rlx_prim *i = rlx_tir_for(&t, "i", NULL, n, RLX_FOR_SERIAL);
    rlx_tir_store(&t, a, L(i), i);
    rlx_tir_end_for(&t);
    const rlx_prim_func *bad;
    rlx_tir_store(&t, a, L(i), i);
    bad = rlx_tir_end(&t);
    assert_false(rlx_tir_verify(ctx, bad, true));
    rlx_context_release(ctx);
}

/* A temporary of a size that is stored in A, before or behind A, or in itself. */
static void sizes_of_temporaries(void **state)
{
    static const struct { const char *what; bool good; } rows[] = {
        { "a parameter", true }, { "an earlier one", true }, { "a later one", false },
        { "itself", false },     { "nothing", false },       { "a bound name", true },
    };
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        rlx_tir t;
        rlx_context *ctx = begin(&t);
        const rlx_prim *one = rlx_tir_int(&t, 1), *zero = rlx_tir_int(&t, 0),
                       *n = rlx_tir_dim(&t, "n"), *stray = rlx_tir_dim(&t, "stray");
        const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_INT64, L(n));
        const rlx_buffer *e = rlx_tir_alloc(&t, "E", RELAX_INT64, L(one));
        const rlx_buffer *b = rlx_tir_alloc(&t, "B", RELAX_INT64, L(one));
        const rlx_prim *sizes[] = {
            rlx_tir_load(&t, a, L(zero)), rlx_tir_load(&t, e, L(zero)),
            rlx_tir_load(&t, b, L(zero)), rlx_tir_load(&t, b, L(zero)), stray, n,
        };
        rlx_buffer *sized = (rlx_buffer *)(uintptr_t)(i == 2 ? e : b);
        rlx_tir_store(&t, a, L(zero), zero);
        const rlx_prim_func *f = rlx_tir_end(&t);
        assert_true(rlx_tir_verify(ctx, f, false));
        sized->shape = &sizes[i];
        if (rlx_tir_verify(ctx, f, true) != rows[i].good)
            fail_msg("the size is %s", rows[i].what);
        assert_int_equal(rlx_error_count(ctx), 0);
        assert_true(rlx_tir_verify(ctx, f, false) == !rlx_error_count(ctx));
        rlx_context_release(ctx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reduction_block),
        cmocka_unit_test(regions_of_inner_loops),
        cmocka_unit_test(regions_of_inner_blocks),
        cmocka_unit_test(root_block_where_it_belongs),
        cmocka_unit_test(misuse_is_reported),
        cmocka_unit_test(init_gets_its_own_nest),
        cmocka_unit_test(init_stays_where_it_must),
        cmocka_unit_test(integers),
        cmocka_unit_test(halves_round_after_each_step),
        cmocka_unit_test(limits_hold),
        cmocka_unit_test(deep_expressions_need_no_stack),
        cmocka_unit_test(undefined_names), cmocka_unit_test(sizes_of_temporaries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
