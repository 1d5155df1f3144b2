/* sharding.c: meshes of devices, and how distributed tensors lie on them. */
/* built for size */
#include "ir/ir_int.h"

static int64_t number_at(const rlx_node *list, size_t i)
{
    const rlx_attr_int *n = rlx_as_attr_int(rlx_as_attr_list(list)->items[i]);
    return n ? n->value : 0;
}

static const rlx_attr *numbers(rlx_context *ctx, const int64_t *values, size_t count)
{
    const rlx_attr **items = rlx_new(ctx, (count ? count : 1) * sizeof *items);
    for (size_t i = 0; items && i < count; i++)
        if (!(items[i] = rlx_attr_int_new(ctx, values[i])))
            return NULL;
    return items ? rlx_attr_list_new(ctx, items, count) : NULL;
}

size_t rlx_mesh_rank(const rlx_device_mesh *m)
{
    return rlx_as_attr_list(m->shape)->num_items;
}

int64_t rlx_sharding_axis(const rlx_sharding *s, size_t i)
{
    return number_at(s->axes, i);
}

const rlx_node *rlx_mesh_new(rlx_context *ctx, const int64_t *shape, size_t rank,
                             const int64_t *ids, size_t num_ids, bool ranged)
{
    rlx_device_mesh key = { .node = { .kind = RLX_NODE_DEVICE_MESH },
                            .shape = numbers(ctx, shape, rank),
                            .ids = numbers(ctx, ids, num_ids),
                            .ranged = ranged };
    return key.shape && key.ids ? rlx_node_intern(ctx, &key.node) : NULL;
}

const rlx_node *rlx_sharding_new(rlx_context *ctx, const rlx_node *mesh, const int64_t *axes)
{
    rlx_sharding key = { .node = { .kind = RLX_NODE_SHARDING },
                         .mesh = mesh,
                         .axes = numbers(ctx, axes, rlx_mesh_rank(rlx_as_device_mesh(mesh))) };
    return key.axes ? rlx_node_intern(ctx, &key.node) : NULL;
}

/* ---- text ----------------------------------------------------------------------------------- */

/* One entry, "S[0]" or "R", from *at on. */
static bool read_entry(rlx_slice text, size_t *at, int64_t *axis)
{
    bool overflow = false;
    uint64_t number;
    size_t i = *at;
    *axis = -1;
    if (i < text.len && text.data[i] == 'R')
        return *at = i + 1, true;
    if (i + 1 >= text.len || text.data[i] != 'S' || text.data[i + 1] != '[')
        return false;
    const char *close = memchr(text.data + i, ']', text.len - i);
    rlx_slice digits = { text.data + i + 2,
                         close ? (size_t)(close - text.data) - i - 2 : 0 };
    if (!close || !rlx_parse_u64(digits, &number, &overflow) || overflow || number > INT32_MAX)
        return false;
    *axis = (int64_t)number;
    *at = (size_t)(close - text.data) + 1;
    return true;
}

static void skip_blanks(rlx_slice text, size_t *at)
{
    while (*at < text.len && text.data[*at] == ' ')
        ++*at;
}

size_t rlx_placement_read(rlx_slice text, int64_t *axes, size_t max)
{
    size_t at = 0, count = 0;
    int64_t axis;
    skip_blanks(text, &at);
    while (at < text.len) {
        if (!read_entry(text, &at, &axis))
            return SIZE_MAX;
        if (count < max)
            axes[count] = axis;
        count++;
        skip_blanks(text, &at);
        if (at == text.len)
            break;
        if (text.data[at++] != ',')
            return SIZE_MAX;
        skip_blanks(text, &at);
        if (at == text.len)
            return SIZE_MAX;
    }
    return count;
}

void rlx_put_placement(rlx_buf *out, const rlx_sharding *s)
{
    size_t rank = rlx_mesh_rank(rlx_as_device_mesh(s->mesh));
    for (size_t i = 0; i < rank; i++) {
        int64_t axis = rlx_sharding_axis(s, i);
        rlx_buf_z(out, i ? ", " : "");
        if (axis < 0)
            rlx_buf_lit(out, "R");
        else
            rlx_buf_format(out, "S[%lld]", (long long)axis);
    }
}

static void put_numbers(rlx_buf *out, const rlx_node *list)
{
    size_t count = rlx_as_attr_list(list)->num_items;
    for (size_t i = 0; i < count; i++) {
        rlx_buf_z(out, i ? ", " : "");
        rlx_buf_i64(out, number_at(list, i));
    }
}

void rlx_put_mesh(rlx_buf *out, const rlx_device_mesh *m)
{
    rlx_buf_lit(out, "(");
    put_numbers(out, m->shape);
    rlx_buf_z(out, rlx_mesh_rank(m) == 1 ? ",), " : "), ");
    rlx_buf_z(out, m->ranged ? "I.Range(" : "[");
    put_numbers(out, m->ids);
    rlx_buf_z(out, m->ranged ? ")" : "]");
}

const char *rlx_show_sharding(rlx_context *ctx, const rlx_node *device)
{
    const rlx_sharding *s = rlx_as_sharding(device);
    rlx_buf b;
    if (!s)
        return "not distributed";
    rlx_buf_init(&b, &ctx->memory);
    rlx_buf_lit(&b, "\"");
    rlx_put_placement(&b, s);
    rlx_buf_lit(&b, "\" on the mesh ");
    rlx_put_mesh(&b, rlx_as_device_mesh(s->mesh));
    const char *copy = b.failed ? NULL : rlx_new_copy(ctx, b.data, b.len + 1);
    rlx_buf_free(&b);
    return copy ? copy : "?";
}
