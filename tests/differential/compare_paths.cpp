// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "differential/compare_paths.hpp"

#include <algorithm>

#include "engine/kernels/kernels.hpp"
#include "engine/operands.hpp"
#include "engine/ops/conv_layer.hpp"
#include "engine/output_lines.hpp"
#include "engine/parallel.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/error.hpp"

namespace lastbit::test {
namespace {

struct Outcome {
  std::vector<Tensor> outputs;  ///< none where a sum was refused that its output does not hold
  Events events;
};

Outcome run(const Emulator& emulator, const RandomLayer& layer, int threads, bool count) try {
  Trace trace = emulator.run(layer.inputs, {.threads = threads, .count_events = count});
  Outcome outcome{{}, count ? trace.events[0] : Events{}};
  for (const std::int32_t output : layer.model.outputs)
    outcome.outputs.push_back(std::move(*trace.tensors[static_cast<std::size_t>(output)]));
  return outcome;
} catch (const Error&) {
  return {};
}

/// Where two tensors of one type and shape differ.
std::optional<std::size_t> first_difference(const Tensor& a, const Tensor& b) {
  if (a.type() != b.type() || a.shape() != b.shape()) return 0;
  const auto found = std::mismatch(a.bytes().begin(), a.bytes().end(), b.bytes().begin());
  if (found.first == a.bytes().end()) return {};
  return static_cast<std::size_t>(found.first - a.bytes().begin()) / size_of(a.type());
}

std::string text_at(const Tensor& tensor, std::size_t index) {
  if (is_integer(tensor.type())) return std::to_string(tensor.integer_at(static_cast<std::int64_t>(index)));
  if (tensor.type() == ElementType::float16) return "bits " + std::to_string(tensor.values<Float16>()[index].bits);
  return std::to_string(tensor.values<float>()[index]);
}

bool equal(const Events& a, const Events& b) {
  return a.accumulator_overflows == b.accumulator_overflows && a.saturated_outputs == b.saturated_outputs && a.outputs == b.outputs &&
         a.saturated_stages == b.saturated_stages && a.wrapped_stages == b.wrapped_stages;
}

std::string text(const Events& events) {
  return std::to_string(events.accumulator_overflows) + " overflows, " + std::to_string(events.saturated_outputs) + " saturated of " +
         std::to_string(events.outputs) + ", " + std::to_string(events.saturated_stages) + " by stages, " +
         std::to_string(events.wrapped_stages) + " wrapped";
}

const OutputBounds& bounds_of_layer(const Operation& operation) {
  const auto* const conv = std::get_if<Conv2dAttributes>(&operation.attributes);
  return conv != nullptr ? conv->bounds : std::get<FullyConnectedAttributes>(operation.attributes).bounds;
}

/// Every output by its own sum, term by term, and the chain's definition.
std::optional<std::string> difference_from_steps(const RandomLayer& random, const Outcome& scalar, Comparisons& comparisons) {
  const Operation& operation = random.model.operations[0];
  const ModelTensor& output = random.model.tensor(operation.outputs[0]);
  const ConvLayer layer = conv_layer(random.model, operation, random.backend);
  const std::vector<std::int32_t> input = centred_input(layer, random.inputs[0]);
  const IntegerRange range = range_of(output.type);
  std::int64_t overflows = 0, left = 0, refused = 0;
  const std::int64_t count = output.shape.element_count();
  for (std::int64_t i = 0; i < count; ++i) {
    const ConvIndex at = output_at(layer.shape, i);
    Accumulator sum = accumulate(layer, input, at);
    std::int64_t expected = sum.result();
    overflows += sum.overflow_count();
    left += sum.overflow_count() > 0 ? 1 : 0;
    if (layer.delivers_sums()) refused += expected < range.min || expected > range.max ? 1 : 0;
    else
      expected =
          finish(output_chain(operation, layer.arithmetic.sum.output.chain, bounds_of_layer(operation)), expected, layer.operands_of(at.o));
    if (!scalar.outputs.empty() && scalar.outputs[0].integer_at(i) != expected)
      return "element " + std::to_string(i) + " is " + std::to_string(scalar.outputs[0].integer_at(i)) + ", step by step " +
             std::to_string(expected);
  }
  if (scalar.outputs.empty())
    return refused > 0 ? std::nullopt : std::optional<std::string>("refused, though every sum fits in its output");
  comparisons.values += count;
  ++comparisons.overflowing[left == 0 ? 0 : left < count ? 1 : 2];
  if (scalar.events.accumulator_overflows != overflows)
    return std::to_string(scalar.events.accumulator_overflows) + " overflows, step by step " + std::to_string(overflows);
  return {};
}

bool has_steps(const RandomLayer& layer) {
  return is_conv_layer(layer.model.operations[0].kind) && is_integer(layer.inputs[0].type()) && layer.backend.domain == Domain::integer;
}

}  // namespace

std::optional<std::string> difference_between_paths(const RandomLayer& layer, Comparisons& comparisons) {
  const ScopedFinestParts finest;
  const ScopedEagerLines eager;
  std::optional<Outcome> scalar;
  for (const kernels::Path& path : kernels::paths()) {
    if (!path.available()) continue;
    const kernels::ScopedPath chosen(path);
    const Emulator emulator(layer.model, layer.backend);
    for (const int threads : {1, 2, 3}) {
      for (const bool count : {true, false}) {
        Outcome outcome = run(emulator, layer, threads, count);
        ++comparisons.runs;
        if (!scalar) {
          scalar = std::move(outcome);
          continue;
        }
        const std::string where =
            std::string(path.name) + ", " + std::to_string(threads) + " threads, events " + (count ? "counted: " : "not counted: ");
        if (outcome.outputs.size() != scalar->outputs.size()) return where + "only one of it and scalar refuses the layer";
        if (outcome.outputs.empty()) continue;
        for (std::size_t o = 0; o < outcome.outputs.size(); ++o) {
          const Tensor &output = outcome.outputs[o], &wanted = scalar->outputs[o];
          comparisons.values += output.element_count();
          if (const auto at = first_difference(output, wanted))
            return where + "output " + std::to_string(o) + ", element " + std::to_string(*at) + " is " + text_at(output, *at) +
                   ", scalar " + text_at(wanted, *at);
        }
        if (count && !equal(outcome.events, scalar->events)) return where + text(outcome.events) + "; scalar " + text(scalar->events);
      }
    }
  }
  ++comparisons.layers;
  ++comparisons.kinds[std::string(name_of(layer.model.operations[0].kind))];
  return has_steps(layer) ? difference_from_steps(layer, *scalar, comparisons) : std::nullopt;
}

}  // namespace lastbit::test
