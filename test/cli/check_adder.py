#!/usr/bin/env python3
"""The adder transformer: a prompt at once, then token by token with keys and values appended in place; against stored
scores, against a whole prompt read again, and with caches that have no room left."""
import os

import numpy as np

from cli_test import TOP, Suite

s = Suite()
here = os.path.join(TOP, "examples", "adder")
program, weights = os.path.join(here, "adder.py"), os.path.join(here, "weights.npz")
data = np.load(os.path.join(here, "prompts.npz"))

s.equal("check adder.py", s.run("check", program), (0, "", ""))
for level in "012":
    s.equal(f"build at level {level}", s.run("build", program, "--params", weights, "-o", f"adder{level}.rlx", "--opt", level)[::2], (0, ""))


def save_caches(room, caches=None):
    """Inputs for keys and values; what is given fills the first rows."""
    given = []
    for i in range(4):
        cache = np.full((room, 64), np.nan, "float32")
        if caches:
            cache[:len(caches[i])] = caches[i]
        np.save(s.path(f"cache{i}.npy"), cache)
        given += ["--input", f"cache{i}.npy"]
    return given


def prefill(file, prompt, room=16):
    np.save(s.path("prompt.npy"), prompt)
    rc, out, err = s.run("run", file, "--entry", "prefill", "--input", "prompt.npy", *save_caches(room), "--output", "out")
    return np.load(s.path("out/0.npy")) if s.check(f"prefill of {len(prompt)} in {file}", rc == 0, err) else np.zeros((0, 13))


# Every level says what is stored.
for level in "012":
    for k in (0, 7):
        got = prefill(f"adder{level}.rlx", data["prompts"][k])
        s.check(f"scores of prompt {k} at level {level}", got.shape == (8, 13) and np.abs(got - data["prefill_logits"][k]).max() < 1e-4, got)

# Scores of a token do not depend on what follows it: prompts of every length, caches of every size that holds them.
whole = np.concatenate([data["prompts"][3], data["expected"][3][:4]])
longest = prefill("adder1.rlx", whole, 12)
s.equal("the sum is said", longest[7:].argmax(1).tolist(), data["expected"][3].tolist())
for n in (1, 2, 5, 11):
    got = prefill("adder1.rlx", whole[:n], 12 + n)
    s.check(f"the first {n} tokens", got.shape == (n, 13) and np.abs(got - longest[:n]).max() < 1e-5, got)
got = prefill("adder1.rlx", whole[:0])
s.equal("no token at all", got.shape, (0, 13))

# A token without a past is a prompt of one.
np.save(s.path("token.npy"), whole[:1])
rc, out, err = s.run("run", "adder1.rlx", "--entry", "decode", "--input", "token.npy", "--input", "past=shape:0", *save_caches(4), "--output", "one")
s.check("the first token decoded", rc == 0 and np.abs(np.load(s.path("one/0.npy")) - longest[:1]).max() < 1e-5, err)

# No room, wrong shapes.
np.save(s.path("prompt.npy"), whole)
s.fails("a prompt longer than the caches", ["run", "adder1.rlx", "--entry", "prefill", "--input", "prompt.npy", *save_caches(11)], "RT09")
s.fails("a full cache", ["run", "adder1.rlx", "--entry", "decode", "--input", "token.npy", "--input", "past=shape:16", *save_caches(16)], "RT09")
mixed = save_caches(16)
np.save(s.path("cache3.npy"), np.zeros((15, 64), "float32"))
s.fails("caches of two sizes", ["run", "adder1.rlx", "--entry", "prefill", "--input", "prompt.npy", *mixed], "RT05")
s.done()
