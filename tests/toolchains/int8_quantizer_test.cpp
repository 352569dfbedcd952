// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// TFLite's integer quantisation, against values worked out by hand (powers of two, so that every quotient is exact).
#include <cmath>

#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"

using namespace lastbit;
using lastbit::test::Network;

namespace {

using Kind = OperationKind;

Tensor vector_of(const std::vector<float>& values) { return Tensor::from<float>({1, static_cast<std::int64_t>(values.size())}, values); }

Model quantised(const Network& network, const std::vector<std::vector<float>>& samples, const QuantizerOptions& options = {},
                const char* backend = "tflite_double") {
  std::vector<std::vector<Tensor>> tensors;
  for (const std::vector<float>& sample : samples) {
    tensors.push_back({vector_of(sample)});
    tensors.back()[0].reshape(network.model.tensor(network.model.inputs[0]).shape);
  }
  return quantize(network.model, find_backend(backend), tensors, options).model;
}

const ModelTensor& find(const Model& model, std::string_view name) { return model.tensor(model.find_tensor(name).value()); }

template <class T>
std::vector<T> codes(const Model& model, const std::string& name) {
  const auto values = find(model, name).constant.value().values<T>();
  return {values.begin(), values.end()};
}

/// x -> reshape -> y: x has the data's range and nothing else.
Network passing(std::int64_t size) {
  Network network;
  const auto x = network.real("x", {1, size}), y = network.real("y", {size});
  network.operation(Kind::reshape, {x}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}

/// x of 2 values in [-1, 127/128] (scale 1/128, zero point 0) -> fully connected with 2 channels -> y.
Network dense(const std::vector<float>& weights, const std::vector<float>& bias) {
  Network network;
  const auto x = network.real("x", {1, 2}), w = network.constant<float>("w", {2, 2}, weights), b = network.constant<float>("b", {2}, bias),
             y = network.real("y", {1, 2});
  network.operation(Kind::fully_connected, {x, w, b}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}
const std::vector<std::vector<float>> unit_samples{{-1, 127.0F / 128}};

}  // namespace

TEST_CASE("int8 data: the range holds zero, and zero is exact") {
  struct Case {
    const char* what;
    float min, max, scale;
    std::int64_t zero_point;
  };
  const Case cases[] = {
      {"zero inside", -32, 223, 1, -96},
      {"symmetric but for one code", -1, 127.0F / 128, 1.0F / 128, 0},
      {"all positive: from zero", 3, 51, 51.0F / 255, -128},
      {"all negative: to zero", -51, -3, 51.0F / 255, 127},
      {"tie of the zero point: -128 + 0.5 away from zero", -0.5F, 254.5F, 1, -128},
      {"tie of the zero point: 0.5 away from zero", -128.5F, 126.5F, 1, 1},
  };
  for (const Case& c : cases) {
    INFO(c.what);
    const Model model = quantised(passing(2), {{c.min, c.max}});
    const ModelTensor& x = find(model, "x");
    CHECK(x.type == ElementType::int8);
    CHECK(x.quantization == Quantization{{double{c.scale}}, {c.zero_point}, 0});
    CHECK(find(model, "y").quantization == x.quantization);
  }
}

TEST_CASE("report: what rounds to the lowest or the highest code is not clipped") {
  const Network network = passing(2);
  const auto share = [&](float min, float max) {
    const std::vector<std::vector<Tensor>> samples{{vector_of({min, max})}};
    return quantize(network.model, find_backend("tflite_double"), samples).report.tensors.at(0).clipped_share;
  };
  CHECK(share(-32.25F, 222.75F) == 0);  // scale 1, zero point -96: -128.25 and 126.75
  CHECK(share(-31.75F, 223.25F) == 0);  // -127.75 and 127.25
}

TEST_CASE("int8 data: nothing but zeros still has a scale") {
  const Model model = quantised(passing(2), {{0, 0}});
  CHECK(find(model, "x").quantization == Quantization{{double{1e-6F / 255}}, {-128}, 0});
}

TEST_CASE("int16 data: symmetric, 64-bit bias at the product of the scales") {
  const Model model = quantised(dense({64, 127, -1, 0}, {1, -1}), {{-32767.0F / 4096, 1}}, {{"data", "int16"}});
  CHECK(find(model, "x").type == ElementType::int16);
  CHECK(find(model, "x").quantization == Quantization{{1.0 / 4096}, {0}, 0});
  CHECK(find(model, "w").type == ElementType::int8);
  CHECK(find(model, "b").type == ElementType::int64);
  CHECK(codes<std::int64_t>(model, "b") == std::vector<std::int64_t>{4096, -4096});
}

TEST_CASE("int8 data of a device that has zero point 0 alone: symmetric, whatever the range rule and the values") {
  const SpecSheet gemmini = find_backend("gemmini");
  REQUIRE(gemmini.backend.coding == Coding::symmetric);
  Network network = dense({127, -64.5F, 63.5F, 0.49F}, {0.5F, -1.0F / 256});
  network.model.operations[0].attributes = FullyConnectedAttributes{{.activation = Activation::relu}};
  for (const char* range : {"max", "percentile", "mse", "kl"}) {
    INFO(range);
    const Model model = quantised(network, {{127, 3}, {1, 2}}, {{"range", range}}, "gemmini");
    for (const ModelTensor& tensor : model.tensors) CHECK(tensor.quantization.zero_point() == 0);
    CHECK(check(model, gemmini.backend).empty());
  }
  const Model all = quantised(network, {{127, 3}}, {}, "gemmini");
  CHECK(find(all, "x").quantization == Quantization{{1}, {0}, 0});
  CHECK(codes<std::int32_t>(all, "b") == std::vector<std::int32_t>{1, 0});  // half away from zero, at scale 1
  const Model lowest = quantised(network, {{-254, 3}}, {}, "gemmini");
  CHECK(find(lowest, "x").quantization == Quantization{{2}, {0}, 0});
}

TEST_CASE("int8 weights: symmetric in +-127, half away from zero, per tensor or channel") {
  const Network network = dense({127, -64.5F, 63.5F, 0.49F}, {0, 0});
  const Model tensor = quantised(network, unit_samples);
  CHECK(find(tensor, "w").quantization == Quantization{{1}, {0}, 0});
  CHECK(codes<std::int8_t>(tensor, "w") == std::vector<std::int8_t>{127, -65, 64, 0});
  const Model channel = quantised(network, unit_samples, {{"dense", "channel"}});
  CHECK(find(channel, "w").quantization == Quantization{{1, 0.5}, {0, 0}, 0});
  CHECK(codes<std::int8_t>(channel, "w") == std::vector<std::int8_t>{127, -65, 127, 1});
}

TEST_CASE("int8 weights: convolutions per output channel, depthwise along their last axis") {
  Network network;
  const auto x = network.real("x", {1, 1, 2, 2}), w = network.constant<float>("w", {2, 1, 1, 2}, {127, 1, 254, 3}),
             y = network.real("y", {1, 1, 2, 2}), d = network.constant<float>("d", {1, 1, 1, 2}, {127, 254}),
             z = network.real("z", {1, 1, 2, 2});
  network.operation(Kind::conv2d, {x, w}, {y});
  network.operation(Kind::depthwise_conv2d, {y, d}, {z});
  network.model.inputs = {x};
  network.model.outputs = {z};
  const Model channel = quantised(network, {{-1, 1, 2, 3}});
  CHECK(find(channel, "w").quantization == Quantization{{1, 2}, {0, 0}, 0});
  CHECK(codes<std::int8_t>(channel, "w") == std::vector<std::int8_t>{127, 1, 127, 2});  // 3 / 2 away from zero
  CHECK(find(channel, "d").quantization == Quantization{{1, 2}, {0, 0}, 3});
  const Model tensor = quantised(network, {{-1, 1, 2, 3}}, {{"weights", "tensor"}});
  CHECK(find(tensor, "w").quantization == Quantization{{2}, {0}, 0});
  CHECK(codes<std::int8_t>(tensor, "w") == std::vector<std::int8_t>{64, 1, 127, 2});  // 63.5, 0.5, 127, 1.5
}

TEST_CASE("int32 bias: at input scale times weight scale, half away from zero") {
  const Model model = quantised(dense({127, 0, 0, 1}, {0.5F, -1.0F / 256}), unit_samples);
  const ModelTensor& bias = find(model, "b");
  CHECK(bias.type == ElementType::int32);
  CHECK(bias.quantization == Quantization{{1.0 / 128}, {0}, 0});
  CHECK(codes<std::int32_t>(model, "b") == std::vector<std::int32_t>{64, -1});
}

TEST_CASE("int32 bias: takes half of the 32 bits at most, the weights' scale gives way") {
  const Network network = dense({0, 0, 127, 1}, {1, 1});
  std::vector<std::vector<Tensor>> samples{{vector_of(unit_samples[0])}};
  const QuantizationResult result = quantize(network.model, find_backend("tflite_double"), samples, {{"dense", "channel"}});
  const std::vector<std::int32_t> bias = codes<std::int32_t>(result.model, "b");
  CHECK(std::abs(bias[0] - (1 << 30)) <= 128);  // float32 on the way
  CHECK(bias[1] == 128);
  CHECK(find(result.model, "w").quantization.scales[1] == 1);
  CHECK(find(result.model, "w").quantization.scales[0] == Approx(std::ldexp(128, -30)));
  REQUIRE(result.report.notes.size() == 1);
  CHECK(result.report.notes[0] == "'op0': in 1 channels the bias, not the weights, sets the weights' scale");
}

TEST_CASE("int8 ties: what is joined, pooled or moved has one quantisation over the common range") {
  Network network;
  const auto x = network.real("x", {1, 2, 2, 1}), a = network.real("a", {1, 2, 2, 1}),
             b = network.constant<float>("b", {1, 2, 2, 1}, {-9, 1, 1, 9}), both = network.real("both", {1, 2, 2, 2}),
             pooled = network.real("pooled", {1, 1, 1, 2}), flat = network.real("flat", {1, 2});
  Pool2dAttributes pool;
  pool.filter = {2, 2};
  network.operation(Kind::relu, {x}, {a});
  network.operation(Kind::concat, {a, b}, {both}, ConcatAttributes{3, Activation::none});
  network.operation(Kind::average_pool2d, {both}, {pooled}, pool);
  network.operation(Kind::reshape, {pooled}, {flat});
  network.model.inputs = {x};
  network.model.outputs = {flat};
  const Model model = quantised(network, {{-1, 2, 3, 16.5F}});
  const Quantization common{{double{25.5F / 255}}, {-38}, 0};  // [-9, 16.5]: -128 + 90
  for (const char* name : {"a", "b", "both", "pooled", "flat"}) {
    INFO(name);
    CHECK(find(model, name).quantization == common);
  }
  CHECK(codes<std::int8_t>(model, "b") == std::vector<std::int8_t>{-128, -28, -28, 52});
  CHECK(find(model, "x").quantization != common);
}

TEST_CASE("int8 fixed scales: softmax, logistic, tanh; joined only after requantisation") {
  Network network;
  const auto x = network.real("x", {1, 2}), s = network.real("s", {1, 2}), l = network.real("l", {1, 2}), t = network.real("t", {1, 2}),
             moved = network.real("moved", {2, 1}), both = network.real("both", {1, 6});
  network.operation(Kind::softmax, {x}, {s});
  network.operation(Kind::logistic, {x}, {l});
  network.operation(Kind::tanh, {x}, {t});
  network.operation(Kind::reshape, {s}, {moved});
  network.operation(Kind::concat, {s, l, t}, {both}, ConcatAttributes{1, Activation::none});
  network.model.inputs = {x};
  network.model.outputs = {both, moved};
  const Model model = quantised(network, {{-1, 2}});
  CHECK(find(model, "s").quantization == Quantization{{1.0 / 256}, {-128}, 0});
  CHECK(find(model, "moved").quantization == find(model, "s").quantization);
  CHECK(find(model, "l").quantization == find(model, "s").quantization);
  CHECK(find(model, "t").quantization == Quantization{{1.0 / 128}, {0}, 0});
  REQUIRE(model.operations.size() == 8);
  for (const char* name : {"s for op4", "l for op4", "t for op4"}) {
    INFO(name);
    CHECK(find(model, name).quantization == find(model, "both").quantization);
  }
  const Model wide = quantised(network, {{-1, 2}}, {{"data", "int16"}});
  for (const char* name : {"s", "l", "t"}) CHECK(find(wide, name).quantization == Quantization{{1.0 / 32768}, {0}, 0});
}

TEST_CASE("int8 bounds and padding become codes of the output") {
  Network network;
  const auto x = network.real("x", {1, 2}), padded = network.real("padded", {1, 4}), w = network.constant<float>("w", {1, 4}, {1, 1, 1, 1}),
             y = network.real("y", {1, 1});
  network.operation(Kind::pad, {x}, {padded}, PadAttributes{{{0, 0}, {1, 1}}, std::nullopt, 0.5});
  network.operation(Kind::fully_connected, {padded, w}, {y},
                    FullyConnectedAttributes{{Activation::none, std::nullopt, std::array<float, 2>{-100, 0.25F}}});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const Model model = quantised(network, {{-1, 127.0F / 128}, {-1, -1}});
  CHECK(std::get<PadAttributes>(model.operations[0].attributes).value == 64);  // 0.5 * 128
  CHECK(!std::get<PadAttributes>(model.operations[0].attributes).real_value);
  const auto& bounds = std::get<FullyConnectedAttributes>(model.operations[1].attributes).bounds;
  CHECK(!bounds.real_clamp);
  CHECK(bounds.clamp == IntegerRange{-128, 127});  // [-1, 0.25] is the range seen: 0.25 is its last code
}

TEST_CASE("int8 range rules: an outlier in ten thousand values") {
  constexpr std::size_t count = 10000;
  Network network = passing(count);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 100) / 100;
  values[17] = 50;
  const auto scale = [&](const QuantizerOptions& options) {
    const Model model = quantised(network, {values}, options);
    return find(model, "x").quantization.scale() * 255;
  };
  CHECK(scale({}) == Approx(50));
  CHECK(scale({{"range", "percentile"}, {"percentile", "99.9"}}) < 1.1);
  CHECK(scale({{"range", "percentile"}, {"percentile", "100"}}) == Approx(50));
  CHECK(scale({{"range", "kl"}}) < 10);
  // 10000 values, squared error s^2 / 12 each, against (50 - T)^2 once: T = 50 * 127 / 128 would save 10000 * (50 / 255)^2 / 12 * 2 / 128 =
  // 0.5 at a cost of 0.15, so some is clipped, but not much.
  CHECK(scale({{"range", "mse"}}) < 50);
  CHECK(scale({{"range", "mse"}}) > 45);
}
