// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "devices/open_text.hpp"

#include "lastbit/error.hpp"
#include "lastbit/registry.hpp"

namespace lastbit {

std::string open_text(std::string_view backend, std::string_view rule, std::string_view program) {
  std::string text;
  for (const OpenPoint& point : find_backend(backend).open) {
    const bool is_meant = point.rule == rule && point.program == program;
    if (is_meant && text.find(point.what) == std::string::npos) text += (text.empty() ? "" : "; ") + point.what;
  }
  if (text.empty()) throw Error(ErrorCode::unknown_rule, std::string(backend), "no open point of " + std::string(rule));
  return text;
}

}  // namespace lastbit
