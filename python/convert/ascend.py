# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The report figures of the Ascend accuracy analyser, as the strings it writes; and binary16 arithmetic, as bit patterns."""

from .recorded import Recorded, Refusal

FIGURES = ("CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance", "KullbackLeiblerDivergence",
           "StandardDeviation", "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError")

# The library of 2021, operation by operation: what stands in the place of an overflow, how its patterns are read, what zeros divide to.
SUM_2021 = {"overflow": "all_ones", "top_exponent": "ordinary"}
QUOTIENT_2021 = {"overflow": "all_ones_below_2_17", "top_exponent": "ordinary", "zero_division": "unsigned_zero"}
OPERATIONS = {"fp16_add": ("float16_add", SUM_2021), "fp16_sub": ("float16_sub", SUM_2021), "fp16_mul": ("float16_mul", SUM_2021),
              "fp16_div": ("float16_div", QUOTIENT_2021)}
IEEE, SATURATED = {"overflow": "infinity"}, {"overflow": "saturate"}

# The directed modes, by the names of the device's casts.
MODES = {"trunc": "toward_zero", "floor": "floor", "ceil": "ceil", "round": "half_away", "odd": "to_odd"}
INTEGERS = {"int8": "float16_to_i8", "uint8": "float16_to_u8", "int16": "float16_to_i16", "int32": "float16_to_i32"}


def convert_report(suite, recorded):
    mine, truth = recorded.tensor("my_output", "float32"), recorded.tensor("ground_truth", "float32")
    if mine.shape != truth.shape:
        raise Refusal("my_output and ground_truth differ in shape")
    report = recorded.case.get("expected")
    if not isinstance(report, dict) or not report:
        raise Refusal("key 'expected' holds no figures")
    for figure, value in report.items():
        if figure not in FIGURES or not isinstance(value, str):
            raise Refusal(f"expected.{figure} is unknown")
    recorded.finish()
    inputs = {"mine": suite.put(recorded.stem, "mine", mine), "truth": suite.put(recorded.stem, "truth", truth)}
    suite.add(recorded.name, {"primitive": "metrics", "inputs": inputs, "report": report})


def add_results(suite, recorded, inputs, results):
    """`results`: per recorded result its word, the primitive, its parameters, and the array."""
    arrays = list(inputs.values()) + [array for *_, array in results]
    if any(array.shape != arrays[0].shape or array.ndim != 1 for array in arrays):
        raise Refusal("the arrays are no vectors of one length")
    files = {name: suite.put(recorded.stem, name, suite.thinned(array)) for name, array in inputs.items()}
    for word, primitive, parameters, array in results:
        expected = {"value": suite.put(recorded.stem, f"expected_{word}", suite.thinned(array))}
        suite.add(f"{recorded.name} {word}", {"primitive": primitive, "parameters": parameters, "inputs": files, "expected": expected})


def convert_operation(suite, recorded):
    primitive, library = OPERATIONS[recorded.op]
    for key in ("oracle_infnan", "oracle_ge2021", "documented_saturated"):
        recorded.free_text(key)
    nearest = {"rounding": "half_even"}
    add_results(suite, recorded, {"a": recorded.tensor("a", "uint16"), "b": recorded.tensor("b", "uint16")},
                [("infnan", primitive, {**nearest, **IEEE}, recorded.tensor("expected_infnan", "uint16")),
                 ("ge2021", primitive, {**nearest, **library}, recorded.tensor("expected_ge2021", "uint16")),
                 ("saturated", primitive, {**nearest, **SATURATED}, recorded.tensor("documented_saturated", "uint16"))])


def convert_cast(suite, recorded):
    recorded.text("round", ("CAST_RINT (half to even)",))
    for key in ("infnan_mode_oracle", "ge2021_oracle", "saturated"):
        recorded.free_text(key)
    cast, nearest = "float16_from_f32", {"rounding": "half_even"}
    add_results(suite, recorded, {"real": recorded.tensor("input", "float32")},
                [("infnan", cast, {**nearest, **IEEE}, recorded.tensor("expected_infnan", "uint16")),
                 ("ge2021", cast, {**nearest, "overflow": "all_ones_below_2_17"}, recorded.tensor("expected_ge2021", "uint16")),
                 ("saturated", cast, {**nearest, **SATURATED}, recorded.tensor("documented_saturated", "uint16"))])


def convert_modes(suite, recorded):
    recorded.free_text("oracle")
    recorded.free_text("note")
    add_results(suite, recorded, {"real": recorded.tensor("input", "float32")},
                [(mode, "float16_from_f32", {"rounding": rounding, **IEEE}, recorded.tensor(f"expected_{mode}", "uint16"))
                 for mode, rounding in MODES.items()])


def convert_to_integers(suite, recorded):
    recorded.text("round", ("half to even, saturating",))
    add_results(suite, recorded, {"a": recorded.tensor("input", "uint16")},
                [(kind, primitive, {"rounding": "half_even"}, recorded.tensor(f"expected_{kind}", kind))
                 for kind, primitive in INTEGERS.items()])


def convert_from_integers(suite, recorded):
    recorded.text("round", ("half to even; overflow -> 65504 in GE",))
    nearest = {"rounding": "half_even"}
    add_results(suite, recorded, {"a": recorded.tensor("input", "int32")},
                [("infnan", "float16_from_i32", {**nearest, **IEEE}, recorded.tensor("expected_infnan", "uint16")),
                 ("ge2021", "float16_from_i32", {**nearest, **SATURATED}, recorded.tensor("expected_ge2021", "uint16"))])


CONVERTERS = {"compare_report": convert_report, "cast_f32_f16": convert_cast, "cast_f32_f16_modes": convert_modes,
              "cast_f16_int": convert_to_integers, "cast_i32_f16": convert_from_integers, **dict.fromkeys(OPERATIONS, convert_operation)}


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case, allowed=("expected",) if case.get("op") == "compare_report" else ())
    if recorded.op not in CONVERTERS:
        raise Refusal(f"unknown op '{recorded.op}'")
    CONVERTERS[recorded.op](suite, recorded)
    recorded.finish()
