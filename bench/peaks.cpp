// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "peaks.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <vector>

#include "case.hpp"

namespace lastbit::bench {
namespace {

#if defined(__x86_64__)
constexpr int rounds = 4096;
constexpr int chains = 12;  // independent sums: more than the latency times the instructions per cycle

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

Trial copy_trial() {
  constexpr std::size_t size = 384 << 10;
  return {2.0 * size, [from = std::vector<char>(size, 1), to = std::vector<char>(size)]() mutable {
            std::memcpy(to.data(), from.data(), size);
            benchmark::DoNotOptimize(to.data());
          }};
}

}  // namespace

void add_peaks(Cases& cases) {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) {
    cases.push_back({peak::byte_dot_product, "MACs", nullptr, {{"vpdpbusd", [] {
                                                                  return Trial{64.0 * chains * rounds, byte_dot_products};
                                                                }}}});
    cases.push_back({peak::word_dot_product, "MACs", nullptr, {{"vpdpwssd", [] {
                                                                  return Trial{32.0 * chains * rounds, word_dot_products};
                                                                }}}});
  }
#endif
  cases.push_back({peak::cache_copy, "bytes", nullptr, {{"memcpy", copy_trial}}});
}

}  // namespace lastbit::bench
