/* proto.h: the messages of an ONNX file as structs, and the tables that read them (wire.h). Only what
 * matters is there; the rest is skipped. */
#ifndef RLX_ONNX_PROTO_H
#define RLX_ONNX_PROTO_H

#include "onnx/wire.h"

typedef struct rlx_onnx_entry { rlx_wire_head head; rlx_slice key, value; } rlx_onnx_entry;
typedef struct rlx_onnx_opset { rlx_wire_head head; rlx_slice domain; int64_t version; } rlx_onnx_opset;

typedef struct rlx_onnx_tensor {
    rlx_wire_head head;
    rlx_wire_ints dims, int32_data, int64_data, uint64_data;
    int64_t data_type, data_location;
    rlx_slice float_data, double_data, raw_data, name;
    rlx_wire_strings string_data;
    rlx_wire_list external_data; /* rlx_onnx_entry */
} rlx_onnx_tensor;
enum { RLX_ONNX_RAW_DATA = 9, RLX_ONNX_SEGMENT = 3 }; /* field numbers */

typedef struct rlx_onnx_sparse {
    rlx_wire_head head;
    rlx_onnx_tensor *values, *indices;
    rlx_wire_ints dims;
} rlx_onnx_sparse;

typedef struct rlx_onnx_dimension { rlx_wire_head head; int64_t value; rlx_slice param; } rlx_onnx_dimension;
typedef struct rlx_onnx_shape { rlx_wire_head head; rlx_wire_list dims; } rlx_onnx_shape;
typedef struct rlx_onnx_tensor_type {
    rlx_wire_head head;
    int64_t elem_type;
    rlx_onnx_shape *shape;
} rlx_onnx_tensor_type;
typedef struct rlx_onnx_type rlx_onnx_type;
typedef struct rlx_onnx_holder { rlx_wire_head head; rlx_onnx_type *elem; } rlx_onnx_holder;
typedef struct rlx_onnx_map { rlx_wire_head head; int64_t key; rlx_onnx_type *value; } rlx_onnx_map;
struct rlx_onnx_type {
    rlx_wire_head head;
    rlx_onnx_tensor_type *tensor, *sparse;
    rlx_onnx_holder *sequence, *optional;
    rlx_onnx_map *map;
};
typedef struct rlx_onnx_value_info {
    rlx_wire_head head;
    rlx_slice name;
    rlx_onnx_type *type;
} rlx_onnx_value_info;

typedef struct rlx_onnx_graph rlx_onnx_graph;
typedef struct rlx_onnx_attribute {
    rlx_wire_head head;
    rlx_slice name, s, ref;
    float f;
    int64_t i, type;
    rlx_onnx_tensor *t;
    rlx_onnx_graph *g;
    rlx_onnx_sparse *sparse;
    rlx_onnx_type *tp;
    rlx_slice floats;            /* four bytes each */
    rlx_wire_ints ints;
    rlx_wire_strings strings;
    rlx_wire_list tensors, graphs;
} rlx_onnx_attribute;
enum rlx_onnx_attribute_type {
    RLX_ONNX_FLOAT = 1, RLX_ONNX_INT, RLX_ONNX_STRING, RLX_ONNX_TENSOR, RLX_ONNX_GRAPH,
    RLX_ONNX_FLOATS, RLX_ONNX_INTS, RLX_ONNX_STRINGS, RLX_ONNX_TENSORS, RLX_ONNX_GRAPHS,
    RLX_ONNX_SPARSE, RLX_ONNX_SPARSES, RLX_ONNX_TYPE, RLX_ONNX_TYPES
};

typedef struct rlx_onnx_node {
    rlx_wire_head head;
    rlx_wire_strings inputs, outputs;
    rlx_slice name, op, domain, overload;
    rlx_wire_list attributes;    /* rlx_onnx_attribute */
    uint32_t line_begin, line_len; /* in the list of nodes: see listing.c */
} rlx_onnx_node;

struct rlx_onnx_graph {
    rlx_wire_head head;
    rlx_wire_list nodes, initializers, sparse_initializers, inputs, outputs, value_infos;
    rlx_slice name;
};
typedef struct rlx_onnx_function {
    rlx_wire_head head;
    rlx_slice name, domain, overload;
    rlx_wire_strings inputs, outputs, attributes;
    rlx_wire_list nodes, opsets, attribute_protos;
} rlx_onnx_function;
typedef struct rlx_onnx_model {
    rlx_wire_head head;
    int64_t ir_version, model_version;
    rlx_slice producer, producer_version, domain;
    rlx_onnx_graph *graph;
    rlx_wire_list opsets, functions, trainings;
} rlx_onnx_model;

extern const rlx_wire_message rlx_onnx_model_message;
extern const rlx_wire_message rlx_onnx_tensor_message; /* of .pb files */

/* Items of a list. */
#define RLX_ONNX_ITEM(type, list, i) (&((const type *)(list).data)[i])

#endif
