#!/usr/bin/env python3
"""Extracts measured times from the journal of a tune: python3 scripts/model_times.py JOURNAL > h200_times.csv

Writes the rows that tests/sim/model compares the timing model with: config, M, N and the median time in microseconds.
A time of fewer than three samples is that of a candidate that left the race after its first launches from the host: it
holds the host's delay as well, and is written only where that does not matter.
"""

import json
import sys

CONFIGS = """
v1 THREADS=256
v1 THREADS=1024
v2 THREADS=256
v2 THREADS=1024
v3 ITEMS=4 THREADS=64
v3 ITEMS=8 THREADS=128
v3 ITEMS=16 THREADS=256
v3 ITEMS=8 THREADS=512
v3 ITEMS=16 THREADS=1024
v4 THREADS=256
v4_opt THREADS=256
v5 THREADS=256
v5 THREADS=512
v6 THREADS=512 VEC_ITEMS=4
v6_double THREADS=256 VEC_ITEMS=4
v6_double THREADS=1024 VEC_ITEMS=16
v6_fetch THREADS=256 VEC_ITEMS=4
v6_fetch THREADS=512 VEC_ITEMS=16
v7 THREADS=64 VEC_ITEMS=1
v7 THREADS=128 VEC_ITEMS=4
v7 THREADS=256 VEC_ITEMS=4
v7 THREADS=512 VEC_ITEMS=2
v7 THREADS=1024 VEC_ITEMS=4
v8 THREADS=64
v8 THREADS=128
v8 THREADS=256
v9 GRID=264 THREADS=256 VEC_ITEMS=2
v9 GRID=1056 THREADS=512 VEC_ITEMS=12
v10 THREADS=64 VEC_ITEMS=2
v10 THREADS=128 VEC_ITEMS=1
v10 THREADS=128 VEC_ITEMS=8
v10 THREADS=256 VEC_ITEMS=32
unbounded THREADS=256
unbounded THREADS=1024
""".strip().split("\n")

M = [1, 8, 64, 256, 1024, 4096, 32768, 262144, 2097152]
N = [8, 32, 128, 253, 256, 1021, 1024, 2048, 4093, 4096, 8192, 16384, 32768, 65536]
HOST_DELAY_US = 150  # times beyond it are right within a few percent after one launch


def main():
    rows = []
    with open(sys.argv[1], encoding="utf-8") as journal:
        for line in journal:
            event = json.loads(line)
            data = event["data"]
            if event["event"] != "measure" or "timing" not in data:
                continue
            dtype, shape = data["problem"].split(":")
            m, n = map(int, shape.split("x"))
            timing = data["timing"]
            trusted = timing["samples"] >= 3 or timing["median_us"] > HOST_DELAY_US
            if dtype == "f32" and data["config"] in CONFIGS and m in M and n in N and trusted:
                rows.append((CONFIGS.index(data["config"]), m, n, timing["median_us"]))
    last = {row[:3]: row[3] for row in rows}  # a finalist is measured twice; the second time with more samples
    print("config,M,N,time_us")
    for (config, m, n), time_us in sorted(last.items(), key=lambda item: (item[0][1], item[0][2], item[0][0])):
        print(f"{CONFIGS[config]},{m},{n},{time_us:.4g}")


if __name__ == "__main__":
    main()
