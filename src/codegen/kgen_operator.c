/* kgen_operator.c: TIR operators and intrinsics as operations of kernels. */
#include "codegen/kgen_int.h"

static bool is_unsigned64(rlx_dtype t)
{
    return rlx_kernel_elem_of(t) == RLX_ELEM_U64;
}

static rlx_kgen_value unsupported(rlx_kgen *w, const char *what, rlx_dtype dtype)
{
    char text[RLX_DTYPE_TEXT];
    rlx_dtype_name(dtype, text);
    rlx_kgen_fail(w, "%s of %s is not supported in kernels", what, text);
    return rlx_kgen_failure();
}

/* Division and its kin can fail, unless by a literal that is not 0: then it may leave loops
 * like other arithmetic. */
static rlx_kgen_value divide(rlx_kgen *w, unsigned op, unsigned op_u64, rlx_dtype t,
                             rlx_kgen_value *v, const rlx_prim *by, rlx_kgen_value mask)
{
    unsigned klass = v[0].klass, chosen = is_unsigned64(t) ? op_u64 : op + klass;
    bool safe = by->kind == RLX_NODE_INT_IMM && ((const rlx_int_imm *)by)->value != 0;
    int32_t top = w->top;
    if (safe && !v[0].wide && !v[1].wide)
        w->top = rlx_kgen_later(v[0].level, v[1].level);
    rlx_kgen_value d =
        rlx_kgen_apply(w, chosen, klass, t, v, 2, true, safe ? RLX_KGEN_ALWAYS : mask);
    w->top = top;
    if (safe)
        d.guard = v[0].guard;
    return rlx_kgen_narrow(w, d, rlx_kgen_elem_of(w, t));
}

static rlx_kgen_value arithmetic(rlx_kgen *w, unsigned op, rlx_dtype t, rlx_kgen_value *v)
{
    if (rlx_kgen_elem_of(w, t) == RLX_ELEM_BOOL)
        return unsupported(w, "arithmetic", t);
    rlx_kgen_value d =
        rlx_kgen_apply(w, op + v[0].klass, v[0].klass, t, v, 2, false, RLX_KGEN_ALWAYS);
    return rlx_kgen_narrow(w, d, rlx_kgen_elem_of(w, t));
}

static rlx_kgen_value compare(rlx_kgen *w, unsigned op, unsigned op_u64, rlx_dtype t,
                              rlx_kgen_value a, rlx_kgen_value b)
{
    return rlx_kgen_apply2(w, op_u64 && is_unsigned64(t) ? op_u64 : op + a.klass, RLX_CLASS_I32,
                           RELAX_BOOL, a, b);
}

static rlx_kgen_value extreme(rlx_kgen *w, unsigned op, unsigned op_u64, rlx_dtype t,
                              rlx_kgen_value *v)
{
    return rlx_kgen_apply(w, is_unsigned64(t) ? op_u64 : op + v[0].klass, v[0].klass, t, v, 2,
                          false, RLX_KGEN_ALWAYS);
}

rlx_kgen_value rlx_kgen_binary(rlx_kgen *w, const rlx_binary *b, rlx_kgen_value *v,
                               rlx_kgen_value mask)
{
    rlx_dtype t = rlx_prim_dtype(b->a);
    bool is_float = rlx_kgen_is_float(v[0].klass);
    if (t != rlx_prim_dtype(b->b) || v[0].klass != v[1].klass) {
        rlx_kgen_fail(w, "the operands of an operator have different dtypes");
        return rlx_kgen_failure();
    }
    switch (b->node.kind) {
    case RLX_NODE_ADD: return arithmetic(w, RLX_K_ADD_I32, t, v);
    case RLX_NODE_SUB: return arithmetic(w, RLX_K_SUB_I32, t, v);
    case RLX_NODE_MUL: return arithmetic(w, RLX_K_MUL_I32, t, v);
    case RLX_NODE_MIN: return extreme(w, RLX_K_MIN_I32, RLX_K_MIN_U64, t, v);
    case RLX_NODE_MAX: return extreme(w, RLX_K_MAX_I32, RLX_K_MAX_U64, t, v);
    case RLX_NODE_DIV:
        if (is_float)
            return arithmetic(w, RLX_K_DIV_F32 - RLX_CLASS_F32, t, v);
        return divide(w, RLX_K_DIV_I32, RLX_K_DIV_U64, t, v, b->b, mask);
    case RLX_NODE_MOD:
        if (is_float)
            return arithmetic(w, RLX_K_fmod_F32 - RLX_CLASS_F32, t, v);
        return divide(w, RLX_K_MOD_I32, RLX_K_MOD_U64, t, v, b->b, mask);
    case RLX_NODE_FLOOR_DIV:
        return is_float ? unsupported(w, "floor division", t)
                        : divide(w, RLX_K_FLOOR_DIV_I32, RLX_K_DIV_U64, t, v, b->b, mask);
    case RLX_NODE_FLOOR_MOD:
        return is_float ? unsupported(w, "floor modulus", t)
                        : divide(w, RLX_K_FLOOR_MOD_I32, RLX_K_MOD_U64, t, v, b->b, mask);
    case RLX_NODE_EQ: return compare(w, RLX_K_EQ_I32, 0, t, v[0], v[1]);
    case RLX_NODE_NE: return compare(w, RLX_K_NE_I32, 0, t, v[0], v[1]);
    case RLX_NODE_LT: return compare(w, RLX_K_LT_I32, RLX_K_LT_U64, t, v[0], v[1]);
    case RLX_NODE_LE: return compare(w, RLX_K_LE_I32, RLX_K_LE_U64, t, v[0], v[1]);
    case RLX_NODE_GT: return compare(w, RLX_K_LT_I32, RLX_K_LT_U64, t, v[1], v[0]);
    case RLX_NODE_GE: return compare(w, RLX_K_LE_I32, RLX_K_LE_U64, t, v[1], v[0]);
    case RLX_NODE_AND:
        return rlx_kgen_apply2(w, RLX_K_AND_I32, RLX_CLASS_I32, RELAX_BOOL, v[0], v[1]);
    case RLX_NODE_OR:
        return rlx_kgen_apply2(w, RLX_K_OR_I32, RLX_CLASS_I32, RELAX_BOOL, v[0], v[1]);
    default: return rlx_kgen_failure();
    }
}

rlx_kgen_value rlx_kgen_choose(rlx_kgen *w, rlx_dtype t, rlx_kgen_value *v)
{
    if (v[1].klass != v[2].klass) {
        rlx_kgen_fail(w, "the sides of a choice have different dtypes");
        return rlx_kgen_failure();
    }
    return rlx_kgen_apply(w, RLX_K_SELECT_I32 + v[1].klass, v[1].klass, t, v, 3, false,
                          RLX_KGEN_ALWAYS);
}

/* Float instructions by intrinsic: that of float32, that of float64 follows it. */
static const uint16_t float_ops[RLX_TIR_NUM_INTRINSICS] = {
#define SCALAR_FLOAT(name, kind, rule, f32, f64) [RLX_TIR_##name] = RLX_K_##name##_F32,
#define SCALAR_SYNONYM(name, of, kind, rule) [RLX_TIR_##name] = RLX_K_##of##_F32,
#define SCALAR_OTHER(name, kind, rule) [RLX_TIR_##name] = 0,
#include "format/scalar_op.def"
};

static rlx_kgen_value float_call(rlx_kgen *w, enum rlx_tir_intrinsic id, rlx_dtype t,
                                 rlx_kgen_value *v, int n)
{
    bool is_test = rlx_tir_intrinsics[id].result == RLX_TIR_BOOL;
    unsigned klass = v[0].klass;
    for (int i = 1; i < n; i++)
        if (v[i].klass != klass)
            return unsupported(w, rlx_tir_intrinsics[id].name, t);
    rlx_kgen_value d =
        rlx_kgen_apply(w, float_ops[id] + (klass - RLX_CLASS_F32), is_test ? RLX_CLASS_I32 : klass,
                       is_test ? RELAX_BOOL : t, v, n, false, RLX_KGEN_ALWAYS);
    return is_test ? d : rlx_kgen_narrow(w, d, rlx_kgen_elem_of(w, t));
}

/* The bits of a narrow signed integer without what sign extension added. */
static rlx_kgen_value as_bits(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem e)
{
    if (e == RLX_ELEM_I8 || e == RLX_ELEM_I16)
        return rlx_kgen_apply1(w, e == RLX_ELEM_I8 ? RLX_K_WRAP_U8 : RLX_K_WRAP_U16, RLX_CLASS_I32,
                               v.dtype, v);
    return rlx_kgen_apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, v.dtype, v);
}

static rlx_kgen_value count_zeros(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem e)
{
    int spare = (v.klass == RLX_CLASS_I64 ? 64 : 32) - 8 * rlx_kernel_elems[e].bytes;
    rlx_kgen_value d = rlx_kgen_step(w, v.klass == RLX_CLASS_I64 ? RLX_K_CLZ_I64 : RLX_K_CLZ_I32,
                                     RLX_CLASS_I32, RELAX_INT32, as_bits(w, v, e));
    if (!spare)
        return d;
    rlx_kgen_value pair[2] = { d,
                               rlx_kgen_literal(w, RLX_CLASS_I32, RELAX_INT32, (uint64_t)spare) };
    rlx_kgen_value r = rlx_kgen_apply(w, RLX_K_SUB_I32, RLX_CLASS_I32, RELAX_INT32, pair, 2, false,
                                      RLX_KGEN_ALWAYS);
    rlx_kgen_free_temp(w, d);
    return r;
}

static rlx_kgen_value int_call(rlx_kgen *w, enum rlx_tir_intrinsic id, rlx_dtype t,
                               rlx_kgen_value *v, rlx_kgen_value mask)
{
    enum rlx_kernel_elem e = rlx_kgen_elem_of(w, t);
    unsigned klass = v[0].klass;
    const bool u64 = e == RLX_ELEM_U64, no_sign = u64 || e == RLX_ELEM_U32; /* the sign bit of what holds it is 0 */
    if (rlx_tir_intrinsics[id].num_args == 2 && v[1].klass != klass)
        return unsupported(w, rlx_tir_intrinsics[id].name, t);
    switch (id) {
    case RLX_TIR_bitwise_and:
        return rlx_kgen_apply(w, RLX_K_AND_I32 + klass, klass, t, v, 2, false, RLX_KGEN_ALWAYS);
    case RLX_TIR_bitwise_or:
        return rlx_kgen_apply(w, RLX_K_OR_I32 + klass, klass, t, v, 2, false, RLX_KGEN_ALWAYS);
    case RLX_TIR_bitwise_xor:
        return rlx_kgen_apply(w, RLX_K_XOR_I32 + klass, klass, t, v, 2, false, RLX_KGEN_ALWAYS);
    case RLX_TIR_bitwise_not:
        if (e == RLX_ELEM_BOOL)
            return rlx_kgen_apply2(w, RLX_K_EQ_I32, RLX_CLASS_I32, t, v[0],
                                   rlx_kgen_zero(w, RLX_CLASS_I32));
        return rlx_kgen_narrow(w,
                               rlx_kgen_apply2(w, RLX_K_XOR_I32 + klass, klass, t, v[0],
                                               rlx_kgen_literal(w, klass, t, UINT64_MAX)),
                               e);
    case RLX_TIR_shift_left:
        return no_sign ? rlx_kgen_narrow(w, rlx_kgen_apply(w, RLX_K_SHL_U64, klass, t, v, 2, false, mask), e)
                   : rlx_kgen_narrow(
                         w, rlx_kgen_apply(w, RLX_K_SHL_I32 + klass, klass, t, v, 2, true, mask),
                         e);
    case RLX_TIR_shift_right:
        return no_sign ? rlx_kgen_apply(w, RLX_K_SHR_U64, klass, t, v, 2, false, mask)
                   : rlx_kgen_apply(w, RLX_K_SHR_I32 + klass, klass, t, v, 2, true, mask);
    case RLX_TIR_pow:
        return u64 ? rlx_kgen_apply(w, RLX_K_POW_U64, klass, t, v, 2, false, mask)
                   : rlx_kgen_narrow(
                         w, rlx_kgen_apply(w, RLX_K_POW_I32 + klass, klass, t, v, 2, true, mask),
                         e);
    case RLX_TIR_popcount:
        return rlx_kgen_step(w, RLX_K_POPCOUNT_I32 + klass, klass, t, as_bits(w, v[0], e));
    case RLX_TIR_clz: return count_zeros(w, v[0], e);
    default: return unsupported(w, rlx_tir_intrinsics[id].name, t);
    }
}

static rlx_kgen_value reinterpret(rlx_kgen *w, rlx_dtype from, rlx_dtype to, rlx_kgen_value v)
{
    enum rlx_kernel_elem f = rlx_kgen_elem_of(w, from), e = rlx_kgen_elem_of(w, to);
    if (rlx_kernel_elems[f].bytes != rlx_kernel_elems[e].bytes || rlx_dtype_is_narrow_float(from) ||
        rlx_dtype_is_narrow_float(to) || f == RLX_ELEM_BOOL || e == RLX_ELEM_BOOL)
        return unsupported(w, "reinterpret", to);
    if (!rlx_kgen_is_float(v.klass) && !rlx_kgen_is_float(rlx_kernel_elems[e].klass))
        return rlx_kgen_int_to_int(w, v, e, to);
    if (f == e)
        return rlx_kgen_apply1(w, RLX_K_MOVE_I32 + v.klass, v.klass, to, v);
    if (rlx_kgen_is_float(v.klass)) {
        rlx_kgen_value d = v.klass == RLX_CLASS_F32
                               ? rlx_kgen_apply1(w, RLX_K_BITS_F32_I32, RLX_CLASS_I32, to, v)
                               : rlx_kgen_apply1(w, RLX_K_BITS_F64_I64, RLX_CLASS_I64, to, v);
        return d.klass == rlx_kernel_elems[e].klass
                   ? d
                   : rlx_kgen_narrow(w, rlx_kgen_step(w, RLX_K_I32_TO_I64, RLX_CLASS_I64, to, d),
                                     e);
    }
    if (e == RLX_ELEM_F64)
        return rlx_kgen_apply1(w, RLX_K_BITS_I64_F64, RLX_CLASS_F64, to, v);
    rlx_kgen_value d = v.klass == RLX_CLASS_I64
                           ? rlx_kgen_apply1(w, RLX_K_I64_TO_I32, RLX_CLASS_I32, to, v)
                           : as_bits(w, v, RLX_ELEM_I32);
    return rlx_kgen_step(w, RLX_K_BITS_I32_F32, RLX_CLASS_F32, to, d);
}

rlx_kgen_value rlx_kgen_call(rlx_kgen *w, const rlx_prim_call *c, rlx_kgen_value *v,
                             rlx_kgen_value mask)
{
    enum rlx_tir_intrinsic id =
        c->op ? rlx_tir_find_intrinsic(rlx_string_slice(c->op)) : RLX_TIR_NO_INTRINSIC;
    rlx_dtype t = rlx_prim_dtype(c->args[0]);
    unsigned klass = v[0].klass;
    switch (id) {
    case RLX_TIR_if_then_else: return rlx_kgen_choose(w, c->dtype, v);
    case RLX_TIR_likely: return rlx_kgen_apply1(w, RLX_K_MOVE_I32 + klass, klass, t, v[0]);
    case RLX_TIR_reinterpret: return reinterpret(w, t, c->dtype, v[0]);
    case RLX_TIR_ldexp: {
        rlx_kgen_value pair[2] = { v[0], rlx_kgen_convert(w, v[1], rlx_prim_dtype(c->args[1]),
                                                          RELAX_INT64) };
        if (!rlx_kgen_is_float(klass) || rlx_kgen_is_float(v[1].klass))
            return unsupported(w, "ldexp", t);
        rlx_kgen_value d = rlx_kgen_apply(w, float_ops[id] + (klass - RLX_CLASS_F32), klass, t,
                                          pair, 2, false, RLX_KGEN_ALWAYS);
        rlx_kgen_free_temp(w, pair[1]);
        return rlx_kgen_narrow(w, d, rlx_kgen_elem_of(w, t));
    }
    default: break;
    }
    if (rlx_kgen_is_float(klass) && float_ops[id])
        return float_call(w, id, t, v, (int)c->num_args);
    if (!rlx_kgen_is_float(klass) && rlx_tir_intrinsics[id].rule == RLX_TIR_RULE_ROUND)
        return rlx_kgen_apply1(w, RLX_K_MOVE_I32 + klass, klass, t, v[0]);
    return rlx_kgen_is_float(klass) ? unsupported(w, rlx_tir_intrinsics[id].name, t)
                                    : int_call(w, id, t, v, mask);
}
