// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/replay/layer_index.hpp"
#include "compare/report_fields.hpp"
#include "compare/report_json.hpp"
#include "compare/runs.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/replay.hpp"

namespace lastbit {
namespace {

/// null: nothing was compared; own: null where the layer could not be fed.
JsonValue both_differences(const LayerDifference* layer) {
  if (layer == nullptr) return nullptr;
  JsonValue json{{"own", layer->same_input ? json_of(*layer->same_input) : JsonValue()}, {"accumulated", json_of(layer->accumulated)}};
  if (layer->samples) json["first_samples_compared"] = *layer->samples;
  return json;
}

JsonValue place_of_layer(const LayerDifference* layer) {
  if (layer == nullptr) return nullptr;
  return {{"number", layer->number ? JsonValue(*layer->number) : JsonValue()}, {"tensor", layer->tensor}, {"name", layer->name}};
}

JsonValue json_of(const ReplayLayer& layer, const LayerDifference* loss, const LayerDifference* deviation) {
  JsonValue json{{"number", layer.number ? JsonValue(*layer.number) : JsonValue()},
                 {"tensor", layer.tensor},
                 {"name", layer.name},
                 {"operation", layer.operation},
                 {"matched_by", name_of(layer.match)},
                 {"float_tensor", layer.match == MatchedBy::nothing ? JsonValue() : JsonValue(layer.counterpart)}};
  json["loss"] = both_differences(loss);
  json["deviation"] = both_differences(deviation);
  json["assumptions"] = deviation != nullptr ? json_of(deviation->assumptions) : JsonValue::array();
  return json;
}

}  // namespace

std::string to_json(const ReplayReport& report) {
  const CompareReport& board = report.deviation;
  JsonValue json{{"format", "lastbit.replay.v1"},
                 {"model", report.model},
                 {"float_network", report.float_network.empty() ? JsonValue() : JsonValue(report.float_network)},
                 {"float_backend", golden_sheet().name},
                 {"backend", board.b},
                 {"board", report.board},
                 {"path", board.path},
                 {"equal", report.equal()},
                 {"compared", report.compared()},
                 {"fed", report.fed()}};
  json["not_emulated"] = board.not_emulated;
  if (!board.elsewhere.empty()) json["elsewhere"] = board.elsewhere;
  json["most_lost"] = place_of_layer(report.most_lost());
  json["first_deviation"] = place_of_layer(report.first_deviation());
  json["cause"] = report.cause ? JsonValue::parse(to_json(*report.cause)) : JsonValue();
  json["no_cause"] = report.no_cause;
  json["layers"] = JsonValue::array();
  const LayerIndex loss(report.loss), deviation(board);
  for (const ReplayLayer& layer : report.layers)
    json["layers"].push_back(json_of(layer, loss.of(layer.tensor), deviation.of(layer.tensor)));
  json["outputs"] = {{"float", json_of(report.loss.outputs)}, {"board", json_of(board.outputs)}};
  json["assumptions"] = json_of(board.assumptions);
  if (board.match) json["match"] = json_of(*board.match);
  json["misread"] = board.misread;
  json["suspected"] = board.suspected;
  return json.text(1) + "\n";
}

std::string to_csv(const ReplayReport& report) {
  std::string text = "float_tensor,matched_by," + csv_header();
  const LayerIndex loss(report.loss), deviation(report.deviation);
  for (const ReplayLayer& layer : report.layers) {
    const std::string match = csv_cell(layer.counterpart) + "," + std::string(name_of(layer.match)) + ",";
    const auto add = [&](const LayerDifference* difference, const std::string& kind) {
      if (difference == nullptr) return;
      text += match + csv_line(*difference, kind, difference->accumulated);
      if (difference->same_input) text += match + csv_line(*difference, kind + "_own", *difference->same_input);
    };
    add(loss.of(layer.tensor), "loss");
    add(deviation.of(layer.tensor), "deviation");
  }
  return text;
}

}  // namespace lastbit
