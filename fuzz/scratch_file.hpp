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
#include <string_view>
#include <system_error>

namespace lastbit::fuzz {

/// A folder of this process's own, in memory where the system has such a place, and gone with the process.
inline const std::filesystem::path& scratch_folder() {
  struct Folder {
    std::filesystem::path path = place() / ("lastbit_fuzz_" + std::to_string(::getpid()));
    Folder() { std::filesystem::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
    Folder(const Folder&) = delete;
    Folder& operator=(const Folder&) = delete;

    static std::filesystem::path place() {
      const std::filesystem::path memory = "/dev/shm";
      return std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
    }
  };
  static const Folder folder;
  return folder.path;
}

/// The file of that name with these bytes alone in the scratch folder; the folder.
inline const std::filesystem::path& folder_with(const char* name, std::string_view bytes) {
  std::ofstream(scratch_folder() / name, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return scratch_folder();
}
inline const std::filesystem::path& folder_with(const char* name, const std::uint8_t* data, std::size_t size) {
  return folder_with(name, {reinterpret_cast<const char*>(data), size});
}

}  // namespace lastbit::fuzz
