// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <string_view>

#include "analysis/explain/layer_values.hpp"
#include "analysis/explain/mistakes.hpp"

namespace lastbit {
namespace {

using Codes = std::vector<std::int64_t>;

constexpr std::size_t weights_input = 1;

bool has_kernel(const Suspect& suspect) {
  using enum OperationKind;
  const OperationKind kind = suspect.kind();
  const bool sums =
      kind == conv2d || kind == depthwise_conv2d || kind == transposed_conv2d || kind == fully_connected || kind == fused_conv2d;
  return sums && suspect.codes(weights_input) != nullptr;
}

bool has_bias(const Suspect& suspect) {
  if (!has_kernel(suspect) || suspect.codes(bias_input) == nullptr) return false;
  const auto* const connected = std::get_if<FullyConnectedAttributes>(&suspect.operation().attributes);
  return connected == nullptr || !connected->bias_column;
}

bool has_channels(const Suspect& suspect) { return has_kernel(suspect) && suspect.input(weights_input).quantization.per_channel(); }

Codes scaled(const Codes& codes, const std::function<double(std::size_t)>& by, double (*round)(double)) {
  Codes scaled_codes(codes.size());
  for (std::size_t c = 0; c < codes.size(); ++c)
    scaled_codes[c] = static_cast<std::int64_t>(std::clamp(round(static_cast<double>(codes[c]) * by(c)), -0x1p40, 0x1p40));
  return scaled_codes;
}

/// Tries constants of one place, each once.
class OtherValues {
 public:
  OtherValues(const Suspect& suspect, std::size_t position, const TryMistake& attempt)
      : values_(*suspect.codes(position)), codes_(codes_of(values_)), position_(position), attempt_(attempt), tried_{hash_of(values_)} {}

  [[nodiscard]] const Codes& codes() const { return codes_; }

  void operator()(const std::string& what, const Codes& codes) {
    Tensor altered = with_codes(values_, codes);
    if (!tried_.insert(hash_of(altered)).second) return;
    attempt_(what, [&](AlteredPart& part) { part.set_values(position_, altered); });
  }
  /// Of the codes as they are, in another order.
  void in_order(const std::string& what, const std::function<std::int64_t(std::int64_t)>& from) {
    (*this)(what, codes_of(reordered(values_, from)));
  }

 private:
  static std::size_t hash_of(const Tensor& values) {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(values.bytes().data()), values.bytes().size()});
  }

  const Tensor& values_;
  Codes codes_;
  std::size_t position_;
  const TryMistake& attempt_;
  std::set<std::size_t> tried_;
};

void leave_out_bias(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues bias(suspect, bias_input, attempt);
  bias("the bias is missing", Codes(bias.codes().size(), 0));
}

void scale_bias(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues bias(suspect, bias_input, attempt);
  const double data = suspect.input().quantization.scale(), output = suspect.output().quantization.scale();
  const auto weights = [&](std::size_t channel) { return suspect.input(weights_input).quantization.scale(channel); };
  struct Scale {
    const char* name;
    std::function<double(std::size_t)> ratio;  ///< how many of its steps are one of the sums'
  };
  const Scale scales[] = {
      {"that of the output", [&](std::size_t c) { return data * weights(c) / output; }},
      {"that of the weights alone", [&](std::size_t) { return data; }},
      {"that of the data alone", [&](std::size_t c) { return weights(c); }},
      {"1, real values rounded", [&](std::size_t c) { return data * weights(c); }},
      {"that of channel 0 for all", [&](std::size_t c) { return weights(c) / weights(0); }},
  };
  constexpr auto truncated = static_cast<double (*)(double)>(std::trunc), floored = static_cast<double (*)(double)>(std::floor),
                 rounded = static_cast<double (*)(double)>(std::round);
  const auto try_ratio = [&](const std::string& what, const std::function<double(std::size_t)>& ratio) {
    for (const auto round : {rounded, truncated, floored})
      bias("the bias is in another scale, " + what, scaled(bias.codes(), ratio, round));
  };
  for (const Scale& scale : scales) try_ratio(scale.name, scale.ratio);
  for (const Scale& scale : scales)
    try_ratio("as if it were in " + std::string(scale.name), [&](std::size_t c) { return 1 / scale.ratio(c); });
  for (int power = 1; power <= 16; ++power) {
    for (const int by : {power, -power}) try_ratio("2^" + std::to_string(by) + " times", [&](std::size_t) { return std::ldexp(1.0, by); });
  }
  bias("the bias is subtracted", scaled(
                                     bias.codes(), [](std::size_t) { return -1.0; }, rounded));
  for (const int bits : {16, 8}) {
    Codes narrow = bias.codes();
    for (std::int64_t& code : narrow) code = std::clamp(code, -(std::int64_t{1} << (bits - 1)), (std::int64_t{1} << (bits - 1)) - 1);
    bias("the bias is clipped to " + std::to_string(bits) + " bits", narrow);
  }
}

/// Orders in which values of channels may stand instead of their own: by how many places they are off, and other usual ones.
void each_order(std::int64_t channels,
                const std::function<void(const std::string& how, const std::function<std::int64_t(std::int64_t)>& from)>& visit) {
  if (channels < 2) return;
  constexpr std::int64_t all_are_tried = 64, furthest = 8;
  for (std::int64_t by = 1; by < channels; ++by) {
    const std::int64_t distance = std::min(by, channels - by);
    if (channels > all_are_tried && distance > furthest && by * 2 != channels) continue;
    const std::string from = "that of channel " + std::to_string(by) + " at channel 0, and so on";
    visit(from, [=](std::int64_t c) { return (c + by) % channels; });
  }
  visit("in reverse", [=](std::int64_t c) { return channels - 1 - c; });
  visit("neighbours exchanged", [=](std::int64_t c) { return (c ^ 1) < channels ? c ^ 1 : c; });
}

void move_bias(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues bias(suspect, bias_input, attempt);
  const auto channels = static_cast<std::int64_t>(bias.codes().size());
  if (channels > 1) bias("the bias of channel 0 stands on every channel", Codes(bias.codes().size(), bias.codes()[0]));
  each_order(channels, [&](const std::string& how, const auto& from) { bias.in_order("the bias stands on other channels: " + how, from); });
}

void use_other_scales(const Suspect& suspect, const TryMistake& attempt) {
  const Quantization own = suspect.input(weights_input).quantization;
  const auto count = static_cast<std::int64_t>(own.scales.size());
  const auto try_scales = [&](const std::string& what, const std::vector<double>& scales) {
    if (scales == own.scales) return;
    Quantization other = own;
    other.scales = scales;
    attempt(what, [&](AlteredPart& part) { part.set_quantization(weights_input, other); });
    if (!has_bias(suspect)) return;
    const Tensor& bias = *suspect.codes(bias_input);
    const auto ratio = [&](std::size_t c) { return own.scale(c) / scales[c]; };
    const Tensor with_it = with_codes(bias, scaled(codes_of(bias), ratio, [](double value) { return std::round(value); }));
    attempt(what + ", and the bias is in them", [&](AlteredPart& part) {
      part.set_quantization(weights_input, other);
      part.set_values(bias_input, with_it);
    });
  };
  const auto for_all = [&](double scale) { return std::vector<double>(own.scales.size(), scale); };
  try_scales("the scale of channel 0 is used for all channels", for_all(own.scales.front()));
  try_scales("the scale of the last channel is used for all channels", for_all(own.scales.back()));
  try_scales("the largest of the channels' scales is used for all", for_all(*std::ranges::max_element(own.scales)));
  try_scales("the smallest of the channels' scales is used for all", for_all(*std::ranges::min_element(own.scales)));
  each_order(count, [&](const std::string& how, const auto& from) {
    std::vector<double> scales;
    for (std::int64_t c = 0; c < count; ++c) scales.push_back(own.scales[static_cast<std::size_t>(from(c))]);
    try_scales("the channels' scales stand on other channels: " + how, scales);
  });
}

/// Of each weight its output channel.
std::int64_t channel_of(const Suspect& suspect, std::int64_t weight) {
  const Shape& shape = suspect.input(weights_input).shape;
  const std::int64_t last = shape.back();
  return suspect.kind() == OperationKind::depthwise_conv2d ? weight % last : weight / (shape.element_count() / shape[0]);
}

void drop_bits(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues weights(suspect, weights_input, attempt);
  const Quantization& own = suspect.input(weights_input).quantization;
  const auto width = static_cast<int>(8 * size_of(suspect.input(weights_input).type));
  for (int bits = width - 1; bits >= 2; --bits) {
    const int dropped = width - bits;
    const std::string what = "the weights have " + std::to_string(bits) + " bits: ";
    for (const char* const how : {"rounded", "the low bits are cut", "cut towards zero"}) {
      for (const bool about_zero_point : {false, true}) {
        Codes codes = weights.codes();
        for (std::size_t i = 0; i < codes.size(); ++i) {
          const std::int64_t zero =
              about_zero_point ? own.zero_point(static_cast<std::size_t>(channel_of(suspect, static_cast<std::int64_t>(i)))) : 0;
          const double share = std::ldexp(static_cast<double>(codes[i] - zero), -dropped);
          const double kept = how[0] == 'r' ? std::round(share) : how[0] == 't' ? std::floor(share) : std::trunc(share);
          codes[i] = zero + (static_cast<std::int64_t>(kept) * (std::int64_t{1} << dropped));
        }
        weights(what + how, codes);
      }
    }
  }
}

/// Weights quantised to fewer bits, with a coarser scale.
void coarsen_weights(const Suspect& suspect, const TryMistake& attempt) {
  const ModelTensor& described = suspect.input(weights_input);
  const Quantization& own = described.quantization;
  if (!own.present() || std::ranges::any_of(own.zero_points, [](std::int64_t zero) { return zero != 0; })) return;
  const Codes codes = codes_of(*described.constant);
  const auto width = static_cast<int>(8 * size_of(described.type));
  std::vector<double> largest(own.scales.size(), 0);
  const auto channel = [&](std::size_t i) {
    return own.per_channel() ? static_cast<std::size_t>(channel_of(suspect, static_cast<std::int64_t>(i))) : 0;
  };
  for (std::size_t i = 0; i < codes.size(); ++i)
    largest[channel(i)] = std::max(largest[channel(i)], static_cast<double>(std::abs(codes[i])));
  for (int bits = width - 1; bits >= 2; --bits) {
    const auto most = static_cast<double>((std::int64_t{1} << (bits - 1)) - 1);
    for (const bool seen : {true, false}) {
      Codes coarse = codes;
      Quantization other = own;
      const auto steps = [&](std::size_t c) {
        return seen ? std::max(largest[c], 1.0) : static_cast<double>(range_of(described.type).max);
      };
      for (std::size_t i = 0; i < codes.size(); ++i) coarse[i] = nearest_integer(static_cast<double>(codes[i]) * most / steps(channel(i)));
      for (std::size_t c = 0; c < other.scales.size(); ++c) other.scales[c] *= steps(c) / most;
      const Tensor values = with_codes(*described.constant, coarse);
      const auto alter = [&](AlteredPart& part) {
        part.set_values(weights_input, values);
        part.set_quantization(weights_input, other);
      };
      const std::string what = "the weights are quantised to " + std::to_string(bits) + " bits";
      attempt(what, alter);
      if (!has_bias(suspect)) continue;
      const Tensor& bias = *suspect.codes(bias_input);
      const auto ratio = [&](std::size_t c) { return own.scale(c) / other.scale(c); };
      const Tensor with_it = with_codes(bias, scaled(codes_of(bias), ratio, [](double value) { return std::round(value); }));
      attempt(what + ", and the bias is in their scale", [&](AlteredPart& part) {
        alter(part);
        part.set_values(bias_input, with_it);
      });
    }
  }
}

void clip_weights(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues weights(suspect, weights_input, attempt);
  const IntegerRange range = range_of(suspect.input(weights_input).type);
  const auto clip = [&](std::int64_t low, std::int64_t high) {
    Codes codes = weights.codes();
    for (std::int64_t& code : codes) code = std::clamp(code, low, high);
    weights("the weights are clipped to [" + std::to_string(low) + ", " + std::to_string(high) + "]", codes);
  };
  for (std::int64_t high = range.max; high >= 1; high /= 2) {
    clip(range.min < 0 ? -high : 0, high);
    if (range.min < 0) clip(-high - 1, high);
  }
  if (range.min < 0) clip(0, range.max);
  const std::int64_t half = (range.max - range.min + 1) / 2;
  Codes inverted = weights.codes();
  for (std::int64_t& code : inverted) code += code - range.min >= half ? -half : half;
  weights("the sign bit of the weights is inverted", inverted);
}

/// Where an element of a tensor of four axes lies.
struct Place {
  std::array<std::int64_t, 4> sizes;
  [[nodiscard]] std::array<std::int64_t, 4> indices(std::int64_t flat) const {
    std::array<std::int64_t, 4> at{};
    for (std::size_t axis = 4; axis-- > 0; flat /= sizes[axis]) at[axis] = flat % sizes[axis];
    return at;
  }
  /// With the axes in another order.
  [[nodiscard]] std::int64_t flat(const std::array<std::int64_t, 4>& at, const std::array<std::size_t, 4>& order = {0, 1, 2, 3}) const {
    std::int64_t place = 0;
    for (const std::size_t axis : order) place = place * sizes[axis] + at[axis];
    return place;
  }
};

bool has_windows(const Suspect& suspect) { return has_kernel(suspect) && suspect.input(weights_input).shape.rank() == 4; }

Place place_of_weights(const Suspect& suspect) {
  const Shape& shape = suspect.input(weights_input).shape;
  return {{shape[0], shape[1], shape[2], shape[3]}};
}

void turn_kernel(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues weights(suspect, weights_input, attempt);
  const Place place = place_of_weights(suspect);
  const auto turned = [&](const std::string& what, const std::function<void(std::array<std::int64_t, 4>&)>& turn) {
    weights.in_order(what, [&](std::int64_t i) {
      auto at = place.indices(i);
      turn(at);
      return place.flat(at);
    });
  };
  const auto flip = [&](std::array<std::int64_t, 4>& at, std::size_t axis) { at[axis] = place.sizes[axis] - 1 - at[axis]; };
  turned("the kernel is flipped", [&](auto& at) { flip(at, 1), flip(at, 2); });
  turned("the kernel's rows are in reverse", [&](auto& at) { flip(at, 1); });
  turned("the kernel's columns are in reverse", [&](auto& at) { flip(at, 2); });
  if (place.sizes[1] == place.sizes[2]) {
    turned("the kernel is transposed, rows for columns", [&](auto& at) { std::swap(at[1], at[2]); });
    turned("the kernel is turned by 90 degrees", [&](auto& at) { std::swap(at[1], at[2]), flip(at, 1); });
    turned("the kernel is turned by 90 degrees", [&](auto& at) { std::swap(at[1], at[2]), flip(at, 2); });
  }
}

/// The weights' memory in the order of another framework, taken for their own; and their own taken for that.
void misplace_kernel(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues weights(suspect, weights_input, attempt);
  const Place place = place_of_weights(suspect);
  struct Order {
    const char* name;
    std::array<std::size_t, 4> axes;
  };
  constexpr Order orders[] = {{"OWHI", {0, 2, 1, 3}}, {"OIHW", {0, 3, 1, 2}}, {"HWIO", {1, 2, 3, 0}}, {"HWOI", {1, 2, 0, 3}},
                              {"IHWO", {3, 1, 2, 0}}, {"IOHW", {3, 0, 1, 2}}, {"OIWH", {0, 3, 2, 1}}};
  const auto count = static_cast<std::size_t>(suspect.input(weights_input).shape.element_count());
  for (const Order& order : orders) {
    Codes there(count), back(count);
    for (std::size_t i = 0; i < count; ++i) {
      const auto at = static_cast<std::size_t>(place.flat(place.indices(static_cast<std::int64_t>(i)), order.axes));
      there[at] = weights.codes()[i];
      back[i] = weights.codes()[at];
    }
    weights("the weights lie in the order " + std::string(order.name) + " and are read as OHWI", there);
    weights("the weights lie in the order OHWI and are read as " + std::string(order.name), back);
  }
}

void reorder_kernel_channels(const Suspect& suspect, const TryMistake& attempt) {
  OtherValues weights(suspect, weights_input, attempt);
  const Shape& shape = suspect.input(weights_input).shape;
  const std::int64_t inner = shape.back(), rest = shape.element_count() / inner, first = shape[0], behind = shape.element_count() / first;
  each_order(inner, [&](const std::string& how, const auto& from) {
    weights.in_order("the kernel's channels are in another order: " + how,
                     [&](std::int64_t i) { return i / inner * inner + from(i % inner); });
  });
  each_order(first, [&](const std::string& how, const auto& from) {
    weights.in_order("the kernels stand on other outputs: " + how, [&](std::int64_t i) { return from(i / behind) * behind + i % behind; });
  });
  if (inner == first && shape.rank() == 4) {
    weights.in_order("the kernel's inputs and outputs are exchanged", [&](std::int64_t i) {
      const std::int64_t o = i / behind, at = i % behind / inner, c = i % inner;
      return (c * (behind / inner) + at) * inner + o;
    });
  }
  if (shape.rank() != 2) return;
  const auto transposed = [](std::int64_t i, std::int64_t rows, std::int64_t columns) { return i % rows * columns + i / rows; };
  weights.in_order("the weights are transposed", [&](std::int64_t i) { return transposed(i, rest, inner); });
  weights.in_order("the weights are transposed", [&](std::int64_t i) { return transposed(i, inner, rest); });
  for (std::int64_t channels = 2; channels < inner; ++channels) {  // as an image that was flattened in another order
    if (inner % channels != 0) continue;
    weights.in_order("the weights are those of an image of " + std::to_string(channels) + " channels that was flattened in another order",
                     [&](std::int64_t i) { return i / inner * inner + transposed(i % inner, channels, inner / channels); });
  }
}

/// The number of channel groups of a convolution. A depthwise convolution has one group for each input channel.
std::int64_t groups_of(const Suspect& suspect) {
  const std::int64_t in = suspect.input().shape.back();
  return suspect.kind() == OperationKind::depthwise_conv2d ? in : in / suspect.input(weights_input).shape.back();
}

bool has_groups(const Suspect& suspect) {
  const bool is_convolution = suspect.kind() == OperationKind::conv2d || suspect.kind() == OperationKind::depthwise_conv2d;
  return is_convolution && has_windows(suspect) && groups_of(suspect) > 1;
}

/// Outputs in another order: weights alone, with their bias, and with bias and scales.
void reorder_outputs(const Suspect& suspect, const std::string& what, const std::function<std::int64_t(std::int64_t)>& from,
                     const TryMistake& attempt) {
  const Tensor& own = *suspect.codes(weights_input);
  const bool is_last = suspect.kind() == OperationKind::depthwise_conv2d;
  const std::int64_t outputs = is_last ? own.shape().back() : own.shape()[0], behind = is_last ? 1 : own.element_count() / outputs;
  const Tensor weights = reordered(own, [&](std::int64_t i) {
    const std::int64_t channel = i / behind % outputs;
    return i + (from(channel) - channel) * behind;
  });
  if (weights == own) return;
  attempt(what, [&](AlteredPart& part) { part.set_values(weights_input, weights); });
  const bool biased = has_bias(suspect);
  const auto with_bias = [&](AlteredPart& part) {
    part.set_values(weights_input, weights);
    if (biased) part.set_values(bias_input, reordered(*suspect.codes(bias_input), from));
  };
  if (biased) attempt(what + ", with their bias", with_bias);
  Quantization scales = suspect.input(weights_input).quantization;
  if (!scales.per_channel()) return;
  for (std::size_t c = 0; c < scales.scales.size(); ++c)
    scales.scales[c] = suspect.input(weights_input).quantization.scale(static_cast<std::size_t>(from(static_cast<std::int64_t>(c))));
  attempt(what + ", with bias and scales", [&](AlteredPart& part) {
    with_bias(part);
    part.set_quantization(weights_input, scales);
  });
}

void reorder_groups(const Suspect& suspect, const TryMistake& attempt) {
  const std::int64_t groups = groups_of(suspect), in = suspect.input().shape.back(), of_input = in / groups;
  const std::int64_t of_output = suspect.output().shape.back() / groups;
  const auto in_blocks = [](std::int64_t size, const std::function<std::int64_t(std::int64_t)>& from) {
    return [=](std::int64_t c) { return from(c / size) * size + c % size; };
  };
  const auto reorder_data = [&](const std::string& what, const std::function<std::int64_t(std::int64_t)>& from) {
    Tensor indices(ElementType::int32, {in});
    for (std::int64_t c = 0; c < in; ++c) indices.values<std::int32_t>()[static_cast<std::size_t>(c)] = static_cast<std::int32_t>(from(c));
    attempt(what, [&](AlteredPart& part) {
      const std::int32_t order = part.add_constant("order", indices);
      part.move_input(0, OperationKind::gather, GatherAttributes{3}, suspect.input().shape, {order});
    });
  };
  each_order(groups, [&](const std::string& how, const auto& from) {
    reorder_outputs(suspect, "the kernel's groups are in another order: " + how, in_blocks(of_output, from), attempt);
    reorder_data("the data's groups are in another order: " + how, in_blocks(of_input, from));
  });
  for (const bool back : {false, true}) {
    const auto interleaved = [&](std::int64_t of_group) {
      const std::int64_t rows = back ? groups : of_group, columns = back ? of_group : groups;
      return [=](std::int64_t c) { return c % rows * columns + c / rows; };
    };
    if (of_output > 1) reorder_outputs(suspect, "the kernel's groups are interleaved", interleaved(of_output), attempt);
    if (of_input > 1) reorder_data("the data's groups are interleaved", interleaved(of_input));
  }
}

constexpr Mistake sum_mistakes[] = {
    {"bias_missing", has_bias, leave_out_bias},
    {"bias_in_another_scale", has_bias, scale_bias},
    {"bias_on_another_channel", has_bias, move_bias},
    {"scales_of_other_channels", has_channels, use_other_scales},
    {"kernel_turned", has_windows, turn_kernel},
    {"kernel_in_another_order", has_windows, misplace_kernel},
    {"kernel_channels", has_kernel, reorder_kernel_channels},
    {"groups_in_another_order", has_groups, reorder_groups},
    {"weights_of_fewer_bits", has_kernel, drop_bits},
    {"weights_of_fewer_bits", has_kernel, coarsen_weights},
    {"weights_clipped", has_kernel, clip_weights},
};

}  // namespace

std::span<const Mistake> mistakes_of_sums() { return sum_mistakes; }

}  // namespace lastbit
