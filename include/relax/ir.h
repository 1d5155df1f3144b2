/* ir.h: the nodes of programs: struct info, integer expressions, Relax expressions, functions,
 * modules.
 *
 * Nodes never change once built, are shared freely and live as long as their context. Handles
 * below stand for families; the _kind functions tell which member a node is. Getters read
 * stored fields only and report nothing: for NULL and for a node that they do not fit they give
 * NULL, 0, RELAX_NOT_FOUND or, for a rank, -1. What makes nodes reports a wrong kind as an OP
 * diagnostic. All nodes given to one call must belong to the same context.
 */
#ifndef RELAX_IR_H
#define RELAX_IR_H

#include <relax/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_struct_info relax_struct_info; /* what is known of a value while compiling */
/* scalar expression: dimensions, scalar values, TIR expressions */
typedef struct relax_prim_expr relax_prim_expr;
/* Relax expression, variables and functions included */
typedef struct relax_expr relax_expr;
/* member of a module: Relax function, PrimFunc or ExternFunc */
typedef struct relax_base_func relax_base_func;
typedef struct relax_binding relax_binding;
typedef struct relax_block relax_block;
typedef struct relax_stmt relax_stmt;               /* TIR statement */
/* attribute value: number, string, list, map ... */
typedef struct relax_attr relax_attr;
typedef struct relax_module relax_module;
typedef struct relax_node relax_node;               /* any of them; see relax_*_as_node */

/* ---- struct info ---------------------------------------------------------------------------- */

/* Kinds of struct info, by relax_struct_info_kind. */
enum relax_struct_info_kind_code {
    RELAX_STRUCT_INFO_KIND_OBJECT = 1,
    RELAX_STRUCT_INFO_KIND_PRIM = 2,
    RELAX_STRUCT_INFO_KIND_SHAPE = 3,
    RELAX_STRUCT_INFO_KIND_TENSOR = 4,
    RELAX_STRUCT_INFO_KIND_TUPLE = 5,
    RELAX_STRUCT_INFO_KIND_FUNC = 6,
    RELAX_STRUCT_INFO_KIND_EXTENSION = 7 /* of a kind that the host has registered, see extend.h */
};

/* R.Object: any value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_struct_info *relax_struct_info_object_new(relax_context *ctx);
/* R.Prim: a scalar of `dtype`; `value` (may be NULL) says which; its dtype must be `dtype`. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_prim_new(
        relax_context *ctx, relax_dtype dtype, RELAX_NULLABLE const relax_prim_expr *value);
/* R.Shape([...]): a shape with known values (int64 scalars). */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_shape_new(
        relax_context *ctx, const relax_prim_expr *const *values, size_t count);
/* R.Shape(ndim=...): a shape of known rank, or of unknown rank for -1. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_struct_info *relax_struct_info_shape_of_rank(relax_context *ctx, int32_t ndim);
/* R.Tensor((...), dtype): a tensor with these dimensions (int64 scalars; row-major order has
 * the last fastest). dtype RELAX_VOID: not known. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_tensor_new(
        relax_context *ctx, const relax_prim_expr *const *dims, size_t ndim, relax_dtype dtype);
/* R.Tensor((...), dtype): a tensor whose dimensions are numbers. dtype RELAX_VOID: not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_struct_info *relax_struct_info_tensor_of_ints(relax_context *ctx, const int64_t *dims,
                                                        size_t ndim, relax_dtype dtype);
/* R.Tensor(dtype, ndim=...): dimensions not known; ndim -1: rank not known either. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_struct_info *relax_struct_info_tensor_of_rank(relax_context *ctx, int32_t ndim,
                                                        relax_dtype dtype);
/* R.Tensor(s, dtype): a tensor whose shape is the value of `shape`, a variable of Shape kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_tensor_of_shape(
        relax_context *ctx, const relax_expr *shape, relax_dtype dtype);
/* `tensor`, a description of Tensor kind, on a device (relax_attr_vdevice_new); NULL: on none that
 * is known. OP02 for other kinds. The module has to list the device (WF24): entry "vdevice", a
 * list, of its global infos. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_with_device(
        relax_context *ctx, const relax_struct_info *tensor,
        RELAX_NULLABLE const relax_attr *device);
/* The device that a description of Tensor kind names; NULL: none, or another kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_struct_info_device(
        const relax_struct_info *info);
/* 1: a tensor on a mesh of devices, R.DTensor in text, which no device names. Everything else that
 * is asked of a Tensor answers as for one in one place. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_struct_info_is_distributed(const relax_struct_info *info);
/* R.Tuple(...): a tuple of that many fields; none: the unit. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_tuple_new(
        relax_context *ctx, const relax_struct_info *const *fields, size_t count);
/* R.Callable((...), ret, pure): shape variables standing alone in `params` are placeholders of
 * the description unless they are bound by the function in whose signature it stands.
 */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_func_new(
        relax_context *ctx, const relax_struct_info *const *params, size_t num_params,
        const relax_struct_info *ret, int32_t pure);
/* R.Callable: a function about which nothing is known but (if not NULL) what it returns. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_struct_info
    *relax_struct_info_opaque_func_new(relax_context *ctx,
                                       RELAX_NULLABLE const relax_struct_info *ret, int32_t pure);

/* enum relax_struct_info_kind_code; 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_struct_info_kind(const relax_struct_info *info);
/* dtype of a Tensor or Prim; RELAX_VOID if not known or of another kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_struct_info_dtype(const relax_struct_info *info);
/* Rank of a Tensor or Shape; -1 if not known or of another kind. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_struct_info_ndim(const relax_struct_info *info);
/* Dimension of a Tensor, value of a Shape; the value of a Prim for index 0. NULL if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_prim_expr *relax_struct_info_dim(
        const relax_struct_info *info, size_t index);
/* Fields of a Tuple, parameters of a Func; RELAX_NOT_FOUND for a Func without parameters given and
 * for other kinds. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_struct_info_num_fields(const relax_struct_info *info);
/* Field of a Tuple, parameter of a Func; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_struct_info_field(
        const relax_struct_info *info, size_t index);
/* Result of a Func; NULL for other kinds. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_struct_info_ret(
        const relax_struct_info *info);
/* 1 for a pure Func, else 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_struct_info_is_pure(const relax_struct_info *info);

/* ---- integer and scalar expressions --------------------------------------------------------- */

/* Operators of scalar expressions. */
enum relax_prim_op {
    RELAX_PRIM_ADD = 1, RELAX_PRIM_SUB = 2, RELAX_PRIM_MUL = 3,
    RELAX_PRIM_DIV = 4,       /* integers toward zero, floats real division */
    RELAX_PRIM_MOD = 5,       /* sign of the dividend */
    RELAX_PRIM_FLOOR_DIV = 6, RELAX_PRIM_FLOOR_MOD = 7,
    RELAX_PRIM_MIN = 8, RELAX_PRIM_MAX = 9,
    RELAX_PRIM_EQ = 10, RELAX_PRIM_NE = 11, RELAX_PRIM_LT = 12, RELAX_PRIM_LE = 13,
    RELAX_PRIM_GT = 14, RELAX_PRIM_GE = 15,
    RELAX_PRIM_AND = 16, RELAX_PRIM_OR = 17
};
/* Kinds of scalar expressions, by relax_prim_kind. */
enum relax_prim_kind_code {
    RELAX_PRIM_KIND_VAR = 1,
    RELAX_PRIM_KIND_INT = 2,
    RELAX_PRIM_KIND_FLOAT = 3,
    RELAX_PRIM_KIND_BINARY = 4,
    RELAX_PRIM_KIND_NOT = 5,
    RELAX_PRIM_KIND_CAST = 6,
    RELAX_PRIM_KIND_SELECT = 7,
    RELAX_PRIM_KIND_CALL = 8,
    RELAX_PRIM_KIND_LOAD = 9,
    RELAX_PRIM_KIND_OTHER = 10
};

/* A fresh int64 shape variable; two calls give two variables, whatever their names. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_prim_expr *relax_shape_var_new(relax_context *ctx, const char *name, size_t name_len);
/* A fresh scalar variable of `dtype`. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_prim_var_new(
        relax_context *ctx, const char *name, size_t name_len, relax_dtype dtype);
/* An int64 literal. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_prim_expr *relax_prim_int_new(relax_context *ctx, int64_t value);
/* An integer or bool literal of `dtype`; the value must fit. A uint64 from 2^63 on is made by
 * relax_prim_cast_new of the int64 with its bits. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_prim_expr *relax_prim_int_of_dtype(relax_context *ctx, relax_dtype dtype, int64_t value);
/* A float literal of `dtype`. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_prim_expr *relax_prim_float_new(relax_context *ctx, relax_dtype dtype, double value);
/* a op b. Literals fold with literals, nothing else is simplified; operand types are matched as
 * in TVMScript. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_prim_binary_new(
        relax_context *ctx, int32_t op, const relax_prim_expr *a, const relax_prim_expr *b);
/* Logical not of a bool scalar. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_prim_expr *relax_prim_not_new(relax_context *ctx, const relax_prim_expr *a);
/* Conversion to `dtype`; `a` itself if it has it. A literal becomes what the conversion gives at
 * run time: integers wrap, floats saturate, NaN is 0. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_prim_cast_new(
        relax_context *ctx, relax_dtype dtype, const relax_prim_expr *a);
/* cond ? a : b, both computed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_prim_expr *relax_prim_select_new(relax_context *ctx, const relax_prim_expr *cond,
                                           const relax_prim_expr *a, const relax_prim_expr *b);

/* RELAX_PRIM_KIND_...; 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_prim_kind(const relax_prim_expr *e);
/* dtype of the value; RELAX_VOID for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_prim_dtype(const relax_prim_expr *e);
/* RELAX_PRIM_ADD ... of a binary expression; 0 for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_prim_operator(const relax_prim_expr *e);
/* Operand 0, 1, 2 (binary: a, b; select: condition, a, b; call: arguments; load: indices). NULL
 * if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_prim_expr *relax_prim_operand(const relax_prim_expr *e,
        size_t index);
/* Value of an integer literal into *out, of a uint64 from 2^63 on its bits.
 * RELAX_ERROR_INVALID_ARGUMENT if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_prim_int_value(const relax_prim_expr *e, int64_t *out);
/* Value of a float literal into *out. RELAX_ERROR_INVALID_ARGUMENT if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_prim_float_value(const relax_prim_expr *e, double *out);
/* Name of a variable or intrinsic; `len` may be NULL. NULL for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_prim_name(const relax_prim_expr *e,
                                                          RELAX_NULLABLE size_t *len);

/* ---- attributes ----------------------------------------------------------------------------- */

/* Kinds of attributes, by relax_attr_kind. */
enum relax_attr_kind_code {
    RELAX_ATTR_KIND_NONE = 1,
    RELAX_ATTR_KIND_INT = 2,
    RELAX_ATTR_KIND_BOOL = 3,
    RELAX_ATTR_KIND_FLOAT = 4,
    RELAX_ATTR_KIND_STRING = 5,
    RELAX_ATTR_KIND_DTYPE = 6,
    RELAX_ATTR_KIND_LIST = 7,
    RELAX_ATTR_KIND_MAP = 8,
    RELAX_ATTR_KIND_NODE = 9
};
/* None. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
    RELAX_BORROWED RELAX_NULLABLE relax_attr *relax_attr_none_new(relax_context *ctx);
/* An integer. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_attr *relax_attr_int_new(relax_context *ctx,
                                                                                 int64_t value);
/* A truth value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_attr *relax_attr_bool_new(relax_context *ctx, int32_t value);
/* A float. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_attr *relax_attr_float_new(relax_context *ctx, double value);
/* A string (UTF-8, no NUL). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_attr *relax_attr_string_new(relax_context *ctx, const char *text, size_t len);
/* A dtype. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_attr *relax_attr_dtype_new(relax_context *ctx, relax_dtype dtype);
/* A list. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_attr *relax_attr_list_new(
        relax_context *ctx, const relax_attr *const *items, size_t count);
/* A list of integers. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_attr *relax_attr_ints_new(relax_context *ctx, const int64_t *values, size_t count);
/* A virtual device: I.vdevice(target, id, scope). `target`: a string such as "cuda", a map with
 * the entry "kind", or NULL for any; id is not negative; `scope` is the kind of memory, NULL:
 * "global". What is equal is one object. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_attr *relax_attr_vdevice_new(
        relax_context *ctx, RELAX_NULLABLE const relax_attr *target, int32_t id,
        RELAX_NULLABLE const char *scope, size_t scope_len);
/* `map` (NULL: empty) with `key` set to `value`; value NULL removes. Maps never change: this is
 * a new one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_attr *relax_attr_map_with(relax_context *ctx,
        RELAX_NULLABLE const relax_attr *map, const char *key, size_t key_len,
        RELAX_NULLABLE const relax_attr *value);
/* RELAX_ATTR_KIND_...; 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_attr_kind(const relax_attr *attr);
/* Value of an INT or BOOL; RELAX_ERROR_INVALID_ARGUMENT for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY relax_status
    relax_attr_int_value(const relax_attr *attr, int64_t *out);
/* Value of a FLOAT; RELAX_ERROR_INVALID_ARGUMENT for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY relax_status
    relax_attr_float_value(const relax_attr *attr, double *out);
/* Text of a STRING; `len` may be NULL; NULL for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_BORROWED RELAX_NULLABLE const
    char *relax_attr_string_value(const relax_attr *attr, RELAX_NULLABLE size_t *len);
/* Value of a DTYPE; RELAX_VOID for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY relax_dtype relax_attr_dtype_value(const relax_attr *attr);
/* Items of a LIST, entries of a MAP; 0 for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_attr_count(const relax_attr *attr);
/* Item of a LIST, value of a MAP by position; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_attr_at(const relax_attr *attr,
        size_t index);
/* Key of a MAP by position, ascending; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_attr_key(const relax_attr *attr, size_t index,
                                                         RELAX_NULLABLE size_t *len);
/* Value of a MAP by key; NULL if absent. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY RELAX_BORROWED RELAX_NULLABLE const
    relax_attr *relax_attr_find(const relax_attr *map, const char *key, size_t key_len);

/* ---- Relax expressions ---------------------------------------------------------------------- */

/* Kinds of expressions, by relax_expr_kind. */
enum relax_expr_kind_code {
    RELAX_EXPR_KIND_CONSTANT = 1,
    RELAX_EXPR_KIND_VAR = 2,
    RELAX_EXPR_KIND_DATAFLOW_VAR = 3,
    RELAX_EXPR_KIND_GLOBAL_VAR = 4,
    RELAX_EXPR_KIND_TUPLE = 5,
    RELAX_EXPR_KIND_SEQ = 6,
    RELAX_EXPR_KIND_PRIM_VALUE = 7,
    RELAX_EXPR_KIND_STRING = 8,
    RELAX_EXPR_KIND_DTYPE = 9,
    RELAX_EXPR_KIND_FUNCTION = 10,
    RELAX_EXPR_KIND_IF = 11,
    RELAX_EXPR_KIND_EXTERN_FUNC = 12,
    RELAX_EXPR_KIND_CALL = 13,
    RELAX_EXPR_KIND_SHAPE = 14,
    RELAX_EXPR_KIND_TUPLE_GET_ITEM = 15,
    RELAX_EXPR_KIND_OP = 16
};

/* A tensor constant: `data` holds the elements row-major, ndim sizes in `shape`, data_size
 * bytes in all; copied. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_expr *relax_constant_new(relax_context *ctx, relax_dtype dtype, const int64_t *shape,
                                   size_t ndim, const void *data, size_t data_size);
/* A variable with struct info, to be a parameter. `place` may be 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_var_new(
    relax_context *ctx, const char *name, size_t name_len, const relax_struct_info *info,
    relax_place place);
/* A tuple. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_expr *relax_tuple_new(relax_context *ctx, const relax_expr *const *fields, size_t count);
/* Field `index` of a tuple. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_tuple_get_item_new(
        relax_context *ctx, const relax_expr *tuple, size_t index);
/* A shape value. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_shape_expr_new(
        relax_context *ctx, const relax_prim_expr *const *values, size_t count);
/* A scalar value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_expr *relax_prim_value_new(relax_context *ctx, const relax_prim_expr *value);
/* A string value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_expr *relax_string_imm_new(relax_context *ctx, const char *text, size_t len);
/* A dtype value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_expr *relax_dtype_imm_new(relax_context *ctx, relax_dtype dtype);
/* A packed function by name. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_expr *relax_extern_func_new(relax_context *ctx, const char *name, size_t name_len);
/* A call of an operator by name ("relax.nn.softmax", "R.nn.softmax" or "nn.softmax"). `attrs`
 * (NULL: none) is a map; missing attributes take their defaults. Lists are given as tuples,
 * shapes as shape expressions. Codes OP06-OP09 for unknown names, attributes and wrong counts.
 */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_call_op_new(
        relax_context *ctx, const char *op, size_t op_len, const relax_expr *const *args,
        size_t num_args, RELAX_NULLABLE const relax_attr *attrs, relax_place place);
/* R.call_tir, R.call_tir_inplace ... and other operators that state their result: as
 * relax_call_op_new with `result` as sinfo_args. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_call_op_new_with_result(
        relax_context *ctx, const char *op, size_t op_len, const relax_expr *const *args,
        size_t num_args, RELAX_NULLABLE const relax_attr *attrs, const relax_struct_info *result,
        relax_place place);
/* A call of a GlobalVar, a variable of function kind or a packed function. `result` (NULL:
 * none) states what a packed function returns. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_expr *relax_call_new(
        relax_context *ctx, const relax_expr *callee, const relax_expr *const *args,
        size_t num_args, RELAX_NULLABLE const relax_struct_info *result, relax_place place);

/* RELAX_EXPR_...; 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_expr_kind(const relax_expr *e);
/* Struct info of a variable; NULL for other kinds (relax_builder_infer derives it). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_expr_struct_info(const relax_expr *e);
/* Name of a variable (hint), GlobalVar, packed function, operator, or the text of a string
 * value; `len` may be NULL. NULL for others. Lives as long as the context. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_expr_name(const relax_expr *e,
                                                          RELAX_NULLABLE size_t *len);
/* Place of an expression in a source; 0 if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_place relax_expr_place(const relax_expr *e);
/* Direct subexpressions in evaluation order (Call: callee first, then arguments; Function:
 * parameters, then body; Seq: the body). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_expr_num_operands(const relax_expr *e);
/* Operand `index` of an expression, as relax_expr_num_operands counts them; NULL if there is
 * none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_expr_operand(const relax_expr *e,
        size_t index);
/* Is it a call of the operator called `op` ("relax.add", "add")? 1 or 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_expr_is_call_of(RELAX_NULLABLE const relax_expr *e, const char *op, size_t op_len);
/* Number of parameters of a function (kind RELAX_EXPR_KIND_FUNCTION); RELAX_NOT_FOUND for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_function_num_params(const relax_expr *function);
/* Parameter `index` of a function, a variable; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_function_param(const relax_expr *function,
                                                                     size_t index);
/* The body of a function; NULL for other expressions, and for a function that has none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_function_body(const relax_expr *function);
/* What a function gives, as stated or derived; NULL for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_function_result(
        const relax_expr *function);
/* Attributes of a Call or Function; NULL if there are none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_expr_attrs(const relax_expr *e);
/* Attribute of a Call or Function by name; NULL if absent. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_expr_attr(const relax_expr *e,
        const char *name, size_t name_len);
/* Index of a TupleGetItem; RELAX_NOT_FOUND for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_expr_index(const relax_expr *e);
/* Value of a PrimValue (index 0), dimensions of a ShapeExpr; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_prim_expr *relax_expr_value(const relax_expr *e,
        size_t index);
/* Elements of a Constant, row-major, and their size in bytes; NULL for others. Those of memory of
 * the host lie where they do (relax_module_bind_memory), all others at a multiple of 64. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const void *relax_constant_data(const relax_expr *e,
        RELAX_NULLABLE size_t *size);
/* Blocks of a SeqExpr; 0 for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_seq_num_blocks(const relax_expr *e);
/* Block `index` of a SeqExpr; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_block *relax_seq_block(const relax_expr *e,
        size_t index);
/* 1 for a dataflow block, else 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_block_is_dataflow(const relax_block *block);
/* Number of bindings. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_block_num_bindings(const relax_block *block);
/* Binding `index` of a block; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_binding *relax_block_binding(const relax_block *block,
        size_t index);
/* The variable bound; NULL for a match_cast without one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_binding_var(const relax_binding *binding);
/* The value bound. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_binding_value(const relax_binding *binding);
/* Place of a binding in a source; 0 if not known. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_place relax_binding_place(const relax_binding *binding);
/* The target of a match_cast; NULL for an ordinary binding. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_binding_match(
        const relax_binding *binding);

/* ---- modules -------------------------------------------------------------------------------- */

/* Kinds of functions, by relax_base_func_kind. */
enum relax_func_kind { RELAX_FUNC_RELAX = 1, RELAX_FUNC_PRIM = 2, RELAX_FUNC_EXTERN = 3 };

/* Number of functions. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_module_num_functions(const relax_module *module);
/* Function by position, in order of insertion; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_base_func *relax_module_function(
        const relax_module *module, size_t index);
/* GlobalVar of the function at position `index`; NULL if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_module_global_var(const relax_module *module,
        size_t index);
/* Position of the function called `name`, or RELAX_NOT_FOUND. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_module_find(const relax_module *module, const char *name, size_t name_len);
/* Attributes of the module; NULL if there are none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_module_attrs(const relax_module *module);
/* RELAX_FUNC_...; 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_base_func_kind(const relax_base_func *func);
/* Struct info of a function as callers see it: FuncStructInfo; NULL if it has not been derived. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_base_func_struct_info(
        const relax_base_func *func);
/* Attributes of a function; NULL if there are none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_base_func_attrs(const relax_base_func *func);
/* A Relax function (kind RELAX_EXPR_KIND_FUNCTION) or ExternFunc (RELAX_EXPR_KIND_EXTERN_FUNC) as
 * expression; NULL for a PrimFunc. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_base_func_as_expr(
        const relax_base_func *func);
/* A function literal (kind RELAX_EXPR_KIND_FUNCTION or RELAX_EXPR_KIND_EXTERN_FUNC) as member of a
 * module; NULL for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_base_func *relax_expr_as_base_func(const relax_expr *e);
/* The body of a PrimFunc; NULL for others. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_stmt *relax_base_func_body(const relax_base_func *func);

/* ---- any node ------------------------------------------------------------------------------- */

/* Struct info as a node of any family, for the calls below. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_struct_info_as_node(const relax_struct_info *info);
/* An integer or scalar expression as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_prim_expr_as_node(const relax_prim_expr *e);
/* An expression as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_expr_as_node(const relax_expr *e);
/* A function as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_base_func_as_node(const relax_base_func *func);
/* An attribute as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_attr_as_node(const relax_attr *attr);
/* A module as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_module_as_node(const relax_module *module);
/* A block as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_block_as_node(const relax_block *block);
/* A binding as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_binding_as_node(const relax_binding *binding);
/* A TIR statement as a node of any family. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const relax_node *relax_stmt_as_node(const relax_stmt *stmt);
/* The node as struct info; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_struct_info *relax_node_as_struct_info(
        const relax_node *node);
/* The node as an integer or scalar expression; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_prim_expr *relax_node_as_prim_expr(
        const relax_node *node);
/* The node as an expression, function literals included; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_node_as_expr(const relax_node *node);
/* The node as a member of modules, function literals included; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_base_func *relax_node_as_base_func(
        const relax_node *node);
/* The node as an attribute; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_attr *relax_node_as_attr(const relax_node *node);
/* The node as a block; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_block *relax_node_as_block(const relax_node *node);
/* The node as a binding; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_binding *relax_node_as_binding(const relax_node *node);
/* The node as a TIR statement; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_stmt *relax_node_as_stmt(const relax_node *node);
/* The node as a module; NULL if it is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_module *relax_node_as_module(const relax_node *node);
/* Name of the node's kind ("Call", "TensorStructInfo", "For"), static; NULL for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_node_kind_name(const relax_node *node);
/* 1 if structurally equal: variables defined inside correspond by position, names do not count;
 * free variables must be the same unless `map_free`. 0 if not, on misuse (NULL: OP), or when out of
 * memory. `ctx` lends working memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_node_equal(relax_context *ctx, const relax_node *a, const relax_node *b,
                         int32_t map_free);
/* Equal nodes have equal hashes. 0 when out of memory or for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
uint64_t relax_node_hash(relax_context *ctx, const relax_node *node);
/* Hash for equality with `map_free`: nodes that are equal up to their free variables have equal
 * hashes. 0 when out of memory or for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
uint64_t relax_node_hash_mapped(relax_context *ctx, const relax_node *node);
/* 1 if two nodes differ, and of the first difference, in order of evaluation, what is asked for
 * (each may be NULL): the two nodes there (NULL where there is nothing on that side), their places
 * or those of what is around them, and the way there with what differs, the caller's:
 * `functions["main"].body.blocks[0].bindings[2].value.index: 0 and 1`. 0: they are equal as
 * relax_node_equal says, or it could not be answered (OP, or out of memory), which is said by a
 * diagnostic. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_node_first_difference(relax_context *ctx, const relax_node *a, const relax_node *b,
                                    int32_t map_free, RELAX_NULLABLE const relax_node **at_a,
                                    RELAX_NULLABLE const relax_node **at_b,
                                    RELAX_NULLABLE relax_place *place_a,
                                    RELAX_NULLABLE relax_place *place_b,
                                    RELAX_OWN RELAX_NULLABLE relax_bytes **path);
/* Visits `node` and everything below it in evaluation order. `enter` is called before the
 * children of a node, `leave` (may be NULL) after. Integer expressions, struct info and
 * attributes that occur again are entered and left each time, their children only visited the
 * first time. A callback returns 0 to go on, 1 to skip the children, 2 to stop.
 * RELAX_ERROR_CANCELLED if stopped.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_node_walk(relax_context *ctx, const relax_node *node,
                             RELAX_NULLABLE int32_t (*enter)(void *user, const relax_node *node),
                             RELAX_NULLABLE int32_t (*leave)(void *user, const relax_node *node),
                             void *user);
/* A deep copy of a module in another context (in its own: the module itself); both are used
 * exclusively. Places keep their source numbers if `with_sources`, and the sources are copied
 * too; else they are dropped. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(to)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_copy(relax_context *to,
        relax_context *from, const relax_module *module, int32_t with_sources);
/* Frees what the context holds beyond these `count` modules, so that a context may serve any
 * number of jobs. On success each modules[i] is replaced: a new handle of the same module,
 * equal to the old one and with the same places. Every other handle of a node of the context
 * dies with that: modules not named, functions, expressions, struct info, also those inside of
 * the modules kept; get them from the new handles. Sources that relax_module_parse,
 * relax_struct_info_parse and relax_module_copy added are forgotten unless a kept module or a
 * diagnostic refers to them, and their numbers are used again; those of
 * relax_context_add_source stay, as do diagnostics, settings and executables. Needs as much
 * memory again as the modules kept while it runs; RELAX_ERROR_OUT_OF_MEMORY leaves everything
 * as it was, old handles included. RELAX_ERROR_INVALID_ARGUMENT (OP09), and nothing is done,
 * while a builder or pipeline of the context is alive. Not from inside a callback.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_context_collect(relax_context *ctx,
                                   RELAX_NULLABLE RELAX_INOUT relax_module **modules,
                                   size_t count);

#ifdef __cplusplus
}
#endif
#endif
