// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/conv_memory.hpp"

#include <algorithm>

#include "engine/ops/convolution_run.hpp"

namespace lastbit {
namespace {

/// Codes of one input channel's neighbours that a lane takes at once.
double codes_together(BandForm form) {
  const std::size_t codes = kernels::group_bytes / bytes_of(form);
  return static_cast<double>(codes);
}

/// Of weights in the kernels' order.
double packed_bytes(const ConvGeometry& geometry, BandForm form, std::size_t lanes) {
  const ConvShape& s = geometry.shape;
  const double together = codes_together(form);
  const bool depthwise = is_depthwise(s);
  const double groups = depthwise ? 1 : static_cast<double>(s.groups);
  const double channels = static_cast<double>(s.out_channels) / groups + static_cast<double>(lanes);
  const double rows =
      depthwise ? (static_cast<double>(s.kernel_height) / together + 1) * static_cast<double>(s.kernel_width)
                : static_cast<double>(s.kernel_height * s.kernel_width) * (static_cast<double>(s.group_channels()) / together + 1);
  return groups * channels * rows * static_cast<double>(kernels::group_bytes);
}

/// Of the band of one area, and of its rows side by side.
double band_bytes_of(const ConvGeometry& geometry, BandForm form, std::size_t lanes) {
  const ConvShape& s = geometry.shape;
  const OutputArea area = largest_area(geometry, form);
  const std::int64_t rows = area.last_row - area.first_row;
  const std::int64_t row_length = BandAxis::longest(area.columns(), s.kernel_width, s.stride_width, s.dilation_width);
  const double pixels = static_cast<double>(BandAxis::longest(rows, s.kernel_height, s.stride_height, s.dilation_height) * row_length);
  const double band = pixels * static_cast<double>(geometry.channels()) * static_cast<double>(bytes_of(form));
  if (!is_depthwise(s)) return band;
  const double together = codes_together(form);
  const double row_groups = static_cast<double>(rows) * (static_cast<double>(s.kernel_height) / together + 1);
  const auto columns = static_cast<double>(row_length);
  return band + row_groups * columns * static_cast<double>(geometry.channels() + static_cast<std::int64_t>(lanes)) * kernels::group_bytes;
}

}  // namespace

OperationMemory memory_of(const ConvGeometry& geometry, const ConvValues& values) {
  const ConvShape& s = geometry.shape;
  const kernels::Path& path = kernels::selected_path();
  const bool as_bytes = values.bytes && path.dense_bytes != nullptr;
  const double weights = static_cast<double>(s.out_channels) * static_cast<double>(s.taps());
  const double words = packed_bytes(geometry, BandForm::words, path.lanes);
  const double bytes = as_bytes ? packed_bytes(geometry, BandForm::unsigned_bytes, path.lanes) : 0;
  const std::int64_t most = largest_area(geometry, BandForm::unsigned_bytes).pixels();  // a band of words has fewer
  const auto pixels = static_cast<double>(std::min(tile_pixels(s), most)), channels = static_cast<double>(s.out_channels);
  const double tile = (32 * channels + 16) * pixels;  // 32 and 64 bits, what is known of each sum, and where its window begins
  if (values.fits_32_bits && as_bytes) return {bytes, 0, band_bytes_of(geometry, BandForm::unsigned_bytes, path.lanes) + tile};
  const double band = band_bytes_of(geometry, BandForm::words, path.lanes);
  if (values.fits_32_bits) return {words, 0, band + tile};
  // Words, their low and high bytes, magnitudes, and channels side by side, in whole vectors; the input once more where it is followed term
  // by term, and the sums of the steps.
  const double input = static_cast<double>(s.batch * s.in_height * s.in_width * s.in_channels);
  const double vectors = channels + static_cast<double>(s.groups * static_cast<std::int64_t>(2 * path.lanes));
  const double pairs = values.bytes && path.dense_pairs != nullptr ? packed_bytes(geometry, BandForm::codes, path.lanes) : 0;
  return {bytes + pairs + 4 * words + 2 * weights + 2 * vectors * static_cast<double>(s.taps()), 4 * input,
          2 * band + tile + 24 * vectors * pixels};
}

}  // namespace lastbit
