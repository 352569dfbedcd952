// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A float network, its quantised model on a backend, and a board side by side, layer by layer: what quantisation loses (float to emulated), and where
// the board is not its data sheet (emulated to board), which should be nowhere. Either twice: accumulated, each side on its own history; and the
// layer's own, the emulated layer fed with the other side's tensors: the float network's, as codes, or the board's.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/compare.hpp"
#include "lastbit/device.hpp"
#include "lastbit/explain.hpp"

namespace lastbit {

/// How a tensor of the model was found in the float network. itself: the float network is the model's own float path. name: the same name, but for what
/// tools add ("x" and "x_quantized"; a;b;c, one of them), or that of its operation. order: without such a name the only ones left of their
/// shape, as many in one network as in the other, and in their order. nothing: it was not. Codes in another form (requantize and the like)
/// have what the codes before them have.
enum class MatchedBy : std::uint8_t { itself, name, order, nothing };
[[nodiscard]] std::string_view name_of(MatchedBy match);

/// A tensor of the model: an input, or the output of an operation.
struct ReplayLayer {
  std::int32_t tensor = 0;
  std::optional<std::size_t> number;  ///< of the operation; of inputs none
  std::string name;
  std::string operation;  ///< the kind, or "input"
  MatchedBy match = MatchedBy::nothing;
  std::string counterpart;  ///< its name in the float network
};

/// Float, emulated and board, layer by layer.
struct ReplayReport {
  std::string model;
  std::string float_network;  ///< empty: the model's own float path
  std::string board;
  std::vector<ReplayLayer> layers;  ///< every tensor, in the order of computation, the model's inputs first
  /// a: the float network, b: the emulated model; same_input is fed with a's tensors as codes. Only what was matched.
  CompareReport loss;
  /// a: the board, b: the emulated model, as compare_with_dump has it: differences are emulated - board. Only what the dump has.
  CompareReport deviation;
  std::optional<DumpReport> cause;  ///< of the first deviation alone (explain_dump); absent: there is none, or it cannot be explained
  std::string no_cause;             ///< why it cannot be

  [[nodiscard]] const LayerDifference* loss_of(std::int32_t tensor) const;       ///< nullptr: not matched
  [[nodiscard]] const LayerDifference* deviation_of(std::int32_t tensor) const;  ///< nullptr: the dump lacks it
  /// The layer with the least SQNR on the float network's tensors, or accumulated where none could be fed; nullptr: nothing is lost, or not matched.
  [[nodiscard]] const LayerDifference* most_lost() const;
  /// The first layer that differs when it is fed with the board's tensors, or that differs and cannot be fed; nullptr: none.
  [[nodiscard]] const LayerDifference* first_deviation() const;
  /// Layers of which the dump has the output, and of them those that were fed with its tensors.
  [[nodiscard]] std::int64_t compared() const;
  [[nodiscard]] std::int64_t fed() const;
  /// The board is its data sheet wherever it was compared, was given the same inputs, and its dump was read well and holds what is required.
  [[nodiscard]] bool equal() const;
};

/// For replay().
struct ReplayOptions {
  const Model* float_network = nullptr;  ///< null: the model's own float path, as Golden::with computes it
  int threads = 1;
  std::optional<DumpRequirement> required{};  ///< of the dump; absent: one layer
};

/// `inputs` as for Emulator::run, codes or real values; empty: the dump's own. The float network is given the real values that they stand for, under the
/// names and in the order of axes (NHWC or NCHW) that it has. The dump's floats are taken as codes where all of a tensor are,
/// and an input that it lacks is the given one.
/// Throws Error where a backend cannot run the model, an input of either network has no counterpart, and where the dump has the output of no layer.
[[nodiscard]] ReplayReport replay(const Model& model, const NamedTrace& dump, const Device& backend, std::span<const Tensor> inputs,
                                  const ReplayOptions& options = {});

/// A table of at most 100 columns, and what to conclude from it.
[[nodiscard]] std::string to_text(const ReplayReport& report, const LayerView& view = {});
/// One line per layer and kind of difference (loss, loss_own, deviation, deviation_own), with the columns of a comparison's CSV.
[[nodiscard]] std::string to_csv(const ReplayReport& report);
[[nodiscard]] std::string to_json(const ReplayReport& report);

}  // namespace lastbit
