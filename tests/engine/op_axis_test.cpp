// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What goes along one axis or the last one: argmin, cumsum, top_k, log_softmax, l2_normalization; and elu and floor.
#include <cmath>
#include <cstdint>
#include <limits>

#include "lastbit/backends/golden.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "support/catch.hpp"
#include "support/layer_model.hpp"
#include "support/one_operation.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

struct Result {
  ElementType type;
  Shape shape;
  Quantization quantization{};
};

Model network(OperationKind kind, const Tensor& input, const Quantization& codes, const Attributes& attributes,
              const std::vector<Result>& results) {
  ModelBuilder builder;
  const std::int32_t x = builder.input({"x", input.type(), input.shape(), codes});
  std::vector<std::int32_t> outputs;
  for (const Result& one : results)
    outputs.push_back(builder.tensor({"y" + std::to_string(outputs.size()), one.type, one.shape, one.quantization}));
  builder.operation(kind, "tested", {x}, outputs, attributes);
  return builder.finished(outputs);
}

std::vector<Tensor> results(const Model& model, const Tensor& input, const Backend& backend) {
  const Trace trace = run(model, backend, {{input}});
  std::vector<Tensor> found;
  for (const std::int32_t output : model.outputs) found.push_back(*trace.tensors[static_cast<std::size_t>(output)]);
  return found;
}

std::vector<float> of_reals(OperationKind kind, const Tensor& input, const Attributes& attributes) {
  const Model model = network(kind, input, {}, attributes, {{ElementType::float32, input.shape()}});
  return values_of<float>(results(model, input, float_golden)[0]);
}

// TensorFlow Lite's multiplier arithmetic, as gemmlowp/fixedpoint.h and kernels/internal/common.h state it.

std::int32_t saturated(std::int64_t value) {
  return static_cast<std::int32_t>(
      std::clamp<std::int64_t>(value, std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()));
}

std::int32_t high_product(std::int32_t a, std::int32_t b) {
  const std::int64_t product = std::int64_t{a} * b, nudge = product >= 0 ? 1 << 30 : 1 - (1 << 30);
  return saturated((product + nudge) / (std::int64_t{1} << 31));
}

std::int32_t divided(std::int32_t value, int exponent) {
  const std::int64_t mask = (std::int64_t{1} << exponent) - 1, rest = value & mask, threshold = (mask >> 1) + (value < 0 ? 1 : 0);
  return static_cast<std::int32_t>((std::int64_t{value} >> exponent) + (rest > threshold ? 1 : 0));
}

struct Multiplier {
  std::int32_t value;
  int left_shift;
};

Multiplier inverse_root(std::int32_t n) {
  if (n <= 1) return {std::numeric_limits<std::int32_t>::max(), 0};
  int shift = 11;
  while (n >= 1 << 29) n /= 4, ++shift;
  int zeros = 0;
  while ((static_cast<std::uint32_t>(n) << zeros & 0x80000000U) == 0) ++zeros;
  const int pairs = (zeros - 1) / 2 - 1;
  shift -= pairs;
  const std::int32_t a = (n << (2 * pairs)) >> 1, half = divided(a, 1), half_three = (1 << 28) + (1 << 27);
  std::int32_t x = 1 << 28;
  for (int i = 0; i < 5; ++i) {
    const std::int32_t cube = saturated(std::int64_t{high_product(high_product(x, x), x)} * 64);
    x = saturated((std::int64_t{high_product(half_three, x)} - high_product(half, cube)) * 8);
  }
  x = high_product(x, 1518500250);
  return shift < 0 ? Multiplier{x << -shift, 0} : Multiplier{x, -shift};
}

std::int32_t multiplied(std::int32_t value, Multiplier by, int more) {
  const int shift = by.left_shift + more, left = std::max(shift, 0), right = std::max(-shift, 0);
  return divided(high_product(value * (1 << left), by.value), right);
}

std::int32_t multiplied_once(std::int32_t value, Multiplier by, int more) {
  const int shift = 31 - by.left_shift - more;
  return static_cast<std::int32_t>((std::int64_t{value} * by.value + (std::int64_t{1} << (shift - 1))) >> shift);
}

TEST_CASE("l2_normalization of int8 and uint8 codes is TensorFlow Lite's, rounded twice or once") {
  std::mt19937 random(7);
  for (int i = 0; i < 400; ++i) {
    const std::int64_t length = i < 4 ? 1 : 1 + static_cast<std::int64_t>(random() % 40), zero = i % 3 == 0 ? 0 : i % 3 == 1 ? -128 : 5;
    Tensor of_int8(ElementType::int8, {2, length}), of_uint8(ElementType::uint8, {2, length});
    const unsigned spread = i % 2 == 0 ? 3 : 256;  // few squares, or many
    for (std::size_t k = 0; k < static_cast<std::size_t>(2 * length); ++k) {
      const auto code = std::clamp<std::int64_t>(zero + static_cast<std::int64_t>(random() % spread) - spread / 2, -128, 127);
      of_int8.values<std::int8_t>()[k] = static_cast<std::int8_t>(code);
      of_uint8.values<std::uint8_t>()[k] = static_cast<std::uint8_t>(code + 128);
    }
    const auto found = [&](const Tensor& input, std::int64_t offset, const Backend& backend) {
      const Result result{input.type(), input.shape(), {{1.0 / 128}, {offset}, 0}};
      const Model model = network(OperationKind::l2_normalization, input, {{0.25}, {zero + offset}, 0}, std::monostate{}, {result});
      return results(model, input, backend)[0];
    };
    const Tensor twice = found(of_int8, 0, tflite_double), once = found(of_int8, 0, tflite_single);
    const Tensor twice_u = found(of_uint8, 128, tflite_double);
    for (std::int64_t at = 0; at < 2 * length; ++at) {
      std::int32_t squares = 0;
      for (std::int64_t k = at / length * length; k < (at / length + 1) * length; ++k) {
        const auto value = static_cast<std::int32_t>(of_int8.integer_at(k) - zero);
        squares += value * value;
      }
      const auto value = static_cast<std::int32_t>(of_int8.integer_at(at) - zero);
      const Multiplier by = inverse_root(squares);
      REQUIRE(twice.integer_at(at) == std::clamp(multiplied(value, by, 7), -128, 127));
      REQUIRE(once.integer_at(at) == std::clamp(multiplied_once(value, by, 7), -128, 127));
      REQUIRE(twice_u.integer_at(at) == std::clamp(128 + multiplied(128 * value, by, 0), 0, 255));
    }
  }
}

TEST_CASE("l2_normalization of codes gives one quantisation, rows of bounded length, and is absent elsewhere") {
  const auto message = [](std::int64_t length, double scale, const Backend& backend) {
    const Result result{ElementType::int8, {1, length}, {{scale}, {0}, 0}};
    const auto problems = check(
        network(OperationKind::l2_normalization, Tensor(ElementType::int8, {1, length}), {{0.25}, {0}, 0}, std::monostate{}, {result}),
        backend);
    return problems.empty() ? "" : problems[0].message;
  };
  CHECK(message(4, 1.0 / 128, tflite_double).empty());
  CHECK(message(4, 1.0 / 127, tflite_double).find("the device gives 1/128 and 0") != std::string::npos);
  CHECK(message(33026, 1.0 / 128, tflite_double) == "rows of 33026 values; at most 33025");
  CHECK(message(4, 1.0 / 128, no_rules) == "the backend has no such arithmetic");
}

TEST_CASE("argmin: the first of the smallest, of reals and of codes") {
  const Tensor reals = tensor_of<float>({2, 3}, {3, -1, -1, 0.5F, 2, 0.25F});
  const Model of_floats = network(OperationKind::argmin, reals, {}, ArgmaxAttributes{1}, {{ElementType::float32, {2}}});
  CHECK(values_of<float>(results(of_floats, reals, float_golden)[0]) == std::vector<float>{1, 2});
  const Tensor codes = tensor_of<std::int8_t>({3, 2}, {-128, 127, -128, -5, 4, -5});
  const Model of_codes = network(OperationKind::argmin, codes, {{0.5}, {3}, 0}, ArgmaxAttributes{0}, {{ElementType::int32, {2}}});
  CHECK(values_of<std::int32_t>(results(of_codes, codes, tflite_double)[0]) == std::vector<std::int32_t>{0, 1});
}

TEST_CASE("cumsum: along any axis, with or without the value itself, from either end") {
  const Tensor input = tensor_of<float>({2, 3}, {1, 2, 4, 8, 16, 32});
  const auto sums = [&](CumsumAttributes attributes) { return of_reals(OperationKind::cumsum, input, attributes); };
  CHECK(sums({.axis = 1}) == std::vector<float>{1, 3, 7, 8, 24, 56});
  CHECK(sums({.axis = 0}) == std::vector<float>{1, 2, 4, 9, 18, 36});
  CHECK(sums({.axis = 1, .exclusive = true}) == std::vector<float>{0, 1, 3, 0, 8, 24});
  CHECK(sums({.axis = 1, .reverse = true}) == std::vector<float>{7, 6, 4, 56, 48, 32});
  CHECK(sums({.axis = 1, .exclusive = true, .reverse = true}) == std::vector<float>{6, 4, 0, 48, 32, 0});
}

TEST_CASE("top_k: values in order with their places; of equal ones the first; a NaN is last") {
  const float nan = std::nanf("");
  const Tensor input = tensor_of<float>({2, 4}, {1, 5, 5, -2, nan, 0, 3, -1});
  const auto best = [&](TopKAttributes attributes, const Shape& shape) {
    const Model model = network(OperationKind::top_k, input, {}, attributes, {{ElementType::float32, shape}, {ElementType::int64, shape}});
    const auto found = results(model, input, float_golden);
    return std::pair(values_of<float>(found[0]), values_of<float>(found[1]));
  };
  using Pair = std::pair<std::vector<float>, std::vector<float>>;
  CHECK(best({.axis = 1}, {2, 3}) == Pair{{5, 5, 1, 3, 0, -1}, {1, 2, 0, 2, 1, 3}});
  CHECK(best({.axis = 1, .smallest = true}, {2, 2}) == Pair{{-2, 1, -1, 0}, {3, 0, 3, 1}});
  CHECK(best({.axis = 0}, {1, 4}) == Pair{{1, 5, 5, -1}, {0, 0, 0, 1}});
  CHECK_THROWS_AS(best({.axis = 1}, {2, 5}), Error);
  const Tensor codes(ElementType::int8, {4});
  const Model of_codes = network(OperationKind::top_k, codes, {{0.5}, {3}, 0}, TopKAttributes{},
                                 {{ElementType::int8, {2}, {{0.5}, {3}, 0}}, {ElementType::int32, {2}}});
  const auto problems = check(of_codes, tflite_double);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].message == "the backend has no such arithmetic");
}

TEST_CASE("elu, floor, log_softmax and l2_normalization of reals, from their definitions") {
  const std::vector<float> values{-2.5F, -1e-6F, 0, 0.75F, 3, -0.5F};
  const Tensor input = tensor_of<float>({2, 3}, values);
  std::vector<float> by_elu, by_half, floors, logs, normal;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = double{values[i]};
    by_elu.push_back(static_cast<float>(x < 0 ? std::expm1(x) : x));
    by_half.push_back(static_cast<float>(x < 0 ? 0.5 * std::expm1(x) : x));
    floors.push_back(std::floor(values[i]));
    const std::size_t row = i / 3 * 3;
    double largest = -1e9, sum = 0, squares = 0;
    for (std::size_t k = row; k < row + 3; ++k) largest = std::max(largest, double{values[k]});
    for (std::size_t k = row; k < row + 3; ++k) sum += std::exp(double{values[k]} - largest);
    for (std::size_t k = row; k < row + 3; ++k) squares += double{values[k]} * double{values[k]};
    logs.push_back(static_cast<float>(x - largest - std::log(sum)));
    normal.push_back(static_cast<float>(x / std::sqrt(squares)));
  }
  CHECK(of_reals(OperationKind::elu, input, default_attributes(OperationKind::elu)) == by_elu);
  CHECK(of_reals(OperationKind::elu, input, LeakyReluAttributes{0.5}) == by_half);
  CHECK(of_reals(OperationKind::floor, input, std::monostate{}) == floors);
  CHECK(of_reals(OperationKind::log_softmax, input, std::monostate{}) == logs);
  CHECK(of_reals(OperationKind::l2_normalization, input, std::monostate{}) == normal);
  const Tensor zeros = tensor_of<float>({1, 2}, {0, 1e-7F});
  CHECK(of_reals(OperationKind::l2_normalization, zeros, std::monostate{})[1] == static_cast<float>(double{1e-7F} / double{1e-6F}));
}

}  // namespace
}  // namespace lastbit
