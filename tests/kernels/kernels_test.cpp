// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every host path against the sum itself, and so against every other path: odd lengths, unaligned pointers, tails, extremes.
#include "engine/kernels/kernels.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

enum class Fill { random, largest_products, alternating, mostly_smallest };

std::vector<std::int16_t> filled(std::size_t size, Fill fill, std::mt19937_64& random) {
  std::vector<std::int16_t> values(size);
  for (std::size_t i = 0; i < size; ++i) {
    const auto any = static_cast<std::int16_t>(random());
    switch (fill) {
      case Fill::random: values[i] = any; break;
      case Fill::largest_products: values[i] = -32768; break;  // a pair of these wraps a 32-bit pairwise multiply-add
      case Fill::alternating: values[i] = i % 2 == 0 ? std::int16_t{32767} : std::int16_t{-32768}; break;
      case Fill::mostly_smallest: values[i] = random() % 8 == 0 ? any : std::int16_t{-32768}; break;
    }
  }
  return values;
}

constexpr Fill all_fills[] = {Fill::random, Fill::largest_products, Fill::alternating, Fill::mostly_smallest};
constexpr std::int32_t untouched = 0x5A5A5A5A;

/// Windows of `run_count` runs that may overlap, and what both kinds of products make of them.
struct Products {
  std::size_t pixels, run_count, groups, channels, offset;
  Fill fill;
};

enum class Kind { dense_bytes, dense_pairs, dense_words, dense_magnitudes, depthwise_bytes, depthwise_words, depthwise_magnitudes };
constexpr Kind all_kinds[] = {Kind::dense_bytes,     Kind::dense_pairs,     Kind::dense_words,         Kind::dense_magnitudes,
                              Kind::depthwise_bytes, Kind::depthwise_words, Kind::depthwise_magnitudes};
bool is_dense(Kind kind) {
  return kind == Kind::dense_bytes || kind == Kind::dense_pairs || kind == Kind::dense_words || kind == Kind::dense_magnitudes;
}
bool is_bytes(Kind kind) { return kind == Kind::dense_bytes || kind == Kind::dense_pairs || kind == Kind::depthwise_bytes; }
bool is_magnitudes(Kind kind) { return kind == Kind::dense_magnitudes || kind == Kind::depthwise_magnitudes; }

kernels::SumProducts function_of(const kernels::Path& path, Kind kind) {
  switch (kind) {
    case Kind::dense_bytes: return path.dense_bytes;
    case Kind::dense_pairs: return path.dense_pairs;
    case Kind::dense_words: return path.dense_words;
    case Kind::dense_magnitudes: return path.dense_magnitudes;
    case Kind::depthwise_bytes: return path.depthwise_bytes;
    case Kind::depthwise_words: return path.depthwise_words;
    case Kind::depthwise_magnitudes: break;
  }
  return path.depthwise_magnitudes;
}

/// The product of one group, from its bytes.
Int128 dot(const std::byte* x, const std::byte* w, Kind kind) {
  Int128 sum = 0;
  if (is_bytes(kind)) {
    const auto product = [&](int i) {
      return Int128{std::to_integer<std::uint8_t>(x[i])} * static_cast<std::int8_t>(std::to_integer<std::uint8_t>(w[i]));
    };
    for (int i = 0; i < 4; i += 2) {
      const Int128 pair = product(i) + product(i + 1);
      sum += kind == Kind::dense_pairs ? std::clamp<Int128>(pair, -32768, 32767) : pair;
    }
    return sum;
  }
  for (int i = 0; i < 2; ++i) {
    std::int16_t a = 0, b = 0;
    std::memcpy(&a, x + 2 * i, 2);
    std::memcpy(&b, w + 2 * i, 2);
    sum += Int128{a} * b;
  }
  return sum;
}

void compare_products(const kernels::Path& path, Kind kind, const Products& of, Tally& tally) {
  std::mt19937_64 random(of.pixels * 31 + of.channels * 7 + of.groups);
  const std::size_t vectors = (of.channels + path.lanes - 1) / path.lanes;
  const std::size_t row = is_dense(kind) ? of.groups * 4 : vectors * path.lanes * 4,
                    vector_bytes = of.run_count * of.groups * path.lanes * 4;
  const auto words = [&](std::size_t bytes) {
    auto values = filled(bytes / 2 + 8, of.fill, random);
    for (std::int16_t& value : values) {
      if (is_magnitudes(kind)) value = static_cast<std::int16_t>(value < 0 ? ~value : value);
    }
    return values;
  };
  const auto input = words(2 * of.offset + row * (of.run_count + of.pixels) + 64), packed = words(vectors * vector_bytes);
  const auto* const x = reinterpret_cast<const std::byte*>(input.data()) + (is_bytes(kind) ? of.offset : of.offset * 2);
  const auto* const w = reinterpret_cast<const std::byte*>(packed.data());
  std::vector<const std::byte*> windows;
  for (std::size_t p = 0; p < of.pixels; ++p) windows.push_back(x + p * (row / 4 * 2));
  std::vector<std::ptrdiff_t> runs;
  for (std::size_t r = 0; r < of.run_count; ++r) runs.push_back(static_cast<std::ptrdiff_t>((of.run_count - 1 - r) * (row / 4 * 2)));
  std::vector<std::int32_t> start(vectors * path.lanes);
  for (std::int32_t& value : start) value = is_magnitudes(kind) ? 0 : static_cast<std::int32_t>(random());
  const std::size_t stride = of.channels + 1;
  std::vector<std::int32_t> sums(of.pixels * stride + 1, untouched);
  function_of(path, kind)(
      {windows.data(), of.pixels, runs.data(), of.run_count, of.groups, w, vector_bytes, start.data(), of.channels, sums.data(), stride});
  for (std::size_t p = 0; p < of.pixels; ++p) {
    for (std::size_t c = 0; c < of.channels; ++c) {
      Int128 sum = start[c];
      for (std::size_t r = 0; r < of.run_count; ++r) {
        for (std::size_t g = 0; g < of.groups; ++g) {
          const std::size_t weight = c / path.lanes * vector_bytes + ((r * of.groups + g) * path.lanes + c % path.lanes) * 4;
          sum += dot(windows[p] + runs[r] + (is_dense(kind) ? g : c) * 4, w + weight, kind);
        }
      }
      const Int128 expected = is_magnitudes(kind) ? std::min<Int128>(sum, max_of_width(32)) : wrapped(sum, 32);
      tally.equal(sums[p * stride + c], expected, kind, of.pixels, of.run_count, of.groups, of.channels, of.offset, of.fill, p, c);
    }
    tally.equal(sums[p * stride + of.channels], untouched, kind, p);
  }
}

struct StepCase {
  int bits;
  bool saturates;
  std::size_t period, pixels, length, channels;
  bool counts;
  bool fits_words = false;
};

void compare_steps(const kernels::Path& path, const StepCase& of, Fill fill, Tally& tally) {
  std::mt19937_64 random(of.length * 13 + of.channels);
  const std::size_t row = kernels::whole_vectors(of.channels, 2 * path.lanes), run_count = 2;
  auto input = filled(of.length * (run_count + of.pixels) + 2, fill, random), weights = filled(run_count * of.length * row, fill, random);
  if (of.fits_words) {  // differences of bytes, and bytes
    for (std::int16_t& value : input) value = static_cast<std::int16_t>(value % 256);
    for (std::int16_t& value : weights) value = static_cast<std::int16_t>(value % 129);
  }
  std::vector<const std::int16_t*> windows;
  for (std::size_t p = 0; p < of.pixels; ++p) windows.push_back(input.data() + p);
  const std::ptrdiff_t runs[] = {static_cast<std::ptrdiff_t>(of.length), 0};
  std::vector<std::int64_t> start(row), sums(of.pixels * row), outside(of.pixels * row, -1);
  for (std::int64_t& value : start) value = narrow_wrap(static_cast<std::int64_t>(random()), of.bits);
  path.steps({windows.data(), of.pixels, runs, run_count, of.length, weights.data(), row, start.data(), min_of_width(of.bits),
              max_of_width(of.bits), of.saturates, of.fits_words, of.period, row, sums.data(), of.counts ? outside.data() : nullptr});
  const Overflow overflow = of.saturates ? Overflow::saturate : Overflow::wrap;
  for (std::size_t p = 0; p < of.pixels; ++p) {
    for (std::size_t c = 0; c < of.channels; ++c) {
      Int128 sum = start[c];
      std::int64_t left = 0;
      std::size_t terms = 0;
      const auto settle = [&] {
        const std::int64_t kept = narrow(static_cast<std::int64_t>(sum), of.bits, overflow);
        left += kept != sum ? 1 : 0;
        sum = kept;
      };
      for (std::size_t r = 0; r < run_count; ++r) {
        for (std::size_t i = 0; i < of.length; ++i) {
          sum += Int128{windows[p][runs[r] + static_cast<std::ptrdiff_t>(i)]} * weights[(r * of.length + i) * row + c];
          if (++terms % of.period == 0) settle();
        }
      }
      settle();
      tally.equal(sums[p * row + c], sum, of.bits, of.saturates, of.period, of.pixels, of.length, p, c);
      if (of.counts) tally.equal(outside[p * row + c], left, of.bits, of.saturates, of.period, p, c);
    }
  }
}

/// Calls body(path, tally) for every path of this machine.
template <class Body>
void on_every_path(std::int64_t at_least, Body&& body) {
  int paths = 0;
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    ++paths;
    INFO("path " << path.name);
    Tally tally;
    body(path, tally);
    tally.check(at_least);
  }
  CHECK(paths > 0);
}

TEST_CASE("sums of products: every path, kind, number of pixels and of channels, tails, unaligned windows, extremes") {
  on_every_path(150000, [](const kernels::Path& path, Tally& tally) {
    for (const Kind kind : all_kinds) {
      if (function_of(path, kind) == nullptr) continue;
      for (const Fill fill : all_fills) {
        for (std::size_t pixels = 0; pixels <= 29; ++pixels)
          compare_products(path, kind, {pixels, 2, 1, 5 * path.lanes + 3, pixels % 3, fill}, tally);
        for (std::size_t channels = 1; channels <= 9 * path.lanes; channels += 1 + channels / 8)
          compare_products(path, kind, {5, 3, is_dense(kind) ? std::size_t{7} : 1, channels, 1, fill}, tally);
      }
      for (std::size_t groups = 0; is_dense(kind) && groups <= 40; ++groups)
        compare_products(path, kind, {3, 1, groups, 7, 1, Fill::mostly_smallest}, tally);
      for (std::size_t run_count = 0; run_count <= 12; ++run_count)  // some kernels keep the weights of a few
        compare_products(path, kind, {7, run_count, is_dense(kind) ? std::size_t{3} : 1, 2 * path.lanes + 1, 1, Fill::random}, tally);
      compare_products(path, kind, {2, 40, is_dense(kind) ? std::size_t{200} : 1, 20, 2, Fill::random}, tally);
    }
  });
}

TEST_CASE("sums term by term: every path, width, overflow rule and period, counted or not") {
  on_every_path(70000, [](const kernels::Path& path, Tally& tally) {
    for (const int bits : {8, 12, 16, 24, 30, 31, 32, 33, 40, 48}) {
      for (const bool saturates : {true, false}) {
        for (const std::size_t period : {1U, 2U, 5U, 1000U}) {
          for (const bool counts : {true, false}) {
            for (const Fill fill : all_fills) {
              compare_steps(path, {bits, saturates, period, 1 + static_cast<std::size_t>(bits) % 11, 9, 5, counts}, fill, tally);
              compare_steps(path, {bits, saturates, period, 3, 1, 4 * path.lanes + 1, counts}, fill, tally);
              compare_steps(path, {bits, saturates, period, 1 + static_cast<std::size_t>(bits) % 11, 30, 4 * path.lanes, counts, true},
                            fill, tally);
              compare_steps(path, {bits, saturates, period, 10, 7, 2 * path.lanes - 1, counts, true}, fill, tally);
            }
          }
        }
      }
    }
  });
}

TEST_CASE("a path can be chosen for a while") {
  const kernels::Path& before = kernels::selected_path();
  {
    const kernels::ScopedPath scope(kernels::paths()[0]);
    CHECK(kernels::selected_path().name == "scalar");
  }
  CHECK(&kernels::selected_path() == &before);
}

TEST_CASE("the list of paths: scalar comes first and always runs; a machine's vector instructions are used") {
  const auto paths = kernels::paths();
  REQUIRE_FALSE(paths.empty());
  CHECK(paths.front().name == "scalar");
  CHECK(paths.front().available());
#if defined(__x86_64__)
  const auto avx2 = std::find_if(paths.begin(), paths.end(), [](const auto& path) { return path.name == "avx2"; });
  REQUIRE(avx2 != paths.end());
  CHECK(avx2->available() == (__builtin_cpu_supports("avx2") != 0));
#endif
}

}  // namespace
}  // namespace lastbit
