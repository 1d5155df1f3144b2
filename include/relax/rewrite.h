/* rewrite.h: walking programs with callbacks of the host.
 *
 * A visitor is a table of callbacks, one per kind of node. Entries that are NULL do the default.
 * The C stack is not used for the depth of a program: a callback does not call the default, it
 * asks for it by what it returns.
 *
 * Counting definitions needs one entry, counting those inside of dataflow blocks the narrower
 * one:
 *     static int32_t count_def(void *user, const relax_expr *var) { ++*(size_t *)user; return 0; }
 *     relax_visitor all = { .struct_size = sizeof all, .user = &n, .var_def = count_def };
 *     relax_visitor some = { sizeof some, &n, .var_def_dataflow_var = count_def };
 *     relax_visit(ctx, relax_module_as_node(module), &all);
 */
#ifndef RELAX_REWRITE_H
#define RELAX_REWRITE_H

#include <relax/builder.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- visiting ------------------------------------------------------------------------------- */

/* What the callback of a visitor returns: 0 when it is done with the node, what is below it is
 * not visited; RELAX_VISIT_CHILDREN for the default. Any other number ends the walk. */
enum relax_visit_answer { RELAX_VISIT_DONE = 0, RELAX_VISIT_CHILDREN = -1000 };

typedef int32_t (*relax_visit_expr_fn)(void *user, const relax_expr *expr);
typedef int32_t (*relax_visit_binding_fn)(void *user, const relax_binding *binding);
typedef int32_t (*relax_visit_block_fn)(void *user, const relax_block *block);
typedef int32_t (*relax_visit_info_fn)(void *user, const relax_struct_info *info);
typedef int32_t (*relax_visit_prim_fn)(void *user, const relax_prim_expr *prim);
typedef int32_t (*relax_visit_place_fn)(void *user, relax_place place);
typedef int32_t (*relax_visit_node_fn)(void *user, const relax_node *node);

/* Set struct_size, and what is to be called. Entries are asked in this order: `expr`, `binding`,
 * `block`, `var_def` and `sinfo_dep` first, if set, and when they answer RELAX_VISIT_CHILDREN
 * the entry of the kind. Where that is NULL: `var` for dataflow_var, `var_def_var` for
 * var_def_dataflow_var, `binding_block` for dataflow_block, `var_binding` for
 * var_binding_<kind of the value>; where those are NULL, the default, which visits the children
 * in evaluation order.
 *
 * A use of a variable goes to `var`, a definition (parameters too) to `var_def`; a binding's
 * value comes before its definition. `sinfo_dep` is called for struct info that hangs on an
 * expression: of a variable where it is defined, sinfo_args of a call, the target of a
 * match_cast, the result of a function. Its default visits the parts by kind, and inside of
 * them Relax variables as uses (`expr`, `var`) and dimensions and values as integer expressions
 * (`prim_expr`: each maximal one, which has no children). `span` gets the place of each node
 * whose children are visited, if it has one, before them; `leave` (not asked for integer
 * expressions) the node after them.
 *
 * Attributes and functions of TIR are passed over. A node that occurs twice is visited twice.
 */
typedef struct relax_visitor {
    size_t struct_size;
    void *user;
    relax_visit_expr_fn expr;
    relax_visit_expr_fn constant;
    relax_visit_expr_fn tuple;
    relax_visit_expr_fn var;
    relax_visit_expr_fn dataflow_var;
    relax_visit_expr_fn global_var;
    relax_visit_expr_fn seq;
    relax_visit_expr_fn prim_value;
    relax_visit_expr_fn string_imm;
    relax_visit_expr_fn dtype_imm;
    relax_visit_expr_fn function;
    relax_visit_expr_fn if_expr;
    relax_visit_expr_fn extern_func;
    relax_visit_expr_fn call;
    relax_visit_expr_fn shape;
    relax_visit_expr_fn tuple_get_item;
    relax_visit_expr_fn op;
    relax_visit_binding_fn binding;
    relax_visit_binding_fn var_binding;
    relax_visit_binding_fn match_cast;
    relax_visit_binding_fn var_binding_constant;
    relax_visit_binding_fn var_binding_tuple;
    relax_visit_binding_fn var_binding_var;
    relax_visit_binding_fn var_binding_dataflow_var;
    relax_visit_binding_fn var_binding_global_var;
    relax_visit_binding_fn var_binding_seq;
    relax_visit_binding_fn var_binding_prim_value;
    relax_visit_binding_fn var_binding_string_imm;
    relax_visit_binding_fn var_binding_dtype_imm;
    relax_visit_binding_fn var_binding_function;
    relax_visit_binding_fn var_binding_if_expr;
    relax_visit_binding_fn var_binding_extern_func;
    relax_visit_binding_fn var_binding_call;
    relax_visit_binding_fn var_binding_shape;
    relax_visit_binding_fn var_binding_tuple_get_item;
    relax_visit_binding_fn var_binding_op;
    relax_visit_block_fn block;
    relax_visit_block_fn binding_block;
    relax_visit_block_fn dataflow_block;
    relax_visit_expr_fn var_def;
    relax_visit_expr_fn var_def_var;
    relax_visit_expr_fn var_def_dataflow_var;
    relax_visit_place_fn span;
    relax_visit_prim_fn prim_expr;
    relax_visit_info_fn sinfo_dep;
    relax_visit_info_fn sinfo_object;
    relax_visit_info_fn sinfo_prim;
    relax_visit_info_fn sinfo_shape;
    relax_visit_info_fn sinfo_tensor;
    relax_visit_info_fn sinfo_tuple;
    relax_visit_info_fn sinfo_func;
    relax_visit_node_fn leave;
} relax_visitor;

/* Visits `node` and what is below it: an expression, function, binding, block, struct info or
 * module. RELAX_OK, or what the callback returned that ended the walk; for
 * RELAX_ERROR_INVALID_ARGUMENT and RELAX_ERROR_OUT_OF_MEMORY of its own there is a diagnostic.
 * A callback may build expressions; it does not collect the context. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
relax_status relax_visit(relax_context *ctx, const relax_node *node, const relax_visitor *visitor);
/* Calls `each` for every expression of `node` once, variables included, after what it is made
 * of. Struct info and attributes are passed over. Any answer but 0 ends it and is returned;
 * else as relax_visit. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
relax_status relax_visit_post_order(relax_context *ctx, const relax_node *node,
                                    relax_visit_expr_fn each, RELAX_NULLABLE void *user);

#ifdef __cplusplus
}
#endif
#endif
