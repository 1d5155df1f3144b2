/* minimal_cut.h: things that are on one of two sides, at the least cost. */
#ifndef RLX_MINIMAL_CUT_H
#define RLX_MINIMAL_CUT_H

#include "base/base.h"

#define RLX_CUT_NEVER (INT64_MAX / 8) /* a cost that is not paid if there is another way */

typedef struct rlx_cut_edge { uint32_t to, next; int64_t left; } rlx_cut_edge;
typedef struct rlx_cut_node { uint32_t first, now, level; } rlx_cut_node;
enum { RLX_CUT_NEAR, RLX_CUT_FAR };      /* the nodes that are on those sides */
/* Begins zeroed but for memory. */
typedef struct rlx_cut {
    rlx_memory *memory;
    RLX_VEC(rlx_cut_node) nodes;
    RLX_VEC(rlx_cut_edge) edges;         /* in pairs: there and back */
    RLX_VEC(uint32_t) work;
    bool failed;                         /* out of memory: what is asked from here on does nothing */
} rlx_cut;

/* A new node; the first two of a cut are made with it. */
uint32_t rlx_cut_node_new(rlx_cut *c);
/* `cost` is paid if a is on the near side and b on the far one. Costs of 0 and below change nothing. */
void rlx_cut_connect(rlx_cut *c, uint32_t a, uint32_t b, int64_t cost);
/* Chooses sides: of choices that cost the same, that with the fewest nodes on the far side. False: out of memory, or it would take too long. */
bool rlx_cut_solve(rlx_cut *c);
/* After that. */
bool rlx_cut_is_far(const rlx_cut *c, uint32_t node);
void rlx_cut_free(rlx_cut *c);

#endif
