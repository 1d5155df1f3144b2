/*- metadata_read.c: the metadata block of a text: JSON as TVM 0.20 writes it, or 0.27.
 *
 *   {"root": r, "nodes": [{"type_key": k, "attrs": {...}, "data": [...], "keys": [...]}, ...],
 *   "b64ndarrays": ["..."]}
 *   {"root_index": r, "nodes": [{"type": k, "data": ...}, ...]}
 *
 * In the first node 0 is null. In the second the data of a map are keys and values in turn, all of
 * them nodes, and it has strings only: 0.27 cannot write its constants. The root maps type keys to arrays of nodes; metadata["key"][i] is made into
 * IR when it is first used, and every use of the same entry gives the same object.
 */
/* built for size */
#include "script/reader.h"

struct rlx_metadata {
    const rlx_json *root;
    bool newer;               /* the layout of TVM 0.27 */
    const rlx_json **nodes; size_t num_nodes;
    const rlx_json **arrays; size_t num_arrays;
    const rlx_node **made;    /* by node index; NULL: not yet */
    const rlx_json *list;     /* the entries looked at last, as an array */
    const rlx_json **items;
};

static const rlx_json **children(rlx_region *region, const rlx_json *list)
{
    const rlx_json **out = rlx_region_array(region, list->count + 1, sizeof *out);
    size_t n = 0;
    for (const rlx_json *i = out ? list->first : NULL; i; i = i->next)
        out[n++] = i;
    return out;
}

static bool is_kind(const rlx_json *j, uint8_t kind) { return j && j->kind == kind; }

static struct rlx_metadata *broken(rlx_reader *r, const rlx_ast *at, const char *why)
{
    rlx_read_error(r, RLX_PA19, at, "damaged metadata: %s", why);
    return NULL;
}

struct rlx_metadata *rlx_metadata_load(rlx_reader *r, const rlx_ast *at, rlx_slice text)
{
    size_t error_at = 0;
    const char *why = NULL;
    /* slices point into the text, which lives in the tree of the statement: everything moves to
     * a region of its own */
    char *copy = rlx_region_copy(&r->module.kept, text.len ? text.data : "", text.len);
    struct rlx_metadata *m = copy ? rlx_region_zero(&r->module.kept, sizeof *m) : NULL;
    if (!m)
        return NULL;
    const rlx_json *j =
        rlx_json_parse(&r->module.kept, (rlx_slice){ copy, text.len }, &error_at, &why);
    if (!j)
        return broken(r, at, why ? why : "no JSON");
    const rlx_json *root = rlx_json_member(j, "root"), *nodes = rlx_json_member(j, "nodes"),
                   *arrays = rlx_json_member(j, "b64ndarrays");
    m->newer = !root;
    if (m->newer)
        root = rlx_json_member(j, "root_index");
    if (!is_kind(root, RLX_JSON_INT) || !is_kind(nodes, RLX_JSON_ARRAY))
        return broken(r, at, "root or nodes are missing");
    if (root->integer < 0 || (uint64_t)root->integer >= nodes->count)
        return broken(r, at, "the root is no node");
    m->num_nodes = nodes->count;
    m->nodes = children(&r->module.kept, nodes);
    m->made = rlx_region_array(&r->module.kept, nodes->count + 1, sizeof *m->made);
    if (is_kind(arrays, RLX_JSON_ARRAY)) {
        m->num_arrays = arrays->count;
        m->arrays = children(&r->module.kept, arrays);
    }
    if (!m->nodes || !m->made || (m->num_arrays && !m->arrays))
        return NULL;
    memset(m->made, 0, (nodes->count + 1) * sizeof *m->made);
    m->root = m->nodes[root->integer];
    return m;
}

/* ---- tensors -------------------------------------------------------------------------------- */

#define ARRAY_MAGIC 0xDD5E40F096B4A13Full
#define ARRAY_MAX_DIMS 64

static uint64_t read_u64(const unsigned char *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static uint32_t read_u32(const unsigned char *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

/* magic u64, reserved u64, device 2 * i32, ndim i32, dtype u8 u8 u16, shape i64[ndim], bytes
 * i64, data */
static const rlx_expr *decode_array(rlx_reader *r, const rlx_ast *at, const unsigned char *p,
                                    size_t len)
{
    int64_t shape[ARRAY_MAX_DIMS];
    if (len < 32 || read_u64(p) != ARRAY_MAGIC)
        return broken(r, at, "a tensor has no header"), NULL;
    uint32_t ndim = read_u32(p + 24);
    rlx_dtype dtype = rlx_dtype_make(p[28], p[29], p[30] | p[31] << 8);
    if (dtype == rlx_dtype_make(RELAX_DTYPE_UINT, 1, 1))
        dtype = RELAX_BOOL;
    if (ndim > ARRAY_MAX_DIMS || len - 32 < (size_t)ndim * 8 + 8)
        return broken(r, at, "a tensor is cut off"), NULL;
    size_t count = 1, bytes;
    for (uint32_t i = 0; i < ndim; i++) {
        shape[i] = (int64_t)read_u64(p + 32 + 8 * i);
        if (shape[i] < 0 || !rlx_mul_size(count, (size_t)shape[i], &count))
            return broken(r, at, "a tensor has an impossible shape"), NULL;
    }
    const unsigned char *data = p + 32 + 8 * (size_t)ndim;
    if (!rlx_dtype_is_computable(dtype) || !rlx_mul_size(count, rlx_dtype_bytes(dtype), &bytes) ||
        bytes != len - (size_t)(data + 8 - p) || read_u64(data) != bytes)
        return broken(r, at, "size or dtype of a tensor are wrong"), NULL;
    return rlx_constant_new(r->ctx, dtype, shape, ndim, data + 8, rlx_read_place(r, at));
}

static const rlx_json *attribute(const rlx_json *node, const char *name)
{
    return rlx_json_member(rlx_json_member(node, "attrs"), name);
}

/* Attribute values are texts: here a decimal index below `count`. */
static bool index_of(const rlx_json *value, size_t count, size_t *out)
{
    uint64_t v = 0;
    bool overflow = false;
    if (!is_kind(value, RLX_JSON_STRING) || !rlx_parse_u64(value->string, &v, &overflow) ||
        overflow || v >= count)
        return false;
    *out = (size_t)v;
    return true;
}

static const rlx_node *make_constant(rlx_reader *r, const rlx_ast *at, const rlx_json *node)
{
    size_t i = 0, len = 0;
    unsigned char *bytes = NULL;
    if (!index_of(attribute(node, "data"), r->module.metadata->num_arrays, &i) ||
        !is_kind(r->module.metadata->arrays[i], RLX_JSON_STRING))
        return broken(r, at, "a constant has no tensor"), NULL;
    rlx_region_mark mark = rlx_region_save(&r->module.kept);
    rlx_slice text = r->module.metadata->arrays[i]->string;
    const rlx_expr *e = rlx_base64_decode(text, &r->module.kept, &bytes, &len)
                            ? decode_array(r, at, bytes, len)
                            : (broken(r, at, "a tensor is no base64"), NULL);
    rlx_region_rewind(&r->module.kept, mark);
    return e;
}

/* ---- strings -------------------------------------------------------------------------------- */

/* "repr_str", or "repr_b64": u64 length, then the bytes */
static bool text_of(rlx_reader *r, const rlx_json *node, rlx_slice *out)
{
    const rlx_json *plain = rlx_json_member(node, r->module.metadata->newer ? "data" : "repr_str"),
                   *coded = rlx_json_member(node, "repr_b64");
    unsigned char *bytes;
    size_t len;
    if (is_kind(plain, RLX_JSON_STRING))
        return *out = plain->string, true;
    if (!is_kind(coded, RLX_JSON_STRING) ||
        !rlx_base64_decode(coded->string, &r->module.kept, &bytes, &len) || len < 8 ||
        read_u64(bytes) != len - 8)
        return false;
    *out = (rlx_slice){ (const char *)bytes + 8, len - 8 };
    return true;
}

/* A number of a node, as the second layout has them. NULL: it is none. */
static const rlx_json *node_of(const struct rlx_metadata *m, const rlx_json *number)
{
    return is_kind(number, RLX_JSON_INT) && number->integer >= 0 &&
                   (uint64_t)number->integer < m->num_nodes
               ? m->nodes[number->integer]
               : NULL;
}

/* The node with the text of a string of a PrimFunc. */
static const rlx_json *text_node(const struct rlx_metadata *m, const rlx_json *node)
{
    size_t i = 0;
    if (m->newer)
        return node_of(m, rlx_json_member(rlx_json_member(node, "data"), "value"));
    return index_of(attribute(node, "value"), m->num_nodes, &i) ? m->nodes[i] : NULL;
}

static const rlx_node *make_string(rlx_reader *r, const rlx_ast *at, const rlx_json *node,
                                   bool tir)
{
    rlx_slice text;
    if (tir && !(node = text_node(r->module.metadata, node)))
        return broken(r, at, "a string has no text"), NULL;
    if (!text_of(r, node, &text))
        return broken(r, at, "a string has no text"), NULL;
    if (rlx_utf8_valid(text.data, text.len) != text.len)
        return broken(r, at, "a string is not UTF-8"), NULL;
    if (!tir)
        return rlx_attr_string_new(r->ctx, text);
    rlx_tir_string key = { .node = { .kind = RLX_NODE_TIR_STRING },
                           .value = rlx_string_intern(r->ctx, text) };
    return key.value ? rlx_node_intern(r->ctx, &key.node) : NULL;
}

/* ---- entries -------------------------------------------------------------------------------- */

static const rlx_node *make_node(rlx_reader *r, const rlx_ast *at, const rlx_json *node)
{
    const rlx_json *key = rlx_json_member(node, r->module.metadata->newer ? "type" : "type_key");
    rlx_slice type = is_kind(key, RLX_JSON_STRING) ? key->string : (rlx_slice){ "", 0 };
    if (rlx_slice_is(type, "relax.expr.Constant"))
        return make_constant(r, at, node);
    if (rlx_slice_is(type, "tir.StringImm") || rlx_slice_is(type, "tirx.StringImm") ||
        rlx_slice_is(type, "ir.StringImm"))
        return make_string(r, at, node, true);
    if (rlx_slice_is(type, "runtime.String") || rlx_slice_is(type, "ffi.String"))
        return make_string(r, at, node, false);
    rlx_read_error(r, RLX_PA19, at, "metadata of type %.*s is not supported",
                   (int)(type.len > 60 ? 60 : type.len), type.data);
    return NULL;
}

static const rlx_json *newer_entries(const struct rlx_metadata *m, rlx_slice type_key)
{
    const rlx_json *map = rlx_json_member(m->root, "data");
    const rlx_json *k = is_kind(map, RLX_JSON_ARRAY) ? map->first : NULL;
    for (; k && k->next; k = k->next->next) {
        const rlx_json *key = node_of(m, k), *list = node_of(m, k->next);
        const rlx_json *name = key ? rlx_json_member(key, "data") : NULL;
        if (list && is_kind(name, RLX_JSON_STRING) && rlx_slice_equal(name->string, type_key)) {
            list = rlx_json_member(list, "data");
            return is_kind(list, RLX_JSON_ARRAY) ? list : NULL;
        }
    }
    return NULL;
}

/* The array of the entries of one type key; NULL if there is none. */
static const rlx_json *entries(const struct rlx_metadata *m, rlx_slice type_key)
{
    if (m->newer)
        return newer_entries(m, type_key);
    const rlx_json *keys = rlx_json_member(m->root, "keys"),
                   *data = rlx_json_member(m->root, "data");
    const rlx_json *k = keys ? keys->first : NULL, *d = data ? data->first : NULL;
    for (; k && d; k = k->next, d = d->next)
        if (is_kind(k, RLX_JSON_STRING) && rlx_slice_equal(k->string, type_key) &&
            is_kind(d, RLX_JSON_INT) && d->integer >= 0 && (uint64_t)d->integer < m->num_nodes)
            return rlx_json_member(m->nodes[d->integer], "data");
    return NULL;
}

const rlx_node *rlx_metadata_get(rlx_reader *r, const rlx_ast *at, rlx_slice type_key,
                                 int64_t index)
{
    struct rlx_metadata *m = r->module.metadata;
    const rlx_json *list = m ? entries(m, type_key) : NULL;
    if (list && list != m->list) {
        m->items = children(&r->module.kept, list);
        m->list = m->items ? list : NULL;
        if (!m->items)
            return NULL;
    }
    const rlx_json *entry =
        list && index >= 0 && (uint64_t)index < list->count ? m->items[index] : NULL;
    if (!is_kind(entry, RLX_JSON_INT) || entry->integer < 0 ||
        (uint64_t)entry->integer >= m->num_nodes)
        return broken(r, at, "it has no such entry"), NULL;
    const rlx_node **made = &m->made[entry->integer];
    if (!*made)
        *made = make_node(r, at, m->nodes[entry->integer]);
    return *made;
}
