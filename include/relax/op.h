/* op.h: the operator table, for bindings, documents and tools that generate themselves from it.
 * All texts are static. */
#ifndef RELAX_OP_H
#define RELAX_OP_H

#include <relax/common.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Operators are numbered from 0; numbers may differ between versions of the library. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_op_count(void);
/* Number of an operator by name ("relax.nn.softmax", "R.nn.softmax", "nn.softmax");
 * RELAX_NOT_FOUND if there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_op_find(const char *name, size_t name_len);
/* The known name nearest to `name`, for "did you mean"; NULL if nothing is near. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_op_suggest(const char *name, size_t name_len);
/* "relax.nn.softmax"; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_op_name(size_t op);
/* One line about it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_op_help(size_t op);

/* What relax_op_flags adds up. */
enum relax_op_flag {
    RELAX_OP_FLAG_PURE = 1,
    RELAX_OP_FLAG_VARARGS = 2,     /* the last argument repeats */
    RELAX_OP_FLAG_RESULT = 4,      /* states its result (sinfo_args) */
    RELAX_OP_FLAG_LOWERS = 8       /* can be computed: lowers to a PrimFunc or a builtin */
};
/* Sum of RELAX_OP_FLAG_...; 0 past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_op_flags(size_t op);

/* What an argument of an operator is. */
enum relax_op_arg_kind {
    RELAX_OP_ARG_TENSOR = 1, RELAX_OP_ARG_TENSOR_OR_SCALAR = 2,
    RELAX_OP_ARG_SHAPE = 3, RELAX_OP_ARG_SCALAR = 4, RELAX_OP_ARG_TUPLE = 5,
    RELAX_OP_ARG_FUNCTION = 6, RELAX_OP_ARG_STRING = 7, RELAX_OP_ARG_DTYPE = 8,
    RELAX_OP_ARG_ANY = 9
};
/* Arguments by number from 0: name; NULL past the end. *kind (may be NULL) gets
 * RELAX_OP_ARG_..., *optional 1 if it may be left out. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_op_arg(size_t op, size_t arg,
                                                       RELAX_NULLABLE int32_t *kind,
                                                       RELAX_NULLABLE int32_t *optional);

/* What an attribute of an operator is. */
enum relax_op_attr_type {
    RELAX_OP_ATTR_INT = 1, RELAX_OP_ATTR_BOOL = 2, RELAX_OP_ATTR_FLOAT = 3,
    RELAX_OP_ATTR_STRING = 4, RELAX_OP_ATTR_DTYPE = 5,
    RELAX_OP_ATTR_INTS = 6, RELAX_OP_ATTR_INT_OR_NONE = 7,
    RELAX_OP_ATTR_INTS_OR_NONE = 8, RELAX_OP_ATTR_FLOAT_OR_NONE = 9,
    RELAX_OP_ATTR_STRING_OR_NONE = 10, RELAX_OP_ATTR_INT_OR_INTS = 11, RELAX_OP_ATTR_OTHER = 12,
    RELAX_OP_ATTR_BOOL_OR_NONE = 13
};
/* Attributes by number from 0: name; NULL past the end. *type gets RELAX_OP_ATTR_..., *deflt
 * the default as text (NULL: required), *help one line. Each pointer may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_op_attr(size_t op, size_t attr,
                                                        RELAX_NULLABLE int32_t *type,
                                                        RELAX_NULLABLE const char **deflt,
                                                        RELAX_NULLABLE const char **help);

#ifdef __cplusplus
}
#endif
#endif
