/* native.h: shared objects of native kernels. */
#ifndef RLX_RUNTIME_NATIVE_H
#define RLX_RUNTIME_NATIVE_H

#include "base/base.h"
#include "format/fault.h"
#include "format/native_abi.h"
#include "format/rlx_file.h"

typedef struct rlx_native { void *handle; const relax_kernel_table *table; } rlx_native;

/* Loads the object from memory: its bytes go into an anonymous file that nobody can change any
 * more, the digest is taken of that file, and that file is loaded. False: *why says what is
 * wrong (LD18), out->handle is NULL; *changed: the bytes are not those that the digest was
 * taken of. */
RLX_NODISCARD bool rlx_native_open(const void *bytes, size_t size,
                                   const rlx_file_native_object *expected, rlx_native *out,
                                   bool *changed, rlx_fault *why);
void rlx_native_close(rlx_native *n);

#endif
