// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "toolchains/integer_network.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "toolchains/device_model.hpp"
#include "toolchains/ranges/choices.hpp"

namespace lastbit {
namespace {

/// A bias then sets the scale of smaller weights.
constexpr float smallest_magnitude = 0x1p-56F;

struct Choices {
  bool weights_per_channel = true;
  bool dense_per_channel = false;
  std::string range;
  double percentile = 100;

  explicit Choices(const QuantizationRequest& request)
      : weights_per_channel(request.option("weights") == "channel"),
        dense_per_channel(request.option("dense") == "channel"),
        range(request.option("range")) {
    const std::string& text = request.option("percentile");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percentile);
    if (error != std::errc{} || end != text.data() + text.size() || !(percentile > 0 && percentile <= 100)) {
      throw Error(ErrorCode::bad_input, "option percentile=" + text, "a number above 0, at most 100");
    }
  }
};

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
         kind != top_k && !is_of_blocks(kind);
}

void require_rules(const Model& model, std::string_view quantizer) {
  std::vector<Diagnostic> problems;
  for (const Operation& operation : model.operations) {
    if (has_rule(operation.kind)) continue;
    const std::string place = std::string(name_of(operation.kind)) + " '" + operation.name + "'";
    problems.push_back({ErrorCode::unsupported_operation, place, "quantiser " + std::string(quantizer) + " has no rule for it"});
  }
  if (!problems.empty()) throw Error(std::move(problems));
}

/// [min, max] times the factor, of 128 tried, that leaves the least squared error of the codes over the histogram.
ClippingRange least_squares_range(const Histogram& histogram, const IntegerScheme& scheme) {
  ClippingRange best{histogram.min, histogram.max};
  double least = std::numeric_limits<double>::infinity();
  const auto lowest = static_cast<double>(range_of(scheme.data.type).min), highest = static_cast<double>(range_of(scheme.data.type).max);
  const double width = (histogram.max - histogram.min) / static_cast<double>(histogram.counts.size());
  for (int part = 128; part > 0; --part) {
    const ClippingRange range{histogram.min * part / 128, histogram.max * part / 128};
    const Quantization codes = scheme.data_quantization(range, scheme.data);
    double error = 0;
    for (std::size_t i = 0; i < histogram.counts.size(); ++i) {
      if (histogram.counts[i] == 0) continue;
      const double middle = histogram.min + width * (static_cast<double>(i) + 0.5);
      const double code = std::clamp(std::round(middle / codes.scale()) + static_cast<double>(codes.zero_point()), lowest, highest);
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

ClippingRange chosen_range(const TensorStatistics& statistics, const Choices& choices, const IntegerScheme& scheme) {
  const ClippingRange whole{statistics.min, statistics.max};
  if (choices.range == "percentile") return central_range(statistics.histogram, (100 - choices.percentile) / 200);
  if (choices.range == "mse") return least_squares_range(statistics.histogram, scheme);
  if (choices.range == "kl") {
    const double threshold = divergence_threshold(statistics, scheme.data.coding);
    return {std::max(whole.min, -threshold), std::min(whole.max, threshold)};
  }
  return whole;
}

class IntegerNetwork {
 public:
  IntegerNetwork(const QuantizationRequest& request, const IntegerScheme& scheme)
      : request_(request), scheme_(scheme), choices_(request), groups_(request.model.tensors.size()) {
    builder_.model = request.model;
    fuse_activations(model_, [](const Operation&, const Operation& activation) { return stated_bounds(activation); });
  }

  QuantizedNetwork run() {
    require_rules(request_.model, scheme_.name);
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
      const bool keeps_scale = scheme_.sums_keep_scale && (operation.kind == OperationKind::add || operation.kind == OperationKind::sub);
      if (ties_input_to_output(operation.kind) || keeps_scale) {
        if (operation.inputs.size() > 1) free_fixed_inputs(operation);
        for (const auto* list : {&operation.inputs, &operation.outputs}) {
          for (const std::int32_t tensor : *list) groups_.join(operation.inputs[0], tensor);
        }
      } else {
        fixed_[static_cast<std::size_t>(output)] = scheme_.fixed_quantization(operation.kind, scheme_.data);
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
      const Quantization codes = given_codes(*given, scheme_.data.type, scheme_.data.coding);
      const IntegerRange limits = range_of(scheme_.data.type);
      const auto real = [&](std::int64_t code) { return static_cast<double>(code - codes.zero_point()) * codes.scale(); };
      return {real(limits.min), real(limits.max)};
    }
    request_.ranges.calibrate(origin(tensor), seen);
    return seen.values > 0 ? chosen_range(seen, choices_, scheme_) : ClippingRange{};
  }

  void quantize_data() {
    const std::vector<bool> data = data_tensors();
    GroupRanges ranges(request_.ranges, groups_, model_.tensors.size());
    const auto index = [](std::size_t tensor) { return static_cast<std::int32_t>(tensor); };
    for (std::size_t t = 0; t < model_.tensors.size(); ++t) {
      if (data[t] && !is_copy(t)) ranges.give(index(t), index(t), scheme_.data.type, scheme_.data.coding);
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
    set_quantization(model_.tensors[tensor], scheme_.data.type,
                     known != nullptr ? *known : scheme_.data_quantization(decided.range, scheme_.data), scheme_.data_rounding);
  }

  void quantize_layer(const Operation& operation) {
    const bool per_channel = operation.kind == OperationKind::fully_connected ? choices_.dense_per_channel : choices_.weights_per_channel;
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
      if (has_bias && scheme_.bias_unit > 1) hold_bias(operation, magnitudes, input.scale());
      if (has_bias && scheme_.room_for_bias > 0) widen_for_bias(operation, magnitudes, static_cast<float>(input.scale()));
      quantize_weights(weights, magnitudes, axis);
    }
    if (has_bias) quantize_bias(model_.tensors[static_cast<std::size_t>(operation.inputs[2])], input, weights.quantization);
  }

  /// The weights' scale is what the larger of weights and bias needs.
  void hold_bias(const Operation& operation, std::vector<float>& magnitudes, double input_scale) const {
    const std::span<const float> bias = model_.tensor(operation.inputs[2]).constant->values<float>();
    for (std::size_t i = 0; i < bias.size(); ++i) {
      float& magnitude = magnitudes[magnitudes.size() == 1 ? 0 : i];
      magnitude =
          std::max(magnitude, static_cast<float>(std::abs(double{bias[i]}) / (static_cast<double>(scheme_.bias_unit) * input_scale)));
    }
  }

  void widen_for_bias(const Operation& operation, std::vector<float>& magnitudes, float input_scale) {
    const std::span<const float> bias = model_.tensor(operation.inputs[2]).constant->values<float>();
    const auto largest_code = static_cast<double>(scheme_.room_for_bias);
    const auto highest = static_cast<double>(scheme_.weight_codes.max);
    std::size_t widened = 0;
    for (std::size_t i = 0; i < bias.size(); ++i) {
      float& magnitude = magnitudes[magnitudes.size() == 1 ? 0 : i];
      const double needed = std::abs(double{bias[i]});
      if (needed < 0.5 * double{input_scale} * double{scheme_.weight_scale(magnitude)} * largest_code) continue;
      magnitude = static_cast<float>(2 * needed / largest_code * (highest / double{input_scale}));
      ++widened;
    }
    if (widened > 0) {
      notes_.push_back("'" + operation.name + "': in " + std::to_string(widened) +
                       " channels the bias, not the weights, sets the weights' scale");
    }
  }

  [[nodiscard]] std::int64_t weight_code(float scaled) const {
    return std::clamp(round_to_integer(scaled, scheme_.rounding), scheme_.weight_codes.min, scheme_.weight_codes.max);
  }

  void quantize_weights(ModelTensor& weights, const std::vector<float>& magnitudes, std::int64_t axis) const {
    const bool per_channel = magnitudes.size() > 1;
    weights.constant =
        coded(*weights.constant, ElementType::int8, per_channel ? std::optional(axis) : std::nullopt,
              [&](std::size_t channel, float value) { return weight_code(value * scheme_.weight_factor(magnitudes[channel])); });
    weights.type = ElementType::int8;
    weights.quantization = {{}, std::vector<std::int64_t>(magnitudes.size(), 0), per_channel ? axis : 0};
    for (const float magnitude : magnitudes) weights.quantization.scales.push_back(double{scheme_.weight_scale(magnitude)});
  }

  /// Scales that are given: where they are those of the magnitudes, with the codes that these give, else weight * (1 / scale).
  void quantize_weights_at(ModelTensor& weights, const Quantization& given, const std::vector<float>& magnitudes) const {
    const std::optional<std::int64_t> axis = given.per_channel() ? std::optional(given.axis) : std::nullopt;
    weights.constant = coded(*weights.constant, ElementType::int8, axis, [&](std::size_t channel, float value) {
      const auto scale = static_cast<float>(given.scale(channel));
      const bool is_own = magnitudes.size() == given.scales.size() && scheme_.weight_scale(magnitudes[channel]) == scale;
      return weight_code(value * (is_own ? scheme_.weight_factor(magnitudes[channel]) : 1.0F / scale));
    });
    weights.type = ElementType::int8;
    weights.quantization = given;
  }

  void quantize_bias(ModelTensor& bias, const Quantization& input, const Quantization& weights) const {
    bias.quantization = accumulator_quantization(input, weights, ScaleArithmetic::f32);
    bias.type = scheme_.bias_type;
    bias.constant = coded(*bias.constant, bias.type, bias.quantization.per_channel() ? std::optional<std::int64_t>(0) : std::nullopt,
                          [&](std::size_t channel, float value) {
                            const double unit = bias.quantization.scale(channel) * static_cast<double>(scheme_.bias_unit);
                            const std::int64_t code = round_to_integer(value * (1.0F / static_cast<float>(unit)), scheme_.rounding);
                            return scheme_.bias_unit * std::clamp(code, scheme_.bias_codes.min, scheme_.bias_codes.max);
                          });
  }

  const QuantizationRequest& request_;
  const IntegerScheme& scheme_;
  Choices choices_;
  ModelBuilder builder_;
  Model& model_ = builder_.model;
  TensorGroups groups_;
  std::vector<std::optional<Quantization>> fixed_;  ///< of each group's root
  std::vector<std::int32_t> origin_;                ///< of tensors beyond those of the float network: the one that they copy
  std::vector<std::string> notes_;
};

}  // namespace

std::vector<QuantizerOption> integer_options(std::string range, std::string percentile, std::string weights, std::string dense) {
  return {{"weights", std::move(weights), {"channel", "tensor"}, "one scale per output channel of convolutions, or one for all"},
          {"dense", std::move(dense), {"channel", "tensor"}, "the same for fully connected layers"},
          {"range",
           std::move(range),
           {"max", "percentile", "mse", "kl"},
           "range of the data: all of it, the central percentile, least squared error, or least divergence"},
          {"percentile", std::move(percentile), {}, "per cent of the values within the range, with range=percentile"}};
}

QuantizedNetwork integer_network(const QuantizationRequest& request, const IntegerScheme& scheme) {
  return IntegerNetwork(request, scheme).run();
}

}  // namespace lastbit
