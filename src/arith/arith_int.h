/*- arith_int.h: canonical forms, for the files of arith only.
 *
 *   poly   = sum of terms, sorted by the number of the monomial
 *   term   = coefficient * monomial
 *   mono   = product of atoms with powers, interned; number 0 is the empty product
 *   atom   = a variable, or something over polynomials that is opaque to them:
 *
 *      VAR            a shape variable
 *      FLOOR_DIV p q  p // q; for a constant q: q > 1, coefficients of p in [0, q), gcd of all 1
 *      FLOOR_MOD p q  only for q that is no constant; p % c is p - c * (p // c)
 *      FLOOR_DIV p q  for any other q: what q goes into is taken out; no common factor
 *      TRUNC_DIV p q  division toward zero, where it is not known to be a floor division; first
 *      TRUNC_MOD p q  coefficients positive, no common factor. TRUNC_MOD only for q no constant
 *      MIN p...       at least two; least coefficient of each monomial over the operands is 0,
 *                     gcd 1; sorted. max(a, b) is -min(-a, -b), which becomes a + b - min(a, b)
 *      SELECT p 0 c   p where c >= 0, else 0 (select.c). SELECT_ZERO: where c == 0
 *      SELECT p 0     node: the condition
 *      OPAQUE         any other node, by identity
 *
 * All of it lives in the state that arith keeps per context: it is a cache over nodes, dropped
 * whenever it has grown too large or a layer of nodes goes away. Canonical forms depend on no
 * scope; what a scope knows is used on the difference of two of them (atom.c, bounds.c).
 */
#ifndef RLX_ARITH_INT_H
#define RLX_ARITH_INT_H

#include "arith/arith.h"
#include "format/kernel_math.h"

enum atom_kind {
    ATOM_VAR, ATOM_FLOOR_DIV, ATOM_FLOOR_MOD, ATOM_TRUNC_DIV, ATOM_TRUNC_MOD, ATOM_MIN,
    ATOM_SELECT, ATOM_SELECT_ZERO, ATOM_OPAQUE
};

typedef struct rlx_poly rlx_poly;
typedef struct rlx_atom {
    uint32_t number; /* order of creation: sorts factors */
    uint8_t kind, depth;
    uint16_t num_ops;
    /* of the content: neither addresses nor history, so it decides where an order shows */
    uint64_t hash;
    const rlx_node *node;
    const rlx_poly *ops[];
} rlx_atom;

typedef struct rlx_factor { const rlx_atom *atom; uint32_t power; } rlx_factor;
typedef struct rlx_mono {
    uint32_t number;
    uint32_t len;
    uint8_t depth;    /* greatest of its atoms; 0: variables only */
    uint64_t hash;
    rlx_factor factors[]; /* by atom number */
} rlx_mono;

typedef struct rlx_term { int64_t coef; const rlx_mono *mono; } rlx_term;
struct rlx_poly { uint32_t len; uint32_t depth; rlx_term terms[]; };

/* A canonical form of a node. divisors: what the expression divides by and is not a
 * constant, sorted by address-free hash; two expressions that cannot fail on the same values
 * are never called equal. */
typedef struct rlx_canon {
    const rlx_poly *poly;
    uint32_t cost;    /* what is left of it counts against MAX_COST where it is used */
    uint32_t effort;  /* steps it took to find it, parts included */
    uint32_t num_divisors;
    bool asked;       /* it is in the list of costly forms */
    const rlx_poly *const *divisors;
    const int64_t *bounds; /* low, high where nothing is known of variables; NULL: not asked for yet */
} rlx_canon;

/* Limits. A node over those of size, or that takes more than NODE_STEPS by itself, becomes an
 * OPAQUE atom; what comes after the canonical forms is unknown beyond QUERY_STEPS. So an answer
 * does not depend on what was asked before. */
#define MAX_MONOMIALS 4096
#define MAX_PRODUCTS (4 * MAX_MONOMIALS)
#define MAX_FACTORS 64
#define MAX_POWER 64
#define MAX_DEPTH 24
#define MAX_MIN_OPS 12
#define MAX_COST (1u << 18)
#define MAX_DIVISORS 16
#define NODE_STEPS (1u << 17)
#define QUERY_STEPS (1u << 19)
#define MAX_SPLITS 200
#define CACHE_BYTES ((size_t)4 << 20)

typedef struct rlx_costly { const rlx_prim *node; rlx_canon *form; } rlx_costly;
typedef RLX_VEC(rlx_costly) rlx_costly_list;

typedef struct rlx_arith {
    rlx_context *ctx;
    rlx_region keep, temp; /* what the tables point to; one query's working memory */
    rlx_intern monos, atoms;
    uint32_t num_monos, num_atoms;
    const rlx_mono *one;
    rlx_ptrmap memo; /* node -> rlx_canon */
    rlx_ptrmap hashes; /* node -> structural hash */
    rlx_costly_list costly; /* asked for and worth more than their memory, oldest first */
} rlx_arith;

/* One question. `failed`: memory ran out; `too_big`: one construction hit a limit of size,
 * whoever can go on without it clears it; `spent`: no steps are left. All constructors give
 * NULL then. */
typedef struct rlx_query {
    rlx_arith *a;
    const rlx_scope *scope;
    bool use_scope; /* the constructors may use bounds (resolving) */
    bool substitute; /* resolving: variables that are equal to something become that */
    bool expand_rest, saw_rest; /* resolving: p % q becomes p - q * (p // q); there was one */
    bool failed, too_big, spent;
    uint32_t steps; /* left */
    uint32_t splits;
    rlx_region_mark mark;
} rlx_query;

bool rlx_query_begin(rlx_query *q, rlx_context *ctx, const rlx_scope *s);
void rlx_query_end(rlx_query *q);
/* Starts counting anew. */
void rlx_query_budget(rlx_query *q, uint32_t steps);
/* Counts work; false once the budget is spent. */
bool rlx_query_step(rlx_query *q, size_t count);
void *rlx_query_fail(rlx_query *q); /* out of memory: latched in the context; NULL */
void *rlx_query_too_big(rlx_query *q);
void *rlx_query_new(rlx_query *q, size_t size); /* working memory */
/* This form was asked for itself: it may outlive the others (form_cache.c). */
void rlx_form_asked(rlx_query *q, const rlx_prim *node, rlx_canon *form);

/* Does a scope say what a variable is equal to? */
bool rlx_scope_has_equals(const rlx_scope *s);
const rlx_prim *rlx_scope_value(const rlx_scope *s, const rlx_node *var);
bool rlx_scope_fact(const rlx_scope *s, const rlx_prim_var *var, int64_t *low, int64_t *high);

/* ---- polynomials (polynomial.c). Operands may be NULL: then so is the result. */
const rlx_poly *rlx_poly_const(rlx_query *q, int64_t value);
const rlx_poly *rlx_poly_atom(rlx_query *q, const rlx_atom *atom);
/* ka * a + kb * b */
const rlx_poly *rlx_poly_combine(rlx_query *q, const rlx_poly *a, int64_t ka, const rlx_poly *b,
                                 int64_t kb);
const rlx_poly *rlx_poly_scale(rlx_query *q, const rlx_poly *a, int64_t k);
const rlx_poly *rlx_poly_mul(rlx_query *q, const rlx_poly *a, const rlx_poly *b);
/* Sorted; terms is working memory. NULL: out of memory. */
const rlx_term *rlx_terms_sort(rlx_query *q, rlx_term *terms, size_t count,
                               int (*compare)(const rlx_mono *a, const rlx_mono *b));
/* Sum of the terms, in any order; sorts them in place. */
const rlx_poly *rlx_poly_of_terms(rlx_query *q, rlx_term *terms, size_t count);
bool rlx_poly_is_const(const rlx_poly *p, int64_t *value);
bool rlx_poly_equal(const rlx_poly *a, const rlx_poly *b);
uint64_t rlx_poly_hash(const rlx_poly *p);
int64_t rlx_poly_constant_part(const rlx_poly *p);
/* gcd of the coefficients, without the constant one if `varying`; 0 if there are none. */
uint64_t rlx_poly_content(const rlx_poly *p, bool varying);
/* Order that shows: variables by age, then the rest by content; higher powers and longer
 * products first (a monomial order). < 0: a comes before b. */
int rlx_atom_compare(const rlx_atom *a, const rlx_atom *b);
int rlx_mono_compare(const rlx_mono *a, const rlx_mono *b);
/* The factors of m in that order; how many. */
size_t rlx_mono_ordered(const rlx_mono *m, rlx_factor out[MAX_FACTORS]);
/* The first term in that order; p is not 0. */
rlx_term rlx_poly_lead(const rlx_poly *p);
bool rlx_poly_leads_negative(rlx_query *q, const rlx_poly *p);
/* Every coefficient floor-divided: exact but for the constant one where g divides the others. */
const rlx_poly *rlx_poly_floor_coefs(rlx_query *q, const rlx_poly *p, int64_t g);
/* a / b; NULL without a failure where b does not divide a. */
const rlx_mono *rlx_mono_quotient(rlx_query *q, const rlx_mono *a, const rlx_mono *b);
/* coef * mono */
const rlx_poly *rlx_poly_term(rlx_query *q, int64_t coef, const rlx_mono *mono);
/* Replaces an atom by a polynomial. Occurrences with a power other than 1 are multiplied out. */
const rlx_poly *rlx_poly_replace(rlx_query *q, const rlx_poly *p, const rlx_atom *atom,
                                 const rlx_poly *by);
const rlx_mono *rlx_mono_without(rlx_query *q, const rlx_mono *m, const rlx_atom *atom);
const rlx_mono *rlx_mono_product(rlx_query *q, const rlx_mono *a, const rlx_mono *b);
const rlx_atom *rlx_mono_single(const rlx_mono *m); /* the atom if m is one atom with power 1 */
const rlx_atom *rlx_atom_intern(rlx_query *q, enum atom_kind kind, const rlx_node *node,
                                const rlx_poly *const *ops, size_t count);
/* a copy that outlives the query */
const rlx_poly *rlx_poly_keep(rlx_query *q, const rlx_poly *p);

/* ---- what stands for an operation (quotient.c; from rlx_make_min on, atom.c) */
const rlx_poly *rlx_make_floor_div(rlx_query *q, const rlx_poly *a, const rlx_poly *b);
const rlx_poly *rlx_make_floor_mod(rlx_query *q, const rlx_poly *a, const rlx_poly *b);
const rlx_poly *rlx_make_trunc_div(rlx_query *q, const rlx_poly *a, const rlx_poly *b);
const rlx_poly *rlx_make_trunc_mod(rlx_query *q, const rlx_poly *a, const rlx_poly *b);
const rlx_poly *rlx_make_min(rlx_query *q, const rlx_poly *const *ops, size_t count);
const rlx_poly *rlx_make_max(rlx_query *q, const rlx_poly *a, const rlx_poly *b);
/* p with every atom made again under what the scope knows. */
const rlx_poly *rlx_resolve(rlx_query *q, const rlx_poly *p);

/* ---- choices (select.c) */
enum condition_kind { CONDITION_NOT_NEGATIVE, CONDITION_ZERO, CONDITION_NODE };
typedef struct rlx_condition {
    enum condition_kind kind;
    const rlx_poly *p;    /* >= 0, or == 0 */
    const rlx_node *node; /* the condition itself */
} rlx_condition;
rlx_condition rlx_condition_of(rlx_query *q, enum rlx_node_kind kind, const rlx_poly *a,
                               const rlx_poly *b, bool *negated);
enum rlx_truth rlx_condition_truth(rlx_query *q, rlx_condition c);
const rlx_poly *rlx_make_select(rlx_query *q, rlx_condition c, const rlx_poly *t,
                                const rlx_poly *f);
/* The condition of such an atom. */
RLX_INLINE rlx_condition rlx_atom_condition(const rlx_atom *t)
{
    enum condition_kind kind = t->node                       ? CONDITION_NODE
                               : t->kind == ATOM_SELECT_ZERO ? CONDITION_ZERO
                                                             : CONDITION_NOT_NEGATIVE;
    return (rlx_condition){ kind, t->num_ops == 3 ? t->ops[2] : NULL, t->node };
}

/* ---- canonical.c. NULL only when the query failed. */
const rlx_canon *rlx_canonical(rlx_query *q, const rlx_prim *p);
/* Is that divisor among those of c? */
bool rlx_canon_divides_by(const rlx_canon *c, const rlx_poly *divisor);

/* ---- simplify.c: a node again. NULL: a limit, or the query failed. */
size_t rlx_count_nodes(rlx_context *ctx, const rlx_prim *p, size_t limit); /* as a tree */
const rlx_prim *rlx_prim_of_poly(rlx_query *q, rlx_dtype dtype, const rlx_poly *p);

/* ---- bounds.c: INT64_MIN / INT64_MAX: none */
typedef struct rlx_interval { int64_t low, high; } rlx_interval;
int64_t rlx_poly_min(rlx_query *q, const rlx_poly *p);
int64_t rlx_poly_max(rlx_query *q, const rlx_poly *p);
rlx_interval rlx_interval_of(rlx_query *q, const rlx_poly *p);

#endif
