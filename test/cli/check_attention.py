#!/usr/bin/env python3
"""Attention as exporters write it out and as one operator, against numpy; the same bits at all levels, with all instruction sets, on one thread
and on two.

Scores become one function with their softmax and what is summed up by them, tile by tile of rows, behind panels of keys and values that are
filled once: sizes are such that there are several tiles, or one, and that the last one is full, or not. ATTENTION_SEED=n takes that program
alone and prints it; ATTENTION_COUNT=k as many from there on.
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "ffi"))
import relax_ffi

relax_ffi.under_sanitizer()

import numpy as np

from all_ways import Program, check as check_all_ways
from cli_test import LONG, Suite, seeds

s = Suite()


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class Attention(Program):
    def __init__(self, seed):
        super().__init__(np.random.default_rng(seed))
        self.pick = pick = random.Random(seed)
        self.heads, self.batch = pick.choice([1, 2, 3, 5, 12]), pick.choice([1, 1, 1, 2])
        self.rows = pick.choice([1, 7, 8, 31, 64, 100, 196, 256, pick.randint(9, 300)])
        self.keys = pick.choice([self.rows, self.rows, 17, 32, 77, 256, 600, pick.randint(1, 400)])
        while self.batch * self.heads * self.rows * self.keys > 1_500_000 and self.heads > 1:
            self.heads -= 1
        self.width, self.depth = pick.choice([8, 16, 32, 64, 17]), pick.choice([8, 32, 64, 80, 5])
        self.open = pick.random() < 0.25     # sizes that the call decides
        self.named = {self.rows: "s", self.keys: "s" if self.keys == self.rows else "t"}
        (self.operator if pick.random() < 0.3 else self.written_out)()

    def tensor(self, name, rows, width):
        """Rows by heads, or heads by rows: how it is named, and its numbers by heads."""
        turned = self.pick.random() < 0.6
        x = self.draw(self.batch, *((rows, self.heads) if turned else (self.heads, rows)), width)
        self.input(name, x)
        if self.open:
            self.names[name] = ("n", *((self.named[rows], self.heads) if turned else (self.heads, self.named[rows])), width)
        values = x.transpose(0, 2, 1, 3) if turned else x
        return (self.emit(f"R.permute_dims({name}, [0, 2, 1, 3])", values) if turned else name), values.astype(np.float64)

    def operator(self):
        q, k, v = (self.draw(self.batch, rows, self.heads, width)
                   for rows, width in ((self.rows, self.width), (self.keys, self.width), (self.keys, self.depth)))
        for name, x in (("q", q), ("k", k), ("v", v)):
            self.input(name, x)
        mask = self.pick.choice([None, None, "TopLeft", "BottomRight"])
        heads = [x.astype(np.float64).transpose(0, 2, 1, 3) for x in (q, k, v)]
        scores = heads[0] @ heads[1].swapaxes(2, 3) / np.sqrt(self.width)
        seen = np.arange(self.keys) <= np.arange(self.rows)[:, None] + (self.keys - self.rows if mask == "BottomRight" else 0)
        if mask:
            scores = np.where(seen, scores, -np.inf)
        with np.errstate(invalid="ignore"):
            p = softmax(scores)
        if mask:
            p = np.where(seen.any(-1)[:, None], p, 0)          # what sees nothing gives zeros
        more = f', causal_mask="{mask}"' if mask else ""
        self.emit(f"R.nn.attention(q, k, v{more})", (p @ heads[2]).transpose(0, 2, 1, 3))

    def points(self, name, scores):
        """Up to three operators on scores."""
        kinds = ["scale", "divide", "clip", "cap"] + ([] if self.open else ["mask", "where", "bias"])
        for kind in self.pick.sample(kinds, self.pick.randrange(4)):
            if kind == "scale":
                name, scores = self.emit(f'R.multiply({name}, R.const({self.width ** -0.5}, "float32"))', None), scores * np.float64(np.float32(self.width ** -0.5))
            elif kind == "divide":
                name, scores = self.emit(f'R.divide({name}, R.const(8, "float32"))', None), scores / 8
            elif kind == "mask":
                m = np.triu(np.full((self.rows, self.keys), -1e9, np.float32), 1)
                name, scores = self.emit(f"R.add({name}, {self.weight(m)})", None), scores + m
            elif kind == "bias":
                b = self.draw(*self.pick.choice([(self.keys,), (self.heads, 1, self.keys), (1, self.heads, self.rows, self.keys)]))
                name, scores = self.emit(f"R.add({self.input('b', b)}, {name})", None), b + scores
            elif kind == "where":
                m = self.draw(self.rows, self.keys)
                few = self.emit(f'R.greater({self.weight(m)}, R.const(-2, "float32"))', None)
                name, scores = self.emit(f'R.where({few}, {name}, R.const(-10, "float32"))', None), np.where(m > -2, scores, -10)
            elif kind == "clip":
                name, scores = self.emit(f"R.clip({name}, -5, 5)", None), np.clip(scores, -5, 5)
            elif kind == "cap":
                name, scores = self.emit(f"R.tanh({name})", None), np.tanh(scores)
        return name, scores

    def written_out(self):
        (q, query), (k, key), (v, value) = self.tensor("q", self.rows, self.width), self.tensor("k", self.keys, self.width), self.tensor("v", self.keys, self.depth)
        scores = query @ key.swapaxes(2, 3)
        if self.pick.random() < 0.25:     # keys as rows, in a part of what is done with scores
            name = self.emit(f"R.matmul({k}, {self.emit(f'R.permute_dims({q}, [0, 1, 3, 2])', None)})", None)
            if self.pick.random() < 0.5 and not self.open:
                b = self.draw(*self.pick.choice([(), (self.rows,), (self.keys, 1), (self.heads, 1, self.rows)]))
                name, scores = self.emit(f"R.add({self.input('c', b)}, {name})", None), scores + b.swapaxes(-1, -2) if b.ndim > 1 else scores + b.reshape(-1, 1)
            name = self.emit(f"R.permute_dims({name}, [0, 1, 3, 2])", None)
        else:
            name = self.emit(f"R.matmul({q}, {self.emit(f'R.permute_dims({k}, [0, 1, 3, 2])', None)})", None)
        name, scores = self.points(name, scores)
        if self.pick.random() < 0.1:      # somebody else wants them, too
            self.emit(f"R.sum({name})", None)
        name, p = self.emit(f"R.nn.softmax({name}, axis=-1)", None), softmax(scores)
        if self.pick.random() < 0.2:
            name, p = self.emit(f'R.multiply({name}, R.const(2, "float32"))', None), p * 2
        out = p @ value
        if self.pick.random() < 0.25:     # rows of the other operand
            turned = self.emit(f"R.permute_dims({name}, [0, 1, 3, 2])", None)
            if self.pick.random() < 0.3:
                turned = self.emit(f"R.clip({turned}, 0, 2)", None)
            self.emit(f"R.permute_dims(R.matmul(R.permute_dims({v}, [0, 1, 3, 2]), {turned}), [0, 3, 1, 2])", out.transpose(0, 2, 1, 3))
        else:
            name = self.emit(f"R.matmul({name}, {v})", out)
            if self.pick.random() < 0.6:
                self.emit(f"R.permute_dims({name}, [0, 2, 1, 3])", out.transpose(0, 2, 1, 3))
            if self.last != name and not self.open:
                self.emit(f"R.reshape({self.last}, R.shape({[self.batch, self.rows, self.heads * self.depth]}))", self.value.reshape(self.batch, self.rows, -1))


def check(seed):
    check_all_ways(s, Attention(seed), f"program {seed}", 2e-5)
    return True


if __name__ == "__main__":
    numbers = seeds("ATTENTION", 1500 if LONG else 40)
    s.each("ATTENTION", numbers, check, (lambda seed: print(Attention(seed).text())) if len(numbers) == 1 else None)
    s.done()
