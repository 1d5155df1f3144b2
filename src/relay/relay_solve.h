/*- relay_solve.h: unification and the queue of relations (relay 3.3, 3.4).
 *
 *     hole ──is──> type        holes are the only types that change: a solved one points to what it is
 *       └─waiting─> relations  that could not be decided while it was open
 *
 * A relation that answers UNDECIDED waits at every open hole of its types and runs again when one
 * of them is solved. Each solution takes a hole away, so the queue runs dry.
 */
#ifndef RLX_RELAY_SOLVE_H
#define RLX_RELAY_SOLVE_H

#include "relay/relay_op.h"

/* Limits (RY24): how deep types nest, nodes that one comparison, copy or resolution may visit. */
#define RLX_RELAY_MAX_TYPE_DEPTH 1000
#define RLX_RELAY_MAX_TYPE_NODES 1000000

enum rlx_relay_outcome { RLX_RELAY_HOLDS, RLX_RELAY_UNDECIDED, RLX_RELAY_FAILS };

typedef struct rlx_relay_solver rlx_relay_solver;
typedef struct rlx_relay_goal rlx_relay_goal;
typedef enum rlx_relay_outcome (*rlx_relay_relation)(rlx_relay_goal *g);

/* A relation between types that has to hold: inputs first, then outputs. */
struct rlx_relay_goal {
    rlx_relay_solver *solver;
    rlx_relay_relation relation;
    const char *name;              /* of the relation */
    const char *of;                /* whom messages name: the operator, or the relation */
    const rlx_relay_op *op;        /* whose attribute record it is; NULL: none */
    rlx_relay_type **types; size_t num_types, num_inputs;
    rlx_relay_attrs attrs;
    rlx_place place;
    bool queued, decided, failed;
    struct rlx_relay_goal *next;
};
typedef struct rlx_relay_waiting { rlx_relay_goal *goal; struct rlx_relay_waiting *next; } rlx_relay_waiting;

struct rlx_relay_solver {
    rlx_relay_module *m;
    rlx_context *ctx;
    rlx_relay_goal *first, *last;  /* queue, first in first out */
    RLX_VEC(rlx_relay_goal *) goals;
    size_t visited;                /* nodes in the operation under way */
};

void rlx_relay_solver_init(rlx_relay_solver *s, rlx_relay_module *m);
void rlx_relay_solver_free(rlx_relay_solver *s);

rlx_relay_type *rlx_relay_hole(rlx_relay_solver *s, uint8_t kind, rlx_place place);
/* The kind of a type (relay 2.2): enum rlx_relay_kind. */
uint8_t rlx_relay_type_kind_of(const rlx_relay_type *t);
/* What t is, as far as it is known at its top. */
rlx_relay_type *rlx_relay_find(rlx_relay_type *t);
rlx_relay_dim rlx_relay_dim_find(rlx_relay_dim d);
rlx_relay_type *rlx_relay_tensor(rlx_relay_solver *s, const rlx_relay_dim *dims, size_t ndim,
                                 rlx_dtype dtype);
rlx_relay_type *rlx_relay_tuple(rlx_relay_solver *s, rlx_relay_type *const *fields, size_t count);

/* The type that both are, or NULL after a report at `place`, in which `what` says what is
 * compared: "the branches of an if". Where one extent is `?` the result has `?`. */
rlx_relay_type *rlx_relay_unify(rlx_relay_solver *s, rlx_relay_type *a, rlx_relay_type *b,
                                rlx_place place, const char *what);
/* The same extent, or no: variables are bound. */
bool rlx_relay_unify_dim(rlx_relay_dim a, rlx_relay_dim b, rlx_relay_dim *out);

/* A copy in which variables of `params` are put for `args`. NULL: out of memory or a limit. */
rlx_relay_type *rlx_relay_substitute(rlx_relay_solver *s, rlx_relay_type *t,
                                     rlx_relay_type_var *const *params, rlx_relay_type *const *args,
                                     size_t count);
/* A copy in which every `_` is a hole of its own. */
rlx_relay_type *rlx_relay_import(rlx_relay_solver *s, rlx_relay_type *t);
/* t with all solved holes replaced; *open: the first hole that is left, or NULL. */
rlx_relay_type *rlx_relay_resolve(rlx_relay_solver *s, rlx_relay_type *t, rlx_relay_type **open);

bool rlx_relay_add_goal(rlx_relay_solver *s, const rlx_relay_goal *g);
/* Runs what is queued. False: out of memory; what fails is reported. */
bool rlx_relay_solve(rlx_relay_solver *s);
/* Reports the goals that are still undecided; how many. */
size_t rlx_relay_report_undecided(rlx_relay_solver *s);

/* The relation of that name (TVM's name after tvm.relay.type_relation), or NULL. */
rlx_relay_relation rlx_relay_relation_find(rlx_slice name, const char **canonical);

#endif
