# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Single layers on arrays, equal to the command line's `lastbit layer`."""
import json
import os
import subprocess

import numpy as np
import pytest

import lastbit

RANDOM = np.random.default_rng(3)


def codes(*shape):
    return RANDOM.integers(-128, 128, shape).astype(np.int8)


def test_a_convolution_is_that_of_the_command_line(tmp_path):
    x, w, b = codes(1, 3, 9, 9), codes(4, 3, 3, 3), RANDOM.integers(-900, 900, 4).astype(np.int32)
    for name, array in {"x": x, "w": w, "b": b}.items():
        np.save(tmp_path / f"{name}.npy", array)
    scales = [0.01, 0.02, 0.005, 0.013]
    layer = {"format": "lastbit.layer.v1", "op": "conv2d", "layout": "nchw", "inputs": [{"file": "x.npy", "scale": 0.05, "zero_point": 3}],
             "weights": {"file": "w.npy", "scale": scales}, "bias": "b.npy", "attributes": {"stride": 2, "padding": "same", "activation": "relu"},
             "output": {"scale": 0.4, "zero_point": -20}}
    (tmp_path / "layer.json").write_text(json.dumps(layer))
    subprocess.run([os.environ["LASTBIT_TOOL"], "layer", tmp_path / "layer.json", "--backend", "vipnano_v8", "-o", tmp_path / "y.npy"], check=True,
                   stdout=subprocess.DEVNULL)
    y = lastbit.layer.conv2d(x, w, b, backend="vipnano_v8", x_scale=0.05, x_zero_point=3, w_scale=scales, scale=0.4, zero_point=-20, stride=2,
                             padding="same", activation="relu", layout="nchw")
    assert y.shape == (1, 4, 5, 5) and y.min() < y.max()
    np.testing.assert_array_equal(y, np.load(tmp_path / "y.npy"))


def test_sums_are_delivered_without_a_scale():
    x, w = codes(3, 16), codes(5, 16)
    y = lastbit.layer.fully_connected(x, w, backend="tflite_double", x_scale=0.1, w_scale=0.1)
    assert y.dtype == np.int32
    np.testing.assert_array_equal(y, x.astype(np.int32) @ w.T.astype(np.int32))


def test_the_other_layers():
    x = codes(1, 6, 6, 4)
    at = {"backend": "tflite_double", "x_scale": 0.1, "scale": 0.1}
    assert lastbit.layer.depthwise_conv2d(x, codes(1, 3, 3, 4), w_scale=0.01, **at).shape == (1, 4, 4, 4)
    np.testing.assert_array_equal(lastbit.layer.max_pool2d(x, 2, stride=2, **at), x.reshape(1, 3, 2, 3, 2, 4).max((2, 4)))
    assert lastbit.layer.average_pool2d(x, 6, **at).shape == (1, 1, 1, 4)
    assert lastbit.layer.softmax(x, backend="tflite_double", x_scale=0.1, scale=1 / 256, zero_point=-128).shape == x.shape
    one = {"backend": "tflite_double", "a_scale": 0.1, "b_scale": 0.1, "scale": 0.2}
    assert lastbit.layer.add(x, x, **one).dtype == np.int8 and lastbit.layer.mul(x, x, **one).dtype == np.int8
    np.testing.assert_array_equal(lastbit.layer.requantize(x, **at), x)
    relu = lastbit.layer.run("relu", lastbit.layer.Codes(x, 0.1, 0), backend="tflite_double", scale=0.1)
    np.testing.assert_array_equal(relu, np.maximum(x, 0))


def test_mistakes():
    with pytest.raises(lastbit.Error) as raised:
        lastbit.layer.run("conv3d", codes(1, 2), backend="tflite_double")
    assert raised.value.code == "unsupported_operation"
    with pytest.raises(lastbit.Error, match="strid"):
        lastbit.layer.run("max_pool2d", codes(1, 4, 4, 1), backend="tflite_double", filter=2, strid=1)
