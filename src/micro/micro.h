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

/* Lanes of a panel of columns, rows of a panel of rows, steps of 8-bit integers that lie beside each other in either.
 * Part of the file format. */
enum { RLX_PANEL_COLUMNS = 32, RLX_PANEL_ROWS = 8, RLX_PANEL_FOURS = 4 };

/*- For i < rows, j < columns, and t < turns, k < depth ascending from 0, t outermost:
 *   contract  acc[i, j] = acc[i, j] + a[i, j, t, k] * b[i, j, t, k]
 *   reduce    acc[i, j] = acc[i, j] op a[i, j, t, k]
 * fresh: acc holds nothing yet, sums begin with +0. Fast where acc_j == 1, a_j == 0, b_j == 1, b_i == 0: columns in
 * registers, one scalar of a for all of them; b a panel (b_k == 32, columns <= 32) or in place; and, for windows, where
 * a_i == 0 and b_j is 1 or 2; and, begun afresh, where both a_j and b_j are 1 and one of them has no rows. Any other strides are computed too, slowly. Strides along an extent of 1 are 0.
 * Elements of 8 bits are summed up in 32, which wrap around: fast where depth == 4, a_k == 1, b_k == 1, a_j == 0, b_i == 0,
 * acc_j == 1 and b_fours. */
typedef struct rlx_micro_sum {
    void *acc;
    const void *a, *b;
    int64_t acc_i, acc_j;
    int64_t a_i, a_j, a_t, a_k;
    int64_t b_i, b_j, b_t, b_k;
    int64_t rows, columns, turns, depth;
    uintptr_t soon;            /* what is read next from afar, to be asked for meanwhile; 0: it is not known */
    int64_t soon_step;         /* bytes of that for each step */
    bool fresh;
    bool a_signed, b_signed;   /* elements of 8 bits: int8 or uint8 */
    bool b_fours;              /* b_j == 4, and b may be read in whole panels of columns, whatever is there */
} rlx_micro_sum;
typedef void rlx_micro_sum_fn(const rlx_micro_sum *s);

/* Sums of many groups, which lie so many elements apart. */
typedef struct rlx_micro_groups { int64_t count, acc, a, b; } rlx_micro_groups;
/* False: nothing is done, as it is no fast way for them. */
typedef bool rlx_micro_groups_fn(const rlx_micro_sum *s, const rlx_micro_groups *groups);

/*- For i < rows, j < columns: sums of values of a[i, j, t, k] and b[i, j, t, k] in 32 partial sums, which begin with +0.
 * For each turn t the values of k ascending from 0 go to partial sums 0, 1, .. 31, 0, ..; then the upper half is added to
 * the lower, 16, 8, 4, 2, and
 *   acc[i, j] = acc[i, j] + p[0] + p[1]
 * Fast where a_k == 1 and b_k == 0, and for float32 where the columns are contiguous on all sides.
 * Long sums come in parts: partial (NULL: it is none) has the sums so far, p[l][j], and gets them where this part is not the last. */
enum { RLX_PARTIAL_SUMS = 32 };
typedef struct rlx_micro_partial {
    void *acc;
    const void *a, *b;         /* b: of values that have it */
    int64_t acc_i, acc_j, a_i, a_j, a_t, a_k, b_i, b_j, b_t, b_k;
    int64_t rows, columns, turns, depth;
    void *partial;
    bool ends;                 /* the last part: what is there goes to acc */
} rlx_micro_partial;
typedef void rlx_micro_partial_fn(const rlx_micro_partial *s);

/*- For i < rows, j < columns, of float32, each operation rounded:
 *   y = ((x - m) * r) * g + b
 * or, with more to do,
 *   y = min(max(((x - m) * r) * g + b + a, low), high)         low and high are not NaN, high is not -0
 * Sides: y, x, m, r, g, b, a, by
 * their strides of i and of j. Fast where y and x are contiguous along the columns, m and r stand still, g, b and a do either; m may move along short rows that are all alike.
 * Where one is missing, 0, 1, 1, -0 or -0 in its place changes nothing, nor do infinite bounds. */
typedef struct rlx_micro_normalize {
    void *side[RLX_NORMALIZE_SIDES];
    int64_t stride[RLX_NORMALIZE_SIDES][2];
    int64_t rows, columns;
    float low, high;
    bool more;
} rlx_micro_normalize;
typedef void rlx_micro_normalize_fn(const rlx_micro_normalize *z);

/*- A box of up to four dimensions, outermost first: dst[i] = src[i]; strides may be 0 (src) or negative. */
typedef struct rlx_micro_box {
    void *dst;
    const void *src;
    int64_t extent[4], dst_stride[4], src_stride[4];
} rlx_micro_box;
typedef void rlx_micro_copy_fn(const rlx_micro_box *b);
/* A run of narrow floats as float32, for each kind of them. */
#define NARROW(name, elem, text, code, bits, C, ...) \
    void rlx_micro_widen_##elem(float *d, const C *s, int64_t n);
#include "base/dtype.def"
/* A run of small integers as int32. */
void rlx_micro_widen_I8(int32_t *d, const int8_t *s, int64_t n);
void rlx_micro_widen_U8(int32_t *d, const uint8_t *s, int64_t n);
void rlx_micro_widen_I16(int32_t *d, const int16_t *s, int64_t n);
void rlx_micro_widen_U16(int32_t *d, const uint16_t *s, int64_t n);
/* Runs of halves by the instruction for it, the same bits: how many are done, in pieces of so many. It ends before a piece with a NaN,
 * as the instruction changes some. */
enum { RLX_HALVES = 8 };
size_t rlx_micro_narrow_halves(uint16_t *d, const float *a, size_t n);
size_t rlx_micro_widen_halves(float *d, const uint16_t *s, size_t n);

/*- Panels from memory. Lane l < lanes stands at position start + l of a two-digit number whose low digit runs to
 * `width`; depth digits d0, d1, d2, outermost first, run to depth[]:
 *   dst[l / W][d][l % W] = src[(start + l) / width * lane_stride[0] + (start + l) % width * lane_stride[1]
 *                              + sum of d_i * depth_stride[i]]       d: d0, d1, d2 as one number
 * W: 32 (columns) or 8 (rows). The lanes that the last panel lacks are filled with zero, all of one panel where lanes is 0. dst is
 * contiguous. In panels of fours (rlx_micro_pack_fours), of 8-bit integers, dst is
 *   dst[l / W][d0 / 4][d1][d2][l % W][d0 % 4]
 * and what the last four lacks of d0 is zero, too. */
typedef struct rlx_micro_pack {
    void *dst;
    const void *src;
    int64_t lanes, start, width, lane_stride[2];
    int64_t depth[3], depth_stride[3];
    int32_t panel;             /* W */
} rlx_micro_pack;
typedef void rlx_micro_pack_fn(const rlx_micro_pack *p);
rlx_micro_pack_fn rlx_micro_pack_fours;

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
/* dst[j] = f(a[j], b) for j < columns, of float32. dst may be a. */
typedef void rlx_micro_row_fn(float *dst, const float *a, float b, int64_t columns);
/* The greatest of x and n elements. */
typedef float rlx_micro_greatest_fn(float x, const float *a, int64_t n);
/* dst[j] = exp(a[j] - b), and sums[j mod 32] is added dst[j]; fresh: sums hold nothing yet. Gives the total of the sums. No
 * a[j] - b is above 0. ahead: what comes later is so many elements behind a, and is asked for; it need not be there. */
typedef float rlx_micro_exp_sum_fn(float *dst, const float *a, float b, float *sums, bool fresh, int64_t columns, int64_t ahead);

/* A chain of functions of each element of strips of float32, which stays in registers from one to the next: x is what it holds, b the step's `with`.
 * Strips that are loaded and stored are the same memory or do not overlap. */
enum rlx_micro_step_op {
    RLX_STEP_END,
    RLX_STEP_LOAD,             /* x = b */
    RLX_STEP_STORE,            /* b = x */
    RLX_STEP_ADD, RLX_STEP_SUB, RLX_STEP_MUL, RLX_STEP_DIV, RLX_STEP_MIN, RLX_STEP_MAX,
    RLX_STEP_SUB_FROM,         /* b - x */
    RLX_STEP_DIV_FROM,         /* b / x */
    RLX_STEP_LEAST,            /* min, where b is neither NaN nor -0 */
    RLX_STEP_GREATEST,         /* max, where b is neither NaN nor +0 */
    RLX_STEP_RELU,             /* max of x and +0 */
    RLX_STEP_TWICE,            /* x + x */
    RLX_STEP_SQUARE,           /* x * x */
    RLX_STEP_fabs, RLX_STEP_sqrt,
    RLX_STEP_ADD_WORDS,        /* x + b of int32, which wraps around; their bits are those of x and b */
    RLX_STEP_SUB_WORDS,        /* likewise x - b */
    RLX_STEP_SUB_WORDS_FROM,   /* b - x */
    RLX_STEP_FLOATS,           /* int32 as float32 */
    RLX_STEP_QUANTIZE_I8,      /* x, rounded half to even, + b, within int8, as int32; NaN is 0 */
    RLX_STEP_QUANTIZE_U8,
    RLX_STEP_exp, RLX_STEP_sigmoid, RLX_STEP_tanh, RLX_STEP_erf,
    RLX_STEP_COUNT
};
/* Of a chain: steps, END included, and different strips. */
enum { RLX_CHAIN_STEPS = 84, RLX_CHAIN_STRIPS = 12 };
typedef struct rlx_micro_step {
    uint32_t op;
    int16_t moves;             /* -1: its elements are those of the strip, 0: it stays where it is */
    bool same;                 /* it is one number for all */
    float *with;
} rlx_micro_step;
#define RLX_STEP_STRIP(op, strip) ((rlx_micro_step){ op, -1, false, strip })
#define RLX_STEP_NUMBER(op, number) ((rlx_micro_step){ op, 0, true, (float *)(number) })
#define RLX_STEP_ALONE(op) ((rlx_micro_step){ op, 0, false, NULL })
/* n elements; steps begin with a LOAD and end with END. */
typedef void rlx_micro_chain_fn(const rlx_micro_step *steps, int64_t n);

/* The functions of one instruction set; NULL where it computes nothing with the element type, which is that of acc or
 * dst. Copies keep the bits of elements, or make narrow floats float32. */
typedef struct rlx_micro_set {
    const char *name;          /* "baseline", "avx2", "avx512", "avx512vnni", "avx512amx", "neon", "neondot" */
    rlx_micro_sum_fn *const (*contract)[RLX_ELEM_COUNT];       /* [product not rounded] */
    rlx_micro_groups_fn *groups;   /* contract: float32, products not rounded; NULL: nothing is gained by all at once */
    rlx_micro_sum_fn *dot;                                     /* contract: elements of 8 bits, acc of 32 */
    rlx_micro_groups_fn *dot_groups;   /* the same where groups share b; NULL: nothing is gained by all at once */
    rlx_micro_sum_fn *const (*reduce)[RLX_ELEM_COUNT];         /* [enum rlx_kernel_reduce] */
    rlx_micro_partial_fn *const (*partial)[RLX_ELEM_COUNT];    /* [enum rlx_kernel_value]; not OWN_SQUARE: b is 0 */
    rlx_micro_normalize_fn *normalize;
    rlx_micro_copy_fn *const (*copy)[RLX_ELEM_COUNT];                /* [dst][src] */
    rlx_micro_pack_fn *const (*pack)[RLX_ELEM_COUNT];
    rlx_micro_pack_fn *pack_fours;                                   /* of 8-bit integers */
    /* Elements of 4 bytes as they are; NULL: there is nothing better than those above. */
    rlx_micro_copy_fn *copy_words;
    rlx_micro_pack_fn *pack_words;
    rlx_micro_row_fn *const *map;                                    /* [enum rlx_kernel_map] */
    rlx_micro_greatest_fn *greatest;
    rlx_micro_exp_sum_fn *exp_sum;
    rlx_micro_chain_fn *chain;
} rlx_micro_set;

/* The widest set that this machine has; name: that one. NULL: it is not known here, or the machine lacks it. Any
 * thread, at any time. */
const rlx_micro_set *rlx_micro_find(const char *name);

#endif
