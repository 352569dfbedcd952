// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/explain/part.hpp"

#include <algorithm>

#include "lastbit/advise.hpp"
#include "lastbit/error.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {
namespace {

constexpr std::size_t sample_size = 64;

/// The operation that writes the tensor, if any.
std::optional<std::size_t> writer_of(const Model& model, std::int32_t tensor) {
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    if (std::ranges::count(model.operations[i].outputs, tensor) > 0) return i;
  }
  return std::nullopt;
}

/// Operations that lie between known tensors and this one. False where an input of the network is not known.
bool collect(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> known, std::vector<std::size_t>& found) {
  std::vector<std::size_t> open{operation};
  while (!open.empty()) {
    const std::size_t at = open.back();
    open.pop_back();
    if (std::ranges::count(found, at) > 0) continue;
    found.push_back(at);
    for (const std::int32_t index : model.operations[at].inputs) {
      if (index == absent_tensor || model.tensor(index).constant || known[static_cast<std::size_t>(index)]) continue;
      const auto writer = writer_of(model, index);
      if (!writer) return false;
      open.push_back(*writer);
    }
  }
  std::ranges::sort(found);
  return true;
}

/// Whether a sample depends on those before it.
bool has_states(const Part& part) {
  return std::ranges::any_of(part.model.operations, [](const Operation& operation) {
    return operation.kind == OperationKind::svdf || operation.kind == OperationKind::lstm;
  });
}

/// The model of those operations, and what it is fed with.
void cut_out(const Model& model, std::span<const std::optional<Tensor>> known, Part& part) {
  Model& cut = part.model;
  cut.name = model.name;
  std::vector<std::int32_t> place(model.tensors.size(), absent_tensor);
  const auto placed = [&](std::int32_t index) {
    auto& at = place[static_cast<std::size_t>(index)];
    if (at != absent_tensor) return at;
    at = static_cast<std::int32_t>(cut.tensors.size());
    cut.tensors.push_back(model.tensor(index));
    return at;
  };
  for (const std::size_t number : part.operations) {
    Operation operation = model.operations[number];
    for (std::int32_t& index : operation.inputs) {
      if (index == absent_tensor) continue;
      const bool is_new = place[static_cast<std::size_t>(index)] == absent_tensor;
      const std::int32_t original = index;
      index = placed(index);
      if (!is_new || model.tensor(original).constant) continue;
      cut.inputs.push_back(index);
      part.read.push_back(original);
      part.fed.push_back(std::ranges::count(model.inputs, original) > 0);
      part.inputs.push_back(*known[static_cast<std::size_t>(original)]);
    }
    for (std::int32_t& index : operation.outputs) index = placed(index);
    cut.operations.push_back(std::move(operation));
  }
  cut.outputs = {cut.operations.back().outputs[0]};
}

}  // namespace

std::optional<Part> part_up_to(const Model& model, std::size_t operation, std::span<const std::optional<Tensor>> known,
                               const Backend& backend) {
  Part part;
  if (!collect(model, operation, known, part.operations)) return std::nullopt;
  cut_out(model, known, part);
  for (const std::size_t number : part.operations) {
    const Operation& each = model.operations[number];
    const std::vector<std::string> prefixes = rule_prefixes(model, each, backend);
    for (const std::string& prefix : prefixes) {
      if (std::ranges::count(part.prefixes, prefix) == 0) part.prefixes.push_back(prefix);
    }
    if (number != operation && !prefixes.empty()) part.missing.push_back(model.tensor(each.outputs[0]).name);
  }
  return part;
}

std::int64_t count_differing(const Integers& a, const Integers& b) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) count += a[i] != b[i] ? 1 : 0;
  return count;
}

PartJudge::PartJudge(Part part, const Backend& backend) : part_(std::move(part)), ours_(layer_codes(part_.model, backend, part_.inputs)) {
  if (ours_.size() != part_.theirs.size()) {
    throw Error(ErrorCode::shape_mismatch, part_.model.tensor(part_.model.outputs[0]).name,
                "the dump has " + std::to_string(part_.theirs.size()) + " values for what is computed as " + std::to_string(ours_.size()));
  }
  differing_ = count_differing(ours_, part_.theirs);
  for (const Operation& operation : part_.model.operations)
    work_ += multiply_accumulates(part_.model, operation) + part_.model.tensor(operation.outputs[0]).shape.element_count();
  if (part_.operations.size() == 1) tracer_ = ValueTracer::make(part_.model, backend, part_.inputs);
  choose_sample();
  cut_one_out();
}

void PartJudge::cut_one_out() {
  const auto values = static_cast<std::size_t>(part_.model.tensor(part_.model.outputs[0]).shape.element_count());
  const std::size_t samples = ours_.size() / values;
  if (samples < 2 || has_states(part_)) return;
  One one;
  for (std::size_t i = 0; i < samples; ++i) {
    std::int64_t differing = 0;
    for (std::size_t k = i * values; k < (i + 1) * values; ++k) differing += ours_[k] != part_.theirs[k] ? 1 : 0;
    if (differing > one.differing) one.differing = differing, one.sample = i;
  }
  const auto first = part_.theirs.begin() + static_cast<std::ptrdiff_t>(one.sample * values);
  one.theirs.assign(first, first + static_cast<std::ptrdiff_t>(values));
  one.inputs = one_of(part_.inputs, one.sample);
  one_ = std::move(one);
}

std::vector<Tensor> PartJudge::one_of(std::span<const Tensor> inputs, std::size_t sample) const {
  std::vector<Tensor> cut;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    Tensor input(inputs[i].type(), part_.model.tensor(part_.model.inputs[i]).shape);
    const std::size_t bytes = input.bytes().size();
    std::copy_n(inputs[i].bytes().begin() + static_cast<std::ptrdiff_t>(sample * bytes), bytes, input.bytes().begin());
    cut.push_back(std::move(input));
  }
  return cut;
}

void PartJudge::choose_sample() {
  std::vector<std::int64_t> different, equal;
  for (std::size_t i = 0; i < ours_.size(); ++i) (ours_[i] != part_.theirs[i] ? different : equal).push_back(static_cast<std::int64_t>(i));
  add_to_sample(different);
  differing_in_sample_ = sample_.size();
  add_to_sample(equal);
}

void PartJudge::add_to_sample(const std::vector<std::int64_t>& indices) {
  const std::size_t step = std::max<std::size_t>(1, indices.size() / sample_size);
  for (std::size_t i = 0; i < indices.size(); i += step) sample_.push_back(indices[i]);
}

std::optional<std::int64_t> PartJudge::differing_on(const Backend& changed, std::int64_t most) const {
  try {
    if (tracer_) {
      const auto tracer = tracer_->on(part_.model, changed, part_.inputs);
      if (!tracer || !may_do(*tracer, most)) return std::nullopt;
    }
    return counted(part_.model, part_.inputs, one_ ? std::span<const Tensor>(one_->inputs) : std::span<const Tensor>(), changed, most);
  } catch (const Error&) {
    return std::nullopt;  // the part cannot be computed by such rules
  }
}

std::optional<std::int64_t> PartJudge::differing_of(const Model& altered, std::span<const Tensor> inputs, const Backend& backend,
                                                    std::int64_t most) const {
  const bool has_own_inputs = inputs.empty();
  if (has_own_inputs) inputs = part_.inputs;
  try {
    if (tracer_ && altered.operations.size() == 1) {
      const auto tracer = has_own_inputs ? tracer_->on(altered, backend, inputs) : ValueTracer::make(altered, backend, inputs);
      if (!tracer || !may_do(*tracer, most)) return std::nullopt;
    }
    if (!one_ || has_own_inputs)
      return counted(altered, inputs, one_ ? std::span<const Tensor>(one_->inputs) : std::span<const Tensor>(), backend, most);
    return counted(altered, inputs, one_of(inputs, one_->sample), backend, most);
  } catch (const Error&) {
    return std::nullopt;  // nor such a part on this device
  }
}

std::optional<std::int64_t> PartJudge::counted(const Model& model, std::span<const Tensor> inputs, std::span<const Tensor> of_one,
                                               const Backend& backend, std::int64_t most) const {
  if (one_) {
    const std::int64_t differing = count_differing(layer_codes(model, backend, of_one), one_->theirs);
    if (differing > 0 && (most <= 1 || differing >= one_->differing)) return std::nullopt;
  }
  const std::int64_t differing = count_differing(layer_codes(model, backend, inputs), part_.theirs);
  return differing == 0 || differing < most ? std::optional(differing) : std::nullopt;
}

/// Where all must be equal, the first that differs decides; else as many as differ without the change.
bool PartJudge::may_do(const ValueTracer& tracer, std::int64_t most) const {
  const std::size_t enough = most <= 1 ? 1 : differing_in_sample_;
  std::size_t wrong = 0;
  for (const std::int64_t index : sample_) {
    wrong += tracer.output(index) != part_.theirs[static_cast<std::size_t>(index)] ? 1U : 0U;
    if (wrong >= enough) return false;
  }
  return true;
}

}  // namespace lastbit
