// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// How a user's mistake is reported: a list of diagnostics, each naming where and why.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace lastbit {

enum class ErrorCode {
  unreadable_file,
  malformed_file,
  unknown_backend,
  unknown_rule,
  unsupported_operation,
  shape_mismatch,
  type_mismatch,
  bad_quantization,
  bad_attribute,
  bad_input,
  unavailable_path,
};

/// One mistake of the user's: what, where, and the value allowed.
struct Diagnostic {
  ErrorCode code;
  std::string where;    ///< file, layer or rule
  std::string message;  ///< the value found and the value allowed
  [[nodiscard]] std::string text() const { return where.empty() ? message : where + ": " + message; }
};

/// Thrown for every mistake of the user; what() is one line made of all diagnostics.
class Error : public std::runtime_error {
 public:
  explicit Error(std::vector<Diagnostic> diagnostics) : std::runtime_error(one_line(diagnostics)), diagnostics_(std::move(diagnostics)) {}
  Error(ErrorCode code, std::string where, std::string message)
      : Error(std::vector<Diagnostic>{{code, std::move(where), std::move(message)}}) {}
  [[nodiscard]] const std::vector<Diagnostic>& diagnostics() const { return diagnostics_; }

 private:
  [[nodiscard]] static std::string one_line(const std::vector<Diagnostic>& diagnostics) {
    std::string line;
    for (const Diagnostic& diagnostic : diagnostics) line += (line.empty() ? "" : "; ") + diagnostic.text();
    return line;
  }

  std::vector<Diagnostic> diagnostics_;
};

}  // namespace lastbit
