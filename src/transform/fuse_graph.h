/* fuse_graph.h: which bindings of a dataflow block run together.
 *
 * Nodes are the bindings in order; an edge goes from a binding to each that uses it and has the pattern of the user. A
 * node may join its immediate post-dominator, the first binding that everything computed from it goes through, with all
 * that lies between, if the patterns on the way allow it. The rules are those of TVM, in the same two phases: first
 * sums of products and elementwise work, then what only moves elements; beyond them, what
 * transposes an operand joins the sum of products.
 */
#ifndef RLX_FUSE_GRAPH_H
#define RLX_FUSE_GRAPH_H

#include "ir/ir.h"

/* What brings elements into another order joins the sum of products that alone uses it: that packs them anyway, constants
 * once for all. */
enum rlx_fuse_moves { RLX_FUSE_NO_MOVE, RLX_FUSE_MOVES_OPERAND, RLX_FUSE_MOVES_CONSTANT };

typedef struct rlx_fuse_node {
    uint8_t pattern;                     /* enum rlx_op_pattern */
    bool kept;                           /* something outside of the block uses it */
    uint8_t moves;                       /* enum rlx_fuse_moves */
    const rlx_node *device;              /* where it runs, and between which writes: never together */
    uint32_t section;                    /* with another */
    /* private */
    uint32_t first, count;               /* of its edges */
    uint32_t parent, depth;              /* post-dominator, 0: none, else its number + 1 */
    uint32_t jump;                       /* an ancestor farther away */
    uint8_t way, jump_way;               /* patterns of the edges up to those */
    uint32_t group, size;                /* union-find; of a root: nodes in it */
    uint8_t group_pattern;
    uint32_t seen;                       /* by walk number */
} rlx_fuse_node;
typedef struct rlx_fuse_edge { uint32_t group, item; } rlx_fuse_edge; /* from, to */
typedef struct rlx_fuse_graph {
    rlx_memory *memory;
    RLX_VEC(rlx_fuse_node) nodes;
    RLX_VEC(rlx_fuse_edge) edges;        /* in any order */
    /* private */
    uint32_t *users;
    size_t num_users;
    uint32_t walk;
    size_t max_depth;
    RLX_VEC(uint32_t) work;
} rlx_fuse_graph;

/* Finds the groups, of at most max_depth nodes. False: out of memory. */
bool rlx_fuse_partition(rlx_fuse_graph *g, size_t max_depth);
/* The group of a node, as the number of one of its nodes. */
uint32_t rlx_fuse_group(rlx_fuse_graph *g, uint32_t node);
void rlx_fuse_graph_free(rlx_fuse_graph *g);

#endif
