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
relax_status api_failed(rlx_context *ctx, size_t errors_before);

/* ---- messages: how much of a text of the host is shown, with %.*s */
int api_width(rlx_slice text);

/* ---- the context, first of all: is there one? Debug builds know it by its tag, so that a
 * released one and memory of another kind are refused like NULL, and remember which call it is.
 * What may run beside other readers only looks. */
#define API_READS(ctx) rlx_context_is(ctx)
#ifdef RLX_DEBUG
#define API_CONTEXT(ctx) (rlx_context_is(ctx) && ((ctx)->call = __func__, true))
#else
#define API_CONTEXT(ctx) rlx_context_is(ctx)
#endif

/* ---- arguments, after API_CONTEXT or API_IS. Debug builds also say which call it is, and
 * refuse nodes of another context. False after a report on ctx (which must not be NULL); `what`
 * names the parameter. */
bool api_required(rlx_context *ctx, const void *p, const char *what);
/* An array: NULL only for count 0; no NULL inside. */
bool api_array(rlx_context *ctx, const void *const *items, size_t count, const char *what);
/* UTF-8 without NUL; NULL only for length 0. */
bool api_text(rlx_context *ctx, const char *text, size_t len, const char *what, rlx_slice *out);
/* not empty either */
bool api_name(rlx_context *ctx, const char *text, size_t len, const char *what, rlx_slice *out);
/* and a name that text can give to a function of a module */
bool api_function_name(rlx_context *ctx, const char *text, size_t len, const char *what,
                       rlx_slice *out);
/* NULL text: NULL */
bool api_name_or_null(rlx_context *ctx, const char *text, size_t len, const char *what,
                      const rlx_string **out);
/* Does the node belong to the family its handle says? */
bool api_family(rlx_context *ctx, const void *node, enum rlx_family family, const char *what);
bool api_family_array(rlx_context *ctx, const void *const *nodes, size_t count,
                      enum rlx_family family, const char *what);
bool api_node(rlx_context *ctx, const void *node, const char *what); /* of any family */
/* The GlobalVar of the Relax function called `function`; NULL text: *gv stays as it is. */
bool api_function(rlx_context *ctx, const rlx_module *m, const char *function,
                  size_t function_len, const rlx_global_var **gv);
bool api_map_or_null(rlx_context *ctx, const relax_attr *attr, const char *what);
bool api_dtype(rlx_context *ctx, relax_dtype dtype, bool allow_void, const char *what);

/* ---- objects of the host that keep the context alive and point to its nodes */
static inline rlx_context *api_hold(rlx_context *ctx)
{
    ctx->holders++;
    return rlx_context_retain(ctx);
}
static inline void api_let_go(rlx_context *ctx)
{
    ctx->holders--;
    rlx_context_release(ctx);
}

/* ---- handles that the host destroys. Debug builds tell one of another kind by the tag that
 * each begins with. Whoever frees one sets the tag to API_GONE, and API_IS remembers the call
 * as API_CONTEXT does. */
enum api_tag {
    API_GONE = 1, API_MODULE_BUILDER = 0x52584d42, API_BUILDER, API_TIR_BUILDER, API_PIPELINE,
    API_USE_DEF, API_LIVENESS, API_MUTATOR, API_PROVER, API_BLOCK_EDIT
};
#ifdef RLX_DEBUG
#define API_TAG uint64_t tag;
#define API_SET_TAG(handle, kind) ((handle)->tag = (kind))
#define API_IS(handle, kind) \
    ((handle) && (handle)->tag == (kind) && ((handle)->ctx->call = __func__, true))
#else
#define API_TAG
#define API_SET_TAG(handle, kind) ((void)0)
#define API_IS(handle, kind) ((handle) != NULL)
#endif

/* ---- builders lent to a callback of the host (api_builder.c): they cannot be destroyed, and
 * what is open cannot be ended by it. */
typedef struct api_loan api_loan;
struct rlx_builder;
struct rlx_module_builder;
struct relax_builder;
struct relax_module_builder;
api_loan *api_loan_create(relax_context *ctx); /* NULL: out of memory; holds the context */
void api_loan_free(api_loan *loan);            /* NULL is fine */
/* For one call: a builder that stands where b does. Bindings without a place get `place`. */
struct relax_builder *api_loan_begin(api_loan *loan, struct rlx_module_builder *mb,
                                     struct rlx_builder *b, rlx_place place,
                                     struct relax_module_builder **out);
/* False after a report if the callback left something open, which is ended. */
bool api_loan_end(api_loan *loan);

/* ---- bytes: text made with the context's allocator, living on its own */
typedef struct api_bytes { rlx_shared_memory *memory; rlx_buf buf; } api_bytes;
bool api_bytes_begin(api_bytes *b, const rlx_context *ctx);
relax_bytes *api_bytes_end(api_bytes *b); /* NULL when out of memory */

/* ---- casts between handles and nodes */
static inline const rlx_node *node_of(const void *handle) { return handle; }
static inline const rlx_node *const *nodes_of(const void *handles) { return handles; }
#define API_EXPR(p) ((relax_expr *)(uintptr_t)(const void *)(p))

#endif
