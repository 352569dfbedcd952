// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What of a network lies between some of its values, whatever format it is read from.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/io/cut.hpp"
#include "lastbit/model.hpp"

namespace lastbit {

/// A network before it is read: values by number, nodes in the order in which they are computed.
struct GraphOutline {
  struct Node {
    std::string name;
    std::vector<std::int32_t> inputs, outputs;  ///< values; a negative number stands for none
    bool is_supported = true;
    bool computes = true;  ///< false: it only states a constant
  };
  std::vector<std::string> values;    ///< their names, which may be empty
  std::vector<std::int32_t> outputs;  ///< of the network
  std::vector<Node> nodes;
};

/// The part that a Cut leaves.
struct KeptPart {
  std::vector<bool> nodes;  ///< of each node: whether it is kept
  std::vector<std::int32_t>
      inputs;  ///< the values it begins with, as the cut lists them; inputs of the network that are read besides are not among them
  std::vector<std::int32_t> outputs;  ///< as the cut lists them, or the network's
};

/// A value is called by its name, or by that of the node whose first output it is. Throws Error naming `where` for a name that nothing has, for a
/// value that nothing behind it needs, for one of several outputs of a node that is needed for the others, and where no node is left.
[[nodiscard]] KeptPart kept_part(const GraphOutline& graph, const Cut& cut, const std::string& where);

/// Of each value, the node that computes it.
[[nodiscard]] std::vector<std::optional<std::size_t>> writers_of(const GraphOutline& graph);

/// The same cut of a network that has been read. Inputs that nothing reads any more are left out.
[[nodiscard]] Model cut_model(Model model, const Cut& cut, const std::string& where);
/// Of a network that was cut as it was read.
void drop_unread_inputs(Model& model);

}  // namespace lastbit
