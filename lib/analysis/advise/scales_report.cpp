// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/advise/scales_report.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/advise/table.hpp"
#include "analysis/certify/layer_report.hpp"
#include "compare/report_fields.hpp"
#include "lastbit/printable.hpp"

namespace lastbit {
namespace {

std::string verdict(const ScaleAdvice& layer) {
  if (layer.equal()) return "equal for every input";
  const std::string best =
      layer.best ? "; at best " + with_commas(layer.best->differing) + " at " + number_text("%.6g", layer.best->factor) : "";
  return with_commas(layer.left) + " differ" + best;
}

std::string layer_table(const EqualScales& scales, const std::vector<std::string>& names) {
  const std::vector<AdviceColumn> columns{{"no."},  {"layer", Align::left, 20},       {"scale"}, {"differ"}, {"of"}, {"times"},
                                          {"bits"}, {"then", Align::left, line_width}};
  std::vector<std::vector<std::string>> rows;
  for (const ScaleAdvice& layer : scales.layers) {
    const bool has = layer.factor != 1;
    rows.push_back({std::to_string(layer.operation), names[layer.operation], layer.scale == 0 ? "" : number_text("%.6g", layer.scale),
                    with_commas(layer.differing), with_commas(layer.cases), has ? number_text("%.6g", layer.factor) : "",
                    has ? number_text("%+.4f", layer.bits_lost()) : "", verdict(layer)});
  }
  return table(columns, std::move(rows)) + wrapped(
                                               "  differ: so many of the accumulators (codes, pairs of codes) that the layer can have; "
                                               "times: the nearest scale at which none does, in "
                                               "multiples of the model's; bits: of resolution that it costs, below 0 of range.");
}

std::string tried_text(const EqualScales& scales) {
  std::int64_t least = INT64_MAX, most = 0, left = 0;
  for (const ScaleAdvice& layer : scales.layers) {
    if (layer.equal()) continue;
    ++left;
    least = std::min(least, layer.tried);
    most = std::max(most, layer.tried);
  }
  if (left == 0) return {};
  const std::string tried = (least == most ? "" : std::to_string(least) + " to ") + std::to_string(most);
  return wrapped("For " + count_of(left, "layer") + " no scale within " + number_text("%g", 100 * scales.reach) +
                 " % makes every accumulator or code equal (" + tried +
                 " tried); at best: the fewest that differ, where that is at most half.");
}

std::string open_text(const EqualScales& scales, const std::vector<std::string>& names) {
  std::string text;
  std::vector<std::string> told;
  for (const auto& [first, why] : scales.open) {
    if (std::ranges::find(told, why) != told.end()) continue;
    told.push_back(why);
    std::string layers;
    for (const auto& [operation, reason] : scales.open)
      if (reason == why) layers += (layers.empty() ? "" : ", ") + std::to_string(operation) + " '" + shortened(names[operation], 24) + "'";
    text += wrapped("Open: " + layers + ": " + why + ".");
  }
  return text;
}

}  // namespace

double ScaleAdvice::bits_lost() const { return std::log2(factor); }

bool EqualScales::all_equal() const { return open.empty() && std::ranges::all_of(layers, &ScaleAdvice::equal); }

std::string scales_text(const EqualScales& scales, const std::vector<std::string>& names) {
  if (scales.layers.empty() && scales.open.empty()) return "Every layer is equal for every input as it is.\n";
  std::string text = scales.layers.empty() ? "" : layer_table(scales, names);
  text += tried_text(scales) + open_text(scales, names);
  if (scales.all_equal()) return text + "With these scales the network is equal for every input.\n";
  const auto all = static_cast<std::int64_t>(names.size()),
             equal = scales.equal + std::ranges::count_if(scales.layers, &ScaleAdvice::equal);
  return text +
         wrapped(
             (std::ranges::any_of(scales.layers, [](const ScaleAdvice& layer) { return layer.factor != 1; }) ? "With these scales " : "") +
             std::to_string(equal) + " of " + count_of(all, "layer") + " are equal for every input, " + std::to_string(scales.equal) +
             " of them as they are.");
}

JsonValue scales_json(const EqualScales& scales, const std::vector<std::string>& names) {
  JsonValue json{{"all_equal", scales.all_equal()},
                 {"equal_as_they_are", scales.equal},
                 {"reach", scales.reach},
                 {"layers", JsonValue::array()},
                 {"open", JsonValue::array()}};
  for (const ScaleAdvice& layer : scales.layers) {
    JsonValue one{{"operation", layer.operation}, {"name", names[layer.operation]}, {"scale", layer.scale}, {"cases", layer.cases},
                  {"differing", layer.differing}, {"factor", layer.factor},         {"tried", layer.tried}, {"bits", layer.bits_lost()},
                  {"left", layer.left},           {"equal", layer.equal()}};
    if (layer.best) one["best"] = {{"factor", layer.best->factor}, {"differing", layer.best->differing}};
    json["layers"].push_back(std::move(one));
  }
  for (const auto& [operation, why] : scales.open)
    json["open"].push_back({{"operation", operation}, {"name", names[operation]}, {"why", why}});
  return json;
}

std::string to_text(const EqualScales& scales) {
  return wrapped("model: " + scales.network) + wrapped("a: " + scales.a + " (wanted)") + wrapped("b: " + scales.b + " (the device)") +
         "\nOutput scales, for every input\n" + scales_text(scales, scales.names);
}

std::string to_json(const EqualScales& scales) {
  JsonValue json{{"format", "lastbit.scales.v1"}, {"model", scales.network}, {"a", scales.a}, {"b", scales.b}};
  json.update(scales_json(scales, scales.names));
  return json.text(1) + "\n";
}

}  // namespace lastbit
