# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Random layers of each operator that TensorFlow Lite's own kernels compute on codes."""
import numpy as np

from tflite_file import Layer, Tensor

BOUNDS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}
ACTIVATIONS = (0, 0, 0, 1, 2, 3)  # none, relu, relu_n1_to_1, relu6
SAME, VALID = 0, 1


class Draw:
    """What is random of a layer. Every other layer has scales that are powers of two: its values meet ties."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        self.powers_of_two = self.rng.integers(2) == 0

    def whole(self, least, largest):
        return int(self.rng.integers(least, largest + 1))

    def one_of(self, *values):
        return values[self.whole(0, len(values) - 1)]

    def scale(self, about):
        """A float32 scale near `about`, within a factor of two."""
        if self.powers_of_two:
            return np.float32(2.0 ** (np.floor(np.log2(about)) + self.whole(0, 1)))
        return np.float32(about * 2.0 ** self.rng.uniform(-1, 1))

    def zero_point(self, type):
        least, largest = BOUNDS[type]
        if type == "int16":
            return 0
        return self.one_of(least, largest, 0 if type == "int8" else 128, *(self.whole(least, largest) for _ in range(4)))

    def codes(self, type, shape, zero_point=0):
        least, largest = BOUNDS[type]
        kind = self.whole(0, 7)
        if kind == 0:  # the ends alone
            return self.rng.choice(np.array([least, largest], type), shape)
        if kind == 1:  # near the zero point
            return np.clip(zero_point + self.rng.integers(-4, 5, shape), least, largest).astype(type)
        if kind == 2:  # all the same
            return np.full(shape, self.one_of(least, largest, self.whole(least, largest)), type)
        return self.rng.integers(least, largest + 1, shape).astype(type)

    def data(self, type, shape, about=0.05):
        """A fed tensor and its codes."""
        zero_point = self.zero_point(type)
        if type == "int16":
            about /= 128
        tensor = Tensor(type, shape, (self.scale(about),), (zero_point,))
        return tensor, self.codes(type, shape, zero_point)

    def output(self, type, shape, about):
        return Tensor(type, shape, (self.scale(about),), (self.zero_point(type),))


def output_about(type, spread):
    """The scale with which values of this spread fill the type, or saturate it somewhat."""
    return spread / (40 if type != "int16" else 12000)


def windowed(draw, size, filter, stride, dilation, padding):
    reach = (filter - 1) * dilation + 1
    return -(-size // stride) if padding == SAME else -(-(size - reach + 1) // stride)


def image(draw, channels, largest=8):
    return (draw.one_of(1, 1, 2), draw.whole(1, largest), draw.whole(1, largest), channels)


def weights_and_bias(draw, data, type, shape, axis, per_channel, taps, optional=False, bias32=False):
    """Weights, bias or none, and the spread of the sums as real numbers."""
    channels = shape[axis]
    count = channels if per_channel else 1
    scales = tuple(draw.scale(0.02) for _ in range(count))
    zero = draw.zero_point("uint8") if type == "uint8" else 0
    weight_type = "uint8" if type == "uint8" else "int8"
    codes = draw.codes(weight_type, shape, zero)
    if weight_type == "int8":
        codes = np.maximum(codes, -127)
    weights = Tensor(weight_type, shape, scales, (zero,) * count, axis, codes)
    spread = np.sqrt(taps) * 70 * 60 * float(data.scale[0]) * float(np.mean(scales)) * (128 if type == "int16" else 1)
    bias = None
    if not optional or draw.whole(0, 5):
        bias_type = "int32" if type != "int16" else draw.one_of("int64", "int64", "int32") if bias32 else "int64"
        bias_scales = tuple(np.float32(np.float32(data.scale[0]) * scale) for scale in scales)
        values = draw.rng.integers(-20000, 20000, channels) * (100 if type == "int16" else 1)
        bias = Tensor(bias_type, (channels,), bias_scales, (0,) * count, 0, values)
    return weights, bias, spread


def convolution_shape(draw):
    while True:
        filter = (draw.whole(1, 4), draw.whole(1, 4))
        stride = (draw.whole(1, 2), draw.whole(1, 2))
        dilation = draw.one_of((1, 1), (1, 1), (1, 1), (2, 1), (1, 2), (2, 2))
        padding = draw.one_of(SAME, VALID)
        size = (draw.whole(1, 9), draw.whole(1, 9))
        out = [windowed(draw, *axis, padding) for axis in zip(size, filter, stride, dilation)]
        if min(out) >= 1:
            return filter, stride, dilation, padding, size, out


def convolution_options(stride, dilation, padding, draw):
    return {"padding": padding, "strideH": stride[0], "strideW": stride[1], "dilationHFactor": dilation[0], "dilationWFactor": dilation[1],
            "fusedActivationFunction": draw.one_of(*ACTIVATIONS)}


def conv2d(draw, type, groups=1):
    filter, stride, dilation, padding, size, out = convolution_shape(draw)
    depth, channels = draw.whole(1, 10), draw.whole(1, 9) * groups
    data, codes = draw.data(type, (draw.one_of(1, 1, 2), *size, depth * groups))
    per_channel = type != "uint8" and draw.whole(0, 2) > 0
    weights, bias, spread = weights_and_bias(draw, data, type, (channels, *filter, depth), 0, per_channel, filter[0] * filter[1] * depth, bias32=True)
    result = draw.output(type, (data.shape[0], *out, channels), output_about(type, spread))
    options = convolution_options(stride, dilation, padding, draw) | bias_option(draw, type, bias)
    return Layer("CONV_2D", [data, weights, bias], [result], ("Conv2DOptions", options), [codes])


def bias_option(draw, type, bias):
    """Of 16-bit data: what type the bias has, or would have."""
    bias_type = bias.type if bias else draw.one_of("int32", "int64")
    return {"quantizedBiasType": {"int32": 2, "int64": 4}[bias_type]} if type == "int16" else {}


def grouped_conv2d(draw, type):
    return conv2d(draw, type, draw.whole(2, 4))


def depthwise_conv2d(draw, type):
    filter, stride, dilation, padding, size, out = convolution_shape(draw)
    stride = (stride[0], stride[0])
    out = [windowed(draw, *axis, padding) for axis in zip(size, filter, stride, dilation)]
    depth, multiplier = draw.one_of(draw.whole(1, 12), 8, 16), draw.one_of(1, 1, 1, 2, 3)
    data, codes = draw.data(type, (draw.one_of(1, 1, 2), *size, depth))
    per_channel = type != "uint8"
    shape = (1, *filter, depth * multiplier)
    weights, bias, spread = weights_and_bias(draw, data, type, shape, 3, per_channel, filter[0] * filter[1])
    result = draw.output(type, (data.shape[0], *out, shape[3]), output_about(type, spread))
    options = convolution_options(stride, dilation, padding, draw) | {"depthMultiplier": multiplier}
    return Layer("DEPTHWISE_CONV_2D", [data, weights, bias], [result], ("DepthwiseConv2DOptions", options), [codes])


def transposed_conv2d(draw, type):
    filter = (draw.whole(1, 4), draw.whole(1, 4))
    stride = (draw.whole(1, 3), draw.whole(1, 3))
    size = (draw.whole(1, 5), draw.whole(1, 5))
    padding = draw.one_of(SAME, VALID)
    out = tuple(n * s if padding == SAME else (n - 1) * s + max(f, s) for n, s, f in zip(size, stride, filter))
    depth, channels = draw.whole(1, 8), draw.one_of(draw.whole(1, 9), 8, 16)
    data, codes = draw.data(type, (draw.one_of(1, 1, 2), *size, depth))
    per_channel = type != "uint8" and draw.whole(0, 2) > 0
    taps = filter[0] * filter[1] * depth / (stride[0] * stride[1])
    weights, bias, spread = weights_and_bias(draw, data, type, (channels, *filter, depth), 0, per_channel, max(taps, 1), optional=True)
    shape = (data.shape[0], *out, channels)
    options = {"padding": padding, "strideH": stride[0], "strideW": stride[1], "fusedActivationFunction": draw.one_of(*ACTIVATIONS)}
    result = draw.output(type, shape, output_about(type, spread))
    inputs = [Tensor("int32", (4,), data=np.array(shape)), weights, data] + ([bias] if bias else [])
    return Layer("TRANSPOSE_CONV", inputs, [result], ("TransposeConvOptions", options), [codes], version=4)


def fully_connected(draw, type, per_channel=False, rows=None):
    rows = rows or draw.whole(1, 5)
    depth, channels = draw.one_of(draw.whole(1, 40), 8, 16, 32), draw.whole(1, 20)
    data, codes = draw.data(type, (rows, depth))
    weights, bias, spread = weights_and_bias(draw, data, type, (channels, depth), 0, per_channel, depth, optional=True, bias32=True)
    result = draw.output(type, (rows, channels), output_about(type, spread))
    options = {"fusedActivationFunction": draw.one_of(*ACTIVATIONS), "keepNumDims": False} | bias_option(draw, type, bias)
    return Layer("FULLY_CONNECTED", [data, weights, bias], [result], ("FullyConnectedOptions", options), [codes])


def fully_connected_per_channel(draw, type):
    return fully_connected(draw, type, True)


def one_row(draw, type):
    return fully_connected(draw, type, False, 1)


def batch_matmul(draw, type):
    batch, m, k, n = draw.whole(1, 3), draw.whole(1, 6), draw.whole(1, 20), draw.whole(1, 8)
    adjoint_a, adjoint_b = bool(draw.whole(0, 1)), bool(draw.whole(0, 1))
    a, a_codes = draw.data(type, (batch, k, m) if adjoint_a else (batch, m, k))
    b, b_codes = draw.data(type, (batch, n, k) if adjoint_b else (batch, k, n))
    spread = np.sqrt(k) * 70 * 70 * float(a.scale[0]) * float(b.scale[0]) * (128 * 128 if type == "int16" else 1)
    result = draw.output(type, (batch, m, n), output_about(type, spread))
    return Layer("BATCH_MATMUL", [a, b], [result], ("BatchMatMulOptions", {"adjX": adjoint_a, "adjY": adjoint_b}), [a_codes, b_codes])


def pool(operator):
    def draw_pool(draw, type):
        while True:
            filter, stride = (draw.whole(1, 5), draw.whole(1, 5)), (draw.whole(1, 3), draw.whole(1, 3))
            padding, size = draw.one_of(SAME, VALID), (draw.whole(1, 9), draw.whole(1, 9))
            out = [windowed(draw, n, f, s, 1, padding) for n, f, s in zip(size, filter, stride)]
            if min(out) >= 1:
                break
        channels = draw.one_of(draw.whole(1, 12), 16, 33)
        data, codes = draw.data(type, (draw.one_of(1, 1, 2), *size, channels))
        result = Tensor(type, (data.shape[0], *out, channels), data.scale, data.zero_point)
        options = {"padding": padding, "strideH": stride[0], "strideW": stride[1], "filterHeight": filter[0], "filterWidth": filter[1],
                   "fusedActivationFunction": draw.one_of(*ACTIVATIONS)}
        return Layer(operator, [data], [result], ("Pool2DOptions", options), [codes])
    return draw_pool


def reduction(operator, over_image=None, same=False):
    def draw_reduction(draw, type):
        shape = image(draw, draw.one_of(draw.whole(1, 9), 16, 20), 9)
        axes = (1, 2) if over_image or (over_image is None and draw.whole(0, 1)) else draw.one_of((1,), (2,), (3,), (1, 3), (2, 3), (1, 2, 3), (-1,))
        if over_image is False and axes == (1, 2):
            axes = (2, 3)
        keep = bool(draw.whole(0, 1))
        data, codes = draw.data(type, shape)
        reduced = {axis % 4 for axis in axes}
        out = tuple(1 if i in reduced else n for i, n in enumerate(shape) if keep or i not in reduced)
        count = int(np.prod([shape[i] for i in reduced]))
        if same:
            result = Tensor(type, out, data.scale, data.zero_point)
        else:
            about = float(data.scale[0]) * (2.0 ** draw.whole(-3, 1) if operator == "MEAN" else np.sqrt(count) * draw.one_of(1, 3))
            result = draw.output(type, out, about)
            if draw.whole(0, 3) == 0 and operator == "MEAN":
                result = Tensor(type, out, data.scale, data.zero_point)
        inputs = [data, Tensor("int32", (len(axes),), data=np.array(axes))]
        return Layer(operator, inputs, [result], ("ReducerOptions", {"keepDims": keep}), [codes], version=2)
    return draw_reduction


def operand_shapes(draw):
    shape = (draw.one_of(1, 2), draw.whole(1, 5), draw.whole(1, 6), draw.one_of(draw.whole(1, 9), 16))
    kind = draw.whole(0, 7)
    other = shape
    if kind == 0:
        other = (1, 1, 1, shape[3])
    elif kind == 1:
        other = tuple(draw.one_of(1, n) for n in shape)
    elif kind == 2:
        other = ()
    return (other, shape) if draw.whole(0, 1) else (shape, other)


def elementwise(operator, table):
    def draw_elementwise(draw, type):
        a_shape, b_shape = operand_shapes(draw)
        a, a_codes = draw.data(type, a_shape)
        b, b_codes = draw.data(type, b_shape, 0.05 * 2.0 ** draw.whole(-3, 3))
        shape = np.broadcast_shapes(a_shape, b_shape)
        unit = 128 if type == "int16" else 1
        spread = {"MUL": 70 * 70 * unit * unit * float(a.scale[0]) * float(b.scale[0])}.get(operator, 100 * unit * float(max(a.scale[0], b.scale[0])))
        result = draw.output(type, shape, output_about(type, spread))
        options = {"fusedActivationFunction": draw.one_of(*ACTIVATIONS)}
        if operator in ("ADD", "SUB") and type == "int16":  # shifts serve where one operand has the output's scale, and the other none above it
            shifts = max(a.scale[0], b.scale[0]) == result.scale[0] and a_shape == b_shape
            options["potScaleInt16"] = bool(draw.powers_of_two and shifts)
        return Layer(operator, [a, b], [result], (table, options), [a_codes, b_codes], version=2)
    return draw_elementwise


def extreme(operator):
    def draw_extreme(draw, type):
        a_shape, b_shape = operand_shapes(draw)
        a, a_codes = draw.data(type, a_shape)
        b = Tensor(type, b_shape, a.scale, a.zero_point)
        result = Tensor(type, np.broadcast_shapes(a_shape, b_shape), a.scale, a.zero_point)
        return Layer(operator, [a, b], [result], ("MaximumMinimumOptions", {}), [a_codes, draw.codes(type, b_shape)], version=2)
    return draw_extreme


def concat(draw, type):
    axis, shape, count = draw.whole(0, 3), image(draw, draw.whole(1, 6), 4), draw.whole(1, 4)
    parts, fed = [], []
    first, _ = draw.data(type, shape)
    for _ in range(count):
        sizes = tuple(draw.whole(1, 4) if i == axis else n for i, n in enumerate(shape))
        tensor, codes = draw.data(type, sizes)
        if type != "uint8":
            tensor = Tensor(type, sizes, first.scale, first.zero_point)
        parts.append(tensor)
        fed.append(codes)
    out = tuple(sum(part.shape[i] for part in parts) if i == axis else n for i, n in enumerate(shape))
    result = Tensor(type, out, first.scale, first.zero_point)
    return Layer("CONCATENATION", parts, [result], ("ConcatenationOptions", {"axis": draw.one_of(axis, axis - 4)}), fed)


FIXED_OUTPUTS = {"SOFTMAX": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
                 "LOGISTIC": {"int8": (1 / 256, -128), "uint8": (1 / 256, 0), "int16": (1 / 32768, 0)},
                 "TANH": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128), "int16": (1 / 32768, 0)},
                 "L2_NORMALIZATION": {"int8": (1 / 128, 0), "uint8": (1 / 128, 128)}}


def fixed_output(operator, type, shape):
    scale, zero_point = FIXED_OUTPUTS[operator][type]
    return Tensor(type, shape, (np.float32(scale),), (zero_point,))


def softmax(draw, type):
    shape = (draw.whole(1, 6), draw.one_of(1, 2, 10, draw.whole(1, 40), 100))
    data, codes = draw.data(type, shape, 2.0 ** draw.whole(-8, 1))
    return Layer("SOFTMAX", [data], [fixed_output("SOFTMAX", type, shape)], ("SoftmaxOptions", {"beta": float(draw.one_of(1, 1, 0.5, 2, 0.7))}), [codes])


def softmax_to_int16(draw, type):
    layer = softmax(draw, type)
    layer.outputs = [Tensor("int16", layer.outputs[0].shape, (np.float32(1 / 65536),), (-32768,))]
    return layer


def function(operator):
    def draw_function(draw, type):
        data, codes = draw.data(type, (1, 256), 2.0 ** draw.whole(-8, 0))
        if type == "int16":
            powers = [2.0**e for e in range(-15, -9)]
            data.scale = (np.float32(draw.one_of(*powers) if draw.powers_of_two else float(data.scale[0])),)
            codes = draw.codes(type, (1, 256))
            data.shape = (1, 256)
        else:
            codes = np.arange(256).reshape(1, 256).astype("uint8").view(type)
        return Layer(operator, [data], [fixed_output(operator, type, data.shape)], (), [codes])
    return draw_function


def all_codes(draw, type):
    if type == "int16":
        return draw.codes(type, (1, 256))
    return np.arange(256).reshape(1, 256).astype("uint8").view(type)


def rescaling(operator, table=None, options=None):
    """One input, one output of another quantisation; every code of eight bits."""
    def draw_rescaling(draw, type):
        codes = all_codes(draw, type)
        data, _ = draw.data(type, codes.shape)
        result = draw.output(type, codes.shape, float(data.scale[0]) * 2.0 ** draw.whole(-2, 2))
        fields = options(draw) if options else {}
        return Layer(operator, [data], [result], (table, fields) if table else (), [codes])
    return draw_rescaling


def alpha(draw):
    return {"alpha": float(np.float32(draw.one_of(0.1, 0.2, 0.01, 0.5, 0.3, 1.5, draw.rng.uniform(0, 1))))}


def prelu(draw, type):
    shape = image(draw, draw.whole(1, 9), 6)
    data, codes = draw.data(type, shape)
    slopes = (1, 1, shape[3])
    zero = draw.zero_point(type)
    weights = Tensor(type, slopes, (draw.scale(0.01),), (zero,), data=draw.codes(type, slopes, zero))
    result = draw.output(type, shape, float(data.scale[0]) * 2.0 ** draw.whole(-1, 2))
    return Layer("PRELU", [data, weights], [result], (), [codes])


def quantize(draw, type):
    result = draw.output(type, (1, 64), 0.05 if type != "int16" else 0.0005)
    reals = (draw.rng.normal(size=(1, 64)) * 100).astype(np.float32) * result.scale[0]
    half = (draw.rng.integers(-300, 300, (1, 64)) + np.float32(0.5)).astype(np.float32) * result.scale[0]
    values = np.where(draw.rng.integers(0, 2, (1, 64)) == 1, reals, half).astype(np.float32)
    values[0, :2] = np.array([4e9, -4e9], np.float32) * result.scale[0]  # beyond 32 bits
    return Layer("QUANTIZE", [Tensor("float32", (1, 64))], [result], (), [values])


def dequantize(draw, type):
    codes = all_codes(draw, type)
    data, _ = draw.data(type, codes.shape)
    return Layer("DEQUANTIZE", [data], [Tensor("float32", codes.shape)], (), [codes], version=2)


def requantize(draw, type):
    codes = all_codes(draw, type)
    data, _ = draw.data(type, codes.shape)
    other = draw.one_of("int8", "int16" if type == "int16" else "uint8")
    unit = 128 if (type, other) == ("int16", "int8") else 1
    result = draw.output(other, codes.shape, float(data.scale[0]) * unit * 2.0 ** draw.whole(-2, 2))
    return Layer("QUANTIZE", [data], [result], (), [codes])


def argmax(operator, table):
    def draw_argmax(draw, type):
        shape = image(draw, draw.whole(1, 9), 5)
        axis = draw.whole(0, 3)
        data, codes = draw.data(type, shape)
        if draw.whole(0, 1):
            codes = (codes % 3).astype(type)
        out = tuple(n for i, n in enumerate(shape) if i != axis)
        inputs = [data, Tensor("int32", (), data=np.array(axis))]
        return Layer(operator, inputs, [Tensor("int32", out)], (table, {"outputType": 2}), [codes])
    return draw_argmax


def resize(operator, table):
    def draw_resize(draw, type):
        shape = image(draw, draw.whole(1, 5), 9)
        size = (draw.one_of(draw.whole(1, 20), 2 * shape[1]), draw.one_of(draw.whole(1, 20), 2 * shape[2]))
        data, codes = draw.data(type, shape)
        result = Tensor(type, (shape[0], *size, shape[3]), data.scale, data.zero_point)
        if draw.whole(0, 3) == 0:  # no kernel looks at it
            result = draw.output(type, result.shape, 0.05)
        align, half = draw.one_of((False, False), (True, False), (False, True))
        inputs = [data, Tensor("int32", (2,), data=np.array(size))]
        return Layer(operator, inputs, [result], (table, {"alignCorners": align, "halfPixelCenters": half}), [codes], version=3)
    return draw_resize


def l2_normalization(draw, type):
    shape = (draw.whole(1, 4), draw.whole(1, 3), draw.whole(1, 3), draw.one_of(1, draw.whole(1, 20), 64))
    data, codes = draw.data(type, shape)
    result = fixed_output("L2_NORMALIZATION", type, shape)
    return Layer("L2_NORMALIZATION", [data], [result], ("L2NormOptions", {"fusedActivationFunction": 0}), [codes], version=2)


def svdf(draw, type):
    """Eight calls in a row."""
    calls, depth, rank, units, memory = 8, draw.whole(1, 10), draw.whole(1, 3), draw.whole(1, 5), draw.whole(1, 6)
    filters = units * rank
    data, _ = draw.data(type, (1, depth))
    codes = draw.codes(type, (calls, 1, depth))
    feature = Tensor("int8", (filters, depth), (draw.scale(0.02),), (0,), data=np.maximum(draw.codes("int8", (filters, depth)), -127))
    state_scale = draw.scale(float(data.scale[0]) * float(feature.scale[0]) * np.sqrt(depth) * 70 / 128)
    state = Tensor("int16", (1, filters * memory), (state_scale,), (0,), variable=True)
    time = Tensor("int16", (filters, memory), (draw.scale(0.0002),), (0,), data=draw.codes("int16", (filters, memory)) // 8)
    sum_scale = np.float32(state.scale[0] * time.scale[0])
    bias = Tensor("int32", (units,), (sum_scale,), (0,), data=draw.rng.integers(-1000000, 1000000, units))
    spread = np.sqrt(rank * memory) * 6000 * 2000 * float(sum_scale)
    result = draw.output(type, (1, units), output_about(type, spread))
    options = {"rank": rank, "fusedActivationFunction": 1}
    return Layer("SVDF", [data, feature, time, bias, state], [result], ("SVDFOptions", options), [codes], version=3)


def lstm(draw, type):
    """Four calls in a row, of some steps each."""
    calls, steps, depth, cells = 4, draw.whole(1, 4), draw.whole(1, 10), draw.whole(1, 8)
    data, _ = draw.data(type, (1, steps, depth))
    hidden = Tensor(type, (1, cells), (np.float32(1 / 128),) if draw.powers_of_two else (draw.scale(0.007),), (draw.zero_point(type),), variable=True)
    cell = Tensor("int16", (1, cells), (np.float32(2.0 ** draw.whole(-14, -9)),), (0,), variable=True)

    def weights(columns, about):
        return Tensor("int8", (cells, columns), (draw.scale(about),), (0,), data=np.maximum(draw.codes("int8", (cells, columns)), -127))

    inputs = [weights(depth, 0.01) for _ in range(4)]
    recurrent = [weights(cells, 0.01) for _ in range(4)]
    biases = [Tensor("int32", (cells,), (np.float32(data.scale[0] * tensor.scale[0]),), (0,), data=draw.rng.integers(-2000, 2000, cells)) for tensor in inputs]
    between = [Tensor("int16", (), (np.float32(2.0**-12),), (0,)) for _ in range(4)] + [Tensor(type, (), hidden.scale, hidden.zero_point)]
    result = Tensor(type, (1, steps, cells), hidden.scale, hidden.zero_point)
    options = {"fusedActivationFunction": 4, "cellClip": float(draw.one_of(0, 0, 1, 0.7)), "projClip": 0.0, "timeMajor": False}
    tensors = [data, *inputs, *recurrent, None, None, None, *biases, None, None, hidden, cell, None, None, None, None]
    fed = [draw.codes(type, (calls, 1, steps, depth))]
    return Layer("UNIDIRECTIONAL_SEQUENCE_LSTM", tensors, [result], ("UnidirectionalSequenceLSTMOptions", options), fed, between, 3)


BYTES, SIGNED, EVERY = ("int8", "uint8"), ("int8", "int16"), ("int8", "uint8", "int16")

# What is drawn, and of which types.
LAYERS = {
    "conv2d": (conv2d, EVERY),
    "grouped_conv2d": (grouped_conv2d, ("int8", "int16")),
    "depthwise_conv2d": (depthwise_conv2d, EVERY),
    "transposed_conv2d": (transposed_conv2d, EVERY),
    "fully_connected": (fully_connected, EVERY),
    "fully_connected_one_row": (one_row, ("int8", "uint8")),
    "fully_connected_per_channel": (fully_connected_per_channel, ("int8", "int16")),
    "batch_matmul": (batch_matmul, SIGNED),
    "max_pool2d": (pool("MAX_POOL_2D"), EVERY),
    "average_pool2d": (pool("AVERAGE_POOL_2D"), EVERY),
    "mean_image": (reduction("MEAN", over_image=True), EVERY),
    "mean": (reduction("MEAN", over_image=False), EVERY),
    "reduce_sum": (reduction("SUM"), BYTES),
    "reduce_max": (reduction("REDUCE_MAX", same=True), EVERY),
    "reduce_min": (reduction("REDUCE_MIN", same=True), EVERY),
    "add": (elementwise("ADD", "AddOptions"), EVERY),
    "sub": (elementwise("SUB", "SubOptions"), EVERY),
    "mul": (elementwise("MUL", "MulOptions"), EVERY),
    "maximum": (extreme("MAXIMUM"), EVERY),
    "minimum": (extreme("MINIMUM"), EVERY),
    "concat": (concat, EVERY),
    "softmax": (softmax, EVERY),
    "softmax_to_int16": (softmax_to_int16, ("int8",)),
    "logistic": (function("LOGISTIC"), EVERY),
    "tanh": (function("TANH"), EVERY),
    "relu": (rescaling("RELU"), EVERY),
    "relu6": (rescaling("RELU6"), EVERY),
    "relu_n1_to_1": (rescaling("RELU_N1_TO_1"), BYTES),
    "leaky_relu": (rescaling("LEAKY_RELU", "LeakyReluOptions", alpha), EVERY),
    "prelu": (prelu, BYTES),
    "hard_swish": (rescaling("HARD_SWISH"), BYTES),
    "abs": (rescaling("ABS"), SIGNED),
    "quantize": (quantize, EVERY),
    "dequantize": (dequantize, EVERY),
    "requantize": (requantize, EVERY),
    "argmax": (argmax("ARG_MAX", "ArgMaxOptions"), BYTES),
    "argmin": (argmax("ARG_MIN", "ArgMinOptions"), BYTES),
    "resize_bilinear": (resize("RESIZE_BILINEAR", "ResizeBilinearOptions"), EVERY),
    "resize_nearest": (resize("RESIZE_NEAREST_NEIGHBOR", "ResizeNearestNeighborOptions"), EVERY),
    "l2_normalization": (l2_normalization, BYTES),
    "svdf": (svdf, ("int8",)),
    "lstm": (lstm, ("int8",)),
}
