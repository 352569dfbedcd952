// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/layout_copies.hpp"

#include <optional>
#include <variant>

#include "lastbit/layer.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

/// Every sample with its axes in another order.
Tensor samples_permuted(const Tensor& values, const Shape& own, const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> sizes{values.element_count() / own.element_count()}, axes{0};
  for (const std::int64_t size : own.sizes()) sizes.push_back(size);
  for (const std::int64_t axis : permutation) axes.push_back(axis + 1);
  Tensor samples = values;
  samples.reshape(Shape(std::move(sizes)));
  return permuted(samples, axes);
}

std::vector<std::int64_t> inverse(const std::vector<std::int64_t>& permutation) {
  std::vector<std::int64_t> back(permutation.size());
  for (std::size_t i = 0; i < permutation.size(); ++i) back[static_cast<std::size_t>(permutation[i])] = static_cast<std::int64_t>(i);
  return back;
}

/// Adds `to` where the dump lacks it and has `from`. Whether it did.
bool add_copy(NamedTrace& dump, const Model& model, std::int32_t from, std::int32_t to, const std::vector<std::int64_t>& permutation) {
  const NamedTensor* const held = dump.find(from);
  if (held == nullptr || dump.find(to) != nullptr) return false;
  const Shape& own = model.tensor(from).shape;
  if (own.element_count() == 0 || held->values.element_count() % own.element_count() != 0) return false;
  NamedTensor copy{to, model.tensor(to).name, held->operation, held->quantization, samples_permuted(held->values, own, permutation)};
  dump.tensors.push_back(std::move(copy));
  return true;
}

}  // namespace

NamedTrace with_layout_copies(const Model& model, NamedTrace dump) {
  for (bool is_new = true; is_new;) {
    is_new = false;
    for (const Operation& operation : model.operations) {
      const auto* const moves = std::get_if<TransposeAttributes>(&operation.attributes);
      if (operation.kind != OperationKind::transpose || moves == nullptr) continue;
      const std::int32_t input = operation.inputs[0], output = operation.outputs[0];
      if (model.tensor(input).constant) continue;
      is_new = add_copy(dump, model, input, output, moves->permutation) || is_new;
      is_new = add_copy(dump, model, output, input, inverse(moves->permutation)) || is_new;
    }
  }
  return dump;
}

std::string name_in_file(const Model& model, std::int32_t tensor) {
  const std::string& name = model.tensor(tensor).name;
  for (const Operation& operation : model.operations) {
    if (operation.kind != OperationKind::transpose || operation.inputs[0] != tensor) continue;
    if (is_layout_copy(model.tensor(operation.outputs[0]).name, name)) return model.tensor(operation.outputs[0]).name;
  }
  return name;
}

}  // namespace lastbit
