// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The matrix unit of Intel's AMX-INT8: tdpbusd, u8 x s8 into 32 bits. Compiled for AMX-TILE and AMX-INT8.
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/kernels/paths.hpp"

namespace lastbit::kernels::amx {
namespace {

/// Eight tiles, all of 16 rows of 64 bytes. Their numbers are part of the instructions.
class Unit {
 public:
  Unit() {
    struct {
      std::uint8_t palette = 1, start_row = 0, reserved[14]{};
      std::uint16_t row_bytes[16]{64, 64, 64, 64, 64, 64, 64, 64};
      std::uint8_t rows[16]{16, 16, 16, 16, 16, 16, 16, 16};
    } const configuration;
    static_assert(sizeof configuration == 64);
    settle(&configuration);
    _tile_loadconfig(&configuration);
  }
  Unit(const Unit&) = delete;
  Unit& operator=(const Unit&) = delete;
  ~Unit() { _tile_release(); }

  template <int number>
  static void load(const void* rows, std::size_t apart) {
    settle(rows);
    if constexpr (number == 0) _tile_loadd(0, rows, apart);
    if constexpr (number == 1) _tile_loadd(1, rows, apart);
    if constexpr (number == 2) _tile_loadd(2, rows, apart);
    if constexpr (number == 3) _tile_loadd(3, rows, apart);
    if constexpr (number == 4) _tile_loadd(4, rows, apart);
    if constexpr (number == 5) _tile_loadd(5, rows, apart);
    if constexpr (number == 6) _tile_loadd(6, rows, apart);
    if constexpr (number == 7) _tile_loadd(7, rows, apart);
  }
  template <int number>
  static void store(void* rows, std::size_t apart) {
    if constexpr (number == 0) _tile_stored(0, rows, apart);
    if constexpr (number == 1) _tile_stored(1, rows, apart);
    if constexpr (number == 2) _tile_stored(2, rows, apart);
    if constexpr (number == 3) _tile_stored(3, rows, apart);
  }
  template <int sums>
  static void multiply() {
    if constexpr (sums == 0) _tile_dpbusd(0, 4, 6);
    if constexpr (sums == 1) _tile_dpbusd(1, 4, 7);
    if constexpr (sums == 2) _tile_dpbusd(2, 5, 6);
    if constexpr (sums == 3) _tile_dpbusd(3, 5, 7);
  }

 private:
  /// gcc's intrinsics do not say that they read memory: what is to be read is written before them.
  static void settle(const void* memory) { __asm__ volatile("" : : "r"(memory) : "memory"); }
};

#include "engine/kernels/tile_products.inc"

/// Runs that are shorter than a tile would be mostly zeros.
constexpr std::size_t fewest_groups = 8;

}  // namespace

void dense_bytes(const ProductTile& tile) {
  if (tile.pixel_count < tile_rows / 2 || tile.groups < fewest_groups) return avx512vnni::dense_bytes(tile);
  dense_tiles(tile);
}

namespace {

/// The processor has it, the system saves its registers, and lends them to this process.
bool is_lent() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx >> 27 & 1U) == 0) return false;  // xgetbv
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx >> 24 & 3U) != 3) return false;
  constexpr unsigned int tile_state = 3U << 17U;
  if ((_xgetbv(0) & tile_state) != tile_state) return false;
  constexpr long ask_permission = 0x1023, tile_data = 18;  // of Linux: ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return syscall(SYS_arch_prctl, ask_permission, tile_data) == 0;
}

/// Of bytes of all sizes, over whole and partial tiles, as the vector instructions have them.
bool is_exact() {
  constexpr std::size_t pixels = 37, channels = 43, lanes = 16, vectors = 3, runs = 2, groups = 21;
  constexpr std::size_t pixel_bytes = groups * group_bytes, vector_bytes = runs * groups * lanes * group_bytes;
  static std::byte data[(pixels + runs) * pixel_bytes], weights[vectors * vector_bytes];
  static std::int32_t start[vectors * lanes], by_tiles[pixels * channels], by_vectors[pixels * channels];
  std::uint32_t state = 1;
  const auto next = [&] { return (state = state * 1664525U + 1013904223U) >> 24U; };
  for (std::byte& code : data) code = static_cast<std::byte>(next());
  for (std::byte& weight : weights) weight = static_cast<std::byte>(next());
  for (std::int32_t& value : start) value = static_cast<std::int32_t>(next()) - 128;
  const std::byte* windows[pixels];
  for (std::size_t p = 0; p < pixels; ++p) windows[p] = data + p * pixel_bytes;
  const std::ptrdiff_t offsets[runs]{0, pixel_bytes};
  ProductTile tile{windows, pixels, offsets, runs, groups, weights, vector_bytes, start, channels, by_tiles, channels};
  dense_tiles(tile);
  tile.sums = by_vectors;
  avx512vnni::dense_bytes(tile);
  return __builtin_memcmp(by_tiles, by_vectors, sizeof by_tiles) == 0;
}

}  // namespace

bool is_available() {
  static const bool is = is_lent() && is_exact();
  return is;
}

}  // namespace lastbit::kernels::amx
