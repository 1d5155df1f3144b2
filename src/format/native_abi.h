/* native_abi.h: how native kernels are called (native_abi.def). */
#ifndef RLX_FORMAT_NATIVE_ABI_H
#define RLX_FORMAT_NATIVE_ABI_H

#include "base/compiler.h"

#define RLX_NATIVE_ABI 6u
#define RLX_NATIVE_SYMBOL "relax_kernels"
#define RLX_NATIVE_KEY 16 /* characters of relax_kernel_table.key */

#define NOTE(text)
#define ABI(...) __VA_ARGS__
#include "format/native_abi.def"

/* Could these bytes be a shared object for this machine, all there? */
bool rlx_native_is_object(const void *bytes, size_t size);

#endif
