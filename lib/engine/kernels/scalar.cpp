// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Vectors that are four plain numbers: what every other path is compared with, and what serves where there is none.
#include <cstring>
#include <utility>

#include "engine/kernels/paths.hpp"
#include "engine/kernels/unroll.hpp"

#define LASTBIT_TARGET

namespace lastbit::kernels::scalar {
namespace {

struct Lanes {
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
  static Lanes::Vector add(Lanes::Vector sum, const Lanes::Vector& x, const Lanes::Vector& w) {
    for (std::size_t i = 0; i < Lanes::count; ++i)
      sum.lane[i] =
          static_cast<std::int32_t>(static_cast<std::uint32_t>(sum.lane[i]) + static_cast<std::uint32_t>(dot(x.lane[i], w.lane[i])));
    return sum;
  }
};
struct Magnitudes {
  static Lanes::Vector add(const Lanes::Vector& sum, const Lanes::Vector& x, const Lanes::Vector& w) {
    Lanes::Vector out = Words::add(sum, x, w);  // below 2^32
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
  static Vector smaller(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x < y ? x : y; });
  }
  static Vector larger(const Vector& a, const Vector& b) {
    return each(a, b, [](Lane x, Lane y) { return x > y ? x : y; });
  }
  static Vector add_differing(const Vector& counts, const Vector& a, const Vector& b) {
    return add(counts, each(a, b, [](Lane x, Lane y) { return Lane{x != y}; }));
  }
};

#include "engine/kernels/products.inc"
#include "engine/kernels/steps.inc"

}  // namespace

void dense_words(const ProductTile& tile) { dense<Words>(tile); }
void depthwise_words(const ProductTile& tile) { depthwise<Words>(tile); }
void dense_magnitudes(const ProductTile& tile) { dense<Magnitudes>(tile); }
void depthwise_magnitudes(const ProductTile& tile) { depthwise<Magnitudes>(tile); }
void steps(const StepTile& tile) { wide_steps(tile); }

}  // namespace lastbit::kernels::scalar
