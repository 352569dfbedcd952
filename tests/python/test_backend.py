# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Devices: names, files, dicts, changed rules, and what a board computes beside them."""
import json
import os
import subprocess

import numpy as np
import pytest

import lastbit
from lastbit import rules
from lastbit.rules import Overflow, Rounding
from conftest import DIGITS, IMAGES, SOURCE


def test_the_list_and_a_description(tool):
    assert [info._asdict() for info in lastbit.backends()] == tool("backends", "--json")
    described = subprocess.run([os.environ["LASTBIT_TOOL"], "describe", "vipnano_v8"], capture_output=True, text=True, check=True).stdout
    assert lastbit.describe("vipnano_v8") == lastbit.backend("vipnano_v8").describe() == described
    assert "half_even" in lastbit.describe()
    assert lastbit.backend("imx8mp").name == "vipnano_v8"


def test_rules_are_set_as_by_the_command_line(digits, tool):
    rule = "conv.i8.output.chain.1.rounding"
    floors = lastbit.backend("tflite_single", rules={rule: lastbit.Rounding.floor})
    assert floors.rules[rule] == "floor" and lastbit.backend("tflite_single").rules[rule] != "floor"
    assert [difference.path for difference in lastbit.diff("tflite_single", floors)] == [rule]
    report = lastbit.compare(digits, "tflite_single", floors, IMAGES)
    assert report == tool("compare", DIGITS, "--a", "tflite_single", "--b", "tflite_single", "--set-b", f"{rule}=floor", "--input", IMAGES, "--json")
    assert not report.passes


def test_a_device_of_ones_own_as_file_dict_and_text(digits, images, tmp_path):
    file = SOURCE / "examples/own_device/my_npu.json"
    by_file, by_dict = lastbit.backend(file), lastbit.backend(json.loads(file.read_text()))
    assert by_file.rules == by_dict.rules
    lastbit.backend("vipnano_v8").save(tmp_path / "same.json")
    assert not lastbit.diff(tmp_path / "same.json", "vipnano_v8")
    assert lastbit.compare(digits, "vipnano_v8", tmp_path / "same.json", images[:4]).equal


class TiesUpward(lastbit.Device):
    """As vipnano_v8, but ties are rounded upward

    (The first line is the title.)
    """

    extends = "vipnano_v8"
    rules = {"conv.i8.output.chain.2.rounding": Rounding.half_up}
    evidence = [{"rule": "conv.i8.output", "level": "document", "source": "design note 12"}]


class Narrow(TiesUpward):
    def __init__(self, bits):
        self.name, self.title = f"narrow_{bits}", "with a narrow accumulator"
        self.rules = {"conv.i8.accumulator": {"bits": np.int64(bits), "overflow": Overflow.saturate}}


def test_a_device_of_ones_own_as_class_and_instance(digits, images):
    made = lastbit.backend(TiesUpward)
    assert (made.name, made.title) == ("TiesUpward", "As vipnano_v8, but ties are rounded upward")
    assert [(each.path, each.b) for each in lastbit.diff("vipnano_v8", TiesUpward)] == [("conv.i8.output.chain.2.rounding", "half_up")]
    assert next(rule for rule in made.evidence if rule.path == "conv.i8.output.chain.2.rounding").source == "design note 12"
    by_rules = lastbit.backend("vipnano_v8", rules={"conv.i8.output.chain.2.rounding": "half_up"})
    assert lastbit.compare(digits, by_rules, TiesUpward, images[:20]).equal
    narrow = lastbit.backend(Narrow(12))
    assert (narrow.name, narrow.title, narrow.rules["conv.i8.accumulator.bits"]) == ("narrow_12", "with a narrow accumulator", "12")
    assert narrow.rules["conv.i8.output.chain.2.rounding"] == "half_up"  # of the base
    assert lastbit.run(digits, Narrow(12), images[:2], count_events=True).events[0].accumulator_overflows > 0
    with pytest.raises(lastbit.Error) as raised:
        lastbit.backend(type("Wrong", (lastbit.Device,), {"extends": "vipnano_v8", "rules": {"conv.i8.no": 1}}))
    assert raised.value.code == "malformed_file" and "conv.i8.no" in str(raised.value)


def test_the_rules_as_enumerations_are_the_librarys():
    for name, values in lastbit._lastbit.rule_enumerations():
        members = getattr(rules, name)
        assert [member.value for member in members] == [value for value, _ in values], f"{name}: tools/write_rules.py writes rules.py"
        assert all(str(member) == member.value for member in members)
        assert [member.__doc__ for member in members] == [meaning for _, meaning in values]
    assert lastbit.Rounding is rules.Rounding and lastbit.Rounding.half_even == "half_even"


def test_what_a_board_computes_beside_its_device(digits, tool):
    beside = lastbit.backend("vipnano_v8", keep={("logits", 8): "tflite_double", "conv1": lastbit.backend("tflite_single")})
    report = lastbit.compare(digits, "tflite_double", beside, IMAGES)
    assert report == tool("compare", DIGITS, "--a", "tflite_double", "--b", "vipnano_v8", "--keep", "logits,8=tflite_double", "--keep",
                          "conv1=tflite_single", "--input", IMAGES, "--json")
    trace = lastbit.run(digits, beside, IMAGES)
    assert len(trace.elsewhere) == 2 and "computes" in trace.elsewhere[0]


def test_a_fallback_computes_what_a_device_lacks(digits, images):
    lacking = "gna1"
    assert lastbit.backend(lacking).problems(digits)
    with pytest.raises(lastbit.Error) as raised:
        lastbit.run(digits, lacking, images[0])
    assert {each.code for each in raised.value.diagnostics} == {"unsupported_operation"}
    beside = lastbit.backend(lacking, fallback="tflite_double")
    assert not beside.problems(digits)
    np.testing.assert_array_equal(lastbit.run(digits, beside, images[0]).outputs[0].shape, (1, 10))


def test_mistakes_are_told_in_parts():
    with pytest.raises(lastbit.Error) as raised:
        lastbit.backend("vipnano_v8", rules={"conv.i8.no": "1", "conv.i8.per_channel": "maybe"})
    first, second = raised.value.diagnostics
    assert (first.code, first.where) == ("unknown_rule", "conv.i8.no") and "native" in second.message
    assert raised.value.code == first.code and raised.value.message == first.message and str(first) in str(raised.value)
    with pytest.raises(lastbit.Error) as raised:
        lastbit.backend("vipnano_v9")
    assert raised.value.code == "unknown_backend"
    with pytest.raises(lastbit.Error) as raised:
        lastbit.load_model("there is no such.tflite")
    assert raised.value.code == "unreadable_file" and "there is no such" in raised.value.where


def test_mistakes_in_inputs(digits, images):
    for inputs, code in ((images[0].astype(np.uint8), "type_mismatch"), (images[0][:, :4], "shape_mismatch"), ({"picture": images[0]}, "bad_input"),
                         ([[[[[300]] * 8] * 8]], "type_mismatch")):
        with pytest.raises(lastbit.Error) as raised:
            lastbit.run(digits, "vipnano_v8", inputs)
        assert raised.value.code == code
    with pytest.raises(lastbit.Error, match="no element type"):
        lastbit.run(digits, "vipnano_v8", images[0].astype(np.complex64))


def test_a_budget_of_memory(digits, images):
    lastbit.set_memory_budget(1000)
    try:
        with pytest.raises(lastbit.MemoryRefused):
            lastbit.run(digits, "vipnano_v8", images)
    finally:
        lastbit.set_memory_budget(0)


def test_a_network_of_floats_is_refused_where_no_sum_is_the_devices(tmp_path):
    floats = {"format": "lastbit.model.v1", "name": "dense", "inputs": ["x"], "outputs": ["y"],
              "tensors": [{"name": "x", "type": "float32", "shape": [1, 2]}, {"name": "y", "type": "float32", "shape": [1, 2]},
                          {"name": "w", "type": "float32", "shape": [2, 2], "data": [1, 2, 3, 4]}],
              "operations": [{"op": "fully_connected", "name": "y", "inputs": ["x", "w", None], "outputs": ["y"]}]}
    (tmp_path / "net.json").write_text(json.dumps(floats))
    model, x = lastbit.load_model(tmp_path / "net.json"), np.array([[0.5, -1.25]], np.float32)
    beside = lastbit.backend("vipnano_v8", fallback="float")
    asked = [lambda: lastbit.run(model, "bernoulli2", x), lambda: lastbit.Emulator(model, beside), lambda: lastbit.compare(model, "float", beside, x),
             lambda: lastbit.explain(model, "float", beside, x), lambda: lastbit.explain(model, beside, board={"y": x}),
             lambda: lastbit.certify(model, "float", beside), lambda: lastbit.prove(model, beside), lambda: lastbit.matrix(model, ["float", beside]),
             lambda: lastbit.sweep(model, ["float", beside], x), lambda: lastbit.advise(model, "float", beside, x),
             lambda: lastbit.equal_scales(model, "float", beside)]
    for ask in asked:
        with pytest.raises(lastbit.Error, match=r"prepare it: lastbit\.quantize\(model, '(bernoulli2|vipnano_v8)', samples\)\.model; or") as raised:
            ask()
        assert raised.value.where == "float network"
    assert lastbit.backend("bernoulli2").problems(model)[0][0] == "float network"
    assert "bernoulli2" in [each["backend"] for each in lastbit.matrix(model)["left_out"]]
    allowed = lastbit.backend("bernoulli2", allow_float=True)
    assert not allowed.problems(model)
    np.testing.assert_array_equal(lastbit.run(model, allowed, x).outputs[0], lastbit.run(model, "float", x).outputs[0])
