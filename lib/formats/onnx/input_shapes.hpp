// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The shapes of a network's inputs: what the file states, and where it leaves a size open, what the user fixes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "formats/onnx/tensor_data.hpp"
#include "lastbit/io/onnx.hpp"

namespace lastbit::onnx_format {

/// By name. A size that is open is the one given for the input, or for another input where the file calls it by the same name; an open batch,
/// the first size, is 1. Throws Error(unsupported_operation) naming a size that is still open, and how to give it; Error(bad_input) for a
/// shape that does not fit the file's, or that no input has.
[[nodiscard]] std::map<std::string, Shape> input_shapes(const std::vector<const onnx::ValueInfoProto*>& inputs, const OnnxOptions& options,
                                                        const std::string& where);

/// " --shape input=?x10" for each input whose batch the file leaves open and the user has not given, where input_shapes() finds all other sizes;
/// empty where there is none. Throws as input_shapes() does.
[[nodiscard]] std::string open_batches(const std::vector<const onnx::ValueInfoProto*>& inputs, const OnnxOptions& options,
                                       const std::string& where);

}  // namespace lastbit::onnx_format
