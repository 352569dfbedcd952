# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""The report figures of the Ascend accuracy analyser, as the strings it writes."""

from .recorded import Recorded, Refusal

FIGURES = ("CosineSimilarity", "MaxAbsoluteError", "AccumulatedRelativeError", "RelativeEuclideanDistance", "KullbackLeiblerDivergence",
           "StandardDeviation", "MeanAbsoluteError", "RootMeanSquareError", "MaxRelativeError", "MeanRelativeError")


def convert(suite, folder, stem, case):
    recorded = Recorded(folder, stem, case, allowed=("expected",))
    if recorded.op != "compare_report":
        raise Refusal(f"unknown op '{recorded.op}'")
    mine, truth = recorded.tensor("my_output", "float32"), recorded.tensor("ground_truth", "float32")
    if mine.shape != truth.shape:
        raise Refusal("my_output and ground_truth differ in shape")
    report = case.get("expected")
    if not isinstance(report, dict) or not report:
        raise Refusal("key 'expected' holds no figures")
    for figure, value in report.items():
        if figure not in FIGURES or not isinstance(value, str):
            raise Refusal(f"expected.{figure} is unknown")
    recorded.finish()
    inputs = {"mine": suite.put(stem, "mine", mine), "truth": suite.put(stem, "truth", truth)}
    suite.add(recorded.name, {"primitive": "metrics", "inputs": inputs, "report": report})
