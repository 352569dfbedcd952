// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The operators of a file that its reader does not know, all of them in one message.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "formats/proposed_cut.hpp"
#include "lastbit/error.hpp"

namespace lastbit {

class UnsupportedOperators {
 public:
  void add(const std::string& name) {
    for (auto& [known, count] : names_)
      if (known == name) return static_cast<void>(++count);
    names_.emplace_back(name, 1);
  }
  /// Throws Error(unsupported_operation) with the name and the number of each, in the order in which they were met, if there is any, and the cut of
  /// `graph` that leaves them out and can be read.
  void require_none(const std::string& where, const GraphOutline& graph, const ReadPart& read) const {
    std::string list;
    for (const auto& [name, count] : names_) list += (list.empty() ? "" : ", ") + name + " (" + std::to_string(count) + ")";
    if (list.empty()) return;
    const std::string cut = proposed_cut(graph, read);
    throw Error(ErrorCode::unsupported_operation, where, "operators that are not supported: " + list + (cut.empty() ? "" : "; " + cut));
  }

 private:
  std::vector<std::pair<std::string, int>> names_;
};

}  // namespace lastbit
