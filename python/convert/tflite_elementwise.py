# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Element-wise suites of the TFLite reference kernels. Where a recording holds both the scales and what the kernel's preparation derived
from them, the scales are written and the derived values verified."""

import math

import numpy as np

from .layer import Layer, Operand, quantization
from .multiplier import input_radius, q15_of, quantize_multiplier, scale_of
from .recorded import Refusal
from .tflite_common import clamp, runs_of, typed, verify_multiplier

DTYPES = {"s8": "int8", "u8": "uint8", "s16": "int16", "s32": "int32"}
BY_TYPE = {key: DTYPES[key] for key in ("s8", "u8", "s16")}
ADD_LEFT_SHIFT = {"s8": 20, "u8": 20, "s16": 15}
SUB_IN_DOUBLE = {f"sub.{data}.{stage}.scale.arithmetic": "f64" for data in ("i8", "i16") for stage in ("operand", "output")}


def two_inputs(recorded, variant):
    arrays = [recorded.tensor(f"input{i}", variant.dtype) for i in (1, 2)]
    runs = runs_of(recorded, variant.dtype)
    try:
        shape = np.broadcast_shapes(*(array.shape for array in arrays))
    except ValueError:
        shape = None
    if shape != runs[0].expected.shape:
        raise Refusal(f"inputs of shape {[list(a.shape) for a in arrays]} give {list(runs[0].expected.shape)}")
    return arrays, runs


def aligned_scales(scales, out, left_shift, number):
    """Effective scales of both operands, brought to twice the larger one, and of their sum; `number` is the type they are computed in."""
    scale1, scale2 = (number(scale) for scale in scales)
    twice_larger = number(2) * max(scale1, scale2)
    return [float(real) for real in (scale1 / twice_larger, scale2 / twice_larger, twice_larger / (number(1 << left_shift) * number(out)))]


def add(recorded):
    """Both operands shifted left and rescaled to twice the larger scale, added or subtracted, and rescaled."""
    variant = typed(recorded, BY_TYPE)
    arrays, runs = two_inputs(recorded, variant)
    scales, out = [recorded.number("scale1"), recorded.number("scale2")], recorded.number("scale_out")
    left_shift = ADD_LEFT_SHIFT[variant.name]
    recorded.verify("left_shift", left_shift)
    reals = aligned_scales(scales, out, left_shift, np.float64)
    if recorded.op == "sub":
        # The interpreter prepares sub in float; a recording that calls the kernel may have used double, as for add.
        in_float = aligned_scales(scales, out, left_shift, np.float32)
        if quantize_multiplier(in_float[2])[0] == recorded.params.get("mo"):
            reals = in_float
        else:
            runs = [run._replace(settings=SUB_IN_DOUBLE) for run in runs]
    for multiplier_key, shift_key, real in zip(("m1", "m2", "mo"), ("s1", "s2", "so"), reals):
        verify_multiplier(recorded, multiplier_key, shift_key, real)
    operands = [Operand(f"input{i}", array, quantization(scale, -recorded.integer(f"offset{i}")))
                for i, array, scale in zip((1, 2), arrays, scales)]
    return Layer(recorded.op, operands, quantization(out, recorded.integer("output_offset")), clamp(recorded)), runs


def add_power_of_two(recorded):
    """Input scale = 2^shift of the output's: a right shift, rounded half away from zero, of the one input that is shifted."""
    variant = typed(recorded, {"s16": "int16"})
    arrays, runs = two_inputs(recorded, variant)
    runs = [run._replace(backend=run.backend.replace("tflite", "tflite_builtin")) for run in runs]  # TFLite Micro does not shift
    shifts = [recorded.integer("input1_shift"), recorded.integer("input2_shift")]
    if max(shifts) != 0 or min(shifts) < -31:
        raise Refusal(f"params.input1_shift and input2_shift are {shifts}; one is 0, the other 0 or a right shift")
    operands = [Operand(f"input{i}", array, quantization(2.0 ** shift)) for i, array, shift in zip((1, 2), arrays, shifts)]
    return Layer("add", operands, quantization(1), {"power_of_two_scales": True, **clamp(recorded)}), runs


def mul(recorded):
    variant = typed(recorded, BY_TYPE)
    arrays, runs = two_inputs(recorded, variant)
    product = scale_of(recorded.integer("mo"), recorded.integer("so"), "params.mo")
    operands = [Operand(f"input{i}", array, quantization(scale, -recorded.integer(f"offset{i}")))
                for i, array, scale in zip((1, 2), arrays, (product, 1))]
    return Layer("mul", operands, quantization(1, recorded.integer("output_offset")), clamp(recorded)), runs


def unary(recorded, op, source, runs, scales, zero_points, attributes=None):
    if runs[0].expected.shape != source.shape:
        raise Refusal(f"input of shape {list(source.shape)}, result of shape {list(runs[0].expected.shape)}")
    operand = Operand("input", source, quantization(scales[0], zero_points[0]) if scales[0] else {})
    return Layer(op, [operand], quantization(scales[1], zero_points[1]) if scales[1] else {}, attributes or {}), runs


def zero_points(recorded):
    return recorded.integer("input_zero_point"), recorded.integer("output_zero_point")


def leaky_relu(recorded):
    variant = typed(recorded, BY_TYPE)
    scale, out, alpha = (np.float32(recorded.number(key)) for key in ("input_scale", "output_scale", "alpha"))
    verify_multiplier(recorded, "m_identity", "s_identity", float(scale / out))
    verify_multiplier(recorded, "m_alpha", "s_alpha", float(scale * alpha / out))
    return unary(recorded, "leaky_relu", recorded.tensor("input", variant.dtype), runs_of(recorded, variant.dtype), (scale, out),
                 zero_points(recorded), {"alpha": float(alpha)})


def hard_swish(recorded):
    variant = typed(recorded, {"s8": "int8", "u8": "uint8"})
    scale, out = (np.float32(recorded.number(key)) for key in ("input_scale", "output_scale"))
    fine = np.float32(1 / 128) * scale
    for word, divisor in (("output", out), ("reluish", np.float32(3) / np.float32(32768))):
        multiplier, exponent = quantize_multiplier(float(fine / divisor))
        recorded.verify(f"{word}_multiplier_int16", q15_of(multiplier))
        recorded.verify(f"{word}_exponent", exponent)
    return unary(recorded, "hard_swish", recorded.tensor("input", variant.dtype), runs_of(recorded, variant.dtype), (scale, out),
                 zero_points(recorded))


def prelu(recorded):
    """Scales that encode to the recorded pairs: input = the identity's multiplier, alpha = its multiplier over the identity's."""
    variant = typed(recorded, BY_TYPE)
    source, alpha = recorded.tensor("input", variant.dtype), recorded.tensor("alpha", variant.dtype)
    runs = runs_of(recorded, variant.dtype)
    identity = scale_of(recorded.integer("m1"), recorded.integer("s1"), "params.m1")
    with_alpha = scale_of(recorded.integer("m2"), recorded.integer("s2"), "params.m2")
    alpha_scale = with_alpha / identity
    verify_multiplier(recorded, "m2", "s2", identity * alpha_scale)
    operands = [Operand("input", source, quantization(identity, -recorded.integer("input_offset"))),
                Operand("alpha", alpha, quantization(alpha_scale, -recorded.integer("alpha_offset")), constant=True)]
    return Layer("prelu", operands, quantization(1, recorded.integer("output_offset"))), runs


def table_input(scale, exact_shifts):
    """The 16-bit sigmoid table's input: power-of-two scales as they are, others times 3 * 4096, with as many bits as fit 15 (TFLM)."""
    fraction, exponent = math.frexp(scale)
    if fraction == 0.5 and exponent - 1 + 12 in exact_shifts:
        return 0, exponent - 1 + 12
    multiplier, shift = scale * 4096.0 * 3.0, 0
    while multiplier <= 32767.0 / 2.0 and shift <= 30:
        multiplier, shift = multiplier * 2, shift + 1
    return int(multiplier), shift


def sigmoid(exact_shifts, outputs):
    def convert(recorded):
        variant = typed(recorded, {"s8": "int8", "s16": "int16"})
        source, runs = recorded.tensor("input", variant.dtype), runs_of(recorded, variant.dtype)
        scale, zero_point = recorded.number("input_scale"), 0
        if variant.name == "s8":
            multiplier, shift = quantize_multiplier(scale * (1 << 27))
            recorded.verify("input_range_radius", input_radius(4, shift))
            zero_point = recorded.integer("input_zero_point")
        else:
            multiplier, shift = table_input(scale, exact_shifts)
        recorded.verify("input_multiplier", multiplier)
        recorded.verify("input_left_shift", shift)
        out_scale, out_zero_point = outputs[variant.name]
        return unary(recorded, recorded.op, source, runs, (scale, out_scale), (zero_point, out_zero_point))
    return convert


SOFTMAX = {  # input type, result type, scale and zero point of the result
    "s8": ("int8", "int8", 2.0 ** -8, -128),
    "u8": ("uint8", "uint8", 2.0 ** -8, 0),
    "s8_s16": ("int8", "int16", 2.0 ** -16, -32768),
    "s16": ("int16", "int16", 2.0 ** -15, 0),
}


def softmax_parameters(scaled, single):
    """TFLite PreprocessSoftmaxScaling with five integer bits: multiplier, left shift, smallest difference that counts."""
    limit = (1 << (30 if single else 31)) - 1.0
    multiplier, shift = quantize_multiplier(min(scaled * (1 << 26), limit))
    return [multiplier, shift, -input_radius(5, shift)]


def softmax(recorded):
    source_type, result_type, out_scale, out_zero_point = SOFTMAX[recorded.text("variant", SOFTMAX)]
    source, runs = recorded.tensor("input", source_type), runs_of(recorded, result_type)
    scale, beta = recorded.number("input_scale"), recorded.number("beta")
    if source_type == "int16":
        verify_multiplier(recorded, "input_multiplier", "input_left_shift", scale * beta / (10.0 / 65535.0))
    else:
        for key, derived in zip(("input_multiplier", "input_left_shift", "diff_min"), softmax_parameters(beta * scale, single=False)):
            recorded.verify(key, derived)
        recorded.verify("params_single", softmax_parameters(beta * scale, single=True))
    return unary(recorded, "softmax", source, runs, (scale, out_scale), (0, out_zero_point), {"beta": beta})


def requantize(recorded):
    names = recorded.text("variant", [f"{a}_{b}" for a in DTYPES for b in DTYPES]).split("_")
    source, runs = recorded.tensor("input", DTYPES[names[0]]), runs_of(recorded, DTYPES[names[1]])
    scale = scale_of(recorded.integer("multiplier"), recorded.integer("shift"), "params.multiplier")
    return unary(recorded, "requantize", source, runs, (scale, 1), zero_points(recorded))


def quantize(recorded):
    variant = typed(recorded, DTYPES)
    source, runs = recorded.tensor("input", "float32"), runs_of(recorded, variant.dtype)
    return unary(recorded, "quantize", source, runs, (None, recorded.number("scale")), (None, recorded.integer("zero_point")))


def dequantize(recorded):
    variant = typed(recorded, DTYPES)
    source, runs = recorded.tensor("input", variant.dtype), runs_of(recorded, "float32")
    return unary(recorded, "dequantize", source, runs, (recorded.number("scale"), None), (recorded.integer("zero_point"), None))


def concat(recorded):
    scales, points = recorded.numbers("input_scale"), recorded.integers("input_zero_point")
    if not scales or len(scales) != len(points):
        raise Refusal(f"{len(scales)} input scales, {len(points)} zero points")
    dtype = recorded.tensor("expected", *BY_TYPE.values()).dtype.name
    operands = [Operand(f"input{i}", recorded.tensor(f"input{i}", dtype), quantization(scale, point))
                for i, (scale, point) in enumerate(zip(scales, points))]
    axis, runs = recorded.integer("axis"), runs_of(recorded, dtype)
    expected = runs[0].expected
    if not 0 <= axis < expected.ndim or sum(operand.array.shape[axis] for operand in operands) != expected.shape[axis]:
        raise Refusal(f"params.axis {axis} does not give shape {list(expected.shape)}")
    output = quantization(recorded.number("output_scale"), recorded.integer("output_zero_point"))
    return Layer("concat", operands, output, {"axis": axis}), runs


LAYERS = {
    "add": add,
    "sub": add,
    "mul": mul,
    "add_pot": add_power_of_two,
    "leaky_relu": leaky_relu,
    "hard_swish": hard_swish,
    "prelu": prelu,
    "logistic": sigmoid((0,), {"s8": (2.0 ** -8, -128), "s16": (2.0 ** -15, 0)}),
    "tanh": sigmoid((0, 1), {"s8": (2.0 ** -7, 0), "s16": (2.0 ** -15, 0)}),
    "softmax": softmax,
    "requantize_op": requantize,
    "quantize": quantize,
    "dequantize": dequantize,
    "concat": concat,
}
