// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Differential testing of a backend against any other implementation: random small networks are written as .tflite or .onnx files, both sides
// run the files, and every value is compared. What differs is shrunk and written as a case (docs/case-format.md).
//
// Both sides read the file: lastbit's answer is that of its own reader on the bytes that the other side got, never of the network that was
// generated. The writers share no code with the readers (.tflite: the schema's field numbers; .onnx: nothing, not even the protobuf classes).
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/device.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

enum class FuzzFormat : std::uint8_t { tflite, onnx };
[[nodiscard]] std::string_view name_of(FuzzFormat format);
[[nodiscard]] std::optional<FuzzFormat> fuzz_format_from(std::string_view name);
/// The files that a backend's family runs: .onnx where the backend says which operators a runtime fuses (`fusion`), else .tflite.
[[nodiscard]] FuzzFormat usual_format(const Device& device);
/// The operations of which random networks in this format are made.
[[nodiscard]] std::vector<OperationKind> fuzzed_operations(FuzzFormat format);

/// Network number `index` of a seed: 1 to 4 of these operations on 8-bit or 16-bit codes, one output. The first operation is any of them;
/// the others are such that `backend` runs the whole, if it runs the first one.
[[nodiscard]] Model random_network(FuzzFormat format, const std::vector<OperationKind>& operations, const Device& device,
                                   std::uint64_t seed, std::uint64_t index);
/// Random values for its inputs, another set for every sample.
[[nodiscard]] std::vector<Tensor> random_inputs(const Model& network, std::uint64_t seed, std::uint64_t index, std::uint64_t sample);

/// A network as an .onnx file: images of rank 4 stand there as NCHW; operations that are `stated` on codes are QLinear operators, the others
/// stand between DequantizeLinear and QuantizeLinear. Throws Error(unsupported_operation) naming what it does not write.
[[nodiscard]] std::string onnx_bytes(const Model& network);

/// The files of one run, below a folder of their own. The output may be written as one file, or as the only .npy file of a folder.
struct FuzzFiles {
  std::filesystem::path folder, model;
  std::vector<std::filesystem::path> inputs;  ///< in the order of the model's inputs, each named after its input
  std::filesystem::path input_folder, output, output_folder;
};
/// Runs the files; returns why it did not, or an empty text.
using OtherSide = std::function<std::string(const FuzzFiles& files)>;

/// For fuzz_against(): which networks are made, and what becomes of those that differ.
struct FuzzOptions {
  FuzzFormat format = FuzzFormat::tflite;
  std::vector<OperationKind> operations;  ///< empty: all
  std::uint64_t seed = 1;
  std::int64_t models = 100, samples = 1;
  std::filesystem::path scratch;   ///< a folder for the files of the runs
  std::filesystem::path cases;     ///< where differing cases go, one folder each; empty: nowhere, and nothing is shrunk
  bool keep = false;               ///< the files of every model, in `scratch`
  std::int64_t most_cases = 20;    ///< further differing models are counted, and not shrunk
  std::int64_t most_trials = 500;  ///< runs of the other side to shrink one case
  std::string source;              ///< names the other side in the cases
  std::function<bool()> stop;      ///< asked before every run
  std::function<void(std::size_t done, std::size_t all)> on_progress;
};

/// What was compared and differed, of one operation.
struct FuzzRow {
  std::int64_t models = 0;     ///< networks with such an operation
  std::int64_t values = 0;     ///< of their outputs that were compared
  std::int64_t differing = 0;  ///< where the difference was traced to such an operation
  std::int64_t largest = 0;    ///< difference, in codes
  std::int64_t refused = 0;    ///< networks that one of the sides refused
  FuzzRow& operator+=(const FuzzRow& other);
};

/// A network on which the sides differ.
struct FuzzDifference {
  std::int64_t model = 0, sample = 0;
  std::vector<OperationKind> operations{};  ///< that it was traced to: the shortest run of operations that differs by itself
  FuzzRow values{};
  std::string folder{};       ///< of the case; empty: not shrunk
  std::string first_value{};  ///< "value 3 is 12 on tflite_double, 13 on the other side", of the case
  std::int64_t operation_count = 0, multiply_accumulates = 0, elements = 0;  ///< of the case
  std::int64_t trials = 0;
};

/// What differential testing found.
struct FuzzReport {
  std::string backend, format, other;
  std::uint64_t seed = 0;
  std::int64_t models = 0;              ///< generated
  std::int64_t compared = 0;            ///< networks of which at least one sample was compared
  std::int64_t refused_here = 0;        ///< by the backend
  std::int64_t refused_there = 0;       ///< by the other side, or its output cannot be compared
  std::int64_t not_repeatable = 0;      ///< the other side's second answer to the same files was another one
  std::map<std::string, FuzzRow> rows;  ///< by operation
  FuzzRow all;
  std::map<std::string, std::int64_t> reasons_here, reasons_there;
  std::vector<FuzzDifference> differences;
  bool stopped = false;  ///< before all models were generated

  /// More than 90 % of the networks were refused, or nothing was compared: the report says nothing about equality.
  [[nodiscard]] bool too_few() const { return compared == 0 || (refused_here + refused_there) * 10 > models * 9; }
};

[[nodiscard]] FuzzReport fuzz_against(const Device& sheet, const FuzzOptions& options, const OtherSide& other);

[[nodiscard]] std::string to_text(const FuzzReport& report);
[[nodiscard]] std::string to_json(const FuzzReport& report);

}  // namespace lastbit
