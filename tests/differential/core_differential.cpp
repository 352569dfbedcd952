// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Random layers by lastbit/core.hpp and by the emulator.
//
//   core_differential LAYERS [SEED]   so many layers that the core can say, of numbers SEED, SEED + 1, …
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "differential/core_layer.hpp"
#include "differential/random_layer.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

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

struct Counts {
  std::int64_t layers = 0, refused = 0, values = 0, by_constants = 0;
  std::map<std::string, std::int64_t> kinds{};
};

void print_difference(std::uint64_t number, const RandomLayer& layer, const char* form, const Outcome& core, const Outcome& emulator) {
  std::printf("layer %llu, %s on %s, %s: ", static_cast<unsigned long long>(number),
              std::string(name_of(layer.model.operations[0].kind)).c_str(), layer.device.c_str(), form);
  if (!core.tensor || !emulator.tensor) {
    std::printf("core %s, emulator %s\n", core.tensor ? "computes" : core.refusal.c_str(),
                emulator.tensor ? "computes" : emulator.refusal.c_str());
    return;
  }
  std::int64_t differing = 0;
  for (std::int64_t i = 0; i < core.tensor->element_count(); ++i) {
    const bool real = core.tensor->type() == ElementType::float32;
    const auto at = static_cast<std::size_t>(i);
    const bool differs = real ? core.tensor->values<float>()[at] != emulator.tensor->values<float>()[at]
                              : core.tensor->integer_at(i) != emulator.tensor->integer_at(i);
    if (differs && differing++ == 0 && !real)
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

/// Whether core and emulator agree.
bool agrees(std::uint64_t number, Counts& counts) {
  Choices choose(number);
  const auto layer = random_layer(choose);
  if (!layer) return true;
  bool has_call = true;
  const Outcome core = outcome_of([&]() -> std::optional<Tensor> {
    auto tensor = by_core(layer->model, layer->backend, layer->inputs);
    has_call = tensor.has_value();
    return tensor;
  });
  if (!has_call) return true;
  const Outcome emulator = outcome_of([&]() -> std::optional<Tensor> {
    Trace trace = run(layer->model, layer->backend, layer->inputs);
    return std::move(*trace.tensors[static_cast<std::size_t>(layer->model.outputs[0])]);
  });
  ++counts.layers;
  if (emulator.tensor) counts.values += emulator.tensor->element_count();
  else ++counts.refused;
  ++counts.kinds[std::string(name_of(layer->model.operations[0].kind))];
  if (!equal(core, emulator)) {
    print_difference(number, *layer, "value", core, emulator);
    return false;
  }
  bool is_constant = true;
  const Outcome constant = outcome_of([&]() -> std::optional<Tensor> {
    auto tensor = by_constant(layer->model, layer->device, layer->inputs);
    is_constant = tensor.has_value();
    return tensor;
  });
  if (!is_constant) return true;
  ++counts.by_constants;
  if (equal(constant, emulator)) return true;
  print_difference(number, *layer, "constant", constant, emulator);
  return false;
}

}  // namespace
}  // namespace lastbit::test

int main(int argc, char** argv) {
  using namespace lastbit::test;
  const std::int64_t layers = argc > 1 ? std::strtoll(argv[1], nullptr, 10) : 10000;
  std::uint64_t number = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 1;
  Counts counts;
  int differences = 0;
  while (counts.layers < layers && differences < 10) differences += agrees(number++, counts) ? 0 : 1;
  std::printf("%lld layers, %lld by constants too; %lld values compared; %lld layers refused by both\n",
              static_cast<long long>(counts.layers), static_cast<long long>(counts.by_constants), static_cast<long long>(counts.values),
              static_cast<long long>(counts.refused));
  for (const auto& [kind, count] : counts.kinds) std::printf("%s %lld  ", kind.c_str(), static_cast<long long>(count));
  std::puts("");
  return differences > 0 || counts.kinds.size() < 16 || counts.by_constants == 0 ? 1 : 0;
}
