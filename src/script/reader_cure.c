/* reader_cure.c: what somebody meant who writes another library's names: what is not known is
 * refused with the spelling that is. Only mistakes that are shown come here. */
/* built for size */
#include "script/reader_tir.h"

#include <stdio.h>

/* ---- names ---------------------------------------------------------------------------------- */

/* Names that mean something elsewhere, and what is said of them. */
static const struct { const char *name, *cure; } names[] = {
    { "true", "write True" },
    { "false", "write False" },
    { "null", "write None" },
    { "none", "write None" },
    { "nil", "write None" },
    { "print", "write R.print(value, format=\"...\")" },
    { "r", "write R" },
    { "t", "write T" },
    { "self", "functions of a module have no self; they are called as cls.NAME(...)" },
    { "np", "the text is not run as Python: write an operator, R.NAME(...), or R.const(...)" },
    { "numpy", "the text is not run as Python: write an operator, R.NAME(...), or R.const(...)" },
    { "torch", "the text is not run as Python: write an operator, R.NAME(...)" },
    { "nn", "write R.nn" },
    { "cls", "functions of a module are called as cls.NAME below a line cls = Module, or as Module.NAME" },
    { "F", "write R.nn" },
    { "tf", "the text is not run as Python: write an operator, R.NAME(...)" },
    { "jnp", "the text is not run as Python: write an operator, R.NAME(...)" },
    { "math", "the text is not run as Python: write an operator, R.NAME(...), or a number" },
    { "float", "write a dtype: \"float32\"" },
    { "double", "write a dtype: \"float64\"" },
    { "half", "write a dtype: \"float16\"" },
    { "long", "write a dtype: \"int64\"" },
    { "Tensor", "write R.Tensor" },
    { "Tuple", "write R.Tuple" },
    { "Shape", "write R.Shape" },
};

bool rlx_is_dtype_name(rlx_slice name)
{
    rlx_dtype dtype;
    return rlx_dtype_parse(name, &dtype) && !rlx_dtype_is_void(dtype);
}

static const char *const dtypes[] = { "float32", "float16", "float64", "bfloat16", "int64",
                                      "int32",   "int16",   "int8",    "uint8",    "uint16",
                                      "uint32",  "uint64",  "bool" };
static const char *dtype_at(void *user, size_t i) { return dtypes[i]; }

const char *rlx_cure_dtype(const rlx_reader *r, rlx_slice name)
{
    static const struct { const char *name, *dtype; } elsewhere[] = {
        { "double", "float64" }, { "half", "float16" },   { "bf16", "bfloat16" },
        { "fp16", "float16" },   { "fp32", "float32" },   { "fp64", "float64" },
        { "long", "int64" },     { "boolean", "bool" },   { "byte", "uint8" },
        { "integer", "int32" },  { "single", "float32" }, { "short", "int16" },
        { "str", NULL },         { "string", NULL },
    };
    for (size_t i = 0; i < RLX_COUNT(elsewhere); i++)
        if (rlx_slice_is(name, elsewhere[i].name))
            return elsewhere[i].dtype;
    return name.len > 20 ? NULL : rlx_nearest(r, name, dtype_at, NULL, RLX_COUNT(dtypes));
}

/* The same in a PrimFunc, where it is something else. */
static const struct { const char *name, *cure; } tir_names[] = {
    { "print", "a PrimFunc prints nothing: have it write what you want to see into a buffer" },
    { "math", "the text is not run as Python: write T.NAME(...), as T.exp(x)" },
    { "np", "the text is not run as Python: write T.NAME(...), as T.exp(x)" },
    { "numpy", "the text is not run as Python: write T.NAME(...), as T.exp(x)" },
    { "torch", "the text is not run as Python: write T.NAME(...), as T.exp(x)" },
    { "tir", "write T" },
};

const char *rlx_cure_name(rlx_reader *r, rlx_slice name, char *text, size_t size)
{
    for (size_t i = 0; r->unit.dialect == RLX_DIALECT_TIR && i < RLX_COUNT(tir_names); i++)
        if (rlx_slice_is(name, tir_names[i].name))
            return tir_names[i].cure;
    for (size_t i = 0; i < RLX_COUNT(names); i++)
        if (rlx_slice_is(name, names[i].name))
            return names[i].cure;
    if (r->module.name && rlx_slice_is(name, "Module") && r->module.name->text->len <= 60) {
        snprintf(text, size, "the module is called %s here", r->module.name->text->data);
        return text;
    }
    if (name.len > 100)
        return NULL;
    if (rlx_is_dtype_name(name)) {
        snprintf(text, size, "a dtype is written in quotes: \"%.*s\"", (int)name.len, name.data);
        return text;
    }
    rlx_word *word = r->unit.dialect == RLX_DIALECT_TIR ? rlx_words_get(&r->names, name) : NULL;
    if (word && rlx_tir_reader_fn_of(r, word)) {
        snprintf(text, size, "did you mean T.%.*s", (int)name.len, name.data);
        return text;
    }
    const char *near = r->ctx->ops->suggest(r->ctx, name);
    const char *dot = near ? strrchr(near, '.') : NULL;
    if (!near || !rlx_slice_is(name, dot ? dot + 1 : near))
        return NULL;
    snprintf(text, size, "did you mean R.%s", near);
    return text;
}

/* Functions that are a few operators here. */
static const struct { const char *name, *text; } made_of[] = {
    { "reciprocal", "R.divide(R.const(1, \"float32\"), x)" },
    { "relu6", "R.clip(x, 0, 6)" },
    { "norm", "R.sqrt(R.sum(R.square(x)))" },
    { "logsumexp", "R.log(R.sum(R.exp(x), axis=-1))" },
    { "addmm", "R.add(R.matmul(x, y), bias)" },
    { "lerp", "R.add(x, R.multiply(weight, R.subtract(y, x)))" },
    { "all", "R.min(x) of booleans" },
    { "any", "R.max(x) of booleans" },
    { "count_nonzero", "R.sum(R.astype(x, \"int64\")) of booleans" },
    { "mse_loss", "R.mean(R.square(R.subtract(x, y)))" },
    { "elu", "R.where(R.greater(x, zero), x, R.subtract(R.exp(x), one))" },
    { "hardswish", "R.multiply(x, R.divide(R.clip(R.add(x, three), 0, 6), six))" },
    { "hardsigmoid", "R.divide(R.clip(R.add(x, three), 0, 6), six)" },
    { "roll", "R.concat of two R.strided_slice" },
    { "normalize", "R.divide(x, R.sqrt(R.sum(R.square(x), axis=-1, keepdims=True)))" },
    { "l2_normalize", "R.divide(x, R.sqrt(R.sum(R.square(x), axis=-1, keepdims=True)))" },
    { "rand", "random numbers as a parameter of the function" },
    { "randn", "random numbers as a parameter of the function" },
};
static const struct { const char *name, *text; } tir_made_of[] = {
    { "relu", "T.max(x, T.float32(0))" },
    { "where", "T.if_then_else(condition, x, y)" },
    { "select", "T.if_then_else(condition, x, y)" },
    { "Tensor", "T.Buffer((4,), \"float32\")" },
    { "add", "x + y" },
    { "sub", "x - y" },
    { "mul", "x * y" },
    { "div", "x / y" },
    { "cast", "T.Cast(\"float32\", x)" },
    { "astype", "T.Cast(\"float32\", x)" },
};

const char *rlx_cure_function(rlx_slice name, bool tir)
{
    for (size_t i = 0; tir && i < RLX_COUNT(tir_made_of); i++)
        if (rlx_slice_is(name, tir_made_of[i].name))
            return tir_made_of[i].text;
    while (name.len > 3 && !memcmp(name.data, "nn.", 3))
        name = (rlx_slice){ name.data + 3, name.len - 3 };
    for (size_t i = 0; !tir && i < RLX_COUNT(made_of); i++)
        if (rlx_slice_is(name, made_of[i].name))
            return made_of[i].text;
    return NULL;
}

/* ---- keywords ------------------------------------------------------------------------------- */

static const struct { const char *name, *means; } keywords[] = {
    { "axes", "axis" },         { "axis", "axes" },          { "dim", "axis" },
    { "dim", "axes" },          { "dims", "axes" },          { "dims", "axis" },
    { "perm", "axes" },         { "permutation", "axes" },   { "keepdim", "keepdims" },
    { "keep_dims", "keepdims" }, { "input", "x" },           { "input", "data" },
    { "inputs", "tensors" },    { "self", "x" },             { "data", "x" },
    { "x", "data" },            { "tensor", "x" },           { "tensor", "data" },
    { "a", "x1" },              { "b", "x2" },               { "x", "x1" },
    { "y", "x2" },              { "lhs", "x1" },             { "rhs", "x2" },
    { "other", "x2" },          { "kernel", "weight" },      { "stride", "strides" },
    { "pad", "padding" },       { "pads", "padding" },       { "kernel_size", "pool_size" },
    { "group", "groups" },      { "num_groups", "groups" },  { "dilations", "dilation" },
    { "newshape", "shape" },    { "size", "shape" },         { "eps", "epsilon" },
    { "p", "rate" },            { "indices_or_split", "indices_or_sections" },
    { "sections", "indices_or_sections" },                   { "chunks", "indices_or_sections" },
    { "out_type", "out_dtype" }, { "type", "dtype" },        { "min_val", "min" },
    { "max_val", "max" },       { "a_min", "min" },          { "a_max", "max" },
    { "index", "indices" },     { "value", "fill_value" },   { "condition", "cond" },
    { "cond", "condition" },    { "mode", "method" },        { "causal", "causal_mask" },
    { "is_causal", "causal_mask" }, { "mask", "bias" },      { "attn_mask", "bias" },
    { "ceil", "ceil_mode" },    { "bias", "beta" },          { "negative_slope", "alpha" },
    { "weight", "gamma" },      { "normalized_shape", "axes" },
    { "q", "query" },           { "k", "key" },              { "v", "value" },
};

const char *rlx_cure_keyword(const rlx_reader *r, rlx_slice name,
                             const char *(*param_at)(void *user, size_t i), void *user,
                             size_t count)
{
    for (size_t k = 0; k < RLX_COUNT(keywords); k++)
        for (size_t i = 0; rlx_slice_is(name, keywords[k].name) && i < count; i++)
            if (param_at(user, i) && !strcmp(param_at(user, i), keywords[k].means))
                return keywords[k].means;
    return rlx_nearest(r, name, param_at, user, count);
}

void rlx_note_signature(rlx_reader *r, const char *function,
                        const char *(*param_at)(void *user, size_t i), void *user, size_t count)
{
    rlx_buf text;
    rlx_buf_init(&text, &r->ctx->memory);
    rlx_buf_format(&text, "it is %s(", function);
    for (size_t i = 0; i < count; i++)
        rlx_buf_format(&text, "%s%s", i ? ", " : "", param_at(user, i) ? param_at(user, i) : "?");
    rlx_buf_lit(&text, ")");
    if (!text.failed)
        rlx_note(r->ctx, RLX_NO_PLACE, "%s", text.data);
    rlx_buf_free(&text);
}

/* ---- operators of Python, attributes, statements -------------------------------------------- */

static const struct { uint8_t tok; const char *row; } operators[] = {
    { RLX_TOK_AT, "matmul" },         { RLX_TOK_EQ, "equal" },
    { RLX_TOK_NE, "not_equal" },      { RLX_TOK_PERCENT, "mod" },
    { RLX_TOK_AND, "logical_and" },   { RLX_TOK_OR, "logical_or" },
    { RLX_TOK_NOT, "logical_not" },   { RLX_TOK_AMPERSAND, "bitwise_and" },
    { RLX_TOK_PIPE, "bitwise_or" },   { RLX_TOK_CARET, "bitwise_xor" },
    { RLX_TOK_TILDE, "bitwise_not" }, { RLX_TOK_SHL, "left_shift" },
    { RLX_TOK_SHR, "right_shift" },
};

bool rlx_no_operator(rlx_reader *r, uint8_t tok, const rlx_ast *at, bool unary)
{
    const char *row = NULL;
    for (size_t i = 0; i < RLX_COUNT(operators); i++)
        row = operators[i].tok == tok ? operators[i].row : row;
    return rlx_read_error(r, RLX_PA16, at, "%s has no meaning for Relax expressions%s%s%s",
                          rlx_tok_text(tok), row ? ": write R." : "", row ? row : "",
                          row ? unary ? "(x)" : "(x, y)" : "");
}

bool rlx_no_attribute(rlx_reader *r, rlx_slice name, const char *of, const rlx_ast *at)
{
    const rlx_op_row *row = r->ctx->ops->find(r->ctx, name);
    const char *op = row ? row->short_name : r->ctx->ops->suggest(r->ctx, name);
    rlx_read_error(r, RLX_PA10, at, "a Relax expression has no attribute %.*s", (int)name.len,
                   name.data);
    if (rlx_slice_is(name, "dtype"))
        rlx_note(r->ctx, RLX_NO_PLACE, "the dtype is known from its annotation: write it, as "
                                       "\"float32\"");
    else if (rlx_slice_is(name, "size"))
        rlx_note(r->ctx, RLX_NO_PLACE, "a size is %s.shape[0]; R.size(%s) counts the elements", of, of);
    else if (op)
        rlx_note(r->ctx, RLX_NO_PLACE, "write R.%s(%s%s)", op, of,
                 row && row->num_args + row->num_attrs > 1 ? ", ..." : "");
    return false;
}

static const struct { uint8_t kind; const char *cure; } statements[] = {
    { RLX_LINE_FOR, "Relax has no loops: write the steps out, or loop in a PrimFunc that R.call_tir "
                    "calls, or in a function that calls itself in a branch of an if" },
    { RLX_LINE_WHILE, "Relax has no loops: write a function that calls itself in a branch of an if, "
                      "or loop in a PrimFunc that R.call_tir calls" },
    { RLX_LINE_AUGMENT, "a variable is bound once: write y = R.add(x, ...) with another name, or the "
                        "same name again" },
    { RLX_LINE_ASSERT, "write R.assert_op(condition, format=\"...\")" },
    { RLX_LINE_ELIF, "write else: and an if inside of it" },
    { RLX_LINE_ELSE, "an else stands under the if it belongs to, at the same depth" },
    { RLX_LINE_IMPORT, "the text is not run as Python: imports stand above the functions and are "
                       "those of tvm.script" },
    { RLX_LINE_CLASS, "functions stand in one class at the top of the text, under @I.ir_module" },
};

void rlx_cure_statement(rlx_reader *r, const rlx_source_line *line)
{
    for (size_t i = 0; i < RLX_COUNT(statements); i++)
        if (statements[i].kind == line->kind)
            rlx_note(r->ctx, RLX_NO_PLACE, "%s", statements[i].cure);
}
