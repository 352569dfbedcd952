# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of the host model that an RK3588 and an RK3576 meet: convolutions, their output converter alone, and how its registers are made."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .recorded import Recorded, Refusal

VENDOR, MESA = "rk3588", "rk3588_mesa"  # they differ where a carry leaves the mantissa


def registers(scale):
    """(MUL, SHIFT) of every backend, from a float32: a leading one and 14 bits of the mantissa, plus one."""
    bits = int(np.float32(scale).view(np.uint32))
    exponent, mantissa = bits >> 23, (bits >> 9) & 0x3FFF
    if not 0 < exponent < 255 or not 0 <= 141 - exponent < 64:
        raise Refusal(f"no registers hold the scale {scale!r}")
    if mantissa < 0x3FFF:
        return dict.fromkeys((VENDOR, MESA), (0x4000 + mantissa + 1, 141 - exponent))
    return {VENDOR: (0x4000, 140 - exponent), MESA: (0x8000 if exponent % 2 else 0x4000, 141 - exponent)}


def signed(multiplier):
    """As the chip reads 16 bits."""
    return multiplier - (1 << 16) if multiplier >= 1 << 15 else multiplier


def float32(key, value):
    if float(np.float32(value)) != value or not value > 0:
        raise Refusal(f"params.{key} {value!r} is no positive float32")
    return value


def batched(array):
    if array.ndim == 3:
        return array[np.newaxis]
    if array.ndim != 4:
        raise Refusal(f"an image of shape {list(array.shape)}")
    return array


def conv2d(recorded):
    source, expected = batched(recorded.tensor("input", "int8")), batched(recorded.tensor("expected", "int8"))
    weights, bias = recorded.tensor("weights", "int8"), recorded.tensor("bias", "int32")
    in_scale, out_scale = (float32(key, recorded.number(key)) for key in ("scale_in", "scale_out"))
    weight_scales = [float32("scale_w", scale) for scale in recorded.numbers("scale_w")]
    if len(weight_scales) != 1:
        raise Refusal("scales per channel: their registers are not established")
    scale = np.float32(in_scale) * np.float32(weight_scales[0]) / np.float32(out_scale)
    stated = (recorded.integer("multiplier"), recorded.integer("shift"))
    backend = next((name for name, made in registers(scale).items() if made == stated), None)
    if backend is None:
        raise Refusal(f"multiplier {stated[0]}, shift {stated[1]} do not follow from the scale {float(scale)!r}")
    operands = [Operand("input", source, quantization(in_scale, recorded.integer("zero_point_in"))),
                Operand("weights", weights, quantization(weight_scales[0]), constant=True), Operand("bias", bias, constant=True)]
    attributes = {"stride": recorded.integers("stride", 2), "dilation": [1, 1], "padding": recorded.integers("pad", 4)}
    return Layer("conv2d", operands, quantization(out_scale, recorded.integer("zero_point_out")), attributes), Run(backend, expected)


def requantize(recorded):
    """The converter with its registers as they stand; the scale says the same."""
    recorded.free_text("kind")
    source, expected = recorded.tensor("acc", "int32"), recorded.tensor("expected", "int8")
    multiplier, shift = recorded.integer("multiplier"), recorded.integer("shift")
    if not 0 < multiplier < 1 << 15 or not 0 <= shift < 64:
        raise Refusal(f"multiplier {multiplier}, shift {shift}")
    layer = Layer("requantize", [Operand("acc", source, quantization(multiplier * 2.0 ** -shift))],
                  quantization(1, recorded.integer("zero_point")), {"registers": {"multiplier": [multiplier], "shift": [shift]}})
    return layer, Run(VENDOR, expected)


def encode_multiplier(suite, recorded):
    """The derivation loses the carry: Mesa's. SHIFT counts from the 14 bits of fraction."""
    recorded.free_text("kind")
    scale, expected = recorded.tensor("scale", "float32"), recorded.tensor("expected", "int32")
    if not np.array_equal(recorded.tensor("multiplier", "int32"), expected):
        raise Refusal("tensors.multiplier are not the numbers of tensors.expected")
    shift = recorded.tensor("expected_shift", "int32")
    results = {"multiplier": np.array([signed(int(m)) for m in expected], dtype=np.int64), "shift": 14 - shift.astype(np.int64)}
    recorded.finish()
    suite.add_primitive(recorded, "encode_multiplier", {"real": scale.astype(np.float64)}, [Run(MESA, results)],
                        " ".join([recorded.name, recorded.op]))


LAYERS = {"conv2d": conv2d, "requantize": requantize}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op == "encode_multiplier":
        encode_multiplier(suite, recorded)
        return
    if recorded.op not in LAYERS:
        raise Refusal(f"unknown op '{recorded.op}'")
    layer, run = LAYERS[recorded.op](recorded)
    recorded.finish()
    suite.add_layer(recorded, layer, [run], " ".join([recorded.name, recorded.op]))
