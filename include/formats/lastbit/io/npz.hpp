// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npz files: several arrays by name in a zip file, stored or deflated, as numpy.savez and savez_compressed write them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "lastbit/io/npy.hpp"

namespace lastbit {

struct ZipMember;

/// The names are read and checked by the constructor, arrays when they are opened; they are unpacked as far as they are read. Throws
/// Error(unreadable_file | malformed_file) naming the file and the array. No size that the file states is trusted: one that its bytes cannot
/// make is refused before any memory is taken for it.
class NpzFile {
 public:
  explicit NpzFile(std::filesystem::path path);

  /// Without the ending .npy, in the file's order.
  [[nodiscard]] const std::vector<std::string>& names() const { return names_; }
  /// The header is read and checked.
  [[nodiscard]] NpyFile open(const std::string& name) const;
  [[nodiscard]] Tensor read(const std::string& name) const { return open(name).values(); }

 private:
  std::filesystem::path path_;
  std::shared_ptr<const std::vector<ZipMember>> members_;
  std::vector<std::string> names_;
};

/// Whether the name ends so.
[[nodiscard]] bool is_npz(const std::filesystem::path& path);

/// A .npy, or the array of a .npz that holds one. Throws Error(unreadable_file | malformed_file) naming the file.
[[nodiscard]] Tensor read_array(const std::filesystem::path& path);

}  // namespace lastbit
