// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {
namespace {

constexpr std::size_t names_at_hundred = 25;
constexpr double notable_loss_db = 3;  ///< half of the remaining accuracy
constexpr std::size_t most_marked = 5;
constexpr std::int64_t few_levels = 16;  ///< so few codes are named as a cause

std::string share_text(double share) {
  if (share == 0) return "-";
  return share < 0.00005 ? "<0.01%" : number_text("%.2f%%", 100 * share);
}

std::string scale_text(const TensorQuality& tensor) {
  if (!tensor.quantization.present()) return "-";
  const auto [least, most] = std::ranges::minmax(tensor.quantization.scales);
  if (!tensor.quantization.per_channel()) return number_text("%.4g", least);
  return number_text("%.1e", least) + ".." + number_text("%.1e", most);
}

std::string zero_text(const TensorQuality& tensor) {
  return tensor.quantization.present() ? std::to_string(tensor.quantization.zero_point()) : "-";
}

/// What costs most, worst first.
std::vector<const TensorQuality*> worst_of(const QuantizationReport& report) {
  std::vector<const TensorQuality*> worst;
  for (const TensorQuality& tensor : report.tensors) {
    if (tensor.lost_db >= notable_loss_db) worst.push_back(&tensor);
  }
  std::ranges::stable_sort(worst, std::ranges::greater(), &TensorQuality::lost_db);
  worst.resize(std::min(worst.size(), most_marked));
  return worst;
}

std::string real_text(double value) { return std::isnan(value) ? "-" : number_text("%.3g", value); }

std::string line_of(const TensorQuality& tensor, bool marked, std::size_t names) {
  std::string line = left(shortened(tensor.name, names), names) + " " + left(shortened(tensor.type, 7), 7);
  line += right(real_text(tensor.min), 9) + right(real_text(tensor.max), 9);
  line += right(scale_text(tensor), 17) + right(zero_text(tensor), 5);
  line += right(tensor.levels_used == 0 ? "-" : std::to_string(tensor.levels_used), 6) + right(share_text(tensor.clipped_share), 7);
  line += right(std::isnan(tensor.sqnr_db) ? "-" : number_text("%.1f", tensor.sqnr_db), 6);
  line += right(tensor.lost_db >= 0.05 ? number_text("%.1f", tensor.lost_db) : "", 5) + (marked ? " <" : "");
  return line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
}

std::string heading(std::size_t names) {
  return left("tensor", names) + " " + left("type", 7) + right("min", 9) + right("max", 9) + right("scale", 17) + right("zero", 5) +
         right("levels", 7) + right("clip", 6) + right("SQNR", 6) + right("lost", 5) + "\n";
}

std::string worst_text(const std::vector<const TensorQuality*>& worst) {
  if (worst.empty()) return "No operation loses 3 dB or more of what it reads.\n";
  std::string text = "Most is lost at (<):\n";
  for (const TensorQuality* tensor : worst) {
    text += "  " + number_text("%.1f", tensor->lost_db) + " dB in " + tensor->operation + " '" + shortened(tensor->name, 50) + "'";
    if (tensor->clipped_share > 0) text += ", clipped " + share_text(tensor->clipped_share);
    if (tensor->levels_used > 0 && tensor->levels_used <= few_levels) text += ", " + count_of(tensor->levels_used, "code") + " used";
    text += "\n";
  }
  return text;
}

std::string events_text(const QuantizationReport& report) {
  Events events;
  for (const TensorQuality& tensor : report.tensors) events += tensor.events;
  return std::to_string(events.saturated_outputs) + " of " + std::to_string(events.outputs) +
         " outputs moved by the bounds of type or activation, " + std::to_string(events.accumulator_overflows) +
         " accumulator overflows.\n";
}

std::string measured_text(const QuantizationReport& report, const std::vector<const TensorQuality*>& worst) {
  std::string text =
      "\nSQNR in dB against the float network; lost: how far below the worst of what the operation reads.\n" + worst_text(worst);
  text += events_text(report);
  for (const OutputAgreement& output : report.outputs) {
    text += "Output '" + shortened(output.name, 40) + "': the largest value stands at the same position in " +
            std::to_string(output.same_top) + " of " + count_of(output.samples, "sample") + ".\n";
  }
  return text;
}

std::string options_text(const QuantizationReport& report) {
  std::string text;
  for (const auto& [name, value] : report.options) text += " " + name + "=" + value;
  return text;
}

JsonValue number(double value) { return std::isfinite(value) ? JsonValue(value) : JsonValue(number_text("%g", value)); }

JsonValue to_json(const TensorQuality& tensor) {
  JsonValue json{{"name", tensor.name}, {"operation", tensor.operation}, {"type", tensor.type}};
  json["min"] = number(tensor.min);
  json["max"] = number(tensor.max);
  json["scale"] = tensor.quantization.scales;
  json["zero_point"] = tensor.quantization.zero_points;
  json["axis"] = tensor.quantization.axis;
  json["values"] = tensor.values;
  json["levels_used"] = tensor.levels_used;
  json["clipped_share"] = number(tensor.clipped_share);
  json["cosine"] = number(tensor.cosine);
  json["sqnr_db"] = number(tensor.sqnr_db);
  json["lost_db"] = number(tensor.lost_db);
  json["saturated_outputs"] = tensor.events.saturated_outputs;
  json["accumulator_overflows"] = tensor.events.accumulator_overflows;
  json["outputs"] = tensor.events.outputs;
  return json;
}

}  // namespace

std::string to_text(const QuantizationReport& report, const LayerView& view) {
  const std::size_t names = name_width(view, names_at_hundred);
  const std::vector<const TensorQuality*> worst = worst_of(report);
  std::string text = wrapped("Quantised for " + report.backend + " by " + report.quantizer + options_text(report) + ", " +
                             count_of(report.samples, "sample") + ".") +
                     "\n" + heading(names);
  std::vector<ViewedLayer> viewed;
  for (const TensorQuality& tensor : report.tensors)
    viewed.push_back({std::nullopt, tensor.name, tensor.clipped_share, tensor.lost_db, tensor.lost_db});
  const std::vector<std::size_t> rows = shown(view, viewed);
  for (const std::size_t row : rows) {
    const TensorQuality& tensor = report.tensors[row];
    text += line_of(tensor, std::ranges::find(worst, &tensor) != worst.end(), names);
  }
  if (rows.size() < viewed.size()) text += std::to_string(rows.size()) + " of " + std::to_string(viewed.size()) + " tensors are shown.\n";
  text += report.samples > 0 ? measured_text(report, worst) : "\nWithout samples, nothing but the constants is measured.\n";
  for (const std::string& note : report.notes) text += wrapped("Note: " + note, 4);
  if (!report.assumptions.empty()) text += "The device's arithmetic rests on assumptions:\n";
  for (const Assumption& assumption : report.assumptions) text += wrapped("- " + assumption.rule + ": " + assumption.source, 4);
  return text;
}

std::string to_json(const QuantizationReport& report) {
  JsonValue json{{"backend", report.backend}, {"quantizer", report.quantizer}, {"samples", report.samples}};
  json["options"] = JsonValue::object();
  for (const auto& [name, value] : report.options) json["options"][name] = value;
  json["tensors"] = JsonValue::array();
  for (const TensorQuality& tensor : report.tensors) json["tensors"].push_back(to_json(tensor));
  json["outputs"] = JsonValue::array();
  for (const OutputAgreement& output : report.outputs) {
    json["outputs"].push_back({{"name", output.name}, {"samples", output.samples}, {"same_top", output.same_top}});
  }
  json["notes"] = report.notes;
  json["assumptions"] = JsonValue::array();
  for (const Assumption& assumption : report.assumptions)
    json["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  return json.text(2) + "\n";
}

}  // namespace lastbit
