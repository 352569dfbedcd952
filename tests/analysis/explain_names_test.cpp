// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What any two built-in backends differ in, on random layers of every kind: each change is named with both its sides, and every value that
// differs is put down to changes, hybrids that cannot run among them or not.
#include <algorithm>
#include <optional>

#include "differential/filled_layer.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "model/operation_signature.hpp"
#include "support/catch.hpp"
#include "support/two_convolutions.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

bool has_both_sides(const RuleChange& change) {
  const std::size_t arrow = change.what.find(" -> ");
  if (arrow == std::string::npos) return change.what.starts_with("all of ");
  return arrow > 0 && arrow + 4 < change.what.size() && change.what.find(" -> ,") == std::string::npos;
}

struct Tally {
  int pairs = 0, stored_bias = 0;
};

void check_pair(const FilledLayer& layer, const SpecSheet& a, const SpecSheet& b, Tally& tally) {
  INFO(a.name << ", " << b.name << ", " << name_of(layer.model.operations[0].kind));
  const LayerAttribution found = explain(layer.model, layer.inputs, a, b);
  ++tally.pairs;
  CHECK(found.unexplained == 0);
  for (const RuleChange& change : found.changes) {
    INFO(change.name << ": " << change.what);
    CHECK(has_both_sides(change));
    tally.stored_bias += change.name.ends_with(".bias_bits") ? 1 : 0;
  }
}

}  // namespace

TEST_CASE("explain: between any two backends, every change has a name and two sides") {
  Tally tally;
  for (const SpecSheet& a : builtin_backends()) {
    if (a.backend.domain != Domain::integer) continue;
    for (const OperationSignature& signature : operation_signatures()) {
      Choices choose(1000 + static_cast<std::uint64_t>(signature.kind));
      const auto layer = filled_layer(signature.kind, a.backend, choose);
      if (!layer) continue;
      for (const SpecSheet& b : builtin_backends()) {
        const bool judged = b.backend.domain == Domain::integer && b.name != a.name && check(layer->model, b.backend).empty();
        if (judged) check_pair(*layer, a, b, tally);
      }
    }
  }
  CHECK(tally.pairs > 1000);
  CHECK(tally.stored_bias >
        3);  // bernoulli2 stores its bias in 32 bits, others take it as it is; how many are drawn is the compiler's order
}

TEST_CASE("explain: a method alone, with the rules that it makes read, is named as the one rule that it is") {
  int told = 0;
  for (const SpecSheet& base : builtin_backends()) {
    if (base.backend.domain != Domain::integer) continue;
    for (const OperationKind kind : {OperationKind::resize, OperationKind::leaky_relu}) {
      Choices choose(static_cast<std::uint64_t>(kind));
      const auto layer = filled_layer(kind, base.backend, choose);
      if (!layer) continue;
      const std::string path = std::string(name_of(kind)) + ".method";
      for (const std::string& value : alternatives(base.backend, path)) {
        SpecSheet device = base;
        set_rule(device.backend, path, value);
        if (!check(layer->model, device.backend).empty()) continue;
        INFO(base.name << ", " << path << " = " << value);
        const LayerAttribution found = explain(layer->model, layer->inputs, base, device);
        if (found.differing.empty()) continue;
        ++told;
        REQUIRE(found.changes.size() == 1);
        CHECK(found.changes[0].name == path);
        CHECK(found.changes[0].what.ends_with("-> " + value));
        CHECK(found.unexplained == 0);
      }
    }
  }
  CHECK(told > 5);
}

TEST_CASE("explain: partial sums that one side alone forms are named as such") {
  const TwoConvolutions network(15, 0.5);
  const SpecSheet without = find_backend("tflite_double");
  SpecSheet with = without;
  PartialSums& partial = with.backend.conv.i8.sum.accumulator.partial;
  partial = find_backend("gna_software_sse4").backend.conv.i16_bias32.sum.accumulator.partial;
  REQUIRE(partial.method == PartialMethod::consecutive_terms);
  partial.vector = 16;
  partial.tail = PartialTail::dropped;
  const LayerAttribution found = explain(extract_operation(network.model, 0), network.inputs, without, with);
  REQUIRE(!found.differing.empty());
  CHECK(found.unexplained == 0);
  REQUIRE(found.changes.size() == 1);
  CHECK(found.changes[0].name == "conv.i8.accumulator.partial.method");
  CHECK(found.changes[0].what == "absent -> consecutive_terms");
}
