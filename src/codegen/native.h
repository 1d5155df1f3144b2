/* native.h: generated C becomes shared objects. */
#ifndef RLX_CODEGEN_NATIVE_H
#define RLX_CODEGEN_NATIVE_H

#include "format/native_abi.h"
#include "ir/ir.h"

typedef struct rlx_native_options {
    const char *compiler;             /* words as in a shell; NULL: cc */
    /* of the compiler, NULL at the end; NULL: PATH of the system's directories alone */
    const char *const *environment;
    const char *cpu;                  /* "native": this one; NULL, "": any of its kind */
    const char *cache_dir;            /* NULL: none */
    uint64_t cache_bytes;             /* most that it may hold */
    const char *temp_dir;             /* NULL: /tmp */
    double seconds;                   /* each process may take */
    uint64_t memory;                  /* bytes that each process may address; UINT64_MAX: any */
    bool unchecked;                   /* indices are not checked */
    /* asked before processes are started and while they run; not 0: stop. NULL: never asked */
    int32_t (*cancelled)(void *user);
    void *user;
} rlx_native_options;

/* A translation unit; sources are given, objects come back. */
typedef struct rlx_native_unit {
    rlx_buf source, object;
    char key[RLX_NATIVE_KEY + 1];
} rlx_native_unit;

/* All units or none, with CG13 as a warning that says why. *started: compiler processes. False
 * without a diagnostic: out of memory (reported), or *cancelled. */
bool rlx_native_compile(rlx_context *ctx, const rlx_native_options *o, rlx_native_unit *units,
                        size_t count, uint32_t *started, bool *cancelled);
/* May this process start a compiler at all? Not with raised privileges. */
bool rlx_native_may_compile(void);

/* ---- target c (native_section.c) */
struct rlx_codegen_options;
struct rlx_file_writer;
struct rlx_kernel_hints;
/* Compiles the kernels of w and adds them as a section; see rlx_target. */
bool rlx_native_add(rlx_context *ctx, struct rlx_file_writer *w,
                    const struct rlx_kernel_hints *hints, const struct rlx_codegen_options *o);
/* Appends the kernels of w as one unit of C. False: out of memory (reported). */
bool rlx_c_write_all(rlx_context *ctx, const struct rlx_file_writer *w,
                     const struct rlx_kernel_hints *hints, bool unchecked, rlx_buf *out);

#endif
