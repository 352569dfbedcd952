// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "analysis/advise/scales_report.hpp"
#include "compare/json_number.hpp"
#include "compare/report_fields.hpp"
#include "lastbit/advise.hpp"
#include "lastbit/json_value.hpp"

namespace lastbit {
namespace {

JsonValue to_json(const Agreement& agreement) {
  return {{"samples", agreement.samples},
          {"values", agreement.values},
          {"differing", agreement.differing},
          {"same_top", agreement.same_top},
          {"cosine", json_number(agreement.cosine())},
          {"distance", json_number(agreement.distance())},
          {"relative_error", json_number(agreement.relative_error())}};
}

JsonValue to_json(const Interval& interval) { return JsonValue::array({json_number(interval.low), json_number(interval.high)}); }

JsonValue to_json(const TieCount& count) { return {{"on", count.on}, {"near", count.near}}; }

JsonValue to_json(const std::optional<TieCensus>& census) {
  if (!census) return nullptr;
  return {{"cases", census->cases},         {"a", to_json(census->a)},
          {"b", to_json(census->b)},        {"either", to_json(census->either)},
          {"differing", census->differing}, {"differing_at", to_json(census->differing_at)}};
}

JsonValue to_json(const Float16Figures& figures) {
  return {{"kept", figures.kept}, {"left", figures.left}, {"agreement", to_json(figures.agreement)}};
}

JsonValue to_json(const FallbackPoint& point);
JsonValue to_json(const LayerAdvice& layer);
JsonValue to_json(const Consequence& consequence);

template <class List>
JsonValue to_json_list(const List& list) {
  JsonValue json = JsonValue::array();
  for (const auto& entry : list) json.push_back(to_json(entry));
  return json;
}

JsonValue to_json(const FallbackPoint& point) {
  return {{"operations", point.operations}, {"macs", point.macs}, {"agreement", to_json(point.agreement)}};
}

JsonValue to_json(const FallbackSearch& search) {
  return {{"alone", to_json_list(search.alone)},     {"greedy", to_json_list(search.greedy)},   {"order", search.order},
          {"candidates", search.candidates},         {"exact", to_json_list(search.exact)},     {"by_count", to_json_list(search.by_count)},
          {"by_macs", to_json_list(search.by_macs)}, {"greedy_samples", search.greedy_samples}, {"exact_samples", search.exact_samples}};
}

JsonValue to_json(const LayerAdvice& layer) {
  return {{"operation", layer.operation},
          {"name", layer.name},
          {"kind", layer.kind},
          {"macs", layer.macs},
          {"values", layer.values},
          {"differing", layer.differing},
          {"error", json_number(layer.error)},
          {"alone", layer.alone ? to_json(*layer.alone) : JsonValue()},
          {"ties", to_json(layer.ties)}};
}

JsonValue to_json(const Rescaling& rescaling) {
  JsonValue json{{"pairs", JsonValue::array()}, {"refused", JsonValue::array()}};
  for (const RescalingPair& pair : rescaling.pairs) {
    json["pairs"].push_back(
        {{"tensors", pair.tensors}, {"producers", pair.producers}, {"consumers", pair.consumers}, {"exponent", pair.exponent}});
  }
  for (const UnscalableTensor& refused : rescaling.refused) json["refused"].push_back({{"tensor", refused.tensor}, {"why", refused.why}});
  return json;
}

JsonValue to_json(const Float16Advice& advice) {
  JsonValue json{{"headroom", JsonValue::array()},
                 {"alone", to_json(advice.alone)},
                 {"kept", to_json(advice.kept)},
                 {"rescaling", to_json(advice.rescaling)},
                 {"with_rescaling", to_json(advice.with_rescaling)}};
  for (const double bits : advice.headroom) json["headroom"].push_back(json_number(bits));
  return json;
}

JsonValue to_json(const Consequence& consequence) {
  return {{"choice", consequence.choice},
          {"operations", consequence.operations},
          {"agreement", to_json(consequence.agreement)},
          {"answers_changed_interval", to_json(consequence.flips)},
          {"distance_interval", consequence.distance ? to_json(*consequence.distance) : JsonValue()}};
}

JsonValue optional_number(const std::optional<double>& value) { return value ? json_number(*value) : JsonValue(); }

}  // namespace

std::string options_of(const AdviseReport& report, const Consequence& choice) {
  const bool named = (report.a + report.b).find(' ') == std::string::npos;
  if (!named || report.float16 || report.a_is_real || (choice.operations.empty() && report.missing.empty())) return {};
  std::string kept;
  for (const std::size_t operation : choice.operations) kept += (kept.empty() ? "" : ",") + std::to_string(operation);
  return "--backend " + report.b + (kept.empty() ? "" : " --keep " + kept + "=" + report.a) +
         (report.missing.empty() ? "" : " --fallback " + report.a);
}

std::string to_json(const AdviseReport& report) {
  JsonValue json{{"format", "lastbit.advise.v1"},
                 {"model", report.model},
                 {"a", report.a},
                 {"b", report.b},
                 {"equal", report.equal()},
                 {"objective", name_of(report.objective)},
                 {"judged_at", report.judged_at},
                 {"samples", report.samples},
                 {"layer_samples", report.layer_samples},
                 {"macs", report.macs},
                 {"operations", report.names},
                 {"only_on_a", JsonValue::array()}};
  for (const Diagnostic& diagnostic : report.missing) json["only_on_a"].push_back(diagnostic.text());
  json["layers"] = to_json_list(report.layers);
  json["search"] = to_json(report.search);
  json["scales"] = report.scales ? scales_json(*report.scales, report.names) : JsonValue();
  json["all_scales"] = report.all_scales ? to_json(*report.all_scales) : JsonValue();
  json["sqnr_db"] = {{"before", optional_number(report.sqnr_db_before)}, {"after", optional_number(report.sqnr_db_after)}};
  json["float16"] = report.halves ? to_json(*report.halves) : JsonValue();
  json["consequences"] = JsonValue::array();
  for (const Consequence& choice : report.consequences) {
    JsonValue entry = to_json(choice);
    entry["options"] = options_of(report, choice);
    json["consequences"].push_back(std::move(entry));
  }
  json["assumptions"] = JsonValue::array();
  for (const Assumption& assumption : report.assumptions)
    json["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  return json.text(1) + "\n";
}

}  // namespace lastbit
