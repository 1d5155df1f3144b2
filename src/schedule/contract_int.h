/* contract_int.h: what the choice of tiles and the writing of them share. */
#ifndef RLX_SCHEDULE_CONTRACT_INT_H
#define RLX_SCHEDULE_CONTRACT_INT_H

#include "schedule/schedule_int.h"

enum {
    RLX_DEPTH_TILE = 512, RLX_COLUMN_TILE = 128, RLX_ROW_TILE = 128,
    RLX_COLUMN_PANEL = 32, RLX_ROW_PANEL = 8,
    RLX_MAX_DEPTH = 3
};

/* Loops of the nest that are one loop, outermost first. */
typedef struct rlx_digits { int at[RLX_MAX_DEPTH]; int count; const rlx_prim *extent; } rlx_digits;

/* An operand, and how it is read. */
typedef struct rlx_side {
    const rlx_plan_access *access;
    const rlx_buffer *buffer;        /* its own, or a view in which loops that are one are one dimension */
    const rlx_buffer *panel;         /* NULL: in place */
    bool packed;
    int param;                       /* the parameter whose place panels take; -1: none */
    rlx_producer *producer;          /* what computes the panels; NULL: they are packed */
    const rlx_prim *first;           /* panel of the tile, where they do */
    rlx_digits lanes;                /* rows or columns */
} rlx_side;

typedef struct rlx_tiling {
    rlx_context *ctx;
    const rlx_panel_params *params;
    const rlx_nest_plan *plan;
    rlx_place place;
    const rlx_plan_access *acc;
    const rlx_buffer *acc_buffer;
    const rlx_prim *start;           /* what C begins with in each tile; NULL: it is there */
    rlx_side row, column;
    rlx_digits depth;
    int64_t depth_tile;              /* steps at a time */
    int64_t few;                     /* columns that are computed at a time for few rows, as wide as the tile; 0: in panels */
    bool outer[RLX_PLAN_MAX_NEST];   /* loops around everything */
} rlx_tiling;

RLX_INLINE const rlx_prim *rlx_tiling_extent(const rlx_tiling *t, int loop)
{
    return t->plan->loops[loop].extent;
}

RLX_INLINE int rlx_last_digit(const rlx_digits *d) { return d->at[d->count - 1]; }

/* NULL: the loop does not move the access. */
RLX_INLINE const rlx_prim *rlx_tiling_coefficient(const rlx_plan_access *a, int loop)
{
    return rlx_plan_moves(a, loop) ? a->offset.coeff[loop] : NULL;
}

/* ---- contract_view.c: loops that are one index, and accesses in a tile */
extern const rlx_plan_scope rlx_tiling_scope;
/* The dimension of an access whose index is this loop. -1: none. */
int rlx_loop_dimension(const rlx_tiling *t, const rlx_plan_access *a, int loop);
/* The dimension in which an access has these loops one after the other as its indices, each as long as its dimension
 * (the first one: at most): together they are one index. -1: there is none. */
int rlx_merged_at(const rlx_tiling *t, const rlx_plan_access *a, const rlx_digits *d);
/* A view of the buffer of an access in which loops of the groups that are one are one dimension; the buffer itself
 * where none has more than one loop. NULL: out of memory. */
const rlx_buffer *rlx_merged_view(const rlx_tiling *t, const rlx_plan_access *a,
                                  const rlx_digits *const *groups, int num_groups);

/* What loops that belong together are in the tile: one position, or (position NULL) each its own. */
typedef struct rlx_lane_group {
    const rlx_digits *d;
    const rlx_prim *position;
    const rlx_prim *each[RLX_MAX_DEPTH];
} rlx_lane_group;
/* Lane number `position` of a side: one position, or the digits of that number. */
rlx_lane_group rlx_lanes_at(const rlx_tiling *t, const rlx_side *s, bool split,
                            const rlx_prim *position);
/* An access of `buffer`, its own or a view of that, in the tile. The number of indices, 0: out of memory. */
size_t rlx_indices_in(const rlx_tiling *t, const rlx_plan_access *a, const rlx_buffer *buffer,
                      const rlx_lane_group *groups, int num_groups, const rlx_prim **out);

/* ---- contract_tile.c: the tiled nests; NULL: out of memory, or a producer is refused */
/* Is the sum done in several tiles of steps? */
bool rlx_has_depth_tiles(const rlx_tiling *t);
const rlx_stmt *rlx_tiles(rlx_tiling *t);
/* Few rows read in place, and a tile of columns that is computed just before: tiles in the order in which what it is computed
 * from lies in memory. */
const rlx_stmt *rlx_few_tiles(rlx_tiling *t);
/* Does what columns are computed from lie along the steps of the sum? */
bool rlx_is_along(const rlx_tiling *t);

#endif
