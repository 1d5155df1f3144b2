/* api_attr.c: attribute values. */
#include "api/api_int.h"

#define ATTR(p) ((const rlx_attr *)(const void *)(p))

/* Attributes hold nodes of any family. */
static bool is_node(relax_context *ctx, const void *handle, const char *what)
{
    const rlx_node *n = handle;
    if (!rlx_api_node(ctx, handle, what))
        return false;
    if (n->kind > RLX_NODE_NONE && n->kind < RLX_NODE_COUNT)
        return true;
    rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%s is no attribute value", what);
    return false;
}

relax_attr *relax_attr_none_new(relax_context *ctx)
{
    return RLX_API_CONTEXT(ctx) ? give(ctx, rlx_attr_none(ctx)) : NULL;
}
relax_attr *relax_attr_int_new(relax_context *ctx, int64_t value)
{
    return RLX_API_CONTEXT(ctx) ? give(ctx, rlx_attr_int_new(ctx, value)) : NULL;
}
relax_attr *relax_attr_bool_new(relax_context *ctx, int32_t value)
{
    return RLX_API_CONTEXT(ctx) ? give(ctx, rlx_attr_bool_new(ctx, value != 0)) : NULL;
}
relax_attr *relax_attr_float_new(relax_context *ctx, double value)
{
    return RLX_API_CONTEXT(ctx) ? give(ctx, rlx_attr_float_new(ctx, value)) : NULL;
}

relax_attr *relax_attr_string_new(relax_context *ctx, const char *text, size_t len)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx,
                rlx_api_required(ctx, text, "text") && rlx_api_text(ctx, text, len, "text", &slice)
                    ? rlx_attr_string_new(ctx, slice)
                    : NULL);
}

relax_attr *relax_attr_dtype_new(relax_context *ctx, relax_dtype dtype)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    return give(ctx,
                rlx_api_dtype(ctx, dtype, true, "dtype") ? rlx_attr_dtype_new(ctx, dtype) : NULL);
}

relax_attr *relax_attr_list_new(relax_context *ctx, const relax_attr *const *items, size_t count)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok = rlx_api_array(ctx, (const void *const *)items, count, "items");
    for (size_t i = 0; ok && i < count; i++)
        ok = is_node(ctx, items[i], "items");
    return give(ctx, ok ? rlx_attr_list_new(ctx, nodes_of(items), count) : NULL);
}

relax_attr *relax_attr_ints_new(relax_context *ctx, const int64_t *values, size_t count)
{
    if (!RLX_API_CONTEXT(ctx) || (count && !rlx_api_required(ctx, values, "values")))
        return RLX_API_READS(ctx) ? give(ctx, NULL) : NULL;
    RLX_VEC(const rlx_attr *) items = { 0 };
    bool ok = rlx_vec_reserve(&ctx->memory, &items, count) || !count;
    for (size_t i = 0; ok && i < count; i++)
        ok = (items.data[i] = rlx_attr_int_new(ctx, values[i])) != NULL;
    const rlx_attr *list = ok ? rlx_attr_list_new(ctx, items.data, count) : NULL;
    rlx_vec_free(&ctx->memory, &items);
    return give(ctx, list);
}

relax_attr *relax_attr_vdevice_new(relax_context *ctx, const relax_attr *target, int32_t id,
                                   const char *scope, size_t scope_len)
{
    rlx_slice memory = RLX_SLICE("global");
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if ((scope && !rlx_api_text(ctx, scope, scope_len, "scope", &memory)) ||
        (target && !is_node(ctx, target, "target")))
        return give(ctx, NULL);
    const rlx_attr *t = ATTR(target);
    if (rlx_is(t, RLX_NODE_ATTR_NULL))
        t = NULL;
    if (t && t->kind != RLX_NODE_ATTR_STRING && t->kind != RLX_NODE_ATTRS)
        return give(ctx, rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "target is no string and no map"));
    if (id < 0)
        return give(ctx, rlx_error(ctx, RLX_OP03, RLX_NO_PLACE, "device number %d is negative",
                                   (int)id));
    rlx_vdevice key = { .node = { .kind = RLX_NODE_VDEVICE },
                        .target = t,
                        .id = id,
                        .scope = rlx_string_intern(ctx, memory) };
    return give(ctx, key.scope ? rlx_node_intern(ctx, &key.node) : NULL);
}

relax_attr *relax_attr_map_with(relax_context *ctx, const relax_attr *map, const char *key,
                                size_t key_len, const relax_attr *value)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    if (!rlx_api_map_or_null(ctx, map, "map") || !rlx_api_name(ctx, key, key_len, "key", &slice) ||
        (value && !is_node(ctx, value, "value")))
        return give(ctx, NULL);
    const rlx_string *name = rlx_string_intern(ctx, slice); /* NUL-terminated */
    return give(ctx, name ? rlx_attrs_with(ctx, ATTR(map), name->data, ATTR(value)) : NULL);
}

/* ---- getters */

int32_t relax_attr_kind(const relax_attr *attr)
{
    if (!attr)
        return 0;
    switch (ATTR(attr)->kind) {
    case RLX_NODE_ATTR_NULL: return RELAX_ATTR_KIND_NONE;
    case RLX_NODE_ATTR_INT: return RELAX_ATTR_KIND_INT;
    case RLX_NODE_ATTR_BOOL: return RELAX_ATTR_KIND_BOOL;
    case RLX_NODE_ATTR_FLOAT: return RELAX_ATTR_KIND_FLOAT;
    case RLX_NODE_ATTR_STRING: return RELAX_ATTR_KIND_STRING;
    case RLX_NODE_ATTR_DTYPE: return RELAX_ATTR_KIND_DTYPE;
    case RLX_NODE_ATTR_LIST: return RELAX_ATTR_KIND_LIST;
    case RLX_NODE_ATTRS: return RELAX_ATTR_KIND_MAP;
    default: return RELAX_ATTR_KIND_NODE;
    }
}

relax_status relax_attr_int_value(const relax_attr *attr, int64_t *out)
{
    const rlx_attr_int *i = rlx_as_attr_int(ATTR(attr));
    if (out)
        *out = i ? i->value : 0;
    return i && out ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_attr_float_value(const relax_attr *attr, double *out)
{
    const rlx_attr_float *f = rlx_as_attr_float(ATTR(attr));
    if (out)
        *out = f ? f->value : 0;
    return f && out ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

static const char *text_of(const rlx_string *s, size_t *len)
{
    if (len)
        *len = s ? s->len : 0;
    return s ? s->data : NULL;
}

const char *relax_attr_string_value(const relax_attr *attr, size_t *len)
{
    const rlx_attr_string *s = rlx_as_attr_string(ATTR(attr));
    return text_of(s ? s->value : NULL, len);
}

relax_dtype relax_attr_dtype_value(const relax_attr *attr)
{
    const rlx_attr_dtype *d = rlx_as_attr_dtype(ATTR(attr));
    return d ? d->value : RELAX_VOID;
}

size_t relax_attr_count(const relax_attr *attr)
{
    const rlx_attr_list *l = rlx_as_attr_list(ATTR(attr));
    const rlx_attrs *m = rlx_as_attrs(ATTR(attr));
    return l ? l->num_items : m ? m->num_keys : 0;
}

const relax_attr *relax_attr_at(const relax_attr *attr, size_t index)
{
    const rlx_attr_list *l = rlx_as_attr_list(ATTR(attr));
    const rlx_attrs *m = rlx_as_attrs(ATTR(attr));
    const rlx_node *found = NULL;
    if (l && index < l->num_items)
        found = l->items[index];
    else if (m && index < m->num_values)
        found = m->values[index];
    return (const relax_attr *)(const void *)found;
}

const char *relax_attr_key(const relax_attr *attr, size_t index, size_t *len)
{
    const rlx_attrs *m = rlx_as_attrs(ATTR(attr));
    const rlx_attr_string *key =
        m && index < m->num_keys ? rlx_as_attr_string(m->keys[index]) : NULL;
    return text_of(key ? key->value : NULL, len);
}

const relax_attr *relax_attr_find(const relax_attr *map, const char *key, size_t key_len)
{
    const rlx_attrs *m = rlx_as_attrs(ATTR(map));
    for (size_t i = 0; m && key && i < m->num_keys; i++) {
        const rlx_attr_string *k = rlx_as_attr_string(m->keys[i]);
        if (k && rlx_slice_equal(rlx_string_slice(k->value), (rlx_slice){ key, key_len }))
            return (const relax_attr *)(const void *)m->values[i];
    }
    return NULL;
}
