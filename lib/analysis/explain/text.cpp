// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/text.hpp"

#include <algorithm>
#include <cstdio>

#include "compare/report_layout.hpp"

namespace lastbit {
namespace {

constexpr std::size_t longest_name = 70;

/// One way from the products to the output, a line for each step, columns aligned.
std::string trace_lines(const ValueTrace& trace, const std::string& backend, const std::string& parts_at) {
  std::size_t stage_width = backend.size(), value_width = std::string("integer").size();
  for (const StageStep& step : trace.steps) {
    stage_width = std::max(stage_width, step.stage.size());
    value_width = std::max(value_width, step.value.size());
  }
  const auto line = [&](const std::string& stage, const std::string& value, const std::string& rest) {
    return "    " + stage + std::string(stage_width - stage.size() + 2 + value_width - value.size(), ' ') + value + "  " + rest + "\n";
  };
  std::string text = line(backend, "integer", "in output steps");
  for (const StageStep& step : trace.steps) {
    char real[32];
    std::snprintf(real, sizeof(real), "%15.5f", step.real);
    text +=
        line(step.stage, step.value, std::string(real) + (step.tie ? "  a tie" : "") + (step.stage == parts_at ? "  <- parts here" : ""));
  }
  return text;
}

std::string sum_line(const ValueTrace& trace, const std::string& backend) {
  std::string text = "    " + backend + ": accumulator " + std::to_string(trace.accumulator);
  if (trace.left_width) {
    text += ", left its width (" + trace.left_width->rule + ") at term " + std::to_string(trace.left_width->term) + " of " +
            std::to_string(trace.left_width->terms);
  }
  return text + "\n";
}

}  // namespace

std::string share_text(std::int64_t part, std::int64_t whole) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.2f %%", whole == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text;
}

std::string shortened(const std::string& name) { return shortened(name, longest_name); }

std::string layer_title(std::size_t number, const std::string& operation, const std::string& name) {
  return "layer " + std::to_string(number) + ", " + operation + " '" + shortened(name) + "'";
}

std::string evidence_lines(const std::vector<RuleEvidence>& evidence) {
  constexpr std::size_t most_rules = 4;
  std::string text;
  for (auto first = evidence.begin(); first != evidence.end(); ++first) {
    const auto rests_alike = [&](const RuleEvidence& each) {
      return each.backend == first->backend && each.level == first->level && each.source == first->source;
    };
    if (std::any_of(evidence.begin(), first, rests_alike)) continue;
    std::string rules;
    std::size_t count = 0;
    for (const RuleEvidence& each : evidence)
      if (rests_alike(each) && ++count <= most_rules) rules += ", " + each.rule;
    if (count > most_rules) rules += " and " + std::to_string(count - most_rules) + " more";
    text += "  " + first->backend + rules + ": " + first->level + ", " + first->source + "\n";
  }
  return text.empty() ? text : "\nWhat they rest on:\n" + text;
}

std::string to_text(const SideBySide& value, const std::string& a, const std::string& b) {
  const bool same_sum = value.a.accumulator == value.b.accumulator && !value.a.left_width && !value.b.left_width;
  std::string text = "  value " + std::to_string(value.index) + ": " + a + " " + std::to_string(value.a.output) + ", " + b + " " +
                     std::to_string(value.b.output);
  text += same_sum ? "; both from accumulator " + std::to_string(value.a.accumulator) + "\n"
                   : "\n" + sum_line(value.a, a) + sum_line(value.b, b);
  return text + trace_lines(value.a, a, value.parts_at) + trace_lines(value.b, b, value.parts_at);
}

}  // namespace lastbit
