# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Suites of the TFLite reference kernels. Their quantisation is recorded as the kernels take it, multipliers, shifts and offsets; here it
becomes scales and zero points: input and output scale 1, weight scale = multiplier * 2^(shift - 31), zero point = -offset."""

from . import tflite_elementwise, tflite_network, tflite_primitives
from .layer import Layer, Operand, quantization
from .multiplier import scales_of
from .padding import named_padding, transposed_padding
from .recorded import Recorded, Refusal
from .tflite_common import clamp, runs_of, title_of, typed, verify_multiplier

CONVOLUTION_TYPES = {"int8": ("int8", ("int32",)), "uint8": ("uint8", ("int32",)), "int16": ("int8", ("int32", "int64"))}


def convolution(recorded, rank, axis):
    """Input and weights of `rank` axes, bias, and the scales of all output channels along `axis` of the weights."""
    source = recorded.tensor("input", *CONVOLUTION_TYPES)
    weight_type, bias_types = CONVOLUTION_TYPES[source.dtype.name]
    weights = recorded.tensor("weights", weight_type)
    bias = recorded.optional_tensor("bias", *bias_types)
    if "bias" in recorded.params:
        recorded.verify("bias", bias.dtype.name if bias is not None else "none")
    if source.ndim != rank or weights.ndim != rank:
        raise Refusal(f"shapes {list(source.shape)} and {list(weights.shape)}")
    channels = weights.shape[axis]
    if bias is not None and bias.shape != (channels,):
        raise Refusal(f"bias of shape {list(bias.shape)} for {channels} channels")
    multipliers, shifts = recorded.integers("multiplier"), recorded.integers("shift")
    if len(multipliers) not in (1, channels):
        raise Refusal(f"params.multiplier has {len(multipliers)} entries for {channels} channels")
    weight_zero_point = -recorded.integer("weights_offset", 0)
    weight_quantization = quantization(scales_of(multipliers, shifts, "params.multiplier"), weight_zero_point, axis)
    operands = [Operand("input", source, quantization(1, -recorded.integer("input_offset"))),
                Operand("weights", weights, weight_quantization, constant=True),
                Operand("bias", bias, constant=True) if bias is not None else None]
    return operands, quantization(1, recorded.integer("output_offset")), runs_of(recorded, source.dtype.name)


def window(recorded, source, weights, runs):
    stride, dilation = recorded.integers("stride", 2), recorded.integers("dilation", 2)
    padding = named_padding(recorded, source.shape[1:3], runs[0].expected.shape[1:3], weights.shape[1:3], stride, dilation)
    return {"stride": stride, "dilation": dilation, "padding": padding}


def conv2d(recorded):
    operands, output, runs = convolution(recorded, 4, 0)
    source, weights = operands[0].array, operands[1].array
    groups = recorded.integer("groups", 1)
    if weights.shape[3] * groups != source.shape[3]:
        raise Refusal(f"{source.shape[3]} channels, {groups} groups, weights of shape {list(weights.shape)}")
    return Layer("conv2d", operands, output, {**window(recorded, source, weights, runs), **clamp(recorded)}), runs


def depthwise_conv2d(recorded):
    operands, output, runs = convolution(recorded, 4, 3)
    source, weights = operands[0].array, operands[1].array
    if weights.shape[0] != 1 or weights.shape[3] != source.shape[3] * recorded.integer("depth_multiplier"):
        raise Refusal(f"weights of shape {list(weights.shape)} for {source.shape[3]} channels")
    return Layer("depthwise_conv2d", operands, output, {**window(recorded, source, weights, runs), **clamp(recorded)}), runs


def transpose_conv2d(recorded):
    operands, output, runs = convolution(recorded, 4, 0)
    source, weights = operands[0].array, operands[1].array
    stride = recorded.integers("stride", 2)
    before = recorded.integer("pad_top"), recorded.integer("pad_left")
    padding = transposed_padding(before, source.shape[1:3], runs[0].expected.shape[1:3], weights.shape[1:3], stride)
    return Layer("transposed_conv2d", operands, output, {"stride": stride, "padding": padding, **clamp(recorded)}), runs


def fully_connected(recorded):
    variant = typed(recorded, {"s8": "int8", "s8_pc": "int8", "s16": "int16", "u8": "uint8"})
    operands, output, runs = convolution(recorded, 2, 0)
    if operands[0].array.dtype.name != variant.dtype:
        raise Refusal(f"variant {variant.name} with {operands[0].array.dtype} data")
    if not variant.name.endswith("_pc") and len(operands[1].quantization["scale"]) != 1:
        raise Refusal(f"variant {variant.name} with per-channel multipliers")
    return Layer("fully_connected", operands, output, clamp(recorded)), runs


def pool(op):
    def convert(recorded):
        variant = typed(recorded, {"s8": "int8", "s16": "int16", "u8": "uint8"})
        source, runs = recorded.tensor("input", variant.dtype), runs_of(recorded, variant.dtype)
        size, stride = recorded.integers("filter", 2), recorded.integers("stride", 2)
        padding = named_padding(recorded, source.shape[1:3], runs[0].expected.shape[1:3], size, stride)
        attributes = {"filter": size, "stride": stride, "padding": padding, **clamp(recorded)}
        return Layer(op, [Operand("input", source, quantization(1))], quantization(1), attributes), runs
    return convert


def mean_hw(recorded):
    variant = typed(recorded, {"s8": "int8", "s16": "int16", "u8": "uint8"})
    source, runs = recorded.tensor("input", variant.dtype), runs_of(recorded, variant.dtype)
    if runs[0].expected.shape != (source.shape[0], 1, 1, source.shape[3]):
        raise Refusal(f"the mean of shape {list(source.shape)} has shape {list(runs[0].expected.shape)}")
    real = recorded.number("real_multiplier")
    verify_multiplier(recorded, "multiplier", "shift", real)
    operand = Operand("input", source, quantization(real, recorded.integer("input_zero_point")))
    return Layer("mean", [operand], quantization(1, recorded.integer("output_zero_point")), {"axes": [1, 2], "keep_dims": True}), runs


LAYERS = {
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "transpose_conv2d": transpose_conv2d,
    "fully_connected": fully_connected,
    "avg_pool": pool("average_pool2d"),
    "max_pool": pool("max_pool2d"),
    "mean_hw": mean_hw,
    **tflite_elementwise.LAYERS,
}


def convert(suite, folder, stem, case):
    if isinstance(case.get("params"), dict) and "tflite_file" in case["params"]:
        tflite_network.convert(suite, folder, stem, case)
        return
    recorded = Recorded(folder, stem, case)
    title = title_of(recorded)
    if recorded.op in tflite_primitives.PRIMITIVES:
        tflite_primitives.convert(suite, recorded, title)
        return
    if recorded.op not in LAYERS:
        raise Refusal(f"unknown op '{recorded.op}'")
    layer, runs = LAYERS[recorded.op](recorded)
    if any(recorded.has_tensor(key) for key in ("expected_cmsis", "expected_cmsis_single")):
        suite.note("Results of CMSIS-NN are recorded where they differ (its 16-bit softmax lacks the last clamp); "
                   "they are another program's and not converted.")
    recorded.finish()
    suite.add_layer(recorded, layer, runs, title)
