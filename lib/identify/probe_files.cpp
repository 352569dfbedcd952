// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// design_probe, and a probe as files.
#include <cmath>
#include <fstream>

#include "identify/other_search.hpp"
#include "identify/probe.hpp"
#include "io/json_model.hpp"
#include "lastbit/error.hpp"
#include "lastbit/io/npy.hpp"
#include "lastbit/io/tflite.hpp"

namespace lastbit {
namespace {

namespace fs = std::filesystem;

std::vector<const IdentifyPair*> alike(std::span<const IdentifyPair> pairs) {
  std::vector<const IdentifyPair*> list;
  for (const IdentifyPair& pair : pairs) {
    if (!reason_to_skip(pair).empty() || !is_conv_layer(pair.layer.operations[0].kind)) continue;
    const auto type_of = [](const IdentifyPair& one) { return one.layer.tensor(one.layer.operations[0].inputs[0]).type; };
    const bool same = list.empty() ||
                      (pair.layer.operations[0].kind == list.front()->layer.operations[0].kind && type_of(pair) == type_of(*list.front()));
    if (same) list.push_back(&pair);
  }
  if (list.empty()) throw Error(ErrorCode::bad_input, "probe", "no convolution-like layer among the pairs");
  return list;
}

SpaceScope joined(const std::vector<const IdentifyPair*>& pairs) {
  SpaceScope scope = scope_of(*pairs.front());
  for (const IdentifyPair* pair : pairs) {
    const SpaceScope own = scope_of(*pair);
    scope.per_channel = scope.per_channel || own.per_channel;
    scope.clips = scope.clips || own.clips;
    scope.rectifies = scope.rectifies || own.rectifies;
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

/// `lastbit.layer.v1` beside its arrays.
OrderedJson layer_json(const Model& model) {
  static constexpr const char* roles[] = {"input", "weights", "bias", "multiplier"};
  const Operation& operation = model.operations[0];
  OrderedJson json{{"format", "lastbit.layer.v1"}, {"op", name_of(operation.kind)}};
  for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i] == absent_tensor) continue;
    const OrderedJson one = operand(model.tensor(operation.inputs[i]), std::string(roles[i]) + ".npy");
    if (i == 0) json["inputs"] = OrderedJson::array({one});
    else json[roles[i]] = one;
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

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream file(path);
  file << text;
  if (!file) throw Error(ErrorCode::unreadable_file, path.string(), "cannot be written");
}

/// What a tflite file cannot hold is left to the other files.
std::string write_model(const fs::path& path, const Model& model) {
  try {
    write_tflite(model, path);
  } catch (const Error& error) {
    return std::string("There is no probe.tflite: ") + error.what() + ".\n";
  }
  return "probe.tflite is the layer as a model that a board's compiler takes.\n";
}

}  // namespace

std::optional<Probe> design_probe(std::span<const IdentifyPair> pairs, const ProbeOptions& options) {
  const std::vector<const IdentifyPair*> used = alike(pairs);
  std::vector<ConvData> data;
  for (const IdentifyPair* pair : used) data.emplace_back(*pair);
  const ConvSpace space = conv_space(joined(used));
  const std::vector<Block> left = ConvSearch(space, data).search({everything(space)}, 1).classes.front().blocks;
  auto designed = options.weights == ProbeWeights::free ? design_free_probe(space, left, used.front()->layer, options)
                                                        : design_input_probe(space, left, *used.front(), options);
  if (!designed) return std::nullopt;
  return Probe{std::move(designed->pair.layer),
               std::move(designed->pair.inputs),
               count_of(left),
               static_cast<std::int64_t>(designed->considered),
               designed->outcomes,
               designed->bits};
}

void write_probe(const fs::path& folder, const Probe& probe) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error(ErrorCode::unreadable_file, folder.string(), error.message());
  const Operation& operation = probe.layer.operations[0];
  static constexpr const char* roles[] = {"", "weights", "bias", "multiplier"};
  write_npy(folder / "input.npy", probe.inputs.at(0));
  for (std::size_t i = 1; i < operation.inputs.size(); ++i) {
    if (operation.inputs[i] != absent_tensor)
      write_npy(folder / (std::string(roles[i]) + ".npy"), *probe.layer.tensor(operation.inputs[i]).constant);
  }
  write_text(folder / "probe.json", layer_json(probe.layer).dump(2) + "\n");
  const std::string model = write_model(folder / "probe.tflite", probe.layer);
  write_text(folder / "README.txt",
             "A layer on which the combinations of rules that are left differ: " + std::to_string(probe.outcomes) +
                 " different outputs among " + std::to_string(probe.considered) +
                 " of them.\nRun it on the device with input.npy, keep its integer output as answer.npy, and add to the "
                 "command:\n  --layer probe.json --input input.npy --output answer.npy\n" +
                 model);
}

}  // namespace lastbit
