# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Explicit padding [top, bottom, left, right] from what a recording says of it and the sizes of its tensors."""

from .recorded import Refusal


def after(size, out, span, stride, before, axis):
    """Padding after the last input so that exactly `out` windows of `span` fit."""
    padding = max(0, (out - 1) * stride + span - size - before)
    if (size + before + padding - span) // stride + 1 != out:
        raise Refusal(f"{axis}: no padding gives {out} outputs from {size} inputs")
    return padding


def spans(filter_size, dilation):
    return [(f - 1) * d + 1 for f, d in zip(filter_size, dilation)]


def named_padding(recorded, in_size, out_size, filter_size, stride, dilation=(1, 1)):
    """SAME and VALID of TFLite; the recorded pad_top and pad_left must be the ones it computes."""
    same = recorded.text("padding", ("SAME", "VALID")) == "SAME"
    result = []
    for axis, key, size, out, span, step in zip("HW", ("pad_top", "pad_left"), in_size, out_size, spans(filter_size, dilation), stride):
        before = max(0, (out - 1) * step + span - size) // 2 if same else 0
        recorded.verify(key, before)
        if out != (-(-size // step) if same else (size - span) // step + 1):
            raise Refusal(f"{axis}: {out} outputs do not follow from {size} inputs, stride {step}, padding {'SAME' if same else 'VALID'}")
        result += [before, after(size, out, span, step, before, axis)]
    return result


def recorded_padding(recorded, in_size, out_size, filter_size, stride, dilation):
    """All four sides recorded."""
    padding = [recorded.integer(f"pad_{side}") for side in ("top", "bottom", "left", "right")]
    check_sizes(padding, in_size, out_size, filter_size, stride, dilation)
    return padding


def check_sizes(padding, in_size, out_size, filter_size, stride, dilation):
    if min(padding) < 0:
        raise Refusal(f"padding {padding}")
    for axis, i in (("H", 0), ("W", 1)):
        room = in_size[i] + padding[2 * i] + padding[2 * i + 1] - spans(filter_size, dilation)[i]
        if room < 0 or room // stride[i] + 1 != out_size[i]:
            raise Refusal(f"{axis}: {out_size[i]} outputs do not follow from {in_size[i]} inputs and padding {padding}")


def transposed_padding(before, in_size, out_size, filter_size, stride):
    """What is cut off the scattered result; an output larger than it gets no more than its bias, so the rest is 0, never negative."""
    result = []
    for cut, size, out, span, step in zip(before, in_size, out_size, filter_size, stride):
        if cut < 0:
            raise Refusal(f"padding {cut}")
        result += [cut, max(0, (size - 1) * step + span - cut - out)]
    return result
