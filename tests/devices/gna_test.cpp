// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Affine layers of Intel's GNA against their documented definition, written down again in 128-bit integers: tiles of every generation and
// group, multipliers; and the corners in which the vendor's emulation differs.
#include "lastbit/backends/gna.hpp"

#include <array>
#include <vector>

#include "lastbit/emulator.hpp"
#include "lastbit/rules.hpp"
#include "support/gna_oracle.hpp"
#include "support/layer_model.hpp"
#include "support/tally.hpp"

namespace lastbit {
namespace {

using namespace lastbit::test;

/// Input elements of the buffer for 1 to 8 vectors, as the library's table has them.
struct Generation {
  const Backend* backend;
  std::array<std::size_t, 8> elements_16bit, elements_8bit;
};
const Generation generations[] = {
    {&gna1, {12288, 12288, 12096, 12288, 12000, 12096, 12096, 12288}, {}},
    {&gna1_embedded, {6144, 6144, 6048, 6144, 5760, 6048, 6048, 6144}, {}},
    {&gna2, {12288, 12288, 12096, 12288, 12000, 12096, 12096, 12288}, {}},
    {&gna3_0, {16384, 16384, 16320, 16384, 16320, 16128, 16128, 16384}, {32768, 32768, 32640, 32768, 32640, 32256, 32256, 32768}},
    {&gna3_1, {16384, 16384, 16320, 16384, 16320, 16128, 16128, 16384}, {32768, 32768, 32640, 32768, 32640, 32256, 32256, 32768}},
};

/// Rows of a batch against the definition, each with the tile of its group.
template <class Data, class Weight>
void check_affine(const Backend& backend, const std::array<std::size_t, 8>& elements, std::size_t rows, std::size_t inputs,
                  std::mt19937_64& random, Tally& tally) {
  constexpr std::size_t outputs = 2;
  const bool multiplies = sizeof(Data) == 2 && sizeof(Weight) == 1;
  const auto x = wandering<Data>(rows * inputs, random);
  const auto w = wandering<Weight>(outputs * inputs, random);
  const std::vector<std::int32_t> bias{static_cast<std::int32_t>(random()), static_cast<std::int32_t>(random())};
  const std::vector<std::uint8_t> multiplier{static_cast<std::uint8_t>(random() % 4), 255};
  const auto n = static_cast<std::int64_t>(rows), k = static_cast<std::int64_t>(inputs), m = static_cast<std::int64_t>(outputs);
  std::vector<LayerInput> operands{{tensor_of<Data>({n, k}, x)}, {tensor_of<Weight>({m, k}, w)}, {tensor_of<std::int32_t>({m}, bias)}};
  if (multiplies) operands.push_back({tensor_of<std::uint8_t>({m}, multiplier)});
  const LayerResult found =
      compute(layer_case(OperationKind::fully_connected, FullyConnectedAttributes{}, operands, {{ElementType::int32, {n, m}}}), backend);
  const Values sums = widened(found.outputs[0]), weights = widened(w);
  std::int64_t saturations = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t group = std::min<std::size_t>(8, rows - row / 8 * 8);
    const Values vector(x.begin() + static_cast<std::ptrdiff_t>(row * inputs), x.begin() + static_cast<std::ptrdiff_t>((row + 1) * inputs));
    for (std::size_t o = 0; o < outputs; ++o) {
      const Sum expected = tiled_sum(bias[o], multiplies ? multiplier[o] : 1, vector, weights, o * inputs, elements[group - 1] / group);
      tally.equal(sums[row * outputs + o], expected.value, rows, row, o, sizeof(Data), sizeof(Weight));
      saturations += expected.saturations;
    }
  }
  tally.equal(found.saturations, saturations, rows, inputs, sizeof(Data), sizeof(Weight));
}

TEST_CASE("GNA affine layers saturate once per tile, of every generation and group") {
  std::mt19937_64 random(51);
  Tally tally;
  for (const Generation& g : generations) {
    for (std::size_t rows = 1; rows <= 11; rows += rows == 8 ? 3 : 1) {
      const std::size_t group = std::min<std::size_t>(rows, 8), tile = g.elements_16bit[group - 1] / group;
      for (const std::size_t inputs : {tile + 8, 2 * tile}) {
        check_affine<std::int16_t, std::int16_t>(*g.backend, g.elements_16bit, rows, inputs, random, tally);
        check_affine<std::int16_t, std::int8_t>(*g.backend, g.elements_16bit, rows, inputs, random, tally);
        if (g.elements_8bit[0] == 0) continue;
        check_affine<std::int8_t, std::int16_t>(*g.backend, g.elements_16bit, rows, inputs, random, tally);
        check_affine<std::int8_t, std::int8_t>(*g.backend, g.elements_8bit, rows, 2 * inputs, random, tally);
      }
    }
  }
  tally.check(2000);
}

TEST_CASE("GNA: every multiplier from 0 to 255 scales the terms and not the bias; active rows and a column of the bias") {
  std::mt19937_64 random(52);
  constexpr std::int64_t rows = 256, inputs = 24;
  const auto x = wandering<std::int16_t>(inputs, random);
  const auto w = wandering<std::int8_t>(rows * inputs, random);
  std::vector<std::int32_t> bias;
  std::vector<std::uint8_t> multiplier;
  std::vector<std::int64_t> active;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (int column = 0; column < 3; ++column) bias.push_back(static_cast<std::int32_t>(random()));
    multiplier.push_back(static_cast<std::uint8_t>(row));
    active.push_back(rows - 1 - row / 2);
  }
  FullyConnectedAttributes attributes;
  attributes.active_rows = active;
  attributes.bias_column = 1;
  const LayerCase layer = layer_case(OperationKind::fully_connected, attributes,
                                     {{tensor_of<std::int16_t>({1, inputs}, x)},
                                      {tensor_of<std::int8_t>({rows, inputs}, w)},
                                      {tensor_of<std::int32_t>({rows, 3}, bias)},
                                      {tensor_of<std::uint8_t>({rows}, multiplier)}},
                                     {{ElementType::int32, {1, rows}}});
  const Values found = widened(compute(layer, gna2).outputs[0]);
  Tally tally;
  for (std::size_t i = 0; i < active.size(); ++i) {
    const auto row = static_cast<std::size_t>(active[i]);
    const Sum expected = tiled_sum(bias[3 * row + 1], multiplier[row], widened(x), widened(w), row * inputs, 100000);
    tally.equal(found[i], expected.value, i, row);
  }
  tally.check(rows);
}

/// One row of an affine layer.
template <class Weight>
std::int64_t affine_sum(const Backend& backend, const std::vector<std::int16_t>& x, const std::vector<Weight>& w, std::int32_t bias) {
  const auto k = static_cast<std::int64_t>(x.size());
  std::vector<LayerInput> operands{
      {tensor_of<std::int16_t>({1, k}, x)}, {tensor_of<Weight>({1, k}, w)}, {tensor_of<std::int32_t>({1}, {bias})}};
  return widened(
      compute(layer_case(OperationKind::fully_connected, FullyConnectedAttributes{}, operands, {{ElementType::int32, {1, 1}}}), backend)
          .outputs[0])[0];
}

std::int64_t line_sum(const Backend& backend, const std::vector<std::int16_t>& x, const std::vector<std::int16_t>& w, std::int32_t bias) {
  const auto k = static_cast<std::int64_t>(x.size());
  return widened(compute(layer_case(OperationKind::conv2d, Conv2dAttributes{},
                                    {{tensor_of<std::int16_t>({1, 1, k, 1}, x)},
                                     {tensor_of<std::int16_t>({1, 1, k, 1}, w)},
                                     {tensor_of<std::int32_t>({1}, {bias})}},
                                    {{ElementType::int32, {1, 1, 1, 1}}}),
                         backend)
                     .outputs[0])[0];
}

TEST_CASE("GNA: where the vendor's vectorised kernels wrap") {
  constexpr auto lowest = std::numeric_limits<std::int32_t>::min(), highest = std::numeric_limits<std::int32_t>::max();
  const Backend* const emulations[] = {&gna_software_sse4, &gna_software_avx2};
  SECTION("two products of 2^30 side by side") {
    std::vector<std::int16_t> extremes(16, 0);
    extremes[4] = extremes[5] = -32768;
    CHECK(affine_sum(gna3_0, extremes, extremes, lowest) == 0);
    for (const Backend* emulation : emulations) CHECK(affine_sum(*emulation, extremes, extremes, lowest) == lowest);
    std::swap(extremes[5], extremes[6]);  // no longer a pair
    for (const Backend* emulation : emulations) CHECK(affine_sum(*emulation, extremes, extremes, lowest) == 0);
  }
  SECTION("blocks of products of 16 by 8 bits") {
    const std::vector<std::int16_t> x(528, 32767), small(512, -32768);
    const std::vector<std::int8_t> w(528, 127), lowest_weights(512, -128);
    CHECK(affine_sum(gna3_0, x, w, 0) == highest);
    CHECK(affine_sum(gna3_0, small, lowest_weights, 0) == highest);
    for (const Backend* emulation : emulations) {
      CHECK(affine_sum(*emulation, x, w, 0) == -2097743344);
      CHECK(affine_sum(*emulation, small, lowest_weights, 0) == lowest);
    }
  }
  SECTION("the last eight coefficients of a filter") {
    const std::vector<std::int16_t> ones(8, 32767);
    CHECK(line_sum(gna2, ones, ones, lowest) == highest);
    CHECK(line_sum(gna2_software_sse4, ones, ones, lowest) == highest);
    CHECK(line_sum(gna2_software_avx2, ones, ones, lowest) == lowest);
  }
}

TEST_CASE("GNA refuses what it has not") {
  const auto problem = [](const Backend& backend, const LayerCase& layer) {
    const auto diagnostics = check(layer.model, backend);
    return diagnostics.empty() ? std::string() : diagnostics.front().message;
  };
  const Tensor x8(ElementType::int8, {1, 8}), w8(ElementType::int8, {2, 8}), x16(ElementType::int16, {1, 8}),
      x_unsigned(ElementType::uint8, {1, 8});
  const auto affine = [](const Tensor& x, const Tensor& w) {
    return layer_case(OperationKind::fully_connected, FullyConnectedAttributes{}, {{x}, {w}}, {{ElementType::int32, {1, 2}}});
  };
  CHECK(problem(gna2, affine(x8, w8)).find("no arithmetic for int8 data") != std::string::npos);
  CHECK(problem(gna3_0, affine(x8, w8)).empty());
  CHECK(problem(gna3_0, affine(x_unsigned, w8)).find("int8 or int16 data with zero point 0") != std::string::npos);
  LayerCase shifted = affine(x8, w8);
  shifted.model.tensors[0].quantization = {{1.0}, {3}, 0};
  CHECK(problem(gna3_0, shifted).find("zero point 0") != std::string::npos);
  Pool2dAttributes pool;
  CHECK(problem(gna2, layer_case(OperationKind::sum_pool2d, pool, {{Tensor(ElementType::int8, {1, 2, 2, 1})}},
                                 {{ElementType::int8, {1, 2, 2, 1}}}))
            .find("no pooling by sum") != std::string::npos);
  const LayerCase eighteen = layer_case(OperationKind::conv2d, Conv2dAttributes{},
                                        {{Tensor(ElementType::int16, {1, 1, 18, 1})}, {Tensor(ElementType::int16, {1, 1, 18, 1})}},
                                        {{ElementType::int32, {1, 1, 1, 1}}});
  CHECK(problem(gna2_software_avx2, eighteen).find("beyond the end of the row") != std::string::npos);
  CHECK(problem(gna2_software_sse4, eighteen).empty());
}

}  // namespace
}  // namespace lastbit
