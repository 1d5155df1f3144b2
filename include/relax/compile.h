/* compile.h: from a module to an executable. */
#ifndef RELAX_COMPILE_H
#define RELAX_COMPILE_H

#include <relax/dlpack.h>
#include <relax/ir.h>
#include <relax/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weights: named parameters become constants. For every function that has a parameter called
 * names[i] (or only for `function`, if not NULL), it is replaced by tensors[i]; symbolic
 * dimensions fixed by it are substituted. Arrays of `count`; tensors are copied. NULL and
 * diagnostics for a wrong dtype, rank or size (CG12) and for a name that no function has
 * (OP15).
 */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_bind_params(
        relax_context *ctx, const relax_module *module, RELAX_NULLABLE const char *function,
        size_t function_len, const char *const *names, const relax_tensor *const *tensors,
        size_t count);

/* The same with arrays in memory of the host, as that of a mapped file: contiguous, in row-major
 * order, on the CPU, at any address. It is not copied, and nobody may change it until `destroy`
 * (may be NULL) runs with `user`: exactly once, when nothing of the context uses the arrays any
 * more, at the latest when the context is gone; also on failure. The DLTensors themselves may go
 * when the call returns.
 */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_bind_memory(
        relax_context *ctx, const relax_module *module, RELAX_NULLABLE const char *function,
        size_t function_len, const char *const *names, const DLTensor *const *arrays,
        size_t count, void *user, void (*destroy)(void *user));

typedef struct relax_compile_options {
    size_t struct_size;
    const char *target;        /* NUL-terminated; NULL: "interp". "c" needs allow_compiler */
    int32_t opt_level;         /* 0: lowers only, 1: cleans up, 2 (default): fuses, too */
    int32_t strip;             /* 1: no names of parameters and no places in the file; default 0 */
    /* Called after each pass with a module that is valid during the call only; NULL: none. */
    void (*after_pass)(void *user, const char *pass, const relax_module *module, double seconds,
                       int32_t changed);
    void *user;
    /* how the executable is made, its allocator above all; NULL: defaults */
    const relax_load_options *load;
    /* Target "c": kernels are compiled by a C compiler, as child processes without a shell, and
     * are in the file beside their bytecode. Where that fails there is a warning (CG13), and
     * kernels are interpreted. Never in a process with raised privileges. Do not allow it for
     * modules that you do not trust: what a compiler does with odd programs is not known. */
    /* 1: a compiler may be started; default 0, then target "c" is refused (CG14) */
    int32_t allow_compiler;
    int32_t unchecked;         /* 1: native kernels do not check indices; default 0 */
    /* command: words parted by blanks, quotes as in a shell (OP05 where one is not closed);
     * NULL: "cc". Looked for in the absolute directories of PATH alone. */
    const char *compiler;
    /* its environment, "NAME=value" each, NULL at the end; NULL: a PATH of the system's
     * directories */
    const char *const *environment;
    /* "native": code for the CPU of this machine alone; NULL or "": for all of its kind */
    const char *cpu;
    /* keeps compiled kernels for the next time; NULL: none. Made if it is not there; must be
     * ours, mode 0700 */
    const char *cache_dir;
    /* most that it holds, what was not used for longest goes first; 0: 256 MiB */
    uint64_t cache_bytes;
    /* where a private directory is made for the compiler; NULL: "/tmp" */
    const char *temp_dir;
    double compiler_seconds;   /* most that each process may take; default 120, also for 0 */
    /* asked before compilers are started and while they run, with `user`; not 0 ends them and
     * the call (CG13), and nothing of them is left. NULL: never. A host that ends by a signal asks
     * here whether it came: the library handles none. What a killed process leaves in temp_dir
     * goes when the next compiler is started there. */
    int32_t (*cancelled)(void *user);
    /* most that each compiler process may address; default 2 GiB, also for 0; UINT64_MAX: any */
    uint64_t compiler_memory;
    /* How products that are summed up are rounded (sums of matrix products, convolutions, of
     * reductions in TIR functions). "fused": product and sum together, once (T.fma); "separate":
     * each, which is fast on machines without such an instruction. Other bits, both the same
     * everywhere. NULL: as the module's attribute relax.arithmetic says, else fused. */
    const char *arithmetic;
    /* Operators on operands that only the run knows are compiled when it meets them. For programs that run where there
     * is no compiler: what parameters of public functions will be, as "x=2,3" (ranks) and "x=float32,float16" (dtypes),
     * each an array with NULL at its end; NULL: nothing. What follows from any of their combinations (at most 256) is
     * compiled ahead, into the file; CG18 (warning) for what cannot be. */
    const char *const *ranks;
    const char *const *dtypes;
} relax_compile_options;

/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_compile_options_init(relax_compile_options *options, size_t struct_size);
/* Compiles the module: checks it, runs the build pipeline, generates code. An executable with
 * one reference that does not need the context any more, or NULL and diagnostics (WF, TY, CG
 * ...). A module that was read with mistakes is derived anew, and refused with what is still
 * wrong.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_OWN RELAX_NULLABLE
    relax_executable *relax_module_compile(relax_context *ctx, const relax_module *module,
                                           RELAX_NULLABLE const relax_compile_options *options);
/* Writes a piece of a file; returns 1, or 0 if it cannot. */
typedef int32_t (*relax_write_fn)(void *user, uint64_t offset, const void *data, size_t size);
/* Compiles to a file, the same as that of relax_executable_save, and no executable: memory holds
 * one at a time of the constants that are rearranged. Pieces come in order, without gaps, then the
 * first one again at offset 0; after a 0 of `write` there are no more. Who is to run the file
 * loads it, which verifies it. options.load is not used. The status of what diagnostics say,
 * RELAX_ERROR_IO (IO02) if `write` could not. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_module_compile_to_file(relax_context *ctx, const relax_module *module,
                                          RELAX_NULLABLE const relax_compile_options *options,
                                          relax_write_fn write, void *user);
/* The kernels of the module as one C99 file that includes "relax_kernels.h", to be read or to be
 * compiled for another machine; options as for relax_module_compile, no compiler is started. NULL
 * and diagnostics on failure. / */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_OWN RELAX_NULLABLE
    relax_bytes *relax_module_compile_to_c(relax_context *ctx, const relax_module *module,
                                           RELAX_NULLABLE const relax_compile_options *options);
/* relax_kernels.h: how such kernels are called. NULL: out of memory. */
RELAX_API RELAX_SINCE(0, 2)
    RELAX_EXCL(ctx) RELAX_OWN RELAX_NULLABLE relax_bytes *relax_module_c_header(relax_context *ctx);
/* What relax_late_compile takes as `user`. */
typedef struct relax_late_options {
    size_t struct_size;
    const relax_allocator *allocator; /* of its contexts; NULL: that of the executable */
    /* How it is compiled; NULL: defaults, which start no compiler, whatever the target of the program is. With target
     * "c" and allow_compiler an operator is kernel bytecode where it is first met on small operands, and machine code
     * when it is asked for again. after_pass, cancelled, load and user are not used. */
    const relax_compile_options *compile;
    /* Called with each new context before the program is read: to register operators and kinds of the host in it.
     * RELAX_OK, or a status that ends the call. NULL: nothing. */
    relax_status (*prepare)(void *user, relax_context *ctx);
    void *user;
} relax_late_options;

/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_late_options_init(relax_late_options *options, size_t struct_size);
/* Compiles what a VM asks for (relax_late_fn): what VMs use that are given nothing else. `user`: NULL or a
 * relax_late_options. Any number of threads may be in it. Not part of builds without the text form. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_late_compile(RELAX_NULLABLE void *user, const relax_late_request *request);
/* Targets of this build by number from 0 ("interp"), static; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_target_name(size_t target);

#ifdef __cplusplus
}
#endif
#endif
