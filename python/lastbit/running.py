# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Running a network on a device."""
from __future__ import annotations

import pathlib
import sys
import warnings
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from . import _lastbit
from .arrays import arrays_for
from .backend import Backend, backend as backend_of
from .errors import InputWarning
from .model import Model, model_of
from .report import table_of


class Events(NamedTuple):
    """What was seen while a layer was computed: sums that left the accumulator's width, outputs moved by a bound, outputs, and how often a stage before
    the bounds saturated a value, or wrapped it round."""

    layer: str
    accumulator_overflows: int
    saturated_outputs: int
    outputs: int
    saturated_stages: int
    wrapped_stages: int


class Assumption(NamedTuple):
    """A rule that the result rests on without evidence, and what it goes by."""

    rule: str
    source: str


class RealInput(NamedTuple):
    """Real values that were given for codes: their range, the range that codes stand for, how many of the codes they became, how many of the values lie
    beyond, and what looks wrong about them; empty: nothing."""

    name: str
    least: float
    largest: float
    lowest: float
    highest: float
    codes_used: int
    codes: int
    clipped: int
    values: int
    suspicion: str


def _lines_to_the_user() -> int:
    """Of warnings.warn, called by the caller: up to the first line that is not this package's."""
    own = str(pathlib.Path(__file__).parent)
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(own):
        level, frame = level + 1, frame.f_back
    return level


def _warn_of(inputs: list[tuple]) -> list[RealInput]:
    """Of what is clipped or looks wrong; the text is the command line's."""
    for *facts, text in inputs:
        given = RealInput(*facts)
        if given.clipped or given.suspicion:
            warnings.warn("; ".join(line.strip() for line in text.splitlines()), InputWarning, stacklevel=_lines_to_the_user())
    return [RealInput(*facts) for *facts, _ in inputs]


class Trace(Mapping):
    """Tensors of a run by their names, as numpy arrays in the library's memory.

    Of N samples every array has N in front of the model's shape. `outputs` has the network's outputs in its order.
    """

    def __init__(self, model: Model, device: Backend, inputs: list[np.ndarray], tensors, path: str, events, runner, real_inputs=()):
        self.model, self.device = model, device  #: of which network, and on what
        self.inputs = inputs  #: as they were given, in the network's order
        self._arrays: dict[str, np.ndarray] = {}
        self.by_index: dict[int, np.ndarray] = {}  #: the same by their index in the network
        for index, name, array in tensors:
            self.by_index[index] = array
            self._arrays.setdefault(name, array)
        self.outputs: list[np.ndarray] = [self._arrays[tensor.name] for tensor in model.outputs]
        self.path = path  #: the host path that computed it; never changes a bit
        self.backend: str = runner.backend
        self.events: list[Events] = [Events(*facts) for facts in events]  #: where they were asked for
        self.real_inputs: list[RealInput] = list(real_inputs)  #: of the inputs those that were real values where the network has codes
        self._runner = runner

    @property
    def assumptions(self) -> list[Assumption]:
        """The rules without evidence that this result rests on; empty: none."""
        return [Assumption(*facts) for facts in self._runner.assumptions()]

    @property
    def elsewhere(self) -> list[str]:
        """What is computed in the device's place, a line each."""
        return self._runner.elsewhere

    def __getitem__(self, name: str) -> np.ndarray:
        return self._arrays[name]

    def __iter__(self):
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)

    def frame(self):
        """What each tensor is, as a pandas.DataFrame: name, type, shape, minimum and maximum. Raises ImportError without pandas."""
        import pandas

        return pandas.DataFrame(self._rows())

    def _rows(self) -> list[dict]:
        return [{"tensor": name, "type": array.dtype.name, "shape": "x".join(map(str, array.shape)), "min": array.min().item(),
                 "max": array.max().item()} for name, array in self.items()]

    def _repr_html_(self) -> str:
        return table_of(self._rows(), f"on {self.backend}")

    def __repr__(self) -> str:
        return f"<lastbit.Trace on {self.backend}: {', '.join(f'{name} {array.dtype}{list(array.shape)}' for name, array in self.items())}>"


class Emulator:
    """A network prepared for a device, to be run often, from several threads at once if need be.

    Raises Error with all that the device cannot do.
    """

    def __init__(self, model, backend):
        self.model = model_of(model)
        self.backend: Backend = backend_of(backend)
        self._runner = _lastbit.Runner(self.model.native, self.backend.native)

    def run(self, inputs, *, keep_all: bool = False, threads: int = 1, count_events: bool = False, reset_states: bool = False) -> Trace:
        """Computes the outputs, or with keep_all every tensor.

        inputs: an array, a list in the network's order, a dict by name, or files; each of the input's shape, or with N samples in front, or N in
        place of a leading 1. Arrays are read where they lie, so nothing may write into them meanwhile. Real values of a quantised input are
        quantised by the device's rule; where they lie beyond its codes, or look otherwise scaled than the network was trained, InputWarning says so, and
        the trace's real_inputs has the figures. threads never changes a bit. reset_states: of
        a network that remembers, begin every sample anew. Raises Error(shape_mismatch, type_mismatch) naming the input.
        """
        arrays = arrays_for(self.model, inputs)
        tensors, path, events, real_inputs = self._runner.run(arrays, threads, keep_all, count_events, reset_states)
        return Trace(self.model, self.backend, arrays, tensors, path, events, self._runner, _warn_of(real_inputs))

    def __call__(self, inputs) -> list[np.ndarray]:
        """The outputs alone."""
        return self.run(inputs).outputs


def run(model, backend, inputs, *, keep_all: bool = False, threads: int = 1, count_events: bool = False, reset_states: bool = False) -> Trace:
    """Emulator(model, backend).run(inputs, …)."""
    return Emulator(model, backend).run(inputs, keep_all=keep_all, threads=threads, count_events=count_events, reset_states=reset_states)
