# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The description of a network in the project's own format while it is made from what a PyTorch module computes.

Images have their channels last, as the format wants: a tensor "x (NHWC)". Where an operator asks for torch's own order of axes, a transpose makes "x".
"""
from __future__ import annotations

from typing import Any, Callable, NamedTuple

import numpy as np
import torch

from .errors import Error
from .torch_calls import Call

TYPES = {torch.quint8: "uint8", torch.qint8: "int8", torch.qint32: "int32", torch.uint8: "uint8", torch.int8: "int8", torch.int16: "int16",
         torch.int32: "int32", torch.int64: "int64", torch.float32: "float32", torch.float64: "float64", torch.bool: "bool"}
CHANNELS_LAST, CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)


class Codes(NamedTuple):
    """scale * (code - zero_point): one each, or one per index of axis."""

    scales: list[float]
    zero_points: list[int]
    axis: int = 0


class Later(NamedTuple):
    """An operation that is not in the description yet: on real numbers if something reads them, on codes if they are quantised."""

    real: Callable[[Value], None]
    on_codes: Callable[[Value], None] | None = None
    weights: np.ndarray | None = None  # with `bias`: what a batch norm behind it changes
    bias: np.ndarray | None = None
    with_weights: Callable[[np.ndarray, np.ndarray, Value], None] | None = None


class Value:
    """A tensor of the network: its sizes in torch's order, and its names in the description, by whether channels are last there."""

    def __init__(self, sizes, type: str, codes: Codes | None, name: str):
        self.sizes, self.type, self.codes, self.name = tuple(sizes), type, codes, name
        self.names: dict[bool, str] = {}
        self.later: Later | None = None
        self.coded: Value | None = None  # of real numbers: the codes that they come from
        self.array: np.ndarray | None = None  # of what the module holds

    @property
    def is_image(self) -> bool:
        return len(self.sizes) == 4


def as_float32(number) -> float:
    return float(np.float32(number))


def codes_of(tensor) -> Codes | None:
    if not tensor.is_quantized:
        return None
    if tensor.qscheme() in (torch.per_tensor_affine, torch.per_tensor_symmetric):
        return Codes([as_float32(tensor.q_scale())], [int(tensor.q_zero_point())])
    return Codes([as_float32(scale) for scale in tensor.q_per_channel_scales()], [int(zero) for zero in tensor.q_per_channel_zero_points()],
                 tensor.q_per_channel_axis())


def array_of(tensor) -> np.ndarray:
    plain = tensor.detach().cpu()
    return (plain.int_repr() if plain.is_quantized else plain).contiguous().numpy()


def pair(sizes) -> list[int]:
    sizes = [sizes] if isinstance(sizes, int) else list(sizes)
    return [int(size) for size in (sizes * 2 if len(sizes) == 1 else sizes)]


class Network:
    """Tensors, operations and arrays of a description (docs/case-format.md)."""

    def __init__(self, name: str, labels: dict[int, str]):
        self.name, self.labels = name, labels
        self.tensors: list[dict] = []
        self.operations: list[dict] = []
        self.arrays: dict[str, np.ndarray] = {}
        self.values: dict[int, Value] = {}
        self.computed: set[int] = set()  # of these, what depends on the inputs
        self.kept: list[torch.Tensor] = []  # made here, so that nothing else takes their identities
        self.taken: set[str] = set()
        self.place = ""  # for messages

    def fail(self, message: str, code: str = "unsupported_operation"):
        raise Error([(code, self.place, message)])

    def fresh(self, name: str) -> str:
        unique, number = name, 2
        while unique in self.taken:
            unique, number = f"{name}_{number}", number + 1
        self.taken.add(unique)
        return unique

    def add_tensor(self, name: str, type: str, sizes, codes: Codes | None = None) -> str:
        tensor: dict[str, Any] = {"name": self.fresh(name), "type": type, "shape": [int(size) for size in sizes]}
        if codes:
            tensor["quantization"] = {"scale": codes.scales, "zero_point": codes.zero_points}
            if len(codes.scales) > 1:
                tensor["quantization"]["axis"] = codes.axis
        self.tensors.append(tensor)
        return tensor["name"]

    def add_constant(self, name: str, array: np.ndarray, codes: Codes | None = None) -> str:
        added = self.add_tensor(name, array.dtype.name, array.shape, codes)
        self.tensors[-1]["file"] = f"{len(self.arrays)}.npy"
        self.arrays[self.tensors[-1]["file"]] = array
        return added

    # Values. Of torch's tensors identity counts: whoever made the calls keeps them.

    def value(self, tensor) -> Value:
        """Of a tensor that is computed, or of one that the module holds."""
        if id(tensor) not in self.values:
            self.values[id(tensor)] = self.new_value(tensor, "constant")
            self.values[id(tensor)].array = array_of(tensor)
        return self.values[id(tensor)]

    def set_value(self, tensor, value: Value):
        self.values[id(tensor)] = value
        self.computed.add(id(tensor))

    def new_value(self, tensor, name: str) -> Value:
        if tensor.dtype not in TYPES:
            self.fail(f"a tensor of type {tensor.dtype}", "type_mismatch")
        return Value(tensor.shape, TYPES[tensor.dtype], codes_of(tensor), name)

    def label(self, call: Call) -> str:
        """The module that returned the result, or the operator and its number."""
        return self.labels.get(id(call.first), f"{call.operator.split('::')[-1].strip('_')}_{call.number}")

    def result(self, call: Call) -> Value:
        """A value for what an operator returned; what computes it is yet to be said."""
        return self.result_of(call.first, call)

    def result_of(self, tensor, call: Call) -> Value:
        value = self.new_value(tensor, self.label(call))
        self.set_value(tensor, value)
        return value

    def input_of(self, value: Value, channels_last: bool = False) -> str:
        """Its name in the description, where the axes stand as asked for."""
        if value.later is not None:
            later, value.later = value.later, None
            later.real(value)
        if value.array is not None and not value.names:
            value.names[False] = self.add_constant(value.name, value.array, value.codes)
        if channels_last not in value.names:
            order = CHANNELS_LAST if channels_last else CHANNELS_FIRST
            self.emit("transpose", [value.names[not channels_last]], value, channels_last, {"permutation": list(order)})
        return value.names[channels_last]

    def compute(self, op: str, sources, value: Value, attributes=None, stated: str | None = None):
        """With channels last where every tensor is an image, else in torch's order."""
        images = value.is_image and all(each.is_image for each in sources)
        self.emit(op, [self.input_of(each, images) for each in sources], value, images, attributes, stated=stated)

    def emit(self, op: str, inputs, value: Value, channels_last: bool = False, attributes=None, stated: str | None = None):
        sizes = [value.sizes[axis] for axis in CHANNELS_LAST] if channels_last else value.sizes
        codes = value.codes
        if codes and len(codes.scales) > 1 and channels_last:
            codes = codes._replace(axis=CHANNELS_LAST.index(codes.axis))
        name = self.add_tensor(value.name + (" (NHWC)" if channels_last else ""), value.type, sizes, codes)
        self.operations.append({"op": op, "name": name if value.names else value.name, "inputs": inputs, "outputs": [name], "attributes": attributes or {},
                                **({"stated": stated} if stated else {})})
        value.names[channels_last] = name

    def description(self, inputs: list[str], outputs: list[str]) -> dict:
        return {"format": "lastbit.model.v1", "name": self.name, "tensors": self.tensors, "operations": self.operations, "inputs": inputs,
                "outputs": outputs}


def code_of(real, codes: Codes) -> int:
    """torch's quantize_val: half_even(x * float(1 / scale)) + zero point, in float32; not yet bounded."""
    return int(np.rint(np.float32(real) * (np.float32(1) / np.float32(codes.scales[0])))) + codes.zero_points[0]


def decomposed_codes(take) -> Codes:
    if "scales" in take:
        scales, zeros = take["scales"].tolist(), (take["zero_points"].tolist() if take["zero_points"] is not None else [0] * len(take["scales"]))
        return Codes([as_float32(scale) for scale in scales], [int(zero) for zero in zeros], take["axis"])
    return Codes([as_float32(float(take["scale"]))], [int(take["zero_point"])])
