# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What the operators mean on real numbers, to calibrate quantisation parameters. [samples, height, width, channels]."""

import numpy as np


def same_padding(size, window, stride):
    total = max(0, (-(-size // stride) - 1) * stride + window - size)
    return total // 2, total - total // 2


def windows(x, size, strides, padding, dilation=1, fill=0.0):
    """[samples, out_height, out_width, height, width, channels] of the windows."""
    reach = [(k - 1) * dilation + 1 for k in size]
    around = [same_padding(x.shape[i + 1], reach[i], strides[i]) if padding == "same" else (0, 0) for i in range(2)]
    padded = np.pad(x, ((0, 0), *around, (0, 0)), constant_values=fill)
    view = np.lib.stride_tricks.sliding_window_view(padded, reach, axis=(1, 2))
    return view[:, :: strides[0], :: strides[1], :, ::dilation, ::dilation].transpose(0, 1, 2, 4, 5, 3)


def conv(x, weights, strides, padding, dilation):
    return np.einsum("nhwijc,oijc->nhwo", windows(x, weights.shape[1:3], strides, padding, dilation), weights)


def depthwise(x, weights, strides, padding):
    """Weights [1, height, width, channels * multiplier]."""
    multiplier = weights.shape[3] // x.shape[3]
    return np.einsum("nhwijc,ijc->nhwc", windows(np.repeat(x, multiplier, axis=3), weights.shape[1:3], strides, padding), weights[0])


def transpose_conv(x, weights, strides):
    """VALID: every input adds its window of weights [out, height, width, in]."""
    n, height, width, _ = x.shape
    out = np.zeros((n, (height - 1) * strides[0] + weights.shape[1], (width - 1) * strides[1] + weights.shape[2], weights.shape[0]))
    for i in range(weights.shape[1]):
        for j in range(weights.shape[2]):
            part = x @ weights[:, i, j].T
            out[:, i : i + height * strides[0] : strides[0], j : j + width * strides[1] : strides[1]][:, :height, :width] += part
    return out


def average_pool(x, size, strides, padding):
    """The mean of what lies inside the image."""
    sums = windows(x, size, strides, padding).sum(axis=(3, 4))
    return sums / windows(np.ones_like(x), size, strides, padding).sum(axis=(3, 4))


def max_pool(x, size, strides, padding):
    return windows(x, size, strides, padding, fill=-np.inf).max(axis=(3, 4))


def logistic(x):
    return 1 / (1 + np.exp(-x))


def softmax(x):
    powers = np.exp(x - x.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def hard_swish(x):
    return x * np.clip(x + 3, 0, 6) / 6


def leaky_relu(x, alpha):
    return np.where(x < 0, alpha * x, x)


def bounded(x, activation):
    if activation == "relu":
        return np.maximum(x, 0)
    return np.clip(x, 0, 6) if activation == "relu6" else x


def lstm(x, input_weights, recurrent_weights, biases):
    """x [samples, time, features]; gates input, forget, cell, output. What it remembers goes from one sample to the next."""
    state = np.zeros(recurrent_weights[0].shape[0])
    cell, outputs, cells = state, [], []
    for step in x.reshape(-1, x.shape[-1]):
        gates = [w @ step + r @ state + b for w, r, b in zip(input_weights, recurrent_weights, biases)]
        cell = logistic(gates[1]) * cell + logistic(gates[0]) * np.tanh(gates[2])
        state = logistic(gates[3]) * np.tanh(cell)
        outputs.append(state)
        cells.append(cell)
    return np.array(outputs).reshape(*x.shape[:2], -1), np.array(cells)


def svdf(x, feature_weights, time_weights, bias, rank):
    """x [samples, features], one after the other. The outputs and all that was remembered."""
    features = x @ feature_weights.T
    memory = np.zeros(time_weights.shape)
    outputs = []
    for row in features:
        memory = np.concatenate([memory[:, 1:], row[:, None]], axis=1)
        outputs.append((memory * time_weights).sum(axis=1).reshape(-1, rank).sum(axis=1) + bias)
    return np.array(outputs), features
