/* micro_int.h: inside src/micro only. */
#ifndef RLX_MICRO_MICRO_INT_H
#define RLX_MICRO_MICRO_INT_H

#include "micro/micro.h"

/* Plain C, for every machine: generic.c. [dst][src] */
extern rlx_micro_copy_fn *const rlx_micro_copies[RLX_ELEM_COUNT][RLX_ELEM_COUNT];
extern rlx_micro_pack_fn *const rlx_micro_packs[RLX_ELEM_COUNT][RLX_ELEM_COUNT];
/* sum.c: [product not rounded], [enum rlx_kernel_reduce]; element type of the result. */
extern rlx_micro_sum_fn *const rlx_micro_contractions[2][RLX_ELEM_COUNT];
extern rlx_micro_sum_fn *const rlx_micro_reductions[RLX_KERNEL_REDUCE_COUNT][RLX_ELEM_COUNT];

#endif
