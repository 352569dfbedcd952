#!/usr/bin/python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""An evaluation loop of PyTorch: a network quantised by torch.ao.quantization, on its own engine and on devices, by torch's operators' last bit."""
import pathlib
import sys

import numpy as np

try:
    import torch
    from torch.ao import quantization
except ImportError:
    print("skipped: there is no torch")
    sys.exit(0)

import lastbit.torch

DIGITS = pathlib.Path(__file__).resolve().parents[1] / "digits"
torch.manual_seed(1)
torch.set_num_threads(1)
torch.backends.quantized.engine = "qnnpack"

network = torch.nn.Sequential(quantization.QuantStub(), torch.nn.Conv2d(1, 12, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2),
                              torch.nn.Conv2d(12, 24, 3, padding=1), torch.nn.ReLU(), torch.nn.AvgPool2d(2), torch.nn.Flatten(),
                              torch.nn.Linear(96, 10), quantization.DeQuantStub())
model = lastbit.load_model(DIGITS / "model.json")
images = torch.from_numpy(model.inputs[0].real(np.load(DIGITS / "test_images.npy")).astype(np.float32)).reshape(-1, 1, 8, 8)
labels = torch.from_numpy(np.load(DIGITS / "test_labels.npy")).long()
train, test = (slice(0, 240), slice(240, None))

optimizer = torch.optim.Adam(network.parameters(), 0.01)
for _ in range(60):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(network(images[train]), labels[train]).backward()
    optimizer.step()

network.eval()
network.qconfig = quantization.get_default_qconfig("qnnpack")
prepared = quantization.prepare(quantization.fuse_modules(network, [["1", "2"], ["4", "5"]]))
prepared(images[train])
quantised = quantization.convert(prepared)


def accuracy(forward):
    return sum((forward(images[i:i + 20]).argmax(1) == labels[i:i + 20]).sum().item() for i in range(240, len(images), 20)) / (len(images) - 240)


theirs = quantised(images[test])
print(f"{'PyTorch, qnnpack':18} {accuracy(quantised):.2%} right")
for backend in ("pytorch_qnnpack", "pytorch_x86", "onnxruntime"):
    forward = lastbit.torch.emulate(quantised, backend)
    differing = (forward(images[test]) != theirs).sum().item()
    print(f"{backend:18} {accuracy(forward):.2%} right, {differing} of {theirs.numel()} outputs differ from PyTorch's")
