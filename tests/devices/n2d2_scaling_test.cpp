// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How N2D2 approximates scales: a published export log row by row, and what the approximations promise.
#include "lastbit/backends/n2d2_scaling.hpp"

#include <cmath>
#include <random>

#include "support/catch.hpp"

using namespace lastbit;
using namespace lastbit::n2d2;

namespace {

/// A row of the log (N2D2 issue of 2021, "81 % in PyTorch, 14.6 % after the export") with six digits, and what the procedure makes of it.
struct LoggedLayer {
  int layer;
  double previous, activation, bias, quant, global, cell;
  int shift;
  double weight_factor;
  int first, second;
};

const LoggedLayer logged[] = {
    {17, 1, 605.467, 1.57456, 63.251, 384.532, 4.1115e-05, 14, .673628, 15, 16},
    {20, 384.532, 885.995, 1.10175, 127, 804.168, 0.00376515, 8, .963878, 9, 9},
    {23, 804.168, 1939.13, 0.77638, 127, 2497.66, 0.00253519, 8, .649009, 9, 10},
    {26, 2497.66, 3749.77, 0.445755, 127, 8412.17, 0.00233787, 8, .598495, 9, 11},
    {29, 8412.17, 2682.97, 0.24595, 127, 10908.6, 0.00607205, 7, .777222, 8, 8},
    {33, 10908.6, 10430.1, 0.107331, 127, 97176.4, 0.000883903, 10, .905117, 11, 11},
    {35, 97176.4, 2751.02, 0.0528017, 127, 52100.9, 0.0146863, 6, .939923, 7, 7},
    {37, 52100.9, 3834.95, 0.0259759, 255, 147635, 0.00138393, 9, .708572, 10, 11},
};

bool agree(double found, double printed, double share) { return std::abs(found / printed - 1) <= share; }

TEST_CASE("every row of the published log: global and cell scaling to 6e-6, shifts and weight factors as printed") {
  for (const LoggedLayer& row : logged) {
    INFO("layer " << row.layer);
    const PrintedScaling found = printed_scaling(row.previous, row.activation, row.bias, row.quant);
    CHECK(agree(found.global, row.global, 6e-6));
    CHECK(agree(found.cell, row.cell, 6.1e-6));
    const SingleShift single = single_shift_for(found.cell);
    CHECK(single.shift == row.shift);
    CHECK(agree(single.weight_factor, row.weight_factor, 7e-6));
    const DoubleShift twice = double_shift_for(found.cell);
    CHECK(twice.first == row.first);
    CHECK(twice.second == row.second);
  }
}

TEST_CASE("the printed factors of 8 bits: signed or unsigned in, signed or unsigned out") {
  using enum CodeSign;
  CHECK(std::abs(quant_factor(8, is_signed, is_unsigned) - 63.251) < 5e-4);
  CHECK(quant_factor(8, is_unsigned, is_unsigned) == 127);
  CHECK(quant_factor(8, is_unsigned, is_signed) == 255);
  CHECK(quant_factor(8, is_signed, is_signed) == 127);
  CHECK(largest_code(4, is_signed) == 7);
  CHECK(largest_code(16, is_unsigned) == 65535);
}

TEST_CASE("a power of two is its own shift, and twice its half") {
  for (int e = 0; e <= 30; ++e) {
    const double scale = std::ldexp(1.0, -e);
    const SingleShift single = single_shift_for(scale);
    CHECK(single.shift == e);
    CHECK(single.weight_factor == 1);
    const DoubleShift twice = double_shift_for(scale);
    CHECK(twice.first == e + 1);
    CHECK(twice.second == e + 1);
    CHECK(twice.weight_factor == 1);
  }
}

TEST_CASE("2 % decide: what one shift misses by less stays as it is, the rest goes into the weights") {
  CHECK(single_shift_for(0.25 / 0.985).shift == 2);  // 2^-2 is 98.5 % of it
  CHECK(single_shift_for(0.25 / 0.985).weight_factor == 1);
  CHECK(single_shift_for(0.25 / 0.975).shift == 1);  // 97.5 %: the next larger power, and weights of 0.51
  CHECK(std::abs(single_shift_for(0.25 / 0.975).weight_factor - 1 / 1.95) < 1e-12);
  std::mt19937 random(4);
  for (int i = 0; i < 20000; ++i) {
    const double scale = std::exp2(-20.0 * static_cast<double>(random()) / 4294967296.0);
    const SingleShift single = single_shift_for(scale);
    const double share = std::ldexp(1.0, -single.shift) / scale;
    REQUIRE(std::abs(share - single.precision) < 1e-12);
    REQUIRE((single.weight_factor == 1 ? share >= 0.98 && share <= 1 : std::abs(share * single.weight_factor - 1) < 1e-12));
    REQUIRE(single.weight_factor > 0.5);
    const DoubleShift twice = double_shift_for(scale);
    const double sum = (std::ldexp(1.0, -twice.first) + std::ldexp(1.0, -twice.second)) / scale;
    REQUIRE(twice.first <= twice.second);
    REQUIRE((twice.weight_factor == 1 ? sum >= 0.98 && sum <= 1 : std::abs(sum * twice.weight_factor - 1) < 1e-12));
    REQUIRE(twice.weight_factor > 0.74);  // two terms leave at most a third too much
  }
}

TEST_CASE("fixed-point factors: the most fractional bits that the largest scale allows, at most 50") {
  CHECK(fixed_fraction_bits(15, 1.0) == 14);
  CHECK(fixed_fraction_bits(15, 32767.0) == 0);
  CHECK(fixed_fraction_bits(31, 1.0) == 30);
  CHECK(fixed_fraction_bits(15, 1e-20) == 50);
  CHECK(fixed_multiplier_for(0.00253519, fixed_fraction_bits(15, 0.00253519)).multiplier == 21267);
  CHECK(fixed_fraction_bits(15, 0.00253519) == 23);
  CHECK(fixed_multiplier_for(2.5 / 16, 4).multiplier == 3);  // half away from zero
  std::mt19937 random(5);
  for (int i = 0; i < 20000; ++i) {
    const double scale = std::exp2(4 - 24.0 * static_cast<double>(random()) / 4294967296.0);
    const int places = fixed_fraction_bits(15, scale);
    const auto multiplier = fixed_multiplier_for(scale, places).multiplier;
    REQUIRE((multiplier >= 16383 && multiplier <= 32767));
    REQUIRE(std::abs(std::ldexp(static_cast<double>(multiplier), -places) / scale - 1) <= 0x1p-15);
  }
}

TEST_CASE("a factor as the exporter prints it") {
  CHECK(printed_factor(0.004926356952637434) == 0.00492636);
  CHECK(printed_factor(0.5) == 0.5);
}

}  // namespace
