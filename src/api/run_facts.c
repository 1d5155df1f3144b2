/* run_facts.c: version, dtypes, names of codes: part of both libraries. */
#include <relax/context.h>
#include <relax/value.h>
#include <string.h>
#include "base/base.h"
#include "format/format.h"

enum { VERSION_MAJOR = 0, VERSION_MINOR = 2, VERSION_PATCH = 0 };

void relax_version(uint32_t *major, uint32_t *minor, uint32_t *patch)
{
    if (major)
        *major = VERSION_MAJOR;
    if (minor)
        *minor = VERSION_MINOR;
    if (patch)
        *patch = VERSION_PATCH;
}

int32_t relax_abi_version(void) { return RELAX_HEADER_ABI; }

relax_status relax_check_abi(int32_t header_abi, size_t pointer_size, size_t value_size)
{
    bool fits = header_abi > 0 && header_abi <= RELAX_HEADER_ABI &&
                pointer_size == sizeof(void *) && value_size == sizeof(relax_value);
    return fits ? RELAX_OK : RELAX_ERROR_UNSUPPORTED;
}

const char *relax_status_name(relax_status status)
{
    static const char *const names[] = {
        "RELAX_OK",
        "RELAX_ERROR_INVALID_ARGUMENT",
        "RELAX_ERROR_OUT_OF_MEMORY",
        "RELAX_ERROR_TEXT",
        "RELAX_ERROR_ILL_FORMED",
        "RELAX_ERROR_TYPE",
        "RELAX_ERROR_RUNTIME",
        "RELAX_ERROR_LOAD",
        "RELAX_ERROR_CODEGEN",
        "RELAX_ERROR_IO",
        "RELAX_ERROR_NOT_FOUND",
        "RELAX_ERROR_UNSUPPORTED",
        "RELAX_ERROR_CANCELLED",
        "RELAX_ERROR_INTERNAL",
        "RELAX_ERROR_USER",
    };
    return status >= 0 && (size_t)status < RLX_COUNT(names) ? names[status] : NULL;
}

const char *relax_value_kind_name(int32_t kind)
{
    static const char *const names[] = { "null",   "int",   "bool",  "float",    "pointer",
                                         "dtype",  "device", "tensor", "string", "bytes",
                                         "tuple",  "shape", "function", "error", "object" };
    return kind >= 0 && (size_t)kind < RLX_COUNT(names) ? names[kind] : NULL;
}

#if defined(__x86_64__)
#define TARGET "x86_64"
#elif defined(__aarch64__)
#define TARGET "aarch64"
#else
#define TARGET "other"
#endif
#ifdef RLX_DEBUG
#define DEBUG_TEXT "yes"
#else
#define DEBUG_TEXT "no"
#endif

static const char *const facts[][2] = {
    { "version", RLX_VERSION }, { "abi", "1" },          { "compiler", __VERSION__ },
    { "machine", TARGET },      { "debug", DEBUG_TEXT }, { "targets", "interp, c" },
};

const char *relax_build_info_key(size_t index)
{
    return index < RLX_COUNT(facts) ? facts[index][0] : NULL;
}

const char *relax_build_info_value(size_t index)
{
    return index < RLX_COUNT(facts) ? facts[index][1] : NULL;
}

const char *relax_code_at(size_t index)
{
    if (index >= RLX_CODE_COUNT - 1)
        return NULL;
    const rlx_code *row = rlx_code_row((enum rlx_code_id)(index + 1));
    return row ? row->name : NULL;
}

size_t relax_dtype_name(relax_dtype dtype, char *out, size_t capacity)
{
    char name[RLX_DTYPE_TEXT];
    size_t len = rlx_dtype_name(dtype, name);
    if (out && capacity) {
        size_t n = len < capacity - 1 ? len : capacity - 1;
        memcpy(out, name, n);
        out[n] = 0;
    }
    return len;
}

relax_status relax_dtype_parse(const char *name, size_t name_len, relax_dtype *out)
{
    rlx_dtype dtype = RELAX_VOID;
    bool ok = name && out && rlx_dtype_parse((rlx_slice){ name, name_len }, &dtype);
    if (out)
        *out = ok ? dtype : RELAX_VOID;
    return ok ? RELAX_OK : RELAX_ERROR_INVALID_ARGUMENT;
}

size_t relax_dtype_size(relax_dtype dtype) { return rlx_dtype_bytes(dtype); }
