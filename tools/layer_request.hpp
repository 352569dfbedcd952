// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A layer on the command line: options that say the same as its JSON form.
#pragma once

#include <string>
#include <vector>

#include "command_line.hpp"
#include "lastbit/layer.hpp"

namespace lastbit::tool {

struct LayerRequest {
  /// An array: its file, and what else is said of it. One entry per array, or one for all of them.
  struct Arrays {
    std::vector<std::string> files;
    std::vector<std::string> types, scales, zero_points;
  };
  std::string operation;  ///< or a .json file
  Arrays inputs, weights, bias, multiplier, table, feedback, constants;
  std::string output_type, output_scale, output_zero_point, output_shape;
  std::string layout;
  std::int64_t outputs = 1;
  std::vector<std::string> attributes;  ///< what no option took: "--stride", "2,2"
};

/// Declares the options, all but `attributes`.
void add_layer_options(Command& command, LayerRequest& request);

/// Throws Error naming the option.
[[nodiscard]] LayerDescription describe_layer(const LayerRequest& request);

}  // namespace lastbit::tool
