/* api_tir.c: building PrimFuncs. */
#include <relax/tir.h>
#include "api/api_int.h"

#include "arith/arith.h"
#include "tir/tir.h"

struct relax_tir_builder {
    RLX_API_TAG
    relax_context *ctx;
    rlx_tir t;
    rlx_error_mark errors; /* when it was made */
    bool ended;
    const rlx_node *func;
};

#define PRIM(p) ((const rlx_prim *)(const void *)(p))

relax_tir_builder *relax_tir_builder_create(relax_context *ctx, relax_place place)
{
    relax_tir_builder *b =
        RLX_API_CONTEXT(ctx) ? rlx_mem_alloc_zero(&ctx->memory, sizeof *b) : NULL;
    if (!b)
        return NULL;
    RLX_API_SET_TAG(b, API_TIR_BUILDER);
    b->ctx = rlx_api_hold(ctx);
    b->errors = rlx_errors_mark(ctx);
    rlx_tir_begin(&b->t, ctx, place);
    return b;
}

static void end(relax_tir_builder *b)
{
    if (b->ended)
        return;
    b->ended = true;
    const rlx_prim_func *f = rlx_tir_end(&b->t);
    bool good = f && !rlx_errors_since(b->ctx, b->errors) && rlx_tir_verify(b->ctx, f, false);
    b->func = good ? &f->node : NULL;
}

void relax_tir_builder_destroy(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return;
    relax_context *ctx = builder->ctx;
    builder->t.incomplete = builder->t.incomplete || !builder->ended;
    end(builder);
    RLX_API_SET_TAG(builder, API_GONE);
    rlx_mem_free(&ctx->memory, builder, sizeof *builder);
    rlx_api_let_go(ctx);
}

relax_base_func *relax_tir_finish(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    end(builder);
    return give(builder->ctx, builder->func);
}

/* Can the builder take a call? A failed argument latches, as a failed call does. */
static bool open(relax_tir_builder *b)
{
    if (!b->ended)
        return !b->t.incomplete;
    rlx_error(b->ctx, RLX_OP09, RLX_NO_PLACE, "the function is finished");
    return false;
}

static bool latch(relax_tir_builder *b, bool ok)
{
    if (!ok)
        b->t.incomplete = true;
    return ok;
}

/* A NUL-terminated copy of a name. NULL latches. */
static const char *name_of(relax_tir_builder *b, const char *name, size_t len)
{
    rlx_slice slice;
    const rlx_string *s =
        rlx_api_name(b->ctx, name, len, "name", &slice) ? rlx_string_intern(b->ctx, slice) : NULL;
    return latch(b, s != NULL) ? s->data : NULL;
}

static bool prims(relax_tir_builder *b, const relax_prim_expr *const *items, size_t count,
                  const char *what)
{
    return latch(
        b, rlx_api_family_array(b->ctx, (const void *const *)items, count, RLX_FAMILY_PRIM, what));
}

static bool prim(relax_tir_builder *b, const relax_prim_expr *e, const char *what)
{
    return latch(b, rlx_api_family(b->ctx, e, RLX_FAMILY_PRIM, what));
}

static const rlx_buffer *buffer_of(relax_tir_builder *b, const relax_buffer *buffer)
{
    size_t errors = rlx_error_count(b->ctx);
    const rlx_buffer *node =
        rlx_api_node(b->ctx, buffer, "buffer") ? rlx_as_buffer(node_of(buffer)) : NULL;
    if (!node && buffer && rlx_error_count(b->ctx) == errors)
        rlx_error(b->ctx, RLX_OP02, RLX_NO_PLACE, "buffer is no buffer");
    latch(b, node != NULL);
    return node;
}

static relax_status status_of(relax_tir_builder *b)
{
    rlx_diags_flush(&b->ctx->diags);
    if (b->ctx->diags.out_of_memory)
        return RELAX_ERROR_OUT_OF_MEMORY;
    return b->t.incomplete || b->ended ? RELAX_ERROR_INVALID_ARGUMENT : RELAX_OK;
}

static rlx_prim_list list_of(const relax_prim_expr *const *items, size_t count)
{
    return RLX_TIR_ITEMS(nodes_of(items), count);
}

static bool condition(relax_tir_builder *b, const relax_prim_expr *cond)
{
    if (!prim(b, cond, "cond"))
        return false;
    if (rlx_prim_dtype(PRIM(cond)) == RELAX_BOOL)
        return true;
    rlx_error(b->ctx, RLX_OP02, RLX_NO_PLACE, "cond is no bool scalar");
    return latch(b, false);
}

static relax_status by_condition(relax_tir_builder *b, const relax_prim_expr *cond,
                                 void (*state)(rlx_tir *t, const rlx_prim *cond))
{
    if (open(b) && condition(b, cond))
        state(&b->t, PRIM(cond));
    return status_of(b);
}

relax_prim_expr *relax_tir_dim(relax_tir_builder *builder, const char *name, size_t name_len)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    return give(builder->ctx, z ? rlx_tir_dim(&builder->t, z) : NULL);
}

/* A buffer by one of the builder's two makers. */
typedef const rlx_buffer *(*buffer_maker)(rlx_tir *t, const char *name, rlx_dtype dtype,
                                          rlx_prim_list shape);
static relax_buffer *make_buffer(relax_tir_builder *b, buffer_maker make, const char *name,
                                 size_t name_len, relax_dtype dtype,
                                 const relax_prim_expr *const *shape, size_t ndim)
{
    const char *z = open(b) ? name_of(b, name, name_len) : NULL;
    bool ok = z && latch(b, rlx_api_dtype(b->ctx, dtype, false, "dtype")) &&
              prims(b, shape, ndim, "shape");
    return give(b->ctx, ok ? make(&b->t, z, dtype, list_of(shape, ndim)) : NULL);
}

relax_buffer *relax_tir_param(relax_tir_builder *builder, const char *name, size_t name_len,
                              relax_dtype dtype, const relax_prim_expr *const *shape, size_t ndim)
{
    return RLX_API_IS(builder, API_TIR_BUILDER)
               ? make_buffer(builder, rlx_tir_param, name, name_len, dtype, shape, ndim)
               : NULL;
}

relax_buffer *relax_tir_alloc(relax_tir_builder *builder, const char *name, size_t name_len,
                              relax_dtype dtype, const relax_prim_expr *const *shape, size_t ndim)
{
    return RLX_API_IS(builder, API_TIR_BUILDER)
               ? make_buffer(builder, rlx_tir_alloc, name, name_len, dtype, shape, ndim)
               : NULL;
}

/* Checks the arguments that strided buffers have beside plain ones. */
static bool good_layout(relax_tir_builder *b, const relax_prim_expr *const *shape,
                        const relax_prim_expr *const *strides, size_t ndim,
                        const relax_prim_expr *offset)
{
    return prims(b, shape, ndim, "shape") && (!strides || prims(b, strides, ndim, "strides")) &&
           (!offset || prim(b, offset, "offset"));
}

relax_buffer *relax_tir_param_strided(relax_tir_builder *builder, const char *name,
                                      size_t name_len, relax_dtype dtype,
                                      const relax_prim_expr *const *shape,
                                      const relax_prim_expr *const *strides, size_t ndim,
                                      const relax_prim_expr *offset)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    bool ok = z && latch(builder, rlx_api_dtype(builder->ctx, dtype, false, "dtype")) &&
              good_layout(builder, shape, strides, ndim, offset);
    rlx_prim_list steps = list_of(strides, strides ? ndim : 0);
    return give(builder->ctx, ok ? rlx_tir_param_strided(&builder->t, z, dtype,
                                                         list_of(shape, ndim), steps, PRIM(offset))
                                 : NULL);
}

relax_buffer *relax_tir_view(relax_tir_builder *builder, const char *name, size_t name_len,
                             relax_dtype dtype, const relax_buffer *source,
                             const relax_prim_expr *const *shape,
                             const relax_prim_expr *const *strides, size_t ndim,
                             const relax_prim_expr *offset)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    const rlx_buffer *b = z && latch(builder, rlx_api_dtype(builder->ctx, dtype, false, "dtype"))
                              ? buffer_of(builder, source)
                              : NULL;
    bool ok = b && good_layout(builder, shape, strides, ndim, offset);
    rlx_prim_list steps = list_of(strides, strides ? ndim : 0);
    return give(builder->ctx, ok ? rlx_tir_view(&builder->t, z, dtype, b, list_of(shape, ndim),
                                                steps, PRIM(offset))
                                 : NULL);
}

relax_prim_expr *relax_tir_scalar(relax_tir_builder *builder, const char *name, size_t name_len,
                                  relax_dtype dtype)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    bool ok = z && latch(builder, rlx_api_dtype(builder->ctx, dtype, false, "dtype"));
    return give(builder->ctx, ok ? rlx_tir_scalar(&builder->t, z, dtype) : NULL);
}

relax_status relax_tir_begin_block(relax_tir_builder *builder, const char *name, size_t name_len)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    if (z)
        rlx_tir_begin_block(&builder->t, z);
    return status_of(builder);
}

static const uint8_t axis_types[] = { [RELAX_AXIS_SPATIAL] = RLX_ITER_SPATIAL,
                                      [RELAX_AXIS_REDUCE] = RLX_ITER_REDUCE,
                                      [RELAX_AXIS_SCAN] = RLX_ITER_SCAN,
                                      [RELAX_AXIS_OPAQUE] = RLX_ITER_OPAQUE };
static bool good_axis(relax_tir_builder *b, int32_t kind)
{
    bool known = kind >= 1 && (size_t)kind < RLX_COUNT(axis_types);
    if (!known)
        rlx_error(b->ctx, RLX_OP03, RLX_NO_PLACE, "there is no kind of axis %d", kind);
    return latch(b, known);
}

relax_prim_expr *relax_tir_axis(relax_tir_builder *builder, int32_t kind, const char *name,
                                size_t name_len, const relax_prim_expr *extent)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    if (!z || !prim(builder, extent, "extent"))
        return give(builder->ctx, NULL);
    return give(builder->ctx,
                good_axis(builder, kind)
                    ? rlx_tir_loop_axis(&builder->t, axis_types[kind], z, PRIM(extent))
                    : NULL);
}

relax_prim_expr *relax_tir_axis_at(relax_tir_builder *builder, int32_t kind, const char *name,
                                   size_t name_len, const relax_prim_expr *min,
                                   const relax_prim_expr *extent, const relax_prim_expr *value)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    bool ok = z && (!min || prim(builder, min, "min")) && prim(builder, extent, "extent") &&
              prim(builder, value, "value") && good_axis(builder, kind);
    return give(builder->ctx, ok ? rlx_tir_axis(&builder->t, axis_types[kind], z, PRIM(min),
                                                PRIM(extent), PRIM(value))
                                 : NULL);
}

relax_status relax_tir_where(relax_tir_builder *builder, const relax_prim_expr *cond)
{
    return RLX_API_IS(builder, API_TIR_BUILDER) ? by_condition(builder, cond, rlx_tir_where)
                                            : RELAX_ERROR_INVALID_ARGUMENT;
}

static relax_status state_region(relax_tir_builder *b, bool written, const relax_buffer *buffer,
                                 const relax_prim_expr *const *mins,
                                 const relax_prim_expr *const *extents, size_t ndim)
{
    const rlx_buffer *node = open(b) && buffer ? buffer_of(b, buffer) : NULL;
    if (!b->t.incomplete && !b->ended && prims(b, mins, ndim, "mins") &&
        prims(b, extents, ndim, "extents"))
        rlx_tir_region(&b->t, written, node, list_of(mins, ndim), list_of(extents, ndim));
    return status_of(b);
}

relax_status relax_tir_reads(relax_tir_builder *builder, const relax_buffer *buffer,
                             const relax_prim_expr *const *mins,
                             const relax_prim_expr *const *extents, size_t ndim)
{
    return RLX_API_IS(builder, API_TIR_BUILDER)
               ? state_region(builder, false, buffer, mins, extents, ndim)
               : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_tir_writes(relax_tir_builder *builder, const relax_buffer *buffer,
                              const relax_prim_expr *const *mins,
                              const relax_prim_expr *const *extents, size_t ndim)
{
    return RLX_API_IS(builder, API_TIR_BUILDER)
               ? state_region(builder, true, buffer, mins, extents, ndim)
               : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_buffer *relax_tir_match(relax_tir_builder *builder, const char *name, size_t name_len,
                              const relax_buffer *source, const relax_prim_expr *const *mins,
                              const relax_prim_expr *const *extents, size_t ndim,
                              size_t match_ndim)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    const rlx_buffer *b = z ? buffer_of(builder, source) : NULL;
    bool ok = b && prims(builder, mins, ndim, "mins") && prims(builder, extents, ndim, "extents");
    return give(builder->ctx, ok ? rlx_tir_match(&builder->t, z, b, list_of(mins, ndim),
                                                 list_of(extents, ndim), match_ndim)
                                 : NULL);
}

relax_status relax_tir_attr(relax_tir_builder *builder, const char *key, size_t key_len,
                            const relax_attr *value)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    const char *z = open(builder) ? name_of(builder, key, key_len) : NULL;
    if (z && latch(builder, rlx_api_node(builder->ctx, value, "value")))
        rlx_tir_annotate(&builder->t, z, node_of(value));
    return status_of(builder);
}

/* A literal that is stored takes the dtype of its buffer: that rounds, to nearest whatever the
 * host does. */
typedef void (*store_maker)(rlx_tir *t, const rlx_buffer *b, rlx_prim_list indices,
                            const rlx_prim *value);
static relax_status make_store(relax_tir_builder *b, store_maker make, const relax_buffer *buffer,
                               const relax_prim_expr *const *indices, size_t num_indices,
                               const relax_prim_expr *value)
{
    const rlx_buffer *to = open(b) ? buffer_of(b, buffer) : NULL;
    if (to && prims(b, indices, num_indices, "indices") && prim(b, value, "value")) {
        rlx_float_env host = rlx_float_enter();
        make(&b->t, to, list_of(indices, num_indices), PRIM(value));
        rlx_float_leave(host);
    }
    return status_of(b);
}

relax_status relax_tir_init(relax_tir_builder *builder, const relax_buffer *buffer,
                            const relax_prim_expr *const *indices, size_t num_indices,
                            const relax_prim_expr *value)
{
    return RLX_API_IS(builder, API_TIR_BUILDER)
               ? make_store(builder, rlx_tir_init, buffer, indices, num_indices, value)
               : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_tir_end_block(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (open(builder))
        rlx_tir_end_block(&builder->t);
    return status_of(builder);
}

relax_prim_expr *relax_tir_for(relax_tir_builder *builder, int32_t kind, const char *name,
                               size_t name_len, const relax_prim_expr *min,
                               const relax_prim_expr *extent)
{
    static const uint8_t kinds[] = { [RELAX_LOOP_SERIAL] = RLX_FOR_SERIAL,
                                     [RELAX_LOOP_PARALLEL] = RLX_FOR_PARALLEL,
                                     [RELAX_LOOP_VECTORIZED] = RLX_FOR_VECTORIZED,
                                     [RELAX_LOOP_UNROLLED] = RLX_FOR_UNROLLED };
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    if (!z || !prim(builder, extent, "extent") || (min && !prim(builder, min, "min")))
        return give(builder->ctx, NULL);
    if (kind < 1 || (size_t)kind >= RLX_COUNT(kinds)) {
        latch(builder, false);
        return give(builder->ctx, rlx_error(builder->ctx, RLX_OP03, RLX_NO_PLACE,
                                            "there is no kind of loop %d", kind));
    }
    return give(builder->ctx, rlx_tir_for(&builder->t, z, PRIM(min), PRIM(extent), kinds[kind]));
}

relax_status relax_tir_end_for(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (open(builder))
        rlx_tir_end_for(&builder->t);
    return status_of(builder);
}

relax_prim_expr *relax_tir_for_thread(relax_tir_builder *builder, const char *tag, size_t tag_len,
                                      const char *name, size_t name_len,
                                      const relax_prim_expr *extent)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    const char *axis = z ? name_of(builder, tag, tag_len) : NULL;
    bool ok = axis && prim(builder, extent, "extent");
    return give(builder->ctx, ok ? rlx_tir_thread(&builder->t, axis, z, PRIM(extent)) : NULL);
}

relax_status relax_tir_if(relax_tir_builder *builder, const relax_prim_expr *cond)
{
    return RLX_API_IS(builder, API_TIR_BUILDER) ? by_condition(builder, cond, rlx_tir_if)
                                            : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_tir_while(relax_tir_builder *builder, const relax_prim_expr *cond)
{
    return RLX_API_IS(builder, API_TIR_BUILDER) ? by_condition(builder, cond, rlx_tir_while)
                                            : RELAX_ERROR_INVALID_ARGUMENT;
}

relax_status relax_tir_end_while(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (open(builder))
        rlx_tir_end_while(&builder->t);
    return status_of(builder);
}

relax_prim_expr *relax_tir_let(relax_tir_builder *builder, const char *name, size_t name_len,
                               const relax_prim_expr *value)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, name, name_len) : NULL;
    bool ok = z && prim(builder, value, "value");
    return give(builder->ctx, ok ? rlx_tir_let(&builder->t, z, PRIM(value)) : NULL);
}

relax_status relax_tir_assert(relax_tir_builder *builder, const relax_prim_expr *cond,
                              const char *message, size_t message_len)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    const char *z =
        open(builder) && condition(builder, cond) ? name_of(builder, message, message_len) : NULL;
    if (z)
        rlx_tir_assert_text(&builder->t, PRIM(cond), z);
    return status_of(builder);
}

relax_status relax_tir_evaluate(relax_tir_builder *builder, const relax_prim_expr *value)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (open(builder) && prim(builder, value, "value"))
        rlx_tir_evaluate(&builder->t, PRIM(value));
    return status_of(builder);
}

relax_status relax_tir_else(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (open(builder))
        rlx_tir_else(&builder->t);
    return status_of(builder);
}

relax_status relax_tir_end_if(relax_tir_builder *builder)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (open(builder))
        rlx_tir_end_if(&builder->t);
    return status_of(builder);
}

relax_prim_expr *relax_tir_load(relax_tir_builder *builder, const relax_buffer *buffer,
                                const relax_prim_expr *const *indices, size_t num_indices)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const rlx_buffer *b = open(builder) ? buffer_of(builder, buffer) : NULL;
    bool ok = b && prims(builder, indices, num_indices, "indices");
    return give(builder->ctx,
                ok ? rlx_tir_load(&builder->t, b, list_of(indices, num_indices)) : NULL);
}

relax_status relax_tir_store(relax_tir_builder *builder, const relax_buffer *buffer,
                             const relax_prim_expr *const *indices, size_t num_indices,
                             const relax_prim_expr *value)
{
    return RLX_API_IS(builder, API_TIR_BUILDER)
               ? make_store(builder, rlx_tir_store, buffer, indices, num_indices, value)
               : RELAX_ERROR_INVALID_ARGUMENT;
}

static const rlx_prim *make_call(relax_tir_builder *builder, const char *name, size_t name_len,
                                 const relax_prim_expr *const *args, size_t num_args)
{
    rlx_tir *t = &builder->t;
    rlx_slice slice;
    if (!open(builder) ||
        !latch(builder, rlx_api_name(builder->ctx, name, name_len, "name", &slice)) ||
        !prims(builder, args, num_args, "args"))
        return NULL;
    if (num_args == 3 && rlx_slice_is(slice, "if_then_else"))
        return rlx_tir_if_then_else(t, PRIM(args[0]), PRIM(args[1]), PRIM(args[2]));
    const char *z = name_of(builder, name, name_len);
    enum rlx_tir_intrinsic found = rlx_tir_find_intrinsic(slice);
    if (z && (found == RLX_TIR_NO_INTRINSIC || rlx_tir_intrinsics[found].num_args != num_args ||
              num_args > 2)) {
        latch(builder, false);
        return rlx_error(builder->ctx, RLX_OP06, RLX_NO_PLACE,
                         "there is no intrinsic %s of %zu arguments", z, num_args);
    }
    if (!z)
        return NULL;
    return num_args == 1 ? rlx_tir_call1(t, z, PRIM(args[0]))
                         : rlx_tir_call2(t, z, PRIM(args[0]), PRIM(args[1]));
}

relax_prim_expr *relax_tir_call(relax_tir_builder *builder, const char *name, size_t name_len,
                                const relax_prim_expr *const *args, size_t num_args)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    rlx_float_env host = rlx_float_enter(); /* arguments are cast to one dtype */
    const rlx_prim *call = make_call(builder, name, name_len, args, num_args);
    rlx_float_leave(host);
    return give(builder->ctx, call);
}

relax_prim_expr *relax_tir_call_extern(relax_tir_builder *builder, relax_dtype dtype,
                                       const char *symbol, size_t symbol_len,
                                       const relax_prim_expr *const *args, size_t num_args)
{
    if (!RLX_API_IS(builder, API_TIR_BUILDER))
        return NULL;
    const char *z = open(builder) ? name_of(builder, symbol, symbol_len) : NULL;
    bool ok = z && latch(builder, rlx_api_dtype(builder->ctx, dtype, true, "dtype")) &&
              prims(builder, args, num_args, "args");
    return give(builder->ctx,
                ok ? rlx_tir_call_extern(&builder->t, dtype, z, list_of(args, num_args)) : NULL);
}
