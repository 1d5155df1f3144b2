#!/usr/bin/env python3
"""Draws peers.json as peers.svg: a bar for each row from 1, the time of ONNX Runtime, to ours, on a logarithmic scale.

    picture.py peers.json peers.svg
"""
import json
import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

LINE, LEFT, WIDTH, RIGHT, TOP = 17, 290, 560, 90, 64
INK, PALE, GOOD, BAD, GRID = "#1a1a1a", "#5c5c5c", "#2a7f62", "#b3422f", "#d9d9d9"


def ratio(row, target):
    times = row.get("times", {})
    return times[target] / times["ort"] if target in times and "ort" in times else None


class Picture:
    def __init__(self, low, high, height):
        self.low, self.high, self.height, self.parts = math.log(low), math.log(high), height, []

    def x(self, value):
        share = (math.log(value) - self.low) / (self.high - self.low)
        return LEFT + WIDTH * min(1, max(0, share))

    def text(self, x, y, words, size=12, colour=INK, anchor="start", weight="normal"):
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}" '
                          f'font-weight="{weight}">{escape(words)}</text>')

    def line(self, x, y1, y2, colour, width=1, dashes=""):
        self.parts.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{y1:.1f}" y2="{y2:.1f}" stroke="{colour}" stroke-width="{width}"'
                          + (f' stroke-dasharray="{dashes}"' if dashes else "") + "/>")

    def bar(self, y, value, target, other):
        """From 1 to the value, the target as a small line, the other compilation of ours as a ring."""
        a, b = sorted((self.x(1), self.x(value)))
        colour = GOOD if value <= target else BAD
        self.parts.append(f'<rect x="{a:.1f}" y="{y + 3}" width="{max(b - a, 1):.1f}" height="{LINE - 6}" fill="{colour}"/>')
        self.line(self.x(target), y + 1, y + LINE - 1, INK, 1.5)
        if other:
            self.parts.append(f'<circle cx="{self.x(other):.1f}" cy="{y + LINE / 2}" r="3.2" fill="#ffffff" stroke="{INK}"/>')
        self.text(LEFT + WIDTH + 10, y + 13, f"{value:.2f}", colour=colour, weight="bold")

    def write(self, path):
        path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + RIGHT}" height="{self.height}" '
                        f'font-family="DejaVu Sans, Arial, sans-serif">\n<rect width="100%" height="100%" fill="#ffffff"/>\n'
                        + "\n".join(self.parts) + "\n</svg>\n")


def draw(figures, targets, path):
    """A picture needs rows that have a peer; without any, none is written."""
    main, other = targets[0], (targets[1:] or [None])[0]
    rows = [r for r in figures["rows"] if ratio(r, main)]
    if not rows:
        return
    groups = list(dict.fromkeys(r["group"] for r in rows))
    ratios = [ratio(r, main) for r in rows]
    low, high = min(.5, min(ratios) / 1.1), max(4, max(ratios) * 1.1)
    height = TOP + LINE * (len(rows) + len(groups) * 2) + 34
    picture = Picture(low, high, height)
    picture.text(16, 24, "Time of librelax in times of ONNX Runtime, " + ("one thread" if figures.get("threads", 1) == 1 else f"{figures['threads']} threads"), 15, weight="bold")
    picture.text(16, 43, f"bar: {main}" + (f", ring: {other}" if other else "") + "; line: target; green: met; to the left of 1 is faster than ONNX Runtime",
                 11, PALE)
    for tick in (.1, .2, .5, 1, 2, 5, 10, 20, 50, 100):
        if low <= tick <= high:
            picture.line(picture.x(tick), TOP, height - 24, INK if tick == 1 else GRID)
            for y in (TOP - 6, height - 8):
                picture.text(picture.x(tick), y, f"{tick:g}", 11, PALE, "middle")
    y = TOP + 4
    for group in groups:
        mean = figures["means"].get(group, {}).get(main)
        picture.text(16, y + 13, group + (f", geometric mean {mean:.2f}" if mean else ""), 12, weight="bold")
        y += LINE
        for row in (r for r in rows if r["group"] == group):
            picture.text(LEFT - 10, y + 13, row["name"], 11, anchor="end")
            picture.bar(y, ratio(row, main), row["target"], other and ratio(row, other))
            y += LINE
        y += LINE
    picture.write(path)


if __name__ == "__main__":
    data = json.loads(Path(sys.argv[1]).read_text())
    draw(data, [t for t in ("interp", "c") if any(t in r.get("times", {}) for r in data["rows"])], Path(sys.argv[2]))
