/* conversion.c: what converters are made of: operands, calls, results, and what is known of expressions. */
#include "onnx/onnx_int.h"

enum {
    FOLD_INPUT = 256 << 10, FOLD_OUTPUT = 64 << 10, FOLD_FROM_NOTHING = 4 << 10,
    FOLD_STEPS = 1 << 20
};

/* ---- operands and results -------------------------------------------------------------------- */

bool rlx_onnx_has(const rlx_onnx_conv *c, size_t i)
{
    const rlx_onnx_value *v = i < c->num_inputs ? c->inputs[i] : NULL;
    return v && !(v->is_optional && !v->num_items);
}

static const rlx_expr *expr_of_ints(rlx_onnx_conv *c, const rlx_onnx_value *v)
{
    int64_t *literals = rlx_onnx_array(c, v->num_ints, sizeof *literals);
    bool known = literals != NULL;
    for (size_t i = 0; known && i < v->num_ints; i++)
        known = rlx_int_literal(v->ints[i], &literals[i]);
    if (known && v->is_scalar)
        return rlx_onnx_cast(
            c, rlx_constant_new(c->ctx, RELAX_INT64, NULL, 0, literals, c->place), v->dtype);
    if (known)
        return rlx_onnx_const_ints(c, v->dtype, literals, v->num_ints);
    const rlx_expr *shape = rlx_shape_new(c->ctx, v->ints, v->num_ints);
    const rlx_expr *t = rlx_onnx_call1(c, "shape_to_tensor", shape);
    if (v->is_scalar)
        t = rlx_onnx_reshape_ints(c, t, NULL, 0);
    return rlx_onnx_cast(c, t, v->dtype);
}

const rlx_expr *rlx_onnx_value_expr(rlx_onnx_conv *c, rlx_onnx_value *v)
{
    if (!v || v->failed) {
        c->failed = true;
        return NULL;
    }
    if (v->expr)
        return v->expr;
    if (!rlx_onnx_touch(c->m, v))
        return c->failed = true, NULL;
    if (v->tensor)
        v->expr = rlx_onnx_tensor_constant(c->m, v->tensor, c->place);
    else if (v->has_ints)
        v->expr = expr_of_ints(c, v);
    else if (v->is_optional && v->num_items == 1)
        return rlx_onnx_value_expr(c, v->items[0]);
    else if (v->is_sequence || v->is_optional)
        return rlx_onnx_fail(c, RLX_ON08, "a %s stands where a tensor is needed",
                             v->is_sequence ? "sequence" : "optional value");
    else /* the result of a node around this one */
        return rlx_onnx_fail(c, RLX_ON10, "nothing before it defines %.80s", v->name ? v->name->data : "");
    v->failed |= !v->expr;
    c->failed |= !v->expr;
    return v->expr;
}

const rlx_expr *rlx_onnx_input(rlx_onnx_conv *c, size_t i)
{
    if (!rlx_onnx_has(c, i))
        return rlx_onnx_fail(c, RLX_ON10, "operand %zu is missing", i);
    return rlx_onnx_value_expr(c, c->inputs[i]);
}

bool rlx_onnx_wants(const rlx_onnx_conv *c, size_t i)
{
    return i < c->num_outputs && c->outputs[i];
}

/* The variable was made a moment ago and nobody has seen more of it than that it is one. */
static void name_variable(const rlx_expr *e, const rlx_string *name)
{
    rlx_var *v = (rlx_var *)(uintptr_t)rlx_as_var(e);
    if (!v || !name)
        return;
    v->name = name;
    v->number = -1;
}

bool rlx_onnx_output(rlx_onnx_conv *c, size_t i, const rlx_expr *e)
{
    if (!e || c->failed)
        return c->failed = true, false;
    if (!rlx_onnx_wants(c, i))
        return true;
    if (e == c->newest)
        name_variable(e, rlx_string_identifier(c->ctx, rlx_string_slice(c->outputs[i]->name), "v"));
    c->outputs[i]->expr = e;
    return true;
}

bool rlx_onnx_output_value(rlx_onnx_conv *c, size_t i, const rlx_onnx_value *v)
{
    if (!rlx_onnx_wants(c, i))
        return true;
    rlx_onnx_value *to = c->outputs[i];
    const rlx_string *name = to->name;
    uint64_t depends = to->depends;
    unsigned level = to->level;
    *to = *v;
    to->level = level;
    to->name = name;
    to->depends = v->depends | depends;
    return true;
}

bool rlx_onnx_output_ints(rlx_onnx_conv *c, size_t i, const rlx_prim *const *ints, size_t count,
                          bool is_scalar, rlx_dtype dtype)
{
    bool ok = !c->failed && (ints || !count);
    for (size_t k = 0; ok && k < count; k++)
        ok = ints[k] != NULL;
    if (!ok)
        return c->failed = true, false;
    rlx_onnx_value v = { .ints = ints,
                         .num_ints = count,
                         .has_ints = true,
                         .is_scalar = is_scalar,
                         .dtype = dtype };
    return rlx_onnx_output_value(c, i, &v);
}

/* ---- computing at once ------------------------------------------------------------------------ */

static bool add_constant_bytes(const rlx_expr *e, size_t *bytes)
{
    const rlx_constant *k = rlx_as_constant(e);
    const rlx_tuple *t = rlx_as_tuple(e);
    if (k)
        return *bytes += k->data->size + 1, k->data->size <= FOLD_INPUT;
    for (size_t i = 0; t && i < t->num_fields; i++)
        if (!add_constant_bytes(t->fields[i], bytes))
            return false;
    return t || rlx_node_is_closed(e);
}

static const rlx_tir_arg *call_tir_arguments(rlx_onnx_conv *c, const rlx_call *call,
                                             rlx_tir_arg output, size_t *count)
{
    const rlx_tuple *inputs = call->num_args > 1 ? rlx_as_tuple(call->args[1]) : NULL;
    const rlx_shape_expr *sizes = call->num_args > 2 ? rlx_as_shape_expr(call->args[2]) : NULL;
    size_t n = inputs ? inputs->num_fields : 0, m = sizes ? sizes->num_values : 0;
    rlx_tir_arg *a = rlx_onnx_array(c, n + m + 1, sizeof *a);
    for (size_t i = 0; a && i < n; i++) {
        const rlx_constant *k = rlx_as_constant(inputs->fields[i]);
        const rlx_prim_value *v = rlx_as_prim_value(inputs->fields[i]);
        const rlx_int_imm *x = v ? rlx_as_int_imm(v->value) : NULL;
        const rlx_float_imm *f = v ? rlx_as_float_imm(v->value) : NULL;
        if (!k && !x && !f)
            return NULL;
        a[i] = (rlx_tir_arg){ .dtype = k ? k->dtype : rlx_prim_dtype(v->value) };
        if (k) {
            a[i].data = rlx_region_alloc(&c->m->region, k->data->size + 1);
            if (!a[i].data || !rlx_blob_write(k->data, a[i].data))
                return NULL;
            a[i].shape = k->shape;
            a[i].ndim = (int32_t)k->num_shape;
        }
        a[i].i = x ? x->value : 0;
        a[i].f = f ? f->value : 0;
    }
    if (a)
        a[n] = output;
    for (size_t i = 0; a && i < m; i++) {
        a[n + 1 + i] = (rlx_tir_arg){ .dtype = RELAX_INT64 };
        if (!rlx_int_literal(sizes->values[i], &a[n + 1 + i].i))
            return NULL;
    }
    *count = n + m + 1;
    return a;
}

static bool is_small(const rlx_tensor_sinfo *t, size_t limit, int64_t *shape, size_t *bytes)
{
    size_t ndim;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &ndim) : NULL;
    *bytes = t ? rlx_dtype_bytes(t->dtype) : 0;
    if (!dims || ndim > RLX_TIR_MAX_DIMS || !rlx_dtype_is_computable(t->dtype))
        return false;
    for (size_t i = 0; i < ndim; i++)
        if (!rlx_int_literal(dims[i], &shape[i]) || shape[i] < 0 ||
            !rlx_mul_size(*bytes, (size_t)shape[i], bytes))
            return false;
    return *bytes <= limit;
}

/* Numbers that stand in a shape, as a tensor. NULL: they are no numbers. */
static const rlx_expr *numbers_of_shape(rlx_onnx_conv *c, const rlx_expr *shape)
{
    const rlx_shape_expr *s = rlx_as_shape_expr(shape);
    int64_t v[RLX_TIR_MAX_DIMS];
    for (size_t i = 0; s && i < s->num_values; i++)
        if (i == RLX_TIR_MAX_DIMS || !rlx_int_literal(s->values[i], &v[i]))
            return NULL;
    return s ? rlx_onnx_const_ints(c, RELAX_INT64, v, s->num_values) : NULL;
}

/* The value of a call whose operands are small constants; NULL: it is left to the program. */
static const rlx_expr *compute(rlx_onnx_conv *c, const rlx_call *call, const rlx_op_row *row)
{
    size_t in = 0, bytes, count;
    int64_t shape[RLX_TIR_MAX_DIMS];
    const char *why = NULL;
    if (call->num_args == 1 && rlx_as_shape_expr(call->args[0]) &&
        rlx_slice_is(rlx_slice_z(row->name), "relax.shape_to_tensor"))
        return numbers_of_shape(c, call->args[0]);
    for (size_t i = 0; i < call->num_args; i++)
        if (!add_constant_bytes(call->args[i], &in))
            return NULL;
    if (!row->lower || !(row->flags & RLX_OP_PURE))
        return NULL;
    const rlx_scope *scope = rlx_builder_scope(c->m->b);
    const rlx_sinfo *result = rlx_op_infer(c->ctx, scope, c->m->env, call, true);
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(result);
    if (!is_small(t, in ? FOLD_OUTPUT : FOLD_FROM_NOTHING, shape, &bytes))
        return NULL;
    const rlx_call *lowered = rlx_as_call(rlx_op_lower(c->m->folded, scope, call, result, &why));
    const rlx_prim_func *f =
        lowered && rlx_as_global_var(lowered->args[0])
            ? rlx_as_prim_func(rlx_module_builder_function(
                  c->m->folded, rlx_as_global_var(lowered->args[0])))
            : NULL;
    rlx_blob *data = f ? rlx_blob_create(&c->ctx->memory, NULL, bytes) : NULL;
    if (!data)
        return NULL;
    memset(data->data, 0, bytes);
    rlx_tir_arg out = { .dtype = t->dtype, .data = data->data, .shape = shape, .ndim = t->ndim };
    const rlx_tir_arg *args = call_tir_arguments(c, lowered, out, &count);
    rlx_tir_limits limits = { .max_steps = FOLD_STEPS, .max_bytes = 1 << 20 };
    rlx_fault fault = { 0 };
    bool ok = args && rlx_tir_eval(c->ctx, f, args, count, &limits, &fault);
    const rlx_expr *e = ok ? rlx_constant_blob(c->ctx, t->dtype, shape, (size_t)t->ndim, data,
                                               c->place)
                           : NULL;
    rlx_blob_release(data);
    return e;
}

const rlx_expr *rlx_onnx_emit(rlx_onnx_conv *c, const rlx_expr *e)
{
    rlx_emit how = { .place = c->place, .var_place = c->place };
    const rlx_var *v = e && !c->failed ? rlx_builder_emit(c->m->b, e, &how) : NULL;
    c->failed |= !v;
    return c->newest = v ? &v->node : NULL;
}

const rlx_expr *rlx_onnx_call(rlx_onnx_conv *c, const char *op, const char *format, ...)
{
    const rlx_op_row *row = rlx_op_find(rlx_slice_z(op));
    va_list args;
    if (c->failed)
        return NULL;
    if (!row)
        return rlx_onnx_fail(c, RLX_ON03, "there is no operator %s", op);
    va_start(args, format);
    const rlx_expr *call = rlx_call_op_words(c->ctx, row, c->place, format, &args);
    va_end(args);
    const rlx_expr *value = call ? compute(c, rlx_as_call(call), row) : NULL;
    return value ? value : rlx_onnx_emit(c, call);
}

const rlx_expr *rlx_onnx_call1(rlx_onnx_conv *c, const char *op, const rlx_expr *x)
{
    return rlx_onnx_call(c, op, "x", x);
}

const rlx_expr *rlx_onnx_call2(rlx_onnx_conv *c, const char *op, const rlx_expr *x,
                               const rlx_expr *y)
{
    return rlx_onnx_call(c, op, "x x", x, y);
}

const rlx_expr *rlx_onnx_call_as(rlx_onnx_conv *c, const char *op, rlx_dtype dtype, const rlx_expr *x,
                                 const rlx_expr *y)
{
    const rlx_expr *right = rlx_onnx_cast(c, y, dtype);
    return rlx_onnx_call2(c, op, rlx_onnx_cast(c, x, dtype), right);
}

const rlx_expr *rlx_onnx_call_inputs(rlx_onnx_conv *c, const char *op, size_t i, size_t k)
{
    const rlx_expr *right = rlx_onnx_input(c, k);
    return rlx_onnx_call2(c, op, rlx_onnx_input(c, i), right);
}

const rlx_expr *rlx_onnx_with(rlx_onnx_conv *c, const char *op, const rlx_expr *x, double number)
{
    return x ? rlx_onnx_call2(c, op, x, rlx_onnx_scalar(c, rlx_onnx_dtype_of(c, x), number)) : NULL;
}

const rlx_expr *rlx_onnx_item(rlx_onnx_conv *c, const rlx_expr *tuple, int64_t index)
{
    return tuple ? rlx_onnx_emit(c, rlx_tuple_get_item_new(c->ctx, tuple, index, c->place)) : NULL;
}

const rlx_expr *rlx_onnx_match(rlx_onnx_conv *c, const rlx_expr *e, const rlx_sinfo *info)
{
    rlx_emit how = { .place = c->place, .var_place = c->place };
    const rlx_var *v =
        e && info && !c->failed ? rlx_builder_emit_match(c->m->b, e, info, &how, false) : NULL;
    c->failed |= !v;
    return v ? &v->node : NULL;
}

const rlx_prim *rlx_onnx_fresh(rlx_onnx_conv *c, const char *hint)
{
    char name[48];
    size_t n = strlen(hint);
    rlx_buf b;
    rlx_buf_init(&b, &c->ctx->memory);
    rlx_buf_put(&b, hint, n);
    rlx_buf_i64(&b, c->m->num_fresh++);
    const rlx_string *s = b.failed || b.len >= sizeof name
                              ? NULL
                              : rlx_string_intern(c->ctx, (rlx_slice){ b.data, b.len });
    rlx_buf_free(&b);
    rlx_prim_var *v = s ? rlx_prim_var_new(c->ctx, s, RELAX_INT64, c->place) : NULL;
    return v ? &v->node : NULL;
}

/* ---- what is known ---------------------------------------------------------------------------- */

const rlx_tensor_sinfo *rlx_onnx_info(rlx_onnx_conv *c, const rlx_expr *e)
{
    const rlx_sinfo *s = e ? rlx_leaf_sinfo(c->ctx, c->m->env, e) : NULL;
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(s);
    if (s && !t)
        rlx_onnx_fail(c, RLX_ON08, "an operand is no tensor");
    c->failed |= !t;
    return t;
}

rlx_dtype rlx_onnx_dtype_of(rlx_onnx_conv *c, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, e);
    return t ? t->dtype : RELAX_VOID;
}

int rlx_onnx_rank(rlx_onnx_conv *c, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, e);
    if (!t)
        return -1;
    if (t->ndim < 0)
        rlx_onnx_fail(c, RLX_ON08, "the number of dimensions of an operand is not known");
    return t->ndim;
}

bool rlx_onnx_has_rank(rlx_onnx_conv *c, const rlx_expr *e)
{
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, e) : NULL;
    return t && t->ndim >= 0;
}

const rlx_expr *rlx_onnx_of_rank(rlx_onnx_conv *c, const rlx_expr *e, int ndim)
{
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, e) : NULL;
    return !t || t->ndim >= 0 ? e
                              : rlx_onnx_match(c, e, rlx_tensor_info(c->ctx, NULL, t->dtype, ndim, NULL));
}

const rlx_prim *const *rlx_onnx_dims(rlx_onnx_conv *c, const rlx_expr **e, size_t *ndim)
{
    int rank = rlx_onnx_rank(c, *e);
    if (rank < 0)
        return NULL;
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, *e);
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, ndim);
    if (dims)
        return dims;
    const rlx_prim **fresh = rlx_onnx_array(c, (size_t)rank, sizeof *fresh);
    for (int i = 0; fresh && i < rank; i++)
        fresh[i] = rlx_onnx_fresh(c, "d");
    const rlx_expr *shape = fresh ? rlx_shape_new(c->ctx, fresh, (size_t)rank) : NULL;
    *e = rlx_onnx_match(c, *e, shape ? rlx_tensor_info(c->ctx, shape, t->dtype, rank, NULL) : NULL);
    *ndim = (size_t)rank;
    return *e ? fresh : NULL;
}

const rlx_prim *rlx_onnx_dim(rlx_onnx_conv *c, const rlx_expr *e, size_t axis)
{
    size_t ndim = 0;
    const rlx_expr *x = e;
    const rlx_prim *const *dims = rlx_onnx_dims(c, &x, &ndim);
    return dims && axis < ndim ? dims[axis] : NULL;
}

bool rlx_onnx_static_dim(rlx_onnx_conv *c, const rlx_expr *e, size_t axis, int64_t *out)
{
    const rlx_prim *p = rlx_onnx_dim(c, e, axis);
    return p && rlx_int_literal(p, out);
}

bool rlx_onnx_axis(rlx_onnx_conv *c, int64_t *axis, int ndim)
{
    if (ndim < 0 || *axis < -ndim || *axis >= ndim) {
        if (ndim >= 0)
            rlx_onnx_fail(c, RLX_ON05, "axis %lld is out of range for rank %d", (long long)*axis,
                          ndim);
        return false;
    }
    *axis += *axis < 0 ? ndim : 0;
    return true;
}

/* ---- constants --------------------------------------------------------------------------------- */

static void store(rlx_dtype t, unsigned char *at, double v)
{
    bool is_signed = rlx_dtype_code(t) == RELAX_DTYPE_INT, fits = v >= -0x1p63 && v < 0x1p63;
    int64_t high = INT64_MAX >> (64 - 8 * rlx_dtype_bytes(t)), low = is_signed ? -high - 1 : 0;
    int64_t i = fits ? (int64_t)v : v < 0 ? low : is_signed ? high : -1; /* ends of the dtype: what masks are */
    if (rlx_dtype_is_float(t))
        rlx_dtype_store_float(t, at, v);
    else
        memcpy(at, &i, rlx_dtype_bytes(t));
}

const rlx_expr *rlx_onnx_const(rlx_onnx_conv *c, rlx_dtype dtype, const int64_t *shape, size_t ndim,
                               const double *values)
{
    size_t n = 1, width = rlx_dtype_bytes(dtype);
    for (size_t i = 0; i < ndim; i++)
        n *= (size_t)shape[i];
    unsigned char *data = width ? rlx_onnx_array(c, n, width) : NULL;
    if (!data)
        return c->failed = true, NULL;
    for (size_t i = 0; i < n; i++)
        store(dtype, data + i * width, values[i]);
    return rlx_constant_new(c->ctx, dtype, shape, ndim, data, c->place);
}

const rlx_expr *rlx_onnx_scalar(rlx_onnx_conv *c, rlx_dtype dtype, double value)
{
    return rlx_onnx_const(c, dtype, NULL, 0, &value);
}

const rlx_expr *rlx_onnx_const_ints(rlx_onnx_conv *c, rlx_dtype dtype, const int64_t *values,
                                    size_t count)
{
    int64_t n = (int64_t)count;
    size_t width = rlx_dtype_bytes(dtype);
    unsigned char *data = !values && count ? NULL : rlx_onnx_array(c, count, width ? width : 1);
    for (size_t i = 0; data && i < count; i++) {
        if (rlx_dtype_is_float(dtype))
            rlx_dtype_store_float(dtype, data + i * width, (double)values[i]);
        else
            memcpy(data + i * width, &values[i], width);
    }
    return data ? rlx_constant_new(c->ctx, dtype, &n, 1, data, c->place) : NULL;
}

const rlx_expr *rlx_onnx_full(rlx_onnx_conv *c, const rlx_prim *const *dims, size_t count,
                              rlx_dtype dtype, double value)
{
    return rlx_onnx_call(c, "full", "x x", rlx_shape_new(c->ctx, dims, count),
                         rlx_onnx_scalar(c, dtype, value));
}

/* The bytes of a constant, aligned; *count elements. NULL: it is none, or too large to be looked at. */
static const unsigned char *bytes_of(rlx_onnx_conv *c, const rlx_expr *e, size_t *count)
{
    const rlx_constant *k = rlx_as_constant(e);
    size_t width = k ? rlx_dtype_bytes(k->dtype) : 0;
    if (!k || !width || k->data->size > (1 << 20))
        return NULL;
    unsigned char *data = rlx_onnx_array(c, k->data->size, 1);
    *count = k->data->size / width;
    return data && rlx_blob_write(k->data, data) ? data : NULL;
}

static int64_t load_int(rlx_dtype t, const unsigned char *at)
{
    uint64_t v = 0;
    size_t width = rlx_dtype_bytes(t);
    memcpy(&v, at, width);
    if (rlx_dtype_code(t) == RELAX_DTYPE_INT && width < 8 && v >> (width * 8 - 1))
        v |= ~(uint64_t)0 << (width * 8);
    return (int64_t)v;
}

const double *rlx_onnx_floats_of(rlx_onnx_conv *c, const rlx_expr *e, size_t *count)
{
    const unsigned char *data = bytes_of(c, e, count);
    double *out = data ? rlx_onnx_array(c, *count, sizeof *out) : NULL;
    rlx_dtype t = data ? rlx_as_constant(e)->dtype : RELAX_VOID;
    for (size_t i = 0; out && i < *count; i++)
        out[i] = rlx_dtype_is_float(t)
                     ? rlx_dtype_load_float(t, data + i * rlx_dtype_bytes(t))
                     : (double)load_int(t, data + i * rlx_dtype_bytes(t));
    return out;
}

const int64_t *rlx_onnx_ints_of(rlx_onnx_conv *c, const rlx_expr *e, size_t *count)
{
    const rlx_constant *k = rlx_as_constant(e);
    if (!k || rlx_dtype_is_float(k->dtype))
        return NULL;
    const unsigned char *data = bytes_of(c, e, count);
    int64_t *out = data ? rlx_onnx_array(c, *count, sizeof *out) : NULL;
    for (size_t i = 0; out && i < *count; i++)
        out[i] = load_int(k->dtype, data + i * rlx_dtype_bytes(k->dtype));
    return out;
}

/* ---- shapes ------------------------------------------------------------------------------------ */

const rlx_prim *rlx_onnx_simplify(rlx_onnx_conv *c, const rlx_prim *p)
{
    return p ? rlx_simplify(c->ctx, rlx_builder_scope(c->m->b), p) : NULL;
}

const rlx_expr *rlx_onnx_prim(rlx_onnx_conv *c, int64_t v)
{
    return rlx_prim_value_new(c->ctx, rlx_int64(c->ctx, v));
}

const rlx_expr *rlx_onnx_cast(rlx_onnx_conv *c, const rlx_expr *x, rlx_dtype dtype)
{
    return x && rlx_onnx_dtype_of(c, x) == dtype ? x
                                                 : rlx_onnx_call(c, "astype", "x dtype=d", x, dtype);
}

/* Is a size 0 that reshape would take for one to be copied? */
static bool has_own_zero(rlx_onnx_conv *c, const rlx_expr *x, const rlx_prim *const *dims, size_t count)
{
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, x);
    int64_t have;
    for (size_t i = 0; t && i < count; i++)
        if (rlx_is_int_value(dims[i], 0) && !(t->ndim > (int)i && t->shape && rlx_onnx_static_dim(c, x, i, &have) && have == 0))
            return true;
    return false;
}

const rlx_expr *rlx_onnx_reshape(rlx_onnx_conv *c, const rlx_expr *x, const rlx_prim *const *dims,
                                 size_t count)
{
    if (x && has_own_zero(c, x, dims, count)) {
        const rlx_tensor_sinfo *t = rlx_onnx_info(c, x);
        int64_t d, all = t->shape ? 1 : 0;
        for (int i = 0; all && i < t->ndim; i++)
            all = rlx_onnx_static_dim(c, x, (size_t)i, &d) && d ? 1 : 0;
        return all ? rlx_onnx_fail(c, RLX_ON05, "an operand of elements cannot have a size that is 0")
                   : rlx_onnx_full(c, dims, count, t->dtype, 0);
    }
    return rlx_onnx_call(c, "reshape", "x x", x, rlx_shape_new(c->ctx, dims, count));
}

const rlx_expr *rlx_onnx_reshape_ints(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *dims,
                                      size_t count)
{
    return rlx_onnx_call(c, "reshape", "x x", x, rlx_shape_of_ints(c->ctx, dims, count));
}

const rlx_expr *rlx_onnx_expand_dims(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *axes,
                                     size_t count)
{
    size_t n;
    if (count && rlx_onnx_has_rank(c, x)) /* that the new sizes are 1 is lost where the others are not known */
        rlx_onnx_dims(c, &x, &n);
    return count ? rlx_onnx_call(c, "expand_dims", "x axis=I", x, axes, count) : x;
}

const rlx_expr *rlx_onnx_transpose(rlx_onnx_conv *c, const rlx_expr *x, const int64_t *perm,
                                   size_t count)
{
    bool same = true;
    if (!perm)
        return c->failed = true, NULL;
    for (size_t i = 0; i < count; i++)
        same &= perm[i] == (int64_t)i;
    return same ? x : rlx_onnx_call(c, "permute_dims", "x axes=I", x, perm, count);
}

const rlx_expr *rlx_onnx_slice(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis,
                               const rlx_prim *begin, const rlx_prim *end)
{
    const rlx_expr *a = rlx_onnx_prim(c, axis);
    const rlx_expr *b = begin ? rlx_prim_value_new(c->ctx, begin) : NULL;
    const rlx_expr *e = end ? rlx_prim_value_new(c->ctx, end) : NULL;
    return rlx_onnx_call(c, "strided_slice", "x X X X assume_inbound=b", x, &a, (size_t)1, &b,
                         (size_t)1, &e, (size_t)1, 1);
}

const rlx_expr *rlx_onnx_concat(rlx_onnx_conv *c, const rlx_expr *const *parts, size_t count,
                                int64_t axis)
{
    return count == 1 ? parts[0]
                      : rlx_onnx_call(c, "concat", "X axis=i", parts, count, axis);
}

const rlx_expr *rlx_onnx_reduce(rlx_onnx_conv *c, const char *op, const rlx_expr *x,
                                const int64_t *axes, size_t count, bool keep)
{
    return rlx_onnx_call(c, op, "x axis=I keepdims=b", x, axes, count, (int)keep);
}

const rlx_expr *rlx_onnx_arange(rlx_onnx_conv *c, const rlx_prim *count, rlx_dtype dtype)
{
    const rlx_expr *zero = rlx_onnx_prim(c, 0), *one = rlx_onnx_prim(c, 1);
    return count ? rlx_onnx_call(c, "arange", "x x x dtype=d", zero,
                                 rlx_prim_value_new(c->ctx, count), one, dtype)
                 : NULL;
}

const rlx_expr *rlx_onnx_where(rlx_onnx_conv *c, const rlx_expr *cond, const rlx_expr *x,
                               const rlx_expr *y)
{
    return rlx_onnx_call(c, "where", "x x x", cond, x, y);
}
