/*- relay_meta.c: the metadata section of Relay's text (relay 1.5): constants, extents and attribute
 * records that a text mentions as meta[TYPE][INDEX].
 *
 *   {"root": r, "nodes": [{"type_key": k, "attrs": {...}, "data": [...]}, ...], "b64ndarrays": [...]}
 *
 * Only what is mentioned is decoded, once.
 */
#include "relay/relay_parse.h"

struct rlx_relay_meta {
    const rlx_json **nodes; size_t num_nodes;
    const rlx_json **arrays; size_t num_arrays;
    const rlx_json *root;
    void **made;                  /* by node: what it was made into, or NULL */
    rlx_slice key; const rlx_json **entries; size_t num_entries;   /* the key looked at last */
};

static bool is_kind(const rlx_json *j, uint8_t kind) { return j && j->kind == kind; }

static const rlx_json **children(rlx_region *r, const rlx_json *list, size_t *count)
{
    const rlx_json **out = rlx_region_array(r, list->count + 1, sizeof *out);
    size_t n = 0;
    for (const rlx_json *i = out ? list->first : NULL; i; i = i->next)
        out[n++] = i;
    *count = n;
    return out;
}

static bool broken(rlx_relay_parser *p, rlx_place place, const char *why)
{
    rlx_error(p->ctx, RLX_RY10, place, "damaged metadata: %s", why);
    return false;
}

static struct rlx_relay_meta *load(rlx_relay_parser *p)
{
    size_t error_at = 0;
    const char *why = NULL;
    rlx_slice text = p->lexed.metadata;
    struct rlx_relay_meta *m = rlx_region_zero(&p->scratch, sizeof *m);
    if (!m)
        return NULL;
    const rlx_json *j = rlx_json_parse(&p->scratch, text, &error_at, &why);
    rlx_place at = rlx_place_make(p->source, p->lexed.metadata_at + (uint32_t)error_at, 1);
    const rlx_json *root = rlx_json_member(j, "root"), *nodes = rlx_json_member(j, "nodes"),
                   *arrays = rlx_json_member(j, "b64ndarrays");
    if (!j || !is_kind(root, RLX_JSON_INT) || !is_kind(nodes, RLX_JSON_ARRAY) ||
        root->integer < 0 || (uint64_t)root->integer >= nodes->count)
        return broken(p, at, !j ? why : "root or nodes are missing"), NULL;
    m->nodes = children(&p->scratch, nodes, &m->num_nodes);
    m->made = rlx_region_zero(&p->scratch, (nodes->count + 1) * sizeof *m->made);
    if (is_kind(arrays, RLX_JSON_ARRAY))
        m->arrays = children(&p->scratch, arrays, &m->num_arrays);
    if (!m->nodes || !m->made || (is_kind(arrays, RLX_JSON_ARRAY) && !m->arrays))
        return NULL;
    m->root = m->nodes[root->integer];
    return m;
}

/* The array of the entries of one type key. */
static const rlx_json *entries_of(const struct rlx_relay_meta *m, rlx_slice key)
{
    const rlx_json *keys = rlx_json_member(m->root, "keys"), *data = rlx_json_member(m->root, "data");
    const rlx_json *k = keys ? keys->first : NULL, *d = data ? data->first : NULL;
    for (; k && d; k = k->next, d = d->next)
        if (is_kind(k, RLX_JSON_STRING) && rlx_slice_equal(k->string, key) &&
            is_kind(d, RLX_JSON_INT) && d->integer >= 0 && (uint64_t)d->integer < m->num_nodes)
            return rlx_json_member(m->nodes[d->integer], "data");
    return NULL;
}

/* The node that t mentions, and where its result is remembered; NULL after a report. */
static const rlx_json *find(rlx_relay_parser *p, const rlx_relay_tok *t, void ***made)
{
    rlx_place place = rlx_relay_tok_place(p, t);
    if (!p->lexed.metadata.data && !p->meta_failed)
        p->meta_failed = rlx_error(p->ctx, RLX_RY10, place, "the text has no metadata section") == NULL;
    if (!p->meta && !p->meta_failed)
        p->meta_failed = (p->meta = load(p)) == NULL;
    struct rlx_relay_meta *m = p->meta;
    if (!m)
        return NULL;
    if (!rlx_slice_equal(m->key, t->text)) {
        const rlx_json *list = entries_of(m, t->text);
        m->key = t->text;
        m->num_entries = 0;
        m->entries = is_kind(list, RLX_JSON_ARRAY) ? children(&p->scratch, list, &m->num_entries) : NULL;
    }
    const rlx_json *e = (uint64_t)t->i < m->num_entries ? m->entries[t->i] : NULL;
    if (!is_kind(e, RLX_JSON_INT) || e->integer < 0 || (uint64_t)e->integer >= m->num_nodes) {
        rlx_error(p->ctx, RLX_RY10, place, "the metadata has %zu entries of type %.*s, none of number %lld",
                  m->num_entries, (int)(t->text.len > 80 ? 80 : t->text.len), t->text.data,
                  (long long)t->i);
        return NULL;
    }
    *made = &m->made[e->integer];
    return m->nodes[e->integer];
}

static const rlx_json *attribute(const rlx_json *node, const char *name)
{
    return rlx_json_member(rlx_json_member(node, "attrs"), name);
}

/* Attribute values are texts: here a decimal number of at most INT64_MAX. */
static bool number_of(const rlx_json *value, int64_t *out)
{
    uint64_t v = 0;
    bool overflow = false;
    if (!is_kind(value, RLX_JSON_STRING) || !rlx_parse_u64(value->string, &v, &overflow) || overflow ||
        v > INT64_MAX)
        return false;
    *out = (int64_t)v;
    return true;
}

/* ---- constants ----------------------------------------------------------------------------------- */

enum { MAX_DIMS = 64 };
#define ARRAY_MAGIC 0xDD5E40F096B4A13Full

static uint32_t read_u32(const unsigned char *p) { return (uint32_t)rlx_load4(p); }

/* magic u64, 0 u64, device 2 * i32, ndim i32, dtype u8 u8 u16, extents i64[ndim], bytes i64, data */
static const char *decode_array(rlx_region *r, const unsigned char *p, size_t len, rlx_relay_expr *e)
{
    if (len < 32 || rlx_load8(p) != ARRAY_MAGIC)
        return "a tensor has no header";
    uint32_t ndim = read_u32(p + 24);
    rlx_dtype dtype = rlx_dtype_make(p[28], p[29], p[30] | p[31] << 8);
    if (dtype == rlx_dtype_make(RELAX_DTYPE_UINT, 1, 1))
        dtype = RELAX_BOOL;
    if (ndim > MAX_DIMS || len - 32 < (size_t)ndim * 8 + 8)
        return "a tensor is cut off";
    int64_t *dims = rlx_region_array(r, ndim + 1u, sizeof *dims);
    size_t count = 1, bytes;
    for (uint32_t i = 0; dims && i < ndim; i++) {
        dims[i] = (int64_t)rlx_load8(p + 32 + 8 * i);
        if (dims[i] < 0 || !rlx_mul_size(count, (size_t)dims[i], &count))
            return "a tensor has an impossible shape";
    }
    const unsigned char *data = p + 32 + 8 * (size_t)ndim;
    if (!rlx_dtype_is_computable(dtype) || !rlx_mul_size(count, rlx_dtype_bytes(dtype), &bytes) ||
        bytes != len - (size_t)(data + 8 - p) || rlx_load8(data) != bytes)
        return "size or dtype of a tensor are wrong";
    e->constant.dtype = dtype;
    e->constant.dims = dims;
    e->constant.ndim = ndim;
    e->constant.data = data + 8;
    e->constant.bytes = bytes;
    return NULL;
}

rlx_relay_expr *rlx_relay_meta_expr(rlx_relay_parser *p, const rlx_relay_tok *t)
{
    rlx_place place = rlx_relay_tok_place(p, t);
    rlx_relay_expr *e = rlx_relay_expr_new(p->m, RLX_RELAY_ERROR, place);
    void **made;
    int64_t index;
    unsigned char *bytes;
    size_t len;
    if (!e || !rlx_slice_is(t->text, "relay.Constant")) {
        if (e)
            rlx_error(p->ctx, RLX_RY10, place, "an expression is meta[relay.Constant][INDEX]");
        return e;
    }
    const rlx_json *node = find(p, t, &made);
    if (!node)
        return e;
    if (*made)
        return *made;
    const char *why = NULL;
    if (!number_of(attribute(node, "data"), &index) || (uint64_t)index >= p->meta->num_arrays ||
        !is_kind(p->meta->arrays[index], RLX_JSON_STRING))
        why = "a constant has no tensor";
    else if (!rlx_base64_decode(p->meta->arrays[index]->string, &p->m->region, &bytes, &len))
        why = "a tensor is no base64";
    else
        why = decode_array(&p->m->region, bytes, len, e);
    if (why)
        broken(p, place, why);
    else
        e->kind = RLX_RELAY_CONST;
    *made = e;
    return e;
}

/* ---- extents ------------------------------------------------------------------------------------- */

static rlx_slice text_of(const struct rlx_relay_meta *m, const rlx_json *value)
{
    int64_t i;
    if (number_of(value, &i) && (uint64_t)i < m->num_nodes) {
        const rlx_json *s = rlx_json_member(m->nodes[i], "repr_str");
        if (is_kind(s, RLX_JSON_STRING))
            return s->string;
    }
    return is_kind(value, RLX_JSON_STRING) ? value->string : RLX_SLICE("n");
}

bool rlx_relay_meta_dim(rlx_relay_parser *p, const rlx_relay_tok *t, rlx_relay_dim *out)
{
    rlx_place place = rlx_relay_tok_place(p, t);
    void **made;
    const rlx_json *node = find(p, t, &made);
    rlx_dtype dtype = RELAX_INT32;
    if (!node)
        return true; /* reported; stands for any extent */
    const rlx_json *type = attribute(node, "dtype");
    if (is_kind(type, RLX_JSON_STRING))
        rlx_dtype_parse(type->string, &dtype);
    if (rlx_slice_is(t->text, "tir.Any"))
        return true;
    if (rlx_slice_is(t->text, "IntImm")) {
        *out = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_INT, .bits = (uint8_t)rlx_dtype_bits(dtype) };
        return number_of(attribute(node, "value"), &out->value) ||
               broken(p, place, "an integer has no value");
    }
    if (!rlx_slice_is(t->text, "tir.SizeVar") && !rlx_slice_is(t->text, "tir.Var")) {
        rlx_error(p->ctx, RLX_RY10, place, "an extent is a tir.SizeVar, tir.Var, tir.Any or IntImm");
        return true;
    }
    rlx_relay_dim_var *v = *made;
    if (!v) {
        rlx_slice name = text_of(p->meta, attribute(node, "name"));
        if (!(v = rlx_region_zero(&p->m->region, sizeof *v)))
            return false;
        v->name = rlx_relay_word_of(p->m, name) ? rlx_relay_word_of(p->m, name)->text : name;
        *made = v;
    }
    *out = (rlx_relay_dim){ .kind = RLX_RELAY_DIM_VAR, .bits = (uint8_t)rlx_dtype_bits(dtype), .var = v };
    return true;
}

/* ---- attribute records --------------------------------------------------------------------------- */

/* A reference to a node of the array of integers, an integer, a string. */
static bool attr_value(rlx_relay_parser *p, const rlx_json *value, rlx_place place, rlx_relay_value *out)
{
    int64_t i;
    *out = (rlx_relay_value){ .kind = RLX_RELAY_VALUE_NONE, .place = place, .dtype = RELAX_INT64 };
    if (!number_of(value, &i) || (uint64_t)i >= p->meta->num_nodes) {
        if (!is_kind(value, RLX_JSON_STRING))
            return true;
        out->kind = RLX_RELAY_VALUE_STRING;
        char *copy = rlx_region_copy(&p->m->region, value->string.len ? value->string.data : "",
                                     value->string.len);
        out->s = (rlx_slice){ copy, value->string.len };
        return copy != NULL;
    }
    const rlx_json *node = p->meta->nodes[i], *list = rlx_json_member(node, "data");
    const rlx_json *text = rlx_json_member(node, "repr_str");
    if (is_kind(text, RLX_JSON_STRING))
        return attr_value(p, text, place, out);
    if (number_of(attribute(node, "value"), &out->i)) {
        out->kind = RLX_RELAY_VALUE_INT;
        return true;
    }
    if (!is_kind(list, RLX_JSON_ARRAY))
        return true;
    rlx_relay_value *items = rlx_region_array(&p->m->region, list->count + 1, sizeof *items);
    size_t n = 0;
    for (const rlx_json *item = items ? list->first : NULL; item; item = item->next) {
        items[n] = (rlx_relay_value){ .kind = RLX_RELAY_VALUE_NONE, .place = place, .dtype = RELAX_INT64 };
        if (is_kind(item, RLX_JSON_INT) && item->integer > 0 &&
            (uint64_t)item->integer < p->meta->num_nodes &&
            number_of(attribute(p->meta->nodes[item->integer], "value"), &items[n].i))
            items[n].kind = RLX_RELAY_VALUE_INT;
        n++;
    }
    out->kind = RLX_RELAY_VALUE_LIST;
    out->list.items = items;
    out->list.count = n;
    return items != NULL;
}

bool rlx_relay_meta_attrs(rlx_relay_parser *p, const rlx_relay_tok *t, rlx_relay_attrs *out)
{
    rlx_place place = rlx_relay_tok_place(p, t);
    void **made;
    const rlx_json *node = find(p, t, &made);
    const rlx_json *fields = node ? rlx_json_member(node, "attrs") : NULL;
    if (!fields)
        return true;
    rlx_relay_attr *items = rlx_region_array(&p->m->region, fields->count + 1, sizeof *items);
    size_t n = 0;
    for (const rlx_json *f = items ? fields->first : NULL; f; f = f->next, n++) {
        rlx_relay_word *w = rlx_relay_word_of(p->m, f->key);
        if (!w || !attr_value(p, f, place, &items[n].value))
            return false;
        items[n].name = w->text;
        items[n].place = place;
    }
    out->items = items;
    out->count = n;
    return items != NULL;
}
