// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "lastbit/float16_network.hpp"
#include "lastbit/json_value.hpp"
#include "lastbit/prove.hpp"
#include "model/wide_digits.hpp"

namespace lastbit {
namespace {

/// A number, or its digits where a number of JSON readers may not hold it.
JsonValue number(Int128 value) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (value > exact || value < -exact) return digits_of(value);
  return static_cast<std::int64_t>(value);
}

JsonValue range(const SumRange& sums) { return {{"lower", number(sums.lower)}, {"upper", number(sums.upper)}}; }

JsonValue real(double value) { return std::isfinite(value) ? JsonValue(value) : JsonValue(value > 0 ? "inf" : value < 0 ? "-inf" : "nan"); }
JsonValue real(const std::optional<double>& value) { return value ? real(*value) : JsonValue(); }

std::string name_of(Overflow overflow) {
  return overflow == Overflow::wrap ? "wrap" : overflow == Overflow::saturate ? "saturate" : "exact";
}
std::string name_of(NarrowingPoint when) {
  return when == NarrowingPoint::every_add ? "every_add" : when == NarrowingPoint::every_tile ? "every_tile" : "at_end";
}

JsonValue channels_of(const LayerProof& layer) {
  JsonValue all = JsonValue::array();
  for (std::size_t i = 0; i < layer.channels.size(); ++i) {
    const ChannelProof& channel = layer.channels[i];
    JsonValue json{{"channel", i}};
    json.update(range(channel.sums));
    json.update({{"lower_steps", channel.lower_steps},
                 {"upper_steps", channel.upper_steps},
                 {"bits", channel.bits()},
                 {"margin", margin_in_bits(channel.sums, layer.rule.bits)}});
    all.push_back(std::move(json));
  }
  return all;
}

JsonValue tiles_of(const LayerProof& layer) {
  JsonValue all = JsonValue::array();
  for (const TileProof& tile : layer.tiles) {
    JsonValue json{{"steps", tile.steps}};
    json.update(range(tile.sums));
    json.update({{"channel", tile.channel}, {"margin", margin_in_bits(tile.sums, layer.rule.bits)}});
    all.push_back(std::move(json));
  }
  return all;
}

JsonValue example_of(const std::optional<OverflowExample>& example) {
  if (!example) return {};
  return {{"index", example->index},          {"channel", example->channel},     {"step", example->step},
          {"terms", example->terms},          {"sum", number(example->sum)},     {"in_partial_sum", example->in_partial_sum},
          {"inputs", example->inputs.size()}, {"overflows", example->overflows}, {"counted", example->counted}};
}

JsonValue data_of(const std::optional<OverflowCount>& count) {
  if (!count) return {};
  JsonValue json{{"sums", count->sums}, {"overflowing", count->overflowing}, {"events", count->events}, {"first", nullptr}};
  if (count->first) {
    json["first"] = {{"sample", count->first->sample},
                     {"index", count->first->index},
                     {"step", count->first->step},
                     {"terms", count->first->terms},
                     {"sum", number(count->first->sum)}};
  }
  return json;
}

JsonValue json_of(const LayerProof& layer) {
  JsonValue json{{"number", layer.operation},
                 {"name", layer.name},
                 {"operation", layer.kind},
                 {"part", layer.part},
                 {"width", layer.has_width ? JsonValue(layer.rule.bits) : JsonValue()},
                 {"overflow", name_of(layer.rule.overflow)},
                 {"when", name_of(layer.rule.when)},
                 {"input_min", layer.inputs.min},
                 {"input_max", layer.inputs.max},
                 {"terms", layer.terms}};
  json.update(range(layer.sums()));
  json.update({{"bits", layer.bits()},
               {"margin", layer.has_width ? JsonValue(layer.margin()) : JsonValue()},
               {"safe", layer.safe()},
               {"worst_channel", layer.worst},
               {"unsafe_channels", layer.unsafe_channels()},
               {"partial_sums", layer.partial ? range(*layer.partial) : JsonValue()},
               {"channels", channels_of(layer)},
               {"tiles", tiles_of(layer)},
               {"example", example_of(layer.example)},
               {"on_data", data_of(layer.on_data)}});
  return json;
}

JsonValue json_of(const StageProof& stage) {
  JsonValue json{{"number", stage.operation},
                 {"name", stage.name},
                 {"operation", stage.kind},
                 {"part", stage.part},
                 {"stage", stage.stage},
                 {"bits", stage.bits},
                 {"wraps", stage.wraps},
                 {"values", range(stage.values)},
                 {"channel", stage.channel},
                 {"channels", stage.channels},
                 {"entering", number(stage.entering)},
                 {"value", number(stage.value)},
                 {"narrowed", number(stage.narrowed)},
                 {"inputs", stage.inputs.size()},
                 {"counted", stage.counted}};
  json["on_data"] = stage.on_data ? JsonValue(*stage.on_data) : JsonValue();
  return json;
}

JsonValue json_of(const Float16Proof& proof) {
  JsonValue json{{"tensors", JsonValue::array()}, {"first_on_data", nullptr},     {"first_by_bound", nullptr}, {"keep", proof.keep},
                 {"missing", proof.missing},      {"rescale", JsonValue::array()}};
  for (const Float16Tensor& tensor : proof.tensors) {
    json["tensors"].push_back({{"name", tensor.name},
                               {"operation", tensor.operation},
                               {"kind", tensor.kind},
                               {"largest_on_data", real(tensor.largest_on_data)},
                               {"headroom", real(float16_headroom(tensor.largest_on_data))},
                               {"bound", real(tensor.bound)},
                               {"inside", real(tensor.inside)}});
  }
  if (proof.first_on_data) json["first_on_data"] = proof.tensors[*proof.first_on_data].name;
  if (proof.first_by_bound) json["first_by_bound"] = proof.tensors[*proof.first_by_bound].name;
  for (const Float16Proof::Rescale& pair : proof.rescale)
    json["rescale"].push_back({{"tensors", pair.tensors}, {"before", pair.before}, {"behind", pair.behind}, {"bits", pair.bits}});
  json["unscalable"] = proof.unscalable;
  json["left_after_rescaling"] = proof.left_after_rescaling;
  return json;
}

}  // namespace

std::string to_json(const ProveReport& report) {
  JsonValue json{{"model", report.model},
                 {"backend", report.backend},
                 {"input_range", report.range == InputRange::type ? "type" : "data"},
                 {"samples", report.samples},
                 {"bits", report.bits ? JsonValue(*report.bits) : JsonValue()},
                 {"safe", report.holds(AssumptionsAre::named)},
                 {"layers", JsonValue::array()},
                 {"without_sums", report.without_sums},
                 {"behind", JsonValue::array()},
                 {"not_followed", JsonValue::array()},
                 {"float16", report.float16 ? json_of(*report.float16) : JsonValue()},
                 {"assumptions", JsonValue::array()}};
  for (const LayerProof& layer : report.layers) json["layers"].push_back(json_of(layer));
  for (const StageProof& stage : report.behind) json["behind"].push_back(json_of(stage));
  for (const std::size_t index : report.not_followed) json["not_followed"].push_back(index);
  for (const Assumption& assumption : report.assumptions)
    json["assumptions"].push_back({{"rule", assumption.rule}, {"source", assumption.source}});
  return json.text(2) + "\n";
}

}  // namespace lastbit
