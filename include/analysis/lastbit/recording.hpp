// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A recording: a folder with the inputs of a network, what a backend computed from them, and the backend itself, so that a test notices
// when a rule, a kernel or the network changes, and says which. Format and use: docs/recordings.md.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/device.hpp"
#include "lastbit/model.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {

/// "fnv1a64:0123456789abcdef", of everything in the model that decides a result: tensors with their names, types, shapes, scales and constants,
/// operations with their attributes. The same network has the same checksum whatever file it came from.
[[nodiscard]] std::string model_checksum(const Model& model);

enum class RecordedTensors : std::uint8_t { all, outputs };

/// Runs the model and writes `folder` (golden.json and one .npy per tensor). Throws Error where the backend cannot run the model or a file
/// cannot be written.
void write_recording(const std::filesystem::path& folder, const Model& model, const Device& backend, std::span<const Tensor> inputs,
                     RecordedTensors tensors = RecordedTensors::all);

/// A tensor that is not what it was.
struct RecordingDifference {
  std::string tensor;
  std::string operation;   ///< the kind
  std::int64_t index = 0;  ///< of the first value that differs
  std::string expected, got;
  std::int64_t differing = 0, values = 0;
  std::string reason;                   ///< where values cannot be compared: no such tensor, another type or shape
  std::vector<RuleDifference> changed;  ///< rules that this operation reads, from the stored to the present ones
};

/// A recording computed again: what changed, in rules and values.
struct RecordingReport {
  std::string folder, backend;
  std::string written_by;  ///< the version that wrote the store
  bool model_changed = false;
  std::string unreadable_backend;              ///< why the stored backend cannot be read by this version; empty: it can
  std::vector<RuleDifference> changed;         ///< rules that an operation of the model reads, from the stored to the present ones
  std::vector<RuleDifference> changed_apart;   ///< and those that none reads
  std::vector<RecordingDifference> differing;  ///< tensors in the order of computation
  std::int64_t tensors = 0, values = 0;        ///< compared

  /// Same model, same rules, same values. Rules that no operation of the model reads may differ.
  [[nodiscard]] bool passed() const { return !model_changed && unreadable_backend.empty() && changed.empty() && differing.empty(); }
  explicit operator bool() const { return passed(); }
};

/// The store against the model and the backend of today. Throws Error where the store cannot be read or the model cannot be run.
[[nodiscard]] RecordingReport check_recording(const std::filesystem::path& folder, const Model& model, const Device& backend);

/// The name of the backend that a store was written with.
[[nodiscard]] std::string recorded_backend(const std::filesystem::path& folder);

[[nodiscard]] std::string to_text(const RecordingReport& report);
[[nodiscard]] std::string to_json(const RecordingReport& report);

}  // namespace lastbit
