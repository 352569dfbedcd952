#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Cases for the BPU's documented model, from its formulas alone: Python's unlimited integers, no code of lastbit.

    bernoulli2_oracle.py FOLDER        writes FOLDER/cases.json

No vendor kernel was run: the values say what the formulas of docs/backends/bernoulli2.md give.
"""

import itertools
import json
import math
import random
import struct
import sys
from pathlib import Path

RANDOM = random.Random(20)
SOURCE = "formula oracle, not vendor: python/bernoulli2_oracle.py"


def clip(value, least, most):
    return max(least, min(most, value))


def wrap(value, bits):
    return (value + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)


def rescaled(value, ratio, half, *, data_bits=32, output_bits=8, low=-128, high=127):
    """`half`: whether the second shift rounds half up; the first never does."""
    mantissa, exponent = math.frexp(ratio)
    factor = clip(math.floor(mantissa * 2**15 + 0.5), -32768, 32767)
    shift = 15 - exponent
    before = 0 if data_bits <= 16 else clip(shift - (30 - output_bits), 0, 31)
    after = clip(shift - before, 0, 31)
    product = clip(value >> before, -(2**15), 2**15 - 1) * factor
    bias = 1 << after - 1 if half and after > 0 else 0
    return clip(product + bias >> after, low, high)


def float32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def half_away(value):
    return math.floor(abs(value) + 0.5) * (1 if value >= 0 else -1)


class Case:
    """A model of one operation that is put together tensor by tensor."""

    def __init__(self, name, op, attributes=None, settings=None):
        self.name, self.op, self.settings = name, op, settings
        self.attributes = attributes or {}
        self.tensors, self.inputs, self.run, self.expected = [], [], {}, {}

    def tensor(self, name, kind, shape, scale):
        tensor = {"name": name, "type": kind, "shape": shape}
        if scale is not None:
            tensor["quantization"] = {"scale": scale if isinstance(scale, list) else [scale]}
        self.tensors.append(tensor)
        return tensor

    def input(self, name, values, shape, scale, kind="int8"):
        self.tensor(name, kind, shape, scale)
        self.inputs.append(name)
        self.run[name] = {"type": kind, "shape": shape, "data": values}

    def constant(self, name, values, shape, scale, kind="int8", axis=0):
        tensor = self.tensor(name, kind, shape, scale)
        tensor["data"] = values
        if scale is not None and isinstance(scale, list) and len(scale) > 1:
            tensor["quantization"]["axis"] = axis
        self.inputs.append(name)

    def output(self, values, shape, scale, kind="int8"):
        self.tensor("out", kind, shape, scale)
        self.expected["out"] = {"type": kind, "shape": shape, "data": values}

    def to_json(self):
        model = {
            "format": "lastbit.model.v1", "name": self.name, "tensors": self.tensors,
            "operations": [{"op": self.op, "name": self.op, "inputs": self.inputs, "outputs": ["out"], "attributes": self.attributes}],
            "inputs": list(self.run), "outputs": ["out"],
        }  # fmt: skip
        case = {"name": self.name, "backend": "bernoulli2", "model": model, "inputs": self.run, "expected": self.expected}
        if self.settings:
            case["settings"] = self.settings
        return case


def codes(count, least=-128, most=127):
    return [RANDOM.choice([least, most, RANDOM.randint(least, most), RANDOM.randint(least, most)]) for _ in range(count)]


# Effective scales that separate rules: a tie of the 15-bit multiplier; one that rounds up to 2^15; one that float32 makes a tie; an ordinary
# one; one whose shift is split by 4; one above 1; ties of the result.
TIE = (2**15 + 1) * 2**-23
SPLIT = 1.3 * 2**-12
SCALES = [TIE, (1 - 2**-17) * 2**-7, TIE * (1 - 2**-30), 0.0031, SPLIT, 1.7, 0.5]


def first_reaching(goal, ratio, half):
    """The smallest value that is rescaled to `goal` or more."""
    low, high = -(2**30), 2**30
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if rescaled(middle, ratio, half) >= goal else (middle + 1, high)
    return low


def telling(ratio, half, goals=(1, 5, 126, 127, 0, -4, -7, -126)):
    """Values at which the result changes, and what the shift before the multiplier makes of their neighbours."""
    block = 2 ** max(15 - math.frexp(ratio)[1] - 22, 0)
    values = set()
    for goal in goals:
        at = first_reaching(goal, ratio, half)
        values.update(at + d for d in (-block, -block // 2 - 1, -block // 2, -block // 2 + 1, -1, 0, 1, block // 2, block))
    return sorted(values) + [2**19, -(2**19)]


def pixelwise(op):
    """Every input code through weights of 1; each channel's bias puts the sums where its scale tells rules apart."""
    goals = [5, -7]
    pairs = [(scale, goal) for scale in SCALES for goal in goals]
    pairs += [(SPLIT, goal) for goal in (9, -14)]
    bias = [first_reaching(goal, scale, False) for scale, goal in pairs] + [2**20, -(2**20)]
    scales = [scale for scale, _ in pairs] + [SPLIT, SPLIT]
    outputs = len(bias)
    channels = outputs if op == "depthwise_conv2d" else 1
    image = [code for code in range(-128, 128) for _ in range(channels)]
    case = Case(f"{op}, every code near where its scale tells rules apart", op, {"padding": "valid"})
    case.input("in", image, [1, 16, 16, channels], 1.0)
    depthwise = op == "depthwise_conv2d"
    case.constant("weights", [1] * outputs, [1, 1, 1, outputs] if depthwise else [outputs, 1, 1, 1], scales, axis=3 if depthwise else 0)
    case.constant("bias", bias, [outputs], None, "int32")
    result = [rescaled(code + bias[o], scales[o], False) for code in range(-128, 128) for o in range(outputs)]
    case.output(result, [1, 16, 16, outputs], 1.0)
    return case


def convolution(name, op, size, channels, outputs, kernel, *, stride=1, pad=0, relu=False, bias=None, scales=None, raw=False,
                settings=None, stored=None):  # fmt: skip
    """Plain nested loops over NHWC; `bias` by output channel; `stored` is what the device keeps of it."""
    depthwise = op == "depthwise_conv2d"
    scales = scales or [RANDOM.uniform(0.001, 0.02) for _ in range(outputs)]
    image = codes(size * size * channels)
    per_tap = 1 if depthwise else channels
    weights = [[[[RANDOM.randint(-127, 127) for _ in range(per_tap)] for _ in range(kernel)] for _ in range(kernel)] for _ in range(outputs)]
    if op == "transposed_conv2d":
        out_size = (size - 1) * stride + kernel
    else:
        out_size = (size + 2 * pad - kernel) // stride + 1
    sums = {}
    for y, x, c in itertools.product(range(size), range(size), range(channels)):
        value = image[(y * size + x) * channels + c]
        for o, ky, kx in itertools.product(range(outputs), range(kernel), range(kernel)):
            if depthwise and o * channels // outputs != c:
                continue
            weight = weights[o][ky][kx][0 if depthwise else c]
            if op == "transposed_conv2d":
                at = (y * stride + ky, x * stride + kx)
            else:
                at = ((y + pad - ky) / stride, (x + pad - kx) / stride)
            if all(0 <= where < out_size and where == int(where) for where in at):
                sums[int(at[0]), int(at[1]), o] = sums.get((int(at[0]), int(at[1]), o), 0) + value * weight
    stored = stored or bias or [0] * outputs
    result = []
    for y, x, o in itertools.product(range(out_size), range(out_size), range(outputs)):
        total = wrap(sums.get((y, x, o), 0) + stored[o], 32)
        result.append(total if raw else rescaled(total, scales[o], False, low=0 if relu else -128))
    attributes = {"stride": [stride, stride], "activation": "relu" if relu else "none"}
    attributes["padding"] = [pad, pad, pad, pad] if pad else "valid"
    case = Case(name, op, attributes, settings)
    case.input("in", image, [1, size, size, channels], 1.0)
    if depthwise:
        flat = [weights[o][ky][kx][0] for ky, kx, o in itertools.product(range(kernel), range(kernel), range(outputs))]
        case.constant("weights", flat, [1, kernel, kernel, outputs], scales, axis=3)
    else:
        flat = [w for filters in weights for row in filters for tap in row for w in tap]
        case.constant("weights", flat, [outputs, kernel, kernel, channels], scales)
    if bias:
        case.constant("bias", bias, [outputs], None, "int32")
    if raw:
        case.output(result, [1, out_size, out_size, outputs], None, "int32")
    else:
        case.output(result, [1, out_size, out_size, outputs], 1.0)
    return case


def convolutions():
    big = 2**31 - 1
    yield convolution("conv2d, a scale per channel", "conv2d", 5, 3, 8, 3, pad=1, bias=[RANDOM.randint(-9999, 9999) for _ in range(8)])
    yield convolution("conv2d, rectified", "conv2d", 5, 4, 4, 3, stride=2, relu=True)
    yield pixelwise("conv2d")
    yield convolution("conv2d, sums that leave 32 bits", "conv2d", 4, 2, 4, 2, bias=[big, -big, big - 9999, 9999 - big], scales=[3e-8] * 4)
    yield convolution("conv2d, beyond 16 bits before the multiplier", "conv2d", 4, 8, 4, 3, bias=[big // 3, -big // 5, 2**29, -(2**28)])
    yield convolution("conv2d, accumulators", "conv2d", 4, 2, 3, 2, bias=[2**30 + 1, -(2**30) - 1, 7], raw=True)
    wide = [70001, -70001, 32767]
    yield convolution("conv2d, a bias of 16 bits", "conv2d", 4, 2, 3, 2, bias=wide, raw=True, settings={"conv.i8.bias_bits": "16"},
                      stored=[70001 // 4 * 4, -((70001 + 3) // 4) * 4, 32767])  # fmt: skip
    for op in ("depthwise_conv2d", "transposed_conv2d"):
        channels = 4 if op == "depthwise_conv2d" else 3
        yield convolution(f"{op}, a scale per channel", op, 5, channels, 4, 3, bias=[100, -200, 300, -400], relu=True)
        yield convolution(f"{op}, sums that leave 32 bits", op, 3, 4, 4, 2, stride=1, bias=[big, -big, big - 999, 999 - big], scales=[3e-8] * 4)
        yield convolution(f"{op}, beyond 16 bits", op, 3, 4, 4, 2, bias=[big // 3, -big // 5, 2**29, -(2**28)])
        yield pixelwise(op)
        yield convolution(f"{op}, accumulators", op, 3, 4, 4, 2, bias=[2**30 + 1, -(2**30) - 1, 7, 9], raw=True)


def products(name, op, rows, terms, columns, ratios, *, bias=None, raw=False):
    left = codes(rows * terms)
    right = [RANDOM.randint(-127, 127) for _ in range(terms * columns)]
    result = []
    for r, c in itertools.product(range(rows), range(columns)):
        total = sum(left[r * terms + t] * right[c * terms + t] for t in range(terms)) + (bias[c] if bias else 0)
        total = wrap(total, 32)
        result.append(total if raw else rescaled(total, ratios[c if len(ratios) > 1 else 0], op == "matmul"))
    attributes = {"transpose_b": True} if op == "matmul" else {}
    case = Case(name, op, attributes)
    case.input("in", left, [rows, terms], 1.0)
    if op == "matmul":
        case.input("b", right, [columns, terms], ratios[0])
    else:
        case.constant("weights", right, [columns, terms], ratios)
    if bias:
        case.constant("bias", bias, [columns], None, "int32")
    case.output(result, [rows, columns], None if raw else 1.0, "int32" if raw else "int8")
    return case


def sums_of_products(op, scale):
    """Rows whose sums are the telling values: 127 times codes, and the rest."""
    half = op == "matmul"
    targets = [t for t in telling(scale, half) if abs(t) < 127 * 127 * 6]
    rows = []
    for target in targets:
        count, rest = divmod(abs(target), 127)
        parts = [clip(count - 127 * i, 0, 127) for i in range(6)] + [rest]
        rows += [part if target >= 0 else -part for part in parts]
    case = Case(f"{op}, telling sums, scale {scale}", op, {"transpose_b": True} if half else {})
    case.input("in", rows, [len(targets), 7], 1.0)
    if half:
        case.input("b", [127] * 6 + [1], [1, 7], scale)
    else:
        case.constant("weights", [127] * 6 + [1], [1, 7], scale)
    case.output([rescaled(target, scale, half) for target in targets], [len(targets), 1], 1.0)
    return case


def layers():
    big = 2**31 - 1
    bias = [big, -big, big // 3, -big // 3, 2**29, -(2**28), 2**20 + 1, -3]
    yield products("fully_connected, a scale per row", "fully_connected", 4, 40, 8, [RANDOM.uniform(0.0005, 0.01) for _ in range(8)])
    yield products("fully_connected, beyond 32 and 16 bits", "fully_connected", 6, 4, 8, [3e-8] * 4 + [1e-3] * 4, bias=bias)
    yield products("fully_connected, accumulators", "fully_connected", 6, 4, 8, [1.0], bias=[2**30 + 1] * 4 + [-(2**30) - 1] * 4, raw=True)
    for scale in SCALES:
        yield sums_of_products("fully_connected", scale)
        yield sums_of_products("matmul", scale)
    yield products("matmul, longer sums", "matmul", 5, 64, 5, [0.0007])
    yield products("matmul, beyond 16 bits", "matmul", 5, 16, 5, [0.4])


def telling_sums(op, scale):
    """One window, row or image per telling value."""
    taps = {"average_pool2d": 49, "global_average_pool": 64, "mean": 60}[op]
    targets = [t for t in telling(scale, True, (1, 5, 126, 0, -4)) if abs(t) < 128 * taps]
    values = [[clip(abs(t) - 127 * i, 0, 127) * (1 if t >= 0 else -1) for i in range(taps)] for t in targets]
    shapes = {"average_pool2d": [1, 7, 7, len(targets)], "global_average_pool": [1, 8, 8, len(targets)], "mean": [len(targets), taps]}
    attributes = {"average_pool2d": {"filter": [7, 7]}, "global_average_pool": {}, "mean": {"axes": [1]}}
    case = Case(f"{op}, telling sums, scale {scale}", op, attributes[op])
    data = [v for row in values for v in row] if op == "mean" else [values[c][i] for i in range(taps) for c in range(len(targets))]
    scale_in = scale * taps
    case.input("in", data, shapes[op], scale_in)
    result = [rescaled(t, scale_in / (1.0 * taps), True) for t in targets]
    case.output(result, [len(targets)] if op == "mean" else [1, 1, 1, len(targets)], 1.0)
    return case


def average(name, size, kernel, stride, pad, scale_in, scale_out, *, of_input=False, reciprocal=None):
    channels = 2
    image = codes(size * size * channels)
    out_size = (size + 2 * pad - kernel) // stride + 1
    whole = kernel == size and pad == 0
    result = []
    for y, x, c in itertools.product(range(out_size), range(out_size), range(channels)):
        taps = itertools.product(range(y * stride - pad, y * stride - pad + kernel), range(x * stride - pad, x * stride - pad + kernel))
        total = sum(image[(ty * size + tx) * channels + c] for ty, tx in taps if 0 <= ty < size and 0 <= tx < size)
        if reciprocal is None:
            result.append(rescaled(total, scale_in / (scale_out * kernel * kernel), True))
        else:
            factor = max(1, math.floor(2 ** (9 + reciprocal) / kernel**2 + 0.5))
            result.append(clip((total >> reciprocal) * factor >> 9, -128, 127))
    op = "global_average_pool" if whole else "average_pool2d"
    rule = "global_average_pool" if whole else "average_pool"
    attributes = {} if whole else {"filter": [kernel, kernel], "stride": [stride, stride], "padding": [pad, pad, pad, pad]}
    settings = {f"{rule}.output_scale": "of_input"} if of_input else None
    if reciprocal is not None:
        settings = {rule: "fixed_reciprocal_4" if reciprocal else "fixed_reciprocal"}
    case = Case(name, op, attributes, settings)
    case.input("in", image, [1, size, size, channels], scale_in)
    case.output(result, [1, out_size, out_size, channels], scale_out)
    return case


def pools():
    yield average("average_pool2d, its own scale", 8, 3, 2, 1, 0.05, 0.021)
    yield average("average_pool2d, the input's scale", 8, 2, 1, 0, 0.05, 0.05, of_input=True)
    yield average("average_pool2d, sum * k >> 9", 8, 3, 1, 1, 0.05, 0.05, reciprocal=0)
    yield average("global_average_pool, its own scale", 9, 9, 1, 0, 0.05, 0.004)
    yield average("global_average_pool, the input's scale", 9, 9, 1, 0, 0.05, 0.05, of_input=True)
    yield average("global_average_pool, (sum >> 4) * k >> 9", 9, 9, 1, 0, 0.05, 0.05, reciprocal=4)
    for op in ("average_pool2d", "global_average_pool", "mean"):
        for scale in SCALES:
            yield telling_sums(op, scale)
    yield average("average_pool2d, beyond 16 bits", 7, 6, 1, 0, 1.0, 2**-14)
    yield average("global_average_pool, beyond 16 bits", 24, 24, 1, 0, 1.0, 2**-12)
    image = codes(2 * 400, 100)
    case = Case("mean, beyond 16 bits", "mean", {"axes": [1]})
    case.input("in", image, [2, 400], 1.0)
    case.output([rescaled(sum(image[400 * r : 400 * r + 400]), 2**12 / 400, True) for r in range(2)], [2], 2**-12)
    yield case


def common_scale(scale_a, scale_b):
    """(factor of a, factor of b, scale of the sum)"""
    small, large = min(scale_a, scale_b), max(scale_a, scale_b)
    unit = max(small / 127, large / 2**25)
    small_factor = clip(math.floor(small / unit + 0.5), -128, 127)
    whole = math.floor(large / unit + 0.5)
    mantissa, exponent = math.frexp(whole)
    large_factor = min(int(mantissa * 2 ** min(15, exponent)), 32767) << max(0, exponent - 15)
    return (small_factor, large_factor, unit) if scale_a <= scale_b else (large_factor, small_factor, unit)


def pairwise(name, op, scale_a, scale_b, scale_out, combine, ratio):
    """Pairs whose combined value lies next to a telling one, and random ones."""
    wanted = set(telling(ratio, True))
    pairs = [(x, y) for x in range(-128, 128) for y in range(-128, 128) if combine(x, y) in wanted]
    pairs = RANDOM.sample(pairs, min(len(pairs), 60)) + [(x, y) for x, y in zip(codes(36), codes(36))]
    case = Case(name, op)
    case.input("a", [x for x, _ in pairs], [len(pairs)], scale_a)
    case.input("b", [y for _, y in pairs], [len(pairs)], scale_b)
    case.output([rescaled(wrap(combine(x, y), 32), ratio, True) for x, y in pairs], [len(pairs)], scale_out)
    return case


def sum_of(name, op, scale_a, scale_b, scale_out):
    factor_a, factor_b, unit = common_scale(scale_a, scale_b)
    sign = 1 if op == "add" else -1
    return pairwise(name, op, scale_a, scale_b, scale_out, lambda x, y: x * factor_a + sign * y * factor_b, unit / scale_out)


def sums():
    for op in ("add", "sub"):
        for scale_a, scale_b, scale_out in [(0.05, 0.07, 0.1), (0.3, 0.002, 0.31), (0.05, 0.05, 0.05), (1.0, 1e-5, 1.3), (2.0, 0.9, 0.06)]:
            yield sum_of(f"{op} {scale_a} {scale_b} {scale_out}", op, scale_a, scale_b, scale_out)
        yield sum_of(f"{op}, a sum that leaves 32 bits", op, 1.0, 2**-20, 4.0)
        yield sum_of(f"{op}, beyond 16 bits", op, 1.0, 1.5, 2**-9)
        yield sum_of(f"{op}, a factor cut to 15 bits", op, 1.0, 0.0008, 0.7)
        for i, ratio in enumerate(SCALES):
            # The sum's unit is 1, the factors 127 and 200.
            yield sum_of(f"{op}, scale {i}", op, 127.0, 200.0, 1 / ratio)


def elementwise():
    for i, scale in enumerate([*SCALES, 1.3 * 2**-11, 40.0]):
        yield pairwise(f"mul, scale {i}", "mul", 1.0, scale, 1.0, lambda x, y: x * y, scale)
    for i, scale in enumerate([*SCALES, 1.0, 2.0**16, (1 - 2**-15) * 2**-16]):
        for kind, bits in (("int8", 8), ("int16", 16), ("int32", 32)):
            top = 2 ** (bits - 1)
            values = [v for v in telling(scale, True) if -top <= v < top] + codes(20, -top, top - 1) + [1, top - 1, -top]
            for out_kind, out_bits in (("int8", 8), ("int16", 16)):
                if out_bits == 16 and bits != 32:
                    continue
                limit = 2 ** (out_bits - 1)
                case = Case(f"requantize {kind} to {out_kind}, scale {i}", "requantize")
                case.input("in", values, [len(values)], scale, kind)
                result = [rescaled(v, scale, True, data_bits=bits, output_bits=out_bits, low=-limit, high=limit - 1) for v in values]
                case.output(result, [len(values)], 1.0, out_kind)
                yield case
    parts = [codes(12), codes(12), codes(12)]
    scales = [0.03, 0.011, 0.02]
    case = Case("concat, each input rescaled", "concat", {"axis": 1})
    for i, part in enumerate(parts):
        case.input(f"in{i}", part, [4, 3], scales[i])
    rows = [[rescaled(v, scale / 0.02, True, data_bits=8) for v in part[3 * r : 3 * r + 3]] for r in range(4) for part, scale in zip(parts, scales)]
    case.output([v for row in rows for v in row], [4, 9], 0.02)
    yield case


def table(op, function, scale_in, scale_out, attributes=None):
    """One entry per code. Entries so near a tie that the precision of the function would decide are refused, not guessed."""
    case = Case(op, op, attributes)
    inputs = list(range(-128, 128))
    outputs = []
    for x in inputs:
        value = function(scale_in * x) / scale_out
        near_tie = abs(value - math.floor(value) - 0.5) < 1e-5 and abs(value) < 200
        assert not near_tie or op == "leaky_relu", (op, x)
        outputs.append(clip(half_away(value), -128, 127))
    case.input("in", inputs, [256], scale_in)
    case.output(outputs, [256], scale_out)
    return case


def tables():
    yield table("exp", math.exp, 5 / 128, 1.25)
    yield table("logistic", lambda x: 1 / (1 + math.exp(-x)), 1 / 16, 1 / 128)
    yield table("tanh", math.tanh, 3 / 128, 1 / 128)
    yield table("hard_swish", lambda x: x * clip(x + 3, 0, 6) / 6, 0.0437, 0.0444)
    yield table("leaky_relu", lambda x: x if x >= 0 else 0.5 * x, 0.5, 0.5, {"alpha": 0.5})  # every odd negative code is a tie
    real = [i / 8 for i in range(-64, 64)] + [1e9, -1e9, 0.3, -0.3, 63.75, -64.25]
    case = Case("quantize", "quantize")
    case.input("in", real, [len(real)], None, "float32")
    case.output([clip(half_away(value / 0.25), -128, 127) for value in real], [len(real)], 0.25)
    yield case
    # Quotients that float32 rounds to a tie and double does not.
    scale = float32(0.1)
    real = [float32((k + 0.5) * scale) for k in range(-120, 120)]
    case = Case("quantize, near ties", "quantize")
    case.input("in", real, [len(real)], None, "float32")
    case.output([clip(half_away(value / scale), -128, 127) for value in real], [len(real)], scale)
    yield case


def coordinate(index, inside, outside, how):
    if how == "align_corners":
        return index * (inside - 1) / (outside - 1) if outside > 1 else 0.0
    if how == "asymmetric":
        return index * inside / outside
    return (index + 0.5) * inside / outside - 0.5


def resize(mode, how, height, width, out_height, out_width, grid="start_and_step"):
    image = codes(height * width)

    def taps(inside, outside):
        start, step = coordinate(0, inside, outside, how), coordinate(1, inside, outside, how) - coordinate(0, inside, outside, how)
        for i in range(outside):
            if grid == "coordinate":
                at = math.floor(coordinate(i, inside, outside, how) * 256)
            else:
                at = math.floor(start * 256) + i * math.floor(step * 256)
            at = clip(at, 0, (inside - 1) * 256)
            yield at // 256, min(at // 256 + 1, inside - 1), at % 256

    result = []
    if mode == "nearest":
        for y, x in itertools.product(range(out_height), range(out_width)):
            nearest = [
                clip(math.ceil(coordinate(i, inside, outside, how) - 0.5), 0, inside - 1)
                for i, inside, outside in ((y, height, out_height), (x, width, out_width))
            ]
            result.append(image[nearest[0] * width + nearest[1]])
    else:
        for (y0, y1, wy), (x0, x1, wx) in itertools.product(taps(height, out_height), taps(width, out_width)):
            total = image[y0 * width + x0] * (256 - wy) * (256 - wx) + image[y0 * width + x1] * (256 - wy) * wx
            total += image[y1 * width + x0] * wy * (256 - wx) + image[y1 * width + x1] * wy * wx
            result.append(total + 2**15 >> 16)
    settings = {"resize.grid": "coordinate"} if grid == "coordinate" else None
    case = Case(f"resize {mode} {how} {height}x{width} to {out_height}x{out_width} {grid}", "resize", {"mode": mode, "coordinates": how}, settings)
    case.input("in", image, [1, height, width, 1], 0.1)
    case.output(result, [1, out_height, out_width, 1], 0.1)
    return case


def resizes():
    for how in ("half_pixel", "asymmetric", "align_corners"):
        yield resize("bilinear", how, 5, 4, 11, 8)
        yield resize("bilinear", how, 7, 9, 3, 5, "coordinate")
        yield resize("nearest", how, 5, 4, 11, 8)
    yield resize("bilinear", "half_pixel", 16, 16, 32, 32)


def main():
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    kinds = (convolutions, layers, pools, sums, elementwise, tables, resizes)
    cases = [case.to_json() for kind in kinds for case in kind()]
    suite = {"format": "lastbit.cases.v1", "suite": "bernoulli2/formulas", "source": SOURCE}
    suite["notes"] = "Derived from the documented formulas; nothing was run on the device or on vendor code."
    head = json.dumps(suite, indent=1)[:-2] + ',\n "cases": [\n'
    body = ",\n".join(json.dumps(case, separators=(",", ":")) for case in cases)
    (folder / "cases.json").write_text(head + body + "\n]}\n")


if __name__ == "__main__":
    main()
