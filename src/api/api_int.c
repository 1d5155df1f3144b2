/* api_int.c: argument checks shared by the bodies. */
#include "api/api_int.h"

#include <stdio.h>
#include <string.h>

relax_status rlx_api_failed(rlx_context *ctx, size_t errors_before)
{
    rlx_diags_flush(&ctx->diags);
    if (ctx->diags.out_of_memory)
        return RELAX_ERROR_OUT_OF_MEMORY;
    if (rlx_error_count(ctx) == errors_before)
        return RELAX_OK;
    const rlx_diag *newest = NULL;
    for (const rlx_diag *d = ctx->diags.first; d; d = d->next)
        newest = d->severity == RLX_SEVERITY_ERROR ? d : newest;
    return newest && newest->code ? newest->code->status : RELAX_ERROR_INTERNAL;
}

int rlx_api_width(rlx_slice text)
{
    enum { SHOWN = 200 };
    size_t n = text.len < SHOWN ? text.len : SHOWN;
    while (n && n < text.len &&
           ((unsigned char)text.data[n] & 0xc0) == 0x80) /* not in the middle of a character */
        n--;
    return (int)n;
}

/* Debug builds name the call. */
static void *misused(rlx_context *ctx, enum rlx_code_id code, const char *format, ...)
    RLX_PRINTF(3, 4);
static void *misused(rlx_context *ctx, enum rlx_code_id code, const char *format, ...)
{
    va_list args;
#ifdef RLX_DEBUG
    char named[200];
    snprintf(named, sizeof named, "%s: %s", ctx->call ? ctx->call : "a call", format);
    format = named;
#endif
    va_start(args, format);
    rlx_verror(ctx, code, RLX_NO_PLACE, format, args);
    va_end(args);
    return NULL;
}

/* A node that is missing after a mistake most likely is what that mistake did not give: it is
 * counted, and not said again. */
static bool missing_node(rlx_context *ctx, const char *what)
{
    if (rlx_error_count(ctx))
        rlx_diags_follow(&ctx->diags);
    else
        misused(ctx, RLX_OP01, "%s is NULL", what);
    return false;
}

bool rlx_api_required(rlx_context *ctx, const void *p, const char *what)
{
    if (RLX_LIKELY(p != NULL))
        return true;
    misused(ctx, RLX_OP01, "%s is NULL", what);
    return false;
}

bool rlx_api_options(rlx_context *ctx, void *o, size_t size, const void *options,
                     const char *what)
{
    if (!rlx_api_required(ctx, options, "options"))
        return false;
    if (rlx_options_read(o, size, options))
        return true;
    misused(ctx, RLX_OP05, "malformed %s", what);
    return false;
}

bool rlx_api_array(rlx_context *ctx, const void *const *items, size_t count, const char *what)
{
    if (count && !rlx_api_required(ctx, items, what))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (items[i])
            continue;
        misused(ctx, RLX_OP01, "item %zu of %s is NULL", i, what);
        return false;
    }
    return true;
}

bool rlx_api_text(rlx_context *ctx, const char *text, size_t len, const char *what, rlx_slice *out)
{
    *out = (rlx_slice){ text ? text : "", len };
    if (len && !rlx_api_required(ctx, text, what))
        return false;
    if (!len || (len <= SIZE_MAX / 2 && rlx_utf8_valid(text, len) == len && !memchr(text, 0, len)))
        return true;
    if (len > SIZE_MAX / 2)
        return misused(ctx, RLX_OP03, "the length of %s is not counted: strlen(text), or RELAX_STR",
                       what) != NULL;
    misused(ctx, RLX_OP04, "%s is not UTF-8 or holds a NUL byte", what);
    return false;
}

bool rlx_api_name(rlx_context *ctx, const char *text, size_t len, const char *what, rlx_slice *out)
{
    if (!rlx_api_required(ctx, text, what) || !rlx_api_text(ctx, text, len, what, out))
        return false;
    if (len)
        return true;
    misused(ctx, RLX_OP03, "%s is empty", what);
    return false;
}

bool rlx_api_function_name(rlx_context *ctx, const char *text, size_t len, const char *what,
                           rlx_slice *out)
{
    if (!rlx_api_name(ctx, text, len, what, out))
        return false;
    if (rlx_is_identifier(*out))
        return true;
    misused(ctx, RLX_OP03,
            "%s is \"%.*s\", expected letters, digits and '_', no digit first and "
            "no word of Python: text could not name it",
            what, rlx_api_width(*out), out->data);
    return false;
}

bool rlx_api_name_or_null(rlx_context *ctx, const char *text, size_t len, const char *what,
                          const rlx_string **out)
{
    rlx_slice slice;
    *out = NULL;
    if (!text || !len)
        return true;
    if (!rlx_api_text(ctx, text, len, what, &slice))
        return false;
    *out = rlx_string_intern(ctx, slice);
    return *out != NULL;
}

bool rlx_api_owns(rlx_context *ctx, const void *node)
{
    for (int i = 0; i < RLX_MAX_LAYERS; i++)
        if (rlx_region_owns(&ctx->layers[i].region, node))
            return true;
    return false;
}

static bool is_of(rlx_context *ctx, const void *node, const char *what)
{
    if (RLX_LIKELY(rlx_api_owns(ctx, node)))
        return true;
    return misused(ctx, RLX_OP02, "%s belongs to another context, or is no node any more", what) !=
           NULL;
}

static bool is_known(const rlx_node *n)
{
    return n->kind > RLX_NODE_NONE && n->kind < RLX_NODE_COUNT;
}

static bool is_of_family(const rlx_node *n, enum rlx_family family)
{
    return is_known(n) && rlx_kinds[n->kind].family == family;
}

bool rlx_api_is(rlx_context *ctx, const void *node, enum rlx_family family)
{
    return node && rlx_api_owns(ctx, node) && is_of_family(node, family);
}

bool rlx_api_family(rlx_context *ctx, const void *node, enum rlx_family family, const char *what)
{
    if (!node)
        return missing_node(ctx, what);
    if (!is_of(ctx, node, what))
        return false;
    const rlx_node *n = node;
    if (RLX_LIKELY(is_of_family(n, family)))
        return true;
    misused(ctx, RLX_OP02, "%s is a node of another family: %s", what,
            is_known(n) ? rlx_kinds[n->kind].name : "damaged");
    return false;
}

bool rlx_api_node(rlx_context *ctx, const void *node, const char *what)
{
    return node ? is_of(ctx, node, what) : missing_node(ctx, what);
}

bool rlx_api_family_array(rlx_context *ctx, const void *const *nodes, size_t count,
                          enum rlx_family family, const char *what)
{
    if (count && !rlx_api_required(ctx, nodes, what))
        return false;
    for (size_t i = 0; i < count; i++) {
        if (RLX_LIKELY(rlx_api_is(ctx, nodes[i], family)))
            continue;
        char item[64];
        snprintf(item, sizeof item, "item %zu of %s", i, what);
        return rlx_api_family(ctx, nodes[i], family, item);
    }
    return true;
}

bool rlx_api_map_or_null(rlx_context *ctx, const relax_attr *attr, const char *what)
{
    if (!attr)
        return true;
    if (!is_of(ctx, attr, what))
        return false;
    if (node_of(attr)->kind == RLX_NODE_ATTRS)
        return true;
    misused(ctx, RLX_OP02, "%s is not a map", what);
    return false;
}

bool rlx_api_dtype(rlx_context *ctx, relax_dtype dtype, bool allow_void, const char *what)
{
    char name[RLX_DTYPE_TEXT];
    rlx_dtype back;
    size_t len = rlx_dtype_name(dtype, name);
    if (allow_void && rlx_dtype_is_void(dtype))
        return true;
    if (!rlx_dtype_is_void(dtype) && rlx_dtype_parse((rlx_slice){ name, len }, &back) &&
        back == dtype)
        return true;
    misused(ctx, RLX_OP03, "%s is not a dtype: %#x", what, (unsigned)dtype);
    return false;
}

bool rlx_api_bytes_begin(rlx_api_bytes *b, const rlx_context *ctx)
{
    b->memory = rlx_shared_memory_create(&ctx->memory.host, SIZE_MAX);
    if (!b->memory)
        return false;
    rlx_buf_init(&b->buf, &b->memory->memory);
    return true;
}

relax_bytes *rlx_api_bytes_end(rlx_api_bytes *b)
{
    relax_bytes *bytes = NULL;
    if (b->buf.failed)
        rlx_buf_free(&b->buf);
    else
        bytes = rlx_bytes_make(b->memory, &b->buf);
    rlx_shared_memory_release(b->memory);
    return bytes;
}

bool rlx_api_function(relax_context *ctx, const rlx_module *m, const char *function,
                      size_t function_len, const rlx_global_var **gv)
{
    rlx_slice name;
    if (!function)
        return true;
    if (!rlx_api_name(ctx, function, function_len, "function", &name))
        return false;
    int64_t at = rlx_module_find(m, name);
    if (at < 0)
        return rlx_error(ctx, RLX_OP15, RLX_NO_PLACE, "there is no function %.*s",
                         rlx_api_width(name), name.data) != NULL;
    *gv = rlx_as_global_var(m->gvars[at]);
    if (rlx_as_function(m->functions[at]))
        return true;
    return rlx_error(ctx, RLX_OP02, RLX_NO_PLACE, "%.*s is no Relax function", rlx_api_width(name),
                     name.data) != NULL;
}
