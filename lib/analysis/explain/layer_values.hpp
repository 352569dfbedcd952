// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One layer, computed on any backend, as numbers that can be subtracted; and single values of it, step by step.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/ops/conv_layer.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {

/// Integers as they are; floating-point values by their place among the numbers of their type, so that neighbours differ by 1.
[[nodiscard]] std::vector<std::int64_t> codes_of(const Tensor& tensor);

[[nodiscard]] std::int64_t code_at(const Tensor& tensor, std::int64_t index);
/// Where two tensors of one type hold other codes.
[[nodiscard]] std::vector<std::int64_t> differing_places(const Tensor& a, const Tensor& b);

/// The layer's first output. Throws Error where the backend cannot run it.
[[nodiscard]] Tensor layer_output(const Model& layer, const Backend& backend, std::span<const Tensor> inputs);
/// Its codes.
[[nodiscard]] std::vector<std::int64_t> layer_codes(const Model& layer, const Backend& backend, std::span<const Tensor> inputs);

/// What the rules rest on that the sheet has at these paths or below; one without evidence is an assumption.
[[nodiscard]] std::vector<RuleEvidence> evidence_of(const SpecSheet& sheet, std::span<const std::string> paths);

/// Single outputs of a convolution or fully connected layer, without computing the others.
class ValueTracer {
 public:
  /// Nothing for other operations, and where sums are delivered as they are. `inputs` as for Emulator::run.
  [[nodiscard]] static std::optional<ValueTracer> make(const Model& layer, const Backend& backend, std::span<const Tensor> inputs);
  /// The same layer on other rules; `inputs` are read where those subtract other zero points.
  [[nodiscard]] std::optional<ValueTracer> on(const Model& layer, const Backend& backend, std::span<const Tensor> inputs) const;

  [[nodiscard]] std::int64_t output(std::int64_t index) const;
  [[nodiscard]] ValueTrace trace(std::int64_t index) const;
  /// Of the output's channel, over these accumulators.
  [[nodiscard]] std::optional<Staircase> stairs(std::int64_t index, const IntegerRange& accumulators) const;
  /// Whether any stage rounds a value that lies half-way.
  [[nodiscard]] bool rounds_a_tie(std::int64_t index) const;

 private:
  ValueTracer(ConvLayer layer, std::shared_ptr<const std::vector<std::int32_t>> input)
      : layer_(std::move(layer)), input_(std::move(input)) {}

  /// The sample that holds the output, and the output in it.
  [[nodiscard]] std::pair<std::span<const std::int32_t>, ConvIndex> place(std::int64_t index) const;

  ConvLayer layer_;
  std::shared_ptr<const std::vector<std::int32_t>> input_;
};

/// One output on both sides.
[[nodiscard]] SideBySide side_by_side(const ValueTracer& of_a, const ValueTracer& of_b, std::int64_t index);

}  // namespace lastbit
