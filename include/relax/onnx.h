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

#include <relax/builder.h>
#include <relax/dlpack.h>
#include <relax/ir.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A node under conversion, while a converter of the host runs. */
typedef struct relax_onnx_node relax_onnx_node;

/* Converts nodes of one operator: takes operands, emits through `builder`, gives results. Returns 1, or 0
 * if it cannot, for which relax_onnx_node_fail says why. What it leaves open in the builder is an error.
 * Nodes in loops may be converted several times, as their types are found by trying. */
typedef int32_t (*relax_onnx_convert_fn)(void *user, relax_builder *builder, relax_onnx_node *node);
typedef struct relax_onnx_converter {
    size_t struct_size;
    const char *domain;    /* NULL and "" are ai.onnx; else a UTF-8 text, NUL-terminated */
    const char *op;
    relax_onnx_convert_fn convert;
    void *user;
} relax_onnx_converter;

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
    /* Initialisers and constants of at least so many bytes become parameters behind the inputs (attribute
     * num_input), to be bound later; 0 (default): all are constants. Lists of integers and those in functions
     * stay constants. */
    uint64_t params_from;
    uint64_t max_nodes;           /* after functions are put in place; default 1,000,000 */
    uint64_t max_constant_bytes;  /* of what is unpacked at import; default 1 GiB */
    /* Inputs that are known, by name: they become constants, which the library copies. Of an array whose data
     * is NULL, though it has elements, the shape alone is known; the input stays a parameter. */
    const char *const *input_names;
    const DLTensor *const *inputs;
    size_t num_inputs;
    /* Named sizes (dim_param) that are known. */
    const char *const *size_names;
    const int64_t *sizes;
    size_t num_sizes;
    /* Converters of the host: for their operators they win over the library's, and over functions of
     * the model. */
    const relax_onnx_converter *const *converters;
    size_t num_converters;
    /* 1: operators that the library does not know become calls of packed functions, pure ones, called
     * onnx.OP or onnx.DOMAIN.OP: the operands that are there, then each attribute as two arguments, its
     * name and its value (numbers, texts, lists of sizes as shapes, other lists and tensors as tensors).
     * Their results have the struct info that the model declares. 0 (default): they are errors (ON03). */
    int32_t packed_calls;
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

/* ---- nodes, for converters of the host ---------------------------------------------------------- */

/* Operator, its domain ("" is ai.onnx), and the node's own name, which may be empty. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_onnx_node_operator(const relax_onnx_node *node, RELAX_NULLABLE size_t *len);
/* Its domain. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_onnx_node_domain(const relax_onnx_node *node, RELAX_NULLABLE size_t *len);
/* Its name. Texts of a node are bytes of the file: not NUL-terminated, perhaps no UTF-8. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED const char *relax_onnx_node_name(const relax_onnx_node *node, RELAX_NULLABLE size_t *len);
/* The operator set that the model imports for its domain; 0: none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_onnx_node_version(const relax_onnx_node *node);
/* Operands, those that are left out in between too. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_node_num_inputs(const relax_onnx_node *node);
/* An operand: a variable or a constant. NULL: it is left out, or is no tensor. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_onnx_node_input(relax_onnx_node *node, size_t index);
/* Results that the node names. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_node_num_outputs(const relax_onnx_node *node);
/* Gives a result, any expression; each that something uses is given once. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
relax_status relax_onnx_node_set_output(relax_onnx_node *node, size_t index, const relax_expr *value);
/* Why it cannot be converted: an issue and a diagnostic (ON05). The text is copied. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
void relax_onnx_node_fail(relax_onnx_node *node, const char *reason);

/* Attributes by name (NUL-terminated). 1 if it is there and has that type, then *value is set; else 0. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
int32_t relax_onnx_node_int(relax_onnx_node *node, const char *name, int64_t *value);
/* A number with a fraction: 1 if it is there, as above. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
int32_t relax_onnx_node_float(relax_onnx_node *node, const char *name, double *value);
/* A text, bytes of the file. NULL: there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_node_string(relax_onnx_node *node, const char *name,
                                                                 size_t *len);
/* A list, which lives while the converter runs. NULL: there is none. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
RELAX_BORROWED RELAX_NULLABLE const int64_t *relax_onnx_node_ints(relax_onnx_node *node, const char *name,
                                                                  size_t *count);
/* The same of floats. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
RELAX_BORROWED RELAX_NULLABLE const double *relax_onnx_node_floats(relax_onnx_node *node, const char *name,
                                                                   size_t *count);
/* A tensor, as a constant. NULL: there is none, or it was reported. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(node)
RELAX_BORROWED RELAX_NULLABLE const relax_expr *relax_onnx_node_tensor(relax_onnx_node *node,
                                                                       const char *name);

/* ---- what a model contains, without importing it ------------------------------------------------ */

/* The host owns it; texts belong to the context. Indices out of range give NULL, 0 or -1. */
typedef struct relax_onnx_query relax_onnx_query;

/* Reads the messages of the model in `size` bytes at `data`, which are not needed afterwards. Weights are
 * not touched, nor other files. NULL: a diagnostic says why. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_onnx_query *relax_onnx_query_memory(relax_context *ctx, const void *data,
                                                                   size_t size);
/* The same from a file. `path` is NUL-terminated. */
RELAX_API RELAX_SINCE(0, 2) RELAX_EXCL(ctx)
RELAX_OWN RELAX_NULLABLE relax_onnx_query *relax_onnx_query_file(relax_context *ctx, const char *path);
/* NULL is fine. */
RELAX_API RELAX_SINCE(0, 2) RELAX_INIT
void relax_onnx_query_destroy(RELAX_NULLABLE relax_onnx_query *query);

/* Numbers of the whole model. */
typedef struct relax_onnx_counts {
    size_t struct_size;
    int64_t ir_version;
    size_t num_nodes;         /* those of branches, loops and functions too, each where it stands */
    size_t num_functions;
    size_t num_weights;       /* initialisers */
    uint64_t weight_bytes;    /* of these */
    uint64_t external_bytes;  /* of these, those that lie in other files */
    size_t num_inputs, num_outputs, num_opsets, num_operators;
} relax_onnx_counts;
/* Fills `counts`, whose struct_size the host has set. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_status relax_onnx_query_counts(const relax_onnx_query *query, relax_onnx_counts *counts);
/* Who wrote the file. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_query_producer(const relax_onnx_query *query,
                                                                    RELAX_NULLABLE size_t *len);
/* Domain and version of an operator set; the version is -1 past the end. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_onnx_query_opset(const relax_onnx_query *query, size_t index, RELAX_NULLABLE const char **domain);
/* An operator that nodes use: how many, its domain and name, and whether there is a converter or a function
 * of the model for it. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
size_t relax_onnx_query_operator(const relax_onnx_query *query, size_t index,
                                 RELAX_NULLABLE const char **domain, RELAX_NULLABLE const char **op,
                                 RELAX_NULLABLE int32_t *is_known);

/* Which values are meant: inputs without initialisers, or outputs. */
enum relax_onnx_side {
    RELAX_ONNX_INPUTS = 0,
    RELAX_ONNX_OUTPUTS = 1
};
/* Name of one. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
RELAX_BORROWED RELAX_NULLABLE const char *relax_onnx_query_value(const relax_onnx_query *query,
                                                                 int32_t side, size_t index,
                                                                 RELAX_NULLABLE size_t *len);
/* Its dtype; RELAX_VOID: it is no tensor, or of elements that Relax does not have. `type` is set to ONNX's
 * name for it ("FLOAT"), "" where it is no tensor. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
relax_dtype relax_onnx_query_dtype(const relax_onnx_query *query, int32_t side, size_t index,
                                   RELAX_NULLABLE const char **type);
/* Its rank; -1: not stated. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int32_t relax_onnx_query_ndim(const relax_onnx_query *query, int32_t side, size_t index);
/* One of its sizes; -1: not stated as a number, then `name` is set to its name (dim_param), or NULL. */
RELAX_API RELAX_SINCE(0, 2) RELAX_ANY
int64_t relax_onnx_query_dim(const relax_onnx_query *query, int32_t side, size_t index, size_t axis,
                              RELAX_NULLABLE const char **name);

#ifdef __cplusplus
}
#endif
#endif
