#!/usr/bin/python3
"""The adder transformer in numpy, the same steps: a prompt at once, then token by token with keys and values kept.

    adder_numpy.py WEIGHTS.npz PROMPTS.npz SECONDS    prints the time of a prompt, and of a token behind it
"""
import sys
import time

import numpy as np

w = dict(np.load(sys.argv[1]))
data = np.load(sys.argv[2])
turned = {name: np.ascontiguousarray(value.T) for name, value in w.items() if value.ndim == 2 and name != "embedding"}
frequency = 10000.0 ** (-np.arange(8, dtype=np.float32) / 8)
ROOM, ANSWER = 16, 5


def norm(x, weight):
    return x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + np.float32(1e-5)) * weight


def rotate(x, cosine, sine):
    a, b = x[..., :8], x[..., 8:]
    return np.concatenate([a * cosine - b * sine, b * cosine + a * sine], axis=-1)


def forward(tokens, past, caches):
    """Scores behind each token; keys and values of the tokens are written behind the `past` ones that caches hold."""
    n = len(tokens)
    angle = (past + np.arange(n, dtype=np.float32))[:, None] * frequency
    cosine, sine = np.cos(angle)[:, None], np.sin(angle)[:, None]
    mask = np.arange(past + n) > past + np.arange(n)[:, None]
    h = w["embedding"][tokens]
    for i, (keys, values) in enumerate(caches):
        layer = f"layer{i}."
        x = norm(h, w[layer + "attention_norm"])
        q = rotate((x @ turned[layer + "wq"]).reshape(n, 4, 16), cosine, sine)
        keys[past:past + n] = rotate((x @ turned[layer + "wk"]).reshape(n, 4, 16), cosine, sine)
        values[past:past + n] = (x @ turned[layer + "wv"]).reshape(n, 4, 16)
        score = q.transpose(1, 0, 2) @ keys[:past + n].transpose(1, 2, 0) * np.float32(0.25)
        score[:, mask] = -np.inf
        score = np.exp(score - score.max(axis=-1, keepdims=True))
        score /= score.sum(axis=-1, keepdims=True)
        mixed = (score @ values[:past + n].transpose(1, 0, 2)).transpose(1, 0, 2).reshape(n, 64)
        h = h + mixed @ turned[layer + "wo"]
        x = norm(h, w[layer + "mlp_norm"])
        gate = x @ turned[layer + "w_gate"]
        h = h + (gate / (1 + np.exp(-gate)) * (x @ turned[layer + "w_up"])) @ turned[layer + "w_down"]
    return norm(h, w["final_norm"]) @ turned["output"]


def answer(prompt, caches, times):
    """The greedy continuation and the prompt's scores; appends the seconds of the prompt and of each further token."""
    start = time.perf_counter()
    logits = forward(prompt, 0, caches)
    times[0].append(time.perf_counter() - start)
    said = [int(logits[-1].argmax())]
    while len(said) < ANSWER:
        start = time.perf_counter()
        next_scores = forward(np.array(said[-1:]), len(prompt) + len(said) - 1, caches)
        times[1].append(time.perf_counter() - start)
        said.append(int(next_scores[0].argmax()))
    return said, logits


def main():
    caches = [(np.zeros((ROOM, 4, 16), np.float32), np.zeros((ROOM, 4, 16), np.float32)) for _ in range(2)]
    times = ([], [])
    for k, prompt in enumerate(data["prompts"]):
        said, logits = answer(prompt, caches, ([], []))
        if said != data["expected"][k].tolist():
            sys.exit(f"adder_numpy: prompt {k} is answered {said}")
        if k < len(data["prefill_logits"]) and np.abs(logits - data["prefill_logits"][k]).max() > 1e-4:
            sys.exit(f"adder_numpy: scores of prompt {k} are off")
    end = time.perf_counter() + float(sys.argv[3])
    while time.perf_counter() < end:
        for prompt in data["prompts"]:
            answer(prompt, caches, times)
    for name, spent in zip(("prefill", "decode"), times):
        spent.sort()
        print(f"{name}\t{spent[0] * 1e6:.4g}\t{spent[len(spent) // 2] * 1e6:.4g}\tus")


main()
