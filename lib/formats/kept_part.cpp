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
namespace {

constexpr std::size_t most_proposed = 8;  ///< values that a user can be asked to name

using Values = std::vector<std::int32_t>;

/// Of each value, the node that computes it.
std::vector<std::optional<std::size_t>> writers_of(const GraphOutline& graph) {
  std::vector<std::optional<std::size_t>> writers(graph.values.size());
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    for (const std::int32_t output : graph.nodes[i].outputs)
      if (output >= 0) writers[static_cast<std::size_t>(output)] = i;
  return writers;
}

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

namespace {

/// As a shell takes it for one word.
std::string quoted(const std::string& name) {
  constexpr std::string_view plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./:+@%=,";
  return name.find_first_not_of(plain) == std::string::npos ? name : "'" + name + "'";
}

struct Proposal {
  std::int64_t kept = 0;
  const char* option = "";
  Values values;
  std::vector<bool> listed;

  void list(std::int32_t value) {
    if (!listed[static_cast<std::size_t>(value)]) values.push_back(value);
    listed[static_cast<std::size_t>(value)] = true;
  }
};

/// Nodes that everything before them allows; what they hand on, and outputs of the network, is where the part ends.
Proposal beginning_of(const GraphOutline& graph) {
  const auto writers = writers_of(graph);
  std::vector<bool> kept(graph.nodes.size(), false);
  const auto is_lost = [&](std::int32_t value) {
    if (value < 0) return false;
    const auto writer = writers[static_cast<std::size_t>(value)];
    return writer && !kept[*writer];
  };
  Proposal proposal{0, "--to", {}, std::vector<bool>(graph.values.size(), false)};
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const GraphOutline::Node& node = graph.nodes[i];
    kept[i] = node.is_supported && std::ranges::none_of(node.inputs, is_lost);
    proposal.kept += kept[i] && node.computes ? 1 : 0;
  }
  const auto end_at = [&](std::int32_t value) {
    if (value < 0) return;
    const auto writer = writers[static_cast<std::size_t>(value)];
    if (writer && kept[*writer] && graph.nodes[*writer].computes) proposal.list(value);
  };
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!kept[i]) std::ranges::for_each(graph.nodes[i].inputs, end_at);
  std::ranges::for_each(graph.outputs, end_at);
  return proposal;
}

/// Nodes behind which everything is allowed; what they are given by the others is where the part begins.
Proposal end_of(const GraphOutline& graph) {
  const auto writers = writers_of(graph);
  std::vector<bool> kept(graph.nodes.size(), false), read_by_lost(graph.values.size(), false);
  Proposal proposal{0, "--from", {}, std::vector<bool>(graph.values.size(), false)};
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphOutline::Node& node = graph.nodes[i];
    const auto is_lost = [&](std::int32_t value) { return value >= 0 && read_by_lost[static_cast<std::size_t>(value)]; };
    kept[i] = node.is_supported && std::ranges::none_of(node.outputs, is_lost);
    proposal.kept += kept[i] && node.computes ? 1 : 0;
    if (kept[i]) continue;
    for (const std::int32_t input : node.inputs)
      if (input >= 0) read_by_lost[static_cast<std::size_t>(input)] = true;
  }
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (!kept[i]) continue;
    for (const std::int32_t input : graph.nodes[i].inputs) {
      const auto writer = input < 0 ? std::nullopt : writers[static_cast<std::size_t>(input)];
      if (writer && !kept[*writer] && graph.nodes[*writer].computes) proposal.list(input);
    }
  }
  return proposal;
}

bool can_be_asked_for(const GraphOutline& graph, const Proposal& proposal) {
  const auto has_name = [&](std::int32_t value) {
    const std::string& name = graph.values[static_cast<std::size_t>(value)];
    return !name.empty() && is_printable(name) && name.find('\'') == std::string::npos;
  };
  return proposal.kept > 0 && !proposal.values.empty() && proposal.values.size() <= most_proposed &&
         std::ranges::all_of(proposal.values, has_name);
}

}  // namespace

std::string proposed_cut(const GraphOutline& graph) {
  const Proposal all[] = {beginning_of(graph), end_of(graph)};
  const Proposal* best = nullptr;
  for (const Proposal& each : all)
    if (can_be_asked_for(graph, each) && (best == nullptr || each.kept > best->kept)) best = &each;
  if (best == nullptr) return {};
  std::string text;
  for (const std::int32_t value : best->values)
    text += std::string(best->option) + " " + quoted(graph.values[static_cast<std::size_t>(value)]) + " ";
  const auto all_nodes = std::ranges::count_if(graph.nodes, &GraphOutline::Node::computes);
  return text + "keeps " + std::to_string(best->kept) + " of " + count_of(all_nodes, "operator");
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
