# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""What the suites of the TFLite reference kernels have in common."""

from typing import NamedTuple

from .layer import Run
from .multiplier import quantize_multiplier
from .recorded import Refusal

DOUBLE, SINGLE = "tflite_double", "tflite_single"


class Variant(NamedTuple):
    name: str
    dtype: str


def typed(recorded, dtypes):
    """The recorded variant and the type of its input."""
    name = recorded.text("variant", dtypes)
    return Variant(name, dtypes[name])


def runs_of(recorded, dtype):
    """Both builds; where only one result is recorded, both gave it. CMSIS-NN's own results are another program's."""
    double = recorded.tensor("expected", dtype)
    single = recorded.optional_tensor("expected_single", dtype)
    for key in ("expected_cmsis", "expected_cmsis_single"):
        recorded.optional_tensor(key, dtype)
    return [Run(DOUBLE, double, "double"), Run(SINGLE, double if single is None else single, "single")]


def verify_multiplier(recorded, multiplier_key, shift_key, real):
    """`real` encodes to the recorded pair in both builds."""
    for single in (False, True):
        multiplier, shift = quantize_multiplier(real, single)
        recorded.verify(multiplier_key, multiplier)
        recorded.verify(shift_key, shift)


def clamp(recorded):
    low, high = recorded.integer("act_min"), recorded.integer("act_max")
    if low > high:
        raise Refusal(f"params.act_min {low} is above act_max {high}")
    return {"clamp": [low, high]}


def title_of(recorded):
    """The recorded name, then what the case is about: variant and kind where they are recorded."""
    words = [recorded.name, recorded.op, str(recorded.params.get("variant", "")), recorded.free_text("kind")]
    return " ".join(filter(None, words))
