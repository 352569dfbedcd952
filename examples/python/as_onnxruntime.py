#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A script for ONNX Runtime, with one line changed: as_onnxruntime.py [MODEL [BACKEND]]."""
import pathlib
import sys

import numpy as np

import lastbit

MODEL = pathlib.Path(__file__).resolve().parents[1] / "digits/model.json"  # yours is an .onnx

path = sys.argv[1] if len(sys.argv) > 1 else MODEL
# session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
session = lastbit.InferenceSession(path, sys.argv[2] if len(sys.argv) > 2 else "onnxruntime", providers=["CPUExecutionProvider"])

random = np.random.default_rng(1)
feeds = {}
for each in session.get_inputs():
    values = random.integers(0, 256, each.shape)
    feeds[each.name] = (values / 255).astype(np.float32) if each.type == "tensor(float)" else values.astype(each.type[7:-1])
for node, output in zip(session.get_outputs(), session.run(None, feeds)):
    print(f"{node.name} {node.type} {list(output.shape)}: {output.ravel()[:8]}")
