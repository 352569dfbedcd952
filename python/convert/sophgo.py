# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of TPU-MLIR's host interpreter: the way from a sum to an output by its registers, and how these are made."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .recorded import Recorded, Refusal

BACKENDS = {"multiplier_shift": "sophgo", "tflite": "sophgo_qdm", "qdm": "sophgo_qdm"}
ENCODING = "conv.i8.output.scale."
BELOW = {127: "7", 255: "8"}  # bits of the multipliers below these


def requantize(recorded):
    """Registers as they stand, the scale as they say: a multiplier of QDM has 31 places below the binary point."""
    mode = recorded.text("mode", BACKENDS)
    source, expected = recorded.tensor("acc", "int32", "int64"), recorded.tensor("expected", "int32", "int64")
    narrowed = expected.astype(np.int32)
    if not np.array_equal(narrowed, expected):
        raise Refusal("a result beyond int32")
    multiplier, shift = recorded.integer("multiplier"), recorded.integer("shift")
    places = shift if mode == "multiplier_shift" else 31 - shift
    if not 0 < multiplier < 1 << 31 or not 0 <= places <= 62:
        raise Refusal(f"multiplier {multiplier}, shift {shift}")
    layer = Layer("requantize", [Operand("acc", source, quantization(multiplier * 2.0 ** -places))], quantization(1),
                  {"registers": {"multiplier": [multiplier], "shift": [places]}})
    return layer, Run(BACKENDS[mode], narrowed)


def encoding(recorded):
    """What the rules of the backend `sophgo` are, for the method recorded."""
    if recorded.text("method", ("positive", "qscale")) == "positive":
        bits = recorded.integer("bits")
        if bits not in (8, 32):
            raise Refusal(f"params.bits is {bits}")
        return {} if bits == 32 else {ENCODING + "significant_bits": 7}
    bound = recorded.integer("max_multiplier")
    if bound not in BELOW:
        raise Refusal(f"params.max_multiplier is {bound}")
    return {ENCODING + "normalization": "largest_below", ENCODING + "significant_bits": int(BELOW[bound]), ENCODING + "rounding": "floor",
            ENCODING + "min_exponent": -62}


def encode_multiplier(suite, recorded):
    settings = encoding(recorded)
    scale = recorded.tensor("scale", "float32", "float64")
    results = {"multiplier": recorded.tensor("expected", "int64"), "shift": -recorded.tensor("expected_shift", "int64")}
    recorded.finish()
    suite.add_primitive(recorded, "encode_multiplier", {"real": scale.astype(np.float64)}, [Run("sophgo", results, settings=settings)],
                        " ".join([recorded.name, recorded.op]))


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op == "encode_multiplier":
        encode_multiplier(suite, recorded)
        return
    if recorded.op != "requantize":
        raise Refusal(f"unknown op '{recorded.op}'")
    layer, run = requantize(recorded)
    recorded.finish()
    suite.add_layer(recorded, layer, [run], " ".join([recorded.name, recorded.op]))
