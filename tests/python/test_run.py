# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Networks and runs: every tensor is that of the command line, in the library's own memory."""
import json
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import lastbit
from conftest import DIGITS, IMAGES, SOURCE


def test_every_tensor_is_that_of_the_command_line(digits, tmp_path):
    subprocess.run([os.environ["LASTBIT_TOOL"], "run", DIGITS, "--backend", "vipnano_v8", "--input", IMAGES, "--trace", tmp_path, "--trace-samples", "0"],
                   check=True, stdout=subprocess.DEVNULL)
    trace = lastbit.run(digits, "vipnano_v8", IMAGES, keep_all=True, count_events=True)
    listed = json.loads((tmp_path / "trace.json").read_text())["tensors"]
    assert len(listed) == len(trace) == 10
    for tensor in listed:
        expected = np.load(tmp_path / tensor["file"])
        assert trace[tensor["name"]].dtype == expected.dtype
        np.testing.assert_array_equal(trace[tensor["name"]], expected)
    assert trace.events[0].outputs == 360 * 512
    assert {assumption.rule for assumption in trace.assumptions} and trace.backend == "vipnano_v8" and trace.path


def test_results_are_the_librarys_memory(digits, images):
    output = lastbit.run(digits, "vipnano_v8", images[0]).outputs[0]
    assert output.shape == (1, 10) and not output.flags.owndata and output.flags.writeable
    weights = digits.constant("conv1_weights")
    assert weights.shape == (8, 3, 3, 1) and not weights.flags.writeable and not weights.flags.owndata
    model = lastbit.load_model(DIGITS)
    kept = model.constant("conv1_weights")
    del model
    np.testing.assert_array_equal(kept, weights)  # keeps the network alive


NO_COPY = """
import resource, sys
import numpy as np
import lastbit
model = lastbit.model_from({
    "format": "lastbit.model.v1", "name": "pool",
    "tensors": [{"name": "x", "type": "int8", "shape": [1, 64, 64, 4], "quantization": {"scale": [0.1], "zero_point": [0]}},
                {"name": "y", "type": "int8", "shape": [1, 1, 1, 4], "quantization": {"scale": [0.1], "zero_point": [0]}}],
    "operations": [{"op": "max_pool2d", "name": "pool", "inputs": ["x"], "outputs": ["y"], "attributes": {"filter": [64, 64]}}],
    "inputs": ["x"], "outputs": ["y"]})
batch = np.ones((8192, 64, 64, 4), np.int8)  # 128 MiB
lastbit.run(model, "tflite_double", batch[:2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
trace = lastbit.run(model, "tflite_double", batch)
print(trace["y"].shape[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_a_batch_is_not_copied():
    samples, kilobytes = map(int, subprocess.run([sys.executable, "-c", NO_COPY], capture_output=True, text=True, check=True).stdout.split())
    assert samples == 8192 and kilobytes < 32 * 1024


def test_arrays_that_no_kernel_could_read_are_brought_in_order(digits, images):
    expected = lastbit.run(digits, "tflite_double", images[:4]).outputs[0]
    real = digits.inputs[0].real(images[:4]).astype(np.float32)
    unaligned = np.frombuffer(b"?" + real.tobytes(), np.float32, offset=1, count=real.size).reshape(real.shape)
    for inputs in (real.astype(">f4"), np.asfortranarray(real), unaligned, real[::-1][::-1]):
        np.testing.assert_array_equal(lastbit.run(digits, "tflite_double", inputs).outputs[0], expected)


@pytest.mark.parametrize("form", ["array", "list", "dict", "file", "batch of the leading 1", "Python lists", "not contiguous"])
def test_forms_of_inputs(digits, images, form, tmp_path):
    expected = lastbit.run(digits, "tflite_double", images[:4]).outputs[0]
    inputs = images[:4]
    if form == "list":
        inputs = [inputs]
    elif form == "dict":
        inputs = {"image": inputs}
    elif form == "file":
        np.save(tmp_path / "x.npy", inputs)
        inputs = str(tmp_path / "x.npy")
    elif form == "batch of the leading 1":
        inputs = inputs[:, 0]
    elif form == "Python lists":
        inputs = inputs.tolist()
    elif form == "not contiguous":
        inputs = np.repeat(inputs, 2, axis=0)[::2]
    np.testing.assert_array_equal(lastbit.run(digits, "tflite_double", inputs).outputs[0], expected)


def test_real_values_are_quantised_by_the_device(digits, images):
    real = digits.inputs[0].real(images[:4])
    assert real.dtype == np.float64 and real.min() >= 0
    np.testing.assert_array_equal(lastbit.run(digits, "tflite_double", real).outputs[0], lastbit.run(digits, "tflite_double", images[:4]).outputs[0])


def test_clipped_inputs_are_told_as_the_command_line_tells_them(digits, tool, tmp_path):
    above = np.linspace(0.5, 1.5, 64, dtype=np.float32).reshape(1, 8, 8, 1)  # codes stand for 0 … 1
    np.save(tmp_path / "x.npy", above)
    [told] = tool("run", DIGITS, "--backend", "vipnano_v8", "--input", tmp_path / "x.npy", "--output", tmp_path / "y", "--json")["real_inputs"]
    session = lastbit.InferenceSession(digits, "vipnano_v8")
    for run in (lambda: lastbit.run(digits, "vipnano_v8", above), lambda: lastbit.Emulator(digits, "vipnano_v8").run(above).outputs,
                lambda: lastbit.Emulator(digits, "vipnano_v8")(above), lambda: session.run(None, {"image": above})):
        with pytest.warns(lastbit.InputWarning, match=r"input 'image': real values 0\.5 … 1\.5 .* lie beyond; the network may have been") as warned:
            run()
        assert [warning.filename for warning in warned] == [__file__]  # whose line it is
    with pytest.warns(lastbit.InputWarning):
        [given] = lastbit.run(digits, "vipnano_v8", above).real_inputs
    assert given.clipped == 32 and {key: value for key, value in given._asdict().items() if key in told} == told


def test_innocent_inputs_are_not_warned_of(digits, images):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        [given] = lastbit.run(digits, "vipnano_v8", digits.inputs[0].real(images[:4])).real_inputs
        assert (given.clipped, given.suspicion, given.values) == (0, "", 4 * 64)
        assert lastbit.run(digits, "vipnano_v8", images[:4]).real_inputs == []
        assert lastbit.run(digits, "float", np.full((1, 8, 8, 1), 1.5, np.float32)).real_inputs == []  # makes no codes of them


def test_values_that_look_otherwise_scaled_are_warned_of(one_conv):
    with pytest.warns(lastbit.InputWarning, match="whole numbers: codes"):
        lastbit.run(one_conv, "tflite_double", np.full((1, 4, 4, 2), 100, np.float32))


def test_a_part_of_a_network_and_what_it_is(digits):
    part = lastbit.load_model(DIGITS, end=["depthwise1"])
    assert [operation.kind for operation in part.operations] == ["conv2d", "depthwise_conv2d"]
    assert digits.inputs[0].scales and digits.tensor("conv1_bias").is_constant
    assert "9 operations" in repr(digits) and "<table>" in digits._repr_html_()
    with pytest.raises(KeyError):
        digits.constant("conv1")


def test_a_network_is_written_and_read(digits, images, tmp_path):
    for name in ("again.json", "again.tflite"):
        digits.save(tmp_path / name)
        again = lastbit.load_model(tmp_path / name)
        np.testing.assert_array_equal(lastbit.run(again, "vipnano_v8", images[:8]).outputs[0], lastbit.run(digits, "vipnano_v8", images[:8]).outputs[0])
    assert lastbit.model_from(digits.to_json()).name == digits.name


@pytest.mark.parametrize("takes", ["a path", "bytes", "a model"])
def test_an_onnx_network_as_a_session(takes):
    file = SOURCE / "tests/vectors/cases/onnxruntime_averagepool_same_scale/model.onnx"
    session = lastbit.InferenceSession({"a path": file, "bytes": file.read_bytes(), "a model": lastbit.load_model(file)}[takes], "onnxruntime")
    first = session.get_inputs()[0]
    assert first.type.startswith("tensor(") and session.get_outputs()
    outputs = session.run(None, {each.name: np.zeros(each.shape, each.type[7:-1].replace("float", "float32")) for each in session.get_inputs()})
    assert [list(output.shape) for output in outputs] == [output.shape for output in session.get_outputs()]


def test_a_session_keeps_the_batch_in_its_place(images):
    session = lastbit.InferenceSession(DIGITS, "vipnano_v8")
    (many,) = session.run(["probabilities"], {"image": images[:5, 0]})
    (one,) = session.run(None, {"image": images[4]})
    assert many.shape == (5, 10) and one.shape == (1, 10)
    np.testing.assert_array_equal(many[4:], one)
    as_theirs = lastbit.InferenceSession(str(DIGITS), "vipnano_v8", None, ["CPUExecutionProvider"])
    np.testing.assert_array_equal(as_theirs.run(None, {"image": images[4]}, None)[0], one)
    with pytest.raises(lastbit.Error, match="no output 'logit'"):
        session.run(["logit"], {"image": images[0]})
