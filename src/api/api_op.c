/* api_op.c: the operator table, for those who generate themselves from it. */
#include <relax/op.h>
#include "op/op.h"

static const rlx_op_row *row_at(int32_t op) { return op >= 0 ? rlx_op_at((size_t)op) : NULL; }

int32_t relax_op_count(void)
{
    int32_t n = 0;
    while (rlx_op_at((size_t)n))
        n++;
    return n;
}

int32_t relax_op_find(const char *name, size_t name_len)
{
    const rlx_op_row *row = name ? rlx_op_find((rlx_slice){ name, name_len }) : NULL;
    for (int32_t i = 0; row && rlx_op_at((size_t)i); i++)
        if (rlx_op_at((size_t)i) == row)
            return i;
    return -1;
}

const char *relax_op_suggest(const char *name, size_t name_len)
{
    return name ? rlx_op_suggest((rlx_slice){ name, name_len }) : NULL;
}

const char *relax_op_name(int32_t op)
{
    const rlx_op_row *row = row_at(op);
    return row ? row->name : NULL;
}

const char *relax_op_help(int32_t op)
{
    const rlx_op_row *row = row_at(op);
    return row ? row->help : NULL;
}

int32_t relax_op_flags(int32_t op)
{
    const rlx_op_row *row = row_at(op);
    if (!row)
        return 0;
    return (row->flags & RLX_OP_PURE ? RELAX_OP_FLAG_PURE : 0) |
           (row->flags & RLX_OP_VARARGS ? RELAX_OP_FLAG_VARARGS : 0) |
           (row->flags & RLX_OP_SINFO_ARGS ? RELAX_OP_FLAG_RESULT : 0) |
           (row->lower || row->builtin ? RELAX_OP_FLAG_LOWERS : 0);
}

const char *relax_op_arg(int32_t op, int32_t arg, int32_t *kind, int32_t *optional)
{
    static const int32_t kinds[] = {
        [RLX_ARG_TENSOR] = RELAX_OP_ARG_TENSOR,
        [RLX_ARG_TENSOR_PRIM] = RELAX_OP_ARG_TENSOR_OR_SCALAR,
        [RLX_ARG_SHAPE] = RELAX_OP_ARG_SHAPE,
        [RLX_ARG_PRIM] = RELAX_OP_ARG_SCALAR,
        [RLX_ARG_TUPLE] = RELAX_OP_ARG_TUPLE,
        [RLX_ARG_FUNC] = RELAX_OP_ARG_FUNCTION,
        [RLX_ARG_STRING] = RELAX_OP_ARG_STRING,
        [RLX_ARG_DTYPE] = RELAX_OP_ARG_DTYPE,
        [RLX_ARG_ANY] = RELAX_OP_ARG_ANY,
    };
    const rlx_op_row *row = row_at(op);
    const rlx_op_arg *a = row && arg >= 0 && arg < row->num_args ? &row->args[arg] : NULL;
    if (kind)
        *kind = a ? kinds[a->kind] : 0;
    if (optional)
        *optional = a ? a->optional : 0;
    return a ? a->name : NULL;
}

const char *relax_op_attr(int32_t op, int32_t attr, int32_t *type, const char **deflt,
                          const char **help)
{
    static const int32_t types[] = {
        [RLX_ATTR_INT] = RELAX_OP_ATTR_INT,
        [RLX_ATTR_BOOL] = RELAX_OP_ATTR_BOOL,
        [RLX_ATTR_FLOAT] = RELAX_OP_ATTR_FLOAT,
        [RLX_ATTR_STRING] = RELAX_OP_ATTR_STRING,
        [RLX_ATTR_DTYPE] = RELAX_OP_ATTR_DTYPE,
        [RLX_ATTR_INTS] = RELAX_OP_ATTR_INTS,
        [RLX_ATTR_INT_OR_NONE] = RELAX_OP_ATTR_INT_OR_NONE,
        [RLX_ATTR_INTS_OR_NONE] = RELAX_OP_ATTR_INTS_OR_NONE,
        [RLX_ATTR_FLOAT_OR_NONE] = RELAX_OP_ATTR_FLOAT_OR_NONE,
        [RLX_ATTR_STRING_OR_NONE] = RELAX_OP_ATTR_STRING_OR_NONE,
        [RLX_ATTR_INT_OR_INTS] = RELAX_OP_ATTR_INT_OR_INTS,
    };
    const rlx_op_row *row = row_at(op);
    const rlx_op_attr *a = row && attr >= 0 && attr < row->num_attrs ? &row->attrs[attr] : NULL;
    int32_t known = a && a->type < RLX_COUNT(types) ? types[a->type] : RELAX_OP_ATTR_OTHER;
    if (type)
        *type = a ? known : 0;
    if (deflt)
        *deflt = a ? a->deflt : NULL;
    if (help)
        *help = a ? a->help : NULL;
    return a ? a->name : NULL;
}
