/* lower_index.c: elements picked by position: take, gather, slices, one_hot, and scatter, which
 * writes by position. Negative positions count from the end; a kernel checks each position
 * against its buffer (RT09).
 */
/* built for size */
#include "op/lower_int.h"

#include <math.h>

typedef struct pick {
    rlx_lowering_tensor x, k, out; /* data, indices */
    size_t axis, batch, depth;
    const rlx_prim *begin[RLX_LOW_RANK];
    int64_t stride[RLX_LOW_RANK];
    const rlx_prim *on, *off;
    enum take_mode { TAKE_CHECKED, TAKE_WRAP, TAKE_CLIP, TAKE_NAN } mode;
} pick;

static const rlx_prim *load(rlx_lowering *b, const rlx_lowering_tensor *x,
                            const rlx_lowering_list *index)
{
    return rlx_tir_load(&b->t, x->buffer, rlx_lowering_items(index));
}

static void push_size(rlx_lowering_shape *out, const rlx_lowering_shape *from, size_t i)
{
    if (out->sizes.n == RLX_LOW_RANK)
        return;
    out->program[out->sizes.n] = from->program[i];
    out->sizes.at[out->sizes.n++] = from->sizes.at[i];
}

static void push_sizes(rlx_lowering_shape *out, const rlx_lowering_shape *from, size_t begin,
                       size_t end)
{
    for (size_t i = begin; i < end; i++)
        push_size(out, from, i);
}

/* ---- take ----------------------------------------------------------------------------------- */

static const rlx_prim *load_checked(rlx_lowering *b, const pick *p, rlx_lowering_list *at,
                                    const rlx_prim *k)
{
    at->at[p->axis] = rlx_lowering_position(b, k, p->x.shape.sizes.at[p->axis]);
    return load(b, &p->x, at);
}

/* Positions beyond the axis wrap around, become its nearest one, or give NaN. */
static const rlx_prim *load_beyond(rlx_lowering *b, const pick *p, rlx_lowering_list *at,
                                   const rlx_prim *k)
{
    rlx_tir *t = &b->t;
    const rlx_prim *size = p->x.shape.sizes.at[p->axis], *zero = rlx_tir_int(t, 0);
    k = rlx_tir_cast(t, RELAX_INT64, k);
    at->at[p->axis] =
        p->mode == TAKE_WRAP
            ? rlx_tir_floor_mod(t, k, size)
            : rlx_tir_max(t, rlx_tir_min(t, k, rlx_tir_sub(t, size, rlx_tir_int(t, 1))), zero);
    if (p->mode != TAKE_NAN)
        return load(b, &p->x, at);
    const rlx_prim *inside = rlx_tir_and(t, rlx_tir_ge(t, k, zero), rlx_tir_lt(t, k, size));
    return rlx_tir_if_then_else(t, inside, load(b, &p->x, at),
                                rlx_tir_float(t, p->x.dtype, (double)NAN));
}

static const rlx_prim *taken(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    pick *p = user;
    size_t n = p->x.shape.sizes.n, m = p->k.shape.sizes.n;
    rlx_lowering_list at = { .n = n }, from = { .n = m };
    memcpy(from.at, index->at + p->axis, m * sizeof *from.at);
    for (size_t i = 0; i < n; i++)
        if (i != p->axis)
            at.at[i] = index->at[i < p->axis ? i : i + m - 1];
    const rlx_prim *k = p->k.scalar ? p->k.scalar : load(b, &p->k, &from);
    return p->mode == TAKE_CHECKED ? load_checked(b, p, &at, k) : load_beyond(b, p, &at, k);
}

static bool read_mode(rlx_lowering *b, pick *p, rlx_slice mode)
{
    static const struct { const char *name; enum take_mode mode;
    } modes[] = { { "", TAKE_CHECKED }, { "fast", TAKE_CHECKED }, { "wrap", TAKE_WRAP },
                  { "clip", TAKE_CLIP }, { "nan", TAKE_NAN } };
    for (size_t i = 0; i < RLX_COUNT(modes); i++)
        if (rlx_slice_is(mode, modes[i].name)) {
            p->mode = modes[i].mode;
            if (p->mode == TAKE_NAN && !rlx_lowering_is_float(p->x.dtype))
                return rlx_lowering_give_up(b, "mode is nan, which integers do not have");
            return true;
        }
    return rlx_lowering_give_up(b, "mode is none of fast, wrap, clip and nan");
}

const rlx_prim_func *rlx_lower_take(rlx_lower_request *l)
{
    rlx_lowering b;
    pick p = { .axis = 0 };
    rlx_lowering_shape shape = { .sizes = { .n = 0 } };
    rlx_lowering_begin(&b, l);
    const rlx_attr *axis = rlx_lowering_attr(l, 0);
    if (!rlx_lowering_input(&b, 0, &p.x) || !rlx_lowering_input(&b, 1, &p.k) ||
        !rlx_lowering_axis(&b, rlx_attr_is_none(axis) ? 0 : rlx_attr_as_int(axis, 0),
                           p.x.shape.sizes.n, &p.axis))
        return rlx_lowering_end(&b);
    if (p.x.shape.sizes.n + p.k.shape.sizes.n > RLX_LOW_RANK + 1)
        rlx_lowering_give_up(&b, "the rank is above 16");
    if (!read_mode(&b, &p, rlx_attr_text(rlx_lowering_attr(l, 1))))
        return rlx_lowering_end(&b);
    push_sizes(&shape, &p.x.shape, 0, p.axis);
    push_sizes(&shape, &p.k.shape, 0, p.k.shape.sizes.n);
    push_sizes(&shape, &p.x.shape, p.axis + 1, p.x.shape.sizes.n);
    return b.why || !rlx_lowering_output(&b, &shape, &p.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &p.out, taken, &p);
}

/* ---- gather --------------------------------------------------------------------------------- */

static const rlx_prim *gathered(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    pick *p = user;
    rlx_lowering_list at = *index;
    at.at[p->axis] = rlx_lowering_position(b, load(b, &p->k, index), p->x.shape.sizes.at[p->axis]);
    return load(b, &p->x, &at);
}

const rlx_prim_func *rlx_lower_gather_elements(rlx_lower_request *l)
{
    rlx_lowering b;
    pick p = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &p.x) || !rlx_lowering_input(&b, 1, &p.k) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 0), p.x.shape.sizes.n,
                           &p.axis))
        return rlx_lowering_end(&b);
    if (p.x.shape.sizes.n != p.k.shape.sizes.n)
        rlx_lowering_give_up(&b, "the ranks differ");
    return b.why || !rlx_lowering_output(&b, &p.k.shape, &p.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &p.out, gathered, &p);
}

/* The last dimension of indices, as a number; `by_ranks` is what ranks say of it, less than 0:
 * nothing. */
static bool read_depth(rlx_lowering *b, pick *p, int64_t by_ranks)
{
    int64_t depth = -1;
    size_t m = p->k.shape.sizes.n, n = p->x.shape.sizes.n;
    const rlx_prim *last = m ? p->k.shape.sizes.at[m - 1] : NULL;
    if (last && !rlx_int_literal(last, &depth) && by_ranks >= 0) {
        depth = by_ranks;
        rlx_lowering_require(b, rlx_tir_eq(&b->t, last, rlx_tir_int(&b->t, depth)),
                             RLX_ASSERTION_SIZES, "the last dimension of indices does not fit the ranks");
    }
    if (!m || depth < 0 || p->batch + (size_t)depth > n || p->batch >= m)
        return rlx_lowering_give_up(b, "the last dimension of indices is not known");
    p->depth = (size_t)depth;
    return true;
}

/* Index of data for the first m - 1 indices of `lead`, followed by `rest`. */
static rlx_lowering_list nd_index(rlx_lowering *b, const pick *p, const rlx_lowering_list *lead,
                                  const rlx_prim *const *rest)
{
    size_t m = p->k.shape.sizes.n;
    rlx_lowering_list at = { .n = p->x.shape.sizes.n }, from = { .n = m };
    memcpy(from.at, lead->at, (m - 1) * sizeof *from.at);
    memcpy(at.at, lead->at, p->batch * sizeof *at.at);
    for (size_t i = 0; i < p->depth; i++) {
        from.at[m - 1] = rlx_tir_int(&b->t, (int64_t)i);
        at.at[p->batch + i] =
            rlx_lowering_position(b, load(b, &p->k, &from), p->x.shape.sizes.at[p->batch + i]);
    }
    for (size_t i = p->batch + p->depth; i < at.n; i++)
        at.at[i] = rest[i - p->batch - p->depth];
    return at;
}

static const rlx_prim *gathered_nd(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    pick *p = user;
    rlx_lowering_list at = nd_index(b, p, index, index->at + p->k.shape.sizes.n - 1);
    return load(b, &p->x, &at);
}

const rlx_prim_func *rlx_lower_gather_nd(rlx_lower_request *l)
{
    rlx_lowering b;
    pick p = { .batch = (size_t)rlx_attr_as_int(rlx_lowering_attr(l, 0), 0) };
    rlx_lowering_shape shape = { .sizes = { .n = 0 } };
    rlx_lowering_begin(&b, l);
    for (size_t i = 0; i < p.batch; i++)
        rlx_lowering_trust(&b, 0, i, 1, i);
    if (!rlx_lowering_input(&b, 0, &p.x) || !rlx_lowering_input(&b, 1, &p.k) ||
        !read_depth(&b, &p, -1))
        return rlx_lowering_end(&b);
    size_t m = p.k.shape.sizes.n, n = p.x.shape.sizes.n;
    push_sizes(&shape, &p.k.shape, 0, m - 1);
    push_sizes(&shape, &p.x.shape, p.batch + p.depth, n);
    if (m - 1 + n - p.batch - p.depth > RLX_LOW_RANK)
        rlx_lowering_give_up(&b, "the rank is above 16");
    return b.why || !rlx_lowering_output(&b, &shape, &p.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &p.out, gathered_nd, &p);
}

/* ---- strided_slice -------------------------------------------------------------------------- */

/* A bound by Python's rule: counted from the end if negative, limited to what the stride can
 * reach. */
static const rlx_prim *first_element(rlx_lowering *b, const rlx_prim *begin, const rlx_prim *size,
                                     int64_t stride)
{
    rlx_tir *t = &b->t;
    const rlx_prim *low = rlx_tir_int(t, stride > 0 ? 0 : -1), *high = rlx_tir_add(t, size, low);
    begin = rlx_lowering_position(b, begin, size);
    return rlx_tir_min(t, rlx_tir_max(t, begin, low), high);
}

/* Item i of tuple argument `arg` as int64. */
static const rlx_prim *slice_number(rlx_lowering *b, size_t arg, size_t i)
{
    rlx_lowering_tensor v;
    if (!rlx_lowering_input_field(b, arg, i, b->l->row->args[arg].name, &v))
        return NULL;
    if (v.scalar)
        return rlx_tir_cast(&b->t, RELAX_INT64, v.scalar);
    rlx_lowering_give_up(b, "a bound is not known to be an integer");
    return NULL;
}

static bool read_slice(rlx_lowering *b, pick *p)
{
    const rlx_tuple_sinfo *axes = rlx_as_tuple_sinfo(b->l->args[1]);
    bool inside = rlx_attr_as_bool(rlx_lowering_attr(b->l, 0), false);
    for (size_t i = 0; axes && i < axes->num_fields; i++) {
        int64_t axis;
        size_t at;
        const rlx_prim *number = slice_number(b, 1, i), *stride = b->l->call->num_args > 4
                                                                      ? slice_number(b, 4, i)
                                                                      : rlx_tir_int(&b->t, 1);
        const rlx_prim *begin = slice_number(b, 2, i);
        if (!number || !stride || !begin)
            return false;
        if (!rlx_int_literal(number, &axis) || !rlx_lowering_axis(b, axis, p->x.shape.sizes.n, &at))
            return rlx_lowering_give_up(b, "axes of a slice are not known");
        if (!rlx_int_literal(stride, &p->stride[at]) || p->stride[at] == 0)
            return rlx_lowering_give_up(b, "strides of a slice are not known");
        p->begin[at] =
            inside ? begin : first_element(b, begin, p->x.shape.sizes.at[at], p->stride[at]);
    }
    return axes ? true : rlx_lowering_give_up(b, "axes of a slice are not known");
}

static const rlx_prim *sliced(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    pick *p = user;
    rlx_lowering_list at = *index;
    for (size_t i = 0; i < at.n; i++)
        if (p->begin[i])
            at.at[i] =
                rlx_tir_add(&b->t, p->begin[i],
                            rlx_tir_mul(&b->t, index->at[i], rlx_tir_int(&b->t, p->stride[i])));
    return load(b, &p->x, &at);
}

const rlx_prim_func *rlx_lower_strided_slice(rlx_lower_request *l)
{
    rlx_lowering b;
    pick p = { .axis = 0 };
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &p.x) || !read_slice(&b, &p) ||
        !rlx_lowering_output(&b, NULL, &p.out))
        return rlx_lowering_end(&b);
    return rlx_lowering_mapped(&b, &p.out, sliced, &p);
}

/* ---- one_hot -------------------------------------------------------------------------------- */

static const rlx_prim *marked(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    pick *p = user;
    rlx_lowering_list from = { .n = index->n - 1 };
    for (size_t i = 0; i < from.n; i++)
        from.at[i] = index->at[i + (i >= p->axis)];
    const rlx_prim *k = rlx_tir_cast(&b->t, RELAX_INT64, load(b, &p->k, &from));
    return rlx_tir_select(&b->t, rlx_tir_eq(&b->t, k, index->at[p->axis]), p->on, p->off);
}

const rlx_prim_func *rlx_lower_one_hot(rlx_lower_request *l)
{
    rlx_lowering b;
    pick p = { .axis = 0 };
    rlx_lowering_shape shape = { .sizes = { .n = 0 } };
    int64_t depth = rlx_attr_as_int(rlx_lowering_attr(l, 0), 0);
    const rlx_tensor_sinfo *r = rlx_as_tensor_sinfo(l->result);
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &p.k) ||
        !rlx_lowering_axis(&b, rlx_attr_as_int(rlx_lowering_attr(l, 1), -1), p.k.shape.sizes.n + 1,
                           &p.axis))
        return rlx_lowering_end(&b);
    p.on = rlx_lowering_scalar(&b, 1, r ? r->dtype : RELAX_VOID);
    p.off = rlx_lowering_scalar(&b, 2, r ? r->dtype : RELAX_VOID);
    push_sizes(&shape, &p.k.shape, 0, p.axis);
    shape.program[p.axis] = rlx_int64(l->ctx, depth);
    shape.sizes.at[shape.sizes.n++] = rlx_tir_int(&b.t, depth);
    push_sizes(&shape, &p.k.shape, p.axis, p.k.shape.sizes.n);
    return !p.on || !p.off || !rlx_lowering_output(&b, &shape, &p.out)
               ? rlx_lowering_end(&b)
               : rlx_lowering_mapped(&b, &p.out, marked, &p);
}

/* ---- scatter --------------------------------------------------------------------------------
 * A copy of data, then the updates one after another in row-major order: positions may repeat, the
 * order counts.
 */

typedef struct scatter {
    rlx_lowering b;
    pick p;                       /* x, k, out; nd: depth */
    rlx_lowering_tensor updates;
    bool nd;
    enum how { UPDATE, ADD, MUL, MIN, MAX, MEAN } how;
    rlx_dtype wide;
    const rlx_buffer *sum, *count; /* sum: narrower floats and means */
} scatter;

static bool read_reduction(scatter *s, const rlx_attr *name)
{
    static const char *const names[] = { "update", "add", "mul", "min", "max", "mean" };
    for (size_t i = 0; i < RLX_COUNT(names) - s->nd; i++)
        if (rlx_slice_is(rlx_attr_text(name), names[i])) {
            s->how = (enum how)i;
            return true;
        }
    return rlx_lowering_give_up(&s->b, "the reduction is not known");
}

static const rlx_prim *joined(scatter *s, const rlx_prim *old, const rlx_prim *x)
{
    rlx_tir *t = &s->b.t;
    bool is_bool = rlx_dtype_is_bool(s->wide);
    switch (s->how) {
    case UPDATE: return x;
    case MUL: return is_bool ? rlx_tir_and(t, old, x) : rlx_tir_mul(t, old, x);
    case MIN: return is_bool ? rlx_tir_and(t, old, x) : rlx_tir_min(t, old, x);
    case MAX: return is_bool ? rlx_tir_or(t, old, x) : rlx_tir_max(t, old, x);
    default: return is_bool ? rlx_tir_or(t, old, x) : rlx_tir_add(t, old, x);
    }
}

/* Joins the update at `index` to what is at `to`. */
static void put_at(scatter *s, const rlx_lowering_list *to, const rlx_lowering_list *index)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list at = *to;
    const bool in_strips = s->how == UPDATE || (s->how == ADD && s->wide == RELAX_FLOAT32);
    for (size_t i = 0; i < at.n && !in_strips; i++)
        if (!at.at[i] || at.at[i]->kind != RLX_NODE_PRIM_VAR) /* a loop stays what moves the place */
            at.at[i] = rlx_tir_let(t, "at", at.at[i]);
    const rlx_prim *x = rlx_tir_cast(t, s->wide, load(&s->b, &s->updates, index));
    const rlx_prim *old = rlx_tir_load(t, s->sum, rlx_lowering_items(&at));
    rlx_tir_store(t, s->sum, rlx_lowering_items(&at), joined(s, old, x));
    if (s->count)
        rlx_tir_store(
            t, s->count, rlx_lowering_items(&at),
            rlx_tir_add(t, rlx_tir_load(t, s->count, rlx_lowering_items(&at)), rlx_tir_int(t, 1)));
}

static void put_update(scatter *s, const rlx_lowering_list *index)
{
    rlx_lowering_list at = *index;
    if (s->nd)
        at = nd_index(&s->b, &s->p, index, index->at + s->p.k.shape.sizes.n - 1);
    else
        at.at[s->p.axis] = rlx_lowering_position(&s->b, load(&s->b, &s->p.k, index),
                                                 s->p.x.shape.sizes.at[s->p.axis]);
    put_at(s, &at, index);
}

static rlx_lowering_list open_updates(scatter *s)
{
    rlx_lowering_list index = { .n = s->updates.shape.sizes.n };
    for (size_t i = 0; i < index.n; i++)
        index.at[i] = rlx_tir_for(&s->b.t, "u", NULL, s->updates.shape.sizes.at[i], RLX_FOR_SERIAL);
    return index;
}

static void end_updates(scatter *s)
{
    for (size_t i = 0; i < s->updates.shape.sizes.n; i++)
        rlx_tir_end_for(&s->b.t);
}

static void put_updates(scatter *s)
{
    rlx_lowering_list index = open_updates(s);
    put_update(s, &index);
    end_updates(s);
}

static void copy_data(scatter *s)
{
    rlx_tir *t = &s->b.t;
    rlx_lowering_list index;
    rlx_lowering_open(&s->b, "copy", &s->p.x.shape.sizes, &index);
    rlx_tir_store(t, s->sum, rlx_lowering_items(&index),
                  rlx_tir_cast(t, s->wide, load(&s->b, &s->p.x, &index)));
    if (s->count)
        rlx_tir_store(t, s->count, rlx_lowering_items(&index), rlx_tir_int(t, 1));
    rlx_tir_end_block(t);
}

static const rlx_prim *scattered(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    scatter *s = user;
    rlx_tir *t = &b->t;
    const rlx_prim *v = rlx_tir_load(t, s->sum, rlx_lowering_items(index));
    if (s->count)
        v = rlx_tir_div(
            t, v, rlx_tir_cast(t, s->wide, rlx_tir_load(t, s->count, rlx_lowering_items(index))));
    return rlx_tir_cast(t, s->p.out.dtype, v);
}

/* Checks sizes that inference trusts: those of updates are those of indices, then those of
 * data. */
static bool read_scatter(scatter *s, rlx_lower_request *l)
{
    const rlx_tensor_sinfo *k = rlx_as_tensor_sinfo(l->args[1]),
                           *u = rlx_as_tensor_sinfo(l->args[2]),
                           *x = rlx_as_tensor_sinfo(l->args[0]);
    size_t lead = k && k->ndim > 0 ? (size_t)k->ndim - s->nd : 0;
    for (size_t i = 0; i < lead; i++)
        rlx_lowering_trust(&s->b, 1, i, 2, i);
    for (size_t i = lead; x && u && (int64_t)i < u->ndim && i + (size_t)x->ndim >= (size_t)u->ndim;
         i++)
        rlx_lowering_trust(&s->b, 0, i + (size_t)x->ndim - (size_t)u->ndim, 2, i);
    if (!rlx_lowering_input(&s->b, 0, &s->p.x) || !rlx_lowering_input(&s->b, 1, &s->p.k) ||
        !rlx_lowering_input(&s->b, 2, &s->updates))
        return false;
    size_t want = s->p.k.shape.sizes.n;
    if (s->nd) {
        if (!read_depth(&s->b, &s->p, u ? x->ndim + k->ndim - 1 - u->ndim : -1))
            return false;
        want += s->p.x.shape.sizes.n - s->p.depth - 1;
    } else if (!rlx_lowering_axis(&s->b, rlx_attr_as_int(rlx_lowering_attr(l, 0), 0),
                                  s->p.x.shape.sizes.n, &s->p.axis)) {
        return false;
    }
    if (s->updates.shape.sizes.n != want || (!s->nd && want != s->p.x.shape.sizes.n))
        return rlx_lowering_give_up(&s->b, "the ranks differ");
    return read_reduction(s, rlx_lowering_attr(l, s->nd ? 0 : 1)) &&
           rlx_lowering_output(&s->b, &s->p.x.shape, &s->p.out);
}

static const rlx_prim_func *lower_scatter(rlx_lower_request *l, bool nd)
{
    scatter s = { .nd = nd };
    rlx_lowering_begin(&s.b, l);
    if (!read_scatter(&s, l))
        return rlx_lowering_end(&s.b);
    rlx_dtype t = s.p.out.dtype;
    bool adds = s.how == ADD || s.how == MUL || s.how == MEAN;
    s.wide = adds ? rlx_lowering_accumulator(t) : t;
    s.sum = s.p.out.buffer;
    if (s.how == MEAN || s.wide != t)
        s.sum = rlx_tir_alloc(&s.b.t, "sum", s.wide, rlx_lowering_items(&s.p.x.shape.sizes));
    if (s.how == MEAN)
        s.count =
            rlx_tir_alloc(&s.b.t, "count", RELAX_INT64, rlx_lowering_items(&s.p.x.shape.sizes));
    copy_data(&s);
    put_updates(&s);
    return s.sum == s.p.out.buffer ? rlx_lowering_end(&s.b)
                                   : rlx_lowering_mapped(&s.b, &s.p.out, scattered, &s);
}

const rlx_prim_func *rlx_lower_scatter_elements(rlx_lower_request *l)
{
    return lower_scatter(l, false);
}

const rlx_prim_func *rlx_lower_scatter_nd(rlx_lower_request *l)
{
    return lower_scatter(l, true);
}

/* ---- take_backward: (output_grad, x, indices); of x only the sizes count ---------------------
 * Zeros, then the elements of output_grad one after another in row-major order. */

/* output_grad has the sizes of x with those of indices in the place of the axis. */
static bool read_take_backward(scatter *s, rlx_lower_request *l)
{
    const rlx_attr *axis = rlx_lowering_attr(l, 0);
    const rlx_tensor_sinfo *x = rlx_as_tensor_sinfo(l->args[1]),
                           *k = rlx_as_tensor_sinfo(l->args[2]),
                           *g = rlx_as_tensor_sinfo(l->args[0]);
    if (!x || !k || !g || x->ndim < 1 || k->ndim < 0 || g->ndim != x->ndim + k->ndim - 1)
        return rlx_lowering_give_up(&s->b, "the ranks differ or are not known");
    if (!rlx_lowering_axis(&s->b, rlx_attr_is_none(axis) ? 0 : rlx_attr_as_int(axis, 0),
                           (size_t)x->ndim, &s->p.axis))
        return false;
    size_t n = (size_t)x->ndim, m = (size_t)k->ndim, at = s->p.axis;
    for (size_t i = 0; i < n; i++)
        if (i != at)
            rlx_lowering_trust(&s->b, 0, i < at ? i : i + m - 1, 1, i);
    for (size_t i = 0; i < m; i++)
        rlx_lowering_trust(&s->b, 0, at + i, 2, i);
    return rlx_lowering_input(&s->b, 0, &s->updates) && rlx_lowering_input(&s->b, 2, &s->p.k) &&
           rlx_lowering_output(&s->b, NULL, &s->p.out);
}

const rlx_prim_func *rlx_lower_take_backward(rlx_lower_request *l)
{
    scatter s = { .how = ADD };
    rlx_tir *t = &s.b.t;
    rlx_lowering_list all, from;
    rlx_lowering_begin(&s.b, l);
    if (!read_take_backward(&s, l))
        return rlx_lowering_end(&s.b);
    rlx_prim_list sizes = rlx_lowering_items(&s.p.out.shape.sizes);
    s.wide = rlx_lowering_accumulator(s.p.out.dtype);
    s.sum = s.wide == s.p.out.dtype ? s.p.out.buffer : rlx_tir_alloc(t, "sum", s.wide, sizes);
    rlx_lowering_open(&s.b, "zeros", &s.p.out.shape.sizes, &all);
    rlx_tir_store(t, s.sum, rlx_lowering_items(&all), rlx_tir_number(t, s.wide, 0));
    rlx_tir_end_block(t);
    rlx_lowering_list index = open_updates(&s), at = { .n = s.p.out.shape.sizes.n };
    size_t m = s.p.k.shape.sizes.n;
    from.n = m;
    memcpy(from.at, index.at + s.p.axis, m * sizeof *from.at);
    for (size_t i = 0; i < at.n; i++)
        at.at[i] = i == s.p.axis ? rlx_lowering_position(&s.b, load(&s.b, &s.p.k, &from),
                                                         s.p.out.shape.sizes.at[i])
                                 : index.at[i < s.p.axis ? i : i + m - 1];
    put_at(&s, &at, &index);
    end_updates(&s);
    return s.sum == s.p.out.buffer ? rlx_lowering_end(&s.b)
                                   : rlx_lowering_mapped(&s.b, &s.p.out, scattered, &s);
}
