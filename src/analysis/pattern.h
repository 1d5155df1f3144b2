/*- pattern.h: patterns over dataflow, the facts of the function they are matched in, the matcher.
 *
 *   pattern_build.c   pattern nodes; the plan of one pattern: its nodes numbered
 *   pattern_scene.c   a function as bindings in blocks: who is bound to what, who uses whom
 *   pattern_match.c   goals, choices and a trail: matching without recursion
 *   pattern_check.c   conditions on what has been matched: attributes, dtype, sizes, struct info
 */
#ifndef RLX_ANALYSIS_PATTERN_H
#define RLX_ANALYSIS_PATTERN_H

#include "ir/ir.h"
#include "sinfo/sinfo.h"

/* ---- patterns */
enum rlx_pattern_kind {
    RLX_PATTERN_ANY,
    RLX_PATTERN_EXPR,
    RLX_PATTERN_VAR,
    RLX_PATTERN_DATAFLOW_VAR,
    RLX_PATTERN_GLOBAL_VAR,
    RLX_PATTERN_EXTERN,
    RLX_PATTERN_FUNCTION,
    RLX_PATTERN_CONSTANT, RLX_PATTERN_SCALAR, RLX_PATTERN_SHAPE,
    RLX_PATTERN_CALL,      /* parts: callee, arguments */
    RLX_PATTERN_OP,        /* parts: arguments */
    RLX_PATTERN_CALL_TIR,  /* parts: callee, arguments */
    RLX_PATTERN_PACKED,    /* parts: arguments */
    RLX_PATTERN_TUPLE,
    RLX_PATTERN_ITEM,
    RLX_PATTERN_OR,
    RLX_PATTERN_AND,
    RLX_PATTERN_NOT,
    RLX_PATTERN_GRAPH,
    /* parts: what the condition is on */
    RLX_PATTERN_ATTRS, RLX_PATTERN_DTYPE, RLX_PATTERN_SIZES, RLX_PATTERN_SINFO,
    RLX_PATTERN_SAME_SHAPE, /* parts: that, the other */
    RLX_PATTERN_USE        /* parts: that, used, user */
};
enum {
    RLX_PATTERN_OPEN = 1, RLX_PATTERN_COMMUTATIVE = 2, RLX_PATTERN_UNORDERED = 4,
    RLX_PATTERN_ONLY = 8
};
#define RLX_PATTERN_FIELDS 64 /* of an unordered tuple */
/* Looks like a node of no kind, so that a pattern and a node are told from each other. */
typedef struct rlx_pattern {
    rlx_node node;
    uint8_t kind, flags;
    rlx_dtype dtype;
    rlx_context *ctx;
    const rlx_string *name;               /* VAR ... PACKED: NULL is any */
    const rlx_node *like;                 /* EXPR, FUNCTION, ATTRS, SINFO */
    const rlx_op_row *row;                /* OP */
    int64_t index;                        /* ITEM, USE: -1 is any */
    double value;                         /* SCALAR */
    const rlx_prim *const *dims; size_t num_dims; /* SHAPE, SIZES: NULL is any */
    const struct rlx_pattern *const *parts; size_t num_parts;
} rlx_pattern;
#define RLX_PATTERN_ID 0x5041544eu
RLX_INLINE bool rlx_is_pattern(const void *p)
{
    const rlx_node *n = p;
    return n && n->kind == RLX_NODE_NONE && n->id == RLX_PATTERN_ID;
}
/* A copy of `how` with copies of its arrays, in the context's memory. `first` (may be NULL)
 * comes before the parts. NULL: out of memory. */
const rlx_pattern *rlx_pattern_new(rlx_context *ctx, const rlx_pattern *how,
                                   const rlx_pattern *first);

/* ---- plans: the nodes of a pattern by number, each once; shape variables that may stand for
 * sizes */
typedef struct rlx_pattern_plan {
    rlx_context *ctx;
    const rlx_pattern *root;
    RLX_VEC(const rlx_pattern *) nodes;
    rlx_ptrmap index;                     /* node -> number; shape variable -> number in sizes */
    rlx_prim_vars sizes;
} rlx_pattern_plan;
bool rlx_pattern_plan_init(rlx_pattern_plan *plan, rlx_context *ctx, const rlx_pattern *root);
void rlx_pattern_plan_free(rlx_pattern_plan *plan);

/* ---- scenes */
#define RLX_NOWHERE UINT32_MAX
typedef struct rlx_scene_entry {
    const rlx_var *var;        /* NULL: a cast without one */
    const rlx_expr *value;     /* NULL: parameters, casts */
    const rlx_binding *binding;
    uint32_t block;            /* RLX_NOWHERE: a parameter */
    uint32_t next;             /* in its block */
    uint32_t stands_for;       /* the entry that a copy is a copy of, else itself */
    uint32_t first_user, num_users;
} rlx_scene_entry;
/* first and last entry */
typedef struct rlx_scene_block { const rlx_block *block; uint32_t first, last; } rlx_scene_block;
typedef struct rlx_scene {
    rlx_context *ctx;
    const rlx_module *module;  /* may be NULL */
    const rlx_function *func;
    RLX_VEC(rlx_scene_entry) entries;
    RLX_VEC(uint32_t) order;   /* bindings in order of evaluation */
    RLX_VEC(rlx_scene_block) blocks;
    /* of each entry: entries whose binding uses it, once per use; RLX_NOWHERE: something else
     * does */
    uint32_t *users; size_t num_users;
    rlx_ptrmap at;             /* variable -> entry */
    rlx_scope scope;           /* shape variables of the function; filled when first asked for */
    bool has_scope;
} rlx_scene;
bool rlx_scene_init(rlx_scene *s, rlx_context *ctx, const rlx_module *m, const rlx_function *f);
void rlx_scene_free(rlx_scene *s);
/* RLX_NOWHERE: not a variable of this function */
uint32_t rlx_scene_entry_of(const rlx_scene *s, const rlx_expr *var);
rlx_scope *rlx_scene_scope(rlx_scene *s);                             /* NULL: out of memory */

/* ---- matching */
enum rlx_match_result {
    RLX_PATTERN_MATCH_FAILED = -1,
    RLX_PATTERN_MATCH_NO = 0,
    RLX_PATTERN_MATCH_YES = 1
};
#define RLX_PATTERN_STEPS ((uint64_t)1 << 24)
struct rlx_goal;
struct rlx_choice;
typedef struct rlx_matcher {
    rlx_context *ctx;
    const rlx_pattern_plan *plan;
    rlx_scene *scene;            /* NULL: variables are not looked through */
    uint64_t steps;              /* left, beyond what is linear */
    uint64_t spent;              /* at this root */
    const rlx_expr **bound;      /* by number of the pattern */
    const rlx_prim **sizes;      /* by number of the shape variable */
    uint8_t *taken;              /* by entry: belongs to a match */
    size_t num_taken;
    uint32_t block;
    bool too_many;               /* steps, which is reported */
    RLX_VEC(uint32_t) trail;
    RLX_VEC(struct rlx_goal) goals;
    RLX_VEC(struct rlx_choice) choices;
    uint32_t head, waiting;      /* goals to do; goals that wait for others */
} rlx_matcher;
bool rlx_matcher_init(rlx_matcher *m, const rlx_pattern_plan *plan, rlx_scene *scene,
                      uint64_t steps);
void rlx_matcher_free(rlx_matcher *m);
/* At a binding: its own value is the root's. NO for copies and for bindings of a match. FAILED
 * after a report. */
enum rlx_match_result rlx_match_entry(rlx_matcher *m, uint32_t entry);
enum rlx_match_result rlx_match_expr(rlx_matcher *m, const rlx_expr *e);
/* The value of e if it is a variable that can be looked through, else e. *entry: the last binding
 * looked into, or RLX_NOWHERE; may be NULL. */
const rlx_expr *rlx_match_look(const rlx_matcher *m, const rlx_expr *e, uint32_t *entry);
/* Calls `each` for every binding of the match: those looked into (`into`), and copies and plain
 * values that were passed. */
void rlx_match_bindings(const rlx_matcher *m, void (*each)(void *user, uint32_t entry, bool into),
                        void *user);
/* The bindings of the match belong to it from now on. */
void rlx_match_take(rlx_matcher *m);
/* The expression that p matched, NULL: none. */
const rlx_expr *rlx_match_of(const rlx_matcher *m, const rlx_pattern *p);

#endif
