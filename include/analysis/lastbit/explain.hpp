// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Why two backends differ. A layer is fed with the same input on both; every value that differs is attributed by substitution: the smallest
// set of rules of a which, replaced by b's, turns a's value into b's. Where two ways to the output have different stages, they are compared
// by what they decide (the multiplier's width, the first rounding, the last one, …), each of which is then a change of its own.
//
// A board's dump has no rules to substitute: explain_dump() asks instead which single change of a known backend makes it compute the dump.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"
#include "lastbit/one_operation.hpp"
#include "lastbit/staircase.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

/// One stage of the way to the output, on one value.
struct StageStep {
  std::string stage;  ///< as in a backend file: "shift_right half_even"
  std::string value;  ///< the integer after it
  double real = 0;    ///< in units of the output, the places not yet shifted away counted as fraction
  bool tie = false;   ///< what it rounded lay exactly half-way
};

/// Every stage on one accumulator; the last value is finish() of the chain, before it is narrowed to 64 bits.
[[nodiscard]] std::vector<StageStep> trace_stages(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands);

/// Where a running sum first left its accumulator.
struct AccumulatorEvent {
  std::int64_t term = 0;   ///< products added by then; 0: the bias alone did it
  std::int64_t terms = 0;  ///< of the whole sum
  std::string rule;        ///< "16 bits, wrap"
};

/// One way from the products to an output.
struct ValueTrace {
  std::int64_t accumulator = 0;
  std::optional<AccumulatorEvent> left_width;
  std::vector<StageStep> steps;
  std::int64_t output = 0;
};

/// One value on both sides, stage by stage.
struct SideBySide {
  std::int64_t index = 0;
  ValueTrace a, b;
  /// "accumulator", or the number of the first step of a after which no step of b holds the same value; empty if only the outputs differ.
  std::string parts_at;
  /// Both ways from the accumulators around a's to the output, over the same interval: a few steps on either side. Absent where they cannot be listed.
  std::optional<Staircase> stairs_a{}, stairs_b{};
};

/// One output of a convolution or fully connected layer on both backends; nothing for other operations and for sums that are delivered.
[[nodiscard]] std::optional<SideBySide> side_by_side(const Model& layer, std::span<const Tensor> inputs, std::int64_t index,
                                                     const Device& a, const Device& b);
[[nodiscard]] std::string to_text(const SideBySide& value, const std::string& a, const std::string& b);

/// Rules in which two backends differ and which only make sense changed together.
struct RuleChange {
  std::string name;                       ///< what it decides: "first rounding", "multiplier width", or the rule's own path
  std::string what;                       ///< from a's to b's: "half_up -> none"
  std::vector<std::string> rules;         ///< their paths
  std::vector<std::string> rules_of_b{};  ///< where b reads them in another place, as conv.u8: their paths there
  friend bool operator==(const RuleChange&, const RuleChange&) = default;
};

/// Values that one minimal set of changes explains.
struct Cause {
  std::vector<std::size_t> changes;  ///< indices into LayerAttribution::changes
  std::int64_t values = 0;
  std::int64_t negative = 0;      ///< of them, those that a or b puts below the zero point
  std::int64_t ties = 0;          ///< of them, those of which one side rounds a tie; counted for convolutions and fully connected layers
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

/// Where the values of a layer differ with both sides on their own history: b(x_b) - a(x_a) = [b(x_b) - a(x_b)] + [a(x_b) - a(x_a)], the
/// layer's own part and the inherited one.
struct Origin {
  std::int64_t own = 0;        ///< values that have only an own part
  std::int64_t inherited = 0;  ///< only an inherited one
  std::int64_t both = 0;
  [[nodiscard]] std::int64_t total() const { return own + inherited + both; }
  friend bool operator==(const Origin&, const Origin&) = default;
};

/// Why one layer differs: every value that does, and the rules that explain it.
struct LayerAttribution {
  std::size_t number = 0;  ///< of the operation in its model
  std::string name;        ///< of the tensor
  std::string operation;   ///< the kind
  std::int64_t values = 0;
  std::vector<RuleChange> changes;         ///< everything in which the two differ here
  std::vector<Cause> causes;               ///< most values first
  std::vector<AttributedValue> differing;  ///< every differing value, in order
  std::int64_t unexplained = 0;
  Origin in_network;              ///< values that differ where each side runs on its own history
  std::vector<SideBySide> shown;  ///< the first differing values, stage by stage, as many as asked for
  std::vector<Assumption> assumptions;

  [[nodiscard]] std::int64_t attributed() const { return static_cast<std::int64_t>(differing.size()) - unexplained; }
};

/// `layer` has one operation; `inputs` as for Emulator::run. Of several outputs the first is explained. Values of float16 and float32 tensors
/// are counted by their place among the numbers of their type, so that a difference of 1 is the next number.
/// Throws Error where a backend cannot run it, and for a backend of the real domain, which has no rules.
[[nodiscard]] LayerAttribution explain(const Model& layer, std::span<const Tensor> inputs, const Device& a, const Device& b);

/// What a rule that was named rests on.
struct RuleEvidence {
  std::string rule;     ///< its path, where the backend reads it
  std::string backend;  ///< whose
  std::string level;    ///< "vendor_code", "assumption", …
  std::string source;
  friend bool operator==(const RuleEvidence&, const RuleEvidence&) = default;
};

/// Why two backends differ on a network, layer by layer.
struct ExplainReport {
  std::string model;
  std::string a;
  std::string b;
  std::vector<LayerAttribution> layers;  ///< of every operation with arithmetic, in order
  std::vector<RuleEvidence> evidence;    ///< of the rules in the causes, on both sides
};

/// For explain_network() and explain_dump(): which layer, how much is shown of it, and on how many threads.
struct ExplainOptions {
  std::optional<std::string> layer{};  ///< only this one: its number, or the name of the operation or of its output
  std::size_t top = 0;                 ///< differing values of each layer to be shown stage by stage; a dump has no stages
  int threads = 1;                     ///< never changes a bit
  std::function<void(std::size_t done, std::size_t all)> on_progress{};  ///< layers of a network, steps of a dump's search; from any thread
};

/// Every layer of the model, fed with a's tensors.
[[nodiscard]] ExplainReport explain_network(const Model& model, std::span<const Tensor> inputs, const Device& a, const Device& b,
                                            const ExplainOptions& options = {});

/// What a layer's sums are multiplied by on their way to the output.
struct AppliedScale {
  double real = 0;              ///< before it is encoded
  std::int64_t multiplier = 0;  ///< multiplier / 2^shift; read where the device has integers for it
  int shift = 0;
  bool in_float = false;  ///< the device multiplies by a real number

  friend bool operator==(const AppliedScale&, const AppliedScale&) = default;
};
/// Of a model of one operation: one, or one for each output channel where they differ; none where no scale is applied.
[[nodiscard]] std::vector<AppliedScale> applied_scales(const Model& layer, const Device& device, std::span<const Tensor> inputs);

/// "112 first rounding, 6 multiplier width": a layer's causes in one line.
[[nodiscard]] std::string summary(const LayerAttribution& layer);
/// Every layer that differs with its causes; of each the first `top` differing values side by side, stage by stage.
[[nodiscard]] std::string to_text(const ExplainReport& report);
[[nodiscard]] std::string to_json(const ExplainReport& report);

/// What whoever converted a network, or fed the device, got wrong, outside of its arithmetic.
struct NamedMistake {
  std::string name;  ///< of its kind: "bias_missing"
  std::string what;  ///< a clause: "the bias is missing"
  friend bool operator==(const NamedMistake&, const NamedMistake&) = default;
};

/// What a board's values of one layer say about it, fed with the board's own tensors; where the dump lacks those in between, about all the
/// layers since the last tensor that it has.
struct DumpVerdict {
  std::size_t number = 0;  ///< of the operation in its model
  std::string name;        ///< of the tensor
  std::string operation;   ///< the kind
  std::int64_t values = 0;
  std::int64_t differing = 0;               ///< from the known backend
  LsbHistogram histogram;                   ///< dump - backend
  std::vector<RuleChange> explanations;     ///< each makes the backend compute the dump here and in every layer that reads the same rules
  std::vector<RuleChange> alone;            ///< each does so here, and other layers contradict it
  std::vector<std::string> backends;        ///< built-in ones that compute every layer of the dump
  std::vector<std::string> backends_alone;  ///< built-in ones that compute this layer, but not every other
  std::optional<RuleChange>
      nearest;  ///< unexplained: the change that explains the most of the values that differ, and more than half of them
  std::int64_t nearest_differing = 0;
  std::vector<NamedMistake> mistakes{};           ///< each, on the backend's own rules, makes the layer equal
  std::optional<NamedMistake> nearest_mistake{};  ///< as nearest, where it explains more than that does
  std::int64_t nearest_mistake_differing = 0;
  std::string misread;      ///< a tensor that the layer reads or writes was, and why; no single rule explains it
  std::string note;         ///< what else was noticed: the same values in another order, tensors that the dump lacks
  std::string suspected{};  ///< a tensor that the layer reads or writes may have been misread, and why
  std::string follows{};    ///< what it reads is not right, and it is equal where that is as the backend computes it
};

/// One change of a rule, in whatever operations it is made, that explains several layers.
struct CommonExplanation {
  RuleChange change;  ///< its rule with `*` for the operation: "*.i8.output.chain.2.rounding"
  std::int64_t layers = 0;
};

/// Why a board's dump differs from a backend, and which changed rules compute what it holds.
struct DumpReport {
  std::string model;
  std::string dump;
  std::string backend;
  std::vector<DumpVerdict> layers;
  std::vector<CommonExplanation> common;  ///< those that explain the most layers, then those that explain the most of the rest
  std::vector<RuleEvidence> evidence;     ///< of the backend's rules that would have to be others
  bool one_device = false;         ///< nothing differs, or one change, or one built-in backend, computes every layer but those of mistakes
  std::string doubt;               ///< otherwise: why each layer by itself can be computed, and yet not all of them
  bool all_mistakes_tried = true;  ///< of them, in every layer that differs
  bool all_pairs_tried = true;     ///< of rules, where no single one explains a layer
  std::vector<std::string> notes;  ///< tensors that were misread; how many samples were judged
};

/// Judges every layer whose output the dump has (or the one named as in ExplainOptions). `inputs` may be empty if the dump has the model's. A layer
/// is fed with the dump's tensors; where the dump lacks one, a change is made in all layers since the last that it has.
/// Throws Error where an input is missing, where floats of the dump are no codes of their tensor, or the name is of no such layer.
[[nodiscard]] DumpReport explain_dump(const Model& model, const NamedTrace& dump, const Device& backend, std::span<const Tensor> inputs,
                                      const ExplainOptions& options = {});
[[nodiscard]] std::string to_text(const DumpReport& report);
[[nodiscard]] std::string to_json(const DumpReport& report);

}  // namespace lastbit
