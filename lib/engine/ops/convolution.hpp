// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The sums of conv2d, depthwise_conv2d, transposed_conv2d, fully_connected and matmul, by the route that the proof allows.
//
// A sum that cannot leave its width is the same in any order. That is proven for a channel from its weights, its bias and what the input's
// type can hold; else from what this input holds; else for every output by itself, from the positive and the negative part of its very sum.
// What is proven, or by its rule does not depend on the order, is added up by the fast kernels; the rest is followed term by term.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "engine/ops/conv_input.hpp"
#include "engine/ops/conv_weights.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/op/conv2d.hpp"

namespace lastbit {

enum class Direction : std::uint8_t { forward, transposed };

/// The forward convolution that has the same sums: a transposed one is one over its input with zeros between neighbours, the kernel turned round.
[[nodiscard]] ConvGeometry forward_geometry(const ConvShape& shape, Direction direction);

/// Sums of consecutive outputs, whole pixels of them; one of the two spans holds them.
struct SumTile {
  std::size_t first = 0;  ///< index of the first output
  std::span<const std::int32_t> narrow;
  std::span<const std::int64_t> wide;
  Events* events = nullptr;  ///< the receiver's own, null unless counted
};
using ReceiveSums = std::function<void(const SumTile&)>;

/// Where a layer's outputs are bytes of which lines say what they are, tiles of proven sums make them themselves and deliver nothing.
struct OutputsByLines {
  const PackedLines& lines;
  std::int8_t* outputs;  ///< of the layer; they receive the low bits
  /// What the chain makes of a sum of a channel that the lines leave open.
  std::function<std::int8_t(std::size_t channel, std::int32_t sum)> decide;
};

/// Weights and bias of one layer, centred, with what is proven about their sums.
class Convolution {
 public:
  /// `weights` [out_channels, kernel_height, kernel_width, group channels], zero points subtracted; `bias` empty, one per channel, or one per
  /// output position; `input` is the type of the data and `largest_input` bounds the magnitude of its centred values; `multipliers` empty or
  /// one per channel, from 0 to 255 and with weights of 8 bits; `term_operands` those of the operand chain where there is one; `zeros`: what makes
  /// codes of centred values, read where partial sums are of codes.
  Convolution(const ConvShape& shape, Direction direction, const ConvArithmetic& arithmetic, std::vector<std::int16_t> weights,
              std::vector<std::int64_t> bias, ElementType input, std::int64_t largest_input, std::vector<std::int64_t> multipliers = {},
              std::vector<RescaleOperands> term_operands = {}, CodeZeros zeros = {});

  /// Every sum, in tiles that come in any order and from any of the run's threads. `input` has the type given to the constructor.
  void for_each_tile(const ConvInput& input, const ReceiveSums& receive, Events* events, SumRoutes* routes,
                     const OutputsByLines* by_lines = nullptr) const;
  /// All of them at once, [batch, out_height, out_width, out_channels].
  void sums(const ConvInput& input, std::span<std::int64_t> out, Events* events, SumRoutes* routes = nullptr) const;

  /// For sums of 32 bits, whose products are of bytes where they can be.
  [[nodiscard]] PackedLines packed(const ChannelLines& lines) const { return pack_lines(bytes_.bytes.empty() ? words_ : bytes_, lines); }

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  /// Width that every sum fits.
  [[nodiscard]] int accumulator_bits() const { return accumulator_bits_; }

 private:
  friend class ConvolutionRun;
  [[nodiscard]] bool is_one_tile() const;
  void fold_multipliers();
  void prove(std::int64_t largest_input);
  void pack(const std::vector<std::int16_t>& weights);
  void pack_wide(const std::vector<std::int16_t>& weights);
  [[nodiscard]] bool drops_no_term() const;
  [[nodiscard]] bool sums_pairs_of_codes() const;
  /// Whether no partial sum of the channel can leave its width.
  [[nodiscard]] bool partial_sums_fit(std::size_t channel, const IntegerRange& range) const;
  [[nodiscard]] std::pair<std::int64_t, std::int64_t> bias_range(std::size_t channel) const;
  [[nodiscard]] std::int64_t multiplier(std::size_t channel) const { return multipliers_.empty() ? 1 : multipliers_[channel]; }
  [[nodiscard]] const AccumulatorRule& rule() const { return arithmetic_.sum.accumulator; }
  [[nodiscard]] TermRule term_rule(std::size_t channel) const {
    if (term_operands_.empty()) return term_rule_of(rule(), zeros_, static_cast<std::int64_t>(channel));
    return {&arithmetic_.sum.operand.chain, &term_operands_[term_operands_.size() == 1 ? 0 : channel]};
  }
  /// Whether no sum of the channel can leave the accumulator, in any order.
  [[nodiscard]] bool is_proven(std::size_t channel, const IntegerRange& range) const;
  [[nodiscard]] SumBounds with_bias(std::size_t channel, const IntegerRange& range) const;

  ConvShape shape_;
  Direction direction_;
  ConvArithmetic arithmetic_;
  std::vector<std::int16_t> weights_;  ///< empty where the packed ones serve every input
  std::vector<std::int64_t> bias_;
  std::vector<std::int64_t> multipliers_;
  std::vector<RescaleOperands> term_operands_;  ///< not empty: sums are followed term by term
  ElementType input_type_;
  std::int64_t largest_input_;
  CodeZeros zeros_;  ///< read where partial sums are of codes

  const kernels::Path* path_;
  ConvGeometry geometry_;  ///< of the equal forward convolution
  WeightSums weight_sums_;
  bool proven_by_types_ = false;  ///< of all channels
  int accumulator_bits_ = 64;
  PackedWeights bytes_, words_, magnitudes_;  ///< those that can be asked for
  PackedWeights pairs_;                       ///< bytes for pairs of codes, each of which saturates; empty: no kernel follows the rule
  /// Sums of more than 32 bits are made of parts that fit them, cut at these groups: of words_, or of low and high bytes of the weights.
  std::vector<std::size_t> cuts_;
  PackedWeights low_, high_;                ///< w = low + 256 high; empty where words_ serve
  std::vector<std::int16_t> step_weights_;  ///< [group][tap][channels in whole vectors]
  std::size_t step_row_ = 0;
  bool step_products_fit_words_ = false;
};

}  // namespace lastbit
