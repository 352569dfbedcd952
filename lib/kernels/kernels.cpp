// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernels.hpp"

#include <array>
#include <cstdlib>
#include <string>

#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace kernels {
namespace {

#if defined(__x86_64__)
bool has_avx512() {
  return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512vl");
}
#endif

constexpr std::array all_paths {
  Path{"scalar", [] { return true; }, scalar::dot_rows_i16, scalar::multiply_add_i16, scalar::finish, scalar::finish_lanes},
#if defined(__x86_64__)
      Path{"avx2",
           [] { return static_cast<bool>(__builtin_cpu_supports("avx2")); },
           avx2::dot_rows_i16,
           avx2::multiply_add_i16,
           avx2::finish,
           avx2::finish_lanes},
      Path{"avx512vnni",       [] { return has_avx512() && __builtin_cpu_supports("avx512vnni"); },
           avx2::dot_rows_i16, avx2::multiply_add_i16,
           avx512::finish,     avx512::finish_lanes},
#endif
};

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
  static const Path& path = select();
  return path;
}

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
