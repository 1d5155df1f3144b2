/* compiler.h: the only place for compiler extensions. */
#ifndef RLX_BASE_COMPILER_H
#define RLX_BASE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RLX_LIKELY(x) __builtin_expect(!!(x), 1)
#define RLX_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define RLX_PRINTF(format_index, first_arg) \
    __attribute__((format(printf, format_index, first_arg)))
#define RLX_NODISCARD __attribute__((warn_unused_result))
#define RLX_NOINLINE __attribute__((noinline))
/* A function whose loop is all that counts begins with a line of the cache: else what a linker puts in front of it decides how fast it is. */
#define RLX_ON_LINE __attribute__((aligned(64)))
/* Code that a compiler makes small: it is rare, or runs once for much work. */
#define RLX_SMALL __attribute__((cold))
/* Small enough that the compiler may decide; RLX_ALWAYS_INLINE is for vector strips. */
#define RLX_INLINE static inline
/* Jumping to a label taken from a table. A compiler without it gets the plain switch of the VM
 * only. */
#if defined(__GNUC__)
#define RLX_HAS_LABELS 1
#define RLX_LABEL_ADDRESS(label) (&&label)
#define RLX_GOTO_LABEL(address) goto *(address)
#else
#define RLX_HAS_LABELS 0
#endif
/* Brings the line of the cache with this byte nearer. Any pointer will do. */
#define RLX_PREFETCH(address) __builtin_prefetch((const void *)(address))
/* Number of the lowest bit that is set; bits is not 0. */
#define RLX_LOWEST_BIT(bits) ((unsigned)__builtin_ctzll(bits))
/* Integers of any types: *out is the exact result cut to its type; true: it did not fit. */
#define RLX_ADD_OVERFLOWS(a, b, out) __builtin_add_overflow(a, b, out)
#define RLX_SUB_OVERFLOWS(a, b, out) __builtin_sub_overflow(a, b, out)
#define RLX_MUL_OVERFLOWS(a, b, out) __builtin_mul_overflow(a, b, out)
#define RLX_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The iterations of the next loop do not depend on each other: exact overlap of operands is
 * fine, a partial one is the caller's fault. RLX_ROLLED before it: it stays a loop, whether
 * vectorised or not. */
#if defined(__clang__)
#define RLX_INDEPENDENT /* clang checks for overlap while running; its pragma warns wherever it \
                           does not vectorise */
#define RLX_ROLLED
#else
#define RLX_INDEPENDENT _Pragma("GCC ivdep")
#define RLX_ROLLED _Pragma("GCC unroll 1")
#endif
/* The next loop has a small constant count and is to become that many copies of its body. */
#if defined(__clang__)
#define RLX_UNROLL _Pragma("clang loop unroll(full)")
#else
#define RLX_UNROLL _Pragma("GCC unroll 16")
#endif
/* Nothing is known of the integer from here on: no second version of a loop for the case that it is 1. */
#define RLX_UNKNOWN_VALUE(x) __asm__("" : "+r"(x))
/* A vector stays in its register: it is not read from memory once more, and what comes later is not joined with it first. */
#if defined(__SSE2__)
#define RLX_IN_REGISTER(v) __asm__("" : "+x"(v))
#elif defined(__aarch64__)
#define RLX_IN_REGISTER(v) __asm__("" : "+w"(v))
#else
#define RLX_IN_REGISTER(v) ((void)0)
#endif
/* A vector of `bytes` bytes that may lie anywhere and alias anything; lowered to what the
 * target has. */
#define RLX_VECTOR(type, bytes) \
    type __attribute__((vector_size(bytes), aligned(sizeof(type)), may_alias))
/* One that lies where a vector of its size should, in a variable for example. */
#define RLX_WHOLE_VECTOR(type, bytes) type __attribute__((vector_size(bytes), may_alias))
/* Elements of two vectors by number, those of the second after those of the first. */
#define RLX_SHUFFLE(v, w, ...) __builtin_shufflevector(v, w, __VA_ARGS__)
/* Elements of a vector as those of another type, as a cast does it. */
#define RLX_CONVERT(v, vector) __builtin_convertvector(v, vector)
#define RLX_ALWAYS_INLINE static inline __attribute__((always_inline))
/* Code for wider vectors than the baseline has, chosen while running; compilers never make a
 * fused multiply-add of other operations (-ffp-contract=off). RLX_CLONES: the compiler makes both
 * and chooses; RLX_CLONES_512: a third one; RLX_CLONES_FMA: for code that calls fma, whose result
 * is the same with and without the instruction. RLX_WIDE: this function is for RLX_HAS_WIDE
 * machines only. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__) && !defined(RLX_NO_CLONES)
#define RLX_CLONES __attribute__((target_clones("avx2", "default")))
#define RLX_CLONES_512 __attribute__((target_clones("avx512f", "avx2", "default")))
#define RLX_CLONES_FMA __attribute__((target_clones("fma", "default")))
#define RLX_WIDE __attribute__((target("avx2")))
#define RLX_HAS_WIDE() (__builtin_cpu_supports("avx2") != 0)
#else
#define RLX_CLONES
#define RLX_CLONES_512
#define RLX_CLONES_FMA
#define RLX_WIDE
#define RLX_HAS_WIDE() 0
#endif

/* Code for instructions that not every machine has (those of <immintrin.h>), and whether this one does. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(RLX_NO_CLONES)
#define RLX_HAS_TARGETS 1
#define RLX_TARGET(features) __attribute__((target(features)))
#define RLX_CPU_HAS(feature) (__builtin_cpu_supports(feature) != 0)
/* Tiles of AMX, whose use Linux has to permit; older compilers cannot ask the CPU for them. */
#if defined(__linux__) && (defined(__clang__) ? __clang_major__ >= 18 : __GNUC__ >= 11)
#define RLX_HAS_TILES 1
#endif
#endif
/* What was written is in memory, for instructions that a compiler does not know to read it. */
#define RLX_MEMORY_IS_WRITTEN() __asm__ volatile("" ::: "memory")
/* CRC-32C of eight bytes or of one more, where the CPU has it (rlx_cpu_has_crc32c). */
#if defined(RLX_HAS_TARGETS)
#define RLX_CRC32C_TARGET RLX_TARGET("sse4.2")
#define RLX_CRC32C_8(crc, word) ((uint32_t)__builtin_ia32_crc32di(crc, word))
#define RLX_CRC32C_1(crc, byte) __builtin_ia32_crc32qi(crc, byte)
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__)
#define RLX_CRC32C_TARGET __attribute__((target("+crc")))
#define RLX_CRC32C_8(crc, word) __builtin_aarch64_crc32cx(crc, word)
#define RLX_CRC32C_1(crc, byte) __builtin_aarch64_crc32cb(crc, byte)
#endif
/* c + the sum of the four products in each word, of bytes of b and those of the first word of a: both with a sign, or without one. For
 * functions that begin with RLX_DOT_TARGET, where the CPU has it. */
#if defined(__ARM_FEATURE_DOTPROD)
#define RLX_DOT_TARGET
#elif defined(__aarch64__) && defined(__clang__)
#define RLX_DOT_TARGET __attribute__((target("dotprod")))
#elif defined(__aarch64__) && defined(__GNUC__) && !defined(__ARM_FEATURE_ATOMICS) && !defined(__ARM_FEATURE_CRYPTO)
/* Assemblers want the architecture that it came with, and compilers refuse what is built for more to be inline there. */
#define RLX_DOT_TARGET __attribute__((target("arch=armv8.2-a+dotprod")))
#endif
#if defined(RLX_DOT_TARGET)
#define RLX_HAS_DOTS 1
#define RLX_DOT_I8(a, b, c) __asm__("sdot %0.4s, %1.16b, %2.4b[0]" : "+w"(c) : "w"(b), "w"(a))
#define RLX_DOT_U8(a, b, c) __asm__("udot %0.4s, %1.16b, %2.4b[0]" : "+w"(c) : "w"(b), "w"(a))
#endif
/* a * b + c rounded once: one instruction where the function's target has it. */
#define RLX_FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#define RLX_FMA_F64(a, b, c) __builtin_fma(a, b, c)

/* Between two looks at what another thread will change. */
#if defined(__x86_64__) || defined(__i386__)
#define RLX_CPU_RELAX() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define RLX_CPU_RELAX() __asm__ volatile("yield")
#else
#define RLX_CPU_RELAX() ((void)0)
#endif

/* The name of this machine, and the machine number in its shared objects. */
#if defined(__x86_64__)
#define RLX_ARCH "x86_64"
#define RLX_ELF_MACHINE 62
#elif defined(__aarch64__)
#define RLX_ARCH "aarch64"
#define RLX_ELF_MACHINE 183
#else
#define RLX_ARCH "unknown"
#define RLX_ELF_MACHINE 0
#endif

/* close_range */
#if defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 34)
#define RLX_HAS_CLOSEFROM 1
#endif
#endif

/* The floating-point environment. Numbers do not depend on that of the host: what computes
 * stands between enter, which goes over to rounding to nearest, no traps, no flushing of small
 * numbers, and leave, which puts everything back as found, exception flags included. */
#if defined(__SSE2__)
#include <xmmintrin.h>
typedef unsigned rlx_float_env;
#define RLX_CSR_DEFAULT 0x1f80u
#define RLX_CSR_FLAGS 0x3fu
RLX_INLINE rlx_float_env rlx_float_enter(void)
{
    unsigned found = _mm_getcsr();
    if ((found & ~RLX_CSR_FLAGS) != RLX_CSR_DEFAULT)
        _mm_setcsr(RLX_CSR_DEFAULT);
    return found;
}
RLX_INLINE void rlx_float_leave(rlx_float_env found)
{
    _mm_setcsr(found); /* reading it, to see whether that is needed, takes longer */
}
#else
#include <fenv.h>
typedef fenv_t rlx_float_env;
RLX_INLINE rlx_float_env rlx_float_enter(void)
{
    fenv_t found;
    fegetenv(&found);
    fesetenv(FE_DFL_ENV);
    return found;
}
RLX_INLINE void rlx_float_leave(rlx_float_env found) { fesetenv(&found); }
#endif

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
