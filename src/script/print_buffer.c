/* print_buffer.c: buffers with all that is said about them, indices and regions. */
#include "script/print_int.h"

#define USUAL_ALIGN 64

/* ---- sums that reading folds */
static const rlx_prim *literal(rlx_printer *p, rlx_dtype t, int64_t value)
{
    rlx_int_imm *i = rlx_region_zero(&p->region, sizeof *i);
    if (!i)
        return rlx_print_fail(p), NULL;
    i->node.kind = RLX_NODE_INT_IMM;
    i->dtype = t;
    i->value = value;
    return &i->node;
}

const rlx_prim *rlx_print_sum(rlx_printer *p, const rlx_prim *a, const rlx_prim *b)
{
    int64_t x, y, sum;
    bool la = rlx_int_literal(a, &x), lb = rlx_int_literal(b, &y);
    rlx_dtype ta = rlx_prim_dtype(a), tb = rlx_prim_dtype(b),
              wider = rlx_dtype_bits(tb) > rlx_dtype_bits(ta) ? tb : ta;
    if (la && x == 0)
        return b;
    if (la && lb && rlx_add_i64(x, y, &sum) && rlx_dtype_has_int(wider, sum, false))
        return literal(p, wider, sum);
    if (la && wider != ta && !(a = literal(p, wider, x)))
        return NULL;
    if (lb && y == 0 && rlx_prim_dtype(a) == rlx_prim_dtype(b))
        return a;
    rlx_binary *s = rlx_region_zero(&p->region, sizeof *s);
    if (!s)
        return rlx_print_fail(p), NULL;
    s->node.kind = RLX_NODE_ADD;
    s->dtype = rlx_prim_dtype(a);
    s->a = a;
    s->b = b;
    return &s->node;
}

/* ---- indices: A[i, 0:4, n:n + 8:2] */

/* A vector of constant positive stride reads back from a slice. */
static bool is_slice(const rlx_prim *index, int64_t *stride, int64_t *extent)
{
    const rlx_ramp *r = rlx_as_ramp(index);
    int64_t lanes;
    return r && rlx_int_literal(r->stride, stride) && *stride > 0 &&
           rlx_int_literal(r->lanes, &lanes) && lanes > 1 && rlx_mul_i64(*stride, lanes, extent) &&
           rlx_dtype_lanes(rlx_prim_dtype(r->base)) == 1 &&
           rlx_prim_dtype(r->stride) == rlx_prim_dtype(r->base);
}

static void push_span(rlx_printer *p, const rlx_prim *min, const rlx_prim *extent)
{
    const rlx_prim *stop = rlx_print_sum(p, min, extent);
    rlx_push_node(p, stop, 0, 0);
    rlx_push_text(p, ":");
    rlx_push_node(p, min, 0, 0);
}

static void push_slice(rlx_printer *p, const rlx_ramp *r, int64_t stride, int64_t extent)
{
    const rlx_prim *length = literal(p, rlx_prim_dtype(r->base), extent);
    if (stride != 1) {
        rlx_push_node(p, r->stride, 0, 0);
        rlx_push_text(p, ":");
    }
    if (length)
        push_span(p, r->base, length);
}

/* One of `count` at ptr, then the rest. */
void rlx_print_step_index(rlx_printer *p, const rlx_item *it)
{
    const rlx_node *const *at = it->ptr;
    const rlx_range *range = rlx_as_range(at[0]);
    int64_t stride, extent;
    if (it->flags)
        rlx_put(p, ", ");
    if (it->count > 1)
        rlx_push_item(
            p, (rlx_item){
                   .what = RLX_ITEM_INDEX, .flags = 1, .count = it->count - 1, .ptr = at + 1 });
    if (range && !rlx_is_int_value(range->extent, 1))
        push_span(p, range->min, range->extent);
    else if (range)
        rlx_push_node(p, range->min, 0, 0);
    else if (!p->newer && is_slice(at[0], &stride, &extent))
        push_slice(p, rlx_as_ramp(at[0]), stride, extent);
    else
        rlx_push_node(p, at[0], 0, 0);
}

void rlx_push_indices(rlx_printer *p, const rlx_node *const *indices, size_t count)
{
    rlx_push_text(p, count ? "]" : "()]");
    if (count)
        rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_INDEX, .count = count, .ptr = indices });
}

void rlx_print_subscript(rlx_printer *p, const rlx_node *const *indices, size_t count)
{
    rlx_item all = { .what = RLX_ITEM_INDEX, .count = count, .ptr = indices };
    rlx_put(p, "[");
    if (count)
        rlx_print_item(p, all);
    rlx_buf_z(p->out, count ? "]" : "()]");
}

/* ---- ranges, axes, regions as expressions */
static void step_range(rlx_printer *p, const rlx_range *r)
{
    rlx_put_t(p);
    rlx_put(p, "Range(");
    rlx_push_text(p, ")");
    rlx_push_node(p, rlx_print_sum(p, r->min, r->extent), 0, 0);
    rlx_push_text(p, ", ");
    rlx_push_node(p, r->min, 0, 0);
}

static void step_iter(rlx_printer *p, const rlx_iter_var *v)
{
    static const char *const types[] = { "DataPar", "ThreadIndex", "CommReduce", "Ordered",
                                         "Opaque" };
    rlx_put_t(p);
    rlx_put(p, "iter_var(");
    rlx_put_var(p, v->var);
    rlx_put(p, ", ");
    rlx_push_item(p, (rlx_item){ .what = RLX_ITEM_REST, .ptr = v });
    rlx_push_text(p, "\", ");
    rlx_push_text(p, v->iter_type >= 0 && v->iter_type < (int)RLX_COUNT(types)
                         ? types[v->iter_type]
                         : types[0]);
    rlx_push_text(p, ", \"");
    rlx_push_node(p, v->dom, 0, 0);
}

void rlx_print_step_iter_tag(rlx_printer *p, const rlx_iter_var *v)
{
    rlx_put_string(p, v->thread_tag ? rlx_string_slice(v->thread_tag) : (rlx_slice){ "", 0 });
    rlx_put(p, ")");
}

void rlx_print_step_region(rlx_printer *p, const rlx_node *n)
{
    const rlx_buffer_region *r = rlx_as_buffer_region(n);
    if (rlx_as_range(n)) {
        step_range(p, rlx_as_range(n));
    } else if (rlx_as_iter_var(n)) {
        step_iter(p, rlx_as_iter_var(n));
    } else if (r) {
        rlx_put_var(p, r->buffer);
        rlx_put(p, "[");
        rlx_push_indices(p, r->region, r->num_region);
    }
}

/* ---- what is said about a buffer: T.match_buffer(a, (n, 4), "float16", strides=...) */
typedef struct decl {
    const rlx_buffer *b;
    size_t frame;
    RLX_VEC(const rlx_node *) lines;  /* variables that need a line of their own */
    const rlx_attr *annotations;      /* of the allocation; NULL: none */
    bool comma;
} decl;

static bool is_new(const rlx_printer *p, const rlx_node *e)
{
    return rlx_is(e, RLX_NODE_PRIM_VAR) && !rlx_find_bound(p, e);
}

/* How often a new variable occurs as a part of the buffer, two counting as many. Inside of
 * expressions counts too. */
static int count_in(rlx_printer *p, const rlx_node *e, const rlx_node *var)
{
    if (!e || e->kind == RLX_NODE_PRIM_VAR || e->kind == RLX_NODE_INT_IMM)
        return e == var;
    if (!(e->flags & RLX_FLAG_HAS_VARS) && rlx_family_of(e) != RLX_FAMILY_PRIM)
        return 0;
    rlx_prim_vars found = { 0 };
    int n = 0;
    if (!rlx_collect_prim_vars(p->m, e, false, &found))
        rlx_print_fail(p);
    for (size_t i = 0; i < found.len; i++)
        n += &found.data[i]->node == var;
    rlx_vec_free(p->m, &found);
    return n;
}

static bool occurs_once(rlx_printer *p, const rlx_buffer *b, const rlx_node *var)
{
    int n = count_in(p, b->elem_offset, var) + count_in(p, b->data, var);
    for (size_t i = 0; i < b->num_strides && n < 2; i++)
        n += count_in(p, b->strides[i], var);
    for (size_t i = 0; i < b->num_shape && n < 2; i++)
        n += count_in(p, b->shape[i], var);
    return n == 1;
}

static void own_line(rlx_printer *p, decl *d, const rlx_node *var)
{
    if (!rlx_define_at(p, var, d->frame) || !rlx_vec_push(p->m, &d->lines, var))
        rlx_print_fail(p);
}

/* A new variable that is nothing but this part of the buffer goes without a line. */
static bool make_part(rlx_printer *p, decl *d, const rlx_node *var, enum rlx_bound_how how,
                      uint32_t index)
{
    if (occurs_once(p, d->b, var)) {
        rlx_define_part(p, var, &d->b->node, how, index, d->frame);
        return true;
    }
    own_line(p, d, var);
    return false;
}

static void key(rlx_printer *p, decl *d, const char *name)
{
    if (d->comma)
        rlx_put(p, ", ");
    d->comma = true;
    rlx_buf_z(p->out, name);
}

static void put_shape(rlx_printer *p, decl *d)
{
    for (size_t i = 0; i < d->b->num_shape; i++)
        if (is_new(p, d->b->shape[i]))
            own_line(p, d, d->b->shape[i]);
    key(p, d, "(");
    rlx_print_list(p, d->b->shape, d->b->num_shape, 0);
    rlx_buf_z(p->out, d->b->num_shape == 1 ? ",)" : ")");
}

/* a new pointer is a part of the buffer; so is an old one; has its own line */
enum data { DATA_PART, DATA_OWN, DATA_LINE };

static void put_data(rlx_printer *p, decl *d, enum data how)
{
    if (is_new(p, d->b->data) && how == DATA_LINE)
        own_line(p, d, d->b->data);
    if (is_new(p, d->b->data)) {
        make_part(p, d, d->b->data, RLX_BOUND_DATA, 0);
    } else if (how != DATA_OWN && d->b->data) {
        key(p, d, "data=");
        rlx_print_expr(p, d->b->data, 0);
    }
}

static void put_strides(rlx_printer *p, decl *d)
{
    const rlx_buffer *b = d->b;
    if (!b->num_strides)
        return;
    key(p, d, "strides=(");
    for (size_t i = 0; i < b->num_strides; i++) {
        const rlx_prim_var *v = rlx_as_prim_var(b->strides[i]);
        if (i)
            rlx_put(p, ", ");
        if (is_new(p, b->strides[i]) &&
            make_part(p, d, b->strides[i], RLX_BOUND_STRIDE, (uint32_t)i))
            rlx_put_string(p, v->name ? rlx_string_slice(v->name) : RLX_SLICE("s"));
        else
            rlx_print_expr(p, b->strides[i], 0);
    }
    rlx_buf_z(p->out, b->num_strides == 1 ? ",)" : ")");
}

/* The dtype of an offset that is left out or only implied. */
static rlx_dtype usual_offset(const rlx_buffer *b)
{
    return b->num_shape ? rlx_prim_dtype(b->shape[0]) : RELAX_INT32;
}

/* Zeros of two dtypes are told apart. */
static bool is_other_zero(const rlx_buffer *b)
{
    return b->elem_offset && rlx_prim_dtype(b->elem_offset) != usual_offset(b);
}

/* Returns whether the offset is a variable that only offset_factor implies. Without one that means
 * 0 unless there is a factor, which would imply a variable. */
static bool put_offset(rlx_printer *p, decl *d)
{
    const rlx_prim *e = d->b->elem_offset;
    if (!e || rlx_is_int_value(e, 0)) {
        bool other = is_other_zero(d->b);
        if (other || d->b->offset_factor != 1)
            key(p, d, "elem_offset=");
        if (other)
            rlx_print_expr(p, e, 0);
        else if (d->b->offset_factor != 1)
            rlx_put(p, "0");
        return false;
    }
    if (is_new(p, e)) {
        if (rlx_prim_dtype(e) != usual_offset(d->b))
            own_line(p, d, e);
        else if (make_part(p, d, e, RLX_BOUND_OFFSET, 0))
            return true;
    }
    key(p, d, "elem_offset=");
    rlx_print_expr(p, e, 0);
    return false;
}

static void put_number(rlx_printer *p, decl *d, const char *name, int64_t value)
{
    key(p, d, name);
    rlx_buf_i64(p->out, value);
}

static void put_rest(rlx_printer *p, decl *d, bool implied)
{
    const rlx_buffer *b = d->b;
    if (b->scope && strcmp(b->scope->data, "global") != 0) {
        key(p, d, "scope=");
        rlx_put_string(p, rlx_string_slice(b->scope));
    }
    if (b->align != USUAL_ALIGN)
        put_number(p, d, "align=", b->align);
    if (implied || b->offset_factor != 1)
        put_number(p, d, "offset_factor=", b->offset_factor);
    if (b->auto_broadcast)
        key(p, d, "buffer_type=\"auto\"");
    if (!b->num_axis_separators)
        return;
    key(p, d, "axis_separators=[");
    for (size_t i = 0; i < b->num_axis_separators; i++)
        rlx_buf_format(p->out, i ? ", %lld" : "%lld", (long long)b->axis_separators[i]);
    rlx_put(p, "]");
}

/* n = T.int32(), or m, n = T.int32(), T.int32(): one line above the buffer's. */
static void put_lines(rlx_printer *p, const decl *d, size_t at)
{
    size_t mark = p->out->len;
    uint32_t old = p->indent;
    if (!d->lines.len)
        return;
    p->indent = p->frames.data[d->frame].indent;
    size_t kept = rlx_vec_last(&p->frames).line;
    rlx_put_indent(p);
    rlx_vec_last(&p->frames).line = kept;
    for (size_t i = 0; i < d->lines.len; i++) {
        const rlx_bound *b = rlx_find_bound(p, d->lines.data[i]);
        rlx_buf_z(p->out, i ? ", " : "");
        if (b)
            rlx_put_bound(p, b);
    }
    rlx_put(p, " = ");
    for (size_t i = 0; i < d->lines.len; i++) {
        rlx_buf_z(p->out, i ? ", " : "");
        rlx_put_creation(p, d->lines.data[i]);
    }
    rlx_put_newline(p);
    p->indent = old;
    rlx_print_move(p, mark, at, RLX_INSERT_DECLARE);
}

static void put_call(rlx_printer *p, decl *d, const char *function, const rlx_node *first,
                     bool always_dtype, enum data how)
{
    rlx_put_t(p);
    rlx_buf_z(p->out, function);
    rlx_put(p, "(");
    if (first) {
        rlx_print_expr(p, first, 0);
        d->comma = true;
    }
    put_shape(p, d);
    if (always_dtype || d->b->dtype != RELAX_FLOAT32) {
        key(p, d, "");
        rlx_put_dtype(p, d->b->dtype);
    }
    put_data(p, d, how);
    put_strides(p, d);
    bool implied = put_offset(p, d);
    put_rest(p, d, implied);
    if (d->annotations) {
        key(p, d, "annotations=");
        rlx_print_expr(p, d->annotations, 0);
    }
    rlx_put(p, ")");
}

void rlx_put_buffer(rlx_printer *p, const rlx_buffer *b, const char *function,
                    const rlx_node *first, size_t frame)
{
    decl d = { .b = b, .frame = frame };
    put_call(p, &d, function, first, false, DATA_PART);
    put_lines(p, &d, p->frames.data[frame].line);
    rlx_vec_free(p->m, &d.lines);
}

/* TVM 0.27 reads no buffer over memory of another one that nothing declares. */
void rlx_put_free_buffer(rlx_printer *p, const rlx_buffer *b, size_t frame)
{
    rlx_put_buffer(p, b, p->newer && !is_new(p, b->data) ? "decl_buffer" : "Buffer", NULL, frame);
}

static void put_decl_buffer(rlx_printer *p, const rlx_buffer *b, const rlx_attr *annotations,
                            size_t frame, enum data how)
{
    decl d = { .b = b, .frame = frame, .annotations = annotations };
    put_call(p, &d, annotations ? "alloc_buffer" : "decl_buffer", NULL, false, how);
    put_lines(p, &d, p->frames.data[frame].line);
    rlx_vec_free(p->m, &d.lines);
}

void rlx_put_allocated(rlx_printer *p, const rlx_buffer *b, const rlx_attr *annotations,
                       size_t frame)
{
    put_decl_buffer(p, b, annotations, frame, DATA_OWN);
}

void rlx_put_view(rlx_printer *p, const rlx_buffer *b, size_t frame)
{
    put_decl_buffer(p, b, NULL, frame, DATA_LINE);
}

void rlx_put_buffer_type(rlx_printer *p, const rlx_buffer *b, size_t frame)
{
    decl d = { .b = b, .frame = frame };
    put_call(p, &d, "Buffer", NULL, true, DATA_PART);
    rlx_vec_free(p->m, &d.lines);
}

/* May a parameter say all about its buffer in its annotation? */
bool rlx_buffer_is_simple(const rlx_buffer *b)
{
    for (size_t i = 0; i < b->num_shape; i++)
        if (b->shape[i]->kind == RLX_NODE_PRIM_VAR || (b->shape[i]->flags & RLX_FLAG_HAS_VARS))
            return false;
    return !b->num_strides && (!b->elem_offset || rlx_is_int_value(b->elem_offset, 0)) &&
           (!b->scope || strcmp(b->scope->data, "global") == 0) && b->align == USUAL_ALIGN &&
           b->offset_factor == 1 && !b->auto_broadcast && !b->num_axis_separators;
}
