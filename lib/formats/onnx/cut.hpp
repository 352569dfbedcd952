// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A part of a graph in the place of the whole, before it is read.
#pragma once

#include <onnx/onnx_pb.h>

#include <string>
#include <vector>

#include "formats/kept_part.hpp"

namespace lastbit::onnx_format {

/// Values that the branches of an If take from the graph around it are its inputs too.
[[nodiscard]] GraphOutline outline_of(const onnx::GraphProto& graph);

/// Leaves the nodes of the part. Values that it begins with become inputs, of the type and shape that the file states for them; where it states
/// none, of the type that the nodes around them say, and without a shape. Throws Error naming `where`.
void cut_graph(onnx::GraphProto& graph, const Cut& cut, const std::string& where);

/// The names of `inputs` of the graph without a shape.
[[nodiscard]] std::vector<std::string> inputs_without_shape(const onnx::GraphProto& graph);

}  // namespace lastbit::onnx_format
