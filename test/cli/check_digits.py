#!/usr/bin/env python3
"""The main job: text and weights to one file, the file on real images; then the same for a network that differs in every name and size."""
import os

import numpy as np

from cli_test import TOP, Suite

s = Suite()
here = os.path.join(TOP, "examples", "digits")
weights, images = os.path.join(here, "mlp_weights.npz"), os.path.join(here, "test_images.npz")
data = np.load(images)

rc, out, err = s.run("check", os.path.join(here, "digits.py"))
s.equal("check digits.py", (rc, out, err), (0, "", ""))
rc, out, err = s.run("build", os.path.join(here, "digits.py"), "--params", weights, "-o", "digits.rlx")
s.equal("build", (rc, err), (0, ""))
for level in ("0", "1", "2"):
    name = f"digits{level}.rlx"
    rc, out, err = s.run("build", os.path.join(here, "digits.py"), "--params", weights, "-o", name, "--opt", level)
    s.equal(f"build at level {level}", (rc, err), (0, ""))
    rc, out, err = s.run("run", name, "--input", images + ":images", "--output", "out" + level)
    s.equal(f"run at level {level}", (rc, err), (0, ""))
    got = np.load(s.path(f"out{level}/0.npy"))
    s.equal("shape and dtype", (got.shape, got.dtype), ((360, 10), np.dtype("float32")))
    s.check("probabilities", np.abs(got - data["mlp_probabilities"]).max() < 1e-5, np.abs(got - data["mlp_probabilities"]).max())
    s.check("accuracy", (got.argmax(1) == data["labels"]).mean() > 0.985, (got.argmax(1) == data["labels"]).mean())

# From text in one go, weights as arguments, named and positional inputs.
rc, out, err = s.run("run", os.path.join(here, "digits.py"), "--input", "images=" + images + ":images", "--params", weights, "--output", "text")
s.equal("run text", (rc, err), (0, ""))
s.check("run text: result", np.array_equal(np.load(s.path("text/0.npy")), np.load(s.path("out1/0.npy"))), "differs from the compiled file")
s.check("summary line", out.startswith("0: float32 (360, 10) ["), out)

# Batches of any size, none included.
for batch in (0, 1, 2, 7, 359):
    np.save(s.path("x.npy"), data["images"][:batch])
    rc, out, err = s.run("run", "digits.rlx", "--input", "x.npy", "--output", "batch")
    s.equal(f"batch {batch}", (rc, err), (0, ""))
    got = np.load(s.path("batch/0.npy"))
    s.check(f"batch {batch}: result", got.shape == (batch, 10) and np.array_equal(got, np.load(s.path("out1/0.npy"))[:batch]), got.shape)

# Another network: other names, sizes, one layer more, weights made up.
rng = np.random.default_rng(7)
sizes = [30, 50, 41, 23, 6]
params = {}
for i in range(4):
    params[f"kernel_{i}"] = (rng.standard_normal((sizes[i], sizes[i + 1])) / np.sqrt(sizes[i])).astype("float32")
    params[f"shift_{i}"] = rng.standard_normal(sizes[i + 1]).astype("float32")
np.savez(s.path("net.npz"), **params)
np.savez_compressed(s.path("packed.npz"), **params)
signature = ", ".join(f'kernel_{i}: R.Tensor(({sizes[i]}, {sizes[i + 1]}), "float32"), shift_{i}: R.Tensor(({sizes[i + 1]},), "float32")' for i in range(4))
body, last = [], "features"
for i in range(4):
    body.append(f"a{i} = R.add(R.matmul({last}, kernel_{i}), shift_{i})")
    last = f"a{i}"
    if i < 3:
        body.append(f"r{i} = R.nn.relu({last})")
        last = f"r{i}"
text = f'''@I.ir_module
class Net:
    @R.function
    def classify(features: R.Tensor(("rows", {sizes[0]}), "float32"), {signature}) -> R.Tensor(("rows", {sizes[4]}), "float32"):
        with R.dataflow():
            ''' + "\n            ".join(body) + f'''
            answer = R.nn.softmax({last})
            R.output(answer)
        return answer
'''
s.write("net.py", text)
x = rng.standard_normal((17, sizes[0])).astype("float32")
np.save(s.path("features.npy"), x)
np.save(s.path("fortran.npy"), np.asfortranarray(x))
h = x.astype("float64")
for i in range(4):
    h = h @ params[f"kernel_{i}"] + params[f"shift_{i}"]
    h = np.maximum(h, 0) if i < 3 else h
e = np.exp(h - h.max(1, keepdims=True))
want = e / e.sum(1, keepdims=True)
for archive in ("net.npz", "packed.npz"):
    rc, out, err = s.run("build", "net.py", "--params", archive, "-o", "net.rlx")
    s.equal("build net", (rc, err), (0, ""))
    for array in ("features.npy", "fortran.npy"):
        rc, out, err = s.run("run", "net.rlx", "--entry", "classify", "--input", array, "--output", "net")
        s.equal(f"run net on {array}", (rc, err), (0, ""))
        got = np.load(s.path("net/0.npy"))
        s.check("net: result", got.shape == want.shape and np.abs(got - want).max() < 1e-5, np.abs(got - want).max())
s.fails("the old entry is gone", ["run", "net.rlx", "--input", "features.npy"], "RT20")

# Members whose names are not names of text: underscores stand for what differs; two for one weight are refused.
dotted = {name.replace("_", "."): value for name, value in params.items()}
np.savez(s.path("dotted.npz"), **dotted)
rc, out, err = s.run("run", "net.py", "--entry", "classify", "--params", "dotted.npz", "--input", "features.npy", "--output", "dotted")
s.check("dotted names", rc == 0 and np.array_equal(np.load(s.path("dotted/0.npy")), np.load(s.path("net/0.npy"))), err)
np.savez(s.path("twice.npz"), **dotted, shift_0=params["shift_0"])
s.fails("two members for one weight", ["build", "net.py", "--params", "twice.npz", "-o", "twice.rlx"], "NP10")

# Printing and reading again gives a program that computes the same.
rc, printed, err = s.run("print", "net.py")
s.equal("print net", (rc, err), (0, ""))
s.write("again.py", printed)
rc, again, err = s.run("print", "again.py")
s.equal("print is a fixed point", again, printed)
rc, out, err = s.run("run", "again.py", "--entry", "classify", "--params", "net.npz", "--input", "features.npy", "--output", "again")
s.check("printed program: result", rc == 0 and np.array_equal(np.load(s.path("again/0.npy")), np.load(s.path("net/0.npy"))), err)
s.done()
