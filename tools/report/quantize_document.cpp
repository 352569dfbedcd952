// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "lastbit/printable.hpp"
#include "layer_plot.hpp"
#include "report/documents.hpp"
#include "report/parts.hpp"

namespace lastbit::tool {
namespace {

constexpr double notable_loss_db = 3;

std::string scale_text(const Quantization& quantization) {
  if (!quantization.present()) return "";
  const auto [least, most] = std::ranges::minmax(quantization.scales);
  return number_cell(least, 4).text + (quantization.per_channel() ? " to " + number_cell(most, 4).text : "");
}

Table tensors_of(const QuantizationReport& report) {
  Table table{{{"tensor", Alignment::left},
               {"operation", Alignment::left},
               {"type", Alignment::left},
               {"least"},
               {"largest"},
               {"scale", Alignment::left},
               {"zero point"},
               {"codes used"},
               {"clipped"},
               {"cosine"},
               {"SQNR, dB"},
               {"lost, dB", Alignment::right, "below the worst of what the operation reads"},
               {"saturated"},
               {"sums that left the accumulator"}},
              {}};
  for (const TensorQuality& tensor : report.tensors) {
    const bool has_twin = !std::isnan(tensor.cosine);
    table.rows.push_back({subject_of(tensor.name, tensor.operation, standing_of(tensor.lost_db >= notable_loss_db)),
                          {tensor.name, tensor.operation, tensor.type, number_cell(tensor.min, 3), number_cell(tensor.max, 3),
                           scale_text(tensor.quantization), tensor.quantization.present() ? Cell(tensor.quantization.zero_point()) : Cell(),
                           tensor.levels_used > 0 ? Cell(tensor.levels_used) : Cell(), share_cell(tensor.clipped_share),
                           has_twin ? number_cell(tensor.cosine, 8) : Cell(), has_twin ? number_cell(tensor.sqnr_db, 4) : Cell(),
                           tensor.lost_db >= 0.05 ? number_cell(tensor.lost_db, 3) : Cell(), tensor.events.saturated_outputs,
                           tensor.events.accumulator_overflows}});
  }
  return table;
}

}  // namespace

Document document_of(const QuantizationReport& report, const std::string& model) {
  const auto notable = std::ranges::count_if(report.tensors, [](const TensorQuality& tensor) { return tensor.lost_db >= notable_loss_db; });
  Document page{.title = "quantize", .standing = standing_of(notable > 0)};
  page.verdict = report.samples == 0 ? "Without samples, nothing but the constants is measured."
                 : notable == 0      ? "No operation loses 3 dB or more of what it reads."
                                     : count_of(notable, "tensor") + (notable == 1 ? " loses" : " lose") + " 3 dB or more of what is read.";
  page.facts = {
      {"model", model}, {"backend", report.backend}, {"quantiser", report.quantizer}, {"samples", std::to_string(report.samples)}};
  for (const auto& [name, value] : report.options) page.facts.emplace_back("option " + name, value);
  List remarks{report.notes};
  for (const OutputAgreement& output : report.outputs)
    remarks.lines.push_back("Output '" + output.name + "': the largest value stands at the same position as in float in " +
                            std::to_string(output.same_top) + " of " + count_of(output.samples, "sample") + ".");
  page.add("Remarks", "", {remarks});
  Plot plot = plot_of(report);
  plot.title.clear();
  page.add("Tensors", "SQNR of the quantised network against the float network. 'Only what differs' leaves what loses 3 dB or more.",
           {Figure{plot, {}}, tensors_of(report)});
  page.add("Assumptions", assumptions_meaning, {assumption_rows(report.assumptions, report.backend)});
  return page;
}

}  // namespace lastbit::tool
