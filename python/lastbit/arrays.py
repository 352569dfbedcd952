# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What a user gives as inputs, or as a board's tensors, as the library takes it."""
from __future__ import annotations

import os
import pathlib
import re
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np

from . import _lastbit
from .errors import Error, bad_input


def is_place(value) -> bool:
    """Whether it names a file or folder."""
    return isinstance(value, (str, os.PathLike))


def fitted(values, dtype: str) -> np.ndarray:
    """Numbers without a type of their own (lists; numpy's int64 and float64) take the model's; every other array stays what it is."""
    array = np.asarray(values)
    if array.dtype == np.int64 and dtype in ("int8", "uint8", "int16", "uint16", "int32", "uint32"):
        allowed = np.iinfo(dtype)
        if array.size and (array.min() < allowed.min or array.max() > allowed.max):
            raise Error([("type_mismatch", "inputs", f"values {array.min()} … {array.max()} are no {dtype}")])
        return array.astype(dtype)
    if array.dtype == np.float64 and dtype != "float64":
        return array.astype(np.float32)
    return array


def _array_in(place, name: str):
    """The array of a .npy, or of a .npz that has one of this name or no other; None: another kind of file."""
    path = pathlib.Path(place)
    if path.suffix == ".npy" and path.is_file():
        return np.load(path, allow_pickle=False)
    if path.suffix != ".npz" or not path.is_file():
        return None
    with np.load(path, allow_pickle=False) as arrays:
        if name in arrays.files:
            return arrays[name]
        return arrays[arrays.files[0]] if len(arrays.files) == 1 else None


def by_input(model, inputs) -> list:
    """One value for each input of the model, in its order."""
    names = [tensor.name for tensor in model.inputs]
    if isinstance(inputs, Mapping):
        if unknown := [name for name in inputs if name not in names]:
            raise bad_input("inputs", f"the model has no input {unknown[0]!r}; its inputs: {', '.join(names)}")
        if missing := [name for name in names if name not in inputs]:
            raise bad_input("inputs", f"input {missing[0]!r} is missing")
        return [inputs[name] for name in names]
    one = is_place(inputs) or isinstance(inputs, np.ndarray) or not isinstance(inputs, Sequence)
    if one and len(names) > 1 and is_place(inputs):
        return list(_lastbit.places_of_inputs(model.native, os.fspath(inputs)))
    values = [inputs] if one or (len(names) == 1 and not _is_list_of_arrays(inputs)) else list(inputs)
    if len(values) != len(names):
        raise bad_input("inputs", f"{len(values)} given; the model's inputs: {', '.join(names)}")
    return values


def _is_list_of_arrays(inputs) -> bool:
    return len(inputs) == 1 and (isinstance(inputs[0], np.ndarray) or is_place(inputs[0]))


def arrays_for(model, inputs, most: int = 0) -> list[np.ndarray]:
    """The arrays of a model's inputs, in its order. None: no inputs. `most`: of several samples of files."""
    if inputs is None:
        return []
    values = by_input(model, inputs)
    arrays = []
    for tensor, value in zip(model.inputs, values):
        array = _array_in(value, tensor.name) if is_place(value) else fitted(value, tensor.dtype)
        if array is None:
            return _lastbit.read_places(model.native, [os.fspath(each) for each in values], most)
        arrays.append(array)
    return arrays


class Board:
    """Tensors that a device computed: a folder or .npz as its tools write it, or arrays by the names of the network's tensors."""

    def __init__(self, model, source, names: Mapping[str, str] | None = None, layout: str = ""):
        self.called = os.fspath(source) if is_place(source) else "board"
        if is_place(source):
            self.native = _lastbit.read_board(os.fspath(source), model.native, dict(names or {}), layout)
            return
        if not isinstance(source, Mapping):
            if len(model.outputs) != 1:
                raise bad_input("board", "of a network with several outputs, arrays by name are needed")
            source = {model.outputs[0].name: source}
        known = {tensor.name for tensor in model.tensors}
        with tempfile.TemporaryDirectory(prefix="lastbit") as folder:
            files = {}
            for number, (name, values) in enumerate(source.items()):
                if name not in known:
                    raise bad_input("board", f"the network has no tensor {name!r}")
                file = f"{re.sub('[^A-Za-z0-9_-]', '_', name)[-100:]}.{number}.npy"
                np.save(os.path.join(folder, file), np.asarray(values))
                files[file] = name
            self.native = _lastbit.read_board(folder, model.native, files, layout)

    @property
    def tensors(self) -> list[str]:
        """Names, in the order of computation."""
        return self.native.tensors()

    @property
    def readings(self) -> list[str]:
        """What was not as the model has it, and how it was read."""
        return self.native.readings


def board_of(model, source, names=None, layout: str = "") -> Board:
    """A board's tensors, or where they lie."""
    return source if isinstance(source, Board) else Board(model, source, names, layout)
