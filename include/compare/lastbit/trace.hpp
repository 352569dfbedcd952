// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A trace that stands alone: the tensors of a run with their names and quantisation, and how it is stored in a folder.
//
// The folder holds trace.json and one .npy per tensor. What a board's tools write instead: dump.hpp.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/device.hpp"
#include "lastbit/emulator.hpp"
#include "lastbit/operation_rules.hpp"

namespace lastbit {

/// A tensor of a trace, with its name and quantisation.
struct NamedTensor {
  std::int32_t index = 0;  ///< in the model
  std::string name;        ///< as in the user's file
  std::string operation;   ///< the kind of the operation that wrote it, "input" or "constant"
  Quantization quantization;
  Tensor values;                        ///< of the model's shape, or with one extra leading dimension of the samples that were kept
  Shape stored{};                       ///< of the file that it was read from (read_dump)
  std::optional<std::size_t> number{};  ///< of the operation that wrote it, where that is known
};

/// What was counted while one operation was computed.
struct NamedEvents {
  std::string operation;  ///< its layer_name
  Events events;
};

/// A file of a dump whose name fits no tensor, and whose values are like those of one.
struct MatchedByValue {
  std::string file;
  std::int32_t index = 0;
  std::string tensor;
  double cosine = 0;
};

/// A trace that stands alone.
struct NamedTrace {
  std::string model;
  std::string backend;
  std::string path;                        ///< the host path that computed it
  std::vector<NamedTensor> tensors;        ///< in the order of computation, the model's inputs first
  std::vector<NamedEvents> events;         ///< one per operation; empty unless counted
  std::vector<Assumption> assumptions;     ///< what the result rests on without evidence
  std::vector<std::string> unfit{};        ///< names of files in a dump that fit no tensor (read_dump)
  std::vector<MatchedByValue> by_value{};  ///< files that were matched by nothing else (read_dump)
  std::vector<std::string> readings{};     ///< what was not as the model has it, and how it was read: "3 tensors in the order nchw: …"

  [[nodiscard]] const NamedTensor* find(std::int32_t index) const;
  [[nodiscard]] const NamedTensor* find(std::string_view name) const;
};

/// A tensor's quantisation where `shape` is the model's with or without a leading dimension of samples: its axis moves with it.
[[nodiscard]] Quantization quantization_in(const ModelTensor& tensor, const Shape& shape);

/// How many samples of its tensor in `model` are there.
[[nodiscard]] std::int64_t samples_of(const Model& model, const NamedTensor& tensor);

/// Of the tensors of a trace that are no constants.
struct SampleCounts {
  std::int64_t least = 0, most = 0;
  [[nodiscard]] bool are_equal() const { return least == most; }
};
[[nodiscard]] SampleCounts sample_counts(const Model& model, const NamedTrace& trace);
[[nodiscard]] std::string text_of(const SampleCounts& counts);  ///< "tensors hold from 4 to 12 samples"

/// The first `samples` of `values`, of which each has the shape `own`: of that shape where it is one, else with a leading dimension.
[[nodiscard]] Tensor first_samples(const Tensor& values, const Shape& own, std::int64_t samples);

/// As many leading samples of each tensor as all of them hold; where some hold more, a line more of its readings says so.
[[nodiscard]] NamedTrace with_common_samples(const Model& model, NamedTrace trace);

/// `model` as the emulator sees it (Emulator::model), of which `trace` is a run on the backend of `sheet`.
[[nodiscard]] NamedTrace named(Trace trace, const Model& model, const Device& sheet);

/// Runs the model, keeps every tensor and counts events.
[[nodiscard]] NamedTrace run_named(const Model& model, const Device& sheet, std::span<const Tensor> inputs, int threads = 1);

/// Creates the folder. Throws Error(unreadable_file) where something cannot be written.
void write_trace(const std::filesystem::path& folder, const NamedTrace& trace);
[[nodiscard]] NamedTrace read_trace(const std::filesystem::path& folder);

}  // namespace lastbit
