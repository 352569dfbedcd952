# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of the TOSA reference model: apply_scale with a multiplier and a shift for each value, and average pools."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .padding import check_sizes
from .recorded import Recorded, Refusal

BACKENDS = {"single": "tosa_single", "double": "tosa_double"}
SHIFTS = (2, 62)


def scaling(recorded, multiplier_bits):
    """What a primitive is given: a multiplier of 31 bits, and the exponent of its power of two."""
    value, multiplier, shift = (recorded.tensor(key, kind) for key, kind in (("value", "int64"), ("multiplier", "int32"), ("shift", "int32")))
    if np.any(multiplier < 0) or np.any(multiplier >> multiplier_bits):
        raise Refusal(f"multipliers beyond {multiplier_bits} bits")
    if np.any(shift < SHIFTS[0]) or np.any(shift > SHIFTS[1]):
        raise Refusal(f"shifts that are not from {SHIFTS[0]} to {SHIFTS[1]}")
    return {"accumulator": value, "multiplier": multiplier << (31 - multiplier_bits), "shift": multiplier_bits - shift}


def apply_scale_32(recorded):
    rounding = recorded.text("rounding", BACKENDS)
    inputs = scaling(recorded, 31)
    limits = np.iinfo(np.int32)
    if np.any(inputs["accumulator"] < limits.min) or np.any(inputs["accumulator"] > limits.max):
        raise Refusal("values beyond int32")
    return "rescale_i32", {**inputs, "accumulator": inputs["accumulator"].astype(np.int32)}, [Run(BACKENDS[rounding], None, rounding)]


def apply_scale_16(recorded):
    """Of values of 48 bits both backends have one rounding."""
    recorded.text("rounding", ("16",))
    inputs = scaling(recorded, 15)
    if np.any(inputs["accumulator"] >> 47 != inputs["accumulator"] >> 63):
        raise Refusal("values beyond 48 bits")
    return "rescale_i64", inputs, [Run(backend, None, label) for label, backend in BACKENDS.items()]


def avg_pool(recorded):
    source, expected = recorded.tensor("input", "int8"), recorded.tensor("expected", "int8")
    if source.ndim != 4 or expected.ndim != 4:
        raise Refusal(f"an image of shape {list(source.shape)} gives {list(expected.shape)}")
    size, stride, padding = recorded.integers("filter", 2), recorded.integers("stride", 2), recorded.integers("pad", 4)
    check_sizes(padding, source.shape[1:3], expected.shape[1:3], size, stride, (1, 1))
    operand = Operand("input", source, quantization(1, recorded.integer("input_zp")))
    attributes = {"filter": size, "stride": stride, "padding": padding}
    return Layer("average_pool2d", [operand], quantization(1, recorded.integer("output_zp")), attributes), expected


PRIMITIVES = {"apply_scale_32": apply_scale_32, "apply_scale_16": apply_scale_16}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    title = " ".join([recorded.name, recorded.op])
    if recorded.op in PRIMITIVES:
        primitive, inputs, runs = PRIMITIVES[recorded.op](recorded)
        expected = {"value": recorded.tensor("expected", "int32")}
        recorded.finish()
        suite.add_primitive(recorded, primitive, inputs, [run._replace(expected=expected) for run in runs], title)
    elif recorded.op == "avg_pool":
        layer, expected = avg_pool(recorded)
        recorded.finish()
        suite.add_layer(recorded, layer, [Run(backend, expected, label) for label, backend in BACKENDS.items()], title)
    else:
        raise Refusal(f"unknown op '{recorded.op}'")
