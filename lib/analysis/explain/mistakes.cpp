// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/mistakes.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/explain/layer_values.hpp"
#include "lastbit/error.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {

const Tensor* Suspect::codes(std::size_t position) const {
  if (!reads(position) || !input(position).constant || !is_integer(input(position).type)) return nullptr;
  return &*input(position).constant;
}

std::vector<std::size_t> Suspect::data_positions() const {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < operation().inputs.size(); ++i)
    if (reads(i) && !input(i).constant) found.push_back(i);
  return found;
}

void AlteredPart::quantize(std::int32_t tensor, const Quantization& quantization) {
  ModelTensor& described = model.tensors[static_cast<std::size_t>(tensor)];
  if (described.quantization == quantization) return;
  described.quantization = quantization;
  described.merged.reset();
  for (const Operation& each : model.operations) {
    if (!is_movement(each.kind)) continue;
    std::vector<std::int32_t> same = each.outputs;
    same.push_back(each.inputs[0]);
    if (std::ranges::count(same, tensor) == 0) continue;
    for (const std::int32_t other : same) quantize(other, quantization);
  }
}

void AlteredPart::move_input(std::size_t position, OperationKind kind, Attributes attributes, const Shape& shape,
                             std::vector<std::int32_t> more_inputs) {
  const std::int32_t from = operation().inputs[position];
  ModelTensor moved = model.tensor(from);
  moved.name += " moved " + std::to_string(model.tensors.size());
  moved.shape = shape;
  moved.constant.reset();
  const auto to = static_cast<std::int32_t>(model.tensors.size());
  model.tensors.push_back(std::move(moved));
  more_inputs.insert(more_inputs.begin(), from);
  operation().inputs[position] = to;
  model.operations.insert(model.operations.begin() + static_cast<std::ptrdiff_t>(place_),
                          {kind, model.tensor(to).name, std::move(more_inputs), {to}, std::move(attributes)});
  ++place_;
}

void AlteredPart::move_output(OperationKind kind, Attributes attributes, const Shape& shape) {
  const std::int32_t last = operation().outputs[0];
  ModelTensor before = model.tensor(last);
  before.name += " not moved " + std::to_string(model.tensors.size());
  before.shape = shape;
  const auto from = static_cast<std::int32_t>(model.tensors.size());
  model.tensors.push_back(std::move(before));
  operation().outputs[0] = from;
  ++place_;
  model.operations.insert(model.operations.begin() + static_cast<std::ptrdiff_t>(place_),
                          {kind, model.tensor(from).name, {from}, {last}, std::move(attributes)});
}

std::int32_t AlteredPart::add_constant(const std::string& name, Tensor values) {
  const auto index = static_cast<std::int32_t>(model.tensors.size());
  const ElementType type = values.type();
  const Shape shape = values.shape();
  model.tensors.push_back({name + " " + std::to_string(index), type, shape, {}, std::move(values)});
  return index;
}

void each_mistake(const Model& model, std::span<const Tensor> inputs, const std::vector<bool>& fed,
                  const std::function<bool(const NamedMistake& mistake, const AlteredPart& altered)>& visit) {
  bool goes_on = true;
  const bool has_several = std::ranges::count_if(model.operations, [](const Operation& each) { return !is_movement(each.kind); }) > 1;
  const auto make = [&](const Mistake& mistake, const Suspect& suspect) {
    if (!goes_on || !mistake.may_be_made(suspect)) return;
    mistake.make(suspect, [&](const std::string& what, const std::function<void(AlteredPart&)>& alter) {
      if (!goes_on) return;
      AlteredPart altered(suspect);
      try {
        alter(altered);
        validate(altered.model, "mistake");
      } catch (const Error&) {
        return;  // such a part cannot be
      }
      goes_on =
          visit({std::string(mistake.name), what + (has_several ? " (in '" + layer_name(model, suspect.place()) + "')" : "")}, altered);
    });
  };
  for (const auto& mistakes : {mistakes_of_sums(), mistakes_of_padding(), mistakes_of_data(), mistakes_of_inputs()}) {
    for (const Mistake& mistake : mistakes) {
      for (std::size_t i = model.operations.size(); i-- > 0;) make(mistake, Suspect(model, i, inputs, fed));
    }
  }
}

Tensor with_codes(const Tensor& like, const std::vector<std::int64_t>& codes) {
  Tensor values(like.type(), like.shape());
  const IntegerRange range = range_of(like.type());
  visit_element_type(like.type(), [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>) {
      const std::span<T> out = values.values<T>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<T>(std::clamp(codes[i], range.min, range.max));
    }
  });
  return values;
}

Tensor reordered(const Tensor& values, const std::function<std::int64_t(std::int64_t)>& from) {
  Tensor out(values.type(), values.shape());
  visit_element_type(values.type(), [&]<class T>() {
    const std::span<const T> in = values.values<T>();
    const std::span<T> to = out.values<T>();
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = in[static_cast<std::size_t>(from(static_cast<std::int64_t>(i)))];
  });
  return out;
}

std::int64_t nearest_integer(double value) {
  constexpr double most = 0x1p62;
  return static_cast<std::int64_t>(std::round(std::clamp(value, -most, most)));
}

}  // namespace lastbit
