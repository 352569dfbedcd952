// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The header-only core on one layer and on accumulators, beside plain loops (core_peer.hpp).
#include <benchmark/benchmark.h>

#include <memory>
#include <random>

#include "case.hpp"
#include "core_peer.hpp"
#include "lastbit/arith/integer.hpp"

namespace lastbit::bench {
namespace {

using Conv2d = std::function<std::vector<std::int8_t>(const CoreLayer&)>;

Side conv2d_side(const char* name, const Conv2d& conv2d) {
  return {name, [conv2d] {
            const auto layer = std::make_shared<const CoreLayer>(core_layer());
            constexpr double macs = 1.0 * CoreLayer::height * CoreLayer::width * CoreLayer::channels * CoreLayer::channels * 9;
            const auto run = [layer, conv2d] { benchmark::DoNotOptimize(conv2d(*layer).data()); };
            const auto output = [layer, conv2d] {
              return Tensor::from<std::int8_t>({1, CoreLayer::height, CoreLayer::width, CoreLayer::channels}, conv2d(*layer));
            };
            return Trial{macs, run, output};
          }};
}

using Requantize = void (*)(std::span<const std::int32_t>, std::span<std::int8_t>);

Side requantize_side(const char* name, Requantize requantize) {
  return {name, [requantize] {
            constexpr std::size_t count = 32768;
            std::mt19937 random(7);
            const auto sums = std::make_shared<std::vector<std::int32_t>>(count);
            for (std::int32_t& sum : *sums) sum = static_cast<std::int32_t>(narrow_wrap(static_cast<std::int64_t>(random()), 22));
            const auto codes = std::make_shared<std::vector<std::int8_t>>(count);
            const auto run = [=] {
              requantize(*sums, *codes);
              benchmark::DoNotOptimize(codes->data());
            };
            const auto output = [=] {
              run();
              return Tensor::from<std::int8_t>({static_cast<std::int64_t>(count)}, *codes);
            };
            return Trial{static_cast<double>(count), run, output};
          }};
}

Side by_core(CoreSums sums) {
  return conv2d_side("lastbit", [sums](const CoreLayer& layer) { return conv2d_by_core(sums, layer); });
}

}  // namespace

void add_core(Cases& cases) {
  const Side loop = conv2d_side("cmsis_nn_like_loop", conv2d_like_cmsis_nn);
  const Side other{loop.name, [prepare = loop.prepare] { return only_timed(prepare()); }};  // another arithmetic than the device's
  const auto add = [&](const char* name, CoreSums sums, const Side& beside) {
    cases.push_back({std::string("core/conv2d/") + name + "/56x56x64_3x3", "MACs", nullptr, {by_core(sums), beside}});
  };
  add("tflite_double", CoreSums::tflite_double, loop);
  add("vipnano_v8", CoreSums::vipnano_v8, other);
  add("saturating_24_bits", CoreSums::saturating_24_bits, other);
  add("saturating_16_bits", CoreSums::saturating_16_bits, other);
  cases.push_back(
      {"core/conv2d/given_tflite_double/56x56x64_3x3", "MACs", nullptr, {conv2d_side("lastbit", conv2d_by_given_device), loop}});
  std::vector<Side> sides{requantize_side("lastbit", requantize_by_core)};
#if defined(LASTBIT_HAS_GEMMLOWP)
  sides.push_back(requantize_side("gemmlowp_fixedpoint", requantize_by_gemmlowp));
#endif
  cases.push_back({"core/requantize/tflite_double", "values", nullptr, sides});
}

}  // namespace lastbit::bench
