/* api_relay.c: bodies of relax/relay.h. The only file here that calls relay, so that a static link
 * without it works. */
#include <relax/relay.h>
#include "api/api_int.h"

#include "relay/relay.h"

struct relax_relay_module {
    RLX_API_TAG
    rlx_context *ctx;
    rlx_relay_module *module;
    bool failed;             /* to infer its types */
};

relax_relay_module *relax_relay_module_parse(relax_context *ctx, const char *name, size_t name_len,
                                      const char *text, size_t text_len)
{
    rlx_slice slice;
    if (!RLX_API_CONTEXT(ctx) || !rlx_api_text(ctx, name, name_len, "name", &slice) ||
        (text_len && !rlx_api_required(ctx, text, "text")))
        return NULL;
    uint32_t source = rlx_diags_add_read_source(&ctx->diags, slice, text ? text : "", text_len);
    if (!source) {
        rlx_error(ctx, RLX_OP18, RLX_NO_PLACE,
                  "%.*s is too large to read, or there are too many sources", rlx_api_width(slice),
                  slice.data);
        return give(ctx, NULL);
    }
    rlx_float_env host = rlx_float_enter();
    rlx_relay_module *read = rlx_relay_parse(ctx, source);
    rlx_float_leave(host);
    relax_relay_module *m = read ? rlx_mem_alloc_zero(&ctx->memory, sizeof *m) : NULL;
    if (!m) {
        rlx_relay_free(read);
        return give(ctx, NULL);
    }
    RLX_API_SET_TAG(m, API_RELAY);
    m->ctx = rlx_api_hold(ctx);
    m->module = read;
    return give(ctx, m);
}

void relax_relay_module_destroy(relax_relay_module *module)
{
    if (!RLX_API_IS(module, API_RELAY))
        return;
    relax_context *ctx = module->ctx;
    rlx_relay_free(module->module);
    RLX_API_SET_TAG(module, API_GONE);
    rlx_mem_free(&ctx->memory, module, sizeof *module);
    rlx_api_let_go(ctx);
}

relax_status relax_relay_module_infer(relax_relay_module *module)
{
    if (!RLX_API_IS(module, API_RELAY))
        return RELAX_ERROR_INVALID_ARGUMENT;
    if (module->failed)
        return RELAX_ERROR_ILL_FORMED;
    size_t errors = rlx_error_count(module->ctx);
    rlx_float_env host = rlx_float_enter();
    bool ok = rlx_relay_infer(module->module);
    rlx_float_leave(host);
    module->failed = !ok;
    return give_status(module->ctx, ok ? RELAX_OK : rlx_api_failed(module->ctx, errors));
}

relax_module *relax_relay_module_translate(relax_relay_module *module)
{
    if (!RLX_API_IS(module, API_RELAY))
        return NULL;
    if (relax_relay_module_infer(module) != RELAX_OK)
        return NULL;
    rlx_float_env host = rlx_float_enter();
    const rlx_module *made = rlx_relay_translate(module->module);
    rlx_float_leave(host);
    return give(module->ctx, (relax_module *)(uintptr_t)made);
}

relax_bytes *relax_relay_module_print(relax_relay_module *module)
{
    rlx_api_bytes b;
    if (!RLX_API_IS(module, API_RELAY) || !rlx_api_bytes_begin(&b, module->ctx))
        return NULL;
    rlx_relay_print(module->module, &b.buf);
    return rlx_api_bytes_end(&b);
}

/* ---- questions -------------------------------------------------------------------------------- */

/* The module with its types; NULL: it is none, or has mistakes. */
static rlx_relay_module *inferred(relax_relay_module *module)
{
    return relax_relay_module_infer(module) == RELAX_OK ? module->module : NULL;
}

static relax_bytes *show_type(relax_relay_module *module, const rlx_relay_type *t)
{
    rlx_api_bytes b;
    if (!t || !rlx_api_bytes_begin(&b, module->ctx))
        return NULL;
    rlx_relay_print_type(t, &b.buf);
    return rlx_api_bytes_end(&b);
}

relax_bytes *relax_relay_module_type_at(relax_relay_module *module, uint32_t line, uint32_t column)
{
    rlx_relay_module *m = inferred(module);
    return m ? show_type(module, rlx_relay_type_at(m, line, column)) : NULL;
}

relax_bytes *relax_relay_module_type_of(relax_relay_module *module, const char *name, size_t name_len)
{
    rlx_relay_module *m = inferred(module);
    rlx_slice slice;
    if (!m || !rlx_api_text(module->ctx, name, name_len, "name", &slice))
        return NULL;
    return show_type(module, rlx_relay_type_of(m, slice));
}

const char *relax_relay_module_kind_of(relax_relay_module *module, const char *type, size_t type_len)
{
    rlx_relay_module *m = inferred(module);
    rlx_slice slice;
    if (!m || !rlx_api_text(module->ctx, type, type_len, "type", &slice))
        return NULL;
    return rlx_relay_kind_of(m, slice);
}
