# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Rules of the TFLite kernels and gemmlowp recorded by themselves, on whole arrays."""

from .layer import Run
from .tflite_common import DOUBLE, SINGLE, runs_of

RESCALED = {"multiplier": ("multiplier", "int32"), "shift": ("shift", "int32")}
ONE = {"a": ("a", "int32")}
PRIMITIVES = {  # recorded op: primitive, {input: (recorded key, type)}, type of the result
    "requantize32": ("rescale_i32", {"accumulator": ("acc", "int32"), **RESCALED}, "int32"),
    "requantize64": ("rescale_i64", {"accumulator": ("acc", "int64"), **RESCALED}, "int32"),
    "SaturatingRoundingDoublingHighMul32": ("doubling_high_multiply_i32", {"a": ("a", "int32"), "b": ("b", "int32")}, "int32"),
    "SaturatingRoundingDoublingHighMul16": ("doubling_high_multiply_i16", {"a": ("a", "int16"), "b": ("b", "int16")}, "int16"),
    "RoundingDivideByPOT32": ("rounding_divide_by_power_of_two", {**ONE, "exponent": ("exponent", "int32")}, "int32"),
    "exp_on_negative_values_Q5_26": ("exp_on_negative_q5_26", ONE, "int32"),
    "logistic_Q4_27": ("logistic_q4_27", ONE, "int32"),
    "tanh_Q4_27": ("tanh_q4_27", ONE, "int32"),
    "QuantizeMultiplier": ("encode_multiplier", {"real": ("real", "float64")}, None),  # the result is a pair
}


def encoded_multipliers(recorded):
    def result(prefix):
        return {"multiplier": recorded.tensor(prefix, "int32"), "shift": recorded.tensor(prefix + "_shift", "int32")}
    return [Run(DOUBLE, result("expected"), "double"), Run(SINGLE, result("expected_single"), "single")]


def convert(suite, recorded, title):
    primitive, keys, result = PRIMITIVES[recorded.op]
    inputs = {name: recorded.tensor(key, dtype) for name, (key, dtype) in keys.items()}
    if result is None:
        runs = encoded_multipliers(recorded)
    else:
        runs = [run._replace(expected={"value": run.expected}) for run in runs_of(recorded, result)]
    recorded.finish()
    suite.add_primitive(recorded, primitive, inputs, runs, title)
