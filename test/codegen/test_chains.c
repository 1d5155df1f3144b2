/* test_chains.c: nests of random expressions of float32, as evaluator, bytecode and C compute them. Bytecode runs their instructions as
 * chains (runtime/kernel_chain.c), so there are strips of every length, values that are used more than once, results that are
 * operands, numbers, and instructions that are no steps between those that are. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/base.h"
#include "kernel_c.h"
#include "tir/tir.h"

static uint64_t state_of_random;
static uint64_t next_random(void)
{
    state_of_random ^= state_of_random << 13;
    state_of_random ^= state_of_random >> 7;
    return state_of_random ^= state_of_random << 17;
}
static size_t below(size_t n) { return (size_t)(next_random() >> 11) % n; }

typedef struct making {
    rlx_context *ctx;
    rlx_tir b;
    const rlx_prim *values[40];
    size_t count;
} making;

static const rlx_prim *any_value(making *m)
{
    static const double numbers[] = { 0, -0.0, 1, -1, 0.5, 2, 6, -3, 0.1, 1e30 };
    if (below(4) == 0)
        return rlx_tir_number(&m->b, RELAX_FLOAT32, numbers[below(RLX_COUNT(numbers))]);
    return m->values[below(2) ? m->count - 1 : below(m->count)];
}

static const rlx_prim *new_value(making *m)
{
    static const char *const functions[] = { "exp", "tanh", "sigmoid", "erf", "sqrt", "fabs", "floor", "cos" };
    rlx_tir *t = &m->b;
    const rlx_prim *x = any_value(m), *y = any_value(m);
    switch (below(10)) {
    case 0: return rlx_tir_add(t, x, y);
    case 1: return rlx_tir_sub(t, x, y);
    case 2: return rlx_tir_mul(t, x, y);
    case 3: return rlx_tir_div(t, x, y);
    case 4: return rlx_tir_max(t, x, y);
    case 5: return rlx_tir_min(t, x, y);
    case 6: return rlx_tir_select(t, rlx_tir_lt(t, x, y), any_value(m), any_value(m));
    case 7: return rlx_tir_mul(t, x, x);
    default: return rlx_tir_call1(t, functions[below(RLX_COUNT(functions))], x);
    }
}

/* O[i, j] and P[i, j] of A[i, j], which may be a byte that becomes a float and is wanted as it is, too, B[i, j], C[j], D[i]. */
static void one(uint64_t seed, bool shows)
{
    static const rlx_dtype dtypes[] = { RELAX_FLOAT32, RELAX_FLOAT32, RELAX_INT8, RELAX_UINT8 };
    static const int64_t sizes[] = { 1, 17, 31, 32, 33, 95, 96, 128, 200, 256, 257, 300, 511, 5000 };
    making m = { .ctx = rlx_context_create(NULL, 0) };
    state_of_random = (seed + 1) * 0x9e3779b97f4a7c15u;
    assert_non_null(m.ctx);
    int64_t rows = 1 + (int64_t)below(3), columns = sizes[below(RLX_COUNT(sizes))];
    const rlx_dtype dtype = dtypes[below(RLX_COUNT(dtypes))];
    rlx_tir *t = &m.b;
    rlx_tir_begin(t, m.ctx, RLX_NO_PLACE);
    const rlx_prim *n = rlx_tir_int(t, rows), *k = rlx_tir_int(t, columns);
    const rlx_buffer *a = rlx_tir_param(t, "A", dtype, RLX_TIR_LIST(n, k)), *b = rlx_tir_param(t, "B", RELAX_FLOAT32, RLX_TIR_LIST(n, k)),
                     *c = rlx_tir_param(t, "C", RELAX_FLOAT32, RLX_TIR_LIST(k)), *d = rlx_tir_param(t, "D", RELAX_FLOAT32, RLX_TIR_LIST(n)),
                     *o = rlx_tir_param(t, "O", RELAX_FLOAT32, RLX_TIR_LIST(n, k)), *p = rlx_tir_param(t, "P", RELAX_FLOAT32, RLX_TIR_LIST(n, k));
    const rlx_prim *i = rlx_tir_for(t, "i", NULL, n, RLX_FOR_SERIAL), *j = rlx_tir_for(t, "j", NULL, k, RLX_FOR_SERIAL);
    m.values[m.count++] = rlx_tir_cast(t, RELAX_FLOAT32, rlx_tir_load(t, a, RLX_TIR_LIST(i, j)));
    if (dtype != RELAX_FLOAT32 && below(3) == 0) {
        const rlx_prim *byte = rlx_tir_cast(t, RELAX_INT32, rlx_tir_load(t, a, RLX_TIR_LIST(i, j)));
        m.values[m.count++] = rlx_tir_cast(t, RELAX_FLOAT32, rlx_tir_mul(t, byte, byte));
    }
    m.values[m.count++] = rlx_tir_load(t, b, RLX_TIR_LIST(i, j));
    m.values[m.count++] = rlx_tir_load(t, c, RLX_TIR_LIST(j));
    m.values[m.count++] = rlx_tir_load(t, d, RLX_TIR_LIST(i));
    for (size_t steps = 1 + below(30), s = 0; s < steps; s++) {
        if (s == steps / 2) {
            rlx_tir_store(t, p, RLX_TIR_LIST(i, j), m.values[m.count - 1]);
            m.values[m.count - 1] = rlx_tir_load(t, p, RLX_TIR_LIST(i, j));
        }
        m.values[m.count] = new_value(&m);
        m.count++;
    }
    rlx_tir_store(t, o, RLX_TIR_LIST(i, j), m.values[m.count - 1]);
    rlx_tir_end_for(t);
    rlx_tir_end_for(t);
    const rlx_prim_func *f = rlx_tir_end(t);
    assert_non_null(f);
    kc x = { .seed = seed };
    const int64_t counts[] = { rows * columns, rows * columns, columns, rows };
    float *inputs[4];
    inputs[0] = kc_tensor(&x, dtype, 2, (int64_t[]){ rows, columns });
    inputs[1] = kc_tensor(&x, RELAX_FLOAT32, 2, (int64_t[]){ rows, columns });
    inputs[2] = kc_tensor1(&x, RELAX_FLOAT32, columns);
    inputs[3] = kc_tensor1(&x, RELAX_FLOAT32, rows);
    kc_tensor(&x, RELAX_FLOAT32, 2, (int64_t[]){ rows, columns });
    kc_tensor(&x, RELAX_FLOAT32, 2, (int64_t[]){ rows, columns });
    for (size_t q = dtype != RELAX_FLOAT32; q < 4; q++) /* bytes are any */
        for (int64_t e = 0; e < counts[q]; e++)
            inputs[q][e] = below(20) ? (float)((double)(int64_t)next_random() * 0x1p-62) : (float[]){ -0.0f, 0, INFINITY, NAN }[below(4)];
    assert_int_equal(kc_run(m.ctx, f, &x, NULL), RLX_CODE_NONE);
    kc_free(&x);
    rlx_context_release(m.ctx);
    (void)shows;
}

static void expressions(void **state)
{
    kc_c_begin(1);
    kc_each_seed("CHAIN_SEED", 600, 16, one);
    kc_c_end();
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(expressions) };
    return cmocka_run_group_tests(tests, NULL, kc_c_teardown);
}
