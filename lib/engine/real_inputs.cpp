// Copyright lastbit authors.
// SPDX-License-Identifier: Apache-2.0
#include "lastbit/real_inputs.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <unordered_set>

namespace lastbit {
namespace {

RealInput real_input(const ModelTensor& tensor, std::span<const float> values) {
  const IntegerRange range = range_of(tensor.type);
  const double scale = tensor.quantization.scale();
  const auto zero_point = static_cast<double>(tensor.quantization.zero_point());
  const auto [least, largest] = std::ranges::minmax(values);
  RealInput input{.name = tensor.name,
                  .least = double{least},
                  .largest = double{largest},
                  .lowest = (static_cast<double>(range.min) - zero_point) * scale,
                  .highest = (static_cast<double>(range.max) - zero_point) * scale,
                  .codes = range.max - range.min + 1,
                  .values = std::ssize(values),
                  .whole = std::ranges::all_of(values, [](float value) { return std::floor(value) == value; })};
  std::unordered_set<std::int64_t> codes;
  for (const float value : values) {
    const double code = std::round(double{value} / scale) + zero_point;
    if (std::isnan(code)) continue;
    const double held = std::clamp(code, static_cast<double>(range.min), static_cast<double>(range.max));
    input.clipped += held == code ? 0 : 1;
    codes.insert(static_cast<std::int64_t>(held));
  }
  input.codes_used = std::ssize(codes);
  return input;
}

}  // namespace

std::string RealInput::suspicion() const {
  constexpr double much = 0.05, few = 0.05;
  const bool clips = static_cast<double>(clipped) > much * static_cast<double>(values);
  if (whole && clips) return "they are whole numbers: codes, which are given as integers?";
  const bool is_unit = least >= 0 && largest <= 1;
  if (is_unit && highest - lowest > 1 / few) return "they lie within 0 … 1: were they to be scaled to 0 … 255?";
  if (clips) return "the network may have been trained on values that were scaled otherwise";
  return {};
}

std::vector<RealInput> real_inputs(const Model& model, const Device& device, std::span<const TensorView> inputs) {
  const Backend& backend = device.backend;
  std::vector<RealInput> found;
  if (backend.domain == Domain::real) return found;
  for (std::size_t i = 0; i < inputs.size() && i < model.inputs.size(); ++i) {
    const ModelTensor& tensor = model.tensor(model.inputs[i]);
    const bool is_real = inputs[i].type() == ElementType::float32 && is_integer(tensor.type) && tensor.quantization.present();
    if (is_real && !inputs[i].bytes().empty()) found.push_back(real_input(tensor, inputs[i].values<float>()));
  }
  return found;
}

std::string text_of(const RealInput& input) {
  const auto number = [](double value) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%.4g", value);
    return std::string(text.data());
  };
  const double share = 100 * static_cast<double>(input.clipped) / static_cast<double>(input.values);
  const std::string suspicion = input.suspicion();
  return "input '" + input.name + "': real values " + number(input.least) + " … " + number(input.largest) + " become " +
         std::to_string(input.codes_used) + " of " + std::to_string(input.codes) + " codes, which stand for " + number(input.lowest) +
         " … " + number(input.highest) + "; " + number(share) + " % lie beyond\n" + (suspicion.empty() ? "" : "  " + suspicion + "\n");
}

}  // namespace lastbit
