// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "analysis/misread/golden_layers.hpp"

#include <algorithm>
#include <cmath>

#include "lastbit/registry.hpp"

namespace lastbit {
namespace {

/// A few are enough: what is misread is so in all of them.
constexpr std::int64_t most_samples = 3;

/// An integer with one scale.
bool is_quantized(const ModelTensor& tensor) {
  return is_integer(tensor.type) && size_of(tensor.type) <= 2 && tensor.quantization.present() && !tensor.quantization.per_channel() &&
         tensor.quantization.zero_points.size() <= 1;
}

/// Mean and standard deviation of codes - expected where neither is at a bound.
void add_offset(LineFit& fit, const Codes& expected, const Codes& codes, const IntegerRange& range) {
  const auto within = [&](double value) { return value > static_cast<double>(range.min) && value < static_cast<double>(range.max); };
  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    if (!within(codes[i]) || !within(expected[i])) continue;
    const double difference = double{codes[i]} - double{expected[i]};
    sum += difference;
    squares += difference * difference;
    ++fit.inside;
  }
  if (fit.inside == 0) return;
  const auto count = static_cast<double>(fit.inside);
  fit.offset = sum / count;
  fit.spread = std::sqrt(std::max(0.0, squares / count - fit.offset * fit.offset));
}

/// A sample of a tensor.
Tensor real_values(const ModelTensor& tensor, const Codes& codes, std::int64_t sample) {
  Tensor values(ElementType::float32, tensor.shape);
  const auto first = codes.begin() + sample * tensor.shape.element_count();
  std::transform(first, first + tensor.shape.element_count(), values.values<float>().begin(), [&](float code) {
    return static_cast<float>((double{code} - static_cast<double>(tensor.quantization.zero_point())) * tensor.quantization.scale());
  });
  return values;
}

}  // namespace

LineFit fit_of(const Codes& expected, const Codes& codes, const IntegerRange& range) {
  const auto count = static_cast<double>(codes.size());
  double sum_x = 0, sum_y = 0, xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) sum_x += double{expected[i]}, sum_y += double{codes[i]};
  double errors = 0;
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const double x = double{expected[i]} - sum_x / count, y = double{codes[i]} - sum_y / count;
    const double error = double{codes[i]} - double{expected[i]};
    xx += x * x, yy += y * y, xy += x * y, errors += error * error;
  }
  LineFit fit;
  fit.error = std::sqrt(errors / count);
  fit.tells = xx > count;  // at least an LSB: less than that, roundings decide
  if (xx > 0 && yy > 0) fit.correlation = xy / std::sqrt(xx * yy);
  if (xx > 0) {
    fit.slope = xy / xx;
    fit.deviation = std::sqrt(xx / count);
    fit.at_zero = (sum_y - fit.slope * sum_x) / count;
    fit.beside_slope = std::sqrt(std::max(0.0, yy - xy * fit.slope) / count);
  }
  add_offset(fit, expected, codes, range);
  return fit;
}

GoldenLayers::GoldenLayers(const Model& model, const NamedTrace& dump) : model_(model) {
  const Backend golden = find_backend("float").backend;
  if (!check(model, golden).empty()) return;
  golden_.emplace(model, golden);
  for (std::size_t i = 0; i < model.operations.size(); ++i) {
    if (auto layer = layer_of(i, dump)) layers_.push_back(std::move(*layer));
  }
  samples_ = most_samples;
  const auto each_tensor = [&](const auto& visit) {
    for (const DumpedLayer& layer : layers_) {
      for (const std::int32_t input : layer.inputs) visit(input);
      visit(layer.output);
    }
  };
  each_tensor([&](std::int32_t tensor) { samples_ = std::min(samples_, samples_of(model, *dump.find(tensor))); });
  each_tensor([&](std::int32_t tensor) { add_codes(tensor, dump); });
}

std::optional<DumpedLayer> GoldenLayers::layer_of(std::size_t operation, const NamedTrace& dump) const {
  const Operation& present = model_.operations[operation];
  if (present.outputs.size() != 1) return std::nullopt;
  DumpedLayer layer{operation, {}, present.outputs[0]};
  const auto is_held = [&](std::int32_t tensor) { return is_quantized(model_.tensor(tensor)) && dump.find(tensor) != nullptr; };
  for (const std::int32_t input : present.inputs) {
    if (input == absent_tensor || model_.tensor(input).constant) continue;
    if (!is_held(input) || golden_->model().tensor(input).type != ElementType::float32) return std::nullopt;
    if (std::ranges::find(layer.inputs, input) == layer.inputs.end()) layer.inputs.push_back(input);
  }
  const bool is_judged = is_held(layer.output) && golden_->model().tensor(layer.output).type == ElementType::float32;
  return is_judged && !layer.inputs.empty() ? std::optional(std::move(layer)) : std::nullopt;
}

void GoldenLayers::add_codes(std::int32_t tensor, const NamedTrace& dump) {
  const auto [at, fresh] = codes_.try_emplace(tensor);
  if (!fresh) return;
  const ModelTensor& info = model_.tensor(tensor);
  const Tensor& values = dump.find(tensor)->values;
  const auto count = static_cast<std::size_t>(samples_ * info.shape.element_count());
  const bool is_real_valued = values.type() == ElementType::float32;
  for (std::size_t i = 0; i < count; ++i) {
    at->second.push_back(is_real_valued ? static_cast<float>(double{values.values<float>()[i]} / info.quantization.scale() +
                                                             static_cast<double>(info.quantization.zero_point()))
                                        : static_cast<float>(values.integer_at(static_cast<std::int64_t>(i))));
  }
}

Codes GoldenLayers::expected(const DumpedLayer& layer, const std::map<std::int32_t, Codes>& replaced) const {
  const Operation& operation = model_.operations[layer.operation];
  const ModelTensor& output = model_.tensor(layer.output);
  const IntegerRange range = range_of(output.type);
  Codes all;
  for (std::int64_t sample = 0; sample < samples_; ++sample) {
    std::map<std::int32_t, Tensor> inputs;
    for (const std::int32_t input : layer.inputs) {
      const auto other = replaced.find(input);
      inputs.emplace(input, real_values(model_.tensor(input), other != replaced.end() ? other->second : codes_.at(input), sample));
    }
    std::vector<const Tensor*> fed;
    for (const std::int32_t input : operation.inputs) fed.push_back(inputs.contains(input) ? &inputs.at(input) : nullptr);
    const std::vector<Tensor> computed = golden_->run_operation(layer.operation, fed);
    for (const float value : computed[0].values<float>()) {
      const double code = double{value} / output.quantization.scale() + static_cast<double>(output.quantization.zero_point());
      all.push_back(static_cast<float>(std::clamp(code, static_cast<double>(range.min), static_cast<double>(range.max))));
    }
  }
  return all;
}

LineFit GoldenLayers::fit(const DumpedLayer& layer, const Codes& expected, const Codes& output) const {
  return fit_of(expected, output, range_of(model_.tensor(layer.output).type));
}

}  // namespace lastbit
