// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Results are kept under what they were computed from: the operation, the side and the identity of its inputs. Equal values have one identity,
// so where both sides of an operation give the same, what follows is computed once for both.
#include <algorithm>
#include <cstring>
#include <deque>
#include <unordered_map>

#include "analysis/advise/side.hpp"
#include "lastbit/advise.hpp"

namespace lastbit {
namespace {

enum class Origin : std::uint8_t { given, a, b };

/// A tensor of a run in the form in which it was written.
struct Held {
  const Tensor* values = nullptr;
  Origin origin = Origin::given;
};

/// What a result follows from: an operation (or, behind them, a tensor that changes its form), a side, and the inputs.
using Key = std::vector<std::uintptr_t>;
struct KeyHash {
  std::size_t operator()(const Key& key) const {
    std::size_t hash = key.size();
    for (const std::uintptr_t part : key) hash = hash * 0x9E3779B97F4A7C15U + (part ^ (part >> 17U));
    return hash;
  }
};

/// Of long contents no more than some stretches: whether they are the same says only a comparison, which ends at the first difference.
std::size_t hash_of(std::span<const std::byte> bytes) {
  constexpr std::size_t stretch = 64, stretches = 64;
  const std::string_view all(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (all.size() <= stretch * stretches) return std::hash<std::string_view>{}(all);
  std::string some;
  for (std::size_t i = 0; i < stretches; ++i) some += all.substr((all.size() - stretch) * i / (stretches - 1), stretch);
  return std::hash<std::string_view>{}(some);
}

/// Every different tensor once.
class TensorStore {
 public:
  const Tensor* keep(Tensor tensor) {
    const auto bytes = tensor.bytes();
    const std::size_t hash = hash_of(bytes);
    const auto [first, last] = by_content_.equal_range(hash);
    const auto same = std::find_if(first, last, [&](const auto& entry) { return *entry.second == tensor; });
    if (same != last) return same->second;
    bytes_ += bytes.size();
    tensors_.push_back(std::move(tensor));
    by_content_.emplace(hash, &tensors_.back());
    return &tensors_.back();
  }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  void clear() {
    by_content_.clear();
    tensors_.clear();
    bytes_ = 0;
  }

 private:
  std::deque<Tensor> tensors_;
  std::unordered_multimap<std::size_t, const Tensor*> by_content_;
  std::size_t bytes_ = 0;
};

/// Operations on the way to an output or a state.
OperationSet needed_operations(const Model& model) {
  OperationSet needed(model.operations.size());
  std::vector<bool> wanted(model.tensors.size());
  for (const std::int32_t output : model.outputs) wanted[static_cast<std::size_t>(output)] = true;
  for (const State& state : model.states) wanted[static_cast<std::size_t>(state.after)] = true;
  for (std::size_t i = needed.size(); i-- > 0;) {
    const Operation& operation = model.operations[i];
    needed[i] = std::ranges::any_of(operation.outputs, [&](std::int32_t index) { return wanted[static_cast<std::size_t>(index)]; });
    for (const std::int32_t index : operation.inputs) {
      if (needed[i] && index != absent_tensor) wanted[static_cast<std::size_t>(index)] = true;
    }
  }
  return needed;
}

/// Real 0.
Tensor initial_state(const ModelTensor& tensor) {
  Tensor values(tensor.type, tensor.shape);
  visit_element_type(tensor.type, [&]<class T>() {
    if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      std::ranges::fill(values.values<T>(), static_cast<T>(tensor.quantization.zero_point()));
  });
  return values;
}

}  // namespace

struct MixedRun::Work {
  Work(const Model& network, std::shared_ptr<const Side> of_a, std::shared_ptr<const Side> of_b, std::size_t most)
      : model(network), a(std::move(of_a)), b(std::move(of_b)), needed(needed_operations(network)), most_bytes(most) {
    if (!a->missing().empty()) throw Error(a->missing());
    for (std::size_t i = 0; i < model.operations.size(); ++i) only_on_a.push_back(!b->has(i));
  }

  void run(std::span<const Tensor> sample, const OperationSet& on_a);
  void compute(std::size_t operation, Origin side);
  const Tensor* form(std::int32_t tensor, Origin side);
  [[nodiscard]] const Side& of(Origin side) const { return side == Origin::a ? *a : *b; }

  const Model& model;
  const std::shared_ptr<const Side> a, b;
  OperationSet only_on_a, needed;
  std::size_t most_bytes;
  std::int64_t computed = 0;
  TensorStore store;
  std::unordered_map<Key, std::vector<const Tensor*>, KeyHash> results;
  std::vector<Held> held;  ///< of the run at hand, by tensor
  struct StateValue {
    Tensor values;
    Origin origin;
  };
  std::vector<StateValue> states;  ///< empty: initial
};

/// The tensor as `side` reads it.
const Tensor* MixedRun::Work::form(std::int32_t tensor, Origin side) {
  const Held& from = held[static_cast<std::size_t>(tensor)];
  if (from.origin == side || from.values->type() == of(side).type_of(tensor)) return from.values;
  const Key key{model.operations.size() + static_cast<std::size_t>(tensor), static_cast<std::uintptr_t>(side),
                reinterpret_cast<std::uintptr_t>(from.values)};
  std::vector<const Tensor*>& result = results[key];
  if (result.empty()) result.push_back(store.keep(of(side).in_form(*from.values, tensor)));
  return result.front();
}

void MixedRun::Work::compute(std::size_t operation, Origin side) {
  const Operation& at = model.operations[operation];
  std::vector<const Tensor*> inputs;
  Key key{operation, static_cast<std::uintptr_t>(side)};
  for (const std::int32_t index : at.inputs) {
    const bool computed_before = index != absent_tensor && held[static_cast<std::size_t>(index)].values != nullptr;
    inputs.push_back(computed_before ? form(index, side) : nullptr);
    key.push_back(reinterpret_cast<std::uintptr_t>(inputs.back()));
  }
  std::vector<const Tensor*>& result = results[key];
  if (result.empty()) {
    for (Tensor& output : of(side).run(operation, inputs)) result.push_back(store.keep(std::move(output)));
    ++computed;
  }
  for (std::size_t o = 0; o < result.size(); ++o) held[static_cast<std::size_t>(at.outputs[o])] = {result[o], side};
}

void MixedRun::Work::run(std::span<const Tensor> sample, const OperationSet& on_a) {
  require_sample(model, sample);
  if (on_a.size() != model.operations.size())
    throw Error(ErrorCode::bad_input, "run_mixed", "the choice has not one entry per operation of the model");
  if (store.bytes() > most_bytes) {
    store.clear();
    results.clear();
  }
  held.assign(model.tensors.size(), {});
  for (std::size_t i = 0; i < sample.size(); ++i) held[static_cast<std::size_t>(model.inputs[i])] = {store.keep(sample[i]), Origin::given};
  for (std::size_t i = 0; i < model.states.size(); ++i) {
    const std::int32_t before = model.states[i].before;
    if (states.size() <= i) states.push_back({initial_state(model.tensor(before)), Origin::given});
    held[static_cast<std::size_t>(before)] = {store.keep(states[i].values), states[i].origin};
  }
  for (std::size_t i = 0; i < needed.size(); ++i) {
    if (needed[i]) compute(i, on_a[i] || only_on_a[i] ? Origin::a : Origin::b);
  }
  for (std::size_t i = 0; i < model.states.size(); ++i) {
    const Held& after = held[static_cast<std::size_t>(model.states[i].after)];
    states[i] = {*after.values, after.origin};
  }
}

MixedRun::MixedRun(const Model& model, const Device& a, const Device& b, std::size_t most_bytes_kept)
    : MixedRun(std::make_unique<Work>(model, std::make_shared<const Side>(model, a.backend), std::make_shared<const Side>(model, b.backend),
                                      most_bytes_kept)) {}
MixedRun::MixedRun(std::unique_ptr<Work> work) : work_(std::move(work)) {}
MixedRun::~MixedRun() = default;
MixedRun::MixedRun(MixedRun&&) noexcept = default;
MixedRun& MixedRun::operator=(MixedRun&&) noexcept = default;

MixedRun MixedRun::sibling() const { return MixedRun(std::make_unique<Work>(work_->model, work_->a, work_->b, work_->most_bytes)); }

const OperationSet& MixedRun::only_on_a() const { return work_->only_on_a; }
const std::vector<Diagnostic>& MixedRun::missing() const { return work_->b->missing(); }
std::int64_t MixedRun::computed() const { return work_->computed; }
void MixedRun::reset_states() { work_->states.clear(); }
Tensor MixedRun::as_on_b(std::int32_t tensor, const Tensor& values) const { return work_->b->in_form(values, tensor); }

std::vector<Tensor> MixedRun::outputs(std::span<const Tensor> sample, const OperationSet& on_a) {
  work_->run(sample, on_a);
  std::vector<Tensor> outputs;
  for (const std::int32_t index : work_->model.outputs) {
    const Tensor* const values = work_->held[static_cast<std::size_t>(index)].values;
    outputs.push_back(values != nullptr ? *values : *work_->model.tensor(index).constant);
  }
  return outputs;
}

std::vector<std::optional<Tensor>> MixedRun::tensors(std::span<const Tensor> sample, const OperationSet& on_a) {
  work_->run(sample, on_a);
  std::vector<std::optional<Tensor>> all(work_->held.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (work_->held[i].values != nullptr) all[i] = *work_->held[i].values;
  }
  return all;
}

namespace {

/// Samples of a batch, or the one tensor.
std::vector<Tensor> split(const Tensor& given, const Shape& shape) {
  if (given.shape().rank() != shape.rank() + 1) return {given};
  std::vector<Tensor> samples;
  for (std::int64_t i = 0; i < given.shape()[0]; ++i) {
    Tensor& sample = samples.emplace_back(given.type(), shape);
    const auto bytes = sample.bytes();
    const std::size_t offset = static_cast<std::size_t>(i) * bytes.size();
    if (offset + bytes.size() > given.bytes().size()) return {given};  // another shape: refused where it runs
    std::memcpy(bytes.data(), given.bytes().data() + offset, bytes.size());
  }
  return samples;
}

Tensor joined(const std::vector<Tensor>& samples) {
  std::vector<std::int64_t> sizes{static_cast<std::int64_t>(samples.size())};
  sizes.insert(sizes.end(), samples[0].shape().sizes().begin(), samples[0].shape().sizes().end());
  Tensor all(samples[0].type(), Shape(std::move(sizes)));
  std::size_t offset = 0;
  for (const Tensor& sample : samples) {
    std::memcpy(all.bytes().data() + offset, sample.bytes().data(), sample.bytes().size());
    offset += sample.bytes().size();
  }
  return all;
}

}  // namespace

Trace run_mixed(const Model& model, const Device& a, const Device& b, const OperationSet& on_a, std::span<const Tensor> inputs) {
  MixedRun mixed(model, a, b);
  if (inputs.size() != model.inputs.size()) require_sample(model, inputs);
  std::vector<std::vector<Tensor>> samples;  // by sample, then by input
  bool batched = false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::vector<Tensor> of_input = split(inputs[i], model.tensor(model.inputs[i]).shape);
    batched = batched || inputs[i].shape() != of_input[0].shape();
    if (i == 0) samples.resize(of_input.size());
    if (of_input.size() != samples.size())
      throw Error(ErrorCode::shape_mismatch, "input '" + model.tensor(model.inputs[i]).name + "'",
                  "another number of samples than the first input");
    for (std::size_t s = 0; s < samples.size(); ++s) samples[s].push_back(std::move(of_input[s]));
  }
  std::vector<std::vector<Tensor>> by_output(model.outputs.size());
  for (const std::vector<Tensor>& sample : samples) {
    std::vector<Tensor> outputs = mixed.outputs(sample, on_a);
    for (std::size_t o = 0; o < outputs.size(); ++o) by_output[o].push_back(std::move(outputs[o]));
  }
  Trace trace{std::vector<std::optional<Tensor>>(model.tensors.size()), {}, std::string(host_path())};
  for (std::size_t o = 0; o < by_output.size(); ++o)
    trace.tensors[static_cast<std::size_t>(model.outputs[o])] = batched ? joined(by_output[o]) : by_output[o][0];
  return trace;
}

OperationSet with_movements(const Model& model, OperationSet layers) {
  std::vector<bool> computed(model.tensors.size());  // behind an operation that computes
  for (const Operation& operation : model.operations) {
    const bool is_computed = !is_movement(operation.kind) || computed[static_cast<std::size_t>(operation.inputs[0])];
    for (const std::int32_t output : operation.outputs) computed[static_cast<std::size_t>(output)] = is_computed;
  }
  const auto moves_input = [&](const Operation& operation) {
    return is_movement(operation.kind) && !computed[static_cast<std::size_t>(operation.outputs[0])];
  };
  for (std::size_t i = layers.size(); i-- > 0;) {
    const Operation& operation = model.operations[i];
    if (!moves_input(operation)) continue;
    const auto reads = [&](const Operation& other) { return std::ranges::find(other.inputs, operation.outputs[0]) != other.inputs.end(); };
    const auto reader = std::ranges::find_if(model.operations, reads);
    layers[i] = reader != model.operations.end() && layers[static_cast<std::size_t>(reader - model.operations.begin())];
  }
  std::vector<bool> on_a(model.tensors.size());
  for (std::size_t i = 0; i < layers.size(); ++i) {
    const Operation& operation = model.operations[i];
    if (is_movement(operation.kind) && !moves_input(operation)) layers[i] = on_a[static_cast<std::size_t>(operation.inputs[0])];
    for (const std::int32_t output : operation.outputs) on_a[static_cast<std::size_t>(output)] = layers[i];
  }
  return layers;
}

}  // namespace lastbit
