#!/usr/bin/env python3
"""Where each variant is the fastest, and by how much: python3 scripts/family_wins.py JOURNAL... > family_wins.md

Reads the journals of tunes on one device. Markdown on stdout: for each variant the shapes at which its best
configuration beats the best one of every other variant, and the largest leads. A lead below 2 % is within the noise.
A time of fewer than three samples is that of a candidate that left the race after a launch from the host, whose delay it
holds as well: a lead is over such a one only where there is no other.
"""

import argparse
import json
import sys

NOISE = 0.02
SAMPLES = 3


def best_times(paths):
    """{problem: {variant: (left the race, time_us, configuration)}}, from the last measurement of each configuration."""
    devices, times = set(), {}
    for path in paths:
        with open(path, encoding="utf-8") as journal:
            for line in journal:
                try:
                    event = json.loads(line)
                except ValueError:
                    continue  # the last line of a tune that was killed
                data = event["data"]
                if event["event"] == "run":
                    devices.add(data["device"]["name"])
                # A finalist is measured twice; the second time counts, which has more samples.
                if event["event"] == "measure" and "timing" in data:
                    timing = data["timing"]
                    times[data["problem"], data["config"]] = timing["samples"] < SAMPLES, timing["median_us"]
    if len(devices) > 1:
        sys.exit("family_wins.py: times of different devices: " + ", ".join(sorted(devices)))
    best = {}
    for (problem, config), (out, time_us) in times.items():
        of_problem = best.setdefault(problem, {})
        variant = config.split()[0]
        of_problem[variant] = min(of_problem.get(variant, (True, float("inf"), "")), (out, time_us, config))
    if not best:
        sys.exit("family_wins.py: no measurement in " + ", ".join(paths))
    return best


def leads(best):
    """{variant: [(lead, problem, time_us, configuration, next variant)]}; a lead is infinite where there is no other."""
    result = {variant: [] for of_problem in best.values() for variant in of_problem}
    for problem, of_problem in best.items():
        ranked = sorted((*time, variant) for variant, time in of_problem.items())
        _, time_us, config, variant = ranked[0]
        lead, following = float("inf"), "-"
        if len(ranked) > 1:
            _, next_us, _, following = ranked[1]
            lead = next_us / time_us - 1
        result[variant].append((lead, problem, time_us, config, following))
    for of_variant in result.values():
        of_variant.sort(key=lambda win: (-win[0], win[1]))
    return result


def percent(lead):
    return "alone" if lead == float("inf") else f"{100 * lead:.1f} %"


def print_table(header, rows):
    print("| " + " | ".join(header) + " |")
    print("|" + "---|" * len(header))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    print()


def summary(best, wins):
    types = sorted({problem.split(":")[0] for problem in best}, key=["f32", "f16", "bf16"].index)
    rows = []
    for variant, of_variant in wins.items():
        clear = [win for win in of_variant if win[0] >= NOISE]
        others = [win for win in of_variant if win[0] != float("inf")]
        by_type = [sum(win[1].startswith(dtype + ":") for win in clear) for dtype in types]
        largest = [percent(others[0][0]), others[0][1], others[0][4]] if others else ["-", "-", "-"]
        timed = sum(variant in of_problem for of_problem in best.values())
        alone = len(of_variant) - len(others)
        rows.append([f"`{variant}`", timed, len(of_variant), len(clear), *by_type, alone, *largest])
    rows.sort(key=lambda row: (-row[3], -row[2], row[0]))
    header = ["variant", "shapes timed", "fastest at", "by 2 % or more", *types, "alone", "largest lead", "at", "over"]
    print_table(header, rows)


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("journals", nargs="+", metavar="JOURNAL")
    arguments.add_argument("--shapes", type=int, default=10, help="of each variant, the largest leads [10]")
    options = arguments.parse_args()

    best = best_times(options.journals)
    wins = leads(best)
    summary(best, wins)
    shown = [(f"`{variant}`", problem, f"{time_us:.3f}", config, following, percent(lead))
             for variant, of_variant in sorted(wins.items())
             for lead, problem, time_us, config, following in of_variant[:options.shapes] if lead >= NOISE]
    print_table(["variant", "shape", "time us", "configuration", "next", "lead"], shown)
    never = sorted(variant for variant, of_variant in wins.items() if not any(win[0] >= NOISE for win in of_variant))
    print("Never the fastest by 2 %:", ", ".join(f"`{variant}`" for variant in never) or "none")


if __name__ == "__main__":
    main()
