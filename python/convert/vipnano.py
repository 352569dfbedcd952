# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of VeriSilicon's NN cores. The C model's cases record registers: multiplier 2^k + mantissa, shift and zero points; where a float32
scale is recorded too it is written, and the registers verified against it; else the scale is the one that the registers hold."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .padding import recorded_padding
from .recorded import Recorded, Refusal

ROUNDING_RULE = {op: f"{path}.i8.rescale.chain.2.rounding"  # after relu and multiply: the shift right
                 for op, path in (("conv2d", "conv"), ("depthwise_conv2d", "depthwise_conv"))}
BACKENDS = {16: "vipnano_v7", 24: "vipnano_v8"}  # by the width of the multiplier
ROUNDINGS = {  # by the register's value; 1 is half_even, the backends' own rule
    0: {"vipnano_v7": "half_up", "vipnano_v8": "half_away"},
    2: dict.fromkeys(BACKENDS.values(), "toward_zero"),
    3: dict.fromkeys(BACKENDS.values(), "floor"),
}
DTYPES = {"uint8": "uint8", "int8": "int8", "int8asym": "int8", "int8sym": "int8"}


def registers_of(scale, bits):
    """Mantissa and shift that the compiler makes of a float32 scale; V7 truncates the mantissa."""
    pattern = int(np.float32(scale).view(np.uint32))
    exponent, mantissa = pattern >> 23, pattern & 0x7FFFFF
    return (mantissa, 127 - exponent) if bits == 24 else (mantissa >> 8, 142 - exponent)


def scale_of_registers(recorded, bits):
    mantissa, shift = recorded.integer("post_mul_mantissa"), recorded.integer("post_shift")
    recorded.unread.discard("params.scale_f32")
    if recorded.params.get("scale_f32") is not None:
        scale = recorded.number("scale_f32")
        if float(np.float32(scale)) != scale:
            raise Refusal(f"params.scale_f32 {scale!r} is no float32")
    else:
        scale = ((1 << (bits - 1)) + mantissa) * 2.0 ** -(shift + (23 if bits == 24 else 0))
    if not 0 <= mantissa < 1 << (bits - 1) or float(np.float32(scale)) != scale or registers_of(scale, bits) != (mantissa, shift):
        raise Refusal(f"params.post_mul_mantissa {mantissa} and post_shift {shift} are not the registers of scale {scale!r}")
    return scale


def window(recorded, op, source, weights, expected, stride, dilation):
    """Arrays in NHWC and OHWI (depthwise [1, kh, kw, channels]), and the attributes."""
    source, expected = source.transpose(0, 2, 3, 1), expected.transpose(0, 2, 3, 1)
    weights = weights.transpose(1, 2, 3, 0) if op == "depthwise_conv2d" else weights.transpose(0, 2, 3, 1)
    if op == "depthwise_conv2d":
        multiplier = recorded.integer("depth_multiplier", weights.shape[3] // source.shape[3])
        if weights.shape[0] != 1 or weights.shape[3] != source.shape[3] * multiplier:
            raise Refusal(f"depthwise weights of shape {list(weights.shape)} (1HWO) for {source.shape[3]} channels")
    elif source.shape[3] % weights.shape[3] or recorded.integer("depth_multiplier", 1) != 1:
        raise Refusal(f"weights of shape {list(weights.shape)} (OHWI) for {source.shape[3]} channels")
    padding = recorded_padding(recorded, source.shape[1:3], expected.shape[1:3], weights.shape[1:3], stride, dilation)
    arrays = [np.ascontiguousarray(array) for array in (source, weights, expected)]
    return arrays, {"stride": stride, "dilation": dilation, "padding": padding}


def arrays_of(recorded, dtype, rank):
    arrays = [recorded.tensor(key, dtype) for key in ("input", "weights", "expected")]
    ranks = [array.ndim for array in arrays]
    if ranks != [rank, 4, rank]:
        raise Refusal(f"input, weights and result have {ranks} axes")
    bias = recorded.optional_tensor("bias", "int32")
    if bias is not None and bias.shape != arrays[1].shape[:1]:
        raise Refusal(f"bias of shape {list(bias.shape)} for {arrays[1].shape[0]} channels")
    return arrays, bias


def layer_of(op, source, weights, bias, quantizations, attributes):
    operands = [Operand("input", source, quantizations[0]), Operand("weights", weights, quantizations[1], constant=True),
                Operand("bias", bias, constant=True) if bias is not None else None]
    return Layer(op, operands, quantizations[2], attributes)


def model_case(recorded, op):
    """A case of the vendor's C model: CHW without batch."""
    kind = recorded.text("dtype", DTYPES)
    (source, weights, expected), bias = arrays_of(recorded, DTYPES[kind], 3)
    stride, dilation = ([recorded.integer(key)] * 2 for key in ("stride", "dilation"))
    (source, weights, expected), attributes = window(recorded, op, source[np.newaxis], weights, expected[np.newaxis], stride, dilation)
    bits = recorded.integer("post_mul_bits")
    if bits not in BACKENDS:
        raise Refusal(f"params.post_mul_bits {bits} is unknown")
    zero_points = [recorded.integer(f"{name}_zero_point") for name in ("input", "weight", "output")]
    if kind == "int8sym" and any(zero_points):
        raise Refusal(f"dtype int8sym with zero points {zero_points}")
    quantizations = [quantization(scale, z) for scale, z in zip((1, scale_of_registers(recorded, bits), 1), zero_points)]
    if recorded.integer("relu", 0) not in (0, 1):
        raise Refusal(f"params.relu {recorded.params['relu']}")
    if recorded.params.get("relu"):
        attributes["activation"] = "relu"
    run = Run(BACKENDS[bits], expected, settings=rounding_settings(recorded, op, bits))
    return layer_of(op, source, weights, bias, quantizations, attributes), run


def rounding_settings(recorded, op, bits):
    mode = recorded.integer("rounding_mode")
    if mode == 1:
        return {}
    if mode not in ROUNDINGS:
        raise Refusal(f"params.rounding_mode {mode} is unknown")
    return {ROUNDING_RULE[op]: ROUNDINGS[mode][BACKENDS[bits]]}


def float32_scale(value):
    return float(np.float32(value))


def unit_test(recorded, op):
    """A case of the vendor's open library: NCHW, real scales, per channel where there are several. Its results are those of V8 devices."""
    if not recorded.param("tolerance", str).startswith("exact"):
        raise Refusal(f"params.tolerance '{recorded.params['tolerance']}' is not equality")
    (source, weights, expected), bias = arrays_of(recorded, DTYPES[recorded.text("dtype", DTYPES)], 4)
    stride, dilation = ([recorded.integer(f"{key}_{axis}") for axis in "hw"] for key in ("stride", "dilation"))
    (source, weights, expected), attributes = window(recorded, op, source, weights, expected, stride, dilation)
    weight_scales = [float32_scale(scale) for scale in recorded.numbers("weight_scale")]
    quantizations = [
        quantization(float32_scale(recorded.number("input_scale")), recorded.integer("input_zero_point")),
        quantization(weight_scales, recorded.integers("weight_zero_point"), 3 if op == "depthwise_conv2d" else 0),
        quantization(float32_scale(recorded.number("output_scale")), recorded.integer("output_zero_point"))]
    return layer_of(op, source, weights, bias, quantizations, attributes), Run("vipnano_v8", expected)


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case, allowed=("model_v8_equal",))
    if recorded.op not in ROUNDING_RULE:
        raise Refusal(f"unknown op '{recorded.op}'")
    title = " ".join(filter(None, [recorded.name, recorded.free_text("kind")]))
    layer, run = (model_case if "post_mul_bits" in recorded.params else unit_test)(recorded, recorded.op)
    recorded.finish()
    suite.add_layer(recorded, layer, [run], title)
