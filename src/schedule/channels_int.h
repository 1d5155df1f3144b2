/* channels_int.h: what channels.c and channel_rows.c share: sums whose channels, or rows, come in blocks with the nests around them. */
#ifndef RLX_CHANNELS_INT_H
#define RLX_CHANNELS_INT_H

#include "schedule/accesses.h"
#include "schedule/plan_int.h"

enum {
    RLX_MOST_PASSED = 8,
    RLX_BLOCK_PARTS = 4      /* blocks come in so many parts or more, for threads; pictures are filled with a number once for each */
};

/* A nest whose loop `lane` is the channel. Of what it is a member for: fills: it stores one number there; covers: it stores the same places
 * for each channel, and loads none of them. */
typedef struct rlx_channel_member { const rlx_for_stmt *nest; const rlx_prim *lane; bool fills, covers; } rlx_channel_member;

/* A buffer of which a block has a small one, and its dimension that is the channel; turned: which comes last there;
 * window: which is part of its index there; apart: its last dimension is as rlx_lanes_apart has it. */
typedef struct rlx_shrunk { const rlx_buffer *whole, *small; size_t dim; bool turned, window, apart; } rlx_shrunk;

typedef struct rlx_channels {
    rlx_context *ctx;
    const rlx_panel_params *params;
    const rlx_stmt **stmts;
    size_t count, at;                /* of the sum */
    size_t first, end;               /* statements that become one */
    const rlx_nest_plan *plan;
    int lane;
    const rlx_plan_access *acc, *picture, *weights;
    int64_t all, block;              /* channels */
    bool turned, lanes;              /* channels become lanes, or are; else blocks are as they are, and near */
    rlx_place place;
    const rlx_prim *start;           /* what sums begin with; NULL: it is there */
    bool own_picture, own_sums;      /* temporaries that the statements alone touch */
    size_t fills;                    /* how many of the first statements fill the pictures, and may do so once for several blocks */
    const rlx_prim *base, *size;     /* of the block that is written */
    rlx_shrunk pictures, sums;
    rlx_shrunk passed[RLX_MOST_PASSED];      /* what nests behind the sum store: they hand it to each other, or it is the result */
    size_t num_passed;
} rlx_channels;

/* The dimension of an access whose index is this variable, and no other index has it. -1: there is none. */
int rlx_channel_of(rlx_context *ctx, const rlx_plan_access *a, const rlx_prim *var);
/* Elements of a buffer but for a dimension; INT64_MAX: they are not known, or too many. */
int64_t rlx_elements_without(const rlx_plan_access *a, size_t without);
bool rlx_touches(const rlx_channels *c, const rlx_stmt *s, const rlx_buffer *b);
/* Is it a nest one of whose loops is the lane of dimension dim of `of`, all along it? */
bool rlx_is_channel_member(const rlx_channels *c, const rlx_stmt *s, const rlx_buffer *of, size_t dim, rlx_channel_member *out);
/* Finds the nests behind the sum that read it, or what such nests store, and whether the sums are theirs alone. */
void rlx_find_behind(rlx_channels *c);
/* Is it one of those? */
bool rlx_is_behind_sum(const rlx_channels *c, const rlx_stmt *s, rlx_channel_member *out);
/* Does each iteration over lanes touch, of all that is stored by c->first and those behind it, its own lane alone? */
bool rlx_lanes_are_apart(const rlx_channels *c);
/* How far places with so many lanes should lie apart, in elements: windows read several places, which may not fall on each other in the
 * nearest cache. */
int64_t rlx_lanes_apart(int64_t lanes);
/* The small buffer of a block, `size` long along dim; the flags of s are set. False: out of memory. */
bool rlx_shrink(const rlx_channels *c, rlx_shrunk *s, const rlx_buffer *whole, size_t dim, int64_t size);
bool rlx_shrink_passed(rlx_channels *c);
/* What stands in the innermost loop of a nest; and `body` in loops like those of the nest, `var` running to `size` in place of `old`. NULL: out
 * of memory, or body is. */
const rlx_stmt *rlx_body_of(const rlx_for_stmt *nest);
const rlx_stmt *rlx_in_loops_of(rlx_context *ctx, const rlx_for_stmt *nest, const rlx_prim *old, const rlx_prim_var *var, const rlx_prim *size,
                                const rlx_stmt *body);
/* The nest for the lanes of the block: base + l in place of the lane, l alone in what is as small as a block. NULL: out of memory. */
const rlx_stmt *rlx_in_block(const rlx_channels *c, const rlx_channel_member *m, const rlx_prim *size);
/* What comes from the sum, and the nests behind it, for a block, with the temporaries of it. NULL: out of memory, or `all` is. */
const rlx_stmt *rlx_with_behind(const rlx_channels *c, const rlx_stmt *all);
/* Nothing touches the whole buffers any more that blocks have small ones of. */
void rlx_drop_shrunk(const rlx_channels *c);
/* Loops over blocks of c->block lanes, `part` of them together; sets c->base and c->size to those of a block. False: out of memory. */
typedef struct rlx_block_loops { rlx_sched_loop parts, blocks; } rlx_block_loops;
bool rlx_open_blocks(rlx_channels *c, int64_t part, rlx_block_loops *out);

/* A sum whose channels lie side by side, as the nests `fill` and `sum` in place of statements of->at - 1 and of->at, with what stands around it a
 * few rows at a time (channel_rows.c): what takes the place of [*first, *end). NULL: it stays as it is, or out of memory. */
const rlx_stmt *rlx_lay_channel_rows(const rlx_channels *of, const rlx_for_stmt *fill, const rlx_for_stmt *sum, size_t *first, size_t *end);

#endif
