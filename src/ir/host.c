/* host.c: the table of what a host has added. */
#include "ir/ir_int.h"

rlx_host *rlx_host_of(rlx_context *ctx)
{
    if (ctx->host)
        return ctx->host;
    rlx_host *h = rlx_mem_alloc_zero(&ctx->memory, sizeof *h);
    if (!h)
        return rlx_no_memory(ctx), NULL;
    rlx_region_init(&h->region, &ctx->memory);
    return ctx->host = h;
}

static void drop_row(const rlx_host_row *row)
{
    if (row->destroy)
        row->destroy(row->user);
}

void rlx_host_destroy(rlx_context *ctx)
{
    rlx_host *h = ctx->host;
    if (!h)
        return;
    ctx->host = NULL;
    for (size_t i = 0; i < h->kinds.len; i++)
        drop_row(&h->kinds.data[i]->row);
    for (size_t i = 0; i < h->ops.len; i++)
        drop_row(&h->ops.data[i]->row);
    for (size_t i = 0; i < h->derives.len; i++)
        drop_row(&h->derives.data[i]->row);
    rlx_vec_free(&ctx->memory, &h->kinds);
    rlx_vec_free(&ctx->memory, &h->ops);
    rlx_vec_free(&ctx->memory, &h->derives);
    rlx_region_drop(&h->region);
    rlx_mem_free(&ctx->memory, h, sizeof *h);
}

/* A host adds a handful. */
const rlx_host_kind *rlx_host_kind_find(const rlx_context *ctx, rlx_slice name)
{
    const rlx_host *h = ctx->host;
    for (size_t i = 0; h && i < h->kinds.len; i++)
        if (rlx_slice_equal(h->kinds.data[i]->row.name, name))
            return h->kinds.data[i];
    return NULL;
}

const rlx_host_kind *rlx_host_kind_of(const rlx_context *ctx, const rlx_sinfo *info)
{
    const rlx_host_sinfo *s = rlx_as_host_sinfo(info);
    return s ? rlx_host_kind_find(ctx, rlx_string_slice(s->name)) : NULL;
}

const rlx_host_op *rlx_host_op_find(const rlx_context *ctx, rlx_slice name)
{
    const rlx_host *h = ctx->host;
    for (size_t i = 0; h && i < h->ops.len; i++)
        if (rlx_slice_equal(h->ops.data[i]->row.name, name))
            return h->ops.data[i];
    return NULL;
}

const rlx_host_derive *rlx_host_derive_find(const rlx_context *ctx, rlx_slice name)
{
    const rlx_host *h = ctx->host;
    for (size_t i = 0; h && i < h->derives.len; i++)
        if (rlx_slice_equal(h->derives.data[i]->row.name, name))
            return h->derives.data[i];
    return NULL;
}

bool rlx_host_enter(rlx_context *ctx, const struct rlx_scope *scope, rlx_host_call *c)
{
    rlx_host *h = ctx->host;
    *c = (rlx_host_call){ h->scope, rlx_errors_mark(ctx) };
    if (h->depth >= RLX_HOST_DEPTH) {
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "callbacks of the host call each other %d deep",
                  RLX_HOST_DEPTH);
        return false;
    }
    h->depth++;
    h->scope = scope;
    ctx->holders++;
    return true;
}

void rlx_host_leave(rlx_context *ctx, const rlx_host_call *c)
{
    ctx->host->depth--;
    ctx->host->scope = c->outer;
    ctx->holders--;
}

void rlx_host_say(rlx_host_view *view, rlx_slice text)
{
    rlx_context *ctx = view->ctx;
    int len = (int)(text.len < INT32_MAX ? text.len : 0);
    char *copy = rlx_new(ctx, text.len + 1);
    view->failed = true;
    if (!copy)
        return;
    memcpy(copy, text.data, text.len);
    copy[text.len] = 0;
    view->why = copy;
    if (!view->quiet)
        rlx_error(ctx, view->code, view->call->place, "%.*s: %.*s", (int)view->subject.len,
                  view->subject.data, len, text.data);
}

void rlx_host_failed(rlx_context *ctx, const rlx_host_call *c, const char *what, rlx_slice name)
{
    if (!rlx_errors_since(ctx, c->errors))
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "%s of %.*s failed without saying why", what,
                  (int)name.len, name.data);
}

int32_t rlx_host_ask(rlx_context *ctx, const struct rlx_scope *scope, const rlx_host_kind *k,
                     rlx_host_question *callback, const char *what, int32_t most,
                     const rlx_sinfo *a, const rlx_sinfo *b)
{
    rlx_host_call call;
    if (!rlx_host_enter(ctx, scope, &call))
        return -1;
    int32_t answer = callback(k, ctx, a, b);
    rlx_host_leave(ctx, &call);
    if (answer >= 0 && answer <= most)
        return answer;
    if (answer < 0)
        rlx_host_failed(ctx, &call, what, k->row.name);
    else
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "%s of %.*s answered %d, expected 0 to %d", what,
                  (int)k->row.name.len, k->row.name.data, (int)answer, (int)most);
    return -1;
}

static bool default_arguments(rlx_host_sink *sink)
{
    const rlx_host_sinfo *s = rlx_as_host_sinfo(sink->info);
    sink->args.len = 0;
    for (size_t i = 0; i < s->num_operands; i++)
        if (!rlx_vec_push(sink->memory, &sink->args,
                          ((rlx_host_argument){ .operand = &s->operands[i] })))
            return false;
    return true;
}

bool rlx_host_arguments(rlx_memory *m, const rlx_sinfo *s, rlx_host_sink *sink)
{
    const rlx_host_kind *k = rlx_as_host_sinfo(s)->row;
    *sink = (rlx_host_sink){ .node.id = RLX_HOST_SINK_ID, .memory = m, .info = s };
    if (k && k->print && k->print(k, s, sink) && !sink->failed)
        return true;
    return default_arguments(sink);
}
