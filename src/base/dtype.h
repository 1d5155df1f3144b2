/* dtype.h: data types packed in 32 bits (see relax/common.h). */
#ifndef RLX_BASE_DTYPE_H
#define RLX_BASE_DTYPE_H

#include <relax/common.h>
#include "base/text.h"

typedef relax_dtype rlx_dtype;

RLX_INLINE int rlx_dtype_code(rlx_dtype t) { return t & 0xff; }
RLX_INLINE int rlx_dtype_bits(rlx_dtype t) { return (t >> 8) & 0xff; }
RLX_INLINE int rlx_dtype_lanes(rlx_dtype t) { return (int)((uint32_t)t >> 16); }
RLX_INLINE rlx_dtype rlx_dtype_make(int code, int bits, int lanes)
{
    return (rlx_dtype)((uint32_t)code | (uint32_t)bits << 8 | (uint32_t)lanes << 16);
}
RLX_INLINE rlx_dtype rlx_dtype_with_lanes(rlx_dtype t, int lanes)
{
    return rlx_dtype_make(rlx_dtype_code(t), rlx_dtype_bits(t), lanes);
}
RLX_INLINE bool rlx_dtype_is_void(rlx_dtype t) { return t == RELAX_VOID; }
RLX_INLINE bool rlx_dtype_is_bool(rlx_dtype t) { return (t & 0xffff) == (RELAX_BOOL & 0xffff); }
bool rlx_dtype_is_int(rlx_dtype t);      /* signed or unsigned, bool excluded */
bool rlx_dtype_is_float(rlx_dtype t);    /* float, bfloat (float8/float4 codes too) */
/* Can tensors of it be stored and computed with? Those of dtype.def. */
bool rlx_dtype_is_computable(rlx_dtype t);
size_t rlx_dtype_bytes(rlx_dtype t);     /* per element, lanes included; bool 1; void 0 */

/* Integers stand in an int64: those of a signed type and of an unsigned one below 2^63 as they are,
 * a uint64 from 2^63 on by its bits, that is less 2^64. So do literals (IntImm), scalars of the run
 * side and results of the evaluator. */
/* Does the integer or bool type t have the number v, or, `is_large`, v read as unsigned? */
bool rlx_dtype_has_int(rlx_dtype t, int64_t v, bool is_large);
/* Does v stand for a number of t? */
bool rlx_dtype_has_bits(rlx_dtype t, int64_t v);
/* Is what v stands for a uint64 from 2^63 on? */
RLX_INLINE bool rlx_dtype_is_large(rlx_dtype t, int64_t v)
{
    return v < 0 && rlx_dtype_code(t) == RELAX_DTYPE_UINT;
}
/* What arithmetic that went past the ends of t stands for: it wraps around. */
int64_t rlx_dtype_wrap(rlx_dtype t, int64_t v);

/* "float32x4", "bool", "void", "handle", "int4", "float8_e4m3fn" ... Reads exactly one dtype;
 * false if not one. Digits may be absent (int = int32, float = float32). */
bool rlx_dtype_parse(rlx_slice text, rlx_dtype *out);
#define RLX_DTYPE_TEXT 32
/* NUL-terminated name into out; returns its length. */
size_t rlx_dtype_name(rlx_dtype t, char out[RLX_DTYPE_TEXT]);

/* Floats of dtype.def. Narrow ones have fewer than 32 bits and compute in float32. */
bool rlx_dtype_is_narrow_float(rlx_dtype t);
double rlx_dtype_round(rlx_dtype t, double v); /* the nearest number of t; other dtypes: v */
double rlx_dtype_greatest(rlx_dtype t);       /* finite; of another dtype: float64's */
/* An element in memory, which need not be aligned. */
double rlx_dtype_load_float(rlx_dtype t, const void *at);
void rlx_dtype_store_float(rlx_dtype t, void *at, double v);   /* one rounding */

/* Functions as text, for generated C: each uses only those before it. */
typedef struct rlx_function_text { const char *name, *text; } rlx_function_text;
extern const rlx_function_text rlx_half_texts[];
extern const size_t rlx_half_num_texts;
/* The narrow floats to and from float32 and float64, to nearest even, one rounding:
 * rlx_half_to_float, rlx_float_to_half, rlx_double_to_half, and so on for each row. */
#define NARROW(name, elem, text, code, bits, C, function, ...) \
    float rlx_##function##_to_float(C element);                \
    C rlx_float_to_##function(float f);                        \
    C rlx_double_to_##function(double d);
#include "base/dtype.def"

#endif
