/* build.h: making nodes.
 *
 * All functions return NULL when memory is out (latched in ctx) or when a required operand is
 * NULL (so chains of constructors need one check at the end). Arrays are copied. Nothing here
 * infers or checks meaning.
 */
#ifndef RLX_IR_BUILD_H
#define RLX_IR_BUILD_H

#include "ir/context.h"

/* Generic: zeroed node of a PLAIN or IDENT kind in the top layer (IDENT kinds get an id). Fill
 * its fields, then treat as const. */
RLX_NODISCARD void *rlx_node_new(rlx_context *ctx, enum rlx_node_kind kind);
/* Generic: the interned node equal to *key (a struct on the caller's stack with node.kind set;
 * arrays may be the caller's). Copies key and its arrays only if it is new. */
const rlx_node *rlx_node_intern(rlx_context *ctx, const rlx_node *key);
/* Copies an array of node pointers into the top layer. NULL for count 0 is a valid result: *ok
 * tells failure. */
const rlx_node *const *rlx_nodes_copy(rlx_context *ctx, const rlx_node *const *nodes, size_t count,
                                      bool *ok);

/* ---- Relax expressions */
/* row-major, copied */
const rlx_expr *rlx_constant_new(rlx_context *ctx, rlx_dtype dtype, const int64_t *shape,
                                 size_t ndim, const void *data, rlx_place place);
/* retains data */
/* The same constant on a mesh. */
const rlx_expr *rlx_constant_distributed(rlx_context *ctx, const rlx_constant *c,
                                         const rlx_node *sharding, rlx_place place);
const rlx_expr *rlx_constant_blob(rlx_context *ctx, rlx_dtype dtype, const int64_t *shape,
                                  size_t ndim, rlx_blob *data, rlx_place place);
/* number -1: the name is complete */
rlx_var *rlx_var_new(rlx_context *ctx, bool dataflow, const rlx_string *name, int32_t number,
                     const rlx_sinfo *sinfo, rlx_place place);
const rlx_global_var *rlx_global_var_new(rlx_context *ctx, const rlx_string *name,
                                         rlx_place place);
const rlx_expr *rlx_tuple_new(rlx_context *ctx, const rlx_expr *const *fields, size_t count,
                              rlx_place place);
const rlx_expr *rlx_seq_new(rlx_context *ctx, const rlx_node *const *blocks, size_t count,
                            const rlx_expr *body, rlx_place place);
const rlx_expr *rlx_prim_value_new(rlx_context *ctx, const rlx_prim *value);
const rlx_expr *rlx_string_imm_new(rlx_context *ctx, rlx_slice text);
const rlx_expr *rlx_dtype_imm_new(rlx_context *ctx, rlx_dtype dtype);
const rlx_expr *rlx_shape_new(rlx_context *ctx, const rlx_prim *const *values, size_t count);
const rlx_expr *rlx_shape_of_ints(rlx_context *ctx, const int64_t *values, size_t count);
const rlx_expr *rlx_extern_func_new(rlx_context *ctx, rlx_slice symbol);
/* With what it is described as; NULL: what its calls say they give. */
const rlx_expr *rlx_extern_func_of(rlx_context *ctx, rlx_slice symbol, const rlx_sinfo *sinfo);
const rlx_expr *rlx_op_node(rlx_context *ctx, const rlx_op_row *row);
const rlx_expr *rlx_if_new(rlx_context *ctx, const rlx_expr *cond, const rlx_expr *true_branch,
                           const rlx_expr *false_branch, rlx_place place);
const rlx_expr *rlx_call_new(rlx_context *ctx, const rlx_expr *op, const rlx_expr *const *args,
                             size_t num_args, const rlx_sinfo *const *sinfo_args,
                             size_t num_sinfo_args, const rlx_attr *attrs, rlx_place place);
const rlx_expr *rlx_tuple_get_item_new(rlx_context *ctx, const rlx_expr *tuple, int64_t index,
                                       rlx_place place);
const rlx_function *rlx_function_new(rlx_context *ctx, const rlx_expr *const *params,
                                     size_t num_params, const rlx_expr *body,
                                     const rlx_sinfo *ret_sinfo, bool ret_stated, bool is_pure,
                                     const rlx_attr *attrs, const rlx_sinfo *sinfo,
                                     rlx_place place);
/* The attributes of `fresh`, made just now and not shared yet, stand where those of `old` do; so
 * does its result, if `result`. */
void rlx_function_take_places(const rlx_function *fresh, const rlx_function *old, bool result);
const rlx_binding *rlx_var_binding_new(rlx_context *ctx, const rlx_var *var, const rlx_expr *value,
                                       rlx_place place);
/* var may be NULL */
const rlx_binding *rlx_match_cast_new(rlx_context *ctx, const rlx_var *var, const rlx_sinfo *sinfo,
                                      const rlx_expr *value, rlx_place place);
const rlx_node *rlx_block_new(rlx_context *ctx, bool dataflow, const rlx_binding *const *bindings,
                              size_t count, rlx_place place);

/* ---- structural information (shape_count -1 / ndim -1: unknown) */
const rlx_sinfo *rlx_object_info(rlx_context *ctx);
const rlx_sinfo *rlx_prim_info(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *value);
/* values known */
const rlx_sinfo *rlx_shape_info(rlx_context *ctx, const rlx_prim *const *values, size_t count);
const rlx_sinfo *rlx_shape_info_rank(rlx_context *ctx, int ndim);
/* shape: SHAPE_EXPR, Shape-typed VAR, or NULL; ndim is taken from the shape where that says it,
 * else as given */
const rlx_sinfo *rlx_tensor_info(rlx_context *ctx, const rlx_expr *shape, rlx_dtype dtype,
                                 int ndim, const rlx_node *vdevice);
const rlx_sinfo *rlx_tensor_ints(rlx_context *ctx, const int64_t *shape, size_t ndim,
                                 rlx_dtype dtype);
const rlx_sinfo *rlx_tuple_info(rlx_context *ctx, const rlx_sinfo *const *fields, size_t count);
const rlx_sinfo *rlx_func_info(rlx_context *ctx, const rlx_prim *const *binders,
                               size_t num_binders, const rlx_sinfo *const *params,
                               size_t num_params, const rlx_sinfo *ret, bool is_pure);
/* operands as node.def says */
const rlx_sinfo *rlx_extension_info(rlx_context *ctx, const rlx_string *name,
                                    const rlx_node *const *operands, size_t count);
const rlx_sinfo *rlx_opaque_func_info(rlx_context *ctx, enum rlx_derive derive,
                                      const rlx_string *name, const rlx_sinfo *ret, bool is_pure);

/* ---- integer and scalar expressions. Built as written: no folding (folding constructors:
 * arith/arith.h) */
const rlx_prim *rlx_int(rlx_context *ctx, rlx_dtype dtype, int64_t value);
RLX_INLINE const rlx_prim *rlx_int64(rlx_context *ctx, int64_t value)
{
    return rlx_int(ctx, RELAX_INT64, value);
}
const rlx_prim *rlx_float(rlx_context *ctx, rlx_dtype dtype, double value);
rlx_prim_var *rlx_prim_var_new(rlx_context *ctx, const rlx_string *name, rlx_dtype dtype,
                               rlx_place place);
const rlx_prim *rlx_pointer_var(rlx_context *ctx, const rlx_string *name, rlx_dtype elem,
                                const rlx_string *scope, rlx_place place);
/* comparisons give bool */
const rlx_prim *rlx_binary_new(rlx_context *ctx, enum rlx_node_kind kind, const rlx_prim *a,
                               const rlx_prim *b);
const rlx_prim *rlx_not(rlx_context *ctx, const rlx_prim *a);
const rlx_prim *rlx_cast(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a);
const rlx_prim *rlx_select_new(rlx_context *ctx, const rlx_prim *cond, const rlx_prim *t,
                               const rlx_prim *f);
const rlx_prim *rlx_prim_call_new(rlx_context *ctx, rlx_dtype dtype, const rlx_string *op,
                                  const rlx_prim *const *args, size_t count);
const rlx_prim *rlx_prim_call_z(rlx_context *ctx, rlx_dtype dtype, const char *op,
                                const rlx_prim *const *args, size_t count);
const rlx_prim *rlx_load(rlx_context *ctx, const rlx_buffer *buffer,
                         const rlx_prim *const *indices, size_t count);
rlx_dtype rlx_prim_dtype(const rlx_prim *p);
/* Nodes of p, counted as a tree: shared parts as often as they occur. UINT32_MAX: that many or
 * more. */
RLX_INLINE uint32_t rlx_prim_parts(const rlx_prim *p)
{
    return p->kind == RLX_NODE_PRIM_VAR || !p->id ? 1 : p->id;
}
RLX_INLINE bool rlx_is_int_value(const rlx_prim *p, int64_t v)
{
    return p && p->kind == RLX_NODE_INT_IMM && ((const rlx_int_imm *)p)->value == v;
}
RLX_INLINE bool rlx_int_literal(const rlx_prim *p, int64_t *v)
{
    return p && p->kind == RLX_NODE_INT_IMM ? (*v = ((const rlx_int_imm *)p)->value, true) : false;
}

/* ---- TIR */
const rlx_buffer *rlx_buffer_new(rlx_context *ctx, const rlx_string *name, rlx_dtype dtype,
                                 const rlx_prim *const *shape, size_t ndim,
                                 /* makes its data pointer; scope NULL: "global" */
                                 const rlx_string *scope, rlx_place place);
const rlx_node *rlx_range_new(rlx_context *ctx, const rlx_prim *min, const rlx_prim *extent);
const rlx_stmt *rlx_store(rlx_context *ctx, const rlx_buffer *buffer, const rlx_prim *value,
                          const rlx_prim *const *indices, size_t count, rlx_place place);
/* one: itself; flattens nothing */
const rlx_stmt *rlx_seq_stmt_new(rlx_context *ctx, const rlx_stmt *const *stmts, size_t count,
                                 rlx_place place);
const rlx_stmt *rlx_for(rlx_context *ctx, const rlx_prim_var *var, const rlx_prim *min,
                        const rlx_prim *extent, int for_kind, const rlx_stmt *body,
                        rlx_place place);
/* f with another body; all else is its own. */
rlx_prim_func *rlx_prim_func_with_body(rlx_context *ctx, const rlx_prim_func *f,
                                       const rlx_stmt *body);

/* ---- attributes */
const rlx_attr *rlx_attr_none(rlx_context *ctx);
const rlx_attr *rlx_attr_int_new(rlx_context *ctx, int64_t v);
const rlx_attr *rlx_attr_bool_new(rlx_context *ctx, bool v);
const rlx_attr *rlx_attr_float_new(rlx_context *ctx, double v);
const rlx_attr *rlx_attr_string_new(rlx_context *ctx, rlx_slice v);
const rlx_attr *rlx_attr_dtype_new(rlx_context *ctx, rlx_dtype v);
const rlx_attr *rlx_attr_list_new(rlx_context *ctx, const rlx_attr *const *items, size_t count);
/* Sorts by key bytes. A key twice: the later value. */
const rlx_attr *rlx_attrs_new(rlx_context *ctx, const rlx_attr *const *keys,
                              const rlx_attr *const *values, size_t count);
/* operator calls */
const rlx_attr *rlx_attrs_in_order(rlx_context *ctx, const rlx_attr *const *keys,
                                   const rlx_attr *const *values, size_t count);
/* NULL: absent; attrs may be NULL */
const rlx_attr *rlx_attrs_get(const rlx_attr *attrs, const char *key);
/* Attributes of a Relax function or PrimFunc; NULL: none, or another node. */
const rlx_attr *rlx_function_attrs(const rlx_node *function);
/* Its link name, the attribute global_symbol. NULL: private, or another node. */
const rlx_string *rlx_link_name(const rlx_node *function);
/* Is attribute `name` present and true? */
bool rlx_flag_attr(const rlx_attr *attrs, const char *name);
/* Attributes of a module: is relax.arithmetic "separate"? Then a product that is summed up is
 * rounded on its own (transform/fuse_multiply_add.c). */
bool rlx_products_are_separate(const rlx_attr *attrs);
/* Where attribute `key` of a FUNCTION or PRIM_FUNC stands; the function's own place if that is
 * not known. */
rlx_place rlx_attr_place(const rlx_node *function, const char *key);
/* value NULL removes; attrs may be NULL */
const rlx_attr *rlx_attrs_with(rlx_context *ctx, const rlx_attr *attrs, const char *key,
                               const rlx_attr *value);

/* ---- modules */
const rlx_module *rlx_module_new(rlx_context *ctx, const rlx_expr *const *gvars,
                                 const rlx_node *const *functions, size_t count,
                                 const rlx_attr *attrs, const rlx_attr *global_infos,
                                 rlx_place place);
/* Index of the function called `name` / of this GlobalVar, or -1. Linear for small modules,
 * hashed for large ones (the table is built with the module). */
int64_t rlx_module_find(const rlx_module *m, rlx_slice name);
int64_t rlx_module_index(const rlx_module *m, const rlx_global_var *gv);
/* Of the function that a node names; -1 for other nodes. */
RLX_INLINE int64_t rlx_module_named_by(const rlx_module *m, const rlx_node *n)
{
    const rlx_global_var *gv = rlx_as_global_var(n);
    return gv ? rlx_module_index(m, gv) : -1;
}
/* m with functions[i] in place of its own; m itself if all are its own. */
const rlx_module *rlx_module_with(rlx_context *ctx, const rlx_module *m,
                                  const rlx_node *const *functions);
/* `made`, which nobody has seen yet and which may be NULL, comes from `of` (may be NULL): mistakes found
 * while that was read count for it as well. */
const rlx_module *rlx_module_made_of(const rlx_module *made, const rlx_module *of);

#endif
