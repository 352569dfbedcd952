// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/float16_network.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/float16/prepare.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"

namespace lastbit {
namespace {

bool leaves(const TensorStatistics& statistics) { return statistics.largest_magnitude() >= first_beyond_float16; }

Tensor as_float16(const Tensor& real, const Float16Rules& rules) {
  Tensor half(ElementType::float16, real.shape());
  std::ranges::transform(real.values<float>(), half.values<Float16>().begin(), [&](float value) { return to_float16(value, rules); });
  return half;
}

/// Builds the model operation by operation, with a cast in front of each reader that needs the other type.
class Converter {
 public:
  Converter(const Model& real, const OperationSet& kept, const Float16Rules& conversion)
      : real_(real), kept_(kept), conversion_(conversion), casts_(real.tensors.size()), readers_(real.tensors.size()) {
    builder_.model = real;
    builder_.model.operations.clear();
    for (const std::int32_t output : real.outputs) ++readers_[static_cast<std::size_t>(output)];
    for (const Operation& operation : real.operations) {
      for (const std::int32_t input : operation.inputs) {
        if (input != absent_tensor) ++readers_[static_cast<std::size_t>(input)];
      }
    }
  }

  Model convert() {
    for (std::size_t i = 0; i < real_.operations.size(); ++i)
      add(real_.operations[i], kept_[i] ? ElementType::float32 : ElementType::float16);
    return std::move(builder_.model);
  }

 private:
  void add(Operation operation, ElementType type) {
    for (std::int32_t& input : operation.inputs) {
      if (input != absent_tensor) input = in_type(input, type);
    }
    for (const std::int32_t output : operation.outputs) builder_.model.tensors[static_cast<std::size_t>(output)].type = type;
    builder_.model.operations.push_back(std::move(operation));
  }

  std::int32_t in_type(std::int32_t index, ElementType type) {
    ModelTensor& tensor = builder_.model.tensors[static_cast<std::size_t>(index)];
    if (tensor.type == type) return index;
    if (tensor.constant && readers_[static_cast<std::size_t>(index)] == 1) {
      tensor.constant = as_float16(*tensor.constant, conversion_);
      tensor.type = type;
      return index;
    }
    std::int32_t& cast = casts_[static_cast<std::size_t>(index)];
    if (cast == absent_place) cast = cast_of(index, type);
    return cast;
  }

  std::int32_t cast_of(std::int32_t index, ElementType type) {
    const ModelTensor& own = builder_.model.tensor(index);
    std::string name = own.name + " (" + std::string(name_of(type)) + ")", cast = "cast of " + own.name;
    while (builder_.model.find_tensor(name)) name += "'";
    const std::int32_t place = builder_.tensor({std::move(name), type, own.shape, own.quantization});
    builder_.operation(OperationKind::cast, std::move(cast), {index}, {place});
    return place;
  }

  static constexpr std::int32_t absent_place = 0;  // no cast is tensor 0, which the real model has
  const Model& real_;
  const OperationSet& kept_;
  Float16Rules conversion_;
  ModelBuilder builder_;
  std::vector<std::int32_t> casts_;  ///< by tensor: its copy of the other type
  std::vector<int> readers_;         ///< by tensor; a constant with one takes its type
};

/// The position in the real model of the operation of this name, or nothing for a cast.
std::optional<std::size_t> position_of(const Model& real, const Operation& operation) {
  if (operation.kind == OperationKind::cast) return std::nullopt;
  for (std::size_t i = 0; i < real.operations.size(); ++i) {
    if (real.operations[i].outputs == operation.outputs) return i;
  }
  return std::nullopt;
}

/// Marks the operations in which values leave float16 when the device runs the model; a cast speaks for those that read its result.
bool mark_leaving(const Model& real, const Model& device, const std::vector<Events>& events, OperationSet& kept) {
  bool changed = false;
  const auto mark = [&](const Operation& operation) {
    const auto position = position_of(real, operation);
    if (!position || kept[*position]) return;
    kept[*position] = changed = true;
  };
  for (std::size_t i = 0; i < device.operations.size(); ++i) {
    if (events[i].saturated_outputs == 0) continue;
    const Operation& operation = device.operations[i];
    mark(operation);
    if (operation.kind != OperationKind::cast) continue;
    for (const Operation& reader : device.operations) {
      if (std::ranges::find(reader.inputs, operation.outputs[0]) != reader.inputs.end()) mark(reader);
    }
  }
  return changed;
}

bool has_float16(const Operation& operation, const Backend& backend) {
  if (is_movement(operation.kind)) return true;
  return has_float16_arithmetic(operation.kind) && backend.float16.method != Float16Method::absent;
}

}  // namespace

double float16_headroom(double largest_magnitude) {
  return largest_magnitude == 0 ? std::numeric_limits<double>::infinity() : std::log2(largest_float16 / largest_magnitude);
}

std::optional<LeavingTensor> first_leaving_float16(const Model& model, const Calibration& calibration) {
  const auto leaving = [&](std::int32_t tensor) {
    return tensor != absent_tensor && leaves(calibration.tensors[static_cast<std::size_t>(tensor)]);
  };
  for (const std::int32_t input : model.inputs) {
    if (leaving(input)) return LeavingTensor{input};
  }
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    for (const auto* list : {&model.operations[i].inputs, &model.operations[i].outputs}) {
      const auto found = std::ranges::find_if(*list, leaving);
      if (found != list->end()) return LeavingTensor{*found, i};
    }
  }
  return std::nullopt;
}

Model float16_network(const Model& model, const OperationSet& kept, const Float16Rules& conversion) {
  return Converter(model, kept, conversion).convert();
}

OperationSet without_float16(const Model& model, const Device& device) {
  const Backend& backend = device.backend;
  OperationSet missing(model.operations.size());
  for (std::size_t i = 0; i < missing.size(); ++i) missing[i] = !has_float16(model.operations[i], backend);
  return missing;
}

OperationSet smallest_float32_set(const Model& model, const Device& device, const Calibration& calibration,
                                  std::span<const std::vector<Tensor>> samples) {
  const Backend& backend = device.backend;
  OperationSet kept = without_float16(model, backend);
  for (std::size_t i = 0; i < kept.size(); ++i) {
    for (const auto* list : {&model.operations[i].inputs, &model.operations[i].outputs}) {
      for (const std::int32_t tensor : *list) {
        if (tensor != absent_tensor && leaves(calibration.tensors[static_cast<std::size_t>(tensor)])) kept[i] = true;
      }
    }
  }
  for (bool changed = true; changed;) {
    const Model converted = float16_network(model, kept, backend.float16.conversion);
    const Emulator emulator(converted, backend);
    std::vector<Events> events(converted.operations.size());
    for (const std::vector<Tensor>& sample : samples) {
      const Trace trace = emulator.run(sample, {.count_events = true});
      for (std::size_t i = 0; i < events.size(); ++i) events[i] += trace.events[i];
    }
    changed = mark_leaving(model, converted, events, kept);
  }
  return kept;
}

}  // namespace lastbit
