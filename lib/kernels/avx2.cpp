// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Raw intrinsics: the pairwise 16-bit multiply-add is not in xsimd. Enabled function by function, so that no shared inline function is
// compiled with AVX2 for everybody.
#include "kernels/kernels.hpp"

#if defined(__x86_64__)

#include <immintrin.h>

#define LASTBIT_AVX2 __attribute__((target("avx2")))

namespace lastbit::kernels::avx2 {
namespace {

constexpr std::size_t lanes = 16;

LASTBIT_AVX2 __m256i load(const std::int16_t* at) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(at)); }

LASTBIT_AVX2 std::int32_t sum_of(__m256i v) {
  const __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
  const __m128i two = _mm_add_epi32(four, _mm_shuffle_epi32(four, _MM_SHUFFLE(1, 0, 3, 2)));
  return _mm_cvtsi128_si32(_mm_add_epi32(two, _mm_shuffle_epi32(two, _MM_SHUFFLE(2, 3, 0, 1))));
}

/// The last length % 16 terms.
std::uint32_t tail(const std::int16_t* a, const std::int16_t* row, std::size_t from, std::size_t length) {
  std::uint32_t sum = 0;
  for (std::size_t i = from; i < length; ++i) sum += static_cast<std::uint32_t>(std::int32_t{a[i]} * row[i]);
  return sum;
}

/// Four rows at a time, so that each load of `a` serves four products.
LASTBIT_AVX2 void dot_four_rows(const std::int16_t* a, const std::int16_t* rows, std::size_t length, std::int32_t* out) {
  __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256()};
  const std::size_t whole = length / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) {
    const __m256i left = load(a + i);
    for (std::size_t r = 0; r < 4; ++r) sums[r] = _mm256_add_epi32(sums[r], _mm256_madd_epi16(left, load(rows + r * length + i)));
  }
  for (std::size_t r = 0; r < 4; ++r) {
    out[r] = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum_of(sums[r])) + tail(a, rows + r * length, whole, length));
  }
}

LASTBIT_AVX2 void dot_one_row(const std::int16_t* a, const std::int16_t* row, std::size_t length, std::int32_t* out) {
  __m256i sum = _mm256_setzero_si256();
  const std::size_t whole = length / lanes * lanes;
  for (std::size_t i = 0; i < whole; i += lanes) sum = _mm256_add_epi32(sum, _mm256_madd_epi16(load(a + i), load(row + i)));
  *out = static_cast<std::int32_t>(static_cast<std::uint32_t>(sum_of(sum)) + tail(a, row, whole, length));
}

}  // namespace

void dot_rows_i16(const std::int16_t* a, const std::int16_t* rows, std::size_t length, std::size_t count, std::int32_t* out) {
  std::size_t r = 0;
  for (; r + 4 <= count; r += 4) dot_four_rows(a, rows + r * length, length, out + r);
  for (; r < count; ++r) dot_one_row(a, rows + r * length, length, out + r);
}

LASTBIT_AVX2 void multiply_add_i16(const std::int16_t* x, const std::int16_t* w, std::size_t channels, std::int32_t* sums) {
  std::size_t c = 0;
  for (; c + 8 <= channels; c += 8) {
    auto* const at = reinterpret_cast<__m256i*>(sums + c);
    const __m256i left = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(x + c)));
    const __m256i right = _mm256_cvtepi16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(w + c)));
    _mm256_storeu_si256(at, _mm256_add_epi32(_mm256_loadu_si256(at), _mm256_mullo_epi32(left, right)));
  }
  scalar::multiply_add_i16(x + c, w + c, channels - c, sums + c);
}

}  // namespace lastbit::kernels::avx2

#endif
