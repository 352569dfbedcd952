// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lastbit/io/npy.hpp"

namespace lastbit {

/// The bytes of a regular file. Throws Error(unreadable_file).
[[nodiscard]] std::vector<std::byte> read_file(const std::filesystem::path& path);
[[nodiscard]] std::string read_text_file(const std::filesystem::path& path);

/// A regular file, for reading. Throws Error(unreadable_file).
[[nodiscard]] std::ifstream open_file(const std::filesystem::path& path);

/// A regular file, read where it is needed. Throws Error(unreadable_file), also where it has become shorter meanwhile.
[[nodiscard]] std::unique_ptr<ByteSource> file_bytes(const std::filesystem::path& path);

/// What a file says of another file's place: relative, and below `folder` with every link followed. Throws Error naming `where` and the place
/// for any other, and for what is no regular file.
[[nodiscard]] std::filesystem::path path_below(const std::filesystem::path& folder, const std::string& file, const std::string& where);

/// Replaces a file, whole or not at all; one that is no regular file, such as a pipe, is written to. No link is followed. Throws
/// Error(unreadable_file), and Error(bad_input) for what set_replacing() (lastbit/io/output.hpp) does not allow.
void write_file(const std::filesystem::path& path, std::string_view header, std::span<const std::byte> body);

/// A file that one process at a time keeps: whatever happens, it holds all of the old text or all of the new one.
class OwnedFile {
 public:
  /// Throws Error where it is a link, or another process has it.
  explicit OwnedFile(std::filesystem::path path);
  ~OwnedFile();
  OwnedFile(const OwnedFile&) = delete;
  OwnedFile& operator=(const OwnedFile&) = delete;

  [[nodiscard]] bool exists() const { return descriptor_ >= 0; }
  /// Written beside it, synchronised, renamed.
  void replace(std::string_view text);

 private:
  void open();
  std::filesystem::path path_;
  int descriptor_ = -1;  ///< holds the lock
};

}  // namespace lastbit
