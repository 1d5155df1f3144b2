/* text.h: TVMScript in and out. Not part of builds without the text form. */
#ifndef RELAX_TEXT_H
#define RELAX_TEXT_H

#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Reads `text` (UTF-8) as a module: a class with functions, or functions alone. `name` is used
 * in messages only. Reading also normalises and infers. Every mistake found is a diagnostic.
 * NULL if no module could be made; with mistakes of inference alone (TY, PU, OP) the module
 * comes back all the same: compare relax_context_num_errors before and after. Such a module, and what
 * is made from it, is not compiled until the mistakes are corrected.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_module_parse(relax_context *ctx,
        const char *name, size_t name_len, const char *text, size_t text_len);
/* Reads one annotation, such as `R.Tensor((n, 4), "float32")`, in which the shape variables
 * `vars` are known by their names. Counts as a source of the context, of which there may be
 * 65535. NULL and diagnostics (PA) if it cannot be read.
 */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_BORROWED RELAX_NULLABLE relax_struct_info *relax_struct_info_parse(relax_context *ctx,
        const char *text, size_t text_len, const relax_prim_expr *const *vars, size_t num_vars);

/* 1 if the module was read from a text that holds one function outside a class; 0 else and for
 * modules that passes made. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_module_is_standalone(const relax_module *module);

/* What text is written for: TVM 0.20, whose form is the canonical one, or what TVM 0.27 reads
 * back. Both are read without being asked for. */
enum relax_dialect { RELAX_DIALECT_0_20 = 0, RELAX_DIALECT_0_27 = 1 };

typedef struct relax_print_options {
    size_t struct_size;
    /* 0: large constants are left out, the text can then not be read back; default 1 */
    int32_t metadata;
    int32_t struct_info;    /* 0: annotations that can be deduced are left out; default 1 */
    /* 1: a module of one function prints as that function alone; 0 (default): only if it was
     * read so */
    int32_t standalone;
    int32_t dialect;        /* RELAX_DIALECT_...; default RELAX_DIALECT_0_20 */
    const char *module_name; /* NUL-terminated, a Python name; NULL: "Module" */
    /* Parts that several places share are written out at each, so that few nodes can have a text
     * without end. It may have so many bytes, constants of the metadata apart; 0 (default): 32 MiB
     * and as many as the context holds (relax_context_bytes), which no program comes near whose
     * parts are its own and not nested thousands deep. */
    size_t max_bytes;
    /* NULL, or receives one reference to the reason why there is no text: out of memory, or OP18
     * for one that is too large; its relax_error_trace is then the place of the statement that was
     * being written ("m.py:12:5", "" without one). */
    relax_error **error;
} relax_print_options;

/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_print_options_init(relax_print_options *options, size_t struct_size);
/* Canonical TVMScript of any node: module, function, expression, statement, struct info. NULL when
 * out of memory, for NULL, for malformed options and for a text that is too large (see max_bytes).
 * Printing never changes the node, reports nothing and may run while other threads read the same
 * context. `ctx` lends the allocator. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_OWN RELAX_NULLABLE relax_bytes *relax_node_print(relax_context *ctx, const relax_node *node,
        RELAX_NULLABLE const relax_print_options *options);
/* Hands the text of relax_node_print to `write` in pieces; it returns 0 to go on.
 * RELAX_ERROR_CANCELLED if it did not, RELAX_ERROR_INVALID_ARGUMENT for NULL, malformed options
 * and a text that is too large. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_node_print_to(relax_context *ctx, const relax_node *node,
                                 RELAX_NULLABLE const relax_print_options *options,
                                 int32_t (*write)(void *user, const char *data, size_t size),
                                 void *user);

#ifdef __cplusplus
}
#endif
#endif
