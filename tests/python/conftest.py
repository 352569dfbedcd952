# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What the tests see: the checkout's networks, and the command line to be equal to."""
import json
import os
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True  # nothing into the source

import numpy as np
import pytest

import lastbit

pytest_plugins = ["pytester"]
SOURCE = pathlib.Path(os.environ["LASTBIT_SOURCE_DIR"])
DIGITS = SOURCE / "examples/digits/model.json"
IMAGES = SOURCE / "examples/digits/test_images.npy"


@pytest.fixture(scope="session")
def digits():
    return lastbit.load_model(DIGITS)


@pytest.fixture(scope="session")
def images():
    return np.load(IMAGES)


@pytest.fixture(scope="session")
def tool():
    """The JSON that the command line prints; its exit status is 0 or 1."""

    def ask(*arguments):
        done = subprocess.run([os.environ["LASTBIT_TOOL"], *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode in (0, 1), done.stderr
        return json.loads(done.stdout)

    return ask


@pytest.fixture
def one_conv():
    """A convolution of one by one, two channels in and out."""
    return lastbit.model_from({
        "format": "lastbit.model.v1", "name": "one convolution",
        "tensors": [
            {"name": "x", "type": "int8", "shape": [1, 4, 4, 2], "quantization": {"scale": [0.05], "zero_point": [3]}},
            {"name": "w", "type": "int8", "shape": [2, 1, 1, 2], "data": [90, -60, 35, 127], "quantization": {"scale": [0.01], "zero_point": [0]}},
            {"name": "b", "type": "int32", "shape": [2], "data": [11, -7]},
            {"name": "y", "type": "int8", "shape": [1, 4, 4, 2], "quantization": {"scale": [0.08], "zero_point": [-5]}}],
        "operations": [{"op": "conv2d", "name": "conv", "inputs": ["x", "w", "b"], "outputs": ["y"],
                        "attributes": {"stride": [1, 1], "padding": "valid"}}],
        "inputs": ["x"], "outputs": ["y"]})
