/* onnx.h: ONNX files to modules. Bytes are read by tables (wire.h, proto.h), each operator by a row of
 * operator.def; the module is built by the block builder. */
#ifndef RLX_ONNX_H
#define RLX_ONNX_H

#include "ir/ir.h"

typedef struct rlx_onnx_model rlx_onnx_model;

/* What stands for an input of the graph, or for a size of its inputs. */
typedef struct rlx_onnx_binding {
    rlx_slice name;
    rlx_dtype dtype;
    bool is_size;                /* a size, of which `size` is the value; else an input */
    const int64_t *shape; size_t ndim;
    rlx_blob *data;              /* its content; NULL: its shape alone is known */
    int64_t size;
} rlx_onnx_binding;

/* What one operator of the model needs that this library lacks, or what is wrong with it. */
typedef struct rlx_onnx_issue {
    enum rlx_code_id code;
    bool is_warning;
    const rlx_string *domain, *op, *reason;
    int64_t version;
    size_t count;                /* of nodes */
    rlx_place places[3];         /* of the first */
} rlx_onnx_issue;

typedef struct rlx_onnx_options {
    rlx_slice name;              /* of the file, for messages */
    rlx_slice entry;             /* of the function; empty: main */
    const char *directory;       /* where external data lies; NULL: there is none */
    bool allow_links;            /* external data may be a symbolic link */
    bool packed_calls;           /* what is unknown becomes a call of a packed function */
    bool known_sizes;            /* sizes are not found at run time: operands that say them are needed */
    size_t params_from;          /* initialisers of so many bytes become parameters; 0: none */
    size_t most_constants;       /* bytes that are made of sparse and packed data */
    size_t most_nodes;
    const rlx_onnx_binding *bindings; size_t num_bindings;
} rlx_onnx_options;

/* A parameter that an initialiser has become; content may lie in the file. */
typedef struct rlx_onnx_param { const rlx_string *name; const rlx_expr *value; } rlx_onnx_param;

typedef struct rlx_onnx_result {
    const rlx_module *module;
    rlx_onnx_issue *issues; size_t num_issues;
    /* inputs of the graph whose values decide what has to be known while compiling */
    const rlx_string **needed; size_t num_needed;
    rlx_onnx_param *params; size_t num_params;
    /* inputs of the graph that are not initialisers, as the file names them */
    const rlx_string **inputs; size_t num_inputs;
    size_t num_nodes, num_constant_bytes;
} rlx_onnx_result;

/* Reads the model. `file` holds its bytes; constants keep references to it. Everything that is wrong or
 * missing is a diagnostic, each kind once, and in out->issues, which live in the context as the module does.
 * False: there is no module. */
bool rlx_onnx_import(rlx_context *ctx, rlx_blob *file, const rlx_onnx_options *options,
                     rlx_onnx_result *out);

#endif
