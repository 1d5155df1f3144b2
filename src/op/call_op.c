/* call_op.c: making operator calls. Attributes are converted to their declared types, missing
 * ones take the default, and what depends on other arguments is completed by the row's prepare
 * step. */
#include "op/op_int.h"

/* ---- attribute values ----------------------------------------------------------------------- */

static const rlx_attr *float_attr(rlx_context *ctx, const rlx_attr *a)
{
    int64_t i;
    const rlx_prim_value *value = rlx_as_prim_value(a);
    const rlx_float_imm *f = rlx_as_float_imm(value ? value->value : a);
    if (rlx_as_attr_float(a))
        return a;
    if (f)
        return rlx_attr_float_new(ctx, f->value);
    return rlx_attr_to_int(a, &i) ? rlx_attr_float_new(ctx, (double)i) : NULL;
}

static const rlx_attr *int_attr(rlx_context *ctx, const rlx_attr *a)
{
    int64_t i;
    return rlx_is(a, RLX_NODE_ATTR_INT) ? a
           : rlx_attr_to_int(a, &i)     ? rlx_attr_int_new(ctx, i)
                                        : NULL;
}

/* An integer, or an expression of shape variables as it is. */
static const rlx_attr *size_attr(rlx_context *ctx, const rlx_attr *a)
{
    const rlx_prim_value *value = rlx_as_prim_value(a);
    const rlx_node *p = value ? value->value : a;
    int64_t i;
    return rlx_family_of(p) == RLX_FAMILY_PRIM && !rlx_attr_to_int(p, &i) &&
                   rlx_dtype_is_int(rlx_prim_dtype(p))
               ? p
               : int_attr(ctx, a);
}

static const rlx_attr *bool_attr(rlx_context *ctx, const rlx_attr *a)
{
    int64_t i;
    return rlx_is(a, RLX_NODE_ATTR_BOOL)                  ? a
           : rlx_attr_to_int(a, &i) && (i == 0 || i == 1) ? rlx_attr_bool_new(ctx, i != 0)
                                                          : NULL;
}

static const rlx_attr *string_attr(rlx_context *ctx, const rlx_attr *a)
{
    const rlx_string_imm *s = rlx_as_string_imm(a);
    return rlx_as_attr_string(a) ? a
           : s                   ? rlx_attr_string_new(ctx, rlx_string_slice(s->value))
                                 : NULL;
}

static const rlx_attr *dtype_attr(rlx_context *ctx, const rlx_attr *a)
{
    rlx_dtype t;
    const rlx_dtype_imm *imm = rlx_as_dtype_imm(a);
    if (rlx_as_attr_dtype(a))
        return a;
    if (imm)
        return rlx_attr_dtype_new(ctx, imm->value);
    if (rlx_is(a, RLX_NODE_ATTR_NULL))
        return rlx_attr_dtype_new(ctx, RELAX_VOID);
    const rlx_attr *text = string_attr(ctx, a);
    return text && rlx_dtype_parse(rlx_attr_text(text), &t) ? rlx_attr_dtype_new(ctx, t) : NULL;
}

typedef const rlx_attr *(*convert_fn)(rlx_context *ctx, const rlx_attr *a);

/* A list, tuple or shape of items; anything else is a list of one. */
static const rlx_attr *list_attr(rlx_context *ctx, const rlx_attr *a, convert_fn item)
{
    const rlx_attr_list *list = rlx_as_attr_list(a);
    const rlx_tuple *tuple = rlx_as_tuple(a);
    const rlx_shape_expr *shape = rlx_as_shape_expr(a);
    const rlx_node *const *items = list    ? list->items
                                   : tuple ? tuple->fields
                                   : shape ? shape->values
                                           : &a;
    size_t n = list ? list->num_items : tuple ? tuple->num_fields : shape ? shape->num_values : 1;
    const rlx_attr *few[8], **out = n <= RLX_COUNT(few)
                                        ? few
                                        : rlx_mem_alloc(&ctx->memory, n * sizeof *out);
    if (!out)
        return NULL;
    bool changed = !list, good = true;
    for (size_t i = 0; i < n && good; i++) {
        out[i] = item(ctx, items[i]);
        changed |= out[i] != items[i];
        good = out[i] != NULL;
    }
    const rlx_attr *result = !good ? NULL : changed ? rlx_attr_list_new(ctx, out, n) : a;
    if (out != few)
        rlx_mem_free(&ctx->memory, out, n * sizeof *out);
    return result;
}

static bool is_list(const rlx_attr *a)
{
    return rlx_as_attr_list(a) || rlx_as_tuple(a) || rlx_as_shape_expr(a);
}

/* How each attribute type is made of a given value, and how messages call it. */
static const struct { convert_fn one; bool list, none; const char *text; } types[] = {
    [RLX_ATTR_INT] = { int_attr, false, false, "an integer" },
    [RLX_ATTR_BOOL] = { bool_attr, false, false, "True or False" },
    [RLX_ATTR_FLOAT] = { float_attr, false, false, "a number" },
    [RLX_ATTR_STRING] = { string_attr, false, false, "a string" },
    [RLX_ATTR_DTYPE] = { dtype_attr, false, false, "a dtype" },
    [RLX_ATTR_INTS] = { int_attr, true, false, "a list of integers" },
    [RLX_ATTR_FLOATS] = { float_attr, true, false, "a list of numbers" },
    [RLX_ATTR_INT_OR_NONE] = { int_attr, false, true, "an integer or None" },
    [RLX_ATTR_INTS_OR_NONE] = { int_attr, true, true, "a list of integers or None" },
    [RLX_ATTR_FLOAT_OR_NONE] = { float_attr, false, true, "a number or None" },
    [RLX_ATTR_STRING_OR_NONE] = { string_attr, false, true, "a string or None" },
    [RLX_ATTR_SIZES] = { size_attr, true, false, "a list of integers" },
    [RLX_ATTR_SIZES_OR_NONE] = { size_attr, true, true, "a list of integers or None" },
    [RLX_ATTR_BOOL_OR_NONE] = { bool_attr, false, true, "True, False or None" },
    [RLX_ATTR_INT_OR_INTS] = { int_attr, false, false, "an integer or a list of integers" },
};

/* NULL: not of that type, or out of memory (latched). */
static const rlx_attr *convert(rlx_context *ctx, uint8_t type, const rlx_attr *a)
{
    if (type == RLX_ATTR_ANY)
        return a;
    if (types[type].none && rlx_is(a, RLX_NODE_ATTR_NULL))
        return a;
    if (types[type].list || (type == RLX_ATTR_INT_OR_INTS && is_list(a)))
        return list_attr(ctx, a, types[type].one);
    return types[type].one(ctx, a);
}

/* ---- defaults ------------------------------------------------------------------------------- */

static const rlx_attr *number_default(rlx_context *ctx, uint8_t type, rlx_slice text)
{
    bool minus = text.len && text.data[0] == '-', overflow;
    rlx_slice digits = { text.data + minus, text.len - minus };
    uint64_t i;
    double f;
    if (types[type].one == float_attr)
        return rlx_parse_double(digits, &f) ? rlx_attr_float_new(ctx, minus ? -f : f)
               : rlx_parse_u64(digits, &i, &overflow)
                   ? rlx_attr_float_new(ctx, minus ? -(double)i : (double)i)
                   : NULL;
    return rlx_parse_u64(digits, &i, &overflow)
               ? rlx_attr_int_new(ctx, minus ? -(int64_t)i : (int64_t)i)
               : NULL;
}

/* "[1, 2]" */
static const rlx_attr *list_default(rlx_context *ctx, uint8_t type, rlx_slice text)
{
    const rlx_attr *items[8];
    size_t n = 0, at = 1;
    while (at + 1 < text.len && n < RLX_COUNT(items)) {
        size_t end = at;
        while (text.data[end] != ',' && text.data[end] != ']')
            end++;
        items[n++] = number_default(ctx, type, (rlx_slice){ text.data + at, end - at });
        at = end + 1 + (end + 1 < text.len && text.data[end + 1] == ' ');
    }
    return rlx_attr_list_new(ctx, items, n);
}

/* Integers or numbers, ", " or "," between them, no more than list_default reads. */
static bool is_list_default(rlx_slice text, bool floats)
{
    size_t n = 0, at = 1;
    double f;
    bool overflow = false;
    uint64_t i;
    if (text.len < 2 || text.data[0] != '[' || memchr(text.data, ']', text.len) !=
                                                   text.data + text.len - 1)
        return false;
    while (at + 1 < text.len && n++ < 8) {
        size_t end = at;
        while (text.data[end] != ',' && text.data[end] != ']')
            end++;
        rlx_slice item = { text.data + at, end - at };
        bool minus = item.len && item.data[0] == '-';
        item = (rlx_slice){ item.data + minus, item.len - minus };
        if (!(floats && rlx_parse_double(item, &f)) &&
            !(rlx_parse_u64(item, &i, &overflow) && !overflow && i <= INT64_MAX))
            return false;
        at = end + 1 + (end + 1 < text.len && text.data[end + 1] == ' ');
    }
    return at + 1 >= text.len || n < 8;
}

bool rlx_op_default_fits(uint8_t type, const char *deflt)
{
    rlx_slice text = rlx_slice_z(deflt);
    rlx_dtype t;
    double f;
    bool overflow = false, minus = text.len && text.data[0] == '-';
    rlx_slice digits = { text.data + minus, text.len - minus };
    uint64_t i;
    bool whole = rlx_parse_u64(digits, &i, &overflow) && !overflow && i <= INT64_MAX;
    if (rlx_slice_is(text, "None"))
        return type == RLX_ATTR_DTYPE || types[type].none;
    switch (type) {
    case RLX_ATTR_BOOL_OR_NONE:
    case RLX_ATTR_BOOL: return rlx_slice_is(text, "True") || rlx_slice_is(text, "False");
    case RLX_ATTR_DTYPE: return rlx_dtype_parse(text, &t);
    case RLX_ATTR_STRING: case RLX_ATTR_STRING_OR_NONE: return true;
    case RLX_ATTR_SIZES: case RLX_ATTR_SIZES_OR_NONE:
    case RLX_ATTR_INTS: case RLX_ATTR_INTS_OR_NONE: return is_list_default(text, false);
    case RLX_ATTR_FLOATS: return is_list_default(text, true);
    case RLX_ATTR_FLOAT: case RLX_ATTR_FLOAT_OR_NONE: return whole || rlx_parse_double(digits, &f);
    case RLX_ATTR_INT_OR_INTS: return whole || is_list_default(text, false);
    case RLX_ATTR_INT: case RLX_ATTR_INT_OR_NONE: return whole;
    default: return rlx_slice_is(text, "{}") || rlx_slice_is(text, "[]");
    }
}

/* The value that the text of a row's default stands for. NULL: out of memory, or the row is
 * wrong. */
static const rlx_attr *default_value(rlx_context *ctx, const rlx_op_attr *a, const char *deflt)
{
    rlx_slice text = rlx_slice_z(deflt);
    if (rlx_slice_is(text, "None"))
        return a->type == RLX_ATTR_DTYPE ? rlx_attr_dtype_new(ctx, RELAX_VOID)
                                         : rlx_attr_none(ctx);
    if (a->type == RLX_ATTR_BOOL || a->type == RLX_ATTR_BOOL_OR_NONE)
        return rlx_attr_bool_new(ctx, rlx_slice_is(text, "True"));
    if (a->type == RLX_ATTR_DTYPE) {
        rlx_dtype t;
        return rlx_dtype_parse(text, &t) ? rlx_attr_dtype_new(ctx, t) : NULL;
    }
    if (a->type == RLX_ATTR_STRING || a->type == RLX_ATTR_STRING_OR_NONE)
        return rlx_attr_string_new(ctx, text);
    if (a->type == RLX_ATTR_ANY)
        return text.data[0] == '{' ? rlx_attrs_new(ctx, NULL, NULL, 0)
                                   : rlx_attr_list_new(ctx, NULL, 0);
    return text.data[0] == '[' ? list_default(ctx, a->type, text)
                               : number_default(ctx, a->type, text);
}

const rlx_attr *rlx_newer_default(rlx_context *ctx, const rlx_op_attr *a)
{
    return default_value(ctx, a, a->newer_deflt);
}

/* ---- what calls of one operator share: remembered per context ------------------------------- */

/* `last`: the attributes of the call made last, for their keys and because the next call often
 * has the same. */
typedef struct shared { const rlx_expr *op; const rlx_attr *defaults, *last; } shared;

static void forget(rlx_context *ctx, void *state, uint8_t layer)
{
    shared *s = state;
    for (size_t i = 0; i < rlx_op_count(); i++) {
        if (s[i].op && s[i].op->layer >= layer)
            s[i].op = NULL;
        if (s[i].defaults && s[i].defaults->layer >= layer)
            s[i].defaults = NULL;
        if (s[i].last && s[i].last->layer >= layer)
            s[i].last = NULL;
    }
}

static void destroy(rlx_context *ctx, void *state)
{
    rlx_mem_free(&ctx->memory, state, rlx_op_count() * sizeof(shared));
}

/* NULL: a row of the host, or no memory for the table; everything works without. */
static shared *shared_of(rlx_context *ctx, const rlx_op_row *row)
{
    rlx_room_state *room = &ctx->rooms[RLX_ROOM_OP];
    size_t index = rlx_op_index(row);
    if (index == SIZE_MAX)
        return NULL;
    if (RLX_UNLIKELY(!room->state)) {
        void *table = rlx_mem_alloc_zero(&ctx->memory, rlx_op_count() * sizeof(shared));
        if (!table)
            return NULL;
        *room = (rlx_room_state){ table, forget, destroy };
    }
    return (shared *)room->state + index;
}

static const rlx_expr *op_of(rlx_context *ctx, const rlx_op_row *row)
{
    shared *s = shared_of(ctx, row);
    if (!s)
        return rlx_op_node(ctx, row);
    if (!s->op)
        s->op = rlx_op_node(ctx, row);
    return s->op;
}

/* ---- one call ------------------------------------------------------------------------------- */

static const rlx_op_attr *find_attr(const rlx_op_row *row, rlx_slice name)
{
    for (size_t i = 0; i < row->num_attrs; i++)
        if (rlx_slice_is(name, row->attrs[i].name))
            return &row->attrs[i];
    return NULL;
}

/* Attributes of the call made last; one key per attribute of the row, in its order. NULL: none. */
static const rlx_attrs *last_attrs(rlx_context *ctx, const rlx_op_row *row)
{
    const shared *s = shared_of(ctx, row);
    return s ? rlx_as_attrs(s->last) : NULL;
}

/* Finds an attribute by the key of an earlier call: strings are interned. */
static const rlx_op_attr *find_key(const rlx_op_row *row, const rlx_attrs *last,
                                   const rlx_attr *key)
{
    for (size_t i = 0; i < last->num_keys; i++)
        if (last->keys[i] == key)
            return &row->attrs[i];
    return NULL;
}

/* The attributes that there are: "it has axis, keepdims". */
static void note_attrs(rlx_context *ctx, const rlx_op_row *row)
{
    rlx_buf text;
    rlx_buf_init(&text, &ctx->memory);
    for (uint8_t i = 0; i < row->num_attrs; i++)
        rlx_buf_format(&text, "%s%s", i ? ", " : "it has ", row->attrs[i].name);
    if (!text.failed)
        rlx_note(ctx, RLX_NO_PLACE, "%s", text.len ? text.data : "it has none");
    rlx_buf_free(&text);
}

static bool unknown_attr(rlx_context *ctx, const rlx_op_row *row, rlx_slice name, rlx_place place)
{
    const char *near = NULL;
    size_t best = name.len / 3 + 2;
    for (size_t i = 0; i < row->num_attrs; i++) {
        size_t d = rlx_edit_distance(name, rlx_slice_z(row->attrs[i].name), best);
        if (d < best) {
            best = d;
            near = row->attrs[i].name;
        }
    }
    rlx_error(ctx, RLX_OP07, place, "%s has no attribute %.*s%s%s", row->short_name, (int)name.len,
              name.data, near ? "; did you mean " : "", near ? near : "");
    if (!near)
        note_attrs(ctx, row);
    return false;
}

static void wrong_kind(rlx_context *ctx, const rlx_op_row *row, const rlx_op_attr *a,
                       const rlx_attr *value, rlx_place place)
{
    rlx_error(ctx, RLX_OP12, place, "%s: %s is %s, expected %s%s", row->short_name, a->name,
              rlx_show(ctx, value), types[a->type].text,
              a->type == RLX_ATTR_DTYPE ? " such as \"float32\"" : "");
    if (rlx_family_of(value) != RLX_FAMILY_EXPR)
        return;
    if (row->num_args && row->args[0].kind == RLX_ARG_TUPLE)
        rlx_note(ctx, RLX_NO_PLACE, "its tensors are one tuple: R.%s((x, y), ...)", row->short_name);
    else
        rlx_note(ctx, RLX_NO_PLACE, "R.%s takes %d tensor%s; its attributes are literals", row->short_name,
                 row->num_args, row->num_args == 1 ? "" : "s");
}

/* Given attributes, converted, into values[0 .. num_attrs). */
static bool take_given(rlx_context *ctx, const rlx_op_row *row, const rlx_attrs *given,
                       const rlx_attr **values, rlx_place place)
{
    const rlx_attrs *last = given ? last_attrs(ctx, row) : NULL;
    for (size_t i = 0; given && i < given->num_keys; i++) {
        rlx_slice name = rlx_attr_text(given->keys[i]);
        const rlx_op_attr *a = last ? find_key(row, last, given->keys[i]) : NULL;
        if (!a && !(a = find_attr(row, name)))
            return unknown_attr(ctx, row, name, place);
        size_t errors = rlx_error_count(ctx);
        const rlx_attr *v = convert(ctx, a->type, given->values[i]);
        if (!v) {
            if (rlx_error_count(ctx) == errors)
                wrong_kind(ctx, row, a, given->values[i], place);
            return false;
        }
        values[a - row->attrs] = v;
    }
    return true;
}

static bool take_defaults(rlx_context *ctx, const rlx_op_row *row, const rlx_attr **values,
                          rlx_place place)
{
    for (size_t i = 0; i < row->num_attrs; i++) {
        if (values[i])
            continue;
        if (!row->attrs[i].deflt)
            return rlx_error(ctx, RLX_OP13, place, "%s needs the attribute %s, %s%s",
                             row->short_name, row->attrs[i].name, types[row->attrs[i].type].text,
                             row->attrs[i].type == RLX_ATTR_DTYPE ? " such as \"float32\"" : ""),
                   false;
        if (!(values[i] = default_value(ctx, &row->attrs[i], row->attrs[i].deflt)))
            return false;
    }
    return true;
}

static const rlx_attr *make_attrs(rlx_context *ctx, const rlx_op_row *row,
                                  const rlx_attr *const *values)
{
    const rlx_attr *keys[RLX_OP_MAX_ATTRS];
    const rlx_attrs *last = last_attrs(ctx, row);
    if (last && memcmp(last->values, values, row->num_attrs * sizeof *values) == 0)
        return &last->node;
    for (size_t i = 0; i < row->num_attrs; i++)
        if (!(keys[i] = last ? last->keys[i]
                             : rlx_attr_string_new(ctx, rlx_slice_z(row->attrs[i].name))))
            return NULL;
    shared *s = shared_of(ctx, row);
    const rlx_attrs *attrs = rlx_as_attrs(rlx_attrs_in_order(ctx, keys, values, row->num_attrs));
    if (s && attrs && memcmp(attrs->keys, keys, row->num_attrs * sizeof *keys) == 0)
        s->last = &attrs->node;
    return attrs ? &attrs->node : NULL;
}

/* A tuple literal of scalars where a shape is expected becomes the shape. */
static const rlx_expr *as_shape(rlx_context *ctx, const rlx_expr *e)
{
    const rlx_tuple *t = rlx_as_tuple(e);
    if (!t)
        return e;
    for (size_t i = 0; i < t->num_fields; i++)
        if (!rlx_as_prim_value(t->fields[i]))
            return e;
    const rlx_prim **dims = rlx_mem_alloc(&ctx->memory, (t->num_fields + 1) * sizeof *dims);
    if (!dims)
        return NULL;
    for (size_t i = 0; i < t->num_fields; i++)
        dims[i] = rlx_fold_cast(ctx, RELAX_INT64, rlx_as_prim_value(t->fields[i])->value);
    const rlx_expr *shape = rlx_shape_new(ctx, dims, t->num_fields);
    rlx_mem_free(&ctx->memory, dims, (t->num_fields + 1) * sizeof *dims);
    return shape;
}

static bool wrong_count(rlx_context *ctx, const rlx_op_row *row, size_t found, rlx_place place)
{
    if (row->min_args == row->num_args)
        rlx_error(ctx, RLX_OP08, place, "%s takes %d argument%s, found %zu", row->short_name,
                  row->num_args, row->num_args == 1 ? "" : "s", found);
    else
        rlx_error(ctx, RLX_OP08, place, "%s takes %d to %d arguments, found %zu", row->short_name,
                  row->min_args, row->num_args, found);
    return false;
}

/* Arguments of a fixed number into the draft: shapes converted, missing ones left NULL. */
static bool take_args(rlx_op_draft *d, const rlx_expr *const *args, size_t num_args)
{
    const rlx_op_row *row = d->row;
    d->num_args = num_args;
    for (size_t i = 0; i < RLX_OP_MAX_ARGS; i++) {
        d->args[i] = i < num_args ? args[i] : NULL;
        if (d->args[i] && row->args[i].kind == RLX_ARG_SHAPE &&
            !(d->args[i] = as_shape(d->ctx, d->args[i])))
            return false;
    }
    if (row->prepare && !row->prepare(d))
        return false;
    /* Optional arguments at the end are simply absent; one in the middle must have been filled
     * in. */
    while (d->num_args > row->min_args && !d->args[d->num_args - 1])
        d->num_args--;
    for (size_t i = 0; i < d->num_args; i++)
        if (!d->args[i])
            return rlx_error(d->ctx, RLX_OP08, d->place, "%s needs the argument %s",
                             row->short_name, row->args[i].name),
                   false;
    return true;
}

/* All attributes: given ones converted, the others by default. *out NULL: the row has none. */
static bool all_attrs(rlx_context *ctx, const rlx_op_row *row, const rlx_attr *given,
                      rlx_place place, const rlx_attr **out)
{
    const rlx_attr *values[RLX_OP_MAX_ATTRS] = { NULL };
    shared *s = given ? NULL : shared_of(ctx, row);
    *out = s ? s->defaults : NULL;
    if (*out || (!row->num_attrs && !given))
        return true;
    if (!take_given(ctx, row, rlx_as_attrs(given), values, place) ||
        !take_defaults(ctx, row, values, place))
        return false;
    if (row->num_attrs && !(*out = make_attrs(ctx, row, values)))
        return false;
    if (s)
        s->defaults = *out;
    return true;
}

static const rlx_expr *call_fixed(rlx_op_draft *d, const rlx_expr *op, const rlx_expr *const *args,
                                  size_t num_args, const rlx_sinfo *const *sinfo_args,
                                  size_t num_sinfo_args)
{
    const rlx_op_row *row = d->row;
    const rlx_attr *values[RLX_OP_MAX_ATTRS] = { NULL }, *attrs = NULL;
    d->values = values;
    if (!row->prepare) {
        if (!all_attrs(d->ctx, row, d->given, d->place, &attrs) || !take_args(d, args, num_args))
            return NULL;
        return rlx_call_new(d->ctx, op, d->args, d->num_args, sinfo_args, num_sinfo_args, attrs,
                            d->place);
    }
    if (!take_given(d->ctx, row, rlx_as_attrs(d->given), values, d->place) ||
        !take_defaults(d->ctx, row, values, d->place) || !take_args(d, args, num_args))
        return NULL;
    if (row->num_attrs && !(attrs = make_attrs(d->ctx, row, values)))
        return NULL;
    return rlx_call_new(d->ctx, op, d->args, d->num_args, sinfo_args, num_sinfo_args, attrs,
                        d->place);
}

static const rlx_expr *call_varargs(rlx_context *ctx, const rlx_op_row *row, const rlx_expr *op,
                                    const rlx_expr *const *args, size_t num_args,
                                    const rlx_sinfo *const *sinfo_args, size_t num_sinfo_args,
                                    const rlx_attr *given, rlx_place place)
{
    const rlx_attr *attrs;
    if (!all_attrs(ctx, row, given, place, &attrs))
        return NULL;
    return rlx_call_new(ctx, op, args, num_args, sinfo_args, num_sinfo_args, attrs, place);
}

const rlx_expr *rlx_call_op_sinfo(rlx_context *ctx, const rlx_op_row *row,
                                  const rlx_expr *const *args, size_t num_args,
                                  const rlx_sinfo *const *sinfo_args, size_t num_sinfo_args,
                                  const rlx_attr *given, rlx_place place)
{
    const rlx_expr *op = op_of(ctx, row);
    if (!op)
        return NULL;
    bool varargs = row->flags & RLX_OP_VARARGS;
    if (RLX_UNLIKELY(num_args < row->min_args || (num_args > row->num_args && !varargs)) &&
        !row->prepare)
        return wrong_count(ctx, row, num_args, place), NULL;
    if (varargs)
        return call_varargs(ctx, row, op, args, num_args, sinfo_args, num_sinfo_args, given,
                            place);
    if (num_args > RLX_OP_MAX_ARGS || num_args > row->num_args)
        return wrong_count(ctx, row, num_args, place), NULL;
    rlx_op_draft d = { .ctx = ctx, .row = row, .given = given, .place = place };
    return call_fixed(&d, op, args, num_args, sinfo_args, num_sinfo_args);
}

const rlx_expr *rlx_call_op(rlx_context *ctx, const rlx_op_row *row, const rlx_expr *const *args,
                            size_t num_args, const rlx_attr *given, rlx_place place)
{
    return rlx_call_op_sinfo(ctx, row, args, num_args, NULL, 0, given, place);
}

const rlx_expr *rlx_call_op_z(rlx_context *ctx, const char *name, const rlx_expr *const *args,
                              size_t num_args, const rlx_attr *given, rlx_place place)
{
    const rlx_op_row *row = rlx_op_find_in(ctx, rlx_slice_z(name));
    if (row)
        return rlx_call_op(ctx, row, args, num_args, given, place);
    const char *near = rlx_op_suggest(ctx, rlx_slice_z(name));
    return rlx_error(ctx, RLX_OP06, place, "no operator is called %s%s%s", name ? name : "",
                     near ? "; did you mean " : "", near ? near : "");
}

/* ---- calls from words ------------------------------------------------------------------------ */

enum { MOST_WORD_ATTRS = 16 };

typedef struct words {
    const rlx_expr *args[RLX_OP_MAX_ARGS + 1]; size_t num_args;
    const rlx_attr *keys[MOST_WORD_ATTRS], *values[MOST_WORD_ATTRS]; size_t num_attrs;
    bool missing;
} words;

static const rlx_attr *word_attr(rlx_context *ctx, char kind, va_list *args)
{
    const void *data;
    switch (kind) {
    case 'i': return rlx_attr_int_new(ctx, va_arg(*args, int64_t));
    case 'b': return rlx_attr_bool_new(ctx, va_arg(*args, int) != 0);
    case 'f': return rlx_attr_float_new(ctx, va_arg(*args, double));
    case 's': return rlx_attr_string_new(ctx, rlx_slice_z(va_arg(*args, const char *)));
    case 'd': return rlx_attr_dtype_new(ctx, va_arg(*args, rlx_dtype));
    case 'I': data = va_arg(*args, const int64_t *); break;
    case 'F': data = va_arg(*args, const double *); break;
    default: return NULL;
    }
    size_t n = va_arg(*args, size_t);
    const rlx_attr **items = data || !n ? rlx_new(ctx, (n + 1) * sizeof *items) : NULL;
    for (size_t i = 0; items && i < n; i++)
        items[i] = kind == 'I' ? rlx_attr_int_new(ctx, ((const int64_t *)data)[i])
                               : rlx_attr_float_new(ctx, ((const double *)data)[i]);
    return items ? rlx_attr_list_new(ctx, items, n) : NULL;
}

static const rlx_expr *word_arg(rlx_context *ctx, char kind, rlx_place place, va_list *args)
{
    if (kind == 'x')
        return va_arg(*args, const rlx_expr *);
    const rlx_expr *const *items = va_arg(*args, const rlx_expr *const *);
    size_t n = va_arg(*args, size_t);
    for (size_t i = 0; items && i < n; i++)
        if (!items[i])
            return NULL;
    return items ? rlx_tuple_new(ctx, items, n, place) : NULL;
}

const rlx_expr *rlx_call_op_words(rlx_context *ctx, const rlx_op_row *row, rlx_place place,
                                  const char *format, va_list *args)
{
    words w = { .num_args = 0 };
    for (const char *p = format; *p;) {
        size_t n = strcspn(p, " ");
        const char *equals = memchr(p, '=', n);
        if (equals && w.num_attrs < MOST_WORD_ATTRS) {
            w.keys[w.num_attrs] = rlx_attr_string_new(ctx, (rlx_slice){ p, (size_t)(equals - p) });
            w.values[w.num_attrs] = word_attr(ctx, equals[1], args);
            w.missing |= !w.keys[w.num_attrs] || !w.values[w.num_attrs];
            w.num_attrs++;
        } else if (!equals && w.num_args < RLX_COUNT(w.args)) {
            w.missing |= !(w.args[w.num_args++] = word_arg(ctx, *p, place, args));
        }
        p += n + (p[n] == ' ');
    }
    if (w.missing)
        return NULL;
    const rlx_attr *given =
        w.num_attrs ? rlx_attrs_in_order(ctx, w.keys, w.values, w.num_attrs) : NULL;
    return w.num_attrs && !given
               ? NULL : rlx_call_op(ctx, row, w.args, w.num_args, given, place);
}

/* ---- looking at calls ----------------------------------------------------------------------- */

bool rlx_call_is_pure(const rlx_env *env, rlx_context *ctx, const rlx_call *call)
{
    const rlx_op *op = rlx_as_op(call->op);
    if (op)
        return op->row && (op->row->flags & RLX_OP_PURE);
    const rlx_func_sinfo *f = rlx_as_func_sinfo(rlx_leaf_sinfo(ctx, env, call->op));
    return f && f->is_pure;
}

const rlx_attr *rlx_call_attr(const rlx_call *call, const char *name)
{
    return rlx_attrs_get(call->attrs, name);
}

int64_t rlx_attr_as_int(const rlx_attr *a, int64_t otherwise)
{
    int64_t v;
    return rlx_attr_to_int(a, &v) ? v : otherwise;
}

bool rlx_attr_as_bool(const rlx_attr *a, bool otherwise)
{
    const rlx_attr_int *i = rlx_as_attr_int(a);
    return i ? i->value != 0 : otherwise;
}

rlx_dtype rlx_attr_as_dtype(const rlx_attr *a)
{
    const rlx_attr_dtype *d = rlx_as_attr_dtype(a);
    return d ? d->value : RELAX_VOID;
}
