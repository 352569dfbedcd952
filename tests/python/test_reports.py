# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Every answer is the command line's."""
import os
import pickle
import subprocess

import numpy as np
import pytest

import lastbit
from conftest import DIGITS, IMAGES


def test_compare(digits, tool):
    report = lastbit.compare(digits, "tflite_double", "imx8mp", IMAGES, golden=True, threads=2)
    arguments = (DIGITS, "--a", "tflite_double", "--b", "imx8mp", "--input", IMAGES, "--golden")
    assert report == tool("compare", *arguments, "--json")
    done = subprocess.run([os.environ["LASTBIT_TOOL"], "compare", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and str(report) == done.stdout and not report.passes
    assert report.layers[1].accumulated.differing == report["layers"][1]["accumulated"]["differing"] == 160
    assert len(report.text(details=True)) > len(str(report)) and report.csv().startswith("model,") | ("conv1" in report.csv())
    with pytest.raises(AttributeError, match="layers"):
        report.layer
    assert {name for name, _ in report.within(max_lsb=1)} == {"pointwise1", "residual", "logits", "probabilities"} and not report.within(max_share=1)


def test_a_boards_tensors(digits, images, tool, tmp_path):
    board = dict(lastbit.run(digits, "vipnano_v8", images[0], keep_all=True))
    report = lastbit.compare(digits, b="tflite_double", board=board)
    for name, array in board.items():
        np.save(tmp_path / f"{name}.npy", array)
    by_files = lastbit.compare(digits, b="tflite_double", board=tmp_path)
    assert by_files == tool("compare", DIGITS, "--dump", tmp_path, "--backend", "tflite_double", "--json")
    assert report.layers == by_files.layers and report.a == "board"
    explained = lastbit.explain(digits, "tflite_double", board=tmp_path)
    assert explained == tool("explain", DIGITS, "--dump", tmp_path, "--backend", "tflite_double", "--json")
    assert "vipnano_v8" in explained.layers[0].backends
    assert lastbit.compare(digits, b="vipnano_v8", board=board).passes
    alone = lastbit.compare(digits, b="vipnano_v8", board=board["probabilities"], inputs=images[0], require="outputs")
    assert alone.passes and len(alone.layers) == 1
    with pytest.raises(lastbit.Error, match="no tensor 'conv'"):
        lastbit.compare(digits, b="vipnano_v8", board={"conv": board["conv1"]})


def test_explain(digits, tool, images, tmp_path):
    np.save(tmp_path / "x.npy", images[:20])
    report = lastbit.explain(digits, "tflite_double", "vipnano_v8", tmp_path / "x.npy", layer="conv1", top=1)
    assert report == tool("explain", DIGITS, "--a", "tflite_double", "--b", "vipnano_v8", "--input", tmp_path / "x.npy", "--layer", "conv1", "--top", 1,
                          "--json")
    assert "first rounding" in str(report)


def test_certify_and_check(digits, tool, tmp_path):
    seen = []
    report = lastbit.certify(digits, "tflite_double", "tflite_single", progress=lambda done, all: seen.append((done, all)))
    assert report == tool("certify", DIGITS, "--a", "tflite_double", "--b", "tflite_single", "--json") and not report.passes
    assert seen and seen[-1][0] <= seen[-1][1]
    same = lastbit.certify(digits, "vipnano_v8", "vipnano_v8", layer="conv1")
    (tmp_path / "certificate.json").write_text(same.json())
    assert same.passes and lastbit.check_certificate(tmp_path / "certificate.json", digits, "vipnano_v8", "vipnano_v8") == []


def test_assumptions(digits, tool):
    report = lastbit.certify(digits, "tflite_double", "esp_nn")
    assert report == tool("certify", DIGITS, "--a", "tflite_double", "--b", "esp_nn", "--json") and not report.passes
    assert [each["backend"] for each in report.assumptions] == ["esp_nn"]
    assert lastbit.certify(digits, "tflite_double", "esp_nn", accept_assumptions=True).passes
    assert not lastbit.matrix(digits, ["tflite_double", "esp_nn"]).passes
    assert lastbit.matrix(digits, ["tflite_double", "esp_nn"], accept_assumptions=True).passes


def test_prove(digits, tool):
    report = lastbit.prove(digits, "vipnano_v8", bits=16)
    assert report == tool("prove", DIGITS, "--backend", "vipnano_v8", "--bits", 16, "--json")
    assert lastbit.prove(digits, "vipnano_v8").passes
    with pytest.raises(lastbit.Error, match="input_range"):
        lastbit.prove(digits, "vipnano_v8", input_range="types")


def test_matrix_and_info(digits, tool):
    report = lastbit.matrix(digits, ["tflite_double", "tflite_single", "vipnano_v8"], IMAGES)
    assert report == tool("matrix", DIGITS, "--backend", "tflite_double,tflite_single,vipnano_v8", "--input", IMAGES, "--json")
    assert report.rows == "pairs" and len(report.pairs) == 3
    assert lastbit.info(digits) == tool("info", DIGITS, "--json")
    assert lastbit.info(digits, "vipnano_v8") == tool("info", DIGITS, "--backend", "vipnano_v8", "--json")


def test_quantize(digits, tool, images, tmp_path):
    np.save(tmp_path / "x.npy", images[:32])
    report = lastbit.quantize(digits, "vipnano_v8", tmp_path / "x.npy")
    assert report == tool("quantize", DIGITS, "--backend", "vipnano_v8", "--input", tmp_path / "x.npy", "-o", tmp_path / "made.json", "--json")
    made = lastbit.load_model(tmp_path / "made.json")
    np.testing.assert_array_equal(lastbit.run(report.model, "vipnano_v8", images[:8]).outputs[0], lastbit.run(made, "vipnano_v8", images[:8]).outputs[0])
    with pytest.raises(lastbit.Error):
        lastbit.quantize(digits, "vipnano_v8", images[:8], options={"no such": 1})


def test_sweep(digits, tool, images, tmp_path):
    np.save(tmp_path / "x.npy", images[:40])
    report = lastbit.sweep(digits, ["tflite_double", "vipnano_v8"], tmp_path / "x.npy", state=tmp_path / "state.json")
    assert report == tool("sweep", DIGITS, "--backend", "tflite_double,vipnano_v8", "--input", tmp_path / "x.npy", "--json")
    of_arrays = lastbit.sweep(digits, ["tflite_double", "vipnano_v8"], images[:40])
    assert of_arrays.backends == report.backends and of_arrays.complete and not of_arrays.passes


def test_a_sweep_that_is_interrupted_goes_on(digits, images, tmp_path):
    np.save(tmp_path / "x.npy", images[:40])

    def asked(**more):
        return lastbit.sweep(digits, ["tflite_double", "vipnano_v8"], tmp_path / "x.npy", state=tmp_path / "state.json", batch=8, **more)

    def stop(done, _):
        if done >= 16:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asked(progress=stop)
    seen = []
    assert asked(progress=lambda done, all: seen.append((done, all))).complete and seen[0] == (16, 40)


def test_advise_and_scales(digits, tool, images, tmp_path):
    np.save(tmp_path / "x.npy", images[:12])
    report = lastbit.advise(digits, "cpu", "vipnano_v8", tmp_path / "x.npy", candidates=2, effort=1)
    assert report == tool("advise", DIGITS, "--a", "cpu", "--b", "vipnano_v8", "--input", tmp_path / "x.npy", "--candidates", 2, "--effort", 1, "--json")
    scales = lastbit.equal_scales(digits, "tflite_double", "vipnano_v8")
    assert scales == tool("advise", DIGITS, "--a", "tflite_double", "--b", "vipnano_v8", "--scales", "--json") and scales.model.operations


def test_identify(one_conv):
    values = np.random.default_rng(1).integers(-128, 128, (1, 4, 4, 2)).astype(np.int8)
    board = lastbit.run(one_conv, "vipnano_v8", values, keep_all=True)
    found = lastbit.identify(one_conv, board, name="mine", max_time=120)
    assert found.passes and found.decided and found.backend.name == "mine"
    np.testing.assert_array_equal(lastbit.run(one_conv, found.backend, values).outputs[0], board["y"])


def test_in_notebooks_and_files(digits, images):
    report = lastbit.compare(digits, "tflite_double", "vipnano_v8", images[:2])
    assert "<td>conv1</td>" in report._repr_html_() and "<script" not in report._repr_html_()
    assert pickle.loads(pickle.dumps(report)).layers == report.layers
    assert "vipnano_v8" in lastbit.backend("vipnano_v8")._repr_html_()


def test_frames(digits, images):
    pytest.importorskip("pandas")
    frame = lastbit.compare(digits, "tflite_double", "vipnano_v8", images[:2]).frame()
    assert len(frame) == 10 and "accumulated.differing" in frame.columns
