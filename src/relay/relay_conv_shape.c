/* relay_conv_shape.c: other shapes and orders of elements, what makes tensors, shapes as values. */
#include "relay/relay_convert.h"

#define CONVERTER(name) const rlx_expr *rlx_relay_convert_##name(rlx_relay_conv *c)

enum { MOST_SIZES = 128 };

/* ---- reshape --------------------------------------------------------------------------------------------- */

/* The codes of newshape on sizes of Relax, left to right: a number, 0 the size of the source, -1 what is left, -2 all
 * that follow, -3 two as one, -4 one as two (relay 4.2). Inference has checked them. */
typedef struct reshaping {
    rlx_relay_conv *c;
    const rlx_prim *const *source; size_t num_source, at;
    const rlx_prim *out[MOST_SIZES]; size_t n;
    const rlx_prim *rest_in[MOST_SIZES], *rest_out[MOST_SIZES]; /* factors that are not copied */
    size_t num_in, num_out;
    size_t inferred;                     /* which one; MOST_SIZES: none */
    bool failed;
} reshaping;

static const rlx_prim *divided(rlx_relay_conv *c, const rlx_prim *a, const rlx_prim *b)
{
    return a && b ? rlx_relay_simplify(c, rlx_fold_binary(c->ctx, RLX_NODE_FLOOR_DIV, a, b)) : NULL;
}

static const rlx_prim *take_size(reshaping *r)
{
    r->failed |= r->at >= r->num_source;
    return r->failed ? NULL : r->source[r->at++];
}

/* A source size that no code copies. */
static void pass_size(reshaping *r)
{
    if (r->at < r->num_source)
        r->rest_in[r->num_in++] = r->source[r->at++];
}

static void put_size(reshaping *r, const rlx_prim *p)
{
    r->failed |= !p || r->n == MOST_SIZES;
    if (!r->failed)
        r->out[r->n++] = p;
}

static void put_split(reshaping *r, int64_t a, int64_t b)
{
    const rlx_prim *whole = take_size(r), *first = rlx_int64(r->c->ctx, a), *second = rlx_int64(r->c->ctx, b);
    put_size(r, a < 0 ? divided(r->c, whole, second) : first);
    put_size(r, b < 0 ? divided(r->c, whole, first) : second);
}

static void put_merged(reshaping *r)
{
    const rlx_prim *pair[2] = { NULL };
    pair[0] = take_size(r);
    pair[1] = take_size(r);
    put_size(r, r->failed ? NULL : rlx_relay_product_of(r->c, pair, 2));
}

/* One code; how many numbers it took. */
static size_t apply_code(reshaping *r, const int64_t *code, bool zero_is_zero)
{
    if (*code > 0 || (*code == 0 && zero_is_zero)) {
        pass_size(r);
        put_size(r, rlx_int64(r->c->ctx, *code));
        r->rest_out[r->num_out++] = r->out[r->n - 1];
        return 1;
    }
    switch (*code) {
    case 0: put_size(r, take_size(r)); return 1;
    case -1:
        r->inferred = r->n;
        pass_size(r);
        put_size(r, rlx_int64(r->c->ctx, 1));
        return 1;
    case -2:
        while (r->at < r->num_source && !r->failed)
            put_size(r, take_size(r));
        return 1;
    case -3: put_merged(r); return 1;
    case -4: put_split(r, code[1], code[2]); return 3;
    default: r->failed = true; return 1;
    }
}

static void infer_size(reshaping *r)
{
    for (; r->at < r->num_source; r->at++)
        r->rest_in[r->num_in++] = r->source[r->at];
    if (r->inferred == MOST_SIZES || r->failed)
        return;
    const rlx_prim *in = rlx_relay_product_of(r->c, r->rest_in, r->num_in);
    const rlx_prim *out = rlx_relay_product_of(r->c, r->rest_out, r->num_out);
    int64_t v;
    bool nothing = rlx_int_literal(out, &v) && v == 0;
    r->out[r->inferred] = nothing ? rlx_int64(r->c->ctx, 0) : divided(r->c, in, out);
}

/* The sizes that the codes give, in the region; NULL after a report. */
static const rlx_prim *const *apply_codes(rlx_relay_conv *c, const rlx_prim *const *source, size_t num_source,
                                          const int64_t *codes, size_t n, bool zero_is_zero, size_t *count)
{
    reshaping *r = n < MOST_SIZES / 2 && num_source < MOST_SIZES / 2 ? rlx_relay_scratch(c, 1, sizeof *r) : NULL;
    if (!r)
        return c->failed ? NULL : rlx_relay_cannot(c, "newshape has %zu items", n);
    *r = (reshaping){ .c = c, .source = source, .num_source = num_source, .inferred = MOST_SIZES };
    for (size_t i = 0; i < n && !r->failed;) {
        if (codes[i] == -4 && i + 2 >= n)
            return rlx_relay_cannot(c, "newshape: -4 is followed by two extents");
        i += apply_code(r, &codes[i], zero_is_zero);
    }
    infer_size(r);
    *count = r->n;
    return r->failed ? rlx_relay_cannot(c, "newshape does not fit the rank") : r->out;
}

static void reverse_ints(int64_t *v, size_t n)
{
    for (size_t i = 0; i + 1 < n - i; i++) {
        int64_t t = v[i];
        v[i] = v[n - 1 - i];
        v[n - 1 - i] = t;
    }
}

static const rlx_prim **reversed(rlx_relay_conv *c, const rlx_prim *const *v, size_t n)
{
    const rlx_prim **out = rlx_relay_scratch(c, n, sizeof *out);
    for (size_t i = 0; out && i < n; i++)
        out[i] = v[n - 1 - i];
    return out;
}

static const rlx_expr *make_reshape(rlx_relay_conv *c, const rlx_expr *x, const rlx_prim *const *sizes, size_t n)
{
    return x && sizes ? rlx_relay_make(c, "reshape", "x x", x, rlx_shape_new(c->ctx, sizes, n)) : NULL;
}

CONVERTER(reshape)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    size_t n, rank, count = 0;
    int64_t *codes = rlx_relay_attr_ints(c, "newshape", &n);
    bool reverse = strcmp(c->row->argument, "reverse") == 0;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &x, &rank);
    if (!codes || !sizes)
        return c->failed ? NULL : rlx_relay_cannot(c, "newshape is not given");
    if (reverse) {
        reverse_ints(codes, n);
        sizes = reversed(c, sizes, rank);
    }
    sizes = sizes ? apply_codes(c, sizes, rank, codes, n, rlx_relay_attr_bool(c, "allowzero"), &count) : NULL;
    if (sizes && reverse)
        sizes = reversed(c, sizes, count);
    return make_reshape(c, x, sizes, count);
}

static int64_t from_front(int64_t v, size_t rank) { return v < 0 ? v + (int64_t)rank : v; }

/* Sizes lhs_begin .. lhs_end become those rhs_begin .. rhs_end of the other. */
CONVERTER(reshape_like)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *y = rlx_relay_arg(c, 1);
    size_t nx, ny, count = 0;
    const rlx_prim *const *a = rlx_relay_sizes(c, &x, &nx), *const *b = rlx_relay_sizes(c, &y, &ny);
    const rlx_prim **out = rlx_relay_scratch(c, nx + ny, sizeof *out);
    if (!a || !b || !out)
        return NULL;
    int64_t left = from_front(rlx_relay_attr_int(c, "lhs_begin"), nx), first = from_front(rlx_relay_attr_int(c, "rhs_begin"), ny);
    int64_t right = rlx_relay_attr_has(c, "lhs_end") ? from_front(rlx_relay_attr_int(c, "lhs_end"), nx) : (int64_t)nx;
    int64_t last = rlx_relay_attr_has(c, "rhs_end") ? from_front(rlx_relay_attr_int(c, "rhs_end"), ny) : (int64_t)ny;
    if (left < 0 || first < 0 || right > (int64_t)nx || last > (int64_t)ny)
        return rlx_relay_cannot(c, "the ranges of dimensions do not fit the ranks");
    for (int64_t i = 0; i < left; i++)
        out[count++] = a[i];
    for (int64_t i = first; i < last; i++)
        out[count++] = b[i];
    for (int64_t i = right; i < (int64_t)nx; i++)
        out[count++] = a[i];
    return make_reshape(c, x, out, count);
}

/* ---- axes ------------------------------------------------------------------------------------------------- */

CONVERTER(transpose)
{
    size_t n;
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t *axes = rlx_relay_attr_ints(c, "axes", &n);
    if (!n)
        return rlx_relay_make(c, "permute_dims", "x", x);
    return rlx_relay_make(c, "permute_dims", "x axes=I", x, axes, n);
}

CONVERTER(expand_dims)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axis = rlx_relay_attr_int(c, "axis"), count = rlx_relay_attr_int(c, "num_newaxis"), axes[64];
    int n = rlx_relay_rank(c, x);
    if (n < 0 || !rlx_relay_fit_axis(c, &axis, n + 1) || count > (int64_t)RLX_COUNT(axes))
        return NULL;
    for (int64_t i = 0; i < count; i++)
        axes[i] = axis + i;
    return count > 0 ? rlx_relay_make(c, "expand_dims", "x axis=I", x, axes, (size_t)count) : x;
}

CONVERTER(squeeze)
{
    size_t n;
    int64_t *axes = rlx_relay_attr_ints(c, "axis", &n);
    const rlx_expr *x = rlx_relay_arg(c, 0);
    if (!axes)
        return rlx_relay_make(c, "squeeze", "x", x);
    return n ? rlx_relay_make(c, "squeeze", "x axis=I", x, axes, n) : x;
}

CONVERTER(concatenate)
{
    const rlx_expr *const *fields;
    size_t n;
    return rlx_relay_tuple_arg(c, 0, &fields, &n)
               ? rlx_relay_make(c, c->row->argument, "X axis=i", fields, n, rlx_relay_attr_int(c, "axis")) : NULL;
}

CONVERTER(split)
{
    size_t n;
    int64_t *cuts = rlx_relay_attr_ints(c, "indices_or_sections", &n), axis = rlx_relay_attr_int(c, "axis");
    const rlx_expr *x = rlx_relay_arg(c, 0);
    bool equal = rlx_relay_attr_value(c, "indices_or_sections").kind == RLX_RELAY_VALUE_INT;
    if (!cuts || !x)
        return NULL;
    if (equal ? cuts[0] == 1 : !n) /* Relax has no tuple of one part */
        return rlx_tuple_new(c->ctx, &x, 1, c->place);
    if (equal)
        return rlx_relay_make(c, "split", "x indices_or_sections=i axis=i", x, cuts[0], axis);
    return rlx_relay_make(c, "split", "x indices_or_sections=I axis=i", x, cuts, n, axis);
}

CONVERTER(repeat)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t times = rlx_relay_attr_int(c, "repeats");
    if (!rlx_relay_attr_has(c, "axis"))
        return rlx_relay_make(c, "repeat", "x repeats=i", x, times);
    return rlx_relay_make(c, "repeat", "x repeats=i axis=i", x, times, rlx_relay_attr_int(c, "axis"));
}

CONVERTER(tile)
{
    size_t n;
    int64_t *reps = rlx_relay_attr_ints(c, "reps", &n);
    return n ? rlx_relay_make(c, "tile", "x repeats=I", rlx_relay_arg(c, 0), reps, n) : rlx_relay_arg(c, 0);
}

CONVERTER(reverse)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int64_t axes[64];
    size_t n;
    if (!rlx_relay_attr_axes(c, "axis", rlx_relay_rank(c, x), axes, &n))
        return NULL;
    for (size_t i = 0; i < n; i++)
        x = rlx_relay_call(c, "flip", "x axis=i", x, axes[i]);
    return x;
}

CONVERTER(reverse_sequence)
{
    return rlx_relay_make(c, "reverse_sequence", "x x seq_axis=i batch_axis=i", rlx_relay_arg(c, 0),
                          rlx_relay_arg(c, 1), rlx_relay_attr_int(c, "seq_axis"), rlx_relay_attr_int(c, "batch_axis"));
}

/* ---- layouts -------------------------------------------------------------------------------------------------- */

/* NCHW4c: axes in order; a small letter is the inner part of the axis of the large one, of that size. */
typedef struct axis_name { char letter; int64_t factor; } axis_name;

static bool read_layout(rlx_relay_conv *c, const char *name, axis_name *out, size_t *n)
{
    const char *text = rlx_relay_attr_text(c, name);
    *n = 0;
    for (const char *p = text; *p && *n < 32; p++) {
        int64_t factor = 0;
        for (; *p >= '0' && *p <= '9' && factor < 1 << 20; p++)
            factor = factor * 10 + (*p - '0');
        if (!*p)
            break;
        out[(*n)++] = (axis_name){ *p, factor };
    }
    return *n > 0;
}

/* How often a letter, large or small, occurs before place `end` of a layout. */
static size_t parts_before(const axis_name *axes, size_t end, char letter)
{
    size_t n = 0;
    for (size_t i = 0; i < end; i++)
        n += (axes[i].letter & ~32) == (letter & ~32);
    return n;
}

/* Both layouts over the same parts: each letter has at most two sizes in a layout, outer and inner, and a finest
 * division that both can be made of. Three axes of one letter are refused. */
typedef struct part { char letter; const rlx_prim *size; int64_t from, to; } part;

/* x, each axis that the other layout splits cut in two: names get the axes of the result. */
static const rlx_expr *cut_axes(rlx_relay_conv *c, const rlx_expr *x, axis_name *from, size_t *nf,
                                const axis_name *to, size_t nt)
{
    axis_name names[64];
    const rlx_prim *sizes[64];
    size_t n = 0, rank;
    const rlx_prim *const *had = rlx_relay_sizes(c, &x, &rank);
    if (!had || rank != *nf)
        return NULL;
    for (size_t i = 0; i < *nf; i++) {
        const axis_name *inner = NULL;
        for (size_t k = 0; k < nt && !from[i].factor; k++)
            if (to[k].factor && (to[k].letter & ~32) == from[i].letter)
                inner = &to[k];
        const rlx_prim *factor = inner ? rlx_int64(c->ctx, inner->factor) : NULL;
        names[n] = from[i];
        sizes[n++] = inner ? divided(c, had[i], factor) : had[i];
        if (inner) {
            names[n] = *inner;
            sizes[n++] = factor;
        }
    }
    if (n > *nf)
        x = rlx_relay_reshape(c, x, sizes, n);
    memcpy(from, names, n * sizeof *names);
    *nf = n;
    return x;
}

/* The whole axes of a layout first: outer and inner parts joined, in the order of its large letters. */
static const rlx_expr *join_axes(rlx_relay_conv *c, const rlx_expr *x, axis_name *from, size_t *nf)
{
    axis_name names[32];
    const rlx_prim *sizes[32];
    int64_t order[64];
    size_t n = 0, at = 0, rank;
    const rlx_prim *const *had = rlx_relay_sizes(c, &x, &rank);
    if (!had || rank != *nf)
        return NULL;
    for (size_t i = 0; i < *nf; i++) {
        if (from[i].factor)
            continue;
        sizes[n] = had[i];
        order[at++] = (int64_t)i;
        for (size_t k = 0; k < *nf; k++)
            if (from[k].factor && (from[k].letter & ~32) == from[i].letter) {
                const rlx_prim *pair[] = { sizes[n], had[k] };
                sizes[n] = rlx_relay_product_of(c, pair, 2);
                order[at++] = (int64_t)k;
            }
        names[n++] = from[i];
    }
    if (n == *nf)
        return x;
    x = rlx_relay_reshape(c, rlx_relay_transpose(c, x, order, at), sizes, n);
    memcpy(from, names, n * sizeof *names);
    *nf = n;
    return x;
}

CONVERTER(layout_transform)
{
    axis_name from[64], to[64];
    size_t nf, nt;
    int64_t order[64];
    const rlx_expr *x = rlx_relay_arg(c, 0);
    if (!read_layout(c, "src_layout", from, &nf) || !read_layout(c, "dst_layout", to, &nt))
        return rlx_relay_cannot(c, "the layouts cannot be read");
    for (size_t i = 0; i < nf; i++)
        if (parts_before(from, nf, from[i].letter) > 2 || parts_before(to, nt, from[i].letter) > 2)
            return rlx_relay_cannot(c, "a layout divides %c more than once", from[i].letter & ~32);
    x = cut_axes(c, join_axes(c, x, from, &nf), from, &nf, to, nt);
    if (!x || nf != nt)
        return c->failed ? NULL : rlx_relay_cannot(c, "the layouts have different letters");
    for (size_t i = 0; i < nt; i++) {
        size_t k = 0;
        while (k < nf && from[k].letter != to[i].letter)
            k++;
        if (k == nf)
            return rlx_relay_cannot(c, "the layouts have different letters");
        order[i] = (int64_t)k;
    }
    return rlx_relay_transpose(c, x, order, nt);
}

/* ---- broadcasts ------------------------------------------------------------------------------------------------- */

/* broadcast_to, collapse_sum_to: the attribute shape is an argument of Relax. */
CONVERTER(to_shape)
{
    size_t n;
    int64_t *shape = rlx_relay_attr_ints(c, "shape", &n);
    if (!shape)
        return rlx_relay_cannot(c, "shape is not given");
    return rlx_relay_make(c, c->row->argument, "x x", rlx_relay_arg(c, 0), rlx_shape_of_ints(c->ctx, shape, n));
}

CONVERTER(broadcast_to_like)
{
    const rlx_expr *y = rlx_relay_arg(c, 1);
    size_t n;
    const rlx_prim *const *sizes = rlx_relay_sizes(c, &y, &n);
    return sizes ? rlx_relay_make(c, "broadcast_to", "x x", rlx_relay_arg(c, 0), rlx_shape_new(c->ctx, sizes, n)) : NULL;
}

/* ---- what makes tensors ------------------------------------------------------------------------------------------ */

CONVERTER(full)
{
    size_t n;
    int64_t *shape = rlx_relay_attr_ints(c, "shape", &n);
    if (!shape)
        return rlx_relay_cannot(c, "shape is not given");
    return rlx_relay_make(c, "full", "x x dtype=d", rlx_shape_of_ints(c->ctx, shape, n), rlx_relay_arg(c, 0),
                          rlx_relay_attr_dtype(c, "dtype"));
}

CONVERTER(filled)
{
    size_t n;
    int64_t *shape = rlx_relay_attr_ints(c, "shape", &n);
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    if (!shape)
        return rlx_relay_cannot(c, "shape is not given");
    return rlx_relay_make(c, c->row->argument, "x dtype=d", rlx_shape_of_ints(c->ctx, shape, n),
                          t == RELAX_VOID ? RELAX_FLOAT32 : t);
}

/* start, stop, step: the attribute, or the constant that is the argument. */
static bool bound(rlx_relay_conv *c, size_t i, const char *name, double *out)
{
    size_t n;
    if (rlx_relay_number(rlx_relay_attr_value(c, name), out))
        return true;
    const double *v = rlx_relay_known_floats(c, rlx_relay_arg(c, i), &n);
    *out = v && n == 1 ? v[0] : 0;
    return v && n == 1;
}

/* ceil((stop - start) / step) as a size that the run binds, in float64, which holds what a size can be. */
static const rlx_prim *count_of_range(rlx_relay_conv *c, const rlx_expr *const *b)
{
    const rlx_prim *one = rlx_int64(c->ctx, 1);
    const rlx_expr *f[3];
    for (size_t i = 0; i < 3; i++)
        f[i] = rlx_relay_astype(c, b[i], RELAX_FLOAT64);
    const rlx_expr *n = rlx_relay_call2(c, "divide", rlx_relay_call2(c, "subtract", f[1], f[0]), f[2]);
    n = rlx_relay_with(c, "maximum", rlx_relay_call1(c, "ceil", n), 0);
    n = rlx_relay_reshape(c, rlx_relay_astype(c, n, RELAX_INT64), &one, 1);
    const rlx_shape_expr *s = rlx_as_shape_expr(rlx_relay_shape_of_tensor(c, n, 1));
    return s ? s->values[0] : NULL;
}

const rlx_expr *rlx_relay_count_to(rlx_relay_conv *c, const rlx_prim *size, rlx_dtype t)
{
    return size ? rlx_relay_call(c, "arange", "x x x dtype=d", rlx_relay_prim(c, 0), rlx_prim_value_new(c->ctx, size),
                                 rlx_relay_prim(c, 1), t) : NULL;
}

/* Of bounds that are computed: 0, 1 .. times step, plus start. */
CONVERTER(arange)
{
    static const char *const names[] = { "start", "stop", "step" };
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    const rlx_expr *b[3];
    double v[3];
    bool known = true;
    t = t == RELAX_VOID ? RELAX_INT32 : t;
    for (size_t i = 0; i < 3; i++)
        known &= bound(c, i, names[i], &v[i]);
    rlx_dtype of = rlx_dtype_is_float(t) ? t : RELAX_INT64;
    for (size_t i = 0; i < 3; i++)
        b[i] = known ? rlx_relay_number_prim(c, of, v[i]) : rlx_relay_arg(c, i);
    if (known)
        return rlx_relay_make(c, "arange", "x x x dtype=d", b[0], b[1], b[2], t);
    const rlx_expr *y = rlx_relay_count_to(c, count_of_range(c, b), RELAX_INT64);
    const rlx_expr *step = rlx_relay_astype(c, b[2], t);
    y = rlx_relay_call2(c, "multiply", rlx_relay_astype(c, y, t), step);
    return y ? rlx_relay_make(c, "add", "x x", y, rlx_relay_astype(c, b[0], t)) : NULL;
}

/* Where an index is the place along the new axis. */
const rlx_expr *rlx_relay_one_hot_where(rlx_relay_conv *c, const rlx_prim *depth, rlx_dtype t)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    int n = rlx_relay_rank(c, x);
    int64_t axis = rlx_relay_attr_int(c, "axis");
    if (n < 0 || !rlx_relay_fit_axis(c, &axis, n + 1))
        return NULL;
    const rlx_expr *place = rlx_relay_count_to(c, depth, rlx_relay_dtype_of(c, x));
    place = rlx_relay_along(c, place, axis, n + 1);
    const rlx_expr *hot = rlx_relay_call2(c, "equal", rlx_relay_expand(c, x, &axis, 1), place);
    const rlx_expr *off = rlx_relay_astype(c, rlx_relay_arg(c, 2), t);
    return rlx_relay_make(c, "where", "x x x", hot, rlx_relay_astype(c, rlx_relay_arg(c, 1), t), off);
}

CONVERTER(one_hot)
{
    size_t n, m;
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    const double *on = rlx_relay_known_floats(c, rlx_relay_arg(c, 1), &n);
    const double *off = rlx_relay_known_floats(c, rlx_relay_arg(c, 2), &m);
    int64_t depth = rlx_relay_attr_int(c, "depth");
    t = t == RELAX_VOID ? RELAX_FLOAT32 : t;
    if (!on || !off || n != 1 || m != 1)
        return rlx_relay_one_hot_where(c, rlx_int64(c->ctx, depth), t);
    return rlx_relay_make(c, "one_hot", "x x x depth=i axis=i", rlx_relay_arg(c, 0),
                          rlx_relay_number_prim(c, t, on[0]), rlx_relay_number_prim(c, t, off[0]), depth,
                          rlx_relay_attr_int(c, "axis"));
}

CONVERTER(meshgrid)
{
    const rlx_expr *const *given;
    size_t n;
    if (!rlx_relay_tuple_arg(c, 0, &given, &n))
        return NULL;
    const rlx_expr **fields = rlx_relay_scratch(c, n, sizeof *fields);
    for (size_t i = 0; fields && i < n; i++) {
        int rank = rlx_relay_rank(c, given[i]);
        fields[i] = rank ? given[i] : rlx_relay_expand(c, given[i], (const int64_t[]){ 0 }, 1);
    }
    return rlx_relay_make(c, "meshgrid", "X indexing=s", fields, n, rlx_relay_attr_text(c, "indexing"));
}

/* Of a diagonal that is computed: where column - row is at least (at most) k. */
static const rlx_expr *triangle_where(rlx_relay_conv *c, const rlx_expr *x, bool upper)
{
    size_t n;
    const rlx_prim *const *s = rlx_relay_sizes(c, &x, &n);
    if (!s || n < 2)
        return NULL;
    const rlx_expr *row = rlx_relay_along(c, rlx_relay_count_to(c, s[n - 2], RELAX_INT64), 0, 2);
    const rlx_expr *off = rlx_relay_call2(c, "subtract", rlx_relay_count_to(c, s[n - 1], RELAX_INT64), row);
    const rlx_expr *keep = rlx_relay_call2(c, upper ? "greater_equal" : "less_equal", off,
                                           rlx_relay_astype(c, rlx_relay_arg(c, 1), RELAX_INT64));
    return rlx_relay_make(c, "where", "x x x", keep, x, rlx_relay_const_scalar(c, rlx_relay_dtype_of(c, x), 0));
}

CONVERTER(trilu)
{
    size_t n;
    const rlx_expr *x = rlx_relay_arg(c, 0);
    bool upper = rlx_relay_attr_bool(c, "upper");
    const double *at = rlx_relay_known_floats(c, rlx_relay_arg(c, 1), &n);
    if (!at || n != 1)
        return triangle_where(c, x, upper);
    double k = at[0] > INT32_MAX ? INT32_MAX : at[0] < INT32_MIN ? INT32_MIN : at[0];
    return rlx_relay_make(c, upper ? "triu" : "tril", "x x", x, rlx_relay_prim(c, rlx_relay_whole(k)));
}

/* ---- shapes as values ---------------------------------------------------------------------------------------------- */

const rlx_expr *rlx_relay_sizes_tensor(rlx_relay_conv *c, const rlx_expr **x, size_t *n)
{
    int64_t literal[64];
    const rlx_prim *const *sizes = rlx_relay_sizes(c, x, n);
    bool known = sizes && *n <= RLX_COUNT(literal);
    for (size_t i = 0; known && i < *n; i++)
        known = rlx_int_literal(sizes[i], &literal[i]);
    if (known)
        return rlx_relay_const_ints(c, RELAX_INT64, literal, *n);
    return sizes ? rlx_relay_call(c, "shape_to_tensor", "x", rlx_shape_new(c->ctx, sizes, *n)) : NULL;
}

static const rlx_expr *in_dtype(rlx_relay_conv *c, const rlx_expr *x)
{
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    return rlx_relay_astype(c, x, t == RELAX_VOID ? RELAX_INT32 : t);
}

CONVERTER(shape_of)
{
    const rlx_expr *x = rlx_relay_arg(c, 0);
    size_t n;
    const rlx_expr *t = rlx_relay_sizes_tensor(c, &x, &n);
    if (t && !n)
        return rlx_relay_cannot(c, "a scalar has no extents");
    return t ? in_dtype(c, t) : NULL;
}

CONVERTER(ndarray_size) { return in_dtype(c, rlx_relay_call1(c, "size", rlx_relay_arg(c, 0))); }

/* ---- shapes that only the run knows ---------------------------------------------------------------------------------- */

/* Codes of dyn.reshape: 0 copies the size of x at its place, -1 is what the others leave. */
static const rlx_expr *resolve_codes(rlx_relay_conv *c, const rlx_expr *shape, const rlx_expr **x, int64_t count)
{
    size_t rank;
    const rlx_expr *had = rlx_relay_sizes_tensor(c, x, &rank);
    const rlx_expr *all = had ? rlx_relay_call(c, "prod", "x keepdims=b", had, 1) : NULL;
    if (had && (int64_t)rank != count) { /* as many as there are codes */
        int64_t width[] = { 0, count > (int64_t)rank ? count - (int64_t)rank : 0 };
        const rlx_expr *axis = rlx_relay_prim(c, 0), *end = rlx_relay_prim(c, count);
        had = rlx_relay_call(c, "nn.pad", "x pad_width=I", had, width, (size_t)2);
        had = rlx_relay_call(c, "strided_slice", "x X X X", had, &axis, (size_t)1, &axis, (size_t)1, &end, (size_t)1);
    }
    shape = rlx_relay_call(c, "where", "x x x", rlx_relay_with(c, "equal", shape, 0), had, shape);
    const rlx_expr *free = rlx_relay_with(c, "equal", shape, -1), *one = rlx_relay_const_scalar(c, RELAX_INT64, 1);
    const rlx_expr *others = rlx_relay_call(c, "where", "x x x", free, one, shape);
    others = rlx_relay_call(c, "prod", "x keepdims=b", others, 1);
    others = rlx_relay_with(c, "maximum", others, 1); /* no division by 0, whatever is left then */
    return rlx_relay_call(c, "where", "x x x", free, rlx_relay_call2(c, "floor_divide", all, others), shape);
}

const rlx_expr *rlx_relay_shape_of_tensor(rlx_relay_conv *c, const rlx_expr *s, size_t n)
{
    const rlx_prim *sizes[64];
    for (size_t k = 0; k < n && k < RLX_COUNT(sizes); k++)
        if (!(sizes[k] = rlx_relay_fresh_size(c)))
            return NULL;
    s = rlx_relay_cast_match(c, rlx_relay_call1(c, "tensor_to_shape", s), rlx_shape_info(c->ctx, sizes, n));
    return s ? rlx_shape_new(c->ctx, sizes, n) : NULL;
}

const rlx_expr *rlx_relay_shape_argument(rlx_relay_conv *c, size_t i, const rlx_expr **x)
{
    int64_t n = 0, literal[64];
    size_t known;
    const rlx_expr *s = rlx_relay_arg(c, i);
    const double *values = rlx_relay_known_floats(c, s, &known);
    bool positive = values && known <= RLX_COUNT(literal);
    for (size_t k = 0; positive && k < known; k++) {
        literal[k] = rlx_relay_whole(values[k]);
        positive = literal[k] > 0 || (literal[k] == 0 && !x);
    }
    if (positive)
        return rlx_shape_of_ints(c->ctx, literal, known);
    if (!rlx_relay_static_size(c, s, 0, &n) || n > 64)
        return rlx_relay_cannot(c, "the number of extents in argument %zu is not known", i + 1);
    s = rlx_relay_astype(c, s, RELAX_INT64);
    return rlx_relay_shape_of_tensor(c, x && s ? resolve_codes(c, s, x, n) : s, (size_t)n);
}

CONVERTER(dyn_reshape)
{
    const rlx_expr *x = rlx_relay_arg(c, 0), *shape = rlx_relay_shape_argument(c, 1, &x);
    return rlx_relay_make(c, "reshape", "x x", x, shape);
}
CONVERTER(dyn_broadcast_to)
{
    return rlx_relay_make(c, "broadcast_to", "x x", rlx_relay_arg(c, 0), rlx_relay_shape_argument(c, 1, NULL));
}
CONVERTER(dyn_full)
{
    return rlx_relay_make(c, "full", "x x dtype=d", rlx_relay_shape_argument(c, 1, NULL), rlx_relay_arg(c, 0),
                          rlx_relay_attr_dtype(c, "dtype"));
}
CONVERTER(dyn_filled)
{
    rlx_dtype t = rlx_relay_attr_dtype(c, "dtype");
    return rlx_relay_make(c, c->row->argument, "x dtype=d", rlx_relay_shape_argument(c, 0, NULL),
                          t == RELAX_VOID ? RELAX_FLOAT32 : t);
}
