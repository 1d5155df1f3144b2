#!/usr/bin/python3
"""Attributes at the edges of what integers hold: every call is translated, or refused at its place within a second."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import numpy as np
from relay_numbers import Failed, Numbers, Relay, program

MOST = 2 ** 63 - 1
EDGES = (MOST, -MOST, 2 ** 62, 2 ** 40, 2 ** 31, 2 ** 31 - 1, -2 ** 31, 2 ** 20, 65, 0, -1)
x, y = np.ones((2, 3), "float32"), np.ones((1, 2, 4, 4), "float32")
CALLS = [   # V is the number
    ("tile(%x0, reps=[V, V])", [x]),
    ("repeat(%x0, repeats=V, axis=0)", [x]),
    ("expand_dims(%x0, axis=0, num_newaxis=V)", [x]),
    ("expand_dims(%x0, axis=V)", [x]),
    ("nn.pad(%x0, 0f, pad_width=[[V, V], [0, 0]])", [x]),
    ("nn.mirror_pad(%x0, pad_width=[[V, 0], [0, 0]])", [x]),
    ("nn.dilate(%x0, strides=[V, 1])", [x]),
    ("nn.space_to_batch_nd(%x0, block_shape=[V], paddings=[[0, V]])", [x]),
    ("nn.batch_to_space_nd(%x0, block_shape=[V], crops=[[0, V]])", [x]),
    ("strided_slice(%x0, begin=[V], end=[V], strides=[V], axes=[0])", [x]),
    ("strided_slice(%x0, begin=[V], end=[V], slice_mode=\"size\", axes=[0])", [x]),
    ("strided_slice(%x0, begin=[0], end=[1], axes=[V])", [x]),
    ("reshape(%x0, newshape=[V])", [x]),
    ("reshape(%x0, newshape=[-4, V, V])", [x]),
    ("reshape(%x0, newshape=[V, V, -1])", [x]),
    ("topk(%x0, k=V)", [x]),
    ("one_hot(cast(%x0, dtype=\"int32\"), 1f, 0f, depth=V)", [x]),
    ("nn.conv2d(%x0, %x0, strides=[V, V])", [y]),
    ("nn.conv2d(%x0, %x0, padding=[V, V])", [y]),
    ("nn.conv2d(%x0, %x0, dilation=[V, V])", [y]),
    ("nn.conv2d(%x0, %x0, groups=V)", [y]),
    ("nn.conv2d_transpose(%x0, %x0, strides=[V, V], output_padding=[V, V])", [y]),
    ("nn.max_pool2d(%x0, pool_size=[V, V])", [y]),
    ("nn.avg_pool2d(%x0, pool_size=[2, 2], padding=[V])", [y]),
    ("nn.adaptive_max_pool2d(%x0, output_size=[V])", [y]),
    ("nn.adaptive_avg_pool2d(%x0, output_size=[V])", [y]),
    ("nn.depth_to_space(%x0, block_size=V)", [y]),
    ("nn.space_to_depth(%x0, block_size=V)", [y]),
    ("nn.upsampling(%x0, scale_h=V, scale_w=1e300f)", [y]),
    ("image.resize2d(%x0, size=[V, V])", [y]),
    ("nn.lrn(%x0, size=V)", [y]),
    ("fixed_point_multiply(cast(%x0, dtype=\"int32\"), multiplier=V, shift=V)", [x]),
    ("arange(0, V, 1, start=0, stop=V, step=1, dtype=\"int64\")", []),
    ("arange(V, 7, 1, start=None, stop=None, step=None, dtype=\"int64\")", []),
    ("trilu(%x0, V)", [x]),
    ("full(1f, shape=[V, V], dtype=\"float32\")", []),
    ("zeros(shape=[V], dtype=\"int8\")", []),
    ("broadcast_to(%x0, shape=[V, 2, 3])", [x]),
    ("take(%x0, 0, axis=V)", [x]),
    ("take(%x0, %x1, batch_dims=V, axis=1)", [x, np.ones((2,3),'int32')]),
    ("gather(%x0, %x1, axis=V)", [x, np.ones((2,3),'int32')]),
    ("split(%x0, indices_or_sections=V, axis=1)", [x]),
    ("split(%x0, indices_or_sections=[V], axis=1)", [x]),
    ("cumsum(%x0, axis=V)", [x]),
    ("sum(%x0, axis=[V])", [x]),
    ("nn.softmax(%x0, axis=V)", [x]),
    ("nn.batch_norm(%x0, %x1, %x1, %x1, %x1, axis=V).0", [x, np.ones(3,'float32')]),
    ("nn.group_norm(%x0, %x1, %x1, num_groups=V)", [y, np.ones(2,'float32')]),
    ("qnn.requantize(cast(%x0, dtype=\"int32\"), 1e-38f, 0, 1e38f, V, out_dtype=\"int8\")", [x]),
    ("qnn.requantize(cast(%x0, dtype=\"int32\"), 0f, 0, 0f, 0, axis=V, out_dtype=\"int8\")", [x]),
    ("qnn.quantize(%x0, 0f, 0, out_dtype=\"int8\", axis=V)", [x]),
    ("dyn.reshape(%x0, reshape(V, newshape=[1]), newshape=[])", [x]),
    ("layout_transform(%x0, src_layout=\"NC\", dst_layout=\"NCVc\")", [x]),
    ("stack((%x0, %x0), axis=V)", [x]),
    ("concatenate((%x0, %x0), axis=V)", [x]),
    ("reshape_like(%x0, %x0, lhs_begin=V, lhs_end=V, rhs_begin=V, rhs_end=V)", [x]),
    ("sequence_mask(%x0, %x1, axis=V)", [x, np.ones(3,'int32')]),
    ("einsum((%x0,), equation=\"V\")", [x]),
    ("clip(%x0, a_min=V, a_max=1e309f)", [x]),
    ("nn.nll_loss(%x0, %x1, %x2, ignore_index=V)", [x, np.ones(2,'int32'), np.ones(3,'float32')]),
    ("vision.roi_align(%x0, %x1, pooled_size=[V], spatial_scale=1f, sample_ratio=V)", [y, np.ones((1,5),'float32')]),
    ("nn.l2_normalize(%x0, eps=1f, axis=[V])", [x]),
    ("reverse(%x0, axis=V)", [x]),
    ("squeeze(%x0, axis=[V])", [x]),
    ("transpose(%x0, axes=[V, 0])", [x]),
    ("meshgrid((arange(0, 3, 1, start=0, stop=3, step=1, dtype=\"int32\"),))", []),
]
t = Numbers(1)
for call, args in CALLS:
    for edge in EDGES:
        written = call.replace("V", f"{edge}i64")
        start = time.process_time()
        try:
            Relay(program(written, args))
            good, why = True, ""
        except Failed as e:
            good, why = e.code[:2] in ("RY", "TY") and "m.rly:2:" in str(e), str(e)
        took = time.process_time() - start
        t.said(good and took < 1, f"{written}: {took:.1f} s, {why}")
t.finish()
