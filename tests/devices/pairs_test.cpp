// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of uint8 codes whose pairs of products saturate at 16 bits, against the definition written down again: neighbours among the
// channels of one kernel position, codes as they are, the zero point taken off exactly over the taps inside the image. Where no pair can
// saturate, the device is the one without pairs, and the proof says so.
#include <algorithm>
#include <random>
#include <vector>

#include "lastbit/backends/fbgemm.hpp"
#include "lastbit/backends/pytorch.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/prove.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// A convolution of a 4x5 image, 3x3 with a border of 1, into sums.
struct Layer {
  std::int64_t channels, zero_point;
  std::vector<std::int8_t> weights;  ///< [2, 3, 3, channels]
  std::vector<std::uint8_t> codes;   ///< [1, 4, 5, channels]

  [[nodiscard]] Model model() const {
    ModelBuilder builder;
    const auto x = builder.input({"x", ElementType::uint8, {1, 4, 5, channels}, {{0.5}, {zero_point}, 0}});
    const auto w = builder.constant("w", {2, 3, 3, channels}, weights, {{0.25}, {0}, 0});
    return builder.finished({builder.operation(OperationKind::conv2d, {x, w}, {"y", ElementType::int32, {1, 4, 5, 2}},
                                               Conv2dAttributes{.padding = {PaddingMode::explicit_sizes, 1, 1, 1, 1}})});
  }
  [[nodiscard]] std::vector<std::int32_t> sums(const Backend& backend) const {
    const std::vector<Tensor> inputs{Tensor::from<std::uint8_t>({1, 4, 5, channels}, codes)};
    const Trace trace = run(model(), backend, inputs);
    const auto values = trace.tensors.back()->values<std::int32_t>();
    return {values.begin(), values.end()};
  }
  [[nodiscard]] Int128 definition(std::int64_t y, std::int64_t x, std::int64_t o) const {
    Int128 sum = 0;
    for (std::int64_t ky = 0; ky < 3; ++ky) {
      for (std::int64_t kx = 0; kx < 3; ++kx) {
        const std::int64_t iy = y + ky - 1, ix = x + kx - 1;
        if (iy < 0 || iy >= 4 || ix < 0 || ix >= 5) continue;
        const auto product = [&](std::int64_t c) {
          return std::int64_t{codes[static_cast<std::size_t>((iy * 5 + ix) * channels + c)]} * weight(o, ky, kx, c);
        };
        for (std::int64_t c = 0; c < channels; c += 2) sum += saturated(product(c) + (c + 1 < channels ? product(c + 1) : 0), 16);
        for (std::int64_t c = 0; c < channels; ++c) sum -= zero_point * weight(o, ky, kx, c);
      }
    }
    return sum;
  }
  [[nodiscard]] std::int64_t weight(std::int64_t o, std::int64_t ky, std::int64_t kx, std::int64_t c) const {
    return weights[static_cast<std::size_t>(((o * 3 + ky) * 3 + kx) * channels + c)];
  }
};

Layer random_layer(std::mt19937_64& random, int weight_bits) {
  Layer layer{static_cast<std::int64_t>(1 + random() % 7), static_cast<std::int64_t>(random() % 256), {}, {}};
  const int half = 1 << (weight_bits - 1);
  const auto extreme = [&] { return random() % 2 == 0; };
  for (std::int64_t i = 0; i < 18 * layer.channels; ++i) {
    const int any = static_cast<int>(random() % static_cast<unsigned>(2 * half)) - half;
    layer.weights.push_back(static_cast<std::int8_t>(extreme() ? (extreme() ? half - 1 : -half) : any));
  }
  for (std::int64_t i = 0; i < 20 * layer.channels; ++i) layer.codes.push_back(static_cast<std::uint8_t>(extreme() ? 255 : random() % 256));
  return layer;
}

TEST_CASE("pairs of codes saturate at 16 bits, borders and odd numbers of channels included") {
  std::mt19937_64 random(61);
  Tally tally;
  std::size_t saturating = 0;
  for (int round = 0; round < 300; ++round) {
    const Layer layer = random_layer(random, 8);
    const auto sums = layer.sums(pytorch_x86_avx2);
    for (std::int64_t i = 0; i < 40; ++i)
      tally.equal(sums[static_cast<std::size_t>(i)], layer.definition(i / 10, i / 2 % 5, i % 2), round, i, layer.channels);
    saturating += sums != layer.sums(pytorch_x86) ? 1U : 0U;
  }
  tally.check(12000);
  CHECK(saturating > 100);
}

TEST_CASE("weights of 7 bits: no pair can saturate, and the proof says so; of 8 bits it shows an input that does it") {
  std::mt19937_64 random(62);
  const SpecSheet sheet = find_backend("pytorch_x86_avx2");
  for (int round = 0; round < 20; ++round) {
    const Layer narrow = random_layer(random, 7);
    CHECK(prove(narrow.model(), sheet, {}).safe());
    CHECK(narrow.sums(pytorch_x86_avx2) == narrow.sums(pytorch_x86));
  }
  Layer wide{2, 3, std::vector<std::int8_t>(36, 0), {}};
  wide.weights[4] = 100;
  wide.weights[5] = 29;
  const ProveReport report = prove(wide.model(), sheet, {});
  REQUIRE(report.layers.size() == 1);
  CHECK_FALSE(report.safe());
  CHECK(report.layers[0].unsafe_channels() == 0);
  CHECK(report.layers[0].partial->upper == 255 * 129);
  REQUIRE(report.layers[0].example);
  CHECK(report.layers[0].example->in_partial_sum);
  const auto codes = report.layers[0].example->inputs[0].values<std::uint8_t>();
  wide.codes.assign(codes.begin(), codes.end());
  CHECK(wide.sums(pytorch_x86_avx2) != wide.sums(pytorch_x86));
  wide.weights[5] = 28;
  CHECK(prove(wide.model(), sheet, {}).safe());
}

TEST_CASE("a sum in 16 bits saturates where its pairs do not, unless it is emptied before") {
  ModelBuilder builder;
  const auto a = builder.input({"a", ElementType::uint8, {1, 8}, {{1.0}, {0}, 0}});
  const auto b = builder.input({"b", ElementType::int8, {8, 1}, {{1.0}, {0}, 0}});
  const Model model = builder.finished({builder.operation(OperationKind::matmul, {a, b}, {"y", ElementType::int32, {1, 1}})});
  const std::vector<Tensor> inputs{Tensor::from<std::uint8_t>({1, 8}, std::vector<std::uint8_t>(8, 255)),
                                   Tensor::from<std::int8_t>({8, 1}, std::vector<std::int8_t>(8, 60))};
  const auto sum = [&](std::uint16_t emptied) {
    Backend backend = fbgemm;
    backend.matmul.u8.sum.accumulator.partial.emptied = emptied;
    return run(model, backend, inputs).tensors.back()->values<std::int32_t>()[0];
  };
  CHECK(sum(256) == 32767);
  CHECK(sum(4) == 2 * 32767);
  CHECK(sum(2) == 8 * 255 * 60);
}

TEST_CASE("partial sums of codes refuse weights with a zero point, and int8 data") {
  const auto refusal = [](ElementType data, std::int64_t weight_zero) {
    ModelBuilder builder;
    const auto x = builder.input({"x", data, {1, 2}, {{0.5}, {0}, 0}});
    const auto w = builder.constant("w", {1, 2}, std::vector<std::int8_t>{1, 2}, {{0.25}, {weight_zero}, 0});
    const auto y = builder.operation(OperationKind::fully_connected, {x, w}, {"y", data, {1, 1}, {{1.0}, {0}, 0}});
    const auto problems = check(builder.finished({y}), pytorch_x86_avx2);
    return problems.empty() ? std::string() : problems[0].message;
  };
  CHECK(refusal(ElementType::uint8, 0).empty());
  CHECK(refusal(ElementType::uint8, 1) == "tensor 'w': the backend's partial sums of codes need weights with zero point 0");
  CHECK(refusal(ElementType::int8, 0) == "the backend has no arithmetic for int8 data with int8 weights");
}

}  // namespace
}  // namespace lastbit
