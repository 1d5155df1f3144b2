/* host.c: converters of the host, and unknown operators as calls of its packed functions. */
#include "onnx/onnx_int.h"

const rlx_onnx_host *rlx_onnx_host_find(const rlx_onnx_conv *c)
{
    const rlx_onnx_options *o = c->m->options;
    rlx_slice domain = rlx_slice_is(c->node->domain, "ai.onnx") ? RLX_SLICE("") : c->node->domain;
    for (size_t i = 0; i < o->num_hosts; i++)
        if (rlx_slice_equal(o->hosts[i].domain, domain) && rlx_slice_equal(o->hosts[i].op, c->node->op))
            return &o->hosts[i];
    return NULL;
}

rlx_onnx_host_node rlx_onnx_host_view(rlx_onnx_conv *c)
{
    return (rlx_onnx_host_node){ .domain = c->node->domain,
                                 .op = c->node->op,
                                 .name = c->node->name,
                                 .version = c->version,
                                 .num_inputs = c->num_inputs,
                                 .num_outputs = c->node->outputs.len,
                                 .place = c->place,
                                 .builder = c->m->b,
                                 .modules = c->m->mb };
}

const rlx_expr *rlx_onnx_host_input(rlx_onnx_conv *c, size_t i)
{
    return rlx_onnx_has(c, i) ? rlx_onnx_value_expr(c, c->inputs[i]) : NULL;
}

bool rlx_onnx_host_output(rlx_onnx_conv *c, size_t i, const rlx_expr *e)
{
    const rlx_expr *bound = rlx_as_var(e) || rlx_as_constant(e) ? e : rlx_onnx_emit(c, e);
    return rlx_onnx_output(c, i, bound);
}

void rlx_onnx_host_fail(rlx_onnx_conv *c, const char *reason)
{
    rlx_onnx_fail(c, RLX_ON05, "%s", reason);
}

bool rlx_onnx_host_attribute(rlx_onnx_conv *c, const char *name, rlx_onnx_host_attr *out)
{
    const rlx_onnx_attribute *a = rlx_onnx_attr(c, name);
    if (!a)
        return false;
    *out = (rlx_onnx_host_attr){ .type = (int)a->type, .i = a->i, .f = (double)a->f, .s = a->s,
                                 .ints = a->ints.data, .num_ints = a->ints.len };
    if (a->type == RLX_ONNX_FLOATS)
        out->floats = rlx_onnx_float_list(c, name, &out->num_floats);
    if (a->type == RLX_ONNX_TENSOR && a->t)
        out->tensor = rlx_onnx_tensor_constant(c->m, a->t, c->place);
    return true;
}

/* ---- calls of packed functions ----------------------------------------------------------------- */

/* "onnx.Op", "onnx.domain.Op" */
static const rlx_expr *packed_function(rlx_onnx_conv *c)
{
    rlx_buf b;
    rlx_buf_init(&b, &c->ctx->memory);
    b.most = 400;
    rlx_buf_lit(&b, "onnx.");
    if (c->node->domain.len && !rlx_slice_is(c->node->domain, "ai.onnx")) {
        rlx_buf_put(&b, c->node->domain.data, c->node->domain.len);
        rlx_buf_char(&b, '.');
    }
    rlx_buf_put(&b, c->node->op.data, c->node->op.len);
    bool fine = !b.failed && (rlx_utf8_valid(b.data, b.len) == b.len) && !memchr(b.data, 0, b.len);
    const rlx_expr *f = fine ? rlx_extern_func_new(c->ctx, (rlx_slice){ b.data, b.len }) : NULL;
    rlx_buf_free(&b);
    return f ? f : rlx_onnx_fail(c, RLX_ON03, "the operator has no name that a packed function can have");
}

static const rlx_expr *ints_as_shape(rlx_onnx_conv *c, const int64_t *v, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (v[i] < 0) /* not sizes */
            return rlx_onnx_const_ints(c, RELAX_INT64, v, n);
    return rlx_shape_of_ints(c->ctx, v, n);
}

static const rlx_expr *attribute_value(rlx_onnx_conv *c, const char *name)
{
    rlx_onnx_host_attr a;
    int64_t n;
    if (!rlx_onnx_host_attribute(c, name, &a))
        return NULL;
    switch (a.type) {
    case RLX_ONNX_INT: return rlx_onnx_prim(c, a.i);
    case RLX_ONNX_FLOAT: return rlx_prim_value_new(c->ctx, rlx_float(c->ctx, RELAX_FLOAT64, a.f));
    case RLX_ONNX_STRING:
        return (rlx_utf8_valid(a.s.data, a.s.len) == a.s.len) ? rlx_string_imm_new(c->ctx, a.s) : NULL;
    case RLX_ONNX_INTS: return ints_as_shape(c, a.ints, a.num_ints);
    case RLX_ONNX_FLOATS:
        n = (int64_t)a.num_floats;
        return rlx_onnx_const(c, RELAX_FLOAT32, &n, 1, a.floats);
    case RLX_ONNX_TENSOR: return a.tensor;
    default: return NULL;
    }
}

/* A size may have a name that no input binds. */
static bool names_are_known(rlx_onnx_conv *c, const rlx_tensor_sinfo *t)
{
    size_t n = 0;
    const rlx_prim *const *dims = rlx_shape_dims(t->shape, &n);
    for (size_t i = 0; dims && i < n; i++)
        if (rlx_as_prim_var(dims[i]) &&
            !rlx_scope_has(rlx_builder_scope(c->m->b), rlx_as_prim_var(dims[i])))
            return false;
    return true;
}

static const rlx_sinfo *declared_info(rlx_onnx_conv *c, size_t i)
{
    const rlx_tensor_sinfo *d = rlx_onnx_declared(c, i);
    const rlx_expr *x = c->num_inputs ? rlx_onnx_host_input(c, 0) : NULL;
    if (d && !names_are_known(c, d))
        return rlx_tensor_info(c->ctx, NULL, d->dtype, d->ndim, NULL);
    if (d)
        return &d->node;
    return rlx_tensor_info(c->ctx, NULL, x ? rlx_onnx_dtype_of(c, x) : RELAX_VOID, -1, NULL);
}

/* Operands, then each attribute as its name and its value, in the order of the file. */
bool rlx_onnx_packed_call(rlx_onnx_conv *c)
{
    size_t n = 0, outs = c->node->outputs.len, most = 1 + c->num_inputs + 2 * c->node->attributes.len;
    const rlx_expr **args = rlx_onnx_array(c, most, sizeof *args);
    const rlx_sinfo **infos = rlx_onnx_array(c, outs, sizeof *infos);
    if (!args || !infos || !(args[n++] = packed_function(c)))
        return false;
    for (size_t i = 0; i < c->num_inputs; i++)
        if (rlx_onnx_has(c, i) && !(args[n++] = rlx_onnx_host_input(c, i)))
            return false;
    for (size_t i = 0; i < c->node->attributes.len; i++) {
        rlx_slice name = RLX_ONNX_ITEM(rlx_onnx_attribute, c->node->attributes, i)->name;
        const rlx_string *s = (rlx_utf8_valid(name.data, name.len) == name.len) ? rlx_string_intern(c->ctx, name) : NULL;
        const rlx_expr *value = s ? attribute_value(c, s->data) : NULL;
        if (!value)
            return rlx_onnx_fail(c, RLX_ON05, "attribute %s has no form that a packed function takes",
                                 s ? s->data : "") != NULL;
        args[n++] = rlx_string_imm_new(c->ctx, rlx_string_slice(s));
        args[n++] = value;
    }
    for (size_t i = 0; i < outs; i++)
        if (!(infos[i] = declared_info(c, i)))
            return false;
    const rlx_sinfo *info = outs == 1 ? infos[0] : rlx_tuple_info(c->ctx, infos, outs);
    const rlx_op_row *row = rlx_op_find(RLX_SLICE("call_pure_packed"));
    const rlx_expr *call =
        row && info ? rlx_call_op_sinfo(c->ctx, row, args, n, &info, 1, NULL, c->place) : NULL;
    const rlx_expr *y = rlx_onnx_emit(c, call);
    if (outs == 1)
        return rlx_onnx_output(c, 0, y);
    for (size_t i = 0; y && i < outs; i++)
        if (rlx_onnx_wants(c, i) && !rlx_onnx_output(c, i, rlx_onnx_item(c, y, (int64_t)i)))
            return false;
    return y != NULL;
}
