// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The values of a dumped tensor in the model's type and order, and what had to be done for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compare/dump/file_names.hpp"

namespace lastbit {

struct FileValues {
  Tensor values;                        ///< codes, or float32; with samples in front where there are several, or the file's shape has them
  Shape stored{};                       ///< of the file; of rank 0 where it has none, or where its order was told by it
  std::vector<std::string> readings{};  ///< "in the order nchw", "with codes as int64": what is not as the model has it
};

/// What a file holds, before anything is known of it but its bytes.
struct RawValues {
  Tensor values;
  bool has_shape = true;
  std::optional<Tensor> within{};  ///< of a text with real values: half a unit of the last digit of each, float64
};

/// A file, which is read once for all tensors that it may be.
class FileReader {
 public:
  /// Throws Error(unreadable_file | malformed_file) naming the file.
  explicit FileReader(DumpFile file);
  /// `layout`: the user's; `samples`: so many the other files hold; 0: not known.
  /// Throws Error(type_mismatch | shape_mismatch) naming the file.
  [[nodiscard]] FileValues read_as(const ModelTensor& tensor, const std::string& layout, std::int64_t samples) const;
  [[nodiscard]] const DumpFile& file() const { return file_; }

 private:
  DumpFile file_;
  std::optional<RawValues> raw_{};  ///< none: of a type that the tensor tells
  std::vector<std::byte> bytes_{};
};

/// Pairs of a tensor and what is said of it. The same said of several is said once: "3 tensors in the order nchw: 'conv1' (1x8x5x7), …".
[[nodiscard]] std::vector<std::string> summed_up(const std::vector<std::pair<std::string, std::string>>& readings);

}  // namespace lastbit
