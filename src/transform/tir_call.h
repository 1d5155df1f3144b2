/*- tir_call.h: a call_tir beside the PrimFunc that it calls: what each parameter is given, and what the sizes of the
 * function are there.
 *     call_tir(f, (x,), out_sinfo=R.Tensor((n * 2, 4)))      f(A: (m, k), B: (m, k))      m = n * 2, k = 4
 */
#ifndef RLX_TIR_CALL_H
#define RLX_TIR_CALL_H

#include "ir/ir.h"

typedef struct rlx_tir_call {
    const rlx_call *call;
    const rlx_global_var *name;
    const rlx_prim_func *function;
    const rlx_expr *const *inputs; size_t num_inputs;
    const rlx_tensor_sinfo *const *outputs; size_t num_outputs;
    bool several;                        /* the result is a tuple */
    const int64_t *inplace;              /* by output: the input that it is written over, -1: none */
    rlx_prims from, to;                  /* variables of the function, and what they are here */
} rlx_tir_call;

/* *out (zeroed before) for a call_tir or call_tir_inplace that is proved to fit: tensors of known sizes, plain buffers,
 * parameters and arguments as many, each size of a buffer the size of its argument. False: it is none, or out of memory
 * (latched). To be freed in any case. */
bool rlx_tir_call_match(rlx_context *ctx, const rlx_module *m, const rlx_expr *value, rlx_tir_call *out);
void rlx_tir_call_free(rlx_tir_call *c, rlx_context *ctx);
/* The parameter of output i, a number among those of the function. */
size_t rlx_tir_call_output(const rlx_tir_call *c, size_t i);
/* Is the variable known as what the call_tir or field that it is bound to states? Otherwise the binding checks it. */
bool rlx_binding_checks_nothing(const rlx_binding *b);
/* Dimensions of a tensor that are listed; NULL: they are not. */
const rlx_prim *const *rlx_listed_dims(const rlx_sinfo *s, size_t *count);

#endif
