// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sums of two codes by lines: on every pair of codes what the scalar path computes, which has no lines; and lines only where an operation is straight.
#include "engine/pair_lines.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "engine/kernels/kernels.hpp"
#include "engine/output_lines.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/registry.hpp"
#include "support/catch.hpp"

namespace lastbit {
namespace {

constexpr std::int64_t pairs = 65536;

Model layer(OperationKind kind, ElementType type, const std::vector<double>& scales, const std::vector<std::int64_t>& zeros) {
  Model model;
  model.name = "a sum";
  const Shape shape{1, 256, 256, 1};
  const std::vector<std::string> names{"a", "b", "y"};
  for (std::size_t i = 0; i < 3; ++i) model.tensors.push_back({names[i], type, shape, {{scales[i]}, {zeros[i]}, 0}, {}});
  model.operations = {{kind, "sum", {0, 1}, {2}, ElementwiseAttributes{}}};
  model.inputs = {0, 1};
  model.outputs = {2};
  validate(model, "test");
  return model;
}

std::vector<Tensor> every_pair(ElementType type) {
  std::vector<Tensor> both(2, Tensor(type, {1, 256, 256, 1}));
  for (std::size_t i = 0; i < static_cast<std::size_t>(pairs); ++i) {
    both[0].bytes()[i] = static_cast<std::byte>(i / 256);
    both[1].bytes()[i] = static_cast<std::byte>(i % 256);
  }
  return both;
}

Tensor computed(const Model& model, const Backend& backend, const std::vector<Tensor>& inputs, const kernels::Path& path) {
  const kernels::ScopedPath chosen(path);
  const Emulator emulator(model, backend);
  static_cast<void>(emulator.run(inputs));
  Trace trace = emulator.run(inputs);  // the lines were looked for by the first
  return std::move(*trace.tensors[2]);
}

const kernels::Path& scalar_path() { return kernels::paths().front(); }

}  // namespace

TEST_CASE("sums of two codes by lines are the scalar path's, on every pair of codes") {
  const ScopedEagerLines eager;
  std::mt19937_64 random(20261128);
  std::uniform_real_distribution<double> any(-2.5, 2.5);
  std::int64_t layers = 0, differing = 0;
  for (const SpecSheet& sheet : builtin_backends()) {
    for (int round = 0; round < 6; ++round) {
      const ElementType type = round % 3 == 2 ? ElementType::uint8 : ElementType::int8;
      const double scale = std::exp2(any(random));
      std::vector<double> scales{std::exp2(any(random)), scale, std::exp2(any(random) + 1)};
      if (round % 3 == 1) scales = {scale, scale, round == 1 ? scale : 2 * scale};  // ties
      const std::int64_t middle = type == ElementType::uint8 ? 128 : 0;
      std::vector<std::int64_t> zeros;
      for (int i = 0; i < 3; ++i) zeros.push_back(round < 2 ? middle : middle + static_cast<std::int64_t>(random() % 41) - 20);
      const Model model = layer(round % 2 == 0 ? OperationKind::add : OperationKind::sub, type, scales, zeros);
      if (!check(model, sheet.backend).empty()) continue;
      ++layers;
      const std::vector<Tensor> inputs = every_pair(type);
      const Tensor expected = computed(model, sheet.backend, inputs, scalar_path());
      for (const kernels::Path& path : kernels::paths()) {
        if (path.pair_outputs == nullptr || !path.available()) continue;
        INFO(sheet.name << ", round " << round << ", path " << path.name);
        const Tensor made = computed(model, sheet.backend, inputs, path);
        if (made == expected) continue;
        ++differing;
        CHECK(made == expected);
      }
    }
  }
  CHECK(layers > 100);
  CHECK(differing == 0);
}

namespace {

using OfTwo = std::function<std::int64_t(std::int64_t, std::int64_t)>;

/// How often runs on `count` codes are computed by `function`.
std::vector<int> calls_of(const OfTwo& function, std::int64_t count, int runs, Events* events = nullptr) {
  int calls = 0;
  const Executor exact = [&](const Execution& run) {
    calls += run.outputs[0].element_count() == count ? 1 : 0;  // and not some of all pairs
    for (std::int64_t i = 0; i < run.outputs[0].element_count(); ++i)
      run.outputs[0].values<std::int8_t>()[static_cast<std::size_t>(i)] =
          static_cast<std::int8_t>(function(run.inputs[0]->integer_at(i), run.inputs[1]->integer_at(i)));
  };
  const Model model = layer(OperationKind::add, ElementType::int8, {1, 1, 1}, {0, 0, 0});
  const Executor executor = by_pair_lines(exact, model, model.operations[0], 0.70711, 0.30903);
  const Tensor a(ElementType::int8, {count}), b(ElementType::int8, {count});
  const std::vector<const Tensor*> inputs{&a, &b};
  std::vector<Tensor> outputs{Tensor(ElementType::int8, {count})};
  std::vector<int> by_run;
  for (int run = 0; run < runs; ++run) {
    const int before = calls;
    executor({inputs, outputs, events});
    by_run.push_back(calls - before);
  }
  return by_run;
}

/// With hardly a tie.
std::int64_t straight(std::int64_t a, std::int64_t b) {
  const std::int64_t nearest = std::llround(0.70711 * static_cast<double>(a) + 0.30903 * static_cast<double>(b));
  return std::clamp<std::int64_t>(nearest, -128, 127);
}

}  // namespace

TEST_CASE("lines of two codes are looked for once that is worth it, and only where the outputs are straight and no events counted") {
  if (kernels::selected_path().pair_outputs == nullptr) return;
  const OfTwo bent = [](std::int64_t a, std::int64_t b) { return a ^ b; };
  const OfTwo nearly = [](std::int64_t a, std::int64_t b) { return straight(a, b) + (a == 100 && b == 3 ? 1 : 0); };
  CHECK(calls_of(straight, 4 * pairs, 4) == std::vector<int>{1, 0, 0, 0});
  CHECK(calls_of(bent, 4 * pairs, 3) == std::vector<int>{1, 1, 1});
  Events events;
  CHECK(calls_of(straight, 4 * pairs, 3, &events) == std::vector<int>{1, 1, 1});
  const ScopedEagerLines eager;
  CHECK(calls_of(straight, 16, 2) == std::vector<int>{0, 0});
  CHECK(calls_of(nearly, 16, 2) == std::vector<int>{1, 1});
}

}  // namespace lastbit
