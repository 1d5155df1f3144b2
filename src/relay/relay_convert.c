/* relay_convert.c: the table of converters, and what they are made of: arguments, calls, what is known of expressions,
 * attributes, constants. */
#include "relay/relay_convert.h"

/* ---- the table --------------------------------------------------------------------------------------- */

static const rlx_relay_convert_row rows[] = {
#define CONVERT(name, converter, argument) { name, rlx_relay_convert_##converter, argument },
#define REFUSE(name, why) { name, NULL, why },
#include "relay/relay_convert.def"
};

const rlx_relay_convert_row *rlx_relay_convert_at(size_t index)
{
    return index < RLX_COUNT(rows) ? &rows[index] : NULL;
}

const rlx_relay_convert_row *rlx_relay_convert_of(const rlx_relay_op *op)
{
    return rlx_relay_convert_at(rlx_relay_op_index(op));
}

const rlx_relay_convert_row *rlx_relay_convert_find(rlx_slice op)
{
    return rlx_relay_convert_of(rlx_relay_op_find(op));
}

const rlx_expr *rlx_relay_convert(rlx_relay_conv *c)
{
    if (!c->row && !(c->row = rlx_relay_convert_of(c->op)))
        return rlx_relay_cannot(c, "nobody says how to translate it to Relax");
    if (!c->row->convert)
        return rlx_relay_cannot(c, "%s", c->row->argument);
    const rlx_expr *e = c->row->convert(c);
    c->failed |= !e;
    return c->failed ? NULL : e;
}

void rlx_relay_convert_explain(rlx_context *ctx, const rlx_relay_op *op, rlx_place place)
{
    const rlx_diag *last = ctx->diags.last;
    if (!ctx->diags.out_of_memory && last && last->code && strncmp(last->code->name, "RY", 2) != 0)
        rlx_error(ctx, RLX_RY27, place, "%s: Relax refuses what this call becomes, for the reason above", op->name);
}

void *rlx_relay_cannot(rlx_relay_conv *c, const char *format, ...)
{
    rlx_buf b;
    va_list args;
    if (c->failed) /* one report for a call */
        return NULL;
    c->failed = true;
    rlx_buf_init(&b, &c->ctx->memory);
    va_start(args, format);
    rlx_buf_vformat(&b, format, args);
    va_end(args);
    if (!b.failed)
        rlx_error(c->ctx, RLX_RY27, c->place, "%s: %s", c->op->name, b.len ? b.data : "");
    rlx_buf_free(&b);
    return NULL;
}

void *rlx_relay_scratch(rlx_relay_conv *c, size_t count, size_t size)
{
    size_t bytes;
    void *p = rlx_mul_size(count + 1, size, &bytes) ? rlx_region_zero(c->region, bytes) : NULL;
    c->failed |= !p;
    return p;
}

/* ---- arguments and calls ------------------------------------------------------------------------------ */

const rlx_expr *rlx_relay_arg(rlx_relay_conv *c, size_t i)
{
    return i < c->num_args ? c->args[i] : rlx_relay_cannot(c, "argument %zu is missing", i + 1);
}

const rlx_expr *rlx_relay_tuple_arg(rlx_relay_conv *c, size_t i, const rlx_expr *const **fields, size_t *count)
{
    const rlx_expr *e = rlx_relay_arg(c, i);
    const rlx_tuple *t = rlx_as_tuple(e);
    *count = 0;
    if (t) {
        *fields = t->fields;
        *count = t->num_fields;
        return e;
    }
    const rlx_tuple_sinfo *info = e ? rlx_as_tuple_sinfo(rlx_builder_infer(c->b, e)) : NULL;
    if (!info)
        return rlx_relay_cannot(c, "argument %zu is no tuple whose fields are known", i + 1);
    const rlx_expr **all = rlx_relay_scratch(c, info->num_fields, sizeof *all);
    for (size_t k = 0; all && k < info->num_fields; k++)
        if (!(all[k] = rlx_relay_get(c, e, (int64_t)k)))
            return NULL;
    *fields = all;
    *count = info->num_fields;
    return all ? e : NULL;
}

const rlx_expr *rlx_relay_emit(rlx_relay_conv *c, const rlx_expr *e)
{
    rlx_emit how = { .place = c->place, .var_place = c->place };
    const rlx_var *v = e && !c->failed ? rlx_builder_emit(c->b, e, &how) : NULL;
    c->failed |= !v;
    return v ? &v->node : NULL;
}

static const rlx_op_row *find_row(rlx_relay_conv *c, const char *op)
{
    uintptr_t at = (uintptr_t)op;
    size_t slot = (at ^ at >> 6) % RLX_COUNT(c->names->of);
    if (!c->names)
        return rlx_op_find(rlx_slice_z(op));
    if (c->names->of[slot].name != op) {
        c->names->of[slot].name = op;
        c->names->of[slot].row = rlx_op_find(rlx_slice_z(op));
    }
    return c->names->of[slot].row;
}

static const rlx_expr *make_call(rlx_relay_conv *c, const char *op, const char *format, va_list *args)
{
    const rlx_op_row *row = find_row(c, op);
    const rlx_expr *e = NULL;
    if (!row)
        return rlx_relay_cannot(c, "Relax has no operator %s", op);
    if (!c->failed)
        e = rlx_call_op_words(c->ctx, row, c->place, format, args);
    c->failed |= !e;
    return e;
}

const rlx_expr *rlx_relay_make(rlx_relay_conv *c, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const rlx_expr *e = make_call(c, op, format, &args);
    va_end(args);
    return e;
}

const rlx_expr *rlx_relay_call(rlx_relay_conv *c, const char *op, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    const rlx_expr *e = make_call(c, op, format, &args);
    va_end(args);
    return rlx_relay_emit(c, e);
}

const rlx_expr *rlx_relay_call1(rlx_relay_conv *c, const char *op, const rlx_expr *x)
{
    return rlx_relay_call(c, op, "x", x);
}

const rlx_expr *rlx_relay_call2(rlx_relay_conv *c, const char *op, const rlx_expr *x, const rlx_expr *y)
{
    return rlx_relay_call(c, op, "x x", x, y);
}

const rlx_expr *rlx_relay_get(rlx_relay_conv *c, const rlx_expr *tuple, int64_t index)
{
    const rlx_tuple *t = rlx_as_tuple(tuple);
    if (t && index >= 0 && (size_t)index < t->num_fields)
        return t->fields[index];
    return tuple ? rlx_relay_emit(c, rlx_tuple_get_item_new(c->ctx, tuple, index, c->place)) : NULL;
}

const rlx_expr *rlx_relay_cast_match(rlx_relay_conv *c, const rlx_expr *e, const rlx_sinfo *info)
{
    rlx_emit how = { .place = c->place, .var_place = c->place };
    const rlx_var *v = e && info && !c->failed ? rlx_builder_emit_match(c->b, e, info, &how, false) : NULL;
    c->failed |= !v;
    return v ? &v->node : NULL;
}

const rlx_expr *rlx_relay_astype(rlx_relay_conv *c, const rlx_expr *x, rlx_dtype dtype)
{
    return x && rlx_relay_dtype_of(c, x) == dtype ? x : rlx_relay_call(c, "astype", "x dtype=d", x, dtype);
}

/* ---- what is known -------------------------------------------------------------------------------------- */

const rlx_tensor_sinfo *rlx_relay_info(rlx_relay_conv *c, const rlx_expr *e)
{
    const rlx_sinfo *s = e && !c->failed ? rlx_builder_infer(c->b, e) : NULL;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (s && !t)
        rlx_relay_cannot(c, "an argument is no tensor");
    c->failed |= !t;
    return t;
}

rlx_dtype rlx_relay_dtype_of(rlx_relay_conv *c, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_relay_info(c, e);
    return t ? t->dtype : RELAX_VOID;
}

int rlx_relay_rank(rlx_relay_conv *c, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_relay_info(c, e);
    if (t && t->ndim < 0)
        rlx_relay_cannot(c, "the rank of an argument is not known");
    return t ? t->ndim : -1;
}

const rlx_prim *rlx_relay_fresh_size(rlx_relay_conv *c)
{
    const rlx_string *name = rlx_string_intern(c->ctx, rlx_slice_z("d"));
    rlx_prim_var *v = name ? rlx_prim_var_new(c->ctx, name, RELAX_INT64, c->place) : NULL;
    c->failed |= !v;
    return v ? &v->node : NULL;
}

const rlx_prim *const *rlx_relay_sizes(rlx_relay_conv *c, const rlx_expr **e, size_t *ndim)
{
    int rank = rlx_relay_rank(c, *e);
    *ndim = 0;
    if (rank < 0)
        return NULL;
    const rlx_tensor_sinfo *t = rlx_relay_info(c, *e);
    const rlx_prim **fresh = rlx_relay_scratch(c, (size_t)rank, sizeof *fresh);
    const rlx_prim *const *known = rlx_shape_dims(t->shape, ndim);
    if (known)
        return known;
    if (rank == 0) {
        *ndim = 0;
        return fresh;
    }
    for (int i = 0; fresh && i < rank; i++)
        if (!(fresh[i] = rlx_relay_fresh_size(c)))
            return NULL;
    const rlx_expr *shape = fresh ? rlx_shape_new(c->ctx, fresh, (size_t)rank) : NULL;
    *e = rlx_relay_cast_match(c, *e, shape ? rlx_tensor_info(c->ctx, shape, t->dtype, rank, NULL) : NULL);
    *ndim = (size_t)rank;
    return *e ? fresh : NULL;
}

const rlx_prim *rlx_relay_size(rlx_relay_conv *c, const rlx_expr **e, size_t axis)
{
    size_t ndim;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, e, &ndim);
    return sizes && axis < ndim ? sizes[axis] : NULL;
}

bool rlx_relay_static_size(rlx_relay_conv *c, const rlx_expr *e, size_t axis, int64_t *out)
{
    const rlx_tensor_sinfo *t = rlx_relay_info(c, e);
    size_t ndim = 0;
    const rlx_prim *const *sizes = t ? rlx_shape_dims(t->shape, &ndim) : NULL;
    return sizes && axis < ndim && rlx_int_literal(sizes[axis], out);
}

const rlx_prim *rlx_relay_simplify(rlx_relay_conv *c, const rlx_prim *p)
{
    return p ? rlx_simplify(c->ctx, rlx_builder_scope(c->b), p) : NULL;
}

const rlx_prim *rlx_relay_product_of(rlx_relay_conv *c, const rlx_prim *const *sizes, size_t count)
{
    const rlx_prim *p = rlx_int64(c->ctx, 1);
    for (size_t i = 0; p && i < count; i++)
        p = sizes[i] ? rlx_fold_mul(c->ctx, p, sizes[i]) : NULL;
    return rlx_relay_simplify(c, p);
}

bool rlx_relay_fit_axis(rlx_relay_conv *c, int64_t *axis, int ndim)
{
    if (ndim >= 0 && *axis >= -ndim && *axis < ndim) {
        *axis += *axis < 0 ? ndim : 0;
        return true;
    }
    if (ndim >= 0)
        rlx_relay_cannot(c, "axis %lld is out of range for rank %d", (long long)*axis, ndim);
    return false;
}

rlx_dtype rlx_relay_result_dtype(const rlx_relay_conv *c)
{
    return c->result && c->result->kind == RLX_RELAY_TYPE_TENSOR ? c->result->tensor.dtype : RELAX_VOID;
}

/* ---- attributes ------------------------------------------------------------------------------------------ */

rlx_relay_value rlx_relay_attr_value(rlx_relay_conv *c, const char *name)
{
    return rlx_relay_op_attr(c->region, c->op, c->call->call.attrs, name, c->place);
}

bool rlx_relay_attr_has(rlx_relay_conv *c, const char *name)
{
    return rlx_relay_attr_value(c, name).kind != RLX_RELAY_VALUE_NONE;
}

int64_t rlx_relay_attr_int(rlx_relay_conv *c, const char *name)
{
    rlx_relay_value v = rlx_relay_attr_value(c, name);
    if (v.kind == RLX_RELAY_VALUE_INT || v.kind == RLX_RELAY_VALUE_BOOL)
        return v.i;
    rlx_relay_cannot(c, "%s must be an integer", name);
    return 0;
}

double rlx_relay_attr_float(rlx_relay_conv *c, const char *name)
{
    double v = 0;
    if (!rlx_relay_number(rlx_relay_attr_value(c, name), &v))
        rlx_relay_cannot(c, "%s must be a number", name);
    return v;
}

bool rlx_relay_attr_bool(rlx_relay_conv *c, const char *name)
{
    rlx_relay_value v = rlx_relay_attr_value(c, name);
    return (v.kind == RLX_RELAY_VALUE_INT || v.kind == RLX_RELAY_VALUE_BOOL) && v.i;
}

rlx_dtype rlx_relay_attr_dtype(rlx_relay_conv *c, const char *name)
{
    rlx_relay_value v = rlx_relay_attr_value(c, name);
    rlx_dtype t = RELAX_VOID;
    if (v.kind == RLX_RELAY_VALUE_STRING && v.s.len && !rlx_dtype_parse(v.s, &t))
        rlx_relay_cannot(c, "%s is no data type", name);
    return t;
}

const char *rlx_relay_attr_text(rlx_relay_conv *c, const char *name)
{
    rlx_relay_value v = rlx_relay_attr_value(c, name);
    size_t n = v.kind == RLX_RELAY_VALUE_STRING ? v.s.len : 0;
    char *s = rlx_relay_scratch(c, n, 1);
    if (s && n)
        memcpy(s, v.s.data, n);
    return s ? s : "";
}

static bool put_ints(const rlx_relay_value *v, int64_t *out, size_t *n)
{
    if (v->kind == RLX_RELAY_VALUE_INT || v->kind == RLX_RELAY_VALUE_BOOL) {
        if (out)
            out[*n] = v->i;
        ++*n;
        return true;
    }
    for (size_t i = 0; v->kind == RLX_RELAY_VALUE_LIST && i < v->list.count; i++)
        if (!put_ints(&v->list.items[i], out, n)) /* nested no deeper than the reader lets it */
            return false;
    return v->kind == RLX_RELAY_VALUE_LIST;
}

int64_t *rlx_relay_attr_ints(rlx_relay_conv *c, const char *name, size_t *count)
{
    rlx_relay_value v = rlx_relay_attr_value(c, name);
    *count = 0;
    if (v.kind == RLX_RELAY_VALUE_NONE)
        return NULL;
    if (!put_ints(&v, NULL, count))
        return *count = 0, rlx_relay_cannot(c, "%s must be integers", name);
    int64_t *out = rlx_relay_scratch(c, *count, sizeof *out);
    size_t n = 0;
    if (out)
        put_ints(&v, out, &n);
    *count = n;
    return out;
}

double *rlx_relay_attr_floats(rlx_relay_conv *c, const char *name, size_t *count)
{
    rlx_relay_value v = rlx_relay_attr_value(c, name);
    *count = v.kind == RLX_RELAY_VALUE_LIST ? v.list.count : 0;
    double *out = *count ? rlx_relay_scratch(c, *count, sizeof *out) : NULL;
    for (size_t i = 0; out && i < *count; i++)
        if (!rlx_relay_number(v.list.items[i], &out[i]))
            return rlx_relay_cannot(c, "%s must be numbers", name);
    return out;
}

bool rlx_relay_attr_axes(rlx_relay_conv *c, const char *name, int ndim, int64_t *out, size_t *count)
{
    bool listed[64] = { false };
    size_t n;
    int64_t *axes = rlx_relay_attr_ints(c, name, &n);
    *count = 0;
    if (c->failed || ndim < 0)
        return false;
    if (ndim > (int)RLX_COUNT(listed))
        return rlx_relay_cannot(c, "a tensor of rank %d", ndim) != NULL;
    for (size_t i = 0; i < n; i++) {
        if (!rlx_relay_fit_axis(c, &axes[i], ndim))
            return false;
        listed[axes[i]] = true;
    }
    for (int i = 0; i < ndim; i++)
        if (listed[i] || !axes)
            out[(*count)++] = i;
    return true;
}

/* ---- constants --------------------------------------------------------------------------------------------- */

static void store(rlx_dtype t, unsigned char *at, double v)
{
    int64_t i = rlx_dtype_is_float(t) ? 0 : rlx_relay_whole(v);
    if (rlx_dtype_is_float(t))
        rlx_dtype_store_float(t, at, v);
    else
        memcpy(at, &i, rlx_dtype_bytes(t));
}

const rlx_expr *rlx_relay_const_scalar(rlx_relay_conv *c, rlx_dtype dtype, double value)
{
    unsigned char data[16] = { 0 };
    if (c->failed || rlx_dtype_bytes(dtype) > 8 || !rlx_dtype_bytes(dtype))
        return NULL;
    store(dtype, data, value);
    return rlx_constant_new(c->ctx, dtype, NULL, 0, data, c->place);
}

const rlx_expr *rlx_relay_const_ints(rlx_relay_conv *c, rlx_dtype dtype, const int64_t *values, size_t count)
{
    int64_t n = (int64_t)count;
    size_t width = rlx_dtype_bytes(dtype);
    unsigned char *data = rlx_relay_scratch(c, count, width ? width : 1);
    for (size_t i = 0; data && i < count; i++)
        memcpy(data + i * width, &values[i], width);
    return data ? rlx_constant_new(c->ctx, dtype, &n, 1, data, c->place) : NULL;
}

const rlx_expr *rlx_relay_with(rlx_relay_conv *c, const char *op, const rlx_expr *x, double v)
{
    return x ? rlx_relay_call2(c, op, x, rlx_relay_const_scalar(c, rlx_relay_dtype_of(c, x), v)) : NULL;
}

/* What a variable was bound to, as far as that says its value: the constant of a copy or of a cast. */
static const rlx_constant *constant_of(rlx_relay_conv *c, const rlx_expr *e)
{
    for (int steps = 0; e && steps < 8 && !rlx_as_constant(e); steps++) {
        const rlx_var *v = rlx_as_var(e);
        e = v ? rlx_builder_lookup(c->b, v) : NULL;
    }
    return rlx_as_constant(e);
}

const double *rlx_relay_known_floats(rlx_relay_conv *c, const rlx_expr *e, size_t *count)
{
    const rlx_constant *k = constant_of(c, e);
    size_t width = k ? rlx_dtype_bytes(k->dtype) : 0;
    if (!k || !width || width > 8 || k->data->size > (1 << 20))
        return NULL;
    unsigned char *data = rlx_relay_scratch(c, k->data->size, 1);
    double *out = rlx_relay_scratch(c, *count = k->data->size / width, sizeof *out);
    if (!data || !out || !rlx_blob_write(k->data, data))
        return NULL;
    for (size_t i = 0; i < *count; i++) {
        uint64_t bits = 0;
        memcpy(&bits, data + i * width, width);
        out[i] = rlx_dtype_is_float(k->dtype) ? rlx_dtype_load_float(k->dtype, data + i * width)
                                              : (double)rlx_dtype_wrap(k->dtype, (int64_t)bits);
    }
    return out;
}

const double *rlx_relay_constant_floats(rlx_relay_conv *c, size_t i, const char *what, size_t *count)
{
    const double *v = rlx_relay_known_floats(c, rlx_relay_arg(c, i), count);
    return v ? v : rlx_relay_cannot(c, "%s (argument %zu) must be a constant; write it as a literal", what, i + 1);
}

bool rlx_relay_constant_number(rlx_relay_conv *c, size_t i, const char *what, double *out)
{
    size_t n;
    const double *v = rlx_relay_constant_floats(c, i, what, &n);
    if (v && n != 1)
        rlx_relay_cannot(c, "%s (argument %zu) must be one number", what, i + 1);
    *out = v && n ? v[0] : 0;
    return v && n == 1;
}

/* ---- shapes -------------------------------------------------------------------------------------------------- */

const rlx_expr *rlx_relay_prim(rlx_relay_conv *c, int64_t v)
{
    return rlx_prim_value_new(c->ctx, rlx_int64(c->ctx, v));
}

const rlx_expr *rlx_relay_number_prim(rlx_relay_conv *c, rlx_dtype dtype, double v)
{
    return rlx_prim_value_new(c->ctx, rlx_dtype_is_float(dtype) ? rlx_float(c->ctx, dtype, v)
                                                                : rlx_int(c->ctx, dtype, rlx_relay_whole(v)));
}

const rlx_expr *rlx_relay_reshape(rlx_relay_conv *c, const rlx_expr *x, const rlx_prim *const *sizes, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!sizes || !sizes[i])
            return NULL;
    return rlx_relay_call(c, "reshape", "x x", x, rlx_shape_new(c->ctx, sizes, count));
}

const rlx_expr *rlx_relay_expand(rlx_relay_conv *c, const rlx_expr *x, const int64_t *axes, size_t count)
{
    return count ? rlx_relay_call(c, "expand_dims", "x axis=I", x, axes, count) : x;
}

const rlx_expr *rlx_relay_transpose(rlx_relay_conv *c, const rlx_expr *x, const int64_t *order, size_t count)
{
    bool same = true;
    for (size_t i = 0; i < count; i++)
        same &= order[i] == (int64_t)i;
    return same ? x : rlx_relay_call(c, "permute_dims", "x axes=I", x, order, count);
}

const rlx_expr *rlx_relay_along(rlx_relay_conv *c, const rlx_expr *vector, int64_t axis, int ndim)
{
    int64_t axes[64];
    size_t n = 0;
    for (int64_t i = axis + 1; i < ndim && n < RLX_COUNT(axes); i++, n++)
        axes[n] = (int64_t)n + 1;
    return vector ? rlx_relay_expand(c, vector, axes, n) : NULL;
}

const rlx_expr *rlx_relay_concat(rlx_relay_conv *c, const rlx_expr *const *parts, size_t count, int64_t axis)
{
    return count == 1 ? parts[0] : rlx_relay_call(c, "concat", "X axis=i", parts, count, axis);
}

const rlx_expr *rlx_relay_reduce(rlx_relay_conv *c, const char *op, const rlx_expr *x, const int64_t *axes,
                                 size_t count, bool keep)
{
    return rlx_relay_call(c, op, "x axis=I keepdims=b", x, axes, count, (int)keep);
}

bool rlx_relay_letters(rlx_relay_conv *c, const char *layout, const char *letters, int64_t *at)
{
    bool ok = strlen(layout) < 64;
    for (size_t i = 0; ok && letters[i]; i++) {
        const char *found = strchr(layout, letters[i]);
        ok = found != NULL;
        at[i] = found ? found - layout : 0;
    }
    for (const char *p = layout; ok && *p; p++)
        ok = *p >= 'A' && *p <= 'Z';
    if (!ok)
        rlx_relay_cannot(c, "the layout %s has inner blocks or lacks one of %s", layout, letters);
    return ok;
}
