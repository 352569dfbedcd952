// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "compare/json_number.hpp"
#include "compare/report_fields.hpp"
#include "lastbit/advise.hpp"

namespace lastbit {
namespace {

using Json = nlohmann::ordered_json;

Json to_json(const Agreement& agreement) {
  return {{"samples", agreement.samples},
          {"values", agreement.values},
          {"differing", agreement.differing},
          {"same_top", agreement.same_top},
          {"cosine", json_number(agreement.cosine())},
          {"distance", json_number(agreement.distance())},
          {"relative_error", json_number(agreement.relative_error())}};
}

Json to_json(const Interval& interval) { return Json::array({json_number(interval.low), json_number(interval.high)}); }

Json to_json(const TieCount& count) { return {{"on", count.on}, {"near", count.near}}; }

Json to_json(const std::optional<TieCensus>& census) {
  if (!census) return nullptr;
  return {{"accumulators", census->accumulators}, {"a", to_json(census->a)},        {"b", to_json(census->b)},
          {"either", to_json(census->either)},    {"differing", census->differing}, {"differing_at", to_json(census->differing_at)}};
}

Json to_json(const ScaleTrial& figures) {
  return {{"factor", figures.factor},
          {"values", figures.values},
          {"differing", figures.differing},
          {"sqnr_db", json_number(figures.sqnr_db)},
          {"cosine", json_number(figures.cosine)}};
}

Json to_json(const Float16Figures& figures) {
  return {{"kept", figures.kept}, {"left", figures.left}, {"agreement", to_json(figures.agreement)}};
}

Json to_json(const FallbackPoint& point);
Json to_json(const LayerAdvice& layer);
Json to_json(const ScaleAdvice& advice);
Json to_json(const Consequence& consequence);

template <class List>
Json to_json_list(const List& list) {
  Json json = Json::array();
  for (const auto& entry : list) json.push_back(to_json(entry));
  return json;
}

Json to_json(const FallbackPoint& point) {
  return {{"operations", point.operations}, {"macs", point.macs}, {"agreement", to_json(point.agreement)}};
}

Json to_json(const FallbackSearch& search) {
  return {{"alone", to_json_list(search.alone)},     {"greedy", to_json_list(search.greedy)},   {"order", search.order},
          {"candidates", search.candidates},         {"exact", to_json_list(search.exact)},     {"by_count", to_json_list(search.by_count)},
          {"by_macs", to_json_list(search.by_macs)}, {"greedy_samples", search.greedy_samples}, {"exact_samples", search.exact_samples}};
}

Json to_json(const LayerAdvice& layer) {
  return {{"operation", layer.operation},
          {"name", layer.name},
          {"kind", layer.kind},
          {"macs", layer.macs},
          {"values", layer.values},
          {"differing", layer.differing},
          {"error", json_number(layer.error)},
          {"alone", layer.alone ? to_json(*layer.alone) : Json()},
          {"ties", to_json(layer.ties)}};
}

Json to_json(const ScaleAdvice& advice) {
  return {{"operation", advice.operation},      {"scale", advice.scale},        {"now", to_json(advice.now)},
          {"best", to_json(advice.best)},       {"ties", to_json(advice.ties)}, {"network", to_json(advice.network)},
          {"tried", to_json_list(advice.tried)}};
}

Json to_json(const Rescaling& rescaling) {
  Json json{{"pairs", Json::array()}, {"refused", Json::array()}};
  for (const RescalingPair& pair : rescaling.pairs) {
    json["pairs"].push_back(
        {{"tensors", pair.tensors}, {"producers", pair.producers}, {"consumers", pair.consumers}, {"exponent", pair.exponent}});
  }
  for (const UnscalableTensor& refused : rescaling.refused) json["refused"].push_back({{"tensor", refused.tensor}, {"why", refused.why}});
  return json;
}

Json to_json(const Float16Advice& advice) {
  Json json{{"headroom", Json::array()},
            {"alone", to_json(advice.alone)},
            {"kept", to_json(advice.kept)},
            {"rescaling", to_json(advice.rescaling)},
            {"with_rescaling", to_json(advice.with_rescaling)}};
  for (const double bits : advice.headroom) json["headroom"].push_back(json_number(bits));
  return json;
}

Json to_json(const Consequence& consequence) {
  return {{"choice", consequence.choice},
          {"operations", consequence.operations},
          {"agreement", to_json(consequence.agreement)},
          {"answers_changed_interval", to_json(consequence.flips)},
          {"distance_interval", consequence.distance ? to_json(*consequence.distance) : Json()}};
}

Json optional_number(const std::optional<double>& value) { return value ? json_number(*value) : Json(); }

}  // namespace

std::string to_json(const AdviseReport& report) {
  Json json{{"format", "lastbit.advise.v1"},
            {"model", report.model},
            {"a", report.a},
            {"b", report.b},
            {"equal", report.equal()},
            {"objective", name_of(report.objective)},
            {"judged_at", report.judged_at},
            {"samples", report.samples},
            {"census_samples", report.census_samples},
            {"macs", report.macs},
            {"operations", report.names},
            {"only_on_a", Json::array()}};
  for (const Diagnostic& diagnostic : report.missing) json["only_on_a"].push_back(diagnostic.text());
  json["layers"] = to_json_list(report.layers);
  json["search"] = to_json(report.search);
  json["scales"] = to_json_list(report.scales);
  json["all_scales"] = report.all_scales ? to_json(*report.all_scales) : Json();
  json["sqnr_db"] = {{"before", optional_number(report.sqnr_db_before)}, {"after", optional_number(report.sqnr_db_after)}};
  json["float16"] = report.halves ? to_json(*report.halves) : Json();
  json["consequences"] = to_json_list(report.consequences);
  json["guesses"] = Json::array();
  for (const Guess& guess : report.guesses) json["guesses"].push_back({{"rule", guess.rule}, {"source", guess.source}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace lastbit
