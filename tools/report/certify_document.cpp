// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>

#include "lastbit/printable.hpp"
#include "layer_plot.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

Standing certified_standing(const LayerCertificate& layer) {
  return layer.is_open() ? Standing::open : layer.equal() ? Standing::equal : Standing::differs;
}

Subject subject_of(const LayerCertificate& layer) { return subject_of(layer.name, layer.kind, certified_standing(layer)); }

std::string bound_text(const TensorBound& bound) {
  if (!bound.lsb) return "no bound";
  if (*bound.lsb == 0) return "the same";
  return "at most " + std::to_string(*bound.lsb) + " LSB apart (" + std::string(name_of(bound.by)) + ")";
}

std::string shown_text(const LayerCertificate& layer) {
  if (layer.is_open()) return layer.open;
  if (!layer.shown) return "";
  return "output " + std::to_string(layer.shown->index) + " is " + std::to_string(layer.shown->a) + " against " +
         std::to_string(layer.shown->b) + (layer.shown->cause.empty() ? "" : "; " + layer.shown->cause);
}

Table layers_of(const Certificate& certificate) {
  Table table{{{"no."},
               {"layer", Alignment::left},
               {"operation", Alignment::left},
               {"verdict", Alignment::left},
               {"gone through", Alignment::left},
               {"cases"},
               {"differ"},
               {"of cases"},
               {"largest, LSB"},
               {"equal channels"},
               {"in the network", Alignment::left},
               {"an input that shows it, or why it is open", Alignment::left}},
              {}};
  for (const LayerCertificate& layer : certificate.layers) {
    const bool decided = !layer.is_open();
    table.rows.push_back(
        {subject_of(layer),
         {layer.operation, layer.name, layer.kind,
          layer.is_open()             ? "open"
          : !layer.equal()            ? "differs"
          : layer.assumptions.empty() ? "equal"
                                      : "equal, if " + names_text(layer.assumptions),
          std::string(name_of(layer.by)), layer.cases, decided ? Cell(layer.differing) : Cell(),
          decided ? share_cell(share_of(layer.differing, layer.cases)) : Cell(), decided ? Cell(layer.largest) : Cell(),
          layer.channels.empty() ? "" : std::to_string(layer.equal_channels()) + " of " + std::to_string(layer.channels.size()),
          certificate.outputs.empty() ? "" : bound_text(layer.in_network), shown_text(layer)}});
  }
  return table;
}

/// Channels side by side, several as one where there are many.
Grid channels_of(const LayerCertificate& layer) {
  constexpr std::size_t most = 48;
  const std::size_t count = layer.channels.size(), parts = std::min(most, count);
  Grid grid{"accumulators that differ", "", std::to_string(count) + " channels", 1, parts, {}};
  for (std::size_t part = 0; part < parts; ++part) {
    std::int64_t differing = 0, all = 0;
    for (std::size_t channel = part * count / parts; channel < (part + 1) * count / parts; ++channel) {
      differing += layer.channels[channel].differing;
      all += layer.channels[channel].accumulators.max - layer.channels[channel].accumulators.min + 1;
    }
    grid.shares.push_back(share_of(differing, all));
  }
  return grid;
}

std::string verdict_of(const Certificate& certificate) {
  const std::string inputs = certificate.range == InputRange::type ? "every input" : "every input within the range of the data";
  if (certificate.holds(AssumptionsAre::named)) return "Equal for " + inputs + ": both compute the same network.";
  if (certificate.equal()) return "Equal for " + inputs + " " + only_if(certificate.assumptions()) + ".";
  const auto equal = std::ranges::count_if(certificate.layers, &LayerCertificate::equal);
  const auto count = std::ssize(certificate.layers);
  return std::to_string(equal) + " of " + count_of(count, "layer") + " equal for " + inputs + ", " +
         std::to_string(count - equal - certificate.open()) + " can differ, " + std::to_string(certificate.open()) + " open.";
}

}  // namespace

Document document_of(const Certificate& certificate, const Model& model) {
  Document page{.title = "certify", .verdict = verdict_of(certificate), .standing = standing_of(!certificate.equal())};
  if (!certificate.holds(AssumptionsAre::named) &&
      std::ranges::all_of(certificate.layers, [](const auto& layer) { return layer.equal() || layer.is_open(); }))
    page.standing = Standing::open;
  page.facts = {{"model", certificate.model},
                {"a", certificate.a},
                {"b", certificate.b},
                {"checksum of the model", certificate.model_checksum},
                {"checksums of the rules", certificate.rules_a + ", " + certificate.rules_b}};
  std::map<std::size_t, std::optional<double>> shares;
  std::vector<Grids> channels;
  for (const LayerCertificate& layer : certificate.layers) {
    if (!layer.is_open()) shares[layer.operation] = share_of(layer.differing, layer.cases);
    if (layer.differing > 0 && layer.channels.size() > 1)
      channels.push_back({subject_of(layer), label_of(layer.operation, layer.kind) + " " + layer.name, {channels_of(layer)}});
  }
  List outputs;
  for (const auto& [name, bound] : certificate.outputs)
    outputs.lines.push_back("Output '" + name + "', with all differences together: " + bound_text(bound) + ".");
  List assumed;
  for (const SharedAssumption& each : certificate.assumptions())
    assumed.lines.push_back(each.rules_text() + " (" + count_of(each.layers, "layer") + "): " + each.source + ".");
  page.add("Assumptions", "What these verdicts rest on without evidence.", {assumed});
  page.add("Outputs", "", {outputs});
  page.add("Network", "Each operation, coloured by the share of its cases that differ; without colour where it is open.",
           {graph_of(model, [&](std::size_t operation) { return shares[operation]; })});
  Plot plot = plot_of(certificate);
  plot.title.clear();
  page.add("Layers", "Each layer by itself, for everything that can go in.", {Figure{plot, {}}, layers_of(certificate)});
  const Paragraph rest = keep_first(channels);
  page.add("Where in the channels", "Of each channel's accumulators those that give different outputs.", {channels, rest});
  return page;
}

}  // namespace lastbit::tool
