/* context.c: contexts: layers, strings, collection, diagnostics. */
#include "ir/ir_int.h"

/* ---- layers */

static void layer_init(rlx_layer *l, rlx_memory *m)
{
    memset(l, 0, sizeof *l);
    rlx_region_init(&l->region, m);
    rlx_intern_init(&l->nodes, m);
    rlx_intern_init(&l->strings, m);
}

static void layer_free(rlx_layer *l, rlx_memory *m)
{
    for (size_t i = 0; i < l->blobs.len; i++)
        rlx_blob_release(l->blobs.data[i]);
    rlx_vec_free(m, &l->blobs);
    rlx_intern_free(&l->nodes);
    rlx_intern_free(&l->strings);
    rlx_region_drop(&l->region);
}

/* ---- creation and counting */

/* Nodes that every program uses; in layer 0, so that scratch layers find them without a probe. */
static bool make_common_nodes(rlx_context *ctx)
{
    rlx_object_sinfo *underived = rlx_new_zero(ctx, sizeof *underived);
    if (!underived)
        return false;
    rlx_node_head(ctx, &underived->node, RLX_NODE_OBJECT_SINFO,
                  RLX_FLAG_INTERNED | RLX_FLAG_AFTER_ERROR);
    ctx->underived = &underived->node;
    ctx->object = rlx_object_info(ctx);
    ctx->unit = rlx_tuple_info(ctx, NULL, 0);
    ctx->void_tensor = rlx_tensor_info(ctx, NULL, RELAX_VOID, -1, NULL);
    return ctx->object && ctx->unit && ctx->void_tensor;
}

static void context_destroy(rlx_context *ctx)
{
#ifdef RLX_DEBUG
    ctx->tag = 0;
#endif
    for (int i = RLX_ROOM_COUNT - 1; i >= 0; i--)
        if (ctx->rooms[i].destroy)
            ctx->rooms[i].destroy(ctx, ctx->rooms[i].state);
    rlx_extension_destroy(ctx);
    for (int i = RLX_MAX_LAYERS - 1; i >= 0; i--)
        layer_free(&ctx->layers[i], &ctx->memory);
    for (size_t i = 0; i < ctx->origins.len; i++)
        rlx_mem_free(&ctx->memory, (void *)(uintptr_t)ctx->origins.data[i],
                     strlen(ctx->origins.data[i]) + 1);
    rlx_vec_free(&ctx->memory, &ctx->origins);
    rlx_diags_free(&ctx->diags);
    /* The context is booked in the memory it holds: the last block is freed through a copy of
     * that. */
    rlx_memory last;
    if (rlx_memory_init(&last, &ctx->memory.host, SIZE_MAX)) {
        atomic_store(&last.live, sizeof *ctx);
        rlx_mem_free(&last, ctx, sizeof *ctx);
    }
}

rlx_context *rlx_context_create(const relax_allocator *host, size_t max_bytes)
{
    rlx_memory first;
    size_t cap = max_bytes ? max_bytes : SIZE_MAX;
    RLX_ASSERT(rlx_node_table_is_sound());
    if (!rlx_memory_init(&first, host, cap))
        return NULL;
    rlx_context *ctx = rlx_mem_alloc_zero(&first, sizeof *ctx);
    if (!ctx)
        return NULL;
    if (!rlx_memory_init(&ctx->memory, host, cap))
        return NULL; /* cannot be: the same host was fine above */
    atomic_store(&ctx->memory.live, sizeof *ctx);
    atomic_init(&ctx->refs, 1);
#ifdef RLX_DEBUG
    ctx->tag = RLX_CONTEXT_TAG;
#endif
    ctx->next_id = 1;
    rlx_diags_init(&ctx->diags, &ctx->memory);
    ctx->memory.latch = &ctx->diags.out_of_memory;
    for (int i = 0; i < RLX_MAX_LAYERS; i++)
        layer_init(&ctx->layers[i], &ctx->memory);
    if (make_common_nodes(ctx))
        return ctx;
    context_destroy(ctx);
    return NULL;
}

rlx_context *rlx_context_retain(rlx_context *ctx)
{
    if (ctx)
        atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
    return ctx;
}

void rlx_context_release(rlx_context *ctx)
{
    if (ctx && atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_acq_rel) == 1)
        context_destroy(ctx);
}

/* ---- memory and strings */

bool rlx_no_memory(rlx_context *ctx)
{
    ctx->diags.out_of_memory = true;
    return false;
}

void *rlx_new_zero(rlx_context *ctx, size_t size)
{
    void *p = rlx_new(ctx, size);
    if (p && size)
        memset(p, 0, size);
    return p;
}

void *rlx_new_copy(rlx_context *ctx, const void *data, size_t size)
{
    void *p = rlx_new(ctx, size);
    if (p && size)
        memcpy(p, data, size);
    return p;
}

static const rlx_string *find_string(const rlx_context *ctx, uint64_t hash, rlx_slice text)
{
    for (unsigned i = 0; i <= ctx->top; i++) {
        const rlx_intern *t = &ctx->layers[i].strings;
        size_t at;
        for (const rlx_string *s = rlx_intern_first(t, hash, &at); s;
             s = rlx_intern_next(t, hash, &at))
            if (rlx_slice_equal(rlx_string_slice(s), text))
                return s;
    }
    return NULL;
}

static rlx_string *make_string(rlx_context *ctx, uint64_t hash, rlx_slice text)
{
    if (text.len >= UINT32_MAX)
        return rlx_mem_overflow(&ctx->memory), NULL;
    rlx_string *s = rlx_new(ctx, sizeof *s + text.len + 1);
    if (!s)
        return NULL;
    s->len = (uint32_t)text.len;
    s->hash = (uint32_t)hash;
    if (text.len)
        memcpy(s->data, text.data, text.len);
    s->data[text.len] = 0;
    return s;
}

const rlx_string *rlx_string_intern(rlx_context *ctx, rlx_slice text)
{
    uint64_t hash = rlx_hash_bytes(text.data, text.len);
    const rlx_string *have = find_string(ctx, hash, text);
    if (have)
        return have;
    rlx_string *s = make_string(ctx, hash, text);
    return s && rlx_intern_add(&ctx->layers[ctx->top].strings, hash, s) ? s : NULL;
}

static bool is_word_char(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

const rlx_string *rlx_string_identifier(rlx_context *ctx, rlx_slice name, const char *otherwise)
{
    char text[128];
    size_t n = 0;
    if (name.len && name.data[0] >= '0' && name.data[0] <= '9')
        text[n++] = '_';
    for (size_t i = 0; i < name.len && n < sizeof text - 2; i++) {
        bool fine = is_word_char(name.data[i]);
        if (fine || (n && text[n - 1] != '_'))
            text[n++] = fine ? name.data[i] : '_';
    }
    while (n > 1 && text[n - 1] == '_')
        n--;
    if (rlx_is_keyword(text, n))
        text[n++] = '_';
    bool any = n && !(n == 1 && text[0] == '_');
    return rlx_string_intern(ctx, any ? (rlx_slice){ text, n } : rlx_slice_z(otherwise));
}

const rlx_string *rlx_string_new(rlx_context *ctx, rlx_slice text)
{
    return make_string(ctx, rlx_hash_bytes(text.data, text.len), text);
}

const rlx_string *rlx_string_interned(const rlx_context *ctx, const rlx_string *s)
{
    return find_string(ctx, rlx_hash_bytes(s->data, s->len), rlx_string_slice(s));
}

size_t rlx_context_bytes(const rlx_context *ctx)
{
    return rlx_mem_live(&ctx->memory);
}

uint8_t rlx_context_origin(rlx_context *ctx, const char *name)
{
    for (size_t i = 0; i < ctx->origins.len; i++)
        if (strcmp(ctx->origins.data[i], name) == 0)
            return (uint8_t)(i + 1);
    /* a copy: the name of a pass of the host may go when the context is collected */
    size_t bytes = strlen(name) + 1;
    char *copy = ctx->origins.len < 255 ? rlx_mem_alloc(&ctx->memory, bytes) : NULL;
    if (!copy)
        return 0;
    memcpy(copy, name, bytes);
    if (rlx_vec_push(&ctx->memory, &ctx->origins, copy))
        return (uint8_t)ctx->origins.len;
    rlx_mem_free(&ctx->memory, copy, bytes);
    return 0;
}

/* ---- scratch layers */

static void forget_layer(rlx_context *ctx, uint8_t layer)
{
    for (int i = 0; i < RLX_ROOM_COUNT; i++)
        if (ctx->rooms[i].forget_layer)
            ctx->rooms[i].forget_layer(ctx, ctx->rooms[i].state, layer);
}

bool rlx_scratch_begin(rlx_context *ctx)
{
    if (ctx->top + 1 >= RLX_MAX_LAYERS) {
        RLX_BUG(ctx, "more than %d scratch layers", RLX_MAX_LAYERS - 1);
        return false;
    }
    ctx->top++;
    ctx->layers[ctx->top].live = ctx->layers[ctx->top - 1].region.bytes;
    return true;
}

const rlx_node *rlx_scratch_end(rlx_context *ctx, const rlx_node *root)
{
    if (!ctx->top)
        return RLX_BUG(ctx, "no scratch layer to end");
    uint8_t old = ctx->top--;
    rlx_layer *l = &ctx->layers[old];
    forget_layer(ctx, old);
    rlx_intern_free(&l->nodes); /* nothing is looked up there while root is copied */
    rlx_intern_free(&l->strings);
    const rlx_node *kept = root ? rlx_copy_down(ctx, root, old) : NULL;
    layer_free(l, &ctx->memory);
    layer_init(l, &ctx->memory);
    return kept;
}

/* The fresh layer takes the place of the old one, whose nodes stay readable until the copy is
 * made. */
static const rlx_node *move_to_fresh_layer(rlx_context *ctx, const rlx_node *root)
{
    rlx_layer *top = &ctx->layers[ctx->top], old = *top;
    layer_init(top, &ctx->memory);
    const rlx_node *kept = rlx_copy_down(ctx, root, ctx->top);
    if (!kept) {
        layer_free(top, &ctx->memory);
        *top = old;
        return NULL;
    }
    top->live = top->region.bytes;
    forget_layer(ctx, ctx->top);
    /* what comes next needs about as much again */
    rlx_region_inherit(&top->region, &old.region, 2 * top->live);
    layer_free(&old, &ctx->memory);
    return kept;
}

/* Below this size copying costs more than it gives back. */
#define SMALLEST_COMPACTION ((size_t)256 * 1024)

const rlx_node *rlx_scratch_compact(rlx_context *ctx, const rlx_node *root)
{
    const rlx_layer *top = &ctx->layers[ctx->top];
    size_t used = top->region.bytes;
    if (!ctx->top || !root || used < SMALLEST_COMPACTION || used / 4 <= top->live)
        return root;
    return move_to_fresh_layer(ctx, root);
}

/* ---- collecting: the layer that the host holds is made again with what it names */

/* Nodes of layer 0 that the context itself points to. */
typedef struct common {
    const rlx_node *small_ints[2][258], *object, *unit, *void_tensor, *underived;
} common;

static void save_common(const rlx_context *ctx, common *c)
{
    memcpy(c->small_ints, ctx->small_ints, sizeof c->small_ints);
    c->object = ctx->object;
    c->unit = ctx->unit;
    c->void_tensor = ctx->void_tensor;
    c->underived = ctx->underived;
}

static void load_common(rlx_context *ctx, const common *c)
{
    memcpy(ctx->small_ints, c->small_ints, sizeof c->small_ints);
    ctx->object = c->object;
    ctx->unit = c->unit;
    ctx->void_tensor = c->void_tensor;
    ctx->underived = c->underived;
}

/* The caller has the old layer and puts it back on failure. */
static bool fill_fresh_layer(rlx_context *ctx, const rlx_node **roots, size_t count, bool *used)
{
    static const common none;
    layer_init(&ctx->layers[0], &ctx->memory);
    load_common(ctx, &none);
    return make_common_nodes(ctx) && rlx_move_roots(ctx, roots, count, used);
}

static bool collect(rlx_context *ctx, const rlx_node **roots, size_t count, common *saved,
                    bool *used)
{
    rlx_layer old = ctx->layers[0];
    save_common(ctx, saved);
    if (!fill_fresh_layer(ctx, roots, count, used)) {
        layer_free(&ctx->layers[0], &ctx->memory);
        ctx->layers[0] = old;
        load_common(ctx, saved);
        return false;
    }
    forget_layer(ctx, 0);
    layer_free(&old, &ctx->memory);
    rlx_diags_mark_sources(&ctx->diags, used);
    rlx_diags_forget_sources(&ctx->diags, used);
    return true;
}

bool rlx_context_collect(rlx_context *ctx, const rlx_node **roots, size_t count)
{
    RLX_ASSERT(ctx->top == 0 && ctx->holders == 0);
    size_t num_sources = ctx->diags.sources.len + 1, bytes = count * sizeof *roots;
    common *saved = rlx_mem_alloc(&ctx->memory, sizeof *saved);
    bool *used = rlx_mem_alloc_zero(&ctx->memory, num_sources * sizeof *used);
    const rlx_node **moved = rlx_mem_alloc(&ctx->memory, bytes);
    bool good = saved && used && (moved || !count);
    if (good && count)
        memcpy(moved, roots, bytes);
    good = good && collect(ctx, moved, count, saved, used);
    if (good && count)
        memcpy(roots, moved, bytes);
    rlx_mem_free(&ctx->memory, moved, bytes);
    rlx_mem_free(&ctx->memory, used, num_sources * sizeof *used);
    rlx_mem_free(&ctx->memory, saved, sizeof *saved);
    return good;
}

/* ---- diagnostics */

/* Is it of those that a call to make a node may have? */
static bool is_misuse(enum rlx_code_id code)
{
    static const uint16_t codes[] = { RLX_OP01, RLX_OP02, RLX_OP03, RLX_OP04, RLX_OP05,
                                      RLX_OP06, RLX_OP07, RLX_OP08, RLX_OP12, RLX_OP13 };
    for (size_t i = 0; i < RLX_COUNT(codes); i++)
        if (codes[i] == code)
            return true;
    return false;
}

/* Without a place it is said what was worked at. */
static void note_locus(rlx_context *ctx, const rlx_locus *at, rlx_diag *diag)
{
    rlx_buf text;
    rlx_buf_init(&text, &ctx->memory);
    if (at->put(at, &text) && !text.failed && text.len)
        rlx_diag_note(&ctx->diags, diag, RLX_NO_PLACE, "%s", text.data);
    rlx_buf_free(&text);
}

static void *report(rlx_context *ctx, enum rlx_code_id code, int severity, rlx_place place,
                    const char *format, va_list args)
{
    const rlx_code *row = rlx_code_row(code);
    if (!row)
        row = rlx_code_row(RLX_IN01);
    ctx->newest = rlx_diags_vreport(
        &ctx->diags, row, severity < 0 ? row->severity : (uint8_t)severity, place, format, args);
    const rlx_locus *at = ctx->locus ? ctx->locus : is_misuse(code) ? ctx->building : NULL;
    if (ctx->newest && !ctx->newest->place && at)
        note_locus(ctx, at, ctx->newest);
    return NULL;
}

void *rlx_verror(rlx_context *ctx, enum rlx_code_id code, rlx_place place, const char *format,
                 va_list args)
{
    return report(ctx, code, -1, place, format, args);
}

void *rlx_error(rlx_context *ctx, enum rlx_code_id code, rlx_place place, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(ctx, code, -1, place, format, args);
    va_end(args);
    return NULL;
}

void *rlx_report(rlx_context *ctx, enum rlx_code_id code, uint8_t severity, rlx_place place,
                 const char *format, ...)
{
    va_list args;
    va_start(args, format);
    report(ctx, code, severity, place, format, args);
    va_end(args);
    return NULL;
}

/* Notes need their text whole, diag.h takes a format: the text goes through the diagnostics'
 * own region. */
void rlx_note(rlx_context *ctx, rlx_place place, const char *format, ...)
{
    if (!ctx->newest || ctx->newest != ctx->diags.last)
        return;
    rlx_buf b;
    va_list args;
    rlx_buf_init(&b, &ctx->memory);
    va_start(args, format);
    rlx_buf_vformat(&b, format, args);
    va_end(args);
    if (!b.failed)
        rlx_diag_note(&ctx->diags, ctx->newest, place, "%s", b.len ? b.data : "");
    rlx_buf_free(&b);
}

void *rlx_bug(rlx_context *ctx, const char *file, int line, const char *format, ...)
{
    rlx_buf b;
    va_list args;
    rlx_buf_init(&b, &ctx->memory);
    va_start(args, format);
    rlx_buf_vformat(&b, format, args);
    va_end(args);
    const char *name = strrchr(file, '/');
    rlx_error(ctx, RLX_IN01, RLX_NO_PLACE, "%s:%d: %s", name ? name + 1 : file, line,
              b.failed || !b.len ? "?" : b.data);
    rlx_buf_free(&b);
    return NULL;
}
