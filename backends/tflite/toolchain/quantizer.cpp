// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "int8": what the public TFLite quantiser does (tensorflow/lite/tools/optimize, read; TFLite's 8-bit quantisation specification).
//
//   data      asymmetric int8: min and max are widened to hold 0; scale = (max - min) / 255, zero point = half_away(-128 - min / scale), in
//             float32. With data=int16: symmetric, scale = max |x| / 32767. For a device that has zero point 0 alone (its rule `coding`) int8 is
//             symmetric as well, scale = max |x| / 127, nothing is `fixed`.
//   weights   symmetric int8 in [-127, 127]: scale = max |w| / 127 per output channel, code = half_away(w * (127 / max |w|)), in float32.
//             Where a bias would need more than half of the 32 bits, the scale grows until it does not.
//   bias      int32 (int64 with int16 data) at scale input * weights, code = half_away(b * (1 / scale)), in float32.
//   fusing    relu, relu6, relu_n1_to_1 and clip become bounds of the convolution, fully connected layer, sum, product or pool that they alone
//             read: the converter fuses before it quantises (tensorflow/compiler/mlir/lite/transforms/optimize_patterns.td).
//   ties      pools, data movement, concat and what picks values have one quantisation for all that they read and write; over their common range.
//   fixed     softmax and logistic: scale 1/256, zero point -128; tanh: 1/128, 0. int16: 1/32768, 0.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/op/quantize.hpp"
#include "lastbit/quantizer.hpp"
#include "toolchains/device_model.hpp"
#include "toolchains/ranges/choices.hpp"

namespace lastbit {
namespace {

/// Ranges narrower than this are widened: a scale of zero means nothing.
constexpr float narrowest_range = 1e-6F;
/// Likewise of weights; a bias then sets their scale.
constexpr float smallest_magnitude = 0x1p-56F;

constexpr QuantizeArithmetic rounding_half_away = by_division(Rounding::half_away);

/// Of data: their type, and whether the device has other zero points than 0.
struct DataCodes {
  ElementType type = ElementType::int8;
  Coding coding = Coding::affine;
  [[nodiscard]] bool symmetric() const { return type == ElementType::int16 || coding != Coding::affine; }
};

struct Settings {
  DataCodes data;
  bool weights_per_channel = true;
  bool dense_per_channel = false;
  std::string range;
  double percentile = 100;

  explicit Settings(const QuantizationRequest& request)
      : data{*element_type_from(request.option("data")), request.backend.coding},
        weights_per_channel(request.option("weights") == "channel"),
        dense_per_channel(request.option("dense") == "channel"),
        range(request.option("range")) {
    const std::string& text = request.option("percentile");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percentile);
    if (error != std::errc{} || end != text.data() + text.size() || !(percentile > 0 && percentile <= 100)) {
      throw Error(ErrorCode::bad_input, "option percentile=" + text, "a number above 0, at most 100");
    }
  }
};

Quantization per_tensor(double scale, std::int64_t zero_point) { return {{scale}, {zero_point}, 0}; }

Quantization data_quantization(ClippingRange range, const DataCodes& codes) {
  const float min = std::min(static_cast<float>(range.min), 0.0F), max = std::max(static_cast<float>(range.max), 0.0F);
  if (codes.symmetric()) {
    const auto largest_code = static_cast<float>(range_of(codes.type).max);
    return per_tensor(double{std::max({-min, max, narrowest_range / 2}) / largest_code}, 0);
  }
  const float scale = std::max(max - min, narrowest_range) / 255.0F;
  const float zero_point = std::clamp(-128.0F - min / scale, -128.0F, 127.0F);
  return per_tensor(double{scale}, round_to_integer(zero_point, Rounding::half_away));
}

/// The quantisation that an operation's output has whatever its values are.
std::optional<Quantization> fixed_quantization(OperationKind kind, const DataCodes& codes) {
  using enum OperationKind;
  if (kind != softmax && kind != logistic && kind != OperationKind::tanh) return std::nullopt;
  if (codes.coding != Coding::affine) return std::nullopt;
  if (codes.type == ElementType::int16) return per_tensor(1.0 / 32768, 0);
  return kind == OperationKind::tanh ? per_tensor(1.0 / 128, 0) : per_tensor(1.0 / 256, -128);
}

bool ties_input_to_output(OperationKind kind) {
  using enum OperationKind;
  return keeps_values(kind) || kind == resize || kind == average_pool2d || kind == global_average_pool || kind == concat ||
         kind == maximum || kind == minimum || kind == reduce_max || kind == reduce_min;
}

/// TFLite quantises networks with memory by rules of their own, leaves some functions in float, and knows nothing of operations that other vendors have.
bool has_rule(OperationKind kind) {
  using enum OperationKind;
  return kind != svdf && kind != lstm && kind != recurrent && kind != pwl && kind != fused_conv2d && kind != sum_pool2d &&
         kind != dynamic_quantize && kind != argmax && kind != gather && kind != OperationKind::div && kind != neg &&
         kind != OperationKind::log && kind != OperationKind::sqrt && kind != rsqrt && kind != elu && kind != OperationKind::floor &&
         kind != log_softmax && kind != l2_normalization && kind != argmin && kind != cumsum && kind != detection_postprocess &&
         kind != top_k;
}

void require_rules(const Model& model) {
  std::vector<Diagnostic> problems;
  for (const Operation& operation : model.operations) {
    if (has_rule(operation.kind)) continue;
    const std::string place = std::string(name_of(operation.kind)) + " '" + operation.name + "'";
    problems.push_back({ErrorCode::unsupported_operation, place, "quantiser int8 has no rule for it"});
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

/// [min, max] times the factor, of 128 tried, that leaves the least squared error of 256 codes over the histogram.
ClippingRange least_squares_range(const Histogram& histogram, Coding coding) {
  ClippingRange best{histogram.min, histogram.max};
  double least = std::numeric_limits<double>::infinity();
  const double width = (histogram.max - histogram.min) / static_cast<double>(histogram.counts.size());
  for (int part = 128; part > 0; --part) {
    const ClippingRange range{histogram.min * part / 128, histogram.max * part / 128};
    const Quantization codes = data_quantization(range, {ElementType::int8, coding});
    double error = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      if (histogram.counts[i] == 0) continue;
      const double middle = histogram.min + width * (static_cast<double>(i) + 0.5);
      const double code = std::clamp(std::round(middle / codes.scale()) + static_cast<double>(codes.zero_point()), -128.0, 127.0);
      const double left = middle - (code - static_cast<double>(codes.zero_point())) * codes.scale();
      error += static_cast<double>(histogram.counts[i]) * left * left;
    }
    if (error < least) {
      least = error;
      best = range;
    }
  }
  return best;
}

/// Zeros are exact whatever the range: their bin counts as much as the next one. Data of one sign have all codes for their magnitudes,
/// if the zero point may be the lowest code.
double divergence_threshold(const TensorStatistics& statistics, Coding coding) {
  Histogram magnitudes = statistics.magnitudes;
  magnitudes.counts[0] = std::min(magnitudes.counts[0], magnitudes.counts[1]);
  const bool one_sign = coding == Coding::affine && (statistics.min >= 0 || statistics.max <= 0);
  return kl_threshold(magnitudes, one_sign ? 256 : 128, {.first = 0, .step = 16}, 1e-6);
}

ClippingRange chosen_range(const TensorStatistics& statistics, const Settings& settings) {
  const ClippingRange whole{statistics.min, statistics.max};
  if (settings.range == "percentile") return central_range(statistics.histogram, (100 - settings.percentile) / 200);
  if (settings.range == "mse") return least_squares_range(statistics.histogram, settings.data.coding);
  if (settings.range == "kl") {
    const double threshold = divergence_threshold(statistics, settings.data.coding);
    return {std::max(whole.min, -threshold), std::min(whole.max, threshold)};
  }
  return whole;
}

class Int8Quantizer {
 public:
  explicit Int8Quantizer(const QuantizationRequest& request)
      : request_(request), settings_(request), groups_(request.model.tensors.size()) {
    builder_.model = request.model;
    fuse_activations(model_, [](const Operation&, const Operation& activation) { return stated_bounds(activation); });
  }

  QuantizedNetwork run() {
    require_rules(request_.model);
    tie_tensors();
    quantize_data();
    for (Operation& operation : model_.operations) {
      if (is_layer(operation)) quantize_layer(operation);
      quantize_attributes(operation, model_.tensor(operation.outputs[0]));
    }
    drop_unused_tensors(model_);
    return {std::move(model_), std::move(notes_)};
  }

 private:
  [[nodiscard]] bool is_constant(std::int32_t tensor) const {
    return tensor != absent_tensor && model_.tensor(tensor).constant.has_value();
  }
  [[nodiscard]] bool is_layer(const Operation& operation) const { return has_weights(operation.kind) && is_constant(operation.inputs[1]); }

  [[nodiscard]] const Quantization* fixed(std::int32_t tensor) const {
    const auto& found = fixed_[static_cast<std::size_t>(groups_.root(tensor))];
    return found ? &*found : nullptr;
  }

  void tie_tensors() {
    fixed_.resize(model_.tensors.size());
    for (Operation& operation : std::exchange(model_.operations, {})) {
      const std::int32_t output = operation.outputs[0];
      if (ties_input_to_output(operation.kind)) {
        if (operation.inputs.size() > 1) free_fixed_inputs(operation);
        for (const auto* list : {&operation.inputs, &operation.outputs}) {
          for (const std::int32_t tensor : *list) groups_.join(operation.inputs[0], tensor);
        }
      } else {
        fixed_[static_cast<std::size_t>(output)] = fixed_quantization(operation.kind, settings_.data);
      }
      model_.operations.push_back(std::move(operation));
    }
  }

  /// What is joined has one scale; an input whose scale is fixed is requantised first.
  void free_fixed_inputs(Operation& operation) {
    for (std::int32_t& input : operation.inputs) {
      if (fixed(input) == nullptr) continue;
      const ModelTensor& own = model_.tensor(input);
      origin_.resize(model_.tensors.size());
      origin_.push_back(input);
      groups_.add();
      fixed_.emplace_back();
      input = builder_.operation(OperationKind::requantize, {input}, {own.name + " for " + operation.name, own.type, own.shape});
    }
  }

  /// Data are what is no weight and no bias of a layer.
  [[nodiscard]] std::vector<bool> data_tensors() const {
    std::vector<bool> data(model_.tensors.size(), false);
    for (const std::int32_t input : model_.inputs) data[static_cast<std::size_t>(input)] = true;
    for (const Operation& operation : model_.operations) {
      for (std::size_t i = 0; i < operation.inputs.size(); ++i) {
        if (operation.inputs[i] != absent_tensor && (i == 0 || !is_layer(operation)))
          data[static_cast<std::size_t>(operation.inputs[i])] = true;
      }
      for (const std::int32_t output : operation.outputs) data[static_cast<std::size_t>(output)] = true;
    }
    return data;
  }

  [[nodiscard]] bool is_copy(std::size_t tensor) const { return tensor >= request_.calibration.tensors.size(); }
  /// The tensor of the float network.
  [[nodiscard]] std::int32_t origin(std::size_t tensor) const {
    return is_copy(tensor) ? origin_[tensor] : static_cast<std::int32_t>(tensor);
  }

  /// What calibration saw; of a copy, what is given for the original.
  [[nodiscard]] ClippingRange seen_range(std::size_t tensor) const {
    const TensorStatistics& seen = request_.statistics(origin(tensor));
    if (model_.tensors[tensor].constant) return {seen.min, seen.max};
    if (const TensorRange* given = is_copy(tensor) ? request_.ranges.given(origin(tensor)) : nullptr; given != nullptr) {
      if (!given->codes.present()) return {given->min, given->max};
      const Quantization codes = given_codes(*given, settings_.data.type, settings_.data.coding);
      const IntegerRange limits = range_of(settings_.data.type);
      const auto real = [&](std::int64_t code) { return static_cast<double>(code - codes.zero_point()) * codes.scale(); };
      return {real(limits.min), real(limits.max)};
    }
    request_.ranges.calibrate(origin(tensor), seen);
    return seen.values > 0 ? chosen_range(seen, settings_) : ClippingRange{};
  }

  void quantize_data() {
    const std::vector<bool> data = data_tensors();
    GroupRanges ranges(request_.ranges, groups_, model_.tensors.size());
    const auto index = [](std::size_t tensor) { return static_cast<std::int32_t>(tensor); };
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (data[t] && !is_copy(t)) ranges.give(index(t), index(t), settings_.data.type, settings_.data.coding);
    }
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (data[t] && fixed(index(t)) == nullptr && ranges.of(index(t)).by == nullptr) ranges.see(index(t), seen_range(t));
    }
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (data[t]) set_data(t, ranges.of(index(t)));
    }
  }

  /// A scale that is given counts even where the operation has one of its own; the device says whether it can do that.
  void set_data(std::size_t tensor, const GroupRanges::Decided& decided) {
    const auto index = static_cast<std::int32_t>(tensor);
    const Quantization* known = decided.codes ? &*decided.codes : fixed(index);
    if (!decided.codes && known != nullptr) request_.ranges.ignore(index);
    if (!is_copy(tensor) && decided.codes) request_.ranges.choose(index, *decided.codes);
    else if (!is_copy(tensor) && known == nullptr) request_.ranges.choose(index, decided.range);
    set_quantization(model_.tensors[tensor], settings_.data.type,
                     known != nullptr ? *known : data_quantization(decided.range, settings_.data), rounding_half_away);
  }

  void quantize_layer(const Operation& operation) {
    const bool per_channel = operation.kind == OperationKind::fully_connected ? settings_.dense_per_channel : settings_.weights_per_channel;
    ModelTensor& weights = model_.tensors[static_cast<std::size_t>(operation.inputs[1])];
    const std::int64_t axis = channel_axis(operation.kind);
    const TensorRange* const given = request_.ranges.given(operation.inputs[1]);
    std::vector<double> largest{largest_magnitude(*weights.constant)};
    if (per_channel) largest = channel_magnitudes(*weights.constant, axis);
    if (given != nullptr && !given->codes.present()) largest = {RangeChoices::magnitude(*given)};
    std::vector<float> magnitudes(largest.begin(), largest.end());
    for (float& magnitude : magnitudes) magnitude = std::max(magnitude, smallest_magnitude);
    const Quantization& input = model_.tensor(operation.inputs[0]).quantization;
    const bool has_bias = operation.inputs.size() > 2 && is_constant(operation.inputs[2]);
    if (given != nullptr && given->codes.present()) {
      quantize_weights_at(weights, given_weights(*given, weights, axis), magnitudes);
    } else {
      if (has_bias) widen_for_bias(operation, magnitudes, static_cast<float>(input.scale()));
      quantize_weights(weights, magnitudes, axis);
    }
    if (has_bias) quantize_bias(model_.tensors[static_cast<std::size_t>(operation.inputs[2])], input, weights.quantization);
  }

  [[nodiscard]] std::int64_t largest_bias() const { return settings_.data.type == ElementType::int8 ? max_of_width(32) : max_of_width(40); }

  /// A bias takes at most half of its range.
  void widen_for_bias(const Operation& operation, std::vector<float>& magnitudes, float input_scale) {
    const std::span<const float> bias = model_.tensor(operation.inputs[2]).constant->values<float>();
    const auto largest_code = static_cast<double>(largest_bias());
    std::size_t widened = 0;
    for (std::size_t i = 0; i < bias.size(); ++i) {
      float& magnitude = magnitudes[magnitudes.size() == 1 ? 0 : i];
      const double needed = std::abs(double{bias[i]});
      if (needed < 0.5 * double{input_scale} * double{magnitude / 127.0F} * largest_code) continue;
      magnitude = static_cast<float>(2 * needed / largest_code * (127.0 / double{input_scale}));
      ++widened;
    }
    if (widened > 0) {
      notes_.push_back("'" + operation.name + "': in " + std::to_string(widened) +
                       " channels the bias, not the weights, sets the weights' scale");
    }
  }

  /// TFLite multiplies by 127 / magnitude, which is not quite the inverse of the scale that it stores.
  static void quantize_weights(ModelTensor& weights, const std::vector<float>& magnitudes, std::int64_t axis) {
    const bool per_channel = magnitudes.size() > 1;
    weights.constant = coded(*weights.constant, ElementType::int8, per_channel ? std::optional(axis) : std::nullopt,
                             [&](std::size_t channel, float value) {
                               const float factor = 127.0F / magnitudes[channel];
                               return std::clamp<std::int64_t>(round_to_integer(value * factor, Rounding::half_away), -127, 127);
                             });
    weights.type = ElementType::int8;
    weights.quantization = {{}, std::vector<std::int64_t>(magnitudes.size(), 0), per_channel ? axis : 0};
    for (const float magnitude : magnitudes) weights.quantization.scales.push_back(double{magnitude / 127.0F});
  }

  /// Scales that are given: where they are those of the magnitudes, with the codes that these give, else half_away(w * (1 / scale)).
  static void quantize_weights_at(ModelTensor& weights, const Quantization& given, const std::vector<float>& magnitudes) {
    const std::optional<std::int64_t> axis = given.per_channel() ? std::optional(given.axis) : std::nullopt;
    weights.constant = coded(*weights.constant, ElementType::int8, axis, [&](std::size_t channel, float value) {
      const auto scale = static_cast<float>(given.scale(channel));
      const bool is_own = magnitudes.size() == given.scales.size() && magnitudes[channel] / 127.0F == scale;
      const float factor = is_own ? 127.0F / magnitudes[channel] : 1.0F / scale;
      return std::clamp<std::int64_t>(round_to_integer(value * factor, Rounding::half_away), -127, 127);
    });
    weights.type = ElementType::int8;
    weights.quantization = given;
  }

  void quantize_bias(ModelTensor& bias, const Quantization& input, const Quantization& weights) const {
    bias.quantization = accumulator_quantization(input, weights, ScaleArithmetic::f32);
    bias.type = settings_.data.type == ElementType::int8 ? ElementType::int32 : ElementType::int64;
    const std::int64_t limit = range_of(bias.type).max;
    bias.constant = coded(*bias.constant, bias.type, bias.quantization.per_channel() ? std::optional<std::int64_t>(0) : std::nullopt,
                          [&](std::size_t channel, float value) {
                            const float factor = 1.0F / static_cast<float>(bias.quantization.scale(channel));
                            return std::clamp(round_to_integer(value * factor, Rounding::half_away), -limit, limit);
                          });
  }

  const QuantizationRequest& request_;
  Settings settings_;
  ModelBuilder builder_;
  Model& model_ = builder_.model;
  TensorGroups groups_;
  std::vector<std::optional<Quantization>> fixed_;  ///< of each group's root
  std::vector<std::int32_t> origin_;                ///< of tensors beyond those of the float network: the one that they copy
  std::vector<std::string> notes_;
};

QuantizedNetwork quantize_int8(const QuantizationRequest& request) { return Int8Quantizer(request).run(); }

}  // namespace

Quantizer int8_quantizer() {
  return {.name = "int8",
          .title = "TFLite's integer quantisation: symmetric int8 weights per channel, asymmetric int8 data, int32 bias",
          .options = {{"data", "int8", {"int8", "int16"}, "type of the data; int16 is symmetric, with a 64-bit bias"},
                      {"weights", "channel", {"channel", "tensor"}, "one scale per output channel of convolutions, or one for all"},
                      {"dense", "tensor", {"channel", "tensor"}, "the same for fully connected layers"},
                      {"range",
                       "max",
                       {"max", "percentile", "mse", "kl"},
                       "range of the data: all of it, the central percentile, least squared error, or least divergence"},
                      {"percentile", "99.99", {}, "per cent of the values within the range, with range=percentile"}},
          .quantize = quantize_int8};
}

}  // namespace lastbit
