# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of NVDLA's C model: convolutions through SDP's X and C, each of them alone. All that scales is registers; operands per value are registers of
channels of one value each."""

import numpy as np

from .layer import Layer, Operand, Run, Step, quantization
from .recorded import Refusal, Recorded

BACKEND = "nvdla"
UNIT = quantization(1)
INT32 = np.iinfo(np.int32)


def registers(multiplier, shift, offset=None):
    multiplier = [int(m) for m in np.atleast_1d(multiplier)]
    stated = {"multiplier": multiplier, "shift": [shift] * len(multiplier)}
    return stated if offset is None else {**stated, "offset": [int(o) for o in np.broadcast_to(offset, len(multiplier))]}


def int16(recorded, key):
    value = recorded.integer(key)
    if not -(1 << 15) <= value < 1 << 15:
        raise Refusal(f"params.{key} {value} is no int16")
    return value


def places(recorded, key):
    value = recorded.integer(key)
    if not 0 <= value < 64:
        raise Refusal(f"params.{key} {value} is no shift of 0 to 63")
    return value


def operand_of_alu(values, shift):
    """int16 << shift, saturated to 32 bits."""
    return np.clip(values.astype(np.int64) << shift, INT32.min, INT32.max)


def conv2d(suite, recorded, title):
    recorded.free_text("kind")
    source, weights, expected = (recorded.tensor(key, "int8") for key in ("input", "weights", "expected"))
    bias = operand_of_alu(recorded.tensor("bias", "int16"), recorded.integer("bias_shift")).astype(np.int32)
    attributes = {"stride": recorded.integers("stride", 2), "dilation": [1, 1], "padding": recorded.integers("pad", 4),
                  "activation": "relu" if recorded.flag("relu") else "none",
                  "registers": registers(recorded.tensor("multiplier", "int16"), places(recorded, "mul_shift")),
                  "converter": registers(int16(recorded, "out_scale"), places(recorded, "out_truncate"))}
    operands = [Operand("input", source, UNIT), Operand("weights", weights, UNIT, constant=True), Operand("bias", bias, constant=True)]
    recorded.finish()
    suite.add_layer(recorded, Layer("conv2d", operands, UNIT, attributes), [Run(BACKEND, expected)], title)


def sdp_c(suite, recorded, title):
    source = recorded.tensor("input", "int32")
    saturated = recorded.tensor("saturated", "uint8", "int8", "bool", "int32", "int64")
    if recorded.integer("output_bits") not in (8, 16):
        raise Refusal(f"params.output_bits {recorded.integer('output_bits')}")
    expected = recorded.tensor("expected", f"int{recorded.integer('output_bits')}")
    attributes = {"registers": registers(1, 0),
                  "converter": registers(int16(recorded, "scale"), places(recorded, "truncate"), -recorded.integer("offset"))}
    recorded.finish()
    suite.add_layer(recorded, Layer("requantize", [Operand("input", source, UNIT)], UNIT, attributes), [Run(BACKEND, expected)], title,
                    {"saturated_stages": int(np.count_nonzero(saturated))})


def sdp_x(suite, recorded, title):
    source, expected = (recorded.tensor(key, "int32").reshape(1, -1) for key in ("input", "expected"))
    alu = recorded.text("alu", ("sum", "max", "min", "bypass"))
    alu_shift, shift = recorded.integer("alu_shift"), places(recorded, "mul_shift")
    multiplies = recorded.text("mul", ("multiply", "bypass")) == "multiply"
    addend, factor = recorded.tensor("alu_operand", "int16").reshape(1, -1), recorded.tensor("mul_operand", "int16").reshape(-1)
    operand = operand_of_alu(addend, alu_shift)
    factor = factor if multiplies else np.ones(factor.shape, np.int16)
    offset = operand[0] if alu == "sum" else 0
    attributes = {"activation": "relu" if recorded.flag("relu") else "none"}
    if recorded.flag("prelu") and multiplies:
        attributes |= {"registers": registers(np.ones(factor.shape, np.int16), 0, offset), "below_zero": registers(factor, shift)}
    else:
        attributes |= {"registers": registers(factor, shift, offset)}
    recorded.finish()
    value, steps = Operand("input", source, UNIT), []
    if alu in ("max", "min"):
        bound = Operand("operand", operand.astype(np.int32), UNIT, constant=True)
        steps.append(Step({"max": "maximum", "min": "minimum"}[alu], [value, bound], "bounded", source, UNIT))
        value = "bounded"
    steps.append(Step("requantize", [value], "output", expected, UNIT, attributes))
    suite.add_steps(recorded, steps, [Run(BACKEND, expected)], title)


KINDS = {"conv2d": conv2d, "sdp_c": sdp_c, "sdp_x": sdp_x}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in KINDS:
        raise Refusal(f"unknown op '{recorded.op}'")
    KINDS[recorded.op](suite, recorded, " ".join([recorded.name, recorded.op]))
