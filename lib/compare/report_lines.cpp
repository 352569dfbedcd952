// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/report_lines.hpp"

#include <algorithm>

#include "compare/report_fields.hpp"
#include "compare/report_layout.hpp"

namespace lastbit {

std::string differing_text(const TensorDifference& d) {
  if (d.differing == 0) return "equal";
  const double percent = 100 * d.share();
  return percent < 0.005 ? "<0.01%" : number_text("%.2f%%", percent);
}

std::string largest_text(const TensorDifference& d) {
  if (d.differing == 0) return {};
  return d.largest_lsb ? (*d.largest_lsb > 0 ? "+" : "") + std::to_string(*d.largest_lsb) : "real";
}

namespace {

/// Of names the first few, each behind and before a mark.
std::string some_of(const std::vector<std::string>& names, const std::string& mark) {
  constexpr std::size_t shown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(shown, names.size()); ++i) text += (i == 0 ? "" : ", ") + mark + names[i] + mark;
  return names.size() > shown ? text + " and " + std::to_string(names.size() - shown) + " more" : text;
}

}  // namespace

std::string first_of(const std::vector<std::string>& names) { return some_of(names, "'"); }

std::string text_of(const DumpMatch& match) {
  if (match.matched == match.computed && match.unfit_files.empty()) return {};
  std::string text = "Of " + std::to_string(match.computed) + " tensors that the network computes, " + std::to_string(match.matched) +
                     " were matched by the dump" + (match.no_output.empty() ? "." : ", its output not among them.");
  if (const std::size_t count = match.unfit_files.size())
    text += " " + std::to_string(count) + (count == 1 ? " file fits" : " files fit") + " no tensor: '" + match.unfit_files[0] + "'" +
            (count == 1 ? "." : ", ...");
  return text;
}

std::string match_lines(const CompareReport& report) {
  if (!report.match) return {};
  const DumpMatch& match = *report.match;
  std::string text = text_of(match);
  if (match.enough()) return text.empty() ? text : wrapped(text, 2);
  text += (text.empty() ? "" : " ") + std::string(match.required ? "Less than is required." : "Too little to be called equal.");
  if (match.required && !match.missing.empty()) text += " Missing: " + first_of(match.missing) + ".";
  if (match.required && !match.short_of.empty()) text += " Short of samples: " + some_of(match.short_of, "") + ".";
  return wrapped(text, 2);
}

std::string reading_lines(const CompareReport& report) {
  std::string text;
  if (!report.match) return text;
  for (const std::string& reading : report.match->readings) text += wrapped("Dump: " + reading + ".", 2);
  return text;
}

std::string misread_lines(const CompareReport& report) {
  std::string text;
  for (const std::string& tensor : report.misread) text += wrapped("Misread: " + tensor + ".", 2);
  for (const std::string& tensor : report.suspected) text += wrapped("Suspected: " + tensor + ".", 2);
  return text;
}

std::string output_lines(const CompareReport& report, const std::string& against) {
  std::string text;
  for (const OutputAgreement& output : report.outputs) {
    text += wrapped("Output '" + output.name + "'" + (against.empty() ? "" : ", " + against) +
                        ": the largest value stands at the same position in " + std::to_string(output.same_top) + " of " +
                        std::to_string(output.samples) + (output.samples == 1 ? " sample." : " samples."),
                    2);
  }
  return text;
}

std::string partial_lines(const CompareReport& report) {
  const auto is_partial = [](const LayerDifference& layer) { return layer.samples.has_value(); };
  const auto first = std::ranges::find_if(report.layers, is_partial);
  if (first == report.layers.end()) return {};
  return wrapped("One side holds fewer samples: of " + std::to_string(std::ranges::count_if(report.layers, is_partial)) + " of " +
                     std::to_string(report.layers.size()) + " tensors only the first " + std::to_string(*first->samples) +
                     " were compared.",
                 2);
}

std::string assumption_lines(const CompareReport& report) {
  if (report.assumptions.empty()) return {};
  const auto marked = std::ranges::count_if(report.layers, [](const LayerDifference& layer) { return !layer.assumptions.empty(); });
  std::string text = "Rests on assumptions";
  if (marked > 0) text += " (?, " + std::to_string(marked) + " of " + std::to_string(report.layers.size()) + " tensors)";
  text += ":\n";
  std::vector<Assumption> shared;  // rules of one reason together
  for (const Assumption& assumption : report.assumptions) {
    const auto known = std::ranges::find(shared, assumption.source, &Assumption::source);
    if (known == shared.end()) shared.push_back(assumption);
    else known->rule += ", " + assumption.rule;
  }
  for (const Assumption& assumption : shared) text += wrapped("  " + assumption.rule + ": " + assumption.source, 4);
  return text;
}

}  // namespace lastbit
