"""How results are compared with numpy's: bit for bit where both must have the same, else within what rounding does."""
import numpy as np

import numpy_ops as ref
from relax_run import NARROW

RTOL = {name: row.rtol for name, row in ref.NARROW.items()} | {"float16": 3e-2, "float32": 3e-4, "float64": 1e-9}


def to_library(x, dtype):
    """An argument; narrow floats are float32 here."""
    return ref.NARROW[dtype].encode(x).view(NARROW[dtype]) if dtype in NARROW else x


def narrow_name(dtype):
    return next((name for name, bits in NARROW.items() if bits == dtype), None)


def plain(x):
    """A result; narrow floats as float32."""
    row = ref.NARROW.get(narrow_name(x.dtype))
    return row.decode(x.view(row.unsigned)) if row else x


def equal(a, b, signed=True):
    """Elementwise. NaN is NaN; `signed`: zeros have signs."""
    if a.dtype.kind != "f":
        return a == b
    return (a == b) & ((np.signbit(a) == np.signbit(b)) | (not signed)) | np.isnan(a) & np.isnan(b)


def same_bits(a, b, signed=True):
    return a.shape == b.shape and a.dtype == b.dtype and bool(np.all(equal(a, b, signed)))


def agree(got, value, want):
    """Elementwise, of arrays of one shape."""
    if value.exact or want.dtype.kind != "f":
        return equal(got, want, value.signed)
    tol = RTOL[value.dtype]
    finite = np.where(np.isfinite(want), want, 0).astype("float64")
    scale = max(1.0, float(np.max(np.abs(finite), initial=0)))
    return np.isclose(got.astype("float64"), want.astype("float64"), rtol=tol, atol=tol * scale, equal_nan=True)


def close(got, value, want):
    """Is `got` the array `want`, by the dtype and the kind of `value`?"""
    if narrow_name(got.dtype) != (value.dtype if value.dtype in NARROW else None):
        return False
    got = plain(got)
    return got.shape == want.shape and got.dtype == want.dtype and bool(np.all(agree(got, value, want)))


def difference(got, value, want):
    text = f"{value.name}: got {got.dtype}{got.shape}, wanted {value.dtype}{want.shape}"
    got = plain(got)
    if got.shape != want.shape or got.dtype != want.dtype:
        return f"{text}: {got.ravel()[:12]}, wanted {want.ravel()[:12]}"
    at = np.argwhere(~agree(got, value, want))
    return f"{text}; {len(at)} of {want.size} elements differ" + "".join(f", at {tuple(i)} {got[tuple(i)]!r}, wanted {want[tuple(i)]!r}" for i in at[:6])
