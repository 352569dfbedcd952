// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0

#include "compare/report_layout.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/recording.hpp"

namespace lastbit {
namespace {

std::string text_of(const RuleDifference& rule) {
  const auto side = [](const std::string& value) { return value.empty() ? std::string("(none)") : value; };
  return rule.path + ": " + side(rule.a) + " -> " + side(rule.b);
}

std::string lines_of(const std::vector<RuleDifference>& rules, const std::string& indent) {
  std::string text;
  for (const RuleDifference& rule : rules) text += indent + text_of(rule) + "\n";
  return text;
}

std::string text_of(const RecordingDifference& difference) {
  constexpr std::size_t longest_name = 60;
  const std::string place = difference.operation + " '" + shortened(difference.tensor, longest_name) + "'";
  if (!difference.reason.empty()) return place + ": " + difference.reason + "\n";
  std::string text = place + "[" + std::to_string(difference.index) + "]: stored " + difference.expected + ", now " + difference.got +
                     "; " + std::to_string(difference.differing) + " of " + std::to_string(difference.values) + " values differ\n";
  if (!difference.changed.empty()) text += "    it reads\n" + lines_of(difference.changed, "      ");
  return text;
}

JsonValue to_json(const std::vector<RuleDifference>& rules) {
  JsonValue list = JsonValue::array();
  for (const RuleDifference& rule : rules) list.push_back({{"rule", rule.path}, {"stored", rule.a}, {"now", rule.b}});
  return list;
}

}  // namespace

std::string to_text(const RecordingReport& report) {
  std::string text = report.folder + ", written by " + report.written_by + ", on " + report.backend + ": ";
  if (report.passed()) {
    text += count_of(static_cast<std::int64_t>(report.tensors), "tensor") + ", " + count_of(report.values, "value") +
            ", all equal; no rule changed\n";
  } else {
    text += std::to_string(report.differing.size()) + " of " + std::to_string(report.tensors) + " tensors differ, " +
            std::to_string(report.changed.size()) + " of the rules they read changed\n";
  }
  if (report.model_changed) text += "  the model is not the one that was stored\n";
  if (!report.unreadable_backend.empty()) text += "  the stored backend cannot be read: " + report.unreadable_backend + "\n";
  if (!report.changed.empty()) text += "  changed rules, stored -> now\n" + lines_of(report.changed, "    ");
  if (!report.differing.empty()) text += "  the first that differs: " + text_of(report.differing.front());
  if (!report.changed_apart.empty()) text += "  changed, but read by no operation of this model\n" + lines_of(report.changed_apart, "    ");
  return text;
}

std::string to_json(const RecordingReport& report) {
  JsonValue json{{"store", report.folder}, {"written_by", report.written_by}, {"backend", report.backend}, {"passed", report.passed()}};
  json["model_changed"] = report.model_changed;
  json["unreadable_backend"] = report.unreadable_backend;
  json["changed"] = to_json(report.changed);
  json["changed_apart"] = to_json(report.changed_apart);
  json["tensors"] = report.tensors;
  json["values"] = report.values;
  json["differing"] = JsonValue::array();
  for (const RecordingDifference& each : report.differing) {
    json["differing"].push_back({{"tensor", each.tensor},
                                 {"operation", each.operation},
                                 {"index", each.index},
                                 {"stored", each.expected},
                                 {"now", each.got},
                                 {"differing", each.differing},
                                 {"values", each.values},
                                 {"reason", each.reason},
                                 {"changed", to_json(each.changed)}});
  }
  return json.text(2) + "\n";
}

}  // namespace lastbit
