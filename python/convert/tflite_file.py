# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Just enough of the .tflite format (a FlatBuffer) to check a recorded case against its network: the tensors and operations of the first
subgraph. Field numbers are those of TFLite's public schema."""

import struct
from typing import NamedTuple

import numpy as np

from .recorded import Refusal

TYPES = {0: "float32", 2: "int32", 3: "uint8", 4: "int64", 6: "bool", 7: "int16", 9: "int8", 10: "float64"}
OPERATIONS = {0: "add", 3: "conv", 34: "pad", 41: "sub", 45: "strided_slice", 67: "transpose_conv", 98: "leaky_relu", 114: "quantize"}
ACTIVATIONS = {0: "NONE", 1: "RELU", 2: "RELU_N1_TO_1", 3: "RELU6"}
OPTIONS = {  # per operation: what a recording calls it, and how to read it from the options table
    "add": {"act": lambda t: ACTIVATIONS.get(t.scalar(0, "b"))},
    "sub": {"act": lambda t: ACTIVATIONS.get(t.scalar(0, "b"))},
    "conv": {"pad": lambda t: "VALID" if t.scalar(0, "b") else "SAME",
             "stride": lambda t: f"{t.scalar(2, 'i')},{t.scalar(1, 'i')}",
             "dil": lambda t: f"{t.scalar(5, 'i', 1)},{t.scalar(4, 'i', 1)}",
             "act": lambda t: ACTIVATIONS.get(t.scalar(3, "b"))},
    "transpose_conv": {"pad": lambda t: "VALID" if t.scalar(0, "b") else "SAME",
                       "stride": lambda t: f"{t.scalar(2, 'i')},{t.scalar(1, 'i')}"},
    "leaky_relu": {"alpha": lambda t: np.float32(t.scalar(0, "f"))},
    "strided_slice": {"begin_mask": lambda t: str(t.scalar(0, "i")), "end_mask": lambda t: str(t.scalar(1, "i")),
                      "shrink": lambda t: str(t.scalar(4, "i"))},
}


class Table:
    def __init__(self, data, position):
        self.data, self.position = data, position
        self.layout = position - self._read("i", position)
        self.fields = (self._read("H", self.layout) - 4) // 2

    def _read(self, code, position):
        return struct.unpack_from("<" + code, self.data, position)[0]

    def _field(self, index):
        offset = self._read("H", self.layout + 4 + 2 * index) if index < self.fields else 0
        return self.position + offset if offset else None

    def _target(self, index):
        field = self._field(index)
        return None if field is None else field + self._read("I", field)

    def scalar(self, index, code, default=0):
        field = self._field(index)
        return default if field is None else self._read(code, field)

    def table(self, index):
        target = self._target(index)
        return None if target is None else Table(self.data, target)

    def tables(self, index):
        target = self._target(index)
        starts = [] if target is None else [target + 4 + 4 * i for i in range(self._read("I", target))]
        return [Table(self.data, start + self._read("I", start)) for start in starts]

    def vector(self, index, dtype):
        target = self._target(index)
        if target is None:
            return np.empty(0, dtype)
        return np.frombuffer(self.data, np.dtype(dtype).newbyteorder("<"), self._read("I", target), target + 4)


class FileTensor(NamedTuple):
    dtype: str
    shape: list
    scale: np.ndarray
    zero_point: list
    data: bytes  # empty: not a constant


class OneOperation(NamedTuple):
    op: str
    options: Table
    tensors: list
    operands: list  # indices of tensors
    results: list
    inputs: list
    outputs: list


def read_tensor(table, buffers):
    quantized = table.table(4)
    return FileTensor(TYPES.get(table.scalar(1, "b")), table.vector(0, "int32").tolist(),
                      quantized.vector(2, "float32") if quantized else np.empty(0, "float32"),
                      quantized.vector(3, "int64").tolist() if quantized else [],
                      buffers[table.scalar(2, "I")].vector(0, "uint8").tobytes())


def read_one_operation(data):
    """A network of one operation."""
    try:
        if data[4:8] != b"TFL3":
            raise Refusal("no .tflite file")
        model = Table(data, struct.unpack_from("<I", data, 0)[0])
        graph, buffers = model.tables(2)[0], model.tables(4)
        operations = graph.tables(3)
        if len(operations) != 1:
            raise Refusal(f"{len(operations)} operations, not one")
        code = model.tables(1)[operations[0].scalar(0, "I")]
        number = max(code.scalar(0, "b"), code.scalar(3, "i"))
        tensors = [read_tensor(table, buffers) for table in graph.tables(0)]
        indices = [source.vector(i, "int32").tolist() for source in (operations[0], graph) for i in (1, 2)]
        return OneOperation(OPERATIONS.get(number, f"number {number}"), operations[0].table(4), tensors, *indices)
    except (struct.error, IndexError, ValueError) as error:
        raise Refusal(f"no readable .tflite file ({error})") from error
