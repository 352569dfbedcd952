// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "layer_plot.hpp"

#include <initializer_list>

namespace lastbit::tool {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// At most so many bytes, cut between characters, the ends kept: names of layers differ in either.
std::string cut_in_the_middle(const std::string& name) {
  constexpr std::size_t most = 28, end = 13;
  if (name.size() <= most) return name;
  const auto is_inside = [&](std::size_t at) { return (static_cast<unsigned char>(name[at]) & 0xC0U) == 0x80; };
  std::size_t head = end, tail = name.size() - end;
  while (head > 0 && is_inside(head)) --head;
  while (tail < name.size() && is_inside(tail)) ++tail;
  return name.substr(0, head) + "…" + name.substr(tail);
}

double percent(std::int64_t part, std::int64_t all) { return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all); }

Plot bars(std::string title, std::string y_label, std::string series) {
  Plot plot{.title = std::move(title), .y_label = std::move(y_label), .bars_from_zero = true};
  plot.series.push_back({.title = std::move(series), .style = SeriesStyle::bars});
  return plot;
}

/// One value for each series of the plot.
void add(Plot& plot, const std::string& name, std::initializer_list<double> values) {
  auto series = plot.series.begin();
  for (const double value : values) {
    series->x.push_back(static_cast<double>(plot.x_names.size()));
    (series++)->y.push_back(value);
  }
  plot.x_names.push_back(cut_in_the_middle(name));
}

void add_certificate(Plot& plot, const std::string& name, const LayerCertificate& layer) {
  add(plot, name, {layer.is_open() ? absent : percent(layer.differing, layer.cases), layer.is_open() ? 0 : absent});
}

Plot certificate_bars(const std::string& a, const std::string& b) {
  Plot plot = bars(b + " against " + a + ", for every input", "cases that differ, %", "accumulators, codes or sums that differ");
  plot.series.push_back({.title = "open", .style = SeriesStyle::points});
  return plot;
}

}  // namespace

Plot plot_of(const CompareReport& report) {
  Plot plot = bars(report.b + " against " + report.a, "values that differ, %", "accumulated");
  plot.series.push_back({.title = "same input", .style = SeriesStyle::points});
  for (const LayerDifference& layer : report.layers)
    add(plot, layer.name, {100 * layer.accumulated.share(), layer.same_input ? 100 * layer.same_input->share() : absent});
  return plot;
}

Plot plot_of(const ExplainReport& report) {
  Plot plot = bars(report.b + " against " + report.a + ", same input", "values that differ, %", "explained and not");
  plot.series.push_back({.title = "not explained", .style = SeriesStyle::points});
  for (const LayerAttribution& layer : report.layers) {
    const auto differing = static_cast<std::int64_t>(layer.differing.size());
    add(plot, layer.name, {percent(differing, layer.values), layer.unexplained == 0 ? absent : percent(layer.unexplained, layer.values)});
  }
  return plot;
}

Plot plot_of(const DumpReport& report) {
  Plot plot = bars(report.dump + " against " + report.backend, "values that differ, %", "from the backend");
  for (const DumpVerdict& layer : report.layers) add(plot, layer.name, {percent(layer.differing, layer.values)});
  return plot;
}

Plot plot_of(const Certificate& certificate) {
  Plot plot = certificate_bars(certificate.a, certificate.b);
  for (const LayerCertificate& layer : certificate.layers) add_certificate(plot, layer.name, layer);
  return plot;
}

Plot plot_of(const NetworkMigration& migration) {
  Plot plot = certificate_bars(migration.before, migration.after);
  for (const MigratedLayer& layer : migration.layers) add_certificate(plot, layer.name_after, layer.certificate);
  return plot;
}

Plot plot_of(const DeviceMigration& migration) { return plot_of(migration.certificate); }

Plot plot_of(const ProveReport& report) {
  Plot plot = bars("accumulators of " + report.backend, "bits", "of the device");
  plot.series.push_back({.title = "needed", .style = SeriesStyle::points});
  for (const LayerProof& layer : report.layers) {
    const double width = layer.rule.bits;
    add(plot, layer.part.empty() ? layer.name : layer.name + " " + layer.part, {layer.has_width ? width : absent, width - layer.margin()});
  }
  return plot;
}

Plot plot_of(const AdviseReport& report) {
  Plot plot = bars(report.b + " against " + report.a + ", same input", "values that differ, %", "each layer by itself");
  for (const LayerAdvice& layer : report.layers) add(plot, layer.name, {percent(layer.differing, layer.values)});
  return plot;
}

Plot plot_of(const QuantizationReport& report) {
  Plot plot = bars("quantised for " + report.backend + " against float", "SQNR, dB", "of every tensor");
  for (const TensorQuality& tensor : report.tensors)
    if (tensor.operation != "constant") add(plot, tensor.name, {std::isnan(tensor.cosine) ? absent : tensor.sqnr_db});
  return plot;
}

Plot plot_of(const SweepReport& report) {
  const auto backends = report.sweeper->backends();
  Plot plot{.title = "against " + backends[0].name, .y_label = "values that differ, %", .bars_from_zero = true};
  for (std::size_t b = 1; b < backends.size(); ++b)
    plot.series.push_back({.title = backends[b].name, .style = b == 1 ? SeriesStyle::bars : SeriesStyle::points});
  for (std::size_t t = 0; t < report.sweeper->tensors().size(); ++t) {
    for (std::size_t b = 1; b < backends.size(); ++b) {
      const TensorSums& sums = report.statistics->backends[b].tensors[t];
      plot.series[b - 1].x.push_back(static_cast<double>(t));
      plot.series[b - 1].y.push_back(percent(sums.differing, sums.values));
    }
    plot.x_names.push_back(cut_in_the_middle(report.sweeper->tensors()[t].name));
  }
  return plot;
}

}  // namespace lastbit::tool
