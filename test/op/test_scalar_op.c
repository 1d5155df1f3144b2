/* test_scalar_op.c: each row of scalar_op.def, on each dtype that it computes with: printed and
 * read again it is the same call, and evaluator, kernel and generated C give the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "ir/walk.h"
#include "kernel_c.h"
#include "op/op.h"
#include "script/print.h"
#include "text_module.h"

enum kind { FLOAT1, WIDE1, WIDEST1, WIDE_LANES1, TURN1, ROW1, LANES1, FLOAT2, LANES2, WIDE_LANES2, FLOAT3, LDEXP, TEST1,
            SAME1, SAME2, COUNT1, CHOICE3 };
typedef struct row {
    const char *name;
    enum kind kind;
    enum rlx_tir_rule rule;
    bool of_floats;
} row;
static const row rows[] = {
#define SCALAR_FLOAT(name, kind, rule, f32, f64) { #name, kind, RLX_TIR_RULE_##rule, true },
#define SCALAR_SYNONYM(name, of, kind, rule) { #name, kind, RLX_TIR_RULE_##rule, true },
#define SCALAR_OTHER(name, kind, rule) { #name, kind, RLX_TIR_RULE_##rule, false },
#include "format/scalar_op.def"
};

static const rlx_dtype floats[] = { RELAX_FLOAT16, RELAX_BFLOAT16, RELAX_FLOAT32, RELAX_FLOAT64 };
static const rlx_dtype ints[] = { RELAX_INT8,  RELAX_INT16,  RELAX_INT32,  RELAX_INT64,
                                  RELAX_UINT8, RELAX_UINT16, RELAX_UINT32, RELAX_UINT64 };

#define L RLX_TIR_LIST
enum { COUNT = 600 };

static bool is(const row *r, const char *name) { return strcmp(r->name, name) == 0; }

/* The call of elements v, of dtype t. */
static const rlx_prim *call(rlx_tir *b, const row *r, rlx_dtype t, const rlx_prim **v)
{
    static const uint8_t counts[] = { [FLOAT1] = 1, [WIDE1] = 1, [WIDEST1] = 1, [WIDE_LANES1] = 1, [TURN1] = 1, [ROW1] = 1,
                                      [LANES1] = 1, [FLOAT2] = 2, [LANES2] = 2, [WIDE_LANES2] = 2, [FLOAT3] = 3,
                                      [LDEXP] = 2,  [TEST1] = 1, [SAME1] = 1,  [SAME2] = 2,
                                      [COUNT1] = 1, [CHOICE3] = 3 };
    rlx_dtype result = r->kind == TEST1    ? RELAX_BOOL
                       : r->kind == COUNT1 ? RELAX_INT32
                                           : t;
    if (r->kind == LDEXP)
        v[1] = rlx_tir_cast(b, RELAX_INT32, v[1]);
    if (r->kind == CHOICE3)
        v[0] = rlx_tir_gt(b, v[0], v[1]);
    if (strncmp(r->name, "shift", 5) == 0)
        v[1] = rlx_tir_call2(b, "bitwise_and", v[1], rlx_tir_number(b, t, 7));
    if (r->rule == RLX_TIR_RULE_FIRST)
        result = t == RELAX_FLOAT32 ? RELAX_INT32 : RELAX_FLOAT32;
    return rlx_prim_call_z(b->ctx, result, r->name, v, counts[r->kind]);
}

/* O[i] = r(A[i], B[i], C[i]) */
static const rlx_prim_func *function_of(rlx_context *ctx, const row *r, rlx_dtype t, rlx_dtype *out)
{
    rlx_tir b;
    rlx_tir_begin(&b, ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(&b, COUNT), *v[3];
    const rlx_buffer *in[3];
    for (int k = 0; k < 3; k++)
        in[k] = rlx_tir_param(&b, k == 0 ? "A" : k == 1 ? "B" : "C", t, L(n));
    rlx_tir_begin_block(&b, "e");
    const rlx_prim *i = rlx_tir_spatial(&b, "i", n);
    for (int k = 0; k < 3; k++)
        v[k] = rlx_tir_load(&b, in[k], L(i));
    const rlx_prim *value = call(&b, r, t, v);
    assert_non_null(value);
    *out = rlx_prim_dtype(value);
    const rlx_buffer *o = rlx_tir_param(&b, "O", *out, L(n));
    rlx_tir_store(&b, o, L(i), value);
    rlx_tir_end_block(&b);
    const rlx_prim_func *f = rlx_tir_end(&b);
    assert_non_null(f);
    return f;
}

/* The function as its text reads; reader and printer know the call by name. */
static const rlx_prim_func *read_again(rlx_context *ctx, const row *r, rlx_dtype t,
                                       const rlx_prim_func *f)
{
    rlx_buf text;
    char named[64], codes[256];
    bool no_memory = false;
    bool by_name = r->rule != RLX_TIR_RULE_EXPANDED &&
                   !(r->rule == RLX_TIR_RULE_ROUND && rlx_dtype_is_int(t));
    rlx_buf_init(&text, &ctx->memory);
    rlx_script_print(&ctx->memory, &f->node, NULL, &text);
    rlx_buf_char(&text, 0);
    assert_false(text.failed);
    snprintf(named, sizeof named, by_name ? "T.%s(" : "tir.%s", r->name);
    if (!strstr(text.data, named))
        fail_msg("%s is not printed as %s:\n%s", r->name, named, text.data);
    const rlx_module *m = text_module(ctx, text.data);
    if (!m || m->num_functions != 1)
        fail_msg("%s does not read (%s):\n%s", r->name, text_codes(ctx, codes), text.data);
    const rlx_prim_func *g = rlx_as_prim_func(m->functions[0]);
    assert_non_null(g);
    if (!rlx_equal(&ctx->memory, f->body, g->body, true, &no_memory))
        fail_msg("%s reads as something else:\n%s", r->name, text.data);
    rlx_buf_free(&text);
    return g;
}

static uint64_t state_of_random = 0x9e3779b97f4a7c15u;
static uint64_t next_random(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}

/* Every other element gets any bits at all: NaN, infinities, the ends of the dtype. */
static void any_bits(void *data, size_t size)
{
    for (size_t i = 0; i < COUNT; i += 2) {
        uint64_t bits = next_random();
        memcpy((char *)data + i * size, &bits, size);
    }
}

static void check(const row *r, rlx_dtype t)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    rlx_dtype out;
    kc c = { .seed = (uint64_t)t * 31 + 7 };
    assert_non_null(ctx);
    ctx->ops = rlx_op_table_get();
    const rlx_prim_func *f = read_again(ctx, r, t, function_of(ctx, r, t, &out));
    for (int k = 0; k < 3; k++) {
        void *data = kc_tensor1(&c, t, COUNT);
        if (r->rule != RLX_TIR_RULE_FIRST) /* NaN have no bits of their own */
            any_bits(data, rlx_dtype_bytes(t));
    }
    kc_tensor1(&c, out, COUNT);
    if (!is(r, "ret")) /* a statement */
        assert_int_equal(kc_run(ctx, f, &c, NULL), RLX_CODE_NONE);
    kc_free(&c);
    rlx_context_release(ctx);
}

static void rows_of_floats(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        for (size_t d = 0; d < RLX_COUNT(floats); d++) {
            if (rows[i].of_floats)
                check(&rows[i], floats[d]);
            if (rows[i].rule == RLX_TIR_RULE_ROUND)
                check(&rows[i], ints[2 * d]);
        }
}

static void rows_of_integers(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        for (size_t d = 0; d < RLX_COUNT(ints); d++)
            if (!rows[i].of_floats && rows[i].rule != RLX_TIR_RULE_FIRST)
                check(&rows[i], ints[d]);
}

static void rows_of_any_dtype(void **state)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (rows[i].rule == RLX_TIR_RULE_FIRST) {
            check(&rows[i], RELAX_FLOAT32);
            check(&rows[i], RELAX_INT32);
        } else if (rows[i].rule == RLX_TIR_RULE_CHOICE || is(&rows[i], "likely")) {
            check(&rows[i], RELAX_FLOAT32);
            check(&rows[i], RELAX_FLOAT64);
        }
}

/* The table of tir has the rows in their order, and no name stands twice. */
static void names(void **state)
{
    assert_int_equal(RLX_COUNT(rows), RLX_TIR_NUM_INTRINSICS - 1);
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        assert_int_equal(rlx_tir_find_intrinsic(rlx_slice_z(rows[i].name)), i + 1);
        assert_string_equal(rlx_tir_intrinsics[i + 1].name, rows[i].name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names),
        cmocka_unit_test(rows_of_floats),
        cmocka_unit_test(rows_of_integers),
        cmocka_unit_test(rows_of_any_dtype),
    };
    kc_c_begin(getenv("RELAX_LONG") ? 1 : 2); /* each row on some dtype */
    return cmocka_run_group_tests(tests, NULL, kc_c_teardown);
}
