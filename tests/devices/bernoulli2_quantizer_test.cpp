// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Horizon's quantisation against values worked out by hand, and the limits of the operator list.
#include <cmath>

#include "lastbit/quantizer.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/network.hpp"
#include "support/refusal.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

using Kind = OperationKind;

QuantizationResult quantised(const Model& model, const std::vector<Tensor>& samples,
                             const QuantizerOptions& options = {{"calibration", "max"}}, SpecSheet sheet = find_backend("bernoulli2")) {
  std::vector<std::vector<Tensor>> inputs;
  for (const Tensor& sample : samples) inputs.push_back({sample});
  return quantize(model, sheet, inputs, options);
}

const ModelTensor& find(const Model& model, const std::string& name) { return model.tensor(model.find_tensor(name).value()); }

template <class T>
std::vector<T> codes(const Model& model, const std::string& name) {
  const auto values = find(model, name).constant.value().values<T>();
  return {values.begin(), values.end()};
}

Tensor ramp(const Shape& shape, float largest) {
  Tensor tensor(ElementType::float32, shape);
  const auto values = tensor.values<float>();
  const auto last = static_cast<float>(values.size() - 1);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = largest * (2 * static_cast<float>(i) / last - 1);
  return tensor;
}

/// x -> kind -> y with one channel.
Network single(Kind kind, const Shape& in, const Shape& out, Attributes attributes) {
  Network network;
  const auto x = network.real("x", in), y = network.real("y", out);
  network.operation(kind, {x}, {y}, std::move(attributes));
  network.model.inputs = {x};
  network.model.outputs = {y};
  return network;
}

Network pool(Kind kind, std::int64_t side, std::int64_t filter) {
  Pool2dAttributes attributes;
  attributes.filter = {filter, filter};
  const std::int64_t left = kind == Kind::global_average_pool ? 1 : side - filter + 1;
  return single(kind, {1, side, side, 1}, {1, left, left, 1}, attributes);
}

std::string refused(const Network& network, const Shape& shape) {
  const auto refusal = refusal_of([&] { static_cast<void>(quantised(network.model, {ramp(shape, 1)})); });
  REQUIRE(refusal);
  return refusal->message;
}

}  // namespace

TEST_CASE("bernoulli2: weights per channel, data per tensor, scale = threshold / 127, bias in units of both") {
  Network network;
  const auto x = network.real("x", {1, 2}), w = network.constant<float>("w", {2, 2}, {127, -63.5F, 0.5F, 254}),
             b = network.constant<float>("b", {2}, {3, -1}), y = network.real("y", {1, 2});
  network.operation(Kind::fully_connected, {x, w, b}, {y});
  network.model.inputs = {x};
  network.model.outputs = {y};
  const Model model = quantised(network.model, {Tensor::from<float>({1, 2}, std::vector{31.75F, -1.0F})}).model;
  CHECK(find(model, "x").quantization == Quantization{{0.25}, {0}, 0});
  CHECK(find(model, "w").quantization == Quantization{{1, 2}, {0, 0}, 0});
  CHECK(codes<std::int8_t>(model, "w") == std::vector<std::int8_t>{127, -64, 0, 127});  // -63.5 and 0.25: half away, nearest
  CHECK(find(model, "b").quantization.scales == std::vector<double>{0.25, 0.5});
  CHECK(codes<std::int32_t>(model, "b") == std::vector<std::int32_t>{12, -2});
}

TEST_CASE("bernoulli2: the percentile leaves out what lies above it, max does not, and the default says which it took") {
  std::vector<float> values(4000, 0.5F);
  values[7] = 100;
  const Network network = single(Kind::relu, {1, 4000}, {1, 4000}, {});
  const Tensor sample = Tensor::from<float>({1, 4000}, values);
  const Model whole = quantised(network.model, {sample}).model;
  CHECK(find(whole, "x").quantization.scale() == double{static_cast<float>(100.0 / 127)});
  const Model most = quantised(network.model, {sample}, {{"calibration", "percentile"}, {"percentile", "0.999"}}).model;
  CHECK(find(most, "x").quantization.scale() < 0.6 / 127);
  const QuantizationResult chosen = quantised(network.model, {sample}, {});
  REQUIRE(chosen.report.notes.size() == 1);
  CHECK(chosen.report.notes[0].starts_with("calibration max by the cosine of the outputs on the first sample: max "));
}

TEST_CASE("bernoulli2: pools have a scale of their own, or the input's where the backend says so; max pools always share it") {
  SpecSheet shared = find_backend("bernoulli2");
  shared.backend.global_average_pool.output_scale = OutputScale::of_input;
  const Network average = pool(Kind::global_average_pool, 4, 1), largest = pool(Kind::max_pool2d, 4, 2);
  Tensor sample = ramp({1, 4, 4, 1}, 8);
  sample.values<float>()[15] = 4;
  const auto scales_of = [](const Model& model) {
    return std::pair(find(model, "x").quantization.scale(), find(model, "y").quantization.scale());
  };
  const auto own = scales_of(quantised(average.model, {sample}).model);
  CHECK(own.second < own.first / 10);
  const auto same = scales_of(quantised(average.model, {sample}, {{"calibration", "max"}}, shared).model);
  CHECK(same.first == same.second);
  const auto pooled = scales_of(quantised(largest.model, {sample}).model);
  CHECK(pooled.first == pooled.second);
}

TEST_CASE("bernoulli2: what exceeds the operator list is refused with the limit, and moved to the CPU on request") {
  CHECK(refused(pool(Kind::average_pool2d, 12, 8), {1, 12, 12, 1}).find("kernel 8x8, the BPU takes 1x1 to 7x7") != std::string::npos);
  CHECK(refused(pool(Kind::global_average_pool, 91, 1), {1, 91, 91, 1}).find("image height * width 8281, the BPU takes at most 8192") !=
        std::string::npos);
  CHECK_NOTHROW(quantised(pool(Kind::average_pool2d, 12, 7).model, {ramp({1, 12, 12, 1}, 1)}));
  CHECK_NOTHROW(quantised(pool(Kind::global_average_pool, 90, 1).model, {ramp({1, 90, 90, 1}, 1)}));
  const auto moved =
      quantised(pool(Kind::average_pool2d, 12, 8).model, {ramp({1, 12, 12, 1}, 1)}, {{"calibration", "max"}, {"unsupported", "cpu"}});
  CHECK(find(moved.model, "y").type == ElementType::float32);
  CHECK(find(moved.model, "x for the CPU").type == ElementType::float32);
  REQUIRE(moved.report.notes.size() == 1);
  CHECK(moved.report.notes[0].find("runs on the CPU in float: kernel 8x8") != std::string::npos);
}

TEST_CASE("bernoulli2: kernels, strides, dilations and padding of convolutions") {
  const auto convolution = [](Kind kind, Extent2d kernel, Conv2dAttributes attributes, const Shape& in, const Shape& out) {
    Network network;
    std::vector<float> ones(static_cast<std::size_t>(kernel.height * kernel.width), 1.0F);
    const auto x = network.real("x", in), w = network.constant<float>("w", {1, kernel.height, kernel.width, 1}, ones),
               y = network.real("y", out);
    network.operation(kind, {x, w}, {y}, attributes);
    network.model.inputs = {x};
    network.model.outputs = {y};
    return network;
  };
  CHECK(refused(convolution(Kind::conv2d, {9, 1}, {}, {1, 12, 12, 1}, {1, 4, 12, 1}), {1, 12, 12, 1}).find("kernel 9x1") !=
        std::string::npos);
  Conv2dAttributes dilated;
  dilated.dilation = {3, 3};
  CHECK(refused(convolution(Kind::conv2d, {2, 2}, dilated, {1, 8, 8, 1}, {1, 5, 5, 1}), {1, 8, 8, 1})
            .find("dilation 3x3, the BPU takes powers of two") != std::string::npos);
  CHECK(refused(convolution(Kind::transposed_conv2d, {2, 2}, {}, {1, 4, 4, 1}, {1, 5, 5, 1}), {1, 4, 4, 1})
            .find("stride 1x1, the BPU takes 2 and 4") != std::string::npos);
}

TEST_CASE("bernoulli2: softmax and named operations run on the CPU in float; an unknown name is refused") {
  Network network;
  const auto x = network.real("x", {1, 8}), e = network.real("e", {1, 8}), s = network.real("s", {1, 8}), r = network.real("r", {1, 8});
  network.operation(Kind::exp, {x}, {e});
  network.operation(Kind::softmax, {e}, {s});
  network.operation(Kind::relu, {s}, {r});
  network.model.inputs = {x};
  network.model.outputs = {r};
  const Tensor sample = ramp({1, 8}, 2);
  const Model model = quantised(network.model, {sample}).model;
  CHECK(find(model, "e").type == ElementType::int8);
  CHECK(find(model, "s").type == ElementType::float32);
  CHECK(find(model, "s for the BPU").type == ElementType::int8);
  CHECK(find(model, "r").type == ElementType::int8);
  const Model without = quantised(network.model, {sample}, {{"calibration", "max"}, {"cpu", "op0"}}).model;
  CHECK(find(without, "e").type == ElementType::float32);
  const auto refusal = refusal_of([&] { static_cast<void>(quantised(network.model, {sample}, {{"cpu", "Exp_474"}})); });
  REQUIRE(refusal);
  CHECK(refusal->says("no operation 'Exp_474'"));
}
