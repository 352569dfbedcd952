#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""One convolution on two devices, without a model: where they part, and by how much."""
import numpy as np

import lastbit

random = np.random.default_rng(5)
x = random.integers(-128, 128, (1, 16, 16, 8)).astype(np.int8)
w = random.integers(-127, 128, (16, 3, 3, 8)).astype(np.int8)
b = random.integers(-2000, 2000, 16).astype(np.int32)
layer = {"x_scale": 0.04, "x_zero_point": 3, "w_scale": 0.0021, "scale": 0.31, "padding": "same"}

a, other = (lastbit.layer.conv2d(x, w, b, backend=backend, **layer) for backend in ("tflite_double", "vipnano_v8"))
difference = other.astype(int) - a
print(f"{np.count_nonzero(difference)} of {difference.size} values differ, by at most {np.abs(difference).max()} LSB")
for at in np.argwhere(difference)[:3].tolist():
    print(f"  at {at}: tflite_double {a[tuple(at)]}, vipnano_v8 {other[tuple(at)]}")
