// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <set>

#include "analysis/explain/mistakes.hpp"
#include "lastbit/shape.hpp"

namespace lastbit {
namespace {

/// Windows that slide over an image, whatever sums or picks what is in them.
struct Windows {
  Padding2d* padding = nullptr;
  Extent2d filter, stride, dilation{1, 1};
};

bool is_convolution_of_windows(OperationKind kind) {
  using enum OperationKind;
  return kind == conv2d || kind == depthwise_conv2d || kind == fused_conv2d;
}
bool is_pool_of_windows(OperationKind kind) {
  using enum OperationKind;
  return kind == max_pool2d || kind == average_pool2d || kind == sum_pool2d;
}

bool has_padding(const Suspect& suspect) { return is_convolution_of_windows(suspect.kind()) || is_pool_of_windows(suspect.kind()); }

Windows windows_of(const Suspect& suspect, Operation& operation) {
  if (auto* const pool = std::get_if<Pool2dAttributes>(&operation.attributes)) return {&pool->padding, pool->filter, pool->stride};
  const Shape& weights = suspect.input(1).shape;
  const Extent2d filter{weights[1], weights[2]};
  if (auto* const conv = std::get_if<Conv2dAttributes>(&operation.attributes))
    return {&conv->padding, filter, conv->stride, conv->dilation};
  auto& fused = std::get<FusedConv2dAttributes>(operation.attributes);
  return {&fused.padding, filter, fused.stride};
}

void set_padding(const Suspect& suspect, AlteredPart& part, const ResolvedPadding& size) {
  *windows_of(suspect, part.operation()).padding = {PaddingMode::explicit_sizes, size.top, size.bottom, size.left, size.right};
}

}  // namespace

ResolvedPadding padding_of(const Suspect& suspect) {
  Operation operation = suspect.operation();
  const Windows windows = windows_of(suspect, operation);
  const Shape& in = suspect.input().shape;
  return resolve_padding(*windows.padding, {in[1], in[2]}, windows.filter, windows.stride, windows.dilation);
}

void pad_before(const Suspect& suspect, AlteredPart& part, const ResolvedPadding& size, std::int64_t code) {
  const Shape& in = suspect.input().shape;
  part.move_input(
      0, OperationKind::pad,
      PadAttributes{.paddings = {{0, 0}, {size.top, size.bottom}, {size.left, size.right}, {0, 0}}, .value = code, .real_value = {}},
      {in[0], in[1] + size.top + size.bottom, in[2] + size.left + size.right, in[3]});
  set_padding(suspect, part, {});
}

bool has_coded_padding(const Suspect& suspect) {
  return has_padding(suspect) && is_integer(suspect.input().type) && padding_of(suspect) != ResolvedPadding{};
}

namespace {

std::string text_of_sizes(const ResolvedPadding& size) {
  return "[" + std::to_string(size.top) + ", " + std::to_string(size.bottom) + ", " + std::to_string(size.left) + ", " +
         std::to_string(size.right) + "]";
}

/// Along one axis: before, and what it takes behind for the same number of windows.
std::vector<std::array<std::int64_t, 2>> paddings_of_axis(std::int64_t own_before, std::int64_t own_after, std::int64_t span) {
  std::vector<std::array<std::int64_t, 2>> found;
  const std::int64_t sum = own_before + own_after;
  for (std::int64_t before = 0; before <= std::max(sum, span - 1); ++before)
    found.push_back({before, std::max<std::int64_t>(0, sum - before)});
  return found;
}

void move_padding(const Suspect& suspect, const TryMistake& attempt) {
  const ResolvedPadding own = padding_of(suspect);
  Operation operation = suspect.operation();
  const Windows windows = windows_of(suspect, operation);
  const auto rows = paddings_of_axis(own.top, own.bottom, (windows.filter.height - 1) * windows.dilation.height + 1);
  const auto columns = paddings_of_axis(own.left, own.right, (windows.filter.width - 1) * windows.dilation.width + 1);
  for (const bool same_sum : {true, false}) {
    for (const auto& [top, bottom] : rows) {
      for (const auto& [left, right] : columns) {
        const ResolvedPadding other{top, bottom, left, right};
        const bool is_same_sum = top + bottom == own.top + own.bottom && left + right == own.left + own.right;
        if (is_same_sum != same_sum || (top == own.top && left == own.left)) continue;
        attempt((same_sum ? "padding stands on another side: " : "padding is of another size: ") + text_of_sizes(other) + " for " +
                    text_of_sizes(own),
                [&](AlteredPart& part) { set_padding(suspect, part, other); });
      }
    }
  }
}

/// Codes that may have been put into the padding, the likely ones first; where the work is small, all.
std::vector<std::int64_t> codes_of_padding(const Suspect& suspect, std::int64_t work) {
  constexpr std::int64_t enough_work = 1'000'000;
  const IntegerRange range = range_of(suspect.input().type);
  const std::int64_t own = suspect.input().quantization.zero_point();
  std::vector<std::int64_t> codes{0,       range.min, range.max, suspect.output().quantization.zero_point(), -own, own + 128, own - 128,
                                  own + 1, own - 1,   1};
  if (work < enough_work && range.max - range.min < 256)
    for (std::int64_t code = range.min; code <= range.max; ++code) codes.push_back(code);
  std::set<std::int64_t> seen{own};
  std::erase_if(codes, [&](std::int64_t code) { return code < range.min || code > range.max || !seen.insert(code).second; });
  return codes;
}

std::int64_t work_of(const Suspect& suspect) {
  return suspect.output().shape.element_count() * (suspect.reads(1) ? suspect.input(1).shape.element_count() : 1);
}

void pad_with_another_code(const Suspect& suspect, const TryMistake& attempt) {
  const ResolvedPadding size = padding_of(suspect);
  const std::string own =
      is_convolution_of_windows(suspect.kind()) ? ", not the zero point " + std::to_string(suspect.input().quantization.zero_point()) : "";
  for (const std::int64_t code : codes_of_padding(suspect, work_of(suspect)))
    attempt("padding holds the code " + std::to_string(code) + own, [&](AlteredPart& part) { pad_before(suspect, part, size, code); });
}

bool averages_padding(const Suspect& suspect) {
  return suspect.kind() == OperationKind::average_pool2d && padding_of(suspect) != ResolvedPadding{};
}

void count_padding(const Suspect& suspect, const TryMistake& attempt) {
  const bool counted = std::get<Pool2dAttributes>(suspect.operation().attributes).counted_padding;
  attempt(counted ? "padding is not counted in the average" : "padding is counted in the average",
          [&](AlteredPart& part) { std::get<Pool2dAttributes>(part.operation().attributes).counted_padding = !counted; });
}

bool pads(const Suspect& suspect) { return suspect.kind() == OperationKind::pad && is_integer(suspect.input().type); }

void pad_with_other_codes(const Suspect& suspect, const TryMistake& attempt) {
  const std::int64_t zero_point = suspect.input().quantization.zero_point();
  const std::int64_t held = std::get<PadAttributes>(suspect.operation().attributes).value.value_or(zero_point);
  std::vector<std::int64_t> codes = codes_of_padding(suspect, work_of(suspect));
  codes.insert(codes.begin(), zero_point);
  for (const std::int64_t code : codes) {
    if (code == held) continue;
    attempt("padding holds the code " + std::to_string(code) + ", not " + std::to_string(held),
            [&](AlteredPart& part) { std::get<PadAttributes>(part.operation().attributes).value = code; });
  }
}

void pad_other_sides(const Suspect& suspect, const TryMistake& attempt) {
  const auto& own = std::get<PadAttributes>(suspect.operation().attributes);
  const auto try_sides = [&](const std::function<void(std::array<std::int64_t, 2>&)>& change) {
    for (std::size_t axes = (std::size_t{1} << own.paddings.size()) - 1; axes > 0; --axes) {
      PadAttributes other = own;
      for (std::size_t axis = 0; axis < own.paddings.size(); ++axis)
        if ((axes >> axis & 1U) != 0) change(other.paddings[axis]);
      if (other.paddings != own.paddings)
        attempt("padding stands on another side", [&](AlteredPart& part) { part.operation().attributes = other; });
    }
  };
  try_sides([](auto& sides) { std::swap(sides[0], sides[1]); });
  try_sides([](auto& sides) { sides = {0, sides[0] + sides[1]}; });
  try_sides([](auto& sides) { sides = {sides[0] + sides[1], 0}; });
}

constexpr Mistake padding_mistakes[] = {
    {"padding_elsewhere", has_padding, move_padding},     {"padding_of_another_code", has_coded_padding, pad_with_another_code},
    {"padding_counted", averages_padding, count_padding}, {"padding_of_another_code", pads, pad_with_other_codes},
    {"padding_elsewhere", pads, pad_other_sides},
};

}  // namespace

std::span<const Mistake> mistakes_of_padding() { return padding_mistakes; }

}  // namespace lastbit
