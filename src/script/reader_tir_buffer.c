/* reader_tir_buffer.c: buffers: declaration, attributes, indexing, loads and stores. */
/* built for size */
#include "script/reader_tir.h"

static bool set_prim(rlx_val *out, const rlx_prim *p, const rlx_ast *at)
{
    return rlx_val_set(out, RLX_VAL_PRIM, p, at);
}
static bool absent(const rlx_ast *a) { return !a || a->kind == RLX_AST_NONE; }

/* ---- declaring ------------------------------------------------------------------------------ */

static bool read_int(rlx_reader *r, const rlx_ast *a, int64_t low, int64_t high, int32_t *out)
{
    rlx_val v;
    int64_t i;
    if (!rlx_read_value(r, a, &v) || !rlx_to_int(r, a, &v, &i))
        return false;
    if (i < low || i > high)
        return rlx_read_error(r, RLX_PA24, a, "%lld is out of range here", (long long)i);
    *out = (int32_t)i;
    return true;
}

static bool read_text(rlx_reader *r, const rlx_ast *a, rlx_slice *out)
{
    rlx_val v;
    return rlx_read_value(r, a, &v) && rlx_to_string(r, a, &v, out);
}

/* Names in the text of an extent that mean nothing yet are sizes of the function: int32, as TVM
 * takes them, and int64 where they are a TypeVar's, which text names only within an expression.
 * Depth is bounded by the parser. */
static bool define_names(rlx_reader *r, const rlx_ast *a, rlx_dtype type_var)
{
    if (a->kind == RLX_AST_NAME) {
        uint8_t kind = a->name->value.kind;
        return (kind && kind != RLX_VAL_TYPE_VAR) ||
               rlx_define_size(r, a->name, kind ? type_var : RELAX_INT32, a);
    }
    bool below = a->kind == RLX_AST_BINARY || a->kind == RLX_AST_UNARY || a->kind == RLX_AST_CALL;
    if (below && a->kind != RLX_AST_CALL && a->base && !define_names(r, a->base, RELAX_INT64))
        return false;
    for (const rlx_ast *i = below ? a->first : NULL; i; i = i->next)
        if (!define_names(r, i, RELAX_INT64))
            return false;
    return true;
}

/* "m", "T.int64(2) * a" */
static const rlx_prim *named_extent(rlx_reader *r, const rlx_ast *at, const rlx_val *text)
{
    const rlx_ast string = {
        .kind = RLX_AST_STRING, .begin = at->begin, .end = at->end, .string = text->s
    };
    const rlx_ast *inner = rlx_parse_text(r, &string);
    return inner && define_names(r, inner, RELAX_INT32) ? rlx_read_prim(r, inner) : NULL;
}

/* Extents of a shape onto the stack: a list, or one number. */
static bool push_shape(rlx_reader *r, const rlx_ast *a)
{
    rlx_val v;
    if (a->kind == RLX_AST_TUPLE || a->kind == RLX_AST_LIST) /* one by one: text defines names */
        for (const rlx_ast *i = a->first; i; i = i->next)
            if (i->kind == RLX_AST_STRING && !named_extent(r, i, &(rlx_val){ .s = i->string }))
                return false;
    if (!rlx_read_value(r, a, &v))
        return false;
    bool list = v.kind == RLX_VAL_TUPLE || v.kind == RLX_VAL_LIST;
    for (size_t i = 0; i < (list ? v.list.count : 1); i++) {
        const rlx_val *item = list ? &v.list.items[i] : &v;
        const rlx_ast at = { .begin = item->begin, .end = item->end };
        const rlx_prim *p = item->kind == RLX_VAL_STR ? named_extent(r, &at, item)
                                                      : rlx_to_prim(r, &at, item);
        if (!p)
            return false;
        if (!rlx_dtype_is_int(rlx_prim_dtype(p)) || rlx_dtype_lanes(rlx_prim_dtype(p)) != 1)
            return rlx_read_error(r, RLX_PA28, &at,
                                  "a dimension is an integer expression, found %s",
                                  rlx_show(r->ctx, p));
        if (!rlx_tir_reader_push(r, &r->stack, p))
            return false;
    }
    return true;
}

static bool push_region_shape(rlx_reader *r, const rlx_buffer_region *region)
{
    for (size_t i = 0; i < region->num_region; i++)
        if (!rlx_tir_reader_push(r, &r->stack, ((const rlx_range *)region->region[i])->extent))
            return false;
    return true;
}

/* A stride written as text makes a fresh variable of that name, or NAME_s0. */
static const rlx_prim *stride_var(rlx_reader *r, const rlx_buffer *b, rlx_slice stated, size_t i)
{
    rlx_buf text;
    rlx_buf_init(&text, &r->ctx->memory);
    if (rlx_is_identifier(stated))
        rlx_buf_put(&text, stated.data, stated.len);
    else
        rlx_buf_format(&text, "%s_s%zu", b->name->data, i);
    const rlx_string *name =
        text.failed ? NULL : rlx_string_intern(r->ctx, (rlx_slice){ text.data, text.len });
    rlx_buf_free(&text);
    rlx_dtype t = b->num_shape ? rlx_prim_dtype(b->shape[0]) : RELAX_INT32;
    return name ? (const rlx_prim *)rlx_prim_var_new(r->ctx, name, t, b->place) : NULL;
}

static bool set_strides(rlx_reader *r, rlx_buffer *b, const rlx_ast *a)
{
    rlx_val v;
    size_t mark = r->stack.len;
    bool ok = rlx_read_value(r, a, &v);
    if (ok && v.kind != RLX_VAL_TUPLE && v.kind != RLX_VAL_LIST)
        ok = rlx_read_expected(r, a, "a list of strides", &v);
    for (size_t i = 0; ok && i < v.list.count; i++) {
        const rlx_prim *p = v.list.items[i].kind == RLX_VAL_STR
                                ? stride_var(r, b, v.list.items[i].s, i)
                                : rlx_to_prim(r, a, &v.list.items[i]);
        ok = p && rlx_read_is_extent(r, a, p) && rlx_tir_reader_push(r, &r->stack, p);
    }
    if (ok) {
        b->num_strides = r->stack.len - mark;
        b->strides = rlx_nodes_copy(r->ctx, (const rlx_node *const *)(r->stack.data + mark),
                                    b->num_strides, &ok);
    }
    r->stack.len = mark;
    return ok;
}

static bool set_offset(rlx_reader *r, rlx_buffer *b, const rlx_ast *offset, const rlx_ast *factor)
{
    int32_t f = 0;
    if (!absent(factor) && !read_int(r, factor, 0, INT32_MAX, &f))
        return false;
    b->offset_factor = f ? f : 1;
    if (!absent(offset))
        return (b->elem_offset = rlx_read_prim(r, offset)) &&
               rlx_read_is_extent(r, offset, b->elem_offset);
    if (!f)
        return true;
    const rlx_string *name = rlx_string_z(r->ctx, "elem_offset");
    rlx_dtype t = b->num_shape ? rlx_prim_dtype(b->shape[0]) : RELAX_INT32;
    b->elem_offset = name ? (const rlx_node *)rlx_prim_var_new(r->ctx, name, t, b->place) : NULL;
    return b->elem_offset != NULL;
}

static bool set_type(rlx_reader *r, rlx_buffer *b, const rlx_ast *a)
{
    rlx_slice text;
    if (!read_text(r, a, &text))
        return false;
    b->auto_broadcast = rlx_slice_is(text, "auto") || rlx_slice_is(text, "auto_broadcast");
    return b->auto_broadcast || text.len == 0 || rlx_slice_is(text, "default") ||
           rlx_read_error(r, RLX_PA12, a, "buffer_type is \"\", \"default\" or \"auto\"");
}

static bool set_separators(rlx_reader *r, rlx_buffer *b, const rlx_ast *a)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return false;
    if (v.kind != RLX_VAL_TUPLE && v.kind != RLX_VAL_LIST)
        return rlx_read_expected(r, a, "a list of axes", &v);
    int64_t *axes = rlx_new(r->ctx, (v.list.count + 1) * sizeof *axes);
    if (!axes)
        return false;
    for (size_t i = 0; i < v.list.count; i++)
        if (!rlx_to_int(r, a, &v.list.items[i], &axes[i]))
            return false;
    b->axis_separators = axes;
    b->num_axis_separators = v.list.count;
    return true;
}

static bool set_data(rlx_reader *r, rlx_buffer *b, const rlx_ast *a)
{
    const rlx_prim *p = rlx_read_prim(r, a);
    if (p && rlx_prim_dtype(p) != RELAX_HANDLE)
        return rlx_read_error(r, RLX_PA18, a, "data of a buffer is a pointer");
    b->data = p;
    return p != NULL;
}

rlx_buffer *rlx_make_buffer(rlx_reader *r, const rlx_string *name, const rlx_ast *at,
                            const rlx_ast *const *slots, const rlx_buffer_region *region)
{
    size_t mark = r->stack.len;
    rlx_dtype dtype = region ? ((const rlx_buffer *)region->buffer)->dtype : RELAX_FLOAT32;
    rlx_slice scope = RLX_SLICE("global");
    rlx_val v;
    rlx_buffer *b = NULL;
    bool ok = absent(slots[RLX_BUF_SHAPE]) && region
                  ? push_region_shape(r, region)
                  : !absent(slots[RLX_BUF_SHAPE]) && push_shape(r, slots[RLX_BUF_SHAPE]);
    if (absent(slots[RLX_BUF_SHAPE]) && !region)
        rlx_read_error(r, RLX_PA12, at, "a buffer needs a shape");
    if (ok && !absent(slots[RLX_BUF_DTYPE]))
        ok = rlx_read_value(r, slots[RLX_BUF_DTYPE], &v) &&
             rlx_to_dtype(r, slots[RLX_BUF_DTYPE], &v, &dtype);
    if (ok && !absent(slots[RLX_BUF_SCOPE]))
        ok = read_text(r, slots[RLX_BUF_SCOPE], &scope);
    if (ok)
        b = (rlx_buffer *)rlx_buffer_new(
            r->ctx, name, dtype, (const rlx_prim *const *)(r->stack.data + mark),
            r->stack.len - mark, rlx_string_intern(r->ctx, scope), rlx_read_place(r, at));
    r->stack.len = mark;
    if (!b)
        return NULL;
    int32_t align = 0;
    ok =
        (absent(slots[RLX_BUF_DATA]) || set_data(r, b, slots[RLX_BUF_DATA])) &&
        (absent(slots[RLX_BUF_STRIDES]) || set_strides(r, b, slots[RLX_BUF_STRIDES])) &&
        set_offset(r, b, slots[RLX_BUF_OFFSET], slots[RLX_BUF_FACTOR]) &&
        (absent(slots[RLX_BUF_ALIGN]) || read_int(r, slots[RLX_BUF_ALIGN], -1, 1 << 30, &align)) &&
        (absent(slots[RLX_BUF_TYPE]) || set_type(r, b, slots[RLX_BUF_TYPE])) &&
        (absent(slots[RLX_BUF_SEPARATORS]) || set_separators(r, b, slots[RLX_BUF_SEPARATORS]));
    if (align > 0)
        b->align = align;
    return ok ? b : NULL;
}

/* ---- attributes ----------------------------------------------------------------------------- */

static bool prim_tuple(rlx_reader *r, const rlx_node *const *nodes, size_t n, const rlx_ast *at,
                       rlx_val *out)
{
    rlx_val *items = rlx_region_array(&r->parser.region, n ? n : 1, sizeof *items);
    if (!items)
        return false;
    for (size_t i = 0; i < n; i++)
        items[i] = rlx_val_node(RLX_VAL_PRIM, nodes[i], at);
    *out = (rlx_val){
        .kind = RLX_VAL_TUPLE, .begin = at->begin, .end = at->end, .list = { items, n }
    };
    return true;
}

bool rlx_buffer_attr(rlx_reader *r, const rlx_buffer *b, rlx_word *name, const rlx_ast *at,
                     rlx_val *out)
{
    static const char *const methods[] = { "scope",  "access_ptr", "vload",
                                           "vstore", "offset_of",  "get_flattened_buffer",
                                           "view" };
    rlx_slice text = rlx_string_slice(name->text);
    if (rlx_slice_is(text, "data"))
        return set_prim(out, b->data, at);
    if (rlx_slice_is(text, "shape"))
        return prim_tuple(r, b->shape, b->num_shape, at, out);
    if (rlx_slice_is(text, "strides"))
        return prim_tuple(r, b->strides, b->num_strides, at, out);
    if (rlx_slice_is(text, "elem_offset"))
        return set_prim(out, b->elem_offset, at);
    if (rlx_slice_is(text, "dtype")) {
        *out =
            (rlx_val){ .kind = RLX_VAL_DTYPE, .begin = at->begin, .end = at->end, .i = b->dtype };
        return true;
    }
    for (size_t i = 0; i < RLX_COUNT(methods); i++)
        if (rlx_slice_is(text, methods[i])) {
            *out = (rlx_val){ .kind = RLX_VAL_METHOD,
                              .sub = RLX_VAL_BUFFER,
                              .begin = at->begin,
                              .end = at->end,
                              .fn = { name, b } };
            return true;
        }
    return rlx_read_error(r, RLX_PA10, at, "a buffer has no attribute %s", name->text->data);
}

/* ---- indices -------------------------------------------------------------------------------- */

static bool part_given(const rlx_ast *a)
{
    return !(a->kind == RLX_AST_NONE && a->begin == a->end);
}

static const rlx_prim *zero_like(rlx_reader *r, const rlx_prim *p)
{
    return rlx_int(r->ctx,
                   p && rlx_dtype_is_int(rlx_prim_dtype(p)) ? rlx_prim_dtype(p) : RELAX_INT32, 0);
}

/* start:stop:step as a vector index */
static const rlx_prim *ramp_index(rlx_reader *r, const rlx_buffer *b, size_t axis,
                                  const rlx_ast *s)
{
    const rlx_ast *stop_at = s->first->next, *step_at = stop_at->next;
    const rlx_prim *start =
        part_given(s->first) ? rlx_read_prim_operand(r, s->first) : zero_like(r, b->shape[axis]);
    const rlx_prim *stop =
        part_given(stop_at) ? rlx_read_prim_operand(r, stop_at) : b->shape[axis];
    const rlx_prim *step = part_given(step_at) ? rlx_read_prim_operand(r, step_at)
                           : start             ? rlx_int(r->ctx, rlx_prim_dtype(start), 1)
                                               : NULL;
    if (!start || !stop || !step || !rlx_read_is_extent(r, s, start) ||
        !rlx_read_is_extent(r, s, stop) || !rlx_read_is_extent(r, s, step))
        return NULL;
    if (!rlx_match_types(r->ctx, &start, &step))
        return rlx_prims_differ(r, s, start, step), NULL;
    const rlx_prim *one = rlx_int(r->ctx, RELAX_INT32, 1),
                   *span = rlx_fold_sub(r->ctx, stop, start);
    const rlx_prim *lanes =
        span ? rlx_fold_binary(r->ctx, RLX_NODE_FLOOR_DIV,
                               rlx_fold_sub(r->ctx, rlx_fold_add(r->ctx, span, step), one), step)
             : NULL;
    if (!lanes)
        return rlx_prims_differ(r, s, start, stop), NULL;
    lanes = rlx_simplify(r->ctx, NULL, lanes);
    int64_t n;
    if (!lanes)
        return NULL;
    if (!rlx_int_literal(lanes, &n) || n < 1 || n > 32767)
        return rlx_read_error(
                   r, RLX_PA16, s,
                   "the length of a vector index must be a literal from 1 to 32767, found %s",
                   rlx_show(r->ctx, lanes)),
               NULL;
    if (n == 1)
        return start;
    rlx_ramp key = { .node = { .kind = RLX_NODE_RAMP },
                     .dtype = rlx_dtype_with_lanes(rlx_prim_dtype(start), (int)n),
                     .base = start,
                     .stride = step,
                     .lanes = rlx_int(r->ctx, RELAX_INT32, n) };
    return key.lanes ? rlx_node_intern(r->ctx, &key.node) : NULL;
}

static bool index_count(rlx_reader *r, const rlx_buffer *b, const rlx_ast *index, size_t found)
{
    return found == b->num_shape ||
           rlx_read_error(r, RLX_PA31, index, "buffer %s has %zu dimension%s, found %zu ind%s",
                          b->name->data, b->num_shape, b->num_shape == 1 ? "" : "s", found,
                          found == 1 ? "ex" : "ices");
}

/* A[()] has no index. */
static bool is_empty(const rlx_ast *index)
{
    return index->count == 1 && !index->op && index->first->kind == RLX_AST_TUPLE &&
           !index->first->count;
}

static bool push_indices(rlx_reader *r, const rlx_buffer *b, const rlx_ast *index)
{
    size_t axis = 0;
    const rlx_ast *first = is_empty(index) ? NULL : index->first;
    if (index->count == 1 && !index->op && index->first->kind == RLX_AST_TUPLE) /* A[(i, j)] */
        first = index->first->first;
    size_t found = 0;
    for (const rlx_ast *a = first; a; a = a->next)
        found++;
    if (!index_count(r, b, index, found))
        return false;
    for (const rlx_ast *a = first; a; a = a->next, axis++) {
        const rlx_prim *p =
            a->kind == RLX_AST_SLICE ? ramp_index(r, b, axis, a) : rlx_read_prim_operand(r, a);
        if (!p)
            return false;
        rlx_dtype t = rlx_dtype_with_lanes(rlx_prim_dtype(p), 1);
        if (!rlx_dtype_is_int(t) && !rlx_dtype_is_bool(t))
            return rlx_read_error(r, RLX_PA18, a, "an index is an integer, found %s",
                                  rlx_show(r->ctx, p));
        if (!rlx_tir_reader_push(r, &r->stack, p))
            return false;
    }
    return true;
}

/* A range per dimension: an index is a range of 1. */
static const rlx_node *region_part(rlx_reader *r, const rlx_buffer *b, size_t axis,
                                   const rlx_ast *a)
{
    if (a->kind != RLX_AST_SLICE) {
        const rlx_prim *p = rlx_read_prim_operand(r, a);
        return p && (rlx_prim_dtype(p) == RELAX_BOOL || rlx_read_is_extent(r, a, p))
                   ? rlx_range_new(r->ctx, p,
                                   rlx_int(r->ctx,
                                           rlx_dtype_is_int(rlx_prim_dtype(p)) ? rlx_prim_dtype(p)
                                                                               : RELAX_INT32,
                                           1))
                   : NULL;
    }
    if (part_given(a->first->next->next))
        return rlx_read_error(r, RLX_PA12, a, "a region has no step"), NULL;
    const rlx_prim *start =
        part_given(a->first) ? rlx_read_prim_operand(r, a->first) : rlx_int(r->ctx, RELAX_INT32, 0);
    const rlx_prim *stop =
        part_given(a->first->next) ? rlx_read_prim_operand(r, a->first->next) : b->shape[axis];
    if (!start || !stop || !rlx_read_is_extent(r, a, start) || !rlx_read_is_extent(r, a, stop))
        return NULL;
    const rlx_prim *extent = rlx_read_region_length(r, a, &start, stop);
    return extent ? rlx_range_new(r->ctx, start, extent) : NULL;
}

static const rlx_node *new_region(rlx_reader *r, const rlx_buffer *b, size_t mark)
{
    bool ok;
    rlx_buffer_region *region = rlx_node_new(r->ctx, RLX_NODE_BUFFER_REGION);
    if (!region)
        return NULL;
    region->buffer = &b->node;
    region->num_region = r->stack.len - mark;
    region->region = rlx_nodes_copy(r->ctx, (const rlx_node *const *)(r->stack.data + mark),
                                    region->num_region, &ok);
    return ok ? &region->node : NULL;
}

static bool read_region(rlx_reader *r, const rlx_buffer *b, const rlx_ast *index, rlx_val *out)
{
    size_t mark = r->stack.len, axis = 0;
    bool ok = index_count(r, b, index, index->count);
    for (const rlx_ast *a = index->first; a && ok; a = a->next, axis++) {
        const rlx_node *range = region_part(r, b, axis, a);
        ok = range && rlx_tir_reader_push(r, &r->stack, range);
    }
    const rlx_node *region = ok ? new_region(r, b, mark) : NULL;
    r->stack.len = mark;
    return rlx_val_set(out, RLX_VAL_REGION, region, index);
}

bool rlx_buffer_index(rlx_reader *r, const rlx_buffer *b, const rlx_ast *index, bool vector,
                      rlx_val *out)
{
    for (const rlx_ast *a = index->first; a && !vector; a = a->next)
        if (a->kind == RLX_AST_SLICE && !part_given(a->first->next->next))
            return read_region(r, b, index, out);
    size_t mark = r->stack.len;
    const rlx_prim *p = NULL;
    if (push_indices(r, b, index))
        p = rlx_load(r->ctx, b, (const rlx_prim *const *)(r->stack.data + mark),
                     r->stack.len - mark);
    r->stack.len = mark;
    return set_prim(out, p, index);
}

const rlx_node *rlx_to_region(rlx_reader *r, const rlx_ast *at, const rlx_val *v)
{
    size_t mark = r->stack.len;
    const rlx_buffer_load *load = v->kind == RLX_VAL_PRIM ? rlx_as_buffer_load(v->node) : NULL;
    const rlx_buffer *b = load                        ? (const rlx_buffer *)load->buffer
                          : v->kind == RLX_VAL_BUFFER ? (const rlx_buffer *)v->node
                                                      : NULL;
    bool ok = true;
    if (v->kind == RLX_VAL_REGION)
        return v->node;
    if (!b)
        return rlx_read_expected(r, at, "a buffer region", v), NULL;
    for (size_t i = 0; i < b->num_shape && ok; i++) {
        const rlx_prim *min = load ? load->indices[i] : zero_like(r, b->shape[i]);
        const rlx_prim *extent =
            load
                ? rlx_int(
                      r->ctx,
                      rlx_dtype_is_int(rlx_prim_dtype(min)) ? rlx_prim_dtype(min) : RELAX_INT32, 1)
                : b->shape[i];
        const rlx_node *range = rlx_range_new(r->ctx, min, extent);
        ok = range && rlx_tir_reader_push(r, &r->stack, range);
    }
    const rlx_node *region = ok ? new_region(r, b, mark) : NULL;
    r->stack.len = mark;
    return region;
}

/* ---- stores --------------------------------------------------------------------------------- */

static const rlx_stmt *make_store(rlx_reader *r, const rlx_buffer *b, const rlx_ast *at,
                                  const rlx_prim *value, size_t mark, const rlx_prim *predicate,
                                  rlx_place place)
{
    const rlx_prim *const *indices = (const rlx_prim *const *)(r->stack.data + mark);
    size_t n = r->stack.len - mark;
    rlx_dtype want = b->dtype;
    if (n)
        want = rlx_dtype_with_lanes(want, rlx_dtype_lanes(want) *
                                              rlx_dtype_lanes(rlx_prim_dtype(indices[n - 1])));
    rlx_dtype have = rlx_prim_dtype(value);
    if (have != want) {
        size_t errors = rlx_error_count(r->ctx);
        bool is_text = value->kind == RLX_NODE_TIR_STRING;
        value = !is_text && (rlx_dtype_lanes(have) == 1 || rlx_dtype_lanes(have) == rlx_dtype_lanes(want))
                    ? rlx_fold_retype(r->ctx, want, value)
                    : NULL;
        if (!value && errors == rlx_error_count(r->ctx)) {
            char a[RLX_DTYPE_TEXT], c[RLX_DTYPE_TEXT];
            rlx_dtype_name(have, a);
            rlx_dtype_name(want, c);
            rlx_read_error(r, RLX_PA18, at, "a value of type %s cannot be stored where %s is held",
                           is_text ? "text" : a, c);
        }
    }
    rlx_buffer_store *s =
        value ? (rlx_buffer_store *)rlx_store(r->ctx, b, value, indices, n, place) : NULL;
    if (s)
        s->predicate = predicate;
    return s ? &s->node : NULL;
}

bool rlx_read_store(rlx_reader *r, const rlx_ast *target, const rlx_prim *value,
                    const rlx_prim *predicate, rlx_place place)
{
    rlx_val v;
    size_t mark = r->stack.len;
    if (!value || !rlx_read_value(r, target->base, &v))
        return false;
    if (v.kind != RLX_VAL_BUFFER)
        return rlx_read_expected(r, target->base, "a buffer to store into", &v);
    const rlx_stmt *s = NULL;
    if (push_indices(r, (const rlx_buffer *)v.node, target))
        s = make_store(r, (const rlx_buffer *)v.node, target, value, mark, predicate, place);
    r->stack.len = mark;
    return s && rlx_tir_reader_add(r, s);
}

/* ---- methods -------------------------------------------------------------------------------- */

/* Indices of vload and vstore: a list, or one. */
static bool push_index_list(rlx_reader *r, const rlx_buffer *b, const rlx_ast *a)
{
    bool list = a->kind == RLX_AST_LIST || a->kind == RLX_AST_TUPLE;
    size_t n = 0;
    for (const rlx_ast *i = list ? a->first : a; i; i = list ? i->next : NULL, n++) {
        const rlx_prim *p = rlx_read_prim_operand(r, i);
        if (!p || !rlx_tir_reader_push(r, &r->stack, p))
            return false;
    }
    return index_count(r, b, a, n);
}

static const rlx_prim *predicate_of(rlx_reader *r, const rlx_ast *a, bool *ok)
{
    const rlx_prim *p = absent(a) ? NULL : rlx_read_prim_operand(r, a);
    *ok = absent(a) || p;
    return p;
}

static bool buffer_vload(rlx_reader *r, const rlx_buffer *b, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[3];
    size_t mark = r->stack.len;
    bool ok;
    if (!rlx_bind_args(r, call, "vload", RLX_PARAMS("begin", "dtype", "predicate"), 1, slot))
        return false;
    const rlx_prim *predicate = predicate_of(r, slot[2], &ok), *p = NULL;
    if (ok && push_index_list(r, b, slot[0]))
        p = rlx_load(r->ctx, b, (const rlx_prim *const *)(r->stack.data + mark),
                     r->stack.len - mark);
    r->stack.len = mark;
    if (p && predicate) {
        rlx_buffer_load key = *(const rlx_buffer_load *)p;
        key.node = (rlx_node){ .kind = RLX_NODE_BUFFER_LOAD };
        key.predicate = predicate;
        p = rlx_node_intern(r->ctx, &key.node);
    }
    return set_prim(out, p, call);
}

static bool buffer_vstore(rlx_reader *r, const rlx_buffer *b, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[3];
    size_t mark = r->stack.len;
    bool ok;
    if (!rlx_bind_args(r, call, "vstore", RLX_PARAMS("begin", "value", "predicate"), 2, slot))
        return false;
    const rlx_prim *predicate = predicate_of(r, slot[2], &ok),
                   *value = ok ? rlx_read_prim_operand(r, slot[1]) : NULL;
    const rlx_stmt *s = NULL;
    if (value && push_index_list(r, b, slot[0]))
        s = make_store(r, b, call, value, mark, predicate, rlx_read_place(r, call));
    r->stack.len = mark;
    *out = (rlx_val){ .kind = RLX_VAL_NONE, .begin = call->begin, .end = call->end };
    return s && rlx_tir_reader_add(r, s);
}

/* Position of an element: row-major, or by the strides. */
static const rlx_prim *element_offset(rlx_reader *r, const rlx_buffer *b,
                                      const rlx_prim *const *indices)
{
    const rlx_prim *sum = NULL;
    for (size_t i = 0; i < b->num_shape; i++) {
        if (b->num_strides) {
            const rlx_prim *term = rlx_fold_mul(r->ctx, indices[i], b->strides[i]);
            sum = sum ? rlx_fold_add(r->ctx, sum, term) : term;
        } else {
            sum = sum ? rlx_fold_add(r->ctx, rlx_fold_mul(r->ctx, sum, b->shape[i]), indices[i])
                      : indices[i];
        }
    }
    return sum ? sum : rlx_int(r->ctx, RELAX_INT32, 0);
}

static bool buffer_offset_of(rlx_reader *r, const rlx_buffer *b, const rlx_ast *call, rlx_val *out)
{
    const rlx_ast *slot[1];
    size_t mark = r->stack.len;
    rlx_val *item = rlx_region_array(&r->parser.region, 1, sizeof *item);
    if (!rlx_bind_args(r, call, "offset_of", RLX_PARAMS("indices"), 1, slot) || !item)
        return false;
    const rlx_prim *p = NULL;
    if (push_index_list(r, b, slot[0]))
        p = rlx_fold_add(r->ctx, b->elem_offset,
                         element_offset(r, b, (const rlx_prim *const *)(r->stack.data + mark)));
    r->stack.len = mark;
    if (p)
        p = rlx_simplify(r->ctx, NULL, p);
    if (!p)
        return false;
    *item = rlx_val_node(RLX_VAL_PRIM, p, call);
    *out = (rlx_val){
        .kind = RLX_VAL_LIST, .begin = call->begin, .end = call->end, .list = { item, 1 }
    };
    return true;
}

static bool access_mask(rlx_reader *r, const rlx_ast *a, int64_t *mask)
{
    rlx_val v;
    if (!rlx_read_value(r, a, &v))
        return false;
    if (v.kind != RLX_VAL_STR)
        return rlx_to_int(r, a, &v, mask);
    *mask = 0;
    for (size_t i = 0; i < v.s.len; i++) {
        if (v.s.data[i] != 'r' && v.s.data[i] != 'w')
            return rlx_read_error(r, RLX_PA12, a, "access is \"r\", \"w\" or \"rw\"");
        *mask |= v.s.data[i] == 'r' ? 1 : 2;
    }
    return true;
}

/* The elements of the buffer from the offset on. */
static const rlx_prim *access_extent(rlx_reader *r, const rlx_buffer *b, const rlx_prim *offset)
{
    const rlx_prim *all = NULL;
    if (b->num_strides && b->num_shape) {
        all = rlx_fold_mul(r->ctx, b->strides[0], b->shape[0]);
    } else {
        for (size_t i = 0; i < b->num_shape; i++)
            all = all ? rlx_fold_mul(r->ctx, all, b->shape[i]) : b->shape[i];
    }
    if (!all)
        all = rlx_int(r->ctx, RELAX_INT32, 1);
    return rlx_fold_sub(r->ctx, all, offset);
}

static bool buffer_access_ptr(rlx_reader *r, const rlx_buffer *b, const rlx_ast *call,
                              rlx_val *out)
{
    const rlx_ast *slot[5];
    int64_t mask, lanes = 1;
    rlx_val v;
    if (!rlx_bind_args(r, call, "access_ptr",
                       RLX_PARAMS("access_mask", "ptr_type", "content_lanes", "offset", "extent"),
                       1, slot) ||
        !access_mask(r, slot[0], &mask))
        return false;
    if (!absent(slot[2]) &&
        (!rlx_read_value(r, slot[2], &v) || !rlx_to_int(r, slot[2], &v, &lanes)))
        return false;
    if (lanes != 1)
        return rlx_read_error(r, RLX_PA16, slot[2], "content_lanes other than 1 is not supported");
    const rlx_prim *offset =
        absent(slot[3])
            ? rlx_int(r->ctx, b->num_shape ? rlx_prim_dtype(b->shape[0]) : RELAX_INT32, 0)
            : rlx_read_prim(r, slot[3]);
    const rlx_prim *extent = !offset           ? NULL
                             : absent(slot[4]) ? access_extent(r, b, offset)
                                               : rlx_read_prim(r, slot[4]);
    const rlx_prim *type =
        extent ? rlx_prim_call_z(r->ctx, b->dtype, "type_annotation", NULL, 0) : NULL;
    const rlx_prim *args[] = { type, b->data,
                               extent ? rlx_fold_add(r->ctx, b->elem_offset, offset) : NULL,
                               extent, rlx_int(r->ctx, RELAX_INT32, mask) };
    return set_prim(
        out,
        type && args[2] ? rlx_prim_call_z(r->ctx, RELAX_HANDLE, "tvm_access_ptr", args, 5) : NULL,
        call);
}

bool rlx_buffer_method(rlx_reader *r, const rlx_val *method, const rlx_ast *call, rlx_val *out)
{
    const rlx_buffer *b = method->fn.what;
    rlx_slice name = rlx_string_slice(method->fn.path->text);
    if (rlx_slice_is(name, "vload"))
        return buffer_vload(r, b, call, out);
    if (rlx_slice_is(name, "vstore"))
        return buffer_vstore(r, b, call, out);
    if (rlx_slice_is(name, "offset_of"))
        return buffer_offset_of(r, b, call, out);
    if (rlx_slice_is(name, "access_ptr"))
        return buffer_access_ptr(r, b, call, out);
    if (rlx_slice_is(name, "scope") && !call->count) {
        *out = (rlx_val){ .kind = RLX_VAL_STR,
                          .begin = call->begin,
                          .end = call->end,
                          .s = rlx_string_slice(b->scope) };
        return true;
    }
    return rlx_read_error(r, RLX_PA16, call, "%s of a buffer is not supported",
                          method->fn.path->text->data);
}
