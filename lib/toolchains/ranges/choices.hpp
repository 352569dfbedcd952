// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where quantisers take ranges from: given from outside (lastbit/ranges.hpp), else what calibration saw. It remembers what was asked for,
// what was missing and what was chosen.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "lastbit/ranges.hpp"
#include "toolchains/device_model.hpp"

namespace lastbit {

class RangeChoices {
 public:
  /// `real` is as float_network() makes it; both stay where they are. Throws Error for names that must be the network's and are not, and
  /// where a file that must not gives one tensor two ranges.
  RangeChoices(const Model& real, const RangeFile& given);

  /// What is given for a tensor of the float network, or nullptr.
  [[nodiscard]] const TensorRange* given(std::int32_t tensor);
  /// What is given for a tensor decides nothing.
  void ignore(std::int32_t tensor) { used_.erase(tensor); }
  /// Its magnitude, if it is a range.
  [[nodiscard]] static double magnitude(const TensorRange& range);

  /// Nothing is given for a tensor that needs it: calibration decides, unless it saw nothing, which require_complete() tells.
  void calibrate(std::int32_t tensor, const TensorStatistics& seen);
  void require_complete() const;

  /// Of data, for who wants to give it back.
  void choose(std::int32_t tensor, ClippingRange range);
  void choose(std::int32_t tensor, const Quantization& codes);

  /// A line of the report; said once.
  void note(const std::string& text);

  [[nodiscard]] bool calibrates() const { return !calibrated_.empty(); }
  [[nodiscard]] bool was_asked() const { return asked_; }
  /// What became of what was given; empty where nothing was.
  [[nodiscard]] std::vector<std::string> notes() const;
  [[nodiscard]] std::vector<TensorRange> chosen() const;

 private:
  [[nodiscard]] std::string names_of(const std::set<std::int32_t>& tensors) const;
  [[nodiscard]] std::set<std::int32_t> unused() const;

  const Model& real_;
  const RangeFile& file_;
  std::map<std::int32_t, const TensorRange*> given_;
  std::set<std::int32_t> used_, calibrated_, missing_;
  std::map<std::int32_t, TensorRange> chosen_;
  std::vector<std::string> unknown_, notes_;
  std::size_t contradicted_ = 0;
  bool asked_ = false;
};

/// The scale, as float32, and the zero point that are given, for codes of `type`; uint8 codes are shifted to int8. Throws Error naming the
/// range: another type, several scales, a zero point that the codes cannot have, or none but 0 where `coding` has no other.
[[nodiscard]] Quantization given_codes(const TensorRange& range, ElementType type, Coding coding);

/// What is given for constant weights of int8: their scales, or that of the range's magnitude / 127. Zero points are 0; one scale, or one for
/// each output channel, along `axis`. Throws Error likewise.
[[nodiscard]] Quantization given_weights(const TensorRange& range, const ModelTensor& weights, std::int64_t axis);

/// What decides the codes of tensors that share one quantisation: what is given for any of them, else the hull of what is seen.
class GroupRanges {
 public:
  GroupRanges(RangeChoices& choices, const TensorGroups& groups, std::size_t tensors)
      : choices_(choices), groups_(groups), decided_(tensors) {}

  struct Decided {
    ClippingRange range;
    std::optional<Quantization> codes;  ///< count, in place of the range
    const TensorRange* by = nullptr;    ///< what gives it; nullptr: seen
  };

  /// What is given for `origin`, in the float network, counts for the group of `tensor`. Two scales with zero point 0 join to the wider one,
  /// which is their hull; others must be equal.
  void give(std::int32_t tensor, std::int32_t origin, ElementType type, Coding coding);
  void see(std::int32_t tensor, ClippingRange range) { of(tensor).range = hull(of(tensor).range, range); }
  [[nodiscard]] Decided& of(std::int32_t tensor) { return decided_[static_cast<std::size_t>(groups_.root(tensor))]; }

 private:
  void join_codes(Decided& group, const TensorRange& other, const Quantization& codes);

  RangeChoices& choices_;
  const TensorGroups& groups_;
  std::vector<Decided> decided_;  ///< of each group's root
};

}  // namespace lastbit
