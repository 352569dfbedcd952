# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Writes layers and primitives in the formats of docs/case-format.md."""

import json
import math
from typing import NamedTuple

import numpy as np

from .recorded import Refusal

INLINE_ELEMENTS = 64  # a constant of at most this size stands in the model itself
INLINE_VALUES = 2048  # in suites that keep their arrays inline, so does any integer array of at most this size


class Run(NamedTuple):
    """One recorded result: the backend it belongs to, and the word that tells it from the case's other results."""
    backend: str
    expected: np.ndarray  # of several outputs: a map of their names to arrays
    label: str = ""
    settings: dict = {}


class Operand(NamedTuple):
    name: str
    array: np.ndarray
    quantization: dict = {}
    constant: bool = False


class Layer(NamedTuple):
    op: str
    operands: list  # Operand, or None for an optional input that is absent
    quantization: dict  # of the output
    attributes: dict = {}


class Step(NamedTuple):
    """One operation of several: its operands are arrays, or names of what earlier steps gave; `like` has its output's shape and type."""
    op: str
    operands: list
    output: str
    like: np.ndarray  # of several outputs: a map of their names to arrays
    quantization: dict
    attributes: dict = {}


def quantization(scale, zero_point=0, axis=None):
    """Of one tensor: `scale` and `zero_point` are single values, or lists along `axis`."""
    scales = [float(s) for s in np.atleast_1d(scale)]
    zero_points = [int(z) for z in np.atleast_1d(zero_point)]
    if any(not math.isfinite(s) or s <= 0 for s in scales):
        raise Refusal(f"scale {scale} is not positive")
    count = max(len(scales), len(zero_points))
    if any(len(values) not in (1, count) for values in (scales, zero_points)):
        raise Refusal(f"{len(scales)} scales, {len(zero_points)} zero points")
    if count == 1:
        return {"scale": scales, "zero_point": zero_points}
    if axis is None:
        raise Refusal(f"{count} scales where one is needed")
    return {"scale": scales * (count // len(scales)), "zero_point": zero_points * (count // len(zero_points)), "axis": axis}


def check_quantization(name, array, quantized):
    if not quantized or array.dtype.kind not in "iu":
        return
    limits = np.iinfo(array.dtype)
    if any(not limits.min <= z <= limits.max for z in quantized["zero_point"]):
        raise Refusal(f"zero point {quantized['zero_point']} of '{name}' is outside {array.dtype}")
    if "axis" in quantized and array.shape[quantized["axis"]] != len(quantized["scale"]):
        raise Refusal(f"{len(quantized['scale'])} scales for '{name}' of shape {list(array.shape)}")


def same(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def named(arrays, name):
    """A map of names to arrays: of several outputs as it is, of a single one with `name`."""
    return arrays if isinstance(arrays, dict) else {name: arrays}


class Suite:
    """The cases of one suite and their files, in memory until every suite of a conversion was understood."""

    def __init__(self, target, name, source, notes, value_limit=None, inline=False):
        self.path = f"{target}/{name}"
        self.value_limit = value_limit
        self.inline = inline
        self.source, self.notes = source, list(notes)
        self.cases = []
        self.files = {}

    def note(self, text):
        if text not in self.notes:
            self.notes.append(text)

    def thinned(self, vector):
        """At most value_limit elements, spread over the vector; the same ones of every vector of one length."""
        if self.value_limit is None or len(vector) <= self.value_limit:
            return vector
        return vector[np.arange(self.value_limit) * (len(vector) - 1) // (self.value_limit - 1)]

    def put_bytes(self, name, content):
        if self.files.setdefault(name, content) != content:
            raise Refusal(f"two files named {name}")

    def place(self, stem, word, array):
        """The array of a model's input or output as the case states it: a file, or the values themselves where they are few."""
        if self.inline and array.dtype.kind in "iu" and array.size <= INLINE_VALUES:
            return {"type": array.dtype.name, "shape": list(array.shape), "data": array.reshape(-1).tolist()}
        return self.put(stem, word, array)

    def put(self, stem, word, array):
        """The file of an array; equal arrays of one recorded case share theirs."""
        for name, known in self.files.items():
            if name.startswith(stem + "_") and name.endswith(".npy") and same(known, array):
                return name
        name = f"{stem}_{word}.npy"
        if name in self.files:
            raise Refusal(f"two files named {name}")
        self.files[name] = array
        return name

    def add_layer(self, recorded, layer, runs, title, events=None):
        step = Step(layer.op, layer.operands, "output", runs[0].expected, layer.quantization, layer.attributes)
        self.add_steps(recorded, [step], runs, title, events)

    def add_steps(self, recorded, steps, runs, title, events=None):
        """The last step's outputs are what was recorded; `events` is what the case states of the run beside them."""
        tensors, inputs, operations = [], {}, []
        for step in steps:
            for operand in step.operands:
                if not isinstance(operand, Operand) or any(known["name"] == operand.name for known in tensors):
                    continue
                check_quantization(operand.name, operand.array, operand.quantization)
                tensors.append(self.describe(recorded.stem, operand))
                if not operand.constant:
                    inputs[operand.name] = self.place(recorded.stem, operand.name, operand.array)
            outputs = named(step.like, step.output)
            for name, array in outputs.items():
                check_quantization(name, array, step.quantization)
                tensors.append(self.describe(recorded.stem, Operand(name, array, step.quantization)))
            operation = {"op": step.op, "inputs": [operand.name if isinstance(operand, Operand) else operand for operand in step.operands],
                         "outputs": list(outputs)}
            if step.attributes:
                operation["attributes"] = step.attributes
            operations.append(operation)
        model = {"format": "lastbit.model.v1", "name": title, "tensors": tensors, "operations": operations,
                 "inputs": list(inputs), "outputs": list(outputs)}
        for run in runs:
            arrays = named(run.expected, step.output)
            if any(array.shape != outputs[name].shape or array.dtype != outputs[name].dtype for name, array in arrays.items()):
                raise Refusal("the recorded results differ in shape or type")
            words = {name: self._word(run) + ("" if name == step.output else f"_{name}") for name in arrays}
            expected = {name: self.place(recorded.stem, words[name], array) for name, array in arrays.items()}
            self._add(title, run, {"model": model, "inputs": inputs, "expected": expected, **(events or {})})

    def add_primitive(self, recorded, primitive, inputs, results, title):
        """`results`: per run a map of names to arrays in place of its single expected array."""
        arrays = list(inputs.values()) + [array for run in results for array in run.expected.values()]
        if any(array.shape != arrays[0].shape for array in arrays):
            raise Refusal("the arrays of a primitive differ in shape")
        inputs = {name: self.put(recorded.stem, name, array) for name, array in inputs.items()}
        for run in results:
            expected = {name: self.put(recorded.stem, f"{self._word(run)}_{name}", array) for name, array in run.expected.items()}
            self._add(title, run, {"primitive": primitive, "inputs": inputs, "expected": expected})

    def add(self, title, body):
        if any(case["name"] == title for case in self.cases):
            raise Refusal(f"a second case named '{title}'")
        self.cases.append({"name": title, **body})

    def _add(self, title, run, body):
        head = {"backend": run.backend, **({"settings": run.settings} if run.settings else {})}
        self.add(f"{title} {run.label}".strip(), {**head, **body})

    @staticmethod
    def _word(run):
        return f"expected_{run.label}" if run.label else "expected"

    def describe(self, stem, operand):
        described = {"name": operand.name, "type": operand.array.dtype.name, "shape": list(operand.array.shape)}
        if operand.quantization:
            described["quantization"] = operand.quantization
        if operand.constant and operand.array.size <= (INLINE_VALUES if self.inline else INLINE_ELEMENTS):
            described["data"] = operand.array.reshape(-1).tolist()
        elif operand.constant:
            described["file"] = self.put(stem, operand.name, operand.array)
        return described

    # Writing

    def to_json(self):
        head = {"format": "lastbit.cases.v1", "suite": self.path, "source": self.source, "notes": " ".join(self.notes)}
        lines = ",\n".join("  " + json.dumps(case, ensure_ascii=False) for case in self.cases)
        members = "".join(f" {json.dumps(key)}: {json.dumps(value, ensure_ascii=False)},\n" for key, value in head.items())
        return "{\n" + members + ' "cases": [\n' + lines + "\n ]\n}\n"

    def write(self, root):
        folder = root / self.path
        folder.mkdir(parents=True)
        (folder / "cases.json").write_text(self.to_json(), encoding="utf-8")
        for name, content in self.files.items():
            if isinstance(content, bytes):
                (folder / name).write_bytes(content)
            else:
                np.save(folder / name, content, allow_pickle=False)
