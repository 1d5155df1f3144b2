/* context.h: contexts, diagnostics, sources, versions.
 *
 * A context owns everything of a compile job: modules, functions, expressions, struct info.
 * Those are borrowed handles: nobody frees them, they live as long as their context. Calls that
 * fail return NULL (or a status) and leave diagnostics in the context; a chain of calls can be
 * checked once, because NULL for a required handle gives NULL and counts as an error. A context
 * is used by one thread at a time and may move between threads.
 *
 * However deep or large a program is: calls of this library need at most 256 KiB of stack, that
 * of the host's callbacks not counted.
 */
#ifndef RELAX_CONTEXT_H
#define RELAX_CONTEXT_H

#include <relax/common.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_context relax_context; /* counted; release from any thread */

/* ---- versions ------------------------------------------------------------------------------- */

/* Number of the interface that these headers describe; grows with every addition. */
#define RELAX_HEADER_ABI 1

/* Version of the library that is running. Each pointer may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_version(RELAX_NULLABLE uint32_t *major, RELAX_NULLABLE uint32_t *minor,
                   RELAX_NULLABLE uint32_t *patch);
/* Interface number of the library that is running. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_abi_version(void);
/* RELAX_OK if a client with these numbers may use this library: RELAX_HEADER_ABI, sizeof(void
 * *), sizeof(relax_value). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_check_abi(int32_t header_abi, size_t pointer_size, size_t value_size);
/* Facts about the build, numbered from 0: "version", "abi", "compiler", "machine", "debug",
 * "targets". NULL past the end. Static. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_build_info_key(size_t index);
/* The value to that key; NULL past the end. Static. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_build_info_value(size_t index);

/* ---- contexts ------------------------------------------------------------------------------- */

typedef struct relax_context_options {
    size_t struct_size;
    const relax_allocator *allocator; /* NULL: malloc */
    /* more memory is refused (RELAX_ERROR_OUT_OF_MEMORY); 0: no limit */
    uint64_t max_bytes;
    int32_t strict;                   /* 1: warnings are errors */
    /* 1: unproved annotations are believed without a check at run time */
    int32_t trust_annotations;
    int32_t max_diagnostics;          /* errors kept; further ones are only counted; default 100 */
    /* 1: an explicit check (RELAX_CHECK_ALL) also notes what is accepted on trust: PU05, TY13,
     * WF18 */
    int32_t notes;
} relax_context_options;

/* Fills `options` with the defaults. RELAX_ERROR_INVALID_ARGUMENT for NULL or a size that no
 * version can have. This and all other options structs: a shorter struct of an older header is
 * read as far as it goes, a longer one must be 0 beyond what the library knows.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_context_options_init(relax_context_options *options, size_t struct_size);
/* A new context with one reference. NULL when out of memory or if `options` are malformed. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN RELAX_NULLABLE relax_context *relax_context_create(
        RELAX_NULLABLE const relax_context_options *options);
/* Adds a reference and returns `ctx`. NULL gives NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN relax_context *relax_context_retain(relax_context *ctx);
/* Drops a reference; the last one frees everything the context owns. NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_context_release(relax_context *ctx);
/* Bytes the context holds now. 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_context_bytes(const relax_context *ctx);

/* Is `node`, a node of any kind or a pointer that was one, a node of this context that has not gone?
 * 1 or 0. A binding of another language asks this of what it is handed; all other calls refuse nodes
 * that are not of their context (OP02). What relax_context_collect freed may be in use again:
 * compare relax_context_generation, too. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_context_owns(relax_context *ctx, RELAX_NULLABLE const void *node);
/* How often relax_context_collect has moved what the context holds: a handle that was given under
 * another number is none any more. 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
uint64_t relax_context_generation(const relax_context *ctx);

/* ---- sources and places ---------------------------------------------------------------------
 * A place is a number that names a source, where it begins in it and how long it is. 0: no place.
 */
typedef uint64_t relax_place;

/* Adds a source text (copied) to which places refer. `text` NULL: an opaque source of the host,
 * whose places are whatever offsets the host gives. Returns its number, 0 on failure.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
uint32_t relax_context_add_source(relax_context *ctx, const char *name, size_t name_len,
                                  RELAX_NULLABLE const char *text, size_t text_len);
/* A place in a source: byte offset below 2^30, length below 2^18 (longer ones are cut). 0 if
 * out of range. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_place relax_place_make(uint32_t source, uint32_t begin, uint32_t length);
/* Line and column (1-based; column in bytes and in characters) of a place. Each pointer may be
 * NULL. RELAX_ERROR_NOT_FOUND for no place and opaque sources. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_place_locate(relax_context *ctx, relax_place place,
                                RELAX_NULLABLE uint32_t *line, RELAX_NULLABLE uint32_t *column,
                                RELAX_NULLABLE uint32_t *column_chars);
/* Source number, byte offset and length of a place. Each pointer may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
void relax_place_get(relax_place place, RELAX_NULLABLE uint32_t *source,
                     RELAX_NULLABLE uint32_t *begin, RELAX_NULLABLE uint32_t *length);

/* ---- diagnostics ---------------------------------------------------------------------------- */

/* How grave a diagnostic is. */
enum relax_severity {
    RELAX_SEVERITY_NONE = -1, /* there is no such diagnostic */
    RELAX_SEVERITY_ERROR = 0,
    RELAX_SEVERITY_WARNING = 1,
    RELAX_SEVERITY_NOTE = 2
};

/* Diagnostics kept by the context, oldest first. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_context_num_diagnostics(const relax_context *ctx);
/* Errors ever reported since the last clear, also those not kept; a lost allocation counts as
 * one. 0 for NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_context_num_errors(const relax_context *ctx);
/* The status that fits the first error: RELAX_OK if there is none, RELAX_ERROR_OUT_OF_MEMORY if
 * memory ran out at any time since the last clear: what happens after that is counted, but not
 * reported, because it may follow from what is missing.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_context_status(const relax_context *ctx);
/* enum relax_severity. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
int32_t relax_diagnostic_severity(const relax_context *ctx, size_t index);
/* Stable code ("WF03"), static. NULL if there is no such diagnostic. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_diagnostic_code(const relax_context *ctx,
        size_t index);
/* Message without code and place; lives until the diagnostics are cleared. `len` may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_diagnostic_message(const relax_context *ctx,
        size_t index, RELAX_NULLABLE size_t *len);
/* Where; 0 if it has no place. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_place relax_diagnostic_place(const relax_context *ctx, size_t index);
/* Further places and cures. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
size_t relax_diagnostic_num_notes(const relax_context *ctx, size_t index);
/* Text of a note; *place (may be NULL) gets its place. NULL if there is no such note. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE const char *relax_diagnostic_note(const relax_context *ctx,
        size_t index, size_t note, RELAX_NULLABLE size_t *len, RELAX_NULLABLE relax_place *place);
/* One diagnostic as people read it: "FILE:LINE:COL: error[WF03]: ...", source line, caret,
 * notes. NULL when out of memory or there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_diagnostic_render(relax_context *ctx, size_t index);
/* One diagnostic as a JSON object. NULL when out of memory or there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_diagnostic_json(relax_context *ctx, size_t index);
/* Forgets all diagnostics and errors; sources and nodes stay. What was being built may go on as
 * if they had not happened. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
void relax_context_clear_diagnostics(relax_context *ctx);
/* Switches a warning off by its code. RELAX_ERROR_NOT_FOUND for an unknown code. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_context_mute(relax_context *ctx, const char *code, size_t code_len);
/* `fn` is called with the index of each diagnostic as soon as it is complete, on the calling
 * thread; it may only use getters of diagnostics: forgetting them and listening anew are
 * refused meanwhile, and what it causes is not told. NULL ends it; `destroy` (may be NULL) of
 * the one before runs with its `user`.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
relax_status relax_context_on_diagnostic(relax_context *ctx,
        RELAX_NULLABLE void (*fn)(void *user, relax_context *ctx, size_t index), void *user,
        RELAX_NULLABLE void (*destroy)(void *user));

/* ---- what the codes mean -------------------------------------------------------------------- */

/* Code by number from 0 ("NF01", ...), static; NULL past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_code_at(size_t index);
/* Explains a code, in static texts; each pointer may be NULL; a text that does not exist is NULL.
 * RELAX_ERROR_NOT_FOUND for an unknown code. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_code_explain(const char *code, size_t code_len,
                                RELAX_NULLABLE const char **title,
                                RELAX_NULLABLE const char **rule,
                                RELAX_NULLABLE const char **bad_example,
                                RELAX_NULLABLE const char **cure);
/* The bad example of that code without its mistake, static. NULL if a text cannot show the
 * mistake, and for an unknown code. Examples are read by relax check; those that begin with
 * "# relax build" are for the compiler. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_code_cured_example(const char *code,
                                                                   size_t code_len);

/* ---- dtypes --------------------------------------------------------------------------------- */

/* Name ("float32", "void") into `out` (NUL-terminated, cut to `capacity`); returns its full
 * length. `out` may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_dtype_name(relax_dtype dtype, RELAX_NULLABLE char *out, size_t capacity);
/* Reads a name. RELAX_ERROR_INVALID_ARGUMENT if it is none; *out is then RELAX_VOID. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_dtype_parse(const char *name, size_t name_len, relax_dtype *out);
/* Bytes of one element; 0 for RELAX_VOID. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_dtype_size(relax_dtype dtype);

#ifdef __cplusplus
}
#endif
#endif
