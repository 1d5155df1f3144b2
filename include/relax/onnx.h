/* onnx.h: models in ONNX's binary format to modules. Not part of the run-only library.
 *
 * An import gives a module with one function, `main`, or says all that is missing at once: each
 * reason is a diagnostic (ON), once, with the nodes that have it, and an issue that can be asked
 * for here. There is no module with parts left out.
 *
 * Constants stay where they are: in the memory that the host gives, or in the mapped file. They are
 * read when the program is compiled.
 */
#ifndef RELAX_ONNX_H
#define RELAX_ONNX_H

#include <relax/dlpack.h>
#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct relax_onnx_options {
    size_t struct_size;
    const char *name;      /* of the model, for messages; NUL-terminated; NULL: its path, or "model.onnx" */
    const char *entry;     /* name of the function; NULL: main */
    /* Folder of the files that hold external data; NULL: that of the model's path; for a model in
     * memory there is none, and external data is refused (ON09). */
    const char *directory;
    int32_t allow_links;   /* 1: files of external data may be symbolic links; default 0 */
    /* 1: operands that say sizes have to be known; 0 (default): where they are found when the
     * program runs, the sizes are variables */
    int32_t known_sizes;
    /* Initialisers of at least so many bytes become parameters behind the inputs (attribute
     * num_input), to be bound later; 0 (default): all are constants. */
    uint64_t params_from;
    uint64_t max_nodes;           /* after functions are put in place; default 1,000,000 */
    uint64_t max_constant_bytes;  /* of what is unpacked at import; default 1 GiB */
    /* Inputs that are known: they become constants, which the library copies. Of an array whose data
     * is NULL, though it has elements, the shape alone is known; the input stays a parameter. */
    const char *const *input_names;
    const DLTensor *const *inputs;
    size_t num_inputs;
    /* Named sizes (dim_param) that are known. */
    const char *const *size_names;
    const int64_t *sizes;
    size_t num_sizes;
} relax_onnx_options;
/* Fills `options` with the defaults. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_onnx_options_init(relax_onnx_options *options, size_t struct_size);

/* What an import found. The host owns it; texts and nodes belong to the context. */
typedef struct relax_onnx_import relax_onnx_import;

/* Imports the model in `size` bytes at `data`, which stay where they are, and nobody may change them
 * until `destroy` (may be NULL) runs with `user`: exactly once, when nothing uses them any more; also
 * on failure. NULL for misuse and when out of memory only: relax_onnx_import_module tells whether
 * there is a module. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_onnx_import *relax_onnx_import_memory(
        relax_context *ctx, const void *data, size_t size,
        RELAX_NULLABLE const relax_onnx_options *options, void *user,
        void (*destroy)(void *user));
/* The same from a file, which is mapped: a file that shrinks meanwhile ends the process. `path` is
 * NUL-terminated. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_onnx_import *relax_onnx_import_file(
        relax_context *ctx, const char *path, RELAX_NULLABLE const relax_onnx_options *options);
/* NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_INIT
void relax_onnx_import_destroy(RELAX_NULLABLE relax_onnx_import *import);

/* The module; NULL: diagnostics and issues say why. Lives as long as the context. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE relax_module *relax_onnx_import_module(
        const relax_onnx_import *import);
/* Nodes that were looked at: those that the outputs need, functions in place of their calls. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_import_num_nodes(const relax_onnx_import *import);

/* What is missing or was taken otherwise, each reason once. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_import_num_issues(const relax_onnx_import *import);
/* Its code ("ON03"); NULL if there is no such issue, here and below. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_issue_code(const relax_onnx_import *import,
                                                                size_t index);
/* The operator; "" where it is not one. Texts are UTF-8, `len` may be NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_issue_operator(
        const relax_onnx_import *import, size_t index, RELAX_NULLABLE size_t *len);
/* Its domain; "" is ai.onnx. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_issue_domain(
        const relax_onnx_import *import, size_t index, RELAX_NULLABLE size_t *len);
/* Why. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_issue_reason(
        const relax_onnx_import *import, size_t index, RELAX_NULLABLE size_t *len);
/* The operator set that the model imports; 0: none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_onnx_issue_version(const relax_onnx_import *import, size_t index);
/* How many nodes have it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_issue_count(const relax_onnx_import *import, size_t index);
/* 1: a warning, 0: an error. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_onnx_issue_is_warning(const relax_onnx_import *import, size_t index);

/* Inputs whose values decide sizes or ranks: with their values known (options) more can be imported,
 * or more is known of the sizes. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_import_num_needed(const relax_onnx_import *import);
/* The name of one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_import_needed(
        const relax_onnx_import *import, size_t index, RELAX_NULLABLE size_t *len);

/* The inputs of the graph that a caller gives, in their order: names as the file has them. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_import_num_inputs(const relax_onnx_import *import);
/* The name of one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_import_input(
        const relax_onnx_import *import, size_t index, RELAX_NULLABLE size_t *len);

/* Parameters that initialisers have become (params_from). */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_import_num_params(const relax_onnx_import *import);
/* The name of one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_import_param_name(
        const relax_onnx_import *import, size_t index, RELAX_NULLABLE size_t *len);
/* Its value, a constant. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_onnx_import_param_value(
        const relax_onnx_import *import, size_t index);

#ifdef __cplusplus
}
#endif
#endif
