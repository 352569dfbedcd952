// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/dump/layouts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "lastbit/dump.hpp"
#include "lastbit/error.hpp"

namespace lastbit {
namespace {

using Sizes = std::vector<std::int64_t>;

Sizes without_ones(std::span<const std::int64_t> sizes) {
  Sizes list;
  std::ranges::copy_if(sizes, std::back_inserter(list), [](std::int64_t size) { return size != 1; });
  return list;
}

/// Whether the file's axes are these, or samples and these; sizes of 1 say nothing.
bool ends_in(const Shape& file, std::span<const std::int64_t> sizes) {
  const Sizes held = without_ones(file.sizes()), wanted = without_ones(sizes);
  return held.size() >= wanted.size() && held.size() <= wanted.size() + 1 &&
         std::ranges::equal(std::span(held).last(wanted.size()), wanted);
}

/// Images have rows and columns; a series has one axis of them.
struct Image {
  std::int64_t n, h, w, c;
};
Image image_of(const Shape& shape) {
  if (shape.rank() == 3) return {shape[0], 1, shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}

/// `place(n, h, w, c)` for every value in the model's order.
template <class Place>
std::vector<std::size_t> places_by(const Image& image, const Place& place) {
  std::vector<std::size_t> places;
  places.reserve(static_cast<std::size_t>(image.n * image.h * image.w * image.c));
  for (std::int64_t n = 0; n < image.n; ++n)
    for (std::int64_t h = 0; h < image.h; ++h)
      for (std::int64_t w = 0; w < image.w; ++w)
        for (std::int64_t c = 0; c < image.c; ++c) places.push_back(static_cast<std::size_t>(place(n, h, w, c)));
  return places;
}

std::int64_t blocks(std::int64_t channels, std::int64_t width) { return (channels + width - 1) / width; }

FileLayout in_blocks(const Shape& shape, std::int64_t width) {
  const Image i = image_of(shape);
  const std::int64_t count = blocks(i.c, width);
  FileLayout layout{width == 4 ? "nc4hw4" : "nc1hwc0", {i.n, count, i.h, i.w, width}, {}};
  layout.places =
      places_by(i, [&](auto n, auto h, auto w, auto c) { return ((((n * count + c / width) * i.h + h) * i.w + w) * width) + c % width; });
  return layout;
}

FileLayout filled_up(const Shape& shape, std::int64_t multiple) {
  const Image i = image_of(shape);
  const std::int64_t channels = blocks(i.c, multiple) * multiple;
  FileLayout layout{"nhwc" + std::to_string(multiple), {i.n, i.h, i.w, channels}, {}};
  layout.places = places_by(i, [&](auto n, auto h, auto w, auto c) { return ((n * i.h + h) * i.w + w) * channels + c; });
  return layout;
}

bool changes(const FileLayout& layout, const Shape& shape) {
  if (layout.size() != shape.element_count()) return true;
  for (std::size_t i = 0; i < layout.places.size(); ++i)
    if (layout.places[i] != i) return true;
  return false;
}

}  // namespace

FileLayout channels_first(const Shape& shape) {
  const Image i = image_of(shape);
  FileLayout layout{"nchw", {i.n, i.c, i.h, i.w}, {}};
  if (shape.rank() == 3) layout.sizes = {i.n, i.c, i.w};
  layout.places = places_by(i, [&](auto n, auto h, auto w, auto c) { return ((n * i.c + c) * i.h + h) * i.w + w; });
  return layout;
}

const std::vector<std::string_view>& dump_layouts() {
  static const std::vector<std::string_view> names{"nhwc", "nchw", "nc1hwc0", "nc4hw4", "nhwc4", "nhwc8", "nhwc16", "nhwc32"};
  return names;
}

std::vector<FileLayout> layouts_of(const Shape& shape) {
  std::vector<FileLayout> all;
  if (shape.rank() != 3 && shape.rank() != 4) return all;
  all.push_back(channels_first(shape));
  if (shape.rank() == 4) {
    for (const std::int64_t width : {16, 32, 4, 8}) all.push_back(in_blocks(shape, width));
    for (const std::int64_t multiple : {32, 16, 8, 4}) all.push_back(filled_up(shape, multiple));
  }
  std::erase_if(all, [&](const FileLayout& layout) { return !changes(layout, shape); });
  return all;
}

std::optional<FileLayout> layout_by_shape(const Shape& file, const Shape& shape) {
  if (ends_in(file, shape.sizes())) return std::nullopt;
  for (FileLayout& layout : layouts_of(shape)) {
    const bool has_blocks = layout.sizes.size() == 5;
    if (has_blocks && (file.rank() < 5 || file[file.rank() - 1] != layout.sizes.back())) continue;
    if (ends_in(file, layout.sizes)) return std::move(layout);
  }
  return std::nullopt;
}

std::optional<FileLayout> layout_named(std::string_view name, const Tensor& file, const Shape& shape, const std::string& where) {
  if (name.empty() || name == "nhwc" || (shape.rank() != 3 && shape.rank() != 4)) return std::nullopt;
  std::vector<FileLayout> named = layouts_of(shape);
  std::erase_if(named, [&](const FileLayout& layout) { return layout.name != name; });
  if (named.empty()) return std::nullopt;  // the same order for this shape
  const std::int64_t values = file.element_count(), usual = size_of(file.type()) == 1 ? 32 : 16;
  std::ranges::sort(named, {}, [&](const FileLayout& layout) { return layout.sizes.back() == usual ? 0 : layout.sizes.back(); });
  for (FileLayout& layout : named)
    if (values == layout.size()) return std::move(layout);
  for (FileLayout& layout : named)
    if (values % layout.size() == 0) return std::move(layout);
  throw Error(ErrorCode::shape_mismatch, where,
              std::to_string(values) + " values; in the layout " + std::string(name) + " a tensor " + shape.text() + " has " +
                  std::to_string(named.front().size()));
}

Tensor in_model_order(const Tensor& file, const FileLayout& layout, const Shape& shape) {
  const std::int64_t samples = file.element_count() / layout.size();
  std::vector<std::int64_t> sizes(shape.sizes().begin(), shape.sizes().end());
  if (samples > 1) sizes.insert(sizes.begin(), samples);
  Tensor values(file.type(), Shape(std::move(sizes)));
  const std::size_t width = size_of(file.type()), own = layout.places.size();
  for (std::size_t s = 0; s < static_cast<std::size_t>(samples); ++s) {
    const std::byte* const from = file.bytes().data() + s * static_cast<std::size_t>(layout.size()) * width;
    std::byte* const to = values.bytes().data() + s * own * width;
    for (std::size_t i = 0; i < own; ++i) std::memcpy(to + i * width, from + layout.places[i] * width, width);
  }
  return values;
}

Tensor in_file_order(const Tensor& values, const FileLayout& layout) {
  const std::size_t width = size_of(values.type()), own = layout.places.size();
  const std::size_t samples = values.bytes().size() / (own * width);
  std::vector<std::int64_t> sizes = layout.sizes;
  if (samples > 1) sizes.insert(sizes.begin(), static_cast<std::int64_t>(samples));
  Tensor file(values.type(), Shape(std::move(sizes)));
  const auto filled = static_cast<std::size_t>(layout.size());
  for (std::size_t s = 0; s < samples; ++s) {
    const std::byte* const from = values.bytes().data() + s * own * width;
    std::byte* const to = file.bytes().data() + s * filled * width;
    for (std::size_t i = 0; i < own; ++i) std::memcpy(to + layout.places[i] * width, from + i * width, width);
  }
  return file;
}

}  // namespace lastbit
