// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Hybrid layers: codes, products and whole layers against the definition written out here.
#include "lastbit/op/dynamic_sum.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rules.hpp"
#include "support/catch.hpp"
#include "support/hybrid_layer.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;
using Layer = HybridLayer;
using Made = MadeHybrid;
using enum OperationKind;

std::vector<int> codes_of(const DynamicInput& input, const std::vector<float>& values, Rounding rounding = Rounding::half_away,
                          ZeroPointAt zero_point = ZeroPointAt::before_rounding) {
  const DynamicArithmetic rule{DynamicCodes::by_layer, rounding, zero_point, DynamicProduct::scales_first};
  std::vector<int> codes;
  for (const float value : values) codes.push_back(static_cast<int>(centred_code(rule, input, value) + input.zero_point));
  return codes;
}

TEST_CASE("symmetric codes: the larger end is 127, ties by the rule") {
  struct Case {
    const char* name;
    std::vector<float> values;
    float scale;
    std::vector<int> codes;
  };
  const Case cases[] = {
      {"the positive end is the larger", {-63.5F, 0, 127}, 1, {-64, 0, 127}},
      {"the negative end is the larger; -128 is no code", {-127, 1, 100}, 1, {-127, 1, 100}},
      {"ties of both signs: half_away", {127, 0.5F, -0.5F, 2.5F, -2.5F}, 1, {127, 1, -1, 3, -3}},
      {"a value alone", {-3}, 3.0F / 127, {-127}},
      {"zeros, of both signs", {0, -0.0F}, 1, {0, 0}},
      {"one zero", {0}, 1, {0}},
      {"f = float(127 / r) beyond float32: the conversion's -2^31, bounded", {1e-38F, 0}, 1e-38F / 127, {-127, -127}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const DynamicInput input = symmetric_input(c.values);
    CHECK(input.scale == c.scale);
    CHECK(input.zero_point == 0);
    CHECK(codes_of(input, c.values) == c.codes);
  }
  const std::vector<float> ties{127, 0.5F, -0.5F, 2.5F};
  CHECK(codes_of(symmetric_input(ties), ties, Rounding::half_even) == std::vector<int>{127, 0, 0, 2});
}

TEST_CASE("the factor is float(127 / r), not the inverse of the scale") {
  int told = 0;
  for (int i = 1; i < 100; ++i) {
    const float r = 0.01F * static_cast<float>(i);
    const DynamicInput input = symmetric_input(std::vector{r});
    CHECK(input.factor == 127.0F / r);
    told += input.factor != 1.0F / input.scale;
  }
  CHECK(told > 10);
}

TEST_CASE("asymmetric codes: the zero point comes from the end that is nearer to exact") {
  struct Case {
    const char* name;
    std::vector<float> values;
    float scale;
    int zero_point;
    std::vector<int> codes;
  };
  const Case cases[] = {
      {"255 steps of 1: -128 - (-100)", {-100, 0, 155}, 1, -28, {-128, -28, 127}},
      {"positive only: zero is the lowest code", {51, 255}, 1, -128, {-77, 127}},
      {"negative only: zero is the highest code", {-255, -51}, 1, 127, {-128, 76}},
      {"a zero point at a tie: half_away, and what lies beyond is bounded", {-100.5F, 154.5F}, 1, -28, {-128, 127}},
      {"zeros", {0, -0.0F}, 1, 0, {0, 0}},
  };
  for (const Case& c : cases) {
    INFO(c.name);
    const DynamicInput input = asymmetric_input(c.values, Rounding::half_away);
    CHECK(input.scale == c.scale);
    CHECK(int(input.zero_point) == c.zero_point);
    CHECK(codes_of(input, c.values) == c.codes);
  }
  CHECK(asymmetric_input(std::vector{-100.5F, 154.5F}, Rounding::half_away).zero_point == -28);  // -27.5
  CHECK(asymmetric_input(std::vector{-100.5F, 154.5F}, Rounding::half_up).zero_point == -27);
}

TEST_CASE("a tie of x / scale rounds otherwise where the zero point joins before it") {
  const std::vector<float> values{-100, 0, 155, 2.5F, -2.5F};  // z = -28: -25.5 and -30.5 away from zero
  const DynamicInput input = asymmetric_input(values, Rounding::half_away);
  CHECK(codes_of(input, values) == std::vector<int>{-128, -28, 127, -26, -31});
  CHECK(codes_of(input, values, Rounding::half_away, ZeroPointAt::after_rounding) == std::vector<int>{-128, -28, 127, -25, -31});
}

TEST_CASE("the order of the products is part of the result") {
  std::mt19937 random(7);
  int told = 0;
  for (int i = 0; i < 10000; ++i) {
    const auto sum = static_cast<std::int32_t>(random() % 100000) - 50000;
    const float in = 0.001F * static_cast<float>(random() % 1000 + 1), weight = 0.0001F * static_cast<float>(random() % 1000 + 1),
                bias = 0.1F;
    const auto acc = static_cast<float>(sum);
    const float scales = in * weight, by_in = acc * in, by_weight = acc * weight;
    const float first = acc * scales, second = by_in * weight, third = by_weight * in;
    CHECK(dynamic_output(DynamicProduct::scales_first, sum, in, weight, bias) == first + bias);
    CHECK(dynamic_output(DynamicProduct::input_scale_first, sum, in, weight, bias) == second + bias);
    CHECK(dynamic_output(DynamicProduct::weight_scale_first, sum, in, weight, bias) == third + bias);
    told += first != second && second != third && first != third;
  }
  CHECK(told > 10);
}

TEST_CASE("a sum beyond 24 bits is rounded to float32 before it is multiplied") {
  CHECK(dynamic_output(DynamicProduct::scales_first, (1 << 24) + 1, 1, 1, 0) == 0x1p24F);
  CHECK(dynamic_output(DynamicProduct::scales_first, (1 << 24) + 3, 1, 1, 0) == 0x1p24F + 4);
}

// Whole layers, from the definition.

enum class Codes : std::uint8_t { symmetric, asymmetric };
enum class Order : std::uint8_t { scales_first, input_first, weight_first };

struct Wanted {
  Codes codes;
  Order order;
};

/// An image or a row as real codes: std::round is half_away, whatever the library does.
std::vector<int> wanted_codes(const float* x, std::size_t count, Codes codes, float& scale) {
  const float least = *std::min_element(x, x + count), most = *std::max_element(x, x + count);
  std::vector<int> centred(count, 0);
  scale = 1;
  if (codes == Codes::symmetric) {
    const float r = std::max(std::fabs(least), std::fabs(most));
    if (r == 0) return centred;
    scale = r / 127.0F;
    const float factor = 127.0F / r;
    for (std::size_t i = 0; i < count; ++i) centred[i] = std::clamp(static_cast<int>(std::round(x[i] * factor)), -127, 127);
    return centred;
  }
  const double low = std::min(least, 0.0F), high = std::max(most, 0.0F);
  if (low == high) return centred;
  const double step = (high - low) / 255.0;
  const double zero = 128.0 + std::fabs(low / step) < 127.0 + std::fabs(high / step) ? -128.0 - low / step : 127.0 - high / step;
  const int z = std::clamp(static_cast<int>(std::round(zero)), -128, 127);
  scale = static_cast<float>(step);
  const float factor = 1.0F / scale;
  for (std::size_t i = 0; i < count; ++i) {
    const float scaled = x[i] * factor;
    centred[i] = std::clamp(static_cast<int>(std::round(static_cast<float>(z) + scaled)), -128, 127) - z;
  }
  return centred;
}

float wanted_product(Order order, std::int64_t sum, float in, float weight) {
  const auto acc = static_cast<float>(static_cast<std::int32_t>(sum));
  volatile float first = order == Order::scales_first ? in * weight : order == Order::input_first ? acc * in : acc * weight;
  return order == Order::scales_first ? acc * first : order == Order::input_first ? first * weight : first * in;
}

float activated(Activation activation, float y) {
  if (activation == Activation::relu) return std::max(y, 0.0F);
  if (activation == Activation::relu6) return std::min(std::max(y, 0.0F), 6.0F);
  return activation == Activation::relu_n1_to_1 ? std::min(std::max(y, -1.0F), 1.0F) : y;
}

/// sum of codes times weights of output channel o at (oy, ox) of an image.
std::int64_t wanted_sum(const Layer& layer, const std::vector<int>& codes, std::span<const std::int8_t> w, std::int64_t oy, std::int64_t ox,
                        std::int64_t o) {
  if (layer.kind == fully_connected) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < layer.weights[1]; ++i)
      sum += codes[static_cast<std::size_t>(i)] * w[static_cast<std::size_t>(o * layer.weights[1] + i)];
    return sum;
  }
  const std::int64_t height = layer.input[1], width = layer.input[2], depth = layer.input[3], kw = layer.weights[2];
  const bool depthwise = layer.kind == depthwise_conv2d;
  const std::int64_t per_group = depthwise ? 1 : layer.weights[3], groups = depth / per_group, outputs = layer.output[3];
  std::int64_t sum = 0;
  for (std::int64_t ky = 0; ky < layer.weights[1]; ++ky)
    for (std::int64_t kx = 0; kx < kw; ++kx)
      for (std::int64_t i = 0; i < per_group; ++i) {
        const std::int64_t y = oy * layer.stride.height + ky * layer.dilation.height - layer.pad;
        const std::int64_t x = ox * layer.stride.width + kx * layer.dilation.width - layer.pad;
        if (y < 0 || y >= height || x < 0 || x >= width) continue;
        const std::int64_t channel = o / (outputs / groups) * per_group + i;
        const std::int64_t at = depthwise ? (ky * kw + kx) * outputs + o : ((o * layer.weights[1] + ky) * kw + kx) * per_group + i;
        sum += codes[static_cast<std::size_t>((y * width + x) * depth + channel)] * w[static_cast<std::size_t>(at)];
      }
  return sum;
}

std::vector<float> wanted_outputs(const Layer& layer, const Made& made, const Wanted& wanted) {
  const bool dense = layer.kind == fully_connected;
  const Operation& operation = made.model.operations[0];
  const ModelTensor& weights = made.model.tensor(operation.inputs[1]);
  const auto w = weights.constant->values<std::int8_t>();
  const std::int64_t images = dense ? layer.input.element_count() / layer.weights[1] : layer.input[0];
  const std::int64_t height = dense ? 1 : layer.output[1], width = dense ? 1 : layer.output[2], channels = layer.output.back();
  const auto size = static_cast<std::size_t>(layer.input.element_count() / images);
  std::vector<float> out;
  for (std::int64_t n = 0; n < images; ++n) {
    float in = 0;
    const std::vector<int> codes =
        wanted_codes(made.input.values<float>().data() + static_cast<std::size_t>(n) * size, size, wanted.codes, in);
    for (std::int64_t y = 0; y < height; ++y)
      for (std::int64_t x = 0; x < width; ++x)
        for (std::int64_t o = 0; o < channels; ++o) {
          const auto c = static_cast<std::size_t>(o);
          const auto scale = static_cast<float>(weights.quantization.scales[layer.scales == 1 ? 0 : c]);
          const float product = wanted_product(wanted.order, wanted_sum(layer, codes, w, y, x, o), in, scale);
          const float bias = layer.has_bias ? made.model.tensor(operation.inputs[2]).constant->values<float>()[c] : 0.0F;
          out.push_back(activated(layer.activation, product + bias));
        }
  }
  return out;
}

struct LayerCase {
  const char* name;
  const char* rules;
  Layer layer;
  Wanted wanted;
};

constexpr Wanted symmetric_codes{Codes::symmetric, Order::scales_first}, asymmetric_codes{Codes::asymmetric, Order::scales_first};

std::vector<LayerCase> layer_cases() {
  const Layer dense{.kind = fully_connected, .input = {1, 37}, .weights = {5, 37}, .output = {1, 5}};
  const Layer conv{.input = {1, 6, 5, 3}, .weights = {4, 3, 3, 3}, .output = {1, 4, 3, 4}};
  const auto with = [](Layer layer, auto change) {
    change(layer);
    return layer;
  };
  return {
      {"a row", "dynamic.fully_connected", dense, symmetric_codes},
      {"a row, relu6, no bias", "dynamic.fully_connected",
       with(dense, [](Layer& l) { l.activation = Activation::relu6, l.has_bias = false; }), symmetric_codes},
      {"four rows, the first zeros, a scale per output", "dynamic.fully_connected",
       with(dense,
            [](Layer& l) {
              l.input = {2, 2, 37}, l.output = {4, 5}, l.scales = 5;
            }),
       symmetric_codes},
      {"four rows, asymmetric", "dynamic.fully_connected",
       with(dense,
            [](Layer& l) {
              l.input = {4, 37}, l.output = {4, 5}, l.asks_asymmetric = true;
            }),
       asymmetric_codes},
      {"a row, asymmetric, a scale per output, relu", "dynamic.fully_connected",
       with(dense, [](Layer& l) { l.activation = Activation::relu, l.scales = 5, l.asks_asymmetric = true; }), asymmetric_codes},
      {"a convolution of one scale", "dynamic.conv", conv, symmetric_codes},
      {"three images, the first zeros, padded, strided", "dynamic.conv",
       with(conv,
            [](Layer& l) {
              l.input = {3, 6, 5, 3}, l.output = {3, 4, 3, 4}, l.stride = {2, 2}, l.pad = 1;
            }),
       symmetric_codes},
      {"a scale per channel: other codes; padding is the zero point", "dynamic.conv_per_channel",
       with(conv,
            [](Layer& l) {
              l.input = {2, 6, 5, 3}, l.output = {2, 4, 3, 4}, l.stride = {2, 2}, l.pad = 1, l.scales = 4;
            }),
       asymmetric_codes},
      {"dilated, relu_n1_to_1", "dynamic.conv_per_channel",
       with(conv,
            [](Layer& l) {
              l.dilation = {2, 1}, l.output = {1, 2, 3, 4}, l.scales = 4;
              l.activation = Activation::relu_n1_to_1;
            }),
       asymmetric_codes},
      {"two groups",
       "dynamic.conv_grouped",
       {.input = {1, 4, 4, 4}, .weights = {6, 3, 3, 2}, .output = {1, 2, 2, 6}, .scales = 6},
       {Codes::asymmetric, Order::weight_first}},
      {"depthwise, two outputs per channel, two images",
       "dynamic.depthwise_conv",
       {.kind = depthwise_conv2d, .input = {2, 5, 5, 3}, .weights = {1, 3, 3, 6}, .output = {2, 6, 6, 6}, .scales = 6, .pad = 1},
       {Codes::asymmetric, Order::input_first}},
  };
}

TEST_CASE("hybrid layers are what the definition gives, to the last bit") {
  const Backend& backend = find_backend("tflite_builtin_double").backend;
  for (const LayerCase& c : layer_cases()) {
    INFO(c.name);
    for (unsigned seed = 1; seed <= 20; ++seed) {
      const Made layer = made(c.layer, seed);
      CHECK(rule_prefixes(layer.model, layer.model.operations[0], backend) == std::vector<std::string>{c.rules});
      CHECK(outputs_of(layer, backend) == wanted_outputs(c.layer, layer, c.wanted));
    }
  }
}

TEST_CASE("scales per channel that are all equal are one scale") {
  Layer layer{.input = {1, 4, 4, 2}, .weights = {3, 2, 2, 2}, .output = {1, 3, 3, 3}, .scales = 3};
  Made equal = made(layer, 5);
  std::vector<double>& scales = equal.model.tensors[1].quantization.scales;
  scales = {scales[0], scales[0], scales[0]};
  const Backend& backend = find_backend("tflite_builtin_double").backend;
  CHECK(rule_prefixes(equal.model, equal.model.operations[0], backend) == std::vector<std::string>{"dynamic.conv"});
  CHECK(outputs_of(equal, backend) == wanted_outputs(layer, equal, symmetric_codes));
}

TEST_CASE("a row that is zeros gives the bias, and a set rule another result") {
  const Layer layer{.kind = fully_connected, .input = {2, 9}, .weights = {3, 9}, .output = {2, 3}};
  const Made two = made(layer, 11);
  Backend backend = find_backend("tflite_builtin_single").backend;
  const std::vector<float> out = outputs_of(two, backend);
  const auto bias = two.model.tensors[2].constant->values<float>();
  CHECK(std::equal(bias.begin(), bias.end(), out.begin()));
  set_rule(backend, "dynamic.fully_connected.codes", "asymmetric");
  CHECK(outputs_of(two, backend) == wanted_outputs(layer, two, asymmetric_codes));
  CHECK(outputs_of(two, backend) != out);
}

TEST_CASE("sums wrap in 32 bits") {
  const std::int64_t terms = 140000;  // 127 * 127 * 140000 is above 2^31
  const Layer layer{.kind = fully_connected, .input = {1, terms}, .weights = {1, terms}, .output = {1, 1}, .has_bias = false};
  Made wide = made(layer, 1);
  std::ranges::fill(wide.input.values<float>(), 1.0F);
  std::ranges::fill(wide.model.tensors[1].constant.edit().values<std::int8_t>(), std::int8_t{127});
  const std::int64_t sum = 127 * 127 * terms - (std::int64_t{1} << 32);
  const auto scale = static_cast<float>(wide.model.tensors[1].quantization.scales[0]);
  const float in = 1.0F / 127.0F;
  CHECK(outputs_of(wide, find_backend("tflite_builtin_double").backend) == std::vector{static_cast<float>(sum) * (in * scale)});
}

}  // namespace
