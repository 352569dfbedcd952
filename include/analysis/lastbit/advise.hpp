// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What to do about a device whose results differ: which layers to compute elsewhere (on a CPU, in float) and for how much gain, which
// layers round on ties and which output scales avoid them, which constants of a float16 network to rescale; and what the difference means to
// the user of the network. a is what is wanted, b the device.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"
#include "lastbit/float16_network.hpp"

namespace lastbit {

// ---- One network on two arithmetics ----

/// A network of which some operations run on a and the others on b, as a delegate splits it. A tensor keeps the form of the side that wrote
/// it for as long as operations of that side read it; for the other side it is dequantised, quantised by that side's rule for real inputs, or
/// converted. So with every operation on a the result is run(model, a), and with none run(model, b).
/// On a device with float16 arithmetic a float32 model computes in float16, but for what a computes: as float16_network() with that set.
/// Results are kept by what they were computed from, so runs that share a beginning compute it once.
class MixedRun {
 public:
  /// a must have every operation, or Error is thrown; those that b lacks always run on a. `model` must outlive the object.
  MixedRun(const Model& model, const Device& a, const Device& b, std::size_t most_bytes_kept = std::size_t{1} << 26);
  ~MixedRun();
  MixedRun(MixedRun&&) noexcept;
  MixedRun& operator=(MixedRun&&) noexcept;

  /// Another with both sides in common, for another thread: it keeps its own results and states.
  [[nodiscard]] MixedRun sibling() const;

  /// Operations that b lacks, and why.
  [[nodiscard]] const OperationSet& only_on_a() const;
  [[nodiscard]] const std::vector<Diagnostic>& missing() const;

  /// The model's outputs of one sample, each in the form of the side that wrote it. States go from call to call until reset_states().
  /// Throws Error where an input has another shape or type than the model's, or float32.
  [[nodiscard]] std::vector<Tensor> outputs(std::span<const Tensor> sample, const OperationSet& on_a);
  /// Every tensor of that run that was computed or given.
  [[nodiscard]] std::vector<std::optional<Tensor>> tensors(std::span<const Tensor> sample, const OperationSet& on_a);
  void reset_states();

  /// A tensor of the model as b would hold it.
  [[nodiscard]] Tensor as_on_b(std::int32_t tensor, const Tensor& values) const;
  /// Operations computed so far; those found among the kept results are not counted.
  [[nodiscard]] std::int64_t computed() const;

 private:
  struct Work;
  explicit MixedRun(std::unique_ptr<Work> work);
  std::unique_ptr<Work> work_;
};

/// The outputs of such a run; inputs as for Emulator::run.
[[nodiscard]] Trace run_mixed(const Model& model, const Device& a, const Device& b, const OperationSet& on_a,
                              std::span<const Tensor> inputs);

/// `layers` on a, the others on b, and operations that only move data where their input is written (or, of an input of the model, read).
[[nodiscard]] OperationSet with_movements(const Model& model, OperationSet layers);

/// Multiply-accumulates of one sample.
[[nodiscard]] std::int64_t multiply_accumulates(const Model& model, const Operation& operation);

// ---- How well outputs agree ----

/// All outputs of all samples so far, b's against a's. Integers are compared as integers; where a's are real, as b would hold them.
struct Agreement {
  std::int64_t samples = 0;
  std::int64_t values = 0, differing = 0;
  std::int64_t same_top = 0;                     ///< samples whose largest value of the first output stands at the same position
  double cosine_sum = 0;                         ///< of each sample's values
  double distance_sum = 0;                       ///< of each sample: Euclidean distance of the two vectors, each scaled to length 1
  double error_energy = 0, expected_energy = 0;  ///< sums of squares of b - a, and of a; dequantised values

  void add(const Agreement& other);
  [[nodiscard]] double differing_share() const { return values == 0 ? 0 : static_cast<double>(differing) / static_cast<double>(values); }
  [[nodiscard]] double cosine() const { return samples == 0 ? 1 : cosine_sum / static_cast<double>(samples); }
  [[nodiscard]] double same_top_share() const { return samples == 0 ? 1 : static_cast<double>(same_top) / static_cast<double>(samples); }
  [[nodiscard]] double distance() const { return samples == 0 ? 0 : distance_sum / static_cast<double>(samples); }
  [[nodiscard]] double relative_error() const;  ///< |b - a| / |a|
};

/// What a choice of layers is judged by; among equals the relative error decides.
enum class Objective : std::uint8_t { differing, cosine, top, distance, relative_error };
[[nodiscard]] std::string_view name_of(Objective objective);
[[nodiscard]] std::optional<Objective> objective_from(std::string_view name);
/// Smaller is better; 0: nothing to gain.
[[nodiscard]] double cost_of(const Agreement& agreement, Objective objective);

/// From low to high, both included.
struct Interval {
  double low = 0;
  double high = 0;
};
/// Wilson's 95 % interval of a share.
[[nodiscard]] Interval wilson_interval(std::int64_t hits, std::int64_t trials);
/// The 95 % interval of a mean: percentiles of 2000 resamplings with a fixed seed. Absent for fewer than two values.
[[nodiscard]] std::optional<Interval> bootstrap_interval(std::span<const double> values);

// ---- Layers to keep on a ----

/// Layers on a, the others on b.
struct FallbackPoint {
  std::vector<std::size_t> operations;  ///< in the order of computation
  std::int64_t macs = 0;                ///< multiply-accumulates of these, of one sample
  Agreement agreement;
};

/// Which layers to keep off the device: what each search found.
struct FallbackSearch {
  std::vector<FallbackPoint> alone;                    ///< every layer by itself
  std::vector<FallbackPoint> greedy;                   ///< none, then one layer more at a time, the best next one
  std::vector<std::size_t> order;                      ///< in which the greedy search took them
  std::vector<std::size_t> candidates;                 ///< all of whose subsets were tried
  std::vector<FallbackPoint> exact;                    ///< the best of every size from none to all candidates
  std::vector<FallbackPoint> by_count;                 ///< of both: the Pareto front of layers kept against the objective
  std::vector<FallbackPoint> by_macs;                  ///< of multiply-accumulates kept against the objective
  std::int64_t greedy_samples = 0, exact_samples = 0;  ///< that decided; the figures of every point are of all samples
};

/// Called with what is being done and the share of it that is done.
using Progress = std::function<void(std::string_view what, double done)>;

/// What advise() shall try, and by what it judges.
struct AdviseOptions {
  std::size_t candidates = 12;                        ///< of the exact search; at most 20
  std::optional<Objective> objective = std::nullopt;  ///< absent: differing, or for float16 relative_error
  std::string judged_at;                              ///< a tensor to judge by instead of the model's outputs
  double effort = 50;                                 ///< 10^9 multiply-accumulates that each search may cost; bounds the samples
  double scale_reach = 0.10;                          ///< output scales are tried within this share of the model's
  int threads = 1;                                    ///< of what is asked for every input
  Progress progress = {};
};

/// Samples have one tensor per input. The layers that may be kept are all operations that compute and that b has.
[[nodiscard]] FallbackSearch search_fallbacks(const Model& model, const Device& a, const Device& b,
                                              std::span<const std::vector<Tensor>> samples, Objective objective,
                                              const AdviseOptions& options = {});

// ---- Ties and output scales, for every input ----

/// Accumulators for which a chain rounds where its rule steps from one result to the next: half-way for the rules that round to the
/// nearest, on an integer for floor, ceil and the like. Of a layer with sums those count whose rounding is seen: beside a step of the output, and not
/// where a bound makes one code of all.
struct TieCount {
  std::int64_t on = 0;    ///< exactly there, at the last stage that rounds
  std::int64_t near = 0;  ///< there, or put there or beyond it by a multiplier one step smaller or larger
  friend bool operator==(const TieCount&, const TieCount&) = default;
};

/// One layer on both sides: every accumulator of every channel that the types and clamps of its inputs allow, or every code, or every pair of codes.
struct TieCensus {
  std::int64_t cases = 0;
  TieCount a, b, either;
  std::int64_t differing = 0;
  TieCount differing_at;  ///< of the differing cases, those at a tie of either side
  friend bool operator==(const TieCensus&, const TieCensus&) = default;
};

/// Where the value of one accumulator stands at the last stage of a chain that rounds; nothing where none does.
enum class TiePlace : std::uint8_t { clear, near, on };
[[nodiscard]] std::optional<TiePlace> tie_place(const Chain& chain, std::int64_t accumulator, const RescaleOperands& operands);

/// Of every layer; nothing of one that does not end in a chain of integers on both sides, and where the two do not add up the same integers
/// (CertifyOptions). What b lacks is computed by a. Throws Error where a cannot run the model.
[[nodiscard]] std::vector<std::optional<TieCensus>> tie_census(const Model& model, const Device& a, const Device& b, int threads = 1);

/// The model with the scale of an operation's output multiplied. Tensors that must share its quantisation follow (what is moved, pooled or
/// copied), biases behind it are counted in the new scale, and bounds in codes move with the real values.
[[nodiscard]] Model with_output_scale(const Model& model, std::size_t operation, double factor);

/// An output scale tried, as a multiple of the model's.
struct ScaleTrial {
  double factor = 1;
  std::int64_t differing = 0;  ///< accumulators or codes
};

/// A layer that some input makes differ, or does so where layers before it have another scale.
struct ScaleAdvice {
  std::size_t operation = 0;
  double scale = 0;                               ///< the model's; 0: none
  std::int64_t cases = 0;                         ///< accumulators, codes or pairs of codes
  std::int64_t differing = 0;                     ///< of them, in the model
  std::int64_t tried = 0;                         ///< other scales
  double factor = 1;                              ///< the nearest at which it is equal for every input; 1: the scale stays
  std::int64_t left = 0;                          ///< of the cases, in the network with all chosen scales; 0: equal for every input
  std::optional<ScaleTrial> best = std::nullopt;  ///< where none is equal: the one with the fewest, if that is at most half

  [[nodiscard]] bool equal() const { return left == 0; }
  /// Of resolution, in bits. Negative: so much of the range is lost instead.
  [[nodiscard]] double bits_lost() const;
};

/// Output scales at which two backends compute the same, and the proof: no figure is of data.
struct EqualScales {
  std::string network, a, b;
  std::vector<std::string> names;                         ///< of the operations: layer_name
  std::vector<ScaleAdvice> layers;                        ///< in order
  std::vector<std::pair<std::size_t, std::string>> open;  ///< operations of which nothing is proven, and why
  std::int64_t equal = 0;                                 ///< layers that are equal before and after
  double reach = 0;                                       ///< within this share of the model's
  Model model;                                            ///< with the chosen scales

  /// That network, for every input.
  [[nodiscard]] bool all_equal() const;
};

/// Layer after layer, each behind the scales chosen before it: one stays where every case is equal; else the nearest is taken that makes it so,
/// that both sides accept, that leaves the network's inputs as they are, and that makes no layer before it differ. The figures are those that
/// certify() counts. What b lacks is computed by a. Throws Error where a cannot run the model.
[[nodiscard]] EqualScales equal_scales(const Model& model, const Device& a, const Device& b, const AdviseOptions& options = {});

// ---- float16 ----

/// Tensors that are scaled by 2^-exponent between the constants of the operations before and behind them.
struct RescalingPair {
  std::vector<std::int32_t> tensors;
  std::vector<std::size_t> producers, consumers;  ///< operations whose constants take 2^-exponent and 2^exponent
  int exponent = 0;
};
/// A tensor that leaves float16 and cannot be divided, and the operation that stands in the way.
struct UnscalableTensor {
  std::int32_t tensor = 0;
  std::string why;
};
/// Constants to be multiplied by powers of two, so that values stay within float16.
struct Rescaling {
  std::vector<RescalingPair> pairs;
  std::vector<UnscalableTensor> refused;  ///< tensors that leave float16 and cannot be scaled
};

/// Powers of two that bring every tensor within float16, with a bit to spare, where only linear operations and their constants stand around
/// it. `model` is a float32 network as float_network() makes it.
[[nodiscard]] Rescaling find_rescaling(const Model& model, const Calibration& calibration);
/// The model with those constants: its real values are the same but for the scaled tensors.
[[nodiscard]] Model rescaled(const Model& model, const Rescaling& rescaling);

/// One way of running a float16 network on the data.
struct Float16Figures {
  std::vector<std::size_t> kept;  ///< operations in float32
  std::int64_t left = 0;          ///< values that left float16
  Agreement agreement;            ///< with the float network
};
/// What can be done about values that leave float16 (65504).
struct Float16Advice {
  std::vector<double> headroom;  ///< bits, by tensor of the model; NaN for what was not seen
  Float16Figures alone;          ///< everything in float16 that the device has
  Float16Figures kept;           ///< the smallest set of operations in float32
  Rescaling rescaling;
  Float16Figures with_rescaling;  ///< what then still has to be kept, is
};

// ---- The report ----

/// One layer fed with a's tensors: what its own arithmetic does, and what it means at the end.
struct LayerAdvice {
  std::size_t operation = 0;
  std::string name, kind;
  std::int64_t macs = 0;
  std::int64_t values = 0, differing = 0;  ///< fed with a's tensors
  double error = 0;                        ///< relative, of the same values
  std::optional<Agreement> alone;          ///< of the network, with this layer alone on a; absent for layers that only a has
  std::optional<TieCensus> ties;           ///< for every input
};

/// What users of the network see.
struct Consequence {
  std::string choice;
  std::vector<std::size_t> operations;  ///< on a
  Agreement agreement;
  Interval flips;                    ///< of the share of samples whose largest value stands elsewhere
  std::optional<Interval> distance;  ///< of the mean distance
};

/// What advise() found: layers, searches, scales, float16, and what users of the network would see.
struct AdviseReport {
  std::string model, a, b;
  std::vector<std::string> names;      ///< of the operations: layer_name
  std::vector<std::string> own_names;  ///< likewise, as the user's file has them: of an .onnx its nodes'
  Objective objective = Objective::differing;
  std::string judged_at;                        ///< names of the tensors
  std::int64_t samples = 0, layer_samples = 0;  ///< given, and those that single layers were fed with
  std::int64_t macs = 0;
  bool float16 = false;
  bool a_is_real = false;              ///< a is of the real domain
  std::vector<Diagnostic> missing;     ///< operations that only a has
  std::vector<std::size_t> only_on_a;  ///< the same
  std::vector<LayerAdvice> layers;
  FallbackSearch search;
  std::optional<EqualScales> scales;     ///< where the sides differ in integers
  std::optional<Agreement> all_scales;   ///< b against a with the chosen scales; absent without any
  std::optional<double> sqnr_db_before;  ///< of b's outputs against float's
  std::optional<double> sqnr_db_after;   ///< the same with the chosen scales
  std::optional<Float16Advice> halves;
  std::vector<Consequence> consequences;
  std::vector<Assumption> assumptions;

  [[nodiscard]] bool equal() const { return search.greedy.empty() || search.greedy[0].agreement.error_energy == 0; }
};

/// Everything above. A float network on a device with float16, or a quantised one, is first made a float network (float_network()).
/// Throws Error where a cannot run the network, b has none of it, or a sample does not fit.
[[nodiscard]] AdviseReport advise(const Model& model, const Device& a, const Device& b, std::span<const std::vector<Tensor>> samples,
                                  const AdviseOptions& options = {});

/// What makes run, compare, sweep and others compute a choice: "--backend vipnano_v8 --keep 2,4,5=tflite_double". Empty for the device alone,
/// where a side has rules of its own that a name does not tell, and where tensors between a's layers stay real values, as they do not there.
[[nodiscard]] std::string options_of(const AdviseReport& report, const Consequence& choice);

/// Layers of a device's network that something else computes, as the file that the vendor's tool reads (SpecSheet::layer_list).
struct LayerListFile {
  std::string option;  ///< that names the file, or what of it goes where
  std::string choice;
  std::size_t layers = 0;
  std::string text;
};
/// Of the float16 network what has to stay in float32; else the first choice of the report that leaves nothing, or its last, with the layers that
/// only a has. Throws Error(bad_input) where the vendor's tool reads no such file, or a name cannot stand in it.
[[nodiscard]] LayerListFile layer_list(const AdviseReport& report, const Device& device);

/// At most 100 columns.
[[nodiscard]] std::string to_text(const AdviseReport& report, const LayerView& view = {});
[[nodiscard]] std::string to_json(const AdviseReport& report);
[[nodiscard]] std::string to_text(const EqualScales& scales);
[[nodiscard]] std::string to_json(const EqualScales& scales);

}  // namespace lastbit
