/* desc_int.h: shared by the files of desc. */
#ifndef RLX_DESC_INT_H
#define RLX_DESC_INT_H

#include "desc/desc.h"

/* Bounded text, for messages that must not allocate. Always NUL-terminated; longer text is cut. */
typedef struct rlx_desc_line { char *data; size_t cap, len; } rlx_desc_line;
void rlx_desc_line_put(rlx_desc_line *l, const char *data, size_t len);
RLX_PRINTF(2, 3) void rlx_line_format(rlx_desc_line *l, const char *format, ...);

#define RLX_EXPR_TEXT 160 /* bytes of an expression in a message */
/* Text of an expression item; "..." where it would be long. */
void rlx_desc_expr_line(const rlx_desc_env *env, uint32_t offset, rlx_desc_line *out);
/* Text of a dim: a number, a name, an expression, "?". */
void rlx_desc_dim_line(const rlx_desc_env *env, int64_t dim, rlx_desc_line *out);

/* Facts about operators of expressions. */
typedef struct rlx_desc_expr_row {
    uint8_t pops, pushes, precedence;
    const char *infix;   /* " + ", or NULL */
    const char *prefix;  /* "T.min(", "not ", or NULL */
} rlx_desc_expr_row;
extern const rlx_desc_expr_row rlx_desc_expr_rows[RLX_EXPR_OPS];

RLX_INLINE uint32_t rlx_desc_expr_code(int64_t word) { return (uint32_t)word & 0xff; }

#define RLX_DESC_MAX_KNOWN 64 /* placeholders of a signature whose values a closure knows */

/* What a closure knows of the placeholders of its function, by number - 1. */
typedef struct rlx_desc_known { uint64_t has; int64_t value[RLX_DESC_MAX_KNOWN]; } rlx_desc_known;
/* Takes over the sizes that the value of a parameter gives. */
void rlx_desc_know_param(rlx_desc_known *k, const int64_t *node, const relax_value *v);
/* Do two descriptions exclude each other: what is carried, with what is known of its placeholders,
 * and what is asked for, with the slots of the frame? Goes through both in step. */
bool rlx_descs_clash(const rlx_desc_known *known, const int64_t *syms, const int64_t *a,
                     const int64_t *b);

#endif
