// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/placed.hpp"

#include <memory>

#include "engine/converted_input.hpp"
#include "engine/operands.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

class Placed {
 public:
  Placed(const Model& held, const Model& coded, std::size_t operation, const Backend& device, const Backend& other)
      : alone_(extract_operation(coded, operation)), emulator_(alone_, other), device_(device), other_(other) {
    const Operation &outside = held.operations[operation], &inside = alone_.operations[0];
    for (std::size_t i = 0; i < inside.inputs.size(); ++i) {
      const std::int32_t index = inside.inputs[i];
      const bool given = index != absent_tensor && !alone_.tensor(index).constant;
      inputs_.push_back({index, given, given && held.tensor(outside.inputs[i]).type != type_inside(index)});
      if (inputs_.back().changes) require_form(held.tensor(outside.inputs[i]).type, type_inside(index), index, other);
    }
    for (std::size_t i = 0; i < inside.outputs.size(); ++i) {
      const std::int32_t index = inside.outputs[i];
      const ModelTensor& wanted = held.tensor(outside.outputs[i]);
      outputs_.push_back({index, true, type_inside(index) != wanted.type});
      if (!outputs_.back().changes) continue;
      if (is_integer(alone_.tensor(index).type) && !alone_.tensor(index).quantization.present())
        throw_unsupported(outside, "its output '" + wanted.name + "' has integers without a scale, which stand for no real value");
      require_form(type_inside(index), wanted.type, index, device);
    }
  }

  void operator()(const Execution& run) const {
    std::vector<Tensor> converted(run.inputs.size());
    std::vector<const Tensor*> inputs(run.inputs.size(), nullptr);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const Crossing& at = inputs_[i];
      if (!at.given) continue;
      if (at.changes) converted[i] = in_form(*run.inputs[i], type_inside(at.index), alone_.tensor(at.index), other_);
      inputs[i] = at.changes ? &converted[i] : run.inputs[i];
    }
    std::vector<Tensor> results = emulator_.run_operation(0, inputs, run.events);
    for (std::size_t i = 0; i < results.size(); ++i) {
      Tensor& output = run.outputs[i];
      output = outputs_[i].changes ? in_form(results[i], output.type(), alone_.tensor(outputs_[i].index), device_) : std::move(results[i]);
    }
  }

 private:
  /// A tensor that one side delivers and the other reads.
  struct Crossing {
    std::int32_t index;  ///< in alone_
    bool given;          ///< else a constant, or absent
    bool changes;        ///< its type
  };
  [[nodiscard]] ElementType type_inside(std::int32_t index) const { return emulator_.model().tensor(index).type; }
  /// What cannot be converted is refused before anything runs.
  void require_form(ElementType given, ElementType wanted, std::int32_t index, const Backend& reader) const {
    (void)in_form(Tensor(given, alone_.tensor(index).shape), wanted, alone_.tensor(index), reader);
  }

  Model alone_;
  Emulator emulator_;
  Backend device_, other_;
  std::vector<Crossing> inputs_, outputs_;
};

}  // namespace

Executor prepare_placed(const Model& held, const Model& coded, std::size_t operation, const Backend& device, const Placement& placement) {
  const auto placed = std::make_shared<Placed>(held, coded, operation, device, placement.sheet.backend);
  return [placed](const Execution& run) { (*placed)(run); };
}

Placements placements_for(const Model& model, const Device& device) {
  const Backend& backend = device.backend;
  std::vector<Placement> named;
  const Emulator emulator(model, backend);
  for (const Placement& placement : backend.elsewhere.list()) {
    named.push_back({placement.sheet, {}});
    for (std::size_t i = 0; i < model.operations.size(); ++i)
      if (emulator.placement(i) == &placement) named.back().layers.push_back(layer_name(model, i));
  }
  std::erase_if(named, [](const Placement& placement) { return placement.layers.empty(); });
  return Placements(std::move(named));
}

std::vector<std::string> computed_elsewhere(const Model& model, const Device& sheet) {
  std::vector<std::string> lines;
  if (sheet.backend.elsewhere.empty()) return lines;
  const Emulator emulator(model, sheet.backend);
  for (const Placement& placement : sheet.backend.elsewhere.list()) {
    std::int64_t count = 0;
    std::string layers;
    for (std::size_t i = 0; i < model.operations.size(); ++i) {
      if (emulator.placement(i) != &placement) continue;
      layers += (count++ == 0 ? "" : ", ") + layer_place(model, i) + " (" + std::to_string(i) + ")";
    }
    if (count > 0)
      lines.push_back("beside " + sheet.name + ", " + placement.sheet.name + " computes " + std::to_string(count) + " of " +
                      std::to_string(model.operations.size()) + " operations: " + layers);
  }
  return lines;
}

}  // namespace lastbit
