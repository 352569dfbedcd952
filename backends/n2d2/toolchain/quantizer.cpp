// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
//
// "n2d2": the post-training quantisation of N2D2 (src/DeepNetQuantization.cpp and src/Histogram.cpp, read; docs/backends/n2d2.md).
//
//   weights   one largest magnitude w per layer, or per output: w_o = max(min(w, 0.1), max |w_o|); code = half_away(v * S / w), S = 2^(n-1) - 1
//   outputs   a threshold t per tensor (thresholds.hpp); scale t / U; unsigned behind a rectifier, else signed
//   scale     in * w/S / out, approximated in the backend's way (n2d2_scaling.hpp); what one or two shifts miss goes into weights and bias
//   bias      half_away(b / (in * w/S)), times the same correction; the half of the last shift is the backend's affair
//   joints    inputs of sums and concatenations take the widest scale of them; cells that only scale bring them there
//   input     1/U of its largest magnitude, truncated by the backend's own rule
// Tensors keep their names. Of a rectifier that is an operation of its own only the output is left.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iomanip>
#include <limits>
#include <numeric>
#include <optional>
#include <sstream>

#include "lastbit/arith/binary_float.hpp"
#include "lastbit/backends/n2d2.hpp"
#include "lastbit/backends/n2d2_scaling.hpp"
#include "lastbit/error.hpp"
#include "lastbit/model_builder.hpp"
#include "lastbit/quantizer.hpp"
#include "n2d2/toolchain/clipping.hpp"
#include "n2d2/toolchain/exportable.hpp"
#include "toolchains/device_model.hpp"
#include "toolchains/ranges/choices.hpp"

namespace lastbit {
namespace {

using n2d2::CodeSign;
using enum OperationKind;

constexpr int most_bins = 65536;
constexpr int fallback_bits = 15;  // of the factor where a shift cannot stand for a scale

enum class Way { single_shift, double_shift, fixed_mult, float_mult };

Way way_of(const ScaleEncoding& scale) {
  if (scale.form == MultiplierForm::power_of_two) return Way::single_shift;
  if (scale.form == MultiplierForm::power_of_two_plus_one) return Way::double_shift;
  return scale.normalization == Normalization::layer ? Way::fixed_mult : Way::float_mult;
}

struct Settings {
  int bits = 8;
  bool per_output = false;
  std::string clipping;
  double share = 0;
  Way way;
  int multiplier_bits;

  explicit Settings(const QuantizationRequest& request)
      : bits(std::stoi(request.option("bits"))),
        per_output(request.option("weights") == "output"),
        clipping(request.option("clipping")),
        way(way_of(request.backend.conv.i8.sum.output.scale)),
        multiplier_bits(request.backend.conv.i8.sum.output.scale.significant_bits) {
    const std::string& text = request.option("quantile");
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), share);
    if (error != std::errc{} || end != text.data() + text.size() || !(share > 0 && share <= 1))
      throw Error(ErrorCode::bad_input, "option quantile=" + text, "a number above 0, at most 1");
  }

  [[nodiscard]] double largest(CodeSign sign) const { return static_cast<double>(n2d2::largest_code(bits, sign)); }
  [[nodiscard]] ElementType type(CodeSign sign) const {
    if (bits <= 8) return sign == CodeSign::is_unsigned ? ElementType::uint8 : ElementType::int8;
    return sign == CodeSign::is_unsigned ? ElementType::uint16 : ElementType::int16;
  }
  /// Codes of fewer bits than they are stored in.
  [[nodiscard]] std::optional<IntegerRange> clamp(CodeSign sign) const {
    if (bits != 4) return std::nullopt;
    return sign == CodeSign::is_unsigned ? IntegerRange{0, 15} : IntegerRange{-8, 7};
  }
};

std::int64_t half_away(double value) { return round_to_integer(value, Rounding::half_away); }

/// Codes of a tensor. The scale that the procedure goes by is the tensor's own, except behind a sum whose shift nothing corrects.
struct Codes {
  CodeSign sign = CodeSign::is_signed;
  double scale = 1;     ///< what later layers take it for
  double declared = 1;  ///< what it is
};

/// A scale as the device has it.
struct Approximation {
  double scale = 1;
  double weight_factor = 1;
  std::string text;
};

class N2d2Quantizer {
 public:
  N2d2Quantizer(const QuantizationRequest& request, QuantizedNetwork network)
      : request_(request),
        settings_(request),
        codes_(network.model.tensors.size()),
        origin_(network.model.tensors.size()),
        notes_(std::move(network.notes)) {
    builder_.model = std::move(network.model);
    std::iota(origin_.begin(), origin_.end(), 0);
  }

  QuantizedNetwork run() {
    for (const std::int32_t input : model_.inputs) quantize_input(input);
    original_ = std::exchange(model_.operations, {});
    for (const Operation& operation : original_) quantize(operation);
    request_.ranges.require_complete();
    if (!problems_.empty()) throw Error(std::move(problems_));
    drop_unused_tensors(model_);
    return {std::move(model_), std::move(notes_)};
  }

 private:
  [[nodiscard]] ModelTensor& tensor(std::int32_t index) { return model_.tensors[static_cast<std::size_t>(index)]; }
  [[nodiscard]] Codes& codes(std::int32_t index) { return codes_[static_cast<std::size_t>(index)]; }
  [[nodiscard]] const TensorStatistics& statistics(std::int32_t index) const {
    return request_.calibration.tensors[static_cast<std::size_t>(origin_[static_cast<std::size_t>(index)])];
  }
  void refuse(const Operation& operation, const std::string& what) {
    problems_.push_back({ErrorCode::unsupported_operation, std::string(name_of(operation.kind)) + " '" + operation.name + "'", what});
  }
  [[nodiscard]] bool is_output(std::int32_t index) const { return std::ranges::find(model_.outputs, index) != model_.outputs.end(); }

  // One tensor.

  static CodeSign sign_of(const OutputBounds& bounds) { return n2d2::is_rectified(bounds) ? CodeSign::is_unsigned : CodeSign::is_signed; }

  /// If all that happens to a tensor is a max pool, the pool's values count.
  [[nodiscard]] const TensorStatistics& seen_values(std::int32_t index) const {
    const Operation* reader = nullptr;
    for (const Operation& operation : original_) {
      if (std::ranges::find(operation.inputs, index) == operation.inputs.end()) continue;
      if (reader != nullptr) return statistics(index);
      reader = &operation;
    }
    return reader != nullptr && reader->kind == max_pool2d && !is_output(index) ? statistics(reader->outputs[0]) : statistics(index);
  }

  /// The scale of outputs: of a threshold that is given or found, or given itself.
  [[nodiscard]] double output_scale(std::int32_t index, CodeSign sign, const TensorStatistics& seen, double found) const {
    double threshold = found;
    if (const TensorRange* given = request_.ranges.given(origin_[static_cast<std::size_t>(index)]); given != nullptr) {
      if (given->codes.present()) return given_scale(*given, index, sign);
      threshold = RangeChoices::magnitude(*given) > 0 ? RangeChoices::magnitude(*given) : 1;
    } else {
      request_.ranges.calibrate(origin_[static_cast<std::size_t>(index)], seen);
    }
    request_.ranges.choose(origin_[static_cast<std::size_t>(index)], {sign == CodeSign::is_unsigned ? 0 : -threshold, threshold});
    return threshold / settings_.largest(sign);
  }

  [[nodiscard]] double given_scale(const TensorRange& given, std::int32_t index, CodeSign sign) const {
    const Quantization& codes = given.codes;
    const bool fits = !codes.per_channel() && codes.zero_point() == 0 && (!given.type || *given.type == settings_.type(sign));
    if (!fits) {
      throw Error(
          ErrorCode::bad_quantization, given.where,
          "'" + given.name + "': N2D2 has one scale here, zero point 0, for " + std::string(name_of(settings_.type(sign))) + " codes");
    }
    request_.ranges.choose(origin_[static_cast<std::size_t>(index)], codes);
    return codes.scale();
  }

  [[nodiscard]] double threshold(std::int32_t index, CodeSign sign) const {
    const TensorStatistics& seen = seen_values(index);
    const double largest = seen.largest_magnitude();
    if (!(largest > 0)) return 1;  // nothing but zeros: any scale will do
    const auto bins = static_cast<std::size_t>(std::min(64 << settings_.bits, most_bins));
    const auto levels = static_cast<std::size_t>(n2d2::largest_code(settings_.bits, sign));
    if (settings_.clipping == "none" || model_.tensor(index).shape.back() <= 2) return largest;
    if (settings_.clipping == "mse") return n2d2::mse_clipping(n2d2::with_bins(seen.magnitudes, bins), static_cast<double>(levels));
    if (settings_.clipping == "kl") return n2d2::kl_clipping(n2d2::with_bins(seen.magnitudes, bins), levels + 1);
    return quantile(seen.magnitudes, settings_.share);
  }

  void set_codes(std::int32_t index, const Codes& found) {
    codes(index) = found;
    tensor(index).type = settings_.type(found.sign);
    tensor(index).quantization = {{found.declared}, {0}, 0};
  }

  void quantize_input(std::int32_t index) {
    const TensorStatistics& seen = statistics(index);
    const CodeSign sign = input_sign(index);
    const double largest = seen.largest_magnitude() > 0 ? seen.largest_magnitude() : 1;
    // A float32 scale: data are quantised in float32.
    const double scale = static_cast<float>(output_scale(index, sign, seen, largest));
    set_codes(index, {sign, scale, scale});
  }

  /// By a range that is given, the type of given codes, else by what was seen.
  [[nodiscard]] CodeSign input_sign(std::int32_t index) const {
    const TensorStatistics& seen = statistics(index);
    const TensorRange* given = request_.ranges.given(index);
    const bool has_range = given != nullptr && !given->codes.present();
    if (given != nullptr && given->type)
      return *given->type == settings_.type(CodeSign::is_unsigned) ? CodeSign::is_unsigned : CodeSign::is_signed;
    if (given != nullptr && !has_range && seen.values == 0)
      throw Error(ErrorCode::bad_quantization, given->where,
                  "'" + given->name + "': whether its codes are signed is not said: min and max say it");
    return (has_range ? given->min : seen.min) >= 0 ? CodeSign::is_unsigned : CodeSign::is_signed;
  }

  // One scale.

  [[nodiscard]] bool shifts() const { return settings_.way == Way::single_shift || settings_.way == Way::double_shift; }

  /// `largest`: the largest scale of the layer.
  static Approximation fixed_factor(double scale, double largest, int bits) {
    const auto fixed = n2d2::fixed_multiplier_for(scale, n2d2::fixed_fraction_bits(bits, largest));
    return {std::ldexp(static_cast<double>(fixed.multiplier), -fixed.fraction_bits), 1,
            std::to_string(fixed.multiplier) + " / 2^" + std::to_string(fixed.fraction_bits)};
  }

  [[nodiscard]] Approximation approximate(double scale, double largest) const {
    std::ostringstream text;
    switch (settings_.way) {
      case Way::fixed_mult: return fixed_factor(scale, largest, settings_.multiplier_bits);
      case Way::float_mult: text << "factor " << n2d2::printed_factor(scale); return {n2d2::printed_factor(scale), 1, text.str()};
      case Way::single_shift: {
        const auto single = n2d2::single_shift_for(scale);
        text << "shift " << single.shift << weights_text(single.weight_factor);
        return {std::ldexp(1.0, -single.shift), single.weight_factor, text.str()};
      }
      case Way::double_shift: break;
    }
    const auto twice = n2d2::double_shift_for(scale);
    text << "shifts " << twice.first << " and " << twice.second << weights_text(twice.weight_factor);
    return {std::ldexp(1.0, -twice.first) + std::ldexp(1.0, -twice.second), twice.weight_factor, text.str()};
  }
  static std::string weights_text(double factor) {
    std::ostringstream text;
    if (factor != 1) text << ", weights x " << std::setprecision(6) << factor;
    return text.str();
  }

  /// The output's scale, or one a few last bits above it, with which the weights' scales can state what was found without rounding.
  static double stated_output(double in, double out, const std::vector<Approximation>& found) {
    double candidate = out;
    for (int tries = 0; tries < 64; ++tries, candidate = std::nextafter(candidate, 1e300)) {
      const bool exact = std::ranges::all_of(found, [=](const Approximation& one) {
        return effective_scale(ScaleArithmetic::f64, in, factor_for(in, candidate, one.scale), candidate) == one.scale;
      });
      if (exact) return candidate;
    }
    return out;
  }

  /// x with fl(fl(in * x) / out) == wanted, or the nearest of its neighbours.
  static double factor_for(double in, double out, double wanted) {
    double x = wanted * out / in;
    const double below = std::nextafter(x, 0.0), above = std::nextafter(x, std::numeric_limits<double>::infinity());
    for (const double candidate : {x, below, above, std::nextafter(below, 0.0), std::nextafter(above, 1e300)}) {
      if (effective_scale(ScaleArithmetic::f64, in, candidate, out) == wanted) return candidate;
    }
    return x;
  }

  // One operation.

  void quantize(Operation operation) {
    if (has_weights(operation.kind)) return quantize_layer(operation);
    switch (operation.kind) {
      case add:
      case add_n: return quantize_sum(operation);
      case concat: return quantize_concat(operation);
      case mean:
        operation.kind = global_average_pool;
        operation.attributes = Pool2dAttributes{};
        break;
      case argmax:
        tensor(operation.outputs[0]).type = ElementType::int32;
        model_.operations.push_back(operation);
        return;
      default: break;
    }
    for (const std::int32_t output : operation.outputs) set_codes(output, codes(operation.inputs[0]));
    quantize_attributes(operation, tensor(operation.outputs[0]));
    model_.operations.push_back(operation);
  }

  [[nodiscard]] std::vector<double> weight_limits(const Operation& operation) {
    const Tensor& weights = *tensor(operation.inputs[1]).constant;
    const double largest = largest_magnitude(weights);
    if (const TensorRange* given = request_.ranges.given(operation.inputs[1]); given != nullptr) {
      if (given->codes.present())
        throw Error(ErrorCode::bad_quantization, given->where, "'" + given->name + "': N2D2's scales of weights follow from min and max");
      return {RangeChoices::magnitude(*given) > 0 ? RangeChoices::magnitude(*given) : 1};
    }
    if (!settings_.per_output) return {largest > 0 ? largest : 1};
    std::vector<double> limits = channel_magnitudes(weights, channel_axis(operation.kind));
    for (double& limit : limits) limit = std::max(std::min(largest > 0 ? largest : 1, 0.1), limit);
    return limits;
  }

  void quantize_layer(Operation& operation) {
    OutputBounds& bounds = *fusible_bounds(operation);
    const Codes in = codes(operation.inputs[0]);
    const CodeSign sign = sign_of(bounds);
    const std::int32_t output = operation.outputs[0];
    const double out = output_scale(output, sign, seen_values(output), threshold(output, sign));
    const std::vector<double> limits = weight_limits(operation);
    std::vector<double> units, scales;  // of the sums; in * w/S / out
    for (const double limit : limits) {
      units.push_back(in.scale * limit / settings_.largest(CodeSign::is_signed));
      scales.push_back(units.back() / out);
    }
    const double widest = *std::ranges::max_element(scales);
    if (widest > 1 && shifts()) {
      return refuse(operation, "its scale is " + std::to_string(widest) +
                                   ", above 1: N2D2 scales such a layer by a 16-bit factor, and the others by shifts; quantise for "
                                   "n2d2_fixed_mult16");
    }
    std::vector<Approximation> found;
    for (const double scale : scales) found.push_back(approximate(scale, widest));
    const double stated = stated_output(in.declared, out, found);
    set_codes(operation.outputs[0], {sign, stated, stated});
    set_weights(operation, in, limits, units, found);
    bounds = {.activation = sign == CodeSign::is_unsigned ? Activation::relu : Activation::none, .clamp = settings_.clamp(sign)};
    note(operation, scales, found);
    model_.operations.push_back(operation);
  }

  void set_weights(Operation& operation, const Codes& in, const std::vector<double>& limits, const std::vector<double>& units,
                   const std::vector<Approximation>& found) {
    ModelTensor& weights = tensor(operation.inputs[1]);
    const double out = codes(operation.outputs[0]).declared;
    const std::int64_t limit = n2d2::largest_code(settings_.bits, CodeSign::is_signed);
    const bool per_output = units.size() > 1;
    const std::int64_t axis = channel_axis(operation.kind);
    weights.type = settings_.type(CodeSign::is_signed);
    weights.constant =
        coded(*weights.constant, weights.type, per_output ? std::optional(axis) : std::nullopt, [&](std::size_t o, float value) {
          return std::clamp(half_away(double{value} * static_cast<double>(limit) / limits[o] * found[o].weight_factor), -limit, limit);
        });
    weights.quantization = {{}, std::vector<std::int64_t>(units.size(), 0), per_output ? axis : 0};
    for (const Approximation& one : found) weights.quantization.scales.push_back(factor_for(in.declared, out, one.scale));
    if (operation.inputs.size() < 3 || operation.inputs[2] == absent_tensor) return;
    ModelTensor& bias = tensor(operation.inputs[2]);
    bias.type = settings_.bits <= 8 ? ElementType::int32 : ElementType::int64;
    const std::int64_t most = range_of(bias.type).max;
    bias.constant = coded(
        *bias.constant, bias.type, per_output ? std::optional<std::int64_t>(0) : std::nullopt,
        [&](std::size_t o, float value) { return std::clamp(half_away(double{value} / units[o] * found[o].weight_factor), -most, most); });
    bias.quantization = {};
  }

  void note(const Operation& operation, const std::vector<double>& scales, const std::vector<Approximation>& found) {
    std::ostringstream text;
    text << std::setprecision(6) << "'" << operation.name << "': scale " << scales.front() << ", " << found.front().text;
    if (scales.size() > 1) text << " (the first of " << scales.size() << " outputs)";
    notes_.push_back(text.str());
  }

  // Joints.

  /// What the inputs are brought to: the widest range of them, signed if any is.
  [[nodiscard]] Codes common_codes(const Operation& operation) {
    Codes common{CodeSign::is_unsigned, 0, 0};
    for (const std::int32_t input : operation.inputs) {
      if (codes(input).sign == CodeSign::is_signed) common.sign = CodeSign::is_signed;
    }
    for (const std::int32_t input : operation.inputs) {
      const double ratio = settings_.largest(codes(input).sign) / settings_.largest(common.sign);
      common.scale = std::max(common.scale, codes(input).scale * ratio);
      common.declared = std::max(common.declared, codes(input).declared * ratio);
    }
    return common;
  }

  void bring_to(const Codes& common, Operation& operation) {
    for (std::int32_t& input : operation.inputs) {
      const Codes own = codes(input);
      if (own.sign == common.sign && own.declared == common.declared) continue;
      codes_.emplace_back();
      origin_.push_back(origin_[static_cast<std::size_t>(input)]);
      const ModelTensor& before = model_.tensor(input);
      input = builder_.operation(requantize, {input}, {before.name + " for " + operation.name, before.type, before.shape},
                                 RequantizeAttributes{{.clamp = settings_.clamp(common.sign)}});
      set_codes(input, common);
    }
  }

  void quantize_concat(Operation& operation) {
    const Codes common = common_codes(operation);
    bring_to(common, operation);
    set_codes(operation.outputs[0], common);
    std::get<ConcatAttributes>(operation.attributes).activation = Activation::none;  // codes of rectified values are not negative
    model_.operations.push_back(operation);
  }

  void quantize_sum(Operation& operation) {
    OutputBounds& bounds = *fusible_bounds(operation);
    const Codes common = common_codes(operation);
    bring_to(common, operation);
    operation.kind = add_n;
    const CodeSign sign = sign_of(bounds);
    const double largest = statistics(operation.outputs[0]).largest_magnitude();
    Codes out{sign, output_scale(operation.outputs[0], sign, statistics(operation.outputs[0]), largest > 0 ? largest : 1), 0};
    const double scale = common.scale / out.scale;
    const bool falls_back = scale > 1 && shifts();
    const Approximation found = falls_back ? fixed_factor(scale, scale, fallback_bits) : approximate(scale, scale);
    out.declared = common.declared / found.scale;
    set_codes(operation.outputs[0], out);
    bounds = {.activation = sign == CodeSign::is_unsigned ? Activation::relu : Activation::none, .clamp = settings_.clamp(sign)};
    note_sum(operation, scale, found);
    model_.operations.push_back(operation);
  }

  void note_sum(const Operation& operation, double scale, const Approximation& found) {
    std::ostringstream text;
    text << std::setprecision(6) << "'" << operation.name << "': scale " << scale << ", " << found.text;
    if (found.weight_factor != 1) text << "; a sum has none: its codes are too large by " << 1 / found.weight_factor;
    notes_.push_back(text.str());
  }

  const QuantizationRequest& request_;
  Settings settings_;
  ModelBuilder builder_;
  Model& model_ = builder_.model;
  std::vector<Operation> original_;   ///< the network before quantisation, after folding
  std::vector<Codes> codes_;          ///< by tensor, once it is written
  std::vector<std::int32_t> origin_;  ///< of a scaled copy: the tensor of the float network
  std::vector<std::string> notes_;
  std::vector<Diagnostic> problems_;
};

QuantizedNetwork quantize_n2d2(const QuantizationRequest& request) {
  QuantizedNetwork network = n2d2::exportable(request.model);
  const std::vector<Diagnostic> problems = n2d2::unsupported(network.model, request.backend);
  if (!problems.empty()) throw Error(problems);
  return N2d2Quantizer(request, std::move(network)).run();
}

}  // namespace

Quantizer n2d2_quantizer() {
  return {.name = "n2d2",
          .title = "N2D2's post-training quantisation: symmetric weights, thresholds of the outputs, scales as the backend has them",
          .options = {{"bits", "8", {"4", "8", "16"}, "bits of data and weights"},
                      {"weights", "layer", {"layer", "output"}, "one scale of the weights for a layer, or one per output"},
                      {"clipping",
                       "mse",
                       {"mse", "kl", "quantile", "none"},
                       "threshold of the outputs: least squared error, least divergence, a quantile, or the largest magnitude"},
                      {"quantile", "0.9999", {}, "share of the magnitudes below the threshold, with clipping=quantile"}},
          .histogram_bins = most_bins,
          .quantize = quantize_n2d2};
}

}  // namespace lastbit
