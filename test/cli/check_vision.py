#!/usr/bin/python3
"""Operators of detection and of images against numpy, which goes through boxes one by one."""
import itertools, math

import numpy as np

from operator_calls import check, done, refused

np.seterr(all="ignore")
rng = np.random.RandomState(7)


def some_boxes(*shape):
    """Corners in any order, many of them shared."""
    return (rng.randint(0, 13, shape + (4,)) / 2).astype(np.float32)


# ---- median
for dtype in ("float32", "float16", "float64", "int32", "uint8"):
    x = rng.randint(0, 9, (3, 4, 5)).astype(dtype)
    order = np.argsort(x, 1, kind="stable")[:, 1:2]
    check("R.median(x0, axis=[1])", [x], [np.take_along_axis(x, order, 1)[:, 0], order[:, 0]])
    check("R.median(x0, axis=[-2], keepdims=True)", [x], [np.take_along_axis(x, order, 1), order])
    check("R.median(x0)", [x], np.sort(x.ravel())[29])
    both = np.moveaxis(x, 1, 2).reshape(15, 4)
    check("R.median(x0, axis=[0, 2])", [x], np.sort(np.moveaxis(x, 1, 0).reshape(4, 15), 1)[:, 7])
    check("R.median(x0, axis=[0, 2], keepdims=True)", [x], np.sort(np.moveaxis(x, 1, 0).reshape(4, 15), 1)[:, 7].reshape(1, 4, 1))
check("R.median(x0, axis=[0])", [np.array([np.nan, 1, -np.inf, 0], np.float32)], [np.float32(0), np.int64(3)])
refused("R.median(x0, axis=[1])", [np.zeros((2, 0), np.float32)], "RT14")


# ---- boxes
def corners(b, centered=False):
    h = b.dtype.type(0.5)
    if centered:
        b = np.stack([b[0] - b[2] * h, b[1] - b[3] * h, b[0] + b[2] * h, b[1] + b[3] * h])
    return np.minimum(b[:2], b[2:]), np.maximum(b[:2], b[2:])


def overlap(a, b, centered=False):
    (al, ah), (bl, bh) = corners(a, centered), corners(b, centered)
    side = np.maximum(np.minimum(ah, bh) - np.maximum(al, bl), 0)
    both = side[0] * side[1]
    whole = (ah - al).prod() + (bh - bl).prod() - both
    return both / whole if whole > 0 else a.dtype.type(0)


def valid_counts(x, threshold, id_index, score_index):
    out, where, count = np.full_like(x, -1), np.full(x.shape[:2], -1, np.int32), np.zeros(len(x), np.int32)
    for b in range(len(x)):
        for i, row in enumerate(x[b]):
            if row[score_index] > threshold and (id_index < 0 or row[id_index] >= 0):
                out[b, count[b]], where[b, count[b]] = row, i
                count[b] += 1
    return [count, out, where]


def detections(batch, n, dtype="float32"):
    x = np.concatenate([rng.randint(-1, 3, (batch, n, 1)), rng.randint(-2, 8, (batch, n, 1)) / 8, some_boxes(batch, n)], 2)
    return x.astype(dtype)


for dtype in ("float32", "float64", "float16"):
    x = detections(2, 9, dtype)
    for threshold, id_index in ((0.0, 0), (0.25, -1)):
        check(f"R.vision.get_valid_counts(x0, score_threshold={threshold}, id_index={id_index}, score_index=1)", [x], valid_counts(x, threshold, id_index, 1))


def suppressed(x, valid, indices, most=-1, iou=0.5, force=False, top=-1, coords=2, score=1, ids=0, positions=True, bottom=False, sigma=0.0, least=0.0):
    """TVM's rule; scores and what is computed of boxes have the dtype of x."""
    t = x.dtype.type
    data, where, count = np.full_like(x, -1), np.full(x.shape[:2], -1, np.int32), np.zeros((len(x), 1), np.int32)
    for b in range(len(x)):
        rows = x[b].copy()
        order = sorted(range(valid[b]), key=lambda i: -rows[i, score])[:top if top > 0 else None]
        limit = t(least) if sigma > 0 else t(0)
        left, kept = [i for i in order], []
        while left and (most <= 0 or len(kept) < most):
            best = max(left, key=lambda i: rows[i, score])
            if not rows[best, score] > limit:
                break
            left.remove(best)
            kept.append(best)
            for i in list(left):
                if not (force or ids < 0 or rows[best, ids] == rows[i, ids]):
                    continue
                v = overlap(rows[best, coords:coords + 4], rows[i, coords:coords + 4])
                if v >= t(iou):
                    left.remove(i)
                elif sigma > 0:
                    rows[i, score] *= np.exp(t(-0.5 / sigma) * v * v)
        for k, i in enumerate(kept):
            at = k if bottom or sigma > 0 else order.index(i)
            data[b, at], where[b, k] = rows[i], indices[b, i]
        count[b] = len(kept)
    if not positions:
        return [data]
    return ([data] if sigma > 0 else []) + [where, count]


for dtype, n in (("float32", 12), ("float64", 7), ("float32", 40)):
    x = detections(2, n, dtype)
    valid, indices = np.array([n, n - 3], np.int32), rng.permutation(2 * n).reshape(2, n).astype(np.int32)
    for most, iou, force, top, ids in ((-1, 0.5, False, -1, 0), (3, 0.25, True, -1, 0), (-1, 0.125, False, 5, -1), (2, 0.5, False, 6, 0)):
        text = f"R.vision.non_max_suppression(x0, x1, x2, max_output_size={most}, iou_threshold={iou}, force_suppress={force}, top_k={top}, id_index={ids}"
        for more in (dict(), dict(positions=False), dict(positions=False, bottom=True)):
            check(f"{text}, return_indices={more.get('positions', True)}, invalid_to_bottom={more.get('bottom', False)})", [x, valid, indices],
                  suppressed(x, valid, indices, most, iou, force, top, ids=ids, **more))
    check("R.vision.non_max_suppression(x0, x1, x2, iou_threshold=0.6, soft_nms_sigma=0.5, score_threshold=0.125)", [x, valid, indices],
          suppressed(x, valid, indices, iou=0.6, sigma=0.5, least=0.125), 1e-6)


def by_class(boxes, scores, most, iou, threshold, reaches, centered=False):
    """Rows of batch, class, box."""
    rows = []
    for b, c in np.ndindex(scores.shape[:2]):
        s, kept = scores[b, c], []
        for i in sorted((i for i in range(len(s)) if s[i] > threshold), key=lambda i: -s[i]):
            v = [overlap(boxes[b, k], boxes[b, i], centered) for k in kept]
            if len(kept) < most and not any(o >= np.float32(iou) if reaches else o > np.float32(iou) for o in v):
                kept.append(i)
        rows += [(b, c, i) for i in kept]
    return np.array(rows, np.int64).reshape(-1, 3)


def limits(most, iou, threshold):
    return f'R.const({most}, "int64"), R.const({iou}, "float32"), R.const({threshold}, "float32")'


for batch, classes, n, most, iou, threshold, dtype in ((1, 1, 6, 3, 0.5, 0.0, "float32"), (2, 3, 11, 4, 0.25, 0.25, "float32"), (2, 2, 5, 9, 0.125, 0.5, "float64"), (1, 2, 4, 0, 0.5, 0.0, "float32")):
    boxes, scores = some_boxes(batch, n).astype(dtype), (rng.randint(0, 16, (batch, classes, n)) / 16).astype(dtype)
    rows = by_class(boxes, scores, most, iou, threshold, False)
    check(f"R.vision.dynamic_non_max_suppression(x0, x1, {limits(most, iou, threshold)})", [boxes, scores], rows)
    check(f"R.vision.dynamic_non_max_suppression(x0, x1, {limits(most, iou, threshold)}, center_point_box=True)", [boxes, scores],
          by_class(boxes, scores, most, iou, threshold, False, True))
    rows = by_class(boxes, scores, most, iou, threshold, True)
    whole = np.zeros((batch * classes * n, 3), np.int64)
    whole[:len(rows)] = rows
    check(f"R.vision.all_class_non_max_suppression(x0, x1, {limits(most, iou, threshold)})", [boxes, scores], [whole, np.array([len(rows)])])
    pairs, best, count = np.zeros((batch, classes * n, 2), np.int64), np.zeros((batch, classes * n), dtype), np.zeros(batch, np.int64)
    for b, c, i in rows:
        pairs[b, count[b]], best[b, count[b]] = (c, i), scores[b, c, i]
        count[b] += 1
    check(f'R.vision.all_class_non_max_suppression(x0, x1, {limits(most, iou, threshold)}, output_format="tensorflow")', [boxes, scores], [pairs, best, count])

done()
