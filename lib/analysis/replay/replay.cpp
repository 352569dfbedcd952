// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/replay.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "analysis/replay/float_side.hpp"
#include "compare/runs.hpp"
#include "lastbit/dump.hpp"
#include "lastbit/error.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/misread.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

const LayerDifference* layer_of(const CompareReport& report, std::int32_t tensor) {
  const auto found = std::ranges::find(report.layers, tensor, &LayerDifference::tensor);
  return found == report.layers.end() ? nullptr : &*found;
}

/// The dump with the inputs that it lacks: those that were given, which the board was given as well.
NamedTrace with_given_inputs(const Model& model, NamedTrace dump, const NamedTrace& emulated) {
  for (const std::int32_t input : model.inputs) {
    const NamedTensor* const given = emulated.find(input);
    if (dump.find(input) == nullptr && given != nullptr) dump.tensors.push_back(*given);
  }
  return dump;
}

/// Before the first run. What the float network needs of its own is asked of it alone.
void require_budget(const Model& model, const Backend& backend, const ReplayOptions& options, std::span<const Tensor> inputs) {
  const Backend& golden = golden_sheet().backend;
  if (options.float_network == nullptr) {
    require_memory(model, std::array{&backend, &golden}, inputs, options.threads);
    return;
  }
  require_memory(model, std::array{&backend}, inputs, options.threads);
  const std::int64_t values = inputs.empty() ? 1 : model.tensor(model.inputs[0]).shape.element_count();
  const std::int64_t samples = inputs.empty() ? 1 : inputs[0].element_count() / values;
  require_memory(*options.float_network, std::array{&golden}, samples, options.threads);
}

void add_layers(ReplayReport& report, const Model& model, const FloatSide& side, const Model* float_network) {
  const auto add = [&](std::int32_t index, std::string_view operation, std::optional<std::size_t> number) {
    ReplayLayer layer{index, number, model.tensor(index).name, std::string(operation), MatchedBy::nothing, {}};
    if (const auto& counterpart = side.counterparts[static_cast<std::size_t>(index)]) {
      layer.match = counterpart->match;
      layer.counterpart = (float_network == nullptr ? model : *float_network).tensor(counterpart->tensor).name;
    }
    report.layers.push_back(std::move(layer));
  };
  for (const std::int32_t input : model.inputs) add(input, "input", {});
  for (std::size_t i = 0; i < model.operations.size(); ++i)
    for (const std::int32_t output : model.operations[i].outputs) add(output, name_of(model.operations[i].kind), i);
}

/// Which rule makes the first layer that deviates another than the sheet's.
void find_cause(ReplayReport& report, const Model& model, NamedTrace board, const SpecSheet& backend, std::span<const Tensor> inputs,
                int threads) {
  const LayerDifference* const first = report.first_deviation();
  if (first == nullptr) return;
  std::erase_if(board.tensors, [&](const NamedTensor& tensor) { return tensor.values.type() != model.tensor(tensor.index).type; });
  try {
    report.cause = explain_dump(model, board, backend, inputs, {.layer = std::to_string(*first->number), .threads = threads});
    report.cause->model = report.model;
    report.cause->dump = report.board;
  } catch (const Error& error) {
    report.no_cause = error.diagnostics().front().message;
  }
}

bool differs_by_itself(const LayerDifference& layer) { return layer.same_input && layer.same_input->differing > 0; }

}  // namespace

std::string_view name_of(MatchedBy match) {
  constexpr std::array<std::string_view, 4> names{"itself", "name", "order", "nothing"};
  return names[static_cast<std::size_t>(match)];
}

const LayerDifference* ReplayReport::loss_of(std::int32_t tensor) const { return layer_of(loss, tensor); }
const LayerDifference* ReplayReport::deviation_of(std::int32_t tensor) const { return layer_of(deviation, tensor); }

const LayerDifference* ReplayReport::most_lost() const {
  const bool any_fed = std::ranges::any_of(loss.layers, [](const LayerDifference& layer) { return layer.same_input.has_value(); });
  const LayerDifference* most = nullptr;
  double least = 0;
  for (const LayerDifference& layer : loss.layers) {
    if (!layer.number || (any_fed && !layer.same_input)) continue;
    const double sqnr = (any_fed ? *layer.same_input : layer.accumulated).metrics.sqnr_db;
    if (std::isnan(sqnr) || (std::isinf(sqnr) && sqnr > 0) || (most != nullptr && sqnr >= least)) continue;
    most = &layer;
    least = sqnr;
  }
  return most;
}

const LayerDifference* ReplayReport::first_deviation() const {
  const auto found = std::ranges::find_if(deviation.layers, [](const LayerDifference& layer) {
    return layer.number && (differs_by_itself(layer) || (!layer.same_input && layer.accumulated.differing > 0));
  });
  return found == deviation.layers.end() ? nullptr : &*found;
}

std::int64_t ReplayReport::compared() const {
  return std::ranges::count_if(deviation.layers, [](const LayerDifference& layer) { return layer.number.has_value(); });
}

std::int64_t ReplayReport::fed() const {
  return std::ranges::count_if(deviation.layers, [](const LayerDifference& layer) { return layer.same_input.has_value(); });
}

bool ReplayReport::equal() const { return deviation.equal() && std::ranges::none_of(deviation.layers, differs_by_itself); }

ReplayReport replay(const Model& model, const NamedTrace& dump, const Device& backend, std::span<const Tensor> given,
                    const ReplayOptions& options) {
  const NamedTrace board = with_codes(model, dump);
  const std::vector<Tensor> own = given.empty() ? inputs_in_dump(model, board) : std::vector<Tensor>();
  const std::span<const Tensor> inputs = given.empty() ? std::span<const Tensor>(own) : given;
  require_budget(model, backend.backend, options, inputs);
  ReplayReport report;
  report.model = model.name;
  report.board = dump.backend;
  const Emulator emulator(model, backend.backend);
  const NamedTrace emulated = run_all(emulator, backend, inputs, options.threads);
  const NamedTrace fed = with_given_inputs(model, board, emulated);
  const CompareOptions how{.threads = options.threads, .required = options.required.value_or(DumpRequirement{})};
  report.deviation = compare_dump_with_run(model, fed, backend, {emulator, emulated, inputs}, how);
  std::erase_if(report.deviation.layers, [&](const LayerDifference& layer) { return board.find(layer.tensor) == nullptr; });
  if (report.compared() == 0) throw Error(ErrorCode::bad_input, "replay", "the dump has the output of no layer");
  const bool differs = report.deviation.first_divergence() != nullptr;  // what differs nowhere can only be of another shape
  add_misread(report.deviation, differs ? find_misread(model, board) : find_misshapen(model, board));

  const FloatSide side = float_side(model, options.float_network, inputs, options.threads);
  if (options.float_network != nullptr) report.float_network = options.float_network->name;
  report.loss = compare_traces(side.trace, emulated);
  add_same_input(report.loss, in_codes(side.trace, emulator.model(), backend.backend), side.trace, emulator);
  add_outputs(report.loss, model, side.trace, emulated);
  add_layers(report, model, side, options.float_network);
  find_cause(report, model, fed, backend, inputs, options.threads);
  return report;
}

}  // namespace lastbit
