// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Vectors that are four plain numbers: what every other path is compared with, and what serves where there is none.
#include <cstring>
#include <utility>

#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

namespace lastbit::kernels::scalar {
namespace {

struct Sums {
  static constexpr std::size_t count = 4, columns = 2;
  static constexpr std::size_t registers = 16;
  struct Vector {
    std::int32_t lane[count];
  };
  static Vector load(const void* at) {
    Vector v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  static Vector broadcast(const std::byte* group) {
    std::int32_t value;
    std::memcpy(&value, group, sizeof value);
    return {value, value, value, value};
  }
  static void store(void* at, const Vector& v) { std::memcpy(at, &v, sizeof v); }
  static void store_first(void* at, const Vector& v, std::size_t n) { std::memcpy(at, &v, n * sizeof(std::int32_t)); }
};

std::int32_t dot(std::int32_t x, std::int32_t w) {
  const std::int32_t low = static_cast<std::int16_t>(x) * static_cast<std::int16_t>(w);
  return static_cast<std::int32_t>(static_cast<std::uint32_t>(low) + static_cast<std::uint32_t>((x >> 16) * (w >> 16)));
}
struct Words {
  static Sums::Vector add(Sums::Vector sum, const Sums::Vector& x, const Sums::Vector& w) {
    for (std::size_t i = 0; i < Sums::count; ++i)
      sum.lane[i] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.lane[i]) + static_cast<std::uint32_t>(dot(x.lane[i], w.lane[i])));
    return sum;
  }
};
/// x: two unsigned bytes from bit `first` on, w: two signed ones.
std::int32_t pair(std::int32_t x, std::int32_t w, int first) {
  const auto code = [&](int at) { return (x >> at) & 0xFF; };
  const auto weight = [&](int at) { return std::int32_t{static_cast<std::int8_t>((w >> at) & 0xFF)}; };
  const std::int32_t sum = code(first) * weight(first) + code(first + 8) * weight(first + 8);
  return sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum;
}
struct Pairs {
  static Sums::Vector add(Sums::Vector sum, const Sums::Vector& x, const Sums::Vector& w) {
    for (std::size_t i = 0; i < Sums::count; ++i) {
      const std::int32_t added = pair(x.lane[i], w.lane[i], 0) + pair(x.lane[i], w.lane[i], 16);
      sum.lane[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.lane[i]) + static_cast<std::uint32_t>(added));
    }
    return sum;
  }
};
struct Seconds {
  static constexpr std::size_t pixels = 4;
  struct Vector {
    std::int16_t lane[2 * Sums::count];
  };
  static Vector zero() { return {}; }
  static Sums::Vector load_pair(const std::byte* at) {
    std::uint16_t codes = 0;
    std::memcpy(&codes, at, sizeof codes);
    const auto both = static_cast<std::int32_t>(std::uint32_t{codes} << 16 | codes);
    return {both, both, both, both};
  }
  static Vector add(Vector second, const Sums::Vector& x, const Sums::Vector& w) {
    for (std::size_t i = 0; i < 2 * Sums::count; ++i) {
      const std::int32_t sum = second.lane[i] + pair(x.lane[i / 2], w.lane[i / 2], i % 2 == 0 ? 0 : 16);
      second.lane[i] = static_cast<std::int16_t>(sum > 32767 ? 32767 : sum < -32768 ? -32768 : sum);
    }
    return second;
  }
  static Sums::Vector added(Sums::Vector sum, const std::int16_t* from) {
    for (std::size_t i = 0; i < Sums::count; ++i)
      sum.lane[i] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.lane[i]) + static_cast<std::uint32_t>(std::int32_t{from[i]}));
    return sum;
  }
  static Sums::Vector add_low(const Sums::Vector& sum, const Vector& second) { return added(sum, second.lane); }
  static Sums::Vector add_high(const Sums::Vector& sum, const Vector& second) { return added(sum, second.lane + Sums::count); }
};
struct Magnitudes {
  static Sums::Vector add(const Sums::Vector& sum, const Sums::Vector& x, const Sums::Vector& w) {
    Sums::Vector out = Words::add(sum, x, w);  // below 2^32
    for (std::int32_t& lane : out.lane) lane = lane < 0 ? 0x7FFFFFFF : lane;
    return out;
  }
};

struct Wide {
  static constexpr std::size_t count = 4;
  struct Vector {
    std::int64_t lane[count];
  };
  static Vector load(const void* at) {
    Vector v;
    std::memcpy(&v, at, sizeof v);
    return v;
  }
  static Vector load_words(const std::int16_t* at) { return {at[0], at[1], at[2], at[3]}; }
  static Vector broadcast(std::int64_t value) { return {value, value, value, value}; }
  static void store(void* at, const Vector& v) { std::memcpy(at, &v, sizeof v); }
  template <class Operation>
  static Vector each(const Vector& a, const Vector& b, Operation operation) {
    Vector out;
    for (std::size_t i = 0; i < count; ++i) out.lane[i] = operation(a.lane[i], b.lane[i]);
    return out;
  }
  using Lane = std::int64_t;
  static Vector multiply(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x * y; });
  }
  static Vector add(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x + y; });
  }
  static Vector subtract(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x - y; });
  }
  static Vector bitwise_and(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x & y; });
  }
  static Vector least(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x < y ? x : y; });
  }
  static Vector greatest(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x > y ? x : y; });
  }
  static Vector add_differing(const Vector& counts, const Vector& a, const Vector& b) {
    return add(counts, each(a, b, [](Lane x, Lane y) { return Lane{x != y}; }));
  }
};

#include "engine/kernels/products.inc"

#include "engine/kernels/emptied_pairs.inc"
#include "engine/kernels/steps.inc"

}  // namespace

void dense_pairs(const ProductTile& tile) { dense<Pairs>(tile); }
void dense_emptied_pairs(const ProductTile& tile) { emptied_pairs(tile); }
void dense_words(const ProductTile& tile) { dense<Words>(tile); }
void depthwise_words(const ProductTile& tile) { depthwise<Words>(tile); }
void dense_magnitudes(const ProductTile& tile) { dense<Magnitudes>(tile); }
void depthwise_magnitudes(const ProductTile& tile) { depthwise<Magnitudes>(tile); }
void steps(const StepTile& tile) { wide_steps(tile); }

}  // namespace lastbit::kernels::scalar
