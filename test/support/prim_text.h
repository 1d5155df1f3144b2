/* prim_text.h: integer expressions from text, for table tests: "n * 4 + min(n, m) // 2", "select(n
 * < m, n, m)". Names become shape variables of the table, made on first use. */
#ifndef PRIM_TEXT_H
#define PRIM_TEXT_H

#include "arith/arith.h"

#define PRIM_NAMES_MAX 16
typedef struct prim_names {
    rlx_context *ctx;
    rlx_scope *scope;     /* new variables enter it as sizes (>= 0); NULL: not */
    char names[PRIM_NAMES_MAX][16];
    const rlx_prim_var *vars[PRIM_NAMES_MAX];
    size_t count;
} prim_names;

const rlx_prim_var *prim_name(prim_names *t, const char *name);
/* NULL if the text is malformed: fails the test that gave it. */
const rlx_prim *prim_parse(prim_names *t, const char *text);
/* The expression at *at, which is moved behind it. */
const rlx_prim *prim_parse_at(prim_names *t, const char **at);

#endif
