#include "ir/ir_int.h"

/* Of kinds that share a number the first names it. */
static const struct { const char *kind; int32_t type; } types[] = {
    { "cpu", 1 },     { "llvm", 1 },     { "c", 1 },    { "cuda", 2 },     { "opencl", 4 },
    { "vulkan", 7 },  { "metal", 8 },    { "vpi", 9 },  { "rocm", 10 },    { "ext_dev", 12 },
    { "webgpu", 15 }, { "hexagon", 16 }, { "nvptx", 2 },
};

rlx_slice rlx_vdevice_kind(const rlx_vdevice *v)
{
    const rlx_attr *target = v ? v->target : NULL;
    const rlx_attr_string *s = rlx_as_attr_string(
        rlx_is(target, RLX_NODE_ATTRS) ? rlx_attrs_get(target, "kind") : target);
    if (!s)
        return RLX_SLICE("vdevice");
    /* a target string begins with its kind: "cuda -arch=sm_80" */
    const char *blank = memchr(s->value->data, ' ', s->value->len);
    return (rlx_slice){ s->value->data, blank ? (size_t)(blank - s->value->data) : s->value->len };
}

int32_t rlx_vdevice_type(const rlx_vdevice *v)
{
    rlx_slice kind = rlx_vdevice_kind(v);
    for (size_t i = 0; i < RLX_COUNT(types); i++)
        if (rlx_slice_is(kind, types[i].kind))
            return types[i].type;
    return 0;
}

const char *rlx_device_type_name(int64_t type)
{
    for (size_t i = 0; i < RLX_COUNT(types); i++)
        if (types[i].type == type)
            return types[i].kind;
    return "device";
}

const char *rlx_show_vdevice(rlx_context *ctx, const rlx_node *vdevice)
{
    const rlx_vdevice *v = rlx_as_vdevice(vdevice);
    rlx_slice kind = rlx_vdevice_kind(v);
    rlx_buf b;
    if (!v)
        return "no device";
    rlx_buf_init(&b, &ctx->memory);
    rlx_buf_put(&b, kind.data, kind.len < 200 ? kind.len : 200);
    rlx_buf_format(&b, ":%d", (int)v->id);
    if (v->scope && !rlx_slice_is(rlx_string_slice(v->scope), "global"))
        rlx_buf_format(&b, ":%.200s", v->scope->data);
    const char *copy = b.failed ? NULL : rlx_new_copy(ctx, b.data, b.len + 1);
    if (b.failed)
        rlx_no_memory(ctx);
    rlx_buf_free(&b);
    return copy ? copy : "?";
}

const rlx_attr_list *rlx_listed_vdevices(const rlx_module *m)
{
    return rlx_as_attr_list(rlx_attrs_get(m->global_infos, "vdevice"));
}
