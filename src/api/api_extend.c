/* api_extend.c: kinds of struct info that a host adds. */
#include <relax/analysis.h>
#include <relax/extend.h>
#include "api/api_int.h"

#include "api/api_extend.h"

#define INFO(p) ((const relax_struct_info *)(const void *)(p))

relax_status relax_context_report(relax_context *ctx, relax_place place, const char *text,
                                  size_t text_len)
{
    rlx_slice said;
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (!rlx_api_name(ctx, text, text_len, "text", &said))
        return give_status(ctx, RELAX_ERROR_INVALID_ARGUMENT);
    rlx_error(ctx, RLX_OP17, place, "%.*s", (int)(said.len < INT32_MAX ? said.len : 0), said.data);
    return give_status(ctx, RELAX_OK);
}

/* ---- rows ----------------------------------------------------------------------------------- */

void *rlx_api_row_new(relax_context *ctx, size_t size)
{
    rlx_extensions *h = rlx_extensions_of(ctx);
    void *row = h ? rlx_region_zero(&h->region, size) : NULL;
    return row;
}

bool rlx_api_row_text(relax_context *ctx, const char *text, size_t len, rlx_slice *out)
{
    char *copy = rlx_region_alloc(&ctx->extensions->region, len + 1);
    if (!copy)
        return false;
    if (len)
        memcpy(copy, text, len);
    copy[len] = 0;
    *out = (rlx_slice){ copy, len };
    return true;
}

relax_status rlx_api_registered(relax_context *ctx, bool good, size_t errors, void *user,
                                void (*destroy)(void *user))
{
    if (good)
        return give_status(ctx, RELAX_OK);
    if (destroy)
        destroy(user);
    relax_status status = rlx_api_failed(ctx, errors);
    return status == RELAX_OK ? RELAX_ERROR_OUT_OF_MEMORY : status;
}

/* ---- kinds ---------------------------------------------------------------------------------- */

typedef struct kind { rlx_extension_kind row; relax_kind_options o; } kind;

static const relax_kind_options kind_defaults = { .struct_size = sizeof(relax_kind_options),
                                                  .max_operands = SIZE_MAX };

relax_status relax_kind_options_init(relax_kind_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &kind_defaults, sizeof kind_defaults);
}

static const relax_kind_options *options_of(const rlx_extension_kind *k)
{
    return &((const kind *)k)->o;
}

static int32_t ask_equal(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *a,
                         const rlx_sinfo *b)
{
    return options_of(k)->equal(k->row.user, ctx, INFO(a), INFO(b));
}

static int32_t ask_fit(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *a,
                       const rlx_sinfo *b)
{
    return options_of(k)->fit(k->row.user, ctx, INFO(a), INFO(b));
}

static const rlx_sinfo *ask_lub(const rlx_extension_kind *k, rlx_context *ctx, const rlx_sinfo *a,
                                const rlx_sinfo *b)
{
    return node_of(options_of(k)->lub(k->row.user, ctx, INFO(a), INFO(b)));
}

static const rlx_sinfo *ask_erase(const rlx_extension_kind *k, rlx_context *ctx,
                                  const rlx_sinfo *info, const int32_t *visible, size_t count)
{
    return node_of(options_of(k)->erase(k->row.user, ctx, INFO(info), visible, count));
}

static const rlx_sinfo *ask_type(const rlx_extension_kind *k, rlx_context *ctx,
                                 const rlx_sinfo *info)
{
    return node_of(options_of(k)->static_type(k->row.user, ctx, INFO(info)));
}

static bool ask_print(const rlx_extension_kind *k, const rlx_sinfo *info, rlx_extension_sink *sink)
{
    relax_kind_sink *handle = (relax_kind_sink *)(void *)sink;
    return options_of(k)->print(k->row.user, INFO(info), handle) == 0;
}

static const rlx_sinfo *ask_read(const rlx_extension_kind *k, rlx_context *ctx,
                                 const rlx_node *const *args, const char *const *names,
                                 size_t count)
{
    const relax_node *const *handles = (const relax_node *const *)(const void *)args;
    return node_of(options_of(k)->read(k->row.user, ctx, handles, names, count));
}

bool rlx_api_is_identifier(rlx_slice s)
{
    return s.len <= RLX_API_LONGEST_NAME && rlx_is_identifier(s);
}

static bool kind_name(relax_context *ctx, const relax_kind_options *o, rlx_slice *name)
{
    static const char *const taken[] = { "Object", "Prim",      "Shape",      "Tensor",  "Tuple",
                                         "Any",    "Func",      "Callable",   "DTensor", "If",
                                         "SeqExpr", "ShapeExpr", "ExternFunc", "TupleGetItem" };
    if (!rlx_api_name(ctx, o->name, o->name_len, "name", name))
        return false;
    if (!rlx_api_is_identifier(*name) || name->data[0] < 'A' || name->data[0] > 'Z')
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                         "%.*s is no name of a kind: a capital, then letters, digits and '_', at "
                         "most %d",
                         rlx_api_width(*name), name->data, RLX_API_LONGEST_NAME) != NULL;
    bool is_taken = rlx_extension_kind_find(ctx, *name) != NULL;
    for (size_t i = 0; i < RLX_COUNT(taken); i++)
        is_taken |= rlx_slice_is(*name, taken[i]);
    return !is_taken || rlx_error(ctx, RLX_OP16, RLX_NO_PLACE, "there is an R.%.*s already",
                                  (int)name->len, name->data) != NULL;
}

static bool kind_is_sane(relax_context *ctx, const relax_kind_options *o, rlx_slice *check)
{
    *check = (rlx_slice){ "", 0 };
    if (o->check && !rlx_api_name(ctx, o->check, o->check_len, "check", check))
        return false;
    if (!o->print != !o->read)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                         "print and read of a kind go together: what is printed reads back") !=
               NULL;
    if (o->min_operands <= o->max_operands)
        return true;
    return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "min_operands %zu is above max_operands %zu",
                     o->min_operands, o->max_operands) != NULL;
}

static bool add_kind(relax_context *ctx, const relax_kind_options *o)
{
    rlx_slice name, check;
    if (!kind_name(ctx, o, &name) || !kind_is_sane(ctx, o, &check))
        return false;
    kind *k = rlx_api_row_new(ctx, sizeof *k);
    if (!k)
        return false;
    k->o = *o;
    k->row = (rlx_extension_kind){ .ctx = ctx,
                                   .row = { .user = o->user, .destroy = o->destroy },
                                   .min_operands = o->min_operands,
                                   .max_operands = o->max_operands,
                                   .equal = o->equal ? ask_equal : NULL,
                                   .fit = o->fit ? ask_fit : NULL,
                                   .lub = o->lub ? ask_lub : NULL,
                                   .erase = o->erase ? ask_erase : NULL,
                                   .static_type = o->static_type ? ask_type : NULL,
                                   .print = o->print ? ask_print : NULL,
                                   .read = o->read ? ask_read : NULL };
    return rlx_api_row_text(ctx, name.data, name.len, &k->row.row.name) &&
           rlx_api_row_text(ctx, check.data, check.len, &k->row.check) &&
           rlx_vec_push(&ctx->memory, &ctx->extensions->kinds, &k->row);
}

relax_status relax_kind_register(relax_context *ctx, const relax_kind_options *options)
{
    relax_kind_options o = kind_defaults;
    if (!RLX_API_CONTEXT(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    size_t errors = rlx_error_count(ctx);
    bool read = rlx_api_options(ctx, &o, sizeof o, options, "relax_kind_options");
    return rlx_api_registered(ctx, read && add_kind(ctx, &o), errors, o.user, o.destroy);
}

/* ---- their text ----------------------------------------------------------------------------- */

static relax_status add_argument(relax_kind_sink *sink, const char *name, const char *text,
                                 const rlx_node *const *operand)
{
    rlx_extension_sink *s = (rlx_extension_sink *)(void *)sink;
    rlx_extension_argument a = { name, operand, text };
    bool good = (!name || rlx_api_is_identifier(rlx_slice_z(name))) && (text || operand);
    for (const char *c = good && text ? text : ""; *c; c++)
        good &= *c >= ' ' && *c < 0x7f && *c != '"' && *c != '\\';
    bool kept = good && rlx_vec_push(s->memory, &s->args, a);
    s->failed |= !kept;
    return kept ? RELAX_OK : good ? RELAX_ERROR_OUT_OF_MEMORY : RELAX_ERROR_INVALID_ARGUMENT;
}

static const rlx_extension_sink *sink_of(const relax_kind_sink *sink)
{
    const rlx_extension_sink *s = (const rlx_extension_sink *)(const void *)sink;
    return s && s->node.kind == RLX_NODE_NONE && s->node.id == RLX_EXTENSION_SINK_ID ? s : NULL;
}

relax_status relax_kind_sink_operand(relax_kind_sink *sink, const char *name, size_t index)
{
    const rlx_extension_sink *s = sink_of(sink);
    const rlx_extension_sinfo *info = s ? rlx_as_extension_sinfo(s->info) : NULL;
    if (!info)
        return RELAX_ERROR_INVALID_ARGUMENT;
    return add_argument(sink, name, NULL,
                        index < info->num_operands ? &info->operands[index] : NULL);
}

relax_status relax_kind_sink_text(relax_kind_sink *sink, const char *name, const char *text)
{
    return sink_of(sink) ? add_argument(sink, name, text, NULL) : RELAX_ERROR_INVALID_ARGUMENT;
}

/* ---- struct info of them -------------------------------------------------------------------- */

static bool is_operand(const rlx_node *n)
{
    switch (n->kind) {
    case RLX_NODE_VAR: case RLX_NODE_DATAFLOW_VAR: case RLX_NODE_SHAPE_EXPR:
    case RLX_NODE_STRING_IMM: case RLX_NODE_DTYPE_IMM: case RLX_NODE_PRIM_VALUE: return true;
    default: break;
    }
    return rlx_family_of(n) == RLX_FAMILY_SINFO ||
           (rlx_family_of(n) == RLX_FAMILY_PRIM && rlx_prim_dtype(n) == RELAX_INT64);
}

static bool are_operands(relax_context *ctx, const relax_node *const *operands, size_t count)
{
    if (!rlx_api_array(ctx, (const void *const *)operands, count, "operands"))
        return false;
    for (size_t i = 0; i < count; i++) {
        const rlx_node *n = node_of(operands[i]);
        if (!rlx_api_node(ctx, n, "operands"))
            return false;
        if (n->kind <= RLX_NODE_NONE || n->kind >= RLX_NODE_COUNT || !is_operand(n))
            return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE,
                             "operand %zu is neither an integer, a shape, a variable, a value nor "
                             "struct info",
                             i) != NULL;
    }
    return true;
}

static const rlx_sinfo *host_info(relax_context *ctx, rlx_slice name,
                                  const relax_node *const *operands, size_t count)
{
    const rlx_extension_kind *k = rlx_extension_kind_find(ctx, name);
    if (!k)
        return rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "no kind of struct info is called %.*s",
                         rlx_api_width(name), name.data);
    if (count < k->min_operands || count > k->max_operands)
        return rlx_error(ctx, RLX_OP03, RLX_NO_PLACE,
                         "R.%.*s takes %zu to %zu operands, found %zu", (int)name.len,
                         name.data, k->min_operands, k->max_operands, count);
    return rlx_extension_info(ctx, rlx_string_intern(ctx, name), nodes_of(operands), count);
}

relax_struct_info *relax_struct_info_extension_new(relax_context *ctx, const char *name,
                                                   size_t name_len,
                                                   const relax_node *const *operands,
                                                   size_t num_operands)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rlx_api_name(ctx, name, name_len, "name", &slice) &&
              are_operands(ctx, operands, num_operands);
    return give(ctx, ok ? host_info(ctx, slice, operands, num_operands) : NULL);
}

const char *relax_struct_info_extension_name(const relax_struct_info *info, size_t *len)
{
    const rlx_extension_sinfo *s = rlx_as_extension_sinfo(node_of(info));
    if (len)
        *len = s ? s->name->len : 0;
    return s ? s->name->data : NULL;
}

size_t relax_struct_info_num_operands(const relax_struct_info *info)
{
    const rlx_extension_sinfo *s = rlx_as_extension_sinfo(node_of(info));
    return s ? s->num_operands : RELAX_NOT_FOUND;
}

const relax_node *relax_struct_info_operand(const relax_struct_info *info, size_t index)
{
    const rlx_extension_sinfo *s = rlx_as_extension_sinfo(node_of(info));
    return (const relax_node *)(const void *)(s && index < s->num_operands ? s->operands[index]
                                                                           : NULL);
}
