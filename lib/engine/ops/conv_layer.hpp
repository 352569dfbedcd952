// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// conv2d, depthwise_conv2d, transposed_conv2d and fully_connected as what they are to the arithmetic: one sum for every output, and a chain.
// The emulator runs it; explain, prove, identify and shrink look into it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/operands.hpp"
#include "engine/ops/convolution.hpp"
#include "lastbit/backend.hpp"
#include "lastbit/model.hpp"
#include "lastbit/op/conv2d.hpp"

namespace lastbit {

/// What registers make of the sum of a window's data, which joins every sum over the window: (codes) * multiplier / 2^shift.
struct DataTerm {
  ScaleRegister factor{};
  Rounding rounding{};
  std::int64_t padding_sum = 0;  ///< of a window that holds nothing but padding

  /// Of the window's centred values; padding is 0 of them.
  [[nodiscard]] std::int64_t operator()(std::int64_t centred) const {
    return narrow_saturate(shift_right(Int128{centred + padding_sum} * factor.multiplier, factor.shift, rounding), 64);
  }
};

struct ConvLayer {
  ConvShape shape;
  Direction direction = Direction::forward;
  ConvArithmetic arithmetic;              ///< the device's, as it lowers scales per channel
  std::vector<std::int16_t> weights;      ///< [out_channels, kernel_height, kernel_width, group channels], zero points subtracted
  std::vector<std::int64_t> bias;         ///< as the device stores it: empty, one per channel, or one per output position
  std::vector<std::int64_t> multipliers;  ///< of rows: empty, or one per channel
  std::vector<RescaleOperands> operands;  ///< of the chain: one, or one per channel; empty where the sums themselves are delivered
  std::vector<std::int64_t> zero_points;  ///< of the input
  ElementType input_type = ElementType::int16;
  std::int64_t largest_input = 0;                ///< magnitude of a value minus its zero point, by the input's type
  std::vector<RescaleOperands> term_operands{};  ///< of the chain that products pass: one, or one per channel; empty: they are the terms

  std::optional<DataTerm> data_term{};  ///< of a layer that states cross terms: its zero point is that of the padding alone
  SegmentTable segments{};              ///< those that the operands view
  CodeZeros code_zeros{};               ///< what was subtracted; read where partial sums are of codes

  [[nodiscard]] bool delivers_sums() const { return operands.empty(); }
  [[nodiscard]] std::int64_t multiplier(std::int64_t channel) const {
    return multipliers.empty() ? 1 : multipliers[static_cast<std::size_t>(channel)];
  }
  [[nodiscard]] const RescaleOperands& operands_of(std::int64_t channel) const { return of_channel(operands, channel); }
  [[nodiscard]] TermRule term_rule(std::int64_t channel) const {
    if (term_operands.empty()) return term_rule_of(arithmetic.sum.accumulator, code_zeros, channel);
    return {&arithmetic.sum.operand.chain, &of_channel(term_operands, channel)};
  }

 private:
  [[nodiscard]] static const RescaleOperands& of_channel(const std::vector<RescaleOperands>& all, std::int64_t channel) {
    return all[all.size() == 1 ? 0 : static_cast<std::size_t>(channel)];
  }
};

/// conv2d, depthwise_conv2d, transposed_conv2d, fully_connected with constant weights.
[[nodiscard]] bool is_conv_layer(OperationKind kind);

/// The sizes of a layer, of fully_connected as of a convolution of one row; of matmul for each matrix of its batch.
[[nodiscard]] ConvShape sum_shape_of(const Model& model, const Operation& operation);

/// Throws Error(unsupported_operation) for what the backend cannot do.
[[nodiscard]] ConvLayer conv_layer(const Model& model, const Operation& operation, const Backend& backend);

/// Its sums of products, with what is proven about them; of a layer without cross terms all of its sums.
[[nodiscard]] Convolution convolution_of(ConvLayer layer);

/// All that a layer sums up: its products, and the data of each window where the layer states cross terms.
class LayerSums {
 public:
  explicit LayerSums(ConvLayer layer);
  /// As of Convolution.
  void for_each_tile(const ConvInput& input, const ReceiveSums& receive, Events* events, SumRoutes* routes,
                     const OutputsByLines* by_lines = nullptr) const;
  [[nodiscard]] std::vector<std::int64_t> all(const ConvInput& input) const;
  [[nodiscard]] PackedLines packed(const ChannelLines& lines) const { return products_.packed(lines); }
  [[nodiscard]] int accumulator_bits() const { return data_term_ ? width_of_sums(rule_) : products_.accumulator_bits(); }

 private:
  AccumulatorRule rule_;
  std::optional<DataTerm> data_term_;
  std::optional<Convolution> windows_;  ///< one output for each group of channels, every weight 1
  Convolution products_;
};

/// What a matmul's operand chain takes, for every scale of its second factor; empty where it has no such chain.
[[nodiscard]] std::vector<RescaleOperands> matmul_term_operands(const Model& model, const Operation& operation, const Backend& backend);

/// The sums of fused_conv2d before its pool and its activation, and the windows of its pool over them.
[[nodiscard]] ConvLayer fused_sums(const Model& model, const Operation& operation, const Backend& backend);
[[nodiscard]] ConvShape fused_shape(const Model& model, const Operation& operation);
[[nodiscard]] ConvShape fused_windows(const Model& model, const Operation& operation);

/// The sums of one vector of a recurrent layer, over the present input and an earlier output (op/recurrent.hpp).
[[nodiscard]] ConvLayer recurrent_sums(const Model& model, const Operation& operation, const Backend& backend);

/// The layer's input, zero points subtracted.
[[nodiscard]] std::vector<std::int32_t> centred_input(const ConvLayer& layer, const Tensor& input);

/// Which output the element `index` of the output tensor is.
[[nodiscard]] ConvIndex output_at(const ConvShape& shape, std::int64_t index);

/// The sum of one output, step by step.
[[nodiscard]] Accumulator accumulate(const ConvLayer& layer, std::span<const std::int32_t> input, const ConvIndex& at);

/// One product of a sum, in the device's order.
struct ConvTerm {
  std::size_t input = 0, weight = 0;  ///< offsets into the centred input and into ConvLayer::weights
};
/// `runs`, where given, receives the number of terms before the start of every run of terms that lie side by side; only then are there terms whose
/// input is `in_padding`, and only of a rule whose runs hold padding.
[[nodiscard]] std::vector<ConvTerm> terms_of(const ConvLayer& layer, const ConvIndex& at, std::vector<std::size_t>* runs = nullptr);

}  // namespace lastbit
