# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of PyTorch's quantised operators: NHWC, OHWI, uint8 data, int8 weights with zero point 0, a float bias beside the integer that it becomes."""

import numpy as np

from .layer import Layer, Operand, Run, quantization
from .padding import check_sizes
from .recorded import Recorded, Refusal

BACKENDS = {"pytorch_qnnpack": "pytorch_qnnpack", "pytorch_onednn": "pytorch_x86", "pytorch_onednn_avx2": "pytorch_x86_avx2",
            "pytorch_onednn_avx512_core": "pytorch_x86_avx2"}


def scale_of(recorded, key):
    value = recorded.number(key)
    if float(np.float32(value)) != value:
        raise Refusal(f"params.{key} {value!r} is no float32")
    return value


def quantized(recorded, word):
    return quantization(scale_of(recorded, f"scale_{word}"), recorded.integer(f"zero_point_{word}"))


def activation(recorded):
    return {"activation": "relu"} if recorded.flag("relu") else {}


def weight_scales(recorded, outputs):
    scales = recorded.numbers("scale_w")
    if len(scales) not in (1, outputs) or any(float(np.float32(scale)) != scale for scale in scales):
        raise Refusal(f"params.scale_w is {scales}")
    return scales


def bias_of(recorded, in_scale, scales, outputs):
    """The integer, if it is the one that the float becomes."""
    if not recorded.has_tensor("bias"):
        return None
    real, whole = recorded.tensor("bias", "float32"), recorded.tensor("bias_int32", "int32")
    product = np.float32(in_scale) * np.array(scales, np.float32)
    if real.shape != (outputs,) or not np.array_equal(np.rint(real * (np.float32(1) / product)), whole):
        raise Refusal("tensors.bias_int32 does not follow from tensors.bias and the scales")
    return Operand("bias", whole, constant=True)


def products(recorded, op, source, weights, axis, attributes):
    """`axis` of the weights: their outputs."""
    outputs, in_scale = weights.shape[axis], scale_of(recorded, "scale_in")
    scales = weight_scales(recorded, outputs)
    operands = [Operand("input", source, quantized(recorded, "in")),
                Operand("weights", weights, quantization(scales, 0, axis if len(scales) > 1 else None), constant=True),
                bias_of(recorded, in_scale, scales, outputs)]
    return Layer(op, operands, quantized(recorded, "out"), {**attributes, **activation(recorded)})


def conv2d(recorded):
    source, weights, expected = recorded.tensor("input", "uint8"), recorded.tensor("weights", "int8"), recorded.tensor("expected", "uint8")
    stride, padding, groups = recorded.integers("stride", 2), recorded.integers("pad", 4), recorded.integer("groups")
    if source.ndim != 4 or weights.ndim != 4 or weights.shape[3] * groups != source.shape[3] or weights.shape[0] != expected.shape[3]:
        raise Refusal(f"weights of shape {list(weights.shape)} (OHWI), {groups} groups, input of shape {list(source.shape)}")
    check_sizes(padding, source.shape[1:3], expected.shape[1:3], weights.shape[1:3], stride, (1, 1))
    attributes = {"stride": stride, "dilation": [1, 1], "padding": padding}
    if groups == 1 or weights.shape[3] > 1:
        return products(recorded, "conv2d", source, weights, 0, attributes), expected
    weights = np.ascontiguousarray(weights.transpose(3, 1, 2, 0))
    return products(recorded, "depthwise_conv2d", source, weights, 3, attributes), expected


def fully_connected(recorded):
    source, weights, expected = recorded.tensor("input", "uint8"), recorded.tensor("weights", "int8"), recorded.tensor("expected", "uint8")
    if source.ndim != 2 or weights.ndim != 2 or source.shape[1] != weights.shape[1]:
        raise Refusal(f"an input of shape {list(source.shape)}, weights of shape {list(weights.shape)}")
    return products(recorded, "fully_connected", source, weights, 0, {}), expected


def binary(recorded):
    expected = recorded.tensor("expected", "uint8")
    operands = []
    for i in (1, 2):
        scales = quantization(scale_of(recorded, f"scale{i}"), recorded.integer(f"zero_point{i}"))
        operands.append(Operand(f"input{i}", recorded.tensor(f"input{i}", "uint8"), scales))
        if operands[-1].array.shape != expected.shape:
            raise Refusal(f"tensors.input{i} of shape {list(operands[-1].array.shape)} gives {list(expected.shape)}")
    return Layer(recorded.op, operands, quantized(recorded, "out"), activation(recorded)), expected


def average_pool(recorded):
    source, expected = recorded.tensor("input", "uint8"), recorded.tensor("expected", "uint8")
    window, stride, padding = recorded.integers("filter", 2), recorded.integers("stride", 2), recorded.integers("pad", 4)
    check_sizes(padding, source.shape[1:3], expected.shape[1:3], window, stride, (1, 1))
    attributes = {"filter": window, "stride": stride, "padding": padding}
    if recorded.flag("padding_counted"):
        attributes["counted_padding"] = True
    scales = quantized(recorded, "in")
    return Layer("average_pool2d", [Operand("input", source, scales)], scales, attributes), expected


def global_average_pool(recorded):
    source, expected = recorded.tensor("input", "uint8"), recorded.tensor("expected", "uint8")
    scales = quantized(recorded, "in")
    return Layer("global_average_pool", [Operand("input", source, scales)], scales), expected


def function(recorded):
    source, expected = recorded.tensor("input", "uint8"), recorded.tensor("expected", "uint8")
    attributes = {"alpha": recorded.number("alpha")} if recorded.op == "leaky_relu" else {}
    return Layer(recorded.op, [Operand("input", source, quantized(recorded, "in"))], quantized(recorded, "out"), attributes), expected


OPERATIONS = {"conv2d": conv2d, "fully_connected": fully_connected, "add": binary, "mul": binary, "avg_pool": average_pool,
              "global_average_pool": global_average_pool,
              **dict.fromkeys(("leaky_relu", "logistic", "tanh", "hard_swish"), function)}


LARGE = 2 ** 15


def thinned(suite, layer, expected):
    """Of a selection: some of many elements, where each is computed by itself."""
    operands = [operand._replace(array=suite.thinned(operand.array)) for operand in layer.operands]
    return layer._replace(operands=operands), suite.thinned(expected)


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    title = " ".join(filter(None, [recorded.name, recorded.op, recorded.free_text("kind")]))
    layer, expected = OPERATIONS[recorded.op](recorded)
    recorded.finish()
    if recorded.op in ("add", "mul") and expected.size > LARGE:
        layer, expected = thinned(suite, layer, expected)
    suite.add_layer(recorded, layer, [Run(BACKENDS[suite.path.split("/")[0]], expected)], title)
