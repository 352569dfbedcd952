// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/misread/views.hpp"

#include <algorithm>
#include <array>

namespace lastbit {
namespace {

using Order = std::vector<std::size_t>;

/// Orders of the axes behind the first one, which counts the samples of a batch.
std::vector<std::pair<Order, std::string>> orders_of(std::size_t rank) {
  if (rank == 3) return {{{0, 2, 1}, "its two axes are exchanged"}};
  if (rank != 4) return {};
  return {{{0, 3, 1, 2}, "its values stand in the order NCHW, the model's in NHWC"},
          {{0, 2, 3, 1}, "its values stand in the order NHWC, the model's in NCHW"},
          {{0, 2, 1, 3}, "its rows and columns are exchanged"}};
}

std::vector<std::int64_t> in_order(const Shape& shape, const Order& order) {
  std::vector<std::int64_t> sizes;
  for (const std::size_t axis : order) sizes.push_back(shape[axis]);
  return sizes;
}

std::vector<std::int64_t> without_ones(std::span<const std::int64_t> sizes) {
  std::vector<std::int64_t> list;
  std::ranges::copy_if(sizes, std::back_inserter(list), [](std::int64_t size) { return size != 1; });
  return list;
}

/// Whether an order moves more than sizes of 1.
bool moves(const Shape& shape, const Order& order) {
  Order large;
  std::ranges::copy_if(order, std::back_inserter(large), [&](std::size_t axis) { return shape[axis] > 1; });
  return !std::ranges::is_sorted(large);
}

/// For each place in the model's order, the place in the file's.
std::vector<std::size_t> places(const Shape& shape, const Order& order) {
  std::vector<std::size_t> stride(order.size());
  std::size_t step = 1;
  for (std::size_t i = order.size(); i-- > 0; step *= static_cast<std::size_t>(shape[order[i]])) stride[order[i]] = step;
  std::vector<std::size_t> list{0};
  for (std::size_t axis = 0; axis < order.size(); ++axis) {
    std::vector<std::size_t> next;
    for (const std::size_t start : list) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(shape[axis]); ++i) next.push_back(start + i * stride[axis]);
    }
    list = std::move(next);
  }
  return list;
}

Codes mirrored(const Codes& codes, const Shape& shape, std::size_t axis) {
  const auto size = static_cast<std::size_t>(shape[axis]);
  std::size_t inner = 1;
  for (std::size_t i = axis + 1; i < shape.rank(); ++i) inner *= static_cast<std::size_t>(shape[i]);
  Codes list(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const std::size_t at = i / inner % size;
    list[i + (size - 1 - at) * inner - at * inner] = codes[i];
  }
  return list;
}

}  // namespace

std::vector<CodeView> views_of(const ModelTensor& tensor) {
  std::vector<CodeView> views;
  for (const auto& [order, cause] : orders_of(tensor.shape.rank())) {
    if (moves(tensor.shape, order)) views.push_back({cause, order, 0, {}});
  }
  const bool is_byte = size_of(tensor.type) == 1;
  const std::string bit = is_byte ? "0x80" : "0x8000";
  views.push_back({"the highest bit of every value is inverted (xor " + bit + "): signed values read as unsigned, or the reverse",
                   {},
                   is_byte ? 0x80 : 0x8000,
                   {}});
  return views;
}

std::vector<CodeView> mirrored_views_of(const ModelTensor& tensor) {
  static constexpr std::array names{"its rows", "its columns", "its channels"};
  std::vector<CodeView> views;
  const std::size_t rank = tensor.shape.rank();
  for (std::size_t axis = 1; axis < rank; ++axis) {
    if (tensor.shape[axis] < 2) continue;
    const std::string what = rank == 4 ? names[axis - 1] : axis + 1 == rank ? "its last axis" : "its axis " + std::to_string(axis);
    views.push_back({what + (rank == 4 ? " stand" : " stands") + " in reverse order", {}, 0, axis});
  }
  return views;
}

Codes moved_back(const Codes& codes, std::int64_t places, const Codes& at_the_ends) {
  Codes list = at_the_ends;
  const auto count = std::ssize(codes);
  for (std::int64_t i = std::max<std::int64_t>(0, -places); i < std::min(count, count - places); ++i)
    list[static_cast<std::size_t>(i)] = codes[static_cast<std::size_t>(i + places)];
  return list;
}

std::optional<std::int64_t> places_moved(const Codes& expected, const Codes& codes, const ModelTensor& tensor) {
  constexpr std::int64_t farthest = 16;
  const auto count = std::ssize(codes);
  std::optional<std::int64_t> best;
  double least = 1;
  const auto ask = [&](std::int64_t places) {
    const std::int64_t first = std::max<std::int64_t>(0, -places), end = std::min(count, count - places);
    if (2 * (end - first) < count) return;
    const Codes ours(expected.begin() + first, expected.begin() + end),
        theirs(codes.begin() + first + places, codes.begin() + end + places);
    const double unexplained = fit_of(ours, theirs, range_of(tensor.type)).unexplained();
    if (unexplained < least) least = unexplained, best = places;
  };
  for (std::int64_t places = 1; places <= farthest; ++places) ask(places), ask(-places);
  const std::int64_t channels = tensor.shape.rank() > 1 ? tensor.shape.sizes().back() : 1;
  const std::int64_t row = tensor.shape.rank() > 2 ? channels * tensor.shape[tensor.shape.rank() - 2] : channels;
  for (const std::int64_t whole : {channels, row})
    if (whole > farthest) ask(whole), ask(-whole);
  return best;
}

Codes seen(const CodeView& view, const ModelTensor& tensor, const Codes& codes) {
  Codes list = codes;
  if (view.inverted != 0) {
    const auto bit = static_cast<float>(view.inverted);
    const float middle = range_of(tensor.type).min < 0 ? 0 : bit;
    for (float& code : list) code += code >= middle ? -bit : bit;
  }
  if (view.mirrored) return mirrored(list, tensor.shape, *view.mirrored);
  if (view.order.empty()) return list;
  const std::vector<std::size_t> from = places(tensor.shape, view.order);
  for (std::size_t sample = 0; sample < codes.size(); sample += from.size()) {
    for (std::size_t i = 0; i < from.size(); ++i) list[sample + i] = codes[sample + from[i]];
  }
  return list;
}

std::string cause_in_shape(const Shape& stored, const Shape& shape) {
  const auto whole = without_ones(shape.sizes()), held = without_ones(stored.sizes());
  if (stored.rank() == 0 || whole == held || held.size() < whole.size()) return {};
  const auto behind = [&](const auto& sizes) {  // the model's axes, or what may be samples and these
    return std::ranges::equal(std::span(held).last(sizes.size()), sizes);
  };
  if (behind(whole)) return {};
  for (const auto& [order, cause] : orders_of(shape.rank())) {
    if (moves(shape, order) && behind(without_ones(in_order(shape, order))))
      return cause + " (shape " + stored.text() + " for " + shape.text() + ")";
  }
  // Where the first axis may count samples, the others hold one of them, in as many axes or in fewer.
  const auto count_of = [](std::span<const std::int64_t> sizes) { return Shape({sizes.begin(), sizes.end()}).element_count(); };
  const bool is_alike = stored.rank() == shape.rank() && count_of(stored.sizes().subspan(1)) == count_of(shape.sizes().subspan(1));
  const bool is_batch = stored.rank() == shape.rank() + 1 && count_of(stored.sizes().subspan(1)) == shape.element_count();
  if (stored.rank() >= shape.rank() && !is_alike && !is_batch)
    return "its file has the shape " + stored.text() + ", the model " + shape.text() + ": cut, or of another network";
  return {};
}

}  // namespace lastbit
