// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/float16/prepare.hpp"

#include <algorithm>

#include "engine/operands.hpp"
#include "engine/operations.hpp"

namespace lastbit {

bool is_float16_operation(const Model& model, const Operation& operation, const Backend& backend) {
  if (operation.kind == OperationKind::cast) return true;
  if (is_of_blocks(operation.kind)) return false;
  if (operation.kind == OperationKind::quantize && backend.float16.method != Float16Method::absent) return true;
  const auto is_float16 = [&](std::int32_t index) { return index != absent_tensor && model.tensor(index).type == ElementType::float16; };
  return std::any_of(operation.inputs.begin(), operation.inputs.end(), is_float16) ||
         std::any_of(operation.outputs.begin(), operation.outputs.end(), is_float16);
}

bool has_float16_arithmetic(OperationKind kind) { return executors_of(kind).float16 != nullptr; }

Executor prepare_float16(const Model& model, const Operation& operation, const Backend& backend) {
  const Float16Arithmetic& rules = backend.float16;
  if (rules.method == Float16Method::absent) throw_unsupported(operation, "the backend has no float16 arithmetic");
  const auto prepare = executors_of(operation.kind).float16;
  if (prepare == nullptr) throw_unsupported(operation, "the backend has no float16 " + std::string(name_of(operation.kind)));
  return prepare(model, operation, rules);
}

}  // namespace lastbit
