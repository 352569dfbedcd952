#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A device of one's own as a class, and one with a parameter: what each changes on a network of real digits."""
import pathlib

import numpy as np

import lastbit
from lastbit.rules import Overflow, Rounding

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"


class RoundsDown(lastbit.Device):
    """As vipnano_v8, but it rounds down"""

    extends = "vipnano_v8"
    rules = {"conv.i8.output.chain.2.rounding": Rounding.floor}


class Narrow(RoundsDown):
    """As that, with a narrower accumulator"""

    def __init__(self, bits):
        self.name = f"narrow_{bits}"
        self.rules = {"conv.i8.accumulator": {"bits": bits, "overflow": Overflow.saturate}}


model = lastbit.load_model(DIGITS / "model.json")
images, labels = np.load(DIGITS / "test_images.npy"), np.load(DIGITS / "test_labels.npy")
for device in ("vipnano_v8", RoundsDown, Narrow(16), Narrow(12)):
    backend = lastbit.backend(device)
    right = lastbit.run(model, backend, images).outputs[0].reshape(len(images), -1).argmax(-1) == labels
    changed = len(lastbit.diff("vipnano_v8", backend))
    print(f"{backend.name:12} {changed} rules differ from vipnano_v8, {right.mean():.2%} of the digits are right")
