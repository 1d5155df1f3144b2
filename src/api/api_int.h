/* api_int.h: how the bodies of the public headers check their arguments.
 *
 * Shape of a body: check what was given, call one room, hand back the result through `give`,
 * which also completes the newest diagnostic for hosts that listen.
 */
#ifndef RLX_API_INT_H
#define RLX_API_INT_H

#include <relax/ir.h>
#include "ir/ir.h"
#include "runtime/runtime.h"

/* ---- results */
static inline void *give(rlx_context *ctx, const void *result)
{
    rlx_diags_flush(&ctx->diags);
    return (void *)result;
}
static inline relax_status give_status(rlx_context *ctx, relax_status status)
{
    rlx_diags_flush(&ctx->diags);
    return status;
}
/* The status of the newest error, for calls that have no handle to return. */
relax_status rlx_api_failed(rlx_context *ctx, size_t errors_before);

/* ---- messages: how much of a text of the host is shown, with %.*s */
int rlx_api_width(rlx_slice text);

/* ---- the context, first of all: is there one? Debug builds know it by its tag, so that a
 * released one and memory of another kind are refused like NULL, and remember which call it is.
 * What may run beside other readers only looks. */
#define RLX_API_READS(ctx) rlx_context_is(ctx)
#ifdef RLX_DEBUG
#define RLX_API_CONTEXT(ctx) (rlx_context_is(ctx) && ((ctx)->call = __func__, true))
#else
#define RLX_API_CONTEXT(ctx) rlx_context_is(ctx)
#endif

/* Is it a node of ctx that has not gone? It may point anywhere. */
bool rlx_api_owns(rlx_context *ctx, const void *node);

/* And of that family? Reports nothing. */
bool rlx_api_is(rlx_context *ctx, const void *node, enum rlx_family family);

/* ---- arguments, after RLX_API_CONTEXT or RLX_API_IS. Debug builds also say which call it is.
 * Nodes of another context are refused. A node that is missing while errors stand is only counted:
 * one mistake is one message. False after a report on ctx (which must not be NULL); `what`
 * names the parameter. */
bool rlx_api_required(rlx_context *ctx, const void *p, const char *what);
/* Options as the host laid them out, into *o; what: the name of their struct. */
bool rlx_api_options(rlx_context *ctx, void *o, size_t size, const void *options,
                     const char *what);
/* An array: NULL only for count 0; no NULL inside. */
bool rlx_api_array(rlx_context *ctx, const void *const *items, size_t count, const char *what);
/* UTF-8 without NUL; NULL only for length 0. */
bool rlx_api_text(rlx_context *ctx, const char *text, size_t len, const char *what, rlx_slice *out);
/* not empty either */
bool rlx_api_name(rlx_context *ctx, const char *text, size_t len, const char *what, rlx_slice *out);
/* and a name that text can give to a function of a module */
bool rlx_api_function_name(rlx_context *ctx, const char *text, size_t len, const char *what,
                           rlx_slice *out);
/* NULL text: NULL */
bool rlx_api_name_or_null(rlx_context *ctx, const char *text, size_t len, const char *what,
                          const rlx_string **out);
/* Does the node belong to the family its handle says? */
bool rlx_api_family(rlx_context *ctx, const void *node, enum rlx_family family, const char *what);
bool rlx_api_family_array(rlx_context *ctx, const void *const *nodes, size_t count,
                          enum rlx_family family, const char *what);
bool rlx_api_node(rlx_context *ctx, const void *node, const char *what); /* of any family */
/* The GlobalVar of the Relax function called `function`; NULL text: *gv stays as it is. */
bool rlx_api_function(rlx_context *ctx, const rlx_module *m, const char *function,
                      size_t function_len, const rlx_global_var **gv);
bool rlx_api_map_or_null(rlx_context *ctx, const relax_attr *attr, const char *what);
bool rlx_api_dtype(rlx_context *ctx, relax_dtype dtype, bool allow_void, const char *what);

/* ---- objects of the host that keep the context alive and point to its nodes */
static inline rlx_context *rlx_api_hold(rlx_context *ctx)
{
    ctx->holders++;
    return rlx_context_retain(ctx);
}
static inline void rlx_api_let_go(rlx_context *ctx)
{
    ctx->holders--;
    rlx_context_release(ctx);
}

/* ---- handles that the host destroys. Debug builds tell one of another kind by the tag that
 * each begins with. Whoever frees one sets the tag to API_GONE, and RLX_API_IS remembers the call
 * as RLX_API_CONTEXT does. */
enum api_tag {
    API_GONE = 1, API_MODULE_BUILDER = 0x52584d42, API_BUILDER, API_TIR_BUILDER, API_PIPELINE,
    API_USE_DEF, API_LIVENESS, API_MUTATOR, API_PROVER, API_BLOCK_EDIT, API_RELAY, API_ONNX_IMPORT,
    API_ONNX_QUERY
};
#ifdef RLX_DEBUG
#define RLX_API_TAG uint64_t tag;
#define RLX_API_SET_TAG(handle, kind) ((handle)->tag = (kind))
#define RLX_API_IS(handle, kind) \
    ((handle) && (handle)->tag == (kind) && ((handle)->ctx->call = __func__, true))
#else
#define RLX_API_TAG
#define RLX_API_SET_TAG(handle, kind) ((void)0)
#define RLX_API_IS(handle, kind) ((handle) != NULL)
#endif

/* ---- builders borrowed by a callback of the host (api_builder.c): they cannot be destroyed, and
 * what is open cannot be ended by it. */
typedef struct rlx_api_borrow rlx_api_borrow;
struct rlx_builder;
struct rlx_module_builder;
struct relax_builder;
struct relax_module_builder;
rlx_api_borrow *
rlx_api_borrow_create(relax_context *ctx);      /* NULL: out of memory; holds the context */
void rlx_api_borrow_free(rlx_api_borrow *borrow); /* NULL is fine */
/* For one call: a builder that stands where b does. Bindings without a place get `place`. */
struct relax_builder *rlx_api_borrow_begin(rlx_api_borrow *borrow, struct rlx_module_builder *mb,
                                           struct rlx_builder *b, rlx_place place,
                                           struct relax_module_builder **out);
/* False after a report if the callback left something open, which is ended. */
bool rlx_api_borrow_end(rlx_api_borrow *borrow);

/* ---- bytes: text made with the context's allocator, living on its own */
typedef struct rlx_api_bytes { rlx_shared_memory *memory; rlx_buf buf; } rlx_api_bytes;
bool rlx_api_bytes_begin(rlx_api_bytes *b, const rlx_context *ctx);
relax_bytes *rlx_api_bytes_end(rlx_api_bytes *b); /* NULL when out of memory */

/* ---- casts between handles and nodes */
static inline const rlx_node *node_of(const void *handle) { return handle; }
static inline const rlx_node *const *nodes_of(const void *handles) { return handles; }
#define RLX_API_EXPR(p) ((relax_expr *)(uintptr_t)(const void *)(p))

/* The file of a program that a VM has asked for: an operator that still does not know enough is an
 * error (compile.c). NULL after a report. */
struct relax_compile_options;
rlx_blob *rlx_api_compile_late(relax_context *ctx, const relax_module *module,
                               const struct relax_compile_options *options);

/* An expression of the program of a late call: text.c. */
void rlx_api_print_late(rlx_memory *m, const rlx_node *n, rlx_buf *out);

/* Kernels for passes that fold: api_kernel.c. */
extern const rlx_kernel_runner rlx_api_kernels;

#endif
