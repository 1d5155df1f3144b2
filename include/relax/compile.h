/* compile.h: from a module to an executable. */
#ifndef RELAX_COMPILE_H
#define RELAX_COMPILE_H

#include <relax/ir.h>
#include <relax/vm.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Weights: named parameters become constants. For every function that has a parameter called names[i] (or only for `function`, if not
 * NULL), it is replaced by tensors[i]; symbolic dimensions fixed by it are substituted. Arrays of `count`; tensors are copied. NULL and diagnostics
 * for a wrong dtype, rank or size (CG12) and for a name that no function has (OP15).
 */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_bind_params(relax_context *ctx, const relax_module *module, RELAX_NULLABLE const char *function,
                                                              size_t function_len, const char *const *names, const relax_tensor *const *tensors,
                                                              size_t count);

typedef struct relax_compile_options {
    size_t struct_size;
    const char *target;        /* NUL-terminated; NULL: "interp" */
    int32_t opt_level;         /* 0: lowers only, 1 (default): cleans up, 2: fuses and schedules */
    int32_t strip;             /* 1: no names of parameters and no places in the file; default 0 */
    /* Called after each pass with a module that is valid during the call only; NULL: none. */
    void (*after_pass)(void *user, const char *pass, const relax_module *module, double seconds, int32_t changed);
    void *user;
    const relax_load_options *load; /* how the executable is made, its allocator above all; NULL: defaults */
} relax_compile_options;

/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 1) RELAX_ANY
relax_status relax_compile_options_init(relax_compile_options *options, size_t struct_size);
/* Compiles the module: checks it, runs the build pipeline, generates code. An executable with one reference that does not need the context
 * any more, or NULL and diagnostics (WF, TY, CG ...).
 */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_executable *relax_compile(relax_context *ctx, const relax_module *module, RELAX_NULLABLE const relax_compile_options *options);
/* Targets of this build by number from 0 ("interp"), static; NULL past the end. */
RELAX_API RELAX_SINCE(0, 1) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_target_name(int32_t target);

#ifdef __cplusplus
}
#endif
#endif
