# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""A selection of recorded cases that still covers what a suite covers."""

import re

from .recorded import load_array

# Recorded cases, counted from 1, that a spread over a suite may miss and that alone tell one rule from another value of it:
# tests/vectors/discrimination_test.cpp fails without them.
TELLING = {
    "activations_u8": (9, 24, 36),  # ties of leaky_relu, of hard_swish on either engine
    "activations": (11, 17),  # hard_swish from its float function; ties of leaky_relu's first rounding, multipliers of 1 or more
    "apply_scale": (11,),  # ties of the first rounding
    "conv2d_u8": (25,),  # ties of the first rounding
    "elementwise": (24, 53),  # add from a sum of floats; the rounding of an operand's right shift
    "sdp_x_int": (11, 18),  # values of 33 bits that a prelu leaves as they are
    "fp16_add": (5,),  # overflows
    "fp16_div": (3,),  # zero divided by a negative value
    "logistic_tanh": (5, 6),  # normalisation of the multiplier
    "linear_u8s8": (16,),  # ties toward zero
    "pooling_u8": (4, 5, 7, 9, 12, 15),  # ties of either kind of average
    "mean": (17, 26),  # multipliers of 1 or more; ties of the first rounding
    "quantize_ops": (34,),  # effective scale in float
    "softmax": (10,),  # width of the first shift
    "vec_dot": (9,),  # the order of the factors
}

# Of suites whose cases are large or many of a kind: the names of those that are kept.
CHOSEN = {
    "pytorch_qnnpack/scale_ties": ("c0004", "c0015", "c0025", "c0031", "c0032"),  # these tell every other way of computing the scale
    "pytorch_onednn/scale_ties": ("c0013", "c0020", "c0025", "c0031", "c0032"),
    "gna/affine": ("rand_gna2.0_k0_K16_N1", "rand_gna2.0_k1_K16_N1", "rand_gna3.0_k0_K16_N1", "rand_gna3.0_k1_K16_N1",
                   "rand_gna3.0_k2_K16_N1", "rand_gna3.0_k3_K16_N1", "allmin_gna2.0_k1", "allmin_gna3.0_k1", "multibias_gna3.0_k0",
                   "activelist_gna2.0_k0", "bias1B_gna3.0_k1", "bias2B_gna3.0_k2", "tilesat_gna1.0e_k0_N5", "tilesat_gna1.0e_k1_N8",
                   "tilesat_gna3.0_k3_N8", "diag_k0_0", "diag_k1_0", "diag_k2_0", "diag_k3_0"),
    "gna/affine_pwl": ("affpwl_05", "affpwl_06", "affpwl_07", "affpwl_12"),
    "gna/conv2d_fused": ("fused_06", "fused_12", "fused_18", "fused_21", "fused_28"),
    "gna/conv1d": ("rand_F4_C48_s8", "allmin_F4_C48_s8", "extremes_F4_C8_s8", "seed000_6ch_k3_s2_unpadded"),
    "gna/conv1d_pool_pwl": ("max_1_1_c0", "max_2_2_c3", "sum_6_4_c0", "sum_3_5_c1", "sum_2_2_c0"),
    "gna/conv2d": ("in8_w8_3_0", "in8_w16_0_2", "in16_w8_0_0", "in16_w16_0_2", "in16_w16_4_2"),
    "gna/pool2d": ("max_1B_0_0", "max_2B_1_0", "sum_1B_0_1", "sum_1B_3_2", "sum_2B_1_1", "sum_4B_0_0"),
    "gna/pwl": ("rand_1seg_1B", "rand_1seg_2B", "rand_1seg_4B", "below_first_segment"),
    "gna/recurrent": ("rnn_00_k0", "rnn_02_k2", "rnn_07_k3", "rnn_09_k1"),
    "gap/pooling_sq8": tuple(f"c{number:04}" for number in range(1, 37)),
    "rk3588/conv2d_s8": tuple(f"c{number:04}" for number in range(1, 21)),  # few values each
    "nvdla/conv2d_s8": tuple(f"c{number:04}" for number in range(1, 25)),  # few values each
    "nvdla/sdp_c_int": tuple(f"c{number:04}" for number in range(1, 25)),  # every shift twice
    "k210/kpu_conv2d": tuple(f"c{number:04}" for number in range(1, 29)),  # few values each
    "k210/kpu_pool2d": tuple(f"c{number:04}" for number in range(1, 25)),
    "sophgo/requantize": tuple(f"c{number:04}" for number in range(1, 37)),
    "gna/seed000_demo": ("seed0_sf1_right_layout", "seed3_sf2048_missing_transpose"),
}

SCALINGS = ("activation_scaling_simulator",)  # whose parameters are those of a scaling
SWITCHES = ("relu", "rounding", "rounding_mode", "groups", "group", "depth_multiplier")


def scaling_group(case):
    """Of cases about a way of scaling: operation, way, whether per channel or clipped, rectified, and of how wide data."""
    params = case["params"]
    scaling = params.get("scaling", params)
    values = scaling.get("shift", scaling.get("multiplier", scaling.get("scale", [])))
    wide = max([0, *scaling.get("multiplier", [])]) > 32767
    return case["op"], scaling.get("mode"), len(values) > 1, wide, "clip" in scaling, case["op"] == "conv2d" and params.get("activation") == "Rectifier", \
        params.get("nb_bits"), params.get("dtype")


def group_of(case):
    """What a case is about: operation, what its name starts with, its parameters in words, its switches, which tensors it has."""
    params = case["params"]
    if "scaling" in params or case["op"] in SCALINGS:
        return scaling_group(case)
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
    chosen = CHOSEN.get(f"{folder.parent.name}/{folder.name}")
    if chosen is not None:
        return [index for index, case in enumerate(cases) if case["name"] in chosen]
    groups = {}
    for index, case in enumerate(cases):
        groups.setdefault(group_of(case), []).append(index)
    kept = {number - 1 for number in TELLING.get(folder.name, ()) if number <= len(cases)}
    for members in groups.values():
        telling = [i for i in members if separates(folder, cases[i])]
        kept.update(spread(telling, count))
        kept.update(spread([i for i in members if i not in telling], count - min(count, len(telling))))
    return sorted(kept)
