// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// NumPy's .npy files, versions 1.0 to 3.0, little-endian, of the types of ElementType.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "lastbit/tensor.hpp"

namespace lastbit {

/// Fortran order is turned into row-major order. Throws Error(unreadable_file | malformed_file) naming the file.
[[nodiscard]] Tensor read_npy(const std::filesystem::path& path);

/// The same from memory; `where` names the bytes in messages.
[[nodiscard]] Tensor parse_npy(std::span<const std::byte> bytes, std::string_view where);

/// Bytes that are read where they are needed: a file, or a member of one.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  [[nodiscard]] virtual std::uint64_t size() const = 0;
  /// bytes.size() bytes from `offset` on, which there must be. Throws Error(unreadable_file | malformed_file) naming the file.
  virtual void read_at(std::uint64_t offset, std::span<std::byte> bytes) = 0;
};

/// A file whose rows, the indices of its leading dimension, are read a few at a time: only those take memory. The header is read and checked
/// once, by the constructor, as read_npy does. Throws Error(unreadable_file | malformed_file) naming the file.
class NpyFile {
 public:
  explicit NpyFile(const std::filesystem::path& path);
  /// The same of any bytes; `where` names them in messages.
  NpyFile(std::unique_ptr<ByteSource> bytes, std::string where);
  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// Rows first … first + count - 1 (count > 0), which the file must have: shape [count, the other sizes]. A file of no dimension has one row.
  [[nodiscard]] Tensor rows(std::int64_t first, std::int64_t count);
  /// All of it.
  [[nodiscard]] Tensor values();

 private:
  std::unique_ptr<ByteSource> bytes_;
  std::string where_;
  ElementType type_ = ElementType::int8;
  Shape shape_;
  bool fortran_order_ = false;
  std::uint64_t start_ = 0;  ///< of the values
};

/// Version 1.0, row-major. Throws Error(unreadable_file).
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace lastbit
