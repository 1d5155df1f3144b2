/* convert_sequence.c: sequences and optional values, whose lengths are known at import, and caches. */
#include "onnx/onnx_int.h"

static bool give_items(rlx_onnx_conv *c, rlx_onnx_value *const *items, size_t count)
{
    rlx_onnx_value v = { .items = items, .num_items = count, .is_sequence = true };
    return items && rlx_onnx_output_value(c, 0, &v);
}

static const rlx_onnx_value *sequence(rlx_onnx_conv *c, size_t i)
{
    const rlx_onnx_value *v = i < c->num_inputs ? c->inputs[i] : NULL;
    if (v && v->is_optional && v->num_items == 1)
        v = v->items[0];
    return v && v->is_sequence
               ? v
               : rlx_onnx_fail(c, RLX_ON08, "operand %zu is no sequence whose length is known", i);
}

RLX_ONNX_CONVERTER(convert_sequence_construct)
{
    rlx_onnx_value **items = rlx_onnx_array(c, c->num_inputs, sizeof *items);
    for (size_t i = 0; items && i < c->num_inputs; i++)
        items[i] = c->inputs[i];
    return give_items(c, items, c->num_inputs);
}

RLX_ONNX_CONVERTER(convert_sequence_empty)
{
    return give_items(c, rlx_onnx_array(c, 0, sizeof(rlx_onnx_value *)), 0);
}

static bool position(rlx_onnx_conv *c, size_t i, int64_t otherwise, int64_t count, int64_t *at)
{
    *at = otherwise;
    if (rlx_onnx_has(c, i) && !rlx_onnx_literal(c, i, "the position", at))
        return false;
    *at += *at < 0 ? count : 0;
    return (*at >= 0 && *at <= count) || rlx_onnx_fail(c, RLX_ON05, "the position is out of range");
}

RLX_ONNX_CONVERTER(convert_sequence_insert)
{
    const rlx_onnx_value *s = sequence(c, 0);
    int64_t at;
    if (!s || !rlx_onnx_has(c, 1) || !position(c, 2, (int64_t)s->num_items, (int64_t)s->num_items, &at))
        return false;
    rlx_onnx_value **items = rlx_onnx_array(c, s->num_items + 1, sizeof *items);
    for (size_t i = 0; items && i <= s->num_items; i++)
        items[i] = (int64_t)i < at ? s->items[i] : (int64_t)i == at ? c->inputs[1] : s->items[i - 1];
    return give_items(c, items, s->num_items + 1);
}

RLX_ONNX_CONVERTER(convert_sequence_erase)
{
    const rlx_onnx_value *s = sequence(c, 0);
    int64_t at;
    if (!s || !s->num_items || !position(c, 1, (int64_t)s->num_items - 1, (int64_t)s->num_items, &at))
        return false;
    rlx_onnx_value **items = rlx_onnx_array(c, s->num_items, sizeof *items);
    for (size_t i = 0; items && i + 1 < s->num_items; i++)
        items[i] = s->items[(int64_t)i < at ? i : i + 1];
    return give_items(c, items, s->num_items - 1);
}

RLX_ONNX_CONVERTER(convert_sequence_at)
{
    const rlx_onnx_value *s = sequence(c, 0);
    int64_t at;
    if (!s || !position(c, 1, 0, (int64_t)s->num_items, &at))
        return false;
    if (at >= (int64_t)s->num_items)
        return rlx_onnx_fail(c, RLX_ON05, "the position is out of range") != NULL;
    return rlx_onnx_output_value(c, 0, s->items[at]);
}

RLX_ONNX_CONVERTER(convert_sequence_length)
{
    const rlx_onnx_value *s = sequence(c, 0);
    return s && rlx_onnx_output(c, 0, rlx_onnx_scalar(c, RELAX_INT64, (double)s->num_items));
}

/* The results of the body for item k of the operands that are sequences, and the others as they are. */
static rlx_onnx_value **map_item(rlx_onnx_conv *c, const rlx_onnx_graph *g, size_t k)
{
    rlx_onnx_scope scope;
    bool ok = true;
    rlx_onnx_scope_init(c->m, &scope, c->scope);
    for (size_t i = 0; ok && i < g->inputs.len; i++) {
        rlx_onnx_value *v = c->inputs[i];
        if (v && v->is_sequence && k >= v->num_items)
            ok = rlx_onnx_fail(c, RLX_ON05, "operand %zu has %zu items, the first one has more", i, v->num_items);
        else
            ok = v && rlx_onnx_value_bind(c->m, &scope, RLX_ONNX_ITEM(rlx_onnx_value_info, g->inputs, i)->name,
                                          v->is_sequence ? v->items[k] : v);
    }
    rlx_onnx_value **out = ok ? rlx_onnx_body(c, &scope, g) : NULL;
    rlx_onnx_scope_free(&scope);
    return out;
}

RLX_ONNX_CONVERTER(convert_sequence_map)
{
    const rlx_onnx_value *s = sequence(c, 0);
    const rlx_onnx_graph *g = s ? rlx_onnx_subgraph(c, "body") : NULL;
    if (!g)
        return false;
    if (g->inputs.len != c->num_inputs || g->outputs.len < c->num_outputs)
        return rlx_onnx_fail(c, RLX_ON10, "the body has %zu inputs and %zu outputs, expected %zu and %zu", g->inputs.len,
                             g->outputs.len, c->num_inputs, c->num_outputs) != NULL;
    rlx_onnx_value **all = rlx_onnx_array(c, c->num_outputs * (s->num_items + 1), sizeof *all);
    for (size_t k = 0; all && k < s->num_items; k++) {
        rlx_onnx_value **out = map_item(c, g, k);
        if (!out)
            return false;
        for (size_t i = 0; i < c->num_outputs; i++)
            all[i * s->num_items + k] = out[i];
    }
    for (size_t i = 0; all && i < c->num_outputs; i++) {
        rlx_onnx_value v = { .items = all + i * s->num_items, .num_items = s->num_items, .is_sequence = true };
        if (!rlx_onnx_output_value(c, i, &v))
            return false;
    }
    return all != NULL;
}

RLX_ONNX_CONVERTER(convert_concat_from_sequence)
{
    const rlx_onnx_value *s = sequence(c, 0);
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    bool fresh = rlx_onnx_int(c, "new_axis", 0) != 0;
    const rlx_expr **parts = s ? rlx_onnx_array(c, s->num_items, sizeof *parts) : NULL;
    for (size_t i = 0; parts && i < s->num_items; i++) {
        parts[i] = rlx_onnx_value_expr(c, s->items[i]);
        int n = parts[i] ? rlx_onnx_rank(c, parts[i]) : -1;
        if (n < 0 || !rlx_onnx_axis(c, &axis, n + fresh))
            return false;
        if (fresh)
            parts[i] = rlx_onnx_expand_dims(c, parts[i], &axis, 1);
    }
    return parts && s->num_items && rlx_onnx_output(c, 0, rlx_onnx_concat(c, parts, s->num_items, axis));
}

/* Parts whose sizes are listed, in variables where they are found when the program runs. */
static bool split_as_listed(rlx_onnx_conv *c, const rlx_expr *x, int64_t axis, const rlx_onnx_ints *list)
{
    const rlx_prim *at = rlx_int64(c->ctx, 0);
    rlx_onnx_value **items = rlx_onnx_array(c, list->len, sizeof *items);
    for (size_t i = 0; items && i < list->len; i++) {
        const rlx_prim *end = rlx_onnx_simplify(c, rlx_fold_add(c->ctx, at, list->data[i]));
        items[i] = end ? rlx_onnx_value_of(c, rlx_onnx_slice(c, x, axis, at, end)) : NULL;
        at = end;
        if (!items[i])
            return false;
    }
    return give_items(c, items, list->len);
}

/* Sizes of the parts: as listed, of one size each (the last may be smaller), or of 1. */
RLX_ONNX_CONVERTER(convert_split_to_sequence)
{
    const rlx_expr *x = rlx_onnx_input(c, 0);
    int n = x ? rlx_onnx_rank(c, x) : -1;
    int64_t axis = rlx_onnx_int(c, "axis", 0), size, at = 0, each = 1;
    rlx_onnx_ints list;
    if (n < 0 || !rlx_onnx_axis(c, &axis, n))
        return false;
    bool given = rlx_onnx_has(c, 1), drop = !given && !rlx_onnx_int(c, "keepdims", 1);
    const rlx_expr *split = given ? rlx_onnx_input(c, 1) : NULL;
    if (given && (!split || rlx_onnx_rank(c, split) != 0))
        return rlx_onnx_sizes(c, 1, "split", &list) && split_as_listed(c, x, axis, &list);
    if (given && !rlx_onnx_literal(c, 1, "split", &each))
        return false;
    if (!rlx_onnx_static_dim(c, x, (size_t)axis, &size))
        return rlx_onnx_fail(c, RLX_ON08, "the size that is split has to be known") != NULL;
    if (each < 1 || size > 1 << 16)
        return rlx_onnx_fail(c, RLX_ON05, "the sizes of the parts are out of range") != NULL;
    size_t count = (size_t)((size + each - 1) / each);
    rlx_onnx_value **items = rlx_onnx_array(c, count, sizeof *items);
    for (size_t i = 0; items && i < count; i++) {
        int64_t end = at + each > size ? size : at + each;
        const rlx_expr *part =
            rlx_onnx_slice(c, x, axis, rlx_int64(c->ctx, at), rlx_int64(c->ctx, end));
        if (drop)
            part = rlx_onnx_call(c, "squeeze", "x axis=I", part, &axis, (size_t)1);
        items[i] = rlx_onnx_value_of(c, part);
        at = end;
    }
    return !c->failed && give_items(c, items, count);
}

/* ---- optional values --------------------------------------------------------------------------- */

RLX_ONNX_CONVERTER(convert_optional)
{
    rlx_onnx_value **items = rlx_onnx_array(c, 1, sizeof *items);
    bool any = rlx_onnx_has(c, 0);
    if (!items)
        return false;
    if (any)
        items[0] = c->inputs[0];
    rlx_onnx_value v = { .items = items, .num_items = any, .is_optional = true };
    return rlx_onnx_output_value(c, 0, &v);
}

RLX_ONNX_CONVERTER(convert_optional_has)
{
    return rlx_onnx_output(c, 0, rlx_onnx_scalar(c, RELAX_BOOL, rlx_onnx_has(c, 0)));
}

RLX_ONNX_CONVERTER(convert_optional_get)
{
    const rlx_onnx_value *v = c->num_inputs ? c->inputs[0] : NULL;
    if (!rlx_onnx_has(c, 0))
        return rlx_onnx_fail(c, RLX_ON05, "the optional value is empty") != NULL;
    return rlx_onnx_output_value(c, 0, v->is_optional ? v->items[0] : v);
}

/* ---- caches and sets --------------------------------------------------------------------------- */

/* Rows of `update` written behind each other from a position of their own, around the end if circular. */
RLX_ONNX_CONVERTER(convert_tensor_scatter)
{
    const rlx_expr *past = rlx_onnx_input(c, 0), *update = rlx_onnx_input(c, 1);
    size_t n;
    const rlx_prim *const *d = update ? rlx_onnx_dims(c, &update, &n) : NULL;
    int64_t axis = rlx_onnx_int(c, "axis", -2), behind[64];
    if (!past || !d || n > 60 || !rlx_onnx_axis(c, &axis, (int)n) || axis == 0)
        return false;
    size_t k = n - 1 - (size_t)axis;
    for (size_t i = 0; i < n; i++)
        behind[i] = (int64_t)i + 1;
    const rlx_expr *at = rlx_onnx_expand_dims(c, rlx_onnx_arange(c, d[axis], RELAX_INT64), behind, k);
    if (rlx_onnx_has(c, 2)) {
        const rlx_expr *from = rlx_onnx_cast(c, rlx_onnx_input(c, 2), RELAX_INT64);
        at = rlx_onnx_call2(c, "add", rlx_onnx_expand_dims(c, from, behind, n - 1), at);
    }
    if (rlx_slice_is(rlx_onnx_string(c, "mode", "linear"), "circular")) {
        const rlx_prim *size = rlx_onnx_dim(c, past, (size_t)axis);
        at = rlx_onnx_call2(c, "floor_mod", at,
                            rlx_onnx_call1(c, "shape_to_tensor", rlx_shape_new(c->ctx, &size, 1)));
    }
    at = rlx_onnx_call(c, "broadcast_to", "x x", at, rlx_shape_new(c->ctx, d, n));
    return rlx_onnx_output(c, 0, rlx_onnx_call(c, "scatter_elements", "x x x axis=i", past, at, update,
                                               axis));
}

RLX_ONNX_CONVERTER(convert_unique)
{
    const rlx_expr *x = rlx_onnx_input(c, 0), *part[4];
    bool sorted = rlx_onnx_int(c, "sorted", 1) != 0, any = rlx_onnx_attr(c, "axis") != NULL;
    int64_t axis = rlx_onnx_int(c, "axis", 0);
    if (!x || (any && !rlx_onnx_axis(c, &axis, rlx_onnx_rank(c, x))))
        return false;
    const rlx_expr *yes = rlx_prim_value_new(c->ctx, rlx_int(c->ctx, RELAX_BOOL, 1));
    if (!any)
        x = rlx_onnx_call1(c, "flatten", x);
    const rlx_expr *u = rlx_onnx_call(c, "unique", "x x x x x x", x, yes, yes, yes, yes,
                                      rlx_onnx_prim(c, any ? axis : 0));
    for (int64_t i = 0; i < 4; i++) {
        size_t n;
        part[i] = rlx_onnx_item(c, u, i);
        if (!part[i] || !rlx_onnx_dims(c, &part[i], &n))
            return false;
    }
    if (!sorted) { /* by where each is found first */
        const rlx_expr *order =
            rlx_onnx_call(c, "argsort", "x axis=i dtype=d", part[1], (int64_t)-1, RELAX_INT64);
        const rlx_expr *rank =
            rlx_onnx_call(c, "argsort", "x axis=i dtype=d", order, (int64_t)-1, RELAX_INT64);
        part[0] = rlx_onnx_call(c, "take", "x x axis=i", part[0], order, any ? axis : (int64_t)0);
        part[1] = rlx_onnx_call(c, "take", "x x axis=i", part[1], order, (int64_t)0);
        part[2] = rlx_onnx_call(c, "take", "x x axis=i", rank, part[2], (int64_t)0);
        part[3] = rlx_onnx_call(c, "take", "x x axis=i", part[3], order, (int64_t)0);
    }
    for (size_t i = 0; i < 4; i++)
        if (rlx_onnx_wants(c, i) &&
            !rlx_onnx_output(c, i, i ? rlx_onnx_cast(c, part[i], RELAX_INT64) : part[i]))
            return false;
    return true;
}
