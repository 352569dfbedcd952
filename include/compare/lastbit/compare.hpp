// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What differs between two tensors, and between two traces layer by layer. Differences are b - a: a is what is expected, b what is judged.
//
// Two differences per layer: accumulated, each side on its own history; and of the same input, b's layer fed with a's tensors.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/layer_view.hpp"
#include "lastbit/metrics.hpp"
#include "lastbit/operation_rules.hpp"
#include "lastbit/registry.hpp"
#include "lastbit/trace.hpp"

namespace lastbit {

/// Where b - a, counted in LSB, falls: below -3, -3, …, +3, above +3.
struct LsbHistogram {
  static constexpr std::int64_t reach = 3;
  std::array<std::int64_t, 2 * reach + 3> counts{};
  void add(std::int64_t difference, std::int64_t count = 1);
  friend bool operator==(const LsbHistogram&, const LsbHistogram&) = default;
};

/// Where in a tensor values differ: by place, the axes before the last one (y and x of an image, x alone of a row), and by channel, the last axis.
/// An axis longer than `most` is cut into that many parts; leading axes, such as samples, are taken together.
class DifferencePlaces {
 public:
  static constexpr std::int64_t most = 24;
  DifferencePlaces() = default;
  explicit DifferencePlaces(const Shape& shape);
  /// A value that differs, by its position in row-major order.
  void add(std::int64_t index);

  [[nodiscard]] std::int64_t rows() const { return parts_[0]; }
  [[nodiscard]] std::int64_t columns() const { return parts_[1]; }
  [[nodiscard]] std::int64_t channels() const { return parts_[2]; }
  /// Of the values there, those that differ: from 0 to 1.
  [[nodiscard]] double share_at(std::int64_t row, std::int64_t column) const;
  [[nodiscard]] double share_of_channel(std::int64_t channel) const;
  /// The first of the axis's positions that a part holds, of `rows` (0), `columns` (1) or `channels` (2).
  [[nodiscard]] std::int64_t first_of(std::size_t axis, std::int64_t part) const;
  [[nodiscard]] const std::array<std::int64_t, 3>& sizes() const { return sizes_; }  ///< of y, x and channels; 1 where there is none

 private:
  [[nodiscard]] std::int64_t values_in(std::size_t axis, std::int64_t part) const;
  std::array<std::int64_t, 3> sizes_{1, 1, 1}, parts_{1, 1, 1};
  std::int64_t leading_ = 0;  ///< product of the axes before these
  std::vector<std::int64_t> by_place_, by_channel_;
};

/// One value of both tensors.
struct ValuePair {
  std::int64_t index = 0;  ///< in row-major order
  double a = 0;
  double b = 0;
};

/// Equality of two values of one type: the same bits, so -0 is not +0; every NaN of float32 or float64 equals every other.
template <class T>
[[nodiscard]] bool identical(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) return std::memcmp(&a, &b, sizeof(T)) == 0 || (std::isnan(a) && std::isnan(b));
  else return a == b;
}

/// Tensors of the same type and quantisation are compared by identical(), everything else as real values, among which -0 equals +0: in double where
/// one side is int32, uint32, int64 or float64 and neither is float32 or float16, whose precision is less; in float32 otherwise.
struct TensorDifference {
  Shape shape;
  std::int64_t values = 0;
  std::int64_t differing = 0;
  std::optional<ValuePair> first;           ///< the first differing value; real values where the comparison is of real values
  std::optional<std::int64_t> largest_lsb;  ///< the b - a of largest magnitude; absent where the comparison is of real values
  LsbHistogram histogram;                   ///< empty where the comparison is of real values
  std::int64_t saturated_a = 0;             ///< values at the bounds of the integer type; of float16: at 65504, infinite or NaN
  std::int64_t saturated_b = 0;
  DifferencePlaces where{};  ///< empty where nothing differs
  ElementMetrics metrics;    ///< of the dequantised values: b against a

  [[nodiscard]] double share() const { return static_cast<double>(differing) / static_cast<double>(values); }
};

/// Both have the same number of elements.
[[nodiscard]] TensorDifference difference(const Tensor& a, const Quantization& a_quantization, const Tensor& b,
                                          const Quantization& b_quantization);

/// Its metrics alone, of real values in the same precision.
[[nodiscard]] ElementMetrics real_metrics(const Tensor& mine, const Quantization& mine_quantization, const Tensor& truth,
                                          const Quantization& truth_quantization);

/// The position [n,y,x,c] of the index-th element.
[[nodiscard]] std::vector<std::int64_t> coordinates(const Shape& shape, std::int64_t index);

/// Where the largest value of each sample stands (the first of several): what a classifier answers.
[[nodiscard]] std::vector<std::int64_t> top_positions(const Tensor& tensor, std::int64_t values_per_sample);

/// Both sides against the float path.
struct GoldenMetrics {
  ElementMetrics a;
  ElementMetrics b;
};

/// One tensor of the traces and the operation that wrote it.
struct LayerDifference {
  std::int32_t tensor = 0;
  std::optional<std::size_t> number;  ///< of the operation, as in operation_called; of inputs none
  std::string name;
  std::string operation;
  TensorDifference accumulated;
  std::optional<TensorDifference> same_input;
  std::optional<GoldenMetrics> golden;
  std::vector<Assumption> assumptions;
  std::optional<std::int64_t> samples;  ///< so many leading samples were compared, where one side holds more than the other
};

/// One output of the model, sample by sample.
struct OutputAgreement {
  std::string name;
  std::int64_t samples = 0;
  std::int64_t same_top = 0;  ///< samples whose largest value stands at the same position
};

/// How much of a network a dump must hold to be called equal.
struct DumpRequirement {
  bool outputs = false;  ///< every output of the network
  double percent = 0;    ///< of the tensors that its operations write
};

/// "all", "outputs" or "N%". Throws Error(bad_input) naming `where`.
[[nodiscard]] DumpRequirement dump_requirement_from(const std::string& text, const std::string& where);

/// How much of a network a dump holds.
struct DumpMatch {
  std::int64_t computed = 0;             ///< tensors that the network's operations write
  std::int64_t matched = 0;              ///< of them, those that the dump has
  std::vector<std::string> no_output;    ///< outputs of the network that it lacks
  std::vector<std::string> unfit_files;  ///< files that fit no tensor
  std::vector<std::string> readings{};   ///< how files were read that are not as the model has them (NamedTrace)
  std::vector<std::string> missing{};    ///< all tensors of `computed` that it lacks
  std::vector<std::string> short_of{};   ///< those of which it lacks samples: "'prob' (2 of 40 samples)"
  bool no_samples_of_output = false;     ///< an output of the network is among these
  double lacking = 0;                    ///< of `matched`, for such samples: of 10 of 40 samples 0.75
  std::optional<DumpRequirement> required{};
  /// At least one tensor, and what is required, of every sample; where nothing is said, all outputs, or at least half of what is computed, and more tensors
  /// than files that fit none.
  [[nodiscard]] bool enough() const;
};

/// Of a run of as many samples as the dump's own.
[[nodiscard]] DumpMatch match_of(const Model& model, const NamedTrace& dump);

/// "Of 9 tensors that the network computes, 4 were matched by the dump. 1 file fits no tensor: 'a.npy'."; empty: all were, by all files.
[[nodiscard]] std::string text_of(const DumpMatch& match);

/// What differs between two traces, or between a trace and a dump, layer by layer.
struct CompareReport {
  std::string model;
  std::string a;
  std::string b;
  std::string path;                      ///< the host path that computed b
  std::vector<LayerDifference> layers;   ///< in the order of computation, the model's inputs first
  std::vector<OutputAgreement> outputs;  ///< of the model; empty where only traces are at hand
  std::vector<Assumption> assumptions;   ///< what either side rests on
  std::vector<std::string> only_in_a;    ///< tensors without counterpart
  std::vector<std::string> only_in_b;
  std::vector<std::string> not_emulated{};  ///< one text for each side that leaves operations to the golden path (float32_operations)
  std::vector<std::string> elsewhere{};     ///< what is computed in a side's place (computed_elsewhere)
  std::string golden{};                     ///< the backend of the float path both are measured against; empty: none

  std::optional<DumpMatch> match{};      ///< of a dump
  std::vector<std::string> misread{};    ///< tensors of a dump that were, with the cause (misread.hpp)
  std::vector<std::string> suspected{};  ///< those that may have been

  /// Nothing differs; of a dump, enough was matched and nothing misread.
  [[nodiscard]] bool equal() const;
  /// The first layer whose accumulated values differ, or nullptr.
  [[nodiscard]] const LayerDifference* first_divergence() const;
};

/// Accumulated differences of the tensors that both traces hold, matched by index and name, else by name alone.
/// Where one side holds more samples of a batch, its first ones are compared. Throws Error where a pair differs in anything else, or no tensor has a counterpart.
[[nodiscard]] CompareReport compare_traces(const NamedTrace& a, const NamedTrace& b);

/// Same-input differences of every operation whose inputs `a` holds. Not where a holds float values of b's integers: they would first have
/// to be rounded.
void add_same_input(CompareReport& report, const NamedTrace& a, const Emulator& b);
/// The same where one trace is fed and another says what is expected: b's layers, fed with the tensors of `fed`, against those of `expected`.
void add_same_input(CompareReport& report, const NamedTrace& fed, const NamedTrace& expected, const Emulator& b);

void add_golden(CompareReport& report, const NamedTrace& a, const NamedTrace& b, const NamedTrace& golden);

/// Of every output of the model that both sides have: in how many samples the largest value stands at the same position.
void add_outputs(CompareReport& report, const Model& model, const NamedTrace& a, const NamedTrace& b);

/// Which layers of either side rest on which assumption.
void add_assumptions(CompareReport& report, const Model& model, const Devices& sides);

/// Which side computes operations that its device has no arithmetic for, and what is computed in its place.
void add_not_emulated(CompareReport& report, const Model& model, const Devices& sides);

enum class Golden : std::uint8_t { without, with };
/// For compare_backends() and compare_with_dump().
struct CompareOptions {
  Golden golden = Golden::without;
  int threads = 1;
  std::optional<DumpRequirement> required{};  ///< of a dump
};

/// Everything above for one model on two backends.
[[nodiscard]] CompareReport compare_backends(const Model& model, const Device& a, const Device& b, std::span<const Tensor> inputs,
                                             const CompareOptions& options = {});

/// The model's inputs as a dump has them. Throws Error(bad_input) naming one that it lacks.
[[nodiscard]] std::vector<Tensor> inputs_in_dump(const Model& model, const NamedTrace& dump);

/// A board's dump against a backend. Empty `inputs`: the dump's own.
[[nodiscard]] CompareReport compare_with_dump(const Model& model, const NamedTrace& dump, const Device& b, std::span<const Tensor> inputs,
                                              const CompareOptions& options = {});

enum class Detail : std::uint8_t { summary, everything };

/// Tables of the layers that the view shows, and what to conclude from all of them. Throws Error as shown() does.
[[nodiscard]] std::string to_text(const CompareReport& report, Detail detail = Detail::summary, const LayerView& view = {});
/// One line per layer and kind of difference. Infinite and NaN figures read inf and nan.
[[nodiscard]] std::string to_csv(const CompareReport& report);
/// Everything. Infinite and NaN figures are the texts "inf" and "nan".
[[nodiscard]] std::string to_json(const CompareReport& report);

}  // namespace lastbit
