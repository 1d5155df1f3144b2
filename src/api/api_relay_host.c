/* api_relay_host.c: what a host adds to Relay, the second half of relax/relay.h. */
#include <relax/relay.h>
#include "api/api_extend.h"

#include <string.h>
#include "relay/relay_host.h"

/* ---- calls, as callbacks see them ------------------------------------------------------------- */

static rlx_relay_view *view_of(const relax_relay_call *call)
{
    rlx_relay_view *v = (rlx_relay_view *)(uintptr_t)call;
    return v && v->id == RLX_RELAY_VIEW_ID ? v : NULL;
}

static const rlx_relay_type *type_of(const relax_relay_type *t)
{
    return t ? rlx_relay_find((rlx_relay_type *)(uintptr_t)t) : NULL;
}
static const relax_relay_type *give_type(const rlx_relay_type *t) { return (const relax_relay_type *)t; }

size_t relax_relay_call_num_inputs(const relax_relay_call *call)
{
    rlx_relay_view *v = view_of(call);
    return v ? v->goal->num_inputs : 0;
}

size_t relax_relay_call_num_types(const relax_relay_call *call)
{
    rlx_relay_view *v = view_of(call);
    return v ? v->goal->num_types : 0;
}

const relax_relay_type *relax_relay_call_type(const relax_relay_call *call, size_t index)
{
    rlx_relay_view *v = view_of(call);
    return v ? give_type(rlx_relay_view_type(v, index)) : NULL;
}

const relax_expr *relax_relay_call_arg(const relax_relay_call *call, size_t index)
{
    rlx_relay_view *v = view_of(call);
    return v && v->args && index < v->goal->num_inputs ? (const relax_expr *)v->args[index] : NULL;
}

/* ---- attributes ------------------------------------------------------------------------------- */

static rlx_relay_value attr_of(const relax_relay_call *call, const char *name)
{
    rlx_relay_view *v = view_of(call);
    if (!v || !name)
        return (rlx_relay_value){ .kind = RLX_RELAY_VALUE_NONE };
    return rlx_relay_rel_attr(v->goal, name);
}

static bool is_int(const rlx_relay_value *v)
{
    return v->kind == RLX_RELAY_VALUE_INT || v->kind == RLX_RELAY_VALUE_BOOL;
}

relax_status relax_relay_call_int(const relax_relay_call *call, const char *name, int64_t *value)
{
    rlx_relay_value a = attr_of(call, name);
    if (!value || !is_int(&a))
        return RELAX_ERROR_INVALID_ARGUMENT;
    *value = a.i;
    return RELAX_OK;
}

relax_status relax_relay_call_float(const relax_relay_call *call, const char *name, double *value)
{
    rlx_relay_value a = attr_of(call, name);
    if (!value || !(is_int(&a) || a.kind == RLX_RELAY_VALUE_FLOAT))
        return RELAX_ERROR_INVALID_ARGUMENT;
    *value = a.kind == RLX_RELAY_VALUE_FLOAT ? a.f : (double)a.i;
    return RELAX_OK;
}

relax_status relax_relay_call_text(const relax_relay_call *call, const char *name, const char **text,
                                   size_t *len)
{
    rlx_relay_value a = attr_of(call, name);
    if (!text || !len || a.kind != RLX_RELAY_VALUE_STRING)
        return RELAX_ERROR_INVALID_ARGUMENT;
    *text = a.s.data;
    *len = a.s.len;
    return RELAX_OK;
}

relax_status relax_relay_call_ints(const relax_relay_call *call, const char *name, int64_t *values,
                                   size_t capacity, size_t *count)
{
    rlx_relay_value a = attr_of(call, name);
    const rlx_relay_value *items = a.kind == RLX_RELAY_VALUE_LIST ? a.list.items : &a;
    size_t n = a.kind == RLX_RELAY_VALUE_LIST ? a.list.count : 1;
    if (!count || (capacity && !values))
        return RELAX_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < n; i++)
        if (!is_int(&items[i]))
            return RELAX_ERROR_INVALID_ARGUMENT;
    for (size_t i = 0; i < n && i < capacity; i++)
        values[i] = items[i].i;
    *count = n;
    return RELAX_OK;
}

/* ---- types ------------------------------------------------------------------------------------ */

int32_t relax_relay_type_kind(const relax_relay_type *type)
{
    const rlx_relay_type *t = type_of(type);
    if (!t)
        return 0;
    switch (t->kind) {
    case RLX_RELAY_TYPE_TENSOR: return RELAX_RELAY_TYPE_TENSOR;
    case RLX_RELAY_TYPE_TUPLE: return RELAX_RELAY_TYPE_TUPLE;
    case RLX_RELAY_TYPE_FUNC: return RELAX_RELAY_TYPE_FUNCTION;
    case RLX_RELAY_TYPE_REF: return RELAX_RELAY_TYPE_REFERENCE;
    case RLX_RELAY_TYPE_CALL: return RELAX_RELAY_TYPE_DATA;
    case RLX_RELAY_TYPE_HOLE: return RELAX_RELAY_TYPE_UNKNOWN;
    default: return RELAX_RELAY_TYPE_OTHER;
    }
}

/* The tensor's extents; NULL: it is none, or they are not known. */
static const rlx_relay_type *shape_of(const relax_relay_type *type)
{
    const rlx_relay_type *t = type_of(type);
    if (!t || t->kind != RLX_RELAY_TYPE_TENSOR)
        return NULL;
    if (t->tensor.shape)
        t = rlx_relay_find(t->tensor.shape);
    return t->kind == RLX_RELAY_TYPE_TENSOR || t->kind == RLX_RELAY_TYPE_EXTENTS ? t : NULL;
}

size_t relax_relay_type_rank(const relax_relay_type *type)
{
    const rlx_relay_type *t = shape_of(type);
    return t ? t->tensor.ndim : RELAX_NOT_FOUND;
}

int64_t relax_relay_type_extent(const relax_relay_type *type, size_t axis)
{
    const rlx_relay_type *t = shape_of(type);
    if (!t || axis >= t->tensor.ndim)
        return -1;
    rlx_relay_dim d = rlx_relay_extent(t, axis);
    return rlx_relay_is_int(d) ? d.value : -1;
}

relax_dtype relax_relay_type_dtype(const relax_relay_type *type)
{
    const rlx_relay_type *t = type_of(type);
    if (!t || t->kind != RLX_RELAY_TYPE_TENSOR)
        return RELAX_VOID;
    if (t->tensor.elem)
        t = rlx_relay_find(t->tensor.elem);
    return t->kind == RLX_RELAY_TYPE_TENSOR || t->kind == RLX_RELAY_TYPE_DTYPE ? t->tensor.dtype
                                                                               : RELAX_VOID;
}

size_t relax_relay_type_num_parts(const relax_relay_type *type)
{
    const rlx_relay_type *t = type_of(type);
    return !t                               ? RELAX_NOT_FOUND
           : t->kind == RLX_RELAY_TYPE_TUPLE ? t->tuple.count
           : t->kind == RLX_RELAY_TYPE_FUNC  ? t->func.num_args
           : t->kind == RLX_RELAY_TYPE_CALL  ? t->call.num_args
                                             : RELAX_NOT_FOUND;
}

const relax_relay_type *relax_relay_type_part(const relax_relay_type *type, size_t index)
{
    const rlx_relay_type *t = type_of(type);
    size_t n = relax_relay_type_num_parts(type);
    if (n == RELAX_NOT_FOUND || index > n)
        return NULL;
    if (t->kind == RLX_RELAY_TYPE_FUNC)
        return give_type(rlx_relay_find(index < n ? t->func.args[index] : t->func.result));
    if (index == n)
        return NULL;
    return give_type(rlx_relay_find(t->kind == RLX_RELAY_TYPE_TUPLE ? t->tuple.fields[index]
                                                                    : t->call.args[index]));
}

const relax_relay_type *relax_relay_call_tensor(const relax_relay_call *call, const int64_t *extents,
                                                size_t rank, relax_dtype dtype)
{
    rlx_relay_view *v = view_of(call);
    if (!v || (rank && !extents) || rank > RLX_RELAY_MAX_RANK || !rlx_api_dtype(v->ctx, dtype, false, "dtype"))
        return NULL;
    rlx_relay_dim *dims = rlx_region_array(&v->goal->solver->m->region, rank + 1, sizeof *dims);
    for (size_t i = 0; dims && i < rank; i++) {
        dims[i] = extents[i] == -1 ? rlx_relay_any() : rlx_relay_int(extents[i]);
        if (extents[i] < -1) {
            rlx_error(v->ctx, RLX_OP03, v->goal->place, "extent %zu is %lld", i, (long long)extents[i]);
            return NULL;
        }
    }
    return dims ? give_type(rlx_relay_tensor(v->goal->solver, dims, rank, dtype)) : NULL;
}

const relax_relay_type *relax_relay_call_tuple(const relax_relay_call *call,
                                               const relax_relay_type *const *fields, size_t count)
{
    rlx_relay_view *v = view_of(call);
    if (!v || (count && !fields) || count > 65535)
        return NULL;
    rlx_relay_type **all = rlx_region_array(&v->goal->solver->m->region, count + 1, sizeof *all);
    for (size_t i = 0; all && i < count; i++) {
        all[i] = (rlx_relay_type *)(uintptr_t)fields[i];
        if (!rlx_relay_view_owns(v, all[i]))
            return NULL;
    }
    return all ? give_type(rlx_relay_tuple(v->goal->solver, all, count)) : NULL;
}

/* ---- answers ---------------------------------------------------------------------------------- */

/* A conversion comes behind inference: it finds types and changes none. */
static bool may_change(const rlx_relay_view *v) { return v && !v->args; }

static relax_status said(bool ok) { return ok ? RELAX_OK : RELAX_ERROR_ILL_FORMED; }

relax_status relax_relay_call_assign(const relax_relay_call *call, size_t index,
                                     const relax_relay_type *type)
{
    rlx_relay_view *v = view_of(call);
    if (!may_change(v))
        return RELAX_ERROR_INVALID_ARGUMENT;
    return said(rlx_relay_view_assign(v, index, (rlx_relay_type *)(uintptr_t)type));
}

relax_status relax_relay_call_equal(const relax_relay_call *call, const relax_relay_type *a,
                                    const relax_relay_type *b)
{
    rlx_relay_view *v = view_of(call);
    if (!may_change(v))
        return RELAX_ERROR_INVALID_ARGUMENT;
    return said(rlx_relay_view_equal(v, (rlx_relay_type *)(uintptr_t)a, (rlx_relay_type *)(uintptr_t)b));
}

relax_status relax_relay_call_fail(const relax_relay_call *call, const char *text, size_t text_len)
{
    rlx_relay_view *v = view_of(call);
    rlx_slice slice;
    if (!v || !rlx_api_text(v->ctx, text, text_len, "text", &slice))
        return RELAX_ERROR_INVALID_ARGUMENT;
    rlx_relay_view_fail(v, slice);
    return RELAX_OK;
}

/* ---- registration ----------------------------------------------------------------------------- */

typedef struct host_row {
    rlx_relay_host_row row;
    relax_relay_relation_fn relation;
    relax_relay_output_fn output;
    relax_relay_convert_fn convert;
} host_row;

#define CALL(v) ((const relax_relay_call *)(const void *)(v))

static int32_t decide(const rlx_relay_host_row *r, rlx_relay_view *v)
{
    return ((const host_row *)r)->relation(r->row.user, CALL(v));
}

static const rlx_relay_type *output(const rlx_relay_host_row *r, rlx_relay_view *v)
{
    return (const rlx_relay_type *)((const host_row *)r)->output(r->row.user, CALL(v));
}

static const rlx_expr *convert(const rlx_relay_host_row *r, rlx_relay_view *v)
{
    return node_of(((const host_row *)r)->convert(r->row.user, v->ctx, CALL(v)));
}

static bool is_free(relax_context *ctx, uint8_t kind, rlx_slice name)
{
    const char *canonical;
    bool taken = kind == RLX_RELAY_HOST_OP ? rlx_relay_op_find_in(ctx, name) != NULL
                                           : rlx_relay_relation_find_in(ctx, name, &canonical) != NULL;
    if (taken)
        rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "there is %s %.*s of Relay already",
                  kind == RLX_RELAY_HOST_OP ? "an operator" : "a relation", rlx_api_width(name), name.data);
    return !taken;
}

static bool put_row(relax_context *ctx, const host_row *like, rlx_slice name)
{
    host_row *r = rlx_api_row_new(ctx, sizeof *r);
    if (!r)
        return false;
    *r = *like;
    if (!rlx_api_row_text(ctx, name.data, name.len, &r->row.row.name))
        return false;
    r->row.op.name = r->row.row.name.data;
    return rlx_vec_push(&ctx->memory, &ctx->extensions->fronts, &r->row.row);
}

relax_status relax_relay_relation_register(relax_context *ctx, const char *name, size_t name_len,
                                           relax_relay_relation_fn relation,
                                           relax_relay_output_fn output_type, void *user,
                                           void (*destroy)(void *user))
{
    rlx_slice slice;
    host_row r = { .row = { .row = { .user = user, .destroy = destroy }, .kind = RLX_RELAY_HOST_RELATION },
                   .relation = relation, .output = output_type };
    if (!RLX_API_CONTEXT(ctx)) {
        if (destroy)
            destroy(user);
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    size_t errors = rlx_error_count(ctx);
    r.row.decide = relation ? decide : NULL;
    r.row.output = output_type ? output : NULL;
    if (!relation == !output_type)
        rlx_error(ctx, RLX_OP01, RLX_NO_PLACE, "one of relation and output is needed, not both");
    bool good = !relation != !output_type && rlx_api_name(ctx, name, name_len, "name", &slice) &&
                is_free(ctx, RLX_RELAY_HOST_RELATION, slice) && put_row(ctx, &r, slice);
    return rlx_api_registered(ctx, good, errors, user, destroy);
}

static const relax_relay_op_options op_defaults = { .struct_size = sizeof(relax_relay_op_options) };

relax_status relax_relay_op_options_init(relax_relay_op_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &op_defaults, sizeof op_defaults);
}

static uint8_t field_type(int32_t type)
{
    switch (type) {
    case RELAX_OP_ATTR_INT: return RLX_RELAY_FIELD_INT;
    case RELAX_OP_ATTR_FLOAT: return RLX_RELAY_FIELD_FLOAT;
    case RELAX_OP_ATTR_BOOL: return RLX_RELAY_FIELD_BOOL;
    case RELAX_OP_ATTR_STRING: return RLX_RELAY_FIELD_STRING;
    case RELAX_OP_ATTR_DTYPE: return RLX_RELAY_FIELD_DTYPE;
    case RELAX_OP_ATTR_INTS: return RLX_RELAY_FIELD_INTS;
    default: return RLX_RELAY_FIELD_ANY;
    }
}

/* 1, 0.5f, True, None, "text" */
static bool is_default(const char *text)
{
    size_t n = strlen(text);
    if (!strcmp(text, "None") || !strcmp(text, "True") || !strcmp(text, "False"))
        return true;
    if (n >= 2 && text[0] == '"' && text[n - 1] == '"')
        return !memchr(text + 1, '"', n - 2) && !memchr(text, '\\', n);
    size_t at = text[0] == '-', digits = strspn(text + at, "0123456789.");
    return digits && digits < 30 && (at + digits == n || (text[n - 1] == 'f' && at + digits + 1 == n));
}

static bool copy_fields(relax_context *ctx, const relax_relay_op_options *o, host_row *r)
{
    enum { MOST = 32 };
    rlx_relay_field *f = rlx_api_row_new(ctx, (o->num_attrs + 1) * sizeof *f);
    rlx_slice copy;
    if (!f || o->num_attrs > MOST || (o->num_attrs && (!o->attr_names || !o->attr_types || !o->attr_defaults)))
        return f && rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "the attributes of the operator make no sense") != NULL;
    for (size_t i = 0; i < o->num_attrs; i++) {
        const char *deflt = o->attr_defaults[i];
        if (!o->attr_names[i] || !rlx_api_is_identifier(rlx_slice_z(o->attr_names[i])) ||
            (deflt && !is_default(deflt)))
            return rlx_error(ctx, RLX_OP12, RLX_NO_PLACE, "attribute %zu has no name that Relay can write, or a default "
                             "that is none", i) != NULL;
        if (!rlx_api_row_text(ctx, o->attr_names[i], strlen(o->attr_names[i]), &copy))
            return false;
        f[i] = (rlx_relay_field){ copy.data, field_type(o->attr_types[i]), NULL };
        if (deflt && !rlx_api_row_text(ctx, deflt, strlen(deflt), &copy))
            return false;
        f[i].otherwise = deflt ? copy.data : NULL;
    }
    r->row.op.fields = f;
    r->row.op.num_fields = o->num_attrs;
    return true;
}

static bool find_relax_op(relax_context *ctx, const relax_relay_op_options *o, host_row *r)
{
    rlx_slice name;
    if (!o->relax_op)
        return true;
    if (o->convert)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "one of convert and relax_op translates a call, not both") != NULL;
    if (!rlx_api_name(ctx, o->relax_op, o->relax_op_len, "relax_op", &name))
        return false;
    r->row.relax_op = rlx_op_find_in(ctx, name);
    return r->row.relax_op ||
           rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "Relax has no operator %.*s", rlx_api_width(name), name.data) != NULL;
}

static bool add_op(relax_context *ctx, const relax_relay_op_options *o)
{
    rlx_slice name, relation;
    const char *canonical;
    host_row r = { .row = { .row = { .user = o->user, .destroy = o->destroy }, .kind = RLX_RELAY_HOST_OP },
                   .convert = o->convert };
    if (!rlx_api_name(ctx, o->name, o->name_len, "name", &name) ||
        !rlx_api_name(ctx, o->relation, o->relation_len, "relation", &relation) ||
        !is_free(ctx, RLX_RELAY_HOST_OP, name) || o->num_inputs < -1 || o->num_inputs > 64)
        return o->num_inputs >= -1 && o->num_inputs <= 64
                   ? false
                   : rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "num_inputs is %d", (int)o->num_inputs) != NULL;
    if (!rlx_relay_relation_find_in(ctx, relation, &canonical))
        return rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "there is no relation %.*s", rlx_api_width(relation),
                         relation.data) != NULL;
    r.row.op.num_inputs = (int8_t)o->num_inputs;
    r.row.op.is_pure = !o->impure;
    r.row.op.relation = canonical;
    r.row.convert = o->convert ? convert : NULL;
    return find_relax_op(ctx, o, &r) && copy_fields(ctx, o, &r) && put_row(ctx, &r, name);
}

relax_status relax_relay_op_register(relax_context *ctx, const relax_relay_op_options *options)
{
    relax_relay_op_options o = op_defaults;
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    bool read = rlx_api_options(ctx, &o, sizeof o, options, "relax_relay_op_options");
    return rlx_api_registered(ctx, read && add_op(ctx, &o), errors, o.user, o.destroy);
}

relax_status relax_relay_converter_register(relax_context *ctx, const char *name, size_t name_len,
                                            relax_relay_convert_fn convert_call, void *user,
                                            void (*destroy)(void *user))
{
    rlx_slice slice;
    host_row r = { .row = { .row = { .user = user, .destroy = destroy }, .kind = RLX_RELAY_HOST_CONVERTER,
                            .convert = convert },
                   .convert = convert_call };
    if (!RLX_API_CONTEXT(ctx)) {
        if (destroy)
            destroy(user);
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    size_t errors = rlx_error_count(ctx);
    bool good = rlx_api_name(ctx, name, name_len, "name", &slice) &&
                rlx_api_required(ctx, (const void *)(uintptr_t)convert_call, "convert");
    if (good && !rlx_relay_op_find_in(ctx, slice))
        good = rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "Relay has no operator %.*s", rlx_api_width(slice),
                         slice.data) != NULL;
    if (good && rlx_relay_host_find(ctx, RLX_RELAY_HOST_CONVERTER, slice))
        good = rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "there is a converter of %.*s already", rlx_api_width(slice),
                         slice.data) != NULL;
    return rlx_api_registered(ctx, good && put_row(ctx, &r, slice), errors, user, destroy);
}
