#!/usr/bin/env python3
"""Tables of a head-to-head benchmark: python3 scripts/result_tables.py PEERS.json... [--once BENCH.json...] > tables.md

Reads the files of a head-to-head benchmark, one for each element type, as plot_results.py does, and for the shapes whose
limit is below 15 us the time of a kernel that reduces once, from `softmax-tune bench TABLE --problem ...
--reduce-once --json`. Markdown on stdout: for each type the long shapes and the short ones, with time over limit, over
the best peer, and their geometric means.
"""

import argparse
import json
import math
import sys

from plot_results import OURS, peers_of, time_of

LONG_US = 15
NAME = "softmax_dispatch"


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def reduce_once(paths):
    """{problem: (us of the choice, us of the kernel that reduces once or None)}"""
    result = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            for row in json.load(file):
                result[row["problem"]] = row["time_us"], row.get("reduce_once_us")
    return result


def cell(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def table(dtype, rows, peers, once):
    others = [peer for peer in peers if peer != OURS]
    beside = [once.get(f"{dtype}:{row['M']}x{row['N']}", (None, None)) for row in rows]
    has_once = any(time is not None for times in beside for time in times)
    head = ["M x N", "limit", *others, NAME, "over limit", "over best peer"]
    head += ["same, back to back", "reduces once"] if has_once else []
    print("| " + " | ".join(head) + " |\n|---|" + "--:|" * (len(head) - 1))
    ratios = {peer: [] for peer in (OURS, *others)}
    for row, times_once in zip(rows, beside):
        times = {peer: time for peer in peers if (time := time_of(row, peer))}
        for peer, time in times.items():
            ratios[peer].append(time / row["limit"])
        ours = times.get(OURS)
        best = min(((times[peer], peer) for peer in others if peer in times), default=None)
        cells = [f"{row['M']}x{row['N']}", cell(row["limit"]), *(cell(times.get(peer)) for peer in others),
                 f"**{ours:.2f}**" if ours else "-", cell(ours and ours / row["limit"], 3),
                 f"{ours / best[0]:.2f} ({best[1]})" if ours and best else "-"]
        cells += map(cell, times_once) if has_once else []
        print("| " + " | ".join(cells) + " |")
    print()
    for peer, of_peer in ratios.items():
        if of_peer:
            print(f"- {NAME if peer == OURS else peer}: geometric mean of time over limit {geometric_mean(of_peer):.3f}, "
                  f"worst {max(of_peer):.2f}, over {len(of_peer)} shapes")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("peers", nargs="+", metavar="PEERS.json", help="a head-to-head benchmark of one element type")
    parser.add_argument("--once", nargs="+", default=[], metavar="BENCH.json", help="bench --reduce-once --json")
    arguments = parser.parse_args()
    once = reduce_once(arguments.once)
    devices = set()
    for path in arguments.peers:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        devices.add(results["device"])
        if len(devices) > 1:
            sys.exit("result_tables.py: times of different devices: " + ", ".join(sorted(devices)))
        rows, dtype = results["rows"], results["dtype"]
        if OURS not in peers_of(rows):
            sys.exit(f"result_tables.py: {path} has no times of `{OURS}`: name the library to the benchmark")
        for title, of_length, beside in ((f"a limit of {LONG_US} us or more", lambda us: us >= LONG_US, {}),
                                         ("shorter", lambda us: us < LONG_US, once)):
            chosen = [row for row in rows if of_length(row["limit"])]
            if chosen:
                print(f"\n### {dtype}, {title}\n")
                table(dtype, chosen, peers_of(rows), beside)


if __name__ == "__main__":
    main()
