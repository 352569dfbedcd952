// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One rule of a built-in backend is changed, on a random layer that reads it; what is made smaller of the two's difference must still be put
// down to that rule, from either side, and what is said of the device's dump of it must hold: every change that is named computes the dump, and
// the planted one is among them.
#include <algorithm>
#include <cstdio>
#include <optional>
#include <string>
#include <vector>

#include "differential/filled_layer.hpp"
#include "lastbit/error.hpp"
#include "lastbit/explain.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/rule_alternatives.hpp"
#include "lastbit/rules.hpp"
#include "lastbit/shrink.hpp"
#include "model/operation_signature.hpp"
#include "support/catch.hpp"
#include "support/rule_changes.hpp"

using namespace lastbit;
using namespace lastbit::test;

namespace {

/// A rule of a backend with another of its values.
struct Planted {
  SpecSheet base, device;
  std::string path, from, to;
};

struct Tally {
  int planted = 0, causes = 0;
  int right = 0;    ///< dumps of which the planted rule alone is named
  int classes = 0;  ///< it is named among others that compute the dump as well
  int equal = 0;    ///< only others are named; they compute the dump
  int wrong = 0;
};

void print(const Tally& tally) {
  std::printf("%d planted rules, %d causes; of their dumps %d named alone, %d among equal ones, %d only by equal ones, %d wrong\n",
              tally.planted, tally.causes, tally.right, tally.classes, tally.equal, tally.wrong);
}

std::vector<RuleText> rules_read(const FilledLayer& layer, const Backend& backend) {
  const std::vector<std::string> prefixes = rule_prefixes(layer.model, layer.model.operations[0], backend);
  std::vector<RuleText> rules = list_rules(backend);
  std::erase_if(rules, [&](const RuleText& rule) {
    return std::ranges::none_of(prefixes, [&](const std::string& prefix) { return covers(prefix, rule.path); });
  });
  return rules;
}

std::optional<Planted> plant(const SpecSheet& base, const RuleText& rule, const std::string& value) try {
  Planted planted{base, base, rule.path, rule.value, value};
  planted.device.name = "device";
  set_rule(planted.device.backend, rule.path, value);
  return planted;
} catch (const Error&) {
  return std::nullopt;
}

/// Whether both compute the layer, in its own type, and differ.
bool tells(const FilledLayer& layer, const Planted& planted) try {
  const auto output = static_cast<std::size_t>(layer.model.outputs[0]);
  const Tensor of_base = *run(layer.model, planted.base.backend, layer.inputs).tensors[output];
  const Tensor of_device = *run(layer.model, planted.device.backend, layer.inputs).tensors[output];
  return of_base.type() == of_device.type() && of_base.type() == layer.model.tensor(layer.model.outputs[0]).type && of_base != of_device;
} catch (const Error&) {
  return false;
}

bool is_it(const ShrinkCause& cause, const std::string& path, const std::string& from, const std::string& to) {
  if (!cause.attributed || cause.changes.size() != 1) return false;
  const RuleChange& change = cause.changes[0];
  return change.name == path && change.what == from + " -> " + to;
}

std::string text_of(const Planted& planted, const FilledLayer& layer) {
  return planted.base.name + ", " + std::string(name_of(layer.model.operations[0].kind)) + ", " + planted.path + ": " + planted.from +
         " -> " + planted.to;
}

/// The dump's verdict: every change that is named computes it, and the planted one is among them.
void judge_dump(const ShrunkCase& shrunk, const Planted& planted, Tally& tally) {
  const NamedTrace dump = run_named(shrunk.model, planted.device, shrunk.inputs);
  const DumpReport report = explain_dump(shrunk.model, dump, planted.base, shrunk.inputs);
  const DumpVerdict& verdict = report.layers.at(0);
  const std::int32_t output = shrunk.model.outputs[0];
  bool is_named = false, holds = true;
  for (const RuleChange& change : verdict.explanations) {
    is_named = is_named || (change.name == planted.path && change.what == planted.from + " -> " + planted.to);
    const SpecSheet named = with(planted.base, settings_of(change));
    holds = holds && run_named(shrunk.model, named, shrunk.inputs).find(output)->values == dump.find(output)->values;
  }
  const bool others = !verdict.explanations.empty() || !verdict.backends.empty();
  const bool right = holds && is_named;
  ++(right ? verdict.explanations.size() == 1 ? tally.right : tally.classes : holds && others ? tally.equal : tally.wrong);
  INFO(to_text(report));
  CHECK(right);
}

void judge_cause(const FilledLayer& layer, const Planted& planted, Tally& tally) {
  INFO(text_of(planted, layer));
  ++tally.planted;
  const auto forth = shrink(layer.model, layer.inputs, planted.base, planted.device);
  const auto back = shrink(layer.model, layer.inputs, planted.device, planted.base);
  REQUIRE(forth);
  REQUIRE(back);
  tally.causes += 2;
  INFO(forth->cause.text() << "; back " << back->cause.text());
  CHECK(is_it(forth->cause, planted.path, planted.from, planted.to));
  CHECK(is_it(back->cause, planted.path, planted.to, planted.from));
  judge_dump(*forth, planted, tally);
}

/// How much is tried: of every backend and every kind of operation layers drawn at random, or of one in `step`; of the rules that each reads
/// `most` that tell.
struct Extent {
  std::size_t step = 1;
  std::uint64_t seeds = 1;
  std::size_t most = 1;
};

Tally judge_all(const Extent& extent) {
  Tally tally;
  std::size_t begin = 0;  // each backend's kinds begin one later, so that all come among a few backends
  for (const SpecSheet& base : builtin_backends()) {
    if (base.backend.domain != Domain::integer) continue;
    std::size_t number = begin++;
    for (const OperationSignature& signature : operation_signatures()) {
      if (number++ % extent.step != 0) continue;
      for (std::uint64_t seed = 0; seed < extent.seeds; ++seed) {
        Choices choose(1000 * seed + static_cast<std::uint64_t>(signature.kind));
        const auto layer = filled_layer(signature.kind, base.backend, choose);
        if (!layer) continue;
        std::vector<RuleText> rules = rules_read(*layer, base.backend);
        auto random = choose.generator();
        std::shuffle(rules.begin(), rules.end(), random);
        std::size_t told = 0;
        for (const RuleText& rule : rules) {
          if (told == extent.most) break;
          const std::vector<std::string> values = alternatives(base.backend, rule.path);
          if (values.empty()) continue;
          const auto planted = plant(base, rule, choose.of(values));
          if (!planted || !tells(*layer, *planted)) continue;
          judge_cause(*layer, *planted, tally);
          ++told;
        }
      }
    }
  }
  return tally;
}

}  // namespace

TEST_CASE("explain: what is made smaller of a planted rule is put down to it") {
  const Tally tally = judge_all({.step = 5});
  print(tally);
  CHECK(tally.planted > 40);
  CHECK(tally.classes > tally.right);
  CHECK(tally.right > 0);  // which are drawn depends on the compiler: the order of arguments
  CHECK(tally.wrong == 0);
}

TEST_CASE("explain: what is made smaller of every planted rule on more layers is put down to it", "[.every]") {
  const Tally tally = judge_all({.seeds = 3, .most = 1000});
  print(tally);
  CHECK(tally.wrong == 0);
}
