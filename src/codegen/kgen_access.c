/* kgen_access.c: indices, range checks, loads and stores of kernels. */
#include "codegen/kgen_int.h"

#define MAX_LOAD_DEPTH 32 /* loads in indices of loads: bounds the recursion */

/* ---- indices -------------------------------------------------------------------------------- */

const rlx_prim *rlx_kgen_wide_index(rlx_kgen *w, const rlx_prim *p)
{
    size_t errors = rlx_error_count(w->ctx);
    const rlx_prim *q = p ? rlx_fold_cast(w->ctx, RELAX_INT64, p) : NULL;
    char type[RLX_DTYPE_TEXT];
    if (!q && p && errors == rlx_error_count(w->ctx)) {
        rlx_dtype_name(rlx_prim_dtype(p), type);
        rlx_kgen_fail(w, "an index of type %s is not supported in kernels", type);
    }
    w->refused |= !q; /* or what it is made of has failed before */
    return q;
}

rlx_kgen_value rlx_kgen_int64(rlx_kgen *w, const rlx_prim *p)
{
    const rlx_prim *q = rlx_kgen_wide_index(w, p);
    rlx_kgen_value v = q && !rlx_kgen_failed(w) ? rlx_kgen_expr(w, q, RLX_KGEN_ALWAYS)
                                                : rlx_kgen_failure();
    if (v.wide && !rlx_kgen_failed(w))
        rlx_kgen_fail(w, "a size depends on the inner loop");
    return v;
}

static bool is_known_in_front(const void *user, const rlx_prim *var)
{
    const rlx_kgen_nest *n = user;
    uintptr_t at;
    if (!rlx_ptrmap_find(&n->writer->vars, var, &at))
        return false;
    const rlx_kgen_value *v = &n->writer->var_values.data[at - 1];
    return v->level <= n->level && !v->wide;
}

rlx_plan_scope rlx_kgen_scope_of(const rlx_kgen_nest *n)
{
    return (rlx_plan_scope){ .knows = is_known_in_front, .user = n, .ranges = n ? &n->writer->ranges : NULL };
}

bool rlx_kgen_is_at_least(rlx_kgen *w, const rlx_prim *p, int64_t low)
{
    int64_t v, high;
    if (rlx_int_literal(p, &v))
        return v >= low;
    const rlx_prim *q = rlx_simplify(w->ctx, NULL, p);
    if (!q || rlx_int_literal(q, &v))
        return q && v >= low;
    rlx_bounds(w->ctx, &w->ranges, q, &v, &high);
    return v >= low || (w->ranges.facts.len &&
                        rlx_prove_compare(w->ctx, &w->ranges, RLX_NODE_GE, q, rlx_int64(w->ctx, low)) == RLX_TRUE);
}

/* A factor that is a number, or 0 or 1 as the run says (sizes that broadcast), or made of sizes. *c: its sign. */
static bool has_sign(rlx_kgen *w, const rlx_prim *factor, int64_t *c)
{
    const rlx_prim *cond, *then, *other;
    if (rlx_int_literal(factor, c))
        return true;
    *c = 1;
    return (rlx_tir_is_choice(factor, &cond, &then, &other) && rlx_is_int_value(then, 0) && rlx_is_int_value(other, 1)) ||
           rlx_kgen_is_at_least(w, factor, 0);
}

static bool box_of(rlx_kgen *w, const rlx_kgen_nest *n, const rlx_prim *index, const rlx_prim **low,
                   const rlx_prim **high)
{
    rlx_plan_view room;
    rlx_plan_scope front = rlx_kgen_scope_of(n);
    const rlx_tir_affine *a = rlx_plan_affine(w->ctx, &front, n->plan, index, &room);
    if (!a)
        return false;
    *low = *high = rlx_kgen_wide_index(w, a->base);
    for (size_t i = 0; i < n->plan->count; i++) {
        int64_t c;
        const rlx_nest_loop *l = &n->plan->loops[i];
        if (!a->coeff[i])
            continue;
        if (!has_sign(w, a->coeff[i], &c))
            return false;
        const rlx_prim *first = l->min,
                       *last = rlx_fold_sub(w->ctx, rlx_fold_add(w->ctx, l->min, l->extent),
                                            rlx_int64(w->ctx, 1));
        *low = rlx_plan_add_product(w->ctx, *low, a->coeff[i], c > 0 ? first : last);
        *high = rlx_plan_add_product(w->ctx, *high, a->coeff[i], c > 0 ? last : first);
    }
    return *low && *high;
}

static bool is_in_range(rlx_kgen *w, const rlx_kgen_buffer *b, size_t d, const rlx_prim *low, const rlx_prim *high)
{
    return rlx_kgen_is_at_least(w, low, 0) && rlx_kgen_is_at_least(w, rlx_fold_sub(w->ctx, b->shape[d], high), 1);
}

/* Are all indices in range wherever the nest is, by what is known now? */
static bool are_proved(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_prim *const *indices, size_t count)
{
    const rlx_prim *low, *high;
    bool proved = w->nest && count == b->buffer->num_shape;
    for (size_t d = 0; d < count && proved; d++)
        proved = box_of(w, w->nest, indices[d], &low, &high) && is_in_range(w, b, d, low, high);
    return proved;
}

bool rlx_kgen_load_is_sure(rlx_kgen *w, const rlx_buffer_load *l)
{
    const rlx_kgen_buffer *b = l->predicate ? NULL : rlx_kgen_buffer_of(w, l->buffer);
    return b && are_proved(w, b, l->indices, l->num_indices);
}

static bool check_dim_box(rlx_kgen *w, const rlx_kgen_nest *n, const rlx_kgen_buffer *b, size_t d,
                          const rlx_prim *index)
{
    const rlx_prim *low, *high;
    if (!box_of(w, n, index, &low, &high))
        return false;
    if (is_in_range(w, b, d, low, high))
        return true;
    uint32_t lo = rlx_kgen_int64(w, low).reg, hi = rlx_kgen_int64(w, high).reg;
    RLX_KGEN_EMIT(w, n->level, RLX_K_CHECK, lo, hi, rlx_kgen_int64(w, b->shape[d]).reg, b->index,
            (uint32_t)d);
    return true;
}

bool rlx_kgen_check_box(rlx_kgen *w, const rlx_kgen_nest *n, const rlx_kgen_buffer *b,
                        const rlx_prim *const *indices, size_t count)
{
    for (size_t d = 0; d < count; d++)
        if (!check_dim_box(w, n, b, d, indices[d]))
            return false;
    return true;
}

/* ---- accesses ------------------------------------------------------------------------------- */

/* Where an access goes: scalar offset, or start and stride of a strip, or an offset per
 * element. */
typedef struct place_of {
    enum { AT_ONE, AT_STRIP, AT_EACH } how;
    /* AT_ONE, AT_STRIP: scalar; AT_EACH: strip or scalar, to be freed */
    rlx_kgen_value off;
    const rlx_prim *stride;        /* AT_STRIP: without variables of the nest */
    rlx_kgen_value mask;
    bool loads;
} place_of;

static rlx_kgen_value scalar_op(rlx_kgen *w, unsigned op, rlx_kgen_value a, rlx_kgen_value b)
{
    rlx_kgen_value d =
        rlx_kgen_dest(w, RLX_CLASS_I64, RELAX_INT64, false, rlx_kgen_later(a.level, b.level));
    d.loads = a.loads || b.loads;
    RLX_KGEN_EMIT(w, d.level, op, d.reg, a.reg, b.reg);
    return d;
}

static void check_scalar_index(rlx_kgen *w, const rlx_kgen_buffer *b, size_t d,
                               const rlx_prim *index, rlx_kgen_value v)
{
    int64_t at, size;
    if (rlx_int_literal(index, &at) && rlx_int_literal(b->shape[d], &size) && at >= 0 && at < size)
        return;
    rlx_kgen_value s = rlx_kgen_int64(w, b->shape[d]);
    int32_t level = rlx_kgen_later(rlx_kgen_later(v.level, s.level), rlx_kgen_floor_level(w, NULL));
    RLX_KGEN_EMIT(w, level, RLX_K_CHECK, v.reg, v.reg, s.reg, b->index, (uint32_t)d);
}

static void check_each_index(rlx_kgen *w, const rlx_kgen_buffer *b, size_t d, rlx_kgen_value v,
                             rlx_kgen_value mask)
{
    rlx_kgen_value s = rlx_kgen_int64(w, b->shape[d]);
    bool wide = v.wide || (!rlx_kgen_is_always(mask) && mask.wide);
    int32_t level = wide
                        ? w->nest->strip_level
                        : rlx_kgen_later(rlx_kgen_later(v.level, s.level),
                                         rlx_kgen_later(rlx_kgen_floor_level(w, NULL),
                                                        rlx_kgen_is_always(mask) ? 0 : mask.level));
    rlx_kgen_value index = wide ? rlx_kgen_widen(w, v) : v;
    RLX_KGEN_EMIT(w, level, RLX_K_CHECK_EACH, index.reg, s.reg,
            rlx_kgen_is_always(mask) ? RLX_KGEN_NO_REG
                                     : (wide ? rlx_kgen_widen(w, mask) : mask).reg,
            b->index, (uint32_t)d);
}

/* Offset = sum of index * stride, element by element. */
static bool place_each(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_prim *const *indices,
                       size_t count, rlx_kgen_value mask, const bool *boxed, place_of *out)
{
    const rlx_kgen_value zero = rlx_kgen_literal(w, RLX_CLASS_I64, RELAX_INT64, 0);
    rlx_kgen_value sum = zero;
    bool own = false; /* sum is a temporary of ours; it is 0 otherwise */
    for (size_t d = 0; d < count && !rlx_kgen_failed(w); d++) {
        const rlx_prim *index = rlx_kgen_wide_index(w, indices[d]);
        rlx_kgen_value v = rlx_kgen_real(w, rlx_kgen_expr(w, index, mask));
        if (rlx_kgen_failed(w))
            return false;
        out->loads |= v.loads;
        if (!boxed[d])
            check_each_index(w, b, d, v, mask);
        if (!v.wide && v.reg == zero.reg)
            continue;
        rlx_kgen_value part = v;
        bool part_own = !rlx_is_int_value(b->strides[d], 1);
        if (part_own)
            part = rlx_kgen_apply2(w, RLX_K_MUL_I64, RLX_CLASS_I64, RELAX_INT64, v,
                                   rlx_kgen_int64(w, b->strides[d]));
        if (!own && part_own) {
            sum = part;
            own = true;
            continue;
        }
        rlx_kgen_value next =
            rlx_kgen_apply2(w, RLX_K_ADD_I64, RLX_CLASS_I64, RELAX_INT64, sum, part);
        if (own)
            rlx_kgen_free_temp(w, sum);
        if (part_own)
            rlx_kgen_free_temp(w, part);
        sum = next;
        own = true;
    }
    out->how = AT_EACH;
    out->off = sum;
    out->mask = mask;
    return !rlx_kgen_failed(w);
}

/* Start and stride (NULL: none) of dimensions that the nest runs through evenly, and others that are the same all along. */
static bool place_even(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_prim *const *indices,
                       const rlx_kgen_value *values, const bool *boxed, size_t count, place_of *out)
{
    const rlx_kgen_nest *n = w->nest;
    rlx_plan_scope front = rlx_kgen_scope_of(n);
    const rlx_prim *even = rlx_int64(w->ctx, 0), *stride = NULL;
    for (size_t d = 0; d < count; d++) {
        rlx_tir_affine f;
        if (!boxed[d])
            continue;
        if (!rlx_plan_flatten(w->ctx, &front, n->plan, &b->strides[d], &indices[d], 1, &f))
            return !w->ctx->diags.out_of_memory &&
                   rlx_kgen_fail(w, "an index of %s cannot be computed",
                                 b->buffer->name ? b->buffer->name->data : "?");
        even = rlx_fold_add(w->ctx, even, f.base);
        for (size_t i = 0; i < n->plan->count; i++) {
            const rlx_nest_loop *l = &n->plan->loops[i];
            bool is_strip = l->role == RLX_PLAN_STRIP_LOOP && n->strip_level >= 0;
            if (f.coeff[i])
                even = rlx_plan_add_product(
                    w->ctx, even,
                    is_strip || l->role == RLX_PLAN_MERGED || l->role == RLX_PLAN_BOX ? l->min : l->var,
                    f.coeff[i]);
            if (f.coeff[i] && is_strip)
                stride = stride ? rlx_fold_add(w->ctx, stride, f.coeff[i]) : f.coeff[i];
        }
    }
    rlx_kgen_value off = rlx_kgen_int64(w, even);
    for (size_t d = 0; d < count && !rlx_kgen_failed(w); d++)
        if (!boxed[d] && !values[d].wide) {
            rlx_kgen_value part =
                rlx_is_int_value(b->strides[d], 1)
                    ? values[d]
                    : scalar_op(w, RLX_K_XMUL, values[d], rlx_kgen_int64(w, b->strides[d]));
            off = scalar_op(w, RLX_K_XADD, off, part);
        }
    out->off = off;
    out->loads |= off.loads;
    out->stride = stride && !rlx_is_int_value(stride, 0) ? stride : NULL;
    out->how = out->stride ? AT_STRIP : AT_ONE;
    out->mask = RLX_KGEN_ALWAYS;
    return !rlx_kgen_failed(w);
}

/* Start offset of the strip at work: that of the access before, where it is the same. */
static uint32_t strip_offset(rlx_kgen *w, const place_of *p)
{
    const rlx_kgen_nest *n = w->nest;
    rlx_kgen_start *last = &w->last_start;
    if (!rlx_is_int_value(p->stride, 1)) {
        uint32_t at = rlx_kgen_new_reg(w, RLX_CLASS_I64, 0);
        RLX_KGEN_EMIT(w, n->strip_level, RLX_K_XMADD, at, n->strip_reg,
                rlx_kgen_int64(w, p->stride).reg, p->off.reg);
        return at;
    }
    if (p->off.reg == rlx_kgen_const_i64(w, 0))
        return n->strip_reg;
    if (last->strip != n->strip_reg || last->off != p->off.reg) {
        *last = (rlx_kgen_start){ n->strip_reg, p->off.reg, rlx_kgen_new_reg(w, RLX_CLASS_I64, 0) };
        RLX_KGEN_EMIT(w, n->strip_level, RLX_K_XADD, last->at, n->strip_reg, p->off.reg);
    }
    return last->at;
}

/* k of `k < 0 ? k + size : k`, which is not computed yet; else NULL. */
static const rlx_prim *counted_from_end(rlx_kgen *w, const rlx_prim *index, const rlx_prim *size)
{
    const rlx_prim *cond, *then, *other;
    const rlx_binary *less, *sum;
    if (index->kind != RLX_NODE_SELECT || !rlx_tir_is_choice(index, &cond, &then, &other) || rlx_kgen_recall(w, index))
        return NULL;
    less = cond->kind == RLX_NODE_LT ? rlx_as_binary(cond) : NULL;
    sum = then->kind == RLX_NODE_ADD ? rlx_as_binary(then) : NULL;
    return less && sum && less->a == other && rlx_is_int_value(less->b, 0) && sum->a == other && sum->b == size ? other : NULL;
}

/* Where each element is: what is the same for all, or moves evenly, and on from there by indices. */
static bool place_together(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_prim *const *indices, const rlx_kgen_value *values,
                           const bool *boxed, const bool *from_end, size_t count, place_of *out)
{
    place_of even = { .how = AT_ONE };
    if (!place_even(w, b, indices, values, boxed, count, &even))
        return false;
    out->loads |= even.loads;
    uint32_t start = even.stride ? strip_offset(w, &even) : even.off.reg, zero = rlx_kgen_const_i64(w, 0),
             step = even.stride ? rlx_kgen_int64(w, even.stride).reg : zero;
    bool first = true;
    for (size_t d = 0; d < count && !rlx_kgen_failed(w); d++) {
        if (boxed[d] || !values[d].wide)
            continue;
        const rlx_kgen_value size = rlx_kgen_int64(w, b->shape[d]), stride = rlx_kgen_int64(w, b->strides[d]);
        rlx_kgen_value at = rlx_kgen_dest(w, RLX_CLASS_I64, RELAX_INT64, true, w->nest->strip_level);
        RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_PLACE_EACH, at.reg, values[d].reg, first ? start : zero, first ? step : zero,
                      stride.reg, size.reg, b->index, (uint32_t)d | (from_end[d] ? RLX_KERNEL_FROM_END : 0));
        if (!first) {
            const rlx_kgen_value sum = rlx_kgen_apply2(w, RLX_K_ADD_I64, RLX_CLASS_I64, RELAX_INT64, out->off, at);
            rlx_kgen_free_temp(w, out->off);
            rlx_kgen_free_temp(w, at);
            at = sum;
        }
        out->off = at;
        first = false;
    }
    out->how = AT_EACH;
    out->mask = RLX_KGEN_ALWAYS;
    return !rlx_kgen_failed(w);
}

static bool find_place(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_prim *const *indices,
                       size_t count, rlx_kgen_value mask, place_of *out)
{
    bool boxed[RLX_TIR_MAX_DIMS] = { false }, from_end[RLX_TIR_MAX_DIMS] = { false }, each = false;
    rlx_kgen_value values[RLX_TIR_MAX_DIMS];
    *out = (place_of){ .how = AT_ONE };
    if (count != b->buffer->num_shape)
        return rlx_kgen_fail(w, "%s has %zu dimensions and is accessed with %zu indices",
                             b->buffer->name ? b->buffer->name->data : "?", b->buffer->num_shape,
                             count);
    if (!rlx_kgen_is_always(mask))
        return place_each(w, b, indices, count, mask, boxed, out);
    for (size_t d = 0; d < count; d++) {
        boxed[d] = w->nest && check_dim_box(w, w->nest, b, d, indices[d]);
        if (boxed[d])
            continue;
        const rlx_prim *index = rlx_kgen_wide_index(w, indices[d]);
        const rlx_prim *k = index ? counted_from_end(w, index, b->shape[d]) : NULL;
        values[d] = rlx_kgen_expr(w, k ? k : index, RLX_KGEN_ALWAYS);
        if (k && !rlx_kgen_failed(w) && !values[d].wide)
            values[d] = rlx_kgen_expr(w, index, RLX_KGEN_ALWAYS);
        if (rlx_kgen_failed(w))
            return false;
        from_end[d] = k && values[d].wide;
        each |= values[d].wide;
        out->loads |= values[d].loads;
        if (!values[d].wide)
            check_scalar_index(w, b, d, indices[d], values[d]);
    }
    if (rlx_kgen_failed(w))
        return false;
    return each ? place_together(w, b, indices, values, boxed, from_end, count, out)
                : place_even(w, b, indices, values, boxed, count, out);
}

/* Memory that already is what a register holds. */
static bool is_native(enum rlx_kernel_elem e)
{
    return e == RLX_ELEM_I32 || e == RLX_ELEM_I64 || e == RLX_ELEM_U64 || e == RLX_ELEM_F32 ||
           e == RLX_ELEM_F64;
}

static rlx_kgen_value load_at(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_node *buffer,
                              const place_of *p)
{
    unsigned klass = rlx_kernel_elems[b->elem].klass;
    rlx_dtype dtype = rlx_kernel_elems[b->elem].dtype;
    rlx_kgen_value d;
    if (p->how == AT_ONE) {
        d = rlx_kgen_dest(w, klass, dtype, false,
                          rlx_kgen_later(p->off.level, rlx_kgen_floor_level(w, buffer)));
        RLX_KGEN_EMIT(w, d.level, RLX_K_LOAD, d.reg, b->index, p->off.reg);
    } else if (p->how == AT_EACH) {
        bool wide = p->off.wide || (!rlx_kgen_is_always(p->mask) && p->mask.wide);
        int32_t level =
            rlx_kgen_later(rlx_kgen_later(p->off.level, rlx_kgen_floor_level(w, buffer)),
                           rlx_kgen_is_always(p->mask) ? 0 : p->mask.level);
        d = rlx_kgen_dest(w, klass, dtype, wide, wide ? w->nest->strip_level : level);
        uint32_t off = (wide ? rlx_kgen_widen(w, p->off) : p->off).reg;
        uint32_t mask = rlx_kgen_is_always(p->mask) ? RLX_KGEN_NO_REG : (wide ? rlx_kgen_widen(w, p->mask) : p->mask).reg;
        RLX_KGEN_EMIT(w, d.level, RLX_K_LOAD_EACH, d.reg, b->index, off, mask);
        d.guard = p->mask.serial;
        rlx_kgen_free_temp(w, p->off);
    } else if (rlx_is_int_value(p->stride, 1) && is_native(b->elem)) {
        uint32_t at = strip_offset(w, p);
        d = rlx_kgen_dest(w, klass, dtype, false, w->nest->strip_level);
        d.wide = d.view = true;
        d.reg = rlx_kgen_new_reg(w, klass, RLX_KERNEL_VIEW_REG);
        RLX_KGEN_EMIT(w, d.level, RLX_K_VIEW, d.reg, b->index, at);
    } else {
        uint32_t at = strip_offset(w, p);
        d = rlx_kgen_dest(w, klass, dtype, true, w->nest->strip_level);
        if (rlx_is_int_value(p->stride, 1))
            RLX_KGEN_EMIT(w, d.level, RLX_K_LOAD, d.reg, b->index, at);
        else
            RLX_KGEN_EMIT(w, d.level, RLX_K_LOAD_STRIDED, d.reg, b->index, at,
                    rlx_kgen_int64(w, p->stride).reg);
    }
    d.loads = true;
    return d;
}

rlx_kgen_value rlx_kgen_load(rlx_kgen *w, const rlx_buffer_load *l, rlx_kgen_value mask)
{
    rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, l->buffer);
    place_of p;
    if (!b)
        return rlx_kgen_failure();
    if (l->predicate) {
        rlx_kgen_fail(w, "a predicated load is not supported in kernels");
        return rlx_kgen_failure();
    }
    if (w->load_depth >= MAX_LOAD_DEPTH) {
        rlx_kgen_too_large(w, "loads inside each other");
        return rlx_kgen_failure();
    }
    if (!rlx_kgen_is_always(mask) && are_proved(w, b, l->indices, l->num_indices))
        mask = RLX_KGEN_ALWAYS; /* what it would not choose may be read all the same */
    w->load_depth++;
    bool ok = find_place(w, b, l->indices, l->num_indices, mask, &p);
    w->load_depth--;
    return ok ? load_at(w, b, l->buffer, &p) : rlx_kgen_failure();
}

/* ---- stores --------------------------------------------------------------------------------- */

/* Lets the instruction at `last` write to memory instead of a strip, if it computed `v`. */
static bool redirect_to_view(rlx_kgen *w, rlx_kgen_value v, size_t last, uint32_t view)
{
    rlx_kgen_words *code = &w->levels[w->nest->strip_level].code;
    if (rlx_kgen_failed(w) || !v.wide || v.view || last >= code->len ||
        code->data[last] < RLX_K_FIRST_VALUE || code->data[last + 1] != v.reg)
        return false;
    code->data[last + 1] = (uint16_t)view;
    return true;
}

/* Position of the last instruction of the strip's code from `from` on. */
static size_t last_instruction(const rlx_kgen *w, size_t from)
{
    const rlx_kgen_words *code = &w->levels[w->nest->strip_level].code;
    size_t last = SIZE_MAX;
    while (from < code->len) {
        last = from;
        from += rlx_kernel_op_words(code->data[from]);
    }
    return last;
}

/* Into contiguous memory of the register's own kind: the last operation writes there. */
static void store_through(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_buffer_store *s,
                          const place_of *p)
{
    uint32_t at = strip_offset(w, p),
             view = rlx_kgen_new_reg(w, rlx_kernel_elems[b->elem].klass, RLX_KERNEL_VIEW_REG);
    const rlx_prim *value = s->value;
    rlx_kgen_memo *before = rlx_kgen_recall(w, value);
    RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_VIEW_OUT, view, b->index, at);
    size_t from = rlx_kgen_length(w, w->nest->strip_level);
    rlx_kgen_value v = rlx_kgen_expr(w, value, RLX_KGEN_ALWAYS);
    if (rlx_kgen_failed(w))
        return;
    size_t last = before || !rlx_kgen_num_operands(value) ? SIZE_MAX : last_instruction(w, from);
    if (last != SIZE_MAX && redirect_to_view(w, v, last, view)) {
        rlx_kgen_free_temp(w, v);
        rlx_kgen_forget(w, value);
        return;
    }
    RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_MOVE_I32 + v.klass, view,
            rlx_kgen_widen(w, v).reg);
    rlx_kgen_done(w, value);
}

/* The value of a store that narrows what it stores by itself: an instruction that does so last goes, if nothing else reads what it gives. */
static rlx_kgen_value value_to_narrow(rlx_kgen *w, const rlx_prim *value, enum rlx_kernel_elem e)
{
    rlx_kgen_words *code = &w->levels[w->nest->strip_level].code;
    size_t from = code->len;
    bool known = rlx_kgen_recall(w, value) || !rlx_kgen_num_operands(value);
    rlx_kgen_value v = rlx_kgen_expr(w, value, RLX_KGEN_ALWAYS);
    if (rlx_kgen_failed(w) || known || !v.wide || v.view || !rlx_kgen_narrowing(e))
        return v;
    const rlx_kgen_memo *m = rlx_kgen_recall(w, value);
    size_t last = last_instruction(w, from);
    if (last >= code->len || code->data[last] != rlx_kgen_narrowing(e) || code->data[last + 1] != v.reg || (m && m->uses != 1))
        return v;
    /* what is stored is where that instruction has it from, perhaps memory */
    v.reg = code->data[last + 2];
    v.view = w->regs.data[v.reg] & RLX_KERNEL_VIEW_REG;
    code->len = last;
    return v;
}

static void store_strip(rlx_kgen *w, const rlx_kgen_buffer *b, const place_of *p, rlx_kgen_value v)
{
    v = rlx_kgen_widen(w, v);
    uint32_t at = strip_offset(w, p);
    if (rlx_is_int_value(p->stride, 1))
        RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_STORE, b->index, at, v.reg);
    else
        RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_STORE_STRIDED, b->index, at,
                rlx_kgen_int64(w, p->stride).reg, v.reg);
}

static void store_each(rlx_kgen *w, const rlx_kgen_buffer *b, const place_of *p, rlx_kgen_value v)
{
    bool wide = p->off.wide || v.wide || (!rlx_kgen_is_always(p->mask) && p->mask.wide);
    rlx_kgen_value at = p->off, mask = p->mask;
    v = rlx_kgen_real(w, v);
    if (wide) {
        v = rlx_kgen_widen(w, v);
        at = rlx_kgen_widen(w, at);
        mask = rlx_kgen_is_always(mask) ? mask : rlx_kgen_widen(w, mask);
    }
    RLX_KGEN_EMIT(w, w->top, RLX_K_STORE_EACH, b->index, at.reg, mask.reg, v.reg);
    rlx_kgen_free_temp(w, p->off);
}

/* A row to where p is, and to where the strip moves it, from where the load is. */
static void store_rows(rlx_kgen *w, const rlx_kgen_buffer *b, const place_of *to, const rlx_buffer_load *l)
{
    rlx_kgen_buffer *source = rlx_kgen_buffer_of(w, l->buffer);
    const rlx_prim *stride = to->stride ? to->stride : rlx_int64(w->ctx, 0), *one = rlx_int64(w->ctx, 1);
    place_of from, moving = *to;
    if (!source || !stride || !one || !find_place(w, source, l->indices, l->num_indices, RLX_KGEN_ALWAYS, &from))
        return;
    if (to->how == AT_EACH) {
        rlx_kgen_fail(w, "rows of %s cannot be copied", source->buffer->name ? source->buffer->name->data : "?");
        return;
    }
    if (from.how == AT_STRIP) { /* what computes its index is the same for all rows */
        rlx_kgen_value each = rlx_kgen_dest(w, RLX_CLASS_I64, RELAX_INT64, true, w->nest->strip_level);
        uint32_t first = strip_offset(w, &from), apart = rlx_kgen_int64(w, from.stride).reg;
        RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_IOTA, each.reg, first, apart);
        from.off = each;
    }
    moving.stride = stride;
    uint32_t at = strip_offset(w, &moving), step = rlx_kgen_int64(w, stride).reg,
             length = rlx_kgen_int64(w, w->nest->plan->loops[w->nest->plan->row].extent).reg;
    RLX_KGEN_EMIT(w, w->nest->strip_level, RLX_K_COPY_ROWS, b->index, at, step, source->index,
                  rlx_kgen_widen(w, from.off).reg, length);
    if (from.how != AT_ONE)
        rlx_kgen_free_temp(w, from.off);
}

/* Each element is added to what is there. */
static bool add_each(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_buffer_store *s, const place_of *p)
{
    const rlx_kgen_value v = rlx_kgen_widen(w, rlx_kgen_real(w, rlx_kgen_expr(w, rlx_as_binary(s->value)->b, RLX_KGEN_ALWAYS)));
    if (rlx_kgen_failed(w))
        return false;
    RLX_KGEN_EMIT(w, w->top, RLX_K_ADD_EACH, b->index, rlx_kgen_widen(w, p->off).reg, v.reg);
    rlx_kgen_free_temp(w, p->off);
    rlx_kgen_done(w, rlx_as_binary(s->value)->b);
    rlx_kgen_forget_loads(w);
    return true;
}

/* The instruction for bools that lie in memory, and its operands. */
static unsigned logic_of(const rlx_prim *value, const rlx_prim **of)
{
    static const struct { uint16_t kind, op; const char *call; } rows[] = {
        { RLX_NODE_AND, RLX_K_AND_BOOL, "bitwise_and" }, { RLX_NODE_OR, RLX_K_OR_BOOL, "bitwise_or" },
        { RLX_NODE_NE, RLX_K_XOR_BOOL, "bitwise_xor" }, { RLX_NODE_NOT, RLX_K_NOT_BOOL, "bitwise_not" },
    };
    const rlx_prim_call *call = rlx_as_prim_call(value);
    for (size_t i = 0; i < RLX_COUNT(rows); i++) {
        if (call ? !call->op || !rlx_slice_is(rlx_string_slice(call->op), rows[i].call) : value->kind != rows[i].kind)
            continue;
        of[0] = rlx_tir_operand(value, 0);
        of[1] = rlx_tir_num_operands(value) > 1 ? rlx_tir_operand(value, 1) : NULL;
        return rows[i].op;
    }
    return 0;
}

/* A strip of bools that is one operation of others in memory: bytes are made of bytes. False: it is something else. */
static bool store_logic(rlx_kgen *w, const rlx_kgen_buffer *b, const rlx_buffer_store *s, const place_of *p)
{
    const rlx_prim *of[2] = { NULL, NULL };
    const unsigned op = b->elem == RLX_ELEM_BOOL ? logic_of(s->value, of) : 0;
    const rlx_kgen_buffer *from[2] = { NULL, NULL };
    place_of places[2];
    uint32_t x[3];
    for (int i = 0; op && i < 2 && of[i]; i++) {
        const rlx_buffer_load *l = rlx_as_buffer_load(of[i]);
        from[i] = l && !l->predicate ? rlx_kgen_buffer_of(w, l->buffer) : NULL;
        if (!from[i] || from[i]->elem != RLX_ELEM_BOOL || !are_proved(w, from[i], l->indices, l->num_indices) ||
            !find_place(w, from[i], l->indices, l->num_indices, RLX_KGEN_ALWAYS, &places[i]) || places[i].how != AT_STRIP ||
            !rlx_is_int_value(places[i].stride, 1))
            return false;
    }
    for (int i = 0; op && i < 3 && (i == 0 || from[i - 1]); i++) {
        const uint32_t at = strip_offset(w, i ? &places[i - 1] : p);
        x[i] = rlx_kgen_new_reg(w, RLX_CLASS_I32, RLX_KERNEL_VIEW_REG | RLX_KERNEL_BYTE_REG);
        RLX_KGEN_EMIT(w, w->nest->strip_level, i ? RLX_K_VIEW : RLX_K_VIEW_OUT, x[i], (i ? from[i - 1] : b)->index, at);
    }
    if (op)
        rlx_kgen_emit(w, w->nest->strip_level, op, x);
    return op != 0;
}

bool rlx_kgen_store(rlx_kgen *w, const rlx_buffer_store *s, rlx_kgen_value mask)
{
    rlx_kgen_buffer *b = rlx_kgen_buffer_of(w, s->buffer);
    place_of p;
    rlx_kgen_begin_statement(w, &s->node);
    if (!b || !find_place(w, b, s->indices, s->num_indices, mask, &p))
        return false;
    if (rlx_prim_dtype(s->value) != rlx_kernel_elems[b->elem].dtype)
        return rlx_kgen_fail(w, "a store to %s has another dtype",
                             b->buffer->name ? b->buffer->name->data : "?");
    if (w->rows.data[b->index].kind == RLX_KERNEL_BUFFER_CONST)
        return rlx_kgen_fail(w, "a store to the constant %s",
                             b->buffer->name ? b->buffer->name->data : "?");
    if (w->nest && w->nest->plan->adds)
        return add_each(w, b, s, &p);
    if (w->nest && w->nest->plan->row >= 0)
        store_rows(w, b, &p, rlx_as_buffer_load(s->value));
    else if (p.how == AT_STRIP && rlx_is_int_value(p.stride, 1) && is_native(b->elem))
        store_through(w, b, s, &p);
    else if (!(p.how == AT_STRIP && rlx_is_int_value(p.stride, 1) && store_logic(w, b, s, &p))) {
        bool narrow = p.how == AT_STRIP && rlx_kgen_is_always(mask);
        rlx_kgen_value v = narrow ? value_to_narrow(w, s->value, b->elem) : rlx_kgen_expr(w, s->value, mask);
        if (rlx_kgen_failed(w))
            return false;
        if (p.how == AT_STRIP)
            store_strip(w, b, &p, v);
        else if (p.how == AT_EACH)
            store_each(w, b, &p, v);
        else if (v.wide)
            return rlx_kgen_fail(w, "a store of many values to one place");
        else
            RLX_KGEN_EMIT(w, w->top, RLX_K_STORE, b->index, p.off.reg, v.reg);
        rlx_kgen_done(w, s->value);
    }
    rlx_kgen_forget_loads(w);
    return !rlx_kgen_failed(w);
}
