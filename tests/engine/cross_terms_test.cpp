// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Layers that state cross terms and segments, against the K210's formula (docs/backends/k210.md) written out, and what of them is refused.
#include <algorithm>
#include <random>

#include "engine/ops/conv_layer.hpp"
#include "lastbit/backends/k210.hpp"
#include "lastbit/backends/tflite.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/prove.hpp"
#include "support/oracle.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

struct Sizes {
  OperationKind kind;
  std::int64_t height, width, in, out, kernel, pad;
};

/// A layer of random codes and registers.
struct KpuLayer {
  Model model;
  std::vector<std::uint8_t> data, weights;
  Conv2dAttributes attributes;
  std::int64_t zero_point = 0;
};

std::int64_t between(std::mt19937_64& random, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(high - low + 1));
}

std::vector<std::uint8_t> random_codes(std::mt19937_64& random, std::int64_t count) {
  std::vector<std::uint8_t> codes(static_cast<std::size_t>(count));
  for (std::uint8_t& code : codes) code = static_cast<std::uint8_t>(random());
  return codes;
}

KpuLayer random_layer(const Sizes& sizes, std::mt19937_64& random) {
  const bool depthwise = sizes.kind == OperationKind::depthwise_conv2d;
  KpuLayer layer;
  layer.zero_point = between(random, 0, 255);
  layer.data = random_codes(random, 2 * sizes.height * sizes.width * sizes.in);
  layer.weights = random_codes(random, sizes.kernel * sizes.kernel * (depthwise ? 1 : sizes.in) * sizes.out);
  layer.attributes.padding = {PaddingMode::explicit_sizes, sizes.pad, sizes.pad, sizes.pad, sizes.pad};
  layer.attributes.cross_terms = CrossTerms{{between(random, -40000, 40000), static_cast<int>(between(random, 0, 12))},
                                            {between(random, -40000, 40000), static_cast<int>(between(random, 0, 12))},
                                            between(random, -30000, 30000)};
  for (std::int64_t o = 0; o < sizes.out; ++o)
    layer.attributes.bounds.registers.push_back(
        {between(random, -200000, 200000), static_cast<int>(between(random, 6, 15)), between(random, -100000, 100000)});
  std::vector<ScaleSegment> segments{{-(std::int64_t{1} << 35), 0, 0, 17}};
  for (std::int64_t start = -2000000; segments.size() < 16; start += between(random, 1, 300000))
    segments.push_back({start, between(random, -32768, 32767), static_cast<int>(between(random, 18, 30)), between(random, 0, 255)});
  layer.attributes.bounds.segments = SegmentTable(segments);
  ModelBuilder builder;
  const Quantization of_data{{1.0}, {layer.zero_point}}, of_weights{{1.0}, {128}}, unit{{1.0}, {0}};
  const Shape shape = depthwise ? Shape{1, sizes.kernel, sizes.kernel, sizes.out} : Shape{sizes.out, sizes.kernel, sizes.kernel, sizes.in};
  const auto x = builder.input({"x", ElementType::uint8, {2, sizes.height, sizes.width, sizes.in}, of_data});
  const auto w = builder.constant("w", Tensor::from<std::uint8_t>(shape, layer.weights), of_weights);
  const std::int64_t shrinks = sizes.kernel - 1 - 2 * sizes.pad;
  layer.model = builder.finished(
      {builder.operation(sizes.kind, {x, w}, {"y", ElementType::uint8, {2, sizes.height - shrinks, sizes.width - shrinks, sizes.out}, unit},
                         layer.attributes)});
  return layer;
}

/// C of the page: half to even, stepping away from zero.
Int128 carried(Int128 product, int shift) {
  const Int128 lower = rounded(product, two_to_the(shift), Rounding::floor);
  const bool steps = rounded(product, two_to_the(shift), Rounding::half_even) != lower;
  return lower + (steps ? (product < 0 ? -1 : 1) : 0);
}

/// The sum and the code of one output.
std::pair<Int128, Int128> expected(const KpuLayer& layer, const Sizes& sizes, std::int64_t n, std::int64_t y, std::int64_t x,
                                   std::int64_t o) {
  const bool depthwise = sizes.kind == OperationKind::depthwise_conv2d;
  const std::int64_t channels = depthwise ? 1 : sizes.in, first = depthwise ? o / (sizes.out / sizes.in) : 0;
  Int128 products = 0, of_data = 0, of_weights = 0;
  for (std::int64_t i = 0; i < sizes.kernel; ++i) {
    for (std::int64_t j = 0; j < sizes.kernel; ++j) {
      for (std::int64_t c = 0; c < channels; ++c) {
        const std::int64_t row = y - sizes.pad + i, column = x - sizes.pad + j;
        const bool inside = row >= 0 && row < sizes.height && column >= 0 && column < sizes.width;
        const auto at = static_cast<std::size_t>(((n * sizes.height + row) * sizes.width + column) * sizes.in + first + c);
        const std::int64_t code = inside ? layer.data[at] : layer.zero_point;
        const std::int64_t place =
            depthwise ? (i * sizes.kernel + j) * sizes.out + o : ((o * sizes.kernel + i) * sizes.kernel + j) * sizes.in + c;
        const std::int64_t weight = layer.weights[static_cast<std::size_t>(place)];
        products += code * weight, of_data += code, of_weights += weight;
      }
    }
  }
  const CrossTerms& terms = *layer.attributes.cross_terms;
  const auto floored = [](Int128 sum, const ScaleRegister& by) {
    return rounded(sum * by.multiplier, two_to_the(by.shift), Rounding::floor);
  };
  const Int128 sum = products + floored(of_data, terms.data) + floored(of_weights, terms.weights) + terms.per_channel * channels;
  const ScaleRegister& norm = layer.attributes.bounds.registers[static_cast<std::size_t>(o)];
  const Int128 v = floored(sum, norm) + norm.offset;
  const auto segments = layer.attributes.bounds.segments.segments();
  ScaleSegment last = segments.front();
  for (const ScaleSegment& each : segments) last = v > each.start ? each : last;
  return {sum, std::clamp<Int128>(carried((v - last.start) * last.multiplier, last.shift) + last.add, 0, 255)};
}

constexpr Sizes every_size[] = {{OperationKind::conv2d, 5, 4, 3, 5, 3, 1},           {OperationKind::conv2d, 3, 3, 70, 9, 1, 0},
                                {OperationKind::conv2d, 6, 5, 17, 33, 3, 0},         {OperationKind::depthwise_conv2d, 5, 7, 6, 6, 3, 1},
                                {OperationKind::depthwise_conv2d, 4, 4, 3, 6, 3, 1}, {OperationKind::depthwise_conv2d, 3, 3, 20, 20, 1, 0}};

TEST_CASE("each cross term is floored by itself, padding is the zero point's code, and the segments end the layer") {
  std::mt19937_64 random(2020);
  Tally sums, codes;
  for (const Sizes& sizes : every_size) {
    for (int round = 0; round < 6; ++round) {
      const KpuLayer layer = random_layer(sizes, random);
      const Tensor input = Tensor::from<std::uint8_t>(layer.model.tensor(0).shape, layer.data);
      const Trace trace = run(layer.model, k210, std::vector<Tensor>{input});
      const ConvLayer conv = conv_layer(layer.model, layer.model.operations[0], k210);
      const auto all = LayerSums(conv).all(conv_input(input, conv.zero_points));
      const auto centred = centred_input(conv, input);
      for (std::int64_t i = 0; i < trace.tensors.back()->element_count(); ++i) {
        const ConvIndex at = output_at(conv.shape, i);
        const auto [sum, code] = expected(layer, sizes, at.n, at.y, at.x, at.o);
        sums.equal(all[static_cast<std::size_t>(i)], sum, i, sizes.in, sizes.kernel);
        sums.equal(accumulate(conv, centred, at).result(), sum, i, sizes.in, sizes.kernel);
        codes.equal(trace.tensors.back()->integer_at(i), code, i, sizes.in, sizes.kernel);
      }
    }
  }
  sums.check(20000);
  codes.check(10000);
}

TEST_CASE("cross terms of the zero points, without shifts, are the centred sum") {
  std::mt19937_64 random(7);
  KpuLayer layer = random_layer(every_size[0], random);
  Operation& operation = layer.model.operations[0];
  const auto codes = [&] {
    const Trace trace = run(layer.model, k210, std::vector<Tensor>{Tensor::from<std::uint8_t>(layer.model.tensor(0).shape, layer.data)});
    const auto values = trace.tensors.back()->values<std::uint8_t>();
    return std::vector<std::uint8_t>(values.begin(), values.end());
  };
  auto& attributes = std::get<Conv2dAttributes>(operation.attributes);
  attributes.cross_terms = CrossTerms{{-128, 0}, {-layer.zero_point, 0}, 9 * 128 * layer.zero_point};
  const auto stated = codes();
  attributes.cross_terms.reset();
  CHECK(codes() == stated);
  CHECK(std::ranges::any_of(stated, [&](std::uint8_t code) { return code != stated[0]; }));
}

TEST_CASE("a proof bounds the sums that cross terms join") {
  std::mt19937_64 random(11);
  for (const Sizes& sizes : every_size) {
    const KpuLayer layer = random_layer(sizes, random);
    const ProveReport proof = prove(layer.model, k210, {});
    REQUIRE(proof.layers.size() == 1);
    const SumRange range = proof.layers[0].sums();
    CHECK(range.lower < range.upper);
    for (std::int64_t o = 0; o < sizes.out; ++o) {
      const Int128 sum = expected(layer, sizes, 0, 0, 0, o).first;
      INFO("channel " << o << " of " << sizes.out << ": " << static_cast<double>(sum) << " in " << static_cast<double>(range.lower)
                      << " to " << static_cast<double>(range.upper));
      CHECK((sum >= range.lower && sum <= range.upper));
    }
  }
}

TEST_CASE("what a device has no registers for is refused") {
  std::mt19937_64 random(3);
  const KpuLayer layer = random_layer(every_size[0], random);
  const auto problem = [&](const Backend& backend, auto&& change) {
    Model changed = layer.model;
    change(changed, std::get<Conv2dAttributes>(changed.operations[0].attributes));
    const auto problems = check(changed, backend);
    return problems.empty() ? std::string() : problems.front().message;
  };
  const auto nothing = [](Model&, Conv2dAttributes&) {};
  CHECK(problem(k210, nothing).empty());
  CHECK_THAT(problem(tflite_double, nothing), contains_text("cross terms"));
  CHECK_THAT(problem(tflite_double, [](Model&, Conv2dAttributes& of) { of.cross_terms.reset(), of.bounds.registers.clear(); }),
             contains_text("no function in segments"));
  CHECK_THAT(problem(k210, [](Model&, Conv2dAttributes& of) { of.bounds.segments = {}; }), contains_text("the layer states no segments"));
  CHECK_THAT(problem(k210, [](Model&, Conv2dAttributes& of) { of.bounds.registers.clear(); }),
             contains_text("the layer states no registers"));
  const auto with_segments = [](std::vector<ScaleSegment> list) {
    return [list = std::move(list)](Model&, Conv2dAttributes& of) { of.bounds.segments = SegmentTable(list); };
  };
  std::vector<ScaleSegment> many;
  for (int i = 0; i < 17; ++i) many.push_back({i, 1, 0, 0});
  CHECK_THAT(problem(k210, with_segments(many)), contains_text("17 segments; the device has 16"));
  CHECK_THAT(problem(k210, with_segments({{0, 32768, 0, 0}})), contains_text("does not fit the device's 16 bits"));
  CHECK_THAT(problem(k210, [](Model&, Conv2dAttributes& of) { of.bounds.registers[0].multiplier = 1 << 23; }), contains_text("23 bits"));
}

}  // namespace
}  // namespace lastbit
