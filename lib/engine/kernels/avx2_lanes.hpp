// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Vectors of 256 bits, for the paths avx2 and avxvnni. Included inside the path's namespace, behind LASTBIT_TARGET.
// No include guard: every path has its own.

struct Lanes {
  using Vector = __m256i;
  static constexpr std::size_t count = 8, columns = 2;
  static constexpr std::size_t registers = 16;
  LASTBIT_TARGET static Vector load(const void* at) { return _mm256_loadu_si256(static_cast<const __m256i*>(at)); }
  LASTBIT_TARGET static Vector broadcast(const std::byte* group) {
    std::int32_t value;
    __builtin_memcpy(&value, group, sizeof value);
    return _mm256_set1_epi32(value);
  }
  LASTBIT_TARGET static void store(void* at, Vector v) { _mm256_storeu_si256(static_cast<__m256i*>(at), v); }
  LASTBIT_TARGET static void store_first(std::int32_t* at, Vector v, std::size_t n) {
    const Vector index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    _mm256_maskstore_epi32(at, _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<std::int32_t>(n)), index), v);
  }
};

struct Wide {
  using Vector = __m256i;
  static constexpr std::size_t count = 4;
  LASTBIT_TARGET static Vector load(const void* at) { return Lanes::load(at); }
  LASTBIT_TARGET static Vector load_words(const std::int16_t* at) {
    return _mm256_cvtepi16_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(at)));
  }
  LASTBIT_TARGET static Vector broadcast(std::int64_t value) { return _mm256_set1_epi64x(value); }
  LASTBIT_TARGET static void store(void* at, Vector v) { Lanes::store(at, v); }
  LASTBIT_TARGET static Vector multiply(Vector a, Vector b) { return _mm256_mul_epi32(a, b); }
  LASTBIT_TARGET static Vector add(Vector a, Vector b) { return _mm256_add_epi64(a, b); }
  LASTBIT_TARGET static Vector subtract(Vector a, Vector b) { return _mm256_sub_epi64(a, b); }
  LASTBIT_TARGET static Vector bitwise_and(Vector a, Vector b) { return _mm256_and_si256(a, b); }
  LASTBIT_TARGET static Vector smaller(Vector a, Vector b) { return _mm256_blendv_epi8(a, b, _mm256_cmpgt_epi64(a, b)); }
  LASTBIT_TARGET static Vector larger(Vector a, Vector b) { return _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b)); }
  LASTBIT_TARGET static Vector add_differing(Vector counts, Vector a, Vector b) {
    const Vector one = _mm256_set1_epi64x(1);
    return add(counts, _mm256_andnot_si256(_mm256_cmpeq_epi64(a, b), one));
  }
};
struct Narrow {
  using Vector = __m256i;
  static constexpr std::size_t count = 8, pixels = 4;
  LASTBIT_TARGET static Vector load_words(const std::int16_t* at) {
    return _mm256_cvtepu16_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at)));
  }
  LASTBIT_TARGET static Vector load_pair(const std::int16_t* at) { return Lanes::broadcast(reinterpret_cast<const std::byte*>(at)); }
  LASTBIT_TARGET static Vector broadcast(std::int32_t value) { return _mm256_set1_epi32(value); }
  LASTBIT_TARGET static Vector from_wide(const std::int64_t* at) {
    const Vector evens = _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6);
    const Vector low = _mm256_permutevar8x32_epi32(Lanes::load(at), evens), high = _mm256_permutevar8x32_epi32(Lanes::load(at + 4), evens);
    return _mm256_blend_epi32(low, high, 0xF0);
  }
  LASTBIT_TARGET static void store_wide(std::int64_t* at, Vector v) {
    Lanes::store(at, _mm256_cvtepi32_epi64(_mm256_castsi256_si128(v)));
    Lanes::store(at + 4, _mm256_cvtepi32_epi64(_mm256_extracti128_si256(v, 1)));
  }
};
