/* device.c: virtual devices: kind, number, text, and the list of a module. */
/* built for size */
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
    rlx_buf_free(&b);
    return copy ? copy : "?";
}

const rlx_attr_list *rlx_listed_vdevices(const rlx_module *m)
{
    return rlx_as_attr_list(rlx_attrs_get(m->global_infos, "vdevice"));
}

/* ---- many devices --------------------------------------------------------------------------- */

void rlx_device_table_init(rlx_device_table *t, rlx_memory *m)
{
    t->filled = false;
    rlx_ptrmap_init(&t->numbers, m);
    rlx_map_init(&t->named, m);
}

void rlx_device_table_free(rlx_device_table *t)
{
    rlx_ptrmap_free(&t->numbers);
    rlx_map_free(&t->named);
}

/* number NULL: the key under which they are counted */
static bool name_key(rlx_buf *key, const uint64_t *number, rlx_slice kind)
{
    key->len = 0;
    if (number)
        rlx_buf_u64(key, *number);
    rlx_buf_lit(key, ":");
    rlx_buf_put(key, kind.data, kind.len);
    return !key->failed;
}

/* The next number of this kind. */
static bool count_one(rlx_device_table *t, rlx_buf *key, rlx_slice kind, const rlx_node *device,
                      uint64_t *number)
{
    rlx_slice text;
    if (!name_key(key, NULL, kind))
        return false;
    text = (rlx_slice){ key->data, key->len };
    *number = (uint64_t)(uintptr_t)rlx_map_get(&t->named, text);
    if (!rlx_map_put(&t->named, text, (void *)(uintptr_t)(*number + 1)) ||
        !name_key(key, number, kind))
        return false;
    return rlx_map_put(&t->named, (rlx_slice){ key->data, key->len }, (void *)(uintptr_t)device);
}

bool rlx_device_table_fill(rlx_device_table *t, const rlx_attr_list *list)
{
    rlx_buf key;
    bool ok = true;
    rlx_buf_init(&key, t->named.memory);
    for (size_t i = 0; !t->filled && list && i < list->num_items && ok; i++) {
        const rlx_vdevice *v = rlx_as_vdevice(list->items[i]);
        rlx_slice kind = rlx_vdevice_kind(v), every = RLX_SLICE("vdevice");
        uint64_t number = 0;
        if (!v)
            continue;
        ok = count_one(t, &key, every, &v->node, &number) &&
             (rlx_slice_equal(kind, every) || count_one(t, &key, kind, &v->node, &number)) &&
             (rlx_ptrmap_has(&t->numbers, v) ||
              rlx_ptrmap_put(&t->numbers, v, (uintptr_t)number + 1));
    }
    t->filled = ok;
    rlx_buf_free(&key);
    return ok;
}

int64_t rlx_device_number(const rlx_device_table *t, const rlx_node *device)
{
    uintptr_t number = 0;
    if (device)
        rlx_ptrmap_find(&t->numbers, device, &number);
    return (int64_t)number - 1;
}

const rlx_node *rlx_device_find(const rlx_device_table *t, rlx_slice kind, uint64_t number)
{
    rlx_buf key;
    rlx_buf_init(&key, t->named.memory);
    bool ok = name_key(&key, &number, kind);
    const rlx_node *found =
        ok ? rlx_map_get(&t->named, (rlx_slice){ key.data, key.len }) : NULL;
    rlx_buf_free(&key);
    return found;
}
