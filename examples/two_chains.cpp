// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One value through two chains: the first accumulator that a CPU and a VIPNano finish differently, stage by stage.
#include <iomanip>
#include <iostream>

#include "lastbit/backends/tflite.hpp"
#include "lastbit/backends/vipnano.hpp"
#include "lastbit/rules.hpp"

using namespace lastbit;

/// What a layer brings: input scale * weight scale / output scale, and the output's zero point and bounds.
RescaleOperands layer(const RescaleRule& rule) {
  return {.scale = encode(rule.scale, effective_scale(rule.scale.arithmetic, 0.0235, 0.0107, 0.0352)),
          .zero_point = -3,
          .min = -128,
          .max = 127};
}

void print_stages(const std::string& name, const RescaleRule& rule, std::int64_t accumulator) {
  std::cout << name << "\n  " << std::left << std::setw(24) << "accumulator" << accumulator << "\n";
  InFlight at{accumulator, 0};
  for (const Stage& stage : rule.chain) {
    at = apply(stage, at, layer(rule));
    std::cout << "  " << std::setw(24) << name_of(stage.kind) << static_cast<std::int64_t>(at.value) << "\n";
  }
}

int main() {
  constexpr const RescaleRule& cpu = tflite_double.conv.i8.sum.output;
  constexpr const RescaleRule& npu = vipnano_v8.conv.i8.sum.output;
  int differing = 0;
  std::int64_t first = 0;
  for (std::int64_t accumulator = -16000; accumulator <= 16000; ++accumulator) {
    if (finish(cpu.chain, accumulator, layer(cpu)) == finish(npu.chain, accumulator, layer(npu))) continue;
    if (differing++ == 0) first = accumulator;
  }
  if (differing == 0) return 1;
  print_stages("tflite_double", cpu, first);
  print_stages("vipnano_v8", npu, first);
  std::cout << "of the accumulators -16000 to 16000, " << differing << " finish differently\n";
  return 0;
}
