// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Check a model against a backend, run it, get the trace.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/dequantize.hpp"
#include "lastbit/device.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model.hpp"
#include "lastbit/tensor_view.hpp"

namespace lastbit {

/// What was seen while one operation was computed; counted only when asked for.
struct Events {
  std::int64_t accumulator_overflows = 0;  ///< running sums that left the accumulator's width
  std::int64_t saturated_outputs = 0;      ///< outputs moved by the bounds of the element type or the activation
  std::int64_t outputs = 0;                ///< outputs computed
  std::int64_t saturated_stages = 0;       ///< times that a chain narrowed a value by saturating, before the bounds of the output
  std::int64_t wrapped_stages = 0;         ///< times that a chain narrowed a value by wrapping and so made another one of it

  Events& operator+=(const Events& other) {
    accumulator_overflows += other.accumulator_overflows;
    saturated_outputs += other.saturated_outputs;
    outputs += other.outputs;
    saturated_stages += other.saturated_stages;
    wrapped_stages += other.wrapped_stages;
    return *this;
  }
};

/// How the sums of one operation were found, in outputs. A sum that cannot leave its accumulator is the same in any order.
struct SumRoutes {
  std::int64_t order_free = 0;        ///< nothing to prove: the rule narrows once, or modulo a power of two
  std::int64_t proven_by_type = 0;    ///< no input of its type can make a sum of the channel leave
  std::int64_t proven_by_input = 0;   ///< none within the range of this input
  std::int64_t proven_by_output = 0;  ///< the positive and the negative part of this very sum stay inside
  std::int64_t step_by_step = 0;      ///< followed in the device's order

  SumRoutes& operator+=(const SumRoutes& other) {
    order_free += other.order_free;
    proven_by_type += other.proven_by_type;
    proven_by_input += other.proven_by_input;
    proven_by_output += other.proven_by_output;
    step_by_step += other.step_by_step;
    return *this;
  }
};

/// What computing one operation took, over all samples; of several threads the times are added up.
struct OperationCost {
  double seconds = 0;
  SumRoutes sums;  ///< all 0 for an operation that is no sum of products
};

/// A batch of samples is a sequence of calls. carried: a state goes from one to the next, as in an interpreter that is not reset, so they are
/// computed one after the other. reset: every sample begins with the states at 0.
enum class StatesBetweenSamples : std::uint8_t { carried, reset };

/// How a model is run; none of these changes a bit of a result.
struct RunOptions {
  int threads = 1;        ///< samples, or parts of operations, are shared among threads; never changes a bit
  bool keep_all = false;  ///< keep every tensor, not only the model's outputs
  bool count_events = false;
  bool measure = false;           ///< fill Trace::costs
  std::int64_t keep_samples = 0;  ///< of a batch, how many samples keep_all keeps of tensors that are no outputs; 0: all
  StatesBetweenSamples states = StatesBetweenSamples::carried;  ///< of models that have states
};

/// Every tensor of a run by its index in the model; absent ones were constants or not kept.
/// With a batch of N samples each tensor carries N, or the number of samples kept, as an extra leading dimension.
struct Trace {
  std::vector<std::optional<Tensor>> tensors;
  std::vector<Events> events;          ///< one per operation; empty unless counted
  std::string path;                    ///< the host path that computed it
  std::vector<OperationCost> costs{};  ///< one per operation; empty unless measured
};

/// What keeps a backend from running a model: unsupported operations, types, quantisations. Empty: it can run.
[[nodiscard]] std::vector<Diagnostic> check(const Model& model, const Device& device);

/// Operations, by index, whose tensors are float32 and which a device's sheet therefore leaves to the golden path: of a network that was not
/// quantised for it. Nothing in their results is the device's arithmetic. None for a backend of the real domain; movement is none either.
[[nodiscard]] std::vector<std::size_t> float32_operations(const Model& model, const Device& device);

/// A model prepared for a backend: weights centred, scales encoded. Running cannot fail once constructed, given matching inputs.
class Emulator {
 public:
  /// Throws Error with the diagnostics of check(). `model` must outlive the emulator.
  Emulator(const Model& model, const Device& device);
  ~Emulator();
  Emulator(Emulator&&) noexcept;
  Emulator& operator=(Emulator&&) noexcept;

  /// Inputs in the model's order, each of the model's shape or with one extra leading dimension of N samples (the same N for all).
  /// Float inputs of a quantised tensor are quantised by the backend's rule; the real domain takes quantised inputs and dequantises them.
  /// Throws Error(shape_mismatch | type_mismatch) naming the input.
  /// `recycled` is a trace of an earlier run that nobody needs any more: its memory is used again.
  [[nodiscard]] Trace run(std::span<const Tensor> inputs, const RunOptions& options = {}, Trace recycled = {}) const;
  /// The same of values that lie anywhere: a sample at a time is brought to where the kernels want it.
  [[nodiscard]] Trace run(std::span<const TensorView> inputs, const RunOptions& options = {}, Trace recycled = {}) const;

  /// One operation on the given data tensors (null for constants and absent ones): what this backend makes of another's inputs.
  [[nodiscard]] std::vector<Tensor> run_operation(std::size_t operation, std::span<const Tensor* const> inputs,
                                                  Events* events = nullptr) const;

  /// The model as this backend sees it: the user's own, or its dequantised form in the real domain.
  [[nodiscard]] const Model& model() const;

  /// Of Backend::elsewhere the one that computes an operation; null: the device itself does.
  [[nodiscard]] const Placement* placement(std::size_t operation) const;

 private:
  struct Observation;
  struct SampleTensors;
  struct Prepared;
  std::unique_ptr<Prepared> prepared_;
};

/// Backend::elsewhere for this network: every layer by its name, and no fallback left. Throws Error as the emulator does.
[[nodiscard]] Placements placements_for(const Model& model, const Device& device);

/// What reports say of Backend::elsewhere, a line for each that computes anything: "beside vipnano_v8, float computes 2 of 31 operations:
/// softmax 'prob' (30), …", with the operations' numbers. Throws Error as the emulator does.
[[nodiscard]] std::vector<std::string> computed_elsewhere(const Model& model, const Device& sheet);

/// Convenience: construct and run.
[[nodiscard]] Trace run(const Model& model, const Device& device, std::span<const Tensor> inputs, const RunOptions& options = {});

/// The host path in use: LASTBIT_PATH if set (Error(unavailable_path) if this machine lacks it), else the best available.
[[nodiscard]] std::string_view host_path();
/// Every path compiled in that this machine can run, slowest first.
[[nodiscard]] std::vector<std::string_view> available_host_paths();

}  // namespace lastbit
