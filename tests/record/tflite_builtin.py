#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Records what TensorFlow Lite's own kernels give for random layers, as case files that `lastbit verify` reads.

    tflite_builtin.py FOLDER [--operations conv2d,mul] [--types int8] [--first 0] [--layers 100] [--seed 1] [--kernels reference|optimized]
"""
import argparse
import importlib
import json
import pathlib
import sys
import zlib

import numpy as np

from tflite_file import File
from tflite_layers import LAYERS, Draw


def runtime():
    """The interpreter's module, the generated classes of the format, and what is recorded from."""
    try:
        module = importlib.import_module("ai_edge_litert.interpreter")
        schema = importlib.import_module("ai_edge_litert.schema_py_generated")
        name = "ai-edge-litert"
    except ImportError:
        module = importlib.import_module("tflite_runtime.interpreter")
        schema = importlib.import_module("schema_py_generated")
        name = "tflite-runtime"
    version = importlib.import_module("importlib.metadata").version(name)
    return module, schema, f"{name} {version}"


def run(module, content, fed, kernels, calls):
    """The outputs of so many calls in a row, computed by the kernels asked for and by no delegate."""
    kind = module.OpResolverType
    resolver = {"reference": kind.BUILTIN_REF, "optimized": kind.BUILTIN_WITHOUT_DEFAULT_DELEGATES}[kernels]
    interpreter = module.Interpreter(model_content=content, experimental_op_resolver_type=resolver, num_threads=1)
    interpreter.allocate_tensors()
    if "DELEGATE" in [entry["op_name"] for entry in interpreter._get_ops_details()]:
        sys.exit("a delegate took a layer")
    inputs, outputs, results = interpreter.get_input_details(), interpreter.get_output_details(), []
    for call in range(calls):
        for entry, values in zip(inputs, fed):
            interpreter.set_tensor(entry["index"], values[call] if calls > 1 else values)
        interpreter.invoke()
        results.append([interpreter.get_tensor(entry["index"]).copy() for entry in outputs])
    return [np.stack(parts) if calls > 1 else parts[0] for parts in zip(*results)]


def write_case(folder, name, backend, content, fed, results):
    """The files of a case, and its entry. Its arrays stand in the entry itself."""
    (folder / f"{name}.tflite").write_bytes(content)
    case = {"name": name, "backend": backend["name"], "settings": backend["settings"], "model": f"{name}.tflite"}
    for key, arrays in (("inputs", fed), ("expected", results)):
        case[key] = [{"type": str(values.dtype), "shape": list(values.shape), "data": values.ravel().tolist()} for values in arrays]
    return {entry: value for entry, value in case.items() if value != {}}


def record(module, schema, source, folder, operation, arguments):
    """The suite of one operation: a file and a case for each `--together` layers, beside those that are there already."""
    draw_layer, types = LAYERS[operation]
    if arguments.types:
        types = [type for type in types if type in arguments.types.split(",")]
    backend = {"name": arguments.backend, "settings": dict(text.split("=", 1) for text in arguments.set)}
    folder.mkdir(parents=True, exist_ok=True)
    cases, refused = [], {}
    for type in types:
        last = arguments.first + arguments.layers
        for first in range(arguments.first, last, arguments.together):
            file, fed = File(schema), []
            for i in range(first, min(first + arguments.together, last)):
                layer = draw_layer(Draw([arguments.seed, zlib.crc32(f"{operation} {type}".encode()), i]), type)
                file.add(layer, i)
                fed += layer.fed
            content = file.bytes()
            try:
                results = run(module, content, fed, arguments.kernels, layer.calls())
            except (RuntimeError, ValueError) as error:
                reason = str(error).split("\n")[0][:150]
                refused[reason] = refused.get(reason, 0) + 1
                continue
            cases.append(write_case(folder, f"{type}_{first}", backend, content, fed, results))
    if not cases:
        return print(f"{operation}: nothing recorded", *refused, sep="; ", flush=True)
    document = {"format": "lastbit.cases.v1", "suite": f"{folder.parent.name}/{folder.name}",
                "source": f"{source}, {arguments.kernels} kernels, no delegate, x86-64"}
    known = json.loads((folder / "cases.json").read_text()) if (folder / "cases.json").exists() else {"cases": []}
    if known["cases"] and known["source"] != document["source"]:
        sys.exit(f"{folder} was recorded from {known['source']}")
    new = [case["name"] for case in cases]
    document["cases"] = [case for case in known["cases"] if case["name"] not in new] + cases
    (folder / "cases.json").write_text(json.dumps(document, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")
    print(f"{operation}: {len(cases)} cases", *(f"{count} refused: {text}" for text, count in refused.items()), sep="; ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--operations", default=",".join(LAYERS))
    parser.add_argument("--layers", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="the number of the first layer")
    parser.add_argument("--together", type=int, default=1, help="layers in one file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kernels", choices=("reference", "optimized"), default="reference")
    parser.add_argument("--types", help="these alone, such as int8,uint8")
    parser.add_argument("--backend", default="tflite_builtin_double", help="that the cases name")
    parser.add_argument("--set", action="append", default=[], metavar="RULE=VALUE", help="a setting of that backend in the cases")
    arguments = parser.parse_args()
    module, schema, source = runtime()
    for operation in arguments.operations.split(","):
        record(module, schema, source, arguments.folder / (operation if arguments.kernels == "reference" else f"{operation}_optimized"), operation,
               arguments)


if __name__ == "__main__":
    main()
