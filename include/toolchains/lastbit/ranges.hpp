// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Ranges from outside: what a vendor's own tool chose, instead of what calibration would, so that the result is the network of the board.
//
//   file ──read_ranges──▶ RangeFile ──quantize──▶ model
//
// What is read, and its sources: docs/quantize.md#ranges-from-outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/device.hpp"
#include "lastbit/quantizer.hpp"

namespace lastbit {

/// What the name of a range stands for.
enum class RangeOf : std::uint8_t {
  tensor,         ///< a tensor; if none has the name, the first output of the operation that has it
  input,          ///< of the operation of this name, or that writes a tensor of this name, the input at `position`
  output,         ///< of it, the output at `position`
  network_input,  ///< a tensor; if none has the name, the network's input at `position`
};

/// What is given for one tensor: real bounds, or scale and zero point of its codes.
struct TensorRange {
  std::string name;
  std::string where;  ///< file and line, for messages
  double min = 0, max = 0;
  Quantization codes{};  ///< in place of min and max: scale and zero point as they are to be. Axis -1: that of the output channels
  std::optional<ElementType> type{};  ///< of these codes, where the file says
  RangeOf of = RangeOf::tensor;
  std::size_t position = 0;
};

/// The ranges of a file, and what wrote it.
struct RangeFile {
  std::string path;
  std::string form;           ///< what wrote it
  bool names_others = false;  ///< whether names that the network lacks are natural: of fused or renamed tensors
  std::vector<TensorRange> ranges;
};

/// The form is recognised by content. Throws Error naming the file, and the line where it has lines.
[[nodiscard]] RangeFile read_ranges(const std::filesystem::path& file);

/// In the project's own form; given back, the same model comes out.
void write_ranges(const std::filesystem::path& file, std::span<const TensorRange> ranges);

/// A quantisation, and the ranges by which it was made.
struct RangedQuantization {
  QuantizationResult result;
  std::vector<TensorRange>
      chosen;  ///< what decided the codes of the data, given or calibrated, in the order of the float network's tensors
};

/// quantize(), with ranges that take the place of calibration. What `given` lacks is calibrated; without samples it is an error that names
/// it, and nothing is measured. Throws Error for a name that the network lacks, if none of `given` is known or such names are not natural.
[[nodiscard]] RangedQuantization quantize(const Model& model, const Device& sheet, std::span<const std::vector<Tensor>> samples,
                                          const QuantizerOptions& options, int threads, const RangeFile& given);

}  // namespace lastbit
