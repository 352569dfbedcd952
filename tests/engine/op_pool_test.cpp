// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Averages: division, reciprocals, and the mean's folded count.
#include "lastbit/backends/k210.hpp"
#include "lastbit/backends/nvdla.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/op/mean.hpp"
#include "lastbit/op/pool.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

constexpr RescaleOperands wide{.min = -1'000'000, .max = 1'000'000};

SumArithmetic exact(Rounding rule) { return {.output = {.chain = {stage::divide_by_count(rule), stage::clamp()}}}; }

/// 1 / count as a multiplier.
SumArithmetic by_reciprocal(int bits, Rounding of_reciprocal, Normalization normalization, const Chain& chain) {
  return {.output = {{.arithmetic = ScaleArithmetic::f64,
                      .significant_bits = static_cast<std::uint8_t>(bits),
                      .rounding = of_reciprocal,
                      .normalization = normalization,
                      .min_exponent = -62,
                      .max_exponent = 62},
                     chain,
                     {{}, {Quantity::count, Quantity::one}}}};
}

std::int64_t average(const SumArithmetic& rule, std::int64_t sum, std::int64_t count) { return Average(rule, 0.5, 0.5, count, wide)(sum); }

TEST_CASE("average: exact division by every rule") {
  for (const Rounding rule : all_roundings) {
    Tally tally;
    for (std::int64_t count = 1; count <= 50; ++count) {
      for (std::int64_t sum = -128 * count; sum <= 127 * count; sum += 1 + count / 8) {
        tally.equal(average(exact(rule), sum, count), rounded(sum, count, rule), sum, count, rule);
      }
    }
    tally.check(50000);
  }
}

TEST_CASE("average: the leading bits of 1/n, exactly, for every count up to 70000") {
  const SumArithmetic truncated = by_reciprocal(16, Rounding::floor, Normalization::one_to_two,
                                                {stage::multiply(), stage::shift_right(Rounding::half_even), stage::clamp()});
  CHECK(average(truncated, 9, 9) == 1);
  CHECK(average(exact(Rounding::half_away), 6 * 127 + 3, 6) == 128);
  CHECK(average(truncated, 6 * 127 + 3, 6) == 127);  // the truncated 1/6 falls short of the tie
  std::mt19937_64 random(15);
  Tally tally;
  for (const int bits : {8, 15, 16}) {
    for (const Rounding reciprocal_rule : {Rounding::floor, Rounding::half_even, Rounding::half_away}) {
      const SumArithmetic pool = by_reciprocal(bits, reciprocal_rule, Normalization::one_to_two,
                                               {stage::multiply(), stage::shift_right(Rounding::half_even), stage::clamp()});
      for (std::int64_t count = 1; count <= 70000; count += count < 1000 ? 1 : 37) {
        // 2^(bits - 1) <= 2^k / count < 2^bits.
        const int k = bits - 1 + bit_length(count - 1);
        const Int128 reciprocal = rounded(two_to_the(k), count, reciprocal_rule);
        const std::int64_t sum = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(256 * count)) - 128 * count;
        tally.equal(average(pool, sum, count), rounded(sum * reciprocal, two_to_the(k), Rounding::half_even), sum, count, bits,
                    reciprocal_rule);
      }
    }
  }
  tally.check(9 * 2000);
}

TEST_CASE("average: a reciprocal in fixed point, rounded, at least 1") {
  Tally tally;
  for (const int sum_shift : {0, 4}) {
    const SumArithmetic rule =
        by_reciprocal(9 + sum_shift, Rounding::half_up, Normalization::fixed_point,
                      sum_shift == 0 ? Chain{stage::multiply(), stage::shift_right_by(9, Rounding::floor), stage::clamp()}
                                     : Chain{stage::shift_right_by(4, Rounding::floor), stage::multiply(),
                                             stage::shift_right_by(9, Rounding::floor), stage::clamp()});
    for (std::int64_t count = 1; count <= 8192; count += count < 100 ? 1 : 311) {
      const Int128 k = std::max<Int128>(rounded(two_to_the(9 + sum_shift), count, Rounding::half_up), 1);
      for (std::int64_t sum = -128 * count; sum <= 127 * count; sum += 1 + count / 3) {
        const Int128 shifted = rounded(sum, two_to_the(sum_shift), Rounding::floor);
        tally.equal(average(rule, sum, count), rounded(shifted * k, two_to_the(9), Rounding::floor), sum, count, sum_shift);
      }
    }
  }
  tally.check(10000);
}

TEST_CASE("average: the reciprocals of width and height in turn, each truncated and each product rounded") {
  std::mt19937_64 random(16);
  Tally tally;
  std::size_t twice_shows = 0;
  for (const Extent2d filter : {Extent2d{1, 8}, Extent2d{3, 2}, Extent2d{7, 7}, Extent2d{2, 4}}) {
    const Quantization unit{{1.0}, {0}};
    ModelBuilder builder;
    const auto x = builder.input({"x", ElementType::int8, {1, 40 * filter.height, 40 * filter.width, 1}, unit});
    const Model model = builder.finished(
        {builder.operation(OperationKind::average_pool2d, {x}, {"y", ElementType::int8, {1, 40, 40, 1}, unit},
                           Pool2dAttributes{.filter = filter, .stride = filter, .padding = {.mode = PaddingMode::valid}})});
    std::vector<std::int8_t> codes(static_cast<std::size_t>(1600 * filter.height * filter.width));
    for (std::int8_t& code : codes) code = static_cast<std::int8_t>(random());
    const Tensor input = Tensor::from<std::int8_t>(model.tensor(0).shape, codes);
    const Trace trace = run(model, nvdla, std::vector<Tensor>{input});
    for (std::int64_t row = 0; row < 40; ++row) {
      for (std::int64_t column = 0; column < 40; ++column) {
        Int128 sum = 0;
        for (std::int64_t i = 0; i < filter.height; ++i)
          for (std::int64_t j = 0; j < filter.width; ++j)
            sum += codes[static_cast<std::size_t>((row * filter.height + i) * 40 * filter.width + column * filter.width + j)];
        const Int128 by_width = rounded(sum * (65536 / filter.width), two_to_the(16), Rounding::half_away);
        const Int128 expected = rounded(by_width * (65536 / filter.height), two_to_the(16), Rounding::half_away);
        tally.equal(trace.tensors.back()->integer_at(row * 40 + column), expected, row, column, filter.height, filter.width);
        twice_shows += expected == rounded(sum, filter.height * filter.width, Rounding::half_away) ? 0U : 1U;
      }
    }
  }
  tally.check(6400);
  CHECK(twice_shows > 100);
}

TEST_CASE("average: where the edge is repeated, a window beyond the image sees the nearest value again") {
  std::mt19937_64 random(17);
  Backend centred = k210;  // the sums less their zero point, term by term in 10 bits
  centred.average_pool.sum.centring = Centring::own_zero_point;
  centred.average_pool.sum.output.chain = {stage::divide_by_count(Rounding::floor), stage::add_zero_point(), stage::clamp()};
  Tally tally;
  for (const Backend& backend : {k210, centred}) {
    for (const auto& [filter, stride, top, left] :
         {std::tuple{2, 1, 0, 0}, std::tuple{3, 2, 1, 1}, std::tuple{4, 3, 2, 0}, std::tuple{2, 2, 0, 1}}) {
      const Quantization same{{1.0}, {9}};
      constexpr std::int64_t height = 7, width = 5, channels = 3;
      const std::int64_t rows = (height + top - 1) / stride + 1, columns = (width + left - 1) / stride + 1;
      ModelBuilder builder;
      const auto x = builder.input({"x", ElementType::uint8, {1, height, width, channels}, same});
      const Model model = builder.finished(
          {builder.operation(OperationKind::average_pool2d, {x}, {"y", ElementType::uint8, {1, rows, columns, channels}, same},
                             Pool2dAttributes{.filter = {filter, filter},
                                              .stride = {stride, stride},
                                              .padding = {PaddingMode::explicit_sizes, top, 0, left, 0},
                                              .partial_windows = PartialWindows::every_start})});
      std::vector<std::uint8_t> codes(static_cast<std::size_t>(height * width * channels));
      for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random());
      const Trace trace = run(model, backend, std::vector<Tensor>{Tensor::from<std::uint8_t>(model.tensor(0).shape, codes)});
      std::int64_t at = 0;
      for (std::int64_t y = 0; y < rows; ++y) {
        for (std::int64_t x0 = 0; x0 < columns; ++x0) {
          for (std::int64_t c = 0; c < channels; ++c, ++at) {
            Int128 sum = 0;
            for (std::int64_t i = 0; i < filter; ++i) {
              for (std::int64_t j = 0; j < filter; ++j) {
                const std::int64_t row = std::clamp<std::int64_t>(y * stride - top + i, 0, height - 1);
                const std::int64_t column = std::clamp<std::int64_t>(x0 * stride - left + j, 0, width - 1);
                sum += codes[static_cast<std::size_t>((row * width + column) * channels + c)];
              }
            }
            tally.equal(trace.tensors.back()->integer_at(at), rounded(sum, filter * filter, Rounding::floor), y, x0, c, filter);
          }
        }
      }
    }
  }
  tally.check(390);
}

TEST_CASE("average: what centring adds to the sum of the codes inside") {
  const SumArithmetic codes{.centring = Centring::nothing}, centred{};
  CHECK(centring_of(codes, 3, 4, 4) == 0);
  CHECK(centring_of(codes, 3, 4, 9) == 15);  // five taps outside, each the zero point
  CHECK(centring_of(centred, 3, 4, 9) == -12);
}

TEST_CASE("mean: as many bits of the count as the multiplier has room for, the quotient truncated") {
  std::mt19937_64 random(16);
  Tally tally;
  for (int exponent = -31; exponent <= 10; ++exponent) {
    for (std::int64_t count = 1; count <= 5000; count += 1 + count / 7) {
      const std::int64_t multiplier = (std::int64_t{1} << 30) + static_cast<std::int64_t>(random() % (1U << 30));
      const EncodedScale found = fold_count({multiplier, 31, 31, exponent, 0}, count);
      int k = 0;  // the largest one of three limits
      while (two_to_the(k + 1) <= count && k < 32 && k < 31 + exponent) ++k;
      tally.equal(found.multiplier, rounded(multiplier * two_to_the(k), count, Rounding::floor), multiplier, count, exponent);
      tally.equal(found.exponent, exponent - k, count, exponent);
    }
  }
  tally.check(42 * 40);
}

}  // namespace
}  // namespace lastbit
