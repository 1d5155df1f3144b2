/*- tir.h: making PrimFuncs: loop nests over buffers in destination-passing style.
 *
 *     relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
 *     relax_prim_expr *n = relax_tir_dim(t, "n", 1);
 *     relax_buffer *a = relax_tir_param(t, "A", 1, RELAX_FLOAT32, &n, 1);
 *     relax_buffer *b = relax_tir_param(t, "B", 1, RELAX_FLOAT32, &n, 1);
 *     relax_tir_begin_block(t, "double", 6);
 *     relax_prim_expr *i = relax_tir_axis(t, RELAX_AXIS_SPATIAL, "i", 1, n);
 *     relax_prim_expr *x = relax_tir_load(t, a, &i, 1);
 *     relax_tir_store(t, b, &i, 1, relax_prim_binary_new(ctx, RELAX_PRIM_ADD, x, x));
 *     relax_tir_end_block(t);
 *     relax_base_func *f = relax_tir_finish(t);           NULL if anything above failed
 *
 * Failure is latched: after it calls do nothing, and finish gives NULL with diagnostics in the
 * context.
 */
#ifndef RELAX_TIR_H
#define RELAX_TIR_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_tir_builder relax_tir_builder; /* owned: destroy it */
typedef struct relax_buffer relax_buffer;           /* borrowed, as all nodes */

/* Kinds of axes of a block. SPATIAL: each value makes elements of its own; REDUCE: values are
 * combined into one; SCAN: values go in order; OPAQUE: anything. */
enum relax_axis_kind {
    RELAX_AXIS_SPATIAL = 1,
    RELAX_AXIS_REDUCE = 2,
    RELAX_AXIS_SCAN = 3,
    RELAX_AXIS_OPAQUE = 4
};
/* How the rounds of a loop may be run. */
enum relax_loop_kind {
    RELAX_LOOP_SERIAL = 1,
    RELAX_LOOP_PARALLEL = 2,
    RELAX_LOOP_VECTORIZED = 3,
    RELAX_LOOP_UNROLLED = 4
};

/* An empty function; what it makes gets `place` (0: none). Keeps a reference of ctx. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_tir_builder *relax_tir_builder_create(relax_context *ctx,
        relax_place place);
/* Drops it; finished functions stay. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
void relax_tir_builder_destroy(relax_tir_builder *builder);
/* The function. NULL and diagnostics if anything failed, a block or loop is open, or a variable
 * is used outside of its scope (WX08). The builder can only be destroyed then. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_base_func *relax_tir_finish(relax_tir_builder *builder);

/* A fresh int64 variable for sizes; it is bound by the buffer parameter in whose shape it
 * stands alone. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_dim(relax_tir_builder *builder,
        const char *name, size_t name_len);
/* Next parameter: a buffer of `ndim` sizes (int64 scalars), row-major. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_param(relax_tir_builder *builder,
                                                            const char *name, size_t name_len,
                                                            relax_dtype dtype,
                                                            const relax_prim_expr *const *shape,
                                                            size_t ndim);
/* Next parameter: a scalar. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_scalar(relax_tir_builder *builder,
        const char *name, size_t name_len, relax_dtype dtype);
/* Next parameter: a buffer with `ndim` strides in elements (NULL: row-major) whose element 0
 * lies `offset` elements (NULL: 0) into its memory. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_param_strided(relax_tir_builder *builder,
        const char *name, size_t name_len, relax_dtype dtype, const relax_prim_expr *const *shape,
        RELAX_NULLABLE const relax_prim_expr *const *strides, size_t ndim,
        RELAX_NULLABLE const relax_prim_expr *offset);
/* Another look at the memory of `source` (T.decl_buffer), until the innermost open construct
 * ends; shape, strides and offset as for relax_tir_param_strided, in elements of `dtype`. NULL
 * and diagnostics on failure. Blocks in which it is used state their reads and writes of
 * `source` themselves: accesses through a view are not seen by the analysis. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_view(relax_tir_builder *builder,
        const char *name, size_t name_len, relax_dtype dtype, const relax_buffer *source,
        const relax_prim_expr *const *shape, RELAX_NULLABLE const relax_prim_expr *const *strides,
        size_t ndim, RELAX_NULLABLE const relax_prim_expr *offset);
/* A temporary buffer of the innermost open block, of the whole function outside of any. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_alloc(relax_tir_builder *builder,
                                                            const char *name, size_t name_len,
                                                            relax_dtype dtype,
                                                            const relax_prim_expr *const *shape,
                                                            size_t ndim);

/* Opens a block; its axes follow directly. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_begin_block(relax_tir_builder *builder, const char *name, size_t name_len);
/* An axis from 0 to `extent` with a loop of its own around the block; returns the block's
 * variable. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_axis(relax_tir_builder *builder,
        int32_t kind, const char *name, size_t name_len, const relax_prim_expr *extent);
/* An axis of [min, min + extent) (min NULL: 0) without a loop of its own: it is bound to
 * `value`, made of loops that relax_tir_for opened around the block. Returns the block's
 * variable; NULL and diagnostics on failure. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_axis_at(relax_tir_builder *builder,
        int32_t kind, const char *name, size_t name_len, RELAX_NULLABLE const relax_prim_expr *min,
        const relax_prim_expr *extent, const relax_prim_expr *value);
/* The open block runs only where `cond` holds (T.where): a bool scalar of loops around the
 * block, not of its axes. The last call counts. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_where(relax_tir_builder *builder, const relax_prim_expr *cond);
/* States a region that the open block reads (T.reads): from mins[i], extents[i] elements in
 * each of `ndim` dimensions; called again, one more. `buffer` NULL: none is read (ndim 0).
 * Regions that are stated replace those found by analysis, which are all there are without a
 * call. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_reads(relax_tir_builder *builder, RELAX_NULLABLE const relax_buffer *buffer,
                             RELAX_NULLABLE const relax_prim_expr *const *mins,
                             RELAX_NULLABLE const relax_prim_expr *const *extents, size_t ndim);
/* States a region that the open block writes (T.writes): arguments and rules as for
 * relax_tir_reads. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_writes(relax_tir_builder *builder,
                              RELAX_NULLABLE const relax_buffer *buffer,
                              RELAX_NULLABLE const relax_prim_expr *const *mins,
                              RELAX_NULLABLE const relax_prim_expr *const *extents, size_t ndim);
/* A buffer over a region of `source` (T.match_buffer in a block), directly in the open block and
 * until it ends: from mins[i], extents[i] elements in each of `ndim` dimensions. Its own
 * dimensions are the last `match_ndim` of them; the others have extent 1. Element and region are
 * those of `source`, so what is stated or found of the block is about `source`. NULL and
 * diagnostics on failure. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_match(relax_tir_builder *builder,
        const char *name, size_t name_len, const relax_buffer *source,
        const relax_prim_expr *const *mins, const relax_prim_expr *const *extents, size_t ndim,
        size_t match_ndim);
/* An attribute of the innermost open block or loop, of the function outside of any. The last
 * value of a key counts. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_attr(relax_tir_builder *builder, const char *key, size_t key_len,
                            const relax_attr *value);
/* A store done once per spatial point, before the first step of the reduction axes. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_init(relax_tir_builder *builder, const relax_buffer *buffer,
                            const relax_prim_expr *const *indices, size_t num_indices,
                            const relax_prim_expr *value);
/* Closes the block. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_end_block(relax_tir_builder *builder);
/* Opens a loop from `min` (NULL: 0) over `extent` steps; returns its variable. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_for(relax_tir_builder *builder,
        int32_t kind, const char *name, size_t name_len, RELAX_NULLABLE const relax_prim_expr *min,
        const relax_prim_expr *extent);
/* Opens a loop of `extent` steps that are threads of the axis `tag` ("threadIdx.x",
 * "blockIdx.y"); returns its variable. relax_tir_end_for closes it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_for_thread(relax_tir_builder *builder,
        const char *tag, size_t tag_len, const char *name, size_t name_len,
        const relax_prim_expr *extent);
/* Closes the loop. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_end_for(relax_tir_builder *builder);
/* Opens the part that runs if `cond` (bool scalar) holds. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_if(relax_tir_builder *builder, const relax_prim_expr *cond);
/* Opens the part that runs otherwise. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_else(relax_tir_builder *builder);
/* Closes the if. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_end_if(relax_tir_builder *builder);
/* Opens a loop that runs while `cond` (bool scalar, computed again before each round) holds. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_while(relax_tir_builder *builder, const relax_prim_expr *cond);
/* Closes it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_end_while(relax_tir_builder *builder);
/* A variable that holds `value`, computed once here; it is in scope until the innermost open
 * construct ends. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_let(relax_tir_builder *builder,
        const char *name, size_t name_len, const relax_prim_expr *value);
/* Guards the rest of the innermost open construct: it runs only if `cond` (bool scalar) holds,
 * else the call fails with RT15 and the message; one that begins "RT05: ", "RT09: " or "RT14: "
 * names its code instead. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_assert(relax_tir_builder *builder, const relax_prim_expr *cond,
                              const char *message, size_t message_len);
/* Computes `value` for its effect (a call of relax_tir_call_extern). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_evaluate(relax_tir_builder *builder, const relax_prim_expr *value);
/* Element of a buffer; as many indices as it has dimensions. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_load(relax_tir_builder *builder,
        const relax_buffer *buffer, const relax_prim_expr *const *indices, size_t num_indices);
/* Stores `value`, converted to the buffer's dtype if needed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
relax_status relax_tir_store(relax_tir_builder *builder, const relax_buffer *buffer,
                             const relax_prim_expr *const *indices, size_t num_indices,
                             const relax_prim_expr *value);
/* A call of an intrinsic by name ("exp", "sqrt", "pow", "if_then_else" ...). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_call(relax_tir_builder *builder,
        const char *name, size_t name_len, const relax_prim_expr *const *args, size_t num_args);
/* A call of a C function by its symbol (T.call_extern); `dtype` of its result, RELAX_VOID:
 * none. It can be written and printed anywhere; no target compiles it yet (CG07). */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_call_extern(relax_tir_builder *builder,
        relax_dtype dtype, const char *symbol, size_t symbol_len,
        RELAX_NULLABLE const relax_prim_expr *const *args, size_t num_args);

#ifdef __cplusplus
}
#endif
#endif
