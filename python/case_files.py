#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Takes one recorded case apart: its network as model.json, its inputs as .npy, and what the device delivered as a dump of .npy.

    python3 python/case_files.py tests/vectors/vipnano/imx8mp_v8_cmodel ties_shift8_mant0_rm0_4 case
    lastbit compare case/model.json --b vipnano_v8 --dump case/board
"""
import argparse
import json
import pathlib
import shutil
import sys

import numpy as np


def write_array(entry, suite, file):
    """An array of a case, kept in a file beside it or in its own text, as .npy."""
    if isinstance(entry, str):
        shutil.copy(suite / entry, file)
    else:
        np.save(file, np.array(entry["data"], dtype=entry["type"]).reshape(entry["shape"]))


def take_apart(suite, case, folder):
    board = folder / "board"
    board.mkdir(parents=True, exist_ok=True)
    for tensor in case["model"]["tensors"]:
        if "file" in tensor:
            shutil.copy(suite / tensor["file"], folder / tensor["file"])
    (folder / "model.json").write_text(json.dumps(case["model"], indent=1) + "\n")
    for name, entry in case["inputs"].items():
        write_array(entry, suite, folder / f"{name}.npy")
        write_array(entry, suite, board / f"{name}.npy")
    for name, entry in case["expected"].items():
        write_array(entry, suite, board / f"{name}.npy")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", type=pathlib.Path, help="the folder with cases.json")
    parser.add_argument("case", help="its name")
    parser.add_argument("folder", type=pathlib.Path, help="where the files go")
    arguments = parser.parse_args()
    cases = json.loads((arguments.suite / "cases.json").read_text())["cases"]
    chosen = [case for case in cases if case["name"] == arguments.case]
    if not chosen:
        sys.exit(f"{arguments.suite}: no case is called '{arguments.case}'")
    take_apart(arguments.suite, chosen[0], arguments.folder)


if __name__ == "__main__":
    main()
