#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Makes the small networks of tests/vectors/networks and has every tensor of them recorded by the vendors' own programs.

docs/vectors.md says how those programs are built. Needs numpy. Each network is a folder with its model, input.npy ([samples, the input's
shape]) and a NAME.npy for each program ([samples, values]): the values of the tensors that networks.json lists, one after the other.
A program that is not given records nothing.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import tempfile

import numpy as np

from networks.definitions import NETWORKS
from networks.onnx_definitions import NETWORKS as ONNX_NETWORKS

HERE = pathlib.Path(__file__).parent / "networks"
LEVELS = {"onnxruntime": "all", "onnxruntime fusion=by_option": "all+int8", "onnxruntime_unfused": "disabled"}
MICRO = "TensorFlow Lite Micro 90b983c2 (gemmlowp 719139ce, ruy d3712831, FlatBuffers 25.9.23), reference kernels, g++ 12 -O1, x86-64"
ONNX_RUNTIME = "ONNX Runtime 1.30.0 (npm onnxruntime-node), CPU provider, one thread, x86-64 with AVX-512 VNNI"
SOURCES = {"tflite_double": MICRO, "tflite_single": MICRO + ", TFLITE_SINGLE_ROUNDING", "onnxruntime": ONNX_RUNTIME,
           "onnxruntime fusion=by_option": ONNX_RUNTIME + ", session.qdqisint8allowed",
           "onnxruntime_unfused": ONNX_RUNTIME + ", graph optimisation disabled",
           "xnnpack": "TensorFlow Lite 2022 with XNNPACK (npm @tensorflow/tfjs-tflite 0.0.1-alpha.10), WebAssembly with SIMD, one thread"}
XNNPACK = ("residual", "depthwise", "branches", "moving_16x8", "resized")  # docs/backends/xnnpack.md says what keeps out the others


def answer(command, inputs, values):
    """What a program writes for the samples' bytes. `values`: (type, count) of each tensor of a sample, in order."""
    with tempfile.TemporaryDirectory() as folder:
        given, got = pathlib.Path(folder, "in"), pathlib.Path(folder, "out")
        given.write_bytes(inputs.tobytes())
        subprocess.run([str(part) for part in command(given, len(inputs), got)], check=True)
        data = got.read_bytes()
    common = np.result_type(*{kind for kind, _ in values})
    samples = [[] for _ in inputs]
    for sample in samples:
        for kind, count in values:
            size = count * np.dtype(kind).itemsize
            sample.append(np.frombuffer(data[:size], kind).astype(common))
            data = data[size:]
    if data:
        raise SystemExit("the program wrote more than the network has")
    return np.array([np.concatenate(sample) for sample in samples])


def absolute(path):
    return pathlib.Path(path).resolve()


def folder_of(root, net):
    folder = root / net.name
    folder.mkdir(parents=True, exist_ok=True)
    np.save(folder / "input.npy", net.inputs())
    return folder


def save(folder, backend, recorded):
    np.save(folder / (backend.replace(" ", "_").replace("=", "_") + ".npy"), recorded)


def record_tflite(root, make, programs, modules):
    """XNNPACK gives outputs alone: the recorded model has every tensor as one."""
    net, output = make()
    folder = folder_of(root, net)
    model = folder / "model.tflite"
    computed = [net.tensors[i] for i in net.computed()]
    values = [(tensor.type, int(np.prod(tensor.shape))) for tensor in computed]
    backends = list(programs)
    if modules and net.name in XNNPACK:
        model.write_bytes(net.file(net.computed()))
        script = shutil.copy(HERE / "record_xnnpack.mjs", modules)
        save(folder, "xnnpack", answer(lambda given, samples, got: ["node", script, model, given, samples, got], net.inputs(), values))
        backends.append("xnnpack")
    model.write_bytes(net.file([output]))
    for backend, program in programs.items():
        save(folder, backend, answer(lambda given, samples, got: [program, model, given, samples, got], net.inputs(), values))
    return {"name": net.name, "model": model.name, "backends": backends, "tensors": [tensor.name for tensor in computed]}


def record_onnx(root, make, modules):
    net = make()
    folder = folder_of(root, net)
    model = folder / "model.onnx"
    model.write_bytes(net.file())
    values = [(kind, int(np.prod(shape))) for _, kind, shape in net.recorded()]
    shape = ",".join(map(str, net.input_shape))
    levels = {name: level for name, level in LEVELS.items() if modules and (net.kind == "int8" or "=" not in name)}
    for backend, level in levels.items():
        script = shutil.copy(HERE / "record_onnxruntime.mjs", modules)
        save(folder, backend, answer(lambda given, samples, got: ["node", script, model, net.kind, shape, given, samples, level, got],
                                     net.inputs(), values))
    return {"name": net.name, "model": model.name, "backends": list(levels), "tensors": [name for name, *_ in net.recorded()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tflite_double", type=absolute, help="networks/record_tflm.cpp, built with TensorFlow Lite Micro")
    parser.add_argument("--tflite_single", type=absolute, help="the same, built with TFLITE_SINGLE_ROUNDING")
    parser.add_argument("--xnnpack", type=absolute, help="a folder in which npm installed @tensorflow/tfjs-tflite")
    parser.add_argument("--onnxruntime", type=absolute, help="a folder in which npm installed onnxruntime-node")
    arguments = parser.parse_args()
    programs = {name: path for name in ("tflite_double", "tflite_single") if (path := getattr(arguments, name))}
    entries = [record_tflite(arguments.folder, make, programs, arguments.xnnpack) for make in NETWORKS]
    entries += [record_onnx(arguments.folder, make, arguments.onnxruntime) for make in ONNX_NETWORKS]
    lines = ",\n".join("  " + json.dumps(entry) for entry in entries)
    (arguments.folder / "networks.json").write_text(f'{{\n "sources": {json.dumps(SOURCES, indent=2)},\n "networks": [\n{lines}\n ]\n}}\n')


if __name__ == "__main__":
    main()
