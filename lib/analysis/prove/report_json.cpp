// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <nlohmann/json.hpp>

#include "lastbit/float16_network.hpp"
#include "lastbit/prove.hpp"
#include "model/wide_digits.hpp"

namespace lastbit {
namespace {

using Json = nlohmann::ordered_json;

/// A number, or its digits where a number of JSON readers may not hold it.
Json number(Int128 value) {
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (value > exact || value < -exact) return digits_of(value);
  return static_cast<std::int64_t>(value);
}

Json range(const SumRange& sums) { return {{"lower", number(sums.lower)}, {"upper", number(sums.upper)}}; }

Json real(double value) { return std::isfinite(value) ? Json(value) : Json(value > 0 ? "inf" : value < 0 ? "-inf" : "nan"); }
Json real(const std::optional<double>& value) { return value ? real(*value) : Json(); }

std::string name_of(Overflow overflow) {
  return overflow == Overflow::wrap ? "wrap" : overflow == Overflow::saturate ? "saturate" : "exact";
}
std::string name_of(NarrowingPoint when) {
  return when == NarrowingPoint::every_add ? "every_add" : when == NarrowingPoint::every_tile ? "every_tile" : "at_end";
}

Json channels_of(const LayerProof& layer) {
  Json all = Json::array();
  for (std::size_t i = 0; i < layer.channels.size(); ++i) {
    const ChannelProof& channel = layer.channels[i];
    Json json{{"channel", i}};
    json.update(range(channel.sums));
    json.update({{"lower_steps", channel.lower_steps},
                 {"upper_steps", channel.upper_steps},
                 {"bits", channel.bits()},
                 {"margin", margin_in_bits(channel.sums, layer.rule.bits)}});
    all.push_back(std::move(json));
  }
  return all;
}

Json tiles_of(const LayerProof& layer) {
  Json all = Json::array();
  for (const TileProof& tile : layer.tiles) {
    Json json{{"steps", tile.steps}};
    json.update(range(tile.sums));
    json.update({{"channel", tile.channel}, {"margin", margin_in_bits(tile.sums, layer.rule.bits)}});
    all.push_back(std::move(json));
  }
  return all;
}

Json example_of(const std::optional<OverflowExample>& example) {
  if (!example) return {};
  return {{"index", example->index},          {"channel", example->channel},     {"step", example->step},
          {"terms", example->terms},          {"sum", number(example->sum)},     {"in_partial_sum", example->in_partial_sum},
          {"inputs", example->inputs.size()}, {"overflows", example->overflows}, {"counted", example->counted}};
}

Json data_of(const std::optional<OverflowCount>& count) {
  if (!count) return {};
  Json json{{"sums", count->sums}, {"overflowing", count->overflowing}, {"events", count->events}, {"first", nullptr}};
  if (count->first) {
    json["first"] = {{"sample", count->first->sample},
                     {"index", count->first->index},
                     {"step", count->first->step},
                     {"terms", count->first->terms},
                     {"sum", number(count->first->sum)}};
  }
  return json;
}

Json json_of(const LayerProof& layer) {
  Json json{{"number", layer.operation},
            {"name", layer.name},
            {"operation", layer.kind},
            {"part", layer.part},
            {"width", layer.has_width ? Json(layer.rule.bits) : Json()},
            {"overflow", name_of(layer.rule.overflow)},
            {"when", name_of(layer.rule.when)},
            {"input_min", layer.inputs.min},
            {"input_max", layer.inputs.max},
            {"terms", layer.terms}};
  json.update(range(layer.sums()));
  json.update({{"bits", layer.bits()},
               {"margin", layer.has_width ? Json(layer.margin()) : Json()},
               {"safe", layer.safe()},
               {"worst_channel", layer.worst},
               {"unsafe_channels", layer.unsafe_channels()},
               {"partial_sums", layer.partial ? range(*layer.partial) : Json()},
               {"channels", channels_of(layer)},
               {"tiles", tiles_of(layer)},
               {"example", example_of(layer.example)},
               {"on_data", data_of(layer.on_data)}});
  return json;
}

Json json_of(const Float16Proof& proof) {
  Json json{{"tensors", Json::array()}, {"first_on_data", nullptr}, {"first_by_bound", nullptr},
            {"keep", proof.keep},       {"missing", proof.missing}, {"rescale", Json::array()}};
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
  Json json{{"model", report.model},
            {"backend", report.backend},
            {"input_range", report.range == InputRange::type ? "type" : "data"},
            {"samples", report.samples},
            {"bits", report.bits ? Json(*report.bits) : Json()},
            {"safe", report.safe()},
            {"layers", Json::array()},
            {"without_sums", report.without_sums},
            {"float16", report.float16 ? json_of(*report.float16) : Json()},
            {"guesses", Json::array()}};
  for (const LayerProof& layer : report.layers) json["layers"].push_back(json_of(layer));
  for (const Guess& guess : report.guesses) json["guesses"].push_back({{"rule", guess.rule}, {"source", guess.source}});
  return json.dump(2) + "\n";
}

}  // namespace lastbit
