// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// design_probe, and a probe as files.
#include <algorithm>
#include <cmath>

#include "analysis/identify/neighbours.hpp"
#include "analysis/identify/probe.hpp"
#include "analysis/identify/rule_search.hpp"
#include "analysis/identify/samples.hpp"
#include "analysis/identify/walk_probe.hpp"
#include "analysis/identify/walk_proof.hpp"
#include "formats/json_model.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/output.hpp"
#include "lastbit/io/tflite.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

/// Of the first layer's kind and type; of convolution-like layers, where there are any. No probe is made of codes in blocks.
std::vector<const FewValues*> alike(const std::deque<FewValues>& few) {
  std::vector<const FewValues*> list;
  const auto is_conv = [](const FewValues& each) {
    return reason_to_skip(each.pair).empty() && is_conv_layer(each.pair.layer.operations[0].kind);
  };
  const bool convs = std::ranges::any_of(few, is_conv);
  for (const FewValues& each : few) {
    const IdentifyPair& pair = each.pair;
    if (!reason_to_skip(pair).empty() || is_conv(each) != convs || is_of_blocks(pair.layer.operations[0].kind)) continue;
    const auto type_of = [](const IdentifyPair& one) { return one.layer.tensor(one.layer.operations[0].inputs[0]).type; };
    const bool same = list.empty() || (pair.layer.operations[0].kind == list.front()->pair.layer.operations[0].kind &&
                                       type_of(pair) == type_of(list.front()->pair));
    if (same) list.push_back(&each);
  }
  if (list.empty()) throw Error(ErrorCode::bad_input, "probe", "no pair can be used");
  return list;
}

SpaceScope joined(const std::vector<const IdentifyPair*>& pairs) {
  SpaceScope scope = scope_of(*pairs.front());
  for (const IdentifyPair* pair : pairs) {
    const SpaceScope own = scope_of(*pair);
    scope.per_channel = scope.per_channel || own.per_channel;
    scope.clips = scope.clips || own.clips;
    scope.rectifies = scope.rectifies || own.rectifies;
    scope.multiplies = scope.multiplies || own.multiplies;
    scope.converts = scope.converts || own.converts;
  }
  return scope;
}

OrderedJson operand(const ModelTensor& tensor, const std::string& file) {
  OrderedJson json{{"file", file}, {"type", name_of(tensor.type)}};
  const Quantization& quantization = tensor.quantization;
  if (!quantization.present()) return json;
  if (quantization.per_channel()) json["scale"] = quantization.scales;
  else json["scale"] = quantization.scale();
  if (quantization.zero_point() != 0) json["zero_point"] = quantization.zero_point();
  return json;
}

/// What an operand is called: by its role, else by its place.
std::string part_of(const Model& model, std::size_t position) {
  static constexpr const char* roles[] = {"input", "weights", "bias", "multiplier"};
  const Operation& operation = model.operations[0];
  if (position == 0 || is_conv_layer(operation.kind)) return roles[position];
  return (model.tensor(operation.inputs[position]).constant ? "constant_" : "input_") + std::to_string(position + 1);
}

/// `lastbit.layer.v1` beside its arrays, whose names begin with `stem`.
OrderedJson layer_json(const Model& model, const std::string& stem) {
  const Operation& operation = model.operations[0];
  OrderedJson json{{"format", "lastbit.layer.v1"}, {"op", name_of(operation.kind)}};
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i] == absent_tensor) continue;
    const OrderedJson one = operand(model.tensor(operation.inputs[i]), stem + "_" + part_of(model, i) + ".npy");
    if (!model.tensor(operation.inputs[i]).constant) json["inputs"].push_back(one);
    else if (is_conv_layer(operation.kind)) json[part_of(model, i)] = one;
    else json["constants"].push_back(one);
  }
  const ModelTensor& output = model.tensor(operation.outputs[0]);
  json["output"] = {{"type", name_of(output.type)}};
  if (output.quantization.present()) {
    json["output"]["scale"] = output.quantization.scale();
    json["output"]["zero_point"] = output.quantization.zero_point();
  }
  const OrderedJson attributes = attributes_to_json(operation.kind, operation.attributes);
  if (!attributes.empty()) json["attributes"] = attributes;
  return json;
}

void write_layer(const fs::path& folder, const std::string& stem, const ProbeLayer& probe, std::string& notes) {
  const Operation& operation = probe.layer.operations[0];
  auto given = probe.inputs.begin();
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i] == absent_tensor) continue;
    const auto& constant = probe.layer.tensor(operation.inputs[i]).constant;
    write_npy(folder / (stem + "_" + part_of(probe.layer, i) + ".npy"), constant ? *constant : *given++);
  }
  write_text_file(folder / (stem + ".json"), layer_json(probe.layer, stem).dump(2) + "\n");
  try {
    write_tflite(probe.layer, folder / (stem + ".tflite"));
  } catch (const Error& error) {  // what such a file cannot hold is left to the other files
    notes += "There is no " + stem + ".tflite: " + error.what() + "\n";
  }
}

}  // namespace

namespace {

Probe probe_of(DesignedProbe designed, std::int64_t combinations) {
  Probe probe{{}, combinations, static_cast<std::int64_t>(designed.considered), designed.outcomes, designed.bits};
  for (IdentifyPair& pair : designed.layers) probe.layers.push_back({std::move(pair.layer), std::move(pair.inputs)});
  return probe;
}

constexpr std::size_t most_devices = 200;  ///< of a walk

/// Of the devices that are left, those that a probe is designed on: of the layer as it is one of each that are proven to be different on it. None: they are one.
std::vector<Backend> telling_devices(const DevicesLeft& left, const IdentifyPair& like, const ProbeOptions& options) {
  if (options.weights == ProbeWeights::free) return left.some;
  const IdentifyPair* const layers[]{&like};
  const PartedDevices parts = parted(left.all, layers);
  if (parts.is_one()) return {};
  if (parts.parts.size() < 2) return left.some;
  std::vector<Backend> some;
  for (const auto& part : parts.parts)
    if (some.size() < most_devices) some.push_back(left.all.at(part.front()));
  return some;
}

}  // namespace

std::optional<Probe> design_probe(std::span<const IdentifyPair> pairs, const ProbeOptions& options) {
  std::vector<const IdentifyPair*> whole, used;
  for (const IdentifyPair& pair : pairs) whole.push_back(&pair);
  const FewSamples few(whole, FewBy::some_outputs);
  const std::vector<const FewValues*> alike_ones = alike(few.all());
  for (const FewValues* each : alike_ones) used.push_back(&each->pair);
  if (!is_conv_layer(used.front()->layer.operations[0].kind)) {
    const DevicesLeft left = devices_left(used, most_devices);
    const std::vector<Backend> devices = telling_devices(left, *used.front(), options);
    if (devices.empty()) return std::nullopt;
    auto designed = design_walk_probe(devices, *used.front(), options);
    if (!designed) return std::nullopt;
    return probe_of(std::move(*designed), static_cast<std::int64_t>(left.all.count));
  }
  std::vector<ConvData> data;
  for (const FewValues* each : alike_ones) data.emplace_back(each->pair, each->outputs);
  const SpaceScope scope = joined(used);
  ConvSpace space = conv_space(scope);
  extend(space, explaining_neighbours(used.front()->layer, scope, data), scope);
  const std::vector<Block> left = ConvSearch(space, data).search({everything(space)}, 1).classes.front().blocks;
  auto designed = options.weights == ProbeWeights::free ? design_free_probe(space, left, used.front()->layer, options)
                                                        : design_input_probe(space, left, *used.front(), options);
  if (!designed) return std::nullopt;
  return probe_of(std::move(*designed), count_of(left));
}

void write_probe(const fs::path& folder, const Probe& probe) {
  create_folder(folder);
  std::string notes, arguments;
  for (std::size_t i = 0; i < probe.layers.size(); ++i) {
    const std::string stem = "probe_" + std::to_string(i + 1);
    write_layer(folder, stem, probe.layers[i], notes);
    arguments += " --layer-file " + stem + ".json --dump " + stem + "_answer.npy";
  }
  write_text_file(
      folder / "README.txt",
      "On these layers the combinations of rules that are left differ: " + std::to_string(probe.outcomes) + " outcomes among " +
          std::to_string(probe.considered) +
          " of them.\nprobe_N.tflite is a layer as a model that a board's compiler takes, probe_N.json the same for lastbit. Run each on "
          "the device with probe_N_input.npy (and probe_N_input_2.npy, where a layer has more inputs), keep its integer output as "
          "probe_N_answer.npy, and add to the command:\n " +
          arguments + "\n" + notes);
}

}  // namespace lastbit
