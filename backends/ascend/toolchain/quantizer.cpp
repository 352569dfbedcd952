// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "float16": what Huawei's converter does with a float network: constants and data become float16, but for the operations of a keep list
// (ATC's precision_mode allow_mix_precision with a list, or --keep_dtype), which stay float32 between casts.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "lastbit/error.hpp"
#include "lastbit/float16_network.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {
namespace {

std::string names_of(const Model& model, const OperationSet& set) {
  std::string names;
  for (std::size_t i = 0; i < set.size(); ++i) {
    if (set[i]) names += (names.empty() ? "" : ", ") + model.operations[i].name;
  }
  return names;
}

/// Names separated by commas; where a name holds a comma itself, the longest name that fits counts.
OperationSet named_operations(const Model& model, std::string_view list) {
  OperationSet set(model.operations.size());
  while (!list.empty()) {
    std::size_t longest = 0, position = 0;
    for (std::size_t i = 0; i < set.size(); ++i) {
      const std::string& name = model.operations[i].name;
      const bool fits = list.starts_with(name) && (list.size() == name.size() || list[name.size()] == ',');
      if (!fits || name.size() < longest) continue;
      longest = name.size();
      position = i;
    }
    if (longest == 0) {
      throw Error(ErrorCode::bad_input, "option keep",
                  "no operation is named '" + std::string(list.substr(0, std::min(list.find(','), std::size_t{100}))) + "'");
    }
    set[position] = true;
    list.remove_prefix(std::min(longest + 1, list.size()));
  }
  return set;
}

std::string headroom_note(const ModelTensor& tensor, const TensorStatistics& statistics) {
  char text[64];
  std::snprintf(text, sizeof text, "%+.2f bits (largest magnitude %.6g)", float16_headroom(statistics.largest_magnitude()),
                statistics.largest_magnitude());
  return "headroom of '" + tensor.name + "' in float16: " + text;
}

/// Of every tensor that is computed or given, and of constants that leave float16.
void add_headroom(const QuantizationRequest& request, std::vector<std::string>& notes) {
  for (std::size_t t = 0; t < request.model.tensors.size(); ++t) {
    const ModelTensor& tensor = request.model.tensors[t];
    const TensorStatistics& statistics = request.calibration.tensors[t];
    if (statistics.values == 0 || statistics.largest_magnitude() == 0) continue;
    if (!tensor.constant || float16_headroom(statistics.largest_magnitude()) < 0) notes.push_back(headroom_note(tensor, statistics));
  }
}

QuantizedNetwork to_float16(const QuantizationRequest& request) {
  const Model& model = request.model;
  const std::string& keep = request.option("keep");
  const OperationSet missing = without_float16(model, request.backend);
  OperationSet kept = missing;
  if (keep == "auto") {
    kept = smallest_float32_set(model, request.backend, request.calibration, request.samples);
  } else if (keep != "none") {
    const OperationSet named = named_operations(model, keep);
    for (std::size_t i = 0; i < kept.size(); ++i) kept[i] = kept[i] || named[i];
  }
  QuantizedNetwork network{float16_network(model, kept, request.backend.float16.conversion), {}};
  const std::string names = names_of(model, kept), without = names_of(model, missing);
  network.notes.push_back(names.empty() ? "every operation runs in float16" : "kept in float32: " + names);
  if (!without.empty()) network.notes.push_back("the backend's float16 rules do not cover: " + without);
  if (const auto leaving = first_leaving_float16(model, request.calibration)) {
    const std::string where = leaving->operation ? "operation '" + model.operations[*leaving->operation].name + "'" : "an input";
    network.notes.push_back("the first values to leave float16: tensor '" + model.tensor(leaving->tensor).name + "' of " + where);
  }
  add_headroom(request, network.notes);
  return network;
}

}  // namespace

Quantizer float16_quantizer() {
  return {
      .name = "float16",
      .title = "Huawei Ascend: constants and data as float16, chosen operations in float32 between casts",
      .options = {{"keep",
                   "none",
                   {},
                   "operations to keep in float32: their names, separated by commas; none; or auto, the smallest set that leaves no value "
                   "beyond float16 on the samples"}},
      .quantize = to_float16};
}

}  // namespace lastbit
