// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Accumulators that differ, counted by the path's vectors and at other scales of an output, against staircases by the definition.
#include "analysis/certify/differing_accumulators.hpp"

#include <random>
#include <set>
#include <vector>

#include "analysis/certify/certifier.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t channels = 40, depth = 12;

Tensor random_codes(ElementType type, const Shape& shape, std::mt19937_64& random) {
  Tensor tensor(type, shape);
  visit_element_type(type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      for (T& value : tensor.values<T>()) value = static_cast<T>(static_cast<std::int64_t>(random() % 255) - 127);
  });
  return tensor;
}

/// A 1x1 convolution with a bias.
Model layer(bool per_channel, ElementType type, std::mt19937_64& random) {
  Model model;
  model.name = "layer";
  Quantization weights{{0.0157}, {0}, 0}, bias{{0.0625 * 0.0157}, {0}, 0};
  for (std::int64_t c = 1; per_channel && c < channels; ++c) {
    weights.scales.push_back(0.01 + static_cast<double>(random() % 1000) / 1e5);
    weights.zero_points.push_back(0);
    bias.scales.push_back(0.0625 * weights.scales.back());
    bias.zero_points.push_back(0);
  }
  const bool is_byte = type == ElementType::int8;
  const ElementType bias_type = is_byte ? ElementType::int32 : ElementType::int64;
  model.tensors = {
      {"x", type, {1, 4, 4, depth}, {{0.0625}, {is_byte ? 5 : 0}, 0}, {}},
      {"y", type, {1, 4, 4, channels}, {{0.3}, {is_byte ? -3 : 0}, 0}, {}},
      {"w", ElementType::int8, {channels, 1, 1, depth}, weights, random_codes(ElementType::int8, {channels, 1, 1, depth}, random)},
      {"b", bias_type, {channels}, bias, random_codes(bias_type, {channels}, random)}};
  model.operations = {{OperationKind::conv2d, "conv", {0, 2, 3}, {1}, Conv2dAttributes{}}};
  model.inputs = {0};
  model.outputs = {1};
  validate(model, "test");
  return model;
}

/// Both sides' sums of the only layer; nothing where a side cannot do it, or they are not one variable.
void with_sums(const Model& model, const SpecSheet& a, const SpecSheet& b,
               const std::function<void(const LayerOnBoth&, const SharedSums&)>& visit) {
  const CertifyOptions options;
  try {
    Certifier(model, a, b, {}, options).each([&](const LayerOnBoth& layer, const std::optional<SharedSums>& sums) {
      if (sums && sums->open.empty()) visit(layer, *sums);
    });
  } catch (const Error&) {
  }
}

std::int64_t by_definition(const SharedSums& sums) {
  std::int64_t differing = 0;
  for (const SharedSums::Column& column : sums.columns) differing += difference(sums, column).same.differing;
  return differing;
}

TEST_CASE("accumulators that differ: by the path's vectors as many as by the definition, at every scale of the output") {
  std::mt19937_64 random(20261128);
  std::set<std::string> devices;
  std::int64_t pairs = 0, by_vectors = 0, differing = 0;
  for (const bool per_channel : {false, true}) {
    const Model model = layer(per_channel, ElementType::int8, random);
    for (const char* const first : {"tflite_double", "xnnpack"}) {
      for (const SpecSheet& other : builtin_backends()) {
        with_sums(model, find_backend(first), other, [&](const LayerOnBoth& of_layer, const SharedSums& sums) {
          for (const double factor : {1.0, 0.9, 1.0137, 1.31}) {
            INFO(first << " beside " << other.name << " times " << factor << (per_channel ? ", a scale per channel" : ""));
            const Model rescaled = with_output_scale(model, 0, factor);
            const std::optional<SharedSums> at = at_other_scale(sums, of_layer, rescaled);
            REQUIRE(at);
            std::int64_t expected = -1;
            with_sums(rescaled, find_backend(first), other,
                      [&](const LayerOnBoth&, const SharedSums& anew) { expected = by_definition(anew); });
            CHECK(by_definition(*at) == expected);
            ++pairs;
            const std::optional<std::int64_t> found = differing_accumulators(*at, at->columns);
            if (!found) continue;
            CHECK(*found == expected);
            ++by_vectors;
            differing += expected > 0 ? 1 : 0;
            devices.insert(other.name);
          }
        });
      }
    }
  }
  CHECK(pairs >= 200);
  CHECK(by_vectors * 10 >= pairs * 9);
  CHECK(differing * 4 >= by_vectors);
  CHECK(devices.size() >= 15);
}

TEST_CASE("accumulators that differ: where outputs are far apart, each counts once") {
  std::mt19937_64 random(7);
  const Model model = layer(true, ElementType::int8, random);
  int seen = 0;
  with_sums(model, find_backend("tflite_double"), find_backend("vipnano_v8"), [&](const LayerOnBoth& of_layer, const SharedSums& sums) {
    for (const double factor : {0.4, 0.97, 1.2, 3.0}) {
      INFO(factor);
      const std::optional<SharedSums> at = at_other_scale(sums, of_layer, with_output_scale(model, 0, factor));
      REQUIRE(at);
      SharedSums apart = sums;
      for (std::size_t c = 0; c < apart.columns.size(); ++c) apart.columns[c].b = at->columns[c].b;
      CHECK(differing_accumulators(apart, apart.columns) == by_definition(apart));
      ++seen;
    }
  });
  CHECK(seen == 4);
}

TEST_CASE("accumulators that differ: outputs of 16 bits are left to the definition") {
  std::mt19937_64 random(5);
  const Model model = layer(false, ElementType::int16, random);
  int seen = 0;
  for (const SpecSheet& sheet : builtin_backends()) {
    with_sums(model, sheet, sheet, [&](const LayerOnBoth&, const SharedSums& sums) {
      ++seen;
      CHECK_FALSE(differing_accumulators(sums, sums.columns));
    });
  }
  CHECK(seen > 0);
}

}  // namespace
}  // namespace lastbit
