#!/usr/bin/python3
"""Types of operators' calls: what TVM 0.18's tests of its operators expect, and what its relations say at their edges. A row is a call,
the types of %a, %b ..., and the type of the result; `!` and a part of the message where the call is refused."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from relay_numbers import HEAD, Failed, lib, take, text

# A type is written as extents and data type: 1,3,?,224 f32; without extents a scalar.
SHORT = {"f32": "float32", "f16": "float16", "f64": "float64", "i8": "int8", "u8": "uint8", "i32": "int32", "i64": "int64", "b": "bool"}
TABLE = r"""
# elementwise
log(%a) : 10,4 f32 -> 10,4 f32
exp(%a) : 10,4 f32 -> 10,4 f32
sqrt(%a) : ?,4 f32 -> ?,4 f32
rsqrt(%a) : 10,4 f16 -> 10,4 f16
sigmoid(%a) : 10,4 f32 -> 10,4 f32
tanh(%a) : f32 -> f32
negative(%a) : 1,8,3,3 i32 -> 1,8,3,3 i32
copy(%a) : 3,? i8 -> 3,? i8
clip(%a, a_min=1f, a_max=4f) : 10,4 f32 -> 10,4 f32
nn.relu(%a) : 10,4 f32 -> 10,4 f32
nn.leaky_relu(%a, alpha=0.1f) : 10,4 f32 -> 10,4 f32
isfinite(%a) : 2,3 f32 -> 2,3 b
isnan(%a) : ? f32 -> ? b
isinf(%a) : f32 -> b
logical_not(%a) : 10,4 b -> 10,4 b
bitwise_not(%a) : 10 i32 -> 10 i32
zeros_like(%a) : 4,5 f32 -> 4,5 f32
ones_like(%a) : ?,5 f32 -> ?,5 f32
# elementwise with broadcasting
add(%a, %b) : 10,4 f32; 5,10,1 f32 -> 5,10,4 f32
subtract(%a, %b) : ?,4 f32; 5,10,4 f32 -> 5,10,4 f32
multiply(%a, %b) : 5,10,4 f32; 5,10,1 f32 -> 5,10,4 f32
add(%a, %b) : ? f32; 1 f32 -> ? f32
add(%a, %b) : ? f32; 5 f32 -> 5 f32
add(%a, %b) : f32; 3,4 f32 -> 3,4 f32
divide(%a, %b) : 1 f32; 1 f32 -> 1 f32
floor_mod(%a, %b) : 5,10,4 i32; 5,10,1 i32 -> 5,10,4 i32
maximum(%a, %b) : ?,? f32; 1,1 f32 -> ?,? f32
greater(%a, %b) : 10,4 f32; 5,10,1 f32 -> 5,10,4 b
equal(%a, %b) : i32; i32 -> b
logical_and(%a, %b) : 10,4 b; 5,10,1 b -> 5,10,4 b
where(%a, %b, %c) : 3,4 b; 3,4 f32; 3,4 f32 -> 3,4 f32
where(%a, %b, %c) : 2,1 b; 3 i32; i32 -> 2,3 i32
add(%a, %b) : 2,3 f32; 4 f32 -> ! incompatible broadcast
add(%a, %b) : 2,3 f32; 3 f16 -> ! data types differ
# data types
cast(%a, dtype="int32") : 8,9,4 f32 -> 8,9,4 i32
cast_like(%a, %b) : 2,? f32; 7 i8 -> 2,? i8
reinterpret(%a, dtype="int32") : 1000,400 f32 -> 1000,400 i32
# products
nn.dense(%a, %b, units=None) : 2,4,? f32; 3,? f32 -> 2,4,3 f32
nn.dense(%a, %b, units=2) : ?,4,2,2 f32; 2,2 f32 -> ?,4,2,2 f32
nn.dense(%a, %b, units=5, out_dtype="int32") : 3,4 i8; 5,4 i8 -> 3,5 i32
nn.dense(%a, %b, units=None) : 3,4 f32; 5,7 f32 -> ! summed over differ
nn.matmul(%a, %b, units=None) : 3,4 f32; 4,5 f32 -> 3,5 f32
nn.matmul(%a, %b, units=None, transpose_a=True) : 4,3 f32; 4,5 f32 -> 3,5 f32
nn.batch_matmul(%a, %b, transpose_b=True) : 10,5,2 f32; 10,4,2 f32 -> 10,5,4 f32
nn.batch_matmul(%a, %b) : ?,5,2 f32; 10,2,4 f32 -> ?,5,4 f32
nn.batch_matmul(%a, %b) : 1,5,2 f32; 10,2,4 f32 -> 10,5,4 f32
einsum((%a, %b), equation="ij,jk->ik") : 3,4 f32; 4,5 f32 -> 3,5 f32
nn.bias_add(%a, %b) : 1,16,5,5 f32; 16 f32 -> 1,16,5,5 f32
nn.bias_add(%a, %b, axis=-1) : ?,? f32; ? f32 -> ?,? f32
# convolutions
nn.conv1d(%a, %b, kernel_size=[3], padding=[1, 1], channels=2) : 2,10,224 f32; 2,10,3 f32 -> 2,2,224 f32
nn.conv1d(%a, %b, kernel_size=[1], padding=[1, 1], channels=3, data_layout="NWC", kernel_layout="WIO") : 2,32,4 f32; 1,4,3 f32 -> 2,34,3 f32
nn.conv2d(%a, %b, kernel_size=[3, 3], padding=[1, 1], channels=2) : 2,10,224,224 f32; 2,10,3,3 f32 -> 2,2,224,224 f32
nn.conv2d(%a, %b) : ?,10,224,224 f32; 2,10,3,3 f32 -> ?,2,222,222 f32
nn.conv2d(%a, %b, out_dtype="int32") : ?,3,8,8 i8; 2,3,3,3 i8 -> ?,2,6,6 i32
nn.conv2d(%a, %b, strides=[2, 2], padding=[3, 3, 3, 3], channels=64, kernel_size=[7, 7]) : 1,3,224,224 f32; 64,3,7,7 f32 -> 1,64,112,112 f32
nn.conv2d(%a, %b, padding=[1, 1], channels=16, kernel_size=[3, 3], data_layout="NHWC", kernel_layout="HWIO", out_dtype="int32") : 4,224,224,32 i8; 3,3,32,16 i8 -> 4,224,224,16 i32
nn.conv2d(%a, %b, groups=32, channels=32, kernel_size=[3, 3]) : 1,32,18,18 f32; 32,1,3,3 f32 -> 1,32,16,16 f32
nn.conv2d(%a, %b, groups=4, channels=16, kernel_size=[3, 3], padding=[1, 1]) : 1,32,18,18 f32; 16,8,3,3 f32 -> 1,16,18,18 f32
nn.conv2d(%a, %b, dilation=[3, 3], channels=10, kernel_size=[3, 3]) : 1,3,18,18 f32; 10,3,3,3 f32 -> 1,10,12,12 f32
nn.conv2d(%a, %b, padding=[1]) : 1,3,?,8 f32; 2,3,3,3 f32 -> 1,2,?,8 f32
nn.conv2d(%a, %b) : 1,4,8,8 f32; 2,3,3,3 f32 -> ! channels
nn.conv2d(%a, %b) : 1,3,8 f32; 2,3,3,3 f32 -> ! rank 4
nn.conv3d(%a, %b, kernel_size=[3, 3, 3], padding=[1, 1, 1], channels=2) : 1,10,224,224,224 f32; 2,10,3,3,3 f32 -> 1,2,224,224,224 f32
nn.conv2d_transpose(%a, %b, kernel_size=[3, 3], padding=[1, 1], channels=15) : 1,10,32,32 f32; 10,15,3,3 f32 -> 1,15,32,32 f32
nn.conv2d_transpose(%a, %b, channels=11, strides=[2, 2], kernel_size=[3, 3]) : 1,10,32,32 f32; 10,11,3,3 f32 -> 1,11,65,65 f32
nn.conv1d_transpose(%a, %b, strides=[2], padding=[1], output_padding=[1], channels=10, kernel_size=[3]) : 1,3,18 f32; 3,10,3 f32 -> 1,10,36 f32
nn.conv3d_transpose(%a, %b, channels=2, kernel_size=[3, 3, 3], padding=[1, 1, 1]) : 1,10,22,22,22 f32; 10,2,3,3,3 f32 -> 1,2,22,22,22 f32
# pooling
nn.max_pool2d(%a, pool_size=[1, 1]) : 1,3,224,224 f32 -> 1,3,224,224 f32
nn.max_pool2d(%a, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1]) : 1,64,112,112 f32 -> 1,64,56,56 f32
nn.max_pool2d(%a, pool_size=[2, 2], strides=[2, 2], ceil_mode=True) : 1,3,7,7 f32 -> 1,3,4,4 f32
nn.avg_pool2d(%a, pool_size=[1, 1], layout="NHWC") : 1,224,224,3 f32 -> 1,224,224,3 f32
nn.avg_pool2d(%a, pool_size=[2, 2], strides=[2, 2]) : ?,3,?,6 f32 -> ?,3,?,3 f32
nn.max_pool1d(%a, pool_size=[1]) : 1,3,224 f32 -> 1,3,224 f32
nn.avg_pool3d(%a, pool_size=[2, 2, 2], strides=[2, 2, 2]) : 1,3,16,16,16 f32 -> 1,3,8,8,8 f32
nn.max_pool2d(%a, pool_size=[2, 2], dilation=[2, 2]) : 1,3,8,8 f32 -> 1,3,6,6 f32
nn.global_max_pool2d(%a) : ?,?,224,224 f32 -> ?,?,1,1 f32
nn.global_avg_pool2d(%a, layout="NHWC") : 1,7,7,512 f32 -> 1,1,1,512 f32
nn.adaptive_avg_pool2d(%a, output_size=[3, 4]) : 1,9,224,224 f32 -> 1,9,3,4 f32
nn.adaptive_max_pool2d(%a, output_size=[5], layout="NHWC") : 1,14,56,78 f32 -> 1,5,5,78 f32
nn.adaptive_avg_pool1d(%a, output_size=[]) : 1,9,224 f32 -> 1,9,224 f32
nn.adaptive_max_pool3d(%a, output_size=[1]) : 1,16,8,8,8 f32 -> 1,16,1,1,1 f32
nn.batch_flatten(%a) : ?,1,? f32 -> ?,? f32
nn.batch_flatten(%a) : 1,?,5 f32 -> 1,? f32
nn.batch_flatten(%a) : 2,3,4,5 f32 -> 2,60 f32
nn.max_pool2d(%a, pool_size=[2, 2, 2]) : 1,3,8,8 f32 -> ! pool_size
# pictures
image.resize2d(%a, size=[100, 200], method="nearest_neighbor") : ?,3,224,224 f32 -> ?,3,100,200 f32
image.resize2d(%a, size=[8, 8], layout="NHWC", out_dtype="float16") : 1,4,4,3 f32 -> 1,8,8,3 f16
image.resize1d(%a, size=[16]) : 1,3,8 f32 -> 1,3,16 f32
image.resize3d(%a, size=[10, 20, 30]) : ?,3,22,33,44 f32 -> ?,3,10,20,30 f32
nn.upsampling(%a, scale_h=2f, scale_w=2f, method="bilinear", layout="NCHW") : 1,3,100,200 f32 -> 1,3,200,400 f32
nn.upsampling3d(%a, scale_d=2f, scale_h=2f, scale_w=2f, method="trilinear") : 1,3,10,10,20 f32 -> 1,3,20,20,40 f32
image.affine_grid(%a, target_shape=[20, 30]) : 1,2,3 f32 -> 1,2,20,30 f32
image.grid_sample(%a, %b) : 4,4,16,32 f32; 4,2,8,8 f32 -> 4,4,8,8 f32
image.grid_sample(%a, %b, layout="NCDHW") : 4,4,4,16,32 f32; 4,3,2,8,8 f32 -> 4,4,2,8,8 f32
vision.roi_align(%a, %b, pooled_size=[7, 7], spatial_scale=1f) : 1,4,16,16 f32; 32,5 f32 -> 32,4,7,7 f32
vision.roi_pool(%a, %b, pooled_size=[6, 3], spatial_scale=1f) : 1,4,16,16 f32; 32,5 f32 -> 32,4,6,3 f32
nn.depth_to_space(%a, block_size=2) : 1,4,5,5 f32 -> 1,1,10,10 f32
nn.space_to_depth(%a, block_size=2, layout="NHWC") : 1,10,10,3 f32 -> 1,5,5,12 f32
nn.depth_to_space(%a, block_size=2) : 1,3,5,5 f32 -> ! no multiple
# normalisation
nn.softmax(%a, axis=1) : ?,4 f32 -> ?,4 f32
nn.log_softmax(%a, axis=-1) : 10,4 f32 -> 10,4 f32
nn.batch_norm(%a, %b, %c, %d, %e, center=False, scale=False) : 10,4 f32; 4 f32; 4 f32; 4 f32; 4 f32 -> (10,4 f32, 4 f32, 4 f32)
nn.batch_norm(%a, %b, %c, %d, %e, axis=0).0 : 5,4 f32; 5 f32; 5 f32; 5 f32; 5 f32 -> 5,4 f32
nn.layer_norm(%a, %b, %c) : 2,8,768 f32; 768 f32; 768 f32 -> 2,8,768 f32
nn.group_norm(%a, %b, %c, num_groups=4) : 1,16,4,4 f32; 16 f32; 16 f32 -> 1,16,4,4 f32
nn.instance_norm(%a, %b, %c) : 1,16,4,4 f32; 16 f32; 16 f32 -> 1,16,4,4 f32
nn.batch_norm(%a, %b, %c, %d, %e) : 10,4 f32; 5 f32; 4 f32; 4 f32; 4 f32 -> ! do not match
nn.dropout(%a, rate=0.75f) : 3,4,5 f32 -> (3,4,5 f32, 3,4,5 f32)
nn.lrn(%a, size=3) : 1,8,3,3 f32 -> 1,8,3,3 f32
nn.l2_normalize(%a, eps=0.001f, axis=[1]) : 1,8,? f32 -> 1,8,? f32
nn.prelu(%a, %b) : 1,3,8,8 f32; 3 f32 -> 1,3,8,8 f32
nn.pad(%a, 0f, pad_width=[[1, 1], [2, 2], [3, 3], [4, 4]]) : ?,?,?,? f32 -> ?,?,?,? f32
nn.pad(%a, 0f, pad_width=[[1, 1], [2, 2], [3, 3], [4, 4]]) : 1,2,3,? f32 -> 3,6,9,? f32
nn.mirror_pad(%a, pad_width=[[1, 1], [2, 2]]) : 3,4 f32 -> 5,8 f32
nn.cross_entropy(%a, %b) : 10,5 f32; 10,5 f32 -> f32
nn.nll_loss(%a, %b, %c, ignore_index=-100) : 10,5,8,8 f32; 10,8,8 i32; 5 f32 -> f32
nn.nll_loss(%a, %b, %c, reduction="none", ignore_index=-100) : 10,5,8,8 f32; 10,8,8 i32; 5 f32 -> 10,8,8 f32
# reductions
sum(%a) : 2,3,4 f32 -> f32
sum(%a, axis=[1], keepdims=True) : 2,3,4 f32 -> 2,1,4 f32
mean(%a, axis=[-1, 0]) : 2,3,?,4 f32 -> 3,? f32
max(%a, axis=[1, 2], exclude=True) : ?,3,4 f32 -> 3,4 f32
min(%a, axis=[0, 1], exclude=True, keepdims=True) : 3,4,5 f32 -> 3,4,1 f32
all(%a, axis=[1]) : 2,3 b -> 2 b
argmax(%a, axis=[1]) : 2,3,4 f32 -> 2,4 i32
argmin(%a, axis=[1], keepdims=True) : 2,3,4 f32 -> 2,1,4 i32
argmax(%a) : 2,3,4 f32 -> i32
variance(%a, %b, axis=[1]) : 2,3,4 f32; 2,1,4 f32 -> 2,4 f32
sum(%a, axis=[3]) : 2,3 f32 -> ! out of range
cumsum(%a, axis=1) : 2,3 i32 -> 2,3 i32
cumsum(%a, dtype="int64") : 2,3 i32 -> 6 i64
topk(%a, k=1) : 10,4 f32 -> (10,1 f32, 10,1 i32)
topk(%a, k=3, axis=0, ret_type="values") : 10,4 f32 -> 3,4 f32
topk(%a, k=0, ret_type="indices", dtype="int64") : 10,4 f32 -> 10,4 i64
argsort(%a, dtype="int64") : 2,3,4 f32 -> 2,3,4 i64
sort(%a, axis=0) : 2,3,4 f32 -> 2,3,4 f32
# shapes
reshape(%a, newshape=[4, 0, 2]) : 2,3,4 f32 -> 4,3,2 f32
reshape(%a, newshape=[2, 0, 0]) : 2,3,4 f32 -> 2,3,4 f32
reshape(%a, newshape=[0, -1]) : 2,3,4 f32 -> 2,12 f32
reshape(%a, newshape=[-1, 0]) : 2,3,4 f32 -> 8,3 f32
reshape(%a, newshape=[2, -2]) : 2,3,4 f32 -> 2,3,4 f32
reshape(%a, newshape=[-2, 1, 1]) : 2,3,4 f32 -> 2,3,4,1,1 f32
reshape(%a, newshape=[-3, 4]) : 2,3,4 f32 -> 6,4 f32
reshape(%a, newshape=[-3, -3]) : 2,3,4,5 f32 -> 6,20 f32
reshape(%a, newshape=[0, -3]) : 2,3,4 f32 -> 2,12 f32
reshape(%a, newshape=[-4, 1, 2, -2]) : 2,3,4 f32 -> 1,2,3,4 f32
reshape(%a, newshape=[2, -4, -1, 3, -2]) : 2,3,4 f32 -> 2,1,3,4 f32
reshape(%a, newshape=[-4, -1, 2, -3]) : 4,5,6 f32 -> 2,2,30 f32
reshape(%a, newshape=[0, -1]) : ?,3,4 f32 -> ?,12 f32
reshape(%a, newshape=[7]) : 2,3 f32 -> ! cannot be reshaped
contrib_reverse_reshape(%a, newshape=[0, -1]) : 2,3,4 f32 -> 3,8 f32
contrib_reverse_reshape(%a, newshape=[-3, 0]) : 4,5,3 f32 -> 20,3 f32
contrib_reverse_reshape(%a, newshape=[-3, 0]) : 4,5,10,3 f32 -> ! cannot be reshaped
contrib_reverse_reshape(%a, newshape=[-1, 0]) : 10,5,4 f32 -> 50,4 f32
reshape_like(%a, %b) : 1,2,3 f32; 1,6 f32 -> 1,6 f32
reshape_like(%a, %b, lhs_begin=1, lhs_end=3) : 1,2,3,4 f32; 6,5 f32 -> ! cannot be reshaped
reshape_like(%a, %b, lhs_begin=1, lhs_end=3) : 1,2,3,4 f32; 6 f32 -> 1,6,4 f32
transpose(%a, axes=None) : ?,?,100 f32 -> 100,?,? f32
transpose(%a, axes=[1, 0, 2]) : 4,?,100 f32 -> ?,4,100 f32
transpose(%a, axes=[0, 0]) : 4,5 f32 -> ! twice
expand_dims(%a, axis=2, num_newaxis=2) : 4,? f32 -> 4,?,1,1 f32
expand_dims(%a, axis=-1) : 3,10 f32 -> 3,10,1 f32
squeeze(%a) : 1,3,1 f32 -> 3 f32
squeeze(%a, axis=[0]) : 1,3,1 f32 -> 3,1 f32
squeeze(%a, axis=[1]) : 1,3,1 f32 -> ! not 1
concatenate((%a, %b), axis=1) : ?,?,100 f32; ?,?,100 f32 -> ?,?,100 f32
concatenate((%a, %b), axis=-1) : 10,4 f32; 10,5 f32 -> 10,9 f32
concatenate((%a, %b), axis=2) : 10,4,3 f32; 10,5,3 f32 -> ! 4 in one field
stack((%a, %b), axis=-1) : 2,3 f32; 2,3 f32 -> 2,3,2 f32
split(%a, indices_or_sections=5, axis=1) : 5,5,2,2 f32 -> (5,1,2,2 f32, 5,1,2,2 f32, 5,1,2,2 f32, 5,1,2,2 f32, 5,1,2,2 f32)
split(%a, indices_or_sections=[2, 4, 10], axis=1) : 5,20,2 f32 -> (5,2,2 f32, 5,2,2 f32, 5,6,2 f32, 5,10,2 f32)
split(%a, indices_or_sections=3, axis=0) : 5,2 f32 -> ! equal parts
strided_slice(%a, begin=[1, 1, 0], end=[4, 4, 3], strides=[2, 1, 1], axes=None) : 3,4,3 f32 -> 1,3,3 f32
strided_slice(%a, begin=[1, -1, 0], end=[4, -5, 3], strides=[2, -1, 1], axes=None) : 3,4,3 f32 -> 1,4,3 f32
strided_slice(%a, begin=[1, 0, 0], end=[2, 2, 3], axes=None) : 3,4,3 f32 -> 1,2,3 f32
strided_slice(%a, begin=[1, 1], end=[4, 4], slice_mode="size", axes=[0, 1]) : 6,8,3 f32 -> 4,4,3 f32
strided_slice(%a, begin=[-3], end=[-1], axes=[1]) : 3,4,? f32 -> 3,2,? f32
slice_like(%a, %b, axes=[2, 3]) : 1,3,224,224 f32; 1,3,112,112 f32 -> 1,3,112,112 f32
slice_like(%a, %b, axes=None) : 3,4,5 f32; 1,2,3 f32 -> 1,2,3 f32
take(%a, %b) : ?,?,? f32; 2,? i32 -> 2,? f32
take(%a, %b, axis=1) : ?,4,? f32; 2,3 i32 -> ?,2,3,? f32
take(%a, %b, axis=0) : 1000,64 f32; i32 -> 64 f32
take(%a, %b, batch_dims=1, axis=2) : 2,3,4 f32; 2,5 i32 -> 2,3,5 f32
take(%a, %b, axis=1) : 3,4 f32; 2 f32 -> ! integer
gather(%a, %b, axis=1) : 3,4 f32; 3,2 i64 -> 3,2 f32
gather_nd(%a, %b) : 5,6,7 f32; 2,3 i32 -> 3,7 f32
gather_nd(%a, %b, batch_dims=1) : 2,2,2 f32; 1,2 i32 -> 2,2 f32
scatter_elements(%a, %b, %c, axis=0) : 4,5 f32; 2,5 i64; 2,5 f32 -> 4,5 f32
scatter_nd(%a, %b, %c) : 4,5 f32; 2,3 i64; 3 f32 -> 4,5 f32
adv_index((%a, %b, %c)) : 5,6,7 f32; 2 i64; 3,1 i64 -> 3,2,7 f32
repeat(%a, repeats=2, axis=0) : 3,4 f32 -> 6,4 f32
repeat(%a, repeats=2) : 3,4 f32 -> 24 f32
tile(%a, reps=[2, 1, 3]) : 3,4 f32 -> 2,3,12 f32
tile(%a, reps=[2]) : 2,? f32 -> 2,? f32
reverse(%a, axis=1) : 3,4 f32 -> 3,4 f32
broadcast_to(%a, shape=[2, 3, 4], dtype=None) : 3,1 f32 -> 2,3,4 f32
broadcast_to_like(%a, %b) : 4,1,6 f32; 5,4,7,6 f32 -> 5,4,7,6 f32
collapse_sum_like(%a, %b) : 3,4,5,6 f32; 4,1,6 f32 -> 4,1,6 f32
full(%a, shape=[1, 2], dtype="int8") : i8 -> 1,2 i8
full_like(%a, %b) : 4,? f32; f32 -> 4,? f32
zeros(shape=[2, 3], dtype="float32") : -> 2,3 f32
arange(0, 10, 3, start=0, stop=10, step=3, dtype="int32") : -> 4 i32
arange(%a, 10, 3, start=None, stop=None, step=None, dtype="int64") : i64 -> ? i64
one_hot(%a, 1, 0, depth=5, dtype="int32") : 2,3 i32 -> 2,3,5 i32
one_hot(%a, 1f, 0f, depth=5, axis=0, dtype="float32") : ?,3 i32 -> 5,?,3 f32
meshgrid((%a, %b)) : 3 f32; 5 f32 -> (3,5 f32, 3,5 f32)
layout_transform(%a, src_layout="NCHW", dst_layout="NCHW4c") : 1,64,8,? f32 -> 1,16,8,?,4 f32
trilu(%a, 0, upper=True) : 3,4 f32 -> 3,4 f32
shape_of(%a) : 3,?,4 f32 -> 3 i32
ndarray_size(%a, dtype="int64") : ?,4 f32 -> i64
argwhere(%a) : 3,4 i32 -> ?,2 i32
unique(%a) : 10 i64 -> (? i64, ? i32, 10 i32, 1 i32)
sequence_mask(%a, %b) : 5,10 f32; 10 i32 -> 5,10 f32
nn.space_to_batch_nd(%a, block_shape=[2, 2], paddings=[[0, 0], [0, 0]], pad_value=0f) : 1,2,2,1 f32 -> 4,1,1,1 f32
nn.batch_to_space_nd(%a, block_shape=[2, 2], crops=[[0, 0], [0, 0]]) : 4,1,1,3 f32 -> 1,2,2,3 f32
nn.dilate(%a, strides=[1, 1, 2]) : 3,4,5 f32 -> 3,4,9 f32
dyn.reshape(%a, %b, newshape=[]) : 2,3,4 f32; 2 i64 -> ?,? f32
dyn.strided_slice(%a, %b, %c, %d, begin=None, end=None) : 3,4 f32; 2 i64; 2 i64; 2 i64 -> ?,? f32
dyn.tile(%a, %b, reps=[]) : 2,3 f32; 3 i32 -> ?,?,? f32
# quantisation
qnn.quantize(%a, 0.5f, 0, out_dtype="uint8") : 3,4 f32 -> 3,4 u8
qnn.dequantize(%a, 0.5f, 0) : 3,4 u8 -> 3,4 f32
qnn.requantize(%a, 0.5f, 0, 1f, 0, out_dtype="int8") : 3,4 i32 -> 3,4 i8
qnn.add(%a, %b, 1f, 0, 1f, 0, 1f, 0) : 3,4 u8; 4 u8 -> 3,4 u8
qnn.dense(%a, %b, 0, 0, 1f, 1f, units=5, out_dtype="int32") : 2,4 u8; 5,4 u8 -> 2,5 i32
qnn.conv2d(%a, %b, 0, 0, 1f, 1f, channels=16, kernel_size=[3, 3], out_dtype="int32") : 1,3,8,8 u8; 16,3,3,3 i8 -> 1,16,6,6 i32
qnn.quantize(%a, 0.5f, 0.5f, out_dtype="uint8") : 3,4 f32 -> ! int32 scalar
"""


def full(short):
    short = short.strip()
    if short.startswith("("):
        return "(" + ", ".join(full(f) for f in short[1:-1].split(", ")) + ")"
    extents, _, dtype = short.rpartition(" ")
    sizes = ", ".join(extents.split(","))
    return f"Tensor[({sizes}), {SHORT[dtype]}]" if extents else SHORT[dtype]


def type_of(call, params):
    ctx = lib.relax_context_create(None)
    arguments = ", ".join(f"%{'abcde'[i]}: {full(p)}" for i, p in enumerate(params))
    module = lib.relax_relay_module_parse(ctx, *text("m.rly"), *text(f"{HEAD}def @main({arguments}) {{ {call} }}\n"))
    try:
        if not module or lib.relax_relay_module_infer(module) != lib.RELAX_OK:
            raise Failed("", "".join(take(lib.relax_diagnostic_render(ctx, i)) for i in range(lib.relax_context_num_diagnostics(ctx))))
        printed = take(lib.relax_relay_module_print(module))
        return printed.split("-> ", 1)[1].split(" {\n", 1)[0]
    finally:
        lib.relax_relay_module_destroy(module)
        lib.relax_context_release(ctx)


passed = failed = 0
for line in TABLE.strip().split("\n"):
    if line.startswith("#"):
        continue
    call, rest = line.split(") : ", 1) if ") : " in line else line.split(" : ", 1)
    call += ")" if ") : " in line else ""
    params, want = rest.split("->", 1) if " ->" in rest or rest.startswith("->") else (rest, "")
    params, want = [p for p in params.split(";") if p.strip()], want.strip()
    try:
        found = type_of(call, params)
    except Failed as e:
        found = f"! {e}"
    good = want[1:].strip() in found if want.startswith("!") and found.startswith("!") else not want.startswith("!") and found == full(want)
    passed, failed = passed + good, failed + (not good)
    if not good:
        print(f"{call} : {rest}\n    gives {found}")
print(f"{passed} passed, {failed} failed")
sys.exit(1 if failed else 0)
