# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of ggml's block formats: rows of float32, codes [blocks, 32], and the bits of a float16 scale for each block. The target is the backend."""

import numpy as np

from .layer import Layer, Operand, Run
from .recorded import Recorded, Refusal

LENGTH = 32  # values of a block
FORMATS = {"q8_0": ("int8", -128, 127), "q4_0": ("uint8", 0, 15)}


def codes(recorded, key, name):
    """In the type of the model, whatever holds them in the recording."""
    array = recorded.tensor(key, "int8", "uint8")
    dtype, least, most = FORMATS[name]
    if array.ndim < 2 or array.shape[-1] != LENGTH:
        raise Refusal(f"tensors.{key} is {list(array.shape)}, not [..., blocks, {LENGTH}]")
    if array.min() < least or array.max() > most:
        raise Refusal(f"tensors.{key} holds codes outside {least} to {most}")
    return array.astype(dtype)


def scales(recorded, key, shape):
    array = recorded.tensor(key, "uint16")
    if array.shape != shape[:-1]:
        raise Refusal(f"tensors.{key} is {list(array.shape)} for codes {list(shape)}")
    return array.view(np.float16)


def block_quantize(suite, backend, recorded):
    name = recorded.text("format", FORMATS)
    recorded.free_text("kind")  # how the values were drawn
    source = recorded.tensor("input", "float32")
    expected = codes(recorded, "expected", name)
    if source.shape[-1:] != (expected.shape[-2] * LENGTH,) or source.shape[:-1] != expected.shape[:-2]:
        raise Refusal(f"data {list(source.shape)} give codes {list(expected.shape)}")
    results = {"codes": expected, "scales": scales(recorded, "expected_scale", expected.shape)}
    recorded.finish()
    suite.add_layer(recorded, Layer("block_quantize", [Operand("data", source)], {}, {"format": name}), [Run(backend, results)],
                    f"{recorded.name} {name}")


def block_dot(suite, backend, recorded):
    name = recorded.text("format", FORMATS)
    data, weights = codes(recorded, "input", "q8_0"), codes(recorded, "weights", name)
    operands = [Operand("data", data), Operand("data_scales", scales(recorded, "input_scale", data.shape))]
    of_weights = scales(recorded, "weights_scale", weights.shape)
    rows = (-1, *weights.shape[-2:])  # a single row has no axis for it
    operands += [Operand("weights", weights.reshape(rows)), Operand("weight_scales", of_weights.reshape(rows[:-1]))]
    shape = (*data.shape[:-2], operands[2].array.shape[0])
    expected = recorded.tensor("expected", "float32")
    if expected.size != np.prod(shape) or data.shape[-2] != weights.shape[-2]:
        raise Refusal(f"{list(data.shape)} times {list(weights.shape)} give {list(expected.shape)}")
    recorded.finish()
    suite.add_layer(recorded, Layer("block_matmul", operands, {}, {"format": name}), [Run(backend, expected.reshape(shape))],
                    f"{recorded.name} {name}")


OPERATIONS = {"block_quantize": block_quantize, "block_dot": block_dot}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case)
    if recorded.op not in OPERATIONS:
        raise Refusal(f"unknown op '{recorded.op}'")
    OPERATIONS[recorded.op](suite, suite.path.partition("/")[0], recorded)
