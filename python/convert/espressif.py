# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of ESP-DL's functions: scales are powers of two. A shift is the exponent of the output where the others are 0."""

import math

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .padding import check_sizes
from .recorded import Recorded, Refusal

BACKENDS = {"half_up": "espdl_s3", "half_even": "espdl_p4"}
EXPONENTS = range(-31, 32)


def run_of(recorded, expected):
    return Run(BACKENDS[recorded.text("rounding", BACKENDS)], expected)


def power(key, exponent):
    if exponent not in EXPONENTS:
        raise Refusal(f"params.{key} gives 2^{exponent}")
    return 2.0 ** exponent


def shift(recorded):
    return power("shift", recorded.integer("shift"))


def rescale(recorded):
    """2^n, the scale of the output that gives it."""
    value = recorded.number("rescale")
    fraction, exponent = math.frexp(value)
    if fraction != 0.5:
        raise Refusal(f"params.rescale {value!r} is no power of two")
    return power("rescale", 1 - exponent)


def activation(recorded):
    return {"activation": "relu"} if recorded.flag("relu") else {}


def image(recorded, key):
    array = recorded.tensor(key, "int8")
    if array.ndim != 4:
        raise Refusal(f"tensors.{key} of shape {list(array.shape)}")
    return array


def flat(array, expected):
    if array.ndim != 1 or array.shape != expected.shape:
        raise Refusal(f"inputs of shape {list(array.shape)} give {list(expected.shape)}")
    return array


def conv2d(recorded):
    source, weights, expected = (image(recorded, key) for key in ("input", "weights", "expected"))
    stride, padding = recorded.integers("stride", 2), recorded.integers("pad", 4)
    check_sizes(padding, source.shape[1:3], expected.shape[1:3], weights.shape[1:3], stride, (1, 1))
    bias = recorded.optional_tensor("bias", "int32")
    operands = [Operand("input", source, quantization(1)), Operand("weights", weights, quantization(1), constant=True),
                None if bias is None else Operand("bias", bias, constant=True)]
    attributes = {"stride": stride, "dilation": [1, 1], "padding": padding, **activation(recorded)}
    return Layer("conv2d", operands, quantization(shift(recorded)), attributes), run_of(recorded, expected)


def mul(recorded):
    expected = recorded.tensor("expected", "int8")
    operands = [Operand(key, flat(recorded.tensor(key, "int8"), expected), quantization(1)) for key in ("input1", "input2")]
    return Layer("mul", operands, quantization(rescale(recorded))), run_of(recorded, expected)


def global_average_pool(recorded):
    source, expected = image(recorded, "input"), image(recorded, "expected")
    scales = [power(f"{end}_exponent", recorded.integer(f"{end}_exponent")) for end in ("input", "output")]
    if expected.shape != (source.shape[0], 1, 1, source.shape[3]):
        raise Refusal(f"an image of shape {list(source.shape)} gives {list(expected.shape)}")
    return Layer("global_average_pool", [Operand("input", source, quantization(scales[0]))], quantization(scales[1])), run_of(recorded, expected)


def requantize(recorded):
    expected = recorded.tensor("expected", "int8", "int16", "int32")
    operand = Operand("acc", flat(recorded.tensor("acc", "int32"), expected), quantization(1))
    return Layer("requantize", [operand], quantization(shift(recorded))), run_of(recorded, expected)


OPERATIONS = {"conv2d": conv2d, "mul": mul, "global_average_pool": global_average_pool, "requantize": requantize}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    layer, run = OPERATIONS[recorded.op](recorded)
    recorded.finish()
    suite.add_layer(recorded, layer, [run], " ".join([recorded.name, recorded.op]))
