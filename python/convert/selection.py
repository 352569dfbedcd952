# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A selection of recorded cases that still covers what a suite covers."""

import re

from .recorded import load_array

# Recorded cases, counted from 1, that a spread over a suite may miss and that alone tell one rule from another value of it:
# tests/vectors/discrimination_test.cpp fails without them.
TELLING = {
    "activations": (11, 17),  # hard_swish from its float function; ties of leaky_relu's first rounding, multipliers of 1 or more
    "conv2d_u8": (25,),  # ties of the first rounding
    "elementwise": (24, 53),  # add from a sum of floats; the rounding of an operand's right shift
    "fp16_add": (5,),  # overflows
    "fp16_div": (3,),  # zero divided by a negative value
    "logistic_tanh": (5, 6),  # normalisation of the multiplier
    "mean": (17, 26),  # multipliers of 1 or more; ties of the first rounding
    "quantize_ops": (34,),  # effective scale in float
    "softmax": (10,),  # width of the first shift
}

SWITCHES = ("relu", "rounding_mode", "groups", "group", "depth_multiplier")


def group_of(case):
    """What a case is about: operation, what its name starts with, its parameters in words, its switches, which tensors it has."""
    params = case["params"]
    words = {key: value for key, value in params.items() if isinstance(value, str) and key not in ("model", "tflite_file")}
    switches = {key: params[key] for key in SWITCHES if key in params}
    prefix = re.match("[a-zA-Z]*", case["name"]).group()
    return case["op"], prefix, repr(sorted(words.items())), repr(switches), tuple(sorted(case["tensors"]))


def separates(folder, case):
    """Whether the recorded builds differ."""
    names = [case["tensors"].get(key) for key in ("expected", "expected_single")]
    return None not in names and load_array(folder / names[0]).tobytes() != load_array(folder / names[1]).tobytes()


def spread(items, count):
    return items if len(items) <= count else [items[i * (len(items) - 1) // max(1, count - 1)] for i in range(count)]


def select(folder, cases, count):
    """Indices of up to `count` cases of every group, spread over it, those whose results tell the two roundings apart first;
    and the telling ones."""
    groups = {}
    for index, case in enumerate(cases):
        groups.setdefault(group_of(case), []).append(index)
    kept = {number - 1 for number in TELLING.get(folder.name, ()) if number <= len(cases)}
    for members in groups.values():
        telling = [i for i in members if separates(folder, cases[i])]
        kept.update(spread(telling, count))
        kept.update(spread([i for i in members if i not in telling], count - min(count, len(telling))))
    return sorted(kept)
