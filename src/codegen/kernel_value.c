/* kernel_value.c: one operation of a kernel: its registers, its level, its mask, its dtype. */
#include "codegen/kernel_writer_int.h"

/* The outermost level that runs whenever the top one does; for loads also: where nothing below
 * stores to the buffer. */
int32_t kw_floor_level(const kw *w, const rlx_node *loaded)
{
    int32_t l = w->top;
    while (l > 0 && w->levels[l].sure &&
           !(loaded && w->levels[l].nest && rlx_ptrmap_has(&w->levels[l].nest->stored, loaded)))
        l--;
    return l;
}

/* ---- operations ----------------------------------------------------------------------------- */

kw_value kw_dest(kw *w, unsigned klass, rlx_dtype dtype, bool wide, int32_t level)
{
    uint32_t reg = wide ? kw_new_strip(w, klass, false) : kw_new_reg(w, klass, 0);
    return (kw_value){
        .reg = reg, .level = level, .klass = (uint8_t)klass, .wide = wide, .dtype = dtype
    };
}

/* A scalar in all lanes; made in front of the strip loop, as early as its value is known. */
kw_value kw_widen(kw *w, kw_value v)
{
    if (v.wide || w->failed || !w->nest)
        return v;
    const void *key = (const void *)((uintptr_t)v.reg + 1);
    uintptr_t at;
    kw_value strip = v;
    strip.wide = true;
    if (rlx_ptrmap_find(&w->broadcasts, key, &at)) {
        strip.reg = (uint32_t)at - 1;
        return strip;
    }
    int32_t level = kw_later(v.level, w->nest->level);
    strip.level = w->nest->strip_level;
    strip.reg = kw_new_strip(w, v.klass, true);
    KW_EMIT(w, level, RLX_K_BROADCAST, strip.reg, v.reg, w->nest->extent_reg);
    /* one made in the strip itself is made anew each time: only this use may count on it */
    if (level < w->nest->strip_level &&
        !rlx_ptrmap_put(&w->broadcasts, key, (uintptr_t)strip.reg + 1))
        kw_no_memory(w);
    return strip;
}

/* Index arithmetic has instructions of its own for scalars. */
static unsigned scalar_form(unsigned op)
{
    switch (op) {
    case RLX_K_ADD_I64: return RLX_K_XADD;
    case RLX_K_SUB_I64: return RLX_K_XSUB;
    case RLX_K_MUL_I64: return RLX_K_XMUL;
    case RLX_K_MIN_I64: return RLX_K_XMIN;
    case RLX_K_MAX_I64: return RLX_K_XMAX;
    case RLX_K_MOVE_I64: return RLX_K_XMOVE;
    default: return op;
    }
}

/* `masked`: the instruction ends with a mask and may fail. Temporaries among the operands are
 * the caller's. */
kw_value kw_apply(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value *v, int n,
                  bool masked, kw_value mask)
{
    bool wide = masked && !kw_is_always(mask) && mask.wide, loads = false;
    int32_t level = 0;
    uint32_t operands[6];
    for (int i = 0; i < n; i++) {
        wide |= v[i].wide;
        loads |= v[i].loads;
        level = kw_later(level, v[i].level);
    }
    if (masked)
        level = kw_later(kw_is_always(mask) ? level : kw_later(level, mask.level),
                         kw_floor_level(w, NULL));
    if (wide && !w->nest)
        return kw_failure();
    level = wide ? w->nest->strip_level : level;
    for (int i = 0; i < n; i++)
        operands[1 + i] = (wide ? kw_widen(w, v[i]) : v[i]).reg;
    if (masked)
        operands[1 + n] = kw_is_always(mask) ? KW_NO_REG : (wide ? kw_widen(w, mask) : mask).reg;
    kw_value d = kw_dest(w, klass, dtype, wide, level);
    d.loads = loads;
    d.guard = masked ? mask.serial : 0;
    operands[0] = d.reg;
    kw_emit(w, level, wide ? op : scalar_form(op), operands);
    return d;
}

kw_value kw_apply1(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value a)
{
    return kw_apply(w, op, klass, dtype, &a, 1, false, KW_ALWAYS);
}

kw_value kw_apply2(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value a, kw_value b)
{
    kw_value v[2] = { a, b };
    return kw_apply(w, op, klass, dtype, v, 2, false, KW_ALWAYS);
}

void kw_free_temp(kw *w, kw_value v)
{
    if (v.wide && !v.view)
        kw_free_strip(w, v.reg);
}

/* The next step on a value nobody else has. */
kw_value kw_step(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value v)
{
    if (v.wide && !v.view)
        kw_free_strip(w, v.reg);
    kw_value d = kw_apply1(w, op, klass, dtype, v);
    d.guard = v.guard;
    return d;
}

kw_value kw_real(kw *w, kw_value v)
{
    return v.view ? kw_apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, v.dtype, v) : v;
}

kw_value kw_and(kw *w, kw_value mask, kw_value cond, bool negate)
{
    kw_value both = kw_real(w, cond);
    if (negate) {
        kw_value zero = { .reg = kw_const(w, RLX_CLASS_I32, 0), .klass = RLX_CLASS_I32 };
        both = kw_apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, RELAX_BOOL, both, zero);
    }
    if (!kw_is_always(mask)) {
        kw_value side = both;
        both = kw_apply2(w, RLX_K_AND_I32, RLX_CLASS_I32, RELAX_BOOL, mask, side);
        if (negate)
            kw_free_temp(w, side);
    }
    both.serial = ++w->num_masks; /* registers serve again, numbers do not */
    return both;
}

kw_value kw_literal(kw *w, unsigned klass, rlx_dtype dtype, uint64_t bits)
{
    return (kw_value){ .reg = kw_const(w, klass, bits), .klass = (uint8_t)klass, .dtype = dtype };
}

/* ---- dtypes --------------------------------------------------------------------------------- */

enum rlx_kernel_elem kw_elem_of(kw *w, rlx_dtype dtype)
{
    enum rlx_kernel_elem e = rlx_kernel_elem_of(dtype);
    if (e == RLX_ELEM_COUNT) {
        char text[RLX_DTYPE_TEXT];
        rlx_dtype_name(dtype, text);
        kw_fail(w, "kernels do not compute with %s", text);
        return RLX_ELEM_I64;
    }
    return e;
}

/* Back to the narrow type after an operation of its class; 0: nothing to do. */
static unsigned narrowing(enum rlx_kernel_elem e)
{
    switch (e) {
    case RLX_ELEM_I8: return RLX_K_WRAP_I8;
    case RLX_ELEM_U8: return RLX_K_WRAP_U8;
    case RLX_ELEM_I16: return RLX_K_WRAP_I16;
    case RLX_ELEM_U16: return RLX_K_WRAP_U16;
    case RLX_ELEM_U32: return RLX_K_WRAP_U32;
    case RLX_ELEM_F16: return RLX_K_ROUND_F16;
    case RLX_ELEM_BF16: return RLX_K_ROUND_BF16;
    default: return 0;
    }
}

kw_value kw_narrow(kw *w, kw_value v, enum rlx_kernel_elem e)
{
    unsigned op = narrowing(e);
    return op ? kw_step(w, op, v.klass, v.dtype, v) : v;
}

static unsigned float_to_int(enum rlx_kernel_elem e)
{
    static const uint16_t ops[RLX_ELEM_COUNT] = {
        [RLX_ELEM_I8] = RLX_K_F64_TO_I8,   [RLX_ELEM_U8] = RLX_K_F64_TO_U8,
        [RLX_ELEM_I16] = RLX_K_F64_TO_I16, [RLX_ELEM_U16] = RLX_K_F64_TO_U16,
        [RLX_ELEM_I32] = RLX_K_F64_TO_I32, [RLX_ELEM_U32] = RLX_K_F64_TO_U32,
        [RLX_ELEM_I64] = RLX_K_F64_TO_I64, [RLX_ELEM_U64] = RLX_K_F64_TO_U64,
    };
    return ops[e];
}

static kw_value int_to_float(kw *w, kw_value v, enum rlx_kernel_elem from, enum rlx_kernel_elem to,
                             rlx_dtype dtype)
{
    unsigned f32 = v.klass == RLX_CLASS_I32 ? RLX_K_I32_TO_F32
                   : from == RLX_ELEM_U64   ? RLX_K_U64_TO_F32
                                            : RLX_K_I64_TO_F32;
    unsigned f64 = v.klass == RLX_CLASS_I32 ? RLX_K_I32_TO_F64
                   : from == RLX_ELEM_U64   ? RLX_K_U64_TO_F64
                                            : RLX_K_I64_TO_F64;
    if (to == RLX_ELEM_F32)
        return kw_apply1(w, f32, RLX_CLASS_F32, dtype, v);
    kw_value d = kw_apply1(w, f64, RLX_CLASS_F64, dtype, v);
    if (to == RLX_ELEM_F64)
        return d;
    return kw_step(w, to == RLX_ELEM_F16 ? RLX_K_ROUND_F64_F16 : RLX_K_ROUND_F64_BF16,
                   RLX_CLASS_F32, dtype, d);
}

static kw_value float_to_float(kw *w, kw_value v, enum rlx_kernel_elem to, rlx_dtype dtype)
{
    if (to == RLX_ELEM_F64)
        return kw_apply1(w, RLX_K_F32_TO_F64, RLX_CLASS_F64, dtype, v);
    if (v.klass == RLX_CLASS_F64) {
        unsigned op = to == RLX_ELEM_F16    ? RLX_K_ROUND_F64_F16
                      : to == RLX_ELEM_BF16 ? RLX_K_ROUND_F64_BF16
                                            : RLX_K_F64_TO_F32;
        return kw_apply1(w, op, RLX_CLASS_F32, dtype, v);
    }
    return kw_apply1(w, narrowing(to) ? narrowing(to) : RLX_K_MOVE_F32, RLX_CLASS_F32, dtype, v);
}

kw_value kw_int_to_int(kw *w, kw_value v, enum rlx_kernel_elem to, rlx_dtype dtype)
{
    unsigned klass = rlx_kernel_elems[to].klass;
    if (v.klass != klass) {
        kw_value d = kw_apply1(w, klass == RLX_CLASS_I64 ? RLX_K_I32_TO_I64 : RLX_K_I64_TO_I32,
                               klass, dtype, v);
        return kw_narrow(w, d, to);
    }
    return kw_apply1(w, narrowing(to) ? narrowing(to) : RLX_K_MOVE_I32 + klass, klass, dtype, v);
}

kw_value kw_zero(kw *w, unsigned klass)
{
    return (kw_value){ .reg = kw_const(w, klass, 0), .klass = (uint8_t)klass };
}

/* A new value, never v's own register. */
kw_value kw_convert(kw *w, kw_value v, rlx_dtype from_dtype, rlx_dtype dtype)
{
    enum rlx_kernel_elem from = kw_elem_of(w, from_dtype), to = kw_elem_of(w, dtype);
    unsigned klass = rlx_kernel_elems[to].klass;
    if (to == RLX_ELEM_BOOL)
        return kw_apply2(w, RLX_K_NE_I32 + v.klass, RLX_CLASS_I32, dtype, v, kw_zero(w, v.klass));
    if (!kw_is_float(v.klass))
        return kw_is_float(klass) ? int_to_float(w, v, from, to, dtype)
                                  : kw_int_to_int(w, v, to, dtype);
    if (kw_is_float(klass))
        return float_to_float(w, v, to, dtype);
    if (v.klass == RLX_CLASS_F64)
        return kw_apply1(w, float_to_int(to), klass, dtype, v);
    kw_value d = kw_apply1(w, RLX_K_F32_TO_F64, RLX_CLASS_F64, dtype, v);
    return kw_step(w, float_to_int(to), klass, dtype, d);
}
