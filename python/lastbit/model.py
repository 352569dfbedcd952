# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks."""
from __future__ import annotations

import html
import json
import os
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from . import _lastbit


class TensorInfo(NamedTuple):
    """A tensor of a network: real value = scale * (code - zero point), with one scale, one per index of `axis`, or none."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    scales: tuple[float, ...]
    zero_points: tuple[int, ...]
    axis: int
    is_constant: bool

    def real(self, codes) -> np.ndarray:
        """What codes stand for, as float64. Codes may have samples in front."""
        values = np.asarray(codes).astype(np.float64)
        if not self.scales:
            return values
        sizes = [1] * len(self.shape)
        if len(self.scales) > 1:
            sizes[self.axis] = len(self.scales)
        at = np.reshape(self.scales, sizes if len(self.scales) > 1 else ())
        zero = np.reshape(self.zero_points or (0,), sizes if len(self.zero_points) > 1 else ())
        return (values - zero) * at


class OperationInfo(NamedTuple):
    """An operation: its number and name in reports, its kind ("conv2d"), its own name in the file, and the names of its tensors ("": absent)."""

    number: int
    layer: str
    kind: str
    name: str
    inputs: list[str]
    outputs: list[str]


class Model:
    """A network, checked. load_model() reads one."""

    def __init__(self, native: _lastbit.Model, called: str | None = None):
        self.native = native
        self.called = called or native.name
        facts = [TensorInfo(n, t, s, tuple(scales), tuple(zeros), axis, constant) for n, t, s, scales, zeros, axis, constant in native.tensors()]
        by_name = {tensor.name: tensor for tensor in reversed(facts)}
        self.tensors: list[TensorInfo] = facts
        self.inputs: list[TensorInfo] = [by_name[name] for name in native.inputs()]
        self.outputs: list[TensorInfo] = [by_name[name] for name in native.outputs()]

    @property
    def name(self) -> str:
        """What the file calls the network; it may be empty."""
        return self.native.name

    @property
    def operations(self) -> list[OperationInfo]:
        """In the order of computation."""
        return [OperationInfo(*facts) for facts in self.native.operations()]

    def tensor(self, name: str) -> TensorInfo:
        """Raises KeyError."""
        for tensor in self.tensors:
            if tensor.name == name:
                return tensor
        raise KeyError(name)

    def constant(self, name: str) -> np.ndarray:
        """Weights and the like, read-only, in the network's own memory. Raises KeyError."""
        return self.native.constant(name)

    def to_json(self) -> str:
        """The network in the project's own format, constants inline."""
        return self.native.json()

    def save(self, path) -> None:
        """As .json, large constants as .npy beside it, or .tflite. Raises Error for what the format cannot say."""
        self.native.write(os.fspath(path))

    def __repr__(self) -> str:
        return f"<lastbit.Model {self.called!r}: {len(self.operations)} operations>"

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><td>{number}</td><td>{html.escape(layer)}</td><td>{kind}</td></tr>" for number, layer, kind, *_ in self.operations)
        return f"<p>{html.escape(self.called)}</p><table><thead><tr><th>number</th><th>layer</th><th>operation</th></tr></thead><tbody>{rows}</tbody></table>"


def load_model(path, *, shapes: Mapping[str, Sequence[int]] | None = None, constants: Mapping[str, np.ndarray] | None = None,
               start: Sequence[str] = (), end: Sequence[str] = ()) -> Model:
    """Reads a .tflite, .onnx or .json network.

    shapes: of inputs whose sizes the file leaves open; constants: of an .onnx, inputs that are no data; start, end: names of tensors that become
    inputs and outputs, for a part of the network. Raises Error naming the file and the place in it.
    """
    file = os.fspath(path)
    return Model(_lastbit.load_model(file, {name: list(sizes) for name, sizes in (shapes or {}).items()}, dict(constants or {}), list(start), list(end)),
                 file)


def model_from(description, folder=".") -> Model:
    """A network in the project's own format, as a dict or text; .npy files are relative to `folder`. Raises Error."""
    text = description if isinstance(description, str) else json.dumps(description)
    return Model(_lastbit.parse_model(text, os.fspath(folder)))


def model_of(model) -> Model:
    """A model, or the file of one."""
    if isinstance(model, Model):
        return model
    return model_from(model) if isinstance(model, Mapping) else load_model(model)
