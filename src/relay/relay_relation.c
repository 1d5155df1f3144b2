/* relay_relation.c: relations by name, and what they are written with. */
#include "relay/relay_relation.h"

rlx_relay_relation rlx_relay_relation_find(rlx_slice name, const char **canonical)
{
    static const struct { const char *name; rlx_relay_relation relation; } all[] = {
#define REL(name) { #name, rlx_relay_rel_##name },
#include "relay/relay_relation.def"
#undef REL
    };
    for (size_t i = 0; i < RLX_COUNT(all); i++) {
        if (rlx_slice_is(name, all[i].name)) {
            *canonical = all[i].name;
            return all[i].relation;
        }
    }
    return NULL;
}

enum rlx_relay_outcome rlx_relay_rel_fail(rlx_relay_goal *g, const char *format, ...)
{
    rlx_buf b;
    va_list args;
    rlx_buf_init(&b, &g->solver->ctx->memory);
    va_start(args, format);
    rlx_buf_vformat(&b, format, args);
    va_end(args);
    rlx_error(g->solver->ctx, RLX_RY21, g->place, "%s: %s", g->of, b.len ? b.data : g->name);
    rlx_buf_free(&b);
    return RLX_RELAY_FAILS;
}

/* ---- types ------------------------------------------------------------------------------------------ */

/* A tensor whose extents and data type are there; else NULL and what to return. */
static const rlx_relay_type *as_tensor(rlx_relay_goal *g, rlx_relay_type *t, enum rlx_relay_outcome *why,
                                       const char *what, size_t number)
{
    t = rlx_relay_find(t);
    *why = RLX_RELAY_UNDECIDED;
    if (t->kind == RLX_RELAY_TYPE_HOLE || t->kind == RLX_RELAY_TYPE_VAR)
        return NULL;
    if (t->kind != RLX_RELAY_TYPE_TENSOR) {
        rlx_buf b;
        rlx_buf_init(&b, &g->solver->ctx->memory);
        rlx_relay_print_type(t, &b);
        *why = rlx_relay_rel_fail(g, "%s %zu must be a tensor, found %s", what, number + 1,
                                  b.len ? b.data : "nothing");
        rlx_buf_free(&b);
        return NULL;
    }
    if (!t->tensor.shape && !t->tensor.elem) {
        if (t->tensor.ndim <= RLX_RELAY_MAX_RANK)
            return t;
        *why = rlx_relay_rel_fail(g, "a tensor of rank %zu: the highest is %d", t->tensor.ndim,
                                  RLX_RELAY_MAX_RANK);
        return NULL;
    }
    rlx_relay_type *open; /* parts that were variables may have been found */
    t = rlx_relay_resolve(g->solver, t, &open);
    return t && !t->tensor.shape && !t->tensor.elem ? t : NULL;
}

const rlx_relay_type *rlx_relay_rel_tensor(rlx_relay_goal *g, size_t i, enum rlx_relay_outcome *why)
{
    return as_tensor(g, g->types[i], why, "argument", i);
}

const rlx_relay_type *rlx_relay_rel_tuple(rlx_relay_goal *g, size_t i, enum rlx_relay_outcome *why)
{
    const rlx_relay_type *t = rlx_relay_find(g->types[i]);
    *why = RLX_RELAY_UNDECIDED;
    if (t->kind == RLX_RELAY_TYPE_TUPLE)
        return t;
    if (t->kind != RLX_RELAY_TYPE_HOLE)
        *why = rlx_relay_rel_fail(g, "argument %zu must be a tuple of tensors", i + 1);
    return NULL;
}

const rlx_relay_type *rlx_relay_rel_field(rlx_relay_goal *g, const rlx_relay_type *tuple, size_t i,
                                          enum rlx_relay_outcome *why)
{
    return as_tensor(g, tuple->tuple.fields[i], why, "field", i);
}

enum rlx_relay_outcome rlx_relay_rel_assign(rlx_relay_goal *g, size_t i, rlx_relay_type *t)
{
    bool is_output = i >= g->num_inputs;
    return t && rlx_relay_unify(g->solver, g->types[i], t, g->place,
                                is_output ? "the result" : "an argument and what the operator takes")
               ? RLX_RELAY_HOLDS : RLX_RELAY_FAILS;
}

enum rlx_relay_outcome rlx_relay_rel_give(rlx_relay_goal *g, size_t i, const rlx_relay_dim *dims,
                                          size_t ndim, rlx_dtype dtype)
{
    return rlx_relay_rel_assign(g, i, rlx_relay_tensor(g->solver, dims, ndim, dtype));
}

/* ---- attributes -------------------------------------------------------------------------------------- */

rlx_relay_value rlx_relay_rel_attr(rlx_relay_goal *g, const char *name)
{
    return rlx_relay_op_attr(&g->solver->m->region, g->op, g->attrs, name, g->place);
}

int64_t rlx_relay_rel_int(rlx_relay_goal *g, const char *name)
{
    rlx_relay_value v = rlx_relay_rel_attr(g, name);
    if (v.kind == RLX_RELAY_VALUE_INT || v.kind == RLX_RELAY_VALUE_BOOL)
        return v.i;
    rlx_relay_rel_fail(g, "%s must be an integer", name);
    return 0;
}
double rlx_relay_rel_float(rlx_relay_goal *g, const char *name)
{
    rlx_relay_value v = rlx_relay_rel_attr(g, name);
    if (v.kind == RLX_RELAY_VALUE_INT)
        return (double)v.i;
    if (v.kind != RLX_RELAY_VALUE_FLOAT)
        rlx_relay_rel_fail(g, "%s must be a number", name);
    return v.kind == RLX_RELAY_VALUE_FLOAT ? v.f : 0;
}
bool rlx_relay_rel_bool(rlx_relay_goal *g, const char *name)
{
    rlx_relay_value v = rlx_relay_rel_attr(g, name);
    return (v.kind == RLX_RELAY_VALUE_BOOL || v.kind == RLX_RELAY_VALUE_INT) && v.i;
}
rlx_slice rlx_relay_rel_text(rlx_relay_goal *g, const char *name)
{
    rlx_relay_value v = rlx_relay_rel_attr(g, name);
    return v.kind == RLX_RELAY_VALUE_STRING ? v.s : (rlx_slice){ "", 0 };
}

bool rlx_relay_rel_ints(rlx_relay_goal *g, const char *name, int64_t *out, int *count)
{
    rlx_relay_value v = rlx_relay_rel_attr(g, name);
    *count = -1;
    if (v.kind == RLX_RELAY_VALUE_NONE)
        return true;
    const rlx_relay_value *items = v.kind == RLX_RELAY_VALUE_LIST ? v.list.items : &v;
    size_t n = v.kind == RLX_RELAY_VALUE_LIST ? v.list.count : 1;
    if (n > 2 * RLX_RELAY_MAX_RANK) {
        rlx_relay_rel_fail(g, "%s has %zu items", name, n);
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (items[i].kind != RLX_RELAY_VALUE_INT) {
            rlx_relay_rel_fail(g, "%s must be integers", name);
            return false;
        }
        out[i] = items[i].i;
    }
    *count = (int)n;
    return true;
}

bool rlx_relay_rel_dtype(rlx_relay_goal *g, const char *name, rlx_dtype otherwise, rlx_dtype *out)
{
    rlx_relay_value v = rlx_relay_rel_attr(g, name);
    *out = otherwise;
    if (v.kind == RLX_RELAY_VALUE_NONE || (v.kind == RLX_RELAY_VALUE_STRING && !v.s.len))
        return true;
    if (v.kind == RLX_RELAY_VALUE_STRING && rlx_dtype_parse(v.s, out) && rlx_relay_has_width(*out))
        return true;
    rlx_relay_rel_fail(g, "%s must be a data type, such as \"float32\"", name);
    return false;
}

/* ---- extents ----------------------------------------------------------------------------------------- */

rlx_relay_dim rlx_relay_extent(const rlx_relay_type *t, size_t i) { return rlx_relay_dim_find(t->tensor.dims[i]); }

void rlx_relay_extents(const rlx_relay_type *t, rlx_relay_dim out[RLX_RELAY_MAX_RANK])
{
    for (size_t i = 0; i < t->tensor.ndim; i++)
        out[i] = rlx_relay_extent(t, i);
}

bool rlx_relay_differ(rlx_relay_dim a, rlx_relay_dim b)
{
    return rlx_relay_is_int(a) && rlx_relay_is_int(b) && a.value != b.value;
}

bool rlx_relay_product(rlx_relay_goal *g, const rlx_relay_dim *dims, size_t n, rlx_relay_dim *out)
{
    int64_t v = 1;
    bool known = true;
    for (size_t i = 0; i < n; i++) {
        rlx_relay_dim d = rlx_relay_dim_find(dims[i]);
        known = known && rlx_relay_is_int(d);
        if (known && d.value && v > INT64_MAX / d.value)
            return rlx_relay_rel_fail(g, "the number of elements does not fit 64 bits") != RLX_RELAY_FAILS;
        v *= known ? d.value : 1;
    }
    *out = known ? rlx_relay_int(v) : rlx_relay_any();
    return true;
}

bool rlx_relay_axis(rlx_relay_goal *g, int64_t axis, size_t ndim, size_t *out)
{
    int64_t n = (int64_t)ndim, a = axis < 0 ? axis + n : axis;
    *out = (size_t)a;
    if (a >= 0 && a < n)
        return true;
    rlx_relay_rel_fail(g, "axis %lld is out of range for a tensor of rank %zu", (long long)axis, ndim);
    return false;
}

static bool broadcast_one(rlx_relay_dim a, rlx_relay_dim b, rlx_relay_dim *out)
{
    bool one_a = rlx_relay_is_int(a) && a.value == 1, one_b = rlx_relay_is_int(b) && b.value == 1;
    if (one_a || (rlx_relay_is_any(a) && !one_b)) {
        *out = b;
        return true;
    }
    *out = a;
    if (one_b || rlx_relay_is_any(b))
        return true;
    return rlx_relay_unify_dim(a, b, out);
}

bool rlx_relay_broadcast(rlx_relay_goal *g, const rlx_relay_dim *a, size_t na, const rlx_relay_dim *b,
                         size_t nb, rlx_relay_dim *out, size_t *n)
{
    *n = na > nb ? na : nb;
    for (size_t i = 0; i < *n; i++) {
        size_t at = *n - 1 - i;
        if (i >= na || i >= nb) {
            out[at] = rlx_relay_dim_find(i < na ? a[na - 1 - i] : b[nb - 1 - i]);
            continue;
        }
        rlx_relay_dim x = rlx_relay_dim_find(a[na - 1 - i]), y = rlx_relay_dim_find(b[nb - 1 - i]);
        if (broadcast_one(x, y, &out[at]))
            continue;
        if (rlx_relay_is_int(x) && rlx_relay_is_int(y))
            rlx_relay_rel_fail(g, "incompatible broadcast: %lld and %lld in dimension %zu from the end",
                               (long long)x.value, (long long)y.value, i + 1);
        else
            rlx_relay_rel_fail(g, "incompatible broadcast in dimension %zu from the end", i + 1);
        return false;
    }
    return true;
}
