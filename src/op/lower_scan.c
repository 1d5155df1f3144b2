/*- lower_scan.c: running sums and products; sums back to the shape before broadcasting.
 *
 *     for outer:
 *         for inner:
 *             so_far[inner] = 0
 *         for k:
 *             for inner:
 *                 so_far[inner] += x[outer, k, inner]
 *                 out[outer, k, inner] = so_far[inner]
 *
 * Stores run along the innermost axis, each sum in its own order. Where that is the one that is scanned, squares of rows and steps are turned:
 *
 *     for tile of rows:
 *         for r:        so_far[r] = 0
 *         for square of steps:
 *             for k, r: from[k, r] = x[row + r, step + k]
 *             for k, r: so_far[r] += from[k, r]; to[k, r] = so_far[r]
 *             for k, r: out[row + r, step + k] = to[k, r]
 *
 * Narrow floats accumulate in float32.
 */
/* built for size */
#include "op/lower_int.h"

enum { ROWS = 64, STEPS = 64 }; /* of a square */

typedef struct scan {
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list index; /* of x */
    /* axes begin .. end - 1 are scanned: one, or all in row-major order */
    size_t axis, begin, end;
    rlx_dtype wide;
    const rlx_buffer *so_far;
    const rlx_buffer *from, *to;     /* what is scanned, and where it goes: tensors, or squares of them */
    bool product, exclusive;
} scan;

static void open_loops(scan *s, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        s->index.at[i] = rlx_tir_for(&s->b.t, "i", NULL, s->x.shape.sizes.at[i], RLX_FOR_SERIAL);
}

static void close_loops(scan *s, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++)
        rlx_tir_end_for(&s->b.t);
}

/* Where the sum of an element is: at its indices behind what is scanned, in a square at the row. */
typedef struct place { rlx_prim_list inner, element; } place;

static place place_in(const scan *s)
{
    return (place){ RLX_TIR_ITEMS(s->index.at + s->end, s->index.n - s->end), rlx_lowering_items(&s->index) };
}

static const rlx_prim *joined(scan *s, const rlx_prim *a, const rlx_prim *x)
{
    rlx_tir *t = &s->b.t;
    if (rlx_dtype_is_bool(s->wide))
        return s->product ? rlx_tir_and(t, a, x) : rlx_tir_or(t, a, x);
    return s->product ? rlx_tir_mul(t, a, x) : rlx_tir_add(t, a, x);
}

static void give(scan *s, const place *p)
{
    rlx_tir *t = &s->b.t;
    bool flat = s->to == s->out.buffer && (s->out.shape.sizes.n != s->x.shape.sizes.n || s->end - s->begin != 1);
    const rlx_prim *position = flat ? rlx_tir_flatten(t, p->element, rlx_lowering_items(&s->x.shape.sizes)) : NULL;
    rlx_tir_store(t, s->to, flat ? RLX_TIR_LIST(position) : p->element, rlx_tir_load(t, s->so_far, p->inner));
}

static void scan_element(scan *s, const place *p)
{
    rlx_tir *t = &s->b.t;
    const rlx_prim *x = rlx_tir_load(t, s->from, p->element);
    bool to_bool = rlx_dtype_is_bool(s->wide) && !rlx_dtype_is_bool(s->x.dtype);
    x = to_bool ? rlx_tir_ne(t, x, rlx_tir_number(t, s->x.dtype, 0)) : rlx_tir_cast(t, s->wide, x);
    if (s->exclusive)
        give(s, p);
    rlx_tir_store(t, s->so_far, p->inner, joined(s, rlx_tir_load(t, s->so_far, p->inner), x));
    if (!s->exclusive)
        give(s, p);
}

static void begin_sum(scan *s, rlx_prim_list inner)
{
    rlx_tir_store(&s->b.t, s->so_far, inner, rlx_tir_number(&s->b.t, s->wide, s->product));
}

static void scan_loops(scan *s)
{
    rlx_tir *t = &s->b.t;
    rlx_prim_list sizes = RLX_TIR_ITEMS(s->x.shape.sizes.at + s->end, s->index.n - s->end);
    s->so_far = rlx_tir_alloc(t, "so_far", s->wide, sizes);
    s->from = s->x.buffer;
    s->to = s->out.buffer;
    open_loops(s, 0, s->begin);
    open_loops(s, s->end, s->index.n);
    begin_sum(s, place_in(s).inner);
    close_loops(s, s->end, s->index.n);
    open_loops(s, s->begin, s->index.n);
    const place p = place_in(s);
    scan_element(s, &p);
    close_loops(s, 0, s->index.n);
}

/* ---- rows beside each other ----------------------------------------------------------------- */

/* Of an axis: a loop over its tiles; where the tile begins, and how much of it there is. */
typedef struct tile { const rlx_prim *begin, *count; } tile;

static tile open_tiles(scan *s, size_t axis, int64_t size)
{
    rlx_tir *t = &s->b.t;
    const rlx_prim *all = s->x.shape.sizes.at[axis], *each = rlx_tir_int(t, size),
                   *count = rlx_tir_floor_div(t, rlx_tir_add(t, all, rlx_tir_int(t, size - 1)), each),
                   *begin = rlx_tir_mul(t, rlx_tir_for(t, "t", NULL, count, RLX_FOR_SERIAL), each);
    return (tile){ begin, rlx_tir_min(t, rlx_tir_sub(t, all, begin), each) };
}

/* Loops over the elements of a square: at[0], at[1] are their steps and rows, the index is that of the tensors. */
static void open_square(scan *s, tile rows, tile steps, const rlx_prim *at[2])
{
    rlx_tir *t = &s->b.t;
    at[0] = rlx_tir_for(t, "k", NULL, steps.count, RLX_FOR_SERIAL);
    at[1] = rlx_tir_for(t, "r", NULL, rows.count, RLX_FOR_SERIAL);
    s->index.at[s->begin] = rlx_tir_add(t, steps.begin, at[0]);
    s->index.at[s->begin - 1] = rlx_tir_add(t, rows.begin, at[1]);
}

static void scan_square(scan *s, tile rows, tile steps)
{
    rlx_tir *t = &s->b.t;
    const rlx_prim *at[2];
    const rlx_prim_list element = RLX_TIR_ITEMS(at, 2);
    open_square(s, rows, steps, at);
    rlx_tir_store(t, s->from, element, rlx_tir_load(t, s->x.buffer, rlx_lowering_items(&s->index)));
    close_loops(s, 0, 2);
    open_square(s, rows, steps, at);
    scan_element(s, &(place){ RLX_TIR_ITEMS(at + 1, 1), element });
    close_loops(s, 0, 2);
    open_square(s, rows, steps, at);
    rlx_tir_store(t, s->out.buffer, rlx_lowering_items(&s->index), rlx_tir_load(t, s->to, element));
    close_loops(s, 0, 2);
}

static void scan_rows(scan *s)
{
    rlx_tir *t = &s->b.t;
    const rlx_prim *sizes[2] = { rlx_tir_int(t, STEPS), rlx_tir_int(t, ROWS) };
    s->so_far = rlx_tir_alloc(t, "so_far", s->wide, RLX_TIR_ITEMS(sizes + 1, 1));
    s->from = rlx_tir_alloc(t, "from", s->x.dtype, RLX_TIR_ITEMS(sizes, 2));
    s->to = rlx_tir_alloc(t, "to", s->out.dtype, RLX_TIR_ITEMS(sizes, 2));
    open_loops(s, 0, s->begin - 1);
    const tile rows = open_tiles(s, s->begin - 1, ROWS);
    const rlx_prim *row = rlx_tir_for(t, "r", NULL, rows.count, RLX_FOR_SERIAL);
    begin_sum(s, RLX_TIR_ITEMS(&row, 1));
    close_loops(s, 0, 1);
    const tile steps = open_tiles(s, s->begin, STEPS);
    scan_square(s, rows, steps);
    close_loops(s, 0, s->begin + 1);
}

/* Is the axis that is scanned innermost, and are there enough rows and steps? */
static bool has_rows(const scan *s)
{
    int64_t rows = ROWS, steps = STEPS;
    if (s->end != s->index.n || s->end - s->begin != 1 || s->begin == 0)
        return false;
    (void)rlx_int_literal(s->x.shape.sizes.at[s->begin - 1], &rows);
    (void)rlx_int_literal(s->x.shape.sizes.at[s->begin], &steps);
    return rows >= 4 && steps >= 4;
}

/* attributes axis, dtype, exclusive */
const rlx_prim_func *rlx_lower_scan(rlx_lower_request *l)
{
    scan s = { .product = l->row->member.number == RLX_FOLD_PROD,
               .exclusive = rlx_attr_as_bool(rlx_lowering_attr(l, 2), false) };
    const rlx_attr *axis = rlx_lowering_attr(l, 0);
    bool all = rlx_attr_is_none(axis);
    rlx_lowering_begin(&s.b, l);
    if (!rlx_lowering_input(&s.b, 0, &s.x) ||
        (!all && !rlx_lowering_axis(&s.b, rlx_attr_as_int(axis, 0), s.x.shape.sizes.n, &s.axis)))
        return rlx_lowering_end(&s.b);
    s.index.n = s.x.shape.sizes.n;
    s.begin = all ? 0 : s.axis;
    s.end = all ? s.index.n : s.axis + 1;
    rlx_lowering_shape shape = s.x.shape;
    if (all) {
        shape.sizes =
            (rlx_lowering_list){ .at = { rlx_lowering_product(&s.b, &s.x.shape.sizes, NULL) },
                                 .n = 1 };
        shape.program[0] = NULL;
    }
    if (!rlx_lowering_output(&s.b, &shape, &s.out))
        return rlx_lowering_end(&s.b);
    s.wide = rlx_lowering_accumulator(s.out.dtype);
    (has_rows(&s) ? scan_rows : scan_loops)(&s);
    return rlx_lowering_end(&s.b);
}

/* ---- collapse_sum_to, collapse_sum_like ----------------------------------------------------- */

/* Axis i of the target is axis i + lead of data. One where the target has 1, and data is not known
 * to, is summed. Where neither is known the kernel decides: there is a loop over the target's size
 * and one over what is summed, and one of them has one step. */
typedef struct collapsing {
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list sizes;            /* of the loops: those of data, then what is summed beside them */
    bool summed[RLX_LOW_RANK];
    size_t beside[RLX_LOW_RANK];        /* of an axis of data: its second loop, 0: it has none */
} collapsing;

static bool collapse_axis(collapsing *c, size_t i, const rlx_prim *to)
{
    rlx_tir *t = &c->b.t;
    const rlx_prim *have = c->x.shape.sizes.at[i], *one = rlx_tir_int(t, 1);
    c->summed[i] = !to || (rlx_is_int_value(to, 1) && !rlx_is_int_value(have, 1));
    if (c->summed[i] || to == have)
        return true;
    const rlx_prim *fits = rlx_tir_eq(t, to, have);
    if (rlx_is(to, RLX_NODE_INT_IMM) || rlx_is_int_value(have, 1)) {
        rlx_lowering_require(&c->b, fits, RLX_ASSERTION_SIZES, "sizes do not collapse");
        return true;
    }
    if (c->sizes.n == RLX_LOW_RANK)
        return rlx_lowering_give_up(&c->b, "the rank is above 16");
    rlx_lowering_require(&c->b, rlx_tir_or(t, fits, rlx_tir_eq(t, to, one)), RLX_ASSERTION_SIZES,
                         "sizes do not collapse");
    c->sizes.at[i] = to;
    c->beside[i] = c->sizes.n;
    c->summed[c->sizes.n] = true;
    c->sizes.at[c->sizes.n++] = rlx_tir_select(t, fits, one, have);
    return true;
}

static bool read_axes(collapsing *c)
{
    size_t n = c->x.shape.sizes.n, m = c->out.shape.sizes.n;
    if (m > n)
        return rlx_lowering_give_up(&c->b, "the target has a higher rank");
    c->sizes = c->x.shape.sizes;
    for (size_t i = 0; i < n; i++)
        if (!collapse_axis(c, i, i < n - m ? NULL : c->out.shape.sizes.at[i - (n - m)]))
            return false;
    return true;
}

static void collapse(collapsing *c)
{
    rlx_tir *t = &c->b.t;
    rlx_lowering_list index, at = { .n = c->out.shape.sizes.n }, from;
    rlx_dtype wide = rlx_lowering_accumulator(c->x.dtype);
    rlx_prim_list out_sizes = rlx_lowering_items(&c->out.shape.sizes);
    const rlx_buffer *sum =
        wide == c->out.dtype ? c->out.buffer : rlx_tir_alloc(t, "wide", wide, out_sizes);
    rlx_lowering_open_reduce(&c->b, "collapse", &c->sizes, c->summed, &index);
    from = index;
    from.n = c->x.shape.sizes.n;
    for (size_t i = 0; i < from.n; i++)
        if (c->beside[i])
            from.at[i] = rlx_tir_add(t, index.at[i], index.at[c->beside[i]]);
    for (size_t i = 0; i < at.n; i++) {
        size_t k = i + from.n - at.n;
        at.at[i] = c->summed[k] ? rlx_tir_int(t, 0) : index.at[k];
    }
    rlx_tir_init(t, sum, rlx_lowering_items(&at), rlx_tir_number(t, wide, 0));
    const rlx_prim *v = rlx_tir_cast(t, wide,
                                     rlx_tir_load(t, c->x.buffer, rlx_lowering_items(&from))),
                   *old = rlx_tir_load(t, sum, rlx_lowering_items(&at));
    rlx_tir_store(t, sum, rlx_lowering_items(&at),
                  rlx_dtype_is_bool(wide) ? rlx_tir_or(t, old, v) : rlx_tir_add(t, old, v));
    rlx_tir_end_block(t);
    if (sum == c->out.buffer)
        return;
    rlx_lowering_open(&c->b, "narrow", &c->out.shape.sizes, &index);
    rlx_tir_store(t, c->out.buffer, rlx_lowering_items(&index),
                  rlx_tir_load(t, sum, rlx_lowering_items(&index)));
    rlx_tir_end_block(t);
}

/* The sizes that the second argument has, or is. False: they are not known. */
static bool target_sizes(rlx_lowering *b, rlx_lowering_shape *out)
{
    const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(b->l->args[1]);
    const rlx_shape_sinfo *s = rlx_as_shape_sinfo(b->l->args[1]);
    size_t n = s && s->has_values ? s->num_values : 0;
    const rlx_prim *const *dims = t ? rlx_shape_dims(t->shape, &n) : n ? s->values : NULL;
    if (!dims || n > RLX_LOW_RANK)
        return false;
    out->sizes.n = n;
    for (size_t i = 0; i < n; i++) {
        out->program[i] = dims[i];
        out->sizes.at[i] = rlx_lowering_size(b, dims[i]);
    }
    return !b->t.incomplete;
}

const rlx_prim_func *rlx_lower_collapse(rlx_lower_request *l)
{
    collapsing c = { .sizes = { .n = 0 } };
    rlx_lowering_shape target;
    rlx_lowering_begin(&c.b, l);
    if (rlx_lowering_input(&c.b, 0, &c.x) &&
        rlx_lowering_output(&c.b, target_sizes(&c.b, &target) ? &target : NULL, &c.out) &&
        read_axes(&c))
        collapse(&c);
    return rlx_lowering_end(&c.b);
}

/* ---- multinomial_from_uniform: (prob, uniform_sample, sample_indices) ------------------------ */

/* The first class of a row of prob whose running sum exceeds the sample; where rounding leaves
 * none, the last one. */
typedef struct choice { rlx_lowering_tensor prob, sample, row; } choice;

static const rlx_prim *chosen_class(rlx_lowering *b, void *user, const rlx_lowering_list *index)
{
    const choice *c = user;
    rlx_tir *t = &b->t;
    rlx_prim_list at = rlx_lowering_items(index);
    const rlx_prim *classes = c->prob.shape.sizes.at[1], *none = rlx_tir_int(t, -1);
    rlx_dtype wide = rlx_lowering_accumulator(c->prob.dtype),
              common = c->sample.dtype == RELAX_FLOAT64 ? RELAX_FLOAT64 : wide;
    const rlx_buffer *sum = rlx_tir_alloc(t, "sum", wide, RLX_TIR_NONE),
                     *found = rlx_tir_alloc(t, "found", RELAX_INT64, RLX_TIR_NONE);
    const rlx_prim *row = rlx_tir_let(
        t, "row", rlx_lowering_position(b, rlx_tir_load(t, c->row.buffer, at), c->prob.shape.sizes.at[0]));
    const rlx_prim *sample =
        rlx_tir_let(t, "sample", rlx_tir_cast(t, common, rlx_tir_load(t, c->sample.buffer, at)));
    rlx_tir_store(t, sum, RLX_TIR_NONE, rlx_tir_number(t, wide, 0));
    rlx_tir_store(t, found, RLX_TIR_NONE, none);
    const rlx_prim *k = rlx_tir_for(t, "k", NULL, classes, RLX_FOR_SERIAL);
    const rlx_prim *p = rlx_tir_cast(t, wide, rlx_tir_load(t, c->prob.buffer, RLX_TIR_LIST(row, k)));
    rlx_tir_store(t, sum, RLX_TIR_NONE, rlx_tir_add(t, rlx_tir_load(t, sum, RLX_TIR_NONE), p));
    const rlx_prim *exceeds =
        rlx_tir_gt(t, rlx_tir_cast(t, common, rlx_tir_load(t, sum, RLX_TIR_NONE)), sample);
    const rlx_prim *so_far = rlx_tir_load(t, found, RLX_TIR_NONE);
    rlx_tir_store(t, found, RLX_TIR_NONE,
                  rlx_tir_select(t, rlx_tir_and(t, exceeds, rlx_tir_eq(t, so_far, none)), k, so_far));
    rlx_tir_end_for(t);
    so_far = rlx_tir_load(t, found, RLX_TIR_NONE);
    return rlx_tir_select(t, rlx_tir_eq(t, so_far, none),
                          rlx_tir_sub(t, classes, rlx_tir_int(t, 1)), so_far);
}

const rlx_prim_func *rlx_lower_multinomial(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_tir *t = &b.t;
    choice c;
    rlx_lowering_tensor out;
    rlx_lowering_begin(&b, l);
    for (size_t i = 0; i < 2; i++)
        rlx_lowering_trust(&b, 1, i, 2, i);
    if (!rlx_lowering_input(&b, 0, &c.prob) || !rlx_lowering_input(&b, 1, &c.sample) ||
        !rlx_lowering_input(&b, 2, &c.row) || !rlx_lowering_output(&b, &c.sample.shape, &out))
        return rlx_lowering_end(&b);
    const rlx_prim *one = rlx_tir_int(t, 1), *columns = c.sample.shape.sizes.at[1];
    if (!rlx_is_int_value(columns, 1))
        rlx_lowering_require(&b, rlx_tir_eq(t, columns, one), RLX_ASSERTION_SIZES,
                             "uniform_sample has more than one column");
    int64_t classes;
    if (!rlx_int_literal(c.prob.shape.sizes.at[1], &classes) || classes < 1)
        rlx_lowering_require(&b, rlx_tir_or(t, rlx_tir_ge(t, c.prob.shape.sizes.at[1], one),
                                            rlx_tir_lt(t, c.sample.shape.sizes.at[0], one)),
                             RLX_ASSERTION_VALUE, "there is no class to choose");
    return rlx_lowering_mapped(&b, &out, chosen_class, &c);
}
