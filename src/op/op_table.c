/* op_table.c: the rows of op.def as data, and finding them by name. */
#include "op/op_int.h"

#define NELEM(type, ...) (sizeof((const type[]){ __VA_ARGS__ }) / sizeof(type))
#define ARGS(required, ...)                                                                  \
    .args = (const rlx_op_arg[]){ __VA_ARGS__ }, .num_args = NELEM(rlx_op_arg, __VA_ARGS__), \
    .min_args = (required)
#define ATTRS(...) \
    .attrs = (const rlx_op_attr[]){ __VA_ARGS__ }, .num_attrs = NELEM(rlx_op_attr, __VA_ARGS__)
#define LOWER(name) .lower = rlx_lower_##name
#define INTRINSIC(f) LOWER(intrinsic), .member.number = RLX_TIR_##f
#define FUNCTION(f) LOWER(unary), .member.unary = rlx_unary_##f
#define NODE(kind) LOWER(node), .member.node = { RLX_NODE_##kind, 0 }
#define NODE_OR_BOOL(kind, of_bool) \
    LOWER(node), .member.node = { RLX_NODE_##kind, RLX_NODE_##of_bool }
#define FUNCTION2(f) LOWER(binary), .member.binary = rlx_binary_##f
#define WIDE2(f) LOWER(wide_binary), .member.binary = rlx_binary_##f
#define MEMBER(which) .member.number = RLX_##which
#define FOLD(kind) LOWER(fold), MEMBER(FOLD_##kind)
#define FILL(value) LOWER(fill), .member.number = (value)
#define TRIANGLE(kind) LOWER(triangle), .member.node = { RLX_NODE_##kind, 0 }
#define SPATIAL(axes) .member.number = (axes)
#define BUILTIN(symbol) .builtin = (symbol)
#define PACKED(symbol) .packed = (symbol)
#define NORMALIZE(function) .normalize = rlx_normalize_##function
#define PREPARE(function) .prepare = rlx_prepare_##function
#define PARAMS(text) .params = (text)
#define EXTENDED(name) .extended = (name)
#define ID(which) .id = RLX_OP_ID_##which
#define HELP(text) .help = (text)
#define REQUIRED NULL

#define ARG(name, kind, optional) { #name, RLX_ARG_##kind, (optional) }
#define T(name) ARG(name, TENSOR, 0)
#define T_OPT(name) ARG(name, TENSOR, 1)
#define TP(name) ARG(name, TENSOR_PRIM, 0)
#define S(name) ARG(name, SHAPE, 0)
#define S_OPT(name) ARG(name, SHAPE, 1)
#define P(name) ARG(name, PRIM, 0)
#define P_OPT(name) ARG(name, PRIM, 1)
#define U(name) ARG(name, TUPLE, 0)
#define U_OPT(name) ARG(name, TUPLE, 1)
#define F(name) ARG(name, FUNC, 0)
#define TXT(name) ARG(name, STRING, 0)
#define D(name) ARG(name, DTYPE, 0)
#define D_OPT(name) ARG(name, DTYPE, 1)
#define X(name) ARG(name, ANY, 0)
#define X_OPT(name) ARG(name, ANY, 1)

#define ATTR(type, name, deflt, help) { #name, RLX_ATTR_##type, deflt, help, false, NULL }
#define INT(name, deflt, help) ATTR(INT, name, deflt, help)
#define BOOL(name, deflt, help) ATTR(BOOL, name, deflt, help)
#define FLOAT(name, deflt, help) ATTR(FLOAT, name, deflt, help)
#define STRING(name, deflt, help) ATTR(STRING, name, deflt, help)
#define DTYPE(name, deflt, help) ATTR(DTYPE, name, deflt, help)
#define INTS(name, deflt, help) ATTR(INTS, name, deflt, help)
#define FLOATS(name, deflt, help) ATTR(FLOATS, name, deflt, help)
#define INT_OR_NONE(name, deflt, help) ATTR(INT_OR_NONE, name, deflt, help)
#define INTS_OR_NONE(name, deflt, help) ATTR(INTS_OR_NONE, name, deflt, help)
#define FLOAT_OR_NONE(name, deflt, help) ATTR(FLOAT_OR_NONE, name, deflt, help)
#define STRING_OR_NONE(name, deflt, help) ATTR(STRING_OR_NONE, name, deflt, help)
#define SIZES(name, deflt, help) ATTR(SIZES, name, deflt, help)
#define SIZES_OR_NONE(name, deflt, help) ATTR(SIZES_OR_NONE, name, deflt, help)
#define NEWER_STRING(name, deflt, help) { #name, RLX_ATTR_STRING, deflt, help, true, NULL }
#define DIALECT_FLOAT(name, deflt, newer, help) { #name, RLX_ATTR_FLOAT, deflt, help, false, newer }
#define BOOL_OR_NONE(name, deflt, help) ATTR(BOOL_OR_NONE, name, deflt, help)
#define INT_OR_INTS(name, deflt, help) ATTR(INT_OR_INTS, name, deflt, help)
#define ANY(name, deflt, help) ATTR(ANY, name, deflt, help)

static const rlx_op_row rows[] = {
#define OP(NAME, FLAGS, PATTERN, RULE, ...)     \
    { .name = "relax." NAME,                    \
      .short_name = NAME,                       \
      .flags = (FLAGS),                         \
      .pattern = (PATTERN),                     \
      .infer = rlx_infer_##RULE,                \
      __VA_ARGS__ },
#include "op/op.def"
#undef OP
};

/* Lengths of the short names: a look-up compares only names of its own length. */
static const uint8_t lengths[RLX_COUNT(rows)] = {
#define OP(NAME, ...) sizeof(NAME) - 1,
#include "op/op.def"
#undef OP
};

rlx_slice rlx_op_short_name(rlx_slice name)
{
    static const char *const prefixes[] = { "relax.", "R." };
    for (size_t i = 0; i < RLX_COUNT(prefixes); i++) {
        size_t n = strlen(prefixes[i]);
        if (name.len > n && memcmp(name.data, prefixes[i], n) == 0)
            return (rlx_slice){ name.data + n, name.len - n };
    }
    return name;
}

const rlx_op_row *rlx_op_find(rlx_slice name)
{
    name = rlx_op_short_name(name);
    if (name.len == 0 || name.len > UINT8_MAX)
        return NULL;
    const uint8_t *end = lengths + RLX_COUNT(lengths);
    for (const uint8_t *at = lengths; (at = memchr(at, (int)name.len, (size_t)(end - at))) != NULL;
         at++)
        if (memcmp(rows[at - lengths].short_name, name.data, name.len) == 0)
            return &rows[at - lengths];
    return NULL;
}

const rlx_op_row *rlx_op_at(size_t index)
{
    return index < RLX_COUNT(rows) ? &rows[index] : NULL;
}

size_t rlx_op_index(const rlx_op_row *row)
{
    return row >= rows && row < rows + RLX_COUNT(rows) ? (size_t)(row - rows) : SIZE_MAX;
}

size_t rlx_op_count(void)
{
    return RLX_COUNT(rows);
}

const rlx_op_row *rlx_op_find_in(const rlx_context *ctx, rlx_slice name)
{
    const rlx_op_row *row = rlx_op_find(name);
    const rlx_extension_op *host = row ? NULL : rlx_extension_op_find(ctx, rlx_op_short_name(name));
    return row ? row : host ? &host->op : NULL;
}

/* What operators are called elsewhere. */
static const struct { const char *name, *row; } aliases[] = {
    { "batchnorm", "nn.batch_norm" },
    { "bmm", "matmul" },           { "batch_matmul", "matmul" },
    { "cast", "astype" },          { "cat", "concat" },
    { "clamp", "clip" },           { "concatenate", "concat" },
    { "Conv2d", "nn.conv2d" },      { "embedding", "take" },
    { "nn.embedding", "take" },
    { "conv", "nn.conv2d" },       { "dense", "matmul" },
    { "div", "divide" },           { "eq", "equal" },
    { "flat", "flatten" },         { "gather", "take" },
    { "ge", "greater_equal" },     { "gemm", "matmul" },
    { "gt", "greater" },           { "index_select", "take" },
    { "inverse_sqrt", "rsqrt" },   { "iota", "arange" },
    { "layernorm", "nn.layer_norm" }, { "le", "less_equal" },
    { "lt", "less" },              { "masked_fill", "where" },
    { "max_pool", "nn.max_pool2d" }, { "mm", "matmul" },
    { "mul", "multiply" },         { "ne", "not_equal" },
    { "neg", "negative" },         { "permute", "permute_dims" },
    { "pow", "power" },            { "range", "arange" },
    { "reduce_max", "max" },       { "reduce_mean", "mean" },
    { "reduce_min", "min" },       { "reduce_prod", "prod" },
    { "reduce_sum", "sum" },       { "select", "where" },
    { "shape", "shape_of" },       { "size", "shape_of" },
    { "sub", "subtract" },         { "swapaxes", "permute_dims" },
    { "swish", "nn.silu" },        { "T", "permute_dims" },
    { "to", "astype" },            { "transpose", "permute_dims" },
    { "argwhere", "nonzero" },     { "avg_pool", "nn.avg_pool2d" },
    { "avgpool2d", "nn.avg_pool2d" }, { "maxpool2d", "nn.max_pool2d" },
    { "chunk", "split" },          { "concat_", "concat" },
    { "crop", "strided_slice" },   { "empty", "zeros" },
    { "fmod", "mod" },             { "remainder", "mod" },
    { "groupnorm", "nn.group_norm" }, { "hstack", "concat" },
    { "vstack", "concat" },        { "if_then_else", "where" },
    { "interpolate", "image.resize2d" }, { "upsample", "image.resize2d" },
    { "linspace", "arange" },      { "Linear", "linear" },
    { "narrow", "strided_slice" }, { "slice", "strided_slice" },
    { "ravel", "flatten" },
    { "rmsnorm", "nn.rms_norm" },  { "scaled_dot_product_attention", "nn.attention" },
    { "sdpa", "nn.attention" },    { "tensordot", "einsum" },
    { "global_avg_pool2d", "nn.adaptive_avg_pool2d" },
    { "global_average_pool2d", "nn.adaptive_avg_pool2d" },
    { "type_as", "astype" },       { "unsqueeze", "expand_dims" },
    { "view", "reshape" },
};

static const char *aliased(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(aliases); i++)
        if (rlx_slice_is(name, aliases[i].name))
            return aliases[i].row;
    return NULL;
}

static rlx_slice last_part(rlx_slice name)
{
    size_t at = name.len;
    while (at && name.data[at - 1] != '.')
        at--;
    return (rlx_slice){ name.data + at, name.len - at };
}

/* Of the same name in another group: relu is nn.relu. */
static const char *in_another_group(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        if (rlx_slice_equal(last_part(rlx_slice_z(rows[i].short_name)), name))
            return rows[i].short_name;
    return NULL;
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c; }

/* ReLU is nn.relu. */
static const char *in_another_case(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        rlx_slice row = last_part(rlx_slice_z(rows[i].short_name));
        size_t k = 0;
        while (row.len == name.len && k < name.len && lower(name.data[k]) == lower(row.data[k]))
            k++;
        if (k == row.len)
            return rows[i].short_name;
    }
    return NULL;
}

static void compare_name(rlx_slice name, const char *known, size_t *best, const char **found)
{
    size_t d = rlx_edit_distance(name, rlx_slice_z(known), *best);
    if (d < *best) {
        *best = d;
        *found = known;
    }
}

const char *rlx_op_suggest(const rlx_context *ctx, rlx_slice name)
{
    name = rlx_op_short_name(name);
    if (name.len > 3 && !memcmp(name.data, "op.", 3))
        name = (rlx_slice){ name.data + 3, name.len - 3 };
    size_t best = name.len / 3 + 1;
    const char *found = aliased(name);
    if (!found)
        found = aliased(last_part(name));
    if (!found)
        found = in_another_group(last_part(name));
    if (!found)
        found = in_another_case(last_part(name));
    if (found)
        return found;
    for (size_t i = 0; i < RLX_COUNT(rows); i++)
        compare_name(name, rows[i].short_name, &best, &found);
    for (size_t i = 0; ctx && ctx->extensions && i < ctx->extensions->ops.len; i++)
        compare_name(name, ctx->extensions->ops.data[i]->op.short_name, &best, &found);
    return found;
}

static const rlx_op_table table = { rlx_op_find_in, rlx_op_at, rlx_op_suggest, rlx_call_op_sinfo, rlx_newer_default,
                                   rlx_infer_distributed };

const rlx_op_table *rlx_op_table_get(void)
{
    return &table;
}
