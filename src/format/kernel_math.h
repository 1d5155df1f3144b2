/* kernel_math.h: the functions of kernel_math.def and elementary.def. */
#ifndef RLX_FORMAT_KERNEL_MATH_H
#define RLX_FORMAT_KERNEL_MATH_H

#include <math.h>
#include <string.h>
#include "base/compiler.h"

#define MATH(name, ...) __VA_ARGS__
#include "base/float_bits.def"
#include "format/kernel_math.def"
#define MATH(name, ...) __VA_ARGS__
#include "format/elementary.def"

#endif
