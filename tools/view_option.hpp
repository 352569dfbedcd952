// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// --layer, --only-differing and --sort of the commands that print a line per layer.
#pragma once

#include "command_line.hpp"
#include "lastbit/layer_view.hpp"
#include "lastbit/model.hpp"

namespace lastbit::tool {

struct ViewRequest {
  std::string layer, order = "network";
  bool only_differing = false;
};

void add_view_options(Command& command, ViewRequest& request);
/// Without --layer, where that means what is computed.
void add_order_options(Command& command, ViewRequest& request);

/// As wide as the terminal that standard output is. Without a model a layer is called by the number or name that the report has. Throws Error.
[[nodiscard]] LayerView view_from(const ViewRequest& request, const Model* model);

}  // namespace lastbit::tool
