/* reader_tir.h: what the files that read PrimFuncs share. */
#ifndef RLX_READER_TIR_H
#define RLX_READER_TIR_H

#include "script/reader.h"
#include "tir/tir.h"

/* A block being read: `with T.block(...)`. */
typedef struct rlx_tir_reader_open_block {
    struct rlx_tir_reader_open_block *outer;
    rlx_tir_block *block;
    rlx_ptrs iters, values, allocs, matches, reads, writes;
    bool has_reads, has_writes, has_init, no_realize;
    const rlx_prim *predicate;
} rlx_tir_reader_open_block;

/* A statement whose body is the rest of its suite: x = ..., T.allocate, T.attr, assert ... */
typedef struct rlx_tir_reader_scoped { rlx_node *node; size_t mark; } rlx_tir_reader_scoped;

struct rlx_tir_reader_state {
    rlx_pending *f;
    const rlx_node **buffers;           /* parallel to f->params */
    const rlx_attr *attrs;
    uint32_t level;                     /* suites entered: 1 is the function's own */
    rlx_tir_reader_open_block *block;   /* innermost open block */
    rlx_ptrs stmts;                     /* statements of all open suites */
    RLX_VEC(rlx_tir_reader_scoped) scoped; /* open scoped statements of all open suites */
    rlx_ptrs root_allocs;
    rlx_ptrs unfinished;                /* realizations of blocks without axes at function level */
    rlx_ptrmap loops;                   /* loop variable -> RANGE */
    rlx_ptrmap params;                  /* parameter -> index, once one is matched */
};

/* Functions of T by name. expr: a value; stmt: a statement, target is the name (or names) it
 * binds, NULL if none. */
typedef struct rlx_tir_reader_fn {
    const char *name;
    bool (*expr)(rlx_reader *r, const struct rlx_tir_reader_fn *fn, const rlx_ast *call,
                 rlx_val *out);
    bool (*stmt)(rlx_reader *r, const struct rlx_tir_reader_fn *fn, const rlx_ast *call,
                 const rlx_ast *target);
    uint8_t what;
    const char *text;
} rlx_tir_reader_fn;
const rlx_tir_reader_fn *rlx_tir_reader_fn_of(rlx_reader *r, rlx_word *path);
/* The function a callee names, if it is one of T; NULL (no report) otherwise. */
const rlx_tir_reader_fn *rlx_tir_reader_callee(rlx_reader *r, const rlx_ast *a);
extern const rlx_tir_reader_fn rlx_tir_reader_values[],
    rlx_tir_reader_statements[]; /* end with a NULL name */

/* ---- statements under construction */
bool rlx_tir_reader_add(rlx_reader *r, const rlx_stmt *s); /* appends to the open suite */
/* node's body will be the rest of the suite */
bool rlx_tir_reader_open_scoped(rlx_reader *r, rlx_node *node);
/* Binds a name that must not be bound in this frame yet, except to the same value. */
bool rlx_tir_reader_define(rlx_reader *r, const rlx_ast *target, const rlx_val *v);
bool rlx_tir_reader_push(rlx_reader *r, rlx_ptrs *to, const void *node);
/* Copies a list of nodes into the context and empties nothing. */
bool rlx_tir_reader_copy(rlx_reader *r, const rlx_ptrs *from, const rlx_node *const **out,
                         size_t *count);
/* a single name; NULL after a report */
const rlx_ast *rlx_tir_reader_one_target(rlx_reader *r, const rlx_ast *call, const rlx_ast *target);
/* enters, reads, leaves; NULL after failure */
const rlx_stmt *rlx_tir_reader_read_suite(rlx_reader *r);

/* ---- expressions */
/* An argument: slices of buffers are vector loads. */
bool rlx_read_operand(rlx_reader *r, const rlx_ast *a, rlx_val *out);
const rlx_prim *rlx_read_prim_operand(rlx_reader *r, const rlx_ast *a);
/* a dictionary; NULL: failure. a NULL: NULL without failure */
const rlx_attr *rlx_read_annotations(rlx_reader *r, const rlx_ast *a);
const rlx_prim *rlx_bool_prim(rlx_reader *r, bool value);

/* ---- buffers */
/* T.Buffer(...) and relatives: arguments from `params[first]` on are shape, dtype, data,
 * strides, elem_offset, scope, align, offset_factor, buffer_type, axis_separators. region:
 * where shape and dtype come from if they are left out; may be NULL. */
enum {
    RLX_BUF_SHAPE, RLX_BUF_DTYPE, RLX_BUF_DATA, RLX_BUF_STRIDES, RLX_BUF_OFFSET, RLX_BUF_SCOPE,
    RLX_BUF_ALIGN, RLX_BUF_FACTOR, RLX_BUF_TYPE, RLX_BUF_SEPARATORS, RLX_BUF_COUNT
};
#define RLX_BUF_PARAMS                                                                     \
    "shape", "dtype", "data", "strides", "elem_offset", "scope", "align", "offset_factor", \
        "buffer_type", "axis_separators"
rlx_buffer *rlx_make_buffer(rlx_reader *r, const rlx_string *name, const rlx_ast *at,
                            const rlx_ast *const *slots, const rlx_buffer_region *region);
/* BUFFER_REGION of a buffer, load or region */
const rlx_node *rlx_to_region(rlx_reader *r, const rlx_ast *a, const rlx_val *v);
bool rlx_read_store(rlx_reader *r, const rlx_ast *target, const rlx_prim *value,
                    const rlx_prim *predicate, rlx_place place);

/* ---- blocks, loops */
bool rlx_tir_reader_read_block(rlx_reader *r, const rlx_ast *call);
bool rlx_tir_reader_read_for(rlx_reader *r, const rlx_source_line *line);
bool rlx_tir_reader_axis(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                         const rlx_ast *target);
bool rlx_tir_reader_remap(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target);
bool rlx_tir_reader_reads(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target);
bool rlx_tir_reader_where(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                          const rlx_ast *target);
bool rlx_tir_reader_block_attr(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                               const rlx_ast *target);
bool rlx_tir_reader_alloc_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                                 const rlx_ast *target);
bool rlx_tir_reader_match_buffer(rlx_reader *r, const rlx_tir_reader_fn *fn, const rlx_ast *call,
                                 const rlx_ast *target);
/* (begin, end), [begin, end], a Range, or an extent. */
const rlx_node *rlx_read_range(rlx_reader *r, const rlx_ast *a, const rlx_val *v);

#endif
