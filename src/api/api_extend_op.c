/* api_extend_op.c: operators and derive functions that a host adds. */
#include <relax/extend.h>
#include "api/api_int.h"

#include "api/api_extend.h"
#include "op/op.h"
#include "sinfo/sinfo.h"

#define VIEW(p) ((const relax_call_view *)(const void *)(p))

/* ---- views ---------------------------------------------------------------------------------- */

/* Memory of another kind is told by what begins it. */
static rlx_extension_view *view_of(const relax_call_view *view)
{
    rlx_extension_view *v = (rlx_extension_view *)(uintptr_t)(const void *)view;
    return v && v->node.kind == RLX_NODE_NONE && v->node.id == RLX_EXTENSION_VIEW_ID ? v : NULL;
}

const relax_expr *relax_call_view_call(const relax_call_view *view)
{
    const rlx_extension_view *v = view_of(view);
    return v ? RLX_API_EXPR(v->call) : NULL;
}

const relax_struct_info *relax_call_view_arg_info(const relax_call_view *view, size_t index)
{
    const rlx_extension_view *v = view_of(view);
    const rlx_sinfo *s = v && index < v->call->num_args ? v->arg_info(v->user, index) : NULL;
    return (const relax_struct_info *)(const void *)s;
}

const relax_struct_info *relax_call_view_result(const relax_call_view *view)
{
    const rlx_extension_view *v = view_of(view);
    return (const relax_struct_info *)(const void *)(v ? v->result : NULL);
}

relax_status relax_call_view_fail(const relax_call_view *view, const char *text, size_t text_len)
{
    rlx_extension_view *v = view_of(view);
    rlx_slice said;
    if (!v)
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (!rlx_api_name(v->ctx, text, text_len, "text", &said))
        return RELAX_ERROR_INVALID_ARGUMENT;
    rlx_extension_say(v, said);
    return RELAX_OK;
}

/* ---- operators ------------------------------------------------------------------------------ */

typedef struct host_op {
    rlx_extension_op op;
    relax_op_infer_fn infer;
    relax_op_lower_fn lower;
} host_op;

static const relax_op_options op_defaults = { .struct_size = sizeof(relax_op_options), .pure = 1 };

relax_status relax_op_options_init(relax_op_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &op_defaults, sizeof op_defaults);
}

static const rlx_sinfo *ask_infer(const rlx_extension_op *o, rlx_extension_view *view)
{
    return node_of(((const host_op *)o)->infer(o->row.user, view->ctx, VIEW(view)));
}

static const rlx_node *ask_lower(const rlx_extension_op *o, rlx_extension_view *view)
{
    return node_of(((const host_op *)o)->lower(o->row.user, view->ctx, VIEW(view)));
}

static bool refuse(relax_context *ctx, enum rlx_code_id code, rlx_slice name, const char *why)
{
    rlx_error(ctx, code, RLX_NO_PLACE, "operator %.*s: %s", rlx_api_width(name), name.data, why);
    return false;
}

/* "host.spmm" */
static bool op_name(relax_context *ctx, const relax_op_options *o, rlx_slice *name)
{
    size_t parts = 0;
    bool good = true;
    if (!rlx_api_name(ctx, o->name, o->name_len, "name", name))
        return false;
    *name = rlx_op_short_name(*name);
    for (size_t at = 0, end; good && at <= name->len; at = end + 1, parts++) {
        for (end = at; end < name->len && name->data[end] != '.';)
            end++;
        good = rlx_api_is_identifier((rlx_slice){ name->data + at, end - at });
    }
    if (!good || parts < 2 || name->len > RLX_API_LONGEST_NAME)
        return refuse(ctx, RLX_OP03, *name,
                      "its name is no identifiers with dots between, at least two");
    if (rlx_op_find_in(ctx, *name) || rlx_slice_is(*name, "dist.device_mesh"))
        return refuse(ctx, RLX_OP16, *name, "there is one of this name already");
    return true;
}

/* A list of names: identifiers, each once. */
static bool are_names(relax_context *ctx, rlx_slice op, const char *const *names, size_t count,
                      const char *const *others, size_t num_others)
{
    if (!rlx_api_array(ctx, (const void *const *)names, count, "names"))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (!rlx_api_is_identifier(rlx_slice_z(names[i])))
            return refuse(ctx, RLX_OP03, op, "an argument or attribute has no identifier as name");
        for (size_t k = 0; k < i + num_others; k++)
            if (!strcmp(names[i], k < i ? names[k] : others[k - i]))
                return refuse(ctx, RLX_OP16, op, "two arguments or attributes have one name");
    }
    return true;
}

/* Kinds and types as our tables have them, by the numbers of the public ones. */
static const uint8_t arg_kinds[] = {
    [RELAX_OP_ARG_TENSOR] = RLX_ARG_TENSOR,
    [RELAX_OP_ARG_TENSOR_OR_SCALAR] = RLX_ARG_TENSOR_PRIM,
    [RELAX_OP_ARG_SHAPE] = RLX_ARG_SHAPE,
    [RELAX_OP_ARG_SCALAR] = RLX_ARG_PRIM,
    [RELAX_OP_ARG_TUPLE] = RLX_ARG_TUPLE,
    [RELAX_OP_ARG_FUNCTION] = RLX_ARG_FUNC,
    [RELAX_OP_ARG_STRING] = RLX_ARG_STRING,
    [RELAX_OP_ARG_DTYPE] = RLX_ARG_DTYPE,
    [RELAX_OP_ARG_ANY] = RLX_ARG_ANY,
};
static const uint8_t attr_types[] = {
    [RELAX_OP_ATTR_INT] = RLX_ATTR_INT,
    [RELAX_OP_ATTR_BOOL] = RLX_ATTR_BOOL,
    [RELAX_OP_ATTR_FLOAT] = RLX_ATTR_FLOAT,
    [RELAX_OP_ATTR_STRING] = RLX_ATTR_STRING,
    [RELAX_OP_ATTR_DTYPE] = RLX_ATTR_DTYPE,
    [RELAX_OP_ATTR_INTS] = RLX_ATTR_INTS,
    [RELAX_OP_ATTR_INT_OR_NONE] = RLX_ATTR_INT_OR_NONE,
    [RELAX_OP_ATTR_INTS_OR_NONE] = RLX_ATTR_INTS_OR_NONE,
    [RELAX_OP_ATTR_FLOAT_OR_NONE] = RLX_ATTR_FLOAT_OR_NONE,
    [RELAX_OP_ATTR_STRING_OR_NONE] = RLX_ATTR_STRING_OR_NONE,
    [RELAX_OP_ATTR_INT_OR_INTS] = RLX_ATTR_INT_OR_INTS,
    [RELAX_OP_ATTR_OTHER] = RLX_ATTR_ANY,
    [RELAX_OP_ATTR_BOOL_OR_NONE] = RLX_ATTR_BOOL_OR_NONE,
};

static bool args_are_sane(relax_context *ctx, const relax_op_options *o, rlx_slice name)
{
    bool variadic = o->variadic != 0;
    if (o->num_args > RLX_OP_MAX_ARGS || o->min_args > o->num_args || (variadic && !o->num_args))
        return refuse(ctx, RLX_OP03, name, "its numbers of arguments make no sense");
    if (!are_names(ctx, name, o->arg_names, o->num_args, NULL, 0) ||
        (o->num_args && !rlx_api_required(ctx, o->arg_kinds, "arg_kinds")))
        return false;
    for (size_t i = 0; i < o->num_args; i++)
        if (o->arg_kinds[i] < RELAX_OP_ARG_TENSOR ||
            o->arg_kinds[i] >= (int32_t)RLX_COUNT(arg_kinds))
            return refuse(ctx, RLX_OP03, name, "there is no kind of argument of that number");
    return true;
}

static bool attrs_are_sane(relax_context *ctx, const relax_op_options *o, rlx_slice name)
{
    if (o->num_attrs > RLX_OP_MAX_ATTRS)
        return refuse(ctx, RLX_OP03, name, "it has more than 12 attributes");
    if (!are_names(ctx, name, o->attr_names, o->num_attrs, o->arg_names, o->num_args) ||
        (o->num_attrs && (!rlx_api_required(ctx, o->attr_types, "attr_types") ||
                          !rlx_api_required(ctx, o->attr_defaults, "attr_defaults"))))
        return false;
    for (size_t i = 0; i < o->num_attrs; i++) {
        int32_t type = o->attr_types[i];
        if (type < RELAX_OP_ATTR_INT || type >= (int32_t)RLX_COUNT(attr_types))
            return refuse(ctx, RLX_OP03, name, "there is no type of attribute of that number");
        rlx_slice text = rlx_slice_z(o->attr_defaults[i] ? o->attr_defaults[i] : "");
        if (o->attr_defaults[i] && (rlx_utf8_valid(text.data, text.len) != text.len ||
                                    !rlx_op_default_fits(attr_types[type], text.data)))
            return refuse(ctx, RLX_OP12, name, "the default of an attribute is not of its type");
    }
    return true;
}

static const char *text_of(relax_context *ctx, const char *text, size_t len)
{
    rlx_slice copy;
    return text && rlx_api_row_text(ctx, text, len, &copy) ? copy.data : NULL;
}

static bool fill_args(relax_context *ctx, const relax_op_options *o, rlx_op_row *row)
{
    rlx_op_arg *args = rlx_api_row_new(ctx, (o->num_args + 1) * sizeof *args);
    bool good = args != NULL;
    for (size_t i = 0; good && i < o->num_args; i++) {
        args[i] = (rlx_op_arg){ text_of(ctx, o->arg_names[i], strlen(o->arg_names[i])),
                                arg_kinds[o->arg_kinds[i]], i >= o->min_args };
        good = args[i].name != NULL;
    }
    row->args = args;
    row->num_args = (uint8_t)o->num_args;
    row->min_args = (uint8_t)o->min_args;
    return good;
}

static bool fill_attrs(relax_context *ctx, const relax_op_options *o, rlx_op_row *row)
{
    rlx_op_attr *attrs = rlx_api_row_new(ctx, (o->num_attrs + 1) * sizeof *attrs);
    bool good = attrs != NULL;
    for (size_t i = 0; good && i < o->num_attrs; i++) {
        const char *deflt = o->attr_defaults[i];
        attrs[i] = (rlx_op_attr){ .name = text_of(ctx, o->attr_names[i], strlen(o->attr_names[i])),
                                  .type = attr_types[o->attr_types[i]],
                                  .deflt = deflt ? text_of(ctx, deflt, strlen(deflt)) : NULL,
                                  .help = "" };
        good = attrs[i].name && (!deflt || attrs[i].deflt);
    }
    row->attrs = attrs;
    row->num_attrs = (uint8_t)o->num_attrs;
    return good;
}

static bool fill_row(relax_context *ctx, const relax_op_options *o, rlx_slice name, host_op *h)
{
    rlx_op_row *row = &h->op.op;
    static const char prefix[] = "relax.";
    enum { PREFIX = sizeof prefix - 1 };
    char *full = rlx_api_row_new(ctx, PREFIX + name.len + 1);
    if (!full)
        return false;
    memcpy(full, prefix, PREFIX);
    memcpy(full + PREFIX, name.data, name.len);
    h->infer = o->infer;
    h->lower = o->lower;
    h->op.row = (rlx_extension_row){ { full + PREFIX, name.len }, o->user, o->destroy };
    h->op.infer = o->infer ? ask_infer : NULL;
    h->op.lower = o->lower ? ask_lower : NULL;
    row->name = full;
    row->short_name = full + PREFIX;
    int purity = o->pure > 0 ? RLX_OP_PURE : o->pure < 0 ? RLX_OP_UNSTATED : 0;
    row->flags =
        (uint16_t)(RLX_OP_HOST | purity | (o->variadic ? RLX_OP_VARARGS : 0));
    row->pattern = RLX_OPAQUE;
    row->infer = o->infer ? rlx_infer_host : NULL;
    row->lower = o->lower ? rlx_lower_host : NULL;
    row->packed = text_of(ctx, o->packed, o->packed_len);
    row->help = text_of(ctx, o->help ? o->help : "", o->help ? o->help_len : 0);
    return fill_args(ctx, o, row) && fill_attrs(ctx, o, row) && row->help &&
           (!o->packed || row->packed);
}

static bool add_op(relax_context *ctx, const relax_op_options *o)
{
    rlx_slice name, text;
    if (!op_name(ctx, o, &name) || !args_are_sane(ctx, o, name) || !attrs_are_sane(ctx, o, name) ||
        (o->packed && !rlx_api_name(ctx, o->packed, o->packed_len, "packed", &text)) ||
        (o->help && !rlx_api_text(ctx, o->help, o->help_len, "help", &text)))
        return false;
    host_op *h = rlx_api_row_new(ctx, sizeof *h);
    return h && fill_row(ctx, o, name, h) &&
           rlx_vec_push(&ctx->memory, &ctx->extensions->ops, &h->op);
}

relax_status relax_op_register(relax_context *ctx, const relax_op_options *options)
{
    relax_op_options o = op_defaults;
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    bool read = rlx_api_options(ctx, &o, sizeof o, options, "relax_op_options");
    return rlx_api_registered(ctx, read && add_op(ctx, &o), errors, o.user, o.destroy);
}

/* ---- derive functions ----------------------------------------------------------------------- */

typedef struct host_derive { rlx_extension_derive row; relax_derive_fn derive; } host_derive;

static const rlx_sinfo *ask_derive(const rlx_extension_derive *d, rlx_extension_view *view)
{
    return node_of(((const host_derive *)d)->derive(d->row.user, view->ctx, VIEW(view)));
}

static bool add_derive(relax_context *ctx, rlx_slice name, host_derive like)
{
    if (rlx_extension_derive_find(ctx, name))
        return rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "there is a derive function %.*s already",
                         rlx_api_width(name), name.data) != NULL;
    host_derive *d = rlx_api_row_new(ctx, sizeof *d);
    if (!d)
        return false;
    *d = like;
    return rlx_api_row_text(ctx, name.data, name.len, &d->row.row.name) &&
           rlx_vec_push(&ctx->memory, &ctx->extensions->derives, &d->row);
}

relax_status relax_derive_register(relax_context *ctx, const char *name, size_t name_len,
                                   relax_derive_fn derive, void *user, void (*destroy)(void *user))
{
    rlx_slice slice;
    host_derive d = { .row = { .row = { .user = user, .destroy = destroy }, .derive = ask_derive },
                      .derive = derive };
    if (!RLX_API_CONTEXT(ctx)) {
        if (destroy)
            destroy(user);
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    size_t errors = rlx_error_count(ctx);
    if (!derive)
        rlx_error(ctx, RLX_OP01, RLX_NO_PLACE, "derive is NULL");
    bool good =
        derive && rlx_api_name(ctx, name, name_len, "name", &slice) && add_derive(ctx, slice, d);
    return rlx_api_registered(ctx, good, errors, user, destroy);
}

relax_struct_info *relax_struct_info_derived_func_new(relax_context *ctx, const char *name,
                                                      size_t name_len, const relax_struct_info *ret,
                                                      int32_t pure)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rlx_api_name(ctx, name, name_len, "name", &slice) &&
              (!ret || rlx_api_family(ctx, ret, RLX_FAMILY_SINFO, "ret"));
    const rlx_string *text = ok ? rlx_string_intern(ctx, slice) : NULL;
    const rlx_sinfo *result = ret ? node_of(ret) : rlx_object_info(ctx);
    return give(ctx, text ? rlx_opaque_func_info(ctx, RLX_DERIVE_NAMED, text, result, pure != 0)
                          : NULL);
}
