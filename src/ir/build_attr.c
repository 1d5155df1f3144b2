/* build_attr.c: constructors of attributes and attribute maps. */
#include "ir/ir_int.h"

const rlx_attr *rlx_attr_none(rlx_context *ctx)
{
    rlx_attr_null key = { .node.kind = RLX_NODE_ATTR_NULL };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_attr *rlx_attr_int_new(rlx_context *ctx, int64_t v)
{
    rlx_attr_int key = { .node.kind = RLX_NODE_ATTR_INT, .value = v };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_attr *rlx_attr_bool_new(rlx_context *ctx, bool v)
{
    rlx_attr_int key = { .node.kind = RLX_NODE_ATTR_BOOL, .value = v };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_attr *rlx_attr_float_new(rlx_context *ctx, double v)
{
    rlx_attr_float key = { .node.kind = RLX_NODE_ATTR_FLOAT, .value = v };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_attr *rlx_attr_string_new(rlx_context *ctx, rlx_slice v)
{
    rlx_attr_string key = { .node.kind = RLX_NODE_ATTR_STRING,
                            .value = rlx_string_intern(ctx, v) };
    return key.value ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_attr *rlx_attr_dtype_new(rlx_context *ctx, rlx_dtype v)
{
    rlx_attr_dtype key = { .node.kind = RLX_NODE_ATTR_DTYPE, .value = v };
    return rlx_node_intern(ctx, &key.node);
}

const rlx_attr *rlx_attr_list_new(rlx_context *ctx, const rlx_attr *const *items, size_t count)
{
    rlx_attr_list key = { .node.kind = RLX_NODE_ATTR_LIST, .items = items, .num_items = count };
    return rlx_all_there(items, count) ? rlx_node_intern(ctx, &key.node) : NULL;
}

static rlx_slice key_text(const rlx_attr *key)
{
    const rlx_attr_string *s = rlx_as_attr_string(key);
    return s ? rlx_string_slice(s->value) : (rlx_slice){ "", 0 };
}

static int compare_keys(const rlx_attr *a, const rlx_attr *b)
{
    rlx_slice x = key_text(a), y = key_text(b);
    int order = memcmp(x.data, y.data, x.len < y.len ? x.len : y.len);
    return order ? order : (x.len > y.len) - (x.len < y.len);
}

struct entry { const rlx_attr *key, *value; };

/* Bottom-up merge sort: stable, so that of equal keys the later stays behind the earlier.
 * Result in `a`. */
static void sort_entries(struct entry *a, struct entry *spare, size_t count)
{
    for (size_t width = 1; width < count; width *= 2) {
        for (size_t start = 0; start < count; start += 2 * width) {
            size_t mid = start + width < count ? start + width : count;
            size_t end = mid + width < count ? mid + width : count;
            for (size_t i = start, j = mid, k = start; k < end; k++) {
                bool left = i < mid && (j >= end || compare_keys(a[i].key, a[j].key) <= 0);
                spare[k] = left ? a[i++] : a[j++];
            }
        }
        memcpy(a, spare, count * sizeof *a);
    }
}

/* Entries sorted and without all but the last of equal keys; returns how many are left. */
static size_t sort_unique(struct entry *a, struct entry *spare, size_t count)
{
    size_t kept = 0;
    sort_entries(a, spare, count);
    for (size_t i = 0; i < count; i++)
        if (i + 1 == count || compare_keys(a[i].key, a[i + 1].key) != 0)
            a[kept++] = a[i];
    return kept;
}

const rlx_attr *rlx_attrs_in_order(rlx_context *ctx, const rlx_attr *const *keys,
                                   const rlx_attr *const *values, size_t count)
{
    rlx_attrs key = { .node.kind = RLX_NODE_ATTRS,
                      .keys = keys,
                      .num_keys = count,
                      .values = values,
                      .num_values = count };
    return rlx_all_there(keys, count) && rlx_all_there(values, count)
               ? rlx_node_intern(ctx, &key.node)
               : NULL;
}

/* Working memory for count entries, twice, and two arrays of nodes. */
struct sort_buffer {
    struct entry *entries, *spare;
    const rlx_node **keys, **values;
    void *block;
    size_t bytes;
};

static bool get_buffer(rlx_context *ctx, size_t count, struct sort_buffer *r)
{
    size_t each = 2 * sizeof(struct entry) + 2 * sizeof(rlx_node *);
    if (!rlx_mul_size(count ? count : 1, each, &r->bytes))
        return rlx_mem_overflow(&ctx->memory);
    r->block = rlx_mem_alloc(&ctx->memory, r->bytes);
    if (!r->block)
        return false;
    r->entries = r->block;
    r->spare = r->entries + count;
    r->keys = (const rlx_node **)(r->spare + count);
    r->values = r->keys + count;
    return true;
}

const rlx_attr *rlx_attrs_new(rlx_context *ctx, const rlx_attr *const *keys,
                              const rlx_attr *const *values, size_t count)
{
    struct sort_buffer r;
    if (count <= 1)
        return rlx_attrs_in_order(ctx, keys, values, count);
    if (!rlx_all_there(keys, count) || !rlx_all_there(values, count) || !get_buffer(ctx, count, &r))
        return NULL;
    for (size_t i = 0; i < count; i++)
        r.entries[i] = (struct entry){ keys[i], values[i] };
    size_t kept = sort_unique(r.entries, r.spare, count);
    for (size_t i = 0; i < kept; i++) {
        r.keys[i] = r.entries[i].key;
        r.values[i] = r.entries[i].value;
    }
    const rlx_attr *a = rlx_attrs_in_order(ctx, r.keys, r.values, kept);
    rlx_mem_free(&ctx->memory, r.block, r.bytes);
    return a;
}

static size_t find_key(const rlx_attrs *a, const char *key)
{
    rlx_slice want = rlx_slice_z(key);
    for (size_t i = 0; i < a->num_keys; i++)
        if (rlx_slice_equal(key_text(a->keys[i]), want))
            return i;
    return SIZE_MAX;
}

const rlx_attr *rlx_attrs_get(const rlx_attr *attrs, const char *key)
{
    const rlx_attrs *a = rlx_as_attrs(attrs);
    size_t at = a ? find_key(a, key) : SIZE_MAX;
    return at != SIZE_MAX ? a->values[at] : NULL;
}

const rlx_attr *rlx_function_attrs(const rlx_node *function)
{
    const rlx_function *f = rlx_as_function(function);
    const rlx_prim_func *p = rlx_as_prim_func(function);
    return f ? f->attrs : p ? p->attrs : NULL;
}

const rlx_string *rlx_link_name(const rlx_node *function)
{
    const rlx_attr *name = rlx_attrs_get(rlx_function_attrs(function), "global_symbol");
    return rlx_as_attr_string(name) ? rlx_as_attr_string(name)->value : NULL;
}

bool rlx_flag_attr(const rlx_attr *attrs, const char *name)
{
    const rlx_attr *value = rlx_attrs_get(attrs, name);
    const rlx_attr_int *a = rlx_as_attr_int(value);
    int64_t literal = 0;
    return a ? a->value != 0 : value && rlx_int_literal(value, &literal) && literal;
}

bool rlx_products_are_separate(const rlx_attr *attrs)
{
    const rlx_attr_string *s = rlx_as_attr_string(rlx_attrs_get(attrs, "relax.arithmetic"));
    return s && rlx_slice_is(rlx_string_slice(s->value), "separate");
}

rlx_place rlx_attr_place(const rlx_node *function, const char *key)
{
    const rlx_function *f = rlx_as_function(function);
    const rlx_prim_func *p = rlx_as_prim_func(function);
    const rlx_attrs *a = rlx_as_attrs(f ? f->attrs : p ? p->attrs : NULL);
    const rlx_place *places = f ? f->attr_places : p ? p->attr_places : NULL;
    size_t count = f ? f->num_attr_places : p ? p->num_attr_places : 0;
    size_t at = a && a->num_keys == count ? find_key(a, key) : SIZE_MAX;
    return at != SIZE_MAX && places[at] ? places[at] : rlx_place_of(function);
}

/* The entries of a with entry `at` replaced (or dropped, value NULL), or one more at the end. */
static size_t edit(const rlx_attrs *a, size_t at, const rlx_attr *key, const rlx_attr *value,
                   struct sort_buffer *r)
{
    size_t n = 0, count = a ? a->num_keys : 0;
    for (size_t i = 0; i < count; i++) {
        if (i == at && !value)
            continue;
        r->keys[n] = a->keys[i];
        r->values[n++] = i == at ? value : a->values[i];
    }
    if (at == SIZE_MAX) {
        r->keys[n] = key;
        r->values[n++] = value;
    }
    return n;
}

const rlx_attr *rlx_attrs_with(rlx_context *ctx, const rlx_attr *attrs, const char *key,
                               const rlx_attr *value)
{
    const rlx_attrs *a = rlx_as_attrs(attrs);
    struct sort_buffer r;
    size_t at = a ? find_key(a, key) : SIZE_MAX;
    if (at == SIZE_MAX && !value)
        return a ? attrs : rlx_attrs_in_order(ctx, NULL, NULL, 0);
    const rlx_attr *name = rlx_attr_string_new(ctx, rlx_slice_z(key));
    if (!name || !get_buffer(ctx, (a ? a->num_keys : 0) + 1, &r))
        return NULL;
    size_t n = edit(a, at, name, value, &r);
    const rlx_attr *with = at == SIZE_MAX ? rlx_attrs_new(ctx, r.keys, r.values, n)
                                          : rlx_attrs_in_order(ctx, r.keys, r.values, n);
    rlx_mem_free(&ctx->memory, r.block, r.bytes);
    return with;
}
