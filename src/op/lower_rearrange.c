/* lower_rearrange.c: elements of one tensor at other places: split, repeat, tile, flip, pad. */
/* built for size */
#include "op/lower_int.h"

typedef struct moved {
    rlx_lowering_tensor x, out;
    size_t axis;
    bool flat;                    /* repeat of the flattened tensor */
    int64_t count;
    const rlx_prim *fill;
    int64_t before[RLX_LOW_RANK], after[RLX_LOW_RANK];
    enum { CONSTANT, EDGE, REFLECT, CIRCULAR } mode;
} moved;

static const rlx_prim *load(rlx_lowering *b, const rlx_lowering_tensor *x,
                            const rlx_lowering_list *index)
{
    return rlx_tir_load(&b->t, x->buffer, rlx_lowering_items(index));
}

/* size * n, in program and kernel */
static void scale_size(rlx_lowering *b, rlx_lowering_shape *s, size_t i, int64_t n)
{
    rlx_context *ctx = b->l->ctx;
    s->sizes.at[i] = rlx_tir_mul(&b->t, s->sizes.at[i], rlx_tir_int(&b->t, n));
    s->program[i] = s->program[i] ? rlx_fold_mul(ctx, s->program[i], rlx_int64(ctx, n)) : NULL;
}

/* ---- flip, repeat, tile --------------------------------------------------------------------- */

static const rlx_prim *flipped(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    moved *m = user;
    rlx_lowering_list at = *index;
    const rlx_prim *last = rlx_tir_sub(&b->t, m->x.shape.sizes.at[m->axis], rlx_tir_int(&b->t, 1));
    at.at[m->axis] = rlx_tir_sub(&b->t, last, index->at[m->axis]);
    return load(b, &m->x, &at);
}

const rlx_prim_func *rlx_lower_flip(rlx_lower_request *l)
{
    rlx_lowering b;
    moved m = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &m.x) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 0), m.x.shape.sizes.n,
                           &m.axis))
        return rlx_lowering_end(&b);
    return rlx_lowering_output(&b, &m.x.shape, &m.out)
               ? rlx_lowering_mapped(&b, &m.out, flipped, &m)
               : rlx_lowering_end(&b);
}

static const rlx_prim *repeated(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    moved *m = user;
    rlx_lowering_list at = *index;
    const rlx_prim *k =
        rlx_tir_floor_div(&b->t, index->at[m->axis], rlx_tir_int(&b->t, m->count ? m->count : 1));
    if (m->flat) {
        at.n = m->x.shape.sizes.n;
        rlx_tir_unflatten(&b->t, k, rlx_lowering_items(&m->x.shape.sizes), at.at);
    } else {
        at.at[m->axis] = k;
    }
    return load(b, &m->x, &at);
}

/* All elements as one dimension. */
static rlx_lowering_shape flat_shape(rlx_lowering *b, const rlx_lowering_shape *x)
{
    rlx_lowering_shape s = { .program = { rlx_int64(b->l->ctx, 1) },
                             .sizes = { .at = { rlx_lowering_product(b, &x->sizes, NULL) },
                                        .n = 1 } };
    for (size_t i = 0; i < x->sizes.n; i++)
        s.program[0] = s.program[0] && x->program[i]
                           ? rlx_fold_mul(b->l->ctx, s.program[0], x->program[i])
                           : NULL;
    return s;
}

const rlx_prim_func *rlx_lower_repeat(rlx_lower_request *l)
{
    rlx_lowering b;
    moved m = { .count = rlx_attr_as_int(rlx_lowering_attr(l, 0), 1) };
    const rlx_attr *axis = rlx_lowering_attr(l, 1);
    m.flat = rlx_attr_is_none(axis);
    rlx_lowering_begin(&b, l);
    if (m.count < 0)
        rlx_lowering_give_up(&b, "a number of repeats is negative");
    if (b.why || !rlx_lowering_input(&b, 0, &m.x) ||
        (!m.flat && !rlx_lowering_axis(&b, rlx_attr_as_int(axis, 0), m.x.shape.sizes.n, &m.axis)))
        return rlx_lowering_end(&b);
    rlx_lowering_shape shape = m.flat ? flat_shape(&b, &m.x.shape) : m.x.shape;
    scale_size(&b, &shape, m.axis, m.count);
    return rlx_lowering_output(&b, &shape, &m.out) ? rlx_lowering_mapped(&b, &m.out, repeated, &m)
                                                   : rlx_lowering_end(&b);
}

static const rlx_prim *tiled(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    moved *m = user;
    rlx_lowering_list at = { .n = m->x.shape.sizes.n };
    for (size_t i = 0; i < at.n; i++) {
        const rlx_prim *k = index->at[i + index->n - at.n], *size = m->x.shape.sizes.at[i];
        at.at[i] = m->out.shape.sizes.at[i + index->n - at.n] == size
                       ? k
                       : rlx_tir_floor_mod(&b->t, k, size);
    }
    return load(b, &m->x, &at);
}

const rlx_prim_func *rlx_lower_tile(rlx_lower_request *l)
{
    rlx_lowering b;
    moved m = { .axis = 0 };
    rlx_lowering_shape shape = { .sizes = { .n = 0 } };
    const rlx_attr *list = rlx_lowering_attr(l, 0);
    size_t count = rlx_attr_count(list);
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &m.x))
        return rlx_lowering_end(&b);
    size_t n = m.x.shape.sizes.n, rank = n > count ? n : count;
    if (rank > RLX_LOW_RANK)
        rlx_lowering_give_up(&b, "the rank is above 16");
    for (size_t i = 0; i < rank && !b.why; i++) {
        bool own = i >= rank - n;
        shape.program[i] = own ? m.x.shape.program[i - (rank - n)] : rlx_int64(l->ctx, 1);
        shape.sizes.at[i] = own ? m.x.shape.sizes.at[i - (rank - n)] : rlx_tir_int(&b.t, 1);
        shape.sizes.n++;
        int64_t times = i >= rank - count ? rlx_attr_item(list, i - (rank - count)) : 1;
        if (times < 0)
            rlx_lowering_give_up(&b, "a number of repeats is negative");
        scale_size(&b, &shape, i, times);
    }
    return b.why || !rlx_lowering_output(&b, &shape, &m.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &m.out, tiled, &m);
}

/* ---- split ---------------------------------------------------------------------------------- */

#define MAX_PARTS 256

/* Python's slice rule for one bound. */
static const rlx_prim *bound(rlx_lowering *b, int64_t at, const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    const rlx_prim *p = rlx_tir_min(t, rlx_lowering_position(b, rlx_tir_int(t, at), size), size);
    return at < 0 ? rlx_tir_max(t, p, rlx_tir_int(t, 0)) : p;
}

/* Where part i begins. */
static const rlx_prim *part_begin(rlx_lowering *b, const rlx_attr *how, size_t i,
                                  const rlx_prim *size)
{
    rlx_tir *t = &b->t;
    if (rlx_as_attr_list(how))
        return i ? bound(b, rlx_attr_item(how, i - 1), size) : rlx_tir_int(t, 0);
    const rlx_prim *k = rlx_tir_int(t, rlx_attr_as_int(how, 1)),
                   *more = rlx_tir_sub(t, k, rlx_tir_int(t, 1));
    return rlx_tir_mul(t, rlx_tir_floor_div(t, rlx_tir_add(t, size, more), k),
                       rlx_tir_int(t, (int64_t)i));
}

static void copy_part(rlx_lowering *b, moved *m, const rlx_lowering_tensor *out,
                      const rlx_prim *begin)
{
    rlx_lowering_list index, from;
    rlx_lowering_open(b, "split", &out->shape.sizes, &index);
    from = index;
    from.at[m->axis] = rlx_tir_add(&b->t, begin, index.at[m->axis]);
    rlx_tir_store(&b->t, out->buffer, rlx_lowering_items(&index), load(b, &m->x, &from));
    rlx_tir_end_block(&b->t);
}

const rlx_prim_func *rlx_lower_split(rlx_lower_request *l)
{
    rlx_lowering b;
    moved m = { .axis = 0 };
    const rlx_attr *how = rlx_lowering_attr(l, 0);
    const rlx_tuple_sinfo *parts = rlx_as_tuple_sinfo(l->result);
    size_t n = parts ? parts->num_fields : 1;
    rlx_lowering_tensor one, *out = &one;
    rlx_lowering_begin(&b, l);
    if (n > MAX_PARTS)
        rlx_lowering_give_up(&b, "more than 256 parts");
    if (b.why || !rlx_lowering_input(&b, 0, &m.x) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 1), 0), m.x.shape.sizes.n,
                           &m.axis))
        return rlx_lowering_end(&b);
    if (parts && n) {
        out = rlx_new(l->ctx, n * sizeof *out);
        b.t.incomplete |= !out;
    }
    if (!out || !(parts ? rlx_lowering_outputs(&b, NULL, out, n)
                        : rlx_lowering_output(&b, &m.x.shape, out)))
        return rlx_lowering_end(&b);
    for (size_t i = 0; i < n; i++)
        copy_part(&b, &m, &out[i], part_begin(&b, how, i, m.x.shape.sizes.at[m.axis]));
    return rlx_lowering_end(&b);
}

/* ---- pad ------------------------------------------------------------------------------------ */

static const rlx_prim *distance(rlx_tir *t, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_tir_max(t, rlx_tir_sub(t, a, b), rlx_tir_sub(t, b, a));
}

/* Position in x along axis i for position p of the result, which may lie outside. */
static const rlx_prim *inner_position(rlx_lowering *b, const moved *m, size_t i, const rlx_prim *p)
{
    rlx_tir *t = &b->t;
    const rlx_prim *zero = rlx_tir_int(t, 0), *one = rlx_tir_int(t, 1),
                   *size = m->x.shape.sizes.at[i], *last = rlx_tir_sub(t, size, one);
    const rlx_prim *k = rlx_tir_sub(t, p, rlx_tir_int(t, m->before[i]));
    if (m->mode == CONSTANT || (m->before[i] <= 0 && m->after[i] <= 0))
        return k;
    if (m->mode == EDGE)
        return rlx_tir_max(t, rlx_tir_min(t, k, last), zero);
    if (m->mode == CIRCULAR)
        return rlx_tir_floor_mod(t, k, size);
    /* There and back: a period of 2 (size - 1), of which no more than one is met where less than the size is added. */
    int64_t most;
    if (rlx_int_literal(size, &most) && m->before[i] < most && m->after[i] < most)
        return rlx_tir_sub(t, last, distance(t, last, distance(t, k, zero)));
    const rlx_prim *period = rlx_tir_mul(t, last, rlx_tir_int(t, 2));
    k = rlx_tir_floor_mod(t, k, rlx_tir_max(t, period, one));
    return rlx_tir_select(t, rlx_tir_lt(t, k, size), k, rlx_tir_sub(t, period, k));
}

static const rlx_prim *padded(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    moved *m = user;
    rlx_tir *t = &b->t;
    rlx_lowering_list at = { .n = index->n };
    const rlx_prim *inside = NULL;
    for (size_t i = 0; i < at.n; i++) {
        const rlx_prim *k = at.at[i] = inner_position(b, m, i, index->at[i]), *ok = NULL;
        if (m->mode != CONSTANT)
            continue;
        if (m->before[i] > 0)
            inside = inside ? rlx_tir_and(t, inside, rlx_tir_ge(t, k, rlx_tir_int(t, 0)))
                            : rlx_tir_ge(t, k, rlx_tir_int(t, 0));
        if (m->after[i] > 0)
            ok = rlx_tir_lt(t, k, m->x.shape.sizes.at[i]);
        inside = inside && ok ? rlx_tir_and(t, inside, ok) : ok ? ok : inside;
    }
    const rlx_prim *x = load(b, &m->x, &at);
    return inside ? rlx_tir_if_then_else(t, inside, x, m->fill) : x;
}

/* Are there only elements added, in mode constant? */
static bool only_adds(const moved *m)
{
    bool adds = m->mode == CONSTANT;
    for (size_t i = 0; i < m->x.shape.sizes.n; i++)
        adds &= m->before[i] >= 0 && m->after[i] >= 0;
    return adds;
}

/* A border of fewer elements in a row costs more than to fill what is copied over it. */
enum { LONG_BORDER = 4096 };

/* Is it one axis alone that becomes longer, and its borders long runs? Those above and below a picture are. */
static bool has_long_borders(const moved *m, size_t *axis)
{
    int64_t run = 1, size, places = 0;
    size_t n = m->x.shape.sizes.n, padded = 0;
    for (size_t i = 0; i < n; i++)
        if (m->before[i] || m->after[i])
            *axis = i, padded++;
    if (padded != 1)
        return false;
    for (size_t i = *axis + 1; i < n; i++)
        if (!rlx_int_literal(m->x.shape.sizes.at[i], &size) || !rlx_mul_i64(run, size, &run))
            return false;
    places = !m->before[*axis] || (m->after[*axis] && m->after[*axis] < m->before[*axis]) ? m->after[*axis] : m->before[*axis];
    return rlx_mul_i64(run, places, &run) && run >= LONG_BORDER;
}

/* So many places of the result along the axis, from `begin` on; axis SIZE_MAX: all of it. */
static void fill_places(rlx_lowering *b, moved *m, size_t axis, const rlx_prim *begin, int64_t places)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list sizes = m->out.shape.sizes, to;
    if (axis != SIZE_MAX)
        sizes.at[axis] = rlx_tir_int(t, places);
    rlx_lowering_open(b, "pad", &sizes, &to);
    if (begin)
        to.at[axis] = rlx_tir_add(t, to.at[axis], begin);
    rlx_tir_store(t, m->out.buffer, rlx_lowering_items(&to), m->fill);
    rlx_tir_end_block(t);
}

/* All is filled, or what is around data, then data copied into it: nests that are one instruction each. */
static const rlx_prim_func *fill_and_copy(rlx_lowering *b, moved *m)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list to, from;
    size_t axis = 0;
    const bool borders = has_long_borders(m, &axis);
    if (!borders)
        fill_places(b, m, SIZE_MAX, NULL, 0);
    if (borders && m->before[axis])
        fill_places(b, m, axis, NULL, m->before[axis]);
    if (borders && m->after[axis])
        fill_places(b, m, axis, rlx_tir_add(t, m->x.shape.sizes.at[axis], rlx_tir_int(t, m->before[axis])), m->after[axis]);
    rlx_lowering_open(b, "inside", &m->x.shape.sizes, &from);
    to = from;
    for (size_t i = 0; i < to.n; i++)
        if (m->before[i])
            to.at[i] = rlx_tir_add(t, from.at[i], rlx_tir_int(t, m->before[i]));
    rlx_tir_store(t, m->out.buffer, rlx_lowering_items(&to), load(b, &m->x, &from));
    rlx_tir_end_block(t);
    return rlx_lowering_end(b);
}

/* Does what is moved repeat elements, and surely no others than what stands beside it along the last axis? */
static bool has_borders(const moved *m)
{
    size_t last = m->x.shape.sizes.n - 1;
    return m->mode != CONSTANT && m->x.shape.sizes.n && m->before[last] >= 0 && m->after[last] >= 0 &&
           m->before[last] + m->after[last] > 0;
}

/* Columns of the result from `begin` on; inside: those of x as they stand. */
static void pad_columns(rlx_lowering *b, moved *m, const char *name, const rlx_prim *begin, const rlx_prim *count, bool inside)
{
    rlx_tir *t = &b->t;
    rlx_lowering_list sizes = m->out.shape.sizes, to;
    const size_t last = sizes.n - 1;
    const int64_t before = m->before[last], after = m->after[last];
    sizes.at[last] = count;
    rlx_lowering_open(b, name, &sizes, &to);
    rlx_lowering_list from = to;
    to.at[last] = rlx_tir_add(t, to.at[last], begin);
    if (inside)
        m->before[last] = m->after[last] = 0;
    else
        from = to;
    rlx_tir_store(t, m->out.buffer, rlx_lowering_items(&to), padded(b, m, &from));
    rlx_tir_end_block(t);
    m->before[last] = before;
    m->after[last] = after;
}

/* What lies inside along the last axis is copied in rows, wherever they come from; only its borders are computed element by element. */
static const rlx_prim_func *rows_and_borders(rlx_lowering *b, moved *m)
{
    rlx_tir *t = &b->t;
    const size_t last = m->x.shape.sizes.n - 1;
    const rlx_prim *size = m->x.shape.sizes.at[last], *before = rlx_tir_int(t, m->before[last]);
    pad_columns(b, m, "inside", before, size, true);
    if (m->before[last])
        pad_columns(b, m, "before", rlx_tir_int(t, 0), before, false);
    if (m->after[last])
        pad_columns(b, m, "after", rlx_tir_add(t, before, size), rlx_tir_int(t, m->after[last]), false);
    return rlx_lowering_end(b);
}

static bool read_padding(rlx_lowering *b, moved *m)
{
    static const char *const modes[] = { "constant", "edge", "reflect", "circular" };
    const rlx_attr *width = rlx_lowering_attr(b->l, 0);
    rlx_slice mode = rlx_attr_text(rlx_lowering_attr(b->l, 2));
    size_t n = m->x.shape.sizes.n, k = 0;
    while (k < RLX_COUNT(modes) && !rlx_slice_is(mode, modes[k]))
        k++;
    if (k == RLX_COUNT(modes) || rlx_attr_count(width) != 2 * n)
        return rlx_lowering_give_up(b, "the way of padding is not known");
    m->mode = (int)k;
    for (size_t i = 0; i < n; i++) {
        m->before[i] = rlx_attr_item(width, 2 * i);
        m->after[i] = rlx_attr_item(width, 2 * i + 1);
    }
    return true;
}

const rlx_prim_func *rlx_lower_pad(rlx_lower_request *l)
{
    rlx_lowering b;
    moved m = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &m.x) || !read_padding(&b, &m))
        return rlx_lowering_end(&b);
    rlx_lowering_shape shape = m.x.shape;
    for (size_t i = 0; i < shape.sizes.n; i++) {
        const rlx_prim *size = shape.sizes.at[i];
        int64_t more = m.before[i] + m.after[i];
        if (m.mode != CONSTANT && (m.before[i] > 0 || m.after[i] > 0))
            rlx_lowering_require(&b, rlx_tir_gt(&b.t, size, rlx_tir_int(&b.t, 0)),
                                 RLX_ASSERTION_SIZES,
                                 "an empty dimension has no elements to pad with");
        shape.sizes.at[i] = rlx_tir_add(&b.t, size, rlx_tir_int(&b.t, more));
        shape.program[i] = shape.program[i]
                               ? rlx_fold_add(l->ctx, shape.program[i], rlx_int64(l->ctx, more))
                               : NULL;
    }
    double fill = rlx_attr_as_float(rlx_lowering_attr(l, 1), 0);
    m.fill = rlx_tir_number(&b.t, m.x.dtype, fill);
    if (!rlx_lowering_output(&b, &shape, &m.out))
        return rlx_lowering_end(&b);
    return only_adds(&m)     ? fill_and_copy(&b, &m)
           : has_borders(&m) ? rows_and_borders(&b, &m)
                             : rlx_lowering_mapped(&b, &m.out, padded, &m);
}
