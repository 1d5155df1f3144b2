#!/usr/bin/env python3
"""Operators of com.microsoft, as graphs of transformers and quantised networks hold them after optimisation, against numpy."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import numpy as np

from cli_test import Suite
from onnx_file import model, node, value

s = Suite()
rng = np.random.default_rng(3)
f32, MS = np.float32, "com.microsoft"
B, S, N, H = 2, 3, 4, 8
D = N * H


def floats(*shape):
    return (rng.standard_normal(shape) * 0.5).astype(f32)


def run(what, op, inputs, want, near=1e-5, **attributes):
    """inputs: {name: array}, or names of what is left out; want: results, None for those that are not asked for"""
    given = {k: v for k, v in inputs.items() if v is not None}
    names = [k if inputs[k] is not None else "" for k in inputs]
    outputs = [f"y{i}" if w is not None else "" for i, w in enumerate(want)]
    content = model([node(op, names, outputs, domain=MS, **attributes)], [value(k, v.dtype.name, list(v.shape)) for k, v in given.items()],
                    [value(y, w.dtype.name) for y, w in zip(outputs, want) if w is not None], domains=[MS])
    path = s.write("m.onnx", content)
    for k, v in given.items():
        np.save(s.path(f"in_{k}.npy"), v)
    rc, out, err = s.run("run", path, "--input", *[s.path(f"in_{k}.npy") for k in given], "--output", s.path("out"))
    if not s.check(f"{what}: runs", rc == 0, err[:600]):
        return
    for i, w in enumerate([w for w in want if w is not None]):
        got = np.load(os.path.join(s.path("out"), f"{i}.npy"))
        ok = got.shape == w.shape and got.dtype == w.dtype and np.allclose(got, w, rtol=1e-3, atol=near)
        s.check(f"{what}: output {i}", ok, lambda: f"wanted {w.dtype} {w.shape}\n{w}\ngot {got.dtype} {got.shape}\n{got}")


def heads(x, n=N):
    return x.reshape(x.shape[0], x.shape[1], n, -1).transpose(0, 2, 1, 3)


def attend(q, k, v, added=0.0, seen=None, cap=0.0):
    k, v = (np.repeat(t, q.shape[1] // t.shape[1], 1) for t in (k, v))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(q.shape[-1])
    if cap:
        scores = np.tanh(scores / cap) * cap
    scores = scores + added
    if seen is not None:
        scores = np.where(seen, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    y = (e / e.sum(-1, keepdims=True)) @ v
    return y.transpose(0, 2, 1, 3).reshape(y.shape[0], y.shape[2], -1).astype(f32)


# ---- attention with packed weights
x, w, b = floats(B, S, D), floats(D, 3 * D), floats(3 * D)
q, k, v = (heads(t) for t in np.split(x @ w + b, 3, -1))
below = np.arange(S)[None, :] <= np.arange(S)[:, None]
run("attention", "Attention", {"x": x, "w": w, "b": b}, [attend(q, k, v)], num_heads=N)
run("attention: to the left", "Attention", {"x": x, "w": w, "b": b}, [attend(q, k, v, seen=below), np.stack([k, v])], num_heads=N, unidirectional=1)
ends = np.array([2, 3], "int32")
left_out = np.where(np.arange(S) < ends[:, None], 0, -10000)[:, None, None]
run("attention: lengths", "Attention", {"x": x, "w": w, "b": b, "m": ends}, [attend(q, k, v, left_out)], num_heads=N)
mask = np.array([[1, 1, 0], [1, 0, 1]], "int32")
run("attention: a mask", "Attention", {"x": x, "w": w, "b": b, "m": mask}, [attend(q, k, v, np.where(mask, 0, -10000)[:, None, None])], num_heads=N)
past = floats(2, B, N, 5, H)
longer = [np.concatenate([past[i], t], 2) for i, t in enumerate((k, v))]
seen = np.arange(5 + S)[None, :] <= np.arange(S)[:, None] + 5
run("attention: a past", "Attention", {"x": x, "w": w, "b": b, "m": None, "p": past}, [attend(q, *longer, seen=seen), np.stack(longer)], num_heads=N,
    unidirectional=1)

# ---- operands apart
L = 5
q, k, v, b, added = floats(B, S, D), floats(B, L, D), floats(B, L, D), floats(3 * D), floats(1, N, S, L)
run("several heads", "MultiHeadAttention", {"q": q, "k": k, "v": v}, [attend(heads(q), heads(k), heads(v))], num_heads=N)
run("several heads: a bias, an addition", "MultiHeadAttention", {"q": q, "k": k, "v": v, "b": b, "m": None, "a": added},
    [attend(heads(q + b[:D]), heads(k + b[D:2 * D]), heads(v + b[2 * D:]), added)], num_heads=N)
packed = floats(B, S, N, 3, H)
parts = [packed[:, :, :, i].transpose(0, 2, 1, 3) for i in range(3)]
run("several heads: packed", "MultiHeadAttention", {"q": packed}, [attend(*parts)], num_heads=N)
pk, pv = floats(B, N, 4, H), floats(B, N, 4, H)
nk, nv = np.concatenate([pk, heads(q)], 2), np.concatenate([pv, heads(q)], 2)
run("several heads: a past", "MultiHeadAttention", {"q": q, "k": q, "v": q, "b": None, "m": None, "a": None, "pk": pk, "pv": pv},
    [attend(heads(q), nk, nv), nk, nv], num_heads=N)

# ---- groups: prompt, step, window; positions turned
K, size = 2, 16


def turn(x, cosine, sine, at, interleaved):
    c, d = cosine[at][:, None], sine[at][:, None]
    a, b = (x[..., ::2], x[..., 1::2]) if interleaved else np.split(x, 2, -1)
    re, im = a * c - b * d, a * d + b * c
    return np.stack([re, im], -1).reshape(x.shape) if interleaved else np.concatenate([re, im], -1)


def groups(what, length, before, total, lengths, window=-1, cap=0.0, rotary=None):
    q, k, v = floats(B, length, N * size), floats(B, length, K * size), floats(B, length, K * size)
    pk, pv = floats(B, K, before, size), floats(B, K, before, size)
    ends = np.array(lengths, "int32")
    cosine, sine = floats(32, size // 2), floats(32, size // 2)
    begin = np.zeros(B, int) if total == length else ends + 1 - length
    at = begin[:, None] + np.arange(length)
    hq, hk, hv = heads(q, N), heads(k, K), heads(v, K)
    attributes = {"num_heads": N, "kv_num_heads": K}
    inputs = {"q": q, "k": k, "v": v, "pk": pk, "pv": pv, "n": ends, "t": np.array(total, "int32")}
    if rotary is not None:
        hq, hk = turn(hq, cosine, sine, at, rotary), turn(hk, cosine, sine, at, rotary)
        attributes.update(do_rotary=1, rotary_interleaved=int(rotary))
        inputs.update(cos=cosine, sin=sine)
    keys = max(before, total)
    nk, nv = np.zeros((B, K, keys, size), f32), np.zeros((B, K, keys, size), f32)
    nk[:, :, :before], nv[:, :, :before] = pk, pv
    for i in range(B):
        nk[i, :, at[i]], nv[i, :, at[i]] = hk[i].transpose(1, 0, 2), hv[i].transpose(1, 0, 2)
    seen = np.arange(keys) <= at[:, None, :, None]
    if window > 0:
        seen &= np.arange(keys) > at[:, None, :, None] - window
        attributes["local_window_size"] = window
    if cap:
        attributes["softcap"] = cap
    run(f"groups: {what}", "GroupQueryAttention", inputs, [attend(hq, nk, nv, seen=seen, cap=cap), nk, nv], **attributes)


groups("a prompt", 5, 0, 5, [4, 4])
groups("a prompt, turned", 5, 0, 5, [4, 4], rotary=False)
groups("a prompt, turned in pairs", 5, 0, 5, [4, 4], rotary=True)
groups("a step", 1, 6, 7, [6, 6])
groups("a step in batches of different lengths", 1, 6, 7, [6, 4], rotary=False)
groups("a step in memory for more", 1, 16, 7, [6, 6], rotary=False)
groups("a window and a cap", 5, 0, 5, [4, 4], window=3, cap=5.0)

# ---- weights of few bits
for bits, zero, columns, block in ((4, False, 32, 16), (4, True, 48, 32), (8, True, 32, 16), (2, True, 48, 32)):
    rows, blocks, per = 5, -(-columns // block), 8 // bits
    data = rng.integers(0, 256, (rows, blocks, block * bits // 8)).astype("uint8")
    scales = floats(rows, blocks)
    zeros = rng.integers(0, 256, (rows, -(-blocks // per))).astype("uint8")
    spread = lambda t: ((t[..., None] >> (np.arange(per) * bits)) & ((1 << bits) - 1)).reshape(*t.shape[:-1], -1)
    z = spread(zeros)[:, :blocks, None].astype(f32) if zero else f32(1 << (bits - 1))
    weight = ((spread(data).astype(f32) - z) * scales[..., None]).reshape(rows, -1)[:, :columns]
    a = floats(2, 3, columns)
    inputs = {"a": a, "w": data, "s": scales.ravel(), **({"z": zeros.ravel()} if zero else {})}
    run(f"{bits} bits", "MatMulNBits", inputs, [a @ weight.T], K=columns, N=rows, bits=bits, block_size=block)

# ---- quantised operators
bytes_of = lambda *shape: rng.integers(0, 256, shape).astype("uint8")
scale = lambda t: np.array(t, f32)
zero = lambda t: np.array(t, "uint8")
back = lambda t, r, z: (t.astype(f32) - f32(z)) * f32(r)
to = lambda t, r, z: np.clip(np.round(t / f32(r)) + z, 0, 255).astype("uint8")
a, c = bytes_of(3, 4), bytes_of(4)
pair = {"a": a, "ra": scale(.02), "za": zero(120), "c": c, "rc": scale(.03), "zc": zero(100), "ry": scale(.05), "zy": zero(128)}
run("quantised sums", "QLinearAdd", pair, [to(back(a, .02, 120) + back(c, .03, 100), .05, 128)])
run("quantised products", "QLinearMul", pair, [to(back(a, .02, 120) * back(c, .03, 100), .05, 128)])
one = {"a": a, "ra": scale(.02), "za": zero(120), "ry": scale(.004), "zy": zero(0)}
run("quantised sigmoid", "QLinearSigmoid", one, [to(1 / (1 + np.exp(-back(a, .02, 120))), .004, 0)])
r = back(a, .02, 120)
run("quantised leaky relu", "QLinearLeakyRelu", {**one, "ry": scale(.02), "zy": zero(10)}, [to(np.where(r < 0, r * f32(.1), r), .02, 10)], alpha=0.1)
image = bytes_of(2, 3, 5, 5)
run("quantised mean", "QLinearGlobalAveragePool", {"a": image, "ra": scale(.02), "za": zero(120), "ry": scale(.03), "zy": zero(110)},
    [to(back(image, .02, 120).mean((2, 3), keepdims=True), .03, 110)])
d = bytes_of(3, 2)
run("quantised parts", "QLinearConcat", {"ry": scale(.05), "zy": zero(128), "a": a, "ra": scale(.02), "za": zero(120), "d": d, "rd": scale(.03), "zd": zero(100)},
    [np.concatenate([to(back(a, .02, 120), .05, 128), to(back(d, .03, 100), .05, 128)], 1)], axis=1)
m, plus = rng.integers(-128, 128, (4, 5)).astype("int8"), rng.integers(-50, 50, 5).astype("int32")
total = (a.astype("int32") - 120) @ m.astype("int32") + plus
run("quantised matrices", "QGemm", {"a": a, "ra": scale(.02), "za": zero(120), "m": m, "rm": scale(.03), "zm": np.array(0, "int8"), "p": plus},
    [(total * f32(.02 * .03)).astype(f32)])

# ---- embeddings
ids, words, places, kinds, g, b = rng.integers(0, 11, (B, S)).astype("int32"), floats(11, D), floats(7, D), floats(2, D), floats(D), floats(D)
total = words[ids] + places[np.arange(S)] + kinds[ids % 2]
norm = (total - total.mean(-1, keepdims=True)) / np.sqrt(total.var(-1, keepdims=True) + 1e-12) * g + b
run("embeddings", "EmbedLayerNormalization", {"i": ids, "k": ids % 2, "w": words, "p": places, "t": kinds, "g": g, "b": b, "m": mask},
    [norm.astype(f32), mask.sum(1).astype("int32"), total.astype(f32)])
s.done()
