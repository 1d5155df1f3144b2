/* known.c: attributes, and operands whose value has to be known: constants, and integers that stand for sizes. */
#include "onnx/onnx_int.h"

/* ---- attributes ------------------------------------------------------------------------------ */

static const rlx_onnx_attribute *find_attribute(const rlx_wire_list *list, rlx_slice name)
{
    for (size_t i = 0; i < list->len; i++) {
        const rlx_onnx_attribute *a = RLX_ONNX_ITEM(rlx_onnx_attribute, *list, i);
        if (rlx_slice_equal(a->name, name))
            return a;
    }
    return NULL;
}

const rlx_onnx_attribute *rlx_onnx_attr(rlx_onnx_conv *c, const char *name)
{
    const rlx_onnx_attribute *a = find_attribute(&c->node->attributes, rlx_slice_z(name));
    /* Inside of a function an attribute may stand for one of the call. */
    const rlx_onnx_scope *s = c->scope;
    for (int depth = 0; a && a->ref.len && depth < 64; depth++) {
        while (s && !s->function)
            s = s->outer;
        if (!s || !s->call)
            return NULL;
        rlx_slice ref = a->ref;
        a = find_attribute(&s->call->node->attributes, ref);
        if (!a)
            a = find_attribute(&s->function->attribute_protos, ref);
        s = s->call->scope;
    }
    return a && a->ref.len ? NULL : a;
}

/* The attribute, if it has that type; files of the first versions do not say theirs. */
static const rlx_onnx_attribute *typed(rlx_onnx_conv *c, const char *name,
                                       enum rlx_onnx_attribute_type type)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, name);
    if (!a || !a->type || a->type == (int64_t)type)
        return a;
    return rlx_onnx_fail(c, RLX_ON05, "attribute %s is of another type than expected", name);
}

int64_t rlx_onnx_int(rlx_onnx_conv *c, const char *name, int64_t otherwise)
{
    const rlx_onnx_attribute *a = typed(c, name, RLX_ONNX_INT);
    return a ? a->i : otherwise;
}

double rlx_onnx_float(rlx_onnx_conv *c, const char *name, double otherwise)
{
    const rlx_onnx_attribute *a = typed(c, name, RLX_ONNX_FLOAT);
    return a ? (double)a->f : otherwise;
}

rlx_slice rlx_onnx_string(rlx_onnx_conv *c, const char *name, const char *otherwise)
{
    const rlx_onnx_attribute *a = typed(c, name, RLX_ONNX_STRING);
    return a ? a->s : rlx_slice_z(otherwise);
}

const int64_t *rlx_onnx_int_list(rlx_onnx_conv *c, const char *name, size_t *count)
{
    const rlx_onnx_attribute *a = typed(c, name, RLX_ONNX_INTS);
    static const int64_t none;
    *count = a ? a->ints.len : 0;
    return !a ? NULL : a->ints.len ? a->ints.data : &none;
}

const double *rlx_onnx_float_list(rlx_onnx_conv *c, const char *name, size_t *count)
{
    const rlx_onnx_attribute *a = typed(c, name, RLX_ONNX_FLOATS);
    *count = a ? a->floats.len / 4 : 0;
    double *out = a ? rlx_onnx_array(c, *count, sizeof *out) : NULL;
    for (size_t i = 0; out && i < *count; i++) {
        uint32_t bits = (uint32_t)rlx_load4(a->floats.data + 4 * i);
        float f;
        memcpy(&f, &bits, sizeof f);
        out[i] = f;
    }
    return out;
}

/* ---- operands --------------------------------------------------------------------------------- */

static bool ints_of_constant(rlx_onnx_conv *c, const rlx_expr *e, rlx_onnx_ints *out)
{
    const rlx_constant *k = rlx_as_constant(e);
    size_t n;
    const int64_t *values = k && k->num_shape <= 1 ? rlx_onnx_ints_of(c, e, &n) : NULL;
    const rlx_prim **prims =
        values && n <= RLX_ONNX_MOST_KNOWN ? rlx_onnx_array(c, n, sizeof *prims) : NULL;
    for (size_t i = 0; prims && i < n; i++)
        if (!(prims[i] = rlx_int64(c->ctx, values[i])))
            return false;
    if (prims)
        *out = (rlx_onnx_ints){ prims, n, k->num_shape == 0, k->dtype };
    return prims != NULL;
}

bool rlx_onnx_known(rlx_onnx_conv *c, size_t i, rlx_onnx_ints *out)
{
    rlx_onnx_value *v = i < c->num_inputs ? c->inputs[i] : NULL;
    if (!v || v->failed)
        return false;
    if (v->has_ints) {
        *out = (rlx_onnx_ints){ v->ints, v->num_ints, v->is_scalar, v->dtype };
        return true;
    }
    rlx_dtype t;
    if (v->tensor && (v->tensor->dims.len > 1 || !rlx_onnx_dtype(v->tensor->data_type, &t) ||
                      rlx_dtype_is_float(t)))
        return false; /* a weight is not touched */
    const rlx_expr *e = v->expr || v->tensor ? rlx_onnx_value_expr(c, v) : NULL;
    return e && ints_of_constant(c, e, out);
}

const rlx_expr *rlx_onnx_found_ints(rlx_onnx_conv *c, size_t i, const char *what, size_t *count)
{
    const rlx_expr *e = rlx_onnx_input(c, i);
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, e) : NULL;
    int64_t n = 1;
    if (!t || !rlx_dtype_is_int(t->dtype) || t->ndim > 1 || t->ndim < 0 ||
        (t->ndim == 1 && !rlx_onnx_static_dim(c, e, 0, &n)) || n > RLX_ONNX_MOST_KNOWN || c->m->bind_first)
        return rlx_onnx_needs(c, i, what);
    c->m->needed |= c->inputs[i]->depends;
    *count = (size_t)n;
    return rlx_onnx_cast(c, t->ndim == 0 ? rlx_onnx_reshape_ints(c, e, &n, 1) : e, RELAX_INT64);
}

const rlx_prim **rlx_onnx_bind_ints(rlx_onnx_conv *c, const rlx_expr *list, size_t n)
{
    const rlx_prim **vars = list ? rlx_onnx_array(c, n, sizeof *vars) : NULL;
    for (size_t k = 0; vars && k < n; k++)
        if (!(vars[k] = rlx_onnx_fresh(c, "s")))
            return NULL;
    return vars && rlx_onnx_match(c, rlx_onnx_call1(c, "tensor_to_shape", list), rlx_shape_info(c->ctx, vars, n))
               ? vars
               : NULL;
}

/* A tensor of a known number of integers gives as many shape variables. */
static bool bind_sizes(rlx_onnx_conv *c, size_t i, const char *what, rlx_onnx_ints *out)
{
    size_t n;
    const rlx_expr *e = rlx_onnx_found_ints(c, i, what, &n);
    const rlx_tensor_sinfo *t = e ? rlx_onnx_info(c, rlx_onnx_input(c, i)) : NULL;
    const rlx_prim **vars = t ? rlx_onnx_bind_ints(c, e, n) : NULL;
    if (!vars)
        return false;
    *out = (rlx_onnx_ints){ vars, n, t->ndim == 0, t->dtype };
    rlx_onnx_value *v = c->inputs[i];
    if (!rlx_onnx_touch(c->m, v))
        return false;
    v->ints = vars;
    v->num_ints = (size_t)n;
    v->is_scalar = t->ndim == 0;
    v->dtype = t->dtype;
    v->has_ints = true;
    return true;
}

bool rlx_onnx_sizes(rlx_onnx_conv *c, size_t i, const char *what, rlx_onnx_ints *out)
{
    if (!rlx_onnx_has(c, i))
        return rlx_onnx_fail(c, RLX_ON10, "operand %zu (%s) is missing", i, what) != NULL;
    return rlx_onnx_known(c, i, out) || (!c->failed && bind_sizes(c, i, what, out));
}

const int64_t *rlx_onnx_literals(rlx_onnx_conv *c, size_t i, const char *what, size_t *count)
{
    rlx_onnx_ints known;
    if (!rlx_onnx_has(c, i))
        return rlx_onnx_fail(c, RLX_ON10, "operand %zu (%s) is missing", i, what);
    if (!rlx_onnx_known(c, i, &known))
        return rlx_onnx_needs(c, i, what);
    int64_t *out = rlx_onnx_array(c, known.len, sizeof *out);
    *count = known.len;
    for (size_t k = 0; out && k < known.len; k++)
        if (!rlx_int_literal(known.data[k], &out[k]))
            return rlx_onnx_needs(c, i, what);
    return out;
}

bool rlx_onnx_literal(rlx_onnx_conv *c, size_t i, const char *what, int64_t *out)
{
    size_t n;
    const int64_t *v = rlx_onnx_literals(c, i, what, &n);
    if (v && n != 1)
        rlx_onnx_fail(c, RLX_ON05, "%s (operand %zu) has %zu elements, expected one", what, i, n);
    return v && n == 1 && (*out = *v, true);
}

/* Its shape says that there is no element. */
static bool is_empty(rlx_onnx_conv *c, size_t i)
{
    const rlx_onnx_value *v = c->inputs[i];
    int64_t n;
    if (v->has_ints || v->tensor || !v->expr || rlx_as_constant(v->expr))
        return false;
    const rlx_tensor_sinfo *t = rlx_onnx_info(c, v->expr);
    return t && t->ndim == 1 && t->shape && rlx_onnx_static_dim(c, v->expr, 0, &n) && n == 0;
}

const int64_t *rlx_onnx_axes(rlx_onnx_conv *c, size_t i, int ndim, size_t *count, bool *ok)
{
    const int64_t *given = rlx_onnx_int_list(c, "axes", count);
    *ok = true;
    if (!given && rlx_onnx_has(c, i) && !is_empty(c, i)) {
        given = rlx_onnx_literals(c, i, "axes", count);
        *ok = given != NULL;
    }
    int64_t *out = given ? rlx_onnx_array(c, *count, sizeof *out) : NULL;
    for (size_t k = 0; out && k < *count; k++) {
        out[k] = given[k];
        *ok = *ok && rlx_onnx_axis(c, &out[k], ndim);
        for (size_t j = 0; *ok && j < k; j++)
            if (out[j] == out[k])
                *ok = rlx_onnx_fail(c, RLX_ON05, "axis %lld is given twice", (long long)out[k]) !=
                      NULL;
    }
    *count = out ? *count : 0;
    return out;
}
