#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The JSON of Google Benchmark that `./dev bench` writes, as tables in Markdown, or beside an earlier one of the same machine.

    python3 python/benchmark_table.py build/bench.json [SECTION…]
    python3 python/benchmark_table.py build/bench.json --against EARLIER.json

A benchmark's name is CASE/SIDE; the side "lastbit" is ours, the others are its peers. Each side counts with the fastest of its repetitions. A
ratio is our speed in terms of the peer's speed (of memory: its need in terms of ours). A section is what a name begins with: conv, int16, …; all
without one. With --against: what of ours became slower than 0.95 of its earlier speed; exit status 1 if something did.
"""
import argparse
import json
import re
import statistics
import sys

LIMIT = 0.95
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1}
RATES = {"MACs": "GMAC/s", "values": "Gvalue/s", "operations": "Gop/s", "bytes": "GB/s"}
# What Google Benchmark appends to a name, and whether the clock on the wall is the one that counts.
SUFFIX = re.compile(r"(/(real_time|manual_time|process_time|\w+:[^/]*))+$")


class Repetition:
    """Its speed, which is compared, and its value, which is shown: a rate, else milliseconds, or the megabytes that a run held."""

    def __init__(self, row):
        suffix = SUFFIX.search(row["run_name"])
        wall = suffix and re.search("real_time|manual_time", suffix.group())
        time = row["real_time" if wall else "cpu_time"] * SECONDS[row["time_unit"]]
        counter = next((name for name in RATES if name in row), None)
        if "held_bytes" in row:
            self.speed, self.value, self.unit = 1 / row["held_bytes"], row["held_bytes"] * 1e-6, "MB"
        elif counter:
            self.speed, self.value, self.unit = row[counter], row[counter] * 1e-9, RATES[counter]
        else:
            self.speed, self.value, self.unit = 1 / time, time * 1e3, "ms"
        self.roof = row.get("label")

    def text(self):
        return "%s %s" % (number(self.value), self.unit)


def read(file):
    """{benchmark: its fastest repetition}, in the order of the program, and the machine's name."""
    with open(file) as text:
        report = json.load(text)
    fastest = {}
    for row in sorted(report["benchmarks"], key=lambda row: row["family_index"]):  # they ran in random order
        if row.get("run_type") == "aggregate" or row.get("error_occurred"):
            continue
        name, repetition = SUFFIX.sub("", row["run_name"]), Repetition(row)
        if name not in fastest or repetition.speed > fastest[name].speed:
            fastest[name] = repetition
    return fastest, report["context"].get("host_name")


def cases_of(benchmarks):
    """{case: {side: repetition}}"""
    cases = {}
    for name, repetition in benchmarks.items():
        case, _, side = name.rpartition("/")
        cases.setdefault(case, {})[side] = repetition
    return cases


def number(value):
    return "%.0f" % value if value >= 100 else "%.1f" % value if value >= 10 else "%.2f" % value if value >= 1 else "%.3f" % value


def print_table(header, rows):
    widths = [max(map(len, column)) for column in zip(header, *rows)]
    for row in [header, ["-" * width for width in widths], *rows]:
        print("| %s |" % " | ".join(cell.ljust(width) for cell, width in zip(row, widths)))
    print()


def rows_of(case, sides, cases):
    ours = sides.get("lastbit")  # none: a peak, or a side that was not timed
    roof = next(iter(cases.get(ours.roof, {}).values()), None) if ours else None
    first = ["`%s`" % case, ours.text() if ours else ""]
    share = "%.0f %%" % (100 * ours.speed / roof.speed) if roof else ""
    for name, peer in [(name, side) for name, side in sides.items() if side is not ours] or [("", None)]:
        yield first + ([name, peer.text(), number(ours.speed / peer.speed) if ours else ""] if peer else [""] * 3) + [share]
        first, share = ["", ""], ""


def print_sections(cases, wanted):
    sections = {}
    for case, sides in cases.items():
        sections.setdefault(case.split("/")[0], []).extend(rows_of(case, sides, cases))
    for section, rows in sections.items():
        if not wanted or section in wanted:
            print("### %s\n" % section)
            print_table(["case", "lastbit", "peer", "of peer", "ratio", "roof"], rows)


def print_slower(now, earlier):
    """Whether something of ours became slower."""
    ratios = {name: now[name].speed / earlier[name].speed for name in now if name in earlier}
    ours = {name: ratio for name, ratio in ratios.items() if name.endswith("/lastbit")}
    others = [ratio for name, ratio in ratios.items() if name not in ours]
    slower = sorted((ratio, name) for name, ratio in ours.items() if ratio < LIMIT)
    print("%d of %d became slower than %.2f of their earlier speed" % (len(slower), len(ours), LIMIT), end="")
    print("; what is not ours runs at %s (median of %d)\n" % (number(statistics.median(others)), len(others)) if others else "\n")
    if slower:
        print_table(["case", "earlier", "now", "speed"],
                    [["`%s`" % name.rpartition("/")[0], earlier[name].text(), now[name].text(), number(ratio)] for ratio, name in slower])
    return bool(slower)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file")
    parser.add_argument("sections", nargs="*")
    parser.add_argument("--against", metavar="EARLIER")
    options = parser.parse_args()
    now, machine = read(options.file)
    if options.against is None:
        print_sections(cases_of(now), options.sections)
        return 0
    earlier, other = read(options.against)
    if machine != other:
        print("benchmark_table: %s is of another machine, %s" % (options.against, other), file=sys.stderr)
    if not now.keys() & earlier.keys():
        raise ValueError("%s has none of the benchmarks of %s" % (options.against, options.file))
    return 1 if print_slower(now, earlier) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except (OSError, ValueError) as error:
        print("benchmark_table: %s" % error, file=sys.stderr)
    except (KeyError, TypeError) as error:
        print("benchmark_table: not the JSON of Google Benchmark: %r" % error, file=sys.stderr)
    sys.exit(2)
