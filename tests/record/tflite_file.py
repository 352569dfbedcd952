# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A .tflite file of layers: each operator reads tensors of its own."""
import dataclasses

import flatbuffers
import numpy as np


@dataclasses.dataclass
class Tensor:
    """A tensor of the file. `scale` and `zero_point` have one entry, or one per index of `axis`; `data` is what a constant holds."""

    type: str
    shape: tuple
    scale: tuple = ()
    zero_point: tuple = ()
    axis: int = 0
    data: object = None
    variable: bool = False


@dataclasses.dataclass
class Layer:
    """One operator. An absent input is None. `fed` are the values of the inputs that are no constants, in their order."""

    operator: str
    inputs: list
    outputs: list
    options: tuple = ()  # the name of the table, and its fields
    fed: list = dataclasses.field(default_factory=list)
    intermediates: list = dataclasses.field(default_factory=list)
    version: int = 1

    def calls(self):
        """How often it runs: where it remembers something, once for each row of its input."""
        return len(self.fed[0]) if any(tensor is not None and tensor.variable for tensor in self.inputs) else 1

    def arguments(self):
        return [tensor for tensor in self.inputs if tensor is not None and tensor.data is None and not tensor.variable]


class File:
    """The bytes of the format, by the generated classes of `schema` (a module that has ModelT and the others)."""

    def __init__(self, schema):
        self.schema = schema
        self.model = schema.ModelT()
        self.model.version = 3
        self.model.operatorCodes = []
        self.model.buffers = [schema.BufferT()]
        self.graph = schema.SubGraphT()
        self.graph.tensors, self.graph.operators, self.graph.inputs, self.graph.outputs = [], [], [], []
        self.model.subgraphs = [self.graph]

    def _tensor(self, tensor, name):
        schema = self.schema
        entry = schema.TensorT()
        entry.name = name
        entry.shape = [int(size) for size in tensor.shape]
        entry.type = getattr(schema.TensorType, tensor.type.upper())
        entry.isVariable = tensor.variable
        entry.buffer = 0
        if tensor.scale:
            entry.quantization = schema.QuantizationParametersT()
            entry.quantization.scale = [float(scale) for scale in tensor.scale]
            entry.quantization.zeroPoint = [int(zero) for zero in tensor.zero_point]
            entry.quantization.quantizedDimension = tensor.axis
        if tensor.data is not None:
            buffer = schema.BufferT()
            buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data, dtype=tensor.type).tobytes(), np.uint8)
            entry.buffer = len(self.model.buffers)
            self.model.buffers.append(buffer)
        self.graph.tensors.append(entry)
        return len(self.graph.tensors) - 1

    def add(self, layer, number):
        schema = self.schema
        code = getattr(schema.BuiltinOperator, layer.operator)
        known = [(entry.builtinCode, entry.version) for entry in self.model.operatorCodes]
        if (code, layer.version) not in known:
            entry = schema.OperatorCodeT()
            entry.builtinCode, entry.version = code, layer.version
            entry.deprecatedBuiltinCode = min(code, 127)
            self.model.operatorCodes.append(entry)
            known.append((code, layer.version))
        operator = schema.OperatorT()
        operator.opcodeIndex = known.index((code, layer.version))
        place = {}
        for i, tensor in enumerate(layer.inputs):
            if tensor is not None and id(tensor) not in place:
                place[id(tensor)] = self._tensor(tensor, f"x{number}_{i}")
        operator.inputs = [-1 if tensor is None else place[id(tensor)] for tensor in layer.inputs]
        operator.outputs = [self._tensor(tensor, f"y{number}_{i}" if i else f"y{number}") for i, tensor in enumerate(layer.outputs)]
        operator.intermediates = [self._tensor(tensor, f"i{number}_{i}") for i, tensor in enumerate(layer.intermediates)]
        if layer.options:
            table, fields = layer.options
            operator.builtinOptionsType = getattr(schema.BuiltinOptions, table)
            operator.builtinOptions = getattr(schema, table + "T")()
            for field, value in fields.items():
                if not hasattr(operator.builtinOptions, field):
                    raise AttributeError(f"{table} has no {field}")
                setattr(operator.builtinOptions, field, value)
        self.graph.operators.append(operator)
        arguments = layer.arguments()
        self.graph.inputs += [place[id(tensor)] for tensor in arguments]
        self.graph.outputs += operator.outputs

    def bytes(self):
        builder = flatbuffers.Builder(1024)
        builder.Finish(self.model.Pack(builder), b"TFL3")
        return bytes(builder.Output())
