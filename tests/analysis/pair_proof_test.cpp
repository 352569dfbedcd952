// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Which layers a processor without VNNI computes as one with it does: against every pair of codes.
#include "lastbit/pair_proof.hpp"

#include <algorithm>

#include "lastbit/model_builder.hpp"
#include "support/catch.hpp"

using namespace lastbit;

namespace {

Model layer(const Shape& weights, std::vector<std::int8_t> values, ElementType data = ElementType::uint8) {
  ModelBuilder builder;
  const auto x = builder.input({"x", data, {1, 1, 2, weights.back()}, {{0.5}, {0}}});
  const auto w = builder.constant<std::int8_t>("w", weights, std::move(values), {{0.5}, {0}});
  return builder.finished(
      {builder.operation(OperationKind::conv2d, {x, w}, {"y", data, {1, 1, 3 - weights[2], weights[0]}, {{0.5}, {0}}})});
}

/// By adding up, saturating, every two codes.
bool differs_for_some_codes(int first, int second) {
  for (int a = 0; a < 256; ++a)
    for (int b = 0; b < 256; ++b) {
      const int sum = a * first + b * second;
      if (std::clamp(sum, -32768, 32767) != sum) return true;
    }
  return false;
}

}  // namespace

TEST_CASE("a pair of neighbours differs exactly where some two codes say so") {
  for (const auto& [first, second] : std::vector<std::pair<int, int>>{
           {64, 64}, {65, 64}, {64, 65}, {127, 1}, {127, 2}, {-64, -64}, {-128, -1}, {-64, -65}, {127, -128}, {0, 127}, {-128, 0}}) {
    INFO(first << " and " << second);
    const auto proofs = prove_pairs(layer({1, 1, 1, 2}, {static_cast<std::int8_t>(first), static_cast<std::int8_t>(second)}));
    REQUIRE(proofs.size() == 1);
    CHECK((proofs[0].verdict == PairVerdict::differs) == differs_for_some_codes(first, second));
    CHECK(proofs[0].highest >= proofs[0].lowest);
  }
}

TEST_CASE("pairs lie within a kernel position, a last odd channel is alone, and other orders are another question") {
  // Positions of 3 channels: (100, 20), 100 | (100, -20), 100: no neighbours leave, 100 and 100 would.
  const auto odd = prove_pairs(layer({1, 1, 2, 3}, {100, 20, 100, 100, -20, 100}));
  REQUIRE(odd.size() == 1);
  CHECK(odd[0].verdict == PairVerdict::same_for_neighbours);
  CHECK(odd[0].highest == 255 * 200);
  // The second of two outputs alone leaves.
  const auto second = prove_pairs(layer({2, 1, 1, 2}, {10, 10, 100, 100}));
  CHECK(second[0].verdict == PairVerdict::differs);
  CHECK(second[0].channel == 1);
  CHECK(second[0].leaving == 1);
  CHECK(prove_pairs(layer({1, 1, 1, 4}, {60, 60, 60, 60}))[0].verdict == PairVerdict::same);
  CHECK(prove_pairs(layer({1, 1, 1, 2}, {127, 127}, ElementType::int8)).empty());
}

TEST_CASE("int8 data of which a runtime makes uint8 are pairs of uint8, with int8 kernels they are none") {
  Model model = layer({1, 1, 1, 2}, {127, 127}, ElementType::int8);
  model.operations[0].stated = Statement::fusible_as_uint8;
  REQUIRE(prove_pairs(model).size() == 1);
  CHECK(prove_pairs(model)[0].verdict == PairVerdict::differs);
  model.operations[0].stated = Statement::fusible;
  CHECK(prove_pairs(model).empty());
}

TEST_CASE("the verdict on pairs is said in words and in JSON") {
  const auto same = prove_pairs(layer({1, 1, 1, 2}, {10, 10})), differs = prove_pairs(layer({1, 1, 1, 2}, {127, 127}));
  CHECK(to_text(same, "m").find("Proven: no pair leaves 16 bits; the network is the same for every input.") != std::string::npos);
  CHECK(to_text(differs, "m").find("may differ in 1 of 1 channels: weights 127 and 127 of channel 0: 0 to 64770") != std::string::npos);
  CHECK(to_json(differs, "m").find("\"verdict\": \"differs\"") != std::string::npos);
}
