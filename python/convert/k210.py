# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of nncase's simulator of the K210: CHW without batch, every register stated by the layer. The zero point of the data is the padding's code;
those of the weights and all scales are in the registers."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .max78000 import channels_last
from .recorded import Recorded, Refusal

BACKEND = "k210"
POOLS = {code: (kind, [size] * 2, [stride] * 2) for code, kind, size, stride in (
    (1, "max_pool", 2, 2), (2, "avg_pool", 2, 2), (3, "max_pool", 4, 4), (4, "avg_pool", 4, 4), (8, "avg_pool", 2, 1), (9, "max_pool", 2, 1))}


def columns(recorded, key, names):
    """The columns of a table of int32, each as a list under its name."""
    table = recorded.tensor(key, "int32")
    if table.ndim != 2 or table.shape[1] != len(names):
        raise Refusal(f"tensors.{key} of shape {list(table.shape)}")
    return {name: [int(value) for value in table[:, i]] for i, name in enumerate(names)}


def pair(recorded, which):
    return {"multiplier": recorded.integer(f"arg_{which}"), "shift": recorded.integer(f"shift_{which}")}


def conv2d(suite, recorded, title):
    source, expected = (channels_last(recorded.tensor(key, "uint8")) for key in ("input", "expected"))
    weights = recorded.tensor("weights", "uint8")
    if weights.ndim != 4 or weights.shape[2:] not in ((1, 1), (3, 3)):
        raise Refusal(f"weights of shape {list(weights.shape)}")
    padding = weights.shape[2] // 2
    recorded.flag("negative_slopes")
    depthwise = recorded.flag("depthwise")
    starts = recorded.tensor("segment_start", "int64").reshape(-1)
    segments = {"start": [int(start) for start in starts], **columns(recorded, "segments", ("multiplier", "shift", "add"))}
    attributes = {"stride": [1, 1], "padding": [padding] * 4,
                  "cross_terms": {"data": pair(recorded, "x"), "weights": pair(recorded, "w"), "per_channel": recorded.integer("arg_add")},
                  "registers": columns(recorded, "batchnorm", ("multiplier", "shift", "offset")), "segments": segments}
    operands = [Operand("input", source, quantization(1, recorded.integer("pad_value"))),
                Operand("weights", np.ascontiguousarray(weights.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1))), quantization(1),
                        constant=True)]
    recorded.finish()
    suite.add_layer(recorded, Layer("depthwise_conv2d" if depthwise else "conv2d", operands, quantization(1), attributes),
                    [Run(BACKEND, expected)], title)


def pool2d(suite, recorded, title):
    source, expected = (channels_last(recorded.tensor(key, "uint8")) for key in ("input", "expected"))
    code = recorded.integer("pool_type")
    size, stride = recorded.integers("filter", 2), recorded.integers("stride", 2)
    if POOLS.get(code) != (recorded.op, size, stride):
        raise Refusal(f"params.pool_type {code} is no {recorded.op} of {size}, stride {stride}")
    attributes = {"filter": size, "stride": stride, "padding": "valid"}
    if stride[0] < size[0]:
        attributes["partial_windows"] = "every_start"
    recorded.finish()
    kind = {"max_pool": "max_pool2d", "avg_pool": "average_pool2d"}[recorded.op]
    suite.add_layer(recorded, Layer(kind, [Operand("input", source, quantization(1))], quantization(1), attributes), [Run(BACKEND, expected)],
                    title)


def carry_shift(suite, recorded, title):
    value, expected, shift = recorded.tensor("value", "int64"), recorded.tensor("expected", "int64"), recorded.integer("shift")
    recorded.finish()
    suite.add_primitive(recorded, "segment_shift", {"value": value, "shift": np.full(value.shape, shift, dtype=np.int32)},
                        [Run(BACKEND, {"value": expected})], title)


KINDS = {"kpu_conv2d": conv2d, "max_pool": pool2d, "avg_pool": pool2d, "carry_shift": carry_shift}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in KINDS:
        raise Refusal(f"unknown op '{recorded.op}'")
    KINDS[recorded.op](suite, recorded, " ".join([recorded.name, recorded.op]))
