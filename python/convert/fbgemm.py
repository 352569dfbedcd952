# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of FBGEMM's references: products of raw codes summed in 16 bits, and the way from an int32 sum to an output."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .recorded import Recorded, Refusal

USUAL_BLOCK = 256  # terms of a block, as the sheet has it


def matmul(recorded):
    a, b, expected = recorded.tensor("a", "uint8"), recorded.tensor("b", "int8"), recorded.tensor("expected", "int32")
    block = recorded.integer("brow")
    if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0] or block < 2 or block % 2:
        raise Refusal(f"factors of shape {list(a.shape)} and {list(b.shape)}, blocks of {block}")
    settings = {} if block == USUAL_BLOCK else {"matmul.u8.accumulator.partial.emptied": str(block)}
    layer = Layer("matmul", [Operand("a", a, quantization(1)), Operand("b", b, quantization(1))], {})
    yield layer, Run("fbgemm", expected, settings=settings)


def centred_sums(recorded, b_zero):
    """acc - A_zp*col[n] - B_zp*row[m] + bias[n]; `b_zero` for every column."""
    sums, row, col, bias = (recorded.tensor(key, "int32").astype(np.int64) for key in ("acc", "row", "col", "bias"))
    if sums.ndim != 2 or row.shape != sums.shape[:1] or col.shape != sums.shape[1:] or bias.shape != col.shape:
        raise Refusal(f"sums of shape {list(sums.shape)}, row {list(row.shape)}, col {list(col.shape)}, bias {list(bias.shape)}")
    centred = sums - recorded.integer("A_zp") * col - row[:, np.newaxis] * b_zero + bias
    if centred.min() < -2 ** 31 or centred.max() >= 2 ** 31:
        raise Refusal("a sum less what the zero points take off leaves int32")
    return centred.astype(np.int32)


def rescaled(recorded, name, sums, multiplier, run):
    attributes = {"activation": "relu"} if recorded.flag("relu") else {}
    operand = Operand(name, np.ascontiguousarray(sums), quantization(multiplier))
    return Layer("requantize", [operand], quantization(1, recorded.integer("C_zp")), attributes), run


def by_integer(recorded, expected):
    multiplier, shift = recorded.integer("multiplier"), recorded.integer("shift")
    if not 0 < multiplier < 2 ** 31 or not 0 < shift < 63:
        raise Refusal(f"params.multiplier {multiplier}, shift {shift}")
    sums = centred_sums(recorded, recorded.integer("B_zp"))
    yield rescaled(recorded, "sums", sums, multiplier * 2.0 ** -shift, Run("fbgemm_integer", expected))


def by_float(recorded, expected):
    """A layer for each group of columns."""
    group, multipliers, b_zero = recorded.integer("group"), recorded.tensor("multiplier", "float32"), recorded.tensor("B_zp", "int32")
    columns = expected.shape[1]
    if group < 1 or multipliers.ndim != 1 or b_zero.shape != multipliers.shape or -(-columns // group) != multipliers.size:
        raise Refusal(f"{multipliers.size} multipliers for {columns} columns in groups of {group}")
    sums = centred_sums(recorded, np.repeat(b_zero.astype(np.int64), group)[:columns])
    for i, multiplier in enumerate(multipliers):
        part = slice(i * group, min(columns, (i + 1) * group))
        run = Run("fbgemm", np.ascontiguousarray(expected[:, part]), f"group{i}")
        yield rescaled(recorded, f"sums{i}", sums[:, part], float(multiplier), run)


def requantize(recorded):
    expected = recorded.tensor("expected", "uint8")
    form = {"float": by_float, "integer": by_integer}[recorded.text("form", ("float", "integer"))]
    return form(recorded, expected)


OPERATIONS = {"matmul": matmul, "requantize": requantize}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    title = " ".join(filter(None, [recorded.name, recorded.op, recorded.free_text("kind")]))
    layers = list(OPERATIONS[recorded.op](recorded))
    recorded.finish()
    for layer, run in layers:
        suite.add_layer(recorded, layer, [run], title)
