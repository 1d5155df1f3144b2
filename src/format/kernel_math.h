/* kernel_math.h: the functions of kernel_math.def. */
#ifndef RLX_FORMAT_KERNEL_MATH_H
#define RLX_FORMAT_KERNEL_MATH_H

#include <math.h>
#include <string.h>
#include "base/compiler.h"

#define MATH(name, ...) __VA_ARGS__
#include "format/kernel_math.def"

#endif
