#!/usr/bin/env python3
"""Whether rows of neighbouring lengths take the same time for a byte: python3 scripts/no_cliffs.py BENCH.json...

Reads what `softmax-tune bench --N 1020:1030 ... --json` prints: times of consecutive N at fixed bytes. Markdown on
stdout. Exit code 1 if two neighbours differ by 10 % or more, 2 if there is nothing to compare.
"""

import json
import sys

MOST = 0.10
SAME_BYTES = 0.02  # beyond, the two matrices are not of the same size
ELEMENT_BYTES = {"f32": 4, "f16": 2, "bf16": 2}


def fail(message):
    print("no_cliffs.py: " + message, file=sys.stderr)
    sys.exit(2)


def read(paths):
    """{(dtype, N): (bytes, time_us, configuration)}"""
    rows = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in json.load(file):
                dtype, shape = row["problem"].split(":")
                m, n = map(int, shape.split("x"))
                chosen = row["chosen"]
                config = " ".join([chosen["variant"]] + [f"{k}={v}" for k, v in chosen["constants"].items()])
                rows[dtype, n] = (2 * m * n * ELEMENT_BYTES[dtype], row["time_us"], config)
    return rows


def neighbours(rows):
    """Runs of consecutive lengths: [(dtype, first N, last N, [(difference, N, N + 1)])]"""
    runs = []
    for dtype, n in sorted(rows):
        if (dtype, n - 1) not in rows:
            runs.append((dtype, n, n, []))
            continue
        before, here = rows[dtype, n - 1], rows[dtype, n]
        if abs(before[0] / here[0] - 1) > SAME_BYTES:
            fail(f"{dtype} rows of {n - 1} and {n} are of {before[0]} and {here[0]} bytes: time them at fixed bytes")
        a, b = before[1] / before[0], here[1] / here[0]
        _, first, _, pairs = runs.pop()
        runs.append((dtype, first, n, pairs + [(max(a, b) / min(a, b) - 1, n - 1, n)]))
    return [run for run in runs if run[3]]


def main():
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        fail(__doc__.split("\n")[0])
    rows = read(sys.argv[1:])
    runs = neighbours(rows)
    if not runs:
        fail("no two rows of neighbouring lengths: give bench a range, e.g. --N 1020:1030")
    print("| type | N | slowest byte / fastest | largest difference | between |\n|---|---|---|---|---|")
    cliffs = []
    for dtype, first, last, pairs in runs:
        per_byte = [rows[dtype, n][1] / rows[dtype, n][0] for n in range(first, last + 1)]
        difference, a, b = max(pairs)
        print(f"| {dtype} | {first}..{last} | {max(per_byte) / min(per_byte):.3f} | {100 * difference:.1f} % | {a}, {b} |")
        cliffs += [(dtype, *pair) for pair in pairs if pair[0] >= MOST]
    print(f"\n{len(cliffs)} of {sum(len(run[3]) for run in runs)} neighbours differ by {100 * MOST:.0f} % or more"
          + (":" if cliffs else "."))
    for dtype, difference, a, b in sorted(cliffs, key=lambda cliff: -cliff[1]):
        print(f"- {dtype} {a} -> {b}: {100 * difference:.1f} %: {rows[dtype, a][1]:.3f} us ({rows[dtype, a][2]}), "
              f"{rows[dtype, b][1]:.3f} us ({rows[dtype, b][2]})")
    return 1 if cliffs else 0


if __name__ == "__main__":
    sys.exit(main())
