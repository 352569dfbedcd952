// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Proofs of whole layers against the emulator: at the width that is said to be safe nothing overflows, one bit below it the input that is
// handed out does. The emulator counts; nothing of the proof is used to check it.
#include <algorithm>
#include <cmath>
#include <random>

#include "analysis/prove/ranges.hpp"
#include "lastbit/error.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"

using namespace lastbit;

namespace {

Tensor random_tensor(ElementType type, const Shape& shape, std::mt19937& random, int bits) {
  Tensor tensor(type, shape);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const int low = std::is_signed_v<T> ? -(1 << (bits - 1)) : 0;
      for (T& value : tensor.values<T>()) value = static_cast<T>(low + static_cast<int>(random() % (1U << bits)));
    }
  });
  return tensor;
}

/// Every value at one end of its type, at random.
Tensor extreme_tensor(ElementType type, const Shape& shape, std::mt19937& random) {
  Tensor tensor(type, shape);
  const IntegerRange range = range_of(type);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      for (T& value : tensor.values<T>()) value = static_cast<T>(random() % 2 == 0 ? range.min : range.max);
    }
  });
  return tensor;
}

/// A layer and the rules that hold its width.
struct BoundedLayer {
  std::string name;
  Model model;
  std::string backend;
  std::string width;  ///< rule
};

ModelTensor int8_tensor(const std::string& name, const Shape& shape, std::int64_t zero_point, Constant constant = {}) {
  return {name, ElementType::int8, shape, {{0.05}, {zero_point}, 0}, std::move(constant)};
}

BoundedLayer convolution(std::mt19937& random, OperationKind kind, const Shape& input, const Shape& weights, const Shape& output,
                         const Conv2dAttributes& attributes, const std::string& backend, const std::string& width) {
  BoundedLayer layer{std::string(name_of(kind)), {}, backend, width};
  const std::int64_t channels = kind == OperationKind::depthwise_conv2d ? weights.back() : weights[0];
  Tensor bias(ElementType::int32, {channels});
  for (std::int32_t& value : bias.values<std::int32_t>()) value = static_cast<std::int32_t>(random() % 20000) - 10000;
  layer.model.tensors = {int8_tensor("x", input, -5),
                         int8_tensor("w", weights, 0, random_tensor(ElementType::int8, weights, random, 8)),
                         {"b", ElementType::int32, {channels}, {{0.0025}, {0}, 0}, bias},
                         int8_tensor("y", output, 3)};
  layer.model.operations = {{kind, "layer", {0, 1, 2}, {3}, attributes}};
  layer.model.inputs = {0};
  layer.model.outputs = {3};
  validate(layer.model, "test");
  return layer;
}

Conv2dAttributes windows(Extent2d stride, Extent2d dilation, PaddingMode mode) {
  Conv2dAttributes attributes;
  attributes.stride = stride;
  attributes.dilation = dilation;
  attributes.padding.mode = mode;
  return attributes;
}

std::vector<BoundedLayer> layers(unsigned seed) {
  std::mt19937 random(seed);
  using enum OperationKind;
  std::vector<BoundedLayer> all{
      convolution(random, conv2d, {1, 5, 4, 2}, {3, 3, 3, 2}, {1, 5, 4, 3}, windows({1, 1}, {1, 1}, PaddingMode::same), "tflite_double",
                  "conv.i8.accumulator.bits"),
      convolution(random, conv2d, {1, 7, 7, 2}, {2, 3, 2, 2}, {1, 2, 3, 2}, windows({2, 2}, {2, 1}, PaddingMode::valid), "vipnano_v8",
                  "conv.i8.accumulator.bits"),
      convolution(random, depthwise_conv2d, {1, 4, 5, 3}, {1, 3, 3, 6}, {1, 2, 3, 6}, windows({2, 2}, {1, 1}, PaddingMode::same),
                  "tflite_double", "depthwise_conv.i8.accumulator.bits"),
      convolution(random, transposed_conv2d, {1, 3, 3, 2}, {2, 3, 3, 2}, {1, 6, 6, 2}, windows({2, 2}, {1, 1}, PaddingMode::same),
                  "tflite_double", "transposed_conv.i8.accumulator.bits"),
  };
  BoundedLayer dense{"fully_connected", {}, "onnxruntime", "fully_connected.i8.accumulator.bits"};
  dense.model.tensors = {int8_tensor("x", {3, 12}, 7), int8_tensor("w", {5, 12}, 0, random_tensor(ElementType::int8, {5, 12}, random, 8)),
                         int8_tensor("y", {3, 5}, 0)};
  dense.model.operations = {{fully_connected, "layer", {0, 1}, {2}, FullyConnectedAttributes{}}};
  dense.model.inputs = {0};
  dense.model.outputs = {2};
  validate(dense.model, "test");
  all.push_back(dense);
  return all;
}

Tensor one_code(std::int64_t code) {
  Tensor tensor(ElementType::int8, {1, 1});
  tensor.values<std::int8_t>()[0] = static_cast<std::int8_t>(code);
  return tensor;
}

/// One product of an input and a weight, whose chain narrows the sum to 16 bits, or shifts it up by an exponent of the layer.
struct OneProduct {
  OneProduct(std::int64_t weight, double out_scale, const Chain& chain) {
    model.tensors = {{"x", ElementType::int8, {1, 1}, {{1.0}, {0}, 0}, {}},
                     {"w", ElementType::int8, {1, 1}, {{1.0}, {0}, 0}, one_code(weight)},
                     {"y", ElementType::int8, {1, 1}, {{out_scale}, {0}, 0}, {}}};
    model.operations = {{OperationKind::fully_connected, "layer", {0, 1}, {2}, FullyConnectedAttributes{}}};
    model.inputs = {0};
    model.outputs = {2};
    validate(model, "test");
    sheet = find_backend("tflite_double");
    if (!chain.empty()) sheet.backend.fully_connected.i8.sum.output.chain = chain;
  }

  /// On all inputs.
  [[nodiscard]] Events events() const {
    Events all;
    for (int code = -128; code < 128; ++code) {
      const std::vector<Tensor> inputs{one_code(code)};
      all += run(model, sheet.backend, inputs, {.count_events = true}).events[0];
    }
    return all;
  }

  Model model;
  SpecSheet sheet;
};

std::int64_t overflows(const BoundedLayer& layer, int bits, const std::vector<Tensor>& inputs) {
  Backend backend = find_backend(layer.backend).backend;
  set_rule(backend, layer.width, std::to_string(bits));
  return run(layer.model, backend, inputs, {.count_events = true}).events[0].accumulator_overflows;
}

LayerProof proof_of(const BoundedLayer& layer, int bits) {
  ProveReport report = prove(layer.model, find_backend(layer.backend), {}, {.bits = bits});
  REQUIRE(report.layers.size() == 1);
  return report.layers[0];
}

}  // namespace

TEST_CASE("prove: at the width said to be safe no input overflows, one bit below it the example does") {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    std::mt19937 random(seed);
    for (const BoundedLayer& layer : layers(seed)) {
      INFO(layer.name << ", seed " << seed);
      const int bits = proof_of(layer, 32).bits();
      REQUIRE(proof_of(layer, bits).safe());
      const ModelTensor& input = layer.model.tensor(0);
      for (int repeat = 0; repeat < 30; ++repeat) REQUIRE(overflows(layer, bits, {extreme_tensor(input.type, input.shape, random)}) == 0);
      const LayerProof below = proof_of(layer, bits - 1);
      REQUIRE_FALSE(below.safe());
      REQUIRE(below.example);
      REQUIRE(below.example->inputs.size() == 1);
      REQUIRE(bits_for({below.example->sum, below.example->sum}) == bits);
      REQUIRE(overflows(layer, bits - 1, below.example->inputs) == below.example->counted);
      REQUIRE(below.example->counted > 0);
      REQUIRE(overflows(layer, bits, below.example->inputs) == 0);
    }
  }
}

TEST_CASE("prove: with every extreme input of a small image, each channel's bound is reached and never passed") {
  // 3x3 pixels of one channel: 512 inputs; borders of every kind.
  struct Case {
    Extent2d stride;
    PaddingMode mode;
    std::int64_t low, high;  // a range that does not hold the zero point makes borders the worst places
  };
  for (const Case& one :
       {Case{{1, 1}, PaddingMode::same, -128, 127}, Case{{1, 1}, PaddingMode::valid, -128, 127}, Case{{2, 2}, PaddingMode::same, -128, 127},
        Case{{1, 1}, PaddingMode::same, 10, 20}, Case{{1, 1}, PaddingMode::same, -100, -40}}) {
    std::mt19937 random(static_cast<unsigned>(one.high + 500));
    const std::int64_t out = one.mode == PaddingMode::valid ? 2 : one.stride.height == 2 ? 2 : 3;
    const BoundedLayer layer = convolution(random, OperationKind::conv2d, {1, 3, 3, 1}, {4, 2, 2, 1}, {1, out, out, 4},
                                           windows(one.stride, {1, 1}, one.mode), "vipnano_v8", "conv.i8.accumulator.bits");
    std::vector<Tensor> all(1, Tensor(ElementType::int8, {512, 1, 3, 3, 1}));
    for (std::size_t i = 0; i < 512 * 9; ++i)
      all[0].values<std::int8_t>()[i] = static_cast<std::int8_t>((i / 9 >> i % 9 & 1U) != 0 ? one.high : one.low);
    const ProveReport report = prove(layer.model, find_backend(layer.backend), all, {.range = InputRange::data});
    REQUIRE(report.samples == 512);
    REQUIRE(report.layers[0].inputs == IntegerRange{one.low, one.high});
    const auto weights = layer.model.tensor(1).constant->values<std::int8_t>();
    const auto biases = layer.model.tensor(2).constant->values<std::int32_t>();
    for (std::int64_t o = 0; o < 4; ++o) {
      const auto bias = std::int64_t{biases[static_cast<std::size_t>(o)]};
      std::int64_t least = bias, most = bias;
      for (std::int64_t sample = 0; sample < 512; ++sample) {
        for (std::int64_t place = 0; place < out * out; ++place) {
          std::int64_t sum = bias;
          for (std::int64_t tap = 0; tap < 4; ++tap) {
            const std::int64_t y = place / out * one.stride.height + tap / 2, x = place % out * one.stride.width + tap % 2;
            if (y > 2 || x > 2) continue;  // 2x2 windows are padded below and on the right only
            const std::int64_t code = (sample >> (y * 3 + x) & 1) != 0 ? one.high : one.low;
            sum += (code + 5) * weights[static_cast<std::size_t>(o * 4 + tap)];
            least = std::min(least, sum);
            most = std::max(most, sum);
          }
        }
      }
      const SumRange found = report.layers[0].channels[static_cast<std::size_t>(o)].sums;
      CHECK(found == SumRange{least, most});
    }
  }
}

TEST_CASE("prove: overflows on data are counted, with the place and the step of the first") {
  const BoundedLayer layer = layers(3)[0];
  const int bits = proof_of(layer, 32).bits() - 2;
  std::mt19937 random(99);
  std::vector<Tensor> inputs;
  for (int tries = 0; tries < 200; ++tries) {
    inputs = {extreme_tensor(ElementType::int8, {1, 5, 4, 2}, random)};
    if (overflows(layer, bits, inputs) > 0) break;
  }
  const LayerProof proof = prove(layer.model, find_backend(layer.backend), inputs, {.bits = bits}).layers[0];
  REQUIRE(proof.on_data);
  REQUIRE(proof.on_data->events == overflows(layer, bits, inputs));
  REQUIRE(proof.on_data->events > 0);
  REQUIRE(proof.on_data->sums == 60);
  REQUIRE(proof.on_data->first);
  REQUIRE(bits_for({proof.on_data->first->sum, proof.on_data->first->sum}) > bits);
  REQUIRE(proof.on_data->first->step <= proof.on_data->first->terms + 1);
  // The exact sum of the first overflowing output, by hand, up to that step.
  const std::int64_t index = proof.on_data->first->index, o = index % 3, x = index / 3 % 4, y = index / 12;
  const auto weights = layer.model.tensor(1).constant->values<std::int8_t>();
  std::int64_t sum = 0, step = 0;
  for (std::int64_t tap = 0; tap < 18 && step < proof.on_data->first->step; ++tap) {
    const std::int64_t iy = y + tap / 6 - 1, ix = x + tap / 2 % 3 - 1, c = tap % 2;
    if (iy < 0 || iy > 4 || ix < 0 || ix > 3) continue;
    sum += (inputs[0].integer_at((iy * 4 + ix) * 2 + c) + 5) * weights[static_cast<std::size_t>(o * 18 + tap)];
    ++step;
  }
  if (step < proof.on_data->first->step) sum += layer.model.tensor(2).constant->values<std::int32_t>()[static_cast<std::size_t>(o)];
  REQUIRE(proof.on_data->first->sum == sum);
}

TEST_CASE("prove: what a layer's clamp lets through is what the next layer is proven for") {
  BoundedLayer first = layers(5)[0];
  Model& model = first.model;
  std::get<Conv2dAttributes>(model.operations[0].attributes).bounds.activation = Activation::relu6;
  std::mt19937 random(4);
  model.tensors.push_back(int8_tensor("w2", {2, 1, 1, 3}, 0, random_tensor(ElementType::int8, {2, 1, 1, 3}, random, 8)));
  model.tensors.push_back(int8_tensor("z", {1, 5, 4, 2}, 0));
  model.operations.push_back({OperationKind::conv2d, "second", {3, 4}, {5}, Conv2dAttributes{}});
  model.outputs = {5};
  const SpecSheet sheet = find_backend("vipnano_v8");
  const ProveReport report = prove(model, sheet, {});
  REQUIRE(report.layers.size() == 2);
  REQUIRE(report.layers[0].inputs == IntegerRange{-128, 127});
  REQUIRE(report.layers[1].inputs == IntegerRange{3, 3 + 120});  // relu6 at a scale of 0.05
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Trace trace = run(model, sheet.backend, std::vector{extreme_tensor(ElementType::int8, {1, 5, 4, 2}, random)}, {.keep_all = true});
    for (std::int64_t i = 0; i < 60; ++i) {
      REQUIRE(trace.tensors[3]->integer_at(i) >= report.layers[1].inputs.min);
      REQUIRE(trace.tensors[3]->integer_at(i) <= report.layers[1].inputs.max);
    }
  }
  for (const char* layer : {"second", "z", "1"}) {
    const ProveReport only = prove(model, sheet, {}, {.layer = layer});
    REQUIRE(only.layers.size() == 1);
    REQUIRE(only.layers[0].inputs == report.layers[1].inputs);
  }
  REQUIRE_THROWS_AS(prove(model, sheet, {}, {.layer = "third"}), Error);
  REQUIRE_THROWS_AS(prove(model, sheet, {}, {.range = InputRange::data}), Error);
  REQUIRE_THROWS_AS(prove(model, sheet, {}, {.bits = 1}), Error);
  REQUIRE_THROWS_AS(prove(model, find_backend("float"), {}), Error);
}

TEST_CASE("prove: a layer of a constant is followed on data like any other") {
  BoundedLayer layer = layers(6)[0];
  std::mt19937 random(1);
  layer.model.tensors[0].constant = extreme_tensor(ElementType::int8, {1, 5, 4, 2}, random);
  layer.model.tensors.push_back(int8_tensor("other", {1, 5, 4, 3}, 3));
  layer.model.tensors.push_back(int8_tensor("sum", {1, 5, 4, 3}, 3));
  layer.model.operations.push_back({OperationKind::add, "add", {3, 4}, {5}, ElementwiseAttributes{}});
  layer.model.inputs = {4};
  layer.model.outputs = {5};
  validate(layer.model, "test");
  const std::vector<Tensor> inputs{extreme_tensor(ElementType::int8, {1, 5, 4, 3}, random)};
  const ProveReport report = prove(layer.model, find_backend(layer.backend), inputs, {.bits = 12});
  REQUIRE(report.layers.size() == 2);
  REQUIRE(report.layers[0].on_data);
  REQUIRE(report.layers[0].on_data->events == overflows(layer, 12, inputs));
  REQUIRE(report.layers[0].example);
  REQUIRE(report.layers[0].example->inputs.empty());  // a constant cannot be chosen
}

TEST_CASE("prove: bounds behind merged pairs are those of the codes that the device holds") {
  std::mt19937 random(7);
  const auto weights = [&](const std::string& name) {
    return int8_tensor(name, {4, 4}, 0, random_tensor(ElementType::int8, {4, 4}, random, 8));
  };
  FullyConnectedAttributes rectified;
  rectified.bounds.activation = Activation::relu;
  for (const bool moves : {false, true}) {
    INFO(moves);
    Model model;
    model.name = "merged";
    model.tensors = {int8_tensor("x", {1, 4}, -5), weights("v"), int8_tensor("t", {1, 4}, 10),
                     int8_tensor("u", {1, 4}, 10), weights("w"), int8_tensor("y", {1, 4}, 0)};
    model.tensors[2].merged = Quantization{{0.05}, {-40}, 0};
    model.operations = {{OperationKind::fully_connected, "first", {0, 1}, {2}, rectified},
                        {OperationKind::reshape, "moved", {2}, {3}, default_attributes(OperationKind::reshape)},
                        {OperationKind::fully_connected, "second", {moves ? 3 : 2, 4}, {5}, FullyConnectedAttributes{}}};
    model.inputs = {0};
    model.outputs = {3, 5};
    validate(model, "test");
    const SpecSheet sheet = find_backend("onnxruntime");
    const IntegerRange proven = prove(model, sheet, {}).layers.at(1).inputs;
    IntegerRange seen{127, -128};
    for (int repeat = 0; repeat < 50; ++repeat) {
      const std::vector<Tensor> input{extreme_tensor(ElementType::int8, {1, 4}, random)};
      const Trace trace = run(model, sheet.backend, input, {.keep_all = true});
      const Tensor& codes = *trace.tensors[moves ? 3 : 2];
      for (std::int64_t i = 0; i < codes.element_count(); ++i)
        seen = {std::min(seen.min, codes.integer_at(i)), std::max(seen.max, codes.integer_at(i))};
    }
    CHECK(seen.min == (moves ? 10 : -40));
    CHECK(proven.min <= seen.min);
    CHECK(proven.max >= seen.max);
  }
}

TEST_CASE("prove: a stage behind the sum that wraps is found where an input does it, and only there") {
  const Chain narrowed{stage::multiply(), stage::shift_right(Rounding::floor), stage::narrow_to(12, Overflow::wrap), stage::clamp()};
  std::int64_t wrapping = 0, quiet = 0;
  for (const Chain& chain : {Chain{}, narrowed}) {
    for (const std::int64_t weight : {-128, -127, -16, -1, 0, 1, 3, 64, 127}) {
      for (int exponent = -24; exponent <= 2; ++exponent) {
        const OneProduct layer(weight, std::ldexp(1.0, exponent), chain);
        INFO("weight " << weight << ", output scale 2^" << exponent << ", chain of " << int{chain.size});
        const ProveReport report = prove(layer.model, layer.sheet, {});
        const std::int64_t events = layer.events().wrapped_stages;
        REQUIRE(report.not_followed.empty());
        REQUIRE(report.behind.empty() == (events == 0));
        REQUIRE(report.safe() == (events == 0));
        ++(events == 0 ? quiet : wrapping);
        if (events == 0) continue;
        const StageProof& stage = report.behind[0];
        CHECK(stage.wraps);
        CHECK(stage.counted == 1);
        REQUIRE(stage.inputs.size() == 1);
        CHECK(run(layer.model, layer.sheet.backend, stage.inputs, {.count_events = true}).events[0].wrapped_stages == 1);
        CHECK(stage.narrowed == narrow(stage.value, stage.bits, Overflow::wrap));
      }
    }
  }
  CHECK(wrapping > 50);
  CHECK(quiet > 50);
}

TEST_CASE("prove: a sum that 16 bits hold no more wraps behind the accumulator that holds it") {
  OneProduct layer(127, 1, {stage::narrow_to(14, Overflow::wrap), stage::multiply(), stage::shift_right(Rounding::floor), stage::clamp()});
  const ProveReport report = prove(layer.model, layer.sheet, {});
  REQUIRE(report.layers.size() == 1);
  CHECK(report.layers[0].safe());  // of 32 bits
  REQUIRE(report.behind.size() == 1);
  CHECK_FALSE(report.safe());
  const StageProof& stage = report.behind[0];
  CHECK(stage.stage == "narrow 14 bits wrap");
  CHECK(stage.values == SumRange{-128 * 127, 127 * 127});
  CHECK(stage.entering == 127 * 127);
  CHECK(stage.narrowed == 127 * 127 - 16384);
  CHECK(to_text(report).find("Behind them 1 stage can wrap, or saturate so that another value is delivered.") != std::string::npos);
  CHECK(to_json(report).find("\"stage\": \"narrow 14 bits wrap\"") != std::string::npos);
}

TEST_CASE("prove: a stage that saturates counts where another value is delivered, and not where the bounds of the output would do it") {
  struct Case {
    Chain chain;
    double out_scale;
    bool is_found;
  };
  const std::vector<Case> cases{
      {{stage::multiply(), stage::shift_right(Rounding::floor), stage::narrow_to(8, Overflow::saturate), stage::clamp()}, 1, false},
      {{stage::multiply(), stage::shift_right(Rounding::floor), stage::narrow_to(7, Overflow::saturate), stage::clamp()}, 1, true},
      {{stage::narrow_to(12, Overflow::saturate), stage::multiply(), stage::shift_right(Rounding::floor), stage::clamp()}, 1, false},
      {{stage::narrow_to(12, Overflow::saturate), stage::multiply(), stage::shift_right(Rounding::floor), stage::clamp()}, 128, true},
  };
  for (const Case& one : cases) {
    const OneProduct layer(127, one.out_scale, one.chain);
    const ProveReport report = prove(layer.model, layer.sheet, {});
    INFO(report.behind.size() << " found, output scale " << one.out_scale);
    CHECK(layer.events().saturated_stages > 0);
    REQUIRE(report.behind.empty() != one.is_found);
    if (!one.is_found) continue;
    CHECK_FALSE(report.behind[0].wraps);
    CHECK(report.behind[0].counted == 1);
  }
}

TEST_CASE("prove: chains of operations without sums are followed too, and what is not followed is said") {
  Model model;
  model.tensors = {{"x", ElementType::int16, {4}, {{std::ldexp(1.0, 20)}, {0}, 0}, {}},
                   {"y", ElementType::int16, {4}, {{1.0}, {0}, 0}, {}}};
  model.operations = {{OperationKind::requantize, "layer", {0}, {1}, default_attributes(OperationKind::requantize)}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "test");
  const SpecSheet sheet = find_backend("tflite_double");
  const ProveReport report = prove(model, sheet, {});
  REQUIRE(report.behind.size() == 1);
  CHECK(report.behind[0].counted == 4);
  CHECK_FALSE(report.safe());
}
