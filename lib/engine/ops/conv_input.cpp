// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "engine/ops/conv_input.hpp"

#include <algorithm>
#include <cstring>

#include "lastbit/arith/overflow.hpp"

namespace lastbit {
namespace {

constexpr std::size_t slack = 128;  // a group may be read beyond the last value, a vector beyond the last channel

/// Rows or columns of a convolution's input under so many outputs.
std::int64_t extent(std::int64_t outputs, std::int64_t stride, std::int64_t kernel, std::int64_t dilation) {
  return (outputs - 1) * stride + (kernel - 1) * dilation + 1;
}

/// Calls visit(values) with the tensor's own type.
template <class Visit>
void with_values(const ConvInput& input, Visit&& visit) {
  const auto as = [&]<class T>() { visit(std::span(reinterpret_cast<const T*>(input.data), input.count)); };
  switch (input.type) {
    case ElementType::int8: return as.template operator()<std::int8_t>();
    case ElementType::uint8: return as.template operator()<std::uint8_t>();
    case ElementType::uint16: return as.template operator()<std::uint16_t>();
    default: return as.template operator()<std::int16_t>();
  }
}

/// Writes the pixels of a band's row, the first of which is at column `first` of the input: those of the tensor where there are any, `padding`
/// elsewhere. convert(from, count, to)
template <class T, class Value, class Convert>
void fill_row(const ConvGeometry& geometry, const T* row, std::int64_t first, const BandAxis& columns, Value padding, Value* to,
              Convert&& convert) {
  const std::int64_t channels = geometry.channels(), step = geometry.column_step, width = geometry.shape.in_width;
  const auto pad = [&](std::int64_t from, std::int64_t until) { std::fill(to + from * channels, to + until * channels, padding); };
  if (row == nullptr) return pad(0, columns.length);
  if (step == 1 && geometry.repeat == 1 && columns.is_whole()) {
    const std::int64_t begin = std::clamp<std::int64_t>(-first, 0, columns.length);
    const std::int64_t end = std::clamp<std::int64_t>(width - first, begin, columns.length);
    pad(0, begin);
    const T* const from = row + (first + begin) * channels;
    Value* const out = to + begin * channels;
    convert(from, (end - begin) * channels, out);
    return pad(end, columns.length);
  }
  for (std::int64_t column = 0; column < columns.length; ++column) {
    const std::int64_t at = first + columns.position(column);
    if (at < 0 || at % step != 0 || at / step >= width) {
      pad(column, column + 1);
      continue;
    }
    const T* const pixel = row + at / step * geometry.shape.in_channels;
    Value* const out = to + column * channels;
    if (geometry.repeat == 1) {
      convert(pixel, channels, out);
      continue;
    }
    for (std::int64_t c = 0; c < channels; ++c) convert(pixel + c / geometry.repeat, 1, out + c);
  }
}

/// As fill_row wants it, of what one value becomes.
template <class One>
auto each_value(One one) {
  return [one](const auto* from, std::int64_t count, auto* to) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = one(from[i]);
  };
}

/// What turns a code's bits into those of an unsigned byte.
std::uint8_t flip_of(const ConvInput& input) { return input.type == ElementType::int8 ? 0x80 : 0; }

}  // namespace

ConvInput conv_input(const Tensor& tensor, std::span<const std::int64_t> zero_points) {
  return {tensor.type(), tensor.bytes().data(), static_cast<std::size_t>(tensor.element_count()), zero_points.empty() ? 0 : zero_points[0]};
}
ConvInput conv_input(std::span<const std::int16_t> values) {
  return {ElementType::int16, reinterpret_cast<const std::byte*>(values.data()), values.size(), 0};
}

IntegerRange centred_range(const ConvInput& input) {
  IntegerRange range{0, 0};
  with_values(input, [&](auto values) {
    if (values.empty()) return;
    auto least = values[0], largest = values[0];
    for (const auto value : values) {
      least = value < least ? value : least;
      largest = value > largest ? value : largest;
    }
    range = {least - input.zero_point, largest - input.zero_point};
  });
  return range;
}

std::int64_t unsigned_zero_point(const ConvInput& input) { return input.zero_point + (input.type == ElementType::int8 ? 128 : 0); }

bool ConvGeometry::has_padding() const {
  if (row_step > 1 || column_step > 1 || shape.pad_top > 0 || shape.pad_left > 0) return true;
  return extent(shape.out_height, shape.stride_height, shape.kernel_height, shape.dilation_height) - shape.pad_top > shape.in_height ||
         extent(shape.out_width, shape.stride_width, shape.kernel_width, shape.dilation_width) - shape.pad_left > shape.in_width;
}

namespace {
constexpr std::int64_t worth_gathering = 4;  // copying a row as it lies is so much faster than tap by tap
}

BandAxis::BandAxis(std::int64_t outputs, std::int64_t kernel, std::int64_t stride_between, std::int64_t dilation_between)
    : taps(kernel), stride(stride_between), dilation(dilation_between) {
  const std::int64_t whole = extent(outputs, stride, taps, dilation), alone = outputs * taps;
  const bool as_it_lies = whole <= worth_gathering * alone;
  length = as_it_lies ? whole : alone;
  output_step = as_it_lies ? stride : taps;
  tap_step = as_it_lies ? dilation : 1;
}

std::int64_t BandAxis::longest(std::int64_t outputs, std::int64_t taps, std::int64_t stride, std::int64_t dilation) {
  return std::min(extent(outputs, stride, taps, dilation), worth_gathering * outputs * taps);
}

std::size_t Band::bytes_for(const ConvGeometry& geometry, std::int64_t rows, std::int64_t columns, BandForm form) {
  const ConvShape& s = geometry.shape;
  return static_cast<std::size_t>(BandAxis(rows, s.kernel_height, s.stride_height, s.dilation_height).length *
                                  BandAxis(columns, s.kernel_width, s.stride_width, s.dilation_width).length * geometry.channels()) *
         bytes_of(form);
}

void Band::begin(const ConvGeometry& geometry, const OutputArea& area, BandForm form) {
  const ConvShape& s = geometry.shape;
  geometry_ = geometry;
  area_ = area;
  form_ = form;
  rows_axis_ = BandAxis(area.last_row - area.first_row, s.kernel_height, s.stride_height, s.dilation_height);
  columns_axis_ = BandAxis(area.columns(), s.kernel_width, s.stride_width, s.dilation_width);
  pixel_bytes_ = static_cast<std::size_t>(geometry.channels()) * bytes_of(form);
  row_bytes_ = static_cast<std::size_t>(columns_axis_.length) * pixel_bytes_;
}

void Band::fill(const ConvGeometry& geometry, const ConvInput& input, const OutputArea& area, BandForm form, const kernels::Path& path) {
  const ConvShape& s = geometry.shape;
  begin(geometry, area, form);
  rows_.resize(static_cast<std::size_t>(rows_axis_.length) * row_bytes_ + slack);
  const std::int64_t first_row = area.first_row * s.stride_height - s.pad_top;
  const std::int64_t first_column = area.first_column * s.stride_width - s.pad_left;
  with_values(input, [&](auto values) {
    using T = typename decltype(values)::value_type;
    const auto zero_point = static_cast<std::int32_t>(input.zero_point);
    for (std::int64_t r = 0; r < rows_axis_.length; ++r) {
      const std::int64_t at = first_row + rows_axis_.position(r);
      const bool inside = at >= 0 && at % geometry.row_step == 0 && at / geometry.row_step < s.in_height;
      const std::int64_t first = (area.sample * s.in_height + at / geometry.row_step) * s.in_width * s.in_channels;
      const T* const row = inside ? values.data() + first : nullptr;
      std::byte* const to = rows_.data() + static_cast<std::size_t>(r) * row_bytes_;
      switch (form) {
        case BandForm::unsigned_bytes:
          fill_row(geometry, row, first_column, columns_axis_, static_cast<std::uint8_t>(unsigned_zero_point(input)),
                   reinterpret_cast<std::uint8_t*>(to), [&](const T* from, std::int64_t count, std::uint8_t* out) {
                     const std::uint8_t flip = flip_of(input);
                     if (sizeof(T) == 1 && path.input != nullptr)
                       return path.input->flip(reinterpret_cast<const std::uint8_t*>(from), static_cast<std::size_t>(count), flip, out);
                     each_value([flip](T v) { return static_cast<std::uint8_t>((v & 0xFF) ^ flip); })(from, count, out);
                   });
          break;
        case BandForm::codes:
          fill_row(geometry, row, first_column, columns_axis_, std::uint8_t{0}, reinterpret_cast<std::uint8_t*>(to),
                   each_value([](T v) { return static_cast<std::uint8_t>(v & 0xFF); }));
          break;
        case BandForm::words:
          fill_row(geometry, row, first_column, columns_axis_, std::int16_t{0}, reinterpret_cast<std::int16_t*>(to),
                   each_value([zero_point](T v) { return static_cast<std::int16_t>(v - zero_point); }));
          break;
        case BandForm::magnitudes:
          fill_row(geometry, row, first_column, columns_axis_, std::int16_t{0}, reinterpret_cast<std::int16_t*>(to),
                   each_value([zero_point](T v) {
                     const std::int32_t centred = v - zero_point;
                     return static_cast<std::int16_t>(std::min(centred < 0 ? -centred : centred, 32767));
                   }));
          break;
      }
    }
  });
}

void Band::windows_at(std::int64_t first, const std::byte* begin, std::size_t column_bytes, std::size_t row_bytes,
                      std::span<const std::byte*> to) const {
  const std::int64_t columns = area_.columns();
  std::int64_t column = first % columns;
  const std::byte* row = begin + static_cast<std::size_t>(first / columns) * row_bytes;
  for (std::size_t i = 0; i < to.size(); row += row_bytes, column = 0) {
    const std::size_t of_row = std::min(to.size() - i, static_cast<std::size_t>(columns - column));
    const std::byte* at = row + static_cast<std::size_t>(column) * column_bytes;
    for (std::size_t x = 0; x < of_row; ++x, at += column_bytes) to[i++] = at;
  }
}

void Band::windows(std::int64_t first, std::span<const std::byte*> to) const {
  windows_at(first, rows_.data(), static_cast<std::size_t>(columns_axis_.output_step) * pixel_bytes_,
             static_cast<std::size_t>(rows_axis_.output_step) * row_bytes_, to);
}

std::ptrdiff_t Band::offset(std::int64_t ky, std::int64_t kx) const {
  return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(ky * rows_axis_.tap_step) * row_bytes_ +
                                     static_cast<std::size_t>(kx * columns_axis_.tap_step) * pixel_bytes_);
}

namespace {

/// to[i] = {from[0][i], from[1][i], …}
template <class Value, std::size_t together>
void interleave_rows(const Value* const* from, std::size_t count, Value* to) {
  if constexpr (together == 4) {
    const Value *const a = from[0], *const b = from[1], *const c = from[2], *const d = from[3];
    for (std::size_t i = 0; i < count; ++i) {
      to[4 * i] = a[i];
      to[4 * i + 1] = b[i];
      to[4 * i + 2] = c[i];
      to[4 * i + 3] = d[i];
    }
  } else {
    const Value *const a = from[0], *const b = from[1];
    for (std::size_t i = 0; i < count; ++i) {
      to[2 * i] = a[i];
      to[2 * i + 1] = b[i];
    }
  }
}

template <class Value>
void interleave_columns(const std::byte* const* rows, std::size_t columns, std::size_t channels, std::size_t pixel_bytes,
                        std::size_t from_pixel_bytes, std::byte* to) {
  constexpr std::size_t together = 4 / sizeof(Value);
  const Value* from[together];
  const bool contiguous = pixel_bytes == channels * 4;
  const std::size_t calls = contiguous ? 1 : columns, count = contiguous ? channels * columns : channels;
  for (std::size_t x = 0; x < calls; ++x) {
    for (std::size_t j = 0; j < together; ++j) from[j] = reinterpret_cast<const Value*>(rows[j] + x * from_pixel_bytes);
    interleave_rows<Value, together>(from, count, reinterpret_cast<Value*>(to + x * pixel_bytes));
  }
}

}  // namespace

void Band::fill_interleaved(const ConvGeometry& geometry, const ConvInput& input, const OutputArea& area, BandForm form,
                            const kernels::Path& path) {
  begin(geometry, area, form);
  const auto channels = static_cast<std::size_t>(geometry.channels());
  const std::int64_t together = 4 / static_cast<std::int64_t>(bytes_of(form));
  row_groups_ = static_cast<std::size_t>((geometry.shape.kernel_height + together - 1) / together);
  vector_channels_ = (channels + path.lanes - 1) / path.lanes * path.lanes;
  group_pixel_bytes_ = vector_channels_ * 4;
  const std::size_t rows = static_cast<std::size_t>(area.last_row - area.first_row) * row_groups_;
  interleaved_.resize(rows * static_cast<std::size_t>(columns_axis_.length) * group_pixel_bytes_ + slack);
  const bool lie_alike = geometry.row_step == 1 && geometry.column_step == 1 && geometry.repeat == 1 && columns_axis_.is_whole();
  if (form == BandForm::unsigned_bytes && lie_alike && path.input != nullptr) return interleave_input(input, *path.input);
  fill(geometry, input, area, form, path);
  interleave();
}

void Band::interleave_input(const ConvInput& input, const kernels::InputKernels& kernels) {
  const ConvShape& s = geometry_.shape;
  const std::int64_t first_row = area_.first_row * s.stride_height - s.pad_top;
  const std::int64_t first_column = area_.first_column * s.stride_width - s.pad_left;
  const std::int64_t begin = std::clamp<std::int64_t>(-first_column, 0, columns_axis_.length);
  const std::int64_t end = std::clamp<std::int64_t>(s.in_width - first_column, begin, columns_axis_.length);
  const auto* const codes = reinterpret_cast<const std::uint8_t*>(input.data);
  const std::uint8_t flip = flip_of(input), padding = static_cast<std::uint8_t>(unsigned_zero_point(input));
  const std::size_t whole = static_cast<std::size_t>(columns_axis_.length) * group_pixel_bytes_;
  kernels::RowsOfBytes rows;
  rows.columns = static_cast<std::size_t>(end - begin);
  rows.channels = static_cast<std::size_t>(s.in_channels);
  const std::size_t row_bytes = rows.columns * rows.channels;
  auto* to = reinterpret_cast<std::uint8_t*>(interleaved_.data());
  for (std::int64_t y = 0; y < area_.last_row - area_.first_row; ++y) {
    for (std::int64_t ky = 0; ky < s.kernel_height; ky += 4, to += whole) {
      rows.row_count = static_cast<std::size_t>(std::min<std::int64_t>(4, s.kernel_height - ky));  // beyond the kernel weights are 0
      rows.readable = row_bytes + slack;
      for (std::size_t j = 0; j < rows.row_count; ++j) {
        const std::int64_t tap = ky + static_cast<std::int64_t>(j);
        const std::int64_t at = first_row + rows_axis_.position(y * rows_axis_.output_step + tap * rows_axis_.tap_step);
        if (at < 0 || at >= s.in_height || rows.columns == 0) {
          padding_row_.assign(row_bytes + slack, static_cast<std::uint8_t>(padding ^ flip));
          rows.rows[j] = padding_row_.data();
          continue;
        }
        const std::int64_t pixel = (area_.sample * s.in_height + at) * s.in_width + first_column + begin;
        const auto first = static_cast<std::size_t>(pixel * s.in_channels);
        rows.rows[j] = codes + first;
        rows.readable = std::min(rows.readable, input.count - first);
      }
      std::uint8_t* const inside = to + static_cast<std::size_t>(begin) * group_pixel_bytes_;
      std::fill(to, inside, padding);
      kernels.interleave(rows, flip, inside);
      std::fill(inside + rows.columns * group_pixel_bytes_, to + whole, padding);
    }
  }
}

void Band::interleave() {
  const ConvShape& s = geometry_.shape;
  const std::size_t together = 4 / bytes_of(form_);
  const auto kernel_height = static_cast<std::size_t>(s.kernel_height);
  const auto channels = static_cast<std::size_t>(geometry_.channels());
  const std::size_t rows = static_cast<std::size_t>(area_.last_row - area_.first_row),
                    columns = static_cast<std::size_t>(columns_axis_.length);
  std::byte* to = interleaved_.data();
  for (std::size_t y = 0; y < rows; ++y) {
    for (std::size_t group = 0; group < row_groups_; ++group, to += columns * group_pixel_bytes_) {
      const std::byte* from[4];
      for (std::size_t j = 0; j < together; ++j) {
        const std::size_t ky = std::min(group * together + j, kernel_height - 1);  // beyond the kernel: any row, its weights are 0
        from[j] = rows_.data() +
                  (y * static_cast<std::size_t>(rows_axis_.output_step) + ky * static_cast<std::size_t>(rows_axis_.tap_step)) * row_bytes_;
      }
      if (form_ == BandForm::unsigned_bytes)
        interleave_columns<std::uint8_t>(from, columns, channels, group_pixel_bytes_, pixel_bytes_, to);
      else interleave_columns<std::int16_t>(from, columns, channels, group_pixel_bytes_, pixel_bytes_, to);
    }
  }
}

void Band::interleaved_windows(std::int64_t first, std::span<const std::byte*> to) const {
  windows_at(first, interleaved_.data(), static_cast<std::size_t>(columns_axis_.output_step) * group_pixel_bytes_,
             row_groups_ * static_cast<std::size_t>(columns_axis_.length) * group_pixel_bytes_, to);
}

std::ptrdiff_t Band::interleaved_offset(std::int64_t row_group, std::int64_t kx) const {
  return static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row_group * columns_axis_.length + kx * columns_axis_.tap_step) *
                                     group_pixel_bytes_);
}

}  // namespace lastbit
