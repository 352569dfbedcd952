# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""TFLite's multipliers in Python integers: encoded from a real scale, and written as the scale that encodes to them."""

import math

from .recorded import Refusal

UNREACHABLE = 2.0 ** -40  # exponent -39, below the smallest one kept (-31): encodes to multiplier 0


def quantize_multiplier(real, single=False):
    """(multiplier, shift): real = multiplier * 2^(shift - 31), the multiplier rounded half away from zero."""
    if real == 0:
        return 0, 0
    fraction, shift = math.frexp(real)
    significand = int(fraction * 2.0 ** 53)  # exact: a double has 53 bits
    multiplier = (abs(significand) + (1 << 21)) >> 22
    multiplier = -multiplier if significand < 0 else multiplier
    if multiplier == 1 << 31:
        multiplier, shift = 1 << 30, shift + 1
    if shift < -31:
        return 0, 0
    if single and shift > 30:
        return (1 << 31) - 1, 30
    return multiplier, shift


def scale_of(multiplier, shift, where):
    """The exact scale that both builds encode to this pair."""
    if multiplier == 0:
        return UNREACHABLE
    real = math.ldexp(multiplier, shift - 31)
    if any(quantize_multiplier(real, single) != (multiplier, shift) for single in (False, True)):
        raise Refusal(f"{where}: no scale encodes to multiplier {multiplier}, shift {shift}")
    return real


def scales_of(multipliers, shifts, where):
    if len(multipliers) != len(shifts):
        raise Refusal(f"{where}: {len(multipliers)} multipliers, {len(shifts)} shifts")
    return [scale_of(m, s, where) for m, s in zip(multipliers, shifts)]


def input_radius(integer_bits, left_shift):
    """The largest input that a fixed-point function with `integer_bits` takes after the left shift (TFLite CalculateInputRadius)."""
    return math.floor(((1 << integer_bits) - 1) * 2.0 ** (31 - integer_bits) / 2.0 ** left_shift)


def q15_of(multiplier):
    """A Q0.31 multiplier as Q0.15 (TFLite DownScaleInt32ToInt16Multiplier)."""
    return 0x7FFF if multiplier >= (1 << 31) - 1 - (1 << 15) else (multiplier + (1 << 15)) >> 16
