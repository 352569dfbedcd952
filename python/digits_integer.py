# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The int8 network of train_digits.py in numpy integers, under three arithmetics: a check that quantisation kept the accuracy.

It is written apart from the library on purpose: it shares no code with what it helps to check. Softmax is left out (the largest logit is
the largest probability).
"""

import numpy as np


def quantize_multiplier(scale):
    """Real scales to (31-bit mantissas, exponents): scale = mantissa * 2^(exponent - 31), the mantissa rounded half away from zero."""
    fraction, exponent = np.frexp(np.asarray(scale, np.float64))
    mantissa = np.floor(fraction * 2.0**31 + 0.5).astype(np.int64)
    carried = mantissa == 2**31
    return np.where(carried, mantissa // 2, mantissa), exponent.astype(np.int64) + carried


def rescale_double(x, mantissa, exponent):
    """Two roundings: a doubling high multiply (half up), then a right shift (half away from zero)."""
    left, right = np.maximum(exponent, 0), np.maximum(-exponent, 0)
    high = ((x << left) * mantissa + (1 << 30)) >> 31
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    return np.sign(high) * ((np.abs(high) + half) >> right)


def rescale_single(x, mantissa, exponent):
    """One rounding of the exact product, half up."""
    shift = 31 - exponent
    return (x * mantissa + (np.int64(1) << (shift - 1))) >> shift


def shift_right_half_even(x, shift):
    quotient, remainder = x >> shift, x & ((np.int64(1) << shift) - 1)
    half = np.int64(1) << (shift - 1)
    return quotient + ((remainder > half) | ((remainder == half) & (quotient & 1 == 1)))


class FixedPoint:
    """31-bit multipliers from scales in double precision; the integer rescaling is given."""

    def __init__(self, rescale):
        self.rescale = rescale

    def convolution(self, accumulator, input_scale, weight_scales, output_scale):
        real = np.float64(input_scale) * np.float64(weight_scales) / np.float64(output_scale)
        return self.rescale(accumulator, *quantize_multiplier(real))

    def add(self, a, b, scale_a, scale_b, output_scale):
        twice = 2 * max(float(scale_a), float(scale_b))
        a = self.rescale(a << 20, *quantize_multiplier(float(scale_a) / twice))
        b = self.rescale(b << 20, *quantize_multiplier(float(scale_b) / twice))
        return self.rescale(a + b, *quantize_multiplier(twice / (2.0**20 * float(output_scale))))

    def average(self, total, count):
        return np.sign(total) * ((np.abs(total) + count // 2) // count)


class Mantissa24HalfEven:
    """A 24-bit mantissa out of the float32 scale, one rounding, half to even; addition and average as exact quotients."""

    def convolution(self, accumulator, input_scale, weight_scales, output_scale):
        fraction, exponent = np.frexp((input_scale * weight_scales) / output_scale)
        return shift_right_half_even(accumulator * (fraction * np.float32(2**24)).astype(np.int64), 24 - exponent.astype(np.int64))

    def add(self, a, b, scale_a, scale_b, output_scale):
        return np.rint((a * float(scale_a) + b * float(scale_b)) / float(output_scale)).astype(np.int64)

    def average(self, total, count):
        return np.rint(total / count).astype(np.int64)


ARITHMETICS = {
    "double rounding": FixedPoint(rescale_double),
    "single rounding": FixedPoint(rescale_single),
    "24-bit mantissa, half even": Mantissa24HalfEven(),
}


def run_int8(network, quantization, constants, image, arithmetic, weighted_sum):
    """Every int8 tensor by name. `weighted_sum(layer, x, weights)` is exact on integers held in float64."""
    tensors = {"image": image.astype(np.int64)}
    for layer in network:
        scale, zero_point = quantization[layer.name]
        operands = [tensors[name] - quantization[name][1] for name in layer.inputs]
        input_scales = [quantization[name][0] for name in layer.inputs]
        if layer.op == "reshape":
            y = operands[0].reshape(len(image), -1)
        elif layer.op == "add":
            y = arithmetic.add(*operands, *input_scales, scale)
        elif layer.op == "average_pool2d":
            y = arithmetic.average(pool_totals(tensors[layer.inputs[0]], layer.filter), layer.filter**2) - zero_point
        else:
            weights, weight_scales = constants[layer.weights]
            sums = weighted_sum(layer, operands[0].astype(np.float64), weights.astype(np.float64))
            y = arithmetic.convolution(sums.astype(np.int64) + constants[layer.bias][0], *input_scales, weight_scales, scale)
        lowest = zero_point if layer.relu else -128
        tensors[layer.name] = np.clip(y + zero_point, lowest, 127)
    return tensors


def pool_totals(x, size):
    n, height, width, channels = x.shape
    return x.reshape(n, height // size, size, width // size, size, channels).sum(axis=(2, 4))
