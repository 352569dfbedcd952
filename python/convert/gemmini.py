# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of Gemmini's macros: flat arrays, float32 factors. A factor of an operand is its scale; of an output, the inverse of its scale."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .recorded import Recorded, Refusal

# The program's factors as they are: the operand's own, and that of the sum.
FACTORS = {"add.i8.operand.by": "in", "add.i8.output.by": "1/out"}


def factor(recorded, key):
    value = recorded.number(key)
    if float(np.float32(value)) != value or not value > 0:
        raise Refusal(f"params.{key} {value!r} is no positive float32")
    return value


def inverse(key, value):
    """A scale whose inverse is the factor again."""
    if float(np.float32(1 / (1 / value))) != value:
        raise Refusal(f"params.{key} {value!r} is no inverse of a scale")
    return 1 / value


def activation(recorded):
    return {"activation": "relu"} if recorded.flag("relu") else {}


def flat(array, expected):
    if array.ndim != 1 or array.shape != expected.shape:
        raise Refusal(f"inputs of shape {list(array.shape)} give {list(expected.shape)}")
    return array


def requantize(recorded):
    expected = recorded.tensor("expected", "int8")
    source = flat(recorded.tensor("acc", "int32"), expected)
    operand = Operand("acc", source, quantization(factor(recorded, "scale")))
    return Layer("requantize", [operand], quantization(1), activation(recorded)), Run("gemmini", expected)


def shift_right(recorded):
    expected = recorded.tensor("expected", "int32")
    source = flat(recorded.tensor("value", "int32"), expected)
    shift = recorded.integer("shift")
    if not 0 < shift < 32:
        raise Refusal(f"params.shift is {shift}")
    return Layer("requantize", [Operand("value", source, quantization(2.0 ** -shift))], quantization(1)), Run("gemmini_shift", expected)


def add(recorded):
    expected = recorded.tensor("expected", "int8")
    operands = [Operand(f"input{i}", flat(recorded.tensor(f"input{i}", "int8"), expected), quantization(factor(recorded, f"scale{i}")))
                for i in (1, 2)]
    out = inverse("scale_out", factor(recorded, "scale_out"))
    return Layer("add", operands, quantization(out), activation(recorded)), Run("gemmini", expected, settings=FACTORS)


OPERATIONS = {"requantize": requantize, "shift_right": shift_right, "add": add}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    layer, run = OPERATIONS[recorded.op](recorded)
    recorded.finish()
    suite.add_layer(recorded, layer, [run], " ".join([recorded.name, recorded.op]))
