#!/usr/bin/env python3
"""Tables of a head-to-head benchmark: python3 scripts/result_tables.py PEERS.json... [--once BENCH.json...] > tables.md

Reads the files of a head-to-head benchmark, one or several for each element type, as plot_results.py does, and for the
shapes whose limit is below 15 us the time of a kernel that reduces once, from `softmax-tune bench TABLE --problem ...
--reduce-once --json`. Markdown on stdout: for each type the long shapes and the short ones, with time over limit, over
the best peer, and their geometric means. Several runs of a type are taken together, each time the median of theirs; what
they differ by is a table of its own.
"""

import argparse
import json
import math
import statistics
import sys

from plot_results import OURS, peers_of, time_of

LONG_US = 15
LENGTHS = ((f"a limit of {LONG_US} us or more", lambda us: us >= LONG_US), ("shorter", lambda us: us < LONG_US))
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


def rows_of_runs(runs):
    """Of the shapes that all runs have: each time the median, None where a run has none, wrong where one is."""
    result = []
    by_shape = [{(row["M"], row["N"]): row for row in run} for run in runs]
    for row in runs[0]:
        same = [shapes.get((row["M"], row["N"])) for shapes in by_shape]
        if None in same:
            continue
        together = dict(row)
        for name in ("limit", *peers_of(runs[0])):
            times = [time_of(one, name) for one in same]
            together[name] = None if None in times else statistics.median(times)
            together.pop(name + "_bad", None)
        result.append(together)
    return result


def over_best_peer(row, peers):
    """(ratio, peer), None where there is nothing to compare."""
    best = min(((time, peer) for peer in peers if peer != OURS and (time := time_of(row, peer))), default=None)
    ours = time_of(row, OURS)
    return (ours / best[0], best[1]) if ours and best else None


def scatter(runs, rows):
    """What the runs differ by: their geometric means, and each ratio where a peer is within 2 % in one of them."""
    peers = peers_of(rows)
    print("| M x N | over limit, each run | over the best peer, each run | of the medians |\n|---|---|---|--:|")
    for row in rows:
        of_runs = [next(one for one in run if (one["M"], one["N"]) == (row["M"], row["N"])) for run in runs]
        ratios = [over_best_peer(one, peers) for one in of_runs]
        if None in ratios or max(ratio for ratio, _ in ratios) < 0.98:
            continue
        print(f"| {row['M']}x{row['N']} | " + ", ".join(f"{one[OURS] / one['limit']:.3f}" for one in of_runs) + " | " +
              ", ".join(f"{ratio:.3f}" for ratio, _ in ratios) + f" | {over_best_peer(row, peers)[0]:.3f} |")
    print()
    for title, of_length in LENGTHS:
        means = [[time_of(one, OURS) / one["limit"] for one in run if of_length(one["limit"]) and time_of(one, OURS)]
                 for run in runs]
        if all(means):
            print(f"- {title}: geometric mean of time over limit of each run " +
                  ", ".join(f"{geometric_mean(one):.3f}" for one in means))


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
        best = over_best_peer(row, peers)
        cells = [f"{row['M']}x{row['N']}", cell(row["limit"]), *(cell(times.get(peer)) for peer in others),
                 f"**{ours:.2f}**" if ours else "-", cell(ours and ours / row["limit"], 3),
                 f"{best[0]:.2f} ({best[1]})" if best else "-"]
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
    devices, runs = set(), {}
    for path in arguments.peers:
        with open(path, encoding="utf-8") as file:
            results = json.load(file)
        devices.add(results["device"])
        if len(devices) > 1:
            sys.exit("result_tables.py: times of different devices: " + ", ".join(sorted(devices)))
        if OURS not in peers_of(results["rows"]):
            sys.exit(f"result_tables.py: {path} has no times of `{OURS}`: name the library to the benchmark")
        runs.setdefault(results["dtype"], []).append(results["rows"])
    for dtype, of_type in runs.items():
        rows = rows_of_runs(of_type) if len(of_type) > 1 else of_type[0]
        for title, of_length in LENGTHS:
            chosen = [row for row in rows if of_length(row["limit"])]
            if chosen:
                print(f"\n### {dtype}, {title}\n")
                table(dtype, chosen, peers_of(rows), once if title == "shorter" else {})
        if len(of_type) > 1:
            print(f"\n### {dtype}, what {len(of_type)} runs differ by\n")
            scatter(of_type, rows)


if __name__ == "__main__":
    main()
