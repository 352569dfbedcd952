# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of ONNX Runtime. Convolution and pooling change from NCHW and OIHW to NHWC and OHWI; everything element-wise keeps its layout, as
the order of the elements decides which ones the vector code takes."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .padding import check_sizes
from .recorded import Recorded, Refusal

BYTES = ("int8", "uint8")


def scale_and_zero_point(recorded, scale_key, zero_key, dtype, axis=None):
    """Recorded as tensors, one value or one per index of `axis`; no zero point tensor means 0. No scale key: scale 1."""
    scale = recorded.tensor(scale_key, "float32") if scale_key else np.ones(1, np.float32)
    zero_point = recorded.optional_tensor(zero_key, dtype)
    zero_point = np.zeros(1, dtype) if zero_point is None else zero_point
    if axis is None and max(scale.size, zero_point.size) > 1:
        raise Refusal(f"tensors.{scale_key or zero_key} has more than one value")
    return quantization(scale.reshape(-1).astype(np.float64), zero_point.reshape(-1), axis)


def operand(recorded, key, scale_key, zero_key, axis=None, constant=False, dtypes=BYTES):
    array = recorded.tensor(key, *dtypes)
    return Operand(key, array, scale_and_zero_point(recorded, scale_key, zero_key, array.dtype.name, axis), constant)


def channels_last(array):
    """NCHW to NHWC, OIHW to OHWI; a signal gets a height of 1."""
    if array.ndim == 3:
        array = array[:, :, np.newaxis, :]
    if array.ndim != 4:
        raise Refusal(f"shape {list(array.shape)} is neither NCHW nor NCW")
    return np.ascontiguousarray(array.transpose(0, 2, 3, 1))


def last(operand_nchw):
    return operand_nchw._replace(array=channels_last(operand_nchw.array))


def two_sides(recorded, key):
    """One value per spatial axis; a signal's height has stride and dilation 1."""
    values = recorded.integers(key)
    if len(values) not in (1, 2) or min(values) < 1:
        raise Refusal(f"params.{key} is {values}")
    return [1] * (2 - len(values)) + values


def paddings(recorded):
    pads = recorded.integers("pads")
    if len(pads) == 2:
        return [0, 0, pads[0], pads[1]]
    if len(pads) != 4:
        raise Refusal(f"params.pads is {pads}")
    return [pads[0], pads[2], pads[1], pads[3]]  # ONNX writes top, left, bottom, right


def convolution(recorded, source, weights, bias, output, expected):
    groups = recorded.integer("group", 1)
    source, weights, expected = last(source), last(weights), channels_last(expected)
    if weights.array.shape[3] * groups != source.array.shape[3] or weights.array.shape[0] != expected.shape[3]:
        raise Refusal(f"weights of shape {list(weights.array.shape)} (OHWI), {groups} groups, {source.array.shape[3]} channels")
    stride, dilation, padding = two_sides(recorded, "strides"), two_sides(recorded, "dilations"), paddings(recorded)
    check_sizes(padding, source.array.shape[1:3], expected.shape[1:3], weights.array.shape[1:3], stride, dilation)
    operands = [source, weights, None if bias is None else Operand("b", bias, constant=True)]
    return Layer("conv2d", operands, output, {"stride": stride, "dilation": dilation, "padding": padding}), expected


def qlinear_conv(recorded):
    source = operand(recorded, "x", "xs", "xz")
    weights = operand(recorded, "w", "ws", "wz", axis=0, constant=True)
    expected = recorded.tensor("expected", source.array.dtype.name)
    output = scale_and_zero_point(recorded, "ys", "yz", expected.dtype.name)
    return convolution(recorded, source, weights, recorded.optional_tensor("b", "int32"), output, expected)


def conv_integer(recorded):
    """Accumulators: an int32 output without quantisation."""
    source, weights = operand(recorded, "x", None, "xz"), operand(recorded, "w", None, "wz", axis=0, constant=True)
    return convolution(recorded, source, weights, None, {}, recorded.tensor("expected", "int32"))


def qlinear_matmul(recorded):
    a = operand(recorded, "a", "as", "az")
    b = operand(recorded, "b", "bs", "bz", axis=recorded_rank(recorded, "b") - 1)
    expected = recorded.tensor("expected", a.array.dtype.name)
    return Layer("matmul", [a, b], scale_and_zero_point(recorded, "ys", "yz", expected.dtype.name)), expected


def matmul_integer(recorded):
    a = operand(recorded, "a", None, "az")
    b = operand(recorded, "b", None, "bz", axis=recorded_rank(recorded, "b") - 1)
    return Layer("matmul", [a, b], {}), recorded.tensor("expected", "int32")


def recorded_rank(recorded, key):
    return recorded.tensor(key, *BYTES).ndim


def binary(op):
    def convert(recorded):
        a, b = operand(recorded, "a", "sa", "za"), operand(recorded, "b", "sb", "zb")
        expected = recorded.tensor("expected", a.array.dtype.name)
        return Layer(op, [a, b], scale_and_zero_point(recorded, "sc", "zc", expected.dtype.name)), expected
    return convert


def unary(op):
    def convert(recorded):
        source = operand(recorded, "x", "sa", "za")
        expected = recorded.tensor("expected", source.array.dtype.name)
        attributes = {"alpha": float(np.float32(recorded.number("alpha")))} if op == "leaky_relu" else {}
        return Layer(op, [source], scale_and_zero_point(recorded, "sc", "zc", expected.dtype.name), attributes), expected
    return convert


def global_average_pool(recorded):
    source = operand(recorded, "x", "sa", "za")
    expected = recorded.tensor("expected", source.array.dtype.name)
    output = scale_and_zero_point(recorded, "sc", "zc", expected.dtype.name)
    return Layer("global_average_pool", [last(source)], output), channels_last(expected)


def concat(recorded):
    names = [f"x{i}" for i in range(1, 27) if recorded.has_tensor(f"x{i}")]
    inputs = []
    for i, name in enumerate(names):
        letter = "ab"[i] if i < 2 else chr(ord("b") + i)  # sc, zc are the output's
        inputs.append(operand(recorded, name, "s" + letter, "z" + letter))
    expected = recorded.tensor("expected", *BYTES)
    axis = recorded.integer("axis")
    axis += expected.ndim if axis < 0 else 0
    if not 0 <= axis < expected.ndim or sum(x.array.shape[axis] for x in inputs) != expected.shape[axis]:
        raise Refusal(f"params.axis does not give shape {list(expected.shape)}")
    return Layer("concat", inputs, scale_and_zero_point(recorded, "sc", "zc", expected.dtype.name), {"axis": axis}), expected


def along_axis(recorded, array):
    axis = recorded.integer("axis", 1)
    return axis + array.ndim if axis < 0 else axis


def quantize_linear(recorded):
    source, expected = recorded.tensor("x", "float32"), recorded.tensor("expected", *BYTES, "int16", "uint16")
    output = scale_and_zero_point(recorded, "s", "z", expected.dtype.name, along_axis(recorded, source))
    return Layer("quantize", [Operand("x", source)], output), expected


def dequantize_linear(recorded):
    source = recorded.tensor("x", *BYTES, "int16", "uint16", "int32")
    quantized = scale_and_zero_point(recorded, "s", "z", source.dtype.name, along_axis(recorded, source))
    return Layer("dequantize", [Operand("x", source, quantized)], {}), recorded.tensor("expected", "float32")


LAYERS = {
    "QLinearConv": qlinear_conv,
    "ConvInteger": conv_integer,
    "QLinearMatMul": qlinear_matmul,
    "MatMulInteger": matmul_integer,
    "QLinearAdd": binary("add"),
    "QLinearMul": binary("mul"),
    "QLinearLeakyRelu": unary("leaky_relu"),
    "QLinearSigmoid": unary("logistic"),
    "QLinearGlobalAveragePool": global_average_pool,
    "QLinearConcat": concat,
    "QuantizeLinear": quantize_linear,
    "DequantizeLinear": dequantize_linear,
}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in LAYERS:
        raise Refusal(f"unknown op '{recorded.op}'")
    title = " ".join(filter(None, [recorded.name, recorded.op, recorded.free_text("kind")]))
    layer, expected = LAYERS[recorded.op](recorded)
    recorded.finish()
    suite.add_layer(recorded, layer, [Run("onnxruntime", expected)], title)
