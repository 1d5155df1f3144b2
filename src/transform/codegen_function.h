/*- codegen_function.h: functions for an external back end. Inside, the parts that it has a name for:
 *     def fused_relax_matmul_relax_nn_relu_dnnl(x, w):        R.func_attr({"Codegen": "dnnl", "global_symbol": ...})
 *         @R.function
 *         def local(x, w): ...                                R.func_attr({"Composite": "dnnl.matmul_relu"})
 *         gv = local(x, w)
 */
#ifndef RLX_CODEGEN_FUNCTION_H
#define RLX_CODEGEN_FUNCTION_H

#include "ir/ir.h"

/* Text of attribute `key` of a function; empty: it has none. */
rlx_slice rlx_text_attr(const rlx_attr *attrs, const char *key);
/* The back end of a composite function: its name up to the first dot. */
rlx_slice rlx_codegen_of(rlx_slice composite);
/* f, whose attributes are these, with a signature of its own. NULL: out of memory. */
const rlx_function *rlx_function_with_attrs(rlx_context *ctx, const rlx_function *f, const rlx_attr *attrs);
/* f with the functions of m that it calls and that are composite, as local functions, and the attribute Codegen. */
const rlx_function *rlx_codegen_function(rlx_context *ctx, const rlx_function *f, rlx_slice codegen,
                                         const rlx_function *(*callee)(void *user, const rlx_global_var *gv),
                                         void *user);
/* Private functions with the attribute Codegen become public ones, called NAME_CODEGEN. */
const rlx_module *rlx_publish_codegen(rlx_context *ctx, const rlx_module *m);

#endif
