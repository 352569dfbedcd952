// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random layers by lastbit/core.hpp and by the emulator.
//
//   core_differential LAYERS [SEED]   so many layers that the core can say, of numbers SEED, SEED + 1, …, and as many more as every operation of every
//                                     device needs to be computed by both forms of its call
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "differential/core_layer.hpp"
#include "differential/core_operations.hpp"
#include "differential/random_layer.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"

namespace lastbit::test {
namespace {

/// A tensor, or why there is none.
struct Outcome {
  std::optional<Tensor> tensor;
  std::string refusal{};
};

template <class Body>
Outcome outcome_of(Body&& body) try {
  return {body()};
} catch (const Error& error) {
  return {std::nullopt, error.what()};
}

/// An operation of a device.
struct Target {
  const SpecSheet* sheet;
  OperationKind kind;
  Values values;
  friend auto operator<=>(const Target&, const Target&) = default;
};
/// How often it was computed by the device's own rules.
struct Count {
  std::int64_t by_value = 0, by_constant = 0;
};
struct Counts {
  std::int64_t layers = 0, refused = 0, values = 0, by_constants = 0;
  std::map<Target, Count> of{};
};

void print_difference(std::uint64_t number, const RandomLayer& layer, const char* form, const Outcome& core, const Outcome& emulator) {
  std::printf("layer %llu, %s on %s, %s: ", static_cast<unsigned long long>(number),
              std::string(name_of(layer.model.operations[0].kind)).c_str(), layer.device.c_str(), form);
  if (!core.tensor || !emulator.tensor || core.tensor->type() != emulator.tensor->type() ||
      core.tensor->shape() != emulator.tensor->shape()) {
    std::printf("core %s, emulator %s\n", core.tensor ? "computes" : core.refusal.c_str(),
                emulator.tensor ? "computes" : emulator.refusal.c_str());
    if (core.tensor && emulator.tensor) std::puts("another type or shape");
    return;
  }
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < core.tensor->element_count(); ++i) {
    const std::size_t size = size_of(core.tensor->type()), at = size * static_cast<std::size_t>(i);
    const bool differs = !std::ranges::equal(core.tensor->bytes().subspan(at, size), emulator.tensor->bytes().subspan(at, size));
    if (differs && differing++ == 0 && is_integer(core.tensor->type()))
      std::printf("value %lld is %lld, emulator %lld; ", static_cast<long long>(i), static_cast<long long>(core.tensor->integer_at(i)),
                  static_cast<long long>(emulator.tensor->integer_at(i)));
  }
  std::printf("%lld of %lld differ\n", static_cast<long long>(differing), static_cast<long long>(core.tensor->element_count()));
}

bool equal(const Outcome& a, const Outcome& b) {
  if (!a.tensor || !b.tensor) return !a.tensor && !b.tensor;
  return a.tensor->type() == b.tensor->type() && a.tensor->shape() == b.tensor->shape() &&
         std::ranges::equal(a.tensor->bytes(), b.tensor->bytes());
}

/// Whether core and emulator agree on a layer of a device and a kind.
bool agrees(std::uint64_t number, const SpecSheet& sheet, OperationKind kind, Rules rules, Counts& counts) {
  Choices choose(number);
  const auto layer = random_layer(sheet, kind, choose, rules);
  if (!layer) return true;
  bool has_call = true;
  const Outcome core = outcome_of([&]() -> std::optional<Tensor> {
    auto outcome = by_core(layer->model, layer->backend, layer->inputs);
    has_call = outcome.tensor.has_value();
    return outcome.tensor;
  });
  if (!has_call) return true;
  const Outcome emulator = outcome_of([&]() -> std::optional<Tensor> {
    Trace trace = run(layer->model, layer->backend, layer->inputs);
    return std::move(*trace.tensors[static_cast<std::size_t>(layer->model.outputs[0])]);
  });
  ++counts.layers;
  if (emulator.tensor) counts.values += emulator.tensor->element_count();
  else ++counts.refused;
  if (!equal(core, emulator)) {
    print_difference(number, *layer, "value", core, emulator);
    return false;
  }
  if (layer->backend != sheet.backend) return true;  // no constant has changed rules
  Count& count = counts.of[{&sheet, kind, values_of(layer->model, layer->model.operations[0])}];
  if (emulator.tensor) ++count.by_value;
  bool is_constant = true;
  const Outcome constant = outcome_of([&]() -> std::optional<Tensor> {
    auto outcome = by_constant(layer->model, sheet.name, layer->inputs);
    is_constant = outcome.tensor.has_value();
    return outcome.tensor;
  });
  if (!is_constant) return true;
  ++counts.by_constants;
  if (emulator.tensor) ++count.by_constant;
  if (equal(constant, emulator)) return true;
  print_difference(number, *layer, "constant", constant, emulator);
  return false;
}

/// Every operation of every built-in device that the core has.
std::vector<Target> all_targets() {
  std::vector<Target> targets;
  for (const SpecSheet& sheet : builtin_backends()) {
    for (const OperationKind kind : core_kinds) {
      for (const Values values : {Values::codes, Values::binary16})
        if (has_rules(kind, values, sheet.backend)) targets.push_back({&sheet, kind, values});
    }
  }
  return targets;
}

/// Prints how often each operation of each device was computed, by its rules, and of these by its constant.
void print_counts(Counts& counts, const std::vector<Target>& targets) {
  for (const Values values : {Values::codes, Values::binary16}) {
    for (const OperationKind kind : core_kinds) {
      std::string line;
      for (const Target& target : targets) {
        if (target.kind != kind || target.values != values) continue;
        const Count& count = counts.of[target];
        line += " " + target.sheet->name + " " + std::to_string(count.by_value) + "/" + std::to_string(count.by_constant);
        if (count.by_value == 0 || count.by_constant == 0) line += " NEVER";
      }
      if (!line.empty())
        std::printf("%s%s:%s\n", values == Values::binary16 ? "binary16 " : "", std::string(name_of(kind)).c_str(), line.c_str());
    }
  }
}

/// Devices of the registry that core_devices lacks, or has with other rules.
int unlisted_devices() {
  int unlisted = 0;
  for (const SpecSheet& sheet : builtin_backends()) {
    const auto found = std::ranges::find(core_devices, sheet.name, &CoreDevice::name);
    if (found != core_devices.end() && *found->device == sheet.backend) continue;
    std::printf("%s is not in core_devices with its rules\n", sheet.name.c_str());
    ++unlisted;
  }
  return unlisted;
}

}  // namespace
}  // namespace lastbit::test

int main(int argc, char** argv) {
  using namespace lastbit::test;
  const std::int64_t layers = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 10000;
  std::uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Counts counts;
  int differences = unlisted_devices();
  const std::vector<Target> targets = all_targets();
  const auto draw = [&](const Target& target, Rules rules) {
    differences += agrees(number++, *target.sheet, target.kind, rules, counts) ? 0 : 1;
  };
  while (counts.layers < layers && differences < 10) {
    for (const Target& target : targets) draw(target, Rules::changed);
  }
  const std::int64_t enough = 30000;  // draws for what chance has left out: of some operations few are layers that the device has
  std::int64_t missing = 0, more = 0;
  for (const Target& target : targets) {
    const Count& count = counts.of[target];
    const auto is_missing = [&] { return count.by_value == 0 || count.by_constant == 0; };
    for (std::int64_t drawn = 0; is_missing() && drawn < enough && differences < 10; ++drawn, ++more) draw(target, Rules::own);
    if (is_missing()) ++missing;
  }
  print_counts(counts, targets);
  std::printf(
      "%lld layers, %lld by constants too; %lld values compared; %lld layers refused by both; %zu operations of a device, %lld never "
      "computed; ",
      static_cast<long long>(counts.layers), static_cast<long long>(counts.by_constants), static_cast<long long>(counts.values),
      static_cast<long long>(counts.refused), targets.size(), static_cast<long long>(missing));
  std::printf("%lld draws more for these\n", static_cast<long long>(more));
  return differences > 0 || missing > 0 ? 1 : 0;
}
