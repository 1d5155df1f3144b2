/* builtin_boxes.c: boxes of object detection: those that are good enough, and of those that
 * overlap the best one.
 *
 * What is computed of coordinates is rounded after each step to the dtype of the boxes, to
 * float32 for narrower ones: doubles hold sums, products and quotients of two float32 so well
 * that rounding twice is rounding once.
 */
/* built for size */
#include "runtime/runtime_int.h"
#include "format/kernel_math.h"

/* ---- boxes ---------------------------------------------------------------------------------- */

typedef struct box { double low[2], high[2], area, id; int64_t at; } box;

static inline double rounded(bool narrow, double v) { return narrow ? (double)(float)v : v; }

static box box_of(bool narrow, const double *c, bool centered)
{
    box b = { .at = 0 };
    for (int i = 0; i < 2; i++) {
        double p = c[i], q = c[2 + i];
        if (centered) {
            double half = rounded(narrow, q / 2);
            q = rounded(narrow, p + half);
            p = rounded(narrow, p - half);
        }
        b.low[i] = p < q ? p : q;
        b.high[i] = p < q ? q : p;
    }
    b.area = rounded(narrow, rounded(narrow, b.high[0] - b.low[0]) *
                                 rounded(narrow, b.high[1] - b.low[1]));
    return b;
}

/* What two boxes share, as a part of what they cover together; 0 of nothing. */
static double overlap(bool narrow, const box *a, const box *b)
{
    double side[2];
    for (int i = 0; i < 2; i++) {
        double from = a->low[i] > b->low[i] ? a->low[i] : b->low[i],
               to = a->high[i] < b->high[i] ? a->high[i] : b->high[i];
        if (!(to > from))
            return 0;
        side[i] = rounded(narrow, to - from);
    }
    double both = rounded(narrow, side[0] * side[1]);
    double all = rounded(narrow, rounded(narrow, a->area + b->area) - both);
    return all > 0 ? rounded(narrow, both / all) : 0;
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Rows of `count` numbers. */
typedef struct table {
    const DLTensor *x;
    rlx_dtype dtype;
    size_t bytes;
    bool narrow;
} table;

static bool want_table(const relax_value *v, int32_t ndim, const char *who, table *out,
                       rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(v, who, why);
    if (!x)
        return false;
    rlx_dtype t = rlx_dl_dtype(x);
    *out = (table){ x, t, rlx_dtype_bytes(t), rlx_dtype_bits(t) < 64 };
    if (!rlx_dtype_is_float(t))
        return rlx_fail(why, RLX_RT03, "%s: expected floats", who);
    return x->ndim == ndim ||
           rlx_fail(why, RLX_RT04, "%s: expected rank %d, found %d", who, ndim, x->ndim);
}

static double number(const table *t, int64_t at)
{
    return rlx_dtype_load_float(t->dtype, rlx_view_data(t->x) + (size_t)at * t->bytes);
}

static bool want_float(const relax_value *v, const char *who, double *out, rlx_fault *why)
{
    if (v->type_index != RELAX_VALUE_FLOAT)
        return rlx_fail(why, RLX_RT02, "%s: expected a number", who);
    *out = v->v.f;
    return true;
}

/* An int32 tensor of these sizes. */
static const int32_t *want_ints(const relax_value *v, int32_t ndim, const int64_t *dims,
                                const char *who, rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(v, who, why);
    if (!x)
        return NULL;
    bool good = rlx_dl_dtype(x) == RELAX_INT32 && x->ndim == ndim;
    for (int32_t i = 0; good && i < ndim; i++)
        good = x->shape[i] == dims[i];
    if (good)
        return (const int32_t *)(const void *)rlx_view_data(x);
    rlx_fail(why, RLX_RT05, "%s: valid_count and indices are int32, one for each batch and box", who);
    return NULL;
}

/* The only element of a tensor as a number. */
static bool want_single(const relax_value *v, const char *who, double *out, rlx_fault *why)
{
    const DLTensor *x = rlx_want_tensor(v, who, why);
    if (!x)
        return false;
    rlx_dtype t = rlx_dl_dtype(x);
    if (rlx_shape_elements(x->ndim, x->shape) != 1)
        return rlx_fail(why, RLX_RT05, "%s: limits are tensors of one element", who);
    int64_t bits = 0;
    if (rlx_dtype_is_float(t)) {
        *out = rlx_dtype_load_float(t, rlx_view_data(x));
        return true;
    }
    size_t bytes = rlx_dtype_bytes(t), spare = 64 - 8 * bytes;
    memcpy(&bits, rlx_view_data(x), bytes);
    bool is_signed = rlx_dtype_code(t) == RELAX_DTYPE_INT;
    *out = is_signed ? (double)((int64_t)((uint64_t)bits << spare) >> spare) : (double)(uint64_t)bits;
    return true;
}

/* A column of a row of `length` numbers; -1: none. */
static bool want_column(const relax_value *v, int64_t length, int64_t least, int64_t count,
                        const char *who, int64_t *out, rlx_fault *why)
{
    if (!rlx_want_int(v, who, out, why))
        return false;
    *out = *out < 0 && least < 0 ? -1 : *out;
    return (*out >= least && (*out == -1 || *out <= length - count)) ||
           rlx_fail(why, RLX_RT09, "%s: column %lld is out of range for boxes of %lld numbers", who,
                    (long long)*out, (long long)length);
}

static void fill_row(const table *t, rlx_tensor_object *out, int64_t row, int64_t length)
{
    unsigned char *to = (unsigned char *)out->view.data + (size_t)(row * length) * t->bytes;
    for (int64_t k = 0; k < length; k++)
        rlx_dtype_store_float(t->dtype, to + (size_t)k * t->bytes, -1);
}

static void copy_row(const table *t, rlx_tensor_object *out, int64_t to, int64_t from,
                     int64_t length)
{
    size_t bytes = (size_t)length * t->bytes;
    memcpy((unsigned char *)out->view.data + (size_t)to * bytes,
           rlx_view_data(t->x) + (size_t)from * bytes, bytes);
}

/* ---- get_valid_counts ----------------------------------------------------------------------- */

/* (data, score_threshold, id_index, score_index): how many are valid, these first, and where they
 * were; -1 behind them */
bool rlx_builtin_valid_counts(rlx_pool *p, const relax_value *args, int32_t n,
                              relax_value *result, rlx_fault *why)
{
    static const char who[] = "get_valid_counts";
    table t;
    double least;
    int64_t id, score;
    rlx_tensor_object *out[3];
    if (!want_table(&args[0], 3, who, &t, why) || !want_float(&args[1], who, &least, why))
        return false;
    int64_t batch = t.x->shape[0], count = t.x->shape[1], length = t.x->shape[2];
    if (!want_column(&args[2], length, -1, 1, who, &id, why) ||
        !want_column(&args[3], length, 0, 1, who, &score, why))
        return false;
    const int64_t dims[3] = { batch, count, length };
    const rlx_result parts[3] = { { RELAX_INT32, 1, dims }, { t.dtype, 3, dims }, { RELAX_INT32, 2, dims } };
    if (!rlx_results_make(p, parts, 3, out, who, why))
        return false;
    int32_t *counts = out[0]->view.data, *places = out[2]->view.data;
    rlx_builtin_work w = RLX_BUILTIN_WORK(p);
    least = rounded(t.narrow, least);
    for (int64_t b = 0; b < batch; b++) {
        int64_t to = b * count, end = to + count;
        for (int64_t i = 0; i < count && rlx_builtin_goes_on(&w, (size_t)length); i++) {
            int64_t row = b * count + i;
            if (!(number(&t, row * length + score) > least) ||
                (id >= 0 && !(number(&t, row * length + id) >= 0)))
                continue;
            copy_row(&t, out[1], to, row, length);
            places[to++] = (int32_t)i;
        }
        counts[b] = (int32_t)(to - b * count);
        for (; to < end && rlx_builtin_goes_on(&w, (size_t)length); to++) {
            fill_row(&t, out[1], to, length);
            places[to] = -1;
        }
    }
    return rlx_result_finish(&w, p, out, 3, who, result, why);
}

/* ---- boxes in the order of their scores ----------------------------------------------------- */

/* Where the boxes and the scores of one group lie, and which are looked at. */
typedef struct group {
    const table *boxes, *scores;
    int64_t first, stride, coords, id;        /* of the boxes, in numbers; id -1: none */
    int64_t first_score, score_stride, count;
    double above;                             /* scores that are not above it do not count */
    bool any;                                 /* all scores count, NaN too */
    bool centered;
} group;

typedef struct picker {
    rlx_sorter s;
    box *kept;
    size_t bytes;
    int64_t num_kept, ordered;
} picker;

static bool open_picker(picker *k, rlx_pool *p, rlx_dtype scores, int64_t count, const char *who, rlx_fault *why)
{
    *k = (picker){ .kept = NULL };
    if (!rlx_sorter_open(&k->s, p, scores, true, count, 1, who, why))
        return false;
    if (rlx_mul_size((size_t)count + 1, sizeof *k->kept, &k->bytes) &&
        (k->kept = rlx_mem_alloc(k->s.memory, k->bytes)))
        return true;
    rlx_sorter_close(&k->s);
    return rlx_builtin_no_memory(why, who);
}

static void close_picker(picker *k)
{
    rlx_mem_free(k->s.memory, k->kept, k->bytes);
    rlx_sorter_close(&k->s);
}

static double score_of(const group *g, int64_t i)
{
    return number(g->scores, g->first_score + i * g->score_stride);
}

/* Box `i` of the group. */
static box load_box(const group *g, int64_t i)
{
    double c[4];
    int64_t at = g->first + i * g->stride;
    for (int k = 0; k < 4; k++)
        c[k] = number(g->boxes, at + g->coords + k);
    box b = box_of(g->boxes->narrow, c, g->centered);
    b.id = g->id < 0 ? 0 : number(g->boxes, at + g->id);
    b.at = i;
    return b;
}

/* Keys of scores that are above `above` are below it, less 1: with that of NaN, 0, no others are. */
static uint64_t limit_of(rlx_sorter *s, const group *g)
{
    unsigned char bytes[sizeof(double)];
    uint64_t key;
    rlx_dtype_store_float(g->scores->dtype, bytes, g->above);
    double v = rlx_dtype_load_float(g->scores->dtype, bytes);
    rlx_sorter_read(s, bytes, 0, 1, &key, 1);
    return v != v ? (g->above < 0 ? UINT64_MAX : 0) : v > g->above ? key : key - 1;
}

/* Puts the boxes whose scores count in order, the best first, equal ones as they are: positions
 * in k->s.at[0 .. result), if not many are wanted just k->ordered of them so far. */
static int64_t order_boxes(picker *k, const group *g, int64_t most)
{
    rlx_sorter *s = &k->s;
    const table *t = g->scores;
    uint64_t limit = limit_of(s, g);
    int64_t good = 0;
    s->count = (size_t)g->count;
    rlx_sorter_read(s, rlx_view_data(t->x) + (size_t)g->first_score * t->bytes, (size_t)g->score_stride * t->bytes,
                    s->count, s->keys, 1);
    for (int64_t i = 0; i < g->count && !s->work.stopped; i++) {
        bool counts = g->any || s->keys[i] - 1 < limit;
        s->keys[i] = counts ? s->keys[i] : UINT64_MAX;   /* no number has it */
        s->at[good] = i;
        good += counts;
    }
    k->ordered = most < good / 16 ? most + most / 4 + 4 : good;
    if (k->ordered < good)
        rlx_sorter_first(s, (size_t)k->ordered);
    else
        rlx_sorter_order(s, (size_t)good);
    return s->work.stopped ? 0 : good;
}

/* Greedy: the best box stays, and what overlaps it (and has its id) goes. `reaches`: an overlap of
 * exactly `share` is one. At most `most` stay, in k->kept. */
typedef struct rule { double share; bool reaches, by_id; int64_t most; } rule;
static void pick_boxes(picker *k, const group *g, int64_t candidates, const rule *r)
{
    bool narrow = g->boxes->narrow;
    k->num_kept = 0;
    for (int64_t i = 0; i < candidates && k->num_kept < r->most; i++) {
        if (i == k->ordered) { /* few of them have stayed */
            rlx_sorter_sort(&k->s);
            k->ordered = candidates;
        }
        if (k->s.work.stopped)
            return;
        box b = load_box(g, k->s.at[i]);
        bool stays = true;
        for (int64_t j = 0; j < k->num_kept && stays; j++) {
            if (r->by_id && k->kept[j].id != b.id)
                continue;
            double v = overlap(narrow, &k->kept[j], &b);
            stays = !(r->reaches ? v >= r->share : v > r->share);
        }
        if (!rlx_builtin_goes_on(&k->s.work, (size_t)k->num_kept + 1))
            return;
        if (stays)
            k->kept[k->num_kept++] = b;
    }
}

/* ---- non_max_suppression -------------------------------------------------------------------- */

typedef struct suppress {
    table t;
    const int32_t *valid, *indices;
    int64_t most, top, coords, score, id, batch, count, length;
    double share, sigma, least;
    bool force, positions, compact;
} suppress;

/* (data, valid_count, indices, max_output_size, iou_threshold, force_suppress, top_k, coord_start,
 * score_index, id_index, return_indices, invalid_to_bottom, soft_nms_sigma, score_threshold) */
static bool read_suppress(suppress *u, const relax_value *args, const char *who, rlx_fault *why)
{
    int64_t force, positions, compact;
    if (!want_table(&args[0], 3, who, &u->t, why))
        return false;
    u->batch = u->t.x->shape[0];
    u->count = u->t.x->shape[1];
    u->length = u->t.x->shape[2];
    const int64_t dims[2] = { u->batch, u->count };
    if (!(u->valid = want_ints(&args[1], 1, dims, who, why)) && u->batch)
        return false;
    if (!(u->indices = want_ints(&args[2], 2, dims, who, why)) && u->batch && u->count)
        return false;
    if (!rlx_want_int(&args[3], who, &u->most, why) || !want_float(&args[4], who, &u->share, why) ||
        !rlx_want_int(&args[5], who, &force, why) || !rlx_want_int(&args[6], who, &u->top, why) ||
        !want_column(&args[7], u->length, 0, 4, who, &u->coords, why) ||
        !want_column(&args[8], u->length, 0, 1, who, &u->score, why) ||
        !want_column(&args[9], u->length, -1, 1, who, &u->id, why) ||
        !rlx_want_int(&args[10], who, &positions, why) ||
        !rlx_want_int(&args[11], who, &compact, why) ||
        !want_float(&args[12], who, &u->sigma, why) || !want_float(&args[13], who, &u->least, why))
        return false;
    u->force = force != 0;
    u->positions = positions != 0;
    u->compact = compact != 0;
    u->most = u->most > 0 ? u->most : INT64_MAX;
    u->share = rounded(u->t.narrow, u->share);
    return true;
}

static double decayed(bool narrow, double score, double sigma, double v)
{
    double x = rounded(narrow, rounded(narrow, rounded(narrow, -0.5 / sigma) * v) * v);
    return rounded(narrow, score * (narrow ? (double)rlx_exp_f32((float)x) : exp(x)));
}

/* Scores fade by what their boxes share with each that is chosen; the best of what is left is
 * next. Chosen boxes end up in k->kept in the order of choice, their scores in k->s.keys. */
static void pick_fading(picker *k, const group *g, int64_t candidates, const suppress *u)
{
    bool narrow = u->t.narrow;
    double least = rounded(narrow, u->least), *score = (double *)(void *)k->s.keys;
    for (int64_t i = 0; i < candidates; i++)
        k->kept[i] = load_box(g, k->s.at[i]);
    for (int64_t i = 0; i < candidates; i++)
        score[i] = score_of(g, k->kept[i].at);
    k->num_kept = 0;
    for (; k->num_kept < candidates && k->num_kept < u->most; k->num_kept++) {
        int64_t best = -1, first = k->num_kept;
        for (int64_t i = first; i < candidates; i++)
            if (score[i] > (best < 0 ? least : score[best]))
                best = i;
        if (best < 0 || !rlx_builtin_goes_on(&k->s.work, (size_t)(candidates - first)))
            return;
        box b = k->kept[best];
        double s = score[best];
        k->kept[best] = k->kept[first];
        score[best] = score[first];
        k->kept[first] = b;
        score[first] = s;
        for (int64_t i = first + 1; i < candidates; i++) {
            if (!(score[i] > least) || (!u->force && u->id >= 0 && k->kept[i].id != b.id))
                continue;
            double v = overlap(narrow, &b, &k->kept[i]);
            score[i] = v >= u->share ? -INFINITY : decayed(narrow, score[i], u->sigma, v);
        }
    }
}

/* One batch. out: data, positions, how many; each may be missing. */
static void suppress_batch(picker *k, const suppress *u, int64_t b, rlx_tensor_object *const *out)
{
    const table *t = &u->t;
    group g = { .boxes = t, .scores = t, .first = b * u->count * u->length, .stride = u->length,
                .coords = u->coords, .id = u->id, .score_stride = u->length, .any = true };
    rule r = { u->share, true, !u->force && u->id >= 0, u->most };
    int64_t valid = u->valid[b] < 0 ? 0 : u->valid[b], row = b * u->count;
    g.first_score = g.first + u->score;
    g.count = valid < u->count ? valid : u->count;
    int64_t candidates = order_boxes(k, &g, g.count);
    candidates = u->top > 0 && u->top < candidates ? u->top : candidates;
    bool fading = u->sigma > 0;
    if (fading)
        pick_fading(k, &g, candidates, u);
    else {
        while (candidates && !(score_of(&g, k->s.at[candidates - 1]) > 0))
            candidates--;
        pick_boxes(k, &g, candidates, &r);
    }
    if (k->s.work.stopped)
        return;
    for (int64_t i = 0; out[0] && i < u->count; i++)
        fill_row(t, out[0], row + i, u->length);
    for (int64_t i = 0, at = 0; out[0] && i < k->num_kept; i++, at++) {
        /* a box keeps its place in the order of scores unless they are to stand together */
        while (!fading && !u->compact && k->s.at[at] != k->kept[i].at)
            at++;
        copy_row(t, out[0], row + at, row + k->kept[i].at, u->length);
        if (fading)
            rlx_dtype_store_float(t->dtype,
                                  (unsigned char *)out[0]->view.data +
                                      (size_t)((row + at) * u->length + u->score) * t->bytes,
                                  ((const double *)(const void *)k->s.keys)[i]);
    }
    for (int64_t i = 0; out[1] && i < u->count; i++)
        ((int32_t *)out[1]->view.data)[row + i] =
            i < k->num_kept ? u->indices[row + k->kept[i].at] : -1;
    if (out[2])
        ((int32_t *)out[2]->view.data)[b] = (int32_t)k->num_kept;
}

bool rlx_builtin_suppress(rlx_pool *p, const relax_value *args, int32_t n, relax_value *result,
                          rlx_fault *why)
{
    static const char who[] = "non_max_suppression";
    suppress u;
    picker k;
    rlx_tensor_object *out[3];
    if (!read_suppress(&u, args, who, why))
        return false;
    bool data = !u.positions || u.sigma > 0;
    const int64_t dims[3] = { u.batch, u.count, u.length }, counts[2] = { u.batch, 1 };
    int32_t two = u.positions ? 2 : -1;
    const rlx_result parts[3] = { { u.t.dtype, data ? 3 : -1, dims }, { RELAX_INT32, two, dims }, { RELAX_INT32, two, counts } };
    if (!open_picker(&k, p, u.t.dtype, u.count, who, why))
        return false;
    if (!rlx_results_make(p, parts, 3, out, who, why)) {
        close_picker(&k);
        return false;
    }
    for (int64_t b = 0; b < u.batch && !k.s.work.stopped; b++)
        suppress_batch(&k, &u, b, out);
    rlx_builtin_work w = k.s.work;
    close_picker(&k);
    return rlx_result_finish(&w, p, out, 3, who, result, why);
}

/* ---- each class by itself ------------------------------------------------------------------- */

typedef struct classes {
    table boxes, scores;
    rule rule;
    double above;
    int64_t batch, num, count;
    bool any, none, centered;
} classes;

/* (boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold) */
static bool read_classes(classes *c, const relax_value *args, const char *who, rlx_fault *why)
{
    double most, share;
    if (!want_table(&args[0], 3, who, &c->boxes, why) || !want_table(&args[1], 3, who, &c->scores, why))
        return false;
    const int64_t *b = c->boxes.x->shape, *s = c->scores.x->shape;
    c->batch = s[0], c->num = s[1], c->count = s[2];
    if (b[0] != s[0] || b[1] != s[2] || b[2] != 4)
        return rlx_fail(why, RLX_RT05, "%s: boxes of sizes (%lld, %lld, %lld) do not fit scores of sizes (%lld, %lld, %lld)",
                        who, (long long)b[0], (long long)b[1], (long long)b[2], (long long)s[0],
                        (long long)s[1], (long long)s[2]);
    if (!want_single(&args[2], who, &most, why) || !want_single(&args[3], who, &share, why) ||
        !want_single(&args[4], who, &c->above, why))
        return false;
    c->rule = (rule){ .share = rounded(c->boxes.narrow, share) };
    c->rule.most = most >= 9e18 ? INT64_MAX : most > 0 ? (int64_t)most : 0;
    return true;
}

/* The chosen boxes of one class in k->kept; false: stopped. */
static bool pick_class(picker *k, const classes *c, int64_t b, int64_t i)
{
    group g = { .boxes = &c->boxes, .scores = &c->scores, .first = b * c->count * 4, .stride = 4,
                .id = -1, .first_score = (b * c->num + i) * c->count, .score_stride = 1,
                .count = c->count, .above = c->above, .any = c->any, .centered = c->centered };
    k->num_kept = 0;
    if (c->rule.most && !c->none)
        pick_boxes(k, &g, order_boxes(k, &g, c->rule.most), &c->rule);
    return !k->s.work.stopped;
}

/* Rows of (batch, class, box) from `at` on, for the boxes in k->kept. */
static void write_rows(const picker *k, int64_t b, int64_t i, int64_t *at)
{
    for (int64_t j = 0; j < k->num_kept; j++, at += 3) {
        at[0] = b;
        at[1] = i;
        at[2] = k->kept[j].at;
    }
}

/* How many rows are used stands behind them; the others are 0. */
static void fill_onnx(picker *k, const classes *c, rlx_tensor_object *const *out)
{
    int64_t *rows = out[0]->view.data, total = 0, most = c->batch * c->num * c->count;
    for (int64_t b = 0; b < c->batch; b++)
        for (int64_t i = 0; i < c->num; i++) {
            if (!pick_class(k, c, b, i))
                return;
            write_rows(k, b, i, rows + 3 * total);
            total += k->num_kept;
        }
    if (total < most)
        memset(rows + 3 * total, 0, (size_t)(most - total) * 3 * sizeof *rows);
    *(int64_t *)out[1]->view.data = total;
}

/* For each batch pairs of (class, box), their scores, and how many there are; the others are 0. */
static void fill_tensorflow(picker *k, const classes *c, rlx_tensor_object *const *out)
{
    int64_t most = c->num * c->count;
    const table *t = &c->scores;
    for (int64_t b = 0; b < c->batch; b++) {
        int64_t *pairs = (int64_t *)out[0]->view.data + 2 * b * most, total = 0;
        unsigned char *scores = (unsigned char *)out[1]->view.data + (size_t)(b * most) * c->boxes.bytes;
        for (int64_t i = 0; i < c->num; i++) {
            if (!pick_class(k, c, b, i))
                return;
            for (int64_t j = 0; j < k->num_kept; j++, total++) {
                pairs[2 * total] = i;
                pairs[2 * total + 1] = k->kept[j].at;
                rlx_dtype_store_float(c->boxes.dtype, scores + (size_t)total * c->boxes.bytes,
                                      number(t, (b * c->num + i) * c->count + k->kept[j].at));
            }
        }
        if (total < most) {
            memset(pairs + 2 * total, 0, (size_t)(most - total) * 2 * sizeof *pairs);
            memset(scores + (size_t)total * c->boxes.bytes, 0, (size_t)(most - total) * c->boxes.bytes);
        }
        ((int64_t *)out[2]->view.data)[b] = total;
    }
}

/* ..., output_format: as TVM's operator, whose results have all rows that there could be */
bool rlx_builtin_suppress_classes(rlx_pool *p, const relax_value *args, int32_t n,
                                  relax_value *result, rlx_fault *why)
{
    static const char who[] = "all_class_non_max_suppression";
    const rlx_string_object *format =
        args[5].type_index == RELAX_VALUE_STRING ? args[5].v.p : NULL;
    classes c = { .any = false };
    picker k;
    rlx_tensor_object *out[3];
    int64_t rows, pairs;
    if (!read_classes(&c, args, who, why))
        return false;
    bool onnx = format && rlx_slice_is((rlx_slice){ format->data, format->size }, "onnx");
    c.rule.reaches = true;
    c.none = !(c.rule.share > 0);
    if (!rlx_mul_i64(c.num, c.count, &pairs) || !rlx_mul_i64(pairs, c.batch, &rows))
        return rlx_builtin_no_memory(why, who);
    const int64_t onnx_rows[2] = { rows, 3 }, one = 1, pair_rows[3] = { c.batch, pairs, 2 };
    const rlx_result all[2][3] = {
        { { RELAX_INT64, 2, onnx_rows }, { RELAX_INT64, 1, &one }, { .ndim = -1 } },
        { { RELAX_INT64, 3, pair_rows }, { c.boxes.dtype, 2, pair_rows }, { RELAX_INT64, 1, pair_rows } }
    };
    if (!open_picker(&k, p, c.scores.dtype, c.count, who, why))
        return false;
    if (!rlx_results_make(p, all[!onnx], 3, out, who, why)) {
        close_picker(&k);
        return false;
    }
    (onnx ? fill_onnx : fill_tensorflow)(&k, &c, out);
    rlx_builtin_work w = k.s.work;
    close_picker(&k);
    return rlx_result_finish(&w, p, out, 3, who, result, why);
}

/* ..., center_point_box: as ONNX's operator, with as many rows as boxes are chosen. They are kept
 * in a list that grows until their number is known. */
bool rlx_builtin_suppress_dynamic(rlx_pool *p, const relax_value *args, int32_t n,
                                  relax_value *result, rlx_fault *why)
{
    static const char who[] = "dynamic_non_max_suppression";
    classes c = { .any = false };
    int64_t centered;
    picker k;
    if (!read_classes(&c, args, who, why) || !rlx_want_int(&args[5], who, &centered, why))
        return false;
    c.centered = centered != 0;
    c.any = c.above == -INFINITY;
    if (!open_picker(&k, p, c.scores.dtype, c.count, who, why))
        return false;
    rlx_memory *memory = k.s.memory;
    RLX_VEC(int64_t) rows = { 0 };
    bool good = true;
    for (int64_t b = 0; b < c.batch && good && !k.s.work.stopped; b++)
        for (int64_t i = 0; i < c.num && good && pick_class(&k, &c, b, i); i++) {
            size_t more = 3 * (size_t)k.num_kept;
            good = rlx_vec_reserve(memory, &rows, rows.len + more);
            if (good && more)
                write_rows(&k, b, i, rows.data + rows.len);
            rows.len += good ? more : 0;
        }
    rlx_builtin_work w = k.s.work;
    close_picker(&k);
    int64_t dims[2] = { (int64_t)rows.len / 3, 3 };
    rlx_tensor_object *out = NULL;
    if (good && !w.stopped)
        good = (out = rlx_result_tensor(p, RELAX_INT64, 2, dims, who, why)) != NULL;
    else if (!good)
        rlx_builtin_no_memory(why, who);
    if (out && rows.len)
        memcpy(out->view.data, rows.data, rows.len * sizeof *rows.data);
    rlx_vec_free(memory, &rows);
    return good && rlx_result_finish(&w, p, &out, 1, who, result, why);
}
