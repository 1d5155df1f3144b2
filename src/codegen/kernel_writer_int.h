/*- kernel_writer_int.h: the parts of the kernel writer.
 *
 *   kernel_writer.c     the function: parameters, statements
 *   kernel_nest.c       loop nests: may they be reordered, the loop that is the strip, reductions
 *   kernel_expr.c       expressions without recursion, values remembered, strips free again
 *   kernel_value.c      one operation: registers, level, masks, dtypes
 *   kernel_operator.c   TIR operators and intrinsics as operations
 *   kernel_access.c     indices, range checks, loads, stores
 *   kernel_code.c       registers, constants, code of open constructs, the bytes
 *
 * Code is collected per open construct ("level"). An instruction goes to the outermost level
 * where its operands are known, so invariant work leaves the loops by itself; when a level
 * closes, its code is appended to the one around it. All jumps are relative, so appending needs
 * no fixing. Scalar registers are written once (loop variables apart). */
#ifndef RLX_KERNEL_WRITER_INT_H
#define RLX_KERNEL_WRITER_INT_H

#include "arith/arith.h"
#include "codegen/kernel_writer.h"
#include "format/kernel_format.h"

#define KW_MAX_LEVELS 400
#define KW_MAX_DEPTH 256           /* statements inside each other */
#define KW_MAX_NEST (RLX_TIR_MAX_DIMS * 2)
#define KW_CONST_BASE 32768u       /* registers from here on are constants until the end */
#define KW_NO_REG UINT32_MAX

typedef RLX_VEC(uint16_t) kw_words;

/* Where a value is. */
typedef struct kw_value {
    uint32_t reg;                  /* KW_NO_REG: failure */
    int32_t level;                 /* level after whose code it is known */
    uint8_t klass;
    bool wide, view, loads;        /* a strip; a view of memory; depends on memory */
    uint32_t serial;               /* of a mask: its own number */
    uint32_t guard;                /* number of the mask under which it was computed; 0: none */
    rlx_dtype dtype;
} kw_value;

typedef struct kw_level {
    kw_words code;
    rlx_ptrs memo;                 /* expressions remembered at this level */
    bool sure;                     /* runs at least once whenever the level around it does */
    const struct kw_nest *nest;    /* of LOOP and STRIP levels made by a nest */
} kw_level;

typedef struct kw_memo { const rlx_prim *p; kw_value value; uint32_t uses; bool live; } kw_memo;

typedef struct kw_buffer {
    const rlx_buffer *buffer;
    uint32_t index;                /* in the kernel's table */
    enum rlx_kernel_elem elem;
    const rlx_prim *shape[RLX_TIR_MAX_DIMS], *strides[RLX_TIR_MAX_DIMS]; /* int64 */
} kw_buffer;

typedef struct kw_row {
    uint8_t kind, rank;
    rlx_dtype dtype;
    uint32_t name, data;
    uint64_t count;
} kw_row;
typedef struct kw_param { uint8_t kind; uint32_t index; rlx_dtype dtype; } kw_param;

/* A loop of a nest under construction. */
typedef struct kw_loop {
    const rlx_for_stmt *stmt;
    const rlx_prim *var, *min, *extent;  /* min, extent: int64, without variables of the nest */
    bool merged;                         /* runs inside the strip loop's range */
} kw_loop;
typedef struct kw_nest {
    kw_loop loops[KW_MAX_NEST];
    size_t count;
    const rlx_stmt *body;
    int strip;                     /* which loop is the strip; -1: none */
    const rlx_prim *strip_extent;  /* with merged loops, int64 */
    int32_t level;                 /* of the nest's own code, in front of its loops */
    int32_t strip_level;           /* -1: not open */
    uint32_t strip_reg, extent_reg;
    rlx_ptrmap stored;             /* buffers stored in the body */
} kw_nest;

typedef struct kw {
    rlx_context *ctx;
    rlx_place place;               /* of the statement at work, for messages */
    rlx_slice name;
    bool failed;
    int depth, load_depth;         /* of statements; of loads in indices of loads */
    uint32_t num_masks;
    kw_level levels[KW_MAX_LEVELS];
    int32_t top;                   /* innermost open level */
    const kw_nest *nest;           /* innermost open nest, NULL: none */

    RLX_VEC(uint8_t) regs;         /* class and kind of each register */
    size_t frame;                  /* bytes that they take */
    RLX_VEC(uint64_t) consts;      /* bits */
    RLX_VEC(uint8_t) const_classes;
    rlx_map const_index;           /* class and bits -> index + 1 */
    /* Strips: given back in the open nest, and not yet used in it. Only the latter can hold a
     * value from in front of the strip loop. */
    RLX_VEC(uint32_t) free_strips[RLX_CLASS_COUNT];
    RLX_VEC(uint32_t) idle_strips[RLX_CLASS_COUNT];
    RLX_VEC(uint32_t) strips;      /* all of them */

    RLX_VEC(kw_memo) memos;
    RLX_VEC(uint32_t) load_memos;  /* those that depend on memory */
    rlx_ptrmap memo;               /* expression -> index + 1 */
    rlx_ptrmap vars;               /* variable -> index + 1 in var_values */
    RLX_VEC(kw_value) var_values;
    rlx_ptrmap uses;               /* expression -> how often the statement at work uses it */
    rlx_ptrmap broadcasts;         /* register + 1 -> strip register + 1, of the open nest */

    rlx_ptrmap buffers;            /* BUFFER -> index + 1 in buffer_infos */
    RLX_VEC(kw_buffer *) buffer_infos;
    rlx_ptrmap storage;            /* data pointer -> index + 1 of row */
    RLX_VEC(kw_row) rows;
    RLX_VEC(kw_param) params;
    rlx_buf names, data;
    rlx_kernel_hints *hints;       /* NULL: nobody wants them */
} kw;

/* ---- kernel_code.c */
bool kw_fail(kw *w, const char *format, ...) RLX_PRINTF(2, 3);          /* CG07 at w->place */
bool kw_too_large(kw *w, const char *what);                             /* CG08 */
bool kw_no_memory(kw *w);
/* kind: 0, RLX_KERNEL_STRIP_REG, RLX_KERNEL_VIEW_REG */
uint32_t kw_new_reg(kw *w, unsigned klass, unsigned kind);
/* one given back; `unused`: not used in this nest */
uint32_t kw_new_strip(kw *w, unsigned klass, bool unused);
void kw_free_strip(kw *w, uint32_t reg);
/* a nest has ended: all are free and unused */
void kw_reset_strips(kw *w);
uint32_t kw_const(kw *w, unsigned klass, uint64_t bits);
uint32_t kw_const_i64(kw *w, int64_t value);
/* Appends an instruction to a level; operands by number as in the table (jumps: one operand, 32
 * bits). */
void kw_emit(kw *w, int32_t level, unsigned op, const uint32_t *operands);
#define KW_EMIT(w, level, op, ...) kw_emit((w), (level), (op), (const uint32_t[]){ __VA_ARGS__ })
int32_t kw_open(kw *w, bool sure, const kw_nest *nest);                 /* the new level */
/* appends the top level's code to the one below */
void kw_close(kw *w);
size_t kw_length(const kw *w, int32_t level);
void kw_patch_jump(kw *w, int32_t level, size_t at, unsigned operand, int64_t distance);
uint32_t kw_name(kw *w, rlx_slice text);                                /* offset in the names */
/* a scalar register that stands for a variable */
void kw_hint(kw *w, uint32_t reg, const rlx_prim *var);
bool kw_serialise(kw *w, rlx_buf *out);

/* ---- kernel_value.c */
#define KW_ALWAYS ((kw_value){ .reg = KW_NO_REG }) /* the mask that is on everywhere */
RLX_INLINE bool kw_is_always(kw_value mask) { return mask.reg == KW_NO_REG; }
RLX_INLINE kw_value kw_failure(void)
{
    return (kw_value){ .reg = 0 };
} /* what functions return after kw_fail */
RLX_INLINE int32_t kw_later(int32_t a, int32_t b) { return a > b ? a : b; }
RLX_INLINE bool kw_is_float(unsigned klass) { return klass >= RLX_CLASS_F32; }
/* The outermost level that runs whenever the top one does; for loads also: where nothing below
 * stores to the buffer. */
int32_t kw_floor_level(const kw *w, const rlx_node *loaded);
kw_value kw_dest(kw *w, unsigned klass, rlx_dtype dtype, bool wide, int32_t level);
/* a scalar in all lanes of a strip */
kw_value kw_widen(kw *w, kw_value v);
/* One value instruction. `masked`: it ends with a mask and may fail. Temporaries among the
 * operands stay the caller's. */
kw_value kw_apply(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value *v, int n,
                  bool masked, kw_value mask);
kw_value kw_apply1(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value a);
kw_value kw_apply2(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value a, kw_value b);
/* the same on a temporary, which ends */
kw_value kw_step(kw *w, unsigned op, unsigned klass, rlx_dtype dtype, kw_value v);
void kw_free_temp(kw *w, kw_value v);
kw_value kw_real(kw *w, kw_value v);                                    /* no view */
kw_value kw_and(kw *w, kw_value mask, kw_value cond, bool negate);
kw_value kw_literal(kw *w, unsigned klass, rlx_dtype dtype, uint64_t bits);
kw_value kw_zero(kw *w, unsigned klass);
enum rlx_kernel_elem kw_elem_of(kw *w, rlx_dtype dtype);
/* brings a temporary back to its narrow type */
kw_value kw_narrow(kw *w, kw_value v, enum rlx_kernel_elem e);
kw_value kw_convert(kw *w, kw_value v, rlx_dtype from_dtype, rlx_dtype dtype);
kw_value kw_int_to_int(kw *w, kw_value v, enum rlx_kernel_elem to, rlx_dtype dtype);

/* ---- kernel_operator.c */
kw_value kw_binary(kw *w, const rlx_binary *b, kw_value *v, kw_value mask);
kw_value kw_choose(kw *w, rlx_dtype t, kw_value *v);
kw_value kw_call(kw *w, const rlx_prim_call *c, kw_value *v, kw_value mask);

/* ---- kernel_expr.c */
kw_value kw_expr(kw *w, const rlx_prim *p, kw_value mask);
void kw_bind_var(kw *w, const rlx_prim *var, kw_value v);
void kw_begin_statement(kw *w, const rlx_stmt *s);                      /* counts uses */
/* memory may have changed */
void kw_forget_loads(kw *w);
kw_memo *kw_recall(kw *w, const rlx_prim *p);
void kw_forget(kw *w, const rlx_prim *p);
/* one use is over; its strip may serve again */
void kw_done(kw *w, const rlx_prim *p);
/* none for loads: kw_load computes their indices */
size_t kw_num_operands(const rlx_prim *p);

/* ---- kernel_access.c */
/* scalar int64 of an integer expression */
kw_value kw_int64(kw *w, const rlx_prim *p);
kw_value kw_load(kw *w, const rlx_buffer_load *l, kw_value mask);
bool kw_store(kw *w, const rlx_buffer_store *s, kw_value mask);
/* Offset in elements as int64 expressions: for each loop its coefficient, the rest in base.
 * False: not affine. */
typedef struct kw_flat { const rlx_prim *base, *coeff[KW_MAX_NEST]; } kw_flat;
bool kw_flatten(kw *w, const kw_nest *n, const kw_buffer *b, const rlx_prim *const *indices,
                size_t count, kw_flat *out);
/* CHECKs in front of the nest for an access that it always makes. False: not possible there. */
bool kw_check_box(kw *w, const kw_nest *n, const kw_buffer *b, const rlx_prim *const *indices,
                  size_t count);
const rlx_prim *kw_wide_index(kw *w, const rlx_prim *p);                /* as int64 */

/* ---- kernel_nest.c */
/* The loop nest that begins with `s`, if its loops can be reordered; *done: code was made.
 * False: failure. */
bool kw_try_nest(kw *w, const rlx_for_stmt *s, bool *done);

/* ---- kernel_writer.c */
kw_buffer *kw_buffer_of(kw *w, const rlx_node *buffer);                 /* NULL after a failure */
bool kw_stmt(kw *w, const rlx_stmt *s, kw_value mask);

#endif
