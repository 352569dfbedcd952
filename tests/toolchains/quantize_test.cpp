// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The way from a float network to a device: what is taken, what is refused, what the report counts.
#include <cmath>
#include <limits>
#include <numeric>

#include "lastbit/io/model_file.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/paths.hpp"
#include "support/refusal.hpp"
#include "toolchains/quality.hpp"

using namespace lastbit;
using lastbit::test::Network;

namespace {

using Kind = OperationKind;

Tensor row(const std::vector<float>& values) { return Tensor::from<float>({1, static_cast<std::int64_t>(values.size())}, values); }

std::vector<std::string> names(const Model& model) {
  std::vector<std::string> list;
  for (const ModelTensor& tensor : model.tensors) list.push_back(tensor.name);
  return list;
}

const Quantization half{{0.5}, {0}, 0};

/// x -> relu -> y in float.
Network relu_network() {
  Network network;
  const auto x = network.real("x", {1, 4}), y = network.real("y", {1, 4});
  network.operation(Kind::relu, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}

}  // namespace

TEST_CASE("float network: conversions between types disappear, the user's inputs and outputs stay") {
  Network network;
  const auto x = network.real("x", {1, 4}), q = network.tensor("q", ElementType::int8, {1, 4}, half),
             r = network.tensor("r", ElementType::int8, {1, 4}, half), s = network.tensor("s", ElementType::int8, {1, 4}, {{0.25}, {3}, 0}),
             h = network.tensor("h", ElementType::float16, {1, 4}), y = network.real("y", {1, 4});
  network.operation(Kind::quantize, {x}, {q});
  network.operation(Kind::relu, {q}, {r});
  network.operation(Kind::requantize, {r}, {s});
  const auto f = network.real("f", {1, 4});
  network.operation(Kind::dequantize, {s}, {f});
  network.operation(Kind::cast, {f}, {h});
  network.operation(Kind::cast, {h}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  validate(network.model, "test");
  const Model real = float_network(network.model);
  CHECK(names(real) == std::vector<std::string>{"x", "y"});
  REQUIRE(real.operations.size() == 1);
  CHECK(real.operations[0].kind == Kind::relu);
}

TEST_CASE("float network: from an input straight to an output, moving data remains") {
  Network network;
  const auto x = network.real("x", {1, 4}), q = network.tensor("q", ElementType::int8, {1, 4}, half);
  network.operation(Kind::quantize, {x}, {q});
  network.model.inputs = {x};
  network.model.outputs = {q};
  const Model real = float_network(network.model);
  CHECK(names(real) == std::vector<std::string>{"x", "q"});
  REQUIRE(real.operations.size() == 1);
  CHECK(real.operations[0].kind == Kind::reshape);
}

TEST_CASE("float network: shared constants are copied, unused tensors dropped, names made unique") {
  Network network;
  const auto x = network.real("x", {1, 2}), c = network.constant<float>("c", {1, 2}, {1, 2}), unused = network.real("unused", {1, 2}),
             y = network.real("same", {1, 2}), z = network.real("same", {1, 2}), w = network.real("", {1, 2});
  network.operation(Kind::add, {x, c}, {y});
  network.operation(Kind::mul, {y, c}, {z});
  network.operation(Kind::relu, {z}, {w});
  network.model.inputs = {x};
  network.model.outputs = {w};
  static_cast<void>(unused);
  const Model real = float_network(network.model);
  CHECK(names(real) == std::vector<std::string>{"x", "c", "same", "same_3", "tensor", "c of op1"});
  CHECK(real.operations[1].inputs == std::vector<std::int32_t>{2, 5});
  CHECK(*real.tensors[5].constant == *real.tensors[1].constant);
}

TEST_CASE("float network: a constant divisor is a factor, of its own where another operation reads it too") {
  Network network;
  const auto x = network.real("x", {1, 2}), c = network.constant<float>("c", {1, 2}, {3, -4}), y = network.real("y", {1, 2}),
             z = network.real("z", {1, 2}), w = network.real("w", {1, 2});
  network.operation(Kind::div, {x, c}, {y});
  network.operation(Kind::mul, {y, c}, {z});
  network.operation(Kind::div, {z, x}, {w});
  network.model.inputs = {x};
  network.model.outputs = {w};
  const Model real = float_network(network.model);
  const auto constant = [&](std::size_t operation) { return *real.tensor(real.operations[operation].inputs[1]).constant; };
  CHECK(real.operations[0].kind == Kind::mul);
  CHECK(constant(0) == Tensor::from<float>({1, 2}, std::vector<float>{1.0F / 3, -0.25F}));
  CHECK(constant(1) == Tensor::from<float>({1, 2}, std::vector<float>{3, -4}));
  CHECK(real.operations[2].kind == Kind::div);
}

TEST_CASE("float network: of every seed network it gives what the network gives in float") {
  std::size_t compared = 0;
  const Backend golden = find_backend("float").backend;
  for (const auto& path : test::seeds("json_model_fuzz")) {
    INFO(path);
    const Model model = read_model(path);
    std::vector<Tensor> sample;
    for (const std::int32_t input : model.inputs) {
      Tensor& values = sample.emplace_back(ElementType::float32, model.tensor(input).shape);
      for (std::size_t i = 0; i < values.values<float>().size(); ++i) values.values<float>()[i] = 0.25F * static_cast<float>(i % 19) - 1.5F;
    }
    if (!check(model, golden).empty()) continue;
    if (std::ranges::any_of(model.operations, [](const Operation& operation) { return is_of_blocks(operation.kind); })) {
      CHECK_THROWS_AS(float_network(model), Error);
      continue;
    }
    const Model real = float_network(model);
    CHECK(real.states.size() == model.states.size());
    const Trace a = run(model, golden, sample), b = run(real, golden, sample);
    for (std::size_t o = 0; o < model.outputs.size(); ++o) {
      CHECK(*a.tensors[static_cast<std::size_t>(model.outputs[o])] == *b.tensors[static_cast<std::size_t>(real.outputs[o])]);
      ++compared;
    }
  }
  CHECK(compared >= 30);
}

TEST_CASE("calibration: ranges over all samples, the same for any number of threads; constants are included") {
  Network network;
  const auto x = network.real("x", {1, 2}), c = network.constant<float>("c", {1, 2}, {-8, 2}), y = network.real("y", {1, 2});
  network.operation(Kind::add, {x, c}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const std::vector<std::vector<Tensor>> samples{{row({1, 2})}, {row({-1, 0.5F})}, {row({3, 3})}};
  const Calibration one = calibrate(network.model, samples, 4);
  const auto range = [](const TensorStatistics& statistics) { return std::vector<double>{statistics.min, statistics.max}; };
  CHECK(range(one.tensors[0]) == std::vector<double>{-1, 3});
  CHECK(range(one.tensors[1]) == std::vector<double>{-8, 2});
  CHECK(range(one.tensors[2]) == std::vector<double>{-9, 5});
  CHECK(one.tensors[0].values == 6);
  CHECK(one.tensors[0].histogram.counts == std::vector<std::int64_t>{1, 1, 1, 3});  // -1 | .5 | 1 | 2 3 3
  CHECK(one.tensors[2].histogram.counts == std::vector<std::int64_t>{2, 1, 0, 3});  // -9 -7 | -5 | | 2.5 4 5
  const Calibration three = calibrate(network.model, samples, 4, 3);
  for (std::size_t t = 0; t < 3; ++t) {
    CHECK(range(three.tensors[t]) == range(one.tensors[t]));
    CHECK(three.tensors[t].histogram.counts == one.tensors[t].histogram.counts);
    CHECK(three.tensors[t].magnitudes.counts == one.tensors[t].magnitudes.counts);
  }
}

TEST_CASE("calibration: what is not finite is refused where it comes in, and counted where it arises") {
  Network network = relu_network();
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  const auto refused = [&](const std::vector<std::vector<Tensor>>& samples) {
    return test::refusal_of([&] { static_cast<void>(calibrate(network.model, samples, 4)); }).value().message;
  };
  CHECK(refused({{row({0, 0, 0, 0})}, {row({0, 0, nan, 0})}}) == "sample 1, input 'x': value 2 is NaN");
  CHECK(refused({{row({infinity, 0, 0, 0})}}) == "sample 0, input 'x': value 0 is infinite");
  CHECK(refused({{row({0, 0, 0})}}) == "sample 0, input 'x': shape 1x3; 1x4 is needed");
  CHECK(refused({{}}) == "sample 0: 0 tensors; the model has 1 input");
  CHECK(refused({{Tensor(ElementType::int8, {1, 4})}}) == "sample 0, input 'x': int8; float32 is needed");

  const auto c = network.constant<float>("c", {1, 4}, {1, 2, 3, 3e38F}), z = network.real("z", {1, 4});
  network.operation(Kind::add, {1, c}, {z});
  network.model.outputs = {z};
  const Calibration calibration = calibrate(network.model, std::vector<std::vector<Tensor>>{{row({0, 0, 0, 3e38F})}}, 4);
  CHECK(calibration.tensors[3].non_finite == 1);
  CHECK(calibration.tensors[3].max == 3);
  network.model.tensors[2].constant.edit().values<float>()[1] = nan;
  CHECK(refused({{row({0, 0, 0, 0})}}) == "constant 'c': value 1 is NaN");
}

TEST_CASE("report: levels, clipped share, cosine, sqnr and loss of a case worked out by hand") {
  const Network real = relu_network();
  Network device;
  const auto x = device.tensor("x", ElementType::int8, {1, 4}, half), y = device.tensor("y", ElementType::int8, {1, 4}, half);
  device.operation(Kind::relu, {x}, {y});
  device.model.inputs = {x};
  device.model.outputs = {y};
  // Codes of x: 2, -3 (-1.4 / .5 = -2.8), 127 (64 would be 128: half a step beyond 127.5 would be needed for clipping: 128 > 127.5), 0;
  // and 127 (63.7 is 127.4: not beyond), 1 (.25 / .5 is a tie, away from zero), 2, 2.
  const std::vector<std::vector<Tensor>> samples{{row({1, -1.4F, 64, 0})}, {row({63.7F, 0.25F, 1, 1})}};
  const Calibration calibration = calibrate(real.model, samples, 4);
  const QuantizationReport report = quality_of(real.model, calibration, device.model, find_backend("tflite_double"), samples);
  REQUIRE(report.tensors.size() == 2);
  const TensorQuality &in = report.tensors[0], &out = report.tensors[1];
  CHECK(in.name == "x");
  CHECK(in.operation == "input");
  CHECK(in.type == "int8");
  CHECK(in.values == 8);
  CHECK(in.levels_used == 5);  // -3 0 1 2 127
  CHECK(in.clipped_share == 1.0 / 8);
  CHECK(in.min == Approx(-1.4));
  CHECK(in.max == 64);
  const double noise = 0.1 * 0.1 + 0.5 * 0.5 + 0.2 * 0.2 + 0.25 * 0.25;
  const double power = 1 + 1.4 * 1.4 + 64 * 64 + 63.7 * 63.7 + 0.25 * 0.25 + 1 + 1;
  CHECK(in.sqnr_db == Approx(10 * std::log10(power / noise)).epsilon(1e-5));
  const double products = 1 + 1.5 * 1.4 + 63.5 * 64 + 63.5 * 63.7 + 0.5 * 0.25 + 1 + 1;
  const double mine = 1 + 1.5 * 1.5 + 63.5 * 63.5 * 2 + 0.25 + 1 + 1;
  CHECK(in.cosine == Approx(products / std::sqrt(mine * power)).epsilon(1e-7));
  // 64 at code 127.5 is a step of 64 / 127.5, with noise of step^2 / 12: the tie and the two hundredths beyond cost the rest.
  CHECK(in.lost_db == Approx(10 * std::log10(power / 8 / (128.0 / 255 * 128 / 255 / 12)) - in.sqnr_db).epsilon(1e-5));

  CHECK(out.operation == "relu");
  CHECK(out.levels_used == 4);
  CHECK(out.clipped_share == 1.0 / 8);
  CHECK(out.events.outputs == 8);
  CHECK(out.sqnr_db == Approx(10 * std::log10((power - 1.4 * 1.4) / (noise - 0.1 * 0.1))).epsilon(1e-5));
  CHECK(out.lost_db == Approx(std::max(0.0, in.sqnr_db - out.sqnr_db)));
  CHECK(report.samples == 2);
  REQUIRE(report.outputs.size() == 1);
  CHECK(report.outputs[0].same_top == 2);
  CHECK(report.backend == "tflite_double");
}

TEST_CASE("report: an operation is not blamed for what its type cannot hold") {
  Network real, device;
  const Quantization coarse{{1}, {0}, 0};
  for (Network* network : {&real, &device}) {
    const auto type = network == &real ? ElementType::float32 : ElementType::int8;
    const auto x = network->tensor("x", type, {1, 4}, network == &real ? Quantization{} : half);
    const auto y = network->tensor("y", type, {1, 4}, network == &real ? Quantization{} : coarse);
    network->operation(Kind::relu, {x}, {y});
    network->model.inputs = {x};
    network->model.outputs = {y};
  }
  const std::vector<std::vector<Tensor>> samples{{row({0.5F, 10, 20, 30})}};  // exact in steps of 0.5, not in steps of 1
  const QuantizationReport report =
      quality_of(real.model, calibrate(real.model, samples, 4), device.model, find_backend("tflite_double"), samples);
  CHECK(std::isinf(report.tensors[0].sqnr_db));
  CHECK(report.tensors[1].sqnr_db == Approx(10 * std::log10(1400.25 / 0.25)));
  CHECK(report.tensors[1].lost_db == Approx(6.02 * 8 + 1.76 - report.tensors[1].sqnr_db));
}

TEST_CASE("report: an input of two levels is the culprit, not the tables that hand its loss on") {
  Network network;
  const auto x = network.real("x", {1, 4}),
             w = network.constant<float>("w", {4, 4}, {1, 0.5F, 0.25F, 0, 0, 1, 0.5F, 0.25F, 0.25F, 0, 1, 0.5F, 0.5F, 0.25F, 0, 1}),
             sums = network.real("sums", {1, 4}), y = network.real("y", {1, 4});
  network.operation(Kind::fully_connected, {x, w, absent_tensor}, {sums});
  network.operation(Kind::relu, {sums}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  std::vector<std::vector<Tensor>> samples;
  for (int i = 0; i < 16; ++i) samples.push_back({row({0.9F, -0.05F * static_cast<float>(i), 0.03F * static_cast<float>(i), 0.45F})});
  const auto report = [&](const char* factor) {
    return quantize(network.model, find_backend("gna2"), samples, {{"input_scale_factor", factor}}).report;
  };
  const QuantizationReport coarse = report("1");
  REQUIRE(coarse.tensors[0].name == "x");
  CHECK(coarse.tensors[0].levels_used == 3);  // -1, 0, 1
  CHECK(coarse.tensors[0].lost_db > 60);
  for (std::size_t i = 1; i < coarse.tensors.size(); ++i) {
    INFO(coarse.tensors[i].name);
    CHECK(coarse.tensors[i].lost_db < 3);
  }
  CHECK(to_text(coarse).find("dB in input 'x', 3 codes used") != std::string::npos);
  CHECK(report("16384").tensors[0].lost_db < 10);
}

TEST_CASE("report: at most 100 columns, and the worst operations named") {
  QuantizationReport report;
  report.backend = "somewhere";
  report.quantizer = "somehow";
  report.samples = 1;
  for (int i = 0; i < 8; ++i) {
    TensorQuality tensor;
    tensor.name = "a_rather_long_name_of_a_tensor_of_a_network_" + std::to_string(i);
    tensor.operation = "conv2d";
    tensor.type = "int8";
    tensor.min = -1.2345e-12;
    tensor.max = 9.8765e12;
    tensor.quantization = {{1e-12, 2e-12}, {-128, -128}, 0};
    tensor.levels_used = 65536;
    tensor.clipped_share = 0.99999;
    tensor.sqnr_db = -12.34;
    tensor.lost_db = 2.5 + i;
    report.tensors.push_back(tensor);
  }
  for (int i = 0; i < 40; ++i) report.options["option" + std::to_string(i)] = "value";
  report.notes.push_back("a note of many words " + std::string(60, 'x') + " " + std::string(60, 'y') + " " + std::string(30, 'z'));
  report.assumptions.push_back({"rule", std::string(90, 'g') + " because of " + std::string(90, 'h')});
  const std::string text = to_text(report);
  std::size_t start = 0, marked = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; start = end + 1, end = text.find('\n', start)) {
    INFO(text.substr(start, end - start));
    CHECK(end - start <= 100);
    if (text.substr(start, end - start).ends_with(" <")) ++marked;
  }
  CHECK(marked == 5);
  CHECK(text.find("9.5 dB in conv2d") < text.find("8.5 dB in conv2d"));
  CHECK(text.find("4.5 dB in conv2d") == std::string::npos);
}

TEST_CASE("quantize: a wrong option, no quantiser, no sample") {
  const Network network = relu_network();
  const std::vector<std::vector<Tensor>> samples{{row({1, 2, 3, 4})}};
  const auto refused = [&](const char* backend, const QuantizerOptions& options, std::span<const std::vector<Tensor>> given) {
    const auto refusal = test::refusal_of([&] { static_cast<void>(quantize(network.model, find_backend(backend), given, options)); });
    REQUIRE(refusal);
    CHECK(refusal->is_one_line());
    return refusal->message;
  };
  CHECK(refused("tflite_double", {{"dat", "int8"}}, samples) ==
        "option dat=int8: quantiser int8 has the options data, weights, dense, range, percentile; did you mean 'data'?");
  CHECK(refused("tflite_double", {{"data", "int4"}}, samples) == "option data=int4: allowed: int8, int16; did you mean 'int8' or 'int16'?");
  CHECK(refused("tflite_double", {{"percentile", "101"}}, samples) == "option percentile=101: a number above 0, at most 100");
  CHECK(refused("tflite_double", {}, {}) == "calibration: at least one sample is needed");
  CHECK(refused("float", {}, samples).starts_with("backend float: no quantiser prepares a network for it; one does for: "));
}

TEST_CASE("quantize: what the device lacks is named") {
  Network network;
  const auto x = network.real("x", {1, 2, 2, 1}), y = network.real("y", {1});
  network.model.operations.push_back({Kind::mean, "average", {x}, {y}, MeanAttributes{{1, 2, 3}, false}});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const std::vector<std::vector<Tensor>> samples{{Tensor::from<float>({1, 2, 2, 1}, std::vector<float>{1, 2, 3, 4})}};
  CHECK(test::refusal_of([&] { static_cast<void>(quantize(network.model, find_backend("onnxruntime"), samples)); })->message ==
        "mean 'y': the backend has no mean");
}

TEST_CASE("every seed network can be quantised for every device that has a quantiser, or is refused in one line") {
  std::size_t quantised = 0, refused = 0;
  for (const auto& path : test::seeds("json_model_fuzz")) {
    const Model model = read_model(path);
    std::vector<Tensor> sample;
    for (const std::int32_t input : model.inputs) {
      Tensor& values = sample.emplace_back(ElementType::float32, model.tensor(input).shape);
      for (std::size_t i = 0; i < values.values<float>().size(); ++i) values.values<float>()[i] = 0.1F * static_cast<float>(i % 19) - 0.7F;
    }
    for (const SpecSheet& sheet : builtin_backends()) {
      if (sheet.quantizer.empty()) continue;
      INFO(path << " on " << sheet.name);
      const auto refusal = test::refusal_of([&] {
        const QuantizationResult result = quantize(model, sheet, std::vector<std::vector<Tensor>>{sample});
        validate(result.model, "quantised");
        CHECK(check(result.model, sheet.backend).empty());
        ++quantised;
      });
      if (!refusal) continue;
      CHECK(refusal->is_one_line());
      ++refused;
    }
  }
  CHECK(quantised > refused);
}

TEST_CASE("digits: quantised from float, at most one per cent of the answers is lost") {
  const auto folder = test::source_directory() / "examples/digits";
  const Model model = read_model(folder / "model.json");
  const Tensor images = read_npy(folder / "test_images.npy"), labels = read_npy(folder / "test_labels.npy");
  const auto right = [&](const Model& network, const Backend& backend, const Tensor& input) {
    const Trace trace = run(network, backend, {&input, 1});
    const auto answers = top_positions(*trace.tensors[static_cast<std::size_t>(network.outputs[0])], 10);
    return std::inner_product(answers.begin(), answers.end(), labels.values<std::int64_t>().begin(), 0, std::plus<>(), std::equal_to<>());
  };
  const int in_float = right(model, find_backend("float").backend, images);
  const Model real = float_network(model);
  std::vector<std::vector<Tensor>> samples;
  const Tensor real_images = dequantized(images, model.tensor(model.inputs[0]).quantization);
  for (std::int64_t i = 0; i < 60; ++i) {
    const auto values = real_images.values<float>().subspan(static_cast<std::size_t>(i) * 64, 64);
    samples.push_back({Tensor::from<float>({1, 8, 8, 1}, values)});
  }
  for (const char* backend : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime", "vipnano_v8", "vipnano_v7"}) {
    for (const char* range : {"max", "percentile", "mse", "kl"}) {
      INFO(backend << " " << range);
      const SpecSheet sheet = find_backend(backend);
      const QuantizationResult result = quantize(real, sheet, samples, {{"range", range}});
      CHECK(right(result.model, sheet.backend, real_images) >= in_float - 3);  // of 360
    }
  }
}
