"""The scripts that make pages of results, on small samples: python3 tests/scripts/scripts_test.py"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"

# Stands for matplotlib: writes what is drawn in the place of the plot.
MATPLOTLIB = "rcParams = {}\ndef use(backend):\n    pass\n"
PYPLOT = """
import json

class Axes:
    def __init__(self):
        self.calls = []
    def __getattr__(self, name):
        def call(*arguments, **named):
            self.calls.append([name, list(arguments), named])
        return call

class Figure:
    def __init__(self, axes):
        self.axes = axes
    def savefig(self, path, **named):
        with open(path, "w") as file:
            json.dump(self.axes.calls, file)

def subplots(**named):
    axes = Axes()
    return Figure(axes), axes

def close(figure):
    pass
"""


class ScriptTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return str(path)

    def run_script(self, name, *arguments):
        environment = dict(os.environ, PYTHONPATH=str(self.folder), PYTHONDONTWRITEBYTECODE="1")
        return subprocess.run([sys.executable, str(SCRIPTS / name), *arguments], text=True, env=environment,
                              capture_output=True, check=False)


class FamilyWins(ScriptTest):
    def journal(self, name, times, device="H200"):
        events = [{"event": "run", "data": {"device": {"name": device}}}]
        for config, problem, time_us, *samples in times:
            timing = {"median_us": time_us, "samples": samples[0] if samples else 3}
            events.append({"event": "measure", "data": {"config": config, "problem": problem, "timing": timing}})
        return self.write(name, "".join(json.dumps(event) + "\n" for event in events) + '{"event": "mea')

    def test_counts_what_a_variant_wins_over_the_best_of_any_other(self):
        first = self.journal("a.jsonl", [
            ("lanes LANES=8", "f32:16x64", 9.0), ("lanes LANES=8", "f32:16x64", 2.0),  # a finalist's second time
            ("lanes LANES=4", "f32:16x64", 2.01),
            ("held THREADS=64", "f32:16x64", 2.5), ("tile LANES=8", "f32:16x64", 3.0),
            ("lanes LANES=8", "f32:16x65", 2.00), ("held THREADS=64", "f32:16x65", 2.02),
            ("held THREADS=64", "f32:16x9000", 7.0)])
        second = self.journal("b.jsonl", [("lanes f16 LANES=8", "f16:16x64", 1.5), ("held f16 THREADS=64", "f16:16x64", 1.0)])
        result = self.run_script("family_wins.py", first, second)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertIn("| variant | shapes timed | fastest at | by 2 % or more | f32 | f16 | alone | largest lead | at | over |", lines)
        self.assertIn("| `held` | 4 | 2 | 2 | 1 | 1 | 1 | 50.0 % | f16:16x64 | lanes |", lines)
        self.assertIn("| `lanes` | 3 | 2 | 1 | 1 | 0 | 0 | 25.0 % | f32:16x64 | held |", lines)
        self.assertIn("| `tile` | 1 | 0 | 0 | 0 | 0 | 0 | - | - | - |", lines)
        self.assertIn("| `lanes` | f32:16x64 | 2.000 | lanes LANES=8 | held | 25.0 % |", lines)
        self.assertNotIn("f32:16x65", result.stdout)  # a lead of 1 %
        self.assertEqual(lines[-1], "Never the fastest by 2 %: `tile`")

    def test_a_lead_is_over_those_that_stayed_in_the_race(self):
        result = self.run_script("family_wins.py", self.journal("a.jsonl", [
            ("lanes LANES=8", "f32:16x64", 2.0), ("held THREADS=64", "f32:16x64", 2.1),
            ("tile LANES=8", "f32:16x64", 2.05, 1), ("tile LANES=8", "f32:16x8", 1.0),
            ("held THREADS=64", "f32:16x8", 20.0, 1)]))
        self.assertIn("| `lanes` | f32:16x64 | 2.000 | lanes LANES=8 | held | 5.0 % |", result.stdout)
        self.assertIn("| `tile` | f32:16x8 | 1.000 | tile LANES=8 | held | 1900.0 % |", result.stdout)

    def test_devices_do_not_mix(self):
        times = [("lanes LANES=8", "f32:16x64", 2.0)]
        result = self.run_script("family_wins.py", self.journal("a", times), self.journal("b", times, "T4"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("H200, T4", result.stderr)

    def test_an_empty_journal_is_an_error(self):
        result = self.run_script("family_wins.py", self.journal("a", []))
        self.assertEqual(result.returncode, 1)
        self.assertIn("no measurement", result.stderr)


class NoCliffs(ScriptTest):
    def bench(self, times):
        rows = [{"problem": problem, "time_us": time_us, "chosen": {"variant": "lanes", "constants": {"LANES": 8}}}
                for problem, time_us in times]
        return self.write("bench.json", json.dumps(rows))

    def test_neighbours_that_differ_little(self):
        path = self.bench([("f32:1000x100", 10), ("f32:990x101", 10.5), ("f32:980x102", 10.2), ("f32:500x200", 99),
                           ("f16:2000x100", 7), ("f16:1980x101", 7)])
        result = self.run_script("no_cliffs.py", path)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| f32 | 100..102 | 1.050 | 5.0 % | 100, 101 |", result.stdout)
        self.assertIn("| f16 | 100..101 | 1.000 | 0.0 % | 100, 101 |", result.stdout)
        self.assertNotIn("200", result.stdout)  # without a neighbour
        self.assertIn("0 of 3 neighbours differ by 10 % or more.", result.stdout)

    def test_a_cliff_fails_and_is_named(self):
        path = self.bench([("f32:1000x100", 10), ("f32:990x101", 10.5), ("f32:980x102", 12)])
        result = self.run_script("no_cliffs.py", path)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("1 of 2 neighbours differ by 10 % or more:\n- f32 101 -> 102: 14.3 %: 10.500 us (lanes LANES=8)", result.stdout)

    def test_what_cannot_be_compared_is_an_error(self):
        self.assertEqual(self.run_script("no_cliffs.py").returncode, 2)
        self.assertEqual(self.run_script("no_cliffs.py", self.bench([("f32:1000x100", 10)])).returncode, 2)
        other_size = self.run_script("no_cliffs.py", self.bench([("f32:1000x100", 10), ("f32:1000x110", 10), ("f32:500x101", 5)]))
        self.assertEqual(other_size.returncode, 2)
        self.assertIn("at fixed bytes", other_size.stderr)


class ResultTables(ScriptTest):
    ROWS = [
        {"M": 64, "N": 64, "bytes": 1, "limit": 20.0, "torch": 30.0, "cudnn": 25.0, "ours": 21.0},
        {"M": 64, "N": 128, "bytes": 1, "limit": 40.0, "torch": None, "torch_why": "no", "cudnn": 10.0, "cudnn_bad": True,
         "ours": 84.0},
        {"M": 1, "N": 9, "bytes": 1, "limit": 2.0, "torch": 8.0, "cudnn": 4.0, "ours": 3.0},
    ]

    def results(self, rows=None, **changes):
        return self.write("f32.json", json.dumps({"device": "H200", "dtype": "f32", "rows": rows or self.ROWS} | changes))

    def test_long_shapes_and_short_ones_beside_the_peers(self):
        once = self.write("once.json", json.dumps([{"problem": "f32:1x9", "time_us": 3.1, "reduce_once_us": 2.5}]))
        result = self.run_script("result_tables.py", self.results(), "--once", once)
        self.assertEqual(result.returncode, 0, result.stderr)
        long, short = result.stdout.split("### f32, shorter")
        self.assertIn("| 64x64 | 20.00 | 30.00 | 25.00 | **21.00** | 1.050 | 0.84 (cudnn) |\n", long)
        self.assertIn("| 64x128 | 40.00 | - | - | **84.00** | 2.100 | - |\n", long)  # one refused, one wrong
        self.assertIn("softmax_dispatch: geometric mean of time over limit 1.485, worst 2.10, over 2 shapes", long)
        self.assertIn("cudnn: geometric mean of time over limit 1.250, worst 1.25, over 1 shapes", long)
        self.assertIn("| 1x9 | 2.00 | 8.00 | 4.00 | **3.00** | 1.500 | 0.75 (cudnn) | 3.10 | 2.50 |\n", short)

    def test_several_runs_are_taken_together(self):
        runs = [self.write(f"{i}.json", json.dumps({"device": "H200", "dtype": "f32", "rows": rows})) for i, rows in enumerate([
            [self.ROWS[0], self.ROWS[2]],
            [dict(self.ROWS[2], ours=3.5), dict(self.ROWS[0], ours=26.0, limit=19.0)],
            [dict(self.ROWS[0], ours=24.0, torch=None), dict(self.ROWS[2], torch_bad=True)],
        ])]
        result = self.run_script("result_tables.py", *runs)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| 64x64 | 20.00 | - | 25.00 | **24.00** | 1.200 | 0.96 (cudnn) |\n", result.stdout)
        self.assertIn("| 1x9 | 2.00 | - | 4.00 | **3.00** | 1.500 | 0.75 (cudnn) |\n", result.stdout)
        _, differ = result.stdout.split("### f32, what 3 runs differ by")
        self.assertIn("| 64x64 | 1.050, 1.368, 1.200 | 0.840, 1.040, 0.960 | 0.960 |\n", differ)
        self.assertNotIn("1x9", differ)  # no peer is near
        self.assertIn("15 us or more: geometric mean of time over limit of each run 1.050, 1.368, 1.200\n", differ)
        self.assertIn("shorter: geometric mean of time over limit of each run 1.500, 1.750, 1.500\n", differ)

    def test_a_shape_that_we_refused_counts_nowhere(self):
        result = self.run_script("result_tables.py", self.results([dict(self.ROWS[0], ours=None), self.ROWS[1]]))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertIn("| 64x64 | 20.00 | 30.00 | 25.00 | - | - | - |\n", result.stdout)
        self.assertIn("softmax_dispatch: geometric mean of time over limit 2.100, worst 2.10, over 1 shapes", result.stdout)

    def test_what_cannot_be_compared_is_an_error(self):
        without = self.run_script("result_tables.py", self.results([{"M": 1, "N": 1, "limit": 2.0, "torch": 3.0}]))
        self.assertEqual(without.returncode, 1)
        self.assertIn("no times of `ours`", without.stderr)
        other = self.write("T4.json", json.dumps({"device": "T4", "dtype": "f16", "rows": self.ROWS}))
        mixed = self.run_script("result_tables.py", self.results(), other)
        self.assertEqual(mixed.returncode, 1)
        self.assertIn("H200, T4", mixed.stderr)


class PlotResults(ScriptTest):
    ROWS = [
        {"M": 64, "N": 64, "bytes": 32768, "nbuf": 4, "limit": 2.0, "torch": 3.0, "torch_err": 0.0, "ours": 2.2, "ours_err": 0.0},
        {"M": 32, "N": 128, "bytes": 32768, "nbuf": 4, "limit": 2.0, "torch": None, "torch_why": "no", "ours": 2.1},
        {"M": 1, "N": 128256, "bytes": 1026048, "nbuf": 4, "limit": 2.0, "torch": 8.0, "torch_bad": True, "ours": 3.0},
        {"M": 4, "N": 128256, "bytes": 4104192, "nbuf": 4, "limit": 4.0, "torch": 8.0, "ours": 5.0},
    ]

    def results(self, name="f32.json", rows=ROWS, **changes):
        return self.write(name, json.dumps({"device": "H200", "torch": "2", "dtype": "f32", "rows": rows} | changes))

    def calls(self, name):
        calls = json.loads((self.folder / "plots" / name).read_text())
        lines = {named["label"]: arguments for call, arguments, named in calls if call == "plot"}
        words = {call: arguments[0] for call, arguments, _ in calls if call.startswith("set_") and arguments}
        return lines, words, [call for call, _, _ in calls]

    def test_draws_each_peer_over_the_limit(self):
        self.write("matplotlib/__init__.py", MATPLOTLIB)
        self.write("matplotlib/pyplot.py", PYPLOT)
        result = self.run_script("plot_results.py", self.results(), "--out", str(self.folder / "plots"))
        self.assertEqual(result.returncode, 0, result.stderr)
        lines, words, calls = self.calls("f32-over-n.svg")
        self.assertEqual(lines, {"softmax_dispatch": [[64, 128], [1.1, 1.05]], "torch": [[64], [1.5]]})
        self.assertEqual(words["set_title"], "f32 softmax, matrices of 0.015625 MiB, H200")
        self.assertEqual((words["set_xlabel"], words["set_ylabel"]), ("N, elements in a row", "time / limit (1 is best)"))
        self.assertIn("legend", calls)
        lines, words, _ = self.calls("f32-over-m.svg")
        self.assertEqual(lines, {"softmax_dispatch": [[1, 4], [1.5, 1.25]], "torch": [[4], [2.0]]})
        self.assertEqual(words["set_title"], "f32 softmax, rows of 128256, H200")

    def test_devices_do_not_mix(self):
        self.write("matplotlib/__init__.py", MATPLOTLIB)
        self.write("matplotlib/pyplot.py", PYPLOT)
        result = self.run_script("plot_results.py", self.results(), self.results("other.json", device="T4"), "--out",
                                 str(self.folder / "plots"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("T4", result.stderr)

    def test_of_a_shape_timed_twice_the_last_counts(self):
        self.write("matplotlib/__init__.py", MATPLOTLIB)
        self.write("matplotlib/pyplot.py", PYPLOT)
        later = [{"M": 4, "N": 128256, "bytes": 4104192, "limit": 4.0, "ours": 4.2},
                 {"M": 2, "N": 128256, "bytes": 2052096, "limit": 2.0, "ours": 2.2}]
        result = self.run_script("plot_results.py", self.results(), self.results("later.json", later), "--out",
                                 str(self.folder / "plots"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.calls("f32-over-m.svg")[0], {"softmax_dispatch": [[1, 2, 4], [1.5, 1.1, 1.05]]})

    def test_says_that_matplotlib_is_missing(self):
        self.write("matplotlib/__init__.py", "raise ImportError('not here')\n")
        result = self.run_script("plot_results.py", self.results(), "--out", str(self.folder / "plots"))
        self.assertEqual(result.returncode, 1)
        self.assertIn("matplotlib is needed (not here)", result.stderr)
        self.assertFalse((self.folder / "plots").exists())


if __name__ == "__main__":
    unittest.main()
