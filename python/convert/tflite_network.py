# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Recorded cases that are .tflite files of one operation: the file is the model; what the recording says of it is verified against it."""

import numpy as np

from .layer import same
from .recorded import INTEGERS, Recorded, Refusal
from .tflite_common import DOUBLE, SINGLE, runs_of
from .tflite_file import OPTIONS, read_one_operation


def verify_tensor(key, said, tensor):
    """Type, shape, scales and zero points of one tensor, as recorded and as in the file."""
    unknown = set(said) - {"dtype", "shape", "scale", "zero_point", "const"}
    if unknown:
        raise Refusal(f"params.{key}.{min(unknown)} is unknown")
    if (said.get("dtype"), said.get("shape")) != (tensor.dtype, tensor.shape):
        raise Refusal(f"params.{key} is {said.get('dtype')} {said.get('shape')}; the network has {tensor.dtype} {tensor.shape}")
    if not np.array_equal(np.asarray(said.get("scale"), np.float32), tensor.scale):
        raise Refusal(f"params.{key}.scale is not the network's")
    points = said.get("zero_point")
    if set(points) != set(tensor.zero_point) or len(points) not in (1, len(tensor.zero_point)) and points:
        raise Refusal(f"params.{key}.zero_point is not the network's")


def verify_options(recorded, network):
    readers = OPTIONS.get(recorded.op, {})
    for word in recorded.param("options", str).split():
        key, _, value = word.partition("=")
        if key not in readers:
            raise Refusal(f"params.options '{word}' is unknown for op '{recorded.op}'")
        found = readers[key](network.options)
        if found != (np.float32(value) if key == "alpha" else value):
            raise Refusal(f"params.options says {word}; the network has {found}")


def operand_arrays(recorded, network):
    """The arrays of the operands that are no constants, by tensor index; the constants are verified."""
    arrays = {}
    for position, index in enumerate(network.operands):
        if index < 0:  # an optional operand that is absent
            continue
        key, tensor = f"in{position}", network.tensors[index]
        said = recorded.param(key, dict)
        verify_tensor(key, said, tensor)
        array = recorded.tensor(key, *INTEGERS, "float32")
        if (array.dtype.name, list(array.shape)) != (tensor.dtype, tensor.shape):
            raise Refusal(f"tensors.{key} is {array.dtype} {list(array.shape)}; the network has {tensor.dtype} {tensor.shape}")
        if said.get("const") != (1 if tensor.data else 0):
            raise Refusal(f"params.{key}.const is {said.get('const')!r}; the network says otherwise")
        if not tensor.data:
            arrays[index] = array
        elif array.tobytes() != tensor.data:
            raise Refusal(f"tensors.{key} is not the network's constant")
    return arrays


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case, allowed=("golden_csv_equal_to_double",))
    recorded.free_text("model")
    file = recorded.param("tflite_file", str)
    path = folder / file
    if path.name != file or path.suffix != ".tflite" or not path.is_file():
        raise Refusal(f"params.tflite_file '{file}' is no .tflite file of the suite")
    data = path.read_bytes()
    network = read_one_operation(data)
    if network.op != recorded.op:
        raise Refusal(f"op is '{recorded.op}'; the network has '{network.op}'")
    if len(network.outputs) != 1 or network.outputs != network.results:
        raise Refusal("the network's output is not its operation's result")
    verify_options(recorded, network)
    result = network.tensors[network.outputs[0]]
    verify_tensor("out", recorded.param("out", dict), result)
    arrays = operand_arrays(recorded, network)
    if sorted(arrays) != sorted(network.inputs):
        raise Refusal("the network's inputs are not the operands recorded as no constants")
    runs = runs_of(recorded, result.dtype)
    if list(runs[0].expected.shape) != result.shape:
        raise Refusal(f"tensors.expected has shape {list(runs[0].expected.shape)}; the network gives {result.shape}")
    recorded.finish()
    if case.get("golden_csv_equal_to_double") is False:
        suite.note(f"{recorded.name} ({file}): the recorded project's own expected file differs from its interpreter, whose result is expected.")
    write(suite, recorded, file, data, [arrays[index] for index in network.inputs], runs)


def write(suite, recorded, file, data, inputs, runs):
    suite.put_bytes(file, data)
    files = [suite.put(recorded.stem, f"input{i}", array) for i, array in enumerate(inputs)]
    for run in runs:
        suite.add(f"{recorded.name} {file.removesuffix('.tflite')} {run.label}",
                  {"backend": run.backend, "model": file, "inputs": files,
                   "expected": [suite.put(recorded.stem, f"expected_{run.label}", run.expected)]})
