/* desc_text.c: reading descriptions, and their text. */
/* built for size */
#include "desc/desc_int.h"

void rlx_desc_describe(const int64_t *node, rlx_desc_info *out)
{
    uint32_t flags = rlx_desc_node_flags(node);
    *out = (rlx_desc_info){ rlx_desc_kind_of(node), RELAX_VOID, -1, NULL };
    if (out->kind == RLX_DESC_PRIM) {
        out->dtype = (rlx_dtype)node[1];
        out->dims = (flags & RLX_DESC_HAS_DIMS) ? node + 2 : NULL;
    } else if (out->kind == RLX_DESC_SHAPE) {
        out->ndim = (int32_t)node[1];
        out->dims = (flags & RLX_DESC_HAS_DIMS) ? node + 2 : NULL;
    } else if (out->kind == RLX_DESC_TENSOR) {
        uint64_t key = (uint64_t)node[1], mask = (uint64_t)node[2];
        DLTensor t;
        memcpy(&t.ndim, &key, sizeof key);
        out->ndim = (mask & 0xffffffffu) ? t.ndim : -1;
        out->dtype = (mask >> 32) ? rlx_dl_dtype(&t) : RELAX_VOID;
        out->dims = (flags & RLX_DESC_HAS_DIMS)
                        ? node + 3 + ((flags & RLX_DESC_HAS_DEVICE) ? 1 : 0)
                        : NULL;
    }
}

const int64_t *rlx_desc_param_at(const int64_t *descs, uint32_t offset, uint32_t i, uint32_t *name)
{
    const int64_t *list = rlx_item_node(descs, offset);
    const int64_t *at = list + 1;
    if (i >= rlx_desc_node_count(list))
        return NULL;
    for (; i > 0; i--)
        at += 1 + rlx_desc_node_words(at + 1);
    if (name)
        *name = (uint32_t)at[0];
    return at + 1;
}

const rlx_desc_bound *rlx_desc_bounds(const int64_t *descs, uint32_t offset, uint32_t *count)
{
    const int64_t *list = rlx_item_node(descs, offset), *at = list + 1;
    *count = 0;
    if (!(rlx_desc_node_flags(list) & RLX_DESC_BOUNDED))
        return NULL;
    for (uint32_t i = rlx_desc_node_count(list); i > 0; i--)
        at += 1 + rlx_desc_node_words(at + 1);
    *count = (uint32_t)(list + rlx_desc_node_words(list) - at) / RLX_DESC_BOUND_WORDS;
    return (const rlx_desc_bound *)(const void *)at;
}

const int64_t *rlx_desc_child_at(const int64_t *node, uint32_t i)
{
    uint32_t count = rlx_desc_node_count(node) + (rlx_desc_kind_of(node) == RLX_DESC_FUNC);
    const int64_t *at = node + 1;
    if (i >= count)
        return NULL;
    for (; i > 0; i--)
        at += rlx_desc_node_words(at);
    return at;
}

/* ---- text ----------------------------------------------------------------------------------- */

void rlx_desc_dim_text(const rlx_desc_env *env, int64_t dim, rlx_buf *out)
{
    char buffer[1024];
    rlx_desc_line line = { buffer, sizeof buffer, 0 };
    rlx_desc_line_put(&line, "", 0);
    rlx_desc_dim_line(env, dim, &line);
    rlx_buf_put(out, line.data, line.len);
}

void rlx_desc_bound_text(const rlx_desc_env *env, const rlx_desc_bound *b, rlx_buf *out)
{
    if (b->low != INT64_MIN)
        rlx_buf_format(out, "%lld <= ", (long long)b->low);
    rlx_desc_dim_text(env, b->symbol, out);
    if (b->high != INT64_MAX)
        rlx_buf_format(out, " <= %lld", (long long)b->high);
}

static void put_dims(const rlx_desc_env *env, const rlx_desc_info *info, rlx_buf *out)
{
    for (int32_t i = 0; i < info->ndim; i++) {
        if (i)
            rlx_buf_lit(out, ", ");
        rlx_desc_dim_text(env, info->dims[i], out);
    }
}

static void put_tensor(const rlx_desc_env *env, const int64_t *node, rlx_buf *out)
{
    rlx_desc_info info;
    char name[RLX_DTYPE_TEXT];
    rlx_desc_describe(node, &info);
    bool ndim = !info.dims && info.ndim >= 0, dtype = !rlx_dtype_is_void(info.dtype);
    bool device = rlx_desc_node_flags(node) & RLX_DESC_HAS_DEVICE;
    rlx_buf_lit(out, "R.Tensor");
    if (!info.dims && !ndim && !dtype && !device)
        return;
    const char *comma = "";
    rlx_buf_lit(out, "(");
    if (info.dims) {
        rlx_buf_lit(out, "(");
        put_dims(env, &info, out);
        rlx_buf_z(out, info.ndim == 1 ? ",)" : ")");
        comma = ", ";
    }
    if (dtype) {
        rlx_dtype_name(info.dtype, name);
        rlx_buf_format(out, "%sdtype=\"%s\"", comma, name);
        comma = ", ";
    }
    if (ndim) {
        rlx_buf_format(out, "%sndim=%d", comma, (int)info.ndim);
        comma = ", ";
    }
    if (device)
        rlx_buf_format(out, "%svdevice=\"%d:%d\"", comma, (int)(int32_t)node[3],
                       (int)(int32_t)(node[3] >> 32));
    rlx_buf_lit(out, ")");
}

static void put_shape(const rlx_desc_env *env, const rlx_desc_info *info, rlx_buf *out)
{
    if (!info->dims) {
        rlx_buf_format(out, info->ndim < 0 ? "R.Shape" : "R.Shape(ndim=%d)", (int)info->ndim);
        return;
    }
    rlx_buf_lit(out, "R.Shape([");
    put_dims(env, info, out);
    rlx_buf_lit(out, "])");
}

static void put_prim(const rlx_desc_env *env, const rlx_desc_info *info, rlx_buf *out)
{
    char name[RLX_DTYPE_TEXT];
    if (info->dims) {
        rlx_buf_lit(out, "R.Prim(value=");
        rlx_desc_dim_text(env, info->dims[0], out);
        rlx_buf_lit(out, ")");
        return;
    }
    rlx_dtype_name(info->dtype, name);
    rlx_buf_format(out, "R.Prim(\"%s\")", name);
}

/* An open tuple or function: what is to come, and what closes it. */
typedef struct part { uint32_t index, count; bool func, open, pure; } part;

/* Text between children: before child `index`, or after the last one. */
static void put_between(const part *p, rlx_buf *out)
{
    if (!p->func) {
        rlx_buf_z(out, p->index == p->count ? ")" : p->index ? ", " : "");
        return;
    }
    uint32_t params = p->count - 1;
    if (p->index == p->count)
        rlx_buf_z(out, p->open   ? (p->pure ? ", purity=True)" : ")")
                       : p->pure ? ", True)"
                                 : ", False)");
    else if (p->index == params)
        rlx_buf_z(out, p->open ? "" : params == 1 ? ",), " : "), ");
    else if (p->index)
        rlx_buf_lit(out, ", ");
}

static bool put_open(const int64_t *node, part *p, rlx_buf *out)
{
    uint32_t flags = rlx_desc_node_flags(node);
    bool func = rlx_desc_kind_of(node) == RLX_DESC_FUNC;
    *p = (part){ 0, rlx_desc_node_count(node) + func, func, flags & RLX_DESC_OPEN,
                 flags & RLX_DESC_PURE };
    if (!func) {
        rlx_buf_z(out, p->count ? "R.Tuple(" : "R.Tuple");
        return p->count > 0;
    }
    rlx_buf_z(out, p->open ? "R.Callable(ret=" : "R.Callable((");
    return true;
}

void rlx_desc_text(const rlx_desc_env *env, const int64_t *node, rlx_buf *out)
{
    part parts[RLX_DESC_MAX_NESTING + 1];
    int depth = 0;
    for (;;) {
        rlx_desc_info info;
        rlx_desc_describe(node, &info);
        bool nested = false;
        switch (info.kind) {
        case RLX_DESC_TENSOR: put_tensor(env, node, out); break;
        case RLX_DESC_SHAPE: put_shape(env, &info, out); break;
        case RLX_DESC_PRIM: put_prim(env, &info, out); break;
        case RLX_DESC_TUPLE:
        case RLX_DESC_FUNC:
            nested = depth < RLX_DESC_MAX_NESTING && put_open(node, &parts[depth], out);
            break;
        default: rlx_buf_lit(out, "R.Object"); break;
        }
        depth += nested;
        node += nested ? 1 : rlx_desc_node_words(node);
        while (depth && parts[depth - 1].index == parts[depth - 1].count) {
            put_between(&parts[depth - 1], out);
            depth--;
        }
        if (!depth)
            return;
        put_between(&parts[depth - 1], out);
        parts[depth - 1].index++;
    }
}
