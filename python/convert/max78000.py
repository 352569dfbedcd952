# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of the model that writes the MAX78000's known-answer tests: CHW without batch, weights already multiplied up to 8 bits."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .recorded import Recorded, Refusal

BACKEND = "max78000"
WEIGHT_UNITS = {8: 1, 4: 16, 2: 64, 1: 128}  # what weights of so many bits are multiples of
ACTIVATIONS = {"none": {}, "relu": {"activation": "relu"}, "abs": {"activation": "absolute"}}
ROUNDING = {"average_pool.output.chain.0.rounding": "half_away"}
ELEMENTWISE = {"add": "add_n", "sub": "sub", "mul": "mul", "or": "bitwise_or", "xor": "bitwise_xor"}


def channels_last(array):
    """CHW as NHWC."""
    if array.ndim != 3:
        raise Refusal(f"an image of shape {list(array.shape)}")
    return np.ascontiguousarray(array[np.newaxis].transpose(0, 2, 3, 1))


def conv2d(recorded):
    expected, source = (channels_last(recorded.tensor(key, "int8")) for key in ("expected", "input"))
    weights = recorded.tensor("weights", "int8")
    if weights.ndim != 4:
        raise Refusal(f"weights of shape {list(weights.shape)}")
    bits = recorded.integer("weight_bits")
    recorded.verify("kind", f"w{bits}")
    if bits not in WEIGHT_UNITS or np.any(weights.astype(np.int64) % WEIGHT_UNITS[bits]):
        raise Refusal(f"weights that {bits} bits do not hold")
    bias = recorded.optional_tensor("bias", "int8")
    operands = [Operand("input", source, quantization(1)),
                Operand("weights", np.ascontiguousarray(weights.transpose(0, 2, 3, 1)), quantization(2.0 ** -7), constant=True),
                None if bias is None else Operand("bias", bias.astype(np.int32) * 128, constant=True)]
    shift = recorded.integer("output_shift")
    if not -15 <= shift <= 15:
        raise Refusal(f"params.output_shift is {shift}")
    attributes = {"stride": [1, 1], "dilation": [1, 1], "padding": recorded.integers("pad", 4),
                  **ACTIVATIONS[recorded.text("activation", ACTIVATIONS)]}
    return Layer("conv2d", operands, quantization(2.0 ** -shift), attributes), Run(BACKEND, expected)


def avg_pool(recorded):
    expected, source = (channels_last(recorded.tensor(key, "int8")) for key in ("expected", "input"))
    rounding = recorded.flag("rounding")
    attributes = {"filter": recorded.integers("filter", 2), "stride": recorded.integers("stride", 2), "padding": [0, 0, 0, 0]}
    layer = Layer("average_pool2d", [Operand("input", source, quantization(1))], quantization(1), attributes)
    return layer, Run(BACKEND, expected, settings=ROUNDING if rounding else {})


def elementwise(recorded):
    """The sum or product itself, which goes on to a convolution in more than 8 bits."""
    inputs, expected = recorded.tensor("inputs", "int8"), recorded.tensor("expected", "int32")
    if recorded.integer("operands") != len(inputs) or inputs.shape[1:] != expected.shape:
        raise Refusal(f"inputs of shape {list(inputs.shape)} give {list(expected.shape)}")
    operands = [Operand(f"input{i + 1}", np.ascontiguousarray(part), quantization(1)) for i, part in enumerate(inputs)]
    return Layer(ELEMENTWISE[recorded.op], operands, {}), Run(BACKEND, expected)


OPERATIONS = {"conv2d": conv2d, "avg_pool": avg_pool, **dict.fromkeys(ELEMENTWISE, elementwise)}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    layer, run = OPERATIONS[recorded.op](recorded)
    recorded.finish()
    suite.add_layer(recorded, layer, [run], " ".join([recorded.name, recorded.op]))
