// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Piecewise-linear functions, recurrent and fused layers and pools of Intel's GNA against their documented definition, written down again in
// 128-bit integers.
#include <vector>

#include "lastbit/backends/gna.hpp"
#include "lastbit/emulator.hpp"
#include "support/gna_oracle.hpp"
#include "support/layer_model.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// Section 1.8, from the last record backwards.
Int128 pwl_value(const std::vector<std::int32_t>& table, Int128 x) {
  for (std::size_t i = table.size(); i >= 3; i -= 3) {
    const Int128 selector = ((table[i - 3] % 4) + 4) % 4, base = table[i - 3] - selector;
    if (i > 3 ? x < base : x <= base) continue;
    return rounded((x - base) * table[i - 1], two_to_the(8 * (static_cast<int>(selector) + 1)), Rounding::floor) + table[i - 2];
  }
  return table[1];
}

std::vector<std::int32_t> random_table(std::size_t segments, std::mt19937_64& random) {
  std::vector<std::int32_t> table;
  std::int64_t base = min_of_width(32) + 4 * static_cast<std::int64_t>(random() % 100);
  const auto step = static_cast<std::int64_t>((std::uint64_t{1} << 32) / segments);
  for (std::size_t i = 0; i < segments; ++i) {
    table.push_back(static_cast<std::int32_t>(base / 4 * 4 + (base < 0 && base % 4 != 0 ? -4 : 0)) |
                    static_cast<std::int32_t>(random() % 4));
    for (int column = 0; column < 2; ++column)
      table.push_back(
          static_cast<std::int32_t>(one_of(random, {-32768, 32767, 0, 1, -1, narrow_wrap(static_cast<std::int64_t>(random()), 16)})));
    base += 4 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(std::max<std::int64_t>(step - 8, 1)));
  }
  return table;
}

void check_pwl(ElementType type, Overflow overflow, std::mt19937_64& random, Tally& tally) {
  const std::size_t segments = static_cast<std::size_t>(one_of(random, {1, 2, 3, 4, 32, 33, 128}));
  const auto table = random_table(segments, random);
  std::vector<std::int32_t> x = chosen_values<std::int32_t>(random, 50);
  for (std::size_t i = 0; i < table.size(); i += 3) {
    for (std::int64_t delta = -3; delta <= 6; ++delta) x.push_back(static_cast<std::int32_t>(narrow_saturate((table[i] & ~3) + delta, 32)));
  }
  const auto n = static_cast<std::int64_t>(x.size()), rows = static_cast<std::int64_t>(segments);
  Backend backend = gna3_0;
  backend.pwl.output_overflow = overflow;
  const LayerResult found =
      compute(layer_case(OperationKind::pwl, std::monostate{},
                         {{tensor_of<std::int32_t>({n}, x)}, {tensor_of<std::int32_t>({rows, 3}, table)}}, {{type, {n}}}),
              backend);
  const Values y = widened(found.outputs[0]);
  const int bits = static_cast<int>(size_of(type)) * 8;
  std::int64_t saturations = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Int128 exact = pwl_value(table, x[i]);
    tally.equal(y[i], narrowed(exact, bits, overflow), x[i], bits, overflow, segments);
    saturations += static_cast<std::int64_t>(exact != narrowed(exact, bits, overflow));
  }
  tally.equal(found.saturations, saturations, bits, overflow);
}

TEST_CASE("GNA piecewise-linear functions: all shifts at the borders of all segments, every output width") {
  std::mt19937_64 random(53);
  Tally tally;
  for (int round = 0; round < 60; ++round) {
    for (const ElementType type : {ElementType::int8, ElementType::int16, ElementType::int32}) {
      for (const Overflow overflow : {Overflow::saturate, Overflow::wrap}) check_pwl(type, overflow, random, tally);
    }
  }
  tally.check(50000);
}

TEST_CASE("GNA recurrent layers: the feedback of every delay, tiles across inputs and feedback") {
  std::mt19937_64 random(54);
  Tally tally;
  for (std::int64_t delay = 1; delay <= 4; ++delay) {
    for (const std::uint32_t tile : {3U, 5U, 8U, 16384U}) {
      constexpr std::int64_t rows = 5, inputs = 4, outputs = 6;
      Backend backend = gna3_0;
      backend.recurrent.i16_bias32.sum.accumulator.tile = tile;
      const auto x = wandering<std::int16_t>(rows * inputs, random), w = wandering<std::int16_t>(outputs * (inputs + outputs), random);
      const auto feedback = wandering<std::int16_t>(static_cast<std::size_t>(delay * outputs), random);
      const auto bias = wandering<std::int32_t>(outputs, random);
      const auto table = random_table(9, random);
      const LayerResult found = compute(layer_case(OperationKind::recurrent, std::monostate{},
                                                   {{tensor_of<std::int16_t>({rows, inputs}, x)},
                                                    {tensor_of<std::int16_t>({outputs, inputs + outputs}, w)},
                                                    {tensor_of<std::int16_t>({delay, outputs}, feedback), true},
                                                    {tensor_of<std::int32_t>({9, 3}, table)},
                                                    {tensor_of<std::int32_t>({outputs}, bias)}},
                                                   {{ElementType::int16, {rows, outputs}}, {ElementType::int32, {rows, outputs}}}),
                                        backend);
      const Values h = widened(found.outputs[0]), pre = widened(found.outputs[1]);
      Values history = widened(feedback);  // of row n, what row n - delay gave
      for (std::size_t n = 0; n < rows; ++n) {
        Values joined(x.begin() + static_cast<std::ptrdiff_t>(n * inputs), x.begin() + static_cast<std::ptrdiff_t>((n + 1) * inputs));
        joined.insert(joined.end(), history.begin() + static_cast<std::ptrdiff_t>(n * outputs),
                      history.begin() + static_cast<std::ptrdiff_t>((n + 1) * outputs));
        for (std::size_t m = 0; m < outputs; ++m) {
          const Sum sum = tiled_sum(bias[m], 1, joined, widened(w), m * static_cast<std::size_t>(inputs + outputs), tile);
          const Int128 activation = saturated(pwl_value(table, sum.value), 16);
          tally.equal(pre[n * outputs + m], sum.value, delay, tile, n, m);
          tally.equal(h[n * outputs + m], activation, delay, tile, n, m);
          history.push_back(static_cast<std::int64_t>(activation));
        }
      }
    }
  }
  tally.check(900);
}

/// A line of positions, its filter and its pool.
struct FusedCase {
  std::vector<std::int16_t> x, w;
  std::vector<std::int32_t> table;
  std::int64_t size, step;
  PoolKind pool;
};

Values positions_of(const FusedCase& fused) {  // unsaturated
  Values sums;
  for (std::size_t p = 0; p + fused.w.size() <= fused.x.size(); ++p) {
    std::int64_t sum = 0;
    for (std::size_t c = 0; c < fused.w.size(); ++c) sum += std::int64_t{fused.x[p + c]} * fused.w[c];
    sums.push_back(sum);
  }
  return sums;
}

/// Calls visit(window) with every window of a line: as far as it reaches.
Values pooled(const Values& line, const FusedCase& fused, int clamp_bits) {
  Values out;
  for (std::size_t begin = 0; begin < line.size(); begin += static_cast<std::size_t>(fused.step)) {
    Int128 value = line[begin];
    for (std::size_t i = begin + 1; i < std::min(begin + static_cast<std::size_t>(fused.size), line.size()); ++i)
      value = fused.pool == PoolKind::max ? std::max<Int128>(value, line[i]) : saturated(value + line[i], clamp_bits);
    out.push_back(static_cast<std::int64_t>(value));
  }
  return out;
}

Values run_fused(const FusedCase& fused, const Backend& backend, std::size_t places) {
  const auto n = static_cast<std::int64_t>(fused.x.size()), c = static_cast<std::int64_t>(fused.w.size());
  FusedConv2dAttributes attributes;
  attributes.pool = fused.pool;
  attributes.pool_filter = {1, fused.size};
  attributes.pool_stride = {1, fused.step};
  attributes.partial_windows = PartialWindows::every_start;
  return widened(compute(layer_case(OperationKind::fused_conv2d, attributes,
                                    {{tensor_of<std::int16_t>({1, 1, n, 1}, fused.x)},
                                     {tensor_of<std::int16_t>({1, 1, c, 1}, fused.w)},
                                     {std::nullopt},
                                     {tensor_of<std::int32_t>({static_cast<std::int64_t>(fused.table.size()) / 3, 3}, fused.table)}},
                                    {{ElementType::int16, {1, 1, static_cast<std::int64_t>(places), 1}}}),
                         backend)
                     .outputs[0]);
}

TEST_CASE("GNA fused layers: both orders; of a rising function the maximum is the same either way, the sum is not") {
  std::mt19937_64 random(55);
  Tally tally;
  int sums_differ = 0, falling_differ = 0;
  for (int round = 0; round < 600; ++round) {
    FusedCase fused{
        wandering<std::int16_t>(30, random), wandering<std::int16_t>(4, random), {},
        one_of(random, {1, 2, 3, 6}),        one_of(random, {1, 2, 5}),          round % 2 == 0 ? PoolKind::max : PoolKind::sum};
    const bool rising = round % 4 < 2;
    const std::int32_t slope = rising ? 16000 : -16000;
    fused.table = {static_cast<std::int32_t>(min_of_width(32)) | 2, -slope, slope};
    Values sums = positions_of(fused), activated;
    Values early = pooled(sums, fused, 62);
    for (std::int64_t& value : early) value = static_cast<std::int64_t>(saturated(pwl_value(fused.table, saturated(value, 32)), 16));
    for (const std::int64_t sum : sums)
      activated.push_back(static_cast<std::int64_t>(saturated(pwl_value(fused.table, saturated(sum, 32)), 16)));
    Values late = pooled(activated, fused, 32);
    for (std::int64_t& value : late) value = static_cast<std::int64_t>(saturated(value, 16));
    const Values on_2 = run_fused(fused, gna2, early.size()), on_3 = run_fused(fused, gna3_0, late.size());
    for (std::size_t i = 0; i < early.size(); ++i) {
      tally.equal(on_2[i], early[i], round, i);
      tally.equal(on_3[i], late[i], round, i);
    }
    if (fused.pool == PoolKind::max && rising) CHECK(on_2 == on_3);
    if (fused.pool == PoolKind::max && !rising) falling_differ += static_cast<int>(on_2 != on_3);
    if (fused.pool == PoolKind::sum && fused.size > 1) sums_differ += static_cast<int>(on_2 != on_3);
  }
  tally.check(5000);
  CHECK(sums_differ > 50);
  CHECK(falling_differ > 20);
}

/// Section 1.7: columns outside, rows inside, clamped after every addition, then to the type.
template <class T>
void check_sum_pool(std::mt19937_64& random, Tally& tally, int& order_matters) {
  const std::int64_t height = 1 + static_cast<std::int64_t>(random() % 24), width = 1 + static_cast<std::int64_t>(random() % 24);
  const std::int64_t filter = 1 + static_cast<std::int64_t>(random() % 20),
                     stride = 1 + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(filter));
  const auto places = [&](std::int64_t in) { return 1 + (std::max<std::int64_t>(0, in - filter) + stride - 1) / stride; };
  const auto x = wandering<T>(static_cast<std::size_t>(height * width), random);
  Pool2dAttributes attributes;
  attributes.filter = {filter, filter};
  attributes.stride = {stride, stride};
  attributes.partial_windows = PartialWindows::last_truncated;
  const LayerCase layer = layer_case(OperationKind::sum_pool2d, attributes, {{tensor_of<T>({1, height, width, 1}, x)}},
                                     {{element_type_of<T>, {1, places(height), places(width), 1}}});
  const LayerResult found = compute(layer, gna3_0);
  Backend other = gna3_0;
  other.sum_pool.order = WindowOrder::rows_outermost;
  order_matters += static_cast<int>(widened(compute(layer, other).outputs[0]) != widened(found.outputs[0]));
  const Values y = widened(found.outputs[0]);
  std::int64_t saturations = 0;
  for (std::int64_t py = 0; py < places(height); ++py) {
    for (std::int64_t px = 0; px < places(width); ++px) {
      Int128 sum = 0;
      const auto settle = [&](int bits) {
        saturations += static_cast<std::int64_t>(saturated(sum, bits) != sum);
        sum = saturated(sum, bits);
      };
      for (std::int64_t ix = px * stride; ix < std::min(px * stride + filter, width); ++ix) {
        for (std::int64_t iy = py * stride; iy < std::min(py * stride + filter, height); ++iy) {
          sum += x[static_cast<std::size_t>(iy * width + ix)];
          settle(sizeof(T) == 1 ? 16 : 32);
        }
      }
      settle(static_cast<int>(sizeof(T)) * 8);
      tally.equal(y[static_cast<std::size_t>(py * places(width) + px)], sum, sizeof(T), py, px, filter, stride);
    }
  }
  tally.equal(found.saturations, saturations, sizeof(T), filter, stride);
}

TEST_CASE("GNA pools by sum clamp after every addition, column by column") {
  std::mt19937_64 random(56);
  Tally tally;
  int order_matters = 0;
  for (int round = 0; round < 200; ++round) {
    check_sum_pool<std::int8_t>(random, tally, order_matters);
    check_sum_pool<std::int16_t>(random, tally, order_matters);
    check_sum_pool<std::int32_t>(random, tally, order_matters);
  }
  tally.check(5000);
  CHECK(order_matters > 20);
}

}  // namespace
}  // namespace lastbit
