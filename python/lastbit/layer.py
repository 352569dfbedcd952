# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""One layer on arrays, without a model file: lastbit.layer.conv2d(x, w, b, …, backend="vipnano_v8").

Arrays hold codes (int8, uint8, int16, int32), or real values, which are quantised by the device's rule where a `type` is given. Images are NHWC and weights
[outputs, height, width, inputs]; with layout="nchw" NCHW and [outputs, inputs, height, width]. Every function returns the output's codes in the
same layout. scale and zero_point are the output's; without a scale, sums are delivered as int32. Errors: lastbit.Error.
"""
from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np

from . import _lastbit
from .backend import backend as backend_of


class Codes(NamedTuple):
    """An array and what its codes stand for: scale * (code - zero_point); a number each, or one per output channel. type: what real values become."""

    values: np.ndarray
    scale: object = None
    zero_point: object = None
    type: str | None = None


def _plain(value):
    return np.asarray(value).tolist() if value is not None and not isinstance(value, (str, int, float)) else value


def _operand(operand, arrays: dict, name: str) -> dict:
    codes = operand if isinstance(operand, Codes) else Codes(operand)
    arrays[name] = np.asarray(codes.values)
    described = {"file": name, "scale": _plain(codes.scale), "zero_point": _plain(codes.zero_point), "type": codes.type}
    return {key: value for key, value in described.items() if value is not None}


def run(op: str, *inputs, backend, weights=None, bias=None, constants=(), layout: str = "nhwc", scale=None, zero_point=None, type: str | None = None,
        shape=None, count: int | None = None, **attributes):
    """Any operation by its kind ("add", "softmax", …), with its attributes as in the model format. Of several outputs, a list.

    inputs, weights, bias, constants: arrays, or Codes(values, scale, zero_point). type, scale, zero_point, shape, count: of the output.
    """
    output = {"type": type, "scale": _plain(scale), "zero_point": _plain(zero_point), "shape": _plain(shape), "count": count}
    output = {key: value for key, value in output.items() if value is not None}
    arrays: dict[str, np.ndarray] = {}
    layer = {"format": "lastbit.layer.v1", "op": op, "layout": layout,
             "inputs": [_operand(each, arrays, f"input {i}") for i, each in enumerate(inputs)],
             "attributes": {name: _plain(value) for name, value in attributes.items() if value is not None}}
    for name, value in (("weights", weights), ("bias", bias)):
        if value is not None:
            layer[name] = _operand(value, arrays, name)
    if len(constants):
        layer["constants"] = [_operand(each, arrays, f"constant {i}") for i, each in enumerate(constants)]
    if output:
        layer["output"] = output
    outputs = _lastbit.run_layer(json.dumps(layer), arrays, backend_of(backend).native)
    return outputs[0] if len(outputs) == 1 else outputs


def conv2d(x, w, b=None, *, backend, x_scale=None, x_zero_point=None, w_scale=None, w_zero_point=None, scale=None, zero_point=None, stride=1,
           dilation=1, padding="valid", activation="none", layout="nhwc", type=None):
    """A convolution. stride, dilation: a number or [height, width]; padding: "same", "valid", a number, or [top, bottom, left, right]; activation:
    none, relu, relu6, relu_n1_to_1. w_scale: one, or one per output channel. b: int32 [outputs], of scale x_scale * w_scale."""
    return run("conv2d", Codes(x, x_scale, x_zero_point), weights=Codes(w, w_scale, w_zero_point), bias=b, backend=backend, layout=layout, scale=scale,
               zero_point=zero_point, type=type, stride=stride, dilation=dilation, padding=padding, activation=activation)


def depthwise_conv2d(x, w, b=None, *, backend, x_scale=None, x_zero_point=None, w_scale=None, w_zero_point=None, scale=None, zero_point=None,
                     stride=1, dilation=1, padding="valid", activation="none", layout="nhwc", type=None):
    """A convolution channel by channel; weights [1, height, width, channels * multiplier], in nchw [channels * multiplier, 1, height, width]."""
    return run("depthwise_conv2d", Codes(x, x_scale, x_zero_point), weights=Codes(w, w_scale, w_zero_point), bias=b, backend=backend, layout=layout,
               scale=scale, zero_point=zero_point, type=type, stride=stride, dilation=dilation, padding=padding, activation=activation)


def fully_connected(x, w, b=None, *, backend, x_scale=None, x_zero_point=None, w_scale=None, w_zero_point=None, scale=None, zero_point=None,
                    activation="none", type=None):
    """x [rows, inputs], weights [outputs, inputs], b int32 [outputs]."""
    return run("fully_connected", Codes(x, x_scale, x_zero_point), weights=Codes(w, w_scale, w_zero_point), bias=b, backend=backend, scale=scale,
               zero_point=zero_point, type=type, activation=activation)


def add(a, b, *, backend, a_scale=None, a_zero_point=None, b_scale=None, b_zero_point=None, scale=None, zero_point=None, activation="none"):
    """The sum of two arrays, which broadcast as numpy's do."""
    return run("add", Codes(a, a_scale, a_zero_point), Codes(b, b_scale, b_zero_point), backend=backend, scale=scale, zero_point=zero_point,
               activation=activation)


def mul(a, b, *, backend, a_scale=None, a_zero_point=None, b_scale=None, b_zero_point=None, scale=None, zero_point=None, activation="none"):
    """The product of two arrays, which broadcast as numpy's do."""
    return run("mul", Codes(a, a_scale, a_zero_point), Codes(b, b_scale, b_zero_point), backend=backend, scale=scale, zero_point=zero_point,
               activation=activation)


def average_pool2d(x, filter, *, backend, x_scale=None, x_zero_point=None, scale=None, zero_point=None, stride=1, padding="valid", layout="nhwc"):
    """An average over windows; filter and stride: a number or [height, width]."""
    return run("average_pool2d", Codes(x, x_scale, x_zero_point), backend=backend, layout=layout, scale=scale, zero_point=zero_point, filter=filter,
               stride=stride, padding=padding)


def max_pool2d(x, filter, *, backend, x_scale=None, x_zero_point=None, scale=None, zero_point=None, stride=1, padding="valid", layout="nhwc"):
    """The largest code of windows; filter and stride: a number or [height, width]."""
    return run("max_pool2d", Codes(x, x_scale, x_zero_point), backend=backend, layout=layout, scale=scale, zero_point=zero_point, filter=filter,
               stride=stride, padding=padding)


def softmax(x, *, backend, x_scale=None, x_zero_point=None, scale=None, zero_point=None, beta=1.0):
    """Along the last axis."""
    return run("softmax", Codes(x, x_scale, x_zero_point), backend=backend, scale=scale, zero_point=zero_point, beta=beta)


def requantize(x, *, backend, x_scale=None, x_zero_point=None, scale=None, zero_point=None, type=None):
    """Codes of one scale as codes of another."""
    return run("requantize", Codes(x, x_scale, x_zero_point), backend=backend, scale=scale, zero_point=zero_point, type=type)
