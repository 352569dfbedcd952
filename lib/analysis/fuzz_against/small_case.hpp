// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// From a network on which the sides differ to the least that still shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "analysis/fuzz_against/both_sides.hpp"

namespace lastbit {

struct SmallCase {
  Model network;
  std::vector<Tensor> inputs;
  Answers answers;
  std::int64_t trials = 0;

  [[nodiscard]] std::vector<OperationKind> operations() const;
};

/// The shortest run of operations that differs by itself, fed with what this backend computes before it; or the whole.
[[nodiscard]] SmallCase located(const Model& network, const std::vector<Tensor>& inputs, const Answers& answers, const BothSides& sides);

/// Of one operation, one value of the output, with as few taps, elements and numbers as possible (shrink.hpp); of several, fewer inputs that
/// are not at their zero point. The other side cannot be asked for causes: the value
/// only never gets further apart.
void make_small(SmallCase& found, const BothSides& sides);

/// model.tflite or model.onnx, inputs, what the other side computes, and cases.json (docs/case-format.md).
void write_case(const SmallCase& found, const BothSides& sides, const std::filesystem::path& folder, const std::string& notes);

}  // namespace lastbit
