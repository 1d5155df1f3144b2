/*- context.h: the context owns everything of a compile job: nodes, strings, sources,
 * diagnostics.
 *
 *   context ── layer 0   region + intern tables   what the host holds
 *           ├─ layer 1   scratch                  passes of a running pipeline (only meanwhile)
 *           └─ layer 2   second scratch           where the live part goes when layer 1 has
 *                                                 grown too much
 *
 * Allocation goes to the top layer; look-ups go through all layers from the bottom; nothing in
 * a lower layer ever points into a higher one. One thread at a time.
 */
#ifndef RLX_IR_CONTEXT_H
#define RLX_IR_CONTEXT_H

#include "ir/node.h"
#include "format/codes.h"

/* Rooms that remember something per context keep it here; freed with the context (and when
 * layers are dropped). */
enum rlx_room {
    RLX_ROOM_ARITH, RLX_ROOM_SINFO, RLX_ROOM_OP, RLX_ROOM_TRANSFORM, RLX_ROOM_API, RLX_ROOM_COUNT
};
typedef struct rlx_room_state {
    void *state;
    /* drop what points into layers >= layer; may be NULL */
    void (*forget_layer)(rlx_context *ctx, void *state, uint8_t layer);
    void (*destroy)(rlx_context *ctx, void *state);
} rlx_room_state;

typedef struct rlx_layer {
    rlx_region region;
    rlx_intern nodes, strings;
    RLX_VEC(rlx_blob *) blobs;
    /* scratch: bytes that were worth keeping when the layer was begun or last compacted */
    size_t live;
} rlx_layer;

/* What is being worked at: a report that has no place says it in a note. `put` writes it
 * ("in main, binding h") and returns false if there is nothing to say. Who sets it puts the one
 * before back. */
typedef struct rlx_locus {
    bool (*put)(const struct rlx_locus *locus, rlx_buf *out);
    const void *of, *what;
} rlx_locus;

#define RLX_MAX_LAYERS 3
struct relax_context {
    atomic_size_t refs;
#ifdef RLX_DEBUG
    /* RLX_CONTEXT_TAG until the last reference is gone; where other handles have theirs */
    uint64_t tag;
#endif
    rlx_memory memory;
    rlx_layer layers[RLX_MAX_LAYERS];
    uint8_t top;                        /* index of the layer new nodes go to */
    uint8_t origin;                     /* stamped on new nodes: 0, or the running pass */
    /* unproved annotations need no run-time check (DESIGN: build option) */
    bool trust_annotations;
    bool share_none;                    /* loops of kernels are not shared out: they are for few elements */
    bool distributed;                   /* some tensor has a sharding */
    bool share_all;                     /* threads may share loops of kernels however short they are: for tests */
    uint32_t next_id;
    rlx_diags diags;
    const rlx_locus *locus;             /* NULL: nothing is known */
    /* likewise between the calls of a host that builds a function; for what it calls wrongly */
    const rlx_locus *building;
    rlx_diag *newest;                   /* what rlx_note adds to; NULL: it was muted or lost */
    const struct rlx_op_table *ops;     /* installed by op at creation; NULL: no operators */
    /* installed by api likewise; NULL: the evaluator runs PrimFuncs */
    const struct rlx_kernel_runner *kernels;
    rlx_room_state rooms[RLX_ROOM_COUNT];
    struct rlx_extensions *extensions;  /* what the host has added (extension.h); NULL: nothing */
    const rlx_node *small_ints[2][258]; /* int64 and int32 literals -1 .. 256 */
    const rlx_node *object, *unit, *void_tensor; /* R.Object, R.Tuple(), R.Tensor */
    const rlx_node *underived; /* an R.Object with RLX_FLAG_AFTER_ERROR */
    RLX_VEC(const char *) origins;      /* names of passes by origin number - 1 */
    /* builders and pipelines of the host that point to nodes */
    size_t holders;
    uint64_t collections;               /* how often what it holds was moved */
#ifdef RLX_DEBUG
    /* of the public interface that checked its arguments last */
    const char *call;
#endif
};
#define RLX_CONTEXT_TAG 0x52584374787400
#ifdef RLX_DEBUG
RLX_INLINE bool rlx_context_is(const rlx_context *ctx)
{
    return ctx && ctx->tag == RLX_CONTEXT_TAG;
}
#else
RLX_INLINE bool rlx_context_is(const rlx_context *ctx) { return ctx != NULL; }
#endif

/* One reference. NULL when out of memory or `host` is malformed. max_bytes 0: no cap. */
rlx_context *rlx_context_create(const relax_allocator *host, size_t max_bytes);
rlx_context *rlx_context_retain(rlx_context *ctx);
void rlx_context_release(rlx_context *ctx);

/* Memory of the top layer, 8-byte aligned, not cleared; NULL when out of memory (noted in the
 * diagnostics, so that the operation under way fails at its end even if a caller only passes
 * NULL on). */
RLX_INLINE void *rlx_new(rlx_context *ctx, size_t size)
{
    return rlx_region_alloc(&ctx->layers[ctx->top].region, size);
}
void *rlx_new_zero(rlx_context *ctx, size_t size);
void *rlx_new_copy(rlx_context *ctx, const void *data, size_t size);
/* Latches out of memory for what failed beside the context's allocator, which latches by itself
 * (base/memory.h); returns false for `return rlx_no_memory(ctx);`. */
bool rlx_no_memory(rlx_context *ctx);

/* Interned string (found in any layer, else made in the top one). NULL when out of memory. */
const rlx_string *rlx_string_intern(rlx_context *ctx, rlx_slice text);
/* A name of Python like one of another language, interned: other characters become `_`, several in a row one, none at
 * the end; 126 bytes at most. `otherwise`: nothing is left of it. */
const rlx_string *rlx_string_identifier(rlx_context *ctx, rlx_slice name, const char *otherwise);
/* A string that is not interned: for hints that are many and hardly ever equal. */
const rlx_string *rlx_string_new(rlx_context *ctx, rlx_slice text);
/* The interned string of that text; NULL: there is none. Names of variables, which may be such
 * hints, are looked up by pointer only after this. */
const rlx_string *rlx_string_interned(const rlx_context *ctx, const rlx_string *s);
RLX_INLINE const rlx_string *rlx_string_z(rlx_context *ctx, const char *z)
{
    return rlx_string_intern(ctx, rlx_slice_z(z));
}

/* Scratch layers. begin pushes a layer; end copies `root` (may be NULL) down into the layer
 * below, drops the layer and returns the copy (the same pointer if it lived below already).
 * NULL with out_of_memory on failure (layer dropped). */
bool rlx_scratch_begin(rlx_context *ctx);
const rlx_node *rlx_scratch_end(rlx_context *ctx, const rlx_node *root);
/* If the scratch layer has grown past four times what was live at its begin or last compaction:
 * moves root into a fresh layer and drops the old one, so that every other pointer into it
 * dies. Returns root or its copy; NULL when out of memory (then everything is as it was). */
const rlx_node *rlx_scratch_compact(rlx_context *ctx, const rlx_node *root);
size_t rlx_context_bytes(const rlx_context *ctx);
/* Keeps the roots and what they need, and frees everything else in layer 0, sources that
 * nothing kept refers to included: *roots become what they are now called, every other pointer
 * to a node dies. No scratch layer may be there, nor a holder. False when out of memory: then
 * everything is as it was. */
bool rlx_context_collect(rlx_context *ctx, const rlx_node **roots, size_t count);

/* Diagnostics with the code's default severity. Returns NULL always, so that `return
 * rlx_error(...)` fails a function that returns a pointer. Notes are added to the newest
 * diagnostic with rlx_note. */
void *rlx_error(rlx_context *ctx, enum rlx_code_id code, rlx_place place, const char *format, ...)
    RLX_PRINTF(4, 5);
void *rlx_verror(rlx_context *ctx, enum rlx_code_id code, rlx_place place, const char *format,
                 va_list args);
/* Severity of the call site's choice (RLX_SEVERITY_...). */
void *rlx_report(rlx_context *ctx, enum rlx_code_id code, uint8_t severity, rlx_place place,
                 const char *format, ...) RLX_PRINTF(5, 6);
void rlx_note(rlx_context *ctx, rlx_place place, const char *format, ...) RLX_PRINTF(3, 4);
/* Our own broken invariant: an internal error diagnostic; returns NULL. */
#define RLX_BUG(ctx, ...) rlx_bug((ctx), __FILE__, __LINE__, __VA_ARGS__)
void *rlx_bug(rlx_context *ctx, const char *file, int line, const char *format, ...)
    RLX_PRINTF(4, 5);
/* Errors so far, a lost allocation included: compare before and after. */
RLX_INLINE size_t rlx_error_count(const rlx_context *ctx)
{
    return ctx->diags.num_errors + ctx->diags.num_followers + (ctx->diags.out_of_memory ? 1 : 0);
}
/* Errors raised since a mark, over calls of the host, which may clear diagnostics in between. */
typedef struct rlx_error_mark { size_t errors, clears; } rlx_error_mark;
RLX_INLINE rlx_error_mark rlx_errors_mark(const rlx_context *ctx)
{
    return (rlx_error_mark){ rlx_error_count(ctx), ctx->diags.clears };
}
RLX_INLINE bool rlx_errors_since(const rlx_context *ctx, rlx_error_mark m)
{
    return rlx_error_count(ctx) > (m.clears == ctx->diags.clears ? m.errors : 0);
}

/* Number for node.origin of a pass named `name`, 0 when out of memory or more
 * than 255. */
uint8_t rlx_context_origin(rlx_context *ctx, const char *name);

#endif
