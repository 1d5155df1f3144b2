/*- lower_resize.h: what both lowerings of resizing share: one axis after the other.
 *
 *     rlx_resize_begin(&r, ..)
 *     rlx_resize_moved_axis(&r, axis, elements ..)     for each axis, in the order of rlx_resize_order: elements that are known,
 *     rlx_resize_even_axis(&r, axis, want, &even)      or elements evenly apart with the same shares everywhere,
 *     rlx_resize_axis(&r, axis, want, &taps)           or a table of elements and shares
 *     rlx_resize_end(&r)                               writes the result
 *
 * What is blended stands with its axis in front, if slices would be short otherwise:
 *     data[n, c, y, x]  ->  turned[x, n, c, y]  ->  part[o, n, c, y] = sum over k of weight[k, o] * turned[index[k, o], n, c, y]
 * Then elements and shares are the same along a whole slice, and slices are strips. What is evenly apart stands in planes, one for each
 * share, if slices would be short:
 *     data[n, c, y, x]  ->  planes[k, n, c, y, o] = data[n, c, y, o * apart + first + k]  ->  part[n, c, y, o] = sum over k of weight[k] * planes[k, n, c, y, o]
 */
#ifndef RLX_OP_LOWER_RESIZE_H
#define RLX_OP_LOWER_RESIZE_H

#include "op/lower_int.h"

/* Place o of an axis is element o / times, or o * apart + first; times 0: the latter. */
typedef struct rlx_resize_step { int64_t times, apart, first; } rlx_resize_step;

typedef struct rlx_resize_taps {
    int count;
    const rlx_buffer *index, *weight;   /* [k, o]; weight NULL: one element, with share 1 */
    const rlx_buffer *outside;          /* NULL: no place is outside of data */
    double fill;                        /* what is there */
} rlx_resize_taps;

/* Place o is made of `count` elements from o * apart + first on, with these shares, which the dtype of shares holds. */
enum { RLX_RESIZE_MOST_TAPS = 4 };
typedef struct rlx_resize_even { int count; int64_t apart, first; double weight[RLX_RESIZE_MOST_TAPS]; } rlx_resize_even;

typedef struct rlx_resize {
    rlx_lowering *b;
    const rlx_buffer *from;             /* what is resized now; its axes in memory: */
    size_t order[RLX_LOW_RANK];
    rlx_lowering_list sizes;            /* of it, by axis */
    const rlx_lowering_tensor *out;
    rlx_dtype wide;                     /* of shares and sums; void: elements are moved only */
    rlx_resize_step steps[RLX_LOW_RANK];
    bool has_step[RLX_LOW_RANK], is_open[RLX_LOW_RANK]; /* open: elements are repeated, their number is not known */
    bool whole;                         /* the result is written */
    const rlx_buffer *data;
    bool tiled;                         /* some slices of it at a time, along axis `cut`, from here on: */
    size_t cut;
    const rlx_prim *begin[RLX_LOW_RANK];    /* by axis; NULL: 0 */
} rlx_resize;

/* The numbers of n axes of these sizes as they are resized: the last first; where elements are only moved, which gives the same in any order,
 * those known to become shorter before the others, whole rows before their elements. */
void rlx_resize_order(bool moves, const rlx_prim *const *have, const rlx_prim *const *want, size_t n, size_t *items);
void rlx_resize_begin(rlx_resize *r, rlx_lowering *b, const rlx_lowering_tensor *x, const rlx_lowering_tensor *out,
                      rlx_dtype wide);
/* What follows is done for a few slices of data at a time, if they are known to be many, and turned: a few stay near, and do not lie a page apart from
 * each other when turned. have, want: sizes of the n axes that change, items: their order; tables are filled before. */
void rlx_resize_in_tiles(rlx_resize *r, const size_t *axes, const rlx_prim *const *have, const rlx_prim *const *want, const size_t *items,
                         size_t n);
/* An axis of `have` elements whose places are those `count` of them, if these are a step, or some of places go on in the next ones (0 0 1,
 * 2 2 3, ..), which are copies of what is evenly apart. False: nothing is done. last: as below. */
bool rlx_resize_moved_axis(rlx_resize *r, size_t axis, const int64_t *elements, int64_t count, int64_t have, bool last);
/* An axis whose elements are each repeated that often, however many there are. */
void rlx_resize_repeated_axis(rlx_resize *r, size_t axis, int64_t times);
/* False: nothing is done. */
bool rlx_resize_even_axis(rlx_resize *r, size_t axis, const rlx_prim *want, const rlx_resize_even *even, bool last);
/* last: nothing comes behind it but rlx_resize_end. */
void rlx_resize_axis(rlx_resize *r, size_t axis, const rlx_prim *want, const rlx_resize_taps *taps, bool last);
const rlx_prim_func *rlx_resize_end(rlx_resize *r);

#endif
