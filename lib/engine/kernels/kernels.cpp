// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/kernels/kernels.hpp"

#include <array>
#include <atomic>
#include <cstdlib>
#include <string>

#include "engine/kernels/paths.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace lastbit {
namespace kernels {
namespace {

#if defined(__x86_64__)
/// With binary16 conversions and fused products, which every such processor has; not all compilers can ask for them by name.
bool has_avx2() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __builtin_cpu_supports("avx2") != 0 && __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0 &&
         (ecx & bit_FMA) != 0;
}

/// Leaf 7.1, EAX bit 4, which older compilers cannot ask for by name; the system saves 256-bit registers where it lets AVX2 run.
bool has_avxvnni() {
  unsigned int eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (!has_avx2() || __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx) == 0) return false;
  return (eax >> 4 & 1U) != 0;
}

bool has_avx512vnni() {
  return __builtin_cpu_supports("avx512f") != 0 && __builtin_cpu_supports("avx512cd") != 0 && __builtin_cpu_supports("avx512bw") != 0 &&
         __builtin_cpu_supports("avx512vl") != 0 && __builtin_cpu_supports("avx512dq") != 0 && __builtin_cpu_supports("avx512vnni") != 0;
}
#endif

constexpr Path scalar_path{"scalar",
                           [] { return true; },
                           4,
                           nullptr,
                           nullptr,
                           scalar::dense_pairs,
                           scalar::dense_emptied_pairs,
                           scalar::dense_words,
                           scalar::depthwise_words,
                           scalar::dense_magnitudes,
                           scalar::depthwise_magnitudes,
                           scalar::steps,
                           scalar::finish,
                           scalar::finish_lanes,
                           &scalar::float_codes,
                           nullptr,
                           nullptr,
                           nullptr};

#if defined(__x86_64__)
/// The scalar path with output stages and float codes over vectors.
constexpr Path sse42_path = [] {
  Path path = scalar_path;
  path.name = "sse42";
  path.available = [] { return __builtin_cpu_supports("sse4.2") != 0; };
  path.finish = sse42::finish;
  path.finish_lanes = sse42::finish_lanes;
  path.float_codes = &sse42::float_codes;
  return path;
}();
constexpr Path avx512vnni_path{"avx512vnni",
                               has_avx512vnni,
                               16,
                               avx512vnni::dense_bytes,
                               avx512vnni::depthwise_bytes,
                               avx512vnni::dense_pairs,
                               avx512vnni::dense_emptied_pairs,
                               avx512vnni::dense_words,
                               avx512vnni::depthwise_words,
                               avx512vnni::dense_magnitudes,
                               avx512vnni::depthwise_magnitudes,
                               avx512vnni::steps,
                               avx512::finish,
                               avx512::finish_lanes,
                               &avx512::float_codes,
                               &avx512::half,
                               avx512::line_outputs,
                               avx512::pair_outputs,
                               &avx512vnni::input};

/// The same, with products of bytes by the matrix unit.
constexpr Path amx_path = [] {
  Path path = avx512vnni_path;
  path.name = "amx";
  path.available = [] { return has_avx512vnni() && amx::is_available(); };
  path.dense_bytes = amx::dense_bytes;
  return path;
}();
#endif

constexpr std::array all_paths {
  scalar_path,
#if defined(__x86_64__)
      sse42_path,
      Path{"avx2",
           has_avx2,
           8,
           nullptr,
           nullptr,
           avx2::dense_pairs,
           avx2::dense_emptied_pairs,
           avx2::dense_words,
           avx2::depthwise_words,
           avx2::dense_magnitudes,
           avx2::depthwise_magnitudes,
           avx2::steps,
           avx2::finish,
           avx2::finish_lanes,
           &avx2::float_codes,
           &avx2::half,
           avx2::line_outputs,
           avx2::pair_outputs},
      Path{"avxvnni",
           has_avxvnni,
           8,
           avxvnni::dense_bytes,
           avxvnni::depthwise_bytes,
           avxvnni::dense_pairs,
           avxvnni::dense_emptied_pairs,
           avxvnni::dense_words,
           avxvnni::depthwise_words,
           avxvnni::dense_magnitudes,
           avxvnni::depthwise_magnitudes,
           avxvnni::steps,
           avx2::finish,
           avx2::finish_lanes,
           &avx2::float_codes,
           &avx2::half,
           avx2::line_outputs,
           avx2::pair_outputs,
           &avxvnni::input},
      avx512vnni_path, amx_path,
#elif defined(__aarch64__)
      Path{"neon",
           [] { return true; },
           4,
           nullptr,
           nullptr,
           nullptr,
           nullptr,
           neon::dense_words,
           neon::depthwise_words,
           neon::dense_magnitudes,
           neon::depthwise_magnitudes,
           neon::steps,
           neon::finish,
           neon::finish_lanes,
           &neon::float_codes,
           &neon::half,
           neon::line_outputs,
           neon::pair_outputs},
#endif
};

std::atomic<const Path*> scoped_path = nullptr;

const Path& select() {
  const char* const forced = std::getenv("LASTBIT_PATH");
  const Path* best = nullptr;
  std::string names;
  for (const Path& path : all_paths) {
    if (!path.available()) continue;
    names += (names.empty() ? "" : ", ") + std::string(path.name);
    if (forced == nullptr || *forced == '\0' || path.name == forced) best = &path;
  }
  if (best == nullptr) {
    throw Error(ErrorCode::unavailable_path, "LASTBIT_PATH", "no path '" + std::string(forced) + "' on this machine; it has " + names);
  }
  return *best;
}

}  // namespace

std::span<const Path> paths() { return all_paths; }

const Path& selected_path() {
  if (const Path* const scoped = scoped_path) return *scoped;
  static const Path& path = select();
  return path;
}

ScopedPath::ScopedPath(const Path& path) : before_(scoped_path.exchange(&path)) {}
ScopedPath::~ScopedPath() { scoped_path = before_; }

}  // namespace kernels

std::string_view host_path() { return kernels::selected_path().name; }

std::vector<std::string_view> available_host_paths() {
  std::vector<std::string_view> names;
  for (const auto& path : kernels::paths()) {
    if (path.available()) names.push_back(path.name);
  }
  return names;
}

}  // namespace lastbit
