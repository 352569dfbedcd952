// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "peaks.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <functional>

#include "timing.hpp"

namespace lastbit::bench {
namespace {

constexpr int rounds = 4096;
constexpr int chains = 12;  // independent sums: more than the latency times the instructions per cycle

#if defined(__x86_64__)
// Nothing but the instruction is left to measure. Written out, because both compilers keep some of the sums in memory.
#define LASTBIT_REPEATED(instruction)                                                                                             \
  for (int round = 0; round < rounds; ++round)                                                                                    \
    asm volatile(".irp sum,0,1,2,3,4,5,6,7,8,9,10,11\n" instruction " %%zmm14, %%zmm15, %%zmm\\sum\n.endr" ::                     \
                     : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm14", \
                       "xmm15");                                                                                                  \
  asm volatile("vzeroupper")
void byte_dot_products() { LASTBIT_REPEATED("vpdpbusd"); }
void word_dot_products() { LASTBIT_REPEATED("vpdpwssd"); }
#undef LASTBIT_REPEATED
#endif

double per_second(const std::function<void()>& run, double work, double budget) {
  return work / seconds_in_turns({&run, 1}, budget, Clock::thread)[0];
}

}  // namespace

Peaks measure_peaks(double budget) {
  Peaks peaks;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) {
    peaks.byte_dot_product = per_second(byte_dot_products, 64.0 * chains * rounds, budget);
    peaks.word_dot_product = per_second(word_dot_products, 32.0 * chains * rounds, budget);
  }
#endif
  std::vector<char> from(384 << 10, 1), to(from.size());
  const auto copy = [&] {
    std::memcpy(to.data(), from.data(), from.size());
    benchmark::DoNotOptimize(to.data());
  };
  peaks.cache_copy = per_second(copy, 2 * static_cast<double>(from.size()), budget);
  return peaks;
}

}  // namespace lastbit::bench
