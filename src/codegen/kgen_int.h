/*- kgen_int.h: the parts of the kernel writer.
 *
 *   kgen_stmt.c     the function: parameters, statements
 *   schedule/plan.c     loop nests: the order of their loops, the strip, reductions; writes nothing
 *   kgen_nest.c     the code of a nest as its plan says
 *   kgen_expr.c       expressions without recursion, values remembered, strips free again
 *   kgen_value.c      one operation: registers, level, masks, dtypes
 *   kgen_operator.c   TIR operators and intrinsics as operations
 *   kgen_access.c     indices, range checks, loads, stores
 *   kgen_code.c       registers, constants, code of open constructs, the bytes
 *
 * Code is collected per open construct ("level"). An instruction goes to the outermost level
 * where its operands are known, so invariant work leaves the loops by itself; when a level
 * closes, its code is appended to the one around it. All jumps are relative, so appending needs
 * no fixing. Scalar registers are written once (loop variables apart). */
#ifndef RLX_KGEN_INT_H
#define RLX_KGEN_INT_H

#include "arith/arith.h"
#include "codegen/kgen.h"
#include "schedule/plan.h"
#include "format/kernel_format.h"
#include "tir/tir.h"

#define RLX_KGEN_MAX_LEVELS 400
#define RLX_KGEN_MAX_DEPTH 256           /* statements inside each other */
#define RLX_KGEN_CONST_BASE 32768u       /* registers from here on are constants until the end */
#define RLX_KGEN_NO_REG UINT32_MAX

typedef RLX_VEC(uint16_t) rlx_kgen_words;

/* Where a value is. */
typedef struct rlx_kgen_value {
    uint32_t reg;                  /* RLX_KGEN_NO_REG: failure */
    int32_t level;                 /* level after whose code it is known */
    uint8_t klass;
    bool wide, view, loads;        /* a vector strip; a view of memory; depends on memory */
    uint32_t serial;               /* of a mask: its own number */
    uint32_t guard;                /* number of the mask under which it was computed; 0: none */
    rlx_dtype dtype;
} rlx_kgen_value;

typedef struct rlx_kgen_level {
    rlx_kgen_words code;
    rlx_ptrs memo;                 /* expressions remembered at this level */
    bool sure;                     /* runs at least once whenever the level around it does */
    const struct rlx_kgen_nest *nest; /* of LOOP and STRIP levels made by a nest */
} rlx_kgen_level;

typedef struct rlx_kgen_memo {
    const rlx_prim *p;
    rlx_kgen_value value;
    uint32_t uses;
    bool live;
} rlx_kgen_memo;

typedef struct rlx_kgen_buffer {
    const rlx_buffer *buffer;
    uint32_t index;                /* in the kernel's table */
    enum rlx_kernel_elem elem;
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *strides[RLX_TIR_MAX_DIMS]; /* int64 */
} rlx_kgen_buffer;

typedef struct rlx_kgen_row {
    uint8_t kind, rank;
    uint16_t same;
    rlx_dtype dtype;
    uint32_t name, data;
    uint64_t count;
} rlx_kgen_row;
typedef struct rlx_kgen_param { uint8_t kind; uint32_t index; rlx_dtype dtype; } rlx_kgen_param;

/* A nest whose code is being written. */
typedef struct rlx_kgen_nest {
    const struct rlx_kgen *writer;
    const rlx_nest_plan *plan;
    int32_t level;                 /* of the nest's own code, in front of its loops */
    int32_t strip_level;           /* -1: not open */
    uint32_t strip_reg, extent_reg;
    bool from_zero;                /* a sum into what would be filled with zeros first */
    bool shared;                   /* plan->parallel: in the part of it that begins there, as long as that */
    uint32_t part_begin, part_count;
    int32_t part_level;            /* of that part's own code */
} rlx_kgen_nest;

typedef RLX_VEC(uint32_t) rlx_kgen_registers;
/* same: it holds one number in each nest. */
typedef struct rlx_kgen_strip { uint32_t reg; bool same; } rlx_kgen_strip;

/* A register with the sum of a strip variable and an offset. */
typedef struct rlx_kgen_start { uint32_t strip, off, at; } rlx_kgen_start;

typedef struct rlx_kgen {
    rlx_context *ctx;
    rlx_place place;               /* of the statement at work, for messages */
    rlx_slice name;
    bool refused;                  /* it cannot be a kernel, which is reported */
    int depth, load_depth;         /* of statements; of loads in indices of loads */
    int loop_depth;                /* of loops that are no nests */
    const rlx_stmt *wakes_for;     /* of the whole kernel, until its first parallel loop is written */
    int shared_depth;              /* of parallel loops that will surely be shared out: those inside are not */
    uint32_t num_masks;
    rlx_kgen_level levels[RLX_KGEN_MAX_LEVELS];
    int32_t top;                   /* innermost open level */
    const rlx_kgen_nest *nest;     /* innermost open nest, NULL: none */
    rlx_scope ranges;              /* of the variables of loops around what is written */

    RLX_VEC(uint8_t) regs;         /* class and kind of each register */
    size_t frame;                  /* bytes that they take */
    RLX_VEC(uint64_t) consts;      /* bits */
    RLX_VEC(uint8_t) const_classes;
    rlx_map const_index;           /* class and bits -> index + 1 */
    /* Strips: given back in the open nest, and not yet used in it; of one number, and not yet used in it. Only those not yet used can hold
     * a value from in front of the strip loop. */
    rlx_kgen_registers free_strips[RLX_CLASS_COUNT];
    rlx_kgen_registers idle_strips[RLX_CLASS_COUNT];
    rlx_kgen_registers same_strips[RLX_CLASS_COUNT];
    RLX_VEC(rlx_kgen_strip) strips; /* all of them */

    RLX_VEC(rlx_kgen_memo) memos;
    RLX_VEC(uint32_t) load_memos;  /* those that depend on memory */
    rlx_ptrmap memo;               /* expression -> index + 1 */
    rlx_ptrmap vars;               /* variable -> index + 1 in var_values */
    RLX_VEC(rlx_kgen_value) var_values;
    rlx_ptrmap uses;               /* expression -> how often the statement at work uses it */
    rlx_kgen_start last_start;     /* of contiguous strips */
    rlx_ptrmap broadcasts;         /* register + 1 -> strip register + 1, of the open nest */

    rlx_ptrmap buffers;            /* BUFFER -> index + 1 in buffer_infos */
    RLX_VEC(rlx_kgen_buffer *) buffer_infos;
    rlx_ptrmap storage;            /* data pointer -> index + 1 of row */
    RLX_VEC(rlx_kgen_row) rows;
    RLX_VEC(rlx_kgen_param) params;
    rlx_buf names, data;
    rlx_kernel_hints *hints;       /* NULL: nobody wants them */
} rlx_kgen;

/* ---- kgen_code.c */
bool rlx_kgen_fail(rlx_kgen *w, const char *format, ...) RLX_PRINTF(2, 3); /* CG07 at w->place */
bool rlx_kgen_too_large(rlx_kgen *w, const char *what);                    /* CG08 */
RLX_INLINE bool rlx_kgen_failed(const rlx_kgen *w)
{
    return w->refused || w->ctx->diags.out_of_memory;
}
/* kind: 0, RLX_KERNEL_STRIP_REG, RLX_KERNEL_VIEW_REG */
uint32_t rlx_kgen_new_reg(rlx_kgen *w, unsigned klass, unsigned kind);
/* one given back, if there is any */
uint32_t rlx_kgen_new_strip(rlx_kgen *w, unsigned klass);
/* for one number, not used in this nest */
uint32_t rlx_kgen_new_same_strip(rlx_kgen *w, unsigned klass);
void rlx_kgen_free_strip(rlx_kgen *w, uint32_t reg);
/* a nest has ended: all are free and unused */
void rlx_kgen_reset_strips(rlx_kgen *w);
uint32_t rlx_kgen_const(rlx_kgen *w, unsigned klass, uint64_t bits);
uint32_t rlx_kgen_const_i64(rlx_kgen *w, int64_t value);
/* Appends an instruction to a level; operands by number as in the table (jumps: one operand, 32
 * bits). */
void rlx_kgen_emit(rlx_kgen *w, int32_t level, unsigned op, const uint32_t *operands);
#define RLX_KGEN_EMIT(w, level, op, ...) \
    rlx_kgen_emit((w), (level), (op), (const uint32_t[]){ __VA_ARGS__ })
int32_t rlx_kgen_open(rlx_kgen *w, bool sure, const rlx_kgen_nest *nest); /* the new level */
/* appends the top level's code to the one below */
void rlx_kgen_close(rlx_kgen *w);
/* A PAR around what is written until the end: its registers are known in the new level, which is on top. */
typedef struct rlx_kgen_parallel {
    uint32_t begin, count;
    uint32_t min, extent, work;    /* registers */
    int64_t grain;
    bool certain;
} rlx_kgen_parallel;
rlx_kgen_parallel rlx_kgen_begin_parallel(rlx_kgen *w, const rlx_prim *min, const rlx_prim *extent, const rlx_prim *work,
                                          int64_t grain, const rlx_kgen_nest *nest);
void rlx_kgen_end_parallel(rlx_kgen *w, rlx_kgen_parallel p);
size_t rlx_kgen_length(const rlx_kgen *w, int32_t level);
void rlx_kgen_patch_jump(rlx_kgen *w, int32_t level, size_t at, unsigned operand, int64_t distance);
uint32_t rlx_kgen_name(rlx_kgen *w, rlx_slice text); /* offset in the names */
/* a scalar register that stands for a variable */
void rlx_kgen_hint(rlx_kgen *w, uint32_t reg, const rlx_prim *var);
bool rlx_kgen_serialise(rlx_kgen *w, rlx_buf *out);

/* ---- kgen_value.c */
/* the mask that is on everywhere */
#define RLX_KGEN_ALWAYS ((rlx_kgen_value){ .reg = RLX_KGEN_NO_REG })
RLX_INLINE bool rlx_kgen_is_always(rlx_kgen_value mask) { return mask.reg == RLX_KGEN_NO_REG; }
RLX_INLINE rlx_kgen_value rlx_kgen_failure(void)
{
    return (rlx_kgen_value){ .reg = 0 };
} /* what functions return after rlx_kgen_fail */
RLX_INLINE int32_t rlx_kgen_later(int32_t a, int32_t b) { return a > b ? a : b; }
RLX_INLINE bool rlx_kgen_is_float(unsigned klass) { return klass >= RLX_CLASS_F32; }
/* The outermost level that runs whenever the top one does; for loads also: where nothing below
 * stores to the buffer. */
int32_t rlx_kgen_floor_level(const rlx_kgen *w, const rlx_node *loaded);
rlx_kgen_value rlx_kgen_dest(rlx_kgen *w, unsigned klass, rlx_dtype dtype, bool wide,
                             int32_t level);
/* a scalar in all lanes of a strip */
rlx_kgen_value rlx_kgen_widen(rlx_kgen *w, rlx_kgen_value v);
/* One value instruction. `masked`: it ends with a mask and may fail. Temporaries among the
 * operands stay the caller's. */
rlx_kgen_value rlx_kgen_apply(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                              rlx_kgen_value *v, int n, bool masked, rlx_kgen_value mask);
rlx_kgen_value rlx_kgen_apply1(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                               rlx_kgen_value a);
rlx_kgen_value rlx_kgen_apply2(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                               rlx_kgen_value a, rlx_kgen_value b);
/* the same on a temporary, which ends */
rlx_kgen_value rlx_kgen_step(rlx_kgen *w, unsigned op, unsigned klass, rlx_dtype dtype,
                             rlx_kgen_value v);
void rlx_kgen_free_temp(rlx_kgen *w, rlx_kgen_value v);
rlx_kgen_value rlx_kgen_real(rlx_kgen *w, rlx_kgen_value v); /* no view */
rlx_kgen_value rlx_kgen_and(rlx_kgen *w, rlx_kgen_value mask, rlx_kgen_value cond, bool negate);
rlx_kgen_value rlx_kgen_literal(rlx_kgen *w, unsigned klass, rlx_dtype dtype, uint64_t bits);
rlx_kgen_value rlx_kgen_zero(rlx_kgen *w, unsigned klass);
enum rlx_kernel_elem rlx_kgen_elem_of(rlx_kgen *w, rlx_dtype dtype);
/* brings a temporary back to its narrow type */
rlx_kgen_value rlx_kgen_narrow(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem e);
unsigned rlx_kgen_narrowing(enum rlx_kernel_elem e);  /* the instruction for it; 0: none */
rlx_kgen_value rlx_kgen_convert(rlx_kgen *w, rlx_kgen_value v, rlx_dtype from_dtype,
                                rlx_dtype dtype);
rlx_kgen_value rlx_kgen_int_to_int(rlx_kgen *w, rlx_kgen_value v, enum rlx_kernel_elem to,
                                   rlx_dtype dtype);

/* ---- kgen_operator.c */
rlx_kgen_value rlx_kgen_binary(rlx_kgen *w, const rlx_binary *b, rlx_kgen_value *v,
                               rlx_kgen_value mask);
rlx_kgen_value rlx_kgen_choose(rlx_kgen *w, rlx_dtype t, rlx_kgen_value *v);
rlx_kgen_value rlx_kgen_call(rlx_kgen *w, const rlx_prim_call *c, rlx_kgen_value *v,
                             rlx_kgen_value mask);

/* ---- kgen_expr.c */
rlx_kgen_value rlx_kgen_expr(rlx_kgen *w, const rlx_prim *p, rlx_kgen_value mask);
void rlx_kgen_bind_var(rlx_kgen *w, const rlx_prim *var, rlx_kgen_value v);
void rlx_kgen_begin_statement(rlx_kgen *w, const rlx_stmt *s); /* counts uses */
/* memory may have changed */
void rlx_kgen_forget_loads(rlx_kgen *w);
rlx_kgen_memo *rlx_kgen_recall(rlx_kgen *w, const rlx_prim *p);
void rlx_kgen_forget(rlx_kgen *w, const rlx_prim *p);
/* one use is over; its strip may serve again */
void rlx_kgen_done(rlx_kgen *w, const rlx_prim *p);
/* none for loads: rlx_kgen_load computes their indices */
size_t rlx_kgen_num_operands(const rlx_prim *p);

/* ---- kgen_access.c */
/* scalar int64 of an integer expression */
rlx_kgen_value rlx_kgen_int64(rlx_kgen *w, const rlx_prim *p);
/* Is it in range wherever the nest is, so that it may be read where nobody wants it? */
bool rlx_kgen_load_is_sure(rlx_kgen *w, const rlx_buffer_load *l);
rlx_kgen_value rlx_kgen_load(rlx_kgen *w, const rlx_buffer_load *l, rlx_kgen_value mask);
bool rlx_kgen_store(rlx_kgen *w, const rlx_buffer_store *s, rlx_kgen_value mask);
/* Is p surely >= low, in all loops around what is written? */
bool rlx_kgen_is_at_least(rlx_kgen *w, const rlx_prim *p, int64_t low);
/* What has a value in front of the nest. */
rlx_plan_scope rlx_kgen_scope_of(const rlx_kgen_nest *n);
/* CHECKs in front of the nest for an access that it always makes. False: not possible there. */
bool rlx_kgen_check_box(rlx_kgen *w, const rlx_kgen_nest *n, const rlx_kgen_buffer *b,
                        const rlx_prim *const *indices, size_t count);
const rlx_prim *rlx_kgen_wide_index(rlx_kgen *w, const rlx_prim *p); /* as int64 */

/* ---- kgen_nest.c */
/* The loop nest that begins with `s`, if its loops can be reordered; *done: code was made.
 * False: failure. */
bool rlx_kgen_try_nest(rlx_kgen *w, const rlx_for_stmt *s, bool *done);
/* The same for two statements: the second is a nest that sums up into what the first filled with zeros, each
 * element once. */
bool rlx_kgen_try_sum(rlx_kgen *w, const rlx_stmt *fill, const rlx_for_stmt *sum, bool *done);

/* ---- kgen_stmt.c */
rlx_kgen_buffer *rlx_kgen_buffer_of(rlx_kgen *w, const rlx_node *buffer); /* NULL after a failure */
bool rlx_kgen_stmt(rlx_kgen *w, const rlx_stmt *s, rlx_kgen_value mask);

#endif
