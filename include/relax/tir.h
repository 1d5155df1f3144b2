/* tir.h: making PrimFuncs: loop nests over buffers in destination-passing style.
 *
 *     relax_tir_builder *t = relax_tir_builder_create(ctx, 0);
 *     relax_prim_expr *n = relax_tir_dim(t, "n", 1);
 *     relax_buffer *a = relax_tir_param(t, "A", 1, RELAX_FLOAT32, &n, 1);
 *     relax_buffer *b = relax_tir_param(t, "B", 1, RELAX_FLOAT32, &n, 1);
 *     relax_tir_begin_block(t, "double", 6);
 *     relax_prim_expr *i = relax_tir_axis(t, RELAX_AXIS_SPATIAL, "i", 1, n);
 *     relax_prim_expr *x = relax_tir_load(t, a, &i, 1);
 *     relax_tir_store(t, b, &i, 1, relax_prim_binary(ctx, RELAX_PRIM_ADD, x, x));
 *     relax_tir_end_block(t);
 *     relax_base_func *f = relax_tir_finish(t);           NULL if anything above failed
 *
 * Failure is latched: after it calls do nothing, and finish gives NULL with diagnostics in the context.
 */
#ifndef RELAX_TIR_H
#define RELAX_TIR_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_tir_builder relax_tir_builder; /* owned: destroy it */
typedef struct relax_buffer relax_buffer;           /* borrowed, as all nodes */

enum relax_axis_kind { RELAX_AXIS_SPATIAL = 1, RELAX_AXIS_REDUCE = 2 };
enum relax_loop_kind { RELAX_LOOP_SERIAL = 1, RELAX_LOOP_PARALLEL = 2, RELAX_LOOP_VECTORIZED = 3, RELAX_LOOP_UNROLLED = 4 };

/* An empty function; what it makes gets `place` (0: none). Keeps a reference of ctx. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_tir_builder *relax_tir_builder_create(relax_context *ctx, relax_place place);
/* Drops it; finished functions stay. NULL is fine. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
void relax_tir_builder_destroy(relax_tir_builder *builder);
/* The function. NULL and diagnostics if anything failed or a block or loop is open. The builder can only be destroyed then. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_base_func *relax_tir_finish(relax_tir_builder *builder);

/* A fresh int64 variable for sizes; it is bound by the buffer parameter in whose shape it stands alone. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_dim(relax_tir_builder *builder, const char *name, size_t name_len);
/* Next parameter: a buffer of `ndim` sizes (int64 scalars), row-major. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_param(relax_tir_builder *builder, const char *name, size_t name_len, relax_dtype dtype,
                                                            const relax_prim_expr *const *shape, size_t ndim);
/* Next parameter: a scalar. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_scalar(relax_tir_builder *builder, const char *name, size_t name_len, relax_dtype dtype);
/* A temporary buffer of the innermost open block, of the whole function outside of any. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_buffer *relax_tir_alloc(relax_tir_builder *builder, const char *name, size_t name_len, relax_dtype dtype,
                                                            const relax_prim_expr *const *shape, size_t ndim);

/* Opens a block; its axes follow directly. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_begin_block(relax_tir_builder *builder, const char *name, size_t name_len);
/* An axis from 0 to `extent` with a loop of its own around the block; returns the block's variable. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_axis(relax_tir_builder *builder, int32_t kind, const char *name, size_t name_len,
                                                              const relax_prim_expr *extent);
/* A store done once per spatial point, before the first step of the reduction axes. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_init(relax_tir_builder *builder, const relax_buffer *buffer, const relax_prim_expr *const *indices, size_t num_indices,
                            const relax_prim_expr *value);
/* Closes the block. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_end_block(relax_tir_builder *builder);
/* Opens a loop from `min` (NULL: 0) over `extent` steps; returns its variable. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_for(relax_tir_builder *builder, int32_t kind, const char *name, size_t name_len,
                                                             RELAX_NULLABLE const relax_prim_expr *min, const relax_prim_expr *extent);
/* Closes the loop. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_end_for(relax_tir_builder *builder);
/* Opens the part that runs if `cond` (bool scalar) holds. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_if(relax_tir_builder *builder, const relax_prim_expr *cond);
/* Opens the part that runs otherwise. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_else(relax_tir_builder *builder);
/* Closes the if. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_end_if(relax_tir_builder *builder);
/* Element of a buffer; as many indices as it has dimensions. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_load(relax_tir_builder *builder, const relax_buffer *buffer,
                                                              const relax_prim_expr *const *indices, size_t num_indices);
/* Stores `value`, converted to the buffer's dtype if needed. */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
relax_status relax_tir_store(relax_tir_builder *builder, const relax_buffer *buffer, const relax_prim_expr *const *indices, size_t num_indices,
                             const relax_prim_expr *value);
/* A call of an intrinsic by name ("exp", "sqrt", "pow", "if_then_else" ...). */
RELAX_API RELAX_SINCE(0, 1) RELAX_EXCL(builder)
RELAX_BORROWED RELAX_NULLABLE relax_prim_expr *relax_tir_call(relax_tir_builder *builder, const char *name, size_t name_len,
                                                              const relax_prim_expr *const *args, size_t num_args);

#ifdef __cplusplus
}
#endif
#endif
