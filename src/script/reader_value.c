/* reader_value.c: expressions to values: literals, names, attributes, indexing, lists;
 * conversions between kinds. */
#include "script/reader_tir.h"

bool rlx_val_set(rlx_val *out, uint8_t kind, const rlx_node *node, const rlx_ast *at)
{
    *out = rlx_val_node(kind, node, at);
    return node != NULL;
}

/* ---- numbers -------------------------------------------------------------------------------- */

double rlx_val_number(const rlx_val *v)
{
    return v->kind == RLX_VAL_FLOAT ? v->f : v->sub ? (double)(uint64_t)v->i : (double)v->i;
}

bool rlx_val_truncate(double f, rlx_val *out)
{
    if (!(f >= -0x1p63 && f < 0x1p64))
        return false;
    out->kind = RLX_VAL_INT;
    out->sub = f >= 0x1p63;
    out->i = out->sub ? (int64_t)(uint64_t)f : (int64_t)f;
    return true;
}

bool rlx_does_not_fit(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype t)
{
    char name[RLX_DTYPE_TEXT];
    rlx_dtype_name(t, name);
    if (v->kind == RLX_VAL_FLOAT)
        return rlx_read_error(r, RLX_PA24, at, "this number does not fit into %s", name);
    if (v->sub)
        return rlx_read_error(r, RLX_PA24, at, "%llu does not fit into %s",
                              (unsigned long long)v->i, name);
    return rlx_read_error(r, RLX_PA24, at, "%lld does not fit into %s", (long long)v->i, name);
}

const rlx_prim *rlx_val_literal(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype t)
{
    rlx_val whole = *v;
    if (rlx_dtype_is_float(t))
        return rlx_float(r->ctx, t, rlx_val_number(v));
    if ((v->kind == RLX_VAL_FLOAT && !rlx_val_truncate(v->f, &whole)) ||
        !rlx_dtype_has_int(t, whole.i, whole.sub))
        return rlx_does_not_fit(r, at, v, t), NULL;
    return rlx_int(r->ctx, t, whole.i);
}

/* ---- conversions ---------------------------------------------------------------------------- */

bool rlx_to_int(rlx_reader *r, const rlx_ast *at, const rlx_val *v, int64_t *out)
{
    const rlx_prim_value *pv = v->kind == RLX_VAL_EXPR ? rlx_as_prim_value(v->node) : NULL;
    const rlx_prim *p = v->kind == RLX_VAL_PRIM ? v->node : pv ? pv->value : NULL;
    if (p && rlx_int_literal(p, out) && !rlx_dtype_is_large(rlx_prim_dtype(p), *out))
        return true;
    if ((v->kind != RLX_VAL_INT || v->sub) && v->kind != RLX_VAL_BOOL)
        return rlx_read_expected(r, at, "an integer", v);
    *out = v->i;
    return true;
}

bool rlx_to_bool(rlx_reader *r, const rlx_ast *at, const rlx_val *v, bool *out)
{
    int64_t i = v->i;
    if (v->kind != RLX_VAL_BOOL && !(v->kind == RLX_VAL_INT && (v->i == 0 || v->i == 1)) &&
        !(v->kind == RLX_VAL_PRIM && rlx_int_literal(v->node, &i)))
        return rlx_read_expected(r, at, "True or False", v);
    *out = i != 0;
    return true;
}

bool rlx_to_string(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_slice *out)
{
    const rlx_string_imm *imm = v->kind == RLX_VAL_EXPR ? rlx_as_string_imm(v->node) : NULL;
    const rlx_tir_string *tir = v->kind == RLX_VAL_PRIM ? rlx_as_tir_string(v->node) : NULL;
    const rlx_attr_string *attr = v->kind == RLX_VAL_NODE ? rlx_as_attr_string(v->node) : NULL;
    const rlx_string *s = imm ? imm->value : tir ? tir->value : attr ? attr->value : NULL;
    if (!s && v->kind != RLX_VAL_STR)
        return rlx_read_expected(r, at, "a string", v);
    *out = s ? rlx_string_slice(s) : v->s;
    return true;
}

static bool dtype_text(rlx_reader *r, const rlx_ast *at, rlx_slice text, rlx_dtype *out)
{
    static const struct { const char *text; rlx_dtype dtype;
    } older[] = {
        { "f16", RELAX_FLOAT16 }, { "f32", RELAX_FLOAT32 }, { "f64", RELAX_FLOAT64 },
        { "i8", RELAX_INT8 },     { "i32", RELAX_INT32 },   { "i64", RELAX_INT64 },
    };
    if (text.len == 0)
        return *out = RELAX_VOID, true;
    if (rlx_dtype_parse(text, out))
        return true;
    for (size_t i = 0; i < RLX_COUNT(older); i++) {
        if (!rlx_slice_is(text, older[i].text))
            continue;
        char name[RLX_DTYPE_TEXT];
        rlx_dtype_name(older[i].dtype, name);
        rlx_read_note(r, at, "\"%s\" is an older spelling of \"%s\"", older[i].text, name);
        return *out = older[i].dtype, true;
    }
    const char *near = rlx_cure_dtype(r, text);
    return rlx_read_error(r, RLX_PA25, at, "\"%.*s\" is not a dtype%s%s%s",
                          (int)(text.len > 60 ? 60 : text.len), text.data,
                          near ? "; did you mean \"" : "", near ? near : "", near ? "\"" : "");
}

bool rlx_to_dtype(rlx_reader *r, const rlx_ast *at, const rlx_val *v, rlx_dtype *out)
{
    const rlx_dtype_imm *imm = v->kind == RLX_VAL_EXPR ? rlx_as_dtype_imm(v->node) : NULL;
    const rlx_attr_dtype *attr = v->kind == RLX_VAL_NODE ? rlx_as_attr_dtype(v->node) : NULL;
    switch (v->kind) {
    case RLX_VAL_NONE: *out = RELAX_VOID; return true;
    case RLX_VAL_DTYPE: *out = (rlx_dtype)v->i; return true;
    case RLX_VAL_STR: return dtype_text(r, at, v->s, out);
    case RLX_VAL_FUNC:
        if (v->sub == RLX_SPACE_T &&
            rlx_tir_reader_dtype_name(rlx_string_slice(v->fn.path->text), out))
            return true;
        break;
    default: break;
    }
    if (!imm && !attr)
        return v->kind == RLX_VAL_FUNC && v->fn.path && rlx_is_dtype_name(rlx_string_slice(v->fn.path->text))
                   ? rlx_read_error(r, RLX_PA12, at, "a dtype is written in quotes: \"%s\"", v->fn.path->text->data)
                   : rlx_read_expected(r, at, "a dtype", v);
    *out = imm ? imm->value : attr->value;
    return true;
}

static const rlx_prim *int_literal(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    if (v->sub)
        return rlx_does_not_fit(r, at, v, RELAX_INT64), NULL;
    return rlx_int(r->ctx, v->i >= INT32_MIN && v->i <= INT32_MAX ? RELAX_INT32 : RELAX_INT64,
                   v->i);
}

static const rlx_prim *string_prim(rlx_reader *r, rlx_slice s)
{
    rlx_tir_string key = { .node = { .kind = RLX_NODE_TIR_STRING },
                           .value = rlx_string_intern(r->ctx, s) };
    return key.value ? rlx_node_intern(r->ctx, &key.node) : NULL;
}

const rlx_prim *rlx_to_prim(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    const rlx_prim_value *pv;
    switch (v->kind) {
    case RLX_VAL_PRIM: return v->node;
    case RLX_VAL_INT: return int_literal(r, at, v);
    case RLX_VAL_BOOL: return rlx_int(r->ctx, RELAX_BOOL, v->i != 0);
    case RLX_VAL_FLOAT: return rlx_float(r->ctx, RELAX_FLOAT32, v->f);
    case RLX_VAL_STR:
        if (r->unit.dialect == RLX_DIALECT_TIR)
            return string_prim(r, v->s);
        break;
    case RLX_VAL_ITER: return ((const rlx_iter_var *)v->node)->var;
    case RLX_VAL_EXPR:
        if ((pv = rlx_as_prim_value(v->node)) != NULL)
            return pv->value;
        break;
    case RLX_VAL_BUFFER: {
        const rlx_buffer *b = (const rlx_buffer *)v->node;
        if (!b->num_shape)
            return rlx_load(r->ctx, b, NULL, 0);
        break;
    }
    default: break;
    }
    rlx_read_expected(r, at, "a scalar expression", v);
    if (v->kind == RLX_VAL_EXPR && r->unit.dialect == RLX_DIALECT_RELAX)
        rlx_note(r->ctx, RLX_NO_PLACE, "functions of T compute with numbers; operators of tensors stand in R");
    return NULL;
}

const rlx_prim *rlx_read_prim(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    return rlx_read_value(r, a, &v) ? rlx_to_prim(r, a, &v) : NULL;
}

const rlx_prim *rlx_read_dim(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (a->kind == RLX_AST_INT && !a->op)
        return rlx_int64(r->ctx, (int64_t)a->integer);
    if (a->kind == RLX_AST_STRING) {
        const rlx_ast *inner = rlx_parse_text(r, a);
        return inner ? rlx_read_dim(r, inner) : NULL;
    }
    if (!rlx_read_value(r, a, &v))
        return NULL;
    if (v.kind == RLX_VAL_INT && !v.sub)
        return rlx_int64(r->ctx, v.i);
    if (v.kind == RLX_VAL_FLOAT)
        return rlx_read_error(r, RLX_WX06, a, "dimension has dtype float32, expected an integer"), NULL;
    const rlx_var *scalar = v.kind == RLX_VAL_EXPR ? rlx_as_var(v.node) : NULL;
    const rlx_prim_sinfo *known = scalar ? rlx_as_prim_sinfo(scalar->sinfo) : NULL;
    if (known && known->value) /* k = x.shape[0]: the size that k is */
        (void)rlx_val_set(&v, RLX_VAL_PRIM, known->value, a);
    if (v.kind != RLX_VAL_PRIM && !(v.kind == RLX_VAL_EXPR && rlx_as_prim_value(v.node))) {
        rlx_read_error(r, RLX_PA28, a, "a dimension is an integer expression, found %s%s",
                       rlx_val_text(&v),
                       v.kind == RLX_VAL_NONE   ? "; one that is not known has a name: \"n\""
                       : v.kind == RLX_VAL_STR  ? "; in a body names of sizes have no quotes"
                       : v.kind == RLX_VAL_EXPR ? "; n = T.int64() names a size, and R.match_cast(x, R.Tensor((n, 4), \"float32\")) finds it"
                                                : "");
        return NULL;
    }
    const rlx_prim *p = rlx_to_prim(r, a, &v);
    rlx_dtype t = p ? rlx_prim_dtype(p) : RELAX_VOID;
    if (p && t != RELAX_INT64 && (!rlx_dtype_is_int(t) || rlx_dtype_lanes(t) != 1)) {
        char have[RLX_DTYPE_TEXT];
        rlx_dtype_name(t, have);
        return rlx_read_error(r, RLX_WX06, a, "dimension has dtype %s, expected an integer", have), NULL;
    }
    return p && t != RELAX_INT64 ? rlx_fold_cast(r->ctx, RELAX_INT64, p) : p;
}

/* ---- Relax expressions ---------------------------------------------------------------------- */

static const rlx_expr *tuple_of(rlx_reader *r, const rlx_ast *at, const rlx_val *v, bool convert)
{
    size_t mark = r->stack.len;
    const rlx_expr *result = NULL;
    bool ok = true;
    for (size_t i = 0; i < v->list.count && ok; i++) {
        const rlx_ast place = { .begin = v->list.items[i].begin, .end = v->list.items[i].end };
        const rlx_expr *e = rlx_to_expr(r, &place, &v->list.items[i], convert);
        ok = e && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)e);
    }
    if (ok)
        result = rlx_tuple_new(r->ctx, (const rlx_expr *const *)(r->stack.data + mark),
                               r->stack.len - mark, rlx_read_place(r, at));
    r->stack.len = mark;
    return result;
}

bool rlx_is_operator(const rlx_reader *r, const rlx_val *v)
{
    return v->kind == RLX_VAL_FUNC && v->sub == RLX_SPACE_R && v->fn.path &&
           r->ctx->ops->find(r->ctx, rlx_string_slice(v->fn.path->text));
}

bool rlx_read_op_value(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    rlx_read_error(r, RLX_WF09, at, "operator %s is used as a value", v->fn.path->text->data);
    rlx_note(r->ctx, RLX_NO_PLACE, "wrap it in a function to pass it around");
    return false;
}

static const rlx_expr *converted(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    rlx_dtype t;
    switch (v->kind) {
    case RLX_VAL_INT:
        if (v->sub)
            break;
        return rlx_prim_value_new(r->ctx, rlx_int64(r->ctx, v->i));
    case RLX_VAL_BOOL: return rlx_prim_value_new(r->ctx, rlx_int64(r->ctx, v->i != 0));
    case RLX_VAL_FLOAT: return rlx_prim_value_new(r->ctx, rlx_float(r->ctx, RELAX_FLOAT64, v->f));
    case RLX_VAL_STR: return rlx_string_imm_new(r->ctx, v->s);
    case RLX_VAL_PRIM: return rlx_to_scalar_value(r, at, v->node);
    case RLX_VAL_FUNC: case RLX_VAL_DTYPE:
        return rlx_to_dtype(r, at, v, &t) ? rlx_dtype_imm_new(r->ctx, t) : NULL;
    default: break;
    }
    return rlx_read_expected(r, at, "a Relax expression", v), NULL;
}

static void expected_tensor(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    char number[32], dtype[RLX_DTYPE_TEXT] = "float32";
    const rlx_var *beside = rlx_as_var(r->unit.beside);
    const rlx_tensor_sinfo *t = beside ? rlx_as_tensor_sinfo(beside->sinfo) : NULL;
    bool known = t && t->dtype != RELAX_VOID &&
                 (v->kind == RLX_VAL_INT || rlx_dtype_is_float(t->dtype));
    if (v->kind == RLX_VAL_INT)
        snprintf(number, sizeof number, "%lld", (long long)v->i);
    else
        snprintf(number, sizeof number, "%.9g", v->f);
    if (known)
        rlx_dtype_name(t->dtype, dtype);
    rlx_read_error(r, RLX_PA12, at,
                   "expected a Relax expression, found a number: write R.const(%s, \"%s\")%s",
                   number, dtype, known ? "" : ", or with another dtype that fits");
}

const rlx_expr *rlx_to_expr(rlx_reader *r, const rlx_ast *at, const rlx_val *v, bool convert)
{
    if (v->kind == RLX_VAL_EXPR)
        return v->sub ? rlx_tuple_new(r->ctx, NULL, 0, rlx_read_place(r, at)) : v->node;
    if (v->kind == RLX_VAL_TUPLE || v->kind == RLX_VAL_LIST)
        return tuple_of(r, at, v, convert);
    if (rlx_is_operator(r, v))
        return rlx_read_op_value(r, at, v), NULL;
    if (convert)
        return converted(r, at, v);
    if (v->kind == RLX_VAL_BOOL)
        return rlx_read_error(r, RLX_PA12, at, "expected a Relax expression, found a boolean: write R.const(%s, \"bool\")",
                              v->i ? "True" : "False"),
               NULL;
    if (v->kind == RLX_VAL_INT || v->kind == RLX_VAL_FLOAT)
        return expected_tensor(r, at, v), NULL;
    if (v->kind == RLX_VAL_PRIM)
        return rlx_read_error(r, RLX_PA12, at,
                              "expected a Relax expression, found a scalar expression: %s",
                              r->unit.dialect == RLX_DIALECT_TIR
                                  ? "operators of R are of whole tensors, those of numbers stand in T"
                                  : "write R.prim_value(...)"),
               NULL;
    return rlx_read_expected(r, at, "a Relax expression", v), NULL;
}

const rlx_expr *rlx_read_expr(rlx_reader *r, const rlx_ast *a, bool convert)
{
    rlx_val v;
    return rlx_read_value(r, a, &v) ? rlx_to_expr(r, a, &v, convert) : NULL;
}

static const rlx_prim *dim_of(rlx_reader *r, const rlx_val *v)
{
    const rlx_ast at = { .kind = RLX_AST_VALUE, .begin = v->begin, .end = v->end, .value = v };
    return rlx_read_dim(r, &at);
}

const rlx_expr *rlx_to_shape(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    if (v->kind == RLX_VAL_EXPR && !v->sub)
        return v->node;
    if (v->kind != RLX_VAL_TUPLE && v->kind != RLX_VAL_LIST)
        return rlx_read_expected(r, at, "a shape (a list of dimensions or a shape expression)", v),
               NULL;
    size_t mark = r->stack.len;
    bool ok = true;
    for (size_t i = 0; i < v->list.count && ok; i++) {
        const rlx_prim *p = dim_of(r, &v->list.items[i]);
        ok = p && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)p);
    }
    const rlx_expr *shape =
        ok ? rlx_shape_new(r->ctx, (const rlx_prim *const *)(r->stack.data + mark),
                           r->stack.len - mark)
           : NULL;
    r->stack.len = mark;
    return shape;
}

const rlx_expr *rlx_to_shape_value(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    bool list = v->kind == RLX_VAL_TUPLE || v->kind == RLX_VAL_LIST;
    const rlx_expr *e = rlx_to_shape(r, at, v);
    const rlx_shape_expr *shape = list ? rlx_as_shape_expr(e) : NULL;
    for (size_t i = 0; shape && i < shape->num_values; i++) {
        const rlx_val *item = &v->list.items[i];
        const rlx_ast part = { .begin = item->begin, .end = item->end };
        if (item->begin >= at->begin && item->end <= at->end)
            rlx_relax_check_size(r, &part, shape->values[i]);
    }
    return e;
}

const rlx_expr *rlx_to_scalar_value(rlx_reader *r, const rlx_ast *at, const rlx_prim *p)
{
    if (!p)
        return NULL;
    rlx_relax_check_size(r, at, p);
    return rlx_prim_value_new(r->ctx, p);
}

/* ---- attribute values ----------------------------------------------------------------------- */

static const rlx_attr *attr_list(rlx_reader *r, const rlx_val *v, bool dict)
{
    rlx_memory *m = &r->ctx->memory;
    size_t mark = r->stack.len, step = dict ? 2 : 1, count = v->list.count / step;
    bool ok = true;
    /* dictionaries: all keys, then all values */
    for (size_t part = 0; part < step && ok; part++)
        for (size_t i = part; i < v->list.count && ok; i += step) {
            const rlx_val *item = &v->list.items[i];
            const rlx_ast at = { .begin = item->begin, .end = item->end };
            if (dict && part == 0 && item->kind != RLX_VAL_STR)
                ok = rlx_read_expected(r, &at, "a string as key", item);
            const rlx_attr *a = ok ? rlx_to_attr(r, &at, item) : NULL;
            ok = a && rlx_vec_push(m, &r->stack, (void *)(uintptr_t)a);
        }
    const rlx_attr *const *data = (const rlx_attr *const *)(r->stack.data + mark);
    const rlx_attr *result = !ok    ? NULL
                             : dict ? rlx_attrs_new(r->ctx, data, data + count, count)
                                    : rlx_attr_list_new(r->ctx, data, count);
    r->stack.len = mark;
    return result;
}

const rlx_attr *rlx_to_attr(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    rlx_dtype t;
    switch (v->kind) {
    case RLX_VAL_NONE: return rlx_attr_none(r->ctx);
    case RLX_VAL_BOOL: /* in a PrimFunc printed, hence also read, as T.bool(...) */
        return r->unit.dialect == RLX_DIALECT_TIR
                   ? (const rlx_attr *)rlx_int(r->ctx, RELAX_BOOL, v->i != 0)
                   : rlx_attr_bool_new(r->ctx, v->i != 0);
    case RLX_VAL_INT:
        if (v->sub)
            return rlx_does_not_fit(r, at, v, RELAX_INT64), NULL;
        return rlx_attr_int_new(r->ctx, v->i);
    case RLX_VAL_FLOAT: /* a plain number, in TIR T.float32(...) */
        return r->unit.dialect == RLX_DIALECT_TIR
                   ? (const rlx_attr *)rlx_float(r->ctx, RELAX_FLOAT32, v->f)
                   : rlx_attr_float_new(r->ctx, v->f);
    case RLX_VAL_STR: return rlx_attr_string_new(r->ctx, v->s);
    case RLX_VAL_TUPLE: case RLX_VAL_LIST: return attr_list(r, v, false);
    case RLX_VAL_DICT: return attr_list(r, v, true);
    case RLX_VAL_EXPR:
    case RLX_VAL_PRIM:
    case RLX_VAL_SINFO:
    case RLX_VAL_BUFFER:
    case RLX_VAL_REGION:
    case RLX_VAL_RANGE:
    case RLX_VAL_ITER: case RLX_VAL_NODE: return v->node;
    case RLX_VAL_DTYPE: case RLX_VAL_FUNC:
        return rlx_to_dtype(r, at, v, &t) ? rlx_attr_dtype_new(r->ctx, t) : NULL;
    case RLX_VAL_BUILTIN:
        return rlx_read_error(r, RLX_PA12, at, "expected an attribute value, found a Python function; a "
                                               "dtype is written in quotes: \"float32\""),
               NULL;
    default: return rlx_read_expected(r, at, "an attribute value", v), NULL;
    }
}

/* ---- names ---------------------------------------------------------------------------------- */

/* A dataflow variable from outside of the local function that is being read (WF11). */
static void check_capture(rlx_reader *r, const rlx_ast *a)
{
    if (!rlx_read_is_captured(r, a->name))
        return;
    /* the text is read all the same */
    rlx_error(r->ctx, RLX_WF11, rlx_read_place(r, a),
              "function %s captures dataflow variable %s",
              r->unit.where.function->name->text->data, a->name->text->data);
    rlx_note(r->ctx, rlx_place_of(a->name->value.node), "%s is bound here",
             a->name->text->data);
    rlx_note(r->ctx, RLX_NO_PLACE,
             "list it in R.output of an earlier block, or pass it as a parameter");
}

/* The meaning of a name now, where it stands. */
static inline void take_value(const rlx_ast *a, rlx_val *out)
{
    *out = a->name->value;
    out->begin = a->begin;
    out->end = a->end;
}

static const rlx_ast *scalar_param(const rlx_source_line *def, const rlx_word *name)
{
    const rlx_ast *p = def ? def->target : NULL;
    while (p && p->name != name)
        p = p->next;
    return p && p->base && p->base->kind == RLX_AST_ATTR ? p->base : NULL;
}

bool rlx_define_size(rlx_reader *r, rlx_word *name, rlx_dtype dtype, const rlx_ast *at)
{
    const rlx_ast *param = scalar_param(r->unit.header, name);
    rlx_dtype t;
    if (param && r->unit.dialect == RLX_DIALECT_TIR &&
        rlx_tir_reader_dtype_name(rlx_string_slice(param->name->text), &t) && rlx_dtype_is_int(t))
        dtype = t;
    const rlx_prim_var *v = rlx_prim_var_new(r->ctx, name->text, dtype, rlx_read_place(r, at));
    rlx_val value = rlx_val_node(RLX_VAL_PRIM, v ? &v->node : NULL, at);
    value.sub = 1;
    return v && rlx_word_bind(r, name, &value);
}

bool rlx_define_type_params(rlx_reader *r, const rlx_source_line *def)
{
    for (const rlx_ast *p = def->type_params; p; p = p->next) {
        bool plain = !p->base || (p->base->kind == RLX_AST_NAME &&
                                  rlx_slice_is(rlx_string_slice(p->base->name->text), "int"));
        if (!plain)
            return rlx_read_error(r, RLX_PA17, p->base,
                                  "a size among the type parameters is an int");
        if (!rlx_define_size(r, p->name, RELAX_INT64, p))
            return false;
    }
    return true;
}

/* n of n = TypeVar("n"): in a signature the size of that name, which it so defines. */
static bool read_type_var(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    if (!r->unit.header)
        return rlx_read_error(r, RLX_PA10, a,
                              "%s is a TypeVar, which is a size only where the signature of the "
                              "function names it", a->name->text->data);
    if (!rlx_define_size(r, a->name, RELAX_INT64, a))
        return false;
    take_value(a, out);
    return true;
}

static bool read_name(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    const rlx_word *n = a->name;
    take_value(a, out);
    if (out->kind == RLX_VAL_EXPR && rlx_is(out->node, RLX_NODE_DATAFLOW_VAR))
        check_capture(r, a);
    if (RLX_UNLIKELY(out->kind == RLX_VAL_TYPE_VAR))
        return read_type_var(r, a, out);
    if (RLX_LIKELY(out->kind > RLX_VAL_ERROR))
        return true;
    if (out->kind == RLX_VAL_ERROR)
        return false;
    /* a sibling function without the module's name: the older dialect */
    const rlx_global_var *gv =
        r->module.builder
            ? rlx_module_builder_lookup(r->module.builder, rlx_string_slice(n->text))
            : NULL;
    if (gv) {
        rlx_read_note(r, a, "a function of the module is written cls.%s (with cls = %s)",
                      n->text->data, r->module.name ? r->module.name->text->data : "Module");
        return rlx_val_set(out, RLX_VAL_EXPR, &gv->node, a);
    }
    if (!rlx_read_missing(r, a))
        return false;
    take_value(a, out);
    return true;
}

/* Longer ones name nothing, and would be written once more for each further part. */
enum { LONGEST_PATH = 1000 };

/* "nn" + "softmax" */
static rlx_word *join_path(rlx_reader *r, const rlx_ast *at, rlx_word *path)
{
    rlx_word *name = at->name;
    if (!path)
        return name;
    rlx_functions *known = rlx_word_functions(&r->names, name);
    if (!known || known->below == path)
        return known ? known->joined : NULL;
    size_t a = path->text->len, b = name->text->len;
    if (a + b >= LONGEST_PATH)
        return rlx_read_error(r, RLX_PA11, at, "a name of more than %d bytes is not known",
                              LONGEST_PATH), NULL;
    char small[96],
        *text = a + b + 1 <= sizeof small ? small : rlx_region_alloc(&r->unit.region, a + b + 1);
    if (!text)
        return NULL;
    memcpy(text, path->text->data, a);
    text[a] = '.';
    memcpy(text + a + 1, name->text->data, b);
    known->below = path;
    return known->joined = rlx_words_get(&r->names, (rlx_slice){ text, a + b + 1 });
}

static const char *gvar_at(void *user, size_t i)
{
    const rlx_reader *r = user;
    return r->module.pending.data[i]->name->text->data;
}

/* A function without a readable header: what calls it is not told that it cannot be called. */
static bool is_broken(const rlx_reader *r, const rlx_global_var *gv)
{
    return r->module.broken.len && rlx_ptrmap_has(&r->module.broken, gv);
}

static bool module_member(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    rlx_slice name = rlx_string_slice(a->name->text);
    const rlx_global_var *gv =
        r->module.builder ? rlx_module_builder_lookup(r->module.builder, name) : NULL;
    if (gv)
        return !is_broken(r, gv) && rlx_val_set(out, RLX_VAL_EXPR, &gv->node, a);
    const char *near = rlx_nearest(r, name, gvar_at, r, r->module.pending.len);
    return rlx_read_error(r, RLX_WX01, a, "cls.%s is not a function of this module%s%s",
                          a->name->text->data, near ? "; did you mean " : "", near ? near : "");
}

/* What tensors say of themselves when the program runs: x.ndim, x.dtype.bits, x.shape[i]. `of`:
 * what stands between; how: an attribute, or an index behind it. */
static const struct inspection { const char *of, *name, *op; bool indexed; } inspections[] = {
    { NULL, "ndim", "relax.inspect.tensor_ndim", false },
    { NULL, "byte_offset", "relax.inspect.tensor_byte_offset", false },
    { NULL, "elem_offset", "relax.inspect.tensor_elem_offset", false },
    { "dtype", "type_code", "relax.inspect.tensor_dtype_code", false },
    { "dtype", "bits", "relax.inspect.tensor_dtype_bits", false },
    { "dtype", "lanes", "relax.inspect.tensor_dtype_lanes", false },
    { NULL, "shape", "relax.inspect.tensor_shape_i", true },
    { NULL, "strides", "relax.inspect.tensor_stride_i", true },
};

static const struct inspection *find_inspection(const rlx_word *of, const rlx_word *name)
{
    for (size_t i = 0; i < RLX_COUNT(inspections); i++) {
        const struct inspection *n = &inspections[i];
        if (rlx_slice_is(rlx_string_slice(name->text), n->name) && !of == !n->of &&
            (!of || rlx_slice_is(rlx_string_slice(of->text), n->of)))
            return n;
    }
    return NULL;
}

/* x.dtype, x.shape, x.astype: something is to follow. */
static bool set_method(const rlx_val *base, const rlx_ast *a, rlx_val *out)
{
    *out = (rlx_val){ .kind = RLX_VAL_METHOD,
                      .sub = RLX_VAL_EXPR,
                      .begin = a->begin,
                      .end = a->end,
                      .fn = { a->name, base->node } };
    return true;
}

static const rlx_sinfo *info_of_leaf(void *user, const rlx_expr *leaf)
{
    const rlx_reader *r = user;
    return rlx_is_leaf(leaf) ? rlx_leaf_sinfo(r->ctx, r->module.env, leaf) : NULL;
}

const rlx_sinfo *rlx_read_known_sinfo(rlx_reader *r, const rlx_expr *e)
{
    const rlx_call *call = rlx_as_call(e);
    const rlx_op *op = rlx_as_op(call ? call->op : NULL);
    rlx_infer in = { .ctx = r->ctx, .call = call, .row = op ? op->row : NULL,
                     .sinfo_of = info_of_leaf, .user = r, .quiet = true };
    return in.row && in.row->infer ? in.row->infer(&in) : NULL;
}

/* What such a call gives, if that is known already; else the call. */
static const rlx_expr *known_value(rlx_reader *r, const rlx_expr *e)
{
    const rlx_prim_sinfo *known = rlx_as_prim_sinfo(rlx_read_known_sinfo(r, e));
    return known && known->value ? rlx_prim_value_new(r->ctx, known->value) : e;
}

static bool inspect(rlx_reader *r, const rlx_ast *a, const struct inspection *n, const rlx_expr *x,
                    const rlx_expr *axis, rlx_val *out)
{
    const rlx_expr *args[2] = { x, axis };
    const rlx_expr *call =
        rlx_read_op_call(r, n->op, args, n->indexed ? 2 : 1, NULL, rlx_read_place(r, a));
    return rlx_val_set(out, RLX_VAL_EXPR, known_value(r, call), a);
}

/* x.dtype.bits */
static bool method_attr(rlx_reader *r, const rlx_val *base, const rlx_ast *a, rlx_val *out)
{
    const struct inspection *n =
        base->sub == RLX_VAL_EXPR ? find_inspection(base->fn.path, a->name) : NULL;
    if (n)
        return inspect(r, a, n, base->fn.what, NULL, out);
    return rlx_read_error(r, RLX_PA10, a, "%s has no attribute %s", rlx_val_text(base),
                          a->name->text->data);
}

/* x.shape[axis] */
static bool index_method(rlx_reader *r, const rlx_ast *a, const rlx_val *base, rlx_val *out)
{
    const struct inspection *n =
        base->sub == RLX_VAL_EXPR ? find_inspection(NULL, base->fn.path) : NULL;
    if (!n || !n->indexed || a->op)
        return rlx_read_error(r, RLX_PA12, a, "%s cannot be indexed", rlx_val_text(base));
    const rlx_expr *axis = rlx_read_expr(r, a->first, true);
    return axis && inspect(r, a, n, base->fn.what, axis, out);
}

static bool expr_attr(rlx_reader *r, const rlx_val *base, const rlx_ast *a, rlx_val *out)
{
    rlx_slice name = rlx_string_slice(a->name->text);
    const rlx_var *v = rlx_as_var(base->node);
    if (rlx_slice_is(name, "struct_info") || rlx_slice_is(name, "ty")) {
        const rlx_sinfo *s = v            ? v->sinfo
                             : r->builder ? rlx_builder_infer(r->builder, base->node)
                                          : NULL;
        if (s)
            return rlx_val_set(out, RLX_VAL_SINFO, s, a);
    } else if (rlx_slice_is(name, "astype") || rlx_slice_is(name, "dtype")) {
        return set_method(base, a, out);
    }
    const struct inspection *n = find_inspection(NULL, a->name);
    if (n)
        return n->indexed ? set_method(base, a, out) : inspect(r, a, n, base->node, NULL, out);
    return rlx_no_attribute(r, name, v && v->name ? v->name->data : "x", a);
}

static bool read_attr(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    rlx_val base;
    if (!rlx_read_value(r, a->base, &base))
        return false;
    switch (base.kind) {
    case RLX_VAL_SPACE: case RLX_VAL_FUNC:
        *out =
            (rlx_val){ .kind = RLX_VAL_FUNC, .sub = base.sub, .begin = a->begin, .end = a->end };
        out->fn.path =
            join_path(r, a, base.kind == RLX_VAL_FUNC ? (rlx_word *)base.fn.path : NULL);
        return out->fn.path != NULL;
    case RLX_VAL_MODULE: return module_member(r, a, out);
    case RLX_VAL_BUFFER: return rlx_buffer_attr(r, (const rlx_buffer *)base.node, a->name, a, out);
    case RLX_VAL_EXPR: return expr_attr(r, &base, a, out);
    case RLX_VAL_METHOD: return method_attr(r, &base, a, out);
    case RLX_VAL_ITER:
        if (rlx_slice_is(rlx_string_slice(a->name->text), "var"))
            return rlx_val_set(out, RLX_VAL_PRIM, ((const rlx_iter_var *)base.node)->var, a);
        break;
    case RLX_VAL_PRIM:
        if (rlx_slice_is(rlx_string_slice(a->name->text), "dtype") ||
            rlx_slice_is(rlx_string_slice(a->name->text), "ty")) {
            *out = (rlx_val){ .kind = RLX_VAL_DTYPE,
                              .begin = a->begin,
                              .end = a->end,
                              .i = rlx_prim_dtype(base.node) };
            return true;
        }
        if (rlx_slice_is(rlx_string_slice(a->name->text), "astype")) {
            (void)set_method(&base, a, out);
            out->sub = RLX_VAL_PRIM;
            return true;
        }
        break;
    default: break;
    }
    return rlx_read_error(r, RLX_PA10, a, "%s has no attribute %s", rlx_val_text(&base),
                          a->name->text->data);
}

/* ---- lists and indexing --------------------------------------------------------------------- */

static bool read_list(rlx_reader *r, const rlx_ast *a, uint8_t kind, rlx_val *out)
{
    const rlx_ast *from = a->count ? rlx_expand_stars(r, a) : a;
    rlx_val *items =
        from ? rlx_region_array(&r->parser.region, from->count ? from->count : 1, sizeof *items)
             : NULL;
    if (!items)
        return from ? false : false;
    size_t n = 0;
    for (const rlx_ast *i = from->first; i; i = i->next)
        if (!rlx_read_value(r, i, &items[n++]))
            return false;
    *out = (rlx_val){ .kind = kind, .begin = a->begin, .end = a->end, .list = { items, n } };
    return true;
}

static bool index_list(rlx_reader *r, const rlx_ast *a, const rlx_val *base, rlx_val *out)
{
    rlx_val v;
    int64_t i;
    if (!rlx_read_value(r, a->first, &v) || !rlx_to_int(r, a->first, &v, &i))
        return false;
    int64_t n = (int64_t)base->list.count, at = i < 0 ? i + n : i;
    if (at < 0 || at >= n)
        return rlx_read_error(r, RLX_PA12, a, "index %lld is out of range for a list of %lld",
                              (long long)i, (long long)n);
    *out = base->list.items[at];
    out->begin = a->begin;
    out->end = a->end;
    return true;
}

static bool index_dict(rlx_reader *r, const rlx_ast *a, const rlx_val *base, rlx_val *out)
{
    rlx_val key;
    rlx_slice text;
    if (!rlx_read_value(r, a->first, &key) || !rlx_to_string(r, a->first, &key, &text))
        return false;
    for (size_t i = 0; i + 1 < base->list.count; i += 2)
        if (base->list.items[i].kind == RLX_VAL_STR &&
            rlx_slice_equal(base->list.items[i].s, text))
            return *out = base->list.items[i + 1], true;
    return rlx_read_error(r, RLX_PA10, a, "the dictionary has no key \"%.*s\"",
                          (int)(text.len > 60 ? 60 : text.len), text.data);
}

static bool index_expr(rlx_reader *r, const rlx_ast *a, const rlx_val *base, rlx_val *out)
{
    rlx_val v;
    int64_t i;
    bool sliced = a->op || (a->first && a->first->kind == RLX_AST_SLICE);
    const rlx_var *x = sliced ? rlx_as_var(base->node) : NULL;
    if (x && rlx_as_tensor_sinfo(x->sinfo))
        return rlx_read_error(r, RLX_PA12, a,
                              "a tensor is not indexed: R.strided_slice(x, axes=[0], begin=[0], end=[2]) "
                              "cuts, R.take(x, R.const(0, \"int64\"), axis=0) picks");
    if (a->op)
        return rlx_read_error(r, RLX_PA12, a, "a Relax tuple has one index");
    if (!rlx_read_value(r, a->first, &v) || !rlx_to_int(r, a->first, &v, &i))
        return false;
    const rlx_tuple *t = rlx_as_tuple(base->node);
    const rlx_shape_expr *s = rlx_as_shape_expr(base->node);
    size_t n = t ? t->num_fields : s ? s->num_values : 0;
    if ((t || s) && (i < 0 || (uint64_t)i >= n))
        return rlx_read_error(r, RLX_PA12, a, "index %lld is out of range for %zu items",
                              (long long)i, n);
    if (t)
        return rlx_val_set(out, RLX_VAL_EXPR, t->fields[i], a);
    if (s)
        return rlx_val_set(out, RLX_VAL_PRIM, s->values[i], a);
    return rlx_val_set(out, RLX_VAL_EXPR,
                       rlx_tuple_get_item_new(r->ctx, base->node, i, rlx_read_place(r, a)), a);
}

static bool index_meta(rlx_reader *r, const rlx_ast *a, const rlx_val *base, rlx_val *out)
{
    rlx_val v;
    int64_t i;
    if (!rlx_read_value(r, a->first, &v))
        return false;
    if (base->sub == 0) {
        if (!rlx_to_string(r, a->first, &v, &out->s))
            return false;
        *out = (rlx_val){
            .kind = RLX_VAL_META, .sub = 1, .begin = a->begin, .end = a->end, .s = v.s
        };
        return true;
    }
    if (!rlx_to_int(r, a->first, &v, &i))
        return false;
    const rlx_node *n = rlx_metadata_get(r, a, base->s, i);
    uint8_t family = n ? rlx_family_of(n) : 0;
    return rlx_val_set(out,
                       family == RLX_FAMILY_EXPR    ? RLX_VAL_EXPR
                       : family == RLX_FAMILY_PRIM  ? RLX_VAL_PRIM
                       : family == RLX_FAMILY_SINFO ? RLX_VAL_SINFO
                                                    : RLX_VAL_NODE,
                       n, a);
}

static bool read_index(rlx_reader *r, const rlx_ast *a, bool vector, rlx_val *out)
{
    rlx_val base;
    if (!rlx_read_value(r, a->base, &base))
        return false;
    switch (base.kind) {
    case RLX_VAL_BUFFER: return rlx_buffer_index(r, (const rlx_buffer *)base.node, a, vector, out);
    case RLX_VAL_TUPLE: case RLX_VAL_LIST: return index_list(r, a, &base, out);
    case RLX_VAL_DICT: return index_dict(r, a, &base, out);
    case RLX_VAL_EXPR: return index_expr(r, a, &base, out);
    case RLX_VAL_META: return index_meta(r, a, &base, out);
    case RLX_VAL_METHOD: return index_method(r, a, &base, out);
    case RLX_VAL_FUNC:
        if (base.sub == RLX_SPACE_R &&
            a->base->kind ==
                RLX_AST_ATTR) /* so that it is an annotation, which does not come back here */
            return rlx_val_set(out, RLX_VAL_SINFO, rlx_read_sinfo(r, a), a);
        break;
    default: break;
    }
    const rlx_prim_var *handle = base.kind == RLX_VAL_PRIM ? rlx_as_prim_var(base.node) : NULL;
    if (handle && handle->dtype == RELAX_HANDLE)
        return rlx_read_error(r, RLX_PA12, a, "%s is a handle: X = T.match_buffer(%s, (n, ...), \"float32\") "
                              "gives the buffer that is indexed", handle->name->data, handle->name->data);
    return rlx_read_error(r, RLX_PA12, a, "%s cannot be indexed", rlx_val_text(&base));
}

/* ---- calls ---------------------------------------------------------------------------------- */

static bool call_callee(rlx_reader *r, const rlx_val *callee, const rlx_ast *a, rlx_val *out);

static bool read_call(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    rlx_val callee;
    if (!rlx_read_value(r, a->base, &callee))
        return false;
    return call_callee(r, &callee, a, out);
}

/* f(x, y) of a variable or module function */
static bool call_expr(rlx_reader *r, const rlx_val *callee, const rlx_ast *call, rlx_val *out)
{
    size_t mark = r->stack.len;
    const rlx_ast *from = rlx_expand_stars(r, call);
    bool ok = from != NULL;
    for (const rlx_ast *a = from ? from->first : NULL; a && ok; a = a->next) {
        if (a->kind == RLX_AST_KEYWORD)
            ok = rlx_read_error(r, RLX_PA12, a,
                                "a function of the program takes its arguments by position");
        const rlx_expr *e = ok ? rlx_read_expr(r, a, true) : NULL;
        ok = e && rlx_vec_push(&r->ctx->memory, &r->stack, (void *)(uintptr_t)e);
    }
    const rlx_expr *e =
        ok ? rlx_call_new(r->ctx, callee->node, (const rlx_expr *const *)(r->stack.data + mark),
                          r->stack.len - mark, NULL, 0, NULL, rlx_read_place(r, call))
           : NULL;
    r->stack.len = mark;
    return rlx_val_set(out, RLX_VAL_EXPR, e, call);
}

/* x.astype("float16") */
static bool call_method(rlx_reader *r, const rlx_val *method, const rlx_ast *call, rlx_val *out)
{
    if (method->sub == RLX_VAL_BUFFER)
        return rlx_buffer_method(r, method, call, out);
    if (method->sub == RLX_VAL_EXPR &&
        !rlx_slice_is(rlx_string_slice(method->fn.path->text), "astype"))
        return rlx_read_error(r, RLX_PA12, call, "%s cannot be called", rlx_val_text(method));
    const rlx_ast *slot[1];
    rlx_val v;
    rlx_dtype t;
    if (!rlx_bind_args(r, call, "astype", RLX_PARAMS("dtype"), 1, slot) ||
        !rlx_read_value(r, slot[0], &v) || !rlx_to_dtype(r, slot[0], &v, &t))
        return false;
    if (method->sub == RLX_VAL_PRIM)
        return rlx_val_set(out, RLX_VAL_PRIM, rlx_fold_cast(r->ctx, t, method->fn.what), call);
    const rlx_attr *key = rlx_attr_string_new(r->ctx, RLX_SLICE("dtype")),
                   *value = rlx_attr_dtype_new(r->ctx, t);
    const rlx_attr *given = key && value ? rlx_attrs_new(r->ctx, &key, &value, 1) : NULL;
    const rlx_expr *x = method->fn.what;
    return rlx_val_set(
        out, RLX_VAL_EXPR,
        given ? rlx_read_op_call(r, "relax.astype", &x, 1, given, rlx_read_place(r, call)) : NULL,
        call);
}

static bool call_callee(rlx_reader *r, const rlx_val *callee, const rlx_ast *a, rlx_val *out)
{
    switch (callee->kind) {
    case RLX_VAL_FUNC:
        switch (callee->sub) {
        case RLX_SPACE_R: return rlx_call_relax(r, (rlx_word *)callee->fn.path, a, out);
        case RLX_SPACE_T: return rlx_call_tir(r, (rlx_word *)callee->fn.path, a, out);
        default: return rlx_call_ir(r, (rlx_word *)callee->fn.path, a, out);
        }
    case RLX_VAL_BUILTIN: return rlx_call_python(r, (int)callee->i, a, out);
    case RLX_VAL_EXPR:
        if (r->unit.dialect == RLX_DIALECT_TIR)
            return rlx_call_sibling(r, callee->node, a, out);
        return call_expr(r, callee, a, out);
    case RLX_VAL_METHOD: return call_method(r, callee, a, out);
    default: return rlx_read_error(r, RLX_PA12, a, "%s cannot be called", rlx_val_text(callee));
    }
}

/* ---- operators ------------------------------------------------------------------------------ */

/* An operand: slices of buffers are vector loads there (1.3 trap 3). */
bool rlx_read_operand(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    return a->kind == RLX_AST_INDEX ? read_index(r, a, true, out) : rlx_read_value(r, a, out);
}

/* a + b + c ... leans to the left as deep as the text is long: the spine is walked, not
 * recursed into. */
static bool read_binary(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    size_t n = 0;
    for (const rlx_ast *i = a; i->kind == RLX_AST_BINARY; i = i->base)
        n++;
    const rlx_ast *few[8], **spine = n <= RLX_COUNT(few)
                                         ? few
                                         : rlx_region_array(&r->parser.region, n, sizeof *spine);
    if (!spine)
        return false;
    const rlx_ast *i = a;
    for (size_t k = n; k-- > 0; i = i->base)
        spine[k] = i;
    rlx_val left, right;
    bool ok = rlx_read_operand(r, i, &left);
    /* every operand is looked at, whatever the others are */
    for (size_t k = 0; k < n; k++) {
        ok = rlx_read_operand(r, spine[k]->first, &right) && ok &&
             rlx_read_binary(r, spine[k]->op, spine[k], &left, &right, out);
        if (ok)
            left = *out;
    }
    return ok;
}

static bool read_choice(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    rlx_val cond;
    const rlx_ast *yes = a->first->next, *no = yes->next;
    if (!rlx_read_value(r, a->first, &cond))
        return false;
    if (cond.kind == RLX_VAL_BOOL || cond.kind == RLX_VAL_INT)
        return rlx_read_value(r, cond.i ? yes : no, out);
    if (r->unit.dialect != RLX_DIALECT_TIR)
        return rlx_read_error(r, RLX_PA16, a->first,
                              "a choice of Python is made while the text is read, by True or False: of "
                              "values write if c: y = ... and else: y = ...");
    const rlx_prim *c = rlx_to_prim(r, a->first, &cond), *t = c ? rlx_read_prim(r, yes) : NULL,
                   *f = t ? rlx_read_prim(r, no) : NULL;
    if (!f)
        return false;
    const rlx_prim *p = rlx_fold_select(r->ctx, c, t, f);
    return p ? rlx_val_set(out, RLX_VAL_PRIM, p, a)
             : rlx_read_error(r, RLX_PA18, a, "the two values of this choice have no common type");
}

static bool read_int(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    if (a->op == 2)
        return rlx_read_error(r, RLX_PA24, a, "this number needs more than 64 bits");
    *out = (rlx_val){ .kind = RLX_VAL_INT,
                      .sub = a->op,
                      .begin = a->begin,
                      .end = a->end,
                      .i = (int64_t)a->integer };
    return true;
}

bool rlx_read_value(rlx_reader *r, const rlx_ast *a, rlx_val *out)
{
    rlx_val v;
    *out = (rlx_val){ .begin = a->begin, .end = a->end };
    switch (a->kind) {
    case RLX_AST_NAME: return read_name(r, a, out);
    case RLX_AST_INT: return read_int(r, a, out);
    case RLX_AST_FLOAT: out->kind = RLX_VAL_FLOAT; out->f = a->number; return true;
    case RLX_AST_STRING: out->kind = RLX_VAL_STR; out->s = a->string; return true;
    case RLX_AST_NONE: out->kind = RLX_VAL_NONE; return true;
    case RLX_AST_TRUE: out->kind = RLX_VAL_BOOL; out->i = 1; return true;
    case RLX_AST_FALSE: out->kind = RLX_VAL_BOOL; out->i = 0; return true;
    case RLX_AST_TUPLE: return read_list(r, a, RLX_VAL_TUPLE, out);
    case RLX_AST_LIST: return read_list(r, a, RLX_VAL_LIST, out);
    case RLX_AST_DICT: return read_list(r, a, RLX_VAL_DICT, out);
    case RLX_AST_SLICE: return read_list(r, a, RLX_VAL_SLICE, out);
    case RLX_AST_ATTR: return read_attr(r, a, out);
    case RLX_AST_INDEX: return read_index(r, a, false, out);
    case RLX_AST_CALL: return read_call(r, a, out);
    case RLX_AST_BINARY: return read_binary(r, a, out);
    case RLX_AST_UNARY:
        return rlx_read_operand(r, a->base, &v) && rlx_read_unary(r, a->op, a, &v, out);
    case RLX_AST_CHOICE: return read_choice(r, a, out);
    case RLX_AST_VALUE: *out = *a->value; return a->value->kind != RLX_VAL_ERROR;
    case RLX_AST_LAMBDA:
        return rlx_read_error(r, RLX_PA16, a,
                              "a lambda stands only in T.index_map and T.comm_reducer%s",
                              r->unit.dialect == RLX_DIALECT_RELAX
                                  ? "; a function inside of another one is def f(x: ...) below "
                                    "@R.function"
                                  : "");
    case RLX_AST_STAR:
        return rlx_read_error(r, RLX_PA16, a, "an unpacked list is not supported here");
    default: return rlx_read_error(r, RLX_PA04, a, "this expression is not supported here");
    }
}
