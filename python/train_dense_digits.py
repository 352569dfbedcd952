#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Trains two dense layers on the first 240 of the digits' test images and writes them, in float, as examples/vnni-laptop/model.json.

Needs numpy; a few seconds. The other 120 images are the test. Weights are rounded to four decimals: the file is short, and the network is the
rounded one.
"""

import json
import pathlib

import numpy as np

EXAMPLES = pathlib.Path(__file__).resolve().parent.parent / "examples"
TRAINED, HIDDEN, EPOCHS, BATCH, RATE, DECAY, SEED = 240, 24, 300, 40, 0.003, 1e-4, 0


def read_digits():
    codes = np.load(EXAMPLES / "digits" / "test_images.npy").reshape(-1, 64)
    return (codes.astype(float) + 128) / 255, np.load(EXAMPLES / "digits" / "test_labels.npy")


def forward(parameters, images):
    w1, b1, w2, b2 = parameters
    hidden = np.maximum(images @ w1.T + b1, 0)
    return hidden, hidden @ w2.T + b2


def gradients(parameters, images, labels):
    """Of the mean cross entropy, and of the decay of the weights."""
    w1, _, w2, _ = parameters
    hidden, logits = forward(parameters, images)
    at_logits = np.exp(logits - logits.max(1, keepdims=True))
    at_logits /= at_logits.sum(1, keepdims=True)
    at_logits[np.arange(len(labels)), labels] -= 1
    at_logits /= len(labels)
    at_hidden = at_logits @ w2 * (hidden > 0)
    return at_hidden.T @ images + DECAY * w1, at_hidden.sum(0), at_logits.T @ hidden + DECAY * w2, at_logits.sum(0)


def train(images, labels):
    """Adam, with the usual constants."""
    generator = np.random.default_rng(SEED)
    inputs, outputs = images.shape[1], labels.max() + 1
    parameters = [
        generator.normal(0, np.sqrt(2 / inputs), (HIDDEN, inputs)),
        np.zeros(HIDDEN),
        generator.normal(0, np.sqrt(2 / HIDDEN), (outputs, HIDDEN)),
        np.zeros(outputs),
    ]
    means, squares = [0 * each for each in parameters], [0 * each for each in parameters]
    step = 0
    for _ in range(EPOCHS):
        order = generator.permutation(len(labels))
        for first in range(0, len(order), BATCH):
            step += 1
            batch = order[first : first + BATCH]
            for i, gradient in enumerate(gradients(parameters, images[batch], labels[batch])):
                means[i] = 0.9 * means[i] + 0.1 * gradient
                squares[i] = 0.999 * squares[i] + 0.001 * gradient**2
                parameters[i] = parameters[i] - RATE * (means[i] / (1 - 0.9**step)) / (np.sqrt(squares[i] / (1 - 0.999**step)) + 1e-8)
    return [np.round(each, 4) for each in parameters]


def model_of(parameters):
    w1, b1, w2, b2 = parameters
    tensors = [{"name": "image", "type": "float32", "shape": [1, 64]}]
    for name, values in (("hidden_weights", w1), ("hidden_bias", b1), ("logits_weights", w2), ("logits_bias", b2)):
        tensors.append({"name": name, "type": "float32", "shape": list(values.shape), "data": values.ravel().tolist()})
    tensors += [{"name": "hidden", "type": "float32", "shape": [1, HIDDEN]}, {"name": "logits", "type": "float32", "shape": [1, len(b2)]}]
    dense = {"op": "fully_connected"}
    return {
        "format": "lastbit.model.v1",
        "name": "two dense layers that read digits",
        "tensors": tensors,
        "operations": [
            {**dense, "name": "hidden", "inputs": ["image", "hidden_weights", "hidden_bias"], "outputs": ["hidden"], "attributes": {"activation": "relu"}},
            {**dense, "name": "logits", "inputs": ["hidden", "logits_weights", "logits_bias"], "outputs": ["logits"]},
        ],
        "inputs": ["image"],
        "outputs": ["logits"],
    }


def main():
    images, labels = read_digits()
    parameters = train(images[:TRAINED], labels[:TRAINED])
    answers = forward(parameters, images[TRAINED:])[1].argmax(1)
    (EXAMPLES / "vnni-laptop" / "model.json").write_text(json.dumps(model_of(parameters)) + "\n")
    print(f"{np.mean(answers == labels[TRAINED:]):.2%} of the other {len(answers)} images")


if __name__ == "__main__":
    main()
