/*- sinfo_text.h: struct info from short text, for table tests:
 *
 *     Object   Prim(int64)   Prim(int64, n)   Shape   Shape(2)   Shape[n, 4]
 *     Tensor   Tensor(float32)   Tensor(2, float32)   Tensor[n, 4](float32)   Tensor[n](void)
 *     ... and @cuda:1 behind it
 *     Tuple(A, B)   Func(A, B -> C)   impure Func(A -> C)
 *     Callable   Callable(C)   pure Callable(C)   Packed
 *
 * Tensor(2, void): rank 2. Variables of Func parameters that are not in the table's scope are
 * its placeholders.
 */
#ifndef SINFO_TEXT_H
#define SINFO_TEXT_H

#include "prim_text.h"
#include "sinfo/sinfo.h"

const rlx_sinfo *sinfo_parse(prim_names *t, const char *text);

#endif
