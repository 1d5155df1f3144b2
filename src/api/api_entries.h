/* api_entries.h: tables of callbacks with one entry per kind of node: which one is whose, for
 * api_visit.c and api_mutate.c. Offset 0: the kind has none. */
#ifndef RLX_API_ENTRIES_H
#define RLX_API_ENTRIES_H

#include "api/api_int.h"

/* prefix: nothing, or var_binding_ for entries by the kind of a value */
#define RLX_API_EXPR_ENTRIES(table, prefix)                                                 \
    {                                                                                   \
        [RLX_NODE_CONSTANT] = offsetof(table, prefix##constant),                        \
        [RLX_NODE_VAR] = offsetof(table, prefix##var),                                  \
        [RLX_NODE_DATAFLOW_VAR] = offsetof(table, prefix##dataflow_var),                \
        [RLX_NODE_GLOBAL_VAR] = offsetof(table, prefix##global_var),                    \
        [RLX_NODE_TUPLE] = offsetof(table, prefix##tuple),                              \
        [RLX_NODE_SEQ_EXPR] = offsetof(table, prefix##seq),                             \
        [RLX_NODE_PRIM_VALUE] = offsetof(table, prefix##prim_value),                    \
        [RLX_NODE_STRING_IMM] = offsetof(table, prefix##string_imm),                    \
        [RLX_NODE_DTYPE_IMM] = offsetof(table, prefix##dtype_imm),                      \
        [RLX_NODE_FUNCTION] = offsetof(table, prefix##function),                        \
        [RLX_NODE_IF] = offsetof(table, prefix##if_expr),                               \
        [RLX_NODE_EXTERN_FUNC] = offsetof(table, prefix##extern_func),                  \
        [RLX_NODE_CALL] = offsetof(table, prefix##call),                                \
        [RLX_NODE_SHAPE_EXPR] = offsetof(table, prefix##shape),                         \
        [RLX_NODE_TUPLE_GET_ITEM] = offsetof(table, prefix##tuple_get_item),            \
        [RLX_NODE_OP] = offsetof(table, prefix##op),                                    \
    }
#define RLX_API_INFO_ENTRIES(table)                                                         \
    {                                                                                   \
        [RLX_NODE_OBJECT_SINFO] = offsetof(table, sinfo_object),                        \
        [RLX_NODE_PRIM_SINFO] = offsetof(table, sinfo_prim),                            \
        [RLX_NODE_SHAPE_SINFO] = offsetof(table, sinfo_shape),                          \
        [RLX_NODE_TENSOR_SINFO] = offsetof(table, sinfo_tensor),                        \
        [RLX_NODE_TUPLE_SINFO] = offsetof(table, sinfo_tuple),                          \
        [RLX_NODE_FUNC_SINFO] = offsetof(table, sinfo_func),                            \
        [RLX_NODE_EXTENSION_SINFO] = offsetof(table, sinfo_host),                            \
    }
/* The entry of `type` at an offset of a table; NULL: none. */
#define RLX_API_ENTRY(type, table, offset) \
    ((offset) ? *(type const *)(const void *)((const char *)(table) + (offset)) : NULL)

#endif
