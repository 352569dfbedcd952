// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// One of the test models that come with ONNX: a folder with model.onnx, and input_<i>.pb and output_<i>.pb for each set of data.
#pragma once

#include <onnx/onnx_pb.h>

#include <filesystem>
#include <string>
#include <vector>

#include "lastbit/io/onnx.hpp"

namespace lastbit::test {

/// What became of one model. `reason`: why it was left out, or what differs.
enum class Verdict { equal, left_out, different };
struct Outcome {
  Verdict verdict = Verdict::equal;
  bool exact = false;  ///< integers, compared by their bits on `onnxruntime`; else floats, to 1e-5 on `float`
  std::string reason;
};

class NodeCase {
 public:
  explicit NodeCase(const std::filesystem::path& folder);
  /// Whether every node's operator is in the list.
  [[nodiscard]] bool uses_only(const std::vector<std::string>& operators) const;
  [[nodiscard]] Outcome run() const;

 private:
  [[nodiscard]] Outcome run_set(const std::filesystem::path& set) const;
  /// Graph inputs that a model must hold as constants: weights, scales, axes.
  [[nodiscard]] bool is_parameter(const std::string& name) const;

  std::filesystem::path folder_;
  onnx::ModelProto model_;
};

}  // namespace lastbit::test
