/* contract_int.h: what the choice of tiles and the writing of them share. */
#ifndef RLX_SCHEDULE_CONTRACT_INT_H
#define RLX_SCHEDULE_CONTRACT_INT_H

#include "schedule/schedule_int.h"

enum {
    RLX_DEPTH_TILE = 512, RLX_COLUMN_TILE = 128, RLX_ROW_TILE = 128,
    RLX_SINGLE_DEPTH = 4096,    /* where each panel of columns, or strip, serves all rows: weights are read as they lie */
    RLX_LOW_ROWS = 32, RLX_LOW_COLUMNS = 1024,
    RLX_COLUMN_PANEL = 32, RLX_ROW_PANEL = 8,
    RLX_FOUR = 4,               /* steps of bytes beside each other */
    RLX_MAX_DEPTH = 4
};

/* Loops of the nest that are one loop, outermost first. */
typedef struct rlx_digits { int at[RLX_MAX_DEPTH]; int count; const rlx_prim *extent; } rlx_digits;

/* An operand, and how it is read. */
typedef struct rlx_side {
    const rlx_plan_access *access;
    const rlx_buffer *buffer;        /* its own, or a view in which loops that are one are one dimension */
    const rlx_buffer *panel;         /* NULL: in place */
    bool packed;
    bool one_each;                   /* panels have one lane each: rows whose steps lie side by side, as AMX reads them */
    int param;                       /* the parameter whose place panels take; -1: none */
    bool in_front;                   /* panels are filled in front of a loop around the nest */
    bool around[RLX_MOST_AROUND];    /* loops around the nest that change its panels then */
    rlx_producer *producer;          /* what computes the panels; NULL: they are packed */
    const rlx_prim *first;           /* panel of the tile, where they do */
    rlx_digits lanes;                /* rows or columns */
} rlx_side;

/* Rows of the picture under the windows of a row of columns, which are read in place: `steps` of each window row, `apart` from each other. */
typedef struct rlx_strip {
    const rlx_buffer *buffer;        /* [rows + lines - 1, length], of together * rows; NULL: the picture itself, whose rows are a strip as they lie */
    int64_t width;                   /* columns (rows); 0: there is no strip */
    int64_t stride, steps, apart, rows, length;
    int64_t first;                   /* where step 0 of column 0 is: behind the others, if steps go back (apart < 0) */
    int along;                       /* dimension of the picture that it lies along */
    int64_t down, next;              /* rows of a window that lie below each other, and how many of them further down the next line is; 0: lines do not lie so */
    int dimension_down;              /* that rows of a window lie along, like lines or not; -1: it is not known */
    int64_t lines;                   /* of the picture, that share a strip in turn */
    bool joint;                      /* what is done with the sums is done for all lines of a tile at once */
    bool of_rows;                    /* it is what rows are read from; else columns */
    bool turned;                     /* rows of the sum are lanes of panels of columns, and the sums are turned back */
    int64_t together;                /* turned: of lines so many have a strip each below the other, and are one instruction; 0: each is its own */
    int64_t unfolded;                /* so many lines have each step of their windows in a row of its own; 0: they do not */
    bool whole;                      /* turned: all columns of the sum, each step in a row of its own */
    bool down_alone;                 /* whole, in place: windows go down alone, over pictures of their width, so that all columns are one line */
    const rlx_buffer *sums;          /* turned: [column, row] of a tile */
} rlx_strip;

/* A picture that is nothing but a number around a copy of a tensor. */
enum { RLX_MOST_BORDER_NESTS = 16 };
typedef struct rlx_border {
    bool is;                         /* strips are copied from the tensor */
    const rlx_buffer *picture;
    const rlx_buffer_load *load;     /* of the tensor, by these variables */
    const rlx_prim *fill, *var[RLX_TIR_MAX_DIMS]; /* by dimension of the picture; NULL: there is one index */
    int64_t low[RLX_TIR_MAX_DIMS], count[RLX_TIR_MAX_DIMS];
    int64_t begin, end;              /* elements of a strip that are those of the tensor */
    int64_t step;                    /* rows of the picture that a line lies below the one before */
    bool downwards;                  /* so do rows of a window */
    bool above, below;               /* some rows of windows lie there */
    const rlx_stmt *nests[RLX_MOST_BORDER_NESTS]; /* that make it, then the one that reads it */
    size_t num_nests;
} rlx_border;

typedef struct rlx_tiling {
    rlx_context *ctx;
    const rlx_panel_params *params;
    const rlx_nest_plan *plan;
    rlx_place place;
    const rlx_plan_access *acc;
    const rlx_buffer *acc_buffer;
    const rlx_prim *start;           /* what C begins with in each tile; NULL: it is there */
    rlx_side row, column;
    rlx_in_front *in_front;          /* the loop that panels of columns are filled in front of, where they are */
    rlx_digits depth;
    rlx_strip strip;                 /* in place of panels of columns */
    rlx_border border;               /* of the picture that strips are of */
    bool dot;                        /* bytes: of the first depth loop four steps are one */
    int64_t depth_tile;              /* steps at a time */
    int64_t row_tile, column_tile;   /* rows and columns at a time */
    int64_t few;                     /* columns that are computed at a time for few rows, as wide as the tile; 0: in panels */
    bool one_by_one;                 /* panels of columns: each is filled just before its only use */
    bool outer[RLX_PLAN_MAX_NEST];   /* loops around everything */
    struct rlx_epilogue *epilogue;   /* what is done with each block of C; NULL: nothing */
} rlx_tiling;

RLX_INLINE const rlx_prim *rlx_tiling_extent(const rlx_tiling *t, int loop)
{
    return t->plan->loops[loop].extent;
}

/* Elements of a side's panels. */
RLX_INLINE rlx_dtype rlx_panel_dtype(const rlx_tiling *t, const rlx_side *s)
{
    return rlx_as_buffer(t->dot ? s->access->buffer : t->acc->buffer)->dtype;
}

/* Has it panels of all lanes and steps, which are there before the nest? */
RLX_INLINE bool rlx_has_all_panels(const rlx_side *s) { return s->param >= 0 || s->in_front; }

/* Are its panels filled, each time, from a view in which its lanes are one? Two digits are no matter. */
RLX_INLINE bool rlx_packs_view(const rlx_side *s) { return s->lanes.count > 2 && s->param < 0; }

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
/* Are they one loop, or one index? */
RLX_INLINE bool rlx_is_straight(const rlx_tiling *t, const rlx_plan_access *a, const rlx_digits *d)
{
    return d->count == 1 || rlx_merged_at(t, a, d) >= 0;
}
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

/* Is the index surely in range? */
bool rlx_index_fits(const rlx_tiling *t, const rlx_prim *index, const rlx_prim *size);

/* The side that reads the strip. */
RLX_INLINE const rlx_side *rlx_strip_side(const rlx_tiling *t) { return t->strip.of_rows ? &t->row : &t->column; }

/* ---- contract_strip.c: strips in place of panels of columns */
/* Are the columns windows for which that is better? Says how the strip is then. begins: what sums begin with is known. */
bool rlx_choose_strips(rlx_tiling *t, bool begins);
/* Are they windows of so few steps that each step had better have a row of its own? */
bool rlx_choose_unfolded(rlx_tiling *t);
/* Are columns so few that rows had better be lanes, and all columns one strip? */
bool rlx_choose_whole(rlx_tiling *t, bool begins);
/* The picture whose lines are one, where columns are. NULL: out of memory. */
const rlx_buffer *rlx_view_of_lines(const rlx_tiling *t);
/* Fills such a strip. NULL: out of memory. */
const rlx_stmt *rlx_fill_whole(const rlx_tiling *t);
/* Are the rows windows for which that is better than panels? */
bool rlx_choose_row_strips(rlx_tiling *t);
/* Has a strip memory of its own? */
bool rlx_is_strip_copied(const rlx_tiling *t);
/* Rows of that: of all lines that have or share it. */
RLX_INLINE int64_t rlx_rows_of_strip(const rlx_tiling *t)
{
    const rlx_strip *s = &t->strip;
    return s->unfolded ? s->rows * s->steps : s->together ? s->together * s->rows : s->rows + (s->lines - 1) * s->next;
}
const rlx_buffer *rlx_strip_buffer(const rlx_tiling *t);
/* Memory for the sums of a tile, if they are turned. */
const rlx_buffer *rlx_turned_sums(const rlx_tiling *t);
/* A line of the picture, and which row of the strip is its first one. */
typedef struct rlx_strip_line { const rlx_prim *y, *shift; } rlx_strip_line;
/* Fills rows [first, first + count) of all windows of a line; count 0: all. NULL: out of memory, as below. */
const rlx_stmt *rlx_copy_to_strip(const rlx_tiling *t, rlx_strip_line line, int64_t first, int64_t count);
/* What column x of a line multiplies in step u of row k of its strip. */
const rlx_prim *rlx_strip_element(const rlx_tiling *t, rlx_strip_line line, const rlx_prim *k, const rlx_prim *u, const rlx_prim *x);

/* ---- contract_border.c: strips of what a picture with a border is made of */
/* b is none yet, and stays so where strips are not copied, or had better come from the picture. */
void rlx_find_border(rlx_tiling *t, const rlx_for_stmt *nest, rlx_border *b);
/* Fills what is beside the tensor in all rows of a strip, or all of one that lines share; rows [first, first + count) of windows of a line. NULL:
 * out of memory. */
const rlx_stmt *rlx_fill_strip_borders(const rlx_tiling *t, const rlx_border *b);
const rlx_stmt *rlx_copy_inside(const rlx_tiling *t, const rlx_border *b, rlx_strip_line line, int64_t first, int64_t count);
/* Likewise of lines [first, first + count), each with rows of its own, or unfolded; those may have no border. */
const rlx_stmt *rlx_copy_lines_inside(const rlx_tiling *t, const rlx_border *b, const rlx_prim *first, const rlx_prim *count);
/* Nothing reads the picture any more. */
void rlx_drop_picture(const rlx_tiling *t, const rlx_border *b);

/* ---- epilogue.c: nests behind a contraction that run on its blocks */
enum { RLX_MOST_EPILOGUES = 8, RLX_MOST_TOUCHED = 32 };
/* Such a nest. */
typedef struct rlx_epilogue_nest {
    const rlx_for_stmt *nest;
    const rlx_stmt *body;
    rlx_place place;
    const rlx_prim *var[RLX_PLAN_MAX_NEST], *value[RLX_PLAN_MAX_NEST]; /* its loops by those of the contraction */
    size_t count;
} rlx_epilogue_nest;
/* What they touch. */
typedef struct rlx_touched {
    rlx_plan_access access;          /* indices by the loops of the contraction */
    uint32_t stored_by, loaded_by;   /* nests: bits by number */
    bool block;                      /* a temporary that has shrunk to a block: [row, column] */
    const rlx_buffer *in_tile;       /* that block; else its own buffer or a view of it */
    const rlx_buffer *beside;        /* turned: a number of each row, beside each sum of a line: [tile of rows, column, row] */
} rlx_touched;
typedef struct rlx_epilogue {
    rlx_epilogue_nest nests[RLX_MOST_EPILOGUES];
    size_t count;
    rlx_touched touched[RLX_MOST_TOUCHED]; /* first C */
    size_t num_touched;
    rlx_plan_access accumulator;     /* what C was, in the result */
    const rlx_touched *turned;       /* the result, if it is computed of sums before they are turned back; NULL: it is not */
} rlx_epilogue;
/* Those of the statements behind the nest that join it. False: out of memory. */
bool rlx_find_epilogue(const rlx_tiling *t, const rlx_after *after, rlx_epilogue *e);
/* Chooses where what is touched lies. begins: `init` gives sums their first values and does nothing else; once: and that
 * may be done block by block. t->acc and its buffer are then what sums are done in. False: out of memory. */
bool rlx_place_epilogue(rlx_tiling *t, rlx_epilogue *e, const rlx_for_stmt *init,
                        const rlx_for_stmt *nest, bool begins, bool once);
/* The statement with the accumulator in place of C. NULL: out of memory. */
const rlx_stmt *rlx_on_accumulator(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *s);
/* The nests of the contraction, then those of the epilogue as they stand. NULL: out of memory. */
const rlx_stmt *rlx_epilogue_apart(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *nests);
/* All nests of the epilogue on rows and columns [begin, begin + count). NULL: out of memory. */
const rlx_stmt *rlx_epilogue_block(const rlx_tiling *t, const rlx_epilogue *e,
                                   const rlx_prim *const *begin, const rlx_prim *const *count);
/* Chooses e->turned, once it is known where all lies. False: out of memory. */
bool rlx_choose_turned_epilogue(const rlx_tiling *t, rlx_epilogue *e);
/* Then: tile number `tile` of rows and those columns; and what is to be there for all tiles around `body`. NULL: out of memory. */
const rlx_stmt *rlx_turned_epilogue_block(const rlx_tiling *t, const rlx_epilogue *e, const rlx_prim *tile, const rlx_prim *const *begin,
                                          const rlx_prim *const *count);
const rlx_stmt *rlx_with_numbers_beside(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *body);
/* What one block of rows and columns does, with the memory of blocks: inside of all loops over them, so that threads that share
 * these have their own. */
const rlx_stmt *rlx_with_blocks(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *body);
/* `body` with the views of that; temporaries that have shrunk go. */
const rlx_stmt *rlx_with_epilogue(const rlx_tiling *t, const rlx_epilogue *e, const rlx_stmt *body);

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
