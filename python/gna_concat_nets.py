# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Packs the recorded runs of suite gna/seed000_demo for `lastbit demo gna-concat`.

    python3 python/gna_concat_nets.py ../shared/vectors/gna/seed000_demo examples/gna-concat

Of each network: float input, weights and bias as the harness drew them; of each run (a scale factor and a memory order): the vendor kernel's int32 output.
"""
import json
import pathlib
import sys

import numpy as np


def main(source: pathlib.Path, target: pathlib.Path) -> None:
    cases = json.loads((source / "cases.json").read_text())["cases"]
    load = lambda case, name: np.load(source / case["tensors"][name])
    factors = [case["params"]["input_scale"] for case in cases]
    channel_major = ["plugin defect" in case["params"]["memory_order"] for case in cases]
    if factors != [1, 1, 2048, 2048] * 4 or channel_major != [False, True] * 8:
        raise SystemExit(f"{source}: not the runs expected: four networks, scale factors 1 and 2048, right memory order and wrong one")
    target.mkdir(parents=True, exist_ok=True)
    networks = cases[::4]
    np.save(target / "inputs.npy", np.stack([load(case, "input_float") for case in networks]))  # [network, channel, time]
    np.save(target / "weights.npy", np.stack([load(case, "weights_float") for case in networks]))  # [network, filter, channel, tap]
    np.save(target / "biases.npy", np.stack([load(case, "bias_float") for case in networks]))
    outputs = np.stack([load(case, "expected") for case in cases])  # [run, time, filter]
    np.save(target / "outputs.npy", outputs.reshape(4, 2, 2, 127, 4))  # [network, factor, memory order, time, filter]
    figures = [[case["params"]["cosine_to_float"], case["params"]["mean_abs_error"]] for case in cases]
    np.save(target / "figures.npy", np.array(figures).reshape(4, 2, 2, 2))  # […, (cosine, L1)]


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
