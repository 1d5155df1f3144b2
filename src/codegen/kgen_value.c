/* kgen_value.c: one operation of a kernel: its registers, its level, its mask, its dtype. */
#include "codegen/kgen_int.h"

/* The outermost level that runs whenever the top one does; for loads also: where nothing below
 * stores to the buffer. */
int32_t rlx_kgen_floor_level(const rlx_kgen *w, const rlx_node *loaded)
{
    int32_t l = w->top;
    while (l > 0 && w->levels[l].sure &&
           !(loaded && w->levels[l].nest &&
             rlx_ptrmap_has(&w->levels[l].nest->plan->stored, rlx_as_buffer(loaded)->data)))
        l--;
    return l;
}

/* ---- operations ----------------------------------------------------------------------------- */

rlx_kgen_value rlx_kgen_dest(rlx_kgen *w, unsigned klass, rlx_dtype dtype, bool wide, int32_t level)
{
    uint32_t reg = wide ? rlx_kgen_new_strip(w, klass) : rlx_kgen_new_reg(w, klass, 0);
    return (rlx_kgen_value){
        .reg = reg, .level = level, .klass = (uint8_t)klass, .wide = wide, .dtype = dtype
    };
}

/* A scalar in all lanes; made in front of the strip loop, as early as its value is known. */
rlx_kgen_value rlx_kgen_widen(rlx_kgen *w, rlx_kgen_value v)
{
    if (v.wide || rlx_kgen_failed(w) || !w->nest)
        return v;
    const void *key = (const void *)((uintptr_t)v.reg + 1);
    uintptr_t at;
    rlx_kgen_value strip = v;
    strip.wide = true;
    if (rlx_ptrmap_find(&w->broadcasts, key, &at)) {
        strip.reg = (uint32_t)at - 1;
        return strip;
    }
    int32_t level = rlx_kgen_later(v.level, w->nest->shared ? w->nest->part_level : w->nest->level); /* each thread has strips of its own */
    strip.level = w->nest->strip_level;
    strip.reg = rlx_kgen_new_same_strip(w, v.klass);
    RLX_KGEN_EMIT(w, level, RLX_K_BROADCAST, strip.reg, v.reg, w->nest->extent_reg);
    /* one made in the strip itself is made anew each time: only this use may count on it */
    if (level < w->nest->strip_level)
        (void)rlx_ptrmap_put(&w->broadcasts, key, (uintptr_t)strip.reg + 1);
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
rlx_kgen_value rlx_kgen_apply(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                              rlx_kgen_value *v, int n, bool masked, rlx_kgen_value mask)
{
    bool wide = masked && !rlx_kgen_is_always(mask) && mask.wide, loads = false;
    int32_t level = 0;
    uint32_t operands[6];
    for (int i = 0; i < n; i++) {
        wide |= v[i].wide;
        loads |= v[i].loads;
        level = rlx_kgen_later(level, v[i].level);
    }
    if (masked)
        level = rlx_kgen_later(rlx_kgen_is_always(mask) ? level : rlx_kgen_later(level, mask.level),
                               rlx_kgen_floor_level(w, NULL));
    if (wide && !w->nest)
        return rlx_kgen_failure();
    level = wide ? w->nest->strip_level : level;
    for (int i = 0; i < n; i++)
        operands[1 + i] = (wide ? rlx_kgen_widen(w, v[i]) : v[i]).reg;
    if (masked)
        operands[1 + n] = rlx_kgen_is_always(mask) ? RLX_KGEN_NO_REG
                                                   : (wide ? rlx_kgen_widen(w, mask) : mask).reg;
    rlx_kgen_value d = rlx_kgen_dest(w, klass, dtype, wide, level);
    d.loads = loads;
    d.guard = masked ? mask.serial : 0;
    operands[0] = d.reg;
    rlx_kgen_emit(w, level, wide ? op : scalar_form(op), operands);
    return d;
}

rlx_kgen_value rlx_kgen_apply1(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                               rlx_kgen_value a)
{
    return rlx_kgen_apply(w, op, klass, dtype, &a, 1, false, RLX_KGEN_ALWAYS);
}

rlx_kgen_value rlx_kgen_apply2(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                               rlx_kgen_value a, rlx_kgen_value b)
{
    rlx_kgen_value v[2] = { a, b };
    return rlx_kgen_apply(w, op, klass, dtype, v, 2, false, RLX_KGEN_ALWAYS);
}

void rlx_kgen_free_temp(rlx_kgen *w, rlx_kgen_value v)
{
    if (v.wide && !v.view)
        rlx_kgen_free_strip(w, v.reg);
}

/* The next step on a value nobody else has. */
rlx_kgen_value rlx_kgen_step(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                             rlx_kgen_value v)
{
    if (v.wide && !v.view)
        rlx_kgen_free_strip(w, v.reg);
    rlx_kgen_value d = rlx_kgen_apply1(w, op, klass, dtype, v);
    d.guard = v.guard;
    return d;
}

rlx_kgen_value rlx_kgen_real(rlx_kgen *w, rlx_kgen_value v)
{
    return v.view ? rlx_kgen_apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, v.dtype, v) : v;
}

rlx_kgen_value rlx_kgen_and(rlx_kgen *w, rlx_kgen_value mask, rlx_kgen_value cond, bool negate)
{
    rlx_kgen_value both = rlx_kgen_real(w, cond);
    if (negate) {
        rlx_kgen_value zero = { .reg = rlx_kgen_const(w, RLX_CLASS_I32, 0),
                                .klass = RLX_CLASS_I32 };
        both = rlx_kgen_apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, RELAX_BOOL, both, zero);
    }
    if (!rlx_kgen_is_always(mask)) {
        rlx_kgen_value side = both;
        both = rlx_kgen_apply2(w, RLX_K_AND_I32, RLX_CLASS_I32, RELAX_BOOL, mask, side);
        if (negate)
            rlx_kgen_free_temp(w, side);
    }
    both.serial = ++w->num_masks; /* registers serve again, numbers do not */
    return both;
}

rlx_kgen_value rlx_kgen_literal(rlx_kgen *w, unsigned klass, rlx_dtype dtype, uint64_t bits)
{
    return (rlx_kgen_value){ .reg = rlx_kgen_const(w, klass, bits),
                             .klass = (uint8_t)klass,
                             .dtype = dtype };
}

/* ---- dtypes --------------------------------------------------------------------------------- */

enum rlx_kernel_elem rlx_kgen_elem_of(rlx_kgen *w, rlx_dtype dtype)
{
    enum rlx_kernel_elem e = rlx_kernel_elem_of(dtype);
    if (e == RLX_ELEM_COUNT) {
        char text[RLX_DTYPE_TEXT];
        rlx_dtype_name(dtype, text);
        rlx_kgen_fail(w, "kernels do not compute with %s", text);
        return RLX_ELEM_I64;
    }
    return e;
}

/* Back to the narrow type after an operation of its class; 0: nothing to do. */
unsigned rlx_kgen_narrowing(enum rlx_kernel_elem e)
{
    static const uint16_t ops[RLX_ELEM_COUNT] = {
        [RLX_ELEM_I8] = RLX_K_WRAP_I8,   [RLX_ELEM_U8] = RLX_K_WRAP_U8,
        [RLX_ELEM_I16] = RLX_K_WRAP_I16, [RLX_ELEM_U16] = RLX_K_WRAP_U16,
        [RLX_ELEM_U32] = RLX_K_WRAP_U32,
#define NARROW(name, elem, ...) [RLX_ELEM_##elem] = RLX_K_ROUND_##elem,
#include "base/dtype.def"
    };
    return ops[e];
}

/* From float64 to a float that computes in float32. */
static unsigned from_double(enum rlx_kernel_elem e)
{
    static const uint16_t ops[RLX_ELEM_COUNT] = {
        [RLX_ELEM_F32] = RLX_K_F64_TO_F32,
#define NARROW(name, elem, ...) [RLX_ELEM_##elem] = RLX_K_ROUND_F64_##elem,
#include "base/dtype.def"
    };
    return ops[e];
}

rlx_kgen_value rlx_kgen_narrow(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem e)
{
    unsigned op = rlx_kgen_narrowing(e);
    return op ? rlx_kgen_step(w, op, v.klass, v.dtype, v) : v;
}

static unsigned float_to_int(enum rlx_kernel_elem e, unsigned klass)
{
    static const uint16_t from_f32[RLX_ELEM_COUNT] = {
        [RLX_ELEM_I8] = RLX_K_F32_TO_I8,   [RLX_ELEM_U8] = RLX_K_F32_TO_U8,   [RLX_ELEM_I16] = RLX_K_F32_TO_I16,
        [RLX_ELEM_U16] = RLX_K_F32_TO_U16, [RLX_ELEM_I32] = RLX_K_F32_TO_I32, [RLX_ELEM_I64] = RLX_K_F32_TO_I64,
    };
    static const uint16_t ops[RLX_ELEM_COUNT] = {
        [RLX_ELEM_I8] = RLX_K_F64_TO_I8,   [RLX_ELEM_U8] = RLX_K_F64_TO_U8,
        [RLX_ELEM_I16] = RLX_K_F64_TO_I16, [RLX_ELEM_U16] = RLX_K_F64_TO_U16,
        [RLX_ELEM_I32] = RLX_K_F64_TO_I32, [RLX_ELEM_U32] = RLX_K_F64_TO_U32,
        [RLX_ELEM_I64] = RLX_K_F64_TO_I64, [RLX_ELEM_U64] = RLX_K_F64_TO_U64,
    };
    return klass == RLX_CLASS_F32 ? from_f32[e] : ops[e];
}

static rlx_kgen_value int_to_float(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem from,
                                   enum rlx_kernel_elem to, rlx_dtype dtype)
{
    unsigned f32 = v.klass == RLX_CLASS_I32 ? RLX_K_I32_TO_F32
                   : from == RLX_ELEM_U64   ? RLX_K_U64_TO_F32
                                            : RLX_K_I64_TO_F32;
    unsigned f64 = v.klass == RLX_CLASS_I32 ? RLX_K_I32_TO_F64
                   : from == RLX_ELEM_U64   ? RLX_K_U64_TO_F64
                                            : RLX_K_I64_TO_F64;
    if (to == RLX_ELEM_F32)
        return rlx_kgen_apply1(w, f32, RLX_CLASS_F32, dtype, v);
    rlx_kgen_value d = rlx_kgen_apply1(w, f64, RLX_CLASS_F64, dtype, v);
    if (to == RLX_ELEM_F64)
        return d;
    return rlx_kgen_step(w, from_double(to), RLX_CLASS_F32, dtype, d);
}

static rlx_kgen_value float_to_float(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem to,
                                     rlx_dtype dtype)
{
    if (to == RLX_ELEM_F64)
        return rlx_kgen_apply1(w, RLX_K_F32_TO_F64, RLX_CLASS_F64, dtype, v);
    if (v.klass == RLX_CLASS_F64)
        return rlx_kgen_apply1(w, from_double(to), RLX_CLASS_F32, dtype, v);
    return rlx_kgen_apply1(w, rlx_kgen_narrowing(to) ? rlx_kgen_narrowing(to) : RLX_K_MOVE_F32, RLX_CLASS_F32, dtype,
                           v);
}

rlx_kgen_value rlx_kgen_int_to_int(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem to,
                                   rlx_dtype dtype)
{
    unsigned klass = rlx_kernel_elems[to].klass;
    if (v.klass != klass) {
        rlx_kgen_value d = rlx_kgen_apply1(
            w, klass == RLX_CLASS_I64 ? RLX_K_I32_TO_I64 : RLX_K_I64_TO_I32, klass, dtype, v);
        return rlx_kgen_narrow(w, d, to);
    }
    return rlx_kgen_apply1(w, rlx_kgen_narrowing(to) ? rlx_kgen_narrowing(to) : RLX_K_MOVE_I32 + klass, klass, dtype,
                           v);
}

rlx_kgen_value rlx_kgen_zero(rlx_kgen *w, unsigned klass)
{
    return (rlx_kgen_value){ .reg = rlx_kgen_const(w, klass, 0), .klass = (uint8_t)klass };
}

/* A new value, never v's own register. */
rlx_kgen_value rlx_kgen_convert(rlx_kgen *w, rlx_kgen_value v, rlx_dtype from_dtype,
                                rlx_dtype dtype)
{
    enum rlx_kernel_elem from = rlx_kgen_elem_of(w, from_dtype), to = rlx_kgen_elem_of(w, dtype);
    unsigned klass = rlx_kernel_elems[to].klass;
    if (to == RLX_ELEM_BOOL)
        return rlx_kgen_apply2(w, RLX_K_NE_I32 + v.klass, RLX_CLASS_I32, dtype, v,
                               rlx_kgen_zero(w, v.klass));
    if (!rlx_kgen_is_float(v.klass))
        return rlx_kgen_is_float(klass) ? int_to_float(w, v, from, to, dtype)
                                        : rlx_kgen_int_to_int(w, v, to, dtype);
    if (rlx_kgen_is_float(klass))
        return float_to_float(w, v, to, dtype);
    if (float_to_int(to, v.klass))
        return rlx_kgen_apply1(w, float_to_int(to, v.klass), klass, dtype, v);
    rlx_kgen_value d = rlx_kgen_apply1(w, RLX_K_F32_TO_F64, RLX_CLASS_F64, dtype, v);
    return rlx_kgen_step(w, float_to_int(to, RLX_CLASS_F64), klass, dtype, d);
}
