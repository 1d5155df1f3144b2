/* lower_shape.c: reshape and its relatives, permute, concat, broadcast_to, filling. */
/* built for size */
#include "op/lower_int.h"

/* ---- reshape, flatten, expand_dims, squeeze ------------------------------------------------- */

/* Do the two lists agree once sizes of 1 are left out? Then map[i] is the axis of x for axis i
 * of the result, or -1. */
static bool same_but_ones(const rlx_lowering_list *x, const rlx_lowering_list *out, int *map)
{
    size_t k = 0;
    for (size_t i = 0; i < out->n; i++) {
        map[i] = -1;
        if (rlx_is_int_value(out->at[i], 1))
            continue;
        while (k < x->n && rlx_is_int_value(x->at[k], 1))
            k++;
        if (k == x->n || x->at[k] != out->at[i])
            return false;
        map[i] = (int)k++;
    }
    while (k < x->n && rlx_is_int_value(x->at[k], 1))
        k++;
    return k == x->n;
}

/* Index into x for an index of the result: dimensions matched one to one, or through the
 * row-major position. */
static void source_index(rlx_lowering *b, const rlx_lowering_tensor *x,
                         const rlx_lowering_tensor *out, const rlx_lowering_list *index,
                         rlx_lowering_list *from)
{
    int map[RLX_LOW_RANK];
    from->n = x->shape.sizes.n;
    if (same_but_ones(&x->shape.sizes, &out->shape.sizes, map)) {
        for (size_t i = 0; i < from->n; i++)
            from->at[i] = rlx_tir_int(&b->t, 0);
        for (size_t i = 0; i < index->n; i++)
            if (map[i] >= 0)
                from->at[map[i]] = index->at[i];
        return;
    }
    const rlx_prim *position =
        rlx_tir_flatten(&b->t, rlx_lowering_items(index), rlx_lowering_items(&out->shape.sizes));
    rlx_tir_unflatten(&b->t, position, rlx_lowering_items(&x->shape.sizes), from->at);
}

/*- Loops that each lie in one axis of x and in one axis of the result, so that no index is divided:
 *
 *     (n, 6, 4) as (n, 3, 8):     n, 3, 2, 4         x[i, j * 2 + k, l], result[i, j, k * 4 + l]
 */
typedef struct refinement {
    rlx_lowering *b;
    const rlx_lowering_list *sides[2];      /* sizes of x and of the result */
    rlx_lowering_list loops;
    int axis[2][RLX_LOW_RANK];              /* of each loop */
} refinement;

/* A loop in axis a of x and axis c of the result. */
static bool add_loop(refinement *r, const rlx_prim *extent, size_t a, size_t c)
{
    if (r->loops.n == RLX_LOW_RANK)
        return false;
    r->axis[0][r->loops.n] = (int)a;
    r->axis[1][r->loops.n] = (int)c;
    r->loops.at[r->loops.n++] = extent;
    return true;
}

/* Axes from *many on of one side are together an axis of the other: `whole`, which is `one` there. */
static bool add_group(refinement *r, int side, size_t *many, size_t one, const rlx_prim *whole)
{
    const rlx_lowering_list *sizes = r->sides[side];
    const rlx_prim *product = NULL;
    for (size_t end = *many; end < sizes->n; end++) {
        product = product ? rlx_tir_mul(&r->b->t, product, sizes->at[end]) : sizes->at[end];
        if (product != whole)
            continue;
        for (; *many <= end; ++*many)
            if (!rlx_is_int_value(sizes->at[*many], 1) &&
                !add_loop(r, sizes->at[*many], side ? one : *many, side ? *many : one))
                return false;
        return true;
    }
    return false;
}

static void skip_ones(const rlx_lowering_list *sizes, size_t *i, const rlx_prim *left)
{
    while (!left && *i < sizes->n && rlx_is_int_value(sizes->at[*i], 1))
        ++*i;
}

/* Where a size is not known as a product: what one side has left from axis at[many] on, up to axes at the end that are
 * equal, is a single axis of the other, as the number of elements says. `left` as in refine. */
static bool refine_rest(refinement *r, size_t i, size_t k, const rlx_prim *const left[2])
{
    const rlx_lowering_list *x = r->sides[0], *out = r->sides[1];
    const size_t at[2] = { i, k };
    size_t back = 0, rest[2];
    while (i + (left[0] != NULL) + back < x->n && k + (left[1] != NULL) + back < out->n &&
           x->at[x->n - 1 - back] == out->at[out->n - 1 - back])
        back++;
    rest[0] = x->n - back - i, rest[1] = out->n - back - k;
    int many = rest[0] == 1;
    if (rest[!many] != 1 || !rest[many])
        return false;
    for (size_t a = 0; a < rest[many] + back; a++) {
        size_t axis = at[many] + a, one = at[!many] + (a < rest[many] ? 0 : a + 1 - rest[many]);
        const rlx_prim *extent = a == 0 && left[many] ? left[many] : r->sides[many]->at[axis];
        if (!add_loop(r, extent, many ? one : axis, many ? axis : one))
            return false;
    }
    return true;
}

/* False: there are no such loops. */
static bool refine(refinement *r)
{
    const rlx_lowering_list *x = r->sides[0], *out = r->sides[1];
    const rlx_prim *left[2] = { NULL, NULL }; /* of an axis that some loops have taken a part of */
    for (size_t i = 0, k = 0;;) {
        int64_t m, n;
        skip_ones(x, &i, left[0]);
        skip_ones(out, &k, left[1]);
        if (i == x->n || k == out->n)
            return i == x->n && k == out->n;
        const rlx_prim *a = left[0] ? left[0] : x->at[i], *c = left[1] ? left[1] : out->at[k];
        if (a == c) {
            if (!add_loop(r, a, i++, k++))
                return false;
            left[0] = left[1] = NULL;
        } else if (rlx_int_literal(a, &m) && rlx_int_literal(c, &n) && m > 0 && n > 0 &&
                   (m % n == 0 || n % m == 0)) {
            if (!add_loop(r, m < n ? a : c, i, k))
                return false;
            left[0] = m > n ? rlx_tir_int(&r->b->t, m / n) : NULL;
            left[1] = n > m ? rlx_tir_int(&r->b->t, n / m) : NULL;
            i += m < n;
            k += n < m;
        } else if (!left[0] && !left[1] && add_group(r, 1, &k, i, a))
            i++;
        else if (!left[0] && !left[1] && add_group(r, 0, &i, k, c))
            k++;
        else
            return refine_rest(r, i, k, left);
    }
}

/* Index of a side for the loops. */
static rlx_lowering_list refined_index(const refinement *r, int side,
                                       const rlx_lowering_list *loops)
{
    rlx_tir *t = &r->b->t;
    rlx_lowering_list at = { .n = r->sides[side]->n };
    for (size_t i = 0; i < at.n; i++)
        at.at[i] = NULL;
    for (size_t i = 0; i < loops->n; i++) {
        const rlx_prim **k = &at.at[r->axis[side][i]];
        *k = *k ? rlx_tir_add(t, rlx_tir_mul(t, *k, r->loops.at[i]), loops->at[i]) : loops->at[i];
    }
    for (size_t i = 0; i < at.n; i++)
        if (!at.at[i])
            at.at[i] = rlx_tir_int(t, 0);
    return at;
}

/* squeeze trusts that symbolic sizes it drops are 1: the buffer says so, the call of the kernel
 * checks it. */
static void trust_dropped(rlx_lowering *b)
{
    const rlx_lower_request *l = b->l;
    const rlx_tensor_sinfo *x = rlx_as_tensor_sinfo(l->args[0]);
    const rlx_shape_expr *s = x ? rlx_as_shape_expr(x->shape) : NULL;
    const rlx_attr *axes = rlx_lowering_attr(l, 0);
    if (l->row->infer != rlx_infer_squeeze || !s || rlx_attr_is_none(axes))
        return;
    for (size_t i = 0; i < rlx_attr_count(axes); i++) {
        int64_t axis = rlx_attr_item(axes, i);
        axis += axis < 0 ? x->ndim : 0;
        if (axis >= 0 && axis < x->ndim)
            rlx_lowering_alias(b, s->values[axis], rlx_int64(l->ctx, 1));
    }
}

/* A size of the program as a multiple of the product of neighbouring ones, of as many as possible; NULL: it is none. */
static const rlx_prim *as_product(rlx_lowering *b, const rlx_prim *size, const rlx_shape_expr *others)
{
    rlx_context *ctx = b->l->ctx;
    for (size_t n = others->num_values; n > 0; n--)
        for (size_t first = 0; first + n <= others->num_values; first++) {
            const rlx_prim *all = rlx_int64(ctx, 1), *product = NULL;
            for (size_t i = first; i < first + n; i++)
                all = rlx_fold_mul(ctx, all, others->values[i]);
            int64_t times = rlx_is(all, RLX_NODE_INT_IMM) ? 0 : rlx_lowering_times(b, size, all);
            if (!times)
                continue;
            for (size_t i = first; i < first + n; i++) {
                const rlx_prim *factor = rlx_lowering_size(b, others->values[i]);
                product = product ? rlx_tir_mul(&b->t, product, factor) : factor;
            }
            return times == 1 ? product : rlx_tir_mul(&b->t, rlx_tir_int(&b->t, times), product);
        }
    return NULL;
}

/*- Sizes that are products of those of the other side are written so: then the number of elements is known to be the same,
 * and so is where each of them lies.
 *
 *     (n, s, 8) as (n * s, 8)        (n, 16, s) as (n, 4, s * 4)
 */
static void express_products(rlx_lowering *b)
{
    const rlx_tensor_sinfo *t[2] = { rlx_as_tensor_sinfo(b->l->args[0]), rlx_as_tensor_sinfo(b->l->result) };
    const rlx_shape_expr *s[2] = { t[0] ? rlx_as_shape_expr(t[0]->shape) : NULL, t[1] ? rlx_as_shape_expr(t[1]->shape) : NULL };
    for (int side = 0; s[0] && s[1] && side < 2; side++)
        for (size_t i = 0; i < s[side]->num_values; i++) {
            const rlx_prim *size = s[side]->values[i], *product;
            bool whole = rlx_as_prim_var(size) || rlx_is(size, RLX_NODE_INT_IMM);
            for (size_t k = 0; k < s[!side]->num_values; k++)
                whole |= s[!side]->values[k] == size;
            if (!whole && (product = as_product(b, size, s[!side])) != NULL)
                rlx_lowering_express(b, size, product);
        }
}

const rlx_prim_func *rlx_lower_reshape(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list index, from;
    rlx_lowering_begin(&b, l);
    trust_dropped(&b);
    express_products(&b);
    if (!rlx_lowering_input(&b, 0, &x) || !rlx_lowering_output(&b, NULL, &out))
        return rlx_lowering_end(&b);
    const rlx_prim *have = rlx_lowering_product(&b, &x.shape.sizes, NULL),
                   *want = rlx_lowering_product(&b, &out.shape.sizes, NULL);
    if (have != want && rlx_prove_equal(l->ctx, NULL, have, want) != RLX_EQUAL)
        rlx_lowering_require(&b, rlx_tir_eq(&b.t, have, want),
                             RLX_ASSERTION_SIZES, "the new shape has another number of elements");
    refinement r = { .b = &b, .sides = { &x.shape.sizes, &out.shape.sizes } };
    int map[RLX_LOW_RANK];
    if (!same_but_ones(&x.shape.sizes, &out.shape.sizes, map) && refine(&r)) {
        rlx_lowering_list loops;
        rlx_lowering_open(&b, l->name.data, &r.loops, &loops);
        from = refined_index(&r, 0, &loops);
        index = refined_index(&r, 1, &loops);
    } else {
        rlx_lowering_open(&b, l->name.data, &out.shape.sizes, &index);
        source_index(&b, &x, &out, &index, &from);
    }
    rlx_tir_store(&b.t, out.buffer, rlx_lowering_items(&index),
                  rlx_tir_load(&b.t, x.buffer, rlx_lowering_items(&from)));
    rlx_tir_end_block(&b.t);
    return rlx_lowering_end(&b);
}

/* ---- permute_dims --------------------------------------------------------------------------- */

const rlx_prim_func *rlx_lower_permute(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_shape shape = { .sizes = { .n = 0 } };
    rlx_lowering_list index, from;
    size_t map[RLX_LOW_RANK];
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &x))
        return rlx_lowering_end(&b);
    size_t n = shape.sizes.n = from.n = x.shape.sizes.n;
    for (size_t i = 0; i < n; i++) {
        int64_t axis = rlx_attr_is_none(rlx_lowering_attr(l, 0))
                           ? (int64_t)(n - 1 - i)
                           : rlx_attr_item(rlx_lowering_attr(l, 0), i);
        axis += axis < 0 ? (int64_t)n : 0;
        if (axis < 0 || axis >= (int64_t)n) {
            rlx_lowering_give_up(&b, "an axis is out of range");
            return rlx_lowering_end(&b);
        }
        map[i] = (size_t)axis;
        shape.sizes.at[i] = x.shape.sizes.at[axis];
        shape.program[i] = x.shape.program[axis];
    }
    if (!rlx_lowering_output(&b, &shape, &out))
        return rlx_lowering_end(&b);
    rlx_lowering_open(&b, "permute_dims", &out.shape.sizes, &index);
    for (size_t i = 0; i < n; i++)
        from.at[map[i]] = index.at[i];
    rlx_tir_store(&b.t, out.buffer, rlx_lowering_items(&index),
                  rlx_tir_load(&b.t, x.buffer, rlx_lowering_items(&from)));
    rlx_tir_end_block(&b.t);
    return rlx_lowering_end(&b);
}

/* ---- concat --------------------------------------------------------------------------------- */

#define MAX_INPUTS 256

/* Sizes that must agree are declared to be those of the first input. */
static bool read_inputs(rlx_lowering *b, const rlx_tuple_sinfo *tuple, rlx_lowering_tensor *in,
                        size_t *axis)
{
    const rlx_tensor_sinfo *first = rlx_as_tensor_sinfo(tuple->fields[0]);
    const rlx_shape_expr *lead = first ? rlx_as_shape_expr(first->shape) : NULL;
    int64_t at = rlx_attr_is_none(rlx_lowering_attr(b->l, 0))
                     ? 0
                     : rlx_attr_as_int(rlx_lowering_attr(b->l, 0), 0);
    if (!first || first->ndim < 1 || at < -first->ndim || at >= first->ndim)
        return rlx_lowering_give_up(b, "the rank is not known");
    *axis = (size_t)(at < 0 ? at + first->ndim : at);
    for (size_t i = 0; i < tuple->num_fields; i++) {
        const rlx_tensor_sinfo *t = rlx_as_tensor_sinfo(tuple->fields[i]);
        const rlx_shape_expr *s = t ? rlx_as_shape_expr(t->shape) : NULL;
        for (size_t k = 0; s && lead && k < s->num_values && k < lead->num_values; k++)
            if (k != *axis)
                rlx_lowering_alias(b, lead->values[k], s->values[k]);
    }
    for (size_t i = 0; i < tuple->num_fields; i++) {
        char name[RLX_LOW_NAME] = "x";
        rlx_lowering_name(name, 'x', i);
        if (!rlx_lowering_input_field(b, 0, i, name, &in[i]))
            return false;
        if (in[i].shape.sizes.n != in[0].shape.sizes.n)
            return rlx_lowering_give_up(b, "the ranks differ");
    }
    return true;
}

static bool joined_shape(rlx_lowering *b, const rlx_lowering_tensor *in, size_t count, size_t axis,
                         rlx_lowering_shape *out)
{
    *out = in[0].shape;
    for (size_t i = 1; i < count; i++) {
        const rlx_lowering_shape *s = &in[i].shape;
        for (size_t k = 0; k < out->sizes.n; k++)
            if (k != axis && s->sizes.at[k] != out->sizes.at[k])
                rlx_lowering_require(b, rlx_tir_eq(&b->t, s->sizes.at[k], out->sizes.at[k]),
                                     RLX_ASSERTION_SIZES, "sizes of the joined tensors differ");
        out->sizes.at[axis] = rlx_tir_add(&b->t, out->sizes.at[axis], s->sizes.at[axis]);
        out->program[axis] = out->program[axis] && s->program[axis]
                                 ? rlx_fold_add(b->l->ctx, out->program[axis], s->program[axis])
                                 : NULL;
    }
    return !b->t.incomplete;
}

/* One block for each input, at its offset. */
static void copy_inputs(rlx_lowering *b, const rlx_lowering_tensor *in, size_t count, size_t axis,
                        const rlx_lowering_tensor *out)
{
    const rlx_prim *offset = rlx_tir_int(&b->t, 0);
    for (size_t i = 0; i < count; i++) {
        rlx_lowering_list index, to;
        rlx_lowering_open(b, "concat", &in[i].shape.sizes, &index);
        to = index;
        to.at[axis] = rlx_tir_add(&b->t, offset, index.at[axis]);
        rlx_tir_store(&b->t, out->buffer, rlx_lowering_items(&to),
                      rlx_tir_load(&b->t, in[i].buffer, rlx_lowering_items(&index)));
        rlx_tir_end_block(&b->t);
        offset = rlx_tir_add(&b->t, offset, in[i].shape.sizes.at[axis]);
    }
}

const rlx_prim_func *rlx_lower_concat(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor out;
    rlx_lowering_shape shape;
    size_t axis = 0;
    rlx_lowering_begin(&b, l);
    const rlx_tuple_sinfo *tuple = rlx_as_tuple_sinfo(l->args[0]);
    if (!tuple || tuple->num_fields == 0 || tuple->num_fields > MAX_INPUTS) {
        rlx_lowering_give_up(&b, tuple && tuple->num_fields ? "more than 256 tensors are joined"
                                                            : "the tensors are not known");
        return rlx_lowering_end(&b);
    }
    rlx_lowering_tensor *in = rlx_new(l->ctx, tuple->num_fields * sizeof *in);
    b.t.incomplete |= !in;
    if (in && read_inputs(&b, tuple, in, &axis) &&
        joined_shape(&b, in, tuple->num_fields, axis, &shape) &&
        rlx_lowering_output(&b, &shape, &out))
        copy_inputs(&b, in, tuple->num_fields, axis, &out);
    return rlx_lowering_end(&b);
}

/* ---- broadcast_to, filling ------------------------------------------------------------------ */

/* Every size of x is 1 or that of the result. */
static bool check_target(rlx_lowering *b, const rlx_lowering_tensor *x,
                         const rlx_lowering_tensor *out)
{
    size_t pad = out->shape.sizes.n - x->shape.sizes.n;
    if (x->shape.sizes.n > out->shape.sizes.n)
        return rlx_lowering_give_up(b, "the new shape has a lower rank");
    const rlx_prim *one = rlx_tir_int(&b->t, 1);
    for (size_t i = 0; i < x->shape.sizes.n; i++) {
        const rlx_prim *have = x->shape.sizes.at[i], *to = out->shape.sizes.at[i + pad];
        if (have != to && !rlx_is_int_value(have, 1))
            rlx_lowering_require(
                b, rlx_tir_or(&b->t, rlx_tir_eq(&b->t, have, one), rlx_tir_eq(&b->t, have, to)),
                RLX_ASSERTION_SIZES, "sizes do not broadcast");
    }
    return true;
}

const rlx_prim_func *rlx_lower_broadcast_to(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor x, out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 0, &x) || !rlx_lowering_output(&b, NULL, &out) ||
        !check_target(&b, &x, &out))
        return rlx_lowering_end(&b);
    rlx_lowering_open(&b, "broadcast_to", &out.shape.sizes, &index);
    rlx_tir_store(&b.t, out.buffer, rlx_lowering_items(&index),
                  rlx_lowering_load(&b, &x, &index, &out.shape.sizes));
    rlx_tir_end_block(&b.t);
    return rlx_lowering_end(&b);
}

/* zeros, ones and their _like: the argument is needed for its shape only */
const rlx_prim_func *rlx_lower_fill(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_output(&b, NULL, &out))
        return rlx_lowering_end(&b);
    uint32_t value = l->row->member.number;
    rlx_lowering_open(&b, value ? "ones" : "zeros", &out.shape.sizes, &index);
    rlx_tir_store(&b.t, out.buffer, rlx_lowering_items(&index),
                  rlx_tir_number(&b.t, out.dtype, value));
    rlx_tir_end_block(&b.t);
    return rlx_lowering_end(&b);
}

const rlx_prim_func *rlx_lower_full(rlx_lower_request *l)
{
    rlx_lowering b;
    rlx_lowering_tensor v, out;
    rlx_lowering_list index;
    rlx_lowering_begin(&b, l);
    if (!rlx_lowering_input(&b, 1, &v) || !rlx_lowering_output(&b, NULL, &out))
        return rlx_lowering_end(&b);
    rlx_lowering_open(&b, "full", &out.shape.sizes, &index);
    const rlx_prim *x = rlx_tir_load(&b.t, v.buffer, RLX_TIR_NONE);
    bool to_bool = rlx_dtype_is_bool(out.dtype) && !rlx_dtype_is_bool(v.dtype);
    x = to_bool ? rlx_tir_ne(&b.t, x, rlx_tir_number(&b.t, v.dtype, 0))
                : rlx_tir_cast(&b.t, out.dtype, x);
    rlx_tir_store(&b.t, out.buffer, rlx_lowering_items(&index), x);
    rlx_tir_end_block(&b.t);
    return rlx_lowering_end(&b);
}
