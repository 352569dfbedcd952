// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a layer states of the device's registers is what the chain multiplies and shifts by, channel by channel, whatever the scales say.
#include <algorithm>
#include <cmath>
#include <random>

#include "lastbit/backends/gap8.hpp"
#include "lastbit/backends/gemmini.hpp"
#include "lastbit/backends/nvdla.hpp"
#include "lastbit/backends/rockchip.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

const Quantization unit{{1.0}, {0}};

OutputBounds by(std::vector<ScaleRegister> registers) {
  OutputBounds bounds;
  bounds.registers = std::move(registers);
  return bounds;
}

Model requantized(std::int64_t rows, std::int64_t channels, const OutputBounds& bounds, const Quantization& to = unit) {
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int32, {rows, channels}, unit});
  return builder.finished(
      {builder.operation(OperationKind::requantize, {x}, {"y", ElementType::int8, {rows, channels}, to}, RequantizeAttributes{bounds})});
}

std::vector<std::int64_t> codes(const Model& model, const Backend& backend, const Tensor& input) {
  const std::vector<Tensor> inputs{input};
  const Trace trace = run(model, backend, inputs);
  const Tensor& out = *trace.tensors.back();
  std::vector<std::int64_t> values;
  for (std::int64_t i = 0; i < out.element_count(); ++i) values.push_back(out.integer_at(i));
  return values;
}

/// clip8(wrap32(wrap32(v * s) + 2^(n - 1)) >> n).
Int128 at_scale(Int128 value, const ScaleRegister& by) {
  const Int128 product = wrapped(value * by.multiplier, 32);
  const Int128 sum = by.shift == 0 ? product : wrapped(product + two_to_the(by.shift - 1), 32);
  return saturated(rounded(sum, two_to_the(by.shift), Rounding::floor), 8);
}

TEST_CASE("GAP's step wraps by the multiplier that the register holds, each channel by its own") {
  std::mt19937_64 random(40);
  const std::vector<ScaleRegister> registers{{128, 8}, {1, 1}, {255, 23}, {0, 5}, {77, 0}};  // the first two are one scale
  std::vector<std::int32_t> values{std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 1 << 24, -(1 << 24),
                                   3};
  while (values.size() < 2000) values.push_back(static_cast<std::int32_t>(random() >> (32 + random() % 24)) - (1 << 20));
  const auto channels = static_cast<std::int64_t>(registers.size()), rows = static_cast<std::int64_t>(values.size()) / channels;
  const auto found = codes(requantized(rows, channels, by(registers)), gap8, Tensor::from<std::int32_t>({rows, channels}, values));
  Tally tally;
  for (std::size_t i = 0; i < values.size(); ++i) tally.equal(found[i], at_scale(values[i], registers[i % registers.size()]), i);
  tally.check(2000);
  CHECK(at_scale(1 << 24, registers[0]) != at_scale(1 << 24, registers[1]));
}

TEST_CASE("RKNPU2's converter reaches a power of two by registers alone, and takes a signed multiplier") {
  const std::vector<std::int32_t> values{-3, -1, 1, 3, 5, 1000};
  const Tensor input = Tensor::from<std::int32_t>({6, 1}, values);
  const Quantization half{{2.0}, {0}};  // in / out is 1/2: 16385 / 2^15
  CHECK(codes(requantized(6, 1, {}, half), rk3588, input) == std::vector<std::int64_t>{-2, -1, 1, 2, 3, 127});
  CHECK(codes(requantized(6, 1, by({{16384, 15}}), half), rk3588, input) == std::vector<std::int64_t>{-2, 0, 0, 2, 2, 127});
  CHECK(codes(requantized(6, 1, by({{-32768, 16}}), half), rk3588, input) == std::vector<std::int64_t>{2, 0, 0, -2, -2, -128});
}

TEST_CASE("registers that no device or no layer has are refused") {
  const auto first_problem = [](const Model& model, const Backend& backend) {
    const auto problems = check(model, backend);
    return problems.empty() ? std::string() : problems[0].message;
  };
  CHECK(first_problem(requantized(2, 3, by({{5, 1}})), gap8).empty());
  CHECK_THAT(first_problem(requantized(2, 3, by({{5, 1}})), gemmini_float), contains_text("no multiplier for registers"));
  CHECK_THAT(first_problem(requantized(2, 3, by({{512, 1}})), gap8), contains_text("does not fit the device's 8 bits"));
  CHECK_THROWS_WITH(requantized(2, 3, by({{5, 1}, {5, 1}})), contains_text("registers needs one pair, or one for each of the 3 channels"));
  CHECK_THROWS_WITH(requantized(2, 3, by({{5, 64}})), contains_text("registers shift by 0 to 63 places"));
  CHECK_THROWS_WITH(requantized(2, 3, by({{5, -1}})), contains_text("registers shift by 0 to 63 places"));
  CHECK_THROWS_WITH(requantized(2, 3, by({{5, 1, std::int64_t{1} << 40}})), contains_text("registers have offsets of at most 41 bits"));
  CHECK_THAT(first_problem(requantized(2, 3, by({{5, 1, 7}})), gap8), contains_text("no place for the offset of registers"));
  OutputBounds bounds;
  bounds.converter = {{5, 1}};
  CHECK(first_problem(requantized(2, 3, bounds), nvdla).empty());
  CHECK_THAT(first_problem(requantized(2, 3, bounds), gap8), contains_text("the backend's chain has no converter"));
  bounds.converter = {{1 << 15, 1}};
  CHECK_THAT(first_problem(requantized(2, 3, bounds), nvdla), contains_text("of its converter does not fit the device's 16 bits"));
  bounds.converter = {{5, 1}, {5, 1}};
  CHECK_THROWS_WITH(requantized(2, 3, bounds), contains_text("converter needs one pair, or one for each of the 3 channels"));
  bounds = {};
  bounds.below_zero = {{5, 1}};
  CHECK(first_problem(requantized(2, 3, bounds), nvdla).empty());
  CHECK_THAT(first_problem(requantized(2, 3, bounds), rk3588), contains_text("no registers for values below 0"));
  bounds.below_zero = {{1 << 15, 1}};
  CHECK_THAT(first_problem(requantized(2, 3, bounds), nvdla), contains_text("of its registers does not fit the device's 15 bits"));
  bounds.below_zero = {{5, 1, 3}};
  CHECK_THROWS_WITH(requantized(2, 3, bounds), contains_text("below_zero has an offset, which nothing reads"));
}

TEST_CASE("NVDLA scales twice: by the channel's registers in 32 bits, then by the layer's converter in 17") {
  std::mt19937_64 random(41);
  const std::vector<ScaleRegister> registers{{-32768, 9, 1 << 20}, {3, 1, -(1 << 30)}, {32767, 30, 0}, {1, 0, 5}};
  OutputBounds bounds = by(registers);
  bounds.converter = {{-777, 16, 1000}};
  bounds.activation = Activation::relu;
  std::vector<std::int32_t> values{std::numeric_limits<std::int32_t>::max(), std::numeric_limits<std::int32_t>::min(), 0, -1};
  while (values.size() < 4000) values.push_back(static_cast<std::int32_t>(random()) >> (random() % 32));
  const auto channels = static_cast<std::int64_t>(registers.size()), rows = static_cast<std::int64_t>(values.size()) / channels;
  const auto found = codes(requantized(rows, channels, bounds), nvdla, Tensor::from<std::int32_t>({rows, channels}, values));
  Tally tally;
  std::size_t positive = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const ScaleRegister& first = registers[i % registers.size()];
    const Int128 sum = Int128{values[i]} + first.offset;
    const Int128 x = std::max<Int128>(saturated(rounded(sum * first.multiplier, two_to_the(first.shift), Rounding::half_away), 32), 0);
    const Int128 c = saturated(rounded((x + 1000) * -777, two_to_the(16), Rounding::half_away), 17);
    tally.equal(found[i], saturated(c, 8), values[i], i);
    positive += x > 0 && c > -128 ? 1U : 0U;
  }
  tally.check(4000);
  CHECK(positive > 100);
}

TEST_CASE("NVDLA's compiler divides the scales before it multiplies, truncates to 15 bits, and shares one shift") {
  std::mt19937_64 random(42);
  const RescaleRule& rule = nvdla.conv.i8.sum.output;
  Tally tally;
  std::size_t quotient_shows = 0;
  for (int round = 0; round < 5000; ++round) {
    const auto next = [&] { return static_cast<float>(1 + random() % 0x1000000) * 0x1p-24F; };
    const float in = next(), out = next(), weight = next(), other = next();
    const auto scale_by = [&](float factor) { return effective_scale(rule, one_operand(double{in}, double{factor}, double{out})); };
    const float quotient = in / out;
    tally.equal(scale_by(weight) == double{quotient * weight}, true, round);
    quotient_shows += quotient * weight == in * weight / out ? 0U : 1U;
    const double largest = std::max(scale_by(weight), scale_by(other));
    if (largest >= 32768) continue;
    const int shift = 15 - (std::ilogb(largest) + 1);
    for (const double scale : {scale_by(weight), scale_by(other)}) {
      const EncodedScale encoded = encode(rule.scale, scale, largest);
      tally.equal(encoded.multiplier, static_cast<std::int64_t>(std::ldexp(scale, shift)), round);
      tally.equal(encoded.fraction_bits - encoded.exponent, shift, round);
    }
  }
  tally.check(5000);
  CHECK(quotient_shows > 500);
  CHECK(encode(rule.scale, 1 - 0x1p-20, 1 - 0x1p-20).multiplier == 32767);  // no carry into the shift
}

/// One code times the weights of some channels, plus biases.
Model channels_of_one(const std::vector<double>& scales, const std::vector<std::int8_t>& weights, const std::vector<std::int32_t>& biases,
                      std::int64_t rows, const OutputBounds& bounds, const Quantization& to = unit) {
  const auto channels = static_cast<std::int64_t>(weights.size());
  const std::vector<std::int64_t> zeros(scales.size(), 0);
  ModelBuilder builder;
  const auto x = builder.input({"x", ElementType::int8, {rows, 1}, unit});
  const auto w = builder.constant<std::int8_t>("w", {channels, 1}, weights, {scales, zeros, 0});
  const auto b = builder.constant<std::int32_t>("b", {channels}, biases, {scales, zeros, 0});
  return builder.finished({builder.operation(OperationKind::fully_connected, {x, w, b}, {"y", ElementType::int8, {rows, channels}, to},
                                             FullyConnectedAttributes{.bounds = bounds})});
}

TEST_CASE("RKNPU2's bias stage: an offset, a multiplier and a shift for each sign of the product of every channel, then one converter") {
  const std::vector<ScaleRegister> registers{{-32768, 9, 1 << 20}, {3, 1, -(1 << 30)}, {32767, 30, 5}, {25000, 0, 0}, {-1, 1, 0}};
  OutputBounds bounds = by(registers);
  for (const auto& [multiplier, shift, offset] : registers) bounds.below_zero.push_back({multiplier, (shift + 7) % 33, 0});
  bounds.converter = {{16385, 27, 0}};
  const std::vector<std::int8_t> weights{127, -128, 1, 77, -3};
  const std::vector<std::int32_t> biases{std::numeric_limits<std::int32_t>::max() - 20000, 1 << 30, -(1 << 29), 12345, 1 << 28};
  std::vector<std::int8_t> data(256);
  for (std::size_t i = 0; i < data.size(); ++i) data[i] = static_cast<std::int8_t>(static_cast<int>(i) - 128);
  Tally tally;
  std::size_t saturates = 0, below_zero = 0;
  for (const int bias_shift : {0, 8, 16, 24, 31}) {
    std::vector<std::int32_t> shifted = biases;
    for (std::int32_t& bias : shifted) bias >>= bias_shift;
    const Model model = channels_of_one({0.5, 0.25, 0.125, 1, 2}, weights, shifted, 256, bounds, {{1.0}, {3}});
    const auto found = codes(model, rk3588, Tensor::from<std::int8_t>({256, 1}, data));
    for (std::size_t i = 0; i < found.size(); ++i) {
      const std::size_t c = i % weights.size();
      const Int128 sum = wrapped(Int128{data[i / weights.size()]} * weights[c] + shifted[c], 32);
      const Int128 product = (sum + registers[c].offset) * registers[c].multiplier;
      const int shift = product < 0 ? bounds.below_zero[c].shift : registers[c].shift;
      const Int128 wide = rounded(product, two_to_the(shift), Rounding::half_even), v = saturated(wide, 32);
      tally.equal(found[i], saturated(rounded(v * 16385, two_to_the(27), Rounding::half_even) + 3, 8), i, bias_shift);
      saturates += v != wide ? 1U : 0U;
      below_zero += product < 0 ? 1U : 0U;
    }
  }
  tally.check(5 * 256 * 5);
  CHECK(saturates > 200);
  CHECK(below_zero > 1000);
}

TEST_CASE("RKNPU2 refuses weights with a scale per channel whose layer does not state the bias stage's registers, not those with one") {
  const auto problem = [](const std::vector<double>& scales, const OutputBounds& bounds) {
    const auto problems = check(channels_of_one(scales, {1, 2}, {0, 0}, 1, bounds), rk3588);
    return problems.empty() ? std::string() : problems[0].message;
  };
  const std::string missing = "the layer states no registers for both signs of a product, by which the backend shifts";
  CHECK(problem({0.5}, {}).empty());
  CHECK(problem({0.5, 0.25}, {}) == missing);
  OutputBounds bounds = by({{5, 3}, {7, 4}});
  CHECK(problem({0.5, 0.25}, bounds) == missing);
  bounds.below_zero = {{5, 4}, {6, 4}};
  CHECK(problem({0.5, 0.25}, bounds) ==
        "the layer states another multiplier below 0 than 7; the backend has one, and a shift for each sign");
  bounds.below_zero = {{5, 4}, {7, 2}};
  CHECK(problem({0.5, 0.25}, bounds).empty());
  CHECK(problem({0.5}, bounds) == "the backend's chain has no registers for values below 0");
  bounds.registers[0].multiplier = bounds.below_zero[0].multiplier = 1 << 15;
  CHECK_THAT(problem({0.5, 0.25}, bounds), contains_text("does not fit the device's 15 bits"));
}

}  // namespace
}  // namespace lastbit
