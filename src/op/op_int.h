/* op_int.h: inside src/op only. Helpers of inference rules and the functions that rows name. */
#ifndef RLX_OP_INT_H
#define RLX_OP_INT_H

#include "op/op.h"

/* ---- dimensions under construction: small ranks on the stack, others in the context */
#define RLX_DIMS_INLINE 16
typedef struct rlx_dims {
    const rlx_prim *few[RLX_DIMS_INLINE];
    const rlx_prim **at;
    size_t count;
} rlx_dims;
/* Capacity for n dimensions, count set to n. False: out of memory (in->failed). Addresses itself:
 * do not copy. */
bool rlx_dims_init(rlx_infer *in, rlx_dims *d, size_t n);

/* ---- arguments and attributes of the call under inference */
RLX_INLINE const rlx_expr *rlx_infer_expr(const rlx_infer *in, size_t i)
{
    return i < in->call->num_args ? in->call->args[i] : NULL;
}
/* The expression behind a variable, the argument itself if it is none or nothing is known. */
const rlx_expr *rlx_infer_value(const rlx_infer *in, size_t i);
/* by position in the row; NULL: absent */
const rlx_attr *rlx_infer_attr(const rlx_infer *in, size_t index);
RLX_INLINE bool rlx_attr_is_none(const rlx_attr *a) { return !a || a->kind == RLX_NODE_ATTR_NULL; }
/* any node that is an integer literal */
bool rlx_attr_to_int(const rlx_attr *a, int64_t *out);

/* rlx_shape_dims of a shape that is written as a list; one that is a variable counts as unknown. */
const rlx_prim *const *rlx_literal_dims(const rlx_tensor_sinfo *t, size_t *ndim);
/* Shape struct info of argument i; NULL after a report. */
const rlx_shape_sinfo *rlx_infer_shape_arg(rlx_infer *in, size_t i);

/* ---- results. All give NULL and in->failed when memory runs out. */
const rlx_sinfo *rlx_infer_done(rlx_infer *in, const rlx_sinfo *s);
/* Sizes that have grown long are put in a shorter form where there is one; where one is longer than
 * any text should be, the result has a rank only. */
const rlx_sinfo *rlx_infer_dims_result(rlx_infer *in, const rlx_dims *d, rlx_dtype dtype,
                                       const rlx_node *vdevice);
const rlx_sinfo *rlx_infer_rank_result(rlx_infer *in, int64_t ndim, rlx_dtype dtype,
                                       const rlx_node *vdevice);
/* t with another dtype; t itself if it has it already. */
const rlx_sinfo *rlx_infer_with_dtype(rlx_infer *in, const rlx_tensor_sinfo *t, rlx_dtype dtype);
/* t without its shape. */
const rlx_sinfo *rlx_infer_without_shape(rlx_infer *in, const rlx_tensor_sinfo *t);

/* What to do with what is no tensor, in brackets, or nothing. */
const char *rlx_infer_cure(const rlx_sinfo *s);

/* ---- rules shared by families */
/* Axis from the front. False after a report. */
bool rlx_infer_axis(rlx_infer *in, int64_t axis, int64_t ndim, size_t *out);
/* A warning about an axis that the rule accepts, although no kernel can be made for it. */
void rlx_infer_doubt_axis(rlx_infer *in, int64_t axis, const rlx_tensor_sinfo *x);
/* An attribute that is one of a few words, "a, b or c". False after a report. */
bool rlx_infer_word(rlx_infer *in, size_t attr, const char *words);
/* Marks the axes of a list attribute in marks[0 .. ndim): position in the list + 1, 0: not
 * named. Checks range and repetition. */
typedef struct rlx_axes { uint32_t few[RLX_DIMS_INLINE]; uint32_t *mark; size_t count; } rlx_axes;
bool rlx_infer_axes(rlx_infer *in, const rlx_attr *list, int64_t ndim, rlx_axes *out);
/* Void if either is, else they must agree. False after a report. */
bool rlx_infer_common_dtype(rlx_infer *in, rlx_dtype a, rlx_dtype b, rlx_dtype *out);
/* Two devices: an absent one, or one without a target, gives way; two different ones are an
 * error. */
bool rlx_infer_common_device(rlx_infer *in, const rlx_node *a, const rlx_node *b,
                             const rlx_node **out);
/* n devices: the first present, none if a later one differs. */
const rlx_node *rlx_device_join(const rlx_node *first, const rlx_node *next);
bool rlx_infer_float(rlx_infer *in, rlx_dtype t); /* or unknown; else reports */
/* One dimension of a broadcast. 1: *out is set; 0: not provable; -1: two different literals. */
int rlx_broadcast_dim(rlx_infer *in, const rlx_prim *a, const rlx_prim *b, const rlx_prim **out);
enum rlx_answer rlx_infer_equal(rlx_infer *in, const rlx_prim *a, const rlx_prim *b);
/* 1 * d0 * d1 ..., folded */
const rlx_prim *rlx_dims_product(rlx_context *ctx, const rlx_prim *const *dims, size_t n);
/* factor * d0 * d1 ..., for proofs. NULL: literals among them exceed int64, so that nothing can be
 * proved of it; or out of memory, which is latched. */
const rlx_prim *rlx_dims_total(rlx_context *ctx, const rlx_prim *const *dims, size_t n,
                               int64_t factor);
const char *rlx_dtype_text(rlx_dtype t, char text[RLX_DTYPE_TEXT]);

/* Layouts of windows (infer_window.c): parts in the order of the dimensions; factor 0: a whole
 * axis, else a part of it. */
#define RLX_LAYOUT_PARTS 10
typedef struct rlx_layout {
    size_t n;
    char letter[RLX_LAYOUT_PARTS];
    int64_t factor[RLX_LAYOUT_PARTS];
} rlx_layout;
/* False: not a layout of exactly the axes of `canonical`. */
bool rlx_layout_read(rlx_slice text, const char *canonical, rlx_layout *out);
/* By the number of spatial axes. */
extern const char *const rlx_data_axes[], *const rlx_kernel_axes[];

/* What the call's rule says, also where operands are distributed (infer_distributed.c). */
const rlx_sinfo *rlx_infer_distributed(rlx_infer *in);

/* Subscripts of einsum (infer_linear.c): letters of one operand or of the result; ELLIPSIS
 * stands for the dimensions that are not named. */
#define RLX_EINSUM_OPERANDS 32
#define RLX_EINSUM_ELLIPSIS 128
typedef struct rlx_labels {
    unsigned char at[RLX_DIMS_INLINE];
    size_t n;
    bool ellipsis;
} rlx_labels;
typedef struct rlx_equation {
    rlx_labels in[RLX_EINSUM_OPERANDS], out;
    size_t count;
    const rlx_prim *size[RLX_EINSUM_ELLIPSIS];   /* of each label */
    const rlx_prim *rest[RLX_DIMS_INLINE];       /* of the ellipsis, aligned right */
    size_t num_rest;
} rlx_equation;
/* False: not of this form. The result is filled in where it is left out. */
bool rlx_equation_parse(rlx_slice text, rlx_equation *e);

/* ---- what rows name ------------------------------------------------------------------------- */
/* Position in the table, and how many rows there are. */
size_t rlx_op_index(const rlx_op_row *row);
size_t rlx_op_count(void);

#define RULE(name) const rlx_sinfo *rlx_infer_##name(rlx_infer *in);
RULE(same) RULE(same_float) RULE(same_bool) RULE(first) RULE(clip) RULE(astype) RULE(binary)
RULE(compare) RULE(where) RULE(fma) RULE(reduce) RULE(arg_reduce) RULE(scan) RULE(softmax)
RULE(matmul) RULE(reshape) RULE(flatten) RULE(permute) RULE(expand_dims) RULE(squeeze) RULE(concat)
RULE(broadcast_to) RULE(collapse_sum_like) RULE(collapse_sum_to) RULE(split) RULE(repeat)
RULE(tile) RULE(flip) RULE(filled) RULE(full) RULE(like) RULE(full_like) RULE(shape_of)
RULE(tensor_to_shape) RULE(shape_to_tensor) RULE(eye) RULE(eye_like) RULE(triangle) RULE(arange)
RULE(one_hot) RULE(call_tir) RULE(call_tir_inplace) RULE(call_dps) RULE(call_pure_packed)
RULE(call_inplace_packed) RULE(call_builtin) RULE(object) RULE(invoke) RULE(unit) RULE(assert)
RULE(alloc_builtin) RULE(alloc_tensor) RULE(view) RULE(to_vdevice) RULE(inspect_dtype)
RULE(inspect_axis) RULE(take) RULE(strided_slice) RULE(dynamic_slice) RULE(gather_elements)
RULE(gather_nd) RULE(scatter_elements) RULE(scatter_nd) RULE(sort) RULE(argsort) RULE(topk) RULE(unique)
RULE(nonzero) RULE(multinomial) RULE(norm) RULE(batch_norm) RULE(group_norm) RULE(dropout)
RULE(cross_entropy) RULE(nll_loss) RULE(attention) RULE(pad) RULE(quantize) RULE(dequantize)
RULE(checkpoint) RULE(annotate_sharding) RULE(redistribute) RULE(replica_to_shard)
RULE(call_tir_local_view)
RULE(second) RULE(allgather) RULE(scatter_worker) RULE(conv) RULE(conv_transpose) RULE(pool)
RULE(adaptive_pool) RULE(resize) RULE(einsum) RULE(layout_transform)
RULE(stack) RULE(meshgrid) RULE(outer) RULE(size) RULE(batch_flatten) RULE(pixel_shuffle)
RULE(prelu) RULE(instance_norm) RULE(reverse_sequence) RULE(bucketize) RULE(index_tensor)
RULE(index_put) RULE(slice_scatter) RULE(hamming_window)
RULE(affine_grid) RULE(grid_sample) RULE(sum_pixels) RULE(roi) RULE(valid_counts) RULE(nms) RULE(all_class_nms)
RULE(dynamic_nms) RULE(pool_indices) RULE(deformable_conv) RULE(random) RULE(det) RULE(resize_axes)
RULE(multibox) RULE(median) RULE(recurrent)
#undef RULE
#define LOWERING(name) const rlx_prim_func *rlx_lower_##name(rlx_lower_request *l);
LOWERING(intrinsic) LOWERING(unary) LOWERING(node) LOWERING(binary) LOWERING(wide_binary)
LOWERING(astype) LOWERING(clip) LOWERING(where) LOWERING(ewise_fma) LOWERING(fold) LOWERING(mean)
LOWERING(std) LOWERING(variance) LOWERING(log_softmax) LOWERING(dequantize) LOWERING(scatter_nd)
LOWERING(arg_reduce) LOWERING(softmax) LOWERING(matmul) LOWERING(reshape) LOWERING(permute)
LOWERING(concat) LOWERING(broadcast_to) LOWERING(fill) LOWERING(full) LOWERING(collapse)
LOWERING(scan) LOWERING(split) LOWERING(repeat) LOWERING(tile) LOWERING(flip) LOWERING(pad)
LOWERING(eye) LOWERING(triangle) LOWERING(arange) LOWERING(one_hot) LOWERING(take)
LOWERING(strided_slice) LOWERING(gather_elements) LOWERING(gather_nd) LOWERING(scatter_elements)
LOWERING(einsum) LOWERING(quantize) LOWERING(layout_transform) LOWERING(conv) LOWERING(pool)
LOWERING(adaptive_pool) LOWERING(pool_backward) LOWERING(nll_loss_backward) LOWERING(take_backward)
LOWERING(multinomial) LOWERING(resize) LOWERING(norm) LOWERING(group_norm) LOWERING(batch_norm)
LOWERING(dropout) LOWERING(cross_entropy) LOWERING(nll_loss) LOWERING(attention)
LOWERING(stack) LOWERING(meshgrid) LOWERING(outer) LOWERING(size) LOWERING(pixel_shuffle)
LOWERING(prelu) LOWERING(reverse_sequence) LOWERING(bucketize) LOWERING(index_tensor)
LOWERING(index_put) LOWERING(slice_scatter) LOWERING(hamming_window) LOWERING(instance_norm)
LOWERING(affine_grid) LOWERING(grid_sample) LOWERING(sum_pixels) LOWERING(roi_align) LOWERING(roi_pool)
LOWERING(pool_indices) LOWERING(multibox) LOWERING(deformable_conv)
LOWERING(random) LOWERING(det) LOWERING(resize_axes) LOWERING(recurrent)
#undef LOWERING
const rlx_expr *rlx_normalize_reshape(rlx_infer *in);
const rlx_expr *rlx_normalize_arg_tuple(rlx_infer *in);
const rlx_expr *rlx_normalize_inspect(rlx_infer *in);
bool rlx_prepare_arg_tuple(rlx_op_draft *d);
bool rlx_prepare_diagonal(rlx_op_draft *d);
bool rlx_prepare_eye(rlx_op_draft *d);
bool rlx_prepare_arange(rlx_op_draft *d);
bool rlx_prepare_view(rlx_op_draft *d);
bool rlx_prepare_scope(rlx_op_draft *d);
bool rlx_prepare_unique(rlx_op_draft *d);
bool rlx_prepare_var_len(rlx_op_draft *d);
bool rlx_prepare_window(rlx_op_draft *d);
bool rlx_prepare_resize(rlx_op_draft *d);

/* Elementwise operators that are more than an intrinsic or a node (lower_elementwise.c): the value
 * for elements x and y of dtype t; NULL: not for this dtype. */
struct rlx_lowering;
#define UNARY(name) \
    const rlx_prim *rlx_unary_##name(struct rlx_lowering *b, const rlx_prim *x, rlx_dtype t);
UNARY(abs) UNARY(bitwise_not) UNARY(logical_not) UNARY(negative) UNARY(sign) UNARY(square)
UNARY(relu) UNARY(gelu) UNARY(gelu_tanh) UNARY(selu) UNARY(silu) UNARY(leakyrelu) UNARY(softplus)
#undef UNARY
#define BINARY(name)                                                         \
    const rlx_prim *rlx_binary_##name(struct rlx_lowering *b, const rlx_prim *x, \
                                      const rlx_prim *y, rlx_dtype t);
BINARY(abs) BINARY(bitwise_not) BINARY(logical_not) BINARY(negative) BINARY(sign) BINARY(square)
BINARY(relu) BINARY(gelu) BINARY(gelu_tanh) BINARY(selu) BINARY(silu) BINARY(leakyrelu)
BINARY(softplus) BINARY(floor_divide) BINARY(power) BINARY(mod) BINARY(floor_mod)
BINARY(logical_and) BINARY(logical_or) BINARY(logical_xor) BINARY(bitwise_and) BINARY(bitwise_or)
BINARY(bitwise_xor) BINARY(left_shift) BINARY(right_shift) BINARY(atan2) BINARY(log_add_exp)
#undef BINARY

/* Members of families in rlx_op_row.member.number: how reductions and scans combine two elements,
 * what is looked at. */
enum rlx_fold { RLX_FOLD_SUM, RLX_FOLD_PROD, RLX_FOLD_MAX, RLX_FOLD_MIN };
enum rlx_cell { RLX_CELL_LSTM, RLX_CELL_GRU, RLX_CELL_GRU_RESET_BEFORE, RLX_CELL_RNN };   /* of recurrent layers */
enum rlx_inspected {
    RLX_INSPECT_CODE, RLX_INSPECT_BITS, RLX_INSPECT_LANES, RLX_INSPECT_NDIM, RLX_INSPECT_OFFSET,
    RLX_INSPECT_SHAPE, RLX_INSPECT_STRIDE
};

#endif
