/*- prove.h: integer expressions, decided, solved and evaluated under what is known of their
 * variables.
 *
 *     relax_prover *p = relax_prover_create(ctx);
 *     relax_prover_enter(p, info);             of R.Tensor((n, m * 4)): n >= 0
 *     relax_prover_bound(p, n, 1, 1024);
 *     relax_prover_assume_equal(p, n, m2);     n is m * 2 from here on
 *     int32_t proof = relax_prover_equal(p, a, b);
 *     relax_prover_destroy(p);
 *
 * Sound: equal, different, true and false hold for all values that the facts admit, overflow
 * aside; what takes more than some milliseconds to decide is unknown. Facts only add up. Same
 * questions, same answers.
 */
#ifndef RELAX_PROVE_H
#define RELAX_PROVE_H

#include <relax/analysis.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_prover relax_prover; /* facts on integer variables of one context */

/* Without facts: of a variable nothing is known, not even that it is >= 0. NULL when out of
 * memory. Keeps a reference of ctx. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_prover *relax_prover_create(relax_context *ctx);
/* Drops it; expressions that it made stay. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
void relax_prover_destroy(relax_prover *p);

/* ---- facts. Failures: misuse (with a diagnostic), out of memory */

/* low <= var <= high; INT64_MIN, INT64_MAX: no bound. Bounds that are known are narrowed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
relax_status relax_prover_bound(relax_prover *p, const relax_prim_expr *var, int64_t low,
                                int64_t high);
/* A value described by `info` exists: variables that stand alone as sizes of tensors and shapes
 * are >= 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
relax_status relax_prover_enter(relax_prover *p, const relax_struct_info *info);

/* What became of a fact. */
enum relax_fact {
    RELAX_FACT_FAILED = -1, /* misuse (OP), or out of memory: nothing is taken */
    RELAX_FACT_TAKEN = 0,  /* one variable is written by way of the others from here on */
    RELAX_FACT_KNOWN = 1,  /* it follows from what is known */
    RELAX_FACT_FALSE = 2,  /* it contradicts what is known, and is not taken */
    RELAX_FACT_UNUSED = 3  /* no variable stands by itself in it, or there are 64 such facts */
};
/* a and b are equal (a cast has checked it, say). enum relax_fact. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
int32_t relax_prover_assume_equal(relax_prover *p, const relax_prim_expr *a,
                                  const relax_prim_expr *b);

/* ---- questions; each answer has a number for "misuse (OP), or out of memory" */

/* Are a and b equal, or different, for all admissible values? enum relax_proof. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
int32_t relax_prover_equal(relax_prover *p, const relax_prim_expr *a, const relax_prim_expr *b);
/* What is known of a condition, for all admissible values of its variables. */
enum relax_truth {
    RELAX_TRUTH_FAILED = -1,
    RELAX_TRUTH_UNKNOWN = 0,
    RELAX_TRUTH_TRUE = 1,
    RELAX_TRUTH_FALSE = 2
};
/* A comparison of integers, or such joined by and, or, not. enum relax_truth. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
int32_t relax_prover_holds(relax_prover *p, const relax_prim_expr *condition);
/* low <= e <= high for all admissible values; INT64_MIN, INT64_MAX: no such bound is known.
 * Not the narrowest bounds. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
relax_status relax_prover_bounds(relax_prover *p, const relax_prim_expr *e, int64_t *low,
                                 int64_t *high);
/* An expression that is equal under the facts and not longer; the same handle if there is none.
 * NULL on misuse or out of memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_prover_simplify(relax_prover *p,
                                                                     const relax_prim_expr *e);
/* How many values of one variable make two expressions equal. */
enum relax_solution {
    RELAX_SOLUTION_FAILED = -1,
    RELAX_SOLUTION_UNKNOWN = 0,
    RELAX_SOLUTION_ONE = 1, /* where a and b have values: equal just where var is *value */
    RELAX_SOLUTION_NONE = 2 /* no admissible integer makes them equal: n * 4 and 30 */
};
/* Which value of `var` makes a and b equal? *value: written without var, NULL unless the answer
 * is RELAX_SOLUTION_ONE; it divides by zero nowhere where a and b do not. enum relax_solution. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
int32_t relax_prover_solve(relax_prover *p, const relax_prim_expr *a, const relax_prim_expr *b,
                           const relax_prim_expr *var, relax_prim_expr **value);
/* Looks for admissible values of the variables for which a and b differ, and every fact that was
 * taken is true, checked by evaluation. Returns how many variables a, b and these facts have,
 * after writing up to `capacity` of them, each once, and their values (both lists may be NULL);
 * RELAX_NOT_FOUND: none was found, which proves nothing, or misuse. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(p)
size_t relax_prover_counterexample(relax_prover *p, const relax_prim_expr *a,
                                   const relax_prim_expr *b,
                                   RELAX_NULLABLE const relax_prim_expr **vars,
                                   RELAX_NULLABLE int64_t *values, size_t capacity);

/* ---- evaluation */

/* Why an expression has no value. */
enum relax_evaluation {
    RELAX_EVALUATION_FAILED = -1,      /* misuse (OP), or out of memory */
    RELAX_EVALUATED = 0,
    RELAX_EVALUATION_OVERFLOW = 1,     /* of int64, or of a narrower type cast to (RT14) */
    RELAX_EVALUATION_ZERO_DIVISOR = 2, /* (RT14) */
    RELAX_EVALUATION_NO_VALUE = 3,     /* a variable is not among `vars` */
    RELAX_EVALUATION_UNSUPPORTED = 4   /* floats, calls that are no integer arithmetic */
};
/* The value of `e`, an expression over integers and truth values, where vars[i] is values[i].
 * Only the chosen arm of a select, and of and, or what decides, is evaluated. Returns
 * enum relax_evaluation: RELAX_EVALUATED and *out, or why there is no value. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_prim_evaluate(relax_context *ctx, const relax_prim_expr *e,
                            const relax_prim_expr *const *vars, const int64_t *values,
                            size_t count, int64_t *out);

#ifdef __cplusplus
}
#endif
#endif
