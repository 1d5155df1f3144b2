/* error.c: failures as objects, and bytes handed to the host. */
/* built for size */
#include "runtime/runtime_int.h"

static void ignore_trace(void *self, const void *text, int32_t mode)
{
}

static void keep_static(void *self, int flags)
{
}

static const char no_memory_text[] = "out of memory";
const struct relax_error rlx_error_out_of_memory = {
    .base = { .refs = RLX_REFS_UNIQUE, .type_index = RELAX_VALUE_ERROR, .deleter = keep_static },
    .kind = { "", 0 },
    .message = { no_memory_text, sizeof no_memory_text - 1 },
    .trace = { "", 0 },
    .update_trace = ignore_trace,
    .status = RELAX_ERROR_OUT_OF_MEMORY,
    .code = RLX_RT10,
};

bool rlx_error_is_ours(const rlx_object *error)
{
    return error->type_index == RELAX_VALUE_ERROR &&
           (rlx_object_is_ours(error) || error == &rlx_error_out_of_memory.base);
}

relax_error *rlx_error_retain(relax_error *error)
{
    if (error && error != &rlx_error_out_of_memory)
        rlx_object_retain(error);
    return error;
}

void rlx_error_release(relax_error *error)
{
    if (error && error != &rlx_error_out_of_memory)
        rlx_object_release(error);
}

relax_status rlx_error_no_memory(relax_error **out)
{
    if (out)
        /* never written: release knows it */
        *out = (relax_error *)(uintptr_t)&rlx_error_out_of_memory;
    return RELAX_ERROR_OUT_OF_MEMORY;
}

static rlx_text put_text(char **at, const char *data, size_t len)
{
    rlx_text t = { *at, len };
    if (len)
        memcpy(*at, data, len);
    rlx_utf8_mend(*at, len);
    (*at)[len] = 0;
    *at += len + 1;
    return t;
}

relax_status rlx_fault_status(const rlx_fault *why, const struct relax_error *cause)
{
    if (cause && cause->status == RELAX_ERROR_USER)
        return RELAX_ERROR_USER;
    const rlx_code *row = rlx_code_row((enum rlx_code_id)why->code);
    return row ? row->status : RELAX_ERROR_RUNTIME;
}

/* The strings are copied; the rest is zero. */
static struct relax_error *new_error(rlx_shared_memory *memory, rlx_slice kind, rlx_slice message,
                                     rlx_slice trace)
{
    rlx_pool once;
    struct relax_error *e = NULL;
    size_t bytes = sizeof *e + 3;
    if (!rlx_add_size(bytes, kind.len, &bytes) || !rlx_add_size(bytes, message.len, &bytes) ||
        !rlx_add_size(bytes, trace.len, &bytes) || !rlx_pool_open_once(&once, memory, NULL))
        return NULL;
    e = rlx_object_alloc(&once, bytes, RELAX_VALUE_ERROR);
    if (e) {
        char *at = (char *)(e + 1);
        memset((char *)e + sizeof e->base, 0, sizeof *e - sizeof e->base);
        e->memory = once.memory;
        e->kind = put_text(&at, kind.data, kind.len);
        e->message = put_text(&at, message.data, message.len);
        e->trace = put_text(&at, trace.data, trace.len);
        e->update_trace = ignore_trace;
        e->status = RELAX_ERROR_RUNTIME;
    }
    rlx_pool_free(&once);
    return e;
}

relax_error *rlx_error_text(rlx_slice kind, rlx_slice message)
{
    return new_error(NULL, kind, message, (rlx_slice){ "", 0 });
}

relax_error *rlx_error_make(rlx_shared_memory *memory, const rlx_fault *why, rlx_slice kind,
                            rlx_slice trace, relax_error *cause)
{
    struct relax_error *e = new_error(memory, kind, rlx_slice_z(why->text), trace);
    if (!e) {
        if (cause)
            rlx_object_release(cause);
        rlx_error_no_memory(&e);
        return e;
    }
    e->cause = cause;
    e->status = rlx_fault_status(why, cause);
    e->code = why->code;
    e->inner = why->inner;
    return e;
}

relax_status rlx_error_give(rlx_shared_memory *memory, relax_error **out, const rlx_fault *why)
{
    if (!out)
        return rlx_fault_status(why, NULL);
    *out = rlx_error_make(memory, why, (rlx_slice){ "", 0 }, (rlx_slice){ "", 0 }, NULL);
    return (*out)->status;
}

/* ---- bytes ---------------------------------------------------------------------------------- */

relax_bytes *rlx_bytes_make(rlx_shared_memory *memory, rlx_buf *buf)
{
    relax_bytes *b = buf->failed ? NULL : rlx_mem_alloc(&memory->memory, sizeof *b);
    if (!b) {
        rlx_buf_free(buf);
        return NULL;
    }
    atomic_init(&b->refs, 1);
    b->tag = RLX_TAG_OWNED_BYTES;
    b->memory = rlx_shared_memory_retain(memory);
    b->buf = *buf;
    b->owner = NULL;
    rlx_buf_init(buf, buf->memory);
    return b;
}

relax_bytes *rlx_bytes_show(rlx_shared_memory *memory, rlx_blob *blob)
{
    rlx_buf none;
    rlx_buf_init(&none, &memory->memory);
    relax_bytes *b = rlx_bytes_make(memory, &none);
    if (!b)
        return NULL;
    b->owner = rlx_blob_retain(blob);
    b->buf.data = (char *)blob->data;
    b->buf.len = blob->size;
    return b;
}

relax_bytes *rlx_bytes_retain(relax_bytes *bytes)
{
    atomic_fetch_add_explicit(&bytes->refs, 1, memory_order_relaxed);
    return bytes;
}

void rlx_bytes_release(relax_bytes *bytes)
{
    if (atomic_fetch_sub_explicit(&bytes->refs, 1, memory_order_acq_rel) != 1)
        return;
    rlx_shared_memory *memory = bytes->memory;
    if (bytes->owner)
        rlx_blob_release(bytes->owner);
    else
        rlx_buf_free(&bytes->buf);
    rlx_handle_ends(bytes);
    rlx_mem_free(&memory->memory, bytes, sizeof *bytes);
    rlx_shared_memory_release(memory);
}

/* Sizes of structs are whole words; no version of one comes near the upper limit. */
static bool size_fits(size_t struct_size)
{
    return struct_size >= sizeof(size_t) && struct_size <= 4096 &&
           struct_size % sizeof(size_t) == 0;
}

relax_status rlx_options_init(void *out, size_t struct_size, const void *defaults,
                              size_t known_size)
{
    if (!out || !size_fits(struct_size))
        return RELAX_ERROR_INVALID_ARGUMENT;
    memset(out, 0, struct_size);
    memcpy(out, defaults, struct_size < known_size ? struct_size : known_size);
    memcpy(out, &struct_size, sizeof struct_size);
    return RELAX_OK;
}

bool rlx_options_read(void *known, size_t known_size, const void *given)
{
    size_t size;
    if (!given)
        return true;
    memcpy(&size, given, sizeof size);
    if (!size_fits(size))
        return false;
    for (size_t i = known_size; i < size; i++)
        if (((const unsigned char *)given)[i])
            return false;
    memcpy(known, given, size < known_size ? size : known_size);
    memcpy(known, &known_size, sizeof known_size);
    return true;
}
