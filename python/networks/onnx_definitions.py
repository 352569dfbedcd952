# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The networks for ONNX Runtime."""

from .onnx_network import OnnxNetwork


def onnx_residual(name="onnx_residual_u8", kind="uint8", seed=31, last_only=False):
    net = OnnxNetwork(name, seed, kind, 16 if last_only else 4, last_only)
    image = net.input((3, 9, 8))
    stem = net.conv("stem", image, 8, (3, 3), strides=(1, 1), pads=(1, 1, 1, 1), relu=True)
    inner = net.conv("inner", stem, 8, (3, 3), pads=(1, 1, 1, 1))
    joined = net.arithmetic("Add", "joined", stem, inner)
    small = net.pool("AveragePool", "small", joined, (3, 2), (2, 2))
    wide = net.conv("wide", small, 12, (1, 1), relu=True)
    features = net.flatten("features", net.global_average("average", wide))
    net.function("Softmax", "probabilities", net.fully_connected("scores", features, 7), {"axis": 1})
    return net


def onnx_residual_s8():
    return onnx_residual("onnx_residual_s8", "int8", 32)


def onnx_residual_s8_inside():
    """By default ONNX Runtime makes uint8 codes of the int8 ones that stay inside the network, and fuses other layers."""
    return onnx_residual("onnx_residual_s8_inside", "int8", 32, last_only=True)


def onnx_branches():
    net = OnnxNetwork("onnx_branches_u8", 33)
    image = net.input((4, 8, 8))
    left = net.conv("left", image, 5, (1, 1), relu=True)
    middle = net.function("LeakyRelu", "middle", net.conv("sloped", image, 4, (3, 3), pads=(1, 1, 1, 1)), {"alpha": 0.1713})
    right = net.conv("right", net.pool("MaxPool", "largest", image, (2, 2), (1, 1)), 3, (2, 2), pads=(1, 1, 1, 1))
    joined = net.concat("joined", [left, middle, right])
    depth = net.conv("depthwise", joined, 12, (3, 3), strides=(2, 2), pads=(1, 1, 1, 1), groups=12)
    gate = net.function("Sigmoid", "gate", net.conv("attention", depth, 12, (1, 1)))
    gated = net.arithmetic("Mul", "gated", depth, gate)
    net.fully_connected("scores", net.flatten("flat", net.pool("AveragePool", "pooled", gated, (2, 2), (1, 1))), 6)
    return net


NETWORKS = (onnx_residual, onnx_residual_s8, onnx_residual_s8_inside, onnx_branches)
