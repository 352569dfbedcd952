#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on handwritten digits, quantises it to int8 and writes it as examples/digits.

Needs numpy and scikit-learn (for the images only). One thread is enough: about half a minute. The quantisation is the usual one of .tflite
files: asymmetric int8 activations from minimum and maximum, symmetric int8 weights per output channel (per tensor for the fully-connected
layer), int32 bias of scale input x weights, relu fused into the bounds of the output.
"""

import argparse
import json
import pathlib
import textwrap
from typing import NamedTuple

import numpy as np

from digits_integer import ARITHMETICS, run_int8

SEED = 7
EPOCHS = 40
BATCH = 32


class Layer(NamedTuple):
    name: str
    op: str
    inputs: tuple
    channels: int = 0
    filter: int = 1
    stride: int = 1
    relu: bool = False

    @property
    def weights(self):
        return self.name + "_weights"

    @property
    def bias(self):
        return self.name + "_bias"


NETWORK = (
    Layer("conv1", "conv2d", ("image",), channels=8, filter=3, relu=True),
    Layer("depthwise1", "depthwise_conv2d", ("conv1",), channels=8, filter=3, relu=True),
    Layer("pointwise1", "conv2d", ("depthwise1",), channels=16, relu=True),
    Layer("conv2", "conv2d", ("pointwise1",), channels=16, filter=3),
    Layer("residual", "add", ("pointwise1", "conv2"), relu=True),
    Layer("pool", "average_pool2d", ("residual",), filter=4, stride=4),
    Layer("features", "reshape", ("pool",), channels=64),
    Layer("logits", "fully_connected", ("features",), channels=10),
    Layer("probabilities", "softmax", ("logits",)),
)
WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")


# The operations. Activations are NHWC; weights have the layout of the model format (OHWI, 1HWC, OI).


def same_padding(size, layer):
    """Padding before and after, for an output of ceil(size / stride)."""
    out = -(-size // layer.stride)
    total = max(0, (out - 1) * layer.stride + layer.filter - size)
    return total // 2, total - total // 2


def patches(x, layer):
    """View [N, out_h, out_w, filter, filter, C] of the zero-padded input."""
    padded = np.pad(x, ((0, 0), same_padding(x.shape[1], layer), same_padding(x.shape[2], layer), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (layer.filter, layer.filter), axis=(1, 2))
    return windows[:, :: layer.stride, :: layer.stride].transpose(0, 1, 2, 4, 5, 3)


def fold(gradient, shape, layer):
    """The transpose of patches: every tap's gradient added where the tap was read."""
    rows, columns = same_padding(shape[1], layer), same_padding(shape[2], layer)
    padded = np.zeros((shape[0], shape[1] + sum(rows), shape[2] + sum(columns), shape[3]))
    _, height, width, *_ = gradient.shape
    for y in range(layer.filter):
        for x in range(layer.filter):
            bottom, right = y + height * layer.stride, x + width * layer.stride
            padded[:, y : bottom : layer.stride, x : right : layer.stride] += gradient[:, :, :, y, x]
    return padded[:, rows[0] : rows[0] + shape[1], columns[0] : columns[0] + shape[2]]


def weighted_sum(layer, x, weights):
    """The sums of products, without bias. Exact on integers below 2^53: also the accumulators of the quantised network."""
    if layer.op == "fully_connected":
        return x @ weights.T
    if layer.op == "conv2d":
        return np.tensordot(patches(x, layer), weights, ([3, 4, 5], [1, 2, 3]))
    return np.einsum("nhwijc,ijc->nhwc", patches(x, layer), weights[0])


def weighted_sum_gradients(layer, x, weights, gradient):
    """Gradients with respect to the input and the weights."""
    if layer.op == "fully_connected":
        return gradient @ weights, gradient.T @ x
    taps = patches(x, layer)
    if layer.op == "conv2d":
        tap_gradients = np.tensordot(gradient, weights, ([3], [0]))
        return fold(tap_gradients, x.shape, layer), np.tensordot(gradient, taps, ([0, 1, 2], [0, 1, 2]))
    tap_gradients = gradient[:, :, :, None, None, :] * weights[0]
    return fold(tap_gradients, x.shape, layer), np.einsum("nhwc,nhwijc->ijc", gradient, taps)[None]


def pool_windows(x, layer):
    """[N, out_h, filter, out_w, filter, C]: the windows do not overlap."""
    n, height, width, channels = x.shape
    return x.reshape(n, height // layer.filter, layer.filter, width // layer.filter, layer.filter, channels)


# The float network.


def weight_shape(layer, input_channels):
    if layer.op == "fully_connected":
        return layer.channels, input_channels
    if layer.op == "conv2d":
        return layer.channels, layer.filter, layer.filter, input_channels
    return 1, layer.filter, layer.filter, layer.channels


def initial_parameters(generator):
    parameters, channels = {}, {"image": 1}
    for layer in NETWORK:
        input_channels = channels[layer.inputs[0]]
        channels[layer.name] = layer.channels or input_channels
        if layer.op in WEIGHTED:
            shape = weight_shape(layer, input_channels)
            products = np.prod(shape[1:3]) if layer.op == "depthwise_conv2d" else np.prod(shape[1:])
            parameters[layer.weights] = generator.normal(0, np.sqrt(2 / products), shape)
            parameters[layer.bias] = np.zeros(layer.channels)
    return parameters


def forward(parameters, image):
    """Every tensor by name, up to the logits."""
    tensors = {"image": image}
    for layer in NETWORK[:-1]:
        x = tensors[layer.inputs[0]]
        if layer.op in WEIGHTED:
            y = weighted_sum(layer, x, parameters[layer.weights]) + parameters[layer.bias]
        elif layer.op == "add":
            y = x + tensors[layer.inputs[1]]
        elif layer.op == "average_pool2d":
            y = pool_windows(x, layer).mean(axis=(2, 4))
        else:
            y = x.reshape(len(x), -1)
        tensors[layer.name] = np.maximum(y, 0) if layer.relu else y
    return tensors


def backward(parameters, tensors, logits_gradient):
    """Gradients of the parameters."""
    flowing = {name: 0 for name in tensors} | {"logits": logits_gradient}
    gradients = {}
    for layer in reversed(NETWORK[:-1]):
        x, g = tensors[layer.inputs[0]], flowing[layer.name]
        if layer.relu:
            g = g * (tensors[layer.name] > 0)
        if layer.op in WEIGHTED:
            gradients[layer.bias] = g.reshape(-1, layer.channels).sum(axis=0)
            g, gradients[layer.weights] = weighted_sum_gradients(layer, x, parameters[layer.weights], g)
        elif layer.op == "average_pool2d":
            g = g.repeat(layer.filter, axis=1).repeat(layer.filter, axis=2) / layer.filter**2
        elif layer.op == "reshape":
            g = g.reshape(x.shape)
        for name in layer.inputs:
            flowing[name] = flowing[name] + g
    return gradients


def train(images, labels):
    """Adam on the cross-entropy, with a learning rate that falls as a half cosine and a little weight decay."""
    generator = np.random.default_rng(SEED)
    parameters = initial_parameters(generator)
    first = {name: np.zeros_like(value) for name, value in parameters.items()}
    second = {name: np.zeros_like(value) for name, value in parameters.items()}
    targets = np.eye(10)[labels]
    steps_per_epoch = len(images) // BATCH
    total = EPOCHS * steps_per_epoch
    for step in range(total):
        if step % steps_per_epoch == 0:
            order = generator.permutation(len(images))
        chosen = order[step % steps_per_epoch * BATCH :][:BATCH]
        tensors = forward(parameters, images[chosen])
        exponentials = np.exp(tensors["logits"] - tensors["logits"].max(axis=1, keepdims=True))
        error = exponentials / exponentials.sum(axis=1, keepdims=True) - targets[chosen]
        rate = 0.006 * (1 + np.cos(np.pi * step / total)) / 2
        for name, gradient in backward(parameters, tensors, error / BATCH).items():
            first[name] = 0.9 * first[name] + 0.1 * gradient
            second[name] = 0.999 * second[name] + 0.001 * gradient**2
            corrected = np.sqrt(second[name] / (1 - 0.999 ** (step + 1))) + 1e-8
            direction = first[name] / (1 - 0.9 ** (step + 1)) / corrected
            parameters[name] -= rate * (direction + 0.05 * parameters[name])
    return parameters


# Quantisation.


def round_half_away(x):
    return np.trunc(x + np.copysign(0.5, x))


def activation_quantization(values):
    """Scale (a float32 value) and zero point that cover the values and zero."""
    low, high = min(0.0, values.min()), max(0.0, values.max())
    scale = np.float32((high - low) / 255)
    return scale, int(np.clip(round_half_away(-128 - low / float(scale)), -128, 127))


def quantize_activations(parameters, images):
    """Scale and zero point of every tensor; pooling and reshaping keep those of their input, softmax has its fixed ones."""
    quantization = {name: activation_quantization(values) for name, values in forward(parameters, images).items()}
    for layer in NETWORK:
        if layer.op in ("average_pool2d", "reshape"):
            quantization[layer.name] = quantization[layer.inputs[0]]
    quantization["probabilities"] = (np.float32(1 / 256), -128)
    return quantization


def quantize_weights(parameters, quantization):
    """Name to (integers, scales) for weights and biases."""
    constants = {}
    for layer in (layer for layer in NETWORK if layer.op in WEIGHTED):
        weights = parameters[layer.weights]
        reduced = {"conv2d": (1, 2, 3), "depthwise_conv2d": (0, 1, 2), "fully_connected": None}[layer.op]
        scale = np.float32(np.abs(weights).max(axis=reduced, keepdims=True) / 127)
        integers = np.clip(round_half_away(weights / scale), -127, 127).astype(np.int8)
        bias_scale = quantization[layer.inputs[0]][0] * scale.ravel()
        constants[layer.weights] = integers, scale.ravel()
        constants[layer.bias] = round_half_away(parameters[layer.bias] / bias_scale).astype(np.int32), bias_scale
    return constants


def quantize_image(image, quantization):
    scale, zero_point = quantization["image"]
    return np.clip(round_half_away(image.astype(np.float32) / scale) + zero_point, -128, 127).astype(np.int8)


# The files.


def tensor_entry(name, kind, shape, scales, zero_point, axis=None, data=None):
    quantization = {"scale": [float(scale) for scale in scales], "zero_point": [zero_point] * len(scales)}
    if len(scales) > 1:
        quantization["axis"] = axis
    entry = {"name": name, "type": kind, "shape": list(shape), "quantization": quantization}
    return entry if data is None else entry | {"data": data.ravel().tolist()}


def operation_entry(layer):
    attributes = {}
    if layer.op in ("conv2d", "depthwise_conv2d"):
        attributes = {"stride": [layer.stride] * 2, "padding": "same"}
    elif layer.op == "average_pool2d":
        attributes = {"filter": [layer.filter] * 2, "stride": [layer.stride] * 2, "padding": "valid"}
    if layer.relu:
        attributes["activation"] = "relu"
    inputs = [*layer.inputs, layer.weights, layer.bias] if layer.op in WEIGHTED else list(layer.inputs)
    entry = {"op": layer.op, "name": layer.name, "inputs": inputs, "outputs": [layer.name]}
    return entry | {"attributes": attributes} if attributes else entry


def model_text(quantization, constants, shapes):
    """The model, one entry per paragraph, so that it can be read and compared line by line."""
    entries = [tensor_entry("image", "int8", shapes["image"], [quantization["image"][0]], quantization["image"][1])]
    for layer in NETWORK:
        for name in (layer.weights, layer.bias) if layer.op in WEIGHTED else ():
            integers, scales = constants[name]
            axis = 3 if integers.ndim == 4 and layer.op == "depthwise_conv2d" else 0
            entries.append(tensor_entry(name, str(integers.dtype), integers.shape, scales, 0, axis, integers))
        scale, zero_point = quantization[layer.name]
        entries.append(tensor_entry(layer.name, "int8", shapes[layer.name], [scale], zero_point))

    def paragraphs(items):
        return ",\n".join(textwrap.fill(json.dumps(item), 138, initial_indent="    ", subsequent_indent="     ", break_long_words=False,
                                        break_on_hyphens=False) for item in items)

    return (f'{{\n  "format": "lastbit.model.v1",\n  "name": "handwritten digits",\n  "tensors": [\n{paragraphs(entries)}\n  ],\n'
            f'  "operations": [\n{paragraphs(map(operation_entry, NETWORK))}\n  ],\n'
            '  "inputs": ["image"],\n  "outputs": ["probabilities"]\n}\n')


def report(labels, float_logits, traces):
    """Accuracies, and how many values of each tensor differ between two arithmetics, each on its own history."""
    print(f"float accuracy {np.mean(float_logits.argmax(axis=1) == labels):.4f}")
    for name, trace in traces.items():
        print(f"int8 accuracy  {np.mean(trace['logits'].argmax(axis=1) == labels):.4f}  {name}")
    first, *others = traces
    for name in traces[first]:
        counts = [int(np.sum(traces[first][name] != traces[other][name])) for other in others]
        print(f"{name:12} {traces[first][name].size:7} values; differ from {first}: " +
              ", ".join(f"{count} ({other})" for count, other in zip(counts, others)))


def main():
    from sklearn.datasets import load_digits

    np.seterr(divide="raise", invalid="raise")  # a channel whose weights are all zero has no scale
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=pathlib.Path, default=pathlib.Path(__file__).parents[1] / "examples" / "digits")
    folder = parser.parse_args().folder
    digits = load_digits()
    images, labels = digits.images[..., None] / 16, digits.target
    held_out = np.arange(len(images)) % 5 == 0
    parameters = train(images[~held_out], labels[~held_out])
    quantization = quantize_activations(parameters, images[~held_out])
    constants = quantize_weights(parameters, quantization)
    test_images = quantize_image(images[held_out], quantization)

    float_tensors = forward(parameters, images[held_out])
    shapes = {name: (1, *values.shape[1:]) for name, values in float_tensors.items()} | {"probabilities": (1, 10)}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "model.json").write_text(model_text(quantization, constants, shapes))
    np.save(folder / "test_images.npy", test_images[:, None])
    np.save(folder / "test_labels.npy", labels[held_out].astype(np.int64))
    report(labels[held_out], float_tensors["logits"],
           {name: run_int8(NETWORK[:-1], quantization, constants, test_images, arithmetic, weighted_sum)
            for name, arithmetic in ARITHMETICS.items()})


if __name__ == "__main__":
    main()
