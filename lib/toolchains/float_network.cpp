// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The float network that quantisers start from: one meaning per tensor, one reader per constant, a name for everything.
#include <algorithm>
#include <set>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/quantizer.hpp"
#include "toolchains/device_model.hpp"

namespace lastbit {
namespace {

bool is_conversion(OperationKind kind) {
  using enum OperationKind;
  return kind == OperationKind::quantize || kind == dequantize || kind == requantize || kind == cast;
}

bool contains(const std::vector<std::int32_t>& list, std::int32_t tensor) { return std::ranges::find(list, tensor) != list.end(); }

void replace_everywhere(Model& model, std::int32_t from, std::int32_t to) {
  for_each_mention(model, [&](std::int32_t& tensor) { tensor = tensor == from ? to : tensor; });
}

bool is_state(const Model& model, std::int32_t tensor) {
  return std::ranges::any_of(model.states, [&](const State& state) { return state.before == tensor || state.after == tensor; });
}

/// Conversions between types are the identity on real values. Names of the network's inputs, outputs and states stay; where a conversion leads
/// from one of them, or a constant, straight to another, moving data is what remains of it.
void remove_conversions(Model& model) {
  for (std::size_t i = 0; i < model.operations.size();) {
    const std::int32_t from = model.operations[i].inputs[0], to = model.operations[i].outputs[0];
    const bool fixed_from =
        contains(model.inputs, from) || contains(model.outputs, from) || is_state(model, from) || model.tensor(from).constant;
    const bool fixed_to = contains(model.outputs, to) || is_state(model, to);
    if (!is_conversion(model.operations[i].kind)) {
      ++i;
      continue;
    }
    if (fixed_to && fixed_from) {
      model.operations[i].kind = OperationKind::reshape;
      model.operations[i++].attributes = default_attributes(OperationKind::reshape);
      continue;
    }
    model.operations.erase(model.operations.begin() + static_cast<std::ptrdiff_t>(i));
    if (fixed_to) replace_everywhere(model, from, to);
    else replace_everywhere(model, to, from);
  }
}

/// Of an ONNX image that is read as NHWC alone, the tensor in ONNX's own layout is a dead end: its name is free for the one that is read.
void pass_name_on(Model& model, const Operation& dead) {
  const std::string& name = model.tensor(dead.outputs[0]).name;
  ModelTensor& source = model.tensors[static_cast<std::size_t>(dead.inputs[0])];
  const std::string old = source.name;
  if (!is_layout_copy(name, old)) return;
  source.name = name;
  for (Operation& operation : model.operations)
    if (operation.name == old) operation.name = name;
}

/// What no output and no state depends on: a toolchain drops it, and what it reads has a reader less.
void drop_unread_operations(Model& model) {
  std::vector<bool> needed(model.tensors.size(), false), kept(model.operations.size(), false);
  const auto need = [&](std::int32_t tensor) {
    if (tensor != absent_tensor) needed[static_cast<std::size_t>(tensor)] = true;
  };
  std::ranges::for_each(model.outputs, need);
  for (const State& state : model.states) need(state.after);
  for (std::size_t i = model.operations.size(); i-- > 0;) {
    const Operation& operation = model.operations[i];
    kept[i] = std::ranges::any_of(operation.outputs, [&](std::int32_t tensor) { return needed[static_cast<std::size_t>(tensor)]; });
    if (kept[i]) std::ranges::for_each(operation.inputs, need);
    else if (is_movement(operation.kind)) pass_name_on(model, operation);
  }
  std::size_t i = 0;
  std::erase_if(model.operations, [&](const Operation&) { return !kept[i++]; });
}

void give_constants_one_reader(Model& model) {
  std::vector<bool> read(model.tensors.size(), false);
  for (const std::int32_t output : model.outputs) read[static_cast<std::size_t>(output)] = true;
  for (Operation& operation : model.operations) {
    for (std::int32_t& input : operation.inputs) {
      if (input == absent_tensor || !model.tensor(input).constant) continue;
      const bool shared = read[static_cast<std::size_t>(input)];
      read[static_cast<std::size_t>(input)] = true;
      if (!shared) continue;
      ModelTensor copy = model.tensor(input);
      copy.name += " of " + operation.name;
      input = static_cast<std::int32_t>(model.tensors.size());
      model.tensors.push_back(std::move(copy));
      read.push_back(true);
    }
  }
}

void invert_constant_divisors(Model& model) {
  for (Operation& operation : model.operations) {
    if (operation.kind != OperationKind::div) continue;
    Constant& divisor = model.tensors[static_cast<std::size_t>(operation.inputs[1])].constant;
    if (!divisor || divisor->type() != ElementType::float32) continue;
    for (float& value : divisor.edit().values<float>()) value = 1 / value;
    operation.kind = OperationKind::mul;
  }
}

void give_names(Model& model) {
  std::set<std::string> taken;
  for (std::size_t i = 0; i < model.tensors.size(); ++i) {
    std::string& name = model.tensors[i].name;
    if (name.empty()) name = "tensor";
    const std::string own = name;
    for (std::size_t number = i; !taken.insert(name).second; ++number) name = own + "_" + std::to_string(number);
  }
}

void refuse_blocks(const Model& model) {
  for (const Operation& operation : model.operations) {
    if (!is_of_blocks(operation.kind)) continue;
    const std::string place = std::string(name_of(operation.kind)) + " '" + operation.name + "'";
    throw Error(ErrorCode::unsupported_operation, place, "codes in blocks are what this operation is about: it has no float network");
  }
}

}  // namespace

Model float_network(const Model& model) {
  refuse_blocks(model);
  Model real = dequantized(model);
  remove_conversions(real);
  drop_unread_operations(real);
  give_constants_one_reader(real);
  invert_constant_divisors(real);
  drop_unused_tensors(real);
  give_names(real);
  validate(real, real.name);
  return real;
}

}  // namespace lastbit
