// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The fixed-point functions and the interpolation tables. Where a function is defined by an exact formula the oracle is that formula in
// 128 bits and every value must be equal; where it approximates exp, tanh or 1/(1+x), the oracle is the C library in long double and the
// largest error is bounded in units of the last place: a property of the device's algorithm, measured over its whole domain.
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <type_traits>
#include <vector>

#include "lastbit/arith/fixed_function.hpp"
#include "lastbit/arith/fixed_function_i16.hpp"
#include "lastbit/arith/fixed_table.hpp"
#include "support/catch.hpp"
#include "support/fixed_point.hpp"

namespace {

using namespace lastbit;
using namespace lastbit::test;

constexpr std::int32_t min_i32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int32_t max_i32 = std::numeric_limits<std::int32_t>::max();

// Everything is usable in a constant.
static_assert(doubling_high_multiply_i32(min_i32, min_i32) == max_i32);  // the only product that saturates
static_assert(doubling_high_multiply_i32(-1, 1 << 30) == 0);             // negative tie: half_up from half_away
static_assert(doubling_high_multiply_i32(1, 1 << 30) == 1);
static_assert(doubling_high_multiply_i16(-32768, -32768) == 32767);
static_assert(divide_by_power_of_two_i32(-3, 1) == -2);  // negative tie: half_away from half_up
static_assert(divide_by_power_of_two_i32(min_i32, 31) == -1);
static_assert(divide_by_power_of_two_i32(max_i32, 31) == 1);
static_assert(fixed_exp<5>(0) == max_i32 && fixed_exp<8>(min_i32) == 0);
static_assert(fixed_logistic<4>(0) == 1 << 30 && fixed_tanh<4>(0) == 0);
static_assert(fixed_one_over_one_plus(0) == max_i32);  // 1.0 saturates

/// 0, ±2^k and neighbours, extremes, and random values of a fixed seed.
std::vector<std::int32_t> chosen_values() {
  std::vector<std::int32_t> values{0, min_i32, min_i32 + 1, max_i32, max_i32 - 1};
  for (int k = 0; k < 31; ++k) {
    for (const std::int32_t delta : {-1, 0, 1}) {
      values.push_back((1 << k) + delta);
      values.push_back(-(1 << k) + delta);
    }
  }
  std::mt19937 random(20240611);
  for (int i = 0; i < 200; ++i) values.push_back(static_cast<std::int32_t>(random()));
  return values;
}

long double real(std::int32_t raw, int integer_bits) { return std::ldexp(static_cast<long double>(raw), integer_bits - 31); }
long double error_in_ulp(std::int32_t raw_q0_31, long double exact) { return std::abs(raw_q0_31 - std::ldexp(exact, 31)); }

}  // namespace

TEST_CASE("doubling high multiply: the exact product, half_up, saturated") {
  const auto values = chosen_values();
  for (const std::int32_t a : values) {
    for (const std::int32_t b : values) {
      const Int128 exact = half_up_oracle(Int128{a} * b, 31);
      REQUIRE(doubling_high_multiply_i32(a, b) == static_cast<std::int64_t>(exact > max_i32 ? Int128{max_i32} : exact));
    }
  }
  for (std::int32_t a = -32768; a < 32768; ++a) {
    for (const std::int32_t b : {-32768, -32767, -16384, -3, -1, 0, 1, 2, 16384, 23432, 32767}) {
      const auto exact = static_cast<std::int64_t>(half_up_oracle(Int128{a} * b, 15));
      const auto got = doubling_high_multiply_i16(static_cast<std::int16_t>(a), static_cast<std::int16_t>(b));
      if (got != std::min<std::int64_t>(exact, 32767)) FAIL("a " << a << " b " << b << " got " << got);
    }
  }
}

TEST_CASE("division by a power of two: half_away for every exponent") {
  for (const std::int32_t value : chosen_values()) {
    for (int exponent = 0; exponent <= 62; ++exponent) {
      REQUIRE(divide_by_power_of_two_i32(value, exponent) == static_cast<std::int64_t>(half_away_oracle(value, exponent)));
    }
  }
}

TEST_CASE("exp of a remainder rises and stays below 2^31 for all 2^24 remainders of Q5.26") {
  std::int32_t previous = 0;
  for (std::int32_t remainder = -(1 << 24); remainder < 0; ++remainder) {
    const std::int32_t value = fixed_exp_above_minus_quarter(remainder * 32);
    if (value < previous) FAIL("falls at " << remainder);
    previous = value;
  }
  CHECK(previous == 2147483124);
}

TEST_CASE("exp is within 493 ulp in every format and never falls") {
  const auto sweep = [](auto format) {
    constexpr int integer_bits = decltype(format)::value;
    std::int32_t previous = 0;
    for (std::int64_t raw = min_i32; raw <= 0; raw += 4099) {
      const auto value = static_cast<std::int32_t>(raw);
      const std::int32_t got = fixed_exp<integer_bits>(value);
      if (error_in_ulp(got, std::exp(real(value, integer_bits))) > 493) FAIL("Q" << integer_bits << " at " << value << ": " << got);
      if (got < previous) FAIL("Q" << integer_bits << " falls at " << value);
      previous = got;
    }
  };
  sweep(std::integral_constant<int, 0>{});
  sweep(std::integral_constant<int, 3>{});
  sweep(std::integral_constant<int, 5>{});
  sweep(std::integral_constant<int, 8>{});
}

TEST_CASE("exp at the seams: multiples of 1/4, where another factor takes over, and of 32") {
  for (std::int32_t quarters = 1; quarters < 128; ++quarters) {
    const std::int32_t seam = -quarters * (1 << 24);
    CHECK(fixed_exp<5>(seam - 1) <= fixed_exp<5>(seam));
    CHECK(fixed_exp<5>(seam) <= fixed_exp<5>(seam + 1));
  }
  CHECK(fixed_exp<6>(-(1 << 30)) == fixed_exp<5>(min_i32));     // exactly -32 is still computed
  CHECK(fixed_exp<8>(-(1 << 28) - 1) == 0);                     // below it is not
  CHECK(fixed_exp<3>(-(1 << 20)) == fixed_exp<5>(-(1 << 18)));  // one value in two formats
}

TEST_CASE("1 / (1 + x) is within 7 ulp, (1 - x) / (1 + x) within 14") {
  for (std::int64_t raw = 0; raw <= max_i32; raw += 1021) {
    const auto x = static_cast<std::int32_t>(raw);
    const long double exact = 1 / (1 + real(x, 0));
    if (error_in_ulp(fixed_one_over_one_plus(x), exact) > 7) FAIL("1 / (1 + x) at " << x);
    if (error_in_ulp(fixed_one_minus_over_one_plus(x), (1 - real(x, 0)) * exact) > 14) FAIL("(1 - x) / (1 + x) at " << x);
  }
}

TEST_CASE("logistic is within 154 ulp and its two sides add up to one; tanh within 307 ulp and odd") {
  for (std::int64_t raw = 1; raw <= max_i32; raw += 2053) {
    const auto value = static_cast<std::int32_t>(raw);
    const std::int32_t logistic = fixed_logistic<4>(value);
    const std::int32_t tanh = fixed_tanh<4>(value);
    if (error_in_ulp(logistic, 1 / (1 + std::exp(-real(value, 4)))) > 154) FAIL("logistic at " << value << ": " << logistic);
    if (error_in_ulp(tanh, std::tanh(real(value, 4))) > 307) FAIL("tanh at " << value << ": " << tanh);
    if (fixed_logistic<4>(-value) != max_i32 - logistic || fixed_tanh<4>(-value) != -tanh) FAIL("not symmetric at " << value);
  }
  CHECK(fixed_logistic<4>(min_i32) == 241);  // -2^31 has no positive counterpart: 1.0 - 1 / (1 + exp(-16))
  CHECK(fixed_tanh<4>(min_i32) == min_i32 + 1);
}

TEST_CASE("reciprocal of a sum: normalised, then within 7 ulp") {
  const auto check = [](std::int64_t sum, int bits_over_unit) {
    const FixedReciprocal inverse = fixed_reciprocal(sum, 12);
    CHECK(inverse.bits_over_unit == bits_over_unit);
    const long double exact = std::ldexp(1.0L / static_cast<long double>(sum), 19 + bits_over_unit);
    CHECK(error_in_ulp(inverse.reciprocal, exact) <= 7);
  };
  check(1 << 19, 0);                      // 1.0
  check((1 << 19) + (1 << 17), 0);        // 1.25
  check((1 << 20) - 1, 0);                // just below 2
  check(1 << 20, 1);                      // 2
  check(std::int64_t{4095} << 19, 11);    // the most columns of a 32-bit sum
  check(std::int64_t{100000} << 19, 16);  // beyond it
}

TEST_CASE("the generated tables are the recorded ones") {
  CHECK(hash_of(exp_table_q0_15) == 0xe7c4b22216838175U);
  CHECK(hash_of(one_over_one_plus_table_q0_15) == 0xa21de4145951068eU);
  CHECK(hash_of(sigmoid_table_u0_16) == 0x5ba7d1fd7d95226cU);
  CHECK(one_over_one_plus_table_q0_15[160] == 24966);  // 24967 without the rounding of the sum to float
  CHECK(one_over_one_plus_table_q0_15[294] == 20816);  // likewise 20815
  CHECK(sigmoid_table_u0_16[28] == 49975);             // the function itself is 49973.95
}

TEST_CASE("the table of 1 / (1 + x) made in double differs in two entries") {
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < one_over_one_plus_table_q0_15.size(); ++i)
    if (one_over_one_plus_table_q0_15_by_double[i] != one_over_one_plus_table_q0_15[i]) differing.push_back(i);
  CHECK(differing == std::vector<std::size_t>{160, 294});
  CHECK(one_over_one_plus_table_q0_15_by_double[160] == 24967);
  CHECK(one_over_one_plus_table_q0_15_by_double[294] == 20815);
}

TEST_CASE("interpolation: within 2 units of exp and 1 / (1 + x) for every 16-bit argument") {
  for (std::int32_t v = -32768; v < 32768; ++v) {
    const long double unit = (v + 32768) / 65536.0L;
    const auto argument = static_cast<std::int16_t>(v);
    if (std::abs(interpolate(exp_table_q0_15, argument) - 32768 * std::exp(10 * unit - 10)) > 2) FAIL("exp at " << v);
    if (std::abs(interpolate(one_over_one_plus_table_q0_15, argument) - 32768 / (1 + unit)) > 2) FAIL("1 / (1 + x) at " << v);
  }
}

// What gemmlowp's 16-bit functions give of every input, by a transcription that equals ai-edge-litert's lstm in every recorded value.
TEST_CASE("logistic and tanh of 16 bits: every input of every format") {
  CHECK(hash_of_range(-32768, 32767, [](int x) { return fixed_logistic_i16(static_cast<std::int16_t>(x), 3); }) == 0xcc77ab6629a914a1U);
  constexpr std::array<std::uint64_t, 7> tanh_hashes{0xd64e676ac4e53441U, 0xa033418105d0e549U, 0x93322a1544efbad5U, 0x97e75728c8c7e89cU,
                                                     0x4c015a117c7cd9aaU, 0x2dfe481ded763b06U, 0x76de8d3a29088e4cU};
  for (int bits = 0; bits <= 6; ++bits)
    CHECK(hash_of_range(-32768, 32767, [&](int x) { return fixed_tanh_i16(static_cast<std::int16_t>(x), bits); }) ==
          tanh_hashes[static_cast<std::size_t>(bits)]);
}

TEST_CASE("logistic and tanh of 16 bits: within 7 and 13 units of the functions") {
  for (std::int32_t v = -32768; v < 32768; ++v) {
    const auto value = static_cast<std::int16_t>(v);
    for (int bits = 0; bits <= 6; ++bits) {
      const long double x = std::ldexp(static_cast<long double>(v), bits - 15);
      if (std::abs(fixed_logistic_i16(value, bits) - 32768 / (1 + std::exp(-x))) > 7) FAIL("logistic of " << v << " with " << bits);
      if (std::abs(fixed_tanh_i16(value, bits) - 32768 * std::tanh(x)) > 13) FAIL("tanh of " << v << " with " << bits);
    }
  }
  CHECK(fixed_logistic_i16(0, 3) == 1 << 14);
  CHECK(fixed_tanh_i16(0, 3) == 0);
  CHECK(fixed_logistic_i16(-8192, 3) == 3901);  // the function itself is 3906.04
}
