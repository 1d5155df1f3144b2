/* api_context.c: contexts, sources, diagnostics. */
#include "api/api_int.h"

#include "op/op.h"

/* ---- contexts */

static const relax_context_options context_defaults = { .struct_size =
                                                            sizeof(relax_context_options),
                                                        .max_diagnostics = 100 };

relax_status relax_context_options_init(relax_context_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &context_defaults, sizeof context_defaults);
}

relax_context *relax_context_create(const relax_context_options *options)
{
    relax_context_options o = context_defaults;
    if (!rlx_options_read(&o, sizeof o, options) || o.max_bytes > SIZE_MAX ||
        o.max_diagnostics < 0)
        return NULL;
    rlx_context *ctx = rlx_context_create(o.allocator, (size_t)o.max_bytes);
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    ctx->ops = rlx_op_table_get();
    ctx->kernels = &rlx_api_kernels;
    ctx->diags.strict = o.strict != 0;
    ctx->diags.notes = o.notes != 0;
    ctx->diags.max_diags = (size_t)o.max_diagnostics;
    ctx->trust_annotations = o.trust_annotations != 0;
    return ctx;
}

relax_context *relax_context_retain(relax_context *ctx)
{
    return RLX_API_READS(ctx) ? rlx_context_retain(ctx) : NULL;
}

void relax_context_release(relax_context *ctx)
{
    if (RLX_API_READS(ctx))
        rlx_context_release(ctx);
}

size_t relax_context_bytes(const relax_context *ctx)
{
    return RLX_API_READS(ctx) ? rlx_context_bytes(ctx) : 0;
}

/* ---- sources and places */

uint32_t relax_context_add_source(relax_context *ctx, const char *name, size_t name_len,
                                  const char *text, size_t text_len)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_text(ctx, name, name_len, "name", &slice))
        return 0;
    uint32_t number = rlx_diags_add_source(&ctx->diags, slice, text, text_len);
    if (!number)
        rlx_error(ctx, RLX_OP18, RLX_NO_PLACE, "too many sources, or source %.*s is too large",
                  rlx_api_width(slice), slice.data);
    rlx_diags_flush(&ctx->diags);
    return number;
}

relax_place relax_place_make(uint32_t source, uint32_t begin, uint32_t length)
{
    return source && source <= RLX_MAX_SOURCES && begin <= RLX_MAX_SOURCE_BYTES
               ? rlx_place_make(source, begin, length)
               : RLX_NO_PLACE;
}

relax_status relax_place_locate(relax_context *ctx, relax_place place, uint32_t *line,
                                uint32_t *column, uint32_t *column_chars)
{
    uint32_t l = 0, c = 0, k = 0;
    bool known = RLX_API_READS(ctx) && rlx_diags_locate(&ctx->diags, place, &l, &c, &k);
    if (line)
        *line = l;
    if (column)
        *column = c;
    if (column_chars)
        *column_chars = k;
    return known            ? RELAX_OK
           : RLX_API_READS(ctx) ? RELAX_ERROR_NOT_FOUND
                            : RELAX_ERROR_INVALID_ARGUMENT;
}

void relax_place_get(relax_place place, uint32_t *source, uint32_t *begin, uint32_t *length)
{
    if (source)
        *source = rlx_place_source(place);
    if (begin)
        *begin = rlx_place_begin(place);
    if (length)
        *length = rlx_place_len(place);
}

/* ---- diagnostics: a list of at most a few hundred, so that finding one by number is cheap
 * enough */

static const rlx_diag *diag_at(const relax_context *ctx, size_t index)
{
    const rlx_diag *d = RLX_API_READS(ctx) ? ctx->diags.first : NULL;
    while (d && index--)
        d = d->next;
    return d;
}

size_t relax_context_num_diagnostics(const relax_context *ctx)
{
    size_t n = 0;
    for (const rlx_diag *d = RLX_API_READS(ctx) ? ctx->diags.first : NULL; d; d = d->next)
        n++;
    return n;
}

int32_t relax_context_owns(relax_context *ctx, const void *node)
{
    return RLX_API_READS(ctx) && node && rlx_api_owns(ctx, node);
}

uint64_t relax_context_generation(const relax_context *ctx)
{
    return RLX_API_READS(ctx) ? ctx->collections : 0;
}

size_t relax_context_num_errors(const relax_context *ctx)
{
    return RLX_API_READS(ctx) ? rlx_error_count(ctx) : 0;
}

relax_status relax_context_status(const relax_context *ctx)
{
    if (!RLX_API_READS(ctx))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (ctx->diags.out_of_memory)
        return RELAX_ERROR_OUT_OF_MEMORY;
    if (rlx_error_count(ctx))
        return ctx->diags.first_error ? ctx->diags.first_error->status : RELAX_ERROR_INTERNAL;
    return RELAX_OK;
}

int32_t relax_diagnostic_severity(const relax_context *ctx, size_t index)
{
    const rlx_diag *d = diag_at(ctx, index);
    return d ? d->severity : -1;
}

const char *relax_diagnostic_code(const relax_context *ctx, size_t index)
{
    const rlx_diag *d = diag_at(ctx, index);
    return d && d->code ? d->code->name : NULL;
}

const char *relax_diagnostic_message(const relax_context *ctx, size_t index, size_t *len)
{
    const rlx_diag *d = diag_at(ctx, index);
    if (len)
        *len = d ? d->len : 0;
    return d ? d->message : NULL;
}

relax_place relax_diagnostic_place(const relax_context *ctx, size_t index)
{
    const rlx_diag *d = diag_at(ctx, index);
    return d ? d->place : RLX_NO_PLACE;
}

size_t relax_diagnostic_num_notes(const relax_context *ctx, size_t index)
{
    const rlx_diag *d = diag_at(ctx, index);
    return d ? d->num_labels : 0;
}

const char *relax_diagnostic_note(const relax_context *ctx, size_t index, size_t note, size_t *len,
                                  relax_place *place)
{
    const rlx_diag *d = diag_at(ctx, index);
    const rlx_label *label = d && note < d->num_labels ? &d->labels[note] : NULL;
    if (len)
        *len = label ? label->len : 0;
    if (place)
        *place = label ? label->place : RLX_NO_PLACE;
    return label ? label->text : NULL;
}

relax_bytes *relax_diagnostic_render(relax_context *ctx, size_t index)
{
    const rlx_diag *d = diag_at(ctx, index);
    rlx_api_bytes b;
    if (!d || !rlx_api_bytes_begin(&b, ctx))
        return NULL;
    rlx_diag_render(&ctx->diags, d, &b.buf, true);
    return rlx_api_bytes_end(&b);
}

relax_bytes *relax_diagnostic_json(relax_context *ctx, size_t index)
{
    const rlx_diag *d = diag_at(ctx, index);
    rlx_api_bytes b;
    if (!d || !rlx_api_bytes_begin(&b, ctx))
        return NULL;
    rlx_diag_render_json(&ctx->diags, d, &b.buf);
    return rlx_api_bytes_end(&b);
}

relax_status relax_context_mute(relax_context *ctx, const char *code, size_t code_len)
{
    if (!RLX_API_CONTEXT(ctx) || !code)
        return RELAX_ERROR_INVALID_ARGUMENT;
    const rlx_code *row = rlx_code_find((rlx_slice){ code, code_len });
    if (!row)
        return RELAX_ERROR_NOT_FOUND;
    return rlx_diags_mute(&ctx->diags, row) ? RELAX_OK : RELAX_ERROR_OUT_OF_MEMORY;
}

/* ---- hosts that listen */

typedef struct listener {
    rlx_context *ctx;
    void (*fn)(void *user, relax_context *ctx, size_t index);
    void *user;
    void (*destroy)(void *user);
    bool busy; /* it is being told something */
} listener;

static void tell(void *user, const rlx_diag *d)
{
    listener *l = user;
    size_t index = 0;
    if (l->busy)
        return;
    for (const rlx_diag *p = l->ctx->diags.first; p && p != d; p = p->next)
        index++;
    l->busy = true;
    l->fn(l->user, l->ctx, index);
    l->busy = false;
}

/* While it listens a host may only look: what called is at work with the diagnostics. */
static bool is_listening(const relax_context *ctx)
{
    const listener *l = ctx->rooms[RLX_ROOM_API].state;
    return l && l->busy;
}

static void drop_listener(rlx_context *ctx, void *state)
{
    listener *l = state;
    if (!l)
        return;
    rlx_diags_flush(&ctx->diags);
    ctx->diags.live = NULL;
    if (l->destroy)
        l->destroy(l->user);
    rlx_mem_free(&ctx->memory, l, sizeof *l);
}

relax_status relax_context_on_diagnostic(relax_context *ctx,
                                         void (*fn)(void *user, relax_context *ctx, size_t index),
                                         void *user, void (*destroy)(void *user))
{
    bool is = RLX_API_CONTEXT(ctx) && !is_listening(ctx);
    listener *l = is && fn ? rlx_mem_alloc(&ctx->memory, sizeof *l) : NULL;
    if (!is || (fn && !l)) {
        if (destroy)
            destroy(user);
        return is ? RELAX_ERROR_OUT_OF_MEMORY : RELAX_ERROR_INVALID_ARGUMENT;
    }
    drop_listener(ctx, ctx->rooms[RLX_ROOM_API].state);
    ctx->rooms[RLX_ROOM_API] = (rlx_room_state){ l, NULL, drop_listener };
    if (l) {
        *l = (listener){ ctx, fn, user, destroy, false };
        ctx->diags.live = tell;
        ctx->diags.live_user = l;
    }
    return RELAX_OK;
}

void relax_context_clear_diagnostics(relax_context *ctx)
{
    if (!RLX_API_CONTEXT(ctx) || is_listening(ctx))
        return;
    rlx_diags_flush(&ctx->diags);
    ctx->newest = NULL;
    rlx_diags_clear(&ctx->diags);
}
