// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Networks quantised with ranges from outside, against scales and codes worked out by hand; and that what was chosen, given back, gives the
// same model.
#include "lastbit/ranges.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"
#include "support/scratch.hpp"

using namespace lastbit;
using lastbit::test::Network;

namespace {

using Kind = OperationKind;

/// x of 2 values -> fully connected "op0" -> y of 1, w = (1, -0.5), b = 0.5.
Network dense_network() {
  Network network;
  const auto x = network.real("x", {1, 2}), y = network.real("y", {1, 1});
  const auto w = network.constant<float>("w", {1, 2}, {1, -0.5F}), b = network.constant<float>("b", {1}, {0.5F});
  network.operation(Kind::fully_connected, {x, w, b}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}

TensorRange given_range(const std::string& name, double min, double max) {
  return {.name = name, .where = "given:" + name, .min = min, .max = max};
}
TensorRange given_scale(const std::string& name, double scale, std::int64_t zero_point = 0) {
  return {.name = name, .where = "given:" + name, .codes = {{scale}, {zero_point}, 0}};
}
RangeFile file_of(std::vector<TensorRange> ranges, bool names_others = false) {
  return {"given", "a table", names_others, std::move(ranges)};
}

RangedQuantization with(const Network& network, const std::string& backend, const RangeFile& given,
                        const std::vector<std::vector<Tensor>>& samples = {}, const QuantizerOptions& options = {}) {
  return quantize(network.model, find_backend(backend), samples, options, 1, given);
}

std::string refused_with(const Network& network, const std::string& backend, const RangeFile& given) {
  const auto refusal = test::refusal_of([&] { static_cast<void>(with(network, backend, given)); });
  REQUIRE(refusal);
  CHECK(refusal->is_one_line());
  return refusal->message;
}

const ModelTensor& named(const Model& model, const std::string& name) { return model.tensor(model.find_tensor(name).value()); }

template <class T>
std::vector<T> constant_codes(const Model& model, const std::string& name) {
  const auto values = named(model, name).constant.value().values<T>();
  return {values.begin(), values.end()};
}

Tensor values_of(const std::vector<float>& values) { return Tensor::from<float>({1, static_cast<std::int64_t>(values.size())}, values); }

std::string joined_notes(const RangedQuantization& ranged) {
  std::string text;
  for (const std::string& note : ranged.result.report.notes) text += note + "\n";
  return text;
}

void check_same(const Model& a, const Model& b) {
  REQUIRE(a.tensors.size() == b.tensors.size());
  CHECK(a.operations.size() == b.operations.size());
  for (std::size_t t = 0; t < a.tensors.size(); ++t) {
    INFO(a.tensors[t].name);
    CHECK(a.tensors[t].name == b.tensors[t].name);
    CHECK(a.tensors[t].type == b.tensors[t].type);
    CHECK(a.tensors[t].quantization == b.tensors[t].quantization);
    CHECK(a.tensors[t].constant == b.tensors[t].constant);
  }
}

}  // namespace

TEST_CASE("given ranges: int8, all of them, without a sample") {
  // x in [-4, 3.96875]: scale 255/32/255 = 1/32, zero point -128 + 4 * 32 = 0. y in [0, 15.9375]: 1/16, -128. w in [-127/64, 127/64]: 1/64.
  const auto ranged = with(dense_network(), "tflite_double",
                           file_of({given_range("x", -4, 3.96875), given_range("y", 0, 15.9375), given_range("w", -1, 127.0 / 64)}));
  const Model& model = ranged.result.model;
  CHECK(named(model, "x").quantization == Quantization{{1.0 / 32}, {0}, 0});
  CHECK(named(model, "y").quantization == Quantization{{1.0 / 16}, {-128}, 0});
  CHECK(named(model, "w").quantization == Quantization{{1.0 / 64}, {0}, 0});
  CHECK(constant_codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{64, -32});
  CHECK(constant_codes<std::int32_t>(model, "b") == std::vector<std::int32_t>{1024});  // 0.5 * 32 * 64
  // 1.5 and -2 are 48 and -64: 48 * 64 + 64 * 32 + 1024 = 6144 of 1/2048 are 3, 48 sixteenths.
  const std::vector<Tensor> input{values_of({1.5F, -2})};
  const Trace trace = run(model, find_backend("tflite_double").backend, input);
  CHECK(trace.tensors[static_cast<std::size_t>(model.outputs[0])]->values<std::int8_t>()[0] == 48 - 128);
  CHECK(ranged.result.report.samples == 0);
  CHECK(to_text(ranged.result.report).find("Without samples, nothing but the constants is measured.") != std::string::npos);
  CHECK(joined_notes(ranged) == "3 ranges of given, a table\n");
}

TEST_CASE("given scales: int8, as they are; constants that are not named keep the quantiser's rule") {
  const auto ranged = with(dense_network(), "tflite_double", file_of({given_scale("x", 0.1, 3), given_scale("op0", 0.3, -7)}));
  const Model& model = ranged.result.model;
  CHECK(named(model, "x").quantization == Quantization{{double{0.1F}}, {3}, 0});
  CHECK(named(model, "y").quantization == Quantization{{double{0.3F}}, {-7}, 0});  // by the name of the operation that writes it
  CHECK(named(model, "w").quantization == Quantization{{double{1.0F / 127}}, {0}, 0});
  CHECK(constant_codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{127, -64});
  const auto weights =
      with(dense_network(), "tflite_double", file_of({given_scale("x", 1), given_scale("y", 1), given_scale("w", 0.03125)}));
  CHECK(constant_codes<std::int8_t>(weights.result.model, "w") == std::vector<std::int8_t>{32, -16});
  CHECK(constant_codes<std::int32_t>(weights.result.model, "b") == std::vector<std::int32_t>{16});
}

TEST_CASE("given scales: codes of a model in uint8 are those of int8 plus 128") {
  RangeFile file = file_of({given_scale("x", 0.5, 128), given_scale("y", 0.25, 0)});
  for (TensorRange& range : file.ranges) range.type = ElementType::uint8;
  const Model model = with(dense_network(), "tflite_double", file).result.model;
  CHECK(named(model, "x").quantization.zero_point() == 0);
  CHECK(named(model, "y").quantization.zero_point() == -128);
}

TEST_CASE("given ranges: what lacks one is calibrated from the samples, or missed by name") {
  const std::vector<std::vector<Tensor>> samples{{values_of({4, 4})}};  // y = 2.5
  const auto ranged = with(dense_network(), "tflite_double", file_of({given_range("x", -4, 3.96875)}), samples);
  CHECK(named(ranged.result.model, "x").quantization.scale() == 1.0 / 32);  // not 4 / 255
  CHECK(named(ranged.result.model, "y").quantization.scale() == double{2.5F / 255.0F});
  CHECK(joined_notes(ranged) == "1 range of given, a table\n1 tensor calibrated from the samples: 'y'\n");
  CHECK(ranged.result.report.samples == 1);
  CHECK(refused_with(dense_network(), "tflite_double", file_of({given_range("x", 0, 1)})) ==
        "given: no range for 1 tensor, 'y'; samples to calibrate with are needed for them (--input)");
}

TEST_CASE("given ranges: names that the network lacks are refused, or counted where they are natural") {
  const auto ranges = [](bool names_others) {
    return file_of({given_range("x", 0, 1), given_range("y", 0, 1), given_range("opp0", 0, 1), given_range("b", 0, 1)}, names_others);
  };
  CHECK(refused_with(dense_network(), "tflite_double", ranges(false)) ==
        "given:opp0: the network has no tensor 'opp0'; did you mean 'op0'?");
  CHECK(joined_notes(with(dense_network(), "tflite_double", ranges(true))) ==
        "2 ranges of given, a table\n1 of 4 ranges names no tensor of this network: 'opp0'\n"
        "1 range decides nothing, the codes follow from others by the quantiser's rules: 'b'\n");
  CHECK(refused_with(dense_network(), "tflite_double", file_of({given_range("opp0", 0, 1)}, true)) ==
        "given: none of the 1 name in it, 'opp0', is of this network; did you mean 'op0'?");
  CHECK(refused_with(dense_network(), "tflite_double", file_of({given_range("x", 0, 1), given_range("x", 0, 2)})) ==
        "given:x: 'x': has a range already, in given:x");
}

TEST_CASE("given scales: what the codes of a device cannot be is refused by name") {
  const auto said = [](const std::string& backend, const TensorRange& range) {
    return refused_with(dense_network(), backend, file_of({range, given_range("y", 0, 1)}));
  };
  CHECK(said("tflite_double", given_scale("x", 1, 200)) == "given:x: 'x': zero point 200; int8 codes here have -128 to 127");
  CHECK(said("gemmini", given_scale("x", 1, 1)) == "given:x: 'x': zero point 1; int8 codes here have 0");
  CHECK(said("tflite_double", given_scale("x", 1e-44)) == "given:x: 'x': scale 1e-44 is not between 2^-126 and 2^30");
  TensorRange wide = given_scale("x", 1);
  wide.type = ElementType::int16;
  CHECK(said("tflite_double", wide) == "given:x: 'x': its scale is for int16 codes, those here are int8");
  TensorRange several = given_scale("x", 1);
  several.codes = {{1, 2}, {0, 0}, 0};
  CHECK(said("tflite_double", several) == "given:x: 'x': 2 scales; data have one");
  several.name = "w";
  CHECK(refused_with(dense_network(), "tflite_double", file_of({given_range("x", 0, 1), given_range("y", 0, 1), several})) ==
        "given:x: 'w': 2 scales along axis 0; its weights have 1 output channel along axis 0");
  CHECK(refused_with(dense_network(), "tflite_double", file_of({given_range("x", 0, 1), given_range("y", 0, 1), given_scale("w", 1, 4)})) ==
        "given:w: 'w': zero point 4; weights here have 0");
  CHECK(said("gna2", given_scale("x", 1)) == "given:x: 'x': GNA's factors follow from min and max, not from a scale");
  CHECK(said("n2d2_single_shift", given_scale("x", 1)) == "given:x: 'x': whether its codes are signed is not said: min and max say it");
  CHECK(said("ascend310", given_range("x", 0, 1)) == "given: quantiser float16 takes no ranges: its data have no scale");
}

TEST_CASE("given ranges: tensors of one quantisation have the hull of the ranges, the wider scale, or are refused") {
  Network network;
  const auto x = network.real("x", {1, 2}), y = network.real("y", {2, 1});
  network.operation(Kind::reshape, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const auto both = [&](const TensorRange& a, const TensorRange& b) { return with(network, "tflite_double", file_of({a, b})); };
  const Model hulled = both(given_range("x", 0, 3.96875), given_range("y", -4, 1)).result.model;
  CHECK(named(hulled, "x").quantization == Quantization{{1.0 / 32}, {0}, 0});
  const auto wider = both(given_scale("x", 0.25), given_scale("y", 0.5));
  CHECK(named(wider.result.model, "x").quantization.scale() == 0.5);
  CHECK(joined_notes(wider).find("'x' and 'y' have one quantisation here: of the scales that are given, the wider one counts") !=
        std::string::npos);
  CHECK(named(both(given_range("x", 0, 9), given_scale("y", 0.5, 9)).result.model, "x").quantization == Quantization{{0.5}, {9}, 0});
  CHECK(named(with(network, "tflite_double", file_of({given_scale("y", 0.5, 9)})).result.model, "x").quantization.zero_point() == 9);
  CHECK(refused_with(network, "tflite_double", file_of({given_scale("x", 0.5, 9), given_scale("y", 0.5, 8)})) ==
        "given:y: 'x' and 'y' have one quantisation here, given:x gives another");
}

TEST_CASE("given ranges: bernoulli2, thresholds of the nodes' inputs, scale = threshold / 127 in float32") {
  const RangeFile table =
      file_of({{.name = "op0", .where = "given:1", .min = -31.75, .max = 31.75, .of = RangeOf::input}, given_range("y", -2, 1)});
  const Model model = with(dense_network(), "bernoulli2", table).result.model;
  CHECK(named(model, "x").quantization == Quantization{{0.25}, {0}, 0});
  CHECK(named(model, "y").quantization == Quantization{{double{static_cast<float>(2.0 / 127)}}, {0}, 0});
  CHECK(constant_codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{127, -64});
  CHECK(constant_codes<std::int32_t>(model, "b") == std::vector<std::int32_t>{254});  // 0.5 * 4 * 127
  const Model scales =
      with(dense_network(), "bernoulli2", file_of({given_scale("x", 0.5), given_scale("y", 1), given_scale("w", 0.03125)})).result.model;
  CHECK(named(scales, "x").quantization.scale() == 0.5);
  CHECK(constant_codes<std::int8_t>(scales, "w") == std::vector<std::int8_t>{32, -16});
  CHECK(constant_codes<std::int32_t>(scales, "b") == std::vector<std::int32_t>{32});
}

TEST_CASE("given ranges: n2d2, thresholds of outputs; a range that is not negative has unsigned codes") {
  // in = 2 / 127; y: 127 codes of 4 / 127, so the sum of 1/127 and 2/127 is scaled by 1/127 * 2/4 = a half of 1/127.
  const Model model = with(dense_network(), "n2d2_float_mult", file_of({given_range("x", -2, 1), given_range("y", -4, 4)})).result.model;
  CHECK(named(model, "x").type == ElementType::int8);
  CHECK(named(model, "x").quantization.scale() == double{static_cast<float>(2.0 / 127)});
  CHECK(named(model, "y").quantization.scale() == Approx(4.0 / 127).epsilon(1e-12));
  CHECK(constant_codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{127, -64});
  const RangeFile unsigned_input =
      file_of({{.name = "env", .where = {}, .min = 0, .max = 51, .of = RangeOf::network_input}, given_scale("y", 0.25)}, true);
  const Model other = with(dense_network(), "n2d2_float_mult", unsigned_input).result.model;
  CHECK(named(other, "x").type == ElementType::uint8);
  CHECK(named(other, "x").quantization.scale() == double{static_cast<float>(51.0 / 255)});
  CHECK(named(other, "y").quantization.scale() == Approx(0.25).epsilon(1e-12));
}

TEST_CASE("given ranges: gna, factors from the largest magnitude") {
  const Model model =
      with(dense_network(), "gna2", file_of({given_range("x", -0.5, 2), given_range("y", -100, 1), given_range("w", -2, 0)})).result.model;
  CHECK(named(model, "x").quantization.scale() == 2.0 / 16384);
  CHECK(named(model, "y").quantization.scale() == 1 / (32766.0 / 100));
  CHECK(constant_codes<std::int16_t>(model, "w") == std::vector<std::int16_t>{8192, -4096});
}

TEST_CASE("given ranges: what a calibration chose, given back as a file, gives the same model") {
  const auto folder = test::source_directory() / "examples/digits";
  const Model model = read_model(folder / "model.json");
  const Tensor images = dequantized(read_npy(folder / "test_images.npy"), model.tensor(model.inputs[0]).quantization);
  std::vector<std::vector<Tensor>> samples;
  for (std::size_t i = 0; i < 4; ++i) samples.push_back({Tensor::from<float>({1, 8, 8, 1}, images.values<float>().subspan(i * 64, 64))});
  struct Case {
    const char* backend;
    QuantizerOptions options;
  };
  const test::Scratch scratch;
  const auto file = scratch.path() / "ranges.csv";
  for (const Case& each : {Case{"tflite_double", {{"range", "kl"}}}, Case{"xnnpack", {{"range", "mse"}}}, Case{"bernoulli2", {}},
                           Case{"n2d2_fixed_mult16", {}}, Case{"n2d2_single_shift", {{"clipping", "kl"}}}}) {
    INFO(each.backend);
    const SpecSheet sheet = find_backend(each.backend);
    RangedQuantization calibrated;
    const auto refusal = test::refusal_of([&] { calibrated = quantize(model, sheet, samples, each.options, 1, RangeFile{}); });
    INFO((refusal ? refusal->message : ""));
    REQUIRE(!refusal);
    REQUIRE(!calibrated.chosen.empty());
    write_ranges(file, calibrated.chosen);
    const RangedQuantization given = quantize(model, sheet, {}, each.options, 1, read_ranges(file));
    check_same(given.result.model, calibrated.result.model);
    CHECK(given.chosen.size() == calibrated.chosen.size());
    // And with wider ranges, which something must notice.
    RangeFile wider = read_ranges(file);
    for (TensorRange& range : wider.ranges) range.min *= 1.5, range.max *= 1.5;
    const Model other = quantize(model, sheet, {}, each.options, 1, wider).result.model;
    CHECK(!(other.tensor(other.inputs[0]).quantization == given.result.model.tensor(given.result.model.inputs[0]).quantization));
  }
}

TEST_CASE("given scales: those of a quantised model make the same model of its float network") {
  const auto folder = test::source_directory() / "examples/digits";
  const Model model = read_model(folder / "model.json");
  const SpecSheet sheet = find_backend("tflite_double");
  const RangedQuantization given = quantize(model, sheet, {}, {}, 1, read_ranges(folder / "model.json"));
  for (const ModelTensor& tensor : given.result.model.tensors) {
    const auto original = model.find_tensor(tensor.name);
    if (!original || !is_integer(model.tensor(*original).type) || tensor.type == ElementType::int32) continue;
    INFO(tensor.name);
    CHECK(tensor.quantization == model.tensor(*original).quantization);
    CHECK(tensor.constant == model.tensor(*original).constant);
  }
}

TEST_CASE("given ranges: an operation with a scale of its own keeps it, unless a scale is given") {
  Network network;
  const auto x = network.real("x", {1, 2}), y = network.real("y", {1, 2});
  network.operation(Kind::logistic, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const auto ranged = with(network, "tflite_double", file_of({given_range("x", -4, 3.96875), given_range("y", 0, 4)}));
  CHECK(named(ranged.result.model, "y").quantization == Quantization{{1.0 / 256}, {-128}, 0});
  CHECK(joined_notes(ranged).find("1 range decides nothing") != std::string::npos);
  CHECK(ranged.chosen.size() == 1);
  CHECK(refused_with(network, "tflite_double", file_of({given_range("x", 0, 1), given_scale("y", 0.5)})).starts_with("logistic 'y': "));
  CHECK(with(network, "tflite_double", file_of({given_range("x", 0, 1)})).chosen.size() == 1);
}

TEST_CASE("given ranges: of a tensor that only reorders another, as an .onnx model's convolution has it, what holds the values first") {
  Network network;
  const auto x = network.real("x", {1, 3, 8}), places_first = network.real("x (NWC)", {1, 8, 3}),
             line = network.real("x (NHWC)", {1, 1, 8, 3}), sums = network.real("y (NHWC)", {1, 1, 7, 2}),
             flat = network.real("y (NWC)", {1, 7, 2}), y = network.real("y", {1, 2, 7});
  const auto w = network.constant<float>("w", {2, 1, 2, 3}, {1, -1, 0.5F, 0.25F, 1, 1, -1, 0, 1, 0.5F, 0.5F, 1});
  network.operation(Kind::transpose, {x}, {places_first}, TransposeAttributes{{0, 2, 1}});
  network.operation(Kind::reshape, {places_first}, {line});
  network.operation(Kind::conv2d, {line, w}, {sums}, Conv2dAttributes{});
  network.operation(Kind::reshape, {sums}, {flat});
  network.operation(Kind::transpose, {flat}, {y}, TransposeAttributes{{0, 2, 1}});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const RangeFile given = file_of({given_range("x", -2, 2), given_range("y", -12.7, 12.7)}, true);
  for (const char* backend : {"n2d2_single_shift", "xnnpack"}) {
    INFO(backend);
    const auto ranged = with(network, backend, given);
    CHECK(joined_notes(ranged).starts_with("2 ranges of given, a table\n"));
    CHECK(named(ranged.result.model, "y (NHWC)").quantization.scale() == named(ranged.result.model, "y").quantization.scale());
  }
  CHECK(std::abs(named(with(network, "n2d2_single_shift", given).result.model, "y (NHWC)").quantization.scale() - 0.1) < 1e-7);
  // The first one's own range counts.
  const RangeFile both = file_of({given_range("x", -2, 2), given_range("y", -12.7, 12.7), given_range("y (NHWC)", -25.4, 25.4)}, true);
  CHECK(std::abs(named(with(network, "n2d2_single_shift", both).result.model, "y").quantization.scale() - 0.2) < 1e-7);
}
