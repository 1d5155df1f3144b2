/*- desc.h: packed descriptions: struct info and integer expressions as flat words, the form in
 * which a compiled program carries them.
 *
 * Everything is 64-bit words in one section (DESCS), a chain of items; offsets are in words:
 *
 *   item    | words u32 | type u8 |   | symbols u32 | registers u32 |   content ...
 *             "symbols": one more than the largest symbol slot used, likewise registers, so that a
 *             user of the item checks two numbers. An item refers to earlier EXPR items only.
 *   EXPR    op words, postfix
 *   DESC    one node
 *   PARAMS  one PARAMS node
 *
 *   node    | kind u8 | flags u8 | count u16 | words u32 (of the node, this one included) |
 *     OBJECT
 *     PRIM    dtype; dim if HAS_DIMS
 *     SHAPE   ndim or -1; dims[ndim] if HAS_DIMS
 *     TENSOR  key; mask; device if HAS_DEVICE (type | id << 32); register if HAS_REGISTER;
 *             dims[count] if HAS_DIMS
 *             key and mask: (rlx_dl_key(t) ^ key) & mask is 0 if rank and dtype of t fit
 *     TUPLE   count nodes
 *     FUNC    count parameter nodes (none if OPEN), result node
 *     PARAMS  count times: name; node. If BOUNDED, up to its end: SYMBOL dim; low; high
 *
 *   dim     | tag u8 | slot u24 | name or offset u32 |   or   | LITERAL u8 | value i56 |
 *
 * A symbol (shape variable) lives in a slot of the frame. Its first stand-alone position in
 * text order is BIND, all later ones SYMBOL; whoever encodes knows which is which. Expressions
 * that are more than one variable are EXPR.
 *
 * Matching does what the language says: kinds, ranks, dtypes and binding positions first, in
 * text order, then all other sizes. Where no expression is involved one pass decides; only a
 * failure goes through the slow exact order, to name the right culprit.
 */
#ifndef RLX_DESC_H
#define RLX_DESC_H

#include "base/base.h"
#include "desc/file_writer.h"
#include "format/format.h"

enum rlx_item_type { RLX_ITEM_EXPR = 1, RLX_ITEM_DESC = 2, RLX_ITEM_PARAMS = 3 };
#define RLX_ITEM_HEADER 2 /* words before the content */

enum rlx_desc_kind {
    RLX_DESC_OBJECT = 0,
    RLX_DESC_PRIM = 1,
    RLX_DESC_SHAPE = 2,
    RLX_DESC_TENSOR = 3,
    RLX_DESC_TUPLE = 4,
    RLX_DESC_FUNC = 5,
    RLX_DESC_PARAMS = 6,
    RLX_DESC_KINDS
};
enum rlx_desc_flag {
    RLX_DESC_HAS_DIMS = 1,     /* dimensions, or the value of a Prim, follow */
    RLX_DESC_HAS_DEVICE = 2,
    RLX_DESC_HAS_REGISTER = 4, /* the shape is the shape value in a register */
    RLX_DESC_LATE = 8,         /* something inside needs the second round */
    RLX_DESC_PURE = 16,        /* FUNC */
    RLX_DESC_BOUNDED = 16,     /* PARAMS: bounds of variables follow the parameters */
    RLX_DESC_OPEN = 32,        /* FUNC: parameters not known (derive form) */
    RLX_DESC_PACKED = 64,      /* FUNC, OPEN: a packed function only */
    RLX_DESC_BINDS = 128       /* something inside binds a variable */
};
enum rlx_desc_dim_tag {
    RLX_DIM_LITERAL = 0,
    RLX_DIM_BIND = 1,        /* binds a size: must not be negative */
    RLX_DIM_SYMBOL = 2,      /* compared with a bound variable */
    RLX_DIM_EXPR = 3,        /* compared with an expression, in the second round */
    RLX_DIM_ANY = 4,         /* not looked at */
    /* placeholder of a FUNC node: a name, and in the slot its number + 1 among those of the outermost FUNC; 0: none */
    RLX_DIM_BINDER = 5,
    RLX_DIM_BIND_SIGNED = 6, /* binds any integer: bound by Prim values only */
    RLX_DIM_TAGS
};
#define RLX_DESC_MAX_NESTING 64 /* tuples and functions in each other */
#define RLX_EXPR_MAX_STACK 64
#define RLX_EXPR_MAX_WORDS (1u << 16)      /* one is evaluated between two polls */
#define RLX_DESC_MAX_WORK \
    (1u << 20) /* words of all expressions that one description compares with */

/* Surroundings in which descriptions are evaluated, matched and printed. `regs` and `names` may be
 * NULL where nothing refers to them. */
typedef struct rlx_desc_env {
    const int64_t *descs;    /* the DESCS section */
    int64_t *syms;           /* slots of the frame */
    const relax_value *regs; /* registers of the frame */
    const rlx_names *names;
} rlx_desc_env;

/* ---- evaluating and matching: offsets must come from a verified section --------------------- */

/* The value of the expression item at `offset`. RT14: overflow, division by zero. */
bool rlx_desc_expr_eval(const rlx_desc_env *env, uint32_t offset, int64_t *out, rlx_fault *why);
/* Checks v against the DESC item at `offset` and binds its shape variables. On failure why->code is
 * RT02 .. RT05, RT13 or RT14 and the text names the path: "field 1, dimension 0 is 7, expected
 * 2 * m = 8". Variables may then be bound already. */
bool rlx_desc_match(const rlx_desc_env *env, uint32_t offset, const relax_value *v,
                    rlx_fault *why);
/* Checks arguments against the PARAMS item at `offset` in the order of a function boundary;
 * RT01 too. Texts begin "argument 1 of NAME: ". */
bool rlx_desc_match_params(const rlx_desc_env *env, uint32_t offset, const relax_value *args,
                           size_t num_args, rlx_slice function, rlx_fault *why);
/* Does a function with this signature (item; RLX_NO_INDEX: not known) give only what the DESC item
 * at `want` describes? False where that is not sure. */
bool rlx_desc_result_fits(const rlx_desc_env *env, uint32_t signature, uint32_t want);
/* Does whatever the DESC item at `have` describes, a tuple of num_args fields, fit the PARAMS item at
 * `params`, whatever sizes are? False where that is not sure. */
bool rlx_desc_args_fit(const int64_t *descs, uint32_t have, uint32_t params, uint32_t num_args);
/* Does fitting the item depend on nothing but the value? */
RLX_INLINE bool rlx_desc_is_closed(const int64_t *descs, uint32_t offset)
{
    return descs[offset + 1] == 0;
}
/* Does the item bind shape variables? */
bool rlx_desc_binds(const int64_t *descs, uint32_t offset);
/* Puts "PREFIX: " before the text of *why and turns its code into `code`, the old one becoming
 * the inner code. */
RLX_PRINTF(3, 4)
bool rlx_fault_wrap(rlx_fault *why, enum rlx_code_id code, const char *format, ...);

/* ---- reading -------------------------------------------------------------------------------- */

RLX_INLINE enum rlx_desc_kind rlx_desc_kind_of(const int64_t *node)
{
    return (enum rlx_desc_kind)(*node & 0xff);
}
RLX_INLINE uint32_t rlx_desc_node_flags(const int64_t *node)
{
    return (uint32_t)(*node >> 8) & 0xff;
}
RLX_INLINE uint32_t rlx_desc_node_count(const int64_t *node)
{
    return (uint32_t)(*node >> 16) & 0xffff;
}
RLX_INLINE uint32_t rlx_desc_node_words(const int64_t *node)
{
    return (uint32_t)((uint64_t)*node >> 32);
}
RLX_INLINE enum rlx_desc_dim_tag rlx_desc_dim_tag_of(int64_t dim)
{
    return (enum rlx_desc_dim_tag)(dim & 0xff);
}
RLX_INLINE int64_t rlx_desc_dim_value(int64_t dim) { return dim >> 8; } /* LITERAL */
RLX_INLINE uint32_t rlx_desc_dim_slot(int64_t dim)
{
    return (uint32_t)(dim >> 8) & 0xffffff;
} /* BIND, SYMBOL */
RLX_INLINE uint32_t rlx_desc_dim_index(int64_t dim)
{
    return (uint32_t)((uint64_t)dim >> 32);
} /* name, or offset of EXPR */
RLX_INLINE uint32_t rlx_item_words(const int64_t *item) { return (uint32_t)item[0]; }
RLX_INLINE const int64_t *rlx_item_node(const int64_t *descs, uint32_t offset)
{
    return descs + offset + RLX_ITEM_HEADER;
}

/* Content of one node, for tools. dims NULL: not known. */
typedef struct rlx_desc_info {
    enum rlx_desc_kind kind;
    rlx_dtype dtype;      /* PRIM, TENSOR; RELAX_VOID: not known */
    int32_t ndim;         /* SHAPE, TENSOR; -1: not known */
    const int64_t *dims;  /* dim words; of PRIM one */
} rlx_desc_info;
void rlx_desc_describe(const int64_t *node, rlx_desc_info *out);
/* Parameter i of a PARAMS item: its node, and the number of its name. NULL if there is no such
 * parameter. */
const int64_t *rlx_desc_param_at(const int64_t *descs, uint32_t offset, uint32_t i,
                                 uint32_t *name);
/* Bounds of a shape variable that a PARAMS item promises, checked when its parameters fit. */
typedef struct rlx_desc_bound { int64_t symbol, low, high; } rlx_desc_bound;
#define RLX_DESC_BOUND_WORDS 3
/* The bounds of a PARAMS item; NULL: it promises none. */
const rlx_desc_bound *rlx_desc_bounds(const int64_t *descs, uint32_t offset, uint32_t *count);
/* A size as text. */
void rlx_desc_dim_text(const rlx_desc_env *env, int64_t dim, rlx_buf *out);
/* Text as the language writes it: n <= 64, 0 <= n. */
void rlx_desc_bound_text(const rlx_desc_env *env, const rlx_desc_bound *b, rlx_buf *out);
/* Child i of a TUPLE or FUNC node; of FUNC the result is the child after the last parameter.
 * NULL if there is none. */
const int64_t *rlx_desc_child_at(const int64_t *node, uint32_t i);
/* Text as the language writes it: R.Tensor((n, 4), dtype="float32"). */
void rlx_desc_text(const rlx_desc_env *env, const int64_t *node, rlx_buf *out);
void rlx_desc_expr_text(const rlx_desc_env *env, uint32_t offset, rlx_buf *out);

/* ---- verifying ------------------------------------------------------------------------------ */

/* One pass over a whole section of foreign bytes. starts: num_words bits, cleared by the
 * caller; the bits of item begins are set. num_names: how many names there are. False: *why is
 * LD ("bad description"). */
bool rlx_desc_verify(const int64_t *descs, size_t num_words, uint32_t num_names, uint64_t *starts,
                     rlx_fault *why);
/* May an instruction of a function with these numbers refer to an item of that type at
 * `offset`? */
bool rlx_desc_usable(const int64_t *descs, size_t num_words, const uint64_t *starts,
                     uint32_t offset, enum rlx_item_type type, uint32_t num_syms,
                     uint32_t num_regs);

/* ---- writing -------------------------------------------------------------------------------- */

/* Dimensions. A literal that does not fit 56 bits becomes an expression. */
int64_t rlx_desc_dim_literal(rlx_file_writer *w, int64_t value);
/* first stand-alone position */
int64_t rlx_desc_dim_bind(rlx_file_writer *w, uint32_t slot, rlx_slice name);
/* the same, of a variable that sizes nothing */
int64_t rlx_desc_dim_bind_signed(rlx_file_writer *w, uint32_t slot, rlx_slice name);
/* every other position */
int64_t rlx_desc_dim_symbol(rlx_file_writer *w, uint32_t slot, rlx_slice name);
/* placeholder of a function description */
int64_t rlx_desc_dim_binder(rlx_file_writer *w, uint32_t number, rlx_slice name);
int64_t rlx_desc_dim_expr(uint32_t expr_offset);
#define RLX_DIM_WILD ((int64_t)RLX_DIM_ANY)

/*- Expressions, in postfix order:
 *
 *   an expression         rlx_desc_expr_begin; symbol, int, op(MUL) ...; offset = rlx_desc_expr_end
 *   a conditional value   cond, then(), value, otherwise(), value, op(SELECT): evaluates one arm
 *   and, or               a, and_then(), b, op(AND): they stop early
 */
enum rlx_desc_expr_op {
    RLX_EXPR_INT = 0,    /* value i56 */
    RLX_EXPR_WIDE = 1,   /* value in the next word */
    RLX_EXPR_SYMBOL = 2, /* slot u24, name u32 */
    RLX_EXPR_ADD,
    RLX_EXPR_SUB,
    RLX_EXPR_MUL,
    RLX_EXPR_FLOOR_DIV,
    RLX_EXPR_FLOOR_MOD,
    RLX_EXPR_TRUNC_DIV,
    RLX_EXPR_TRUNC_MOD,
    RLX_EXPR_MIN,
    RLX_EXPR_MAX,
    RLX_EXPR_EQ,
    RLX_EXPR_NE,
    RLX_EXPR_LT,
    RLX_EXPR_LE,
    RLX_EXPR_GT,
    RLX_EXPR_GE,
    RLX_EXPR_SHL,
    RLX_EXPR_SHR,
    RLX_EXPR_BIT_AND,
    RLX_EXPR_BIT_OR,
    RLX_EXPR_BIT_XOR,
    RLX_EXPR_NOT,
    RLX_EXPR_BIT_NOT,
    RLX_EXPR_ABS,
    /* to the integer dtype in the upper 32 bits: RT14 if the value does not fit */
    RLX_EXPR_CAST,
    RLX_EXPR_AND,
    RLX_EXPR_OR,
    RLX_EXPR_SELECT,
    /* jumps: word to go to, in the upper 32 bits */
    RLX_EXPR_AND_THEN,
    RLX_EXPR_OR_ELSE,
    RLX_EXPR_THEN,
    RLX_EXPR_OTHERWISE,
    RLX_EXPR_OPS
};
typedef struct rlx_desc_expr_writer {
    rlx_file_writer *out;
    RLX_VEC(int64_t) words;
    RLX_VEC(uint32_t) open;  /* jumps without a target */
    uint32_t symbols;
} rlx_desc_expr_writer;
void rlx_desc_expr_begin(rlx_desc_expr_writer *e, rlx_file_writer *w);
void rlx_desc_expr_int(rlx_desc_expr_writer *e, int64_t value);
void rlx_desc_expr_symbol(rlx_desc_expr_writer *e, uint32_t slot, rlx_slice name);
/* ADD .. ABS, AND, OR, SELECT and the four jumps */
void rlx_desc_expr_put_op(rlx_desc_expr_writer *e, enum rlx_desc_expr_op op);
void rlx_desc_expr_cast(rlx_desc_expr_writer *e, rlx_dtype dtype);
/* Offset of the item; failure latches in the writer: too_large if the stack would be deeper
 * than RLX_EXPR_MAX_STACK. Frees the expression writer. */
uint32_t rlx_desc_expr_end(rlx_desc_expr_writer *e);

/* Descriptions: rlx_desc_begin; one node (or params); offset = rlx_desc_end. Nodes of tuples,
 * functions and parameter lists come between their begin and rlx_desc_close. Expressions may be
 * written meanwhile. */
typedef struct rlx_desc_writer {
    rlx_file_writer *out;
    RLX_VEC(int64_t) words;
    RLX_VEC(uint32_t) open; /* nodes not closed */
    uint32_t symbols, registers;
    bool is_params;
} rlx_desc_writer;
void rlx_desc_begin(rlx_desc_writer *d, rlx_file_writer *w);
void rlx_desc_object(rlx_desc_writer *d);
void rlx_desc_prim(rlx_desc_writer *d, rlx_dtype dtype, const int64_t *value_or_null);
void rlx_desc_shape(rlx_desc_writer *d, int32_t ndim, const int64_t *dims_or_null);
/* dtype RELAX_VOID, ndim -1: not known. dims_or_null has ndim dims. */
void rlx_desc_tensor(rlx_desc_writer *d, rlx_dtype dtype, int32_t ndim,
                     const int64_t *dims_or_null);
/* Shape given by a variable of Shape kind that is in register `reg`. */
void rlx_desc_tensor_like(rlx_desc_writer *d, rlx_dtype dtype, int32_t ndim, uint32_t reg);
/* of the tensor that comes next */
void rlx_desc_device(rlx_desc_writer *d, int32_t type, int32_t id);
void rlx_desc_tuple(rlx_desc_writer *d);
/* flags: PURE, OPEN, PACKED. Then the parameters (none if OPEN), then the result, then close. */
void rlx_desc_func(rlx_desc_writer *d, uint32_t flags);
void rlx_desc_params(rlx_desc_writer *d);
void rlx_desc_param(rlx_desc_writer *d, rlx_slice name); /* before the node of each parameter */
/* After the last parameter: a variable lies within bounds (INT64_MIN, INT64_MAX: none). */
void rlx_desc_assumption(rlx_desc_writer *d, uint32_t slot, rlx_slice name, int64_t low,
                         int64_t high);
void rlx_desc_close(rlx_desc_writer *d);
/* Offset of the item. Frees the desc writer. */
uint32_t rlx_desc_end(rlx_desc_writer *d);

#endif
