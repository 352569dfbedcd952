# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A quantised network of ONNX operators, each between DequantizeLinear and QuantizeLinear.

Every quantised tensor is an output, so that it can be recorded; or, as ONNX Runtime may compute others then, only the last one.
"""

import numpy as np

from . import float_operations as real
from .network import CALIBRATION, COVERED, half_away
from .onnx_file import onnx_file


def channels_last(x):
    return x.transpose(0, 2, 3, 1)


def channels_first(x):
    return x.transpose(0, 3, 1, 2)


class OnnxNetwork:
    """Layers take and give the names of quantised tensors; images are [samples, channels, height, width]."""

    def __init__(self, name, seed, kind="uint8", samples=4, last_only=False):
        self.name, self.kind, self.samples, self.last_only = name, kind, samples, last_only
        self.random = np.random.default_rng(seed)
        self.nodes, self.constants, self.outputs, self.real, self.scales, self.zero_points = [], {}, [], {}, {}, {}

    # Tensors.

    def parameters(self, name, values):
        low, high = min(0.0, values.min()) * COVERED, max(0.0, values.max()) * COVERED
        limits = np.iinfo(self.kind)
        scale = np.float32((high - low) / 255)
        self.scales[name], self.zero_points[name] = scale, int(np.clip(half_away(limits.min - low / float(scale)), limits.min, limits.max))

    def dequantized(self, name):
        """The real tensor of a quantised one: a node for every use, as exporters write it."""
        real_name = f"{name}_real{sum(one[0] == 'DequantizeLinear' and one[1][0] == name for one in self.nodes)}"
        self.nodes.append(("DequantizeLinear", [name, name + "_scale", name + "_zero_point"], [real_name], {}))
        return real_name

    def quantized(self, name, values, like=None):
        """QuantizeLinear of the node last added, whose output is the real tensor of this name."""
        self.real[name] = values
        if like is None:
            self.parameters(name, values)
        else:
            self.scales[name], self.zero_points[name] = self.scales[like], self.zero_points[like]
        self.constants[name + "_scale"] = np.float32(self.scales[name])
        self.constants[name + "_zero_point"] = np.dtype(self.kind).type(self.zero_points[name])
        if self.nodes:
            self.nodes.append(("QuantizeLinear", [name + "_exact", name + "_scale", name + "_zero_point"], [name], {}))
            self.outputs.append((name, self.kind, (1, *values.shape[1:])))
        return name

    def input(self, shape):
        grid = np.arange(int(np.prod(shape))).reshape(shape)
        waves = [np.sin(grid * f + p) for f, p in zip(self.random.uniform(0.05, 1.2, CALIBRATION), self.random.uniform(0, 6, CALIBRATION))]
        self.input_shape = (1, *shape)
        return self.quantized("input", np.array(waves) + self.random.normal(0.3, 0.5, (CALIBRATION, *shape)))

    def weights(self, name, shape, fan_in, per_channel=True):
        sizes = (shape[0],) + (1,) * (len(shape) - 1) if per_channel else (1,) * len(shape)
        values = self.random.normal(0, np.sqrt(1.6 / fan_in), shape) * np.exp(self.random.normal(0, 0.6, sizes))
        scales = np.float32(np.abs(values).max(axis=tuple(range(1, len(shape))) if per_channel else None) / 127)
        spread = scales.reshape(sizes)
        codes = np.clip(half_away(values / spread), -127, 127).astype(np.int8)
        self.constants |= {name: codes, name + "_scale": scales, name + "_zero_point": np.zeros(scales.shape, np.int8)}
        self.nodes.append(("DequantizeLinear", [name, name + "_scale", name + "_zero_point"], [name + "_real"],
                           {"axis": 0} if per_channel else {}))
        return name + "_real", codes * spread.astype(np.float64), scales

    def bias(self, name, scales, count):
        codes = half_away(self.random.normal(0, 0.2, count) / scales.astype(np.float64)).astype(np.int32)
        self.constants |= {name: codes, name + "_scale": scales, name + "_zero_point": np.zeros(scales.shape, np.int32)}
        self.nodes.append(("DequantizeLinear", [name, name + "_scale", name + "_zero_point"], [name + "_real"],
                           {"axis": 0} if scales.ndim else {}))
        return name + "_real", codes * scales.astype(np.float64)

    def emit(self, operator, name, inputs, attributes=None):
        self.nodes.append((operator, inputs, [name + "_exact"], attributes or {}))

    # Layers.

    def conv(self, name, x, channels, size, strides=(1, 1), pads=(0, 0, 0, 0), groups=1, relu=False):
        shape = (channels, self.real[x].shape[1] // groups, *size)
        weights, values, scales = self.weights(name + "_weights", shape, np.prod(shape[1:]))
        bias, bias_values = self.bias(name + "_bias", self.scales[x] * scales, channels)
        padded = np.pad(channels_last(self.real[x]), ((0, 0), (pads[0], pads[2]), (pads[1], pads[3]), (0, 0)))
        if groups == 1:
            sums = real.conv(padded, channels_last(values), strides, "valid", 1)
        else:
            sums = real.depthwise(padded, values.transpose(1, 2, 3, 0), strides, "valid")
        self.emit("Conv", name + "_sum" if relu else name, [self.dequantized(x), weights, bias],
                  {"kernel_shape": size, "strides": strides, "pads": pads, "group": groups})
        if relu:
            self.emit("Relu", name, [name + "_sum_exact"])
        return self.quantized(name, channels_first(real.bounded(sums + bias_values, "relu" if relu else None)))

    def fully_connected(self, name, x, channels):
        shape = (channels, self.real[x].shape[1])
        weights, values, scales = self.weights(name + "_weights", shape, shape[1], per_channel=False)
        bias, bias_values = self.bias(name + "_bias", self.scales[x] * scales, channels)
        self.emit("Gemm", name, [self.dequantized(x), weights, bias], {"transB": 1})
        return self.quantized(name, self.real[x] @ values.T + bias_values)

    def arithmetic(self, operator, name, a, b):
        self.emit(operator, name, [self.dequantized(a), self.dequantized(b)])
        return self.quantized(name, {"Add": np.add, "Mul": np.multiply}[operator](self.real[a], self.real[b]))

    def pool(self, operator, name, x, size, strides):
        function = {"AveragePool": real.average_pool, "MaxPool": real.max_pool}[operator]
        self.emit(operator, name, [self.dequantized(x)], {"kernel_shape": size, "strides": strides})
        values = channels_first(function(channels_last(self.real[x]), size, strides, "valid"))
        return self.quantized(name, values, x if operator == "MaxPool" else None)

    def global_average(self, name, x):
        self.emit("GlobalAveragePool", name, [self.dequantized(x)])
        return self.quantized(name, self.real[x].mean(axis=(2, 3), keepdims=True))

    def flatten(self, name, x):
        self.emit("Flatten", name, [self.dequantized(x)], {"axis": 1})
        return self.quantized(name, self.real[x].reshape(CALIBRATION, -1), x)

    def concat(self, name, parts):
        self.emit("Concat", name, [self.dequantized(part) for part in parts], {"axis": 1})
        return self.quantized(name, np.concatenate([self.real[part] for part in parts], axis=1))

    def function(self, operator, name, x, attributes=None):
        function = {"Sigmoid": real.logistic, "Softmax": real.softmax, "LeakyRelu": lambda v: real.leaky_relu(v, attributes["alpha"])}
        self.emit(operator, name, [self.dequantized(x)], attributes)
        return self.quantized(name, function[operator](self.real[x]))

    # The files.

    def file(self):
        return onnx_file(self.name, self.nodes, self.constants, [("input", self.kind, self.input_shape)], self.recorded())

    def recorded(self):
        """(name, type, shape) of the outputs."""
        return self.outputs[-1:] if self.last_only else self.outputs

    def inputs(self):
        limits = np.iinfo(self.kind)
        codes = half_away(self.real["input"][: self.samples] / float(self.scales["input"])) + self.zero_points["input"]
        return np.clip(codes, limits.min, limits.max).astype(self.kind)[:, None]
