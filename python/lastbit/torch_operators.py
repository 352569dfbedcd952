# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's operators as operations of the project's format.

An operator on quantised tensors becomes an operation on codes. In an exported program (torch.export) arithmetic stands on real numbers between
dequantize and quantize; there it becomes an operation on codes that is `stated` as fusible, about which the rule `fusion` of each backend decides.
"""
from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import torch

from .torch_calls import Call
from .torch_network import CHANNELS_LAST, Later, Network, Value, array_of, as_float32, code_of, codes_of, decomposed_codes, pair


class Translator:
    """Adds one call after the other to a network; OPERATORS says which method does."""

    def __init__(self, network: Network):
        self.network = network

    def translate(self, calls: list[Call]):
        for call in calls:
            tensors = [each for argument in call.arguments.values() for each in (argument if isinstance(argument, (list, tuple)) else [argument])]
            if not any(isinstance(each, torch.Tensor) and id(each) in self.network.computed for each in tensors):
                self.remember_codes(call)
                continue  # of what the module holds alone: the result is held as well
            self.network.place = self.network.label(call)
            if call.operator not in OPERATORS:
                self.network.fail(f"PyTorch's {call.operator} is not translated")
            OPERATORS[call.operator](self, call)

    def source(self, call, *names) -> Value:
        """The operand, by whichever name the operator has for it."""
        return self.network.value(next(call.arguments[name] for name in (*names, "self", "input", "qx", "X") if name in call.arguments))

    def remember_codes(self, call):
        """The weights of an exported program are held as codes, and stay codes where they are turned."""
        if call.operator.startswith("quantized_decomposed::dequantize"):
            held = self.network.value(call.arguments["input"])
            held.codes = decomposed_codes(call.arguments)
            self.network.value(call.result).coded = held
        elif call.operator == "aten::t" and (held := self.network.value(call.arguments["self"]).coded) is not None and held.array is not None:
            turned = Value(held.sizes[::-1], held.type, held.codes and held.codes._replace(axis=1 - held.codes.axis), held.name)
            turned.array = held.array.T
            self.network.value(call.result).coded = turned

    # Layers with weights.

    def quantized_convolution(self, call):
        packed = call.arguments["packed_weight"]
        if packed.transpose():
            self.network.fail("a transposed convolution is not translated")
        weights, bias = packed.unpack()
        self.convolution(self.source(call), array_of(weights), codes_of(weights), None if bias is None else array_of(bias), self.network.result(call),
                         (packed.stride(), packed.padding(), packed.dilation(), packed.groups()), "relu" in call.operator)

    def real_convolution(self, call):
        take = call.arguments
        if take.get("transposed") or len(take["stride"]) != 2:
            self.network.fail("a transposed convolution, or one over another number of axes than two, is not translated")
        shape = (take["stride"], take["padding"], take["dilation"], take["groups"])
        self.real_products(self.source(call), take["weight"], take["bias"], self.network.result(call), partial(self.convolution, shape=shape))

    def convolution(self, source, weights, codes, bias, value, shape, relu=False, stated=None):
        stride, padding, dilation, groups = shape
        depthwise = groups > 1 and groups == source.sizes[1] and weights.shape[1] == 1
        weights = np.ascontiguousarray(weights.transpose((1, 2, 3, 0) if depthwise else (0, 2, 3, 1)))
        attributes = {"stride": pair(stride), "dilation": pair(dilation), "padding": [size for size in pair(padding) for _ in range(2)]}
        self.products("depthwise_conv2d" if depthwise else "conv2d", source, weights, codes and codes._replace(axis=3 if depthwise else 0), bias, value,
                      attributes, relu, stated)

    def quantized_linear(self, call):
        weights, bias = call.arguments["W_prepack"].unpack()
        self.linear(self.source(call), array_of(weights), codes_of(weights), None if bias is None else array_of(bias), self.network.result(call),
                    "relu" in call.operator)

    def real_linear(self, call):
        take = call.arguments
        weights, bias = take.get("mat2", take.get("weight")), take["self"] if "mat1" in take else take.get("bias")
        self.real_products(self.source(call, "mat1"), weights, bias, self.network.result(call), self.linear, turned=call.operator != "aten::linear")

    def linear(self, source, weights, codes, bias, value, relu=False, stated=None):
        self.products("fully_connected", source, np.ascontiguousarray(weights), codes and codes._replace(axis=0), bias, value, {}, relu, stated)

    def real_products(self, source, weights, bias, value, layer, turned=False):
        """`turned`: weights [inputs, outputs]. Held back until it is known whether a batch norm, or quantize, stands behind."""
        held, bias = self.network.value(weights), None if bias is None else array_of(bias)
        if held.array is None:
            self.network.fail("a product of two computed tensors is not translated")
        array, coded = held.array.T if turned else held.array, held.coded
        zeros = np.zeros(array.shape[0], np.float32)
        value.later = Later(lambda into: layer(source, array, None, bias, into), weights=array, bias=zeros if bias is None else bias,
                            with_weights=lambda weights, bias, into: layer(source, weights, None, bias, into))
        if coded is not None and source.coded is not None:
            codes = coded.array.T if turned else coded.array
            value.later = value.later._replace(on_codes=lambda into: layer(source.coded, codes, coded.codes, bias, into, stated="fusible"))

    def products(self, op, source, weights, codes, bias, value, attributes, relu, stated):
        inputs = [self.network.input_of(source, value.is_image), self.network.add_constant(value.name + ".weight", weights, codes)]
        if bias is not None:
            inputs.append(self.network.add_constant(value.name + ".bias", self.packed_bias(bias, source, codes) if codes else bias))
        if relu:
            attributes["activation"] = "relu"
        self.network.emit(op, inputs, value, value.is_image, attributes, stated=stated)

    def packed_bias(self, bias, source, codes) -> np.ndarray:
        """As torch makes it when it packs weights: half_even(b * float(1 / float(in * w)))."""
        scales = np.float32(source.codes.scales[0]) * np.array(codes.scales, np.float32)
        whole = np.rint(bias.astype(np.float32) * (np.float32(1) / scales))
        if np.abs(whole).max(initial=0) >= 2.0 ** 31:
            self.network.fail("the bias leaves int32", "bad_quantization")
        return whole.astype(np.int32)

    def batch_norm(self, call):
        take = call.arguments
        before = self.source(call).later
        if before is None or before.with_weights is None or take.get("training"):
            self.network.fail("a batch norm is translated in eval mode, behind a convolution or linear layer of real numbers alone")
        mean, variance = array_of(take["running_mean"]), array_of(take["running_var"])
        factor = (np.float32(1) if take["weight"] is None else array_of(take["weight"])) / np.sqrt(variance + np.float32(take["eps"]))
        weights = (before.weights * factor.reshape(-1, *[1] * (before.weights.ndim - 1))).astype(np.float32)
        bias = ((before.bias - mean) * factor + (np.float32(0) if take["bias"] is None else array_of(take["bias"]))).astype(np.float32)
        self.network.result(call).later = before._replace(real=lambda into: before.with_weights(weights, bias, into), on_codes=None, weights=weights, bias=bias)

    # Element by element, and pools.

    def apply(self, op, sources, value, attributes=None):
        """On codes, if all operands are real numbers that come from codes and the result is quantised."""
        attributes = attributes or {}
        if any(each.coded is None for each in sources):
            return self.network.compute(op, sources, value, attributes)
        value.later = Later(lambda into: self.network.compute(op, sources, into, attributes),
                            lambda into: self.network.compute(op, [each.coded for each in sources], into, dict(attributes), "fusible"))
        return None

    def function(self, call, op, attributes=lambda take: {}):
        self.apply(op, [self.source(call)], self.network.result(call), attributes(call.arguments))

    def quantized_binary(self, call):
        op = call.operator.split("::")[1].split("_")[0]
        self.apply(op, [self.source(call, "qa"), self.source(call, "qb")], self.network.result(call), {"activation": "relu"} if "relu" in call.operator else {})

    def real_binary(self, call):
        take = call.arguments
        if take.get("alpha", 1) != 1:
            self.network.fail("a factor alpha is not translated")
        operands = [each if isinstance(each, torch.Tensor) else torch.tensor(float(each)) for each in (take["self"], take["other"])]
        self.network.kept += operands
        self.apply(call.operator.split("::")[1].strip("_"), [self.network.value(each) for each in operands], self.network.result(call))

    def bounds(self, call, low, high):
        """Values are bounded; codes by the codes of the bounds."""
        source, value = self.source(call), self.network.result(call)
        least, most = call.arguments.get("min_val", low), call.arguments.get("max_val", high)
        if source.later is not None and source.later.on_codes is not None and (least, most) == (0, None):
            return self.fused_relu(source, value)
        if value.codes is None:
            named = {(0, None): "relu", (0, 6): "relu6", (-1, 1): "relu_n1_to_1"}.get((least, most))
            return self.apply(named or "clip", [source], value, {} if named else {"clamp": [float(least), float(most)]})
        limits, ends = np.iinfo(value.type), []
        for bound, end in ((least, limits.min), (most, limits.max)):
            ends.append(end if bound is None else int(np.clip(code_of(bound, value.codes), limits.min, limits.max)))
        return self.network.compute("clip", [source], value, {"clamp": ends})

    def fused_relu(self, source, value):
        """Of an exported program: part of the operation before it."""
        before = source.later

        def on_codes(into):
            before.on_codes(into)
            self.network.operations[-1]["attributes"]["activation"] = "relu"

        value.later = Later(lambda into: self.network.compute("relu", [source], into), on_codes)

    def pool(self, call, op):
        take = call.arguments
        source, value = self.source(call), self.network.result(call)
        window = pair(take["kernel_size"])
        stride, padding = pair(take.get("stride") or window), pair(take.get("padding", 0))
        if not source.is_image or pair(take.get("dilation", 1)) != [1, 1] or take.get("divisor_override") is not None:
            self.network.fail("a pool with a dilation or divisor, or not over images, is not translated")
        whole = [(size + 2 * pad - wide) // step + 1 for size, pad, wide, step in zip(source.sizes[2:], padding, window, stride)]
        if whole != list(value.sizes[2:]):
            self.network.fail("ceil_mode with windows that reach beyond the image is not translated")
        attributes = {"filter": window, "stride": stride, "padding": [size for size in padding for _ in range(2)]}
        if op == "average_pool2d" and any(padding) and take.get("count_include_pad", True):
            attributes["counted_padding"] = True
        self.apply(op, [source], value, attributes)

    def adaptive_pool(self, call):
        source, wanted = self.source(call), pair(call.arguments["output_size"])
        if not source.is_image or wanted != [1, 1]:
            self.network.fail(f"an adaptive pool to {wanted} is not translated; to [1, 1] it is")
        self.apply("global_average_pool", [source], self.network.result(call))

    def mean(self, call):
        source, value = self.source(call), self.network.result(call)
        rank, keeps = len(source.sizes), bool(call.arguments["keepdim"])
        axes = sorted(axis % rank for axis in call.arguments["dim"] or range(rank))
        if not source.is_image or axes != [2, 3]:
            return self.network.emit("mean", [self.network.input_of(source)], value, False, {"axes": axes, "keep_dims": keeps})
        if keeps:
            return self.apply("global_average_pool", [source], value)
        pooled = Value((*source.sizes[:2], 1, 1), value.type, value.codes, value.name + " pooled")
        self.network.compute("global_average_pool", [source], pooled)
        return self.network.emit("reshape", [self.network.input_of(pooled, True)], value)

    def concat(self, call):
        take, value = call.arguments, self.network.result(call)
        sources = [self.network.value(each) for each in take.get("tensors", take.get("qx"))]
        axis = take["dim"] % len(value.sizes)
        attributes = {"axis": CHANNELS_LAST.index(axis) if value.is_image else axis}
        if "relu" in call.operator:
            attributes["activation"] = "relu"
        self.apply("concat", sources, value, attributes)

    def softmax(self, call):
        source, value = self.source(call), self.network.result(call)
        axis, rank = call.arguments["dim"] % len(value.sizes), len(value.sizes)
        if axis != rank - 1 and not (value.is_image and axis == 1):
            self.network.fail("a softmax is translated over the last axis, or over the channels of images")
        images = value.is_image and axis == 1
        self.network.emit("softmax", [self.network.input_of(source, images)], value, images)

    # Between codes and real numbers.

    def quantize(self, call):
        self.network.compute("quantize", [self.source(call)], self.network.result(call))

    def dequantize(self, call):
        self.network.compute("dequantize", [self.source(call)], self.network.result(call))

    def decomposed_quantize(self, call):
        source, value = self.source(call), self.network.result(call)
        value.codes = decomposed_codes(call.arguments)
        if source.later is not None and source.later.on_codes is not None:
            value.name = source.name
            source.later.on_codes(value)
        elif source.coded is not None and source.coded.codes == value.codes:
            self.network.set_value(call.first, source.coded)
        else:
            self.network.compute("quantize", [source], value)

    def decomposed_dequantize(self, call):
        source, value = self.source(call), self.network.result(call)
        value.coded = source
        value.later = Later(lambda into: self.network.compute("dequantize", [source], into))

    # Movement.

    def same(self, call):
        self.network.set_value(call.first, self.source(call))

    def move(self, source, value, op, attributes=None):
        """Codes are moved as codes, if that is what the real numbers come from."""
        if source.coded is not None:
            value.coded = Value(value.sizes, source.coded.type, source.coded.codes, value.name)
            self.move(source.coded, value.coded, op, attributes)
            value.later = Later(lambda into: self.network.compute("dequantize", [value.coded], into))
        else:
            self.network.emit(op, [self.network.input_of(source)], value, False, attributes)

    def reshape(self, call):
        self.move(self.source(call), self.network.result(call), "reshape")

    def permute(self, call):
        take, source = call.arguments, self.source(call)
        order = list(range(len(source.sizes)))
        if "dims" in take:
            order = [axis % len(order) for axis in take["dims"]]
        else:
            a, b = take.get("dim0", 0), take.get("dim1", 1)
            order[a], order[b] = order[b], order[a]
        self.move(source, self.network.result(call), "transpose", {"permutation": order})

    def slice(self, call):
        take, source = call.arguments, self.source(call)
        if list(call.result.shape) == list(source.sizes):
            return self.same(call)
        return self.cut(source, self.network.result(call), take["dim"], take["start"] or 0, take["step"])

    def cut(self, source, value, axis, start, step=1):
        begin, strides = [0] * len(source.sizes), [1] * len(source.sizes)
        begin[axis], strides[axis] = start + (source.sizes[axis] if start < 0 else 0), step
        self.move(source, value, "slice" if step == 1 else "strided_slice", {"begin": begin, **({} if step == 1 else {"strides": strides})})

    def select(self, call):
        take, source, value = call.arguments, self.source(call), self.network.result(call)
        sizes = list(source.sizes)
        sizes[take["dim"]] = 1
        part = Value(sizes, value.type, value.codes, value.name + " kept")
        self.cut(source, part, take["dim"], take["index"])
        self.move(part, value, "reshape")

    def split(self, call):
        axis, at = call.arguments["dim"], 0
        for part in call.result:
            self.cut(self.source(call), self.network.result_of(part, call), axis, at)
            at += part.shape[axis]

    def pad(self, call):
        take, source, value = call.arguments, self.source(call), self.network.result(call)
        sizes, paddings = list(take["pad"]), [[0, 0] for _ in source.sizes]
        for i in range(len(sizes) // 2):
            paddings[-1 - i] = sizes[2 * i:2 * i + 2]
        real = float(take["value"] or 0)
        self.network.emit("pad", [self.network.input_of(source)], value, False,
                          {"paddings": paddings, "value": code_of(real, value.codes) if value.codes else real})


def slope(take) -> dict:
    return {"alpha": as_float32(take.get("negative_slope", take.get("alpha")))}


def each(names: str, method: Callable) -> dict[str, Callable]:
    return dict.fromkeys(names.split(), method)


OPERATORS: dict[str, Callable[[Translator, Call], None]] = {
    **each("quantized::conv2d quantized::conv2d_relu", Translator.quantized_convolution),
    **each("quantized::linear quantized::linear_relu", Translator.quantized_linear),
    **each("aten::convolution aten::conv2d", Translator.real_convolution),
    **each("aten::addmm aten::mm aten::linear", Translator.real_linear),
    **each("aten::native_batch_norm aten::_native_batch_norm_legit_no_training aten::batch_norm", Translator.batch_norm),
    **each("quantized::add quantized::add_relu quantized::mul quantized::mul_relu", Translator.quantized_binary),
    **each("aten::add aten::add_ aten::sub aten::sub_ aten::mul aten::mul_ aten::div aten::div_", Translator.real_binary),
    **each("aten::cat quantized::cat quantized::cat_relu", Translator.concat),
    **each("aten::relu aten::relu_", partial(Translator.bounds, low=0, high=None)),
    **each("aten::relu6 aten::relu6_ quantized::relu6", partial(Translator.bounds, low=0, high=6)),
    **each("aten::hardtanh aten::hardtanh_", partial(Translator.bounds, low=-1, high=1)),
    **each("aten::hardswish aten::hardswish_ quantized::hardswish", partial(Translator.function, op="hard_swish")),
    **each("aten::sigmoid aten::sigmoid_ quantized::sigmoid", partial(Translator.function, op="logistic")),
    **each("aten::tanh aten::tanh_ quantized::tanh", partial(Translator.function, op="tanh")),
    **each("aten::leaky_relu aten::leaky_relu_ quantized::leaky_relu", partial(Translator.function, op="leaky_relu", attributes=slope)),
    **each("aten::elu aten::elu_ quantized::elu", partial(Translator.function, op="elu", attributes=slope)),
    **each("aten::_softmax aten::softmax quantized::softmax", Translator.softmax),
    **each("aten::max_pool2d aten::max_pool2d_with_indices aten::quantized_max_pool2d quantized::max_pool2d", partial(Translator.pool, op="max_pool2d")),
    **each("aten::avg_pool2d", partial(Translator.pool, op="average_pool2d")),
    **each("aten::_adaptive_avg_pool2d aten::adaptive_avg_pool2d", Translator.adaptive_pool),
    **each("aten::mean", Translator.mean),
    **each("aten::quantize_per_tensor", Translator.quantize),
    **each("aten::dequantize", Translator.dequantize),
    **each("quantized_decomposed::quantize_per_tensor", Translator.decomposed_quantize),
    **each("quantized_decomposed::dequantize_per_tensor", Translator.decomposed_dequantize),
    **each("aten::alias aten::clone aten::contiguous aten::detach aten::dropout aten::lift_fresh aten::native_dropout aten::to aten::_to_copy", Translator.same),
    **each("aten::flatten aten::reshape aten::_reshape_alias aten::squeeze aten::_unsafe_view aten::unsqueeze aten::view", Translator.reshape),
    **each("aten::permute aten::t aten::transpose", Translator.permute),
    **each("aten::slice", Translator.slice),
    **each("aten::select", Translator.select),
    **each("aten::chunk aten::split aten::split_with_sizes", Translator.split),
    **each("aten::constant_pad_nd aten::pad", Translator.pad),
}
