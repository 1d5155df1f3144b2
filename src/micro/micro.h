/* micro.h: the register level of kernels. A micro-kernel works on one block of memory, given by pointers, strides and
 * extents: it knows panels and tails, no operators, and holds no state. Strides are in elements; whoever calls has
 * checked that all of the block lies in its buffers, that what is written overlaps nothing else, and that extents are
 * at least 1.
 *
 * The same numbers on every instruction set: each sum runs in the order of k, a product is rounded on its own or not at
 * all, as the caller says.
 */
#ifndef RLX_MICRO_MICRO_H
#define RLX_MICRO_MICRO_H

#include "format/kernel_format.h"

/* Lanes of a panel of columns, rows of a panel of rows. Part of the file format. */
enum { RLX_PANEL_COLUMNS = 32, RLX_PANEL_ROWS = 8 };

/*- For i < rows, j < columns, and t < turns, k < depth ascending from 0, t outermost:
 *   contract  acc[i, j] = acc[i, j] + a[i, j, t, k] * b[i, j, t, k]
 *   reduce    acc[i, j] = acc[i, j] op a[i, j, k]
 * fresh: acc holds nothing yet, sums begin with +0. Fast where acc_j == 1, a_j == 0, b_j == 1, b_i == 0: columns in
 * registers, one scalar of a for all of them; b a panel (b_k == 32, columns <= 32) or in place; and, for windows, where
 * a_i == 0 and b_j is 1 or 2. Any other strides are computed too, slowly. Strides along an extent of 1 are 0. */
typedef struct rlx_micro_sum {
    void *acc;
    const void *a, *b;
    int64_t acc_i, acc_j;
    int64_t a_i, a_j, a_t, a_k;
    int64_t b_i, b_j, b_t, b_k;
    int64_t rows, columns, turns, depth;
    bool fresh;
} rlx_micro_sum;
typedef void rlx_micro_sum_fn(const rlx_micro_sum *s);

/*- A box of up to four dimensions, outermost first: dst[i] = src[i]; strides may be 0 (src) or negative. */
typedef struct rlx_micro_box {
    void *dst;
    const void *src;
    int64_t extent[4], dst_stride[4], src_stride[4];
} rlx_micro_box;
typedef void rlx_micro_copy_fn(const rlx_micro_box *b);

/*- Panels from memory. Lane l < lanes stands at position start + l of a two-digit number whose low digit runs to
 * `width`; depth digits d0, d1, d2, outermost first, run to depth[]:
 *   dst[l / W][d][l % W] = src[(start + l) / width * lane_stride[0] + (start + l) % width * lane_stride[1]
 *                              + sum of d_i * depth_stride[i]]       d: d0, d1, d2 as one number
 * W: 32 (columns) or 8 (rows). The lanes that the last panel lacks are filled with zero, all of one panel where lanes is 0. dst is
 * contiguous. */
typedef struct rlx_micro_pack {
    void *dst;
    const void *src;
    int64_t lanes, start, width, lane_stride[2];
    int64_t depth[3], depth_stride[3];
    int32_t panel;             /* W */
} rlx_micro_pack;
typedef void rlx_micro_pack_fn(const rlx_micro_pack *p);

/*- Fields of bits as floats, for g, w, v, l below extent[0] to extent[3]:
 *   dst[g, w, v, l] = ((float)(words[g, w, l] >> v * bits & mask) - zero) * scales[g, l]
 * rounded twice; lanes l are contiguous. All fields are in their word. */
typedef struct rlx_micro_unpack {
    float *dst;
    const void *words;
    const float *scales;
    int64_t extent[4], dst_stride[3], word_stride[2], scale_stride;
    enum rlx_kernel_elem elem; /* of words: U32, I32, U8, I8 */
    int32_t bits;
    uint32_t mask;             /* all ones: the word with its sign */
    float zero;
} rlx_micro_unpack;
void rlx_micro_unpack_fields(const rlx_micro_unpack *u);

/* The functions of one instruction set; NULL where it computes nothing with the element type, which is that of acc or
 * dst. Copies keep the bits of elements, or make narrow floats float32. */
typedef struct rlx_micro_set {
    const char *name;          /* "baseline", "avx2", "avx512", "neon" */
    rlx_micro_sum_fn *const (*contract)[RLX_ELEM_COUNT];       /* [product not rounded] */
    rlx_micro_sum_fn *const (*reduce)[RLX_ELEM_COUNT];         /* [enum rlx_kernel_reduce] */
    rlx_micro_copy_fn *const (*copy)[RLX_ELEM_COUNT];                /* [dst][src] */
    rlx_micro_pack_fn *const (*pack)[RLX_ELEM_COUNT];
    /* Elements of 4 bytes as they are; NULL: there is nothing better than those above. */
    rlx_micro_copy_fn *copy_words;
    rlx_micro_pack_fn *pack_words;
} rlx_micro_set;

/* The widest set that this machine has; name: that one. NULL: it is not known here, or the machine lacks it. Any
 * thread, at any time. */
const rlx_micro_set *rlx_micro_find(const char *name);

#endif
