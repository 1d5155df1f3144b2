/* builtin_order.c: builtins whose result has no loop nest: sorting, distinct elements,
 * positions, slices by run-time bounds. All that sorts does so by the keys of builtin_sort.c.
 */
/* built for size */
#include "runtime/runtime_int.h"
#include <math.h>

bool rlx_builtin_ask(rlx_builtin_work *w)
{
    w->stopped = w->stopped || (w->pool->poll && w->pool->poll(w->pool->poll_user));
    w->fuel = w->stopped ? 0 : RLX_BUILTIN_FUEL;
    return !w->stopped;
}

bool rlx_builtin_stopped(const char *who, rlx_fault *why)
{
    return rlx_fail(why, RLX_RT12, "%s was stopped", who);
}

bool rlx_builtin_no_memory(rlx_fault *why, const char *who)
{
    return rlx_fail(why, RLX_RT10, "out of memory for %s", who);
}

/* ---- sorters, elements ---------------------------------------------------------------------- */

rlx_key_kind rlx_key_kind_of(rlx_dtype t)
{
    rlx_key_kind k = { .bytes = rlx_dtype_bytes(t), .lead = 64 - 8 * (unsigned)rlx_dtype_bytes(t) };
    if (rlx_dtype_is_float(t)) {
        /* without infinities NaN is what they become */
        uint64_t bits = 0;
        rlx_dtype_store_float(t, &bits, INFINITY);
        double v = rlx_dtype_load_float(t, &bits);
        k.greatest = (bits - (v != v)) << k.lead;
    }
    k.zero = k.greatest || (rlx_dtype_code(t) == RELAX_DTYPE_INT && !rlx_dtype_is_bool(t)) ? (uint64_t)1 << 63 : 0;
    return k;
}

bool rlx_sorter_open(rlx_sorter *s, rlx_pool *p, rlx_dtype t, bool descending, int64_t count, int64_t width,
                     const char *who, rlx_fault *why)
{
    size_t keys, cells;
    *s = (rlx_sorter){ .memory = &p->memory->memory,
                       .work = RLX_BUILTIN_WORK(p),
                       .count = (size_t)count,
                       .width = (size_t)width,
                       .kind = rlx_key_kind_of(t) };
    s->kind.inverted = descending ? UINT64_MAX << s->kind.lead : 0;
    while (s->count >> s->place)
        s->place++;
    if (rlx_mul_size(s->count + RLX_SORTER_GAP, s->width, &keys) &&
        rlx_add_size(keys, 2 * (s->count + 1), &cells) &&
        rlx_mul_size(cells, sizeof *s->keys, &s->bytes))
        s->keys = s->block = rlx_mem_alloc(s->memory, s->bytes);
    if (!s->keys)
        return rlx_builtin_no_memory(why, who);
    s->at = (int64_t *)(s->keys + keys);
    s->spare = s->at + s->count + 1;
    return true;
}

void rlx_sorter_close(rlx_sorter *s)
{
    rlx_mem_free(s->memory, s->block, s->block ? s->bytes : 0);
}

enum { MOST_MOVED = 1024 }; /* at a time */

/* n elements of 1, 2, 4 or 8 bytes to places `to_step` bytes apart, from those of positions that are
 * `step` bytes apart: at[0], at[1] ..., or 0, 1 ... (at NULL). Ends early once stopped. */
static void move_elements(rlx_builtin_work *w, unsigned char *to, size_t to_step, const void *from, int64_t step,
                       const int64_t *at, size_t n, size_t bytes)
{
    for (size_t i = 0, end; i < n && rlx_builtin_goes_on(w, n - i < MOST_MOVED ? n - i : MOST_MOVED); i = end) {
        end = n - i < MOST_MOVED ? n : i + MOST_MOVED;
        for (size_t k = i; k < end; k++) {
            const unsigned char *element = (const unsigned char *)from + (at ? at[k] : (int64_t)k) * step;
            unsigned char *place = to + k * to_step;
            if (bytes == 4)
                memcpy(place, element, 4);
            else if (bytes == 8)
                memcpy(place, element, 8);
            else if (bytes == 2)
                memcpy(place, element, 2);
            else
                *place = *element;
        }
    }
}

/* ---- arguments ------------------------------------------------------------------------------ */

const DLTensor *rlx_want_tensor(const relax_value *v, const char *who, rlx_fault *why)
{
    const DLTensor *t = rlx_value_view(v);
    if (!t)
        rlx_fail(why, RLX_RT02, "%s: expected a tensor", who);
    else if (rlx_dl_dtype(t) == RELAX_VOID || !rlx_dtype_is_computable(rlx_dl_dtype(t)))
        rlx_fail(why, RLX_RT03, "%s: elements of this dtype have no order", who);
    else
        return t;
    return NULL;
}

bool rlx_want_int(const relax_value *v, const char *who, int64_t *out, rlx_fault *why)
{
    if (v->type_index != RELAX_VALUE_INT && v->type_index != RELAX_VALUE_BOOL)
        return rlx_fail(why, RLX_RT02, "%s: expected an integer", who);
    *out = v->v.i;
    return true;
}

static bool want_axis(const relax_value *v, const DLTensor *t, const char *who, int64_t *out,
                      rlx_fault *why)
{
    if (!rlx_want_int(v, who, out, why))
        return false;
    *out += *out < 0 ? t->ndim : 0;
    return (*out >= 0 && *out < t->ndim) ||
           rlx_fail(why, RLX_RT09, "%s: the axis is out of range for rank %d", who, t->ndim);
}

static bool want_index_dtype(const relax_value *v, const char *who, rlx_dtype *out, rlx_fault *why)
{
    DLTensor t = { .ndim = 0 };
    if (v->type_index != RELAX_VALUE_DTYPE)
        return rlx_fail(why, RLX_RT02, "%s: expected a dtype", who);
    memcpy(&t.dtype, v->v.bytes, sizeof t.dtype);
    *out = rlx_dl_dtype(&t);
    return rlx_dtype_is_computable(*out) && !rlx_dtype_is_bool(*out)
               ? true
               : rlx_fail(why, RLX_RT03, "%s: positions cannot have this dtype", who);
}

rlx_tensor_object *rlx_result_tensor(rlx_pool *p, rlx_dtype t, int32_t ndim, const int64_t *dims,
                                     const char *who, rlx_fault *why)
{
    size_t bytes;
    if (!rlx_shape_bytes(t, ndim, dims, &bytes, why))
        return NULL;
    rlx_tensor_object *made = rlx_tensor_make(p, t, ndim, dims);
    if (!made)
        rlx_builtin_no_memory(why, who);
    return made;
}

void rlx_result_drop(rlx_pool *p, rlx_tensor_object *t)
{
    relax_value v = rlx_value_object(RELAX_VALUE_TENSOR, t);
    if (t)
        rlx_pool_drop(p, &v);
}

bool rlx_results_make(rlx_pool *p, const rlx_result *w, size_t n, rlx_tensor_object **parts, const char *who,
                      rlx_fault *why)
{
    size_t i = 0;
    for (; i < n; i++) {
        parts[i] = w[i].ndim < 0 ? NULL : rlx_result_tensor(p, w[i].dtype, w[i].ndim, w[i].dims, who, why);
        if (!parts[i] && w[i].ndim >= 0)
            break;
    }
    bool good = i == n;
    while (!good && i-- > 0)
        rlx_result_drop(p, parts[i]);
    return good;
}

/* Takes over the tensors (NULL: not asked for): one alone, several as a tuple. */
bool rlx_result_give(rlx_pool *p, rlx_tensor_object *const *parts, size_t n, relax_value *result,
                 rlx_fault *why)
{
    size_t count = 0, at = 0;
    const rlx_tensor_object *only = NULL;
    for (size_t i = 0; i < n; i++)
        if (parts[i]) {
            count++;
            only = parts[i];
        }
    if (count == 1) {
        *result = rlx_value_object(RELAX_VALUE_TENSOR, (void *)only);
        return true;
    }
    rlx_tuple_object *t = rlx_tuple_make(p, count);
    for (size_t i = 0; i < n; i++) {
        if (t && parts[i])
            t->fields[at++] = rlx_value_object(RELAX_VALUE_TENSOR, parts[i]);
        else
            rlx_result_drop(p, parts[i]);
    }
    if (!t)
        return rlx_builtin_no_memory(why, "a tuple");
    *result = rlx_value_object(RELAX_VALUE_OBJECT, t);
    return true;
}

bool rlx_result_finish(const rlx_builtin_work *w, rlx_pool *p, rlx_tensor_object *const *parts, size_t n,
                       const char *who, relax_value *result, rlx_fault *why)
{
    if (!w->stopped)
        return rlx_result_give(p, parts, n, result, why);
    for (size_t i = 0; i < n; i++)
        rlx_result_drop(p, parts[i]);
    return rlx_builtin_stopped(who, why);
}

/* ---- sort, argsort, topk -------------------------------------------------------------------- */

enum {
    SIDE_BY_SIDE = 16,  /* lines that are read together */
    MOST_KEYS = 1 << 16 /* for that */
};

/* Lines of elements along an axis: `outer` times `inner` of them, elements of one are `inner`
 * apart. */
typedef struct lines {
    const DLTensor *x;
    rlx_dtype dtype;
    size_t bytes;
    int64_t axis, count, outer, inner;
} lines;

static lines lines_of(const DLTensor *x, int64_t axis)
{
    lines l = { x, rlx_dl_dtype(x), rlx_dtype_bytes(rlx_dl_dtype(x)), axis, 1, 1, 1 };
    for (int32_t i = 0; i < x->ndim; i++)
        *(i < axis ? &l.outer : i == axis ? &l.count : &l.inner) *= x->shape[i];
    return l;
}

static const unsigned char *element(const lines *l, int64_t o, int64_t k, int64_t i)
{
    return rlx_view_data(l->x) + (size_t)((o * l->count + k) * l->inner + i) * l->bytes;
}

typedef struct order {
    bool descending;
    int64_t taken;
    rlx_tensor_object *part[2];      /* values, positions; NULL: not asked for */
    rlx_dtype dtype;
} order;

/* Writes what is first of a line. */
static void give_line(rlx_sorter *s, const lines *l, const order *r, int64_t o, int64_t i)
{
    size_t first = (size_t)(o * r->taken * l->inner + i), step = (size_t)l->inner, n = (size_t)r->taken,
           bytes = rlx_dtype_bytes(r->dtype);
    if (r->part[0])
        move_elements(&s->work, (unsigned char *)r->part[0]->view.data + first * l->bytes, step * l->bytes,
                          element(l, o, 0, i), (int64_t)(step * l->bytes), s->at, n, l->bytes);
    unsigned char *to = r->part[1] ? (unsigned char *)r->part[1]->view.data + first * bytes : NULL;
    if (to && !rlx_dtype_is_float(r->dtype))
        move_elements(&s->work, to, step * bytes, s->at, sizeof *s->at, NULL, n, bytes);
    else if (to)
        for (size_t k = 0; k < n && rlx_builtin_goes_on(&s->work, 1); k++)
            rlx_dtype_store_float(r->dtype, to + k * step * bytes, (double)s->at[k]);
}

/* Lines that are next to each other from i on, at most `width`: memory is read in its order. */
static void sort_side_by_side(rlx_sorter *s, const lines *l, const order *r, int64_t o, int64_t i, int64_t width)
{
    uint64_t *keys = s->keys;
    size_t step = s->count + RLX_SORTER_GAP, num = (size_t)(l->inner - i < width ? l->inner - i : width);
    if (num == 1)
        rlx_sorter_read(s, element(l, o, 0, i), (size_t)l->inner * l->bytes, s->count, keys, 1);
    else
        for (int64_t k = 0; k < l->count; k++)
            rlx_sorter_read(s, element(l, o, k, i), l->bytes, num, keys + k, step);
    for (size_t j = 0; j < num && !s->work.stopped; j++, s->keys += step) {
        if (r->taken < l->count / 8)
            rlx_sorter_first(s, (size_t)r->taken);
        else
            rlx_sorter_sort(s);
        give_line(s, l, r, o, i + (int64_t)j);
    }
    s->keys = keys;
}

static bool sort_lines(rlx_pool *p, const DLTensor *x, int64_t axis, order *r, bool values,
                       bool positions, const char *who, relax_value *result, rlx_fault *why)
{
    lines l = lines_of(x, axis);
    int64_t dims[RLX_MAX_RANK], width = l.inner < SIDE_BY_SIDE ? l.inner : SIDE_BY_SIDE;
    rlx_sorter s;
    if (x->ndim)
        memcpy(dims, x->shape, (size_t)x->ndim * sizeof *dims);
    while (width > 1 && width * l.count > MOST_KEYS)
        width /= 2;
    r->taken = r->taken < 1 || r->taken > l.count ? l.count : r->taken;
    if (x->ndim)
        dims[axis] = r->taken;
    const rlx_result wanted[2] = { { l.dtype, values ? x->ndim : -1, dims }, { r->dtype, positions ? x->ndim : -1, dims } };
    if (!rlx_sorter_open(&s, p, l.dtype, r->descending, l.count, width, who, why))
        return false;
    if (!rlx_results_make(p, wanted, 2, r->part, who, why)) {
        rlx_sorter_close(&s);
        return false;
    }
    s.width = 1;
    for (int64_t o = 0; o < l.outer && l.count; o++)
        for (int64_t i = 0; i < l.inner && !s.work.stopped; i += width)
            sort_side_by_side(&s, &l, r, o, i, width);
    rlx_sorter_close(&s);
    return rlx_result_finish(&s.work, p, r->part, 2, who, result, why);
}

bool rlx_builtin_sort(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                      rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(&args[0], "sort", why);
    int64_t axis, descending = 0;
    if (!x || !want_axis(&args[1], x, "sort", &axis, why) ||
        !rlx_want_int(&args[2], "sort", &descending, why))
        return false;
    order r = { .descending = descending != 0 };
    return sort_lines(p, x, axis, &r, true, false, "sort", result, why);
}

bool rlx_builtin_argsort(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(&args[0], "argsort", why);
    int64_t axis, descending = 0;
    order r = { .taken = 0 };
    if (!x || !want_axis(&args[1], x, "argsort", &axis, why) ||
        !rlx_want_int(&args[2], "argsort", &descending, why) ||
        !want_index_dtype(&args[3], "argsort", &r.dtype, why))
        return false;
    r.descending = descending != 0;
    return sort_lines(p, x, axis, &r, false, true, "argsort", result, why);
}

/* (tensor, k, axis, ret_type, largest, dtype) */
bool rlx_builtin_topk(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                      rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(&args[0], "topk", why);
    const rlx_string_object *what = args[3].type_index == RELAX_VALUE_STRING ? args[3].v.p : NULL;
    int64_t axis, largest = 0;
    order r = { .taken = 0 };
    if (!x || !rlx_want_int(&args[1], "topk", &r.taken, why) ||
        !want_axis(&args[2], x, "topk", &axis, why) ||
        !rlx_want_int(&args[4], "topk", &largest, why) ||
        !want_index_dtype(&args[5], "topk", &r.dtype, why))
        return false;
    rlx_slice type = what ? (rlx_slice){ what->data, what->size } : (rlx_slice){ 0 };
    bool values = rlx_slice_is(type, "values"), positions = rlx_slice_is(type, "indices"),
         both = rlx_slice_is(type, "both");
    r.descending = largest != 0;
    if (!values && !positions && !both)
        return rlx_fail(why, RLX_RT02, "topk: ret_type is none of both, values and indices");
    return sort_lines(p, x, axis, &r, values || both, positions || both, "topk", result, why);
}

/* ---- median --------------------------------------------------------------------------------- */

/* Axes that are reduced are `inside`, of the others is the result. */
typedef struct halves {
    const DLTensor *x;
    bool inside[RLX_MAX_RANK];
    int64_t step[RLX_MAX_RANK], count, outer;
} halves;

/* axes: a shape, an empty one for all. */
static bool read_halves(halves *h, const relax_value *axes, const char *who, rlx_fault *why)
{
    const rlx_shape_object *s = rlx_value_shape(axes);
    if (!s)
        return rlx_fail(why, RLX_RT02, "%s: expected a list of axes", who);
    for (int32_t i = h->x->ndim; i-- > 0;)
        h->step[i] = i + 1 < h->x->ndim ? h->step[i + 1] * h->x->shape[i + 1] : 1;
    for (size_t i = 0; i < s->ndim; i++) {
        int64_t axis = s->dims[i] < 0 ? s->dims[i] + h->x->ndim : s->dims[i];
        if (axis < 0 || axis >= h->x->ndim)
            return rlx_fail(why, RLX_RT09, "%s: the axis is out of range for rank %d", who,
                            h->x->ndim);
        h->inside[axis] = true;
    }
    h->count = h->outer = 1;
    for (int32_t i = 0; i < h->x->ndim; i++) {
        h->inside[i] = h->inside[i] || !s->ndim;
        *(h->inside[i] ? &h->count : &h->outer) *= h->x->shape[i];
    }
    return true;
}

/* Of the k-th element in the axes that are (not) inside. */
static int64_t half_offset(const halves *h, bool inside, int64_t k)
{
    int64_t at = 0;
    for (int32_t i = h->x->ndim; i-- > 0;)
        if (h->inside[i] == inside) {
            at += k % h->x->shape[i] * h->step[i];
            k /= h->x->shape[i];
        }
    return at;
}

/* (tensor, axes, keepdims): the element in the middle, the lower one of two, and along one axis
 * its position */
bool rlx_builtin_median(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                        rlx_fault *why)
{
    static const char who[] = "median";
    halves h = { .x = rlx_want_tensor(&args[0], who, why) };
    int64_t keep = 0, dims[RLX_MAX_RANK], run = 1;
    int32_t ndim = 0, inner = 0;
    rlx_sorter s;
    if (!h.x || !read_halves(&h, &args[1], who, why) || !rlx_want_int(&args[2], who, &keep, why))
        return false;
    rlx_dtype t = rlx_dl_dtype(h.x);
    size_t bytes = rlx_dtype_bytes(t);
    bool one = ((const rlx_shape_object *)args[1].v.p)->ndim == 1;
    for (int32_t i = 0; i < h.x->ndim; i++) {
        if (!h.inside[i] || keep)
            dims[ndim++] = h.inside[i] ? 1 : h.x->shape[i];
        if (h.inside[i])
            inner = i, run = h.x->shape[i];
    }
    if (!h.count && h.outer)
        return rlx_fail(why, RLX_RT14, "%s of no elements", who);
    if (!rlx_sorter_open(&s, p, t, false, h.count, 1, who, why))
        return false;
    const rlx_result wanted[2] = { { t, ndim, dims }, { RELAX_INT64, one ? ndim : -1, dims } };
    rlx_tensor_object *out[2];
    bool good = rlx_results_make(p, wanted, 2, out, who, why);
    for (int64_t o = 0; good && o < h.outer && !s.work.stopped; o++) {
        const unsigned char *from = rlx_view_data(h.x) + (size_t)half_offset(&h, false, o) * bytes;
        for (int64_t k = 0; k < h.count; k += run) /* the innermost of the axes */
            rlx_sorter_read(&s, from + (size_t)half_offset(&h, true, k) * bytes, (size_t)h.step[inner] * bytes,
                            (size_t)run, s.keys + k, 1);
        rlx_sorter_sort(&s);
        if (s.work.stopped)
            break;
        int64_t middle = s.at[(h.count - 1) / 2];
        memcpy((unsigned char *)out[0]->view.data + (size_t)o * bytes,
               from + (size_t)half_offset(&h, true, middle) * bytes, bytes);
        if (out[1])
            ((int64_t *)out[1]->view.data)[o] = middle;
    }
    rlx_sorter_close(&s);
    return good && rlx_result_finish(&s.work, p, out, 2, who, result, why);
}

/* ---- unique --------------------------------------------------------------------------------- */

static void fill_unique(rlx_sorter *s, const lines *l, int64_t groups, rlx_tensor_object *const *out)
{
    for (int64_t g = 0; g < groups && rlx_builtin_goes_on(&s->work, s->width); g++) {
        int64_t begin = s->spare[g], end = g + 1 < groups ? s->spare[g + 1] : (int64_t)s->count;
        s->spare[g] = s->at[begin];
        if (out[1])
            ((int64_t *)out[1]->view.data)[g] = s->at[begin];
        for (int64_t k = begin; out[2] && k < end && rlx_builtin_goes_on(&s->work, 1); k++)
            ((int64_t *)out[2]->view.data)[s->at[k]] = g;
        if (out[3])
            ((int64_t *)out[3]->view.data)[g] = end - begin;
    }
    size_t step = (size_t)l->inner * l->bytes;
    for (int64_t o = 0; o < l->outer; o++)
        for (int64_t i = 0; i < l->inner && !s->work.stopped; i++)
            move_elements(&s->work, (unsigned char *)out[0]->view.data + (size_t)(o * groups * l->inner + i) * l->bytes,
                              step, element(l, o, 0, i), (int64_t)step, s->spare, (size_t)groups, l->bytes);
}

/* (tensor, sorted, index, inverse, counts, axis): without an axis the elements in row-major
 * order */
bool rlx_builtin_unique(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                        rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(&args[0], "unique", why);
    int64_t flag[3], axis = 0, dims[RLX_MAX_RANK], groups, all = 1;
    rlx_sorter s;
    bool has_axis = n > 5 && args[5].type_index == RELAX_VALUE_INT;
    if (!x || (has_axis && !want_axis(&args[5], x, "unique", &axis, why)))
        return false;
    for (int i = 0; i < 3; i++)
        if (!rlx_want_int(&args[2 + i], "unique", &flag[i], why))
            return false;
    for (int32_t i = 0; i < x->ndim; i++)
        all *= x->shape[i];
    lines l = lines_of(x, axis);
    if (!has_axis)
        l.count = all, l.outer = l.inner = 1;
    if (!rlx_sorter_open(&s, p, l.dtype, false, l.count, l.outer * l.inner, "unique", why))
        return false;
    if (s.width == 1)
        rlx_sorter_read(&s, element(&l, 0, 0, 0), l.bytes, s.count, s.keys, 1);
    else
        for (int64_t k = 0; k < l.count && !s.work.stopped; k++)
            for (int64_t o = 0; o < l.outer; o++)
                rlx_sorter_read(&s, element(&l, o, k, 0), l.bytes, (size_t)l.inner,
                                s.keys + (size_t)k * s.width + (size_t)(o * l.inner), 1);
    groups = rlx_sorter_sort(&s);
    int32_t ndim = has_axis ? x->ndim : 1;
    if (has_axis)
        memcpy(dims, x->shape, (size_t)ndim * sizeof *dims);
    dims[has_axis ? axis : 0] = groups;
    const rlx_result wanted[4] = { { l.dtype, ndim, dims },
                                   { RELAX_INT64, flag[0] ? 1 : -1, &groups },
                                   { RELAX_INT64, flag[1] ? 1 : -1, &l.count },
                                   { RELAX_INT64, flag[2] ? 1 : -1, &groups } };
    rlx_tensor_object *out[4];
    bool good = rlx_results_make(p, wanted, 4, out, "unique", why);
    if (good)
        fill_unique(&s, &l, groups, out);
    rlx_sorter_close(&s);
    return good && rlx_result_finish(&s.work, p, out, 4, "unique", result, why);
}

/* ---- nonzero, dynamic_strided_slice --------------------------------------------------------- */

/* Columns of positions, to `to` if it is given; how many there are. */
static int64_t scan_nonzero(rlx_sorter *s, const DLTensor *x, int64_t *to, int64_t count)
{
    enum { PART = 512 };
    uint64_t keys[PART];
    int32_t last = x->ndim - 1;
    int64_t all = rlx_shape_elements(x->ndim, x->shape), row = last < 0 ? 1 : x->shape[last], begin = 0, at = 0,
            index[RLX_MAX_RANK] = { 0 };                 /* of the row that begins there */
    for (int64_t i = 0; i < all && !s->work.stopped; i += PART) {
        size_t n = (size_t)(all - i < PART ? all - i : PART), found = 0;
        rlx_sorter_read(s, rlx_view_data(x) + (size_t)i * s->kind.bytes, s->kind.bytes, n, keys, 1);
        for (size_t k = 0; k < n; k++) { /* which of them, in their place */
            bool is_zero = keys[k] == s->kind.zero;
            keys[found] = k;
            found += !is_zero;
        }
        for (size_t k = 0; to && last >= 0 && k < found; k++, at++) {
            int64_t here = i + (int64_t)keys[k];
            for (; here - begin >= row; begin += row)
                for (int32_t d = last; d-- > 0 && ++index[d] == x->shape[d];)
                    index[d] = 0;
            for (int32_t d = 0; d < last; d++)
                to[d * count + at] = index[d];
            to[last * count + at] = here - begin;
        }
        at += to ? 0 : (int64_t)found;
    }
    return at;
}

bool rlx_builtin_nonzero(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                         rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(&args[0], "nonzero", why);
    if (!x)
        return false;
    rlx_sorter s = { .work = RLX_BUILTIN_WORK(p), .kind = rlx_key_kind_of(rlx_dl_dtype(x)) };
    int64_t count = scan_nonzero(&s, x, NULL, 0), dims[2] = { x->ndim, count };
    rlx_tensor_object *out = rlx_result_tensor(p, RELAX_INT64, 2, dims, "nonzero", why);
    if (out)
        scan_nonzero(&s, x, out->view.data, count);
    return out && rlx_result_finish(&s.work, p, &out, 1, "nonzero", result, why);
}

/* Bounds of one axis by Python's rule; how many elements. */
static int64_t slice_bounds(int64_t size, int64_t *begin, int64_t end, int64_t stride)
{
    int64_t low = stride > 0 ? 0 : -1, high = size + low;
    int64_t b = *begin < 0 ? *begin + size : *begin, e = end < 0 ? end + size : end;
    b = b < low ? low : b > high ? high : b;
    e = e < low ? low : e > high ? high : e;
    *begin = b;
    if (stride > 0 ? e <= b : e >= b)
        return 0;
    uint64_t span = stride > 0 ? (uint64_t)(e - b) : (uint64_t)(b - e),
             step = stride > 0 ? (uint64_t)stride : (uint64_t)0 - (uint64_t)stride;
    return (int64_t)((span - 1) / step + 1);
}

static void copy_slice(rlx_builtin_work *w, const DLTensor *x, const int64_t *begin, const int64_t *stride,
                       const rlx_tensor_object *out, size_t bytes)
{
    int32_t last = x->ndim - 1;
    int64_t index[RLX_MAX_RANK] = { 0 }, total = rlx_shape_elements(out->view.ndim, out->view.shape),
            row = last < 0 ? 1 : out->view.shape[last], step = row > 1 ? stride[last] : 1;
    unsigned char *to = out->view.data;
    for (int64_t k = 0; k < total && rlx_builtin_goes_on(w, (size_t)row); k += row) {
        int64_t from = 0;
        for (int32_t d = 0; d <= last; d++)
            from = from * x->shape[d] + begin[d] + index[d] * stride[d];
        const unsigned char *first = rlx_view_data(x) + (size_t)from * bytes;
        size_t run = (size_t)row * bytes;
        if (step == 1)
            memcpy(to, first, run);
        else
            move_elements(w, to, bytes, first, step * (int64_t)bytes, NULL, (size_t)row, bytes);
        to += run;
        for (int32_t d = last; d-- > 0 && ++index[d] == out->view.shape[d];)
            index[d] = 0;
    }
}

bool rlx_builtin_dynamic_slice(rlx_pool *p, const relax_value *args, int32_t n,
                               relax_value *result, rlx_fault *why)
{
    static const char who[] = "dynamic_strided_slice";
    const DLTensor *x = rlx_want_tensor(&args[0], who, why), *bounds[3];
    int64_t begin[RLX_MAX_RANK], stride[RLX_MAX_RANK], dims[RLX_MAX_RANK];
    if (!x)
        return false;
    for (int i = 0; i < 3; i++) {
        if (!(bounds[i] = rlx_want_tensor(&args[1 + i], who, why)))
            return false;
        if (bounds[i]->ndim != 1 || bounds[i]->shape[0] != x->ndim ||
            rlx_dl_dtype(bounds[i]) != RELAX_INT64)
            return rlx_fail(why, RLX_RT05, "%s: bounds need one int64 for each of %d axes", who,
                            x->ndim);
    }
    for (int32_t d = 0; d < x->ndim; d++) {
        int64_t end;
        memcpy(&begin[d], rlx_view_data(bounds[0]) + (size_t)d * 8, 8);
        memcpy(&end, rlx_view_data(bounds[1]) + (size_t)d * 8, 8);
        memcpy(&stride[d], rlx_view_data(bounds[2]) + (size_t)d * 8, 8);
        if (stride[d] == 0)
            return rlx_fail(why, RLX_RT14, "%s: stride 0", who);
        dims[d] = slice_bounds(x->shape[d], &begin[d], end, stride[d]);
    }
    rlx_tensor_object *out = rlx_result_tensor(p, rlx_dl_dtype(x), x->ndim, dims, who, why);
    rlx_builtin_work w = RLX_BUILTIN_WORK(p);
    if (out)
        copy_slice(&w, x, begin, stride, out, rlx_dtype_bytes(rlx_dl_dtype(x)));
    return out && rlx_result_finish(&w, p, &out, 1, who, result, why);
}
