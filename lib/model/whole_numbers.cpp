// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "model/whole_numbers.hpp"

#include <algorithm>

namespace lastbit {
namespace {

bool may_be_on_whole_numbers(const Operation& operation) {
  using enum OperationKind;
  switch (operation.kind) {
    case add:
    case sub:
    case mul:
    case floor_div:
    case maximum:
    case minimum:
    case OperationKind::abs:
    case neg:
    case less:
    case less_or_equal:
    case equal:
    case OperationKind::select: return true;
    case concat: return std::get<ConcatAttributes>(operation.attributes).activation == Activation::none;
    default: return false;
  }
}

}  // namespace

bool is_on_whole_numbers(const Model& model, const Operation& operation) {
  if (operation.kind == OperationKind::cast)
    return is_integer(model.tensor(operation.inputs[0]).type) || is_integer(model.tensor(operation.outputs[0]).type);
  const auto is_one = [&](std::int32_t index) {
    return index != absent_tensor && (model.tensor(index).type == ElementType::boolean || is_whole_number(model.tensor(index)));
  };
  return may_be_on_whole_numbers(operation) && std::ranges::all_of(operation.inputs, is_one) &&
         std::ranges::all_of(operation.outputs, is_one);
}

}  // namespace lastbit
