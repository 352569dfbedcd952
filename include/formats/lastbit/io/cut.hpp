// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A part of a network in the place of the whole.
#pragma once

#include <string>
#include <vector>

namespace lastbit {

/// A part of a network in the place of the whole: from some values to others. Each is called by its name in the file, or by that of the operation
/// whose first output it is.
struct Cut {
  std::vector<std::string> from;  ///< these become inputs; nothing before them is read, unless another output needs it
  std::vector<std::string> to;    ///< these become the outputs, in this order; none: the network's own
  [[nodiscard]] bool is_whole() const { return from.empty() && to.empty(); }
};

}  // namespace lastbit
