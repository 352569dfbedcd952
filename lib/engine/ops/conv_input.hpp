// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The input of a convolution as the kernels want it: whole windows, padding included, a few rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "lastbit/op/conv2d.hpp"
#include "lastbit/tensor.hpp"

namespace lastbit {

/// An int8, uint8, int16 or uint16 tensor [batch, height, width, channels] and its one zero point.
struct ConvInput {
  ElementType type = ElementType::int16;
  const std::byte* data = nullptr;
  std::size_t count = 0;
  std::int64_t zero_point = 0;
};
[[nodiscard]] ConvInput conv_input(const Tensor& tensor, std::span<const std::int64_t> zero_points);
/// Zero points subtracted.
[[nodiscard]] ConvInput conv_input(std::span<const std::int16_t> values);

/// Smallest and largest value, zero point subtracted; 0 and 0 of nothing.
[[nodiscard]] IntegerRange centred_range(const ConvInput& input);

/// unsigned_bytes: codes, moved up by 128 where they are signed; the zero point is in the padding.
/// words: zero points subtracted. magnitudes: of those, 2^15 as 2^15 - 1.
enum class BandForm : std::uint8_t { unsigned_bytes, words, magnitudes };
[[nodiscard]] constexpr std::size_t bytes_of(BandForm form) { return form == BandForm::unsigned_bytes ? 1 : 2; }
/// The zero point of codes that are unsigned bytes.
[[nodiscard]] std::int64_t unsigned_zero_point(const ConvInput& input);

/// A forward convolution over an input in which zeros may have been inserted between rows and columns: what a transposed one is.
struct ConvGeometry {
  ConvShape shape;                             ///< of the forward convolution; in_height and in_width are those of the tensor
  std::int64_t row_step = 1, column_step = 1;  ///< rows and columns of the convolution's input from one of the tensor's to the next
  std::int64_t repeat = 1;                     ///< how often every channel is taken, side by side

  [[nodiscard]] std::int64_t channels() const { return shape.in_channels * repeat; }
  /// Some window of some output reaches into the padding.
  [[nodiscard]] bool has_padding() const;
};

/// Outputs [first_row, last_row) x [first_column, last_column) of one sample.
struct OutputArea {
  std::int64_t sample = 0, first_row = 0, last_row = 0, first_column = 0, last_column = 0;
  [[nodiscard]] std::int64_t columns() const { return last_column - first_column; }
  [[nodiscard]] std::int64_t pixels() const { return (last_row - first_row) * columns(); }
};

/// All input that an area of outputs reads, rows one after the other.
class Band {
 public:
  void fill(const ConvGeometry& geometry, const ConvInput& input, const OutputArea& area, BandForm form);
  /// What one row of outputs and each further one need, in bytes.
  [[nodiscard]] static std::size_t bytes_for(const ConvGeometry& geometry, std::int64_t rows, std::int64_t columns, BandForm form);

  /// Where the window of an output begins; `pixel` counts the area's outputs.
  [[nodiscard]] const std::byte* window(std::int64_t pixel) const;
  /// Of kernel row ky and column kx from there.
  [[nodiscard]] std::ptrdiff_t offset(std::int64_t ky, std::int64_t kx) const;

  /// Rows of the band for rows ky of the kernel side by side, `together` (4 bytes or 2 words) of them for every channel: what a depthwise
  /// product reads. [rows of outputs][columns][ky / together][channels in whole vectors] groups.
  void interleave(std::size_t lanes);
  [[nodiscard]] const std::byte* interleaved_window(std::int64_t pixel) const;
  [[nodiscard]] std::ptrdiff_t interleaved_offset(std::int64_t row_group, std::int64_t kx) const;

 private:
  ConvGeometry geometry_;
  OutputArea area_;
  BandForm form_ = BandForm::words;
  std::int64_t columns_ = 0;  ///< of a row of the band
  std::size_t pixel_bytes_ = 0, row_bytes_ = 0;
  std::size_t group_pixel_bytes_ = 0, row_groups_ = 0, vector_channels_ = 0;
  AlignedVector<std::byte> rows_, interleaved_;
};

}  // namespace lastbit
