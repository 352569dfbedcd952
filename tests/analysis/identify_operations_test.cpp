// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// identify on operations other than convolutions: every built-in device is found from tensors and scales alone, and so is one that no sheet
// describes.
#include <map>
#include <random>

#include "lastbit/emulator.hpp"
#include "lastbit/identify.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "support/answered_layer.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

using namespace test;
using enum OperationKind;

constexpr OperationKind kinds[] = {OperationKind::add, sub,   mul,        add_n,      average_pool2d, mean, concat,
                                   requantize,         relu6, leaky_relu, hard_swish, logistic};

TEST_CASE("identify: built-in devices are found from its sums, products, pools and functions") {
  std::map<std::string, int> found;
  for (const char* const name :
       {"tflite_double", "xnnpack", "onnxruntime", "vipnano_v8", "bernoulli2", "n2d2_fixed_mult16", "gemmini", "max78000"}) {
    const SpecSheet sheet = find_backend(name);
    for (const OperationKind kind : kinds) {
      std::vector<IdentifyPair> pairs;
      if (auto pair = answered_by(sheet.backend, kind, 1)) pairs.push_back(std::move(*pair));
      if (pairs.empty()) continue;
      INFO(sheet.name << ", " << name_of(kind));
      const Identification identified = identify(pairs);
      REQUIRE(identified.operations.size() == 1);
      const OperationIdentification& one = identified.operations[0];
      CHECK(one.exact());
      CHECK(std::ranges::find(one.best().backends, sheet.name) != one.best().backends.end());
      ++found[std::string(name_of(kind))];
      // What is saved is read back, and computes the same.
      const SpecSheet saved = backend_from_json(backend_to_json(identified_backend(identified, "mine")), "test");
      const IdentifyPair& pair = pairs[0];
      REQUIRE(check(pair.layer, saved.backend).empty());
      CHECK(*run(pair.layer, saved.backend, pair.inputs).tensors[static_cast<std::size_t>(pair.layer.outputs[0])] == pair.output);
    }
  }
  for (const OperationKind kind : kinds) CHECK(found[std::string(name_of(kind))] > 0);
}

/// A device that differs from a built-in one in a few rules of the operation, drawn at random.
Backend hidden_device(const Backend& builtin, const std::string& prefix, int changes, std::mt19937& random) {
  Backend hidden = builtin;
  while (changes > 0) {
    std::vector<std::pair<std::string, std::string>> steps;
    for (const RuleText& rule : list_rules(hidden)) {
      if (!rule.path.starts_with(prefix + ".") || rule.path.ends_with("size") || rule.path.ends_with("kind")) continue;
      for (const std::string& value : alternatives(hidden, rule.path)) steps.emplace_back(rule.path, value);
    }
    const auto& [path, value] = steps[random() % steps.size()];
    set_rule(hidden, path, value);
    --changes;
  }
  return hidden;
}

TEST_CASE("identify: a device that differs from every sheet in two rules of an operation is found") {
  std::mt19937 random(11);
  int tried = 0;
  for (const char* const name : {"tflite_double", "tflite_single", "xnnpack", "vipnano_v8", "bernoulli2"}) {
    const Backend& builtin = find_backend(name).backend;
    for (const OperationKind kind : {OperationKind::add, mul, average_pool2d, mean, requantize}) {
      for (int trial = 0; trial < 3; ++trial) {
        const auto like = answered_by(builtin, kind, 1);
        if (!like) continue;
        const Backend hidden = hidden_device(builtin, rule_prefix(like->layer, like->layer.operations[0], builtin), 2, random);
        std::vector<IdentifyPair> pairs;
        for (unsigned seed = 1; seed <= 2; ++seed) {
          if (auto pair = answered_by(hidden, kind, seed)) pairs.push_back(std::move(*pair));
        }
        if (pairs.empty()) continue;
        const Identification identified = identify(pairs);
        INFO(name << ", " << name_of(kind) << ", trial " << trial);
        CHECK(identified.exact());
        ++tried;
      }
    }
  }
  CHECK(tried >= 60);
}

}  // namespace
}  // namespace lastbit
