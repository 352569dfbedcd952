// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/emulator.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <mutex>

#include "engine/batch.hpp"
#include "engine/converted_input.hpp"
#include "engine/executor.hpp"
#include "engine/float16/prepare.hpp"
#include "engine/float32/prepare.hpp"
#include "engine/held_codes.hpp"
#include "engine/operands.hpp"
#include "engine/operations.hpp"
#include "engine/ops/prepare.hpp"
#include "engine/parallel.hpp"
#include "engine/placed.hpp"
#include "lastbit/interruption.hpp"
#include "lastbit/memory.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/printable.hpp"
#include "lastbit/rules.hpp"
#include "model/whole_numbers.hpp"

namespace lastbit {

namespace {

/// Codes with zero point 0 only, and signed ones if the device has no others.
void require_coding(const Model& model, const Operation& operation, Coding coding) {
  for (const auto* list : {&operation.inputs, &operation.outputs}) {
    for (const auto index : *list) {
      if (index == absent_tensor) continue;
      const ModelTensor& tensor = model.tensor(index);
      const bool is_unsigned = is_integer(tensor.type) && range_of(tensor.type).min == 0;
      if (is_unsigned && coding == Coding::symmetric)
        throw_unsupported(operation,
                          "tensor '" + tensor.name + "' is " + std::string(name_of(tensor.type)) + "; the device has signed codes");
      const auto& zero_points = tensor.quantization.zero_points;
      const auto other = std::ranges::find_if(zero_points, [](std::int64_t zero_point) { return zero_point != 0; });
      if (other == zero_points.end()) continue;
      throw_unsupported(operation,
                        "tensor '" + tensor.name + "' has zero point " + std::to_string(*other) + "; the device has only zero point 0");
    }
  }
}

/// What is_float16_operation() does not take.
bool is_float32_operation(const Model& model, const Operation& operation, const Backend& backend) {
  if (backend.float32 == Float32Operations::absent) return false;
  const auto is_float32 = [&](std::int32_t index) { return index == absent_tensor || model.tensor(index).type == ElementType::float32; };
  return std::all_of(operation.inputs.begin(), operation.inputs.end(), is_float32) &&
         std::all_of(operation.outputs.begin(), operation.outputs.end(), is_float32);
}

}  // namespace

Executor prepare_integer(const Model& model, const Operation& operation, const Backend& backend) {
  if (moves_between_scales(model, operation)) return prepare_between_scales(model, operation, backend);
  if (is_movement(operation.kind)) return executor_of(prepare_movement(model, operation));
  if (is_on_whole_numbers(model, operation)) return prepare_whole_numbers(model, operation);
  if (is_float16_operation(model, operation, backend)) return prepare_float16(model, operation, backend);
  if (is_float32_operation(model, operation, backend)) return prepare_float32(model, operation, backend);
  if (is_hybrid(model, operation)) return prepare_dynamic(model, operation, backend);
  for (const auto* list : {&operation.inputs, &operation.outputs}) {
    for (const auto index : *list) {
      const bool converts = operation.kind == OperationKind::quantize || operation.kind == OperationKind::dequantize ||
                            operation.kind == OperationKind::dynamic_quantize || operation.kind == OperationKind::detection_postprocess ||
                            is_of_blocks(operation.kind);
      if (index == absent_tensor || converts || is_integer(model.tensor(index).type)) continue;
      throw_unsupported(operation, "tensor '" + model.tensor(index).name + "' is " + std::string(name_of(model.tensor(index).type)) +
                                       "; integer backends need quantised data (the float backend runs it)");
    }
  }
  if (backend.coding != Coding::affine) require_coding(model, operation, backend.coding);
  if (computes_in_float32(operation, backend)) return prepare_dequantized(model, operation, backend);
  if (computes_as_uint8(operation, backend)) return prepare_as_uint8(model, operation, backend);
  const auto prepare = executors_of(operation.kind).integer;
  if (prepare == nullptr) throw_unsupported(operation, "the backend has no such arithmetic");
  return prepare(model, operation, backend);
}

namespace {

/// Memory for the outputs, an earlier run's where there is one that fits; what it holds is overwritten.
std::vector<Tensor> allocate_outputs(const Model& model, const Operation& operation, std::span<std::optional<Tensor>> spare) {
  std::vector<Tensor> outputs;
  for (const auto index : operation.outputs) {
    const ModelTensor& wanted = model.tensor(index);
    std::optional<Tensor> old;
    if (!spare.empty()) old.swap(spare[static_cast<std::size_t>(index)]);
    const bool fits = old && old->type() == wanted.type && old->shape() == wanted.shape;
    outputs.push_back(fits ? std::move(*old) : Tensor::unwritten(wanted.type, wanted.shape));
#if !defined(NDEBUG)
    std::ranges::fill(outputs.back().bytes(), std::byte{0xA5});  // so that a test sees a value that nobody has written
#endif
  }
  return outputs;
}

/// What preparing or running one layer throws says which.
template <class Action>
auto in_layer(const Model& model, std::size_t operation, const Action& action) {
  try {
    return action();
  } catch (const Error& error) {
    std::vector<Diagnostic> problems = error.diagnostics();
    for (Diagnostic& problem : problems)
      if (problem.code != ErrorCode::unavailable_path) problem.where = layer_place(model, operation);
    throw Error(std::move(problems));
  }
}

void require_budget(const Model& model, const Backend& backend, const RunOptions& options, std::int64_t samples) {
  if (memory_budget() > 0) require_memory(model, std::array{memory_need(model, backend, options, samples)});
}

}  // namespace

/// The tensors of one sample, by their index in the model: its own, and inputs that lie elsewhere.
struct Emulator::SampleTensors {
  std::vector<std::optional<Tensor>> own;
  std::vector<const Tensor*> borrowed;
  std::vector<std::optional<Tensor>> spare;  ///< not needed any more: memory for tensors to come

  explicit SampleTensors(std::size_t count) : own(count), borrowed(count, nullptr), spare(count) {}
  [[nodiscard]] const Tensor& at(std::size_t index, const Model& model) const {
    return own[index] ? *own[index] : borrowed[index] != nullptr ? *borrowed[index] : *model.tensors[index].constant;
  }
  /// For whoever keeps it.
  [[nodiscard]] Tensor take(std::size_t index, const Model& model) {
    if (own[index]) return std::move(*own[index]);
    return at(index, model);
  }
};

/// What is counted and measured in one sample, per operation; empty where it is not asked for.
struct Emulator::Observation {
  std::vector<Events> events;
  std::vector<OperationCost> costs;
};

struct Emulator::Prepared {
  class Run;

  const Model* user = nullptr;
  std::optional<Model> own;  ///< the dequantised model of the real domain; the user's with merged pairs
  Backend backend = no_rules;
  std::vector<Executor> executors;
  std::vector<const Placement*> placements;  ///< of every operation: who computes it; null: the device
  std::vector<std::size_t> last_use;         ///< of every tensor: the operation after which nobody reads it

  [[nodiscard]] const Model& model() const { return own ? *own : *user; }
  [[nodiscard]] Executor golden(const Operation& operation) const;
  [[nodiscard]] Executor on_device(std::size_t operation) const;
  [[nodiscard]] Executor placed(std::size_t operation, const Placement& placement) const;
  void prepare(std::size_t operation);
  void find_last_uses();
  void run_sample(SampleTensors& tensors, bool keep_all, Observation& observed) const;
  [[nodiscard]] std::vector<Tensor> initial_states() const;
};

/// Real 0 is the zero point.
std::vector<Tensor> Emulator::Prepared::initial_states() const {
  std::vector<Tensor> states;
  for (const State& state : model().states) {
    const ModelTensor& tensor = model().tensor(state.before);
    Tensor& values = states.emplace_back(tensor.type, tensor.shape);  // zeros
    visit_element_type(tensor.type, [&]<class T>() {
      if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
        std::fill(values.values<T>().begin(), values.values<T>().end(), static_cast<T>(tensor.quantization.zero_point()));
    });
  }
  return states;
}

Executor Emulator::Prepared::golden(const Operation& operation) const {
  Executor executor = prepare_real(*own, operation);
  return backend.golden_range == GoldenRange::representable ? bounded_by_codes(std::move(executor), *user, operation) : executor;
}

Executor Emulator::Prepared::on_device(std::size_t operation) const {
  const Operation& at = model().operations[operation];
  return backend.domain == Domain::real ? golden(at) : prepare_integer(model(), at, backend);
}

Executor Emulator::Prepared::placed(std::size_t operation, const Placement& placement) const {
  const Model& coded = backend.domain == Domain::real ? *user : model();
  return prepare_placed(model(), coded, operation, backend, placement);
}

/// Where the user puts the layer; else on the device, or what it lacks on the first fallback that has it.
void Emulator::Prepared::prepare(std::size_t operation) {
  const auto take = [&](Executor executor, const Placement* placement) {
    executors[operation] = std::move(executor);
    placements[operation] = placement;
  };
  const Placement* const named = placement_by_name(*user, operation, backend);
  if (named != nullptr) return take(placed(operation, *named), named);
  std::vector<Diagnostic> problems;
  try {
    return take(on_device(operation), nullptr);
  } catch (const MemoryRefused&) {
    throw;
  } catch (const Error& error) {
    problems = error.diagnostics();
  }
  for (const Placement& fallback : backend.elsewhere.list()) {
    if (!fallback.is_fallback()) continue;
    try {
      return take(placed(operation, fallback), &fallback);
    } catch (const MemoryRefused&) {
      throw;
    } catch (const Error& error) {
      problems.back().message += "; nor does " + fallback.sheet.name + ": " + error.diagnostics().front().message;
    }
  }
  throw Error(std::move(problems));
}

void Emulator::Prepared::find_last_uses() {
  last_use.assign(model().tensors.size(), 0);
  for (std::size_t i = 0; i < model().operations.size(); ++i) {
    for (const auto index : model().operations[i].inputs) {
      if (index != absent_tensor) last_use[static_cast<std::size_t>(index)] = i;
    }
  }
  for (const auto index : model().outputs) last_use[static_cast<std::size_t>(index)] = model().operations.size();
  for (const State& state : model().states) last_use[static_cast<std::size_t>(state.after)] = model().operations.size();
}

void Emulator::Prepared::run_sample(SampleTensors& tensors, bool keep_all, Observation& observed) const {
  std::vector<const Tensor*> inputs;
  const bool counts = !observed.events.empty(), measures = !observed.costs.empty();
  for (std::size_t i = 0; i < executors.size(); ++i) {
    const Operation& operation = model().operations[i];
    ask_interruption();
    inputs.clear();
    for (const auto index : operation.inputs)
      inputs.push_back(index == absent_tensor ? nullptr : &tensors.at(static_cast<std::size_t>(index), model()));
    const auto start = measures ? std::chrono::steady_clock::now() : std::chrono::steady_clock::time_point{};
    auto outputs = allocate_outputs(model(), operation, tensors.spare);
    in_layer(model(), i, [&] {
      executors[i]({inputs, outputs, counts ? &observed.events[i] : nullptr, measures ? &observed.costs[i].sums : nullptr});
    });
    if (measures) observed.costs[i].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    for (std::size_t o = 0; o < outputs.size(); ++o) tensors.own[static_cast<std::size_t>(operation.outputs[o])] = std::move(outputs[o]);
    for (const auto index : operation.inputs) {
      if (!keep_all && index != absent_tensor && last_use[static_cast<std::size_t>(index)] == i)
        tensors.own[static_cast<std::size_t>(index)].reset();
    }
  }
}

Emulator::Emulator(const Model& model, const Device& device) : prepared_(std::make_unique<Prepared>()) {
  prepared_->user = &model;
  const Backend& backend = device.backend;
  prepared_->backend = backend;
  require_stated(backend);
  require_budget(model, backend, {}, 1);
  if (backend.domain == Domain::real) prepared_->own = dequantized(model);
  else prepared_->own = with_merged_pairs(model, backend.fusion);
  const std::size_t count = model.operations.size();
  prepared_->executors.resize(count);
  prepared_->placements.resize(count);
  std::vector<std::vector<Diagnostic>> found(count);
  for_each_part(std::ssize(found), 1, [&](std::int64_t first, std::int64_t last) {
    for (auto i = static_cast<std::size_t>(first); i < static_cast<std::size_t>(last); ++i) {
      try {
        in_layer(model, i, [&] { prepared_->prepare(i); });
      } catch (const Error& error) {
        found[i] = error.diagnostics();
      }
    }
  });
  std::vector<Diagnostic> problems;
  for (std::vector<Diagnostic>& each : found) std::ranges::move(each, std::back_inserter(problems));
  if (!problems.empty()) throw Error(std::move(problems));
  prepared_->find_last_uses();
}

Emulator::~Emulator() = default;
Emulator::Emulator(Emulator&&) noexcept = default;
Emulator& Emulator::operator=(Emulator&&) noexcept = default;

const Model& Emulator::model() const { return prepared_->model(); }

const Placement* Emulator::placement(std::size_t operation) const { return prepared_->placements[operation]; }

/// One call of run(): a sample, or a batch of them.
class Emulator::Prepared::Run {
 public:
  Run(const Prepared& prepared, std::span<const TensorView> inputs, const RunOptions& options, Trace recycled)
      : prepared_(prepared), inputs_(inputs), options_(options), recycled_(std::move(recycled)) {}

  Trace finish() {
    count_samples();
    require_budget(*prepared_.user, prepared_.backend, options_, samples_);
    convert_inputs();
    make_places();
    if (options_.count_events) trace_.events.resize(model_.operations.size());
    if (options_.measure) trace_.costs.resize(model_.operations.size());
    // A sample that needs what the one before it leaves behind must wait for it.
    with_threads(options_.threads, [&] {
      if (carries_) run_samples(0, samples_);
      else for_each_part(samples_, 1, [&](std::int64_t first, std::int64_t last) { run_samples(first, last); });
    });
    return std::move(trace_);
  }

 private:
  void count_samples() {
    if (inputs_.size() != model_.inputs.size()) {
      throw Error(ErrorCode::bad_input, "model '" + model_.name + "'",
                  count_of(std::ssize(inputs_), "input") + " given, " + std::to_string(model_.inputs.size()) + " needed");
    }
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const ModelTensor& wanted = model_.tensor(model_.inputs[i]);
      const std::int64_t count = sample_count(wanted, inputs_[i].shape());
      const bool extra = inputs_[i].shape() != wanted.shape;
      if (i > 0 && (extra != batched_ || count != samples_)) {
        throw Error(ErrorCode::shape_mismatch, "input '" + wanted.name + "'",
                    count_of(count, "sample") + ", but " + std::to_string(samples_) + " for the first input");
      }
      batched_ = extra;
      samples_ = count;
    }
  }

  void convert_inputs() {
    converted_.reserve(inputs_.size());  // given_ refers to it
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      converted_.push_back(converted_input(*prepared_.user, model_, prepared_.backend, model_.inputs[i], inputs_[i]));
      given_.push_back(converted_.back() ? TensorView(*converted_.back()) : inputs_[i]);
    }
  }

  /// Where the tensors go that the caller gets.
  void make_places() {
    const auto keep = [&](std::int32_t index, std::int64_t count) {
      const ModelTensor& tensor = model_.tensor(index);
      auto& place = trace_.tensors[static_cast<std::size_t>(index)];
      if (!place) place = batched_ ? Tensor(tensor.type, with_samples(tensor.shape, count)) : Tensor();
    };
    for (const auto index : model_.outputs) keep(index, samples_);
    if (!options_.keep_all) return;
    const std::int64_t kept = options_.keep_samples > 0 ? std::min(options_.keep_samples, samples_) : samples_;
    for (const auto index : model_.inputs) keep(index, kept);
    for (const State& state : model_.states) keep(state.before, kept);
    for (const auto& operation : model_.operations) {
      for (const auto index : operation.outputs) keep(index, kept);
    }
  }

  void run_samples(std::int64_t first, std::int64_t last) {
    SampleTensors tensors(model_.tensors.size());
    for (std::int64_t sample = first; sample < last && !ended_; ++sample) {
      if (!batched_ && recycled_.tensors.size() == model_.tensors.size()) tensors.spare = std::move(recycled_.tensors);
      give(tensors, sample);
      Observation observed{std::vector<Events>(trace_.events.size()), std::vector<OperationCost>(trace_.costs.size())};
      try {
        prepared_.run_sample(tensors, options_.keep_all, observed);
      } catch (...) {
        ended_ = true;
        throw;
      }
      std::vector<Tensor> after;
      for (std::size_t i = 0; carries_ && i < carried_.size(); ++i)
        after.push_back(tensors.at(static_cast<std::size_t>(model_.states[i].after), model_));
      keep(tensors, sample);
      std::swap(tensors.own, tensors.spare);
      std::ranges::fill(tensors.own, std::nullopt);
      if (carries_) carried_ = std::move(after);
      add(observed);
    }
  }

  /// The sample's inputs and states.
  void give(SampleTensors& tensors, std::int64_t sample) const {
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      const auto index = static_cast<std::size_t>(model_.inputs[i]);
      if (batched_ || given_[i].tensor() == nullptr) tensors.own[index] = slice_sample(given_[i], model_.tensors[index].shape, sample);
      else tensors.borrowed[index] = given_[i].tensor();
    }
    for (std::size_t i = 0; i < model_.states.size(); ++i)
      tensors.borrowed[static_cast<std::size_t>(model_.states[i].before)] = carries_ ? &carried_[i] : &initial_[i];
  }

  void keep(SampleTensors& tensors, std::int64_t sample) {
    for (std::size_t t = 0; t < trace_.tensors.size(); ++t) {
      if (!trace_.tensors[t]) continue;
      if (batched_) keep_sample(*trace_.tensors[t], tensors.at(t, model_), sample);
      else *trace_.tensors[t] = tensors.take(t, model_);
    }
  }

  void add(const Observation& observed) {
    const std::scoped_lock lock(merging_);
    for (std::size_t i = 0; i < observed.events.size(); ++i) trace_.events[i] += observed.events[i];
    for (std::size_t i = 0; i < observed.costs.size(); ++i) {
      trace_.costs[i].seconds += observed.costs[i].seconds;
      trace_.costs[i].sums += observed.costs[i].sums;
    }
  }

  const Prepared& prepared_;
  const Model& model_ = prepared_.model();
  std::span<const TensorView> inputs_;
  const RunOptions& options_;
  Trace recycled_;

  std::vector<std::optional<Tensor>> converted_;  ///< inputs of another type than the model's
  std::vector<TensorView> given_;                 ///< the inputs in the model's types
  std::int64_t samples_ = 1;
  bool batched_ = false;
  const bool carries_ = !model_.states.empty() && options_.states == StatesBetweenSamples::carried;
  const std::vector<Tensor> initial_ = prepared_.initial_states();
  std::vector<Tensor> carried_ = initial_;
  Trace trace_{std::vector<std::optional<Tensor>>(model_.tensors.size()), {}, std::string(host_path())};
  std::mutex merging_;
  std::atomic<bool> ended_ = false;  ///< by an exception, which the other threads need not wait for
};

Trace Emulator::run(std::span<const Tensor> inputs, const RunOptions& options, Trace recycled) const {
  return run(std::vector<TensorView>(inputs.begin(), inputs.end()), options, std::move(recycled));
}

Trace Emulator::run(std::span<const TensorView> inputs, const RunOptions& options, Trace recycled) const {
  return Prepared::Run(*prepared_, inputs, options, std::move(recycled)).finish();
}

std::vector<Tensor> Emulator::run_operation(std::size_t operation, std::span<const Tensor* const> inputs, Events* events) const {
  const Operation& at = model().operations[operation];
  std::vector<const Tensor*> all(inputs.begin(), inputs.end());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto index = at.inputs[i];
    if (all[i] == nullptr && index != absent_tensor) all[i] = &*model().tensor(index).constant;
  }
  auto outputs = allocate_outputs(model(), at, {});
  in_layer(model(), operation, [&] { prepared_->executors[operation]({all, outputs, events}); });
  return outputs;
}

std::vector<std::size_t> float32_operations(const Model& model, const Device& device) {
  const Backend& backend = device.backend;
  std::vector<std::size_t> list;
  if (backend.domain == Domain::real) return list;
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    const Operation& operation = model.operations[i];
    if (is_movement(operation.kind) || is_float16_operation(model, operation, backend)) continue;
    if (placement_by_name(model, i, backend) != nullptr) continue;
    if (is_float32_operation(model, operation, backend)) list.push_back(i);
  }
  return list;
}

std::vector<Diagnostic> check(const Model& model, const Device& device) {
  const Backend& backend = device.backend;
  try {
    const Emulator emulator(model, backend);
  } catch (const MemoryRefused&) {
    throw;
  } catch (const Error& error) {
    return error.diagnostics();
  }
  return {};
}

Trace run(const Model& model, const Device& device, std::span<const Tensor> inputs, const RunOptions& options) {
  const Backend& backend = device.backend;
  return Emulator(model, backend).run(inputs, options);
}

}  // namespace lastbit
