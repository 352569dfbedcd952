#!/usr/bin/env python3
# Copyright lastbit authors.
# SPDX-License-Identifier: Apache-2.0
"""Tests of convert_vectors.py on handmade recordings, and on the recorded suites where they are at hand:

    python3 python/test_convert_vectors.py

LASTBIT_RECORDED names the folder that holds vectors/ and peer_suites/ (default: ../shared beside the repository).
"""

import contextlib
import copy
import fractions
import io
import json
import os
import pathlib
import random
import tempfile
import unittest

import numpy as np

import convert_vectors
from convert import gna
from convert.multiplier import quantize_multiplier
from convert.vipnano import registers_of

ROOT = pathlib.Path(__file__).resolve().parent.parent
RECORDED = pathlib.Path(os.environ.get("LASTBIT_RECORDED", ROOT.parent / "shared"))
COMMITTED = ROOT / "tests" / "vectors"
SELECTED, SELECTED_OF_LARGE = 4, 2  # as docs/vectors.md says


def zeros(dtype, *shape):
    return np.zeros(shape, dtype)


def recording(target, op, params, **tensors):
    """One suite of one case."""
    return {"target": target, "suite": "handmade", "op": op, "params": params, "tensors": tensors}


def conv2d():
    """Two channels; multipliers 0.75 * 2^-3 and 0.5 * 2^1; the builds differ in the last value."""
    params = {"kind": "ties", "padding": "SAME", "pad_top": 1, "pad_left": 1, "stride": [1, 1], "dilation": [1, 1], "input_offset": 5,
              "weights_offset": 0, "output_offset": -3, "act_min": -128, "act_max": 100, "multiplier": [3 << 29, 1 << 30], "shift": [-3, 1]}
    single = zeros("int8", 1, 4, 4, 2)
    single[0, 3, 3, 1] = 1
    return recording("tflite", "conv2d", params, input=zeros("int8", 1, 4, 4, 3), weights=zeros("int8", 2, 3, 3, 3), bias=zeros("int32", 2),
                     expected=zeros("int8", 1, 4, 4, 2), expected_single=single)


def add():
    params = {"variant": "s8", "scale1": 0.5, "scale2": 0.25, "scale_out": 1.0, "offset1": 1, "offset2": -2, "output_offset": 3,
              "left_shift": 20, "m1": 1 << 30, "s1": 0, "m2": 1 << 30, "s2": -1, "mo": 1 << 30, "so": -19, "act_min": -128, "act_max": 127}
    return recording("tflite", "add", params, input1=zeros("int8", 7), input2=zeros("int8", 7), expected=zeros("int8", 7))


def softmax():
    params = {"variant": "s8", "beta": 1.0, "input_scale": 2.0 ** -8, "input_multiplier": 1 << 30, "input_left_shift": 19,
              "diff_min": -3968, "params_single": [1 << 30, 19, -3968]}
    return recording("tflite", "softmax", params, input=zeros("int8", 2, 3), expected=zeros("int8", 2, 3))


def vipnano(**changes):
    params = {"pad_top": 0, "pad_left": 0, "pad_bottom": 0, "pad_right": 0, "stride": 1, "dilation": 1, "input_zero_point": 3,
              "weight_zero_point": 7, "output_zero_point": 9, "post_shift": 10, "post_mul_mantissa": 0x400000, "post_mul_bits": 24,
              "scale_f32": 1.5 / 1024, "rounding_mode": 0, "relu": 1, "dtype": "uint8"}
    return recording("vipnano", "conv2d", {**params, **changes}, input=np.arange(24, dtype="uint8").reshape(2, 3, 4),
                     weights=zeros("uint8", 5, 2, 1, 1), bias=zeros("int32", 5), expected=zeros("uint8", 5, 3, 4))


def qlinear_concat():
    one, zero = np.float32(1), np.uint8(0)
    return recording("onnxruntime", "QLinearConcat", {"axis": -3}, x1=zeros("uint8", 1, 2, 3, 4), x2=zeros("uint8", 1, 5, 3, 4),
                     sa=np.array(0.5, "float32"), za=zero, sb=one, zb=zero, sc=one, zc=zero, expected=zeros("uint8", 1, 7, 3, 4))


def report():
    made = recording("ascend", "compare_report", {}, my_output=zeros("float32", 3), ground_truth=zeros("float32", 3))
    return {**made, "more": {"expected": {"CosineSimilarity": "1.0"}}}


def sums(**changes):
    """More values than a selection keeps."""
    params = {"oracle_infnan": "", "oracle_ge2021": "", "documented_saturated": ""}
    values = np.arange(3000, dtype="uint16")
    return recording("ascend", "fp16_add", {**params, **changes}, a=values, b=values + 1, expected_infnan=values + 2,
                     expected_ge2021=values + 3, documented_saturated=values + 4)


def pytorch():
    """Depthwise, three channels; the bias is 1, 2 and -3 units of in*w."""
    params = {"kind": "random", "stride": [1, 1], "pad": [0, 0, 0, 0], "groups": 3, "relu": True, "scale_in": 0.5, "zero_point_in": 7,
              "scale_w": [0.25, 0.5, 1.0], "scale_out": 2.0, "zero_point_out": 9}
    return recording("pytorch_onednn", "conv2d", params, input=zeros("uint8", 1, 2, 2, 3),
                     weights=np.arange(3, dtype="int8").reshape(3, 1, 1, 1), bias=np.array([0.125, 0.5, -1.5], "float32"),
                     bias_int32=np.array([1, 2, -3], "int32"), expected=zeros("uint8", 1, 2, 2, 3))


def fbgemm():
    """Three columns in two groups."""
    params = {"form": "float", "A_zp": 2, "C_zp": 5, "group": 2, "relu": False}
    return recording("fbgemm", "requantize", params, acc=np.array([[10, 20, 30]], "int32"), row=np.array([3], "int32"),
                     col=np.array([1, 2, 3], "int32"), bias=np.array([0, 0, 100], "int32"), B_zp=np.array([1, -1], "int32"),
                     multiplier=np.array([0.5, 0.25], "float32"), expected=zeros("uint8", 1, 3))


def espdl_mul():
    return recording("espdl", "mul", {"rounding": "half_even", "rescale": 2.0 ** -7}, input1=zeros("int8", 7), input2=zeros("int8", 7),
                     expected=zeros("int8", 7))


def espdl_requantize():
    return recording("espdl", "requantize", {"rounding": "half_up", "shift": -3}, acc=zeros("int32", 7), expected=zeros("int32", 7))


def apply_scale():
    return recording("tosa", "apply_scale_16", {"rounding": "16"}, value=np.array([1 << 46, -1], "int64"), multiplier=np.array([3, 0x7FFF], "int32"),
                     shift=np.array([2, 62], "int32"), expected=zeros("int32", 2))


def changed(made, **changes):
    """A copy with some parameters (`key`), tensors (`tensors__key`) or case keys (`case__key`) replaced; None removes."""
    made = copy.deepcopy(made)
    for name, value in changes.items():
        part, _, key = name.rpartition("__")
        place = made.setdefault("more", {}) if part == "case" else made[part or "params"]
        place.pop(key, None)
        if value is not None:
            place[key] = value
    return made


class Conversion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="convert-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def record(self, made, source=None):
        folder = self.folder / (source or f"source_{made['suite']}")
        folder.mkdir()
        tensors = {}
        for key, value in made["tensors"].items():
            tensors[key] = value if isinstance(value, str) else f"{key}.npy"
            if not isinstance(value, str):
                np.save(folder / tensors[key], value)
        case = {"name": "one", "op": made["op"], "params": made["params"], "tensors": tensors, **made.get("more", {})}
        content = {"target": made["target"], "suite": made["suite"], "source": "hand", "cases": [case]}
        (folder / "cases.json").write_text(json.dumps(content))
        return folder

    def run_converter(self, *arguments):
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = convert_vectors.main([str(a) for a in arguments])
        return status, err.getvalue()

    def convert(self, made):
        status, err = self.run_converter(self.record(made), self.folder / "out")
        self.assertEqual((status, err), (0, ""))
        folder = self.folder / "out" / made["target"] / made["suite"]
        return json.loads((folder / "cases.json").read_text()), folder

    def test_convolution_in_both_roundings(self):
        content, folder = self.convert(conv2d())
        self.assertEqual(content["format"], "lastbit.cases.v1")
        self.assertEqual([case["backend"] for case in content["cases"]], ["tflite_double", "tflite_single"])
        double, single = content["cases"]
        self.assertEqual(double["inputs"], single["inputs"])
        self.assertNotEqual(double["expected"], single["expected"])
        tensors = {tensor["name"]: tensor for tensor in double["model"]["tensors"]}
        self.assertEqual(tensors["input"]["quantization"], {"scale": [1.0], "zero_point": [-5]})
        self.assertEqual(tensors["weights"]["quantization"], {"scale": [0.75 / 8, 1.0], "zero_point": [0, 0], "axis": 0})
        self.assertEqual(tensors["bias"]["data"], [0, 0])
        self.assertEqual(double["model"]["operations"][0]["attributes"],
                         {"stride": [1, 1], "dilation": [1, 1], "padding": [1, 1, 1, 1], "clamp": [-128, 100]})
        self.assertEqual(np.load(folder / single["expected"]["output"])[0, 3, 3, 1], 1)

    def test_one_recorded_result_stands_for_both_roundings(self):
        content, folder = self.convert(changed(conv2d(), tensors__expected_single=None, tensors__bias=None))
        double, single = content["cases"]
        self.assertEqual(double["expected"], single["expected"])
        self.assertEqual(double["model"]["operations"][0]["inputs"], ["input", "weights", None])
        self.assertEqual(len(list(folder.glob("*.npy"))), 2)  # the weights stand in the model

    def test_multiplier_zero_is_a_scale_that_encodes_to_zero(self):
        content, _ = self.convert(changed(conv2d(), multiplier=[0, 1 << 30], shift=[0, 1]))
        scale = content["cases"][0]["model"]["tensors"][1]["quantization"]["scale"][0]
        self.assertGreater(scale, 0)
        self.assertEqual(quantize_multiplier(scale), (0, 0))

    def test_registers_and_rounding_of_vipnano(self):
        for bits, mode, backend, rounding in ((24, 0, "vipnano_v8", "half_away"), (16, 0, "vipnano_v7", "half_up"),
                                              (24, 2, "vipnano_v8", "toward_zero"), (16, 3, "vipnano_v7", "floor"),
                                              (24, 1, "vipnano_v8", None)):
            with self.subTest(bits=bits, mode=mode):
                mantissa, shift = registers_of(1.5 / 1024, bits)
                made = vipnano(post_mul_bits=bits, post_mul_mantissa=mantissa, post_shift=shift, rounding_mode=mode)
                made["suite"] = f"handmade_{bits}_{mode}"
                status, err = self.run_converter(self.record(made, made["suite"]), self.folder / "out")
                self.assertEqual((status, err), (0, ""))
                case = json.loads((self.folder / "out/vipnano" / made["suite"] / "cases.json").read_text())["cases"][0]
                self.assertEqual(case["backend"], backend)
                self.assertEqual(list(case.get("settings", {}).values()), [rounding] if rounding else [])
                self.assertEqual(case["model"]["tensors"][1]["quantization"]["scale"], [1.5 / 1024])

    def test_registers_without_a_scale(self):
        content, folder = self.convert(vipnano(scale_f32=None, post_mul_bits=16, post_mul_mantissa=1, post_shift=15))
        case = content["cases"][0]
        self.assertEqual(case["model"]["tensors"][1]["quantization"]["scale"], [1 + 2.0 ** -15])
        source = np.load(folder / case["inputs"]["input"])
        self.assertEqual(source.shape, (1, 3, 4, 2))
        self.assertEqual(source[0, 1, 2].tolist(), [6, 18])  # the two channels of one pixel

    def test_every_generation_of_gna_is_a_backend_with_tiles_and_kernels(self):
        self.assertLessEqual({"gna0.9", "gna1.0", "gna1.0e", "gna2.0", "gna3.0", "gna3.1", "gna3.1e"}, set(gna.GENERATIONS))
        for generation, backend in gna.GENERATIONS.items():
            self.assertEqual(gna.tile_elements(backend, "in8w8", 5), 2 * gna.TILES_16BIT[backend][4], generation)
            self.assertEqual(set(gna.SIMD[backend]), {"sse4", "avx2"}, generation)

    def test_depthwise_of_pytorch_with_the_integers_of_its_bias(self):
        content, _ = self.convert(pytorch())
        case = content["cases"][0]
        tensors = {tensor["name"]: tensor for tensor in case["model"]["tensors"]}
        self.assertEqual((case["backend"], case["model"]["operations"][0]["op"]), ("pytorch_x86", "depthwise_conv2d"))
        self.assertEqual(case["model"]["operations"][0]["attributes"]["activation"], "relu")
        self.assertEqual(tensors["weights"]["quantization"], {"scale": [0.25, 0.5, 1.0], "zero_point": [0, 0, 0], "axis": 3})
        self.assertEqual((tensors["weights"]["shape"], tensors["bias"]["data"]), ([1, 1, 1, 3], [1, 2, -3]))

    def test_a_layer_for_each_group_of_columns_of_fbgemm(self):
        content, folder = self.convert(fbgemm())
        first, second = content["cases"]
        self.assertEqual([case["backend"] for case in (first, second)], ["fbgemm", "fbgemm"])
        self.assertEqual(np.load(folder / first["inputs"]["sums0"]).tolist(), [[10 - 2 * 1 - 3 * 1, 20 - 2 * 2 - 3 * 1]])
        self.assertEqual(np.load(folder / second["inputs"]["sums1"]).tolist(), [[30 - 2 * 3 + 3 * 1 + 100]])
        self.assertEqual(second["model"]["tensors"][0]["quantization"], {"scale": [0.25], "zero_point": [0]})

    def test_concat_keeps_its_layout(self):
        content, _ = self.convert(qlinear_concat())
        model = content["cases"][0]["model"]
        self.assertEqual(model["operations"][0]["attributes"], {"axis": 1})
        self.assertEqual([tensor["shape"] for tensor in model["tensors"]], [[1, 2, 3, 4], [1, 5, 3, 4], [1, 7, 3, 4]])

    def test_sub_in_float_and_in_double(self):
        scales = [float(np.float32(scale)) for scale in (0.3, 0.7, 1.1)]
        in_double = {f"sub.{data}.{stage}.scale.arithmetic": "f64" for data in ("i8", "i16") for stage in ("operand", "output")}
        for number, settings in ((np.float32, None), (np.float64, in_double)):
            with self.subTest(number=number.__name__):
                a, b, out = (number(scale) for scale in scales)
                twice = number(2) * b
                parameters = dict(zip(("scale1", "scale2", "scale_out"), scales))
                for name, real in zip("12o", (a / twice, b / twice, twice / (number(1 << 20) * out))):
                    parameters[f"m{name}"], parameters[f"s{name}"] = quantize_multiplier(float(real))
                content, _ = self.convert({**changed(add(), **parameters), "op": "sub", "suite": number.__name__})
                self.assertEqual(content["cases"][0].get("settings"), settings)
                self.assertEqual(content["cases"][0]["model"]["operations"][0]["op"], "sub")

    def test_report(self):
        content, _ = self.convert(report())
        self.assertEqual(content["cases"][0]["primitive"], "metrics")
        self.assertEqual(content["cases"][0]["report"], {"CosineSimilarity": "1.0"})

    def test_binary16_results_carry_their_rules(self):
        content, _ = self.convert(sums())
        rules = [case["parameters"] for case in content["cases"]]
        self.assertEqual(rules[0], {"rounding": "half_even", "overflow": "infinity"})
        self.assertEqual(rules[1], {"rounding": "half_even", "overflow": "all_ones", "top_exponent": "ordinary"})
        self.assertEqual(rules[2], {"rounding": "half_even", "overflow": "saturate"})

    def test_powers_of_two_of_espdl(self):
        for made, scale, backend in ((espdl_mul(), 2.0 ** 7, "espdl_p4"), ({**espdl_requantize(), "suite": "shifts"}, 2.0 ** -3, "espdl_s3")):
            suite, _ = self.convert(made)
            self.assertEqual(suite["cases"][0]["backend"], backend)
            self.assertEqual(suite["cases"][0]["model"]["tensors"][-1]["quantization"]["scale"], [scale])

    def test_multipliers_of_16_bits_are_those_of_31_and_belong_to_both_of_tosa(self):
        suite, folder = self.convert(apply_scale())
        self.assertEqual([case["backend"] for case in suite["cases"]], ["tosa_single", "tosa_double"])
        self.assertEqual(np.load(folder / "c0001_multiplier.npy").tolist(), [3 << 16, 0x7FFF << 16])
        self.assertEqual(np.load(folder / "c0001_shift.npy").tolist(), [13, -47])

    def test_a_selection_keeps_the_same_elements_of_every_array(self):
        suite = convert_vectors.convert_suite(self.record(sums(), "selected"), 4)
        a, b = suite.files["c0001_a.npy"], suite.files["c0001_b.npy"]
        self.assertEqual((len(a), a[0], a[-1]), (convert_vectors.SELECTED_VALUES, 0, 2999))
        self.assertTrue((b == a + 1).all())

    def test_refusals(self):
        refused = [  # recording, what the message must name
            (changed(conv2d(), surprise=1), "params.surprise"),
            (changed(conv2d(), tensors__surprise=zeros("int8", 1)), "tensors.surprise"),
            (changed(conv2d(), case__surprise=1), "surprise"),
            (changed(conv2d(), stride=None), "params.stride"),
            (changed(conv2d(), stride=[1]), "params.stride"),
            (changed(conv2d(), act_max=True), "params.act_max"),
            (changed(conv2d(), padding="FULL"), "params.padding"),
            (changed(conv2d(), pad_top=0), "params.pad_top"),
            (changed(conv2d(), multiplier=[(1 << 30) - 1, 1 << 30]), "params.multiplier"),
            (changed(conv2d(), shift=[-40, 1]), "params.multiplier"),
            (changed(conv2d(), shift=[31, 1]), "params.multiplier"),
            (changed(conv2d(), shift=[1]), "params.multiplier"),
            (changed(conv2d(), groups=3), "3 groups"),
            (changed(conv2d(), input_offset=300), "zero point"),
            (changed(conv2d(), bias="int64"), "params.bias"),
            (changed(conv2d(), tensors__bias=zeros("int64", 2)), "tensors.bias"),
            (changed(conv2d(), tensors__bias=zeros("int32", 3)), "bias"),
            (changed(conv2d(), tensors__input=zeros("float32", 1, 4, 4, 3)), "tensors.input"),
            (changed(conv2d(), tensors__input="missing.npy"), "missing.npy"),
            (changed(conv2d(), tensors__input="../missing.npy"), "outside"),
            (changed(conv2d(), tensors__expected=zeros("int8", 1, 5, 4, 2)), "5 outputs"),
            (changed(conv2d(), tensors__expected_single=zeros("int8", 1, 4, 2, 4)), "differ in shape"),
            ({**conv2d(), "op": "conv9d"}, "conv9d"),
            ({**conv2d(), "target": "abacus"}, "abacus"),
            ({**conv2d(), "suite": "../up"}, "../up"),
            (changed(add(), m1=1073741825), "params.m1"),
            (changed(add(), left_shift=15), "params.left_shift"),
            (changed(add(), variant="s4"), "params.variant"),
            (changed(add(), scale1="half"), "params.scale1"),
            (changed(add(), tensors__input2=zeros("int8", 3)), "inputs of shape"),
            (changed(softmax(), diff_min=-3967), "params.diff_min"),
            (changed(softmax(), params_single=[1 << 30, 19, -1]), "params.params_single"),
            (vipnano(scale_f32=1.5), "post_mul_mantissa"),
            (vipnano(scale_f32=0.1), "scale_f32"),
            (vipnano(post_mul_bits=20), "post_mul_bits"),
            (vipnano(rounding_mode=4), "rounding_mode"),
            (vipnano(relu=2), "params.relu"),
            (vipnano(dtype="int8sym"), "tensors.input"),
            (vipnano(pad_bottom=1), "outputs"),
            (changed(pytorch(), tensors__bias_int32=np.array([1, 2, -4], "int32")), "bias_int32"),
            (changed(pytorch(), scale_in=0.1), "params.scale_in"),
            (changed(pytorch(), groups=2), "2 groups"),
            (changed(fbgemm(), group=1), "2 multipliers"),
            (changed(fbgemm(), tensors__row=np.array([-2 ** 31], "int32"), A_zp=0), "int32"),
            (changed(qlinear_concat(), axis=2), "params.axis"),
            (changed(qlinear_concat(), tensors__za=zeros("int8", 1)), "tensors.za"),
            (changed(qlinear_concat(), tensors__sa=zeros("float32", 1)), "scale"),
            (changed(report(), case__expected={"Beauty": "1.0"}), "Beauty"),
            (sums(surprise=1), "params.surprise"),
            (changed(sums(), tensors__b=zeros("uint16", 2)), "one length"),
            (changed(espdl_mul(), rescale=0.75), "params.rescale"),
            (changed(espdl_mul(), rounding="floor"), "params.rounding"),
            (changed(espdl_requantize(), shift=32), "params.shift"),
            (changed(apply_scale(), tensors__shift=np.array([1, 62], "int32")), "shifts"),
            (changed(apply_scale(), tensors__multiplier=np.array([3, 1 << 15], "int32")), "multipliers"),
            (changed(apply_scale(), tensors__value=np.array([1 << 47, 0], "int64")), "48 bits"),
            ({**changed(apply_scale(), rounding="double"), "op": "apply_scale_32"}, "int32"),
        ]
        for number, (made, named) in enumerate(refused):
            with self.subTest(named=named, number=number):
                status, err = self.run_converter(self.record(made, f"refused{number}"), self.folder / "out")
                self.assertEqual(status, 2)
                self.assertEqual(err.count("\n"), 1, err)
                self.assertIn(named, err)
                if made["target"] == "tflite" and made["suite"] == "handmade":
                    self.assertIn("tflite/handmade: one: ", err)
        self.assertFalse((self.folder / "out").exists(), "a refused conversion wrote something")

    def test_one_refusal_in_a_tree_writes_nothing(self):
        self.record(conv2d(), "a")
        self.record({**add(), "suite": "broken", "op": "conv9d"}, "b")
        self.assertEqual(self.run_converter(self.folder, self.folder / "out")[0], 2)
        self.assertFalse((self.folder / "out").exists())

    def test_existing_suites_and_empty_trees_are_refused(self):
        source = self.record(conv2d())
        self.assertEqual(self.run_converter(source, self.folder / "out")[0], 0)
        self.assertIn("exists", self.run_converter(source, self.folder / "out")[1])
        self.assertIn("no cases.json", self.run_converter(self.folder / "nowhere", self.folder / "out2")[1])


class Multipliers(unittest.TestCase):
    def test_against_exact_fractions(self):
        seed = random.randrange(1 << 30)
        generator = random.Random(seed)
        for _ in range(3000):
            multiplier, shift = generator.randrange(1 << 30, 1 << 31), generator.randrange(-31, 31)
            real = float(fractions.Fraction(multiplier, 1 << 31) * fractions.Fraction(2) ** shift)
            self.assertEqual(quantize_multiplier(real), (multiplier, shift), seed)
            self.assertEqual(quantize_multiplier(real, single=True), (multiplier, shift), seed)

    def test_named_values(self):
        for real, double, single in ((0.0, (0, 0), (0, 0)), (2.0 ** -32, (1 << 30, -31), (1 << 30, -31)), (2.0 ** -33, (0, 0), (0, 0)),
                                     (1 - 2.0 ** -33, (1 << 30, 1), (1 << 30, 1)),  # rounds up to the next power of two
                                     (0.5 + 2.0 ** -32, ((1 << 30) + 1, 0), ((1 << 30) + 1, 0)),  # a tie
                                     (2.0 ** 30, (1 << 30, 31), ((1 << 31) - 1, 30))):
            self.assertEqual((quantize_multiplier(real), quantize_multiplier(real, single=True)), (double, single), real)


@unittest.skipUnless((RECORDED / "vectors").is_dir(), f"no recorded suites in {RECORDED}")
class RecordedSuites(unittest.TestCase):
    TREES = ("vectors/tflite", "vectors/onnxruntime", "vectors/vipnano", "vectors/ascend", "vectors/espdl", "vectors/tosa", "vectors/gap",
             "vectors/rk3588", "vectors/sophgo", "vectors/nvdla", "vectors/k210", "peer_suites")
    LARGE = ("vectors/pytorch_qnnpack", "vectors/pytorch_onednn", "vectors/pytorch_onednn_avx2", "vectors/fbgemm")

    def convert_all(self, destination, trees, count=None):
        return [suite for tree in trees for suite in convert_vectors.convert_tree(RECORDED / tree, destination, count)]

    @staticmethod
    def results_of(recorded):
        if recorded["suite"].startswith("fp16_"):
            return sum(word.startswith(("expected_", "documented_")) for case in recorded["cases"] for word in case["tensors"])
        if recorded["target"] == "tosa":
            return sum(1 if case["op"] == "apply_scale_32" else 2 for case in recorded["cases"])
        return (2 if recorded["target"] == "tflite" else 1) * len(recorded["cases"])

    def test_every_recorded_case_is_converted(self):
        with tempfile.TemporaryDirectory(prefix="convert-") as out:
            suites = {suite.path: suite for suite in self.convert_all(pathlib.Path(out), self.TREES)}
            for tree in self.TREES:
                for file in (RECORDED / tree).rglob("cases.json"):
                    recorded = json.loads(file.read_text())
                    suite = suites.pop(f"{recorded['target']}/{recorded['suite']}")
                    self.assertEqual(len(suite.cases), self.results_of(recorded), suite.path)
            self.assertFalse(suites)

    def test_the_committed_selection_is_reproducible(self):
        with tempfile.TemporaryDirectory(prefix="convert-") as out:
            out = pathlib.Path(out)
            for suite in self.convert_all(out, self.TREES[:-1], SELECTED) + self.convert_all(out, self.LARGE, SELECTED_OF_LARGE):
                committed = {file.name: file.read_bytes() for file in (COMMITTED / suite.path).iterdir()}
                made = {file.name: file.read_bytes() for file in (out / suite.path).iterdir()}
                self.assertEqual(sorted(committed), sorted(made), suite.path)
                self.assertEqual([name for name in made if made[name] != committed[name]], [], suite.path)


if __name__ == "__main__":
    unittest.main()
