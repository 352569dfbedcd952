// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// What a reader says of a bad file.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "lastbit/error.hpp"
#include "support/paths.hpp"

namespace lastbit::test {

struct Refusal {
  ErrorCode code;
  std::string message;

  [[nodiscard]] bool is_one_line() const {
    return std::none_of(message.begin(), message.end(), [](char character) { return static_cast<unsigned char>(character) < 0x20; });
  }
  [[nodiscard]] bool says(const std::string& text) const { return message.find(text) != std::string::npos; }
};

/// The Error that `read` throws, or nothing if it throws none. Any other exception ends the test.
template <class Read>
std::optional<Refusal> refusal_of(Read read) {
  try {
    read();
  } catch (const Error& error) {
    return Refusal{error.diagnostics().front().code, error.what()};
  }
  return std::nullopt;
}

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

inline std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

inline std::filesystem::path seed_directory(const std::string& target) { return source_directory() / "fuzz" / "corpus" / target; }

inline std::vector<std::filesystem::path> seeds(const std::string& target) {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(seed_directory(target))) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  return paths;
}

}  // namespace lastbit::test
