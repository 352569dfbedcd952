#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Tables of results as Google Benchmark writes them, made up and of a short run: benchmark_table_test.py TABLE BENCH."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

TABLE, BENCH = sys.argv[1:3]


def row(name, family, microseconds, **more):
    return {"name": name, "run_name": name, "family_index": family, "run_type": "iteration", "time_unit": "us",
            "cpu_time": microseconds, "real_time": 1000 * microseconds, **more}


# In the order in which they ended; of each the fastest repetition counts, and no aggregate.
ROWS = [
    row("conv/a/3x3/peer/manual_time", 2, 9, MACs=400e9),
    row("conv/a/3x3/lastbit", 1, 30, MACs=100e9, label="peak/dot"),
    row("peak/dot/instruction", 0, 5, MACs=500e9),
    row("conv/a/3x3/lastbit", 1, 15, MACs=200e9, label="peak/dot"),
    row("conv/a/3x3/lastbit", 1, 1, MACs=900e9, run_type="aggregate", aggregate_name="stddev"),
    row("conv/a/3x3/refused", 3, 1, error_occurred=True, error_message="is refused"),
    row("two_threads/a/net/lastbit/real_time", 4, 0.5),
    row("two_threads/a/net/one_thread/real_time", 5, 0.75),
    row("memory/a/net/lastbit/iterations:1", 6, 1, held_bytes=50e6),
    row("memory/a/net/least/iterations:1", 7, 1, held_bytes=40e6),
]


class Tables(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def file(self, name, rows, host="board"):
        path = os.path.join(self.folder.name, name)
        with open(path, "w") as text:
            json.dump({"context": {"host_name": host}, "benchmarks": rows}, text)
        return path

    def table(self, *arguments):
        result = subprocess.run([sys.executable, TABLE, *arguments], capture_output=True, text=True)
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in result.stdout.splitlines() if line.startswith("|")]
        return result, [line for line in cells if not line[0].startswith("-")]

    def test_rates_times_and_memory(self):
        result, lines = self.table(self.file("now", ROWS))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual([line for line in lines if line[0] != "case"], [
            ["`peak/dot`", "", "instruction", "500 GMAC/s", "", ""],
            ["`conv/a/3x3`", "200 GMAC/s", "peer", "400 GMAC/s", "0.500", "40 %"],
            ["`two_threads/a/net`", "0.500 ms", "one_thread", "0.750 ms", "1.50", ""],
            ["`memory/a/net`", "50.0 MB", "least", "40.0 MB", "0.800", ""],
        ])
        self.assertEqual(self.table(self.file("now", ROWS), "memory")[1][1:], [lines[-1]])

    def test_what_became_slower(self):
        slower = [dict(one, MACs=0.9 * one["MACs"]) if "conv" in one["name"] and "MACs" in one else one for one in ROWS]
        result, lines = self.table(self.file("now", slower), "--against", self.file("earlier", ROWS))
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(lines[1:], [["`conv/a/3x3`", "200 GMAC/s", "180 GMAC/s", "0.900"]])
        self.assertIn("1 of 3 became slower", result.stdout)
        a_little = [dict(one, MACs=0.96 * one["MACs"]) if "MACs" in one else one for one in ROWS]
        result, lines = self.table(self.file("now", a_little), "--against", self.file("earlier", ROWS))
        self.assertEqual((result.returncode, lines), (0, []), result.stderr)
        self.assertIn("another machine", self.table(self.file("now", ROWS, "desk"), "--against", self.file("earlier", ROWS))[0].stderr)

    def test_mistakes_are_one_line(self):
        for arguments in [["/no/such/file"], [TABLE], [self.file("list", [{}])],
                          [self.file("now", ROWS[:1]), "--against", self.file("earlier", ROWS[2:3])]]:
            result, _ = self.table(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertRegex(result.stderr, r"^benchmark_table: .*\n$")

    def test_a_run(self):
        path = os.path.join(self.folder.name, "run")
        subprocess.run([BENCH, "--benchmark_filter=^finish/k210/", "--benchmark_min_time=0.0001", "--benchmark_repetitions=3",
                        "--benchmark_enable_random_interleaving=true", "--benchmark_out=" + path, "--benchmark_out_format=json"],
                       check=True, capture_output=True)
        _, lines = self.table(path)
        self.assertEqual([line[0] for line in lines], ["case", "`finish/k210/per_channel`"])
        self.assertRegex(lines[1][1], r"^[0-9.]+ Gvalue/s$")
        self.assertEqual(lines[1][2], "vipnano_v8")
        self.assertEqual(self.table(path, "--against", path)[0].returncode, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
