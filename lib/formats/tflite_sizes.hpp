// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Sizes that a .tflite file leaves open: what every tensor becomes when its inputs have others than the file puts.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "lastbit/tensor.hpp"
#include "tflite_subset_generated.h"

namespace lastbit::tflite_format {

using GivenShapes = std::map<std::string, Shape, std::less<>>;

/// What is read of a graph, and what it begins with.
struct PartSizes {
  const std::vector<BuiltinOperator>& codes;  ///< of all operators
  const std::vector<bool>& left_out;          ///< of each operator
  std::vector<std::int32_t> inputs;
};

/// The shapes that differ from the file's, by tensor. Throws Error naming `where`: bad_input for a shape of no input, or one that is not open so;
/// unsupported_operation for an operator of the part from whose inputs alone its output's shape is not told here.
[[nodiscard]] std::map<std::size_t, Shape> resized_tensors(const Model& file, const SubGraph& graph, const PartSizes& part,
                                                           const GivenShapes& given, const std::string& where);

/// "?x?, for which the file puts 1x1; --shape x=… states others"; empty where all sizes are fixed.
[[nodiscard]] std::string open_sizes(const Tensor& tensor);

}  // namespace lastbit::tflite_format
