/* accesses.h: what the statements of a function do with memory, and in which order that has to stay. Memory is the data of buffers. */
#ifndef RLX_SCHEDULE_ACCESSES_H
#define RLX_SCHEDULE_ACCESSES_H

#include "schedule/schedule_int.h"

uintptr_t rlx_number_in(const rlx_ptrmap *map, const rlx_node *key); /* 0: it is none */
bool rlx_add_in(rlx_ptrmap *map, const rlx_node *key, uintptr_t n);

/* Of a function. */
typedef struct rlx_accesses {
    rlx_context *ctx;
    rlx_ptrmap stored;               /* memory -> number of stores */
    rlx_ptrmap declared;             /* memory -> number of declarations */
    rlx_ptrmap spoiled;              /* memory that is used otherwise */
    rlx_ptrmap owner;                /* memory of a temporary -> the sequence that it is the memory of */
    rlx_ptrmap dropped;              /* temporaries that nothing is left of */
    rlx_ptrs pending;                /* while it is read: allocations around the statement that is met next */
} rlx_accesses;
/* Is it memory that is allocated for the sequence, and that one buffer alone is made of? */
bool rlx_is_temporary_of(const rlx_accesses *u, const rlx_stmt *seq, const rlx_node *memory);
/* `body` with sequences replaced by what `replace` makes of them (r->user is the rlx_accesses of the body), and without dropped
 * temporaries. NULL: out of memory. */
const rlx_stmt *rlx_rewrite_sequences(rlx_context *ctx, const rlx_stmt *body,
                                      const rlx_node *(*replace)(rlx_rewriter *r, const rlx_node *n));

bool rlx_note_access(rlx_order *o, const rlx_node *memory, bool loads, bool stores, uintptr_t at);
/* All that is touched in s. False: out of memory. */
bool rlx_note_statement(rlx_context *ctx, rlx_order *o, const rlx_stmt *s, uintptr_t at);
/* Would a load or store of that memory be the same if it happened right behind statement `from`, or behind the last, instead? */
bool rlx_may_pass(const rlx_order *o, const rlx_node *memory, bool stores, uintptr_t from);
/* Would s be the same in front of all statements of o, and they behind it? */
bool rlx_may_go_first(rlx_context *ctx, const rlx_order *o, const rlx_stmt *s);

/* ---- flatten.c: statements as one sequence */
/* `body` without sequences that stand directly in others, and without loops around them that surely run once; temporaries of
 * either are those of the sequence around. NULL: out of memory. */
const rlx_stmt *rlx_flatten_sequences(rlx_context *ctx, const rlx_stmt *body);
/* Numbers and single loops that hang on nothing in front of them come first: what they compute for each row or column is there before
 * a sum whose elements want it. False: out of memory. */
bool rlx_move_short_nests(rlx_context *ctx, const rlx_stmt **stmts, size_t count);

#endif
