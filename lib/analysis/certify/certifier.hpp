// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The walk over a network on two backends, layer by layer, with what its tensors can hold.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "analysis/certify/both_sides.hpp"
#include "analysis/certify/every_code.hpp"
#include "analysis/certify/shared_sums.hpp"
#include "lastbit/certify.hpp"

namespace lastbit {

class Certifier {
 public:
  /// Throws Error where a backend cannot run the model, and for a range of data without inputs.
  Certifier(const Model& model, const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs, const CertifyOptions& options);

  /// Every layer that was asked for, in order, with its sums where it has some.
  void each(const std::function<void(const LayerOnBoth& layer, const std::optional<SharedSums>& sums)>& visit);

  /// What a tensor can hold: of an input of the model it may be known that it is less than its type allows, of what a layer writes it is after each().
  [[nodiscard]] const IntegerRange& range(std::int32_t tensor) const { return ranges_[static_cast<std::size_t>(tensor)]; }
  void set_range(std::int32_t tensor, const IntegerRange& range) { ranges_[static_cast<std::size_t>(tensor)] = range; }

 private:
  [[nodiscard]] LayerSide side(const Emulator& emulator, const SpecSheet& sheet, std::size_t operation) const;
  /// What the layer's output can hold on either side becomes its tensor's range.
  void spread(const LayerOnBoth& layer, const std::optional<SharedSums>& sums);

  const Model& model_;
  const SpecSheet &a_, &b_;
  const Emulator emulator_a_, emulator_b_;
  const CertifyOptions& options_;
  TensorRanges ranges_;
};

/// Whether both sides compute in integers.
[[nodiscard]] bool is_on_codes(const LayerOnBoth& layer);

/// Of the inputs that a range of data comes from.
[[nodiscard]] std::string data_checksum(std::span<const Tensor> inputs);

/// A layer's certificate, before anything follows from it.
using VisitCertificate =
    std::function<void(const LayerOnBoth& layer, const std::optional<SharedSums>& sums, LayerCertificate& certificate)>;
/// certify(), with a look at every layer.
[[nodiscard]] Certificate certify_layers(const Model& model, const SpecSheet& a, const SpecSheet& b, std::span<const Tensor> inputs,
                                         const CertifyOptions& options, const VisitCertificate& judged);

/// The layer's sums on both sides, where it has some.
[[nodiscard]] std::optional<SharedSums> shared_sums_of(const LayerOnBoth& layer);

/// The layer, decided.
[[nodiscard]] LayerCertificate certified(const LayerOnBoth& layer, const std::optional<SharedSums>& sums);

/// What the layer's output can hold on each side; of a layer on codes.
[[nodiscard]] std::array<IntegerRange, 2> ranges_behind(const LayerOnBoth& layer, const std::optional<SharedSums>& sums);

/// Both sides' ways over the accumulators of side a; nothing where there are more steps than can be listed.
[[nodiscard]] std::optional<std::array<Staircase, 2>> staircases(const SharedSums& sums, const SharedSums::Column& column);

/// Of one column: on the same accumulators, and on accumulators that are as far apart as inputs can make them.
struct ColumnDifference {
  StaircaseDifference same;  ///< of no accumulators where there are more steps than can be listed
  std::int64_t largest = 0;
};

/// Where each input of one side is at most `inputs_apart` from the other's.
[[nodiscard]] ColumnDifference difference(const SharedSums& sums, const SharedSums::Column& column, std::int64_t inputs_apart = 0);

/// The layer gone through on both sides: all that its sums can be, or all codes of its inputs.
struct LayerDifferences {
  std::string open{};  ///< why it could not be gone through; empty: it was
  DecidedBy by = DecidedBy::nothing;
  std::int64_t cases = 0, differing = 0, largest = 0;  ///< as in LayerCertificate
  std::vector<ColumnDifference> columns{};             ///< of sums
  std::optional<EveryCode> codes{};                    ///< of layers without
};

/// Of sums, each input of one side is at most `inputs_apart` from the other's.
[[nodiscard]] LayerDifferences differences_of(const LayerOnBoth& layer, const std::optional<SharedSums>& sums,
                                              std::int64_t inputs_apart = 0);

}  // namespace lastbit
