// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// N2D2's post-training quantisation, against figures worked out by hand from its procedure.
#include <cmath>
#include <random>

#include "lastbit/arith/multiplier.hpp"
#include "lastbit/backends/n2d2_scaling.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;
using lastbit::test::Network;

namespace {

using Kind = OperationKind;

QuantizationResult quantised(const Network& network, const std::vector<std::vector<float>>& samples, const std::string& backend,
                             const QuantizerOptions& options = {}) {
  std::vector<std::vector<Tensor>> tensors;
  for (const std::vector<float>& sample : samples)
    tensors.push_back({Tensor::from<float>(network.model.tensor(network.model.inputs[0]).shape, sample)});
  return quantize(network.model, find_backend(backend), tensors, options);
}

const ModelTensor& find(const Model& model, const std::string& name) { return model.tensor(model.find_tensor(name).value()); }

template <class T>
std::vector<T> codes(const Model& model, const std::string& name) {
  const auto values = find(model, name).constant.value().values<T>();
  return {values.begin(), values.end()};
}

double effective(const Model& model, std::size_t operation, std::size_t channel = 0) {
  const Operation& layer = model.operations[operation];
  return effective_scale(ScaleArithmetic::f64, model.tensor(layer.inputs[0]).quantization.scale(),
                         model.tensor(layer.inputs[1]).quantization.scale(channel), model.tensor(layer.outputs[0]).quantization.scale());
}

/// x of 2 values -> fully connected -> y of 3, y = (1.1, -0.45, 0.375) for x = (1, 0.5).
Network dense(const OutputBounds& bounds = {}) {
  Network network;
  const auto x = network.real("x", {1, 2}), y = network.real("y", {1, 3});
  const auto w = network.constant<float>("w", {3, 2}, {1, 0, 0, -0.5F, 0.25F, 0.25F}),
             b = network.constant<float>("b", {3}, {0.1F, -0.2F, 0});
  network.operation(Kind::fully_connected, {x, w, b}, {y}, FullyConnectedAttributes{bounds});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}
const std::vector<std::vector<float>> unit{{1, 0.5F}};
const QuantizerOptions whole_range{{"clipping", "none"}};

/// What the model makes of x = (1, 0.5) on a backend.
std::vector<double> outputs_of(const Model& model, const std::string& backend) {
  const Tensor input = Tensor::from<float>({1, 2}, std::vector<float>{1, 0.5F});
  const auto index = static_cast<std::size_t>(model.outputs[0]);
  const Tensor codes = *run(model, find_backend(backend).backend, {{input}}).tensors[index];
  std::vector<double> values;
  for (std::int64_t i = 0; i < codes.element_count(); ++i)
    values.push_back(static_cast<double>(codes.integer_at(i)) * model.tensors[index].quantization.scale());
  return values;
}

bool mentions(const std::vector<std::string>& notes, const std::string& text) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) { return note.find(text) != std::string::npos; });
}

std::string refusal(const Network& network, const std::string& backend) {
  try {
    static_cast<void>(quantised(network, unit, backend));
  } catch (const Error& error) {
    return error.what();
  }
  return "no refusal";
}

}  // namespace

TEST_CASE("n2d2 single shift: scale 1 / (255 * 1.1), shift 8, weights and bias times 0.91265") {
  const QuantizationResult result = quantised(dense(), unit, "n2d2_single_shift", whole_range);
  const Model& model = result.model;
  CHECK(find(model, "x").type == ElementType::uint8);
  CHECK(std::abs(find(model, "x").quantization.scale() * 255 - 1) < 1e-6);
  CHECK(find(model, "y").type == ElementType::int8);
  CHECK(std::abs(find(model, "y").quantization.scale() * 127 / 1.1 - 1) < 1e-6);
  CHECK(codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{116, 0, 0, -58, 29, 29});
  CHECK(codes<std::int32_t>(model, "b") == std::vector<std::int32_t>{2956, -5911, 0});
  CHECK(std::abs(effective(model, 0) * 256 - 1) < 1e-12);
  CHECK(mentions(result.report.notes, "shift 8, weights x 0.912"));
}

TEST_CASE("n2d2 double shift and factors: the weights keep their resolution") {
  const auto scale = static_cast<double>(1 / 255.0 / 1.1);
  const Model twice = quantised(dense(), unit, "n2d2_double_shift", whole_range).model;
  const n2d2::DoubleShift expected = n2d2::double_shift_for(scale);
  CHECK(std::abs(effective(twice, 0) / (std::ldexp(1.0, -expected.first) + std::ldexp(1.0, -expected.second)) - 1) < 1e-12);
  for (const char* backend : {"n2d2_fixed_mult16", "n2d2_fixed_mult32", "n2d2_float_mult"}) {
    INFO(backend);
    const Model model = quantised(dense(), unit, backend, whole_range).model;
    CHECK(codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{127, 0, 0, -64, 32, 32});
    CHECK(codes<std::int32_t>(model, "b") == std::vector<std::int32_t>{3238, -6477, 0});  // 3238.5 less what float32 makes of 1/255
    CHECK(std::abs(effective(model, 0) / scale - 1) < 2e-5);
  }
  CHECK(effective(quantised(dense(), unit, "n2d2_float_mult", whole_range).model, 0) == n2d2::printed_factor(scale));
}

TEST_CASE("n2d2: behind a rectifier codes are unsigned; 4 bits have bounds of their own; 16 bits a 64-bit bias") {
  const OutputBounds rectified{.activation = Activation::relu};
  const Model eight = quantised(dense(rectified), unit, "n2d2_fixed_mult16", whole_range).model;
  CHECK(find(eight, "y").type == ElementType::uint8);
  CHECK(std::abs(find(eight, "y").quantization.scale() * 255 / 1.1 - 1) < 1e-6);
  QuantizerOptions four = whole_range, sixteen = whole_range;
  four["bits"] = "4";
  sixteen["bits"] = "16";
  const Model small = quantised(dense(rectified), unit, "n2d2_fixed_mult16", four).model;
  CHECK(codes<std::int8_t>(small, "w") == std::vector<std::int8_t>{7, 0, 0, -4, 2, 2});
  CHECK(std::get<FullyConnectedAttributes>(small.operations[0].attributes).bounds.clamp == IntegerRange{0, 15});
  const Model large = quantised(dense(rectified), unit, "n2d2_single_shift", sixteen).model;
  CHECK(find(large, "x").type == ElementType::uint16);
  CHECK(find(large, "w").type == ElementType::int16);
  CHECK(find(large, "b").type == ElementType::int64);
  const std::vector<double> found = outputs_of(large, "n2d2_single_shift");
  CHECK(std::abs(found[0] - 1.1) < 1e-3);
  CHECK(found[1] == 0);
  CHECK(std::abs(found[2] - 0.375) < 1e-3);
}

TEST_CASE("n2d2: with 16 bits a fixed factor takes 32 of the sum's bits, so that 65535 * 32767 wraps; the simulator's does not") {
  QuantizerOptions options = whole_range;
  options["bits"] = "16";
  const Model model = quantised(dense({.activation = Activation::relu}), unit, "n2d2_fixed_mult32", options).model;
  CHECK(codes<std::int16_t>(model, "w") == std::vector<std::int16_t>{32767, 0, 0, -16384, 8192, 8192});
  CHECK(outputs_of(model, "n2d2_fixed_mult32")[0] == 0);
  CHECK(std::abs(outputs_of(model, "n2d2_simulator_fixed_mult32")[0] - 1.1) < 1e-3);
}

TEST_CASE("n2d2 weights per output: no limit below a tenth of the layer's, or below 0.1") {
  QuantizerOptions options = whole_range;
  options["weights"] = "output";
  const Model model = quantised(dense(), unit, "n2d2_fixed_mult16", options).model;
  CHECK(codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{127, 0, 0, -127, 127, 127});
  REQUIRE(find(model, "w").quantization.scales.size() == 3);
  const double ratio = find(model, "w").quantization.scales[0] / find(model, "w").quantization.scales[1];
  CHECK(std::abs(ratio - 2) < 1e-3);
}

TEST_CASE("n2d2 branches: scaled to the wider range before they join; a sum cannot make up for its shift") {
  Network network;
  const auto x = network.real("x", {1, 2}), a = network.real("a", {1, 3}), b = network.real("b", {1, 3}), y = network.real("y", {1, 3});
  const auto wa = network.constant<float>("wa", {3, 2}, {1, 0, 0, -0.5F, 0.25F, 0.25F});
  const auto wb = network.constant<float>("wb", {3, 2}, {2, 1, 1, 0.5F, 0.25F, 1});
  network.operation(Kind::fully_connected, {x, wa}, {a});
  network.operation(Kind::fully_connected, {x, wb}, {b});
  network.operation(Kind::add, {a, b}, {y}, ElementwiseAttributes{{.activation = Activation::relu}, false});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const QuantizationResult result = quantised(network, unit, "n2d2_single_shift", whole_range);
  const Model& model = result.model;
  REQUIRE(model.operations.size() == 4);
  CHECK(model.operations[2].kind == Kind::requantize);
  CHECK(model.operations[3].kind == Kind::add_n);
  CHECK(find(model, "a for op2").quantization == find(model, "b").quantization);
  CHECK(find(model, "y").type == ElementType::uint8);
  // b reaches 2.5, a step of 2.5/127; the sum 3.5, a step of 3.5/255: their quotient 1.4342 is above 1, and a factor takes the shift's place.
  CHECK(mentions(result.report.notes, "'op2': scale 1.4342, 23498 / 2^14"));
  const Tensor input = Tensor::from<float>({1, 2}, std::vector<float>{1, 0.5F});
  const Tensor sum = *run(model, find_backend("n2d2_single_shift").backend, {{input}}).tensors[static_cast<std::size_t>(model.outputs[0])];
  CHECK(std::abs(static_cast<double>(sum.integer_at(0)) - 255) <= 6);
}

TEST_CASE("n2d2 sums: one shift for a scale below one half leaves codes that are too large, and the report says by how much") {
  Network network;
  const auto x = network.real("x", {1, 2}), y = network.real("y", {1, 3});
  std::vector<std::int32_t> branches;
  for (const char* name : {"a", "b", "c"}) {
    branches.push_back(network.real(name, {1, 3}));
    const auto w = network.constant<float>(std::string("w") + name, {3, 2}, {1, 0, 0, 0.5F, 0.25F, 0.25F});
    network.operation(Kind::fully_connected, {x, w}, {branches.back()}, FullyConnectedAttributes{{.activation = Activation::relu}});
  }
  network.operation(Kind::add_n, branches, {y}, ElementwiseAttributes{{.activation = Activation::relu}, false});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const QuantizationResult result = quantised(network, unit, "n2d2_single_shift", whole_range);
  REQUIRE(result.model.operations.size() == 4);  // the branches have one scale: nothing to bring together
  CHECK(
      mentions(result.report.notes, "'op3': scale 0.333333, shift 1, weights x 0.666667; a sum has none: its codes are too large by 1.5"));
}

TEST_CASE("n2d2: what the export cannot do is refused by name") {
  Network network = dense();
  const auto z = network.real("z", {1, 3});
  network.operation(Kind::logistic, {network.model.outputs[0]}, {z});
  network.model.outputs = {z};
  CHECK(refusal(network, "n2d2_single_shift").find("logistic 'op1': N2D2's export has no kernel for it") != std::string::npos);
  Network loud;
  const auto x = loud.real("x", {1, 2}), y = loud.real("y", {1, 1});
  const auto w = loud.constant<float>("w", {1, 2}, {1, -2});
  loud.operation(Kind::fully_connected, {x, w}, {y});
  loud.model.inputs = {x};
  loud.model.outputs = {y};
  CHECK(refusal(loud, "n2d2_single_shift") == "no refusal");
}

TEST_CASE("n2d2: a softmax at the end is left to the host, a rectifier joins its layer") {
  Network network = dense();
  const auto r = network.real("r", {1, 3}), p = network.real("p", {1, 3});
  network.operation(Kind::relu, {network.model.outputs[0]}, {r});
  network.operation(Kind::softmax, {r}, {p});
  network.model.outputs = {p};
  const QuantizationResult result = quantised(network, unit, "n2d2_fixed_mult16", whole_range);
  REQUIRE(result.model.operations.size() == 1);
  CHECK(result.model.tensor(result.model.outputs[0]).name == "r");
  CHECK(result.model.tensor(result.model.outputs[0]).type == ElementType::uint8);
  CHECK(mentions(result.report.notes, "softmax 'op2' is left to the host"));
}

TEST_CASE("n2d2 thresholds: an outlier is cut off by least error and by a quantile, not by the largest magnitude") {
  Network network;
  const auto x = network.real("x", {1, 4}), y = network.real("y", {1, 4});
  const auto w = network.constant<float>("w", {4, 4}, {1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1});
  network.operation(Kind::fully_connected, {x, w}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  std::mt19937 random(3);
  std::vector<std::vector<float>> samples;
  for (int i = 0; i < 2000; ++i) {
    auto& sample = samples.emplace_back();
    for (int j = 0; j < 4; ++j) sample.push_back(static_cast<float>(static_cast<int>(random() % 2001) - 1000) / 1000.0F);
  }
  samples[7][2] = 8;
  const auto threshold = [&](const std::string& clipping) {
    QuantizerOptions options{{"clipping", clipping}, {"quantile", "0.99"}};
    return find(quantised(network, samples, "n2d2_fixed_mult16", options).model, "y").quantization.scale() * 127;
  };
  CHECK(std::abs(threshold("none") - 8) < 1e-6);
  CHECK(std::abs(threshold("quantile") - 0.99) < 0.02);
  const double least = threshold("mse");
  CHECK(least < 8);
  CHECK(least > 1);
  const double divergence = threshold("kl");
  CHECK(divergence < 4);
  CHECK(divergence > 0.9);
}
