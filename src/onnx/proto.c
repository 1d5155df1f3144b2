/* proto.c: the tables of the messages of an ONNX file. */
#include "onnx/proto.h"

#include <stddef.h>

#define ROW(number, kind, member) { number, RLX_WIRE_##kind, offsetof(S, member), NULL, #member }
#define PART(number, kind, member, part) \
    { number, RLX_WIRE_##kind, offsetof(S, member), &part##_message, #member }
#define MESSAGE(name, type, most, rows) \
    { name, sizeof(type), most, rows, sizeof(rows) / sizeof((rows)[0]) }
enum { MANY = 1 << 20 };

static const rlx_wire_message graph_message, type_message, tensor_message;

#define S rlx_onnx_entry
static const rlx_wire_field entry_rows[] = { ROW(1, BYTES, key), ROW(2, BYTES, value) };
static const rlx_wire_message entry_message = MESSAGE("StringStringEntryProto", S, MANY, entry_rows);
#undef S
#define S rlx_onnx_opset
static const rlx_wire_field opset_rows[] = { ROW(1, BYTES, domain), ROW(2, INT, version) };
static const rlx_wire_message opset_message = MESSAGE("OperatorSetIdProto", S, 1000, opset_rows);
#undef S
#define S rlx_onnx_tensor
static const rlx_wire_field tensor_rows[] = {
    ROW(1, INTS, dims),         ROW(2, INT, data_type),     ROW(4, FLOATS, float_data),
    ROW(5, INTS, int32_data),   ROW(6, STRINGS, string_data), ROW(7, INTS, int64_data),
    ROW(8, BYTES, name),        ROW(9, BYTES, raw_data),    ROW(10, DOUBLES, double_data),
    ROW(11, INTS, uint64_data), PART(13, MESSAGES, external_data, entry), ROW(14, INT, data_location)
};
static const rlx_wire_message tensor_message = MESSAGE("TensorProto", S, MANY, tensor_rows);
const rlx_wire_message rlx_onnx_tensor_message = MESSAGE("TensorProto", S, MANY, tensor_rows);
#undef S
#define S rlx_onnx_sparse
static const rlx_wire_field sparse_rows[] = { PART(1, MESSAGE, values, tensor),
                                              PART(2, MESSAGE, indices, tensor), ROW(3, INTS, dims) };
static const rlx_wire_message sparse_message = MESSAGE("SparseTensorProto", S, MANY, sparse_rows);
#undef S
#define S rlx_onnx_dimension
static const rlx_wire_field dim_rows[] = { ROW(1, INT, value), ROW(2, BYTES, param) };
static const rlx_wire_message dim_message = MESSAGE("Dimension", S, MANY, dim_rows);
#undef S
#define S rlx_onnx_shape
static const rlx_wire_field shape_rows[] = { PART(1, MESSAGES, dims, dim) };
static const rlx_wire_message shape_message = MESSAGE("TensorShapeProto", S, 1, shape_rows);
#undef S
#define S rlx_onnx_tensor_type
static const rlx_wire_field tensor_type_rows[] = { ROW(1, INT, elem_type),
                                                   PART(2, MESSAGE, shape, shape) };
static const rlx_wire_message tensor_type_message = MESSAGE("TypeProto.Tensor", S, 1, tensor_type_rows);
#undef S
#define S rlx_onnx_holder
static const rlx_wire_field holder_rows[] = { PART(1, MESSAGE, elem, type) };
static const rlx_wire_message holder_message = MESSAGE("TypeProto.Sequence", S, 1, holder_rows);
#undef S
#define S rlx_onnx_map
static const rlx_wire_field map_rows[] = { ROW(1, INT, key), PART(2, MESSAGE, value, type) };
static const rlx_wire_message map_message = MESSAGE("TypeProto.Map", S, 1, map_rows);
#undef S
#define S rlx_onnx_type
static const rlx_wire_field type_rows[] = {
    PART(1, MESSAGE, tensor, tensor_type), PART(4, MESSAGE, sequence, holder),
    PART(5, MESSAGE, map, map),            PART(8, MESSAGE, sparse, tensor_type),
    PART(9, MESSAGE, optional, holder)
};
static const rlx_wire_message type_message = MESSAGE("TypeProto", S, MANY, type_rows);
#undef S
#define S rlx_onnx_value_info
static const rlx_wire_field value_info_rows[] = { ROW(1, BYTES, name), PART(2, MESSAGE, type, type) };
static const rlx_wire_message value_info_message = MESSAGE("ValueInfoProto", S, 4 * MANY, value_info_rows);
#undef S
#define S rlx_onnx_attribute
static const rlx_wire_field attribute_rows[] = {
    ROW(1, BYTES, name),          ROW(2, FLOAT, f),            ROW(3, INT, i),
    ROW(4, BYTES, s),             PART(5, MESSAGE, t, tensor), PART(6, MESSAGE, g, graph),
    ROW(7, FLOATS, floats),       ROW(8, INTS, ints),          ROW(9, STRINGS, strings),
    PART(10, MESSAGES, tensors, tensor), PART(11, MESSAGES, graphs, graph),
    PART(14, MESSAGE, tp, type),  ROW(20, INT, type),          ROW(21, BYTES, ref),
    PART(22, MESSAGE, sparse, sparse)
};
static const rlx_wire_message attribute_message = MESSAGE("AttributeProto", S, 1000, attribute_rows);
#undef S
#define S rlx_onnx_node
static const rlx_wire_field node_rows[] = {
    ROW(1, STRINGS, inputs), ROW(2, STRINGS, outputs), ROW(3, BYTES, name),
    ROW(4, BYTES, op),       PART(5, MESSAGES, attributes, attribute), ROW(7, BYTES, domain),
    ROW(8, BYTES, overload)
};
static const rlx_wire_message node_message = MESSAGE("NodeProto", S, MANY, node_rows);
#undef S
#define S rlx_onnx_graph
static const rlx_wire_field graph_rows[] = {
    PART(1, MESSAGES, nodes, node),          ROW(2, BYTES, name),
    PART(5, MESSAGES, initializers, tensor), PART(11, MESSAGES, inputs, value_info),
    PART(12, MESSAGES, outputs, value_info), PART(13, MESSAGES, value_infos, value_info),
    PART(15, MESSAGES, sparse_initializers, sparse)
};
static const rlx_wire_message graph_message = MESSAGE("GraphProto", S, 1000, graph_rows);
#undef S
#define S rlx_onnx_function
static const rlx_wire_field function_rows[] = {
    ROW(1, BYTES, name),         ROW(4, STRINGS, inputs),        ROW(5, STRINGS, outputs),
    ROW(6, STRINGS, attributes), PART(7, MESSAGES, nodes, node), PART(9, MESSAGES, opsets, opset),
    ROW(10, BYTES, domain),      PART(11, MESSAGES, attribute_protos, attribute),
    ROW(13, BYTES, overload)
};
static const rlx_wire_message function_message = MESSAGE("FunctionProto", S, 100000, function_rows);
#undef S
#define S rlx_onnx_model
static const rlx_wire_field model_rows[] = {
    ROW(1, INT, ir_version),      ROW(2, BYTES, producer),        ROW(3, BYTES, producer_version),
    ROW(4, BYTES, domain),        ROW(5, INT, model_version),     PART(7, MESSAGE, graph, graph),
    PART(8, MESSAGES, opsets, opset), PART(20, MESSAGES, trainings, entry),
    PART(25, MESSAGES, functions, function)
};
const rlx_wire_message rlx_onnx_model_message = MESSAGE("ModelProto", S, 1, model_rows);
#undef S
