# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A .tflite file from tensors and operators. Ids and numbers are those of the format's schema."""

from typing import NamedTuple, Optional

import numpy as np

from .flatbuffer import Table, file, raw, scalar, string, tables, vector

TYPES = {"float32": 0, "int32": 2, "int64": 4, "int16": 7, "int8": 9}
CODES = {"ADD": 0, "AVERAGE_POOL_2D": 1, "CONCATENATION": 2, "CONV_2D": 3, "DEPTHWISE_CONV_2D": 4, "DEQUANTIZE": 6, "FULLY_CONNECTED": 9,
         "LOGISTIC": 14, "MAX_POOL_2D": 17, "MUL": 18, "RELU": 19, "RESHAPE": 22, "SOFTMAX": 25, "SVDF": 27, "TANH": 28, "PAD": 34,
         "TRANSPOSE": 39, "MEAN": 40, "SUB": 41, "UNIDIRECTIONAL_SEQUENCE_LSTM": 44, "STRIDED_SLICE": 45, "SPLIT": 49, "PRELU": 54,
         "TRANSPOSE_CONV": 67, "LEAKY_RELU": 98, "QUANTIZE": 114, "HARD_SWISH": 117, "BATCH_MATMUL": 126,
         "DEPTH_TO_SPACE": 5, "RESIZE_BILINEAR": 23, "SPACE_TO_DEPTH": 26, "GATHER": 36, "MAXIMUM": 55, "ARG_MAX": 56, "MINIMUM": 57,
         "SUM": 74, "REDUCE_MAX": 82, "PACK": 83, "UNPACK": 88, "REDUCE_MIN": 89, "RESIZE_NEAREST_NEIGHBOR": 97, "MIRROR_PAD": 100, "ABS": 101,
         "SPLIT_V": 102, "BROADCAST_TO": 130}
ACTIVATIONS = {None: 0, "relu": 1, "relu6": 3, "tanh": 4}
PADDINGS = {"same": 0, "valid": 1}


class Tensor(NamedTuple):
    name: str
    shape: tuple
    type: str
    scales: tuple = ()
    zero_point: int = 0
    axis: int = 0
    data: Optional[np.ndarray] = None
    variable: bool = False


class Operator(NamedTuple):
    code: str
    inputs: tuple
    outputs: tuple
    options: tuple = ()  # number in the union, table


def quantization(tensor):
    if not tensor.scales:
        return None
    return Table({2: vector("f", tensor.scales), 3: vector("q", [tensor.zero_point] * len(tensor.scales)), 6: scalar("i", tensor.axis)})


def tensor_table(tensor, buffer):
    return Table({0: vector("i", tensor.shape), 1: scalar("b", TYPES[tensor.type]), 2: scalar("I", buffer), 3: string(tensor.name),
                  4: quantization(tensor), 5: scalar("B", tensor.variable)})


def operator_table(operator, codes):
    number, options = operator.options or (0, None)
    return Table({0: scalar("I", codes.index(operator.code)), 1: vector("i", operator.inputs), 2: vector("i", operator.outputs),
                  3: scalar("B", number), 4: options})


def tflite_file(name, tensors, operators, inputs, outputs):
    """The file's bytes. Buffer 0 is the empty one; every constant has its own."""
    buffers, numbers = [Table({})], []
    for tensor in tensors:
        numbers.append(0 if tensor.data is None else len(buffers))
        if tensor.data is not None:
            buffers.append(Table({0: raw(tensor.data.astype(np.dtype(tensor.type).newbyteorder("<")).tobytes())}))
    codes = sorted({operator.code for operator in operators}, key=CODES.get)
    graph = Table({0: tables([tensor_table(*pair) for pair in zip(tensors, numbers)]), 1: vector("i", inputs), 2: vector("i", outputs),
                   3: tables([operator_table(operator, codes) for operator in operators]), 4: string(name)})
    code_tables = [Table({0: scalar("b", min(CODES[code], 127)), 2: scalar("i", 1), 3: scalar("i", CODES[code])}) for code in codes]
    model = Table({0: scalar("I", 3), 1: tables(code_tables), 2: tables([graph]), 3: string("lastbit"), 4: tables(buffers)})
    return file(model, b"TFL3")


# The options of operators: the number in the union and the table.


def window(padding, strides):
    return {0: scalar("b", PADDINGS[padding]), 1: scalar("i", strides[1]), 2: scalar("i", strides[0])}


def conv_options(padding, strides, dilation, activation, bias_type=None):
    return 1, Table(window(padding, strides) | {3: scalar("b", ACTIVATIONS[activation]), 4: scalar("i", dilation), 5: scalar("i", dilation),
                                                6: bias_type and scalar("b", TYPES[bias_type])})


def depthwise_options(padding, strides, multiplier, activation):
    return 2, Table(window(padding, strides) | {3: scalar("i", multiplier), 4: scalar("b", ACTIVATIONS[activation])})


def pool_options(padding, strides, size, activation=None):
    return 5, Table(window(padding, strides) | {3: scalar("i", size[1]), 4: scalar("i", size[0]), 5: scalar("b", ACTIVATIONS[activation])})


def transpose_conv_options(padding, strides):
    return 49, Table(window(padding, strides))


def fully_connected_options(activation, bias_type=None):
    return 8, Table({0: scalar("b", ACTIVATIONS[activation]), 4: bias_type and scalar("b", TYPES[bias_type])})


def activation_options(number, activation):
    """Add 11, sub 28, mul 21. Of add and sub: no power-of-two scales."""
    return number, Table({0: scalar("b", ACTIVATIONS[activation]), 1: None if number == 21 else scalar("B", 0)})


def concat_options(axis):
    return 10, Table({0: scalar("i", axis)})


def mean_options(keep_dims):
    return 27, Table({0: scalar("B", keep_dims)})


def softmax_options(beta=1.0):
    return 9, Table({0: scalar("f", beta)})


def leaky_relu_options(alpha):
    return 75, Table({0: scalar("f", alpha)})


def split_options(parts):
    return 35, Table({0: scalar("i", parts)})


def strided_slice_options():
    return 32, Table({})


def matmul_options(transpose_b):
    return 101, Table({1: scalar("B", transpose_b)})


def svdf_options(rank, activation):
    return 6, Table({0: scalar("i", rank), 1: scalar("b", ACTIVATIONS[activation])})


def lstm_options(cell_clip):
    return 71, Table({0: scalar("b", ACTIVATIONS["tanh"]), 1: scalar("f", cell_clip)})


def resize_options(nearest, align_corners, half_pixel):
    first = 0 if nearest else 2
    return 74 if nearest else 15, Table({first: scalar("B", align_corners), first + 1: scalar("B", half_pixel)})


def arg_max_options():
    return 40, Table({0: scalar("b", TYPES["int32"])})


def gather_options(axis):
    return 23, Table({0: scalar("i", axis)})


def pack_options(count, axis):
    return 59, Table({0: scalar("i", count), 1: scalar("i", axis)})


def unpack_options(count, axis):
    return 64, Table({0: scalar("i", count), 1: scalar("i", axis)})


def block_options(number, size):
    """Space to depth 19, depth to space 94."""
    return number, Table({0: scalar("i", size)})


def mirror_pad_options(symmetric):
    return 77, Table({0: scalar("b", symmetric)})
