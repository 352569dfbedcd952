// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Why two backends differ. A layer is fed with the same input on both; every value that differs is attributed by substitution: the smallest
// set of rules of a which, replaced by b's, turns a's value into b's. Where two ways to the output have different stages, they are compared
// by what they decide (the multiplier's width, the first rounding, the last one, …), each of which is then a change of its own.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/compare.hpp"

namespace lastbit {

/// Rules in which two backends differ and which only make sense changed together.
struct RuleChange {
  std::string name;                ///< what it decides: "first rounding", "multiplier width", or the rule's own path
  std::string what;                ///< from a's to b's: "half_up -> none"
  std::vector<std::string> rules;  ///< their paths
  friend bool operator==(const RuleChange&, const RuleChange&) = default;
};

/// Values that one minimal set of changes explains.
struct Cause {
  std::vector<std::size_t> changes;  ///< indices into LayerAttribution::changes
  std::int64_t values = 0;
  std::int64_t negative = 0;      ///< of them, those that a puts below its zero point
  std::int64_t alternatives = 0;  ///< of them, those that another set of the same size explains as well
  LsbHistogram histogram;         ///< b - a
};

/// One differing value.
struct AttributedValue {
  std::int64_t index = 0;
  std::int64_t a = 0;
  std::int64_t b = 0;
  std::optional<std::size_t> cause;  ///< index into LayerAttribution::causes; absent: no set of changes explains it
};

struct LayerAttribution {
  std::string name;       ///< of the tensor
  std::string operation;  ///< the kind
  std::int64_t values = 0;
  std::vector<RuleChange> changes;         ///< everything in which the two differ here
  std::vector<Cause> causes;               ///< most values first
  std::vector<AttributedValue> differing;  ///< every differing value, in order
  std::int64_t unexplained = 0;
  std::int64_t accumulated_differing = 0;  ///< values that differ where each side runs on its own history
  std::vector<Guess> guesses;

  [[nodiscard]] std::int64_t attributed() const { return static_cast<std::int64_t>(differing.size()) - unexplained; }
};

/// `layer` has one operation, whose outputs are integers; `inputs` as for Emulator::run. Of several outputs the first is explained.
/// Throws Error where a backend cannot run it.
[[nodiscard]] LayerAttribution explain(const Model& layer, std::span<const Tensor> inputs, const SpecSheet& a, const SpecSheet& b);

struct ExplainReport {
  std::string model;
  std::string a;
  std::string b;
  std::vector<LayerAttribution> layers;  ///< of every operation with integer outputs, in order
};

/// Every layer of the model (or the one whose output, or operation, has the given name), fed with a's tensors.
[[nodiscard]] ExplainReport explain_network(const Model& model, std::span<const Tensor> inputs, const SpecSheet& a, const SpecSheet& b,
                                            const std::optional<std::string>& layer = std::nullopt);

/// "112 first rounding, 6 multiplier width": a layer's causes in one line.
[[nodiscard]] std::string summary(const LayerAttribution& layer);
[[nodiscard]] std::string to_text(const ExplainReport& report);
[[nodiscard]] std::string to_json(const ExplainReport& report);

/// One stage of the way to the output, on one value.
struct StageStep {
  std::string stage;  ///< as in a backend file: "shift_right half_even"
  std::string value;  ///< the integer after it
  double real = 0;    ///< in units of the output, the places not yet shifted away counted as fraction
  bool tie = false;   ///< what it rounded lay exactly half-way
};

/// Every stage on one accumulator; the last value is finish() of the chain, before it is narrowed to 64 bits.
[[nodiscard]] std::vector<StageStep> trace_stages(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands);

/// The model that consists of one operation of `model`: its data tensors become inputs and outputs.
[[nodiscard]] Model extract_operation(const Model& model, std::size_t operation);

}  // namespace lastbit
