/* ir_fixture.h: short names for building small programs in the tests of this room. */
#ifndef IR_FIXTURE_H
#define IR_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "ir/ir.h"

#define N RLX_NO_PLACE

static inline rlx_context *new_context(void)
{
    rlx_context *ctx = rlx_context_create(NULL, 0);
    assert_non_null(ctx);
    return ctx;
}

static inline const rlx_prim *dim(rlx_context *ctx, const char *name)
{
    return (const rlx_prim *)rlx_prim_var_new(ctx, rlx_string_z(ctx, name), RELAX_INT64, N);
}

static inline const rlx_sinfo *tensor1(rlx_context *ctx, const rlx_prim *a)
{
    return rlx_tensor_info(ctx, rlx_shape_new(ctx, &a, 1), RELAX_FLOAT32, -1, NULL);
}

static inline const rlx_var *var(rlx_context *ctx, const char *name, const rlx_sinfo *s)
{
    return rlx_var_new(ctx, false, rlx_string_z(ctx, name), -1, s, N);
}

static inline const rlx_expr *call2(rlx_context *ctx, const char *f, const rlx_expr *a,
                                    const rlx_expr *b)
{
    const rlx_expr *args[] = { a, b };
    return rlx_call_new(ctx, rlx_extern_func_new(ctx, rlx_slice_z(f)), args, b ? 2 : 1, NULL, 0,
                        NULL, N);
}

static inline bool same(const rlx_node *a, const rlx_node *b)
{
    rlx_memory m;
    bool oom = false;
    assert_true(rlx_memory_init(&m, NULL, SIZE_MAX));
    bool eq = rlx_equal(&m, a, b, false, &oom), back = rlx_equal(&m, b, a, false, &oom);
    assert_false(oom);
    assert_int_equal(eq, back);
    if (eq)
        assert_true(rlx_hash(&m, a, &oom) == rlx_hash(&m, b, &oom)); /* the law */
    assert_false(oom);
    assert_int_equal(rlx_mem_live(&m), 0);
    return eq;
}

/* def f(x: Tensor((n,))): y = F(x, x); return y -- with names as given */
static inline const rlx_function *small_function(rlx_context *ctx, const char *n, const char *x,
                                                 const char *callee)
{
    const rlx_prim *d = dim(ctx, n);
    const rlx_var *p = var(ctx, x, tensor1(ctx, d)), *y = var(ctx, "y", tensor1(ctx, d));
    const rlx_binding *b = rlx_var_binding_new(
        ctx, y, call2(ctx, callee, p ? &p->node : NULL, p ? &p->node : NULL), N);
    const rlx_node *block = rlx_block_new(ctx, false, &b, 1, N);
    const rlx_expr *body = rlx_seq_new(ctx, &block, 1, y ? &y->node : NULL, N),
                   *param = p ? &p->node : NULL;
    const rlx_sinfo *in = tensor1(ctx, d);
    return rlx_function_new(ctx, &param, 1, body, in, true, true, NULL,
                            rlx_func_info(ctx, &d, 1, &in, 1, in, true), N);
}

static inline const rlx_module *module_of(rlx_context *ctx, const char *const *names,
                                          const rlx_node *const *functions, size_t count)
{
    const rlx_expr *gvars[64];
    for (size_t i = 0; i < count; i++)
        gvars[i] = (const rlx_expr *)rlx_global_var_new(ctx, rlx_string_z(ctx, names[i]), N);
    return rlx_module_new(ctx, gvars, functions, count, NULL, NULL, N);
}

#endif
