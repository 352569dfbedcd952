// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One convolution-like layer with what the device made of it, ready to be summed by any rule and finished by any chain.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "analysis/identify/space.hpp"
#include "engine/ops/conv_layer.hpp"
#include "lastbit/identify.hpp"

namespace lastbit {

/// Operands of a chain with one effective scale, or one per channel, in the encoding of a rule.
class ChannelScales {
 public:
  ChannelScales() = default;
  /// The layer prepared in each ScaleArithmetic, and what it states of its registers.
  ChannelScales(std::span<const ConvLayer> layers, std::vector<ScaleRegister> registers);

  /// The scale of every channel, encoded, or as the registers state it; nullptr where the encoding does not hold one of them. `number` is the encoding's own, by
  /// which it is found again. For any thread.
  [[nodiscard]] const std::vector<EncodedScale>* encoded(const ScaleEncoding& encoding, std::size_t number) const;
  [[nodiscard]] std::vector<RescaleOperands> all(const std::vector<EncodedScale>& scales) const;
  /// With its scale in this encoding, of this channel alone; nothing where that does not hold it.
  [[nodiscard]] std::optional<RescaleOperands> operands(std::int64_t channel, const ScaleEncoding& encoding) const;
  /// With the scale of some encoding.
  [[nodiscard]] RescaleOperands operands(std::int64_t channel, const std::vector<EncodedScale>& scales) const {
    RescaleOperands operands = operands_[operands_.size() == 1 ? 0 : index(channel)];
    operands.scale = scales[index(channel)];
    return operands;
  }
  /// Those of any channel of this layer, made those of another.
  void move_to(std::int64_t channel, const std::vector<EncodedScale>& scales, RescaleOperands& operands) const {
    if (operands_.size() > 1) operands = operands_[index(channel)];
    operands.scale = scales[index(channel)];
  }
  [[nodiscard]] bool differ_in_scale_alone() const { return operands_.size() == 1; }
  [[nodiscard]] std::size_t index(std::int64_t channel) const { return real_[0].size() == 1 ? 0 : static_cast<std::size_t>(channel); }

 private:
  [[nodiscard]] EncodedScale encoded_one(const ScaleEncoding& encoding, std::size_t channel) const;
  [[nodiscard]] bool is_held(const ScaleEncoding& encoding, const EncodedScale& scale) const;

  std::vector<std::vector<double>> real_;  ///< by ScaleArithmetic
  std::vector<double> largest_;            ///< of each of these
  std::vector<ScaleRegister> registers_;
  std::vector<RescaleOperands> operands_;  ///< by channel, or one where channels differ in their scales at most
  struct Encoded {
    bool held = false;
    std::vector<EncodedScale> scales;
  };
  struct Known {
    std::mutex finding;
    std::map<std::size_t, Encoded> all;                         ///< by number
    std::array<std::atomic<const Encoded*>, 1024> by_number{};  ///< the same once they are found, of as many numbers
  };
  [[nodiscard]] const Encoded& find(const ScaleEncoding& encoding, std::size_t number) const;

  std::unique_ptr<Known> known_ = std::make_unique<Known>();
};

/// The layer, with an input, as one way to lower per-channel scales makes it.
class ConvVariant {
 public:
  ConvVariant(const Model& model, const Operation& operation, PerChannelLowering lowering);

  [[nodiscard]] const ConvLayer& layer() const { return layer_; }
  [[nodiscard]] const ChannelScales& scales() const { return scales_; }
  [[nodiscard]] const std::vector<std::int64_t>& given_bias() const { return given_bias_; }

  /// Centred; as large as the layer's.
  void set_input(std::vector<std::int32_t> input);
  /// The sum of one output.
  [[nodiscard]] std::int64_t sum(const SumRules& rules, std::int64_t index) const;
  /// Bits that no partial sum of the output leaves, in any order.
  [[nodiscard]] int bits(std::int64_t index) const;

 private:
  struct Terms {
    std::int64_t sum = 0, magnitude = -1;  ///< -1: not yet known
  };
  [[nodiscard]] const Terms& terms(std::int64_t index) const;
  [[nodiscard]] const std::vector<std::int64_t>& bias(const SumRules& rules) const;

  mutable ConvLayer layer_;  ///< its bias and rules are those of the sum asked for last
  ChannelScales scales_;
  std::vector<std::int64_t> given_bias_;
  std::vector<std::int32_t> input_;
  mutable std::map<std::pair<int, Rounding>, std::vector<std::int64_t>> biases_;
  mutable std::vector<Terms> terms_;
};

/// A pair, judged by some of its outputs or by all.
struct ConvData {
  /// `outputs` in order; none: all of them.
  explicit ConvData(const IdentifyPair& pair, std::vector<std::int64_t> outputs = {});

  [[nodiscard]] const ConvVariant& variant(PerChannelLowering lowering) const {
    return variants[lowering == PerChannelLowering::requantized_to_tensor && variants.size() > 1 ? 1 : 0];
  }
  [[nodiscard]] bool is_whole() const { return std::ssize(outputs) == variants[0].layer().shape.out_count(); }
  [[nodiscard]] std::int64_t channel(std::int64_t index) const { return index % variants[0].layer().shape.out_channels; }

  std::vector<ConvVariant> variants;   ///< native; and requantized_to_tensor where scales are per channel
  std::vector<std::int64_t> outputs;   ///< that are judged
  std::vector<std::int64_t> expected;  ///< of these
};

[[nodiscard]] SpaceScope scope_of(const IdentifyPair& pair);

/// A backend all of whose convolution-like operations follow one arithmetic.
[[nodiscard]] Backend backend_of(const ConvArithmetic& arithmetic);

/// The rules by which a backend computes the layer.
[[nodiscard]] const ConvArithmetic* arithmetic_in(const Model& layer, const Backend& backend);

/// What an output is compared by: an integer, or the bits of a float32.
[[nodiscard]] std::int64_t comparable_at(const Tensor& tensor, std::int64_t index);
[[nodiscard]] std::vector<std::int64_t> comparables_of(const Tensor& tensor);

}  // namespace lastbit
