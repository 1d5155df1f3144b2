/* compiler.h: the only place for compiler extensions. */
#ifndef RLX_BASE_COMPILER_H
#define RLX_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLX_LIKELY(x) __builtin_expect(!!(x), 1)
#define RLX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RLX_PRINTF(format_index, first_arg) __attribute__((format(printf, format_index, first_arg)))
#define RLX_NODISCARD __attribute__((warn_unused_result))
#define RLX_NOINLINE __attribute__((noinline))
#define RLX_INLINE static inline __attribute__((always_inline))
#define RLX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Exact products and quotients of 64-bit numbers. */
__extension__ typedef unsigned __int128 rlx_u128;
__extension__ typedef __int128 rlx_i128;

/* Debug builds check our own invariants; release builds never abort. */
#ifdef RLX_DEBUG
#include <assert.h>
#define RLX_ASSERT(condition) assert(condition)
#else
#define RLX_ASSERT(condition) ((void)0)
#endif

#endif
