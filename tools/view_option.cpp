// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "view_option.hpp"

#include <algorithm>
#include <array>

#include "common_options.hpp"
#include "lastbit/one_operation.hpp"
#include "terminal.hpp"

namespace lastbit::tool {
namespace {

/// In the order of LayerOrder.
constexpr std::array<const char*, 4> orders{"network", "differing", "largest", "own"};

}  // namespace

void add_view_options(Command& command, ViewRequest& request) {
  add_layer_option(command, request.layer);
  add_order_options(command, request);
}

void add_order_options(Command& command, ViewRequest& request) {
  command.flag("--only-differing", request.only_differing, "leave out of the tables what is equal");
  command
      .option("--sort", request.order,
              "the tables' order: the network's, or first where most values differ, where the difference is largest, or where most differ "
              "although the layer was fed alike")
      .one_of({orders.begin(), orders.end()})
      .shows_default();
}

LayerView view_from(const ViewRequest& request, const Model* model) {
  LayerView view{.layer = request.layer, .only_differing = request.only_differing, .width = terminal_width()};
  view.order = static_cast<LayerOrder>(std::ranges::find(orders, request.order) - orders.begin());
  if (model != nullptr && !view.layer.empty()) view.layer = std::to_string(operation_called(*model, view.layer, "--layer"));
  return view;
}

}  // namespace lastbit::tool
