// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// argmax; and argmin, which is that of the codes in the opposite order: the first of the smallest.
#include "lastbit/op/argmax.hpp"

#include <vector>

#include "engine/finisher.hpp"
#include "engine/operands.hpp"
#include "engine/ops/prepare.hpp"

namespace lastbit {

Executor prepare_argmax(const Model& model, const Operation& operation, const Backend& backend) {
  const ModelTensor& input = model.tensor(operation.inputs[0]);
  if (backend.argmax.method == ArgmaxMethod::absent) throw_unsupported(operation, "the backend has no argmax");
  const auto axis = static_cast<std::size_t>(std::get<ArgmaxAttributes>(operation.attributes).axis);
  const std::int64_t length = input.shape[axis];
  std::int64_t inner = 1;
  for (std::size_t later = axis + 1; later < input.shape.rank(); ++later) inner *= input.shape[later];
  const IntegerRange range = range_of(input.type);
  const std::int64_t middle = range.min < 0 ? 0 : range.max / 2;
  const bool smallest = operation.kind == OperationKind::argmin;
  return [=, rule = backend.argmax](const Execution& run) {
    const auto values = centred(*run.inputs[0], 0);
    std::vector<std::int64_t> out(values.size() / static_cast<std::size_t>(length));
    std::vector<std::int64_t> position(static_cast<std::size_t>(length));
    Argmax argmax(rule, range.min, middle);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i);
      const std::int64_t first = at / inner * inner * length + at % inner;
      for (std::int64_t k = 0; k < length; ++k) {
        const std::int64_t value = values[static_cast<std::size_t>(first + k * inner)];
        position[static_cast<std::size_t>(k)] = smallest ? range.min + (range.max - value) : value;
      }
      out[i] = argmax(position);
    }
    store(out, run.outputs[0]);
  };
}

}  // namespace lastbit
