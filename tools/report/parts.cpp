// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "report/parts.hpp"

#include <algorithm>
#include <map>

#include "lastbit/one_operation.hpp"

namespace lastbit::tool {
namespace {

const std::vector<std::string> lsb_names{"<-3", "-3", "-2", "-1", "0", "+1", "+2", "+3", ">+3"};

std::string type_text(const ModelTensor& tensor) { return tensor.shape.text() + " " + std::string(name_of(tensor.type)); }

/// "24 parts of 96 channels", "8 channels".
std::string parts_text(std::int64_t parts, std::int64_t size, const std::string& what) {
  return (parts < size ? std::to_string(parts) + " parts of " : "") + std::to_string(size) + " " + what;
}

}  // namespace

Subject subject_of(const std::string& name, const std::string& operation, Standing standing) { return {name + " " + operation, standing}; }

double share_of(std::int64_t part, std::int64_t all) { return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all); }

std::string label_of(std::optional<std::size_t> number, const std::string& operation) {
  return (number ? std::to_string(*number) + " " : "") + operation;
}

std::string joined(const std::vector<std::string>& texts, const std::string& between) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : between) + text;
  return all;
}

Graph graph_of(const Model& model, const ShareOf& share_of_operation) {
  Graph graph;
  std::map<std::int32_t, std::size_t> writer;  // node by tensor
  for (const std::int32_t input : model.inputs) {
    writer[input] = graph.nodes.size();
    const ModelTensor& tensor = model.tensor(input);
    graph.nodes.push_back({{tensor.name + " input", Standing::none}, "input", tensor.name, type_text(tensor), {}, {}});
  }
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    const std::string kind(name_of(operation.kind)), name = layer_name(model, i);
    const std::optional<double> share = share_of_operation(i);
    Graph::Node node{subject_of(name, kind, share ? standing_of(*share > 0) : Standing::none), label_of(i, kind), name, {}, share, {}};
    for (const std::int32_t output : operation.outputs) node.detail += (node.detail.empty() ? "" : "; ") + type_text(model.tensor(output));
    for (const std::int32_t input : operation.inputs) {
      const auto found = writer.find(input);
      const bool is_new = found != writer.end() && std::ranges::find(node.reads, found->second) == node.reads.end();
      if (is_new) node.reads.push_back(found->second);
    }
    for (const std::int32_t output : operation.outputs) writer[output] = graph.nodes.size();
    graph.nodes.push_back(std::move(node));
  }
  return graph;
}

void add_network(Document& page, const Model& model, const std::string& of, const std::map<std::size_t, double>& shares) {
  page.add("Network", "Each operation, coloured by the share of " + of + ".", {graph_of(model, [&](std::size_t operation) {
             const auto found = shares.find(operation);
             return found == shares.end() ? std::nullopt : std::optional(found->second);
           })});
}

std::vector<std::int64_t> counts_of(const LsbHistogram& histogram) { return {histogram.counts.begin(), histogram.counts.end()}; }

Histogram histogram_of(const Subject& subject, const std::string& title, const LsbHistogram& histogram) {
  return {subject, title, lsb_names, counts_of(histogram)};
}

void add_grids(Grids& grids, const DifferencePlaces& where, const std::string& kind) {
  const auto [height, width, channels] = where.sizes();
  if (where.rows() * where.columns() > 1) {
    Grid places{kind,
                parts_text(where.rows(), height, "y"),
                parts_text(where.columns(), width, "x"),
                static_cast<std::size_t>(where.rows()),
                static_cast<std::size_t>(where.columns()),
                {}};
    for (std::int64_t row = 0; row < where.rows(); ++row)
      for (std::int64_t column = 0; column < where.columns(); ++column) places.shares.push_back(where.share_at(row, column));
    grids.grids.push_back(std::move(places));
  }
  Grid of_channels{kind, "", parts_text(where.channels(), channels, "channels"), 1, static_cast<std::size_t>(where.channels()), {}};
  for (std::int64_t channel = 0; channel < where.channels(); ++channel) of_channels.shares.push_back(where.share_of_channel(channel));
  grids.grids.push_back(std::move(of_channels));
}

AssumptionList assumption_rows(const std::vector<Assumption>& assumptions, const std::string& of) {
  AssumptionList found;
  for (const Assumption& assumption : assumptions) found.push_back({of, assumption.rule, "assumption", assumption.source});
  return found;
}

}  // namespace lastbit::tool
