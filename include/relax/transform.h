/* transform.h: passes by name, passes of the host, pipelines.
 *
 * Passes compute in the default floating-point environment, whatever that of the caller, which
 * comes back as it was; passes of the host run in the caller's. A pass returns a new module
 * that shares what it did not change, or the very module it was given if nothing changed.
 */
#ifndef RELAX_TRANSFORM_H
#define RELAX_TRANSFORM_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A pass of the host: gets the module and returns it, another one, or NULL for failure.
 * `options`: those of the call or of the pipeline, a map or NULL. */
typedef const relax_module *(*relax_pass_fn)(void *user, relax_context *ctx,
                                             const relax_module *module,
                                             const relax_attr *options);
/* Makes `run` known to `ctx` as pass `name`: relax_pass_run and relax_pipeline_add find it, also
 * from inside of passes. A name of a pass that is there already, the library's among them, is
 * refused (OP16). `destroy` (may be NULL) runs once with `user`: when the context is gone, or if
 * this call fails. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_pass_register(relax_context *ctx, const char *name, size_t name_len,
                                 relax_pass_fn run, RELAX_NULLABLE void *user,
                                 RELAX_NULLABLE void (*destroy)(void *user));

/* Runs one pass. `options` (map or NULL) as relax_pass_option lists them. NULL and
 * diagnostics on failure; OP10 for an unknown pass, OP11 for options, OP21 for a module that is
 * not as relax_pass_needs says. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx) RELAX_BORROWED RELAX_NULLABLE
    relax_module *relax_pass_run(relax_context *ctx, const relax_module *module, const char *pass,
                                 size_t pass_len, RELAX_NULLABLE const relax_attr *options);

typedef struct relax_pipeline relax_pipeline; /* owned: destroy it */

/* An empty list of passes. Keeps a reference of ctx. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_pipeline *relax_pipeline_create(relax_context *ctx);
/* Drops it; one of its passes that does so drops it when the run ends. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
void relax_pipeline_destroy(relax_pipeline *pipeline);
/* Appends a pass by name. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
relax_status relax_pipeline_add(relax_pipeline *pipeline, const char *pass, size_t pass_len,
                                RELAX_NULLABLE const relax_attr *options);
/* Appends a pass of the host that need not be registered; `name` is used in messages only, and
 * `run` is given `options` (map or NULL). `destroy` (may be NULL) runs once with `user`, also if
 * this call fails. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
relax_status relax_pipeline_add_host(relax_pipeline *pipeline, const char *name, size_t name_len,
                                     RELAX_NULLABLE const relax_attr *options, relax_pass_fn run,
                                     RELAX_NULLABLE void *user,
                                     RELAX_NULLABLE void (*destroy)(void *user));
/* Appends what a build at `opt_level` runs before code generation: 0 lowers only, 1 cleans up,
 * 2 fuses, too. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
relax_status relax_pipeline_add_build(relax_pipeline *pipeline, int32_t opt_level);
/* `after` is called when a pass is done; the module given to it is valid during the call only.
 * NULL: none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
relax_status relax_pipeline_on_pass(relax_pipeline *pipeline,
        RELAX_NULLABLE void (*after)(void *user, const char *pass, const relax_module *module,
            double seconds, int32_t changed), void *user);
/* 1: each result is checked for well-formedness (default 0). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
relax_status relax_pipeline_set_verify(relax_pipeline *pipeline, int32_t verify);
/* Runs it. NULL and diagnostics if a pass fails. While it runs it is neither changed nor run
 * again (OP09). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(pipeline)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_pipeline_run(relax_pipeline *pipeline,
        const relax_module *module);

/* Passes of the library by number from 0: name, static; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_pass_name(size_t pass);
/* One line about a pass, static; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_pass_help(size_t pass);
/* Requirements of a pass on the module, static; NULL: none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_pass_needs(size_t pass);
/* Options by number from 0: name, static; NULL past the end. Default and help may be NULL
 * pointers. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_pass_option(size_t pass, size_t option,
                                                            RELAX_NULLABLE const char **deflt,
                                                            RELAX_NULLABLE const char **help);

#ifdef __cplusplus
}
#endif
#endif
