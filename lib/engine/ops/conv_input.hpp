// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// The input of a convolution as the kernels want it: whole windows, padding included, a few rows at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/kernels/kernels.hpp"
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
/// codes: uint8 as they are; 0 is in the padding. words: zero points subtracted. magnitudes: of those, 2^15 as 2^15 - 1.
enum class BandForm : std::uint8_t { unsigned_bytes, codes, words, magnitudes };
[[nodiscard]] constexpr std::size_t bytes_of(BandForm form) { return form == BandForm::unsigned_bytes || form == BandForm::codes ? 1 : 2; }
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

/// The rows or the columns that a band holds for some outputs: all from the first tap to the last; or, where those are far more, as with a
/// wide dilation, the taps of each output alone, one output after the other.
struct BandAxis {
  std::int64_t length = 0;
  std::int64_t output_step = 0, tap_step = 0;  ///< in the band, from one output or one tap to the next
  std::int64_t taps = 0, stride = 0, dilation = 0;

  BandAxis() = default;
  BandAxis(std::int64_t outputs, std::int64_t taps, std::int64_t stride, std::int64_t dilation);
  /// For so many outputs or fewer, it is never longer than this.
  [[nodiscard]] static std::int64_t longest(std::int64_t outputs, std::int64_t taps, std::int64_t stride, std::int64_t dilation);
  /// Where the input has it, counted from the first output's first tap.
  [[nodiscard]] std::int64_t position(std::int64_t index) const {
    return is_whole() ? index : index / taps * stride + index % taps * dilation;
  }
  [[nodiscard]] bool is_whole() const { return output_step == stride && tap_step == dilation; }
};

/// All input that an area of outputs reads, rows one after the other.
class Band {
 public:
  void fill(const ConvGeometry& geometry, const ConvInput& input, const OutputArea& area, BandForm form, const kernels::Path& path);
  /// What one row of outputs and each further one need, in bytes.
  [[nodiscard]] static std::size_t bytes_for(const ConvGeometry& geometry, std::int64_t rows, std::int64_t columns, BandForm form);

  /// Where the windows of outputs begin, `first` and those behind it; they count the area's outputs.
  void windows(std::int64_t first, std::span<const std::byte*> to) const;
  [[nodiscard]] const std::byte* window(std::int64_t pixel) const {
    const std::byte* at = nullptr;
    windows(pixel, {&at, 1});
    return at;
  }
  /// Of kernel row ky and column kx from there.
  [[nodiscard]] std::ptrdiff_t offset(std::int64_t ky, std::int64_t kx) const;

  /// The same input with the rows under rows ky of the kernel side by side, `together` (4 bytes or 2 words) of them for every channel: what a
  /// depthwise product reads. [rows of outputs][ky / together][columns][channels in whole vectors] groups.
  void fill_interleaved(const ConvGeometry& geometry, const ConvInput& input, const OutputArea& area, BandForm form,
                        const kernels::Path& path);
  void interleaved_windows(std::int64_t first, std::span<const std::byte*> to) const;
  [[nodiscard]] std::ptrdiff_t interleaved_offset(std::int64_t row_group, std::int64_t kx) const;

 private:
  void begin(const ConvGeometry& geometry, const OutputArea& area, BandForm form);
  /// Of the rows that are filled.
  void interleave();
  /// Straight from a tensor of bytes whose rows lie in it as in the band.
  void interleave_input(const ConvInput& input, const kernels::InputKernels& kernels);
  /// So many bytes from one column and from one row to the next.
  void windows_at(std::int64_t first, const std::byte* begin, std::size_t column_bytes, std::size_t row_bytes,
                  std::span<const std::byte*> to) const;

  ConvGeometry geometry_;
  OutputArea area_;
  BandForm form_ = BandForm::words;
  BandAxis rows_axis_, columns_axis_;
  std::size_t pixel_bytes_ = 0, row_bytes_ = 0;
  std::size_t group_pixel_bytes_ = 0, row_groups_ = 0, vector_channels_ = 0;
  std::vector<std::byte, UnwrittenAllocator<std::byte>> rows_, interleaved_;
  std::vector<std::uint8_t> padding_row_;
};

}  // namespace lastbit
