// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>

#include "compare/report_layout.hpp"
#include "lastbit/fuzz_against.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

std::string line_of(const std::string& name, const FuzzRow& row) {
  constexpr std::size_t name_width = 20, width = 11;
  std::string line = left(name, name_width);
  for (const std::int64_t figure : {row.models, row.values, row.differing, row.largest, row.refused})
    line += right(std::to_string(figure), width);
  return line + "\n";
}

std::string names_of(const std::vector<OperationKind>& kinds) {
  std::string text;
  for (const OperationKind kind : kinds) text += (text.empty() ? "" : ", ") + std::string(name_of(kind));
  return text;
}

/// The commonest first.
std::string reasons_text(const std::string& title, const std::map<std::string, std::int64_t>& reasons) {
  constexpr std::size_t most = 5;
  std::vector<std::pair<std::int64_t, std::string>> sorted;
  for (const auto& [reason, count] : reasons) sorted.emplace_back(count, reason);
  std::sort(sorted.begin(), sorted.end(),
            [](const auto& a, const auto& b) { return a.first != b.first ? a.first > b.first : a.second < b.second; });
  if (sorted.empty()) return {};
  std::string text = title + "\n";
  for (std::size_t i = 0; i < std::min(most, sorted.size()); ++i)
    text += "  " + std::to_string(sorted[i].first) + " x " + sorted[i].second + "\n";
  if (sorted.size() > most) text += "  and " + count_of(static_cast<std::int64_t>(sorted.size() - most), "other reason") + "\n";
  return text;
}

std::string difference_text(const FuzzDifference& difference) {
  std::string text = "model " + std::to_string(difference.model) + ", " + names_of(difference.operations) + ": " +
                     std::to_string(difference.values.differing) + " of " + count_of(difference.values.values, "value") + ", by at most " +
                     std::to_string(difference.values.largest);
  if (difference.folder.empty()) return text + "\n";
  text += "\n  " + difference.folder + ": ";
  if (difference.operation_count > 1) text += count_of(difference.operation_count, "operation") + ", ";
  if (difference.multiply_accumulates > 0) text += count_of(difference.multiply_accumulates, "multiply-accumulate");
  else text += count_of(difference.elements, "element");
  return text + "; " + difference.first_value + " (" + count_of(difference.trials, "trial") + ")\n";
}

JsonValue row_to_json(const FuzzRow& row) {
  return {{"models", row.models}, {"values", row.values}, {"differing", row.differing}, {"largest", row.largest}, {"refused", row.refused}};
}

JsonValue reasons_to_json(const std::map<std::string, std::int64_t>& reasons) {
  JsonValue json = JsonValue::array();
  for (const auto& [reason, count] : reasons) json.push_back({{"reason", reason}, {"models", count}});
  return json;
}

JsonValue difference_to_json(const FuzzDifference& difference) {
  JsonValue json{{"model", difference.model}, {"sample", difference.sample}};
  json["operations"] = JsonValue::array();
  for (const OperationKind kind : difference.operations) json["operations"].push_back(name_of(kind));
  json["values"] = difference.values.values;
  json["differing"] = difference.values.differing;
  json["largest"] = difference.values.largest;
  if (difference.folder.empty()) return json;
  json["case"] = difference.folder;
  json["first_value"] = difference.first_value;
  json["case_operations"] = difference.operation_count;
  json["case_multiply_accumulates"] = difference.multiply_accumulates;
  json["case_elements"] = difference.elements;
  json["trials"] = difference.trials;
  return json;
}

}  // namespace

std::string to_text(const FuzzReport& report) {
  std::string text = count_of(report.models, "random ." + report.format + " model") + ", seed " + std::to_string(report.seed) + ", on " +
                     report.backend + "\nagainst " + report.other + "\n\n";
  text += "operation                models     values  differing    largest    refused\n";
  for (const auto& [name, row] : report.rows) text += line_of(name, row);
  text += line_of("all", report.all);
  if (!report.differences.empty()) text += "\n";
  for (const FuzzDifference& difference : report.differences) text += difference_text(difference);
  const std::string reasons =
      reasons_text("refused by " + report.backend, report.reasons_here) + reasons_text("refused by the other side", report.reasons_there);
  if (!reasons.empty()) text += "\n" + reasons;
  text += "\n" + count_of(report.compared, "model") + " compared, " + std::to_string(report.refused_here) + " refused by " +
          report.backend + ", " + std::to_string(report.refused_there) + " by the other side; " +
          std::to_string(static_cast<std::int64_t>(report.differences.size())) + " differ\n";
  if (report.not_repeatable > 0)
    text += "of those, " + std::to_string(report.not_repeatable) + " got another answer when the same files were run again\n";
  if (report.stopped) text += "stopped early\n";
  return text;
}

std::string to_json(const FuzzReport& report) {
  JsonValue json{{"backend", report.backend}, {"other", report.other}, {"format", report.format}, {"seed", report.seed}};
  json["models"] = report.models;
  json["compared"] = report.compared;
  json["refused_here"] = report.refused_here;
  json["refused_there"] = report.refused_there;
  json["not_repeatable"] = report.not_repeatable;
  json["stopped"] = report.stopped;
  json["all"] = row_to_json(report.all);
  json["operations"] = JsonValue::object();
  for (const auto& [name, row] : report.rows) json["operations"][name] = row_to_json(row);
  json["differences"] = JsonValue::array();
  for (const FuzzDifference& difference : report.differences) json["differences"].push_back(difference_to_json(difference));
  json["reasons_here"] = reasons_to_json(report.reasons_here);
  json["reasons_there"] = reasons_to_json(report.reasons_there);
  return json.text(2) + "\n";
}

}  // namespace lastbit
