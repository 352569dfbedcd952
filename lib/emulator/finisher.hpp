// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A chain with the operands of every channel, applied to rows of accumulators.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "lastbit/arith/rescale.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

class Finisher {
 public:
  Finisher() = default;
  /// `operands` has one entry for all channels or one per channel. `accumulator_bits` bounds the values that will come in.
  Finisher(const Chain& chain, std::vector<RescaleOperands> operands, int accumulator_bits);

  /// Finishes values laid out [rows, channels] in place. Same bits as finish() of arith/rescale.hpp on each.
  void operator()(std::span<std::int64_t> values, Events* events = nullptr) const;

  /// Finishes sums laid out [rows, channels] into `output`, whose type holds the finished values, from element `offset` on. For any thread.
  void operator()(std::span<const std::int32_t> sums, Tensor& output, std::size_t offset, Events* events) const;
  void operator()(std::span<const std::int64_t> sums, Tensor& output, std::size_t offset, Events* events) const;

 private:
  /// One stage with what it needs from every channel, for 64-bit arithmetic.
  struct WideStage {
    Stage stage;
    std::vector<std::int64_t> factor;  ///< multiplier
    std::vector<int> amount;           ///< shift
  };
  bool plan_64_bit(int accumulator_bits);
  void run_stage(const WideStage& wide, std::span<std::int64_t> values) const;
  void run_reference(std::span<std::int64_t> values, Events* events) const;

  Chain chain_;
  std::vector<RescaleOperands> operands_;
  std::vector<WideStage> plan_;  ///< empty: no proof that 64 bits suffice, so the 128-bit reference runs
};

/// Copies finished values, which fit its type, into a tensor from `offset` on.
void store(std::span<const std::int64_t> values, Tensor& tensor, std::size_t offset = 0);
void store(std::span<const std::int32_t> values, Tensor& tensor, std::size_t offset = 0);

}  // namespace lastbit
