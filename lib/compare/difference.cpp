// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <vector>

#include "lastbit/arith/integer.hpp"
#include "lastbit/compare.hpp"
#include "lastbit/dequantize.hpp"

namespace lastbit {
namespace {

/// Of values that different codes stand for; all NaNs are equal.
bool equal_reals(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

/// b - a; 64-bit values far apart give the nearest 64-bit number.
template <class T>
std::int64_t distance(T a, T b) {
  std::int64_t result = 0;
  if (!__builtin_sub_overflow(static_cast<std::int64_t>(b), static_cast<std::int64_t>(a), &result)) return result;
  return b < a ? std::numeric_limits<std::int64_t>::min() : std::numeric_limits<std::int64_t>::max();
}

bool further(std::int64_t candidate, std::int64_t than) {
  const auto magnitude = [](std::int64_t value) {
    return value < 0 ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  };
  return magnitude(candidate) > magnitude(than);
}

void note_differing(std::int64_t index, double a, double b, TensorDifference& result) {
  if (result.differing++ == 0) {
    result.first = ValuePair{index, a, b};
    result.where = DifferencePlaces(result.shape);
  }
  result.where.add(index);
}

template <class T>
void count_differing(std::span<const T> a, std::span<const T> b, bool (*equal)(T, T), TensorDifference& result) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!equal(a[i], b[i])) note_differing(static_cast<std::int64_t>(i), static_cast<double>(a[i]), static_cast<double>(b[i]), result);
  }
}

template <class T>
void count_lsb(std::span<const T> a, std::span<const T> b, TensorDifference& result) {
  std::int64_t largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t lsb = distance(a[i], b[i]);
    result.histogram.add(lsb);
    if (further(lsb, largest)) largest = lsb;
  }
  result.largest_lsb = largest;
}

/// The least or the largest value of its type.
template <class T>
bool is_end(T value) {
  return value == std::numeric_limits<T>::min() || value == std::numeric_limits<T>::max();
}

/// Of tensors of bytes: how often each pair of codes stands at one place. For their figures the order does not count.
template <class T>
class CodePairs {
 public:
  CodePairs(std::span<const T> a, std::span<const T> b) : counts_(codes * codes) {
    for (std::size_t i = 0; i < a.size(); ++i) ++counts_[static_cast<std::uint8_t>(a[i]) * codes + static_cast<std::uint8_t>(b[i])];
  }

  /// add(code of a, code of b, count), of those that stand somewhere.
  template <class Add>
  void each(Add&& add) const {
    for (std::size_t pair = 0; pair < counts_.size(); ++pair) {
      const auto code = [](std::size_t byte) { return static_cast<T>(static_cast<std::uint8_t>(byte)); };
      if (counts_[pair] != 0) add(code(pair / codes), code(pair % codes), std::int64_t{counts_[pair]});
    }
  }

 private:
  static constexpr std::size_t codes = 256;
  std::vector<std::uint32_t> counts_;  ///< [code of a][code of b]
};

/// The first of the largest differences.
template <class T>
std::int64_t first_of_magnitude(std::span<const T> a, std::span<const T> b, std::int64_t magnitude) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const std::int64_t lsb = std::int64_t{b[i]} - a[i];
    if (lsb == magnitude || lsb == -magnitude) return lsb;
  }
  return 0;
}

/// All but where they differ.
template <class T>
void take_figures(std::span<const T> of_a, std::span<const T> of_b, const Quantization& quantization, TensorDifference& result) {
  const CodePairs<T> pairs(of_a, of_b);
  std::array<float, 256> reals{};
  const auto real = [&](T code) -> float& { return reals[static_cast<std::uint8_t>(code)]; };
  for (int code = std::numeric_limits<T>::min(); code <= std::numeric_limits<T>::max(); ++code)
    real(static_cast<T>(code)) = real_of(code, quantization.scale(), quantization.zero_point());
  std::vector<CountedPair> list;
  std::int64_t most = 0, least = 0;
  pairs.each([&](T a, T b, std::int64_t count) {
    list.push_back({real(b), real(a), count});
    const std::int64_t lsb = std::int64_t{b} - a;
    result.histogram.add(lsb, count);
    most = std::max(most, lsb);
    least = std::min(least, lsb);
    result.saturated_a += is_end<T>(a) ? count : 0;
    result.saturated_b += is_end<T>(b) ? count : 0;
  });
  result.largest_lsb = most == -least ? first_of_magnitude(of_a, of_b, most) : most > -least ? most : least;
  result.metrics = element_metrics(list);
}

bool is_wide(ElementType type) {
  using enum ElementType;
  return type == int32 || type == uint32 || type == int64 || type == float64;
}

/// Neither side is of a type that holds less than the other's: real values in double, and in float32 otherwise.
bool are_wide(const Tensor& a, const Tensor& b) {
  const auto holds_less = [](ElementType type) { return type == ElementType::float32 || type == ElementType::float16; };
  return (is_wide(a.type()) || is_wide(b.type())) && !holds_less(a.type()) && !holds_less(b.type());
}

/// scale * (code - zero point) of every value, which may need more than 64 bits at the ends of int64.
std::vector<double> wide_reals(const Tensor& tensor, const Quantization& quantization) {
  std::size_t channels = 1, inner = 1;
  if (quantization.scales.size() > 1 || quantization.zero_points.size() > 1) {
    const auto axis = static_cast<std::size_t>(quantization.axis);
    channels = static_cast<std::size_t>(tensor.shape()[axis]);
    for (std::size_t later = axis + 1; later < tensor.shape().rank(); ++later) inner *= static_cast<std::size_t>(tensor.shape()[later]);
  }
  std::vector<double> reals(static_cast<std::size_t>(tensor.element_count()));
  visit_element_type(tensor.type(), [&]<class T>() {
    const auto values = tensor.values<T>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
        const std::size_t channel = i / inner % channels;
        reals[i] = quantization.scale(channel) * static_cast<double>(Int128{values[i]} - quantization.zero_point(channel));
      } else {
        reals[i] = static_cast<double>(values[i]);
      }
    }
  });
  return reals;
}

/// Values that float32 does not hold.
struct WideReals {
  std::vector<double> a, b;
  std::vector<double> errors;  ///< |b - a|, of integers that mean the same by their codes exact until it is scaled
};

WideReals wide_reals(const Tensor& a, const Quantization& a_quantization, const Tensor& b, const Quantization& b_quantization) {
  WideReals reals{wide_reals(a, a_quantization), wide_reals(b, b_quantization), {}};
  for (std::size_t i = 0; i < reals.a.size(); ++i) reals.errors.push_back(std::abs(reals.a[i] - reals.b[i]));
  const bool count_alike =
      a_quantization == b_quantization && a_quantization.scales.size() <= 1 && is_integer(a.type()) && is_integer(b.type());
  if (!count_alike) return reals;
  for (std::size_t i = 0; i < reals.errors.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i);
    const Int128 steps = Int128{b.integer_at(at)} - a.integer_at(at);
    reals.errors[i] = a_quantization.scale() * static_cast<double>(steps < 0 ? -steps : steps);
  }
  return reals;
}

void count_differing(const WideReals& reals, TensorDifference& result) {
  for (std::size_t i = 0; i < reals.errors.size(); ++i) {
    const double a = reals.a[i], b = reals.b[i];
    const bool are_same = reals.errors[i] == 0 || (std::isnan(a) && std::isnan(b)) || (std::isinf(a) && a == b);
    if (!are_same) note_differing(static_cast<std::int64_t>(i), a, b, result);
  }
}

std::int64_t count_saturated(const Tensor& tensor) {
  if (tensor.type() == ElementType::float16) {
    const auto values = tensor.values<Float16>();
    return std::count_if(values.begin(), values.end(), [](Float16 value) { return (value.bits & 0x7FFF) >= float16_max_bits; });
  }
  if (!is_integer(tensor.type())) return 0;
  return visit_element_type(tensor.type(), [&]<class T>() -> std::int64_t {
    const auto values = tensor.values<T>();
    return std::count_if(values.begin(), values.end(), is_end<T>);
  });
}

}  // namespace

DifferencePlaces::DifferencePlaces(const Shape& shape) : leading_(1) {
  const std::size_t rank = shape.rank();
  for (std::size_t axis = 0; axis < rank; ++axis) {
    const std::size_t from_end = rank - axis;  // 1: channels, 2: x, 3: y
    const bool is_sample = axis == 0 && from_end > 1;
    if (from_end > 3 || is_sample) leading_ *= shape[axis];
    else sizes_[3 - from_end] = shape[axis];
  }
  for (std::size_t axis = 0; axis < sizes_.size(); ++axis) parts_[axis] = std::min(sizes_[axis], most);
  by_place_.resize(static_cast<std::size_t>(rows() * columns()));
  by_channel_.resize(static_cast<std::size_t>(channels()));
}

void DifferencePlaces::add(std::int64_t index) {
  const auto part = [&](std::size_t axis, std::int64_t position) { return position * parts_[axis] / sizes_[axis]; };
  const std::int64_t channel = index % sizes_[2], place = index / sizes_[2];
  const std::int64_t column = part(1, place % sizes_[1]), row = part(0, place / sizes_[1] % sizes_[0]);
  ++by_channel_[static_cast<std::size_t>(part(2, channel))];
  ++by_place_[static_cast<std::size_t>(row * columns() + column)];
}

std::int64_t DifferencePlaces::first_of(std::size_t axis, std::int64_t part) const {
  return (part * sizes_[axis] + parts_[axis] - 1) / parts_[axis];
}

std::int64_t DifferencePlaces::values_in(std::size_t axis, std::int64_t part) const {
  return first_of(axis, part + 1) - first_of(axis, part);
}

double DifferencePlaces::share_at(std::int64_t row, std::int64_t column) const {
  const std::int64_t values = values_in(0, row) * values_in(1, column) * sizes_[2] * leading_;
  return static_cast<double>(by_place_[static_cast<std::size_t>(row * columns() + column)]) / static_cast<double>(values);
}

double DifferencePlaces::share_of_channel(std::int64_t channel) const {
  const std::int64_t values = sizes_[0] * sizes_[1] * values_in(2, channel) * leading_;
  return static_cast<double>(by_channel_[static_cast<std::size_t>(channel)]) / static_cast<double>(values);
}

void LsbHistogram::add(std::int64_t difference, std::int64_t count) {
  counts[static_cast<std::size_t>(std::clamp(difference, -reach - 1, reach + 1) + reach + 1)] += count;
}

TensorDifference difference(const Tensor& a, const Quantization& a_quantization, const Tensor& b, const Quantization& b_quantization) {
  TensorDifference result{
      .shape = b.shape(), .values = b.element_count(), .first = {}, .largest_lsb = {}, .histogram = {}, .where = {}, .metrics = {}};
  const bool are_alike = a.type() == b.type() && a_quantization == b_quantization;
  constexpr std::int64_t most_counted = std::int64_t{1} << 31;
  const bool have_one_scale = a_quantization.scales.size() <= 1 && a_quantization.zero_points.size() <= 1;
  const bool are_bytes = a.type() == ElementType::int8 || a.type() == ElementType::uint8;
  if (are_alike && are_bytes && have_one_scale && result.values < most_counted) {
    visit_element_type(a.type(), [&]<class T>() {
      if constexpr (std::is_same_v<T, std::int8_t> || std::is_same_v<T, std::uint8_t>) {
        count_differing<T>(a.values<T>(), b.values<T>(), identical, result);
        take_figures(a.values<T>(), b.values<T>(), a_quantization, result);
      }
    });
    return result;
  }
  if (are_alike) {
    visit_element_type(a.type(), [&]<class T>() {
      count_differing<T>(a.values<T>(), b.values<T>(), identical, result);
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) count_lsb(a.values<T>(), b.values<T>(), result);
    });
  }
  result.saturated_a = count_saturated(a);
  result.saturated_b = count_saturated(b);
  if (are_wide(a, b)) {
    const WideReals reals = wide_reals(a, a_quantization, b, b_quantization);
    if (!are_alike) count_differing(reals, result);
    result.metrics = element_metrics(reals.b, reals.a, reals.errors);
    return result;
  }
  const Tensor real_a = dequantized(a, a_quantization);
  const Tensor real_b = dequantized(b, b_quantization);
  if (!are_alike) count_differing<float>(real_a.values<float>(), real_b.values<float>(), equal_reals, result);
  result.metrics = element_metrics(real_b.values<float>(), real_a.values<float>());
  return result;
}

ElementMetrics real_metrics(const Tensor& mine, const Quantization& mine_quantization, const Tensor& truth,
                            const Quantization& truth_quantization) {
  if (are_wide(mine, truth)) {
    const WideReals reals = wide_reals(truth, truth_quantization, mine, mine_quantization);
    return element_metrics(reals.b, reals.a, reals.errors);
  }
  return element_metrics(dequantized(mine, mine_quantization).values<float>(), dequantized(truth, truth_quantization).values<float>());
}

std::vector<std::int64_t> top_positions(const Tensor& tensor, std::int64_t values_per_sample) {
  std::vector<std::int64_t> top;
  visit_element_type(tensor.type(), [&]<class T>() {
    const auto all = tensor.values<T>();
    for (auto start = all.begin(); start != all.end(); start += values_per_sample) {
      const auto less = [](T a, T b) {
        if constexpr (std::is_same_v<T, Float16>) return static_cast<float>(a) < static_cast<float>(b);
        else return a < b;
      };
      top.push_back(std::max_element(start, start + values_per_sample, less) - start);
    }
  });
  return top;
}

std::vector<std::int64_t> coordinates(const Shape& shape, std::int64_t index) {
  std::vector<std::int64_t> position(shape.rank());
  for (std::size_t axis = shape.rank(); axis-- > 0;) {
    position[axis] = index % shape[axis];
    index /= shape[axis];
  }
  return position;
}

}  // namespace lastbit
