# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A network on a device, called as ONNX Runtime is."""
from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .errors import bad_input
from .model import Model, load_model
from .running import Emulator

_TYPES = {"float32": "float", "float64": "double", "bool": "bool"}


class NodeArg(NamedTuple):
    """An input or output: its name, shape, and type as ONNX Runtime writes it, "tensor(int8)"."""

    name: str
    shape: list[int]
    type: str


class InferenceSession:
    """InferenceSession(path, backend).run(names, feeds), in place of onnxruntime.InferenceSession(path).

    Arrays have the batch where the model has it: of a network with inputs [1, …], N samples are [N, …], and so are the outputs.
    path_or_bytes: a file, the bytes of an .onnx, or a Model; shapes: of inputs whose sizes the file leaves open. Other arguments of onnxruntime are taken, so
    that a script changes one line; none of them changes a bit. Raises Error as load_model() and Emulator do.
    """

    def __init__(self, path_or_bytes, backend, sess_options=None, providers=None, provider_options=None, *, shapes=None, threads: int = 1):
        del providers, provider_options
        self._emulator = Emulator(_model(path_or_bytes, shapes), backend)
        self._threads = getattr(sess_options, "intra_op_num_threads", 0) or threads

    def get_inputs(self) -> list[NodeArg]:
        """What run() is fed with, in the network's order."""
        return [_node(tensor) for tensor in self._emulator.model.inputs]

    def get_outputs(self) -> list[NodeArg]:
        """What run() answers with, in the network's order."""
        return [_node(tensor) for tensor in self._emulator.model.outputs]

    def get_providers(self) -> list[str]:
        """One: "lastbit " and the backend's name."""
        return [f"lastbit {self._emulator.backend.name}"]

    def run(self, output_names: Sequence[str] | None, input_feed: Mapping[str, np.ndarray], run_options=None) -> list[np.ndarray]:
        """The outputs of these names, or with None all of them, in the network's order."""
        del run_options
        trace = self._emulator.run(dict(input_feed), threads=self._threads)
        results = {tensor.name: _with_batch(array, tensor.shape) for tensor, array in zip(self._emulator.model.outputs, trace.outputs)}
        for name in output_names or ():
            if name not in results:
                raise bad_input("run", f"the network has no output {name!r}; its outputs: {', '.join(results)}")
        return [results[name] for name in (output_names or results)]


def _model(path_or_bytes, shapes) -> Model:
    if not isinstance(path_or_bytes, (bytes, bytearray, memoryview)):
        return path_or_bytes if isinstance(path_or_bytes, Model) else load_model(path_or_bytes, shapes=shapes)
    with tempfile.TemporaryDirectory(prefix="lastbit") as folder:
        file = os.path.join(folder, "model.onnx")
        with open(file, "wb") as place:
            place.write(path_or_bytes)
        return load_model(file, shapes=shapes)


def _node(tensor) -> NodeArg:
    return NodeArg(tensor.name, list(tensor.shape), f"tensor({_TYPES.get(tensor.dtype, tensor.dtype)})")


def _with_batch(array: np.ndarray, own: tuple[int, ...]) -> np.ndarray:
    """[N, 1, …] as [N, …]."""
    batched = array.ndim == len(own) + 1
    return array.reshape(array.shape[0], *own[1:]) if batched and own and own[0] == 1 else array
