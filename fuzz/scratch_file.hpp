// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// Readers of a file in a folder, and the files beside it.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace lastbit::fuzz {

/// A folder of this process's own, made once and left to the system.
inline const std::filesystem::path& scratch_folder() {
  static const std::filesystem::path folder = [] {
    const auto path = std::filesystem::temp_directory_path() / ("lastbit_fuzz_" + std::to_string(::getpid()));
    std::filesystem::create_directories(path);
    return path;
  }();
  return folder;
}

/// The file of that name with these bytes alone in the scratch folder; the folder.
inline const std::filesystem::path& folder_with(const char* name, const std::uint8_t* data, std::size_t size) {
  std::ofstream(scratch_folder() / name, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return scratch_folder();
}

}  // namespace lastbit::fuzz
