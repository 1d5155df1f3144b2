/*- tir: loop-nest programs (PrimFuncs): building, blocks and their regions, lowering to plain
 * loops, checking, and the slow obvious evaluator.
 *
 * Builder, in short:
 *
 *     rlx_tir t;
 *     rlx_tir_begin(&t, ctx, place);
 *     const rlx_prim *n = rlx_tir_dim(&t, "n"), *four = rlx_tir_int(&t, 4);
 *     const rlx_buffer *a = rlx_tir_param(&t, "A", RELAX_FLOAT32, RLX_TIR_LIST(n, four));
 *     const rlx_buffer *b = rlx_tir_param(&t, "B", RELAX_FLOAT32, RLX_TIR_LIST(n));
 *     rlx_tir_begin_block(&t, "sum");                     with T.block("sum"):
 *     const rlx_prim *i = rlx_tir_spatial(&t, "i", n);        v_i = T.axis.spatial(n, i)
 *     const rlx_prim *k = rlx_tir_reduce(&t, "k", four);      v_k = T.axis.reduce(4, k)
 *     rlx_tir_init(&t, b, RLX_TIR_LIST(i), rlx_tir_float(&t, RELAX_FLOAT32, 0));
 *     const rlx_prim *so_far = rlx_tir_load(&t, b, RLX_TIR_LIST(i));
 *     const rlx_prim *one_more = rlx_tir_load(&t, a, RLX_TIR_LIST(i, k));
 *     rlx_tir_store(&t, b, RLX_TIR_LIST(i), rlx_tir_add(&t, so_far, one_more));
 *     rlx_tir_end_block(&t);
 *     const rlx_prim_func *f = rlx_tir_end(&t);           NULL if anything above failed
 *
 * Failure is latched: after it every call does nothing and gives NULL, NULL operands are
 * failures, and rlx_tir_end gives NULL. Misuse (an end without its begin, a wrong number of
 * indices) is a diagnostic OP03, OP06, OP09 or OP18. Everything made belongs to the context.
 * What the builder makes prints as canonical TVMScript: root block, axes by remap, reads and
 * writes filled in.
 */
#ifndef RLX_TIR_H
#define RLX_TIR_H

#include "format/fault.h"
#include "ir/ir.h"

/* ---- lists of expressions ------------------------------------------------------------------- */
typedef struct rlx_prim_list { const rlx_prim *const *items; size_t count; } rlx_prim_list;
/* Passed where an rlx_prim_list is expected: RLX_TIR_LIST(i, j); a rank-0 access: RLX_TIR_NONE. */
#define RLX_TIR_LIST(...)                                                                         \
    ((rlx_prim_list){                                                                             \
        (const rlx_prim *const[]){ __VA_ARGS__ },                                                 \
        sizeof((const rlx_prim *const[]){ __VA_ARGS__ }) / sizeof(const rlx_prim *) })
#define RLX_TIR_NONE ((rlx_prim_list){ NULL, 0 })
#define RLX_TIR_ITEMS(pointer, n) ((rlx_prim_list){ (pointer), (n) })
/* Most dimensions a buffer may have where kernels and the builder's index helpers are
 * concerned. */
#define RLX_TIR_MAX_DIMS 16

/* ---- the builder ---------------------------------------------------------------------------- */
typedef struct rlx_tir_frame rlx_tir_frame;
typedef struct rlx_tir {
    rlx_context *ctx;
    rlx_place place;               /* given to every statement, buffer and variable made */
    bool separate;                 /* products that are summed up are rounded on their own */
    bool incomplete;               /* something of it failed, also once the latch is cleared */
    rlx_tir_frame *top;            /* innermost open construct; region memory of the context */
    rlx_ptrs params, buffers;      /* parallel; buffers hold NULL for scalars */
    const rlx_attr *attrs;
} rlx_tir;

/* Every begin is followed by exactly one end (also after failures: it frees working memory). */
void rlx_tir_begin(rlx_tir *t, rlx_context *ctx, rlx_place place);
/* The finished function without a global symbol, or NULL. */
const rlx_prim_func *rlx_tir_end(rlx_tir *t);
void rlx_tir_attr(rlx_tir *t, const char *key, const rlx_attr *value);
/* An attribute of the innermost open block or loop, of the function outside of any. */
void rlx_tir_annotate(rlx_tir *t, const char *key, const rlx_attr *value);

/* A fresh int64 variable for symbolic sizes: bound by the parameter in whose shape it stands
 * alone, or by being a scalar parameter itself (rlx_tir_scalar). */
const rlx_prim *rlx_tir_dim(rlx_tir *t, const char *name);
/* Parameters, in order. The shape may use dims and constants and expressions of them. */
const rlx_buffer *rlx_tir_param(rlx_tir *t, const char *name, rlx_dtype dtype,
                                rlx_prim_list shape);
/* A parameter with strides in elements (none: compact) and the position of its first element
 * (NULL: 0). */
const rlx_buffer *rlx_tir_param_strided(rlx_tir *t, const char *name, rlx_dtype dtype,
                                        rlx_prim_list shape, rlx_prim_list strides,
                                        const rlx_prim *offset);
const rlx_prim *rlx_tir_scalar(rlx_tir *t, const char *name, rlx_dtype dtype);
/* Makes an existing variable (a dim) a scalar parameter. */
void rlx_tir_scalar_var(rlx_tir *t, const rlx_prim *var);
/* A temporary: belongs to the innermost open block, to the root block outside of any. */
const rlx_buffer *rlx_tir_alloc(rlx_tir *t, const char *name, rlx_dtype dtype,
                                rlx_prim_list shape);

/* Another look at the memory of `source`, in scope until the innermost open construct ends. */
const rlx_buffer *rlx_tir_view(rlx_tir *t, const char *name, rlx_dtype dtype,
                               const rlx_buffer *source, rlx_prim_list shape,
                               rlx_prim_list strides, const rlx_prim *offset);

/* Blocks. Axes are declared right after rlx_tir_begin_block, each makes one loop from 0 to its
 * extent around the block and one block variable named v_NAME, which is returned. A second
 * block inside a block is fine. */
void rlx_tir_begin_block(rlx_tir *t, const char *name);
const rlx_prim *rlx_tir_spatial(rlx_tir *t, const char *name, const rlx_prim *extent);
const rlx_prim *rlx_tir_reduce(rlx_tir *t, const char *name, const rlx_prim *extent);
/* of any type */
const rlx_prim *rlx_tir_loop_axis(rlx_tir *t, enum rlx_iter_type type, const char *name,
                                  const rlx_prim *extent);
/* A block variable of [min, min + extent) bound to `value`, an expression of loops opened with
 * rlx_tir_for. */
const rlx_prim *rlx_tir_axis(rlx_tir *t, enum rlx_iter_type type, const char *name,
                             const rlx_prim *min, const rlx_prim *extent, const rlx_prim *value);
/* The block runs only where `predicate` (of loop variables, not block variables) holds. */
void rlx_tir_where(rlx_tir *t, const rlx_prim *predicate);
/* States a region that the open block reads or writes; then none is found by analysis on that
 * side. b NULL: none so far. */
void rlx_tir_region(rlx_tir *t, bool written, const rlx_buffer *b, rlx_prim_list mins,
                    rlx_prim_list extents);
/* A buffer of the open block over a region of `source`; its `ndim` dimensions are the last ones of
 * the region, the others are one element wide. */
const rlx_buffer *rlx_tir_match(rlx_tir *t, const char *name, const rlx_buffer *source,
                                rlx_prim_list mins, rlx_prim_list extents, size_t ndim);
/* A store in T.init(): done once per spatial point before the first reduction step. */
void rlx_tir_init(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices, const rlx_prim *value);
void rlx_tir_end_block(rlx_tir *t);

/* Plain statements, in blocks or outside. kind: enum rlx_for_kind. `min` NULL: 0. */
const rlx_prim *rlx_tir_for(rlx_tir *t, const char *name, const rlx_prim *min,
                            const rlx_prim *extent, int kind);
/* A loop whose steps are threads of that tag ("threadIdx.x"). */
const rlx_prim *rlx_tir_thread(rlx_tir *t, const char *tag, const char *name,
                               const rlx_prim *extent);
void rlx_tir_end_for(rlx_tir *t);
void rlx_tir_while(rlx_tir *t, const rlx_prim *cond);
void rlx_tir_end_while(rlx_tir *t);
void rlx_tir_if(rlx_tir *t, const rlx_prim *cond);
void rlx_tir_else(rlx_tir *t);
void rlx_tir_end_if(rlx_tir *t);
/* A name for a value, in scope until the innermost open construct ends. */
const rlx_prim *rlx_tir_let(rlx_tir *t, const char *name, const rlx_prim *value);
/* Cast to the buffer's dtype if needed. */
void rlx_tir_store(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices, const rlx_prim *value);
/* Computes a value for its effect. */
void rlx_tir_evaluate(rlx_tir *t, const rlx_prim *value);
/* The rest of the construct runs only if cond holds, else the kernel fails with the message and
 * the code of `assertion`. */
void rlx_tir_assert(rlx_tir *t, const rlx_prim *cond, enum rlx_assertion assertion,
                    const char *message);
/* The same for a message as a program's text has it (rlx_assertion_take). */
void rlx_tir_assert_text(rlx_tir *t, const rlx_prim *cond, const char *text);

/* Expressions: the folding constructors of arith, with matching of operand types. */
const rlx_prim *rlx_tir_int(rlx_tir *t, int64_t value);                          /* int64 */
const rlx_prim *rlx_tir_float(rlx_tir *t, rlx_dtype dtype, double value);
/* A literal of any computable dtype (bool: value != 0; integers: value truncated). */
const rlx_prim *rlx_tir_number(rlx_tir *t, rlx_dtype dtype, double value);
/* Least and greatest finite value of a dtype; for floats -max. */
const rlx_prim *rlx_tir_lowest(rlx_tir *t, rlx_dtype dtype);
const rlx_prim *rlx_tir_highest(rlx_tir *t, rlx_dtype dtype);
/* Nothing is beyond it: the greatest number of a float that has no infinity. */
const rlx_prim *rlx_tir_infinity(rlx_tir *t, rlx_dtype dtype, bool negative);
const rlx_prim *rlx_tir_load(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices);
/* kind: RLX_NODE_ADD ... RLX_NODE_OR. Comparisons match operand types and do not fold. */
const rlx_prim *rlx_tir_binary(rlx_tir *t, enum rlx_node_kind kind, const rlx_prim *a,
                               const rlx_prim *b);
#define RLX_TIR_BINARY(name, KIND)                                                              \
    RLX_INLINE const rlx_prim *rlx_tir_##name(rlx_tir *t, const rlx_prim *a, const rlx_prim *b) \
    {                                                                                           \
        return rlx_tir_binary(t, RLX_NODE_##KIND, a, b);                                        \
    }
RLX_TIR_BINARY(add, ADD)
RLX_TIR_BINARY(sub, SUB)
RLX_TIR_BINARY(mul, MUL)
RLX_TIR_BINARY(div, DIV)             /* floats: IEEE; integers: toward zero */
RLX_TIR_BINARY(mod, MOD)             /* integers: sign of the dividend */
/* Of integers only, as all of these: floats use floor(a / b), fmod. */
RLX_TIR_BINARY(floor_div, FLOOR_DIV)
RLX_TIR_BINARY(floor_mod, FLOOR_MOD)
RLX_TIR_BINARY(min, MIN)             /* NaN if either is NaN */
RLX_TIR_BINARY(max, MAX)
RLX_TIR_BINARY(eq, EQ)
RLX_TIR_BINARY(ne, NE)
RLX_TIR_BINARY(lt, LT)
RLX_TIR_BINARY(le, LE)
RLX_TIR_BINARY(gt, GT)
RLX_TIR_BINARY(ge, GE)
RLX_TIR_BINARY(and, AND)
RLX_TIR_BINARY(or, OR)
#undef RLX_TIR_BINARY
const rlx_prim *rlx_tir_not(rlx_tir *t, const rlx_prim *a);
/* The value itself if it has the dtype; literals are converted. */
const rlx_prim *rlx_tir_cast(rlx_tir *t, rlx_dtype dtype, const rlx_prim *a);
/* Both sides are computed (T.Select). */
const rlx_prim *rlx_tir_select(rlx_tir *t, const rlx_prim *cond, const rlx_prim *a,
                               const rlx_prim *b);
/* Only the chosen side is computed (T.if_then_else): for guarded loads. */
const rlx_prim *rlx_tir_if_then_else(rlx_tir *t, const rlx_prim *cond, const rlx_prim *a,
                                     const rlx_prim *b);
/* Intrinsics of table RLX_TIR_INTRINSICS by name without "tir.": rlx_tir_call1(t, "exp", x).
 * Result dtype: that of the first argument unless the table says otherwise. */
const rlx_prim *rlx_tir_call1(rlx_tir *t, const char *op, const rlx_prim *a);
const rlx_prim *rlx_tir_call2(rlx_tir *t, const char *op, const rlx_prim *a, const rlx_prim *b);
/* A step of a sum of products, which is rounded once where it is float32 or float64: T.fma(a, b,
 * sum); for other dtypes, and where products are separate, sum + a * b; of bools, sum or (a and b).
 * Operands have one dtype. */
const rlx_prim *rlx_tir_multiply_add(rlx_tir *t, const rlx_prim *sum, const rlx_prim *a,
                                     const rlx_prim *b);
/* A call of a C function by its symbol. */
const rlx_prim *rlx_tir_call_extern(rlx_tir *t, rlx_dtype dtype, const char *symbol,
                                    rlx_prim_list args);
/* Row-major position of `indices` in `shape`, and back (out: shape.count items). */
const rlx_prim *rlx_tir_flatten(rlx_tir *t, rlx_prim_list indices, rlx_prim_list shape);
void rlx_tir_unflatten(rlx_tir *t, const rlx_prim *position, rlx_prim_list shape,
                       const rlx_prim **out);

/* ---- operands ------------------------------------------------------------------------------- */
/* Operands that are computed before `p`, in order of evaluation; a variable and a literal have
 * none. */
size_t rlx_tir_num_operands(const rlx_prim *p);
const rlx_prim *rlx_tir_operand(const rlx_prim *p, size_t i); /* i < num_operands */

/* ---- intrinsics ----------------------------------------------------------------------------- */
/* Intrinsics that kernels can compute: the rows of format/scalar_op.def by name without "tir.".
 * The evaluator, the kernel writer, the operators and the purity test read this table. */
enum rlx_tir_intrinsic {
    RLX_TIR_NO_INTRINSIC,
#define SCALAR_FLOAT(name, kind, rule, f32, f64) RLX_TIR_##name,
#define SCALAR_SYNONYM(name, of, kind, rule) RLX_TIR_##name,
#define SCALAR_OTHER(name, kind, rule) RLX_TIR_##name,
#include "format/scalar_op.def"
    RLX_TIR_NUM_INTRINSICS
};
/* The text T.name(...): the dtype of its result, or another reason why it may read as something
 * else. SAME, SECOND: that of an argument; FIRST, LAST: the text says it, first or last. FOLD,
 * ROUND, CHOICE: that of an argument, but reading may make something else of the call.
 * EXPANDED: reads as an expression without the call. */
enum rlx_tir_rule {
    RLX_TIR_RULE_SAME,
    RLX_TIR_RULE_SECOND,
    RLX_TIR_RULE_BOOL,
    RLX_TIR_RULE_I32,
    RLX_TIR_RULE_U32,
    RLX_TIR_RULE_HANDLE,
    RLX_TIR_RULE_VOID,
    RLX_TIR_RULE_FIRST,
    RLX_TIR_RULE_LAST,
    RLX_TIR_RULE_FOLD,
    RLX_TIR_RULE_ROUND,
    RLX_TIR_RULE_CHOICE,
    RLX_TIR_RULE_EXPANDED
};
/* SAME: the dtype of the first argument (for if_then_else: of the second). */
enum rlx_tir_result { RLX_TIR_SAME, RLX_TIR_BOOL, RLX_TIR_I32 };
typedef struct rlx_tir_intrinsic_row {
    const char *name;
    uint8_t num_args, result, rule;
} rlx_tir_intrinsic_row;
extern const rlx_tir_intrinsic_row rlx_tir_intrinsics[RLX_TIR_NUM_INTRINSICS];
/* RLX_TIR_NO_INTRINSIC if there is none of that name. */
enum rlx_tir_intrinsic rlx_tir_find_intrinsic(rlx_slice name);

/* ---- blocks, regions, completion (tvmscript 6.2) -------------------------------------------- */
/* `b` with reads and/or writes filled in by access analysis of its body and init: order of
 * first access, inner loops and inner blocks relaxed to ranges, several accesses of one buffer
 * united; written buffers are no reads if the block has an init. The block's own alloc_buffers
 * are left out. NULL with a diagnostic for an access that cannot be seen (a buffer's data
 * pointer passed to a call), or when out of memory. Call it for inner blocks first. */
const rlx_tir_block *rlx_tir_complete_block(rlx_context *ctx, const rlx_tir_block *b, bool reads,
                                            bool writes);
/* The body of a function with its root block, where one belongs: there are root alloc_buffers,
 * or the body is no BlockRealize but contains one, or it is one with iteration variables.
 * Otherwise `body` itself. */
const rlx_stmt *rlx_tir_add_root(rlx_context *ctx, const rlx_stmt *body,
                                 const rlx_buffer *const *allocs, size_t num_allocs,
                                 rlx_place place);

/* ---- questions ------------------------------------------------------------------------------ */
/* Every variable and buffer defined before use, also in sizes of buffers; indices as many as
 * dimensions; dtypes of stores, conditions, let bindings and operands agree. False with WX08
 * diagnostics, with none when `quiet`. */
bool rlx_tir_verify(rlx_context *ctx, const rlx_prim_func *f, bool quiet);
/* Warns of parallel and vectorized loops all of whose iterations surely write one element
 * (WX11). False: out of memory. */
bool rlx_tir_report_races(rlx_context *ctx, const rlx_prim_func *f);
/* Warns of accesses that surely lie outside of what the block around them states (WX12), or of their buffer (WX15). False:
 * out of memory. */
bool rlx_tir_report_regions(rlx_context *ctx, const rlx_prim_func *f);

/* ---- lowering ------------------------------------------------------------------------------- */
/* The body without blocks: plain loops, lets, ifs, stores; T.init in a loop nest of its own in
 * front of the reduction where that keeps the meaning, else guarded; predicates as ifs; match
 * buffers replaced by their source; temporaries as DeclBuffer over Allocate around their block.
 * NULL with a CG diagnostic or when out of memory. A function without blocks comes back as it
 * is. */
const rlx_prim_func *rlx_tir_lower_blocks(rlx_context *ctx, const rlx_prim_func *f);
/* Has the loop the attribute relax.partial_sums? Such loops stand innermost, and are one sum (doc/numbers.md). */
bool rlx_tir_is_partial_loop(const rlx_for_stmt *f);
/* What the nest of such loops means, by plain loops; itself where the attribute says nothing of it. NULL: out of memory. */
const rlx_stmt *rlx_tir_partial_loops(rlx_context *ctx, const rlx_for_stmt *nest);

/* Allocate and DeclBuffer of b around body. */
const rlx_stmt *rlx_tir_with_temporary(rlx_context *ctx, const rlx_buffer *b, const rlx_stmt *body,
                                       rlx_place place);

/* Is it a Select or T.if_then_else, and of what? */
bool rlx_tir_is_choice(const rlx_prim *p, const rlx_prim **cond, const rlx_prim **then, const rlx_prim **other);

/* ---- affine view of an index ---------------------------------------------------------------- */
/* p = base + sum of coeff[i] * vars[i]; base and coefficients mention none of the variables.
 * coeff NULL: 0. */
typedef struct rlx_tir_affine {
    const rlx_prim *base;
    const rlx_prim *coeff[RLX_TIR_MAX_DIMS * 2];
} rlx_tir_affine;
/* False if it is not of that form (or more than RLX_TIR_MAX_DIMS * 2 variables, or out of
 * memory). */
bool rlx_tir_affine_of(rlx_context *ctx, const rlx_prim *p, const rlx_prim *const *vars,
                       size_t num_vars, rlx_tir_affine *out);

/* A rewriter that folds what it rebuilds; variables to replace are put into its map (old ->
 * new). */
void rlx_tir_folder_init(rlx_rewriter *r, rlx_context *ctx);

/* ---- the evaluator -------------------------------------------------------------------------- */
typedef struct rlx_tir_arg {
    rlx_dtype dtype;           /* of the elements, or of the scalar */
    void *data;                /* buffer: compact row-major; NULL: a scalar */
    const int64_t *shape; int32_t ndim;
    int64_t i; double f;       /* scalar, by the kind of its dtype */
} rlx_tir_arg;
typedef struct rlx_tir_limits {
    /* statements and expressions evaluated; 0: no limit. Beyond: RT12 */
    uint64_t max_steps;
    size_t max_bytes;          /* of temporaries; 0: no limit. Beyond: RT10 */
} rlx_tir_limits;
/* Runs f, blocks and all, on the arguments: slow, obvious, the meaning of a PrimFunc. limits
 * may be NULL. Arguments are checked as a kernel does (RT01 count, RT03 dtype, RT04 rank, RT05
 * size); RT09 index out of range, RT14 arithmetic. Narrow floats: each operation in
 * float32, rounded. */
bool rlx_tir_eval(rlx_context *ctx, const rlx_prim_func *f, const rlx_tir_arg *args,
                  size_t num_args, const rlx_tir_limits *limits, rlx_fault *why);

#endif
