#!/usr/bin/env python3
"""Plots time over limit, ours beside the peers: python3 scripts/plot_results.py PEERS.json... --out FOLDER

Reads the files of a head-to-head benchmark, one for each element type: {"device", "dtype", "rows": [{"M", "N", "bytes",
"limit", and for each peer its name: microseconds or null}]}. Writes for each type TYPE-over-n.svg (the shapes of the
size that most of them have) and TYPE-over-m.svg (rows of 128256 elements). Needs matplotlib.
"""

import argparse
import collections
import json
import os
import sys

OURS = "ours"
VOCABULARY = 128256
NO_PEER = ("M", "N", "bytes", "nbuf", "limit")
NO_PEER_SUFFIXES = ("_err", "_bad", "_why")


def peers_of(rows):
    """Names in the order of the file, ours first."""
    names = [key for row in rows for key in row if key not in NO_PEER and not key.endswith(NO_PEER_SUFFIXES)]
    return sorted(dict.fromkeys(names), key=lambda name: name != OURS)


def time_of(row, peer):
    """Microseconds, None where the peer refused the shape or got it wrong."""
    return None if row.get(peer + "_bad") else row.get(peer)


def series(rows, axis):
    """{peer: ([size], [time over limit])}, without what a peer refused or got wrong."""
    result = {}
    for name in peers_of(rows):
        points = sorted((row[axis], row[name] / row["limit"]) for row in rows if time_of(row, name))
        if points:
            result[name] = tuple(map(list, zip(*points)))
    return result


def of_most_common_size(rows):
    size, _ = collections.Counter(row["bytes"] for row in rows).most_common(1)[0]
    return [row for row in rows if row["bytes"] == size]


def plot(pyplot, path, title, label, lines):
    figure, axes = pyplot.subplots(figsize=(8, 4.5), layout="constrained")
    for number, (name, (sizes, ratios)) in enumerate(lines.items()):
        ours = name == OURS
        axes.plot(sizes, ratios, marker="osv^Dp*"[number % 7], markersize=5 if ours else 4, linewidth=2.2 if ours else 1.2,
                  zorder=3 if ours else 2, label="softmax_dispatch" if ours else name)
    axes.axhline(1, color="black", linewidth=0.8, linestyle="--", label="limit: a copy of the same bytes")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    sizes = sorted({size for of_peer, _ in lines.values() for size in of_peer})
    axes.set_xticks(sizes, [str(size) for size in sizes], rotation=45)
    axes.minorticks_off()
    highest = max(ratio for _, ratios in lines.values() for ratio in ratios)
    ticks = [tick for tick in (1, 1.2, 1.5, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1000) if tick <= 1.2 * highest]
    axes.set_yticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xlabel(label)
    axes.set_ylabel("time / limit (1 is best)")
    axes.set_title(title)
    axes.grid(True, linewidth=0.4, alpha=0.6)
    axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)
    print(path)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("files", nargs="+", metavar="PEERS.json")
    arguments.add_argument("--out", required=True, help="folder for the plots; made where it is missing")
    options = arguments.parse_args()
    try:
        import matplotlib
        matplotlib.use("svg")
        from matplotlib import pyplot
    except ImportError as error:
        sys.exit(f"plot_results.py: matplotlib is needed ({error}): apt install python3-matplotlib, or pip install matplotlib")
    matplotlib.rcParams["svg.hashsalt"] = "softmax_dispatch"  # the same file from the same figures

    types = {}
    for path in options.files:
        with open(path, encoding="utf-8") as file:
            result = json.load(file)
        device, rows = types.setdefault(result["dtype"], (result["device"], {}))
        if device != result["device"]:
            sys.exit(f"plot_results.py: {path} is of {result['device']}, and what came before it of {device}")
        rows.update({(row["M"], row["N"]): row for row in result["rows"]})  # the last file's count
    os.makedirs(options.out, exist_ok=True)
    for dtype, (device, shapes) in types.items():
        rows = list(shapes.values())
        same_size = of_most_common_size(rows)
        for name, axis, title, label, chosen in (
                ("n", "N", f"matrices of {same_size[0]['bytes'] / 2**21:g} MiB", "N, elements in a row", same_size),
                ("m", "M", f"rows of {VOCABULARY}", "M, rows", [row for row in rows if row["N"] == VOCABULARY])):
            lines = series(chosen, axis)
            if not lines:
                print(f"plot_results.py: no {title} of {dtype}: no plot over {axis}", file=sys.stderr)
                continue
            plot(pyplot, os.path.join(options.out, f"{dtype}-over-{name}.svg"),
                 f"{dtype} softmax, {title}, {device}", label, lines)


if __name__ == "__main__":
    main()
