/* text.c: TVMScript in and out. The only file of this room that calls script, so that a static
 * link without text works. */
#include <relax/text.h>
#include "api/api_int.h"

#include "analysis/analysis.h"
#include "analysis/well_formed.h"
#include "script/print.h"
#include "script/read.h"

void rlx_api_print_late(rlx_memory *m, const rlx_node *n, rlx_buf *out)
{
    rlx_print_options options = { .standalone = true };
    rlx_script_print(m, n, &options, out);
}

static uint32_t add_source(relax_context *ctx, const char *name, size_t name_len, const char *text,
                           size_t text_len)
{
    rlx_slice slice;
    if (!rlx_api_text(ctx, name, name_len, "name", &slice) ||
        (text_len && !rlx_api_required(ctx, text, "text")))
        return 0;
    uint32_t source = rlx_diags_add_read_source(&ctx->diags, slice, text ? text : "", text_len);
    if (!source)
        rlx_error(ctx, RLX_OP18, RLX_NO_PLACE,
                  "%.*s is too large to read, or there are too many sources", rlx_api_width(slice),
                  slice.data);
    return source;
}

relax_module *relax_module_parse(relax_context *ctx, const char *name, size_t name_len,
                                 const char *text, size_t text_len)
{
    rlx_parsed parsed = { 0 };
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    uint32_t source = add_source(ctx, name, name_len, text, text_len);
    rlx_float_env host = rlx_float_enter();
    size_t errors = rlx_error_count(ctx);
    bool read = source && rlx_script_parse(ctx, source, NULL, &parsed);
    const rlx_module *m = read ? parsed.module : parsed.damaged;
    /* What reading has not found is found as well, so that one run tells all. */
    if (m && rlx_error_count(ctx) != errors)
        rlx_well_formed_too(ctx, m);
    rlx_float_leave(host);
    if (!read)
        return give(ctx, NULL);
    /* The module was made a moment ago and nobody else has seen it. */
    if (parsed.module && parsed.standalone)
        ((rlx_node *)(uintptr_t)parsed.module)->flags |= RLX_FLAG_STANDALONE;
    if (parsed.module && rlx_error_count(ctx) != errors)
        ((rlx_node *)(uintptr_t)parsed.module)->flags |= RLX_FLAG_AFTER_ERROR;
    return give(ctx, parsed.module);
}

relax_struct_info *relax_struct_info_parse(relax_context *ctx, const char *text, size_t text_len,
                                           const relax_prim_expr *const *vars, size_t num_vars)
{
    if (!RLX_API_CONTEXT(ctx))
        return NULL;
    bool ok =
        rlx_api_required(ctx, text, "text") &&
        rlx_api_family_array(ctx, (const void *const *)vars, num_vars, RLX_FAMILY_PRIM, "vars");
    for (size_t i = 0; ok && i < num_vars; i++)
        if (node_of(vars[i])->kind != RLX_NODE_PRIM_VAR)
            ok = rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "item %zu of vars is no variable", i) !=
                 NULL;
    uint32_t source = ok ? add_source(ctx, "<annotation>", 12, text, text_len) : 0;
    return give(
        ctx, source ? rlx_script_parse_sinfo(
                          ctx, source, (const rlx_prim_var *const *)(const void *)vars, num_vars)
                    : NULL);
}

int32_t relax_module_is_standalone(const relax_module *module)
{
    const rlx_node *n = node_of(module);
    return rlx_as_module(n) && n->flags & RLX_FLAG_STANDALONE ? 1 : 0;
}

static const relax_print_options print_defaults = { .struct_size = sizeof(relax_print_options),
                                                    .metadata = 1,
                                                    .struct_info = 1 };

relax_status relax_print_options_init(relax_print_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &print_defaults, sizeof print_defaults);
}

/* A module is printed as a class: its name must be one of Python's. */
static bool is_class_name(const char *name)
{
    size_t n = 0;
    while (name[n] == '_' || (name[n] >= 'a' && name[n] <= 'z') ||
           (name[n] >= 'A' && name[n] <= 'Z') || (n && name[n] >= '0' && name[n] <= '9'))
        n++;
    return n && !name[n];
}

static bool read_print_options(const relax_print_options *given, relax_print_options *o)
{
    *o = print_defaults;
    return rlx_options_read(o, sizeof *o, given) && o->dialect >= RELAX_DIALECT_0_20 &&
           o->dialect <= RELAX_DIALECT_0_27 &&
           (!o->module_name || is_class_name(o->module_name));
}

enum { LEAST_LIMIT = 32 << 20 }; /* bytes of text that any context may print */

/* Why there is no text; its trace is the place where the limit was met. */
static relax_status refuse(const relax_context *ctx, const relax_print_options *o,
                           rlx_shared_memory *memory, rlx_place stopped)
{
    rlx_fault why;
    rlx_buf at;
    rlx_fail(&why, RLX_OP18,
             "the text has more than %zu bytes: parts that are shared are written out wherever "
             "they are used", o->max_bytes);
    if (!o->error)
        return rlx_fault_status(&why, NULL);
    rlx_buf_init(&at, &memory->memory);
    rlx_diags_put_place(&ctx->diags, stopped, &at);
    *o->error = rlx_error_make(memory, &why, (rlx_slice){ "", 0 },
                               (rlx_slice){ at.data, at.len }, NULL);
    rlx_buf_free(&at);
    return (*o->error)->status;
}

static relax_status print_node(relax_context *ctx, const rlx_node *node,
                               const relax_print_options *o, relax_bytes **out)
{
    const void *module = node;
    rlx_print_options inner = { .standalone = o->standalone || relax_module_is_standalone(module),
                                .no_metadata = !o->metadata,
                                .no_struct_info = !o->struct_info,
                                .newer = o->dialect == RELAX_DIALECT_0_27,
                                .module_name = o->module_name,
                                .max_bytes = o->max_bytes };
    rlx_api_bytes b;
    if (!rlx_api_bytes_begin(&b, ctx))
        return rlx_error_no_memory(o->error);
    rlx_place stopped = rlx_script_print(&b.memory->memory, node, &inner, &b.buf);
    relax_status status = b.buf.too_large ? refuse(ctx, o, b.memory, stopped) : RELAX_OK;
    *out = rlx_api_bytes_end(&b);
    return *out || status ? status : rlx_error_no_memory(o->error);
}

/* Diagnostics are not written: printing may run beside other readers of the context. */
static relax_status print(relax_context *ctx, const relax_node *node,
                          const relax_print_options *options, relax_bytes **out)
{
    relax_print_options o;
    *out = NULL;
    if (!RLX_API_READS(ctx) || !node || node_of(node)->kind <= RLX_NODE_NONE ||
        node_of(node)->kind >= RLX_NODE_COUNT || !read_print_options(options, &o))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (!o.max_bytes)
        o.max_bytes = LEAST_LIMIT + rlx_context_bytes(ctx);
    return print_node(ctx, node_of(node), &o, out);
}

relax_bytes *relax_node_print(relax_context *ctx, const relax_node *node,
                              const relax_print_options *options)
{
    relax_bytes *text;
    print(ctx, node, options, &text);
    return text;
}

relax_status relax_node_print_to(relax_context *ctx, const relax_node *node,
                                 const relax_print_options *options,
                                 int32_t (*write)(void *user, const char *data, size_t size),
                                 void *user)
{
    enum { PIECE = 1 << 16 };
    relax_bytes *text = NULL;
    relax_status status = write ? print(ctx, node, options, &text) : RELAX_ERROR_INVALID_ARGUMENT;
    size_t size = relax_bytes_size(text);
    for (size_t at = 0; at < size && status == RELAX_OK; at += PIECE) {
        size_t piece = size - at < PIECE ? size - at : PIECE;
        if (write(user, relax_bytes_data(text) + at, piece))
            status = RELAX_ERROR_CANCELLED;
    }
    relax_bytes_release(text);
    return status;
}
