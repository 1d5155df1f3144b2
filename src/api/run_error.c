/* run_error.c: errors and bytes as the host sees them. */
#include <relax/common.h>

#include "runtime/runtime.h"

static bool is_error(const relax_error *e) { return rlx_handle_is(e, RELAX_VALUE_ERROR); }
static bool is_bytes(const relax_bytes *b) { return rlx_handle_is(b, RLX_TAG_OWNED_BYTES); }

relax_status relax_error_status(const relax_error *error)
{
    return is_error(error) ? error->status : RELAX_OK;
}

static const char *code_name(uint16_t code)
{
    const rlx_code *row = rlx_code_row((enum rlx_code_id)code);
    return row ? row->name : "";
}

const char *relax_error_code(const relax_error *error)
{
    return is_error(error) ? code_name(error->code) : "";
}

const char *relax_error_inner_code(const relax_error *error)
{
    return is_error(error) ? code_name(error->inner) : "";
}

static const char *give_text(const rlx_text *t, size_t *len)
{
    if (len)
        *len = t ? t->size : 0;
    return t ? t->data : "";
}

const char *relax_error_message(const relax_error *error, size_t *len)
{
    return give_text(is_error(error) ? &error->message : NULL, len);
}

const char *relax_error_kind(const relax_error *error, size_t *len)
{
    return give_text(is_error(error) ? &error->kind : NULL, len);
}

const char *relax_error_trace(const relax_error *error, size_t *len)
{
    return give_text(is_error(error) ? &error->trace : NULL, len);
}

const relax_error *relax_error_cause(const relax_error *error)
{
    return is_error(error) ? error->cause : NULL;
}

void *relax_error_user_token(const relax_error *error)
{
    for (; is_error(error); error = error->cause)
        if (error->token)
            return error->token;
    return NULL;
}

relax_error *relax_error_retain(relax_error *error)
{
    return is_error(error) ? rlx_error_retain(error) : NULL;
}

void relax_error_release(relax_error *error)
{
    if (is_error(error))
        rlx_error_release(error);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

const char *relax_bytes_data(const relax_bytes *bytes)
{
    if (!is_bytes(bytes))
        return NULL;
    return bytes->buf.data ? bytes->buf.data : "";
}

size_t relax_bytes_size(const relax_bytes *bytes)
{
    return is_bytes(bytes) ? bytes->buf.len : 0;
}

relax_bytes *relax_bytes_retain(relax_bytes *bytes)
{
    return is_bytes(bytes) ? rlx_bytes_retain(bytes) : NULL;
}

void relax_bytes_release(relax_bytes *bytes)
{
    if (is_bytes(bytes))
        rlx_bytes_release(bytes);
}
