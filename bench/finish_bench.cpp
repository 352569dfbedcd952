// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From accumulators to outputs: rows of the layers' output channels through each chain, one operand for all or one per channel.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <random>
#include <string>

#include "emulator/finisher.hpp"
#include "lastbit/backend.hpp"

namespace lastbit::bench {
namespace {

constexpr std::size_t rows = 256;
constexpr int accumulator_bits = 22;

struct Work {
  Chain chain;
  std::vector<RescaleOperands> operands;
  std::vector<std::int64_t> accumulators;
};

Work work_of(const RescaleRule& rule, std::size_t channels, std::size_t operand_count) {
  Work work{rule.chain, {}, std::vector<std::int64_t>(rows * channels)};
  std::mt19937_64 random(7);
  for (std::size_t c = 0; c < operand_count; ++c) {
    RescaleOperands operands{.scale = encode(rule.scale, 0.0003 + 0.000001 * static_cast<double>(c))};
    operands.zero_point = 3;
    operands.min = -128;
    operands.max = 127;
    work.operands.push_back(operands);
  }
  for (std::int64_t& value : work.accumulators) value = narrow_wrap(static_cast<std::int64_t>(random()), accumulator_bits);
  return work;
}

/// The fast plan against the definition, value by value.
bool is_exact(const Work& work) {
  auto found = work.accumulators;
  Finisher(work.chain, work.operands, accumulator_bits)(found);
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != finish(work.chain, work.accumulators[i], work.operands[i % work.operands.size()])) return false;
  }
  return true;
}

void measure(benchmark::State& state, const Work& work) {
  const Finisher finisher(work.chain, work.operands, accumulator_bits);
  std::vector<std::int64_t> values(work.accumulators.size());
  for (auto _ : state) {
    values = work.accumulators;
    finisher(values);
    benchmark::DoNotOptimize(values.data());
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(values.size()));
}

bool register_all() {
  for (const char* backend : {"tflite_double", "tflite_single", "xnnpack", "vipnano_v8", "vipnano_v7"}) {
    const RescaleRule rule = find_backend(backend).backend.conv.i8.rescale;
    for (const std::size_t channels : {std::size_t{16}, std::size_t{144}}) {
      for (const std::size_t operand_count : {std::size_t{1}, channels}) {
        const std::string name = "finish/" + std::string(backend) + "/scalar/" + std::to_string(rows) + "x" + std::to_string(channels) +
                                 (operand_count == 1 ? "_per_tensor" : "_per_channel");
        const Work work = work_of(rule, channels, operand_count);
        if (!is_exact(work)) {
          std::fprintf(stderr, "%s: the output differs from finish()\n", name.c_str());
          return false;
        }
        benchmark::RegisterBenchmark(name.c_str(), measure, work);
      }
    }
  }
  return true;
}

}  // namespace
}  // namespace lastbit::bench

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (!lastbit::bench::register_all()) return 1;
  benchmark::RunSpecifiedBenchmarks();
}
