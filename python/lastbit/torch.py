# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""PyTorch modules on devices, where torch is installed; import lastbit.torch.

    forward = lastbit.torch.emulate(quantised, "pytorch_qnnpack")     # in place of the module in an evaluation loop
    model = lastbit.torch.model_from(module, example)                 # for everything that takes a model

A module is anything that is called with tensors: eager (torch.ao.quantization.convert), of FX graph mode (convert_fx), scripted, an exported program
(torch.export), or float, which lastbit.quantize() then makes codes of. What it computes is found by calling it once, so a module that decides by its data
is seen with the example's alone. Operators that are not translated are errors that name the layer.
"""
from __future__ import annotations

import os
import tempfile

import numpy as np
import torch

from .errors import bad_input
from .model import Model, model_from as model_from_description
from .running import Emulator, Trace
from .torch_calls import calls_of
from .torch_network import Network, array_of
from .torch_operators import Translator

__all__ = ["Emulated", "emulate", "model_from"]


def _callable(module):
    """An exported program's module; else what was given, in eval mode."""
    if hasattr(module, "graph_signature") and hasattr(module, "module"):
        return module.module()
    if not callable(module):
        raise bad_input("torch", f"a {type(module).__name__} is no module")
    if getattr(module, "training", False):
        raise bad_input("torch", "the module is in training mode; module.eval() ends it")
    return module


def _tensors(value) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [tensor for each in value for tensor in _tensors(each)]
    raise bad_input("torch", f"a {type(value).__name__} is no tensor, or list, tuple or dict of them")


def _translated(module, examples):
    """The model, and what the module returned for one sample."""
    module = _callable(module)
    if not examples or not all(isinstance(each, torch.Tensor) for each in examples):
        raise bad_input("torch", "an example of each input is needed, as a tensor")
    samples = [each[:1] if each.ndim > 1 else each for each in examples]
    calls, output, labels = calls_of(module, samples)
    network = Network(type(module).__name__, labels)
    for number, sample in enumerate(samples):
        value = network.new_value(sample, "input" if len(samples) == 1 else f"input_{number}")
        value.names[False] = network.add_tensor(value.name, value.type, value.sizes, value.codes)
        network.set_value(sample, value)
    inputs = [tensor["name"] for tensor in network.tensors]
    Translator(network).translate(calls)
    outputs = []
    for tensor in _tensors(output):
        if id(tensor) not in network.computed:
            raise bad_input("torch", "the module returns what does not depend on its inputs")
        outputs.append(network.input_of(network.value(tensor)))
    with tempfile.TemporaryDirectory(prefix="lastbit") as folder:
        for file, array in network.arrays.items():
            np.save(os.path.join(folder, file), array)
        return model_from_description(network.description(inputs, outputs), folder), output


def model_from(module, *examples: torch.Tensor) -> Model:
    """A module as a network. examples: one tensor for each input, of which the first sample is computed once; a network of batch 1 comes out.

    Tensors are named as the modules that compute them. Raises Error(unsupported_operation) naming what cannot be translated.
    """
    return _translated(module, examples)[0]


class Emulated(torch.nn.Module):
    """What emulate() returns: called as the module is. `model` and `trace` (of the last call) are there after the first one."""

    def __init__(self, module, backend, keep_all: bool, threads: int):
        super().__init__()
        object.__setattr__(self, "emulated", module)  # not a part of this one, so that train() and to() leave it alone
        self.backend, self.keep_all, self.threads = backend, keep_all, threads
        self.model: Model | None = None
        self.trace: Trace | None = None

    def prepare(self, *examples: torch.Tensor) -> None:
        """What the first call does by itself."""
        self.model, self._returned = _translated(self.emulated, examples)
        self._emulator = Emulator(self.model, self.backend)

    def forward(self, *inputs: torch.Tensor):
        """What the module returns, as the backend computes it."""
        if self.model is None:
            self.prepare(*inputs)
        self.trace = self._emulator.run([array_of(each) for each in inputs], keep_all=self.keep_all, threads=self.threads)
        tensors = iter(_as_torch(array, info) for array, info in zip(self.trace.outputs, self.trace.model.outputs))
        return _rebuilt(self._returned, tensors)


def _as_torch(array: np.ndarray, info) -> torch.Tensor:
    if array.ndim > len(info.shape) and info.shape[:1] == (1,):
        array = array.reshape(len(array), *info.shape[1:])
    tensor = torch.from_numpy(array)
    if info.scales and tensor.dtype in (torch.uint8, torch.int8, torch.int32):
        return torch._make_per_tensor_quantized_tensor(tensor, info.scales[0], int((info.zero_points or (0,))[0]))
    return tensor


def _rebuilt(like, tensors):
    if isinstance(like, torch.Tensor):
        return next(tensors)
    if isinstance(like, dict):
        return {key: _rebuilt(each, tensors) for key, each in like.items()}
    parts = [_rebuilt(each, tensors) for each in like]
    return type(like)(*parts) if hasattr(like, "_fields") else type(like)(parts)


def emulate(module, backend, *examples: torch.Tensor, keep_all: bool = False, threads: int = 1) -> Emulated:
    """A module of the same inputs and outputs that computes what the backend makes of it, for any number of samples in front.

    backend: as lastbit.backend() takes it. examples: to translate it at once and not at the first call. keep_all: `trace` has every tensor. Nothing is
    differentiable. Raises Error naming what cannot be translated, or what the device lacks.
    """
    emulated = Emulated(module, backend, keep_all, threads)
    if examples:
        emulated.prepare(*examples)
    return emulated
