// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The rules of an undocumented device from what it computed. A space of rules, written down as data, is walked: every combination that
// reproduces the device's outputs stays. Combinations that the data cannot tell apart form a class; a probe is a layer with an input on which
// they differ, so that its output, measured on the device, tells them apart.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"
#include "lastbit/trace.hpp"
#include "lastbit/verdict_assumptions.hpp"

namespace lastbit {

/// One layer as the device ran it, on one sample or on several: then each tensor has as many values as so many samples of its shape have.
struct IdentifyPair {
  std::string name;
  Model layer;                    ///< of one operation
  std::vector<Tensor> inputs;     ///< in the order of layer.inputs
  Tensor output;                  ///< of the device: what it made of them, integers
  std::vector<Tensor> further{};  ///< what the device made in its other outputs, where it has any
};

/// For identify(): how much is reported, and how long is searched.
struct IdentifyOptions {
  std::size_t runners_up = 3;  ///< classes reported behind the best one
  double most_seconds = 0;     ///< after which the search ends with what it has; 0: no limit
  int threads = 1;             ///< never changes a bit of what is found in the time there is
  std::int64_t most_proof_outputs =
      std::int64_t{1} << 30;  ///< of chains, that are computed to prove what a class is: some seconds; of whole layers, a sixteenth
  std::function<void(double)> progress{};  ///< receives the share of the work that is done
};

/// What a class says of one rule. One value: settled. Several: the data cannot tell.
struct RuleValues {
  std::string rule;
  std::vector<std::string> values;
  std::size_t possible = 0;  ///< values of this rule in the whole space
  [[nodiscard]] bool settled() const { return values.size() == 1; }
  friend bool operator==(const RuleValues&, const RuleValues&) = default;
};

/// What is proven of a class: its combinations over everything that the layers can be given, not on data. Of convolutions that is every accumulator, channel by
/// channel; of other operations every code, pair of codes or sum of codes.
struct ClassProof {
  std::string over;  ///< what was gone through: "every accumulator", "every code", "every pair of codes", "every sum"; empty: nothing
  std::int64_t devices = 0;  ///< combinations that compute the same of all that are one; these differ from one another somewhere
  std::int64_t open = 0;     ///< combinations of which it is not known which of the devices they are
  std::string why_open;      ///< of most of them
  std::string example;       ///< where two of them differ, and in which rules

  /// No input of these layers tells any two combinations apart.
  [[nodiscard]] bool is_one() const { return devices == 1 && open == 0; }
};

/// Combinations of rules with the same outputs on all the data.
struct RuleClass {
  std::int64_t agreeing = 0;  ///< outputs that equal the device's, of those that were searched on
  std::int64_t combinations = 0;
  std::vector<RuleValues> rules;
  std::vector<std::string> backends;  ///< built-in backends with the same outputs
  std::string represented_by;         ///< the built-in backend whose rules `backend` holds, or empty
  Backend backend = no_rules;         ///< one of the combinations: the rules of this operation, nothing else
  std::optional<ClassProof> proof{};  ///< of the first class, where it explains every value and all combinations were judged
  std::vector<std::string> beside{};  ///< those with one rule changed that have the same outputs: "tflite_single with …"
};

/// What was found for the operations that read one set of rules.
struct OperationIdentification {
  std::string rules;  ///< the path of the rules: "conv.i8", "average_pool"
  std::int64_t pairs = 0;
  std::int64_t samples = 0;   ///< that the device computed
  std::int64_t values = 0;    ///< of all samples
  std::int64_t agreeing = 0;  ///< of all values, those that the best class's `backend` computes as the device did
  std::int64_t searched = 0;  ///< values that the combinations were judged by: those of a few samples
  bool in_time = true;        ///< every combination was judged; else time was up
  /// What the best class says of a rule holds for every device that explains the data and differs from a built-in one in at most one rule: all
  /// of these were judged, and one of them explains the data. Else it holds among those that were tried.
  bool complete = false;
  std::int64_t combinations = 0;   ///< walked
  std::int64_t sums = 0;           ///< distinct ways to sum among them, on these data; 0 where the operation has no sums
  int sum_bits = 0;                ///< width that every sum of the data stays within, whatever the order; 0: no sums
  std::vector<RuleClass> classes;  ///< best agreement first; never empty

  [[nodiscard]] const RuleClass& best() const { return classes.front(); }
  [[nodiscard]] bool exact() const { return agreeing == values; }
};

/// A layer whose rules are not looked for, and why. Where a built-in backend can compute it, it was compared with the nearest of them.
struct SkippedPair {
  std::string name;
  std::string reason;
  std::int64_t values = 0;     ///< compared; 0: nothing is known of the layer
  std::int64_t differing = 0;  ///< of them
};

/// The rules that explain what a device computed, operation by operation.
struct Identification {
  std::vector<OperationIdentification> operations;
  std::vector<SkippedPair> skipped;
  Backend others = no_rules;  ///< what the skipped layers are computed by, where a built-in backend computes every value
  /// What the built-in backends assume whose rules are taken, in these layers: of each operation whose data are explained the one that stands for
  /// the best class, but for rules that are told, and those that compute skipped layers.
  std::vector<SharedAssumption> assumptions{};

  /// Every value of every layer that was covered, and of those skipped every value that was compared; none was skipped for lack of time.
  [[nodiscard]] bool exact() const;
  /// False: time was up before an explanation was found, and there may be one.
  [[nodiscard]] bool decided() const;
};

/// Pairs that read the same rules are taken together. Combinations are judged on a few samples, the best one then on all, and on those
/// that it fails in turn. Throws Error where a pair does not fit its layer, or where none is left.
[[nodiscard]] Identification identify(std::span<const IdentifyPair> pairs, const IdentifyOptions& options = {});

/// Every operation of the model whose inputs and output the dump holds, fed with the dump's own tensors, as many samples as all of these
/// hold; the others are skipped.
[[nodiscard]] std::vector<IdentifyPair> pairs_of(const Model& model, const NamedTrace& dump, std::vector<SkippedPair>* skipped = nullptr);

/// A dump against the whole network on a backend: of each tensor every sample that the dump holds, with its inputs.
struct Reproduction {
  std::string impossible;  ///< why the network cannot be run; empty: it was
  std::int64_t tensors = 0, samples = 0, values = 0, differing = 0;
  std::string first;  ///< tensor that differs
};
[[nodiscard]] Reproduction reproduce(const Model& model, const NamedTrace& dump, const Device& device);

/// A backend of the best classes. Rules that the data settle carry the evidence that they were measured, the others that they are an assumption.
/// Operations that were not identified are those of `base`, where one is given.
[[nodiscard]] SpecSheet identified_backend(const Identification& identification, const std::string& name, const SpecSheet* base = nullptr);

[[nodiscard]] std::string to_text(const Identification& identification);
[[nodiscard]] std::string to_text(const Reproduction& reproduction);
/// How a dump was read, for its report.
struct ReadDump {
  std::vector<std::string> readings{};              ///< what of its files is not as the model has it, and what was left out
  std::vector<std::string> misread{}, suspected{};  ///< facts, where it was taken as it is, and suspicions
};
[[nodiscard]] std::string to_json(const Identification& identification, const std::optional<Reproduction>& network = std::nullopt,
                                  const ReadDump& dump = {});

/// Whether a probe may bring its own weights, bias and scales.
enum class ProbeWeights : std::uint8_t { of_the_layer, free };

/// For probes: their weights, and how long is searched.
struct ProbeOptions {
  ProbeWeights weights = ProbeWeights::of_the_layer;
  unsigned seed = 1;
  std::size_t most_outputs = 64;  ///< of a layer with free weights
  unsigned patience = 60;         ///< how long a search without result goes on, in turns of about 1,500 constructed values
  std::size_t most_layers = 6;    ///< with free weights: each has a scale of its own
};

/// A layer with an input.
struct ProbeLayer {
  Model layer;
  std::vector<Tensor> inputs;
};

/// What to run on the device next: one layer, or a few tiny ones, on which the remaining combinations differ.
struct Probe {
  std::vector<ProbeLayer> layers;
  std::int64_t combinations = 0;  ///< of rules that remain before the answer
  std::int64_t considered = 0;    ///< of them, those the probe was designed on
  std::int64_t outcomes = 0;      ///< different outputs that these have
  double bits = 0;                ///< entropy of the outcome: what the answer is expected to tell
};

/// For the rules that the first pair's kind of layer reads, that of convolution-like ones where there are any: the layer is like the first one's.
/// Nothing where no input was found on which the remaining combinations differ: one class is left, of the layer as it is by proof where
/// ClassProof says so. Of operations that are looked for by walking, the combinations are the devices that the walk has met.
[[nodiscard]] std::optional<Probe> design_probe(std::span<const IdentifyPair> pairs, const ProbeOptions& options = {});

/// For every layer probe_N.json (`lastbit.layer.v1`), its .npy files and probe_N.tflite; and README.txt, which says what to do with them.
/// Creates the folder.
void write_probe(const std::filesystem::path& folder, const Probe& probe);

}  // namespace lastbit
