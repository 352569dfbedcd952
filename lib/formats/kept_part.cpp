// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "formats/kept_part.hpp"

#include <algorithm>
#include <optional>
#include <string_view>

#include "lastbit/error.hpp"
#include "lastbit/nearest.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {

std::vector<std::optional<std::size_t>> writers_of(const GraphOutline& graph) {
  std::vector<std::optional<std::size_t>> writers(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::int32_t output : graph.nodes[i].outputs)
      if (output >= 0) writers[static_cast<std::size_t>(output)] = i;
  return writers;
}

namespace {

using Values = std::vector<std::int32_t>;

std::int32_t value_called(const GraphOutline& graph, const std::string& name, const std::string& option, const std::string& where) {
  const auto value = std::ranges::find(graph.values, name);
  if (value != graph.values.end() && !name.empty()) return static_cast<std::int32_t>(value - graph.values.begin());
  std::vector<std::string_view> names(graph.values.begin(), graph.values.end());
  for (const GraphOutline::Node& node : graph.nodes) {
    if (node.name == name && !name.empty() && !node.outputs.empty() && node.outputs[0] >= 0) return node.outputs[0];
    names.push_back(node.name);
  }
  throw Error(ErrorCode::bad_input, where,
              option + " '" + printable(name) + "': nothing in the network is called so" + did_you_mean(name, names));
}

bool contains(const Values& values, std::int32_t value) { return std::ranges::find(values, value) != values.end(); }

}  // namespace

KeptPart kept_part(const GraphOutline& graph, const Cut& cut, const std::string& where) {
  KeptPart part{std::vector<bool>(graph.nodes.size(), false), {}, {}};
  for (const std::string& name : cut.from) part.inputs.push_back(value_called(graph, name, "--from", where));
  for (const std::string& name : cut.to) part.outputs.push_back(value_called(graph, name, "--to", where));
  if (cut.to.empty()) part.outputs = graph.outputs;
  const auto writers = writers_of(graph);
  std::vector<bool> seen(graph.values.size(), false);
  Values open = part.outputs;
  while (!open.empty()) {
    const std::int32_t value = open.back();
    open.pop_back();
    if (value < 0 || seen[static_cast<std::size_t>(value)]) continue;
    seen[static_cast<std::size_t>(value)] = true;
    const auto writer = writers[static_cast<std::size_t>(value)];
    if (!writer || contains(part.inputs, value)) continue;
    part.nodes[*writer] = true;
    open.insert(open.end(), graph.nodes[*writer].inputs.begin(), graph.nodes[*writer].inputs.end());
  }
  for (std::size_t i = 0; i < cut.from.size(); ++i)
    if (!seen[static_cast<std::size_t>(part.inputs[i])])
      throw Error(ErrorCode::bad_input, where, "--from '" + printable(cut.from[i]) + "': no output of the part needs it");
  for (std::size_t i = 0; i < cut.from.size(); ++i) {
    const auto writer = writers[static_cast<std::size_t>(part.inputs[i])];
    if (!writer || !part.nodes[*writer]) continue;
    for (const std::int32_t other : graph.nodes[*writer].outputs)
      if (other >= 0 && seen[static_cast<std::size_t>(other)] && !contains(part.inputs, other))
        throw Error(ErrorCode::bad_input, where,
                    "--from '" + printable(cut.from[i]) + "': the part needs '" + printable(graph.values[static_cast<std::size_t>(other)]) +
                        "' of the same operation too; name it as well");
  }
  const bool computes = std::ranges::any_of(graph.nodes, [&](const GraphOutline::Node& node) {
    return node.computes && part.nodes[static_cast<std::size_t>(&node - graph.nodes.data())];
  });
  if (!computes) throw Error(ErrorCode::bad_input, where, "no operation lies between --from and --to");
  return part;
}

void drop_unread_inputs(Model& model) {
  std::vector<bool> read(model.tensors.size(), false);
  const auto mark = [&](const Values& tensors) {
    for (const std::int32_t tensor : tensors)
      if (tensor != absent_tensor) read[static_cast<std::size_t>(tensor)] = true;
  };
  for (const Operation& operation : model.operations) mark(operation.inputs);
  mark(model.outputs);
  std::erase_if(model.inputs, [&](std::int32_t input) { return input != absent_tensor && !read[static_cast<std::size_t>(input)]; });
}

namespace {

/// They keep their numbers.
void empty_unused_tensors(Model& model) {
  std::vector<bool> used(model.tensors.size(), false);
  const auto mark = [&](const Values& tensors) {
    for (const std::int32_t tensor : tensors)
      if (tensor != absent_tensor) used[static_cast<std::size_t>(tensor)] = true;
  };
  for (const Operation& operation : model.operations) {
    mark(operation.inputs);
    mark(operation.outputs);
  }
  for (const State& state : model.states) mark({state.before, state.after});
  mark(model.inputs);
  mark(model.outputs);
  for (std::size_t i = 0; i < used.size(); ++i) {
    if (used[i]) continue;
    ModelTensor unused;
    unused.name = std::move(model.tensors[i].name);
    model.tensors[i] = std::move(unused);
  }
}

}  // namespace

Model cut_model(Model model, const Cut& cut, const std::string& where) {
  GraphOutline graph;
  for (const ModelTensor& tensor : model.tensors) graph.values.push_back(tensor.name);
  for (const Operation& operation : model.operations)
    graph.nodes.push_back({.name = operation.name, .inputs = operation.inputs, .outputs = operation.outputs});
  for (GraphOutline::Node& node : graph.nodes)  // what a sample leaves for the next one is needed as what the node reads
    for (const State& state : model.states)
      if (contains(node.inputs, state.before)) node.inputs.push_back(state.after);
  graph.outputs = model.outputs;
  const KeptPart part = kept_part(graph, cut, where);
  std::vector<Operation> kept;
  for (std::size_t i = 0; i < model.operations.size(); ++i)
    if (part.nodes[i]) kept.push_back(std::move(model.operations[i]));
  model.operations = std::move(kept);
  std::vector<bool> written(model.tensors.size(), false);
  for (const Operation& operation : model.operations)
    for (const std::int32_t output : operation.outputs) written[static_cast<std::size_t>(output)] = true;
  std::erase_if(model.states, [&](const State& state) { return !written[static_cast<std::size_t>(state.after)]; });
  std::vector<std::int32_t> inputs = part.inputs;
  for (const std::int32_t input : model.inputs)
    if (!contains(inputs, input)) inputs.push_back(input);
  model.inputs = std::move(inputs);
  model.outputs = part.outputs;
  drop_unread_inputs(model);
  empty_unused_tensors(model);
  validate(model, where);
  return model;
}

}  // namespace lastbit
