/* relay_op.c: the table of operators. */
#include "relay/relay_op.h"

#define F(name, type, otherwise) { #name, RLX_RELAY_FIELD_##type, otherwise }
#define R(name, type) { #name, RLX_RELAY_FIELD_##type, NULL }
#define RECORD(name, ...) static const rlx_relay_field fields_##name[] = { __VA_ARGS__ };
#include "relay/relay_op.def"

enum {
#define RECORD(name, ...) COUNT_##name = RLX_COUNT(fields_##name),
#include "relay/relay_op.def"
    COUNT_none = 0
};
#define fields_none NULL

static const rlx_relay_op ops[] = {
#define OP(name, inputs, relation, record) { name, inputs, true, relation, fields_##record, COUNT_##record },
#define IMPURE(name, inputs, relation, record) \
    { name, inputs, false, relation, fields_##record, COUNT_##record },
#include "relay/relay_op.def"
};
#undef F
#undef R
#undef fields_none

const rlx_relay_op *rlx_relay_op_find(rlx_slice name)
{
    for (size_t i = 0; i < RLX_COUNT(ops); i++) /* once for each name of a text: words remember it */
        if (rlx_slice_is(name, ops[i].name))
            return &ops[i];
    return NULL;
}

const char *rlx_relay_op_like(rlx_slice name)
{
    size_t best = name.len < 4 ? 2 : name.len / 4 + 2;
    const char *like = NULL;
    for (size_t i = 0; i < RLX_COUNT(ops); i++) {
        /* R.NAME of somebody who knows Relax, or a name without its group. */
        const char *dot = strchr(ops[i].name, '.');
        size_t d = rlx_edit_distance(name, rlx_slice_z(ops[i].name), best);
        if (dot && rlx_slice_is(name, dot + 1))
            d = 0;
        if (d < best) {
            best = d;
            like = ops[i].name;
        }
    }
    return like;
}

const rlx_relay_field *rlx_relay_op_field(const rlx_relay_op *op, rlx_slice name)
{
    for (size_t i = 0; i < op->num_fields; i++)
        if (rlx_slice_is(name, op->fields[i].name))
            return &op->fields[i];
    return NULL;
}

size_t rlx_relay_op_index(const rlx_relay_op *op)
{
    uintptr_t at = (uintptr_t)op, first = (uintptr_t)ops;
    return at >= first && at < first + sizeof ops ? (at - first) / sizeof ops[0] : SIZE_MAX;
}
const rlx_relay_op *rlx_relay_op_at(size_t index) { return index < RLX_COUNT(ops) ? &ops[index] : NULL; }

/* ---- attributes -------------------------------------------------------------------------------------- */

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* A default as relay_op.def writes it. */
static rlx_relay_value default_value(rlx_region *region, const char *text, rlx_place place)
{
    rlx_relay_value v = { .kind = RLX_RELAY_VALUE_NONE, .place = place };
    size_t len = text ? strlen(text) : 0;
    if (!len || strcmp(text, "None") == 0)
        return v;
    if (strcmp(text, "True") == 0 || strcmp(text, "False") == 0) {
        v.kind = RLX_RELAY_VALUE_BOOL;
        v.i = text[0] == 'T';
    } else if (text[0] == '"') {
        v.kind = RLX_RELAY_VALUE_STRING;
        v.s = (rlx_slice){ text + 1, len - 2 };
    } else if (text[0] == '[') {
        rlx_relay_value *items = rlx_region_zero(region, len * sizeof *items);
        v.kind = RLX_RELAY_VALUE_LIST;
        v.list.items = items;
        for (size_t i = 1; items && i < len; i++)
            if (is_digit(text[i])) { /* one digit each */
                items[v.list.count].kind = RLX_RELAY_VALUE_INT;
                items[v.list.count++].i = text[i] - '0';
            }
    } else {
        bool negative = text[0] == '-', is_float = text[len - 1] == 'f';
        rlx_slice digits = { text + negative, len - negative - is_float };
        v.kind = is_float ? RLX_RELAY_VALUE_FLOAT : RLX_RELAY_VALUE_INT;
        double d = 0;
        rlx_parse_double(digits, &d);
        uint64_t u = 0;
        bool overflow;
        if (is_float)
            v.f = negative ? -d : d;
        else if (rlx_parse_u64(digits, &u, &overflow))
            v.i = negative ? -(int64_t)u : (int64_t)u;
    }
    return v;
}

rlx_relay_value rlx_relay_op_attr(rlx_region *region, const rlx_relay_op *op, rlx_relay_attrs attrs,
                                  const char *name, rlx_place place)
{
    for (size_t i = 0; i < attrs.count; i++)
        if (rlx_slice_is(attrs.items[i].name, name))
            return attrs.items[i].value;
    const rlx_relay_field *f = op ? rlx_relay_op_field(op, rlx_slice_z(name)) : NULL;
    return default_value(region, f ? f->otherwise : NULL, place);
}

bool rlx_relay_number(rlx_relay_value v, double *out)
{
    const rlx_relay_expr *e = v.kind == RLX_RELAY_VALUE_EXPR ? v.expr : NULL;
    if (v.kind == RLX_RELAY_VALUE_INT || v.kind == RLX_RELAY_VALUE_FLOAT) {
        *out = v.kind == RLX_RELAY_VALUE_INT ? (double)v.i : v.f;
        return true;
    }
    if (!e || e->kind != RLX_RELAY_CONST || e->constant.ndim)
        return false;
    if (rlx_dtype_is_float(e->constant.dtype)) {
        *out = rlx_dtype_load_float(e->constant.dtype, e->constant.data);
        return true;
    }
    uint64_t bits = 0;
    for (size_t i = 0; i < e->constant.bytes; i++)
        bits |= (uint64_t)((const unsigned char *)e->constant.data)[i] << (8 * i);
    *out = (double)rlx_dtype_wrap(e->constant.dtype, (int64_t)bits);
    return true;
}
