/* arith: integer reasoning about sizes.
 *
 * Nodes keep the form in which they were written. Beside it, the prover computes a canonical
 * form on first use (a polynomial with sorted monomials over atoms: floor division, modulus,
 * min, max, select, anything else) and remembers it per context, outside the node. Answers are
 * sound: equal, different and true hold for all admissible values of the variables; whatever is
 * beyond the budget (4096 monomials, 64-bit coefficients, a step limit) is unknown. Same input,
 * same answer.
 */
#ifndef RLX_ARITH_H
#define RLX_ARITH_H

#include "ir/ir.h"

/* ---- building with the folding rules of the text form (tvmscript 6.3): literal by literal,
 * nothing more */
/* matches operand types, folds; comparisons do not fold */
const rlx_prim *rlx_fold_binary(rlx_context *ctx, enum rlx_node_kind kind, const rlx_prim *a,
                                const rlx_prim *b);
RLX_INLINE const rlx_prim *rlx_fold_add(rlx_context *c, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_binary(c, RLX_NODE_ADD, a, b);
}
RLX_INLINE const rlx_prim *rlx_fold_sub(rlx_context *c, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_binary(c, RLX_NODE_SUB, a, b);
}
RLX_INLINE const rlx_prim *rlx_fold_mul(rlx_context *c, const rlx_prim *a, const rlx_prim *b)
{
    return rlx_fold_binary(c, RLX_NODE_MUL, a, b);
}
/* A literal becomes what the cast gives at run time; same dtype unchanged. */
const rlx_prim *rlx_fold_cast(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a);
/* The same for a literal whose type the place decides: a float is written anew with all the digits
 * it holds, 0.1 beside a float64 is T.float64(0.1). */
const rlx_prim *rlx_fold_retype(rlx_context *ctx, rlx_dtype dtype, const rlx_prim *a);
/* T.if_then_else: constant condition picks a side */
const rlx_prim *rlx_fold_select(rlx_context *ctx, const rlx_prim *cond, const rlx_prim *t,
                                const rlx_prim *f);
const rlx_prim *rlx_fold_not(rlx_context *ctx, const rlx_prim *a);
/* Brings both to a common dtype (tvmscript 6.3); false: cannot (the caller reports why as an
 * error). */
bool rlx_match_types(rlx_context *ctx, const rlx_prim **a, const rlx_prim **b);
/* Would rlx_fold_binary(kind, a, b) of this node's operands give another node? (the printer
 * then writes T.Add(a, b)) */
bool rlx_refolds(rlx_context *ctx, const rlx_prim *p);

/* A call of two operands: folds what works on the bits of two integer literals. */
const rlx_prim *rlx_fold_call(rlx_context *ctx, const char *op, const rlx_prim *a,
                              const rlx_prim *b);

/* ---- numbers: what one operation gives at run time; folding and the evaluator use it */
/* i: of an integer or bool type (base/dtype.h says how), f: of a float type. */
typedef struct rlx_scalar { int64_t i; double f; } rlx_scalar;
enum rlx_scalar_trouble {
    RLX_SCALAR_FINE,
    RLX_SCALAR_DIVISION, /* of an integer by zero */
    RLX_SCALAR_SHIFT,    /* by a negative count */
    RLX_SCALAR_UNKNOWN   /* not computed here */
};
/* Integers wrap, floats become the nearest integer toward zero, within the range; NaN is 0. */
rlx_scalar rlx_scalar_convert(rlx_dtype to, rlx_dtype from, rlx_scalar v);
/* ADD ... GE of operands of dtype t. */
enum rlx_scalar_trouble rlx_scalar_binary(enum rlx_node_kind kind, rlx_dtype t, rlx_scalar a,
                                          rlx_scalar b, rlx_scalar *out);
/* Is it a power of two of floats, whose reciprocal is neither infinite nor denormal? A quotient by it is the product with that. */
bool rlx_has_exact_reciprocal(double v);
enum rlx_bit_op {
    RLX_BIT_NONE,
    RLX_BIT_AND,
    RLX_BIT_OR,
    RLX_BIT_XOR,
    RLX_BIT_SHL,
    RLX_BIT_SHR
};
enum rlx_bit_op rlx_bit_op_named(rlx_slice name);
enum rlx_scalar_trouble rlx_scalar_bits(enum rlx_bit_op op, rlx_dtype t, int64_t a, int64_t b,
                                        int64_t *out);

/* ---- scopes: what is known about shape variables */
/* INT64_MIN / INT64_MAX: no bound */
typedef struct rlx_fact { const rlx_prim_var *var; int64_t low, high; } rlx_fact;
/* Where a == b, var is value, which does not mention it nor a variable that had a value when it
 * came. */
typedef struct rlx_equality {
    const rlx_prim_var *var;
    const rlx_prim *value, *a, *b;
} rlx_equality;
typedef struct rlx_scope rlx_scope;
struct rlx_scope {
    rlx_context *ctx;
    const rlx_scope *parent;
    rlx_ptrmap vars;   /* PRIM_VAR -> index + 1 of a fact; in scope */
    RLX_VEC(rlx_fact) facts;
    RLX_VEC(rlx_equality) equals; /* few */
    bool rewrites;     /* simplification may write the value for the variable */
};
void rlx_scope_init(rlx_scope *s, rlx_context *ctx, const rlx_scope *parent);
void rlx_scope_free(rlx_scope *s);
/* Brings a variable into scope. non_negative: bound by at least one Tensor or Shape position
 * (language 10.3.1). Again: bounds are intersected. */
bool rlx_scope_add(rlx_scope *s, const rlx_prim_var *var, bool non_negative);
bool rlx_scope_bound(rlx_scope *s, const rlx_prim_var *var, int64_t low, int64_t high);
/* Brings the variables in binding positions of `info` (may be NULL) into scope. */
bool rlx_scope_enter(rlx_scope *s, const rlx_sinfo *info);
bool rlx_scope_has(const rlx_scope *s, const rlx_prim_var *var); /* here or in a parent */
/* Outcomes of a fact that two expressions are equal. */
enum rlx_fact_use {
    RLX_FACT_TAKEN,  /* a variable has a value now */
    RLX_FACT_KNOWN,  /* it follows from what is known */
    RLX_FACT_FALSE,  /* it contradicts what is known; not taken */
    RLX_FACT_UNUSED  /* no variable stands by itself in it, or there are too many facts */
};
enum rlx_fact_use rlx_scope_equal(rlx_scope *s, const rlx_prim *a, const rlx_prim *b);
/* leaves the first `count` equalities of this very scope */
void rlx_scope_forget_equals(rlx_scope *s, size_t count);
/* leaves the first `count` facts of this very scope; keeps its memory */
void rlx_scope_forget(rlx_scope *s, size_t count);

/* ---- the prover. scope may be NULL: then nothing is known of variables but that they are
 * integers... >= 0 is NOT assumed */
enum rlx_answer { RLX_UNKNOWN = 0, RLX_EQUAL = 1, RLX_DIFFERENT = 2 };
enum rlx_truth { RLX_MAYBE = 0, RLX_TRUE = 1, RLX_FALSE = 2 };
enum rlx_answer rlx_prove_equal(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                                const rlx_prim *b);
/* A comparison, and, or, not over integers. */
/* The same for what is asked of each call of a program: of sums longer than that nothing is said
 * but that each is equal to itself. */
#define RLX_LONG_SIZE 256 /* parts */
RLX_INLINE bool rlx_is_long_size(const rlx_prim *p) { return rlx_prim_parts(p) > RLX_LONG_SIZE; }
RLX_INLINE enum rlx_answer rlx_prove_equal_sizes(rlx_context *ctx, const rlx_scope *s,
                                                 const rlx_prim *a, const rlx_prim *b)
{
    bool asked = a != b && a && b && !rlx_is_long_size(a) && !rlx_is_long_size(b);
    return asked ? rlx_prove_equal(ctx, s, a, b) : a == b ? RLX_EQUAL : RLX_UNKNOWN;
}
enum rlx_truth rlx_prove(rlx_context *ctx, const rlx_scope *s, const rlx_prim *condition);
enum rlx_truth rlx_prove_compare(rlx_context *ctx, const rlx_scope *s, enum rlx_node_kind kind,
                                 const rlx_prim *a, const rlx_prim *b);
/* Two lists of dimensions (language 5.3.3). */
enum rlx_answer rlx_prove_equal_list(rlx_context *ctx, const rlx_scope *s,
                                     const rlx_prim *const *a, size_t na, const rlx_prim *const *b,
                                     size_t nb);
/* Interval that holds for all admissible values; INT64_MIN / INT64_MAX: none. */
void rlx_bounds(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p, int64_t *low,
                int64_t *high);
/* A shorter equal expression, in canonical order; p itself if nothing is shorter. Needs no
 * scope to be right. */
const rlx_prim *rlx_simplify(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p);
/* The same where p has grown past what is read at a glance (16 nodes); smaller ones stay as they
 * are written. For sizes that are made of sizes, which would grow with each step: like terms are
 * collected, so n + n + ... stays as small as n * 40. Long ones are looked at now and then. */
const rlx_prim *rlx_keep_small(rlx_context *ctx, const rlx_scope *s, const rlx_prim *p);
/* Which value of var makes a and b equal, whatever the others are? *value: written without var;
 * NULL if none is known. It divides by zero nowhere where a and b do not. */
enum rlx_solution { RLX_SOLUTION_UNKNOWN = 0, RLX_SOLUTION_ONE = 1, RLX_SOLUTION_NONE = 2 };
enum rlx_solution rlx_solve(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                            const rlx_prim *b, const rlx_prim_var *var, const rlx_prim **value);

/* ---- evaluation */
enum rlx_evaluation {
    RLX_EVALUATED = 0,
    RLX_EVAL_OVERFLOW = 1,
    RLX_EVAL_ZERO_DIVISOR = 2,
    RLX_EVAL_NO_VALUE = 3,     /* of a variable */
    RLX_EVAL_UNSUPPORTED = 4,  /* floats, calls that are no arithmetic */
    RLX_EVAL_NO_MEMORY = 5
};
typedef struct rlx_assignment {
    const rlx_prim_var *const *vars;
    const int64_t *values;
    size_t count;
} rlx_assignment;
enum rlx_evaluation rlx_prim_evaluate_why(const rlx_prim *p, const rlx_assignment *values,
                                          rlx_memory *m, int64_t *out);
/* Evaluates p for the given values. False: it has no value there. */
bool rlx_prim_evaluate(const rlx_prim *p, const rlx_assignment *values, rlx_memory *m,
                       int64_t *out);
/* Looks for admissible values of the variables, written to `values`, for which both have a value
 * and the values differ. vars: those of a, b and every equality of the scope, each once. False:
 * none was found, which proves nothing; or out of memory. */
bool rlx_counterexample(rlx_context *ctx, const rlx_scope *s, const rlx_prim *a,
                        const rlx_prim *b, const rlx_prim_var *const *vars, size_t count,
                        int64_t *values);

/* The greatest common divisor; that of 0 and b is b. */
RLX_INLINE uint64_t rlx_gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

#endif
