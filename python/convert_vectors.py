#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Converts recorded suites (folders with a cases.json and .npy files, see docs/vectors.md) into the case format of docs/case-format.md.

    python3 python/convert_vectors.py SRC DST [--select N]

SRC is one recorded folder or a tree of them; DST receives TARGET/SUITE/ for each. Nothing is guessed: an unknown operation, parameter,
tensor or type, or a recorded value that does not follow from the others, ends the conversion with one line and status 2, and nothing is
written.
"""

import argparse
import json
import pathlib
import re
import sys

try:
    from convert import (ascend, espressif, fbgemm, gap, gemmini, ggml, gna, k210, max78000, n2d2, nvdla, onnxruntime, pytorch, rockchip, sophgo,
                         tflite, tosa, vipnano)
    from convert.layer import Suite
    from convert.recorded import Refusal
    from convert.selection import select
except ModuleNotFoundError as missing:
    sys.exit(f"convert_vectors.py: needs {missing.name} (Debian: apt-get install python3-numpy, then /usr/bin/python3)")

VENDORS = {"tflite": tflite, "onnxruntime": onnxruntime, "vipnano": vipnano, "ascend": ascend, "gna": gna, "n2d2": n2d2, "gemmini": gemmini,
           "max78000": max78000, "fbgemm": fbgemm, "espdl": espressif, "tosa": tosa, "gap": gap, "rk3588": rockchip, "rk3576": rockchip,
           "sophgo": sophgo, "nvdla": nvdla, "k210": k210, "ggml": ggml, "ggml_avx2": ggml, "ggml_neon": ggml, **dict.fromkeys(pytorch.BACKENDS, pytorch)}
INLINE = ("n2d2", "gap", "rk3588", "rk3576", "sophgo", "nvdla", "k210")  # vendors of many small arrays, which would fill a block of the disk each
SELECTED_VALUES = 1250  # of a binary16 case, and of PyTorch's sums and products of all pairs of codes, with --select
NOTE_KEYS = ("layout notes", "layout_notes", "arithmetic", "model_agreement")


def read_suite(folder):
    try:
        content = json.loads((folder / "cases.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise Refusal(f"{folder}: no readable cases.json ({error})") from error
    if not isinstance(content, dict) or not isinstance(content.get("cases"), list):
        raise Refusal(f"{folder}: cases.json has no list of cases")
    for key in ("target", "suite", "source"):
        if not isinstance(content.get(key), str):
            raise Refusal(f"{folder}: cases.json: key '{key}' is missing or no text")
    if content["target"] not in VENDORS or not re.fullmatch(r"\w[\w.-]*", content["suite"]):
        raise Refusal(f"{folder}: unknown target '{content['target']}' or unusable suite name '{content['suite']}'")
    return content


def case_name(case, index):
    return case["name"] if isinstance(case, dict) and isinstance(case.get("name"), str) else f"case {index}"


def convert_cases(folder, content, indices, value_limit=None):
    notes = [content[key] for key in NOTE_KEYS if isinstance(content.get(key), str)]
    suite = Suite(content["target"], content["suite"], content["source"], notes, value_limit, content["target"] in INLINE)
    for index in indices:
        case = content["cases"][index]
        try:
            if not isinstance(case, dict):
                raise Refusal("no object")
            VENDORS[content["target"]].convert(suite, folder, f"c{index + 1:04}", case)
        except Refusal as refusal:
            raise Refusal(f"{suite.path}: {case_name(case, index + 1)}: {refusal}") from refusal
        if isinstance(case.get("note"), str):
            suite.note(f"{case['name']}: {case['note']}.")
    return suite


def convert_suite(folder, count=None):
    content = read_suite(folder)
    total = len(content["cases"])
    suite = convert_cases(folder, content, range(total))
    if count is None:
        return suite
    kept = select(folder, content["cases"], count)
    suite = convert_cases(folder, content, kept, SELECTED_VALUES)
    if len(kept) < total:
        suite.note(f"A selection: {len(kept)} of {total} recorded cases.")
    return suite


def convert_tree(source, destination, count=None):
    folders = sorted(path.parent for path in source.rglob("cases.json"))
    if not folders:
        raise Refusal(f"{source}: no cases.json in it")
    suites = []
    for folder in folders:
        suite = convert_suite(folder, count)
        if (destination / suite.path).exists() or any(suite.path == other.path for other in suites):
            raise Refusal(f"{suite.path}: exists already in {destination}")
        suites.append(suite)
    for suite in suites:
        suite.write(destination)
    return suites


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=pathlib.Path, metavar="SRC")
    parser.add_argument("destination", type=pathlib.Path, metavar="DST")
    parser.add_argument("--select", type=int, metavar="N", help="keep up to N recorded cases of every kind in a suite")
    arguments = parser.parse_args(argv)
    try:
        suites = convert_tree(arguments.source, arguments.destination, arguments.select)
    except (Refusal, OSError) as problem:
        print(f"convert_vectors.py: {problem}", file=sys.stderr)
        return 2
    for suite in suites:
        print(f"{suite.path}: {len(suite.cases)} cases, {len(suite.files)} files")
    return 0


if __name__ == "__main__":
    sys.exit(main())
