"""Contenders in one process: librelax, ONNX Runtime, oneDNN, numpy on the same arrays, in turns; the shortest call of each."""
import ctypes
import glob
import os
import time

import numpy as np

DTYPES = ["float32", "int64", "int8", "int32", "bool", "uint8"]      # in the order of peer_host.c


class Array(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_int32), ("ndim", ctypes.c_int32), ("shape", ctypes.POINTER(ctypes.c_int64)), ("data", ctypes.c_void_p)]


def aligned(shape, dtype="float32"):
    """Zeros at an address that is a multiple of 64."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    memory = np.zeros(size + 64, "uint8")
    begin = -memory.ctypes.data % 64
    return memory[begin:begin + size].view(dtype).reshape(shape)


def described(arrays):
    shapes = [(ctypes.c_int64 * max(1, a.ndim))(*a.shape) for a in arrays]
    return (Array * max(1, len(arrays)))(*(Array(DTYPES.index(str(a.dtype)), a.ndim, s, a.ctypes.data) for a, s in zip(arrays, shapes)))


class Host:
    """The library made from peer_host.c; `ort` is the version of ONNX Runtime or None."""

    def __init__(self, path):
        self.library = ctypes.CDLL(str(path))
        for name in ("open_relax", "open_alone", "open_ort", "open_sgemm", "ort_init", "time", "shared", "peak_fma", "peak_read"):
            if hasattr(self.library, "host_" + name):
                function = getattr(self.library, "host_" + name)
                function.restype = (ctypes.c_void_p if name.startswith("open") else
                                    ctypes.c_char_p if name == "ort_init" else ctypes.c_double)
        self.library.host_peak_read.argtypes = [ctypes.c_size_t, ctypes.c_int]
        self.library.host_time.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int, ctypes.c_double]
        self.library.host_shared.argtypes = [ctypes.c_void_p, ctypes.c_int]
        self.library.host_close.argtypes = [ctypes.c_void_p]
        self.ort = self.find_ort()
        self.has_sgemm = hasattr(self.library, "host_open_sgemm")

    def find_ort(self):
        try:
            import onnx                                     # without it there is nothing to open
            import importlib.util
            folder = importlib.util.find_spec("onnxruntime").submodule_search_locations[0]
        except (ImportError, AttributeError):
            return None
        for path in glob.glob(os.path.join(folder, "capi", "libonnxruntime*.so*")):
            version = self.library.host_ort_init(path.encode()) if onnx else None
            if version:
                return version.decode()
        return None

    def set_threads(self, count):
        """Of contenders that are opened from now on."""
        self.library.host_set_threads(count)

    def open(self, kind, path, inputs, results):
        arguments = str(path).encode(), described(inputs), ctypes.c_size_t(len(inputs)), described(results), ctypes.c_size_t(len(results))
        return Timed(self.library, getattr(self.library, "host_open_" + kind)(*arguments), (inputs, results))

    def sgemm(self, a, b, c):
        sizes = [ctypes.c_int64(v) for v in (a.shape[0], b.shape[1], a.shape[1])]
        return Timed(self.library, self.library.host_open_sgemm(*sizes, *(ctypes.c_void_p(v.ctypes.data) for v in (a, b, c))), (a, b, c))

    def peak_fma(self):
        return self.library.host_peak_fma(30)

    def peak_read(self, size):
        """GB/s of reading as many bytes, at most 256 MB; for about 3 ms."""
        size = min(max(size, 4096), 1 << 28)
        return self.library.host_peak_read(size, max(3, (1 << 28) // size // 8 if size < 1 << 25 else 3) if size > 1 << 16 else 500)


class Timed:
    """A contender of peer_host.c."""

    def __init__(self, library, handle, kept):
        self.library, self.handle, self.kept = library, handle, kept

    def run(self, calls, expected):
        burst = max(1, min(100, int(2000 / max(expected, 1))))
        return self.library.host_time(self.handle, max(1, calls // burst), burst, expected)

    def shared(self, calls):
        """The part of a call that threads can share; of one that was opened "alone"."""
        return self.library.host_shared(self.handle, calls)

    def counters(self):
        out = (ctypes.c_uint64 * 2)()
        self.library.host_counters(ctypes.c_void_p(self.handle), out)
        return {"native_kernels": out[0], "peak_bytes": out[1]}

    def close(self):
        self.library.host_close(self.handle)


class Function:
    """A call of Python: numpy."""

    def __init__(self, function, threads=1):
        self.function, self.threads = function, threads

    def run(self, calls, expected):
        clock, best = time.thread_time_ns if expected > 2e5 and self.threads == 1 else time.perf_counter_ns, 1e30
        for _ in range(calls):
            start = clock()
            self.function()
            best = min(best, clock() - start)
        return best

    def close(self):
        pass


def race(contenders, seconds, rounds=8):
    """{name: ns of the shortest call}; each contender gets `seconds`, in `rounds` turns."""
    best = {name: contender.run(1, 0) for name, contender in contenders.items()}
    for name, contender in contenders.items():
        best[name] = contender.run(2, best[name])
    for turn in range(rounds):
        for name, contender in contenders.items():
            calls = int(min(20000, seconds / rounds * 1e9 / max(best[name], 50)))
            if calls or turn < 2:                           # what takes longer than its turn is not waited for again
                best[name] = min(best[name], contender.run(max(1, calls), best[name]))
    return best
