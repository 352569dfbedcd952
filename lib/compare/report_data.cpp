// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "compare/json_number.hpp"
#include "compare/report_fields.hpp"
#include "compare/report_json.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {
namespace {

JsonValue to_json(const ElementMetrics& metrics) {
  JsonValue json;
  for (const MetricField& field : metric_fields) json[std::string(field.name)] = json_number(metrics.*field.value);
  return json;
}

JsonValue number_of(const LayerDifference& layer) { return layer.number ? JsonValue(*layer.number) : JsonValue(); }

JsonValue to_json(const LayerDifference& layer) {
  JsonValue json{{"number", number_of(layer)}, {"tensor", layer.tensor}, {"name", layer.name}, {"operation", layer.operation}};
  json["shape"] = layer.accumulated.shape.sizes();
  json["accumulated"] = json_of(layer.accumulated);
  json["same_input"] = layer.same_input ? json_of(*layer.same_input) : JsonValue();
  if (layer.samples) json["first_samples_compared"] = *layer.samples;
  if (layer.golden) json["golden"] = {{"a", to_json(layer.golden->a)}, {"b", to_json(layer.golden->b)}};
  json["assumptions"] = json_of(layer.assumptions);
  return json;
}

constexpr const char* precise = "%.9g";

std::string csv_figures(const TensorDifference& d) {
  std::string line =
      d.shape.text() + "," + std::to_string(d.values) + "," + std::to_string(d.differing) + "," + number_text(precise, d.share());
  line += "," + (d.largest_lsb ? std::to_string(*d.largest_lsb) : std::string());
  for (const std::int64_t count : d.histogram.counts) line += "," + (d.largest_lsb ? std::to_string(count) : std::string());
  line += d.first ? "," + std::to_string(d.first->index) + "," + number_text(precise, d.first->a) + "," + number_text(precise, d.first->b)
                  : ",,,";
  for (const std::int64_t count : {d.saturated_a, d.saturated_b, d.metrics.non_finite_truth, d.metrics.non_finite_mine})
    line += "," + std::to_string(count);
  for (const MetricField& field : metric_fields) line += "," + number_text(precise, d.metrics.*field.value);
  return line;
}

}  // namespace

JsonValue json_of(const TensorDifference& d) {
  JsonValue json{{"values", d.values}, {"differing", d.differing}, {"share", d.share()}};
  json["largest_lsb"] = d.largest_lsb ? JsonValue(*d.largest_lsb) : JsonValue();
  json["histogram"] = JsonValue::object();
  for (std::size_t i = 0; d.largest_lsb && i < histogram_names.size(); ++i)
    json["histogram"][std::string(histogram_names[i])] = d.histogram.counts[i];
  json["first"] = JsonValue();
  if (d.first) {
    json["first"] = {{"index", d.first->index},
                     {"coordinates", coordinates(d.shape, d.first->index)},
                     {"a", json_number(d.first->a)},
                     {"b", json_number(d.first->b)}};
  }
  json["saturated"] = {{"a", d.saturated_a}, {"b", d.saturated_b}};
  json["non_finite"] = {{"a", d.metrics.non_finite_truth}, {"b", d.metrics.non_finite_mine}};
  json["metrics"] = to_json(d.metrics);
  return json;
}

JsonValue json_of(const std::vector<Assumption>& assumptions) {
  JsonValue json = JsonValue::array();
  for (const Assumption& assumption : assumptions) json.push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  return json;
}

JsonValue json_of(const DumpMatch& match) {
  return {{"computed", match.computed},         {"matched", match.matched},          {"missing", match.missing},
          {"outputs_missing", match.no_output}, {"unfit_files", match.unfit_files},  {"enough", match.enough()},
          {"readings", match.readings},         {"short_of_samples", match.short_of}};
}

JsonValue json_of(const std::vector<OutputAgreement>& outputs) {
  JsonValue json = JsonValue::array();
  for (const OutputAgreement& output : outputs)
    json.push_back({{"name", output.name}, {"samples", output.samples}, {"same_top", output.same_top}});
  return json;
}

std::string csv_header() {
  std::string line = "number,tensor,name,operation,difference,shape,values,differing,share,largest_lsb";
  for (const auto name : histogram_names) line += "," + std::string(name);
  line += ",first_index,first_a,first_b,saturated_a,saturated_b,non_finite_a,non_finite_b";
  for (const auto& field : metric_fields) line += "," + std::string(field.name);
  return line + ",golden_cosine_a,golden_cosine_b,golden_sqnr_db_a,golden_sqnr_db_b,assumptions\n";
}

std::string csv_line(const LayerDifference& layer, std::string_view kind, const TensorDifference& d) {
  std::string line = (layer.number ? std::to_string(*layer.number) : "") + "," + std::to_string(layer.tensor) + "," + csv_cell(layer.name) +
                     "," + layer.operation + "," + std::string(kind) + "," + csv_figures(d);
  for (const auto value : {&ElementMetrics::cosine, &ElementMetrics::sqnr_db}) {
    line += layer.golden ? "," + number_text(precise, layer.golden->a.*value) + "," + number_text(precise, layer.golden->b.*value) : ",,";
  }
  std::string rules;
  for (const Assumption& assumption : layer.assumptions) rules += (rules.empty() ? "" : " ") + assumption.rule;
  return line + "," + csv_cell(rules) + "\n";
}

std::string csv_cell(std::string_view text) {
  const bool computed = !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos;
  std::string shown = (computed ? "'" : "") + std::string(text);
  if (shown.find_first_of(",\"\n\r") == std::string::npos) return shown;
  std::string cell = "\"";
  for (const char c : shown) cell += c == '"' ? std::string("\"\"") : std::string(1, c);
  return cell + "\"";
}

std::string to_json(const CompareReport& report) {
  JsonValue json{{"format", "lastbit.compare.v1"}, {"model", report.model}, {"a", report.a}, {"b", report.b}, {"path", report.path}};
  json["not_emulated"] = report.not_emulated;
  if (!report.elsewhere.empty()) json["elsewhere"] = report.elsewhere;
  if (!report.golden.empty()) json["golden"] = report.golden;
  json["equal"] = report.equal();
  const LayerDifference* const first = report.first_divergence();
  json["first_divergence"] =
      first == nullptr ? JsonValue() : JsonValue{{"number", number_of(*first)}, {"tensor", first->tensor}, {"name", first->name}};
  json["layers"] = JsonValue::array();
  for (const LayerDifference& layer : report.layers) json["layers"].push_back(to_json(layer));
  json["outputs"] = json_of(report.outputs);
  json["assumptions"] = json_of(report.assumptions);
  if (report.match) json["match"] = json_of(*report.match);
  json["misread"] = report.misread;
  json["suspected"] = report.suspected;
  json["only_in_a"] = report.only_in_a;
  json["only_in_b"] = report.only_in_b;
  return json.text(1) + "\n";
}

std::string to_csv(const CompareReport& report) {
  std::string text = csv_header();
  for (const LayerDifference& layer : report.layers) {
    text += csv_line(layer, "accumulated", layer.accumulated);
    if (layer.same_input) text += csv_line(layer, "same_input", *layer.same_input);
  }
  return text;
}

}  // namespace lastbit
