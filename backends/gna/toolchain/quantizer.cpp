// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "gna": what OpenVINO's GNA plugin does (read; docs/backends/gna.md), in its convention integer = real * factor.
//
//   data      int16, half away from zero in float32. Input factor given, or 16384 / max |x|.
//   weights   16384 / max |w| (int16); fully connected layers on request 127 * 230 / max |w|, int8 with a multiplier per row, at most 230.
//             The factor shrinks where the bias would pass 2^30, and in convolutions by 16384 * 16384 * channels * c / (2^31 - 1) where this
//             is above 1, c from 1 to 3 by the kernel's size.
//   sums      int32 of factor weights * input; a bias has the same.
//   tables    every layer ends in a piecewise-linear table to int16. Factors of what it gives: 2048; of an identity 2049 or 1024.5, whichever
//             stores the larger slope; halved where 2048 times the sum's factor passes int32; at most 32766 / max |x| of the calibration.
//   concat    all that is joined, moved or pooled has one factor: a network input's, else that of the first layer that writes into it.
//   memory    a convolution reads [time][channel], and so it gets its data; on request, behind a concat, [channel][time] as if it were that: the
//             plugin's search for the convolution, for which it transposes what is joined, stops there.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>

#include "gna/toolchain/functions.hpp"
#include "gna/toolchain/network.hpp"
#include "lastbit/arith/pwl.hpp"
#include "lastbit/as_it_lies.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/quantizer.hpp"
#include "lastbit/shape.hpp"
#include "toolchains/device_model.hpp"
#include "toolchains/ranges/choices.hpp"

namespace lastbit {
namespace gna {
namespace {

using enum OperationKind;

constexpr double largest_input = 16384, largest_weight = 16384, largest_weight_8bit = 127, largest_multiplier = 230;
constexpr double largest_bias = 0x1p30, largest_sum = 0x1p31 - 1, largest_data = 32766;
constexpr double table_factor = 2048, identity_factors[] = {2049, 1024.5};

constexpr const char* padded_for = " padded for ";

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::int64_t half_away(float value) {
  if (!(std::abs(value) < 0x1p62F)) return value > 0 ? max_of_width(63) : min_of_width(63);
  return static_cast<std::int64_t>(std::trunc(value + (value > 0 ? 0.5F : -0.5F)));
}

double number_option(const QuantizationRequest& request, const char* name, double most) {
  const std::string& text = request.option(name);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc{} && end == text.data() + text.size() && value > 0 && value <= most) return value;
  throw Error(ErrorCode::bad_input, std::string("option ") + name + "=" + text, "a number above 0, at most " + std::to_string(most));
}

/// The plugin's factor for two-dimensional kernels by their number of taps.
double kernel_share(std::int64_t taps) {
  constexpr std::pair<std::int64_t, double> steps[] = {{49, 3.0}, {36, 2.6}, {21, 2.3}, {14, 1.7}, {9, 1.3}, {7, 1.2}};
  for (const auto& [least, share] : steps)
    if (taps >= least) return share;
  return 1;
}

std::int64_t value_at_zero(const Tensor& table) {
  std::vector<PwlSegment> segments;
  const auto records = table.values<std::int32_t>();
  for (std::size_t i = 0; i < records.size(); i += 3) {
    segments.push_back(pwl_segment(records[i], static_cast<std::int16_t>(records[i + 1]), static_cast<std::int16_t>(records[i + 2])));
  }
  return evaluate_pwl(segments, 0);
}

/// int8 weights leave little room in the sums: the plugin shrinks their factor. Which of its four values it takes is an assumption: the first that
/// suffices, else the last.
double narrow_share(double weights_factor, double input_factor) {
  constexpr double limit = (0x1p31 - 2) * 30;
  double share = 1;
  for (const double next : {0.5, 0.45, 0.40, 0.35}) {
    if (share * weights_factor * input_factor * input_factor <= limit) break;
    share = next;
  }
  return share;
}

class GnaQuantizer {
 public:
  GnaQuantizer(const QuantizationRequest& request, const Limits& limits)
      : request_(request),
        limits_(limits),
        real_(request.model),
        network_(request.model),
        builder_(request.model.name),
        groups_(real_.tensors.size()),
        factors_(real_.tensors.size(), 0),
        index_(real_.tensors.size(), absent_tensor),
        percent_(number_option(request, "pwl_max_error_percent", 100)) {}

  QuantizedNetwork run() {
    if (std::vector<Diagnostic> problems = beyond_limits(network_, limits_); !problems.empty()) throw Error(std::move(problems));
    taken_.assign(real_.operations.size(), false);
    tie();
    add_inputs();
    for (std::size_t i = 0; i < real_.operations.size(); ++i) {
      if (!taken_[i]) convert(i);
    }
    for (const std::int32_t output : real_.outputs) builder_.model.outputs.push_back(data(output));
    return {std::move(builder_.model), std::move(notes_)};
  }

 private:
  void tie() {
    for (const Operation& operation : real_.operations) {
      if (!is_movement(operation.kind) && operation.kind != concat) continue;
      for (const auto* list : {&operation.inputs, &operation.outputs})
        for (const std::int32_t tensor : *list) groups_.join(operation.inputs[0], tensor);
    }
  }

  [[nodiscard]] const Model& model() const { return builder_.model; }

  static Quantization unit_of(double factor) { return {{1 / factor}, {0}, 0}; }

  /// int16 codes of real values.
  static Tensor data_codes(const Tensor& values, double factor) {
    return coded(values, ElementType::int16, std::nullopt, [&](std::size_t, float value) {
      return std::clamp<std::int64_t>(half_away(value * static_cast<float>(factor)), -32768, 32767);
    });
  }

  [[nodiscard]] double& factor(std::int32_t tensor) { return factors_[at(groups_.root(tensor))]; }

  [[nodiscard]] const TensorRange* given_range(std::int32_t tensor) const {
    const TensorRange* const range = request_.ranges.given(tensor);
    if (range != nullptr && range->codes.present())
      throw Error(ErrorCode::bad_quantization, range->where,
                  "'" + range->name + "': GNA's factors follow from min and max, not from a scale");
    return range;
  }

  /// The largest magnitude of what is given for the tensors of a group, else of what they were seen to be.
  [[nodiscard]] double largest_of_group(std::int32_t tensor) const {
    double given = 0, seen = 0;
    bool is_given = false;
    const TensorStatistics* known = &request_.statistics(tensor);
    for (std::int32_t t = 0; t < std::ssize(real_.tensors); ++t) {
      if (groups_.root(t) != groups_.root(tensor)) continue;
      seen = std::max(seen, request_.statistics(t).largest_magnitude());
      if (request_.statistics(t).values > 0) known = &request_.statistics(t);
      const TensorRange* const range = given_range(t);
      if (range == nullptr) continue;
      given = std::max(given, RangeChoices::magnitude(*range));
      is_given = true;
    }
    if (!is_given && !real_.tensor(tensor).constant) request_.ranges.calibrate(tensor, *known);
    const double largest = is_given ? given : seen;
    request_.ranges.choose(tensor, {-largest, largest});
    return largest;
  }

  /// The int16 tensor of the device for a data tensor of the float network; a constant is coded when it is first read.
  std::int32_t data(std::int32_t tensor) {
    if (index_[at(tensor)] != absent_tensor) return index_[at(tensor)];
    const ModelTensor& real = real_.tensor(tensor);
    if (factor(tensor) == 0) factor(tensor) = limited(table_factor, tensor);
    const Quantization unit = unit_of(factor(tensor));
    return index_[at(tensor)] = real.constant ? builder_.constant(real.name, data_codes(*real.constant, factor(tensor)), unit)
                                              : builder_.tensor({real.name, ElementType::int16, real.shape, unit});
  }

  static double input_factor_of(double largest) { return largest > 0 ? largest_input / largest : 1; }

  void add_inputs() {
    const std::string& given = request_.option("input_scale_factor");
    for (const std::int32_t input : real_.inputs) {
      const double wanted =
          given == "data" ? input_factor_of(largest_of_group(input)) : number_option(request_, "input_scale_factor", 0x1p30);
      if (factor(input) == 0) factor(input) = wanted;
      else if (factor(input) != wanted && given != "data")
        throw Error(ErrorCode::bad_input, "input '" + real_.tensor(input).name + "'", "is joined with another input of another factor");
      builder_.model.inputs.push_back(data(input));
    }
  }

  /// No value of the calibration saturates.
  [[nodiscard]] double limited(double wanted, std::int32_t tensor) const {
    if (request_.option("table_scale_factor") == "fixed") return wanted;
    const double largest = largest_of_group(tensor);
    return largest == 0 ? wanted : std::min(wanted, largest_data / largest);
  }

  /// What the factor of a table's output is, where nothing before has decided it.
  [[nodiscard]] double natural_factor(const Function& function, double sums_factor, std::int32_t output) const {
    if (function.identity) {
      const auto slope = [&](double wanted) { return encode_slope(1, sums_factor, wanted).slope; };
      return limited(slope(identity_factors[1]) > slope(identity_factors[0]) ? identity_factors[1] : identity_factors[0], output);
    }
    return limited(table_factor * sums_factor > largest_sum ? table_factor / 2 : table_factor, output);
  }

  std::int32_t add_table(const Function& function, double sums_factor, std::int32_t output, FlatEnds ends) {
    if (factor(output) == 0) factor(output) = natural_factor(function, sums_factor, output);
    Tensor table = pwl_table(function.lines, sums_factor, factor(output), function.identity ? FlatEnds::added : ends);
    if (function.identity && value_at_zero(table) != 0) {  // what the slope lacks in bits has added up on the way from the first base
      std::vector<Line> lines = function.lines;
      lines.push_back({0, 1, 0});
      table = pwl_table(lines, sums_factor, factor(output), FlatEnds::added);
    }
    return builder_.constant(real_.tensor(output).name + " table", std::move(table));
  }

  void convert(std::size_t index) {
    const Operation& operation = real_.operations[index];
    if (is_layer(operation.kind) || is_activation(operation.kind)) {
      const FusedLayer fused = network_.fused_layer_from(index);
      for (const std::size_t member : fused.members) taken_[member] = true;
      return convert_layer(fused);
    }
    Operation moved = operation;
    for (std::int32_t& input : moved.inputs) input = data(input);
    for (std::int32_t& output : moved.outputs) output = data(output);
    if (operation.kind == concat) note_alignment(operation);
    quantize_attributes(moved, model().tensor(moved.outputs[0]));
    builder_.model.operations.push_back(std::move(moved));
  }

  /// Pieces that do not begin at a multiple of 64 bytes go through a ConcatAlignFilter on the device: an identity in numbers.
  void note_alignment(const Operation& operation) {
    std::int64_t offset = 0, unaligned = 0;
    for (const std::int32_t input : operation.inputs) {
      unaligned += offset % 64 != 0 ? 1 : 0;
      offset += network_.shape(input).element_count() * 2;
    }
    if (unaligned == 0) return;
    notes_.push_back(
        "concat '" + operation.name + "': " + std::to_string(unaligned) + " of " + std::to_string(operation.inputs.size()) +
        " pieces do not begin at a multiple of 64 bytes; the plugin puts an aligning filter before them (unit weights), left out here");
  }

  void convert_layer(const FusedLayer& fused) {
    const Operation& last = fused.last();
    const Function function =
        fused.activation != nullptr ? *function_of(*fused.activation, percent_) : bounds_function(bounds_of(*fused.layer));
    if (fused.layer == nullptr) return add_data_table(fused.first(), function);
    const Parts parts = add_parts(*fused.layer);
    const bool plane = fused.layer->kind == conv2d && !network_.is_line(*fused.layer);
    const FlatEnds ends = plane && limits_.flat_ends ? FlatEnds::added : FlatEnds::none;
    const std::int32_t table = add_table(function, parts.sums_factor, last.outputs[0], ends);
    if (fused.pool != nullptr) return add_fused(fused, parts, table);
    const std::int32_t output = data(last.outputs[0]);
    const std::int32_t sums = builder_.tensor(
        {model().tensor(output).name + " sums", ElementType::int32, network_.shape(fused.layer->outputs[0]), unit_of(parts.sums_factor)});
    Operation layer{fused.layer->kind, fused.layer->name, {parts.input, parts.weights, parts.bias}, {sums}, fused.layer->attributes};
    if (parts.multiplier != absent_tensor) layer.inputs.push_back(parts.multiplier);
    while (layer.inputs.back() == absent_tensor) layer.inputs.pop_back();
    if (auto* conv = std::get_if<Conv2dAttributes>(&layer.attributes))
      *conv = {.stride = conv->stride, .dilation = {}, .padding = parts.padding, .bounds = {}};
    else std::get<FullyConnectedAttributes>(layer.attributes).bounds = {};
    builder_.model.operations.push_back(std::move(layer));
    add_pwl(last.name + " table", sums, table, output, network_.shape(last.outputs[0]));
  }

  void add_pwl(const std::string& name, std::int32_t sums, std::int32_t table, std::int32_t output, const Shape& wanted) {
    std::int32_t from = sums;
    if (model().tensor(sums).shape != wanted)
      from = builder_.operation(reshape, {sums}, {model().tensor(output).name + " sums reshaped", ElementType::int32, wanted});
    builder_.operation(pwl, name, {from, table}, {output});
  }

  /// A layer of one unit weight makes sums of data that no layer has just written.
  void add_data_table(const Operation& activation, const Function& function) {
    const std::int32_t input = data(activation.inputs[0]);
    const double input_factor = factor(activation.inputs[0]);
    const Shape flat{1, 1, network_.shape(activation.inputs[0]).element_count(), 1};
    const double sums_factor = input_factor * largest_weight;
    const std::int32_t table = add_table(function, sums_factor, activation.outputs[0], FlatEnds::none);
    const std::int32_t output = data(activation.outputs[0]);
    const std::string name = model().tensor(output).name;
    const std::int32_t row = builder_.operation(reshape, {input}, {name + " as a row", ElementType::int16, flat, unit_of(input_factor)});
    Tensor unit(ElementType::int16, {1, 1, 1, 1});
    unit.values<std::int16_t>()[0] = static_cast<std::int16_t>(largest_weight);
    const std::int32_t weights = builder_.constant(name + " unit weight", std::move(unit), unit_of(largest_weight));
    const std::int32_t sums =
        builder_.operation(depthwise_conv2d, {row, weights}, {name + " sums", ElementType::int32, flat, unit_of(sums_factor)});
    add_pwl(activation.name, sums, table, output, network_.shape(activation.outputs[0]));
  }

  /// What a layer reads on the device.
  struct Parts {
    std::int32_t input = absent_tensor, weights = absent_tensor, bias = absent_tensor, multiplier = absent_tensor;
    double sums_factor = 1;
    Padding2d padding{};
  };

  Parts add_parts(const Operation& layer) {
    Parts parts{.input = data(layer.inputs[0])};
    if (layer.kind == conv2d && request_.option("behind_concat") == "as_it_lies" && network_.is_behind_concat(layer)) {
      parts.input = add_as_it_lies(builder_, parts.input);
      notes_.push_back("'" + layer.name + "' reads the joined memory as it lies, [channel][time], as the plugin compiles it");
    }
    const double input_factor = factor(layer.inputs[0]);
    const bool narrow = layer.kind == fully_connected && request_.option("weights") == "int8";
    const double weights_factor = layer_factor(layer, input_factor, narrow);
    parts.sums_factor = weights_factor * input_factor;
    const ModelTensor& weights = real_.tensor(layer.inputs[1]);
    if (narrow) add_narrow_weights(layer, weights, weights_factor, parts);
    else parts.weights = builder_.constant(weights.name, data_codes(*weights.constant, weights_factor), unit_of(weights_factor));
    if (network_.is_constant(layer, 2)) {
      const ModelTensor& bias = real_.tensor(layer.inputs[2]);
      const auto code = [&](std::size_t, float value) {
        return std::clamp<std::int64_t>(half_away(value * static_cast<float>(parts.sums_factor)), min_of_width(32), max_of_width(32));
      };
      parts.bias = builder_.constant(bias.name, coded(*bias.constant, ElementType::int32, std::nullopt, code), unit_of(parts.sums_factor));
    }
    if (layer.kind == conv2d) add_padding(layer, parts);
    return parts;
  }

  double layer_factor(const Operation& layer, double input_factor, bool narrow) {
    const Shape& shape_of_weights = network_.shape(layer.inputs[1]);
    const TensorRange* const given = given_range(layer.inputs[1]);
    const double largest = given != nullptr ? RangeChoices::magnitude(*given) : largest_magnitude(*real_.tensor(layer.inputs[1]).constant);
    double factor_of_weights = largest == 0 ? 1 : (narrow ? largest_weight_8bit * largest_multiplier : largest_weight) / largest;
    if (network_.is_constant(layer, 2)) {
      const double largest_of_bias = largest_magnitude(*real_.tensor(layer.inputs[2]).constant);
      if (largest_of_bias > 0 && factor_of_weights * input_factor > largest_bias / largest_of_bias) {
        factor_of_weights = largest_bias / largest_of_bias / input_factor;
        notes_.push_back("'" + layer.name + "': the bias, at most 2^30, sets the factor of the weights");
      }
    }
    if (narrow) factor_of_weights *= narrow_share(factor_of_weights, input_factor);
    if (layer.kind != conv2d) return factor_of_weights;
    const double taps = network_.is_line(layer) ? 1 : kernel_share(shape_of_weights[1] * shape_of_weights[2]);
    return factor_of_weights /
           std::max(1.0, taps * largest_weight * largest_weight * static_cast<double>(shape_of_weights[3]) / largest_sum);
  }

  /// int8 weights of a row: multiplier = max(1, trunc(max |w * factor| / 127 + 0.5)), weight = half away of w * (factor / multiplier).
  void add_narrow_weights(const Operation& layer, const ModelTensor& weights, double weights_factor, Parts& parts) {
    const std::vector<double> rows = channel_magnitudes(*weights.constant, 0);
    std::vector<std::uint8_t> multipliers;
    for (const double largest : rows)
      multipliers.push_back(
          static_cast<std::uint8_t>(std::clamp(std::trunc(largest * weights_factor / largest_weight_8bit + 0.5), 1.0, 255.0)));
    Tensor narrow = coded(*weights.constant, ElementType::int8, 0, [&](std::size_t row, float value) {
      return std::clamp<std::int64_t>(half_away(value * static_cast<float>(weights_factor / multipliers[row])), -128, 127);
    });
    Quantization units{{}, std::vector<std::int64_t>(rows.size(), 0), 0};
    for (const std::uint8_t multiplier : multipliers) units.scales.push_back(multiplier / weights_factor);
    if (rows.size() == 1) units.zero_points.resize(1);
    parts.weights = builder_.constant(weights.name, std::move(narrow), std::move(units));
    parts.multiplier = builder_.constant(layer.name + " multipliers", Tensor::from<std::uint8_t>({std::ssize(multipliers)}, multipliers));
  }

  /// The device pads symmetrically, along a line not at all; anything else is zeros put around the data before.
  void add_padding(const Operation& layer, Parts& parts) {
    const auto& attributes = std::get<Conv2dAttributes>(layer.attributes);
    const Shape &in = network_.shape(layer.inputs[0]), &filter = network_.shape(layer.inputs[1]);
    const ResolvedPadding size = resolve_padding(attributes.padding, {in[1], in[2]}, {filter[1], filter[2]}, attributes.stride);
    const bool symmetric = size.top == size.bottom && size.left == size.right;
    if (size == ResolvedPadding{}) return;
    if (symmetric && !network_.is_line(layer)) {
      parts.padding = {PaddingMode::explicit_sizes, size.top, size.bottom, size.left, size.right};
      return;
    }
    const std::string name = model().tensor(parts.input).name + padded_for + layer.name;
    const Shape padded{in[0], in[1] + size.top + size.bottom, in[2] + size.left + size.right, in[3]};
    PadAttributes zeros{.paddings = {{0, 0}, {size.top, size.bottom}, {size.left, size.right}, {0, 0}}, .value = 0, .real_value = {}};
    parts.input = builder_.operation(pad, {parts.input}, {name, ElementType::int16, padded, unit_of(factor(layer.inputs[0]))}, zeros);
  }

  /// Convolution, activation and pool in one layer. The device has a window more where one begins before the end of the image: it is cut off.
  void add_fused(const FusedLayer& fused, const Parts& parts, std::int32_t table) {
    const auto& conv = std::get<Conv2dAttributes>(fused.layer->attributes);
    const auto& pool = std::get<Pool2dAttributes>(fused.pool->attributes);
    const bool line = network_.is_line(*fused.layer);
    const FusedConv2dAttributes attributes{.stride = conv.stride,
                                           .padding = parts.padding,
                                           .pool = PoolKind::max,
                                           .pool_filter = line ? Extent2d{1, pool.filter.width} : pool.filter,
                                           .pool_stride = line ? Extent2d{1, pool.stride.width} : pool.stride,
                                           .partial_windows = limits_.pool_windows};
    const std::int32_t output = data(fused.pool->outputs[0]);
    const Shape wanted = model().tensor(output).shape, sums = network_.shape(fused.layer->outputs[0]);
    const Shape found{1, windows(sums[1], attributes.pool_filter.height, attributes.pool_stride.height),
                      windows(sums[2], attributes.pool_filter.width, attributes.pool_stride.width), sums[3]};
    const std::int32_t all = found == wanted ? output
                                             : builder_.tensor({model().tensor(output).name + " all windows", ElementType::int16, found,
                                                                model().tensor(output).quantization});
    builder_.operation(fused_conv2d, fused.layer->name, {parts.input, parts.weights, parts.bias, table}, {all}, attributes);
    if (all != output) builder_.operation(slice, model().tensor(output).name, {all}, {output}, SliceAttributes{{0, 0, 0, 0}, {}});
  }

  [[nodiscard]] std::int64_t windows(std::int64_t in, std::int64_t filter, std::int64_t stride) const {
    if (limits_.pool_windows == PartialWindows::every_start) return (in - 1) / stride + 1;
    return 1 + (std::max<std::int64_t>(in - filter, 0) + stride - 1) / stride;
  }

  const QuantizationRequest& request_;
  const Limits& limits_;
  const Model& real_;
  FloatNetwork network_;
  ModelBuilder builder_;
  TensorGroups groups_;
  std::vector<double> factors_;      ///< of each group's root; 0: not yet decided
  std::vector<std::int32_t> index_;  ///< of a float tensor in the device's model
  double percent_;
  std::vector<bool> taken_;  ///< operations that are part of an earlier layer
  std::vector<std::string> notes_;
};

/// As the plugin compiles it, with the concat that a convolution reads as it lies: only where there is one, and where that was not asked for.
class PluginsView {
 public:
  explicit PluginsView(const Model& quantized) : quantized_(quantized), network_(quantized) { builder_.model = quantized; }

  std::optional<OtherCompilation> made() {
    const auto is_there = [&](const Operation& operation) { return meant_by(quantized_, operation).has_value(); };
    if (std::ranges::any_of(quantized_.operations, is_there)) return std::nullopt;
    builder_.model.operations.clear();
    for (Operation operation : quantized_.operations) {
      if (const Operation* const layer = reads_joined(operation); layer != nullptr) {
        operation.inputs[0] = lying(operation.inputs[0]);
        names_ += (names_.empty() ? "'" : ", '") + layer->name + "'";
      }
      builder_.model.operations.push_back(std::move(operation));
    }
    if (names_.empty()) return std::nullopt;
    return OtherCompilation{std::move(builder_.model),
                            "OpenVINO's plugin compiles " + names_ + " to read the joined memory as it lies, [channel][time]",
                            "behind_concat=as_it_lies"};
  }

 private:
  [[nodiscard]] bool is_behind(const Operation& operation) const {
    return (operation.kind == conv2d || operation.kind == fused_conv2d) && network_.is_behind_concat(operation);
  }
  /// Zeros that the quantiser puts around what a layer reads; the compiler reads what is before them.
  [[nodiscard]] bool is_padding_of(const Operation& zeros, const Operation& layer) const {
    return zeros.kind == pad && zeros.outputs[0] == layer.inputs[0] &&
           quantized_.tensor(zeros.outputs[0]).name.ends_with(padded_for + layer.name);
  }
  /// The layer behind a concat whose data this operation is the first to read.
  [[nodiscard]] const Operation* reads_joined(const Operation& operation) const {
    const auto pads = [&](const Operation& other) { return is_padding_of(other, operation); };
    if (is_behind(operation)) return std::ranges::any_of(quantized_.operations, pads) ? nullptr : &operation;
    const auto layer = std::ranges::find_if(quantized_.operations,
                                            [&](const Operation& other) { return is_behind(other) && is_padding_of(operation, other); });
    return layer == quantized_.operations.end() ? nullptr : &*layer;
  }
  std::int32_t lying(std::int32_t data) {
    const auto [place, is_new] = lying_.emplace(data, absent_tensor);
    if (is_new) place->second = add_as_it_lies(builder_, data);
    return place->second;
  }

  const Model& quantized_;
  FloatNetwork network_;
  ModelBuilder builder_;
  std::map<std::int32_t, std::int32_t> lying_;
  std::string names_;
};

std::optional<OtherCompilation> compiled(const Model& quantized) { return PluginsView(quantized).made(); }

template <const Limits& limits>
QuantizedNetwork quantize_for(const QuantizationRequest& request) {
  return GnaQuantizer(request, limits).run();
}

template <const Limits& limits>
Quantizer quantizer(const std::string& name) {
  return {
      .name = name,
      .title = std::string("OpenVINO's rules for ") + limits.generation + ": int16 data, int16 or int8 weights, piecewise-linear tables",
      .options =
          {{"input_scale_factor", "data", {}, "integer = real * factor, for every input; data: 16384 / the largest magnitude"},
           {"weights", "int16", {"int16", "int8"}, "of fully connected layers; int8 with a multiplier per row"},
           {"table_scale_factor", "limited", {"limited", "fixed"}, "2048 and the like as they are, or lowered until no value saturates"},
           {"pwl_max_error_percent", "1", {}, "of tables for curved functions, of max - min"},
           {"behind_concat",
            "transposed",
            {"transposed", "as_it_lies"},
            "what a convolution reads of joined inputs: what the network means, or the memory that the plugin fails to transpose"}},
      .quantize = quantize_for<limits>,
      .compiled = compiled};
}

}  // namespace
}  // namespace gna

Quantizer gna2_quantizer() { return gna::quantizer<gna::gna2_limits>("gna2"); }
Quantizer gna3_0_quantizer() { return gna::quantizer<gna::gna3_0_limits>("gna3_0"); }
Quantizer gna3_1_quantizer() { return gna::quantizer<gna::gna3_1_limits>("gna3_1"); }

}  // namespace lastbit
