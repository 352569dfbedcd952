# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A quantised network, built layer by layer: random weights, real values for calibration, and the entries of its .tflite file.

Activations are int8 (asymmetric) or int16 (symmetric), weights int8 per output channel (per tensor where the format wants it), biases int32
(int64 with int16 activations) of scale input x weights. The scales follow from the values that the real network has for the samples, a
little narrower, so that some values saturate.
"""

import numpy as np

from . import float_operations as real
from . import tflite_file as tflite
from .tflite_file import Operator, Tensor

CALIBRATION = 24  # samples
COVERED = 0.93  # of the range of values
LARGEST = {"int8": 127, "int16": 32767}


def half_away(x):
    return np.trunc(x + np.copysign(0.5, x))


def to_codes(values, scale, zero_point, kind):
    limits = np.iinfo(kind)
    return np.clip(half_away(values / np.asarray(scale, np.float64)) + zero_point, limits.min, limits.max).astype(kind)


class Network:
    """Layers take and give the numbers of tensors."""

    def __init__(self, name, seed, kind="int8", samples=4):
        self.name, self.kind, self.samples = name, kind, samples
        self.random = np.random.default_rng(seed)
        self.tensors, self.operators, self.real = [], [], {}

    # Tensors.

    def add(self, tensor, values=None):
        self.tensors.append(tensor)
        self.real[len(self.tensors) - 1] = values
        return len(self.tensors) - 1

    def range_of(self, values, kind):
        low, high = min(0.0, values.min()) * COVERED, max(0.0, values.max()) * COVERED
        if kind == "int16":
            return np.float32(max(-low, high) / 32767), 0
        scale = np.float32((high - low) / 255)
        return scale, int(np.clip(half_away(-128 - low / float(scale)), -128, 127))

    def activation(self, name, values, quantization=None, kind=None):
        kind = kind or self.kind
        scale, zero_point = quantization or self.range_of(values, kind)
        return self.add(Tensor(name, (1, *values.shape[1:]), kind, (float(scale),), zero_point), values)

    def input(self, shape):
        """Waves and noise: neighbouring values are alike, as in images and sounds."""
        grid = np.arange(int(np.prod(shape))).reshape(shape)
        waves = [np.sin(grid * f + p) for f, p in zip(self.random.uniform(0.05, 1.2, CALIBRATION), self.random.uniform(0, 6, CALIBRATION))]
        self.input_number = self.activation("input", np.array(waves) + self.random.normal(0.3, 0.5, (CALIBRATION, *shape)))
        return self.input_number

    def weights(self, name, shape, fan_in, axis=None, spread=0.6):
        """Codes and scales, and the real values that these stand for. Per channel: of different size."""
        values = self.random.normal(0, np.sqrt(1.6 / fan_in), shape)
        if axis is not None:
            sizes = [1] * len(shape)
            sizes[axis] = shape[axis]
            values = values * np.exp(self.random.normal(0, spread, sizes))
        others = None if axis is None else tuple(i for i in range(len(shape)) if i != axis)
        scales = np.float32(np.abs(values).max(axis=others) / 127).reshape(-1)
        spread_scales = scales if axis is None else scales.reshape(sizes)
        codes = to_codes(values, spread_scales, 0, "int8")
        number = self.add(Tensor(name, tuple(shape), "int8", tuple(map(float, scales)), 0, axis or 0, codes))
        return number, codes * spread_scales.astype(np.float64), scales

    def bias(self, name, input_scale, weight_scales, count, size=0.2, kind=None):
        kind = kind or ("int64" if self.kind == "int16" else "int32")
        scales = np.float32(input_scale) * np.asarray(weight_scales, np.float32)
        codes = half_away(self.random.normal(0, size, count) / scales.astype(np.float64)).astype(kind)
        return self.add(Tensor(name, (count,), kind, tuple(map(float, scales)), 0, 0, codes)), codes * scales.astype(np.float64)

    def integers(self, name, values):
        values = np.array(values, np.int32)
        return self.add(Tensor(name, values.shape, "int32", data=values))

    def quantization_of(self, number):
        return self.tensors[number].scales[0], self.tensors[number].zero_point

    def emit(self, code, inputs, outputs, options=()):
        self.operators.append(Operator(code, tuple(inputs), tuple(outputs), options))
        return outputs[0]

    # Layers with weights.

    def sum_layer(self, code, name, x, weights, product, axis, fan_in, options, activation, bias, bias_type):
        """`product(real weights)` are the sums; `bias` False leaves it away."""
        number, values, scales = self.weights(name + "_weights", weights, fan_in, axis)
        sums, inputs = product(values), [x, number]
        if bias:
            bias_number, bias_values = self.bias(name + "_bias", self.tensors[x].scales[0], scales, sums.shape[-1], kind=bias_type)
            sums = sums + bias_values
            inputs.append(bias_number)
        return self.emit(code, inputs, [self.activation(name, real.bounded(sums, activation))], options)

    def conv(self, name, x, channels, size, strides=(1, 1), padding="same", dilation=1, activation=None, bias=True, bias_type=None):
        shape = (channels, *size, self.real[x].shape[3])
        options = tflite.conv_options(padding, strides, dilation, activation, None if bias else bias_type)
        return self.sum_layer("CONV_2D", name, x, shape, lambda w: real.conv(self.real[x], w, strides, padding, dilation), 0,
                              np.prod(shape[1:]), options, activation, bias, bias_type)

    def depthwise(self, name, x, size, strides=(1, 1), padding="same", multiplier=1, activation=None):
        shape = (1, *size, self.real[x].shape[3] * multiplier)
        return self.sum_layer("DEPTHWISE_CONV_2D", name, x, shape, lambda w: real.depthwise(self.real[x], w, strides, padding), 3,
                              np.prod(size), tflite.depthwise_options(padding, strides, multiplier, activation), activation, True, None)

    def fully_connected(self, name, x, channels, activation=None, bias=True, bias_type=None, per_channel=False):
        shape = (channels, self.real[x].shape[1])
        options = tflite.fully_connected_options(activation, None if bias else bias_type)
        return self.sum_layer("FULLY_CONNECTED", name, x, shape, lambda w: self.real[x] @ w.T, 0 if per_channel else None, shape[1],
                              options, activation, bias, bias_type)

    def transpose_conv(self, name, x, channels, size, strides):
        shape = (channels, *size, self.real[x].shape[3])
        number, values, scales = self.weights(name + "_weights", shape, np.prod(shape[1:]), 0)
        sums = real.transpose_conv(self.real[x], values, strides)
        out_shape = self.integers(name + "_shape", (1, *sums.shape[1:]))
        bias, bias_values = self.bias(name + "_bias", self.tensors[x].scales[0], scales, channels)
        return self.emit("TRANSPOSE_CONV", [out_shape, number, x, bias], [self.activation(name, sums + bias_values)],
                         tflite.transpose_conv_options("valid", strides))

    def matmul(self, name, a, b, transpose_b):
        product = np.matmul(self.real[a], np.swapaxes(self.real[b], 1, 2) if transpose_b else self.real[b])
        return self.emit("BATCH_MATMUL", [a, b], [self.activation(name, product)], tflite.matmul_options(transpose_b))

    # Layers of two tensors, and of one.

    def arithmetic(self, code, name, a, b, activation=None):
        number, operation = {"ADD": (11, np.add), "SUB": (28, np.subtract), "MUL": (21, np.multiply)}[code]
        values = real.bounded(operation(self.real[a], self.real[b]), activation)
        return self.emit(code, [a, b], [self.activation(name, values)], tflite.activation_options(number, activation))

    def pool(self, code, name, x, size, strides, padding="valid", activation=None):
        values = {"AVERAGE_POOL_2D": real.average_pool, "MAX_POOL_2D": real.max_pool}[code](self.real[x], size, strides, padding)
        number = self.activation(name, values, self.quantization_of(x))
        return self.emit(code, [x], [number], tflite.pool_options(padding, strides, size, activation))

    def mean(self, name, x, axes, keep_dims=False):
        values = self.real[x].mean(axis=tuple(axes), keepdims=keep_dims)
        return self.emit("MEAN", [x, self.integers(name + "_axes", axes)], [self.activation(name, values)], tflite.mean_options(keep_dims))

    def function(self, code, name, x):
        """Logistic, tanh and softmax have outputs of a quantisation of their own."""
        function = {"LOGISTIC": real.logistic, "TANH": np.tanh, "SOFTMAX": real.softmax, "HARD_SWISH": real.hard_swish,
                    "RELU": lambda values: np.maximum(values, 0), "ABS": np.abs}[code]
        small, large = {"LOGISTIC": ((1 / 256, -128), (1 / 32768, 0)), "TANH": ((1 / 128, 0), (1 / 32768, 0)),
                        "SOFTMAX": ((1 / 256, -128), (1 / 32768, 0))}.get(code, (None, None))
        number = self.activation(name, function(self.real[x]), small if self.kind == "int8" else large)
        return self.emit(code, [x], [number], tflite.softmax_options() if code == "SOFTMAX" else ())

    def leaky_relu(self, name, x, alpha):
        return self.emit("LEAKY_RELU", [x], [self.activation(name, real.leaky_relu(self.real[x], alpha))], tflite.leaky_relu_options(alpha))

    def prelu(self, name, x):
        shape = (1, 1, self.real[x].shape[-1])
        number, alpha, _ = self.weights(name + "_alpha", shape, 8)
        return self.emit("PRELU", [x, number], [self.activation(name, real.leaky_relu(self.real[x], alpha))])

    def quantize(self, name, x, like=None, kind=None):
        """To the quantisation of `like`, or to one of its own."""
        quantization = None if like is None else self.quantization_of(like)
        return self.emit("QUANTIZE", [x], [self.activation(name, self.real[x], quantization, kind)])

    # Layers that move.

    def moved(self, code, name, x, values, others=(), options=()):
        return self.emit(code, [x, *others], [self.activation(name, values, self.quantization_of(x))], options)

    def concat(self, name, parts, axis=-1):
        values = np.concatenate([self.real[part] for part in parts], axis=axis)
        return self.emit("CONCATENATION", parts, [self.activation(name, values, self.quantization_of(parts[0]))],
                         tflite.concat_options(axis))

    def reshape(self, name, x, shape):
        values = self.real[x].reshape(CALIBRATION, *shape)
        return self.moved("RESHAPE", name, x, values, [self.integers(name + "_shape", (1, *shape))])

    def pad(self, name, x, paddings):
        around = ((0, 0), *paddings)
        return self.moved("PAD", name, x, np.pad(self.real[x], around), [self.integers(name + "_paddings", around)])

    def transpose(self, name, x, order):
        return self.moved("TRANSPOSE", name, x, self.real[x].transpose(order), [self.integers(name + "_order", order)])

    def strided_slice(self, name, x, begin, end, strides):
        values = self.real[x][(slice(None), *(slice(*axis) for axis in zip(begin, end, strides)))]
        places = [self.integers(f"{name}_{what}", (first, *rest))
                  for what, first, rest in (("begin", 0, begin), ("end", 1, end), ("strides", 1, strides))]
        return self.moved("STRIDED_SLICE", name, x, values, places, tflite.strided_slice_options())

    def split(self, name, x, parts, axis):
        values = np.split(self.real[x], parts, axis=axis)
        where = self.integers(name + "_axis", [axis])
        numbers = [self.activation(f"{name}_{i}", part, self.quantization_of(x)) for i, part in enumerate(values)]
        self.emit("SPLIT", [where, x], numbers, tflite.split_options(parts))
        return numbers

    def resize(self, name, x, size, align_corners=False, half_pixel=False, nearest=False):
        rows, columns = (np.arange(out) * there // out for out, there in zip(size, self.real[x].shape[1:3]))
        code = "RESIZE_NEAREST_NEIGHBOR" if nearest else "RESIZE_BILINEAR"
        return self.moved(code, name, x, self.real[x][:, rows][:, :, columns], [self.integers(name + "_size", size)],
                          tflite.resize_options(nearest, align_corners, half_pixel))

    def gather(self, name, x, indices, axis):
        return self.moved("GATHER", name, x, self.real[x].take(indices, axis), [self.integers(name + "_indices", indices)],
                          tflite.gather_options(axis))

    def pack(self, name, parts, axis):
        values = np.stack([self.real[part] for part in parts], axis)
        return self.emit("PACK", parts, [self.activation(name, values, self.quantization_of(parts[0]))],
                         tflite.pack_options(len(parts), axis))

    def parts(self, code, name, x, values, others=(), options=()):
        numbers = [self.activation(f"{name}_{i}", part, self.quantization_of(x)) for i, part in enumerate(values)]
        self.emit(code, [x, *others], numbers, options)
        return numbers

    def unpack(self, name, x, axis):
        count = self.real[x].shape[axis]
        return self.parts("UNPACK", name, x, np.moveaxis(self.real[x], axis, 0), options=tflite.unpack_options(count, axis))

    def split_v(self, name, x, sizes, axis):
        values = np.split(self.real[x], np.cumsum(sizes)[:-1], axis)
        return self.parts("SPLIT_V", name, x, values, [self.integers(name + "_sizes", sizes), self.integers(name + "_axis", [axis])],
                          tflite.block_options(79, len(sizes)))

    def blocks(self, code, name, x, size):
        """SPACE_TO_DEPTH, DEPTH_TO_SPACE."""
        count, height, width, channels = self.real[x].shape
        if code == "SPACE_TO_DEPTH":
            shape, out = (count, height // size, size, width // size, size, channels), (count, height // size, width // size, -1)
        else:
            shape, out = (count, height, width, size, size, channels // size ** 2), (count, height * size, width * size, -1)
        values = self.real[x].reshape(shape).swapaxes(2, 3).reshape(out)
        return self.moved(code, name, x, values, options=tflite.block_options(19 if code == "SPACE_TO_DEPTH" else 94, size))

    def mirror_pad(self, name, x, paddings, symmetric):
        around = ((0, 0), *paddings)
        return self.moved("MIRROR_PAD", name, x, np.pad(self.real[x], around, "symmetric" if symmetric else "reflect"),
                          [self.integers(name + "_paddings", around)], tflite.mirror_pad_options(symmetric))

    def broadcast(self, name, x, shape):
        return self.moved("BROADCAST_TO", name, x, np.broadcast_to(self.real[x], (CALIBRATION, *shape)),
                          [self.integers(name + "_shape", (1, *shape))])

    # Layers that compare.

    def extreme(self, code, name, a, b):
        return self.moved(code, name, a, {"MAXIMUM": np.maximum, "MINIMUM": np.minimum}[code](self.real[a], self.real[b]), [b])

    def reduction(self, code, name, x, axes, keep_dims=False):
        """SUM has a quantisation of its own."""
        reduce = {"SUM": np.sum, "REDUCE_MAX": np.max, "REDUCE_MIN": np.min}[code]
        values = reduce(self.real[x], axis=tuple(axes), keepdims=keep_dims)
        number = self.activation(name, values, None if code == "SUM" else self.quantization_of(x))
        return self.emit(code, [x, self.integers(name + "_axes", axes)], [number], tflite.mean_options(keep_dims))

    def arg_max(self, name, x, axis):
        values = self.real[x].argmax(axis)
        number = self.add(Tensor(name, (1, *values.shape[1:]), "int32"), values)
        return self.emit("ARG_MAX", [x, self.integers(name + "_axis", [axis])], [number], tflite.arg_max_options())

    # Layers that remember.

    def lstm(self, name, x, units, cell_clip=0.0):
        features, fan_in = self.real[x].shape[2], self.real[x].shape[2] + units
        gates = ("input", "forget", "cell", "output")
        input_weights = [self.weights(f"{name}_input_to_{gate}", (units, features), fan_in / 3) for gate in gates]
        recurrent_weights = [self.weights(f"{name}_recurrent_to_{gate}", (units, units), fan_in / 2) for gate in gates]
        biases = [self.bias(f"{name}_{gate}_bias", self.tensors[x].scales[0], weights[2], units, 0.5)
                  for gate, weights in zip(gates, input_weights)]
        values, cells = real.lstm(self.real[x], [w[1] for w in input_weights], [w[1] for w in recurrent_weights], [b[1] for b in biases])
        quantization = self.range_of(values, self.kind)
        cell_scale = 2.0 ** np.ceil(np.log2(np.abs(cells).max() / 32768))
        hidden = self.add(Tensor(name + "_hidden", (1, units), self.kind, (float(quantization[0]),), quantization[1], variable=True))
        cell = self.add(Tensor(name + "_cell", (1, units), "int16", (float(cell_scale),), variable=True))
        inputs = [x, *(w[0] for w in input_weights), *(w[0] for w in recurrent_weights), -1, -1, -1, *(b[0] for b in biases), -1, -1, hidden,
                  cell, -1, -1, -1, -1]
        return self.emit("UNIDIRECTIONAL_SEQUENCE_LSTM", inputs, [self.activation(name, values, quantization)],
                         tflite.lstm_options(cell_clip))

    def svdf(self, name, x, units, memory, rank, state_kind="int16", activation="relu"):
        filters, features = units * rank, self.real[x].shape[1]
        feature_number, feature_values, _ = self.weights(name + "_features", (filters, features), features)
        time_values = self.random.normal(0, 1 / np.sqrt(memory), (filters, memory))
        time_scale = np.float32(np.abs(time_values).max() / LARGEST[state_kind])
        time_codes = to_codes(time_values, time_scale, 0, state_kind)
        time = self.add(Tensor(name + "_time", (filters, memory), state_kind, (float(time_scale),), 0, 0, time_codes))
        _, states = real.svdf(self.real[x], feature_values, time_values, 0, rank)
        state_scale = np.float32(np.abs(states).max() * COVERED / LARGEST[state_kind])
        bias, bias_values = self.bias(name + "_bias", state_scale, [time_scale], units)
        values = real.svdf(self.real[x], feature_values, time_values, bias_values, rank)[0]
        state = self.add(Tensor(name + "_state", (1, filters * memory), state_kind, (float(state_scale),), variable=True))
        return self.emit("SVDF", [x, feature_number, time, bias, state], [self.activation(name, real.bounded(values, activation))],
                         tflite.svdf_options(rank, activation))

    # The files.

    def file(self, outputs):
        return tflite.tflite_file(self.name, self.tensors, self.operators, [self.input_number], outputs)

    def inputs(self):
        """The first samples, as codes of shape [samples, 1, ...]."""
        values = self.real[self.input_number][: self.samples]
        scale, zero_point = self.quantization_of(self.input_number)
        return to_codes(values, scale, zero_point, self.kind)[:, None]

    def computed(self):
        """Numbers of the tensors that a run computes."""
        return [i for i, tensor in enumerate(self.tensors) if tensor.data is None and i != self.input_number]
