// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Where a test finds its data. The environment wins over what was configured.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>

namespace lastbit::test {

inline std::filesystem::path source_directory() { return LASTBIT_SOURCE_DIR; }

/// The folder with the recorded networks, or nothing after saying so: ctest then reports the test as skipped.
inline std::optional<std::filesystem::path> models_directory() {
  const char* chosen = std::getenv("LASTBIT_MODELS_DIR");
  const std::filesystem::path directory = chosen != nullptr ? chosen : LASTBIT_MODELS_DIR;
  if (std::filesystem::is_directory(directory)) return directory;
  std::cout << "skipped: no folder of recorded networks at " << directory << "; set LASTBIT_MODELS_DIR\n";
  return std::nullopt;
}

}  // namespace lastbit::test
