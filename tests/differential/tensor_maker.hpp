// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The tensors of a random layer.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "differential/random_values.hpp"
#include "lastbit/arith/integer.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"

namespace lastbit::test {

/// Adds tensors to a model: of types, zero points and scales that the device may have. Of a call's arguments, at most one draws: compilers
/// evaluate them in different orders.
class TensorMaker {
 public:
  TensorMaker(const Backend& backend, Choices& choose)
      : choose_(choose),
        symmetric_(backend.coding == Coding::symmetric),
        float16_(backend.float16.method != Float16Method::absent && !choose.one_in(3)),
        has_hybrids_(backend.dynamic != DynamicByLayer{}),
        has_planar_pools_(exists(backend.planar_average_pool.sum)),
        reads_sums_(backend.logistic.method == FunctionMethod::table_entry),
        ends_in_segments_(
            std::ranges::any_of(backend.conv.u8.sum.output.chain, [](const Stage& stage) { return stage.kind == StageKind::segments; })) {
    model_.name = "random";
    data_type_ = float16_            ? ElementType::float16
                 : choose.one_in(3)  ? ElementType::int16
                 : symmetric_        ? ElementType::int8
                 : choose.one_in(24) ? ElementType::uint16
                                     : choose.of({ElementType::int8, ElementType::uint8});
    unscaled_ = symmetric_ && choose.one_in(2);
    shifts_ = choose.one_in(3);
    significand_ = choose.of({1.0, 1.5, 1 - 0x1p-17});
  }

 protected:
  /// Float32 data for integer weights, now and then, where the device has such layers.
  void choose_hybrid() {
    if (has_hybrids_ && choose_.one_in(3)) data_type_ = ElementType::float32;
  }
  [[nodiscard]] bool is_hybrid() const { return data_type_ == ElementType::float32; }
  [[nodiscard]] double scale() {
    if (shifts_) {
      const int exponent = static_cast<int>(choose_.between(-4, 0));
      return std::ldexp(choose_.one_in(4) ? significand_ : 1.0, exponent);
    }
    if (choose_.one_in(10)) {
      const int exponent = static_cast<int>(choose_.between(-40, 40));
      return std::ldexp(0.001 * static_cast<double>(choose_.between(1, 900)), exponent);
    }
    return choose_.one_in(2) ? std::ldexp(1.0, static_cast<int>(choose_.between(-9, 2)))
                             : 0.001 * static_cast<double>(choose_.between(1, 900));
  }
  [[nodiscard]] Quantization quantization(ElementType type) {
    if (unscaled_ || is_real(type)) return {};
    const IntegerRange range = range_of(type);
    const bool centred = symmetric_ || type == ElementType::int16 || choose_.one_in(4);
    return {{scale()},
            {centred ? 0 : choose_.of({range.min, range.max, range.min / 2 + range.max / 2, choose_.between(range.min, range.max)})},
            0};
  }
  /// Devices that only shift have no effective scale above 1.
  [[nodiscard]] Quantization output_quantization(ElementType type) {
    Quantization output = quantization(type);
    if (shifts_ && output.present()) output.scales[0] = std::ldexp(1.0, static_cast<int>(choose_.between(-2, 2)));
    return output;
  }
  [[nodiscard]] Quantization weight_quantization(std::int64_t channels, std::int64_t axis, ElementType type) {
    if (unscaled_ || is_real(type)) return {};
    if (choose_.one_in(3)) return {{scale()}, {type == ElementType::uint8 ? 128 : 0}, axis};
    Quantization per_channel{{}, std::vector<std::int64_t>(static_cast<std::size_t>(channels), type == ElementType::uint8 ? 128 : 0), axis};
    for (std::int64_t o = 0; o < channels; ++o) per_channel.scales.push_back(scale());
    return per_channel;
  }
  std::int32_t add(ElementType type, const Shape& shape, Quantization quantization, Constant constant = {}) {
    model_.tensors.push_back({"t" + std::to_string(model_.tensors.size()), type, shape, std::move(quantization), std::move(constant)});
    return static_cast<std::int32_t>(model_.tensors.size()) - 1;
  }
  std::int32_t add_data(const Shape& shape) { return add(data_type_, shape, quantization(data_type_)); }
  std::int32_t add_weights(const Shape& shape, std::int64_t channels, std::int64_t axis) {
    const ElementType type = float16_                           ? ElementType::float16
                             : is_hybrid()                      ? ElementType::int8
                             : choose_.one_in(3)                ? ElementType::int16
                             : symmetric_ || !choose_.one_in(6) ? ElementType::int8
                                                                : ElementType::uint8;
    Tensor values = random_values(type, shape, choose_);
    return add(type, shape, weight_quantization(channels, axis, type), std::move(values));
  }
  std::int32_t add_bias(std::int64_t channels) {
    if (choose_.one_in(4)) return absent_tensor;
    const ElementType type = float16_                           ? choose_.of({ElementType::float16, ElementType::float32})
                             : is_hybrid()                      ? ElementType::float32
                             : data_type_ == ElementType::int16 ? choose_.of({ElementType::int32, ElementType::int64})
                             : unscaled_                        ? choose_.of({ElementType::int8, ElementType::int16, ElementType::int32})
                                                                : ElementType::int32;
    Tensor values = is_real(type) ? random_values(type, {channels}, choose_) : random_bias(type, channels, choose_);
    return add(type, {channels}, {}, std::move(values));
  }
  /// Of what sums products: as the data, or the sums themselves.
  [[nodiscard]] ElementType sum_type() {
    if (float16_) return ElementType::float16;
    if (is_hybrid()) return ElementType::float32;
    if (unscaled_ || choose_.one_in(8)) return ElementType::int32;
    if (data_type_ == ElementType::int16) return ElementType::int16;
    return symmetric_ ? ElementType::int8 : data_type_;
  }
  [[nodiscard]] OutputBounds bounds() {
    if (unscaled_ || choose_.one_in(2)) return {};
    return {choose_.of({Activation::none, Activation::relu, Activation::relu6, Activation::relu_n1_to_1}), {}, {}, {}};
  }
  /// What layers state of registers: one set for each channel, and a function in segments that goes all through the codes.
  [[nodiscard]] OutputBounds registers_and_segments(std::int64_t channels) {
    OutputBounds bounds;
    for (std::int64_t o = 0; o < channels; ++o) {
      ScaleRegister one{.multiplier = choose_.between(-6000, 6000)};
      one.shift = static_cast<int>(choose_.between(8, 15));
      one.offset = choose_.between(-20000, 20000);
      bounds.registers.push_back(one);
    }
    std::vector<ScaleSegment> segments;
    const std::int64_t count = choose_.between(1, 16);
    for (std::int64_t i = 0; i < count; ++i) {
      ScaleSegment one{.start = i == 0 ? min_of_width(36) : (2 * i - count) << choose_.between(8, 14)};
      if (i > 0) one.start = std::max(one.start, segments.back().start + 1);
      one.multiplier = i == 0 ? 0 : choose_.between(-32768, 32767);
      one.shift = static_cast<int>(choose_.between(20, 23));
      one.add = choose_.between(0, 255);
      segments.push_back(one);
    }
    bounds.segments = SegmentTable(std::move(segments));
    return bounds;
  }
  [[nodiscard]] ScaleRegister factor() {
    ScaleRegister one{.multiplier = choose_.between(-3000, 3000)};
    one.shift = static_cast<int>(choose_.between(0, 8));
    return one;
  }
  [[nodiscard]] CrossTerms cross_terms() {
    CrossTerms terms{.data = factor()};
    terms.weights = factor();
    terms.per_channel = choose_.between(-20000, 20000);
    return terms;
  }
  [[nodiscard]] Extent2d extent(std::int64_t most) { return {choose_.between(1, most), choose_.between(1, most)}; }
  [[nodiscard]] Padding2d padding() {
    const auto mode = choose_.of({PaddingMode::same, PaddingMode::valid, PaddingMode::explicit_sizes});
    if (mode != PaddingMode::explicit_sizes) return {mode, 0, 0, 0, 0};
    return {mode, choose_.between(0, 2), choose_.between(0, 2), choose_.between(0, 2), choose_.between(0, 2)};
  }
  [[nodiscard]] std::int64_t channels() { return choose_.one_in(4) ? choose_.between(1, 70) : choose_.between(1, 20); }
  [[nodiscard]] Shape image(std::int64_t depth) {
    const std::int64_t most = choose_.one_in(8) ? 24 : 7;
    return {1, choose_.between(1, most), choose_.between(1, most), depth};
  }
  /// Records of a piecewise-linear function: bases that rise, slopes and values of any size.
  std::int32_t add_segments() {
    const std::int64_t count = choose_.between(1, 9);
    std::mt19937_64 random = choose_.generator();
    Tensor table(ElementType::int32, {count, 3});
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t base = min_of_width(32) + (i << 32) / count;
      auto* const record = &table.values<std::int32_t>()[static_cast<std::size_t>(3 * i)];
      record[0] = static_cast<std::int32_t>((base & ~std::int64_t{3}) + static_cast<std::int64_t>(random() % 4));
      for (int column = 1; column < 3; ++column) record[column] = static_cast<std::int16_t>(random());
    }
    return add(ElementType::int32, {count, 3}, {}, std::move(table));
  }

  Choices& choose_;
  bool symmetric_, float16_, has_hybrids_, has_planar_pools_, reads_sums_, ends_in_segments_, unscaled_ = false;
  bool shifts_ = false;  ///< scales that devices have which only shift, or almost: of this significand
  double significand_ = 1;
  ElementType data_type_;
  Model model_;
};

}  // namespace lastbit::test
