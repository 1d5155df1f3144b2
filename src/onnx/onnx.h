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

/* ---- converters of the host, for one operator each: they win over all others (host.c) */
typedef struct rlx_onnx_conv rlx_onnx_conv;
typedef struct rlx_onnx_host {
    rlx_slice domain, op;        /* "" is ai.onnx */
    bool (*convert)(void *user, rlx_onnx_conv *c); /* false: it failed; reported or not */
    void *user;
} rlx_onnx_host;
struct rlx_builder;
struct rlx_module_builder;
typedef struct rlx_onnx_host_node {
    rlx_slice domain, op, name;
    int64_t version;
    size_t num_inputs, num_outputs;
    rlx_place place;
    struct rlx_builder *builder;
    struct rlx_module_builder *modules;
} rlx_onnx_host_node;
/* type: that of AttributeProto. Lists live as long as the import. */
typedef struct rlx_onnx_host_attr {
    int type;
    int64_t i;
    double f;
    rlx_slice s;
    const int64_t *ints; size_t num_ints;
    const double *floats; size_t num_floats;
    const rlx_expr *tensor;
} rlx_onnx_host_attr;
rlx_onnx_host_node rlx_onnx_host_view(rlx_onnx_conv *c);
const rlx_expr *rlx_onnx_host_input(rlx_onnx_conv *c, size_t i); /* NULL: left out, or failed */
bool rlx_onnx_host_output(rlx_onnx_conv *c, size_t i, const rlx_expr *e);
void rlx_onnx_host_fail(rlx_onnx_conv *c, const char *reason);
bool rlx_onnx_host_attribute(rlx_onnx_conv *c, const char *name, rlx_onnx_host_attr *out);

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
    const rlx_onnx_host *hosts; size_t num_hosts;
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

/* ---- what a model contains, without importing it (query.c). All of it lives in the context. */
typedef struct rlx_onnx_port {
    const rlx_string *name;
    const char *type;            /* "FLOAT"; "" where it is no tensor */
    rlx_dtype dtype;             /* RELAX_VOID: it has none here */
    int ndim;                    /* -1: not known */
    const int64_t *sizes;        /* -1: not known */
    const rlx_string *const *size_names; /* NULL: there is none */
} rlx_onnx_port;
typedef struct rlx_onnx_use { const rlx_string *domain, *op; size_t count; bool known; } rlx_onnx_use;
typedef struct rlx_onnx_set { const rlx_string *domain; int64_t version; } rlx_onnx_set;
typedef struct rlx_onnx_summary {
    int64_t ir_version;
    const rlx_string *producer;
    size_t num_nodes, num_functions, num_weights; /* nodes: of graphs in graphs and of functions too */
    uint64_t weight_bytes, external_bytes;
    rlx_onnx_port *inputs, *outputs; size_t num_inputs, num_outputs;
    rlx_onnx_set *sets; size_t num_sets;
    rlx_onnx_use *uses; size_t num_uses; /* operators, in the order in which they are met */
} rlx_onnx_summary;
/* False after a report. */
bool rlx_onnx_query(rlx_context *ctx, rlx_blob *file, rlx_slice name, rlx_onnx_summary *out);

#endif
