// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A chain with the operands of every channel, applied to rows of accumulators.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/finish_plan.hpp"
#include "engine/kernels/kernels.hpp"
#include "lastbit/arith/rescale.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

class Finisher {
 public:
  Finisher() = default;
  /// `operands` has one entry for all channels or one per channel. `accumulator_bits` bounds the values that will come in.
  Finisher(const Chain& chain, std::vector<RescaleOperands> operands, int accumulator_bits,
           const kernels::Path& path = kernels::selected_path());
  /// For codes, which are centred and perhaps shifted before the chain.
  Finisher(const Chain& chain, std::vector<RescaleOperands> operands, const FinisherInput& input,
           const kernels::Path& path = kernels::selected_path());

  /// Finishes values laid out [rows, channels] in place. Same bits as finish() of arith/rescale.hpp on each.
  void operator()(std::span<std::int64_t> values, Events* events = nullptr) const;

  /// Finishes sums laid out [rows, channels] into `output`, whose type holds the finished values, from element `offset` on. For any thread.
  void operator()(std::span<const std::int32_t> sums, Tensor& output, std::size_t offset, Events* events) const;
  void operator()(std::span<const std::int64_t> sums, Tensor& output, std::size_t offset, Events* events) const;

  /// The same for codes of any integer type, [rows, channels], to be stored as integers of `out_size` bytes, which receive the low bits.
  void operator()(const void* codes, ElementType type, std::size_t count, void* out, std::size_t out_size, Events* events) const;
  /// A whole tensor of codes, shared among the threads of the run.
  void operator()(const Tensor& codes, Tensor& output, Events* events) const;

  [[nodiscard]] std::size_t channels() const { return channels_; }
  /// Whether the path's vectors run it, and not the definition value by value.
  [[nodiscard]] bool is_planned() const { return plans_.plan.has_value(); }

 private:
  /// How rows are finished, and how where events are counted.
  struct Plans {
    std::optional<OwnedFinishPlan> plan;     ///< nothing: no proof that the steps suffice, so the definition runs
    std::optional<OwnedFinishPlan> counted;  ///< where that one hides what stages wrap; nothing: the definition counts

    Plans() = default;
    Plans(const Chain& chain, std::span<const RescaleOperands> operands, const FinisherInput& input, std::size_t lanes);
    [[nodiscard]] const std::optional<OwnedFinishPlan>& of(const Events* events) const {
      return events != nullptr && plan && plan->hides_wraps ? counted : plan;
    }
    [[nodiscard]] bool need_definition() const { return !plan || (plan->hides_wraps && !counted); }
  };

  void run(const Plans& plans, kernels::FinishWork work, Events* events) const;
  void run_reference(const kernels::FinishWork& work) const;

  Chain chain_;
  std::size_t channels_ = 0;
  std::vector<RescaleOperands> operands_;  ///< empty where plans run everything
  const kernels::Path* path_ = nullptr;
  Plans plans_;
  Plans plans_32_bit_;  ///< for sums of 32 bits, where the accumulator has more
  FinisherInput input_;
  bool has_32_bit_plans_ = false;
};

/// Copies finished values, which fit its type, into a tensor from `offset` on.
void store(std::span<const std::int64_t> values, Tensor& tensor, std::size_t offset = 0);
void store(std::span<const std::int32_t> values, Tensor& tensor, std::size_t offset = 0);

}  // namespace lastbit
