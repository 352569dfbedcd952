// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/error.hpp"

#include <utility>

namespace lastbit {
namespace {

std::string one_line(const std::vector<Diagnostic>& diagnostics) {
  std::string line;
  for (const Diagnostic& diagnostic : diagnostics) line += (line.empty() ? "" : "; ") + diagnostic.text();
  return line;
}

}  // namespace

std::string Diagnostic::text() const { return where.empty() ? message : where + ": " + message; }

Error::Error(std::vector<Diagnostic> diagnostics) : std::runtime_error(one_line(diagnostics)), diagnostics_(std::move(diagnostics)) {}

Error::Error(ErrorCode code, std::string where, std::string message)
    : Error(std::vector<Diagnostic>{{code, std::move(where), std::move(message)}}) {}

}  // namespace lastbit
