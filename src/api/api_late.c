/* api_late.c: compiling what a VM asks for when an operator meets operands that only the run knows. It
 * asks in text: a static link without the text form has vm/no_late_compiler.c instead. */
#include <relax/compile.h>
#include <relax/text.h>
#include "api/api_int.h"
#include "vm/vm.h"

static const relax_late_options defaults = { .struct_size = sizeof(relax_late_options) };

relax_status relax_late_options_init(relax_late_options *options, size_t struct_size)
{
    return rlx_options_init(options, struct_size, &defaults, sizeof defaults);
}

const struct rlx_late_text rlx_late_text = { relax_late_compile, rlx_api_print_late };

static void explain(const relax_late_request *request, const char *text)
{
    request->explain(request->reply, text, strlen(text));
}

/* The first error, which is the cause of those behind it. */
static relax_status say_why(const relax_context *ctx, const relax_late_request *request)
{
    for (size_t i = 0; i < relax_context_num_diagnostics(ctx); i++) {
        size_t len = 0;
        const char *text = relax_diagnostic_message(ctx, i, &len);
        if (relax_diagnostic_severity(ctx, i) != RELAX_SEVERITY_ERROR)
            continue;
        request->explain(request->reply, text, len);
        break;
    }
    return relax_context_status(ctx);
}

static int32_t is_cancelled(void *user)
{
    const relax_late_request *request = user;
    return request->cancelled(request->reply);
}

static relax_status compile_in(relax_context *ctx, const relax_late_options *o,
                               const relax_late_request *request)
{
    relax_compile_options how;
    relax_compile_options_init(&how, sizeof how);
    if (o->compile && !rlx_options_read(&how, sizeof how, o->compile)) {
        explain(request, "malformed compile options");
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    ctx->share_none = request->brief;
    if (request->brief) { /* and no compiler is started */
        how.opt_level = 0;
        how.target = NULL;
    }
    how.after_pass = NULL;
    how.load = NULL;
    how.cancelled = is_cancelled;
    how.user = (void *)(uintptr_t)request;
    relax_status status = o->prepare ? o->prepare(o->user, ctx) : RELAX_OK;
    if (status != RELAX_OK)
        return status;
    const relax_module *m =
        relax_module_parse(ctx, "late", 4, request->program, request->program_len);
    if (is_cancelled(how.user))
        return RELAX_ERROR_CANCELLED;
    rlx_blob *file = m ? rlx_api_compile_late(ctx, m, &how) : NULL;
    if (!file)
        return say_why(ctx, request);
    request->deliver(request->reply, file->data, file->size);
    rlx_blob_release(file);
    return RELAX_OK;
}

relax_status relax_late_compile(void *user, const relax_late_request *request)
{
    relax_late_options o = defaults;
    relax_context_options c;
    if (!request || request->struct_size < sizeof *request || !request->program ||
        !request->deliver || !request->explain || !request->cancelled)
        return RELAX_ERROR_INVALID_ARGUMENT;
    relax_context_options_init(&c, sizeof c);
    if (!rlx_options_read(&o, sizeof o, user)) {
        explain(request, "malformed options of the late compiler");
        return RELAX_ERROR_INVALID_ARGUMENT;
    }
    c.allocator = o.allocator ? o.allocator : request->allocator;
    relax_context *ctx = relax_context_create(&c);
    if (!ctx)
        return RELAX_ERROR_OUT_OF_MEMORY;
    relax_status status = compile_in(ctx, &o, request);
    relax_context_release(ctx);
    return status;
}
