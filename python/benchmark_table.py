#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The results of `./dev bench` as tables in Markdown.

    python3 python/benchmark_table.py build/bench.json [SECTION…]

A section is what a name begins with: conv, int16, saturating, finish, float16, network, …; all without one.
"""
import json
import sys


def number(value):
    return "%.0f" % value if value >= 100 else "%.1f" % value if value >= 10 else "%.2f" % value if value >= 1 else "%.3f" % value


def rows_of(results):
    for result in results:
        share = "%.0f %%" % (100 * result["roof_share"]) if "roof_share" in result else ""
        first = ["`%s`" % result["name"], "%s %s" % (number(result["value"]), result["unit"])]
        for peer in result["peers"] or [None]:
            beside = [peer["name"], number(peer["value"]), number(peer["ratio"])] if peer else ["", "", ""]
            yield first + beside + [share]
            first, share = ["", ""], ""


def main():
    report = json.load(open(sys.argv[1]))
    wanted = sys.argv[2:]
    sections = {}
    for result in report["results"]:
        sections.setdefault(result["name"].split("/")[0], []).append(result)
    for name, results in sections.items():
        if wanted and name not in wanted:
            continue
        print("### %s\n\n| case | lastbit | peer | of peer | ratio | roof |\n|---|---|---|---|---|---|" % name)
        for row in rows_of(results):
            print("| %s |" % " | ".join(row))
        print()


if __name__ == "__main__":
    main()
