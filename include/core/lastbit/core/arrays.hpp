// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What the calls of lastbit/core.hpp take and return: views of the caller's memory, arrays of their own, and how far two of these differ.
// real value = scale * (code - zero point).
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lastbit/arith/integer.hpp"
#include "lastbit/error.hpp"

namespace lastbit {

/// A code of one of the types that the calls take.
template <class T>
concept Code =
    std::same_as<T, std::int8_t> || std::same_as<T, std::uint8_t> || std::same_as<T, std::int16_t> || std::same_as<T, std::int32_t>;

/// Sizes, outermost first: at most six.
class Extents {
 public:
  static constexpr std::size_t most = 6;

  constexpr Extents() = default;
  /// Throws Error(shape_mismatch) for more than six sizes, and for one below 1.
  constexpr Extents(std::initializer_list<std::int64_t> sizes) : Extents(std::span(sizes.begin(), sizes.size())) {}
  explicit constexpr Extents(std::span<const std::int64_t> sizes) {
    if (sizes.size() > most) throw Error(ErrorCode::shape_mismatch, "shape", "more than six sizes");
    for (const std::int64_t size : sizes) {
      if (size < 1 || size > std::int64_t{1} << 31) throw Error(ErrorCode::shape_mismatch, "shape", "a size below 1, or beyond 2^31");
      sizes_[rank_++] = size;
    }
  }
  [[nodiscard]] constexpr std::size_t rank() const { return rank_; }
  [[nodiscard]] constexpr std::int64_t operator[](std::size_t axis) const { return sizes_[axis]; }
  [[nodiscard]] constexpr std::int64_t back() const { return rank_ == 0 ? 1 : sizes_[rank_ - 1U]; }
  [[nodiscard]] constexpr std::span<const std::int64_t> sizes() const { return {sizes_.data(), rank_}; }
  [[nodiscard]] constexpr std::int64_t count() const {
    std::int64_t product = 1;
    for (std::size_t axis = 0; axis < rank_; ++axis) product *= sizes_[axis];
    return product;
  }
  /// "1x8x8x4"
  [[nodiscard]] std::string text() const {
    std::string out;
    for (std::size_t axis = 0; axis < rank_; ++axis) out += (axis == 0 ? "" : "x") + std::to_string(sizes_[axis]);
    return out;
  }
  friend constexpr bool operator==(const Extents&, const Extents&) = default;

 private:
  std::array<std::int64_t, most> sizes_{};
  std::uint8_t rank_ = 0;
};

/// Codes in the caller's memory, row-major, and what they stand for. Images are N, H, W, C; weights O, H, W, I, depthwise 1, H, W, C, with a scale for
/// all or one per output channel.
template <class T>
class View {
 public:
  /// Throws Error(shape_mismatch) where the values are not as many as the shape says, Error(bad_quantization) for a scale that is not above 0.
  constexpr View(std::span<const T> values, Extents shape, double scale = 1, std::int64_t zero_point = 0)
      : values_(values), shape_(shape), scale_(scale), zero_point_(zero_point) {
    require();
  }
  template <std::ranges::contiguous_range Range>
  requires std::same_as<std::remove_cv_t<std::ranges::range_value_t<Range>>, T>
  constexpr View(const Range& values, Extents shape, double scale = 1, std::int64_t zero_point = 0)
      : View(std::span<const T>(std::ranges::data(values), std::ranges::size(values)), shape, scale, zero_point) {}
  /// With a scale per channel, which the caller keeps.
  template <std::ranges::contiguous_range Range>
  requires std::same_as<std::remove_cv_t<std::ranges::range_value_t<Range>>, T>
  constexpr View(const Range& values, Extents shape, std::span<const double> scales, std::int64_t zero_point = 0)
      : values_(std::ranges::data(values), std::ranges::size(values)),
        shape_(shape),
        scales_(scales),
        scale_(scales.empty() ? 1 : scales[0]),
        zero_point_(zero_point) {
    require();
  }

  [[nodiscard]] constexpr std::span<const T> values() const { return values_; }
  [[nodiscard]] constexpr const Extents& shape() const { return shape_; }
  [[nodiscard]] constexpr bool per_channel() const { return scales_.size() > 1; }
  [[nodiscard]] constexpr double scale(std::size_t channel = 0) const { return per_channel() ? scales_[channel] : scale_; }
  [[nodiscard]] constexpr std::size_t scale_count() const { return std::max<std::size_t>(1, scales_.size()); }
  [[nodiscard]] constexpr std::int64_t zero_point() const { return zero_point_; }

 private:
  constexpr void require() const {
    if (shape_.count() != static_cast<std::int64_t>(values_.size()))
      throw Error(ErrorCode::shape_mismatch, "view", std::to_string(values_.size()) + " values for shape " + shape_.text());
    for (std::size_t channel = 0; channel < scale_count(); ++channel) {
      if (!(scale(channel) > 0)) throw Error(ErrorCode::bad_quantization, "view", "a scale that is not above 0");
    }
  }

  std::span<const T> values_;
  Extents shape_;
  std::span<const double> scales_{};
  double scale_ = 1;
  std::int64_t zero_point_ = 0;
};
template <std::ranges::contiguous_range Range, class... Rest>
View(const Range&, Extents, Rest...) -> View<std::remove_cv_t<std::ranges::range_value_t<Range>>>;

/// Values, row-major, and what they stand for.
template <class T>
struct Array {
  std::vector<T> values;
  Extents shape;
  double scale = 1;
  std::int64_t zero_point = 0;

  [[nodiscard]] constexpr View<T> view() const { return {std::span<const T>(values), shape, scale, zero_point}; }
  constexpr operator View<T>() const { return view(); }  // NOLINT(google-explicit-constructor): an array is what the next call takes
  friend constexpr bool operator==(const Array&, const Array&) = default;
};

/// How far values lie apart, in codes: b - a.
struct Difference {
  std::size_t count = 0, differing = 0;
  std::int64_t largest = 0;                         ///< in magnitude
  double cosine = 1;                                ///< of what the values stand for; 1 where both are zero
  std::map<std::int64_t, std::size_t> histogram{};  ///< for each difference in codes, 0 among them, the number of values
  [[nodiscard]] bool equal() const { return differing == 0; }
  /// "3 of 96 values differ, by at most 1 (2 are one higher, 1 one lower)"
  [[nodiscard]] std::string text() const {
    if (equal()) return "all " + std::to_string(count) + " values are equal";
    std::string line = std::to_string(differing) + " of " + std::to_string(count) + " values differ, by at most " + std::to_string(largest);
    std::string parts;
    for (const auto& [codes, values] : histogram) {
      if (codes != 0)
        parts += (parts.empty() ? "" : ", ") + std::to_string(values) + " by " + (codes > 0 ? "+" : "") + std::to_string(codes);
    }
    return line + " (" + parts + ")";
  }
};

/// b against a. Throws Error(shape_mismatch) where the shapes differ.
template <Code T>
[[nodiscard]] Difference difference(const View<T>& a, const View<T>& b) {
  if (a.shape() != b.shape()) throw Error(ErrorCode::shape_mismatch, "difference", a.shape().text() + " against " + b.shape().text());
  Difference found{.count = a.values().size()};
  long double products = 0, first = 0, second = 0;
  for (std::size_t i = 0; i < found.count; ++i) {
    const std::int64_t by = std::int64_t{b.values()[i]} - a.values()[i];
    ++found.histogram[by];
    if (by != 0) ++found.differing;
    found.largest = std::max(found.largest, by < 0 ? -by : by);
    const auto real = [i](const View<T>& of) {
      return static_cast<long double>(of.scale()) * static_cast<long double>(std::int64_t{of.values()[i]} - of.zero_point());
    };
    products += real(a) * real(b), first += real(a) * real(a), second += real(b) * real(b);
  }
  if (first > 0 || second > 0)
    found.cosine = first > 0 && second > 0 ? static_cast<double>(products / (std::sqrt(first) * std::sqrt(second))) : 0;
  return found;
}
template <Code T>
[[nodiscard]] Difference difference(const Array<T>& a, const Array<T>& b) {
  return difference(a.view(), b.view());
}

}  // namespace lastbit
