/*- relay_convert.h: calls of Relay's operators as Relax (relay 5.4).
 *
 *     relay_convert.def   one row for each operator: name, converter, what the converter is told
 *     relay_convert.c     what converters are made of       relay_conv_*.c   converters by family
 *
 * A converter emits what it needs into the builder and returns the value: a leaf (variable, constant), a
 * tuple of leaves, or a call that nobody has bound yet. The caller compares its struct info with the type that
 * Relay inferred, and casts where they differ (relay 5.3), so that a converter need not.
 */
#ifndef RLX_RELAY_CONVERT_H
#define RLX_RELAY_CONVERT_H

#include "op/op.h"
#include "relay/relay_op.h"
#include "sinfo/builder.h"

typedef struct rlx_relay_conv rlx_relay_conv;
typedef const rlx_expr *(*rlx_relay_convert_fn)(rlx_relay_conv *c);
typedef struct rlx_relay_convert_row {
    const char *name;                /* of Relay's operator */
    rlx_relay_convert_fn convert;    /* NULL: refused */
    const char *argument;            /* of converters that serve several rows; why it is refused */
} rlx_relay_convert_row;

/* Operators of Relax that converters have named, by the address of the name. */
typedef struct rlx_relay_names { struct { const char *name; const rlx_op_row *row; } of[64]; } rlx_relay_names;

/* One call. */
struct rlx_relay_conv {
    rlx_context *ctx;
    rlx_builder *b;
    rlx_region *region;              /* scratch that lives as long as the translation */
    const rlx_relay_convert_row *row;
    const rlx_relay_op *op;
    const rlx_relay_expr *call;
    const rlx_expr *const *args; size_t num_args; /* leaves, or tuples of leaves; constants are seen as such */
    const rlx_relay_type *result;    /* as inferred: no holes, type parameters replaced */
    rlx_place place;
    rlx_relay_names *names;          /* of the translation; NULL: names are looked up each time */
    bool failed;                     /* reported, or out of memory */
};

/* Rows stand in the order of relay_op.def. */
const rlx_relay_convert_row *rlx_relay_convert_find(rlx_slice op);
const rlx_relay_convert_row *rlx_relay_convert_of(const rlx_relay_op *op); /* NULL: not of the table */
const rlx_relay_convert_row *rlx_relay_convert_at(size_t index);           /* NULL past the end */
/* The value of the call; NULL after a report (RY27: an operator without converter, or a call of one that cannot be
 * said in Relax) or out of memory. c->row is looked up if it is NULL. */
const rlx_expr *rlx_relay_convert(rlx_relay_conv *c);
/* After a call failed: where Relax has refused what it becomes, an RY27 that names Relay's operator follows. */
void rlx_relay_convert_explain(rlx_context *ctx, const rlx_relay_op *op, rlx_place place);

/* ---- what converters are made of (relay_convert.c). An expression that is NULL makes NULL, so that a chain is
 * checked at its end. */
/* RY27: "OPERATOR: why". Gives NULL. */
void *rlx_relay_cannot(rlx_relay_conv *c, const char *format, ...) RLX_PRINTF(2, 3);
/* Argument i; NULL after a report, if there is none. Fields of a tuple argument. */
const rlx_expr *rlx_relay_arg(rlx_relay_conv *c, size_t i);
const rlx_expr *rlx_relay_tuple_arg(rlx_relay_conv *c, size_t i, const rlx_expr *const **fields, size_t *count);
/* A call of an operator of Relax that nobody has bound yet: the value of the whole. format: rlx_call_op_words. */
const rlx_expr *rlx_relay_make(rlx_relay_conv *c, const char *op, const char *format, ...);
/* The same, bound to a variable: an operand of what follows. */
const rlx_expr *rlx_relay_call(rlx_relay_conv *c, const char *op, const char *format, ...);
const rlx_expr *rlx_relay_call1(rlx_relay_conv *c, const char *op, const rlx_expr *x);
const rlx_expr *rlx_relay_call2(rlx_relay_conv *c, const char *op, const rlx_expr *x, const rlx_expr *y);
const rlx_expr *rlx_relay_emit(rlx_relay_conv *c, const rlx_expr *e);
const rlx_expr *rlx_relay_get(rlx_relay_conv *c, const rlx_expr *tuple, int64_t index);
const rlx_expr *rlx_relay_cast_match(rlx_relay_conv *c, const rlx_expr *e, const rlx_sinfo *info);
const rlx_expr *rlx_relay_astype(rlx_relay_conv *c, const rlx_expr *x, rlx_dtype dtype); /* x, if it has it */
void *rlx_relay_scratch(rlx_relay_conv *c, size_t count, size_t size); /* in the region, of zeros */

/* what is known of an expression */
const rlx_tensor_sinfo *rlx_relay_info(rlx_relay_conv *c, const rlx_expr *e);
rlx_dtype rlx_relay_dtype_of(rlx_relay_conv *c, const rlx_expr *e);
int rlx_relay_rank(rlx_relay_conv *c, const rlx_expr *e);            /* -1 after a report */
/* Sizes; unknown ones are bound by a cast first, and *e is what has them. NULL after a report. */
const rlx_prim *const *rlx_relay_sizes(rlx_relay_conv *c, const rlx_expr **e, size_t *ndim);
/* The size of one axis, bound likewise. */
const rlx_prim *rlx_relay_size(rlx_relay_conv *c, const rlx_expr **e, size_t axis);
bool rlx_relay_static_size(rlx_relay_conv *c, const rlx_expr *e, size_t axis, int64_t *out);
const rlx_prim *rlx_relay_fresh_size(rlx_relay_conv *c);             /* a variable that is bound by what comes */
const rlx_prim *rlx_relay_simplify(rlx_relay_conv *c, const rlx_prim *p);
const rlx_prim *rlx_relay_product_of(rlx_relay_conv *c, const rlx_prim *const *sizes, size_t count);
/* A negative axis counts from the end. False after a report. */
bool rlx_relay_fit_axis(rlx_relay_conv *c, int64_t *axis, int ndim);
rlx_dtype rlx_relay_result_dtype(const rlx_relay_conv *c);           /* of a tensor; RELAX_VOID: it is none */

/* attributes: as written, else the record's default */
rlx_relay_value rlx_relay_attr_value(rlx_relay_conv *c, const char *name);
bool rlx_relay_attr_has(rlx_relay_conv *c, const char *name);        /* not None */
int64_t rlx_relay_attr_int(rlx_relay_conv *c, const char *name);     /* 0 after a report */
double rlx_relay_attr_float(rlx_relay_conv *c, const char *name);
bool rlx_relay_attr_bool(rlx_relay_conv *c, const char *name);
rlx_dtype rlx_relay_attr_dtype(rlx_relay_conv *c, const char *name); /* RELAX_VOID: none said */
/* In the region, with a NUL. */
const char *rlx_relay_attr_text(rlx_relay_conv *c, const char *name);
/* Integers of a list, lists in it flattened, or one integer; NULL with *count 0: None. In the region. */
int64_t *rlx_relay_attr_ints(rlx_relay_conv *c, const char *name, size_t *count);
double *rlx_relay_attr_floats(rlx_relay_conv *c, const char *name, size_t *count); /* likewise, of numbers */
/* Axes of an attribute, counted from the start, ascending, each once; None: all of them. False after a report. */
bool rlx_relay_attr_axes(rlx_relay_conv *c, const char *name, int ndim, int64_t *out, size_t *count);

/* constants */
/* The integer of a number, limited to 62 bits; NaN is 0. */
RLX_INLINE int64_t rlx_relay_whole(double v)
{
    const double most = 4611686018427387904.0;
    return v >= most ? (int64_t)1 << 62 : v <= -most ? -((int64_t)1 << 62) : v == v ? (int64_t)v : 0;
}
const rlx_expr *rlx_relay_const_scalar(rlx_relay_conv *c, rlx_dtype dtype, double value);
const rlx_expr *rlx_relay_const_ints(rlx_relay_conv *c, rlx_dtype dtype, const int64_t *values, size_t count);
const rlx_expr *rlx_relay_with(rlx_relay_conv *c, const char *op, const rlx_expr *x, double v); /* x op v */
/* The elements of argument i, which must be a constant; NULL after a report. In the region. */
const double *rlx_relay_constant_floats(rlx_relay_conv *c, size_t i, const char *what, size_t *count);
/* The same without a report. */
const double *rlx_relay_known_floats(rlx_relay_conv *c, const rlx_expr *e, size_t *count);
bool rlx_relay_constant_number(rlx_relay_conv *c, size_t i, const char *what, double *out);

/* shapes */
const rlx_expr *rlx_relay_prim(rlx_relay_conv *c, int64_t v);        /* R.prim_value */
const rlx_expr *rlx_relay_number_prim(rlx_relay_conv *c, rlx_dtype dtype, double v);
const rlx_expr *rlx_relay_reshape(rlx_relay_conv *c, const rlx_expr *x, const rlx_prim *const *sizes, size_t count);
const rlx_expr *rlx_relay_expand(rlx_relay_conv *c, const rlx_expr *x, const int64_t *axes, size_t count);
const rlx_expr *rlx_relay_transpose(rlx_relay_conv *c, const rlx_expr *x, const int64_t *order, size_t count);
/* A vector along `axis` of something of rank `ndim`, so that it broadcasts against that. */
const rlx_expr *rlx_relay_along(rlx_relay_conv *c, const rlx_expr *vector, int64_t axis, int ndim);
const rlx_expr *rlx_relay_concat(rlx_relay_conv *c, const rlx_expr *const *parts, size_t count, int64_t axis);
const rlx_expr *rlx_relay_reduce(rlx_relay_conv *c, const char *op, const rlx_expr *x, const int64_t *axes,
                                 size_t count, bool keep);
/* Places of letters in a layout without inner blocks; false after a report. */
bool rlx_relay_letters(rlx_relay_conv *c, const char *layout, const char *letters, int64_t *at);

/* ---- converters that others use */
/* x * multiplier * 2^(shift - 31), rounded half up, in int64 */
const rlx_expr *rlx_relay_fixed_multiply(rlx_relay_conv *c, const rlx_expr *x, int64_t multiplier, int64_t shift);
/* A convolution `op` of Relax with the attributes of the call. */
const rlx_expr *rlx_relay_convolve(rlx_relay_conv *c, const char *op, const rlx_expr *x, const rlx_expr *w);

/* Sizes as a tensor of int64. */
const rlx_expr *rlx_relay_sizes_tensor(rlx_relay_conv *c, const rlx_expr **x, size_t *n);
/* The n <= 64 elements of a tensor of int64 as a shape of fresh variables. */
const rlx_expr *rlx_relay_shape_of_tensor(rlx_relay_conv *c, const rlx_expr *s, size_t n);
/* The shape that argument i holds; with `x`, those are the codes of a reshape of it. NULL after a report. */
const rlx_expr *rlx_relay_shape_argument(rlx_relay_conv *c, size_t i, const rlx_expr **x);

/* 0, 1 .. below a size */
const rlx_expr *rlx_relay_count_to(rlx_relay_conv *c, const rlx_prim *size, rlx_dtype t);
/* one_hot by comparing: argument 1 where argument 0 is the place along the new axis, else argument 2 */
const rlx_expr *rlx_relay_one_hot_where(rlx_relay_conv *c, const rlx_prim *depth, rlx_dtype t);

#define CONVERT(name, converter, argument) const rlx_expr *rlx_relay_convert_##converter(rlx_relay_conv *c);
#define REFUSE(name, why)
#include "relay/relay_convert.def"

#endif
