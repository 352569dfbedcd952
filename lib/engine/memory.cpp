// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/memory.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <limits>

#include "engine/operation_memory.hpp"
#include "lastbit/one_operation.hpp"

namespace lastbit {
namespace {

std::atomic<std::size_t> budget{0};

/// One network on one backend. Bytes are added up as doubles: exact up to 2^53, and nothing that a file says can overflow.
class Summing {
 public:
  Summing(const Model& model, const Backend& backend, const RunOptions& options, std::int64_t samples)
      : model_(model), backend_(backend), options_(options), samples_(static_cast<double>(samples)) {
    const bool carries = !model.states.empty() && options.states == StatesBetweenSamples::carried;
    workers_ = carries ? 1 : static_cast<double>(std::min<std::int64_t>(options.threads, samples));
  }

  MemoryNeed need() {
    find_last_uses();
    MemoryNeed need;
    double largest = 0, together = 0, thread = 0;
    live_ = sum_of(model_.inputs);
    for (const State& state : model_.states) live_ += bytes_of(state.before);
    for (std::size_t i = 0; i < model_.operations.size(); ++i) {
      const OperationMemory work = work_of(model_.operations[i]);
      live_ += sum_of(model_.operations[i].outputs);
      const double here = workers_ * (live_ + work.run);
      prepared_ += work.prepared;
      together = std::max(together, here);
      thread = std::max(thread, work.thread);
      if (here + options_.threads * work.thread > largest) {
        largest = here + options_.threads * work.thread;
        need.operation = i;
      }
      release(i);
    }
    const double all = constants() + prepared_ + kept() + together + options_.threads * thread;
    constexpr double most = 0x1p63;
    need.bytes = static_cast<std::size_t>(std::min(all, most));
    return need;
  }

 private:
  /// Whoever computes it: in the device's place it is a copy of the operation, with float copies of what it reads and delivers.
  [[nodiscard]] OperationMemory work_of(const Operation& operation) const {
    OperationMemory most = memory_of(model_, operation, backend_);
    for (const Placement& placement : backend_.elsewhere.list()) {
      OperationMemory other = memory_of(model_, operation, placement.sheet.backend);
      for (const auto* list : {&operation.inputs, &operation.outputs}) {
        for (const std::int32_t index : *list) {
          if (index == absent_tensor) continue;
          const double real = sizeof(float) * static_cast<double>(model_.tensor(index).shape.element_count());
          if (model_.tensor(index).constant) other.prepared += 2 * real;
          else other.run += 2 * real;
        }
      }
      most = {std::max(most.prepared, other.prepared), std::max(most.run, other.run), std::max(most.thread, other.thread)};
    }
    return most;
  }

  [[nodiscard]] double bytes_of(std::int32_t index) const {
    const ModelTensor& tensor = model_.tensor(index);
    const double size = backend_.domain == Domain::real ? sizeof(float) : static_cast<double>(size_of(tensor.type));
    return size * static_cast<double>(tensor.shape.element_count());
  }

  [[nodiscard]] double sum_of(const std::vector<std::int32_t>& indices) const {
    double sum = 0;
    for (const std::int32_t index : indices) sum += index == absent_tensor ? 0 : bytes_of(index);
    return sum;
  }

  /// As they were read and, on the golden path, as real values.
  [[nodiscard]] double constants() const {
    double sum = 0;
    for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
      const ModelTensor& tensor = model_.tensors[i];
      if (!tensor.constant) continue;
      sum += static_cast<double>(tensor.constant->bytes().size());
      if (backend_.domain == Domain::real) sum += bytes_of(static_cast<std::int32_t>(i));
    }
    return sum;
  }

  /// Inputs as they were given and as the model takes them, what the caller gets, and what one sample leaves for the next to write over.
  [[nodiscard]] double kept() const {
    double inputs = sum_of(model_.inputs), outputs = sum_of(model_.outputs), all = inputs, states = 0;
    for (const State& state : model_.states) states += bytes_of(state.before);
    for (const Operation& operation : model_.operations) all += sum_of(operation.outputs);
    const bool some = options_.keep_samples > 0 && static_cast<double>(options_.keep_samples) < samples_;
    double given = inputs;
    for (const std::int32_t input : model_.inputs) given += sizeof(float) * static_cast<double>(model_.tensor(input).shape.element_count());
    double sum = samples_ * (given + outputs) + workers_ * (inputs + outputs + 2 * states) + 2 * states;
    if (options_.keep_all && samples_ > 1) sum += (some ? static_cast<double>(options_.keep_samples) : samples_) * (all + states);
    return sum;
  }

  void find_last_uses() {
    const std::size_t never = model_.operations.size();
    last_use_.assign(model_.tensors.size(), never);
    for (std::size_t i = 0; i < never; ++i) {
      for (const std::int32_t index : model_.operations[i].inputs)
        if (index != absent_tensor) last_use_[static_cast<std::size_t>(index)] = i;
    }
    for (const std::int32_t index : model_.outputs) last_use_[static_cast<std::size_t>(index)] = never;
    for (const State& state : model_.states) last_use_[static_cast<std::size_t>(state.after)] = never;
  }

  /// What nobody reads after operation `i`; a tensor that it reads twice goes once.
  void release(std::size_t i) {
    if (options_.keep_all) return;
    for (const std::int32_t index : model_.operations[i].inputs) {
      if (index == absent_tensor || model_.tensor(index).constant) continue;
      std::size_t& last = last_use_[static_cast<std::size_t>(index)];
      if (last != i) continue;
      last = model_.operations.size();
      live_ -= bytes_of(index);
    }
  }

  const Model& model_;
  const Backend& backend_;
  const RunOptions& options_;
  double samples_, workers_ = 1;
  double live_ = 0, prepared_ = 0;
  std::vector<std::size_t> last_use_;
};

}  // namespace

MemoryNeed memory_need(const Model& model, const Device& device, const RunOptions& options, std::int64_t samples) {
  const Backend& backend = device.backend;
  return Summing(model, backend, options, std::max<std::int64_t>(1, samples)).need();
}

void set_memory_budget(std::size_t bytes) noexcept { budget = bytes; }
std::size_t memory_budget() noexcept { return budget; }

void require_memory(const Model& model, std::span<const MemoryNeed> needs) {
  const std::size_t allowed = memory_budget();
  if (allowed == 0 || needs.empty() || model.operations.empty()) return;
  double all = 0;
  for (const MemoryNeed& need : needs) all += static_cast<double>(need.bytes);
  if (all <= static_cast<double>(allowed)) return;
  const std::size_t worst = std::ranges::max_element(needs, {}, &MemoryNeed::bytes)->operation;
  throw MemoryRefused(ErrorCode::bad_input, "layer " + std::to_string(worst) + ", " + layer_place(model, worst),
                      "here the run needs most: " + bytes_text(static_cast<std::size_t>(std::min(all, 0x1p63))) + " of memory in all; " +
                          bytes_text(allowed) + " are allowed");
}

void require_memory(const Model& model, std::span<const Backend* const> backends, std::int64_t samples, int threads) {
  if (memory_budget() == 0) return;
  std::vector<MemoryNeed> needs;
  for (const Backend* const backend : backends)
    needs.push_back(memory_need(model, *backend, {.threads = threads, .keep_all = true}, samples));
  require_memory(model, needs);
}

void require_memory(const Model& model, std::span<const Backend* const> backends, std::span<const Tensor> inputs, int threads) {
  if (memory_budget() == 0 || inputs.empty() || model.inputs.empty()) return;
  const Shape &given = inputs[0].shape(), &wanted = model.tensor(model.inputs[0]).shape;
  require_memory(model, backends, given.rank() > wanted.rank() ? given[0] : 1, threads);
}

std::string bytes_text(std::size_t bytes) {
  constexpr std::array units{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < units.size()) {
    value /= 1024;
    ++unit;
  }
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), unit == 0 ? "%.0f %s" : "%.1f %s", value, units[unit]);
  return text.data();
}

}  // namespace lastbit
