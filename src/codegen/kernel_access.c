/* kernel_access.c: indices, range checks, loads and stores of kernels. */
#include "codegen/kernel_writer_int.h"

#define MAX_LOAD_DEPTH 32 /* loads in indices of loads: bounds the recursion */

/* ---- indices -------------------------------------------------------------------------------- */

const rlx_prim *kw_wide_index(kw *w, const rlx_prim *p)
{
    size_t errors = rlx_error_count(w->ctx);
    const rlx_prim *q = p ? rlx_fold_cast(w->ctx, RELAX_INT64, p) : NULL;
    char type[RLX_DTYPE_TEXT];
    if (!q && p && errors == rlx_error_count(w->ctx)) {
        rlx_dtype_name(rlx_prim_dtype(p), type);
        kw_fail(w, "an index of type %s is not supported in kernels", type);
    } else if (!q) {
        kw_no_memory(w);
    }
    return q;
}

kw_value kw_int64(kw *w, const rlx_prim *p)
{
    const rlx_prim *q = kw_wide_index(w, p);
    kw_value v = q && !w->failed ? kw_expr(w, q, KW_ALWAYS) : kw_failure();
    if (v.wide && !w->failed)
        kw_fail(w, "a size depends on the inner loop");
    return v;
}

typedef struct available { const kw *w; int32_t level; bool no; } available;

static enum rlx_step check_available(void *user, const rlx_node *n, const rlx_field *via,
                                     const rlx_node *parent)
{
    available *a = user;
    uintptr_t at;
    if (n->kind == RLX_NODE_BUFFER_LOAD || n->kind == RLX_NODE_PRIM_LET)
        a->no = true;
    if (n->kind == RLX_NODE_PRIM_VAR)
        a->no = !rlx_ptrmap_find(&a->w->vars, n, &at) ||
                a->w->var_values.data[at - 1].level > a->level ||
                a->w->var_values.data[at - 1].wide;
    return a->no ? RLX_STEP_STOP : RLX_STEP_ON;
}

/* Can it be computed in front of the nest, without touching memory or failing? */
static bool is_available(kw *w, const rlx_prim *p, int32_t level)
{
    if (p->kind == RLX_NODE_INT_IMM)
        return true;
    available a = { w, level, false };
    rlx_walker walker = { .enter = check_available, .user = &a, .unique = true };
    return rlx_walk(&w->ctx->memory, p, &walker, NULL) != RLX_STEP_STOP && !a.no;
}

static bool affine(kw *w, const kw_nest *n, const rlx_prim *index, rlx_tir_affine *a)
{
    const rlx_prim *vars[KW_MAX_NEST];
    for (size_t i = 0; i < n->count; i++)
        vars[i] = n->loops[i].var;
    if (!rlx_tir_affine_of(w->ctx, index, vars, n->count, a) ||
        !is_available(w, a->base, n->level))
        return false;
    for (size_t i = 0; i < n->count; i++)
        if (a->coeff[i] && !is_available(w, a->coeff[i], n->level))
            return false;
    return true;
}

static const rlx_prim *plus(kw *w, const rlx_prim *a, const rlx_prim *b)
{
    return !a ? b : !b ? a : rlx_fold_add(w->ctx, a, b);
}

static const rlx_prim *times(kw *w, const rlx_prim *a, const rlx_prim *b)
{
    return a && b ? rlx_fold_mul(w->ctx, kw_wide_index(w, a), b) : NULL;
}

bool kw_flatten(kw *w, const kw_nest *n, const kw_buffer *b, const rlx_prim *const *indices,
                size_t count, kw_flat *out)
{
    *out = (kw_flat){ .base = rlx_int64(w->ctx, 0) };
    for (size_t d = 0; d < count; d++) {
        rlx_tir_affine a;
        if (!affine(w, n, indices[d], &a))
            return false;
        out->base = plus(w, out->base, times(w, a.base, b->strides[d]));
        for (size_t i = 0; i < n->count; i++)
            if (a.coeff[i])
                out->coeff[i] = plus(w, out->coeff[i], times(w, a.coeff[i], b->strides[d]));
    }
    return out->base != NULL && !w->failed;
}

static const rlx_prim *last_of(kw *w, const kw_loop *l)
{
    return rlx_fold_sub(w->ctx, rlx_fold_add(w->ctx, l->min, l->extent), rlx_int64(w->ctx, 1));
}

/* Is p surely >= low? Literals, and differences that simplify to one. */
static bool surely_at_least(kw *w, const rlx_prim *p, int64_t low)
{
    int64_t v;
    if (rlx_int_literal(p, &v))
        return v >= low;
    const rlx_prim *q = rlx_simplify(w->ctx, NULL, p);
    return rlx_int_literal(q, &v) && v >= low;
}

static bool box_of(kw *w, const kw_nest *n, const rlx_prim *index, const rlx_prim **low,
                   const rlx_prim **high)
{
    rlx_tir_affine a;
    if (!affine(w, n, index, &a))
        return false;
    *low = *high = kw_wide_index(w, a.base);
    for (size_t i = 0; i < n->count; i++) {
        int64_t c;
        const kw_loop *l = &n->loops[i];
        if (!a.coeff[i])
            continue;
        if (!rlx_int_literal(a.coeff[i], &c))
            return false;
        const rlx_prim *k = rlx_int64(w->ctx, c), *first = times(w, k, l->min),
                       *last = times(w, k, last_of(w, l));
        *low = plus(w, *low, c > 0 ? first : last);
        *high = plus(w, *high, c > 0 ? last : first);
    }
    return *low && *high;
}

static bool check_dim_box(kw *w, const kw_nest *n, const kw_buffer *b, size_t d,
                          const rlx_prim *index)
{
    const rlx_prim *low, *high;
    if (!box_of(w, n, index, &low, &high))
        return false;
    const rlx_prim *room = rlx_fold_sub(w->ctx, b->shape[d], high);
    if (surely_at_least(w, low, 0) && surely_at_least(w, room, 1))
        return true;
    uint32_t lo = kw_int64(w, low).reg, hi = kw_int64(w, high).reg;
    KW_EMIT(w, n->level, RLX_K_CHECK, lo, hi, kw_int64(w, b->shape[d]).reg, b->index, (uint32_t)d);
    return true;
}

bool kw_check_box(kw *w, const kw_nest *n, const kw_buffer *b, const rlx_prim *const *indices,
                  size_t count)
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
    kw_value off;
    const rlx_prim *stride;        /* AT_STRIP: without variables of the nest */
    kw_value mask;
    bool loads;
} place_of;

static kw_value scalar_op(kw *w, unsigned op, kw_value a, kw_value b)
{
    kw_value d = kw_dest(w, RLX_CLASS_I64, RELAX_INT64, false, kw_later(a.level, b.level));
    d.loads = a.loads || b.loads;
    KW_EMIT(w, d.level, op, d.reg, a.reg, b.reg);
    return d;
}

static void check_scalar_index(kw *w, const kw_buffer *b, size_t d, const rlx_prim *index,
                               kw_value v)
{
    int64_t at, size;
    if (rlx_int_literal(index, &at) && rlx_int_literal(b->shape[d], &size) && at >= 0 && at < size)
        return;
    kw_value s = kw_int64(w, b->shape[d]);
    int32_t level = kw_later(kw_later(v.level, s.level), kw_floor_level(w, NULL));
    KW_EMIT(w, level, RLX_K_CHECK, v.reg, v.reg, s.reg, b->index, (uint32_t)d);
}

static void check_each_index(kw *w, const kw_buffer *b, size_t d, kw_value v, kw_value mask)
{
    kw_value s = kw_int64(w, b->shape[d]);
    bool wide = v.wide || (!kw_is_always(mask) && mask.wide);
    int32_t level =
        wide ? w->nest->strip_level
             : kw_later(kw_later(v.level, s.level),
                        kw_later(kw_floor_level(w, NULL), kw_is_always(mask) ? 0 : mask.level));
    kw_value index = wide ? kw_widen(w, v) : v;
    KW_EMIT(w, level, RLX_K_CHECK_EACH, index.reg, s.reg,
            kw_is_always(mask) ? KW_NO_REG : (wide ? kw_widen(w, mask) : mask).reg, b->index,
            (uint32_t)d);
}

/* Offset = sum of index * stride, element by element. */
static bool place_each(kw *w, const kw_buffer *b, const rlx_prim *const *indices, size_t count,
                       kw_value mask, const bool *boxed, place_of *out)
{
    kw_value sum = kw_literal(w, RLX_CLASS_I64, RELAX_INT64, 0);
    bool own = false; /* sum is a temporary of ours */
    for (size_t d = 0; d < count && !w->failed; d++) {
        const rlx_prim *index = kw_wide_index(w, indices[d]);
        kw_value v = kw_real(w, kw_expr(w, index, mask));
        if (w->failed)
            return false;
        out->loads |= v.loads;
        if (!boxed[d])
            check_each_index(w, b, d, v, mask);
        kw_value part = v;
        bool part_own = !rlx_is_int_value(b->strides[d], 1);
        if (part_own)
            part = kw_apply2(w, RLX_K_MUL_I64, RLX_CLASS_I64, RELAX_INT64, v,
                             kw_int64(w, b->strides[d]));
        kw_value next = kw_apply2(w, RLX_K_ADD_I64, RLX_CLASS_I64, RELAX_INT64, sum, part);
        if (own)
            kw_free_temp(w, sum);
        if (part_own)
            kw_free_temp(w, part);
        sum = next;
        own = true;
    }
    out->how = AT_EACH;
    out->off = sum;
    out->mask = mask;
    return !w->failed;
}

/* Offset as start and stride: dimensions that the nest runs through evenly, and others that are
 * the same all along. */
static bool place_even(kw *w, const kw_buffer *b, const rlx_prim *const *indices,
                       const kw_value *values, const bool *boxed, size_t count, place_of *out)
{
    const kw_nest *n = w->nest;
    const rlx_prim *even = rlx_int64(w->ctx, 0), *stride = NULL;
    for (size_t d = 0; d < count; d++) {
        kw_flat f;
        if (!boxed[d])
            continue;
        kw_buffer one = { .strides = { b->strides[d] } };
        if (!kw_flatten(w, n, &one, &indices[d], 1, &f))
            return w->failed ? false
                             : kw_fail(w, "an index of %s cannot be computed",
                                       b->buffer->name ? b->buffer->name->data : "?");
        even = plus(w, even, f.base);
        for (size_t i = 0; i < n->count; i++) {
            const kw_loop *l = &n->loops[i];
            bool is_strip = (int)i == n->strip && n->strip_level >= 0;
            if (f.coeff[i])
                even =
                    plus(w, even, times(w, is_strip || l->merged ? l->min : l->var, f.coeff[i]));
            if (f.coeff[i] && is_strip)
                stride = plus(w, stride, f.coeff[i]);
        }
    }
    kw_value off = kw_int64(w, even);
    for (size_t d = 0; d < count && !w->failed; d++)
        if (!boxed[d]) {
            kw_value part = rlx_is_int_value(b->strides[d], 1)
                                ? values[d]
                                : scalar_op(w, RLX_K_XMUL, values[d], kw_int64(w, b->strides[d]));
            off = scalar_op(w, RLX_K_XADD, off, part);
        }
    out->off = off;
    out->loads |= off.loads;
    out->stride = stride && !rlx_is_int_value(stride, 0) ? stride : NULL;
    out->how = out->stride ? AT_STRIP : AT_ONE;
    out->mask = KW_ALWAYS;
    return !w->failed;
}

static bool locate(kw *w, const kw_buffer *b, const rlx_prim *const *indices, size_t count,
                   kw_value mask, place_of *out)
{
    bool boxed[RLX_TIR_MAX_DIMS] = { false }, each = !kw_is_always(mask);
    kw_value values[RLX_TIR_MAX_DIMS];
    *out = (place_of){ .how = AT_ONE };
    if (count != b->buffer->num_shape)
        return kw_fail(w, "%s has %zu dimensions and is accessed with %zu indices",
                       b->buffer->name ? b->buffer->name->data : "?", b->buffer->num_shape, count);
    for (size_t d = 0; d < count && !each; d++) {
        boxed[d] = w->nest && check_dim_box(w, w->nest, b, d, indices[d]);
        if (boxed[d])
            continue;
        values[d] = kw_real(w, kw_expr(w, kw_wide_index(w, indices[d]), KW_ALWAYS));
        if (w->failed)
            return false;
        each = values[d].wide;
        out->loads |= values[d].loads;
        if (!each)
            check_scalar_index(w, b, d, indices[d], values[d]);
    }
    if (w->failed)
        return false;
    return each ? place_each(w, b, indices, count, mask, boxed, out)
                : place_even(w, b, indices, values, boxed, count, out);
}

/* Start offset of the strip at work. */
static uint32_t strip_offset(kw *w, const place_of *p)
{
    const kw_nest *n = w->nest;
    uint32_t at = kw_new_reg(w, RLX_CLASS_I64, 0);
    if (rlx_is_int_value(p->stride, 1))
        KW_EMIT(w, n->strip_level, RLX_K_XADD, at, n->strip_reg, p->off.reg);
    else
        KW_EMIT(w, n->strip_level, RLX_K_XMADD, at, n->strip_reg, kw_int64(w, p->stride).reg,
                p->off.reg);
    return at;
}

/* Memory that already is what a register holds. */
static bool is_native(enum rlx_kernel_elem e)
{
    return e == RLX_ELEM_I32 || e == RLX_ELEM_I64 || e == RLX_ELEM_U64 || e == RLX_ELEM_F32 ||
           e == RLX_ELEM_F64;
}

static kw_value load_at(kw *w, const kw_buffer *b, const rlx_node *buffer, const place_of *p)
{
    unsigned klass = rlx_kernel_elems[b->elem].klass;
    rlx_dtype dtype = rlx_kernel_elems[b->elem].dtype;
    kw_value d;
    if (p->how == AT_ONE) {
        d = kw_dest(w, klass, dtype, false, kw_later(p->off.level, kw_floor_level(w, buffer)));
        KW_EMIT(w, d.level, RLX_K_LOAD, d.reg, b->index, p->off.reg);
    } else if (p->how == AT_EACH) {
        bool wide = p->off.wide || (!kw_is_always(p->mask) && p->mask.wide);
        int32_t level = kw_later(kw_later(p->off.level, kw_floor_level(w, buffer)),
                                 kw_is_always(p->mask) ? 0 : p->mask.level);
        d = kw_dest(w, klass, dtype, wide, wide ? w->nest->strip_level : level);
        KW_EMIT(w, d.level, RLX_K_LOAD_EACH, d.reg, b->index,
                (wide ? kw_widen(w, p->off) : p->off).reg,
                kw_is_always(p->mask) ? KW_NO_REG : (wide ? kw_widen(w, p->mask) : p->mask).reg);
        d.guard = p->mask.serial;
        kw_free_temp(w, p->off);
    } else if (rlx_is_int_value(p->stride, 1) && is_native(b->elem)) {
        uint32_t at = strip_offset(w, p);
        d = kw_dest(w, klass, dtype, false, w->nest->strip_level);
        d.wide = d.view = true;
        d.reg = kw_new_reg(w, klass, RLX_KERNEL_VIEW_REG);
        KW_EMIT(w, d.level, RLX_K_VIEW, d.reg, b->index, at);
    } else {
        uint32_t at = strip_offset(w, p);
        d = kw_dest(w, klass, dtype, true, w->nest->strip_level);
        if (rlx_is_int_value(p->stride, 1))
            KW_EMIT(w, d.level, RLX_K_LOAD, d.reg, b->index, at);
        else
            KW_EMIT(w, d.level, RLX_K_LOAD_STRIDED, d.reg, b->index, at,
                    kw_int64(w, p->stride).reg);
    }
    d.loads = true;
    return d;
}

kw_value kw_load(kw *w, const rlx_buffer_load *l, kw_value mask)
{
    kw_buffer *b = kw_buffer_of(w, l->buffer);
    place_of p;
    if (!b)
        return kw_failure();
    if (l->predicate) {
        kw_fail(w, "a predicated load is not supported in kernels");
        return kw_failure();
    }
    if (w->load_depth >= MAX_LOAD_DEPTH) {
        kw_too_large(w, "loads inside each other");
        return kw_failure();
    }
    w->load_depth++;
    bool ok = locate(w, b, l->indices, l->num_indices, mask, &p);
    w->load_depth--;
    return ok ? load_at(w, b, l->buffer, &p) : kw_failure();
}

/* ---- stores --------------------------------------------------------------------------------- */

/* The last instruction, if it made the strip `v` alone and can write to memory instead. */
static bool redirect(kw *w, kw_value v, size_t last, uint32_t view)
{
    kw_words *code = &w->levels[w->nest->strip_level].code;
    if (w->failed || !v.wide || v.view || last >= code->len ||
        code->data[last] < RLX_K_FIRST_VALUE || code->data[last + 1] != v.reg)
        return false;
    code->data[last + 1] = (uint16_t)view;
    return true;
}

/* Position of the last instruction of the strip's code from `from` on. */
static size_t last_instruction(const kw *w, size_t from)
{
    const kw_words *code = &w->levels[w->nest->strip_level].code;
    size_t last = SIZE_MAX;
    while (from < code->len) {
        last = from;
        from += rlx_kernel_op_words(code->data[from]);
    }
    return last;
}

/* Into contiguous memory of the register's own kind: the last operation writes there. */
static void store_through(kw *w, const kw_buffer *b, const rlx_buffer_store *s, const place_of *p)
{
    uint32_t at = strip_offset(w, p),
             view = kw_new_reg(w, rlx_kernel_elems[b->elem].klass, RLX_KERNEL_VIEW_REG);
    const rlx_prim *value = s->value;
    kw_memo *before = kw_recall(w, value);
    KW_EMIT(w, w->nest->strip_level, RLX_K_VIEW_OUT, view, b->index, at);
    size_t from = kw_length(w, w->nest->strip_level);
    kw_value v = kw_expr(w, value, KW_ALWAYS);
    if (w->failed)
        return;
    size_t last = before || !kw_num_operands(value) ? SIZE_MAX : last_instruction(w, from);
    if (last != SIZE_MAX && redirect(w, v, last, view)) {
        kw_free_temp(w, v);
        kw_forget(w, value);
        return;
    }
    KW_EMIT(w, w->nest->strip_level, RLX_K_MOVE_I32 + v.klass, view, kw_widen(w, v).reg);
    kw_done(w, value);
}

static void store_strip(kw *w, const kw_buffer *b, const place_of *p, kw_value v)
{
    v = kw_widen(w, kw_real(w, v));
    uint32_t at = strip_offset(w, p);
    if (rlx_is_int_value(p->stride, 1))
        KW_EMIT(w, w->nest->strip_level, RLX_K_STORE, b->index, at, v.reg);
    else
        KW_EMIT(w, w->nest->strip_level, RLX_K_STORE_STRIDED, b->index, at,
                kw_int64(w, p->stride).reg, v.reg);
}

static void store_each(kw *w, const kw_buffer *b, const place_of *p, kw_value v)
{
    bool wide = p->off.wide || v.wide || (!kw_is_always(p->mask) && p->mask.wide);
    kw_value at = p->off, mask = p->mask;
    v = kw_real(w, v);
    if (wide) {
        v = kw_widen(w, v);
        at = kw_widen(w, at);
        mask = kw_is_always(mask) ? mask : kw_widen(w, mask);
    }
    KW_EMIT(w, w->top, RLX_K_STORE_EACH, b->index, at.reg, mask.reg, v.reg);
    kw_free_temp(w, p->off);
}

bool kw_store(kw *w, const rlx_buffer_store *s, kw_value mask)
{
    kw_buffer *b = kw_buffer_of(w, s->buffer);
    place_of p;
    kw_begin_statement(w, &s->node);
    if (!b || !locate(w, b, s->indices, s->num_indices, mask, &p))
        return false;
    if (rlx_prim_dtype(s->value) != rlx_kernel_elems[b->elem].dtype)
        return kw_fail(w, "a store to %s has another dtype",
                       b->buffer->name ? b->buffer->name->data : "?");
    if (w->rows.data[b->index].kind == RLX_KERNEL_BUFFER_CONST)
        return kw_fail(w, "a store to the constant %s",
                       b->buffer->name ? b->buffer->name->data : "?");
    if (p.how == AT_STRIP && rlx_is_int_value(p.stride, 1) && is_native(b->elem))
        store_through(w, b, s, &p);
    else {
        kw_value v = kw_expr(w, s->value, mask);
        if (w->failed)
            return false;
        if (p.how == AT_STRIP)
            store_strip(w, b, &p, v);
        else if (p.how == AT_EACH)
            store_each(w, b, &p, v);
        else if (v.wide)
            return kw_fail(w, "a store of many values to one place");
        else
            KW_EMIT(w, w->top, RLX_K_STORE, b->index, p.off.reg, v.reg);
        kw_done(w, s->value);
    }
    kw_forget_loads(w);
    return !w->failed;
}
