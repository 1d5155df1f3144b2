/* lower_resize_pass.c: tensors that are resized axis by axis, from tables of elements and shares. */
/* built for size */
#include "op/lower_resize.h"

/* Slices of so many elements are long; a strip of fewer costs more than to turn what they are cut from. */
enum { LONG_SLICE = 256, SHORT_SLICE = 16 };
/* Elements of a tile, at most, and of the slices that are turned in it, at least. */
enum { TILE = 1 << 16, SLICE_OF_TILE = 256 };
/* Lines so many bytes apart share few places in the cache nearest by. */
enum { LINES_FALL = 1024 };
/* Places that go on in the next ones: so many at most, so often at least. */
enum { MOST_PLACES = 8, FEW_GROUPS = 4 };

static const rlx_prim *number(rlx_resize *r, int64_t v) { return rlx_tir_int(&r->b->t, v); }

static bool shrinks(const rlx_prim *have, const rlx_prim *want)
{
    int64_t from, to;
    return rlx_int_literal(have, &from) && rlx_int_literal(want, &to) && to < from;
}

void rlx_resize_order(bool moves, const rlx_prim *const *have, const rlx_prim *const *want, size_t n, size_t *items)
{
    size_t count = 0;
    for (size_t i = 0; i < n; i++)
        if (moves && shrinks(have[i], want[i]))
            items[count++] = i;
    for (size_t i = n; i-- > 0;)
        if (!moves || !shrinks(have[i], want[i]))
            items[count++] = i;
}

void rlx_resize_begin(rlx_resize *r, rlx_lowering *b, const rlx_lowering_tensor *x, const rlx_lowering_tensor *out,
                      rlx_dtype wide)
{
    *r = (rlx_resize){ .b = b, .data = x->buffer, .from = x->buffer, .sizes = x->shape.sizes, .out = out, .wide = wide };
    for (size_t i = 0; i < r->sizes.n; i++)
        r->order[i] = i;
}

static bool find_step(const int64_t *elements, int64_t count, int64_t have, rlx_resize_step *out)
{
    if (count < 1 || have < 1)
        return false;
    int64_t times = count % have == 0 ? count / have : 0, first = elements[0], apart = count > 1 ? elements[1] - first : 1;
    bool repeats = times > 1, steps = apart > 0;
    for (int64_t o = 0; o < count && (repeats || steps); o++) {
        repeats = repeats && elements[o] == o / times;
        steps = steps && elements[o] == o * apart + first;
    }
    *out = repeats ? (rlx_resize_step){ .times = times } : (rlx_resize_step){ .apart = apart, .first = first };
    return repeats || steps;
}

/* ---- in which order axes stand in memory ----------------------------------------------------- */

static rlx_lowering_list arranged(const size_t *order, const rlx_lowering_list *by_axis)
{
    rlx_lowering_list out = { .n = by_axis->n };
    for (size_t i = 0; i < out.n; i++)
        out.at[i] = by_axis->at[order[i]];
    return out;
}

/* A block over tensors whose axes stand in that order; *at: by axis. */
static void open_arranged(rlx_resize *r, const char *name, const size_t *order, const rlx_lowering_list *sizes, rlx_lowering_list *at)
{
    rlx_lowering_list in_order = arranged(order, sizes), places;
    rlx_lowering_open(r->b, name, &in_order, &places);
    at->n = places.n;
    for (size_t i = 0; i < places.n; i++)
        at->at[order[i]] = places.at[i];
}

/* Indices in all of data, or of the result. */
static rlx_lowering_list in_whole(rlx_resize *r, const rlx_lowering_list *at)
{
    rlx_lowering_list out = *at;
    for (size_t i = 0; i < out.n; i++)
        out.at[i] = r->begin[i] ? rlx_tir_add(&r->b->t, r->begin[i], at->at[i]) : at->at[i];
    return out;
}

static const rlx_prim *element_of(rlx_resize *r, const rlx_lowering_list *at)
{
    const rlx_lowering_list all = r->from == r->data ? in_whole(r, at) : *at, placed = arranged(r->order, &all);
    return rlx_tir_load(&r->b->t, r->from, rlx_lowering_items(&placed));
}

/* Stores along the axes in this order, or to the result. */
static void store_element(rlx_resize *r, const rlx_buffer *to, const size_t *order, const rlx_lowering_list *at, const rlx_prim *v)
{
    const rlx_lowering_list all = to == r->out->buffer ? in_whole(r, at) : *at, placed = arranged(order, &all);
    rlx_tir_store(&r->b->t, to, rlx_lowering_items(&placed), v);
}

/* Rows of a tile that would lie on each other in the cache have one slice more, which nothing touches. */
static const rlx_buffer *alloc_arranged(rlx_resize *r, const char *name, rlx_dtype dtype, const size_t *order)
{
    rlx_lowering_list sizes = arranged(order, &r->sizes);
    int64_t row = rlx_dtype_bits(dtype) / 8, n;
    for (size_t i = 1; i < sizes.n && r->tiled; i++)
        row *= rlx_int_literal(sizes.at[i], &n) ? n : 0;
    for (size_t i = 1; i < sizes.n && r->tiled && row && row % LINES_FALL == 0; i++)
        if (order[i] == r->cut && rlx_int_literal(sizes.at[i], &n))
            sizes.at[i] = number(r, n + 1);
    return rlx_tir_alloc(&r->b->t, name, dtype, rlx_lowering_items(&sizes));
}

/* The number of elements of axes from `first` on, but for `axis`; 0: it is not known. */
static int64_t elements_from(const rlx_resize *r, size_t first, size_t axis)
{
    int64_t all = 1, n;
    for (size_t i = first; i < r->sizes.n; i++)
        if (i != axis && (!rlx_int_literal(r->sizes.at[i], &n) || !rlx_mul_i64(all, n, &all)))
            return 0;
    return all;
}

/* Is the axis better in front? Not if a slice behind it is long, or may be, or if there are few slices. */
static bool is_turned(const rlx_resize *r, size_t axis)
{
    int64_t slice = elements_from(r, axis, axis), others = elements_from(r, 0, axis);
    return r->wide != RELAX_VOID && slice && slice < LONG_SLICE && (!others || others >= SHORT_SLICE);
}

static void order_with(const rlx_resize *r, size_t axis, size_t *order)
{
    size_t n = 0;
    order[n++] = axis;
    for (size_t i = 0; i < r->sizes.n; i++)
        if (i != axis)
            order[n++] = i;
}

/* Axes in this order from here on. */
static void turn(rlx_resize *r, const size_t *order)
{
    rlx_lowering_list at;
    if (!r->from || memcmp(order, r->order, r->sizes.n * sizeof *order) == 0)
        return;
    const rlx_buffer *to = alloc_arranged(r, "turned", r->from->dtype, order);
    open_arranged(r, "turn", order, &r->sizes, &at);
    store_element(r, to, order, &at, element_of(r, &at));
    rlx_tir_end_block(&r->b->t);
    r->from = to;
    memcpy(r->order, order, r->sizes.n * sizeof *order);
}

/* ---- one axis ------------------------------------------------------------------------------- */

static const rlx_prim *blended(rlx_resize *r, const rlx_lowering_list *at, size_t axis, const rlx_resize_taps *taps)
{
    rlx_tir *t = &r->b->t;
    const rlx_prim *sum = NULL, *o = at->at[axis];
    for (int k = 0; k < taps->count; k++) {
        rlx_lowering_list from = *at;
        from.at[axis] = rlx_tir_load(t, taps->index, RLX_TIR_LIST(number(r, k), o));
        const rlx_prim *v = element_of(r, &from);
        if (taps->weight)
            v = rlx_tir_mul(t, rlx_tir_cast(t, r->wide, v), rlx_tir_load(t, taps->weight, RLX_TIR_LIST(number(r, k), o)));
        sum = sum ? rlx_tir_add(t, sum, v) : v;
    }
    if (!taps->outside)
        return sum;
    return rlx_tir_select(t, rlx_tir_load(t, taps->outside, RLX_TIR_LIST(o)),
                          rlx_tir_number(t, taps->weight ? r->wide : r->out->dtype, taps->fill), sum);
}

static bool is_by_axis(const rlx_resize *r, const size_t *order)
{
    bool is = true;
    for (size_t i = 0; i < r->sizes.n; i++)
        is = is && order[i] == i;
    return is;
}

static bool has_steps(const rlx_resize *r)
{
    bool has = false;
    for (size_t i = 0; i < r->sizes.n; i++)
        has |= r->has_step[i];
    return has;
}

static void keep_order(size_t *order)
{
    for (size_t i = 0; i < RLX_LOW_RANK; i++)
        order[i] = i;
}

/* The planes of elements `apart` from each other along the axis. */
static const rlx_buffer *copy_planes(rlx_resize *r, size_t axis, const rlx_prim *want, const rlx_resize_even *even)
{
    rlx_tir *t = &r->b->t;
    rlx_lowering_list sizes = { .at = { number(r, even->count) }, .n = r->sizes.n + 1 }, at, from = { .n = r->sizes.n };
    for (size_t i = 0; i < r->sizes.n; i++)
        sizes.at[i + 1] = i == axis ? want : r->sizes.at[i];
    const rlx_buffer *to = rlx_tir_alloc(t, "planes", r->from->dtype, rlx_lowering_items(&sizes));
    rlx_lowering_open(r->b, "planes", &sizes, &at);
    memcpy(from.at, at.at + 1, from.n * sizeof *from.at);
    from.at[axis] = rlx_tir_add(t, rlx_tir_mul(t, from.at[axis], number(r, even->apart)), rlx_tir_add(t, number(r, even->first), at.at[0]));
    rlx_tir_store(t, to, rlx_lowering_items(&at), element_of(r, &from));
    rlx_tir_end_block(t);
    return to;
}

bool rlx_resize_even_axis(rlx_resize *r, size_t axis, const rlx_prim *want, const rlx_resize_even *even, bool last)
{
    rlx_tir *t = &r->b->t;
    rlx_lowering_list at;
    size_t order[RLX_LOW_RANK];
    const int64_t row = elements_from(r, axis, axis);
    if (r->sizes.n == RLX_LOW_RANK || r->wide == RELAX_VOID)
        return false;
    keep_order(order);
    turn(r, order);
    const rlx_buffer *planes = row && row < LONG_SLICE ? copy_planes(r, axis, want, even) : NULL;
    last = last && !has_steps(r);
    r->sizes.at[axis] = want;
    r->whole = last;
    const rlx_buffer *to = last ? r->out->buffer : alloc_arranged(r, "part", r->wide, order);
    open_arranged(r, r->b->l->name.data, order, &r->sizes, &at);
    const rlx_prim *sum = NULL;
    for (int k = 0; k < even->count; k++) {
        rlx_lowering_list plane = { .at = { number(r, k) }, .n = at.n + 1 }, from = at;
        memcpy(plane.at + 1, at.at, at.n * sizeof *at.at);
        from.at[axis] = rlx_tir_add(t, rlx_tir_mul(t, at.at[axis], number(r, even->apart)), number(r, even->first + k));
        const rlx_prim *v = planes ? rlx_tir_load(t, planes, rlx_lowering_items(&plane)) : element_of(r, &from);
        v = rlx_tir_mul(t, rlx_tir_cast(t, r->wide, v), rlx_tir_float(t, r->wide, even->weight[k]));
        sum = sum ? rlx_tir_add(t, sum, v) : v;
    }
    store_element(r, to, order, &at, sum);
    rlx_tir_end_block(t);
    r->from = to;
    return true;
}

void rlx_resize_axis(rlx_resize *r, size_t axis, const rlx_prim *want, const rlx_resize_taps *taps, bool last)
{
    rlx_lowering_list at;
    size_t order[RLX_LOW_RANK];
    const bool turned = is_turned(r, axis);
    keep_order(order);
    if (turned)
        order_with(r, axis, order);
    turn(r, order);
    last = last && !has_steps(r);
    r->sizes.at[axis] = want;
    r->whole = last && is_by_axis(r, order);
    const rlx_buffer *to = r->whole ? r->out->buffer
                                    : alloc_arranged(r, "part", last || !taps->weight ? r->out->dtype : r->wide, order);
    open_arranged(r, r->b->l->name.data, order, &r->sizes, &at);
    store_element(r, to, order, &at, blended(r, &at, axis, taps));
    rlx_tir_end_block(&r->b->t);
    r->from = to;
}

/* Places o * places + k are elements o * apart + elements[k]. False: they are not. */
static bool go_on(const int64_t *elements, int64_t count, int64_t places, int64_t *apart)
{
    bool do_go = count % places == 0 && count / places >= FEW_GROUPS;
    *apart = do_go ? elements[places] - elements[0] : 0;
    for (int64_t o = places; o < count && do_go; o++)
        do_go = elements[o] == elements[o % places] + o / places * *apart;
    return do_go && *apart > 0;
}

/* `count` of the places from `place` on, which are one element, or side by side; `to` has them all. */
static void copy_places(rlx_resize *r, size_t axis, const rlx_buffer *to, const int64_t *elements, int64_t place, int64_t count, int64_t places,
                        int64_t apart)
{
    rlx_tir *t = &r->b->t;
    rlx_lowering_list sizes = r->sizes, at;
    rlx_tir_begin_block(t, r->b->l->name.data);
    at.n = sizes.n;
    const rlx_prim *k = NULL;
    for (size_t i = 0; i < sizes.n; i++) {
        if (i == axis)
            sizes.at[i] = rlx_tir_floor_div(t, sizes.at[i], number(r, places));
        at.at[i] = rlx_tir_spatial(t, "i", sizes.at[i]);
        k = i == axis ? rlx_tir_spatial(t, "k", number(r, count)) : k;
    }
    rlx_lowering_list from = at;
    const rlx_prim *step = count > 1 && elements[place + 1] > elements[place] ? k : number(r, 0);
    from.at[axis] = rlx_tir_add(t, rlx_tir_mul(t, at.at[axis], number(r, apart)), rlx_tir_add(t, number(r, elements[place]), step));
    at.at[axis] = rlx_tir_add(t, rlx_tir_mul(t, at.at[axis], number(r, places)), rlx_tir_add(t, number(r, place), k));
    rlx_tir_store(t, to, rlx_lowering_items(&at), rlx_tir_load(t, r->from, rlx_lowering_items(&from)));
    rlx_tir_end_block(t);
}

static bool copy_groups(rlx_resize *r, size_t axis, const int64_t *elements, int64_t count, bool last)
{
    int64_t places = 2, apart = 0, next;
    while (places <= MOST_PLACES && !go_on(elements, count, places, &apart))
        places++;
    if (places > MOST_PLACES)
        return false;
    r->sizes.at[axis] = number(r, count);
    r->whole = last && !has_steps(r);
    const rlx_buffer *to = r->whole ? r->out->buffer : alloc_arranged(r, "part", r->out->dtype, r->order);
    for (int64_t k = 0; k < places; k = next) {
        const int64_t step = k + 1 < places ? elements[k + 1] - elements[k] : 2;
        for (next = k + 1; step <= 1 && next < places && elements[next] - elements[next - 1] == step; next++)
            ;
        copy_places(r, axis, to, elements, k, next - k, places, apart);
    }
    r->from = to;
    return true;
}

bool rlx_resize_moved_axis(rlx_resize *r, size_t axis, const int64_t *elements, int64_t count, int64_t have, bool last)
{
    if (find_step(elements, count, have, &r->steps[axis]))
        return r->has_step[axis] = true;
    return copy_groups(r, axis, elements, count, last);
}

void rlx_resize_repeated_axis(rlx_resize *r, size_t axis, int64_t times)
{
    r->steps[axis] = (rlx_resize_step){ .times = times };
    r->has_step[axis] = r->is_open[axis] = true;
}

/* The place among elements for one of the result. */
static const rlx_prim *step_back(rlx_resize *r, size_t axis, const rlx_prim *o)
{
    rlx_tir *t = &r->b->t;
    const rlx_resize_step *s = &r->steps[axis];
    return !r->has_step[axis] ? o
           : s->times         ? rlx_tir_floor_div(t, o, number(r, s->times))
                              : rlx_tir_add(t, rlx_tir_mul(t, o, number(r, s->apart)), number(r, s->first));
}

static const rlx_prim *stepped(rlx_lowering *b, void *user, const rlx_lowering_list *at)
{
    rlx_resize *r = user;
    rlx_lowering_list from = *at;
    for (size_t i = 0; i < from.n; i++)
        from.at[i] = step_back(r, i, from.at[i]);
    return rlx_tir_cast(&b->t, r->out->dtype, element_of(r, &from));
}

static bool has_open(const rlx_resize *r)
{
    bool any = false;
    for (size_t i = 0; i < r->sizes.n; i++)
        any |= r->is_open[i];
    return any;
}

/* The same with two loops for an axis whose elements are repeated, so that no index is divided by a number of them that is not known. */
static const rlx_prim_func *repeat_open(rlx_resize *r)
{
    rlx_tir *t = &r->b->t;
    rlx_lowering_list at = { .n = r->sizes.n }, from = at;
    rlx_tir_begin_block(t, r->b->l->name.data);
    for (size_t i = 0; i < at.n; i++) {
        at.at[i] = rlx_tir_spatial(t, "i", r->is_open[i] ? r->sizes.at[i] : r->out->shape.sizes.at[i]);
        from.at[i] = r->is_open[i] ? at.at[i] : step_back(r, i, at.at[i]);
        if (r->is_open[i]) {
            const rlx_prim *k = rlx_tir_spatial(t, "k", number(r, r->steps[i].times));
            at.at[i] = rlx_tir_add(t, rlx_tir_mul(t, at.at[i], number(r, r->steps[i].times)), k);
        }
    }
    rlx_tir_store(t, r->out->buffer, rlx_lowering_items(&at), rlx_tir_cast(t, r->out->dtype, element_of(r, &from)));
    rlx_tir_end_block(t);
    return rlx_lowering_end(r->b);
}

/* The most slices of a tile that divide all of them, 0: there are none. shortest: what one of them gives a slice of a turned axis. */
static int64_t slices_of_tile(int64_t slices, int64_t elements, int64_t shortest)
{
    int64_t most = elements > 0 ? TILE / elements : 0;
    most = most < slices ? most : slices - 1;
    while (most > 1 && slices % most)
        most--;
    return most > 1 && most * shortest >= SLICE_OF_TILE ? most : 0;
}

void rlx_resize_in_tiles(rlx_resize *r, const size_t *axes, const rlx_prim *const *have, const rlx_prim *const *want, const size_t *items, size_t n)
{
    rlx_tir *t = &r->b->t;
    size_t first = r->sizes.n;
    int64_t slices, from, to, elements = 1, shortest = TILE;
    const rlx_lowering_list whole = r->sizes;
    rlx_lowering_list most = whole;
    for (size_t i = 0; i < n; i++) {
        if (!rlx_int_literal(have[i], &from) || !rlx_int_literal(want[i], &to))
            return;
        most.at[axes[i]] = from > to ? have[i] : want[i];
        first = axes[i] < first ? axes[i] : first;
    }
    for (size_t i = first; i < most.n; i++)
        if (!rlx_int_literal(most.at[i], &from) || !rlx_mul_i64(elements, from, &elements))
            return;
    for (size_t k = 0; k < n; k++) {
        const size_t axis = axes[items[k]];
        const int64_t turned = is_turned(r, axis) ? elements_from(r, first, axis) : TILE;
        shortest = turned < shortest ? turned : shortest;
        r->sizes.at[axis] = want[items[k]]; /* for the next one */
    }
    r->sizes = whole;
    if (shortest == TILE || first == 0 || !rlx_int_literal(r->sizes.at[first - 1], &slices) ||
        !(slices = slices_of_tile(slices, elements, shortest)))
        return;
    rlx_tir_begin_block(t, "tile");
    for (size_t i = 0; i < first; i++) {
        const bool cut = i + 1 == first;
        r->begin[i] = rlx_tir_spatial(t, "i", cut ? rlx_tir_floor_div(t, r->sizes.at[i], number(r, slices)) : r->sizes.at[i]);
        r->begin[i] = cut ? rlx_tir_mul(t, r->begin[i], number(r, slices)) : r->begin[i];
        r->sizes.at[i] = number(r, cut ? slices : 1);
    }
    r->tiled = true;
    r->cut = first - 1;
}

static const rlx_prim_func *end_tiles(rlx_resize *r)
{
    rlx_lowering_list at;
    size_t order[RLX_LOW_RANK];
    keep_order(order);
    if (!r->whole) {
        open_arranged(r, r->b->l->name.data, order, &r->sizes, &at);
        store_element(r, r->out->buffer, order, &at, rlx_tir_cast(&r->b->t, r->out->dtype, element_of(r, &at)));
        rlx_tir_end_block(&r->b->t);
    }
    rlx_tir_end_block(&r->b->t);
    return rlx_lowering_end(r->b);
}

const rlx_prim_func *rlx_resize_end(rlx_resize *r)
{
    if (r->tiled)
        return end_tiles(r);
    return r->whole ? rlx_lowering_end(r->b) : has_open(r) ? repeat_open(r) : rlx_lowering_mapped(r->b, r->out, stepped, r);
}
