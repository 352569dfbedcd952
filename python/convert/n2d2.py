# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of N2D2: the kernels of its C++ export, and its simulator's scaling. Shifts and multipliers are recorded; they are written as the
scale of the weights (of the input where there are none), which is exact, all other scales being 1. A recorded bias is the kernel's: of
single shifts it holds the half that the exporter adds, or nothing in its place; the written bias is without it. A scaling alone is written
as the element-wise sum of one input, whose scaling it is."""

import math

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .padding import after, spans
from .recorded import INTEGERS, Recorded, Refusal

UNIT = quantization(1)
ACTIVATIONS = {"Linear": {}, "Saturation": {}, "Rectifier": {"activation": "relu"}}
MODES = ("none", "single_shift", "double_shift", "fixed_mult", "float_mult")
SCALE_KEYS = {"none": set(), "single_shift": {"shift"}, "double_shift": {"shift"}, "fixed_mult": {"multiplier", "fractional_bits"},
              "float_mult": {"scale"}}
SCALINGS = ("scaling", "activation_scaling_simulator")
SELECTED_VALUES = 240  # of a scaling alone, in a selection
FIXED_LIMITS = {16: (1 << 15) - 1, 32: (1 << 31) - 1}


class Scaling:
    """`scales`: one, or one per channel. `way`: the part of the backend's name."""

    def __init__(self, parameters):
        self.mode = parameters.get("mode")
        if self.mode not in MODES:
            raise Refusal(f"scaling mode {self.mode!r}")
        keys = set(parameters) - {"mode", "clip"}
        if keys != SCALE_KEYS[self.mode]:
            raise Refusal(f"scaling {self.mode} with {sorted(keys)}")
        self.way = "single_shift" if self.mode == "none" else self.mode
        self.scales = getattr(self, "_" + self.mode)(parameters)
        self.clip = parameters.get("clip")

    def _none(self, _):
        return [1.0]

    def _single_shift(self, parameters):
        self.shifts = parameters["shift"]
        return [math.ldexp(1, -shift) for shift in self.shifts]

    def _double_shift(self, parameters):
        return [math.ldexp((1 << first) + 1, -second) for first, second in parameters["shift"]]

    def _fixed_mult(self, parameters):
        multipliers, places = parameters["multiplier"], parameters["fractional_bits"]
        bits = next((bits for bits, limit in FIXED_LIMITS.items() if max(multipliers) <= limit), None)
        if bits is None or min(multipliers) < 1 or not 0 <= places <= 50:
            raise Refusal(f"multipliers {multipliers} with {places} fractional bits")
        self.way += str(bits)
        return [math.ldexp(multiplier, -places) for multiplier in multipliers]

    def _float_mult(self, parameters):
        return [float(scale) for scale in parameters["scale"]]

    def quantization(self, axis):
        return quantization(self.scales, axis=axis)

    def settings(self):
        """A scale above 1, which the export never gives to shifts, taken by the recorded shifts all the same."""
        return {"add_n.above_one.output.chain.size": 0} if "shift" in self.way and max(self.scales) > 1 else {}

    def attributes(self):
        return {"accumulator_clip": self.clip} if self.clip else {}

    def without_half(self, bias):
        """The bias of the model: modulo its width, as the kernel's sum is."""
        if self.mode != "single_shift":
            return bias
        halves = np.array([(1 << shift) >> 1 for shift in self.shifts], dtype=np.uint64).astype(bias.dtype)
        with np.errstate(over="ignore"):
            return bias - halves


def flag(recorded, key):
    recorded.unread.discard(f"params.{key}")
    if not isinstance(recorded.params.get(key), bool):
        raise Refusal(f"params.{key} is {recorded.params.get(key)!r}")
    return recorded.params[key]


def scaling_of(recorded):
    return Scaling(recorded.param("scaling", dict))


def bounds(bits, dtype):
    """Results of less than a byte lie in bytes."""
    info = np.iinfo(dtype)
    if bits in (8, 16):
        if info.bits != bits:
            raise Refusal(f"{bits} bits in {dtype}")
        return {}
    if bits != 4 or info.bits != 8:
        raise Refusal(f"{bits} bits in {dtype}")
    return {"clamp": [0, 15] if info.min == 0 else [-8, 7]}


def output_attributes(recorded, dtype):
    activation = recorded.text("activation", ACTIVATIONS)
    return {**ACTIVATIONS[activation], **bounds(recorded.integer("nb_bits"), dtype)}


def typed_tensor(recorded, key, dtype_key):
    return recorded.tensor(key, recorded.text(dtype_key, INTEGERS))


def check_size(recorded, key, found):
    sizes = recorded.integers(key)
    if sizes != list(found):
        raise Refusal(f"params.{key} is {sizes}, the tensors say {list(found)}")


def window(recorded, in_size, out_size, filter_size, dilation=(1, 1)):
    """Stride and padding; what is recorded is the padding before, what follows is cut or filled to the output's size."""
    stride, before = recorded.integers("stride", 2), recorded.integers("padding", 2)
    padding = []
    for axis, size, out, span, step, first in zip("HW", in_size, out_size, spans(filter_size, dilation), stride, before):
        padding += [first, after(size, out, span, step, first, axis)]
    return {"stride": stride, "padding": padding}


def convolution(recorded):
    depthwise = recorded.op == "depthwise_conv2d"
    source, expected = typed_tensor(recorded, "input", "input_dtype"), typed_tensor(recorded, "expected", "output_dtype")
    weights, bias = typed_tensor(recorded, "weights", "weight_dtype"), typed_tensor(recorded, "bias", "bias_dtype")
    check_size(recorded, "input_hwc", source.shape)
    check_size(recorded, "output_hw", expected.shape[:2])
    check_size(recorded, "kernel", weights.shape[1:3])
    if recorded.integer("outputs") != expected.shape[2]:
        raise Refusal(f"params.outputs {recorded.params['outputs']} for {expected.shape[2]} channels")
    dilation = recorded.integers("dilation", 2)
    attributes = {"dilation": dilation, **window(recorded, source.shape[:2], expected.shape[:2], weights.shape[1:3], dilation)}
    if depthwise:
        weights = np.ascontiguousarray(weights.transpose(1, 2, 0))[np.newaxis]
    return layer(recorded, [source[np.newaxis], weights, bias, expected[np.newaxis]], attributes, 3 if depthwise else 0)


def fully_connected(recorded):
    source, expected = typed_tensor(recorded, "input", "input_dtype"), typed_tensor(recorded, "expected", "output_dtype")
    weights, bias = typed_tensor(recorded, "weights", "weight_dtype"), typed_tensor(recorded, "bias", "bias_dtype")
    check_size(recorded, "input_hwc", source.shape)
    if recorded.integer("outputs") != expected.size or weights.shape[1:] != source.shape:
        raise Refusal(f"weights of shape {list(weights.shape)} for {expected.size} outputs")
    return layer(recorded, [source.reshape(1, -1), weights.reshape(len(weights), -1), bias, expected.reshape(1, -1)], {}, 0)


def layer(recorded, arrays, attributes, axis):
    source, weights, bias, expected = arrays
    scaling = scaling_of(recorded)
    if flag(recorded, "bias_includes_half") and scaling.mode != "single_shift":
        raise Refusal(f"bias_includes_half with {scaling.mode}")
    attributes = {**attributes, **output_attributes(recorded, expected.dtype), **scaling.attributes()}
    op = recorded.op
    operands = [Operand("input", source, UNIT), Operand("weights", weights, scaling.quantization(axis), constant=True),
                Operand("bias", scaling.without_half(bias), constant=True)]
    return Layer(op, operands, UNIT, attributes), Run(f"n2d2_{scaling.way}", expected)


def scaling_alone(recorded):
    source, expected = typed_tensor(recorded, "input", "input_dtype"), typed_tensor(recorded, "expected", "output_dtype")
    scaling = scaling_of(recorded)
    attributes = {**output_attributes(recorded, expected.dtype), **scaling.attributes()}
    return (Layer("add_n", [Operand("input", source, scaling.quantization(2))], UNIT, attributes),
            Run(f"n2d2_{scaling.way}", expected))


def simulated_scaling(recorded):
    """Channel major and float in the recording; the floats hold integers."""
    source = recorded.tensor("input", recorded.text("dtype", ("float32", "float64")))
    whole = source.astype(np.int32)
    if not np.array_equal(whole, source):
        raise Refusal("the input is not made of int32 values")
    parameters = {key: recorded.param(key, (list, str, int)) for key in ("mode", "shift", "multiplier", "fractional_bits", "scale")
                  if key in recorded.params}
    scaling = Scaling(parameters)
    dtype = "uint8" if flag(recorded, "unsigned") else "int8"
    expected = recorded.tensor("expected", "int32")
    if not np.array_equal(expected.astype(dtype), expected):
        raise Refusal(f"the result does not fit {dtype}")
    settings = scaling.settings()
    if source.dtype == np.float64 and scaling.mode == "float_mult":
        settings["add_n.i8.output.chain.2.arithmetic"] = "f64"
    channels_last = [np.ascontiguousarray(array.T) for array in (whole, expected.astype(dtype))]
    return (Layer("add_n", [Operand("input", channels_last[0], scaling.quantization(1))], UNIT,
                  bounds(recorded.integer("bits"), dtype)),
            Run(f"n2d2_simulator_{scaling.way}", channels_last[1], settings=settings))


def pool(recorded):
    source, expected = typed_tensor(recorded, "input", "input_dtype"), typed_tensor(recorded, "expected", "output_dtype")
    check_size(recorded, "input_hwc", source.shape)
    check_size(recorded, "output_hw", expected.shape[:2])
    bounds(recorded.integer("nb_bits"), expected.dtype)
    kernel = recorded.integers("kernel", 2)
    attributes = {"filter": kernel, **window(recorded, source.shape[:2], expected.shape[:2], kernel)}
    op = {"max_pool2d": "max_pool2d", "avg_pool2d": "average_pool2d"}[recorded.op]
    if flag(recorded, "global"):
        if kernel != list(source.shape[:2]) or attributes["padding"] != [0] * 4 or expected.shape[:2] != (1, 1):
            raise Refusal(f"a global pool of {kernel} over {list(source.shape)}")
        if op == "average_pool2d":
            op, attributes = "global_average_pool", {}
    return (Layer(op, [Operand("input", source[np.newaxis], UNIT)], UNIT, attributes), Run("n2d2_single_shift", expected[np.newaxis]))


def inputs_of(recorded, count):
    dtype = recorded.text("input_dtype", INTEGERS)
    return [recorded.tensor(f"input{i}", dtype) for i in range(count)]


def elementwise_sum(recorded):
    sources, expected = inputs_of(recorded, recorded.integer("inputs")), typed_tensor(recorded, "expected", "output_dtype")
    check_size(recorded, "hwc", expected.shape)
    scaling = scaling_of(recorded)
    operands = [Operand(f"input{i}", source, scaling.quantization(2)) for i, source in enumerate(sources)]
    return (Layer("add_n", operands, UNIT, {**output_attributes(recorded, expected.dtype), **scaling.attributes()}),
            Run(f"n2d2_{scaling.way}", expected))


def concat(recorded):
    channels = recorded.integers("channels")
    sources, expected = inputs_of(recorded, len(channels)), recorded.tensor("expected", recorded.text("input_dtype", INTEGERS))
    check_size(recorded, "hw", expected.shape[:2])
    if [source.shape[2] for source in sources] != channels:
        raise Refusal(f"params.channels {channels}")
    bounds(recorded.integer("nb_bits"), expected.dtype)
    return (Layer("concat", [Operand(f"input{i}", source) for i, source in enumerate(sources)], {}, {"axis": 2}),
            Run("n2d2_single_shift", expected))


def argmax(recorded):
    source, expected = typed_tensor(recorded, "input", "input_dtype"), recorded.tensor("expected", "int32")
    check_size(recorded, "hwc", source.shape)
    bounds(recorded.integer("nb_bits"), source.dtype)
    return Layer("argmax", [Operand("input", source)], {}, {"axis": 2}), Run("n2d2_single_shift", expected)


def resize(recorded):
    source, expected = typed_tensor(recorded, "input", "input_dtype"), recorded.tensor("expected", recorded.text("input_dtype", INTEGERS))
    check_size(recorded, "hwc", source.shape)
    if [factor * size for factor, size in zip(recorded.integers("factor", 2), source.shape)] != list(expected.shape[:2]):
        raise Refusal(f"params.factor {recorded.params['factor']} for results of shape {list(expected.shape)}")
    bounds(recorded.integer("nb_bits"), source.dtype)
    attributes = {"mode": "nearest", "coordinates": "asymmetric", "nearest_rounding": "floor"}
    return (Layer("resize", [Operand("input", source[np.newaxis], UNIT)], UNIT, attributes),
            Run("n2d2_single_shift", expected[np.newaxis]))


CONVERTERS = {"conv2d": convolution, "depthwise_conv2d": convolution, "fully_connected": fully_connected, "scaling": scaling_alone,
              "activation_scaling_simulator": simulated_scaling, "max_pool2d": pool, "avg_pool2d": pool, "elemwise_sum": elementwise_sum,
              "concat_channels": concat, "argmax": argmax, "resize_nearest": resize}


def thinned(made, run):
    """A scaling alone, of values spread over the recorded ones; its first and last values are extremes."""
    def rows(array):
        count, most = array.shape[-2], SELECTED_VALUES // array.shape[-1]
        kept = np.arange(most) * (count - 1) // (most - 1) if count > most else np.arange(count)
        return np.ascontiguousarray(np.take(array, kept, axis=-2))
    source = made.operands[0]
    return made._replace(operands=[source._replace(array=rows(source.array))]), run._replace(expected=rows(run.expected))


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in CONVERTERS:
        raise Refusal(f"unknown op '{recorded.op}'")
    recorded.free_text("layout")
    note = recorded.free_text("note")
    layer_made, run = CONVERTERS[recorded.op](recorded)
    recorded.finish()
    if suite.value_limit is not None and recorded.op in SCALINGS:
        layer_made, run = thinned(layer_made, run)
    mode = recorded.params.get("scaling", recorded.params).get("mode", "")
    suite.add_layer(recorded, layer_made, [run], " ".join(filter(None, [recorded.name, recorded.op, mode])))
    if note:
        suite.note(f"{recorded.name}: {note}.")
