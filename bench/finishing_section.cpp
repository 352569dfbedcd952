// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From accumulators to outputs: rows of output channels through each backend's chain, one operand for all or one per channel.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "case.hpp"
#include "engine/finisher.hpp"
#include "lastbit/aligned_vector.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/registry.hpp"

namespace lastbit::bench {
namespace {

constexpr std::size_t rows = 256, channels = 128;
constexpr int accumulator_bits = 22;

struct Work {
  Finisher finisher;
  AlignedVector<std::int32_t> sums;
  Tensor output{ElementType::int8, {rows, channels}};
};

/// A sigmoid of values within 2^20, in as many segments as the K210 has.
std::vector<ScaleSegment> sigmoid_segments() {
  constexpr int count = 16, shift = 24;
  constexpr std::int64_t step = (std::int64_t{1} << 21) / (count - 2);
  const auto code = [](std::int64_t v) { return std::lround(255 / (1 + std::exp(static_cast<double>(-v) * 0x1p-18))); };
  std::vector<ScaleSegment> segments{{-(std::int64_t{1} << 35), 0, 0, 0}};
  for (std::int64_t start = -(std::int64_t{1} << 20); segments.size() < count; start += step)
    segments.push_back({start, ((code(start + step) - code(start)) << shift) / step, shift, code(start)});
  return segments;
}

std::vector<RescaleOperands> operands_of(const RescaleRule& rule, std::size_t count) {
  static const std::vector<ScaleSegment> segments = sigmoid_segments();
  std::vector<RescaleOperands> list;
  const bool has_segments = std::ranges::any_of(rule.chain, [](const Stage& stage) { return stage.kind == StageKind::segments; });
  for (std::size_t c = 0; c < count; ++c) {
    const bool shifts = rule.scale.form == MultiplierForm::power_of_two;  // no other scale is encoded
    const double scale = (has_segments ? 0.3 : 0.0003) + 0.000001 * static_cast<double>(c);
    RescaleOperands operands{.scale = encode(rule.scale, shifts ? 0x1p-11 : scale)};
    operands.segments = segments;
    operands.zero_point = 3;
    operands.min = -128;
    operands.max = 127;
    operands.storage_min = -128;
    operands.storage_max = 127;
    list.push_back(operands);
  }
  return list;
}

void demand_exactness(const RescaleRule& rule, const std::vector<RescaleOperands>& operands, const Work& work) {
  const auto found = work.output.values<std::int8_t>();
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (found[i] != finish(rule.chain, work.sums[i], operands[i % operands.size()]))
      throw std::runtime_error("finish: the output differs from that of the definition");
  }
}

Trial finishing_trial(const RescaleRule& rule, std::size_t operand_count) {
  const auto operands = operands_of(rule, operand_count);
  const auto work =
      std::make_shared<Work>(Work{Finisher(rule.chain, operands, accumulator_bits), AlignedVector<std::int32_t>(rows * channels)});
  std::mt19937_64 random(7);
  for (std::int32_t& sum : work->sums) sum = static_cast<std::int32_t>(narrow_wrap(static_cast<std::int64_t>(random()), accumulator_bits));
  const auto run = [work] {
    work->finisher(std::span<const std::int32_t>(work->sums), work->output, 0, nullptr);
    benchmark::DoNotOptimize(work->output.bytes().data());
  };
  run();
  demand_exactness(rule, operands, *work);
  const auto output = [work, run] {
    run();
    return work->output;
  };
  return {static_cast<double>(work->sums.size()), run, output};
}

RescaleRule output_of(const char* backend) {
  const Backend rules = find_backend(backend).backend;
  for (const SumArithmetic& sum : {rules.conv.i8.sum, rules.conv.u8.sum, rules.fully_connected.u8.sum})
    if (exists(sum)) return sum.output;
  return rules.requantize;
}

Side side_of(const char* backend, std::size_t operand_count) {
  return {"lastbit", [=] { return finishing_trial(output_of(backend), operand_count); }};
}

/// VIPNano's output stage, for the others to stand beside.
const Side vipnano{"vipnano_v8", [] { return only_timed(finishing_trial(output_of("vipnano_v8"), channels)); }};

}  // namespace

void add_finishing(Cases& cases) {
  for (const char* backend : {"tflite_double", "tflite_single", "xnnpack", "onnxruntime", "vipnano_v8", "vipnano_v7", "n2d2_single_shift",
                              "n2d2_double_shift", "n2d2_fixed_mult16", "n2d2_fixed_mult32", "n2d2_float_mult", "bernoulli2"}) {
    for (const std::size_t count : {std::size_t{1}, channels}) {
      cases.push_back(
          {"finish/" + std::string(backend) + (count == 1 ? "/per_tensor" : "/per_channel"), "values", nullptr, {side_of(backend, count)}});
    }
  }
  for (const char* backend :
       {"gemmini",     "gemmini_shift", "max78000",       "espdl_s3",    "espdl_p4",    "esp_nn",    "pytorch_qnnpack",
        "pytorch_x86", "fbgemm",        "fbgemm_integer", "tosa_single", "tosa_double", "ethos_u",   "gap8",
        "k210",        "rk3588",        "rk3588_mesa",    "nvdla",       "sophgo",      "sophgo_qdm"}) {
    cases.push_back({"finish/" + std::string(backend) + "/per_channel", "values", nullptr, {side_of(backend, channels), vipnano}});
  }
}

}  // namespace lastbit::bench
