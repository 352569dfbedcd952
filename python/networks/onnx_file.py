# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""An .onnx file from nodes and constants: protobuf, as much as it takes. Field numbers are those of onnx.proto."""

import struct

import numpy as np

TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}
OPSET, IR_VERSION = 17, 8


def variable_length(number):
    number &= (1 << 64) - 1
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def integer(field, number):
    return variable_length(field << 3) + variable_length(number)


def message(field, data):
    data = data.encode() if isinstance(data, str) else data
    return variable_length(field << 3 | 2) + variable_length(len(data)) + data


def attribute(name, value):
    if isinstance(value, float):
        return message(1, name) + variable_length(2 << 3 | 5) + struct.pack("<f", value) + integer(20, 1)
    if isinstance(value, int):
        return message(1, name) + integer(3, value) + integer(20, 2)
    return message(1, name) + b"".join(integer(8, one) for one in value) + integer(20, 7)


def node(operator, inputs, outputs, attributes):
    parts = [message(1, name) for name in inputs] + [message(2, name) for name in outputs] + [message(3, outputs[0]), message(4, operator)]
    return b"".join(parts + [message(5, attribute(name, value)) for name, value in attributes.items()])


def constant(name, values):
    values = np.asarray(values)
    sizes = b"".join(integer(1, size) for size in values.shape)
    return sizes + integer(2, TYPES[str(values.dtype)]) + message(8, name) + message(9, values.tobytes())


def value(name, kind, shape):
    sizes = b"".join(message(1, integer(1, size)) for size in shape)
    return message(1, name) + message(2, message(1, integer(1, TYPES[kind]) + message(2, sizes)))


def onnx_file(name, nodes, constants, inputs, outputs):
    """`nodes`: (operator, inputs, outputs, attributes); `inputs` and `outputs`: (name, type, shape)."""
    graph = b"".join(message(1, node(*one)) for one in nodes) + message(2, name)
    graph += b"".join(message(5, constant(*one)) for one in constants.items())
    graph += b"".join(message(11, value(*one)) for one in inputs) + b"".join(message(12, value(*one)) for one in outputs)
    return integer(1, IR_VERSION) + message(7, graph) + message(8, message(1, "") + integer(2, OPSET))
