/* node.c: the field lists and kinds of nodes, made from node.def; children by number; what many
 * rooms ask of a node. */
#include "ir/ir_int.h"

#include "ir/iface.h"

/* The field lists, one per struct, made from node.def. */
#define FIELDS RLX_NODE_NAME(fields_of_)
#define VALUE(t, n) { .type = t, .offset = offsetof(RLX_NODE_NAME(rlx_), n), .name = #n },
#define COUNTED(t, n)                                          \
    { .type = t,                                               \
      .offset = offsetof(RLX_NODE_NAME(rlx_), n),              \
      .count_offset = offsetof(RLX_NODE_NAME(rlx_), num_##n),  \
      .name = #n },
#define REF(w, n) VALUE(RLX_FIELD_REF, n)
#define REFS(w, n) COUNTED(RLX_FIELD_REFS, n)
#define DEF(w, n) VALUE(RLX_FIELD_DEF, n)
#define DEFS(w, n) COUNTED(RLX_FIELD_DEFS, n)
#define NOTE(w, n) VALUE(RLX_FIELD_NOTE, n)
#define STR(n) VALUE(RLX_FIELD_STR, n)
#define HINT(n) VALUE(RLX_FIELD_HINT, n)
#define HINT32(n) VALUE(RLX_FIELD_HINT32, n)
#define I64(n) VALUE(RLX_FIELD_I64, n)
#define F64(n) VALUE(RLX_FIELD_F64, n)
#define I32(n) VALUE(RLX_FIELD_I32, n)
#define DTYPE(n) VALUE(RLX_FIELD_DTYPE, n)
#define PLACE VALUE(RLX_FIELD_PLACE, place)
#define PLACES(n) COUNTED(RLX_FIELD_PLACES, n)
#define DIMS(n) COUNTED(RLX_FIELD_DIMS, n)
#define BLOB(n) VALUE(RLX_FIELD_BLOB, n)
#define ROW(n) VALUE(RLX_FIELD_ROW, n)
#define STRUCT static const rlx_field FIELDS[] = {
#define END { .name = NULL } };
#include "ir/node.def"

/* The kinds table takes one thing from the fields: where the place is. */
#define PLACE_AT RLX_NODE_NAME(place_of_)
#define STRUCT enum { PLACE_AT = -1
#define PLACE + (int)offsetof(RLX_NODE_NAME(rlx_), place) + 1
#define END };
#include "ir/node.def"

#define KIND(k, f, m, text)                                                                    \
    [RLX_NODE_##k] = { .name = text, .size = sizeof(RLX_NODE_NAME(rlx_)),                      \
                       .family = RLX_FAMILY_##f, .mode = RLX_MODE_##m,                         \
                       .num_fields = RLX_COUNT(FIELDS) - 1, .place_offset = PLACE_AT,          \
                       .fields = FIELDS },
const rlx_kind_info rlx_kinds[RLX_NODE_COUNT] = {
    [RLX_NODE_NONE] = { .name = "none", .place_offset = -1 },
#include "ir/node.def"
};

#define CHECK_SIZE(s) \
    _Static_assert(sizeof(rlx_##s) <= sizeof(rlx_any_node), "rlx_any_node holds every node")
CHECK_SIZE(function);
CHECK_SIZE(buffer);
CHECK_SIZE(tir_block);
_Static_assert(RLX_NODE_COUNT <= 256, "a kind fits a byte");
/* rlx_prim_dtype reads the dtype of most integer expressions at one place. */
_Static_assert(offsetof(rlx_int_imm, dtype) == sizeof(rlx_node), "dtype comes first");
_Static_assert(offsetof(rlx_reduce, dtype) == sizeof(rlx_node), "dtype comes first");

static bool kind_is_sound(int kind)
{
    const rlx_kind_info *k = &rlx_kinds[kind];
    bool place = k->place_offset >= 0;
    if (!k->name || !k->family || k->size < sizeof(rlx_node) || k->size > sizeof(rlx_any_node))
        return false;
    if (k->mode == RLX_MODE_INTERN && place)
        return false;
    for (int i = 0; i < k->num_fields; i++)
        if (k->fields[i].offset < sizeof(rlx_node) || k->fields[i].offset >= k->size)
            return false;
    return true;
}

bool rlx_node_table_is_sound(void)
{
    for (int i = 1; i < RLX_NODE_COUNT; i++)
        if (!kind_is_sound(i))
            return false;
    return true;
}

size_t rlx_child_count(const rlx_node *n)
{
    const rlx_kind_info *k = &rlx_kinds[n->kind];
    size_t count = 0;
    for (int i = 0; i < k->num_fields; i++) {
        const rlx_field *f = &k->fields[i];
        if (rlx_field_is_child(f))
            count += rlx_field_is_list(f) ? RLX_AT(n, f->count_offset, size_t) : 1;
    }
    return count;
}

const rlx_node *rlx_child(const rlx_node *n, size_t i)
{
    rlx_cursor c = rlx_cursor_at(n);
    const rlx_field *via;
    const rlx_node *child;
    while (rlx_cursor_next(&c, &via, &child)) {
        /* Lists are stepped over whole, so that a wide node is not walked from its start. */
        if (rlx_field_is_list(via)) {
            size_t count = RLX_AT(n, via->count_offset, size_t);
            if (i < count)
                return RLX_AT(n, via->offset, const rlx_node *const *)[i];
            i -= count;
            rlx_cursor_skip_list(&c);
        } else if (i-- == 0) {
            return child;
        }
    }
    return NULL;
}

const rlx_prim *const *rlx_shape_dims(const rlx_expr *shape, size_t *count)
{
    static const rlx_prim *const none[1];
    const rlx_shape_expr *list = rlx_as_shape_expr(shape);
    const rlx_var *v = rlx_as_var(shape);
    const rlx_shape_sinfo *s = v ? rlx_as_shape_sinfo(v->sinfo) : NULL;
    if (!list && !(s && s->has_values))
        return NULL;
    *count = list ? list->num_values : s->num_values;
    return !*count ? none : list ? list->values : s->values;
}

enum rlx_op_id rlx_op_id_of(const rlx_node *n)
{
    const rlx_op *op = rlx_as_op(n);
    return op && op->row ? (enum rlx_op_id)op->row->id : RLX_OP_ID_NONE;
}

bool rlx_is_op(const rlx_node *n, enum rlx_op_id id) { return rlx_op_id_of(n) == id; }

const rlx_call *rlx_is_call_op(const rlx_expr *e, enum rlx_op_id id)
{
    const rlx_call *call = rlx_as_call(e);
    return call && rlx_is_op(call->op, id) ? call : NULL;
}
