/* api_op.c: the operator table, for those who generate themselves from it. */
#include <relax/extend.h>
#include <relax/op.h>
#include "api/api_int.h"

#include "op/op.h"

/* Operators of the context come after those of the table. */
static const rlx_op_row *row_in(const relax_context *ctx, size_t op)
{
    const rlx_extensions *h = RLX_API_READS(ctx) ? ctx->extensions : NULL;
    size_t own = relax_op_count();
    if (op < own)
        return rlx_op_at(op);
    return h && op - own < h->ops.len ? &h->ops.data[op - own]->op : NULL;
}

size_t relax_op_count(void)
{
    size_t n = 0;
    while (rlx_op_at(n))
        n++;
    return n;
}

size_t relax_op_find(const char *name, size_t name_len)
{
    const rlx_op_row *row = name ? rlx_op_find((rlx_slice){ name, name_len }) : NULL;
    for (size_t i = 0; row && rlx_op_at(i); i++)
        if (rlx_op_at(i) == row)
            return i;
    return RELAX_NOT_FOUND;
}

const char *relax_op_suggest(const char *name, size_t name_len)
{
    return name ? rlx_op_suggest(NULL, (rlx_slice){ name, name_len }) : NULL;
}

size_t relax_context_op_count(const relax_context *ctx)
{
    const rlx_extensions *h = RLX_API_READS(ctx) ? ctx->extensions : NULL;
    return relax_op_count() + (h ? h->ops.len : 0);
}

size_t relax_context_op_find(const relax_context *ctx, const char *name, size_t name_len)
{
    const rlx_op_row *row =
        name && RLX_API_READS(ctx) ? rlx_op_find_in(ctx, (rlx_slice){ name, name_len }) : NULL;
    for (size_t i = 0; row && i < relax_context_op_count(ctx); i++)
        if (row_in(ctx, i) == row)
            return i;
    return RELAX_NOT_FOUND;
}

static const char *name_of(const rlx_op_row *row) { return row ? row->name : NULL; }
static const char *help_of(const rlx_op_row *row) { return row ? row->help : NULL; }

static int32_t flags_of(const rlx_op_row *row)
{
    if (!row)
        return 0;
    return (row->flags & RLX_OP_PURE ? RELAX_OP_FLAG_PURE : 0) |
           (row->flags & RLX_OP_VARARGS ? RELAX_OP_FLAG_VARARGS : 0) |
           (row->flags & RLX_OP_SINFO_ARGS ? RELAX_OP_FLAG_RESULT : 0) |
           (row->lower || row->builtin || row->packed ? RELAX_OP_FLAG_LOWERS : 0);
}

static const char *arg_of(const rlx_op_row *row, size_t arg, int32_t *kind, int32_t *optional)
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
    const rlx_op_arg *a = row && arg < (size_t)row->num_args ? &row->args[arg] : NULL;
    if (kind)
        *kind = a ? kinds[a->kind] : 0;
    if (optional)
        *optional = a ? a->optional : 0;
    return a ? a->name : NULL;
}

static const char *attr_of(const rlx_op_row *row, size_t attr, int32_t *type, const char **deflt,
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
        [RLX_ATTR_SIZES] = RELAX_OP_ATTR_INTS,
        [RLX_ATTR_SIZES_OR_NONE] = RELAX_OP_ATTR_INTS_OR_NONE,
        [RLX_ATTR_BOOL_OR_NONE] = RELAX_OP_ATTR_BOOL_OR_NONE,
        [RLX_ATTR_INT_OR_INTS] = RELAX_OP_ATTR_INT_OR_INTS,
    };
    const rlx_op_attr *a = row && attr < (size_t)row->num_attrs ? &row->attrs[attr] : NULL;
    int32_t known = a && a->type < RLX_COUNT(types) ? types[a->type] : RELAX_OP_ATTR_OTHER;
    if (type)
        *type = a ? known : 0;
    if (deflt)
        *deflt = a ? a->deflt : NULL;
    if (help)
        *help = a ? a->help : NULL;
    return a ? a->name : NULL;
}

const char *relax_op_name(size_t op) { return name_of(rlx_op_at(op)); }
const char *relax_op_help(size_t op) { return help_of(rlx_op_at(op)); }
int32_t relax_op_flags(size_t op) { return flags_of(rlx_op_at(op)); }

const char *relax_op_arg(size_t op, size_t arg, int32_t *kind, int32_t *optional)
{
    return arg_of(rlx_op_at(op), arg, kind, optional);
}

const char *relax_op_attr(size_t op, size_t attr, int32_t *type, const char **deflt,
                          const char **help)
{
    return attr_of(rlx_op_at(op), attr, type, deflt, help);
}

const char *relax_context_op_name(const relax_context *ctx, size_t op)
{
    return name_of(row_in(ctx, op));
}

const char *relax_context_op_help(const relax_context *ctx, size_t op)
{
    return help_of(row_in(ctx, op));
}

int32_t relax_context_op_flags(const relax_context *ctx, size_t op)
{
    return flags_of(row_in(ctx, op));
}

const char *relax_context_op_arg(const relax_context *ctx, size_t op, size_t arg, int32_t *kind,
                                 int32_t *optional)
{
    return arg_of(row_in(ctx, op), arg, kind, optional);
}

const char *relax_context_op_attr(const relax_context *ctx, size_t op, size_t attr,
                                  int32_t *type, const char **deflt, const char **help)
{
    return attr_of(row_in(ctx, op), attr, type, deflt, help);
}
