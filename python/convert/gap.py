# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of the GAP autotiler's SQ8 kernels. A kernel's multiplier and shift are registers of a layer; one that scales twice is the steps that it is
made of, on int32 of scale 1. Channels are last, as in every model."""

import numpy as np

from .layer import Layer, Operand, Run, Step, quantization
from .recorded import Recorded, Refusal

BACKEND = "gap8"
UNIT = quantization(1)
INT32 = np.iinfo(np.int32)
FUNCTIONS = {"sigmoid": "logistic", "tanh": "tanh"}
ACTIVATIONS = ("none", "relu", "relun", "relum", "relumn", "hsigmoid", "hswish", "leaky_relu", *FUNCTIONS)
AS_IT_IS = (1, 0)


def registers(multipliers, shifts):
    return {"registers": {"multiplier": [int(m) for m in np.atleast_1d(multipliers)], "shift": [int(s) for s in np.atleast_1d(shifts)]}}


def byte(recorded, key):
    value = recorded.integer(key)
    if not 0 <= value < 256:
        raise Refusal(f"params.{key} is {value}, no byte")
    return value


def pair(recorded, stem):
    """Multiplier and shift; a multiplier of 0 leaves the value as it is."""
    multiplier, shift = byte(recorded, f"{stem}_scale"), byte(recorded, f"{stem}_norm")
    return (multiplier, shift) if multiplier else AS_IT_IS


class Steps:
    """Steps on int32 values of one shape, up to the int8 result."""

    def __init__(self, expected):
        self.expected, self.list = expected, []
        self.wide = np.empty(expected.shape, np.int32)

    def add(self, op, operands, pairs, clamp=None, scale=1.0):
        name = f"step{len(self.list) + 1}"
        attributes = registers(*pairs) if pairs else {}
        self.list.append(Step(op, operands, name, self.wide, quantization(scale), {**attributes, **({"clamp": clamp} if clamp else {})}))
        return name

    def scaled(self, value, pairs, clamp=None, scale=1.0):
        return self.add("requantize", [value], pairs, clamp, scale)

    def leaky(self, value, factor):
        """Values below 0 times factor / 2^7, rounded before they meet the others."""
        above = self.scaled(value, AS_IT_IS, [0, INT32.max])
        below = self.scaled(self.scaled(value, AS_IT_IS, [INT32.min, 0]), (factor, 7))
        return self.add("add_n", [above, below], AS_IT_IS)

    def clipped_sum(self, value, constant, bound):
        addend = Operand("constant", np.full(self.wide.shape, constant, np.int32), UNIT, constant=True)
        return self.add("add_n", [value, addend], AS_IT_IS, [0, bound])

    def end(self, op, operands, pairs, zero_point=0):
        if not -128 <= zero_point <= 127:
            raise Refusal(f"the constant {zero_point} behind the activation is beyond int8")
        self.list.append(Step(op, operands, "output", self.expected, quantization(1, zero_point), registers(*pairs)))
        return self.list


def activated(recorded, expected, value, pairs, constants):
    """From the accumulators (or what the shift before left of them) to the result."""
    activation = recorded.text("activation", ACTIVATIONS)
    a0, b0, c0 = constants
    own = pair(recorded, "act")
    steps = Steps(expected)
    prenorm = recorded.integer("prenorm")
    if prenorm:
        value = steps.scaled(value, (1, prenorm))
    if activation == "none":
        return steps.end("requantize", [value], pairs)
    bounds = {"relu": [0, INT32.max], "relun": [0, a0], "relum": [a0, INT32.max], "relumn": [a0, max(a0, b0)]}
    if activation in bounds:
        return steps.end("requantize", [steps.scaled(value, pairs, [int(bound) for bound in bounds[activation]])], own)
    if activation in FUNCTIONS:
        looked_up = steps.add(FUNCTIONS[activation], [steps.scaled(value, pairs, scale=2.0 ** -12)], None, scale=2.0 ** -15)
        return steps.end("requantize", [looked_up], own)
    value = steps.scaled(value, pairs)
    if activation == "leaky_relu":
        return steps.end("requantize", [steps.leaky(value, a0)], own, b0)
    bounded = steps.clipped_sum(value, b0, a0)
    if activation == "hsigmoid":
        return steps.end("requantize", [bounded], own, c0)
    return steps.end("mul", [bounded, value], own, c0)


def requantize(recorded):
    """[features, positions] as [positions, features]."""
    recorded.free_text("kind")
    expected = np.ascontiguousarray(recorded.tensor("expected", "int8").T)
    source = np.ascontiguousarray(recorded.tensor("acc", "int32").T)
    pairs = (recorded.tensor("scale", "uint8"), recorded.tensor("norm", "uint8"))
    constants = [recorded.integer(key) for key in ("a0", "b0", "c0")]
    return activated(recorded, expected, Operand("acc", source, UNIT), pairs, constants), Run(BACKEND, expected)


def add(recorded):
    kind = recorded.text("kind", ("none", "relu", "leaky_relu"))
    expected = recorded.tensor("expected", "int8")
    first, second = (Operand(name, recorded.tensor(name, "int8"), UNIT) for name in ("input1", "input2"))
    steps = Steps(expected)
    operands = [steps.scaled(first, pair(recorded, "in")), steps.scaled(second, AS_IT_IS)]
    out, own, factor = pair(recorded, "out"), pair(recorded, "act"), recorded.integer("a0")
    run = Run(BACKEND, expected)
    if kind == "none":
        return steps.end("add_n", operands, out), run
    if kind == "relu":
        return steps.end("requantize", [steps.add("add_n", operands, out, [0, INT32.max])], own), run
    clipped = steps.add("add_n", operands, out, [-128, 127])
    return steps.end("requantize", [steps.leaky(clipped, factor)], own), run


def as_steps(layer, run):
    return [Step(layer.op, layer.operands, "output", run.expected, layer.quantization, layer.attributes)], run


def fully_connected(recorded):
    recorded.free_text("kind")
    expected = recorded.tensor("expected", "int8").reshape(1, -1)
    operands = [Operand("input", recorded.tensor("input", "int8").reshape(1, -1), UNIT),
                Operand("weights", recorded.tensor("weights", "int8"), UNIT, constant=True),
                Operand("bias", recorded.tensor("bias", "int32"), constant=True)]
    pairs = (recorded.tensor("scale", "uint8"), recorded.tensor("norm", "uint8"))
    return as_steps(Layer("fully_connected", operands, UNIT, registers(*pairs)), Run(BACKEND, expected))


def avg_pool(recorded):
    source, expected = (recorded.tensor(key, "int8")[np.newaxis] for key in ("input", "expected"))
    if source.ndim != 4 or source.shape[3] % 4:
        raise Refusal(f"an image of shape {list(source.shape[1:])}: beyond multiples of four channels the kernel reads others")
    attributes = {"filter": recorded.integers("filter", 2), "stride": recorded.integers("stride", 2), "padding": recorded.integers("pad", 4)}
    return as_steps(Layer("average_pool2d", [Operand("input", source, UNIT)], UNIT, attributes), Run(BACKEND, expected))


def global_average_pool(recorded):
    source = recorded.tensor("input", "int8")
    if source.ndim != 3:
        raise Refusal(f"an image of shape {list(source.shape)}")
    expected = recorded.tensor("expected", "int8").reshape(1, 1, 1, -1)
    source = np.ascontiguousarray(source[np.newaxis].transpose(0, 2, 3, 1))
    pairs = (byte(recorded, "scale"), byte(recorded, "norm"))
    return as_steps(Layer("global_average_pool", [Operand("input", source, UNIT)], UNIT, registers(*pairs)), Run(BACKEND, expected))


OPERATIONS = {"requantize": requantize, "add": add, "fully_connected": fully_connected, "avg_pool": avg_pool,
              "global_average_pool": global_average_pool}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    steps, run = OPERATIONS[recorded.op](recorded)
    recorded.finish()
    suite.add_steps(recorded, steps, [run], " ".join([recorded.name, recorded.op]))
