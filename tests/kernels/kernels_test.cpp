// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Every host path against the sum itself, and so against every other path: odd lengths, unaligned pointers, tails, extremes.
#include "kernels/kernels.hpp"

#include <algorithm>
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

void compare_dot_rows(const kernels::Path& path, std::size_t length, std::size_t count, std::size_t offset, Fill fill, Tally& tally) {
  std::mt19937_64 random(length * 31 + count);
  const auto a = filled(length + offset, fill, random);
  const auto rows = filled(length * count + offset, fill, random);
  std::vector<std::int32_t> out(count + 1, untouched);
  path.dot_rows_i16(a.data() + offset, rows.data() + offset, length, count, out.data());
  for (std::size_t r = 0; r < count; ++r) {
    Int128 sum = 0;
    for (std::size_t i = 0; i < length; ++i) sum += Int128{a[offset + i]} * rows[offset + r * length + i];
    tally.equal(out[r], wrapped(sum, 32), length, count, offset, fill, r);
  }
  tally.equal(out[count], untouched, length, count, offset);
}

void compare_multiply_add(const kernels::Path& path, std::size_t channels, std::size_t offset, Fill fill, Tally& tally) {
  std::mt19937_64 random(channels);
  const auto x = filled(channels + offset, fill, random);
  const auto w = filled(channels + offset, fill, random);
  std::vector<std::int32_t> before(channels + offset + 1, untouched);
  for (std::size_t c = offset; c < offset + channels; ++c) before[c] = static_cast<std::int32_t>(random());
  auto sums = before;
  path.multiply_add_i16(x.data() + offset, w.data() + offset, channels, sums.data() + offset);
  for (std::size_t c = offset; c < offset + channels; ++c) {
    tally.equal(sums[c], wrapped(before[c] + Int128{x[c]} * w[c], 32), channels, offset, fill, c);
  }
  tally.equal(sums.back(), untouched, channels, offset);
}

TEST_CASE("every available path computes the sum") {
  int paths = 0;
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    ++paths;
    INFO("path " << path.name);
    Tally tally;
    for (std::size_t length = 0; length <= 70; ++length) {
      for (const Fill fill : all_fills) {
        for (std::size_t offset = 0; offset < 3; ++offset) {
          for (const std::size_t count : {0U, 1U, 3U, 4U, 5U, 9U}) compare_dot_rows(path, length, count, offset, fill, tally);
          compare_multiply_add(path, length, offset, fill, tally);
        }
      }
    }
    for (const std::size_t length : {1000U, 4097U}) compare_dot_rows(path, length, 6, 1, Fill::mostly_smallest, tally);
    tally.check(71 * 4 * 3 * 22);
  }
  CHECK(paths > 0);
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
