// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// A backend as others may name it: by its built-in name with the rules set otherwise, or, where that does not do, whole.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "lastbit/backend.hpp"
#include "lastbit/rules.hpp"

namespace lastbit {

struct BackendReference {
  std::string name;                ///< a built-in backend; empty: `json` says all
  std::vector<RuleText> settings;  ///< rules to set
  std::string json;                ///< the whole backend file
};

/// A sheet whose name begins with that of a built-in backend (as reports name one with settings) refers to it if it differs only in settings.
[[nodiscard]] BackendReference reference_to(const SpecSheet& sheet);

/// Of letters, digits and `_`, for file names and identifiers.
[[nodiscard]] std::string identifier_of(const std::string& text);

/// Names of the two backends for files and identifiers, never the same.
[[nodiscard]] std::pair<std::string, std::string> identifiers_of(const SpecSheet& a, const SpecSheet& b);

/// The file of a backend that has to be written whole: "my_npu.backend.json".
[[nodiscard]] std::string backend_file(const std::string& identifier);

/// A word for a POSIX shell.
[[nodiscard]] std::string shell_word(const std::string& text);

/// " --a tflite_double --set-a conv.i8.accumulator.bits=16"; of a backend that has to be written whole, `file`.
[[nodiscard]] std::string backend_arguments(const SpecSheet& sheet, const std::string& option, const std::string& file);

}  // namespace lastbit
