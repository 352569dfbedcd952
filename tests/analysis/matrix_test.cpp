// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a matrix counts and expects, against layers that are run on every input, and against what random data give.
#include "lastbit/matrix.hpp"

#include <array>
#include <cmath>
#include <map>
#include <random>

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"
#include "support/small_layers.hpp"

namespace lastbit {
namespace {

using namespace test;

const std::array<SpecSheet, 3>& sheets() {
  static const std::array<SpecSheet, 3> list{find_backend("tflite_double"), find_backend("tflite_single"), find_backend("vipnano_v8")};
  return list;
}

/// A layer with enough weights for its sums to be spread as a normal distribution.
Model many_weights(std::mt19937& random) {
  ModelBuilder builder("many");
  const auto in = builder.input({"in", ElementType::int8, Shape{1, 400}, {{0.05}, {0}}});
  std::vector<std::int8_t> weights(400 * 8);
  for (std::int8_t& weight : weights) weight = static_cast<std::int8_t>(static_cast<int>(random() % 255) - 127);
  const auto w = builder.constant<std::int8_t>("w", Shape{8, 400}, weights, {{0.01}, {0}});
  const auto b = builder.constant<std::int32_t>("b", Shape{8}, std::vector<std::int32_t>(8, 0), {{0.05 * 0.01}, {0}});
  return builder.finished(
      {builder.operation(OperationKind::fully_connected, {in, w, b}, {"out", ElementType::int8, Shape{1, 8}, {{0.9}, {3}}})});
}

Tensor random_codes(Shape shape, std::mt19937& random) {
  std::vector<std::int8_t> codes(static_cast<std::size_t>(shape.element_count()));
  for (std::int8_t& code : codes) code = static_cast<std::int8_t>(static_cast<int>(random() % 256) - 128);
  return Tensor::from<std::int8_t>(std::move(shape), codes);
}

}  // namespace

TEST_CASE("each pair counts what its certificate counts; on every input at once expected and measured shares are that share") {
  std::mt19937 random(31);
  const std::vector<Tensor> every{Tensor::from<std::int8_t>(Shape{1, 16, 16, 1}, every_code())};
  int differing = 0;
  for (int i = 0; i < 20; ++i) {
    const Model model = one_weight(random);
    const Matrix found = matrix(model, sheets(), every);
    REQUIRE(found.pairs.size() == 3);
    for (const PairShares& pair : found.pairs) {
      const LayerCertificate certificate = certify(model, sheets()[pair.a], sheets()[pair.b], {}).layers.at(0);
      const LayerShares& layer = pair.layers.at(0);
      INFO("layer " << i << ", " << found.backends[pair.a] << " against " << found.backends[pair.b]);
      CHECK(layer.cases == certificate.cases);
      CHECK(layer.differing == certificate.differing);
      CHECK(pair.equal() == (certificate.differing == 0));
      const double share = static_cast<double>(certificate.differing) / 256;
      if (pair.equal()) continue;
      ++differing;
      CHECK(layer.measured == share);
      REQUIRE(layer.by_data.has_value());
      CHECK(std::abs(*layer.by_data - share) < 1e-12);
      CHECK(std::abs(pair.expected() - share) < 1e-12);
    }
  }
  CHECK(differing > 10);
}

TEST_CASE("of two data inputs each pair of codes counts as often as its codes do") {
  std::mt19937 random(32);
  const Model model = sum_of_two(OperationKind::add, random);
  const Shape shape{1, 256, 256, 1};
  std::vector<std::int8_t> few(65536);
  for (std::int8_t& code : few) code = static_cast<std::int8_t>(random() % 20);
  const std::vector<Tensor> inputs{Tensor::from<std::int8_t>(shape, few), random_codes(shape, random)};
  const Matrix found = matrix(model, std::span(sheets()).subspan(1, 2), inputs);
  const LayerShares& layer = found.pairs.at(0).layers.at(0);
  REQUIRE(layer.differing > 0);
  CHECK(layer.by_ranges == static_cast<double>(layer.differing) / 65536);
  std::array<std::map<int, double>, 2> shares;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::int64_t at = 0; at < 65536; ++at) shares[i][static_cast<int>(inputs[i].integer_at(at))] += 1.0 / 65536;
  std::vector<std::int8_t> rows, columns;
  for (int y = 0; y < 256; ++y) {
    for (int x = 0; x < 256; ++x) {
      rows.push_back(static_cast<std::int8_t>(y - 128));
      columns.push_back(static_cast<std::int8_t>(x - 128));
    }
  }
  const std::vector<Tensor> pairs{Tensor::from<std::int8_t>(shape, rows), Tensor::from<std::int8_t>(shape, columns)};
  const auto out = static_cast<std::size_t>(model.outputs[0]);
  const Tensor a = *run(model, sheets()[1].backend, pairs).tensors[out], b = *run(model, sheets()[2].backend, pairs).tensors[out];
  double expected = 0;
  for (std::int64_t at = 0; at < 65536; ++at)
    if (a.integer_at(at) != b.integer_at(at))
      expected += shares[0][static_cast<int>(at / 256) - 128] * shares[1][static_cast<int>(at % 256) - 128];
  REQUIRE(layer.by_data.has_value());
  CHECK(std::abs(*layer.by_data - expected) < 1e-12);
  CHECK(std::abs(*layer.by_data - *layer.by_ranges) > 1e-6);
}

TEST_CASE("without data the expectation is near what random codes give") {
  std::mt19937 random(33);
  const Model model = many_weights(random);
  const std::array two{find_backend("tflite_double"), find_backend("vipnano_v7")};
  const Matrix found = matrix(model, two, std::vector<Tensor>{random_codes(Shape{40000, 1, 400}, random)});
  const LayerShares& layer = found.pairs.at(0).layers.at(0);
  INFO("ranges " << *layer.by_ranges << ", data " << *layer.by_data << ", measured " << *layer.measured);
  CHECK(found.samples == 40000);
  REQUIRE(*layer.measured > 0);
  CHECK(std::abs(*layer.by_ranges / *layer.measured - 1) < 0.25);  // of some hundred differing outputs
  CHECK(std::abs(*layer.by_data / *layer.measured - 1) < 0.25);
  CHECK(std::abs(*layer.by_ranges / (static_cast<double>(layer.differing) / static_cast<double>(layer.cases)) - 1) > 0.5);
}

TEST_CASE("a matrix names who is left out, and needs two") {
  std::mt19937 random(34);
  const Model model = one_weight(random);
  const std::array some{find_backend("tflite_double"), find_backend("gna2"), find_backend("tflite_builtin_double")};
  const Matrix found = matrix(model, some, {});
  REQUIRE(found.left_out.size() == 1);
  CHECK(found.left_out[0].first == "gna2");
  CHECK(found.backends == std::vector<std::string>{"tflite_double", "tflite_builtin_double"});
  CHECK(found.pair(1, 0).equal());
  CHECK(to_text(found).find("left out: gna2: ") != std::string::npos);
  CHECK(to_csv(found).find("tflite_double,tflite_builtin_double,0,") != std::string::npos);
  CHECK(to_json(found).find("\"lastbit.matrix.v1\"") != std::string::npos);
  CHECK_THROWS_WITH(matrix(model, std::span(some).subspan(0, 2), {}), contains_text("fewer than two"));
}

}  // namespace lastbit
