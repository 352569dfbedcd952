// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "compare/dump/layouts.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <functional>
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

/// Images have rows and columns; a series has one axis of them, a row of values none.
struct Image {
  std::int64_t n, h, w, c;
};
Image image_of(const Shape& shape) {
  if (shape.rank() == 1) return {1, 1, 1, shape[0]};
  if (shape.rank() == 2) return {shape[0], 1, 1, shape[1]};
  if (shape.rank() == 3) return {shape[0], 1, shape[1], shape[2]};
  return {shape[0], shape[1], shape[2], shape[3]};
}
bool has_axes(const Shape& shape) { return shape.rank() == 3 || shape.rank() == 4; }

constexpr std::array<std::int64_t, 5> widths{64, 32, 16, 8, 4};

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

/// Of a file with an axis of blocks and one of what is in them: as wide as these say.
bool has_own_blocks(const Shape& file, const Shape& shape, FileLayout& layout) {
  if (file.rank() < 5 || blocks(image_of(shape).c, file[file.rank() - 1]) != file[file.rank() - 4]) return false;
  layout = in_blocks(shape, file[file.rank() - 1]);
  return ends_in(file, layout.sizes);
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
  static const std::vector<std::string_view> names{"nhwc", "nchw", "nc1hwc0", "nc4hw4", "nhwc4", "nhwc8", "nhwc16", "nhwc32", "nhwc64"};
  return names;
}

std::vector<FileLayout> layouts_of(const Shape& shape) {
  std::vector<FileLayout> all;
  if (shape.rank() == 0 || shape.rank() > 4) return all;
  if (has_axes(shape)) all.push_back(channels_first(shape));
  if (shape.rank() == 4)
    for (const std::int64_t width : {16, 32, 64, 4, 8}) all.push_back(in_blocks(shape, width));
  if (shape.rank() != 3)
    for (const std::int64_t multiple : widths) all.push_back(filled_up(shape, multiple));
  std::erase_if(all, [&](const FileLayout& layout) { return !changes(layout, shape); });
  return all;
}

std::optional<FileLayout> layout_by_shape(const Shape& file, const Shape& shape) {
  if (ends_in(file, shape.sizes())) return std::nullopt;
  if (FileLayout own; shape.rank() == 4 && has_own_blocks(file, shape, own)) return own;
  for (FileLayout& layout : layouts_of(shape)) {
    const bool has_blocks = layout.sizes.size() == 5;
    if (has_blocks && (file.rank() < 5 || file[file.rank() - 1] != layout.sizes.back())) continue;
    if (has_axes(shape) && ends_in(file, layout.sizes)) return std::move(layout);
  }
  return std::nullopt;
}

std::optional<FileLayout> layout_by_fill(const Tensor& file, const Shape& shape) {
  const std::int64_t values = file.element_count(), own = shape.element_count();
  const std::size_t width = size_of(file.type());
  const auto bytes = file.bytes();
  const auto is_at = [&](std::size_t place, std::size_t other) {
    return std::memcmp(bytes.data() + place * width, bytes.data() + other * width, width) == 0;
  };
  const auto is_filled = [&](const FileLayout& layout) {
    const auto size = static_cast<std::size_t>(layout.size());
    std::vector<bool> is_value(size, false);
    for (const std::size_t place : layout.places) is_value[place] = true;
    const auto fill = static_cast<std::size_t>(std::ranges::find(is_value, false) - is_value.begin());
    bool any_other = false;
    for (std::size_t i = 0; i < static_cast<std::size_t>(values); ++i) {
      const bool same = is_at(i, fill);
      if (!is_value[i % size] && !same) return false;
      any_other = any_other || !same;
    }
    return any_other || values % own != 0;  // of one value alone: as it is
  };
  std::vector<FileLayout> padded = layouts_of(shape);
  std::erase_if(padded, [&](const FileLayout& layout) { return layout.size() == own || values % layout.size() != 0; });
  std::ranges::stable_sort(padded, std::greater<>{}, &FileLayout::size);
  const auto found = std::ranges::find_if(padded, is_filled);
  return found == padded.end() ? std::nullopt : std::optional(std::move(*found));
}

std::optional<FileLayout> layout_named(std::string_view name, const Tensor& file, const Shape& shape, const std::string& where) {
  if (name.empty() || name == "nhwc" || !has_axes(shape)) return std::nullopt;
  const bool in_many_widths = name == "nc1hwc0" && shape.rank() == 4;
  if (FileLayout own; (in_many_widths || name == "nc4hw4") && has_own_blocks(file.shape(), shape, own))
    return changes(own, shape) ? std::optional(std::move(own)) : std::nullopt;
  std::vector<FileLayout> named;
  if (in_many_widths) {
    const std::int64_t usual = size_of(file.type()) == 1 ? 32 : 16;
    for (const std::int64_t width : {usual, std::int64_t{16}, std::int64_t{32}, std::int64_t{8}}) named.push_back(in_blocks(shape, width));
  } else {
    named = layouts_of(shape);
    std::erase_if(named, [&](const FileLayout& layout) { return layout.name != name; });
  }
  if (named.empty()) return std::nullopt;  // the same order for this shape
  const std::int64_t values = file.element_count();
  auto found = std::ranges::find(named, values, &FileLayout::size);
  if (found == named.end()) found = std::ranges::find_if(named, [&](const FileLayout& layout) { return values % layout.size() == 0; });
  if (found != named.end()) return changes(*found, shape) ? std::optional(std::move(*found)) : std::nullopt;
  throw Error(ErrorCode::shape_mismatch, where,
              std::to_string(values) + " values; in the layout " + std::string(name) + " a tensor " + shape.text() + " has " +
                  std::to_string(named.front().size()));
}

std::string text_of(const FileLayout& layout, const Shape& shape) {
  if (layout.sizes.size() == 5) return layout.name + ", C0 = " + std::to_string(layout.sizes.back());
  const std::int64_t own = shape[shape.rank() - 1], held = layout.sizes.back();
  const bool is_filled = layout.name.starts_with("nhwc") && held != own;
  return layout.name + (is_filled ? ", " + std::to_string(held) + " channels for " + std::to_string(own) : "");
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
