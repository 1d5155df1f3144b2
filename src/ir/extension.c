/* extension.c: the table of what a host has added. */
/* built for size */
#include "ir/ir_int.h"

rlx_extensions *rlx_extensions_of(rlx_context *ctx)
{
    if (ctx->extensions)
        return ctx->extensions;
    rlx_extensions *h = rlx_mem_alloc_zero(&ctx->memory, sizeof *h);
    if (!h)
        return NULL;
    rlx_region_init(&h->region, &ctx->memory);
    return ctx->extensions = h;
}

static void drop_row(const rlx_extension_row *row)
{
    if (row->destroy)
        row->destroy(row->user);
}

void rlx_extension_destroy(rlx_context *ctx)
{
    rlx_extensions *h = ctx->extensions;
    if (!h)
        return;
    ctx->extensions = NULL;
    for (size_t i = 0; i < h->kinds.len; i++)
        drop_row(&h->kinds.data[i]->row);
    for (size_t i = 0; i < h->ops.len; i++)
        drop_row(&h->ops.data[i]->row);
    for (size_t i = 0; i < h->derives.len; i++)
        drop_row(&h->derives.data[i]->row);
    for (size_t i = 0; i < h->fronts.len; i++)
        drop_row(h->fronts.data[i]);
    rlx_vec_free(&ctx->memory, &h->fronts);
    rlx_vec_free(&ctx->memory, &h->kinds);
    rlx_vec_free(&ctx->memory, &h->ops);
    rlx_vec_free(&ctx->memory, &h->derives);
    rlx_region_drop(&h->region);
    rlx_mem_free(&ctx->memory, h, sizeof *h);
}

/* A host adds a handful. */
const rlx_extension_kind *rlx_extension_kind_find(const rlx_context *ctx, rlx_slice name)
{
    const rlx_extensions *h = ctx->extensions;
    for (size_t i = 0; h && i < h->kinds.len; i++)
        if (rlx_slice_equal(h->kinds.data[i]->row.name, name))
            return h->kinds.data[i];
    return NULL;
}

const rlx_extension_kind *rlx_extension_kind_of(const rlx_context *ctx, const rlx_sinfo *info)
{
    const rlx_extension_sinfo *s = rlx_as_extension_sinfo(info);
    return s ? rlx_extension_kind_find(ctx, rlx_string_slice(s->name)) : NULL;
}

const rlx_extension_op *rlx_extension_op_find(const rlx_context *ctx, rlx_slice name)
{
    const rlx_extensions *h = ctx->extensions;
    for (size_t i = 0; h && i < h->ops.len; i++)
        if (rlx_slice_equal(h->ops.data[i]->row.name, name))
            return h->ops.data[i];
    return NULL;
}

const rlx_extension_derive *rlx_extension_derive_find(const rlx_context *ctx, rlx_slice name)
{
    const rlx_extensions *h = ctx->extensions;
    for (size_t i = 0; h && i < h->derives.len; i++)
        if (rlx_slice_equal(h->derives.data[i]->row.name, name))
            return h->derives.data[i];
    return NULL;
}

const char *rlx_derive_operator(rlx_slice name)
{
    static const struct { const char *name, *op;
    } known[] = {
        { "tvm.relax.struct_info.infer_view_sinfo", "relax.memory.view" },
        { "tvm.relax.type.infer_view_ty", "relax.memory.view" },
    };
    for (size_t i = 0; i < RLX_COUNT(known); i++)
        if (rlx_slice_is(name, known[i].name))
            return known[i].op;
    return NULL;
}

bool rlx_extension_enter(rlx_context *ctx, const struct rlx_scope *scope, rlx_extension_call *c)
{
    rlx_extensions *h = ctx->extensions;
    *c = (rlx_extension_call){ h->scope, rlx_errors_mark(ctx) };
    if (h->depth >= RLX_EXTENSION_DEPTH) {
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "callbacks of the host call each other %d deep",
                  RLX_EXTENSION_DEPTH);
        return false;
    }
    h->depth++;
    h->scope = scope;
    ctx->holders++;
    return true;
}

void rlx_extension_leave(rlx_context *ctx, const rlx_extension_call *c)
{
    ctx->extensions->depth--;
    ctx->extensions->scope = c->outer;
    ctx->holders--;
}

void rlx_extension_say(rlx_extension_view *view, rlx_slice text)
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

void rlx_extension_failed(rlx_context *ctx, const rlx_extension_call *c, const char *what,
                          rlx_slice name)
{
    if (!rlx_errors_since(ctx, c->errors))
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "%s of %.*s failed without saying why", what,
                  (int)name.len, name.data);
}

int32_t rlx_extension_ask(rlx_context *ctx, const struct rlx_scope *scope,
                          const rlx_extension_kind *k, rlx_extension_question *callback,
                          const char *what, int32_t most, const rlx_sinfo *a, const rlx_sinfo *b)
{
    rlx_extension_call call;
    if (!rlx_extension_enter(ctx, scope, &call))
        return -1;
    int32_t answer = callback(k, ctx, a, b);
    rlx_extension_leave(ctx, &call);
    if (answer >= 0 && answer <= most)
        return answer;
    if (answer < 0)
        rlx_extension_failed(ctx, &call, what, k->row.name);
    else
        rlx_error(ctx, RLX_OP17, RLX_NO_PLACE, "%s of %.*s answered %d, expected 0 to %d", what,
                  (int)k->row.name.len, k->row.name.data, (int)answer, (int)most);
    return -1;
}

static bool default_arguments(rlx_extension_sink *sink)
{
    const rlx_extension_sinfo *s = rlx_as_extension_sinfo(sink->info);
    sink->args.len = 0;
    for (size_t i = 0; i < s->num_operands; i++)
        if (!rlx_vec_push(sink->memory, &sink->args,
                          ((rlx_extension_argument){ .operand = &s->operands[i] })))
            return false;
    return true;
}

bool rlx_extension_arguments(rlx_memory *m, const rlx_sinfo *s, rlx_extension_sink *sink)
{
    const rlx_extension_kind *k = rlx_as_extension_sinfo(s)->row;
    *sink = (rlx_extension_sink){ .node.id = RLX_EXTENSION_SINK_ID, .memory = m, .info = s };
    if (k && k->print && k->print(k, s, sink) && !sink->failed)
        return true;
    return default_arguments(sink);
}
