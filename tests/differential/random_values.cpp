// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/random_values.hpp"

#include <algorithm>
#include <bit>

#include "lastbit/arith/integer.hpp"

namespace lastbit::test {
namespace {

enum class Manner : std::uint8_t { tiny, whole, ends, part, one_end };

std::int64_t value_of(Manner manner, IntegerRange range, std::mt19937_64& random) {
  const auto within = [&](std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random() % (static_cast<std::uint64_t>(high - low) + 1));
  };
  switch (manner) {
    case Manner::tiny: return within(std::max<std::int64_t>(range.min, -3), 3);
    case Manner::ends: return random() % 3 == 0 ? 0 : random() % 2 == 0 ? range.min : range.max;
    case Manner::part: return within(range.min / 8, range.max / 8);
    case Manner::one_end: return range.min == 0 || random() % 64 == 0 ? range.max : range.min;
    default: return within(range.min, range.max);
  }
}

/// Sums of these stay numbers most of the time.
float real_value(std::mt19937_64& random) {
  if (random() % 8 == 0) return std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  const auto significand = static_cast<float>(static_cast<std::int32_t>(random() % 8193) - 4096);
  return significand * std::bit_cast<float>(static_cast<std::uint32_t>(127 - 20 + random() % 16) << 23);
}

void set(Tensor& tensor, std::size_t index, std::int64_t value) {
  visit_element_type(tensor.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) tensor.values<T>()[index] = static_cast<T>(value);
  });
}

}  // namespace

Tensor random_values(ElementType type, const Shape& shape, Choices& choose) {
  const auto manner = static_cast<Manner>(choose.below(5));
  std::mt19937_64 random = choose.generator();
  Tensor tensor(type, shape);
  const auto count = static_cast<std::size_t>(shape.element_count());
  if (type == ElementType::float32) {
    for (float& value : tensor.values<float>()) value = real_value(random);
  } else if (type == ElementType::float16) {
    for (Float16& value : tensor.values<Float16>())
      value.bits = static_cast<std::uint16_t>(manner == Manner::whole ? random() : 0x2000 + random() % 0x2000 + (random() % 2 << 15));
  } else {
    for (std::size_t i = 0; i < count; ++i) set(tensor, i, value_of(manner, range_of(type), random));
  }
  return tensor;
}

Tensor random_bias(ElementType type, std::int64_t channels, Choices& choose) {
  enum class Filled : std::uint8_t { none, some, all };
  const auto filled = static_cast<Filled>(choose.below(3));
  const int width = choose.of({12, 16, 20, 24, 32, 40});
  const IntegerRange range = range_of(type);
  std::mt19937_64 random = choose.generator();
  Tensor tensor(type, {channels});
  for (std::size_t o = 0; o < static_cast<std::size_t>(channels); ++o) {
    std::int64_t value = static_cast<std::int64_t>(random() % 2001) - 1000;
    if (filled == Filled::all || (filled == Filled::some && random() % 3 == 0))
      value = random() % 2 == 0 ? max_of_width(width) - (value + 1000) : min_of_width(width) + value + 1000;
    set(tensor, o, std::clamp(value, range.min, range.max));
  }
  return tensor;
}

}  // namespace lastbit::test
